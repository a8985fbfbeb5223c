// The bits of floats as integers, and integers as the bits of floats. ptxas of CUDA 13.0 converts the
// number where the low bits of a float should be stored, may take the float that has the bits of 1 for
// 1, and what a narrow load made of 32 bits for its own upper half (codegen/ptx_respell.c). Found by
// random programs, the last by random chains of instructions.
#include "run.h"

#include <math.h>

enum { N = 256 };

static const char source[] =
    "def narrow(x: *fp32, bytes: *u8, halves: *u16, words: *u32, n: i32, BLOCK: constexpr):\n"
    "    o = arange(0, BLOCK)\n"
    "    on = o < n\n"
    "    v = load(x + o, mask=on)\n"
    "    store(bytes + o, v.to(fp16).to(u16, bitcast=True).to(u8), mask=on)\n"
    "    store(bytes + BLOCK + 3 * o, (v * 2).to(u32, bitcast=True).to(u8), mask=on)\n"
    "    store(bytes + 4 * BLOCK + 3 * o, v.to(bf16).to(u16, bitcast=True).to(u8), mask=on,\n"
    "          eviction_policy='evict_last')\n"
    "    store(halves + 3 * o, (v * 2).to(u32, bitcast=True).to(u16), mask=on)\n"
    "    store(words + 3 * o, (v.to(fp64) * 3).to(u64, bitcast=True).to(u32), mask=on)\n"
    "def ones(on: *i1, y: *fp32, z: *fp64, BLOCK: constexpr):\n"
    "    o = arange(0, BLOCK)\n"
    "    v = load(on + o).to(u32).to(fp32, bitcast=True)\n"
    "    store(z + o, v.to(fp64))\n"
    "    store(y, sum(v.reshape((BLOCK // 4, 4)).trans(), axis=0).sum(axis=0))\n"
    "    rows = sum(v[None, :].broadcast_to((4, BLOCK)), axis=0)\n"
    "    store(y + 1 + o, rows)\n"
    "def halves(on: *i1, also: *i1, y: *fp32, z: *fp64, BLOCK: constexpr):\n"
    "    o = arange(0, BLOCK)\n"
    "    either = load(on + o) | load(also + o)\n"
    "    store(y + o, either.to(u16).to(fp16, bitcast=True).to(fp32))\n"
    "    store(z + o, load(on + o).to(u16).to(fp16, bitcast=True).to(fp64))\n"
    "def upper(x: *u16, w: *i32, y: *u16, z: *fp32, n: i32, BLOCK: constexpr):\n"
    "    o = arange(0, BLOCK)\n"
    "    v = load(x + o).to(i32)\n"
    "    for i in range(n):\n"
    "        store(y + BLOCK * i + o, (v >> 16).to(u16))\n"
    "        store(z + BLOCK * i + o, (v >> 16).to(i16).to(fp16, bitcast=True).to(fp32))\n"
    "        v = load(w + BLOCK * i + o)\n";

static uint32_t bits_of(float v) {
    uint32_t u;
    memcpy(&u, &v, 4);
    return u;
}

static uint8_t low_byte(float_type t, float v) {
    uint8_t bytes[4];
    store_float(t, bytes, 0, v);
    return bytes[0];
}

static void test_narrow(tile_module *mod, uint32_t warps) {
    static float x[N];
    static uint8_t bytes[7 * N];
    static uint16_t halves[3 * N];
    static uint32_t words[3 * N];
    for (int i = 0; i < N; i++)
        x[i] = (float)((int)(random_u32() % 257) - 128) / 4; // exact in every type
    tile_buffer *dx = buffer_from(x, sizeof x), *db = buffer_from(NULL, sizeof bytes),
                *dh = buffer_from(NULL, sizeof halves), *dw = buffer_from(NULL, sizeof words);
    tile_kernel *k;
    must(tile_module_get_kernel(mod, "narrow", &k, &err));
    tile_arg args[] = {
        TILE_BUFFER(dx, "fp32"), TILE_BUFFER(db, "u8"), TILE_BUFFER(dh, "u16"),
        TILE_BUFFER(dw, "u32"),  TILE_I32(N),           TILE_CONSTEXPR_INT("BLOCK", N)};
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps};
    must(tile_launch(k, args, 6, &o, &err));
    read_buffer(db, bytes, sizeof bytes);
    read_buffer(dh, halves, sizeof halves);
    read_buffer(dw, words, sizeof words);
    for (int i = 0; i < N; i++) {
        double tripled = (double)x[i] * 3;
        uint64_t wide;
        memcpy(&wide, &tripled, 8);
        expect(bytes[i] == low_byte(FP16, x[i]) && bytes[N + 3 * i] == low_byte(FP32, x[i] * 2) &&
                   bytes[4 * N + 3 * i] == low_byte(BF16, x[i]) &&
                   halves[3 * i] == (uint16_t)bits_of(x[i] * 2) && words[3 * i] == (uint32_t)wide,
               "low bits of %g, %u warps", x[i], warps);
    }
    tile_buffer_destroy(dx);
    tile_buffer_destroy(db);
    tile_buffer_destroy(dh);
    tile_buffer_destroy(dw);
}

