// Axis info, one fact at a time: each row of the table is the body of a kernel whose value %r is
// described. Divisibility of zero prints as "any".
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "ir/axis_info.h"

static int setup(void **state) {
    *state = arena_create();
    return *state == NULL;
}

static int teardown(void **state) {
    arena_destroy(*state);
    return 0;
}

static const char header[] =
    "func @k(%p: *fp32 {div = 16}, %q: *bf16, %n: i32 {div = 16}, %m: i32, %one: i32 {one}, "
    "%u: u32 {div = 8}, %b: i1) {num_warps = 4, num_ctas = 1, num_stages = 1} {\n"
    "%pid: i32 = program_id {axis = 0}\n"
    "%a: tile<64xi32> = arange {start = 0}\n"
    "%c0: i32 = const {value = 0}\n"
    "%c1: i32 = const {value = 1}\n"
    "%c16: i32 = const {value = 16}\n"
    "%c64: i32 = const {value = 64}\n"
    "%t16: tile<64xi32> = const {value = 16}\n"
    "%ns: tile<64xi32> = splat %n\n"
    "%ms: tile<64xi32> = splat %m\n"
    "%base: i32 = mul %pid, %c64\n"
    "%bases: tile<64xi32> = splat %base\n"
    "%offs: tile<64xi32> = add %bases, %a\n"
    "%ps: tile<64x*fp32> = splat %p\n"
    "%qs: tile<64x*bf16> = splat %q\n";

static ir_func *parse(arena *a, const char *body) {
    diag *d = diag_create(a);
    sv text = sv_format(a, "%s%s\nreturn\n}\n", header, body);
    ir_module *m = ir_parse(a, d, diag_add_file(d, "test.tir", text));
    if (!m || !ir_verify(m->first, NULL)) {
        strbuf s;
        strbuf_init(&s, a);
        diag_render_text(d, &s);
        print_error("%s", s.data);
        return NULL;
    }
    return m->first;
}

typedef struct search {
    sv name;
    ir_value *found;
} search;

static void look_at(ir_op *op, void *ctx) {
    search *s = ctx;
    for (uint32_t i = 0; i < op->num_results; i++)
        if (sv_equal(op->results[i]->name, s->name))
            s->found = op->results[i];
    for (uint32_t r = 0; r < op->num_regions; r++)
        for (uint32_t i = 0; i < op->regions[r]->num_args; i++)
            if (sv_equal(op->regions[r]->args[i]->name, s->name))
                s->found = op->regions[r]->args[i];
}

static ir_value *find(ir_func *f, const char *name) {
    search s = {sv_from(name), NULL};
    ir_walk(f->body, look_at, &s);
    return s.found;
}

static const char *describe(arena *a, const axis_info *x, ir_type t) {
    strbuf s;
    strbuf_init(&s, a);
    unsigned rank = t.rank ? t.rank : 1;
    strbuf_puts(&s, "c");
    for (unsigned d = 0; d < rank; d++)
        strbuf_printf(&s, " %u", x->contiguity[d]);
    strbuf_puts(&s, " d");
    for (unsigned d = 0; d < rank; d++) {
        if (x->divisibility[d] == UINT64_C(1) << 62)
            strbuf_puts(&s, " any");
        else
            strbuf_printf(&s, " %llu", (unsigned long long)x->divisibility[d]);
    }
    strbuf_puts(&s, " k");
    for (unsigned d = 0; d < rank; d++)
        strbuf_printf(&s, " %u", x->constancy[d]);
    if (x->is_const)
        strbuf_printf(&s, " = %lld", (long long)x->value);
    return s.data;
}

