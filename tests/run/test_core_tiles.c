// Tiles and memory by the intents of Triton's own core tests (docs/testing.md lists them), each with a
// kernel of our own: addresses, broadcasts, indexing with None, shapes known at compile time, masks of
// loads, strided and indirect accesses, scalars. A kernel reads the integers x[i] (and p, places in
// it) and writes 512 integers y; a function in C says what. n = 0, 1, 23 or 32.
#include "run.h"

enum { N = 32, OUT = 512, UNTOUCHED = (int32_t)0xA5A5A5A5 };

typedef struct inputs {
    int32_t x[OUT], p[N]; ///< p: 0..31 in another order
    int32_t n;
} inputs;

typedef struct tile_case {
    const char *name; ///< of the intent
    const char *body;
    void (*fill)(const inputs *in, int32_t *y); ///< y starts UNTOUCHED
} tile_case;

static void fill_addptr(const inputs *in, int32_t *y) {
    for (int i = 0; i < N; i++)
        y[i] = in->x[i] + in->x[i + 3] + in->x[i + 7] + in->x[31 - i];
}

static void fill_broadcast(const inputs *in, int32_t *y) {
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 16; j++)
            y[i * 16 + j] = in->x[i] * in->x[j] + in->x[40] - in->x[j] * 3;
}

static void fill_slice(const inputs *in, int32_t *y) {
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 8; j++)
            for (int k = 0; k < 2; k++)
                y[(i * 8 + j) * 2 + k] =
                    in->x[i] + 100 * in->x[j] + 10000 * in->x[k] + in->x[i + 4 * k];
}

static void fill_expand_dims(const inputs *in, int32_t *y) {
    for (int i = 0; i < N; i++)
        y[i] = in->x[i] * 6;
}

static void fill_reshape(const inputs *in, int32_t *y) {
    for (int i = 0; i < 64; i++)
        y[i] = in->x[i % 16 / 4 * 16 + i % 4 * 4 + i / 16];
}

static void fill_join_split(const inputs *in, int32_t *y) {
    for (int i = 0; i < N; i++) {
        y[2 * i] = in->x[i];
        y[2 * i + 1] = -in->x[i];
        y[64 + i] = in->x[i] * 100 + in->x[i + 32];
    }
    y[96] = in->x[0] + 10 * in->x[1];
}

static void fill_arange(const inputs *in, int32_t *y) {
    (void)in;
    for (int i = 0; i < 64; i++)
        y[i] = i + 7;
    for (int i = 0; i < 1; i++)
        y[64 + i] = 5 + i;
    for (int i = 0; i < 256; i++)
        y[128 + i] = (256 + i) * (256 + i);
}

static void fill_constexpr_shape(const inputs *in, int32_t *y) {
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 8; j++)
            y[i * 8 + j] = in->x[i] + 2 * 8 + 16;
}

static void fill_where(const inputs *in, int32_t *y) {
    for (int i = 0; i < N; i++)
        y[i] = (in->x[i] > 0 ? in->x[i] : 7) + (in->n > 1 ? in->x[i] : in->x[i + 32]) +
               (i % 3 == 0 ? in->x[i + 64] : in->x[i]);
}

static void fill_masked_load(const inputs *in, int32_t *y) {
    for (int i = 0; i < N; i++) {
        y[i] = i < in->n ? in->x[i] : 0;
        y[N + i] = i < in->n ? in->x[i] : -9;
        y[2 * N + i] = i < in->n ? in->x[i] : in->x[i + 32];
        y[3 * N + i] = i >= in->n && i % 2 ? in->x[i] : i;
        if (i < in->n && i % 5)
            y[4 * N + i] = in->x[i];
    }
}

static void fill_masked_scalar(const inputs *in, int32_t *y) {
    y[0] = in->n > 1 ? in->x[3] : -5;
    y[1] = in->n > 1 ? in->x[4] : 0;
    y[2] = in->x[5];
    for (int i = 0; i < N; i++)
        y[N + i] = in->n > 1 ? in->x[3] + i : i - 5;
    if (in->n > 1)
        y[3] = 77;
}

static void fill_strided(const inputs *in, int32_t *y) {
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 8; j++) {
            y[i * 3 + j * 48 + 1] = in->x[i + j * 16];
        }
}

static void fill_indirect(const inputs *in, int32_t *y) {
    for (int i = 0; i < N; i++) {
        y[in->p[i]] = in->x[in->p[31 - i]];
        y[64 + i] = in->x[in->p[in->p[i]]];
    }
}

static void fill_zero_strided(const inputs *in, int32_t *y) {
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 16; j++)
            y[i * 16 + j] = in->x[j] + in->x[8];
}

static void fill_max_zero(const inputs *in, int32_t *y) {
    int32_t most = 0, least = 0;
    for (int i = 0; i < in->n; i++) {
        most = in->x[i] > most ? in->x[i] : most;
        least = in->x[i] < least ? in->x[i] : least;
    }
    y[0] = most;
    y[1] = least;
    y[2] = 0;
}

