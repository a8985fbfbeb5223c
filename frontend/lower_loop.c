// Loops. Every variable that the body assigns and that has a value before the loop is carried:
// it becomes an argument of the body's region and a result of the loop, of one type throughout.
// Values known at compile time (constexpr, None, a dtype) are not carried at first; if the body
// turns out to change one, the attempt is thrown away and the body lowered again with the value
// made a run-time one before the loop. static_range has no region at all: its body is lowered
// once per iteration.
#include "frontend/scope.h"
#include "frontend/semantics.h"

enum { MAX_UNROLLED = 100000 };

/// How a variable that the body assigns goes round the loop.
typedef enum carry_kind {
    CARRY_NOT,          ///< keeps its value at compile time, so far
    CARRY_IR,           ///< its run-time values are carried
    CARRY_MATERIALIZED, ///< the same, with its numbers made run-time values before the loop
    CARRY_UNKNOWN,      ///< has no value at the end of the body: may not be read
} carry_kind;

typedef struct carried {
    uint32_t slot;
    const binding *before;
    carry_kind kind;
    value tree;           ///< its value before the loop
    const value *seen;    ///< of a block: at the end of the body, in the last attempt
    const binding *after; ///< of CARRY_UNKNOWN: the binding at the end of the body
    bool is_wrong;        ///< an error was reported
} carried;

typedef VEC(ir_value *) ir_values;

typedef struct loop {
    lowering *lo;
    src_range range;
    ir_builder before;
    scope_state start;
    VEC(carried) vars;
    ir_values inits;
    bool *is_assigned; ///< per slot of the start
    uint32_t errors;   ///< reported before it
} loop;

// --- what a body assigns

static void mark_assigned(loop *l, sv name) {
    for (uint32_t i = 0; i < l->start.len; i++)
        l->is_assigned[i] |= sv_equal(l->lo->scope->names[i], name);
}

static void find_assigned_target(loop *l, const ast_expr *e) {
    if (e->kind == EXPR_NAME)
        mark_assigned(l, e->name);
    for (uint32_t i = 0; i < e->items.len; i++)
        if (e->kind == EXPR_TUPLE || e->kind == EXPR_LIST)
            find_assigned_target(l, e->items.data[i]);
}

/// Names that (name := value) assigns inside an expression.
static void find_assigned_expr(loop *l, const ast_expr *e) {
    if (!e)
        return;
    if (e->kind == EXPR_NAMED)
        mark_assigned(l, e->name);
    find_assigned_expr(l, e->left);
    find_assigned_expr(l, e->right);
    find_assigned_expr(l, e->cond);
    for (uint32_t i = 0; i < e->items.len; i++)
        find_assigned_expr(l, e->items.data[i]);
    for (uint32_t i = 0; i < e->num_keywords; i++)
        find_assigned_expr(l, e->keywords[i].value);
}

static void find_assigned_block(loop *l, const ast_block *b) {
    for (uint32_t i = 0; i < b->len; i++) {
        const ast_stmt *s = b->data[i];
        for (uint32_t t = 0; t < s->targets.len; t++)
            find_assigned_target(l, s->targets.data[t]);
        find_assigned_expr(l, s->value);
        find_assigned_block(l, &s->body);
        find_assigned_block(l, &s->orelse);
    }
}

// --- carried values

static ir_value *gather_leaf(void *ctx, ir_value *leaf) {
    loop *l = ctx;
    VEC_PUSH(l->lo->arena, l->inits, leaf);
    return leaf;
}

/// Finds the carried variables and their initial values. `target`: the loop's own variable, which
/// is not carried.
static void find_carried(loop *l, const ast_stmt *s) {
    lowering *lo = l->lo;
    l->is_assigned = ARENA_ARRAY(lo->arena, bool, l->start.len + 1);
    find_assigned_block(l, &s->body);
    if (s->kind == STMT_WHILE)
        find_assigned_expr(l, s->value);
    for (uint32_t slot = 0; slot < l->start.len; slot++) {
        const binding *b = l->start.slots[slot];
        bool is_target = s->kind == STMT_FOR && s->targets.data[0]->kind == EXPR_NAME &&
                         sv_equal(s->targets.data[0]->name, lo->scope->names[slot]);
        if (!l->is_assigned[slot] || is_target || !b || b->state != BINDING_VALUE ||
            b->value.kind == VALUE_POISON)
            continue;
        carried c = {.slot = slot, .before = b, .tree = b->value};
        bool is_run_time = b->value.kind == VALUE_IR || value_is_block(&b->value) ||
                           (b->value.kind == VALUE_TUPLE && !value_has_numbers(&b->value));
        c.kind = is_run_time ? CARRY_IR : CARRY_NOT;
        VEC_PUSH(lo->arena, l->vars, c);
    }
}

