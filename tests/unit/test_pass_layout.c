// The layout pass: which layouts it chooses for kernels of the kinds people write, how many
// conversions it needs, and, on random functions, that its result always verifies.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ir/passes.h"

static int setup(void **state) {
    *state = arena_create();
    return *state == NULL;
}

static int teardown(void **state) {
    arena_destroy(*state);
    return 0;
}

static const char *rendered(arena *a, const diag *d) {
    strbuf s;
    strbuf_init(&s, a);
    diag_render_text(d, &s);
    return s.data ? s.data : "";
}

/// Parses a function with this body, runs the pass, verifies. The parameters are always the same.
static ir_func *run(arena *a, unsigned num_warps, const char *body) {
    diag *d = diag_create(a);
    sv text =
        sv_format(a,
                  "func @k(%%x: *fp32 {div = 16}, %%y: *fp32 {div = 16}, %%h: *bf16 {div = 16}, "
                  "%%s: i32 {div = 16}, %%n: i32 {div = 16}, %%m: i32) "
                  "{num_warps = %u, num_ctas = 1, num_stages = 1} {\n%s\nreturn\n}\n",
                  num_warps, body);
    ir_module *m = ir_parse(a, d, diag_add_file(d, "test.tir", text));
    if (!m || !ir_verify(m->first, "input") || !pass_layout(m->first) ||
        !ir_verify(m->first, "layout")) {
        print_error("%s", rendered(a, d));
        if (m) {
            strbuf s;
            strbuf_init(&s, a);
            ir_print_func(m->first, &s, false);
            print_error("%s", s.data);
        }
        fail();
    }
    return m->first;
}

typedef struct search {
    const char *name;
    ir_value *found;
    unsigned converts;
} search;

static void look_at(ir_op *op, void *ctx) {
    search *s = ctx;
    s->converts += op->opcode == OP_CONVERT_LAYOUT;
    for (uint32_t i = 0; i < op->num_results && !s->found && s->name; i++)
        if (sv_is(op->results[i]->name, s->name))
            s->found = op->results[i];
}

static unsigned converts(ir_func *f) {
    search s = {NULL, NULL, 0};
    ir_walk(f->body, look_at, &s);
    return s.converts;
}

static const layout *layout_of(ir_func *f, const char *name) {
    search s = {name, NULL, 0};
    ir_walk(f->body, look_at, &s);
    assert_non_null(s.found);
    return s.found->layout;
}

static void expect(arena *a, ir_func *f, const char *name, const char *want) {
    strbuf s;
    strbuf_init(&s, a);
    layout_print(layout_of(f, name), &s);
    sv full = sv_format(a, "#layout<%s, cta = []>", want);
    assert_string_equal(s.data, full.data);
}

#define SUM(name, x, axis)                                                                         \
    name " = reduce " x " {axis = " axis "} (%a: fp32, %b: fp32) {\n%c: fp32 = add %a, %b\n"       \
         "yield %c\n}\n"

// %p: row pointers of a [M, N] tile of %x with stride %s, made in the way of x[:, None] + y[None, :].
// clang-format off
#define POINTERS(ptr, base, M, N)                                                            \
    "%rows" ptr ": tile<" M "xi32> = arange {start = 0}\n"                                         \
    "%cols" ptr ": tile<" N "xi32> = arange {start = 0}\n"                                         \
    "%r1" ptr ": tile<" M "x1xi32> = reshape %rows" ptr "\n"                                       \
    "%st" ptr ": tile<" M "x1xi32> = splat %s\n"                                                   \
    "%r2" ptr ": tile<" M "x1xi32> = mul %r1" ptr ", %st" ptr "\n"                                 \
    "%r3" ptr ": tile<" M "x" N "xi32> = broadcast %r2" ptr "\n"                                   \
    "%c1" ptr ": tile<1x" N "xi32> = reshape %cols" ptr "\n"                                       \
    "%c2" ptr ": tile<" M "x" N "xi32> = broadcast %c1" ptr "\n"                                   \
    "%o" ptr ": tile<" M "x" N "xi32> = add %r3" ptr ", %c2" ptr "\n"                              \
    "%b" ptr ": tile<" M "x" N "x*fp32> = splat %" base "\n"                                       \
    "%" ptr ": tile<" M "x" N "x*fp32> = addptr %b" ptr ", %o" ptr "\n"

