// Axis info: how regular the values of integer and pointer tiles are, from argument hints down
// (axis_info.h says what the facts mean, axis_transfer.c what each op does to them). The walk is in
// program order, so operands are known before their users. A loop's carried values start from
// their initial values alone and are weakened by what the body yields; whole sweeps over the
// function are repeated until nothing weakens.
#include "ir/axis_transfer.h"

enum {
    MAX_SWEEPS = 16,   ///< after so many, carried values that still change are given up
    ROOT_UNKNOWN = -1, ///< a pointer of no parameter or of several
};

struct axis_analysis {
    const ir_func *func;
    axis_info *infos; ///< by value id
    int *roots;       ///< by value id: the parameter that a pointer derives from
    bool *seen;       ///< by value id: carried values that have been given a first value
    bool changed;     ///< a carried value was weakened in this sweep
    bool give_up;     ///< weaken carried values all the way at once
};

static bool same_info(const axis_info *a, const axis_info *b, ir_type t) {
    unsigned dims = t.rank ? t.rank : 1;
    for (unsigned d = 0; d < dims; d++) {
        if (a->contiguity[d] != b->contiguity[d] || a->divisibility[d] != b->divisibility[d] ||
            a->constancy[d] != b->constancy[d])
            return false;
    }
    return a->is_const == b->is_const && a->value == b->value && a->non_negative == b->non_negative;
}

// --- the walk

static const axis_info *info_of(const axis_analysis *an, const ir_value *v) {
    return &an->infos[v->id];
}

/// The parameter that the result of a pure op derives from, if it is a pointer.
static int root_of_result(const axis_analysis *an, const ir_op *op) {
    const ir_value *from = op->num_operands ? op->operands[op->opcode == OP_SELECT] : NULL;
    if (!from || !ir_is_pointer(op->results[0]->type) || !ir_is_pointer(from->type))
        return ROOT_UNKNOWN;
    int root = an->roots[from->id];
    if (op->opcode == OP_SELECT && an->roots[op->operands[2]->id] != root)
        return ROOT_UNKNOWN;
    if (op->opcode == OP_JOIN && an->roots[op->operands[1]->id] != root)
        return ROOT_UNKNOWN;
    return root;
}

static void transfer_op(axis_analysis *an, const ir_op *op) {
    const ir_value *v = op->results[0];
    const axis_info *in[AXIS_MAX_OPERANDS] = {NULL};
    for (uint32_t i = 0; i < op->num_operands && i < AXIS_MAX_OPERANDS; i++)
        in[i] = info_of(an, op->operands[i]);
    an->infos[v->id] = axis_transfer(op, in);
    an->roots[v->id] = root_of_result(an, op);
}

static void set_from(axis_analysis *an, const ir_value *v, const ir_value *from) {
    an->infos[v->id] = *info_of(an, from);
    an->roots[v->id] = an->roots[from->id];
}

/// A value that several edges of control flow lead to: weakened by one of them.
static void flow_into(axis_analysis *an, const ir_value *v, const ir_value *from) {
    if (!an->seen[v->id]) {
        an->seen[v->id] = true;
        set_from(an, v, from);
        return;
    }
    axis_info met = axis_join(info_of(an, v), info_of(an, from), v->type);
    int root = an->roots[v->id] == an->roots[from->id] ? an->roots[v->id] : ROOT_UNKNOWN;
    if (same_info(&met, info_of(an, v), v->type) && root == an->roots[v->id])
        return;
    an->infos[v->id] = an->give_up ? axis_unknown() : met;
    an->roots[v->id] = root;
    an->changed = true;
}

