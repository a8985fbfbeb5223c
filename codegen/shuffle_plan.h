// How a tile goes from one layout to another inside each warp: the registers of every thread are
// rotated by a number that depends on the thread, each register is shuffled once, and the result
// is rotated again. All of it is linear over bits. Pure arithmetic, no LLVM.
#ifndef TILE_CODEGEN_SHUFFLE_PLAN_H
#define TILE_CODEGEN_SHUFFLE_PLAN_H

#include "ir/layout.h"

/// Arrays hold what each bit of a register, lane or warp number contributes (of a warp, its number in
/// its CTA, then that of the CTA); XOR them. With
/// x(n) for the sum over the bits of n, the thread (lane, warp) does
///   sent[r]     = source[r ^ before_lane(lane) ^ before_warp(warp)]
///   received[r] = sent[reg_reg(r)] of lane (reg_lane(r) ^ lane_lane(lane) ^ lane_warp(warp))
///   result[r]   = received[r ^ after_lane(lane)]
enum { MAX_WARP_OR_CTA_BITS = LAYOUT_MAX_WARP_BITS + LAYOUT_MAX_CTA_BITS };

typedef struct shuffle_plan {
    bool moves_lanes; ///< else received[r] = sent[reg_reg(r)], from the same lane
    uint32_t before_lane[LAYOUT_LANE_BITS], before_warp[MAX_WARP_OR_CTA_BITS];
    uint32_t reg_reg[LAYOUT_MAX_REG_BITS], reg_lane[LAYOUT_MAX_REG_BITS];
    uint32_t lane_lane[LAYOUT_LANE_BITS], lane_warp[MAX_WARP_OR_CTA_BITS];
    uint32_t after_lane[LAYOUT_LANE_BITS];
} shuffle_plan;

/// Makes the plan. False if some warp lacks an element that it needs, or if one shuffle for each
/// register does not do. Neither layout may hold copies within a thread
/// (layout_drop_register_copies).
bool shuffle_plan_make(const layout *from, const layout *to, shuffle_plan *out);

#endif
