// Expressions. Each kind of node has one function; what operators mean is semantics.c's business,
// what is called is lower_call.c's. Operands are lowered in Python's order, each once. `and`, `or`,
// chained comparisons and the conditional expression stop early where the answer is known at
// compile time: what is not reached there is not lowered, so it may be ill-typed.
#include "frontend/scope.h"

typedef value expr_fn(lowering *lo, const ast_expr *e);

static src_range operator_place(const lowering *lo, const ast_expr *e) {
    return lower_place(lo, e->op_range.file ? e->op_range : e->range);
}

// --- constants

static value lower_none(lowering *lo, const ast_expr *e) {
    (void)lo;
    (void)e;
    return value_none();
}

static value lower_bool(lowering *lo, const ast_expr *e) {
    (void)lo;
    return value_bool(e->bool_value);
}

static value lower_int(lowering *lo, const ast_expr *e) {
    if (e->int_overflow)
        return lower_error(lo, e->range, "integer too large (more than 64 bits)");
    value v = value_int((int64_t)e->int_value);
    v.is_unsigned = e->int_value > INT64_MAX;
    return v;
}

static value lower_float(lowering *lo, const ast_expr *e) {
    (void)lo;
    return value_float(e->float_value);
}

static value lower_string(lowering *lo, const ast_expr *e) {
    (void)lo;
    return value_string(e->str);
}

static value lower_fstring(lowering *lo, const ast_expr *e) {
    strbuf text;
    strbuf_init(&text, lo->arena);
    strbuf_puts(&text, "");
    for (uint32_t i = 0; i < e->items.len; i++) {
        value v = lower_expr(lo, e->items.data[i]);
        if (v.kind == VALUE_POISON)
            return v;
        if (v.kind == VALUE_IR)
            return lower_error(lo, v.range,
                               "an f-string is made at compile time, and this is known only at run "
                               "time (%s); give it to print() as an argument of its own",
                               value_describe(lo->arena, &v));
        value_print(&v, &text);
        if (text.len > VALUE_MAX_LENGTH)
            return lower_error(lo, e->range, "the result is too long");
    }
    return value_string(strbuf_view(&text));
}

// --- names, tuples, members

static value lower_name_expr(lowering *lo, const ast_expr *e) {
    return lower_name(lo, e->name, lower_place(lo, e->range));
}

/// A list of expressions; `*t` among them stands for the elements of the tuple t. False if one of
/// them is poison.
static bool lower_items(lowering *lo, const ast_exprs *items, value **out, uint32_t *n) {
    VEC(value) list = {0};
    bool ok = true;
    for (uint32_t i = 0; i < items->len; i++) {
        const ast_expr *e = items->data[i];
        bool starred = e->kind == EXPR_STARRED;
        value v = lower_expr(lo, starred ? e->left : e);
        ok &= v.kind != VALUE_POISON;
        if (!starred) {
            VEC_PUSH(lo->arena, list, v);
        } else if (v.kind == VALUE_TUPLE) {
            for (uint32_t k = 0; k < v.num_items; k++)
                VEC_PUSH(lo->arena, list, v.items[k]);
        } else if (v.kind != VALUE_POISON) {
            lower_error(lo, e->range, "'*' needs a tuple, got %s", value_describe(lo->arena, &v));
            ok = false;
        }
    }
    *out = list.data;
    *n = list.len;
    return ok;
}

static value lower_tuple(lowering *lo, const ast_expr *e) {
    value *items;
    uint32_t n;
    if (!lower_items(lo, &e->items, &items, &n))
        return value_poison();
    value v = value_tuple(lo->arena, items, n);
    return value_check_size(lo, &v, e->range) ? v : value_poison();
}

static value lower_attribute(lowering *lo, const ast_expr *e) {
    value v = lower_expr(lo, e->left);
    if (v.kind == VALUE_POISON)
        return v;
    if (v.kind == VALUE_MODULE)
        return lower_module_member(lo, v.str, e->name, operator_place(lo, e));
    return sem_attribute(lo, v, e->name, operator_place(lo, e));
}

/// lower:upper:step; a bare ':' has no items, else what is not given is None.
static value lower_slice(lowering *lo, const ast_expr *e) {
    value bounds[3] = {value_none(), value_none(), value_none()}, v = {.kind = VALUE_SLICE};
    bool bare = true;
    for (uint32_t i = 0; i < e->items.len && i < 3; i++) {
        if (!e->items.data[i])
            continue;
        bounds[i] = lower_expr(lo, e->items.data[i]);
        if (bounds[i].kind == VALUE_POISON)
            return value_poison();
        bare &= bounds[i].kind == VALUE_NONE;
    }
    if (bare)
        return v;
    v = value_tuple(lo->arena, bounds, 3);
    v.kind = VALUE_SLICE;
    return v;
}

