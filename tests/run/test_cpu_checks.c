// What the cpu device catches: accesses outside a buffer, promises that do not hold, assertions and
// loops that never end. Each mistake comes back as a status and a message with the kernel's line,
// the program and the element, in every order of warps, and leaves the device ready for the next
// launch. On a GPU there is nothing to test here.
#include "run.h"

enum { COUNT = 64, BYTES = COUNT * 4 };

static tile_buffer *x, *y; ///< COUNT floats each

/// Runs `source`, which defines k(x: *fp32, y: *fp32, n). Nothing must leak from the module.
static tile_status run(const char *source, int64_t n, uint32_t grid, uint32_t warps) {
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    tile_arg args[] = {TILE_BUFFER(x, "fp32"), TILE_BUFFER(y, "fp32"), TILE_INT(n)};
    tile_launch_options o = {.size = sizeof o, .grid = {grid}, .num_warps = warps};
    tile_status s = tile_launch(k, args, 3, &o, &err);
    tile_module_destroy(mod);
    return s;
}

/// Checks that the launch before ended with `status` and a message that has every one of the parts.
static void expect_error(const char *what, tile_status got, tile_status want,
                         const char *const *parts) {
    expect(got == want, "%s: %s (%s), expected %s", what, tile_status_text(got),
           got ? err.message : "", tile_status_text(want));
    if (got != want)
        return;
    for (; *parts; parts++)
        expect(strstr(err.message, *parts) != NULL, "%s: no '%s' in '%s'", what, *parts,
               err.message);
    expect(err.log && strstr(err.log, err.message), "%s: the log lacks the message", what);
}

#define EXPECT_ERROR(what, got, want, ...)                                                         \
    expect_error(what, got, want, (const char *[]){__VA_ARGS__, NULL})

/// A launch with nothing wrong works, whatever was caught before.
static void expect_healthy(const char *what) {
    static const char source[] =
        "def k(x: *fp32, y: *fp32, n: i32):\n"
        "    o = arange(0, 16)\n"
        "    store(x + program_id(0) * 16 + o, sum(o, axis=0).to(fp32) + n)\n";
    float got[COUNT];
    tile_status s = run(source, 5, 4, 4);
    expect(s == TILE_OK, "after %s: %s", what, err.message);
    read_buffer(x, got, BYTES);
    for (int i = 0; i < COUNT; i++)
        expect(got[i] == 125, "after %s: element %d is %g", what, i, (double)got[i]);
}

// --- out of bounds

typedef struct bounds_case {
    const char *what, *body; ///< of def k(x: *fp32, y: *fp32, n: i32), from line 2 on
    int n;
    uint32_t grid, warps;
    const char *parts[6];
} bounds_case;

