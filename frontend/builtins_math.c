// Built-ins that compute element by element. Functions of 16-bit floats compute in fp32 and give
// the operand's type; maximum and minimum of bf16 give fp32, as in Triton.
#include "frontend/builtins.h"

/// Reports what is no float of 16 bits or more.
static bool check_float(lowering *lo, const char *name, const value *x, src_range range) {
    dtype t = value_elem(x);
    if (dtype_is_float(t) && dtype_bits(t) >= 16)
        return true;
    lower_error(lo, value_place(x, range), "%s() needs a float of 16 bits or more, not %s%s", name,
                sem_describe(lo, x), t == DT_PTR ? "" : "; convert it: x.to(tl.float32)");
    return false;
}

/// x in the type that functions compute in. NULL after an error.
static ir_value *widen(lowering *lo, const char *name, const value *x, src_range range) {
    return check_float(lo, name, x, range) ? ir_cast(&lo->b, x->ir, sem_compute_type(value_elem(x)))
                                           : NULL;
}

// For the standard library: x ready to compute with, or an error in the name of its caller.
value build_widen(lowering *lo, value *args, src_range range) {
    const char *name = arena_copy_string(lo->arena, args[1].str.data, args[1].str.len);
    ir_value *wide = widen(lo, name, &args[0], range);
    return wide ? value_ir(wide) : value_poison();
}

// The same for two: both in the type and shape in which they meet, widened, and that type.
value build_widen_both(lowering *lo, value *args, src_range range) {
    const char *name = arena_copy_string(lo->arena, args[2].str.data, args[2].str.len);
    const char *what = sv_format(lo->arena, "%s()", name).data;
    if (!sem_unify(lo, AST_ADD, what, &args[0], &args[1], false, range))
        return value_poison();
    value both[3] = {args[0], args[1], value_dtype(ir_scalar_type(value_elem(&args[0])))};
    for (unsigned i = 0; i < 2; i++) {
        ir_value *wide = widen(lo, name, &args[i], range);
        if (!wide)
            return value_poison();
        both[i] = value_ir(wide);
    }
    return value_tuple(lo->arena, both, 3);
}

static value float_function(lowering *lo, const char *name, ir_opcode op, bool precise,
                            const value *x, src_range range) {
    ir_value *wide = widen(lo, name, x, range);
    if (!wide)
        return value_poison();
    ir_value *y = ir_unary(&lo->b, op, wide);
    if (precise)
        ir_set_flag(y->def, ATTR_PRECISE);
    return value_ir(ir_cast(&lo->b, y, value_elem(x)));
}

#define FUNCTION(name, op)                                                                         \
    value build_##name(lowering *lo, value *args, src_range range) {                               \
        return float_function(lo, #name, op, false, &args[0], range);                              \
    }
FUNCTION(exp, OP_EXP)
FUNCTION(exp2, OP_EXP2)
FUNCTION(log, OP_LOG)
FUNCTION(log2, OP_LOG2)
FUNCTION(sin, OP_SIN)
FUNCTION(cos, OP_COS)
FUNCTION(sqrt, OP_SQRT)
FUNCTION(rsqrt, OP_RSQRT)
FUNCTION(erf, OP_ERF)
FUNCTION(tanh, OP_TANH)
FUNCTION(floor, OP_FLOOR)
FUNCTION(ceil, OP_CEIL)
FUNCTION(rint, OP_RINT)
FUNCTION(trunc, OP_TRUNC)

/// What the GPU has an instruction for, which is faster and less exact.
static value fast_function(lowering *lo, const char *name, ir_opcode op, const value *x,
                           src_range range) {
    if (value_elem(x) != DT_FP32)
        return lower_error(lo, value_place(x, range), "%s() needs fp32, not %s", name,
                           sem_describe(lo, x));
    ir_value *y = ir_unary(&lo->b, op, x->ir);
    ir_set_flag(y->def, ATTR_APPROX);
    return value_ir(y);
}

#define FAST_FUNCTION(name, op)                                                                    \
    value build_##name(lowering *lo, value *args, src_range range) {                               \
        return fast_function(lo, #name, op, &args[0], range);                                      \
    }
FAST_FUNCTION(fast_exp2f, OP_EXP2)
FAST_FUNCTION(fast_log2f, OP_LOG2)
FAST_FUNCTION(fast_sinf, OP_SIN)
FAST_FUNCTION(fast_cosf, OP_COS)
FAST_FUNCTION(fast_tanhf, OP_TANH)

