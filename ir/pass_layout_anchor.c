// Layout assignment, first part: what the global memory accesses want. They move most of the bytes,
// so they decide: neighbouring elements of the most contiguous dimension to one thread, up to 16
// bytes, then across the lanes of a warp, then warps along dimensions that nothing reduces (a row
// that stays within a warp is folded by shuffles alone), and what is left to more registers. The
// CTAs of a cluster come before the warps there, for the same reason, and after them elsewhere: a
// tile too small for all threads has copies in the CTAs, not its parts.
// Accesses of one shape and order form a group with one layout.
#include "ir/pass_layout.h"

enum {
    VECTOR_BYTES = 16,
    LINE_BYTES = 128,  ///< of the cache
    LINE_ELEMENTS = 4, ///< elements a lane needs to fill, with its warp, a 128-byte line of bytes
};

bool anchor_is_access(const ir_op *op) {
    return (op->opcode == OP_LOAD || op->opcode == OP_STORE || op->opcode == OP_ATOMIC_RMW ||
            op->opcode == OP_ATOMIC_CAS) &&
           ir_is_tile(op->operands[0]->type);
}

static uint32_t elements_per_thread(const ir_func *f, ir_type t) {
    uint32_t n = ir_type_elements(t) / (f->num_warps * f->num_ctas << LAYOUT_LANE_BITS);
    return n ? n : 1;
}

// --- reduced dimensions, found backward from the reductions

/// The dimension of `to` that the same index bits as dimension d of `from` make up; rank if none.
static unsigned matching_dim(ir_type from, unsigned d, ir_type to) {
    uint32_t mask = layout_dim_mask(from.shape, from.rank, d);
    for (unsigned i = 0; mask && i < to.rank; i++)
        if (layout_dim_mask(to.shape, to.rank, i) == mask)
            return i;
    return IR_MAX_RANK;
}

/// The dimensions of operand i that are folded if those in `reduced` of the result are.
static unsigned reduced_through(const ir_op *op, uint32_t i, unsigned reduced) {
    const ir_value *x = op->operands[i];
    if (ir_has_trait(op, ELEMENTWISE) || op->opcode == OP_BROADCAST || op->opcode == OP_FLIP ||
        op->opcode == OP_HALF || op->opcode == OP_JOIN)
        return reduced & ((1u << x->type.rank) - 1); // join's new dimension is the last one
    unsigned out = 0;
    if (op->opcode == OP_PERMUTE) {
        const ir_attr *order = ir_find_attr(op, ATTR_ORDER);
        for (unsigned d = 0; d < x->type.rank; d++)
            out |= (reduced >> d & 1u) << order->ints[d];
    } else if (op->opcode == OP_RESHAPE) {
        ir_type to = op->results[0]->type;
        for (unsigned d = 0; d < to.rank; d++) {
            unsigned from = reduced >> d & 1 ? matching_dim(to, d, x->type) : IR_MAX_RANK;
            out |= from < IR_MAX_RANK ? 1u << from : 0;
        }
    }
    return out;
}

static void add_reduced(layout_plan *p, const ir_value *v, unsigned reduced) {
    p->changed |= (p->reduced[v->id] | reduced) != p->reduced[v->id];
    p->reduced[v->id] |= reduced;
}

static void find_reduced_operand(layout_plan *p, const ir_op *op, uint32_t i) {
    const ir_value *x = op->operands[i];
    ir_value *targets[2];
    if (op->opcode == OP_REDUCE) {
        // What happens to the result happens to the dimensions that are left, too.
        unsigned axis = (unsigned)ir_get_int(op, ATTR_AXIS, 0);
        unsigned after = p->reduced[op->results[i]->id], below = (1u << axis) - 1;
        add_reduced(p, x, 1u << axis | (after & below) | (after & ~below) << 1);
    } else if (op->opcode == OP_SCAN) {
        unsigned axis = (unsigned)ir_get_int(op, ATTR_AXIS, 0);
        add_reduced(p, x, 1u << axis | p->reduced[op->results[i]->id]);
    } else if (ir_has_trait(op, PURE) && op->num_results == 1) {
        add_reduced(p, x, reduced_through(op, i, p->reduced[op->results[0]->id]));
    } else {
        for (unsigned n = layout_flow_targets(op, i, targets); n-- > 0;)
            add_reduced(p, x, p->reduced[targets[n]->id]);
    }
}

static void find_reduced(layout_plan *p) {
    do { // loops carry the sets around; they only grow
        p->changed = false;
        for (uint32_t o = p->num_ops; o-- > 0;) {
            const ir_op *op = p->ops[o];
            for (uint32_t i = 0; i < op->num_operands; i++)
                if (op->operands[i] && ir_is_tile(op->operands[i]->type))
                    find_reduced_operand(p, op, i);
        }
    } while (p->changed);
}

