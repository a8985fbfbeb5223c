// See emit_math.h. The forms are the classical ones: take the exponent apart, evaluate a minimax
// polynomial with fused multiply-adds, put the result together, and select the special cases last,
// so that there are no branches and a vector of lanes goes the same way. The polynomials are made
// by scripts/minimax.py; docs/accuracy.md has what they achieve.
#include "codegen/emit_math.h"

#include "codegen/math_notation.h"

#include <math.h>

/// What every logarithm does at the edges: log 0 = -inf, log of a negative or NaN = NaN,
/// log inf = inf.
static LLVMValueRef log_edges(emitter *e, LLVMValueRef x, LLVMValueRef r) {
    LLVMValueRef infinite = compare(e, LLVMRealOEQ, x, INFINITY);
    LLVMValueRef zero = compare(e, LLVMRealOEQ, x, 0);
    LLVMValueRef invalid = compare(e, LLVMRealULT, x, 0);
    r = choose(e, infinite, x, r);
    r = choose(e, zero, num(e, x, -INFINITY), r);
    return choose(e, invalid, num(e, x, NAN), r);
}

// ---------------------------------------------------------------------------- fp32

// x = m * 2^i with m in [2/3, 4/3); log(1 + f) = f + f^2 (-1/2 + f P(f)), P in two interleaved
// halves.
LLVMValueRef emit_log_f32(emitter *e, LLVMValueRef x, bool base2) {
    static const double even[] = {0x1.555556p-2, 0x1.99977ep-3, 0x1.24f496p-3, 0x1.b87daap-4,
                                  0x1.ebd258p-4};
    static const double odd[] = {-0x1.ffff0ep-3, -0x1.559908p-3, -0x1.f389f2p-4, -0x1.07113ep-3};
    LLVMValueRef tiny = compare(e, LLVMRealOLT, x, 0x1p-126);
    LLVMValueRef scaled = choose(e, tiny, mul(e, x, num(e, x, 0x1p23)), x);
    LLVMValueRef shift = choose(e, tiny, num(e, x, -23), num(e, x, 0));
    LLVMValueRef bits = bits_of(e, scaled, 32);
    LLVMValueRef exponent = int_op(e, LLVMAnd, int_op(e, LLVMSub, bits, 0x3f2aaaab), 0xff800000);
    LLVMValueRef m = float_of(e, LLVMBuildSub(e->b, bits, exponent, ""), x);
    LLVMValueRef power = LLVMBuildSIToFP(e->b, exponent, LLVMTypeOf(x), "");
    LLVMValueRef i = fma_of(e, power, num(e, x, 0x1p-23), shift);
    LLVMValueRef f = sub(e, m, num(e, x, 1)), s = mul(e, f, f);
    LLVMValueRef p = fma_of(e, polynomial(e, s, odd, 3), f, polynomial(e, s, even, 4));
    LLVMValueRef r = fma_of(e, fma_of(e, p, f, num(e, x, -0.5)), s, f);
    if (base2) // the low part of 1/ln 2 keeps what its rounding would cost near 1
        r = fma_of(e, r, num(e, x, 0x1.715476p+0), fma_of(e, r, num(e, x, 0x1.4ae0cp-26), i));
    else
        r = fma_of(e, i, num(e, x, 0x1.62e43p-1), r);
    return log_edges(e, x, r);
}

// ---------------------------------------------------------------------------- fp64

/// 2^k for k in [-1022, 1023], from an i64.
static LLVMValueRef power_of_two(emitter *e, LLVMValueRef k, LLVMValueRef like) {
    return float_of(e, int_op(e, LLVMShl, int_op(e, LLVMAdd, k, 1023), 52), like);
}

// x = n ln 2 + r, |r| <= ln 2 / 2; e^r by its series of degree 13; 2^n in two factors, so that
// subnormal results are rounded once.
LLVMValueRef emit_exp_f64(emitter *e, LLVMValueRef x, bool base2) {
    static const double series[] = {1,
                                    1,
                                    1 / 2.0,
                                    1 / 6.0,
                                    1 / 24.0,
                                    1 / 120.0,
                                    1 / 720.0,
                                    1 / 5040.0,
                                    1 / 40320.0,
                                    1 / 362880.0,
                                    1 / 3628800.0,
                                    1 / 39916800.0,
                                    1 / 479001600.0,
                                    1 / 6227020800.0};
    const double ln2 = 0x1.62e42fefa39efp-1, ln2_rest = 0x1.abc9e3b39803fp-56;
    LLVMValueRef round = num(e, x, 0x1.8p52);
    LLVMValueRef shifted =
        base2 ? add(e, x, round) : fma_of(e, x, num(e, x, 0x1.71547652b82fep+0), round);
    LLVMValueRef n = sub(e, shifted, round), r;
    if (base2) {
        LLVMValueRef f = sub(e, x, n);
        r = fma_of(e, f, num(e, x, ln2), mul(e, f, num(e, x, ln2_rest)));
    } else {
        r = fma_of(e, n, num(e, x, -ln2), x);
        r = fma_of(e, n, num(e, x, -ln2_rest), r);
    }
    LLVMValueRef p = polynomial(e, r, series, 13);
    LLVMValueRef low = LLVMBuildTrunc(e->b, bits_of(e, shifted, 64), emit_int_like(e, 32, x), "");
    LLVMValueRef k = LLVMBuildSExt(e->b, low, emit_int_like(e, 64, x), "");
    LLVMValueRef half = int_op(e, LLVMAShr, k, 1);
    p = mul(e, mul(e, p, power_of_two(e, half, x)),
            power_of_two(e, LLVMBuildSub(e->b, k, half, ""), x));
    p = choose(e, compare(e, LLVMRealOGT, x, base2 ? 1023.9999999999999 : 709.782712893384),
               num(e, x, INFINITY), p);
    return choose(e, compare(e, LLVMRealOLT, x, base2 ? -1075.0 : -745.1332191019412), num(e, x, 0),
                  p);
}

