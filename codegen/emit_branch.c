// Branches that threads take each for themselves, on targets where they can: what is cut off from a
// vector by a mask is handled in them. Values of several threads are never exchanged inside.
#include "codegen/emit.h"

emit_branch emit_begin_branch(emitter *e, LLVMValueRef cond) {
    emit_branch b = {.before = LLVMGetInsertBlock(e->b)};
    if (!cond)
        return b;
    b.inside = emit_new_block(e, "");
    b.after = emit_new_block(e, "");
    LLVMBuildCondBr(e->b, cond, b.inside, b.after);
    LLVMPositionBuilderAtEnd(e->b, b.inside);
    return b;
}

void emit_else_branch(emitter *e, emit_branch *b) {
    LLVMBasicBlockRef other = emit_new_block(e, "");
    LLVMSetSuccessor(LLVMGetBasicBlockTerminator(b->before), 1, other);
    b->inside = LLVMGetInsertBlock(e->b);
    LLVMBuildBr(e->b, b->after);
    b->before = NULL;
    LLVMPositionBuilderAtEnd(e->b, other);
}

void emit_end_branch(emitter *e, emit_branch *b) {
    if (!b->after)
        return;
    if (b->before)
        b->inside = LLVMGetInsertBlock(e->b);
    LLVMBuildBr(e->b, b->after);
    LLVMPositionBuilderAtEnd(e->b, b->after);
}

// ---------------------------------------------------------------------------- merging

unsigned emit_per_word(LLVMTypeRef t) {
    switch (LLVMGetTypeKind(t)) {
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind:
        return 2;
    case LLVMIntegerTypeKind:
        return LLVMGetIntTypeWidth(t) == 8 ? 4 : LLVMGetIntTypeWidth(t) == 16 ? 2 : 1;
    default:
        return 1;
    }
}

LLVMValueRef emit_pack(emitter *e, LLVMValueRef const *v, unsigned many) {
    if (many == 1)
        return v[0];
    LLVMTypeRef i32 = LLVMInt32TypeInContext(e->llvm);
    LLVMTypeRef small = LLVMIntTypeInContext(e->llvm, 32 / many);
    LLVMValueRef word = NULL;
    for (unsigned i = 0; i < many; i++) {
        LLVMValueRef part = LLVMBuildBitCast(e->b, v[i], small, "");
        part = LLVMBuildZExt(e->b, part, i32, "");
        part = LLVMBuildShl(e->b, part, emit_const_i32(e, 32 / many * i), "");
        word = word ? LLVMBuildOr(e->b, word, part, "") : part;
    }
    return word;
}

void emit_unpack(emitter *e, LLVMValueRef word, unsigned many, LLVMTypeRef type,
                 LLVMValueRef *out) {
    LLVMTypeRef small = LLVMIntTypeInContext(e->llvm, 32 / many);
    out[0] = word;
    for (unsigned i = 0; many > 1 && i < many; i++) {
        LLVMValueRef part = LLVMBuildLShr(e->b, word, emit_const_i32(e, 32 / many * i), "");
        out[i] = LLVMBuildBitCast(e->b, LLVMBuildTrunc(e->b, part, small, ""), type, "");
    }
}

void emit_merge(emitter *e, LLVMValueRef *const values[2], LLVMBasicBlockRef const ends[2],
                unsigned n, LLVMValueRef *out) {
    LLVMTypeRef type = LLVMTypeOf(values[0][0]);
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
    unsigned many = n % emit_per_word(type) == 0 ? emit_per_word(type) : 1, words = n / many;
    LLVMValueRef *phis = emit_new_regs(e, words), *packed = emit_new_regs(e, 2 * words);
    for (unsigned i = 0; i < 2; i++) {
        LLVMPositionBuilderBefore(e->b, LLVMGetBasicBlockTerminator(ends[i]));
        for (unsigned w = 0; w < words; w++)
            packed[2 * w + i] = emit_pack(e, values[i] + w * many, many);
    }
    LLVMValueRef first = LLVMGetFirstInstruction(here);
    while (first && LLVMIsAPHINode(first))
        first = LLVMGetNextInstruction(first);
    LLVMPositionBuilder(e->b, here, first);
    for (unsigned w = 0; w < words; w++) {
        phis[w] = LLVMBuildPhi(e->b, LLVMTypeOf(packed[2 * w]), "");
        LLVMAddIncoming(phis[w], packed + 2 * w, (LLVMBasicBlockRef *)ends, 2);
    }
    LLVMPositionBuilderAtEnd(e->b, here);
    for (unsigned w = 0; w < words; w++)
        emit_unpack(e, phis[w], many, type, out + w * many);
}

void emit_recall(emitter *e, const ir_op *op) {
    LLVMValueRef *x = emit_regs(e, op->operands[0]);
    unsigned n = emit_reg_count(op->results[0]), many = emit_per_word(LLVMTypeOf(x[0]));
    if (!e->tgt->hide || many == 1 || n % many != 0) {
        emit_set_regs(e, op->results[0], x);
        return;
    }
    LLVMValueRef *regs = emit_new_regs(e, n);
    for (unsigned r = 0; r < n; r += many)
        emit_unpack(e, e->tgt->hide(e, emit_pack(e, x + r, many)), many, LLVMTypeOf(x[r]),
                    regs + r);
    emit_set_regs(e, op->results[0], regs);
}
