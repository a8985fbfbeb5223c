// Shrinks a program that fails to a few lines that still fail in the same way.
#ifndef TILE_RANDOM_REDUCE_H
#define TILE_RANDOM_REDUCE_H

#include "run.h"

typedef struct failure {
    uint64_t seed;
    variant variant;
    outcome kind;
    char message[400];
} failure;

/// Runs p in one variant in a child process of its own, so that a crash or a hang is a result.
/// V_FIT is asked for first: what is not fit to be compared is RUN_OK.
outcome run_guarded(runner *warm, const char *device, const program *p, const variant *v,
                    sabotage broken, char *why, size_t size);

/// The smallest program found within so many seconds; the caller destroys it. f->message becomes
/// its.
program *reduce_failure(const program *p, failure *f, const char *device, sabotage broken,
                        double seconds);

#endif
