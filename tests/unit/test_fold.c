// pass_fold: constants with the values the hardware gives, identities, decided control flow. Each
// case is a body and what fold and cleanup make of it.
#include <math.h>

#include "ir_test.h"

#include "ir/fold.h"

#define C(name, type, value) "%" name ": " type " = const {value = " value "}\n"

// One op on constants of type `type`, result of type `to`, and the value wanted ("" if it stays).
typedef struct eval_case {
    const char *type, *op, *attrs, *x, *y, *to, *want;
} eval_case;

static void check_eval(arena *a, const eval_case *c) {
    sv body = sv_format(
        a, "%%p: %s = const {value = %s}\n%s%s%s%s%s%%r: %s = %s %%p%s%s\nprint %%r", c->type, c->x,
        *c->y ? "%q: " : "", *c->y ? c->type : "", *c->y ? " = const {value = " : "", c->y,
        *c->y ? "}\n" : "", c->to, c->op, *c->y ? ", %q" : "", c->attrs);
    const char *got = ir_test_run(a, body.data, "fold,cleanup");
    bool stays = !*c->want;
    sv want = sv_format(a, " = const {value = %s}\nprint ", c->want);
    if (stays ? !strstr(got, c->op) : !strstr(got, want.data) || strstr(got, "\n%"))
        fail_msg("%s %s %s %s%s: expected '%s' but got:\n%s", c->type, c->x, c->op, c->y, c->attrs,
                 c->want, got);
}

