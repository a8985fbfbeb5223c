// Loads and stores at their edges, the same on either device: every cache hint on every width, masks
// that leave nothing, pointers that must not be followed (null, far away, of empty buffers), negative
// offsets, bools in vectors, volatile loads. An access that is made though it is masked off ends the
// launch, on a GPU by the hardware, on cpu by its checks.
#include "run.h"

// ---------------------------------------------------------------------------- hints

typedef struct width {
    const char *dtype;
    unsigned bytes;
} width;

static const width widths[] = {{"i8", 1}, {"i16", 2}, {"i32", 4}, {"fp64", 8}};

/// A copy with holes at each hint, from an aligned and an odd pointer; what is masked off keeps its
/// old bytes, and its `other` arrives.
static void test_hints(void) {
    static const char *const loads[] = {"",
                                        ", cache_modifier=\".ca\"",
                                        ", cache_modifier=\".cg\"",
                                        ", cache_modifier=\".cs\"",
                                        ", cache_modifier=\".cv\"",
                                        ", eviction_policy=\"evict_first\"",
                                        ", eviction_policy=\"evict_last\"",
                                        ", volatile=True"};
    static const char *const stores[] = {
        ", cache_modifier=\".wb\"",           ", cache_modifier=\".cg\"",
        ", cache_modifier=\".cs\"",           ", cache_modifier=\".wt\"",
        ", eviction_policy=\"evict_last\"",   ", eviction_policy=\"evict_first\"",
        ", eviction_policy=\"evict_normal\"", ""};
    enum { N = 2048 };
    static const int counts[] = {N, N - 16, N - 1, 16, 1, 0};
    for (int h = 0; h < 8; h++)
        for (int t = 0; t < 4; t++) {
            char source[768];
            unsigned bytes = widths[t].bytes;
            snprintf(source, sizeof source,
                     "def k(x: *%s, y: *%s, z: *%s, n: i32, N: constexpr):\n"
                     "    o = arange(0, N)\n"
                     "    v = load(x + o, mask=o < n, other=7%s)\n"
                     "    store(y + o, v, mask=o < n%s)\n"
                     "    store(z + o, v%s)\n",
                     widths[t].dtype, widths[t].dtype, widths[t].dtype, loads[h], stores[h],
                     stores[7 - h]);
            tile_module *mod;
            tile_kernel *k = kernel_from(source, "k", &mod);
            static uint8_t x[8 * (N + 1)], y[8 * N], z[8 * N];
            for (size_t i = 0; i < sizeof x; i++)
                x[i] = (uint8_t)random_u32();
            tile_buffer *dx = buffer_from(x, (N + 1) * bytes), *dy = buffer_from(NULL, N * bytes),
                        *dz = buffer_from(NULL, N * bytes);
            for (int c = 0; c < 6; c++) {
                int n = counts[c], odd = c % 2;
                must(tile_fill(dy, 0, 0xA5, N * bytes, NULL, &err));
                tile_arg args[] = {
                    TILE_POINTER((char *)tile_buffer_data(dx) + odd * bytes, widths[t].dtype),
                    TILE_BUFFER(dy, widths[t].dtype), TILE_BUFFER(dz, widths[t].dtype), TILE_I32(n),
                    TILE_CONSTEXPR_INT("N", N)};
                tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = 4};
                must(tile_launch(k, args, 5, &o, &err));
                read_buffer(dy, y, N * bytes), read_buffer(dz, z, N * bytes);
                int64_t seven = 7;
                double seven_double = 7;
                for (int i = 0; i < N; i++) {
                    static const uint8_t untouched[8] = {0xA5, 0xA5, 0xA5, 0xA5,
                                                         0xA5, 0xA5, 0xA5, 0xA5};
                    const void *from = x + (size_t)(i + odd) * bytes,
                               *other = t == 3 ? (void *)&seven_double : &seven;
                    expect(!memcmp(y + (size_t)i * bytes, i < n ? from : untouched, bytes),
                           "store of %s%s%s: element %d of %d", widths[t].dtype, loads[h],
                           stores[h], i, n);
                    expect(!memcmp(z + (size_t)i * bytes, i < n ? from : other, bytes),
                           "load of %s%s%s: element %d of %d", widths[t].dtype, loads[h], stores[h],
                           i, n);
                }
            }
            tile_buffer_destroy(dx), tile_buffer_destroy(dy), tile_buffer_destroy(dz);
            tile_module_destroy(mod);
        }
}

// ---------------------------------------------------------------------------- nothing to touch

