// Lowering: what statements, calls and names become in tile IR. Each test lowers a few lines and
// looks for pieces of the printed IR, which the verifier has accepted, or of the diagnostics.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "frontend/frontend.h"

static arena *mem;
static diag *messages;
static fe_options options;

static int set_up(void **state) {
    (void)state;
    mem = arena_create();
    messages = diag_create(mem);
    options = (fe_options){.num_warps = 4, .num_ctas = 1, .num_stages = 3};
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    arena_destroy(mem);
    return 0;
}

static fe_program *load(const char *path, const char *source) {
    return fe_load(mem, messages, diag_add_file(messages, path, sv_from(source)), &options);
}

static const char *diagnostics(void) {
    strbuf out;
    strbuf_init(&out, mem);
    strbuf_puts(&out, "");
    diag_render_text(messages, &out);
    return out.data;
}

/// The IR of the first kernel, or the diagnostics.
static const char *lower_args(const char *source, const fe_arg *args, uint32_t n) {
    fe_program *p = load("t.tile", source);
    if (!p)
        return diagnostics();
    assert_true(fe_kernel_count(p) >= 1);
    ir_module *m = ir_module_create(mem, messages);
    ir_func *f = fe_lower(p, m, fe_get_kernel(p, 0), args, n, &options);
    if (!f) {
        assert_null(m->first);
        return diagnostics();
    }
    assert_true(ir_verify(f, "lower"));
    strbuf out;
    strbuf_init(&out, mem);
    ir_print_func(f, &out, false);
    return out.data;
}

static const char *lower(const char *source) { return lower_args(source, NULL, 0); }

static void expect(const char *text, const char *piece) {
    if (!strstr(text, piece))
        fail_msg("expected\n%s\nin\n%s", piece, text);
}

static void expect_not(const char *text, const char *piece) {
    if (strstr(text, piece))
        fail_msg("did not expect\n%s\nin\n%s", piece, text);
}

static fe_arg type_arg(const char *name, ir_type type) {
    return (fe_arg){.name = sv_from(name), .has_type = true, .type = type};
}

static fe_arg int_arg(const char *name, int64_t i) {
    return (fe_arg){
        .name = sv_from(name), .is_constexpr = true, .constant = {.kind = FE_INT, .i = i}};
}

// --- parameters

static void test_parameters(void **state) {
    (void)state;
    const char *ir =
        lower("def k(x: \"*fp32:16\", y: *const bf16, z: tl.pointer_type(tl.float16),\n"
              "      n: \"i32:8\", s: tl.float32, b: i1, N: constexpr = 4):\n"
              "    store(x + n, N)\n");
    expect(ir, "@k(%x: *fp32 {div = 16}, %y: *const bf16, %z: *fp16, %n: i32 {div = 8}, %s: fp32, "
               "%b: i1)");
    expect(ir, "store %0, ");
}

static void test_untyped_parameters(void **state) {
    (void)state;
    const char *source = "def k(x, n, m=2, e=1e-5, w=None, B: tl.constexpr = None):\n"
                         "    if w is not None and B is None:\n"
                         "        undefined()\n"
                         "    store(x, n + m * e)\n";
    expect(lower(source),
           "t.tile:1:7: error: parameter 'x' of kernel 'k' has no type; annotate it");
    tear_down(NULL);
    set_up(NULL);
    fe_arg args[] = {type_arg("x", ir_pointer_type(DT_FP32, false)),
                     type_arg("n", ir_scalar_type(DT_I64))};
    args[0].divisibility = 16;
    expect(lower_args(source, args, 2), "(%x: *fp32 {div = 16}, %n: i64, %m: i32, %e: fp32)");
}

static void test_argument_mismatch(void **state) {
    (void)state;
    fe_arg args[] = {type_arg("x", ir_pointer_type(DT_FP16, false)), int_arg("Q", 1)};
    const char *text = lower_args("def k(x: *fp32):\n    pass\n", args, 2);
    expect(text, "t.tile:1:7: error: 'x' is declared *fp32 but the argument is *fp16");
    expect(text, "t.tile:1:5: error: kernel 'k' has no parameter 'Q'");
}

static void test_known_to_be_one(void **state) {
    (void)state;
    fe_arg args[] = {type_arg("s", ir_scalar_type(DT_I32))};
    args[0].is_one = true;
    const char *ir = lower_args("def k(x: *i8, s):\n    store(x + s, load(x) + s)\n", args, 1);
    expect(ir, "%s: i32 {one}");
    expect(ir, "const {value = 1}");
    expect(ir, "cast"); // i8 + i32 is i32: it was not a weak literal
}

