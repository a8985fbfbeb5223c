// Every built-in that computes element by element, of every type that it takes, on awkward values
// against plain C. One kernel per type holds all the expressions that the type has; the kernel also
// asserts the type of each result. What is exact is compared bit for bit (NaN with any NaN).
#include "awkward.h"

enum { COUNT = 256, SIDE = 16 };

/// x: awkward values and random ones; y, z: all pairs of 16 awkward values; w: a third to them.
typedef struct inputs {
    number x, y, z, w;
} inputs;

enum {
    INTS = 1,    ///< all integers but i1
    WORDS = 2,   ///< integers of 32 and 64 bits
    HALVES = 4,  ///< fp16, bf16
    SINGLES = 8, ///< fp32, fp64
    FLOATS = HALVES | SINGLES,
    NUMBERS = INTS | FLOATS,
};

enum {
    SAME,      ///< the operand's type
    WIDE_BF16, ///< fp32 of bf16
    WIDE_HALF, ///< fp32 of 16-bit floats
    BOOL,
};

typedef struct builtin_case {
    const char *expression;
    unsigned takes, result;
    number (*reference)(inputs v, num_type t);
    number ulps;    ///< allowed beyond rounding; of 16-bit floats, at most one
    number per_x;   ///< and this much more for each unit of |x|
    bool is_approx; ///< results near the least normal number may be off, too
} builtin_case;

// --- references

#define OF_X(name, formula)                                                                        \
    static number name(inputs v, num_type t) {                                                     \
        (void)t;                                                                                   \
        number x = v.x;                                                                            \
        return formula;                                                                            \
    }
#define OF_YZW(name, formula)                                                                      \
    static number name(inputs v, num_type t) {                                                     \
        (void)t;                                                                                   \
        number y = v.y, z = v.z, w = v.w;                                                          \
        (void)z;                                                                                   \
        (void)w;                                                                                   \
        return formula;                                                                            \
    }

/// a op b rounded once: in double for fp64; a long double is wide enough for the others.
#define ONCE(a, op, b) (t == F64 ? (number)((double)(a)op(double)(b)) : (a)op(b))

OF_X(ref_exp, expl(x))
OF_X(ref_exp2, exp2l(x))
OF_X(ref_log, logl(x))
OF_X(ref_log2, log2l(x))
OF_X(ref_sin, sinl(x))
OF_X(ref_cos, cosl(x))
OF_X(ref_tanh, tanhl(x))
OF_X(ref_erf, erfl(x))
OF_X(ref_sqrt, t == F64 ? (number)sqrt((double)x) : sqrtl(x))
OF_X(ref_rsqrt, 1 / sqrtl(x))
OF_X(ref_floor, floorl(x))
OF_X(ref_ceil, ceill(x))
OF_X(ref_sigmoid, 1 / (1 + expl(-x)))
OF_X(ref_neg, -x)
OF_X(ref_abs, x == 0 && nums[t].is_float ? 0.0L : fabsl(x))
OF_X(ref_is_nan, isnan(x))
OF_YZW(ref_div, ONCE(y, /, z))
OF_YZW(ref_fma, t == F64   ? (number)fma((double)y, (double)z, (double)w)
                : t == F32 ? (number)fmaf((float)y, (float)z, (float)w)
                           : fmal(y, z, w))
OF_X(ref_fma_once, ((void)x, 2051 - ldexpl(1, -14)))
OF_YZW(ref_where, y > z ? w : y)
OF_YZW(ref_cdiv, truncl((fmodl(fmodl(y, 128) + 128, 128) + 2) / 3))

/// fmaximum of IEEE 754-2019 with numbers before NaN, or NaN before numbers.
static number extremum(bool is_max, number a, number b, bool nan_wins) {
    if (isnan(a) || isnan(b))
        return nan_wins ? (number)NAN : isnan(a) ? b : a;
    if (a == b)
        return signbit(a) != 0 ? (is_max ? b : a) : (is_max ? a : b);
    return (a > b) == is_max ? a : b;
}
OF_YZW(ref_maximum, extremum(true, y, z, false))
OF_YZW(ref_minimum, extremum(false, y, z, false))
OF_YZW(ref_maximum_all, extremum(true, y, z, true))
OF_YZW(ref_minimum_all, extremum(false, y, z, true))
OF_YZW(ref_clamp, extremum(false, extremum(true, y, -1, false), 2, false))
OF_YZW(ref_clamp_all, extremum(false, extremum(true, y, -1, true), 2, true))

