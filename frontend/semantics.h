// What the semantics and built-in files share among themselves: questions about operands, constants
// made from literals, shapes. lower.h holds what the rest of the front end calls.
#ifndef TILE_FRONTEND_SEMANTICS_H
#define TILE_FRONTEND_SEMANTICS_H

#include "frontend/lower.h"
#include "frontend/scope.h"

/// A shape under construction.
typedef struct tile_shape {
    unsigned rank;
    uint32_t dims[IR_MAX_RANK];
} tile_shape;

static inline bool value_is_poison(const value *v) { return v->kind == VALUE_POISON; }
static inline bool value_is_ir(const value *v) { return v->kind == VALUE_IR; }
/// The element type of a run-time value.
static inline dtype value_elem(const value *v) { return v->ir->type.elem; }
static inline bool value_is_pointer(const value *v) {
    return v->kind == VALUE_IR && v->ir->type.elem == DT_PTR;
}

/// The same place in the source, another run-time value.
static inline value value_with_ir(value v, ir_value *ir) {
    v.kind = VALUE_IR;
    v.ir = ir;
    return v;
}
static inline src_range value_place(const value *v, src_range otherwise) {
    return v->range.file ? v->range : otherwise;
}

/// The type a literal has where nothing else decides: i1; i32, u32, i64 or u64; fp32 or fp64.
dtype sem_literal_type(const value *v);
/// A constant of a number in any numeric type: integers wrap, floats round.
ir_value *sem_constant(lowering *lo, const value *number, ir_type type);
/// Reports a compile-time integer that does not fit; true if it fits (floats and run-time values
/// always do).
bool sem_check_fits(lowering *lo, const value *v, dtype to, src_range range);
/// Numbers become run-time values, run-time values stay; anything else is an error that names the
/// role: "the mask". False after an error.
bool sem_to_ir(lowering *lo, value *v, const char *role);
/// Reports two run-time values that do not go together, with both types under their sources.
value sem_mismatch(lowering *lo, src_range range, const value *x, const value *y, const char *fmt,
                   ...) __attribute__((format(printf, 5, 6)));
/// The text of a value's type, for messages.
const char *sem_describe(lowering *lo, const value *v);

/// Converts two numbers or run-time values to the type that `op` computes them in (literals count
/// as strong if `strong_literals`), and broadcasts them. `what` is its name for messages: "'+'",
/// "maximum()". False after an error.
bool sem_unify(lowering *lo, ast_op op, const char *what, value *x, value *y, bool strong_literals,
               src_range range);
/// The value in another numeric element type: to i1 is `!= 0`.
ir_value *sem_cast_ir(lowering *lo, ir_value *x, dtype to);
/// Casts to an element type that may be a pointer; see sem_cast.
value sem_cast_type(lowering *lo, value x, ir_type to, sv rounding, bool bitcast, src_range range);
/// 16- and 8-bit floats have no arithmetic of their own in some ops: fp32 for them, else t.
dtype sem_compute_type(dtype t);

/// Reads a shape from a tuple, a list or one integer: compile-time powers of two, within limits.
bool sem_read_shape(lowering *lo, const value *v, tile_shape *out, src_range range);
/// The shape that two run-time values broadcast to; false after an error with both types.
bool sem_check_broadcast(lowering *lo, const value *x, const value *y, tile_shape *shape,
                         src_range range);
/// Checks powers of two, rank and number of elements.
bool sem_check_shape(lowering *lo, const tile_shape *s, src_range range);
/// "tile<4x8>" without an element: "(4, 8)".
const char *sem_shape_text(lowering *lo, const uint32_t *dims, unsigned rank);
tile_shape sem_shape_of(const ir_value *v);
/// The element in a shape of the same number of elements; a no-op if it has it already.
ir_value *sem_reshape(lowering *lo, ir_value *x, const tile_shape *shape);
/// Inserts a dimension of extent 1 before dimension `axis`.
ir_value *sem_expand_dims(lowering *lo, ir_value *x, unsigned axis);
/// Brings a compile-time axis from -rank .. rank-1 to 0 .. rank-1; false after an error.
bool sem_read_axis(lowering *lo, const value *v, unsigned rank, unsigned *axis, src_range range);

#endif
