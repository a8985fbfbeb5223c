// What expressions mean: each row of the reference table goes through the language and its result
// type is asserted there; errors name both sides; the IR of the less obvious cases is looked at.
#include "frontend/frontend.h"
#include "ir/ir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>

/// One kernel, lowered: its IR and its messages as text, in an arena of its own.
typedef struct lowered {
    arena *arena;
    bool ok;
    const char *ir, *messages;
} lowered;

static lowered lower(const char *source) {
    lowered l = {.arena = arena_create(), .ir = ""};
    fe_options options = {.num_warps = 4, .num_ctas = 1, .num_stages = 3};
    diag *d = diag_create(l.arena);
    strbuf ir, messages;
    strbuf_init(&ir, l.arena);
    strbuf_init(&messages, l.arena);
    strbuf_puts(&messages, "");
    fe_program *p = fe_load(l.arena, d, diag_add_file(d, "test.tile", sv_from(source)), &options);
    ir_module *m = ir_module_create(l.arena, d);
    ir_func *f = NULL;
    if (p && fe_kernel_count(p) == 1)
        f = fe_lower(p, m, fe_get_kernel(p, 0), NULL, 0, &options);
    l.ok = f && ir_verify(f, "lower") && diag_error_count(d) == 0;
    if (f) {
        ir_print_func(f, &ir, false);
        l.ir = ir.data;
    }
    diag_render_text(d, &messages);
    l.messages = messages.data;
    return l;
}

#define KERNEL                                                                                     \
    "def k(p: *fp32, q: *const fp32, h: *i32, b: *i8, w: *fp64, n: i32, s: fp32):\n"               \
    "    o = arange(0, 16)\n"                                                                      \
    "    x = load(p + o)\n"                                                                        \
    "    i = load(h + o)\n"                                                                        \
    "    r = arange(0, 8)[:, None] + arange(0, 4)[None, :]\n"

/// Lowers the statements in a kernel with a few tiles at hand.
static lowered lower_body(const char *statements) {
    char source[2048];
    snprintf(source, sizeof source, "%s    %s\n", KERNEL, statements);
    return lower(source);
}

static void expect_error(const char *statements, const char *message) {
    lowered l = lower_body(statements);
    if (l.ok || !strstr(l.messages, message))
        fail_msg("'%s': expected '%s', got:\n%s", statements, message, l.ok ? l.ir : l.messages);
    arena_destroy(l.arena);
}

static void expect_ir(const char *statements, const char *text) {
    lowered l = lower_body(statements);
    if (!l.ok || !strstr(l.ir, text))
        fail_msg("'%s': expected '%s', got:\n%s%s", statements, text, l.messages, l.ir);
    arena_destroy(l.arena);
}

static void expect_ok(const char *statements) { expect_ir(statements, "return"); }

// --- the reference table

static void check_row(const char *expression, const char *left, const char *right,
                      const char *ours) {
    char source[1024];
    bool refused = !strcmp(ours, "error"), literal = !strncmp(right, "lit:", 4);
    bool two = *right && !literal;
    snprintf(source, sizeof source,
             "import triton.language as tl\n"
             "def k(pa: *%s, pb: *%s):\n"
             "    o = tl.arange(0, 16)\n"
             "    a = tl.load(pa + o)\n"
             "    b%s\n"
             "    c = o > 3\n"
             "    result = %s\n"
             "    tl.static_assert(result.dtype == tl.%s, result.dtype)\n",
             left, two ? right : left, literal ? ": tl.constexpr" : " = tl.load(pb + o)",
             expression, refused ? "i32" : ours);
    if (literal) {
        char *at = strstr(source, ": tl.constexpr\n");
        char tail[1024];
        snprintf(tail, sizeof tail, "%s", at + strlen(": tl.constexpr"));
        snprintf(at, sizeof source - (size_t)(at - source), ": tl.constexpr = %s%s", right + 4,
                 tail);
    }
    lowered l = lower(source);
    bool fine = refused ? !l.ok && !strstr(l.messages, "static assertion") : l.ok;
    if (!fine)
        fail_msg("%s of %s, %s: expected %s\n%s", expression, left, right, ours, l.messages);
    arena_destroy(l.arena);
}

