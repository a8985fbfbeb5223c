// A stand-in for libcuda.so.1: enough of the driver to load and "launch" kernels, which records
// every call and can be told to fail the n-th one, to look old, to lack an entry, or to be in a
// graph capture. $TILE_LIBCUDA points the runtime here; tests talk to it through fake_*.
#include "runtime/cuda_driver.h"
#include "tests/fake/fake_cuda.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static fake_state state = {.version = 13000, .fail_with = 719, .devices = 1, .sm = {90, 90}};

__attribute__((visibility("default"))) fake_state *fake_get_state(void) { return &state; }

/// Counts a call, and says whether it is the one to fail.
static CUresult enter_call(const char *name) {
    state.calls++;
    state.last_call = name;
    if (!strcmp(name, "cuLaunchKernel"))
        state.launches++;
    if (state.sticky)
        return state.sticky;
    if (state.fail_at && state.calls == state.fail_at) {
        if (state.fail_is_sticky)
            state.sticky = state.fail_with;
        return state.fail_with;
    }
    return CUDA_SUCCESS;
}

#define CALL(name)                                                                                 \
    do {                                                                                           \
        CUresult call_result = enter_call(#name);                                                  \
        if (call_result)                                                                           \
            return call_result;                                                                    \
    } while (0)

static __thread CUcontext current;
static int token;

static CUresult fake_cuInit(unsigned flags) {
    (void)flags;
    CALL(cuInit);
    return 0;
}
static CUresult fake_cuDriverGetVersion(int *v) {
    CALL(cuDriverGetVersion);
    *v = state.version;
    return 0;
}
static CUresult fake_cuGetErrorName(CUresult e, const char **t) {
    (void)e;
    *t = "CUDA_ERROR_FAKE";
    return 0;
}
static CUresult fake_cuGetErrorString(CUresult e, const char **t) {
    (void)e;
    *t = "a fake error";
    return 0;
}
static CUresult fake_cuDeviceGet(CUdevice *d, int i) {
    CALL(cuDeviceGet);
    *d = i;
    return 0;
}
static CUresult fake_cuDeviceGetCount(int *n) {
    CALL(cuDeviceGetCount);
    *n = state.devices;
    return 0;
}
static CUresult fake_cuDeviceGetName(char *name, int len, CUdevice d) {
    (void)d;
    CALL(cuDeviceGetName);
    strncpy(name, "Fake GPU", (size_t)len);
    return 0;
}
static CUresult fake_cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice d) {
    CALL(cuDeviceGetAttribute);
    switch (a) {
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *v = 132;
        break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *v = state.sm[d] / 10;
        break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        *v = state.sm[d] % 10;
        break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
        *v = 227 << 10;
        break;
    default:
        *v = 65536;
        break;
    }
    return 0;
}
static CUresult fake_cuDeviceTotalMem(size_t *b, CUdevice d) {
    (void)d;
    CALL(cuDeviceTotalMem);
    *b = 1u << 30;
    return 0;
}
static CUresult fake_cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d) {
    (void)d;
    CALL(cuDevicePrimaryCtxRetain);
    state.contexts++;
    *c = (CUcontext)(void *)&token;
    return 0;
}
static CUresult fake_cuDevicePrimaryCtxRelease(CUdevice d) {
    (void)d;
    CALL(cuDevicePrimaryCtxRelease);
    state.contexts--;
    return 0;
}
static CUresult fake_cuCtxGetCurrent(CUcontext *c) {
    CALL(cuCtxGetCurrent);
    *c = current;
    return 0;
}
static CUresult fake_cuCtxSetCurrent(CUcontext c) {
    CALL(cuCtxSetCurrent);
    current = c;
    return 0;
}
static CUresult fake_cuCtxPushCurrent(CUcontext c) {
    CALL(cuCtxPushCurrent);
    current = c;
    return 0;
}
static CUresult fake_cuCtxPopCurrent(CUcontext *c) {
    CALL(cuCtxPopCurrent);
    *c = current;
    current = NULL;
    return 0;
}
static CUresult fake_cuCtxSynchronize(void) {
    CALL(cuCtxSynchronize);
    return 0;
}
static CUresult fake_cuMemAlloc(CUdeviceptr *p, size_t n) {
    CALL(cuMemAlloc);
    void *m = aligned_alloc(256, (n + 255) & ~(size_t)255);
    if (!m)
        return CUDA_ERROR_OUT_OF_MEMORY;
    state.buffers++;
    *p = (CUdeviceptr)(uintptr_t)m;
    return 0;
}
static CUresult fake_cuMemFree(CUdeviceptr p) {
    free((void *)(uintptr_t)p);
    state.buffers--;
    CALL(cuMemFree);
    return 0;
}
static CUresult fake_cuMemcpyHtoDAsync(CUdeviceptr d, const void *s, size_t n, CUstream st) {
    (void)st;
    CALL(cuMemcpyHtoDAsync);
    memcpy((void *)(uintptr_t)d, s, n);
    return 0;
}
static CUresult fake_cuMemcpyDtoHAsync(void *d, CUdeviceptr s, size_t n, CUstream st) {
    (void)st;
    CALL(cuMemcpyDtoHAsync);
    memcpy(d, (void *)(uintptr_t)s, n);
    return 0;
}
static CUresult fake_cuMemcpyDtoDAsync(CUdeviceptr d, CUdeviceptr s, size_t n, CUstream st) {
    (void)st;
    CALL(cuMemcpyDtoDAsync);
    memmove((void *)(uintptr_t)d, (void *)(uintptr_t)s, n);
    return 0;
}
static CUresult fake_cuMemsetD8Async(CUdeviceptr d, unsigned char b, size_t n, CUstream st) {
    (void)st;
    CALL(cuMemsetD8Async);
    memset((void *)(uintptr_t)d, b, n);
    return 0;
}
static CUresult fake_cuStreamCreate(CUstream *s, unsigned f) {
    (void)f;
    CALL(cuStreamCreate);
    state.streams++;
    *s = (CUstream)(void *)&token;
    return 0;
}
static CUresult fake_cuStreamDestroy(CUstream s) {
    (void)s;
    state.streams--;
    CALL(cuStreamDestroy);
    return 0;
}
static CUresult fake_cuStreamSynchronize(CUstream s) {
    (void)s;
    CALL(cuStreamSynchronize);
    return 0;
}
enum { CAPTURE_UNSUPPORTED = 900, CAPTURE_IMPLICIT = 906 };
static __thread CUstreamCaptureMode capture_mode; ///< of the thread: 0, global

