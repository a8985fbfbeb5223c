// Rows at several distances from a multiple of 16 bytes at once. Two parts of a kernel, each in its
// own branch, begin their tiles as far before a row as their first row asks for, so the element that
// one thread reads in the first part is not the one that it writes in the second: in place, that
// must not be seen. And one part with rows that are off by different amounts. All types; every byte
// of the buffers is compared.
#include "run.h"

enum { BLOCK = 512, ROOM = 32, ELEMENTS = BLOCK + 2 * ROOM, BYTES = 8 * ELEMENTS };

static const struct {
    const char *name;
    unsigned bytes;
} types[] = {{"i1", 1},  {"i8", 1},   {"u8", 1},   {"fp8e4nv", 1}, {"fp8e5", 1},
             {"i16", 2}, {"u16", 2},  {"fp16", 2}, {"bf16", 2},    {"i32", 4},
             {"u32", 4}, {"fp32", 4}, {"i64", 8},  {"u64", 8},     {"fp64", 8}};

static const char source_format[] =
    "def parts(x: *%s, y: *%s, z: *%s, w: *const %s, n: i32, m: i32, BLOCK: constexpr):\n"
    "    if n != -5:\n"
    "        i = arange(0, BLOCK)\n"
    "        store(z + i, load(x + i, mask=i < n), mask=i < n)\n"
    "    if m != -5:\n"
    "        j = arange(0, BLOCK)\n"
    "        store(y + j, load(w + j, mask=j < m), mask=j < m)\n"
    "\n"
    "def larger(x: *%s, y: *%s, z: *%s, w: *%s, n: i32, m: i32, BLOCK: constexpr):\n"
    "    i = arange(0, BLOCK)\n"
    "    v = load(x + i, mask=i < n)\n"
    "    u = load(w + i, mask=i < n)\n"
    "    store(z + i, where(v > u, v, u), mask=i < n)\n"
    "    store(y + i, u, mask=i < n)\n";

typedef struct rows {
    unsigned bytes;   ///< of an element
    unsigned x, z, w; ///< first elements; y is x
    unsigned n, m;
} rows;

/// Of non-negative numbers, whose order is that of their bits.
static const uint8_t *larger_of(const uint8_t *a, const uint8_t *b, unsigned bytes) {
    for (unsigned i = bytes; i-- > 0;)
        if (a[i] != b[i])
            return a[i] > b[i] ? a : b;
    return a;
}

static void reference(bool is_larger, const rows *r, uint8_t *x, uint8_t *z, uint8_t *w) {
    x += r->x * r->bytes;
    z += r->z * r->bytes;
    w += r->w * r->bytes;
    for (unsigned i = 0; i < r->n * r->bytes; i += r->bytes)
        memcpy(z + i, is_larger ? larger_of(x + i, w + i, r->bytes) : x + i, r->bytes);
    memcpy(x, w, (is_larger ? r->n : r->m) * r->bytes);
}

static uint8_t data[3][BYTES], want[3][BYTES], got[3][BYTES];

static void run_rows(tile_kernel *k, unsigned t, bool is_larger, const rows *r, unsigned warps) {
    tile_buffer *d[3];
    tile_arg args[7];
    const unsigned first[] = {r->x, r->x, r->z, r->w};
    memcpy(want, data, sizeof want);
    reference(is_larger, r, want[0], want[1], want[2]);
    for (int i = 0; i < 3; i++)
        d[i] = buffer_from(data[i], BYTES);
    for (int i = 0; i < 4; i++) // y is x
        args[i] = TILE_POINTER((char *)tile_buffer_data(d[i ? i - 1 : 0]) + first[i] * r->bytes,
                               types[t].name);
    args[4] = TILE_I32((int32_t)r->n);
    args[5] = TILE_I32((int32_t)r->m);
    args[6] = TILE_CONSTEXPR_INT("BLOCK", BLOCK);
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps};
    must(tile_launch(k, args, 7, &o, &err));
    for (int i = 0; i < 3; i++) {
        read_buffer(d[i], got[i], BYTES);
        tile_buffer_destroy(d[i]);
    }
    unsigned at = 0;
    while (at < sizeof got && ((uint8_t *)got)[at] == ((uint8_t *)want)[at])
        at++;
    expect(at == sizeof got,
           "%s of %s: x and y at %u, z at %u, w at %u, %u and %u "
           "elements, %u warps: byte %u of %u",
           is_larger ? "larger" : "parts", types[t].name, r->x, r->z, r->w, r->n, r->m, warps,
           at % BYTES, at / BYTES);
}

