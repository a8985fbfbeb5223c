// What a program computes, on plain arrays: the reference that every device is compared with. It
// also judges programs: one whose result could depend on the order of a sum, on which of two lanes
// stores last, on a contraction or on a race is not fit for comparison, and the verdict says where.
#ifndef TILE_RANDOM_EVALUATE_H
#define TILE_RANDOM_EVALUATE_H

#include "arith.h"

/// X(id, text)
#define VERDICTS(X)                                                                                \
    X(FIT, "fit")                                                                                  \
    X(INEXACT, "a float result depends on how it is computed")                                     \
    X(ORDER, "a reduction depends on its order")                                                   \
    X(BOUNDS, "an access outside its buffer or another program's part")                            \
    X(RACE, "two lanes store different values in one place")                                       \
    X(TYPES, "types do not match")                                                                 \
    X(UNBOUND, "a variable has no value")                                                          \
    X(TOO_LONG, "too many steps")

typedef enum verdict_kind {
#define X(id, text) V_##id,
    VERDICTS(X)
#undef X
} verdict_kind;
extern const char *const verdict_texts[];

typedef struct verdict {
    verdict_kind kind;
    const node *at; ///< the expression to blame, or NULL
    const stmt *in; ///< the statement that was running
} verdict;

/// The contents of all buffers, by storage.
typedef struct memory {
    cell *data[MAX_BUFFERS];
    uint32_t count[MAX_BUFFERS]; ///< elements
} memory;

/// What the buffers hold before the launch, from the program's seed.
void memory_fill(const program *p, memory *m);
void memory_free(memory *m);

/// A rule of the evaluator that is broken on purpose, to prove that a fault would be noticed.
typedef enum sabotage {
    SABOTAGE_NONE,
    SABOTAGE_SUM,
    SABOTAGE_SHIFT,
    SABOTAGE_TRANSPOSE,
    SABOTAGE_MASK,
    SABOTAGE_SCAN,
} sabotage;

/// Whether each name is assigned before its use, in code that is not reached as well (scope.c).
verdict check_scopes(const program *p);

/// Runs all programs of the grid. The memory is what they leave.
verdict evaluate(const program *p, memory *m, sabotage broken);

#endif
