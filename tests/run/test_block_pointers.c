// Block pointers against a C reference: blocks that hang over each side of an array, with every set
// of dimensions checked and both paddings; strides with gaps, transposed and negative; pointers that
// go round loops, come out of branches and helpers, and lie further away than 32 bits reach.
#include "run.h"

// ---------------------------------------------------------------------------- every side

enum { ROWS = 5, COLS = 11, B0 = 8, B1 = 16, SPAN = 64, BEFORE = 24 };

typedef struct view {
    const char *strides;
    const char *order;
    int s0, s1;
} view;

/// An array of ROWS x COLS inside a field of SPAN x SPAN, whose surroundings must not be read where
/// bounds are checked, and may be where they are not.
static const view views[] = {
    {"(64, 1)", "(1, 0)", SPAN, 1},    {"(s, 1)", "(1, 0)", SPAN, 1},
    {"(1, 64)", "(0, 1)", 1, SPAN},    {"(s, 2)", "(1, 0)", SPAN, 2},
    {"(-s, -1)", "(1, 0)", -SPAN, -1},
};
static const char *const checks_of[] = {"()", "0", "(1,)", "[0, 1]"};
static const char *const paddings[] = {"", ", padding_option=\"zero\"", ", padding_option=\"nan\""};

static bool in_bounds(int i, int extent, int check, int dim) {
    return !(check >> dim & 1) || (i >= 0 && i < extent);
}

static float field[2 * SPAN * SPAN * 2];

static int place(const view *v, int i, int j) { return SPAN * SPAN * 2 + i * v->s0 + j * v->s1; }

static void check_load(const view *v, int check, int padding, const float *out, int o0, int o1) {
    for (int i = 0; i < B0; i++)
        for (int j = 0; j < B1; j++) {
            int r = o0 + i, c = o1 + j;
            bool inside = in_bounds(r, ROWS, check, 0) && in_bounds(c, COLS, check, 1);
            float got = out[i * B1 + j], want = inside ? field[place(v, r, c)] : 0;
            bool nan = !inside && padding == 2;
            expect(nan ? isnan(got) : got == want,
                   "load %s check %s at (%d, %d): element (%d, %d) is %g, not %g", v->strides,
                   checks_of[check], o0, o1, i, j, got, nan ? NAN : want);
        }
}

static void check_store(const view *v, int check, const float *after, int o0, int o1) {
    static float want[sizeof field / sizeof *field];
    memcpy(want, field, sizeof field);
    for (int i = 0; i < B0; i++)
        for (int j = 0; j < B1; j++) {
            int r = o0 + i, c = o1 + j;
            if (in_bounds(r, ROWS, check, 0) && in_bounds(c, COLS, check, 1))
                want[place(v, r, c)] = (float)(1000 + i * B1 + j);
        }
    expect(!memcmp(want, after, sizeof field), "store %s check %s at (%d, %d)", v->strides,
           checks_of[check], o0, o1);
}

