// The transfer functions of axis info: the facts of an op's result from those of its operands, one
// function per op, in a table. Machine integers wrap, but a run that starts at a multiple of its
// length never crosses the wrap, and only such runs decide anything. Signed division rounds to
// zero, which breaks runs below it, so those rules ask for values that are not negative.
#include "ir/axis_transfer.h"

/// The divisibility of 0, and the most that is ever claimed.
static const uint64_t MAX_DIVISOR = UINT64_C(1) << 62;

// --- small things

static uint32_t min_u32(uint32_t a, uint32_t b) { return a < b ? a : b; }
static uint32_t max_u32(uint32_t a, uint32_t b) { return a > b ? a : b; }

/// A scalar counts as one dimension of extent 1.
static unsigned dims_of(ir_type t) { return t.rank ? t.rank : 1; }
static uint32_t extent_of(ir_type t, unsigned d) { return t.rank ? t.shape[d] : 1; }

/// The largest power of two that divides v.
static uint64_t divisor_of(int64_t v) {
    uint64_t low = (uint64_t)v & -(uint64_t)v;
    return v == 0 ? MAX_DIVISOR : min_u64(low, MAX_DIVISOR);
}

static uint64_t multiply_divisors(uint64_t a, uint64_t b) {
    return a > MAX_DIVISOR / b ? MAX_DIVISOR : a * b;
}

/// By how much a run of consecutive values of this type steps.
static unsigned step_of(ir_type t) { return ir_is_pointer(t) ? dtype_bytes(t.pointee) : 1; }

/// What divides the first value of every aligned run of `run` elements along d.
static uint64_t start_divisor(const axis_info *x, ir_type t, unsigned d, uint32_t run) {
    if (x->contiguity[d] <= run)
        return x->divisibility[d];
    return min_u64(x->divisibility[d], (uint64_t)run * step_of(t));
}

/// What divides every value of the tile.
static uint64_t common_divisor(const axis_info *x, ir_type t) {
    uint64_t best = 1;
    for (unsigned d = 0; d < dims_of(t); d++)
        best = max_u64(best, start_divisor(x, t, d, 1));
    return best;
}

axis_info axis_unknown(void) {
    axis_info x = {0};
    for (unsigned d = 0; d < IR_MAX_RANK; d++)
        x.contiguity[d] = x.constancy[d] = x.divisibility[d] = 1;
    return x;
}

axis_info axis_uniform(ir_type t, uint64_t divisor) {
    axis_info x = axis_unknown();
    for (unsigned d = 0; d < dims_of(t); d++) {
        x.constancy[d] = extent_of(t, d);
        x.divisibility[d] = divisor;
    }
    return x;
}

axis_info axis_constant(ir_type t, int64_t v) {
    v = dtype_wrap_int(t.elem, v);
    axis_info x = axis_uniform(t, divisor_of(v));
    x.is_const = true;
    x.value = v;
    x.non_negative = v >= 0;
    return x;
}

axis_info axis_join(const axis_info *a, const axis_info *b, ir_type t) {
    axis_info x = axis_unknown();
    for (unsigned d = 0; d < dims_of(t); d++) {
        uint32_t run = min_u32(a->contiguity[d], b->contiguity[d]);
        x.contiguity[d] = run;
        x.constancy[d] = min_u32(a->constancy[d], b->constancy[d]);
        x.divisibility[d] = min_u64(start_divisor(a, t, d, run), start_divisor(b, t, d, run));
    }
    x.is_const = a->is_const && b->is_const && a->value == b->value;
    x.value = x.is_const ? a->value : 0;
    x.non_negative = a->non_negative && b->non_negative;
    return x;
}

// --- transfer functions: the facts of a single result from those of the operands

/// What a transfer function sees. The result starts as unknown with, for an elementwise op,
/// the constancy of its operands together.
typedef struct transfer {
    const ir_op *op;
    ir_type type; ///< of the result
    axis_info *out;
    const axis_info *in[AXIS_MAX_OPERANDS];
} transfer;

typedef void transfer_fn(transfer *t);

static ir_type operand_type(const transfer *t, unsigned i) { return t->op->operands[i]->type; }

static void transfer_const(transfer *t) {
    int64_t v = ir_get_int(t->op, ATTR_VALUE, 0);
    *t->out = dtype_is_int(t->type.elem) ? axis_constant(t->type, v) : axis_uniform(t->type, 1);
}

