// Layout assignment: every tile value gets a layout, and where a user needs another one the value
// is made again, if that is cheap, or converted. This file decides; its order of deciding is
//   1. what the accesses want (pass_layout_anchor.c); a load, what its store wants, if as good;
//   2. forward: values take the layout of what they are computed from (where operands differ, the
//      one that the store further down wants);
//   3. backward: values that nothing has decided take the layout their users want;
//   2 and 3 again, until nothing changes; then a default for one that is left, and so on.
// A value is decided once, so this ends. Index arithmetic (VALUE_REMADE) and views have no say:
// they follow their users when pass_layout_rewrite.c changes the function. docs/layouts.md works
// through examples.
#include "ir/pass_layout.h"

#include "ir/passes.h"

enum {
    MAX_REGISTERS = 1024, ///< of a thread for one tile: four times what a machine has
    MOST_WARPS = 32,
    MAX_ROUNDS = 32,   ///< then whatever is left takes its default at once
    MOST_COPIES = 4,   ///< of an element in a join: each reduction and join might double them
    FEW_ACCESSES = 16, ///< instructions a thread may spend to save a trip through shared memory
};

// --- control flow: which values stand for the same variable

static ir_value *nth(ir_value **values, uint32_t n, uint32_t i) { return i < n ? values[i] : NULL; }

unsigned layout_flow_targets(const ir_op *op, uint32_t i, ir_value *targets[2]) {
    ir_value *arg = NULL, *result = NULL;
    const ir_op *parent = ir_has_trait(op, TERMINATOR) ? op->block->parent : NULL;
    if (op->opcode == OP_FOR && i >= 3) {
        arg = nth(op->regions[0]->args, op->regions[0]->num_args, i - 2);
        result = nth(op->results, op->num_results, i - 3);
    } else if (op->opcode == OP_WHILE) {
        arg = nth(op->regions[0]->args, op->regions[0]->num_args, i);
    } else if (parent && op->opcode == OP_CONDITION && i >= 1) {
        arg = nth(parent->regions[1]->args, parent->regions[1]->num_args, i - 1);
        result = nth(parent->results, parent->num_results, i - 1);
    } else if (parent && parent->opcode == OP_FOR) {
        arg = nth(parent->regions[0]->args, parent->regions[0]->num_args, i + 1);
        result = nth(parent->results, parent->num_results, i);
    } else if (parent && parent->opcode == OP_WHILE) {
        arg = nth(parent->regions[0]->args, parent->regions[0]->num_args, i);
    } else if (parent && parent->opcode == OP_IF) {
        result = nth(parent->results, parent->num_results, i);
    }
    unsigned n = 0;
    if (arg)
        targets[n++] = arg;
    if (result)
        targets[n++] = result;
    return n;
}

/// The region argument and the result of a loop that are one variable; NULL if v is neither.
static ir_value *partner_of(const ir_value *v) {
    const ir_op *op = v->def ? v->def : v->block->parent;
    if (!op || (op->opcode != OP_FOR && op->opcode != OP_WHILE))
        return NULL;
    const ir_block *region = op->regions[op->opcode == OP_WHILE];
    uint32_t first = op->opcode == OP_FOR; // after the induction variable
    if (v->def)
        return nth(region->args, region->num_args, v->index + first);
    bool carried = v->block == region && v->index >= first;
    return carried ? nth(op->results, op->num_results, v->index - first) : NULL;
}

// --- kinds of values

static bool is_view_op(const ir_op *op) {
    return op->opcode == OP_RESHAPE || op->opcode == OP_BROADCAST || op->opcode == OP_PERMUTE ||
           op->opcode == OP_HALF || op->opcode == OP_CONVERT_LAYOUT;
}

/// Made once: not cheap to make again, whatever its operands.
static bool exchanges(const ir_op *op) {
    return op->opcode == OP_GATHER || op->opcode == OP_HISTOGRAM;
}

static bool is_asm(const ir_op *op) { return op->opcode == OP_ASM || op->opcode == OP_ASM_EFFECT; }

static value_kind kind_of_result(const layout_plan *p, const ir_op *op) {
    if (!ir_has_trait(op, PURE) || op->num_regions || exchanges(op) || is_asm(op))
        return VALUE_NATIVE;
    bool remade = true;
    for (uint32_t i = 0; i < op->num_operands; i++) {
        const ir_value *x = op->operands[i];
        remade = remade && (!x || p->kind[x->id] <= VALUE_REMADE);
    }
    return remade ? VALUE_REMADE : is_view_op(op) ? VALUE_VIEW : VALUE_NATIVE;
}

