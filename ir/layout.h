// Layouts: which thread holds which element of a tile, as a linear map over bits.
//
// A tile of 2^n elements numbers them row-major (the last dimension is fastest), so an element is
// an n-bit index. The machine holds the tile in registers of lanes of warps of CTAs; the place
// (register, lane, warp, cta) is a bit string as well. A layout gives, for every bit of the place,
// the set of index bits it flips: its *basis*. The element held at a place is the XOR of the bases
// of the place's set bits. (After: Linear Layouts, arXiv 2505.23819.)
//
//   tile<64>, one warp, two elements a thread:      place bit    basis
//     lane 0 holds 0 1, lane 1 holds 2 3 ...          reg 0       1
//                                                     lane 0..4   2 4 8 16 32
//
// A zero basis means copies: the places that differ only in that bit hold the same element. Every
// layout here is surjective: each element is held somewhere. reshape and expand_dims leave the
// row-major index alone and so leave the layout alone; permute moves index bits; broadcast and
// reduce drop them; join adds one.
#ifndef TILE_IR_LAYOUT_H
#define TILE_IR_LAYOUT_H

#include "support/text.h"

enum {
    LAYOUT_LANE_BITS = 5,
    LAYOUT_MAX_REG_BITS = 20,
    LAYOUT_MAX_WARP_BITS = 5,
    LAYOUT_MAX_CTA_BITS = 4,
    LAYOUT_MAX_BITS =
        LAYOUT_MAX_REG_BITS + LAYOUT_LANE_BITS + LAYOUT_MAX_WARP_BITS + LAYOUT_MAX_CTA_BITS,
    LAYOUT_MAX_RANK = 8,
};

typedef struct layout {
    uint8_t index_bits; ///< log2 of the number of elements
    uint8_t reg_bits;   ///< log2 of the registers each thread uses for the tile
    uint8_t warp_bits;  ///< log2 of num_warps
    uint8_t cta_bits;   ///< log2 of num_ctas
    /// Bases in the order reg 0.., lane 0..4, warp 0.., cta 0..; unused entries are zero.
    uint32_t basis[LAYOUT_MAX_BITS];
} layout;

/// A place in the machine.
typedef struct layout_place {
    uint32_t reg, lane, warp, cta;
} layout_place;

static inline unsigned layout_place_bits(const layout *l) {
    return l->reg_bits + LAYOUT_LANE_BITS + l->warp_bits + l->cta_bits;
}
static inline uint32_t *layout_reg(layout *l) { return l->basis; }
static inline uint32_t *layout_lane(layout *l) { return l->basis + l->reg_bits; }
static inline uint32_t *layout_warp(layout *l) { return l->basis + l->reg_bits + LAYOUT_LANE_BITS; }
static inline uint32_t *layout_cta(layout *l) {
    return l->basis + l->reg_bits + LAYOUT_LANE_BITS + l->warp_bits;
}
static inline uint32_t layout_reg_count(const layout *l) { return 1u << l->reg_bits; }

/// A growing subspace of F2^32 that remembers how each of its vectors is made: the tool behind
/// every question "which place holds this element" below. Vectors that depend on earlier ones are
/// left out, so the first ones added are preferred. Start from {0}.
typedef struct layout_span {
    uint8_t rank;
    uint32_t vector[32]; ///< reduced: vector[i] has a leading bit that no other has
    uint64_t combo[32];  ///< the tags whose vectors XOR to vector[i]
} layout_span;
/// Adds a vector under a one-bit tag. False, and nothing changes, if it is in the span already.
bool layout_span_add(layout_span *s, uint32_t vector, uint64_t tag);
/// Expresses v: the set of tags whose vectors XOR to it. False if v is outside the span.
bool layout_span_solve(const layout_span *s, uint32_t v, uint64_t *combo);

/// A linear map given by its bases, at `bits`: the XOR of those whose bit is set.
static inline uint32_t layout_sum(const uint32_t *bases, uint64_t bits) {
    uint32_t sum = 0;
    for (; bits; bits &= bits - 1)
        sum ^= bases[__builtin_ctzll(bits)];
    return sum;
}

/// log2 of the product of the extents.
unsigned layout_shape_bits(const uint32_t *shape, unsigned rank);
/// Mask of the index bits that belong to dimension `dim` of a row-major shape.
uint32_t layout_dim_mask(const uint32_t *shape, unsigned rank, unsigned dim);

