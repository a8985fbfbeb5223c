// What @triton.autotune and @triton.heuristics say of a kernel's parameters. Nothing is searched and
// no heuristic is run: the configs are there for the caller to try (tile_kernel_get_config), the
// values of the first become the defaults of the parameters that they name, so that a kernel can be
// compiled as it lies, and a warning says what is left to do.
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

/// An option of a Config, by its place or name; 0 if it is not given, or no plain number.
static uint32_t option(const ast_expr *config, uint32_t place, const char *name) {
    const ast_expr *e = argument(config, place, name);
    return e && e->kind == EXPR_INT && !e->int_overflow ? (uint32_t)e->int_value : 0;
}

static bool has_param(const fe_kernel *k, sv name) {
    for (uint32_t i = 0; i < k->num_params; i++)
        if (sv_equal(k->params[i].name, name))
            return true;
    return false;
}

/// triton.Config({'NAME': value, ...}, num_warps, num_stages, num_ctas, maxnreg): what it says of
/// the kernel's parameters in literals. The keys and values of a dict alternate.
static bool read_config(fe_program *p, const fe_kernel *k, const ast_expr *e, fe_config *out) {
    if (e->kind != EXPR_CALL || !sv_is(e->left->name, "Config"))
        return false;
    const ast_expr *dict = argument(e, 0, "kwargs");
    if (!dict || dict->kind != EXPR_UNSUPPORTED || !sv_is(dict->name, "dict"))
        return false;
    uint32_t n = dict->items.len / 2;
    *out = (fe_config){.names = ARENA_ARRAY(p->arena, sv, n + 1),
                       .values = ARENA_ARRAY(p->arena, fe_constant, n + 1),
                       .num_warps = option(e, 1, "num_warps"),
                       .num_stages = option(e, 2, "num_stages"),
                       .num_ctas = option(e, 3, "num_ctas"),
                       .maxnreg = option(e, 4, "maxnreg")};
    for (uint32_t i = 0; i < n; i++) {
        const ast_expr *key = dict->items.data[2 * i], *v = dict->items.data[2 * i + 1];
        if (!key || !v || key->kind != EXPR_STRING || !has_param(k, key->str) ||
            !literal(v, &out->values[out->num_values]))
            continue;
        out->names[out->num_values++] = key->str;
    }
    return true;
}

/// The configs of an @autotune that are written out.
static void read_configs(fe_program *p, const fe_module *m, fe_kernel *k, const ast_expr *e) {
    const ast_expr *configs = e->kind == EXPR_CALL ? argument(e, 0, "configs") : NULL;
    const ast_expr *list = configs ? find_list(m, configs) : NULL;
    if (!list)
        return;
    k->configs = ARENA_ARRAY(p->arena, fe_config, list->items.len + 1);
    for (uint32_t i = 0; i < list->items.len; i++)
        k->num_configs += read_config(p, k, list->items.data[i], &k->configs[k->num_configs]);
}

/// The first config's values become defaults.
static void take_values(fe_kernel *k, const fe_config *c) {
    for (uint32_t i = 0; i < c->num_values; i++)
        for (uint32_t n = 0; n < k->num_params; n++) {
            fe_param *p = &k->params[n];
            if (!sv_equal(p->name, c->names[i]) || !p->is_constexpr ||
                k->func->params[n].default_value)
                continue;
            p->has_default = true;
            p->default_value = c->values[i];
        }
}

void program_read_tuning(fe_program *p, const fe_module *m, fe_kernel *k) {
    for (uint32_t i = 0; i < k->func->decorators.len; i++) {
        const ast_expr *e = k->func->decorators.data[i];
        sv name = program_decorator_name(e);
        bool tunes = sv_is(name, "autotune");
        if (!tunes && !sv_is(name, "heuristics"))
            continue;
        if (tunes)
            read_configs(p, m, k, e);
        if (tunes && k->num_configs)
            take_values(k, &k->configs[0]);
        diag_warning(p->diag, "not-applied", e->range,
                     tunes && k->num_configs
                         ? "@%" SV_FMT " is not applied yet; the values of its first config are "
                           "the defaults, without its options"
                         : "@%" SV_FMT " is not applied yet; give the values and options that "
                           "it would choose",
                     SV_ARG(name));
    }
}
