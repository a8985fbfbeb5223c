// Rows that start anywhere and end anywhere: every type at every distance from a multiple of 16
// bytes, read and written at different ones, lengths from none to more than the tile has room for.
// Rows lie in the middle of buffers whose every byte is compared.
#include "run.h"

enum { BLOCK = 1024, ROOM = 64, ELEMENTS = BLOCK + 2 * ROOM };

static const struct {
    const char *name;
    unsigned bytes;
} types[] = {{"i8", 1}, {"i16", 2}, {"i32", 4}, {"fp32", 4}, {"i64", 8}, {"bf16", 2}};

static const int lengths[] = {-3, 0, 1, 2, 7, 9, 500, 781, 1000, 1009, 1015, 1023, 1024, 1030};

static tile_kernel *compile(const char *type, const char *form, tile_module **mod) {
    char source[1024];
    snprintf(source, sizeof source,
             "def k(y: *%s, x: *%s, n: i32, BLOCK: constexpr):\n"
             "    cols = arange(0, BLOCK)\n"
             "    mask = cols < n\n"
             "%s",
             type, type, form);
    return kernel_from(source, "k", mod);
}

/// Launches on rows that begin at elements `to` and `from` of the buffers.
static void launch(tile_kernel *k, const char *type, unsigned bytes, tile_buffer *y, int to,
                   tile_buffer *x, int from, int n, unsigned warps) {
    tile_arg args[] = {TILE_POINTER((char *)tile_buffer_data(y) + to * (int)bytes, type),
                       TILE_POINTER((char *)tile_buffer_data(x) + from * (int)bytes, type),
                       TILE_I32(n), TILE_CONSTEXPR_INT("BLOCK", BLOCK)};
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps};
    must(tile_launch(k, args, 4, &o, &err));
}

static uint8_t x[8 * ELEMENTS], before[8 * ELEMENTS], want[8 * ELEMENTS], got[8 * ELEMENTS];

/// y = x, moved bit by bit; other elements of y stay.
static void test_copy(const char *type, unsigned bytes, unsigned warps) {
    tile_module *mod;
    tile_kernel *k =
        compile(type, "    store(y + cols, load(x + cols, mask=mask), mask=mask)\n", &mod);
    tile_buffer *dx = buffer_from(x, sizeof x), *dy = buffer_from(NULL, sizeof before);
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        for (unsigned from = 0; from < 17; from += 1 + (bytes == 1)) {
            unsigned to = l % 2 ? from : (5 * from + 3) % 17, n = lengths[l] < 0 ? 0 : lengths[l];
            n = n > BLOCK ? BLOCK : n;
            must(tile_copy_to_device(dy, 0, before, sizeof before, NULL, &err));
            launch(k, type, bytes, dy, ROOM + (int)to, dx, ROOM + (int)from, lengths[l], warps);
            memcpy(want, before, sizeof want);
            memcpy(want + (ROOM + to) * bytes, x + (ROOM + from) * bytes, n * bytes);
            read_buffer(dy, got, sizeof got);
            expect(!memcmp(got, want, sizeof got), "copy of %s, %d from %u to %u at %u warps", type,
                   lengths[l], from, to, warps);
        }
    }
    tile_buffer_destroy(dx);
    tile_buffer_destroy(dy);
    tile_module_destroy(mod);
}

/// In place, with a reduction over the row, the mask as data and a fallback: each element of the
/// row becomes itself plus how many lie in it plus its largest; all small integers, exact in fp32.
static void test_fold(unsigned warps) {
    tile_module *mod;
    tile_kernel *k = compile("fp32",
                             "    row = load(x + cols, mask=mask, other=-float('inf'))\n"
                             "    count = sum(where(mask, 1.0, 0.0), axis=0)\n"
                             "    store(y + cols, row + count + max(row, axis=0), mask=mask)\n",
                             &mod);
    static float data[ELEMENTS], result[ELEMENTS];
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        for (int from = 0; from < 5; from++) {
            int n = lengths[l] < 0 ? 0 : lengths[l] > BLOCK ? BLOCK : lengths[l];
            float largest = -INFINITY;
            for (int i = 0; i < ELEMENTS; i++)
                data[i] = (float)(random_u32() % 1000);
            for (int i = 0; i < n; i++)
                largest = data[ROOM + from + i] > largest ? data[ROOM + from + i] : largest;
            tile_buffer *d = buffer_from(data, sizeof data);
            launch(k, "fp32", 4, d, ROOM + from, d, ROOM + from, lengths[l], warps);
            read_buffer(d, result, sizeof result);
            for (int i = 0; i < n; i++)
                data[ROOM + from + i] += (float)n + largest;
            expect(!memcmp(data, result, sizeof data), "fold of %d at %d, %u warps", lengths[l],
                   from, warps);
            tile_buffer_destroy(d);
        }
    }
    tile_module_destroy(mod);
}

int main(void) {
    open_test_device();
    for (size_t i = 0; i < sizeof x; i++) {
        x[i] = (uint8_t)random_u32();
        before[i] = (uint8_t)random_u32();
    }
    for (size_t i = 1; i < sizeof x; i += 2) // no NaN of bf16 or fp32: their bits may change
        x[i] &= 0x3f;
    for (unsigned warps = 1; warps <= 16; warps *= 4) {
        for (size_t t = 0; t < sizeof types / sizeof *types; t++)
            test_copy(types[t].name, types[t].bytes, warps);
        test_fold(warps);
    }
    return finish();
}
