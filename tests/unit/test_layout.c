// The algebra of layouts against brute force: every claim of layout.h is checked by walking all
// places, exhaustively for small layouts and for every blocked layout of up to 8 index bits.
#include "ir/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static uint32_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(*state >> 33);
}

static uint32_t place_count(const layout *l) { return 1u << layout_place_bits(l); }

static layout_place place_at(const layout *l, uint32_t bits) {
    layout_place p;
    p.reg = bits & (layout_reg_count(l) - 1);
    p.lane = bits >> l->reg_bits & 31;
    p.warp = bits >> (l->reg_bits + 5) & ((1u << l->warp_bits) - 1);
    p.cta = bits >> (l->reg_bits + 5 + l->warp_bits);
    return p;
}

static uint32_t place_number(const layout *l, layout_place p) {
    return p.reg | p.lane << l->reg_bits | p.warp << (l->reg_bits + 5) |
           p.cta << (l->reg_bits + 5 + l->warp_bits);
}

/// Calls check for every assignment of bases to a layout with these bit counts.
static void for_every_layout(unsigned index_bits, unsigned reg_bits, unsigned warp_bits,
                             void (*check)(const layout *)) {
    layout l = {.index_bits = (uint8_t)index_bits,
                .reg_bits = (uint8_t)reg_bits,
                .warp_bits = (uint8_t)warp_bits};
    unsigned places = layout_place_bits(&l);
    for (uint64_t code = 0; code < 1ull << (index_bits * places); code++) {
        for (unsigned i = 0; i < places; i++)
            l.basis[i] = (uint32_t)(code >> (i * index_bits)) & ((1u << index_bits) - 1);
        check(&l);
    }
}

/// A random valid layout: a random surjection, sprinkled with zero and dependent bases.
static layout random_layout(uint64_t *rng, unsigned index_bits, unsigned reg_bits,
                            unsigned warp_bits, unsigned cta_bits) {
    layout l = {.index_bits = (uint8_t)index_bits,
                .reg_bits = (uint8_t)reg_bits,
                .warp_bits = (uint8_t)warp_bits,
                .cta_bits = (uint8_t)cta_bits};
    do {
        for (unsigned i = 0; i < layout_place_bits(&l); i++) {
            uint32_t v = next_random(rng) & ((1u << index_bits) - 1);
            l.basis[i] = next_random(rng) % 4 == 0 ? 0 : next_random(rng) % 2 ? v & -v : v;
        }
    } while (!layout_is_valid(&l));
    return l;
}

// ---------------------------------------------------------------------------- spans

/// All sequences of four vectors of three bits, against the set of all 16 XORs.
static void test_span_exhaustive(void **state) {
    (void)state;
    for (uint32_t code = 0; code < 1u << 12; code++) {
        uint32_t v[4];
        layout_span s = {0};
        for (unsigned i = 0; i < 4; i++) {
            v[i] = code >> (3 * i) & 7;
            bool in_span = false;
            for (uint32_t set = 0; set < 1u << i; set++) {
                uint32_t sum = 0;
                for (unsigned j = 0; j < i; j++)
                    sum ^= set >> j & 1 ? v[j] : 0;
                in_span |= sum == v[i];
            }
            assert_int_equal(layout_span_add(&s, v[i], 1ull << i), !in_span);
        }
        for (uint32_t want = 0; want < 8; want++) {
            bool reachable = false;
            for (uint32_t set = 0; set < 16; set++) {
                uint32_t sum = 0;
                for (unsigned j = 0; j < 4; j++)
                    sum ^= set >> j & 1 ? v[j] : 0;
                reachable |= sum == want;
            }
            uint64_t combo = 0;
            assert_int_equal(layout_span_solve(&s, want, &combo), reachable);
            uint32_t sum = 0;
            for (unsigned j = 0; j < 4; j++)
                sum ^= combo >> j & 1 ? v[j] : 0;
            if (reachable)
                assert_int_equal(sum, want);
        }
    }
}

// ---------------------------------------------------------------------------- places and copies

