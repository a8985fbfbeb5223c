// Constants, identities and canonical forms, before layouts are assigned. One walk in program
// order; whatever an op becomes is looked at again at once, so most chains collapse in the walk.
//
// Three kinds of change: an op on constants becomes a constant (fold_eval.c); an elementwise op on
// splats becomes a splat of the scalar op, so uniform work is done once; and what is known of an
// op is used (x + 0, a mask that is always true, an `if` that is decided, a loop that never runs).
// Floats keep every bit: x * 1 and x - 0 go, x + 0 stays (it turns -0 into +0). Canonical forms:
// the constant of a commutative op is its second operand; x - c is x + -c for integers.
#include "ir/fold.h"
#include "ir/passes.h"

#include <math.h>

enum { MAX_ROUNDS = 4, VISITS_PER_OP = 64 };

typedef struct folder {
    ir_builder b; // before the op being looked at
    bool changed;
    uint64_t fuel; // visits left: a bound on the work, should two rules ever undo each other
} folder;

// --- what is known of a value

static bool is_int(const ir_value *v, int64_t n) {
    int64_t c;
    return ir_is_const_int(v, &c) && c == n;
}

static bool is_float(const ir_value *v, double x) {
    uint64_t bits;
    dtype t = v ? v->type.elem : DT_VOID;
    return dtype_is_float(t) && ir_is_const(v, &bits) && bits == dtype_float_to_bits(t, x);
}

static bool is_all_ones(const ir_value *v) {
    int64_t c;
    return ir_is_const_int(v, &c) && c == dtype_wrap_int(v->type.elem, -1);
}

static bool is_const(const ir_value *v) {
    uint64_t bits;
    return v && ir_is_const(v, &bits);
}

static bool is_int_op(const ir_op *op) { return dtype_is_int(op->operands[0]->type.elem); }

// The op that gives v, if it is of this kind.
static ir_op *def_of(const ir_value *v, ir_opcode opcode) {
    return v && v->def && v->def->opcode == opcode ? v->def : NULL;
}

static ir_value *zero_like(folder *f, const ir_op *op) {
    return ir_const_bits(&f->b, op->results[0]->type, 0);
}

static ir_value *make_bool(folder *f, const ir_op *op, bool v) {
    return ir_const_bits(&f->b, op->results[0]->type, v);
}

static void set_operand(folder *f, ir_op *op, uint32_t i, ir_value *v) {
    op->operands[i] = v;
    f->changed = true;
}

static void copy_attrs(ir_op *to, const ir_op *from) {
    to->attrs = from->attrs; // lists may be shared, see ir.c
    to->num_attrs = from->num_attrs;
}

// --- rules for one op. Each gives the value to use instead of the op's result, or NULL: nothing
// more to say (it may have changed operands in place).

typedef ir_value *rule_fn(folder *f, ir_op *op);

// (x op c1) op c2 becomes x op (c1 op c2): integers wrap, so order does not matter.
static ir_value *reassociate(folder *f, ir_op *op) {
    ir_value *x = op->operands[0], *c2 = op->operands[1];
    ir_op *inner = def_of(x, op->opcode);
    if (!is_int_op(op) || !inner || !is_const(c2) || !is_const(inner->operands[1]))
        return NULL;
    ir_value *c = ir_binary(&f->b, op->opcode, inner->operands[1], c2);
    return ir_binary(&f->b, op->opcode, inner->operands[0], c);
}

static ir_value *rule_add(folder *f, ir_op *op) {
    ir_value *x = op->operands[0], *y = op->operands[1];
    if (is_int(y, 0) || is_float(y, -0.0))
        return x;
    return reassociate(f, op);
}

