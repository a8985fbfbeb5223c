// A program is sequential for its own accesses: kernels in place, shifted, through overlapping
// arguments and scalars must give what one thread running the program line by line would.
#include "run.h"

static const uint32_t warps_list[] = {1, 2, 4, 8};

static void run(const char *what, const char *source, int32_t *data, const int32_t *want,
                uint32_t n, int second_offset) {
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    int32_t *got = xmalloc(n * 4);
    for (size_t w = 0; w < 4; w++) {
        tile_buffer *d = buffer_from(data, n * 4);
        tile_arg args[] = {TILE_BUFFER(d, "i32"),
                           TILE_POINTER((int32_t *)tile_buffer_data(d) + second_offset, "i32")};
        tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps_list[w]};
        must(tile_launch(k, args, 2, &o, &err));
        read_buffer(d, got, n * 4);
        for (uint32_t i = 0; i < n; i++)
            expect(got[i] == want[i], "%s at %u warps: element %u is %d, expected %d", what,
                   warps_list[w], i, got[i], want[i]);
        tile_buffer_destroy(d);
    }
    free(got);
    tile_module_destroy(mod);
}

int main(void) {
    open_test_device();
    enum { N = 1024, TOTAL = N + 64 };
    static int32_t x[TOTAL], want[TOTAL];
    for (int i = 0; i < TOTAL; i++)
        x[i] = (int32_t)(random_u32() % 1000);

    memcpy(want, x, sizeof x);
    for (int i = 0; i < N; i++)
        want[i + 1] = x[i];
    run("shift in place",
        "def k(x: *i32, y: *i32):\n    o = arange(0, 1024)\n    v = load(x + o)\n    store(x + o + "
        "1, v)\n",
        x, want, TOTAL, 0);

    memcpy(want, x, sizeof x);
    for (int i = 0; i < N; i++)
        want[i] = x[N - 1 - i];
    run("reverse in place",
        "def k(x: *i32, y: *i32):\n    o = arange(0, 1024)\n    v = load(x + 1023 - o)\n    "
        "store(x + o, v)\n",
        x, want, TOTAL, 0);

    memcpy(want, x, sizeof x);
    for (int i = 0; i < N; i++)
        want[i] = x[i] + x[0] * 2;
    run("scalar read, then written over",
        "def k(x: *i32, y: *i32):\n    s = load(x)\n    o = arange(0, 1024)\n    store(y + o, "
        "load(y + o) + s * 2)\n",
        x, want, TOTAL, 0);

    memcpy(want, x, sizeof x);
    for (int step = 0; step < 4; step++) {
        int32_t first = want[0];
        for (int i = 0; i < N; i++)
            want[i] += first;
    }
    run("scalar in a loop",
        "def k(x: *i32, y: *i32):\n    o = arange(0, 1024)\n    for i in range(4):\n        s = "
        "load(y)\n        store(x + o, load(x + o) + s)\n",
        x, want, TOTAL, 0);

    memcpy(want, x, sizeof x);
    for (int i = 0; i < N; i++)
        want[i] = 2 * want[i] + 1;
    int32_t sum = 0;
    for (int i = 0; i < N; i++)
        sum += want[N - 1 - i] * (i % 7);
    want[N] = sum;
    run("write, then read in another order",
        "def k(x: *i32, y: *i32):\n    o = arange(0, 1024)\n    store(x + o, load(x + o) * 2 + 1)\n"
        "    v = load(x + 1023 - o)\n    store(x + 1024, sum(v * (o % 7)))\n",
        x, want, TOTAL, 0);

    memcpy(want, x, sizeof x);
    int32_t last = want[5];
    for (int i = 0; i < 50; i++)
        want[i] = last = last + want[i];
    run("one scalar after another",
        "def k(x: *i32, y: *i32):\n    s = load(x + 5)\n    for i in range(50):\n        s = s + "
        "load(x + i)\n        store(y + i, s)\n",
        x, want, TOTAL, 0);

    memcpy(want, x, sizeof x);
    int32_t total = 0;
    for (int i = 0; i < N; i++)
        total += x[i + 32];
    for (int i = 0; i < N; i++)
        want[i] = total;
    run("reduced, then broadcast over its input",
        "def k(x: *i32, y: *i32):\n    o = arange(0, 1024)\n    s = sum(load(y + o))\n    store(x "
        "+ o, zeros([1024], i32) + s)\n",
        x, want, TOTAL, 32);

    memcpy(want, x, sizeof x);
    for (int i = 0; i < N; i++)
        want[i % 32 * 32 + i / 32] = x[i];
    run("transposed in place, through two arguments",
        "def k(x: *i32, y: *i32):\n    r = arange(0, 32)[:, None]\n    c = arange(0, 32)[None, :]\n"
        "    store(y + c * 32 + r, load(x + r * 32 + c))\n",
        x, want, TOTAL, 0);

    // y is x, one element on: what a store through one leaves, a load through the other sees.
    memcpy(want, x, sizeof x);
    for (int i = 0; i < N; i++)
        want[i] = i + 1 < N ? 3 * (i + 1) : x[N];
    run("read back through another argument, at an offset",
        "def k(x: *i32, y: *i32):\n    o = arange(0, 1024)\n    store(x + o, o * 3)\n"
        "    v = load(y + o)\n    debug_barrier()\n    store(x + o, v)\n",
        x, want, TOTAL, 1);

    memcpy(want, x, sizeof x);
    for (int step = 0; step < 5; step++)
        for (int i = 0; i < N; i++)
            want[i] = want[i + 1] + step;
    run("shifted through two arguments in a loop, with the author's barriers",
        "def k(x: *i32, y: *i32):\n    o = arange(0, 1024)\n    for i in range(5):\n"
        "        v = load(y + o)\n        debug_barrier()\n        store(x + o, v + i)\n"
        "        debug_barrier()\n",
        x, want, TOTAL, 1);

    memcpy(want, x, sizeof x);
    for (int i = 0; i < N; i++)
        want[i] = 2 * i + 7;
    sum = x[N];
    for (int i = 1; i < N; i++)
        sum += want[i];
    want[N + 40] = sum;
    run("written in a loop, read after it through another argument",
        "def k(x: *i32, y: *i32):\n    o = arange(0, 1024)\n    for i in range(8):\n"
        "        store(x + o, o * 2 + i)\n    store(x + 1064, sum(load(y + o)))\n",
        x, want, TOTAL, 1);
    return finish();
}
