// Conversions between number formats on NVIDIA GPUs. Every one rounds once. fp8 is the hardware's
// from sm_89 on, where the PTX version allows it, and integer code (emit_fp8.c) elsewhere, with the
// same bits.
#include "codegen/emit_math.h"
#include "codegen/nvptx.h"

static LLVMValueRef instruction(emitter *e, const char *text, const char *registers,
                                LLVMTypeRef result, LLVMValueRef x) {
    return nvptx_asm(e, result, text, registers, &x, 1, 0);
}

static bool is_fp8(dtype t) { return dtype_is_float(t) && dtype_bits(t) == 8; }

static const char *ptx_float(dtype t) {
    return t == DT_FP16 ? "f16" : t == DT_BF16 ? "bf16" : t == DT_FP32 ? "f32" : "f64";
}

/// Narrowing towards zero: cvt.rz. fp64 to 16 bits goes through fp32; cutting twice is cutting
/// once.
static LLVMValueRef cut(emitter *e, dtype from, dtype to, LLVMValueRef x) {
    if (from == DT_FP64 && to != DT_FP32) {
        x = cut(e, DT_FP64, DT_FP32, x);
        from = DT_FP32;
    }
    LLVMTypeRef type = e->tgt->value_type(e, to);
    LLVMTypeRef held = dtype_bits(to) == 16 ? LLVMInt16TypeInContext(e->llvm) : type;
    const char *text =
        sv_format(e->arena, "cvt.rz.%s.%s $0, $1;", ptx_float(to), ptx_float(from)).data;
    const char *registers = to == DT_FP32 ? "=f,d" : "=h,f";
    return nvptx_from_bits(e, instruction(e, text, registers, held, x), type);
}

// ---------------------------------------------------------------------------- fp8

/// True if there are instructions for fp8, in the PTX version that may be used.
static bool has_fp8(emitter *e) {
    unsigned sm = nvptx_state_of(e)->sm, least = sm == 89 ? 81 : 78,
             asked = e->options->ptx_version;
    if (sm < 89 || (asked && asked < least))
        return false;
    nvptx_need_ptx(e, least);
    return true;
}

/// The instructions take two numbers at a time: the second is a zero here.
static LLVMValueRef fp8_to_half(emitter *e, LLVMValueRef x) {
    LLVMTypeRef i16 = LLVMInt16TypeInContext(e->llvm), i32 = LLVMInt32TypeInContext(e->llvm);
    x = LLVMBuildZExt(e->b, x, i16, "");
    x = instruction(e, "cvt.rn.f16x2.e4m3x2 $0, $1;", "=r,h", i32, x);
    return nvptx_from_bits(e, LLVMBuildTrunc(e->b, x, i16, ""), LLVMHalfTypeInContext(e->llvm));
}

static LLVMValueRef fp8_to_f32(emitter *e, dtype from, LLVMValueRef x) {
    if (from == DT_FP8E4NV && has_fp8(e))
        return nvptx_float_cast(e, DT_FP16, DT_FP32, false, fp8_to_half(e, x));
    return emit_fp8_to_f32(e, from, x); // fp8e5 is the upper half of an fp16
}

static LLVMValueRef f32_to_fp8(emitter *e, dtype to, bool rtz, LLVMValueRef x) {
    if (rtz || !has_fp8(e))
        return emit_f32_to_fp8(e, to, rtz, x);
    const char *text = to == DT_FP8E4NV ? "cvt.rn.satfinite.e4m3x2.f32 $0, 0f00000000, $1;"
                                        : "cvt.rn.satfinite.e5m2x2.f32 $0, 0f00000000, $1;";
    x = instruction(e, text, "=h,f", LLVMInt16TypeInContext(e->llvm), x);
    return LLVMBuildTrunc(e->b, x, LLVMInt8TypeInContext(e->llvm), "");
}