static void test_ints(void **state) {
    static const eval_case cases[] = {
        {"i32", "add", "", "2147483647", "1", "i32", "-2147483648"},
        {"u8", "sub", "", "0", "1", "u8", "255"},
        {"i64", "mul", "", "-9223372036854775808", "-1", "i64", "-9223372036854775808"},
        {"i32", "div", "", "-7", "2", "i32", "-3"},
        {"i32", "rem", "", "-7", "2", "i32", "-1"},
        {"i32", "rem", "", "7", "-2", "i32", "1"},
        {"u32", "div", "", "4294967295", "2", "u32", "2147483647"},
        {"i32", "div", "", "-2147483648", "-1", "i32", "-2147483648"},
        {"i64", "rem", "", "-9223372036854775808", "-1", "i64", "0"},
        {"i32", "div", "", "1", "0", "i32", ""},
        {"i32", "rem", "", "1", "0", "i32", ""},
        {"i32", "shl", "", "1", "31", "i32", "-2147483648"},
        {"i32", "shl", "", "1", "32", "i32", "0"},
        {"i32", "shl", "", "1", "-1", "i32", "0"},
        {"i32", "shr", "", "-8", "1", "i32", "-4"},
        {"i32", "shr", "", "-8", "100", "i32", "-1"},
        {"u32", "shr", "", "4294967295", "31", "u32", "1"},
        {"u32", "shr", "", "4294967295", "32", "u32", "0"},
        {"i8", "shr", "", "-128", "7", "i8", "-1"},
        {"i32", "min", "", "-1", "1", "i32", "-1"},
        {"u32", "min", "", "4294967295", "1", "u32", "1"},
        {"u64", "max", "", "18446744073709551615", "1", "u64", "18446744073709551615"},
        {"u32", "umulhi", "", "4294967295", "4294967295", "u32", "4294967294"},
        {"i32", "umulhi", "", "-1", "-1", "i32", "-2"},
        {"u64", "umulhi", "", "18446744073709551615", "2", "u64", "1"},
        {"u32", "popc", "", "4294967295", "", "u32", "32"},
        {"i64", "popc", "", "-1", "", "i64", "64"},
        {"i32", "clz", "", "1", "", "i32", "31"},
        {"i32", "clz", "", "0", "", "i32", "32"},
        {"i64", "clz", "", "-1", "", "i64", "0"},
        {"i8", "clz", "", "1", "", "i8", "7"},
        {"i32", "brev", "", "1", "", "i32", "-2147483648"},
        {"u64", "brev", "", "2", "", "u64", "4611686018427387904"},
        {"i32", "abs", "", "-2147483648", "", "i32", "-2147483648"},
        {"i8", "neg", "", "-128", "", "i8", "-128"},
        {"i1", "xor", "", "1", "1", "i1", "0"},
        {"i32", "cmp", " {pred = \"lt\"}", "-1", "0", "i1", "1"},
        {"u32", "cmp", " {pred = \"lt\"}", "4294967295", "0", "i1", "0"},
        {"u64", "cmp", " {pred = \"ge\"}", "18446744073709551615", "1", "i1", "1"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_eval(*state, &cases[i]);
}

static void test_floats(void **state) {
    static const eval_case cases[] = {
        {"fp32", "add", "", "0.1", "0.2", "fp32", "0.3"},
        {"fp64", "add", "", "0.1", "0.2", "fp64", "0.30000000000000004"},
        {"fp16", "add", "", "2048.0", "1.0", "fp16", "2048.0"}, // a tie, to even
        {"fp16", "mul", "", "300.0", "300.0", "fp16", "inf"},
        {"fp32", "mul", "", "1e-30", "1e-10", "fp32", "1e-40"}, // no flush
        {"fp32", "sub", "", "inf", "inf", "fp32", ""},
        {"fp32", "div", "", "1.0", "4.0", "fp32", "0.25"},
        {"fp32", "rint", "", "2.5", "", "fp32", "2.0"},
        {"fp64", "rint", "", "-0.5", "", "fp64", "-0.0"},
        {"fp32", "trunc", "", "-2.75", "", "fp32", "-2.0"},
        {"fp32", "log2", " {approx}", "4.0", "", "fp32", ""},
        {"fp32", "div", "", "1.0", "3.0", "fp32", ""}, // div.full may differ
        {"fp32", "div", " {precise}", "1.0", "3.0", "fp32", "0.33333334"},
        {"fp64", "div", "", "1.0", "3.0", "fp64", "0.3333333333333333"},
        {"fp32", "div", "", "1.0", "0.0", "fp32", ""},
        {"fp32", "rem", "", "-7.5", "2.0", "fp32", ""},
        {"fp32", "max", "", "-0.0", "0.0", "fp32", "0.0"},
        {"fp32", "min", "", "0.0", "-0.0", "fp32", "-0.0"},
        {"fp32", "max", "", "nan", "1.0", "fp32", "1.0"},
        {"fp32", "max", " {nan = \"all\"}", "nan", "1.0", "fp32", ""},
        {"fp32", "neg", "", "0.0", "", "fp32", "-0.0"},
        {"fp32", "neg", "", "nan", "", "fp32", "0xffc00000"},
        {"fp16", "abs", "", "-1.5", "", "fp16", "1.5"},
        {"fp32", "floor", "", "-1.5", "", "fp32", "-2.0"},
        {"fp32", "ceil", "", "-0.5", "", "fp32", "-0.0"},
        {"fp32", "exp", "", "0.0", "", "fp32", ""},
        {"fp32", "sqrt", "", "4.0", "", "fp32", ""},
        {"fp32", "cmp", " {pred = \"eq\"}", "nan", "nan", "i1", "0"},
        {"fp32", "cmp", " {pred = \"ne\"}", "nan", "1.0", "i1", "1"},
        {"fp32", "cmp", " {pred = \"ge\"}", "nan", "1.0", "i1", "0"},
        {"fp32", "cmp", " {pred = \"eq\"}", "0.0", "-0.0", "i1", "1"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_eval(*state, &cases[i]);
}

static void test_casts(void **state) {
    static const eval_case cases[] = {
        {"i32", "cast", "", "300", "", "i8", "44"},
        {"i32", "cast", "", "-1", "", "u64", "18446744073709551615"},
        {"u32", "cast", "", "4294967295", "", "i64", "4294967295"},
        {"i32", "cast", "", "2", "", "i1", "1"},
        {"i1", "cast", "", "1", "", "i32", "1"},
        {"fp32", "cast", "", "nan", "", "i1", "1"},
        {"fp32", "cast", "", "0.25", "", "i1", "1"},
        {"fp32", "cast", "", "-0.0", "", "i1", "0"},
        {"fp32", "cast", "", "3e9", "", "i32", ""}, // out of range: the machine's
        {"fp32", "cast", "", "-3e9", "", "i32", ""},
        {"fp32", "cast", "", "-1.9", "", "i32", "-1"},
        {"fp32", "cast", "", "-0.9", "", "u32", "0"},
        {"fp32", "cast", "", "-5.0", "", "u8", ""},
        {"fp32", "cast", "", "nan", "", "i32", ""},
        {"fp64", "cast", "", "1e30", "", "u64", ""},
        {"fp64", "cast", "", "-1e30", "", "i64", ""},
        {"i32", "cast", "", "16777217", "", "fp32", "16777216.0"},
        {"u64", "cast", "", "18446744073709551615", "", "fp32", "1.8446744e+19"},
        {"i32", "cast", "", "16842753", "", "bf16", "1.69e+07"}, // a tie, were it fp32 first
        {"i64", "cast", "", "9007199254740993", "", "bf16", ""}, // is one in fp64
        {"i32", "cast", "", "257", "", "bf16", "256.0"},
        {"fp32", "cast", "", "65520.0", "", "fp16", "inf"},
        {"fp32", "cast", " {round = \"rtz\"}", "65535.0", "", "fp16", "65504.0"},
        {"fp32", "cast", " {round = \"rtz\"}", "-1.9999999", "", "bf16", "-1.99"},
        {"fp32", "cast", "", "1000.0", "", "fp8e4nv", "448.0"},
        {"fp64", "cast", "", "1.00048828126", "", "fp16", "1.001"}, // a tie, were it fp32 first
        {"fp32", "cast", "", "inf", "", "fp8e5", "57344.0"},
        {"fp32", "cast", " {round = \"rtz\"}", "inf", "", "fp8e5", "0x7c"},
        {"fp32", "cast", " {round = \"rtz\"}", "-inf", "", "fp8e4nv", "-448.0"},
        {"fp64", "cast", " {round = \"rtz\"}", "-0.0019", "", "fp8e4nv", "-0.0"},
        {"fp8e5", "cast", "", "0x7c", "", "fp8e4nv", "448.0"},
        {"fp8e5", "neg", "", "0x7c", "", "fp8e5", "0xfc"},
        {"fp32", "cast", "", "nan", "", "fp16", ""},
        {"fp32", "bitcast", "", "1.0", "", "i32", "1065353216"},
        {"i16", "bitcast", "", "-1", "", "u16", "65535"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_eval(*state, &cases[i]);
}

static void test_identities(void **state) {
    static const ir_test_case cases[] = {
        {C("z", "i32", "0") "%y: i32 = add %z, %n\nprint %y", "print %n\n"},
        {C("z", "fp32", "0.0") "%y: fp32 = add %a, %z\nprint %y", // -0 + 0 is +0
         "%z: fp32 = const {value = 0.0}\n%y: fp32 = add %a, %z\nprint %y\n"},
        {C("z", "fp32", "-0.0") "%y: fp32 = add %z, %a\nprint %y", "print %a\n"},
        {C("z", "fp32", "0.0") "%y: fp32 = sub %a, %z\nprint %y", "print %a\n"},
        {"%y: i32 = sub %n, %n\nprint %y", "%y: i32 = const {value = 0}\nprint %y\n"},
        {"%y: fp32 = sub %a, %a\nprint %y", "%y: fp32 = sub %a, %a\nprint %y\n"},
        {C("k", "i32", "5") "%y: i32 = sub %n, %k\nprint %y",
         "%0: i32 = const {value = -5}\n%y: i32 = add %n, %0\nprint %y\n"},
        {C("o", "fp32", "1.0") "%y: fp32 = mul %o, %a\nprint %y", "print %a\n"},
        {C("z", "fp32", "0.0") "%y: fp32 = mul %a, %z\nprint %y",
         "%z: fp32 = const {value = 0.0}\n%y: fp32 = mul %a, %z\nprint %y\n"},
        {C("z", "i32", "0") "%y: i32 = mul %z, %n\nprint %y",
         "%z: i32 = const {value = 0}\nprint %z\n"},
        {C("p", "i32", "3")
             C("q", "i32", "4") "%y: i32 = add %n, %p\n%w: i32 = add %q, %y\nprint %w",
         "%0: i32 = const {value = 7}\n%w: i32 = add %n, %0\nprint %w\n"},
        {C("k", "fp32", "-8.0") "%y: fp32 = div %a, %k\nprint %y",
         "%0: fp32 = const {value = -0.125}\n%y: fp32 = mul %a, %0\nprint %y\n"},
        {C("k", "fp32", "3.0") "%y: fp32 = div %a, %k\nprint %y",
         "%k: fp32 = const {value = 3.0}\n%y: fp32 = div %a, %k\nprint %y\n"},
        {C("k", "fp16", "32768.0") "%y: fp16 = div %h, %k\nprint %y", // 2^-15 is subnormal
         "%k: fp16 = const {value = 32768.0}\n%y: fp16 = div %h, %k\nprint %y\n"},
        {"%y: fp32 = neg %a\n%w: fp32 = neg %y\nprint %w", "print %a\n"},
        {"%y: fp32 = neg %a\n%w: fp32 = abs %y\nprint %w", "%w: fp32 = abs %a\nprint %w\n"},
        {"%y: u32 = abs %u\nprint %y", "print %u\n"},
        {C("k", "i32", "-1") "%y: i32 = and %k, %n\nprint %y", "print %n\n"},
        {"%y: i32 = xor %n, %n\nprint %y", "%y: i32 = const {value = 0}\nprint %y\n"},
        {"%y: i1 = cmp %n, %n {pred = \"le\"}\nprint %y", "%y: i1 = const {value = 1}\nprint %y\n"},
        {"%y: i1 = cmp %a, %a {pred = \"le\"}\nprint %y",
         "%y: i1 = cmp %a, %a {pred = \"le\"}\nprint %y\n"},
        {C("z", "u32", "0") "%y: i1 = cmp %z, %u {pred = \"gt\"}\nprint %y",
         "%y: i1 = const {value = 0}\nprint %y\n"},
        {C("k", "i32", "7") "%y: i1 = cmp %k, %n {pred = \"lt\"}\nprint %y",
         "%k: i32 = const {value = 7}\n%y: i1 = cmp %n, %k {pred = \"gt\"}\nprint %y\n"},
        {C("z", "i32", "0") "%w: i32 = cast %c\n%y: i1 = cmp %w, %z {pred = \"ne\"}\nprint %y",
         "print %c\n"},
        {C("t", "i1", "1") "%w: i1 = cmp %n, %m {pred = \"lt\"}\n%y: i1 = xor %w, %t\nprint %y",
         "%y: i1 = cmp %n, %m {pred = \"ge\"}\nprint %y\n"},
        {C("t", "i1", "1") "%w: i1 = cmp %a, %b {pred = \"lt\"}\n%y: i1 = xor %w, %t\nprint %y",
         "%t: i1 = const {value = 1}\n%w: i1 = cmp %a, %b {pred = \"lt\"}\n%y: i1 = xor %w, %t\n"
         "print %y\n"},
        {C("t", "i1", "1") "%y: fp32 = select %t, %a, %b\nprint %y", "print %a\n"},
        {C("t", "i1", "1") "%w: i1 = xor %c, %t\n%y: fp32 = select %w, %a, %b\nprint %y",
         "%y: fp32 = select %c, %b, %a\nprint %y\n"},
        {"%y: fp32 = select %c, %a, %a\nprint %y", "print %a\n"},
        {C("z", "i32", "0") "%y: *fp32 = addptr %x, %z\nprint %y", "print %x\n"},
    };
    IR_TEST_CHECK(*state, cases, "fold,cleanup");
}

static void test_cast_chains(void **state) {
    static const ir_test_case cases[] = {
        {"%y: i64 = cast %n\n%w: i32 = cast %y\nprint %w", "print %n\n"},
        {"%y: i8 = cast %n\n%w: i32 = cast %y\nprint %w",
         "%y: i8 = cast %n\n%w: i32 = cast %y\nprint %w\n"},
        {"%y: i64 = cast %u\n%w: i16 = cast %y\nprint %w", "%w: i16 = cast %u\nprint %w\n"},
        {"%y: fp32 = cast %h\n%w: fp16 = cast %y\nprint %w", "print %h\n"},
        {"%y: fp16 = cast %a\n%w: fp32 = cast %y\nprint %w",
         "%y: fp16 = cast %a\n%w: fp32 = cast %y\nprint %w\n"},
        {"%y: i32 = cast %c\n%w: fp32 = cast %y\nprint %w", "%w: fp32 = cast %c\nprint %w\n"},
        {"%y: i64 = cast %x\n%w: *fp32 = cast %y\nprint %w",
         "%y: i64 = cast %x\n%w: *fp32 = cast %y\nprint %w\n"},
        {"%y: i32 = bitcast %a\n%w: fp32 = bitcast %y\nprint %w", "print %a\n"},
        // To nearest, an infinity becomes 57344 on the way back.
        {"%e: fp8e5 = cast %h\n%y: fp32 = cast %e\n%w: fp8e5 = cast %y\nprint %w",
         "%e: fp8e5 = cast %h\n%y: fp32 = cast %e\n%w: fp8e5 = cast %y\nprint %w\n"},
        {"%e: fp8e5 = cast %h\n%y: fp32 = cast %e\n%w: fp8e5 = cast %y {round = \"rtz\"}\nprint %w",
         "%e: fp8e5 = cast %h\nprint %e\n"},
    };
    IR_TEST_CHECK(*state, cases, "fold,cleanup");
}

static void test_shapes(void **state) {
    static const ir_test_case cases[] = {
        {C("k", "i32", "5") "%s: tile<4xi32> = splat %k\n%y: tile<2x2xi32> = reshape %s\nprint %y",
         "%y: tile<2x2xi32> = const {value = 5}\nprint %y\n"},
        {"%s: tile<4xi32> = splat %n\n%t: tile<4xi32> = splat %m\n%y: tile<4xi32> = add %s, %t\n"
         "print %y",
         "%0: i32 = add %n, %m\n%y: tile<4xi32> = splat %0\nprint %y\n"},
        {"%s: tile<4xi32> = splat %n\n%k: tile<4xi32> = const {value = 3}\n"
         "%y: tile<4xi1> = cmp %s, %k {pred = \"lt\"}\nprint %y",
         "%0: i32 = const {value = 3}\n%1: i1 = cmp %n, %0 {pred = \"lt\"}\n"
         "%y: tile<4xi1> = splat %1\nprint %y\n"},
        {"%s: tile<1x4xi32> = splat %n\n%y: tile<2x4xi32> = broadcast %s\nprint %y",
         "%y: tile<2x4xi32> = splat %n\nprint %y\n"},
        {"%r: tile<4xi32> = arange {start = 0}\n%s: tile<1x4xi32> = reshape %r\n"
         "%t: tile<4xi32> = reshape %s\nprint %t",
         "%r: tile<4xi32> = arange {start = 0}\nprint %r\n"},
        {"%r: tile<8xi32> = arange {start = 0}\n%s: tile<2x4xi32> = reshape %r\n"
         "%t: tile<4x2xi32> = permute %s {order = [1, 0]}\n"
         "%v: tile<2x4xi32> = permute %t {order = [1, 0]}\nprint %v",
         "%r: tile<8xi32> = arange {start = 0}\n%s: tile<2x4xi32> = reshape %r\nprint %s\n"},
        {"%s: tile<4xi32> = splat %n\n%j: tile<4x2xi32> = join %s, %s\n"
         "%f: tile<4x2xi32> = flip %j {axis = 0}\n%hh: tile<4xi32> = half %f {index = 1}\nprint "
         "%hh",
         "%s: tile<4xi32> = splat %n\nprint %s\n"},
        {"%k: tile<4xi32> = const {value = 5}\n%six: tile<4xi32> = const {value = 6}\n"
         "%j: tile<4x2xi32> = join %k, %k\n%hh: tile<4xi32> = half %j {index = 0}\n"
         "%i: tile<4x2xi32> = join %k, %six\n%f: tile<4xi32> = flip %six {axis = 0}\n"
         "print %hh, %i, %f",
         "%k: tile<4xi32> = const {value = 5}\n%six: tile<4xi32> = const {value = 6}\n"
         "%i: tile<4x2xi32> = join %k, %six\nprint %k, %i, %six\n"},
        {"%r: tile<4xi32> = arange {start = 3}\n%t: tile<4xi32> = splat %n\n"
         "%j: tile<4x2xi32> = join %r, %t\n%hh: tile<4xi32> = half %j {index = 1}\n"
         "%i: tile<4xi32> = half %j {index = 0}\nprint %hh, %i",
         "%r: tile<4xi32> = arange {start = 3}\n%t: tile<4xi32> = splat %n\nprint %t, %r\n"},
        {"%r: tile<8xi32> = arange {start = 0}\n%s: tile<4x2xi32> = reshape %r\n"
         "%hh: tile<4xi32> = half %s {index = 0}\n%i: tile<4xi32> = half %s {index = 1}\n"
         "%j: tile<4x2xi32> = join %hh, %i\nprint %j",
         "%r: tile<8xi32> = arange {start = 0}\n%s: tile<4x2xi32> = reshape %r\nprint %s\n"},
        {"%r: tile<8xi32> = arange {start = 0}\n%s: tile<4x2xi32> = reshape %r\n"
         "%hh: tile<4xi32> = half %s {index = 0}\n%i: tile<4xi32> = half %s {index = 1}\n"
         "%j: tile<4x2xi32> = join %i, %hh\nprint %j",
         "%r: tile<8xi32> = arange {start = 0}\n%s: tile<4x2xi32> = reshape %r\n"
         "%hh: tile<4xi32> = half %s {index = 0}\n%i: tile<4xi32> = half %s {index = 1}\n"
         "%j: tile<4x2xi32> = join %i, %hh\nprint %j\n"},
        {"%r: tile<8xi32> = arange {start = 0}\n%s: tile<4x2xi32> = reshape %r\n"
         "%f: tile<4x2xi32> = flip %s {axis = 0}\n%g: tile<4x2xi32> = flip %f {axis = 0}\n"
         "%o: tile<8x1xi32> = reshape %r\n%q: tile<8x1xi32> = flip %o {axis = 1}\nprint %g, %q",
         "%r: tile<8xi32> = arange {start = 0}\n%s: tile<4x2xi32> = reshape %r\n"
         "%o: tile<8x1xi32> = reshape %r\nprint %s, %o\n"},
        {"%r: tile<8xi32> = arange {start = 5}\n%f: tile<8xi32> = flip %r {axis = 0}\nprint %f",
         "%r: tile<8xi32> = arange {start = 5}\n%0: tile<8xi32> = const {value = 17}\n"
         "%f: tile<8xi32> = sub %0, %r\nprint %f\n"},
        {"%r: tile<8xi32> = arange {start = 2000000000}\n%f: tile<8xi32> = flip %r {axis = 0}\n"
         "print %f",
         "%r: tile<8xi32> = arange {start = 2000000000}\n%f: tile<8xi32> = flip %r {axis = 0}\n"
         "print %f\n"},
        {"%r: tile<8xi32> = arange {start = 0}\n%s: tile<8x1xi32> = reshape %r\n"
         "%t: tile<8xi32> = reduce %s {axis = 1} (%p: i32, %q: i32) {\n%o: i32 = add %p, %q\n"
         "yield %o\n}\nprint %t",
         "%r: tile<8xi32> = arange {start = 0}\nprint %r\n"},
    };
    IR_TEST_CHECK(*state, cases, "fold,cleanup");
}

static void test_memory(void **state) {
    static const ir_test_case cases[] = {
        {C("t", "i1", "1") "%v: fp32 = load %x, %t, %a\nprint %v",
         "%v: fp32 = load %x\nprint %v\n"},
        {C("t", "i1", "0") "%v: fp32 = load %x, %t, %a\nprint %v", "print %a\n"},
        {C("t", "i1", "0") "%v: fp32 = load %x, %t {volatile}\nprint %v",
         "%v: fp32 = const {value = 0.0}\nprint %v\n"},
        {C("t", "i1", "1") "store %x, %a, %t", "store %x, %a\n"},
        {C("t", "i1", "0") "store %x, %a, %t", ""},
        {C("t", "i1", "0") "%v: fp32 = atomic_rmw %x, %a, %t {kind = \"fadd\"}\nprint %v",
         "%v: fp32 = const {value = 0.0}\nprint %v\n"},
        {C("t", "i1", "1") "%v: fp32 = atomic_rmw %x, %a, %t {kind = \"fadd\"}\nprint %v",
         "%v: fp32 = atomic_rmw %x, %a {kind = \"fadd\"}\nprint %v\n"},
        {C("t", "i1", "1") "assert %t {text = \"no\"}\nassume %t", ""},
        {C("t", "i1", "0") "assert %c, %t {text = \"no\"}", ""},
        {C("t", "i1", "0") "assert %t {text = \"yes\"}",
         "%t: i1 = const {value = 0}\nassert %t {text = \"yes\"}\n"},
    };
    IR_TEST_CHECK(*state, cases, "fold,cleanup");
}

static void test_control(void **state) {
    static const ir_test_case cases[] = {
        {C("t", "i1", "1") "%y: i32 = if %t {\n%s: i32 = add %n, %m\nyield %s\n} else {\n"
                           "yield %n\n}\nprint %y",
         "%s: i32 = add %n, %m\nprint %s\n"},
        {C("z", "i32",
           "0") "%y: i32 = if %c {\nyield %n\n} else {\n%w: i32 = add %n, %z\nyield %w\n"
                "}\nprint %y",
         "print %n\n"},
        // Both an `if` inside one that is decided, and one that its value decides.
        {C("t", "i1", "1") "%y: i1 = if %t {\n%z: i1 = if %t {\nyield %t\n} else {\nyield %c\n}\n"
                           "yield %z\n} else {\nyield %c\n}\nif %y {\nprint %n\nyield\n} else "
                           "{\nprint %m\nyield\n}",
         "print %n\n"},
        {C("z", "i32", "0")
             C("s", "i32", "1") "%y: fp32 = for %z, %z, %s, %a (%i: i32, %q: fp32) {\n"
                                "print %q\nyield %b\n}\nprint %y",
         "print %a\n"},
        {C("lo", "i32", "5") C("hi", "i32", "3")
             C("s", "i32", "1") "for %lo, %hi, %s (%i: i32) {\nprint %i\nyield\n}",
         ""},
        {C("lo", "i32", "5") C("hi", "i32", "3")
             C("s", "i32", "-1") "for %lo, %hi, %s (%i: i32) {\nprint %i\nyield\n}",
         "%lo: i32 = const {value = 5}\n%hi: i32 = const {value = 3}\n"
         "%s: i32 = const {value = -1}\nfor %lo, %hi, %s (%i: i32) {\n    print %i\n    "
         "yield\n}\n"},
        {C("lo", "u32", "5") C("hi", "u32", "4294967295")
             C("s", "u32", "1") "for %lo, %hi, %s (%i: u32) {\nprint %i\nyield\n}",
         "%lo: u32 = const {value = 5}\n%hi: u32 = const {value = 4294967295}\n"
         "%s: u32 = const {value = 1}\nfor %lo, %hi, %s (%i: u32) {\n    print %i\n    yield\n}\n"},
        {C("f", "i1", "0") "%y: fp32 = while %a (%p: fp32) {\n%q: fp32 = mul %p, %b\n"
                           "condition %f, %q\n} do (%r: fp32) {\nprint %r\nyield %r\n}\nprint %y",
         "%q: fp32 = mul %a, %b\nprint %q\n"},
    };
    IR_TEST_CHECK(*state, cases, "fold,cleanup");
}

// Every way fold looks at a value has to be finished by the time it returns: a second run finds
// nothing more to do.
static void test_settles(void **state) {
    ir_module *m = ir_test_parse(
        *state,
        "func @f(%n: i32, %c: i1) {\n" C("a", "i32", "1")
            C("b", "i32", "2") "%p: i32 = sub %n, %a\n%q: i32 = add %b, %p\n%r: i32 = sub %q, %a\n"
                               "%s: i1 = cmp %r, %n {pred = \"eq\"}\nif %s {\nprint %n\nyield\n} "
                               "else {\nyield\n}\n"
                               "return\n}\n");
    assert_true(pass_fold(m->first));
    assert_false(pass_fold(m->first));
    assert_true(ir_verify(m->first, "after fold"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IR_TEST(test_ints),       IR_TEST(test_floats),      IR_TEST(test_casts),
        IR_TEST(test_identities), IR_TEST(test_shapes),      IR_TEST(test_memory),
        IR_TEST(test_control),    IR_TEST(test_cast_chains), IR_TEST(test_settles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
