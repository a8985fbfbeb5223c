// The cpu device finds missing barriers: kernels whose warps exchange data are compiled once with
// every barrier in place, which must give the right result in every order of warps, and once for
// each barrier with that one left out, which some order must then notice. This tests two things at
// once: that a forgotten barrier cannot pass the test suite, and that none is placed for nothing.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/host_exec.h"
#include "frontend/frontend.h"
#include "ir/passes.h"

enum { COUNT = 4096, BYTES = COUNT * 4 };

/// A kernel k(x: *i32, out: *i32), and what it leaves in both.
typedef struct example {
    const char *name, *source;
    void (*reference)(int32_t *x, int32_t *out);
    uint32_t least_barriers; ///< to see that the example is one
    bool within_cta; ///< some barrier is of a CTA's own threads: a warp there runs in lockstep
} example;

// ---------------------------------------------------------------------------- the kernels

static const char reduce_source[] = "def k(x: *i32, out: *i32):\n"
                                    "    o = arange(0, 1024)\n"
                                    "    v = load(x + o)\n"
                                    "    store(out + o, v + sum(v, axis=0))\n";

static void reduce_reference(int32_t *x, int32_t *out) {
    int32_t sum = 0;
    for (int i = 0; i < 1024; i++)
        sum += x[i];
    for (int i = 0; i < 1024; i++)
        out[i] = x[i] + sum;
}

static const char transpose_source[] = "def k(x: *i32, out: *i32):\n"
                                       "    a = arange(0, 64)\n"
                                       "    v = load(x + a[:, None] * 64 + a[None, :])\n"
                                       "    store(out + a[:, None] * 64 + a[None, :], trans(v))\n";

static void transpose_reference(int32_t *x, int32_t *out) {
    for (int r = 0; r < 64; r++)
        for (int c = 0; c < 64; c++)
            out[c * 64 + r] = x[r * 64 + c];
}

// A reduction after a conversion and before another one: their scratch shares one memory.
static const char mixed_source[] = "def k(x: *i32, out: *i32):\n"
                                   "    a = arange(0, 64)\n"
                                   "    p = a[:, None] * 64 + a[None, :]\n"
                                   "    v = trans(load(x + p))\n"
                                   "    total = sum(sum(v, axis=1), axis=0)\n"
                                   "    w = trans(v * 3 + total)\n"
                                   "    store(out + p, w - v)\n";

static void mixed_reference(int32_t *x, int32_t *out) {
    uint32_t total = 0; // wraps, as the kernel's
    for (int i = 0; i < COUNT; i++)
        total += (uint32_t)x[i];
    for (int r = 0; r < 64; r++)
        for (int c = 0; c < 64; c++) {
            uint32_t v = (uint32_t)x[r * 64 + c], t = (uint32_t)x[c * 64 + r];
            out[r * 64 + c] = (int32_t)(v * 3 + total - t);
        }
}

// Each iteration's scratch is still being read when the next one writes.
static const char loop_source[] = "def k(x: *i32, out: *i32):\n"
                                  "    o = arange(0, 1024)\n"
                                  "    total = o\n"
                                  "    for i in range(0, 4):\n"
                                  "        v = load(x + i * 1024 + o)\n"
                                  "        total = total * 2 + sum(v, axis=0)\n"
                                  "    store(out + o, total)\n";

static void loop_reference(int32_t *x, int32_t *out) {
    for (int o = 0; o < 1024; o++)
        out[o] = o;
    for (int i = 0; i < 4; i++) {
        int32_t sum = 0;
        for (int o = 0; o < 1024; o++)
            sum += x[i * 1024 + o];
        for (int o = 0; o < 1024; o++)
            out[o] = out[o] * 2 + sum;
    }
}

// Global memory: elements go from one warp to another, and a scalar from one to all.
static const char in_place_source[] = "def k(x: *i32, out: *i32):\n"
                                      "    o = arange(0, 1024)\n"
                                      "    v = load(x + 1023 - o)\n"
                                      "    store(x + o, v)\n"
                                      "    s = load(x + 700)\n"
                                      "    store(x + 700, s + 5)\n"
                                      "    store(x + o, load(x + 700) + s + o)\n";

