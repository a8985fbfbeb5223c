// Built-ins that make tiles, change their shapes and hint at their values.
#include "frontend/builtins.h"

// --- programming model

static value program_index(lowering *lo, ir_opcode op, const value *axis, src_range range) {
    if (axis->is_unsigned || axis->i < 0 || axis->i > 2)
        return lower_error(lo, value_place(axis, range), "axis of the grid is 0, 1 or 2, not %lld",
                           (long long)axis->i);
    ir_value *v = ir_create_value(&lo->b, op, NULL, 0, ir_scalar_type(DT_I32));
    ir_set_int(v->def, ATTR_AXIS, axis->i);
    return value_ir(v);
}

value build_program_id(lowering *lo, value *args, src_range range) {
    return program_index(lo, OP_PROGRAM_ID, &args[0], range);
}

value build_num_programs(lowering *lo, value *args, src_range range) {
    return program_index(lo, OP_NUM_PROGRAMS, &args[0], range);
}

// --- creation and casts

value build_arange(lowering *lo, value *args, src_range range) {
    int64_t start = args[0].i, end = args[1].i;
    for (int i = 0; i < 2; i++)
        if (args[i].is_unsigned || args[i].i < INT32_MIN || args[i].i > (int64_t)INT32_MAX + i)
            return lower_error(lo, value_place(&args[i], range), "arange() counts in i32");
    if (end <= start)
        return lower_error(lo, range,
                           "arange(%lld, %lld) is empty: the end must be above the "
                           "start",
                           (long long)start, (long long)end);
    tile_shape shape = {.rank = 1, .dims = {(uint32_t)(end - start)}};
    if ((shape.dims[0] & (shape.dims[0] - 1)) != 0)
        return lower_error(lo, range,
                           "arange(%lld, %lld) has %u elements, which is not a power of "
                           "two; take the next one and mask",
                           (long long)start, (long long)end, shape.dims[0]);
    if (!sem_check_shape(lo, &shape, range))
        return value_poison();
    ir_type type = ir_tile_type(ir_scalar_type(DT_I32), shape.dims, 1);
    ir_value *v = ir_create_value(&lo->b, OP_ARANGE, NULL, 0, type);
    ir_set_int(v->def, ATTR_START, start);
    return value_ir(v);
}

/// A number for full() must be a value of the type; casts are for run-time values.
static bool check_fill(lowering *lo, const value *v, ir_type type, src_range range) {
    if (v->kind == VALUE_FLOAT && dtype_is_int(type.elem)) {
        lower_error(lo, value_place(v, range), "cannot fill %s with a float",
                    dtype_name(type.elem));
        return false;
    }
    return sem_check_fits(lo, v, type.elem, range);
}

value build_full(lowering *lo, value *args, src_range range) {
    tile_shape shape;
    value fill = args[1];
    ir_type elem = args[2].type;
    if (!sem_read_shape(lo, &args[0], &shape, value_place(&args[0], range)))
        return value_poison();
    if (elem.rank != 0 || elem.elem == DT_PTR || elem.elem == DT_VOID)
        return lower_error(lo, value_place(&args[2], range), "full() makes numbers, not %s",
                           ir_type_string(lo->arena, elem));
    ir_type type = ir_tile_type(elem, shape.dims, shape.rank);
    if (value_is_number(&fill)) {
        if (!check_fill(lo, &fill, elem, range))
            return value_poison();
        return value_ir(sem_constant(lo, &fill, type));
    }
    if (!sem_to_ir(lo, &fill, "the value of full()"))
        return value_poison();
    if (ir_is_tile(fill.ir->type))
        return lower_error(lo, value_place(&args[1], range),
                           "full() takes a scalar, not %s; see tl.broadcast_to",
                           sem_describe(lo, &fill));
    fill = sem_convert(lo, fill, elem, range);
    return sem_broadcast_to(lo, fill, shape.dims, shape.rank, range);
}

value build_cast(lowering *lo, value *args, src_range range) {
    sv rounding = args[2].kind == VALUE_STRING ? args[2].str : (sv){0};
    value out = sem_cast_type(lo, args[0], args[1].type, rounding, args[3].i != 0, range);
    out.range = range;
    return out;
}

