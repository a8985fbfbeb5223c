// What the files of the NVIDIA target share: target_nvptx.c (threads, functions, exchange),
// nvptx_memory.c (loads, stores, atomics), nvptx_math.c and nvptx_trig.c (functions), nvptx_cast.c
// (conversions), nvptx_asm.c (inline assembly), nvptx_cluster.c (the blocks of a cluster), nvptx_print.c (prints, assertions).
#ifndef TILE_CODEGEN_NVPTX_H
#define TILE_CODEGEN_NVPTX_H

#include "codegen/emit.h"

#include <llvm-c/DebugInfo.h>

/// A string constant of the module.
typedef struct nvptx_string {
    const char *text;
    LLVMValueRef address;
} nvptx_string;

/// The target's state for one LLVM module; emitter.target_state points to it.
typedef struct nvptx_state {
    unsigned sm;               ///< 90 for sm_90
    unsigned ptx_version;      ///< the least that does: of the architecture, raised by instructions
    LLVMValueRef lane, warp;   ///< of the thread: made at the start of the function
    LLVMValueRef shared;       ///< the dynamic shared memory, declared at its first use
    LLVMValueRef print_buffer; ///< of the function, from its first print on
    LLVMValueRef policies[2];  ///< the same: for evict_first and evict_last
    VEC(nvptx_string) strings;
    LLVMDIBuilderRef debug; ///< NULL without line info
    LLVMMetadataRef debug_file;
} nvptx_state;

static inline nvptx_state *nvptx_state_of(emitter *e) { return e->target_state; }

/// Notes that the program needs this PTX version.
static inline void nvptx_need_ptx(emitter *e, unsigned version) {
    nvptx_state *s = nvptx_state_of(e);
    if (s->ptx_version < version)
        s->ptx_version = version;
}

/// A file's name as PTX may have it, where ptxas takes neither what is not ASCII nor quotes: others
/// are '?'.
const char *nvptx_file_name(arena *a, const char *name);

/// Starts and ends a module: what has to be there once, not once per function.
void nvptx_begin_module(emitter *e, nvptx_state *state);
void nvptx_end_module(emitter *e);

/// Flags of nvptx_asm.
enum {
    ASM_EFFECT = 1,     ///< must stay, in order; touches memory
    ASM_CONVERGENT = 2, ///< all threads of the warp come together
};

/// One piece of inline PTX. `result` may be a struct type for several outputs.
LLVMValueRef nvptx_asm(emitter *e, LLVMTypeRef result, const char *text, const char *constraints,
                       LLVMValueRef *args, unsigned n, unsigned flags);
/// Assembly of the author's, with any number of operands.
LLVMValueRef nvptx_user_asm(emitter *e, LLVMTypeRef type, sv text, sv constraints,
                            LLVMValueRef *args, unsigned n, bool has_effect);
/// Calls an intrinsic by its full, mangled name, which must exist in the LLVM in use.
LLVMValueRef nvptx_call(emitter *e, const char *name, LLVMTypeRef result, LLVMValueRef *args,
                        unsigned n);
/// True if the LLVM in use knows exactly this intrinsic.
bool nvptx_has_intrinsic(const char *name);

/// A region of code that only the threads with `cond` run. NULL: all of them. A constant condition
/// makes no branch. Values made inside come out through nvptx_merge.
typedef struct nvptx_guard {
    LLVMBasicBlockRef before, inside, after; ///< NULL where there is no branch
} nvptx_guard;
nvptx_guard nvptx_begin_guard(emitter *e, LLVMValueRef cond);
void nvptx_end_guard(emitter *e, nvptx_guard *g);
/// After the end: v where the guarded code ran, else `otherwise`.
LLVMValueRef nvptx_merge(emitter *e, const nvptx_guard *g, LLVMValueRef v, LLVMValueRef otherwise);

/// Moves the builder to the start of the function, for what is made there once; and back.
typedef struct nvptx_place {
    LLVMBasicBlockRef block;
    LLVMMetadataRef line;
} nvptx_place;
nvptx_place nvptx_go_to_start(emitter *e);
void nvptx_go_back(emitter *e, nvptx_place place);

