// What reductions and scans share: the registers of n tiles that go through the combine region
// together. The functions are in emit_reduce.c.
#ifndef TILE_CODEGEN_TILES_H
#define TILE_CODEGEN_TILES_H

#include "codegen/exchange.h"

enum { SCRATCH_ALIGN = 16 };

/// The registers of the n tiles: tile[i][register].
typedef struct tiles {
    LLVMValueRef **tile;
    uint32_t n;
} tiles;

/// n tiles of `regs` registers, not set.
tiles tiles_new(emitter *e, uint32_t n, unsigned regs);
/// Register `to` of `out` becomes combine(register `lo` of a, register `hi` of b).
void tiles_combine(emitter *e, const ir_op *op, const tiles *a, uint32_t lo, const tiles *b,
                   uint32_t hi, const tiles *out, uint32_t to);
/// Reads `count` neighbours from an offset in shared memory on into `out`, one register each.
void tiles_read_row(emitter *e, LLVMValueRef at, unsigned count, dtype elem, LLVMValueRef *out);
/// Stores a value in the memory of this CTA and of those that differ from it in some of cta_bits.
void tiles_store_to_ctas(emitter *e, uint32_t cta_bits, LLVMValueRef at, LLVMValueRef v,
                         LLVMValueRef writes);

#endif
