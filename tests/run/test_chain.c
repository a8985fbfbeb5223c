// A long chain of flips, permutes, joins and reductions of one tile, each of which changes its
// layout: a reduction leaves copies behind and a join takes twice the registers, so that every
// thread would soon hold the whole tile if the layout only ever followed.
#include "run.h"

enum { N = 128, BITS = 7, ROUNDS = 24 };

static const char source[] =
    "def k(x: *i32, y: *i32):\n"
    "    v = load(x + arange(0, 128)).reshape((2, 2, 2, 2, 2, 2, 2, 1))\n"
    "    for j in tl.static_range(24):\n"
    "        v = tl.permute(tl.flip(v, j % 7), (1, 2, 3, 4, 5, 6, 7, 0)).reshape((2, 2, 2, 2, 2, "
    "2, 2))\n"
    "        v = tl.join(v, v + j).sum(axis=j % 7).reshape((2, 2, 2, 2, 2, 2, 2, 1))\n"
    "    store(y + arange(0, 128), v.ravel())\n";

/// One round on the bits of plain indices; dimension d is bit 6 - d.
static void round_of(uint32_t *v, uint32_t j) {
    uint32_t turned[N], bit = BITS - 1 - j % BITS, low = (1u << bit) - 1;
    for (uint32_t i = 0; i < N; i++) {
        uint32_t from = i ^ 1u << bit;
        turned[(i << 1 | i >> (BITS - 1)) & (N - 1)] = v[from];
    }
    for (uint32_t i = 0; i < N; i++) {
        uint32_t side = i & 1, rest = i >> 1, at = (rest & ~low) << 1 | (rest & low);
        v[i] = turned[at] + turned[at | 1u << bit] + side * 2 * j;
    }
}

int main(void) {
    open_test_device();
    uint32_t x[N], want[N], got[N];
    for (int i = 0; i < N; i++)
        want[i] = x[i] = random_u32();
    for (uint32_t j = 0; j < ROUNDS; j++)
        round_of(want, j);
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    tile_buffer *dx = buffer_from(x, sizeof x), *dy = buffer_from(NULL, sizeof got);
    for (uint32_t warps = 1; warps <= 32; warps *= 2) {
        tile_arg args[] = {TILE_BUFFER(dx, "i32"), TILE_BUFFER(dy, "i32")};
        tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps};
        must(tile_launch(k, args, 2, &o, &err));
        read_buffer(dy, got, sizeof got);
        for (int i = 0; i < N; i++)
            expect(got[i] == want[i], "%u warps: [%d] is %u, expected %u", warps, i, got[i],
                   want[i]);
    }
    tile_buffer_destroy(dx);
    tile_buffer_destroy(dy);
    tile_module_destroy(mod);
    return finish();
}