static void in_place_reference(int32_t *x, int32_t *out) {
    for (int i = 0; i < 512; i++) {
        int32_t t = x[i];
        x[i] = x[1023 - i];
        x[1023 - i] = t;
    }
    int32_t s = x[700];
    for (int i = 0; i < 1024; i++)
        x[i] = s + 5 + s + i;
    (void)out;
}

// Flips across warps: each writes where slower warps still read for the one before.
static const char flip_source[] = "def k(x: *i32, out: *i32):\n"
                                  "    o = arange(0, 1024)\n"
                                  "    v = load(x + o)\n"
                                  "    for i in range(0, 5):\n"
                                  "        v = tl.flip(v * 3) + o\n"
                                  "    store(out + o, v)\n";

static void flip_reference(int32_t *x, int32_t *out) {
    for (int o = 0; o < 1024; o++) {
        uint32_t v = (uint32_t)x[o]; // wraps, as the kernel's
        int at = o;
        for (int i = 0; i < 5; i++) {
            at = 1023 - at;
            v = v * 3 + (uint32_t)at;
        }
        out[at] = (int32_t)v;
    }
}

// A row over all warps, in both directions: the totals of the warps go through shared memory.
static const char scan_source[] = "def add(a, b):\n"
                                  "    return a + b\n"
                                  "def k(x: *i32, out: *i32):\n"
                                  "    o = arange(0, 1024)\n"
                                  "    v = load(x + o)\n"
                                  "    for i in range(0, 3):\n"
                                  "        v = cumsum(v) - tl.associative_scan(v, 0, add, True)\n"
                                  "    store(out + o, v)\n";

static void scan_reference(int32_t *x, int32_t *out) {
    uint32_t v[1024], before[1024], after = 0; // wraps, as the kernel's
    for (int i = 0; i < 1024; i++)
        v[i] = (uint32_t)x[i];
    for (int again = 0; again < 3; again++) {
        for (int i = 0; i < 1024; i++)
            before[i] = (i ? before[i - 1] : 0) + v[i];
        after = 0;
        for (int i = 1023; i >= 0; i--) {
            after += v[i];
            v[i] = before[i] - after;
        }
    }
    for (int i = 0; i < 1024; i++)
        out[i] = (int32_t)v[i];
}

// Counts are cleared, added up and read; then each element looks up one of another warp's.
static const char gather_source[] = "def k(x: *i32, out: *i32):\n"
                                    "    o = arange(0, 1024)\n"
                                    "    v = load(x + o) & 255\n"
                                    "    for i in range(0, 3):\n"
                                    "        v = gather(histogram(v, 256), v, 0) + o // 8 & 255\n"
                                    "    store(out + o, v)\n";

static void gather_reference(int32_t *x, int32_t *out) {
    int32_t counts[256];
    for (int i = 0; i < 1024; i++)
        out[i] = x[i] & 255;
    for (int again = 0; again < 3; again++) {
        memset(counts, 0, sizeof counts);
        for (int i = 0; i < 1024; i++)
            counts[out[i]]++;
        for (int i = 0; i < 1024; i++)
            out[i] = (counts[out[i]] + i / 8) & 255;
    }
}

static const example examples[] = {
    {"reduction", reduce_source, reduce_reference, 1, false},
    {"transpose", transpose_source, transpose_reference, 1, false},
    {"conversions and reductions", mixed_source, mixed_reference, 2, false},
    {"reductions in a loop", loop_source, loop_reference, 1, false},
    {"flips in a loop", flip_source, flip_reference, 2, false},
    {"scans in a loop", scan_source, scan_reference, 2, false},
    {"histograms and gathers in a loop", gather_source, gather_reference, 3, true},
    {"in place", in_place_source, in_place_reference, 3, false},
};

// ---------------------------------------------------------------------------- compiling, running

typedef struct compiled {
    arena *arena;
    cg_host_code *code;
    cg_binary binary;
} compiled;

