// What the author claims and the compiler relies on: multiple_of, max_contiguous, max_constancy,
// assume, assertions, and what a specialization knows of its arguments. On a target that checks
// claims (one with check_hint) every claim becomes a test with the claim's line; elsewhere the
// values pass through.
#include "codegen/emit.h"

// ---------------------------------------------------------------------------- hints on tiles

/// One dimension of a hinted tile: where it stands in the index.
typedef struct hint_dim {
    emitter *e;
    const ir_op *op;
    const layout *layout;
    unsigned shift, bits; ///< the dimension's index bits
    LLVMValueRef *ints;   ///< the values as integers (addresses for pointers)
    unsigned unit;        ///< what consecutive values differ by: 1, or the element's bytes
} hint_dim;

static unsigned floor_log2(uint64_t v) { return v ? 63 - (unsigned)__builtin_clzll(v) : 0; }

/// Claims that the first value of every run along the dimension is a multiple of `divisor`.
static void check_divisibility(const hint_dim *h, uint64_t divisor, uint32_t run) {
    emitter *e = h->e;
    unsigned run_bits = floor_log2(run);
    uint32_t inside = ((1u << (run_bits < h->bits ? run_bits : h->bits)) - 1) << h->shift;
    LLVMValueRef thread = emit_thread_index(e, h->layout);
    for (uint32_t r = 0; r < layout_reg_count(h->layout); r++) {
        uint32_t part = layout_apply(h->layout, (layout_place){.reg = r});
        LLVMValueRef index = LLVMBuildXor(e->b, thread, emit_lane_const_i32(e, part), "");
        LLVMValueRef place = LLVMBuildAnd(e->b, index, emit_lane_const_i32(e, inside), "");
        LLVMValueRef later = LLVMBuildICmp(e->b, LLVMIntNE, place, emit_lane_const_i32(e, 0), "");
        LLVMValueRef v = h->ints[r];
        LLVMValueRef rest = LLVMBuildURem(e->b, v, emit_const_like(e, v, divisor), "");
        LLVMValueRef even = LLVMBuildICmp(e->b, LLVMIntEQ, rest, emit_const_like(e, v, 0), "");
        e->tgt->check_hint(e, LLVMBuildOr(e->b, later, even, ""), "multiple_of", h->op->range);
    }
}

/// Claims about runs: values that differ by one index bit within a run differ by `step` times it.
static void check_run(const hint_dim *h, uint64_t run, unsigned step, const char *what) {
    emitter *e = h->e;
    const layout *l = h->layout;
    for (unsigned b = 0; b < l->reg_bits + LAYOUT_LANE_BITS; b++) {
        uint32_t basis = l->basis[b];
        if (!basis || (basis & (basis - 1)) || basis >> h->shift == 0)
            continue;
        unsigned bit = floor_log2(basis) - h->shift;
        if (bit >= h->bits || (2ull << bit) > run)
            continue;
        uint64_t distance = (uint64_t)step << bit;
        for (uint32_t r = 0; r < layout_reg_count(l); r++) {
            LLVMValueRef v = h->ints[r], far, lower = NULL;
            if (b < l->reg_bits) {
                if (r >> b & 1)
                    continue;
                far = h->ints[r | 1u << b];
            } else {
                unsigned lane_bit = 1u << (b - l->reg_bits);
                LLVMValueRef lane = LLVMBuildAnd(e->b, e->tgt->lane_id(e), emit_lane_const_i32(e, lane_bit), "");
                far = e->tgt->shuffle_xor(e, v, lane_bit);
                lower = LLVMBuildICmp(e->b, LLVMIntEQ, lane, emit_lane_const_i32(e, 0), "");
            }
            LLVMValueRef want = LLVMBuildAdd(e->b, v, emit_const_like(e, v, distance), "");
            LLVMValueRef ok = LLVMBuildICmp(e->b, LLVMIntEQ, far, want, "");
            if (lower)
                ok = LLVMBuildOr(e->b, ok, LLVMBuildNot(e->b, lower, ""), "");
            e->tgt->check_hint(e, ok, what, h->op->range);
        }
    }
}

static uint64_t hint_of(const ir_op *op, ir_attr_key key, unsigned dim) {
    const ir_attr *a = ir_find_attr(op, key);
    return a && dim < a->num_ints ? (uint64_t)a->ints[dim] : 1;
}

