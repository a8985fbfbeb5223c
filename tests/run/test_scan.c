// Scans against a loop: cumsum and cumprod of every dtype, associative_scan with the caller's own
// function of one and of two tiles, both directions, along each axis of 1-D to 3-D tiles, from one
// element to thousands, for 1 to 32 warps. Floats are multiples of a quarter and powers of two, whose
// sums and products are exact in any order, with infinities, NaN and -0 among them; sums of arbitrary
// floats are held to a bound, and to the same bits in a second launch.
#include "numbers.h"
#include "run.h"

static const char source[] =
    "def affine(a, b, c, d):\n" // a * x + b, then c * x + d
    "    return a * c, b * c + d\n"
    "def first(a, b):\n"
    "    return a\n"
    "def place(RANK: constexpr, A: constexpr, B: constexpr, C: constexpr):\n"
    "    if RANK == 1:\n"
    "        return arange(0, C)\n"
    "    if RANK == 2:\n"
    "        return arange(0, B)[:, None] * C + arange(0, C)[None, :]\n"
    "    rows = arange(0, A)[:, None] * B + arange(0, B)[None, :]\n"
    "    return rows[:, :, None] * C + arange(0, C)[None, None, :]\n"
    "def both(x: *T, sums: *S, products: *P, RANK: constexpr, A: constexpr, B: constexpr, "
    "C: constexpr, AXIS: constexpr, REVERSE: constexpr):\n"
    "    o = place(RANK, A, B, C)\n"
    "    v = load(x + o)\n"
    "    store(sums + o, cumsum(v, AXIS, reverse=REVERSE))\n"
    "    store(products + o, v.cumprod(AXIS, REVERSE))\n"
    "def own(x: *i32, f: *i32, g: *i32, h: *i32, RANK: constexpr, A: constexpr, B: constexpr, "
    "C: constexpr, AXIS: constexpr, REVERSE: constexpr):\n"
    "    o = place(RANK, A, B, C)\n"
    "    v = load(x + o)\n"
    "    s, t = associative_scan((v, v ^ 5), AXIS, affine, REVERSE)\n"
    "    store(f + o, s)\n"
    "    store(g + o, t)\n"
    "    w = associative_scan(v, AXIS, tl.maximum, reverse=REVERSE)\n"
    "    store(h + o, w - associative_scan(v, AXIS, first, reverse=REVERSE))\n"
    "def later(a, i, b, j):\n" // the larger value, and its last place
    "    takes = b >= a\n"
    "    return tl.where(takes, b, a), tl.where(takes, j, i)\n"
    "def best(x: *fp16, v: *fp16, at: *i64):\n"
    "    o = arange(0, 512)\n"
    "    m, i = associative_scan((load(x + o), o.to(int64)), 0, later)\n"
    "    store(v + o, m)\n"
    "    store(at + o, i)\n"
    "def floats(x: *fp32, y: *fp32, N: constexpr):\n"
    "    store(y + arange(0, N), cumsum(load(x + arange(0, N))))\n"
    "def narrow(x: *i32, y: *i8, z: *fp16):\n"
    "    v = load(x + arange(0, 64))\n"
    "    store(y + arange(0, 64), cumsum(v, dtype=int8))\n"
    "    store(z + arange(0, 64), cumsum(v, 0, dtype=tl.float16))\n";

typedef struct shape {
    uint32_t rank, extent[3]; // the last `rank` ones count
} shape;

static const shape shapes[] = {
    {1, {1, 1, 1}},  {1, {1, 1, 2}},   {1, {1, 1, 16}},  {1, {1, 1, 256}}, {1, {1, 1, 2048}},
    {2, {1, 4, 64}}, {2, {1, 128, 4}}, {2, {1, 32, 32}}, {3, {2, 8, 16}},  {3, {8, 1, 64}},
};
enum { SHAPES = sizeof shapes / sizeof *shapes, MOST = 2048 };

static uint32_t count_of(const shape *s) { return s->extent[0] * s->extent[1] * s->extent[2]; }

