// What the files of pass_pipeline share: pass_pipeline.c decides which loads of a loop run ahead,
// pipeline_registers.c and pipeline_async.c rewrite the loop for them.
#ifndef TILE_IR_PIPELINE_H
#define TILE_IR_PIPELINE_H

#include "ir/axis_info.h"
#include "ir/pipeline_span.h"

enum {
    PIPELINE_MAX_LOADS = 16, ///< of a loop that run ahead, of each kind
    PIPELINE_MAX_STORES = 4, ///< that are compared with them
};

typedef enum slice_mark { SLICE_NO, SLICE_MAYBE, SLICE_YES } slice_mark;

/// A loop and what is known of it.
typedef struct pipeline {
    ir_func *func;
    ir_op *loop;
    ir_block *body;
    const axis_analysis *axis;
    uint8_t
        *slice; ///< by op id, a slice_mark: what the loads' addresses need (MAYBE: of one in study)
    unsigned slice_ops;
    ir_op *loads[PIPELINE_MAX_LOADS];    ///< of the next iteration, into registers
    bool is_checked[PIPELINE_MAX_LOADS]; ///< it might read what a store of the loop writes
    ir_op *copies[PIPELINE_MAX_LOADS];   ///< into shared memory, `stages` - 1 iterations ahead
    ir_op *stores[PIPELINE_MAX_STORES];
    unsigned num_loads, num_checked, num_copies, num_stores;
    uint32_t stages;
    bool has_assert;   ///< no access may come before it
    bool is_unordered; ///< memory changes in ways that cannot be asked about
} pipeline;

/// Makes what is carried, and grows by the same in each iteration, out of the loop's variable.
void pipeline_derive_steps(ir_op *loop);
/// i1, before the loop: it runs at all.
ir_value *pipeline_enters(ir_builder *b, const ir_op *loop);
/// i1: another iteration follows that of `iv`, which there is.
ir_value *pipeline_goes_on(ir_builder *b, const ir_op *loop, ir_value *iv);
/// Adds a value that the loop carries: its argument. The caller adds to the yield.
ir_value *pipeline_carry(pipeline *p, ir_value *init, sv name);
void pipeline_yield(pipeline *p, ir_value *v);
/// An op once more, on the values that `map` has by the ids of its operands.
ir_op *pipeline_clone(ir_builder *b, const ir_op *op, ir_value *const *map);
ir_value *pipeline_mapped(ir_value *const *map, ir_value *v);
/// Makes the slice for the iteration of `iv`: a map from the ids of its values to the new ones. Where
/// there might be no such iteration, the author's hints are not `kept`.
ir_value **pipeline_clone_slice(pipeline *p, ir_builder *b, ir_value *iv, bool keep_hints);
/// An `if` with its two regions, empty: the caller ends them.
ir_op *pipeline_if(ir_builder *b, ir_value *cond, const ir_type *types, uint32_t n,
                   ir_builder arms[2]);

/// Each rewrites the loop for its kind of loads; the caller applies replacements.
void pipeline_load_early(pipeline *p);
void pipeline_copy_early(pipeline *p, int64_t first_buffer);

#endif
