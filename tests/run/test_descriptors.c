// Tensor descriptors against a C reference: loads and stores that hang over each side, NaN where
// there is nothing, every reduction into memory, rows gathered and scattered by number, descriptors
// that go through helpers, loops and branches, and more than two dimensions.
#include "run.h"

// ---------------------------------------------------------------------------- every side

enum { ROWS = 7, COLS = 13, STRIDE = 24, B0 = 4, B1 = 8, CELLS = ROWS * STRIDE };

static void test_sides(void) {
    static const char source[] =
        "def moved(d, r, c):\n"
        "    return d.load([r, c])\n"
        "def k(x: *fp32, y: *fp32, out: *fp32, m: i32, n: i32, s: i64, a: i32, b: i64, up: i32):\n"
        "    d = tl.make_tensor_descriptor(x, [m, n], [s, 1], [4, 8])\n"
        "    e = tl.make_tensor_descriptor(y, shape=(m, n), strides=(s, 1), block_shape=(4, 8),\n"
        "                                  padding_option=\"nan\")\n"
        "    r = tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :]\n"
        "    tl.store(out + r, moved(d, a, b))\n"
        "    tl.static_assert(e.block_shape == (4, 8) and d.dtype == tl.float32)\n"
        "    tl.static_assert(d.block_type.shape == (4, 8) and d.shape[0].dtype == tl.int32)\n"
        "    e.store([a, b], (r + 1000 + d.shape[0] + e.strides[0]).to(e.dtype))\n"
        "    tl.store(out + 32 + r, tl.load_tensor_descriptor(e, (a, b)))\n"
        "    if up > 0:\n"
        "        f = e\n"
        "    else:\n"
        "        f = tl.make_tensor_descriptor(x, [m, n], [s, 1], [4, 8], \"nan\")\n"
        "    for i in range(2):\n"
        "        tl.store(out + 64 + 32 * i + r, f.load([a + i, b]))\n";
    static float x[CELLS], y[CELLS], got[CELLS], out[128];
    for (int i = 0; i < CELLS; i++) {
        x[i] = (float)(i + 1);
        y[i] = (float)-i;
    }
    tile_buffer *dx = buffer_from(x, sizeof x), *dy = buffer_from(y, sizeof y),
                *dout = buffer_from(NULL, sizeof out);
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    static const int places[][2] = {{0, 0}, {5, 8},  {-2, 3}, {2, -5}, {4, 10},  {-4, 0},
                                    {7, 0}, {0, 13}, {0, -8}, {6, 12}, {-3, -7}, {99, -99}};
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        int a = places[p][0], b = places[p][1], up = (int)p % 2;
        must(tile_copy_to_device(dy, 0, y, sizeof y, NULL, &err));
        tile_arg args[] = {TILE_BUFFER(dx, "fp32"),
                           TILE_BUFFER(dy, "fp32"),
                           TILE_BUFFER(dout, "fp32"),
                           TILE_I32(ROWS),
                           TILE_I32(COLS),
                           TILE_I64(STRIDE),
                           TILE_I32(a),
                           TILE_I64(b),
                           TILE_I32(up)};
        tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = 1};
        must(tile_launch(k, args, 9, &o, &err));
        read_buffer(dout, out, sizeof out), read_buffer(dy, got, sizeof got);
        static float want[CELLS];
        memcpy(want, y, sizeof y);
        for (int i = 0; i < B0 * B1; i++) {
            int r = a + i / B1, c = b + i % B1;
            if (r >= 0 && r < ROWS && c >= 0 && c < COLS)
                want[r * STRIDE + c] = (float)(i + 1000 + ROWS + STRIDE);
        }
        expect(!memcmp(want, got, sizeof got), "store at (%d, %d)", a, b);
        for (int part = 0; part < 4; part++)
            for (int i = 0; i < B0 * B1; i++) {
                int r = a + i / B1 + (part == 3), c = b + i % B1;
                bool in = r >= 0 && r < ROWS && c >= 0 && c < COLS;
                const float *from = part == 0 || (part > 1 && !up) ? x : want;
                float v = out[part * 32 + i], w = in ? from[r * STRIDE + c] : part ? NAN : 0;
                expect(v == w || (isnan(v) && isnan(w)),
                       "load %d at (%d, %d): element %d is %g, "
                       "not %g",
                       part, a, b, i, v, w);
            }
    }
    tile_buffer_destroy(dx), tile_buffer_destroy(dy), tile_buffer_destroy(dout);
    tile_module_destroy(mod);
}