/// Sums and products of integers need more bits than a number has.
static number wrap(num_type t, __int128 v) {
    uint64_t low = (uint64_t)v, high = nums[t].bits > 32 ? low >> 32 : 0;
    return number_round(t, ldexpl((number)high, 32) + (number)(low & UINT32_MAX));
}
static number ref_add(inputs v, num_type t) {
    return nums[t].is_float ? ONCE(v.y, +, v.z) : wrap(t, (__int128)v.y + (__int128)v.z);
}
static number ref_sub(inputs v, num_type t) {
    return nums[t].is_float ? ONCE(v.y, -, v.z) : wrap(t, (__int128)v.y - (__int128)v.z);
}
static number ref_mul(inputs v, num_type t) {
    return nums[t].is_float ? ONCE(v.y, *, v.z)
                            : wrap(t, (__int128)((unsigned __int128)(__int128)v.y *
                                                 (unsigned __int128)(__int128)v.z));
}

static number ref_umulhi(inputs v, num_type t) {
    number range = ldexpl(1, (int)nums[t].bits);
    unsigned __int128 a = (unsigned __int128)(v.y < 0 ? v.y + range : v.y);
    unsigned __int128 b = (unsigned __int128)(v.z < 0 ? v.z + range : v.z);
    return number_round(t, (number)(uint64_t)(a * b >> nums[t].bits));
}

// --- the cases

static const builtin_case functions[] = {
    {"tl.exp(x)", FLOATS, SAME, ref_exp, 2, 1, true},
    {"tl.math.exp2(x)", FLOATS, SAME, ref_exp2, 2, 0, true},
    {"tl.log(x)", FLOATS, SAME, ref_log, 3, 0, false},
    {"x.log2()", FLOATS, SAME, ref_log2, 3, 0, false},
    {"tl.sin(x)", FLOATS, SAME, ref_sin, 3, 0, false},
    {"tl.cos(x)", FLOATS, SAME, ref_cos, 3, 0, false},
    {"libdevice.tanh(x)", FLOATS, SAME, ref_tanh, 3, 0, false},
    {"tl.erf(x)", FLOATS, SAME, ref_erf, 3, 0, false},
    {"tl.sqrt(x)", FLOATS, SAME, ref_sqrt, 1, 0, false},
    {"tl.rsqrt(x)", FLOATS, SAME, ref_rsqrt, 2, 0, false},
    {"tl.sigmoid(x)", FLOATS, SAME, ref_sigmoid, 4, 1, true},
};

