// What generated host code and its runtime share. Generated code is one function per kernel, void
// (host_warp *); it runs one warp of one program and calls the functions below for everything that
// is not plain arithmetic. A lane value crosses that border through memory: an array of 32
// elements, lane 0 first. Names and signatures stand in one list, from which target_host.c declares
// them and host_jit.c binds them.
#ifndef TILE_CODEGEN_HOST_RT_H
#define TILE_CODEGEN_HOST_RT_H

#include "codegen/host_exec.h"
#include "codegen/host_fiber.h"

enum {
    HOST_LANES = 32,
    HOST_MAX_GROUP_BYTES = 16, ///< widest access of one lane
    HOST_NO_SITE = -1,         ///< as uint32_t: nothing in the source is to blame
    HOST_SHARED_POISON = 0xff, ///< a NaN in every float format, -1 in every integer
};

/// What an access site does, for its message.
typedef enum host_site_kind {
    HOST_SITE_LOAD,
    HOST_SITE_STORE,
    HOST_SITE_ATOMIC,
    HOST_SITE_BARRIER,
    HOST_SITE_LOOP,
    HOST_SITE_ASSERT,
    HOST_SITE_HINT,
    HOST_SITE_PRINT,
} host_site_kind;

typedef enum host_atomic_kind {
    HOST_ATOMIC_ADD,
    HOST_ATOMIC_MAX,
    HOST_ATOMIC_MIN,
    HOST_ATOMIC_AND,
    HOST_ATOMIC_OR,
    HOST_ATOMIC_XOR,
    HOST_ATOMIC_XCHG,
    HOST_ATOMIC_CAS,
} host_atomic_kind;

/// How an access gives its 32 addresses: as they are, or as a base and 32-bit element offsets.
typedef enum host_addressing {
    HOST_ADDRESSES,        ///< uint64_t each; the base is 0
    HOST_SIGNED_OFFSETS,   ///< int32_t each
    HOST_UNSIGNED_OFFSETS, ///< uint32_t each
} host_addressing;

/// A place in the source that a runtime call may have to name, and the constant facts of that call.
/// Generated code passes its index.
typedef struct host_site {
    const char *file; ///< NULL: no position is known
    uint32_t line, column;
    host_site_kind kind;
    dtype elem;  ///< of the access or of the printed value
    uint8_t vec; ///< consecutive elements per lane; 0: of a scalar condition
    host_atomic_kind atomic;
    host_addressing addressing;
    int root;         ///< parameter the pointer derives from, or -1
    const char *name; ///< that parameter's name, may be NULL
    const char *text; ///< of an assertion, a hint, or the prefix of a print
    bool hex;         ///< print the bits
    uint8_t rank;     ///< of a printed tile
    uint32_t shape[IR_MAX_RANK];
} host_site;

typedef struct host_warp host_warp;
typedef void host_kernel_fn(host_warp *w);

/// One compiled kernel.
typedef struct host_kernel {
    host_kernel_fn *entry;
    uint32_t num_warps, num_ctas, shared_bytes, num_params;
    size_t stack_bytes; ///< what a warp's fiber may need
} host_kernel;

/// Everything that outlives the compilation. Immutable once made, so any thread may run it.
struct cg_host_code {
    host_kernel *kernels;
    uint32_t num_kernels;
    host_site *sites;
    uint32_t num_sites;
    char *strings; ///< what the sites point into
    void *jit;     ///< the machine code's owner
};

typedef enum host_warp_state {
    WARP_READY,
    WARP_AT_BARRIER,         ///< of its CTA
    WARP_AT_CLUSTER_BARRIER, ///< of all CTAs of the program
    WARP_DONE,
    WARP_STOPPED
} host_warp_state;

typedef struct host_worker host_worker;
typedef struct host_copies host_copies;

/// One warp of the program that a worker is running. Generated code reads the first part.
struct host_warp {
    int32_t program_id[3], num_programs[3];
    int32_t warp_id, cta_rank;
    int32_t lane_ids[HOST_LANES]; ///< 0, 1, 2 ...: read, so that LLVM does not know them
    const host_arg *args;
    // For the runtime only.
    uint8_t *shared; ///< of its CTA
    uint32_t shared_bytes;
    const host_allocation *const *roots; ///< by parameter: the allocation it points into, or NULL
    const host_site *sites;
    const host_run *run;
    host_worker *worker;
    host_kernel_fn *entry;
    host_warp_state state;
    uint32_t site;        ///< of the barrier it waits at
    uint32_t poll_budget; ///< loop iterations until the clock is read again
    host_copies *copies;  ///< on their way into shared memory; NULL: none so far
    host_fiber fiber;
};

