// Where each element of a tile goes in shared memory while a conversion moves it from one layout
// to another: a linear bijection from index bits to address bits, chosen so that both sides move
// wide vectors and neither meets a bank conflict. Pure arithmetic, no LLVM.
//
// Shared memory has 32 banks of 4 bytes. The lanes that are served together (all 32; 16 for 8-byte
// accesses, 8 for 16-byte ones) must hit different banks, or the same word.
#ifndef TILE_CODEGEN_SWIZZLE_H
#define TILE_CODEGEN_SWIZZLE_H

#include "ir/layout.h"

typedef struct swizzle {
    uint8_t index_bits;
    uint8_t elem_log2;    ///< log2 of the bytes of an element
    uint8_t vec_log2;     ///< log2 of the elements that either side moves at once
    uint32_t vec[4];      ///< index of the elements at addresses 1, 2, 4, 8 of a vector
    uint32_t address[32]; ///< element address of each index bit; XOR them
} swizzle;

/// Chooses the map for a tile that `from` writes (one copy of each element) and `to` reads.
/// elem_bytes is 1, 2, 4 or 8. The address of a place of either layout, leaving its register
/// out, is a multiple of the vector. Neither layout may hold copies within a thread
/// (layout_drop_register_copies). In a cluster the index is that in the memory of a CTA; a register
/// that comes from another CTA than the thread's first one has some bit above index_bits set.
swizzle swizzle_choose(const layout *from, const layout *to, unsigned elem_bytes);
/// Byte offset of the element `index`; linear over XOR.
uint32_t swizzle_offset(const swizzle *s, uint32_t index);

#endif