static void set_kinds(layout_plan *p) {
    for (uint32_t o = 0; o < p->num_ops; o++) {
        const ir_op *op = p->ops[o];
        for (uint32_t i = 0; i < op->num_results; i++)
            if (ir_is_tile(op->results[i]->type))
                p->kind[op->results[i]->id] = kind_of_result(p, op);
        for (uint32_t r = 0; r < op->num_regions; r++)
            for (uint32_t i = 0; i < op->regions[r]->num_args; i++)
                if (ir_is_tile(op->regions[r]->args[i]->type))
                    p->kind[op->regions[r]->args[i]->id] = VALUE_NATIVE;
    }
}

/// Finds the values that are used for more than being broadcast.
static void set_feeds_more(layout_plan *p) {
    for (uint32_t o = p->num_ops; o-- > 0;) {
        const ir_op *op = p->ops[o];
        for (uint32_t i = 0; i < op->num_operands; i++) {
            const ir_value *x = op->operands[i];
            if (!x)
                continue;
            bool chain = op->opcode == OP_RESHAPE || ir_has_trait(op, ELEMENTWISE);
            if (op->opcode != OP_BROADCAST && !(chain && !p->feeds_more[op->results[0]->id]))
                p->feeds_more[x->id] = true;
        }
    }
}

// --- what an op needs

/// Whether operand i goes through shared memory whatever its layout.
static bool takes_as_it_comes(const ir_op *op, uint32_t i) {
    return op->opcode == OP_HISTOGRAM || (op->opcode == OP_GATHER && i == 0);
}

/// Combines elements along an axis, in a layout of its own choice.
static bool folds(const ir_op *op) { return op->opcode == OP_REDUCE || op->opcode == OP_SCAN; }

/// The part of an `if` goes with what comes out of it: the first result, or else the first store.
static const layout *layout_of_part(layout_plan *p, const ir_op *op) {
    for (uint32_t i = 0; i < op->num_results; i++)
        if (p->layout[op->results[i]->id])
            return p->layout[op->results[i]->id];
    for (const ir_op *in = op->regions[0]->first; in; in = in->next)
        if (p->op_layout[in->id])
            return p->op_layout[in->id];
    return anchor_default(p, op->operands[1]->type, 0);
}

const layout *layout_of_operand(layout_plan *p, const ir_op *op, uint32_t i, const layout *result) {
    const ir_value *x = op->operands[i];
    ir_value *targets[2];
    layout l;
    if (p->op_layout[op->id] || folds(op))
        return p->op_layout[op->id];
    if (layout_flow_targets(op, i, targets) > 0)
        return p->layout[targets[0]->id];
    if (op->opcode == OP_IF && i == 1)
        return layout_of_part(p, op);
    if (op->opcode == OP_HISTOGRAM)
        x = op->operands[0]; // the mask goes with it
    if (op->opcode == OP_PRINT || takes_as_it_comes(op, i))
        return p->layout[x->id] ? p->layout[x->id] : anchor_default(p, x->type, 0);
    if (!result)
        return NULL;
    if (op->opcode == OP_BROADCAST) {
        l = layout_broadcast_source(result, x->type.shape, op->results[0]->type.shape,
                                    x->type.rank);
    } else if (op->opcode == OP_PERMUTE) {
        const ir_attr *a = ir_find_attr(op, ATTR_ORDER);
        uint8_t order[IR_MAX_RANK];
        for (unsigned d = 0; d < x->type.rank; d++)
            order[d] = (uint8_t)a->ints[d];
        l = layout_permute_source(result, x->type.shape, x->type.rank, order);
    } else if (op->opcode == OP_HALF) {
        l = layout_join(result);
    } else if (op->opcode == OP_JOIN) {
        l = layout_join_source(result);
    } else {
        return result; // elementwise ops, reshape and flip
    }
    return ir_intern_layout(p->func, &l);
}

/// Ops whose result has the layout of their operands, or one that follows from it.
static bool passes_layout_on(const ir_op *op) {
    return ir_has_trait(op, ELEMENTWISE) || op->opcode == OP_JOIN || op->opcode == OP_FLIP;
}

/// Carries what stores want up to the values they are computed from, as far as no reduction or
/// loop lies between.
static void set_wants(layout_plan *p) {
    for (uint32_t o = p->num_ops; o-- > 0;) {
        const ir_op *op = p->ops[o];
        bool passes_on = passes_layout_on(op) || is_view_op(op);
        const layout *result = passes_on ? p->want[op->results[0]->id] : NULL;
        for (uint32_t i = 0; i < op->num_operands; i++) {
            const ir_value *x = op->operands[i];
            bool asks = op->opcode == OP_STORE ? p->op_layout[o] != NULL : result != NULL;
            if (asks && x && p->kind[x->id] >= VALUE_VIEW && !p->want[x->id])
                p->want[x->id] = layout_of_operand(p, op, i, result);
        }
    }
}