/// The index of the element held at a place.
uint32_t layout_apply(const layout *l, layout_place p);
bool layout_equal(const layout *a, const layout *b);
/// True if the bases span all index bits (every element is held somewhere).
bool layout_is_valid(const layout *l);
/// The place with the lowest place bits, as one number (reg lowest), that holds `index`, found by
/// solving over F2: zero and dependent bases are not used.
layout_place layout_find(const layout *l, uint32_t index);

/// Place bits of lanes / warps / ctas whose basis is zero or depends on lower bits: a store or an
/// atomic runs only where these bits of the lane, warp and cta are all 0, and each element is then
/// stored from exactly one thread. Registers: see layout_unique_reg.
typedef struct layout_replication {
    uint32_t reg_mask, lane_mask, warp_mask, cta_mask;
} layout_replication;
layout_replication layout_get_replication(const layout *l);

/// The same layout with every register in which a thread repeats itself left out.
layout layout_drop_register_copies(const layout *l);

/// The blocked layout: along order[0], order[1].. (fastest first), `vec` elements per thread along
/// order[0], then lanes, then warps along warp_order[0].., then what is left as more registers.
/// Each cta has a contiguous share of the last of the dimensions warp_order[0 .. free_dims - 1];
/// only what the warps leave of the other dimensions is shared out as well. Threads left over get
/// zero bases. vec is capped so that no more elements are used than the tile has.
layout layout_blocked(const uint32_t *shape, unsigned rank, const uint8_t *order, unsigned vec,
                      const uint8_t *warp_order, unsigned free_dims, unsigned warp_bits,
                      unsigned cta_bits);

/// How the ctas share a tile out: the lowest of them that holds an element, and the element's
/// number there among the 2^local_bits that each holds. Both are linear: XOR them over the bits of
/// an index.
typedef struct layout_share {
    uint8_t local_bits;
    uint32_t copies;               ///< cta bits that no owner has
    uint32_t local[32], owner[32]; ///< of each index bit
} layout_share;
layout_share layout_share_ctas(const layout *l);
uint32_t layout_share_local(const layout_share *s, uint32_t index);
uint32_t layout_share_owner(const layout_share *s, uint32_t index);

/// Layout of the source of a broadcast whose result has layout l: bits of dimensions that the
/// source has with extent 1 are dropped; register bases that become zero or dependent go.
layout layout_broadcast_source(const layout *l, const uint32_t *src_shape,
                               const uint32_t *dst_shape, unsigned rank);
/// Layout of the result of a reduction over `axis` (removed) of a tile with layout l: bits of the
/// axis are dropped; lane, warp and cta bases in it become zero, register bases go.
layout layout_reduce_result(const layout *l, const uint32_t *shape, unsigned rank, unsigned axis);
/// True if no basis flips bits both inside and outside `axis`.
bool layout_axis_is_separable(const layout *l, const uint32_t *shape, unsigned rank, unsigned axis);
/// Layout of permute(x, order) for x with layout l: result dimension i is source dimension order[i].
layout layout_permute(const layout *l, const uint32_t *src_shape, unsigned rank,
                      const uint8_t *order);
/// The inverse: the source layout for which permute(x, order) has layout l. src_shape is x's.
layout layout_permute_source(const layout *l, const uint32_t *src_shape, unsigned rank,
                             const uint8_t *order);
/// Layout of join(a, b) for a and b with layout l: a's and b's elements side by side in registers.
layout layout_join(const layout *l);
/// The layout of a and b for which join(a, b) has layout l. Where a thread of l holds elements of
/// one side only, both sides are held by it.
layout layout_join_source(const layout *l);
/// A layout for half(x), which of a pair has one side, where x has layout l. It is that of
/// layout_join_source; but a thread bit that told the sides apart does not make copies if there is
/// a register bit left to move there. x is wanted in the layout_join of it.
layout layout_half(const layout *l);

/// How many consecutive elements (a power of two) a thread holds in consecutive registers starting
/// at each register that is a multiple of that number: leading register bases 1, 2, 4 ..., as long
/// as no other basis flips those bits.
unsigned layout_contiguous_regs(const layout *l);

/// How a conversion is carried out, cheapest first.
typedef enum layout_conversion {
    LAYOUT_CONVERT_REGISTERS, ///< every thread already holds what it needs
    LAYOUT_CONVERT_SHUFFLE,   ///< every warp already holds what it needs
    LAYOUT_CONVERT_SHARED,    ///< through shared memory of one CTA
    LAYOUT_CONVERT_CLUSTER,   ///< through distributed shared memory
} layout_conversion;
layout_conversion layout_classify(const layout *from, const layout *to);

/// Prints "#layout<reg = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], cta = []>".
void layout_print(const layout *l, strbuf *out);

#endif