static ir_value *rule_sub(folder *f, ir_op *op) {
    ir_value *x = op->operands[0], *y = op->operands[1];
    if (is_float(y, 0.0))
        return x;
    if (!is_int_op(op))
        return NULL;
    if (x == y)
        return zero_like(f, op);
    int64_t c;
    if (ir_is_const_int(y, &c))
        return ir_binary(&f->b, OP_ADD, x,
                         ir_const_int(&f->b, y->type, (int64_t)(0 - (uint64_t)c)));
    return NULL;
}

static ir_value *rule_mul(folder *f, ir_op *op) {
    ir_value *x = op->operands[0], *y = op->operands[1];
    if (is_int(y, 1) || is_float(y, 1.0))
        return x;
    if (is_int(y, 0))
        return y;
    return reassociate(f, op);
}

// Division by a power of two whose inverse is a normal number is the same as multiplication by it.
static ir_value *divide_by_power_of_2(folder *f, ir_op *op) {
    dtype t = op->results[0]->type.elem;
    uint64_t bits;
    int exponent;
    if (!dtype_is_float(t) || dtype_bits(t) < 16 || !ir_is_const(op->operands[1], &bits))
        return NULL;
    double c = dtype_bits_to_float(t, bits);
    if (!isfinite(c) || fabs(frexp(c, &exponent)) != 0.5)
        return NULL;
    int most = t == DT_FP16 ? 14 : t == DT_FP64 ? 1022 : 126; // exponents of normal numbers
    if (exponent - 1 < -most || exponent - 1 > most)
        return NULL;
    ir_value *inverse = ir_const_float(&f->b, op->operands[1]->type, 1 / c);
    return ir_binary(&f->b, OP_MUL, op->operands[0], inverse);
}

static ir_value *rule_div(folder *f, ir_op *op) {
    ir_value *x = op->operands[0], *y = op->operands[1];
    if (is_int(y, 1) || is_float(y, 1.0))
        return x;
    return divide_by_power_of_2(f, op);
}

static ir_value *rule_rem(folder *f, ir_op *op) {
    return is_int(op->operands[1], 1) ? zero_like(f, op) : NULL;
}

static ir_value *rule_neg(folder *f, ir_op *op) {
    (void)f;
    ir_op *inner = def_of(op->operands[0], OP_NEG);
    return inner ? inner->operands[0] : NULL;
}

static ir_value *rule_abs(folder *f, ir_op *op) {
    ir_value *x = op->operands[0];
    if (def_of(x, OP_ABS) || dtype_get_kind(x->type.elem) == KIND_UINT)
        return x;
    ir_op *neg = def_of(x, OP_NEG);
    return neg ? ir_unary(&f->b, OP_ABS, neg->operands[0]) : NULL;
}

static ir_value *rule_and(folder *f, ir_op *op) {
    ir_value *x = op->operands[0], *y = op->operands[1];
    if (x == y || is_all_ones(y))
        return x;
    return is_int(y, 0) ? y : reassociate(f, op);
}

static ir_value *rule_or(folder *f, ir_op *op) {
    ir_value *x = op->operands[0], *y = op->operands[1];
    if (x == y || is_int(y, 0))
        return x;
    return is_all_ones(y) ? y : reassociate(f, op);
}

static const char *opposite(sv pred, bool floats) {
    static const char *const pairs[][2] = {{"eq", "ne"}, {"lt", "ge"}, {"le", "gt"}};
    for (int i = 0; i < (floats ? 1 : 3); i++) // a NaN is neither < nor >=
        for (int k = 0; k < 2; k++)
            if (sv_is(pred, pairs[i][k]))
                return pairs[i][1 - k];
    return NULL;
}

static ir_value *rule_xor(folder *f, ir_op *op) {
    ir_value *x = op->operands[0], *y = op->operands[1];
    if (is_int(y, 0))
        return x;
    if (x == y)
        return zero_like(f, op);
    ir_op *cmp = def_of(x, OP_CMP);
    if (cmp && is_int(y, 1)) { // not (a < b)
        bool floats = dtype_is_float(cmp->operands[0]->type.elem);
        const char *pred = opposite(ir_get_str(cmp, ATTR_PRED), floats);
        if (pred)
            return ir_cmp(&f->b, pred, cmp->operands[0], cmp->operands[1]);
    }
    return reassociate(f, op);
}