/// Starts an attempt: names as before the loop, initial values gathered.
static void begin_attempt(loop *l) {
    lowering *lo = l->lo;
    l->inits.len = 0;
    lo->b.block = l->before.block;
    lo->b.before = l->before.before;
    lower_set_range(lo, l->range);
    scope_restore(lo->scope, l->start);
    for (uint32_t i = 0; i < l->vars.len; i++) {
        carried *c = &l->vars.data[i];
        if (c->kind == CARRY_MATERIALIZED)
            c->tree = value_materialize_numbers(lo, c->before->value, c->before->where);
        if (c->seen)
            c->tree = block_widen_changed(lo, &c->tree, c->seen);
        if (c->kind == CARRY_IR || c->kind == CARRY_MATERIALIZED)
            value_map_leaves(lo->arena, c->tree, gather_leaf, l);
    }
}

static ir_value *next_leaf(void *ctx, ir_value *leaf) {
    (void)leaf;
    ir_value ***next = ctx;
    return *(*next)++;
}

/// Binds the carried names to these values, in the order of the inits.
static void bind_carried(loop *l, ir_value **values) {
    lowering *lo = l->lo;
    for (uint32_t i = 0; i < l->vars.len; i++) {
        carried *c = &l->vars.data[i];
        if (c->kind == CARRY_UNKNOWN) {
            scope_bind(lo->scope, c->slot, c->after->state, c->after->value, c->after->where);
            continue;
        }
        if (c->kind == CARRY_NOT)
            continue;
        ir_value **first = values;
        value v = value_map_leaves(lo->arena, c->tree, next_leaf, &values);
        for (; first < values; first++)
            (*first)->name = lo->scope->names[c->slot];
        scope_bind(lo->scope, c->slot, BINDING_VALUE, v, c->before->where);
    }
}

/// A region whose arguments are the carried values; names are bound to them and ops go there.
static ir_block *open_region(loop *l, ir_value **iv, ir_type iv_type) {
    lowering *lo = l->lo;
    ir_block *b = ir_block_create(lo->func, NULL);
    if (iv)
        *iv = ir_add_block_arg(b, iv_type, (sv){0});
    uint32_t first = b->num_args;
    for (uint32_t i = 0; i < l->inits.len; i++)
        ir_add_block_arg(b, l->inits.data[i]->type, (sv){0});
    lo->b.block = b;
    lo->b.before = NULL;
    if (l->inits.len || l->vars.len)
        bind_carried(l, b->args ? b->args + first : NULL);
    return b;
}

/// What a leaf of the value before the loop is at the end of the body. False if types differ.
static bool match_trees(loop *l, const value *before, const value *now, ir_values *out) {
    lowering *lo = l->lo;
    if (before->kind == VALUE_IR) {
        value v = value_is_number(now) ? sem_materialize(lo, *now, now->range) : *now;
        if (v.kind != VALUE_IR || !ir_type_equal(v.ir->type, before->ir->type))
            return false;
        VEC_PUSH(lo->arena, *out, v.ir);
        return true;
    }
    if (!before->num_items && !before->self)
        return value_same(before, now);
    if (!value_same_form(before, now))
        return false;
    for (uint32_t i = 0; i < before->num_items; i++)
        if (!match_trees(l, &before->items[i], &now->items[i], out))
            return false;
    return !before->self || match_trees(l, before->self, now->self, out);
}

static void report_change(loop *l, carried *c, const binding *now) {
    lowering *lo = l->lo;
    if (c->is_wrong)
        return;
    c->is_wrong = true;
    sv name = lo->scope->names[c->slot];
    const char *from = value_describe(lo->arena, &c->tree);
    lower_error(lo, now->where,
                "'%" SV_FMT "' is %s before the loop, but %s at the end of its body; a variable "
                "that goes round a loop keeps one type",
                SV_ARG(name), from, value_describe(lo->arena, &now->value));
    if (c->before->where.file)
        diag_note(lo->diag, c->before->where, "%s comes from here", from);
}

