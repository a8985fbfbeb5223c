// Statements, one after the other. A block says how it ends (flow): whether what follows it runs
// always, never, or only where a `returned` flag is false, after `return` and `continue`. if and
// loops are in lower_control.c and lower_loop.c.
#include "frontend/scope.h"

// --- assignment

void lower_assign_name(lowering *lo, sv name, src_range at, value v, bool keeps_constexpr) {
    uint32_t slot = scope_slot(lo->scope, name);
    keeps_constexpr |= lo->scope->keeps_constexpr[slot] || lo->frames->at_compile_time;
    if (!keeps_constexpr && value_is_number(&v)) {
        src_range range = v.range;
        lower_set_range(lo, at);
        v = sem_materialize(lo, v, range);
        v.range = range;
    }
    if (v.kind == VALUE_IR && !v.ir->name.len)
        v.ir->name = name;
    v.defined = lower_place(lo, at);
    scope_bind(lo->scope, slot, BINDING_VALUE, v, v.defined);
}

static void assign_tuple(lowering *lo, const ast_expr *target, value v, bool keeps_constexpr) {
    uint32_t n = target->items.len;
    for (uint32_t i = 0; i < n; i++)
        if (target->items.data[i]->kind == EXPR_STARRED) {
            lower_error(lo, target->items.data[i]->range,
                        "'*' in the names of an assignment is not supported; name each value");
            v = value_poison();
        }
    bool fits = v.kind == VALUE_TUPLE && v.num_items == n;
    if (v.kind == VALUE_TUPLE && !fits)
        lower_error(lo, target->range, "cannot unpack %u value%s into %u name%s", v.num_items,
                    v.num_items == 1 ? "" : "s", n, n == 1 ? "" : "s");
    else if (!fits && v.kind != VALUE_POISON)
        lower_error(lo, target->range, "cannot unpack %s into %u name%s",
                    value_describe(lo->arena, &v), n, n == 1 ? "" : "s");
    for (uint32_t i = 0; i < n; i++)
        lower_assign(lo, target->items.data[i], fits ? v.items[i] : value_poison(),
                     keeps_constexpr);
}

void lower_assign(lowering *lo, const ast_expr *target, value v, bool keeps_constexpr) {
    switch (target->kind) {
    case EXPR_NAME:
        lower_assign_name(lo, target->name, target->range, v, keeps_constexpr);
        break;
    case EXPR_TUPLE:
    case EXPR_LIST:
        assign_tuple(lo, target, v, keeps_constexpr);
        break;
    case EXPR_SUBSCRIPT:
        lower_error(lo, target->range,
                    "elements cannot be assigned: a tile is a value; choose with "
                    "tl.where, or write to memory with tl.store");
        break;
    case EXPR_ATTRIBUTE:
        lower_error(lo, target->range, "attributes cannot be assigned; use a name of its own");
        break;
    case EXPR_STARRED: // assign_tuple has refused it
        lower_assign(lo, target->left, v, keeps_constexpr);
        break;
    default:
        lower_error(lo, target->range, "cannot assign to this");
        break;
    }
}

/// x: annotation = value. A constexpr stays one; a dtype is what the value must have.
static void lower_annotated(lowering *lo, const ast_stmt *s) {
    annotation a = annotation_read(lo->scope->module, s->annotation);
    const ast_expr *target = s->targets.data[0];
    bool keeps = a.kind == ANNOTATION_CONSTEXPR;
    if (a.kind == ANNOTATION_INVALID)
        lower_error(lo, s->annotation->range, "%s", a.problem);
    else if (a.kind == ANNOTATION_UNKNOWN && !lo->scope->module->is_python)
        lower_error(lo, s->annotation->range,
                    "unknown type in an annotation; expected one such as fp32, tl.int32 or "
                    "constexpr");
    if (!s->value) {
        if (target->kind == EXPR_NAME && keeps)
            lo->scope->keeps_constexpr[scope_slot(lo->scope, target->name)] = true;
        return;
    }
    value v = lower_expr(lo, s->value);
    if (keeps && v.kind == VALUE_IR)
        diag_warning(lo->diag, "not-constexpr", s->value->range,
                     "'%" SV_FMT "' is declared constexpr, and this value is known only at run "
                     "time (%s)",
                     SV_ARG(target->name), value_describe(lo->arena, &v));
    if (a.kind == ANNOTATION_TYPE && value_is_number(&v)) {
        lower_set_range(lo, s->value->range);
        v = sem_convert(lo, v, a.type, s->value->range);
    } else if (a.kind == ANNOTATION_TYPE && v.kind == VALUE_IR &&
               !ir_type_equal(ir_element_type(v.ir->type), a.type)) {
        v = lower_error(lo, s->value->range, "'%" SV_FMT "' is declared %s, and this is %s",
                        SV_ARG(target->name), ir_type_string(lo->arena, a.type),
                        value_describe(lo->arena, &v));
    }
    lower_assign(lo, target, v, keeps);
}

