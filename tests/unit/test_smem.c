// Where barriers go: each row is the body of a kernel and, for its loads, stores, atomics,
// reductions and conversions in program order, 'B' if a barrier must stand before it, else '.'. In a
// cluster, 'B' is one of each CTA's threads and 'C' one of all.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "codegen/emit.h"

// #l0: one element per thread. #l1: half of the warps are copies. #l2: like #l0, other warps.
static const char header[] =
    "#l0 = #layout<reg = [], lane = [1, 2, 4, 8, 16], warp = [32, 64], cta = []>\n"
    "#l1 = #layout<reg = [], lane = [1, 2, 4, 8, 16], warp = [32, 0], cta = []>\n"
    "#l2 = #layout<reg = [], lane = [4, 8, 16, 32, 64], warp = [1, 2], cta = []>\n"
    "func @k(%x: *i32, %y: *i32, %c: *const i32, %n: i32, %b: i1) "
    "{num_warps = 4, num_ctas = 1, num_stages = 1} {\n"
    "%i: tile<128xi32, #l0> = arange {start = 0}\n"
    "%i1: tile<128xi32, #l0> = arange {start = 1}\n"
    "%one: tile<128xi32, #l0> = const {value = 1}\n"
    "%half: tile<128xi32, #l0> = shr %i, %one\n"
    "%xs: tile<128x*i32, #l0> = splat %x\n"
    "%ys: tile<128x*i32, #l0> = splat %y\n"
    "%px: tile<128x*i32, #l0> = addptr %xs, %i\n"
    "%px1: tile<128x*i32, #l0> = addptr %xs, %i1\n"
    "%pxh: tile<128x*i32, #l0> = addptr %xs, %half\n"
    "%py: tile<128x*i32, #l0> = addptr %ys, %i\n"
    "%j: tile<64xi32, #l1> = arange {start = 0}\n"
    "%xj: tile<64x*i32, #l1> = splat %x\n"
    "%pj: tile<64x*i32, #l1> = addptr %xj, %j\n"
    "%s0: i32 = const {value = 0}\n"
    "%s1: i32 = const {value = 1}\n";

#define REDUCE(r, v)                                                                               \
    "%" r ": i32 = reduce %" v " {axis = 0} (%" r "a: i32, %" r "b: i32) {\n"                      \
    "%" r "s: i32 = add %" r "a, %" r "b\nyield %" r "s\n}\n"

/// Pointers to 128 elements of %x from `start` on.
#define PIECE(p, start)                                                                            \
    "%" p "i: tile<128xi32, #l0> = arange {start = " start "}\n"                                   \
    "%" p ": tile<128x*i32, #l0> = addptr %xs, %" p "i\n"

typedef struct row {
    const char *what, *body, *barriers;
} row;

