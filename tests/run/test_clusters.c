// Programs spread over 2 to 16 CTAs, where they differ from those of one: ids and grids, tiles that
// one CTA could not hold, data that goes between CTAs, effects that happen once. (Whether all else
// stays the same is asked by the other tests under $TILE_TEST_CTAS.)
#include "run.h"

static void launch(tile_kernel *k, tile_arg *args, uint32_t n, uint32_t warps, uint32_t ctas,
                   uint32_t x, uint32_t y, uint32_t z) {
    tile_launch_options o = {
        .size = sizeof o, .grid = {x, y, z}, .num_warps = warps, .num_ctas = ctas};
    must(tile_launch(k, args, n, &o, &err));
}

/// Ids are those of programs, and clusters leave y and z alone.
static void test_ids(uint32_t ctas) {
    static const char source[] =
        "def k(out: *i32):\n"
        "    x = program_id(0)\n"
        "    y = program_id(1)\n"
        "    z = program_id(2)\n"
        "    at = out + ((z * num_programs(1) + y) * num_programs(0) + x) * 7\n"
        "    store(at, x)\n"
        "    store(at + 1, y)\n"
        "    store(at + 2, z)\n"
        "    store(at + 3, num_programs(0))\n"
        "    store(at + 4, num_programs(1))\n"
        "    store(at + 5, num_programs(2))\n"
        "    tl.atomic_add(at + 6, 1)\n";
    enum { X = 3, Y = 2, Z = 4, WORDS = 7 };
    int32_t out[X * Y * Z * WORDS] = {0};
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    tile_buffer *d = buffer_from(out, sizeof out);
    tile_arg args[] = {TILE_BUFFER(d, "i32")};
    launch(k, args, 1, 2, ctas, X, Y, Z);
    read_buffer(d, out, sizeof out);
    for (int i = 0; i < X * Y * Z; i++) {
        const int32_t *p = out + i * WORDS;
        expect(p[0] == i % X && p[1] == i / X % Y && p[2] == i / X / Y && p[3] == X && p[4] == Y &&
                   p[5] == Z && p[6] == 1,
               "%u CTAs, program %d: (%d, %d, %d) of (%d, %d, %d), %d times", ctas, i, p[0], p[1],
               p[2], p[3], p[4], p[5], p[6]);
    }
    tile_buffer_destroy(d);
    tile_module_destroy(mod);
}

/// Softmax of rows up to a quarter of a million elements, each read once and written once.
static void test_softmax(uint32_t cols, uint32_t warps, uint32_t ctas) {
    static const char source[] = "def k(y: *fp32, x: *fp32, n: i32, B: constexpr):\n"
                                 "    c = arange(0, B)\n"
                                 "    r = program_id(0) * n\n"
                                 "    v = load(x + r + c, mask=c < n, other=-float('inf'))\n"
                                 "    e = exp(v - max(v, axis=0))\n"
                                 "    store(y + r + c, e / sum(e, axis=0), mask=c < n)\n";
    enum { ROWS = 2 };
    size_t bytes = (size_t)ROWS * cols * 4;
    float *x = xmalloc(bytes), *y = xmalloc(bytes);
    for (size_t i = 0; i < (size_t)ROWS * cols; i++)
        x[i] = (float)((int32_t)(random_u32() % 4001) - 2000) / 256;
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    tile_buffer *dx = buffer_from(x, bytes), *dy = buffer_from(NULL, bytes);
    tile_arg args[] = {TILE_BUFFER(dy, "fp32"), TILE_BUFFER(dx, "fp32"), TILE_I32(cols),
                       TILE_CONSTEXPR_INT("B", next_power_of_2(cols))};
    launch(k, args, 4, warps, ctas, ROWS, 1, 1);
    read_buffer(dy, y, bytes);
    for (uint32_t r = 0; r < ROWS; r++) {
        const float *row = x + (size_t)r * cols, *got = y + (size_t)r * cols;
        double max = -INFINITY, sum = 0;
        for (uint32_t c = 0; c < cols; c++)
            max = fmax(max, (double)row[c]);
        for (uint32_t c = 0; c < cols; c++)
            sum += exp((double)row[c] - max);
        for (uint32_t c = 0; c < cols; c++) {
            double ref = exp((double)row[c] - max) / sum;
            double bound = (4 + 2 * (max - (double)row[c])) * 0x1p-24 * ref + 0x1p-149;
            if (!expect(fabs((double)got[c] - ref) <= bound,
                        "softmax of %u, %u warps, %u CTAs: [%u, %u] is %.9g, expected %.9g", cols,
                        warps, ctas, r, c, (double)got[c], ref))
                break;
        }
    }
    tile_buffer_destroy(dx), tile_buffer_destroy(dy);
    tile_module_destroy(mod);
    free(x), free(y);
}

