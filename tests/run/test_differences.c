// Where the language differs from Triton (the table in docs/language.md): those lines that no other
// test shows. The rest is held by test_builtins and test_reduction_builtins (functions of 16-bit
// floats, argmax, softmax), test_fp8 (conversions), test_cpu_checks (what the cpu device reports),
// test_pipeline (loops with num_stages), test_block_pointers (far offsets),
// test_docs (bare names, methods) and the lit tests of errors.
#include "awkward.h"

enum { N = 256 };

static const char source[] =
    "def k(x: *fp32, h: *fp16, y: *fp32, z: *i32, total: *fp16, one):\n"
    "    o = tl.arange(0, 16)\n"
    "    tl.store(y + o, tl.load(x + o, mask=o < 3))\n" // without `other`
    "    small = (o + 120).to(tl.int8)\n"
    "    tl.static_assert((small + one).dtype == tl.int32)\n"
    "    tl.store(z + o, small + one)\n" // an argument equal to 1
    "    tl.store(z + 16 + o, 3 <= o < 7)\n"
    "    tl.store(z + 32 + o, tl.arange(-8, 8))\n"
    "    p = tl.arange(0, 2)[:, None] * 16 + o[None, :]\n"
    "    tl.store(y + 16 + p, o, mask=o < 12)\n" // of lower rank
    "    tl.store(y + 48 + p, tl.broadcast_to(o, (2, 16)))\n"
    "    least = (one - 129).to(tl.int8)\n" // has no negative in its type
    "    tl.store(y - 48 - least, 7.0)\n"
    "    tl.store(total, tl.sum(tl.load(h + tl.arange(0, 256)), axis=0))\n";

int main(void) {
    open_test_device();
    float x[16], y[81];
    int32_t z[48];
    uint64_t h[N / 4], total = 0;
    number sum = 0;
    for (int i = 0; i < 16; i++)
        x[i] = (float)(i + 1);
    for (unsigned i = 0; i < N; i++) { // the sum is exact in fp32, and far from it in fp16
        number v = (number)(random_u32() % 2040) / 8;
        number_set(F16, h, i, v);
        sum += v;
    }
    tile_buffer *dx = buffer_from(x, sizeof x), *dh = buffer_from(h, sizeof h),
                *dy = buffer_from(NULL, sizeof y), *dz = buffer_from(NULL, sizeof z),
                *dt = buffer_from(NULL, 2);
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    tile_arg args[] = {TILE_BUFFER(dx, "fp32"), TILE_BUFFER(dh, "fp16"), TILE_BUFFER(dy, "fp32"),
                       TILE_BUFFER(dz, "i32"),  TILE_BUFFER(dt, "fp16"), TILE_I32(1)};
    tile_launch_options o = {.size = sizeof o, .grid = {1}};
    must(tile_launch(k, args, 6, &o, &err));
    read_buffer(dy, y, sizeof y), read_buffer(dz, z, sizeof z), read_buffer(dt, &total, 2);
    float untouched;
    memset(&untouched, 0xA5, sizeof untouched);
    for (int i = 0; i < 16; i++) {
        expect(y[i] == (i < 3 ? x[i] : 0), "masked load, %d: %g", i, (double)y[i]);
        int8_t small = (int8_t)(uint8_t)(i + 120);
        expect(z[i] == small + 1, "small + one, %d: %d", i, z[i]);
        expect(z[16 + i] == (i >= 3 && i < 7), "chained comparison, %d: %d", i, z[16 + i]);
        expect(z[32 + i] == i - 8, "arange(-8, 8), %d: %d", i, z[32 + i]);
        for (int row = 0; row < 2; row++) {
            float stored = y[16 + row * 16 + i], spread = y[48 + row * 16 + i];
            expect(stored == (i < 12 ? (float)i : untouched), "row %d, %d: %g", row, i,
                   (double)stored);
            expect(spread == (float)i, "broadcast_to, %d: %g", i, (double)spread);
        }
    }
    expect(y[80] == 7, "pointer - least: %g", (double)y[80]);
    expect(number_get(F16, &total, 0) == number_round(F16, sum), "sum of fp16: %Lg, expected %Lg",
           number_get(F16, &total, 0), sum);
    tile_buffer_destroy(dx), tile_buffer_destroy(dh), tile_buffer_destroy(dy),
        tile_buffer_destroy(dz), tile_buffer_destroy(dt);
    tile_module_destroy(mod);
    return finish();
}
