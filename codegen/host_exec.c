// Runs a grid. Each worker thread takes program after program and runs it to its end; within a
// program it resumes warp after warp of a CTA, in the order asked for, until all of them wait at a
// barrier or are done. That is one round; the next begins where the barrier let them go. The CTAs of
// a cluster get their rounds in an order of their own, so that one may run far ahead of the others,
// up to the barrier that they have in common. Nothing in a program ever waits for another program's
// fiber, so a spin lock is held only by a program that is making progress on another thread.
//
// An error formats its message, marks the launch as failed, and leaves the fiber for good; other
// workers notice between programs and at loop iterations.
#include "codegen/host_exec.h"
#include "codegen/host_rt.h"
#include "support/clock.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
    POLL_INTERVAL = 1 << 10, ///< loop iterations between two looks at the clock
    SHARED_ALIGN = 256,
};

/// One call of host_exec, shared by its workers.
typedef struct launch {
    const host_run *run;
    const host_kernel *kernel;
    const host_allocation **roots; ///< by argument: the allocation it points into, or NULL
    uint64_t num_programs;
    uint64_t next;        ///< program to start, atomic
    int failed;           ///< atomic
    double deadline;      ///< on the monotonic clock; 0: none
    pthread_mutex_t lock; ///< guards what follows
    host_status status;
    host_error *error;
} launch;

/// What the warps of a CTA wait for, all of them.
typedef enum cta_state {
    CTA_NOT_STARTED, ///< its shared memory is not there yet
    CTA_READY,
    CTA_AT_CLUSTER_BARRIER,
    CTA_DONE,
} cta_state;

/// One thread's fibers and shared memory, used again for each of its programs.
struct host_worker {
    launch *launch;
    host_fiber_home home;
    host_warp *warps;   ///< those of CTA after CTA
    uint32_t *order;    ///< the warps of a CTA in the order of this round
    uint8_t *shared;    ///< num_ctas blocks
    uint32_t num_warps; ///< of all CTAs
    uint32_t shared_stride;
    cta_state *ctas;
    uint64_t random;
};

static bool has_failed(launch *l) { return __atomic_load_n(&l->failed, __ATOMIC_RELAXED) != 0; }

