// See emit_math.h. The forms are the classical ones: take the exponent apart, evaluate a minimax
// polynomial with fused multiply-adds, put the result together, and select the special cases last,
// so that there are no branches and a vector of lanes goes the same way.
#include "codegen/emit_math.h"

#include <math.h>

// ---------------------------------------------------------------------------- notation

static LLVMValueRef add(emitter *e, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildFAdd(e->b, a, b, "");
}
static LLVMValueRef sub(emitter *e, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildFSub(e->b, a, b, "");
}
static LLVMValueRef mul(emitter *e, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildFMul(e->b, a, b, "");
}
static LLVMValueRef fma_of(emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
    return emit_intrinsic(e, "llvm.fma", true, (LLVMValueRef[]){a, b, c}, 3);
}
/// A float constant like x.
static LLVMValueRef num(emitter *e, LLVMValueRef x, double v) {
    return emit_const_float_like(e, x, v);
}
static LLVMValueRef choose(emitter *e, LLVMValueRef c, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildSelect(e->b, c, a, b, "");
}
static LLVMValueRef compare(emitter *e, LLVMRealPredicate p, LLVMValueRef x, double v) {
    return LLVMBuildFCmp(e->b, p, x, num(e, x, v), "");
}
static LLVMValueRef magnitude(emitter *e, LLVMValueRef x) {
    return emit_intrinsic(e, "llvm.fabs", true, &x, 1);
}
static LLVMValueRef bits_of(emitter *e, LLVMValueRef x, unsigned width) {
    return LLVMBuildBitCast(e->b, x, emit_int_like(e, width, x), "");
}
static LLVMValueRef float_of(emitter *e, LLVMValueRef bits, LLVMValueRef like) {
    return LLVMBuildBitCast(e->b, bits, LLVMTypeOf(like), "");
}
static LLVMValueRef int_op(emitter *e, LLVMOpcode op, LLVMValueRef x, uint64_t v) {
    return LLVMBuildBinOp(e->b, op, x, emit_const_like(e, x, v), "");
}

/// c[0] + x * (c[1] + x * (...)), by n fused multiply-adds.
static LLVMValueRef polynomial(emitter *e, LLVMValueRef x, const double *c, unsigned n) {
    LLVMValueRef r = num(e, x, c[n]);
    for (unsigned i = n; i-- > 0;)
        r = fma_of(e, r, x, num(e, x, c[i]));
    return r;
}

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

// x = m * 2^i with m in [2/3, 4/3); log1p(m - 1) by a polynomial of degree 10, evaluated in two
// interleaved halves.
LLVMValueRef emit_log_f32(emitter *e, LLVMValueRef x, bool base2) {
    static const double odd[] = {0.200120345, 0.139814854, 0.140869141};
    static const double even[] = {-0.249996200, -0.166846126, -0.121483512, -0.130310059};
    LLVMValueRef tiny = compare(e, LLVMRealOLT, x, 0x1p-126);
    LLVMValueRef scaled = choose(e, tiny, mul(e, x, num(e, x, 0x1p23)), x);
    LLVMValueRef shift = choose(e, tiny, num(e, x, -23), num(e, x, 0));
    LLVMValueRef bits = bits_of(e, scaled, 32);
    LLVMValueRef exponent = int_op(e, LLVMAnd, int_op(e, LLVMSub, bits, 0x3f2aaaab), 0xff800000);
    LLVMValueRef m = float_of(e, LLVMBuildSub(e->b, bits, exponent, ""), x);
    LLVMValueRef power = LLVMBuildSIToFP(e->b, exponent, LLVMTypeOf(x), "");
    LLVMValueRef i = fma_of(e, power, num(e, x, 0x1p-23), shift);
    m = sub(e, m, num(e, x, 1));
    LLVMValueRef s = mul(e, m, m);
    LLVMValueRef r = fma_of(e, polynomial(e, s, odd, 2), m, polynomial(e, s, even, 3));
    r = fma_of(e, r, m, num(e, x, 0.333331972));
    r = fma_of(e, r, m, num(e, x, -0.5));
    r = fma_of(e, r, s, m);
    if (base2) // the low part of 1/ln 2 keeps what its rounding would cost near 1
        r = fma_of(e, r, num(e, x, 0x1.715476p+0), fma_of(e, r, num(e, x, 0x1.4ae0cp-26), i));
    else
        r = fma_of(e, i, num(e, x, 0.693147182), r);
    return log_edges(e, x, r);
}

