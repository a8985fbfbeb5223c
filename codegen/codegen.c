// The door to PTX: checks what was asked for, emits every function of a module into one LLVM
// module, runs LLVM over it, and puts a header in front that states the ABI of every entry
// (RULES 23). The host's door is in host_jit.c.
#include "codegen/llvm_backend.h"
#include "codegen/nvptx.h"
#include "codegen/ptx_respell.h"
#include "support/clock.h"

#include <stdio.h>

// Chosen by measurement (docs/codegen.md): the registers and, within a few instructions, the code
// of O2 at a tenth of its time. What does not change moves out of grid-stride loops. There is no
// jump threading: it would join the branches of equal masks and with that put an access's loads
// behind another one's stores.
#define PASSES "function(dce,early-cse,instcombine<no-verify-fixpoint>,loop-mssa(licm),simplifycfg)"

// The code generator's own optimizations take time that grows with the square of the code's size
// (docs/codegen.md). Kernels above these sizes do without, and get before it the pass that gives
// neighbouring accesses one address; the assembler optimizes them anyway.
#define PASSES_BEFORE_FAST "function(separate-const-offset-from-gep,early-cse)"

enum { MANY_INSTRUCTIONS = 6144, MANY_SUMS = 192 };

// ---------------------------------------------------------------------------- architectures

enum { KIB = 1024 };

/// Ascending; --arch=native and the runtime pick the last row that the device is not older than.
// clang-format off
static const cg_arch archs[] = {
    // name, sm, least LLVM, least PTX, shared memory per block, threads per SM, clusters
    {"sm_80",   80, 19, 70, 163 * KIB, 2048, false},
    {"sm_86",   86, 19, 71,  99 * KIB, 1536, false},
    {"sm_87",   87, 19, 74, 163 * KIB, 1536, false},
    {"sm_89",   89, 19, 78,  99 * KIB, 1536, false},
    {"sm_90",   90, 19, 78, 227 * KIB, 2048, true},
    {"sm_100", 100, 20, 86, 227 * KIB, 2048, true},
    {"sm_103", 103, 21, 88, 227 * KIB, 2048, true},
    {"sm_120", 120, 20, 87,  99 * KIB, 1536, true},
    {"sm_121", 121, 21, 88,  99 * KIB, 1536, true},
};
// clang-format on

enum { NUM_ARCHS = sizeof(archs) / sizeof(archs[0]) };

const cg_arch *cg_arch_at(unsigned i) { return i < NUM_ARCHS ? &archs[i] : NULL; }

const cg_arch *cg_find_arch(const char *name) {
    for (unsigned i = 0; i < NUM_ARCHS; i++) {
        if (strcmp(archs[i].name, name) == 0)
            return &archs[i];
    }
    return NULL;
}

/// PTX ISA versions there are.
static const unsigned ptx_versions[] = {70, 71, 72, 73, 74, 75, 76, 77, 78, 80,
                                        81, 82, 83, 84, 85, 86, 87, 88, 90};

static bool ptx_version_exists(unsigned v) {
    for (size_t i = 0; i < sizeof(ptx_versions) / sizeof(ptx_versions[0]); i++) {
        if (ptx_versions[i] == v)
            return true;
    }
    return false;
}

const char *cg_llvm_version(void) {
    static _Thread_local char text[32];
    unsigned major, minor, patch;
    LLVMGetVersion(&major, &minor, &patch);
    snprintf(text, sizeof(text), "%u.%u.%u", major, minor, patch);
    return text;
}

// ---------------------------------------------------------------------------- one compilation

typedef struct ptx_job {
    ir_module *module;
    const cg_options *options;
    cg_binary *out;
    llvm_job llvm;
    unsigned ptx_version; ///< what the instructions and the architecture need, at least
} ptx_job;

static bool check_options(diag *d, const cg_options *o) {
    const cg_arch *arch = o->arch;
    if (arch->least_llvm > llvm_major_version()) {
        diag_error(d, SRC_NONE, "%s needs LLVM %u or newer; this is %s", arch->name,
                   arch->least_llvm, cg_llvm_version());
        return false;
    }
    unsigned v = o->ptx_version;
    if (!v)
        return true;
    if (!ptx_version_exists(v) || v > llvm_newest_ptx())
        diag_error(d, SRC_NONE, "PTX %u.%u is not known to LLVM %s", v / 10, v % 10,
                   cg_llvm_version());
    else if (v < arch->least_ptx)
        diag_error(d, SRC_NONE, "%s needs PTX %u.%u or newer, but %u.%u was asked for", arch->name,
                   arch->least_ptx / 10, arch->least_ptx % 10, v / 10, v % 10);
    else
        return true;
    return false;
}

