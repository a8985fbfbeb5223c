// Which functions of a file are kernels: those that return nothing and that no other function of
// the file calls or passes on. Everything else is a helper, inlined where it is called. One walk
// over the syntax answers both questions.
#include "frontend/program.h"

/// What a walk over one function's body looks for.
typedef struct survey {
    fe_program *program;
    uint32_t function; ///< index of the function walked
    bool *is_used;     ///< per function: named in the body of another
    bool returns_value;
} survey;

static void survey_expr(survey *s, const ast_expr *e);

static void survey_exprs(survey *s, const ast_exprs *list) {
    for (uint32_t i = 0; i < list->len; i++)
        survey_expr(s, list->data[i]);
}

static void survey_name(survey *s, sv name) {
    for (uint32_t i = 0; i < s->program->functions.len; i++)
        if (i != s->function && sv_equal(s->program->functions.data[i].name, name))
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
        s->returns_value |= st->kind == STMT_RETURN && !is_none;
        survey_expr(s, st->value);
        survey_exprs(s, &st->targets);
        survey_block(s, &st->body);
        survey_block(s, &st->orelse);
    }
}

static bool takes_any_number(const ast_func *f) {
    for (uint32_t i = 0; i < f->num_params; i++)
        if (f->params[i].is_vararg || f->params[i].is_kwarg)
            return true;
    return false;
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
    bool *returns = ARENA_ARRAY(p->arena, bool, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        survey s = {.program = p, .function = i, .is_used = is_used};
        survey_block(&s, &p->functions.data[i].func->body);
        returns[i] = s.returns_value;
    }
    for (uint32_t i = 0; i < n; i++)
        if (!is_used[i] && !returns[i] && !takes_any_number(p->functions.data[i].func))
            VEC_PUSH(p->arena, p->kernels, i);
}
