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
    expect(!memcmp(got, want, sizeof got),
           "%s of %s: x and y at %u, z at %u, w at %u, %u and %u "
           "elements, %u warps",
           is_larger ? "larger" : "parts", types[t].name, r->x, r->z, r->w, r->n, r->m, warps);
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
    return finish();
}