static void test_ones(tile_module *mod, uint32_t warps) {
    static uint8_t on[N];
    static float y[N + 1];
    static double z[N];
    uint32_t count = 0;
    for (int i = 0; i < N; i++)
        count += on[i] = random_u32() & 1;
    tile_buffer *dn = buffer_from(on, sizeof on), *dy = buffer_from(NULL, sizeof y),
                *dz = buffer_from(NULL, sizeof z);
    tile_kernel *k;
    must(tile_module_get_kernel(mod, "ones", &k, &err));
    tile_arg args[] = {TILE_BUFFER(dn, "i1"), TILE_BUFFER(dy, "fp32"), TILE_BUFFER(dz, "fp64"),
                       TILE_CONSTEXPR_INT("BLOCK", N)};
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps};
    must(tile_launch(k, args, 4, &o, &err));
    read_buffer(dy, y, sizeof y);
    read_buffer(dz, z, sizeof z);
    expect(bits_of(y[0]) == count, "sum of least floats: %a of %u, %u warps", y[0], count, warps);
    for (int i = 0; i < N; i++)
        expect(z[i] == on[i] * 0x1p-149 && bits_of(y[1 + i]) == 4u * on[i],
               "least float %d: %a, four of them %a, expected %d; %u warps", i, z[i], y[1 + i],
               on[i], warps);
    tile_buffer_destroy(dn);
    tile_buffer_destroy(dy);
    tile_buffer_destroy(dz);
}

static void test_halves(tile_module *mod, uint32_t warps) {
    static uint8_t on[N], also[N];
    static float y[N];
    static double z[N];
    for (int i = 0; i < N; i++) {
        on[i] = random_u32() & 1;
        also[i] = random_u32() & 1;
    }
    tile_buffer *dn = buffer_from(on, sizeof on), *da = buffer_from(also, sizeof also),
                *dy = buffer_from(NULL, sizeof y), *dz = buffer_from(NULL, sizeof z);
    tile_kernel *k;
    must(tile_module_get_kernel(mod, "halves", &k, &err));
    tile_arg args[] = {TILE_BUFFER(dn, "i1"), TILE_BUFFER(da, "i1"), TILE_BUFFER(dy, "fp32"),
                       TILE_BUFFER(dz, "fp64"), TILE_CONSTEXPR_INT("BLOCK", N)};
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps};
    must(tile_launch(k, args, 5, &o, &err));
    read_buffer(dy, y, sizeof y);
    read_buffer(dz, z, sizeof z);
    for (int i = 0; i < N; i++)
        expect(y[i] == (on[i] | also[i]) * 0x1p-24f && z[i] == on[i] * 0x1p-24,
               "least half %d: %a, %a, of %d, %d; %u warps", i, y[i], z[i], on[i], also[i], warps);
    tile_buffer_destroy(dn);
    tile_buffer_destroy(da);
    tile_buffer_destroy(dy);
    tile_buffer_destroy(dz);
}

/// Of a number of 16 bits in 32 the upper half is 0, of those that follow in the loop it is not.
static void test_upper(tile_module *mod, uint32_t warps) {
    enum { TRIPS = 3 };
    static uint16_t x[N], y[TRIPS * N];
    static int32_t w[TRIPS * N];
    static float z[TRIPS * N];
    for (int i = 0; i < N; i++)
        x[i] = (uint16_t)random_u32();
    for (int i = 0; i < TRIPS * N; i++)
        w[i] = (int32_t)(random_u32() & 0x3FFFFFFF); // small halves, for exact comparisons
    tile_buffer *dx = buffer_from(x, sizeof x), *dw = buffer_from(w, sizeof w),
                *dy = buffer_from(NULL, sizeof y), *dz = buffer_from(NULL, sizeof z);
    tile_kernel *k;
    must(tile_module_get_kernel(mod, "upper", &k, &err));
    tile_arg args[] = {TILE_BUFFER(dx, "u16"), TILE_BUFFER(dw, "i32"),
                       TILE_BUFFER(dy, "u16"), TILE_BUFFER(dz, "fp32"),
                       TILE_I32(TRIPS),        TILE_CONSTEXPR_INT("BLOCK", N)};
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps};
    must(tile_launch(k, args, 6, &o, &err));
    read_buffer(dy, y, sizeof y);
    read_buffer(dz, z, sizeof z);
    for (int i = 0; i < TRIPS * N; i++) {
        uint16_t want = i < N ? 0 : (uint16_t)(w[i - N] >> 16);
        int exponent = want >> 10, digits = want & 1023;
        float number =
            exponent ? ldexpf(1024 + (float)digits, exponent - 25) : ldexpf((float)digits, -24);
        expect(y[i] == want && z[i] == number, "upper half %d: 0x%x, %a, expected 0x%x; %u warps",
               i, y[i], z[i], want, warps);
    }
    tile_buffer_destroy(dx);
    tile_buffer_destroy(dw);
    tile_buffer_destroy(dy);
    tile_buffer_destroy(dz);
}

int main(void) {
    open_test_device();
    tile_module *mod;
    must(tile_module_load_string(dev, "bits.tile", source, sizeof source - 1, &mod, &err));
    for (uint32_t warps = 1; warps <= 32; warps *= 2) {
        test_narrow(mod, warps);
        test_ones(mod, warps);
        test_halves(mod, warps);
        test_upper(mod, warps);
    }
    tile_module_destroy(mod);
    return finish();
}
