// What an elementwise op gives on constants: shared by pass_fold.c and its tests.
#ifndef TILE_IR_FOLD_H
#define TILE_IR_FOLD_H

#include "ir/ir.h"

/// Evaluates an elementwise op of one result on the bit patterns of its operands. False if the
/// result depends on the machine (transcendental functions, division by zero, a NaN's payload) and
/// has to be left to it.
bool fold_evaluate(const ir_op *op, const uint64_t *operands, uint64_t *result);

#endif