/// is_valid, find and replication of one layout, by walking its places.
static void check_places(const layout *l) {
    uint32_t first[256], stores[256] = {0}, seen = 0;
    uint32_t elements = 1u << l->index_bits;
    layout_replication copies = layout_get_replication(l);
    memset(first, 0xff, sizeof(first));
    for (uint32_t i = 0; i < place_count(l); i++) {
        layout_place p = place_at(l, i);
        uint32_t index = layout_apply(l, p);
        assert_true(index < elements);
        if (first[index] == UINT32_MAX) {
            first[index] = i;
            seen++;
        }
        if (!(p.reg & copies.reg_mask) && !(p.lane & copies.lane_mask) &&
            !(p.warp & copies.warp_mask) && !(p.cta & copies.cta_mask))
            stores[index]++;
    }
    assert_int_equal(layout_is_valid(l), seen == elements);
    if (seen != elements)
        return;
    for (uint32_t index = 0; index < elements; index++) {
        assert_int_equal(stores[index], 1);
        assert_int_equal(place_number(l, layout_find(l, index)), first[index]);
    }
}

static void test_places_exhaustive(void **state) {
    (void)state;
    for_every_layout(0, 1, 1, check_places);
    for_every_layout(1, 2, 2, check_places);
    for_every_layout(2, 1, 1, check_places);
    for_every_layout(3, 0, 0, check_places);
}

static void test_places_random(void **state) {
    (void)state;
    uint64_t rng = 1;
    for (unsigned i = 0; i < 3000; i++) {
        unsigned bits = next_random(&rng) % 9;
        layout l = random_layout(&rng, bits, bits > 5 ? bits - 5 + next_random(&rng) % 2 : 1,
                                 next_random(&rng) % 3, next_random(&rng) % 2);
        check_places(&l);
    }
}

static void test_invalid(void **state) {
    (void)state;
    layout l = {.index_bits = 5, .basis = {1, 2, 4, 8, 16}};
    assert_true(layout_is_valid(&l));
    l.basis[4] = 32; // outside the tile
    assert_false(layout_is_valid(&l));
    l.basis[4] = 3; // element 16 is nowhere
    assert_false(layout_is_valid(&l));
    l = (layout){.index_bits = 1, .warp_bits = 6, .basis = {1}};
    assert_false(layout_is_valid(&l));
}

// ---------------------------------------------------------------------------- blocked layouts

typedef void shape_fn(const uint32_t *shape, unsigned rank, const uint8_t *order);

/// Every shape of up to 8 bits and rank 1..4, with every order of its dimensions.
static void for_every_shape(shape_fn *fn) {
    for (unsigned rank = 1; rank <= 4; rank++) {
        for (uint32_t code = 0; code < 1u << (4 * rank); code++) {
            uint32_t shape[4];
            unsigned bits = 0;
            for (unsigned d = 0; d < rank; d++) {
                unsigned b = code >> (4 * d) & 15;
                shape[d] = 1u << b;
                bits += b;
            }
            if (bits > 8)
                continue;
            for (uint32_t perm = 0; perm < 256; perm++) {
                uint8_t order[4];
                unsigned mask = 0;
                for (unsigned d = 0; d < rank; d++) {
                    order[d] = perm >> (2 * d) & 3;
                    mask |= 1u << order[d];
                }
                if (mask == (1u << rank) - 1 && (perm >> (2 * rank)) == 0)
                    fn(shape, rank, order);
            }
        }
    }
}

static void check_blocked(const uint32_t *shape, unsigned rank, const uint8_t *order) {
    unsigned n = layout_shape_bits(shape, rank);
    uint8_t warp_order[4];
    for (unsigned d = 0; d < rank; d++)
        warp_order[d] = order[rank - 1 - d];
    for (unsigned vec = 1; vec <= 8; vec *= 2) {
        for (unsigned warp_bits = 0; warp_bits <= 2; warp_bits++) {
            layout l = layout_blocked(shape, rank, order, vec, warp_order, vec % (rank + 1),
                                      warp_bits, vec == 2);
            assert_true(layout_is_valid(&l));
            unsigned zeros = 0;
            uint32_t all = 0;
            for (unsigned i = 0; i < layout_place_bits(&l); i++) {
                zeros += l.basis[i] == 0;
                assert_int_equal(all & l.basis[i], 0); // each index bit once
                all |= l.basis[i];
            }
            for (unsigned i = 0; i < l.reg_bits; i++)
                assert_int_not_equal(l.basis[i], 0);
            assert_int_equal(zeros, layout_place_bits(&l) - n);
            uint32_t extent = shape[order[0]];
            for (unsigned i = 0; (2u << i) <= (vec < extent ? vec : extent); i++)
                assert_int_equal(l.basis[i] & ~layout_dim_mask(shape, rank, order[0]), 0);
            if (order[0] == rank - 1)
                assert_true(layout_contiguous_regs(&l) >= (vec < extent ? vec : extent));
        }
    }
}