static void transfer_arange(transfer *t) {
    int64_t start = ir_get_int(t->op, ATTR_START, 0);
    t->out->contiguity[0] = t->type.shape[0];
    t->out->divisibility[0] = divisor_of(start);
    t->out->non_negative = start >= 0;
}

static void transfer_splat(transfer *t) {
    const axis_info *x = t->in[0];
    *t->out = axis_uniform(t->type, x->divisibility[0]);
    t->out->is_const = x->is_const;
    t->out->value = x->value;
    t->out->non_negative = x->non_negative;
}

static void transfer_program_id(transfer *t) { t->out->non_negative = true; }

/// The sum of runs: one side counts up while the other stays. Addition of pointers and offsets
/// too: `scale` is what an offset counts in bytes.
static void add_runs(transfer *t, bool count_right, unsigned scale) {
    const axis_info *a = t->in[0], *b = t->in[1];
    for (unsigned d = 0; d < dims_of(t->type); d++) {
        uint32_t run = min_u32(a->contiguity[d], b->constancy[d]);
        if (count_right)
            run = max_u32(run, min_u32(a->constancy[d], b->contiguity[d]));
        uint64_t left = start_divisor(a, operand_type(t, 0), d, run);
        uint64_t right = start_divisor(b, operand_type(t, 1), d, run);
        t->out->contiguity[d] = run;
        t->out->divisibility[d] = min_u64(left, multiply_divisors(right, scale));
    }
}

static bool both_const(const transfer *t) { return t->in[0]->is_const && t->in[1]->is_const; }

static void transfer_add(transfer *t) {
    if (both_const(t)) {
        *t->out = axis_constant(t->type,
                                (int64_t)((uint64_t)t->in[0]->value + (uint64_t)t->in[1]->value));
        return;
    }
    add_runs(t, true, 1);
    t->out->non_negative = t->in[0]->non_negative && t->in[1]->non_negative;
}

static void transfer_sub(transfer *t) {
    if (both_const(t))
        *t->out = axis_constant(t->type,
                                (int64_t)((uint64_t)t->in[0]->value - (uint64_t)t->in[1]->value));
    else
        add_runs(t, false, 1);
}

static void transfer_addptr(transfer *t) { add_runs(t, true, step_of(t->type)); }

static void transfer_mul(transfer *t) {
    const axis_info *a = t->in[0], *b = t->in[1];
    if (both_const(t)) {
        *t->out = axis_constant(t->type, (int64_t)((uint64_t)a->value * (uint64_t)b->value));
        return;
    }
    if (a->is_const && a->value == 1) {
        *t->out = *b;
        return;
    }
    if (b->is_const && b->value == 1) {
        *t->out = *a;
        return;
    }
    for (unsigned d = 0; d < dims_of(t->type); d++) {
        t->out->divisibility[d] = multiply_divisors(start_divisor(a, operand_type(t, 0), d, 1),
                                                    start_divisor(b, operand_type(t, 1), d, 1));
    }
    t->out->non_negative = a->non_negative && b->non_negative;
}

/// Runs that lie within one multiple of the divisor: their quotient stays, their remainder counts.
static uint32_t run_within_divisor(const axis_info *a, const axis_info *b, ir_type t, unsigned d) {
    uint64_t run = min_u64(a->contiguity[d], a->divisibility[d]);
    run = min_u64(run, b->constancy[d]);
    return (uint32_t)min_u64(run, start_divisor(b, t, d, 1));
}

/// a / b rounded to zero or, if `floors`, down. Below zero the former breaks runs.
static void divide_runs(transfer *t, const axis_info *b, bool floors) {
    const axis_info *a = t->in[0];
    bool whole = floors || a->non_negative;
    bool power = b->is_const && b->value > 0 && divisor_of(b->value) == (uint64_t)b->value;
    for (unsigned d = 0; d < dims_of(t->type); d++) {
        uint64_t starts = a->divisibility[d];
        if (whole)
            t->out->constancy[d] =
                max_u32(t->out->constancy[d], run_within_divisor(a, b, operand_type(t, 0), d));
        if (power && starts >= (uint64_t)b->value &&
            (a->contiguity[d] == 1 || (whole && a->contiguity[d] <= b->value)))
            t->out->divisibility[d] = starts / (uint64_t)b->value;
    }
}

