// What operators mean on run-time values: literals find their type, both sides are promoted
// (promote.c) and broadcast (semantics_shape.c), then one tile IR op computes. Compile-time values
// among themselves follow Python instead (value.c). Poison in, poison out; every refusal says what
// both sides are. semantics_cast.c converts, semantics_shape.c shapes.
#include "frontend/semantics.h"

#include <float.h>
#include <math.h>

// --- operands

const char *sem_describe(lowering *lo, const value *v) {
    return v->kind == VALUE_IR ? ir_type_string(lo->arena, v->ir->type)
                               : value_describe(lo->arena, v);
}

value sem_mismatch(lowering *lo, src_range range, const value *x, const value *y, const char *fmt,
                   ...) {
    va_list args;
    strbuf text;
    strbuf_init(&text, lo->arena);
    va_start(args, fmt);
    strbuf_vprintf(&text, fmt, args);
    va_end(args);
    lower_error(lo, range, "%s", text.data);
    uint32_t file = lower_place(lo, range).file;
    const value *sides[2] = {x, y};
    for (int i = 0; i < 2; i++) {
        const value *v = sides[i];
        if (!v || v->range.file != file) // a side may be in the library, which users do not see
            continue;
        diag_label(lo->diag, v->range, "%s", sem_describe(lo, v));
        if (v->kind == VALUE_IR && v->defined.file && v->ir->name.len)
            diag_note(lo->diag, v->defined, "'%" SV_FMT "' is defined here", SV_ARG(v->ir->name));
    }
    return value_poison();
}

dtype sem_literal_type(const value *v) {
    if (v->kind == VALUE_BOOL)
        return DT_I1;
    if (v->kind == VALUE_INT) {
        static const dtype candidates[] = {DT_I32, DT_U32, DT_I64, DT_U64};
        for (unsigned i = 0; i < 4; i++)
            if (dtype_int_fits(candidates[i], v->i, v->is_unsigned))
                return candidates[i];
    }
    double size = fabs(v->f);
    bool fits = size == 0 || !isfinite(size) || (size >= FLT_MIN && size <= FLT_MAX);
    return fits ? DT_FP32 : DT_FP64;
}

ir_value *sem_constant(lowering *lo, const value *number, ir_type type) {
    bool is_float = number->kind == VALUE_FLOAT;
    if (dtype_is_float(type.elem)) {
        double v = is_float              ? number->f
                   : number->is_unsigned ? (double)(uint64_t)number->i
                                         : (double)number->i;
        return ir_const_float(&lo->b, type, v);
    }
    if (type.elem == DT_I1)
        return ir_const_int(&lo->b, type, is_float ? number->f != 0 : number->i != 0);
    return ir_const_int(&lo->b, type, is_float ? (int64_t)number->f : number->i);
}

bool sem_check_fits(lowering *lo, const value *v, dtype to, src_range range) {
    if (v->kind != VALUE_INT || !dtype_is_int(to) || dtype_int_fits(to, v->i, v->is_unsigned))
        return true;
    strbuf text;
    strbuf_init(&text, lo->arena);
    value_print(v, &text);
    lower_error(lo, value_place(v, range),
                "scalar %s is out of range for %s; convert the other side first: x.to(tl.int64)",
                text.data, dtype_name(to));
    return false;
}

/// A number that is fp64 because fp32 does not hold it well, and makes what it meets fp64.
static void warn_of_wide_literal(lowering *lo, const value *v, src_range range) {
    if (v->kind == VALUE_FLOAT && sem_literal_type(v) == DT_FP64)
        lower_warning(lo, "fp64-literal", value_place(v, range),
                      "%g is outside fp32's normal range, so it is fp64, and so is what it meets; "
                      "write tl.full((), %g, tl.float32) for the nearest fp32",
                      v->f, v->f);
}

value sem_materialize(lowering *lo, value v, src_range range) {
    if (v.kind == VALUE_IR || v.kind == VALUE_POISON)
        return v;
    if (!value_is_number(&v))
        return lower_error(lo, value_place(&v, range), "expected a number or a tile, got %s",
                           sem_describe(lo, &v));
    lower_set_range(lo, range);
    warn_of_wide_literal(lo, &v, range);
    value out = value_ir(sem_constant(lo, &v, ir_scalar_type(sem_literal_type(&v))));
    out.range = v.range;
    out.defined = v.defined;
    return out;
}

