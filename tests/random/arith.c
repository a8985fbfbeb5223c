// See arith.h. Written from the language's description, apart from the compiler's own folding and
// the host's runtime: that is the point.
#include "arith.h"

#include <math.h>
#include <string.h>

cell wrap_int(elem t, int64_t v) {
    unsigned drop = 64 - bits_of(t);
    uint64_t u = (uint64_t)v << drop;
    return (cell){.i = is_signed(t) ? (int64_t)u >> drop : (int64_t)(u >> drop)};
}

// --- rounding

/// To `digits` binary digits, the last place not below 2^least; beyond `largest` infinity.
static double round_digits(double v, int digits, int least, double largest) {
    if (v == 0 || !isfinite(v))
        return v;
    int place = ilogb(v) - digits + 1;
    if (place < least)
        place = least;
    double unit = ldexp(1, place), r = nearbyint(v / unit) * unit; // a power of two: exact
    return fabs(r) > largest ? copysign(INFINITY, v) : copysign(r, v);
}

/// What is too large for an fp8, infinity too, becomes its largest number.
static double saturate(double v, double largest) {
    return isnan(v) || fabs(v) <= largest ? v : copysign(largest, v);
}

double round_to(elem t, double v) {
    switch (t) {
    case T_E4:
        return saturate(round_digits(v, 4, -9, 448), 448);
    case T_E5:
        return saturate(round_digits(v, 3, -16, 57344), 57344);
    case T_F16:
        return round_digits(v, 11, -24, 65504);
    case T_BF16:
        return round_digits(v, 8, -133, 0x1.fep127);
    case T_F32:
        return (double)(float)v;
    default:
        return v;
    }
}

double chop_to(elem t, double v) {
    static const struct {
        int digits, least;
        double largest;
    } formats[NUM_ELEMS] = {[T_E4] = {4, -9, 448},
                            [T_E5] = {3, -16, 57344},
                            [T_F16] = {11, -24, 65504},
                            [T_BF16] = {8, -133, 0x1.fep127},
                            [T_F32] = {24, -149, 0x1.fffffep127}};
    if (v == 0 || !isfinite(v))
        return v;
    int place = ilogb(v) - formats[t].digits + 1;
    double unit = ldexp(1, place < formats[t].least ? formats[t].least : place);
    double r = fmin(floor(fabs(v) / unit) * unit, formats[t].largest);
    return copysign(r, v);
}

/// Small formats: `digits` stored after the leading one, `bias` of the exponent.
static uint64_t small_bits(double v, int digits, int bias, uint64_t sign, uint64_t inf,
                           uint64_t nan) {
    if (isnan(v))
        return nan;
    if (!signbit(v))
        sign = 0;
    v = fabs(v);
    if (isinf(v))
        return sign | inf;
    int e = v == 0 ? -bias : ilogb(v);
    if (e < 1 - bias)
        return sign | (uint64_t)ldexp(v, digits + bias - 1);
    return sign | (((uint64_t)(e + bias - 1) << digits) + (uint64_t)ldexp(v, digits - e));
}

static double small_value(uint64_t bits, int digits, int bias, uint64_t sign, uint64_t inf,
                          uint64_t nan) {
    uint64_t size = bits & (sign - 1);
    int e = (int)(size >> digits), m = (int)(size & ((UINT64_C(1) << digits) - 1));
    double v = size >= nan || size > inf ? (double)NAN
               : size == inf             ? (double)INFINITY
               : e                       ? ldexp((1 << digits) + m, e - bias - digits)
                                         : ldexp(m, 1 - bias - digits);
    return bits & sign ? -v : v;
}

enum { NO_INF = 0xff };

