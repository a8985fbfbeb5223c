// What a name stands for. A function's variables come first, then the top level of its file, then
// what every file knows: tl and triton, the built-ins by their bare names, the dtypes. Global
// constants are computed anew at each use, so that a program can be shared by several lowerings.
#include "frontend/builtins.h"
#include "frontend/scope.h"

value lower_module_member(lowering *lo, sv module, sv name, src_range range) {
    sv sub = program_triton_submodule(module, name);
    value m = {.kind = VALUE_MODULE, .range = range, .str = sub.len ? sub : module};
    return sub.len ? m : sem_attribute(lo, m, name, range);
}

/// The value of NAME = expression at the top level of a module.
static value lower_global(lowering *lo, const fe_module *m, const symbol *s, src_range use) {
    if (!lower_descend(lo, use) || !lower_count(lo, use)) {
        lo->depth--;
        return value_poison();
    }
    scope globals, *saved = lo->scope;
    scope_init(&globals, lo->arena, m);
    globals.until = s->range.begin;
    lo->scope = &globals;
    value v = lower_expr(lo, s->global->value);
    lo->scope = saved;
    lo->depth--;
    if (v.kind == VALUE_IR)
        v = lower_error(lo, use,
                        "'%" SV_FMT "' is not known at compile time; a kernel can use globals that "
                        "are constants, and takes the rest as arguments",
                        SV_ARG(s->name));
    annotation a = annotation_read(m, s->global->annotation);
    if (!m->is_python && a.kind != ANNOTATION_NONE && a.kind != ANNOTATION_CONSTEXPR)
        v = lower_error(lo, s->global->annotation->range,
                        "a constant of the file is annotated with constexpr, or not at all");
    v.defined = s->range;
    return v;
}

static value lower_symbol(lowering *lo, const fe_module *m, const symbol *s, src_range range) {
    switch (s->kind) {
    case SYMBOL_FUNC:
        return (value){.kind = VALUE_FUNC, .func = s->func, .module = m};
    case SYMBOL_GLOBAL:
        return lower_global(lo, m, s, range);
    case SYMBOL_TRITON:
        if (s->member.len)
            return lower_module_member(lo, s->path, s->member, range);
        return (value){.kind = VALUE_MODULE, .str = s->path};
    case SYMBOL_FOREIGN: // a .tile file has had its error at the import
        if (!m->is_python)
            return value_poison();
        break;
    case SYMBOL_IMPORT:
        break;
    }
    if (s->problem) {
        value v =
            lower_error(lo, range, "'%" SV_FMT "' cannot be used: %s", SV_ARG(s->name), s->problem);
        diag_note(lo->diag, s->range, "it is imported here");
        return v;
    }
    return lower_error(lo, range,
                       "'%" SV_FMT "' is imported from '%" SV_FMT
                       "', which kernels cannot use; pass what is needed of it as an argument",
                       SV_ARG(s->name), SV_ARG(s->path));
}

/// Reports a name that has no value here, and binds it so that it is reported once.
static value report_unbound(lowering *lo, sv name, const binding *b, src_range range) {
    if (b->state == BINDING_LOOP_VAR) {
        lower_error(lo, range,
                    "'%" SV_FMT "' is the variable of a loop and has no value after it; assign it "
                    "to another name in the loop's body",
                    SV_ARG(name));
    } else {
        lower_error(lo, range,
                    "'%" SV_FMT "' may have no value here: it is assigned only in a branch or a "
                    "loop's body; give it a value before",
                    SV_ARG(name));
    }
    if (b->where.file)
        diag_note(lo->diag, b->where, "it is assigned here");
    scope_set(lo->scope, name, value_poison(), b->where);
    return value_poison();
}

static value report_unknown(lowering *lo, sv name, src_range range) {
    name_guess g = guess_begin(name);
    const fe_module *m = lo->scope->module;
    for (uint32_t i = 0; i < lo->scope->len; i++)
        if (lo->scope->slots[i] && lo->scope->names[i].data[0] != '$')
            guess_try(&g, lo->scope->names[i]);
    for (uint32_t i = 0; i < m->symbols.len; i++)
        guess_try(&g, m->symbols.data[i].name);
    const char *hint = g.best.len ? guess_text(lo, &g) : builtin_suggest(lo, SV(""), name);
    lower_error(lo, range, "name '%" SV_FMT "' is not defined%s", SV_ARG(name), hint);
    scope_set(lo->scope, name, value_poison(), SRC_NONE);
    return value_poison();
}

/// The top-level definition that a name means, in *m; NULL if there is none.
static const symbol *find_global(const scope *in, const fe_module **m, sv name) {
    *m = in->module;
    if (!in->until)
        return program_resolve(m, name);
    const symbol *s = program_find_before(*m, name, in->until);
    if (!s || s->kind != SYMBOL_IMPORT)
        return s;
    *m = s->from_module;
    return program_resolve(m, s->member);
}

value lower_name(lowering *lo, sv name, src_range range) {
    const binding *b = scope_find(lo->scope, name);
    if (b && b->state != BINDING_VALUE)
        return report_unbound(lo, name, b, range);
    if (b) {
        value v = b->value;
        v.defined = b->where;
        return v;
    }
    const fe_module *m;
    const symbol *s = find_global(lo->scope, &m, name);
    if (s)
        return lower_symbol(lo, m, s, range);
    const symbol *later = program_find(m, name);
    if (later && lo->scope->until) {
        lower_error(lo, range, "'%" SV_FMT "' is defined only further down", SV_ARG(name));
        diag_note(lo->diag, later->range, "it is defined here");
        return value_poison();
    }
    if (sv_is(name, "tl") || sv_is(name, "triton"))
        return (value){.kind = VALUE_MODULE, .str = name};
    if (sv_is(name, "libdevice"))
        return (value){.kind = VALUE_MODULE, .str = name};
    const builtin *bi = builtin_find(SV(""), name);
    if (bi)
        return builtin_value(lo, bi, SV(""), range);
    dtype t = dtype_from_name(name);
    if (t != DT_VOID)
        return value_dtype(ir_scalar_type(t));
    return report_unknown(lo, name, range);
}