static void test_blocked(void **state) {
    (void)state;
    for_every_shape(check_blocked);
}

/// How the CTAs share a tile: every place agrees on its element's number with the CTA that is said to
/// hold it, and a CTA's numbers are all there are.
static void check_share(const layout *l) {
    layout_share s = layout_share_ctas(l);
    assert_true(s.local_bits <= l->index_bits);
    uint32_t threads = 1u << (layout_place_bits(l) - l->cta_bits);
    for (uint32_t i = 0; i < 1u << l->index_bits; i++) {
        uint32_t owner = layout_share_owner(&s, i), local = layout_share_local(&s, i), held = 0;
        assert_true(owner < 1u << l->cta_bits && !(owner & s.copies));
        assert_true(local < 1u << s.local_bits);
        for (uint32_t t = 0; t < threads; t++) {
            layout_place p = {.reg = t & (layout_reg_count(l) - 1), .cta = owner};
            p.lane = t >> l->reg_bits & 31;
            p.warp = t >> (l->reg_bits + 5);
            held += layout_apply(l, p) == i;
        }
        assert_true(held > 0); // the owner does hold it
        for (uint32_t k = 0; k < i; k++)
            assert_false(layout_share_owner(&s, k) == owner && layout_share_local(&s, k) == local);
    }
    if (l->cta_bits == 0) { // then numbers are indices
        for (uint32_t i = 0; i < 1u << l->index_bits; i++)
            assert_int_equal(layout_share_local(&s, i), i);
    }
}

static void test_share(void **state) {
    (void)state;
    uint64_t rng = 77;
    for (unsigned round = 0; round < 400; round++) {
        unsigned n = 1 + next_random(&rng) % 6, ctas = next_random(&rng) % 4;
        layout l = random_layout(&rng, n, n > 5 ? 2 : 1, next_random(&rng) % 2, ctas);
        check_share(&l);
    }
}

/// CTAs go along what nothing reduces, before the warps; along the rest only after them.
static void test_blocked_ctas(void **state) {
    (void)state;
    const uint8_t row_major[] = {1, 0}, rows_first[] = {0, 1}, only[] = {0};
    const uint32_t rows[] = {4, 1024}, line[] = {4096}, small[] = {128};
    layout l = layout_blocked(rows, 2, row_major, 4, rows_first, 1, 2, 2); // a row each
    assert_int_equal(layout_cta(&l)[0], 1024);
    assert_int_equal(layout_cta(&l)[1], 2048);
    assert_int_equal(layout_warp(&l)[0], 128);
    l = layout_blocked(line, 1, only, 4, only, 0, 2, 1); // half of the line each
    assert_int_equal(layout_cta(&l)[0], 2048);
    l = layout_blocked(small, 1, only, 1, only, 0, 2, 1); // too small: copies
    assert_int_equal(layout_cta(&l)[0], 0);
}

static void expect_print(const layout *l, const char *want) {
    arena *a = arena_create();
    strbuf s;
    strbuf_init(&s, a);
    layout_print(l, &s);
    assert_string_equal(s.data, want);
    arena_destroy(a);
}