/// What a masked-off element of an aligned array gives, if its tile moves along with a row that is not
/// aligned: the sum of all elements counts those.
static void run_others(const char *type, unsigned bytes) {
    static const char format[] =
        "def others(x: *%s, w: *%s, sum_of_w: *i32, n: i32, BLOCK: constexpr):\n"
        "    i = arange(0, BLOCK)\n"
        "    v = load(x + i, mask=i < n)\n"
        "    u = load(w + i, mask=i < n, other=5)\n"
        "    store(sum_of_w, sum(u.to(i32), axis=0))\n"
        "    store(x + i, v + u, mask=i < n)\n";
    static const unsigned lengths[] = {0, 1, 7, 8, 200, 501, 507};
    char source[512];
    snprintf(source, sizeof source, format, type, type);
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "others", &mod);
    for (unsigned i = 0; i < 7 * 4; i++) {
        unsigned n = lengths[i / 4], x = 1 + i % 4 + i % 3;
        uint8_t in[2][BLOCK * 8] = {0}, out[BLOCK * 8];
        int32_t total = 5 * (int32_t)(BLOCK - n), sum;
        for (unsigned c = 0; c < BLOCK; c++) {
            in[0][c * bytes] = (uint8_t)(c % 23);
            in[1][c * bytes] = (uint8_t)(c % 17);
            total += c < n ? in[1][c * bytes] : 0;
        }
        tile_buffer *dx = buffer_from(in[0], sizeof in[0]), *dw = buffer_from(in[1], n * bytes + 1),
                    *ds = buffer_from(&total, sizeof total);
        tile_arg args[] = {TILE_POINTER((char *)tile_buffer_data(dx) + x * bytes, type),
                           TILE_POINTER(tile_buffer_data(dw), type),
                           TILE_POINTER(tile_buffer_data(ds), "i32"), TILE_I32((int32_t)n),
                           TILE_CONSTEXPR_INT("BLOCK", BLOCK)};
        tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = 1u << i % 3};
        must(tile_launch(k, args, 5, &o, &err));
        read_buffer(dx, out, sizeof out);
        read_buffer(ds, &sum, sizeof sum);
        expect(sum == total, "others of %s at %u, %u elements: sum %d, not %d", type, x, n, sum,
               total);
        for (unsigned c = x; c < x + n; c++)
            in[0][c * bytes] = (uint8_t)(in[0][c * bytes] + in[1][(c - x) * bytes]);
        expect(!memcmp(out, in[0], sizeof out), "others of %s at %u, %u elements", type, x, n);
        tile_buffer_destroy(dx), tile_buffer_destroy(dw), tile_buffer_destroy(ds);
    }
    tile_module_destroy(mod);
}

static void run_type(unsigned t) {
    static const unsigned lengths[] = {BLOCK, 509, 500, 300, 17, 0};
    char source[2048];
    const char *name = types[t].name;
    snprintf(source, sizeof source, source_format, name, name, name, name, name, name, name, name);
    tile_module *mod;
    tile_kernel *parts = kernel_from(source, "parts", &mod), *larger;
    must(tile_module_get_kernel(mod, "larger", &larger, &err));
    for (int b = 0; b < 3; b++)
        for (unsigned i = 0; i < BYTES; i++) // small and not negative in all types
            data[b][i] = (uint8_t)(random_u32() & (t == 0 ? 1 : 0x3f));
    for (unsigned warps = 1; warps <= 4; warps *= 2)
        for (unsigned k = 0; k < 8; k++) {
            rows r = {.bytes = types[t].bytes,
                      .x = k % 4 == 3 ? 16 : random_u32() % 17,
                      .z = random_u32() % 17,
                      .w = k % 4 == 2 ? 16 : random_u32() % 17,
                      .n = lengths[random_u32() % 6],
                      .m = lengths[random_u32() % 6]};
            run_rows(parts, t, false, &r, warps);
            if (!strstr(name, "fp8"))
                run_rows(larger, t, true, &r, warps);
        }
    tile_module_destroy(mod);
}

int main(void) {
    open_test_device();
    for (unsigned t = 0; t < sizeof types / sizeof *types; t++)
        run_type(t);
    run_others("u8", 1), run_others("i16", 2), run_others("i32", 4), run_others("i64", 8);
    return finish();
}
