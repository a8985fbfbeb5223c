// Arithmetic of the host target that has no plain LLVM form. What LLVM can select everywhere is
// emitted in place (square roots, fp32 <-> fp64, bf16 -> fp32, minimum and maximum); the rest is a
// call per register into host_math.c.
#include "codegen/host_emit.h"

static unsigned count_of(LLVMValueRef v) {
    LLVMTypeRef type = LLVMTypeOf(v);
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type) : 1;
}

/// A scalar dtype as a type like x: itself or 32 of it.
static LLVMTypeRef type_like(emitter *e, dtype t, LLVMValueRef x) {
    return emit_type_like(e, host_value_type(e, t), x);
}

static bool is_small(dtype t) { return dtype_is_float(t) && dtype_bits(t) < 32; }

// ---------------------------------------------------------------------------- conversions

/// The general conversion, by a call.
static LLVMValueRef convert(emitter *e, dtype from, dtype to, bool rtz, LLVMValueRef x) {
    uint32_t code = (uint32_t)from | (uint32_t)to << 8 | (rtz ? 1u << 16 : 0);
    LLVMValueRef out = host_slot_new(e, count_of(x) * dtype_bytes(to));
    LLVMValueRef args[] = {host_u32(e, code), host_u32(e, count_of(x)), host_slot_of(e, x), out};
    host_call(e, "host_convert", args, 4);
    return host_slot_load(e, out, 0, type_like(e, to, x));
}

/// bf16 is the upper half of an fp32.
static LLVMValueRef widen_bfloat(emitter *e, LLVMValueRef x) {
    LLVMValueRef wide = LLVMBuildZExt(e->b, x, emit_int_like(e, 32, x), "");
    wide = LLVMBuildShl(e->b, wide, emit_const_like(e, wide, 16), "");
    return LLVMBuildBitCast(e->b, wide, type_like(e, DT_FP32, x), "");
}

LLVMValueRef host_emit_float_cast(emitter *e, dtype from, dtype to, bool rtz, LLVMValueRef x) {
    if (from == to)
        return x;
    if (from == DT_FP32 && to == DT_FP64)
        return LLVMBuildFPExt(e->b, x, type_like(e, to, x), "");
    if (from == DT_FP64 && to == DT_FP32 && !rtz)
        return LLVMBuildFPTrunc(e->b, x, type_like(e, to, x), "");
    if (from == DT_BF16 && to == DT_FP32)
        return widen_bfloat(e, x);
    if (is_small(from) && to == DT_FP64) {
        x = host_emit_float_cast(e, from, DT_FP32, false, x);
        return LLVMBuildFPExt(e->b, x, type_like(e, to, x), "");
    }
    return convert(e, from, to, rtz, x);
}

// LLVM's saturating conversions agree with the GPU's up to 32 bits; beyond, and from fp64, NaN
// differs, and a call is shorter than what LLVM would expand. See float_to_int in host_math.c.
LLVMValueRef host_emit_float_to_int(emitter *e, dtype from, dtype to, LLVMValueRef x) {
    if (is_small(from)) {
        x = host_emit_float_cast(e, from, DT_FP32, false, x);
        from = DT_FP32;
    }
    if (to == DT_I1)
        return LLVMBuildFCmp(e->b, LLVMRealUNE, x, LLVMConstNull(LLVMTypeOf(x)), "");
    if (from != DT_FP32 || dtype_bits(to) == 64)
        return convert(e, from, to, false, x);
    const char *name = dtype_is_signed(to) ? "llvm.fptosi.sat" : "llvm.fptoui.sat";
    unsigned bits = dtype_bits(to) < 16 ? 16 : dtype_bits(to);
    LLVMTypeRef types[2] = {emit_int_like(e, bits, x), LLVMTypeOf(x)};
    LLVMValueRef fn =
        LLVMGetIntrinsicDeclaration(e->module, LLVMLookupIntrinsicID(name, strlen(name)), types, 2);
    LLVMValueRef v = LLVMBuildCall2(e->b, LLVMGlobalGetValueType(fn), fn, &x, 1, "");
    return dtype_bits(to) < bits ? LLVMBuildTrunc(e->b, v, type_like(e, to, x), "") : v;
}

LLVMValueRef host_emit_int_to_float(emitter *e, dtype from, dtype to, LLVMValueRef x) {
    if (!is_small(to)) {
        LLVMTypeRef type = type_like(e, to, x);
        return dtype_is_signed(from) ? LLVMBuildSIToFP(e->b, x, type, "")
                                     : LLVMBuildUIToFP(e->b, x, type, "");
    }
    if (from == DT_I1) { // bits do not go through memory
        x = LLVMBuildZExt(e->b, x, emit_int_like(e, 8, x), "");
        from = DT_U8;
    }
    return convert(e, from, to, false, x);
}

// ---------------------------------------------------------------------------- functions

/// Runs `fn` on fp32 in place of a smaller type.
typedef LLVMValueRef float_fn(emitter *e, dtype t, LLVMValueRef x, LLVMValueRef y);