/// The entry's name stands in the PTX as it is: it must be one there, and be the only one.
static bool check_name(diag *d, const ir_func *f) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$";
    bool ok = f->name.len > 0;
    for (size_t i = 0; i < f->name.len && ok; i++) {
        char c = f->name.data[i];
        ok = c && (strchr(letters, c) || (i > 0 && c >= '0' && c <= '9'));
    }
    if (!ok) {
        diag_error(d, f->range,
                   "'%" SV_FMT "' cannot be the name of an entry in PTX: use ASCII "
                   "letters, digits and '_'",
                   SV_ARG(f->name));
        return false;
    }
    for (const ir_func *other = f->module->first; other != f; other = other->next) {
        if (sv_equal(other->name, f->name)) {
            diag_error(d, f->range, "two entries are called '%" SV_FMT "'", SV_ARG(f->name));
            return false;
        }
    }
    return true;
}

/// What a kernel asks of the architecture.
static bool check_kernel(diag *d, const cg_arch *arch, const ir_func *f, uint32_t shared_bytes) {
    if (f->num_ctas > 1 && !arch->has_clusters) {
        diag_error(d, f->range,
                   "num_ctas = %u needs clusters of blocks, which %s does not have: sm_90 is the "
                   "first one that does",
                   f->num_ctas, arch->name);
        return false;
    }
    if (shared_bytes > arch->shared_bytes) {
        diag_error(d, f->range,
                   "'%" SV_FMT "' needs %u bytes of shared memory; %s has %u per block",
                   SV_ARG(f->name), shared_bytes, arch->name, arch->shared_bytes);
        return false;
    }
    return true;
}

static bool emit_functions(ptx_job *j) {
    ir_module *m = j->module;
    nvptx_state state = {.sm = j->options->arch->sm, .ptx_version = j->options->arch->least_ptx};
    emitter e = {
        .arena = m->arena,
        .diag = m->diag,
        .options = j->options,
        .tgt = &target_nvptx,
        .llvm = j->llvm.context,
        .module = j->llvm.module,
        .b = j->llvm.builder,
    };
    nvptx_begin_module(&e, &state);
    bool ok = true;
    uint32_t i = 0;
    for (ir_func *f = m->first; f; f = f->next, i++) {
        e.func = f;
        if (!check_name(m->diag, f) || !check_kernel(m->diag, j->options->arch, f, 0) ||
            !emit_function(&e)) {
            ok = false;
            continue;
        }
        cg_kernel *k = &j->out->kernels[i];
        *k = (cg_kernel){f->name, f->num_warps, f->num_ctas, smem_total_bytes(e.smem),
                         f->num_params};
        ok = check_kernel(m->diag, j->options->arch, f, k->shared_bytes) && ok;
    }
    nvptx_end_module(&e);
    j->ptx_version = state.ptx_version;
    return ok;
}

static bool choose_ptx_version(ptx_job *j) {
    unsigned asked = j->options->ptx_version;
    if (asked && asked < j->ptx_version) {
        diag_error(j->module->diag, SRC_NONE,
                   "the program needs PTX %u.%u or newer, but %u.%u was asked for",
                   j->ptx_version / 10, j->ptx_version % 10, asked / 10, asked % 10);
        return false;
    }
    if (asked)
        j->ptx_version = asked;
    if (j->ptx_version > llvm_newest_ptx()) {
        diag_error(j->module->diag, SRC_NONE,
                   "the program needs PTX %u.%u or newer; LLVM %s writes up to %u.%u",
                   j->ptx_version / 10, j->ptx_version % 10, cg_llvm_version(),
                   llvm_newest_ptx() / 10, llvm_newest_ptx() % 10);
        return false;
    }
    return true;
}

// ---------------------------------------------------------------------------- the header

static void describe_param(strbuf *s, const ir_func *f, uint32_t i) {
    const ir_param *p = &f->params[i];
    strbuf_printf(s, "//   %u %" SV_FMT ": ", i, SV_ARG(p->name));
    ir_type_print(f->body->args[i]->type, s);
    if (f->body->args[i]->type.elem == DT_I1)
        strbuf_puts(s, ", one byte");
    if (p->is_one)
        strbuf_puts(s, ", is 1");
    else if (p->divisibility > 1)
        strbuf_printf(s, ", divisible by %u", p->divisibility);
    strbuf_putc(s, '\n');
}