#define LINE(ptr, base, elem, N)                                                                   \
    "%i" ptr ": tile<" N "xi32> = arange {start = 0}\n"                                            \
    "%b" ptr ": tile<" N "x*" elem "> = splat %" base "\n"                                         \
    "%" ptr ": tile<" N "x*" elem "> = addptr %b" ptr ", %i" ptr "\n"

// A softmax over one row; `limit` is the row's length.
#define SOFTMAX(limit)                                                                             \
    LINE("p", "x", "fp32", "1024")                                                                 \
    LINE("q", "y", "fp32", "1024")                                                                 \
    "%ns: tile<1024xi32> = splat " limit "\n"                                                      \
    "%mask: tile<1024xi1> = cmp %ip, %ns {pred = \"lt\"}\n"                                        \
    "%v: tile<1024xfp32> = load %p, %mask\n" SUM("%t: fp32", "%v", "0")                            \
    "%ts: tile<1024xfp32> = splat %t\n"                                                            \
    "%r: tile<1024xfp32> = div %v, %ts\n"                                                          \
    "store %q, %r, %mask\n"

static void test_softmax_row(void **state) {
    ir_func *f = run(*state, 4, SOFTMAX("%n"));
    assert_int_equal(converts(f), 0);
    expect(*state, f, "v", "reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256]");
    assert_true(f->params[0].divisibility > 1 && f->params[1].divisibility > 1 && f->params[4].divisibility > 1);
    assert_false(f->params[2].divisibility > 1 || f->params[3].divisibility > 1);
}

static void test_ragged_row(void **state) {
    // A mask that may turn anywhere is tested per vector.
    ir_func *f = run(*state, 4, SOFTMAX("%m"));
    assert_int_equal(converts(f), 0);
    expect(*state, f, "v", "reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256]");
    assert_int_equal(f->params[0].divisibility, 16);
}

static void test_narrow_types_take_more(void **state) {
    ir_func *f = run(*state, 2, LINE("p", "h", "bf16", "1024") "%v: tile<1024xbf16> = load %p\n"
                                                               "store %p, %v");
    expect(*state, f, "v", "reg = [1, 2, 4, 512], lane = [8, 16, 32, 64, 128], warp = [256]");
    // Beside a wider type, the wider one decides.
    f = run(*state, 2, LINE("p", "h", "bf16", "1024") LINE("q", "x", "fp32", "1024")
                           "%v: tile<1024xbf16> = load %p\n"
                           "%w: tile<1024xfp32> = cast %v\n"
                           "store %q, %w");
    assert_int_equal(converts(f), 0);
    expect(*state, f, "v", "reg = [1, 2, 256, 512], lane = [4, 8, 16, 32, 64], warp = [128]");
}

static void test_small_tiles_have_copies(void **state) {
    ir_func *f = run(*state, 4, LINE("p", "x", "fp32", "16") "%v: tile<16xfp32> = load %p\n"
                                                             "store %p, %v");
    expect(*state, f, "v", "reg = [], lane = [1, 2, 4, 8, 0], warp = [0, 0]");
}

static void test_rows_stay_in_their_warps(void **state) {
    static const char body[] = POINTERS("p", "x", "4", "1024")
        "%v: tile<4x1024xfp32> = load %p\n" SUM("%t: tile<4xfp32>", "%v", "1")
        "%t1: tile<4x1xfp32> = reshape %t\n"
        "%t2: tile<4x1024xfp32> = broadcast %t1\n"
        "%d: tile<4x1024xfp32> = sub %v, %t2\n"
        "store %p, %d\n";
    ir_func *f = run(*state, 4, body);
    assert_int_equal(converts(f), 0);
    expect(*state, f, "v",
           "reg = [1, 2, 128, 256, 512], lane = [4, 8, 16, 32, 64], warp = [1024, 2048]");
    expect(*state, f, "t", "reg = [], lane = [0, 0, 0, 0, 0], warp = [1, 2]");
}

