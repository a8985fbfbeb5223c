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
    name, expression, operands, types, false, 0, f##_narrow, f##_wide
#define ONE_ROUNDING                                                                               \
    {                                                                                              \
        {ROUNDED, 0}, { ROUNDED, 0 }                                                               \
    }
#define CAST(name, result)                                                                         \
    {                                                                                              \
        "to " name, "a.to(" name ")", 1, ALL & ~(1 << result), true, result, same_narrow,          \
            same_wide, ONE_ROUNDING, ONE_ROUNDING, false                                           \
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
