// Compile-time values: Python's numbers, strings and tuples, computed while the kernel is lowered.
// Integers are exact within 64 bits (signed or unsigned) and an error beyond; floats are doubles;
// `//` and `%` floor as Python's do. Run-time values never come here (see semantics.c).
#include "frontend/value.h"
#include "frontend/lower.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef __int128 wide;

static const char NOT_APPLICABLE[] = "";
static const char TOO_LARGE[] = "integer too large (more than 64 bits)";
static const char DIVISION_BY_ZERO[] = "division by zero";

value value_tuple(arena *a, const value *items, uint32_t n) {
    value v = {.kind = VALUE_TUPLE, .num_items = n};
    v.items = ARENA_ARRAY(a, value, n ? n : 1);
    if (n)
        memcpy(v.items, items, n * sizeof(value));
    return v;
}

// --- numbers

static bool is_integer(const value *v) { return v->kind == VALUE_INT || v->kind == VALUE_BOOL; }

static wide to_wide(const value *v) {
    return v->kind == VALUE_INT && v->is_unsigned ? (wide)(uint64_t)v->i : (wide)v->i;
}

static double to_double(const value *v) {
    return v->kind == VALUE_FLOAT ? v->f : (double)to_wide(v);
}

static const char *from_wide(wide w, value *out) {
    if (w < (wide)INT64_MIN || w > (wide)UINT64_MAX)
        return TOO_LARGE;
    *out = value_int((int64_t)(uint64_t)w);
    out->is_unsigned = w > (wide)INT64_MAX;
    return NULL;
}

static wide floor_div(wide x, wide y) {
    wide q = x / y;
    return x % y != 0 && (x < 0) != (y < 0) ? q - 1 : q;
}

/// x ** y for y >= 0; stops as soon as the result cannot fit.
static const char *int_power(wide x, wide y, value *out) {
    if (x == 0 || x == 1)
        return from_wide(y == 0 ? 1 : x, out);
    if (x == -1)
        return from_wide(y % 2 ? -1 : 1, out);
    if (y > 64)
        return TOO_LARGE;
    wide result = 1;
    for (wide i = 0; i < y; i++)
        if (__builtin_mul_overflow(result, x, &result))
            return TOO_LARGE;
    return from_wide(result, out);
}

static const char *multiply(wide x, wide y, value *out) {
    wide result;
    if (__builtin_mul_overflow(x, y, &result))
        return TOO_LARGE;
    return from_wide(result, out);
}

static const char *shift(ast_op op, wide x, wide y, value *out) {
    if (y < 0)
        return "negative shift count";
    if (op == AST_RSHIFT)
        return from_wide(y > 100 ? (x < 0 ? -1 : 0) : x >> y, out);
    if (x == 0)
        return from_wide(0, out);
    if (y > 64)
        return TOO_LARGE;
    return multiply(x, (wide)1 << y, out);
}

/// x / y, rounded once: enough bits of the quotient, the last of which says whether more follow.
static double true_divide(wide x, wide y) {
    bool negative = (x < 0) != (y < 0);
    unsigned __int128 top = x < 0 ? -(unsigned __int128)x : (unsigned __int128)x;
    unsigned __int128 bottom = y < 0 ? -(unsigned __int128)y : (unsigned __int128)y;
    int scale = 0;
    for (; top && !(top >> 126); scale++)
        top <<= 1;
    unsigned __int128 quotient = top / bottom;
    double q = ldexp((double)(quotient | (top % bottom != 0)), -scale);
    return negative ? -q : q;
}

static double floor_quotient(double x, double y, double rem) {
    double exact = (x - rem) / y, q = floor(exact);
    if (exact == 0)
        return copysign(0.0, x / y);
    return exact - q > 0.5 ? q + 1 : q;
}