// ---------------------------------------------------------------------------- reductions

static int32_t reduced(int op, int32_t a, int32_t b) {
    switch (op) {
    case 0:
        return (int32_t)((uint32_t)a + (uint32_t)b);
    case 1:
        return a > b ? a : b;
    case 2:
        return a < b ? a : b;
    case 3:
        return a & b;
    case 4:
        return a | b;
    default:
        return a ^ b;
    }
}

/// Three programs reduce overlapping blocks into one array.
static void test_reductions(void) {
    static const char *const ops[] = {"add", "max", "min", "and", "or", "xor"};
    static int32_t x[CELLS], want[CELLS], got[CELLS];
    for (int op = 0; op < 6; op++) {
        char source[700];
        snprintf(source, sizeof source,
                 "def k(x: *i32, m: i32, n: i32, s: i32):\n"
                 "    d = tl.make_tensor_descriptor(x, [m, n], [s, 1], [4, 8])\n"
                 "    i = tl.program_id(0)\n"
                 "    r = tl.arange(0, 4)[:, None] * 77 + tl.arange(0, 8)[None, :] * 1001\n"
                 "    d.atomic_%s([i * 3 - 1, i * 2 + 5], r * (i + 1) - 900)\n",
                 ops[op]);
        for (int i = 0; i < CELLS; i++)
            want[i] = x[i] = (int32_t)(random_u32() % 4096) - 2048;
        for (int p = 0; p < 3; p++)
            for (int i = 0; i < B0 * B1; i++) {
                int r = p * 3 - 1 + i / B1, c = p * 2 + 5 + i % B1;
                int32_t v = (i / B1 * 77 + i % B1 * 1001) * (p + 1) - 900;
                if (r >= 0 && r < ROWS && c < COLS)
                    want[r * STRIDE + c] = reduced(op, want[r * STRIDE + c], v);
            }
        tile_buffer *dx = buffer_from(x, sizeof x);
        tile_arg args[] = {TILE_BUFFER(dx, "i32"), TILE_I32(ROWS), TILE_I32(COLS),
                           TILE_I32(STRIDE)};
        launch_source(source, args, 4, 3, 4);
        read_buffer(dx, got, sizeof got);
        for (int i = 0; i < CELLS; i++)
            expect(got[i] == want[i], "atomic_%s: cell %d is %d, not %d", ops[op], i, got[i],
                   want[i]);
        tile_buffer_destroy(dx);
    }
}

// ---------------------------------------------------------------------------- rows by number