static const builtin_case arithmetic[] = {
    {"tl.sqrt_rn(x)", SINGLES, SAME, ref_sqrt, 0, 0, false},
    {"tl.floor(x)", FLOATS, SAME, ref_floor, 0, 0, false},
    {"tl.ceil(x)", FLOATS, SAME, ref_ceil, 0, 0, false},
    {"tl.abs(x)", NUMBERS, SAME, ref_abs, 0, 0, false},
    {"abs(x)", NUMBERS, SAME, ref_abs, 0, 0, false},
    {"-x", NUMBERS, SAME, ref_neg, 0, 0, false},
    {"x != x", NUMBERS, BOOL, ref_is_nan, 0, 0, false},
    {"tl.add(y, z)", NUMBERS, SAME, ref_add, 0, 0, false},
    {"y.sub(z, sanitize_overflow=False)", NUMBERS, SAME, ref_sub, 0, 0, false},
    {"tl.mul(x=y, y=z)", NUMBERS, SAME, ref_mul, 0, 0, false},
    {"tl.fma(y, z, w)", FLOATS, SAME, ref_fma, 0, 0, false},
    {"tl.fma(zero + 1.0078125, zero + 0.9921875, zero + 2050)", FLOATS, SAME, ref_fma_once, 0, 0,
     false}, // through fp32 it would be 2052 in fp16
    {"tl.fdiv(y, z)", FLOATS, WIDE_HALF, ref_div, 2, 0, true},
    {"tl.fdiv(y, z, ieee_rounding=True)", FLOATS, WIDE_HALF, ref_div, 0, 0, false},
    {"tl.div_rn(y, z)", SINGLES, SAME, ref_div, 0, 0, false},
    {"tl.maximum(y, z)", NUMBERS, WIDE_BF16, ref_maximum, 0, 0, false},
    {"y.minimum(z)", NUMBERS, WIDE_BF16, ref_minimum, 0, 0, false},
    {"max(y, z)", NUMBERS, WIDE_BF16, ref_maximum, 0, 0, false},
    {"min(y, z)", NUMBERS, WIDE_BF16, ref_minimum, 0, 0, false},
    {"tl.maximum(y, z, propagate_nan=tl.PropagateNan.ALL)", NUMBERS, WIDE_BF16, ref_maximum_all, 0,
     0, false},
    {"tl.minimum(y, z, tl.PropagateNan.ALL)", NUMBERS, WIDE_BF16, ref_minimum_all, 0, 0, false},
    {"tl.clamp(y, zero - 1, zero + 2)", FLOATS, WIDE_BF16, ref_clamp, 0, 0, false},
    {"tl.clamp(y, min=zero - 1, max=zero + 2, propagate_nan=tl.PropagateNan.ALL)", FLOATS,
     WIDE_BF16, ref_clamp_all, 0, 0, false},
    {"tl.umulhi(y, z)", WORDS, SAME, ref_umulhi, 0, 0, false},
    {"tl.where(y > z, w, y)", NUMBERS, SAME, ref_where, 0, 0, false},
    {"tl.cdiv(y & 127, 3)", WORDS, SAME, ref_cdiv, 0, 0, false},
};

// --- running them

static bool takes(const builtin_case *c, num_type t) {
    unsigned kind = !nums[t].is_float    ? (nums[t].bits >= 32 ? INTS | WORDS : INTS)
                    : nums[t].bits == 16 ? HALVES
                                         : SINGLES;
    return c->takes & kind;
}

static num_type result_type(const builtin_case *c, num_type t) {
    bool half = nums[t].is_float && nums[t].bits == 16, bf16 = t == B16;
    bool widens = (c->result == WIDE_HALF && half) || (c->result == WIDE_BF16 && bf16);
    return (c->result == BOOL ? I1 : widens ? F32 : t);
}

/// The kernel of all cases that the type takes; case i writes its results from i * COUNT on.
static char *make_source(const builtin_case *cases, size_t n, num_type t) {
    size_t size = 1024 + n * 512;
    char *source = xmalloc(size);
    int len = snprintf(
        source, size,
        "def k(a: *%s, b: *%s, c: *%s, d: *%s, o_same: *%s, o_wide: *fp32, o_bool: *i1):\n"
        "    o = tl.arange(0, %d)\n"
        "    x = tl.load(a + o)\n"
        "    y = tl.load(b + o)\n"
        "    z = tl.load(c + o)\n"
        "    w = tl.load(d + o)\n"
        "    zero = tl.full((), 0, %s)\n",
        nums[t].name, nums[t].name, nums[t].name, nums[t].name, nums[t].name, COUNT, nums[t].name);
    for (size_t i = 0; i < n; i++) {
        if (!takes(&cases[i], t))
            continue;
        num_type r = result_type(&cases[i], t);
        const char *to = r == t ? "o_same" : r == I1 ? "o_bool" : "o_wide";
        len += snprintf(source + len, size - (size_t)len,
                        "    r%zu = %s\n"
                        "    tl.static_assert(r%zu.dtype == tl.dtype_of_result, r%zu.dtype)\n"
                        "    tl.store(%s + %zu + o, r%zu)\n",
                        i, cases[i].expression, i, i, to, i * COUNT, i);
        char *type = strstr(source, "tl.dtype_of_result"); // the name, and blanks
        memset(type, ' ', strlen("tl.dtype_of_result"));
        memcpy(type, nums[r].name, strlen(nums[r].name));
    }
    return source;
}

