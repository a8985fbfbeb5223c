// What really differs between a GPU and the host, as one struct of function pointers. Everything
// else is emitted once, in emit*.c, against this interface.
//
// A *lane value* is what one register of a warp holds: on nvptx a scalar T (each thread has its
// own), on host a vector <32 x T> (the warp in lockstep). LLVM's builder makes the same calls for
// both. A *scalar* (rank 0 in tile IR) is a plain T on both, equal in every thread of the program.
#ifndef TILE_CODEGEN_TARGET_H
#define TILE_CODEGEN_TARGET_H

#include "codegen/codegen.h"

#include <llvm-c/Core.h>

typedef struct emitter emitter;

/// A global memory access of one register group of a warp: `vec` consecutive elements per lane.
typedef struct cg_access {
    LLVMValueRef ptr;  ///< lane value of pointers to the first element; a scalar if uniform
    bool uniform;      ///< scalar access: ptr, mask and values are scalars
    dtype elem;        ///< element type in memory, never DT_I1 (emit_memory.c makes that DT_U8)
    unsigned vec;      ///< 1, 2, 4, 8, 16; vec * bytes <= 16 and the address is aligned to it
    LLVMValueRef mask; ///< lane i1 (scalar if uniform); NULL: every lane
    sv cache, evict;   ///< "" or as in attrs.def
    bool is_volatile;
    bool is_const;   ///< through *const: never written during the launch
    bool no_result;  ///< of an atomic: nobody looks at the old value
    int root;        ///< parameter the pointer derives from, or -1 (host checks)
    src_range range; ///< for reports
} cg_access;

/// One line for each active lane.
typedef struct cg_print {
    const ir_value *value; ///< what is printed, for its type; NULL: the label alone
    const char *label;     ///< stands before the value
    bool hex;              ///< its bits
    LLVMValueRef index;    ///< lane value i32: the element's row-major index; NULL for a scalar
    LLVMValueRef reg;      ///< lane value; a scalar for a scalar
    LLVMValueRef active;   ///< lane i1, NULL: every lane; of a scalar: i1, true in one warp
    src_range range;
} cg_print;

