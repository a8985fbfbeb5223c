// What an expression gives during lowering: a compile-time value (Python's, computed now) or a
// run-time one (a tile IR value). Compile-time numbers are "weak": they adapt to the other side's
// type. `x = 2` makes a strong run-time scalar of one (value_materialize).
#ifndef TILE_FRONTEND_VALUE_H
#define TILE_FRONTEND_VALUE_H

#include "frontend/ast.h"
#include "ir/ir.h"

enum { VALUE_MAX_LENGTH = 1 << 16 }; ///< of a tuple or string that is computed

typedef struct value value;
typedef struct builtin builtin;

typedef enum value_kind {
    VALUE_POISON, ///< an error was reported; silences what depends on it
    VALUE_NONE,
    VALUE_BOOL,    ///< i
    VALUE_INT,     ///< i; is_unsigned: the 64 bits are an unsigned value above INT64_MAX
    VALUE_FLOAT,   ///< f
    VALUE_STRING,  ///< str
    VALUE_DTYPE,   ///< type: an element type, a pointer type, or (block type) a tile type
    VALUE_TUPLE,   ///< items
    VALUE_SLICE,   ///< the `:` of a subscript
    VALUE_FUNC,    ///< func: a function of the program, module: where its globals are found
    VALUE_BUILTIN, ///< builtin (with self set for a bound method)
    VALUE_MODULE,  ///< str: "tl", "triton", "tl.math", "libdevice", …
    VALUE_RANGE,   ///< range(...), tl.range, static_range: items = lo hi step; i = 1 if static
    /// A block of an array in memory, of which type (a tile of pointers) has shape and element;
    /// items: base pointer, then per dimension shape, strides and offsets: integers known now, or
    /// i64 scalars.
    VALUE_BLOCK_POINTER,
    VALUE_DESCRIPTOR, ///< the same without offsets; i = 1 if what is out of bounds is NaN
    VALUE_IR,         ///< ir: a scalar or tile at run time
} value_kind;

struct value {
    value_kind kind;
    src_range range;   ///< of the expression that gave it: what a diagnostic underlines
    src_range defined; ///< where the variable it came from was assigned, if any
    int64_t i;
    bool is_unsigned;
    double f;
    sv str;
    ir_type type;
    value *items;
    uint32_t num_items;
    const ast_func *func; ///< also of VALUE_NONE: the function that ended without a value
    const void *module;   ///< of VALUE_FUNC: the fe_module its globals come from
    const builtin *builtin;
    value *self; ///< of a bound method
    ir_value *ir;
    int64_t num_stages, unroll; ///< of VALUE_RANGE; 0: not given
};

static inline bool value_is_constexpr(const value *v) {
    return v->kind != VALUE_IR && v->kind != VALUE_POISON;
}
static inline bool value_is_number(const value *v) {
    return v->kind == VALUE_BOOL || v->kind == VALUE_INT || v->kind == VALUE_FLOAT;
}
/// Run-time values may be among its items, as parts of what it is.
static inline bool value_is_block(const value *v) {
    return v->kind == VALUE_BLOCK_POINTER || v->kind == VALUE_DESCRIPTOR;
}
static inline value value_poison(void) { return (value){.kind = VALUE_POISON}; }
static inline value value_none(void) { return (value){.kind = VALUE_NONE}; }
static inline value value_bool(bool b) { return (value){.kind = VALUE_BOOL, .i = b}; }
static inline value value_int(int64_t i) { return (value){.kind = VALUE_INT, .i = i}; }
static inline value value_float(double f) { return (value){.kind = VALUE_FLOAT, .f = f}; }
static inline value value_string(sv s) { return (value){.kind = VALUE_STRING, .str = s}; }
static inline value value_dtype(ir_type t) { return (value){.kind = VALUE_DTYPE, .type = t}; }
static inline value value_ir(ir_value *v) { return (value){.kind = VALUE_IR, .ir = v}; }
value value_tuple(arena *a, const value *items, uint32_t n);

/// "int 3", "tile<4xfp32>", "None", "tuple of 2", "dtype fp32": for messages.
const char *value_describe(arena *a, const value *v);
/// Python's text of a compile-time value, for static_print and f-strings.
void value_print(const value *v, strbuf *out);
/// Python's truth of a compile-time value.
bool value_truth(const value *v);
/// Structural equality of compile-time values (Python ==; 1 == 1.0 == True).
bool value_equal(const value *a, const value *b);

/// Python arithmetic on two compile-time values (floor division, ** and so on). Returns NULL and
/// sets *out, or the reason it cannot be done: "division by zero", "integer too large (more than
/// 64 bits)", or "" if the operator does not apply to these kinds.
const char *value_binary(arena *a, ast_op op, const value *x, const value *y, value *out);
const char *value_unary(ast_op op, const value *x, value *out);
/// Python comparison; "" if not comparable.
const char *value_compare(ast_op op, const value *x, const value *y, bool *out);

#endif
