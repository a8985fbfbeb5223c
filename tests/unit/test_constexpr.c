// Compile-time expressions, through the language: what Python says of each expression, as text, and
// what is refused. The left column was given to Python 3 to make the right one.
#include "frontend/frontend.h"
#include "ir/ir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>

typedef struct row {
    const char *expression, *text;
} row;

static const row rows[] = {
    {"7 // 2", "3"},
    {"-7 // 2", "-4"},
    {"7 // -2", "-4"},
    {"-7 // -2", "3"},
    {"0 // 5", "0"},
    {"-1 // 3", "-1"},
    {"1 // -3", "-1"},
    {"2**63 // 3", "3074457345618258602"},
    {"-2**63 // -1", "9223372036854775808"},
    {"7 % 2", "1"},
    {"-7 % 2", "1"},
    {"7 % -2", "-1"},
    {"-7 % -2", "-1"},
    {"-6 % 3", "0"},
    {"-2**63 % 10", "2"},
    {"7.5 // 2", "3.0"},
    {"-7.5 // 2", "-4.0"},
    {"7.5 // -2", "-4.0"},
    {"-7.5 // -2", "3.0"},
    {"-0.0 // 1", "-0.0"},
    {"0.0 // -1", "-0.0"},
    {"1e300 // 1e-8", "1e+308"},
    {"0.7 // 0.1", "6.0"},
    {"1.0 // 0.1", "9.0"},
    {"6.0 // 0.2", "29.0"},
    {"7.5 % 2", "1.5"},
    {"-7.5 % 2", "0.5"},
    {"7.5 % -2", "-0.5"},
    {"-7.5 % -2", "-1.5"},
    {"0.7 % 0.1", "0.09999999999999992"},
    {"-1e-20 % 3", "3.0"},
    {"6.0 % -2.0", "-0.0"},
    {"5 % 2.5", "0.0"},
    {"1 / 2", "0.5"},
    {"4 / 2", "2.0"},
    {"-7 / 2", "-3.5"},
    {"1 / 3", "0.3333333333333333"},
    {"(2**63 + 1) / 2", "4.611686018427388e+18"},
    {"9007199254740993 / 1", "9007199254740992.0"},
    {"18014398509481985 / 2", "9007199254740992.0"},
    {"18446744073709549567 / 1", "1.844674407370955e+19"},
    {"1e308 / 1e-10", "inf"},
    {"2**53 / 3", "3002399751580330.5"},
    {"2 ** 10", "1024"},
    {"2 ** 0", "1"},
    {"0 ** 0", "1"},
    {"(-2) ** 3", "-8"},
    {"-2 ** 2", "-4"},
    {"2 ** -1", "0.5"},
    {"2 ** 3 ** 2", "512"},
    {"(-2) ** 63", "-9223372036854775808"},
    {"2 ** 63", "9223372036854775808"},
    {"4 ** 0.5", "2.0"},
    {"2.5 ** 2", "6.25"},
    {"(-8.0) ** 3", "-512.0"},
    {"10 ** 19", "10000000000000000000"},
    {"2.0 ** -2", "0.25"},
    {"(-1) ** 101", "-1"},
    {"0.0 ** 0", "1.0"},
    {"1 + 2 * 3", "7"},
    {"(1 + 2) * 3", "9"},
    {"1 - 2 - 3", "-4"},
    {"2 * 3 % 4", "2"},
    {"-3 - -3", "0"},
    {"+5", "5"},
    {"- -5", "5"},
    {"1 + 2.0", "3.0"},
    {"True + True", "2"},
    {"True * 2.5", "2.5"},
    {"-True", "-1"},
    {"9223372036854775807 + 1", "9223372036854775808"},
    {"-9223372036854775807 - 1", "-9223372036854775808"},
    {"4294967296 * 4294967295", "18446744069414584320"},
    {"18446744073709551615 - 18446744073709551614", "1"},
    {"1 << 10", "1024"},
    {"1 << 63", "9223372036854775808"},
    {"-1 << 63", "-9223372036854775808"},
    {"255 >> 4", "15"},
    {"-1 >> 70", "-1"},
    {"-8 >> 1", "-4"},
    {"5 & 3", "1"},
    {"5 | 3", "7"},
    {"5 ^ 3", "6"},
    {"~5", "-6"},
    {"~-1", "0"},
    {"~True", "-2"},
    {"True & False", "False"},
    {"True | 2", "3"},
    {"True ^ True", "False"},
    {"-1 & 255", "255"},
    {"~5 & 3 | 8 ^ 2", "10"},
    {"1 << 2 + 1", "8"},
    {"0xff_ff", "65535"},
    {"0b1010", "10"},
    {"0o17", "15"},
    {"1_000", "1000"},
    {"1_0.0_1", "10.01"},
    {".5", "0.5"},
    {"5.", "5.0"},
    {"1e3", "1000.0"},
    {"1E-3", "0.001"},
    {"0x7fffffffffffffff", "9223372036854775807"},
    {"1 < 2", "True"},
    {"1 < 2 < 3", "True"},
    {"3 > 2 >= 2 != 1", "True"},
    {"1 < 2 > 5", "False"},
    {"1 == 1.0", "True"},
    {"True == 1", "True"},
    {"2**53 + 1 == 9007199254740992.0", "False"},
    {"2**53 + 1 > 9007199254740992.0", "True"},
    {"0.1 + 0.2 == 0.3", "False"},
    {"1 != 2", "True"},
    {"\"a\" < \"b\"", "True"},
    {"\"abc\" > \"abd\"", "False"},
    {"\"a\" == \"a\"", "True"},
    {"\"\" < \"a\"", "True"},
    {"-0.0 == 0.0", "True"},
    {"-1 < 18446744073709551615", "True"},
    {"float(\"nan\") == float(\"nan\")", "False"},
    {"float(\"nan\") != 1", "True"},
    {"float(\"inf\") > 10**19", "True"},
    {"\"a\" + \"b\"", "ab"},
    {"\"ab\" * 3", "ababab"},
    {"2 * \"x\"", "xx"},
    {"\"x\" * -1", ""},
    {"\"a\" \"b\"", "ab"},
    {"len(\"abc\")", "3"},
    {"len(\"\xc3\xa9\")", "1"},
    {"f\"n={3 + 4} {1.5} {None} {True}\"", "n=7 1.5 None True"},
    {"'it''s'", "its"},
    {"\"t\\tn\\\\\"", "t\tn\\"},
    {"(1, 2) + (3,)", "(1, 2, 3)"},
    {"(1, 2) * 2", "(1, 2, 1, 2)"},
    {"0 * (1,)", "()"},
    {"(1, (2, \"a\"))", "(1, (2, 'a'))"},
    {"()", "()"},
    {"(1,)", "(1,)"},
    {"(1, 2) == (1, 2)", "True"},
    {"(1, 2) == (1, 2.0)", "True"},
    {"(1, 2) != (2, 1)", "True"},
    {"len((1, 2, 3))", "3"},
    {"(1, 2, 3)[1]", "2"},
    {"(1, 2, 3)[-1]", "3"},
    {"(1, 2, 3)[True]", "2"},
    {"(5, 6, 7, 8)[1:3]", "(6, 7)"},
    {"(5, 6, 7, 8)[::-1]", "(8, 7, 6, 5)"},
    {"(5, 6, 7, 8)[-3:]", "(6, 7, 8)"},
    {"(5, 6, 7, 8)[:-1:2]", "(5, 7)"},
    {"(1, 2)[5:]", "()"},
    {"(*(1, 2), 3)", "(1, 2, 3)"},
    {"None is None", "True"},
    {"1 is None", "False"},
    {"1 is not None", "True"},
    {"None == None", "True"},
    {"None != 0", "True"},
    {"None", "None"},
    {"not None", "True"},
    {"1 in (1, 2)", "True"},
    {"3 in (1, 2)", "False"},
    {"3 not in (1, 2)", "True"},
    {"\"a\" in (\"a\", \"b\")", "True"},
    {"None in (1, None)", "True"},
    {"1.0 in (1,)", "True"},
    {"0 or \"x\"", "x"},
    {"\"\" and 1", ""},
    {"1 and 2", "2"},
    {"0 and 1", "0"},
    {"None or 0", "0"},
    {"not ()", "True"},
    {"not (0,)", "False"},
    {"not \"\"", "True"},
    {"not 0.0", "True"},
    {"True and not False", "True"},
    {"1 or 1 // 0", "1"},
    {"0 and 1 // 0", "0"},
    {"not 1 == 2", "True"},
    {"1 if True else 2", "1"},
    {"1 if 0 else 2 if 0 else 3", "3"},
    {"1 if 1 < 2 else 1 // 0", "1"},
    {"min(3, 2.5)", "2.5"},
    {"max(1, 2, 3)", "3"},
    {"max((1, 5, 2))", "5"},
    {"max(True, 1)", "True"},
    {"max(1, True)", "1"},
    {"min(1, 1.0)", "1"},
    {"min(-0.0, 0.0)", "-0.0"},
    {"abs(-3)", "3"},
    {"abs(-0.0)", "0.0"},
    {"abs(True)", "1"},
    {"abs(-9223372036854775808)", "9223372036854775808"},
    {"abs(-2.5)", "2.5"},
    {"int(3.7)", "3"},
    {"int(-3.7)", "-3"},
    {"int(True)", "1"},
    {"int(5)", "5"},
    {"float(3)", "3.0"},
    {"float(\"1e3\")", "1000.0"},
    {"float(\"-inf\")", "-inf"},
    {"float(\" 2.5 \")", "2.5"},
    {"float(18446744073709551615)", "1.8446744073709552e+19"},
    {"bool(0)", "False"},
    {"bool(\"a\")", "True"},
    {"bool(())", "False"},
    {"bool(-0.0)", "False"},
    {"int()", "0"},
    {"float()", "0.0"},
    {"bool()", "False"},
    {"100.0", "100.0"},
    {"1e15", "1000000000000000.0"},
    {"1e16", "1e+16"},
    {"1e17", "1e+17"},
    {"123456789.0", "123456789.0"},
    {"1e-4", "0.0001"},
    {"1e-5", "1e-05"},
    {"0.0001234", "0.0001234"},
    {"1.5e300", "1.5e+300"},
    {"1/3", "0.3333333333333333"},
    {"1e22", "1e+22"},
    {"2.0**70", "1.1805916207174113e+21"},
    {"-1e-7", "-1e-07"},
    {"5e-324", "5e-324"},
    {"1.7976931348623157e308", "1.7976931348623157e+308"},
    {"1e16 + 1", "1e+16"},
    {"12345678901234567.0", "1.2345678901234568e+16"},
};

