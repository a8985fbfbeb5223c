// LLVM, kept at arm's length: the objects of one compilation, its passes, and its manners. LLVM
// aborts the process on some errors; llvm_guard brings those back to a frame of ours (RULES 19).
#ifndef TILE_CODEGEN_LLVM_BACKEND_H
#define TILE_CODEGEN_LLVM_BACKEND_H

#include "support/diag.h"

#include <llvm-c/TargetMachine.h>

/// What one compilation owns of LLVM: a context of its own, so that any thread may compile.
typedef struct llvm_job {
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMTargetMachineRef machine; ///< NULL until llvm_job_target_*
    char error[512];              ///< the first error that LLVM reported, or ""
    uint64_t frame_bytes; ///< largest stack frame, of functions that llvm_job_measure_frame named
} llvm_job;

/// Runs fn(ctx), on a thread with a large stack, and returns its result. If LLVM gives up in it,
/// reports that through `d` and returns false; LLVM's objects are then lost, and every later call is
/// refused. If arena `a` runs out of memory in it, it does so for the caller.
bool llvm_guard(arena *a, diag *d, bool (*fn)(void *), void *ctx);

void llvm_job_open(llvm_job *j);
/// Frees all that is set. Not after llvm_guard has caught LLVM giving up.
void llvm_job_close(llvm_job *j);
/// Sets module and machine to an NVIDIA architecture ("sm_90") and a PTX version (78). `fast`: code is
/// generated in time that is linear in its size, which LLVM's optimizing code generator is not.
bool llvm_job_target_nvptx(llvm_job *j, const char *arch, unsigned ptx_version, bool fast);
/// Sets module and machine to this machine's processor, with all that it can do, for code that is
/// linked into this process. Instructions are selected fast, not well.
bool llvm_job_target_host(llvm_job *j);
/// Asks for the size of a function's stack frame if it is above `least` bytes; see frame_bytes.
void llvm_job_measure_frame(llvm_job *j, LLVMValueRef fn, unsigned least);
/// In builds that verify the tile IR after each pass, verifies LLVM's too; a failure is a bug of the
/// emitter, told in j->error. Left out otherwise: it is a fiftieth of the compile time.
bool llvm_job_verify(llvm_job *j);
bool llvm_job_run_passes(llvm_job *j, const char *pipeline);
/// How much there is, in all functions, of what costs LLVM time.
typedef struct llvm_size {
    uint32_t instructions;
    uint32_t sums; ///< sums and products of two integers that are no constants
} llvm_size;
llvm_size llvm_job_size(const llvm_job *j);
/// Machine code as text or object; the caller disposes of *out.
bool llvm_job_emit(llvm_job *j, LLVMCodeGenFileType type, LLVMMemoryBufferRef *out);
/// The module as text, in the arena.
sv llvm_job_print(llvm_job *j, arena *a);
/// The newest PTX version that this LLVM writes: 90 for 9.0.
unsigned llvm_newest_ptx(void);
unsigned llvm_major_version(void);

#endif
