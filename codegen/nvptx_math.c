// Functions of one float, division, minimum and maximum, and conversions on NVIDIA GPUs. exp and
// exp2 are the hardware's ex2.approx, division is div.full, as in Triton (RULES 9); logarithms,
// sine and cosine are computed, because the hardware's forms lose all precision near their zeros
// (emit_math.c, emit_erf.c, nvptx_trig.c).
// fp16 and bf16 come here only where the hardware has the operation for them.
#include "codegen/emit_math.h"
#include "codegen/llvm_backend.h"
#include "codegen/nvptx.h"

#include <math.h>

static LLVMTypeRef f32_type(emitter *e) { return LLVMFloatTypeInContext(e->llvm); }

static LLVMValueRef f32(emitter *e, double v) { return LLVMConstReal(f32_type(e), v); }

static LLVMValueRef fma_of(emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
    return emit_intrinsic(e, "llvm.fma", true, (LLVMValueRef[]){a, b, c}, 3);
}

/// One instruction of one operand, of its result type.
static LLVMValueRef instruction(emitter *e, const char *text, const char *registers,
                                LLVMTypeRef result, LLVMValueRef x) {
    return nvptx_asm(e, result, text, registers, &x, 1, 0);
}

LLVMValueRef nvptx_ex2(emitter *e, LLVMValueRef x, bool flushes) {
    bool overloaded = llvm_major_version() >= 22;
    const char *name = sv_format(e->arena, "llvm.nvvm.ex2.approx.%sf%s", flushes ? "ftz." : "",
                                 overloaded ? "32" : "")
                           .data;
    return nvptx_call(e, name, f32_type(e), &x, 1);
}

// ---------------------------------------------------------------------------- functions

static LLVMValueRef math_f32(emitter *e, ir_opcode op, LLVMValueRef x) {
    switch (op) {
    case OP_EXP: // no contraction here: a difference in x has been rounded already
        return nvptx_ex2(e, LLVMBuildFMul(e->b, x, f32(e, 1.44269504088896340736), ""), false);
    case OP_EXP2:
        return nvptx_ex2(e, x, false);
    case OP_LOG:
    case OP_LOG2:
        return emit_log_f32(e, x, op == OP_LOG2);
    case OP_SQRT:
        return instruction(e, "sqrt.rn.f32 $0, $1;", "=f,f", f32_type(e), x);
    default: // rsqrt
        return instruction(e, "rsqrt.approx.f32 $0, $1;", "=f,f", f32_type(e), x);
    }
}

static LLVMValueRef math_f64(emitter *e, ir_opcode op, LLVMValueRef x) {
    LLVMTypeRef f64 = LLVMTypeOf(x);
    switch (op) {
    case OP_EXP:
    case OP_EXP2:
        return emit_exp_f64(e, x, op == OP_EXP2);
    case OP_LOG:
    case OP_LOG2:
        return emit_log_f64(e, x, op == OP_LOG2);
    case OP_SQRT:
        return instruction(e, "sqrt.rn.f64 $0, $1;", "=d,d", f64, x);
    default: // rsqrt
        x = instruction(e, "sqrt.rn.f64 $0, $1;", "=d,d", f64, x);
        return LLVMBuildFDiv(e->b, LLVMConstReal(f64, 1), x, "");
    }
}

/// The hardware's own form of a function, where that is asked for.
static const char *const fast_forms[IR_OPCODE_COUNT] = {
    [OP_LOG2] = "lg2.approx.f32 $0, $1;",
    [OP_SIN] = "sin.approx.f32 $0, $1;",
    [OP_COS] = "cos.approx.f32 $0, $1;",
    [OP_TANH] = "tanh.approx.f32 $0, $1;",
};

// Not LLVM's intrinsics: it makes those of an fp16 that was widened ones of fp16, whose results go to
// half a register, and of which ptxas of CUDA 13.0 sometimes takes the wrong half afterwards.
static LLVMValueRef round_to_int(emitter *e, dtype t, const char *way, LLVMValueRef x) {
    const char *type = t == DT_FP64 ? "f64" : "f32";
    const char *text = sv_format(e->arena, "cvt.%s.%s.%s $0, $1;", way, type, type).data;
    return instruction(e, text, t == DT_FP64 ? "=d,d" : "=f,f", LLVMTypeOf(x), x);
}

