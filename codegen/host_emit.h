// What the files of the host target share while a module is compiled: target_host.c (the frame of a
// function, memory, the warp), host_arith.c (arithmetic), host_jit.c (machine code).
#ifndef TILE_CODEGEN_HOST_EMIT_H
#define TILE_CODEGEN_HOST_EMIT_H

#include "codegen/emit.h"
#include "codegen/host_rt.h"

enum { HOST_SCRATCH_BUFFERS = 4 };

/// emitter.target_state of the host target.
typedef struct host_module_state {
    VEC(host_site) sites; ///< of all functions; names and texts live in the emitter's arena
    // Of the function being emitted:
    LLVMValueRef warp; ///< its argument, a host_warp *
    LLVMValueRef program_id[3], num_programs[3], warp_id, cta_rank;
    /// Stack buffers through which lane values pass to the runtime; each holds 32 groups of 16
    /// bytes. A call leaves nothing in them that outlives the loads after it.
    LLVMValueRef scratch[HOST_SCRATCH_BUFFERS];
} host_module_state;

static inline host_module_state *host_state(emitter *e) { return e->target_state; }

/// Symbol of a kernel's entry: no name of the author's can clash with the runtime's.
sv host_entry_symbol(arena *a, sv name);

// --- target_host.c
LLVMTypeRef host_value_type(emitter *e, dtype t);
/// Calls a function of HOST_RUNTIME.
LLVMValueRef host_call(emitter *e, const char *name, LLVMValueRef *args, unsigned n);
LLVMValueRef host_u32(emitter *e, uint32_t v);
/// Address of byte `offset` of a scratch buffer.
LLVMValueRef host_scratch(emitter *e, unsigned buffer, unsigned offset);
/// Stores a scalar or lane value (i1 as bytes of 0 and 1) at the start of a buffer.
void host_put(emitter *e, unsigned buffer, LLVMValueRef v);
/// Loads a value of a type (not of i1) from the start of a buffer.
LLVMValueRef host_get(emitter *e, unsigned buffer, LLVMTypeRef type);

// --- host_arith.c: the arithmetic of target_host.
LLVMValueRef host_emit_math(emitter *e, ir_opcode op, dtype t, bool precise, LLVMValueRef x);
LLVMValueRef host_emit_fdiv(emitter *e, dtype t, bool precise, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef host_emit_frem(emitter *e, dtype t, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef host_emit_fminmax(emitter *e, dtype t, bool is_max, bool nan_wins, LLVMValueRef x,
                               LLVMValueRef y);
LLVMValueRef host_emit_float_cast(emitter *e, dtype from, dtype to, bool rtz, LLVMValueRef x);
LLVMValueRef host_emit_float_to_int(emitter *e, dtype from, dtype to, LLVMValueRef x);
LLVMValueRef host_emit_int_to_float(emitter *e, dtype from, dtype to, LLVMValueRef x);

#endif
