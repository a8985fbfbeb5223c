// In place of compile.c and device_cpu.c where the runtime is built without the compiler
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