static void test_reference_table(void **state) {
    (void)state;
    char line[256];
    unsigned rows = 0;
    FILE *f = fopen(TILE_CASES_DIR "/tables/types.tsv", "r");
    if (!f)
        skip();
    while (fgets(line, sizeof line, f)) {
        char *fields[6], *at = line;
        unsigned n = 0;
        line[strcspn(line, "\r\n")] = '\0';
        while (n < 6 && at)
            fields[n++] = strsep(&at, "\t");
        if (n < 6 || !strcmp(fields[0], "op"))
            continue;
        check_row(fields[1], fields[2], fields[3], fields[5]);
        rows++;
    }
    fclose(f);
    assert_true(rows >= 4500);
}

// --- operators

static void test_literals(void **state) {
    (void)state;
    expect_ok("static_assert((load(b + o) + 1).dtype == i8)");
    expect_error("load(b + o) + 300", "scalar 300 is out of range for i8");
    expect_error("load(b + o) * 3000000000", "scalar 3000000000 is out of range for i8");
    expect_error("i.to(u32) + -1", "scalar -1 is out of range for u32");
    expect_ir("store(p + o, 2.0 * x)", "tile<16xfp32> = const {value = 2.0}");
    expect_ok("c = 2.0\n    static_assert((x.to(fp16) * c).dtype == fp32)");
    expect_ok("static_assert((x.to(fp16) * 2.0).dtype == fp16)");
    expect_ok("static_assert((i > 3000000000).dtype == i1)");
    expect_ok("static_assert((i & True).dtype == i32)");
}

static void test_pointers(void **state) {
    (void)state;
    expect_ok("store(1 + p, 0.0)");
    expect_ir("store(p - o, 0.0)", "tile<16xi64> = cast %o");
    expect_ir("store(p - o.to(u32), 0.0)", "tile<16xi64> = cast");
    expect_error("p + p", "'+' cannot be applied to *fp32 and *fp32");
    expect_error("p + 1.5", "a pointer moves by an integer number of elements");
    expect_error("o - p", "'-' cannot be applied to tile<16xi32> and *fp32");
    expect_error("p * 2", "'*' cannot be applied to *fp32 and int 2");
    expect_error("p == h", "cannot be applied to pointers");
    expect_ok("store((p.to(i64) + 16).to(pointer_type(fp32)), 0.0)");
    expect_error("p.to(i32)", "cannot cast *fp32 to i32: an address takes i64 or u64");
    expect_error("p.to(fp32)", "cannot cast *fp32 to fp32");
    expect_error("x.to(pointer_type(fp32))", "a pointer is made of an integer");
}

static void test_broadcasting(void **state) {
    (void)state;
    expect_error("x + arange(0, 8)", "cannot broadcast tile<16xfp32> with tile<8xi32>");
    expect_error("x + arange(0, 8)", "~ tile<8xi32>");
    expect_ok("static_assert((r + arange(0, 4)).shape == (8, 4))");
    expect_ok("static_assert((x[:, None] * x[None, :]).shape == (16, 16))");
    expect_ok("static_assert((r[None, :, :] + arange(0, 2)[:, None, None]).shape == (2, 8, 4))");
    expect_error("arange(0, 1024)[:, None] + arange(0, 2048)[None, :]", "at most 1048576 elements");
    expect_error("x[0]", "a tile is subscripted by ':' and None only, not by int 0");
    expect_error("x[:, :]", "too many ':' for tile<16xfp32>");
    expect_ok("static_assert(x[None].shape == (1, 16))");
    expect_ok("a, c = broadcast(r, 0)\n    static_assert(c.shape == (8, 4))");
    expect_error("broadcast_to(r, (8, 8))", "cannot broadcast tile<8x4xi32> to shape (8, 8)");
}