/// The carried values at this point of the body, as many as there are inits.
static ir_values current_values(loop *l) {
    lowering *lo = l->lo;
    ir_values out = {0};
    for (uint32_t i = 0; i < l->vars.len; i++) {
        carried *c = &l->vars.data[i];
        const binding *now = lo->scope->slots[c->slot];
        if (c->kind == CARRY_NOT || c->kind == CARRY_UNKNOWN)
            continue;
        uint32_t first = out.len;
        if (now && now->state == BINDING_VALUE && match_trees(l, &c->tree, &now->value, &out))
            continue;
        if (now && now->state == BINDING_VALUE && now->value.kind != VALUE_POISON)
            report_change(l, c, now);
        else
            c->is_wrong = true;
        out.len = first;
        loop again = {.lo = lo};
        value_map_leaves(lo->arena, c->tree, gather_leaf, &again);
        for (uint32_t k = 0; k < again.inits.len; k++)
            VEC_PUSH(lo->arena, out, again.inits.data[k]);
    }
    return out;
}

/// Looks at the names at the end of the body for what this attempt has taken for granted; true if
/// another attempt is needed. After an error in the body there is none: what changed is poison.
static bool needs_retry(loop *l) {
    lowering *lo = l->lo;
    bool has_errors = diag_error_count(lo->diag) != l->errors, retry = false;
    for (uint32_t i = 0; i < l->vars.len; i++) {
        carried *c = &l->vars.data[i];
        const binding *now = lo->scope->slots[c->slot];
        bool is_lost = !now || now->state != BINDING_VALUE;
        if (!is_lost && !has_errors && block_has_changed(&c->tree, &now->value)) {
            c->seen = &now->value;
            retry = true;
            continue;
        }
        bool is_kept =
            c->kind != CARRY_NOT || (!is_lost && (now->value.kind == VALUE_POISON ||
                                                  value_same(&c->before->value, &now->value)));
        if (c->kind == CARRY_UNKNOWN || (is_kept && !is_lost))
            continue;
        if (!is_lost && !value_has_numbers(&c->before->value)) {
            report_change(l, c, now);
        } else if (has_errors) {
            c->is_wrong = true;
        } else {
            c->kind = is_lost ? CARRY_UNKNOWN : CARRY_MATERIALIZED;
            c->after = now ? now : c->before;
            retry = true;
        }
    }
    return retry;
}

/// Names after the loop: carried ones are its results; what only the body assigns may be missing.
static void bind_after(loop *l, ir_op *op, scope_state end, const ast_expr *target) {
    lowering *lo = l->lo;
    scope_restore(lo->scope, l->start);
    bind_carried(l, op->results);
    for (uint32_t i = 0; i < l->vars.len; i++)
        if (l->vars.data[i].is_wrong)
            scope_bind(lo->scope, l->vars.data[i].slot, BINDING_VALUE, value_poison(), l->range);
    for (uint32_t slot = 0; slot < end.len; slot++) {
        const binding *b = end.slots[slot];
        sv name = lo->scope->names[slot];
        if (target && sv_equal(target->name, name))
            scope_bind(lo->scope, slot, BINDING_LOOP_VAR, value_none(), target->range);
        else if (b && !scope_state_get(&l->start, slot) && b->value.kind == VALUE_POISON)
            scope_bind(lo->scope, slot, BINDING_VALUE, b->value, b->where);
        else if (b && !scope_state_get(&l->start, slot))
            scope_bind(lo->scope, slot, b->state == BINDING_VALUE ? BINDING_PARTIAL : b->state,
                       b->value, b->where);
    }
}

/// Makes the loop op before which all this was built, around its regions.
static ir_op *make_loop(loop *l, ir_opcode opcode, ir_value *const *leading, uint32_t num_leading,
                        ir_block *first, ir_block *second) {
    lowering *lo = l->lo;
    uint32_t n = l->inits.len;
    ir_value **operands = ARENA_ARRAY(lo->arena, ir_value *, num_leading + n + 1);
    ir_type *types = ARENA_ARRAY(lo->arena, ir_type, n + 1);
    for (uint32_t i = 0; i < num_leading; i++)
        operands[i] = leading[i];
    for (uint32_t i = 0; i < n; i++) {
        operands[num_leading + i] = l->inits.data[i];
        types[i] = l->inits.data[i]->type;
    }
    lo->b.block = l->before.block;
    lo->b.before = l->before.before;
    lower_set_range(lo, l->range);
    ir_op *op = ir_create(&lo->b, opcode, operands, num_leading + n, types, n);
    op->regions[0] = first;
    first->parent = op;
    if (second) {
        op->regions[1] = second;
        second->parent = op;
    }
    return op;
}