static void test_short_rows(void **state) {
    static const char body[] = POINTERS("p", "x", "128", "8") LINE("q", "y", "fp32", "128")
        "%v: tile<128x8xfp32> = load %p\n" SUM("%t: tile<128xfp32>", "%v", "1")
        "store %q, %t\n";
    ir_func *f = run(*state, 4, body);
    // The result is stored as it lies.
    assert_int_equal(converts(f), 0);
    expect(*state, f, "v", "reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256]");
    expect(*state, f, "t", "reg = [64], lane = [0, 1, 2, 4, 8], warp = [16, 32]");
}

static void test_column_sums(void **state) {
    static const char body[] = POINTERS("p", "x", "64", "1024") LINE("q", "y", "fp32", "1024")
        "%v: tile<64x1024xfp32> = load %p\n" SUM("%t: tile<1024xfp32>", "%v", "0")
        "store %q, %t\n";
    ir_func *f = run(*state, 4, body);
    assert_int_equal(converts(f), 0);
    expect(*state, f, "t", "reg = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256]");
}

static void test_transpose(void **state) {
    static const char body[] = POINTERS("p", "x", "64", "64")
        POINTERS("q", "y", "64", "64")
        "%v: tile<64x64xfp32> = load %p\n"
        "%t: tile<64x64xfp32> = permute %v {order = [1, 0]}\n"
        "store %q, %t\n";
    ir_func *f = run(*state, 4, body);
    assert_int_equal(converts(f), 1);
    assert_ptr_equal(layout_of(f, "t"), f->body->last->prev->operands[0]->layout);
}

static void test_a_sum_lies_as_its_store_wants(void **state) {
    // One operand of the sum was loaded transposed: it alone is converted.
    static const char body[] = POINTERS("p", "x", "64", "64") POINTERS("q", "y", "64", "64")
        "%pt: tile<64x64x*fp32> = permute %p {order = [1, 0]}\n"
        "%v: tile<64x64xfp32> = load %pt\n"
        "%w: tile<64x64xfp32> = load %q\n"
        "%z: tile<64x64xfp32> = add %v, %w\n"
        "store %q, %z\n";
    ir_func *f = run(*state, 4, body);
    assert_int_equal(converts(f), 1);
    assert_ptr_equal(layout_of(f, "z"), layout_of(f, "w"));
    expect(*state, f, "v",
           "reg = [64, 128, 8, 16, 32], lane = [256, 512, 1024, 2048, 1], warp = [2, 4]");
}

static void test_carried_sum_takes_the_loads_layout(void **state) {
    static const char body[] = LINE("p", "x", "fp32", "512")
        "%zero: tile<512xfp32> = const {value = 0.0}\n"
        "%k: i32 = const {value = 512}\n"
        "%lo: i32 = const {value = 0}\n"
        "%acc: tile<512xfp32>, %e: tile<512x*fp32> = for %lo, %n, %k, %zero, %p "
        "(%i: i32, %s1: tile<512xfp32>, %e1: tile<512x*fp32>) {\n"
        "%v: tile<512xfp32> = load %e1\n"
        "%s2: tile<512xfp32> = add %s1, %v\n"
        "%ks: tile<512xi32> = splat %k\n"
        "%e2: tile<512x*fp32> = addptr %e1, %ks\n"
        "yield %s2, %e2\n}\n" SUM("%t: fp32", "%acc", "0") "store %x, %t\n";
    ir_func *f = run(*state, 4, body);
    assert_int_equal(converts(f), 0);
    expect(*state, f, "acc", "reg = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256]");
    assert_ptr_equal(layout_of(f, "zero"), layout_of(f, "acc"));
}