static void test_sides(void) {
    static const int offsets[][2] = {{0, 0},  {-3, 2},  {1, -5},   {4, 10},   {5, 0},   {0, 11},
                                     {-8, 0}, {0, -16}, {-7, -15}, {-9, -17}, {20, 20}, {-20, 20}};
    for (size_t i = 0; i < sizeof field / sizeof *field; i++)
        field[i] = (float)(i % 8191);
    static float out[B0 * B1], after[sizeof field / sizeof *field];
    for (size_t w = 0; w < sizeof views / sizeof *views; w++)
        for (int check = 0; check < 4; check++) {
            int padding = (int)(w + (size_t)check) % 3;
            const view *v = &views[w];
            char source[900];
            snprintf(source, sizeof source,
                     "def k(x: *fp32, out: *fp32, m: i32, n: i64, s: i32, a: i32, b: i64):\n"
                     "    p = tl.make_block_ptr(x + 8192, (m, n), %s, (a, b), (8, 16), %s)\n"
                     "    r = tl.arange(0, 8)[:, None] * 16 + tl.arange(0, 16)[None, :]\n"
                     "    tl.store(out + r, tl.load(p, boundary_check=%s%s))\n"
                     "    tl.store(p, r + 1000, boundary_check=%s)\n",
                     v->strides, v->order, checks_of[check], paddings[padding], checks_of[check]);
            tile_module *mod;
            tile_kernel *k = kernel_from(source, "k", &mod);
            tile_buffer *dx = buffer_from(NULL, sizeof field),
                        *dout = buffer_from(NULL, sizeof out);
            for (size_t o = 0; o < sizeof offsets / sizeof *offsets; o++) {
                must(tile_copy_to_device(dx, 0, field, sizeof field, NULL, &err));
                tile_arg args[] = {TILE_BUFFER(dx, "fp32"), TILE_BUFFER(dout, "fp32"),
                                   TILE_I32(ROWS),          TILE_I64(COLS),
                                   TILE_I32(SPAN),          TILE_I32(offsets[o][0]),
                                   TILE_I64(offsets[o][1])};
                tile_launch_options opt = {.size = sizeof opt, .grid = {1}, .num_warps = 2};
                must(tile_launch(k, args, 7, &opt, &err));
                read_buffer(dout, out, sizeof out), read_buffer(dx, after, sizeof after);
                check_load(v, check, padding, out, offsets[o][0], offsets[o][1]);
                check_store(v, check, after, offsets[o][0], offsets[o][1]);
            }
            tile_buffer_destroy(dx), tile_buffer_destroy(dout);
            tile_module_destroy(mod);
        }
}

// ---------------------------------------------------------------------------- types

/// Every type, one and three dimensions; bytes are copied as they are.
static void test_types(void) {
    static const struct {
        const char *name;
        unsigned bytes;
    } types[] = {{"i1", 1},   {"i8", 1},   {"u8", 1},  {"fp8e5", 1}, {"fp8e4nv", 1}, {"i16", 2},
                 {"fp16", 2}, {"bf16", 2}, {"i32", 4}, {"fp32", 4},  {"i64", 8},     {"fp64", 8}};
    enum { D0 = 3, D1 = 5, D2 = 37, N = D0 * D1 * D2 };
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        char source[900];
        snprintf(source, sizeof source,
                 "def k(x: *%s, y: *%s, z: *%s, d1: i32, d2: i32):\n"
                 "    i = tl.program_id(0)\n"
                 "    p = tl.make_block_ptr(x, (3, d1, d2), (d1 * d2, d2, 1), (i * 2, 0, 0),\n"
                 "                          (2, 8, 64), (2, 1, 0))\n"
                 "    q = tl.make_block_ptr(y, (3, d1, d2), (d1 * d2, d2, 1), (i * 2, 0, 0),\n"
                 "                          (2, 8, 64), (2, 1, 0))\n"
                 "    q.store(p.load(boundary_check=(0, 1, 2)), boundary_check=(2, 1, 0))\n"
                 "    f = tl.make_block_ptr(x, (3 * d1 * d2,), (1,), (i * 512,), (512,), (0,))\n"
                 "    g = tl.make_block_ptr(z, (3 * d1 * d2,), (1,), (i * 512,), (512,), (0,))\n"
                 "    tl.store(g, tl.load(f, boundary_check=(0,)).to(g.dtype.element_ty),\n"
                 "             boundary_check=(0,))\n",
                 types[t].name, types[t].name, types[t].name);
        unsigned bytes = types[t].bytes;
        static uint8_t x[8 * N], y[8 * N], z[8 * N];
        for (unsigned i = 0; i < N * bytes; i++)
            x[i] = (uint8_t)(t == 0 ? random_u32() % 2 : random_u32() & 0x3f);
        tile_buffer *dx = buffer_from(x, N * bytes), *dy = buffer_from(NULL, N * bytes),
                    *dz = buffer_from(NULL, N * bytes);
        tile_arg args[] = {TILE_BUFFER(dx, types[t].name), TILE_BUFFER(dy, types[t].name),
                           TILE_BUFFER(dz, types[t].name), TILE_I32(D1), TILE_I32(D2)};
        launch_source(source, args, 5, 2, 4);
        read_buffer(dy, y, N * bytes), read_buffer(dz, z, N * bytes);
        expect(!memcmp(x, y, N * bytes), "three dimensions of %s", types[t].name);
        expect(!memcmp(x, z, N * bytes), "one dimension of %s", types[t].name);
        tile_buffer_destroy(dx), tile_buffer_destroy(dy), tile_buffer_destroy(dz);
    }
}

