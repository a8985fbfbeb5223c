// Built-ins that change shapes: broadcasting, new and old dimensions, orders of dimensions; and
// those that make one tile of two, or two of one. cat and interleave are join and a change of shape,
// so they move no data that join does not.
#include "frontend/builtins.h"

// --- one tile in another shape

value build_broadcast(lowering *lo, value *args, src_range range) {
    if (!sem_broadcast_pair(lo, &args[0], &args[1], range))
        return value_poison();
    return value_tuple(lo->arena, args, 2);
}

value build_broadcast_to(lowering *lo, value *args, src_range range) {
    tile_shape shape;
    if (!sem_read_shape(lo, &args[1], &shape, range))
        return value_poison();
    return sem_broadcast_to(lo, args[0], shape.dims, shape.rank, range);
}

/// The dimensions of the result that are new, as a bit set.
static bool read_new_axes(lowering *lo, const value *axes, unsigned rank, unsigned *out,
                          src_range range) {
    const value *items = axes->kind == VALUE_TUPLE ? axes->items : axes;
    uint32_t n = axes->kind == VALUE_TUPLE ? axes->num_items : 1;
    *out = 0;
    if (rank + n > IR_MAX_RANK) {
        lower_error(lo, range, "a tile has at most %d dimensions", IR_MAX_RANK);
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        unsigned axis;
        if (!sem_read_axis(lo, &items[i], rank + n, &axis, range))
            return false;
        if (*out >> axis & 1) {
            lower_error(lo, range, "axis %u is named twice", axis);
            return false;
        }
        *out |= 1u << axis;
    }
    return true;
}

value build_expand_dims(lowering *lo, value *args, src_range range) {
    unsigned axes;
    value x = args[0];
    if (!read_new_axes(lo, &args[1], x.ir->type.rank, &axes, range))
        return value_poison();
    for (unsigned axis = 0; axis < IR_MAX_RANK; axis++)
        if (axes >> axis & 1)
            x.ir = sem_expand_dims(lo, x.ir, axis);
    return value_ir(x.ir);
}

value build_squeeze(lowering *lo, value *args, src_range range) {
    unsigned axis;
    tile_shape s = sem_shape_of(args[0].ir);
    if (!sem_read_axis(lo, &args[1], s.rank, &axis, range))
        return value_poison();
    if (s.dims[axis] != 1)
        return lower_error(lo, range,
                           "squeeze() needs a dimension of extent 1, but dimension %u "
                           "of %s has %u",
                           axis, sem_describe(lo, &args[0]), s.dims[axis]);
    memmove(&s.dims[axis], &s.dims[axis + 1], (s.rank - axis - 1) * sizeof(s.dims[0]));
    s.dims[--s.rank] = 0;
    return value_ir(sem_reshape(lo, args[0].ir, &s));
}

static value reshape_to(lowering *lo, value *x, const tile_shape *shape, src_range range) {
    uint64_t elements = 1;
    for (unsigned i = 0; i < shape->rank; i++)
        elements *= shape->dims[i];
    if (elements != ir_type_elements(x->ir->type))
        return lower_error(lo, range, "cannot reshape %s to %s: %u elements are not %llu",
                           sem_describe(lo, x), sem_shape_text(lo, shape->dims, shape->rank),
                           ir_type_elements(x->ir->type), (unsigned long long)elements);
    return value_ir(sem_reshape(lo, x->ir, shape));
}

// reshape may also keep the order where can_reorder allows another.
value build_reshape(lowering *lo, value *args, src_range range) {
    tile_shape shape;
    if (!sem_read_shape(lo, &args[1], &shape, range))
        return value_poison();
    return reshape_to(lo, &args[0], &shape, range);
}

value build_ravel(lowering *lo, value *args, src_range range) {
    tile_shape flat = {.rank = 1, .dims = {ir_type_elements(args[0].ir->type)}};
    return reshape_to(lo, &args[0], &flat, range);
}