static const struct {
    const char *body, *want;
} cases[] = {
    // seeds
    {"%r: tile<8xi32> = arange {start = 4}", "c 8 d 4 k 1"},
    {"%r: tile<8xi32> = arange {start = 0}", "c 8 d any k 1"},
    {"%r: tile<4x8xi32> = const {value = 12}", "c 1 1 d 4 4 k 4 8 = 12"},
    {"%r: tile<4xi32> = splat %n", "c 1 d 16 k 4"},
    {"%r: tile<4xi32> = splat %one", "c 1 d 1 k 4 = 1"},
    {"%r: tile<64x*fp32> = splat %p", "c 1 d 16 k 64"},
    {"%r: tile<64xfp32> = const {value = 1.5}", "c 1 d 1 k 64"},
    // sums
    {"%r: tile<64xi32> = add %offs, %ns", "c 64 d 16 k 1"},
    {"%r: tile<64xi32> = add %ms, %offs", "c 64 d 1 k 1"},
    {"%r: tile<64xi32> = add %a, %a", "c 1 d 1 k 1"},
    {"%r: tile<64xi32> = sub %offs, %t16", "c 64 d 16 k 1"},
    {"%r: tile<64xi32> = sub %t16, %offs", "c 1 d 1 k 1"},
    {"%r: i32 = add %c16, %c64", "c 1 d 16 k 1 = 80"},
    // products and quotients
    {"%r: tile<64xi32> = mul %offs, %ns", "c 1 d 16 k 1"},
    {"%o: tile<64xi32> = splat %one\n%r: tile<64xi32> = mul %offs, %o", "c 64 d 64 k 1"},
    {"%r: i32 = mul %n, %c16", "c 1 d 256 k 1"},
    {"%r: tile<64xi32> = div %offs, %t16", "c 1 d 1 k 16"},
    {"%r: tile<64xi32> = rem %offs, %t16", "c 16 d 16 k 1"},
    {"%r: tile<64xi32> = rem %offs, %ns", "c 16 d 16 k 1"},
    {"%r: tile<64xi32> = div %offs, %ns", "c 1 d 1 k 16"},
    {"%r: tile<64xi32> = rem %offs, %ms", "c 1 d 1 k 1"},
    // ... which truncate toward zero: runs that may be negative break
    {"%o: tile<64xi32> = sub %offs, %t16\n%r: tile<64xi32> = rem %o, %t16", "c 1 d 1 k 1"},
    {"%o: tile<64xi32> = sub %offs, %t16\n%r: tile<64xi32> = div %o, %t16", "c 1 d 1 k 1"},
    {"%r: i32 = div %n, %c16", "c 1 d 1 k 1"},
    {"%o: i32 = mul %n, %c64\n%r: i32 = div %o, %c16", "c 1 d 64 k 1"},
    {"%o: tile<64xi32> = add %offs, %ms\n%r: tile<64xi32> = rem %o, %t16", "c 1 d 1 k 1"},
    // bits
    {"%k: tile<64xi32> = const {value = 7}\n%r: tile<64xi32> = and %offs, %k", "c 8 d 8 k 1"},
    {"%k: tile<64xi32> = const {value = -8}\n%r: tile<64xi32> = and %offs, %k", "c 1 d 8 k 8"},
    {"%k: tile<64xi32> = const {value = 3}\n%r: tile<64xi32> = shr %offs, %k", "c 1 d 1 k 8"},
    {"%k: tile<64xi32> = const {value = 3}\n%r: tile<64xi32> = shl %ns, %k", "c 1 d 128 k 64"},
    {"%k: tile<64xi32> = const {value = 40}\n%r: tile<64xi32> = shl %ns, %k", "c 1 d 16 k 64"},
    {"%r: tile<64xi32> = or %ns, %t16", "c 1 d 16 k 64"},
    {"%r: tile<64xi32> = min %offs, %ns", "c 1 d 1 k 1"},
    {"%r: tile<64xi32> = min %t16, %ns", "c 1 d 16 k 64"},
    // comparisons
    {"%r: tile<64xi1> = cmp %offs, %ns {pred = \"lt\"}", "c 1 d 1 k 16"},
    {"%r: tile<64xi1> = cmp %offs, %ns {pred = \"ge\"}", "c 1 d 1 k 16"},
    {"%r: tile<64xi1> = cmp %offs, %ns {pred = \"le\"}", "c 1 d 1 k 1"},
    {"%r: tile<64xi1> = cmp %offs, %ms {pred = \"lt\"}", "c 1 d 1 k 1"},
    {"%r: tile<64xi1> = cmp %ns, %offs {pred = \"gt\"}", "c 1 d 1 k 16"},
    {"%r: tile<64xi1> = cmp %ns, %offs {pred = \"lt\"}", "c 1 d 1 k 1"},
    {"%k: tile<64xi32> = const {value = 15}\n%r: tile<64xi1> = cmp %offs, %k {pred = \"le\"}",
     "c 1 d 1 k 16"},
    {"%r: tile<64xi1> = cmp %ns, %ms {pred = \"lt\"}", "c 1 d 1 k 64"},
    {"%x: tile<64xi1> = cmp %offs, %ns {pred = \"lt\"}\n%y: tile<64xi1> = splat %b\n"
     "%r: tile<64xi1> = and %x, %y",
     "c 1 d 1 k 16"},
    // an unaligned run may cross the threshold anywhere
    {"%o: tile<64xi32> = add %offs, %ms\n%r: tile<64xi1> = cmp %o, %ns {pred = \"lt\"}",
     "c 1 d 1 k 1"},
    // casts
    {"%r: tile<64xi64> = cast %offs", "c 64 d 64 k 1"},
    {"%w: tile<1024xi32> = arange {start = 0}\n%r: tile<1024xi8> = cast %w", "c 128 d 128 k 1"},
    {"%r: tile<64xfp32> = cast %offs", "c 1 d 1 k 1"},
    {"%r: tile<64xi1> = cast %ns", "c 1 d 1 k 64"},
    {"%r: tile<64xi64> = cast %ps", "c 1 d 16 k 64"},
    // pointers: divisibility in bytes, runs in elements
    {"%r: tile<64x*fp32> = addptr %ps, %offs", "c 64 d 16 k 1"},
    {"%r: tile<64x*bf16> = addptr %qs, %offs", "c 64 d 1 k 1"},
    {"%o: tile<64xi32> = add %offs, %ms\n%r: tile<64x*fp32> = addptr %ps, %o", "c 64 d 4 k 1"},
    {"%e: *fp32 = addptr %p, %u\n%r: tile<64x*fp32> = splat %e", "c 1 d 16 k 64"},
    {"%o: tile<64xi32> = mul %offs, %ms\n%r: tile<64x*fp32> = addptr %ps, %o", "c 1 d 4 k 1"},
    {"%o: tile<64x*fp32> = addptr %ps, %offs\n%r: tile<64x*fp32> = addptr %o, %ns",
     "c 64 d 16 k 1"},
    // shape
    {"%r: tile<64x1xi32> = reshape %offs", "c 64 1 d 64 1 k 1 1"},
    {"%r: tile<1x64xi32> = reshape %offs", "c 1 64 d 1 64 k 1 1"},
    {"%r: tile<4x16xi32> = reshape %offs", "c 1 16 d 1 16 k 1 1"},
    {"%x: tile<4x16xi32> = reshape %offs\n%r: tile<64xi32> = reshape %x", "c 16 d 16 k 1"},
    {"%r: tile<4x16xi32> = reshape %ns", "c 1 1 d 16 16 k 4 16"},
    {"%x: tile<1x64xi32> = reshape %a\n%r: tile<4x64xi32> = broadcast %x", "c 1 64 d 1 any k 4 1"},
    {"%x: tile<4x16xi32> = reshape %offs\n%r: tile<16x4xi32> = permute %x {order = [1, 0]}",
     "c 16 1 d 16 1 k 1 1"},
    {"%x: tile<2x4x8xi32> = reshape %offs\n%r: tile<8x8xi32> = reshape %x", "c 1 8 d 1 8 k 1 1"},
    // rows[:, None] * n + cols[None, :]
    {"%x: tile<64x1xi32> = reshape %a\n%s: tile<64x1xi32> = splat %n\n"
     "%t: tile<64x1xi32> = mul %x, %s\n%v: tile<64x64xi32> = broadcast %t\n"
     "%y: tile<1x64xi32> = reshape %a\n%z: tile<64x64xi32> = broadcast %y\n"
     "%r: tile<64x64xi32> = add %v, %z",
     "c 1 64 d 1 16 k 1 1"},
    // the author's word
    {"%r: tile<64xi32> = hint %ms {divisibility = [16], contiguity = [8]}", "c 8 d 16 k 64"},
    {"%r: i32 = hint %m {divisibility = [24]}", "c 1 d 8 k 1"},
    {"%r: tile<64xi32> = hint %offs {contiguity = [1024]}", "c 64 d 64 k 1"},
    // selection
    {"%x: tile<64xi1> = cmp %offs, %ns {pred = \"lt\"}\n%r: tile<64xi32> = select %x, %offs, %a",
     "c 16 d 16 k 1"},
    {"%r: i32 = select %b, %n, %c64", "c 1 d 16 k 1"},
    // control flow
    {"%q1: i32 = for %c0, %n, %c64, %n (%r: i32, %x: i32) {\nyield %x\n}", "c 1 d 64 k 1"},
    {"%q1: i32 = for %c0, %n, %c1, %c64 (%i: i32, %r: i32) {\n%y: i32 = add %r, %n\nyield %y\n}",
     "c 1 d 16 k 1"},
    {"%q1: i32 = for %c0, %n, %c1, %c64 (%i: i32, %r: i32) {\nyield %r\n}", "c 1 d 64 k 1 = 64"},
    {"%r: tile<64xi32> = for %c0, %n, %c1, %offs (%i: i32, %x: tile<64xi32>) {\n"
     "%y: tile<64xi32> = add %x, %t16\nyield %y\n}",
     "c 64 d 16 k 1"},
    {"%r: tile<64x*fp32> = for %c0, %n, %c1, %ps (%i: i32, %x: tile<64x*fp32>) {\n"
     "%y: tile<64x*fp32> = addptr %x, %t16\nyield %y\n}",
     "c 1 d 16 k 64"},
    {"%r: i32 = if %b {\nyield %n\n} else {\nyield %c64\n}", "c 1 d 16 k 1"},
    {"%r: i32 = while %c64 (%x: i32) {\n%k: i1 = cmp %x, %n {pred = \"lt\"}\n"
     "condition %k, %x\n} do (%z: i32) {\n%y: i32 = add %z, %c16\nyield %y\n}",
     "c 1 d 16 k 1"},
    // a value that a loop weakens a little each time is given up
    {"%z: i32 = mul %n, %c64\n%q1: i32 = for %c0, %n, %c1, %z (%i: i32, %r: i32) {\n"
     "%t: i32 = const {value = 2}\n%y: i32 = div %r, %t\nyield %y\n}",
     "c 1 d 1 k 1"},
    // memory is unknown
    {"%x: tile<64x*bf16> = addptr %qs, %offs\n%r: tile<64xbf16> = load %x", "c 1 d 1 k 1"},
};