// --- deciding

static void decide(layout_plan *p, const ir_value *v, const layout *l) {
    if (!l || p->layout[v->id] || p->kind[v->id] < VALUE_VIEW)
        return;
    p->layout[v->id] = l;
    p->changed = true;
    const ir_value *partner = partner_of(v);
    if (partner)
        p->layout[partner->id] = l;
}

/// A 1-D load that only serves to be broadcast is loaded as the 2-D user wants it, copies and all.
static bool is_adaptable_load(const layout_plan *p, const ir_op *op) {
    return op->opcode == OP_LOAD && p->group[op->id] && !p->feeds_more[op->results[0]->id] &&
           !ir_get_flag(op, ATTR_VOLATILE);
}

static bool is_cheap_access(const layout_plan *p, const ir_op *op, const layout *l) {
    uint32_t most = 2 * anchor_access_count(p, op, p->group[op->id]->layout);
    return anchor_access_count(p, op, l) <= (most > FEW_ACCESSES ? most : FEW_ACCESSES);
}

/// True if at most one dimension is longer than 1.
static bool is_one_dimensional(ir_type t) {
    unsigned longer = 0;
    for (unsigned d = 0; d < t.rank; d++)
        longer += t.shape[d] > 1;
    return longer <= 1;
}

/// What comes out of a reduction as a 1-D tile is stored as it lies: one copy of each element. So
/// is any tile that lies as well for the store as the store itself would have it.
static void adapt_store(layout_plan *p, const ir_op *op) {
    bool stores = op->opcode == OP_STORE || op->opcode == OP_ATOMIC_RMW;
    if (!stores || (op->num_results && p->layout[op->results[0]->id]))
        return;
    const ir_value *v = op->operands[1];
    if (!p->layout[v->id])
        return;
    const layout *l = anchor_arrange(p, op, p->layout[v->id]);
    if ((is_one_dimensional(v->type) && is_cheap_access(p, op, l)) || anchor_is_as_good(p, op, l))
        p->op_layout[op->id] = l;
}

/// A load takes the layout of the store that it is for, if that is as good: the two differ where a
/// join or a split lies between, with which a thread holds twice or half as many neighbours.
static void adapt_loads(layout_plan *p) {
    for (uint32_t o = 0; o < p->num_ops; o++) {
        const ir_op *op = p->ops[o];
        if (op->opcode != OP_LOAD || !p->group[o] || is_adaptable_load(p, op))
            continue;
        const ir_value *v = op->results[0];
        const layout *want = p->want[v->id];
        if (want && !p->reduced[v->id] && anchor_is_as_good(p, op, want))
            p->op_layout[o] = want;
    }
}

/// A reduction works in the layout of its first operand that has one, or, if `settle`, a default.
/// Its results have what is left of that layout, whatever their users want. So does a scan, whose
/// results keep the layout.
static void decide_fold(layout_plan *p, const ir_op *op, bool settle) {
    ir_type t = op->operands[0]->type;
    unsigned axis = (unsigned)ir_get_int(op, ATTR_AXIS, 0);
    const layout *l = NULL;
    for (uint32_t i = 0; i < op->num_operands && !l; i++)
        l = p->layout[op->operands[i]->id];
    if (p->op_layout[op->id] || (!l && !settle))
        return;
    if (!l || !layout_axis_is_separable(l, t.shape, t.rank, axis))
        l = anchor_default(p, t, p->reduced[op->operands[0]->id]);
    p->op_layout[op->id] = l;
    p->changed = true;
    layout result = *l;
    if (op->opcode == OP_REDUCE)
        result = layout_reduce_result(l, t.shape, t.rank, axis);
    for (uint32_t i = 0; i < op->num_results; i++)
        if (ir_is_tile(op->results[i]->type))
            decide(p, op->results[i], ir_intern_layout(p->func, &result));
}

