// The IR's data structure, its text form in both directions, and what the verifier refuses.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ir/ir.h"

static int setup(void **state) {
    *state = arena_create();
    return *state == NULL;
}

static int teardown(void **state) {
    arena_destroy(*state);
    return 0;
}

static ir_module *parse(arena *a, const char *text) {
    diag *d = diag_create(a);
    ir_module *m = ir_parse(a, d, diag_add_file(d, "test.tir", sv_from(text)));
    if (!m) {
        strbuf s;
        strbuf_init(&s, a);
        diag_render_text(d, &s);
        print_error("%s", s.data);
    }
    return m;
}

static const char *print(arena *a, const ir_module *m) {
    strbuf s;
    strbuf_init(&s, a);
    ir_print_module(m, &s, false);
    return s.data;
}

// Every kind of op, name, attribute, constant and region.
static const char *const everything =
    "#l0 = #layout<reg = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], cta = []>\n"
    "#l1 = #layout<reg = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], cta = []>\n"
    "func @all(%x: *fp32 {div = 16}, %y: *const bf16, %n: i32 {div = 16, one}, %b: i1) "
    "{num_warps = 4, num_ctas = 1, num_stages = 3, maxnreg = 128} {\n"
    "    %0: i32 = program_id {axis = 0}\n"
    "    %offs: tile<512xi32, #l0> = arange {start = 0}\n"
    "    %1: tile<512xi32, #l0> = splat %0\n"
    "    %offs.2: tile<512xi32, #l0> = add %offs, %1\n"
    "    %p: tile<512x*fp32, #l0> = splat %x\n"
    "    %p.2: tile<512x*fp32, #l0> = addptr %p, %offs.2\n"
    "    %mask: tile<512xi1, #l0> = cmp %offs, %offs.2 {pred = \"lt\"}\n"
    "    %other: tile<512xfp32, #l0> = const {value = -inf}\n"
    "    %v: tile<512xfp32, #l0> = load %p.2, %mask, %other {cache = \"cs\"}\n"
    "    %w: tile<512xfp32, #l0> = load %p.2\n"
    "    %h: tile<512xi32, #l0> = hint %offs {divisibility = [16], contiguity = [4]}\n"
    "    %s: fp32 = reduce %v {axis = 0} (%a: fp32, %b.2: fp32) {\n"
    "        %2: fp32 = max %a, %b.2 {nan = \"all\"}\n"
    "        yield %2\n"
    "    }\n"
    "    %c: fp32 = const {value = 0.1}\n"
    "    %c.2: i64 = const {value = -9223372036854775808}\n"
    "    %c.3: u64 = const {value = 18446744073709551615}\n"
    "    %c.4: fp16 = const {value = nan}\n"
    "    %c.5: fp16 = const {value = 0x7e01}\n"
    "    %lo: i32 = const {value = 0}\n"
    "    %step: i32 = const {value = 1}\n"
    "    %r: fp32, %r.2: fp32 = for %lo, %n, %step, %s, %c {num_stages = 2} "
    "(%i: i32, %acc: fp32, %acc.2: fp32) {\n"
    "        %q: fp32 = if %b {\n"
    "            %3: fp32 = add %acc, %c\n"
    "            yield %3\n"
    "        } else {\n"
    "            yield %acc.2\n"
    "        }\n"
    "        yield %q, %acc\n"
    "    }\n"
    "    %t: fp32 = while %r (%z: fp32) {\n"
    "        %more: i1 = cmp %z, %c {pred = \"lt\"}\n"
    "        condition %more, %z\n"
    "    } do (%z.2: fp32) {\n"
    "        %4: fp32 = mul %z.2, %z.2\n"
    "        yield %4\n"
    "    }\n"
    "    %one: tile<1xfp32, #l1> = splat %t\n"
    "    print %t, %one {text = \"t = \\\"x\\\"\\x0a\"}\n"
    "    store %p.2, %v, %mask {evict = \"evict_first\"}\n"
    "    %old: tile<512xfp32, #l0> = load %p.2 {volatile}\n"
    "    store %p.2, %w\n"
    "    assert %b {text = \"b\"}\n"
    "    return\n"
    "}\n"
    "\n"
    "func @empty() {num_warps = 1, num_ctas = 1, num_stages = 1} {\n"
    "    return\n"
    "}\n";

static void test_fixed_point(void **state) {
    ir_module *m = parse(*state, everything);
    assert_non_null(m);
    for (ir_func *f = m->first; f; f = f->next)
        assert_true(ir_verify(f, NULL));
    assert_string_equal(print(*state, m), everything);
}

