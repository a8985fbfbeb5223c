// Tile IR to PTX: what the text must and must not contain, and that ptxas, where there is one,
// takes all of it for every architecture. Kernels are written as IR text; the sweeps make one
// kernel per element type with every op that the type allows.
#include "codegen/codegen.h"
#include "ir/passes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static const char *const all_archs[] = {"sm_80", "sm_90", "sm_120"};

// ---------------------------------------------------------------------------- compiling

/// Parses, runs the passes, compiles. NULL with the messages in *messages if anything failed.
static const char *try_compile(arena *a, const char *text, const cg_options *options,
                               cg_binary *out, sv *messages) {
    diag *d = diag_create(a);
    ir_module *m = ir_parse(a, d, diag_add_file(d, "k.tile", sv_from(text)));
    ir_pass_options passes = {.verify_each = true};
    bool ok = m && ir_run_passes(m, &passes) && cg_compile_ptx(m, options, out);
    strbuf s;
    strbuf_init(&s, a);
    diag_render_text(d, &s);
    *messages = s.len ? strbuf_view(&s) : SV("");
    return ok ? out->ptx.data : NULL;
}

static const char *compile_with(arena *a, const char *text, const cg_options *options) {
    cg_binary binary;
    sv messages, cubin;
    const char *ptx = try_compile(a, text, options, &binary, &messages);
    if (!ptx)
        fail_msg("%s", messages.data);
    if (!cg_find_ptxas(a, NULL))
        return ptx;
    cg_resource_usage *usage;
    uint32_t n;
    if (!cg_assemble(a, binary.ptx, options->arch->name, options->line_info, &cubin, &usage, &n,
                     &messages))
        fail_msg("%s\n%s", ptx, messages.data);
    assert_int_equal(n, binary.num_kernels);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(usage[i].spill_stores_bytes, 0);
        assert_int_equal(usage[i].stack_bytes, 0);
    }
    return ptx;
}

/// Compiles for every architecture that this LLVM knows; the text is the one for sm_80.
static const char *compile(arena *a, const char *text) {
    const char *first = NULL;
    for (size_t i = 0; i < sizeof(all_archs) / sizeof(all_archs[0]); i++) {
        cg_options options = {.arch = cg_find_arch(all_archs[i]), .source_name = "k.tile"};
        if (options.arch->least_llvm > (unsigned)atoi(cg_llvm_version()))
            continue;
        const char *ptx = compile_with(a, text, &options);
        first = first ? first : ptx;
    }
    return first;
}

static unsigned count(const char *text, const char *what) {
    unsigned n = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        n++;
    return n;
}

#define assert_has(text, what)                                                                     \
    do {                                                                                           \
        if (!strstr(text, what))                                                                   \
            fail_msg("no '%s' in\n%s", what, text);                                                \
    } while (0)
#define assert_lacks(text, what)                                                                   \
    do {                                                                                           \
        if (strstr(text, what))                                                                    \
            fail_msg("'%s' in\n%s", what, text);                                                   \
    } while (0)

// ---------------------------------------------------------------------------- kernels

/// Loads 1024 elements of `elem` from x and stores them to z under the mask offs < n.
static const char *copy_kernel(arena *a, const char *elem, unsigned div, unsigned n_div,
                               const char *load_attrs, const char *store_attrs) {
    return sv_format(a,
                     "func @copy(%%x: *%s {div = %u}, %%z: *%s {div = %u}, %%n: i32 {div = %u}) "
                     "{num_warps = 4, num_ctas = 1, num_stages = 1} {\n"
                     "%%offs: tile<1024xi32> = arange {start = 0}\n"
                     "%%ns: tile<1024xi32> = splat %%n\n"
                     "%%mask: tile<1024xi1> = cmp %%offs, %%ns {pred = \"lt\"}\n"
                     "%%xs: tile<1024x*%s> = splat %%x\n"
                     "%%xp: tile<1024x*%s> = addptr %%xs, %%offs\n"
                     "%%zs: tile<1024x*%s> = splat %%z\n"
                     "%%zp: tile<1024x*%s> = addptr %%zs, %%offs\n"
                     "%%v: tile<1024x%s> = load %%xp, %%mask %s\n"
                     "store %%zp, %%v, %%mask %s\n"
                     "return\n}\n",
                     elem, div, elem, div, n_div, elem, elem, elem, elem, elem, load_attrs,
                     store_attrs)
        .data;
}