static ir_value *rule_shift(folder *f, ir_op *op) {
    (void)f;
    return is_int(op->operands[1], 0) || is_int(op->operands[0], 0) ? op->operands[0] : NULL;
}

static ir_value *rule_extreme(folder *f, ir_op *op) {
    (void)f;
    return op->operands[0] == op->operands[1] ? op->operands[0] : NULL;
}

static ir_value *rule_cmp(folder *f, ir_op *op) {
    ir_value *x = op->operands[0], *y = op->operands[1];
    sv pred = ir_get_str(op, ATTR_PRED);
    dtype t = x->type.elem;
    bool or_equal = sv_is(pred, "eq") || sv_is(pred, "le") || sv_is(pred, "ge");
    if (dtype_is_float(t))
        return NULL;
    if (x == y)
        return make_bool(f, op, or_equal);
    bool is_unsigned = dtype_get_kind(t) == KIND_UINT;
    if (is_unsigned && is_int(y, 0) && (sv_is(pred, "lt") || sv_is(pred, "ge")))
        return make_bool(f, op, or_equal);
    // A condition that was made a number and is asked for again.
    ir_op *cast = def_of(x, OP_CAST);
    ir_value *c = t == DT_I1 ? x : cast && is_int(y, 0) ? cast->operands[0] : NULL;
    if (!c || c->type.elem != DT_I1 || !is_const(y))
        return NULL;
    if (sv_is(pred, is_int(y, 0) ? "ne" : "eq"))
        return c;
    if (sv_is(pred, is_int(y, 0) ? "eq" : "ne"))
        return ir_binary(&f->b, OP_XOR, c, ir_const_bits(&f->b, c->type, 1));
    return NULL;
}

static ir_value *rule_select(folder *f, ir_op *op) {
    ir_value *c = op->operands[0], *x = op->operands[1], *y = op->operands[2];
    int64_t known;
    if (x == y || (ir_is_const_int(c, &known) && known))
        return x;
    if (ir_is_const_int(c, &known))
        return y;
    if (op->results[0]->type.elem == DT_I1 && is_int(x, 1) && is_int(y, 0))
        return c;
    ir_op *not = def_of(c, OP_XOR);
    return not &&is_int(not ->operands[1], 1) ? ir_select(&f->b, not ->operands[0], y, x) : NULL;
}

// True if every value of `from` is one of `to`.
static bool is_lossless(dtype from, dtype to) {
    if (dtype_is_float(from))
        return from == to || to == DT_FP64 || (to == DT_FP32 && from != DT_FP64) ||
               ((to == DT_FP16 || to == DT_BF16) && dtype_bits(from) == 8);
    if (!dtype_is_int(from) || !dtype_is_int(to))
        return false;
    if (dtype_is_signed(from))
        return dtype_is_signed(to) && dtype_bits(to) >= dtype_bits(from);
    return dtype_bits(to) > dtype_bits(from) ||
           (dtype_bits(to) == dtype_bits(from) && !dtype_is_signed(to));
}

