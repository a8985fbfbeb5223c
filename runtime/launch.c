// Launching. The hit path is: bind the arguments to a key, look the key up in the kernel's table
// (no lock, no allocation), one driver call. A key not met before is matched against the kernel's
// specializations, and compiled if none serves it; each is compiled once, whoever asks.
#include "runtime/rt.h"

#include "support/clock.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { FIRST_CAPACITY = 16 };

static const rt_spec *table_find(const rt_table *t, uint64_t hash, const uint8_t *key,
                                 uint32_t len) {
    if (!t)
        return NULL;
    for (uint32_t i = (uint32_t)hash & (t->capacity - 1);; i = (i + 1) & (t->capacity - 1)) {
        const rt_slot *s = atomic_load_explicit(&t->slots[i], memory_order_acquire);
        if (!s)
            return NULL;
        if (s->hash == hash && s->key_len == len && !memcmp(s->key, key, len))
            return s->spec;
    }
}

static void table_put(rt_table *t, rt_slot *slot) {
    uint32_t i = (uint32_t)slot->hash & (t->capacity - 1);
    while (atomic_load_explicit(&t->slots[i], memory_order_relaxed))
        i = (i + 1) & (t->capacity - 1);
    atomic_store_explicit(&t->slots[i], slot, memory_order_release);
    t->count++;
}

/// Remembers that `key` selects `spec`. Called with the kernel locked. Failing to remember (no
/// memory) only costs the next launch a search.
static void remember(tile_kernel *k, uint64_t hash, const uint8_t *key, uint32_t len,
                     const rt_spec *spec) {
    rt_table *t = atomic_load_explicit(&k->table, memory_order_relaxed);
    if (table_find(t, hash, key, len))
        return;
    if (!t || t->count * 2 >= t->capacity) {
        uint32_t capacity = t ? t->capacity * 2 : FIRST_CAPACITY;
        rt_table *grown = calloc(1, sizeof *grown + capacity * sizeof *grown->slots);
        if (!grown)
            return;
        grown->capacity = capacity;
        grown->older = t;
        for (uint32_t i = 0; t && i < t->capacity; i++) {
            rt_slot *s = atomic_load_explicit(&t->slots[i], memory_order_relaxed);
            if (s)
                table_put(grown, s);
        }
        atomic_store_explicit(&k->table, grown, memory_order_release);
        t = grown;
    }
    rt_slot *slot = malloc(sizeof *slot + len);
    if (!slot)
        return;
    *slot = (rt_slot){.hash = hash, .spec = spec, .key_len = len};
    memcpy(slot->key, key, len);
    table_put(t, slot);
}

/// Finds a specialization that serves the key, waiting for one that is being compiled and may.
/// Called with the kernel locked.
static rt_spec *find_spec(tile_kernel *k, const uint8_t *key, uint32_t len) {
    for (;;) {
        rt_spec *pending = NULL;
        for (rt_spec *s = k->specs; s; s = s->next) {
            if (s->state == RT_SPEC_COMPILING) {
                if (rt_key_similar(k, s->key, s->key_len, key, len))
                    pending = s;
            } else if (s->state == RT_SPEC_READY ? rt_key_served_by(k, s, key, len)
                                                 : s->key_len == len && !memcmp(s->key, key, len)) {
                return s;
            }
        }
        if (!pending)
            return NULL;
        pthread_cond_wait(&k->compiled, &k->lock);
    }
}

static tile_status compile_and_load(tile_kernel *k, const rt_bound *bound,
                                    const tile_launch_options *options, rt_spec *s,
                                    tile_error *error) {
    tile_device *d = k->module->device;
    tile_status status = rt_compile(k, bound, options, &s->binary, error);
    if (status)
        return status;
    status = d->ops->load(d, &s->binary, &s->loaded, error);
    if (status)
        rt_binary_free(&s->binary);
    else
        rt_cache_put(k, bound, &s->binary);
    return status;
}

/// Fills binary and loaded function, from the cache on disk if they are there: then the key is what
/// that binary was compiled for.
static tile_status obtain(tile_kernel *k, const rt_bound *bound, const tile_launch_options *options,
                          rt_spec *s, tile_error *error) {
    tile_device *d = k->module->device;
    double start = 1e3 * clock_seconds();
    tile_status status = TILE_OK;
    s->is_cached = rt_cache_find(k, bound, s);
    if (s->is_cached && d->ops->load(d, &s->binary, &s->loaded, NULL)) {
        // Whatever the driver has against it, a fresh one may do.
        rt_binary_free(&s->binary);
        free(s->key);
        *s = (rt_spec){0};
    }
    if (!s->is_cached)
        status = compile_and_load(k, bound, options, s, error);
    s->compile_ms = 1e3 * clock_seconds() - start;
    if (!status)
        rt_log(d, TILE_LOG_INFO, "%s kernel '%s' in %.1f ms (%u registers, %u bytes spilled)",
               s->is_cached ? "read" : "compiled and loaded", k->name, s->compile_ms,
               s->loaded.registers, s->loaded.local_bytes);
    return status;
}