static void lower_assignment(lowering *lo, const ast_stmt *s) {
    if (s->annotation) {
        lower_annotated(lo, s);
        return;
    }
    value v = lower_expr(lo, s->value);
    for (uint32_t i = 0; i < s->targets.len; i++)
        lower_assign(lo, s->targets.data[i], v, false);
}

static void lower_augmented(lowering *lo, const ast_stmt *s) {
    const ast_expr *target = s->targets.data[0];
    if (target->kind != EXPR_NAME) {
        lower_assign(lo, target, value_poison(), false);
        return;
    }
    value x = lower_expr(lo, target);
    value y = lower_expr(lo, s->value);
    src_range place = lower_place(lo, s->range);
    value v = sem_binary(lo, s->op, x, y, place);
    v.range = place;
    if (!value_check_size(lo, &v, s->range))
        v = value_poison();
    lower_assign(lo, target, v, false);
}

// --- return, assert and the rest

static flow lower_return(lowering *lo, const ast_stmt *s) {
    call_frame *f = lo->frames;
    value v = s->value ? lower_expr(lo, s->value) : value_none();
    if (f->runtime_loops) {
        lower_error(lo, s->range,
                    "'return' inside a loop is not supported; let the loop end by its "
                    "condition and return after it");
        return FLOW_NEXT;
    }
    if (f->static_loops && f->regions > f->static_regions) {
        lower_error(lo, s->range,
                    "'return' that depends on a run-time value is not supported inside "
                    "a loop; return after it");
        return FLOW_NEXT;
    }
    scope_set(lo->scope, SCOPE_RESULT, v, s->value ? lower_place(lo, s->value->range) : s->range);
    return FLOW_RETURN;
}

static flow lower_continue(lowering *lo, const ast_stmt *s) {
    if (lo->frames->runtime_loops || lo->frames->static_loops)
        return FLOW_CONTINUE;
    lower_error(lo, s->range, "'continue' stands in no loop");
    return FLOW_NEXT;
}

void lower_add_assert(lowering *lo, ir_value *cond, ir_value *mask, sv text) {
    if (lo->options->no_asserts)
        return;
    ir_op *op = ir_create(&lo->b, OP_ASSERT, (ir_value *[]){cond, mask}, 2, NULL, 0);
    ir_set_str(op, ATTR_TEXT, sv_copy(lo->arena, text));
}

static void lower_assert(lowering *lo, const ast_stmt *s) {
    value c = lower_expr(lo, s->value);
    value text = s->message ? lower_expr(lo, s->message) : value_string(SV(""));
    if (c.kind == VALUE_POISON || text.kind == VALUE_POISON)
        return;
    if (text.kind != VALUE_STRING) {
        lower_error(lo, s->message->range, "the message of an assertion must be a string, got %s",
                    value_describe(lo->arena, &text));
        return;
    }
    if (c.kind == VALUE_TUPLE) {
        lower_error(lo, s->value->range,
                    "an assertion of a tuple always holds; write 'assert condition, message' "
                    "without parentheses");
        return;
    }
    if (value_is_constexpr(&c)) {
        if (!value_truth(&c))
            lower_error(lo, s->value->range, "assertion fails%s%" SV_FMT, text.str.len ? ": " : "",
                        SV_ARG(text.str));
        return;
    }
    lower_set_range(lo, s->range);
    if (c.ir->type.elem != DT_I1) {
        value zero = value_int(0);
        c = sem_compare(lo, AST_NE, c, zero, lower_place(lo, s->value->range));
        if (c.kind != VALUE_IR)
            return;
    }
    lower_add_assert(lo, c.ir, NULL, text.str);
}