static void transfer_div(transfer *t) {
    if (!dtype_is_int(t->type.elem))
        return;
    const axis_info *b = t->in[1];
    if (b->is_const && b->value == 1) {
        *t->out = *t->in[0];
        return;
    }
    divide_runs(t, b, !dtype_is_signed(t->type.elem));
    t->out->non_negative = t->in[0]->non_negative && b->non_negative;
}

/// The remainder keeps common divisors of both sides.
static void remainder_runs(transfer *t, const axis_info *b, bool whole) {
    const axis_info *a = t->in[0];
    for (unsigned d = 0; d < dims_of(t->type); d++) {
        uint32_t run = whole ? run_within_divisor(a, b, operand_type(t, 0), d) : 1;
        t->out->contiguity[d] = run;
        t->out->divisibility[d] = min_u64(start_divisor(a, operand_type(t, 0), d, run),
                                          start_divisor(b, operand_type(t, 0), d, 1));
    }
}

static void transfer_rem(transfer *t) {
    if (!dtype_is_int(t->type.elem))
        return;
    bool whole = !dtype_is_signed(t->type.elem) || t->in[0]->non_negative;
    remainder_runs(t, t->in[1], whole);
    t->out->non_negative = t->in[0]->non_negative;
}

/// x & (2^k - 1) is a remainder; any other constant clears at least its low zero bits.
static void transfer_and(transfer *t) {
    const axis_info *a = t->in[0], *b = t->in[1];
    if (a->is_const) {
        t->in[0] = b;
        t->in[1] = a;
        a = t->in[0];
        b = t->in[1];
    }
    int64_t mask = b->is_const ? b->value : 0;
    if (mask > 0 && mask < INT32_MAX && (mask & (mask + 1)) == 0) {
        axis_info modulus = axis_constant(t->type, mask + 1);
        // The top bit of a signed type wraps to a negative modulus of the same divisors.
        remainder_runs(t, &modulus, true);
        t->out->non_negative = true;
        return;
    }
    for (unsigned d = 0; d < dims_of(t->type); d++) {
        uint64_t left = start_divisor(a, t->type, d, 1), right = start_divisor(b, t->type, d, 1);
        t->out->divisibility[d] = max_u64(left, right);
        if (b->is_const && b->value == -(int64_t)right)
            t->out->constancy[d] =
                max_u32(t->out->constancy[d], run_within_divisor(a, b, t->type, d));
    }
    t->out->non_negative = a->non_negative || b->non_negative;
}

/// or, xor: low zero bits that both sides have.
static void transfer_or(transfer *t) {
    for (unsigned d = 0; d < dims_of(t->type); d++)
        t->out->divisibility[d] =
            min_u64(start_divisor(t->in[0], t->type, d, 1), start_divisor(t->in[1], t->type, d, 1));
    t->out->non_negative = t->in[0]->non_negative && t->in[1]->non_negative;
}

/// Shifting left multiplies by a power of two, at least by 1.
static void transfer_shl(transfer *t) {
    const axis_info *a = t->in[0], *b = t->in[1];
    bool in_range = b->is_const && b->value >= 0 && b->value < (int64_t)dtype_bits(t->type.elem);
    if (in_range && b->value == 0) {
        *t->out = *a;
        return;
    }
    uint64_t factor = in_range && b->value < 62 ? UINT64_C(1) << b->value : 1;
    for (unsigned d = 0; d < dims_of(t->type); d++)
        t->out->divisibility[d] = multiply_divisors(start_divisor(a, t->type, d, 1), factor);
    t->out->non_negative = in_range && a->non_negative;
}

/// Shifting right by a constant floors, for either sign.
static void transfer_shr(transfer *t) {
    const axis_info *a = t->in[0], *b = t->in[1];
    int64_t width = dtype_bits(t->type.elem);
    if (b->is_const && b->value == 0) {
        *t->out = *a;
        return;
    }
    if (b->is_const && b->value > 0 && b->value < width && b->value < 62) {
        axis_info factor = *b;
        factor.value = INT64_C(1) << b->value;
        for (unsigned d = 0; d < dims_of(t->type); d++)
            factor.divisibility[d] = (uint64_t)factor.value;
        divide_runs(t, &factor, true);
    }
    t->out->non_negative = a->non_negative;
}