// x = 2^k m with m in [sqrt 1/2, sqrt 2); f = m - 1, s = f / (2 + f):
// log m = log((1 + s) / (1 - s)) = 2 s + s R = f - (f^2/2 - s (f^2/2 + R)), R = s^2 P(s^2). What is
// left of f in the second form is exact, so that a rounding only hits what is smaller.
LLVMValueRef emit_log_f64(emitter *e, LLVMValueRef x, bool base2) {
    static const double p[] = {0x1.5555555555592p-1, 0x1.999999997ff19p-2, 0x1.24924941e159ap-2,
                               0x1.c71c5214489e8p-3, 0x1.74663cf043cadp-3, 0x1.39a1e864e4bc3p-3,
                               0x1.2f03bf0dd6f70p-3};
    const double ln2 = 0x1.62e42fefa3800p-1, ln2_rest = 0x1.ef35793c76730p-45; // k * ln2 is exact
    LLVMValueRef tiny = compare(e, LLVMRealOLT, x, 0x1p-1022);
    LLVMValueRef scaled = choose(e, tiny, mul(e, x, num(e, x, 0x1p54)), x);
    LLVMValueRef bits = bits_of(e, scaled, 64);
    LLVMValueRef k = int_op(e, LLVMAShr, int_op(e, LLVMSub, bits, 0x3fe6a09e667f3bcd), 52);
    LLVMValueRef m = float_of(e, LLVMBuildSub(e->b, bits, int_op(e, LLVMShl, k, 52), ""), x);
    LLVMValueRef steps = LLVMBuildSIToFP(e->b, LLVMBuildTrunc(e->b, k, emit_int_like(e, 32, x), ""),
                                         LLVMTypeOf(x), "");
    steps = add(e, steps, choose(e, tiny, num(e, x, -54), num(e, x, 0)));
    LLVMValueRef f = sub(e, m, num(e, x, 1));
    LLVMValueRef s = LLVMBuildFDiv(e->b, f, add(e, f, num(e, x, 2)), "");
    LLVMValueRef z = mul(e, s, s), rest = mul(e, z, polynomial(e, z, p, 6));
    LLVMValueRef half_square = mul(e, mul(e, f, f), num(e, x, 0.5)), r;
    LLVMValueRef tail = mul(e, s, add(e, half_square, rest));
    if (base2) {
        LLVMValueRef log_m = sub(e, f, sub(e, half_square, tail));
        r = fma_of(e, log_m, num(e, x, 0x1.71547652b82fep+0), steps);
        r = fma_of(e, log_m, num(e, x, 0x1.777d0ffda0d24p-56), r);
    } else {
        tail = fma_of(e, steps, num(e, x, ln2_rest), tail);
        r = sub(e, sub(e, half_square, tail), f);
        r = sub(e, mul(e, steps, num(e, x, ln2)), r);
    }
    return log_edges(e, x, r);
}

// The sum of the exact product and z, and what rounding it lost (Knuth). If anything, the last bit
// becomes 1 by a step towards the exact sum.
LLVMValueRef emit_fma_to_odd(emitter *e, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z) {
    LLVMValueRef product = mul(e, x, y), sum = add(e, product, z), part = sub(e, sum, product);
    LLVMValueRef lost = add(e, sub(e, product, sub(e, sum, part)), sub(e, z, part));
    LLVMValueRef bits = bits_of(e, sum, 64),
                 sign = LLVMBuildXor(e->b, bits, bits_of(e, lost, 64), "");
    LLVMValueRef zero = emit_const_like(e, bits, 0);
    LLVMValueRef even = LLVMBuildICmp(e->b, LLVMIntEQ, int_op(e, LLVMAnd, bits, 1), zero, "");
    LLVMValueRef inward = LLVMBuildICmp(e->b, LLVMIntSLT, sign, zero, "");
    LLVMValueRef odd = choose(e, inward, int_op(e, LLVMSub, bits, 1), int_op(e, LLVMAdd, bits, 1));
    LLVMValueRef inexact = compare(e, LLVMRealONE, lost, 0); // false for the NaN of an infinite sum
    bits = choose(e, LLVMBuildAnd(e->b, inexact, even, ""), odd, bits);
    return float_of(e, bits, sum);
}
