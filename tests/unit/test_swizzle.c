// Swizzles by simulation: for pairs of layouts, every element has its own place in shared memory,
// vectors are where both sides look for them, and no warp access takes more passes over the banks
// than its bytes need.
#include "codegen/swizzle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/// How many passes over the banks one access of a warp takes: lanes are served in groups that
/// could cover 128 bytes, each group once for every further word that a bank must give.
static unsigned passes(const uint32_t offset[32], const bool active[32], unsigned bytes) {
    unsigned group = bytes > 4 ? 128 / bytes : 32, total = 0;
    for (unsigned first = 0; first < 32; first += group) {
        unsigned worst = 0;
        for (unsigned bank = 0; bank < 32; bank++) {
            uint32_t words[128];
            unsigned n = 0;
            for (unsigned lane = first; lane < first + group; lane++) {
                for (unsigned b = 0; active[lane] && b < bytes; b += 4) {
                    uint32_t word = (offset[lane] + b) / 4;
                    bool known = word % 32 != bank;
                    for (unsigned i = 0; i < n && !known; i++)
                        known = words[i] == word;
                    if (!known)
                        words[n++] = word;
                }
            }
            worst = n > worst ? n : worst;
        }
        total += worst;
    }
    return total;
}

/// Walks all accesses of one side; returns the worst excess of passes over the least possible.
static unsigned check_side(const layout *l, const swizzle *s, bool writes) {
    layout_replication copies = layout_get_replication(l);
    unsigned vec = 1u << s->vec_log2, bytes = vec << s->elem_log2, excess = 0;
    for (uint32_t warp = 0; warp < 1u << l->warp_bits; warp++) {
        for (uint32_t reg = 0; reg < layout_reg_count(l); reg++) {
            uint32_t at = swizzle_offset(s, layout_apply(l, (layout_place){.reg = reg}));
            if (at % bytes)
                continue;                                // not the first of a vector
            for (unsigned k = 0; k < s->vec_log2; k++) { // its others are here as well
                uint32_t with = layout_apply(l, (layout_place){.reg = reg}) ^ s->vec[k];
                layout_place p = layout_find(l, with);
                assert_int_equal(p.lane | p.warp, 0);
                assert_int_equal(swizzle_offset(s, with), at + ((1u << k) << s->elem_log2));
            }
            uint32_t offset[32];
            bool active[32];
            for (uint32_t lane = 0; lane < 32; lane++) {
                uint32_t index = layout_apply(l, (layout_place){reg, lane, warp, 0});
                offset[lane] = swizzle_offset(s, index);
                active[lane] =
                    !writes || (!(lane & copies.lane_mask) && !(warp & copies.warp_mask));
                if (active[lane])
                    assert_int_equal(offset[lane] % bytes, 0);
            }
            unsigned least = bytes > 4 ? bytes / 4 : 1, n = passes(offset, active, bytes);
            if (n > least && n - least > excess)
                excess = n - least;
        }
    }
    return excess;
}

static void check_pair(const layout *a, const layout *b, unsigned elem_bytes) {
    layout from = layout_drop_register_copies(a), to = layout_drop_register_copies(b);
    swizzle s = swizzle_choose(&from, &to, elem_bytes);
    uint8_t *taken = calloc(1, (size_t)1 << from.index_bits);
    for (uint32_t i = 0; i < 1u << from.index_bits; i++) {
        uint32_t at = swizzle_offset(&s, i) / elem_bytes;
        assert_true(at < 1u << from.index_bits);
        assert_false(taken[at]);
        taken[at] = 1;
    }
    free(taken);
    assert_true((elem_bytes << s.vec_log2) <= 16);
    assert_int_equal(check_side(&from, &s, true), 0);
    assert_int_equal(check_side(&to, &s, false), 0);
}

/// Transposes between the layouts that global accesses want, all sizes, all element sizes.
static void test_transposes(void **state) {
    (void)state;
    const uint8_t rows[] = {1, 0}, columns[] = {0, 1};
    for (unsigned m = 1; m <= 7; m++) {
        for (unsigned n = 1; n <= 7; n++) {
            for (unsigned bytes = 1; bytes <= 8; bytes *= 2) {
                for (unsigned warps = 0; warps <= 3; warps++) {
                    uint32_t shape[] = {1u << m, 1u << n};
                    unsigned vec = 16 / bytes;
                    layout a = layout_blocked(shape, 2, rows, vec, columns, 0, warps, 0);
                    layout b = layout_blocked(shape, 2, columns, vec, rows, 0, warps, 0);
                    check_pair(&a, &b, bytes);
                    check_pair(&b, &a, bytes);
                }
            }
        }
    }
}

/// Two row-major layouts of different vector widths keep vectors: 8 fp16 to 4 fp32 and the like.
static void test_vectors_survive(void **state) {
    (void)state;
    const uint8_t rows[] = {1, 0}, columns[] = {0, 1};
    const uint32_t shape[] = {64, 64};
    layout a = layout_blocked(shape, 2, rows, 8, columns, 0, 2, 0);
    layout b = layout_blocked(shape, 2, rows, 4, columns, 0, 2, 0);
    assert_int_equal(swizzle_choose(&a, &b, 2).vec_log2, 3); // a far register bit makes it 16 bytes
    assert_int_equal(swizzle_choose(&a, &b, 4).vec_log2, 2);
    assert_int_equal(swizzle_choose(&a, &b, 8).vec_log2, 1);
    assert_int_equal(swizzle_choose(&a, &a, 2).vec_log2, 3);
}

/// Random pairs, with zero and dependent bases on both sides.
static void test_random_pairs(void **state) {
    (void)state;
    uint32_t rng = 12345;
    for (unsigned round = 0; round < 8000; round++) {
        layout pair[2];
        unsigned n = 1 + round % 9, warps = round / 9 % 3;
        for (unsigned side = 0; side < 2; side++) {
            layout *l = &pair[side];
            do {
                rng = rng * 1664525 + 1013904223;
                *l = (layout){.index_bits = (uint8_t)n,
                              .warp_bits = (uint8_t)warps,
                              .reg_bits = (uint8_t)(n > 5 ? n - 5 + (rng >> 30) : rng >> 30)};
                for (unsigned i = 0; i < layout_place_bits(l); i++) {
                    rng = rng * 1664525 + 1013904223;
                    uint32_t v = rng >> 8 & ((1u << n) - 1);
                    l->basis[i] = rng >> 29 == 0 ? 0 : rng >> 31 ? v & -v : v;
                }
            } while (!layout_is_valid(l));
        }
        check_pair(&pair[0], &pair[1], 1u << (round / 27 % 4));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transposes),
        cmocka_unit_test(test_vectors_survive),
        cmocka_unit_test(test_random_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