/// The largest element of a row and where it first stands; NaN never is it. Several rows at once.
static void test_argmax(uint32_t rows, uint32_t cols, uint32_t warps, uint32_t ctas) {
    static const char source[] = "def k(x: *fp32, at: *i32, R: constexpr, C: constexpr):\n"
                                 "    r = arange(0, R)\n"
                                 "    c = arange(0, C)\n"
                                 "    v = load(x + r[:, None] * C + c[None, :])\n"
                                 "    store(at + r, tl.argmax(v, axis=1))\n"
                                 "    store(at + R + c, tl.argmax(v, axis=0))\n";
    size_t n = (size_t)rows * cols;
    float *x = xmalloc(n * 4);
    int32_t *at = xmalloc((rows + cols) * 4);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(random_u32() % 1000);
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    tile_buffer *dx = buffer_from(x, n * 4), *da = buffer_from(NULL, (rows + cols) * 4);
    tile_arg args[] = {TILE_BUFFER(dx, "fp32"), TILE_BUFFER(da, "i32"),
                       TILE_CONSTEXPR_INT("R", rows), TILE_CONSTEXPR_INT("C", cols)};
    launch(k, args, 4, warps, ctas, 1, 1, 1);
    read_buffer(da, at, (rows + cols) * 4);
    for (uint32_t r = 0; r < rows; r++) {
        uint32_t best = 0;
        for (uint32_t c = 1; c < cols; c++)
            best = x[r * cols + c] > x[r * cols + best] ? c : best;
        expect(at[r] == (int32_t)best, "argmax of row %u of [%u, %u], %u CTAs: %d, expected %u", r,
               rows, cols, ctas, at[r], best);
    }
    for (uint32_t c = 0; c < cols; c++) {
        uint32_t best = 0;
        for (uint32_t r = 1; r < rows; r++)
            best = x[r * cols + c] > x[best * cols + c] ? r : best;
        expect(at[rows + c] == (int32_t)best,
               "argmax of column %u of [%u, %u], %u CTAs: %d, expected %u", c, rows, cols, ctas,
               at[rows + c], best);
    }
    tile_buffer_destroy(dx), tile_buffer_destroy(da);
    tile_module_destroy(mod);
    free(x), free(at);
}

/// Reductions to scalars, each of which the CTAs exchange: of small and of large numbers, of several
/// at once, in an `if`, again and again. An exchange does not order memory: what a program has stored
/// before one it sees after it, wherever it was stored.
static void test_exchanges(uint32_t warps, uint32_t ctas) {
    static const char source[] = "def k(x: *fp32, y: *fp32, at: *fp32, n: i32):\n"
                                 "    c = arange(0, 4096)\n"
                                 "    v = load(x + c)\n"
                                 "    store(y + c, v + 1)\n"
                                 "    total = sum(v, axis=0)\n"
                                 "    back = load(y + 4095 - c)\n"
                                 "    store(at, total)\n"
                                 "    store(at + 1, max(v.to(fp16), axis=0).to(fp32))\n"
                                 "    store(at + 2, min(v.to(i8), axis=0).to(fp32))\n"
                                 "    store(at + 3, sum(v.to(i64) * 1000000, axis=0) // 1000000)\n"
                                 "    store(at + 4, tl.argmax(back, axis=0))\n"
                                 "    if total > 0:\n"
                                 "        store(at + 5, max(back, axis=0))\n"
                                 "    rest = 0.0\n"
                                 "    for i in range(n):\n"
                                 "        rest += sum(back * i, axis=0)\n"
                                 "    store(at + 6, rest)\n";
    enum { N = 4096, TURNS = 5 };
    static float x[N];
    float at[7], want[7] = {0, -100, 100, 0, 0, -100, 0};
    for (int i = 0; i < N; i++) {
        x[i] = (float)(random_u32() % 100) - 49;
        want[0] += x[i], want[3] += x[i];
        want[1] = fmaxf(want[1], x[i]), want[2] = fminf(want[2], x[i]);
        if (x[i] + 1 >= want[5])
            want[4] = (float)(N - 1 - i), want[5] = x[i] + 1;
    }
    want[6] = (want[0] + N) * (TURNS * (TURNS - 1) / 2);
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    tile_buffer *dx = buffer_from(x, sizeof x), *dy = buffer_from(NULL, sizeof x),
                *da = buffer_from(NULL, sizeof at);
    tile_arg args[] = {TILE_BUFFER(dx, "fp32"), TILE_BUFFER(dy, "fp32"), TILE_BUFFER(da, "fp32"),
                       TILE_I32(TURNS)};
    launch(k, args, 4, warps, ctas, 1, 1, 1);
    read_buffer(da, at, sizeof at);
    for (int i = 0; i < 7; i++)
        expect(at[i] == want[i] || (i == 5 && want[0] <= 0),
               "exchange %d, %u warps, %u CTAs: %g, not %g", i, warps, ctas, (double)at[i],
               (double)want[i]);
    tile_buffer_destroy(dx), tile_buffer_destroy(dy), tile_buffer_destroy(da);
    tile_module_destroy(mod);
}