static const row rows[] = {
    {"in place, each thread its own", "%v: tile<128xi32, #l0> = load %px\nstore %px, %v\n", ".."},
    {"from one argument to another", "%v: tile<128xi32, #l0> = load %px\nstore %py, %v\n", ".."},
    {"a scalar that may be overwritten", "%v: i32 = load %x\nstore %px, %i\n", ".B"},
    {"also through another argument", "%v: i32 = load %x\nstore %py, %i\n", ".B"},
    {"but not if it is const", "%v: i32 = load %c\nstore %py, %i\n", ".."},
    {"neighbours", "store %px, %i\n%v: tile<128xi32, #l0> = load %px1\n", ".B"},
    {"neighbours, the other way", "%v: tile<128xi32, #l0> = load %px1\nstore %px, %v\n", ".B"},
    {"two reads", "%v: i32 = load %x\n%w: tile<128xi32, #l0> = load %px\n", ".."},
    {"several threads on one address", "%v: tile<128xi32, #l0> = load %pxh\nstore %pxh, %v\n",
     ".B"},
    {"copies", "%v: tile<64xi32, #l1> = load %pj\nstore %pj, %v\n", ".B"},
    {"scalar in place", "%v: i32 = load %x\nstore %x, %v\n", ".B"},
    {"the user's barrier", "%v: i32 = load %x\nbarrier\nstore %px, %i\n", ".."},
    {"a barrier serves all before it",
     "%v: i32 = load %x\nstore %px, %i\n%w: tile<128xi32, #l0> = load %px\n", ".B."},
    {"pieces of one row",
     PIECE("p", "128") PIECE("q", "256") "store %p, %i\nstore %q, %i\nstore %px, %i\n", "..."},
    {"pieces that overlap", PIECE("p", "1") "store %px, %i\nstore %p, %i\n", ".B"},
    {"a piece in a later iteration",
     "for %s0, %n, %s1 (%k: i32) {\n%ks: *i32 = addptr %x, %k\n"
     "%kt: tile<128x*i32, #l0> = splat %ks\n%kp: tile<128x*i32, #l0> = addptr %kt, %i\n"
     "store %kp, %i\nyield\n}\n",
     "B"},
    {"in a loop, pointer from outside",
     "for %s0, %n, %s1 (%k: i32) {\n%v: tile<128xi32, #l0> = load %px\nstore %px, %v\nyield\n}\n",
     ".."},
    {"in a loop, a new pointer each time",
     "for %s0, %n, %s1 (%k: i32) {\n%ks: tile<128xi32, #l0> = splat %k\n"
     "%p: tile<128x*i32, #l0> = addptr %px, %ks\n"
     "%v: tile<128xi32, #l0> = load %p\nstore %p, %v\nyield\n}\n",
     "B."},
    {"in a loop, between arguments",
     "for %s0, %n, %s1 (%k: i32) {\n%ks: tile<128xi32, #l0> = splat %k\n"
     "%p: tile<128x*i32, #l0> = addptr %px, %ks\n"
     "%v: tile<128xi32, #l0> = load %p\nstore %py, %v\nyield\n}\n",
     ".."},
    {"reading back through another argument",
     "store %px, %i\n%v: tile<128xi32, #l0> = load %py\nstore %px, %v\n", ".B."},
    {"after a loop, through another argument",
     "for %s0, %n, %s1 (%k: i32) {\nstore %px, %i\nyield\n}\n"
     "%v: tile<128xi32, #l0> = load %py\n",
     ".B"},
    {"in an inner loop, through another argument",
     "for %s0, %n, %s1 (%k: i32) {\nstore %px, %i\nfor %s0, %n, %s1 (%l: i32) {\n"
     "%v: tile<128xi32, #l0> = load %py\nyield\n}\nyield\n}\n",
     ".B"},
    {"after a loop that may not run",
     "store %px, %i\nfor %s0, %n, %s1 (%k: i32) {\nbarrier\nyield\n}\n%v: i32 = load %x\n", ".B"},
    {"after one branch of two",
     "if %b {\nstore %px, %i\nyield\n} else {\nyield\n}\n%v: i32 = load %x\n", ".B"},
    {"in a branch", "%v: i32 = load %x\nif %b {\nstore %px, %i\nyield\n} else {\nyield\n}\n", ".B"},
    {"a condition that reads what the body writes",
     "while {\n%v: i32 = load %x\n%t: i1 = cmp %v, %n {pred = \"lt\"}\ncondition %t\n} do {\n"
     "store %x, %n\nyield\n}\n",
     "BB"},
    {"reductions take turns", REDUCE("r", "i") REDUCE("s", "i") REDUCE("t", "i"), "..."},
    {"one reduction in a loop", "for %s0, %n, %s1 (%k: i32) {\n" REDUCE("r", "i") "yield\n}\n",
     "B"},
    {"two reductions in a loop",
     "for %s0, %n, %s1 (%k: i32) {\n" REDUCE("r", "i") REDUCE("s", "i") "yield\n}\n", ".."},
    {"a conversion waits inside",
     "%v: i32 = load %x\n%w: tile<128xi32, #l2> = convert_layout %i\nstore %px, %i\n", "..."},
    {"relaxed atomics on one place",
     "%v: i32 = atomic_rmw %x, %n {kind = \"add\", sem = \"relaxed\"}\n"
     "%w: i32 = atomic_rmw %x, %n {kind = \"add\", sem = \"relaxed\"}\n",
     ".B"},
    {"an atomic publishes what was stored",
     "store %px, %i\n%w: tile<128xi32, #l0> = atomic_rmw %py, %i {kind = \"add\"}\n", ".B"},
    {"a relaxed one does not",
     "store %px, %i\n%w: tile<128xi32, #l0> = atomic_rmw %py, %i {kind = \"add\", sem = "
     "\"relaxed\"}\n",
     ".."},
};

