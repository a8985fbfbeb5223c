// Built-ins that make tiles and hint at their values.
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
    if (rounding.len && !sv_is(rounding, "rtne") && !sv_is(rounding, "rtz"))
        return lower_error(lo, value_place(&args[2], range),
                           "'fp_downcast_rounding' is 'rtne' or 'rtz', not '%" SV_FMT "'",
                           SV_ARG(rounding));
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

value build_block_type(lowering *lo, value *args, src_range range) {
    tile_shape shape;
    if (args[0].type.rank)
        return lower_error(lo, value_place(&args[0], range), "%s is not an element type",
                           ir_type_string(lo->arena, args[0].type));
    if (!sem_read_shape(lo, &args[1], &shape, value_place(&args[1], range)))
        return value_poison();
    return value_dtype(ir_tile_type(args[0].type, shape.dims, shape.rank));
}

value build_get_int_dtype(lowering *lo, value *args, src_range range) {
    sv name = sv_format(lo->arena, "%sint%lld", args[1].i ? "" : "u", (long long)args[0].i);
    dtype t = args[0].i == 1 ? DT_I1 : dtype_from_name(name);
    if (t == DT_VOID || !dtype_is_int(t))
        return lower_error(lo, value_place(&args[0], range), "no integer has %lld bits",
                           (long long)args[0].i);
    return value_dtype(ir_scalar_type(t));
}

value build_constexpr(lowering *lo, value *args, src_range range) {
    if (args[0].kind == VALUE_IR)
        diag_warning(lo->diag, "not-constexpr", range,
                     "constexpr() of %s, which is known only at run time, is that value",
                     sem_describe(lo, &args[0]));
    return args[0];
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