static void fill_inputs(num_type t, inputs *in) {
    for (unsigned i = 0; i < COUNT; i++) {
        unsigned skip = nums[t].is_float ? 7 : 0; // pairs: both halves of the list
        in[i].x = number_awkward(t, i);
        in[i].y = number_awkward(t, i / SIDE + (i / SIDE > 3 ? skip : 0));
        in[i].z = number_awkward(t, i % SIDE + (i % SIDE > 3 ? skip : 0));
        in[i].w = number_awkward(t, (i / SIDE * 3 + i % SIDE * 5) % 22);
    }
}

static void check_case(const builtin_case *c, num_type t, const inputs *in, const void *results) {
    num_type r = result_type(c, t);
    for (unsigned i = 0; i < COUNT; i++) {
        number got = number_get(r, results, i), want = number_round(r, c->reference(in[i], t));
        number ulps = c->ulps + c->per_x * (isfinite(in[i].x) ? fabsl(in[i].x) : 0);
        if (nums[t].is_float && nums[t].bits == 16 && r == t && ulps > 1)
            ulps = 1;
        number absolute = c->is_approx ? ldexpl(1, 3 - nums[r].bias) : 0;
        expect(number_near(r, got, want, ulps, absolute),
               "%s of %s, element %u (x %Lg, y %Lg, z %Lg, w %Lg): %.17Lg, expected %.17Lg",
               c->expression, nums[t].name, i, in[i].x, in[i].y, in[i].z, in[i].w, got, want);
    }
}

static void run_cases(const builtin_case *cases, size_t n, num_type t) {
    inputs in[COUNT];
    uint64_t data[4][COUNT];
    tile_buffer *buffers[7];
    tile_arg args[7];
    size_t wide_bytes = n * COUNT * 8;
    fill_inputs(t, in);
    for (unsigned i = 0; i < COUNT; i++) {
        number_set(t, data[0], i, in[i].x);
        number_set(t, data[1], i, in[i].y);
        number_set(t, data[2], i, in[i].z);
        number_set(t, data[3], i, in[i].w);
    }
    for (int i = 0; i < 7; i++) {
        buffers[i] = buffer_from(i < 4 ? data[i] : NULL, i < 4 ? sizeof data[i] : wide_bytes);
        args[i] = TILE_BUFFER(buffers[i], i < 5 ? nums[t].name : i == 5 ? "fp32" : "i1");
    }
    char *source = make_source(cases, n, t);
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    tile_launch_options o = {.size = sizeof o, .grid = {1}};
    tile_status status = tile_launch(k, args, 7, &o, &err);
    if (status && is_refused_yet()) {
        printf("skipped for %s: %s\n", nums[t].name, err.message);
    } else {
        void *results[3];
        must(status);
        for (int i = 0; i < 3; i++) {
            results[i] = xmalloc(wide_bytes);
            read_buffer(buffers[4 + i], results[i], wide_bytes);
        }
        for (size_t i = 0; i < n; i++) {
            num_type r = result_type(&cases[i], t);
            char *at = results[r == t ? 0 : r == I1 ? 2 : 1];
            if (takes(&cases[i], t))
                check_case(&cases[i], t, in, at + i * COUNT * nums[r].bytes);
        }
        for (int i = 0; i < 3; i++)
            free(results[i]);
    }
    for (int i = 0; i < 7; i++)
        tile_buffer_destroy(buffers[i]);
    tile_module_destroy(mod);
    free(source);
}

int main(void) {
    open_test_device();
    for (int t = I8; t < NUM_TYPES; t++) {
        if (is_fp8((num_type)t))
            continue; // test_fp8
        if (nums[t].is_float)
            run_cases(functions, sizeof functions / sizeof *functions, (num_type)t);
        run_cases(arithmetic, sizeof arithmetic / sizeof *arithmetic, (num_type)t);
    }
    return finish();
}
