// The reductions by name, softmax, and what makes and spreads tiles: every type, every axis form
// (positive, negative, None, keep_dims, dtype=), values, indices, ties and NaN, against plain loops
// over the same numbers. One kernel per type holds all expressions and asserts type and shape of
// each result.
#include "awkward.h"

enum { ROWS = 8, COLS = 32, COUNT = ROWS * COLS };

enum { INTS = 1, FLOATS = 2, NUMBERS = 3 };
enum { BY_COLUMN, BY_ROW, BY_ALL };

/// Result types.
enum {
    SAME,
    SUMMED,    ///< 32 bits of smaller integers
    EXTREME,   ///< i32 of smaller integers, fp32 of 16-bit floats
    WIDE_BF16, ///< fp32 of bf16
    ALWAYS_I32,
    ALWAYS_I64,
    ALWAYS_FP32,
};

typedef struct number_list {
    number at[COUNT]; ///< what is reduced
    unsigned n;
    num_type type;
} number_list;

typedef struct reduction_case {
    const char *expression; ///< of v, awkward values; and of u, small ones whose sums are exact
    char source;            ///< 'v' or 'u'
    unsigned takes, along, result;
    const char *shape;
    number (*reference)(const number_list *list);
} reduction_case;

// --- references

static number ref_sum(const number_list *l) {
    number sum = 0;
    for (unsigned i = 0; i < l->n; i++)
        sum += l->at[i];
    return sum;
}

/// The place of the extremum: a number wins over NaN, the first of equals over the rest.
static unsigned find_extremum(const number_list *l, bool is_max) {
    unsigned best = 0;
    for (unsigned i = 1; i < l->n; i++) {
        number a = l->at[best], b = l->at[i];
        if (!isnan(b) && (isnan(a) || (is_max ? b > a : b < a)))
            best = i;
    }
    return best;
}
static number ref_argmax(const number_list *l) { return find_extremum(l, true); }
static number ref_argmin(const number_list *l) { return find_extremum(l, false); }
static number ref_value_at_max(const number_list *l) { return l->at[find_extremum(l, true)]; }

/// Of zeros with both signs, max gives +0 and min -0.
static number extremum(const number_list *l, bool is_max) {
    number best = l->at[find_extremum(l, is_max)];
    for (unsigned i = 0; i < l->n && best == 0; i++)
        if (l->at[i] == 0 && (signbit(l->at[i]) == 0) == is_max)
            best = l->at[i];
    return best;
}
static number ref_max(const number_list *l) { return extremum(l, true); }
static number ref_min(const number_list *l) { return extremum(l, false); }

static uint64_t integer_bits(num_type t, number v) {
    uint64_t bits = v < 0 ? (uint64_t)(int64_t)v : (uint64_t)v;
    return nums[t].bits == 64 ? bits : bits & ((1ull << nums[t].bits) - 1);
}
static number from_bits(num_type t, uint64_t bits) {
    uint8_t data[8];
    memcpy(data, &bits, 8);
    return number_get(t, data, 0);
}
static number ref_xor(const number_list *l) {
    uint64_t bits = 0;
    for (unsigned i = 0; i < l->n; i++)
        bits ^= integer_bits(l->type, l->at[i]);
    return from_bits(l->type, bits);
}
static number ref_or(const number_list *l) {
    uint64_t bits = 0;
    for (unsigned i = 0; i < l->n; i++)
        bits |= integer_bits(l->type, l->at[i]);
    return from_bits(l->type, bits);
}

// --- the cases