/// Pointers that lead nowhere are fine where every mask is false, in every kind of access.
static void test_no_access(void) {
    static const char source[] =
        "def k(p: *i32, f: *fp32, b: *i1, q: *const i32, out: *i32, n: i32):\n"
        "    o = arange(0, 256)\n"
        "    none = (o < 0) & (o > n)\n"
        "    never = n > 100\n"
        "    s = load(p + o, mask=none, other=3)\n"
        "    s += load(p + o * 1000003, mask=none)\n"
        "    s += load(q + o, mask=none, other=5, cache_modifier=\".cg\")\n"
        "    s += load(p - o, mask=none, eviction_policy=\"evict_first\")\n"
        "    s += load(p + o, mask=none, other=7, volatile=True)\n"
        "    s += load(p, mask=never, other=11)\n"
        "    s += load(q + n, mask=never, other=13, cache_modifier=\".cs\")\n"
        "    s += load(b + o, mask=none, other=True).to(i32)\n"
        "    s += atomic_add(p + o, 1, mask=none)\n"
        "    s += atomic_max(f + o, 1.0, mask=none, sem=\"relaxed\").to(i32)\n"
        "    s += atomic_xchg(p, 1, mask=never)\n"
        "    store(p + o, s, mask=none)\n"
        "    store(p - o, s, mask=none, cache_modifier=\".wt\")\n"
        "    store(f + o, 1.0, mask=none, eviction_policy=\"evict_last\")\n"
        "    store(b + o, o > 3, mask=none)\n"
        "    store(p, 1, mask=never)\n"
        "    atomic_add(f + o, 1.0, mask=none)\n"
        "    atomic_or(p + n, 1, mask=never, sem=\"release\")\n"
        "    store(out + o, s)\n";
    int32_t out[256];
    tile_buffer *empty = buffer_from(NULL, 0), *dout = buffer_from(NULL, sizeof out);
    for (uint32_t warps = 1; warps <= 8; warps *= 2)
        for (int which = 0; which < 3; which++) {
            void *p = which == 0   ? NULL
                      : which == 1 ? tile_buffer_data(empty)
                                   : (void *)(uintptr_t)0x1230;
            tile_arg args[] = {TILE_POINTER(p, "i32"),   TILE_POINTER(p, "fp32"),
                               TILE_POINTER(p, "i1"),    TILE_POINTER(p, "i32"),
                               TILE_BUFFER(dout, "i32"), TILE_I32(which)};
            launch_source(source, args, 6, 1, warps);
            read_buffer(dout, out, sizeof out);
            for (int i = 0; i < 256; i++)
                expect(out[i] == 3 + 5 + 7 + 11 + 13 + 1, "nothing is loaded: element %d is %d", i,
                       out[i]);
        }
    tile_buffer_destroy(empty), tile_buffer_destroy(dout);
}

/// Masked-off lanes point far outside while their neighbours in the same vector are active.
static void test_far_lanes(void) {
    static const char source[] =
        "def k(x: *i32, y: *i32, n: i32):\n"
        "    o = arange(0, 512)\n"
        "    on = o % 3 == n\n"
        "    far = where(on, 0, 1 << 28).to(i64) * 4096\n"
        "    v = load(x + far + o, mask=on, other=-1)\n"
        "    store(y + o - far, v * 2, mask=on)\n"
        "    atomic_add(y + far + o, 1, mask=on)\n"
        "    store(y + (o + far), v * 2 + 2, mask=on, cache_modifier=\".cg\")\n";
    int32_t x[512], y[512];
    for (int i = 0; i < 512; i++)
        x[i] = (int32_t)random_u32();
    tile_buffer *dx = buffer_from(x, sizeof x), *dy = buffer_from(NULL, sizeof y);
    for (int n = 0; n < 4; n++) {
        must(tile_fill(dy, 0, 0xA5, sizeof y, NULL, &err));
        tile_arg args[] = {TILE_BUFFER(dx, "i32"), TILE_BUFFER(dy, "i32"), TILE_I32(n)};
        launch_source(source, args, 3, 1, n % 2 ? 1 : 4);
        read_buffer(dy, y, sizeof y);
        for (int i = 0; i < 512; i++) {
            int32_t want = i % 3 == n ? (int32_t)((uint32_t)x[i] * 2 + 2) : (int32_t)0xA5A5A5A5;
            expect(y[i] == want, "far lanes, %d: element %d is %d, not %d", n, i, y[i], want);
        }
    }
    tile_buffer_destroy(dx), tile_buffer_destroy(dy);
}

/// A pointer into the middle, and offsets on both sides of it.
static void test_negative_offsets(void) {
    static const char source[] = "def k(x: *fp16, y: *fp16, n: i32, m: i64):\n"
                                 "    o = arange(0, 128) - 64\n"
                                 "    store(y - o - 1, load(x + o))\n"
                                 "    if n < 0:\n"
                                 "        store(y + n, load(x + m))\n"
                                 "        atomic_add(y + (n - 1), 1.0)\n";
    uint16_t x[128], y[128];
    for (int i = 0; i < 128; i++)
        store_float(FP16, x, (size_t)i, i + 1);
    tile_buffer *dx = buffer_from(x, sizeof x), *dy = buffer_from(NULL, sizeof y);
    tile_arg args[] = {TILE_POINTER((uint16_t *)tile_buffer_data(dx) + 64, "fp16"),
                       TILE_POINTER((uint16_t *)tile_buffer_data(dy) + 64, "fp16"), TILE_I32(-63),
                       TILE_I64(-64)};
    launch_source(source, args, 4, 1, 4);
    read_buffer(dy, y, sizeof y);
    for (int i = 0; i < 128; i++) {
        double want = i == 1 ? 1 : i == 0 ? 129 : 128 - i;
        expect(load_float(FP16, y, (size_t)i) == want, "negative offsets: element %d is %g, not %g",
               i, load_float(FP16, y, (size_t)i), want);
    }
    tile_buffer_destroy(dx), tile_buffer_destroy(dy);
}

