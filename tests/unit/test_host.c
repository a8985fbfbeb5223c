// The cpu device from tile IR down: kernels in text form go through the layout pass and the host
// target to machine code, and run at 1 to 8 warps in every order of warps.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codegen/host_exec.h"
#include "codegen/host_rt.h"
#include "ir/passes.h"

typedef struct compiled {
    arena *arena;
    cg_host_code *code;
    cg_binary binary;
} compiled;

static void print_diag(const diag *d, arena *a) {
    strbuf s;
    strbuf_init(&s, a);
    diag_render_text(d, &s);
    print_error("%s", s.data ? s.data : "");
}

/// Compiles IR text in which the first "@W" stands for the number of warps.
static compiled compile(const char *text, unsigned num_warps) {
    compiled c = {.arena = arena_create()};
    diag *d = diag_create(c.arena);
    const char *at = strstr(text, "@W");
    sv source = at ? sv_format(c.arena, "%.*s%u%s", (int)(at - text), text, num_warps, at + 2)
                   : sv_from(text);
    ir_module *m = ir_parse(c.arena, d, diag_add_file(d, "test.tir", source));
    cg_options options = {.source_name = "test.tir"};
    bool ok = m && ir_run_passes(m, &(ir_pass_options){.verify_each = true}) &&
              cg_compile_host(m, &options, &c.binary, &c.code);
    if (!ok)
        print_diag(d, c.arena);
    assert_true(ok);
    return c;
}

static void discard(compiled *c) {
    cg_host_destroy(c->code);
    arena_destroy(c->arena);
}

static host_arg pointer(const void *p) { return (host_arg){(uintptr_t)p}; }
static host_arg number(int64_t v) { return (host_arg){(uint64_t)v}; }

static const host_order orders[] = {HOST_ORDER_FORWARD, HOST_ORDER_REVERSE, HOST_ORDER_RANDOM};

// ---------------------------------------------------------------------------- vector add

static const char vector_add[] =
    "func @add(%x: *fp32 {div = 16}, %y: *fp32 {div = 16}, %n: i32) {num_warps = @W} {\n"
    "    %pid: i32 = program_id {axis = 0}\n"
    "    %block: i32 = const {value = 256}\n"
    "    %first: i32 = mul %pid, %block\n"
    "    %lanes: tile<256xi32> = arange {start = 0}\n"
    "    %base: tile<256xi32> = splat %first\n"
    "    %offs: tile<256xi32> = add %base, %lanes\n"
    "    %limit: tile<256xi32> = splat %n\n"
    "    %mask: tile<256xi1> = cmp %offs, %limit {pred = \"lt\"}\n"
    "    %xs: tile<256x*fp32> = splat %x\n"
    "    %xp: tile<256x*fp32> = addptr %xs, %offs\n"
    "    %a: tile<256xfp32> = load %xp, %mask\n"
    "    %ys: tile<256x*fp32> = splat %y\n"
    "    %yp: tile<256x*fp32> = addptr %ys, %offs\n"
    "    %b: tile<256xfp32> = load %yp, %mask\n"
    "    %c: tile<256xfp32> = add %a, %b\n"
    "    store %yp, %c, %mask\n"
    "    return\n"
    "}\n";

static void test_vector_add(void **state) {
    (void)state;
    enum { N = 1000 };
    for (unsigned warps = 1; warps <= 8; warps *= 2) {
        compiled c = compile(vector_add, warps);
        for (size_t o = 0; o < 3; o++) {
            float *x = aligned_alloc(64, 4096), *y = aligned_alloc(64, 4096);
            for (int i = 0; i < N; i++)
                x[i] = (float)i, y[i] = 0.5f;
            host_arg args[] = {pointer(x), pointer(y), number(N)};
            host_allocation allocations[] = {{x, N * 4, "x"}, {y, N * 4, "y"}};
            host_run run = {.code = c.code, .grid = {4, 1, 1}, .args = args, .num_args = 3,
                            .allocations = allocations, .num_allocations = 2,
                            .order = orders[o], .seed = 7};
            host_error error;
            assert_int_equal(host_exec(&run, &error), HOST_OK);
            for (int i = 0; i < N; i++)
                assert_true(y[i] == (float)i + 0.5f);
            free(x);
            free(y);
        }
        discard(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vector_add),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
