// Loops that count down, with a reduction across warps inside, so that a loop that is too long or
// never ends is noticed: the assembler took some forms of the test at their end wrongly.
#include "run.h"

static const char source[] =
    "def k(x: *i32, y: *i32, lo: i32, hi: i32, far: i64, n: i32):\n"
    "    row = load(x + arange(0, 256))\n"
    "    one = 0\n"
    "    for i in range(n & 3, -1, -1):\n" // the bound is -1, the start a small range
    "        one += sum(row, axis=0) + i\n"
    "    two = 0\n"
    "    for i in range(hi, lo, -1):\n"
    "        two = two * 3 + max(row, axis=0) + i\n"
    "    three = 0\n"
    "    for i in range(hi, lo, -3):\n"
    "        three = three * 3 + max(row, axis=0) + i\n"
    "    four = 0\n"
    "    for i in range(-2147483641, -2147483647 - 1, -4):\n" // down to the end of the type
    "        four += sum(row, axis=0)\n"
    "    five = 0\n"
    "    for i in range(far, far - 9, -2):\n"
    "        five += sum(row, axis=0) + (far - i).to(i32)\n"
    "    store(y, one)\n"
    "    store(y + 1, two)\n"
    "    store(y + 2, three)\n"
    "    store(y + 3, four)\n"
    "    store(y + 4, five)\n";

int main(void) {
    open_test_device();
    int32_t x[256], got[5];
    int32_t sum = 0, max = 0;
    for (int i = 0; i < 256; i++) {
        x[i] = (int32_t)(random_u32() % 100);
        sum += x[i];
        max = x[i] > max ? x[i] : max;
    }
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    tile_buffer *dx = buffer_from(x, sizeof x), *dy = buffer_from(NULL, sizeof got);
    static const int32_t bounds[][2] = {{0, 0},  {0, 1},  {-1, 3},   {-7, 5},
                                        {2, 12}, {5, -5}, {-40, -31}};
    for (uint32_t warps = 1; warps <= 8; warps *= 2)
        for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++)
            for (int n = 0; n < 4; n++) {
                int32_t lo = bounds[b][0], hi = bounds[b][1], want[5] = {0};
                for (int i = n; i > -1; i--)
                    want[0] += sum + i;
                for (int i = hi; i > lo; i--)
                    want[1] = (int32_t)((uint32_t)want[1] * 3 + (uint32_t)(max + i));
                for (int i = hi; i > lo; i -= 3)
                    want[2] = want[2] * 3 + max + i;
                want[3] = 2 * sum;
                for (int i = 0; i < 9; i += 2)
                    want[4] += sum + i;
                tile_arg args[] = {
                    TILE_BUFFER(dx, "i32"),
                    TILE_BUFFER(dy, "i32"),
                    TILE_I32(lo),
                    TILE_I32(hi),
                    {.kind = TILE_ARG_SCALAR, .dtype = "i64", .value.i = -(INT64_C(1) << 62)},
                    TILE_I32(n + 8)};
                tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps};
                must(tile_launch(k, args, 6, &o, &err));
                read_buffer(dy, got, sizeof got);
                for (int i = 0; i < 5; i++)
                    expect(got[i] == want[i],
                           "loop %d, %d down to %d, n %d, %u warps: %d, expected %d", i + 1, hi, lo,
                           n, warps, got[i], want[i]);
            }
    tile_buffer_destroy(dx);
    tile_buffer_destroy(dy);
    tile_module_destroy(mod);
    return finish();
}