value build_item(lowering *lo, value *args, src_range range) {
    if (ir_type_elements(args[0].ir->type) != 1)
        return lower_error(lo, range, "item() needs a tile of one element, got %s",
                           sem_describe(lo, &args[0]));
    return reshape_to(lo, &args[0], &(tile_shape){.rank = 0}, range);
}

/// The order of permute(x, 1, 0) or permute(x, (1, 0)); no dims: the last two swapped.
static bool read_order(lowering *lo, const value *x, const value *dims, int64_t *order,
                       src_range range) {
    unsigned rank = x->ir->type.rank, seen = 0;
    if (dims->num_items == 1 && dims->items[0].kind == VALUE_TUPLE)
        dims = &dims->items[0];
    if (dims->num_items == 0 && rank >= 2) {
        for (unsigned i = 0; i < rank; i++)
            order[i] = i;
        order[rank - 2] = rank - 1;
        order[rank - 1] = rank - 2;
        return true;
    }
    if (dims->num_items == 0) {
        lower_error(lo, range, "a transposition needs two dimensions or more, got %s",
                    sem_describe(lo, x));
        return false;
    }
    if (dims->num_items != rank || rank == 0) {
        lower_error(lo, range,
                    "an order of the dimensions of %s names each of them once, but %u "
                    "are given",
                    sem_describe(lo, x), dims->num_items);
        return false;
    }
    for (unsigned i = 0; i < rank; i++) {
        unsigned axis;
        if (!sem_read_axis(lo, &dims->items[i], rank, &axis, range))
            return false;
        if (seen >> axis & 1) {
            lower_error(lo, range, "dimension %u is named twice", axis);
            return false;
        }
        seen |= 1u << axis;
        order[i] = axis;
    }
    return true;
}

static ir_value *permute(lowering *lo, ir_value *x, const int64_t *order) {
    uint32_t dims[IR_MAX_RANK];
    unsigned rank = x->type.rank;
    for (unsigned i = 0; i < rank; i++)
        dims[i] = x->type.shape[order[i]];
    ir_type type = ir_tile_type(ir_element_type(x->type), dims, rank);
    ir_value *v = ir_create_value(&lo->b, OP_PERMUTE, &x, 1, type);
    ir_set_ints(v->def, ATTR_ORDER, order, rank);
    return v;
}

value build_permute(lowering *lo, value *args, src_range range) {
    int64_t order[IR_MAX_RANK];
    if (!read_order(lo, &args[0], &args[1], order, range))
        return value_poison();
    return value_ir(permute(lo, args[0].ir, order));
}

// --- one tile of two, two of one

/// Joins two values of one type and shape in a new last dimension.
static ir_value *join(lowering *lo, ir_value *a, ir_value *b) {
    tile_shape one = {.rank = 1, .dims = {1}}, to = sem_shape_of(a);
    bool scalars = to.rank == 0;
    if (scalars) {
        a = sem_reshape(lo, a, &one);
        b = sem_reshape(lo, b, &one);
    }
    to.dims[to.rank++] = 2;
    tile_shape made = scalars ? (tile_shape){.rank = 2, .dims = {1, 2}} : to;
    ir_type type = ir_tile_type(ir_element_type(a->type), made.dims, made.rank);
    ir_value *operands[] = {a, b};
    return sem_reshape(lo, ir_create_value(&lo->b, OP_JOIN, operands, 2, type), &to);
}

/// True if two values may become one tile: of one element type, and small enough.
static bool check_pair(lowering *lo, const char *what, const value *a, const value *b,
                       src_range range) {
    tile_shape s = sem_shape_of(a->ir);
    if (!ir_type_equal(ir_element_type(a->ir->type), ir_element_type(b->ir->type))) {
        sem_mismatch(lo, range, a, b, "%s takes two values of one type, not %s and %s", what,
                     sem_describe(lo, a), sem_describe(lo, b));
        return false;
    }
    if (s.rank == IR_MAX_RANK) {
        lower_error(lo, range, "%s adds a dimension to %s, but a tile has at most %d", what,
                    sem_describe(lo, a), IR_MAX_RANK);
        return false;
    }
    s.dims[s.rank++] = 2;
    return sem_check_shape(lo, &s, range);
}