// --- groups

/// Dimensions by contiguity of the pointers, the later one first if equal, extent 1 last.
static void order_dims(const axis_info *info, ir_type t, uint8_t *order) {
    for (unsigned d = 0; d < t.rank; d++) {
        uint32_t key = t.shape[d] == 1 ? 0 : info->contiguity[d];
        unsigned at = d;
        for (; at > 0; at--) {
            unsigned before = order[at - 1];
            if (t.shape[before] != 1 && (key == 0 || info->contiguity[before] > key))
                break;
            order[at] = order[at - 1];
        }
        order[at] = (uint8_t)d;
    }
}

static anchor_group *find_group(layout_plan *p, ir_type t, const uint8_t *order) {
    anchor_group **link = &p->groups;
    for (; *link; link = &(*link)->next)
        if (ir_shape_equal((*link)->shape, t) && !memcmp((*link)->order, order, t.rank))
            return *link;
    anchor_group *g = ARENA_NEW(p->arena, anchor_group);
    g->shape = t;
    g->width = g->elem_bytes = 1;
    memcpy(g->order, order, t.rank);
    *link = g;
    return g;
}

static void join_group(layout_plan *p, const ir_op *op) {
    const ir_value *ptr = op->operands[0];
    uint8_t order[IR_MAX_RANK];
    order_dims(axis_get(p->axis, ptr), ptr->type, order);
    anchor_group *g = find_group(p, ptr->type, order);
    p->group[op->id] = g;
    uint32_t width = axis_access_width(p->axis, op, order[0]);
    uint32_t most = elements_per_thread(p->func, ptr->type), bytes = dtype_bytes(ptr->type.pointee);
    width = width < most ? width : most;
    g->width = width > g->width ? width : g->width;
    g->elem_bytes = bytes > g->elem_bytes ? bytes : g->elem_bytes;
    if (op->num_results)
        g->reduced |= p->reduced[op->results[0]->id];
    for (uint32_t i = 1; i < op->num_operands; i++)
        if (op->operands[i])
            g->reduced |= p->reduced[op->operands[i]->id];
}

static const layout *blocked(layout_plan *p, ir_type t, const uint8_t *order, uint32_t width,
                             unsigned reduced) {
    uint8_t warp_order[IR_MAX_RANK];
    unsigned n = 0, kept = 0;
    for (unsigned pass = 0; pass < 2; pass++)
        for (unsigned i = 0; i < t.rank; i++)
            if ((reduced >> order[i] & 1) == pass) {
                warp_order[n++] = order[i];
                kept += pass == 0;
            }
    unsigned warp_bits = (unsigned)__builtin_ctz(p->func->num_warps);
    unsigned cta_bits = (unsigned)__builtin_ctz(p->func->num_ctas);
    layout l = layout_blocked(t.shape, t.rank, order, width, warp_order, kept, warp_bits, cta_bits);
    return ir_intern_layout(p->func, &l);
}

/// Where element sizes differ, the largest one decides: a thread that held more of it would leave
/// gaps between the lanes of each access.
static uint32_t shared_width(const anchor_group *g) {
    uint32_t most = VECTOR_BYTES / g->elem_bytes;
    most = most > LINE_ELEMENTS ? most : LINE_ELEMENTS;
    return g->width < most ? g->width : most;
}

void anchor_find(layout_plan *p) {
    find_reduced(p);
    for (uint32_t o = 0; o < p->num_ops; o++)
        if (anchor_is_access(p->ops[o]))
            join_group(p, p->ops[o]);
    for (anchor_group *g = p->groups; g; g = g->next)
        g->layout = blocked(p, g->shape, g->order, shared_width(g), g->reduced);
    for (uint32_t o = 0; o < p->num_ops; o++)
        if (p->group[o])
            p->op_layout[o] = p->group[o]->layout;
}

const layout *anchor_default(layout_plan *p, ir_type type, unsigned reduced) {
    for (const anchor_group *g = p->groups; g; g = g->next)
        if (ir_shape_equal(g->shape, type))
            return g->layout;
    uint8_t order[IR_MAX_RANK];
    for (unsigned d = 0; d < type.rank; d++)
        order[d] = (uint8_t)(type.rank - 1 - d);
    uint32_t width = elements_per_thread(p->func, type);
    return blocked(p, type, order, width < LINE_ELEMENTS ? width : LINE_ELEMENTS, reduced);
}

