// Names, integer ranges and float bits of ir/dtype.c. The narrow formats are checked on every bit
// pattern, and on every midpoint between neighbours, where rounding to even decides.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ir/dtype.h"

static void test_names(void **state) {
    (void)state;
    for (int t = DT_I1; t < DT_PTR; t++)
        assert_int_equal(dtype_from_name(sv_from(dtype_name((dtype)t))), t);
    assert_int_equal(dtype_from_name(SV("float32")), DT_FP32);
    assert_int_equal(dtype_from_name(SV("bfloat16")), DT_BF16);
    assert_int_equal(dtype_from_name(SV("int1")), DT_I1);
    assert_int_equal(dtype_from_name(SV("float8e4nv")), DT_FP8E4NV);
    assert_int_equal(dtype_from_name(SV("ptr")), DT_VOID);
    assert_int_equal(dtype_from_name(SV("void")), DT_VOID);
    assert_int_equal(dtype_from_name(SV("fp3")), DT_VOID);
}

static void test_wrap(void **state) {
    (void)state;
    assert_int_equal(dtype_wrap_int(DT_I8, 200), -56);
    assert_int_equal(dtype_wrap_int(DT_U8, -1), 255);
    assert_int_equal(dtype_wrap_int(DT_I1, 3), 1);
    assert_int_equal(dtype_wrap_int(DT_I32, INT64_C(1) << 31), INT32_MIN);
    assert_int_equal(dtype_wrap_int(DT_U32, -1), UINT32_MAX);
    assert_true(dtype_wrap_int(DT_I64, INT64_MIN) == INT64_MIN);
}

static void test_fits(void **state) {
    (void)state;
    assert_true(dtype_int_fits(DT_I8, -128, false));
    assert_false(dtype_int_fits(DT_I8, 128, false));
    assert_false(dtype_int_fits(DT_U8, -1, false));
    assert_true(dtype_int_fits(DT_U64, -1, true)); // 2^64 - 1
    assert_false(dtype_int_fits(DT_U64, -1, false));
    assert_false(dtype_int_fits(DT_I64, -1, true));
    assert_true(dtype_int_fits(DT_I1, 1, false));
    assert_false(dtype_int_fits(DT_I1, 2, false));
    assert_false(dtype_int_fits(DT_FP32, 1, false));
}

// Known values, computed by hand from the formats' definitions.
static void test_known(void **state) {
    (void)state;
    assert_true(dtype_bits_to_float(DT_FP16, 0x3c00) == 1.0);
    assert_true(dtype_bits_to_float(DT_FP16, 0x0001) == ldexp(1, -24));
    assert_true(dtype_bits_to_float(DT_BF16, 0x3f80) == 1.0);
    assert_true(dtype_bits_to_float(DT_FP8E4NV, 0x7e) == 448.0);
    assert_true(dtype_bits_to_float(DT_FP8E4NV, 0x01) == ldexp(1, -9));
    assert_true(isnan(dtype_bits_to_float(DT_FP8E4NV, 0x7f)));
    assert_true(isnan(dtype_bits_to_float(DT_FP8E4NV, 0xff)));
    assert_true(dtype_bits_to_float(DT_FP8E5, 0x7b) == 57344.0);
    assert_true(dtype_bits_to_float(DT_FP8E5, 0xfc) == -(double)INFINITY);
    assert_int_equal(dtype_float_to_bits(DT_FP8E4NV, 1e9), 0x7e);
    assert_int_equal(dtype_float_to_bits(DT_FP8E4NV, -(double)INFINITY), 0xfe);
    assert_int_equal(dtype_float_to_bits(DT_FP8E4NV, (double)NAN), 0x7f);
    assert_int_equal(dtype_float_to_bits(DT_FP8E5, (double)INFINITY), 0x7b);
    assert_int_equal(dtype_float_to_bits(DT_FP16, 65519.99), 0x7bff);
    assert_int_equal(dtype_float_to_bits(DT_FP16, 65520.0), 0x7c00);
    assert_int_equal(dtype_float_to_bits(DT_FP16, ldexp(1, -25)), 0); // a tie with 0
    assert_int_equal(dtype_float_to_bits(DT_FP16, ldexp(1.0001, -25)), 1);
    assert_int_equal(dtype_float_to_bits(DT_BF16, -0.0), 0x8000);
}

// One rounding: through float first, this value would be a tie and round down.
static void test_single_rounding(void **state) {
    (void)state;
    double v = 1.0 + ldexp(1, -11) + ldexp(1, -40);
    assert_int_equal(dtype_float_to_bits(DT_FP16, v), 0x3c01);
    assert_int_equal(dtype_float_to_bits(DT_FP16, (double)(float)v), 0x3c00);
}

static void check_format(dtype t, uint32_t max_finite) {
    uint32_t sign = 1u << (dtype_bits(t) - 1);
    double previous = -1;
    for (uint32_t code = 0; code < sign; code++) {
        double v = dtype_bits_to_float(t, code);
        if (code > max_finite) {
            assert_true(isinf(v) || isnan(v));
            if (isnan(v))
                assert_true(isnan(dtype_bits_to_float(t, dtype_float_to_bits(t, v))));
            continue;
        }
        assert_true(v > previous); // codes are in order
        assert_int_equal(dtype_float_to_bits(t, v), code);
        assert_int_equal(dtype_float_to_bits(t, -v), code | sign);
        if (code > 0) {
            double middle = (previous + v) / 2; // exact in double
            uint32_t even = code & 1 ? code - 1 : code;
            assert_int_equal(dtype_float_to_bits(t, middle), even);
            assert_int_equal(dtype_float_to_bits(t, nextafter(middle, INFINITY)), code);
            assert_int_equal(dtype_float_to_bits(t, nextafter(middle, 0)), code - 1);
        }
        previous = v;
    }
}

static void test_every_pattern(void **state) {
    (void)state;
    check_format(DT_FP8E4NV, 0x7e);
    check_format(DT_FP8E5, 0x7b);
    check_format(DT_FP16, 0x7bff);
    check_format(DT_BF16, 0x7f7f);
}

// fp32 against the machine's own conversion.
static void test_fp32(void **state) {
    (void)state;
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < 1000000; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // Exponents around fp32's range, subnormals and overflow included.
        uint64_t bits = (random & ~(UINT64_C(0x7ff) << 52)) | (800 + random % 400) << 52;
        double v = dtype_bits_to_float(DT_FP64, bits);
        float f = (float)v;
        uint32_t want;
        memcpy(&want, &f, sizeof(want));
        assert_int_equal(dtype_float_to_bits(DT_FP32, v), want);
        if (isfinite(f))
            assert_true(dtype_bits_to_float(DT_FP32, want) == (double)f);
    }
    assert_true(dtype_float_to_bits(DT_FP64, 1.5) == UINT64_C(0x3ff8000000000000));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_fits),
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_single_rounding),
        cmocka_unit_test(test_every_pattern),
        cmocka_unit_test(test_fp32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