LLVMValueRef nvptx_math(emitter *e, ir_opcode op, dtype t, bool approx, LLVMValueRef x) {
    if (approx && t == DT_FP32 && op == OP_EXP2)
        return nvptx_ex2(e, x, true);
    if (approx && t == DT_FP32 && fast_forms[op])
        return instruction(e, fast_forms[op], "=f,f", f32_type(e), x);
    switch (op) {
    case OP_SIN:
    case OP_COS:
        return nvptx_sin_cos(e, t, op == OP_COS, x);
    case OP_ERF:
        return emit_erf(e, t, x);
    case OP_TANH:
        return emit_tanh(e, t, x);
    case OP_FLOOR:
        return round_to_int(e, t, "rmi", x);
    case OP_CEIL:
        return round_to_int(e, t, "rpi", x);
    case OP_RINT:
        return round_to_int(e, t, "rni", x);
    case OP_TRUNC:
        return round_to_int(e, t, "rzi", x);
    default:
        return t == DT_FP64 ? math_f64(e, op, x) : math_f32(e, op, x);
    }
}

LLVMValueRef nvptx_fdiv(emitter *e, dtype t, bool precise, LLVMValueRef x, LLVMValueRef y) {
    if (t != DT_FP32 || precise)
        return LLVMBuildFDiv(e->b, x, y, ""); // div.rn
    return nvptx_asm(e, f32_type(e), "div.full.f32 $0, $1, $2;", "=f,f,f", (LLVMValueRef[]){x, y},
                     2, 0);
}

/// What x and y are multiplied by before they are divided, so that 1 / y does not overflow and is not
/// subnormal.
static LLVMValueRef division_scale(emitter *e, LLVMValueRef y) {
    LLVMValueRef size = emit_intrinsic(e, "llvm.fabs", true, &y, 1);
    LLVMValueRef tiny = LLVMBuildFCmp(e->b, LLVMRealOLT, size, f32(e, 0x1p-100), "");
    LLVMValueRef huge = LLVMBuildFCmp(e->b, LLVMRealOGT, size, f32(e, 0x1p100), "");
    LLVMValueRef scale = LLVMBuildSelect(e->b, huge, f32(e, 0x1p-64), f32(e, 1), "");
    return LLVMBuildSelect(e->b, tiny, f32(e, 0x1p64), scale, "");
}

// The quotient by a divisor that many elements share, within 0.501 ulp (one ulp of the result where
// it is subnormal); div.full is off by up to 2. What depends on y alone is computed once, LLVM keeps
// one copy: 1/y as a sum r + rest, r a little too small, so that both have y's sign and neither
// infinities nor zeros meet their opposites below. The maximum turns the NaN that y = 0 and y = inf
// give into something harmless.
LLVMValueRef nvptx_fdiv_shared(emitter *e, LLVMValueRef x, LLVMValueRef y) {
    LLVMValueRef scale = division_scale(e, y);
    y = LLVMBuildFMul(e->b, y, scale, "");
    LLVMValueRef above = LLVMBuildFMul(e->b, y, f32(e, 1 + 0x1p-22), "");
    LLVMValueRef r = LLVMBuildFDiv(e->b, f32(e, 1), above, "");
    LLVMValueRef missing = fma_of(e, LLVMBuildFNeg(e->b, r, ""), y, f32(e, 1));
    missing = emit_intrinsic(e, "llvm.maxnum", true, (LLVMValueRef[]){missing, f32(e, 0x1p-40)}, 2);
    LLVMValueRef rest = LLVMBuildFMul(e->b, r, missing, "");
    x = LLVMBuildFMul(e->b, x, scale, "");
    return fma_of(e, x, r, LLVMBuildFMul(e->b, x, rest, ""));
}

// The same within 1.5 ulp, of which the rounding to 16 bits leaves nothing but a rare tie: as good
// as div.full.
LLVMValueRef nvptx_fdiv_rough(emitter *e, LLVMValueRef x, LLVMValueRef y) {
    LLVMValueRef scale = division_scale(e, y);
    LLVMValueRef r = LLVMBuildFDiv(e->b, f32(e, 1), LLVMBuildFMul(e->b, y, scale, ""), "");
    return LLVMBuildFMul(e->b, LLVMBuildFMul(e->b, x, scale, ""), r, "");
}

