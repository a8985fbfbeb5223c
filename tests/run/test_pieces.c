// Long rows, which the compiler works on in pieces (ir/pass_pieces.c): lengths around the ends of the
// pieces, folds for which what lies past the row's end counts (a load's fallback of 0 may be the
// largest element), places of elements, several reductions and stores of one row, few and many
// elements per thread; and bounds of the length that the kernel may assume, so that some pieces are
// always full and some never reached. All numbers are small integers, exact in every order.
#include "run.h"

enum { BLOCK = 2048, ROOM = 16, FOLDS = 5 };

static const int lengths[] = {-7, 0, 7, 255, 257, 512, 1023, 1025, 1541, 2047, 2048, 5001};

/// Reads a row of `type`; writes row - largest, 2 row, and five folds of the row.
static tile_kernel *compile(const char *type, const char *fallback, tile_module **mod) {
    char source[1400];
    snprintf(source, sizeof source,
             "def k(y: *%s, z: *%s, folds: *fp32, x: *%s, n: i32, BLOCK: constexpr,\n"
             "      LEAST: constexpr, MOST: constexpr):\n"
             "    assume((n >= LEAST) & (n <= MOST))\n"
             "    i = arange(0, BLOCK)\n"
             "    mask = i < n\n"
             "    row = load(x + i, mask=mask%s)\n"
             "    wide = row.to(fp32)\n"
             "    largest = max(wide, axis=0)\n"
             "    store(y + i, (wide - largest).to(row.dtype), mask=mask)\n"
             "    store(folds, largest)\n"
             "    store(folds + 1, min(wide, axis=0))\n"
             "    half = exp2(wide * 0.0) * wide / 2\n" // costly enough to be kept
             "    store(folds + 2, sum(half, axis=0))\n"
             "    store(folds + 3, sum(where(mask & (half >= largest / 2), 1.0, 0.0), axis=0))\n"
             "    store(folds + 4, argmax(wide, axis=0).to(fp32))\n"
             "    store(z + i, (half * 4).to(row.dtype), mask=mask)\n",
             type, type, type, fallback);
    return kernel_from(source, "k", mod);
}

static float load_any(bool is_int, float_type t, const void *p, size_t i) {
    return is_int ? (float)((const int32_t *)p)[i] : (float)load_float(t, p, i);
}

static void store_any(bool is_int, float_type t, void *p, size_t i, double v) {
    if (is_int)
        ((int32_t *)p)[i] = (int32_t)v;
    else
        store_float(t, p, i, v);
}

/// The five folds of n elements and BLOCK - n fallbacks.
static void reference(const float *x, int n, float fallback, float out[FOLDS]) {
    float largest = -INFINITY, least = INFINITY, sum = 0, place = 0, at_most = 0;
    for (int i = 0; i < BLOCK; i++) {
        float v = i < n ? x[i] : fallback;
        if (v > largest) {
            largest = v;
            place = (float)i;
        }
        least = v < least ? v : least;
        sum += v / 2;
    }
    for (int i = 0; i < n; i++)
        at_most += x[i] >= largest;
    memcpy(out, (float[FOLDS]){largest, least, sum, at_most, place}, FOLDS * sizeof(float));
}

/// Compares everything that a launch has written.
static void compare(bool is_int, float_type t, const char *what, const float *x, int n, int offset,
                    float fallback, const void *y, const void *z, const float *folds) {
    float want[FOLDS];
    reference(x, n, fallback, want);
    for (int f = 0; f < FOLDS; f++)
        expect(folds[f] == want[f], "%s: %d elements: fold %d is %g, expected %g", what, n, f,
               (double)folds[f], (double)want[f]);
    for (int i = -offset; i < BLOCK + ROOM - offset; i++) {
        bool in = i >= 0 && i < n;
        float got_y = load_any(is_int, t, y, (size_t)(offset + i)),
              got_z = load_any(is_int, t, z, (size_t)(offset + i));
        float want_y = in ? x[i] - want[0] : 99, want_z = in ? 2 * x[i] : 99;
        if (!expect(got_y == want_y && got_z == want_z,
                    "%s: %d elements: place %d has %g and %g, expected %g and %g", what, n, i,
                    (double)got_y, (double)got_z, (double)want_y, (double)want_z))
            break;
    }
}

