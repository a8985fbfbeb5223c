// Which pairs of elements hold one that is not zero, under masks and their opposites: where ptxas of
// CUDA 13.0 takes "any of two" for "both" (codegen/ptx_respell.c). Found by a random program.
#include "run.h"

enum { N = 1024, PAIRS = N / 2 };

static const char source[] =
    "def k(x: *i8, on: *i1, y: *i32, flags: *i32, BLOCK: constexpr):\n"
    "    o = arange(0, BLOCK)\n"
    "    half = arange(0, BLOCK // 2)\n"
    "    v = load(x + o) != 0\n"
    "    m = load(on + half)\n"
    "    any = max(v.to(i32).reshape((BLOCK // 2, 2)), axis=1).to(i1)\n"
    "    all = min(v.to(i32).reshape((BLOCK // 2, 2)), axis=1).to(i1)\n"
    "    store(flags + o, v.to(i32))\n"
    "    store(y + half, where(m, any, True).to(i32))\n"
    "    store(y + BLOCK + half, where(m, False, any).to(i32))\n"
    "    store(y + 2 * BLOCK + half, (any & m).to(i32) + 2 * (any | m).to(i32) +\n"
    "          4 * (all & m).to(i32) + 8 * (all | ~m).to(i32) + 16 * m.to(i32))\n"
    "    store(y + 3 * BLOCK + half, 1, mask=where(m, any, True))\n";

int main(void) {
    open_test_device();
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    static int8_t x[N];
    static uint8_t on[PAIRS];
    static int32_t y[4 * N], flags[N];
    for (uint32_t warps = 1; warps <= 16; warps *= 2) {
        for (int i = 0; i < N; i++)
            x[i] = (int8_t)(random_u32() % 3 ? 0 : (int)(random_u32() % 256) - 128);
        for (int i = 0; i < PAIRS; i++)
            on[i] = random_u32() & 1;
        tile_buffer *dx = buffer_from(x, sizeof x), *dn = buffer_from(on, sizeof on),
                    *dy = buffer_from(NULL, sizeof y), *df = buffer_from(NULL, sizeof flags);
        tile_arg args[] = {TILE_BUFFER(dx, "i8"), TILE_BUFFER(dn, "i1"), TILE_BUFFER(dy, "i32"),
                           TILE_BUFFER(df, "i32"), TILE_CONSTEXPR_INT("BLOCK", N)};
        tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps};
        must(tile_fill(dy, 0, 0, sizeof y, NULL, &err));
        must(tile_launch(k, args, 5, &o, &err));
        read_buffer(dy, y, sizeof y);
        read_buffer(df, flags, sizeof flags);
        for (int i = 0; i < PAIRS; i++) {
            int any = x[2 * i] || x[2 * i + 1], all = x[2 * i] && x[2 * i + 1], m = on[i];
            int want = (any & m) + 2 * (any | m) + 4 * (all & m) + 8 * (all | !m) + 16 * m;
            expect(y[i] == (m ? any : 1) && y[N + i] == (m ? 0 : any) && y[2 * N + i] == want &&
                       y[3 * N + i] == (m ? any : 1) && flags[2 * i] == (x[2 * i] != 0),
                   "pair %d, %u warps: %d %d, mask %d", i, warps, x[2 * i], x[2 * i + 1], m);
        }
        tile_buffer_destroy(dx);
        tile_buffer_destroy(dn);
        tile_buffer_destroy(dy);
        tile_buffer_destroy(df);
    }
    tile_module_destroy(mod);
    return finish();
}
