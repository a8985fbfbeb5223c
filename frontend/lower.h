// The lowering's state, shared by lower.c (functions, statements, scopes), lower_expr.c
// (expressions, calls), semantics.c (what operators and conversions mean) and builtins.c.
#ifndef TILE_FRONTEND_LOWER_H
#define TILE_FRONTEND_LOWER_H

#include "frontend/frontend.h"
#include "frontend/value.h"

typedef struct lowering {
    arena *arena;
    diag *diag;
    fe_program *program;
    const fe_options *options;
    ir_func *func;
    ir_builder b;              ///< b.range is kept at the expression being lowered
    struct scope *scope;       ///< names of the function being lowered (lower.c)
    struct call_frame *frames; ///< chain of helpers being inlined, innermost first (lower.c)
    unsigned depth;            ///< nesting of expressions, statements and calls, limited
    unsigned regions;          ///< run-time branches and loops that are open, limited
    uint64_t unrolled;         ///< iterations of static loops so far, limited
    uint64_t statements;       ///< statements lowered so far, inlined ones included, limited
} lowering;

/// Reports an error at `at` with the chain of inlined calls as notes; gives poison.
value lower_error(lowering *lo, src_range at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/// Warns of the class `name`, but not about the embedded library.
void lower_warning(lowering *lo, const char *name, src_range at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/// Sets the range that new ops get. Inside the standard library that is the user's call of it.
void lower_set_range(lowering *lo, src_range range);

// --- lower_expr.c
value lower_expr(lowering *lo, const ast_expr *e);
/// Calls a function value (helper or built-in) with evaluated arguments: inlines a helper. Used by
/// reduce's combine as well.
typedef struct call_args {
    value *positional;
    uint32_t num_positional;
    sv *keyword_names;
    src_range *keyword_places; ///< of the names; NULL if the call is not written in source
    value *keywords;
    uint32_t num_keywords;
    src_range range; ///< of the whole call
} call_args;
value lower_call(lowering *lo, const value *callee, const call_args *args);
/// The function of the embedded library of this name, as a value that lower_call takes (lower.c).
/// builtin_call uses it for rows without a builder, the reductions for their combine functions.
value lower_stdlib(lowering *lo, const char *name);

// --- lower_stmt.c
/// An assertion on the device, unless they are turned off. `mask` may be NULL.
void lower_add_assert(lowering *lo, ir_value *cond, ir_value *mask, sv text);

// --- semantics.c: what operators and conversions mean. Operands may be compile-time or run-time
// values; poison in gives poison out. `range` is the operator's expression.
/// + - * / // % ** << >> & | ^ and pointer arithmetic, with promotion and broadcasting.
value sem_binary(lowering *lo, ast_op op, value x, value y, src_range range);
value sem_unary(lowering *lo, ast_op op, value x, src_range range);
/// One comparison (== != < <= > >= is, is not).
value sem_compare(lowering *lo, ast_op op, value x, value y, src_range range);
/// `and` / `or` / `not` of run-time values (compile-time short-circuit is lower_expr's).
value sem_logical(lowering *lo, ast_op op, value x, value y, src_range range);
/// tl.where(c, x, y).
value sem_where(lowering *lo, value c, value x, value y, src_range range);
/// A run-time value of a compile-time number (Triton's literal rule: i32, i64, u64, fp32 ...), or
/// v itself if it is one already. Errors for anything else.
value sem_materialize(lowering *lo, value v, src_range range);
/// x.to(type): any cast of LANGUAGE.md. `rounding`: "" or "rtne" or "rtz".
value sem_cast(lowering *lo, value x, dtype to, sv rounding, bool bitcast, src_range range);
/// Converts x (number or run-time value) to exactly this element type, as a store does implicitly.
value sem_convert(lowering *lo, value x, ir_type elem, src_range range);
/// Broadcasts two run-time values to a common shape (ranks padded with leading 1s).
bool sem_broadcast_pair(lowering *lo, value *x, value *y, src_range range);
/// Broadcasts x to a shape of any rank >= its own.
value sem_broadcast_to(lowering *lo, value x, const uint32_t *shape, unsigned rank,
                       src_range range);
/// The scalar i1 of a condition (`if`, `while`): one element, != 0.
value sem_condition(lowering *lo, value x, src_range range);
/// x[index...]: None inserts a dimension, ':' keeps one; on tuples a compile-time index.
value sem_subscript(lowering *lo, value x, const value *index, uint32_t n, src_range range);
/// x.name: dtype shape T numel type ... and built-ins as methods; modules' members.
value sem_attribute(lowering *lo, value x, sv name, src_range range);
/// Result dtype of a binary operator by Triton's promotion (promote.c). DT_VOID if refused.
dtype promote_binary(ast_op op, dtype x, bool x_weak, dtype y, bool y_weak);

// --- builtins.c
/// A row of builtins.def: how a built-in is called and what builds it.
struct builtin {
    const char *name;
    /// "x, mask=None, other=None, cache_modifier=\"\"": names and defaults, as Python would write
    /// them; "*args" takes the rest.
    const char *signature;
    unsigned flags;
    value (*build)(lowering *lo, value *args, src_range range); ///< one value per parameter
};
enum {
    BUILTIN_METHOD = 1 << 0, ///< also x.name(...)
    BUILTIN_PYTHON = 1 << 1, ///< a bare name of Python's (min, max, abs, len, range ...)
    BUILTIN_MATH = 1 << 2,   ///< also tl.math.name, libdevice.name
    BUILTIN_TRITON = 1 << 3, ///< of the triton module: triton.cdiv, triton.next_power_of_2
};
/// Finds `name` in a module ("tl", "triton", "tl.math", "libdevice", "" for bare names); NULL if
/// there is none.
const builtin *builtin_find(sv module, sv name);
/// The built-in as a value; an error if it exists in Triton or Python and we do not have it yet.
value builtin_value(lowering *lo, const builtin *bi, sv module, src_range range);
const builtin *builtin_find_method(sv name);
/// True if one of the names is that of a function in libdevice.tile.
bool builtin_any_of_libdevice(const name_map *names);
/// A member of Python's module math (python_math.c); false if there is none.
bool python_math_member(sv name, value *out);
/// Binds call arguments to the built-in's parameters and builds it.
value builtin_call(lowering *lo, const builtin *bi, const value *self, const call_args *args);

#endif