static const reduction_case cases[] = {
    {"tl.sum(u, 0)", 'u', NUMBERS, BY_COLUMN, SUMMED, "(32,)", ref_sum},
    {"u.sum(axis=-2)", 'u', NUMBERS, BY_COLUMN, SUMMED, "(32,)", ref_sum},
    {"tl.sum(u, axis=1, keep_dims=True)", 'u', NUMBERS, BY_ROW, SUMMED, "(8, 1)", ref_sum},
    {"u.sum()", 'u', NUMBERS, BY_ALL, SUMMED, "()", ref_sum},
    {"tl.sum(u, axis=None, keep_dims=True)", 'u', NUMBERS, BY_ALL, SUMMED, "(1, 1)", ref_sum},
    {"tl.sum(u, 1, dtype=tl.int64)", 'u', INTS, BY_ROW, ALWAYS_I64, "(8,)", ref_sum},
    {"sum(u, -1, False, tl.float32)", 'u', NUMBERS, BY_ROW, ALWAYS_FP32, "(8,)", ref_sum},
    {"tl.max(v, 0)", 'v', NUMBERS, BY_COLUMN, EXTREME, "(32,)", ref_max},
    {"v.max(axis=-1, keep_dims=True)", 'v', NUMBERS, BY_ROW, EXTREME, "(8, 1)", ref_max},
    {"tl.max(v)", 'v', NUMBERS, BY_ALL, EXTREME, "()", ref_max},
    {"max(v, axis=1)", 'v', NUMBERS, BY_ROW, EXTREME, "(8,)", ref_max},
    {"tl.min(v, axis=1)", 'v', NUMBERS, BY_ROW, EXTREME, "(8,)", ref_min},
    {"v.min(keep_dims=True)", 'v', NUMBERS, BY_ALL, EXTREME, "(1, 1)", ref_min},
    {"min(v, axis=0, keep_dims=True)", 'v', NUMBERS, BY_COLUMN, EXTREME, "(1, 32)", ref_min},
    {"tl.argmax(v, 0)", 'v', NUMBERS, BY_COLUMN, ALWAYS_I32, "(32,)", ref_argmax},
    {"v.argmax(axis=-1, tie_break_left=True, keep_dims=True)", 'v', NUMBERS, BY_ROW, ALWAYS_I32,
     "(8, 1)", ref_argmax},
    {"tl.argmin(v, 1, keep_dims=False)", 'v', NUMBERS, BY_ROW, ALWAYS_I32, "(8,)", ref_argmin},
    {"tl.argmin(v.reshape(256), 0)", 'v', NUMBERS, BY_ALL, ALWAYS_I32, "()", ref_argmin},
    {"tl.max(v, 1, return_indices=True)[0]", 'v', NUMBERS, BY_ROW, WIDE_BF16, "(8,)",
     ref_value_at_max},
    {"v.max(0, True, True, True)[1]", 'v', NUMBERS, BY_COLUMN, ALWAYS_I32, "(1, 32)", ref_argmax},
    {"tl.min(v, 1, return_indices=True, return_indices_tie_break_left=True)[1]", 'v', NUMBERS,
     BY_ROW, ALWAYS_I32, "(8,)", ref_argmin},
    {"tl.xor_sum(v, 0)", 'v', INTS, BY_COLUMN, SAME, "(32,)", ref_xor},
    {"v.xor_sum(axis=-1, keep_dims=True)", 'v', INTS, BY_ROW, SAME, "(8, 1)", ref_xor},
    {"tl.xor_sum(v)", 'v', INTS, BY_ALL, SAME, "()", ref_xor},
    {"tl.reduce_or(v, axis=1)", 'v', INTS, BY_ROW, SAME, "(8,)", ref_or},
    {"v.reduce_or(0)", 'v', INTS, BY_COLUMN, SAME, "(32,)", ref_or},
    {"tl.reduce(v, 1, larger)", 'v', NUMBERS, BY_ROW, SAME, "(8,)", ref_value_at_max},
    {"tl.reduce(u, axis=None, combine_fn=plus, keep_dims=True)", 'u', FLOATS, BY_ALL, SAME,
     "(1, 1)", ref_sum},
};
enum { NUM_CASES = sizeof cases / sizeof *cases };

static num_type result_type(const reduction_case *c, num_type t) {
    bool small = nums[t].bits < 32;
    switch (c->result) {
    case SUMMED:
        return nums[t].is_float || !small ? t : nums[t].is_signed ? I32 : U32;
    case EXTREME:
        return !small ? t : nums[t].is_float ? F32 : I32;
    case WIDE_BF16:
        return t == B16 ? F32 : t;
    case ALWAYS_I32:
        return I32;
    case ALWAYS_I64:
        return I64;
    case ALWAYS_FP32:
        return F32;
    default:
        return t;
    }
}

static bool takes(const reduction_case *c, num_type t) {
    return c->takes & (nums[t].is_float ? FLOATS : INTS);
}

/// Case i writes from byte i * COUNT * 8 on.
static char *make_source(num_type t) {
    size_t size = 4096 + NUM_CASES * 600, len;
    char *source = xmalloc(size);
    len = (size_t)snprintf(source, size,
                           "def larger(a, b):\n"
                           "    return tl.where((b > a) | ((a != a) & (b == b)), b, a)\n"
                           "def plus(a, b):\n"
                           "    return a + b\n"
                           "def place(shape: constexpr):\n"
                           "    n: constexpr = tl.zeros(shape, i1).numel\n"
                           "    return tl.arange(0, n).reshape(shape)\n"
                           "def k(a: *%s, b: *%s, out: *i64):\n"
                           "    p = tl.arange(0, 8)[:, None] * 32 + tl.arange(0, 32)[None, :]\n"
                           "    v = tl.load(a + p)\n"
                           "    u = tl.load(b + p)\n",
                           nums[t].name, nums[t].name);
    for (size_t i = 0; i < NUM_CASES; i++)
        if (takes(&cases[i], t)) {
            const char *type = nums[result_type(&cases[i], t)].name;
            len += (size_t)snprintf(
                source + len, size - len,
                "    r = %s\n"
                "    tl.static_assert(r.dtype == tl.%s, r.dtype)\n"
                "    tl.static_assert(r.shape == %s, r.shape)\n"
                "    tl.store((out + %zu).to(tl.pointer_type(%s)) + place(%s), r)\n",
                cases[i].expression, type, cases[i].shape, i * COUNT, type, cases[i].shape);
        }
    return source;
}