static const row errors[] = {
    {"1 // 0", "division by zero"},
    {"1 % 0", "division by zero"},
    {"1.0 / 0", "division by zero"},
    {"0.0 ** -1", "division by zero"},
    {"0 ** -1", "division by zero"},
    {"2**64", "integer too large"},
    {"-2**63 - 1", "integer too large"},
    {"1 << 64", "integer too large"},
    {"3 * 2**63", "integer too large"},
    {"99999999999999999999", "integer too large"},
    {"1 << -1", "negative shift count"},
    {"10.0 ** 400", "float too large"},
    {"(-8.0) ** 0.5", "complex"},
    {"'a' + 1", "'+' cannot be applied to string 'a' and int 1"},
    {"None + 1", "'+' cannot be applied to None and int 1"},
    {"(1, 2) < (2, 1)", "'<' cannot be applied to tuple of 2 and tuple of 2"},
    {"1 < None", "to ask for None write 'is None'"},
    {"'a' < 1", "'<' cannot be applied to"},
    {"1 & 2.5", "'&' cannot be applied to"},
    {"1.0 << 2", "'<<' cannot be applied to"},
    {"5 @ 3", "'@' cannot be applied to"},
    {"~1.5", "'~' cannot be applied to float 1.5"},
    {"-'a'", "'-' cannot be applied to string 'a'"},
    {"-(1, 2)", "'-' cannot be applied to tuple of 2"},
    {"(1, 2)[2]", "index 2 is out of range for a tuple of 2"},
    {"(1, 2)['a']", "a tuple is indexed by one compile-time integer"},
    {"(1, 2)[::0]", "the step of a slice"},
    {"5[0]", "int 5 cannot be subscripted"},
    {"(1,) * 10**9", "too long"},
    {"'a' * 10**9", "too long"},
    {"1 in 5", "'in' asks whether"},
    {"int('3')", "int() needs a compile-time number"},
    {"int(float('inf'))", "cannot make a 64-bit integer of inf"},
    {"int(float('nan'))", "cannot make a 64-bit integer of nan"},
    {"float('abc')", "'abc' is not a number"},
    {"float('0x10')", "'0x10' is not a number"},
    {"len(3)", "len() needs a tuple"},
    {"min()", "min() needs at least one value"},
    {"max(1, 'a')", "max() cannot compare"},
    {"undefined + 1", "name 'undefined' is not defined"},
};

