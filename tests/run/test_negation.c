// Negation and absolute value of integers where they wrap, with the results used wider, compared,
// in minima and maxima of three, and as unsigned numbers: what an assembler that thinks of them as
// signed operands of the next instruction gets wrong.
#include "run.h"

enum { N = 512 };

static const char body[] =
    "def k(a: *T, b: *T, c: *T, wide: *i64, real: *fp32):\n"
    "    o = arange(0, 512)\n"
    "    x, y, z = load(a + o), load(b + o), load(c + o)\n"
    "    store(wide + o, (-x).to(i64))\n"
    "    store(wide + 512 + o, abs(x).to(i64))\n"
    "    store(wide + 1024 + o, (-x < y).to(i64))\n"
    "    store(wide + 1536 + o, (abs(x) >= z).to(i64))\n"
    "    store(wide + 2048 + o, maximum(maximum(-x, -y), z).to(i64))\n"
    "    store(wide + 2560 + o, minimum(minimum(-x, -y), z).to(i64))\n"
    "    store(wide + 3072 + o, (-(x + y) >> 1).to(i64))\n"
    "    store(wide + 3584 + o, maximum(abs(x), maximum(-y, abs(z))).to(i64))\n"
    "    rows = reshape(-x, [128, 4])\n"
    "    store(wide + 4096 + arange(0, 4), max(rows, axis=0).to(i64))\n"
    "    store(wide + 4100 + arange(0, 4), min(rows, axis=0).to(i64))\n"
    "    store(real + o, abs(x).to(U).to(fp32))\n"
    "    store(real + 512 + o, (-x).to(U).to(fp32))\n";
enum { WIDE = 8 * N + 8 };

static int64_t wrap(int64_t v, int bits) {
    return (int64_t)((uint64_t)v << (64 - bits)) >> (64 - bits);
}

static int64_t neg(int64_t v, int bits) { return wrap((int64_t)(0 - (uint64_t)v), bits); }
static int64_t absolute(int64_t v, int bits) { return v < 0 ? neg(v, bits) : v; }
static int64_t larger(int64_t x, int64_t y) { return x > y ? x : y; }
static int64_t smaller(int64_t x, int64_t y) { return x < y ? x : y; }

static float as_unsigned(int64_t v, int bits) {
    return (float)(bits == 64 ? (uint64_t)v : (uint64_t)v & ((UINT64_C(1) << bits) - 1));
}

static void expected(const int64_t *x, const int64_t *y, const int64_t *z, int bits, int64_t *w,
                     float *f) {
    for (int i = 0; i < N; i++) {
        int64_t nx = neg(x[i], bits), ny = neg(y[i], bits), ax = absolute(x[i], bits);
        int64_t sum = wrap((int64_t)((uint64_t)x[i] + (uint64_t)y[i]), bits);
        w[i] = nx;
        w[N + i] = ax;
        w[2 * N + i] = nx < y[i];
        w[3 * N + i] = ax >= z[i];
        w[4 * N + i] = larger(larger(nx, ny), z[i]);
        w[5 * N + i] = smaller(smaller(nx, ny), z[i]);
        w[6 * N + i] = neg(sum, bits) >> 1;
        w[7 * N + i] = larger(ax, larger(ny, absolute(z[i], bits)));
        int64_t *most = &w[8 * N + i % 4], *least = most + 4;
        *most = i < 4 ? nx : larger(*most, nx);
        *least = i < 4 ? nx : smaller(*least, nx);
        f[i] = as_unsigned(ax, bits);
        f[N + i] = as_unsigned(nx, bits);
    }
}

static int64_t awkward(int bits) {
    static const int64_t near_zero[] = {0, 1, -1, 2, -2, 3, -3, 100};
    int64_t least = wrap((int64_t)(UINT64_C(1) << (bits - 1)), bits);
    uint32_t r = random_u32();
    switch (r % 4) {
    case 0:
        return least + (r >> 8) % 2;
    case 1:
        return -(least + 1);
    case 2:
        return near_zero[(r >> 8) % 8];
    default:
        return wrap((int64_t)((uint64_t)random_u32() << 32 | random_u32()), bits);
    }
}

static void test_type(int bits, uint32_t warps) {
    char source[2048], type[8], real[8];
    snprintf(type, sizeof type, "i%d", bits);
    snprintf(real, sizeof real, "u%d", bits);
    snprintf(source, sizeof source, "T: constexpr = %s\nU: constexpr = %s\n%s", type, real, body);
    for (char *p = source; (p = strstr(p, "*T")); p++)
        memmove(p + 1 + strlen(type), p + 2, strlen(p + 2) + 1), memcpy(p + 1, type, strlen(type));
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    int64_t in[3][N], got[WIDE], want[WIDE];
    float freal[2 * N], fwant[2 * N];
    tile_buffer *buffers[3];
    for (int b = 0; b < 3; b++) {
        char bytes[8 * N];
        for (int i = 0; i < N; i++) {
            in[b][i] = awkward(bits);
            memcpy(bytes + i * bits / 8, &in[b][i], (size_t)bits / 8);
        }
        buffers[b] = buffer_from(bytes, (size_t)(N * bits / 8));
    }
    tile_buffer *wide = buffer_from(NULL, sizeof got), *r = buffer_from(NULL, sizeof freal);
    tile_arg args[] = {TILE_BUFFER(buffers[0], type), TILE_BUFFER(buffers[1], type),
                       TILE_BUFFER(buffers[2], type), TILE_BUFFER(wide, "i64"),
                       TILE_BUFFER(r, "fp32")};
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps};
    must(tile_launch(k, args, 5, &o, &err));
    read_buffer(wide, got, sizeof got);
    read_buffer(r, freal, sizeof freal);
    expected(in[0], in[1], in[2], bits, want, fwant);
    for (int i = 0; i < WIDE; i++)
        expect(got[i] == want[i], "%s, result %d[%d]: %lld, expected %lld", type, i / N, i % N,
               (long long)got[i], (long long)want[i]);
    for (int i = 0; i < 2 * N; i++)
        expect(freal[i] == fwant[i], "%s, real %d[%d]: %g, expected %g", type, i / N, i % N,
               freal[i], fwant[i]);
    for (int b = 0; b < 3; b++)
        tile_buffer_destroy(buffers[b]);
    tile_buffer_destroy(wide);
    tile_buffer_destroy(r);
    tile_module_destroy(mod);
}

int main(void) {
    open_test_device();
    for (uint32_t warps = 1; warps <= 8; warps *= 2)
        for (int bits = 8; bits <= 64; bits *= 2)
            test_type(bits, warps);
    return finish();
}