// clang-format off
static const char *float_binary(ast_op op, double x, double y, value *out) {
    switch (op) {
    case AST_ADD: *out = value_float(x + y); return NULL;
    case AST_SUB: *out = value_float(x - y); return NULL;
    case AST_MUL: *out = value_float(x * y); return NULL;
    case AST_POW:
        if (x == 0 && y < 0)
            return DIVISION_BY_ZERO;
        if (x < 0 && isfinite(x) && isfinite(y) && y != floor(y))
            return "a negative number to a fractional power is complex";
        *out = value_float(pow(x, y));
        return isinf(out->f) && isfinite(x) && isfinite(y) ? "float too large" : NULL;
    case AST_DIV:
    case AST_FLOORDIV:
    case AST_MOD: {
        if (y == 0)
            return DIVISION_BY_ZERO;
        double rem = fmod(x, y);
        if (rem != 0 && (rem < 0) != (y < 0))
            rem += y;
        *out = value_float(op == AST_DIV        ? x / y
                           : op == AST_FLOORDIV ? floor_quotient(x, y, rem)
                           : rem == 0           ? copysign(0.0, y)
                                                : rem);
        return NULL;
    }
    default: return NOT_APPLICABLE;
    }
}

static const char *int_binary(ast_op op, const value *a, const value *b, value *out) {
    wide x = to_wide(a), y = to_wide(b);
    switch (op) {
    case AST_ADD: return from_wide(x + y, out);
    case AST_SUB: return from_wide(x - y, out);
    case AST_MUL: return multiply(x, y, out);
    case AST_DIV:
        if (y == 0)
            return DIVISION_BY_ZERO;
        *out = value_float(true_divide(x, y));
        return NULL;
    case AST_FLOORDIV: return y == 0 ? DIVISION_BY_ZERO : from_wide(floor_div(x, y), out);
    case AST_MOD: return y == 0 ? DIVISION_BY_ZERO : from_wide(x - floor_div(x, y) * y, out);
    case AST_POW:
        return y < 0 ? float_binary(op, (double)x, (double)y, out) : int_power(x, y, out);
    case AST_LSHIFT:
    case AST_RSHIFT: return shift(op, x, y, out);
    case AST_BITAND:
    case AST_BITOR:
    case AST_BITXOR: {
        wide bits = op == AST_BITAND ? x & y : op == AST_BITOR ? x | y : x ^ y;
        if (a->kind != VALUE_BOOL || b->kind != VALUE_BOOL)
            return from_wide(bits, out);
        *out = value_bool(bits != 0);
        return NULL;
    }
    default: return NOT_APPLICABLE;
    }
}
// clang-format on

// --- strings and tuples

static const char *repeat(arena *a, const value *x, const value *count, value *out) {
    wide n = to_wide(count) < 0 ? 0 : to_wide(count);
    uint64_t len = x->kind == VALUE_STRING ? x->str.len : x->num_items;
    if (len > 0 && n > (wide)(VALUE_MAX_LENGTH / len))
        return "the result is too long";
    uint64_t times = len ? (uint64_t)n : 0;
    if (x->kind == VALUE_STRING) {
        strbuf s;
        strbuf_init(&s, a);
        for (uint64_t i = 0; i < times; i++)
            strbuf_put(&s, x->str);
        *out = value_string(strbuf_view(&s));
        return NULL;
    }
    *out = value_tuple(a, NULL, 0);
    out->num_items = (uint32_t)(len * times);
    out->items = ARENA_ARRAY(a, value, out->num_items + 1);
    for (uint32_t i = 0; i < out->num_items; i++)
        out->items[i] = x->items[i % len];
    return NULL;
}

static const char *concatenate(arena *a, const value *x, const value *y, value *out) {
    if (x->kind == VALUE_STRING) {
        if (x->str.len + y->str.len > VALUE_MAX_LENGTH)
            return "the result is too long";
        *out = value_string(sv_format(a, "%" SV_FMT "%" SV_FMT, SV_ARG(x->str), SV_ARG(y->str)));
        return NULL;
    }
    if (x->num_items + y->num_items > VALUE_MAX_LENGTH)
        return "the result is too long";
    value both = {.kind = VALUE_TUPLE, .num_items = x->num_items + y->num_items};
    both.items = ARENA_ARRAY(a, value, both.num_items + 1);
    memcpy(both.items, x->items, x->num_items * sizeof(value));
    memcpy(both.items + x->num_items, y->items, y->num_items * sizeof(value));
    *out = both;
    return NULL;
}