static ir_value *rule_cast(folder *f, ir_op *op) {
    ir_value *x = op->operands[0];
    dtype to = op->results[0]->type.elem;
    if (ir_type_equal(x->type, op->results[0]->type))
        return x;
    ir_op *inner = def_of(x, OP_CAST);
    if (!inner || ir_find_attr(inner, ATTR_ROUND))
        return NULL;
    ir_value *source = inner->operands[0];
    dtype from = source->type.elem, middle = x->type.elem;
    // Low bits of low bits are low bits.
    bool truncates = dtype_is_int(from) && dtype_is_int(middle) && dtype_is_int(to) &&
                     to != DT_I1 && middle != DT_I1 && dtype_bits(to) <= dtype_bits(middle);
    if (!truncates && !is_lossless(from, middle))
        return NULL;
    // NaN becomes another integer from fp64 than from narrower floats.
    if (middle == DT_FP64 && dtype_is_int(to) && dtype_bits(to) > 1)
        return NULL;
    if (ir_is_pointer(source->type) || ir_is_pointer(op->results[0]->type))
        return NULL;
    bool round = ir_find_attr(op, ATTR_ROUND) != NULL;
    if (from == to && (to != DT_FP8E5 || round)) // to nearest, infinities of fp8e5 would saturate
        return source;
    if (from == to || (round && !dtype_is_float(from)))
        return NULL;
    ir_value *direct = ir_cast(&f->b, source, to);
    copy_attrs(direct->def, op);
    return direct;
}

static ir_value *rule_bitcast(folder *f, ir_op *op) {
    ir_value *x = op->operands[0];
    if (ir_type_equal(x->type, op->results[0]->type))
        return x;
    ir_op *inner = def_of(x, OP_BITCAST);
    if (!inner)
        return NULL;
    return ir_create_value(&f->b, OP_BITCAST, &inner->operands[0], 1, op->results[0]->type);
}

static ir_value *rule_addptr(folder *f, ir_op *op) {
    (void)f;
    return is_int(op->operands[1], 0) ? op->operands[0] : NULL;
}

// --- shapes

static ir_value *rule_splat(folder *f, ir_op *op) {
    uint64_t bits;
    bool known = ir_is_const(op->operands[0], &bits);
    return known ? ir_const_bits(&f->b, op->results[0]->type, bits) : NULL;
}

// reshape, broadcast and permute of equal elements, of the same op, or of nothing at all.
static ir_value *rule_shape(folder *f, ir_op *op) {
    ir_value *x = op->operands[0];
    ir_type t = op->results[0]->type;
    uint64_t bits;
    if (op->opcode != OP_PERMUTE && ir_type_equal(x->type, t))
        return x;
    if (ir_is_const(x, &bits))
        return ir_const_bits(&f->b, t, bits);
    ir_op *splat = def_of(x, OP_SPLAT), *same = def_of(x, op->opcode);
    if (splat)
        return ir_splat(&f->b, splat->operands[0], t.shape, t.rank);
    if (same && op->opcode != OP_PERMUTE)
        return ir_create_value(&f->b, op->opcode, &same->operands[0], 1, t);
    return NULL;
}

static ir_value *rule_permute(folder *f, ir_op *op) {
    ir_value *other = rule_shape(f, op);
    const ir_attr *order = ir_find_attr(op, ATTR_ORDER);
    if (other || !order)
        return other;
    bool identity = true;
    for (uint32_t i = 0; i < order->num_ints; i++)
        identity = identity && order->ints[i] == i;
    if (identity)
        return op->operands[0];
    ir_op *inner = def_of(op->operands[0], OP_PERMUTE);
    const ir_attr *first = inner ? ir_find_attr(inner, ATTR_ORDER) : NULL;
    if (!first)
        return NULL;
    int64_t both[IR_MAX_RANK];
    for (uint32_t i = 0; i < order->num_ints; i++)
        both[i] = first->ints[order->ints[i]];
    ir_value *v = ir_create_value(&f->b, OP_PERMUTE, &inner->operands[0], 1, op->results[0]->type);
    ir_set_ints(v->def, ATTR_ORDER, both, order->num_ints);
    return v;
}

