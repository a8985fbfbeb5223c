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

/// i1: v is a multiple of the power of two in `divisor`.
static LLVMValueRef is_multiple(emitter *e, LLVMValueRef v, uint64_t divisor) {
    uint64_t low_bits = (divisor & -divisor) - 1;
    LLVMValueRef rest = LLVMBuildAnd(e->b, v, emit_const_like(e, v, low_bits), "");
    return LLVMBuildICmp(e->b, LLVMIntEQ, rest, emit_const_like(e, v, 0), "");
}

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
        LLVMValueRef ok = LLVMBuildOr(e->b, later, is_multiple(e, h->ints[r], divisor), "");
        e->tgt->check_hint(e, ok, "multiple_of", h->op->range);
    }
}

/// Whether place bit b alone flips one index bit of the dimension; stores the bit's number in it.
static bool steps_along(const hint_dim *h, unsigned b, unsigned *bit) {
    const layout *l = h->layout;
    uint32_t basis = l->basis[b];
    if (!basis || (basis & (basis - 1)) || basis >> h->shift == 0)
        return false;
    for (unsigned i = 0; i < layout_place_bits(l); i++) {
        if (i != b && (l->basis[i] & basis))
            return false;
    }
    *bit = floor_log2(basis) - h->shift;
    return *bit < h->bits;
}

/// i1: the value a step of lane bit `lane_bit` away is v + distance (asked in the lower lane only).
static LLVMValueRef lanes_differ_by(emitter *e, LLVMValueRef v, unsigned lane_bit,
                                    uint64_t distance) {
    LLVMValueRef mask = emit_lane_const_i32(e, lane_bit);
    LLVMValueRef lane = LLVMBuildAnd(e->b, e->tgt->lane_id(e), mask, "");
    LLVMValueRef upper = LLVMBuildICmp(e->b, LLVMIntEQ, lane, mask, "");
    LLVMValueRef want = LLVMBuildAdd(e->b, v, emit_const_like(e, v, distance), "");
    LLVMValueRef far = e->tgt->shuffle_xor(e, v, lane_bit);
    return LLVMBuildOr(e->b, upper, LLVMBuildICmp(e->b, LLVMIntEQ, far, want, ""), "");
}

/// Claims about runs of length `run`: a step of 2^k within a run changes the value by step * 2^k.
/// Steps between registers and between lanes are checked, which is all steps within a warp.
static void check_run(const hint_dim *h, uint64_t run, unsigned step, const char *what) {
    emitter *e = h->e;
    const layout *l = h->layout;
    unsigned bit, reg_bits = l->reg_bits;
    for (unsigned b = 0; b < reg_bits + (unsigned)LAYOUT_LANE_BITS; b++) {
        if (!steps_along(h, b, &bit) || (2ull << bit) > run)
            continue;
        uint64_t distance = (uint64_t)step << bit;
        for (uint32_t r = 0; r < layout_reg_count(l); r++) {
            LLVMValueRef v = h->ints[r], ok;
            if (b < reg_bits && (r >> b & 1))
                continue;
            if (b < reg_bits) {
                LLVMValueRef want = LLVMBuildAdd(e->b, v, emit_const_like(e, v, distance), "");
                ok = LLVMBuildICmp(e->b, LLVMIntEQ, h->ints[r | 1u << b], want, "");
            } else {
                ok = lanes_differ_by(e, v, 1u << (b - reg_bits), distance);
            }
            e->tgt->check_hint(e, ok, what, h->op->range);
        }
    }
}

static uint64_t hint_of(const ir_op *op, ir_attr_key key, unsigned dim) {
    const ir_attr *a = ir_find_attr(op, key);
    return a && dim < a->num_ints ? (uint64_t)a->ints[dim] : 1;
}

static LLVMValueRef as_int(emitter *e, const ir_value *v, LLVMValueRef reg) {
    return ir_is_pointer(v->type) ? LLVMBuildPtrToInt(e->b, reg, emit_int_like(e, 64, reg), "")
                                  : reg;
}

static void check_scalar(emitter *e, const ir_op *op) {
    uint64_t divisor = hint_of(op, ATTR_DIVISIBILITY, 0);
    LLVMValueRef v = as_int(e, op->operands[0], emit_regs(e, op->operands[0])[0]);
    if (divisor > 1)
        e->tgt->check_hint(e, is_multiple(e, v, divisor), "multiple_of", op->range);
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
    // No thread goes on to what the assertion guards before all have passed it: the access that
    // would go astray must not be the error that is reported.
    if (ir_is_tile(cond->type))
        emit_barrier(e);
}

void emit_check_params(emitter *e) {
    for (uint32_t i = 0; e->tgt->check_hint && i < e->func->num_params; i++) {
        const ir_param *p = &e->func->params[i];
        const ir_value *arg = e->func->body->args[i];
        if (arg->type.elem == DT_I1 || dtype_is_float(arg->type.elem))
            continue;
        LLVMValueRef v = as_int(e, arg, emit_regs(e, arg)[0]);
        if (p->is_one) {
            LLVMValueRef ok = LLVMBuildICmp(e->b, LLVMIntEQ, v, emit_const_like(e, v, 1), "");
            e->tgt->check_hint(e, ok, "argument is 1", p->range);
            continue;
        }
        // What the code relies on, and what the annotation promised, whichever is more.
        uint32_t divisor = p->claimed > p->divisibility ? p->claimed : p->divisibility;
        if (divisor > 1) {
            sv what = sv_format(e->arena, "argument is divisible by %u", divisor);
            e->tgt->check_hint(e, is_multiple(e, v, divisor), what.data, p->range);
        }
    }
}
