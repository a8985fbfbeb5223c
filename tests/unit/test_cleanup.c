// pass_cleanup: common subexpressions, dead code and carried values, motion out of loops; and what
// must not be touched: volatile loads, loads past writes, loops that may not run.
#include "ir_test.h"

#define LOOP(args) "for %n, %m, %n" args

static void test_cse(void **state) {
    static const ir_test_case cases[] = {
        {"%y: i32 = add %n, %m\n%w: i32 = add %n, %m\nprint %y, %w",
         "%y: i32 = add %n, %m\nprint %y, %y\n"},
        {"%y: i32 = add %n, %m\n%w: i32 = add %m, %n\nprint %y, %w",
         "%y: i32 = add %n, %m\n%w: i32 = add %m, %n\nprint %y, %w\n"},
        {"%y: i1 = cmp %n, %m {pred = \"lt\"}\n%w: i1 = cmp %n, %m {pred = \"le\"}\nprint %y, %w",
         "%y: i1 = cmp %n, %m {pred = \"lt\"}\n%w: i1 = cmp %n, %m {pred = \"le\"}\nprint %y, "
         "%w\n"},
        {"%y: i8 = cast %n\n%w: i16 = cast %n\nprint %y, %w",
         "%y: i8 = cast %n\n%w: i16 = cast %n\nprint %y, %w\n"},
        // A region sees what is around it; the other way round, and to the side, it does not.
        {"%y: i32 = add %n, %m\nif %c {\n%w: i32 = add %n, %m\n%v: i32 = sub %n, %m\nprint %w, %v\n"
         "yield\n} else {\n%v.2: i32 = sub %n, %m\nprint %v.2\nyield\n}\n%v.3: i32 = sub %n, %m\n"
         "print %v.3, %y",
         "%y: i32 = add %n, %m\nif %c {\n    %v: i32 = sub %n, %m\n    print %y, %v\n    yield\n"
         "} else {\n    %v.2: i32 = sub %n, %m\n    print %v.2\n    yield\n}\n"
         "%v.3: i32 = sub %n, %m\nprint %v.3, %y\n"},
        // The region of a reduction uses nothing from outside.
        {"%k: fp32 = const {value = 2.0}\n%t: tile<4xfp32> = splat %a\n"
         "%s: fp32 = reduce %t {axis = 0} (%p: fp32, %q: fp32) {\n%k.2: fp32 = const {value = "
         "2.0}\n"
         "%o: fp32 = fma %p, %k.2, %q\nyield %o\n}\nprint %k, %s",
         "%k: fp32 = const {value = 2.0}\n%t: tile<4xfp32> = splat %a\n"
         "%s: fp32 = reduce %t {axis = 0} (%p: fp32, %q: fp32) {\n"
         "    %k.2: fp32 = const {value = 2.0}\n    %o: fp32 = fma %p, %k.2, %q\n    yield %o\n}\n"
         "print %k, %s\n"},
    };
    IR_TEST_CHECK(*state, cases, "cleanup");
}

static void test_loads(void **state) {
    static const ir_test_case cases[] = {
        {"%v: fp32 = load %x\n%w: fp32 = load %x\nprint %v, %w",
         "%v: fp32 = load %x\nprint %v, %v\n"},
        {"%v: fp32 = load %x\n%w: fp32 = load %x {cache = \"cg\"}\nprint %v, %w",
         "%v: fp32 = load %x\n%w: fp32 = load %x {cache = \"cg\"}\nprint %v, %w\n"},
        {"%v: fp32 = load %x {volatile}\n%w: fp32 = load %x {volatile}\nprint %v",
         "%v: fp32 = load %x {volatile}\n%w: fp32 = load %x {volatile}\nprint %v\n"},
        {"%v: fp32 = load %x\nstore %x, %a\n%w: fp32 = load %x\nprint %v, %w",
         "%v: fp32 = load %x\nstore %x, %a\n%w: fp32 = load %x\nprint %v, %w\n"},
        {"%v: fp32 = load %x\nbarrier\n%w: fp32 = load %x\nprint %v, %w",
         "%v: fp32 = load %x\nbarrier\n%w: fp32 = load %x\nprint %v, %w\n"},
        // The second time round, the store has happened.
        {"%v: fp32 = load %x\n" LOOP(" (%i: i32)") " {\n%w: fp32 = load %x\nprint %w, %v\n"
                                                   "store %x, %a\nyield\n}",
         "%v: fp32 = load %x\n" LOOP(" (%i: i32)") " {\n    %w: fp32 = load %x\n    print %w, %v\n"
                                                   "    store %x, %a\n    yield\n}\n"},
        {"%v: fp32 = load %x\n" LOOP(" (%i: i32)") " {\n%w: fp32 = load %x\nprint %w, %v\nyield\n}",
         "%v: fp32 = load %x\n" LOOP(" (%i: i32)") " {\n    print %v, %v\n    yield\n}\n"},
        {"if %c {\nstore %x, %a\nyield\n} else {\nyield\n}\n%w: fp32 = load %x\nprint %w",
         "if %c {\n    store %x, %a\n    yield\n} else {\n    yield\n}\n%w: fp32 = load %x\n"
         "print %w\n"},
        {"%v: fp32 = load %x\nif %c {\nstore %x, %a\nyield\n} else {\nyield\n}\n"
         "%w: fp32 = load %x\nprint %v, %w",
         "%v: fp32 = load %x\nif %c {\n    store %x, %a\n    yield\n} else {\n    yield\n}\n"
         "%w: fp32 = load %x\nprint %v, %w\n"},
    };
    IR_TEST_CHECK(*state, cases, "cleanup");
}