/// Fills `before` with the index that comes before each one along the axis, or UINT32_MAX; returns
/// the indices in an order in which what comes before is met first.
static void find_before(const shape *s, uint32_t axis, bool reverse, uint32_t *order,
                        uint32_t *before) {
    uint32_t n = count_of(s), stride = 1, dim = 3 - s->rank + axis;
    for (uint32_t d = dim + 1; d < 3; d++)
        stride *= s->extent[d];
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = reverse ? n - 1 - i : i, place = at / stride % s->extent[dim];
        order[i] = at;
        before[at] = place == (reverse ? s->extent[dim] - 1 : 0) ? UINT32_MAX
                     : reverse                                   ? at + stride
                                                                 : at - stride;
    }
}

// ---------------------------------------------------------------------------- by name

static num_type sum_type(num_type t) {
    if (t == B16)
        return F32;
    if (nums[t].is_float || nums[t].bits >= 32)
        return t;
    return nums[t].is_signed ? I32 : U32;
}

static num_type product_type(num_type t) { return t == B16 ? F32 : t; }

static uint64_t awkward(num_type t, uint32_t i) {
    static const long double small[] = {.25L, -.5L, 1, -.25L, .75L, -1, 0, .5L};
    static const long double powers[] = {2, .5L, -1, 1, -.5L, -2, 1, -1};
    uint32_t r = random_u32();
    if (!nums[t].is_float)
        return ((uint64_t)r << 32 ^ random_u32()) & num_mask(t);
    if (r % 97 == 0 && i % 64 > 20)
        return num_round(t, r % 2 ? INFINITY : (long double)NAN, true);
    if (i % 64 < 3)
        return num_round(t, -0.0L, false);
    return num_round(t, (i / 64) % 2 ? small[r % 8] : powers[i % 2 + (i / 2 % 2 ? 0 : 3)], false);
}

/// One step of a scan on bits: integers wrap, floats in long double.
static void step(num_type t, bool product, uint64_t bits, bool is_first, uint64_t *whole,
                 long double *real) {
    uint64_t v = (uint64_t)num_extend(t, bits);
    long double x = nums[t].is_float ? num_value(t, bits) : 0;
    *whole = is_first ? v : product ? *whole * v : *whole + v;
    *real = is_first ? x : product ? *real * x : *real + x;
}

static void check_by_name(num_type t, const shape *s, uint32_t axis, bool reverse, bool product,
                          const uint8_t *x, const uint8_t *got) {
    static uint64_t whole[MOST];
    static long double real[MOST];
    static uint32_t order[MOST], before[MOST];
    num_type to = product ? product_type(t) : sum_type(t);
    find_before(s, axis, reverse, order, before);
    for (uint32_t i = 0; i < count_of(s); i++) {
        uint32_t at = order[i], from = before[at];
        bool is_first = from == UINT32_MAX;
        if (!is_first) {
            whole[at] = whole[from];
            real[at] = real[from];
        }
        step(t, product, num_load(t, x, at), is_first, &whole[at], &real[at]);
        uint64_t want =
            nums[t].is_float ? num_round(to, real[at], false) : whole[at] & num_mask(to);
        uint64_t is = num_load(to, got, at);
        if (!expect(num_same(to, is, want),
                    "%s of %s, %ux%ux%u along %u%s: element %u is %#llx, not %#llx",
                    product ? "cumprod" : "cumsum", nums[t].name, s->extent[0], s->extent[1],
                    s->extent[2], axis, reverse ? ", reversed" : "", at, (unsigned long long)is,
                    (unsigned long long)want))
            return;
    }
}

static void test_by_name(tile_kernel *k, num_type t, const shape *s, uint32_t axis, bool reverse,
                         uint32_t warps) {
    static uint8_t x[8 * MOST], sums[8 * MOST], products[8 * MOST];
    uint32_t n = count_of(s);
    for (uint32_t i = 0; i < n; i++)
        num_store(t, x, i, awkward(t, i));
    tile_buffer *b[] = {buffer_from(x, n * nums[t].bytes), buffer_from(NULL, 8 * n),
                        buffer_from(NULL, 8 * n)};
    tile_arg args[] = {TILE_BUFFER(b[0], nums[t].name),
                       TILE_BUFFER(b[1], nums[sum_type(t)].name),
                       TILE_BUFFER(b[2], nums[product_type(t)].name),
                       TILE_CONSTEXPR_INT("RANK", s->rank),
                       TILE_CONSTEXPR_INT("A", s->extent[0]),
                       TILE_CONSTEXPR_INT("B", s->extent[1]),
                       TILE_CONSTEXPR_INT("C", s->extent[2]),
                       TILE_CONSTEXPR_INT("AXIS", axis),
                       TILE_CONSTEXPR_INT("REVERSE", reverse)};
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps};
    must(tile_launch(k, args, 9, &o, &err));
    read_buffer(b[1], sums, n * nums[sum_type(t)].bytes);
    read_buffer(b[2], products, n * nums[product_type(t)].bytes);
    check_by_name(t, s, axis, reverse, false, x, sums);
    check_by_name(t, s, axis, reverse, true, x, products);
    for (int i = 0; i < 3; i++)
        tile_buffer_destroy(b[i]);
}