/// A new specialization in the kernel's list, to be compiled. NULL without memory.
static rt_spec *add_spec(tile_kernel *k, const rt_bound *bound) {
    rt_spec *s = calloc(1, sizeof *s);
    uint8_t *key = malloc(bound->key_len);
    if (!s || !key) {
        free(s);
        free(key);
        return NULL;
    }
    memcpy(key, bound->key, bound->key_len);
    s->key = key;
    s->key_len = bound->key_len;
    s->next = k->specs;
    k->specs = s;
    return s;
}

/// Takes back one that failed for a passing reason. Nobody else holds it: who waited for it looks
/// through the list again.
static void drop_spec(tile_kernel *k, rt_spec *s) {
    rt_spec **at = &k->specs;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    tile_error_clear(&s->error);
    free(s->key);
    free(s);
}

/// Whether the next try must end in the same way. Memory and the driver may do better then.
static bool is_final(tile_status status) {
    return status == TILE_ERROR_COMPILE || status == TILE_ERROR_UNSUPPORTED;
}

tile_status rt_may_load(const tile_kernel *k, const tile_launch_options *options,
                        tile_error *error) {
    tile_device *d = k->module->device;
    if (!d->ops->is_capturing(d, options->stream ? options->stream->native : NULL))
        return TILE_OK;
    return rt_fail(error, TILE_ERROR_NOT_READY,
                   "kernel '%s' is not compiled for these arguments and a graph is being "
                   "captured; call tile_warmup first",
                   k->name);
}

/// Compiles a new specialization. Called with the kernel locked, and unlocks it meanwhile. *out is
/// NULL after a failure that is not to be remembered, which is then in *error.
static tile_status compile_new(tile_kernel *k, const rt_bound *bound,
                               const tile_launch_options *options, rt_spec **out,
                               tile_error *error) {
    *out = NULL;
    tile_status status = rt_may_load(k, options, error);
    if (status)
        return status;
    rt_spec *s = add_spec(k, bound);
    if (!s)
        return rt_fail(error, TILE_ERROR_OUT_OF_MEMORY, "out of memory");
    pthread_mutex_unlock(&k->lock);
    tile_error failure = {0};
    rt_spec got = {0};
    status = obtain(k, bound, options, &got, &failure);
    pthread_mutex_lock(&k->lock);
    s->binary = got.binary;
    s->loaded = got.loaded;
    s->compile_ms = got.compile_ms;
    s->is_cached = got.is_cached;
    if (got.key) {
        free(s->key);
        s->key = got.key;
        s->key_len = got.key_len;
    }
    s->status = status;
    s->error = failure;
    s->state = status ? RT_SPEC_FAILED : RT_SPEC_READY;
    pthread_cond_broadcast(&k->compiled);
    if (!status || is_final(status)) {
        *out = s;
        return TILE_OK;
    }
    rt_fail_log(error, status, failure.log, "%s", failure.message);
    drop_spec(k, s);
    return status;
}

/// The specialization for a key: found, waited for, or compiled now. Called with the kernel locked.
static tile_status find_or_compile(tile_kernel *k, const rt_bound *bound,
                                   const tile_launch_options *options, const rt_spec **out,
                                   tile_error *error) {
    rt_spec *s = find_spec(k, bound->key, bound->key_len);
    tile_status status = s ? TILE_OK : compile_new(k, bound, options, &s, error);
    if (s && s->state == RT_SPEC_FAILED)
        status = rt_fail_log(error, s->status, s->error.log, "%s", s->error.message);
    *out = s;
    return status;
}

/// The specialization for a key that is not in the table.
static tile_status get_spec_slow(tile_kernel *k, const rt_bound *bound, uint64_t hash,
                                 const tile_launch_options *options, const rt_spec **out,
                                 tile_error *error) {
    pthread_mutex_lock(&k->lock);
    tile_status status = k->aot ? rt_aot_get_spec(k, bound, options, out, error)
                                : find_or_compile(k, bound, options, out, error);
    if (!status)
        remember(k, hash, bound->key, bound->key_len, *out);
    pthread_mutex_unlock(&k->lock);
    return status;
}

static tile_status get_spec(tile_kernel *k, const rt_bound *bound,
                            const tile_launch_options *options, const rt_spec **out,
                            tile_error *error) {
    uint64_t hash = XXH3_64bits(bound->key, bound->key_len);
    const rt_table *t = atomic_load_explicit(&k->table, memory_order_acquire);
    *out = table_find(t, hash, bound->key, bound->key_len);
    return *out ? TILE_OK : get_spec_slow(k, bound, hash, options, out, error);
}