static void test_broadcast_loads_are_made_in_slices(void **state) {
    // x[:, None] + y[None, :]: both lines are loaded as the two-dimensional store wants them.
    static const char body[] = POINTERS("p", "y", "64", "64")
        LINE("q", "x", "fp32", "64") LINE("r", "x", "fp32", "64")
        "%u: tile<64xfp32> = load %q\n"
        "%w: tile<64xfp32> = load %r\n"
        "%u1: tile<64x1xfp32> = reshape %u\n"
        "%u2: tile<64x64xfp32> = broadcast %u1\n"
        "%w1: tile<1x64xfp32> = reshape %w\n"
        "%w2: tile<64x64xfp32> = broadcast %w1\n"
        "%z: tile<64x64xfp32> = add %u2, %w2\n"
        "store %p, %z\n";
    ir_func *f = run(*state, 4, body);
    assert_int_equal(converts(f), 0);
    expect(*state, f, "w", "reg = [1, 2], lane = [4, 8, 16, 32, 0], warp = [0, 0]");
    assert_true(f->params[0].divisibility > 1);
}

static void test_a_line_that_is_used_twice_is_converted(void **state) {
    static const char body[] = POINTERS("p", "y", "64", "64") LINE("q", "x", "fp32", "64")
        "%u: tile<64xfp32> = load %q\n"
        "%u1: tile<1x64xfp32> = reshape %u\n"
        "%u2: tile<64x64xfp32> = broadcast %u1\n"
        "%v: tile<64x64xfp32> = load %p\n"
        "%z: tile<64x64xfp32> = add %u2, %v\n"
        "store %p, %z\n"
        "store %q, %u\n";
    assert_int_equal(converts(run(*state, 4, body)), 1);
}

static void test_conversions_serve_later_users_and_leave_loops(void **state) {
    static const char body[] = POINTERS("p", "y", "64", "64")
        "%v: tile<64x64xfp32> = load %p\n"
        "%lo: i32 = const {value = 0}\n"
        "%one: i32 = const {value = 1}\n"
        "for %lo, %n, %one (%i: i32) {\n"
        "%t: tile<64x64xfp32> = permute %v {order = [1, 0]}\n"
        "store %p, %t\nyield\n}\n"
        "%t2: tile<64x64xfp32> = permute %v {order = [1, 0]}\n"
        "store %p, %t2\n";
    ir_func *f = run(*state, 4, body);
    assert_int_equal(converts(f), 1);
    for (const ir_op *op = f->body->first; op; op = op->next)
        if (op->opcode == OP_FOR)
            assert_int_equal(op->prev->opcode, OP_CONVERT_LAYOUT);
}

static void test_values_without_accesses(void **state) {
    // Nothing but indices: the reduction takes a default, everything is made in it.
    static const char body[] =
        "%i: tile<256xi32> = arange {start = 0}\n"
        "%j: tile<256xfp32> = cast %i\n" SUM("%t: fp32", "%j", "0")
        "%k: tile<256xi1> = cmp %i, %i {pred = \"eq\"}\n"
        "assert %k {text = \"\"}\n"
        "print %i, %t {text = \"\"}\n"
        "%less: i1 = cmp %n, %m {pred = \"lt\"}\n"
        "%z: tile<256xi32> = if %less {\nyield %i\n} else {\n%u: tile<256xi32> = add %i, %i\nyield %u\n}\n"
        "print %z {text = \"\"}\n";
    assert_int_equal(converts(run(*state, 4, body)), 0);
}

static void test_a_function_with_layouts_is_left_alone(void **state) {
    ir_func *f = run(*state, 4, SOFTMAX("%n"));
    assert_false(pass_layout(f));
}