// Two equal uniform halves are a uniform tile, and the two halves of a tile are that tile.
static ir_value *rule_join(folder *f, ir_op *op) {
    ir_value *a = op->operands[0], *b = op->operands[1];
    ir_type t = op->results[0]->type;
    uint64_t x, y;
    if (ir_is_const(a, &x) && ir_is_const(b, &y) && x == y)
        return ir_const_bits(&f->b, t, x);
    ir_op *p = def_of(a, OP_SPLAT), *q = def_of(b, OP_SPLAT);
    if (p && q && p->operands[0] == q->operands[0])
        return ir_splat(&f->b, p->operands[0], t.shape, t.rank);
    p = def_of(a, OP_HALF);
    q = def_of(b, OP_HALF);
    if (p && q && p->operands[0] == q->operands[0] && ir_get_int(p, ATTR_INDEX, 0) == 0 &&
        ir_get_int(q, ATTR_INDEX, 0) == 1)
        return p->operands[0];
    return NULL;
}

static ir_value *uniform_like(folder *f, ir_op *op) {
    ir_type t = op->results[0]->type;
    uint64_t bits;
    if (ir_is_const(op->operands[0], &bits))
        return ir_const_bits(&f->b, t, bits);
    ir_op *splat = def_of(op->operands[0], OP_SPLAT);
    return splat ? ir_splat(&f->b, splat->operands[0], t.shape, t.rank) : NULL;
}

static ir_value *rule_half(folder *f, ir_op *op) {
    ir_op *join = def_of(op->operands[0], OP_JOIN);
    return join ? join->operands[ir_get_int(op, ATTR_INDEX, 0) != 0] : uniform_like(f, op);
}

static ir_value *rule_flip(folder *f, ir_op *op) {
    ir_value *x = op->operands[0];
    int64_t axis = ir_get_int(op, ATTR_AXIS, 0);
    ir_op *inner = def_of(x, OP_FLIP);
    if (x->type.shape[axis] == 1)
        return x;
    if (inner && ir_get_int(inner, ATTR_AXIS, 0) == axis)
        return inner->operands[0];
    ir_op *range = def_of(x, OP_ARANGE);
    if (!range)
        return uniform_like(f, op);
    int64_t first_and_last = 2 * ir_get_int(range, ATTR_START, 0) + x->type.shape[0] - 1;
    if (first_and_last != dtype_wrap_int(DT_I32, first_and_last))
        return NULL;
    return ir_binary(&f->b, OP_SUB, ir_const_int(&f->b, x->type, first_and_last), x);
}

// --- what holds for all elementwise ops

static bool all_const(const ir_op *op, uint64_t *bits) {
    for (uint32_t i = 0; i < op->num_operands; i++)
        if (i == 3 || !ir_is_const(op->operands[i], &bits[i]))
            return false;
    return op->num_operands > 0;
}

// An elementwise op on splats is the splat of the op on scalars.
static ir_value *sink_splat(folder *f, ir_op *op) {
    ir_type t = op->results[0]->type;
    bool uniform = ir_is_tile(t);
    for (uint32_t i = 0; i < op->num_operands && uniform; i++)
        uniform = def_of(op->operands[i], OP_SPLAT) || def_of(op->operands[i], OP_CONST);
    for (uint32_t i = 0; i < op->num_attrs; i++) // per dimension: says nothing of the scalar
        uniform = uniform && ir_attr_get_kind(op->attrs[i].key) != INTS;
    if (!uniform)
        return NULL;
    ir_value *scalars[3];
    for (uint32_t i = 0; i < op->num_operands; i++) {
        ir_op *def = op->operands[i]->def;
        uint64_t bits;
        if (ir_is_const(op->operands[i], &bits))
            scalars[i] = ir_const_bits(&f->b, ir_element_type(op->operands[i]->type), bits);
        else
            scalars[i] = def->operands[0];
    }
    ir_value *scalar =
        ir_create_value(&f->b, op->opcode, scalars, op->num_operands, ir_element_type(t));
    copy_attrs(scalar->def, op);
    return ir_splat(&f->b, scalar, t.shape, t.rank);
}

static const char *mirrored(sv pred) {
    static const char *const pairs[][2] = {{"lt", "gt"}, {"gt", "lt"}, {"le", "ge"}, {"ge", "le"}};
    for (int i = 0; i < 4; i++)
        if (sv_is(pred, pairs[i][0]))
            return pairs[i][1];
    return NULL;
}

