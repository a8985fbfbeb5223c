// Choices made at run time. Both arms of an `if` are lowered from the same names into a region
// each; then every name whose binding differs between the two ends becomes a result of the `if`
// op. An arm that has returned does not take part: its names are dead, and what follows the `if`
// is lowered inside the other arm, so that most early returns need no flag. Only where it is not
// known whether an arm has returned does a `returned` flag guard the rest (lower_rest). `continue`
// goes the same way, but for the names: they live on in the next iteration.
#include "frontend/scope.h"
#include "frontend/semantics.h"

// --- merging names

/// One run-time value that the arms yield.
typedef struct merged_leaf {
    ir_value *from[2]; ///< NULL: no matter, the arm has returned
    sv name;
} merged_leaf;

typedef struct merge {
    lowering *lo;
    fork *fork;
    VEC(merged_leaf) leaves;
    sv name;                ///< of the variable being merged
    const binding *ends[2]; ///< its bindings
    bool in_block;          ///< at the entries of a block pointer or descriptor, which are i64
    unsigned one;           ///< the arm whose value is taken, in take_leaf
} merge;

/// A value whose ir is the merged leaf of that index once the op exists: see fill_leaf.
static value placeholder(merge *m, ir_value *from0, ir_value *from1) {
    value v = {.kind = VALUE_IR};
    v.i = m->leaves.len;
    VEC_PUSH(m->lo->arena, m->leaves, (merged_leaf){{from0, from1}, m->name});
    return v;
}

/// New ops go to the end of an arm; where selects are made, all is one block.
static void go_to_end(lowering *lo, const fork *f, unsigned arm) {
    if (f->by_select)
        return;
    lo->b.block = f->arms[arm].block;
    lo->b.before = NULL;
}

/// Materializes a number at the end of an arm.
static value materialize_in(merge *m, unsigned arm, value v) {
    lowering *lo = m->lo;
    ir_builder saved = lo->b;
    go_to_end(lo, m->fork, arm);
    v = sem_materialize(lo, v, m->fork->range);
    if (m->in_block && v.kind == VALUE_IR && dtype_is_int(v.ir->type.elem))
        v.ir = sem_cast_ir(lo, v.ir, DT_I64);
    lo->b = saved;
    return v;
}

static value report_mismatch(merge *m, const value *x, const value *y) {
    lowering *lo = m->lo;
    const char *left = value_describe(lo->arena, x), *right = value_describe(lo->arena, y);
    if (sv_equal(m->name, SCOPE_VALUE))
        return lower_error(
            lo, m->fork->range,
            "the two values of this conditional expression differ: %s and %s; convert "
            "one, or choose by tl.where",
            left, right);
    if (sv_equal(m->name, SCOPE_RESULT))
        lower_error(lo, m->ends[1]->where, "'%" SV_FMT "' returns %s here, but %s on another path",
                    SV_ARG(lo->frames->func->name), right, left);
    else
        lower_error(lo, m->fork->range,
                    "'%" SV_FMT "' is %s after one branch of this 'if', but %s after the other; "
                    "convert one with .to(), or use two names",
                    SV_ARG(m->name), left, right);
    for (unsigned i = 0; i < 2; i++)
        if (m->ends[i]->where.file)
            diag_note(lo->diag, m->ends[i]->where, "%s comes from here", i ? right : left);
    return value_poison();
}

static value merge_values(merge *m, const value *x, const value *y);

/// Merges what is inside two values of the same kind: elements, or the object of a method.
static value merge_trees(merge *m, const value *x, const value *y) {
    value v = *x;
    v.items = ARENA_ARRAY(m->lo->arena, value, x->num_items + 1);
    for (uint32_t i = 0; i < x->num_items; i++) {
        m->in_block = value_is_block(x);
        v.items[i] = merge_values(m, &x->items[i], &y->items[i]);
        m->in_block = false;
        if (v.items[i].kind == VALUE_POISON)
            return value_poison();
    }
    if (x->self) {
        v.self = ARENA_NEW(m->lo->arena, value);
        *v.self = merge_values(m, x->self, y->self);
    }
    return v;
}

