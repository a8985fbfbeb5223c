// The emitter's state and the pieces that emit*.c, smem.c and the targets share. emit.c walks a
// function's ops once and gives each value its LLVM registers; a row of the dispatch table at its
// end names the emit function of every op.
#ifndef TILE_CODEGEN_EMIT_H
#define TILE_CODEGEN_EMIT_H

#include "codegen/target.h"
#include "ir/axis_info.h"

typedef struct smem_plan smem_plan;

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
    LLVMValueRef **regs;   ///< by value id: layout_reg_count(layout) lane values, or one scalar
    LLVMValueRef smem_base; ///< set by begin_function: pointer to the CTA's dynamic shared memory
    LLVMMetadataRef debug_scope; ///< NULL without line info
    unsigned barriers;     ///< emitted so far, for cg_options.test_drop_barrier
    void *target_state;    ///< of the target, per module
};

// --- emit.c
/// Emits one function into e->module. False after an error.
bool emit_function(emitter *e);
/// Emits the ops of a block up to its terminator, which is left to the caller.
void emit_block(emitter *e, const ir_block *b);
/// The registers of a value: one per register of its layout, or one scalar.
LLVMValueRef *emit_regs(emitter *e, const ir_value *v);
unsigned emit_reg_count(const ir_value *v);
void emit_set_regs(emitter *e, const ir_value *v, LLVMValueRef *regs);
/// A single-result elementwise op on given operand registers (scalars or lane values alike).
LLVMValueRef emit_elementwise(emitter *e, const ir_op *op, LLVMValueRef const *operands);
/// Emits an ISOLATED combine region on lane values: `args` are its block arguments, the yielded
/// values come back in `out`. Constants inside are splat.
void emit_combine(emitter *e, const ir_block *region, LLVMValueRef const *args, LLVMValueRef *out);
/// A barrier of the whole program, unless the tests dropped this one.
void emit_barrier(emitter *e);

// Small builders. `like` says scalar or lanes.
LLVMTypeRef emit_type_like(emitter *e, LLVMTypeRef scalar, LLVMValueRef like);
LLVMTypeRef emit_lane_type(emitter *e, LLVMTypeRef scalar); ///< T or <lanes x T>
LLVMValueRef emit_const_i32(emitter *e, uint32_t v);        ///< scalar
LLVMValueRef emit_lane_const_i32(emitter *e, uint32_t v);   ///< lane value
LLVMValueRef emit_const_like(emitter *e, LLVMValueRef like, uint64_t v); ///< integer constant of like's type
/// The linear image of a run-time bit string: XOR of bases[i] over the set bits i of `bits`
/// (scalar or lane value i32). How a lane id becomes an index through a layout.
LLVMValueRef emit_apply_bases(emitter *e, const uint32_t *bases, unsigned n, LLVMValueRef bits);
/// Lane value i32: the index bits contributed by lane, warp and cta; XOR with the register's part.
LLVMValueRef emit_thread_index(emitter *e, const layout *l);
/// Lane i1 that is true in the one copy that may store (RULES 1), or NULL if all may.
/// For a scalar (layout NULL): scalar i1, true in warp 0 of cta 0; `lane 0` is the target's.
LLVMValueRef emit_is_representative(emitter *e, const layout *l);

// --- emit_memory.c, emit_reduce.c, emit_convert.c: one function per op (or family).
void emit_load(emitter *e, const ir_op *op);
void emit_store(emitter *e, const ir_op *op);
void emit_atomic_rmw(emitter *e, const ir_op *op);
void emit_atomic_cas(emitter *e, const ir_op *op);
void emit_reduce(emitter *e, const ir_op *op);
void emit_convert_layout(emitter *e, const ir_op *op);
/// Gives the value held by the representative to all its copies: lanes by shuffle, warps through
/// shared memory at smem_offset(op). `l` NULL: one scalar held by warp 0.
void emit_broadcast_to_copies(emitter *e, const ir_op *op, const layout *l, LLVMValueRef *regs, unsigned n, dtype elem);

// --- smem.c: the one owner of shared memory and barriers (RULES 3, 4). Emitters declare how much
// scratch an op needs; the plan gives offsets and says before which ops a barrier goes. Inside its
// own scratch, an op that writes and then reads calls emit_barrier between.
uint32_t emit_reduce_scratch_bytes(const ir_op *op);
uint32_t emit_convert_scratch_bytes(const ir_op *op);
uint32_t emit_atomic_scratch_bytes(const ir_op *op);
smem_plan *smem_plan_create(ir_func *f, const axis_analysis *axis, arena *a);
uint32_t smem_total_bytes(const smem_plan *p);
uint32_t smem_offset(const smem_plan *p, const ir_op *op);
bool smem_barrier_before(const smem_plan *p, const ir_op *op);

#endif
