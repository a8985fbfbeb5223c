// Elementwise ops on NVIDIA GPUs that go better with several registers of a thread at a time: 16-bit
// minima and maxima are two to an instruction.
#include "codegen/nvptx.h"

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
    bool is_extreme = op->opcode == OP_MAX || op->opcode == OP_MIN;
    if (is_extreme && (t == DT_FP16 || t == DT_BF16) && n % 2 == 0) {
        extreme_pairs(e, op, t, args, n, out);
        return true;
    }
    return false;
}
