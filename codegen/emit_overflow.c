// Offsets that overflow: `row * stride` in int32 wraps in silence on a GPU and becomes a wild address.
// On a target that checks claims, the arithmetic behind a pointer is done once more in 64 bits where
// the pointer is used, and what differs is reported there, for active lanes only: a masked-off lane
// may hold anything. What comes from memory, a loop or a conversion is taken as it is.
#include "codegen/emit.h"

enum { MAX_DEPTH = 32 };

static LLVMValueRef *overflow_of(emitter *e, const ir_value *v, unsigned depth);

static LLVMValueRef or_maybe(emitter *e, LLVMValueRef a, LLVMValueRef b) {
    return !a ? b : !b ? a : LLVMBuildOr(e->b, a, b, "");
}

/// i1: the int32 result `r` of an op on x and y is not what it is in 64 bits.
static LLVMValueRef differs(emitter *e, ir_opcode op, LLVMValueRef x, LLVMValueRef y,
                            LLVMValueRef r) {
    LLVMTypeRef wide = emit_int_like(e, 64, x);
    x = LLVMBuildSExt(e->b, x, wide, "");
    y = LLVMBuildSExt(e->b, y, wide, "");
    LLVMValueRef exact = op == OP_ADD   ? LLVMBuildAdd(e->b, x, y, "")
                         : op == OP_SUB ? LLVMBuildSub(e->b, x, y, "")
                                        : LLVMBuildMul(e->b, x, y, "");
    return LLVMBuildICmp(e->b, LLVMIntNE, exact, LLVMBuildSExt(e->b, r, wide, ""), "");
}

static bool may_overflow(const ir_op *op) {
    return (op->opcode == OP_ADD || op->opcode == OP_SUB || op->opcode == OP_MUL) &&
           op->results[0]->type.elem == DT_I32;
}

/// Of an elementwise op: its own overflow, or its operands'.
static LLVMValueRef *of_elementwise(emitter *e, const ir_op *op, unsigned depth) {
    const ir_value *v = op->results[0];
    unsigned n = emit_reg_count(v);
    LLVMValueRef *out = emit_new_regs(e, n), *operands[3] = {0};
    bool any = may_overflow(op);
    for (uint32_t k = 0; k < op->num_operands && k < 3; k++) {
        operands[k] = overflow_of(e, op->operands[k], depth + 1);
        any |= operands[k] != NULL;
    }
    if (!any)
        return NULL;
    for (unsigned i = 0; i < n; i++) {
        if (may_overflow(op))
            out[i] = differs(e, op->opcode, emit_regs(e, op->operands[0])[i],
                             emit_regs(e, op->operands[1])[i], emit_regs(e, v)[i]);
        for (uint32_t k = 0; k < op->num_operands && k < 3; k++)
            out[i] = or_maybe(e, out[i], operands[k] ? operands[k][i] : NULL);
    }
    return out;
}

static LLVMValueRef *of_shape(emitter *e, const ir_op *op, unsigned depth) {
    LLVMValueRef *from = overflow_of(e, op->operands[0], depth + 1);
    if (!from)
        return NULL;
    unsigned n = emit_reg_count(op->results[0]);
    LLVMValueRef *out = emit_new_regs(e, n);
    if (op->opcode == OP_SPLAT) {
        LLVMValueRef all = e->tgt->splat(e, from[0]);
        for (unsigned i = 0; i < n; i++)
            out[i] = all;
        return out;
    }
    uint32_t *source = emit_shape_sources(e, op);
    for (unsigned i = 0; source && i < n; i++)
        out[i] = from[source[i]];
    return source ? out : NULL;
}

static LLVMValueRef *overflow_of(emitter *e, const ir_value *v, unsigned depth) {
    const ir_op *op = v->def;
    if (!op || depth > MAX_DEPTH)
        return NULL;
    switch (op->opcode) {
    case OP_ADDPTR:
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_CAST:
    case OP_HINT:
        return of_elementwise(e, op, depth);
    case OP_SPLAT:
    case OP_RESHAPE:
    case OP_PERMUTE:
    case OP_BROADCAST:
        return of_shape(e, op, depth);
    default:
        return NULL;
    }
}

LLVMValueRef *emit_offset_overflow(emitter *e, const ir_value *ptr) {
    return e->tgt->check_hint ? overflow_of(e, ptr, 0) : NULL;
}
