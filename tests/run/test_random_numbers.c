// The random numbers: Philox-4x in 32 and 64 bits against a plain version of it, uniform and normal
// numbers against double precision, seeds and offsets of all widths and signs, and the moments of a
// long stream.
#include "run.h"

enum { N = 1024 };

static const char source[] =
    "def ints(y: *u32, seed: i64, base: i64):\n"
    "    o = arange(0, 1024)\n"
    "    for i in static_range(4):\n"
    "        store(y + 1024 * i + o, tl.randint4x(seed, base + o)[i])\n"
    "    store(y + 4096 + o, tl.randint(seed.to(i32), base.to(i32) + o))\n"
    "    store(y + 5120 + o, tl.randint(seed, base.to(i32) + o, n_rounds=7))\n"
    "def wide(y: *u64, seed: i64, base: i64):\n"
    "    c = base + arange(0, 1024).to(i64)\n"
    "    for i in static_range(4):\n"
    "        store(y + 1024 * i + arange(0, 1024), tl.philox(seed, c, c * 3, c - 5, 0 * c)[i])\n"
    "def floats(u: *fp32, n: *fp32, seed: i32, base: i32):\n"
    "    o = program_id(0) * 1024 + arange(0, 1024)\n"
    "    store(u + o, tl.rand(seed, base + o))\n"
    "    store(n + o, tl.randn(seed, base + o))\n"
    "def four(u: *fp32, n: *fp32, seed: i32, base: i32):\n"
    "    o = arange(0, 1024)\n"
    "    for i in static_range(4):\n"
    "        store(u + 1024 * i + o, tl.rand4x(seed, base + o)[i])\n"
    "        store(n + 1024 * i + o, tl.randn4x(seed, base + o)[i])\n"
    "def doubles(y: *fp64, a: fp64, b: fp64):\n"
    "    p, q = tl.pair_uniform_to_normal(a, b)\n"
    "    store(y, p)\n"
    "    store(y + 1, q)\n";

static void philox32(uint64_t seed, uint32_t c[4], int rounds) {
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int i = 0; i < rounds; i++) {
        uint64_t a = UINT64_C(0xD2511F53) * c[0], b = UINT64_C(0xCD9E8D57) * c[2];
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ k0, (uint32_t)b,
                            (uint32_t)(a >> 32) ^ c[3] ^ k1, (uint32_t)a};
        memcpy(c, next, sizeof next);
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
}

static void philox64(uint64_t seed, uint64_t c[4]) {
    uint64_t k0 = seed, k1 = 0;
    for (int i = 0; i < 10; i++) {
        unsigned __int128 a = (unsigned __int128)UINT64_C(0xD2E7470EE14C6C93) * c[0],
                          b = (unsigned __int128)UINT64_C(0xCA5A826395121157) * c[2];
        uint64_t next[4] = {(uint64_t)(b >> 64) ^ c[1] ^ k0, (uint64_t)b,
                            (uint64_t)(a >> 64) ^ c[3] ^ k1, (uint64_t)a};
        memcpy(c, next, sizeof next);
        k0 += UINT64_C(0x9E3779B97F4A7C15);
        k1 += UINT64_C(0xBB67AE8584CAA73B);
    }
}

static float uniform(uint32_t x) {
    int64_t y = (int32_t)x;
    return (float)(y < 0 ? -y - 1 : y) * 4.6566127342e-10f;
}

static float ulp_of(double x) {
    float f = fabsf((float)x);
    return nextafterf(f, INFINITY) - f;
}

static void launch(tile_module *mod, const char *name, tile_arg *args, uint32_t n, uint32_t grid,
                   uint32_t warps) {
    tile_kernel *k;
    must(tile_module_get_kernel(mod, name, &k, &err));
    tile_launch_options o = {.size = sizeof o, .grid = {grid}, .num_warps = warps};
    must(tile_launch(k, args, n, &o, &err));
}

static tile_arg i64_arg(int64_t v) {
    return (tile_arg){.kind = TILE_ARG_SCALAR, .dtype = "i64", .value.i = v};
}

static void test_integers(tile_module *mod, int64_t seed, int64_t base) {
    static uint32_t got[6 * N];
    static uint64_t wide[4 * N];
    tile_buffer *y = buffer_from(NULL, sizeof got), *w = buffer_from(NULL, sizeof wide);
    launch(mod, "ints", (tile_arg[]){TILE_BUFFER(y, "u32"), i64_arg(seed), i64_arg(base)}, 3, 1, 4);
    launch(mod, "wide", (tile_arg[]){TILE_BUFFER(w, "u64"), i64_arg(seed), i64_arg(base)}, 3, 1, 8);
    read_buffer(y, got, sizeof got);
    read_buffer(w, wide, sizeof wide);
    for (int64_t i = 0; i < N; i++) {
        uint64_t at = (uint64_t)base + (uint64_t)i, narrow = (uint32_t)at;
        uint32_t c[4] = {(uint32_t)at, (uint32_t)(at >> 32)}, d[4] = {(uint32_t)narrow},
                 e[4] = {(uint32_t)narrow};
        uint64_t f[4] = {at, at * 3, at - 5, 0};
        philox32((uint64_t)seed, c, 10);
        philox32((uint64_t)(int64_t)(int32_t)seed, d, 10);
        philox32((uint64_t)seed, e, 7);
        philox64((uint64_t)seed, f);
        for (int j = 0; j < 4; j++) {
            expect(got[j * N + i] == c[j], "randint4x(%lld, %lld)[%d]", (long long)seed,
                   (long long)at, j);
            expect(wide[j * N + i] == f[j], "philox of 64 bits (%lld, %lld)[%d]", (long long)seed,
                   (long long)at, j);
        }
        expect(got[4 * N + i] == d[0], "randint of 32 bits (%lld, %lld)", (long long)seed,
               (long long)at);
        expect(got[5 * N + i] == e[0], "randint of 7 rounds (%lld, %lld)", (long long)seed,
               (long long)at);
    }
    tile_buffer_destroy(y);
    tile_buffer_destroy(w);
}