static void test_other_operators(void **state) {
    (void)state;
    expect_error("x // 2", "'//' needs integers, got tile<16xfp32> and int 2");
    expect_error("x & 1", "'&' needs integers");
    expect_error("i // i.to(u32)", "one is signed, the other is not");
    expect_error("x ** 2", "'**' needs compile-time numbers");
    expect_error("not i", "'not' needs i1 operands, got tile<16xi32>");
    expect_error("i and True", "'and' needs i1 operands, got tile<16xi32>");
    expect_error("~x", "'~' needs integers, got tile<16xfp32>");
    expect_error("x == None", "to ask for None write 'is None'");
    expect_error("x + 'a'", "'+' cannot be applied to tile<16xfp32> and string 'a'");
    expect_ok("static_assert(x is not None)");
    expect_ir("store(h + o, ~i)", "const {value = -1}");
    expect_ir("store(p + o, -x)", "neg %x");
    expect_ir("store(p + o, i / 3)", "tile<16xfp32> = div");
    expect_ir("store(h + o, i >> 1)", "shr %i");
}

static void test_casts(void **state) {
    (void)state;
    expect_ir("store(h + o, x.to(i32))", "tile<16xi32> = cast %x");
    expect_ir("store(p + o, x.to(fp16, fp_downcast_rounding='rtz'))", "cast %x {round = \"rtz\"}");
    expect_error("i.to(fp16, fp_downcast_rounding='rtz')", "it is for casts to a narrower float");
    expect_error("x.to(fp16, fp_downcast_rounding='up')", "'rtne' or 'rtz', not 'up'");
    expect_ir("store(h + o, x.to(i32, bitcast=True))", "tile<16xi32> = bitcast %x");
    expect_error("x.to(i16, bitcast=True)", "cannot bitcast tile<16xfp32> to i16");
    expect_error("x.to(3)", "to(): 'dtype' must be a type such as tl.float32, not int 3");
    expect_ok("static_assert(tl.cast(3, tl.int8).dtype == tl.int8)");
    expect_ir("if n:\n        store(p, 0.0)", "i1 = cast %n");
    expect_error("if x > 0:\n        store(p, 0.0)", "a condition must be a scalar");
}

static void test_where(void **state) {
    (void)state;
    expect_ok("static_assert(where(x > 0, x.to(fp16), 0.0).dtype == fp16)");
    expect_ok("static_assert(where(i, 1, 2).dtype == i32)");
    expect_ok("store(where(n > 0, p, p + 1), 0.0)");
    expect_ok("static_assert(where(r > 0, 1, arange(0, 4)).shape == (8, 4))");
    expect_error("where(x > 0, p + o, 0)", "where() cannot choose between");
    expect_error("where(x > 0, h + o, p + o)", "where() cannot choose between");
    expect_error("where(p, 1, 2)", "the condition of where() must be i1");
}

// --- built-ins

static void test_binding(void **state) {
    (void)state;
    expect_error("load(p, maks=n > 0)",
                 "load() got an unexpected keyword argument 'maks'; did you mean 'mask'?");
    expect_error("load()", "load() is missing the argument 'pointer'");
    expect_error("load(p, mask=n > 0, pointer=p)", "got multiple values for argument 'pointer'");
    expect_error("zeros((4,), fp32, 1)", "zeros() takes 2 arguments but 3 were given");
    expect_error("program_id(n)", "program_id(): 'axis' must be a compile-time integer");
    expect_error("program_id(3)", "axis of the grid is 0, 1 or 2, not 3");
    expect_error("load(p, boundary_check=(0,))", "'boundary_check' is for block pointers");
    expect_ok("load(p, boundary_check=(), padding_option='')");
    expect_error("dot(r, r)", "'dot' is not supported yet");
    expect_error("tl.dot(r, r)", "'tl.dot' is not supported yet");
    expect_error("x.dot(x)", "'dot' is not supported yet");
    expect_error("tl.laod(p)", "did you mean 'load'?");
    expect_error("lambda_(p)", "is not defined");
}