uint64_t to_bits(elem t, cell v) {
    uint64_t bits = 0;
    float f = (float)v.f;
    switch (t) {
    case T_F64:
        memcpy(&bits, &v.f, 8);
        return bits;
    case T_F32:
        memcpy(&bits, &f, 4);
        return bits;
    case T_BF16:
        memcpy(&bits, &f, 4);
        return isnan(v.f) ? 0x7fc0 : bits >> 16;
    case T_F16:
        return small_bits(v.f, 10, 15, 0x8000, 0x7c00, 0x7e00);
    case T_E5:
        return small_bits(v.f, 2, 15, 0x80, 0x7c, 0x7f);
    case T_E4:
        return small_bits(v.f, 3, 7, 0x80, NO_INF, 0x7f);
    default:
        return bits_of(t) == 64 ? (uint64_t)v.i : (uint64_t)v.i & ((UINT64_C(1) << bits_of(t)) - 1);
    }
}

cell from_bits(elem t, uint64_t bits) {
    cell v;
    float f;
    uint32_t word = (uint32_t)(t == T_BF16 ? bits << 16 : bits);
    switch (t) {
    case T_F64:
        memcpy(&v.f, &bits, 8);
        return v;
    case T_F32:
    case T_BF16:
        memcpy(&f, &word, 4);
        return (cell){.f = (double)f};
    case T_F16:
        return (cell){.f = small_value(bits, 10, 15, 0x8000, 0x7c00, 0x7e00)};
    case T_E5:
        return (cell){.f = small_value(bits, 2, 15, 0x80, 0x7c, 0x7f)};
    case T_E4:
        return (cell){.f = small_value(bits, 3, 7, 0x80, NO_INF, 0x7f)};
    case T_I1:
        return (cell){.i = bits != 0};
    default:
        return wrap_int(t, (int64_t)bits);
    }
}

// --- conversions

/// Toward zero; out of range saturated at 16 bits or the wider type, of which 8-bit types take the
/// low byte; a NaN gives 0, or the top bit alone where fp64 or 64 bits take part.
static cell float_to_int(elem from, elem to, double v) {
    if (to == T_I1)
        return (cell){.i = v != 0};
    unsigned bits = bits_of(to) < 16 ? 16 : bits_of(to);
    uint64_t top = UINT64_C(1) << (bits - 1);
    if (isnan(v))
        return wrap_int(to, from == T_F64 || bits == 64 ? (int64_t)top : 0);
    double limit = ldexp(1, (int)bits - is_signed(to)), low = is_signed(to) ? -limit : 0;
    uint64_t r;
    if (v >= limit)
        r = is_signed(to) ? top - 1 : top - 1 + top;
    else if (v <= low)
        r = is_signed(to) ? top : 0;
    else
        r = is_signed(to) ? (uint64_t)(int64_t)v : (uint64_t)v;
    return wrap_int(to, (int64_t)r);
}

static exactness int_to_float(elem from, elem to, int64_t v, double *out) {
    bool sign = is_signed(from) && v < 0;
    double wide = sign ? (double)v : (double)(uint64_t)v;
    if (to == T_F64) {
        *out = wide;
        return EXACT;
    }
    if (is_fp8(to)) { // one rounding, and what is inexact in double is far too large
        *out = round_to(to, wide);
        return EXACT;
    }
    float once = sign ? (float)v : (float)(uint64_t)v;
    *out = round_to(to, (double)once);
    // To 16 bits some machines go through fp32: two roundings.
    return to == T_F32 || fabs(wide) <= 0x1p24 ? EXACT : UNSETTLED;
}

exactness convert(elem from, elem to, cell v, cell *out) {
    if (from == to) {
        *out = v;
        return EXACT;
    }
    if (is_float(from) && is_float(to)) {
        out->f = round_to(to, v.f);
        bool twice = from == T_F64 && bits_of(to) == 16 && !isnan(v.f) && (double)(float)v.f != v.f;
        return twice ? UNSETTLED : EXACT;
    }
    if (is_float(from)) {
        *out = float_to_int(from, to, v.f);
        return EXACT;
    }
    if (is_float(to))
        return int_to_float(from, to, v.i, &out->f);
    *out = to == T_I1 ? (cell){.i = v.i != 0} : wrap_int(to, v.i);
    return EXACT;
}

