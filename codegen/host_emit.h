// What the files of the host target share while a module is compiled: target_host.c (the frame of a
// function, memory, the warp), host_arith.c (arithmetic), host_jit.c (machine code).
#ifndef TILE_CODEGEN_HOST_EMIT_H
#define TILE_CODEGEN_HOST_EMIT_H

#include "codegen/emit.h"
#include "codegen/host_rt.h"

/// emitter.target_state of the host target.
typedef struct host_module_state {
    VEC(host_site) sites; ///< of all functions; names and texts live in the emitter's arena
    // Of the function being emitted:
    LLVMValueRef warp; ///< its argument, a host_warp *
    LLVMValueRef program_id[3], num_programs[3], warp_id, cta_rank, lane_id;
    uint32_t block_size;         ///< see limit_block
    LLVMValueRef last_alloca;    ///< where the next slot goes after; NULL: at the entry's start
    struct host_slot_row *slots; ///< hash table of host_slot.c
    uint32_t num_slots, slot_capacity;
} host_module_state;

static inline host_module_state *host_state(emitter *e) { return e->target_state; }

/// Symbol of a kernel's entry: no name of the author's can clash with the runtime's.
sv host_entry_symbol(arena *a, sv name);

// --- target_host.c
LLVMTypeRef host_value_type(emitter *e, dtype t);
/// Calls a function of HOST_RUNTIME.
LLVMValueRef host_call(emitter *e, const char *name, LLVMValueRef *args, unsigned n);
LLVMValueRef host_u32(emitter *e, uint32_t v);
/// Address of byte `offset` from p.
LLVMValueRef host_byte_offset(emitter *e, LLVMValueRef p, unsigned offset);
/// Bytes of an element of any register type but i1.
unsigned host_type_bytes(LLVMTypeRef elem);

// --- host_slot.c: the memory through which values pass to the runtime and back.
/// After the body: a value with a slot is read from there again after every call.
void host_slots_end(emitter *e);
/// Forgets the slots of the function before.
void host_slots_begin(emitter *e);
/// New memory on the warp's stack.
LLVMValueRef host_slot_new(emitter *e, unsigned bytes);
/// The address of memory that holds v (a scalar or lane value, not of i1).
LLVMValueRef host_slot_of(emitter *e, LLVMValueRef v);
/// Loads a value that the runtime has written at a byte offset of a slot; no later call writes it.
LLVMValueRef host_slot_load(emitter *e, LLVMValueRef slot, unsigned offset, LLVMTypeRef type);
/// Stores v at a byte offset of a slot.
void host_slot_store(emitter *e, LLVMValueRef slot, unsigned offset, LLVMValueRef v);

// --- host_arith.c: the arithmetic of target_host.
LLVMValueRef host_emit_math(emitter *e, ir_opcode op, dtype t, bool approx, LLVMValueRef x);
LLVMValueRef host_emit_fdiv(emitter *e, dtype t, bool precise, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef host_emit_frem(emitter *e, dtype t, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef host_emit_int_div(emitter *e, dtype t, bool rem, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef host_emit_fminmax(emitter *e, dtype t, bool is_max, bool nan_wins, LLVMValueRef x,
                               LLVMValueRef y);
LLVMValueRef host_emit_float_cast(emitter *e, dtype from, dtype to, bool rtz, LLVMValueRef x);
LLVMValueRef host_emit_float_to_int(emitter *e, dtype from, dtype to, LLVMValueRef x);
LLVMValueRef host_emit_int_to_float(emitter *e, dtype from, dtype to, LLVMValueRef x);

#endif