static LLVMValueRef in_fp32(emitter *e, dtype t, float_fn *fn, LLVMValueRef x, LLVMValueRef y) {
    x = host_emit_float_cast(e, t, DT_FP32, false, x);
    y = host_emit_float_cast(e, t, DT_FP32, false, y);
    return host_emit_float_cast(e, DT_FP32, t, false, fn(e, DT_FP32, x, y));
}

LLVMValueRef host_emit_math(emitter *e, ir_opcode op, dtype t, bool approx, LLVMValueRef x) {
    if (is_small(t)) {
        x = host_emit_float_cast(e, t, DT_FP32, false, x);
        x = host_emit_math(e, op, DT_FP32, approx,
                           x); // nothing here is faster for being less exact
        return host_emit_float_cast(e, DT_FP32, t, false, x);
    }
    if (op == OP_SQRT)
        return emit_intrinsic(e, "llvm.sqrt", true, &x, 1);
    if (op == OP_ABS)
        return emit_intrinsic(e, "llvm.fabs", true, &x, 1);
    LLVMValueRef out = host_slot_new(e, count_of(x) * dtype_bytes(t));
    LLVMValueRef args[] = {host_u32(e, op), host_u32(e, t), host_slot_of(e, x), out,
                           host_u32(e, count_of(x))};
    host_call(e, "host_math", args, 5);
    return host_slot_load(e, out, 0, LLVMTypeOf(x));
}

static LLVMValueRef divide(emitter *e, dtype t, LLVMValueRef x, LLVMValueRef y) {
    (void)t;
    return LLVMBuildFDiv(e->b, x, y, "");
}

LLVMValueRef host_emit_fdiv(emitter *e, dtype t, bool precise, LLVMValueRef x, LLVMValueRef y) {
    (void)precise; // always is
    return is_small(t) ? in_fp32(e, t, divide, x, y) : divide(e, t, x, y);
}

// No processor divides vectors of integers: LLVM would take 32 lanes apart and put them together.
LLVMValueRef host_emit_int_div(emitter *e, dtype t, bool rem, LLVMValueRef x, LLVMValueRef y) {
    LLVMValueRef out = host_slot_new(e, count_of(x) * dtype_bytes(t));
    LLVMValueRef args[] = {host_u32(e, (uint32_t)t | (rem ? 1u << 8 : 0)), host_slot_of(e, x),
                           host_slot_of(e, y), out, host_u32(e, count_of(x))};
    host_call(e, "host_divide", args, 5);
    return host_slot_load(e, out, 0, LLVMTypeOf(x));
}

static LLVMValueRef remainder_of(emitter *e, dtype t, LLVMValueRef x, LLVMValueRef y) {
    LLVMValueRef out = host_slot_new(e, count_of(x) * dtype_bytes(t));
    LLVMValueRef args[] = {host_u32(e, t), host_slot_of(e, x), host_slot_of(e, y), out,
                           host_u32(e, count_of(x))};
    host_call(e, "host_remainder", args, 5);
    return host_slot_load(e, out, 0, LLVMTypeOf(x));
}

LLVMValueRef host_emit_frem(emitter *e, dtype t, LLVMValueRef x, LLVMValueRef y) {
    return is_small(t) ? in_fp32(e, t, remainder_of, x, y) : remainder_of(e, t, x, y);
}

// Equal operands differ at most in the sign of zero: AND of the bits gives +0 unless both are -0,
// OR gives -0 unless both are +0. An unordered comparison is false, so a NaN in x leaves y.
static LLVMValueRef min_max(emitter *e, dtype t, bool is_max, bool nan_wins, LLVMValueRef x,
                            LLVMValueRef y) {
    LLVMTypeRef bits = emit_int_like(e, dtype_bits(t), x), type = LLVMTypeOf(x);
    LLVMValueRef xi = LLVMBuildBitCast(e->b, x, bits, ""), yi = LLVMBuildBitCast(e->b, y, bits, "");
    LLVMValueRef both = is_max ? LLVMBuildAnd(e->b, xi, yi, "") : LLVMBuildOr(e->b, xi, yi, "");
    LLVMValueRef x_wins = LLVMBuildFCmp(e->b, is_max ? LLVMRealOGT : LLVMRealOLT, x, y, "");
    LLVMValueRef equal = LLVMBuildFCmp(e->b, LLVMRealOEQ, x, y, "");
    LLVMValueRef v = LLVMBuildSelect(e->b, x_wins, x, y, "");
    v = LLVMBuildSelect(e->b, equal, LLVMBuildBitCast(e->b, both, type, ""), v, "");
    LLVMValueRef decider = nan_wins ? x : y; // whose being NaN makes x the result
    LLVMValueRef is_nan = LLVMBuildFCmp(e->b, LLVMRealUNO, decider, decider, "");
    return LLVMBuildSelect(e->b, is_nan, x, v, "");
}

LLVMValueRef host_emit_fminmax(emitter *e, dtype t, bool is_max, bool nan_wins, LLVMValueRef x,
                               LLVMValueRef y) {
    if (!is_small(t))
        return min_max(e, t, is_max, nan_wins, x, y);
    x = host_emit_float_cast(e, t, DT_FP32, false, x);
    y = host_emit_float_cast(e, t, DT_FP32, false, y);
    return host_emit_float_cast(e, DT_FP32, t, false, min_max(e, DT_FP32, is_max, nan_wins, x, y));
}
