// What reductions and scans share: reading the tiles, and the region with the combine function.
#ifndef TILE_FRONTEND_BUILTINS_REDUCE_H
#define TILE_FRONTEND_BUILTINS_REDUCE_H

#include "frontend/builtins.h"

enum { REDUCE_MAX_TILES = 16 }; ///< in one reduction or scan

typedef struct reduce_tiles {
    value xs[REDUCE_MAX_TILES];
    uint32_t n;
    bool is_tuple; ///< they were given as one
} reduce_tiles;

/// The tiles given to a built-in as run-time values of one shape. False after an error.
bool reduce_read_tiles(lowering *lo, const char *name, const value *given, const value *combine,
                       reduce_tiles *out, src_range range);
/// Lowers the combine function into the op's region. False after an error.
bool reduce_build_region(lowering *lo, ir_op *op, const value *combine, src_range range);
/// False, after an error, unless all in the region of the function `what` works on single elements.
bool reduce_check_pure(lowering *lo, ir_block *region, const char *what, src_range range);
/// False, after an error, unless x holds numbers; integers, if they must be.
bool reduce_check_number(lowering *lo, const char *name, const value *x, bool integer,
                         src_range range);
/// Small integers are summed in 32 bits.
dtype reduce_sum_type(dtype t);

#endif