/// fp64 to fp32, inexact results made odd: they lie on the same side of every number of less digits
/// as x does, so that rounding once more is rounding once.
static LLVMValueRef narrow_to_odd(emitter *e, LLVMValueRef x) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(e->llvm);
    LLVMValueRef near = cut(e, DT_FP64, DT_FP32, x);
    LLVMValueRef back = LLVMBuildFPExt(e->b, near, LLVMTypeOf(x), "");
    LLVMValueRef inexact = LLVMBuildFCmp(e->b, LLVMRealONE, back, x, "");
    LLVMValueRef bits = LLVMBuildBitCast(e->b, near, i32, "");
    bits = LLVMBuildOr(e->b, bits, LLVMBuildZExt(e->b, inexact, i32, ""), "");
    return LLVMBuildBitCast(e->b, bits, LLVMTypeOf(near), "");
}

// ---------------------------------------------------------------------------- floats

/// Integer instructions, for of two bf16 in a register the upper one is there but for a mask.
static LLVMValueRef widen_bf16(emitter *e, LLVMValueRef x) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(e->llvm);
    LLVMValueRef bits = LLVMBuildBitCast(e->b, x, LLVMInt16TypeInContext(e->llvm), "");
    bits = LLVMBuildShl(e->b, LLVMBuildZExt(e->b, bits, i32, ""), LLVMConstInt(i32, 16, false), "");
    return LLVMBuildBitCast(e->b, bits, LLVMFloatTypeInContext(e->llvm), "");
}

LLVMValueRef nvptx_float_cast(emitter *e, dtype from, dtype to, bool rtz, LLVMValueRef x) {
    if (from == to)
        return x;
    if (is_fp8(from))
        return nvptx_float_cast(e, DT_FP32, to, rtz, fp8_to_f32(e, from, x));
    if (is_fp8(to)) {
        x = from == DT_FP64 ? narrow_to_odd(e, x) : nvptx_float_cast(e, from, DT_FP32, false, x);
        return f32_to_fp8(e, to, rtz, x);
    }
    if (dtype_bits(from) == 16 && dtype_bits(to) == 16) // fp16 and bf16
        return nvptx_float_cast(e, DT_FP32, to, rtz, nvptx_float_cast(e, from, DT_FP32, false, x));
    if (from == DT_FP64 && dtype_bits(to) == 16 && !rtz) // else to half a register, as below
        return nvptx_float_cast(e, DT_FP32, to, false, narrow_to_odd(e, x));
    if (from == DT_BF16 && to == DT_FP32)
        return widen_bf16(e, x);
    LLVMTypeRef type = e->tgt->value_type(e, to);
    if (dtype_bits(to) > dtype_bits(from))
        return LLVMBuildFPExt(e->b, x, type, "");
    return rtz ? cut(e, from, to, x) : LLVMBuildFPTrunc(e->b, x, type, "");
}

// ---------------------------------------------------------------------------- integers

/// cvt.<round>.<to>.<from> between fp32 or fp64 and an integer in a register of 32 bits or more.
static LLVMValueRef convert(emitter *e, const char *round, const char *to, const char *from,
                            LLVMTypeRef type, LLVMValueRef x) {
    LLVMTypeRef types[2] = {type, LLVMTypeOf(x)};
    char registers[] = "=?,?";
    for (unsigned i = 0; i < 2; i++) {
        LLVMTypeKind kind = LLVMGetTypeKind(types[i]);
        bool is_wide = kind == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(types[i]) == 64;
        registers[1 + 2 * i] = kind == LLVMFloatTypeKind    ? 'f'
                               : kind == LLVMDoubleTypeKind ? 'd'
                               : is_wide                    ? 'l'
                                                            : 'r';
    }
    return instruction(e, sv_format(e->arena, "cvt.%s.%s.%s $0, $1;", round, to, from).data,
                       sv_format(e->arena, "%s", registers).data, type, x);
}

static const char *ptx_int(emitter *e, dtype t, unsigned bits) {
    return sv_format(e->arena, "%c%u", dtype_is_signed(t) ? 's' : 'u', bits).data;
}

/// x where it compares so with a bound, else the bound.
static LLVMValueRef within(emitter *e, LLVMIntPredicate compare, LLVMValueRef x, int bound) {
    LLVMValueRef limit = LLVMConstInt(LLVMTypeOf(x), (unsigned long long)bound, true);
    return LLVMBuildSelect(e->b, LLVMBuildICmp(e->b, compare, x, limit, ""), x, limit, "");
}

