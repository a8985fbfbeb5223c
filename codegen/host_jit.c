// Host code: every function of a module through the emitter and the host target to LLVM IR, then
// machine code in this process through ORC, with the processor's own vector instructions. ORC only
// links the object file; the runtime's functions and the few C library functions that LLVM may call
// are given to it by address, so no symbol is searched for.
//
// Compile time counts more than speed here: the device is for checking kernels, most of which run
// a few programs. Optimizing instruction selection and register allocation double the compile time
// and change nothing measurable in the run time, because the registers of a warp live in memory
// between calls anyway (host_slot.c).
#include "codegen/host_emit.h"
#include "codegen/llvm_backend.h"
#include "support/clock.h"

#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <math.h>
#include <stdlib.h>

enum {
    SMALL_FRAME_BYTES = 64 << 10,    ///< frames up to this are not looked at
    RUNTIME_STACK_BYTES = 256 << 10, ///< for what generated code calls
};

#define PASSES "function(early-cse,adce)"

/// One compilation.
typedef struct host_job {
    ir_module *module;
    const cg_options *options;
    cg_binary *out;
    cg_host_code *code; ///< what is done of the result
    llvm_job llvm;
    host_module_state state;
} host_job;

static bool fail(host_job *j, const char *text) {
    diag_error(j->module->diag, SRC_NONE, "internal error: %s", text);
    return false;
}

/// Reports and frees an LLVM error; true if there was none.
static bool succeeded(host_job *j, LLVMErrorRef error) {
    if (!error)
        return true;
    char *text = LLVMGetErrorMessage(error);
    diag_error(j->module->diag, SRC_NONE, "internal error: linking host code: %s", text);
    LLVMDisposeErrorMessage(text);
    return false;
}

// ---------------------------------------------------------------------------- IR

static bool check_function(host_job *j, const ir_func *f) {
    diag *d = j->module->diag;
    if (LLVMGetNamedFunction(j->llvm.module, host_entry_symbol(j->module->arena, f->name).data)) {
        diag_error(d, f->range, "two entries are called '%" SV_FMT "'", SV_ARG(f->name));
        return false;
    }
    return true;
}

static bool emit_functions(host_job *j) {
    emitter e = {
        .arena = j->module->arena,
        .diag = j->module->diag,
        .options = j->options,
        .tgt = &target_host,
        .llvm = j->llvm.context,
        .module = j->llvm.module,
        .b = j->llvm.builder,
        .target_state = &j->state,
    };
    bool ok = true;
    uint32_t i = 0;
    for (ir_func *f = j->module->first; f; f = f->next, i++) {
        e.func = f;
        if (!check_function(j, f) || !emit_function(&e)) {
            ok = false;
            continue;
        }
        llvm_job_measure_frame(&j->llvm, e.fn, SMALL_FRAME_BYTES);
        j->out->kernels[i] = (cg_kernel){f->name, f->num_warps, f->num_ctas,
                                         smem_total_bytes(e.smem), f->num_params};
    }
    return ok;
}

// ---------------------------------------------------------------------------- linking

typedef struct host_symbol {
    const char *name;
    uintptr_t address;
} host_symbol;