static void test_creation(void **state) {
    (void)state;
    expect_ir("store(h + arange(5, 9), 0)", "arange {start = 5}");
    expect_error("arange(0, 3)", "has 3 elements, which is not a power of two");
    expect_error("arange(4, 4)", "is empty");
    expect_error("arange(0, n)", "arange(): 'end' must be a compile-time integer");
    expect_error("full((3,), 0, i32)", "extents of a tile are powers of two, 3 is not");
    expect_error("full((n,), 0, i32)", "declare it as constexpr");
    expect_error("full((4,), 300, i8)", "scalar 300 is out of range for i8");
    expect_error("full((4,), 1.5, i8)", "cannot fill i8 with a float");
    expect_error("zeros((2097152,), i8)", "at most 1048576 elements");
    expect_ok("static_assert(full((), s, fp16).dtype == fp16)");
    expect_ok("static_assert(zeros([4, 8], dtype=tl.bfloat16).shape == (4, 8))");
    expect_ok("static_assert(zeros_like(r).dtype == i32)");
}

static void test_shapes(void **state) {
    (void)state;
    expect_ok("static_assert(x.reshape(4, 4).shape == (4, 4))");
    expect_ok("static_assert(reshape(x, (4, 4)).shape == (4, 4))");
    expect_error("x.reshape(4, 8)", "cannot reshape tile<16xfp32> to (4, 8)");
    expect_ok("static_assert(r.T.shape == (4, 8))");
    expect_ok("static_assert(trans(r).shape == (4, 8))");
    expect_ok("static_assert(permute(r[None, :, :], (2, 0, 1)).shape == (4, 1, 8))");
    expect_error("permute(r, 0, 0)", "dimension 0 is named twice");
    expect_error("permute(r, 0)", "names each of them once");
    expect_ok("static_assert(expand_dims(x, (0, -1)).shape == (1, 16, 1))");
    expect_error("expand_dims(x, 3)", "axis 3 is out of range for 2 dimensions");
    expect_ok("static_assert(r.ravel().numel == 32)");
    expect_ok("static_assert(x.sum(keep_dims=True).item().shape == ())");
    expect_ok("static_assert(join(x, x).shape == (16, 2) and join(r, 1).dtype == tl.int32)");
    expect_ok("static_assert(join(x[:, None], x[None, :]).shape == (16, 16, 2))");
    expect_ok("static_assert(join(n, 3).shape == (2,) and interleave(n, n).shape == (2,))");
    expect_ok(
        "a, c = split(join(r, r))\n    static_assert(a.shape == (8, 4) and c.shape == (8, 4))");
    expect_ok(
        "a, c = join(n, n).split()\n    static_assert(a.shape == () and c.dtype == tl.int32)");
    expect_ok("static_assert(interleave(r, r).shape == (8, 8) and flip(r, 0).shape == (8, 4))");
    expect_ok("static_assert(cat(r, r).shape == (16, 4) and r.cat(r, dim=-1).shape == (8, 8))");
    expect_ok("static_assert(cat(x, x, True).shape == (32,) and join(p, p).dtype == p.dtype)");
    expect_ir("store(p + o, flip(x))", "flip %x {axis = 0}");
    expect_error("join(x, i)", "join() takes two values of one type, not tile<16xfp32> and ");
    expect_error("join(x, r)", "cannot broadcast tile<16xfp32> with tile<8x4xi32>");
    expect_error("split(r)", "split() needs a last dimension of extent 2, got tile<8x4xi32>");
    expect_error("split(n)", "split() needs a last dimension of extent 2, got i32");
    expect_error("cat(x, r)", "cat() takes two tiles of one shape, not tile<16xfp32> and ");
    expect_error("cat(n, n)", "not i32 and i32; scalars go to join()");
    expect_error("cat(x, x, dim=1)", "axis 1 is out of range for 1 dimension");
    expect_error("flip(x, 1)", "axis 1 is out of range for 1 dimension");
    expect_error("flip(n)", "flip() needs a tile, got i32");
    expect_error(
        "join(x.reshape(1, 1, 1, 1, 1, 1, 1, 16), 1.0)",
        "join() adds a dimension to tile<1x1x1x1x1x1x1x16xfp32>, but a tile has at most 8");
    expect_error("join(zeros((1024, 1024), i8), zeros((1024, 1024), i8))",
                 "a tile has at most 1048576 elements; shape (1024, 1024, 2) has more");
}