static value merge_values(merge *m, const value *x, const value *y) {
    if (x->kind == VALUE_POISON || y->kind == VALUE_POISON)
        return value_poison();
    if (value_same(x, y))
        return *x;
    bool numbers =
        (value_is_number(x) || x->kind == VALUE_IR) && (value_is_number(y) || y->kind == VALUE_IR);
    if (numbers) {
        value a = materialize_in(m, 0, *x), b = materialize_in(m, 1, *y);
        if (a.kind != VALUE_IR || b.kind != VALUE_IR)
            return value_poison();
        if (!ir_type_equal(a.ir->type, b.ir->type))
            return report_mismatch(m, &a, &b);
        value v = placeholder(m, a.ir, b.ir);
        v.range = x->range;
        v.defined = x->defined;
        return v;
    }
    bool is_method = (x->kind == VALUE_FUNC || x->kind == VALUE_BUILTIN) && x->self;
    bool is_tree = x->kind == VALUE_TUPLE || value_is_block(x) || is_method;
    return is_tree && value_same_form(x, y) ? merge_trees(m, x, y) : report_mismatch(m, x, y);
}

/// Takes a value of arm m->one, where the other arm has none that matters.
static ir_value *take_leaf(void *ctx, ir_value *leaf) {
    merge *m = ctx;
    ir_value *from[2] = {NULL, NULL};
    from[m->one] = leaf;
    placeholder(m, from[0], from[1]);
    return leaf;
}

/// Whether an arm's binding of a name still matters at its end.
static bool is_live(const merge *m, unsigned arm) {
    flow how = m->fork->arms[arm].flow;
    if (sv_equal(m->name, SCOPE_RESULT))
        return how == FLOW_RETURN || (how == FLOW_MAYBE && !m->fork->in_loop);
    return how != FLOW_RETURN && !m->fork->ends_function;
}

/// What to do with one slot: the binding after the `if`. *first is its first leaf.
static const binding *merge_slot(merge *m, uint32_t slot, bool *takes) {
    fork *f = m->fork;
    const binding *start = scope_state_get(&f->start, slot);
    *takes = false;
    for (unsigned i = 0; i < 2; i++)
        m->ends[i] = scope_state_get(&f->arms[i].end, slot);
    bool live[2] = {is_live(m, 0), is_live(m, 1)};
    if (!live[0] && !live[1])
        return start;
    if (live[0] != live[1]) {
        m->one = live[1];
        const binding *b = m->ends[m->one];
        *takes = b && b != start && b->state == BINDING_VALUE;
        return b;
    }
    const binding *x = m->ends[0], *y = m->ends[1];
    if (x == y)
        return x;
    const binding *known = x ? x : y;
    binding *b = ARENA_NEW(m->lo->arena, binding);
    *b = *known;
    if (!x || !y || x->state != BINDING_VALUE || y->state != BINDING_VALUE) {
        if (b->value.kind != VALUE_POISON) // else its error has been reported
            b->state = BINDING_PARTIAL;
        return b;
    }
    b->value = merge_values(m, &x->value, &y->value);
    return b;
}

// --- the op

/// Gives both arms what the other yields and nobody will read.
static void fill_dummies(merge *m) {
    lowering *lo = m->lo;
    ir_builder saved = lo->b;
    for (uint32_t i = 0; i < m->leaves.len; i++)
        for (unsigned arm = 0; arm < 2; arm++) {
            merged_leaf *leaf = &m->leaves.data[i];
            if (leaf->from[arm])
                continue;
            go_to_end(lo, m->fork, arm);
            leaf->from[arm] =
                m->fork->by_select ? leaf->from[!arm] : lower_dummy(lo, leaf->from[!arm]->type);
        }
    lo->b = saved;
}

