// Elementwise ops on NVIDIA GPUs that go better with several registers of a thread at a time: 16-bit
// minima and maxima are two to an instruction, and exponentials share a test.
#include "codegen/nvptx.h"

enum { GROUP = 8 }; ///< exponentials that share a test

// ex2.approx without subnormal results is one instruction; with them it is four, which scale the
// argument and square the result where the argument is below -126. Such a result is rare: a thread
// looks for the least argument of a group, and takes the long way only if there is one.
static void exp_group(emitter *e, bool natural, LLVMValueRef const *x, unsigned n,
                      LLVMValueRef *out) {
    LLVMTypeRef f32 = LLVMFloatTypeInContext(e->llvm);
    LLVMValueRef t[GROUP], least[GROUP], fast[GROUP], full[GROUP], *ways[2] = {full, fast};
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef log2_e = LLVMConstReal(f32, 1.44269504088896340736);
        t[i] = natural ? LLVMBuildFMul(e->b, x[i], log2_e, "") : x[i];
        least[i] = t[i];
    }
    for (unsigned step = 1; step < n; step *= 2)
        for (unsigned i = 0; i + step < n; i += 2 * step)
            least[i] = nvptx_fminmax(e, DT_FP32, false, false, least[i], least[i + step]);
    LLVMValueRef limit = LLVMConstReal(f32, -126);
    emit_branch b = emit_begin_branch(e, LLVMBuildFCmp(e->b, LLVMRealOLT, least[0], limit, ""));
    for (unsigned i = 0; i < n; i++)
        full[i] = nvptx_ex2(e, t[i], false);
    emit_else_branch(e, &b);
    for (unsigned i = 0; i < n; i++)
        fast[i] = nvptx_ex2(e, t[i], true);
    LLVMBasicBlockRef ends[2] = {b.inside, LLVMGetInsertBlock(e->b)};
    emit_end_branch(e, &b);
    emit_merge(e, ways, ends, n, out);
}

/// In words: what goes through inline PTX LLVM does not take apart between one op and the next.
static void extreme_pairs(emitter *e, const ir_op *op, dtype t, LLVMValueRef *const *args,
                          unsigned n, LLVMValueRef *out) {
    bool nan_wins = sv_is(ir_get_str(op, ATTR_NAN), "all");
    LLVMTypeRef i32 = LLVMInt32TypeInContext(e->llvm);
    const char *text =
        sv_format(e->arena, "%s%s.%s $0, $1, $2;", op->opcode == OP_MAX ? "max" : "min",
                  nan_wins ? ".NaN" : "", t == DT_FP16 ? "f16x2" : "bf16x2")
            .data;
    for (unsigned r = 0; r < n; r += 2) {
        LLVMValueRef v[2] = {emit_pack(e, args[0] + r, 2), emit_pack(e, args[1] + r, 2)};
        LLVMValueRef word = nvptx_asm(e, i32, text, "=r,r,r", v, 2, 0);
        emit_unpack(e, word, 2, LLVMTypeOf(args[0][r]), out + r);
    }
}

bool nvptx_many(emitter *e, const ir_op *op, dtype t, LLVMValueRef *const *args, unsigned n,
                LLVMValueRef *out) {
    // In the arms of an `if` code is cut into pieces, of which there are many: it has to be short.
    bool in_arm = op->block->parent && op->block->parent->opcode == OP_IF;
    bool is_exp = !in_arm && (op->opcode == OP_EXP || op->opcode == OP_EXP2);
    if (is_exp && t == DT_FP32 && n >= GROUP) {
        for (unsigned r = 0; r < n; r += GROUP)
            exp_group(e, op->opcode == OP_EXP, args[0] + r, n < GROUP ? n : GROUP, out + r);
        return true;
    }
    bool is_extreme = op->opcode == OP_MAX || op->opcode == OP_MIN;
    if (is_extreme && (t == DT_FP16 || t == DT_BF16) && n % 2 == 0) {
        extreme_pairs(e, op, t, args, n, out);
        return true;
    }
    return false;
}