// ---------------------------------------------------------------------------- by function

static void test_own(tile_kernel *k, const shape *s, uint32_t axis, bool reverse, uint32_t warps,
                     uint32_t ctas) {
    static uint32_t x[MOST], got[3][MOST], f[MOST], g[MOST], first[MOST], order[MOST], before[MOST];
    static int32_t largest[MOST];
    uint32_t n = count_of(s);
    for (uint32_t i = 0; i < n; i++)
        x[i] = random_u32();
    tile_buffer *b[4] = {buffer_from(x, 4 * n)};
    for (int i = 1; i < 4; i++)
        b[i] = buffer_from(NULL, 4 * n);
    tile_arg args[] = {TILE_BUFFER(b[0], "i32"),
                       TILE_BUFFER(b[1], "i32"),
                       TILE_BUFFER(b[2], "i32"),
                       TILE_BUFFER(b[3], "i32"),
                       TILE_CONSTEXPR_INT("RANK", s->rank),
                       TILE_CONSTEXPR_INT("A", s->extent[0]),
                       TILE_CONSTEXPR_INT("B", s->extent[1]),
                       TILE_CONSTEXPR_INT("C", s->extent[2]),
                       TILE_CONSTEXPR_INT("AXIS", axis),
                       TILE_CONSTEXPR_INT("REVERSE", reverse)};
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps, .num_ctas = ctas};
    must(tile_launch(k, args, 10, &o, &err));
    for (int i = 0; i < 3; i++)
        read_buffer(b[i + 1], got[i], 4 * n);
    find_before(s, axis, reverse, order, before);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = order[i], from = before[at];
        bool is_first = from == UINT32_MAX;
        f[at] = is_first ? x[at] : f[from] * x[at];
        g[at] = is_first ? x[at] ^ 5 : g[from] * x[at] + (x[at] ^ 5);
        first[at] = is_first ? x[at] : first[from];
        int32_t v = (int32_t)x[at];
        largest[at] = is_first || v > largest[from] ? v : largest[from];
        bool ok = got[0][at] == f[at] && got[1][at] == g[at] &&
                  got[2][at] == (uint32_t)largest[at] - first[at];
        if (!expect(ok, "own function, %ux%ux%u along %u%s, %u warps, %u CTAs: element %u",
                    s->extent[0], s->extent[1], s->extent[2], axis, reverse ? ", reversed" : "",
                    warps, ctas, at))
            break;
    }
    for (int i = 0; i < 4; i++)
        tile_buffer_destroy(b[i]);
}

static void test_floats(tile_kernel *k, uint32_t n, uint32_t warps) {
    static float x[MOST], y[2][MOST];
    double sum = 0, size = 0;
    for (uint32_t i = 0; i < n; i++)
        x[i] = (float)((int32_t)random_u32() * 0x1p-31);
    for (int again = 0; again < 2; again++) {
        tile_buffer *a = buffer_from(x, 4 * n), *b = buffer_from(NULL, 4 * n);
        tile_arg args[] = {TILE_BUFFER(a, "fp32"), TILE_BUFFER(b, "fp32"),
                           TILE_CONSTEXPR_INT("N", n)};
        tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps};
        must(tile_launch(k, args, 3, &o, &err));
        read_buffer(b, y[again], 4 * n);
        tile_buffer_destroy(a);
        tile_buffer_destroy(b);
    }
    expect(!memcmp(y[0], y[1], 4 * n), "a second cumsum of %u floats has other bits", n);
    for (uint32_t i = 0; i < n; i++) {
        sum += x[i];
        size += fabs((double)x[i]);
        if (!expect(fabs(y[0][i] - sum) <= 32 * 0x1p-24 * size, "cumsum of %u floats: element %u",
                    n, i))
            return;
    }
}

