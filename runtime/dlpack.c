// Tensors by DLPack (tile_dlpack.h). A DLTensor is read with mistrust: it comes from another
// library, and a wrong stride taken for a right one is memory read at random.
#include "runtime/tile_dlpack.h"
#include "runtime/rt.h"

#include <stdio.h>

enum { MAX_RANK = 64 };

/// Element types by DLPack's code and width. The codes of Bool and of 8-bit floats are numbers here,
/// because older headers do not name them.
static const struct {
    uint8_t code, bits;
    const char *dtype;
} types[] = {
    {kDLInt, 8, "i8"},      {kDLInt, 16, "i16"},    {kDLInt, 32, "i32"},    {kDLInt, 64, "i64"},
    {kDLUInt, 8, "u8"},     {kDLUInt, 16, "u16"},   {kDLUInt, 32, "u32"},   {kDLUInt, 64, "u64"},
    {kDLFloat, 16, "fp16"}, {kDLFloat, 32, "fp32"}, {kDLFloat, 64, "fp64"}, {kDLBfloat, 16, "bf16"},
    {6, 8, "i1"},           {10, 8, "fp8e4nv"},     {12, 8, "fp8e5"},
};

static const char *dtype_of(DLDataType t) {
    for (size_t i = 0; t.lanes == 1 && i < sizeof types / sizeof *types; i++)
        if (types[i].code == t.code && types[i].bits == t.bits)
            return types[i].dtype;
    return NULL;
}

static tile_status check_shape(const DLTensor *t, tile_error *error) {
    if (!t)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "tensor is NULL");
    if (t->ndim < 0 || t->ndim > MAX_RANK || (t->ndim && !t->shape))
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "the tensor has %d dimensions%s",
                       t->ndim, t->shape ? "" : " and no shape");
    uint64_t elements = 1;
    for (int32_t i = 0; i < t->ndim; i++) {
        if (t->shape[i] < 0)
            return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT,
                           "the tensor's dimension %d has %lld elements", i,
                           (long long)t->shape[i]);
        if (__builtin_mul_overflow(elements, (uint64_t)(t->shape[i] ? t->shape[i] : 1),
                                   &elements) ||
            elements > INT64_MAX / 8)
            return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT,
                           "the tensor has more elements than memory has bytes");
    }
    return TILE_OK;
}

/// The stride of a checked tensor's dimension.
static int64_t stride_of(const DLTensor *t, int32_t dim) {
    if (t->strides)
        return t->strides[dim];
    int64_t stride = 1;
    for (int32_t i = t->ndim - 1; i > dim; i--)
        stride *= t->shape[i] ? t->shape[i] : 1;
    return stride;
}

static tile_status check_device(const tile_device *d, const DLTensor *t, tile_error *error) {
    DLDeviceType type = t->device.device_type;
    bool here = d->info.is_cuda ? (type == kDLCUDA && t->device.device_id == d->index) ||
                                      type == kDLCUDAManaged || type == kDLCUDAHost
                                : type == kDLCPU || type == kDLCUDAHost;
    if (here)
        return TILE_OK;
    char runs_on[16] = "cpu";
    if (d->info.is_cuda)
        snprintf(runs_on, sizeof runs_on, "cuda:%d", d->index);
    return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT,
                   "the tensor is in %s (DLPack device %d:%d), but the kernel runs on %s",
                   type == kDLCPU    ? "host memory"
                   : type == kDLCUDA ? "a CUDA device's memory"
                                     : "the memory of another kind of device",
                   (int)type, t->device.device_id, runs_on);
}

tile_status tile_dlpack_pointer(tile_device *device, const DLTensor *tensor, tile_arg *out_arg,
                                tile_error *error) {
    if (!device || !out_arg)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "%s is NULL",
                       device ? "out_arg" : "device");
    *out_arg = (tile_arg){.kind = TILE_ARG_NONE};
    tile_status status = check_shape(tensor, error);
    if (!status)
        status = check_device(device, tensor, error);
    if (status)
        return status;
    DLDataType t = tensor->dtype;
    const char *dtype = dtype_of(t);
    if (!dtype)
        return rt_fail(error, TILE_ERROR_UNSUPPORTED,
                       "kernels have no elements of DLPack type code %d with %d bits and %d lanes",
                       t.code, t.bits, t.lanes);
    uintptr_t address = (uintptr_t)tensor->data + (uintptr_t)tensor->byte_offset;
    if (address % (t.bits / 8u))
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT,
                       "the tensor's address 0x%llx is not a multiple of its elements' %d bytes",
                       (unsigned long long)address, t.bits / 8);
    *out_arg = (tile_arg){
        .kind = TILE_ARG_POINTER, .dtype = dtype, .value.pointer = (const void *)address};
    return TILE_OK;
}

