// What @triton.autotune and @triton.heuristics say of a kernel's parameters. Nothing is searched and
// no heuristic is run: the values of the first config become the defaults of the parameters that they
// name, so that a kernel can be compiled as it lies, and a warning says what is left to the caller.
// A Python file may compute its configs in any way; only what is written out is read.
#include "frontend/program.h"

/// `configs` itself, if it is a list, or the list that a constant of the file of that name is.
static const ast_expr *find_list(const fe_module *m, const ast_expr *e) {
    if (e->kind == EXPR_NAME) {
        const symbol *s = program_find(m, e->name);
        if (!s || s->kind != SYMBOL_GLOBAL)
            return NULL;
        e = s->global->value;
    }
    return e->kind == EXPR_LIST || e->kind == EXPR_TUPLE ? e : NULL;
}

/// The argument of a call by its place, or by its name.
static const ast_expr *argument(const ast_expr *call, uint32_t place, const char *name) {
    for (uint32_t i = 0; i < call->num_keywords; i++)
        if (sv_is(call->keywords[i].name, name))
            return call->keywords[i].value;
    return place < call->items.len ? call->items.data[place] : NULL;
}

/// The values of the first triton.Config of a decorator: a dict, whose keys and values alternate.
static const ast_expr *first_config(const fe_module *m, const ast_expr *decorator) {
    const ast_expr *configs =
        decorator->kind == EXPR_CALL ? argument(decorator, 0, "configs") : NULL;
    const ast_expr *list = configs ? find_list(m, configs) : NULL;
    const ast_expr *config = list && list->items.len ? list->items.data[0] : NULL;
    if (!config || config->kind != EXPR_CALL || !sv_is(config->left->name, "Config"))
        return NULL;
    const ast_expr *values = argument(config, 0, "kwargs");
    return values && values->kind == EXPR_UNSUPPORTED && sv_is(values->name, "dict") ? values
                                                                                     : NULL;
}

/// A literal as a constant.
static bool literal(const ast_expr *e, fe_constant *out) {
    *out = (fe_constant){.i = (int64_t)e->int_value, .f = e->float_value, .str = e->str};
    if (e->kind == EXPR_BOOL)
        out->i = e->bool_value;
    out->kind = e->kind == EXPR_BOOL     ? FE_BOOL
                : e->kind == EXPR_INT    ? FE_INT
                : e->kind == EXPR_FLOAT  ? FE_FLOAT
                : e->kind == EXPR_STRING ? FE_STRING
                                         : FE_NONE;
    return e->kind == EXPR_NONE || (out->kind != FE_NONE && !e->int_overflow);
}

static void take_values(fe_kernel *k, const ast_expr *values) {
    for (uint32_t i = 0; i + 1 < values->items.len; i += 2) {
        const ast_expr *key = values->items.data[i], *v = values->items.data[i + 1];
        for (uint32_t n = 0; key && v && key->kind == EXPR_STRING && n < k->num_params; n++) {
            fe_param *p = &k->params[n];
            if (sv_equal(p->name, key->str) && p->is_constexpr && !k->func->params[n].default_value)
                p->has_default = literal(v, &p->default_value);
        }
    }
}

void program_read_tuning(fe_program *p, const fe_module *m, fe_kernel *k) {
    for (uint32_t i = 0; i < k->func->decorators.len; i++) {
        const ast_expr *e = k->func->decorators.data[i];
        sv name = program_decorator_name(e);
        bool tunes = sv_is(name, "autotune");
        if (!tunes && !sv_is(name, "heuristics"))
            continue;
        const ast_expr *values = tunes ? first_config(m, e) : NULL;
        if (values)
            take_values(k, values);
        diag_warning(p->diag, "not-applied", e->range,
                     values ? "@%" SV_FMT " is not applied yet; the values of its first config are "
                              "the defaults, without its options"
                            : "@%" SV_FMT " is not applied yet; give the values and options that "
                              "it would choose",
                     SV_ARG(name));
    }
}