static void test_dead(void **state) {
    static const ir_test_case cases[] = {
        {"%y: i32 = add %n, %m\n%w: i32 = mul %y, %y", ""},
        {"%v: fp32 = load %x\n%w: fp32 = exp %v", ""},
        {"%v: fp32 = load %x {volatile}", "%v: fp32 = load %x {volatile}\n"},
        {"%v: fp32 = atomic_rmw %x, %a {kind = \"fadd\"}",
         "%v: fp32 = atomic_rmw %x, %a {kind = \"fadd\"}\n"},
        {LOOP(" (%i: i32)") " {\n%y: i32 = add %i, %n\nyield\n}", ""},
        {"if %c {\nyield\n} else {\nyield\n}", ""},
        {"%y: i32 = if %c {\nyield %n\n} else {\nyield %m\n}", ""},
        // Of two results one is used.
        {"%p: i32, %q: i32 = if %c {\n%s: i32 = add %n, %m\n%t: i32 = mul %n, %m\nyield %s, %t\n"
         "} else {\nyield %n, %m\n}\nprint %q",
         "%q: i32 = if %c {\n    %t: i32 = mul %n, %m\n    yield %t\n} else {\n    yield %m\n}\n"
         "print %q\n"},
        // Carried values: one feeds only itself.
        {"%p: i32, %q: i32 = for %n, %m, %n, %n, %m (%i: i32, %s: i32, %t: i32) {\n"
         "%s.2: i32 = add %s, %i\n%t.2: i32 = mul %t, %i\nyield %s.2, %t.2\n}\nprint %q",
         "%q: i32 = for %n, %m, %n, %m (%i: i32, %t: i32) {\n    %t.2: i32 = mul %t, %i\n"
         "    yield %t.2\n}\nprint %q\n"},
        // One feeds the other.
        {"%p: i32, %q: i32 = for %n, %m, %n, %n, %m (%i: i32, %s: i32, %t: i32) {\n"
         "%s.2: i32 = add %s, %i\n%t.2: i32 = mul %t, %s\nyield %s.2, %t.2\n}\nprint %q",
         "%p: i32, %q: i32 = for %n, %m, %n, %n, %m (%i: i32, %s: i32, %t: i32) {\n"
         "    %s.2: i32 = add %s, %i\n    %t.2: i32 = mul %t, %s\n    yield %s.2, %t.2\n}\n"
         "print %q\n"},
        {"%p: i32, %q: i32 = while %n, %m (%s: i32, %t: i32) {\n%g: i1 = cmp %t, %m {pred = "
         "\"lt\"}\n"
         "condition %g, %s, %t\n} do (%s.2: i32, %t.2: i32) {\n%s.3: i32 = add %s.2, %s.2\n"
         "%t.3: i32 = add %t.2, %n\nyield %s.3, %t.3\n}\nprint %q",
         "%q: i32 = while %m (%t: i32) {\n    %g: i1 = cmp %t, %m {pred = \"lt\"}\n"
         "    condition %g, %t\n} do (%t.2: i32) {\n    %t.3: i32 = add %t.2, %n\n    yield "
         "%t.3\n}\n"
         "print %q\n"},
        // It might never end.
        {"while {\ncondition %c\n} do {\nyield\n}",
         "while {\n    condition %c\n} do {\n    yield\n}\n"},
        {"%t: tile<4xfp32> = splat %a\n%s: fp32 = reduce %t {axis = 0} (%p: fp32, %q: fp32) {\n"
         "%d: fp32 = mul %p, %q\n%o: fp32 = add %p, %q\nyield %o\n}\nprint %s",
         "%t: tile<4xfp32> = splat %a\n%s: fp32 = reduce %t {axis = 0} (%p: fp32, %q: fp32) {\n"
         "    %o: fp32 = add %p, %q\n    yield %o\n}\nprint %s\n"},
    };
    IR_TEST_CHECK(*state, cases, "cleanup");
}

