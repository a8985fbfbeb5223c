// Axis info: what is known of the values of an integer or pointer tile along each dimension, from
// argument hints down. It decides how wide an access may be and how often a mask repeats.
//
//   contiguity[d]    length of runs of consecutive values (v, v+1, ...) along d; 1 if unknown
//   divisibility[d]  a power of two that divides the first value of every such run (for pointers:
//                    the byte address)
//   constancy[d]     length of runs of equal values along d
// Runs start at multiples of their length. All are powers of two, for scalars rank is 0 and entry 0
// is used (contiguity and constancy 1). A pointer's runs step by the size of what it points to.
#ifndef TILE_IR_AXIS_INFO_H
#define TILE_IR_AXIS_INFO_H

#include "ir/ir.h"

typedef struct axis_info {
    uint32_t contiguity[IR_MAX_RANK];
    uint64_t divisibility[IR_MAX_RANK];
    uint32_t constancy[IR_MAX_RANK];
    bool is_const; ///< all elements equal `value`, known
    int64_t value;
    bool
        non_negative; ///< an integer that is at least 0, if its indexing arithmetic does not overflow
} axis_info;

typedef struct axis_analysis axis_analysis;

/// Runs the analysis over a function (numbers its values). Lives in `a`; stale once the IR changes.
axis_analysis *axis_analyze(ir_func *f, arena *a);
const axis_info *axis_get(const axis_analysis *an, const ir_value *v);
/// The index of the parameter that every pointer in v derives from, or -1 if not one and known.
int axis_pointer_root(const axis_analysis *an, const ir_value *v);

// axis_access.c
/// Into how wide a vector (elements, a power of two, at most 16 bytes) the load, store or atomic
/// `op` may be cut along dimension `dim` of its pointer tile: neighbours lie side by side, the
/// first one is aligned, and one mask bit speaks for all. 1 for atomics and for scalars.
uint32_t axis_whole_width(const axis_analysis *an, const ir_op *op, unsigned dim);
/// The same, where it is enough that most vectors are like that at run time: the mask is an
/// interval, or the access is marked `realigned`. At least axis_whole_width; what is wider than
/// that needs a test per vector.
uint32_t axis_access_width(const axis_analysis *an, const ir_op *op, unsigned dim);
/// The length of runs along `dim` within which the true elements of a mask lie side by side. Looks
/// through AXIS_INTERVAL_DEPTH ops.
enum { AXIS_INTERVAL_DEPTH = 8 };
uint32_t axis_interval(const axis_analysis *an, const ir_value *mask, unsigned dim);
/// The same for an async_copy, which may also leave off the last elements of a vector.
uint32_t axis_async_width(const axis_analysis *an, const ir_op *op, unsigned dim);
/// How many registers of a tile with a layout, from any multiple of that number, hold consecutive
/// elements of dimension `dim`: a power of two.
uint32_t axis_held_run(const ir_value *tile, unsigned dim);
/// The mask of a load, store or async_copy; NULL if it has none.
const ir_value *axis_access_mask(const ir_op *op);

#endif