// ---------------------------------------------------------------------------- control flow

enum { M = 13, K = 45 };
static float table[M * K];

/// Row sums of table, each with a weight, computed in `source`'s way.
static void check_rows(const char *what, const char *body, int rows_at_a_time) {
    char source[2000];
    snprintf(source, sizeof source,
             "def rows_of(x, m, n, i, B0: constexpr, B1: constexpr):\n"
             "    return tl.make_block_ptr(x, (m, n), (n, 1), (i, 0), (B0, B1), (1, 0))\n"
             "def next_columns(p, q, n):\n"
             "    return tl.advance(p, (0, n)), q.advance((n,))\n"
             "def k(x: *fp32, w: *fp32, out: *fp32, m: i32, n: i32, up: i32):\n"
             "    i = tl.program_id(0)\n%s",
             body);
    float w[K], out[16];
    for (int j = 0; j < K; j++)
        w[j] = (float)(j % 4);
    tile_buffer *dx = buffer_from(table, sizeof table), *dw = buffer_from(w, sizeof w),
                *dout = buffer_from(NULL, sizeof out);
    for (int up = 0; up < 2; up++) {
        tile_arg args[] = {TILE_BUFFER(dx, "fp32"),
                           TILE_BUFFER(dw, "fp32"),
                           TILE_BUFFER(dout, "fp32"),
                           TILE_I32(M),
                           TILE_I32(K),
                           TILE_I32(up)};
        launch_source(source, args, 6, (uint32_t)((M + rows_at_a_time - 1) / rows_at_a_time), 4);
        read_buffer(dout, out, sizeof out);
        for (int i = 0; i < M; i++) {
            float want = 0;
            for (int j = 0; j < K; j++)
                want += table[i * K + j] * w[j];
            expect(out[i] == want, "%s, %d: row %d is %g, not %g", what, up, i, out[i], want);
        }
    }
    tile_buffer_destroy(dx), tile_buffer_destroy(dw), tile_buffer_destroy(dout);
}