/// sqrt_rn and div_rn: fp32 rounded to nearest; fp64 always is.
static bool check_precise(lowering *lo, const char *name, const value *x, src_range range) {
    dtype t = value_elem(x);
    if (t == DT_FP32 || t == DT_FP64)
        return true;
    lower_error(lo, value_place(x, range), "%s() needs fp32 or fp64, not %s", name,
                sem_describe(lo, x));
    return false;
}

value build_sqrt_rn(lowering *lo, value *args, src_range range) {
    if (!check_precise(lo, "sqrt_rn", &args[0], range))
        return value_poison();
    return float_function(lo, "sqrt_rn", OP_SQRT, true, &args[0], range);
}

value build_abs(lowering *lo, value *args, src_range range) {
    value x = args[0];
    if (x.kind == VALUE_FLOAT)
        return value_float(x.f < 0 || (x.f == 0 && 1 / x.f < 0) ? -x.f : x.f);
    if (x.kind == VALUE_BOOL)
        return value_int(x.i);
    if (x.kind == VALUE_INT)
        return x.i < 0 && !x.is_unsigned ? sem_unary(lo, AST_NEG, x, range) : x;
    if (!sem_to_ir(lo, &x, "the argument of abs()"))
        return value_poison();
    dtype t = value_elem(&x);
    if (t == DT_PTR)
        return lower_error(lo, value_place(&x, range), "abs() needs a number, not %s",
                           sem_describe(lo, &x));
    if (!dtype_is_float(t) && !dtype_is_signed(t))
        return x;
    return value_ir(ir_unary(&lo->b, OP_ABS, x.ir));
}

// --- two and three operands

/// Quotients of floats: integers among them are refused, `/` is for those.
static value float_quotient(lowering *lo, const char *what, value *args, bool precise,
                            src_range range) {
    for (int i = 0; i < 2; i++)
        if (!dtype_is_float(value_elem(&args[i])))
            return lower_error(lo, value_place(&args[i], range), "%s needs floats, not %s", what,
                               sem_describe(lo, &args[i]));
    if (!sem_unify(lo, AST_DIV, what, &args[0], &args[1], false, range))
        return value_poison();
    dtype t = value_elem(&args[0]), compute = sem_compute_type(t);
    ir_value *a = ir_cast(&lo->b, args[0].ir, compute), *b = ir_cast(&lo->b, args[1].ir, compute);
    ir_value *y = ir_binary(&lo->b, OP_DIV, a, b);
    if (precise || dtype_bits(t) == 8)
        ir_set_flag(y->def, ATTR_PRECISE);
    return value_ir(ir_cast(&lo->b, y, t));
}

value build_fdiv(lowering *lo, value *args, src_range range) {
    return float_quotient(lo, "fdiv()", args, args[2].i != 0, range);
}

value build_div_rn(lowering *lo, value *args, src_range range) {
    for (int i = 0; i < 2; i++)
        if (!check_precise(lo, "div_rn", &args[i], range))
            return value_poison();
    return float_quotient(lo, "div_rn()", args, true, range);
}

/// Brings three values to one type and shape.
static bool unify_three(lowering *lo, const char *what, value *x, value *y, value *z,
                        src_range range) {
    return sem_unify(lo, AST_ADD, what, x, y, false, range) &&
           sem_unify(lo, AST_ADD, what, x, z, false, range) &&
           sem_unify(lo, AST_ADD, what, x, y, false, range);
}

value build_fma(lowering *lo, value *args, src_range range) {
    if (!unify_three(lo, "fma()", &args[0], &args[1], &args[2], range))
        return value_poison();
    if (!check_float(lo, "fma", &args[0], range))
        return value_poison();
    ir_value *operands[3] = {args[0].ir, args[1].ir, args[2].ir};
    return value_ir(ir_create_value(&lo->b, OP_FMA, operands, 3, operands[0]->type));
}

value build_umulhi(lowering *lo, value *args, src_range range) {
    if (!sem_unify(lo, AST_BITAND, "umulhi()", &args[0], &args[1], false, range))
        return value_poison();
    if (dtype_bits(value_elem(&args[0])) < 32)
        return lower_error(lo, range, "umulhi() needs integers of 32 or 64 bits, not %s",
                           sem_describe(lo, &args[0]));
    return value_ir(ir_binary(&lo->b, OP_UMULHI, args[0].ir, args[1].ir));
}

// --- bits

