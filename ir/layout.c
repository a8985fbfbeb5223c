// The algebra of layouts (see layout.h for what they are). Everything rests on one tool, the
// layout_span: Gaussian elimination over F2 that remembers how each vector was made. Which place
// holds an element, which places are copies, whether a warp already holds what another layout
// wants: each is a question about spans of bases. docs/layouts.md works through examples.
#include "ir/layout.h"

// ---------------------------------------------------------------------------- spans over F2

static uint32_t top_bit(uint32_t v) { return 1u << (31 - __builtin_clz(v)); }

bool layout_span_solve(const layout_span *s, uint32_t v, uint64_t *combo) {
    uint64_t used = 0;
    for (unsigned i = 0; i < s->rank; i++) {
        if (v & top_bit(s->vector[i])) {
            v ^= s->vector[i];
            used ^= s->combo[i];
        }
    }
    *combo = used;
    return v == 0;
}

bool layout_span_add(layout_span *s, uint32_t vector, uint64_t tag) {
    for (unsigned i = 0; i < s->rank; i++) {
        if (vector & top_bit(s->vector[i])) {
            vector ^= s->vector[i];
            tag ^= s->combo[i];
        }
    }
    if (!vector)
        return false;
    // Clear the new leading bit from the others, so that one pass in any order reduces a vector.
    for (unsigned i = 0; i < s->rank; i++) {
        if (s->vector[i] & top_bit(vector)) {
            s->vector[i] ^= vector;
            s->combo[i] ^= tag;
        }
    }
    s->vector[s->rank] = vector;
    s->combo[s->rank] = tag;
    s->rank++;
    return true;
}

/// Adds the bases of place bits [begin, end), tagged by their bit; returns those left out.
static uint64_t span_add_bases(layout_span *s, const layout *l, unsigned begin, unsigned end) {
    uint64_t left_out = 0;
    for (unsigned i = begin; i < end; i++) {
        if (!layout_span_add(s, l->basis[i], 1ull << i))
            left_out |= 1ull << i;
    }
    return left_out;
}

// ---------------------------------------------------------------------------- shapes and bits

static unsigned log2_exact(uint32_t v) { return v ? (unsigned)__builtin_ctz(v) : 0; }

unsigned layout_shape_bits(const uint32_t *shape, unsigned rank) {
    unsigned bits = 0;
    for (unsigned d = 0; d < rank; d++)
        bits += log2_exact(shape[d]);
    return bits;
}

/// The lowest index bit of a dimension: index bits are row-major, the last dimension lowest.
static unsigned dim_shift(const uint32_t *shape, unsigned rank, unsigned dim) {
    return layout_shape_bits(shape + dim + 1, rank - dim - 1);
}

uint32_t layout_dim_mask(const uint32_t *shape, unsigned rank, unsigned dim) {
    return (shape[dim] - 1) << dim_shift(shape, rank, dim);
}

/// Takes the bits of v that `keep` has and closes the gaps.
static uint32_t compress_bits(uint32_t v, uint32_t keep) {
    uint32_t out = 0;
    for (unsigned to = 0; keep; keep &= keep - 1, to++)
        out |= (v >> __builtin_ctz(keep) & 1u) << to;
    return out;
}

// ---------------------------------------------------------------------------- places

static uint64_t place_to_bits(const layout *l, layout_place p) {
    unsigned warp_at = l->reg_bits + LAYOUT_LANE_BITS;
    return (uint64_t)p.reg | (uint64_t)p.lane << l->reg_bits | (uint64_t)p.warp << warp_at |
           (uint64_t)p.cta << (warp_at + l->warp_bits);
}

static layout_place bits_to_place(const layout *l, uint64_t bits) {
    unsigned warp_at = l->reg_bits + LAYOUT_LANE_BITS;
    return (layout_place){
        .reg = (uint32_t)(bits & (layout_reg_count(l) - 1)),
        .lane = (uint32_t)(bits >> l->reg_bits & ((1u << LAYOUT_LANE_BITS) - 1)),
        .warp = (uint32_t)(bits >> warp_at & ((1u << l->warp_bits) - 1)),
        .cta = (uint32_t)(bits >> (warp_at + l->warp_bits) & ((1u << l->cta_bits) - 1)),
    };
}

uint32_t layout_apply(const layout *l, layout_place p) {
    return layout_sum(l->basis, place_to_bits(l, p));
}

bool layout_equal(const layout *a, const layout *b) {
    return a->index_bits == b->index_bits && a->reg_bits == b->reg_bits &&
           a->warp_bits == b->warp_bits && a->cta_bits == b->cta_bits &&
           memcmp(a->basis, b->basis, layout_place_bits(a) * sizeof(a->basis[0])) == 0;
}

