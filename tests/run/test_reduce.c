// Reductions over any axis at 1 to 32 warps against plain loops: sum, max, min of ints (exact) and
// floats, keep_dims, whole-tile, a Welford combine over three tiles, and a scalar loop steered by a
// reduced value (every thread must hold the same bits, or the program hangs or diverges).
#include "run.h"

static const uint32_t warps_list[] = {1, 2, 4, 8, 16, 32};

static void launch(tile_kernel *k, tile_arg *args, uint32_t n, uint32_t warps) {
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps};
    must(tile_launch(k, args, n, &o, &err));
}

static void test_int_axes(uint32_t rows, uint32_t cols) {
    static const char source[] =
        "def k(x: *i32, s0: *i32, m1: *i32, all: *i32, kd: *i32, R: constexpr, C: constexpr):\n"
        "    r = arange(0, R)\n"
        "    c = arange(0, C)\n"
        "    p = r[:, None] * C + c[None, :]\n"
        "    v = load(x + p)\n"
        "    store(s0 + c, sum(v, axis=0))\n"
        "    store(m1 + r, max(v, axis=1))\n"
        "    store(all, sum(v))\n"
        "    store(all + 1, min(min(v, axis=1), axis=0))\n"
        "    store(kd + p, v - max(v, axis=-1, keep_dims=True))\n";
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    uint32_t n = rows * cols;
    int32_t *x = xmalloc(n * 4), *s0 = xmalloc(cols * 4), *m1 = xmalloc(rows * 4),
            *kd = xmalloc(n * 4), all[2];
    for (uint32_t i = 0; i < n; i++)
        x[i] = (int32_t)(random_u32() % 20001) - 10000;
    tile_buffer *dx = buffer_from(x, n * 4), *ds = buffer_from(NULL, cols * 4),
                *dm = buffer_from(NULL, rows * 4), *da = buffer_from(NULL, 8),
                *dk = buffer_from(NULL, n * 4);
    for (size_t w = 0; w < 6; w++) {
        tile_arg args[] = {TILE_BUFFER(dx, "i32"),       TILE_BUFFER(ds, "i32"),
                           TILE_BUFFER(dm, "i32"),       TILE_BUFFER(da, "i32"),
                           TILE_BUFFER(dk, "i32"),       TILE_CONSTEXPR_INT("R", rows),
                           TILE_CONSTEXPR_INT("C", cols)};
        launch(k, args, 7, warps_list[w]);
        read_buffer(ds, s0, cols * 4), read_buffer(dm, m1, rows * 4), read_buffer(da, all, 8),
            read_buffer(dk, kd, n * 4);
        int32_t total = 0, least = INT32_MAX;
        for (uint32_t r = 0; r < rows; r++) {
            int32_t top = INT32_MIN;
            for (uint32_t c = 0; c < cols; c++) {
                int32_t v = x[r * cols + c];
                total += v;
                top = v > top ? v : top;
                least = v < least ? v : least;
            }
            expect(m1[r] == top, "[%u, %u] %u warps: max of row %u: %d, expected %d", rows, cols,
                   warps_list[w], r, m1[r], top);
            for (uint32_t c = 0; c < cols; c++)
                expect(kd[r * cols + c] == x[r * cols + c] - top,
                       "[%u, %u] %u warps: keep_dims at %u %u", rows, cols, warps_list[w], r, c);
        }
        for (uint32_t c = 0; c < cols; c++) {
            int32_t s = 0;
            for (uint32_t r = 0; r < rows; r++)
                s += x[r * cols + c];
            expect(s0[c] == s, "[%u, %u] %u warps: sum of column %u: %d, expected %d", rows, cols,
                   warps_list[w], c, s0[c], s);
        }
        expect(all[0] == total && all[1] == least,
               "[%u, %u] %u warps: whole tile: %d %d, expected %d %d", rows, cols, warps_list[w],
               all[0], all[1], total, least);
    }
    tile_buffer_destroy(dx), tile_buffer_destroy(ds), tile_buffer_destroy(dm),
        tile_buffer_destroy(da), tile_buffer_destroy(dk);
    tile_module_destroy(mod);
    free(x), free(s0), free(m1), free(kd);
}

static void test_three_axes(void) {
    static const char source[] =
        "def k(x: *fp32, a: *fp32, b: *fp32, c: *fp32):\n"
        "    i = arange(0, 4)[:, None, None]\n"
        "    j = arange(0, 8)[None, :, None]\n"
        "    l = arange(0, 16)[None, None, :]\n"
        "    v = load(x + i * 128 + j * 16 + l)\n"
        "    store(a + arange(0, 8)[:, None] * 16 + arange(0, 16)[None, :], sum(v, axis=0))\n"
        "    store(b + arange(0, 4)[:, None] * 16 + arange(0, 16)[None, :], sum(v, 1))\n"
        "    store(c + arange(0, 4)[:, None] * 8 + arange(0, 8)[None, :], sum(v, 2))\n";
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    float x[512], a[128], b[64], c[32];
    for (int i = 0; i < 512; i++)
        x[i] = (float)(random_u32() % 256) * 0.25f;
    tile_buffer *dx = buffer_from(x, sizeof x), *da = buffer_from(NULL, sizeof a),
                *db = buffer_from(NULL, sizeof b), *dc = buffer_from(NULL, sizeof c);
    for (size_t w = 0; w < 6; w++) {
        tile_arg args[] = {TILE_BUFFER(dx, "fp32"), TILE_BUFFER(da, "fp32"),
                           TILE_BUFFER(db, "fp32"), TILE_BUFFER(dc, "fp32")};
        launch(k, args, 4, warps_list[w]);
        read_buffer(da, a, sizeof a), read_buffer(db, b, sizeof b), read_buffer(dc, c, sizeof c);
        float ra[128] = {0}, rb[64] = {0}, rc[32] = {0};
        for (int i = 0; i < 512; i++)
            ra[i % 128] += x[i], rb[i / 128 * 16 + i % 16] += x[i], rc[i / 16] += x[i];
        expect(!memcmp(a, ra, sizeof a) && !memcmp(b, rb, sizeof b) && !memcmp(c, rc, sizeof c),
               "3-D sums at %u warps", warps_list[w]);
    }
    tile_buffer_destroy(dx), tile_buffer_destroy(da), tile_buffer_destroy(db),
        tile_buffer_destroy(dc);
    tile_module_destroy(mod);
}