static value lower_subscript(lowering *lo, const ast_expr *e) {
    value v = lower_expr(lo, e->left);
    value *index;
    uint32_t n;
    if (!lower_items(lo, &e->items, &index, &n) || v.kind == VALUE_POISON)
        return value_poison();
    if (v.kind == VALUE_FUNC)
        return lower_error(
            lo, e->range, "a kernel is launched by the host; here a function is called with (...)");
    return sem_subscript(lo, v, index, n, lower_place(lo, e->range));
}

static value lower_starred(lowering *lo, const ast_expr *e) {
    return lower_error(lo, e->range, "'*' is possible in calls and tuples only");
}

// --- operators

static value lower_unary(lowering *lo, const ast_expr *e) {
    value v = lower_expr(lo, e->left);
    lower_set_range(lo, e->range);
    return sem_unary(lo, e->op, v, operator_place(lo, e));
}

static value lower_binary(lowering *lo, const ast_expr *e) {
    value x = lower_expr(lo, e->left);
    value y = lower_expr(lo, e->right);
    lower_set_range(lo, e->range);
    value v = sem_binary(lo, e->op, x, y, operator_place(lo, e));
    return value_check_size(lo, &v, e->range) ? v : value_poison();
}

/// x and y and z: compile-time operands decide as soon as they can.
static value lower_boolop(lowering *lo, const ast_expr *e) {
    value v = lower_expr(lo, e->items.data[0]);
    for (uint32_t i = 1; i < e->items.len && lower_count(lo, e->range); i++) {
        if (value_is_constexpr(&v) && value_truth(&v) == (e->op == AST_OR))
            return v;
        value next = lower_expr(lo, e->items.data[i]);
        if (v.kind == VALUE_POISON || next.kind == VALUE_POISON)
            v = value_poison();
        else if (value_is_constexpr(&v))
            v = next;
        else
            v = sem_logical(lo, e->op, v, next, operator_place(lo, e));
    }
    return v;
}

/// x in (a, b): compile-time values only.
static value lower_membership(lowering *lo, const ast_expr *e, ast_op op, const value *x,
                              const value *y) {
    if (x->kind == VALUE_POISON || y->kind == VALUE_POISON)
        return value_poison();
    if (value_has_run_time(x) || value_has_run_time(y) || y->kind != VALUE_TUPLE)
        return lower_error(
            lo, operator_place(lo, e),
            "'%s' asks whether a compile-time value is in a tuple, got %s and %s; at run "
            "time write (x == a) | (x == b)",
            ast_op_text(op), value_describe(lo->arena, x), value_describe(lo->arena, y));
    bool found = false;
    for (uint32_t i = 0; i < y->num_items; i++)
        found |= value_equal(x, &y->items[i]);
    return value_bool(found == (op == AST_IN));
}

/// a < b <= c: each operand once, the comparisons joined by `and`.
static value lower_compare(lowering *lo, const ast_expr *e) {
    value left = lower_expr(lo, e->left), all = value_bool(true);
    for (uint32_t i = 0; i < e->items.len && lower_count(lo, e->range); i++) {
        value right = lower_expr(lo, e->items.data[i]);
        ast_op op = e->ops[i];
        lower_set_range(lo, e->range);
        value v = op == AST_IN || op == AST_NOT_IN
                      ? lower_membership(lo, e, op, &left, &right)
                      : sem_compare(lo, op, left, right, operator_place(lo, e));
        if (all.kind == VALUE_POISON || v.kind == VALUE_POISON)
            all = value_poison();
        else if (value_is_constexpr(&all))
            all = v;
        else
            all = sem_logical(lo, AST_AND, all, v, operator_place(lo, e));
        if (value_is_constexpr(&all) && !value_truth(&all))
            return all;
        left = right;
    }
    return all;
}

static value lower_ternary(lowering *lo, const ast_expr *e) {
    value c = lower_expr(lo, e->cond);
    if (value_is_constexpr(&c))
        return lower_expr(lo, value_truth(&c) ? e->left : e->right);
    c = sem_condition(lo, c, lower_place(lo, e->cond->range));
    if (c.kind == VALUE_POISON) {
        lower_expr(lo, e->left); // for the errors in them
        lower_expr(lo, e->right);
        return c;
    }
    fork f;
    bool was_tail = lo->frames->is_tail;
    lo->frames->is_tail = false;
    fork_begin(lo, &f, c.ir, e->range);
    for (unsigned arm = 0; arm < 2; arm++) {
        fork_enter(lo, &f, arm);
        const ast_expr *side = arm == 0 ? e->left : e->right;
        scope_set(lo->scope, SCOPE_VALUE, lower_expr(lo, side), side->range);
        fork_leave(lo, &f, arm, FLOW_NEXT);
    }
    fork_join(lo, &f);
    lo->frames->is_tail = was_tail;
    value v = scope_find(lo->scope, SCOPE_VALUE)->value;
    scope_remove(lo->scope, SCOPE_VALUE);
    return v;
}

