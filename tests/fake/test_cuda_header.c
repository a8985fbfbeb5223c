// The driver's entries and constants as runtime/cuda_driver.h writes them out, held against a CUDA
// toolkit's own header. Most of the test is that this file compiles: each entry's declaration there
// must fit the type that ours has here.
#define TILE_USE_CUDA_H
#include <cuda.h>

#include "runtime/cuda_driver.h"

#include <stdio.h>

#pragma GCC diagnostic error "-Wincompatible-pointer-types"

#define X(name, value) _Static_assert((long long)(name) == (value), #name);
CUDA_CONSTANTS(X)
#undef X

// What we declare as int is an enum there.
_Static_assert(sizeof(CUresult) == sizeof(int), "CUresult");
_Static_assert(sizeof(CUdevice_attribute) == sizeof(int), "CUdevice_attribute");
_Static_assert(sizeof(CUfunction_attribute) == sizeof(int), "CUfunction_attribute");
_Static_assert(sizeof(CUjit_option) == sizeof(int), "CUjit_option");
_Static_assert(sizeof(CUlibraryOption) == sizeof(int), "CUlibraryOption");
_Static_assert(sizeof(CUstreamCaptureStatus) == sizeof(int), "CUstreamCaptureStatus");
_Static_assert(sizeof(CUlaunchAttributeID) == sizeof(int), "CUlaunchAttributeID");
_Static_assert(sizeof(CUlaunchAttribute) == 72, "CUlaunchAttribute");
_Static_assert(sizeof(CUlaunchAttributeValue) == 64, "CUlaunchAttributeValue");
_Static_assert(sizeof(CUlaunchConfig) == 56, "CUlaunchConfig");
_Static_assert(offsetof(CUlaunchAttribute, value) == 8, "CUlaunchAttribute.value");
_Static_assert(offsetof(CUlaunchConfig, hStream) == 32, "CUlaunchConfig.hStream");
_Static_assert(offsetof(CUlaunchConfig, numAttrs) == 48, "CUlaunchConfig.numAttrs");
_Static_assert(sizeof(CUdeviceptr) == sizeof(unsigned long long), "CUdeviceptr");

// By type alone: taking an address would need the driver to link.
#define ENTRY(name, version, params)                                                               \
    static inline void check_##name(cuda_driver *d, __typeof__(&name) theirs) { d->name = theirs; }
#include "runtime/cuda_driver.def"
#undef ENTRY

int main(void) {
    printf("cuda.h of CUDA %d.%d agrees\n", CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
    return 0;
}
