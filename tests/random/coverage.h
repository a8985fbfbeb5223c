// How often each kind of expression, operator, type and statement occurred in the programs.
#ifndef TILE_RANDOM_COVERAGE_H
#define TILE_RANDOM_COVERAGE_H

#include "tree.h"

typedef struct coverage {
    uint64_t nodes[NUM_NODE_KINDS], ops[NUM_OPS], elems[NUM_ELEMS], stmts[NUM_STMT_KINDS];
    uint64_t ranks[MAX_RANK + 1], sizes[16]; ///< sizes by log2
    uint64_t programs;
} coverage;

/// Adds p's; safe among processes that share c.
void coverage_add(coverage *c, const program *p);
void coverage_print(const coverage *c);

#endif
