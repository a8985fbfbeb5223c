// The device under test: one kernel for each expression, buffers that all launches share.
#include "accuracy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what, const tile_error *err) {
    fprintf(stderr, "accuracy: %s: %s\n", what, err->log ? err->log : err->message);
    exit(2);
}

void session_open(session *s, const char *device) {
    tile_error err = {0};
    tile_status status = tile_device_open(device, &s->device, &err);
    if (status == TILE_ERROR_NOT_FOUND) {
        printf("skipped: %s\n", err.message);
        exit(77);
    }
    if (status)
        fail(device, &err);
    if (tile_device_get_info(s->device, &s->info, &err))
        fail(device, &err);
    for (unsigned k = 0; k <= MAX_OPERANDS; k++) {
        s->host[k] = malloc((size_t)CHUNK * sizeof(double));
        if (!s->host[k] ||
            tile_buffer_create(s->device, (size_t)CHUNK * sizeof(double), &s->buffers[k], &err))
            fail("memory", &err);
    }
}

void session_close(session *s) {
    for (unsigned k = 0; k <= MAX_OPERANDS; k++) {
        tile_buffer_destroy(s->buffers[k]);
        free(s->host[k]);
    }
    tile_device_close(s->device);
}

// PROGRAM is one register a thread: more would take longer to compile than to run.
tile_module *session_load(session *s, const char *expression, tile_kernel **kernel) {
    char source[512];
    int n = snprintf(source, sizeof(source),
                     "def k(pa, pb, pc, out, n):\n"
                     "    i = program_id(0) * %d + arange(0, %d)\n"
                     "    m = i < n\n"
                     "    a = load(pa + i, mask=m)\n"
                     "    b = load(pb + i, mask=m)\n"
                     "    c = load(pc + i, mask=m)\n"
                     "    store(out + i, %s, mask=m)\n",
                     PROGRAM, PROGRAM, expression);
    tile_error err = {0};
    tile_module *module;
    if (tile_module_load_string(s->device, expression, source, (size_t)n, &module, &err) ||
        tile_module_get_kernel(module, "k", kernel, &err))
        fail(expression, &err);
    return module;
}

static size_t bytes_of(const char *type) {
    return (size_t)atoi(type + strcspn(type, "0123456789")) / 8;
}

void session_run(session *s, tile_kernel *kernel, unsigned operands, const char *type,
                 const char *result_type, uint64_t n) {
    tile_error err = {0};
    tile_arg args[MAX_OPERANDS + 2];
    for (unsigned k = 0; k < MAX_OPERANDS; k++) { // operands that are not there are the first one
        args[k] = TILE_BUFFER(s->buffers[k < operands ? k : 0], type);
        if (k < operands &&
            tile_copy_to_device(s->buffers[k], 0, s->host[k], n * bytes_of(type), NULL, &err))
            fail("copy", &err);
    }
    args[MAX_OPERANDS] = TILE_BUFFER(s->buffers[MAX_OPERANDS], result_type);
    args[MAX_OPERANDS + 1] = TILE_I32((int32_t)n);
    tile_launch_options o = {.size = sizeof(o), .grid = {(uint32_t)((n + PROGRAM - 1) / PROGRAM)}};
    if (tile_launch(kernel, args, MAX_OPERANDS + 2, &o, &err) ||
        tile_synchronize(s->device, NULL, &err) ||
        tile_copy_to_host(s->host[MAX_OPERANDS], s->buffers[MAX_OPERANDS], 0,
                          n * bytes_of(result_type), NULL, &err))
        fail("launch", &err);
}
