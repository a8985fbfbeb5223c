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

#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    SMALL_FRAME_BYTES = 64 << 10,  ///< LLVM tells of frames above this
    RUNTIME_STACK_BYTES = 256 << 10, ///< for what generated code calls
};

#define PASSES "function(early-cse,adce)"

/// One compilation: the LLVM objects that must be disposed of by hand.
typedef struct job {
    ir_module *module;
    const cg_options *options;
    cg_binary *out;
    cg_host_code **out_code;
    LLVMContextRef llvm;
    LLVMModuleRef ir;
    LLVMBuilderRef builder;
    LLVMTargetMachineRef machine;
    LLVMMemoryBufferRef object;
    host_module_state state;
    uint64_t frame_bytes; ///< largest stack frame that LLVM has told of
    char *failure;        ///< an error that LLVM reported while selecting instructions
} job;

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool fail(job *j, const char *what, const char *detail) {
    diag_error(j->module->diag, SRC_NONE, "internal error: %s: %s", what, detail ? detail : "?");
    return false;
}

/// Reports and frees an LLVM error; true if there was none.
static bool succeeded(job *j, const char *what, LLVMErrorRef error) {
    if (!error)
        return true;
    char *text = LLVMGetErrorMessage(error);
    fail(j, what, text);
    LLVMDisposeErrorMessage(text);
    return false;
}

// ---------------------------------------------------------------------------- LLVM set-up

static void initialize_native_target(void) {
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
}

/// LLVM's messages. A stack frame's size comes as a warning, because every function asks for one:
/// "stack frame size (N) exceeds limit (M) in function 'f'".
static void on_diagnostic(LLVMDiagnosticInfoRef info, void *context) {
    job *j = context;
    char *text = LLVMGetDiagInfoDescription(info);
    // The text starts with the kernel's place in the source, if LLVM knows it.
    const char *frame = strstr(text, "stack frame size (");
    unsigned long long bytes;
    if (frame && sscanf(frame, "stack frame size (%llu)", &bytes) == 1) {
        if (bytes > j->frame_bytes)
            j->frame_bytes = bytes;
    } else if (LLVMGetDiagInfoSeverity(info) == LLVMDSError && !j->failure) {
        j->failure = strdup(text);
    }
    LLVMDisposeMessage(text);
}

static bool create_machine(job *j) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, initialize_native_target);
    char *triple = LLVMGetDefaultTargetTriple(), *error = NULL;
    char *cpu = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
    LLVMTargetRef native;
    if (LLVMGetTargetFromTriple(triple, &native, &error) == 0)
        j->machine = LLVMCreateTargetMachine(native, triple, cpu, features, LLVMCodeGenLevelNone,
                                             LLVMRelocPIC, LLVMCodeModelSmall);
    bool ok = j->machine != NULL;
    if (ok) {
        LLVMTargetDataRef data_layout = LLVMCreateTargetDataLayout(j->machine);
        LLVMSetModuleDataLayout(j->ir, data_layout);
        LLVMSetTarget(j->ir, triple);
        LLVMDisposeTargetData(data_layout);
    } else {
        fail(j, "LLVM does not know this machine", error);
    }
    LLVMDisposeMessage(error);
    LLVMDisposeMessage(triple);
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
    return ok;
}

static bool begin_job(job *j) {
    j->llvm = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(j->llvm, on_diagnostic, j);
    j->ir = LLVMModuleCreateWithNameInContext("tile", j->llvm);
    j->builder = LLVMCreateBuilderInContext(j->llvm);
    return create_machine(j);
}

static void end_job(job *j) {
    if (j->object)
        LLVMDisposeMemoryBuffer(j->object);
    if (j->builder)
        LLVMDisposeBuilder(j->builder);
    if (j->ir)
        LLVMDisposeModule(j->ir);
    if (j->machine)
        LLVMDisposeTargetMachine(j->machine);
    if (j->llvm)
        LLVMContextDispose(j->llvm);
    free(j->failure);
}

// ---------------------------------------------------------------------------- IR, passes, object

static void ask_for_frame_size(job *j, LLVMValueRef fn) {
    char limit[16];
    int n = snprintf(limit, sizeof(limit), "%d", SMALL_FRAME_BYTES);
    static const char key[] = "warn-stack-size";
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(j->llvm, key, sizeof(key) - 1, limit,
                                                      (unsigned)n));
}

static bool emit_functions(job *j, cg_kernel *kernels) {
    uint32_t i = 0;
    bool ok = true;
    for (ir_func *f = j->module->first; f; f = f->next, i++) {
        emitter e = {
            .arena = j->module->arena,
            .diag = j->module->diag,
            .options = j->options,
            .tgt = &target_host,
            .func = f,
            .llvm = j->llvm,
            .module = j->ir,
            .b = j->builder,
            .target_state = &j->state,
        };
        if (!emit_function(&e)) {
            ok = false;
            continue;
        }
        ask_for_frame_size(j, e.fn);
        kernels[i] = (cg_kernel){.name = f->name,
                                 .num_warps = f->num_warps,
                                 .num_ctas = f->num_ctas,
                                 .shared_bytes = smem_total_bytes(e.smem),
                                 .num_params = f->num_params};
    }
    return ok;
}

static bool verify(job *j) {
    char *text = NULL;
    bool ok = !LLVMVerifyModule(j->ir, LLVMReturnStatusAction, &text);
    if (!ok)
        fail(j, "the emitter made invalid LLVM IR", text);
    LLVMDisposeMessage(text);
    return ok;
}

