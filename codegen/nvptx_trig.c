// Sine and cosine on NVIDIA GPUs, fp32 and fp64: x - n pi/2, then a polynomial for the quadrant.
// Up to a limit n pi/2 is taken away in parts (Cody and Waite), each product exact or its error
// kept. Beyond, up to the largest double, only the bits of 2/pi that matter for this x are
// multiplied (Payne and Hanek), in a function of its own, which is rarely called and written into
// a module once, when it is needed. Both types use it.
#include "codegen/emit_math.h"
#include "codegen/math_notation.h"
#include "codegen/nvptx.h"

/// x - n pi/2 as high + low, |high| <= pi/4 or just above, and n, of which two bits count.
typedef struct reduced {
    LLVMValueRef high, low; ///< low: fp64 only
    LLVMValueRef n;         ///< i32
} reduced;

static const double half_pi[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54,
                                 -0x1.f1976b7ed8fbcp-110};
// Cut, not rounded: all parts positive, so that -0 minus 0 times each stays -0.
static const double half_pi_f32[] = {0x1.921fb4p+0, 0x1.4442dp-24, 0x1.846988p-48};

// ---------------------------------------------------------------------------- Payne and Hanek

/// 64 zeros and the first 1216 bits of 2/pi after the point.
static const uint64_t two_over_pi[] = {0,
                                       0xa2f9836e4e441529,
                                       0xfc2757d1f534ddc0,
                                       0xdb6295993c439041,
                                       0xfe5163abdebbc561,
                                       0xb7246e3a424dd2e0,
                                       0x06492eea09d1921c,
                                       0xfe1deb1cb129a73e,
                                       0xe88235f52ebb4484,
                                       0xe99c7026b45f7e41,
                                       0x3991d639835339f4,
                                       0x9c845f8bbdf9283b,
                                       0x1ff897ffde05980f,
                                       0xef2f118b5a0a6d1f,
                                       0x6d367ecf27cb09b7,
                                       0x4f463f669e5fea2d,
                                       0x7527bac7ebe5f17b,
                                       0x3d0739f78a5292ea,
                                       0x6bfb5fb11f8d5d08,
                                       0x56033046fc7b6bab};
enum { WORDS = sizeof(two_over_pi) / sizeof(two_over_pi[0]) };

static LLVMTypeRef i64_type(emitter *e) { return LLVMInt64TypeInContext(e->llvm); }
static LLVMTypeRef i128_type(emitter *e) { return LLVMInt128TypeInContext(e->llvm); }

/// 192 bits of 2/pi from bit `offset` of the table on, the first the highest of out[0].
static void load_bits(emitter *e, LLVMValueRef offset, LLVMValueRef out[3]) {
    LLVMValueRef values[WORDS], words[4], table;
    for (unsigned i = 0; i < WORDS; i++)
        values[i] = LLVMConstInt(i64_type(e), two_over_pi[i], false);
    table = LLVMAddGlobal(e->module, LLVMArrayType(i64_type(e), WORDS), "tile.two_over_pi");
    LLVMSetInitializer(table, LLVMConstArray(i64_type(e), values, WORDS));
    LLVMSetGlobalConstant(table, true);
    LLVMSetLinkage(table, LLVMInternalLinkage);

    LLVMValueRef first = int_op(e, LLVMLShr, offset, 6), shift = int_op(e, LLVMAnd, offset, 63);
    for (unsigned i = 0; i < 4; i++) {
        LLVMValueRef index = int_op(e, LLVMAdd, first, i);
        LLVMValueRef at = LLVMBuildInBoundsGEP2(e->b, i64_type(e), table, &index, 1, "");
        words[i] = LLVMBuildLoad2(e->b, i64_type(e), at, "");
    }
    for (unsigned i = 0; i < 3; i++)
        out[i] = emit_intrinsic(e, "llvm.fshl", true,
                                (LLVMValueRef[]){words[i], words[i + 1], shift}, 3);
}

/// m * 2/pi * 2^exponent modulo 4, as 128 bits of which the first two are before the point: with
/// 192 bits of 2/pi from the bit of weight 2 on, what is left out is below 2^-126.
static LLVMValueRef multiply(emitter *e, LLVMValueRef m, LLVMValueRef const bits[3]) {
    LLVMValueRef wide = LLVMBuildZExt(e->b, m, i128_type(e), ""), product[3];
    for (unsigned i = 0; i < 3; i++) {
        LLVMValueRef b = LLVMBuildZExt(e->b, bits[i], i128_type(e), "");
        product[i] = LLVMBuildMul(e->b, wide, b, "");
    }
    LLVMValueRef sum = LLVMBuildAdd(e->b, int_op(e, LLVMShl, product[0], 64), product[1], "");
    return LLVMBuildAdd(e->b, sum, int_op(e, LLVMLShr, product[2], 64), "");
}