static LLVMValueRef as_int(emitter *e, const ir_value *v, LLVMValueRef reg) {
    return ir_is_pointer(v->type) ? LLVMBuildPtrToInt(e->b, reg, emit_int_like(e, 64, reg), "") : reg;
}

static void check_scalar(emitter *e, const ir_op *op) {
    uint64_t divisor = hint_of(op, ATTR_DIVISIBILITY, 0);
    LLVMValueRef v = as_int(e, op->operands[0], emit_regs(e, op->operands[0])[0]);
    LLVMValueRef rest = LLVMBuildURem(e->b, v, emit_const_like(e, v, divisor), "");
    LLVMValueRef ok = LLVMBuildICmp(e->b, LLVMIntEQ, rest, emit_const_like(e, v, 0), "");
    if (divisor > 1)
        e->tgt->check_hint(e, ok, "multiple_of", op->range);
}

static void check_tile(emitter *e, const ir_op *op) {
    const ir_value *x = op->operands[0];
    unsigned n = emit_reg_count(x);
    hint_dim h = {.e = e, .op = op, .layout = x->layout, .ints = emit_new_regs(e, n)};
    h.unit = ir_is_pointer(x->type) ? dtype_bytes(x->type.pointee) : 1;
    for (unsigned r = 0; r < n; r++)
        h.ints[r] = as_int(e, x, emit_regs(e, x)[r]);
    for (unsigned d = 0; d < x->type.rank; d++) {
        h.shift = layout_shape_bits(x->type.shape + d + 1, x->type.rank - d - 1);
        h.bits = floor_log2(x->type.shape[d]);
        uint64_t divisor = hint_of(op, ATTR_DIVISIBILITY, d);
        if (divisor > 1)
            check_divisibility(&h, divisor, axis_get(e->axis, op->results[0])->contiguity[d]);
        check_run(&h, hint_of(op, ATTR_CONTIGUITY, d), h.unit, "max_contiguous");
        check_run(&h, hint_of(op, ATTR_CONSTANCY, d), 0, "max_constancy");
    }
}

void emit_hint(emitter *e, const ir_op *op) {
    if (e->tgt->check_hint && ir_is_tile(op->results[0]->type))
        check_tile(e, op);
    else if (e->tgt->check_hint)
        check_scalar(e, op);
    emit_set_regs(e, op->results[0], emit_regs(e, op->operands[0]));
}

// ---------------------------------------------------------------------------- conditions

void emit_assume(emitter *e, const ir_op *op) {
    const ir_value *cond = op->operands[0];
    for (unsigned r = 0; e->tgt->check_hint && r < emit_reg_count(cond); r++)
        e->tgt->check_hint(e, emit_regs(e, cond)[r], "assume", op->range);
}

void emit_assert(emitter *e, const ir_op *op) {
    const ir_value *cond = op->operands[0], *mask = op->operands[1];
    for (unsigned r = 0; r < emit_reg_count(cond); r++) {
        LLVMValueRef m = mask ? emit_regs(e, mask)[r] : NULL;
        e->tgt->assert_true(e, emit_regs(e, cond)[r], m, ir_get_str(op, ATTR_TEXT), op->range);
    }
}

void emit_check_params(emitter *e) {
    for (uint32_t i = 0; e->tgt->check_hint && i < e->func->num_params; i++) {
        const ir_param *p = &e->func->params[i];
        const ir_value *arg = e->func->body->args[i];
        if (arg->type.elem == DT_I1 || dtype_is_float(arg->type.elem))
            continue;
        LLVMValueRef v = as_int(e, arg, emit_regs(e, arg)[0]);
        LLVMValueRef want = emit_const_like(e, v, p->is_one ? 1 : 0);
        if (p->is_one) {
            e->tgt->check_hint(e, LLVMBuildICmp(e->b, LLVMIntEQ, v, want, ""),
                               "argument is 1", p->range);
        } else if (p->divisibility > 1) {
            LLVMValueRef rest = LLVMBuildURem(e->b, v, emit_const_like(e, v, p->divisibility), "");
            e->tgt->check_hint(e, LLVMBuildICmp(e->b, LLVMIntEQ, rest, want, ""),
                               "argument is divisible", p->range);
        }
    }
}
