// How wide a global memory access may be, from axis info: the run of addresses, their alignment,
// and what the mask does within a vector. A mask that is not constant there may still be an
// *interval*, true elements side by side, as `offs < n` is: then most vectors are all on or all
// off, and only the ragged ones at its ends must be taken element by element, at run time. The same
// test covers vectors that pass_realign has aligned as a rule.
#include "ir/axis_transfer.h"

enum { MAX_VECTOR = 16 }; ///< bytes of the widest access

const ir_value *axis_access_mask(const ir_op *op) {
    return op->operands[op->opcode == OP_LOAD ? 1 : 2];
}

/// The dimension of x that dimension `dim` of its reshaped form is, if only extents of 1 come and
/// go; the rank of x if it is none.
static unsigned same_dim(ir_type x, ir_type reshaped, unsigned dim) {
    unsigned d = 0;
    for (unsigned i = 0; i < reshaped.rank; i++) {
        if (reshaped.shape[i] == 1)
            continue;
        while (d < x.rank && x.shape[d] == 1)
            d++;
        if (d == x.rank || x.shape[d] != reshaped.shape[i])
            return x.rank;
        if (i == dim)
            return d;
        d++;
    }
    return x.rank;
}

/// Does a comparison turn only once along a run of `a` against a `b` that stays?
static uint64_t turning_run(const axis_analysis *an, const ir_op *cmp, unsigned dim) {
    sv pred = ir_get_str(cmp, ATTR_PRED);
    if (!dtype_is_int(cmp->operands[0]->type.elem) || sv_is(pred, "eq") || sv_is(pred, "ne"))
        return 1;
    const axis_info *a = axis_get(an, cmp->operands[0]), *b = axis_get(an, cmp->operands[1]);
    return max_u64(min_u64(a->contiguity[dim], b->constancy[dim]),
                   min_u64(a->constancy[dim], b->contiguity[dim]));
}

/// Is a comparison true first and false then, along a run of ascending `a` against a `b` that stays?
static uint64_t falling_run(const axis_analysis *an, const ir_op *cmp, unsigned dim) {
    sv pred = ir_get_str(cmp, ATTR_PRED);
    if (!dtype_is_int(cmp->operands[0]->type.elem) || !(sv_is(pred, "lt") || sv_is(pred, "le")))
        return 1;
    const axis_info *a = axis_get(an, cmp->operands[0]), *b = axis_get(an, cmp->operands[1]);
    return min_u64(a->contiguity[dim], b->constancy[dim]);
}

typedef uint64_t run_of_comparison(const axis_analysis *an, const ir_op *cmp, unsigned dim);

/// `depth` bounds the work: masks may be built from each other again and again.
static uint64_t interval(const axis_analysis *an, const ir_value *mask, unsigned dim,
                         run_of_comparison *run_of, unsigned depth) {
    const ir_op *def = mask->def;
    uint64_t run = axis_get(an, mask)->constancy[dim], more = 1;
    if (!def || def->num_operands == 0 || depth == 0)
        return run;
    const ir_value *x = def->operands[0];
    if (def->opcode == OP_CMP) {
        more = run_of(an, def, dim);
    } else if (def->opcode == OP_AND) {
        more = min_u64(interval(an, x, dim, run_of, depth - 1),
                       interval(an, def->operands[1], dim, run_of, depth - 1));
    } else if (def->opcode == OP_CONVERT_LAYOUT || def->opcode == OP_BROADCAST) {
        if (x->type.shape[dim] == mask->type.shape[dim])
            more = interval(an, x, dim, run_of, depth - 1);
    } else if (def->opcode == OP_RESHAPE) {
        unsigned d = same_dim(x->type, mask->type, dim);
        if (d < x->type.rank)
            more = interval(an, x, d, run_of, depth - 1);
    }
    return max_u64(run, more);
}

uint32_t axis_interval(const axis_analysis *an, const ir_value *mask, unsigned dim) {
    return (uint32_t)interval(an, mask, dim, turning_run, AXIS_INTERVAL_DEPTH);
}

/// Elements that lie side by side along `dim`, up to 16 bytes; 1 for what is never a vector.
static uint64_t consecutive(const axis_analysis *an, const ir_op *op, unsigned dim) {
    const ir_value *ptr = op->operands[0];
    if ((op->opcode != OP_LOAD && op->opcode != OP_STORE && op->opcode != OP_ASYNC_COPY) ||
        !ir_is_tile(ptr->type))
        return 1;
    return min_u64(MAX_VECTOR / dtype_bytes(ptr->type.pointee), axis_get(an, ptr)->contiguity[dim]);
}

/// Of those, the ones that start at a multiple of their size.
static uint64_t aligned(const axis_analysis *an, const ir_op *op, unsigned dim) {
    const ir_value *ptr = op->operands[0];
    uint64_t most = axis_get(an, ptr)->divisibility[dim] / dtype_bytes(ptr->type.pointee);
    return min_u64(consecutive(an, op, dim), max_u64(most, 1));
}

uint32_t axis_whole_width(const axis_analysis *an, const ir_op *op, unsigned dim) {
    uint64_t width = aligned(an, op, dim);
    if (width > 1 && axis_access_mask(op))
        width = min_u64(width, axis_get(an, axis_access_mask(op))->constancy[dim]);
    return (uint32_t)width;
}

uint32_t axis_access_width(const axis_analysis *an, const ir_op *op, unsigned dim) {
    if (ir_get_flag(op, ATTR_VOLATILE))
        return axis_whole_width(an, op, dim);
    bool realigned = ir_get_flag(op, ATTR_REALIGNED);
    uint64_t width = realigned ? consecutive(an, op, dim) : aligned(an, op, dim);
    if (width > 1 && axis_access_mask(op))
        width = min_u64(width, axis_interval(an, axis_access_mask(op), dim));
    return (uint32_t)width;
}

uint32_t axis_async_width(const axis_analysis *an, const ir_op *op, unsigned dim) {
    uint64_t width = aligned(an, op, dim);
    const ir_value *mask = axis_access_mask(op);
    if (width > 1 && mask)
        width = min_u64(width, interval(an, mask, dim, falling_run, AXIS_INTERVAL_DEPTH));
    return (uint32_t)width;
}

/// The leading register bases are the dimension's bits 0, 1, 2 ... and no other basis is.
uint32_t axis_held_run(const ir_value *tile, unsigned dim) {
    const layout *l = tile->layout;
    const ir_type *t = &tile->type;
    unsigned shift = layout_shape_bits(t->shape + dim + 1, t->rank - dim - 1);
    unsigned bits = (unsigned)__builtin_ctz(t->shape[dim]), n = 0;
    for (; n < l->reg_bits && n < bits && l->basis[n] == 1u << (shift + n); n++) {
        for (unsigned i = n + 1; i < layout_place_bits(l); i++) {
            if (l->basis[i] >> (shift + n) & 1)
                return 1u << n;
        }
    }
    return 1u << n;
}