bool sem_to_ir(lowering *lo, value *v, const char *role) {
    if (v->kind == VALUE_POISON)
        return false;
    if (v->kind != VALUE_IR && !value_is_number(v)) {
        lower_error(lo, value_place(v, lo->b.range), "%s must be a number or a tile, not %s", role,
                    sem_describe(lo, v));
        return false;
    }
    *v = sem_materialize(lo, *v, value_place(v, lo->b.range));
    return v->kind == VALUE_IR;
}

// --- bringing two sides together

static dtype operand_type(const value *v) {
    return v->kind == VALUE_IR ? v->ir->type.elem : sem_literal_type(v);
}

dtype sem_compute_type(dtype t) { return dtype_is_float(t) && dtype_bits(t) <= 16 ? DT_FP32 : t; }

/// A literal that is not weak has passed through its own type: 0.1 is the fp32 nearest to it.
static value round_literal(value v) {
    if (v.kind == VALUE_FLOAT && sem_literal_type(&v) == DT_FP32)
        v.f = (double)(float)v.f;
    return v;
}

/// One side as a run-time value of element type `to`; a literal takes the other side's shape.
static value convert_operand(lowering *lo, value v, const value *other, dtype to) {
    if (v.kind == VALUE_IR)
        return value_with_ir(v, sem_cast_ir(lo, v.ir, to));
    ir_type shape = other->kind == VALUE_IR ? other->ir->type : ir_scalar_type(to);
    ir_type type = ir_tile_type(ir_scalar_type(to), shape.shape, shape.rank);
    return value_with_ir(v, sem_constant(lo, &v, type));
}

/// Why promotion refused the pair.
static void refuse_pair(lowering *lo, ast_op op, const char *what, const value *x, const value *y,
                        src_range range) {
    dtype tx = operand_type(x), ty = operand_type(y);
    const char *sx = sem_describe(lo, x), *sy = sem_describe(lo, y);
    if (tx == DT_PTR || ty == DT_PTR)
        sem_mismatch(lo, range, x, y, "%s cannot be applied to pointers: %s and %s", what, sx, sy);
    else if (op == AST_FLOORDIV && (dtype_is_float(tx) || dtype_is_float(ty)))
        sem_mismatch(lo, range, x, y,
                     "'//' needs integers, got %s and %s; for floats write "
                     "tl.floor(x / y)",
                     sx, sy);
    else if (op == AST_POW)
        sem_mismatch(
            lo, range, x, y,
            "'**' needs compile-time numbers, got %s and %s; write x * x, or libdevice.pow(x, y)",
            sx, sy);
    else if (op == AST_MATMUL)
        sem_mismatch(lo, range, x, y,
                     "'@' is not an operator of tiles; sum products: tl.sum(a[:, :, None] * "
                     "b[None, :, :], axis=1)");
    else if (dtype_is_int(tx) && dtype_is_int(ty))
        sem_mismatch(lo, range, x, y,
                     "%s of %s and %s: one is signed, the other is not; convert "
                     "one of them with .to()",
                     what, sx, sy);
    else if (promote_binary(AST_ADD, tx, false, ty, false) != DT_VOID)
        sem_mismatch(lo, range, x, y, "%s needs integers, got %s and %s", what, sx, sy);
    else
        sem_mismatch(lo, range, x, y, "%s cannot be applied to %s and %s", what, sx, sy);
}

bool sem_unify(lowering *lo, ast_op op, const char *what, value *x, value *y, bool strong_literals,
               src_range range) {
    if (value_is_poison(x) || value_is_poison(y))
        return false;
    for (int i = 0; i < 2; i++) {
        const value *v = i ? y : x;
        if (v->kind != VALUE_IR && !value_is_number(v)) {
            sem_mismatch(lo, range, x, y, "%s cannot be applied to %s and %s", what,
                         sem_describe(lo, x), sem_describe(lo, y));
            return false;
        }
    }
    bool x_weak = x->kind != VALUE_IR && !strong_literals;
    bool y_weak = y->kind != VALUE_IR && !strong_literals;
    // Integer `/` checks literals against the integer type; `%` promotes the same way and keeps it.
    ast_op rule = op == AST_DIV ? AST_MOD : op;
    dtype type = promote_binary(rule, operand_type(x), x_weak, operand_type(y), y_weak);
    if (type == DT_VOID) {
        refuse_pair(lo, op, what, x, y, range);
        return false;
    }
    if ((x_weak && !sem_check_fits(lo, x, type, range)) ||
        (y_weak && !sem_check_fits(lo, y, type, range)))
        return false;
    tile_shape shape; // checked before any conversion: messages show what was written
    if (x->kind == VALUE_IR && y->kind == VALUE_IR && !sem_check_broadcast(lo, x, y, &shape, range))
        return false;
    if (strong_literals) {
        *x = round_literal(*x);
        *y = round_literal(*y);
    }
    value other = *x;
    *x = convert_operand(lo, *x, y, type);
    *y = convert_operand(lo, *y, &other, type);
    if (op == AST_DIV && dtype_is_int(type)) {
        *x = value_with_ir(*x, ir_cast(&lo->b, x->ir, DT_FP32));
        *y = value_with_ir(*y, ir_cast(&lo->b, y->ir, DT_FP32));
    }
    return sem_broadcast_pair(lo, x, y, range);
}