/// Tiles of two types together.
static void test_best(tile_kernel *k, uint32_t warps) {
    uint16_t x[512], v[512];
    int64_t at[512], best = 0;
    for (int i = 0; i < 512; i++)
        x[i] = (uint16_t)num_round(F16, (int)(random_u32() % 64) - 32, false);
    tile_buffer *b[] = {buffer_from(x, sizeof x), buffer_from(NULL, sizeof v),
                        buffer_from(NULL, sizeof at)};
    tile_arg args[] = {TILE_BUFFER(b[0], "fp16"), TILE_BUFFER(b[1], "fp16"),
                       TILE_BUFFER(b[2], "i64")};
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps};
    must(tile_launch(k, args, 3, &o, &err));
    read_buffer(b[1], v, sizeof v);
    read_buffer(b[2], at, sizeof at);
    for (int i = 0; i < 512; i++) {
        best = num_value(F16, x[i]) >= num_value(F16, x[best]) ? i : best;
        if (!expect(at[i] == best && v[i] == x[best], "largest up to %d, %u warps", i, warps))
            break;
    }
    for (int i = 0; i < 3; i++)
        tile_buffer_destroy(b[i]);
}

static void test_narrow(tile_kernel *k) {
    int32_t x[64], sum = 0;
    int8_t y[64];
    uint16_t z[64];
    for (int i = 0; i < 64; i++)
        x[i] = (int32_t)(random_u32() % 40);
    tile_buffer *b[] = {buffer_from(x, sizeof x), buffer_from(NULL, sizeof y),
                        buffer_from(NULL, sizeof z)};
    tile_arg args[] = {TILE_BUFFER(b[0], "i32"), TILE_BUFFER(b[1], "i8"),
                       TILE_BUFFER(b[2], "fp16")};
    tile_launch_options o = {.size = sizeof o, .grid = {1}};
    must(tile_launch(k, args, 3, &o, &err));
    read_buffer(b[1], y, sizeof y);
    read_buffer(b[2], z, sizeof z);
    for (int i = 0; i < 64; i++) {
        sum += x[i];
        expect(y[i] == (int8_t)sum, "cumsum in int8: element %d", i);
        expect(z[i] == num_round(F16, sum, false), "cumsum in fp16: element %d", i);
    }
    for (int i = 0; i < 3; i++)
        tile_buffer_destroy(b[i]);
}

/// The source with the element types filled in.
static char *source_for(num_type t) {
    static char text[2 * sizeof source];
    size_t n = 0;
    for (const char *p = source; *p; p++) {
        text[n++] = *p;
        if (*p != '*' || !p[1] || !strchr("TSP", p[1]))
            continue;
        p++;
        num_type is = *p == 'T' ? t : *p == 'S' ? sum_type(t) : product_type(t);
        n += (size_t)sprintf(text + n, "%s", nums[is].name);
    }
    text[n] = 0;
    return text;
}

int main(void) {
    open_test_device();
    tile_module *mod;
    for (num_type t = 0; t < NUM_TYPES; t++) {
        tile_kernel *k = kernel_from(source_for(t), "both", &mod);
        for (uint32_t i = t % 3; i < SHAPES; i += t == F32 ? 1 : 3)
            test_by_name(k, t, &shapes[i], (t + i / 2) % shapes[i].rank, (t + i) % 2,
                         1u << (t + i) % 6);
        tile_module_destroy(mod);
    }
    tile_kernel *own = kernel_from(source_for(I32), "own", &mod), *k;
    for (uint32_t i = 0; i < SHAPES; i++)
        for (uint32_t axis = 0; axis < shapes[i].rank; axis++)
            test_own(own, &shapes[i], axis, (i + axis) % 2, 1u << i % 6, 0);
    if (has_clusters() && !getenv("TILE_TEST_CTAS"))
        for (uint32_t i = 3; i < SHAPES; i++)
            test_own(own, &shapes[i], i % shapes[i].rank, i / 2 % 2, 1u << i % 3, 2u << i % 4);
    must(tile_module_get_kernel(mod, "floats", &k, &err));
    test_floats(k, 2048, 4);
    test_floats(k, 128, 1);
    must(tile_module_get_kernel(mod, "best", &k, &err));
    test_best(k, 1);
    test_best(k, 8);
    must(tile_module_get_kernel(mod, "narrow", &k, &err));
    test_narrow(k);
    tile_module_destroy(mod);
    return finish();
}