static bool run_passes(job *j) {
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(j->ir, PASSES, j->machine, options);
    LLVMDisposePassBuilderOptions(options);
    return succeeded(j, "LLVM's passes failed", error);
}

static bool emit_object(job *j) {
    char *text = NULL;
    bool ok = !LLVMTargetMachineEmitToMemoryBuffer(j->machine, j->ir, LLVMObjectFile, &text,
                                                   &j->object) && !j->failure;
    if (!ok)
        fail(j, "LLVM cannot compile this function", j->failure ? j->failure : text);
    LLVMDisposeMessage(text);
    return ok;
}

// ---------------------------------------------------------------------------- linking

typedef struct host_symbol {
    const char *name;
    uintptr_t address;
} host_symbol;

#define SYMBOL(fn) {#fn, (uintptr_t)fn}

static const host_symbol symbols[] = {
#define X(fn, signature) SYMBOL(fn),
    HOST_RUNTIME(X)
#undef X
    // What LLVM may call by itself.
    SYMBOL(memcpy), SYMBOL(memmove), SYMBOL(memset), SYMBOL(fma), SYMBOL(fmaf), SYMBOL(floor),
    SYMBOL(floorf), SYMBOL(ceil), SYMBOL(ceilf), SYMBOL(trunc), SYMBOL(truncf), SYMBOL(sqrt),
    SYMBOL(sqrtf),
};

enum { NUM_SYMBOLS = sizeof(symbols) / sizeof(symbols[0]) };

static bool define_symbols(job *j, LLVMOrcLLJITRef jit) {
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
    return succeeded(j, "the runtime's symbols cannot be defined", error);
}

/// Links the object, which it takes over, and looks up every kernel's entry.
static bool link_object(job *j, cg_host_code *code, const cg_binary *binary) {
    LLVMOrcLLJITRef jit = NULL;
    if (!succeeded(j, "ORC cannot start", LLVMOrcCreateLLJIT(&jit, NULL)))
        return false;
    code->jit = jit;
    if (!define_symbols(j, jit))
        return false;
    LLVMMemoryBufferRef object = j->object;
    j->object = NULL;
    if (!succeeded(j, "the machine code cannot be added",
                   LLVMOrcLLJITAddObjectFile(jit, LLVMOrcLLJITGetMainJITDylib(jit), object)))
        return false;
    for (uint32_t i = 0; i < code->num_kernels; i++) {
        LLVMOrcExecutorAddress address;
        const char *name = host_entry_symbol(j->module->arena, binary->kernels[i].name).data;
        if (!succeeded(j, "the machine code cannot be linked",
                       LLVMOrcLLJITLookup(jit, &address, name)))
            return false;
        code->kernels[i].entry = (host_kernel_fn *)(uintptr_t)address;
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
        bytes += string_bytes(from[i].file) + string_bytes(from[i].name) + string_bytes(from[i].text);
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

static cg_host_code *create_code(job *j, const cg_binary *binary) {
    cg_host_code *code = calloc(1, sizeof(*code));
    if (!code)
        return NULL;
    code->num_kernels = binary->num_kernels;
    code->kernels = calloc(binary->num_kernels + 1, sizeof(*code->kernels));
    if (!code->kernels || !keep_sites(code, &j->state)) {
        cg_host_destroy(code);
        return NULL;
    }
    for (uint32_t i = 0; i < binary->num_kernels; i++) {
        const cg_kernel *k = &binary->kernels[i];
        code->kernels[i] = (host_kernel){.num_warps = k->num_warps,
                                         .num_ctas = k->num_ctas,
                                         .shared_bytes = k->shared_bytes,
                                         .num_params = k->num_params,
                                         .stack_bytes = j->frame_bytes + SMALL_FRAME_BYTES +
                                                        RUNTIME_STACK_BYTES};
    }
    return code;
}

static void keep_llvm_ir(job *j, cg_binary *out) {
    char *text = LLVMPrintModuleToString(j->ir);
    out->llvm_ir = sv_copy(j->module->arena, sv_from(text));
    LLVMDisposeMessage(text);
}

static bool compile(job *j, cg_binary *out, cg_host_code **out_code) {
    double start = now_s();
    if (!begin_job(j) || !emit_functions(j, out->kernels) || !verify(j))
        return false;
    double built = now_s();
    if (!run_passes(j))
        return false;
    if (j->options->keep_llvm_ir)
        keep_llvm_ir(j, out);
    double optimized = now_s();
    if (!emit_object(j))
        return false;
    cg_host_code *code = create_code(j, out);
    if (!code || !link_object(j, code, out)) {
        cg_host_destroy(code);
        return code ? false : fail(j, "host code", "out of memory");
    }
    out->times = (cg_times){built - start, optimized - built, now_s() - optimized};
    *out_code = code;
    return true;
}

/// Runs the job and cleans up after it, inside the guard.
static bool compile_and_end(void *ctx) {
    job *j = ctx;
    bool ok = compile(j, j->out, j->out_code);
    end_job(j);
    return ok;
}

bool cg_compile_host(ir_module *m, const cg_options *options, cg_binary *out,
                     cg_host_code **out_code) {
    *out = (cg_binary){0};
    *out_code = NULL;
    for (ir_func *f = m->first; f; f = f->next)
        out->num_kernels++;
    out->kernels = ARENA_ARRAY(m->arena, cg_kernel, out->num_kernels);
    job j = {.module = m, .options = options, .out = out, .out_code = out_code};
    return llvm_guard(m->diag, compile_and_end, &j);
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