#define K "%k: i32 = const {value = 0}\n%e: i32 = const {value = 8}\n%s: i32 = const {value = 1}\n"

static void test_motion(void **state) {
    static const ir_test_case cases[] = {
        {LOOP(" (%i: i32)") " {\n%y: i32 = div %n, %m\n%w: i32 = add %y, %i\nprint %w\nyield\n}",
         "%y: i32 = div %n, %m\n" LOOP(" (%i: i32)") " {\n    %w: i32 = add %y, %i\n    print %w\n"
                                                     "    yield\n}\n"},
        // Out of two loops; out of one.
        {LOOP(" (%i: i32)") " {\n" LOOP(
             " (%j: i32)") " {\n%y: i32 = mul %n, %m\n"
                           "%w: i32 = mul %i, %m\nprint %y, %w\nyield\n}\nyield\n}",
         "%y: i32 = mul %n, %m\n" LOOP(" (%i: i32)") " {\n    %w: i32 = mul %i, %m\n    " LOOP(
             " (%j: i32)") " {\n        print %y, %w\n        yield\n    }\n    yield\n}\n"},
        // A reduction goes with its region.
        {"%t: tile<4xfp32> = splat %a\n" LOOP(
             " (%i: i32)") " {\n"
                           "%r: fp32 = reduce %t {axis = 0} (%p: fp32, %q: fp32) {\n%o: fp32 = add "
                           "%p, %q\nyield %o\n}\n"
                           "print %r\nyield\n}",
         "%t: tile<4xfp32> = splat %a\n%r: fp32 = reduce %t {axis = 0} (%p: fp32, %q: fp32) {\n"
         "    %o: fp32 = add %p, %q\n    yield %o\n}\n" LOOP(" (%i: i32)") " {\n    print %r\n"
                                                                           "    yield\n}\n"},
        // A load: from a loop that runs; not from one that may not; not past a write.
        {K "for %k, %e, %s (%i: i32) {\n%v: fp32 = load %x\nprint %v\nyield\n}",
         K "%v: fp32 = load %x\nfor %k, %e, %s (%i: i32) {\n    print %v\n    yield\n}\n"},
        {LOOP(" (%i: i32)") " {\n%v: fp32 = load %x\nprint %v\nyield\n}",
         LOOP(" (%i: i32)") " {\n    %v: fp32 = load %x\n    print %v\n    yield\n}\n"},
        {K "for %k, %e, %s (%i: i32) {\n%v: fp32 = load %x\nprint %v\nstore %x, %a\nyield\n}",
         K "for %k, %e, %s (%i: i32) {\n    %v: fp32 = load %x\n    print %v\n    store %x, %a\n"
           "    yield\n}\n"},
        {K "for %k, %e, %s (%i: i32) {\n%v: fp32 = load %x {volatile}\nprint %v\nyield\n}",
         K "for %k, %e, %s (%i: i32) {\n    %v: fp32 = load %x {volatile}\n    print %v\n"
           "    yield\n}\n"},
        // A hint stays where the author gave it.
        {LOOP(" (%i: i32)") " {\n%y: i32 = hint %n {divisibility = [16]}\nprint %y\nyield\n}",
         LOOP(" (%i: i32)") " {\n    %y: i32 = hint %n {divisibility = [16]}\n    print %y\n"
                            "    yield\n}\n"},
        // Carried and never changed, in both kinds of loop.
        {"%r: fp32 = for %n, %m, %n, %a (%i: i32, %p: fp32) {\n%q: fp32 = mul %p, %b\nprint %q\n"
         "yield %p\n}\nprint %r",
         "%q: fp32 = mul %a, %b\n" LOOP(" (%i: i32)") " {\n    print %q\n    yield\n}\nprint %a\n"},
        {"%p: i32, %q: i32 = while %n, %m (%s: i32, %t: i32) {\n%g: i1 = cmp %t, %s {pred = "
         "\"lt\"}\n"
         "condition %g, %s, %t\n} do (%s.2: i32, %t.2: i32) {\n%t.3: i32 = add %t.2, %s.2\n"
         "yield %s.2, %t.3\n}\nprint %p, %q",
         "%q: i32 = while %m (%t: i32) {\n    %g: i1 = cmp %t, %n {pred = \"lt\"}\n"
         "    condition %g, %t\n} do (%t.2: i32) {\n    %t.3: i32 = add %t.2, %n\n    yield "
         "%t.3\n}\n"
         "print %n, %q\n"},
    };
    IR_TEST_CHECK(*state, cases, "cleanup");
}