// --- operators

/// "'+'", for messages.
static const char *quote_op(lowering *lo, ast_op op) {
    return sv_format(lo->arena, "'%s'", ast_op_text(op)).data;
}

static const ir_opcode binary_opcodes[AST_OP_COUNT] = {
    [AST_ADD] = OP_ADD,      [AST_SUB] = OP_SUB,  [AST_MUL] = OP_MUL,    [AST_DIV] = OP_DIV,
    [AST_FLOORDIV] = OP_DIV, [AST_MOD] = OP_REM,  [AST_LSHIFT] = OP_SHL, [AST_RSHIFT] = OP_SHR,
    [AST_BITAND] = OP_AND,   [AST_BITOR] = OP_OR, [AST_BITXOR] = OP_XOR,
};

/// ptr + int, int + ptr, ptr - int. Offsets count elements; an unsigned one is not negative.
static value pointer_arithmetic(lowering *lo, ast_op op, value x, value y, src_range range) {
    bool swapped = !value_is_pointer(&x);
    value ptr = swapped ? y : x, offset = swapped ? x : y;
    bool fits = op == AST_ADD || (op == AST_SUB && !swapped);
    if (!fits || value_is_pointer(&offset) || !dtype_is_int(operand_type(&offset)))
        return sem_mismatch(lo, range, &x, &y, "'%s' cannot be applied to %s and %s%s",
                            ast_op_text(op), sem_describe(lo, &x), sem_describe(lo, &y),
                            fits && !value_is_pointer(&offset)
                                ? "; a pointer moves by an integer number of elements"
                                : "");
    dtype type = operand_type(&offset);
    if (type == DT_I1)
        type = DT_I32;
    if (op == AST_SUB && dtype_bits(type) < 64) // the least number of a type has no negative there
        type = DT_I64;
    offset = convert_operand(lo, offset, &ptr, type);
    if (op == AST_SUB)
        offset.ir = ir_unary(&lo->b, OP_NEG, offset.ir);
    if (!sem_broadcast_pair(lo, &ptr, &offset, range))
        return value_poison();
    return value_ir(ir_addptr(&lo->b, ptr.ir, offset.ir));
}

/// Python's arithmetic on two compile-time values.
static value constant_binary(lowering *lo, ast_op op, const value *x, const value *y,
                             src_range range) {
    value out;
    const char *trouble = value_binary(lo->arena, op, x, y, &out);
    if (!trouble)
        return out;
    if (*trouble)
        return lower_error(lo, range, "%s", trouble);
    return sem_mismatch(lo, range, x, y, "'%s' cannot be applied to %s and %s", ast_op_text(op),
                        sem_describe(lo, x), sem_describe(lo, y));
}

static bool value_is_zero(const value *v) {
    return (v->kind == VALUE_INT || v->kind == VALUE_BOOL) && v->i == 0;
}

value sem_binary(lowering *lo, ast_op op, value x, value y, src_range range) {
    if (value_is_poison(&x) || value_is_poison(&y))
        return value_poison();
    lower_set_range(lo, range);
    if (x.kind != VALUE_IR && y.kind != VALUE_IR)
        return constant_binary(lo, op, &x, &y, range);
    bool numbers =
        (x.kind == VALUE_IR || value_is_number(&x)) && (y.kind == VALUE_IR || value_is_number(&y));
    if (numbers && (value_is_pointer(&x) || value_is_pointer(&y)))
        return pointer_arithmetic(lo, op, x, y, range);
    if ((op == AST_FLOORDIV || op == AST_MOD) && value_is_zero(&y) &&
        dtype_is_int(operand_type(&x)))
        return lower_error(lo, range, "division by zero");
    if (!sem_unify(lo, op, quote_op(lo, op), &x, &y, false, range))
        return value_poison();
    dtype type = value_elem(&x), compute = type;
    if (dtype_is_float(type) && dtype_bits(type) == 8)
        compute = DT_FP32;
    ir_value *a = ir_cast(&lo->b, x.ir, compute), *b = ir_cast(&lo->b, y.ir, compute);
    ir_value *v = ir_binary(&lo->b, binary_opcodes[op], a, b);
    if (op == AST_DIV && dtype_bits(type) < 32) // fp8s: rounded from the quotient, not from near it
        ir_set_flag(v->def, ATTR_PRECISE);
    return value_ir(ir_cast(&lo->b, v, type));
}