/// Checks the tensor and turns dim into an index.
static tile_status find_dim(const DLTensor *t, int32_t *dim, tile_arg *out_arg, tile_error *error) {
    if (!out_arg)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "out_arg is NULL");
    *out_arg = (tile_arg){.kind = TILE_ARG_NONE};
    tile_status status = check_shape(t, error);
    if (status)
        return status;
    if (*dim < -t->ndim || *dim >= t->ndim)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT,
                       "the tensor has %d dimensions; there is no dimension %d", t->ndim, *dim);
    *dim += *dim < 0 ? t->ndim : 0;
    return TILE_OK;
}

tile_status tile_dlpack_size(const DLTensor *tensor, int32_t dim, tile_arg *out_arg,
                             tile_error *error) {
    tile_status status = find_dim(tensor, &dim, out_arg, error);
    if (!status)
        *out_arg = TILE_INT(tensor->shape[dim]);
    return status;
}

tile_status tile_dlpack_stride(const DLTensor *tensor, int32_t dim, tile_arg *out_arg,
                               tile_error *error) {
    tile_status status = find_dim(tensor, &dim, out_arg, error);
    if (!status)
        *out_arg = TILE_INT(stride_of(tensor, dim));
    return status;
}

tile_status tile_dlpack_check_contiguous(const DLTensor *tensor, tile_error *error) {
    tile_status status = check_shape(tensor, error);
    if (status)
        return status;
    int64_t expected = 1;
    for (int32_t i = 0; i < tensor->ndim; i++)
        if (tensor->shape[i] == 0)
            return TILE_OK; // no elements, no gaps
    for (int32_t i = tensor->ndim - 1; i >= 0; i--) {
        if (tensor->shape[i] != 1 && stride_of(tensor, i) != expected)
            return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT,
                           "the tensor is not contiguous: dimension %d has stride %lld, not %lld",
                           i, (long long)stride_of(tensor, i), (long long)expected);
        expected *= tensor->shape[i];
    }
    return TILE_OK;
}

/// The bytes that a tensor's elements reach, from the first that lies lowest. False if they do not
/// fit into an address space.
static bool extent(const DLTensor *t, uintptr_t *start, size_t *bytes) {
    int64_t low = 0, high = 0, step;
    size_t size = t->dtype.bits / 8u;
    *start = (uintptr_t)t->data + (uintptr_t)t->byte_offset;
    *bytes = 0;
    for (int32_t i = 0; i < t->ndim; i++) {
        if (t->shape[i] == 0)
            return true;
        if (__builtin_mul_overflow(t->shape[i] - 1, stride_of(t, i), &step) ||
            __builtin_add_overflow(step < 0 ? low : high, step, step < 0 ? &low : &high) ||
            low < INT64_MIN / 16 || high > INT64_MAX / 16)
            return false;
    }
    *start += (uintptr_t)low * size;
    *bytes = (size_t)(high - low + 1) * size;
    return true;
}

tile_status tile_dlpack_register(tile_device *device, const DLTensor *tensor, tile_error *error) {
    tile_arg arg;
    tile_status status = tile_dlpack_pointer(device, tensor, &arg, error);
    if (status || device->info.is_cuda)
        return status;
    uintptr_t start;
    size_t bytes;
    if (!extent(tensor, &start, &bytes))
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT,
                       "the tensor's strides reach beyond the address space");
    return bytes ? tile_memory_register(device, (const void *)start, bytes, error) : TILE_OK;
}

void tile_dlpack_unregister(tile_device *device, const DLTensor *tensor) {
    uintptr_t start;
    size_t bytes;
    if (device && !device->info.is_cuda && tensor && !check_shape(tensor, NULL) &&
        extent(tensor, &start, &bytes))
        tile_memory_unregister(device, (const void *)start);
}
