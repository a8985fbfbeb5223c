// See llvm_backend.h. The pass pipelines themselves are chosen where they are used, by measurement.
#include "codegen/llvm_backend.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <llvm/Config/llvm-config.h>
#include <stdio.h>

#define NVPTX_TRIPLE "nvptx64-nvidia-cuda"

static bool fail(llvm_job *j, const char *text) {
    if (!j->error[0])
        snprintf(j->error, sizeof(j->error), "%s", text ? text : "unknown error");
    return false;
}

/// Remarks and warnings arrive here too; among them what llvm_job_measure_frame has asked for:
/// "<place>: stack frame size (N) exceeds limit (M) in function 'f'".
static void on_diagnostic(LLVMDiagnosticInfoRef info, void *ctx) {
    llvm_job *j = ctx;
    char *text = LLVMGetDiagInfoDescription(info);
    const char *frame = strstr(text, "stack frame size (");
    unsigned long long bytes;
    if (frame && sscanf(frame, "stack frame size (%llu)", &bytes) == 1)
        j->frame_bytes = bytes > j->frame_bytes ? bytes : j->frame_bytes;
    else if (LLVMGetDiagInfoSeverity(info) == LLVMDSError)
        fail(j, text);
    LLVMDisposeMessage(text);
}

void llvm_job_open(llvm_job *j) {
    *j = (llvm_job){.context = LLVMContextCreate()};
    LLVMContextSetDiagnosticHandler(j->context, on_diagnostic, j);
    j->module = LLVMModuleCreateWithNameInContext("tile", j->context);
    j->builder = LLVMCreateBuilderInContext(j->context);
}

void llvm_job_close(llvm_job *j) {
    if (j->builder)
        LLVMDisposeBuilder(j->builder);
    if (j->module)
        LLVMDisposeModule(j->module);
    if (j->machine)
        LLVMDisposeTargetMachine(j->machine);
    if (j->context)
        LLVMContextDispose(j->context);
    *j = (llvm_job){0};
}

bool llvm_job_target_nvptx(llvm_job *j, const char *arch, unsigned ptx_version, bool fast) {
    LLVMTargetRef target;
    char *error = NULL, features[16];
    if (LLVMGetTargetFromTriple(NVPTX_TRIPLE, &target, &error)) {
        fail(j, error);
        LLVMDisposeMessage(error);
        return false;
    }
    snprintf(features, sizeof(features), "+ptx%u", ptx_version);
    if (j->machine)
        LLVMDisposeTargetMachine(j->machine);
    j->machine = LLVMCreateTargetMachine(target, NVPTX_TRIPLE, arch, features,
                                         fast ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault,
                                         LLVMRelocDefault, LLVMCodeModelDefault);
    if (!j->machine)
        return fail(j, "LLVM has no NVPTX target machine");
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(j->machine);
    LLVMSetTarget(j->module, NVPTX_TRIPLE);
    LLVMSetModuleDataLayout(j->module, layout);
    LLVMDisposeTargetData(layout);
    return true;
}

bool llvm_job_target_host(llvm_job *j) {
    char *triple = LLVMGetDefaultTargetTriple(), *error = NULL;
    char *cpu = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
    LLVMTargetRef target;
    if (!LLVMGetTargetFromTriple(triple, &target, &error))
        j->machine = LLVMCreateTargetMachine(target, triple, cpu, features, LLVMCodeGenLevelNone,
                                             LLVMRelocPIC, LLVMCodeModelSmall);
    if (j->machine) {
        LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(j->machine);
        LLVMSetTarget(j->module, triple);
        LLVMSetModuleDataLayout(j->module, layout);
        LLVMDisposeTargetData(layout);
    } else {
        fail(j, error ? error : "LLVM has no target machine for this processor");
    }
    LLVMDisposeMessage(error);
    LLVMDisposeMessage(triple);
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
    return j->machine != NULL;
}

void llvm_job_measure_frame(llvm_job *j, LLVMValueRef fn, unsigned least) {
    static const char key[] = "warn-stack-size";
    char limit[16];
    int n = snprintf(limit, sizeof(limit), "%u", least);
    LLVMAttributeRef a =
        LLVMCreateStringAttribute(j->context, key, sizeof(key) - 1, limit, (unsigned)n);
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex, a);
}

bool llvm_job_verify(llvm_job *j) {
#ifdef TILE_VERIFY_EACH
    char *text = NULL;
    bool ok = !LLVMVerifyModule(j->module, LLVMReturnStatusAction, &text);
    if (!ok)
        fail(j, text);
    LLVMDisposeMessage(text);
    return ok;
#else
    (void)j;
    return true;
#endif
}

bool llvm_job_run_passes(llvm_job *j, const char *pipeline) {
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(j->module, pipeline, j->machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (error) {
        char *text = LLVMGetErrorMessage(error);
        fail(j, text);
        LLVMDisposeErrorMessage(text);
    }
    return !j->error[0];
}

static bool is_sum(LLVMValueRef i) {
    LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
    return (opcode == LLVMAdd || opcode == LLVMMul) && !LLVMIsConstant(LLVMGetOperand(i, 1));
}

llvm_size llvm_job_size(const llvm_job *j) {
    llvm_size size = {0};
    for (LLVMValueRef f = LLVMGetFirstFunction(j->module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
                size.instructions++;
                size.sums += is_sum(i);
            }
    return size;
}

bool llvm_job_emit(llvm_job *j, LLVMCodeGenFileType type, LLVMMemoryBufferRef *out) {
    char *text = NULL;
    *out = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(j->machine, j->module, type, &text, out))
        fail(j, text);
    LLVMDisposeMessage(text);
    if (!j->error[0])
        return true;
    if (*out)
        LLVMDisposeMemoryBuffer(*out); // made, but by a back end that has reported errors
    *out = NULL;
    return false;
}

sv llvm_job_print(llvm_job *j, arena *a) {
    char *text = LLVMPrintModuleToString(j->module);
    sv copy = sv_copy(a, sv_from(text));
    LLVMDisposeMessage(text);
    return copy;
}

unsigned llvm_newest_ptx(void) {
#if LLVM_VERSION_MAJOR >= 22
    return 90;
#elif LLVM_VERSION_MAJOR == 21
    return 88;
#elif LLVM_VERSION_MAJOR == 20
    return 87;
#else
    return 85;
#endif
}

unsigned llvm_major_version(void) { return LLVM_VERSION_MAJOR; }