static void enter_for(axis_analysis *an, const ir_op *op) {
    const ir_block *body = op->regions[0];
    const axis_info *lo = info_of(an, op->operands[0]), *hi = info_of(an, op->operands[1]);
    const axis_info *step = info_of(an, op->operands[2]);
    axis_info iv = axis_unknown();
    iv.divisibility[0] = min_u64(lo->divisibility[0], step->divisibility[0]);
    bool counts_down = step->is_const && step->value < 0;
    iv.non_negative = lo->non_negative && (counts_down ? hi->non_negative : step->non_negative);
    an->infos[body->args[0]->id] = iv;
    an->roots[body->args[0]->id] = ROOT_UNKNOWN;
    for (uint32_t i = 1; i < body->num_args; i++)
        flow_into(an, body->args[i], op->operands[2 + i]);
}

/// The end of a region hands its values on.
static void leave_region(axis_analysis *an, const ir_op *end) {
    const ir_op *op = end->block->parent;
    if (op->opcode == OP_FOR) {
        for (uint32_t i = 0; i < op->num_results; i++) {
            flow_into(an, op->regions[0]->args[i + 1], end->operands[i]);
            set_from(an, op->results[i], op->regions[0]->args[i + 1]);
        }
    } else if (op->opcode == OP_IF) {
        // Each sweep meets the two branches afresh.
        bool first = end->block == op->regions[0];
        for (uint32_t i = 0; i < op->num_results; i++) {
            bool changed = an->changed;
            an->seen[op->results[i]->id] = !first;
            flow_into(an, op->results[i], end->operands[i]);
            an->changed = changed;
        }
    } else if (op->opcode == OP_WHILE && end->opcode == OP_CONDITION) {
        for (uint32_t i = 0; i < op->num_results; i++) {
            set_from(an, op->regions[1]->args[i], end->operands[i + 1]);
            set_from(an, op->results[i], end->operands[i + 1]);
        }
    } else if (op->opcode == OP_WHILE) {
        for (uint32_t i = 0; i < op->regions[0]->num_args; i++)
            flow_into(an, op->regions[0]->args[i], end->operands[i]);
    }
}

static void visit(ir_op *op, void *ctx) {
    axis_analysis *an = ctx;
    if (op->opcode == OP_FOR) {
        enter_for(an, op);
    } else if (op->opcode == OP_WHILE) {
        for (uint32_t i = 0; i < op->num_operands; i++)
            flow_into(an, op->regions[0]->args[i], op->operands[i]);
    } else if (ir_has_trait(op, TERMINATOR) && op->block->parent) {
        leave_region(an, op);
    } else if (op->num_results == 1 && op->num_regions == 0 && ir_has_trait(op, PURE)) {
        transfer_op(an, op);
    }
    // Results of loads, atomics and reductions stay at know_nothing.
}

static axis_info info_of_param(const ir_param *p, ir_type t) {
    if (p->is_one && dtype_is_int(t.elem))
        return axis_constant(t, 1);
    return axis_uniform(t, p->divisibility ? p->divisibility : 1);
}

axis_analysis *axis_analyze(ir_func *f, arena *a) {
    uint32_t n = ir_number_values(f);
    axis_analysis *an = ARENA_NEW(a, axis_analysis);
    an->func = f;
    an->infos = ARENA_ARRAY(a, axis_info, n);
    an->roots = ARENA_ARRAY(a, int, n);
    an->seen = ARENA_ARRAY(a, bool, n);
    for (uint32_t i = 0; i < n; i++) {
        an->infos[i] = axis_unknown();
        an->roots[i] = ROOT_UNKNOWN;
    }
    for (uint32_t i = 0; i < f->body->num_args; i++) {
        const ir_value *v = f->body->args[i];
        an->infos[v->id] = info_of_param(&f->params[i], v->type);
        an->roots[v->id] = ir_is_pointer(v->type) ? (int)i : ROOT_UNKNOWN;
    }
    unsigned sweeps = 0;
    do {
        an->changed = false;
        an->give_up = ++sweeps > MAX_SWEEPS;
        ir_walk(f->body, visit, an);
    } while (an->changed);
    return an;
}

const axis_info *axis_get(const axis_analysis *an, const ir_value *v) { return info_of(an, v); }

int axis_pointer_root(const axis_analysis *an, const ir_value *v) { return an->roots[v->id]; }