// Brings the constant of a commutative op to the right.
static void put_const_last(folder *f, ir_op *op) {
    static const bool commutative[IR_OPCODE_COUNT] = {
        [OP_ADD] = true, [OP_MUL] = true, [OP_AND] = true, [OP_OR] = true,     [OP_XOR] = true,
        [OP_MIN] = true, [OP_MAX] = true, [OP_CMP] = true, [OP_UMULHI] = true,
    };
    ir_value *x = op->operands[0], *y = op->operands[1];
    if (!commutative[op->opcode] || !is_const(x) || is_const(y))
        return;
    const char *pred = op->opcode == OP_CMP ? mirrored(ir_get_str(op, ATTR_PRED)) : NULL;
    if (pred)
        ir_set_str(op, ATTR_PRED, sv_from(pred));
    set_operand(f, op, 0, y);
    set_operand(f, op, 1, x);
}

static ir_value *fold_elementwise(folder *f, ir_op *op) {
    uint64_t bits[3], result;
    if (all_const(op, bits) && fold_evaluate(op, bits, &result))
        return ir_const_bits(&f->b, op->results[0]->type, result);
    if (op->num_operands == 2)
        put_const_last(f, op);
    return sink_splat(f, op);
}

// --- memory: masks that are known

// Drops operand `mask` if it is always true (and what depends on it); true if it is always false.
static bool decide_mask(folder *f, ir_op *op, uint32_t mask) {
    int64_t known;
    if (!op->operands[mask] || !ir_is_const_int(op->operands[mask], &known))
        return false;
    if (!known)
        return true;
    for (uint32_t i = mask; i < op->num_operands; i++)
        set_operand(f, op, i, NULL);
    return false;
}

static void drop(folder *f, ir_op *op) {
    ir_remove(op);
    f->changed = true;
}

static ir_value *rule_load(folder *f, ir_op *op) {
    ir_value *other = op->operands[2];
    if (!decide_mask(f, op, 1))
        return NULL;
    return other ? other : zero_like(f, op); // no lane touches memory
}

static ir_value *rule_store(folder *f, ir_op *op) {
    if (decide_mask(f, op, 2))
        drop(f, op);
    return NULL;
}

static ir_value *rule_atomic_rmw(folder *f, ir_op *op) {
    return decide_mask(f, op, 2) ? zero_like(f, op) : NULL;
}

static ir_value *rule_assert(folder *f, ir_op *op) {
    if (is_int(op->operands[0], 1) || decide_mask(f, op, 1))
        drop(f, op);
    return NULL;
}

static ir_value *rule_assume(folder *f, ir_op *op) {
    if (is_int(op->operands[0], 1))
        drop(f, op);
    return NULL;
}

// --- control flow that is decided

// Replaces the op by region r's ops and by the values its terminator gives from `first` on.
static void inline_region(folder *f, ir_op *op, uint32_t r, uint32_t first) {
    ir_block *b = op->regions[r];
    ir_op *end = b->last;
    while (b->first != end)
        ir_move_before(b->first, op);
    for (uint32_t i = 0; i < op->num_results; i++)
        ir_replace(op->results[i], end->operands[first + i]);
    drop(f, op);
}

static ir_value *rule_if(folder *f, ir_op *op) {
    int64_t known;
    if (ir_is_const_int(op->operands[0], &known)) {
        inline_region(f, op, known ? 0 : 1, 0);
        return NULL;
    }
    // Results that are the same value on both sides (and so come from outside, or are constant).
    ir_op *yes = op->regions[0]->last, *no = op->regions[1]->last;
    for (uint32_t i = 0; i < op->num_results; i++) {
        ir_value *v = ir_resolve(yes->operands[i]);
        if (v == ir_resolve(no->operands[i]) && op->results[i]->forward == NULL) {
            ir_replace(op->results[i], v);
            f->changed = true;
        }
    }
    return NULL;
}

