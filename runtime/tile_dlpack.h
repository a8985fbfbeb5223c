// Tensors of other libraries as kernel arguments, by DLPack: PyTorch, JAX, CuPy, NumPy and most
// engines give their tensors as a DLTensor. A tensor becomes a pointer argument; its sizes and
// strides become integer arguments, typed by their value as Triton types a Python int. Whether
// pointers and integers are divisible by 16 is then found by the launch, as for any argument.
//
//     tile_arg args[4];
//     if (tile_dlpack_pointer(dev, x, &args[0], &err) || tile_dlpack_pointer(dev, y, &args[1], &err) ||
//         tile_dlpack_size(x, -1, &args[2], &err) || tile_dlpack_stride(x, 0, &args[3], &err) ||
//         tile_launch(kernel, args, 4, &opt, &err)) ...
//
// Needs <dlpack/dlpack.h> (any version), which tile.h does not. Nothing here takes ownership: the
// tensor must live until the launched work has ended. All functions may be called from any thread.
// A tensor whose rank, shape or type is no tensor's at all is INVALID_ARGUMENT everywhere.
#ifndef TILE_DLPACK_H
#define TILE_DLPACK_H

#include "tile.h"

#include <dlpack/dlpack.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The tensor's first element (data + byte_offset) as a pointer to elements of its type. Strides
/// are the kernel's business; see tile_dlpack_check_contiguous. Errors: INVALID_ARGUMENT (the
/// tensor is not in memory of `device`, or its address is not a multiple of its element's size),
/// UNSUPPORTED (kernels have no such element type).
TILE_API tile_status tile_dlpack_pointer(tile_device *device, const DLTensor *tensor,
                                         tile_arg *out_arg, tile_error *error);
/// The size of a dimension, in elements; dim < 0 counts from the last. Errors: INVALID_ARGUMENT (no
/// such dimension).
TILE_API tile_status tile_dlpack_size(const DLTensor *tensor, int32_t dim, tile_arg *out_arg,
                                      tile_error *error);
/// The stride of a dimension, in elements, of a tensor without strides the row-major one. Errors
/// as of tile_dlpack_size.
TILE_API tile_status tile_dlpack_stride(const DLTensor *tensor, int32_t dim, tile_arg *out_arg,
                                        tile_error *error);
/// For kernels that take no strides. Errors: INVALID_ARGUMENT (the tensor's elements do not lie one
/// after the other in row-major order; the message names the dimension).
TILE_API tile_status tile_dlpack_check_contiguous(const DLTensor *tensor, tile_error *error);

/// tile_memory_register for all that the tensor's strides reach: on cpu, kernels may use registered
/// memory only. Undo it with tile_dlpack_unregister. On cuda: no-op. Errors as of
/// tile_dlpack_pointer.
TILE_API tile_status tile_dlpack_register(tile_device *device, const DLTensor *tensor,
                                          tile_error *error);
/// NULL is ignored.
TILE_API void tile_dlpack_unregister(tile_device *device, const DLTensor *tensor);

#ifdef __cplusplus
}
#endif

#endif