/// Makes the `if` op, or one select per leaf; gives the merged values.
static ir_value **make_if(merge *m) {
    lowering *lo = m->lo;
    fork *f = m->fork;
    uint32_t n = m->leaves.len;
    ir_value **results = ARENA_ARRAY(lo->arena, ir_value *, n + 1);
    if (f->by_select) {
        for (uint32_t i = 0; i < n; i++)
            results[i] =
                ir_select(&lo->b, f->cond, m->leaves.data[i].from[0], m->leaves.data[i].from[1]);
        return results;
    }
    ir_type *types = ARENA_ARRAY(lo->arena, ir_type, n + 1);
    ir_value **yields = ARENA_ARRAY(lo->arena, ir_value *, n + 1);
    ir_builder saved = lo->b;
    for (unsigned arm = 0; arm < 2; arm++) {
        for (uint32_t i = 0; i < n; i++)
            yields[i] = m->leaves.data[i].from[arm];
        go_to_end(lo, f, arm);
        ir_yield(&lo->b, yields, n);
    }
    lo->b = saved;
    for (uint32_t i = 0; i < n; i++)
        types[i] = yields[i]->type;
    ir_op *op = ir_create(&lo->b, OP_IF, &f->cond, 1, types, n);
    for (unsigned arm = 0; arm < 2; arm++) {
        op->regions[arm] = f->arms[arm].block;
        f->arms[arm].block->parent = op;
    }
    for (uint32_t i = 0; i < n; i++) {
        results[i] = op->results[i];
        if (m->leaves.data[i].name.len && m->leaves.data[i].name.data[0] != '$')
            results[i]->name = m->leaves.data[i].name;
    }
    return results;
}

/// Puts the results where placeholders stand, walking the trees in the order they were made.
static void fill_placeholders(value *v, ir_value **results) {
    if (v->kind == VALUE_IR && !v->ir) {
        v->ir = results[v->i];
        v->i = 0;
    }
    for (uint32_t i = 0; i < v->num_items; i++)
        fill_placeholders(&v->items[i], results);
    if (v->self)
        fill_placeholders(v->self, results);
}

static ir_value *next_result(void *ctx, ir_value *leaf) {
    (void)leaf;
    ir_value ***next = ctx;
    return *(*next)++;
}

/// Whether `returned` is known after both arms; if not, one more leaf carries it (unless nothing
/// follows that could ask).
static flow merge_flow(merge *m) {
    lowering *lo = m->lo;
    flow how[2] = {m->fork->arms[0].flow, m->fork->arms[1].flow};
    if (how[0] == how[1] && how[0] != FLOW_MAYBE)
        return how[0];
    if (m->fork->ends_function)
        return FLOW_MAYBE;
    ir_value *from[2];
    uint32_t slot = scope_slot(lo->scope, SCOPE_RETURNED);
    for (unsigned arm = 0; arm < 2; arm++) {
        const binding *b = scope_state_get(&m->fork->arms[arm].end, slot);
        if (how[arm] == FLOW_MAYBE && b)
            from[arm] = b->value.ir;
        else
            from[arm] = materialize_in(m, arm, value_bool(flow_has_ended(how[arm]))).ir;
    }
    m->name = SCOPE_RETURNED;
    value flag = placeholder(m, from[0], from[1]);
    scope_set(lo->scope, SCOPE_RETURNED, flag, m->fork->range);
    return FLOW_MAYBE;
}

void fork_begin(lowering *lo, fork *f, ir_value *cond, src_range range) {
    *f = (fork){.cond = cond, .range = range, .before = lo->b, .start = scope_save(lo->scope)};
    const ir_op *parent = lo->b.block->parent;
    f->by_select = parent && (parent->opcode == OP_REDUCE || parent->opcode == OP_SCAN);
    f->in_loop = lo->frames->runtime_loops || lo->frames->static_loops;
    lo->frames->regions++;
    lower_open_region(lo, range);
}

void fork_enter(lowering *lo, fork *f, unsigned arm) {
    branch *a = &f->arms[arm];
    scope_restore(lo->scope, a->block ? a->end : f->start);
    if (!a->block)
        a->block = f->by_select ? lo->b.block : ir_block_create(lo->func, NULL);
    lo->b.block = a->block;
    if (!f->by_select)
        lo->b.before = NULL;
}