static void test_facts(void **state) {
    unsigned wrong = 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ir_func *f = parse(*state, cases[i].body);
        assert_non_null(f);
        axis_analysis *an = axis_analyze(f, *state);
        const ir_value *v = find(f, "r");
        const char *got = describe(*state, axis_get(an, v), v->type);
        if (!sv_is(sv_from(got), cases[i].want)) {
            print_error("%s\n  wanted %s\n  got    %s\n", cases[i].body, cases[i].want, got);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

static const struct {
    const char *body;
    int root;
} roots[] = {
    {"%r: tile<64x*fp32> = addptr %ps, %offs", 0},
    {"%x: tile<64x*bf16> = addptr %qs, %offs\n%r: tile<1x64x*bf16> = reshape %x", 1},
    {"%x: *fp32 = addptr %p, %n\n%r: *fp32 = select %b, %x, %p", 0},
    {"%x: *fp32 = bitcast %q\n%r: *fp32 = select %b, %x, %p", -1},
    {"%x: i64 = cast %p\n%r: *fp32 = cast %x", -1},
    {"%r: *fp32 = if %b {\nyield %p\n} else {\n%x: *fp32 = addptr %p, %n\nyield %x\n}", 0},
    {"%z: *fp32 = bitcast %q\n%r: *fp32 = for %c0, %n, %c1, %p (%i: i32, %x: *fp32) {\nyield %z\n}",
     -1},
    {"%r: *fp32 = for %c0, %n, %c1, %p (%i: i32, %x: *fp32) {\n%y: *fp32 = addptr %x, %n\n"
     "yield %y\n}",
     0},
};

static void test_pointer_roots(void **state) {
    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
        ir_func *f = parse(*state, roots[i].body);
        assert_non_null(f);
        axis_analysis *an = axis_analyze(f, *state);
        assert_int_equal(axis_pointer_root(an, find(f, "r")), roots[i].root);
    }
}

/// 100 times the width where a test per vector will do, plus the width that needs none.
static uint32_t widths_of(arena *a, const char *body) {
    ir_func *f = parse(a, body);
    assert_non_null(f);
    axis_analysis *an = axis_analyze(f, a);
    const ir_op *op = f->body->last->prev;
    assert_true(axis_access_width(an, op, 0) >= axis_whole_width(an, op, 0));
    return 100 * axis_access_width(an, op, 0) + axis_whole_width(an, op, 0);
}

static void test_access_widths(void **state) {
    static const char ptr[] = "%x: tile<64x*fp32> = addptr %ps, %offs\n";
    sv whole = sv_format(*state, "%s%%r: tile<64xfp32> = load %%x", ptr);
    assert_int_equal(widths_of(*state, whole.data), 404);
    sv masked = sv_format(*state,
                          "%s%%k: tile<64xi1> = cmp %%offs, %%ns {pred = \"lt\"}\n"
                          "%%r: tile<64xfp32> = load %%x, %%k",
                          ptr);
    assert_int_equal(widths_of(*state, masked.data), 404);
    sv ragged = sv_format(*state,
                          "%s%%k: tile<64xi1> = cmp %%offs, %%ms {pred = \"lt\"}\n"
                          "%%r: tile<64xfp32> = load %%x, %%k",
                          ptr);
    assert_int_equal(widths_of(*state, ragged.data), 401);
    assert_int_equal(widths_of(*state, "%x: tile<64x*bf16> = addptr %qs, %offs\n"
                                       "%r: tile<64xbf16> = load %x"),
                     101);
    assert_int_equal(widths_of(*state, "%x: tile<64x*bf16> = addptr %qs, %offs\n"
                                       "%r: tile<64xbf16> = load %x {realigned}"),
                     801);
    sv both = sv_format(*state,
                        "%s%%k: tile<64xi1> = cmp %%offs, %%ms {pred = \"lt\"}\n"
                        "%%l: tile<64xi1> = cmp %%ms, %%offs {pred = \"le\"}\n"
                        "%%kl: tile<64xi1> = and %%k, %%l\n"
                        "%%r: tile<64xfp32> = load %%x, %%kl",
                        ptr);
    assert_int_equal(widths_of(*state, both.data), 401);
    sv either = sv_format(*state,
                          "%s%%k: tile<64xi1> = cmp %%offs, %%ms {pred = \"lt\"}\n"
                          "%%l: tile<64xi1> = cmp %%offs, %%ns {pred = \"ge\"}\n"
                          "%%kl: tile<64xi1> = or %%k, %%l\n"
                          "%%r: tile<64xfp32> = load %%x, %%kl",
                          ptr);
    assert_int_equal(widths_of(*state, either.data), 101);
    sv always = sv_format(*state,
                          "%s%%k: tile<64xi1> = cmp %%offs, %%ms {pred = \"lt\"}\n"
                          "%%r: tile<64xfp32> = load %%x, %%k {volatile}",
                          ptr);
    assert_int_equal(widths_of(*state, always.data), 101);
    sv atomic = sv_format(*state,
                          "%s%%v: tile<64xfp32> = const {value = 1.0}\n"
                          "%%r: tile<64xfp32> = atomic_rmw %%x, %%v {kind = \"fadd\"}",
                          ptr);
    assert_int_equal(widths_of(*state, atomic.data), 101);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_facts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pointer_roots, setup, teardown),
        cmocka_unit_test_setup_teardown(test_access_widths, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