#define SYMBOL(fn)                                                                                 \
    { #fn, (uintptr_t)fn }

static const host_symbol symbols[] = {
#define X(fn, signature) SYMBOL(fn),
    HOST_RUNTIME(X)
#undef X
    // What LLVM may call by itself.
    SYMBOL(memcpy),
    SYMBOL(memmove),
    SYMBOL(memset),
    SYMBOL(fma),
    SYMBOL(fmaf),
    SYMBOL(floor),
    SYMBOL(floorf),
    SYMBOL(ceil),
    SYMBOL(ceilf),
    SYMBOL(trunc),
    SYMBOL(truncf),
    SYMBOL(sqrt),
    SYMBOL(sqrtf),
};

enum { NUM_SYMBOLS = sizeof(symbols) / sizeof(symbols[0]) };

static bool define_symbols(host_job *j, LLVMOrcLLJITRef jit) {
    LLVMOrcCSymbolMapPair pairs[NUM_SYMBOLS];
    for (unsigned i = 0; i < NUM_SYMBOLS; i++) {
        pairs[i].Name = LLVMOrcLLJITMangleAndIntern(jit, symbols[i].name);
        pairs[i].Sym.Address = symbols[i].address;
        pairs[i].Sym.Flags.GenericFlags = LLVMJITSymbolGenericFlagsExported;
        pairs[i].Sym.Flags.TargetFlags = 0;
    }
    LLVMOrcMaterializationUnitRef unit = LLVMOrcAbsoluteSymbols(pairs, NUM_SYMBOLS);
    LLVMErrorRef error = LLVMOrcJITDylibDefine(LLVMOrcLLJITGetMainJITDylib(jit), unit);
    if (error)
        LLVMOrcDisposeMaterializationUnit(unit);
    return succeeded(j, error);
}

/// ORC would print errors that its calls also return.
static void drop_error(void *ctx, LLVMErrorRef error) {
    (void)ctx;
    LLVMConsumeError(error);
}

/// Links the object, which it takes over, and looks up every kernel's entry.
static bool link_object(host_job *j, LLVMMemoryBufferRef object) {
    LLVMOrcLLJITRef jit = NULL;
    if (!succeeded(j, LLVMOrcCreateLLJIT(&jit, NULL))) {
        LLVMDisposeMemoryBuffer(object);
        return false;
    }
    j->code->jit = jit;
    LLVMOrcExecutionSessionSetErrorReporter(LLVMOrcLLJITGetExecutionSession(jit), drop_error, NULL);
    if (!define_symbols(j, jit)) {
        LLVMDisposeMemoryBuffer(object);
        return false;
    }
    LLVMOrcJITDylibRef library = LLVMOrcLLJITGetMainJITDylib(jit);
    if (!succeeded(j, LLVMOrcLLJITAddObjectFile(jit, library, object)))
        return false;
    for (uint32_t i = 0; i < j->code->num_kernels; i++) {
        LLVMOrcExecutorAddress address;
        const char *name = host_entry_symbol(j->module->arena, j->out->kernels[i].name).data;
        if (!succeeded(j, LLVMOrcLLJITLookup(jit, &address, name)))
            return false;
        j->code->kernels[i].entry = (host_kernel_fn *)(uintptr_t)address;
    }
    return true;
}

// ---------------------------------------------------------------------------- the result

static size_t string_bytes(const char *s) { return s ? strlen(s) + 1 : 0; }

/// Copies a string behind *end, unless it is the one copied for the site before.
static const char *keep_string(const char *s, const char *previous, const char *previous_copy,
                               char **end) {
    if (!s || s == previous)
        return s ? previous_copy : NULL;
    char *copy = memcpy(*end, s, strlen(s) + 1);
    *end += strlen(s) + 1;
    return copy;
}

/// The sites outlive the arena that their strings are in.
static bool keep_sites(cg_host_code *code, const host_module_state *state) {
    uint32_t n = state->sites.len;
    const host_site *from = state->sites.data;
    size_t bytes = 1;
    for (uint32_t i = 0; i < n; i++)
        bytes +=
            string_bytes(from[i].file) + string_bytes(from[i].name) + string_bytes(from[i].text);
    code->num_sites = n;
    code->sites = calloc(n + 1, sizeof(*code->sites));
    code->strings = malloc(bytes);
    if (!code->sites || !code->strings)
        return false;
    char *end = code->strings;
    const host_site none = {0};
    for (uint32_t i = 0; i < n; i++) {
        const host_site *last = i ? &from[i - 1] : &none, *copy = i ? &code->sites[i - 1] : &none;
        host_site *to = &code->sites[i];
        *to = from[i];
        to->file = keep_string(from[i].file, last->file, copy->file, &end);
        to->name = keep_string(from[i].name, last->name, copy->name, &end);
        to->text = keep_string(from[i].text, last->text, copy->text, &end);
    }
    return true;
}

static bool create_code(host_job *j) {
    cg_host_code *code = j->code = calloc(1, sizeof(*code));
    if (!code)
        return fail(j, "out of memory");
    uint32_t n = code->num_kernels = j->out->num_kernels;
    code->kernels = calloc(n + 1, sizeof(*code->kernels));
    if (!code->kernels || !keep_sites(code, &j->state))
        return fail(j, "out of memory");
    for (uint32_t i = 0; i < n; i++) {
        const cg_kernel *k = &j->out->kernels[i];
        code->kernels[i] = (host_kernel){
            .num_warps = k->num_warps,
            .num_ctas = k->num_ctas,
            .shared_bytes = k->shared_bytes,
            .num_params = k->num_params,
            .stack_bytes = j->llvm.frame_bytes + SMALL_FRAME_BYTES + RUNTIME_STACK_BYTES,
        };
    }
    return true;
}

// ---------------------------------------------------------------------------- entry

static bool run(host_job *j) {
    double start = clock_seconds();
    llvm_job_open(&j->llvm);
    if (!llvm_job_target_host(&j->llvm) || !emit_functions(j) || !llvm_job_verify(&j->llvm))
        return false;
    double built = clock_seconds();
    if (!llvm_job_run_passes(&j->llvm, PASSES))
        return false;
    double passed = clock_seconds();
    if (j->options->keep_llvm_ir)
        j->out->llvm_ir = llvm_job_print(&j->llvm, j->module->arena);
    j->out->times = (cg_times){built - start, passed - built, 0};
    if (j->options->stop_at_llvm_ir)
        return true;
    LLVMMemoryBufferRef object;
    if (!llvm_job_emit(&j->llvm, LLVMObjectFile, &object))
        return false;
    if (!create_code(j)) {
        LLVMDisposeMemoryBuffer(object);
        return false;
    }
    bool ok = link_object(j, object);
    j->out->times.emit_s = clock_seconds() - passed;
    return ok;
}

/// Runs the job and cleans up after it, inside the guard.
static bool run_and_close(void *ctx) {
    host_job *j = ctx;
    bool ok = run(j);
    if (!ok && j->llvm.error[0])
        diag_error(j->module->diag, SRC_NONE, "internal error: LLVM: %s", j->llvm.error);
    if (!ok) {
        cg_host_destroy(j->code);
        j->code = NULL;
    }
    llvm_job_close(&j->llvm);
    return ok;
}

bool cg_compile_host(ir_module *m, const cg_options *options, cg_binary *out,
                     cg_host_code **out_code) {
    *out = (cg_binary){0};
    *out_code = NULL;
    for (const ir_func *f = m->first; f; f = f->next)
        out->num_kernels++;
    out->kernels = ARENA_ARRAY(m->arena, cg_kernel, out->num_kernels);
    host_job j = {.module = m, .options = options, .out = out};
    bool ok = llvm_guard(m->arena, m->diag, run_and_close, &j);
    *out_code = ok ? j.code : NULL;
    return ok;
}

void cg_host_destroy(cg_host_code *code) {
    if (!code)
        return;
    if (code->jit)
        LLVMConsumeError(LLVMOrcDisposeLLJIT(code->jit));
    free(code->kernels);
    free(code->sites);
    free(code->strings);
    free(code);
}