static void begin_loop(lowering *lo, loop *l, const ast_stmt *s) {
    *l = (loop){.lo = lo, .range = s->range, .before = lo->b, .start = scope_save(lo->scope)};
    l->errors = diag_error_count(lo->diag);
    find_carried(l, s);
}

/// Lowers a loop's body in its region.
static void lower_body(lowering *lo, const ast_stmt *s) {
    bool was_tail = lo->frames->is_tail;
    lo->frames->is_tail = false;
    lo->frames->runtime_loops++;
    lower_open_region(lo, s->range);
    lower_block(lo, s->body.data, s->body.len);
    scope_remove(lo->scope, SCOPE_RETURNED); // of this iteration
    lo->regions--;
    lo->frames->runtime_loops--;
    lo->frames->is_tail = was_tail;
}

// --- for

/// The type of one bound of a range: an integer scalar, or an error. DT_VOID after one.
static dtype bound_type(lowering *lo, const value *v, const char *role, src_range range) {
    if (v->kind == VALUE_INT || v->kind == VALUE_BOOL)
        return sem_literal_type(v);
    if (v->kind == VALUE_IR && v->ir->type.rank == 0 && dtype_is_int(v->ir->type.elem))
        return v->ir->type.elem;
    if (v->kind != VALUE_POISON)
        lower_error(lo, value_place(v, range), "the %s of range() must be an integer, got %s", role,
                    value_describe(lo->arena, v));
    return DT_VOID;
}

/// Bounds and step of a run-time loop, converted to the type of its variable.
static bool read_bounds(lowering *lo, const value *range, ir_value *out[3]) {
    static const char *const roles[] = {"start", "end", "step"};
    dtype type = DT_VOID;
    for (unsigned i = 0; i < 3; i++) {
        dtype t = bound_type(lo, &range->items[i], roles[i], range->range);
        if (t == DT_VOID)
            return false;
        type = i == 0 ? t : promote_binary(AST_ADD, type, false, t, false);
    }
    if (type == DT_I1)
        type = DT_I32;
    const value *step = &range->items[2];
    if (step->kind == VALUE_INT && step->i < 0 && !step->is_unsigned && !dtype_is_signed(type)) {
        lower_error(lo, value_place(step, range->range),
                    "a negative step needs signed bounds, got %s", dtype_name(type));
        return false;
    }
    for (unsigned i = 0; i < 3; i++) {
        const value *v = &range->items[i];
        out[i] = v->kind == VALUE_IR ? ir_cast(&lo->b, v->ir, type)
                                     : sem_constant(lo, v, ir_scalar_type(type));
    }
    // Only a step that is known here counts down. One that turns out to be negative later on, maybe
    // because of how an argument is specialized, runs nothing in any case.
    if (step->kind == VALUE_IR && dtype_is_signed(type))
        out[2] = ir_binary(&lo->b, OP_MAX, out[2], ir_const_int(&lo->b, ir_scalar_type(type), 0));
    return true;
}

static void lower_runtime_for(lowering *lo, const ast_stmt *s, const value *range) {
    const ast_expr *target = s->targets.data[0];
    lower_set_range(lo, s->value->range);
    ir_value *bounds[3];
    if (target->kind != EXPR_NAME) {
        lower_error(lo, target->range, "the variable of a loop over a range is one name");
        return;
    }
    if (!read_bounds(lo, range, bounds))
        for (unsigned i = 0; i < 3; i++) // the body may hold more errors to report
            bounds[i] = ir_const_int(&lo->b, ir_scalar_type(DT_I32), i);
    loop l;
    begin_loop(lo, &l, s);
    ir_block *body;
    ir_values yields;
    scope_state end;
    do {
        begin_attempt(&l);
        ir_value *iv = NULL;
        body = open_region(&l, &iv, bounds[0]->type);
        iv->name = target->name;
        value v = value_ir(iv);
        v.range = v.defined = target->range;
        scope_set(lo->scope, target->name, v, target->range);
        lower_body(lo, s);
        end = scope_save(lo->scope);
    } while (needs_retry(&l));
    yields = current_values(&l);
    lower_set_range(lo, s->range);
    ir_yield(&lo->b, yields.data, yields.len);
    ir_op *op = make_loop(&l, OP_FOR, bounds, 3, body, NULL);
    if (range->num_stages)
        ir_set_int(op, ATTR_NUM_STAGES, range->num_stages);
    if (range->unroll)
        ir_set_int(op, ATTR_UNROLL_FACTOR, range->unroll);
    bind_after(&l, op, end, target);
}