// clang-format off
static const bounds_case bounds[] = {
    {"a store past the end", "    o = arange(0, 64)\n    store(x + o + n, 1.0)\n", 1, 1, 1,
     {"test.tile:3:5: error: store of 4 bytes", "'x' (256 bytes)", "element index 64", "program (0, 0, 0)", "lane"}},
    {"a load past the end", "    o = arange(0, 64)\n    store(x + o,\n          load(y + o + n))\n", 3, 1, 2,
     {"test.tile:4:11: error: load of 4 bytes", "'y' (256 bytes)", "element index 6", "program (0, 0, 0)", "warp "}},
    {"a store before the start", "    store(x + arange(0, 32) - n, 2.0)\n", 1, 1, 4,
     {"test.tile:2:5: error: store", "'x' (256 bytes)", "element index -1", "lane 0"}},
    {"a load before the start", "    store(y + arange(0, 32), load(x + arange(0, 32) - n))\n", 16, 1, 1,
     {"test.tile:2:30: error: load", "'x' (256 bytes)", "element index -1"}},
    {"a later program", "    o = program_id(0) * 16 + arange(0, 16)\n    store(x + o, n.to(fp32))\n", 3, 5, 1,
     {"test.tile:3:5: error: store", "element index 64", "program (4, 0, 0)"}},
    {"a scalar store", "    if n > 2:\n        store(x + n, 1.0)\n", 64, 1, 4,
     {"test.tile:3:9: error: store of 4 bytes", "element index 64"}},
    {"a scalar load", "    store(y, load(x + n))\n", -1, 1, 1, {"test.tile:2:14: error: load", "element index -1"}},
    {"an atomic", "    atomic_add(x + n + arange(0, 32), 1.0)\n", 40, 1, 1,
     {"test.tile:2:5: error: atomic", "'x' (256 bytes)", "element index 64"}},
    {"a wide element", "    p = x.to(pointer_type(fp64), bitcast=True)\n    store(p + n, 1.0)\n", 32, 1, 1,
     {"test.tile:3:5: error: store of 8 bytes", "element index 32"}},
    {"far away", "    store(x + n + arange(0, 32), 1.0)\n", 1 << 29, 1, 1,
     {"test.tile:2:5: error: store", "element index 536870912"}},
    {"in a loop", "    for i in range(0, n):\n        store(x + i * 16 + arange(0, 16), 1.0)\n", 6, 1, 4,
     {"test.tile:3:9: error: store", "element index 64"}},
    {"half of a vector", "    o = arange(0, 64)\n    store(x + max_contiguous(multiple_of(n + o, 4), 4) - 2, 1.0, mask=o < 64)\n", 4, 1, 1,
     {"test.tile:3:5: error: store of 4 bytes", "'x' (256 bytes)", "element index 64", "lane "}},
    {"one lane of many", "    o = arange(0, 256)\n    store(x + o, 1.0, mask=(o == n) | (o < 3))\n", 64, 1, 2,
     {"test.tile:3:5: error: store", "element index 64", "lane "}},
    {"one lane of a vector", "    o = arange(0, 128) - n\n    store(x + o, 1.0, mask=(o == 3) | (o == -1))\n", 32, 1, 1,
     {"test.tile:3:5: error: store", "element index -1", "lane "}},
    {"bools, sixteen at once", "    p = x.to(pointer_type(i1), bitcast=True)\n    o = arange(0, 512)\n    store(p + o, o > n)\n", 3, 1, 1,
     {"test.tile:4:5: error: store of 1 bytes", "'x' (256 bytes)", "element index 256", "lane 16"}},
    {"bools before the start", "    p = y.to(pointer_type(i1), bitcast=True)\n    store(x, load(p - n).to(fp32))\n", 1, 1, 4,
     {"test.tile:3:14: error: load of 1 bytes", "'y' (256 bytes)", "element index -1"}},
    {"a load with a cache hint", "    o = arange(0, 64)\n    store(x + o, load(y + o + n, cache_modifier=\".cg\"))\n", 1, 1, 1,
     {"test.tile:3:18: error: load", "element index 64"}},
    {"a volatile load", "    load(y - n, volatile=True)\n", 1, 1, 4, {"test.tile:2:5: error: load", "element index -1"}},
    {"an atomic before the start", "    atomic_max(x - n + arange(0, 32), 1.0)\n", 2, 1, 1,
     {"test.tile:2:5: error: atomic", "element index -2", "lane 0"}},
    {"an atomic on a scalar", "    p = y.to(pointer_type(i64), bitcast=True)\n    atomic_cas(p + n, 0, 1, sem=\"relaxed\")\n", 32, 1, 4,
     {"test.tile:3:5: error: atomic of 8 bytes", "element index 32"}},
    {"an element half outside", "    p = x.to(pointer_type(i8), bitcast=True) + n\n    store(p.to(pointer_type(i16), bitcast=True), 1)\n", 255, 1, 1,
     {"test.tile:3:5: error: store of 2 bytes", "element index 127"}},
    {"far below", "    store(x - n.to(i64) * 4096 + arange(0, 32), 1.0)\n", 1 << 29, 1, 1,
     {"test.tile:2:5: error: store", "element index -2199023255552"}},
    {"in a helper", "    put(x, n)\n\ndef put(p, n):\n    store(p + n, 1.0)\n", 100, 1, 1,
     {"test.tile:5:5: error: store", "'x' (256 bytes)", "element index 100"}},
};
// clang-format on

