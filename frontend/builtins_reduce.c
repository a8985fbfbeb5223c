// Reductions. Each makes one `reduce` op whose region is the combine function, lowered into it with
// scalar arguments: the user's own, or one of stdlib.tile (_sum, _max, _argmax ...). Sums of 16-bit
// floats accumulate in fp32 and are rounded once. The scans in builtins_scan.c work alike.
#include "frontend/builtins_reduce.h"

// --- reduce

/// The type of x without the axis.
static ir_type reduced_type(ir_type t, unsigned axis) {
    uint32_t dims[IR_MAX_RANK];
    unsigned rank = 0;
    for (unsigned i = 0; i < t.rank; i++)
        if (i != axis)
            dims[rank++] = t.shape[i];
    return ir_tile_type(ir_element_type(t), dims, rank);
}

/// The combine function's results as scalars of the elements' types; false after an error.
static bool read_combined(lowering *lo, const value *result, const ir_op *op, ir_value **out,
                          src_range range) {
    uint32_t n = op->num_operands;
    const value *items = result->kind == VALUE_TUPLE ? result->items : result;
    uint32_t given = result->kind == VALUE_TUPLE ? result->num_items : 1;
    if (given != n || result->kind == VALUE_NONE) {
        lower_error(lo, range, "the combine function must return %u value%s, not %s", n,
                    n == 1 ? "" : "s", sem_describe(lo, result));
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        value v = items[i];
        ir_type want = ir_element_type(op->operands[i]->type);
        if (value_is_number(&v) && ir_is_pointer(want) == false)
            v = sem_convert(lo, v, want, range);
        if (value_is_poison(&v))
            return false;
        if (v.kind != VALUE_IR || !ir_type_equal(v.ir->type, want)) {
            lower_error(lo, range, "the combine function must return %s as it takes it, not %s",
                        ir_type_string(lo->arena, want), sem_describe(lo, &v));
            return false;
        }
        out[i] = v.ir;
    }
    return true;
}

typedef struct purity {
    lowering *lo;
    const char *what;
    src_range range;
    bool failed;
} purity;

static void check_pure(ir_op *op, void *ctx) {
    purity *p = ctx;
    if (p->failed || op->opcode == OP_CONST || ir_has_trait(op, ELEMENTWISE | TERMINATOR))
        return;
    lower_error(p->lo, op->range.file ? op->range : p->range,
                "%s computes with its arguments only; it cannot use '%s'", p->what,
                ir_get_op_info(op->opcode)->name);
    p->failed = true;
}

bool reduce_check_pure(lowering *lo, ir_block *region, const char *what, src_range range) {
    purity p = {.lo = lo, .what = what, .range = range};
    ir_walk(region, check_pure, &p);
    return !p.failed;
}

bool reduce_build_region(lowering *lo, ir_op *op, const value *combine, src_range range) {
    uint32_t n = op->num_operands;
    value params[2 * REDUCE_MAX_TILES];
    ir_value *combined[REDUCE_MAX_TILES];
    ir_builder outside = lo->b;
    op->regions[0] = ir_block_create(lo->func, op);
    for (uint32_t i = 0; i < 2 * n; i++) {
        ir_type type = ir_element_type(op->operands[i % n]->type);
        params[i] = value_ir(ir_add_block_arg(op->regions[0], type, (sv){0}));
        params[i].range = range;
    }
    lo->b.block = op->regions[0];
    lo->b.before = NULL;
    call_args args = {.positional = params, .num_positional = 2 * n, .range = range};
    value result = lower_call(lo, combine, &args);
    bool ok = !value_is_poison(&result) && read_combined(lo, &result, op, combined, range);
    if (ok)
        ir_yield(&lo->b, combined, n);
    lo->b = outside;
    return ok && reduce_check_pure(lo, op->regions[0], "a combine function", range);
}

/// The result with extent 1 along what was reduced: the axis, or everything.
static ir_value *restore_dims(lowering *lo, ir_value *result, const tile_shape *before, int axis) {
    tile_shape s = *before;
    for (unsigned i = 0; i < s.rank; i++)
        if (axis < 0 || i == (unsigned)axis)
            s.dims[i] = 1;
    return sem_reshape(lo, result, &s);
}