#define SOFTMAX(n, warps)                                                                          \
    "func @softmax(%out: *fp32 {div = 16}, %in: *fp32 {div = 16}, %istride: i32 {div = 16}, "      \
    "%ostride: i32 {div = 16}, %n_rows: i32, %n: i32 {div = 16}) "                                 \
    "{num_warps = " warps ", num_ctas = 1, num_stages = 1} {\n"                                    \
    "%pid: i32 = program_id {axis = 0}\n"                                                          \
    "%np: i32 = num_programs {axis = 0}\n"                                                         \
    "%ar: tile<" n "xi32> = arange {start = 0}\n"                                                  \
    "%ns: tile<" n "xi32> = splat %n\n"                                                            \
    "%mask: tile<" n "xi1> = cmp %ar, %ns {pred = \"lt\"}\n"                                       \
    "%ninf: tile<" n "xfp32> = const {value = -inf}\n"                                             \
    "for %pid, %n_rows, %np (%row: i32) {\n"                                                       \
    "%ro: i32 = mul %row, %istride\n"                                                              \
    "%rp: *fp32 = addptr %in, %ro\n"                                                               \
    "%rps: tile<" n "x*fp32> = splat %rp\n"                                                        \
    "%ip: tile<" n "x*fp32> = addptr %rps, %ar\n"                                                  \
    "%x: tile<" n "xfp32> = load %ip, %mask, %ninf\n"                                              \
    "%m: fp32 = reduce %x {axis = 0} (%a: fp32, %b: fp32) {\n"                                     \
    "%mx: fp32 = max %a, %b\n"                                                                     \
    "yield %mx\n}\n"                                                                               \
    "%ms: tile<" n "xfp32> = splat %m\n"                                                           \
    "%d: tile<" n "xfp32> = sub %x, %ms\n"                                                         \
    "%e: tile<" n "xfp32> = exp %d\n"                                                              \
    "%s: fp32 = reduce %e {axis = 0} (%a2: fp32, %b2: fp32) {\n"                                   \
    "%sm: fp32 = add %a2, %b2\n"                                                                   \
    "yield %sm\n}\n"                                                                               \
    "%ss: tile<" n "xfp32> = splat %s\n"                                                           \
    "%y: tile<" n "xfp32> = div %e, %ss\n"                                                         \
    "%oo: i32 = mul %row, %ostride\n"                                                              \
    "%op: *fp32 = addptr %out, %oo\n"                                                              \
    "%ops: tile<" n "x*fp32> = splat %op\n"                                                        \
    "%opp: tile<" n "x*fp32> = addptr %ops, %ar\n"                                                 \
    "store %opp, %y, %mask\n"                                                                      \
    "yield\n}\n"                                                                                   \
    "return\n}\n"

