// The emitter's state and the pieces that emit*.c, smem.c and the targets share. emit.c walks a
// function's ops once and gives each value its LLVM registers; a row of the dispatch table at its
// end names the emit function of every op.
#ifndef TILE_CODEGEN_EMIT_H
#define TILE_CODEGEN_EMIT_H

#include "codegen/target.h"
#include "ir/axis_info.h"

typedef struct smem_plan smem_plan;
typedef struct access_plan access_plan;

/// What a layout's lanes and warps add to an index, in this function.
typedef struct thread_index {
    layout layout;
    LLVMValueRef value;
} thread_index;

struct emitter {
    arena *arena;
    diag *diag;
    const cg_options *options;
    const target *tgt;
    ir_func *func;
    axis_analysis *axis;
    smem_plan *smem;
    LLVMContextRef llvm;
    LLVMModuleRef module;
    LLVMBuilderRef b;
    LLVMValueRef fn;
    LLVMValueRef **regs;    ///< by value id: layout_reg_count(layout) lane values, or one scalar
    uint32_t *uses;         ///< by value id: number of uses
    bool *narrowed;         ///< by value id: all uses round an fp32 to fp16 or bf16
    LLVMValueRef smem_base; ///< set by begin_function: pointer to the CTA's dynamic shared memory
    LLVMValueRef prologue;  ///< the last instruction of begin_function, NULL: it made none
    VEC(thread_index) thread_indices; ///< made so far in this function
    LLVMMetadataRef debug_scope;      ///< NULL without line info
    src_range at;                     ///< of the op being emitted
    const ir_op *op;                  ///< being emitted, for reports
    bool starting;                    ///< no op has needed all CTAs to have started so far
    VEC(access_plan *) unfinished;    ///< loads of this block, see emit_finish_loads
    unsigned barriers;                ///< emitted so far, for cg_options.test_drop_barrier
    void *target_state;               ///< of the target, per module
};

// --- emit.c
/// Emits one function into e->module. The caller has set the fields from arena to b and those of
/// the target; this sets the rest (axis, smem, regs, fn ...). False after an error.
bool emit_function(emitter *e);
/// Emits the ops of a block up to its terminator, which is left to the caller.
void emit_block(emitter *e, const ir_block *b);
/// The registers of a value: one per register of its layout, or one scalar.
LLVMValueRef *emit_regs(emitter *e, const ir_value *v);
unsigned emit_reg_count(const ir_value *v);
void emit_set_regs(emitter *e, const ir_value *v, LLVMValueRef *regs);
/// Register r of v, computed here once more if that takes a few cheap ops: for code that rarely
/// runs, so that nothing is kept for it.
LLVMValueRef emit_again(emitter *e, const ir_value *v, unsigned r);
/// A new array of n registers in the arena.
LLVMValueRef *emit_new_regs(emitter *e, unsigned n);
/// For each register of a tile with layout `to`: the register of layout `from` that holds the same
/// element in every thread. False if the threads of the two do not agree.
bool emit_match_registers(const layout *from, const layout *to, uint32_t *source);
/// For each register of a reshape's, permute's, broadcast's or half's result: the operand's register
/// that it is. NULL if the layouts do not agree.
uint32_t *emit_shape_sources(emitter *e, const ir_op *op);
/// Reports an op that the emitter has no way to lower; its results become zero.
void emit_refuse(emitter *e, const ir_op *op, const char *why);

/// A single-result elementwise op on given operand registers (scalars or lane values alike).
LLVMValueRef emit_elementwise(emitter *e, const ir_op *op, LLVMValueRef const *operands);
/// Emits an ISOLATED combine region on lane values: `args` are its block arguments, the yielded
/// values come back in `out`. Constants inside are splat.
void emit_combine(emitter *e, const ir_block *region, LLVMValueRef const *args, LLVMValueRef *out);
/// Adds a basic block to the function; the builder stays where it is.
LLVMBasicBlockRef emit_new_block(emitter *e, const char *name);
/// A barrier of the whole program, or only of the threads of each CTA, unless the tests dropped this
/// one. The same thing where a program is one CTA.
void emit_barrier(emitter *e);
void emit_exchange_wait(emitter *e, uint32_t gate); ///< see target.h
void emit_cta_barrier(emitter *e);