/// Checks what has no need of the kernel's parameters, and reads the options.
static tile_status check_call(const tile_kernel *k, const tile_arg *args, uint32_t num_args,
                              const tile_launch_options *options, tile_launch_options *o,
                              tile_error *error) {
    if (!k)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "kernel is NULL");
    if (num_args && !args)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "args is NULL");
    tile_status status = rt_options(k, options, o, error);
    if (status)
        return status;
    if (o->stream && o->stream->device != k->module->device)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "the stream belongs to another device");
    return TILE_OK;
}

tile_status rt_prepare(tile_kernel *kernel, const tile_arg *args, uint32_t num_args,
                       const tile_launch_options *options, tile_launch_options *o, rt_bound *bound,
                       const rt_spec **out, tile_error *error) {
    tile_status status = check_call(kernel, args, num_args, options, o, error);
    if (!status)
        status = rt_bind(kernel, args, num_args, o, bound, error);
    return status ? status : get_spec(kernel, bound, o, out, error);
}

tile_status rt_launch(tile_device *d, const rt_spec *spec, const uint32_t programs[3],
                      void **params, tile_stream *stream, bool cooperative, tile_error *error) {
    uint32_t grid[3] = {programs[0], programs[1] ? programs[1] : 1, programs[2] ? programs[2] : 1};
    if ((uint64_t)grid[0] * spec->binary.num_ctas > INT32_MAX || grid[1] > 65535 || grid[2] > 65535)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT,
                       "grid (%u, %u, %u) is over the limit of (2147483647, 65535, 65535)", grid[0],
                       grid[1], grid[2]);
    if (!grid[0])
        return TILE_OK;
    return d->ops->launch(d, &spec->loaded, &spec->binary, grid, params,
                          stream ? stream->native : NULL, cooperative, error);
}

tile_status tile_launch(tile_kernel *kernel, const tile_arg *args, uint32_t num_args,
                        const tile_launch_options *options, tile_error *error) {
    if (!options)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "options is NULL: there is no grid");
    rt_bound bound;
    tile_launch_options o;
    const rt_spec *spec;
    tile_status status = rt_prepare(kernel, args, num_args, options, &o, &bound, &spec, error);
    if (status)
        return status;
    return rt_launch(kernel->module->device, spec, o.grid, bound.params, o.stream, o.cooperative,
                     error);
}

tile_status tile_warmup(tile_kernel *kernel, const tile_arg *args, uint32_t num_args,
                        const tile_launch_options *options, tile_kernel_info *out_info,
                        tile_error *error) {
    if (out_info)
        memset(out_info, 0, sizeof *out_info);
    rt_bound bound;
    tile_launch_options o;
    const rt_spec *spec;
    tile_status status = rt_prepare(kernel, args, num_args, options, &o, &bound, &spec, error);
    if (status)
        return status;
    if (out_info)
        *out_info = (tile_kernel_info){
            .registers = spec->loaded.registers,
            .spill_bytes = spec->loaded.local_bytes,
            .shared_bytes = spec->binary.shared_bytes + spec->loaded.static_shared_bytes,
            .threads = 32 * spec->binary.num_warps,
            .max_blocks_per_sm = spec->loaded.max_blocks_per_sm,
            .num_sms = kernel->module->device->info.num_sms,
            .compile_ms = spec->compile_ms,
            .max_programs = spec->loaded.max_programs,
            .from_cache = spec->is_cached,
        };
    return TILE_OK;
}

uint32_t tile_persistent_grid(const tile_kernel_info *info, uint64_t work) {
    uint64_t n = 1;
    if (info && info->max_programs)
        n = info->max_programs;
    else if (info)
        n = (uint64_t)info->num_sms * (info->max_blocks_per_sm ? info->max_blocks_per_sm : 1);
    if (n > work)
        n = work;
    return n ? (uint32_t)n : 1;
}

tile_status tile_kernel_ptx(tile_kernel *kernel, const tile_arg *args, uint32_t num_args,
                            const tile_launch_options *options, char **out_ptx, tile_error *error) {
    if (!out_ptx)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "out_ptx is NULL");
    *out_ptx = NULL;
    rt_bound bound;
    tile_launch_options o;
    const rt_spec *spec;
    tile_status status = rt_prepare(kernel, args, num_args, options, &o, &bound, &spec, error);
    if (status)
        return status;
    if (!spec->binary.ptx)
        return rt_fail(error, TILE_ERROR_UNSUPPORTED, "%s",
                       kernel->aot ? "a cubin that was compiled ahead of time has no PTX"
                                   : "the cpu device has no PTX");
    *out_ptx = strdup(spec->binary.ptx);
    return *out_ptx ? TILE_OK : rt_fail(error, TILE_ERROR_OUT_OF_MEMORY, "out of memory");
}