/// What the compiler says to static_print of the expression.
static const char *messages_of(arena *a, const char *expression) {
    fe_options options = {.num_warps = 4, .num_ctas = 1, .num_stages = 3};
    diag *d = diag_create(a);
    sv source = sv_format(a, "def k(p: *fp32):\n    static_print(%s)\n", expression);
    fe_program *p = fe_load(a, d, diag_add_file(d, "test.tile", source), &options);
    if (p && fe_kernel_count(p) == 1)
        fe_lower(p, ir_module_create(a, d), fe_get_kernel(p, 0), NULL, 0, &options);
    strbuf text;
    strbuf_init(&text, a);
    strbuf_puts(&text, "");
    diag_render_text(d, &text);
    return text.data;
}

/// Each text must stand in the messages, between `before` and `after`.
static void check_rows(const row *table, size_t n, const char *before, const char *after) {
    unsigned wrong = 0;
    for (size_t i = 0; i < n; i++) {
        arena *a = arena_create();
        const char *got = messages_of(a, table[i].expression);
        char want[256];
        snprintf(want, sizeof want, "%s%s%s", before, table[i].text, after);
        if (!strstr(got, want)) {
            print_error("%s: expected '%s', got:\n%s", table[i].expression, table[i].text, got);
            wrong++;
        }
        arena_destroy(a);
    }
    assert_int_equal(wrong, 0);
}

static void test_values(void **state) {
    (void)state;
    check_rows(rows, sizeof rows / sizeof *rows, "warning: ", " [-Wstatic-print]");
}

static void test_errors(void **state) {
    (void)state;
    check_rows(errors, sizeof errors / sizeof *errors, "", "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
