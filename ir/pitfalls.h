// Warnings about kernels that are valid but hardly meant so. Called on a function as it was written,
// before any pass.
#ifndef TILE_IR_PITFALLS_H
#define TILE_IR_PITFALLS_H

#include "ir/ir.h"

/// An offset that is known to overflow 32 bits (-Woffset-overflow), and an access without a mask
/// through an index that other accesses cut at a smaller extent (-Wmissing-mask).
void ir_warn_pitfalls(ir_func *f);

#endif