typedef struct target {
    const char *name;
    unsigned lanes;            ///< 1 on nvptx, 32 on host: vector length of a lane value
    unsigned global_addrspace; ///< LLVM address space of pointers
    bool splits_vectors;       ///< lanes may branch: emit_memory.c may take ragged vectors apart
    bool soft_half;            ///< fp16 and bf16 are held as i16, arithmetic is done in fp32

    // Types and lanes.
    LLVMTypeRef (*value_type)(emitter *e,
                              dtype t); ///< scalar LLVM type that holds a dtype in a register
    LLVMValueRef (*splat)(emitter *e, LLVMValueRef scalar); ///< scalar to lane value
    LLVMValueRef (*uniform)(emitter *e,
                            LLVMValueRef lanes); ///< a lane value equal in all lanes, as a scalar
    LLVMValueRef (*lane_id)(emitter *e);         ///< lane value i32: 0..31
    LLVMValueRef (*warp_id)(emitter *e);         ///< scalar i32
    LLVMValueRef (*cta_rank)(emitter *e);        ///< scalar i32, 0 without clusters
    LLVMValueRef (*program_id)(emitter *e, unsigned axis);   ///< scalar i32
    LLVMValueRef (*num_programs)(emitter *e, unsigned axis); ///< scalar i32

    // Function: creates e->fn for e->func, sets attributes, positions e->b in the entry block and
    // fills param_values (scalars, one per parameter).
    void (*begin_function)(emitter *e, LLVMValueRef *param_values);
    void (*end_function)(emitter *e); ///< after the body; emits the final return

    // Global memory. Masked-off lanes never touch memory. `other` is NULL (zero) or vec values.
    void (*load)(emitter *e, const cg_access *a, LLVMValueRef const *other, LLVMValueRef *out);
    void (*store)(emitter *e, const cg_access *a, LLVMValueRef const *values);
    /// Old value where the mask holds, zero elsewhere. a->vec is 1. kind: ATTR_KIND.
    LLVMValueRef (*atomic_rmw)(emitter *e, const cg_access *a, sv kind, LLVMValueRef value, sv sem,
                               sv scope);
    LLVMValueRef (*atomic_cas)(emitter *e, const cg_access *a, LLVMValueRef cmp, LLVMValueRef value,
                               sv sem, sv scope);

    // Warp and block.
    LLVMValueRef (*shuffle_xor)(emitter *e, LLVMValueRef v,
                                unsigned lane_mask); ///< from lane ^ mask
    LLVMValueRef (*shuffle_idx)(emitter *e, LLVMValueRef v,
                                LLVMValueRef src_lane); ///< lane value i32
    void (*barrier)(emitter *e);                        ///< call emit_cta_barrier instead
    // All CTAs of a program. The call at the start of a function that works with the others'
    // memory, and the one before it first does: between them all CTAs have started.
    void (*cluster_barrier)(emitter *e); ///< call emit_barrier instead
    void (*cluster_start)(emitter *e);
    void (*cluster_started)(emitter *e);
    /// Shared memory at byte_offset (lane value i32) of CTA `cta` (lane value i32), NULL: the own one.
    /// vec consecutive elements of one LLVM type (never i1), aligned to their total size. pred: lane
    /// i1 or NULL.
    void (*smem_store)(emitter *e, LLVMValueRef cta, LLVMValueRef byte_offset,
                       LLVMValueRef const *values, unsigned vec, LLVMValueRef pred);
    void (*smem_load)(emitter *e, LLVMValueRef cta, LLVMValueRef byte_offset, LLVMTypeRef elem,
                      unsigned vec, LLVMValueRef *out);

    /// Adds 1 to the i32 at byte_offset of the own CTA, where pred: all lanes count, also those that
    /// meet.
    void (*smem_count)(emitter *e, LLVMValueRef byte_offset, LLVMValueRef pred);

    // An exchange between the CTAs of a program, once in a run of it. `gate`: the byte offset of 8
    // bytes in the shared memory of each CTA that count what has come.
    bool (*has_exchanges)(emitter *e);
    /// At the function's start: so many bytes will come to this CTA.
    void (*exchange_expect)(emitter *e, uint32_t gate, uint32_t bytes);
    /// Sends a value of 4 or 8 bytes to a place in CTA `cta`; pred: lane i1.
    void (*exchange_send)(emitter *e, uint32_t gate, LLVMValueRef cta, LLVMValueRef byte_offset,
                          LLVMValueRef value, LLVMValueRef pred);
    void (*exchange_wait)(emitter *e, uint32_t gate); ///< until all has come to this CTA

    // Copies from global to shared memory that run ahead (emit_async.c).
    unsigned async_least; ///< bytes of the smallest copy; 0: any, element by element
    /// `active`, a lane value i32: how many of the a->vec elements are copied, the first ones; the
    /// others become 0. NULL: all. There is no mask.
    void (*async_copy)(emitter *e, const cg_access *a, LLVMValueRef byte_offset,
                       LLVMValueRef active);
    void (*async_commit)(emitter *e);                 ///< closes a group of copies
    void (*async_wait)(emitter *e, unsigned pending); ///< all but so many groups have landed

    // Arithmetic with no common LLVM form. Operands are scalars or lane values alike (look at
    // LLVMTypeOf); fp16/bf16 are in the register type.
    /// `approx`: the target may take a faster instruction that is less exact.
    LLVMValueRef (*math)(emitter *e, ir_opcode op, dtype t, bool approx, LLVMValueRef x);
    LLVMValueRef (*fdiv)(emitter *e, dtype t, bool precise, LLVMValueRef x, LLVMValueRef y);
    /// fp32 x / y, one of many divisions by this y: may spend on y what it saves on every x. NULL
    /// where that does not pay: then fdiv.
    LLVMValueRef (*fdiv_shared)(emitter *e, LLVMValueRef x, LLVMValueRef y);
    /// fp32 x / y like that, of which only fp16 or bf16 is kept.
    LLVMValueRef (*fdiv_rough)(emitter *e, LLVMValueRef x, LLVMValueRef y);
    LLVMValueRef (*frem)(emitter *e, dtype t, LLVMValueRef x, LLVMValueRef y);
    /// x / y or, if `rem`, x % y of integers, total as docs/codegen.md has it. NULL where LLVM's
    /// instructions do.
    LLVMValueRef (*int_div)(emitter *e, dtype t, bool rem, LLVMValueRef x, LLVMValueRef y);
    LLVMValueRef (*fminmax)(emitter *e, dtype t, bool is_max, bool nan_wins, LLVMValueRef x,
                            LLVMValueRef y);
    LLVMValueRef (*float_cast)(emitter *e, dtype from, dtype to, bool rtz, LLVMValueRef x);
    LLVMValueRef (*float_to_int)(emitter *e, dtype from, dtype to,
                                 LLVMValueRef x); ///< saturates; NaN: see docs
    LLVMValueRef (*int_to_float)(emitter *e, dtype from, dtype to,
                                 LLVMValueRef x); ///< rounded once
    /// An elementwise op on all n registers of its operands, all of dtype t, where that is better
    /// done together. False, or no function: it is done register by register.
    bool (*many)(emitter *e, const ir_op *op, dtype t, LLVMValueRef *const *args, unsigned n,
                 LLVMValueRef *out);
    /// An i32 that is the same, which LLVM takes for a new one. NULL: of no use.
    LLVMValueRef (*hide)(emitter *e, LLVMValueRef word);

    /// OP_ASM and OP_ASM_EFFECT. NULL where there is no such assembly.
    void (*inline_asm)(emitter *e, const ir_op *op);
    /// What OP_GLOBALTIMER and OP_SMID read, a scalar; OP_GDC_WAIT and OP_GDC_LAUNCH give NULL.
    LLVMValueRef (*special)(emitter *e, ir_opcode op);

    // Debugging.
    void (*assert_true)(emitter *e, LLVMValueRef cond, LLVMValueRef mask, sv text,
                        src_range range); ///< lanes or scalars; mask may be NULL
    void (*print)(emitter *e, const cg_print *p);
    /// Checks a claim of the author (hint, assume, parameter hint): no-op on nvptx.
    /// NULL where claims are believed: then no code for the check is made either.
    void (*check_hint)(emitter *e, LLVMValueRef ok, const char *what, src_range range);
    /// Called where `ops` elementwise ops of a register have been emitted; may go on in a new basic
    /// block. NULL where nothing is to be done.
    void (*limit_block)(emitter *e, unsigned ops);
    /// Called at the end of a loop's body; NULL where nothing is to be done.
    void (*back_edge)(emitter *e, src_range loop);
} target;

extern const target target_nvptx;
extern const target target_host;

#endif