/// Name and signature of every function that generated code calls: result, then parameters.
/// v void, p pointer, i uint32_t, l uint64_t.
#define HOST_RUNTIME(X)                                                                            \
    X(host_load, "vpilpppi")                                                                       \
    X(host_store, "vpilppi")                                                                       \
    X(host_load_scalar, "lpili")                                                                   \
    X(host_store_scalar, "vpilli")                                                                 \
    X(host_atomic, "vpilppppi")                                                                    \
    X(host_atomic_scalar, "lpillli")                                                               \
    X(host_shared_load, "vpiippp")                                                                 \
    X(host_shared_store, "vpiipppi")                                                               \
    X(host_shared_count, "vppi")                                                                   \
    X(host_async_store, "vpipp")                                                                   \
    X(host_async_commit, "vp")                                                                     \
    X(host_async_wait, "vpi")                                                                      \
    X(host_barrier, "vpi")                                                                         \
    X(host_cluster_barrier, "vpi")                                                                 \
    X(host_poll, "vpi")                                                                            \
    X(host_assert, "vpii")                                                                         \
    X(host_print, "vpippi")                                                                        \
    X(host_shuffle, "vippp")                                                                       \
    X(host_clock, "vp")                                                                            \
    X(host_math, "viippi")                                                                         \
    X(host_remainder, "vipppi")                                                                    \
    X(host_divide, "vipppi")                                                                       \
    X(host_convert, "viipp")

// --- host_memory.c. `places` are the addresses or offsets (host_site.addressing) of each lane's
// first element; `values` hold element k of lane l at [k * 32 + l]. A lane whose bit of `mask` is 0
// touches nothing. An access that is not allowed stops the program and does not return.

/// Inactive lanes get `other`, one register for every k; NULL: 0.
void host_load(host_warp *w, uint32_t site, uint64_t base, const void *places, const void *other,
               void *values, uint32_t mask);
void host_store(host_warp *w, uint32_t site, uint64_t base, const void *places, const void *values,
                uint32_t mask);
/// Bits of one element, 0 if not active.
uint64_t host_load_scalar(host_warp *w, uint32_t site, uint64_t pointer, uint32_t active);
void host_store_scalar(host_warp *w, uint32_t site, uint64_t pointer, uint64_t bits,
                       uint32_t active);
/// Lane after lane. `old` gets the values before, 0 in inactive lanes; `compares` only for CAS.
void host_atomic(host_warp *w, uint32_t site, uint64_t base, const void *places,
                 const void *compares, const void *values, void *old, uint32_t mask);
uint64_t host_atomic_scalar(host_warp *w, uint32_t site, uint64_t pointer, uint64_t compare,
                            uint64_t value, uint32_t active);
/// Shared memory of CTAs `ctas` (NULL: the own one) at byte offsets, of 32 lanes; `vec` elements of
/// `bytes` bytes each.
void host_shared_load(host_warp *w, uint32_t bytes, uint32_t vec, const uint32_t *ctas,
                      const uint32_t *offsets, void *values);
void host_shared_store(host_warp *w, uint32_t bytes, uint32_t vec, const uint32_t *ctas,
                       const uint32_t *offsets, const void *values, uint32_t mask);
/// Adds 1 to the 32-bit integers at byte offsets of the own shared memory, lane after lane.
void host_shared_count(host_warp *w, const uint32_t *offsets, uint32_t mask);

// --- host_async.c
/// Puts 32 elements on their way to byte offsets of shared memory, which is poisoned until then.
void host_async_store(host_warp *w, uint32_t bytes, const uint32_t *offsets, const void *values);
/// Closes a group of them.
void host_async_commit(host_warp *w);
/// Lets all but the last `pending` groups land.
void host_async_wait(host_warp *w, uint32_t pending);
/// At a program's start: forgets what has not landed. At the worker's end: frees all.
void host_async_begin(host_warp *w);
void host_async_end(host_warp *w);

// --- host_exec.c
void host_barrier(host_warp *w, uint32_t site);
void host_cluster_barrier(host_warp *w, uint32_t site);
/// The shared memory of a CTA of the warp's program; NULL if that CTA has exited or does not exist.
uint8_t *host_shared_of(host_warp *w, uint32_t cta);
/// Once per loop iteration: ends the program when the launch has failed or its time is up.
void host_poll(host_warp *w, uint32_t site);
/// Fails if any bit of `bad` is set.
void host_assert(host_warp *w, uint32_t site, uint32_t bad);
void host_print(host_warp *w, uint32_t site, const uint32_t *indices, const void *values,
                uint32_t mask);
/// Reports an error of this warp's program ("FILE:LINE:COL: error: " and " (program ...)" are put
/// around the text) and stops it. The first error of a launch is the one that is kept.
_Noreturn void host_fail(host_warp *w, host_status status, uint32_t site, int lane, const char *fmt,
                         ...) __attribute__((format(printf, 5, 6)));
/// The allocation that the site's parameter points into, or that holds the address if the site has
/// no parameter; NULL if there is none.
const host_allocation *host_find_allocation(host_warp *w, const host_site *site, uint64_t address);

/// (host_exec.c) Nanoseconds of a clock that only goes forward, to an int64_t.
void host_clock(void *out);

// --- host_math.c: `count` elements of one dtype (or 32 of them, or 1).
void host_shuffle(uint32_t bytes, const void *values, const uint32_t *source_lanes, void *out);
void host_math(uint32_t opcode, uint32_t type, const void *values, void *out, uint32_t count);
void host_remainder(uint32_t type, const void *dividends, const void *divisors, void *out,
                    uint32_t count);
/// Of integers; `code` is the dtype | 1 << 8 for the remainder.
void host_divide(uint32_t code, const void *dividends, const void *divisors, void *out,
                 uint32_t count);
/// `code` is from | to << 8 | rtz << 16.
void host_convert(uint32_t code, uint32_t count, const void *values, void *out);

#endif
