// A place (register s, lane t) of the source is a linear function of the place (r, l) of the
// result that wants its element. One shuffle moves one register of each lane, so the difficulty is
// that s depends on l: lanes of the result may want different registers of one source lane. The
// way out is freedom: at its step m, lane l may receive not register m but m ^ after(l), and where
// the source holds copies it may read another one. Both are used to make the source lane t tell
// apart what the result's lanes want; then s is a function of t, and the source thread rotates its
// registers by it before they are sent.
#include "codegen/shuffle_plan.h"

/// A place of the source within a warp.
typedef struct place {
    uint32_t reg, lane;
} place;

/// Those of the warps of all CTAs.
static unsigned warp_bits(const layout *l) { return (unsigned)l->warp_bits + l->cta_bits; }

static place place_xor(place a, place b) { return (place){a.reg ^ b.reg, a.lane ^ b.lane}; }

static bool find_place(const layout *from, const layout_span *held, uint32_t index, place *out) {
    uint64_t combo;
    if (!layout_span_solve(held, index, &combo))
        return false;
    out->reg = (uint32_t)combo & (layout_reg_count(from) - 1);
    out->lane = (uint32_t)(combo >> from->reg_bits);
    return true;
}

/// The part of the plan that is being made: which source lanes the lane bits of the result read,
/// and the register that each of them wants there.
typedef struct lane_map {
    layout_span lanes; ///< of source lanes, tagged by the result's lane bit
    uint32_t reg[LAYOUT_LANE_BITS];
} lane_map;

/// The register that a source lane must send, as far as the lane bits so far decide.
static uint32_t wanted_reg(const lane_map *m, uint64_t combo) {
    return layout_sum(m->reg, (uint32_t)combo);
}

/// Lets lane bit `bit` of the result read from p, if the source lane then still decides.
static bool accept(lane_map *m, unsigned bit, place p) {
    uint64_t combo;
    m->reg[bit] = p.reg;
    if (layout_span_add(&m->lanes, p.lane, 1ull << bit))
        return true;
    layout_span_solve(&m->lanes, p.lane, &combo);
    return wanted_reg(m, combo) == p.reg;
}

/// Finds where lane bit `bit` reads from: straight at `p`, at a copy, or at another step.
static bool place_lane_bit(lane_map *m, unsigned bit, place p, const place *copies,
                           unsigned n_copies, const place *regs, unsigned n_regs,
                           shuffle_plan *out) {
    bool done = accept(m, bit, p);
    for (unsigned i = 0; i < n_copies && !done; i++) {
        place other = place_xor(p, copies[i]);
        done = accept(m, bit, other);
        if (done)
            p = other;
    }
    for (unsigned i = 0; i < n_regs && !done; i++) {
        place other = place_xor(p, regs[i]);
        done = accept(m, bit, other);
        if (done) {
            p = other;
            out->after_lane[bit] = 1u << i;
        }
    }
    out->lane_lane[bit] = p.lane;
    return done;
}

static bool plan_in_threads(const layout *from, const layout *to, const layout_span *held,
                            shuffle_plan *out) {
    place p;
    for (unsigned i = 0; i < to->reg_bits; i++) {
        if (!find_place(from, held, to->basis[i], &p))
            return false;
        out->reg_reg[i] = p.reg;
    }
    for (unsigned i = 0; i < LAYOUT_LANE_BITS + warp_bits(to); i++) {
        uint32_t apart = to->basis[to->reg_bits + i] ^ from->basis[from->reg_bits + i];
        if (!find_place(from, held, apart, &p))
            return false;
        if (i < LAYOUT_LANE_BITS)
            out->before_lane[i] = p.reg;
        else
            out->before_warp[i - LAYOUT_LANE_BITS] = p.reg;
    }
    return true;
}

static bool plan_in_warps(const layout *from, const layout *to, shuffle_plan *out) {
    layout_span held = {0};
    place regs[LAYOUT_MAX_REG_BITS], lanes[LAYOUT_LANE_BITS], warps[MAX_WARP_OR_CTA_BITS];
    place copies[LAYOUT_LANE_BITS];
    unsigned n_copies = 0;
    for (unsigned i = 0; i < from->reg_bits + (unsigned)LAYOUT_LANE_BITS; i++) {
        if (!layout_span_add(&held, from->basis[i], 1ull << i)) {
            find_place(from, &held, from->basis[i], &copies[n_copies]);
            copies[n_copies++].lane ^= 1u << (i - from->reg_bits);
        }
    }
    const uint32_t *basis = to->basis;
    for (unsigned i = 0; i < to->reg_bits; i++) {
        if (!find_place(from, &held, *basis++, &regs[i]))
            return false;
    }
    for (unsigned i = 0; i < LAYOUT_LANE_BITS; i++) {
        if (!find_place(from, &held, *basis++, &lanes[i]))
            return false;
    }
    for (unsigned i = 0; i < warp_bits(to); i++) {
        uint32_t of_from = from->basis[from->reg_bits + LAYOUT_LANE_BITS + i];
        if (!find_place(from, &held, *basis++ ^ of_from, &warps[i]))
            return false;
    }

    lane_map m = {.lanes = {0}};
    for (unsigned i = 0; i < LAYOUT_LANE_BITS; i++) {
        if (!place_lane_bit(&m, i, lanes[i], copies, n_copies, regs, to->reg_bits, out))
            return false;
    }
    // Where nothing is decided, the source lane sends its registers as they are.
    for (unsigned i = 0; i < LAYOUT_LANE_BITS; i++)
        layout_span_add(&m.lanes, 1u << i, 0);
    for (unsigned i = 0; i < LAYOUT_LANE_BITS; i++) {
        uint64_t combo;
        layout_span_solve(&m.lanes, 1u << i, &combo);
        out->before_lane[i] = wanted_reg(&m, combo);
    }
    for (unsigned i = 0; i < to->reg_bits; i++) {
        out->reg_lane[i] = regs[i].lane;
        out->reg_reg[i] = regs[i].reg ^ layout_sum(out->before_lane, regs[i].lane);
    }
    for (unsigned i = 0; i < warp_bits(to); i++) {
        out->lane_warp[i] = warps[i].lane;
        out->before_warp[i] = warps[i].reg ^ layout_sum(out->before_lane, warps[i].lane);
    }
    return true;
}

bool shuffle_plan_make(const layout *from, const layout *to, shuffle_plan *out) {
    layout_span held = {0};
    for (unsigned i = 0; i < from->reg_bits; i++)
        layout_span_add(&held, from->basis[i], 1ull << i);
    *out = (shuffle_plan){.moves_lanes = false};
    if (plan_in_threads(from, to, &held, out))
        return true;
    *out = (shuffle_plan){.moves_lanes = true};
    return plan_in_warps(from, to, out);
}