/// A kernel body around a tile of 256 of `elem` loaded as %a and %b, whose result %r is stored.
static const char *body_kernel(arena *a, const char *elem, const char *result, const char *body) {
    return sv_format(a,
                     "func @body(%%x: *%s, %%y: *%s, %%z: *%s, %%n: i32) "
                     "{num_warps = 4, num_ctas = 1, num_stages = 1} {\n"
                     "%%ar: tile<256xi32> = arange {start = 0}\n"
                     "%%xs: tile<256x*%s> = splat %%x\n"
                     "%%xp: tile<256x*%s> = addptr %%xs, %%ar\n"
                     "%%ys: tile<256x*%s> = splat %%y\n"
                     "%%yp: tile<256x*%s> = addptr %%ys, %%ar\n"
                     "%%a: tile<256x%s> = load %%xp\n"
                     "%%b: tile<256x%s> = load %%yp\n"
                     "%s"
                     "%%zs: tile<256x*%s> = splat %%z\n"
                     "%%zp: tile<256x*%s> = addptr %%zs, %%ar\n"
                     "store %%zp, %%r\n"
                     "return\n}\n",
                     elem, elem, result, elem, elem, elem, elem, elem, elem, body, result, result)
        .data;
}

// ---------------------------------------------------------------------------- memory accesses

static void test_vector_width(void **state) {
    arena *a = *state;
    const char *ptx = compile(a, copy_kernel(a, "fp32", 16, 16, "", ""));
    assert_int_equal(count(ptx, "ld.global.v4."), 2);
    assert_int_equal(count(ptx, "st.global.v4."), 2);
    ptx = compile(a, copy_kernel(a, "fp32", 8, 16, "", ""));
    assert_int_equal(count(ptx, "ld.global.v4."), 2); // pass_realign
    ptx = compile(a, copy_kernel(a, "fp32", 16, 2, "", ""));
    assert_int_equal(count(ptx, "ld.global.v4."), 2); // also where the mask cuts through
    assert_int_equal(count(ptx, "ld.global.b32"), 0); // it is masked in registers
    ptx = compile(a, copy_kernel(a, "fp32", 16, 1, "", ""));
    assert_int_equal(count(ptx, "st.global.v4."), 2);
    assert_int_equal(count(ptx, "st.global.b32"), 8);
    ptx = compile(a, copy_kernel(a, "bf16", 16, 16, "", ""));
    assert_int_equal(count(ptx, "ld.global.v4."), 1); // eight elements at once
    ptx = compile(a, copy_kernel(a, "fp64", 16, 16, "", ""));
    assert_int_equal(count(ptx, "ld.global.v2."), 4);
    ptx = compile(a, copy_kernel(a, "i8", 16, 16, "", ""));
    assert_int_equal(count(ptx, "st.global.v"), 1);
}

static void test_cache_hints(void **state) {
    arena *a = *state;
    const char *ptx =
        compile(a, copy_kernel(a, "fp32", 16, 16, "{cache = \"cg\"}", "{cache = \"cs\"}"));
    assert_has(ptx, "ld.global.cg.v4.b32");
    assert_has(ptx, "st.global.cs.v4.b32");
    ptx = compile(
        a, copy_kernel(a, "fp16", 16, 16, "{evict = \"evict_last\"}", "{evict = \"evict_first\"}"));
    assert_has(ptx, "ld.global.L1::evict_last.L2::cache_hint.v4.b32");
    assert_has(ptx, "st.global.L1::evict_first.L2::cache_hint.v4.b32");
    assert_has(ptx, ".version 7.4"); // sm_80 alone needs 7.0
    ptx = compile(a, copy_kernel(a, "i1", 16, 1, "{cache = \"cg\"}", "{cache = \"cs\"}"));
    assert_has(ptx, "ld.global.cg.");
    ptx = compile(a, copy_kernel(a, "fp32", 16, 16, "{volatile}", ""));
    assert_has(ptx, "ld.volatile.global.v4.");
}

static void test_constant_pointers(void **state) {
    arena *a = *state;
    const char *ptx = compile(a, copy_kernel(a, "fp32", 16, 16, "", ""));
    assert_lacks(ptx, "ld.global.nc"); // never inferred
    ptx = compile(
        a, "func @k(%x: *const fp32, %z: *fp32) {num_warps = 1, num_ctas = 1, num_stages = 1} {\n"
           "%v: fp32 = load %x\nstore %z, %v\nreturn\n}\n");
    assert_has(ptx, "ld.global.nc.");
}

