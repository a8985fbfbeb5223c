// The CUDA device: buffers, streams and events through the driver, and the launch itself. Work runs
// in the caller's current context; a thread that has none gets the device's primary context.
#include "runtime/cuda_driver.h"
#include "runtime/rt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Errors after which the context is unusable for good.
static bool is_sticky(CUresult r) {
    return (r >= CUDA_ERROR_ILLEGAL_ADDRESS && r <= CUDA_ERROR_LAUNCH_FAILED && r != 701 &&
            r != 704 && r != 705 && r != 708) ||
           r == CUDA_ERROR_ECC_UNCORRECTABLE;
}

static tile_status fail(tile_error *error, CUresult r, const char *what) {
    const cuda_driver *cu = cuda_get_driver();
    const char *name = NULL, *text = NULL;
    cu->cuGetErrorName(r, &name);
    cu->cuGetErrorString(r, &text);
    tile_status status = r == CUDA_ERROR_OUT_OF_MEMORY ? TILE_ERROR_OUT_OF_MEMORY
                         : r == CUDA_ERROR_ASSERT      ? TILE_ERROR_ASSERTION
                         : is_sticky(r)                ? TILE_ERROR_DEVICE_LOST
                                                       : TILE_ERROR_DRIVER;
    if (r == CUDA_ERROR_ASSERT) // which one, the driver has printed
        return rt_fail(error, status,
                       "%s: a kernel's assertion failed; standard error has its file, "
                       "line and message (%s), and the device is unusable from here on",
                       what, name);
    return rt_fail(error, status, "%s: %s (%s)", what, text ? text : "unknown error",
                   name ? name : "?");
}

#define CHECK(call, what)                                                                          \
    do {                                                                                           \
        CUresult check_result = (call);                                                            \
        if (check_result != CUDA_SUCCESS)                                                          \
            return fail(error, check_result, what);                                                \
    } while (0)

/// Makes the device's primary context current for the calls up to leave(), unless the thread has a
/// context already: then the application's own stays.
static tile_status enter(tile_device *d, bool *pushed, tile_error *error) {
    const cuda_driver *cu = cuda_get_driver();
    CUcontext current = NULL;
    *pushed = false;
    CHECK(cu->cuCtxGetCurrent(&current), "reading the current context");
    if (current)
        return TILE_OK;
    CHECK(cu->cuCtxPushCurrent(d->context), "entering the device's context");
    *pushed = true;
    return TILE_OK;
}

static void leave(bool pushed) {
    CUcontext ignored;
    if (pushed)
        cuda_get_driver()->cuCtxPopCurrent(&ignored);
}

/// Runs one driver call inside enter/leave.
#define IN_CONTEXT(d, call, what)                                                                  \
    do {                                                                                           \
        bool pushed;                                                                               \
        tile_status entered = enter(d, &pushed, error);                                            \
        if (entered)                                                                               \
            return entered;                                                                        \
        CUresult in_context_result = (call);                                                       \
        leave(pushed);                                                                             \
        if (in_context_result != CUDA_SUCCESS)                                                     \
            return fail(error, in_context_result, what);                                           \
    } while (0)

static uint32_t attribute(const cuda_driver *cu, CUdevice device, CUdevice_attribute a) {
    int v = 0;
    cu->cuDeviceGetAttribute(&v, a, device);
    return v > 0 ? (uint32_t)v : 0;
}