/// Reduces n tiles of one shape in place: xs become the results. axis None: over all elements.
static bool reduce(lowering *lo, value *xs, uint32_t n, const value *axis_value,
                   const value *combine, bool keep_dims, src_range range) {
    tile_shape before = sem_shape_of(xs[0].ir);
    unsigned axis = 0;
    ir_value *tiles[REDUCE_MAX_TILES];
    ir_type types[REDUCE_MAX_TILES];
    bool all = axis_value->kind == VALUE_NONE;
    if (before.rank == 0) {
        lower_error(lo, range, "cannot reduce %s: it has no dimensions", sem_describe(lo, &xs[0]));
        return false;
    }
    if (!all && !sem_read_axis(lo, axis_value, before.rank, &axis, range))
        return false;
    tile_shape flat = {.rank = 1, .dims = {ir_type_elements(xs[0].ir->type)}};
    for (uint32_t i = 0; i < n; i++) {
        tiles[i] = all ? sem_reshape(lo, xs[i].ir, &flat) : xs[i].ir;
        types[i] = reduced_type(tiles[i]->type, axis);
    }
    ir_op *op = ir_create(&lo->b, OP_REDUCE, tiles, n, types, n);
    ir_set_int(op, ATTR_AXIS, axis);
    if (!reduce_build_region(lo, op, combine, range))
        return false;
    lower_set_range(lo, range);
    for (uint32_t i = 0; i < n; i++) {
        ir_value *r = op->results[i];
        xs[i] = value_ir(keep_dims ? restore_dims(lo, r, &before, all ? -1 : (int)axis) : r);
    }
    return true;
}

bool reduce_read_tiles(lowering *lo, const char *name, const value *given, const value *combine,
                       reduce_tiles *out, src_range range) {
    out->is_tuple = given->kind == VALUE_TUPLE;
    uint32_t n = out->n = out->is_tuple ? given->num_items : 1;
    value *xs = out->xs;
    if (combine->kind != VALUE_FUNC && combine->kind != VALUE_BUILTIN) {
        lower_error(lo, value_place(combine, range), "'combine_fn' must be a function, not %s",
                    sem_describe(lo, combine));
        return false;
    }
    if (n == 0 || n > REDUCE_MAX_TILES) {
        lower_error(lo, range, "%s() takes 1 to %d tiles, not %u", name, REDUCE_MAX_TILES, n);
        return false;
    }
    memcpy(xs, out->is_tuple ? given->items : given, n * sizeof(value));
    for (uint32_t i = 0; i < n; i++)
        if (!sem_to_ir(lo, &xs[i], "what is combined"))
            return false;
    for (uint32_t i = 1; i < n; i++)
        if (!sem_broadcast_pair(lo, &xs[0], &xs[i], range))
            return false;
    for (uint32_t i = 1; i < n; i++)
        if (!sem_broadcast_pair(lo, &xs[0], &xs[i], range))
            return false;
    return true;
}

value build_reduce(lowering *lo, value *args, src_range range) {
    reduce_tiles t;
    if (!reduce_read_tiles(lo, "reduce", &args[0], &args[2], &t, range) ||
        !reduce(lo, t.xs, t.n, &args[1], &args[2], args[3].i != 0, range))
        return value_poison();
    return t.is_tuple ? value_tuple(lo->arena, t.xs, t.n) : t.xs[0];
}

// --- reductions by name

static value reduce_by(lowering *lo, value x, const value *axis, const char *combine_name,
                       bool keep_dims, src_range range) {
    value combine = lower_stdlib(lo, combine_name);
    if (!reduce(lo, &x, 1, axis, &combine, keep_dims, range))
        return value_poison();
    return x;
}

bool reduce_check_number(lowering *lo, const char *name, const value *x, bool integer,
                         src_range range) {
    dtype t = value_elem(x);
    if (dtype_is_int(t) || (!integer && dtype_is_float(t)))
        return true;
    lower_error(lo, value_place(x, range), "%s() needs %s, not %s", name,
                integer ? "integers" : "numbers", sem_describe(lo, x));
    return false;
}

dtype reduce_sum_type(dtype t) {
    if (dtype_is_int(t) && dtype_bits(t) < 32)
        return dtype_is_signed(t) ? DT_I32 : DT_U32;
    return t;
}

value build_sum(lowering *lo, value *args, src_range range) {
    value x = args[0];
    if (!reduce_check_number(lo, "sum", &x, false, range))
        return value_poison();
    dtype result = reduce_sum_type(value_elem(&x));
    if (args[3].kind == VALUE_DTYPE) {
        x = sem_cast_type(lo, x, args[3].type, (sv){0}, false, range);
        if (value_is_poison(&x) || !reduce_check_number(lo, "sum", &x, false, range))
            return value_poison();
        result = value_elem(&x);
    }
    x.ir = sem_cast_ir(lo, x.ir, sem_compute_type(result));
    x = reduce_by(lo, x, &args[1], "_sum", args[2].i != 0, range);
    if (value_is_poison(&x))
        return x;
    return value_ir(ir_cast(&lo->b, x.ir, result));
}