// The same in a cluster of two: #l0 has half of the tile in each CTA, #l1 other warps of the same
// CTA, #l2 other CTAs.
static const char cluster_header[] =
    "#l0 = #layout<reg = [], lane = [1, 2, 4, 8, 16], warp = [32], cta = [64]>\n"
    "#l1 = #layout<reg = [], lane = [2, 4, 8, 16, 32], warp = [1], cta = [64]>\n"
    "#l2 = #layout<reg = [], lane = [4, 8, 16, 32, 64], warp = [1], cta = [2]>\n"
    "func @k(%x: *i32, %n: i32) {num_warps = 2, num_ctas = 2, num_stages = 1} {\n"
    "%i: tile<128xi32, #l0> = arange {start = 0}\n"
    "%xs: tile<128x*i32, #l0> = splat %x\n"
    "%px: tile<128x*i32, #l0> = addptr %xs, %i\n"
    "%s0: i32 = const {value = 0}\n"
    "%s1: i32 = const {value = 1}\n";

#define CONVERT(r, v, to) "%" r ": tile<128xi32, #" to "> = convert_layout %" v "\n"

// After the op's letters: 's' if CTAs wait for each other at the start, 'e' at the end.
static const row cluster_rows[] = {
    {"a reduction", REDUCE("r", "i"), ".s"},
    {"reductions take turns", REDUCE("r", "i") REDUCE("s", "i") REDUCE("t", "i"), "...s"},
    {"one reduction in a loop", "for %s0, %n, %s1 (%k: i32) {\n" REDUCE("r", "i") "yield\n}\n",
     "C"},
    {"within the CTA", CONVERT("a", "i", "l1") CONVERT("b", "a", "l0") CONVERT("c", "b", "l1"),
     "..."},
    {"across", CONVERT("a", "i", "l2"), ".e"},
    {"across, after a barrier", CONVERT("a", "i", "l2") "barrier\n", "."},
    {"scratch that others may still read",
     CONVERT("a", "i", "l2") CONVERT("b", "i", "l1") CONVERT("c", "i", "l1"), "..C"},
    {"scratch that others write, still being read here",
     REDUCE("r", "i") CONVERT("b", "i", "l1") CONVERT("c", "i", "l1") REDUCE("t", "i"), "...Cs"},
    {"a scalar that another CTA may overwrite", "%v: i32 = load %x\nstore %px, %i\n", ".C"},
    {"started, by the barrier of a conversion", CONVERT("a", "i", "l2") REDUCE("r", "i"), ".."},
    {"a reduction meets all", REDUCE("r", "i") CONVERT("a", "i", "l2") REDUCE("t", "i"), "...s"},
};

// The same where reductions may be exchanges ('x' for one). Not those in loops; and they order nothing.
static const row exchange_rows[] = {
    {"a reduction", REDUCE("r", "i"), "xs"},
    {"reductions", REDUCE("r", "i") REDUCE("s", "i") REDUCE("t", "i"), "xxxs"},
    {"one reduction in a loop", "for %s0, %n, %s1 (%k: i32) {\n" REDUCE("r", "i") "yield\n}\n",
     "C"},
    {"scratch that others write, still being read here",
     REDUCE("r", "i") CONVERT("b", "i", "l1") CONVERT("c", "i", "l1") REDUCE("t", "i"), "x..xs"},
    {"what is written is not seen after an exchange",
     "store %px, %i\n" REDUCE("r", "i") "%v: i32 = load %x\n", ".xCs"},
};

static bool is_listed(const ir_op *op) {
    switch (op->opcode) {
    case OP_LOAD:
    case OP_STORE:
    case OP_ATOMIC_RMW:
    case OP_ATOMIC_CAS:
    case OP_REDUCE:
    case OP_CONVERT_LAYOUT:
        return true;
    default:
        return false;
    }
}

