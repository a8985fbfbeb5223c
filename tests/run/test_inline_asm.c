// Inline assembly on the GPU: every way of packing, several results, tiles smaller than what one
// instance works on; the cpu device refuses it at its line. And tl.extra.cuda, on either.
#include "run.h"

#include <stdint.h>

static const char source[] =
    "def ones(x: *i32, y: *i32, N: constexpr):\n"
    "    o = tl.arange(0, N)\n"
    "    v = tl.load(x + o)\n"
    "    r = tl.inline_asm_elementwise('shf.l.wrap.b32 $0, $1, $2, 5;', '=r,r,r', [v, v], "
    "tl.int32, True, 1)\n"
    "    tl.store(y + o, r)\n"
    "def bytes(x: *u8, y: *u8, N: constexpr):\n"
    "    o = tl.arange(0, N)\n"
    "    v = tl.load(x + o)\n"
    "    r = tl.inline_asm_elementwise('and.b32 $0, $1, 0x0f0f0f0f;', '=r,r', [v], dtype=tl.uint8, "
    "is_pure=True, pack=4)\n"
    "    tl.store(y + o, r)\n"
    "def halves(x: *fp16, y: *fp16, N: constexpr):\n"
    "    o = tl.arange(0, N)\n"
    "    v = tl.load(x + o)\n"
    "    r = tl.inline_asm_elementwise('add.f16x2 $0, $1, $2;', '=r,r,r', [v, 1.0 * v], "
    "tl.float16, is_pure=True, pack=2)\n"
    "    tl.store(y + o, r)\n"
    "def both(x: *i32, y: *i64, N: constexpr):\n"
    "    o = tl.arange(0, N)\n"
    "    v = tl.load(x + o)\n"
    "    low, high = tl.inline_asm_elementwise('''{\n"
    "        mul.lo.s32 $0, $4, $6; mul.lo.s32 $1, $5, $7;\n"
    "        mul.wide.s32 $2, $4, $6; mul.wide.s32 $3, $5, $7; }''',\n"
    "        '=&r,=&r,=&l,=&l,r,r,r,r', [v, 1000003], (tl.int32, tl.int64), is_pure=False, "
    "pack=2)\n"
    "    tl.store(y + o, high - low)\n"
    "def narrow(x: *u8, y: *fp32, N: constexpr):\n"
    "    o = tl.arange(0, N)\n"
    "    r = tl.inline_asm_elementwise('cvt.rn.f32.u32 $0, $1;', '=f,r', [tl.load(x + o)], "
    "tl.float32, True, 1)\n"
    "    tl.store(y + o, r)\n"
    "def special(t: *i64, s: *i32):\n"
    "    tl.static_assert(tl.extra.cuda.num_threads() == 32 * tl.extra.cuda.num_warps())\n"
    "    tl.extra.cuda.gdc_wait()\n"
    "    begin = tl.extra.cuda.globaltimer()\n"
    "    i = tl.program_id(0)\n"
    "    tl.store(s + i, tl.extra.cuda.smid())\n"
    "    tl.extra.cuda.gdc_launch_dependents()\n"
    "    tl.store(t + i, tl.extra.cuda.globaltimer() - begin)\n";

enum { MOST = 4096 };

static tile_module *module;

/// Runs a kernel of the source on n elements; false where it is refused, on a device without PTX.
static bool run(const char *name, const void *x, size_t x_bytes, const char *x_type, void *y,
                size_t y_bytes, const char *y_type, uint32_t n, uint32_t warps) {
    tile_kernel *k;
    tile_buffer *from, *to;
    must(tile_module_get_kernel(module, name, &k, &err));
    must(tile_buffer_create(dev, MOST * 8, &from, &err));
    must(tile_buffer_create(dev, MOST * 8, &to, &err));
    must(tile_copy_to_device(from, 0, x, n * x_bytes, NULL, &err));
    tile_arg args[] = {TILE_BUFFER(from, x_type), TILE_BUFFER(to, y_type),
                       TILE_CONSTEXPR_INT("N", n)};
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps};
    tile_status status = tile_launch(k, args, 3, &o, &err);
    if (dev_info.is_cuda) {
        must(status);
        must(tile_copy_to_host(y, to, 0, n * y_bytes, NULL, &err));
    } else {
        const char *text = err.log ? err.log : err.message;
        expect(status && strstr(text, "the GPU's assembly"), "%s on cpu: %s", name,
               status ? text : "ran");
        expect(strstr(text, "inline_asm_elementwise(") != NULL, "%s: no line: %s", name, text);
        tile_error_clear(&err);
    }
    tile_buffer_destroy(from);
    tile_buffer_destroy(to);
    return !status;
}