static void near(const char *what, uint32_t at, float got, double want) {
    expect(fabs(got - want) <= 2 * ulp_of(want), "%s at %u: %.9g, expected %.9g", what, at, got,
           want);
}

static void test_floats(tile_module *mod, int32_t seed, int32_t base, uint32_t warps) {
    enum { PROGRAMS = 64, ALL = PROGRAMS * N };
    static float u[ALL], n[ALL], u4[4 * N], n4[4 * N];
    tile_buffer *du = buffer_from(NULL, sizeof u), *dn = buffer_from(NULL, sizeof n);
    tile_arg args[] = {TILE_BUFFER(du, "fp32"), TILE_BUFFER(dn, "fp32"), TILE_I32(seed),
                       TILE_I32(base)};
    launch(mod, "floats", args, 4, PROGRAMS, warps);
    read_buffer(du, u, sizeof u);
    read_buffer(dn, n, sizeof n);
    launch(mod, "four", args, 4, 1, warps);
    read_buffer(du, u4, sizeof u4);
    read_buffer(dn, n4, sizeof n4);
    double sums[4] = {0};
    for (uint32_t i = 0; i < ALL; i++) {
        uint32_t c[4] = {(uint32_t)base + i};
        philox32((uint64_t)(int64_t)seed, c, 10);
        expect(u[i] == uniform(c[0]), "rand at %u: %.9g, expected %.9g", i, u[i], uniform(c[0]));
        for (int j = 0; j < (i < N ? 2 : 1); j++) {
            float u1 = uniform(c[2 * j]), u2 = uniform(c[2 * j + 1]),
                  angle = 6.283185307179586f * u2;
            double radius = sqrt(-2 * log(u1 < 1e-7f ? 1e-7f : u1));
            if (j == 0)
                near("randn", i, n[i], radius * cos(angle));
            if (i >= N)
                continue;
            expect(u4[2 * j * N + i] == u1 && u4[(2 * j + 1) * N + i] == u2, "rand4x at %u", i);
            near("randn4x", i, n4[2 * j * N + i], radius * cos(angle));
            near("randn4x", i, n4[(2 * j + 1) * N + i], radius * sin(angle));
        }
        sums[0] += u[i];
        sums[1] += u[i] * u[i];
        sums[2] += n[i];
        sums[3] += n[i] * n[i];
    }
    static const double moments[4] = {0.5, 1.0 / 3, 0, 1};
    for (int i = 0; i < 4; i++)
        expect(fabs(sums[i] / ALL - moments[i]) < 0.025, "moment %d of %d numbers is %g", i, ALL,
               sums[i] / ALL);
    tile_buffer_destroy(du);
    tile_buffer_destroy(dn);
}

static void test_doubles(tile_module *mod) {
    tile_buffer *y = buffer_from(NULL, 16);
    double got[2], r = sqrt(-2 * log(0.3));
    launch(mod, "doubles", (tile_arg[]){TILE_BUFFER(y, "fp64"), TILE_FP64(0.3), TILE_FP64(0.8)}, 3,
           1, 1);
    read_buffer(y, got, sizeof got);
    expect(fabs(got[0] - r * cos(6.283185307179586 * 0.8)) < 1e-15, "normal numbers of fp64: %.17g",
           got[0]);
    expect(fabs(got[1] - r * sin(6.283185307179586 * 0.8)) < 2e-15, "normal numbers of fp64: %.17g",
           got[1]);
    tile_buffer_destroy(y);
}

int main(void) {
    open_test_device();
    tile_module *mod;
    kernel_from(source, "ints", &mod);
    static const int64_t seeds[] = {0, 1, -1, 42, INT64_MAX, INT64_C(-1234567890123)};
    static const int64_t bases[] = {0, -7, 2147483000, INT64_C(1) << 40};
    for (size_t s = 0; s < sizeof seeds / sizeof *seeds; s++)
        for (size_t b = 0; b < sizeof bases / sizeof *bases; b++)
            test_integers(mod, seeds[s], bases[b]);
    test_floats(mod, 0, 0, 1);
    test_floats(mod, -5, 1 << 30, 4);
    test_doubles(mod);
    tile_module_destroy(mod);
    return finish();
}
