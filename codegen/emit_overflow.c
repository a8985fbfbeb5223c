// Offsets that overflow: `row * stride` in int32 wraps in silence on a GPU and becomes a wild address.
// On a target that checks claims, the arithmetic behind a pointer is done once more in 64 bits where
// the pointer is used, and what differs is reported there, for active lanes only: a masked-off lane
// may hold anything. What comes from memory, a loop or a conversion is taken as it is.
#include "codegen/emit.h"

enum {
    MAX_VALUES = 64, ///< that are looked at for one pointer
    CHECK_SIZE = 8,  ///< of a register, for limit_block
};

/// What has been found for one pointer: a value may be reached on very many ways.
typedef struct overflow_walk {
    emitter *e;
    const ir_value *values[MAX_VALUES];
    LLVMValueRef *overflows[MAX_VALUES];
    unsigned n;
} overflow_walk;

static LLVMValueRef *overflow_of(overflow_walk *w, const ir_value *v);

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
static LLVMValueRef *of_elementwise(overflow_walk *w, const ir_op *op) {
    emitter *e = w->e;
    const ir_value *v = op->results[0];
    unsigned n = emit_reg_count(v);
    LLVMValueRef *out = emit_new_regs(e, n), *operands[3] = {0};
    bool any = may_overflow(op);
    for (uint32_t k = 0; k < op->num_operands && k < 3; k++) {
        operands[k] = overflow_of(w, op->operands[k]);
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
        if (e->tgt->limit_block)
            e->tgt->limit_block(e, CHECK_SIZE);
    }
    return out;
}

static LLVMValueRef *of_shape(overflow_walk *w, const ir_op *op) {
    emitter *e = w->e;
    LLVMValueRef *from = overflow_of(w, op->operands[0]);
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

static LLVMValueRef *of_op(overflow_walk *w, const ir_op *op) {
    switch (op->opcode) {
    case OP_ADDPTR:
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_CAST:
    case OP_HINT:
        return of_elementwise(w, op);
    case OP_SPLAT:
    case OP_RESHAPE:
    case OP_PERMUTE:
    case OP_BROADCAST:
        return of_shape(w, op);
    default:
        return NULL;
    }
}

/// NULL where nothing can overflow.
static LLVMValueRef *overflow_of(overflow_walk *w, const ir_value *v) {
    for (unsigned i = 0; i < w->n; i++)
        if (w->values[i] == v)
            return w->overflows[i];
    if (!v->def || w->n == MAX_VALUES)
        return NULL;
    unsigned at = w->n++;
    w->values[at] = v;
    return w->overflows[at] = of_op(w, v->def);
}

LLVMValueRef *emit_offset_overflow(emitter *e, const ir_value *ptr) {
    overflow_walk w = {.e = e};
    return e->tgt->check_hint ? overflow_of(&w, ptr) : NULL;
}
