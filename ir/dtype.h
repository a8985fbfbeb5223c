// Element types, and conversion between a dtype's bits and double. Signedness is part of the type
// (i32 and u32 differ), so one `div` op serves both: the type selects the instruction.
#ifndef TILE_IR_DTYPE_H
#define TILE_IR_DTYPE_H

#include "support/text.h"

// enumerator, name in .tile and IR text, bits, bytes in memory, kind
#define DTYPES(X)                                                                                  \
    X(DT_VOID, "void", 0, 0, KIND_NONE)                                                            \
    X(DT_I1, "i1", 1, 1, KIND_UINT)                                                                \
    X(DT_I8, "i8", 8, 1, KIND_SINT)                                                                \
    X(DT_I16, "i16", 16, 2, KIND_SINT)                                                             \
    X(DT_I32, "i32", 32, 4, KIND_SINT)                                                             \
    X(DT_I64, "i64", 64, 8, KIND_SINT)                                                             \
    X(DT_U8, "u8", 8, 1, KIND_UINT)                                                                \
    X(DT_U16, "u16", 16, 2, KIND_UINT)                                                             \
    X(DT_U32, "u32", 32, 4, KIND_UINT)                                                             \
    X(DT_U64, "u64", 64, 8, KIND_UINT)                                                             \
    X(DT_FP8E4NV, "fp8e4nv", 8, 1, KIND_FLOAT)                                                     \
    X(DT_FP8E5, "fp8e5", 8, 1, KIND_FLOAT)                                                         \
    X(DT_FP16, "fp16", 16, 2, KIND_FLOAT)                                                          \
    X(DT_BF16, "bf16", 16, 2, KIND_FLOAT)                                                          \
    X(DT_FP32, "fp32", 32, 4, KIND_FLOAT)                                                          \
    X(DT_FP64, "fp64", 64, 8, KIND_FLOAT)                                                          \
    X(DT_PTR, "ptr", 64, 8, KIND_POINTER)

typedef enum dtype {
#define X(id, name, bits, bytes, kind) id,
    DTYPES(X)
#undef X
        DTYPE_COUNT
} dtype;

/// i1 is an unsigned integer of one bit, stored as one byte that is 0 or 1.
typedef enum dtype_kind { KIND_NONE, KIND_SINT, KIND_UINT, KIND_FLOAT, KIND_POINTER } dtype_kind;

const char *dtype_name(dtype t);
/// Triton's long name of it ("float32"); "" if there is none.
const char *dtype_long_name(dtype t);
/// Finds a dtype by its short name ("fp32") or Triton's long one ("float32", "int1", "uint8",
/// "float8e5", "bfloat16"); DT_VOID if there is none.
dtype dtype_from_name(sv name);
unsigned dtype_bits(dtype t);
/// Bytes of one element in memory; 1 for i1.
unsigned dtype_bytes(dtype t);
dtype_kind dtype_get_kind(dtype t);
static inline bool dtype_is_float(dtype t) { return dtype_get_kind(t) == KIND_FLOAT; }
static inline bool dtype_is_int(dtype t) {
    return dtype_get_kind(t) == KIND_SINT || dtype_get_kind(t) == KIND_UINT;
}
static inline bool dtype_is_signed(dtype t) { return dtype_get_kind(t) == KIND_SINT; }

/// Truncates to the dtype's width and sign- or zero-extends back: the canonical int64 of a value.
int64_t dtype_wrap_int(dtype t, int64_t v);
/// True if v is a value of the integer dtype. `v` is the mathematical value; for u64 values above
/// INT64_MAX the caller passes the bits and sets `is_unsigned`.
bool dtype_int_fits(dtype t, int64_t v, bool is_unsigned);
/// Rounds a double to the float dtype, to nearest even; the result is the bit pattern, low bits.
/// fp8 saturates to the largest finite value, as the hardware's conversion does.
uint64_t dtype_float_to_bits(dtype t, double v);
/// The same, rounded towards zero. fp8e5 keeps its infinities then; fp8e4nv has none.
uint64_t dtype_float_to_bits_rtz(dtype t, double v);
/// The exact value of a float dtype's bit pattern.
double dtype_bits_to_float(dtype t, uint64_t bits);

#endif