static void test_bools_are_bytes(void **state) {
    arena *a = *state;
    const char *ptx = compile(
        a, "func @k(%x: *i1, %z: *i1, %flag: i1) {num_warps = 1, num_ctas = 1, num_stages = 1} {\n"
           "%v: i1 = load %x\n%w: i1 = xor %v, %flag\nstore %z, %w\nreturn\n}\n");
    assert_has(ptx, ".param .u8 k_param_2");
    assert_has(ptx, "flag: i1, one byte");
    assert_true(strstr(ptx, "ld.global.b8") || strstr(ptx, "ld.global.u8"));
    assert_true(strstr(ptx, "st.global.b8") || strstr(ptx, "st.global.u8"));
}

/// A store to a tile smaller than the threads is made by one copy of each element (RULES 1).
static void test_copies_store_once(void **state) {
    arena *a = *state;
    const char *ptx =
        compile(a, "func @k(%z: *i32) {num_warps = 4, num_ctas = 1, num_stages = 1} {\n"
                   "%o: tile<8xi32> = arange {start = 0}\n"
                   "%zs: tile<8x*i32> = splat %z\n"
                   "%zp: tile<8x*i32> = addptr %zs, %o\n"
                   "store %zp, %o\nreturn\n}\n");
    assert_has(ptx, "setp");
    assert_int_equal(count(ptx, "st.global"), 1);
}

static void test_atomics(void **state) {
    arena *a = *state;
    const char *ptx = compile(
        a,
        body_kernel(
            a, "i32", "i32",
            "%o: tile<256xi32> = atomic_rmw %xp, %b {kind = \"add\", sem = \"relaxed\", scope = "
            "\"cta\"}\n"
            "%r: tile<256xi32> = atomic_cas %yp, %o, %b {sem = \"acquire\", scope = \"sys\"}\n"));
    assert_has(ptx, "atom.relaxed.cta.global.add.u32");
    assert_has(ptx, "atom.acquire.sys.global.cas.b32");
    ptx = compile(a, body_kernel(a, "fp32", "fp32",
                                 "%r: tile<256xfp32> = atomic_rmw %xp, %b {kind = \"max\"}\n"));
    assert_has(ptx, "atom.acq_rel.gpu.global.max.s32");
    assert_has(ptx, "atom.acq_rel.gpu.global.min.u32");
    ptx = compile(a, body_kernel(a, "bf16", "bf16",
                                 "%r: tile<256xbf16> = atomic_rmw %xp, %b {kind = \"fadd\"}\n"));
    assert_has(ptx, "cas.b16"); // sm_80 has no bf16 addition in memory
}

// ---------------------------------------------------------------------------- arithmetic

static void test_contraction(void **state) {
    arena *a = *state;
    const char *text = body_kernel(
        a, "fp32", "fp32", "%p: tile<256xfp32> = mul %a, %b\n%r: tile<256xfp32> = add %p, %a\n");
    assert_has(compile(a, text), "fma.rn.f32");
    cg_options options = {.arch = cg_find_arch("sm_80"), .no_fp_fusion = true};
    assert_has(compile_with(a, text, &options), "mul.rn.f32");
    // exp multiplies after the difference was rounded (RULES 9).
    const char *ptx =
        compile(a, body_kernel(a, "fp32", "fp32",
                               "%d: tile<256xfp32> = sub %a, %b\n%r: tile<256xfp32> = exp %d\n"));
    assert_lacks(ptx, "fma.rn");
    assert_has(ptx, "ex2.approx.f32");
    ptx = compile(a, body_kernel(a, "fp32", "fp32", "%r: tile<256xfp32> = div %a, %b\n"));
    assert_has(ptx, "div.full.f32");
    ptx = compile(a, body_kernel(a, "fp32", "fp32", "%r: tile<256xfp32> = div %a, %b {precise}\n"));
    assert_has(ptx, "div.rn.f32");
}