bool layout_is_valid(const layout *l) {
    if (l->reg_bits > LAYOUT_MAX_REG_BITS || l->warp_bits > LAYOUT_MAX_WARP_BITS ||
        l->cta_bits > LAYOUT_MAX_CTA_BITS || l->index_bits > 31)
        return false;
    for (unsigned i = 0; i < layout_place_bits(l); i++) {
        if (l->basis[i] >> l->index_bits)
            return false;
    }
    layout_span s = {0};
    span_add_bases(&s, l, 0, layout_place_bits(l));
    return s.rank == l->index_bits;
}

layout_place layout_find(const layout *l, uint32_t index) {
    layout_span s = {0};
    uint64_t bits;
    span_add_bases(&s, l, 0, layout_place_bits(l));
    layout_span_solve(&s, index, &bits); // cannot fail: layouts are surjective
    return bits_to_place(l, bits);
}

layout_replication layout_get_replication(const layout *l) {
    layout_span s = {0};
    layout_place copies = bits_to_place(l, span_add_bases(&s, l, 0, layout_place_bits(l)));
    return (layout_replication){copies.reg, copies.lane, copies.warp, copies.cta};
}

// ---------------------------------------------------------------------------- making layouts

/// Hands out the index bits of a shape, each once, from the low or the high end of a dimension.
typedef struct bit_supply {
    unsigned shift[LAYOUT_MAX_RANK]; ///< lowest index bit of the dimension not given away
    unsigned left[LAYOUT_MAX_RANK];  ///< how many bits from there on are not given away
} bit_supply;

/// The next index bit along dims order[0], order[1] ...; 0 if none is left.
static uint32_t take_low(bit_supply *s, const uint8_t *order, unsigned rank) {
    for (unsigned i = 0; i < rank; i++) {
        unsigned d = order[i];
        if (s->left[d]) {
            s->left[d]--;
            return 1u << s->shift[d]++;
        }
    }
    return 0;
}

/// The highest bit left along dims order[rank - 1], order[rank - 2] ...; 0 if none is left.
static uint32_t take_high(bit_supply *s, const uint8_t *order, unsigned rank) {
    for (unsigned i = rank; i-- > 0;) {
        unsigned d = order[i];
        if (s->left[d])
            return 1u << (s->shift[d] + --s->left[d]);
    }
    return 0;
}

layout layout_blocked(const uint32_t *shape, unsigned rank, const uint8_t *order, unsigned vec,
                      const uint8_t *warp_order, unsigned free_dims, unsigned warp_bits,
                      unsigned cta_bits) {
    layout l = {.index_bits = (uint8_t)layout_shape_bits(shape, rank),
                .warp_bits = (uint8_t)warp_bits,
                .cta_bits = (uint8_t)cta_bits};
    bit_supply s;
    for (unsigned d = 0; d < rank; d++) {
        s.shift[d] = dim_shift(shape, rank, d);
        s.left[d] = log2_exact(shape[d]);
    }
    // Registers come first in the basis array but take two turns, so collect the parts and join.
    uint32_t reg[LAYOUT_MAX_REG_BITS], lane[LAYOUT_LANE_BITS], warp[LAYOUT_MAX_WARP_BITS],
        cta[LAYOUT_MAX_CTA_BITS];
    unsigned regs = 0;
    for (; rank && (2u << regs) <= vec && s.left[order[0]]; regs++)
        reg[regs] = take_low(&s, order, 1);
    for (unsigned i = 0; i < LAYOUT_LANE_BITS; i++)
        lane[i] = take_low(&s, order, rank);
    for (unsigned i = cta_bits; i-- > 0;)
        cta[i] = take_high(&s, warp_order, free_dims);
    for (unsigned i = 0; i < warp_bits; i++)
        warp[i] = take_low(&s, warp_order, rank);
    for (unsigned i = cta_bits; i-- > 0;)
        cta[i] = cta[i] ? cta[i] : take_high(&s, warp_order, rank);
    for (uint32_t bit; regs < LAYOUT_MAX_REG_BITS && (bit = take_low(&s, order, rank)); regs++)
        reg[regs] = bit;
    l.reg_bits = (uint8_t)regs;
    memcpy(layout_reg(&l), reg, regs * sizeof(uint32_t));
    memcpy(layout_lane(&l), lane, sizeof(lane));
    memcpy(layout_warp(&l), warp, warp_bits * sizeof(uint32_t));
    memcpy(layout_cta(&l), cta, cta_bits * sizeof(uint32_t));
    return l;
}

