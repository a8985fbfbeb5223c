// One program on a device, in several ways that must not matter: numbers of warps and of CTAs, the
// order in which the cpu device runs them, optimizations left out. Uses the public API only.
#ifndef TILE_RANDOM_RUN_H
#define TILE_RANDOM_RUN_H

#include "evaluate.h"
#include "print.h"

#include <tile.h>

/// X(id, text)
#define OUTCOMES(X)                                                                                \
    X(OK, "right")                                                                                 \
    X(WRONG, "wrong result")                                                                       \
    X(TOO_LARGE, "refused for its size")                                                           \
    X(COMPILE, "does not compile")                                                                 \
    X(LAUNCH, "launch failed")                                                                     \
    X(CRASH, "crash")                                                                              \
    X(TIMEOUT, "no end")

typedef enum outcome {
#define X(id, text) RUN_##id,
    OUTCOMES(X)
#undef X
} outcome;
extern const char *const outcome_texts[];

typedef enum warp_order { ORDER_FORWARD, ORDER_REVERSE, ORDER_RANDOM, NUM_ORDERS } warp_order;

typedef struct variant {
    uint32_t num_warps;
    warp_order order;  ///< cpu only
    const char *skip;  ///< passes left out, comma-separated, or ""
    uint32_t num_ctas; ///< 1 where the device has no clusters
} variant;

enum { MAX_VARIANTS = 40 };

typedef struct runner {
    char device[32];
    tile_device *open[NUM_ORDERS]; ///< opened when first needed; cuda: the first only
    bool is_cuda;
} runner;

/// False with a message if there is no such device.
tile_status runner_open(runner *r, const char *device, char *message, size_t size);
void runner_close(runner *r);

/// The variants in which a program runs: a few that change from seed to seed, or all.
int choose_variants(const program *p, bool is_cuda, bool full, variant *out);
void describe_variant(const variant *v, text *out);

/// Runs p; `want` is what evaluate left. On failure `why` says what is wrong.
outcome run_program(runner *r, const program *p, const memory *want, const variant *v, char *why,
                    size_t size);

/// Seconds of a clock that never jumps.
double now(void);

#endif