static void test_rows(void) {
    static const char source[] =
        "def k(x: *i16, y: *i16, out: *i16, rows: *i32, m: i32, n: i32, s: i32, c: i32):\n"
        "    d = tl.make_tensor_descriptor(x, [m, n], [s, 1], [1, 8])\n"
        "    e = tl.make_tensor_descriptor(y, [m, n], [s, 1], [1, 8])\n"
        "    i = tl.load(rows + tl.arange(0, 8))\n"
        "    v = d.gather(i, c)\n"
        "    tl.store(out + tl.arange(0, 8)[:, None] * 8 + tl.arange(0, 8)[None, :], v)\n"
        "    e.scatter(v + 1, i, c)\n"
        "    first = tl.make_tensor_descriptor(x, [m, 8], [s, 1], [1, 8]).gather(i, 0)\n"
        "    tl.store(out + 64 + tl.arange(0, 64), first.reshape(64))\n";
    static const int32_t rows[8] = {3, 0, -1, 6, 7, 2, 100, 5}; // no row twice: which wins is open
    static int16_t x[CELLS], y[CELLS], got[CELLS], want[CELLS], out[128];
    for (int i = 0; i < CELLS; i++) {
        x[i] = (int16_t)random_u32();
        y[i] = (int16_t)i;
    }
    tile_buffer *dx = buffer_from(x, sizeof x), *dr = buffer_from(rows, sizeof rows);
    for (int c = -4; c <= 13; c += 4) {
        tile_buffer *dy = buffer_from(y, sizeof y), *dout = buffer_from(NULL, sizeof out);
        tile_arg args[] = {TILE_BUFFER(dx, "i16"),   TILE_BUFFER(dy, "i16"),
                           TILE_BUFFER(dout, "i16"), TILE_BUFFER(dr, "i32"),
                           TILE_I32(ROWS),           TILE_I32(COLS),
                           TILE_I32(STRIDE),         TILE_I32(c)};
        launch_source(source, args, 8, 1, 4);
        read_buffer(dout, out, sizeof out), read_buffer(dy, got, sizeof got);
        memcpy(want, y, sizeof y);
        for (int i = 0; i < 64; i++) {
            int r = rows[i / 8], col = c + i % 8;
            bool in = r >= 0 && r < ROWS && col >= 0 && col < COLS;
            int16_t v = in ? x[r * STRIDE + col] : 0;
            if (in)
                want[r * STRIDE + col] = (int16_t)(v + 1);
            int16_t first = r >= 0 && r < ROWS ? x[r * STRIDE + i % 8] : 0;
            expect(out[64 + i] == first, "gather of whole rows: element %d is %d", i, out[64 + i]);
            expect(out[i] == v, "gather at column %d: element %d is %d, not %d", c, i, out[i], v);
        }
        expect(!memcmp(want, got, sizeof got), "scatter at column %d", c);
        tile_buffer_destroy(dy), tile_buffer_destroy(dout);
    }
    tile_buffer_destroy(dx), tile_buffer_destroy(dr);
}

// ---------------------------------------------------------------------------- ranks

static void test_ranks(void) {
    static const char source[] =
        "def k(x: *fp16, y: *fp16, z: *fp16, a: i32, b: i32, c: i32):\n"
        "    d = tl.make_tensor_descriptor(x, [a, 1, b, c], [b * c, b * c, c, 1], [2, 1, 4, 8])\n"
        "    e = tl.make_tensor_descriptor(y, [a, b, c], [b * c, c, 1], [2, 4, 8])\n"
        "    for i in range(0, a, 2):\n"
        "        for j in range(0, b, 4):\n"
        "            for l in tl.static_range(0, 24, 8):\n"
        "                v = d.load([i, 0, j, l]).reshape(2, 4, 8)\n"
        "                tl.store_tensor_descriptor(e, [i, j, l], v)\n"
        "    n = a * b * c\n"
        "    f = tl.make_tensor_descriptor(x, [n], [1], [32])\n"
        "    g = tl.make_tensor_descriptor(z, [n], [1], [32])\n"
        "    for i in range(0, n, 32):\n"
        "        g.store([i], f.load([i]))\n";
    enum { A = 5, B = 6, C = 21, N = A * B * C };
    static uint16_t x[N], y[N], z[N];
    for (int i = 0; i < N; i++)
        x[i] = (uint16_t)(random_u32() & 0x7bff);
    tile_buffer *dx = buffer_from(x, sizeof x), *dy = buffer_from(NULL, sizeof y),
                *dz = buffer_from(NULL, sizeof z);
    tile_arg args[] = {TILE_BUFFER(dx, "fp16"),
                       TILE_BUFFER(dy, "fp16"),
                       TILE_BUFFER(dz, "fp16"),
                       TILE_I32(A),
                       TILE_I32(B),
                       TILE_I32(C)};
    launch_source(source, args, 6, 1, 4);
    read_buffer(dy, y, sizeof y), read_buffer(dz, z, sizeof z);
    expect(!memcmp(x, y, sizeof x), "four dimensions to three");
    expect(!memcmp(x, z, sizeof x), "one dimension");
    tile_buffer_destroy(dx), tile_buffer_destroy(dy), tile_buffer_destroy(dz);
}

int main(void) {
    open_test_device();
    test_sides();
    test_reductions();
    test_rows();
    test_ranks();
    return finish();
}