/// The layout that is left when only the index bits in `keep` are looked at: registers that then
/// hold what lower ones hold go, and threads that do become copies.
static layout project(const layout *l, uint32_t keep) {
    layout out = {.index_bits = (uint8_t)__builtin_popcount(keep),
                  .warp_bits = l->warp_bits,
                  .cta_bits = l->cta_bits};
    layout_span s = {0};
    unsigned n = 0;
    for (unsigned i = 0; i < l->reg_bits; i++) {
        uint32_t basis = compress_bits(l->basis[i], keep);
        if (layout_span_add(&s, basis, 1))
            out.basis[n++] = basis;
    }
    out.reg_bits = (uint8_t)n;
    for (unsigned i = l->reg_bits; i < layout_place_bits(l); i++)
        out.basis[n++] = compress_bits(l->basis[i], keep);
    return out;
}

layout layout_drop_register_copies(const layout *l) {
    return project(l, (uint32_t)((1ull << l->index_bits) - 1));
}

layout_share layout_share_ctas(const layout *l) {
    unsigned cta_at = layout_place_bits(l) - l->cta_bits;
    layout_share out = {0};
    layout_span one = {0};
    span_add_bases(&one, l, 0, cta_at);
    uint32_t keep = 0; // index bits that tell apart what one cta holds
    for (unsigned i = 0; i < one.rank; i++)
        keep |= top_bit(one.vector[i]);
    out.local_bits = one.rank;
    layout_span all = one;
    for (unsigned i = 0; i < all.rank; i++)
        all.combo[i] = 0;
    for (unsigned i = 0; i < l->cta_bits; i++)
        out.copies |= layout_span_add(&all, l->basis[cta_at + i], 1ull << i) ? 0 : 1u << i;
    for (unsigned b = 0; b < l->index_bits; b++) {
        uint64_t owner = 0;
        uint32_t rest = 1u << b;
        layout_span_solve(&all, rest, &owner); // cannot fail: layouts are surjective
        for (unsigned i = 0; i < l->cta_bits; i++)
            rest ^= owner >> i & 1 ? l->basis[cta_at + i] : 0;
        out.local[b] = compress_bits(rest, keep);
        out.owner[b] = (uint32_t)owner;
    }
    return out;
}

uint32_t layout_share_local(const layout_share *s, uint32_t index) {
    return layout_sum(s->local, index);
}

uint32_t layout_share_owner(const layout_share *s, uint32_t index) {
    return layout_sum(s->owner, index);
}

layout layout_broadcast_source(const layout *l, const uint32_t *src_shape,
                               const uint32_t *dst_shape, unsigned rank) {
    uint32_t keep = 0;
    for (unsigned d = 0; d < rank; d++) {
        if (src_shape[d] == dst_shape[d])
            keep |= layout_dim_mask(dst_shape, rank, d);
    }
    return project(l, keep);
}

layout layout_reduce_result(const layout *l, const uint32_t *shape, unsigned rank, unsigned axis) {
    uint32_t all = (uint32_t)((1ull << l->index_bits) - 1);
    return project(l, all & ~layout_dim_mask(shape, rank, axis));
}

bool layout_axis_is_separable(const layout *l, const uint32_t *shape, unsigned rank,
                              unsigned axis) {
    uint32_t mask = layout_dim_mask(shape, rank, axis);
    for (unsigned i = 0; i < layout_place_bits(l); i++) {
        if ((l->basis[i] & mask) && (l->basis[i] & ~mask))
            return false;
    }
    return true;
}

/// A permutation of index bits: bit i of the old index becomes bit to[i] of the new one.
static layout move_index_bits(const layout *l, const uint8_t *to) {
    layout out = *l;
    for (unsigned i = 0; i < layout_place_bits(l); i++) {
        out.basis[i] = 0;
        for (uint32_t rest = l->basis[i]; rest; rest &= rest - 1)
            out.basis[i] |= 1u << to[__builtin_ctz(rest)];
    }
    return out;
}

/// Fills to[i]: where index bit i of x stands in permute(x, order).
static void permute_bits(const uint32_t *src_shape, unsigned rank, const uint8_t *order,
                         uint8_t *to) {
    uint32_t dst_shape[LAYOUT_MAX_RANK];
    for (unsigned d = 0; d < rank; d++)
        dst_shape[d] = src_shape[order[d]];
    for (unsigned d = 0; d < rank; d++) {
        unsigned src = dim_shift(src_shape, rank, order[d]), dst = dim_shift(dst_shape, rank, d);
        for (unsigned i = 0; i < log2_exact(dst_shape[d]); i++)
            to[src + i] = (uint8_t)(dst + i);
    }
}