void fork_leave(lowering *lo, fork *f, unsigned arm, flow how) {
    f->arms[arm].end = scope_save(lo->scope);
    f->arms[arm].flow = how;
    lo->b.block = f->before.block;
    lo->b.before = f->before.before;
}

flow fork_join(lowering *lo, fork *f) {
    merge m = {.lo = lo, .fork = f};
    scope *s = lo->scope;
    lower_set_range(lo, f->range);
    uint32_t n = s->len;
    uint32_t *first_leaf = ARENA_ARRAY(lo->arena, uint32_t, n + 1);
    bool *takes = ARENA_ARRAY(lo->arena, bool, n + 1);
    scope_state joined = {ARENA_ARRAY(lo->arena, const binding *, n + 1), n};
    for (uint32_t slot = 0; slot < n; slot++) {
        m.name = s->names[slot];
        first_leaf[slot] = m.leaves.len;
        if (sv_equal(m.name, SCOPE_RETURNED))
            continue;
        joined.slots[slot] = merge_slot(&m, slot, &takes[slot]);
        if (takes[slot])
            value_map_leaves(lo->arena, joined.slots[slot]->value, take_leaf, &m);
    }
    scope_restore(s, joined);
    flow how = merge_flow(&m);
    fill_dummies(&m);
    ir_value **results = make_if(&m);
    for (uint32_t slot = 0; slot < s->len; slot++) {
        const binding *b = s->slots[slot];
        if (!b || b->state != BINDING_VALUE)
            continue;
        ir_value **next = results + (slot < n ? first_leaf[slot] : 0);
        value v = b->value;
        if (slot < n && takes[slot]) {
            v = value_map_leaves(lo->arena, v, next_result, &next);
            scope_bind(s, slot, BINDING_VALUE, v, b->where);
        } else if (b != scope_state_get(&f->start, slot)) {
            fill_placeholders(&v, results);
            scope_bind(s, slot, BINDING_VALUE, v, b->where);
        }
    }
    lo->frames->regions--;
    lo->regions--;
    return how;
}

// --- statements

flow lower_if(lowering *lo, const ast_stmt *s, ast_stmt *const *rest, uint32_t n, bool *took_rest) {
    *took_rest = false;
    bool was_tail = lo->frames->is_tail;
    value c = lower_expr(lo, s->value);
    if (value_is_constexpr(&c)) {
        const ast_block *taken = value_truth(&c) ? &s->body : &s->orelse;
        lo->frames->is_tail = was_tail && n == 0;
        flow how = lower_block(lo, taken->data, taken->len);
        lo->frames->is_tail = was_tail;
        return how;
    }
    c = sem_condition(lo, c, lower_place(lo, s->value->range));
    ir_value *cond = c.kind == VALUE_IR ? c.ir : ir_const_int(&lo->b, ir_scalar_type(DT_I1), 0);
    fork f;
    fork_begin(lo, &f, cond, s->value->range);
    lo->frames->is_tail = was_tail && n == 0;
    fork_enter(lo, &f, 0);
    flow how0 = lower_block(lo, s->body.data, s->body.len);
    fork_leave(lo, &f, 0, how0);
    fork_enter(lo, &f, 1);
    flow how1 = lower_block(lo, s->orelse.data, s->orelse.len);
    lo->frames->is_tail = was_tail;
    if (flow_has_ended(how0) && !flow_has_ended(how1)) {
        how1 = lower_rest(lo, how1, rest, n);
        *took_rest = true;
    }
    fork_leave(lo, &f, 1, how1);
    if (flow_has_ended(how1) && !flow_has_ended(how0)) {
        fork_enter(lo, &f, 0);
        how0 = lower_rest(lo, how0, rest, n);
        fork_leave(lo, &f, 0, how0);
        *took_rest = true;
    }
    f.ends_function = was_tail && (*took_rest || n == 0);
    return fork_join(lo, &f);
}