// True if a loop with these bounds has no iteration.
static bool never_runs(const ir_op *op) {
    int64_t lo, hi, step;
    if (op->operands[0] == op->operands[1])
        return true;
    if (!ir_is_const_int(op->operands[2], &step))
        return false;
    if (step == 0)
        return true;
    if (!ir_is_const_int(op->operands[0], &lo) || !ir_is_const_int(op->operands[1], &hi))
        return false;
    if (!dtype_is_signed(op->operands[0]->type.elem))
        return (uint64_t)lo >= (uint64_t)hi;
    return step > 0 ? lo >= hi : lo <= hi;
}

static ir_value *rule_for(folder *f, ir_op *op) {
    if (!never_runs(op))
        return NULL;
    for (uint32_t i = 0; i < op->num_results; i++)
        ir_replace(op->results[i], op->operands[3 + i]);
    drop(f, op);
    return NULL;
}

// A while whose condition is false at once runs its first region one time.
static ir_value *rule_while(folder *f, ir_op *op) {
    ir_block *before = op->regions[0];
    if (!is_int(ir_resolve(before->last->operands[0]), 0))
        return NULL;
    for (uint32_t i = 0; i < before->num_args; i++)
        ir_replace(before->args[i], op->operands[i]);
    inline_region(f, op, 0, 1);
    return NULL;
}

// The largest of widened 16-bit floats is the largest of them, widened: half the data to exchange,
// and two to an instruction.
static ir_value *narrow_extreme(folder *f, ir_op *op) {
    ir_op *widened = op->num_operands == 1 ? def_of(op->operands[0], OP_CAST) : NULL;
    const ir_block *region = op->regions[0];
    const ir_op *extreme = region->first;
    dtype from = widened ? widened->operands[0]->type.elem : DT_I1;
    if ((from != DT_FP16 && from != DT_BF16) || op->operands[0]->type.elem != DT_FP32 ||
        (extreme->opcode != OP_MAX && extreme->opcode != OP_MIN) || extreme->next != region->last ||
        extreme->operands[0]->block != region || extreme->operands[1]->block != region ||
        extreme->operands[0] == extreme->operands[1] || extreme->operands[0]->def ||
        extreme->operands[1]->def || region->last->operands[0] != extreme->results[0])
        return NULL;
    ir_type type = ir_type_with_elem(op->results[0]->type, from), scalar = ir_scalar_type(from);
    ir_op *narrow = ir_create(&f->b, OP_REDUCE, widened->operands, 1, &type, 1);
    copy_attrs(narrow, op);
    narrow->regions[0] = ir_block_create(f->b.func, narrow);
    ir_builder b = {f->b.func, narrow->regions[0], NULL, extreme->range};
    ir_value *args[2];
    for (unsigned i = 0; i < 2; i++)
        args[i] = ir_add_block_arg(narrow->regions[0], scalar, region->args[i]->name);
    ir_value *v = ir_create_value(&b, extreme->opcode, args, 2, scalar);
    copy_attrs(v->def, extreme);
    ir_yield(&b, &v, 1);
    return ir_cast(&f->b, narrow->results[0], DT_FP32);
}

// Over an axis of extent 1 there is nothing to combine.
static ir_value *rule_reduce(folder *f, ir_op *op) {
    ir_type t = op->operands[0]->type;
    int64_t axis = ir_get_int(op, ATTR_AXIS, 0);
    if (t.rank < 2 || axis < 0 || axis >= t.rank || t.shape[axis] != 1)
        return narrow_extreme(f, op);
    for (uint32_t i = 0; i < op->num_results; i++) {
        ir_type to = op->results[i]->type;
        ir_replace(op->results[i], ir_reshape(&f->b, op->operands[i], to.shape, to.rank));
    }
    drop(f, op);
    return NULL;
}