/// size * 2^-128 * pi/2 as a sum of two doubles; size is not zero.
static void to_angle(emitter *e, LLVMValueRef size, LLVMValueRef like, reduced *r) {
    LLVMValueRef args[2] = {size, LLVMConstInt(LLVMInt1TypeInContext(e->llvm), 0, false)};
    LLVMValueRef zeros = emit_intrinsic(e, "llvm.ctlz", true, args, 2);
    LLVMValueRef top = LLVMBuildShl(e->b, size, zeros, "");
    LLVMValueRef head = LLVMBuildTrunc(e->b, int_op(e, LLVMLShr, top, 75), i64_type(e), "");
    LLVMValueRef tail = LLVMBuildTrunc(e->b, int_op(e, LLVMLShr, top, 11), i64_type(e), "");
    head = mul(e, LLVMBuildUIToFP(e->b, head, LLVMTypeOf(like), ""), num(e, like, 0x1p-53));
    tail = mul(e, LLVMBuildUIToFP(e->b, tail, LLVMTypeOf(like), ""), num(e, like, 0x1p-117));

    LLVMValueRef pi = num(e, like, half_pi[0]), high = mul(e, head, pi);
    LLVMValueRef low = fma_of(e, head, pi, LLVMBuildFNeg(e->b, high, ""));
    LLVMValueRef rest = fma_of(e, head, num(e, like, half_pi[1]), mul(e, tail, pi));
    LLVMValueRef power = LLVMBuildTrunc(e->b, zeros, i64_type(e), "");
    power = LLVMBuildSub(e->b, emit_const_like(e, power, 1023), power, "");
    power = float_of(e, int_op(e, LLVMShl, power, 52), like);
    r->high = mul(e, high, power);
    r->low = mul(e, add(e, low, rest), power);
}

// x = m 2^exponent, m an integer of 53 bits. The bit k of 2/pi (1 the first after the point)
// contributes m 2^(exponent - k), which is a multiple of 4 for k < exponent - 1. Rounding to the
// nearest quadrant makes the rest a signed number; infinite and NaN operands give NaN.
static reduced payne_hanek(emitter *e, LLVMValueRef x) {
    LLVMValueRef bits = bits_of(e, magnitude(e, x), 64);
    LLVMValueRef field = int_op(e, LLVMLShr, bits, 52); // exponent + 1075
    LLVMValueRef m = int_op(e, LLVMOr, int_op(e, LLVMAnd, bits, (1ull << 52) - 1), 1ull << 52);
    LLVMValueRef parts[3];
    load_bits(e, int_op(e, LLVMSub, field, 1075 - 62), parts);
    LLVMValueRef product = multiply(e, m, parts);

    reduced r;
    LLVMValueRef fraction = int_op(e, LLVMShl, product, 2);
    LLVMValueRef zero = emit_const_like(e, fraction, 0);
    LLVMValueRef below = LLVMBuildICmp(e->b, LLVMIntSLT, fraction, zero, "");
    LLVMTypeRef i32 = LLVMInt32TypeInContext(e->llvm);
    r.n = LLVMBuildTrunc(e->b, int_op(e, LLVMLShr, product, 126), i32, "");
    r.n = LLVMBuildAdd(e->b, r.n, LLVMBuildZExt(e->b, below, i32, ""), "");
    to_angle(e, choose(e, below, LLVMBuildNeg(e->b, fraction, ""), fraction), x, &r);

    LLVMValueRef minus = compare(e, LLVMRealOLT, x, 0), flip = LLVMBuildXor(e->b, minus, below, "");
    r.high = choose(e, flip, LLVMBuildFNeg(e->b, r.high, ""), r.high);
    r.low = choose(e, flip, LLVMBuildFNeg(e->b, r.low, ""), r.low);
    r.high = add(e, r.high, sub(e, x, x));
    r.n = choose(e, minus, LLVMBuildNeg(e->b, r.n, ""), r.n);
    return r;
}