static void test_too_large_a_tile(void **state) {
    diag *d = diag_create(*state);
    sv text = SV("func @k(%x: *fp32) {num_warps = 1, num_ctas = 1, num_stages = 1} {\n"
                 "%p: tile<262144x*fp32> = splat %x\n"
                 "%v: tile<262144xfp32> = load %p\nstore %p, %v\nreturn\n}\n");
    ir_module *m = ir_parse(*state, d, diag_add_file(d, "test.tir", text));
    assert_non_null(m);
    pass_layout(m->first);
    assert_int_equal(diag_error_count(d), 1);
    assert_non_null(strstr(rendered(*state, d), "takes 8192 registers in each of 32 threads, more than 1024: use num_warps = 8 or more, a smaller tile, or a loop"));
}

// --- random functions

enum { MAX_TILES = 60, ROUNDS = 400 };

typedef struct world {
    ir_builder b;
    uint64_t seed;
    ir_value *x, *n; ///< parameters
    ir_value *tiles[MAX_TILES];
    unsigned count, depth;
} world;

static uint32_t draw(world *w, uint32_t below) {
    w->seed = w->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((w->seed >> 33) % below);
}

static ir_type random_type(world *w, dtype elem) {
    static const uint32_t extents[][3] = {{64, 0, 0}, {8, 8, 0},   {64, 1, 0}, {1, 64, 0}, {64, 64, 0},
                                          {16, 4, 0}, {4, 16, 64}, {32, 0, 0}, {8, 1, 0},  {1, 8, 0}};
    const uint32_t *shape = extents[draw(w, 10)];
    unsigned rank = shape[2] ? 3 : shape[1] ? 2 : 1;
    return ir_tile_type(ir_scalar_type(elem), shape, rank);
}

static ir_value *keep(world *w, ir_value *v) {
    if (w->count < MAX_TILES)
        w->tiles[w->count++] = v;
    return v;
}

/// A visible fp32 tile of type t.
static ir_value *pick(world *w, ir_type t) {
    unsigned start = w->count ? draw(w, w->count) : 0;
    for (unsigned i = 0; i < w->count; i++) {
        ir_value *v = w->tiles[(start + i) % w->count];
        if (ir_type_equal(v->type, t))
            return v;
    }
    return keep(w, ir_const_float(&w->b, t, 1.5));
}

static ir_value *random_pointer(world *w, ir_type t) {
    unsigned d = draw(w, t.rank);
    ir_type line = {.elem = DT_I32, .rank = 1, .shape = {t.shape[d]}};
    ir_value *v = ir_create_value(&w->b, OP_ARANGE, NULL, 0, line);
    ir_set_int(v->def, ATTR_START, 0);
    uint32_t flat[IR_MAX_RANK];
    for (unsigned i = 0; i < t.rank; i++)
        flat[i] = i == d ? t.shape[d] : 1;
    v = ir_broadcast(&w->b, ir_reshape(&w->b, v, flat, t.rank), t.shape);
    return ir_addptr(&w->b, ir_splat(&w->b, w->x, t.shape, t.rank), v);
}

static void add_reduce(world *w) {
    ir_value *x = pick(w, random_type(w, DT_FP32));
    unsigned axis = draw(w, x->type.rank), rank = 0;
    uint32_t shape[IR_MAX_RANK];
    for (unsigned d = 0; d < x->type.rank; d++)
        if (d != axis)
            shape[rank++] = x->type.shape[d];
    ir_type elem = ir_scalar_type(DT_FP32), type = ir_tile_type(elem, shape, rank);
    ir_op *op = ir_create(&w->b, OP_REDUCE, &x, 1, &type, 1);
    ir_set_int(op, ATTR_AXIS, axis);
    op->regions[0] = ir_block_create(w->b.func, op);
    ir_builder inner = {.func = w->b.func, .block = op->regions[0]};
    ir_value *l = ir_add_block_arg(op->regions[0], elem, SV("a"));
    ir_value *r = ir_add_block_arg(op->regions[0], elem, SV("b"));
    ir_value *sum = ir_binary(&inner, OP_ADD, l, r);
    ir_yield(&inner, &sum, 1);
    if (rank)
        keep(w, op->results[0]);
}

