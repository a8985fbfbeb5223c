// What is measured. References are the C library's in the next wider type: double for types up to
// fp32, long double for fp64 (64 bits of precision on x86-64, so its own error is below 0.002 ulp).
#include "accuracy.h"

#include <math.h>
#include <string.h>

/// A function of one float by the C library's names, f for double and fl for long double.
#define LIBM(f)                                                                                    \
    static double f##_narrow(const double *v) { return f(v[0]); }                                  \
    static long double f##_wide(const double *v) { return f##l(v[0]); }
LIBM(exp)
LIBM(exp2)
LIBM(log)
LIBM(log2)
LIBM(sin)
LIBM(cos)
LIBM(erf)
LIBM(tanh)
LIBM(floor)
LIBM(ceil)
LIBM(fabs)
LIBM(expm1)
LIBM(exp10)
LIBM(log10)
LIBM(log1p)
LIBM(sinh)
LIBM(cosh)
LIBM(asinh)
LIBM(acosh)
LIBM(atanh)
LIBM(tan)
LIBM(asin)
LIBM(acos)
LIBM(atan)
LIBM(cbrt)
LIBM(erfc)
LIBM(tgamma)

/// The same of two.
#define LIBM2(f)                                                                                   \
    static double f##_narrow(const double *v) { return f(v[0], v[1]); }                            \
    static long double f##_wide(const double *v) { return f##l(v[0], v[1]); }
LIBM2(pow)
LIBM2(hypot)
LIBM2(atan2)
LIBM2(fmod)

/// A function that C has not, by its long double form.
#define OURS(f)                                                                                    \
    static long double f##_wide(const double *v) { return f##_of(v[0]); }                          \
    static double f##_narrow(const double *v) { return (double)f##_of(v[0]); }

static long double rcbrt_of(double x) { return 1 / cbrtl(x); }

static long double sinpi_of(double x) {
    double half = rint(2 * x);
    long double angle = (x - half / 2) * 3.14159265358979323846L, y;
    int turn = (int)fmod(half, 4);
    if (isfinite(x) && x == rint(x))
        return copysign(0.0, x);
    y = turn & 1 ? cosl(angle) : sinl(angle);
    return (turn + 4) & 2 ? -y : y;
}

static long double cospi_of(double x) {
    double half = rint(2 * x);
    long double angle = (x - half / 2) * 3.14159265358979323846L, y;
    int turn = (int)fmod(half, 4) + 1;
    if (isfinite(x) && x == rint(x))
        return fmod(x, 2) == 0 ? 1 : -1;
    if (2 * x == half)
        return isfinite(x) ? 0 : (long double)NAN;
    y = turn & 1 ? cosl(angle) : sinl(angle);
    return (turn + 4) & 2 ? -y : y;
}

static long double lgamma_of(double x) { return lgammal(fabsl(x)); }

static long double lgamma_below_of(double x) { return lgammal(-fabsl(x)); }

/// lgamma(-x) = log(pi / (x |sin(pi x)|)) - lgamma(x).
static double lgamma_terms(const double *v) {
    double x = fabs(v[0]), turn = fabs(x - rint(x)) * 3.141592653589793;
    return fmax(fabs(log(3.141592653589793 / (x * sin(turn)))), fabs(lgamma(x)));
}

/// Newton's method from where the tail or the tangent meets x.
static long double erfinv_of(double x) {
    long double size = fabsl(x), rest = 1 - size, y = rest < 0.1L ? sqrtl(-logl(rest)) : size;
    if (!(rest > 0))
        return rest == 0 ? copysignl(INFINITY, x) : (long double)NAN;
    for (int i = 0; i < 60; i++) {
        long double missing = size < 0.5L ? size - erfl(y) : erfcl(y) - rest;
        y += missing * 0.88622692545275801365L * expl(y * y);
    }
    return copysignl(y, x);
}
OURS(rcbrt)
OURS(sinpi)
OURS(cospi)
OURS(lgamma)
OURS(lgamma_below)
OURS(erfinv)

static double rhypot_narrow(const double *v) { return 1 / hypot(v[0], v[1]); }
static long double rhypot_wide(const double *v) { return 1 / hypotl(v[0], v[1]); }

static double rsqrt_narrow(const double *v) { return 1 / sqrt(v[0]); }
static long double rsqrt_wide(const double *v) { return 1 / sqrtl(v[0]); }
static double sigmoid_narrow(const double *v) { return 1 / (1 + exp(-v[0])); }
static long double sigmoid_wide(const double *v) { return 1 / (1 + expl(-(long double)v[0])); }