static void test_welford_loop(void) {
    static const char source[] =
        "def welford(m1, v1, w1, m2, v2, w2):\n"
        "    d = m2 - m1\n"
        "    w = w1 + w2\n"
        "    f = w2 / w\n"
        "    return m1 + d * f, v1 + v2 + d * d * w1 * f, w\n"
        "def k(x: *fp32, out: *fp32, steps: *i32, N: constexpr):\n"
        "    v = load(x + arange(0, N))\n"
        "    count = 0\n"
        "    spread = 1.0e9\n"
        "    while spread > 0.001:\n"
        "        m, s, w = tl.reduce((v, zeros([N], fp32), full([N], 1.0, fp32)), 0, welford)\n"
        "        spread = s / w\n"
        "        v = (v - m) * 0.37\n"
        "        count += 1\n"
        "    store(out, spread)\n"
        "    store(steps, count)\n";
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    enum { N = 512 };
    float x[N], got;
    for (int i = 0; i < N; i++)
        x[i] = (float)(random_u32() % 10007) / 97.0f;
    tile_buffer *dx = buffer_from(x, sizeof x), *dout = buffer_from(NULL, 4),
                *ds = buffer_from(NULL, 4);
    double v[N], spread = 1e9;
    int32_t steps = 0, got_steps;
    for (int i = 0; i < N; i++)
        v[i] = x[i];
    while (spread > 0.001) {
        double mean = 0, s = 0;
        for (int i = 0; i < N; i++)
            mean += v[i] / N;
        for (int i = 0; i < N; i++)
            s += (v[i] - mean) * (v[i] - mean) / N;
        spread = s;
        for (int i = 0; i < N; i++)
            v[i] = (v[i] - mean) * 0.37;
        steps++;
    }
    for (size_t w = 0; w < 6; w++) {
        tile_arg args[] = {TILE_BUFFER(dx, "fp32"), TILE_BUFFER(dout, "fp32"),
                           TILE_BUFFER(ds, "i32"), TILE_CONSTEXPR_INT("N", N)};
        launch(k, args, 4, warps_list[w]);
        read_buffer(dout, &got, 4), read_buffer(ds, &got_steps, 4);
        expect(got_steps == steps && fabs(got - spread) < 1e-4 * spread,
               "Welford at %u warps: %d steps to %g, expected %d to %g", warps_list[w], got_steps,
               (double)got, steps, spread);
    }
    tile_buffer_destroy(dx), tile_buffer_destroy(dout), tile_buffer_destroy(ds);
    tile_module_destroy(mod);
}

static void test_small_tiles(void) {
    static const char source[] = "def k(x: *i32, y: *i32, N: constexpr):\n"
                                 "    o = arange(0, N)\n"
                                 "    v = load(x + o)\n"
                                 "    store(y + o, v * sum(v, 0))\n"
                                 "    store(y + N, max(v, axis=0))\n"
                                 "    atomic_add(y + N + 1, sum(v))\n"
                                 "    atomic_add(y + N + 2 + o, v)\n";
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    for (uint32_t n = 1; n <= 2048; n *= 2)
        for (size_t w = 0; w < 6; w++) {
            int32_t *x = xmalloc(n * 4), *y = xmalloc((2 * n + 2) * 4), s = 0, m = INT32_MIN;
            for (uint32_t i = 0; i < n; i++) {
                x[i] = (int32_t)(random_u32() % 201) - 100;
                s += x[i];
                m = x[i] > m ? x[i] : m;
            }
            memset(y, 0, (2 * n + 2) * 4);
            tile_buffer *dx = buffer_from(x, n * 4), *dy = buffer_from(y, (2 * n + 2) * 4);
            tile_arg args[] = {TILE_BUFFER(dx, "i32"), TILE_BUFFER(dy, "i32"),
                               TILE_CONSTEXPR_INT("N", n)};
            launch(k, args, 3, warps_list[w]);
            read_buffer(dy, y, (2 * n + 2) * 4);
            expect(y[n] == m && y[n + 1] == s,
                   "%u elements, %u warps: max %d, sum %d, expected %d, %d", n, warps_list[w], y[n],
                   y[n + 1], m, s);
            for (uint32_t i = 0; i < n; i++)
                expect(y[i] == x[i] * s && y[n + 2 + i] == x[i],
                       "%u elements, %u warps: element %u", n, warps_list[w], i);
            tile_buffer_destroy(dx), tile_buffer_destroy(dy);
            free(x), free(y);
        }
    tile_module_destroy(mod);
}

int main(void) {
    open_test_device();
    static const uint32_t shapes[][2] = {{1, 1},   {1, 64},  {64, 1}, {4, 1024}, {128, 8},
                                         {16, 64}, {32, 32}, {2, 2},  {256, 4}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        test_int_axes(shapes[i][0], shapes[i][1]);
    test_three_axes();
    test_welford_loop();
    test_small_tiles();
    return finish();
}