static void test_control(void) {
    for (int i = 0; i < M * K; i++)
        table[i] = (float)(random_u32() % 64);
    check_rows("a for loop",
               "    p = rows_of(x, m, n, i * 4, 4, 16)\n"
               "    q = tl.make_block_ptr(w, (n,), (1,), (0,), (16,), (0,))\n"
               "    acc = tl.zeros((4,), tl.float32)\n"
               "    for j in range(0, n, 16):\n"
               "        v = tl.load(p, boundary_check=(0, 1)) * tl.load(q, boundary_check=(0,))\n"
               "        acc += tl.sum(v, axis=1)\n"
               "        p, q = next_columns(p, q, 16)\n"
               "    o = tl.make_block_ptr(out, (m,), (1,), (i * 4,), (4,), (0,))\n"
               "    tl.store(o, acc, boundary_check=(0,))\n",
               4);
    check_rows(
        "a while loop, backwards in a tuple",
        "    q = tl.make_block_ptr(w, (n,), (1,), (n - 8,), (8,), (0,))\n"
        "    both = (tl.advance(rows_of(x, m, n, i * 2, 2, 8), (0, n - 8)), q)\n"
        "    acc = tl.zeros((2,), tl.float32)\n"
        "    left = n\n"
        "    while left > 0:\n"
        "        p, q = both\n"
        "        acc += tl.sum(p.load(boundary_check=(0, 1)) * q.load(boundary_check=0), 1)\n"
        "        both = next_columns(p, q, -8)\n"
        "        left -= 8\n"
        "    o = tl.make_block_ptr(out, (m,), (1,), (i * 2,), (2,), (0,))\n"
        "    tl.store(o, acc, boundary_check=(0,))\n",
        2);
    check_rows("branches",
               "    if up > 0:\n"
               "        p = rows_of(x, m, n, i * 8, 8, 32)\n"
               "        q = tl.make_block_ptr(w, (n,), (1,), (0,), (32,), (0,))\n"
               "        step = 32\n"
               "    else:\n"
               "        p = tl.make_block_ptr(x, (m, n), (n, 1), (i * 8, 32), (8, 32), (1, 0))\n"
               "        q = tl.make_block_ptr(w, (n,), (1,), (32,), (32,), (0,))\n"
               "        step = -32\n"
               "    acc = tl.zeros((8,), tl.float32)\n"
               "    for j in range(2):\n"
               "        v = tl.load(p, boundary_check=(0, 1)) * tl.load(q, boundary_check=(0,))\n"
               "        acc += tl.sum(v, axis=1)\n"
               "        if j == 0:\n"
               "            p, q = next_columns(p, q, step)\n"
               "    o = tl.make_block_ptr(out, (m,), (1,), (i * 8,), (8,), (0,))\n"
               "    tl.store(o, acc, boundary_check=(0,))\n",
               8);
    check_rows("nested loops over rows",
               "    p = tl.make_block_ptr(x, (m, n), (n, 1), (0, 0), (1, 64), (1, 0))\n"
               "    q = tl.make_block_ptr(w, (n,), (1,), (0,), (32,), (0,))\n"
               "    r = tl.make_block_ptr(x, (m, n), (n, 1), (0, 0), (1, 32), (1, 0))\n"
               "    for row in range(m):\n"
               "        acc = tl.zeros((1,), tl.float32)\n"
               "        c = q\n"
               "        for j in range(2):\n"
               "            a = tl.load(r, boundary_check=(1,)) * c.load(boundary_check=(0,))\n"
               "            acc += tl.sum(a, axis=1)\n"
               "            r = tl.advance(r, (0, 32))\n"
               "            c = c.advance([32])\n"
               "        r = tl.advance(r, (1, -64))\n"
               "        tl.store(out + row, tl.sum(acc))\n",
               M);
    check_rows("an unrolled loop, and a pointer of both",
               "    acc = 0.0\n"
               "    p = tl.make_block_ptr(x, (m, n), (n, 1), (i, 0), (1, 16), (1, 0))\n"
               "    for j in tl.static_range(3):\n"
               "        q = tl.make_block_ptr(w, (n,), (1,), (j * 16,), (16,), (0,))\n"
               "        r = p if up > 0 else rows_of(x, m, n, i, 1, 16).advance((0, j * 16))\n"
               "        acc += tl.sum(r.load(boundary_check=(1,)) * q.load(boundary_check=(0,)))\n"
               "        p = p.advance((0, 16))\n"
               "    tl.store(out + i, acc)\n",
               1);
}

// ---------------------------------------------------------------------------- far away

/// Offsets times strides, and offsets alone, beyond 32 bits, back to where the buffer is.
static void test_far(void) {
    static const char source[] =
        "def k(x: *i32, out: *i32, big: i64, s: i32, o: i32):\n"
        "    r = tl.arange(0, 2)[:, None] * 32 + tl.arange(0, 32)[None, :]\n"
        "    a = tl.make_block_ptr(x - 3 * big, (5, 32), (big, 1), (o, 0), (1, 32), (1, 0))\n"
        "    tl.store(out + tl.arange(0, 32)[None, :], tl.load(a, boundary_check=(0, 1)))\n"
        "    b = tl.make_block_ptr(x - 4 * big, (big * 8, 32), (1, 1), (big * 4, 0), (2, 32),\n"
        "                          (1, 0))\n"
        "    tl.store(out + 32 + r, tl.load(b, boundary_check=(0, 1)))\n"
        "    step = s.to(i64) * s * 1024\n"
        "    c = tl.make_block_ptr(x - step, (s * 4, 32), (s * 1024, 1), (0, 0), (1, 32), (1, 0))\n"
        "    c = tl.advance(c, (s, 0))\n"
        "    tl.store(out + 96 + tl.arange(0, 32)[None, :], tl.load(c, boundary_check=(0, 1)))\n";
    int32_t x[64], out[128];
    for (int i = 0; i < 64; i++)
        x[i] = i * 7 + 1;
    tile_buffer *dx = buffer_from(x, sizeof x), *dout = buffer_from(NULL, sizeof out);
    tile_arg args[] = {TILE_BUFFER(dx, "i32"), TILE_BUFFER(dout, "i32"),
                       TILE_I64(INT64_C(5000000000)), TILE_I32(100000), TILE_I32(3)};
    launch_source(source, args, 5, 1, 4);
    read_buffer(dout, out, sizeof out);
    for (int i = 0; i < 32; i++) {
        expect(out[i] == x[i], "a far row: element %d is %d", i, out[i]);
        expect(out[32 + i] == x[i] && out[64 + i] == x[i + 1], "a far block: element %d is %d", i,
               out[32 + i]);
        expect(out[96 + i] == x[i], "a far step: element %d is %d", i, out[96 + i]);
    }
    tile_buffer_destroy(dx), tile_buffer_destroy(dout);
}

