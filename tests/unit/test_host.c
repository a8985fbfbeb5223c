// The cpu device from below: conversions, fibers, the scheduler and the checks of the runtime, on
// kernels written here in C as generated code would be; then one kernel from tile IR to the end.
// What whole kernels do on the device is tested in tests/run.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "codegen/host_exec.h"
#include "codegen/host_rt.h"
#include "ir/passes.h"

static const host_order orders[] = {HOST_ORDER_FORWARD, HOST_ORDER_REVERSE, HOST_ORDER_RANDOM};

static host_arg pointer(const void *p) { return (host_arg){(uintptr_t)p}; }
static host_arg number(int64_t v) { return (host_arg){(uint64_t)v}; }

// ---------------------------------------------------------------------------- conversions

static uint32_t random_u32(void) {
    static uint32_t state = 12345;
    return state = state * 1664525 + 1013904223;
}

static uint64_t convert(dtype from, dtype to, bool rtz, uint64_t bits) {
    uint64_t out = 0;
    host_convert((uint32_t)from | (uint32_t)to << 8 | (rtz ? 1u << 16 : 0), 1, &bits, &out);
    return out;
}

static double as_double(dtype t, uint64_t bits) { return dtype_bits_to_float(t, bits); }

static void expect_same_float(dtype t, uint64_t got, uint64_t want) {
    if (isnan(as_double(t, got)) && isnan(as_double(t, want)))
        return;
    assert_int_equal(got, want);
}

static void test_half_to_float(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++)
        expect_same_float(DT_FP32, convert(DT_FP16, DT_FP32, false, h),
                          dtype_float_to_bits(DT_FP32, as_double(DT_FP16, h)));
}

/// fp32 patterns around every 16-bit value and at random.
static void test_float_to_half(void **state) {
    (void)state;
    static const dtype small[] = {DT_FP16, DT_BF16};
    for (unsigned k = 0; k < 2; k++)
        for (uint32_t i = 0; i < 0x40000; i++) {
            uint32_t near = (uint32_t)dtype_float_to_bits(DT_FP32, as_double(small[k], i & 0xffff));
            uint32_t f = i >> 16 == 3 ? random_u32() : near + (i >> 16) - 1 + (i & 1 ? 0x1000 : 0);
            double v = as_double(DT_FP32, f);
            uint64_t want = dtype_float_to_bits(small[k], v);
            expect_same_float(small[k], convert(DT_FP32, small[k], false, f), want);
            double down = as_double(small[k], convert(DT_FP32, small[k], true, f));
            assert_true(isnan(v) ? isnan(down)
                                 : fabs(down) <= fabs(v) && (down == 0 || down * v > 0));
        }
}

/// Integers round once: compared with exact arithmetic on ties and their neighbours.
static void test_int_to_small_float(void **state) {
    (void)state;
    // 2^60 + 2^52 is halfway between two bf16 values; one more must round up.
    int64_t tie = (INT64_C(1) << 60) + (INT64_C(1) << 52);
    assert_int_equal(convert(DT_I64, DT_BF16, false, (uint64_t)tie), 0x5d80);
    assert_int_equal(convert(DT_I64, DT_BF16, false, (uint64_t)(tie + 1)), 0x5d81);
    assert_int_equal(convert(DT_I64, DT_BF16, false, -(uint64_t)(tie + 1)), 0xdd81);
    assert_int_equal(convert(DT_U64, DT_BF16, false, UINT64_MAX), 0x5f80);
    assert_int_equal(convert(DT_I32, DT_FP16, false, 65519), 0x7bff);
    assert_int_equal(convert(DT_I32, DT_FP16, false, 65520), 0x7c00);
    assert_int_equal(convert(DT_I32, DT_FP8E4NV, false, 10000), 0x7e);
    assert_int_equal(convert(DT_I8, DT_FP8E5, false, 0xff), 0xbc);
    for (int32_t i = -70000; i <= 70000; i++) {
        uint64_t want = dtype_float_to_bits(DT_FP16, i);
        assert_int_equal(convert(DT_I32, DT_FP16, false, (uint32_t)i), want);
    }
}