// Rounded once. In double these are exact enough for types up to fp32: 53 bits are more than twice
// 24 and 2, so rounding the double again gives what rounding once would have given.
static double sqrt_narrow(const double *v) { return sqrt(v[0]); }
static long double sqrt_wide(const double *v) { return sqrt(v[0]); }
static double neg_narrow(const double *v) { return -v[0]; }
static long double neg_wide(const double *v) { return -v[0]; }
static double add_narrow(const double *v) { return v[0] + v[1]; }
static long double add_wide(const double *v) { return v[0] + v[1]; }
static double sub_narrow(const double *v) { return v[0] - v[1]; }
static long double sub_wide(const double *v) { return v[0] - v[1]; }
static double mul_narrow(const double *v) { return v[0] * v[1]; }
static long double mul_wide(const double *v) { return v[0] * v[1]; }
static double div_narrow(const double *v) { return v[0] / v[1]; }
static long double div_wide(const double *v) { return v[0] / v[1]; }
// The product is exact; the sum is rounded to odd: if anything was lost, its last bit is 1. So it
// cannot look like the middle between two numbers of a narrower type.
static double fma_narrow(const double *v) {
    double product = v[0] * v[1], sum = product + v[2], part = sum - product;
    double lost = (product - (sum - part)) + (v[2] - part);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof(bits));
    return isfinite(sum) && lost != 0 && !(bits & 1) ? nextafter(sum, lost * INFINITY) : sum;
}
static long double fma_wide(const double *v) { return fma(v[0], v[1], v[2]); }

static double same_narrow(const double *v) { return v[0]; }
static long double same_wide(const double *v) { return v[0]; }

enum { ALL = 1 << FP16 | 1 << BF16 | 1 << FP32 | 1 << FP64, LONG = 1 << FP32 | 1 << FP64 };

#define F(name, expression, operands, types, f)                                                    \
    name, expression, operands, types, false, 0, f##_narrow, f##_wide, NULL
#define ONE_ROUNDING                                                                               \
    {                                                                                              \
        {ROUNDED, 0}, { ROUNDED, 0 }                                                               \
    }
#define CAST(name, result)                                                                         \
    {                                                                                              \
        "to " name, "a.to(" name ")", 1, ALL & ~(1 << result), true, result, same_narrow,          \
            same_wide, NULL, ONE_ROUNDING, ONE_ROUNDING, false                                     \
    }

/// Bounds of what is written in the language: they hold on either device.
#define BOTH(fp32, fp64)                                                                           \
    {{fp32, 0}, {fp64, 0}}, {                                                                      \
        {fp32, 0}, { fp64, 0 }                                                                     \
    }

#define SHARED "(a / load(pb + program_id(0) * 128)).to(a.dtype)"
_Static_assert(PROGRAM == 128, "SHARED says so");