/// y times 2^step, if that is no more than x.
static LLVMValueRef raise_towards(emitter *e, LLVMValueRef y, LLVMValueRef x, int step) {
    LLVMValueRef scale = LLVMConstReal(LLVMTypeOf(x), ldexp(1, step));
    LLVMValueRef raised = LLVMBuildFMul(e->b, y, scale, "");
    LLVMValueRef fits = LLVMBuildFCmp(e->b, LLVMRealOLE, raised, x, "");
    return LLVMBuildSelect(e->b, fits, raised, y, "");
}

// A quotient that is never rounded up takes whole multiples of y away, and what is left is exact:
// one round where the quotient fits the type, another for each 24 (fp32) or 53 bits more. Where the
// quotient would be too large for a number of its type (up to 2^277, 2^2098), multiples of y times a
// power of two go first; a third of the exponents at a time. An infinite y leaves infinities too, as
// Triton has it.
LLVMValueRef nvptx_frem(emitter *e, dtype t, LLVMValueRef x, LLVMValueRef y) {
    bool wide = t == DT_FP64;
    int step = wide ? 700 : 90;
    const char *divide = wide ? "div.rz.f64 $0, $1, $2;" : "div.rz.f32 $0, $1, $2;";
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b);
    LLVMBasicBlockRef round = emit_new_block(e, "rem"), after = emit_new_block(e, "rem.end");
    LLVMValueRef size = emit_intrinsic(e, "llvm.fabs", true, &y, 1);
    LLVMBuildBr(e->b, round);

    LLVMPositionBuilderAtEnd(e->b, round);
    LLVMValueRef rest = LLVMBuildPhi(e->b, LLVMTypeOf(x), "");
    LLVMValueRef rest_size = emit_intrinsic(e, "llvm.fabs", true, &rest, 1);
    LLVMValueRef by = raise_towards(e, raise_towards(e, size, rest_size, step), rest_size, step);
    LLVMValueRef q = nvptx_asm(e, LLVMTypeOf(x), divide, wide ? "=d,d,d" : "=f,f,f",
                               (LLVMValueRef[]){rest, by}, 2, 0);
    q = emit_intrinsic(e, "llvm.trunc", true, &q, 1);
    LLVMValueRef less = fma_of(e, LLVMBuildFNeg(e->b, q, ""), by, rest);
    LLVMValueRef size_left = emit_intrinsic(e, "llvm.fabs", true, &less, 1);
    LLVMValueRef more = LLVMBuildFCmp(e->b, LLVMRealOGE, size_left, size, "");
    LLVMBuildCondBr(e->b, more, round, after);
    LLVMAddIncoming(rest, (LLVMValueRef[]){x, less}, (LLVMBasicBlockRef[]){before, round}, 2);

    LLVMPositionBuilderAtEnd(e->b, after);
    LLVMValueRef infinity = LLVMConstReal(LLVMTypeOf(y), INFINITY);
    LLVMValueRef is_infinite = LLVMBuildFCmp(e->b, LLVMRealOEQ, size, infinity, "");
    return LLVMBuildSelect(e->b, is_infinite, x, less, "");
}

LLVMValueRef nvptx_fminmax(emitter *e, dtype t, bool is_max, bool nan_wins, LLVMValueRef x,
                           LLVMValueRef y) {
    static const char *const suffix[] = {
        [DT_FP16] = "f16", [DT_BF16] = "bf16", [DT_FP32] = "f", [DT_FP64] = "d"};
    LLVMValueRef args[2] = {x, y};
    bool native_nan = nan_wins && t != DT_FP64;
    const char *name = sv_format(e->arena, "llvm.nvvm.%s.%s%s", is_max ? "fmax" : "fmin",
                                 native_nan ? "nan." : "", suffix[t])
                           .data;
    LLVMValueRef v = nvptx_call(e, name, LLVMTypeOf(x), args, 2);
    if (!nan_wins || native_nan)
        return v;
    LLVMValueRef unordered = LLVMBuildFCmp(e->b, LLVMRealUNO, x, y, "");
    return LLVMBuildSelect(e->b, unordered, LLVMConstReal(LLVMTypeOf(x), __builtin_nan("")), v, "");
}
