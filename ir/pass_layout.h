// What the parts of the layout pass share: the plan. pass_layout.c decides which layout every value
// is computed in, asking pass_layout_anchor.c what the memory accesses want; then
// pass_layout_rewrite.c makes the function so. Only these three files include this one.
#ifndef TILE_IR_PASS_LAYOUT_H
#define TILE_IR_PASS_LAYOUT_H

#include "ir/axis_info.h"

/// How a tile value comes to the layouts its users ask for.
typedef enum value_kind {
    VALUE_SCALAR, ///< not a tile
    VALUE_REMADE, ///< a pure chain from scalars and indices: made again in every layout asked for
    VALUE_VIEW,   ///< a native value reshaped, broadcast, permuted, halved: asks its source instead
    VALUE_NATIVE, ///< computed once, in `layout`; converted to others
} value_kind;

/// Accesses that are alike share one layout, so that values pass between them as they are.
typedef struct anchor_group {
    ir_type shape;              ///< only rank and shape matter
    uint8_t order[IR_MAX_RANK]; ///< dimensions, the most contiguous first
    uint32_t width;             ///< elements in the widest access of the group
    uint32_t elem_bytes;        ///< of the largest element accessed
    unsigned reduced;           ///< set of dimensions that some reduction folds
    const layout *layout;       ///< NULL until anchor_groups_finish
    struct anchor_group *next;
} anchor_group;

/// Indexed by value id or op id as numbered when the pass began. Ops made later have no entry.
typedef struct layout_plan {
    ir_func *func;
    arena *arena;
    axis_analysis *axis;
    ir_op **ops; ///< in program order, by op id
    uint32_t num_ops;
    value_kind *kind;      ///< by value
    const layout **layout; ///< by value: native ones have one in the end; a view's is a preference
    const layout **want;   ///< by value: what the store wants that it is computed for
    unsigned *reduced;     ///< by value: the dimensions along which something made of it is reduced
    bool *feeds_more;      ///< by value: used by something else than (a chain to) a broadcast
    const layout **op_layout; ///< by op: what an access, a reduction or an assertion works in
    anchor_group **group;     ///< by op: of an access
    anchor_group *groups;
    bool changed;
} layout_plan;

// --- pass_layout.c
/// Calls itself for the values that operand i of a control-flow op or a terminator flows into:
/// region arguments and results. Returns how many there are, at most 2.
unsigned layout_flow_targets(const ir_op *op, uint32_t i, ir_value *targets[2]);
/// The layout in which op needs its tile operand i, given the layout of op's result (NULL if it has
/// none). NULL if that is not decided.
const layout *layout_of_operand(layout_plan *p, const ir_op *op, uint32_t i, const layout *result);

// --- pass_layout_anchor.c
/// True for loads, stores and atomics of tiles.
bool anchor_is_access(const ir_op *op);
/// Fills plan.reduced, plan.group and the anchors' op_layout.
void anchor_find(layout_plan *p);
/// A layout for tiles that no access decides.
const layout *anchor_default(layout_plan *p, ir_type type, unsigned reduced);
/// How many instructions a thread spends on access `op` in a layout.
uint32_t anchor_access_count(const layout_plan *p, const ir_op *op, const layout *l);
/// True if access `op` moves as much at once in layout l as in the layout of its group: no copies,
/// whole cache lines per warp, at most twice the instructions.
bool anchor_is_as_good(const layout_plan *p, const ir_op *op, const layout *l);
/// Layout l with its registers in the order in which `op` can access several at once.
const layout *anchor_arrange(layout_plan *p, const ir_op *op, const layout *l);
/// Lowers each parameter's divisibility to the least that gives the same accesses.
void anchor_drop_useless_hints(layout_plan *p);

// --- pass_layout_rewrite.c
void layout_rewrite(layout_plan *p);

#endif