/// Lowers the body once more, where that is decided at compile time. What follows the loop is not
/// reached if it gives FLOW_RETURN; *goes_on is false after an error.
static flow lower_iteration(lowering *lo, const ast_stmt *s, const value *variable, bool *goes_on) {
    *goes_on = lower_count(lo, s->range);
    if (*goes_on && ++lo->unrolled > MAX_UNROLLED) {
        lower_error(lo, s->range, "static loops unroll to more than %d iterations; use range()",
                    MAX_UNROLLED);
        lower_stop(lo);
        *goes_on = false;
    }
    if (!*goes_on)
        return FLOW_NEXT;
    if (variable)
        lower_assign(lo, s->targets.data[0], *variable, true);
    uint32_t errors = diag_error_count(lo->diag);
    flow how = lower_block(lo, s->body.data, s->body.len);
    scope_remove(lo->scope, SCOPE_RETURNED);
    *goes_on = diag_error_count(lo->diag) == errors; // else the next would say the same
    return how == FLOW_RETURN ? how : FLOW_NEXT;
}

/// Marks that statements of a loop that is unrolled are lowered; gives what is_tail was.
static bool enter_static_loop(call_frame *frame) {
    bool was_tail = frame->is_tail;
    frame->is_tail = false;
    if (frame->static_loops++ == 0)
        frame->static_regions = frame->regions;
    return was_tail;
}

static void leave_static_loop(call_frame *frame, bool was_tail) {
    frame->static_loops--;
    frame->is_tail = was_tail;
}

/// Lowers the body once per value of the variable.
static flow lower_static_for(lowering *lo, const ast_stmt *s, const value *range) {
    int64_t bounds[3];
    for (unsigned i = 0; i < 3; i++) {
        const value *v = &range->items[i];
        if (v->kind == VALUE_POISON)
            return FLOW_NEXT;
        if ((v->kind != VALUE_INT && v->kind != VALUE_BOOL) || v->is_unsigned) {
            lower_error(lo, value_place(v, range->range),
                        "static_range() needs integers known at compile time, got %s",
                        value_describe(lo->arena, v));
            return FLOW_NEXT;
        }
        bounds[i] = v->i;
    }
    bool was_tail = enter_static_loop(lo->frames), goes_on = true;
    flow how = FLOW_NEXT;
    __int128 i = bounds[0];
    for (; how == FLOW_NEXT && goes_on && (bounds[2] > 0 ? i < bounds[1] : i > bounds[1]);
         i += bounds[2]) {
        value v = value_int((int64_t)i);
        v.range = v.defined = s->targets.data[0]->range;
        how = lower_iteration(lo, s, &v, &goes_on);
    }
    leave_static_loop(lo->frames, was_tail);
    return how;
}

/// A `for` of a constexpr_function over a tuple.
static flow lower_tuple_for(lowering *lo, const ast_stmt *s, const value *tuple) {
    bool was_tail = enter_static_loop(lo->frames), goes_on = true;
    flow how = FLOW_NEXT;
    for (uint32_t i = 0; how == FLOW_NEXT && goes_on && i < tuple->num_items; i++)
        how = lower_iteration(lo, s, &tuple->items[i], &goes_on);
    leave_static_loop(lo->frames, was_tail);
    return how;
}

/// A `while` of a constexpr_function: the body is lowered as long as the condition holds.
static flow lower_static_while(lowering *lo, const ast_stmt *s) {
    bool was_tail = enter_static_loop(lo->frames), goes_on = true;
    flow how = FLOW_NEXT;
    while (how == FLOW_NEXT && goes_on) {
        value c = lower_expr(lo, s->value);
        if (c.kind == VALUE_IR)
            c = lower_error(lo, s->value->range,
                            "a loop of a constexpr_function goes on as long "
                            "as something known at compile time holds");
        if (c.kind == VALUE_POISON || !value_truth(&c))
            break;
        how = lower_iteration(lo, s, NULL, &goes_on);
    }
    leave_static_loop(lo->frames, was_tail);
    return how;
}