/// The tables of docs/layouts.md.
static void test_worked_examples(void **state) {
    (void)state;
    const uint8_t row_major[] = {1, 0}, rows_first[] = {0, 1};
    const uint32_t wide[] = {4, 1024}, tall[] = {128, 8}, square[] = {32, 32};
    layout l = layout_blocked(wide, 2, row_major, 4, rows_first, 0, 2, 0);
    expect_print(&l, "#layout<reg = [1, 2, 128, 256, 512], lane = [4, 8, 16, 32, 64], "
                     "warp = [1024, 2048], cta = []>");
    l = layout_reduce_result(&l, wide, 2, 1);
    expect_print(&l, "#layout<reg = [], lane = [0, 0, 0, 0, 0], warp = [1, 2], cta = []>");
    l = layout_blocked(tall, 2, row_major, 4, rows_first, 0, 2, 0);
    expect_print(&l, "#layout<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], "
                     "cta = []>");
    layout rows = layout_blocked(square, 2, row_major, 4, rows_first, 0, 2, 0);
    expect_print(&rows, "#layout<reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], "
                        "warp = [128, 256], cta = []>");
    layout columns = layout_permute(&rows, square, 2, row_major);
    expect_print(&columns, "#layout<reg = [32, 64, 16], lane = [128, 256, 512, 1, 2], "
                           "warp = [4, 8], cta = []>");
    assert_int_equal(layout_classify(&columns, &rows), LAYOUT_CONVERT_SHARED);
    const uint32_t line[] = {256};
    l = layout_blocked(line, 1, rows_first, 2, rows_first, 0, 2, 0);
    expect_print(&l, "#layout<reg = [1], lane = [2, 4, 8, 16, 32], warp = [64, 128], cta = []>");
    l = layout_join(&l);
    expect_print(&l,
                 "#layout<reg = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], cta = []>");
}

// ---------------------------------------------------------------------------- maps between tiles

static void coordinates(uint32_t index, const uint32_t *shape, unsigned rank, uint32_t *c) {
    for (unsigned d = rank; d-- > 0; index /= shape[d])
        c[d] = index % shape[d];
}

static uint32_t index_of(const uint32_t *c, const uint32_t *shape, unsigned rank) {
    uint32_t index = 0;
    for (unsigned d = 0; d < rank; d++)
        index = index * shape[d] + c[d];
    return index;
}

static void check_permute(const uint32_t *shape, unsigned rank, const uint8_t *order) {
    static uint64_t rng = 7;
    unsigned n = layout_shape_bits(shape, rank);
    layout l = random_layout(&rng, n, n > 5 ? n - 5 : 1, 1, 0);
    layout p = layout_permute(&l, shape, rank, order);
    layout back = layout_permute_source(&p, shape, rank, order);
    assert_true(layout_equal(&back, &l));
    uint32_t dst_shape[4], c[4], dc[4];
    for (unsigned d = 0; d < rank; d++)
        dst_shape[d] = shape[order[d]];
    for (uint32_t i = 0; i < place_count(&l); i++) {
        coordinates(layout_apply(&l, place_at(&l, i)), shape, rank, c);
        for (unsigned d = 0; d < rank; d++)
            dc[d] = c[order[d]];
        assert_int_equal(layout_apply(&p, place_at(&p, i)), index_of(dc, dst_shape, rank));
    }
}

static void test_permute(void **state) {
    (void)state;
    for_every_shape(check_permute);
}

/// Each thread holds exactly the elements it held, with the coordinates of the dimensions in `drop`
/// forgotten, and each in one register.
static void check_projection(const layout *l, const layout *small, const uint32_t *shape,
                             unsigned rank, unsigned drop) {
    uint32_t small_shape[4];
    for (unsigned d = 0; d < rank; d++)
        small_shape[d] = drop >> d & 1 ? 1 : shape[d];
    assert_true(layout_is_valid(small));
    for (uint32_t thread = 0; thread < 32u << (l->warp_bits + l->cta_bits); thread++) {
        uint8_t want[256] = {0}, have[256] = {0};
        for (uint32_t r = 0; r < layout_reg_count(l); r++) {
            uint32_t c[4];
            coordinates(layout_apply(l, place_at(l, r | thread << l->reg_bits)), shape, rank, c);
            for (unsigned d = 0; d < rank; d++)
                c[d] &= small_shape[d] - 1;
            want[index_of(c, small_shape, rank)] = 1;
        }
        for (uint32_t r = 0; r < layout_reg_count(small); r++) {
            layout_place p = place_at(small, r | thread << small->reg_bits);
            have[layout_apply(small, p)]++;
        }
        assert_memory_equal(want, have, sizeof(want));
    }
}