value build_join(lowering *lo, value *args, src_range range) {
    value *a = &args[0], *b = &args[1];
    if (!sem_broadcast_pair(lo, a, b, range) || !check_pair(lo, "join()", a, b, range))
        return value_poison();
    return value_ir(join(lo, a->ir, b->ir));
}

value build_interleave(lowering *lo, value *args, src_range range) {
    value *a = &args[0], *b = &args[1];
    if (!sem_broadcast_pair(lo, a, b, range) || !check_pair(lo, "interleave()", a, b, range))
        return value_poison();
    tile_shape to = sem_shape_of(a->ir);
    if (to.rank == 0)
        to = (tile_shape){.rank = 1, .dims = {1}};
    to.dims[to.rank - 1] *= 2;
    return value_ir(sem_reshape(lo, join(lo, a->ir, b->ir), &to));
}

/// The joined dimension moves before `dim`, and the two become one. The order is kept where
/// can_reorder allows another.
value build_cat(lowering *lo, value *args, src_range range) {
    value *a = &args[0], *b = &args[1];
    unsigned dim, rank = a->ir->type.rank;
    if (rank == 0 || !ir_shape_equal(a->ir->type, b->ir->type))
        return sem_mismatch(lo, range, a, b, "cat() takes two tiles of one shape, not %s and %s%s",
                            sem_describe(lo, a), sem_describe(lo, b),
                            rank == 0 ? "; scalars go to join()" : "");
    if (!check_pair(lo, "cat()", a, b, range) || !sem_read_axis(lo, &args[3], rank, &dim, range))
        return value_poison();
    int64_t order[IR_MAX_RANK];
    for (unsigned i = 0; i <= rank; i++)
        order[i] = i < dim ? i : i == dim ? rank : i - 1;
    tile_shape to = sem_shape_of(a->ir);
    to.dims[dim] *= 2;
    return value_ir(sem_reshape(lo, permute(lo, join(lo, a->ir, b->ir), order), &to));
}

value build_split(lowering *lo, value *args, src_range range) {
    tile_shape to = sem_shape_of(args[0].ir), pair = {.rank = 2, .dims = {1, 2}}, one = pair;
    if (to.rank == 0 || to.dims[to.rank - 1] != 2)
        return lower_error(lo, range, "split() needs a last dimension of extent 2, got %s",
                           sem_describe(lo, &args[0]));
    to.dims[--to.rank] = 0;
    bool scalars = to.rank == 0;
    one = scalars ? (tile_shape){.rank = 1, .dims = {1}} : to;
    ir_value *x = scalars ? sem_reshape(lo, args[0].ir, &pair) : args[0].ir;
    ir_type type = ir_tile_type(ir_element_type(x->type), one.dims, one.rank);
    value halves[2];
    for (int64_t i = 0; i < 2; i++) {
        ir_value *v = ir_create_value(&lo->b, OP_HALF, &x, 1, type);
        ir_set_int(v->def, ATTR_INDEX, i);
        halves[i] = value_ir(sem_reshape(lo, v, &to));
    }
    return value_tuple(lo->arena, halves, 2);
}

value build_flip(lowering *lo, value *args, src_range range) {
    ir_value *x = args[0].ir;
    unsigned axis = x->type.rank - 1u;
    if (x->type.rank == 0)
        return lower_error(lo, range, "flip() needs a tile, got %s", sem_describe(lo, &args[0]));
    if (args[1].kind != VALUE_NONE && !sem_read_axis(lo, &args[1], x->type.rank, &axis, range))
        return value_poison();
    ir_value *v = ir_create_value(&lo->b, OP_FLIP, &x, 1, x->type);
    ir_set_int(v->def, ATTR_AXIS, axis);
    return value_ir(v);
}