layout layout_permute(const layout *l, const uint32_t *src_shape, unsigned rank,
                      const uint8_t *order) {
    uint8_t to[32] = {0};
    permute_bits(src_shape, rank, order, to);
    return move_index_bits(l, to);
}

layout layout_permute_source(const layout *l, const uint32_t *src_shape, unsigned rank,
                             const uint8_t *order) {
    uint8_t to[32] = {0}, from[32] = {0};
    permute_bits(src_shape, rank, order, to);
    for (unsigned i = 0; i < l->index_bits; i++)
        from[to[i]] = (uint8_t)i;
    return move_index_bits(l, from);
}

layout layout_join(const layout *l) {
    layout each = layout_drop_register_copies(l), out = each;
    out.index_bits++;
    out.reg_bits++;
    out.basis[0] = 1; // the new dimension: index bit 0
    for (unsigned i = 0; i < layout_place_bits(&each); i++)
        out.basis[i + 1] = each.basis[i] << 1;
    return out;
}

layout layout_join_source(const layout *l) {
    return project(l, (uint32_t)((1ull << l->index_bits) - 1) & ~1u);
}

layout layout_half(const layout *l) {
    layout out = layout_join_source(l);
    unsigned place = l->reg_bits;
    while (place < layout_place_bits(l) && l->basis[place] != 1)
        place++;
    if (place == layout_place_bits(l) || out.reg_bits == 0)
        return out;
    place += out.reg_bits - (unsigned)l->reg_bits;
    out.basis[place] = out.basis[--out.reg_bits];
    for (unsigned i = out.reg_bits; i <= layout_place_bits(&out); i++)
        out.basis[i] = i < layout_place_bits(&out) ? out.basis[i + 1] : 0;
    return out;
}

// ---------------------------------------------------------------------------- questions

unsigned layout_contiguous_regs(const layout *l) {
    unsigned bits = 0;
    while (bits < l->reg_bits && l->basis[bits] == 1u << bits)
        bits++;
    for (unsigned i = bits; i < layout_place_bits(l); i++) {
        if (l->basis[i] & ((1u << bits) - 1))
            bits = (unsigned)__builtin_ctz(l->basis[i]);
    }
    return 1u << bits;
}

layout_conversion layout_classify(const layout *from, const layout *to) {
    // At each level, `held` spans what one thread, warp, CTA holds beside its own offset. A level
    // does when every basis of `to` below it is in that span, and every thread (warp, CTA) bit
    // above moves both layouts alike up to the span.
    const unsigned bits[] = {0, LAYOUT_LANE_BITS, to->warp_bits, to->cta_bits};
    layout_span held = {0};
    unsigned f = from->reg_bits, t = to->reg_bits;
    span_add_bases(&held, from, 0, f);
    for (unsigned level = LAYOUT_CONVERT_REGISTERS; level < LAYOUT_CONVERT_CLUSTER; level++) {
        span_add_bases(&held, from, f, f + bits[level]);
        f += bits[level];
        t += bits[level];
        uint64_t combo;
        bool does = true;
        for (unsigned i = 0; i < t && does; i++)
            does = layout_span_solve(&held, to->basis[i], &combo);
        for (unsigned i = t; i < layout_place_bits(to) && does; i++)
            does = layout_span_solve(&held, to->basis[i] ^ from->basis[i - t + f], &combo);
        if (does)
            return (layout_conversion)level;
    }
    return LAYOUT_CONVERT_CLUSTER;
}

static void print_part(strbuf *out, const char *name, const uint32_t *bases, unsigned n) {
    strbuf_printf(out, "%s = [", name);
    for (unsigned i = 0; i < n; i++)
        strbuf_printf(out, i ? ", %u" : "%u", bases[i]);
    strbuf_puts(out, "]");
}

void layout_print(const layout *l, strbuf *out) {
    const uint32_t *at = l->basis;
    strbuf_puts(out, "#layout<");
    print_part(out, "reg", at, l->reg_bits);
    at += l->reg_bits;
    strbuf_puts(out, ", ");
    print_part(out, "lane", at, LAYOUT_LANE_BITS);
    at += LAYOUT_LANE_BITS;
    strbuf_puts(out, ", ");
    print_part(out, "warp", at, l->warp_bits);
    at += l->warp_bits;
    strbuf_puts(out, ", ");
    print_part(out, "cta", at, l->cta_bits);
    strbuf_puts(out, ">");
}