static value lower_named(lowering *lo, const ast_expr *e) {
    value v = lower_expr(lo, e->left);
    lower_assign_name(lo, e->name, e->op_range, v, false);
    return lower_name(lo, e->name, e->range);
}

// --- calls

static value lower_call_expr(lowering *lo, const ast_expr *e) {
    value callee = lower_expr(lo, e->left);
    call_args args = {.range = lower_place(lo, e->range), .num_keywords = e->num_keywords};
    bool ok = lower_items(lo, &e->items, &args.positional, &args.num_positional);
    args.keyword_names = ARENA_ARRAY(lo->arena, sv, e->num_keywords + 1);
    args.keyword_places = ARENA_ARRAY(lo->arena, src_range, e->num_keywords + 1);
    args.keywords = ARENA_ARRAY(lo->arena, value, e->num_keywords + 1);
    for (uint32_t i = 0; i < e->num_keywords; i++) {
        const ast_keyword *k = &e->keywords[i];
        args.keyword_names[i] = k->name;
        args.keyword_places[i] = k->range;
        args.keyword_places[i].end = k->range.begin + (uint32_t)k->name.len;
        args.keywords[i] = lower_expr(lo, k->value);
        ok &= args.keywords[i].kind != VALUE_POISON;
        if (!k->name.len) {
            lower_error(lo, k->range, "'**' in a call is not supported; name the arguments");
            ok = false;
        }
    }
    if (!ok || callee.kind == VALUE_POISON)
        return value_poison();
    lower_set_range(lo, e->range);
    return lower_call(lo, &callee, &args);
}

// --- what is refused

static value lower_pointer(lowering *lo, const ast_expr *e) {
    return lower_error(lo, e->range, "a pointer type is possible in an annotation only");
}

static value lower_unsupported(lowering *lo, const ast_expr *e) {
    static const struct {
        const char *name, *instead;
    } advice[] = {
        {"lambda", "; define a function with def"},
        {"list comprehension", "; write the elements out, or use a loop over static_range"},
        {"generator expression", "; use a loop over static_range"},
        {"dict", "; use separate names"},
        {"set", "; use a tuple"},
        {"yield", "; return a tuple"},
        {"format specification", "; write the value alone: {x}"},
        {"await", "; what a kernel does comes in order"},
        {"ellipsis", "; write ':' for each dimension"},
    };
    const char *instead = "";
    for (size_t i = 0; i < sizeof advice / sizeof *advice; i++)
        if (sv_is(e->name, advice[i].name))
            instead = advice[i].instead;
    return lower_error(lo, e->range, "'%" SV_FMT "' is not supported in a kernel%s",
                       SV_ARG(e->name), instead);
}

// --- all of them

value lower_expr(lowering *lo, const ast_expr *e) {
    static expr_fn *const table[] = {
        [EXPR_NONE] = lower_none,
        [EXPR_BOOL] = lower_bool,
        [EXPR_INT] = lower_int,
        [EXPR_FLOAT] = lower_float,
        [EXPR_STRING] = lower_string,
        [EXPR_FSTRING] = lower_fstring,
        [EXPR_NAME] = lower_name_expr,
        [EXPR_TUPLE] = lower_tuple,
        [EXPR_LIST] = lower_tuple,
        [EXPR_ATTRIBUTE] = lower_attribute,
        [EXPR_SUBSCRIPT] = lower_subscript,
        [EXPR_SLICE] = lower_slice,
        [EXPR_CALL] = lower_call_expr,
        [EXPR_UNARY] = lower_unary,
        [EXPR_BINARY] = lower_binary,
        [EXPR_BOOLOP] = lower_boolop,
        [EXPR_COMPARE] = lower_compare,
        [EXPR_TERNARY] = lower_ternary,
        [EXPR_STARRED] = lower_starred,
        [EXPR_POINTER] = lower_pointer,
        [EXPR_NAMED] = lower_named,
        [EXPR_UNSUPPORTED] = lower_unsupported,
    };
    value v = value_poison();
    if (lower_descend(lo, e->range))
        v = table[e->kind](lo, e);
    lo->depth--;
    v.range = lower_place(lo, e->range);
    if (e->kind != EXPR_NAME)
        v.defined = SRC_NONE;
    return v;
}
