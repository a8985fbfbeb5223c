// Which bytes a tile of pointers may touch, as code that finds out at run time.
#ifndef TILE_IR_PIPELINE_SPAN_H
#define TILE_IR_PIPELINE_SPAN_H

#include "ir/ir.h"

/// The least and the greatest of a tile's values, as i64 scalars.
typedef struct span {
    ir_value *lo, *hi;
} span;

/// Whether span_of can say it: the values are sums and products of scalars, constants and indices.
bool span_is_known(const ir_value *v);
/// Builds the span of an integer's or a pointer's values; of pointers, the first and the last byte
/// that lie behind them. Masks do not count. span_is_known(v) must hold, and v be visible.
span span_of(ir_builder *b, ir_value *v);
/// i1: the two have a byte in common.
ir_value *span_overlap(ir_builder *b, span x, span y);

#endif