static tile_status cuda_open(tile_device *d, int index, tile_error *error) {
    const cuda_driver *cu = cuda_get_driver();
    if (cu->problem[0])
        return rt_fail(error, TILE_ERROR_NOT_FOUND, "%s", cu->problem);
    int count = 0;
    CHECK(cu->cuDeviceGetCount(&count), "counting the devices");
    if (index >= count)
        return rt_fail(error, TILE_ERROR_NOT_FOUND,
                       "there is no device cuda:%d; this machine has %d", index, count);
    CUdevice device;
    CHECK(cu->cuDeviceGet(&device, index), "opening the device");
    tile_device_info *info = &d->info;
    cu->cuDeviceGetName(info->name, sizeof info->name, device);
    int major = 0, minor = 0;
    CHECK(cu->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device),
          "reading the device's architecture");
    CHECK(cu->cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device),
          "reading the device's architecture");
    snprintf(info->arch, sizeof info->arch, "sm_%d%d", major, minor);
    info->num_sms = attribute(cu, device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    info->max_threads_per_sm =
        attribute(cu, device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    info->max_shared_bytes_per_block =
        attribute(cu, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    info->registers_per_sm =
        attribute(cu, device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
    info->l2_bytes = attribute(cu, device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    size_t memory = 0;
    CHECK(cu->cuDeviceTotalMem(&memory, device), "reading the size of the device's memory");
    info->memory_bytes = memory;
    info->driver_version = (uint32_t)cu->version;
    info->is_cuda = true;
    CUcontext context = NULL;
    CHECK(cu->cuDevicePrimaryCtxRetain(&context, device), "creating the device's context");
    d->context = context;
    d->index = index;
    d->native = device;
    CUcontext current = NULL;
    if (cu->cuCtxGetCurrent(&current) == CUDA_SUCCESS && !current)
        cu->cuCtxSetCurrent(context); // so that this thread's launches take one driver call
    return TILE_OK;
}

static void cuda_close(tile_device *d) { cuda_get_driver()->cuDevicePrimaryCtxRelease(d->native); }

static CUdeviceptr address(const void *p) { return (CUdeviceptr)(uintptr_t)p; }

static tile_status cuda_alloc(tile_device *d, size_t bytes, void **out, tile_error *error) {
    CUdeviceptr p = 0;
    IN_CONTEXT(d, cuda_get_driver()->cuMemAlloc(&p, bytes ? bytes : 1), "allocating device memory");
    *out = (void *)(uintptr_t)p;
    return TILE_OK;
}

static void cuda_free(tile_device *d, void *p, size_t bytes) {
    (void)bytes;
    bool pushed;
    enter(d, &pushed, NULL); // even if that fails, the memory may be freed yet
    cuda_get_driver()->cuMemFree(address(p));
    leave(pushed);
}

static tile_status cuda_copy(tile_device *d, void *dst, bool dst_host, const void *src,
                             bool src_host, size_t bytes, void *stream, tile_error *error) {
    const cuda_driver *cu = cuda_get_driver();
    if (dst_host) {
        IN_CONTEXT(d, cu->cuMemcpyDtoHAsync(dst, address(src), bytes, stream),
                   "copying to the host");
    } else if (src_host) {
        IN_CONTEXT(d, cu->cuMemcpyHtoDAsync(address(dst), src, bytes, stream),
                   "copying to the device");
    } else {
        IN_CONTEXT(d, cu->cuMemcpyDtoDAsync(address(dst), address(src), bytes, stream),
                   "copying on the device");
        return TILE_OK;
    }
    IN_CONTEXT(d, cu->cuStreamSynchronize(stream), "waiting for a copy");
    return TILE_OK;
}

static tile_status cuda_fill(tile_device *d, void *dst, uint8_t byte, size_t bytes, void *stream,
                             tile_error *error) {
    IN_CONTEXT(d, cuda_get_driver()->cuMemsetD8Async(address(dst), byte, bytes, stream),
               "filling device memory");
    return TILE_OK;
}

static tile_status cuda_stream_create(tile_device *d, void **out, tile_error *error) {
    CUstream s = NULL;
    IN_CONTEXT(d, cuda_get_driver()->cuStreamCreate(&s, CU_STREAM_NON_BLOCKING),
               "creating a stream");
    *out = s;
    return TILE_OK;
}

static void cuda_stream_destroy(tile_device *d, void *stream) {
    (void)d;
    cuda_get_driver()->cuStreamDestroy(stream);
}

static tile_status cuda_synchronize(tile_device *d, void *stream, bool all, tile_error *error) {
    const cuda_driver *cu = cuda_get_driver();
    IN_CONTEXT(d, all ? cu->cuCtxSynchronize() : cu->cuStreamSynchronize(stream),
               "waiting for the device");
    return TILE_OK;
}

static tile_status cuda_event_create(tile_device *d, void **out, tile_error *error) {
    CUevent e = NULL;
    IN_CONTEXT(d, cuda_get_driver()->cuEventCreate(&e, 0), "creating an event");
    *out = e;
    return TILE_OK;
}

static void cuda_event_destroy(tile_device *d, void *event) {
    (void)d;
    cuda_get_driver()->cuEventDestroy(event);
}

static tile_status cuda_event_record(tile_device *d, void *event, void *stream, tile_error *error) {
    IN_CONTEXT(d, cuda_get_driver()->cuEventRecord(event, stream), "recording an event");
    return TILE_OK;
}

static tile_status cuda_event_elapsed(tile_device *d, void *start, void *end, float *out_ms,
                                      tile_error *error) {
    const cuda_driver *cu = cuda_get_driver();
    IN_CONTEXT(d, cu->cuEventSynchronize(end), "waiting for an event");
    IN_CONTEXT(d, cu->cuEventElapsedTime(out_ms, start, end), "reading event times");
    return TILE_OK;
}

static bool cuda_is_capturing(tile_device *d, void *stream) {
    bool pushed;
    if (enter(d, &pushed, NULL))
        return false;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    // An error here means that another stream's capture forbids the call: that is one as well.
    CUresult r = cuda_get_driver()->cuStreamIsCapturing(stream, &status);
    leave(pushed);
    return r != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/// A launch of `programs` of a binary, with one attribute.
static CUlaunchConfig launch_config(const rt_binary *b, const uint32_t programs[3],
                                    CUlaunchAttribute *attribute) {
    return (CUlaunchConfig){.gridDimX = programs[0] * b->num_ctas,
                            .gridDimY = programs[1],
                            .gridDimZ = programs[2],
                            .blockDimX = 32 * b->num_warps,
                            .blockDimY = 1,
                            .blockDimZ = 1,
                            .sharedMemBytes = b->shared_bytes,
                            .attrs = attribute,
                            .numAttrs = 1};
}

/// How many programs the device holds at once, and what the driver must be told beforehand.
static tile_status prepare_clusters(tile_device *d, const rt_binary *b, CUkernel kernel,
                                    CUfunction function, rt_loaded *out, tile_error *error) {
    enum { PORTABLE = 8 }; // blocks of a cluster
    const cuda_driver *cu = cuda_get_driver();
    if (b->num_ctas > PORTABLE)
        CHECK(cu->cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1,
                                       kernel, d->native),
              "allowing a large cluster");
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    attribute.value.clusterDim.x = b->num_ctas;
    attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
    CUlaunchConfig config = launch_config(b, (const uint32_t[]){1, 1, 1}, &attribute);
    int n = 0;
    CHECK(cu->cuOccupancyMaxActiveClusters(&n, function, &config),
          "computing the clusters' occupancy");
    out->max_programs = (uint32_t)n;
    if (n < 1)
        return rt_fail(
            error, TILE_ERROR_UNSUPPORTED,
            "%s cannot hold %u blocks of %u threads at once for a program: use fewer CTAs "
            "or warps",
            d->info.name, b->num_ctas, 32 * b->num_warps);
    return TILE_OK;
}

static tile_status load_in_context(tile_device *d, const rt_binary *b, rt_loaded *out,
                                   tile_error *error) {
    const cuda_driver *cu = cuda_get_driver();
    char log[4096] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    CUlibrary library = NULL;
    const void *code = b->image ? b->image : b->ptx;
    CUresult r =
        cu->cuLibraryLoadData(&library, code, options, values, b->image ? 0 : 2, NULL, NULL, 0);
    if (r != CUDA_SUCCESS) {
        fail(error, r, "loading the kernel");
        if (error && log[0])
            error->log = strdup(log);
        return error ? error->status : TILE_ERROR_DRIVER;
    }
    out->library = library;
    CUkernel kernel = NULL;
    CUdevice device = d->native;
    CHECK(cu->cuLibraryGetKernel(&kernel, library, b->entry), "finding the kernel");
    out->handle = kernel;
    if (b->shared_bytes > 48 << 10)
        CHECK(cu->cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                       (int)b->shared_bytes, kernel, device),
              "reserving shared memory");
    int v = 0;
    CHECK(cu->cuKernelGetAttribute(&v, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, device),
          "reading registers");
    out->registers = (uint32_t)v;
    CHECK(cu->cuKernelGetAttribute(&v, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, kernel, device),
          "reading local memory");
    out->local_bytes = (uint32_t)v;
    CHECK(cu->cuKernelGetAttribute(&v, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel, device),
          "reading shared memory");
    out->static_shared_bytes = (uint32_t)v;
    CUfunction function = NULL;
    CHECK(cu->cuKernelGetFunction(&function, kernel), "loading the kernel in this context");
    CHECK(cu->cuOccupancyMaxActiveBlocksPerMultiprocessor(&v, function, (int)(32 * b->num_warps),
                                                          b->shared_bytes),
          "computing the occupancy");
    out->max_blocks_per_sm = (uint32_t)v;
    out->max_programs = out->max_blocks_per_sm * d->info.num_sms;
    return b->num_ctas > 1 ? prepare_clusters(d, b, kernel, function, out, error) : TILE_OK;
}

static void cuda_unload(tile_device *d, rt_loaded *l) {
    (void)d;
    if (l->library)
        cuda_get_driver()->cuLibraryUnload(l->library);
    memset(l, 0, sizeof *l);
}

static tile_status cuda_load(tile_device *d, const rt_binary *b, rt_loaded *out,
                             tile_error *error) {
    const cuda_driver *cu = cuda_get_driver();
    bool pushed;
    tile_status s = enter(d, &pushed, error);
    if (s)
        return s;
    // While another stream is being captured, loading would otherwise be forbidden to this thread,
    // and would end that capture.
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUresult r = cu->cuThreadExchangeStreamCaptureMode(&mode);
    s = r ? fail(error, r, "preparing to load") : load_in_context(d, b, out, error);
    if (!r)
        cu->cuThreadExchangeStreamCaptureMode(&mode);
    leave(pushed);
    if (s)
        cuda_unload(d, out);
    return s;
}

/// All blocks at once, or an error.
static tile_status launch_cooperatively(tile_device *d, const rt_loaded *l, const rt_binary *b,
                                        const uint32_t grid[3], void **params, void *stream,
                                        tile_error *error) {
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE};
    attribute.value.cooperative = 1;
    CUlaunchConfig config = launch_config(b, grid, &attribute);
    config.hStream = stream;
    bool pushed;
    tile_status status = enter(d, &pushed, error);
    if (status)
        return status;
    CUresult r = cuda_get_driver()->cuLaunchKernelEx(&config, l->handle, params, NULL);
    leave(pushed);
    if (r == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE)
        return rt_fail(error, TILE_ERROR_UNSUPPORTED,
                       "%s holds %u programs of this kernel at once; a cooperative launch of "
                       "%llu cannot be",
                       d->info.name, l->max_programs,
                       (unsigned long long)grid[0] * grid[1] * grid[2]);
    return r ? fail(error, r, "launching the kernel") : TILE_OK;
}

static tile_status cuda_launch(tile_device *d, const rt_loaded *l, const rt_binary *b,
                               const uint32_t grid[3], void **params, void *stream,
                               bool cooperative, tile_error *error) {
    const cuda_driver *cu = cuda_get_driver();
    if (__builtin_expect(cooperative, 0))
        return launch_cooperatively(d, l, b, grid, params, stream, error);
    CUfunction function = l->handle; // the driver takes a CUkernel here, for any context
    CUresult r = cu->cuLaunchKernel(function, grid[0] * b->num_ctas, grid[1], grid[2],
                                    32 * b->num_warps, 1, 1, b->shared_bytes, stream, params, NULL);
    if (__builtin_expect(r == CUDA_SUCCESS, 1))
        return TILE_OK;
    if (r != CUDA_ERROR_INVALID_CONTEXT)
        return fail(error, r, "launching the kernel");
    CHECK(cu->cuCtxSetCurrent(d->context), "entering the device's context"); // a fresh thread
    CHECK(cu->cuLaunchKernel(function, grid[0] * b->num_ctas, grid[1], grid[2], 32 * b->num_warps,
                             1, 1, b->shared_bytes, stream, params, NULL),
          "launching the kernel");
    return TILE_OK;
}

const device_ops device_ops_cuda = {
    .open = cuda_open,
    .close = cuda_close,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .copy = cuda_copy,
    .fill = cuda_fill,
    .stream_create = cuda_stream_create,
    .stream_destroy = cuda_stream_destroy,
    .synchronize = cuda_synchronize,
    .event_create = cuda_event_create,
    .event_destroy = cuda_event_destroy,
    .event_record = cuda_event_record,
    .event_elapsed = cuda_event_elapsed,
    .is_capturing = cuda_is_capturing,
    .load = cuda_load,
    .unload = cuda_unload,
    .launch = cuda_launch,
};