/// {double, double, i32} tile.reduce_angle(double), for |x| >= 2^30. No kernel can be called so.
static LLVMValueRef reduce_function(emitter *e, LLVMTypeRef *type) {
    LLVMTypeRef f64 = LLVMDoubleTypeInContext(e->llvm);
    LLVMTypeRef fields[3] = {f64, f64, LLVMInt32TypeInContext(e->llvm)};
    *type = LLVMFunctionType(LLVMStructTypeInContext(e->llvm, fields, 3, false), &f64, 1, false);
    LLVMValueRef fn = LLVMGetNamedFunction(e->module, "tile.reduce_angle");
    if (fn)
        return fn;
    fn = LLVMAddFunction(e->module, "tile.reduce_angle", *type);
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
    LLVMMetadataRef line = LLVMGetCurrentDebugLocation2(e->b);
    LLVMSetCurrentDebugLocation2(e->b, NULL);
    LLVMPositionBuilderAtEnd(e->b, LLVMAppendBasicBlockInContext(e->llvm, fn, ""));
    reduced r = payne_hanek(e, LLVMGetParam(fn, 0));
    LLVMValueRef results[3] = {r.high, r.low, r.n};
    LLVMBuildAggregateRet(e->b, results, 3);
    LLVMPositionBuilderAtEnd(e->b, here);
    LLVMSetCurrentDebugLocation2(e->b, line);
    return fn;
}

static reduced reduce_huge(emitter *e, LLVMValueRef x) {
    LLVMTypeRef type;
    LLVMValueRef fn = reduce_function(e, &type);
    LLVMValueRef call = LLVMBuildCall2(e->b, type, fn, &x, 1, "");
    return (reduced){LLVMBuildExtractValue(e->b, call, 0, ""),
                     LLVMBuildExtractValue(e->b, call, 1, ""),
                     LLVMBuildExtractValue(e->b, call, 2, "")};
}

// ---------------------------------------------------------------------------- Cody and Waite

/// n = round(x 2/pi), as a float; its low bits are in *bits: adding 1.5 * 2^(width of the mantissa)
/// rounds to an integer.
static LLVMValueRef nearest_quadrant(emitter *e, LLVMValueRef x, double two_over_pi_rounded,
                                     double round, unsigned width, LLVMValueRef *bits) {
    LLVMValueRef shifted = fma_of(e, x, num(e, x, two_over_pi_rounded), num(e, x, round));
    *bits = bits_of(e, shifted, width);
    return sub(e, shifted, num(e, x, round));
}

// The first product and difference are exact together; the two others round at the size of the
// result. Good while n has 16 bits.
static reduced reduce_f32(emitter *e, LLVMValueRef x) {
    reduced near, huge;
    LLVMValueRef n = nearest_quadrant(e, x, 0x1.45f306p-1, 0x1.8p23, 32, &near.n);
    near.high = fma_of(e, n, num(e, x, -half_pi_f32[0]), x);
    near.high = fma_of(e, n, num(e, x, -half_pi_f32[1]), near.high);
    near.high = fma_of(e, n, num(e, x, -half_pi_f32[2]), near.high);
    LLVMValueRef far = compare(e, LLVMRealUGE, magnitude(e, x), 0x1p15);
    nvptx_guard g = nvptx_begin_guard(e, far);
    huge = reduce_huge(e, LLVMBuildFPExt(e->b, x, LLVMDoubleTypeInContext(e->llvm), ""));
    huge.high = LLVMBuildFPTrunc(e->b, huge.high, LLVMTypeOf(x), "");
    nvptx_end_guard(e, &g);
    return (reduced){.high = nvptx_merge(e, &g, huge.high, near.high),
                     .n = nvptx_merge(e, &g, huge.n, near.n)};
}