const char *value_binary(arena *a, ast_op op, const value *x, const value *y, value *out) {
    if (is_integer(x) && is_integer(y))
        return int_binary(op, x, y, out);
    if (value_is_number(x) && value_is_number(y))
        return float_binary(op, to_double(x), to_double(y), out);
    bool x_sequence = x->kind == VALUE_STRING || x->kind == VALUE_TUPLE;
    bool y_sequence = y->kind == VALUE_STRING || y->kind == VALUE_TUPLE;
    if (op == AST_ADD && x_sequence && x->kind == y->kind)
        return concatenate(a, x, y, out);
    if (op == AST_MUL && x_sequence && is_integer(y))
        return repeat(a, x, y, out);
    if (op == AST_MUL && y_sequence && is_integer(x))
        return repeat(a, y, x, out);
    return NOT_APPLICABLE;
}

// clang-format off
const char *value_unary(ast_op op, const value *x, value *out) {
    if (op == AST_NOT) {
        *out = value_bool(!value_truth(x));
        return NULL;
    }
    if (x->kind == VALUE_FLOAT && (op == AST_NEG || op == AST_POS)) {
        *out = value_float(op == AST_NEG ? -x->f : x->f);
        return NULL;
    }
    if (!is_integer(x))
        return NOT_APPLICABLE;
    switch (op) {
    case AST_NEG: return from_wide(-to_wide(x), out);
    case AST_POS: return from_wide(to_wide(x), out);
    case AST_INVERT: return from_wide(-to_wide(x) - 1, out);
    default: return NOT_APPLICABLE;
    }
}
// clang-format on

// --- comparison

// clang-format off
bool value_truth(const value *v) {
    switch (v->kind) {
    case VALUE_NONE: return false;
    case VALUE_BOOL:
    case VALUE_INT: return v->i != 0;
    case VALUE_FLOAT: return v->f != 0;
    case VALUE_STRING: return v->str.len > 0;
    case VALUE_TUPLE: return v->num_items > 0;
    default: return true;
    }
}

static bool same_order(wide x, wide y, ast_op op) {
    switch (op) {
    case AST_LT: return x < y;
    case AST_LE: return x <= y;
    case AST_GT: return x > y;
    case AST_GE: return x >= y;
    default: return x == y;
    }
}
// clang-format on

// Of an integer and a float the exact values are compared: long double holds both.
static long double to_long_double(const value *v) {
    return v->kind == VALUE_FLOAT ? (long double)v->f : (long double)to_wide(v);
}

// clang-format off
static bool float_order(long double x, long double y, ast_op op) {
    switch (op) {
    case AST_LT: return x < y;
    case AST_LE: return x <= y;
    case AST_GT: return x > y;
    case AST_GE: return x >= y;
    default: return x == y;
    }
}

bool value_equal(const value *a, const value *b) {
    if (is_integer(a) && is_integer(b))
        return to_wide(a) == to_wide(b);
    if (value_is_number(a) && value_is_number(b))
        return to_long_double(a) == to_long_double(b);
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case VALUE_NONE:
    case VALUE_SLICE: return true;
    case VALUE_STRING:
    case VALUE_MODULE: return sv_equal(a->str, b->str);
    case VALUE_DTYPE: return ir_type_equal(a->type, b->type);
    case VALUE_FUNC: return a->func == b->func;
    case VALUE_BUILTIN: return a->builtin == b->builtin;
    case VALUE_IR: return a->ir == b->ir;
    case VALUE_TUPLE:
        if (a->num_items != b->num_items)
            return false;
        for (uint32_t i = 0; i < a->num_items; i++)
            if (!value_equal(&a->items[i], &b->items[i]))
                return false;
        return true;
    default: return false;
    }
}
// clang-format on