static void test_bounds(void) {
    char source[1024];
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        const bounds_case *c = &bounds[i];
        snprintf(source, sizeof source, "def k(x: *fp32, y: *fp32, n: i32):\n%s", c->body);
        expect_error(c->what, run(source, c->n, c->grid, c->warps), TILE_ERROR_OUT_OF_BOUNDS,
                     c->parts);
        expect_healthy(c->what);
    }
}

/// A pointer that leaves its buffer is caught even where another buffer is.
static void test_between_buffers(void) {
    static const char source[] = "def k(x: *fp32, y: *fp32, n):\n"
                                 "    store(x + n + arange(0, 16), 1.0)\n";
    int64_t distance = ((char *)tile_buffer_data(y) - (char *)tile_buffer_data(x)) / 4;
    char index[64];
    snprintf(index, sizeof index, "element index %lld", (long long)distance);
    float before = ((float *)tile_buffer_data(y))[0] = 42;
    EXPECT_ERROR("a store into another buffer", run(source, distance, 1, 1),
                 TILE_ERROR_OUT_OF_BOUNDS, "test.tile:2:5: error: store", "'x' (256 bytes)", index);
    expect(((float *)tile_buffer_data(y))[0] == before, "a refused store has written");
    expect_healthy("a store into another buffer");
}

/// 32-bit offsets that wrap, where an active lane uses them.
static void test_overflow(void) {
    static const char rows[] = "def k(x: *fp32, y: *fp32, n: i32):\n"
                               "    o = arange(0, 32)\n"
                               "    store(x + n * n + o, zeros([32], fp32), mask=o < 16)\n";
    EXPECT_ERROR("65536 * 65536", run(rows, 65536, 1, 2), TILE_ERROR_ASSERTION,
                 "test.tile:3:5: error: ", "int32 offset overflows");
    static const char columns[] =
        "def k(x: *fp32, y: *fp32, n: i32):\n"
        "    o = arange(0, 64)\n"
        "    p = y + (o[:, None] * n + o[None, :])\n"
        "    store(y + o, sum(load(p, mask=(o[:, None] < 0) | (o[None, :] < 0)), axis=1))\n"
        "    v = load(p, mask=(o[:, None] == 63) & (o[None, :] == 0))\n"
        "    store(x + o, sum(v, axis=1))\n";
    EXPECT_ERROR("a tile's offsets", run(columns, 1 << 26, 1, 4), TILE_ERROR_ASSERTION,
                 "test.tile:5:", "int32 offset overflows");
    static const char wide[] = "def k(x: *fp32, y: *fp32, n: i32):\n"
                               "    o = n.to(i64) * n\n"
                               "    store(x + (o - o), 1.0)\n";
    must(run(wide, 65536, 1, 1));
    static const char doubled[] = "def k(x: *fp32, y: *fp32, n: i32):\n" // reached on 2^31 ways
                                  "    o = arange(0, 32) + n\n"
                                  "    for i in static_range(31):\n"
                                  "        o = o + o\n"
                                  "    store(x + o, 1.0, mask=o == 0)\n";
    EXPECT_ERROR("an offset, doubled", run(doubled, 2, 1, 1), TILE_ERROR_ASSERTION,
                 "test.tile:5:", "int32 offset overflows");
    expect_healthy("offsets that overflow");
}

