// What a launch costs the host: the driver's own cuLaunchKernel in a loop, and tile_launch of the
// same kernel with the same arguments, in turns. Prints nanoseconds per launch as JSON.
//   bare_launch             of vector_add on 1024 floats
//   bare_launch --context   only opens the driver and the first device's primary context
// The driver is called here as a C program without a library would call it.
#include "examples/common.h"

#include <dlfcn.h>
#include <time.h>

// A batch is shorter than the driver's queue, so that no launch waits for the device.
enum { BATCHES = 101, BATCH = 200, N = 1024 };

static struct driver {
    int (*init)(unsigned);
    int (*device)(int *, int);
    int (*retain)(void **, int);
    int (*set_current)(void *);
    int (*synchronize)(void);
    int (*load)(void **, const void *);
    int (*function)(void **, void *, const char *);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **);
} cu;

static void *entry(void *library, const char *name) {
    void *p = dlsym(library, name);
    if (!p) {
        fprintf(stderr, "the driver has no %s\n", name);
        exit(1);
    }
    return p;
}

static void must(int result) {
    if (result) {
        fprintf(stderr, "the driver answers %d\n", result);
        exit(1);
    }
}

static void open_context(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
    int device;
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    *(void **)&cu.init = entry(library, "cuInit");
    *(void **)&cu.device = entry(library, "cuDeviceGet");
    *(void **)&cu.retain = entry(library, "cuDevicePrimaryCtxRetain");
    *(void **)&cu.set_current = entry(library, "cuCtxSetCurrent");
    *(void **)&cu.synchronize = entry(library, "cuCtxSynchronize");
    *(void **)&cu.load = entry(library, "cuModuleLoadData");
    *(void **)&cu.function = entry(library, "cuModuleGetFunction");
    *(void **)&cu.launch = entry(library, "cuLaunchKernel");
    must(cu.init(0));
    must(cu.device(&device, 0));
    must(cu.retain(&context, device));
    must(cu.set_current(context));
}

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_times(const char *name, double *ns, const char *after) {
    qsort(ns, BATCHES, sizeof *ns, by_value);
    printf("\"%s\": {\"ns\": %.0f, \"least\": %.0f, \"most\": %.0f, \"batches\": %d}%s", name,
           ns[BATCHES / 2], ns[0], ns[BATCHES - 1], BATCHES, after);
}

int main(int argc, char **argv) {
    static const char *const known[] = {"context", NULL};
    check_options(argc, argv, known);
    open_context();
    if (option(argc, argv, "context", NULL))
        return 0;

    tile_error err = {0};
    tile_device *dev;
    tile_module *mod;
    tile_kernel *add;
    check(tile_device_open("cuda:0", &dev, &err), &err);
    check(tile_module_load_file(dev, kernel_file("vector_add.tile"), &mod, &err), &err);
    check(tile_module_get_kernel(mod, "vector_add", &add, &err), &err);
    tile_buffer *b[3];
    const void *pointers[3];
    for (int i = 0; i < 3; i++) {
        check(tile_buffer_create(dev, N * sizeof(float), &b[i], &err), &err);
        check(tile_fill(b[i], 0, 0, N * sizeof(float), NULL, &err), &err);
        pointers[i] = tile_buffer_data(b[i]);
    }
    tile_arg args[] = {TILE_BUFFER(b[0], "fp32"), TILE_BUFFER(b[1], "fp32"),
                       TILE_BUFFER(b[2], "fp32"), TILE_I32(N), TILE_CONSTEXPR_INT("BLOCK", 1024)};
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = 4};
    char *ptx;
    check(tile_kernel_ptx(add, args, 5, &o, &ptx, &err), &err);
    void *module, *function;
    must(cu.load(&module, ptx));
    must(cu.function(&function, module, "vector_add"));
    tile_free(ptx);

    int32_t n = N;
    void *params[] = {&pointers[0], &pointers[1], &pointers[2], &n};
    double raw[BATCHES], ours[BATCHES];
    for (int i = -3; i < BATCHES; i++) { // three to warm up
        int at = i < 0 ? 0 : i;
        must(cu.synchronize());
        double start = now_ns();
        for (int k = 0; k < BATCH; k++)
            must(cu.launch(function, 1, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
        raw[at] = (now_ns() - start) / BATCH;
        must(cu.synchronize());
        start = now_ns();
        for (int k = 0; k < BATCH; k++)
            check(tile_launch(add, args, 5, &o, &err), &err);
        ours[at] = (now_ns() - start) / BATCH;
    }
    check(tile_synchronize(dev, NULL, &err), &err);
    printf("{");
    print_times("cuLaunchKernel", raw, ", ");
    print_times("tile_launch", ours, "}\n");
    for (int i = 0; i < 3; i++)
        tile_buffer_destroy(b[i]);
    tile_module_destroy(mod);
    tile_device_close(dev);
    return 0;
}
