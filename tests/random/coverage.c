// See coverage.h.
#include "coverage.h"

#include <inttypes.h>
#include <stdio.h>

static void add(uint64_t *counter) { __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED); }

static void count_node(node **at, void *ctx) {
    coverage *c = ctx;
    const node *n = *at;
    static const bool has_op[NUM_NODE_KINDS] = {
        [N_UNARY] = true,    [N_BINARY] = true, [N_COMPARE] = true, [N_REDUCE] = true,
        [N_EXTREMUM] = true, [N_MATH] = true,   [N_ATOMIC] = true,  [N_SCAN] = true};
    add(&c->nodes[n->kind]);
    if (has_op[n->kind])
        add(&c->ops[n->op]);
    if (n->type.elem < NUM_ELEMS)
        add(&c->elems[n->type.elem]);
    add(&c->ranks[n->type.rank]);
    if (n->type.rank)
        add(&c->sizes[__builtin_ctz(numel(n->type))]);
}

static void count_block(block *b, void *ctx) {
    for (int i = 0; i < b->count; i++)
        add(&((coverage *)ctx)->stmts[b->at[i]->kind]);
}

void coverage_add(coverage *c, const program *p) {
    add(&c->programs);
    walk_nodes((program *)p, count_node, c);
    walk_blocks((program *)p, count_block, c);
}

static void print_counts(const char *title, const uint64_t *counts, const char *const *names,
                         int n) {
    printf("%s:\n", title);
    for (int i = 0; i < n; i++)
        if (names)
            printf("  %10" PRIu64 "  %s\n", counts[i], names[i]);
        else
            printf("  %10" PRIu64 "  %d\n", counts[i], i);
}

void coverage_print(const coverage *c) {
    static const char *const elem_names[NUM_ELEMS] = {
#define X(id, name, ...) name,
        ELEMS(X)
#undef X
    };
    printf("coverage of %" PRIu64 " programs\n", c->programs);
    print_counts("statements", c->stmts, stmt_names, NUM_STMT_KINDS);
    print_counts("expressions", c->nodes, node_names, NUM_NODE_KINDS);
    print_counts("operators", c->ops, op_texts, NUM_OPS);
    print_counts("element types", c->elems, elem_names, NUM_ELEMS);
    print_counts("ranks", c->ranks, NULL, MAX_RANK + 1);
    print_counts("log2 of the elements of tiles", c->sizes, NULL, 14);
}
