// map_elementwise against the same function in C, element by element: branches in branches, early
// returns, tuples, constants of one side, tiles and scalars broadcast together, awkward floats,
// divisions that only one side may make.
#include "run.h"

enum { ROWS = 4, COLS = 64, N = ROWS * COLS };

static const char source[] =
    "LIMIT: tl.constexpr = 40\n"
    "def third(v):\n"
    "    return v // 3 if v % 3 == 0 else -v\n"
    "def integers(a, b, s):\n"
    "    if a > b:\n"
    "        if a % 2 == 0:\n"
    "            return a // 2, 1\n"
    "        a = a * 3 + s\n"
    "        if a > LIMIT:\n"
    "            a = LIMIT\n"
    "            b += 5\n"
    "        return a, b\n"
    "    elif b == 0:\n"
    "        return third(a), s\n"
    "    q = a // b\n"
    "    for i in tl.static_range(3):\n"
    "        q += i if q > i else third(q)\n"
    "    return q, a % b\n"
    "def floats(v, s):\n"
    "    if v != v:\n"
    "        return -1.0\n"
    "    if (v > s) or (v < -s):\n"
    "        return s if v > 0 else -s\n"
    "    return v * 0.5\n"
    "def k(x: *i32, y: *i32, out: *i32, f: *fp32, s: i32, t: fp32):\n"
    "    o = tl.arange(0, 64)\n"
    "    at = o[None, :] + tl.arange(0, 4)[:, None] * 64\n"
    "    v, w = tl.map_elementwise(integers, tl.load(x + o), tl.load(y + at), s)\n"
    "    tl.static_assert(v.shape == [4, 64] and w.shape == [4, 64])\n"
    "    tl.store(out + at, v)\n"
    "    tl.store(out + 256 + at, w)\n"
    "    tl.store(f + at, tl.map_elementwise(floats, tl.load(f + at), t))\n"
    "    n = tl.map_elementwise(third, s)\n"
    "    tl.store(out + 512, n)\n";

static int32_t third(int32_t v) { return v % 3 == 0 ? v / 3 : -v; }

static void integers(int32_t a, int32_t b, int32_t s, int32_t *v, int32_t *w) {
    if (a > b) {
        if (a % 2 == 0) {
            *v = a / 2, *w = 1;
            return;
        }
        a = a * 3 + s;
        if (a > 40)
            a = 40, b += 5;
        *v = a, *w = b;
        return;
    }
    if (b == 0) {
        *v = third(a), *w = s;
        return;
    }
    int32_t q = a / b;
    for (int32_t i = 0; i < 3; i++)
        q += q > i ? i : third(q);
    *v = q, *w = a % b;
}

static float floats(float v, float s) {
    return v != v ? -1.0f : v > s || v < -s ? (v > 0 ? s : -s) : v * 0.5f;
}

static void run(tile_kernel *k, int32_t s, float t, uint32_t warps) {
    static const float awkward[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 1e-40f, 3e38f, -2.5f};
    int32_t x[COLS], y[N], out[2 * N + 1];
    float f[N], before[N];
    for (int i = 0; i < N; i++) {
        x[i % COLS] = (int32_t)(random_u32() % 60) - 20;
        y[i] = (int32_t)(random_u32() % 20) - 8;
        before[i] = i < 8 ? awkward[i] : (float)(random_u32() % 1000) / 100 - 5;
    }
    tile_buffer *dx = buffer_from(x, sizeof x), *dy = buffer_from(y, sizeof y);
    tile_buffer *dout = buffer_from(NULL, sizeof out), *df = buffer_from(before, sizeof before);
    tile_arg args[] = {TILE_BUFFER(dx, "i32"),
                       TILE_BUFFER(dy, "i32"),
                       TILE_BUFFER(dout, "i32"),
                       TILE_BUFFER(df, "fp32"),
                       TILE_I32(s),
                       TILE_FP32(t)};
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps};
    must(tile_launch(k, args, 6, &o, &err));
    read_buffer(dout, out, sizeof out);
    read_buffer(df, f, sizeof f);
    for (int i = 0; i < N; i++) {
        int32_t v, w;
        integers(x[i % COLS], y[i], s, &v, &w);
        float want = floats(before[i], t);
        expect(out[i] == v && out[N + i] == w, "%d and %d: %d, %d, not %d, %d", x[i % COLS], y[i],
               out[i], out[N + i], v, w);
        expect(!memcmp(&f[i], &want, 4), "%g, %g: %g, not %g", before[i], t, f[i], want);
    }
    expect(out[2 * N] == third(s), "scalar %d: %d, not %d", s, out[2 * N], third(s));
    tile_buffer_destroy(dx), tile_buffer_destroy(dy), tile_buffer_destroy(dout);
    tile_buffer_destroy(df);
}

int main(void) {
    open_test_device();
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    for (uint32_t warps = 1; warps <= 8; warps *= 2)
        for (int32_t s = -3; s < 4; s += 3)
            run(k, s, 2.5f, warps);
    tile_module_destroy(mod);
    return finish();
}