static void test_memory(void **state) {
    (void)state;
    expect_error("load(p + o, mask=o < n, other=p)", "other *fp32 does not fit");
    expect_error("load(p + o, other=0)", "'other' is for masked elements, but there is no mask");
    expect_error("load(p + o, mask=o)", "the mask must be i1, not tile<16xi32>");
    expect_error("load(p, mask=o < n)", "mask tile<16xi1> does not fit the pointer's *fp32");
    expect_error("load(x)", "load() needs a pointer, not tile<16xfp32>");
    expect_error("load(p + o, cache_modifier='.xx')", "'cache_modifier' is one of .ca .cg .cs .cv");
    expect_ir("load(p + o, cache_modifier='.cg')", "cache = \"cg\"");
    expect_ir("load(p + o, eviction_policy='evict_last')", "evict = \"evict_last\"");
    expect_ir("load(p + o, volatile=True)", "volatile");
    expect_error("load(p + o, cache_modifier='.cg', eviction_policy='evict_last')",
                 "does not go with");
    expect_error("store(q, 0.0)", "store() cannot write through *const fp32");
    expect_error("store(p, x)", "value tile<16xfp32> does not fit the pointer's *fp32");
    expect_error("store(p + o, 'a')", "value must be a number or a tile");
    expect_ir("store(w + o, x)", "tile<16xfp64> = cast %x");
    expect_ok("(p + o).store((h + o).load(), mask=True)");
}

static void test_atomics(void **state) {
    (void)state;
    expect_ir("atomic_add(p + o, 1)", "kind = \"fadd\", sem = \"acq_rel\", scope = \"gpu\"");
    expect_ir("atomic_xchg(h, 0, sem='release', scope='cta')",
              "kind = \"xchg\", sem = \"release\", scope = \"cta\"");
    expect_ir("store(h, atomic_cas(h, 0, 1))", "atomic_cas %h");
    expect_ir("atomic_max(p + o, x, mask=o < n)", "kind = \"max\"");
    expect_error("atomic_add(b, 1)", "atomic_add() has no form for i8");
    expect_error("atomic_and(p, 1)", "atomic_and() has no form for fp32");
    expect_error("atomic_cas(b, 1, 2)", "atomic_cas() has no form for i8");
    expect_error("atomic_add(q, 1.0)", "atomic_add() cannot write through");
    expect_error("atomic_add(h, 1, sem='seq')", "'sem' is one of acq_rel acquire release relaxed");
}

static void test_reductions(void **state) {
    (void)state;
    expect_ok("static_assert(sum(x).shape == ())");
    expect_ok("static_assert(r.sum(axis=-1).shape == (8,))");
    expect_ok("static_assert(r.max(0, keep_dims=True).shape == (1, 4))");
    expect_ok("static_assert(r.max(keep_dims=True).shape == (1, 1))");
    expect_ir("store(p, sum(x.to(fp16)))", "fp32 = reduce");
    expect_ok("static_assert(sum(x, dtype=fp64).dtype == fp64)");
    expect_error("sum(x, axis=1)", "axis 1 is out of range for 1 dimension");
    expect_error("sum(s)", "cannot reduce fp32: it has no dimensions");
    expect_error("xor_sum(x)", "xor_sum() needs integers, not tile<16xfp32>");
    expect_ok("v, at = max(x, axis=0, return_indices=True)\n    static_assert(at.dtype == i32)");
    expect_error("tl.max(x, return_indices=True)", "max() with indices needs an axis");
    expect_error("reduce(x, 0, 3)", "'combine_fn' must be a function, not int 3");
    expect_ok("static_assert(reduce(x, 0, tl.maximum).dtype == fp32)");
    expect_error("reduce((x, i), 0, tl.maximum)", "maximum() takes");
    expect_error("max(x)", "write tl.max(x) to reduce a tile");
}