/// Appends "%v<k>: tile<256xT> = OP ..." and makes it the last value.
static void put_op(strbuf *s, const char *elem, unsigned *k, const char *op, const char *more) {
    unsigned last = *k;
    *k += 1;
    strbuf_printf(s, "%%v%u: tile<256x%s> = %s %%v%u%s\n", *k, elem, op, last, more);
}

static const char *arithmetic_of(arena *a, const char *elem, bool is_float, bool is_half) {
    static const char *const common[] = {"add", "sub", "mul", "min", "max"};
    static const char *const ints[] = {"div", "rem", "and", "or", "xor", "shl", "shr", "umulhi"};
    static const char *const functions[] = {"exp",  "exp2",  "log",   "log2",
                                            "sqrt", "rsqrt", "floor", "ceil"};
    static const char *const fp32_functions[] = {"sin", "cos", "erf", "tanh"};
    static const char *const preds[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    unsigned k = 0;
    strbuf s;
    strbuf_init(&s, a);
    strbuf_printf(&s, "%%v0: tile<256x%s> = add %%a, %%b\n", elem);
    for (unsigned i = 0; i < 5; i++)
        put_op(&s, elem, &k, common[i], ", %b");
    for (unsigned i = 0; i < 8 && !is_float; i++)
        put_op(&s, elem, &k, ints[i], ", %b");
    for (unsigned i = 0; i < 8 && is_float; i++)
        put_op(&s, elem, &k, functions[i], "");
    for (unsigned i = 0; i < 4 && is_float && strcmp(elem, "fp64") != 0; i++)
        put_op(&s, elem, &k, fp32_functions[i], "");
    if (is_float) {
        put_op(&s, elem, &k, "fma", ", %a, %b");
        put_op(&s, elem, &k, "max", ", %b {nan = \"all\"}");
        put_op(&s, elem, &k, "min", ", %b {nan = \"all\"}");
    }
    if (is_float && !is_half) {
        put_op(&s, elem, &k, "div", ", %b");
        put_op(&s, elem, &k, "rem", ", %b");
    }
    put_op(&s, elem, &k, "neg", "");
    put_op(&s, elem, &k, "abs", "");
    for (unsigned i = 0; i < 6; i++) {
        strbuf_printf(&s, "%%c%u: tile<256xi1> = cmp %%v%u, %%b {pred = \"%s\"}\n", i, k, preds[i]);
        strbuf_printf(&s, "%%v%u: tile<256x%s> = select %%c%u, %%a, %%v%u\n", k + 1, elem, i, k);
        k++;
    }
    strbuf_printf(&s, "%%r: tile<256x%s> = neg %%v%u\n", elem, k);
    return s.data;
}

static void test_all_arithmetic(void **state) {
    arena *a = *state;
    static const char *const ints[] = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"};
    static const char *const floats[] = {"fp16", "bf16", "fp32", "fp64"};
    for (unsigned i = 0; i < 8; i++)
        compile(a, body_kernel(a, ints[i], ints[i], arithmetic_of(a, ints[i], false, false)));
    for (unsigned i = 0; i < 4; i++)
        compile(a, body_kernel(a, floats[i], floats[i], arithmetic_of(a, floats[i], true, i < 2)));
}

static void test_all_casts(void **state) {
    arena *a = *state;
    static const char *const types[] = {"i1",   "i8",   "i16",  "i32",   "i64",
                                        "u8",   "u16",  "u32",  "u64",   "fp16",
                                        "bf16", "fp32", "fp64", "fp8e5", "fp8e4nv"};
    enum { N = sizeof(types) / sizeof(types[0]) };
    for (unsigned from = 0; from < N; from++) {
        strbuf s; // all casts of one type in one kernel, each stored
        strbuf_init(&s, a);
        for (unsigned to = 0; to < N; to++) {
            if (to == from)
                continue;
            strbuf_printf(&s, "%%c%u: tile<256x%s> = cast %%a\n", to, types[to]);
            strbuf_printf(&s, "%%i%u: i64 = cast %%n\n%%p%u: *%s = cast %%i%u\n", to, to, types[to],
                          to);
            strbuf_printf(&s, "%%q%u: tile<256x*%s> = splat %%p%u\n", to, types[to], to);
            strbuf_printf(&s, "%%t%u: tile<256x*%s> = addptr %%q%u, %%ar\n", to, types[to], to);
            strbuf_printf(&s, "store %%t%u, %%c%u\n", to, to);
        }
        strbuf_printf(&s, "%%r: tile<256x%s> = cast %%c%u\n", types[from], from ? 0 : 1);
        compile(a, body_kernel(a, types[from], types[from], s.data));
    }
}

// ---------------------------------------------------------------------------- whole kernels

static void test_softmax(void **state) {
    arena *a = *state;
    const char *ptx = compile(a, SOFTMAX("1024", "4"));
    assert_has(ptx, "ld.global.v4");
    assert_has(ptx, "st.global.v4");
    assert_lacks(ptx, ".local");
    assert_has(ptx, ".reqntid 128");
    assert_has(ptx, "shfl.sync.bfly.b32");
    assert_int_equal(count(ptx, "bar.sync"), 2);
    assert_has(compile(a, SOFTMAX("256", "1")), ".reqntid 32");
    compile(a, SOFTMAX("16384", "8"));
    compile(a, SOFTMAX("8", "32"));
}

static void test_control_flow(void **state) {
    arena *a = *state;
    const char *ptx = compile(
        a, "func @k(%z: *i32, %n: i32, %u: u32, %b: i1) {num_warps = 2, num_ctas = 1, num_stages = "
           "1} {\n"
           "%lo: i32 = const {value = 0}\n%down: i32 = const {value = -2}\n%one: u32 = const "
           "{value = 1}\n"
           "%zero: u32 = const {value = 0}\n"
           "%o: tile<64xi32> = arange {start = 0}\n"
           "%s: tile<64xi32> = for %n, %lo, %down, %o (%i: i32, %acc: tile<64xi32>) {\n"
           "%is: tile<64xi32> = splat %i\n%next: tile<64xi32> = add %acc, %is\nyield %next\n}\n"
           "%c: u32 = for %zero, %u, %one, %zero (%j: u32, %cnt: u32) {\n"
           "%c2: u32 = mul %cnt, %u\n%c3: u32 = add %c2, %j\nyield %c3\n}\n"
           "%t: tile<64xi32> = if %b {\n%d: tile<64xi32> = add %s, %s\nyield %d\n} else {\nyield "
           "%s\n}\n"
           "%w: u32 = while %c (%v: u32) {\n%more: i1 = cmp %v, %u {pred = \"lt\"}\n"
           "condition %more, %v\n} do (%v2: u32) {\n%v3: u32 = add %v2, %v2\n%v4: u32 = add %v3, "
           "%one\nyield %v4\n}\n"
           "%wi: i32 = cast %w\n%ws: tile<64xi32> = splat %wi\n%r: tile<64xi32> = add %t, %ws\n"
           "%zs: tile<64x*i32> = splat %z\n%zp: tile<64x*i32> = addptr %zs, %o\n"
           "store %zp, %r\nreturn\n}\n");
    assert_has(ptx, "bra");
}

static void test_two_kernels_and_lines(void **state) {
    arena *a = *state;
    const char *text =
        sv_format(a, "%s\n%s", copy_kernel(a, "fp32", 16, 16, "", ""), SOFTMAX("128", "4")).data;
    cg_options options = {
        .arch = cg_find_arch("sm_90"), .line_info = true, .source_name = "dir/k.tile"};
    const char *ptx = compile_with(a, text, &options);
    assert_has(ptx, "// .entry copy: block (128, 1, 1)");
    assert_has(ptx, "//   2 n: i32, divisible by ");
    assert_has(ptx, ".visible .entry softmax");
    assert_has(ptx, ".loc	1 9 1"); // the load of the copy kernel
    assert_has(ptx, "\"dir/k.tile\"");
    assert_lacks(ptx, "debug\n");
    assert_has(ptx, ".version 7.8");
    options.ptx_version = 83;
    assert_has(compile_with(a, text, &options), ".version 8.3");
    assert_has(
        compile_with(
            a,
            "func @k() {num_warps = 1, num_ctas = 1, num_stages = 1, maxnreg = 64} {\nreturn\n}\n",
            &options),
        ".maxnreg 64");
}

// ---------------------------------------------------------------------------- refusals

static void expect_refusal(arena *a, const char *text, const cg_options *options,
                           const char *want) {
    cg_binary binary;
    sv messages;
    if (try_compile(a, text, options, &binary, &messages))
        fail_msg("compiled, but expected: %s", want);
    assert_has(messages.data, want);
}

static void test_refusals(void **state) {
    arena *a = *state;
    cg_options options = {.arch = cg_find_arch("sm_80")};
    const char *empty = "func @k() {num_warps = 1, num_ctas = 1, num_stages = 1} {\nreturn\n}\n";
    const char *big =
        "func @k(%z: *i32) {num_warps = 1, num_ctas = 1, num_stages = 1} {\n"
        "%o: tile<131072xi32> = arange {start = 0}\n%zs: tile<131072x*i32> = splat %z\n"
        "%zp: tile<131072x*i32> = addptr %zs, %o\nstore %zp, %o\nreturn\n}\n";
    expect_refusal(a, big, &options, "k.tile:2:1: error: tile<131072xi32> takes 4096 registers");
    expect_refusal(a, body_kernel(a, "fp8e5", "fp8e5", "%r: tile<256xfp8e5> = add %a, %b\n"),
                   &options, "'add' cannot work on fp8e5: convert to fp16 or fp32 first");
    options.ptx_version = 69;
    expect_refusal(a, empty, &options, "PTX 6.9 is not known");
    options = (cg_options){.arch = cg_find_arch("sm_90"), .ptx_version = 70};
    expect_refusal(a, empty, &options, "sm_90 needs PTX 7.8 or newer, but 7.0 was asked for");
    options.ptx_version = 0;
    expect_refusal(a, "func @k() {num_warps = 1, num_ctas = 2, num_stages = 1} {\nreturn\n}\n",
                   &(cg_options){.arch = cg_find_arch("sm_80")},
                   "num_ctas = 2 needs clusters of blocks, which sm_80 does not have");
    expect_refusal(a, sv_format(a, "%s%s", empty, empty).data,
                   &(cg_options){.arch = cg_find_arch("sm_80")}, "'k'");
    assert_null(cg_find_arch("sm_12"));
}

/// A barrier can be left out, for the tests of tests.
static void test_dropped_barrier(void **state) {
    arena *a = *state;
    cg_options options = {.arch = cg_find_arch("sm_80"), .test_drop_barrier = 1};
    assert_int_equal(count(compile_with(a, SOFTMAX("1024", "4"), &options), "bar.sync"), 1);
}

static int setup(void **state) {
    *state = arena_create();
    return 0;
}

static int teardown(void **state) {
    arena_destroy(*state);
    return 0;
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_vector_width),    TEST(test_cache_hints),       TEST(test_constant_pointers),
        TEST(test_bools_are_bytes), TEST(test_copies_store_once), TEST(test_atomics),
        TEST(test_contraction),     TEST(test_all_arithmetic),    TEST(test_all_casts),
        TEST(test_softmax),         TEST(test_control_flow),      TEST(test_two_kernels_and_lines),
        TEST(test_refusals),        TEST(test_dropped_barrier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