static void add_view(world *w) {
    ir_value *x = pick(w, random_type(w, DT_FP32));
    ir_type to = random_type(w, DT_FP32);
    bool fits = to.rank == x->type.rank;
    for (unsigned d = 0; fits && d < to.rank; d++)
        fits = x->type.shape[d] == 1 || x->type.shape[d] == to.shape[d];
    if (ir_type_elements(to) == ir_type_elements(x->type)) {
        keep(w, ir_reshape(&w->b, x, to.shape, to.rank));
    } else if (fits) {
        keep(w, ir_broadcast(&w->b, x, to.shape));
    } else if (x->type.rank == 2) {
        uint32_t shape[2] = {x->type.shape[1], x->type.shape[0]};
        ir_value *v = ir_create_value(&w->b, OP_PERMUTE, &x, 1, ir_tile_type(x->type, shape, 2));
        ir_set_ints(v->def, ATTR_ORDER, (int64_t[]){1, 0}, 2);
        keep(w, v);
    }
}

static ir_value *half_of(world *w, ir_value *x, unsigned which) {
    ir_type t = ir_tile_type(ir_element_type(x->type), x->type.shape, x->type.rank - 1u);
    ir_value *v = ir_create_value(&w->b, OP_HALF, &x, 1, t);
    ir_set_int(v->def, ATTR_INDEX, which);
    return v;
}

static ir_value *join_of(world *w, ir_value *a, ir_value *b) {
    ir_type t = a->type;
    t.shape[t.rank++] = 2;
    return ir_create_value(&w->b, OP_JOIN, (ir_value *[]){a, b}, 2, t);
}

/// A flip; a split and a join of the halves; or two tiles interleaved, and every second of them.
static void add_pairs(world *w) {
    ir_type t = random_type(w, DT_FP32);
    ir_value *x = pick(w, t);
    unsigned kind = draw(w, 3);
    if (kind == 0) {
        ir_value *v = ir_create_value(&w->b, OP_FLIP, &x, 1, t);
        ir_set_int(v->def, ATTR_AXIS, draw(w, t.rank));
        keep(w, v);
    } else if (kind == 1) {
        uint32_t pairs[] = {ir_type_elements(t) / 2, 2};
        x = ir_reshape(&w->b, x, pairs, 2);
        ir_value *b = half_of(w, x, 1), *a = half_of(w, x, 0);
        a = ir_binary(&w->b, OP_ADD, a, b);
        keep(w, ir_reshape(&w->b, join_of(w, a, b), t.shape, t.rank));
    } else {
        ir_value *j = join_of(w, x, pick(w, t));
        uint32_t turned[] = {2, ir_type_elements(t)};
        ir_value *v = ir_reshape(&w->b, j, turned, 2);
        ir_type type = ir_tile_type(ir_element_type(t), (uint32_t[]){turned[1], 2}, 2);
        v = ir_create_value(&w->b, OP_PERMUTE, &v, 1, type);
        ir_set_ints(v->def, ATTR_ORDER, (int64_t[]){1, 0}, 2);
        keep(w, ir_reshape(&w->b, half_of(w, v, 0), t.shape, t.rank));
        keep(w, half_of(w, j, 1));
    }
}

static void add_ops(world *w, unsigned n);

static void add_loop(world *w) {
    ir_value *one = ir_const_int(&w->b, ir_scalar_type(DT_I32), 1);
    ir_value *a = pick(w, random_type(w, DT_FP32)), *b = pick(w, random_type(w, DT_FP32));
    ir_type types[] = {a->type, b->type};
    ir_op *op = ir_create(&w->b, OP_FOR, (ir_value *[]){one, w->n, one, a, b}, 5, types, 2);
    ir_builder outer = w->b;
    unsigned visible = w->count;
    ir_block *body = op->regions[0] = ir_block_create(w->b.func, op);
    w->b = (ir_builder){.func = outer.func, .block = body};
    ir_add_block_arg(body, ir_scalar_type(DT_I32), SV("i"));
    keep(w, ir_add_block_arg(body, types[0], SV("c")));
    keep(w, ir_add_block_arg(body, types[1], SV("d")));
    add_ops(w, 12);
    ir_yield(&w->b, (ir_value *[]){pick(w, types[0]), pick(w, types[1])}, 2);
    w->b = outer;
    w->count = visible;
    keep(w, op->results[0]);
    keep(w, op->results[1]);
}