/// What follows from the layout of an operand: the one that the store further down wants, if there
/// is a choice, else of a computed one, before that of a view, which is as easily had in another
/// layout.
static const layout *inherited(layout_plan *p, const ir_op *op) {
    const layout *computed = NULL, *viewed = NULL, *want = p->want[op->results[0]->id];
    for (uint32_t i = 0; i < op->num_operands; i++) {
        const ir_value *x = op->operands[i];
        const layout *l = p->layout[x->id];
        if (l && want && l == layout_of_operand(p, op, i, want))
            return want;
        const layout **first = p->kind[x->id] == VALUE_NATIVE ? &computed : &viewed;
        if (!*first)
            *first = l;
    }
    const layout *l = computed ? computed : viewed;
    if (!l || op->opcode != OP_JOIN)
        return l;
    const ir_value *v = op->results[0];
    layout joined = layout_join(l);
    const layout *fresh = anchor_default(p, v->type, p->reduced[v->id]);
    if (layout_reg_count(&joined) > MOST_COPIES * layout_reg_count(fresh))
        return fresh;
    return ir_intern_layout(p->func, &joined);
}

static const layout *layout_of_view(layout_plan *p, const ir_op *op) {
    const ir_value *x = op->operands[0];
    const layout *l = p->layout[x->id];
    if (!l || op->opcode == OP_BROADCAST)
        return NULL;
    layout out = *l;
    if (op->opcode == OP_HALF) {
        out = layout_half(l);
    } else if (op->opcode == OP_PERMUTE) {
        const ir_attr *a = ir_find_attr(op, ATTR_ORDER);
        uint8_t order[IR_MAX_RANK];
        for (unsigned d = 0; d < x->type.rank; d++)
            order[d] = (uint8_t)a->ints[d];
        out = layout_permute(l, x->type.shape, x->type.rank, order);
    }
    return ir_intern_layout(p->func, &out);
}

/// Inline assembly has one layout for all operands and results: that of the first operand that has
/// one or, if `settle`, a default.
static void decide_asm(layout_plan *p, const ir_op *op, bool settle) {
    ir_type t = op->results[0]->type;
    const layout *l = NULL;
    for (uint32_t i = 0; i < op->num_operands && !l; i++)
        l = p->layout[op->operands[i]->id];
    if (!ir_is_tile(t) || p->op_layout[op->id] || (!l && !settle))
        return;
    p->op_layout[op->id] = l ? l : anchor_default(p, t, p->reduced[op->results[0]->id]);
    p->changed = true;
    for (uint32_t i = 0; i < op->num_results; i++)
        decide(p, op->results[i], p->op_layout[op->id]);
}

static void forward(layout_plan *p, const ir_op *op) {
    ir_value *targets[2];
    if (anchor_is_access(op)) {
        adapt_store(p, op);
        if (op->num_results && !is_adaptable_load(p, op))
            decide(p, op->results[0], p->op_layout[op->id]);
    } else if (folds(op)) {
        decide_fold(p, op, false);
    } else if (is_asm(op)) {
        decide_asm(p, op, false);
    } else if (op->num_results == 1 && is_view_op(op)) {
        decide(p, op->results[0], layout_of_view(p, op));
    } else if (op->num_results == 1 && passes_layout_on(op)) {
        decide(p, op->results[0], inherited(p, op));
    } else if (op->opcode == OP_GATHER) {
        decide(p, op->results[0], p->layout[op->operands[1]->id]);
    }
    for (uint32_t i = 0; i < op->num_operands; i++) {
        unsigned n = op->operands[i] ? layout_flow_targets(op, i, targets) : 0;
        if (n > 0)
            decide(p, targets[0], p->layout[op->operands[i]->id]);
    }
}

static void backward(layout_plan *p, const ir_op *op) {
    const layout *result = op->num_results == 1 ? p->layout[op->results[0]->id] : NULL;
    for (uint32_t i = 0; i < op->num_operands; i++) {
        const ir_value *x = op->operands[i];
        if (!x || p->kind[x->id] < VALUE_VIEW || p->layout[x->id] || op->opcode == OP_PRINT ||
            takes_as_it_comes(op, i) || (x->def && (folds(x->def) || is_asm(x->def))))
            continue;
        const layout *want = layout_of_operand(p, op, i, result);
        if (want && x->def && anchor_is_access(x->def)) { // an adaptable load
            if (!is_cheap_access(p, x->def, want))
                want = p->op_layout[x->def->id];
            p->op_layout[x->def->id] = want;
        }
        decide(p, x, want);
    }
}

/// Gives a native value that nothing has decided a default. A load's is what its access wants.
static void settle_value(layout_plan *p, const ir_value *v) {
    if (p->kind[v->id] != VALUE_NATIVE || p->layout[v->id])
        return;
    bool loaded = v->def && anchor_is_access(v->def);
    decide(p, v, loaded ? p->op_layout[v->def->id] : anchor_default(p, v->type, p->reduced[v->id]));
}

