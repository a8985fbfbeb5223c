// Shuffle plans by simulation: a plan that is carried out gives every thread what the layout of the
// result says, and one is found nearly wherever warps hold what they need.
#include "codegen/shuffle_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MAX_REGS = 64 };

static void run_plan(const layout *from, const layout *to, const shuffle_plan *p, uint32_t warp) {
    static uint32_t sent[32][MAX_REGS], received[32][MAX_REGS];
    for (uint32_t lane = 0; lane < 32; lane++) {
        uint32_t turn = layout_sum(p->before_lane, lane) ^ layout_sum(p->before_warp, warp);
        for (uint32_t r = 0; r < layout_reg_count(from); r++)
            sent[lane][r] = layout_apply(from, (layout_place){r ^ turn, lane, warp, 0});
    }
    for (uint32_t lane = 0; lane < 32; lane++) {
        for (uint32_t r = 0; r < layout_reg_count(to); r++) {
            uint32_t source = lane;
            if (p->moves_lanes)
                source = layout_sum(p->reg_lane, r) ^ layout_sum(p->lane_lane, lane) ^
                         layout_sum(p->lane_warp, warp);
            received[lane][r] = sent[source][layout_sum(p->reg_reg, r)];
        }
    }
    for (uint32_t lane = 0; lane < 32; lane++) {
        uint32_t turn = layout_sum(p->after_lane, lane);
        for (uint32_t r = 0; r < layout_reg_count(to); r++)
            assert_int_equal(received[lane][r ^ turn],
                             layout_apply(to, (layout_place){r, lane, warp, 0}));
    }
}

/// Plans and runs; counts by what layout_classify says and whether there was a plan.
static void check_pair(const layout *a, const layout *b, unsigned count[2][4]) {
    layout from = layout_drop_register_copies(a), to = layout_drop_register_copies(b);
    shuffle_plan p;
    layout_conversion kind = layout_classify(&from, &to);
    bool ok = shuffle_plan_make(&from, &to, &p);
    count[ok][kind]++;
    if (!ok)
        return;
    assert_int_equal(p.moves_lanes, kind == LAYOUT_CONVERT_SHUFFLE);
    for (uint32_t warp = 0; warp < 1u << from.warp_bits; warp++)
        run_plan(&from, &to, &p, warp);
}

static void test_random_pairs(void **state) {
    (void)state;
    uint32_t rng = 99;
    unsigned count[2][4] = {{0}};
    for (unsigned round = 0; round < 40000; round++) {
        layout pair[2];
        unsigned n = 1 + round % 9, warps = round / 9 % 3;
        for (unsigned side = 0; side < 2; side++) {
            layout *l = &pair[side];
            do {
                rng = rng * 1664525 + 1013904223;
                unsigned more = rng >> 30;
                *l = (layout){.index_bits = (uint8_t)n,
                              .warp_bits = (uint8_t)warps,
                              .reg_bits = (uint8_t)(n > 5 ? n - 5 + more / 2 : more)};
                for (unsigned i = 0; i < layout_place_bits(l); i++) {
                    rng = rng * 1664525 + 1013904223;
                    uint32_t v = rng >> 8 & ((1u << n) - 1);
                    l->basis[i] = rng >> 29 == 0 ? 0 : rng >> 31 ? v & -v : v;
                    bool is_warp = i >= l->reg_bits + 5u;
                    if (is_warp && (round & 1 || side == 1)) // or hardly any stay in their warps
                        l->basis[i] = side ? pair[0].basis[pair[0].reg_bits + i - l->reg_bits] : 0;
                }
            } while (!layout_is_valid(l));
        }
        check_pair(&pair[0], &pair[1], count);
    }
    assert_int_equal(count[0][LAYOUT_CONVERT_REGISTERS], 0);
    assert_int_equal(count[1][LAYOUT_CONVERT_SHARED], 0);
    assert_true(count[1][LAYOUT_CONVERT_REGISTERS] > 200);
    assert_true(count[1][LAYOUT_CONVERT_SHUFFLE] > 50 * count[0][LAYOUT_CONVERT_SHUFFLE]);
}

/// Transposes in one warp: as many shuffles as registers.
static void test_transposes(void **state) {
    (void)state;
    const uint8_t rows[] = {1, 0}, columns[] = {0, 1};
    unsigned count[2][4] = {{0}};
    for (unsigned m = 0; m <= 5; m++) {
        for (unsigned n = 0; n <= 5; n++) {
            for (unsigned vec = 1; vec <= 8; vec *= 2) {
                uint32_t shape[] = {1u << m, 1u << n};
                layout a = layout_blocked(shape, 2, rows, vec, columns, 0, 0, 0);
                layout b = layout_blocked(shape, 2, columns, vec, rows, 0, 0, 0);
                check_pair(&a, &b, count);
            }
        }
    }
    assert_int_equal(count[0][LAYOUT_CONVERT_SHUFFLE], 0);
    assert_true(count[1][LAYOUT_CONVERT_SHUFFLE] > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_pairs),
        cmocka_unit_test(test_transposes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