static void test_float_to_int(void **state) {
    (void)state;
    static const struct {
        dtype from, to;
        double value;
        uint64_t want;
    } rows[] = {
        {DT_FP32, DT_I64, NAN, UINT64_C(1) << 63},
        {DT_FP64, DT_I32, NAN, 0x80000000},
        {DT_FP64, DT_I16, NAN, 0x8000},
        {DT_FP64, DT_I8, NAN, 0},
        {DT_FP64, DT_I8, 128.0, 0x80},
        {DT_FP64, DT_U8, 65504.0, 224},
        {DT_FP64, DT_U8, -1.0, 0},
        {DT_FP64, DT_I32, -2.5, (uint32_t)-2},
        {DT_FP64, DT_I32, 1e10, 0x7fffffff},
        {DT_FP64, DT_I64, -1e30, UINT64_C(1) << 63},
        {DT_FP64, DT_U64, 1e30, UINT64_MAX},
        {DT_FP64, DT_U64, 0x1p63, UINT64_C(1) << 63},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t x = dtype_float_to_bits(rows[i].from, rows[i].value);
        assert_int_equal(convert(rows[i].from, rows[i].to, false, x), rows[i].want);
    }
}

// ---------------------------------------------------------------------------- fibers

typedef struct ping {
    host_fiber_home home;
    host_fiber fiber;
    int steps, stop_at;
} ping;

static void count_steps(void *argument) {
    ping *p = argument;
    host_fiber_arrive(&p->home, &p->fiber);
    char deep[4096] = {1}; // frames that a dropped fiber leaves behind
    while (p->steps < p->stop_at) {
        p->steps += deep[0];
        memset(deep + 1, p->steps, sizeof(deep) - 1);
        host_fiber_suspend(&p->home, &p->fiber);
    }
    host_fiber_exit(&p->home, &p->fiber);
}

static void test_fibers(void **state) {
    (void)state;
    ping p[3] = {{.stop_at = 5}, {.stop_at = 2}, {.stop_at = 100}};
    for (int i = 0; i < 3; i++)
        assert_true(host_fiber_create(&p[i].fiber, 100000));
    for (int round = 0; round < 3; round++) { // the third is dropped half-way each time
        for (int i = 0; i < 3; i++) {
            p[i].steps = 0;
            host_fiber_prepare(&p[i].fiber, count_steps, &p[i]);
        }
        for (int step = 1; step <= 6; step++)
            for (int i = 0; i < 3; i++) {
                if (step <= p[i].stop_at + 1)
                    host_fiber_resume(&p[i].home, &p[i].fiber);
                assert_int_equal(p[i].steps, step < p[i].stop_at ? step : p[i].stop_at);
            }
    }
    for (int i = 0; i < 3; i++)
        host_fiber_destroy(&p[i].fiber);
    host_fiber_destroy(&p[0].fiber); // of a zeroed one
}

// ---------------------------------------------------------------------------- kernels in C

enum { X = 0, Y = 1, SITE_LOOP = 2, SITE_BARRIER = 3, SITE_WIDE = 4, SITE_PRINT = 5, SITE_ADD = 6 };

static host_site sites[] = {
    [X] = {.file = "k.tile",
           .line = 7,
           .column = 5,
           .kind = HOST_SITE_STORE,
           .elem = DT_I32,
           .vec = 1,
           .addressing = HOST_SIGNED_OFFSETS,
           .root = 0,
           .name = "x"},
    [Y] = {.file = "k.tile",
           .line = 8,
           .column = 9,
           .kind = HOST_SITE_LOAD,
           .elem = DT_I32,
           .vec = 2,
           .addressing = HOST_UNSIGNED_OFFSETS,
           .root = 1,
           .name = "y"},
    [SITE_LOOP] = {.file = "k.tile", .line = 9, .column = 1, .kind = HOST_SITE_LOOP},
    [SITE_BARRIER] = {.file = "k.tile", .line = 10, .column = 2, .kind = HOST_SITE_BARRIER},
    [SITE_WIDE] = {.file = "k.tile",
                   .line = 11,
                   .column = 3,
                   .kind = HOST_SITE_STORE,
                   .elem = DT_I32,
                   .vec = 4,
                   .addressing = HOST_ADDRESSES,
                   .root = -1},
    [SITE_PRINT] =
        {.kind = HOST_SITE_PRINT, .elem = DT_FP32, .text = " v: ", .rank = 2, .shape = {4, 16}},
    [SITE_ADD] = {.kind = HOST_SITE_ATOMIC,
                  .elem = DT_FP32,
                  .vec = 1,
                  .addressing = HOST_SIGNED_OFFSETS,
                  .atomic = HOST_ATOMIC_ADD,
                  .root = 0},
};

