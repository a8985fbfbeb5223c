// Conversions: x.to(type), the implicit ones of stores and full(), and the condition of an `if`.
// A cast of a literal first gives it its own type, as in Triton: tl.cast(300, tl.int8) is 44.
#include "frontend/semantics.h"

ir_value *sem_cast_ir(lowering *lo, ir_value *x, dtype to) {
    uint64_t bits;
    if (x->type.elem == to)
        return x;
    // A constant scalar of integers stays one: what folds here reads better and folds types alike.
    if (ir_is_const(x, &bits) && dtype_is_int(x->type.elem) && dtype_is_int(to) && to != DT_I1)
        return ir_const_int(&lo->b, ir_type_with_elem(x->type, to),
                            dtype_wrap_int(x->type.elem, (int64_t)bits));
    return ir_cast(&lo->b, x, to);
}

static value refuse_cast(lowering *lo, src_range range, const value *x, ir_type to,
                         const char *why) {
    return lower_error(lo, range, "cannot cast %s to %s%s", sem_describe(lo, x),
                       ir_type_string(lo->arena, to), why);
}

/// The type of x with another element, which may be a pointer.
static ir_type with_elem(ir_type x, ir_type elem) { return ir_tile_type(elem, x.shape, x.rank); }

static value bitcast(lowering *lo, value x, ir_type to, src_range range) {
    ir_type from = x.ir->type;
    if (dtype_bits(from.elem) != dtype_bits(to.elem))
        return lower_error(lo, range, "cannot bitcast %s to %s: %u bits are not %u",
                           sem_describe(lo, &x), ir_type_string(lo->arena, to),
                           dtype_bits(from.elem), dtype_bits(to.elem));
    ir_type type = with_elem(from, to);
    if (ir_type_equal(type, from))
        return x;
    return value_with_ir(x, ir_create_value(&lo->b, OP_BITCAST, &x.ir, 1, type));
}

/// Pointers convert among themselves and to and from 64-bit integers.
static value cast_pointer(lowering *lo, value x, ir_type to, src_range range) {
    ir_type from = x.ir->type;
    if (from.elem == DT_PTR && to.elem == DT_PTR)
        return bitcast(lo, x, to, range);
    if (to.elem == DT_PTR) {
        if (!dtype_is_int(from.elem))
            return refuse_cast(lo, range, &x, to, ": a pointer is made of an integer");
        dtype wide = dtype_is_signed(from.elem) ? DT_I64 : DT_U64;
        x.ir = sem_cast_ir(lo, x.ir, wide);
        return value_with_ir(x, ir_create_value(&lo->b, OP_CAST, &x.ir, 1, with_elem(from, to)));
    }
    if (to.elem == DT_I1) {
        ir_value *address = ir_cast(&lo->b, x.ir, DT_U64);
        return value_with_ir(x,
                             ir_cmp(&lo->b, "ne", address, ir_const_int(&lo->b, address->type, 0)));
    }
    if (to.elem != DT_I64 && to.elem != DT_U64)
        return refuse_cast(lo, range, &x, to,
                           ": an address takes i64 or u64; to read what it points to: tl.load(p)");
    return value_with_ir(x, ir_cast(&lo->b, x.ir, to.elem));
}

value sem_cast_type(lowering *lo, value x, ir_type to, sv rounding, bool is_bitcast,
                    src_range range) {
    x = sem_materialize(lo, x, range);
    if (value_is_poison(&x))
        return x;
    lower_set_range(lo, range);
    if (to.rank != 0 || to.elem == DT_VOID)
        return lower_error(lo, range, "%s is not an element type", ir_type_string(lo->arena, to));
    ir_type from = x.ir->type;
    if (from.elem == to.elem && from.elem != DT_PTR)
        return x;
    bool narrows = dtype_is_float(from.elem) && dtype_is_float(to.elem) &&
                   dtype_bits(to.elem) < dtype_bits(from.elem);
    if (rounding.len && (is_bitcast || !narrows))
        return refuse_cast(lo, range, &x, to,
                           " with fp_downcast_rounding: it is for casts to a narrower float");
    if (from.elem == DT_PTR || to.elem == DT_PTR)
        return cast_pointer(lo, x, to, range);
    if (is_bitcast)
        return bitcast(lo, x, to, range);
    value out = value_with_ir(x, sem_cast_ir(lo, x.ir, to.elem));
    if (sv_is(rounding, "rtz"))
        ir_set_str(out.ir->def, ATTR_ROUND, SV("rtz"));
    return out;
}

value sem_cast(lowering *lo, value x, dtype to, sv rounding, bool is_bitcast, src_range range) {
    if (to == DT_PTR)
        return value_is_poison(&x) ? x : lower_error(lo, range, "a pointer type needs a pointee");
    return sem_cast_type(lo, x, ir_scalar_type(to), rounding, is_bitcast, range);
}

value sem_convert(lowering *lo, value x, ir_type elem, src_range range) {
    if (value_is_pointer(&x) || elem.elem == DT_PTR) {
        if (value_is_pointer(&x) && ir_type_equal(ir_element_type(x.ir->type), elem))
            return x;
        if (value_is_poison(&x))
            return x;
        return lower_error(lo, range, "expected %s, got %s", ir_type_string(lo->arena, elem),
                           sem_describe(lo, &x));
    }
    return sem_cast_type(lo, x, elem, SV(""), false, range);
}

value sem_condition(lowering *lo, value x, src_range range) {
    if (value_is_poison(&x))
        return x;
    lower_set_range(lo, range);
    if (x.kind != VALUE_IR)
        return value_ir(ir_const_int(&lo->b, ir_scalar_type(DT_I1), value_truth(&x)));
    if (ir_type_elements(x.ir->type) != 1)
        return lower_error(lo, range,
                           "a condition must be a scalar, got %s; use tl.where to "
                           "choose by element, or reduce it first",
                           sem_describe(lo, &x));
    x.ir = sem_reshape(lo, x.ir, &(tile_shape){.rank = 0});
    if (value_is_pointer(&x)) // is there one? None is known at compile time
        return cast_pointer(lo, x, ir_scalar_type(DT_I1), range);
    return value_with_ir(x, sem_cast_ir(lo, x.ir, DT_I1));
}
