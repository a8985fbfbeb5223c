// From tile IR with layouts to something that runs: PTX text for an NVIDIA GPU, or machine code
// for the host. One entry for each. The code generator knows nothing of launches.
#ifndef TILE_CODEGEN_CODEGEN_H
#define TILE_CODEGEN_CODEGEN_H

#include "ir/ir.h"

typedef struct cg_arch {
    const char *name;      ///< "sm_90"
    unsigned sm;           ///< 90
    unsigned least_llvm;   ///< LLVM major version that knows it
    unsigned least_ptx;    ///< 78 for 7.8
    uint32_t shared_bytes; ///< largest dynamic shared memory of a block (opt-in)
    uint32_t threads_per_sm;
    bool has_clusters;
} cg_arch;

/// Finds an architecture by name; NULL if the table lacks it.
const cg_arch *cg_find_arch(const char *name);
/// Row i of the table, NULL past its end.
const cg_arch *cg_arch_at(unsigned i);

typedef struct cg_options {
    const cg_arch *arch;        ///< NULL for host code
    unsigned ptx_version;       ///< 0: the lowest that does
    bool no_fp_fusion;          ///< --fp-fusion=off
    bool line_info;             ///< .loc
    bool keep_llvm_ir;          ///< fill cg_kernel_binary.llvm_ir / cg_binary.llvm_ir
    bool stop_at_llvm_ir;       ///< make no PTX, or no code for the host
    const char *source_name;    ///< for .file, as given by the user
    unsigned test_drop_barrier; ///< tests only: leave out the n-th barrier (1-based); 0: none
} cg_options;

/// What a launch must know of one entry (RULES 23).
typedef struct cg_kernel {
    sv name;
    uint32_t num_warps, num_ctas;
    uint32_t shared_bytes; ///< dynamic shared memory per CTA
    uint32_t num_params;   ///< in ir_func order
} cg_kernel;

typedef struct cg_times {
    double build_s, passes_s, emit_s; ///< LLVM IR building, LLVM passes, machine code
} cg_times;

typedef struct cg_binary {
    cg_kernel *kernels;
    uint32_t num_kernels;
    sv ptx;     ///< NUL-terminated; empty for host code
    sv llvm_ir; ///< if asked for
    cg_times times;
} cg_binary;

/// Compiles every function of the module to one PTX text. Results live in the module's arena.
/// False after reporting errors through the module's diag. Thread-safe: one LLVM context a call.
bool cg_compile_ptx(ir_module *m, const cg_options *options, cg_binary *out);

/// Host code, JIT-compiled; see host_exec.h for running it. Free with cg_host_destroy.
typedef struct cg_host_code cg_host_code;
bool cg_compile_host(ir_module *m, const cg_options *options, cg_binary *out,
                     cg_host_code **out_code);
void cg_host_destroy(cg_host_code *code);

/// Registers, spills and the like, as ptxas reports them.
typedef struct cg_resource_usage {
    char kernel[128];
    uint32_t registers, spill_stores_bytes, spill_loads_bytes, stack_bytes, static_shared_bytes;
} cg_resource_usage;

/// Path of a usable ptxas ($TILE_PTXAS, $CUDA_HOME/bin, PATH, /usr/local/cuda/bin), or NULL.
/// `version` (may be NULL) gets major * 10 + minor.
const char *cg_find_ptxas(arena *a, unsigned *version);
/// Runs ptxas: PTX to cubin, with resource usage per entry. False with *message set (in the arena)
/// on failure or where there is no ptxas.
bool cg_assemble(arena *a, sv ptx, const char *arch, bool line_info, sv *out_cubin,
                 cg_resource_usage **out_usage, uint32_t *out_num_usage, sv *message);

/// "22.1.8": the LLVM in use.
const char *cg_llvm_version(void);

#endif