static value bit_function(lowering *lo, const char *name, ir_opcode op, const value *x,
                          src_range range) {
    dtype t = value_elem(x);
    if (dtype_is_int(t) && dtype_bits(t) >= 32)
        return value_ir(ir_unary(&lo->b, op, x->ir));
    return lower_error(lo, value_place(x, range), "%s() needs integers of 32 or 64 bits, not %s",
                       name, sem_describe(lo, x));
}

#define BIT_FUNCTION(name, op)                                                                     \
    value build_##name(lowering *lo, value *args, src_range range) {                               \
        return bit_function(lo, #name, op, &args[0], range);                                       \
    }
BIT_FUNCTION(brev, OP_BREV)

#define COUNT_FUNCTION(name, op)                                                                   \
    value build_##name(lowering *lo, value *args, src_range range) {                               \
        value v = bit_function(lo, #name, op, &args[0], range);                                    \
        return value_is_poison(&v) ? v : value_ir(ir_cast(&lo->b, v.ir, DT_I32));                  \
    }
COUNT_FUNCTION(popc, OP_POPC)
COUNT_FUNCTION(clz, OP_CLZ)

// --- extremes

static bool read_nan_rule(lowering *lo, const value *v, bool *nan_wins, src_range range) {
    enum { NONE = 0, ALL = 0xffff }; // tl.PropagateNan
    *nan_wins = v->i == ALL;
    if (v->i == NONE || v->i == ALL)
        return true;
    lower_error(lo, value_place(v, range), "'propagate_nan' is tl.PropagateNan.NONE or .ALL");
    return false;
}

value build_extremum(lowering *lo, bool is_max, value x, value y, bool nan_wins, src_range range) {
    value *sides[2] = {&x, &y};
    for (int i = 0; i < 2; i++)
        if (value_elem(sides[i]) == DT_BF16)
            sides[i]->ir = ir_cast(&lo->b, sides[i]->ir, DT_FP32);
    if (!sem_unify(lo, AST_ADD, is_max ? "maximum()" : "minimum()", &x, &y, true, range))
        return value_poison();
    dtype t = value_elem(&x);
    if (t == DT_I1)
        return value_ir(ir_binary(&lo->b, is_max ? OP_OR : OP_AND, x.ir, y.ir));
    bool fp8 = dtype_is_float(t) && dtype_bits(t) == 8;
    dtype compute = fp8 ? DT_FP32 : t;
    ir_value *a = ir_cast(&lo->b, x.ir, compute), *b = ir_cast(&lo->b, y.ir, compute);
    ir_value *v = ir_binary(&lo->b, is_max ? OP_MAX : OP_MIN, a, b);
    if (nan_wins && dtype_is_float(t))
        ir_set_str(v->def, ATTR_NAN, SV("all"));
    if (!fp8)
        return value_ir(v);
    v = ir_cast(&lo->b, v, t);
    ir_set_str(v->def, ATTR_ROUND, SV("rtz")); // the value is exact; this way infinities stay
    return value_ir(v);
}

static value extremum(lowering *lo, bool is_max, value *args, src_range range) {
    bool nan_wins;
    if (!read_nan_rule(lo, &args[2], &nan_wins, range))
        return value_poison();
    return build_extremum(lo, is_max, args[0], args[1], nan_wins, range);
}

value build_maximum(lowering *lo, value *args, src_range range) {
    return extremum(lo, true, args, range);
}

value build_minimum(lowering *lo, value *args, src_range range) {
    return extremum(lo, false, args, range);
}

value build_clamp(lowering *lo, value *args, src_range range) {
    bool nan_wins;
    if (!dtype_is_float(value_elem(&args[0])))
        return lower_error(lo, value_place(&args[0], range), "clamp() needs floats, not %s",
                           sem_describe(lo, &args[0]));
    if (!read_nan_rule(lo, &args[3], &nan_wins, range))
        return value_poison();
    value low = build_extremum(lo, true, args[0], args[1], nan_wins, range);
    if (value_is_poison(&low))
        return low;
    return build_extremum(lo, false, low, args[2], nan_wins, range);
}

value build_where(lowering *lo, value *args, src_range range) {
    return sem_where(lo, args[0], args[1], args[2], range);
}

value build_next_power_of_2(lowering *lo, value *args, src_range range) {
    int64_t n = args[0].i;
    if (args[0].is_unsigned || n > INT64_C(1) << 62)
        return lower_error(lo, range, "integer too large (more than 64 bits)");
    int64_t power = n <= 0 ? 0 : 1; // as Triton's: 0 for 0
    while (power && power < n)
        power *= 2;
    return value_int(power);
}
