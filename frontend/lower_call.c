// Calls. A built-in is bound and built by builtins.c; a function of the program is inlined: its
// parameters become names of a new scope, its body is lowered in place, and what it returns is the
// value of the call. Compile-time arguments stay compile-time ones inside.
#include "frontend/scope.h"
#include "frontend/semantics.h"

enum { MAX_CALLS = 64 };

// --- binding

static int find_param(const ast_func *f, sv name) {
    for (uint32_t i = 0; i < f->num_params; i++)
        if (sv_equal(f->params[i].name, name) && !f->params[i].is_vararg && !f->params[i].is_kwarg)
            return (int)i;
    return -1;
}

/// Places positional arguments; `self` of a method call comes first.
static bool bind_positional(lowering *lo, const value *callee, const call_args *args, value *bound,
                            bool *is_bound) {
    const ast_func *f = callee->func;
    uint32_t first = callee->self ? 1 : 0, total = args->num_positional + first, next = 0;
    value *all = ARENA_ARRAY(lo->arena, value, total + 1);
    if (callee->self)
        all[0] = *callee->self;
    for (uint32_t i = 0; i < args->num_positional; i++)
        all[i + first] = args->positional[i];
    uint32_t accepted = 0;
    for (uint32_t i = 0; i < f->num_params; i++) {
        const ast_param *p = &f->params[i];
        if (p->is_vararg) {
            bound[i] = value_tuple(lo->arena, all + next, total - next);
            is_bound[i] = true;
            return true;
        }
        if (p->keyword_only || p->is_kwarg)
            continue;
        accepted++;
        if (next < total) {
            bound[i] = all[next++];
            is_bound[i] = true;
        }
    }
    if (next < total)
        lower_error(lo, value_place(&all[next], args->range),
                    "%" SV_FMT "() takes %u argument%s but %u were given", SV_ARG(f->name),
                    accepted, accepted == 1 ? "" : "s", total);
    return next == total;
}

static bool bind_keywords(lowering *lo, const ast_func *f, const call_args *args, value *bound,
                          bool *is_bound) {
    for (uint32_t k = 0; k < args->num_keywords; k++) {
        sv name = args->keyword_names[k];
        src_range place = args->keyword_places ? args->keyword_places[k] : args->range;
        int i = find_param(f, name);
        if (i < 0) {
            lower_error(lo, place, "%" SV_FMT "() has no parameter '%" SV_FMT "'", SV_ARG(f->name),
                        SV_ARG(name));
            return false;
        }
        if (is_bound[i]) {
            lower_error(lo, place, "%" SV_FMT "() got two values for '%" SV_FMT "'",
                        SV_ARG(f->name), SV_ARG(name));
            return false;
        }
        bound[i] = args->keywords[k];
        is_bound[i] = true;
    }
    return true;
}

value lower_default(lowering *lo, const fe_module *m, const ast_expr *e) {
    scope names, *saved = lo->scope;
    scope_init(&names, lo->arena, m);
    names.until = e->range.begin;
    lo->scope = &names;
    value v = lower_expr(lo, e);
    lo->scope = saved;
    return v;
}

/// The same for a function that is called.
static value lower_callee_default(lowering *lo, const ast_param *p, const scope *s,
                                  call_frame *frame) {
    call_frame *saved = lo->frames;
    lo->frames = frame;
    value v = lower_default(lo, s->module, p->default_value);
    lo->frames = saved;
    return v;
}

/// Binds every parameter in the new scope. Mistakes are the caller's.
static bool bind_params(lowering *lo, const value *callee, const call_args *args, scope *s,
                        call_frame *frame) {
    const ast_func *f = callee->func;
    value *bound = ARENA_ARRAY(lo->arena, value, f->num_params + 1);
    bool *is_bound = ARENA_ARRAY(lo->arena, bool, f->num_params + 1);
    if (!bind_positional(lo, callee, args, bound, is_bound) ||
        !bind_keywords(lo, f, args, bound, is_bound))
        return false;
    for (uint32_t i = 0; i < f->num_params; i++) {
        const ast_param *p = &f->params[i];
        if (p->is_kwarg) {
            lower_error(lo, p->range, "'**%" SV_FMT "' is not supported", SV_ARG(p->name));
            return false;
        }
        if (!is_bound[i] && !p->default_value) {
            lower_error(lo, args->range, "%" SV_FMT "() is missing the argument '%" SV_FMT "'",
                        SV_ARG(f->name), SV_ARG(p->name));
            return false;
        }
        if (!is_bound[i])
            bound[i] = lower_callee_default(lo, p, s, frame);
        if (bound[i].kind == VALUE_POISON)
            return false;
        if (frame->at_compile_time && value_has_run_time(&bound[i])) {
            lower_error(lo, value_place(&bound[i], args->range),
                        "%" SV_FMT "() runs at compile time, and '%" SV_FMT "' is known only at "
                        "run time (%s)",
                        SV_ARG(f->name), SV_ARG(p->name), value_describe(lo->arena, &bound[i]));
            return false;
        }
        if (bound[i].kind == VALUE_IR &&
            annotation_read(s->module, p->annotation).kind == ANNOTATION_CONSTEXPR)
            diag_warning(lo->diag, "not-constexpr", value_place(&bound[i], args->range),
                         "'%" SV_FMT "' of %" SV_FMT "() is constexpr, and this value is known "
                         "only at run time (%s)",
                         SV_ARG(p->name), SV_ARG(f->name), value_describe(lo->arena, &bound[i]));
        if (!value_check_size(lo, &bound[i], args->range))
            return false;
    }
    for (uint32_t i = 0; i < f->num_params; i++)
        scope_set(s, f->params[i].name, bound[i],
                  s->module->is_library ? SRC_NONE : f->params[i].range);
    return true;
}