/// How many elements op accesses at once along its contiguous dimension, in layout l.
typedef struct access_shape {
    uint32_t width;
    bool is_whole; ///< no test per vector
} access_shape;

static access_shape shape_in_layout(const layout_plan *p, const axis_analysis *axis,
                                    const ir_op *op, const layout *l) {
    ir_type t = op->operands[0]->type;
    unsigned dim = p->group[op->id]->order[0];
    uint32_t width = axis_access_width(axis, op, dim);
    uint32_t held = 1, step = layout_dim_mask(t.shape, t.rank, dim);
    step &= -step;
    for (unsigned i = 0; i < l->reg_bits && step && l->basis[i] == step << i; i++)
        held *= 2;
    width = width < held ? width : held;
    return (access_shape){width, axis_whole_width(axis, op, dim) >= width};
}

uint32_t anchor_access_count(const layout_plan *p, const ir_op *op, const layout *l) {
    return layout_reg_count(l) / shape_in_layout(p, p->axis, op, l).width;
}

// --- other layouts for an access

/// Consecutive elements that one access of a warp covers without a gap.
static uint32_t warp_run(const layout_plan *p, const ir_op *op, const layout *l) {
    ir_type t = op->operands[0]->type;
    uint32_t step = layout_dim_mask(t.shape, t.rank, p->group[op->id]->order[0]);
    uint32_t run = shape_in_layout(p, p->axis, op, l).width;
    step &= -step;
    for (unsigned i = 0; i < LAYOUT_LANE_BITS;) {
        bool goes_on = step && l->basis[l->reg_bits + i] == step * run;
        run *= goes_on ? 2 : 1;
        i = goes_on ? 0 : i + 1;
    }
    return run;
}

bool anchor_is_as_good(const layout_plan *p, const ir_op *op, const layout *l) {
    const layout *own = p->group[op->id]->layout;
    uint32_t bytes = dtype_bytes(op->operands[0]->type.pointee), line = LINE_BYTES / bytes;
    uint32_t run = warp_run(p, op, own);
    return l->reg_bits == own->reg_bits && warp_run(p, op, l) >= (run < line ? run : line) &&
           anchor_access_count(p, op, l) <= 2 * anchor_access_count(p, op, own);
}

const layout *anchor_arrange(layout_plan *p, const ir_op *op, const layout *l) {
    ir_type t = op->operands[0]->type;
    uint32_t along = layout_dim_mask(t.shape, t.rank, p->group[op->id]->order[0]);
    layout out = *l;
    for (unsigned i = 1; i < l->reg_bits; i++) { // those along the dimension first, in order
        uint32_t basis = out.basis[i], at = i;
        for (; at > 0 && !(basis & ~along); at--) {
            if (!(out.basis[at - 1] & ~along) && out.basis[at - 1] < basis)
                break;
            out.basis[at] = out.basis[at - 1];
        }
        out.basis[at] = basis;
    }
    return ir_intern_layout(p->func, &out);
}

// --- hints

/// Would an access be narrower, or need a test per vector, if the parameter's divisibility were only
/// `divisibility`?
static bool is_narrower_with(layout_plan *p, ir_param *param, uint32_t divisibility) {
    arena_mark mark = arena_save(p->arena);
    uint32_t known = param->divisibility;
    param->divisibility = divisibility;
    const axis_analysis *with_less = axis_analyze(p->func, p->arena);
    param->divisibility = known;
    bool narrower = false;
    for (uint32_t o = 0; o < p->num_ops && !narrower; o++) {
        if (!p->group[o])
            continue;
        access_shape now = shape_in_layout(p, p->axis, p->ops[o], p->op_layout[o]);
        access_shape then = shape_in_layout(p, with_less, p->ops[o], p->op_layout[o]);
        narrower = then.width < now.width || (now.is_whole && !then.is_whole);
    }
    arena_restore(p->arena, mark);
    return narrower;
}

/// A load that straddles two aligned vectors leaves out the one before its array, and so relies on where
/// the array begins, however narrow its accesses are.
static bool has_straddling_load(const layout_plan *p) {
    for (uint32_t o = 0; o < p->num_ops; o++)
        if (p->group[o] && ir_get_flag(p->ops[o], ATTR_STRADDLES))
            return true;
    return false;
}

void anchor_drop_useless_hints(layout_plan *p) {
    if (has_straddling_load(p))
        return;
    for (uint32_t i = 0; i < p->func->num_params; i++) {
        ir_param *param = &p->func->params[i];
        uint32_t least = 1;
        while (least < param->divisibility && is_narrower_with(p, param, least))
            least *= 2;
        param->divisibility = least;
    }
}