// ---------------------------------------------------------------------------- bools

/// *i1 is a byte: any byte but 0 is true, 0 and 1 are stored, sixteen at once; neighbours stay.
static void test_bools(void) {
    static const char source[] =
        "def k(a: *i1, b: *i1, c: *i32, n: i32, N: constexpr, HINT: constexpr):\n"
        "    o = arange(0, N)\n"
        "    v = load(a + o, mask=o < n, other=True, cache_modifier=HINT)\n"
        "    store(b + o, v, mask=o < n, cache_modifier=HINT)\n"
        "    store(b + N + o, (o % 3 == 0) ^ v)\n"
        "    store(b + 2 * N, load(a + 1))\n"
        "    store(c + o, v.to(i32) + where(v, 10, 20))\n";
    enum { MAX = 2048 };
    static uint8_t a[MAX], b[2 * MAX + 2];
    static int32_t c[MAX];
    for (int i = 0; i < MAX; i++)
        a[i] = (uint8_t)(i % 4 == 0 ? 0 : i % 4 == 1 ? 1 : random_u32());
    for (uint32_t size = 1; size <= MAX; size *= size == 1 ? 8 : 16)
        for (int hint = 0; hint < 2; hint++)
            for (int part = 0; part < 3; part++) {
                int n = (int)size - part * 16, N = (int)size;
                tile_buffer *da = buffer_from(a, MAX), *db = buffer_from(NULL, sizeof b),
                            *dc = buffer_from(NULL, sizeof c);
                tile_arg args[] = {
                    TILE_BUFFER(da, "i1"),      TILE_BUFFER(db, "i1"),
                    TILE_BUFFER(dc, "i32"),     TILE_I32(n),
                    TILE_CONSTEXPR_INT("N", N), TILE_CONSTEXPR_STRING("HINT", hint ? ".cg" : "")};
                launch_source(source, args, 6, 1, size > 64 ? 4 : 2);
                read_buffer(db, b, sizeof b), read_buffer(dc, c, sizeof c);
                for (int i = 0; i < N; i++) {
                    bool v = i >= n || a[i];
                    expect(b[i] == (i < n ? v : 0xA5), "bool %d of %d: byte %d", i, N, b[i]);
                    expect(b[N + i] == ((i % 3 == 0) ^ v), "computed bool %d of %d: byte %d", i, N,
                           b[N + i]);
                    expect(c[i] == (v ? 11 : 20), "bool %d of %d chose %d", i, N, c[i]);
                }
                expect(b[2 * N] == 1 && b[2 * N + 1] == 0xA5, "the scalar bool: %d %d", b[2 * N],
                       b[2 * N + 1]);
                tile_buffer_destroy(da), tile_buffer_destroy(db), tile_buffer_destroy(dc);
            }
}

// ---------------------------------------------------------------------------- volatile

/// A volatile load sees what another program has written since the last one.
static void test_volatile(void) {
    static const char source[] = "def k(flag: *i32, data: *i32, out: *i32):\n"
                                 "    if program_id(0) == 0:\n"
                                 "        store(data + arange(0, 64), arange(0, 64) + 5)\n"
                                 "        atomic_xchg(flag, 1, sem=\"release\")\n"
                                 "    else:\n"
                                 "        while load(flag, volatile=True) == 0:\n"
                                 "            pass\n"
                                 "        atomic_add(flag, 0, sem=\"acquire\")\n"
                                 "        store(out + arange(0, 64), load(data + arange(0, 64)))\n";
    int32_t zero = 0, out[64];
    tile_buffer *flag = buffer_from(&zero, 4), *data = buffer_from(NULL, sizeof out),
                *dout = buffer_from(NULL, sizeof out);
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    tile_arg args[] = {TILE_BUFFER(flag, "i32"), TILE_BUFFER(data, "i32"),
                       TILE_BUFFER(dout, "i32")};
    tile_launch_options o = {.size = sizeof o, .grid = {2}, .num_warps = 4};
    must(tile_launch(k, args, 3, &o, &err));
    read_buffer(dout, out, sizeof out);
    for (int i = 0; i < 64; i++)
        expect(out[i] == i + 5, "volatile: element %d is %d", i, out[i]);
    tile_module_destroy(mod);
    tile_buffer_destroy(flag), tile_buffer_destroy(data), tile_buffer_destroy(dout);
}

int main(void) {
    open_test_device();
    test_hints();
    test_no_access();
    test_far_lanes();
    test_negative_offsets();
    test_bools();
    test_volatile();
    return finish();
}