// The first step is exact; the second keeps its rounding errors, that of the product and that of
// the difference, in low, where the third part goes too. Good while n has 31 bits.
static reduced reduce_f64(emitter *e, LLVMValueRef x) {
    reduced near, huge;
    LLVMValueRef bits;
    LLVMValueRef n = nearest_quadrant(e, x, 0x1.45f306dc9c883p-1, 0x1.8p52, 64, &bits);
    near.n = LLVMBuildTrunc(e->b, bits, LLVMInt32TypeInContext(e->llvm), "");
    LLVMValueRef a = fma_of(e, n, num(e, x, -half_pi[0]), x);
    LLVMValueRef b = mul(e, n, num(e, x, half_pi[1]));
    LLVMValueRef b_rest = fma_of(e, n, num(e, x, half_pi[1]), LLVMBuildFNeg(e->b, b, ""));
    near.high = sub(e, a, b);
    LLVMValueRef b_taken = sub(e, a, near.high), a_taken = add(e, near.high, b_taken);
    near.low = add(e, sub(e, a, a_taken), sub(e, b_taken, b));
    near.low = fma_of(e, n, num(e, x, -half_pi[2]), sub(e, near.low, b_rest));
    nvptx_guard g = nvptx_begin_guard(e, compare(e, LLVMRealUGE, magnitude(e, x), 0x1p30));
    huge = reduce_huge(e, x);
    nvptx_end_guard(e, &g);
    return (reduced){.high = nvptx_merge(e, &g, huge.high, near.high),
                     .low = nvptx_merge(e, &g, huge.low, near.low),
                     .n = nvptx_merge(e, &g, huge.n, near.n)};
}

// ---------------------------------------------------------------------------- the functions

// sin r = r + r (z S(z)), z = r^2; cos r = 1 - z/2 + z^2 C(z). The product with r comes last in
// sine, so that -0 stays.
static void sin_cos_f32(emitter *e, const reduced *a, LLVMValueRef *sine, LLVMValueRef *cosine) {
    static const double s[] = {0, -0x1.555556p-3, 0x1.111174p-7, -0x1.a0591cp-13, 0x1.7c1014p-19};
    static const double c[] = {1, -0.5, 0x1.55554ap-5, -0x1.6c0c2p-10, 0x1.99e428p-16};
    LLVMValueRef r = a->high, z = mul(e, r, r);
    *sine = fma_of(e, polynomial(e, z, s, 4), r, r);
    *cosine = polynomial(e, z, c, 4);
}

// The same with low, by the derivatives: 1 - z/2 for sine and -r for cosine. 1 - z/2 is taken
// as the rounded difference and what its rounding lost.
static void sin_cos_f64(emitter *e, const reduced *a, LLVMValueRef *sine, LLVMValueRef *cosine) {
    static const double s[] = {-0x1.5555555555548p-3,  0x1.111111110f730p-7,
                               -0x1.a01a019be9217p-13, 0x1.71de35552b5afp-19,
                               -0x1.ae5e4b83fb84ap-26, 0x1.5d8b55a2a8213p-33};
    static const double c[] = {0x1.555555555554bp-5,  -0x1.6c16c16c15015p-10,
                               0x1.a01a019c8f25cp-16, -0x1.27e4f7f19223ap-22,
                               0x1.1ee9dbcfec725p-29, -0x1.8fa68532880a0p-37};
    LLVMValueRef r = a->high, z = mul(e, r, r), half = mul(e, z, num(e, r, 0.5));
    LLVMValueRef slope = sub(e, num(e, r, 1), half);
    LLVMValueRef rest = fma_of(e, mul(e, z, r), polynomial(e, z, s, 5), mul(e, a->low, slope));
    *sine = choose(e, compare(e, LLVMRealOEQ, r, 0), r, add(e, r, rest));
    LLVMValueRef lost = sub(e, sub(e, num(e, r, 1), slope), half);
    LLVMValueRef change = mul(e, r, a->low);
    rest = fma_of(e, mul(e, z, z), polynomial(e, z, c, 5), sub(e, lost, change));
    *cosine = add(e, slope, rest);
}

LLVMValueRef nvptx_sin_cos(emitter *e, dtype t, bool cosine, LLVMValueRef x) {
    reduced a = t == DT_FP64 ? reduce_f64(e, x) : reduce_f32(e, x);
    LLVMValueRef as_sine, as_cosine, q = a.n, zero = emit_const_i32(e, 0);
    (t == DT_FP64 ? sin_cos_f64 : sin_cos_f32)(e, &a, &as_sine, &as_cosine);
    if (cosine) // cos x = sin(x + pi/2)
        q = int_op(e, LLVMAdd, q, 1);
    LLVMValueRef odd = LLVMBuildICmp(e->b, LLVMIntNE, int_op(e, LLVMAnd, q, 1), zero, "");
    LLVMValueRef down = LLVMBuildICmp(e->b, LLVMIntNE, int_op(e, LLVMAnd, q, 2), zero, "");
    LLVMValueRef v = choose(e, odd, as_cosine, as_sine);
    return choose(e, down, LLVMBuildFNeg(e->b, v, ""), v);
}
