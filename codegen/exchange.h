// Moving registers between the threads of a program: what emit_convert.c lends to the reductions
// and atomics. smem.c gives the scratch memory.
#ifndef TILE_CODEGEN_EXCHANGE_H
#define TILE_CODEGEN_EXCHANGE_H

#include "codegen/emit.h"

/// Scratch bytes that exchange_convert needs; 0 if it stays inside the warps.
uint32_t exchange_convert_bytes(const layout *from, const layout *to, dtype elem);
/// Whether that conversion reads the shared memory of other CTAs.
bool exchange_convert_crosses(const layout *from, const layout *to);
/// The registers of a tile in layout `to`, given those in `from`. Contains a barrier exactly if
/// exchange_convert_bytes is not 0; `scratch` is then the byte offset in shared memory.
LLVMValueRef *exchange_convert(emitter *e, const layout *from, const layout *to, LLVMValueRef *regs,
                               dtype elem, uint32_t scratch);

/// A register as an integer that can be shuffled and stored in shared memory: i1 becomes i8, a
/// pointer i64; others stay as they are.
LLVMValueRef exchange_pack(emitter *e, LLVMValueRef v, dtype elem);
LLVMValueRef exchange_unpack(emitter *e, LLVMValueRef v, dtype elem);
/// The scalar type of a packed register.
LLVMTypeRef exchange_type(emitter *e, dtype elem);
/// Lane value i32: the XOR of a lane's, a warp's and a CTA's part, each given by its bases; the CTA's
/// follow the warp's.
LLVMValueRef exchange_thread_bits(emitter *e, const uint32_t *lane_bases,
                                  const uint32_t *warp_bases, unsigned warp_bits,
                                  unsigned cta_bits);
/// (base ^ part) + add. Bits of `part` that base cannot have (only those of `run_time_bits` can
/// be 1 in it) are added with `add`: a constant at the end is one that addresses absorb.
LLVMValueRef exchange_offset(emitter *e, LLVMValueRef base, uint32_t run_time_bits, uint32_t part,
                             uint32_t add);
/// False, after an error at the op, if `bytes` of scratch at its offset are more than the target has.
bool smem_fits(emitter *e, const ir_op *op, uint32_t bytes);

#endif