/// Lanes that are masked off touch nothing, wherever they point.
static void test_masked_off(void) {
    static const char source[] =
        "def k(x: *fp32, y: *fp32, n: i32):\n"
        "    o = arange(0, 1024) - 480\n"
        "    m = (o >= 0) & (o < n)\n"
        "    v = load(x + o * 1000003 % 64, mask=o * 1000003 % 64 == o, other=-1.0)\n"
        "    v = load(x + o, mask=m, other=-1.0)\n"
        "    atomic_add(y + o, 1.0, mask=m)\n"
        "    store(y + o, v, mask=m)\n"
        "    store(y + 100000, 1.0, mask=n > 1000)\n"
        "    v = load(y - 1, mask=n < 0)\n";
    float in[COUNT], out[COUNT];
    for (int i = 0; i < COUNT; i++)
        in[i] = (float)i;
    must(tile_copy_to_device(x, 0, in, BYTES, NULL, &err));
    for (uint32_t warps = 1; warps <= 32; warps *= 2)
        for (int n = 0; n <= COUNT; n += n < 3 ? 1 : 61) {
            must(tile_fill(y, 0, 0, BYTES, NULL, &err));
            tile_status s = run(source, n, 1, warps);
            expect(s == TILE_OK, "masked-off lanes, n %d: %s", n, err.message);
            read_buffer(y, out, BYTES);
            for (int i = 0; i < COUNT; i++)
                expect(out[i] == (i < n ? in[i] : 0), "masked-off lanes: element %d is %g", i,
                       (double)out[i]);
        }
}

// --- promises

// clang-format off
static const bounds_case promises[] = {
    {"multiple_of", "    o = multiple_of(n, 8)\n    store(x + o + arange(0, 16), 1.0)\n", 12, 1, 1,
     {"test.tile:2:9: error: multiple_of does not hold"}},
    {"multiple_of a tile", "    o = multiple_of(n + arange(0, 16), 16)\n    store(x + o, 1.0)\n", 8, 1, 4,
     {"test.tile:2:9: error: multiple_of does not hold"}},
    {"max_contiguous", "    o = max_contiguous(arange(0, 16) * n, 16)\n    store(x + o, 1.0)\n", 2, 1, 1,
     {"test.tile:2:9: error: max_contiguous does not hold"}},
    {"max_constancy", "    o = max_constancy(arange(0, 16) // n, 8)\n    store(x + o, 1.0)\n", 4, 1, 1,
     {"test.tile:2:9: error: max_constancy does not hold"}},
    {"multiple_of a pointer", "    p = multiple_of(x + n, 16)\n    store(p + arange(0, 16), 1.0)\n", 2, 1, 1,
     {"test.tile:2:9: error: multiple_of does not hold"}},
    {"multiple_of by row", "    o = arange(0, 4)[:, None] * n + arange(0, 16)[None, :]\n    store(x + multiple_of(o, [1, 16]), 1.0)\n", 8, 1, 2,
     {"test.tile:3:15: error: multiple_of does not hold"}},
    {"max_contiguous by row", "    o = arange(0, 4)[:, None] * 16 + arange(0, 16)[None, :] * n\n    store(x + max_contiguous(o, [1, 16]), 1.0)\n", 0, 1, 4,
     {"test.tile:3:15: error: max_contiguous does not hold"}},
    {"assume of a tile", "    o = arange(0, 64)\n    assume(o < n)\n    store(x + o, 1.0)\n", 63, 1, 1,
     {"test.tile:3:5: error: assume does not hold", "lane "}},
    {"assume", "    assume(n < 10)\n    store(x + n, 1.0)\n", 10, 2, 4, {"test.tile:2:5: error: assume does not hold"}},
    {"device_assert", "    device_assert(n > 0, \"n must be positive\")\n    store(x, 1.0)\n", 0, 1, 4,
     {"test.tile:2:5: error: assertion failed: n must be positive", "program (0, 0, 0)"}},
    {"device_assert of a tile", "    o = arange(0, 64)\n    device_assert(o != n, \"hit\")\n    store(x + o, 1.0)\n", 37, 1, 2,
     {"test.tile:3:5: error: assertion failed: hit", "lane "}},
    {"assert", "    o = arange(0, 64)\n    assert n > 2 * 4, \"small\"\n    store(x + o, 1.0)\n", 8, 1, 2,
     {"test.tile:3:5: error: assertion failed: small"}},
};
// clang-format on

