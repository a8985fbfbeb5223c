// What the parts of axis info share: axis_info.c walks the function, axis_transfer.c knows the ops,
// axis_access.c what follows for accesses. Only they include this file.
#ifndef TILE_IR_AXIS_TRANSFER_H
#define TILE_IR_AXIS_TRANSFER_H

#include "ir/axis_info.h"

enum { AXIS_MAX_OPERANDS = 3 }; ///< that a transfer function looks at; of more, nothing is said

static inline uint64_t min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t max_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }

/// Nothing is known.
axis_info axis_unknown(void);
/// Every element is the same and divisible by `divisor`.
axis_info axis_uniform(ir_type t, uint64_t divisor);
/// Every element is v.
axis_info axis_constant(ir_type t, int64_t v);
/// What holds for both.
axis_info axis_join(const axis_info *a, const axis_info *b, ir_type t);
/// The facts of the only result of a pure op without regions, from those of its operands;
/// `in` holds the first AXIS_MAX_OPERANDS.
axis_info axis_transfer(const ir_op *op, const axis_info *const in[AXIS_MAX_OPERANDS]);

#endif
