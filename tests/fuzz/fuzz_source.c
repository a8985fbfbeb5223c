// Source text to LLVM IR: every kernel of the file is lowered and sent through the passes to one of
// the two code generators (an odd length picks the host). Parameters without a type get one by their
// place, so that Triton's own style of kernel gets past its first line.
#include "frontend/frontend.h"
#include "fuzz.h"

enum { MAX_KERNELS = 3, MAX_ARGS = 8 };

static uint32_t guess_types(const fe_kernel *k, fe_arg *args) {
    static const dtype pointees[] = {DT_FP32, DT_I32, DT_FP16, DT_I1};
    uint32_t n = 0;
    for (uint32_t i = 0; i < k->num_params && n < MAX_ARGS; i++) {
        const fe_param *p = &k->params[i];
        if (p->has_type || p->has_default)
            continue;
        fe_arg *arg = &args[n++];
        *arg = (fe_arg){.name = p->name};
        if (p->is_constexpr) {
            arg->is_constexpr = true;
            arg->constant = (fe_constant){.kind = FE_INT, .i = 16};
            continue;
        }
        bool is_number = p->name.len && (p->name.data[0] | 32) == 'n';
        arg->has_type = true;
        arg->divisibility = i % 2 ? 16 : 1;
        arg->type = is_number ? ir_scalar_type(DT_I32) : ir_pointer_type(pointees[i % 4], false);
    }
    return n;
}

static void compile(arena *a, sv text) {
    static const fe_options options = {.num_warps = 4, .num_ctas = 1, .num_stages = 3};
    static const char path[] = "/nowhere/fuzz.tile"; // imports must not find the corpus
    diag *d = diag_create(a);
    fe_program *p = fe_load(a, d, diag_add_file(d, path, text), &options);
    FUZZ_CHECK(p || diag_error_count(d), "parsing failed without a message");
    for (uint32_t i = 0; p && i < fe_kernel_count(p) && i < MAX_KERNELS; i++) {
        const fe_kernel *k = fe_get_kernel(p, i);
        fe_arg args[MAX_ARGS];
        uint32_t num_args = guess_types(k, args);
        ir_module *m = ir_module_create(a, d);
        ir_func *f = fe_lower(p, m, k, args, num_args, &options);
        FUZZ_CHECK(f || diag_error_count(d), "lowering failed without a message");
        if (!f)
            continue;
        FUZZ_CHECK(ir_verify(f, "after lowering"), "lowering made bad IR");
        fuzz_check_round_trip(m);
        fuzz_compile(m, text.len % 2);
    }
    if (p && !fe_kernel_count(p))
        fe_explain_no_kernels(p);
    fuzz_check_messages(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_in_arena(compile, data, size);
    return 0;
}