static void test_promises(void) {
    char source[1024];
    for (size_t i = 0; i < sizeof promises / sizeof *promises; i++) {
        const bounds_case *c = &promises[i];
        snprintf(source, sizeof source, "def k(x: *fp32, y: *fp32, n: i32):\n%s", c->body);
        expect_error(c->what, run(source, c->n, c->grid, c->warps), TILE_ERROR_ASSERTION, c->parts);
        expect_healthy(c->what);
    }
}

/// An annotation's hint is checked even if no address makes use of it.
static void test_annotations(void) {
    static const char integer[] =
        "def k(x: *fp32, y: *fp32,\n      n: \"i32:16\"):\n    store(x + n + arange(0, 16), 1.0)\n";
    expect(run(integer, 32, 1, 1) == TILE_OK, "i32:16 of 32: %s", err.message);
    EXPECT_ERROR("i32:16", run(integer, 24, 1, 1), TILE_ERROR_ASSERTION,
                 "test.tile:2:", "error: ", "divisible by 16");
    static const char unused[] =
        "def k(x: *fp32, y: *fp32, n: \"i32:16\"):\n    store(x, n.to(fp32))\n";
    EXPECT_ERROR("i32:16, not an offset", run(unused, 8, 1, 1), TILE_ERROR_ASSERTION,
                 "test.tile:1:", "divisible by 16");
    expect_healthy("i32:16");
    static const char pointer[] = "def k(p: \"*fp32:16\"):\n    store(p + arange(0, 16), 1.0)\n";
    tile_module *mod;
    tile_kernel *k = kernel_from(pointer, "k", &mod);
    for (int shift = 0; shift < 6; shift++) {
        tile_arg arg = TILE_POINTER((float *)tile_buffer_data(x) + shift, "fp32");
        tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = 1};
        tile_status s = tile_launch(k, &arg, 1, &o, &err);
        if (shift % 4 == 0)
            expect(s == TILE_OK, "*fp32:16 at %d: %s", shift, err.message);
        else
            EXPECT_ERROR("*fp32:16", s, TILE_ERROR_ASSERTION, "test.tile:1:", "divisible by 16");
    }
    tile_module_destroy(mod);
}

// --- loops without end

static void test_timeout(void) {
    static const char spin[] = "def k(x: *fp32, y: *fp32, n: i32):\n"
                               "    i = n\n"
                               "    while i > 0:\n"
                               "        i = i % 1000 + 1\n"
                               "    store(x, i.to(fp32))\n";
    EXPECT_ERROR("an endless loop", run(spin, 1, 4, 4), TILE_ERROR_TIMEOUT,
                 "test.tile:3:5: error: ", "1 second", "program (");
    expect_healthy("an endless loop");
    // No other program of the launch will ever set the flag.
    static const char wait[] = "def k(x: *fp32, y: *fp32, n: i32):\n"
                               "    while atomic_add(y, 0.0) != 77.0:\n"
                               "        pass\n";
    must(tile_fill(y, 0, 0, BYTES, NULL, &err));
    EXPECT_ERROR("a wait for nobody", run(wait, 1, 4, 4), TILE_ERROR_TIMEOUT,
                 "test.tile:2:5: error: ", "program (");
    expect_healthy("a wait for nobody");
}

// --- bool buffers, foreign memory