static CUresult fake_cuStreamIsCapturing(CUstream s, CUstreamCaptureStatus *st) {
    CALL(cuStreamIsCapturing);
    if (state.capturing && (!s || s == (CUstream)1))
        return CAPTURE_IMPLICIT; // the legacy default stream waits for all others
    *st = state.capturing && s == state.capturing;
    return 0;
}
static CUresult fake_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
    CALL(cuThreadExchangeStreamCaptureMode);
    CUstreamCaptureMode before = capture_mode;
    capture_mode = *mode;
    *mode = before;
    return 0;
}
static CUresult fake_cuStreamBeginCapture(CUstream s, CUstreamCaptureMode mode) {
    (void)mode;
    CALL(cuStreamBeginCapture);
    state.capturing = s;
    state.invalidated = 0;
    return 0;
}
static CUresult fake_cuStreamEndCapture(CUstream s, void **graph) {
    (void)s;
    CALL(cuStreamEndCapture);
    state.capturing = NULL;
    *graph = state.invalidated ? NULL : &token;
    return state.invalidated ? CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}
static CUresult fake_cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long f) {
    (void)f;
    CALL(cuGraphInstantiateWithFlags);
    *exec = graph;
    return 0;
}
static CUresult fake_cuGraphLaunch(void *exec, CUstream s) {
    (void)exec, (void)s;
    CALL(cuGraphLaunch);
    return 0;
}
static CUresult fake_cuGraphExecDestroy(void *exec) {
    (void)exec;
    CALL(cuGraphExecDestroy);
    return 0;
}
static CUresult fake_cuGraphDestroy(void *graph) {
    (void)graph;
    CALL(cuGraphDestroy);
    return 0;
}
static CUresult fake_cuEventCreate(CUevent *e, unsigned f) {
    (void)f;
    CALL(cuEventCreate);
    state.events++;
    *e = (CUevent)(void *)&token;
    return 0;
}
static CUresult fake_cuEventDestroy(CUevent e) {
    (void)e;
    state.events--;
    CALL(cuEventDestroy);
    return 0;
}
static CUresult fake_cuEventRecord(CUevent e, CUstream s) {
    (void)e, (void)s;
    CALL(cuEventRecord);
    return 0;
}
static CUresult fake_cuEventSynchronize(CUevent e) {
    (void)e;
    CALL(cuEventSynchronize);
    return 0;
}
static CUresult fake_cuEventElapsedTime(float *ms, CUevent a, CUevent b) {
    (void)a, (void)b;
    CALL(cuEventElapsedTime);
    *ms = 1;
    return 0;
}
static CUresult fake_cuLibraryLoadData(CUlibrary *l, const void *code, CUjit_option *o, void **v,
                                       unsigned n, CUlibraryOption *lo, void **lv, unsigned ln) {
    (void)o, (void)v, (void)n, (void)lo, (void)lv, (void)ln;
    CALL(cuLibraryLoadData);
    state.loaded_ptx = memcmp(code, "\177ELF", 4) != 0;
    if (state.refuse_loads && state.refuse_loads--)
        return 209; // no image for this device
    if (state.capturing && capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED) {
        state.invalidated = 1;
        return CAPTURE_UNSUPPORTED;
    }
    state.libraries++;
    state.loads++;
    *l = (CUlibrary)(void *)&token;
    return 0;
}
static CUresult fake_cuLibraryUnload(CUlibrary l) {
    (void)l;
    state.libraries--;
    CALL(cuLibraryUnload);
    return 0;
}
static CUresult fake_cuLibraryGetKernel(CUkernel *k, CUlibrary l, const char *name) {
    (void)l, (void)name;
    CALL(cuLibraryGetKernel);
    *k = (CUkernel)(void *)&token;
    return 0;
}
static CUresult fake_cuKernelGetFunction(CUfunction *f, CUkernel k) {
    (void)k;
    CALL(cuKernelGetFunction);
    *f = (CUfunction)(void *)&token;
    return 0;
}
static CUresult fake_cuKernelGetAttribute(int *v, CUfunction_attribute a, CUkernel k, CUdevice d) {
    (void)a, (void)k, (void)d;
    CALL(cuKernelGetAttribute);
    *v = a == CU_FUNC_ATTRIBUTE_NUM_REGS ? 32 : 0;
    return 0;
}
static CUresult fake_cuKernelSetAttribute(CUfunction_attribute a, int v, CUkernel k, CUdevice d) {
    (void)k, (void)d;
    CALL(cuKernelSetAttribute);
    if (a == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED)
        state.large_clusters = v;
    return 0;
}
static CUresult fake_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, CUfunction f, int b,
                                                                 size_t s) {
    (void)f, (void)b, (void)s;
    CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor);
    *n = 4;
    return 0;
}
static CUresult fake_cuOccupancyMaxActiveClusters(int *n, CUfunction f, const CUlaunchConfig *c) {
    (void)f;
    CALL(cuOccupancyMaxActiveClusters);
    int is_allowed = c->attrs[0].value.clusterDim.x <= 8 || state.large_clusters;
    *n = is_allowed ? 132 / (int)c->attrs[0].value.clusterDim.x : 0;
    return 0;
}
static CUresult fake_cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz,
                                    unsigned bx, unsigned by, unsigned bz, unsigned sh, CUstream s,
                                    void **p, void **e) {
    (void)f, (void)by, (void)bz, (void)e;
    CALL(cuLaunchKernel);
    if (!current)
        return CUDA_ERROR_INVALID_CONTEXT;
    state.grid[0] = gx, state.grid[1] = gy, state.grid[2] = gz;
    state.block = bx;
    state.shared = sh;
    state.stream = s;
    state.params = p;
    for (int i = 0; i < state.num_values; i++)
        memcpy(&state.values[i], p[i], sizeof *state.values); // the runtime keeps 8 bytes of each
    return 0;
}