static uint64_t next_random(uint64_t *state) { // splitmix64
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

// ---------------------------------------------------------------------------- called from a warp

static _Noreturn void stop_warp(host_warp *w, host_warp_state state) {
    w->state = state;
    host_fiber_exit(&w->worker->home, &w->fiber);
}

/// Records the launch's first error: position, text, and which program it was.
static void report(host_warp *w, host_status status, uint32_t site_index, int lane,
                   const char *text) {
    launch *l = w->worker->launch;
    const host_site *site = site_index == (uint32_t)HOST_NO_SITE ? NULL : &w->sites[site_index];
    pthread_mutex_lock(&l->lock);
    if (l->status == HOST_OK) {
        char where[320] = "", thread[64] = "", cta[24] = "";
        if (site && site->file)
            snprintf(where, sizeof(where), "%s:%u:%u: ", site->file, site->line, site->column);
        if (l->kernel->num_ctas > 1)
            snprintf(cta, sizeof(cta), ", CTA %d", w->cta_rank);
        if (lane >= 0)
            snprintf(thread, sizeof(thread), "%s, warp %d, lane %d", cta, w->warp_id, lane);
        snprintf(l->error->message, sizeof(l->error->message),
                 "%serror: %s: program (%d, %d, %d)%s", where, text, w->program_id[0],
                 w->program_id[1], w->program_id[2], thread);
        l->status = status;
    }
    pthread_mutex_unlock(&l->lock);
    __atomic_store_n(&l->failed, 1, __ATOMIC_RELAXED);
}

_Noreturn void host_fail(host_warp *w, host_status status, uint32_t site, int lane, const char *fmt,
                         ...) {
    char text[640];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    report(w, status, site, lane, text);
    stop_warp(w, WARP_STOPPED);
}

void host_barrier(host_warp *w, uint32_t site) {
    w->state = WARP_AT_BARRIER;
    w->site = site;
    host_fiber_suspend(&w->worker->home, &w->fiber);
}

void host_cluster_barrier(host_warp *w, uint32_t site) {
    w->state = WARP_AT_CLUSTER_BARRIER;
    w->site = site;
    host_fiber_suspend(&w->worker->home, &w->fiber);
}

uint8_t *host_shared_of(host_warp *w, uint32_t cta) {
    host_worker *k = w->worker;
    bool runs = cta < k->launch->kernel->num_ctas && k->ctas[cta] != CTA_NOT_STARTED &&
                k->ctas[cta] != CTA_DONE;
    return runs ? k->shared + (size_t)cta * k->shared_stride : NULL;
}

void host_poll(host_warp *w, uint32_t site) {
    if (w->poll_budget-- > 0)
        return;
    w->poll_budget = POLL_INTERVAL;
    launch *l = w->worker->launch;
    if (has_failed(l))
        stop_warp(w, WARP_STOPPED);
    if (l->deadline > 0 && clock_seconds() > l->deadline)
        host_fail(w, HOST_TIMEOUT, site, -1, "this loop was still running after %g seconds",
                  l->run->timeout_s);
}

void host_assert(host_warp *w, uint32_t site_index, uint32_t bad) {
    if (!bad)
        return;
    const host_site *site = &w->sites[site_index];
    int lane = site->vec ? __builtin_ctz(bad) : -1;
    if (site->kind == HOST_SITE_HINT)
        host_fail(w, HOST_ASSERTION, site_index, lane, "%s does not hold", site->text);
    host_fail(w, HOST_ASSERTION, site_index, lane, "assertion failed%s%s", *site->text ? ": " : "",
              site->text);
}

// ---------------------------------------------------------------------------- one program

static void run_warp(void *argument) {
    host_warp *w = argument;
    host_fiber_arrive(&w->worker->home, &w->fiber);
    w->entry(w);
    stop_warp(w, WARP_DONE);
}

static uint32_t warps_per_cta(const host_worker *k) { return k->launch->kernel->num_warps; }

static void shuffle_order(host_worker *k) {
    for (uint32_t i = warps_per_cta(k); i > 1; i--) {
        uint32_t j = (uint32_t)(next_random(&k->random) % i), t = k->order[i - 1];
        k->order[i - 1] = k->order[j];
        k->order[j] = t;
    }
}

/// Some warps wait at a barrier that others will never reach: those are done, or wait elsewhere.
static void report_deadlock(host_worker *k, const host_warp *warps, uint32_t n) {
    uint32_t absent = 0;
    host_warp *waiting = NULL;
    for (uint32_t i = 0; i < n; i++)
        if (!waiting && warps[i].state != WARP_DONE)
            waiting = &k->warps[&warps[i] - k->warps];
    for (uint32_t i = 0; i < n; i++)
        absent += warps[i].state != waiting->state;
    char text[128];
    snprintf(text, sizeof(text), "barrier that %u of %u warps do not reach", absent, n);
    report(waiting, HOST_DEADLOCK, waiting->site, -1, text);
}

/// Resumes every warp of a CTA. True if all of them are now at one barrier, or all are done.
static bool run_round(host_worker *k, uint32_t cta) {
    uint32_t n = warps_per_cta(k), count[WARP_STOPPED + 1] = {0};
    host_warp *warps = k->warps + (size_t)cta * n;
    if (k->launch->run->order == HOST_ORDER_RANDOM)
        shuffle_order(k);
    if (k->ctas[cta] == CTA_NOT_STARTED)
        memset(k->shared + (size_t)cta * k->shared_stride, HOST_SHARED_POISON, k->shared_stride);
    k->ctas[cta] = CTA_READY;
    for (uint32_t i = 0; i < n; i++) {
        host_warp *w = &warps[k->order[i]];
        if (w->state != WARP_DONE)
            host_fiber_resume(&k->home, &w->fiber);
        if (w->state == WARP_STOPPED)
            return false;
        count[w->state]++;
    }
    if (count[WARP_DONE] == n)
        k->ctas[cta] = CTA_DONE;
    else if (count[WARP_AT_CLUSTER_BARRIER] == n)
        k->ctas[cta] = CTA_AT_CLUSTER_BARRIER;
    else if (count[WARP_AT_BARRIER] != n) {
        report_deadlock(k, warps, n);
        return false;
    }
    return true;
}

/// The CTA that goes on next, of those that can; num_ctas if all wait for each other or are done.
static uint32_t next_cta(host_worker *k) {
    uint32_t n = k->launch->kernel->num_ctas, found = n;
    uint64_t able = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (k->ctas[i] != CTA_NOT_STARTED && k->ctas[i] != CTA_READY)
            continue;
        able++;
        bool takes = k->launch->run->order == HOST_ORDER_FORWARD ? able == 1
                     : k->launch->run->order == HOST_ORDER_REVERSE
                         ? true
                         : next_random(&k->random) % able == 0;
        found = takes ? i : found;
    }
    return found;
}