/// *i1 is a byte per element: any byte but 0 is true, and what is stored is 0 or 1.
static void test_bools(void) {
    static const char source[] = "def k(a: *i1, b: *i1, c: *i32):\n"
                                 "    o = arange(0, 64)\n"
                                 "    v = load(a + o)\n"
                                 "    store(b + o, v)\n"
                                 "    store(c + o, where(v, 10, 20))\n"
                                 "    s = load(a + 2)\n"
                                 "    store(b + 63, s)\n";
    uint8_t in[COUNT], out[COUNT];
    int32_t which[COUNT];
    for (int i = 0; i < COUNT; i++)
        in[i] = (uint8_t)(i % 5 == 0   ? 0
                          : i % 5 == 1 ? 1
                          : i % 5 == 2 ? 2
                          : i % 5 == 3 ? 128
                                       : 255);
    tile_buffer *a = buffer_from(in, COUNT), *b = buffer_from(NULL, COUNT),
                *c = buffer_from(NULL, BYTES);
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    for (uint32_t warps = 1; warps <= 4; warps *= 2) {
        must(tile_fill(b, 0, 0xA5, COUNT, NULL, &err));
        tile_arg args[] = {TILE_BUFFER(a, "i1"), TILE_BUFFER(b, "i1"), TILE_BUFFER(c, "i32")};
        tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps};
        must(tile_launch(k, args, 3, &o, &err));
        read_buffer(b, out, COUNT);
        read_buffer(c, which, BYTES);
        for (int i = 0; i < COUNT; i++) {
            bool truth = i == 63 || in[i] != 0;
            expect(out[i] == truth, "byte %d of *i1: %d was stored for %d", i, out[i], in[i]);
            expect(which[i] == (in[i] ? 10 : 20), "byte %d of *i1 chose %d", i, which[i]);
        }
    }
    tile_module_destroy(mod);
    tile_buffer_destroy(a), tile_buffer_destroy(b), tile_buffer_destroy(c);
}

/// Views of one array may overlap, in whatever order they are registered; each has its own bounds.
static void test_overlapping_views(void) {
    static const char source[] = "def k(p: *fp32, q: *fp32, n: i32):\n"
                                 "    o = arange(0, 32)\n"
                                 "    store(p + o, load(q + o, mask=o < n) * 2, mask=o < n)\n";
    float all[48];
    static const struct { int first, count; } views[] = {{3, 8}, {4, 8}, {4, 32}, {0, 48}};
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = 1};
    for (int p = 0; p < 4; p++)
        for (int q = 0; q < 4; q++) {
            for (int i = 0; i < 48; i++)
                all[i] = (float)i;
            int n = views[p].count < views[q].count ? views[p].count : views[q].count;
            n = n < 32 ? n : 32;
            tile_arg args[] = {TILE_POINTER(&all[views[p].first], "fp32"),
                               TILE_POINTER(&all[views[q].first], "fp32"), TILE_I32(n)};
            must(tile_memory_register(dev, &all[views[p].first], (size_t)views[p].count * 4, &err));
            must(tile_memory_register(dev, &all[views[q].first], (size_t)views[q].count * 4, &err));
            must(tile_launch(k, args, 3, &o, &err));
            for (int i = 0; i < n; i++)
                expect(all[views[p].first + i] == (float)(2 * (views[q].first + i)),
                       "view %d from %d: element %d is %g", p, q, i,
                       (double)all[views[p].first + i]);
            args[2] = TILE_I32(9);
            if (p == 0 && q == 1)
                EXPECT_ERROR("past a view that lies in no other", tile_launch(k, args, 3, &o, &err),
                             TILE_ERROR_OUT_OF_BOUNDS, "(32 bytes)", "element index 8");
            tile_memory_unregister(dev, &all[views[p].first]);
            tile_memory_unregister(dev, &all[views[q].first]);
        }
    tile_module_destroy(mod);
}