LLVMValueRef emit_erf_f32(emitter *e, LLVMValueRef x) {
    static const double near[] = {1.28379166e-1,  -3.76125336e-1, 1.12819925e-1,
                                  -2.67681349e-2, 4.99119423e-3,  -5.96761703e-4};
    LLVMValueRef t = magnitude(e, x), s = mul(e, x, x);
    LLVMValueRef small = fma_of(e, polynomial(e, s, near, 5), x, x);
    LLVMValueRef r = fma_of(e, num(e, x, -1.72853470e-5), t, num(e, x, 3.83197126e-4));
    LLVMValueRef u = fma_of(e, num(e, x, -3.88396438e-3), t, num(e, x, 2.42546219e-2));
    r = fma_of(e, r, s, u);
    r = fma_of(e, r, t, num(e, x, -1.06777877e-1));
    r = fma_of(e, r, t, num(e, x, -6.34846687e-1));
    r = fma_of(e, r, t, num(e, x, -1.28717512e-1));
    r = fma_of(e, r, t, LLVMBuildFNeg(e->b, t, ""));
    r = choose(e, compare(e, LLVMRealOGT, t, 4), num(e, x, -100), r); // the fit ends there: erf = 1
    LLVMValueRef large = sub(e, num(e, x, 1), e->tgt->math(e, OP_EXP, DT_FP32, false, r));
    large = emit_intrinsic(e, "llvm.copysign", true, (LLVMValueRef[]){large, x}, 2);
    return choose(e, compare(e, LLVMRealOGT, t, 0.927734375), large, small);
}

LLVMValueRef emit_tanh_f32(emitter *e, LLVMValueRef x) {
    static const double near[] = {0, -3.33327681e-1, 1.33152470e-1, -5.23025580e-2, 1.57394409e-2};
    LLVMValueRef t = magnitude(e, x);
    LLVMValueRef small = fma_of(e, polynomial(e, mul(e, x, x), near, 4), x, x);
    LLVMValueRef power = e->tgt->math(e, OP_EXP, DT_FP32, false, add(e, t, t));
    LLVMValueRef one = num(e, x, 1), two = num(e, x, 2);
    LLVMValueRef large = sub(e, one, e->tgt->fdiv(e, DT_FP32, false, two, add(e, power, one)));
    large = emit_intrinsic(e, "llvm.copysign", true, (LLVMValueRef[]){large, x}, 2);
    return choose(e, compare(e, LLVMRealOGE, t, 0.55), large, small);
}

LLVMValueRef emit_sin_reduced_f32(emitter *e, LLVMValueRef r, LLVMValueRef q) {
    static const double sine[] = {-1.66666672e-1, 8.33338592e-3, -1.98559923e-4, 2.86567956e-6};
    static const double cosine[] = {1, -0.5, 4.16666567e-2, -1.38877297e-3, 2.44677067e-5};
    LLVMValueRef s = mul(e, r, r);
    LLVMValueRef as_sine = fma_of(e, polynomial(e, s, sine, 3), mul(e, r, s), r);
    LLVMValueRef as_cosine = polynomial(e, s, cosine, 4);
    LLVMValueRef zero = emit_const_like(e, q, 0);
    LLVMValueRef odd = LLVMBuildICmp(e->b, LLVMIntNE, int_op(e, LLVMAnd, q, 1), zero, "");
    LLVMValueRef v = choose(e, odd, as_cosine, as_sine);
    LLVMValueRef down = LLVMBuildICmp(e->b, LLVMIntNE, int_op(e, LLVMAnd, q, 2), zero, "");
    return choose(e, down, LLVMBuildFNeg(e->b, v, ""), v);
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
// log m = f - (f^2/2 - s (f^2/2 + R(s^2))), as in fdlibm.
LLVMValueRef emit_log_f64(emitter *e, LLVMValueRef x, bool base2) {
    static const double even[] = {0.3999999999940941908, 0.2222219843214978396,
                                  0.1531383769920937332};
    static const double odd[] = {0.6666666666666735130, 0.2857142874366239149,
                                 0.1818357216161805012, 0.1479819860511658591};
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
    LLVMValueRef z = mul(e, s, s), w = mul(e, z, z);
    LLVMValueRef rest =
        fma_of(e, z, polynomial(e, w, odd, 3), mul(e, w, polynomial(e, w, even, 2)));
    LLVMValueRef half_square = mul(e, mul(e, f, f), num(e, x, 0.5)), r;
    LLVMValueRef tail = mul(e, s, add(e, half_square, rest));
    if (base2) {
        LLVMValueRef log_m = sub(e, f, sub(e, half_square, tail));
        r = fma_of(e, log_m, num(e, x, 0x1.71547652b82fep+0), steps);
        r = fma_of(e, log_m, num(e, x, 0x1.777d0ffda0d24p-56), r);
    } else {
        tail = fma_of(e, steps, num(e, x, 1.90821492927058770002e-10), tail);
        r = sub(e, sub(e, half_square, tail), f);
        r = sub(e, mul(e, steps, num(e, x, 6.93147180369123816490e-01)), r);
    }
    return log_edges(e, x, r);
}