static void test_locations(void **state) {
    ir_module *m = parse(*state, "func @f() {\n    return loc(3:4)\n}\n");
    assert_non_null(m);
    strbuf s;
    strbuf_init(&s, *state);
    ir_print_module(m, &s, true);
    assert_non_null(strstr(s.data, "    return loc(2:5)\n"));
}

static void test_builder(void **state) {
    arena *a = *state;
    diag *d = diag_create(a);
    ir_module *m = ir_module_create(a, d);
    ir_func *f = ir_func_create(m, SV("k"), 4, 1);
    ir_value *x = ir_add_param(f, SV("x"), ir_pointer_type(DT_FP32, false), 16, false, SRC_NONE);
    ir_builder b = {.func = f, .block = f->body};
    uint32_t shape[] = {64};
    ir_value *p = ir_splat(&b, x, shape, 1);
    ir_value *off =
        ir_create_value(&b, OP_ARANGE, NULL, 0, ir_tile_type(ir_scalar_type(DT_I32), shape, 1));
    ir_set_int(off->def, ATTR_START, 0);
    ir_value *at = ir_addptr(&b, p, off);
    ir_op *load = ir_create(&b, OP_LOAD, &at, 1,
                            (ir_type[]){ir_tile_type(ir_scalar_type(DT_FP32), shape, 1)}, 1);
    assert_int_equal(load->num_operands, 3); // mask and other are there, as NULL
    ir_value *half = ir_const_float(&b, load->results[0]->type, 0.5);
    ir_value *y = ir_binary(&b, OP_MUL, load->results[0], half);
    ir_create(&b, OP_STORE, (ir_value *[]){at, y}, 2, NULL, 0);
    ir_create(&b, OP_RETURN, NULL, 0, NULL, 0);
    assert_true(ir_verify(f, NULL));
    uint32_t *uses = ir_count_uses(f, a);
    assert_int_equal(uses[at->id], 2);

    // Replacing the product by the loaded value, then removing what is left over.
    ir_replace(y, load->results[0]);
    assert_ptr_equal(ir_resolve(y), load->results[0]);
    ir_apply_replacements(f);
    ir_remove(y->def);
    ir_remove(half->def);
    assert_true(ir_verify(f, NULL));
    assert_string_equal(
        print(a, m),
        "func @k(%x: *fp32 {div = 16}) {num_warps = 4, num_ctas = 1, num_stages = 1} {\n"
        "    %0: tile<64x*fp32> = splat %x\n"
        "    %1: tile<64xi32> = arange {start = 0}\n"
        "    %2: tile<64x*fp32> = addptr %0, %1\n"
        "    %3: tile<64xfp32> = load %2\n"
        "    store %2, %3\n"
        "    return\n"
        "}\n");
}

static void test_constants(void **state) {
    arena *a = *state;
    ir_module *m = ir_module_create(a, diag_create(a));
    ir_func *f = ir_func_create(m, SV("k"), 4, 1);
    ir_builder b = {.func = f, .block = f->body};
    int64_t v;
    uint64_t bits;
    ir_value *c = ir_const_int(&b, ir_scalar_type(DT_I8), 255);
    assert_true(ir_is_const_int(c, &v) && v == -1);
    assert_true(ir_is_const(c, &bits) && bits == 0xff);
    uint32_t shape[] = {8};
    ir_value *s = ir_splat(&b, ir_const_int(&b, ir_scalar_type(DT_U8), 255), shape, 1);
    assert_true(ir_is_const_int(s, &v) && v == 255);
    assert_false(ir_is_const_int(ir_const_float(&b, ir_scalar_type(DT_FP32), 1), &v));
    assert_false(ir_is_const(NULL, &bits));
}

// Every fp16 constant reads back from its text, bit for bit.
static void test_float_text(void **state) {
    arena *a = *state;
    for (uint32_t base = 0; base < 0x10000; base += 0x400) {
        arena_mark mark = arena_save(a);
        ir_module *m = ir_module_create(a, diag_create(a));
        ir_func *f = ir_func_create(m, SV("k"), 4, 1);
        ir_builder b = {.func = f, .block = f->body};
        for (uint32_t i = 0; i < 0x400; i++)
            ir_const_bits(&b, ir_scalar_type(DT_FP16), base + i);
        ir_create(&b, OP_RETURN, NULL, 0, NULL, 0);
        ir_module *back = parse(a, print(a, m));
        assert_non_null(back);
        ir_op *op = back->first->body->first;
        for (uint32_t i = 0; i < 0x400; i++, op = op->next)
            assert_int_equal(ir_get_int(op, ATTR_VALUE, -1), base + i);
        arena_restore(a, mark);
    }
}

