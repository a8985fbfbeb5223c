// Atomics from tiles and scalars: totals, old values given to every copy, spin locks.
#include "run.h"

static void launch(tile_kernel *k, tile_arg *args, uint32_t n, uint32_t grid, uint32_t warps) {
    tile_launch_options o = {.size = sizeof o, .grid = {grid}, .num_warps = warps};
    must(tile_launch(k, args, n, &o, &err));
}

static void test_tickets(void) {
    // Every program takes one ticket; the ticket, a scalar, must be the same in all its threads.
    static const char source[] = "def k(next: *i32, out: *i32, N: constexpr):\n"
                                 "    t = atomic_add(next, 1)\n"
                                 "    store(out + t * N + arange(0, N), zeros([N], i32) + t)\n";
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    enum { PROGRAMS = 50, N = 256 };
    static int32_t out[PROGRAMS * N];
    for (uint32_t w = 1; w <= 8; w *= 2) {
        int32_t zero = 0;
        tile_buffer *dn = buffer_from(&zero, 4), *dout = buffer_from(NULL, sizeof out);
        tile_arg args[] = {TILE_BUFFER(dn, "i32"), TILE_BUFFER(dout, "i32"),
                           TILE_CONSTEXPR_INT("N", N)};
        launch(k, args, 3, PROGRAMS, w);
        read_buffer(dout, out, sizeof out), read_buffer(dn, &zero, 4);
        expect(zero == PROGRAMS, "%d tickets, expected %d", zero, PROGRAMS);
        for (int i = 0; i < PROGRAMS * N; i++)
            expect(out[i] == i / N, "%u warps: element %d is %d", w, i, out[i]);
        tile_buffer_destroy(dn), tile_buffer_destroy(dout);
    }
    tile_module_destroy(mod);
}

static void test_histogram(void) {
    static const char source[] = "def k(x: *i32, h: *i32, f: *fp32, n: i32, B: constexpr):\n"
                                 "    o = program_id(0) * B + arange(0, B)\n"
                                 "    m = o < n\n"
                                 "    v = load(x + o, mask=m)\n"
                                 "    atomic_add(h + v, 1, mask=m)\n"
                                 "    atomic_add(f + v, 0.5, mask=m)\n"
                                 "    atomic_max(h + 16, max(v, axis=0))\n";
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    enum { N = 3001, B = 256 };
    static int32_t x[N];
    for (int i = 0; i < N; i++)
        x[i] = (int32_t)(random_u32() % 16);
    for (uint32_t w = 1; w <= 8; w *= 2) {
        int32_t h[17] = {0}, want[17] = {0};
        float f[16] = {0};
        for (int i = 0; i < N; i++)
            want[x[i]]++, want[16] = x[i] > want[16] ? x[i] : want[16];
        tile_buffer *dx = buffer_from(x, sizeof x), *dh = buffer_from(h, sizeof h),
                    *df = buffer_from(f, sizeof f);
        tile_arg args[] = {TILE_BUFFER(dx, "i32"), TILE_BUFFER(dh, "i32"), TILE_BUFFER(df, "fp32"),
                           TILE_I32(N), TILE_CONSTEXPR_INT("B", B)};
        launch(k, args, 5, (N + B - 1) / B, w);
        read_buffer(dh, h, sizeof h), read_buffer(df, f, sizeof f);
        for (int i = 0; i < 17; i++)
            expect(h[i] == want[i] && (i == 16 || f[i] == 0.5f * (float)want[i]),
                   "%u warps: bin %d: %d, expected %d", w, i, h[i], want[i]);
        tile_buffer_destroy(dx), tile_buffer_destroy(dh), tile_buffer_destroy(df);
    }
    tile_module_destroy(mod);
}

static void test_old_values(void) {
    // Each element's old value comes back to its own lane, in every copy of a replicated tile.
    static const char source[] = "def k(x: *i32, y: *i32, N: constexpr):\n"
                                 "    o = arange(0, N)\n"
                                 "    a = atomic_add(x + o, o * 10)\n"
                                 "    b = atomic_xchg(x + o, a + 1)\n"
                                 "    store(y + o, a)\n"
                                 "    store(y + N + o, b)\n"
                                 "    store(y + 2 * N, sum(a))\n";
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    for (uint32_t n = 1; n <= 512; n *= 8)
        for (uint32_t w = 1; w <= 8; w *= 2) {
            int32_t *x = xmalloc(n * 4), *y = xmalloc((2 * n + 1) * 4), *after = xmalloc(n * 4),
                    total = 0;
            for (uint32_t i = 0; i < n; i++)
                total += x[i] = (int32_t)(random_u32() % 1000);
            tile_buffer *dx = buffer_from(x, n * 4), *dy = buffer_from(NULL, (2 * n + 1) * 4);
            tile_arg args[] = {TILE_BUFFER(dx, "i32"), TILE_BUFFER(dy, "i32"),
                               TILE_CONSTEXPR_INT("N", n)};
            launch(k, args, 3, 1, w);
            read_buffer(dy, y, (2 * n + 1) * 4), read_buffer(dx, after, n * 4);
            for (uint32_t i = 0; i < n; i++)
                expect(y[i] == x[i] && y[n + i] == x[i] + (int32_t)i * 10 && after[i] == x[i] + 1,
                       "%u elements, %u warps: element %u: %d %d %d from %d", n, w, i, y[i],
                       y[n + i], after[i], x[i]);
            expect(y[2 * n] == total, "%u elements, %u warps: sum of old values %d, expected %d", n,
                   w, y[2 * n], total);
            tile_buffer_destroy(dx), tile_buffer_destroy(dy);
            free(x), free(y), free(after);
        }
    tile_module_destroy(mod);
}

static void test_lock(void) {
    static const char source[] = "def k(lock: *i32, c: *i32):\n"
                                 "    while atomic_cas(lock, 0, 1) == 1:\n"
                                 "        pass\n"
                                 "    v = load(c)\n"
                                 "    store(c, v + 1)\n"
                                 "    debug_barrier()\n"
                                 "    atomic_xchg(lock, 0)\n";
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    for (uint32_t w = 1; w <= 8; w *= 2) {
        int32_t zero = 0, count;
        tile_buffer *lock = buffer_from(&zero, 4), *c = buffer_from(&zero, 4);
        tile_arg args[] = {TILE_BUFFER(lock, "i32"), TILE_BUFFER(c, "i32")};
        launch(k, args, 2, 200, w);
        read_buffer(c, &count, 4);
        expect(count == 200, "%u warps: a locked counter ends at %d, expected 200", w, count);
        tile_buffer_destroy(lock), tile_buffer_destroy(c);
    }
    tile_module_destroy(mod);
}

int main(void) {
    open_test_device();
    test_tickets();
    test_histogram();
    test_old_values();
    test_lock();
    return finish();
}
