// The parts of pass_cleanup that stand in files of their own.
#ifndef TILE_IR_CLEANUP_H
#define TILE_IR_CLEANUP_H

#include "ir/ir.h"

/// Removes ops without effect whose results nobody uses, and the values that loops and ifs carry
/// for nothing. True if anything went.
bool cleanup_dead_code(ir_func *f);
/// Moves what does not change out of loops: ops, and carried values that keep their first value.
bool cleanup_loops(ir_func *f);

/// True if repeating the op gives the same result as long as nothing writes memory: a load that is
/// not volatile.
static inline bool cleanup_is_plain_load(const ir_op *op) {
    return ir_has_trait(op, READS) && !ir_has_trait(op, WRITES | EFFECT) &&
           !ir_get_flag(op, ATTR_VOLATILE);
}
/// For every op by id: whether it, or an op inside it, writes memory. Numbers the function.
bool *cleanup_find_writers(ir_func *f);

#endif