static value negate(lowering *lo, value x, src_range range) {
    dtype type = value_elem(&x);
    if (type == DT_PTR)
        return lower_error(lo, range, "'-' cannot be applied to %s", sem_describe(lo, &x));
    if (type == DT_I1)
        return x; // 0 - x in one bit
    return value_ir(ir_unary(&lo->b, OP_NEG, x.ir));
}

static ir_value *complement(lowering *lo, ir_value *x) {
    return ir_binary(&lo->b, OP_XOR, x, ir_const_int(&lo->b, x->type, -1));
}

value sem_unary(lowering *lo, ast_op op, value x, src_range range) {
    if (value_is_poison(&x))
        return x;
    lower_set_range(lo, range);
    if (x.kind != VALUE_IR) {
        value out;
        const char *trouble = value_unary(op, &x, &out);
        if (!trouble)
            return out;
        if (*trouble)
            return lower_error(lo, range, "%s", trouble);
        return lower_error(lo, range, "'%s' cannot be applied to %s", ast_op_text(op),
                           sem_describe(lo, &x));
    }
    if (op == AST_NEG)
        return negate(lo, x, range);
    if (op == AST_NOT)
        return sem_logical(lo, op, x, x, range);
    bool fits = op == AST_INVERT ? dtype_is_int(value_elem(&x)) : value_elem(&x) != DT_PTR;
    if (!fits)
        return lower_error(lo, range, "'%s' %s, got %s", ast_op_text(op),
                           op == AST_INVERT ? "needs integers" : "needs numbers",
                           sem_describe(lo, &x));
    return op == AST_INVERT ? value_ir(complement(lo, x.ir)) : x;
}

value sem_logical(lowering *lo, ast_op op, value x, value y, src_range range) {
    if (value_is_poison(&x) || value_is_poison(&y))
        return value_poison();
    lower_set_range(lo, range);
    value *sides[2] = {&x, &y};
    for (int i = 0; i < (op == AST_NOT ? 1 : 2); i++) {
        value *v = sides[i];
        bool is_bool = v->kind == VALUE_IR ? value_elem(v) == DT_I1 : v->kind == VALUE_BOOL;
        if (!is_bool)
            return lower_error(lo, value_place(v, range), "'%s' needs i1 operands, got %s%s",
                               ast_op_text(op), sem_describe(lo, v),
                               value_is_pointer(v) ? "" : "; compare it first: x != 0");
    }
    if (op == AST_NOT) {
        x = sem_materialize(lo, x, range);
        return value_ir(complement(lo, x.ir));
    }
    if (!sem_unify(lo, AST_BITAND, quote_op(lo, op), &x, &y, false, range))
        return value_poison();
    return value_ir(ir_binary(&lo->b, op == AST_AND ? OP_AND : OP_OR, x.ir, y.ir));
}

static const char *const predicates[AST_OP_COUNT] = {
    [AST_EQ] = "eq", [AST_NE] = "ne", [AST_LT] = "lt",
    [AST_LE] = "le", [AST_GT] = "gt", [AST_GE] = "ge",
};

/// x is y: about None, answered now.
static value compare_identity(lowering *lo, ast_op op, const value *x, const value *y,
                              src_range range) {
    if (x->kind != VALUE_NONE && y->kind != VALUE_NONE)
        return sem_mismatch(lo, range, x, y, "'%s' compares with None only, not %s and %s",
                            ast_op_text(op), sem_describe(lo, x), sem_describe(lo, y));
    return value_bool((x->kind == y->kind) == (op == AST_IS));
}

