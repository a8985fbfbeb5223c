// Between which bounds an integer lies, from what it is computed of and from what the kernel's author
// has assumed: `assume(n <= 4096)` in the body of the kernel holds for n wherever it is used. What is
// not understood may be anything that its type can hold, and so may a result that might wrap around.
#include "ir/ir.h"

enum { DEPTH = 12 }; ///< of computations that are followed

static ir_interval of_type(dtype t) {
    unsigned bits = dtype_bits(t);
    if (!dtype_is_int(t) || bits > 64 || (bits == 64 && !dtype_is_signed(t)))
        return (ir_interval){INT64_MIN, INT64_MAX};
    if (!dtype_is_signed(t))
        return (ir_interval){0, (int64_t)((UINT64_C(1) << bits) - 1)};
    return (ir_interval){-(INT64_C(1) << (bits - 2)) * 2, ((INT64_C(1) << (bits - 2)) - 1) * 2 + 1};
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static ir_interval both(ir_interval a, ir_interval b) {
    return (ir_interval){most(a.low, b.low), least(a.high, b.high)};
}

/// r, unless its type cannot hold all of it.
static ir_interval if_it_fits(ir_interval r, ir_interval type) {
    return r.low >= type.low && r.high <= type.high ? r : type;
}

/// What `assume(v pred c)` says of v (folding has put constants to the right).
static ir_interval claim(sv pred, int64_t c, ir_interval r) {
    if (sv_is(pred, "le") || sv_is(pred, "eq"))
        r.high = least(r.high, c);
    if (sv_is(pred, "ge") || sv_is(pred, "eq"))
        r.low = most(r.low, c);
    if (sv_is(pred, "lt") && c > INT64_MIN)
        r.high = least(r.high, c - 1);
    if (sv_is(pred, "gt") && c < INT64_MAX)
        r.low = most(r.low, c + 1);
    return r;
}

/// Narrows r by a condition that holds.
static ir_interval narrow(const ir_value *v, const ir_value *cond, ir_interval r, unsigned depth) {
    const ir_op *def = cond->def;
    int64_t c;
    if (!def || depth == 0)
        return r;
    if (def->opcode == OP_AND)
        return narrow(v, def->operands[1], narrow(v, def->operands[0], r, depth - 1), depth - 1);
    if (def->opcode != OP_CMP || v->type.elem == DT_U64)
        return r;
    sv pred = ir_get_str(def, ATTR_PRED);
    if (def->operands[0] == v && ir_is_const_int(def->operands[1], &c))
        r = claim(pred, c, r);
    return r;
}

/// What is assumed of v. Only in the kernel's own body: what stands in a branch may not be reached.
static ir_interval assumed(const ir_func *f, const ir_value *v, ir_interval r) {
    for (const ir_op *op = f->body->first; op; op = op->next)
        if (op->opcode == OP_ASSUME)
            r = narrow(v, op->operands[0], r, DEPTH);
    return r;
}

static ir_interval of_value(const ir_func *f, const ir_value *v, unsigned depth);

static ir_interval add(ir_interval a, ir_interval b, ir_interval type) {
    ir_interval r;
    if (__builtin_add_overflow(a.low, b.low, &r.low) ||
        __builtin_add_overflow(a.high, b.high, &r.high))
        return type;
    return if_it_fits(r, type);
}

static ir_interval of_binary(const ir_op *op, ir_interval a, ir_interval b, ir_interval type) {
    bool is_u64 = op->results[0]->type.elem == DT_U64; // may be more than an int64_t holds
    if (is_u64 && op->opcode != OP_AND)
        return type;
    switch (op->opcode) {
    case OP_ADD:
        return add(a, b, type);
    case OP_AND: // no more than either, if that is not negative
        if (a.low < 0 && b.low < 0)
            return type;
        return (ir_interval){0, a.low < 0 ? b.high : b.low < 0 ? a.high : least(a.high, b.high)};
    case OP_SHR:
        if (b.low != b.high || b.low < 0 || b.low > 62)
            return type;
        return (ir_interval){a.low >> b.low, a.high >> b.low};
    case OP_MIN:
        return (ir_interval){least(a.low, b.low), least(a.high, b.high)};
    case OP_MAX:
        return (ir_interval){most(a.low, b.low), most(a.high, b.high)};
    default:
        return type;
    }
}

static ir_interval of_op(const ir_func *f, const ir_op *op, ir_interval type, unsigned depth) {
    ir_interval x[3];
    int64_t c;
    if (ir_is_const_int(op->results[0], &c))
        return (ir_interval){c, c};
    bool known = op->opcode == OP_ADD || op->opcode == OP_AND || op->opcode == OP_SHR ||
                 op->opcode == OP_MIN || op->opcode == OP_MAX || op->opcode == OP_CAST ||
                 op->opcode == OP_SELECT || op->opcode == OP_SPLAT;
    if (!known || depth == 0)
        return type;
    for (uint32_t i = 0; i < op->num_operands; i++)
        x[i] = of_value(f, op->operands[i], depth - 1);
    if (op->opcode == OP_SPLAT)
        return x[0];
    if (op->opcode == OP_SELECT)
        return (ir_interval){least(x[1].low, x[2].low), most(x[1].high, x[2].high)};
    if (op->opcode == OP_CAST)
        return dtype_is_int(op->operands[0]->type.elem) ? if_it_fits(x[0], type) : type;
    return of_binary(op, x[0], x[1], type);
}

static ir_interval of_value(const ir_func *f, const ir_value *v, unsigned depth) {
    ir_interval type = of_type(v->type.elem), r = type;
    if (v->def && v->def->num_results == 1)
        r = of_op(f, v->def, type, depth);
    return assumed(f, v, both(r, type));
}

ir_interval ir_interval_of(const ir_func *f, const ir_value *v) { return of_value(f, v, DEPTH); }