typedef struct memory {
    int32_t x[64], y[64];
} memory;

static host_error error;

/// Runs an entry on 64 elements of x and of y.
static host_status run_entry(host_kernel_fn *entry, memory *m, uint32_t grid, uint32_t warps,
                             host_order order, double timeout_s) {
    host_kernel kernel = {.entry = entry,
                          .num_warps = warps,
                          .num_ctas = 1,
                          .shared_bytes = 1024,
                          .num_params = 3,
                          .stack_bytes = 65536};
    cg_host_code code = {.kernels = &kernel, .num_kernels = 1, .sites = sites};
    host_arg args[] = {pointer(m->x), pointer(m->y), number(5)};
    host_allocation allocations[] = {{m->x, sizeof(m->x), NULL}, {m->y, sizeof(m->y), "Y"}};
    return host_exec(&(host_run){.code = &code,
                                 .grid = {grid, 1, 1},
                                 .args = args,
                                 .num_args = 3,
                                 .allocations = allocations,
                                 .num_allocations = 2,
                                 .order = order,
                                 .seed = 3,
                                 .threads = 2,
                                 .timeout_s = timeout_s},
                     &error);
}

static void fill_offsets(int32_t *offsets, int32_t first, int32_t step) {
    for (int lane = 0; lane < HOST_LANES; lane++)
        offsets[lane] = first + lane * step;
}

static void store_past_end(host_warp *w) {
    int32_t offsets[HOST_LANES], values[HOST_LANES] = {0};
    fill_offsets(offsets, 40, 1);
    host_store(w, X, w->args[0].bits, offsets, values, 0x00ffffff); // up to element 63
    host_store(w, X, w->args[0].bits, offsets, values, 0x81000000); // 64, in lane 24
}

static void load_pairs(host_warp *w) {
    int32_t offsets[HOST_LANES], values[2][HOST_LANES], other[HOST_LANES];
    fill_offsets(offsets, 0, 2);
    fill_offsets(other, -1, 0);
    host_load(w, Y, w->args[1].bits, offsets, NULL, values, UINT32_MAX);
    for (int lane = 0; lane < HOST_LANES; lane++)
        assert_true(values[0][lane] == 2 * lane && values[1][lane] == 2 * lane + 1);
    host_load(w, Y, w->args[1].bits, offsets, other, values, 5);
    assert_true(values[0][1] == -1 && values[1][1] == -1 && values[1][2] == 5);
    host_load(w, Y, w->args[1].bits, offsets, NULL, values, 0);
    assert_true(values[0][0] == 0 && values[1][31] == 0);
    offsets[3] = 63; // its second element is outside, and it is not aligned to 8 bytes either
    host_load(w, Y, w->args[1].bits, offsets, NULL, values, UINT32_MAX);
}

static void store_nowhere(host_warp *w) {
    uint64_t addresses[HOST_LANES] = {0};
    int32_t values[4][HOST_LANES] = {{0}};
    addresses[9] = 16;
    host_store(w, SITE_WIDE, 0, addresses, values, 1 << 9);
}

static void store_misaligned(host_warp *w) {
    uint64_t addresses[HOST_LANES];
    int32_t values[4][HOST_LANES] = {{0}};
    for (int lane = 0; lane < HOST_LANES; lane++)
        addresses[lane] = (w->args[0].bits + 15) / 16 * 16 + 4;
    host_store(w, SITE_WIDE, 0, addresses, values, 1);
}

static void test_checks(void **state) {
    (void)state;
    memory m;
    for (int i = 0; i < 64; i++)
        m.x[i] = m.y[i] = i;
    assert_int_equal(run_entry(store_past_end, &m, 1, 1, HOST_ORDER_FORWARD, 0),
                     HOST_OUT_OF_BOUNDS);
    assert_string_equal(
        error.message,
        "k.tile:7:5: error: store of 4 bytes outside the allocation 'x' (256 bytes): "
        "element index 64: program (0, 0, 0), warp 0, lane 24");
    assert_true(m.x[39] == 39 && m.x[40] == 0 && m.x[63] == 0);
    assert_int_equal(run_entry(load_pairs, &m, 1, 1, HOST_ORDER_FORWARD, 0), HOST_OUT_OF_BOUNDS);
    assert_string_equal(
        error.message, "k.tile:8:9: error: load of 4 bytes outside the allocation 'Y' (256 bytes): "
                       "element index 64: program (0, 0, 0), warp 0, lane 3");
    assert_int_equal(run_entry(store_nowhere, &m, 1, 1, HOST_ORDER_FORWARD, 0), HOST_OUT_OF_BOUNDS);
    assert_string_equal(error.message,
                        "k.tile:11:3: error: store of 4 bytes at address 0x10, outside every "
                        "allocation: program (0, 0, 0), warp 0, lane 9");
    assert_int_equal(run_entry(store_misaligned, &m, 1, 1, HOST_ORDER_FORWARD, 0), HOST_ASSERTION);
    assert_non_null(strstr(error.message, "which is not a multiple of 16"));
}