flow lower_for(lowering *lo, const ast_stmt *s) {
    value range = lower_expr(lo, s->value);
    if (s->orelse.len)
        lower_error(lo, s->range, "'else' after a loop is not supported; write it behind the loop");
    if (range.kind == VALUE_POISON) {
        // Names that the body assigns are still worth knowing: lower it once, over nothing.
        value zero = value_int(0), items[3] = {zero, zero, value_int(1)};
        value nothing = {.kind = VALUE_RANGE, .range = s->value->range, .items = items};
        nothing.num_items = 3;
        lower_runtime_for(lo, s, &nothing);
        return FLOW_NEXT;
    }
    if (range.kind == VALUE_TUPLE && lo->frames->at_compile_time)
        return lower_tuple_for(lo, s, &range);
    if (range.kind != VALUE_RANGE) {
        lower_error(lo, s->value->range,
                    "a loop goes over range(), tl.range() or tl.static_range(), not %s%s",
                    value_describe(lo->arena, &range),
                    range.kind == VALUE_TUPLE
                        ? "; take the items by their places: for i in tl.static_range(len(t))"
                        : "");
        return FLOW_NEXT;
    }
    const value *step = &range.items[2];
    if (step->kind == VALUE_INT && step->i == 0) {
        lower_error(lo, value_place(step, s->value->range), "the step of a range must not be 0");
        return FLOW_NEXT;
    }
    if (range.i || lo->frames->at_compile_time)
        return lower_static_for(lo, s, &range);
    lower_runtime_for(lo, s, &range);
    return FLOW_NEXT;
}

// --- while

/// Lowers the condition in region 0, which passes the carried values on. NULL if it is known at
/// compile time: *known holds it then.
static ir_block *lower_condition(loop *l, const ast_stmt *s, value *known) {
    lowering *lo = l->lo;
    ir_block *b = open_region(l, NULL, (ir_type){0});
    value c = lower_expr(lo, s->value);
    *known = c;
    lower_set_range(lo, s->value->range);
    if (value_is_constexpr(&c))
        c = value_bool(value_truth(&c));
    c = sem_condition(lo, c, s->value->range);
    ir_value *cond = c.kind == VALUE_IR ? c.ir : ir_const_int(&lo->b, ir_scalar_type(DT_I1), 0);
    ir_values values = current_values(l);
    ir_values operands = {0};
    VEC_PUSH(lo->arena, operands, cond);
    for (uint32_t i = 0; i < values.len; i++)
        VEC_PUSH(lo->arena, operands, values.data[i]);
    ir_create(&lo->b, OP_CONDITION, operands.data, operands.len, NULL, 0);
    return b;
}

flow lower_while(lowering *lo, const ast_stmt *s) {
    if (s->orelse.len)
        lower_error(lo, s->range, "'else' after a loop is not supported; write it behind the loop");
    if (lo->frames->at_compile_time)
        return lower_static_while(lo, s);
    loop l;
    begin_loop(lo, &l, s);
    ir_block *regions[2];
    ir_values yields;
    scope_state end;
    value known;
    do {
        begin_attempt(&l);
        regions[0] = lower_condition(&l, s, &known);
        if (value_is_constexpr(&known) && !value_truth(&known)) {
            scope_restore(lo->scope, l.start);
            lo->b.block = l.before.block;
            lo->b.before = l.before.before;
            return FLOW_NEXT; // never entered
        }
        scope_restore(lo->scope, l.start);
        regions[1] = open_region(&l, NULL, (ir_type){0});
        lower_body(lo, s);
        end = scope_save(lo->scope);
    } while (needs_retry(&l));
    if (value_is_constexpr(&known))
        lower_error(lo, s->value->range,
                    "this loop never ends: its condition is always true, and 'break' is not "
                    "supported; let the condition depend on a variable that the body changes");
    yields = current_values(&l);
    lower_set_range(lo, s->range);
    ir_yield(&lo->b, yields.data, yields.len);
    ir_op *op = make_loop(&l, OP_WHILE, NULL, 0, regions[0], regions[1]);
    bind_after(&l, op, end, NULL);
    return FLOW_NEXT;
}
