// Choosing a swizzle is choosing a basis of the index space, one vector for each address bit:
//
//   address bits   [ vector | rest of a word | banks | rows ]
//
// *vector*: elements that a thread has in registers on both sides. *rest of a word*: only for
// elements under 4 bytes that do not fill a word as a vector. *rows*: two lanes that are served
// together collide if they differ in nothing but the row, so the row space must meet neither
// side's lane space (modulo the bits below). Such a common complement always exists: pair the
// directions that only the lanes of `from` have with those that only the lanes of `to` have, and
// put the XOR of each pair among the rows. *banks* are what is left.
#include "codegen/swizzle.h"

enum { WORD_LOG2 = 2, WAVE_LOG2 = 7, VECTOR_LOG2 = 4 };

typedef struct vectors {
    uint32_t v[32];
    unsigned n;
} vectors;

static const uint32_t *lane_bases(const layout *l) { return l->basis + l->reg_bits; }
static unsigned thread_bits(const layout *l) { return layout_place_bits(l) - l->reg_bits; }

/// Adds those vectors of `in` that are not in the span yet, to it and to `out` (may be NULL),
/// until out has `limit`.
static void extend(layout_span *s, const uint32_t *in, unsigned n, vectors *out, unsigned limit) {
    for (unsigned i = 0; i < n && (!out || out->n < limit); i++) {
        if (layout_span_add(s, in[i], 0) && out)
            out->v[out->n++] = in[i];
    }
}

/// A basis of span(a) ∩ span(b), counted modulo `base`.
static vectors intersect(const layout_span *base, const uint32_t *a, unsigned na, const uint32_t *b,
                         unsigned nb) {
    // A vector of b that depends on a and on earlier ones of b gives a relation; its part in a
    // lies in both spans.
    layout_span s = *base, seen = *base;
    vectors out = {.n = 0};
    memset(s.combo, 0, sizeof(s.combo));
    for (unsigned i = 0; i < na; i++)
        layout_span_add(&s, a[i], 1ull << i);
    for (unsigned i = 0; i < nb; i++) {
        uint64_t combo;
        if (!layout_span_solve(&s, b[i], &combo)) {
            layout_span_add(&s, b[i], 0);
            continue;
        }
        uint32_t common = 0;
        for (unsigned j = 0; j < na; j++)
            common ^= combo >> j & 1 ? a[j] : 0;
        if (layout_span_add(&seen, common, 0))
            out.v[out.n++] = common;
    }
    return out;
}

/// Picks vectors that are registers on both sides, and of which no thread's address depends:
/// `threads` spans the bases of the lanes and warps of both.
static vectors choose_vector(const layout *from, const layout *to, const layout_span *threads,
                             unsigned limit) {
    layout_span none = {0}, s = *threads;
    vectors both = intersect(&none, from->basis, from->reg_bits, to->basis, to->reg_bits);
    vectors out = {.n = 0};
    extend(&s, both.v, both.n, &out, limit);
    return out;
}

/// Rows: `want` vectors, whose span with `low` meets the lanes of neither side outside of `low`.
/// `all` (the threads' bases first) spans the tile.
static vectors choose_rows(const layout_span *low, const uint32_t *from, const uint32_t *to,
                           unsigned lanes, const vectors *all, unsigned want) {
    vectors common = intersect(low, from, lanes, to, lanes), only_from = {.n = 0},
            only_to = {.n = 0}, others = {.n = 0}, rows = {.n = 0};
    layout_span s = *low;
    extend(&s, common.v, common.n, NULL, 0);
    extend(&s, from, lanes, &only_from, 32);
    extend(&s, to, lanes, &only_to, 32);
    extend(&s, all->v, all->n, &others, 32);
    while (others.n && rows.n < want)
        rows.v[rows.n++] = others.v[--others.n];
    for (unsigned i = 0; i < only_from.n && i < only_to.n && rows.n < want; i++)
        rows.v[rows.n++] = only_from.v[i] ^ only_to.v[i];
    return rows;
}

swizzle swizzle_choose(const layout *from, const layout *to, unsigned elem_bytes) {
    unsigned n = from->index_bits, elem_log2 = (unsigned)__builtin_ctz(elem_bytes);
    uint32_t units[32];
    for (unsigned i = 0; i < n; i++)
        units[i] = 1u << i;

    layout_span threads = {0};
    vectors all = {.n = 0};
    extend(&threads, lane_bases(from), thread_bits(from), &all, 32);
    extend(&threads, lane_bases(to), thread_bits(to), &all, 32);
    vectors basis = choose_vector(from, to, &threads, VECTOR_LOG2 - elem_log2);
    unsigned vec_log2 = basis.n, access = vec_log2 + elem_log2;

    // `all` spans what the vector does not, threads first; the address is chosen inside it.
    layout_span s = threads, low = {0};
    extend(&s, basis.v, basis.n, NULL, 0);
    extend(&s, units, n, &all, n - vec_log2);
    extend(&low, basis.v, basis.n, NULL, 0);
    unsigned word = access < WORD_LOG2 ? vec_log2 + WORD_LOG2 - access : vec_log2;
    unsigned lanes = access > WORD_LOG2 ? WAVE_LOG2 - access : LAYOUT_LANE_BITS;
    vectors shared = intersect(&low, lane_bases(from), lanes, lane_bases(to), lanes);
    extend(&low, shared.v, shared.n, &basis, word);
    extend(&low, all.v, all.n, &basis, word);

    unsigned below_rows = WAVE_LOG2 - elem_log2;
    vectors rows = choose_rows(&low, lane_bases(from), lane_bases(to), lanes, &all,
                               n > below_rows ? n - below_rows : 0);
    s = low;
    extend(&s, rows.v, rows.n, NULL, 0);
    extend(&s, all.v, all.n, &basis, n - rows.n);
    extend(&low, basis.v, basis.n, NULL, 0);
    extend(&low, rows.v, rows.n, &basis, n);

    swizzle out = {
        .index_bits = (uint8_t)n, .elem_log2 = (uint8_t)elem_log2, .vec_log2 = (uint8_t)vec_log2};
    memcpy(out.vec, basis.v, vec_log2 * sizeof(out.vec[0]));
    layout_span inverse = {0};
    for (unsigned i = 0; i < n; i++)
        layout_span_add(&inverse, basis.v[i], 1ull << i);
    for (unsigned i = 0; i < n; i++) {
        uint64_t address = 0;
        layout_span_solve(&inverse, units[i], &address);
        out.address[i] = (uint32_t)address;
    }
    return out;
}

uint32_t swizzle_offset(const swizzle *s, uint32_t index) {
    return layout_sum(s->address, index) << s->elem_log2;
}