static void test_option_names(void **state) {
    (void)state;
    const char *source = "def k(x: *i32, num_warps: constexpr, num_stages: constexpr = 7):\n"
                         "    for i in tl.range(0, 8, num_stages=num_stages):\n"
                         "        store(x + i, num_warps)\n";
    const char *ir = lower(source);
    expect(ir, "{num_stages = 7}");
    expect(ir, "const {value = 4}");
    fe_arg args[] = {int_arg("num_warps", 2), int_arg("num_stages", 5)};
    ir = lower_args(source, args, 2);
    expect(ir, "{num_stages = 5}");
    expect(ir, "const {value = 2}");
    expect(ir, "num_warps = 4"); // the function's own
}

static void test_param_list(void **state) {
    (void)state;
    fe_program *p = load("t.tile", "@triton.jit(do_not_specialize=['n'])\n"
                                   "def k(x: '*k fp16:4', n, B: tl.constexpr = 2 * 8, T=tl.int8):\n"
                                   "    pass\n");
    const fe_kernel *k = fe_find_kernel(p, SV("k"));
    assert_int_equal(k->num_params, 4);
    assert_true(k->params[0].has_type && k->params[0].type.pointer_const);
    assert_int_equal(k->params[0].divisibility, 4);
    assert_true(!k->params[1].has_type && k->params[1].do_not_specialize);
    assert_true(k->params[2].is_constexpr && k->params[2].has_default);
    assert_int_equal(k->params[2].default_value.i, 16);
    assert_int_equal(k->params[3].default_value.kind, FE_DTYPE);
    assert_null(fe_find_kernel(p, SV("q")));
}

static void test_which_are_kernels(void **state) {
    (void)state;
    fe_program *p = load("t.tile", "def called(x):\n    pass\n"
                                   "def passed_on(a, b):\n    return a\n"
                                   "def returns(x):\n    return x\n"
                                   "def one(x: *i32):\n    called(x)\n"
                                   "def two(x: *i32):\n    reduce(x, 0, passed_on)\n    return\n");
    assert_int_equal(fe_kernel_count(p), 2);
    assert_true(sv_is(fe_get_kernel(p, 0)->name, "one"));
    assert_true(sv_is(fe_get_kernel(p, 1)->name, "two"));
}

// --- assignment

static void test_numbers_become_strong(void **state) {
    (void)state;
    const char *ir = lower("def k(x: *fp16):\n"
                           "    v = load(x)\n"
                           "    a = 2.0\n"
                           "    b: constexpr = 2.0\n"
                           "    store(x, v * a)\n"
                           "    store(x, v * b)\n");
    expect(ir, "%a: fp32 = const {value = 2.0}");
    expect(ir, ": fp16 = const {value = 2.0}");
}

static void test_tuples(void **state) {
    (void)state;
    const char *ir = lower("def two(a, b):\n    return a + b, (a - b, 3)\n"
                           "def k(x: *i32, n: i32):\n"
                           "    s, (d, c) = two(n, 1)\n"
                           "    s, d = d, s\n"
                           "    t = (s, d)\n"
                           "    store(x, t[0])\n"
                           "    store(x + 1, t[-1] + c)\n");
    expect(ir, "%s: i32 = add %n");
    expect(ir, "%d: i32 = sub %n");
    expect(ir, "store %x, %d");
}

static void test_names_and_aliases(void **state) {
    (void)state;
    const char *ir = lower("import triton.language as t\n"
                           "from triton.language import load as ld, float16, math as m\n"
                           "SIZE = 2 * 8\nTYPE = float16\n"
                           "def k(x: *fp32):\n"
                           "    o = t.arange(0, SIZE)\n"
                           "    store(x + o, m.exp(ld(x + o)).to(TYPE))\n");
    expect(ir, "tile<16xi32> = arange");
    expect(ir, "tile<16xfp16> = cast");
}

static void test_shadowing(void **state) {
    (void)state;
    const char *ir = lower("def f(v):\n    x = v + 1\n    return x\n"
                           "def k(x: *i32, max: i32):\n"
                           "    v = f(max)\n"
                           "    store(x, v)\n");
    expect(ir, "%x.2: i32 = add %max");
    expect(ir, "store %x, %x.2");
}

// --- branches

static void test_constexpr_if(void **state) {
    (void)state;
    const char *ir = lower("def k(x: *i32, F: constexpr = 'a', N: constexpr = 3):\n"
                           "    if F in ('b', 'c'):\n        undefined()\n"
                           "    elif F == 'a' and N > 2:\n        y = 1\n"
                           "    else:\n        y = also_undefined\n"
                           "    store(x, y if N else undefined)\n");
    expect_not(ir, "if ");
    expect(ir, "%y: i32 = const {value = 1}");
}