// Small builders. `like` says scalar or lanes.
LLVMTypeRef emit_type_like(emitter *e, LLVMTypeRef scalar, LLVMValueRef like);
/// The integer type of `bits` bits, like `like`.
LLVMTypeRef emit_int_like(emitter *e, unsigned bits, LLVMValueRef like);
bool emit_is_vector(LLVMValueRef v);
/// A scalar constant from the bit pattern of a dtype.
LLVMValueRef emit_const_bits(emitter *e, dtype t, uint64_t bits);
/// A floating-point constant of like's type.
LLVMValueRef emit_const_float_like(emitter *e, LLVMValueRef like, double v);
/// Calls the LLVM intrinsic `name` (unmangled), overloaded on the type of the first argument if
/// `overloaded`, with a result of the type that LLVM gives it.
LLVMValueRef emit_intrinsic(emitter *e, const char *name, bool overloaded, LLVMValueRef *args,
                            unsigned n);
/// Lets mul and add contract to fma unless the user turned that off (RULES 9); returns v.
LLVMValueRef emit_contract(emitter *e, LLVMValueRef v);
/// a and b; either may be NULL, which is true.
LLVMValueRef emit_and_maybe(emitter *e, LLVMValueRef a, LLVMValueRef b);
LLVMTypeRef emit_lane_type(emitter *e, LLVMTypeRef scalar); ///< T or <lanes x T>
LLVMValueRef emit_const_i32(emitter *e, uint32_t v);        ///< scalar
LLVMValueRef emit_lane_const_i32(emitter *e, uint32_t v);   ///< lane value
/// An integer constant of like's type.
LLVMValueRef emit_const_like(emitter *e, LLVMValueRef like, uint64_t v);
/// The linear image of a run-time bit string: XOR of bases[i] over the set bits i of `bits`
/// (scalar or lane value i32). How a lane id becomes an index through a layout.
LLVMValueRef emit_apply_bases(emitter *e, const uint32_t *bases, unsigned n, LLVMValueRef bits);
/// Lane value i32: the index bits contributed by lane, warp and cta; XOR with the register's part.
LLVMValueRef emit_thread_index(emitter *e, const layout *l);
/// Lane i1 that is true in the one copy that may store (RULES 1), or NULL if all may.
/// For a scalar (layout NULL): scalar i1, true in warp 0 of cta 0; `lane 0` is the target's.
LLVMValueRef emit_is_representative(emitter *e, const layout *l);

// --- emit_branch.c: code under a condition that differs from thread to thread.
typedef struct emit_branch {
    LLVMBasicBlockRef before, inside, after; ///< where the code is; NULL where there is no branch
} emit_branch;
/// Starts code for the threads with `cond`; NULL: for all of them, with no branch.
emit_branch emit_begin_branch(emitter *e, LLVMValueRef cond);
/// Goes on with code for the other threads.
void emit_else_branch(emitter *e, emit_branch *b);
/// Ends it. `inside` then is the block in which the code for the threads with `cond` has ended.
void emit_end_branch(emitter *e, emit_branch *b);
/// At the start of a block: n registers that are values[i] where control comes from ends[i]. Small
/// ones come packed, several to a word, or each would take a register of the machine.
void emit_merge(emitter *e, LLVMValueRef *const values[2], LLVMBasicBlockRef const ends[2],
                unsigned n, LLVMValueRef *out);
void emit_recall(emitter *e, const ir_op *op);
/// Elements of this type that make a word of 32 bits; 1 for those that stay alone.
unsigned emit_per_word(LLVMTypeRef t);
/// `many` values in a word, the first in the low bits; and back. One value is its own word.
LLVMValueRef emit_pack(emitter *e, LLVMValueRef const *v, unsigned many);
void emit_unpack(emitter *e, LLVMValueRef word, unsigned many, LLVMTypeRef type, LLVMValueRef *out);

// --- emit_control.c: structured control flow. emit_hints.c: the author's claims.
void emit_for(emitter *e, const ir_op *op);
void emit_while(emitter *e, const ir_op *op);
void emit_if(emitter *e, const ir_op *op);
void emit_hint(emitter *e, const ir_op *op);
void emit_assume(emitter *e, const ir_op *op);
void emit_assert(emitter *e, const ir_op *op);
void emit_print(emitter *e, const ir_op *op); ///< emit_print.c
/// Checks what the specialization knows of the parameters.
void emit_check_params(emitter *e);

// --- emit_overflow.c
/// On a target that checks claims: for each register of a pointer, an i1 that is true where 32-bit
/// arithmetic on its offset overflowed; NULL if there is none to see.
LLVMValueRef *emit_offset_overflow(emitter *e, const ir_value *ptr);

