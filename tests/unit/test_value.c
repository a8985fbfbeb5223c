// Compile-time values: Python's arithmetic, within 64 bits.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "frontend/value.h"

static arena *mem;

static int set_up(void **state) {
    (void)state;
    mem = arena_create();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    arena_destroy(mem);
    return 0;
}

static const char *text(value v) {
    strbuf s;
    strbuf_init(&s, mem);
    strbuf_puts(&s, "");
    value_print(&v, &s);
    return s.data;
}

/// The result's text, or "error: reason".
static const char *calc(ast_op op, value x, value y) {
    value out;
    const char *trouble = value_binary(mem, op, &x, &y, &out);
    return trouble ? sv_format(mem, "error: %s", trouble).data : text(out);
}

static const char *calc_int(ast_op op, int64_t x, int64_t y) {
    return calc(op, value_int(x), value_int(y));
}

static value big(uint64_t bits) {
    value v = value_int((int64_t)bits);
    v.is_unsigned = bits > INT64_MAX;
    return v;
}

static void test_floor_division(void **state) {
    (void)state;
    assert_string_equal(calc_int(AST_FLOORDIV, 7, 2), "3");
    assert_string_equal(calc_int(AST_FLOORDIV, -7, 2), "-4");
    assert_string_equal(calc_int(AST_FLOORDIV, 7, -2), "-4");
    assert_string_equal(calc_int(AST_FLOORDIV, -7, -2), "3");
    assert_string_equal(calc_int(AST_MOD, -7, 2), "1");
    assert_string_equal(calc_int(AST_MOD, 7, -2), "-1");
    assert_string_equal(calc_int(AST_FLOORDIV, 1, 0), "error: division by zero");
    assert_string_equal(calc(AST_FLOORDIV, value_float(-7.5), value_int(2)), "-4.0");
    assert_string_equal(calc(AST_MOD, value_float(-7.5), value_int(2)), "0.5");
    assert_string_equal(calc(AST_MOD, value_float(5), value_float(-3)), "-1.0");
}

static void test_64_bits(void **state) {
    (void)state;
    assert_string_equal(calc_int(AST_ADD, INT64_MAX, 1), "9223372036854775808");
    assert_string_equal(calc(AST_ADD, big(UINT64_MAX), value_int(1)),
                        "error: integer too large (more than 64 bits)");
    assert_string_equal(calc(AST_SUB, big(UINT64_MAX), value_int(1)), "18446744073709551614");
    assert_string_equal(calc_int(AST_SUB, INT64_MIN, 1),
                        "error: integer too large (more than 64 bits)");
    assert_string_equal(calc(AST_MUL, big(UINT64_MAX), big(UINT64_MAX)),
                        "error: integer too large (more than 64 bits)");
    assert_string_equal(calc_int(AST_FLOORDIV, INT64_MIN, -1), "9223372036854775808");
    assert_string_equal(calc_int(AST_LSHIFT, 1, 63), "9223372036854775808");
    assert_string_equal(calc_int(AST_LSHIFT, 1, 64),
                        "error: integer too large (more than 64 bits)");
    assert_string_equal(calc_int(AST_LSHIFT, 0, 1000), "0");
    assert_string_equal(calc_int(AST_RSHIFT, -1, 1000), "-1");
    assert_string_equal(calc_int(AST_LSHIFT, 1, -1), "error: negative shift count");
    value v, min = value_int(INT64_MIN);
    assert_null(value_unary(AST_NEG, &min, &v));
    assert_string_equal(text(v), "9223372036854775808");
    assert_null(value_unary(AST_NEG, &v, &v));
    assert_string_equal(text(v), "-9223372036854775808");
}

static void test_power(void **state) {
    (void)state;
    assert_string_equal(calc_int(AST_POW, 2, 10), "1024");
    assert_string_equal(calc_int(AST_POW, 2, 63), "9223372036854775808");
    assert_string_equal(calc_int(AST_POW, 2, 64), "error: integer too large (more than 64 bits)");
    assert_string_equal(calc_int(AST_POW, -2, 63), "-9223372036854775808");
    assert_string_equal(calc_int(AST_POW, -1, INT64_MAX), "-1");
    assert_string_equal(calc_int(AST_POW, 10, INT64_MAX),
                        "error: integer too large (more than 64 bits)");
    assert_string_equal(calc_int(AST_POW, 0, 0), "1");
    assert_string_equal(calc_int(AST_POW, 2, -1), "0.5");
    assert_string_equal(calc_int(AST_POW, 0, -1), "error: division by zero");
    assert_string_equal(calc(AST_POW, value_float(2), value_float(0.5)), "1.4142135623730951");
}

