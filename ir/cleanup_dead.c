// Dead code, found from the other end: what has an effect is alive, and so is all it needs. The
// search goes value by value through loops and ifs, so that one carried value can die while the
// next one lives; what is carried for nothing is then cut out of operands, arguments, yields and
// results. A `for` or `if` with nothing alive in it goes as a whole. A `while` always stays: it
// might never end.
#include "ir/cleanup.h"

typedef struct liveness {
    arena *arena;
    bool *value_live, *op_live; // by id
    VEC(ir_value *) work;       // values found alive whose sources are still to be marked
    bool changed;
} liveness;

static void mark_value(liveness *l, ir_value *v) {
    if (!v || l->value_live[v->id])
        return;
    l->value_live[v->id] = true;
    VEC_PUSH(l->arena, l->work, v);
}

static void mark_all(liveness *l, const ir_op *op, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++)
        mark_value(l, op->operands[i]);
}

// How many operands an op needs whatever becomes of its results: all of a plain op's, but not
// what control flow carries.
static uint32_t own_operands(const ir_op *op) {
    bool carries = op->num_regions > 0 && !ir_has_trait(op, ISOLATED);
    bool ends = ir_has_trait(op, TERMINATOR) && op->block->parent &&
                !ir_has_trait(op->block->parent, ISOLATED);
    return carries || ends ? ir_get_arity(op->opcode).most : op->num_operands;
}

// The op stays: with the op it is in, and with the terminators of its regions.
static void mark_op(liveness *l, ir_op *op) {
    for (; op && !l->op_live[op->id]; op = op->block->parent) {
        l->op_live[op->id] = true;
        mark_all(l, op, 0, own_operands(op));
        for (uint32_t r = 0; r < op->num_regions; r++) {
            ir_op *end = op->regions[r]->last;
            l->op_live[end->id] = true;
            mark_all(l, end, 0, own_operands(end));
        }
    }
}

// A value handed around by control flow is alive: so is what it comes from.
static void mark_carried(liveness *l, ir_op *op, bool is_result, uint32_t region, uint32_t i) {
    ir_op *end = op->regions[0]->last;
    if (op->opcode == OP_IF) {
        mark_value(l, end->operands[i]);
        mark_value(l, op->regions[1]->last->operands[i]);
    } else if (op->opcode == OP_FOR) {
        if (!is_result && i == 0)
            return; // the induction variable
        i -= !is_result;
        mark_value(l, op->operands[3 + i]);
        mark_value(l, end->operands[i]);
        mark_value(l, op->regions[0]->args[1 + i]); // the slot is one for all four
        mark_value(l, op->results[i]);
    } else if (op->opcode == OP_WHILE && (is_result || region == 1)) {
        mark_value(l, end->operands[1 + i]);
    } else if (op->opcode == OP_WHILE) {
        mark_value(l, op->operands[i]);
        mark_value(l, op->regions[1]->last->operands[i]);
    }
}

static void mark_sources(liveness *l, ir_value *v) {
    ir_op *op = v->def ? v->def : v->block->parent;
    if (!op)
        return; // a parameter
    mark_op(l, op);
    if (op->num_regions > 0 && !ir_has_trait(op, ISOLATED))
        mark_carried(l, op, v->def != NULL, v->block == op->regions[0] ? 0 : 1, v->index);
}

static void mark_root(ir_op *op, void *ctx) {
    bool in_region = op->block->parent != NULL;
    bool root = ir_has_trait(op, TERMINATOR) ? !in_region : ir_has_trait(op, EFFECT | WRITES);
    if (root || (ir_has_trait(op, READS) && ir_get_flag(op, ATTR_VOLATILE)))
        mark_op(ctx, op);
}

// --- cutting out

// Keeps the operands from `first` on whose flag in `keep` is set.
static void keep_operands(ir_op *op, uint32_t first, const bool *keep) {
    uint32_t n = first;
    for (uint32_t i = first; i < op->num_operands; i++)
        if (keep[i - first])
            op->operands[n++] = op->operands[i];
    op->num_operands = n;
}

static uint32_t keep_values(ir_value **values, uint32_t num, uint32_t first, const bool *keep) {
    uint32_t n = first;
    for (uint32_t i = first; i < num; i++) {
        if (!keep[i - first])
            continue;
        values[n] = values[i];
        values[n]->index = n;
        n++;
    }
    return n;
}

// Which of the values are alive; *all is cleared if one is not.
static bool *live_flags(liveness *l, ir_value *const *values, uint32_t n, bool *all) {
    bool *flags = ARENA_ARRAY(l->arena, bool, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        flags[i] = l->value_live[values[i]->id];
        *all = *all && flags[i];
    }
    return flags;
}

static void cut_while(liveness *l, ir_op *op) {
    ir_block *before = op->regions[0], *body = op->regions[1];
    bool all = true;
    bool *keep_in = live_flags(l, before->args, before->num_args, &all);
    bool *keep_out = live_flags(l, op->results, op->num_results, &all);
    for (uint32_t j = 0; j < op->num_results; j++)
        keep_out[j] = keep_out[j] || l->value_live[body->args[j]->id];
    keep_operands(op, 0, keep_in);
    keep_operands(body->last, 0, keep_in);
    before->num_args = keep_values(before->args, before->num_args, 0, keep_in);
    keep_operands(before->last, 1, keep_out);
    body->num_args = keep_values(body->args, body->num_args, 0, keep_out);
    op->num_results = keep_values(op->results, op->num_results, 0, keep_out);
}

static void cut_carried(liveness *l, ir_op *op) {
    bool all = true;
    if (op->opcode == OP_WHILE) {
        uint32_t size = op->num_operands + op->num_results;
        cut_while(l, op);
        l->changed = l->changed || size != op->num_operands + op->num_results;
        return;
    }
    bool *keep = live_flags(l, op->results, op->num_results, &all);
    if (all || (op->opcode != OP_FOR && op->opcode != OP_IF))
        return;
    l->changed = true;
    for (uint32_t r = 0; r < op->num_regions; r++)
        keep_operands(op->regions[r]->last, 0, keep);
    if (op->opcode == OP_FOR) {
        ir_block *body = op->regions[0];
        keep_operands(op, 3, keep);
        body->num_args = keep_values(body->args, body->num_args, 1, keep);
    }
    op->num_results = keep_values(op->results, op->num_results, 0, keep);
}

static void cut(ir_op *op, void *ctx) {
    liveness *l = ctx;
    if (!l->op_live[op->id]) {
        ir_remove(op);
        l->changed = true;
    } else if (op->num_regions > 0 && !ir_has_trait(op, ISOLATED)) {
        cut_carried(l, op);
    }
}

bool cleanup_dead_code(ir_func *f) {
    liveness l = {.arena = f->module->arena};
    ir_number_values(f);
    l.value_live = ARENA_ARRAY(l.arena, bool, f->num_values + 1);
    l.op_live = ARENA_ARRAY(l.arena, bool, f->num_ops + 1);
    ir_walk(f->body, mark_root, &l);
    while (l.work.len > 0)
        mark_sources(&l, l.work.data[--l.work.len]);
    ir_walk(f->body, cut, &l);
    return l.changed;
}