static void begin_program(host_worker *k, uint64_t index) {
    const host_run *run = k->launch->run;
    uint64_t x = run->grid[0], y = run->grid[1];
    for (uint32_t i = 0; i < k->launch->kernel->num_ctas; i++)
        k->ctas[i] = CTA_NOT_STARTED;
    for (uint32_t i = 0; i < k->num_warps; i++) {
        host_warp *w = &k->warps[i];
        w->program_id[0] = (int32_t)(index % x);
        w->program_id[1] = (int32_t)(index / x % y);
        w->program_id[2] = (int32_t)(index / x / y);
        w->state = WARP_READY;
        w->poll_budget = POLL_INTERVAL;
        host_async_begin(w);
        host_fiber_prepare(&w->fiber, run_warp, w);
    }
}

/// Lets the CTAs go on that all wait at the barrier that they have in common. False if there is
/// nothing left to do, or never will be.
static bool pass_cluster_barrier(host_worker *k) {
    uint32_t n = k->launch->kernel->num_ctas, waiting = 0;
    for (uint32_t i = 0; i < n; i++)
        waiting += k->ctas[i] == CTA_AT_CLUSTER_BARRIER;
    if (waiting == 0)
        return false;
    if (waiting < n) {
        report_deadlock(k, k->warps, k->num_warps);
        return false;
    }
    for (uint32_t i = 0; i < n; i++)
        k->ctas[i] = CTA_READY;
    return true;
}

static void run_program(host_worker *k, uint64_t index) {
    begin_program(k, index);
    do {
        for (uint32_t cta; (cta = next_cta(k)) < k->launch->kernel->num_ctas;)
            if (!run_round(k, cta))
                return;
    } while (pass_cluster_barrier(k));
}

// Programs have no order on a GPU, so the seeded orders apply to them as well. A large prime
// steps through the grid in a scattered way.
static uint64_t program_at(const launch *l, uint64_t i) {
    const uint64_t stride = UINT64_C(4294967291);
    switch (l->run->order) {
    case HOST_ORDER_FORWARD:
        return i;
    case HOST_ORDER_REVERSE:
        return l->num_programs - 1 - i;
    case HOST_ORDER_RANDOM:
        break;
    }
    uint64_t n = l->num_programs;
    if (n % stride == 0)
        return i;
    return (uint64_t)(((unsigned __int128)i * stride + l->run->seed) % n);
}

// ---------------------------------------------------------------------------- workers

static void destroy_worker(host_worker *k) {
    for (uint32_t i = 0; k->warps && i < k->num_warps; i++) {
        host_fiber_destroy(&k->warps[i].fiber);
        host_async_end(&k->warps[i]);
    }
    free(k->warps);
    free(k->ctas);
    free(k->order);
    free(k->shared);
}

static bool create_worker(host_worker *k, launch *l) {
    const host_kernel *kernel = l->kernel;
    const host_run *run = l->run;
    *k = (host_worker){
        .launch = l,
        .num_warps = kernel->num_warps * kernel->num_ctas,
        .shared_stride = (kernel->shared_bytes + SHARED_ALIGN) / SHARED_ALIGN * SHARED_ALIGN,
        .random = run->seed,
    };
    k->warps = calloc(k->num_warps, sizeof(*k->warps));
    k->ctas = calloc(kernel->num_ctas, sizeof(*k->ctas));
    k->order = calloc(kernel->num_warps, sizeof(*k->order));
    k->shared = aligned_alloc(SHARED_ALIGN, (size_t)k->shared_stride * kernel->num_ctas);
    bool ok = k->warps && k->ctas && k->order && k->shared;
    for (uint32_t i = 0; ok && i < kernel->num_warps; i++)
        k->order[i] = run->order == HOST_ORDER_REVERSE ? kernel->num_warps - 1 - i : i;
    for (uint32_t i = 0; ok && i < k->num_warps; i++) {
        host_warp *w = &k->warps[i];
        uint32_t cta = i / kernel->num_warps;
        *w = (host_warp){
            .num_programs = {(int32_t)run->grid[0], (int32_t)run->grid[1], (int32_t)run->grid[2]},
            .warp_id = (int32_t)(i % kernel->num_warps),
            .cta_rank = (int32_t)cta,
            .args = run->args,
            .shared = k->shared + (size_t)cta * k->shared_stride,
            .shared_bytes = kernel->shared_bytes,
            .roots = l->roots,
            .sites = run->code->sites,
            .run = run,
            .worker = k,
            .entry = kernel->entry,
        };
        for (unsigned lane = 0; lane < HOST_LANES; lane++)
            w->lane_ids[lane] = (int32_t)lane;
        ok = host_fiber_create(&w->fiber, kernel->stack_bytes);
    }
    return ok;
}