// ---------------------------------------------------------------------------- the scheduler

/// Every warp writes its number to shared memory, and reads its neighbour's after the barrier.
static void exchange(host_warp *w) {
    enum { WARPS = 8 };
    for (int i = 0; i < 1024; i++)
        if (w->warp_id == 0 && w->shared[i] != 0xff && i >= 4 * WARPS)
            host_assert(w, SITE_LOOP, 1);
    int32_t mine = w->warp_id, theirs;
    for (int round = 0; round < 3; round++) {
        memcpy(w->shared + 4 * w->warp_id, &mine, 4);
        host_barrier(w, SITE_BARRIER);
        memcpy(&theirs, w->shared + 4 * ((w->warp_id + 1) % WARPS), 4);
        host_barrier(w, SITE_BARRIER);
        mine = theirs;
    }
    if (mine != (w->warp_id + 3) % WARPS)
        host_assert(w, SITE_LOOP, 1);
    ((int32_t *)(uintptr_t)w->args[0].bits)[w->program_id[0]] = 100 + w->program_id[0];
}

static void test_barriers(void **state) {
    (void)state;
    for (int o = 0; o < 3; o++) {
        memory m = {{0}, {0}};
        assert_int_equal(run_entry(exchange, &m, 64, 8, orders[o], 0), HOST_OK);
        assert_string_equal(error.message, "");
        for (int i = 0; i < 64; i++)
            assert_int_equal(m.x[i], 100 + i);
    }
}

/// The order in which warps first run, as digits.
static void note_order(host_warp *w) {
    int32_t *order = (int32_t *)(uintptr_t)w->args[0].bits;
    *order = *order * 10 + w->warp_id + 1;
}

static void test_orders(void **state) {
    (void)state;
    static const int32_t want[] = {1234, 4321};
    for (int o = 0; o < 3; o++) {
        memory m = {{0}, {0}}, again = {{0}, {0}};
        run_entry(note_order, &m, 1, 4, orders[o], 0);
        run_entry(note_order, &again, 1, 4, orders[o], 0);
        assert_int_equal(m.x[0], again.x[0]);
        if (o < 2)
            assert_int_equal(m.x[0], want[o]);
    }
}

static void leave_early(host_warp *w) {
    if (w->warp_id != 2)
        host_barrier(w, SITE_BARRIER);
}

static void spin(host_warp *w) {
    while (w->program_id[0] == 1)
        host_poll(w, SITE_LOOP);
}

static void test_no_progress(void **state) {
    (void)state;
    memory m = {{0}, {0}};
    for (int o = 0; o < 3; o++) {
        assert_int_equal(run_entry(leave_early, &m, 1, 4, orders[o], 0), HOST_DEADLOCK);
        assert_string_equal(error.message, "k.tile:10:2: error: barrier that 1 of 4 warps do not "
                                           "reach: program (0, 0, 0)");
    }
    assert_int_equal(run_entry(spin, &m, 4, 2, HOST_ORDER_FORWARD, 0.05), HOST_TIMEOUT);
    assert_string_equal(error.message, "k.tile:9:1: error: this loop was still running after 0.05 "
                                       "seconds: program (1, 0, 0)");
}

/// All programs add 1 to the same 32 floats at once.
static void add_ones(host_warp *w) {
    int32_t offsets[HOST_LANES];
    float ones[HOST_LANES], old[HOST_LANES];
    fill_offsets(offsets, 0, 1);
    for (int lane = 0; lane < HOST_LANES; lane++)
        ones[lane] = 1;
    host_atomic(w, SITE_ADD, w->args[0].bits, offsets, ones, ones, old, UINT32_MAX);
    host_atomic(w, SITE_ADD, w->args[0].bits, offsets, ones, ones, old, 1);
    assert_true(old[0] >= 1 && old[1] == 0);
}