static void test_runtime_if(void **state) {
    (void)state;
    const char *ir = lower("def k(x: *i32, n: i32):\n"
                           "    y = 1\n    t = (n, 5)\n"
                           "    if n > 3:\n        y = 2\n        z = n\n        t = (n + 1, 5)\n"
                           "    elif n > 2:\n        z = n + 7\n"
                           "    else:\n        z = 9\n"
                           "    store(x, y + z + t[0] + t[1])\n");
    expect(ir, "%y.2: i32, %t: i32, %z: i32 = if");
    expect(ir, "yield %y, %n, %z.2"); // where y and t keep what they were
}

static void test_conditional_expression(void **state) {
    (void)state;
    const char *ir = lower("def k(x: *fp32, n: i32):\n"
                           "    store(x, load(x) if n > 3 else 0.0)\n"
                           "    store(x, n if n > 3 else (1 if n > 2 else 2))\n");
    expect(ir, ": fp32 = if");
    expect(ir, ": i32 = if");
}

static void test_chained_comparison(void **state) {
    (void)state;
    const char *ir = lower("def k(x: *i32, n: i32):\n"
                           "    if 0 <= load(x) < n:\n        store(x, 1)\n"
                           "    if 3 > 4 > undefined:\n        pass\n");
    const char *first = strstr(ir, "= load");
    assert_non_null(first);
    assert_null(strstr(first + 1, "= load")); // once
    expect(ir, "= and");
}

static void test_combine_region_selects(void **state) {
    (void)state;
    const char *ir = lower("def larger(a, b):\n"
                           "    if a > b:\n        r = a\n    else:\n        r = b\n"
                           "    if r > 100:\n        return r\n"
                           "    return a if r < 0 else r\n"
                           "def k(x: *fp32):\n"
                           "    store(x, reduce(load(x + arange(0, 64)), 0, larger))\n");
    expect(ir, "select");
    expect_not(ir, "if %");
}

// --- returns

static void test_early_return(void **state) {
    (void)state;
    const char *ir = lower("def k(x: *i32, n: i32):\n"
                           "    if n > 3:\n        return\n"
                           "    y = n + 1\n"
                           "    store(x, y)\n");
    expect(ir, "if %1 {\n        yield\n    } else {\n        %2: i32 = const {value = 1}\n");
}

static void test_nested_return(void **state) {
    (void)state;
    const char *ir = lower("def k(x: *i32, n: i32):\n"
                           "    y = n\n"
                           "    if n > 3:\n"
                           "        if n > 5:\n            return\n"
                           "        y = n + 1\n"
                           "    store(x, y)\n");
    expect(ir, "%y: i32, %2: i1 = if %1 {");
    expect(ir, "if %2 {\n        yield\n    } else {\n        store %x, %y");
}

static void test_return_values(void **state) {
    (void)state;
    const char *ir = lower("def f(a, b):\n"
                           "    if a > b:\n        if a > 10:\n            return a, 1\n"
                           "        b += 1\n"
                           "    return b, 2\n"
                           "def k(x: *i32, n: i32, m: i32):\n"
                           "    p, q = f(n, m)\n"
                           "    store(x + p, q)\n");
    expect(ir, "%p: i32, %q: i32 = if");
}

static void test_constexpr_return(void **state) {
    (void)state;
    const char *ir = lower("def fact(n):\n    if n <= 1:\n        return 1\n"
                           "    return n * fact(n - 1)\n"
                           "def first(n):\n    for i in static_range(10):\n"
                           "        if i * i > n:\n            return i\n    return -1\n"
                           "def k(x: *i32):\n"
                           "    store(x + first(20), fact(5))\n");
    expect(ir, "const {value = 120}");
    expect(ir, "const {value = 5}");
}

// --- loops

static void test_for(void **state) {
    (void)state;
    const char *ir = lower("def k(x: *fp32, n: i64):\n"
                           "    acc = zeros((16,), float32)\n"
                           "    last = 0.0\n"
                           "    for i in range(0, n, 16):\n"
                           "        v = load(x + i + arange(0, 16))\n"
                           "        acc += v\n"
                           "    store(x + arange(0, 16), acc + last)\n");
    expect(ir, "%acc.2: tile<16xfp32> = for %0, %n, %1, %acc (%i: i64, %acc.3: tile<16xfp32>) {");
}

static void test_for_directions(void **state) {
    (void)state;
    expect(
        lower("def k(x: *i32, n: i32):\n    for i in range(n, 0, -2):\n        store(x + i, i)\n"),
        "const {value = -2}");
    expect(
        lower("def k(x: *i32, n: u32):\n    for i in range(n, 0, -2):\n        store(x + i, i)\n"),
        "a negative step needs signed bounds, got u32");
}