static void describe_kernel(strbuf *s, const ir_func *f, const cg_kernel *k) {
    char per_program[64] = "";
    if (k->num_ctas > 1)
        snprintf(per_program, sizeof(per_program), " * %u, in clusters of %u", k->num_ctas,
                 k->num_ctas);
    strbuf_printf(s,
                  "// .entry %" SV_FMT ": block (%u, 1, 1), grid (programs%s, ...), "
                  "%u bytes of dynamic shared memory\n",
                  SV_ARG(f->name), 32 * k->num_warps, per_program, k->shared_bytes);
    for (uint32_t i = 0; i < f->num_params; i++)
        describe_param(s, f, i);
}

/// The header, then LLVM's text without its own one.
static sv put_together(ptx_job *j, const char *text, size_t len) {
    const char *version = strstr(text, ".version");
    strbuf s;
    strbuf_init(&s, j->module->arena);
    if (j->options->source_name)
        strbuf_printf(&s, "// From %s by tilec.\n",
                      nvptx_file_name(j->module->arena, j->options->source_name));
    uint32_t i = 0;
    for (const ir_func *f = j->module->first; f; f = f->next)
        describe_kernel(&s, f, &j->out->kernels[i++]);
    strbuf_putc(&s, '\n');
    size_t skipped = version ? (size_t)(version - text) : 0;
    ptx_respell(&s, (sv){text + skipped, len - skipped});
    return strbuf_view(&s);
}

// ---------------------------------------------------------------------------- entry

/// Prepares a module for the fast way through LLVM's code generator if it is large.
static bool prepare_large(ptx_job *j) {
    llvm_size size = llvm_job_size(&j->llvm);
    if (size.instructions <= MANY_INSTRUCTIONS && size.sums <= MANY_SUMS)
        return true;
    return llvm_job_run_passes(&j->llvm, PASSES_BEFORE_FAST) &&
           llvm_job_target_nvptx(&j->llvm, j->options->arch->name, j->ptx_version, true);
}

static bool run(void *ctx) {
    ptx_job *j = ctx;
    arena *a = j->module->arena;
    double start = clock_seconds();
    llvm_job_open(&j->llvm);
    if (!emit_functions(j) || !choose_ptx_version(j) ||
        !llvm_job_target_nvptx(&j->llvm, j->options->arch->name, j->ptx_version, false) ||
        !llvm_job_verify(&j->llvm))
        return false;
    double built = clock_seconds();
    if (!llvm_job_run_passes(&j->llvm, PASSES) || !prepare_large(j))
        return false;
    double passed = clock_seconds();
    if (j->options->keep_llvm_ir)
        j->out->llvm_ir = llvm_job_print(&j->llvm, a);
    j->out->times = (cg_times){built - start, passed - built, 0};
    if (j->options->stop_at_llvm_ir)
        return true;
    LLVMMemoryBufferRef text;
    if (!llvm_job_emit(&j->llvm, LLVMAssemblyFile, &text))
        return false;
    j->out->ptx = put_together(j, LLVMGetBufferStart(text), LLVMGetBufferSize(text));
    LLVMDisposeMemoryBuffer(text);
    j->out->times.emit_s = clock_seconds() - passed;
    return true;
}

/// Runs the job and cleans up after it, inside the guard.
static bool run_and_close(void *ctx) {
    ptx_job *j = ctx;
    bool ok = run(j);
    if (!ok && j->llvm.error[0])
        diag_error(j->module->diag, SRC_NONE, "internal error: LLVM: %s", j->llvm.error);
    llvm_job_close(&j->llvm);
    return ok;
}

bool cg_compile_ptx(ir_module *m, const cg_options *options, cg_binary *out) {
    *out = (cg_binary){0};
    for (const ir_func *f = m->first; f; f = f->next)
        out->num_kernels++;
    out->kernels = ARENA_ARRAY(m->arena, cg_kernel, out->num_kernels);
    if (!check_options(m->diag, options))
        return false;
    ptx_job j = {.module = m, .options = options, .out = out};
    return llvm_guard(m->arena, m->diag, run_and_close, &j);
}