// --- inlining

/// The value of a call whose body ended in `how`.
static value take_result(lowering *lo, const ast_func *f, flow how) {
    const binding *b = scope_find(lo->scope, SCOPE_RESULT);
    if (lo->frames->has_failed || lower_is_stopped(lo))
        return value_poison();
    if (how == FLOW_NEXT || !b)
        return (value){.kind = VALUE_NONE, .func = f};
    if (how == FLOW_MAYBE && b->value.kind != VALUE_NONE && b->value.kind != VALUE_POISON) {
        lower_error(lo, f->range, "'%" SV_FMT "' does not return a value on every path",
                    SV_ARG(f->name));
        diag_note(lo->diag, b->where, "it returns one here");
        return value_poison();
    }
    return b->value;
}

value lower_inline(lowering *lo, const value *callee, const call_args *args) {
    call_frame *caller = lo->frames;
    const fe_module *m = callee->module;
    if (!lower_count(lo, args->range))
        return value_poison();
    if (caller->depth >= MAX_CALLS) {
        lower_error(lo, args->range,
                    "calls are nested more than %d deep; a recursion must end at compile time",
                    MAX_CALLS);
        lower_stop(lo);
        return value_poison();
    }
    scope names, *saved_scope = lo->scope;
    scope_init(&names, lo->arena, m);
    call_frame frame = {.parent = caller, .func = callee->func, .module = m, .call = args->range};
    frame.depth = caller->depth + 1;
    frame.is_tail = true;
    frame.at_compile_time = caller->at_compile_time || program_is_constexpr(callee->func);
    if (m->is_library)
        frame.user_range = caller->module->is_library ? caller->user_range : args->range;
    value result = value_poison();
    if (lower_descend(lo, args->range) && bind_params(lo, callee, args, &names, &frame)) {
        lo->scope = &names;
        lo->frames = &frame;
        flow how = lower_block(lo, callee->func->body.data, callee->func->body.len);
        result = take_result(lo, callee->func, how);
        lo->frames = caller;
        lo->scope = saved_scope;
        caller->has_failed |= frame.has_failed && caller->module->is_library;
    }
    lo->depth--;
    lower_set_range(lo, args->range);
    if (program_is_constexpr(callee->func) && value_has_run_time(&result))
        return lower_error(lo, args->range,
                           "%" SV_FMT "() runs at compile time, but gives a value that is known "
                           "only at run time (%s)",
                           SV_ARG(callee->func->name), value_describe(lo->arena, &result));
    return result;
}

/// tl.float32(x): a number of that type.
static value call_type(lowering *lo, const value *callee, const call_args *args) {
    if (args->num_positional == 1 && !args->num_keywords)
        return sem_cast_type(lo, args->positional[0], callee->type, SV(""), false, args->range);
    return lower_error(lo, args->range, "a type is called with the one value to convert");
}

/// tl.dtype("uint8"): a type by its name.
static value type_by_name(lowering *lo, const call_args *args) {
    const value *name = args->num_positional == 1 ? args->positional : NULL;
    dtype t = name && name->kind == VALUE_STRING ? dtype_from_name(name->str) : DT_VOID;
    if (t == DT_VOID || t == DT_PTR)
        return lower_error(lo, args->range, "tl.dtype() takes the name of a type, such as 'int32'");
    return value_dtype(ir_scalar_type(t));
}

value lower_call(lowering *lo, const value *callee, const call_args *args) {
    switch (callee->kind) {
    case VALUE_POISON:
        return value_poison();
    case VALUE_BUILTIN:
        return builtin_call(lo, callee->builtin, callee->self, args);
    case VALUE_FUNC:
        return lower_inline(lo, callee, args);
    case VALUE_DTYPE:
        return call_type(lo, callee, args);
    case VALUE_MODULE:
        if (sv_is(callee->str, "tl.dtype"))
            return type_by_name(lo, args);
        break;
    default:
        break;
    }
    return lower_error(lo, args->range, "%s cannot be called", value_describe(lo->arena, callee));
}