static CUresult fake_cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **p, void **e) {
    CALL(cuLaunchKernelEx);
    state.cooperative = c->numAttrs == 1 && c->attrs[0].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE &&
                        c->attrs[0].value.cooperative;
    if (state.cooperative && c->gridDimX * c->gridDimY * c->gridDimZ > 4 * 132)
        return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    return fake_cuLaunchKernel(f, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, 1, 1,
                               c->sharedMemBytes, c->hStream, p, e);
}

__attribute__((visibility("default"))) CUresult
cuGetProcAddress_v2(const char *symbol, void **out, int version, uint64_t flags, int *status);
CUresult cuGetProcAddress_v2(const char *symbol, void **out, int version, uint64_t flags,
                             int *status) {
    (void)version, (void)flags, (void)status;
    *out = NULL;
    const char *missing = getenv("FAKE_CUDA_MISSING"), *old = getenv("FAKE_CUDA_VERSION");
    if (old)
        state.version = atoi(old);
    if (missing && !strcmp(missing, symbol))
        return 500;
#define ENTRY(name, entry_version, params)                                                         \
    if (!strcmp(symbol, #name)) {                                                                  \
        CUresult(*entry) params = fake_##name;                                                     \
        memcpy(out, &entry, sizeof entry);                                                         \
        return 0;                                                                                  \
    }
#include "runtime/cuda_driver.def"
    // What an application calls.
    ENTRY(cuStreamBeginCapture, 0, (CUstream, CUstreamCaptureMode))
    ENTRY(cuStreamEndCapture, 0, (CUstream, void **))
    ENTRY(cuGraphInstantiateWithFlags, 0, (void **, void *, unsigned long long))
    ENTRY(cuGraphLaunch, 0, (void *, CUstream))
    ENTRY(cuGraphExecDestroy, 0, (void *))
    ENTRY(cuGraphDestroy, 0, (void *))
#undef ENTRY
    return 500;
}