/// Statements that are read and refused, and what to do instead.
static void refuse(lowering *lo, const ast_stmt *s) {
    static const struct {
        const char *name, *instead;
    } advice[] = {
        {"with", "; put its body in place"},
        {"try", "; use tl.device_assert for what must hold"},
        {"raise", "; use tl.static_assert or tl.device_assert"},
        {"class", "; use tuples"},
        {"match", "; use if and elif"},
        {"del", "; names need no deleting"},
        {"global", "; pass the value as an argument"},
        {"nonlocal", "; pass the value as an argument"},
    };
    sv name = s->kind == STMT_BREAK    ? SV("break")
              : s->kind == STMT_IMPORT ? SV("import")
              : s->kind == STMT_DEF    ? SV("def")
                                       : s->name;
    const char *instead = s->kind == STMT_BREAK    ? "; use a 'while' whose condition ends the loop"
                          : s->kind == STMT_IMPORT ? "; import at the top of the file"
                          : s->kind == STMT_DEF    ? "; define the function at the top of the file"
                                                   : "";
    for (size_t i = 0; i < sizeof advice / sizeof *advice; i++)
        if (sv_is(name, advice[i].name))
            instead = advice[i].instead;
    lower_error(lo, s->range, "'%" SV_FMT "' is not supported%s", SV_ARG(name), instead);
    if (s->kind == STMT_DEF) // what it would have bound is an error only once
        scope_set(lo->scope, s->name, value_poison(), s->range);
    for (uint32_t i = 0; i < s->num_imports; i++) {
        const ast_import *im = &s->imports[i];
        sv bound = im->alias.len ? im->alias : im->name.len ? im->name : im->path;
        scope_set(lo->scope, bound, value_poison(), s->range);
    }
}

static flow lower_stmt(lowering *lo, const ast_stmt *s) {
    switch (s->kind) {
    case STMT_EXPR:
        if (s->value->kind != EXPR_STRING) // a docstring
            lower_expr(lo, s->value);
        return FLOW_NEXT;
    case STMT_ASSIGN:
        lower_assignment(lo, s);
        return FLOW_NEXT;
    case STMT_AUGASSIGN:
        lower_augmented(lo, s);
        return FLOW_NEXT;
    case STMT_FOR:
        return lower_for(lo, s);
    case STMT_WHILE:
        return lower_while(lo, s);
    case STMT_RETURN:
        return lower_return(lo, s);
    case STMT_ASSERT:
        lower_assert(lo, s);
        return FLOW_NEXT;
    case STMT_IF:
    case STMT_PASS:
        return FLOW_NEXT;
    case STMT_CONTINUE:
        return lower_continue(lo, s);
    case STMT_BREAK:
    case STMT_IMPORT:
    case STMT_DEF:
    case STMT_UNSUPPORTED:
        refuse(lo, s);
        return FLOW_NEXT;
    }
    return FLOW_NEXT;
}

// --- blocks

flow lower_rest(lowering *lo, flow before, ast_stmt *const *stmts, uint32_t n) {
    if (before == FLOW_NEXT)
        return lower_block(lo, stmts, n);
    if (flow_has_ended(before) || n == 0)
        return before;
    fork f;
    bool was_tail = lo->frames->is_tail;
    fork_begin(lo, &f, scope_find(lo->scope, SCOPE_RETURNED)->value.ir, stmts[0]->range);
    fork_enter(lo, &f, 0);
    fork_leave(lo, &f, 0, f.in_loop ? FLOW_CONTINUE : FLOW_RETURN);
    fork_enter(lo, &f, 1);
    scope_remove(lo->scope, SCOPE_RESULT);
    flow how = lower_block(lo, stmts, n);
    fork_leave(lo, &f, 1, how);
    f.ends_function = was_tail;
    return fork_join(lo, &f);
}

flow lower_block(lowering *lo, ast_stmt *const *stmts, uint32_t n) {
    flow how = FLOW_NEXT;
    src_range start = n ? stmts[0]->range : SRC_NONE;
    if (!lower_descend(lo, start))
        n = 0;
    for (uint32_t i = 0; i < n && how == FLOW_NEXT && !lo->frames->has_failed; i++) {
        ast_stmt *const *rest = stmts + i + 1;
        bool took_rest = false;
        if (!lower_count(lo, stmts[i]->range))
            break;
        lower_set_range(lo, stmts[i]->range);
        if (stmts[i]->kind == STMT_IF)
            how = lower_if(lo, stmts[i], rest, n - i - 1, &took_rest);
        else
            how = lower_stmt(lo, stmts[i]);
        if (took_rest)
            break;
        if (how == FLOW_MAYBE) {
            how = lower_rest(lo, how, rest, n - i - 1);
            break;
        }
    }
    lo->depth--;
    return how;
}
