// Runs host code: the programs of a grid on several threads, each program's warps as fibers that
// switch at barriers, every memory access checked (RULES 14-17).
#ifndef TILE_CODEGEN_HOST_EXEC_H
#define TILE_CODEGEN_HOST_EXEC_H

#include "codegen/codegen.h"

/// Memory that kernels may touch. The owner keeps `base` alive during the run.
typedef struct host_allocation {
    const void *base;
    size_t size_bytes;
    const char *name; ///< for messages, may be NULL
} host_allocation;

/// One kernel argument: a pointer or a scalar's bits (low bytes).
typedef struct host_arg {
    uint64_t bits;
} host_arg;

typedef enum host_order { HOST_ORDER_FORWARD, HOST_ORDER_REVERSE, HOST_ORDER_RANDOM } host_order;

typedef struct host_run {
    const cg_host_code *code;
    uint32_t kernel; ///< index in cg_binary.kernels
    uint32_t grid[3];
    const host_arg *args;
    uint32_t num_args;
    const host_allocation *allocations; ///< all that exist on the device
    uint32_t num_allocations;
    host_order order;
    uint64_t seed;
    unsigned threads; ///< 0: one per processor
    double timeout_s; ///< 0: no limit
} host_run;

typedef enum host_status {
    HOST_OK,
    HOST_OUT_OF_BOUNDS, ///< an access outside every allocation, or outside its argument's
    HOST_ASSERTION,     ///< device assert, or a hint that did not hold
    HOST_DEADLOCK,      ///< a barrier that not all warps reach
    HOST_TIMEOUT,
    HOST_OUT_OF_MEMORY,
} host_status;

/// What went wrong, first error only. `message` is complete: "softmax.tile:7:11: error: ...".
typedef struct host_error {
    char message[1024];
} host_error;

/// Runs the grid to its end. Thread-safe. On an error the remaining programs are not run.
host_status host_exec(const host_run *run, host_error *error);

#endif