/// Settles the first open value, or all. Adaptable loads come last.
static void settle(layout_plan *p, bool all) {
    for (unsigned loads = 0; loads < 2; loads++) {
        for (uint32_t o = 0; o < p->num_ops && (all || !p->changed); o++) {
            const ir_op *op = p->ops[o];
            if (anchor_is_access(op) != (loads == 1))
                continue;
            if (folds(op))
                decide_fold(p, op, true);
            else if (is_asm(op))
                decide_asm(p, op, true);
            for (uint32_t i = 0; i < op->num_results; i++)
                settle_value(p, op->results[i]);
            for (uint32_t r = 0; r < op->num_regions; r++)
                for (uint32_t i = 0; i < op->regions[r]->num_args; i++)
                    settle_value(p, op->regions[r]->args[i]);
        }
    }
}

/// Assertions take their condition as it comes.
static void set_assert_layouts(layout_plan *p) {
    for (uint32_t o = 0; o < p->num_ops; o++) {
        const ir_op *op = p->ops[o];
        const ir_value *x = op->num_operands ? op->operands[0] : NULL;
        if ((op->opcode == OP_ASSERT || op->opcode == OP_ASSUME) && ir_is_tile(x->type))
            p->op_layout[o] = p->layout[x->id] ? p->layout[x->id] : anchor_default(p, x->type, 0);
    }
}

static void decide_all(layout_plan *p) {
    unsigned round = 0;
    do {
        p->changed = false;
        for (uint32_t o = 0; o < p->num_ops; o++)
            forward(p, p->ops[o]);
        for (uint32_t o = p->num_ops; o-- > 0;)
            backward(p, p->ops[o]);
        round++;
        if (!p->changed || round > MAX_ROUNDS)
            settle(p, round > MAX_ROUNDS);
    } while (p->changed);
    set_assert_layouts(p);
}

// --- the pass

static void collect_op(ir_op *op, void *ctx) {
    layout_plan *p = ctx;
    p->ops[p->num_ops++] = op;
}

static bool has_layouts(const layout_plan *p) {
    for (uint32_t o = 0; o < p->num_ops; o++)
        for (uint32_t i = 0; i < p->ops[o]->num_results; i++)
            if (p->ops[o]->results[i]->layout)
                return true;
    return false;
}

bool layout_check_registers(const ir_func *f, const ir_value *v, src_range at) {
    uint32_t registers = v->layout ? layout_reg_count(v->layout) : 0;
    if (registers <= MAX_REGISTERS)
        return true;
    uint32_t warps = f->num_warps * (registers / MAX_REGISTERS);
    bool by_warps = warps <= MOST_WARPS && !layout_get_replication(v->layout).reg_mask;
    arena *a = f->module->arena;
    const char *advice = by_warps ? sv_format(a, "num_warps = %u or more, ", warps).data : "";
    diag_error(
        f->module->diag, at,
        "%s takes %u registers in each of %u threads, more than %d: use %sa smaller tile, or "
        "a loop over parts of it",
        ir_type_string(a, v->type), registers, f->num_ctas * f->num_warps << LAYOUT_LANE_BITS,
        MAX_REGISTERS, advice);
    return false;
}

/// Reports the first tile that is too large for its threads.
static void check_sizes(const layout_plan *p) {
    for (uint32_t o = 0; o < p->num_ops; o++)
        for (uint32_t i = 0; p->ops[o]->block && i < p->ops[o]->num_results; i++)
            if (!layout_check_registers(p->func, p->ops[o]->results[i], p->ops[o]->range))
                return;
}

bool pass_layout(ir_func *f) {
    arena *a = f->module->arena;
    axis_analysis *axis = axis_analyze(f, a); // numbers values and ops
    layout_plan p = {.func = f, .arena = a, .axis = axis};
    p.ops = ARENA_ARRAY(a, ir_op *, f->num_ops);
    p.kind = ARENA_ARRAY(a, value_kind, f->num_values);
    p.layout = ARENA_ARRAY(a, const layout *, f->num_values);
    p.want = ARENA_ARRAY(a, const layout *, f->num_values);
    p.reduced = ARENA_ARRAY(a, unsigned, f->num_values);
    p.feeds_more = ARENA_ARRAY(a, bool, f->num_values);
    p.op_layout = ARENA_ARRAY(a, const layout *, f->num_ops);
    p.group = ARENA_ARRAY(a, anchor_group *, f->num_ops);
    ir_walk(f->body, collect_op, &p);
    if (has_layouts(&p))
        return false;
    set_kinds(&p);
    set_feeds_more(&p);
    anchor_find(&p);
    set_wants(&p);
    adapt_loads(&p);
    decide_all(&p);
    anchor_drop_useless_hints(&p);
    layout_rewrite(&p);
    check_sizes(&p);
    return true;
}