// Loops as deep as they may be, and a long straight line: neither recursion nor time gets out of
// hand.
static void test_size(void **state) {
    arena *a = *state;
    strbuf s;
    strbuf_init(&s, a);
    for (int i = 0; i < IR_MAX_NESTING - 1; i++)
        strbuf_printf(&s, "for %%n, %%m, %%n (%%i%d: i32) {\n%%y%d: i32 = add %%n, %%i%d\n", i, i,
                      i);
    strbuf_puts(&s, "print %n\n");
    for (int i = 0; i < IR_MAX_NESTING - 1; i++)
        strbuf_puts(&s, "yield\n}\n");
    assert_non_null(strstr(ir_test_run(a, s.data, "fold,cleanup"), "print %n\n"));

    strbuf_init(&s, a);
    strbuf_puts(&s, "%y0: i32 = add %n, %m\n");
    for (int i = 1; i < 20000; i++)
        strbuf_printf(&s, "%%y%d: i32 = xor %%y%d, %%m\n", i, i - 1);
    strbuf_puts(&s, "print %y19999");
    assert_non_null(strstr(ir_test_run(a, s.data, "fold,cleanup"), "print %y19999\n"));
}

static void test_driver(void **state) {
    arena *a = *state;
    ir_module *m = ir_test_parse(a, "func @f(%n: i32) {\n%y: i32 = add %n, %n\nreturn\n}\n");
    strbuf out;
    strbuf_init(&out, a);
    ir_pass_options options = {.only = "fold,cleanup", .print_after = "cleanup", .print_to = &out};
    assert_true(ir_run_passes(m, &options));
    assert_string_equal(out.data,
                        "// after cleanup\nfunc @f(%n: i32) {num_warps = 4, num_ctas = 1, "
                        "num_stages = 1} {\n    return\n}\n");
    options = (ir_pass_options){.only = "fold,clean"};
    assert_false(ir_run_passes(m, &options));
    strbuf_init(&out, a);
    diag_render_text(m->diag, &out);
    assert_non_null(strstr(out.data, "there is no pass 'clean'"));
}

static void test_passes_left_out(void **state) {
    arena *a = *state;
    ir_module *m = ir_test_parse(a, "func @f(%n: i32) {\n%y: i32 = add %n, %n\nreturn\n}\n");
    strbuf out;
    strbuf_init(&out, a);
    ir_pass_options options = {.skip = "cleanup,cleanup2", .print_after = "all", .print_to = &out};
    assert_true(ir_run_passes(m, &options));
    assert_null(strstr(out.data, "after cleanup"));
    assert_non_null(strstr(out.data, "after layout"));
    assert_false(ir_run_passes(m, &(ir_pass_options){.skip = "fold,clean"}));
    assert_false(ir_run_passes(m, &(ir_pass_options){.skip = "layout"}));
    strbuf_init(&out, a);
    diag_render_text(m->diag, &out);
    assert_non_null(strstr(out.data, "there is no pass 'clean'"));
    assert_non_null(strstr(out.data, "pass 'layout' cannot be left out"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IR_TEST(test_cse),
        IR_TEST(test_loads),
        IR_TEST(test_dead),
        IR_TEST(test_motion),
        IR_TEST(test_size),
        IR_TEST(test_driver),
        IR_TEST(test_passes_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