static void test_atomics(void **state) {
    (void)state;
    memory m = {{0}, {0}};
    assert_int_equal(run_entry(add_ones, &m, 2000, 1, HOST_ORDER_RANDOM, 0), HOST_OK);
    float sums[2];
    memcpy(sums, m.x, sizeof(sums));
    assert_true(sums[0] == 4000 && sums[1] == 2000);
}

static void print_two(host_warp *w) {
    uint32_t indices[HOST_LANES] = {0, 17};
    float values[HOST_LANES] = {1.5f, -2};
    host_print(w, SITE_PRINT, indices, values, 3);
}

static void test_print(void **state) {
    (void)state;
    memory m;
    char text[256] = "";
    FILE *file = tmpfile();
    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    dup2(fileno(file), STDOUT_FILENO);
    host_status status = run_entry(print_two, &m, 1, 1, HOST_ORDER_FORWARD, 0);
    fflush(stdout);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    rewind(file);
    size_t n = fread(text, 1, sizeof(text) - 1, file);
    text[n] = '\0';
    fclose(file);
    assert_int_equal(status, HOST_OK);
    assert_string_equal(text, "pid (0, 0, 0) idx (0,  0) v: 1.500000\n"
                              "pid (0, 0, 0) idx (1,  1) v: -2.000000\n");
}

// ---------------------------------------------------------------------------- from tile IR

typedef struct compiled {
    arena *arena;
    cg_host_code *code;
    cg_binary binary;
} compiled;

/// Compiles IR text in which the first "@W" stands for the number of warps.
static compiled compile(const char *text, unsigned num_warps) {
    compiled c = {.arena = arena_create()};
    diag *d = diag_create(c.arena);
    const char *at = strstr(text, "@W");
    sv source = sv_format(c.arena, "%.*s%u%s", (int)(at - text), text, num_warps, at + 2);
    ir_module *m = ir_parse(c.arena, d, diag_add_file(d, "test.tir", source));
    cg_options options = {.source_name = "test.tir", .keep_llvm_ir = true};
    bool ok = m && ir_run_passes(m, &(ir_pass_options){.verify_each = true}) &&
              cg_compile_host(m, &options, &c.binary, &c.code);
    if (!ok) {
        strbuf s;
        strbuf_init(&s, c.arena);
        diag_render_text(d, &s);
        print_error("%s", s.data);
    }
    assert_true(ok);
    return c;
}

static void discard(compiled *c) {
    cg_host_destroy(c->code);
    arena_destroy(c->arena);
}

static const char vector_add[] =
    "func @memcpy(%x: *fp32 {div = 16}, %y: *fp32 {div = 16}, %n: i32) {num_warps = @W} {\n"
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

/// An entry may have the name of a C function.
static void test_vector_add(void **state) {
    (void)state;
    enum { N = 1000 };
    float *x = aligned_alloc(64, 4096), *y = aligned_alloc(64, 4096);
    for (unsigned warps = 1; warps <= 8; warps *= 2) {
        compiled c = compile(vector_add, warps);
        assert_int_equal(c.binary.num_kernels, 1);
        assert_int_equal(c.binary.kernels[0].num_warps, warps);
        assert_non_null(strstr(c.binary.llvm_ir.data, "host_load"));
        for (int o = 0; o < 3; o++) {
            for (int i = 0; i < N; i++)
                x[i] = (float)i, y[i] = 0.5f;
            host_arg args[] = {pointer(x), pointer(y), number(N)};
            host_allocation allocations[] = {{x, N * 4, "x"}, {y, N * 4, "y"}};
            host_run run = {.code = c.code,
                            .grid = {4, 1, 1},
                            .args = args,
                            .num_args = 3,
                            .allocations = allocations,
                            .num_allocations = 2,
                            .order = orders[o],
                            .seed = 7};
            assert_int_equal(host_exec(&run, &error), HOST_OK);
            for (int i = 0; i < N; i++)
                assert_true(y[i] == (float)i + 0.5f);
        }
        discard(&c);
    }
    free(x);
    free(y);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_half_to_float),
        cmocka_unit_test(test_float_to_half),
        cmocka_unit_test(test_int_to_small_float),
        cmocka_unit_test(test_float_to_int),
        cmocka_unit_test(test_fibers),
        cmocka_unit_test(test_checks),
        cmocka_unit_test(test_barriers),
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_no_progress),
        cmocka_unit_test(test_atomics),
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_vector_add),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