// name, expression, operands, types, reference; bounds: fp32 and fp64 on cpu, on a GPU
const function functions[] = {
    {F("exp", "exp(a)", 1, ALL, exp), {{1, 0}, {1, 0}}, {{2, 1.25}, {1, 0}}, 0},
    {F("exp2", "exp2(a)", 1, ALL, exp2), {{1, 0}, {1, 0}}, {{2.5, 0}, {1, 0}}, 0},
    {F("log", "log(a)", 1, ALL, log), {{1, 0}, {1, 0}}, {{1, 0}, {1, 0}}, 0},
    {F("log2", "log2(a)", 1, ALL, log2), {{1, 0}, {1, 0}}, {{2, 0}, {2, 0}}, 0},
    {F("sin", "sin(a)", 1, ALL, sin), {{1, 0}, {1, 0}}, {{1.5, 0}, {1, 0}}, 0},
    {F("cos", "cos(a)", 1, ALL, cos), {{1, 0}, {1, 0}}, {{1.5, 0}, {1, 0}}, 0},
    {F("tanh", "tanh(a)", 1, ALL, tanh), {{1, 0}, {2.5, 0}}, {{3, 0}, {2, 0}}, 0},
    {F("erf", "erf(a)", 1, ALL, erf), {{1, 0}, {1.5, 0}}, {{2, 0}, {1.5, 0}}, 0},
    {F("sigmoid", "sigmoid(a)", 1, ALL, sigmoid),
     {{3, 0}, {3, 0}},
     {{4, 1.25}, {3, 0}},
     FLUSHES_BELOW},
    {F("rsqrt", "rsqrt(a)", 1, ALL, rsqrt), {{1, 0}, {1.5, 0}}, {{2, 0}, {1.5, 0}}, 0},
    {F("pow", "libdevice.pow(a, b)", 2, ALL, pow), BOTH(1, 1), 0},
    {F("expm1", "libdevice.expm1(a)", 1, ALL, expm1), BOTH(1.5, 1.5), 0},
    {F("exp10", "libdevice.exp10(a)", 1, ALL, exp10), BOTH(1, 1), 0},
    {F("log1p", "libdevice.log1p(a)", 1, ALL, log1p), BOTH(2, 1.5), 0},
    {F("log10", "libdevice.log10(a)", 1, ALL, log10), BOTH(0.6, 0.6), 0},
    {F("sinh", "libdevice.sinh(a)", 1, ALL, sinh), BOTH(2.5, 2.5), 0},
    {F("cosh", "libdevice.cosh(a)", 1, ALL, cosh), BOTH(2, 1.5), 0},
    {F("asinh", "libdevice.asinh(a)", 1, ALL, asinh), BOTH(2.5, 2.5), 0},
    {F("acosh", "libdevice.acosh(a)", 1, ALL, acosh), BOTH(2.5, 2), 0},
    {F("atanh", "libdevice.atanh(a)", 1, ALL, atanh), BOTH(3, 2.5), 0},
    {F("tan", "libdevice.tan(a)", 1, ALL, tan), BOTH(4, 3), 0},
    {F("asin", "libdevice.asin(a)", 1, ALL, asin), BOTH(2.5, 2.5), 0},
    {F("acos", "libdevice.acos(a)", 1, ALL, acos), BOTH(1.5, 1.5), 0},
    {F("atan", "libdevice.atan(a)", 1, ALL, atan), BOTH(1.5, 2), 0},
    {F("atan2", "libdevice.atan2(a, b)", 2, ALL, atan2), BOTH(2, 2), 0},
    {F("sinpi", "libdevice.sinpi(a)", 1, ALL, sinpi), BOTH(3, 2), 0},
    {F("cospi", "libdevice.cospi(a)", 1, ALL, cospi), BOTH(3, 2), 0},
    {F("cbrt", "libdevice.cbrt(a)", 1, ALL, cbrt), BOTH(0.6, 0.6), 0},
    {F("rcbrt", "libdevice.rcbrt(a)", 1, ALL, rcbrt), BOTH(1.5, 1.5), 0},
    {F("hypot", "libdevice.hypot(a, b)", 2, ALL, hypot), BOTH(1.1, 1.1), 0},
    {F("rhypot", "libdevice.rhypot(a, b)", 2, ALL, rhypot), BOTH(2.5, 2.5), 0},
    {F("fmod", "libdevice.fmod(a, b)", 2, ALL, fmod), BOTH(ROUNDED, ROUNDED), 0},
    {F("erfc", "libdevice.erfc(a)", 1, ALL, erfc), BOTH(4, 3), 0},
    {F("erfinv", "libdevice.erfinv(a)", 1, ALL, erfinv), BOTH(2.5, 2.5), 0},
    {F("lgamma", "libdevice.lgamma(abs(a))", 1, ALL, lgamma), BOTH(6, 6), 0},
    {"lgamma below 0", "libdevice.lgamma(-abs(a))", 1, LONG, false, 0, lgamma_below_narrow,
     lgamma_below_wide, lgamma_terms, BOTH(10, 10), 0},
    {F("tgamma", "libdevice.tgamma(a)", 1, ALL, tgamma), BOTH(6, 5), FLUSHES_BELOW},
    {F("a / b", "(a / b).to(a.dtype)", 2, ALL, div), ONE_ROUNDING, {{2.25, 0}, {ROUNDED, 0}}, 0},
    {F("fdiv", "fdiv(a, b).to(a.dtype)", 2, ALL, div), ONE_ROUNDING, {{2.25, 0}, {ROUNDED, 0}}, 0},
    {F("a / s", SHARED, 2, ALL, div), ONE_ROUNDING, {{1, 0}, {ROUNDED, 0}}, SHARES_B},
    {F("div_rn", "div_rn(a, b)", 2, LONG, div), ONE_ROUNDING, ONE_ROUNDING, 0},
    {F("sqrt", "sqrt(a)", 1, ALL, sqrt), ONE_ROUNDING, ONE_ROUNDING, 0},
    {F("sqrt_rn", "sqrt_rn(a)", 1, LONG, sqrt), ONE_ROUNDING, ONE_ROUNDING, 0},
    {F("a + b", "a + b", 2, ALL, add), ONE_ROUNDING, ONE_ROUNDING, 0},
    {F("a - b", "a - b", 2, ALL, sub), ONE_ROUNDING, ONE_ROUNDING, 0},
    {F("a * b", "a * b", 2, ALL, mul), ONE_ROUNDING, ONE_ROUNDING, 0},
    {F("fma", "fma(a, b, c)", 3, ALL, fma), ONE_ROUNDING, ONE_ROUNDING, 0},
    {F("floor", "floor(a)", 1, ALL, floor), ONE_ROUNDING, ONE_ROUNDING, 0},
    {F("ceil", "ceil(a)", 1, ALL, ceil), ONE_ROUNDING, ONE_ROUNDING, 0},
    {F("abs", "abs(a)", 1, ALL, fabs), ONE_ROUNDING, ONE_ROUNDING, 0},
    {F("-a", "-a", 1, ALL, neg), ONE_ROUNDING, ONE_ROUNDING, 0},
    CAST("fp16", FP16),
    CAST("bf16", BF16),
    CAST("fp32", FP32),
    CAST("fp64", FP64),
};
const size_t function_count = sizeof(functions) / sizeof(functions[0]);

// 16-bit results are fp32 ones rounded: half a unit, and what the fp32 error can add.
bound bound_of(const function *f, number_type t, bool is_gpu) {
    bound b = (is_gpu ? f->gpu : f->cpu)[t == FP64];
    return t == FP32 || t == FP64 || b.ulp == ROUNDED ? b : (bound){0.505, 0};
}

number_type result_type(const function *f, number_type operands) {
    return f->converts ? f->result : operands;
}
