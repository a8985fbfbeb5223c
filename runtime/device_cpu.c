// The cpu device: the same kernels, run by codegen/host_exec.c, every access checked. Buffers stand
// between red zones and are registered; kernels may touch registered memory only. Every operation
// has ended when its call returns, so streams and events hold no work.
#include "codegen/host_exec.h"
#include "runtime/rt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RED_ZONE = 256, POISON = 0xAB, RED_BYTE = 0xFD };

typedef struct cpu_state {
    pthread_rwlock_t lock; ///< guards the allocations
    host_allocation *allocations;
    uint32_t count, capacity;
    host_order order;
    uint64_t seed;
    unsigned threads;
    double timeout_s;
} cpu_state;

/// A number from the environment, or what it is without one. Reports anything else.
static tile_status read_number(const char *name, double most, double *value, tile_error *error) {
    const char *text = getenv(name);
    if (!text)
        return TILE_OK;
    char *end;
    *value = strtod(text, &end);
    if (*text >= '0' && *text <= '9' && !*end && *value <= most)
        return TILE_OK;
    return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "%s: expected a number up to %.0f, got '%s'",
                   name, most, text);
}

static tile_status read_order(host_order *order, tile_error *error) {
    static const char *const names[] = {[HOST_ORDER_FORWARD] = "forward",
                                        [HOST_ORDER_REVERSE] = "reverse",
                                        [HOST_ORDER_RANDOM] = "random"};
    const char *text = getenv("TILE_CPU_ORDER");
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(text ? text : "forward", names[i])) {
            *order = (host_order)i;
            return TILE_OK;
        }
    return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT,
                   "TILE_CPU_ORDER: expected forward, reverse or random, got '%s'", text);
}

/// How the environment wants programs to be run.
static tile_status read_environment(cpu_state *s, tile_error *error) {
    double seed = 1, threads = 0;
    s->timeout_s = 60;
    tile_status status = read_order(&s->order, error);
    status = status ? status : read_number("TILE_CPU_SEED", 9e15, &seed, error);
    status = status ? status : read_number("TILE_CPU_THREADS", 4096, &threads, error);
    status = status ? status : read_number("TILE_CPU_TIMEOUT", 1e9, &s->timeout_s, error);
    s->seed = (uint64_t)seed;
    s->threads = (unsigned)threads;
    return status;
}

static tile_status cpu_open(tile_device *d, int index, tile_error *error) {
    (void)index;
    cpu_state *s = calloc(1, sizeof *s);
    if (!s)
        return rt_fail(error, TILE_ERROR_OUT_OF_MEMORY, "out of memory");
    tile_status status = read_environment(s, error);
    if (status) {
        free(s);
        return status;
    }
    pthread_rwlock_init(&s->lock, NULL);
    d->state = s;
    tile_device_info *info = &d->info;
    snprintf(info->name, sizeof info->name, "cpu");
    long n = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES);
    info->num_sms = n > 0 ? (uint32_t)n : 1;
    info->max_threads_per_sm = 1024;
    info->max_shared_bytes_per_block = 227 << 10;
    info->registers_per_sm = 65536;
    info->memory_bytes = pages > 0 ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
    return TILE_OK;
}

static void cpu_close(tile_device *d) {
    cpu_state *s = d->state;
    pthread_rwlock_destroy(&s->lock);
    free(s->allocations);
    free(s);
}

static tile_status add_allocation(cpu_state *s, const void *base, size_t bytes, tile_error *error) {
    pthread_rwlock_wrlock(&s->lock);
    if (s->count == s->capacity) {
        uint32_t capacity = s->capacity ? s->capacity * 2 : 16;
        host_allocation *grown = realloc(s->allocations, capacity * sizeof *grown);
        if (!grown) {
            pthread_rwlock_unlock(&s->lock);
            return rt_fail(error, TILE_ERROR_OUT_OF_MEMORY, "out of memory");
        }
        s->allocations = grown;
        s->capacity = capacity;
    }
    s->allocations[s->count++] = (host_allocation){.base = base, .size_bytes = bytes};
    pthread_rwlock_unlock(&s->lock);
    return TILE_OK;
}

static void remove_allocation(cpu_state *s, const void *base) {
    pthread_rwlock_wrlock(&s->lock);
    for (uint32_t i = 0; i < s->count; i++)
        if (s->allocations[i].base == base) {
            s->allocations[i] = s->allocations[--s->count];
            break;
        }
    pthread_rwlock_unlock(&s->lock);
}

static tile_status cpu_alloc(tile_device *d, size_t bytes, void **out, tile_error *error) {
    size_t padded = (bytes + 2 * RED_ZONE + 255) & ~(size_t)255;
    char *block = aligned_alloc(256, padded);
    if (!block)
        return rt_fail(error, TILE_ERROR_OUT_OF_MEMORY, "cannot allocate %zu bytes", bytes);
    memset(block, RED_BYTE, padded);
    memset(block + RED_ZONE, POISON, bytes);
    tile_status status = add_allocation(d->state, block + RED_ZONE, bytes, error);
    if (status) {
        free(block);
        return status;
    }
    *out = block + RED_ZONE;
    return TILE_OK;
}

static void cpu_free(tile_device *d, void *p, size_t bytes) {
    (void)bytes;
    remove_allocation(d->state, p);
    free((char *)p - RED_ZONE);
}