static void check_case(const reduction_case *c, num_type t, const number *source,
                       const void *results, uint32_t warps) {
    num_type r = result_type(c, t);
    unsigned lists = c->along == BY_COLUMN ? COLS : c->along == BY_ROW ? ROWS : 1;
    for (unsigned i = 0; i < lists; i++) {
        number_list l = {.type = t, .n = COUNT / lists};
        for (unsigned k = 0; k < l.n; k++)
            l.at[k] = source[c->along == BY_COLUMN ? k * COLS + i : i * COLS + k];
        number got = number_get(r, results, i), want = number_round(r, c->reference(&l));
        expect(number_near(r, got, want, 0, 0),
               "%s of %s at %u warps, result %u: %Lg, expected %Lg", c->expression, nums[t].name,
               warps, i, got, want);
    }
}

static void run_cases(num_type t, uint32_t warps) {
    number values[2][COUNT];
    uint64_t data[2][COUNT];
    for (unsigned i = 0; i < COUNT; i++) {
        // Rows of NaN only, of zeros of both signs, of ties; the rest awkward.
        number awkward = number_awkward(t, random_u32() % 30);
        values[0][i] = i / COLS == 1   ? number_round(t, nums[t].is_float ? (number)NAN : 5)
                       : i / COLS == 2 ? number_round(t, i % 3              ? 0.0L
                                                         : nums[t].is_float ? -0.0L
                                                                            : 0)
                       : i / COLS == 3 ? number_round(t, i % 5 ? 4 : 3)
                                       : awkward;
        values[1][i] =
            nums[t].is_float
                ? (number)(random_u32() % 33) / 8 - 2
                : number_round(t, (number)(random_u32() % 2001) - (nums[t].is_signed ? 1000 : 0));
        number_set(t, data[0], i, values[0][i]);
        number_set(t, data[1], i, values[1][i]);
    }
    size_t bytes = NUM_CASES * COUNT * 8;
    char *results = xmalloc(bytes), *source = make_source(t);
    tile_buffer *a = buffer_from(data[0], sizeof data[0]),
                *b = buffer_from(data[1], sizeof data[1]), *out = buffer_from(NULL, bytes);
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    tile_arg args[] = {TILE_BUFFER(a, nums[t].name), TILE_BUFFER(b, nums[t].name),
                       TILE_BUFFER(out, "i64")};
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps};
    must(tile_launch(k, args, 3, &o, &err));
    read_buffer(out, results, bytes);
    for (size_t i = 0; i < NUM_CASES; i++)
        if (takes(&cases[i], t))
            check_case(&cases[i], t, values[cases[i].source == 'u'], results + i * COUNT * 8,
                       warps);
    tile_buffer_destroy(a), tile_buffer_destroy(b), tile_buffer_destroy(out);
    tile_module_destroy(mod);
    free(results), free(source);
}

// --- softmax