static void fill_chained_reductions(const inputs *in, int32_t *y) {
    int32_t total = 0;
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++) {
            int32_t most = INT32_MIN;
            for (int j = 0; j < 8; j++) {
                int32_t v = in->x[(i * 8 + j) * 4 + k];
                most = v > most ? v : most;
            }
            total += most;
        }
    for (int i = 0; i < N; i++)
        y[i] = total + i;
}

static const tile_case cases[] = {
    {"addptr",
     "    tl.store(y + o, tl.load(x + o) + tl.load(o + x + 3) + tl.load(7 + (x + o)) + tl.load((x "
     "+ 31) - o))\n",
     fill_addptr},
    {"broadcast",
     "    r = tl.load(x + tl.arange(0, 8))[:, None]\n"
     "    c = tl.load(x + tl.arange(0, 16))\n"
     "    a, b = tl.broadcast(r, c[None, :])\n"
     "    tl.static_assert(a.shape == [8, 16] and b.shape == [8, 16])\n"
     "    v = a * b + tl.load(x + 40) - tl.broadcast_to(c[None, :], (8, 16)) * 3\n"
     "    tl.store(y + tl.arange(0, 8)[:, None] * 16 + tl.arange(0, 16), v)\n",
     fill_broadcast},
    {"slice",
     "    i, j, k = tl.arange(0, 4), tl.arange(0, 8), tl.arange(0, 2)\n"
     "    v = tl.load(x + i)[:, None, None] + 100 * tl.load(x + j)[None, :, None] + 10000 * "
     "tl.load(x + k)[None, None, :]\n"
     "    v += tl.load(x + (i[:, None] + 4 * k[None, :]))[:, None, :]\n"
     "    tl.static_assert(v[None, :].shape == [1, 4, 8, 2])\n"
     "    tl.store(y + (i[:, None, None] * 8 + j[None, :, None]) * 2 + k, v[:, :, :])\n",
     fill_slice},
    {"expand_dims",
     "    v = tl.load(x + o)\n"
     "    tl.static_assert(tl.expand_dims(v, 0).shape == [1, 32] and tl.expand_dims(v, -1).shape "
     "== [32, 1])\n"
     "    tl.static_assert(tl.expand_dims(v, (0, 2)).shape == [1, 32, 1] and tl.expand_dims(v, (0, "
     "-1)).shape == [1, 32, 1])\n"
     "    a = tl.sum(tl.expand_dims(v, 1), axis=1)\n"
     "    b = tl.sum(tl.sum(tl.expand_dims(v, (1, 2)), 2), 1)\n"
     "    tl.store(y + o, a * 2 + b + v.expand_dims((0, 1, -1)).reshape(32) * 3)\n",
     fill_expand_dims},
    {"reshape, permute",
     "    v = tl.load(x + tl.arange(0, 64)).reshape((4, 4, 4))\n"
     "    tl.store(y + tl.arange(0, 64), tl.permute(v, (2, 0, 1)).trans(0, 2, 1).trans(0, 2, "
     "1).reshape(8, 8).reshape([64]))\n",
     fill_reshape},
    {"join, split",
     "    v = tl.load(x + o)\n"
     "    pairs = tl.join(v, -v)\n"
     "    tl.static_assert(pairs.shape == [32, 2])\n"
     "    tl.store(y + o[:, None] * 2 + tl.arange(0, 2)[None, :], pairs)\n"
     "    a, b = tl.split(tl.trans(tl.load(x + tl.arange(0, 64)).reshape(2, 32)))\n"
     "    tl.store(y + 64 + o, a * 100 + b)\n"
     "    s, t = tl.split(tl.load(x + tl.arange(0, 2)))\n"
     "    tl.static_assert(s.shape == [])\n"
     "    tl.store(y + 96, s + 10 * t)\n",
     fill_join_split},
    {"arange",
     "    tl.store(y + tl.arange(0, 64), tl.arange(7, 71))\n"
     "    tl.store(y + 64 + tl.arange(0, 1), tl.arange(5, 6))\n"
     "    w = tl.arange(256, 512)\n"
     "    tl.store(y + w - 128, w * w)\n",
     fill_arange},
    {"constexpr_shape",
     "    HALF: tl.constexpr = 16 // 2\n"
     "    z = tl.zeros((2 * HALF, HALF), tl.int32) + tl.load(x + tl.arange(0, HALF * 2))[:, None]\n"
     "    tl.static_assert(z.shape[0] == 16 and z.shape[1] * 2 == z.shape[0] and z.numel == 128)\n"
     "    z += tl.full(z.shape, 2 * HALF, z.dtype) + tl.full([2 * HALF, 1], 16, tl.int32)\n"
     "    tl.store(y + tl.arange(0, z.shape[0])[:, None] * HALF + tl.arange(0, z.shape[1]), z)\n",
     fill_constexpr_shape},
    {"where",
     "    v = tl.load(x + o)\n"
     "    a = tl.where(v > 0, v, 7)\n"
     "    b = tl.load(tl.where(n > 1, x, x + 32) + o)\n"
     "    c = tl.load(tl.where(o % 3 == 0, x + 64 + o, x + o))\n"
     "    tl.store(y + o, a + b + c)\n",
     fill_where},
    {"masked_load",
     "    m = o < n\n"
     "    tl.store(y + o, tl.load(x + o, mask=m))\n"
     "    tl.store(y + 32 + o, tl.load(x + o, m, -9))\n"
     "    tl.store(y + 64 + o, tl.load(x + o, mask=m, other=tl.load(x + 32 + o)))\n"
     "    tl.store(y + 96 + o, tl.load(x + o, mask=(o >= n) & (o % 2 == 1), other=o))\n"
     "    tl.store(y + 128 + o, tl.load(x + o), mask=m & (o % 5 != 0))\n",
     fill_masked_load},
    {"masked_load_scalar, load_scalar_with_mask",
     "    s = tl.load(x + 3, mask=n > 1, other=-5)\n"
     "    tl.store(y, s)\n"
     "    tl.store(y + 1, tl.load(x + 4, n > 1))\n"
     "    tl.store(y + 2, tl.load(x + 5, mask=True, other=0))\n"
     "    tl.store(y + 32 + o, s + o)\n"
     "    tl.store(y + 3, 77, mask=n > 1)\n",
     fill_masked_scalar},
    {"strided_load, strided_store",
     "    i, j = tl.arange(0, 16)[:, None], tl.arange(0, 8)[None, :]\n"
     "    tl.store(y + i * 3 + j * 48 + 1, tl.load(x + i + j * 16))\n",
     fill_strided},
    {"indirect_load, indirect_store",
     "    to = tl.load(p + o)\n"
     "    tl.store(y + to, tl.load(x + tl.load(p + 31 - o)))\n"
     "    tl.store(y + 64 + o, tl.load(x + tl.load(p + to)))\n",
     fill_indirect},
    {"zero_strided",
     "    i, j = tl.arange(0, 4)[:, None], tl.arange(0, 16)[None, :]\n"
     "    tl.store(y + i * 16 + j, tl.load(x + i * 0 + j) + tl.load(x + 8 + (i + j) * 0))\n",
     fill_zero_strided},
    {"max_returns_zero",
     "    v = tl.load(x + o, mask=o < n, other=0)\n"
     "    tl.store(y, tl.max(v, axis=0))\n"
     "    tl.store(y + 1, tl.min(v, axis=0))\n"
     "    tl.store(y + 2, tl.max(tl.where(o < 0, v, 0), axis=0))\n",
     fill_max_zero},
    {"chained_reductions",
     "    v = tl.load(x + tl.arange(0, 128)).reshape(4, 8, 4)\n"
     "    tl.store(y + o, tl.sum(tl.sum(tl.max(v, axis=1), axis=0), axis=0) + o)\n",
     fill_chained_reductions},
};