/// Any register value up to 64 bits as an integer of its width, and back to the type of `t`.
LLVMValueRef nvptx_to_bits(emitter *e, LLVMValueRef v);
LLVMValueRef nvptx_from_bits(emitter *e, LLVMValueRef bits, LLVMTypeRef t);

// target_nvptx.c
LLVMValueRef nvptx_shared_pointer(emitter *e, LLVMValueRef byte_offset);

// nvptx_cluster.c
void nvptx_cluster_barrier(emitter *e);
void nvptx_cluster_start(emitter *e);
void nvptx_cluster_started(emitter *e);
void nvptx_cluster_store(emitter *e, LLVMValueRef cta, LLVMValueRef byte_offset,
                         LLVMValueRef const *values, unsigned vec, LLVMValueRef pred);
bool nvptx_has_exchanges(emitter *e);
void nvptx_exchange_expect(emitter *e, uint32_t gate, uint32_t bytes);
void nvptx_exchange_send(emitter *e, uint32_t gate, LLVMValueRef cta, LLVMValueRef byte_offset,
                         LLVMValueRef value, LLVMValueRef pred);
void nvptx_exchange_wait(emitter *e, uint32_t gate);
void nvptx_cluster_load(emitter *e, LLVMValueRef cta, LLVMValueRef byte_offset, LLVMTypeRef elem,
                        unsigned vec, LLVMValueRef *out);

// nvptx_memory.c
/// i1: lane 0 of the threads with `mask` (NULL: all), which acts for a scalar.
LLVMValueRef nvptx_first_thread(emitter *e, LLVMValueRef mask);
void nvptx_load(emitter *e, const cg_access *a, LLVMValueRef const *other, LLVMValueRef *out);
void nvptx_store(emitter *e, const cg_access *a, LLVMValueRef const *values);
LLVMValueRef nvptx_atomic_rmw(emitter *e, const cg_access *a, sv kind, LLVMValueRef value, sv sem,
                              sv scope);
LLVMValueRef nvptx_atomic_cas(emitter *e, const cg_access *a, LLVMValueRef cmp, LLVMValueRef value,
                              sv sem, sv scope);

// nvptx_print.c
void nvptx_print(emitter *e, const cg_print *p);
void nvptx_assert_true(emitter *e, LLVMValueRef cond, LLVMValueRef mask, sv text, src_range range);

// nvptx_asm.c
void nvptx_inline_asm(emitter *e, const ir_op *op);
LLVMValueRef nvptx_special(emitter *e, ir_opcode op);

// nvptx_math.c
LLVMValueRef nvptx_math(emitter *e, ir_opcode op, dtype t, bool approx, LLVMValueRef x);
LLVMValueRef nvptx_fdiv(emitter *e, dtype t, bool precise, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef nvptx_fdiv_shared(emitter *e, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef nvptx_fdiv_rough(emitter *e, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef nvptx_frem(emitter *e, dtype t, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef nvptx_fminmax(emitter *e, dtype t, bool is_max, bool nan_wins, LLVMValueRef x,
                           LLVMValueRef y);

/// ex2.approx of a scalar fp32; `flushes`: results below 2^-126 become 0.
LLVMValueRef nvptx_ex2(emitter *e, LLVMValueRef x, bool flushes);

// nvptx_many.c
bool nvptx_many(emitter *e, const ir_op *op, dtype t, LLVMValueRef *const *args, unsigned n,
                LLVMValueRef *out);

// nvptx_cast.c
LLVMValueRef nvptx_float_cast(emitter *e, dtype from, dtype to, bool rtz, LLVMValueRef x);
LLVMValueRef nvptx_float_to_int(emitter *e, dtype from, dtype to, LLVMValueRef x);
LLVMValueRef nvptx_int_to_float(emitter *e, dtype from, dtype to, LLVMValueRef x);

// nvptx_trig.c
/// sin x or cos x of a scalar fp32 or fp64, 1 ulp and a little, whatever the size of x.
LLVMValueRef nvptx_sin_cos(emitter *e, dtype t, bool cosine, LLVMValueRef x);

#endif
