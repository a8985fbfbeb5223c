// Scans. Each makes one `scan` op whose region is the combine function: the user's own, or one of
// stdlib.tile. cumsum and cumprod of 16-bit and 8-bit floats are computed in fp32, and each element
// is rounded once.
#include "frontend/builtins_reduce.h"

/// Scans n tiles of one shape in place: xs become the results. False after an error.
static bool scan(lowering *lo, value *xs, uint32_t n, const value *axis_value, const value *combine,
                 bool reverse, src_range range) {
    ir_value *tiles[REDUCE_MAX_TILES];
    ir_type types[REDUCE_MAX_TILES];
    unsigned axis;
    if (!ir_is_tile(xs[0].ir->type)) {
        lower_error(lo, range, "cannot scan %s: it has no dimensions", sem_describe(lo, &xs[0]));
        return false;
    }
    if (!sem_read_axis(lo, axis_value, xs[0].ir->type.rank, &axis, range))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        tiles[i] = xs[i].ir;
        types[i] = xs[i].ir->type;
    }
    ir_op *op = ir_create(&lo->b, OP_SCAN, tiles, n, types, n);
    ir_set_int(op, ATTR_AXIS, axis);
    if (reverse)
        ir_set_flag(op, ATTR_REVERSE);
    if (!reduce_build_region(lo, op, combine, range))
        return false;
    lower_set_range(lo, range);
    for (uint32_t i = 0; i < n; i++)
        xs[i] = value_ir(op->results[i]);
    return true;
}

value build_associative_scan(lowering *lo, value *args, src_range range) {
    reduce_tiles t;
    if (!reduce_read_tiles(lo, "associative_scan", &args[0], &args[2], &t, range) ||
        !scan(lo, t.xs, t.n, &args[1], &args[2], args[3].i != 0, range))
        return value_poison();
    return t.is_tuple ? value_tuple(lo->arena, t.xs, t.n) : t.xs[0];
}

/// Scans x, computed in the type that `result` is computed in.
static value scan_as(lowering *lo, value x, const value *axis, const char *combine_name,
                     bool reverse, dtype result, src_range range) {
    value combine = lower_stdlib(lo, combine_name);
    x.ir = sem_cast_ir(lo, x.ir, sem_compute_type(result));
    if (!scan(lo, &x, 1, axis, &combine, reverse, range))
        return value_poison();
    return value_ir(ir_cast(&lo->b, x.ir, result));
}

static dtype widen_bf16(dtype t) { return t == DT_BF16 ? DT_FP32 : t; }

value build_cumsum(lowering *lo, value *args, src_range range) {
    value x = args[0];
    if (!reduce_check_number(lo, "cumsum", &x, false, range))
        return value_poison();
    dtype result = widen_bf16(reduce_sum_type(value_elem(&x)));
    if (args[3].kind == VALUE_DTYPE) {
        x = sem_cast_type(lo, x, args[3].type, (sv){0}, false, range);
        if (value_is_poison(&x) || !reduce_check_number(lo, "cumsum", &x, false, range))
            return value_poison();
        result = value_elem(&x);
    }
    return scan_as(lo, x, &args[1], "_sum", args[2].i != 0, result, range);
}

value build_cumprod(lowering *lo, value *args, src_range range) {
    value x = args[0];
    if (!reduce_check_number(lo, "cumprod", &x, false, range))
        return value_poison();
    dtype result = widen_bf16(value_elem(&x));
    return scan_as(lo, x, &args[1], "_prod", args[2].i != 0, result, range);
}