static void run_case(const tile_case *c, const inputs *in, uint32_t warps, tile_kernel *k) {
    int32_t got[OUT], want[OUT];
    tile_buffer *dx = buffer_from(in->x, sizeof in->x), *dp = buffer_from(in->p, sizeof in->p);
    tile_buffer *dy = buffer_from(NULL, sizeof got);
    tile_arg args[] = {TILE_BUFFER(dx, "i32"), TILE_BUFFER(dp, "i32"), TILE_BUFFER(dy, "i32"),
                       TILE_I32(in->n)};
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps};
    must(tile_launch(k, args, 4, &o, &err));
    read_buffer(dy, got, sizeof got);
    memset(want, 0xA5, sizeof want);
    c->fill(in, want);
    for (int i = 0; i < OUT; i++)
        expect(got[i] == want[i], "%s, n = %d, %u warps: element %d is %d, not %d", c->name, in->n,
               warps, i, got[i], want[i]);
    tile_buffer_destroy(dx), tile_buffer_destroy(dp), tile_buffer_destroy(dy);
}

static void fill_inputs(inputs *in) {
    for (int i = 0; i < OUT; i++)
        in->x[i] = (int32_t)(random_u32() % 200) - 100;
    for (int i = 0; i < N; i++)
        in->p[i] = (i * 13 + 5) % N;
}

int main(void) {
    static const int32_t ns[] = {0, 1, 23, 32};
    open_test_device();
    inputs in;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char source[3000];
        snprintf(source, sizeof source,
                 "def k(x: *i32, p: *i32, y: *i32, n: i32):\n"
                 "    o = tl.arange(0, 32)\n"
                 "%s",
                 cases[i].body);
        tile_module *mod;
        tile_kernel *k = kernel_from(source, "k", &mod);
        for (size_t j = 0; j < sizeof ns / sizeof *ns; j++) {
            fill_inputs(&in);
            in.n = ns[j];
            run_case(&cases[i], &in, 1, k);
            run_case(&cases[i], &in, 4, k);
        }
        tile_module_destroy(mod);
    }
    return finish();
}