/// max and min without indices: small integers in i32, small floats in fp32.
static dtype extremum_type(dtype t) {
    if (dtype_is_int(t))
        return dtype_bits(t) < 32 ? DT_I32 : t;
    return sem_compute_type(t);
}

/// Each element's place along the axis, or among all.
static ir_value *make_indices(lowering *lo, const ir_value *x, unsigned axis) {
    tile_shape line = {.rank = 1, .dims = {x->type.shape[axis]}};
    ir_type type = ir_tile_type(ir_scalar_type(DT_I32), line.dims, 1);
    ir_value *v = ir_create_value(&lo->b, OP_ARANGE, NULL, 0, type);
    ir_set_int(v->def, ATTR_START, 0);
    tile_shape spread = {.rank = x->type.rank};
    for (unsigned i = 0; i < spread.rank; i++)
        spread.dims[i] = i == axis ? line.dims[0] : 1;
    v = sem_reshape(lo, v, &spread);
    return memcmp(spread.dims, x->type.shape, sizeof(spread.dims)) == 0
               ? v
               : ir_broadcast(&lo->b, v, x->type.shape);
}

/// The extremum and where it is. Ties and NaN: see _argmax in stdlib.tile.
static bool reduce_with_index(lowering *lo, bool is_max, value x, const value *axis_value,
                              bool keep_dims, value *out, src_range range) {
    unsigned axis;
    if (!reduce_check_number(lo, is_max ? "argmax" : "argmin", &x, false, range))
        return false;
    if (axis_value->kind == VALUE_NONE) {
        lower_error(lo, range, "%s with indices needs an axis", is_max ? "max()" : "min()");
        return false;
    }
    if (!sem_read_axis(lo, axis_value, x.ir->type.rank, &axis, range))
        return false;
    if (value_elem(&x) == DT_BF16)
        x.ir = ir_cast(&lo->b, x.ir, DT_FP32);
    out[0] = x;
    out[1] = value_ir(make_indices(lo, x.ir, axis));
    value combine = lower_stdlib(lo, is_max ? "_argmax" : "_argmin");
    return reduce(lo, out, 2, axis_value, &combine, keep_dims, range);
}

value build_max_or_min(lowering *lo, bool is_max, value *args, src_range range) {
    value x = args[0], both[2];
    bool keep_dims = args[4].i != 0;
    if (args[2].i) {
        if (!reduce_with_index(lo, is_max, x, &args[1], keep_dims, both, range))
            return value_poison();
        return value_tuple(lo->arena, both, 2);
    }
    if (!reduce_check_number(lo, is_max ? "max" : "min", &x, false, range))
        return value_poison();
    x.ir = sem_cast_ir(lo, x.ir, extremum_type(value_elem(&x)));
    return reduce_by(lo, x, &args[1], is_max ? "_max" : "_min", keep_dims, range);
}

value build_max(lowering *lo, value *args, src_range range) {
    return build_max_or_min(lo, true, args, range);
}

value build_min(lowering *lo, value *args, src_range range) {
    return build_max_or_min(lo, false, args, range);
}

/// args: input, axis, tie_break_left, keep_dims.
static value index_of_extremum(lowering *lo, bool is_max, value *args, src_range range) {
    value both[2];
    if (!reduce_with_index(lo, is_max, args[0], &args[1], args[3].i != 0, both, range))
        return value_poison();
    return both[1];
}

value build_argmax(lowering *lo, value *args, src_range range) {
    return index_of_extremum(lo, true, args, range);
}

value build_argmin(lowering *lo, value *args, src_range range) {
    return index_of_extremum(lo, false, args, range);
}

value build_xor_sum(lowering *lo, value *args, src_range range) {
    if (!reduce_check_number(lo, "xor_sum", &args[0], true, range))
        return value_poison();
    return reduce_by(lo, args[0], &args[1], "_xor", args[2].i != 0, range);
}

value build_reduce_or(lowering *lo, value *args, src_range range) {
    if (!reduce_check_number(lo, "reduce_or", &args[0], true, range))
        return value_poison();
    return reduce_by(lo, args[0], &args[1], "_or", args[2].i != 0, range);
}
