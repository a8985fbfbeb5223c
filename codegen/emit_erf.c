// The error function and the hyperbolic tangent, fp32 and fp64 by the same steps. Near zero both are
// x plus x times a small polynomial in x^2, which keeps the relative error; farther out they are 1
// minus something small, made with the target's exp, whose errors shrink with it.
#include "codegen/emit_math.h"

#include "codegen/math_notation.h"

typedef struct shape {
    const double *near, *far;
    unsigned near_degree, far_degree;
    double end; ///< from here on the result rounds to 1
} shape;

/// 1 - r with the sign of x.
static LLVMValueRef away_from_one(emitter *e, LLVMValueRef x, LLVMValueRef r) {
    LLVMValueRef args[2] = {sub(e, num(e, x, 1), r), x};
    return emit_intrinsic(e, "llvm.copysign", true, args, 2);
}

// |x| <= 1: x + x P(x^2). Beyond: 1 - erfc |x|, erfc(1 + u) = e^Q(u).
LLVMValueRef emit_erf(emitter *e, dtype t, LLVMValueRef x) {
    static const double near_f32[] = {0x1.06eba8p-3, -0x1.81273ep-2,  0x1.ce2ce6p-4, -0x1.b7f71ap-6,
                                      0x1.53f224p-8, -0x1.a3515ep-11, 0x1.4771fcp-14};
    static const double far_f32[] = {-0x1.d97fcp+0,   -0x1.51c98p+1, -0x1.afb83p-1,
                                     -0x1.500c32p-5,  0x1.1c79dcp-7, -0x1.7b3bdep-12,
                                     -0x1.50bf2ap-11, 0x1.6d04e4p-13};
    static const double near_f64[] = {
        0x1.06eba8214db68p-3,   -0x1.812746b03799dp-2,  0x1.ce2f21a03f8bdp-4,
        -0x1.b82ce311a9998p-6,  0x1.565bcceede409p-8,   -0x1.c02daeb76ac5fp-11,
        0x1.f9a296b8c523bp-14,  -0x1.f4c82f374058fp-17, 0x1.b96b5d0271d0cp-20,
        -0x1.5b8cbef7ed5f6p-23, 0x1.d3e1d87a590bdp-27,  -0x1.a252004477898p-31};
    static const double far_f64[] = {
        -0x1.d97fbf27aa2a1p+0,  -0x1.51c9b0006c244p+1,  -0x1.afabc11a28a79p-1,
        -0x1.5477f09cf2a95p-5,  0x1.48c9d413804f2p-7,   -0x1.033f69c2d8861p-9,
        0x1.f1b49aed5436ap-13,  0x1.b8c606498208ep-16,  -0x1.c7752fe076491p-16,
        0x1.41d5e1c22f794p-17,  -0x1.11e0648d551c9p-19, 0x1.10e9f1dcad613p-23,
        0x1.cc7addbbb191bp-24,  -0x1.e4a574341756cp-25, 0x1.1909f7fc12ab9p-26,
        -0x1.b804c24fe2e04p-29, 0x1.ceb297dbc1cf4p-32,  -0x1.288d1b7801643p-35,
        0x1.5e7fe24797da0p-40};
    static const shape f32 = {near_f32, far_f32, 6, 7, 4}, f64 = {near_f64, far_f64, 11, 18, 6};
    const shape *s = t == DT_FP64 ? &f64 : &f32;

    LLVMValueRef size = magnitude(e, x);
    LLVMValueRef near = fma_of(e, polynomial(e, mul(e, x, x), s->near, s->near_degree), x, x);
    LLVMValueRef u = sub(e, size, num(e, x, 1));
    LLVMValueRef log_erfc = polynomial(e, u, s->far, s->far_degree);
    log_erfc = choose(e, compare(e, LLVMRealOGT, size, s->end), num(e, x, -100), log_erfc);
    LLVMValueRef far = away_from_one(e, x, e->tgt->math(e, OP_EXP, t, false, log_erfc));
    return choose(e, compare(e, LLVMRealOGT, size, 1), far, near);
}

// |x| < 0.55: x + x (x^2 P(x^2)). Beyond: 1 - 2 / (e^2|x| + 1).
LLVMValueRef emit_tanh(emitter *e, dtype t, LLVMValueRef x) {
    static const double f32[] = {
        0, -0x1.55554ap-2, 0x1.110ceep-3, -0x1.b91e7ep-5, 0x1.58e518p-6, -0x1.99219ep-8};
    static const double f64[] = {0,
                                 -0x1.555555555554fp-2,
                                 0x1.111111111078fp-3,
                                 -0x1.ba1ba1b97c9abp-5,
                                 0x1.664f48593929ap-6,
                                 -0x1.226e2f0d1ee17p-7,
                                 0x1.d6d29a63afeb3p-9,
                                 -0x1.7d8fc3bef40d8p-10,
                                 0x1.348327a5cb55ap-11,
                                 -0x1.e96a42b05f732p-13,
                                 0x1.5d6421a96fe17p-14,
                                 -0x1.46e7f7cc0b0f8p-16};
    LLVMValueRef size = magnitude(e, x), z = mul(e, x, x);
    LLVMValueRef p = t == DT_FP64 ? polynomial(e, z, f64, 11) : polynomial(e, z, f32, 5);
    LLVMValueRef near = fma_of(e, p, x, x);
    LLVMValueRef power = e->tgt->math(e, OP_EXP, t, false, add(e, size, size));
    LLVMValueRef rest = add(e, power, num(e, x, 1));
    rest = e->tgt->fdiv(e, t, false, num(e, x, 2), rest);
    return choose(e, compare(e, LLVMRealOGE, size, 0.55), away_from_one(e, x, rest), near);
}
