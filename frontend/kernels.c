// Which functions of a file are kernels: those that return nothing and that no other function of
// the file calls or passes on, unless they run at compile time. Everything else is a helper, inlined
// where it is called. One walk over the syntax answers both questions.
#include "frontend/program.h"

/// What a walk over one function's body looks for.
typedef struct survey {
    fe_program *program;
    uint32_t function;      ///< index of the function walked
    const name_map *index;  ///< of functions, by name
    bool *is_used;          ///< per function: named in the body of another
    uint32_t *local_in;     ///< per function: the last one (plus 1) where its name is a local one
    const ast_stmt *result; ///< the first `return` of a value
} survey;

static void survey_expr(survey *s, const ast_expr *e);

static void survey_exprs(survey *s, const ast_exprs *list) {
    for (uint32_t i = 0; i < list->len; i++)
        survey_expr(s, list->data[i]);
}

static bool is_target(const ast_expr *e, sv name) {
    bool found = e->kind == EXPR_NAME && sv_equal(e->name, name);
    for (uint32_t i = 0; i < e->items.len && !found; i++)
        found =
            (e->kind == EXPR_TUPLE || e->kind == EXPR_LIST) && is_target(e->items.data[i], name);
    return found;
}

static bool is_assigned(const ast_block *b, sv name) {
    for (uint32_t i = 0; i < b->len; i++) {
        const ast_stmt *st = b->data[i];
        for (uint32_t t = 0; t < st->targets.len; t++)
            if (is_target(st->targets.data[t], name))
                return true;
        if (is_assigned(&st->body, name) || is_assigned(&st->orelse, name))
            return true;
    }
    return false;
}

/// Whether the name is a parameter or a variable of the function, and so no other function.
static bool is_local(const ast_func *f, sv name) {
    for (uint32_t i = 0; i < f->num_params; i++)
        if (sv_equal(f->params[i].name, name))
            return true;
    return is_assigned(&f->body, name);
}

static void survey_name(survey *s, sv name) {
    uint32_t i;
    if (!name_map_get(s->index, name, &i) || i == s->function || s->is_used[i] ||
        s->local_in[i] == s->function + 1)
        return;
    if (is_local(s->program->functions.data[s->function].func, name))
        s->local_in[i] = s->function + 1;
    else
        s->is_used[i] = true;
}

static void survey_expr(survey *s, const ast_expr *e) {
    if (!e)
        return;
    if (e->kind == EXPR_NAME)
        survey_name(s, e->name);
    survey_expr(s, e->left);
    survey_expr(s, e->right);
    survey_expr(s, e->cond);
    survey_exprs(s, &e->items);
    for (uint32_t i = 0; i < e->num_keywords; i++)
        survey_expr(s, e->keywords[i].value);
}

static void survey_block(survey *s, const ast_block *b) {
    for (uint32_t i = 0; i < b->len; i++) {
        const ast_stmt *st = b->data[i];
        bool is_none = !st->value || st->value->kind == EXPR_NONE;
        if (st->kind == STMT_RETURN && !is_none && !s->result)
            s->result = st;
        survey_expr(s, st->value);
        survey_exprs(s, &st->targets);
        survey_block(s, &st->body);
        survey_block(s, &st->orelse);
    }
}

/// *args or **kwargs among the parameters.
static const ast_param *open_param(const ast_func *f) {
    for (uint32_t i = 0; i < f->num_params; i++)
        if (f->params[i].is_vararg || f->params[i].is_kwarg)
            return &f->params[i];
    return NULL;
}

/// Walks every function: gives the first `return` of a value of each, marks those that are used.
static const ast_stmt **survey_all(fe_program *p, bool *is_used) {
    uint32_t n = p->functions.len;
    const ast_stmt **results = ARENA_ARRAY(p->arena, const ast_stmt *, n + 1);
    uint32_t *local_in = ARENA_ARRAY(p->arena, uint32_t, n + 1);
    name_map index = {.arena = p->arena};
    for (uint32_t i = 0; i < n; i++)
        name_map_set(&index, p->functions.data[i].name, i);
    for (uint32_t i = 0; i < n; i++) {
        survey s = {p, i, &index, is_used, local_in, NULL};
        survey_block(&s, &p->functions.data[i].func->body);
        results[i] = s.result;
    }
    return results;
}

void program_find_kernels(fe_program *p) {
    const fe_module *m = p->modules.data[0];
    for (uint32_t i = 0; i < m->symbols.len; i++) {
        const symbol *s = &m->symbols.data[i];
        if (s->kind != SYMBOL_FUNC || program_find(m, s->name) != s)
            continue; // defined again further down
        fe_kernel k = {.name = s->name, .func = s->func};
        program_check_decorators(p, s->func);
        program_read_params(p, m, &k);
        VEC_PUSH(p->arena, p->functions, k);
    }
    uint32_t n = p->functions.len;
    bool *is_used = ARENA_ARRAY(p->arena, bool, n + 1);
    const ast_stmt **results = survey_all(p, is_used);
    for (uint32_t i = 0; i < n; i++)
        if (!is_used[i] && !results[i] && !open_param(p->functions.data[i].func) &&
            !program_is_constexpr(p->functions.data[i].func))
            VEC_PUSH(p->arena, p->kernels, i);
}

bool fe_explain_no_kernels(fe_program *p) {
    uint32_t n = p->functions.len;
    bool *is_used = ARENA_ARRAY(p->arena, bool, n + 1);
    const ast_stmt **results = survey_all(p, is_used);
    bool any = false;
    for (uint32_t i = 0; i < n; i++) {
        const ast_func *f = p->functions.data[i].func;
        const ast_param *open = open_param(f);
        if (is_used[i] || (!results[i] && !open))
            continue;
        diag_error(p->diag, open ? open->range : results[i]->range,
                   open ? "'%" SV_FMT "' is no kernel: a kernel takes a fixed number of parameters"
                        : "'%" SV_FMT "' is no kernel, as it returns a value: a kernel stores its "
                          "results through pointers",
                   SV_ARG(f->name));
        any = true;
    }
    return any;
}