/// min and max keep what divides both sides.
static void transfer_min_max(transfer *t) {
    if (!dtype_is_int(t->type.elem))
        return;
    const axis_info *a = t->in[0], *b = t->in[1];
    transfer_or(t);
    if (t->op->opcode == OP_MAX)
        t->out->non_negative = a->non_negative || b->non_negative;
}

static void transfer_neg(transfer *t) {
    for (unsigned d = 0; dtype_is_int(t->type.elem) && d < dims_of(t->type); d++)
        t->out->divisibility[d] = start_divisor(t->in[0], t->type, d, 1);
}

static void transfer_abs(transfer *t) {
    transfer_neg(t);
    t->out->non_negative = dtype_is_int(t->type.elem);
}

/// A counting side against one that stays: the outcome turns where the former reaches a threshold,
/// so it is constant over runs that start, like the threshold, at multiples of their length.
static void compare_runs(transfer *t, const axis_info *count, const axis_info *stay,
                         bool turns_after) {
    for (unsigned d = 0; d < dims_of(t->type); d++) {
        uint64_t threshold = start_divisor(stay, operand_type(t, 0), d, 1);
        if (turns_after)
            threshold = stay->is_const ? divisor_of((int64_t)((uint64_t)stay->value + 1)) : 1;
        uint64_t run = min_u64(count->contiguity[d], count->divisibility[d]);
        run = min_u64(min_u64(run, stay->constancy[d]), threshold);
        t->out->constancy[d] = max_u32(t->out->constancy[d], (uint32_t)run);
    }
}

static void transfer_cmp(transfer *t) {
    sv pred = ir_get_str(t->op, ATTR_PRED);
    if (!dtype_is_int(operand_type(t, 0).elem) || sv_is(pred, "eq") || sv_is(pred, "ne"))
        return;
    bool less_or_not = sv_is(pred, "lt") || sv_is(pred, "ge"); // turns at a == b, a counting up
    compare_runs(t, t->in[0], t->in[1], !less_or_not);
    compare_runs(t, t->in[1], t->in[0], less_or_not);
}

static void transfer_select(transfer *t) {
    const axis_info *c = t->in[0], *a = t->in[1], *b = t->in[2];
    if (c->is_const) {
        *t->out = c->value ? *a : *b;
        return;
    }
    axis_info both = axis_join(a, b, t->type);
    for (unsigned d = 0; d < dims_of(t->type); d++) {
        uint32_t run = min_u32(both.contiguity[d], c->constancy[d]);
        t->out->contiguity[d] = run;
        t->out->divisibility[d] = start_divisor(&both, t->type, d, run);
    }
    t->out->is_const = both.is_const;
    t->out->value = both.value;
    t->out->non_negative = both.non_negative;
}

/// Divisors of the values survive; runs do not.
static void keep_divisors(transfer *t) {
    for (unsigned d = 0; d < dims_of(t->type); d++)
        t->out->divisibility[d] = start_divisor(t->in[0], operand_type(t, 0), d, 1);
}

static void transfer_cast(transfer *t) {
    ir_type from = operand_type(t, 0);
    const axis_info *x = t->in[0];
    if (t->type.elem == DT_I1 || from.elem == DT_I1) {
        t->out->non_negative = true;
        if (x->is_const && dtype_is_int(t->type.elem))
            *t->out = axis_constant(t->type, t->type.elem == DT_I1 ? x->value != 0 : x->value);
    } else if (dtype_is_int(from.elem) && dtype_is_int(t->type.elem)) {
        bool wider = dtype_bits(t->type.elem) > dtype_bits(from.elem);
        // A narrow type wraps early: no longer run than half its range.
        uint64_t longest = UINT64_C(1) << (dtype_bits(t->type.elem) - 1);
        *t->out = *x;
        for (unsigned d = 0; d < dims_of(from); d++) {
            uint32_t run = (uint32_t)min_u64(x->contiguity[d], longest);
            t->out->contiguity[d] = run;
            t->out->divisibility[d] = start_divisor(x, from, d, run);
        }
        if (x->is_const)
            *t->out = axis_constant(t->type, x->value);
        else if (!wider)
            t->out->non_negative =
                x->non_negative && dtype_bits(from.elem) == dtype_bits(t->type.elem);
        else if (!dtype_is_signed(from.elem))
            t->out->non_negative = true;
    } else if (ir_is_pointer(from) || ir_is_pointer(t->type)) {
        keep_divisors(t);
    }
}