static int string_order(sv a, sv b) {
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n ? memcmp(a.data, b.data, n) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

const char *value_compare(ast_op op, const value *x, const value *y, bool *out) {
    bool negate = op == AST_NE || op == AST_IS_NOT;
    if (op == AST_EQ || op == AST_NE) {
        *out = value_equal(x, y) != negate;
        return NULL;
    }
    if (op == AST_IS || op == AST_IS_NOT) {
        *out = (x->kind == y->kind && value_equal(x, y)) != negate;
        return NULL;
    }
    if (op != AST_LT && op != AST_LE && op != AST_GT && op != AST_GE)
        return NOT_APPLICABLE;
    if (is_integer(x) && is_integer(y))
        *out = same_order(to_wide(x), to_wide(y), op);
    else if (value_is_number(x) && value_is_number(y))
        *out = float_order(to_long_double(x), to_long_double(y), op);
    else if (x->kind == VALUE_STRING && y->kind == VALUE_STRING)
        *out = same_order(string_order(x->str, y->str), 0, op);
    else
        return NOT_APPLICABLE;
    return NULL;
}

// --- text

/// As Python writes it: the shortest decimal that reads back as the same double, with an exponent
/// where that is below -4 or above 15.
static void print_float(double f, strbuf *out) {
    if (isnan(f)) {
        strbuf_puts(out, "nan");
        return;
    }
    if (isinf(f)) {
        strbuf_puts(out, f < 0 ? "-inf" : "inf");
        return;
    }
    char text[40];
    int decimals = -1;
    do
        snprintf(text, sizeof text, "%.*e", ++decimals, f);
    while (decimals < 16 && strtod(text, NULL) != f);
    int exponent = atoi(strchr(text, 'e') + 1);
    if (exponent < -4 || exponent > 15)
        strbuf_puts(out, text);
    else
        strbuf_printf(out, "%.*f", decimals > exponent ? decimals - exponent : 1, f);
}

static void print_tuple(const value *v, strbuf *out) {
    strbuf_putc(out, '(');
    for (uint32_t i = 0; i < v->num_items; i++) {
        if (i)
            strbuf_puts(out, ", ");
        if (v->items[i].kind == VALUE_STRING)
            strbuf_printf(out, "'%" SV_FMT "'", SV_ARG(v->items[i].str));
        else
            value_print(&v->items[i], out);
    }
    strbuf_puts(out, v->num_items == 1 ? ",)" : ")");
}

// clang-format off
void value_print(const value *v, strbuf *out) {
    switch (v->kind) {
    case VALUE_POISON: strbuf_puts(out, "<error>"); break;
    case VALUE_NONE: strbuf_puts(out, "None"); break;
    case VALUE_BOOL: strbuf_puts(out, v->i ? "True" : "False"); break;
    case VALUE_INT:
        if (v->is_unsigned)
            strbuf_printf(out, "%llu", (unsigned long long)v->i);
        else
            strbuf_printf(out, "%lld", (long long)v->i);
        break;
    case VALUE_FLOAT: print_float(v->f, out); break;
    case VALUE_STRING: strbuf_put(out, v->str); break;
    case VALUE_DTYPE: ir_type_print(v->type, out); break;
    case VALUE_TUPLE: print_tuple(v, out); break;
    case VALUE_SLICE: strbuf_puts(out, ":"); break;
    case VALUE_FUNC: strbuf_put(out, v->func->name); break;
    case VALUE_BUILTIN: strbuf_printf(out, "built-in '%s'", v->builtin->name); break;
    case VALUE_MODULE: strbuf_put(out, v->str); break;
    case VALUE_RANGE: strbuf_puts(out, "range"); break;
    case VALUE_BLOCK_POINTER:
    case VALUE_DESCRIPTOR: ir_type_print(v->type, out); break;
    case VALUE_IR: ir_type_print(v->ir->type, out); break;
    }
}
// clang-format on

const char *value_describe(arena *a, const value *v) {
    static const char *const prefix[] = {
        [VALUE_BOOL] = "bool ",
        [VALUE_INT] = "int ",
        [VALUE_FLOAT] = "float ",
        [VALUE_DTYPE] = "dtype ",
        [VALUE_FUNC] = "function ",
        [VALUE_MODULE] = "module ",
        [VALUE_BLOCK_POINTER] = "block pointer ",
        [VALUE_DESCRIPTOR] = "tensor descriptor ",
    };
    if (v->kind == VALUE_TUPLE)
        return sv_format(a, "tuple of %u", v->num_items).data;
    if (v->kind == VALUE_STRING)
        return sv_format(a, "string '%" SV_FMT "'", SV_ARG(v->str)).data;
    if (v->kind == VALUE_NONE && v->func)
        return sv_format(a, "None ('%" SV_FMT "' does not return a value)", SV_ARG(v->func->name))
            .data;
    strbuf s;
    strbuf_init(&s, a);
    size_t kinds = sizeof prefix / sizeof *prefix;
    if ((size_t)v->kind < kinds && prefix[v->kind])
        strbuf_puts(&s, prefix[v->kind]);
    value_print(v, &s);
    return s.data;
}