static void test_floats(void **state) {
    (void)state;
    assert_string_equal(calc_int(AST_DIV, 1, 2), "0.5");
    assert_string_equal(calc_int(AST_DIV, 4, 2), "2.0");
    assert_string_equal(calc(AST_ADD, value_bool(true), value_float(0.5)), "1.5");
    assert_string_equal(text(value_float(0.1)), "0.1");
    assert_string_equal(text(value_float(1e300)), "1e+300");
    assert_string_equal(text(value_float(-0.0)), "-0.0");
    assert_string_equal(text(value_float(-INFINITY)), "-inf");
    assert_string_equal(text(value_float(NAN)), "nan");
    assert_string_equal(calc(AST_BITAND, value_float(1), value_int(1)), "error: ");
}

static void test_bools(void **state) {
    (void)state;
    assert_string_equal(calc(AST_BITAND, value_bool(true), value_bool(false)), "False");
    assert_string_equal(calc(AST_BITXOR, value_bool(true), value_int(3)), "2");
    assert_string_equal(calc(AST_ADD, value_bool(true), value_bool(true)), "2");
    value v, t = value_bool(true), none = value_none();
    assert_null(value_unary(AST_INVERT, &t, &v));
    assert_string_equal(text(v), "-2");
    assert_null(value_unary(AST_NOT, &none, &v));
    assert_string_equal(text(v), "True");
}

static void test_sequences(void **state) {
    (void)state;
    value items[2] = {value_int(1), value_string(SV("a"))};
    value t = value_tuple(mem, items, 2), one = value_tuple(mem, items, 1);
    assert_string_equal(text(t), "(1, 'a')");
    assert_string_equal(text(one), "(1,)");
    assert_string_equal(calc(AST_ADD, t, one), "(1, 'a', 1)");
    assert_string_equal(calc(AST_MUL, one, value_int(3)), "(1, 1, 1)");
    assert_string_equal(calc(AST_MUL, value_int(-1), t), "()");
    assert_string_equal(calc(AST_MUL, t, value_int(INT64_MAX)), "error: the result is too long");
    assert_string_equal(calc(AST_ADD, value_string(SV("ab")), value_string(SV("c"))), "abc");
    assert_string_equal(calc(AST_MUL, value_string(SV("ab")), value_int(2)), "abab");
    assert_string_equal(calc(AST_ADD, t, value_int(1)), "error: ");
}

static bool compare(ast_op op, value x, value y) {
    bool result = false;
    assert_null(value_compare(op, &x, &y, &result));
    return result;
}

static void test_comparisons(void **state) {
    (void)state;
    assert_true(compare(AST_EQ, value_int(1), value_float(1)));
    assert_true(compare(AST_EQ, value_int(1), value_bool(true)));
    assert_true(compare(AST_LT, value_int(-1), big(UINT64_MAX)));
    assert_true(compare(AST_GT, big(UINT64_MAX), value_int(INT64_MAX)));
    assert_false(compare(AST_EQ, value_int(-1), big(UINT64_MAX)));
    assert_false(compare(AST_EQ, value_float(NAN), value_float(NAN)));
    assert_true(compare(AST_NE, value_float(NAN), value_float(NAN)));
    assert_false(compare(AST_GE, value_float(NAN), value_int(0)));
    assert_true(compare(AST_LT, value_string(SV("ab")), value_string(SV("b"))));
    assert_true(compare(AST_LT, value_string(SV("a")), value_string(SV("ab"))));
    assert_true(compare(AST_IS, value_none(), value_none()));
    assert_true(compare(AST_IS_NOT, value_int(0), value_none()));
    assert_false(compare(AST_EQ, value_none(), value_int(0)));
    value fp32 = value_dtype(ir_scalar_type(DT_FP32)), fp16 = value_dtype(ir_scalar_type(DT_FP16));
    assert_true(compare(AST_EQ, fp32, fp32));
    assert_true(compare(AST_NE, fp32, fp16));
    bool out;
    value one = value_int(1), none = value_none();
    assert_string_equal(value_compare(AST_LT, &one, &none, &out), "");
}

static void test_describe(void **state) {
    (void)state;
    value v = value_int(3);
    assert_string_equal(value_describe(mem, &v), "int 3");
    v = value_dtype(ir_scalar_type(DT_BF16));
    assert_string_equal(value_describe(mem, &v), "dtype bf16");
    v = value_tuple(mem, NULL, 0);
    assert_string_equal(value_describe(mem, &v), "tuple of 0");
    v = value_none();
    assert_string_equal(value_describe(mem, &v), "None");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floor_division), cmocka_unit_test(test_64_bits),
        cmocka_unit_test(test_power),          cmocka_unit_test(test_floats),
        cmocka_unit_test(test_bools),          cmocka_unit_test(test_sequences),
        cmocka_unit_test(test_comparisons),    cmocka_unit_test(test_describe),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