static void test_constexpr_changes_in_loop(void **state) {
    (void)state;
    const char *ir = lower("def k(x: *i32, n: i32):\n"
                           "    c: constexpr = 5\n    d: constexpr = 6\n    t = (1, n)\n"
                           "    for i in range(n):\n"
                           "        for j in range(n):\n            c += i\n"
                           "        t = (t[0] + 1, t[1])\n"
                           "        if d > 7:\n            d = undefined\n"
                           "    store(x + arange(0, d + 2), c + t[0])\n");
    expect(ir, "%c: i32, %t: i32, %t.2: i32 = for");
    expect(ir, "arange");
}

static void test_while(void **state) {
    (void)state;
    const char *ir = lower("def k(x: *i32, n: i32):\n"
                           "    i = 0\n"
                           "    while i < n and load(x + i) != 0:\n        i += 1\n"
                           "    while False:\n        undefined()\n"
                           "    store(x, i)\n");
    expect(ir, "%i.2: i32 = while %i (%i.3: i32) {");
    expect(ir, "store %x, %i.2");
}

static void test_loop_errors_do_not_repeat(void **state) {
    (void)state;
    const char *text = lower("def k(x: *i32, n: i32):\n"
                             "    a = None\n    c: constexpr = 0\n"
                             "    for i in range(n):\n"
                             "        a = load(x)\n        c += 1\n        undefined()\n"
                             "    store(x, a)\n");
    assert_int_equal(diag_error_count(messages), 2);
    expect(text, "t.tile:5:9: error: 'a' is None before the loop, but i32 at the end of its body");
    expect(text, "t.tile:7:9: error: name 'undefined' is not defined");
}

// --- files

static void test_import_from_file(void **state) {
    (void)state;
    char folder[] = "/tmp/tile-lower-XXXXXX";
    assert_non_null(mkdtemp(folder));
    const char *util = sv_format(mem, "%s/util.tile", folder).data;
    FILE *f = fopen(util, "w");
    assert_non_null(f);
    fputs("SCALE = 3\ndef _twice(v):\n    return v * 2\n"
          "def scaled(v, by=SCALE):\n    return _twice(v) * by\n",
          f);
    fclose(f);
    const char *main_path = sv_format(mem, "%s/main.tile", folder).data;
    fe_program *p = load(main_path, "from .util import scaled as s, SCALE\n"
                                    "def k(x: *i32):\n    store(x, s(load(x)) + SCALE)\n");
    assert_non_null(p);
    assert_int_equal(fe_file_count(p), 2);
    assert_string_equal(fe_file_path(p, 1), util);
    ir_module *m = ir_module_create(mem, messages);
    assert_non_null(fe_lower(p, m, fe_get_kernel(p, 0), NULL, 0, &options));
    const char *folders[] = {folder};
    options.include_dirs = folders;
    options.num_include_dirs = 1;
    assert_non_null(load("elsewhere/main.tile", "from util import scaled\n"
                                                "def k(x: *i32):\n    store(x, scaled(1))\n"));
    assert_null(load("elsewhere/main.tile", "from util import missing\n"));
    expect(diagnostics(), "has no function or constant 'missing'");
    unlink(util);
    rmdir(folder);
}

static void test_python_file(void **state) {
    (void)state;
    fe_program *p = load("t.py", "import torch\nimport triton\nimport triton.language as tl\n"
                                 "from helpers import bench\n"
                                 "DEVICE = torch.device('cuda')\n"
                                 "@triton.jit\n"
                                 "def k(x: torch.Tensor, n: int):\n    tl.store(x + n, 1.0)\n"
                                 "def host(x):\n    k[(1,)](x, 3)\n    return x\n");
    assert_non_null(p);
    assert_int_equal(fe_kernel_count(p), 1);
    ir_module *m = ir_module_create(mem, messages);
    fe_arg args[] = {type_arg("x", ir_pointer_type(DT_FP32, false))};
    assert_non_null(fe_lower(p, m, fe_get_kernel(p, 0), args, 1, &options));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_parameters),
        TEST(test_untyped_parameters),
        TEST(test_argument_mismatch),
        TEST(test_known_to_be_one),
        TEST(test_option_names),
        TEST(test_param_list),
        TEST(test_which_are_kernels),
        TEST(test_numbers_become_strong),
        TEST(test_tuples),
        TEST(test_names_and_aliases),
        TEST(test_shadowing),
        TEST(test_constexpr_if),
        TEST(test_runtime_if),
        TEST(test_conditional_expression),
        TEST(test_chained_comparison),
        TEST(test_combine_region_selects),
        TEST(test_early_return),
        TEST(test_nested_return),
        TEST(test_return_values),
        TEST(test_constexpr_return),
        TEST(test_for),
        TEST(test_for_directions),
        TEST(test_constexpr_changes_in_loop),
        TEST(test_while),
        TEST(test_loop_errors_do_not_repeat),
        TEST(test_import_from_file),
        TEST(test_python_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
