// Functions of one float as plain arithmetic, for where a target has no instruction that is good
// enough. They take scalars and lane values alike and call nothing but the target's exp and
// division. Errors are in units of the last place, measured by tests/unit/test_codegen_math.c.
#ifndef TILE_CODEGEN_EMIT_MATH_H
#define TILE_CODEGEN_EMIT_MATH_H

#include "codegen/emit.h"

/// ln x, or log2 x: 1 ulp (2 ulp), subnormal operands included.
LLVMValueRef emit_log_f32(emitter *e, LLVMValueRef x, bool base2);
/// erf x, tanh x, of fp32 or fp64: 2 ulp with the target's exp.
LLVMValueRef emit_erf(emitter *e, dtype t, LLVMValueRef x);
LLVMValueRef emit_tanh(emitter *e, dtype t, LLVMValueRef x);

/// e^x, or 2^x: 1 ulp, subnormal results included.
LLVMValueRef emit_exp_f64(emitter *e, LLVMValueRef x, bool base2);
/// ln x, or log2 x: 1 ulp (2 ulp).
LLVMValueRef emit_log_f64(emitter *e, LLVMValueRef x, bool base2);

/// x y + z in fp64 for x and y whose product is exact, rounded to odd: rounding the result to a
/// type of at most 51 bits gives what rounding once gives.
LLVMValueRef emit_fma_to_odd(emitter *e, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z);

// emit_fp8.c
/// fp8 (as its bits) to fp32, exactly.
LLVMValueRef emit_fp8_to_f32(emitter *e, dtype from, LLVMValueRef bits);
/// fp32 to fp8: to nearest even, and what is too large, infinities too, to the largest finite
/// value; or (rtz) towards zero, which leaves fp8e5 its infinities. NaN gives 0x7f.
LLVMValueRef emit_f32_to_fp8(emitter *e, dtype to, bool rtz, LLVMValueRef x);

#endif