tile_status tile_memory_register(tile_device *device, const void *data, size_t size_bytes,
                                 tile_error *error) {
    if (!device || !data)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "device or data is NULL");
    return device->info.is_cuda ? TILE_OK : add_allocation(device->state, data, size_bytes, error);
}

void tile_memory_unregister(tile_device *device, const void *data) {
    if (device && !device->info.is_cuda)
        remove_allocation(device->state, data);
}

static tile_status cpu_copy(tile_device *d, void *dst, bool dst_host, const void *src,
                            bool src_host, size_t bytes, void *stream, tile_error *error) {
    (void)d, (void)dst_host, (void)src_host, (void)stream, (void)error;
    memmove(dst, src, bytes);
    return TILE_OK;
}

static tile_status cpu_fill(tile_device *d, void *dst, uint8_t byte, size_t bytes, void *stream,
                            tile_error *error) {
    (void)d, (void)stream, (void)error;
    memset(dst, byte, bytes);
    return TILE_OK;
}

static tile_status cpu_stream_create(tile_device *d, void **out, tile_error *error) {
    (void)d, (void)error;
    *out = NULL;
    return TILE_OK;
}

static void cpu_stream_destroy(tile_device *d, void *stream) { (void)d, (void)stream; }

static tile_status cpu_synchronize(tile_device *d, void *stream, bool all, tile_error *error) {
    (void)d, (void)stream, (void)all, (void)error;
    return TILE_OK;
}

// An event is the time it was recorded at.
static tile_status cpu_event_create(tile_device *d, void **out, tile_error *error) {
    (void)d;
    *out = calloc(1, sizeof(struct timespec));
    return *out ? TILE_OK : rt_fail(error, TILE_ERROR_OUT_OF_MEMORY, "out of memory");
}

static void cpu_event_destroy(tile_device *d, void *event) {
    (void)d;
    free(event);
}

static tile_status cpu_event_record(tile_device *d, void *event, void *stream, tile_error *error) {
    (void)d, (void)stream, (void)error;
    clock_gettime(CLOCK_MONOTONIC, event);
    return TILE_OK;
}

static tile_status cpu_event_elapsed(tile_device *d, void *start, void *end, float *out_ms,
                                     tile_error *error) {
    (void)d, (void)error;
    const struct timespec *a = start, *b = end;
    *out_ms =
        (float)((double)(b->tv_sec - a->tv_sec) * 1e3 + (double)(b->tv_nsec - a->tv_nsec) * 1e-6);
    return TILE_OK;
}

static bool cpu_is_capturing(tile_device *d, void *stream) {
    (void)d, (void)stream;
    return false;
}

static tile_status cpu_load(tile_device *d, const rt_binary *b, rt_loaded *out, tile_error *error) {
    (void)d, (void)error;
    out->handle = b->host;
    out->max_blocks_per_sm = 1;
    return TILE_OK;
}

static void cpu_unload(tile_device *d, rt_loaded *l) {
    (void)d;
    memset(l, 0, sizeof *l);
}

static const tile_status host_statuses[] = {
    [HOST_OK] = TILE_OK,
    [HOST_OUT_OF_BOUNDS] = TILE_ERROR_OUT_OF_BOUNDS,
    [HOST_ASSERTION] = TILE_ERROR_ASSERTION,
    [HOST_DEADLOCK] = TILE_ERROR_TIMEOUT,
    [HOST_TIMEOUT] = TILE_ERROR_TIMEOUT,
    [HOST_OUT_OF_MEMORY] = TILE_ERROR_OUT_OF_MEMORY,
};

static tile_status cpu_launch(tile_device *d, const rt_loaded *l, const rt_binary *b,
                              const uint32_t grid[3], void **params, void *stream, bool cooperative,
                              tile_error *error) {
    (void)stream;
    if (cooperative)
        return rt_fail(
            error, TILE_ERROR_UNSUPPORTED,
            "a cooperative launch runs all programs at once, and the cpu device does not");
    cpu_state *s = d->state;
    host_arg args[RT_MAX_PARAMS];
    for (uint32_t i = 0; i < b->num_params; i++) {
        args[i].bits = 0;
        memcpy(&args[i].bits, params[i], b->param_bytes[i]);
    }
    // Readers hold the lock while they run, so that no buffer goes away under a kernel.
    pthread_rwlock_rdlock(&s->lock);
    host_run run = {
        .code = l->handle,
        .grid = {grid[0], grid[1], grid[2]},
        .args = args,
        .num_args = b->num_params,
        .allocations = s->allocations,
        .num_allocations = s->count,
        .order = s->order,
        .seed = s->seed,
        .threads = s->threads,
        .timeout_s = s->timeout_s,
    };
    host_error fault = {""};
    host_status status = host_exec(&run, &fault);
    pthread_rwlock_unlock(&s->lock);
    if (status != HOST_OK)
        return rt_fail_log(error, host_statuses[status], fault.message, "%s", fault.message);
    return TILE_OK;
}

const device_ops device_ops_cpu = {
    .open = cpu_open,
    .close = cpu_close,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .copy = cpu_copy,
    .fill = cpu_fill,
    .stream_create = cpu_stream_create,
    .stream_destroy = cpu_stream_destroy,
    .synchronize = cpu_synchronize,
    .event_create = cpu_event_create,
    .event_destroy = cpu_event_destroy,
    .event_record = cpu_event_record,
    .event_elapsed = cpu_event_elapsed,
    .is_capturing = cpu_is_capturing,
    .load = cpu_load,
    .unload = cpu_unload,
    .launch = cpu_launch,
};