typedef struct listing {
    const smem_plan *plan;
    const char *letters; ///< by smem_barrier
    strbuf text;
} listing;

static void list_op(ir_op *op, void *ctx) {
    listing *l = ctx;
    if (is_listed(op))
        strbuf_putc(&l->text, smem_is_exchange(l->plan, op)
                                  ? 'x'
                                  : l->letters[smem_barrier_before(l->plan, op)]);
}

static ir_func *parse_after(arena *a, const char *start, const char *body) {
    diag *d = diag_create(a);
    sv text = sv_format(a, "%s%sreturn\n}\n", start, body);
    ir_module *m = ir_parse(a, d, diag_add_file(d, "test.tir", text));
    if (m && ir_verify(m->first, NULL))
        return m->first;
    strbuf s;
    strbuf_init(&s, a);
    diag_render_text(d, &s);
    print_error("%s", s.data);
    return NULL;
}

static ir_func *parse(arena *a, const char *body) { return parse_after(a, header, body); }

/// False, with a message, if the barriers are others than the row's.
static bool check_row(const char *start, const char *letters, bool exchanges, const row *r) {
    arena *a = arena_create();
    ir_func *f = parse_after(a, start, r->body);
    assert_non_null(f);
    listing l = {.plan = smem_plan_create(f, axis_analyze(f, a), exchanges, a), .letters = letters};
    strbuf_init(&l.text, a);
    ir_walk(f->body, list_op, &l);
    if (f->num_ctas > 1 && smem_waits_at_start(l.plan))
        strbuf_putc(&l.text, 's');
    if (f->num_ctas > 1 && smem_barrier_at_end(l.plan))
        strbuf_putc(&l.text, 'e');
    bool ok = !strcmp(l.text.data, r->barriers);
    if (!ok)
        print_error("%s: expected %s, got %s\n", r->what, r->barriers, l.text.data);
    arena_destroy(a);
    return ok;
}

static void test_barriers(void **state) {
    (void)state;
    unsigned wrong = 0;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        wrong += !check_row(header, ".BB", false, &rows[i]);
    for (unsigned i = 0; i < sizeof(cluster_rows) / sizeof(cluster_rows[0]); i++)
        wrong += !check_row(cluster_header, ".BC", false, &cluster_rows[i]);
    for (unsigned i = 0; i < sizeof(exchange_rows) / sizeof(exchange_rows[0]); i++)
        wrong += !check_row(cluster_header, ".BC", true, &exchange_rows[i]);
    assert_int_equal(wrong, 0);
}

/// Scratch of different ops may overlap in memory, but not in time; its size is that of the largest.
static void test_sizes(void **state) {
    (void)state;
    arena *a = arena_create();
    ir_func *f = parse(a, REDUCE("r", "i") REDUCE("s", "i") REDUCE("t", "i"));
    const smem_plan *p = smem_plan_create(f, axis_analyze(f, a), false, a);
    assert_int_equal(smem_total_bytes(p), 2 * 16); // two places of four i32
    f = parse(a, "%w: tile<128xi32, #l2> = convert_layout %i\n");
    p = smem_plan_create(f, axis_analyze(f, a), false, a);
    assert_int_equal(smem_total_bytes(p), 512);
    f = parse(a, "%v: tile<128xi32, #l0> = load %px\nstore %py, %v\n");
    p = smem_plan_create(f, axis_analyze(f, a), false, a);
    assert_int_equal(smem_total_bytes(p), 0);
    arena_destroy(a);
}

/// That of exchanges is for nothing else: 16 bytes of gate, partials of four warps, for each.
static void test_exchange_sizes(void **state) {
    (void)state;
    arena *a = arena_create();
    ir_func *f = parse_after(a, cluster_header, REDUCE("r", "i") REDUCE("s", "i"));
    const smem_plan *p = smem_plan_create(f, axis_analyze(f, a), true, a);
    assert_int_equal(smem_total_bytes(p), 2 * (16 + 16));
    assert_int_equal(smem_offset(p, smem_exchange(p, 1)), 32);
    assert_null(smem_exchange(p, 2));
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_barriers),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_exchange_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