/// Of the lengths, those that are at least and at most so much.
static void test(const char *type, bool is_int, float_type t, unsigned warps, bool has_fallback,
                 int least, int most) {
    enum { COUNT = BLOCK + ROOM };
    tile_module *mod;
    tile_kernel *k = compile(type, has_fallback ? ", other=-3" : "", &mod);
    static float values[BLOCK];
    static uint8_t x[4 * COUNT], y[4 * COUNT], z[4 * COUNT], blank[4 * COUNT];
    size_t width = is_int ? 4 : float_bytes(t);
    for (size_t i = 0; i < COUNT; i++)
        store_any(is_int, t, blank, i, 99);
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        if (lengths[l] < least || lengths[l] > most)
            continue;
        int n = lengths[l] < 0 ? 0 : lengths[l] > BLOCK ? BLOCK : lengths[l], offset = l % 2 * 3;
        bool negative = l % 3 == 1; // then the fallback is the largest
        for (int i = 0; i < BLOCK; i++) {
            values[i] = (float)(random_u32() % 61) - (negative ? 64.f : 30.f);
            store_any(is_int, t, x, (size_t)(i + offset), (double)values[i]);
        }
        float folds[FOLDS];
        tile_buffer *dx = buffer_from(x, sizeof x), *df = buffer_from(NULL, sizeof folds);
        tile_buffer *dy = buffer_from(blank, sizeof y), *dz = buffer_from(blank, sizeof z);
        tile_arg args[] = {
            TILE_POINTER((char *)tile_buffer_data(dy) + (size_t)offset * width, type),
            TILE_POINTER((char *)tile_buffer_data(dz) + (size_t)offset * width, type),
            TILE_BUFFER(df, "fp32"),
            TILE_POINTER((char *)tile_buffer_data(dx) + (size_t)offset * width, type),
            TILE_I32(lengths[l]),
            TILE_CONSTEXPR_INT("BLOCK", BLOCK),
            TILE_CONSTEXPR_INT("LEAST", least),
            TILE_CONSTEXPR_INT("MOST", most)};
        tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps};
        must(tile_launch(k, args, 8, &o, &err));
        read_buffer(dy, y, sizeof y);
        read_buffer(dz, z, sizeof z);
        read_buffer(df, folds, sizeof folds);
        char what[96];
        snprintf(what, sizeof what, "%s, %u warps, other %d, %d to %d", type, warps,
                 has_fallback ? -3 : 0, least, most);
        compare(is_int, t, what, values, n, offset, has_fallback ? -3 : 0, y, z, folds);
        tile_buffer_destroy(dx), tile_buffer_destroy(dy);
        tile_buffer_destroy(dz), tile_buffer_destroy(df);
    }
    tile_module_destroy(mod);
}

int main(void) {
    open_test_device();
    test("fp32", false, FP32, 1, false, INT32_MIN, INT32_MAX); // 64 elements in a thread, kept
    test("fp32", false, FP32, 2, true, INT32_MIN, INT32_MAX);
    test("bf16", false, BF16, 1, false, INT32_MIN, INT32_MAX); // 64, computed again
    test("fp16", false, FP16, 1, true, INT32_MIN, INT32_MAX);
    test("i32", true, FP32, 2, false, INT32_MIN, INT32_MAX);
    test("fp32", false, FP32, 1, true, 1000, 1600); // of eight pieces, three to seven
    test("bf16", false, BF16, 1, true, 1025, 1541);
    test("fp16", false, FP16, 1, false, 200, 512);
    test("bf16", false, BF16, 1, true, -7, 7); // the first piece alone
    test("bf16", false, BF16, 1, true, 1025, 1025);
    test("bf16", false, BF16, 1, false, 2048, 2048); // all pieces
    test("i32", true, FP32, 2, true, 2047, 5001);
    return finish();
}