// --- operators

static exactness int_division(op o, elem t, cell a, cell b, cell *out) {
    if (b.i == 0)
        return UNSETTLED;
    if (!is_signed(t))
        out->i = (int64_t)(o == O_FLOORDIV ? (uint64_t)a.i / (uint64_t)b.i
                                           : (uint64_t)a.i % (uint64_t)b.i);
    else if (b.i == -1)
        *out = o == O_FLOORDIV ? wrap_int(t, (int64_t)(0 - (uint64_t)a.i)) : (cell){.i = 0};
    else
        out->i = o == O_FLOORDIV ? a.i / b.i : a.i % b.i;
    return EXACT;
}

static bool less(elem t, cell a, cell b) {
    return is_float(t) ? a.f < b.f : is_signed(t) ? a.i < b.i : (uint64_t)a.i < (uint64_t)b.i;
}

static bool equal(elem t, cell a, cell b) { return is_float(t) ? a.f == b.f : a.i == b.i; }

static bool compare(op o, elem t, cell a, cell b) {
    switch (o) {
    case O_EQ:
        return equal(t, a, b);
    case O_NE:
        return !equal(t, a, b);
    case O_LT:
        return less(t, a, b);
    case O_LE:
        return less(t, a, b) || equal(t, a, b);
    case O_GT:
        return less(t, b, a);
    default:
        return less(t, b, a) || equal(t, a, b);
    }
}

static exactness int_binary(op o, elem t, cell a, cell b, cell *out) {
    uint64_t x = (uint64_t)a.i, y = (uint64_t)b.i, r = 0, width = bits_of(t);
    uint64_t amount = to_bits(t, b); // unsigned
    switch (o) {
    case O_ADD:
        r = x + y;
        break;
    case O_SUB:
        r = x - y;
        break;
    case O_MUL:
        r = x * y;
        break;
    case O_AND:
        r = x & y;
        break;
    case O_OR:
        r = x | y;
        break;
    case O_XOR:
        r = x ^ y;
        break;
    case O_SHL:
        r = amount < width ? x << amount : 0;
        break;
    case O_SHR:
        if (is_signed(t))
            r = (uint64_t)(a.i >> (amount < width ? amount : width - 1));
        else
            r = amount < width ? x >> amount : 0;
        break;
    case O_MAXIMUM:
        r = less(t, a, b) ? y : x;
        break;
    case O_MINIMUM:
        r = less(t, a, b) ? x : y;
        break;
    case O_UMULHI:
        r = (uint64_t)((unsigned __int128)to_bits(t, a) * to_bits(t, b) >> width);
        break;
    case O_FLOORDIV:
    case O_MOD:
        return int_division(o, t, a, b, out);
    default:
        return UNSETTLED;
    }
    *out = wrap_int(t, (int64_t)r);
    return EXACT;
}

static bool is_power_of_two(double v) {
    int e;
    return isfinite(v) && v != 0 && fabs(frexp(v, &e)) == 0.5;
}

/// A sum rounded once to t, and whether rounding changed it.
static exactness add_floats(elem t, double a, double b, double *out) {
    double sum = a + b, back = sum - a;
    double lost = (a - (sum - back)) + (b - back); // what double itself rounded away
    *out = round_to(t, sum);
    if (!isfinite(a) || !isfinite(b))
        return EXACT;
    return isfinite(*out) && *out == sum && lost == 0 ? EXACT : ROUNDED;
}

/// Exact or unsettled: a product may be contracted into the sum that it feeds. (Not of fp8, which
/// is rounded between.)
static exactness multiply_floats(elem t, double a, double b, double *out) {
    double product = a * b;
    *out = round_to(t, product);
    if (!isfinite(a) || !isfinite(b))
        return EXACT;
    bool exact = isfinite(*out) && *out == product && fma(a, b, -product) == 0 &&
                 (product == 0) == (a == 0 || b == 0);
    return exact ? EXACT : is_fp8(t) ? ROUNDED : UNSETTLED;
}