static void check_drop(const uint32_t *shape, unsigned rank, const uint8_t *order) {
    static uint64_t rng = 9;
    if (order[0] != 0) // the order does not matter here
        return;
    unsigned n = layout_shape_bits(shape, rank);
    layout l = random_layout(&rng, n, n > 5 ? n - 5 : 1, 1, 0);
    for (unsigned drop = 0; drop < 1u << rank; drop++) {
        uint32_t src[4];
        for (unsigned d = 0; d < rank; d++)
            src[d] = drop >> d & 1 ? 1 : shape[d];
        layout small = layout_broadcast_source(&l, src, shape, rank);
        check_projection(&l, &small, shape, rank, drop);
    }
    for (unsigned axis = 0; axis < rank; axis++) {
        layout small = layout_reduce_result(&l, shape, rank, axis);
        check_projection(&l, &small, shape, rank, 1u << axis);
        bool mixed = false;
        for (unsigned i = 0; i < layout_place_bits(&l); i++) {
            uint32_t in = l.basis[i] & layout_dim_mask(shape, rank, axis);
            mixed |= in && in != l.basis[i];
        }
        assert_int_equal(layout_axis_is_separable(&l, shape, rank, axis), !mixed);
    }
}

static void test_broadcast_and_reduce(void **state) {
    (void)state;
    for_every_shape(check_drop);
}

/// Every thread of a join holds the pairs of what it held; the way back drops copies in registers.
/// Of any other layout, the sides are what each thread needs of either.
static void test_join(void **state) {
    (void)state;
    uint64_t rng = 11;
    for (unsigned round = 0; round < 3000; round++) {
        unsigned n = 1 + next_random(&rng) % 7;
        layout l = random_layout(&rng, n, n > 5 ? n - 4 : 2, round % 2, 0);
        layout joined = layout_join(&l), back = layout_join_source(&joined);
        layout each = layout_drop_register_copies(&l);
        assert_true(layout_is_valid(&joined) && layout_equal(&back, &each));
        assert_int_equal(joined.basis[0], 1);
        for (uint32_t i = 0; i < place_count(&joined); i++) {
            uint32_t pair = layout_apply(&each, place_at(&each, i >> 1));
            assert_int_equal(layout_apply(&joined, place_at(&joined, i)), pair << 1 | (i & 1));
        }
        layout spread = layout_half(&l);
        assert_true(layout_is_valid(&spread));
        layout side = layout_join_source(&l);
        check_projection(&l, &side, (uint32_t[]){1u << (n - 1), 2}, 2, 2);
    }
}

/// The halves of a tile are spread over as many threads as the tile, if they are enough.
static void test_half(void **state) {
    (void)state;
    for (unsigned at = 0; at < 9; at++) { // where the bit of the pair is: registers, lanes, warps
        layout l = {.index_bits = 9, .reg_bits = 2, .warp_bits = 2};
        for (unsigned i = 0; i < 9; i++)
            l.basis[i] = 2u << i;
        l.basis[at] = 1;
        for (unsigned i = at + 1; i < 9; i++)
            l.basis[i] = 1u << i;
        layout half = layout_half(&l), whole = layout_join(&half);
        assert_true(layout_is_valid(&half) && layout_is_valid(&whole));
        assert_int_equal(half.reg_bits, 1);
        assert_int_equal(layout_get_replication(&half).lane_mask, 0);
        assert_int_equal(layout_get_replication(&half).warp_mask, 0);
        assert_int_equal(layout_classify(&l, &whole), at < 2   ? LAYOUT_CONVERT_REGISTERS
                                                      : at < 7 ? LAYOUT_CONVERT_SHUFFLE
                                                               : LAYOUT_CONVERT_SHARED);
    }
}

/// What flip relies on: places that differ by d hold elements that differ by the axis' bits.
static void check_flip(const uint32_t *shape, unsigned rank, const uint8_t *order) {
    static uint64_t rng = 13;
    if (order[0] != 0) // the order does not matter here
        return;
    unsigned n = layout_shape_bits(shape, rank);
    layout l = random_layout(&rng, n, n > 5 ? n - 5 : 1, 1, 0);
    for (unsigned axis = 0; axis < rank; axis++) {
        uint32_t d = place_number(&l, layout_find(&l, layout_dim_mask(shape, rank, axis)));
        for (uint32_t i = 0; i < place_count(&l); i++) {
            uint32_t c[4];
            coordinates(layout_apply(&l, place_at(&l, i)), shape, rank, c);
            c[axis] = shape[axis] - 1 - c[axis];
            assert_int_equal(layout_apply(&l, place_at(&l, i ^ d)), index_of(c, shape, rank));
        }
    }
}

