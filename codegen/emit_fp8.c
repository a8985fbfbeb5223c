// fp8 as plain arithmetic: for GPUs whose conversions do not know it (before sm_89), and for every
// conversion towards zero. The bits are taken apart and put together as integers, without branches.
#include "codegen/emit_math.h"
#include "codegen/math_notation.h"

#include <math.h>

// The bits of an fp8 number, moved to where fp16 has them, are that number but for the difference
// of the exponent biases: none for e5 (15 and 15), 2^8 for e4nv (7 and 15). Subnormals included.
LLVMValueRef emit_fp8_to_f32(emitter *e, dtype from, LLVMValueRef bits) {
    bool e4 = from == DT_FP8E4NV;
    LLVMValueRef wide = LLVMBuildZExt(e->b, bits, emit_int_like(e, 16, bits), "");
    LLVMValueRef sign = int_op(e, LLVMShl, int_op(e, LLVMAnd, wide, 0x80), 8);
    LLVMValueRef rest = int_op(e, LLVMShl, int_op(e, LLVMAnd, wide, 0x7f), e4 ? 7 : 8);
    LLVMValueRef half = LLVMBuildOr(e->b, sign, rest, "");
    if (!e->tgt->soft_half)
        half = LLVMBuildBitCast(e->b, half, emit_type_like(e, LLVMHalfTypeInContext(e->llvm), bits),
                                "");
    LLVMValueRef v = e->tgt->float_cast(e, DT_FP16, DT_FP32, false, half);
    if (!e4)
        return v;
    LLVMValueRef payload = int_op(e, LLVMAnd, bits, 0x7f);
    LLVMValueRef is_nan =
        LLVMBuildICmp(e->b, LLVMIntEQ, payload, emit_const_like(e, payload, 0x7f), "");
    return choose(e, is_nan, num(e, v, NAN), LLVMBuildFMul(e->b, v, num(e, v, 256), ""));
}

/// Subnormal results, counted in steps of the last place: rounded by adding a number whose last place
/// that is; where it rounded up and must not, one step back.
static LLVMValueRef fp8_subnormal(emitter *e, double last_place, bool rtz, LLVMValueRef size) {
    LLVMValueRef magic = num(e, size, last_place * 0x1p23);
    LLVMValueRef sum = LLVMBuildFAdd(e->b, size, magic, "");
    LLVMValueRef steps = LLVMBuildSub(e->b, bits_of(e, sum, 32), bits_of(e, magic, 32), "");
    if (!rtz)
        return steps;
    LLVMValueRef back = LLVMBuildUIToFP(e->b, steps, LLVMTypeOf(size), "");
    back = LLVMBuildFMul(e->b, back, num(e, size, last_place), "");
    LLVMValueRef above = LLVMBuildFCmp(e->b, LLVMRealOGT, back, size, "");
    return choose(e, above, int_op(e, LLVMSub, steps, 1), steps);
}

// Rounding at bit 2 (e5) or 3 (e4nv) of the mantissa, in the normal range by adding to the bits.
LLVMValueRef emit_f32_to_fp8(emitter *e, dtype to, bool rtz, LLVMValueRef x) {
    bool e4 = to == DT_FP8E4NV;
    unsigned mantissa = e4 ? 3 : 2, drop = 23 - mantissa, bias = e4 ? 7 : 15;
    double largest = e4 ? 448 : 57344, least_normal = e4 ? 0x1p-6 : 0x1p-14;
    LLVMValueRef bits = bits_of(e, x, 32), whole = emit_intrinsic(e, "llvm.fabs", true, &x, 1);
    LLVMValueRef is_nan = compare(e, LLVMRealUNO, x, 0);
    LLVMValueRef too_large = compare(e, LLVMRealOGT, whole, largest);
    LLVMValueRef size = choose(e, too_large, num(e, x, largest), whole);
    LLVMValueRef normal = bits_of(e, size, 32);
    if (!rtz) {
        LLVMValueRef tie = int_op(e, LLVMAnd, int_op(e, LLVMLShr, normal, drop), 1);
        normal = LLVMBuildAdd(e->b, int_op(e, LLVMAdd, normal, (1u << (drop - 1)) - 1), tie, "");
    }
    normal = int_op(e, LLVMSub, int_op(e, LLVMLShr, normal, drop), (127 - bias) << mantissa);
    LLVMValueRef small = fp8_subnormal(e, least_normal / (1u << mantissa), rtz, size);
    LLVMValueRef r = choose(e, compare(e, LLVMRealOLT, size, least_normal), small, normal);
    if (rtz && !e4)
        r = choose(e, compare(e, LLVMRealOEQ, whole, INFINITY), emit_const_like(e, r, 0x7c), r);
    r = LLVMBuildOr(e->b, r, int_op(e, LLVMAnd, int_op(e, LLVMLShr, bits, 24), 0x80), "");
    r = choose(e, is_nan, emit_const_like(e, r, 0x7f), r);
    return LLVMBuildTrunc(e->b, r, emit_int_like(e, 8, x), "");
}
