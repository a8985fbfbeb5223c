// Helpers of the tests that run passes on IR text.
#ifndef TILE_TESTS_IR_TEST_H
#define TILE_TESTS_IR_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ir/passes.h"

static inline int ir_test_setup(void **state) {
    *state = arena_create();
    return *state == NULL;
}

static inline int ir_test_teardown(void **state) {
    arena_destroy(*state);
    return 0;
}

#define IR_TEST(fn) cmocka_unit_test_setup_teardown(fn, ir_test_setup, ir_test_teardown)

/// Reads and verifies IR text; fails the test with the messages if that does not work.
static inline ir_module *ir_test_parse(arena *a, const char *text) {
    diag *d = diag_create(a);
    ir_module *m = ir_parse(a, d, diag_add_file(d, "test.tir", sv_from(text)));
    bool ok = m != NULL;
    for (ir_func *f = m ? m->first : NULL; f; f = f->next)
        ok = ir_verify(f, "before") && ok;
    if (!ok) {
        strbuf s;
        strbuf_init(&s, a);
        diag_render_text(d, &s);
        fail_msg("%s\nin:\n%s", s.data, text);
    }
    return m;
}

/// Runs passes (comma-separated) on the body of a function with parameters of many types, and
/// gives the new body, without indentation of its first level and without the final return.
static inline const char *ir_test_run(arena *a, const char *body, const char *passes) {
    sv text = sv_format(a,
                        "func @f(%%x: *fp32, %%n: i32, %%m: i32, %%u: u32, %%l: i64, %%c: i1, "
                        "%%a: fp32, %%b: fp32, %%h: fp16) {\n%s\nreturn\n}\n",
                        body);
    ir_module *m = ir_test_parse(a, text.data);
    ir_pass_options options = {.only = passes, .verify_each = true};
    strbuf s;
    strbuf_init(&s, a);
    if (!ir_run_passes(m, &options)) {
        diag_render_text(m->diag, &s);
        ir_print_module(m, &s, false);
        fail_msg("%s", s.data);
    }
    ir_print_module(m, &s, false);
    strbuf lines;
    strbuf_init(&lines, a);
    strbuf_puts(&lines, "");
    const char *line = strchr(s.data, '\n') + 1;
    while (strncmp(line, "    return\n", 11) != 0) {
        const char *end = strchr(line, '\n');
        strbuf_put(&lines, (sv){line + 4, (size_t)(end - line - 4 + 1)});
        line = end + 1;
    }
    return lines.data;
}

/// One case: a body and what the passes make of it.
typedef struct ir_test_case {
    const char *body, *want;
} ir_test_case;

static inline void ir_test_check(arena *a, const ir_test_case *cases, size_t n,
                                 const char *passes) {
    for (size_t i = 0; i < n; i++) {
        const char *got = ir_test_run(a, cases[i].body, passes);
        if (strcmp(got, cases[i].want) != 0)
            fail_msg("%s\nbecame:\n%s\ninstead of:\n%s", cases[i].body, got, cases[i].want);
    }
}

#define IR_TEST_CHECK(a, cases, passes)                                                            \
    ir_test_check((a), (cases), sizeof(cases) / sizeof((cases)[0]), (passes))

#endif