// cvt.rzi saturates. 8-bit results are what the low byte of the 16-bit one is, as in Triton. Those of
// 16 bits are those of 32 cut to their range: ptxas of CUDA 13.0 takes what an instruction for 16 makes
// for zero-extended, whatever register it goes to, makes it anew elsewhere, and may then copy its lower
// half into a register whose upper one is something else.
LLVMValueRef nvptx_float_to_int(emitter *e, dtype from, dtype to, LLVMValueRef x) {
    unsigned bits = dtype_bits(to) < 32 ? 32 : dtype_bits(to);
    LLVMTypeRef type = LLVMIntTypeInContext(e->llvm, bits);
    LLVMValueRef v = convert(e, "rzi", ptx_int(e, to, bits), ptx_float(from), type, x);
    if (dtype_bits(to) >= 32)
        return v;
    bool is_signed = dtype_is_signed(to);
    v = within(e, is_signed ? LLVMIntSLT : LLVMIntULT, v, is_signed ? INT16_MAX : UINT16_MAX);
    if (is_signed)
        v = within(e, LLVMIntSGT, v, INT16_MIN);
    if (from == DT_FP64 && !is_signed) { // of fp64 a NaN becomes the highest bit, of others 0
        LLVMValueRef is_nan = LLVMBuildFCmp(e->b, LLVMRealUNO, x, x, "");
        v = LLVMBuildSelect(e->b, is_nan, LLVMConstInt(type, 0x8000, false), v, "");
    }
    return LLVMBuildTrunc(e->b, v, e->tgt->value_type(e, to), "");
}

/// An integer of 32 or 64 bits to fp32, inexact results made odd, as narrow_to_odd does.
static LLVMValueRef int_to_odd(emitter *e, dtype from, LLVMValueRef x) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(e->llvm), f32 = LLVMFloatTypeInContext(e->llvm);
    const char *name = ptx_int(e, from, dtype_bits(from));
    LLVMValueRef near = convert(e, "rz", "f32", name, f32, x);
    LLVMValueRef back = convert(e, "rzi", name, "f32", LLVMTypeOf(x), near);
    LLVMValueRef inexact = LLVMBuildICmp(e->b, LLVMIntNE, back, x, "");
    LLVMValueRef bits = LLVMBuildBitCast(e->b, near, i32, "");
    bits = LLVMBuildOr(e->b, bits, LLVMBuildZExt(e->b, inexact, i32, ""), "");
    return LLVMBuildBitCast(e->b, bits, f32, "");
}

// To 16 bits and less it goes through fp32, which is exact of integers of 16 bits; of larger ones it
// makes no difference to fp8 and fp16, in which what fp32 rounds is infinite or saturates. The
// instructions that go there at once need sm_90 for bf16, and their results go to half a register
// (see round_to_int in nvptx_math.c); LLVM would take them if it saw both steps.
LLVMValueRef nvptx_int_to_float(emitter *e, dtype from, dtype to, LLVMValueRef x) {
    bool is_signed = dtype_is_signed(from);
    unsigned bits = dtype_bits(from);
    LLVMTypeRef f32 = LLVMFloatTypeInContext(e->llvm), i32 = LLVMInt32TypeInContext(e->llvm);
    if (dtype_bits(to) > 16 || from == DT_I1) {
        LLVMTypeRef type = is_fp8(to) ? f32 : e->tgt->value_type(e, to);
        x = is_signed ? LLVMBuildSIToFP(e->b, x, type, "") : LLVMBuildUIToFP(e->b, x, type, "");
        return is_fp8(to) ? nvptx_float_cast(e, DT_FP32, to, false, x) : x;
    }
    if (bits < 32)
        x = is_signed ? LLVMBuildSExt(e->b, x, i32, "") : LLVMBuildZExt(e->b, x, i32, "");
    else if (to == DT_BF16)
        return nvptx_float_cast(e, DT_FP32, to, false, int_to_odd(e, from, x));
    x = convert(e, "rn", "f32", ptx_int(e, from, bits < 32 ? 32 : bits), f32, x);
    return nvptx_float_cast(e, DT_FP32, to, false, x);
}