/// Where nothing is in bounds nothing is touched, whatever the pointer is.
static void test_nowhere(void) {
    static const char source[] =
        "def k(p: *fp32, out: *fp32, n: i32):\n"
        "    a = tl.make_block_ptr(p, (n, n), (n, 1), (0, 0), (16, 32), (1, 0))\n"
        "    b = tl.make_block_ptr(p, (1 << 30, 1 << 30), (1 << 30, 1), (-16, 77), (16, 32), "
        "(1, 0))\n"
        "    v = tl.load(a, boundary_check=(0, 1)) + tl.load(b, boundary_check=(0,))\n"
        "    tl.store(a, v, boundary_check=(0,))\n"
        "    tl.store(b, v, boundary_check=(0, 1))\n"
        "    tl.store(out, tl.sum(v) + 1)\n";
    float out;
    tile_buffer *dout = buffer_from(NULL, sizeof out);
    for (int n = -1; n <= 0; n++) {
        tile_arg args[] = {TILE_POINTER((void *)(uintptr_t)0x1230, "fp32"),
                           TILE_BUFFER(dout, "fp32"), TILE_I32(n)};
        launch_source(source, args, 3, 1, 4);
        read_buffer(dout, &out, sizeof out);
        expect(out == 1, "an array of %d rows gives %g", n, out);
    }
    tile_buffer_destroy(dout);
}

/// Bounds that are known at compile time: all inside, hanging over, all outside.
static void test_known(void) {
    static const char source[] =
        "def k(x: *fp32, out: *fp32):\n"
        "    for i in tl.static_range(-32, 64, 8):\n"
        "        p = tl.make_block_ptr(x, (40,), (1,), (i,), (16,), (0,))\n"
        "        v = tl.load(p, boundary_check=(0,), padding_option=\"nan\")\n"
        "        d = tl.make_tensor_descriptor(x, [40], [1], [16], padding_option=\"nan\")\n"
        "        o = (i + 32) * 4 + tl.arange(0, 16)\n"
        "        tl.store(out + o, v)\n"
        "        tl.store(out + o + 16, d.load([i]))\n";
    float x[40], out[12 * 32];
    for (int i = 0; i < 40; i++)
        x[i] = (float)i;
    tile_buffer *dx = buffer_from(x, sizeof x), *dout = buffer_from(NULL, sizeof out);
    tile_arg args[] = {TILE_BUFFER(dx, "fp32"), TILE_BUFFER(dout, "fp32")};
    launch_source(source, args, 2, 1, 4);
    read_buffer(dout, out, sizeof out);
    for (int i = 0; i < 12 * 32; i++) {
        int at = i / 32 * 8 - 32 + i % 16;
        bool inside = at >= 0 && at < 40;
        expect(inside ? out[i] == x[at] : isnan(out[i]), "known bounds: element %d is %g", i,
               out[i]);
    }
    tile_buffer_destroy(dx), tile_buffer_destroy(dout);
}

int main(void) {
    open_test_device();
    test_sides();
    test_types();
    test_control();
    test_far();
    test_nowhere();
    test_known();
    return finish();
}