static void check_size(uint32_t n, uint32_t warps) {
    static int32_t i32[MOST], i32_out[MOST];
    static int64_t i64_out[MOST];
    static uint8_t u8[MOST], u8_out[MOST];
    static uint16_t f16[MOST], f16_out[MOST];
    static float f32_out[MOST];
    for (uint32_t i = 0; i < n; i++) {
        i32[i] = (int32_t)(i * 2654435761u);
        u8[i] = (uint8_t)(i * 37 + 200);
        f16[i] = (uint16_t)(0x3c00 + i % 1024); // 1 + i / 1024
    }
    if (run("ones", i32, 4, "i32", i32_out, 4, "i32", n, warps))
        for (uint32_t i = 0; i < n; i++) {
            uint32_t v = (uint32_t)i32[i], want = v << 5 | v >> 27;
            if (!expect((uint32_t)i32_out[i] == want, "ones %u of %u", i, n))
                break;
        }
    if (run("bytes", u8, 1, "u8", u8_out, 1, "u8", n, warps))
        for (uint32_t i = 0; i < n; i++)
            if (!expect(u8_out[i] == (u8[i] & 15), "bytes %u of %u: %u", i, n, u8_out[i]))
                break;
    if (run("halves", f16, 2, "fp16", f16_out, 2, "fp16", n, warps))
        for (uint32_t i = 0; i < n; i++) // twice as much: the exponent goes up
            if (!expect(f16_out[i] == f16[i] + 0x400, "halves %u of %u: %#x", i, n, f16_out[i]))
                break;
    if (run("both", i32, 4, "i32", i64_out, 8, "i64", n, warps))
        for (uint32_t i = 0; i < n; i++) {
            int64_t wide = (int64_t)i32[i] * 1000003, low = (int32_t)(uint32_t)wide;
            if (!expect(i64_out[i] == wide - low, "both %u of %u", i, n))
                break;
        }
    if (run("narrow", u8, 1, "u8", f32_out, 4, "fp32", n, warps))
        for (uint32_t i = 0; i < n; i++)
            if (!expect(f32_out[i] == (float)u8[i], "narrow %u of %u: %g", i, n,
                        (double)f32_out[i]))
                break;
}

static void check_special(void) {
    enum { PROGRAMS = 300 };
    tile_kernel *k;
    tile_buffer *times, *places;
    int64_t elapsed[PROGRAMS];
    int32_t place[PROGRAMS];
    must(tile_module_get_kernel(module, "special", &k, &err));
    must(tile_buffer_create(dev, sizeof elapsed, &times, &err));
    must(tile_buffer_create(dev, sizeof place, &places, &err));
    tile_arg args[] = {TILE_BUFFER(times, "i64"), TILE_BUFFER(places, "i32")};
    tile_launch_options o = {.size = sizeof o, .grid = {PROGRAMS}};
    must(tile_launch(k, args, 2, &o, &err));
    must(tile_copy_to_host(elapsed, times, 0, sizeof elapsed, NULL, &err));
    must(tile_copy_to_host(place, places, 0, sizeof place, NULL, &err));
    for (int i = 0; i < PROGRAMS; i++) {
        expect(elapsed[i] >= 0 && elapsed[i] < INT64_C(10000000000), "time %lld",
               (long long)elapsed[i]);
        expect(place[i] >= 0 && place[i] < (dev_info.is_cuda ? 1024 : 1), "smid %d", place[i]);
    }
    tile_buffer_destroy(times);
    tile_buffer_destroy(places);
}

int main(void) {
    open_test_device();
    must(tile_module_load_string(dev, "asm.tile", source, strlen(source), &module, &err));
    static const uint32_t sizes[][2] = {{1, 1},   {2, 4},   {32, 4},  {128, 4},
                                        {256, 4}, {512, 4}, {2048, 8}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_size(sizes[i][0], sizes[i][1]);
    check_special();
    tile_module_destroy(module);
    return finish();
}