/// A transpose moves most of a tile to other CTAs, again and again.
static void test_transpose(uint32_t side, uint32_t warps, uint32_t ctas) {
    static const char source[] = "def k(x: *i32, y: *i32, turns: i32, S: constexpr):\n"
                                 "    a = arange(0, S)\n"
                                 "    p = a[:, None] * S + a[None, :]\n"
                                 "    v = load(x + p)\n"
                                 "    for i in range(turns):\n"
                                 "        v = trans(v) * 3 + p\n"
                                 "    store(y + p, tl.flip(v, 0))\n";
    enum { TURNS = 3 };
    size_t n = (size_t)side * side;
    uint32_t *x = xmalloc(n * 4), *y = xmalloc(n * 4), *want = xmalloc(n * 4), *t = xmalloc(n * 4);
    for (size_t i = 0; i < n; i++)
        want[i] = x[i] = random_u32();
    for (int turn = 0; turn < TURNS; turn++) {
        for (size_t i = 0; i < n; i++)
            t[i] = want[i % side * side + i / side] * 3 + (uint32_t)i;
        memcpy(want, t, n * 4);
    }
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    tile_buffer *dx = buffer_from(x, n * 4), *dy = buffer_from(NULL, n * 4);
    tile_arg args[] = {TILE_BUFFER(dx, "i32"), TILE_BUFFER(dy, "i32"), TILE_I32(TURNS),
                       TILE_CONSTEXPR_INT("S", side)};
    launch(k, args, 4, warps, ctas, 1, 1, 1);
    read_buffer(dy, y, n * 4);
    for (size_t i = 0; i < n; i++)
        if (!expect(y[i] == want[(side - 1 - i / side) * side + i % side],
                    "transpose of %u, %u warps, %u CTAs: element %zu", side, warps, ctas, i))
            break;
    tile_buffer_destroy(dx), tile_buffer_destroy(dy);
    tile_module_destroy(mod);
    free(x), free(y), free(want), free(t);
}

/// Atomics of tiles that CTAs hold copies of, and of scalars, happen once; all see the old value.
static void test_once(uint32_t ctas) {
    static const char source[] = "def k(x: *i32, y: *i32):\n"
                                 "    o = arange(0, 8)\n"
                                 "    before = tl.atomic_add(x + o, o + 1)\n"
                                 "    store(y + o, before)\n"
                                 "    n = tl.atomic_add(x + 8, 1)\n"
                                 "    m = tl.atomic_cas(x + 9, n, 77)\n"
                                 "    if m == n:\n"
                                 "        tl.atomic_add(x + 10, 1)\n"
                                 "    store(y + 16 + arange(0, 256), arange(0, 256) + n)\n";
    int32_t x[11] = {0, 1, 2, 3, 4, 5, 6, 7, 5, 5, 0}, y[16 + 256];
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    tile_buffer *dx = buffer_from(x, sizeof x), *dy = buffer_from(NULL, sizeof y);
    tile_arg args[] = {TILE_BUFFER(dx, "i32"), TILE_BUFFER(dy, "i32")};
    launch(k, args, 2, 4, ctas, 1, 1, 1);
    read_buffer(dx, x, sizeof x), read_buffer(dy, y, sizeof y);
    for (int i = 0; i < 8; i++)
        expect(x[i] == 2 * i + 1 && y[i] == i, "%u CTAs: x[%d] is %d, was %d", ctas, i, x[i], y[i]);
    expect(x[8] == 6 && x[9] == 77 && x[10] == 1, "%u CTAs: scalars %d %d %d", ctas, x[8], x[9],
           x[10]);
    for (int i = 0; i < 256; i++)
        expect(y[16 + i] == i + 5, "%u CTAs: y[%d] is %d", ctas, 16 + i, y[16 + i]);
    tile_buffer_destroy(dx), tile_buffer_destroy(dy);
    tile_module_destroy(mod);
}

int main(void) {
    open_test_device();
    if (!has_clusters()) {
        printf("skipped: %s has no clusters\n", dev_info.name);
        return 77;
    }
    for (uint32_t ctas = 1; ctas <= 16; ctas *= 2) {
        test_ids(ctas);
        test_once(ctas);
        test_argmax(8, 512, 4, ctas);
        test_argmax(1, 16384, 8, ctas);
        for (uint32_t warps = 1; warps <= 32; warps *= 4)
            test_exchanges(warps, ctas);
        test_transpose(64, 2, ctas);
    }
    test_softmax(65536, 8, 4);
    test_softmax(50257, 16, 2);
    test_softmax(262144, 16, 8);
    test_softmax(200001, 16, 16);
    test_transpose(512, 16, 8); // 1 MiB: in the memory of no CTA by itself
    return finish();
}