static void test_combine(void **state) {
    (void)state;
    lowered l = lower("def f(a, b):\n    return (a + b).to(fp64)\n"
                      "def k(p: *fp32):\n    store(p, reduce(load(p + arange(0, 4)), 0, f))\n");
    assert_non_null(strstr(l.messages, "the combine function must return fp32 as it takes it"));
    arena_destroy(l.arena);
    l = lower("def f(a, b):\n    return a + b + program_id(0)\n"
              "def k(p: *fp32):\n    store(p, reduce(load(p + arange(0, 4)), 0, f))\n");
    assert_non_null(strstr(l.messages, "a combine function computes with its arguments only"));
    arena_destroy(l.arena);
    l = lower("def f(a, b):\n    return a, b\n"
              "def k(p: *fp32):\n    store(p, reduce(load(p + arange(0, 4)), 0, f))\n");
    assert_non_null(strstr(l.messages, "the combine function must return 1 value"));
    arena_destroy(l.arena);
}

static void test_math(void **state) {
    (void)state;
    expect_error("exp(i)", "exp() needs a float of 16 bits or more, not tile<16xi32>");
    expect_error("sigmoid(i)", "sigmoid() needs a float of 16 bits or more, not tile<16xi32>");
    expect_ok("static_assert(sigmoid(x.to(bf16)).dtype == bf16)");
    expect_ir("store(p + o, sqrt_rn(x))", "sqrt %x {precise}");
    expect_ir("store(p + o, div_rn(x, 3.0))", "{precise}");
    expect_error("div_rn(x.to(fp16), 3.0)", "div_rn() needs fp32 or fp64");
    expect_ir("store(p + o, fma(x, 2.0, s))", "fma %x");
    expect_ir("store(p + o, maximum(x, 0, propagate_nan=tl.PropagateNan.ALL))", "nan = \"all\"");
    expect_error("clamp(i, 0, 3)", "clamp() needs floats, not tile<16xi32>");
    expect_ok("static_assert(clamp(x, 0.0, 1.0).dtype == fp32)");
    expect_ok("static_assert(cdiv(7, 2) == 4)");
    expect_ok("static_assert(triton.next_power_of_2(33) == 64 and triton.cdiv(1, 2) == 1)");
    expect_ir("store(h, cdiv(n, 4))", "i32 = div");
    expect_ok("static_assert(max(1, 2.5) == 2.5 and min((3, 2)) == 2 and abs(-3) == 3)");
    expect_ok("static_assert(float('inf') > 1 and int(2.9) == 2 and len((1, 2)) == 2)");
    expect_ok("static_assert(tl.math.exp(x).dtype == tl.extra.cuda.libdevice.tanh(x).dtype)");
    expect_error("libdevice.j0(x)", "'libdevice.j0' is not supported yet");
}

static void test_hints_and_checks(void **state) {
    (void)state;
    expect_ir("store(h + multiple_of(o, 24), 0)", "divisibility = [8]");
    expect_error("multiple_of(x, 4)", "hints are for integers and pointers");
    expect_error("max_contiguous(r, 4)", "needs 2 numbers, one per dimension, not 1");
    expect_error("static_assert(n > 0)", "see tl.device_assert");
    expect_error("static_assert(False, 'why')", "static assertion failed: why");
    expect_ir("device_assert(o < n, 'range')", "assert %");
    expect_ir("assume(n > 0)", "assume %");
    expect_ir("debug_barrier()", "barrier");
    expect_ir("print('x', x)", "print %x {text = \" x: \"}");
    expect_error("device_print(x)", "device_print(): 'prefix' must be a string");
}

static void test_poison_is_silent(void **state) {
    (void)state;
    lowered l =
        lower_body("y = undefined + x\n    z = tl.exp(y * 2)[:, None]\n    store(p + o, z)\n"
                   "    if y > 0:\n        store(p, sum(y, 0))");
    const char *first = strstr(l.messages, "error:");
    assert_non_null(first);
    assert_null(strstr(first + 1, "error:"));
    arena_destroy(l.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference_table),
        cmocka_unit_test(test_literals),
        cmocka_unit_test(test_pointers),
        cmocka_unit_test(test_broadcasting),
        cmocka_unit_test(test_other_operators),
        cmocka_unit_test(test_casts),
        cmocka_unit_test(test_where),
        cmocka_unit_test(test_binding),
        cmocka_unit_test(test_creation),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_atomics),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_combine),
        cmocka_unit_test(test_math),
        cmocka_unit_test(test_hints_and_checks),
        cmocka_unit_test(test_poison_is_silent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
