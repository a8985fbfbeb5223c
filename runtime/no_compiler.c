// In place of compile.c, cache.c and device_cpu.c where the runtime is built without the compiler
// (TILE_JIT=OFF, libtile-runtime): it launches what was compiled ahead of time and nothing else,
// and says so.
#include "runtime/rt.h"

#include <stdlib.h>
#include <string.h>

static tile_status no_compiler(tile_error *error, const char *what) {
    return rt_fail(error, TILE_ERROR_UNSUPPORTED,
                   "%s: this is the runtime without the compiler; link libtile, or compile ahead "
                   "of time with tilec --emit=header",
                   what);
}

tile_status rt_module_scan(tile_module *m, tile_error *error) {
    return no_compiler(error, m->name);
}

tile_status rt_compile(const tile_kernel *k, const rt_bound *bound,
                       const tile_launch_options *options, rt_binary *out, tile_error *error) {
    (void)bound, (void)options, (void)out;
    return no_compiler(error, k->name);
}

void rt_binary_free(rt_binary *b) {
    free(b->entry);
    free(b->ptx);
    free(b->image);
    memset(b, 0, sizeof *b);
}

// What is not compiled is not kept.
tile_status rt_cache_open(rt_cache *c, const char *directory, uint64_t max_bytes,
                          tile_error *error) {
    (void)directory, (void)max_bytes, (void)error;
    *c = (rt_cache){0};
    return TILE_OK;
}
void rt_cache_close(rt_cache *c) { (void)c; }
bool rt_cache_find(const tile_kernel *k, const rt_bound *bound, rt_spec *out) {
    (void)k, (void)bound, (void)out;
    return false;
}
void rt_cache_put(const tile_kernel *k, const rt_bound *bound, const rt_binary *b) {
    (void)k, (void)bound, (void)b;
}
tile_status tile_cache_get_info(const char *directory, tile_cache_info *out_info,
                                tile_error *error) {
    (void)directory;
    if (out_info)
        memset(out_info, 0, sizeof *out_info);
    return no_compiler(error, "the on-disk cache");
}
tile_status tile_cache_prune(const char *directory, uint64_t keep_bytes, uint64_t *out_removed,
                             tile_error *error) {
    (void)directory, (void)keep_bytes;
    if (out_removed)
        *out_removed = 0;
    return no_compiler(error, "the on-disk cache");
}

static tile_status open_cpu(tile_device *d, int index, tile_error *error) {
    (void)d, (void)index;
    return no_compiler(error, "device 'cpu'");
}

const device_ops device_ops_cpu = {.open = open_cpu};

// There are GPUs only here, for which this is nothing to do.
tile_status tile_memory_register(tile_device *device, const void *data, size_t size_bytes,
                                 tile_error *error) {
    (void)size_bytes;
    if (!device || !data)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "device or data is NULL");
    return TILE_OK;
}

void tile_memory_unregister(tile_device *device, const void *data) { (void)device, (void)data; }