static void test_flip(void **state) {
    (void)state;
    for_every_shape(check_flip);
}

// ---------------------------------------------------------------------------- questions

/// True if each group of places of `to` (threads; warps; ctas: `shift` place bits above the
/// register are inside the group) needs only elements that the same group of `from` holds.
static bool groups_suffice(const layout *from, const layout *to, unsigned inside) {
    unsigned outside = 5 + from->warp_bits + from->cta_bits - inside;
    for (uint32_t group = 0; group < 1u << outside; group++) {
        uint8_t held[256] = {0};
        unsigned shift = from->reg_bits + inside;
        for (uint32_t i = 0; i < 1u << shift; i++)
            held[layout_apply(from, place_at(from, i | group << shift))] = 1;
        shift = to->reg_bits + inside;
        for (uint32_t i = 0; i < 1u << shift; i++) {
            if (!held[layout_apply(to, place_at(to, i | group << shift))])
                return false;
        }
    }
    return true;
}

static layout_conversion classify_by_walking(const layout *from, const layout *to) {
    if (groups_suffice(from, to, 0))
        return LAYOUT_CONVERT_REGISTERS;
    if (groups_suffice(from, to, 5))
        return LAYOUT_CONVERT_SHUFFLE;
    return groups_suffice(from, to, 5 + from->warp_bits) ? LAYOUT_CONVERT_SHARED
                                                         : LAYOUT_CONVERT_CLUSTER;
}

static void test_classify(void **state) {
    (void)state;
    uint64_t rng = 3;
    unsigned count[4] = {0};
    for (unsigned i = 0; i < 40000; i++) {
        unsigned n = 1 + next_random(&rng) % 6, warps = next_random(&rng) % 3,
                 ctas = next_random(&rng) % 2;
        layout from = random_layout(&rng, n, n > 5 ? 2 : 1 + next_random(&rng) % 2, warps, ctas);
        layout to = random_layout(&rng, n, n > 5 ? 2 : 1 + next_random(&rng) % 2, warps, ctas);
        if (i % 2) { // near relatives are what conversions between neighbours look like
            to = from;
            unsigned a = next_random(&rng) % layout_place_bits(&to);
            unsigned b = next_random(&rng) % layout_place_bits(&to);
            to.basis[a] = from.basis[b];
            to.basis[b] = from.basis[a];
        }
        if (!layout_is_valid(&to))
            continue;
        layout_conversion want = classify_by_walking(&from, &to);
        assert_int_equal(layout_classify(&from, &to), want);
        count[want]++;
    }
    for (unsigned i = 0; i < 4; i++)
        assert_true(count[i] > 100);
}

static void test_contiguous_regs(void **state) {
    (void)state;
    uint64_t rng = 5;
    unsigned seen[9] = {0};
    for (unsigned i = 0; i < 20000; i++) {
        unsigned n = 6 + next_random(&rng) % 3;
        layout l = random_layout(&rng, n, 3, 1, 0);
        if (i % 2) {
            unsigned k = 1 + next_random(&rng) % 3;
            for (unsigned b = 0; b < layout_place_bits(&l); b++)
                l.basis[b] = b < k ? 1u << b : l.basis[b] >> k << k;
            if (!layout_is_valid(&l))
                continue;
        }
        unsigned v = layout_contiguous_regs(&l);
        for (uint32_t p = 0; p < place_count(&l); p++) {
            uint32_t start = layout_apply(&l, place_at(&l, p & ~(v - 1)));
            assert_int_equal(layout_apply(&l, place_at(&l, p)), start + (p & (v - 1)));
            assert_int_equal(start % v, 0);
        }
        seen[v]++;
    }
    assert_true(seen[1] && seen[2] && seen[4] && seen[8]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_span_exhaustive),
        cmocka_unit_test(test_places_exhaustive),
        cmocka_unit_test(test_places_random),
        cmocka_unit_test(test_invalid),
        cmocka_unit_test(test_blocked),
        cmocka_unit_test(test_blocked_ctas),
        cmocka_unit_test(test_share),
        cmocka_unit_test(test_worked_examples),
        cmocka_unit_test(test_permute),
        cmocka_unit_test(test_broadcast_and_reduce),
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_flip),
        cmocka_unit_test(test_half),
        cmocka_unit_test(test_classify),
        cmocka_unit_test(test_contiguous_regs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
