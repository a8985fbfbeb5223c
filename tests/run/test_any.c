// Which pairs of elements hold one that is not zero, under masks and their opposites: where ptxas of
// CUDA 13.0 takes "any of two" for "both" (codegen/ptx_respell.c). Found by random programs.
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

// The second half of each row is 1 as long as pairs of elements are; the first half is all 1. With two
// warps two lanes hold a row, and what one gives the other is chosen by its parity.
static const char rows_source[] =
    "def rows(x: *i1, y: *i1):\n"
    "    o = arange(0, 512).reshape((32, 16))\n"
    "    pairs = reshape(min(reshape(load(x + o), (256, 2)), axis=1), (32, 8)).to(i1)\n"
    "    store(y + o, cat(full((32, 8), True, i1), pairs, dim=1).cumprod(axis=1))\n";

static void check_rows(void) {
    tile_module *mod;
    tile_kernel *k = kernel_from(rows_source, "rows", &mod);
    static uint8_t x[512], y[512];
    for (uint32_t warps = 1; warps <= 16; warps *= 2) {
        for (int i = 0; i < 512; i++)
            x[i] = random_u32() % 8 != 0;
        tile_buffer *dx = buffer_from(x, sizeof x), *dy = buffer_from(NULL, sizeof y);
        tile_arg args[] = {TILE_BUFFER(dx, "i1"), TILE_BUFFER(dy, "i1")};
        tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps};
        must(tile_launch(k, args, 2, &o, &err));
        read_buffer(dy, y, sizeof y);
        for (int row = 0; row < 32; row++) {
            int all = 1;
            for (int c = 0; c < 16; c++) {
                int pair = 8 * row + c - 8;
                all = all && (c < 8 || (x[2 * pair] && x[2 * pair + 1]));
                expect(y[16 * row + c] == all, "row %d, column %d, %u warps: %d", row, c, warps,
                       y[16 * row + c]);
            }
        }
        tile_buffer_destroy(dx);
        tile_buffer_destroy(dy);
    }
    tile_module_destroy(mod);
}

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
    check_rows();
    return finish();
}