// --- emit_memory.c, emit_reduce.c, emit_convert.c: one function per op (or family).
/// What an access of global memory is, but for pointers, mask and width; where claims are checked, its
/// offsets are.
cg_access emit_describe_access(emitter *e, const ir_op *op);
void emit_load(emitter *e, const ir_op *op);
/// Finishes the loads so far, if `user` needs one of them; NULL: all.
void emit_finish_loads(emitter *e, const ir_op *user);
void emit_store(emitter *e, const ir_op *op);
/// Of vectors that are not aligned (emit_straddle.c): by how many elements; and such a vector out of
/// the two aligned ones across which it lies, `halves`.
LLVMValueRef emit_straddle_phase(emitter *e, LLVMValueRef ptr, unsigned vec, unsigned bytes);
void emit_cut_straddling(emitter *e, LLVMValueRef const *halves, unsigned vec, LLVMValueRef phase,
                         LLVMValueRef *out);
void emit_atomic_rmw(emitter *e, const ir_op *op);
void emit_atomic_cas(emitter *e, const ir_op *op);
void emit_reduce(emitter *e, const ir_op *op);
void emit_scan(emitter *e, const ir_op *op);
void emit_gather(emitter *e, const ir_op *op);
void emit_histogram(emitter *e, const ir_op *op);
void emit_convert_layout(emitter *e, const ir_op *op);
void emit_flip(emitter *e, const ir_op *op);
/// Gives the value held by the representative to all its copies: lanes by shuffle, warps and CTAs
/// through shared memory at smem_offset(op). `l` NULL: one scalar held by warp 0 of CTA 0.
void emit_broadcast_to_copies(emitter *e, const ir_op *op, const layout *l, LLVMValueRef *regs,
                              unsigned n, dtype elem);

// --- emit_async.c
void emit_async_copy(emitter *e, const ir_op *op);
void emit_async_commit(emitter *e, const ir_op *op);
void emit_async_wait(emitter *e, const ir_op *op);
void emit_async_read(emitter *e, const ir_op *op);

// --- smem.c: the one owner of shared memory and barriers (RULES 3, 4). Emitters declare how much
// scratch an op needs; the plan gives offsets and says before which ops a barrier goes. Inside its
// own scratch, an op that writes and then reads calls emit_barrier between.
uint32_t emit_reduce_scratch_bytes(const ir_op *op);
uint32_t emit_scan_scratch_bytes(const ir_op *op);
uint32_t emit_gather_scratch_bytes(const ir_op *op);
uint32_t emit_histogram_scratch_bytes(const ir_op *op);
uint32_t emit_convert_scratch_bytes(const ir_op *op);
uint32_t emit_flip_scratch_bytes(const ir_op *op);
uint32_t emit_atomic_scratch_bytes(const ir_op *op);
uint32_t emit_async_buffer_bytes(const ir_op *copy);
/// Whether the op writes partial results into the scratch of other CTAs before its barrier, or reads
/// there after it.
bool emit_reduce_crosses(const ir_op *op);
bool emit_scan_pushes(const ir_op *op);
bool emit_scan_pulls(const ir_op *op);
bool emit_gather_crosses(const ir_op *op);
bool emit_histogram_crosses(const ir_op *op);
/// Bytes of the scratch with which the reduction could do as an exchange (target.h); 0: it cannot.
uint32_t emit_reduce_exchange_bytes(const ir_op *op);
void emit_expect_exchange(emitter *e, const ir_op *op);
bool emit_convert_crosses(const ir_op *op);
bool emit_flip_crosses(const ir_op *op);
bool emit_atomic_crosses(const ir_op *op);
/// `exchanges`: reductions may be exchanges where they run at most once.
smem_plan *smem_plan_create(ir_func *f, const axis_analysis *axis, bool exchanges, arena *a);
uint32_t smem_total_bytes(const smem_plan *p);
uint32_t smem_offset(const smem_plan *p, const ir_op *op);
/// The first async_copy into the buffer that an async op names; NULL if there is none.
const ir_op *smem_filled_by(const smem_plan *p, const ir_op *op);
typedef enum smem_barrier { SMEM_NO_BARRIER, SMEM_CTA_BARRIER, SMEM_PROGRAM_BARRIER } smem_barrier;
smem_barrier smem_barrier_before(const smem_plan *p, const ir_op *op);
/// Whether a CTA must wait for the others before it exits: they may still read its memory.
bool smem_barrier_at_end(const smem_plan *p);
/// Whether a CTA writes to the memory of others that it may not yet have met at a barrier: it must
/// wait until they have started, before the first op that has to do with other CTAs.
bool smem_waits_at_start(const smem_plan *p);
/// Whether `op`, or one under it, has a barrier of the program or moves data between CTAs.
bool smem_crosses(const smem_plan *p, const ir_op *op);
bool smem_is_exchange(const smem_plan *p, const ir_op *op);
/// The n-th op that is one; NULL if there are fewer.
const ir_op *smem_exchange(const smem_plan *p, uint32_t n);

#endif