/// Settled only where every way to divide agrees: a power of two below, nothing rounded.
static exactness divide_floats(elem t, double a, double b, double *out) {
    *out = round_to(t, a / b);
    bool plain = isfinite(a) && is_power_of_two(b) && fabs(b) <= 0x1p60 && fabs(b) >= 0x1p-60 &&
                 isfinite(*out) && *out * b == a && (a == 0 || fabs(*out) > 0x1p-100);
    return plain ? EXACT : UNSETTLED;
}

static double float_extreme(bool max, double a, double b) {
    if (isnan(a) || isnan(b))
        return isnan(a) ? b : a;
    if (a == 0 && b == 0)
        return (signbit(a) != 0) == max ? b : a;
    return (a < b) == max ? b : a;
}

static exactness float_binary(op o, elem t, double a, double b, double *out) {
    switch (o) {
    case O_ADD:
        return add_floats(t, a, b, out);
    case O_SUB:
        return add_floats(t, a, -b, out);
    case O_MUL:
        return multiply_floats(t, a, b, out);
    case O_DIV:
        return is_fp8(t) ? UNSETTLED : divide_floats(t, a, b, out);
    case O_MOD:
        if (is_fp8(t))
            return UNSETTLED;
        *out = fmod(a, b);
        if (*out == 0 && signbit(a)) // the sign of a zero remainder is the machine's
            return UNSETTLED;
        return isfinite(a) && is_power_of_two(b) && fabs(a / b) < 0x1p20 && fabs(b) >= 0x1p-20
                   ? EXACT
                   : UNSETTLED;
    case O_MAXIMUM:
    case O_MINIMUM:
        *out = float_extreme(o == O_MAXIMUM, a, b);
        return EXACT;
    default:
        return UNSETTLED;
    }
}

exactness apply_binary(op o, elem t, cell a, cell b, cell *out) {
    if (o >= O_EQ && o <= O_GE) {
        *out = (cell){.i = compare(o, t, a, b)};
        return EXACT;
    }
    if (is_float(t))
        return float_binary(o, t, a.f, b.f, &out->f);
    if (o != O_DIV)
        return int_binary(o, t, a, b, out);
    cell x, y;
    convert(t, T_F32, a, &x);
    convert(t, T_F32, b, &y);
    return divide_floats(T_F32, x.f, y.f, &out->f);
}

exactness apply_unary(op o, elem t, cell a, cell *out) {
    if (is_float(t)) {
        out->f = o == O_NEG ? -a.f : o == O_ABS ? fabs(a.f) : o == O_FLOOR ? floor(a.f) : ceil(a.f);
        return EXACT;
    }
    int64_t negated = (int64_t)(0 - (uint64_t)a.i);
    *out = wrap_int(t, o == O_INVERT                             ? ~a.i
                       : o == O_NEG || (is_signed(t) && a.i < 0) ? negated
                                                                 : a.i);
    return EXACT;
}

exactness apply_fma(elem t, cell a, cell b, cell c, cell *out) {
    cell product;
    exactness e = multiply_floats(t == T_F64 ? T_F64 : T_F32, a.f, b.f, &product.f);
    if (e != EXACT)
        return e;
    return add_floats(t, product.f, c.f, &out->f) == EXACT ? EXACT : UNSETTLED;
}

double apply_math(op o, double v) {
    switch (o) {
    case O_EXP:
        return exp(v);
    case O_EXP2:
        return exp2(v);
    case O_LOG:
        return log(v);
    case O_LOG2:
        return log2(v);
    case O_SIN:
        return sin(v);
    case O_COS:
        return cos(v);
    case O_SQRT:
        return sqrt(v);
    case O_RSQRT:
        return 1 / sqrt(v);
    case O_ERF:
        return erf(v);
    case O_TANH:
        return tanh(v);
    default:
        return 1 / (1 + exp(-v));
    }
}
