// Names by the text alone: each must be assigned before its use in every part of the program, also
// in what this launch never reaches (a loop of no rounds, a branch not taken), since the compiler
// reads that too. The evaluator asks here first.
#include "evaluate.h"

#include <string.h>

typedef struct scope {
    bool bound[MAX_VARS];
    const stmt *in; ///< the statement that is looked at
    verdict verdict;
} scope;

static void check_node(scope *s, const node *n) {
    if (!n || s->verdict.kind != V_FIT)
        return;
    if (n->kind == N_VAR && !s->bound[n->id])
        s->verdict = (verdict){.kind = V_UNBOUND, .at = n, .in = s->in};
    for (int i = 0; i < MAX_KIDS; i++)
        check_node(s, n->kid[i]);
}

static void check_block(scope *s, const block *b);

/// Names that a block makes end with it; a loop's variable does, too.
static void check_inner(scope *s, const block *b, int variable) {
    bool before[MAX_VARS];
    memcpy(before, s->bound, sizeof before);
    if (variable >= 0)
        s->bound[variable] = true;
    check_block(s, b);
    memcpy(s->bound, before, sizeof before);
    if (variable >= 0)
        s->bound[variable] = false;
}

static void check_block(scope *s, const block *b) {
    for (int i = 0; i < b->count; i++) {
        const stmt *at = b->at[i];
        bool loop = at->kind == S_FOR || at->kind == S_STATIC_FOR;
        s->in = at;
        for (int k = 0; k < 3; k++)
            check_node(s, at->e[k]);
        check_inner(s, &at->body, loop ? at->target[0] : -1);
        check_inner(s, &at->other, -1);
        for (int k = 0; !loop && k < at->num_targets; k++)
            s->bound[at->target[k]] = true;
    }
}

verdict check_scopes(const program *p) {
    scope s = {0};
    for (int i = 0; i < p->num_vars; i++)
        s.bound[i] = p->vars[i].role == ROLE_PARAM;
    check_block(&s, &p->body);
    for (int i = 0; i < p->num_funcs; i++) {
        const func *f = &p->funcs[i];
        memset(s.bound, 0, sizeof s.bound);
        for (int k = 0; k < f->num_params; k++)
            s.bound[f->param[k]] = true;
        check_block(&s, &f->body);
        s.in = NULL;
        for (int k = 0; k < f->num_results; k++)
            check_node(&s, f->result[k]);
    }
    return s.verdict;
}