static void fail_out_of_memory(launch *l) {
    pthread_mutex_lock(&l->lock);
    if (l->status == HOST_OK) {
        l->status = HOST_OUT_OF_MEMORY;
        snprintf(l->error->message, sizeof(l->error->message),
                 "error: no memory for the stacks of %u warps of %zu bytes each",
                 l->kernel->num_warps * l->kernel->num_ctas, l->kernel->stack_bytes);
    }
    pthread_mutex_unlock(&l->lock);
    __atomic_store_n(&l->failed, 1, __ATOMIC_RELAXED);
}

static void *run_worker(void *argument) {
    launch *l = argument;
    host_worker worker;
    if (!create_worker(&worker, l))
        fail_out_of_memory(l);
    for (;;) {
        uint64_t i = __atomic_fetch_add(&l->next, 1, __ATOMIC_RELAXED);
        if (i >= l->num_programs || has_failed(l))
            break;
        uint64_t index = program_at(l, i);
        worker.random = l->run->seed + index; // the same order on any number of threads
        run_program(&worker, index);
    }
    destroy_worker(&worker);
    return NULL;
}

/// Lines come in one order: in that of the programs.
static bool prints(const cg_host_code *code) {
    for (uint32_t i = 0; i < code->num_sites; i++)
        if (code->sites[i].kind == HOST_SITE_PRINT)
            return true;
    return false;
}

static unsigned count_threads(const launch *l) {
    if (prints(l->run->code))
        return 1;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t n = l->run->threads ? l->run->threads : processors > 0 ? (uint64_t)processors : 1;
    return (unsigned)(n < l->num_programs ? n : l->num_programs);
}

/// The calling thread is one of the workers; where a thread cannot be made, fewer do the work.
static void run_threads(launch *l) {
    enum { MAX_THREADS = 256 };
    pthread_t threads[MAX_THREADS];
    unsigned wanted = count_threads(l), started = 0;
    while (started < MAX_THREADS && started + 1 < wanted &&
           pthread_create(&threads[started], NULL, run_worker, l) == 0)
        started++;
    run_worker(l);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}

// ---------------------------------------------------------------------------- launching

/// The allocation that holds the address, of several the one that begins last and is the largest:
/// registered views of one array may overlap. Else the one it is one past the end of, or, for an
/// empty one, stands at.
static const host_allocation *find_root(const host_run *run, uint64_t address) {
    const host_allocation *found = NULL, *at_end = NULL;
    uint64_t nearest = 0;
    for (uint32_t i = 0; i < run->num_allocations; i++) {
        const host_allocation *a = &run->allocations[i];
        uint64_t offset = address - (uintptr_t)a->base;
        if (offset == a->size_bytes)
            at_end = a;
        else if (offset < a->size_bytes &&
                 (!found || offset < nearest ||
                  (offset == nearest && a->size_bytes > found->size_bytes))) {
            found = a;
            nearest = offset;
        }
    }
    return found ? found : at_end;
}

host_status host_exec(const host_run *run, host_error *error) {
    host_error unused;
    launch l = {
        .run = run,
        .kernel = &run->code->kernels[run->kernel],
        .num_programs = (uint64_t)run->grid[0] * run->grid[1] * run->grid[2],
        .deadline = run->timeout_s > 0 ? clock_seconds() + run->timeout_s : 0,
        .error = error ? error : &unused,
    };
    l.error->message[0] = '\0';
    if (l.num_programs == 0)
        return HOST_OK;
    l.roots = calloc(run->num_args + 1, sizeof(*l.roots));
    if (!l.roots) {
        snprintf(l.error->message, sizeof(l.error->message), "error: out of memory");
        return HOST_OUT_OF_MEMORY;
    }
    for (uint32_t i = 0; i < run->num_args; i++)
        l.roots[i] = find_root(run, run->args[i].bits);
    pthread_mutex_init(&l.lock, NULL);
    run_threads(&l);
    pthread_mutex_destroy(&l.lock);
    free(l.roots);
    if (prints(run->code))
        fflush(stdout);
    return l.status;
}

void host_clock(void *out) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    *(int64_t *)out = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
