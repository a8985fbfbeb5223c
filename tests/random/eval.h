// Inside the evaluator: values, its memory, and who evaluates what.
#ifndef TILE_RANDOM_EVAL_H
#define TILE_RANDOM_EVAL_H

#include "evaluate.h"

#include <setjmp.h>

typedef struct value {
    type t;
    bool weak;
    cell *c;
} value;

typedef struct binding {
    bool bound;
    uint32_t capacity;
    cell *c;
} binding;

typedef struct evaluator {
    const program *p;
    memory *m;
    sabotage broken;
    bool strict; ///< inside a combine function: rounding is not fit either
    uint32_t pid[3];
    uint32_t linear_pid;
    binding vars[MAX_VARS];
    cell *arena; ///< of intermediate results, reset by each statement
    size_t used;
    uint64_t steps;
    bool continued;     ///< a continue ends the iteration that surrounds it
    bool returned;      ///< a return ends what surrounds it, up to the call
    value return_value; ///< of a helper
    const stmt *current;
    uint32_t *stamp[MAX_BUFFERS]; ///< the store that last wrote each element
    uint32_t stores;
    verdict verdict;
    jmp_buf unfit;
} evaluator;

/// One line along an axis: `count` elements, `stride` apart.
typedef struct line {
    const cell *at;
    uint32_t count, stride;
} line;
static inline cell eval_pick(line l, uint32_t i) { return l.at[(size_t)i * l.stride]; }
/// Line i of a tile; axis -1: all of it.
line eval_line(const value *v, int axis, uint32_t i);
/// The sum of a line of floats; EXACT only if every partial sum in every order is.
exactness eval_sum_floats(elem t, line l, double *out);
/// The type in which a named reduction combines its elements.
elem eval_compute_elem(op o, elem t);
/// Combines one element of each tile with another.
void eval_combine(evaluator *ev, const node *n, const cell *a, const cell *b, cell *out);
bool eval_same_cell(elem t, cell a, cell b);
/// The tiles that n combines, in one shape; returns how many.
int eval_tiles(evaluator *ev, const node *n, value *in);

void eval_fail(evaluator *ev, verdict_kind kind, const node *at) __attribute__((noreturn));
cell *eval_cells(evaluator *ev, uint32_t n);
value eval(evaluator *ev, const node *n);
/// The value in the shape of t: the same cells where nothing repeats.
cell *eval_spread(evaluator *ev, value v, type t, const node *at);
/// v's cells as elements of type `to`.
value eval_convert(evaluator *ev, value v, elem to, const node *at);
void eval_check(evaluator *ev, exactness e, const node *at);
void eval_bind(evaluator *ev, int var, value v, const node *at);
void eval_block(evaluator *ev, const block *b);
/// All results of REDUCE, FOLD and EXTREMUM nodes; returns how many.
int eval_reduction(evaluator *ev, const node *n, value *out);
/// Scans, sorting, histogram and gather (eval_scan.c): all results; returns how many.
int eval_scan(evaluator *ev, const node *n, value *out);
/// All results of a call.
int eval_call(evaluator *ev, const node *n, value *out);
value eval_load(evaluator *ev, const node *n);
value eval_atomic_result(evaluator *ev, const node *n);
void eval_store(evaluator *ev, const stmt *s);
void eval_atomic(evaluator *ev, const stmt *s);

#endif
