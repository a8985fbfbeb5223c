// The CUDA driver, opened at run time: the few declarations of cuda.h that we use, written out, and
// the table of entries. Nothing of CUDA is needed to build, and no GPU to run.
#ifndef TILE_RUNTIME_CUDA_DRIVER_H
#define TILE_RUNTIME_CUDA_DRIVER_H

#include <stddef.h>

/// The constants that we use, with their values: a test compares them with cuda.h.
#define CUDA_CONSTANTS(X)                                                                          \
    X(CUDA_SUCCESS, 0)                                                                             \
    X(CUDA_ERROR_OUT_OF_MEMORY, 2)                                                                 \
    X(CUDA_ERROR_NO_DEVICE, 100)                                                                   \
    X(CUDA_ERROR_INVALID_DEVICE, 101)                                                              \
    X(CUDA_ERROR_INVALID_CONTEXT, 201)                                                             \
    X(CUDA_ERROR_ECC_UNCORRECTABLE, 214)                                                           \
    X(CUDA_ERROR_ILLEGAL_ADDRESS, 700)                                                             \
    X(CUDA_ERROR_ASSERT, 710)                                                                      \
    X(CUDA_ERROR_LAUNCH_FAILED, 719)                                                               \
    X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, 720)                                                \
    X(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)                                                \
    X(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 38)                                                       \
    X(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 39)                                      \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)                                            \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)                                            \
    X(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 82)                                    \
    X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)                                   \
    X(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1)                                                      \
    X(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 3)                                                       \
    X(CU_FUNC_ATTRIBUTE_NUM_REGS, 4)                                                               \
    X(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8)                                          \
    X(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 14)                                     \
    X(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 2)                                                          \
    X(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 4)                                                    \
    X(CU_JIT_ERROR_LOG_BUFFER, 5)                                                                  \
    X(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, 6)                                                       \
    X(CU_STREAM_NON_BLOCKING, 1)                                                                   \
    X(CU_STREAM_CAPTURE_STATUS_NONE, 0)                                                            \
    X(CU_STREAM_CAPTURE_MODE_RELAXED, 2)

#ifndef TILE_USE_CUDA_H // that test includes cuda.h instead
typedef int CUresult;
typedef int CUdevice;
typedef int CUdevice_attribute;
typedef int CUfunction_attribute;
typedef int CUjit_option;
typedef int CUlibraryOption;
typedef int CUstreamCaptureStatus;
typedef int CUstreamCaptureMode;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUfunc_st *CUfunction;
typedef struct CUlib_st *CUlibrary;
typedef struct CUkern_st *CUkernel;

typedef union CUlaunchAttributeValue {
    char pad[64];
    int cooperative;
    struct {
        unsigned x, y, z;
    } clusterDim;
} CUlaunchAttributeValue;

typedef struct CUlaunchAttribute {
    int id;
    char pad[4];
    CUlaunchAttributeValue value;
} CUlaunchAttribute;

typedef struct CUlaunchConfig {
    unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ;
    unsigned sharedMemBytes;
    CUstream hStream;
    CUlaunchAttribute *attrs;
    unsigned numAttrs;
} CUlaunchConfig;

enum {
#define X(name, value) name = value,
    CUDA_CONSTANTS(X)
#undef X
};
#endif

/// The oldest driver we take: CUDA 12.0.
enum { CUDA_LEAST_DRIVER = 12000 };

typedef struct cuda_driver {
#define ENTRY(name, version, params) CUresult(*name) params;
#include "runtime/cuda_driver.def"
#undef ENTRY
    int version;       ///< of the driver: 13000 for CUDA 13.0
    char problem[256]; ///< why the driver cannot be used; empty if it can
} cuda_driver;

/// Opens the driver once per process ($TILE_LIBCUDA, else libcuda.so.1) and returns the table. If
/// it cannot be used, `problem` says why. Thread-safe.
const cuda_driver *cuda_get_driver(void);

#endif