static void check_softmax(const char *expression, num_type t, bool by_row) {
    char source[512];
    bool wide = nums[t].bits == 64;
    snprintf(source, sizeof source,
             "def k(a: *%s, out: *%s):\n"
             "    p = tl.arange(0, 8)[:, None] * 32 + tl.arange(0, 32)[None, :]\n"
             "    x = tl.load(a + p)\n"
             "    r = %s\n"
             "    tl.static_assert(r.dtype == tl.%s and r.shape == (8, 32))\n"
             "    tl.store(out + p, r)\n",
             nums[t].name, wide ? "fp64" : "fp32", expression, wide ? "fp64" : "fp32");
    uint64_t data[COUNT], results[COUNT];
    num_type r = (wide ? F64 : F32);
    number x[COUNT];
    for (unsigned i = 0; i < COUNT; i++) {
        x[i] = number_round(t, ((number)(random_u32() % 4001) - 2000) / 200);
        number_set(t, data, i, x[i]);
    }
    tile_buffer *a = buffer_from(data, sizeof data), *out = buffer_from(NULL, sizeof results);
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    tile_arg args[] = {TILE_BUFFER(a, nums[t].name), TILE_BUFFER(out, nums[r].name)};
    tile_launch_options o = {.size = sizeof o, .grid = {1}};
    must(tile_launch(k, args, 2, &o, &err));
    read_buffer(out, results, sizeof results);
    for (unsigned i = 0; i < COUNT; i++) {
        number top = -(number)INFINITY, sum = 0;
        unsigned first = by_row ? i / COLS * COLS : i % COLS, step = by_row ? 1 : COLS;
        unsigned n = by_row ? COLS : ROWS;
        for (unsigned j = 0; j < n; j++)
            top = fmaxl(top, x[first + j * step]);
        for (unsigned j = 0; j < n; j++)
            sum += expl(x[first + j * step] - top);
        number want = expl(x[i] - top) / sum, got = number_get(r, results, i);
        expect(number_near(r, got, want, 4 + 2 * (top - x[i]), 0),
               "%s of %s, %u: %Lg, expected %Lg", expression, nums[t].name, i, got, want);
    }
    tile_buffer_destroy(a), tile_buffer_destroy(out);
    tile_module_destroy(mod);
}

// --- tiles from nothing, and of other shapes

static void check_creation(num_type t) {
    static const char *const lines[] = {
        "tl.full((32,), 3, tl.T)",
        "tl.full([32], value=3.75 if tl.T.is_floating() else 3, dtype=tl.T)",
        "tl.zeros((32,), tl.T) + 2",
        "tl.zeros_like(x.to(tl.T)) + 1",
        "tl.full((), 3, tl.T)",
        "tl.full((32,), n, tl.T)",
        "tl.broadcast_to(tl.full((1,), 3, tl.T), 32)",
        "tl.broadcast(tl.full((), 3, tl.T), x)[0]",
        "x.to(tl.T).reshape(4, 8).trans().T.ravel()",
        "x.to(tl.T).expand_dims((0, 2)).squeeze(0).squeeze(-1)",
        "x.to(tl.T)[None, :].squeeze(0).unsqueeze(1).view(32)",
        "tl.permute(x.to(tl.T).reshape(2, 4, 4), 2, 0, 1).permute((1, 2, 0)).reshape([32])",
        "tl.full((1, 1), 3, tl.T).item()",
    };
    static const int plain[] = {3, -1, 2, 1, 3, 5, 3, 3, -2, -2, -2, -2, 3}; // -1: 3.75, -2: x
    enum { LINES = sizeof lines / sizeof *lines };
    char source[8192];
    int len = snprintf(source, sizeof source,
                       "def k(out: *%s, n: i32):\n    x = tl.arange(1, 33)\n", nums[t].name);
    for (int i = 0; i < LINES; i++) {
        char line[256] = "";
        for (const char *at = lines[i]; *at; at++) {
            if (strncmp(at, "tl.T", 4) == 0 && (at[4] < 'a' || at[4] > 'z'))
                strcat(line, "tl."), strcat(line, nums[t].name), at += 3;
            else
                strncat(line, at, 1);
        }
        len += snprintf(source + len, sizeof source - (size_t)len,
                        "    tl.store(out + %d + tl.arange(0, 32), %s)\n", i * 32, line);
    }
    uint64_t results[LINES * 32];
    tile_buffer *out = buffer_from(NULL, sizeof results);
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    tile_arg args[] = {TILE_BUFFER(out, nums[t].name), TILE_I32(5)};
    tile_launch_options o = {.size = sizeof o, .grid = {1}};
    must(tile_launch(k, args, 2, &o, &err));
    read_buffer(out, results, sizeof results);
    for (int i = 0; i < LINES * 32; i++) {
        int p = plain[i / 32];
        number want = p == -1 ? (nums[t].is_float ? 3.75L : 3) : p == -2 ? i % 32 + 1 : p;
        number got = number_get(t, results, (size_t)i);
        expect(got == want, "%s of %s, %d: %Lg, expected %Lg", lines[i / 32], nums[t].name, i % 32,
               got, want);
    }
    tile_buffer_destroy(out);
    tile_module_destroy(mod);
}

int main(void) {
    open_test_device();
    for (int t = I8; t < NUM_TYPES; t++) {
        num_type type = (num_type)t;
        if (is_fp8(type))
            continue;                 // test_fp8
        run_cases(type, 1u << t % 4); // warps
        check_creation(type);
        if (!nums[type].is_float)
            continue;
        check_softmax("tl.softmax(x)", type, false);
        check_softmax("x.softmax(dim=1, keep_dims=True)", type, true);
        check_softmax("tl.softmax(x, -1, ieee_rounding=True)", type, true);
    }
    return finish();
}
