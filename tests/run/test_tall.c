// Vectors that do not lie along a tile's last dimension: tiles whose first or middle dimension runs
// through memory, under masks that cut it from either end, from both, or not at all. Loads, stores
// whose other elements must stay, and loops with num_stages, which copy ahead under the same masks.
#include "run.h"

enum { TALL = 64, WIDE = 16, ELEMENTS = TALL * WIDE, MOST_ROWS = 5, MOST_BYTES = 4, OTHER = 1 };

// What must hold of element (i, j) for it to be moved, in words that are the kernel's and C's.
// i runs through memory.
#define MASKS(X)                                                                                   \
    X(i < m)                                                                                       \
    X(i <= m)                                                                                      \
    X(i >= m)                                                                                      \
    X(i > m)                                                                                       \
    X(m > i)                                                                                       \
    X(m >= i)                                                                                      \
    X(m <= i)                                                                                      \
    X(m < i)                                                                                       \
    X((i >= m) & (i < 59))                                                                         \
    X((i < m) & (j < 5))                                                                           \
    X((i > m) & (j >= 3))                                                                          \
    X(j < 7)                                                                                       \
    X(i * 2 < m)                                                                                   \
    X(i != m)

#define X(condition) #condition,
static const char *const masks[] = {MASKS(X)};
#undef X
enum { NUM_MASKS = sizeof masks / sizeof *masks };

static bool is_on(int mask, int i, int j, int m) {
#define X(condition) condition,
    const bool on[NUM_MASKS] = {MASKS(X)};
#undef X
    return on[mask];
}

static const struct element_type {
    const char *name;
    unsigned bytes;
} types[] = {{"i8", 1}, {"i16", 2}, {"i32", 4}};

static const char *const shapes[] = {
    "    i = arange(0, 64)[:, None]\n"
    "    j = arange(0, 16)[None, :]\n",
    "    i = arange(0, 64)[None, :, None]\n"
    "    j = arange(0, 2)[:, None, None] * 8 + arange(0, 8)[None, None, :]\n",
};

static uint8_t x[MOST_ROWS * ELEMENTS * MOST_BYTES];

static int64_t element(const uint8_t *from, unsigned bytes, int at) {
    int64_t v = 0;
    memcpy(&v, from + (size_t)at * bytes, bytes);
    return (int64_t)((uint64_t)v << (64 - 8 * bytes)) >> (64 - 8 * bytes);
}

static void check(tile_kernel *k, const struct element_type *t, int mask, int m, uint32_t warps) {
    static uint8_t loaded[sizeof x], stored[sizeof x];
    static int32_t sums[ELEMENTS];
    tile_buffer *dx = buffer_from(x, sizeof x), *dy = buffer_from(NULL, sizeof x),
                *dz = buffer_from(x, sizeof x), *dw = buffer_from(NULL, sizeof sums);
    tile_arg args[] = {TILE_BUFFER(dy, t->name),
                       TILE_BUFFER(dz, t->name),
                       TILE_BUFFER(dw, "i32"),
                       TILE_BUFFER(dx, t->name),
                       TILE_I32(m),
                       TILE_I32(MOST_ROWS)};
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps};
    must(tile_launch(k, args, 6, &o, &err));
    read_buffer(dy, loaded, sizeof loaded);
    read_buffer(dz, stored, sizeof stored);
    read_buffer(dw, sums, sizeof sums);
    for (int at = 0; at < ELEMENTS; at++) {
        bool on = is_on(mask, at % TALL, at / TALL, m);
        int64_t own = element(x, t->bytes, at), next = element(x, t->bytes, ELEMENTS + at);
        uint32_t sum = 0;
        for (int row = 0; row < MOST_ROWS; row++)
            sum = sum * 31 +
                  (uint32_t)(on ? element(x, t->bytes, row * ELEMENTS + at) : (int64_t)OTHER);
        if (!expect(element(loaded, t->bytes, at) == (on ? own : OTHER) &&
                        element(stored, t->bytes, at) == (on ? next : own) &&
                        (uint32_t)sums[at] == sum,
                    "%s, mask %s, m = %d, %u warps: element (%d, %d)", t->name, masks[mask], m,
                    warps, at % TALL, at / TALL))
            break;
    }
    tile_buffer_destroy(dx);
    tile_buffer_destroy(dy);
    tile_buffer_destroy(dz);
    tile_buffer_destroy(dw);
}

static void run(const char *shape, const struct element_type *t, int mask, uint32_t warps) {
    char source[1024];
    snprintf(source, sizeof source,
             "@triton.jit(do_not_specialize=['m', 'rows'])\n"
             "def k(y: *%s, z: *%s, w: *i32, x: *%s, m: i32, rows: i32):\n"
             "%s"
             "    o = i + j * 64\n"
             "    mask = %s\n"
             "    store(y + o, load(x + o, mask=mask, other=1))\n"
             "    store(z + o, load(x + 1024 + o), mask=mask)\n"
             "    sum = (o * 0).to(i32)\n"
             "    for r in tl.range(0, rows, num_stages=3):\n"
             "        sum = sum * 31 + load(x + r * 1024 + o, mask=mask, other=1).to(i32)\n"
             "    store(w + o, sum)\n",
             t->name, t->name, t->name, shape, masks[mask]);
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    static const int limits[] = {-1, 0, 1, 5, 21, 32, 46, 63, 64, 70};
    for (size_t m = 0; m < sizeof limits / sizeof *limits; m++)
        check(k, t, mask, limits[m], warps);
    tile_module_destroy(mod);
}

int main(void) {
    open_test_device();
    for (size_t i = 0; i < sizeof x; i++)
        x[i] = (uint8_t)random_u32();
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++)
            for (int mask = 0; mask < NUM_MASKS; mask++)
                if ((s + t + (size_t)mask) % 2 == 0) // compiling takes its time
                    run(shapes[s], &types[t], mask, 1u << (mask + (int)t) % 3);
    return finish();
}