/// Warns where a number, which is not weak here, changes what a comparison asks.
static void check_compared(lowering *lo, const value *number, const value *other, src_range range) {
    if (other->kind != VALUE_IR || !value_is_number(number))
        return;
    dtype t = value_elem(other), own = sem_literal_type(number);
    if (own == DT_FP64 && t != DT_FP64)
        warn_of_wide_literal(lo, number, range);
    bool is_negative = number->kind == VALUE_INT && !number->is_unsigned && number->i < 0;
    if (is_negative && dtype_is_int(t) && !dtype_is_signed(t) && dtype_bits(t) >= dtype_bits(own))
        lower_warning(lo, "unsigned-compare", range,
                      "%s is compared with %lld as an unsigned number, which %lld is not; convert "
                      "it to a signed type",
                      sem_describe(lo, other), (long long)number->i, (long long)number->i);
}

value sem_compare(lowering *lo, ast_op op, value x, value y, src_range range) {
    if (value_is_poison(&x) || value_is_poison(&y))
        return value_poison();
    lower_set_range(lo, range);
    bool compile_time = x.kind != VALUE_IR && y.kind != VALUE_IR;
    if (op == AST_IS || op == AST_IS_NOT) {
        bool none = x.kind == VALUE_NONE || y.kind == VALUE_NONE;
        if (!compile_time || none)
            return compare_identity(lo, op, &x, &y, range);
    }
    if (compile_time && (value_has_run_time(&x) || value_has_run_time(&y)))
        return sem_mismatch(lo, range, &x, &y,
                            "'%s' compares %s and %s at compile time, but there are run-time "
                            "values in them; compare these one by one",
                            ast_op_text(op), sem_describe(lo, &x), sem_describe(lo, &y));
    if (compile_time) {
        bool result;
        const char *trouble = value_compare(op, &x, &y, &result);
        if (!trouble)
            return value_bool(result);
        if (*trouble)
            return lower_error(lo, range, "%s", trouble);
    }
    if (compile_time || !predicates[op] || x.kind == VALUE_NONE || y.kind == VALUE_NONE)
        return sem_mismatch(lo, range, &x, &y, "'%s' cannot be applied to %s and %s%s",
                            ast_op_text(op), sem_describe(lo, &x), sem_describe(lo, &y),
                            x.kind == VALUE_NONE || y.kind == VALUE_NONE
                                ? "; to ask for None write 'is None'"
                                : "");
    check_compared(lo, &x, &y, range);
    check_compared(lo, &y, &x, range);
    if (!sem_unify(lo, op, quote_op(lo, op), &x, &y, true, range))
        return value_poison();
    if (dtype_is_float(value_elem(&x)) && dtype_bits(value_elem(&x)) == 8) {
        x.ir = ir_cast(&lo->b, x.ir, DT_FP32);
        y.ir = ir_cast(&lo->b, y.ir, DT_FP32);
    }
    return value_ir(ir_cmp(&lo->b, predicates[op], x.ir, y.ir));
}

/// The two values of where: numbers are promoted, pointers must be alike.
static bool unify_choices(lowering *lo, value *x, value *y, src_range range) {
    if (!value_is_pointer(x) && !value_is_pointer(y))
        return sem_unify(lo, AST_ADD, "where()", x, y, false, range);
    if (!value_is_pointer(x) || !value_is_pointer(y) ||
        !ir_type_equal(ir_element_type(x->ir->type), ir_element_type(y->ir->type))) {
        sem_mismatch(lo, range, x, y, "where() cannot choose between %s and %s",
                     sem_describe(lo, x), sem_describe(lo, y));
        return false;
    }
    return sem_broadcast_pair(lo, x, y, range);
}

value sem_where(lowering *lo, value c, value x, value y, src_range range) {
    if (value_is_poison(&c) || value_is_poison(&x) || value_is_poison(&y))
        return value_poison();
    lower_set_range(lo, range);
    if (!sem_to_ir(lo, &c, "the condition of where()"))
        return value_poison();
    if (value_is_pointer(&c))
        return lower_error(lo, value_place(&c, range),
                           "the condition of where() must be i1, not %s", sem_describe(lo, &c));
    c.ir = sem_cast_ir(lo, c.ir, DT_I1);
    if (!unify_choices(lo, &x, &y, range) || !sem_broadcast_pair(lo, &c, &x, range))
        return value_poison();
    y = sem_broadcast_to(lo, y, x.ir->type.shape, x.ir->type.rank, range);
    if (value_is_poison(&y))
        return y;
    return value_ir(ir_select(&lo->b, c.ir, x.ir, y.ir));
}