value build_pointer_type(lowering *lo, value *args, src_range range) {
    ir_type t = args[0].type;
    if (t.rank != 0 || t.elem == DT_PTR || t.elem == DT_VOID)
        return lower_error(lo, range, "a pointer to %s is not supported yet",
                           ir_type_string(lo->arena, t));
    if (args[1].i != 1)
        return lower_error(lo, range, "'address_space' is 1, global memory");
    return value_dtype(ir_pointer_type(t.elem, args[2].i != 0));
}

value build_constexpr(lowering *lo, value *args, src_range range) {
    if (value_is_constexpr(&args[0]))
        return args[0];
    return lower_error(lo, range, "constexpr() needs a compile-time value, not %s",
                       sem_describe(lo, &args[0]));
}

// --- shape

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

value build_permute(lowering *lo, value *args, src_range range) {
    int64_t order[IR_MAX_RANK];
    const ir_value *x = args[0].ir;
    uint32_t dims[IR_MAX_RANK];
    if (!read_order(lo, &args[0], &args[1], order, range))
        return value_poison();
    unsigned rank = x->type.rank;
    for (unsigned i = 0; i < rank; i++)
        dims[i] = x->type.shape[order[i]];
    ir_type type = ir_tile_type(ir_element_type(x->type), dims, rank);
    ir_value *v = ir_create_value(&lo->b, OP_PERMUTE, &args[0].ir, 1, type);
    ir_set_ints(v->def, ATTR_ORDER, order, rank);
    return value_ir(v);
}

// --- hints

/// The largest power of two that divides v: what a statement on multiples says in powers of two.
static int64_t power_of_2_part(int64_t v) { return v & -v; }

static value hint(lowering *lo, ir_attr_key key, value *args, src_range range) {
    ir_type t = args[0].ir->type;
    unsigned want = t.rank ? t.rank : 1;
    const value *items = args[1].kind == VALUE_TUPLE ? args[1].items : &args[1];
    uint32_t n = args[1].kind == VALUE_TUPLE ? args[1].num_items : 1;
    int64_t values[IR_MAX_RANK];
    if (!dtype_is_int(t.elem) && t.elem != DT_PTR)
        return lower_error(lo, range, "hints are for integers and pointers, not %s",
                           sem_describe(lo, &args[0]));
    if (n != want)
        return lower_error(lo, range, "a hint on %s needs %u number%s, one per dimension, not %u",
                           sem_describe(lo, &args[0]), want, want == 1 ? "" : "s", n);
    for (uint32_t i = 0; i < n; i++) {
        src_range place = value_place(&items[i], range);
        if (items[i].kind != VALUE_INT || items[i].is_unsigned || items[i].i < 1)
            return lower_error(lo, place, "a hint is a positive compile-time integer, not %s",
                               sem_describe(lo, &items[i]));
        values[i] = power_of_2_part(items[i].i);
        if (key != ATTR_DIVISIBILITY && values[i] != items[i].i)
            return lower_error(lo, place, "runs of values are powers of two long, %lld is not",
                               (long long)items[i].i);
    }
    ir_value *v = ir_create_value(&lo->b, OP_HINT, &args[0].ir, 1, t);
    ir_set_ints(v->def, key, values, n);
    return value_with_ir(args[0], v);
}

value build_multiple_of(lowering *lo, value *args, src_range range) {
    return hint(lo, ATTR_DIVISIBILITY, args, range);
}

value build_max_contiguous(lowering *lo, value *args, src_range range) {
    return hint(lo, ATTR_CONTIGUITY, args, range);
}

value build_max_constancy(lowering *lo, value *args, src_range range) {
    return hint(lo, ATTR_CONSTANCY, args, range);
}

value build_assume(lowering *lo, value *args, src_range range) {
    value cond = args[0];
    if (cond.kind == VALUE_BOOL) {
        if (cond.i)
            return value_none();
        return lower_error(lo, range, "assume() of what is known to be False");
    }
    if (cond.kind != VALUE_IR || value_elem(&cond) != DT_I1)
        return lower_error(lo, range, "assume() needs an i1, not %s", sem_describe(lo, &cond));
    ir_create(&lo->b, OP_ASSUME, &cond.ir, 1, NULL, 0);
    return value_none();
}

value build_debug_barrier(lowering *lo, value *args, src_range range) {
    (void)args;
    (void)range;
    ir_create(&lo->b, OP_BARRIER, NULL, 0, NULL, 0);
    return value_none();
}
