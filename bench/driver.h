// The CUDA driver as a C program without a library would call it, for the measuring programs.
#ifndef TILE_BENCH_DRIVER_H
#define TILE_BENCH_DRIVER_H

#include "examples/common.h"

#include <dlfcn.h>
#include <time.h>

enum { NO_DRIVER = 77 }; // an exit status

// Name, version as cuGetProcAddress wants it, parameters.
#define DRIVER_ENTRIES(X)                                                                          \
    X(cuInit, 2000, (unsigned))                                                                    \
    X(cuDeviceGet, 2000, (int *, int))                                                             \
    X(cuDevicePrimaryCtxRetain, 7000, (void **, int))                                              \
    X(cuCtxSetCurrent, 4000, (void *))                                                             \
    X(cuCtxSynchronize, 2000, (void))                                                              \
    X(cuLibraryLoadData, 12000,                                                                    \
      (void **, const void *, void *, void *, unsigned, void *, void *, unsigned))                 \
    X(cuLibraryUnload, 12000, (void *))                                                            \
    X(cuLibraryGetKernel, 12000, (void **, void *, const char *))                                  \
    X(cuKernelGetFunction, 12000, (void **, void *))                                               \
    X(cuStreamCreate, 2000, (void **, unsigned))                                                   \
    X(cuStreamBeginCapture, 10010, (void *, int))                                                  \
    X(cuStreamEndCapture, 10000, (void *, void **))                                                \
    X(cuGraphInstantiateWithFlags, 11040, (void **, void *, unsigned long long))                   \
    X(cuGraphLaunch, 10000, (void *, void *))                                                      \
    X(cuGraphExecDestroy, 10000, (void *))                                                         \
    X(cuGraphDestroy, 10000, (void *))                                                             \
    X(cuLaunchKernel, 4000,                                                                        \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,       \
       void **, void **))

static struct driver {
#define X(name, version, params) int(*name) params;
    DRIVER_ENTRIES(X)
#undef X
} cu;

static inline void must(int result) {
    if (result) {
        fprintf(stderr, "the driver answers %d\n", result);
        exit(1);
    }
}

static inline void open_context(void) {
    const char *path = getenv("TILE_LIBCUDA");
    void *library = dlopen(path ? path : "libcuda.so.1", RTLD_NOW), *context;
    void *symbol = library ? dlsym(library, "cuGetProcAddress_v2") : NULL;
    int (*get)(const char *, void **, int, unsigned long long, int *), device, found;
    memcpy(&get, &symbol, sizeof get);
    if (!get) {
        fprintf(stderr, "%s\n", library ? "the driver is too old" : dlerror());
        exit(NO_DRIVER);
    }
#define X(name, version, params) must(get(#name, (void **)&cu.name, version, 0, &found));
    DRIVER_ENTRIES(X)
#undef X
    must(cu.cuInit(0));
    must(cu.cuDeviceGet(&device, 0));
    must(cu.cuDevicePrimaryCtxRetain(&context, device));
    must(cu.cuCtxSetCurrent(context));
}

static inline double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

#endif