static void test_foreign_memory(void) {
    static const char source[] = "def k(p: *fp32, n: i32):\n"
                                 "    store(p + n + arange(0, 16), 3.0)\n";
    float *mine = xmalloc(64 * sizeof *mine);
    for (int i = 0; i < 64; i++)
        mine[i] = 0;
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = 1};
    tile_arg args[] = {TILE_POINTER(mine, "fp32"), TILE_I32(0)};
    EXPECT_ERROR("memory not registered", tile_launch(k, args, 2, &o, &err),
                 TILE_ERROR_OUT_OF_BOUNDS, "test.tile:2:5: error: store", "'p'", "no allocation");
    expect(mine[0] == 0, "a refused store has written");
    must(tile_memory_register(dev, mine, 32 * sizeof *mine, &err));
    args[1] = TILE_I32(16);
    must(tile_launch(k, args, 2, &o, &err));
    for (int i = 0; i < 64; i++)
        expect(mine[i] == (i >= 16 && i < 32 ? 3 : 0), "registered memory: element %d is %g", i,
               (double)mine[i]);
    args[1] = TILE_I32(17);
    EXPECT_ERROR("past registered memory", tile_launch(k, args, 2, &o, &err),
                 TILE_ERROR_OUT_OF_BOUNDS, "(128 bytes)", "element index 32");
    tile_memory_unregister(dev, mine);
    args[1] = TILE_I32(16);
    EXPECT_ERROR("memory no longer registered", tile_launch(k, args, 2, &o, &err),
                 TILE_ERROR_OUT_OF_BOUNDS, "no allocation");
    tile_memory_unregister(dev, mine); // twice is nothing
    args[0] = TILE_POINTER(NULL, "fp32");
    EXPECT_ERROR("a null pointer", tile_launch(k, args, 2, &o, &err), TILE_ERROR_OUT_OF_BOUNDS,
                 "'p'", "no allocation");
    tile_buffer *gone = buffer_from(NULL, BYTES);
    args[0] = TILE_BUFFER(gone, "fp32");
    args[1] = TILE_I32(0);
    must(tile_launch(k, args, 2, &o, &err));
    tile_buffer_destroy(gone);
    EXPECT_ERROR("a destroyed buffer", tile_launch(k, args, 2, &o, &err), TILE_ERROR_OUT_OF_BOUNDS,
                 "no allocation");
    tile_buffer *empty = buffer_from(NULL, 0);
    args[0] = TILE_BUFFER(empty, "fp32");
    EXPECT_ERROR("an empty buffer", tile_launch(k, args, 2, &o, &err), TILE_ERROR_OUT_OF_BOUNDS,
                 "(0 bytes)", "element index 0");
    tile_buffer_destroy(empty);
    tile_module_destroy(mod);
    free(mine);
}

/// In a cluster a mistake is caught as well, once, with the CTA that made it.
static void test_clusters(void) {
    static const char source[] = "def k(x: *fp32, n: i32):\n"
                                 "    o = arange(0, 256)\n"
                                 "    total = sum(o, axis=0)\n"
                                 "    store(x + o, total, mask=o < n)\n";
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    tile_launch_options o = {.size = sizeof o, .grid = {2}, .num_warps = 2, .num_ctas = 4};
    tile_arg args[] = {TILE_BUFFER(x, "fp32"), TILE_I32(COUNT)};
    must(tile_launch(k, args, 2, &o, &err));
    args[1] = TILE_I32(COUNT + 1); // the second CTA's first element
    EXPECT_ERROR("a store of one CTA", tile_launch(k, args, 2, &o, &err), TILE_ERROR_OUT_OF_BOUNDS,
                 "test.tile:4:5: error: store", "element index 64", ", CTA 1, warp 0, lane 0");
    args[1] = TILE_I32(COUNT);
    must(tile_launch(k, args, 2, &o, &err));
    tile_module_destroy(mod);
}

int main(void) {
    static const char *const orders[] = {"forward", "reverse", "random"};
    setenv("TILE_CPU_TIMEOUT", "1", 1); // the device reads these when it is opened
    for (size_t i = 0; i < 3; i++) {
        setenv("TILE_CPU_ORDER", orders[i], 1);
        open_test_device();
        if (dev_info.is_cuda) {
            printf("skipped: for the cpu device only\n");
            return 77;
        }
        x = buffer_from(NULL, BYTES), y = buffer_from(NULL, BYTES);
        test_bounds();
        test_between_buffers();
        test_overflow();
        test_masked_off();
        test_promises();
        test_annotations();
        test_timeout();
        test_bools();
        test_overlapping_views();
        test_foreign_memory();
        test_clusters();
        tile_buffer_destroy(x), tile_buffer_destroy(y);
        if (i < 2)
            tile_device_close(dev);
    }
    return finish();
}