static void transfer_bitcast(transfer *t) {
    ir_type from = operand_type(t, 0);
    if (ir_is_pointer(from) && step_of(from) == step_of(t->type)) {
        *t->out = *t->in[0];
    } else if (ir_is_pointer(from)) {
        keep_divisors(t);
    } else if (dtype_is_int(from.elem) && dtype_is_int(t->type.elem)) {
        *t->out = *t->in[0];
        t->out->non_negative = false;
        if (t->out->is_const)
            *t->out = axis_constant(t->type, t->out->value);
    }
}

/// The largest power of two that divides the number an author gave for dimension d.
static uint64_t hint_for(const ir_op *op, ir_attr_key key, unsigned d) {
    const ir_attr *a = ir_find_attr(op, key);
    return a && d < a->num_ints && a->ints[d] > 0 ? divisor_of(a->ints[d]) : 1;
}

static void transfer_hint(transfer *t) {
    *t->out = *t->in[0];
    for (unsigned d = 0; d < dims_of(t->type); d++) {
        uint32_t extent = extent_of(t->type, d);
        uint64_t run = min_u64(hint_for(t->op, ATTR_CONTIGUITY, d), extent);
        uint64_t same = min_u64(hint_for(t->op, ATTR_CONSTANCY, d), extent);
        uint64_t divisor = hint_for(t->op, ATTR_DIVISIBILITY, d);
        t->out->contiguity[d] = max_u32(t->out->contiguity[d], (uint32_t)run);
        t->out->constancy[d] = max_u32(t->out->constancy[d], (uint32_t)same);
        t->out->divisibility[d] = max_u64(t->out->divisibility[d], divisor);
    }
}

static void copy_uniform_facts(transfer *t) {
    t->out->is_const = t->in[0]->is_const;
    t->out->value = t->in[0]->value;
    t->out->non_negative = t->in[0]->non_negative;
}

static void transfer_broadcast(transfer *t) {
    ir_type from = operand_type(t, 0);
    *t->out = *t->in[0];
    for (unsigned d = 0; d < dims_of(t->type); d++)
        if (from.shape[d] != t->type.shape[d])
            t->out->constancy[d] = t->type.shape[d];
}

static void transfer_permute(transfer *t) {
    const ir_attr *order = ir_find_attr(t->op, ATTR_ORDER);
    for (unsigned d = 0; d < t->type.rank; d++) {
        unsigned from = (unsigned)order->ints[d];
        t->out->contiguity[d] = t->in[0]->contiguity[from];
        t->out->divisibility[d] = t->in[0]->divisibility[from];
        t->out->constancy[d] = t->in[0]->constancy[from];
    }
    copy_uniform_facts(t);
}

/// Dimensions are matched from the last one up, in groups of equal size on both sides. The last
/// dimension of a group keeps the runs that fit in it; of the others only what all values share.
static void transfer_reshape(transfer *t) {
    ir_type from = operand_type(t, 0), to = t->type;
    const axis_info *x = t->in[0];
    uint64_t common = common_divisor(x, from);
    bool all_same = true;
    for (unsigned d = 0; d < from.rank; d++)
        all_same = all_same && x->constancy[d] == from.shape[d];
    for (unsigned d = 0; d < to.rank; d++) {
        t->out->divisibility[d] = common;
        t->out->constancy[d] = all_same ? to.shape[d] : 1;
    }
    unsigned s = from.rank, d = to.rank;
    while (s > 0 && d > 0) {
        s--;
        d--;
        if (from.shape[s] == 1 && to.shape[d] != 1) {
            d++;
            continue;
        }
        if (to.shape[d] == 1 && from.shape[s] != 1) {
            s++;
            continue;
        }
        uint32_t run = min_u32(x->contiguity[s], to.shape[d]);
        t->out->contiguity[d] = run;
        t->out->divisibility[d] = max_u64(common, start_divisor(x, from, s, run));
        t->out->constancy[d] = max_u32(t->out->constancy[d], min_u32(x->constancy[s], to.shape[d]));
        // Both sides go on at the next group.
        uint64_t have = from.shape[s], want = to.shape[d];
        while (have != want && (have < want ? s > 0 : d > 0)) {
            if (have < want)
                have *= from.shape[--s];
            else
                want *= to.shape[--d];
        }
    }
    copy_uniform_facts(t);
}