// --- errors

// Parses or verifies `text` and wants an error that contains `message`.
static void expect_error(arena *a, const char *text, const char *message) {
    diag *d = diag_create(a);
    ir_module *m = ir_parse(a, d, diag_add_file(d, "test.tir", sv_from(text)));
    if (m)
        assert_false(ir_verify(m->first, "after test"));
    strbuf s;
    strbuf_init(&s, a);
    diag_render_text(d, &s);
    if (!s.data || !strstr(s.data, message))
        fail_msg("expected '%s' but got:\n%s", message, s.data ? s.data : "nothing");
}

static void expect_body_error(arena *a, const char *body, const char *message) {
    expect_error(a,
                 sv_format(a,
                           "func @f(%%x: *fp32, %%cx: *const fp32, %%n: i32, %%m: i64, "
                           "%%c: i1, %%a: fp32) {\n%s\nreturn\n}\n",
                           body)
                     .data,
                 message);
}

static void test_parse_errors(void **state) {
    static const char *const cases[][2] = {
        {"%y: i32 = frobnicate %n", "2:11: error: unknown op 'frobnicate'"},
        {"%y: i32 = add %n, %z", "'%z' is not defined"},
        {"%n: i32 = add %n, %n", "'%n' is already defined"},
        {"%y: i33 = add %n, %n", "expected a type"},
        {"%y: i8 = const {value = 128}", "expected a value of i8"},
        {"%y: fp32 = const {value = 1.5x}", "expected a number"},
        {"%y: fp32 = const {value = 0x1ffffffff}", "expected a value of fp32"},
        {"%y: i32 = const {valu = 1}", "expected an attribute"},
        {"%y: i32 = const {value = 1, value = 1}", "given twice"},
        {"%y: tile<4xi32, #l0> = arange {start = 0}", "layout #l0 is not defined"},
        {"%y: tile<2097152xi32> = arange {start = 0}", "at most 8 dimensions"},
        {"%y: tile<1x1x1x1x1x1x1x1x1xi32> = splat %n", "at most 8 dimensions"},
        {"%y: i32 = program_id {axis = 99999999999999999999}", "expected an integer"},
        {"print %n {text = \"abc}", "expected the end of the string"},
        {"if %c { yield }", "expected '{'"},
        {"%y: i32 = add %n, 5", "expected an operand"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_body_error(*state, cases[i][0], cases[i][1]);
    expect_error(*state, "", "expected a function");
    expect_error(*state, "func @f() {", "before the end of the file");
    expect_error(*state, "func @f() {num_wraps = 4} {\nreturn\n}", "expected num_warps");
    expect_error(*state, "#l0 = #layout<reg = [], lane = [1], warp = [], cta = []>",
                 "expected 5 bases of lanes");
}

static void test_verify_errors(void **state) {
    static const char *const cases[][2] = {
        {"%y: i32 = add %n, %m", "after test: 'add': b: expected i32 but got i64"},
        {"%y: *fp32 = add %x, %x", "expected numbers but got *fp32"},
        {"%y: fp32 = and %a, %a", "expected integers but got fp32"},
        {"%y: i32 = exp %n", "expected floats but got i32"},
        {"%y: i32 = add %n", "operand b is missing"},
        {"%y: i32 = add %n, %n, %n", "expected 2 operands but got 3"},
        {"add %n, %n", "expected 1 results but got 0"},
        {"%y: i1 = cmp %n, %n {pred = \"lo\"}", "expected one of 'eq ne lt le gt ge' but got 'lo'"},
        {"%y: i1 = cmp %n, %n", "expected an attribute 'pred'"},
        {"%y: i32 = cmp %n, %n {pred = \"lt\"}", "result: expected i1 but got i32"},
        {"%y: i32 = add %n, %n {axis = 1}", "has no attribute 'axis'"},
        {"%y: i32 = program_id {axis = 3}", "expected axis 0, 1 or 2"},
        {"%y: tile<4xi64> = arange {start = 0}", "expected a 1-D tile of i32"},
        {"%y: tile<4xi32> = arange {start = 2147483645}", "values that fit i32"},
        {"%y: tile<3xi32> = splat %n", "powers of 2"},
        {"%y: tile<1024x2048xi32> = splat %n", "at most 1048576 elements"},
        {"%y: tile<4xfp32> = splat %n", "x: expected fp32 but got i32"},
        {"%y: tile<4xi32> = splat %n\n%z: tile<8xi32> = add %y, %y", "expected the shape"},
        {"%y: tile<4xi32> = splat %n\n%z: tile<8xi32> = reshape %y", "as many elements"},
        {"%y: tile<4xi32> = splat %n\n%z: tile<8xi32> = broadcast %y", "cannot broadcast"},
        {"%y: tile<4x2xi32> = splat %n\n%z: tile<4x2xi32> = permute %y {order = [1, 0]}",
         "expected order to permute"},
        {"%y: tile<4x2xi32> = splat %n\n%z: tile<4x2xi32> = permute %y {order = [0, 0]}",
         "expected order to permute"},
        {"%y: i32 = load %x", "result: expected fp32 but got i32"},
        {"%y: fp32 = load %n", "expected a pointer but got i32"},
        {"%y: fp32 = load %x, _, %a", "expected a mask with other"},
        {"store %cx, %a", "expected a pointer to write through"},
        {"store %x, %n", "value: expected fp32 but got i32"},
        {"%y: fp32 = atomic_rmw %x, %a", "expected an attribute 'kind'"},
        {"%y: fp32 = atomic_rmw %x, %a {kind = \"and\"}", "cannot and fp32"},
        {"%y: fp32 = bitcast %m", "expected types of the same width"},
        {"%y: fp32 = cast %x", "cannot cast *fp32 to fp32"},
        {"%y: i32 = cast %n {round = \"rtz\"}", "expected floats"},
        {"if %n {\nyield\n} else {\nyield\n}", "cond: expected i1 but got i32"},
        {"%y: i32 = if %c {\nyield %n\n} else {\nyield %m\n}", "expected i32 but got i64"},
        {"%y: i32 = if %c {\nyield %n\n} else {\nyield\n}", "expected 1 values but got 0"},
        {"if %c {\n%y: i32 = add %n, %n\n} else {\nyield\n}", "ends in a terminator"},
        {"if %c {\nyield\nyield\n} else {\nyield\n}", "nothing after a terminator"},
        {"if %c {\nreturn\n} else {\nyield\n}", "expected its region to end in 'yield'"},
        {"if %c {\n%y: i32 = add %n, %n\nyield\n} else {\nyield\n}\n%z: i32 = add %y, %y",
         "used where it is not defined"},
        {"for %n, %n, %m (%i: i32) {\nyield\n}", "step: expected i32 but got i64"},
        {"%y: i32 = for %n, %n, %n, %n (%i: i32, %j: i64) {\nyield %n\n}",
         "region arguments: expected i32 but got i64"},
        {"for %n, %n, %n {\nyield\n}", "induction variable"},
        {"%t: tile<4xi32> = splat %n\n%y: i32 = reduce %t {axis = 1} (%p: i32, %q: i32) {\n"
         "yield %p\n}",
         "expected an axis"},
        {"%t: tile<4xi32> = splat %n\n%y: i32 = reduce %t {axis = 0} (%p: i32, %q: i32) {\n"
         "yield %n\n}",
         "used where it is not defined"},
        {"%t: tile<4xi32> = splat %n\n%y: i32 = reduce %t {axis = 0} (%p: i32) {\nyield %p\n}",
         "2n region arguments"},
        {"%t: tile<4xi32> = splat %n\n%y: i32 = reduce %t {axis = 0} (%p: i32, %q: i32) {\n"
         "%z: i32 = program_id {axis = 0}\nyield %p\n}",
         "only elementwise ops"},
        {"yield", "nothing after a terminator"},
        {"return", "nothing after a terminator"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_body_error(*state, cases[i][0], cases[i][1]);
    expect_error(*state, "func @f() {num_warps = 3} {\nreturn\n}", "num_warps");
    expect_error(*state, "func @f(%t: tile<4xi32>) {\nreturn\n}", "expected a scalar parameter");
    expect_error(*state, "func @f() {\n}", "ends in a terminator");
}

static void test_layout_errors(void **state) {
    static const char *const head =
        "#l0 = #layout<reg = [], lane = [1, 2, 4, 8, 16], warp = [], cta = []>\n"
        "#l1 = #layout<reg = [], lane = [16, 8, 4, 2, 1], warp = [], cta = []>\n"
        "#l2 = #layout<reg = [], lane = [1, 2, 4, 8, 16], warp = [0], cta = []>\n"
        "func @f(%%n: i32) {num_warps = 1} {\n%s\nreturn\n}\n";
    static const char *const cases[][2] = {
        {"%a: tile<32xi32, #l0> = splat %n\n%b: tile<32xi32, #l1> = add %a, %a",
         "expected layout #layout<reg = [], lane = [16, 8, 4, 2, 1], warp = [], cta = []>"},
        {"%a: tile<32xi32, #l0> = splat %n\n%b: tile<32xi32> = splat %n", "1 of 2 have none"},
        {"%a: tile<64xi32, #l0> = splat %n", "the layout does not fit tile<64xi32>"},
        {"%a: tile<32xi32, #l2> = splat %n", "the layout does not fit"},
        {"%a: tile<32xi32, #l0> = splat %n\n%b: tile<4x8xi32, #l1> = reshape %a",
         "expected layout"},
        {"%a: tile<32xi32> = splat %n\n%b: tile<32xi32> = convert_layout %a",
         "expected a layout on both sides"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_error(*state, sv_format(*state, head, cases[i][0]).data, cases[i][1]);
}

static void test_nesting(void **state) {
    arena *a = *state;
    strbuf s;
    strbuf_init(&s, a);
    strbuf_puts(&s, "func @f(%c: i1) {\n");
    for (int i = 0; i < 100000; i++)
        strbuf_puts(&s, "if %c {\n");
    expect_error(a, s.data, "nested more than");
}

// Text cut off anywhere, and text with any byte changed, is read or refused, nothing else.
static void test_damage(void **state) {
    arena *a = *state;
    size_t len = strlen(everything);
    uint32_t random = 12345;
    for (size_t i = 0; i < 3 * len; i++) {
        arena_mark mark = arena_save(a);
        char *text = arena_copy_string(a, everything, len);
        if (i < len) {
            text[i] = 0;
        } else {
            random = random * 1664525 + 1013904223;
            text[i % len] = i < 2 * len ? (char)(random >> 24) : "%{}()#,=0x <"[random >> 24 & 7];
        }
        diag *d = diag_create(a);
        ir_module *m = ir_parse(a, d, diag_add_file(d, "t.tir", (sv){text, i < len ? i : len}));
        for (ir_func *f = m ? m->first : NULL; f; f = f->next)
            if (ir_verify(f, NULL))
                print(a, m);
        assert_true(m || diag_error_count(d) == 1);
        arena_restore(a, mark);
    }
}

// --- docs/ir.md

static const char *read_docs(arena *a) {
    FILE *f = fopen(TILE_SOURCE_DIR "/docs/ir.md", "rb");
    assert_non_null(f);
    char *text = arena_alloc(a, 1 << 18);
    text[fread(text, 1, (1 << 18) - 1, f)] = 0;
    fclose(f);
    return text;
}

// The reference names every op with its operands, and every attribute.
static void test_docs_are_complete(void **state) {
    const char *docs = read_docs(*state);
    for (int i = 0; i < IR_OPCODE_COUNT; i++) {
        const ir_op_info *info = ir_get_op_info((ir_opcode)i);
        const char *space = *info->operands ? " " : "";
        sv row = sv_format(*state, "\n| `%s%s%s` | ", info->name, space, info->operands);
        if (!strstr(docs, row.data))
            fail_msg("docs/ir.md has no row%s", row.data);
    }
    for (int i = 0; i < IR_ATTR_COUNT; i++) {
        const char *name = ir_attr_name((ir_attr_key)i);
        const char *table = strstr(docs, "\n### attributes");
        assert_non_null(table);
        if (!strstr(table, sv_format(*state, "`%s`", name).data))
            fail_msg("docs/ir.md does not explain attribute '%s'", name);
    }
}

// The example that is a whole function is printed as the printer prints it.
static void test_docs_example(void **state) {
    const char *docs = read_docs(*state);
    const char *begin = strstr(docs, "```\nfunc @");
    assert_non_null(begin);
    begin += 4;
    const char *end = strstr(begin, "```");
    sv text = sv_format(*state, "%.*s", (int)(end - begin), begin);
    ir_module *m = parse(*state, text.data);
    assert_non_null(m);
    assert_true(ir_verify(m->first, NULL));
    assert_string_equal(print(*state, m), text.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_fixed_point, setup, teardown),
        cmocka_unit_test_setup_teardown(test_locations, setup, teardown),
        cmocka_unit_test_setup_teardown(test_builder, setup, teardown),
        cmocka_unit_test_setup_teardown(test_constants, setup, teardown),
        cmocka_unit_test_setup_teardown(test_float_text, setup, teardown),
        cmocka_unit_test_setup_teardown(test_parse_errors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_verify_errors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_layout_errors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nesting, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damage, setup, teardown),
        cmocka_unit_test_setup_teardown(test_docs_are_complete, setup, teardown),
        cmocka_unit_test_setup_teardown(test_docs_example, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