static ir_value *rule_scan(folder *f, ir_op *op) {
    ir_type t = op->operands[0]->type;
    int64_t axis = ir_get_int(op, ATTR_AXIS, 0);
    if (axis < 0 || axis >= t.rank || t.shape[axis] != 1)
        return NULL;
    for (uint32_t i = 0; i < op->num_results; i++)
        ir_replace(op->results[i], op->operands[i]);
    drop(f, op);
    return NULL;
}

static rule_fn *const rules[IR_OPCODE_COUNT] = {
    [OP_ADD] = rule_add,         [OP_SUB] = rule_sub,         [OP_MUL] = rule_mul,
    [OP_DIV] = rule_div,         [OP_REM] = rule_rem,         [OP_NEG] = rule_neg,
    [OP_ABS] = rule_abs,         [OP_AND] = rule_and,         [OP_OR] = rule_or,
    [OP_XOR] = rule_xor,         [OP_SHL] = rule_shift,       [OP_SHR] = rule_shift,
    [OP_MIN] = rule_extreme,     [OP_MAX] = rule_extreme,     [OP_CMP] = rule_cmp,
    [OP_SELECT] = rule_select,   [OP_CAST] = rule_cast,       [OP_BITCAST] = rule_bitcast,
    [OP_ADDPTR] = rule_addptr,   [OP_SPLAT] = rule_splat,     [OP_RESHAPE] = rule_shape,
    [OP_BROADCAST] = rule_shape, [OP_PERMUTE] = rule_permute, [OP_REDUCE] = rule_reduce,
    [OP_JOIN] = rule_join,       [OP_HALF] = rule_half,       [OP_FLIP] = rule_flip,
    [OP_LOAD] = rule_load,       [OP_STORE] = rule_store,     [OP_ATOMIC_RMW] = rule_atomic_rmw,
    [OP_ASSERT] = rule_assert,   [OP_ASSUME] = rule_assume,   [OP_IF] = rule_if,
    [OP_FOR] = rule_for,         [OP_WHILE] = rule_while,     [OP_SCAN] = rule_scan,
};

// --- the walk

static void fold_op(folder *f, ir_op *op) {
    for (uint32_t i = 0; i < op->num_operands; i++)
        op->operands[i] = ir_resolve(op->operands[i]);
    f->b.block = op->block;
    f->b.before = op;
    f->b.range = op->range;
    ir_value *v = ir_has_trait(op, ELEMENTWISE) ? fold_elementwise(f, op) : NULL;
    if (!v && rules[op->opcode])
        v = rules[op->opcode](f, op);
    if (!v)
        return;
    if (v->name.len == 0 && v->def && v->def->range.begin == op->range.begin)
        v->name = op->results[0]->name;
    ir_replace(op->results[0], v);
    drop(f, op);
}

// Depth is bounded by IR_MAX_NESTING.
static void fold_block(folder *f, ir_block *b) {
    for (ir_op *op = b->first; op && f->fuel > 0;) {
        ir_op *prev = op->prev;
        f->fuel--;
        fold_op(f, op);
        ir_op *first = prev ? prev->next : b->first;
        if (first != op) { // what was put in its place comes next
            op = first;
            continue;
        }
        for (uint32_t r = 0; r < op->num_regions; r++)
            fold_block(f, op->regions[r]);
        op = op->next;
    }
}

bool pass_fold(ir_func *func) {
    if (func->num_layouts > 0)
        return false; // new values would need layouts of their own
    bool changed = false;
    for (int round = 0; round < MAX_ROUNDS; round++) {
        ir_number_values(func);
        folder f = {.b = {.func = func}, .fuel = (uint64_t)func->num_ops * VISITS_PER_OP + 1000};
        fold_block(&f, func->body);
        ir_apply_replacements(func);
        changed = changed || f.changed;
        if (!f.changed)
            break;
    }
    return changed;
}