/// Two tiles side by side: along the new dimension values stay only where both are one constant.
static void transfer_join(transfer *t) {
    const axis_info *a = t->in[0], *b = t->in[1];
    ir_type each = operand_type(t, 0);
    *t->out = axis_join(a, b, each);
    unsigned last = t->type.rank - 1u;
    bool same = t->op->operands[0] == t->op->operands[1] || t->out->is_const;
    t->out->contiguity[last] = 1;
    t->out->constancy[last] = same ? 2 : 1;
    t->out->divisibility[last] = min_u64(common_divisor(a, each), common_divisor(b, each));
}

/// What holds along the dimensions that stay; index 0 starts the runs along the one that goes.
static void transfer_half(transfer *t) {
    ir_type from = operand_type(t, 0);
    const axis_info *x = t->in[0];
    unsigned last = t->type.rank;
    uint64_t divisor = start_divisor(x, from, last, 1);
    if (ir_get_int(t->op, ATTR_INDEX, 0) == 0)
        divisor = x->divisibility[last];
    for (unsigned d = 0; d < t->type.rank; d++) {
        t->out->contiguity[d] = x->contiguity[d];
        t->out->constancy[d] = x->constancy[d];
        t->out->divisibility[d] = max_u64(x->divisibility[d], divisor);
    }
    copy_uniform_facts(t);
}

/// Runs along the axis count down afterwards; runs of equal values stay.
static void transfer_flip(transfer *t) {
    unsigned axis = (unsigned)ir_get_int(t->op, ATTR_AXIS, 0);
    *t->out = *t->in[0];
    t->out->contiguity[axis] = 1;
    t->out->divisibility[axis] = start_divisor(t->in[0], t->type, axis, 1);
}

static void transfer_same(transfer *t) { *t->out = *t->in[0]; }

static transfer_fn *const transfers[IR_OPCODE_COUNT] = {
    [OP_CONST] = transfer_const,
    [OP_ARANGE] = transfer_arange,
    [OP_SPLAT] = transfer_splat,
    [OP_PROGRAM_ID] = transfer_program_id,
    [OP_NUM_PROGRAMS] = transfer_program_id,
    [OP_ADD] = transfer_add,
    [OP_SUB] = transfer_sub,
    [OP_MUL] = transfer_mul,
    [OP_DIV] = transfer_div,
    [OP_REM] = transfer_rem,
    [OP_NEG] = transfer_neg,
    [OP_AND] = transfer_and,
    [OP_OR] = transfer_or,
    [OP_XOR] = transfer_or,
    [OP_SHL] = transfer_shl,
    [OP_SHR] = transfer_shr,
    [OP_MIN] = transfer_min_max,
    [OP_MAX] = transfer_min_max,
    [OP_CMP] = transfer_cmp,
    [OP_SELECT] = transfer_select,
    [OP_ABS] = transfer_abs,
    [OP_CAST] = transfer_cast,
    [OP_BITCAST] = transfer_bitcast,
    [OP_ADDPTR] = transfer_addptr,
    [OP_HINT] = transfer_hint,
    [OP_RESHAPE] = transfer_reshape,
    [OP_BROADCAST] = transfer_broadcast,
    [OP_PERMUTE] = transfer_permute,
    [OP_JOIN] = transfer_join,
    [OP_HALF] = transfer_half,
    [OP_FLIP] = transfer_flip,
    [OP_CONVERT_LAYOUT] = transfer_same,
};

axis_info axis_transfer(const ir_op *op, const axis_info *const in[AXIS_MAX_OPERANDS]) {
    axis_info out = axis_unknown();
    transfer t = {.op = op, .type = op->results[0]->type, .out = &out};
    memcpy(t.in, in, sizeof(t.in));
    bool together = ir_has_trait(op, ELEMENTWISE) && op->num_operands <= AXIS_MAX_OPERANDS;
    for (unsigned d = 0; together && d < dims_of(t.type); d++) {
        out.constancy[d] = extent_of(t.type, d);
        for (uint32_t i = 0; i < op->num_operands; i++)
            out.constancy[d] = min_u32(out.constancy[d], in[i]->constancy[d]);
    }
    if (transfers[op->opcode])
        transfers[op->opcode](&t);
    return out;
}
