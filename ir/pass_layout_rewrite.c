// Layout assignment, last part: makes the function what the plan says. A walk from the end to the
// start gathers, for every value, the layouts in which it is asked for; users come before their
// operands, so a pure chain passes on what it is asked. A walk from the start then makes a copy of
// each op of such a chain per layout, in its place, and puts conversions of native values before
// their first user, at the nesting level of the value itself: it then serves all later users too,
// and loads are not waited for sooner than need be.
#include "ir/pass_layout.h"

/// A value in one of the layouts it is asked for.
typedef struct version {
    const layout *layout;
    ir_value *value; ///< NULL until it is made
    struct version *next;
} version;

typedef struct rewriter {
    layout_plan *plan;
    version **versions; ///< by value id
} rewriter;

static version *find_version(const rewriter *r, const ir_value *v, const layout *l) {
    version *it = r->versions[v->id];
    while (it && it->layout != l)
        it = it->next;
    return it;
}

static void ask(rewriter *r, const ir_value *v, const layout *l) {
    if (find_version(r, v, l))
        return;
    version *n = ARENA_NEW(r->plan->arena, version);
    n->layout = l;
    version **link = &r->versions[v->id];
    while (*link)
        link = &(*link)->next;
    *link = n;
}

static void ask_operands(rewriter *r, const ir_op *op, const layout *result) {
    for (uint32_t i = 0; i < op->num_operands; i++)
        if (op->operands[i] && ir_is_tile(op->operands[i]->type))
            ask(r, op->operands[i], layout_of_operand(r->plan, op, i, result));
}

static bool follows_users(const rewriter *r, const ir_op *op) {
    value_kind kind = op->num_results ? r->plan->kind[op->results[0]->id] : VALUE_NATIVE;
    return kind == VALUE_REMADE || kind == VALUE_VIEW;
}

/// The layout of an op's only result, for ops that compute in it.
static const layout *native_layout(const rewriter *r, const ir_op *op) {
    return op->num_results == 1 ? r->plan->layout[op->results[0]->id] : NULL;
}

/// True if nobody asks for the tiles that a pure op makes.
static bool is_unused(const rewriter *r, const ir_op *op) {
    bool unused = ir_has_trait(op, PURE) && op->num_results > 0;
    for (uint32_t i = 0; i < op->num_results; i++)
        unused = unused && ir_is_tile(op->results[i]->type) && !r->versions[op->results[i]->id];
    return unused;
}

static void gather(rewriter *r, ir_op *op) {
    if (is_unused(r, op)) {
        ir_remove(op);
    } else if (follows_users(r, op)) {
        for (version *it = r->versions[op->results[0]->id]; it; it = it->next)
            ask_operands(r, op, it->layout);
    } else {
        ask_operands(r, op, native_layout(r, op));
    }
}

/// The op around `user`, or user itself, that stands in block b.
static ir_op *ancestor_in(const ir_block *b, ir_op *user) {
    while (user->block != b)
        user = user->block->parent;
    return user;
}

static ir_value *convert(rewriter *r, ir_value *v, const layout *l, ir_op *user) {
    ir_op *before = ancestor_in(v->block, user);
    ir_builder b = {r->plan->func, before->block, before, user->range};
    ir_value *out = ir_create_value(&b, OP_CONVERT_LAYOUT, &v, 1, v->type);
    out->layout = l;
    out->name = v->name;
    return out;
}

/// The version of v in layout l, for `user`.
static ir_value *obtain(rewriter *r, ir_value *v, const layout *l, ir_op *user) {
    if (r->plan->kind[v->id] == VALUE_NATIVE && r->plan->layout[v->id] == l)
        return v;
    version *it = find_version(r, v, l);
    if (!it->value)
        it->value = convert(r, v, l, user);
    return it->value;
}

/// Replaces the operands, given as `from`, by their versions for a result in layout l.
static void obtain_operands(rewriter *r, ir_op *op, ir_value *const *from, ir_op *original,
                            const layout *l) {
    for (uint32_t i = 0; i < op->num_operands; i++) {
        ir_value *x = from[i];
        if (x && ir_is_tile(x->type))
            op->operands[i] = obtain(r, x, layout_of_operand(r->plan, original, i, l), op);
    }
}

static ir_op *clone_before(ir_op *op, ir_op *before, ir_func *f) {
    ir_builder b = {f, op->block, before, op->range};
    ir_type type = op->results[0]->type;
    ir_op *copy = ir_create(&b, op->opcode, op->operands, op->num_operands, &type, 1);
    arena *a = f->module->arena;
    copy->attrs = ARENA_ARRAY(a, ir_attr, op->num_attrs);
    copy->num_attrs = op->num_attrs;
    for (uint32_t i = 0; i < op->num_attrs; i++)
        copy->attrs[i] = op->attrs[i];
    copy->results[0]->name = op->results[0]->name;
    return copy;
}

/// Makes an op that follows its users once per layout. The first one is the op itself.
static void make_versions(rewriter *r, ir_op *op) {
    layout_plan *p = r->plan;
    ir_value *v = op->results[0];
    ir_op *next = op->next;
    ir_value **from = ARENA_ARRAY(p->arena, ir_value *, op->num_operands);
    for (uint32_t i = 0; i < op->num_operands; i++)
        from[i] = op->operands[i];
    for (version *it = r->versions[v->id]; it; it = it->next) {
        bool first = it == r->versions[v->id];
        ir_op *made = first ? op : clone_before(op, next, p->func);
        obtain_operands(r, made, from, op, it->layout);
        it->value = made->results[0];
        it->value->layout = it->layout;
    }
}

static void rewrite_op(rewriter *r, ir_op *op) {
    layout_plan *p = r->plan;
    for (uint32_t g = 0; g < op->num_regions; g++)
        for (uint32_t i = 0; i < op->regions[g]->num_args; i++)
            op->regions[g]->args[i]->layout = p->layout[op->regions[g]->args[i]->id];
    if (follows_users(r, op)) {
        make_versions(r, op);
        return;
    }
    for (uint32_t i = 0; i < op->num_results; i++)
        op->results[i]->layout = p->layout[op->results[i]->id];
    obtain_operands(r, op, op->operands, op, native_layout(r, op));
}

void layout_rewrite(layout_plan *p) {
    rewriter r = {.plan = p};
    r.versions = ARENA_ARRAY(p->arena, version *, p->func->num_values);
    for (uint32_t o = p->num_ops; o-- > 0;)
        gather(&r, p->ops[o]);
    for (uint32_t o = 0; o < p->num_ops; o++)
        if (p->ops[o]->block)
            rewrite_op(&r, p->ops[o]);
}