static void add_if(world *w) {
    ir_type t = random_type(w, DT_FP32);
    ir_value *c = ir_cmp(&w->b, "lt", w->n, w->n);
    ir_op *op = ir_create(&w->b, OP_IF, &c, 1, &t, 1);
    ir_builder outer = w->b;
    unsigned visible = w->count;
    for (unsigned r = 0; r < 2; r++) {
        op->regions[r] = ir_block_create(outer.func, op);
        w->b = (ir_builder){.func = outer.func, .block = op->regions[r]};
        add_ops(w, 5);
        ir_value *v = pick(w, t);
        ir_yield(&w->b, &v, 1);
        w->count = visible;
    }
    w->b = outer;
    keep(w, op->results[0]);
}

static void add_ops(world *w, unsigned n) {
    w->depth++;
    while (n-- > 0) {
        ir_type t = random_type(w, DT_FP32);
        switch (draw(w, w->depth < 4 ? 14 : 12)) {
        case 0:
        case 1: {
            ir_value *p = random_pointer(w, t);
            keep(w, ir_create_value(&w->b, OP_LOAD, &p, 1, t));
            break;
        }
        case 2:
            ir_create(&w->b, OP_STORE, (ir_value *[]){random_pointer(w, t), pick(w, t)}, 2, NULL, 0);
            break;
        case 3:
        case 4:
        case 5:
            add_view(w);
            break;
        case 6:
            add_reduce(w);
            break;
        case 7:
        case 8:
        case 9:
            keep(w, ir_binary(&w->b, OP_ADD, pick(w, t), pick(w, t)));
            break;
        case 10:
        case 11:
            add_pairs(w);
            break;
        case 12:
            add_loop(w);
            break;
        default:
            add_if(w);
        }
    }
    w->depth--;
}

static void test_random_functions(void **state) {
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        arena *a = arena_create();
        diag *d = diag_create(a);
        ir_func *f = ir_func_create(ir_module_create(a, d), SV("k"), 1u << round % 6, 1);
        world *w = ARENA_NEW(a, world);
        w->seed = round;
        w->b = (ir_builder){.func = f, .block = f->body};
        w->x = ir_add_param(f, SV("x"), ir_pointer_type(DT_FP32, false), 16, false, SRC_NONE);
        w->n = ir_add_param(f, SV("n"), ir_scalar_type(DT_I32), 1, false, SRC_NONE);
        add_ops(w, 25);
        ir_create(&w->b, OP_RETURN, NULL, 0, NULL, 0);
        bool ok = ir_verify(f, "input") && pass_layout(f) && ir_verify(f, "layout");
        if (!ok)
            print_error("round %u: %s", round, rendered(a, d));
        assert_true(ok);
        arena_destroy(a);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_softmax_row),
        TEST(test_ragged_row),
        TEST(test_narrow_types_take_more),
        TEST(test_small_tiles_have_copies),
        TEST(test_rows_stay_in_their_warps),
        TEST(test_short_rows),
        TEST(test_column_sums),
        TEST(test_transpose),
        TEST(test_a_sum_lies_as_its_store_wants),
        TEST(test_carried_sum_takes_the_loads_layout),
        TEST(test_broadcast_loads_are_made_in_slices),
        TEST(test_a_line_that_is_used_twice_is_converted),
        TEST(test_conversions_serve_later_users_and_leave_loops),
        TEST(test_values_without_accesses),
        TEST(test_a_function_with_layouts_is_left_alone),
        TEST(test_too_large_a_tile),
        TEST(test_random_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