/// Leaves out the drop-th barrier; 0: none.
static compiled compile(const example *x, uint32_t num_warps, uint32_t num_ctas, unsigned drop) {
    compiled c = {.arena = arena_create()};
    diag *d = diag_create(c.arena);
    fe_options fe = {.num_warps = num_warps, .num_ctas = num_ctas, .num_stages = 3};
    cg_options options = {.source_name = "t.tile", .test_drop_barrier = drop, .keep_llvm_ir = true};
    fe_program *p = fe_load(c.arena, d, diag_add_file(d, "t.tile", sv_from(x->source)), &fe);
    ir_module *m = ir_module_create(c.arena, d);
    bool ok = p && fe_lower(p, m, fe_find_kernel(p, SV("k")), NULL, 0, &fe) &&
              ir_run_passes(m, &(ir_pass_options){.verify_each = true}) &&
              cg_compile_host(m, &options, &c.binary, &c.code);
    if (!ok) {
        strbuf text;
        strbuf_init(&text, c.arena);
        diag_render_text(d, &text);
        fail_msg("%s: %s", x->name, text.data ? text.data : "");
    }
    return c;
}

static void discard(compiled *c) {
    cg_host_destroy(c->code);
    arena_destroy(c->arena);
}

/// True if the code gives the right result in this order.
static bool is_right(const example *e, const compiled *c, host_order order, uint64_t seed) {
    int32_t *x = malloc(4 * BYTES), *out = x + COUNT, *want_x = out + COUNT, *want = want_x + COUNT;
    assert_non_null(x);
    for (int i = 0; i < COUNT; i++) {
        x[i] = want_x[i] = (int32_t)((uint32_t)i * 2654435761u >> 20);
        out[i] = want[i] = -7;
    }
    host_arg args[] = {{(uintptr_t)x}, {(uintptr_t)out}};
    host_allocation allocations[] = {{x, BYTES, "x"}, {out, BYTES, "out"}};
    host_run run = {.code = c->code,
                    .grid = {1, 1, 1},
                    .args = args,
                    .num_args = 2,
                    .allocations = allocations,
                    .num_allocations = 2,
                    .order = order,
                    .seed = seed,
                    .threads = 1,
                    .timeout_s = 60};
    host_error error;
    bool right = host_exec(&run, &error) == HOST_OK;
    e->reference(want_x, want);
    right = right && !memcmp(x, want_x, 2 * BYTES);
    free(x);
    return right;
}

/// In how many of the orders the result is right; *out_tried gets how many there are.
static unsigned count_right(const example *e, const compiled *c, unsigned *out_tried) {
    enum { SEEDS = 4 };
    unsigned right = is_right(e, c, HOST_ORDER_FORWARD, 1) + is_right(e, c, HOST_ORDER_REVERSE, 1);
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        right += is_right(e, c, HOST_ORDER_RANDOM, seed);
    *out_tried = 2 + SEEDS;
    return right;
}

static void check(const example *e, uint32_t num_warps, uint32_t num_ctas) {
    unsigned tried;
    compiled whole = compile(e, num_warps, num_ctas, 0);
    unsigned right = count_right(e, &whole, &tried);
    if (right != tried)
        fail_msg("%s, %u warps, %u CTAs: wrong in %u of %u orders", e->name, num_warps, num_ctas,
                 tried - right, tried);
    unsigned n = 0;
    for (bool same = false; !same;) {
        compiled c = compile(e, num_warps, num_ctas, n + 1);
        same = sv_equal(c.binary.llvm_ir, whole.binary.llvm_ir); // there is no such barrier
        if (!same && count_right(e, &c, &tried) == tried)
            fail_msg("%s, %u warps, %u CTAs: without barrier %u, no order is wrong", e->name,
                     num_warps, num_ctas, n + 1);
        n += !same;
        discard(&c);
    }
    if (n < e->least_barriers)
        fail_msg("%s, %u warps, %u CTAs: only %u barriers", e->name, num_warps, num_ctas, n);
    print_message("%s, %u warps, %u CTAs: %u barriers\n", e->name, num_warps, num_ctas, n);
    discard(&whole);
}

static void test_examples(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        for (uint32_t warps = 2; warps <= 8; warps *= 2) // a warp of its own runs in lockstep
            check(&examples[i], warps, 1);
}

/// The barriers of a cluster: when its CTAs start, when they exchange, before they exit.
static void test_clusters(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        for (uint32_t ctas = 2; ctas <= 4; ctas *= 2)
            for (uint32_t warps = examples[i].within_cta ? 4 : 1; warps <= 4; warps *= 4)
                check(&examples[i], warps, ctas);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_examples),
                                       cmocka_unit_test(test_clusters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
