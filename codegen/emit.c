// Tile IR with layouts to LLVM IR. A tile value becomes one LLVM value per register of its layout
// (each of them a lane value, see target.h), a scalar becomes one. This file walks the ops, holds
// the table that names the emit function of every op, and lowers what is only a matter of layouts:
// constants, indices and shapes. Arithmetic is in emit_elementwise.c, control flow in
// emit_control.c, memory in emit_memory.c, data exchange in emit_reduce.c and emit_convert.c.
//
// The invariant: nothing here knows the target. What differs goes through e->tgt.
#include "codegen/emit.h"

#include "ir/passes.h"

#include <llvm-c/DebugInfo.h>

enum { MAX_WORK = 1 << 15 }; ///< see work_of

typedef void emit_fn(emitter *e, const ir_op *op);

// ---------------------------------------------------------------------------- registers

unsigned emit_reg_count(const ir_value *v) {
    return ir_is_tile(v->type) ? layout_reg_count(v->layout) : 1;
}

LLVMValueRef *emit_regs(emitter *e, const ir_value *v) { return e->regs[v->id]; }

void emit_set_regs(emitter *e, const ir_value *v, LLVMValueRef *regs) { e->regs[v->id] = regs; }

LLVMValueRef *emit_new_regs(emitter *e, unsigned n) {
    return ARENA_ARRAY(e->arena, LLVMValueRef, n);
}

/// Gives a value n copies of one register.
static void set_all_regs(emitter *e, const ir_value *v, LLVMValueRef reg) {
    unsigned n = emit_reg_count(v);
    LLVMValueRef *regs = emit_new_regs(e, n);
    for (unsigned i = 0; i < n; i++)
        regs[i] = reg;
    emit_set_regs(e, v, regs);
}

void emit_refuse(emitter *e, const ir_op *op, const char *why) {
    diag_error(e->diag, op->range, "'%s' %s", ir_get_op_info(op->opcode)->name, why);
    for (uint32_t i = 0; i < op->num_results; i++) {
        const ir_value *r = op->results[i];
        LLVMTypeRef scalar = e->tgt->value_type(e, r->type.elem);
        set_all_regs(e, r, LLVMConstNull(ir_is_tile(r->type) ? emit_lane_type(e, scalar) : scalar));
    }
}

// ---------------------------------------------------------------------------- small builders

bool emit_is_vector(LLVMValueRef v) { return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind; }

LLVMTypeRef emit_type_like(emitter *e, LLVMTypeRef scalar, LLVMValueRef like) {
    (void)e;
    return emit_is_vector(like) ? LLVMVectorType(scalar, LLVMGetVectorSize(LLVMTypeOf(like)))
                                : scalar;
}

LLVMTypeRef emit_int_like(emitter *e, unsigned bits, LLVMValueRef like) {
    return emit_type_like(e, LLVMIntTypeInContext(e->llvm, bits), like);
}

LLVMTypeRef emit_lane_type(emitter *e, LLVMTypeRef scalar) {
    return e->tgt->lanes > 1 ? LLVMVectorType(scalar, e->tgt->lanes) : scalar;
}

LLVMValueRef emit_const_i32(emitter *e, uint32_t v) {
    return LLVMConstInt(LLVMInt32TypeInContext(e->llvm), v, false);
}

/// `scalar`, or a constant vector of it, as the type `like_type` is.
static LLVMValueRef const_splat(LLVMValueRef scalar, LLVMTypeRef like_type) {
    if (LLVMGetTypeKind(like_type) != LLVMVectorTypeKind)
        return scalar;
    LLVMValueRef lanes[64];
    unsigned n = LLVMGetVectorSize(like_type);
    for (unsigned i = 0; i < n; i++)
        lanes[i] = scalar;
    return LLVMConstVector(lanes, n);
}

static LLVMTypeRef element_type(LLVMTypeRef t) {
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetElementType(t) : t;
}

LLVMValueRef emit_const_like(emitter *e, LLVMValueRef like, uint64_t v) {
    (void)e;
    LLVMTypeRef type = LLVMTypeOf(like), elem = element_type(type);
    unsigned bits = LLVMGetIntTypeWidth(elem);
    if (bits < 64)
        v &= (1ull << bits) - 1;
    return const_splat(LLVMConstInt(elem, v, false), type);
}

LLVMValueRef emit_const_float_like(emitter *e, LLVMValueRef like, double v) {
    (void)e;
    LLVMTypeRef type = LLVMTypeOf(like);
    return const_splat(LLVMConstReal(element_type(type), v), type);
}

LLVMValueRef emit_lane_const_i32(emitter *e, uint32_t v) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(e->llvm);
    return const_splat(LLVMConstInt(i32, v, false), emit_lane_type(e, i32));
}

LLVMValueRef emit_const_bits(emitter *e, dtype t, uint64_t bits) {
    LLVMTypeRef type = e->tgt->value_type(e, t);
    LLVMTypeRef as_int = LLVMIntTypeInContext(e->llvm, dtype_bits(t));
    if (dtype_bits(t) < 64)
        bits &= (1ull << dtype_bits(t)) - 1;
    LLVMValueRef v = LLVMConstInt(as_int, bits, false);
    return as_int == type ? v : LLVMConstBitCast(v, type);
}

LLVMValueRef emit_intrinsic(emitter *e, const char *name, bool overloaded, LLVMValueRef *args,
                            unsigned n) {
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMTypeRef type = LLVMTypeOf(args[0]);
    LLVMValueRef fn = LLVMGetIntrinsicDeclaration(e->module, id, &type, overloaded ? 1 : 0);
    return LLVMBuildCall2(e->b, LLVMGlobalGetValueType(fn), fn, args, n, "");
}

LLVMValueRef emit_contract(emitter *e, LLVMValueRef v) {
    if (!e->options->no_fp_fusion && LLVMIsAInstruction(v) && LLVMCanValueUseFastMathFlags(v))
        LLVMSetFastMathFlags(v, LLVMFastMathAllowContract);
    return v;
}

LLVMBasicBlockRef emit_new_block(emitter *e, const char *name) {
    return LLVMAppendBasicBlockInContext(e->llvm, e->fn, name);
}

void emit_cta_barrier(emitter *e) {
    if (++e->barriers != e->options->test_drop_barrier)
        e->tgt->barrier(e);
}

void emit_barrier(emitter *e) {
    if (e->func->num_ctas == 1)
        emit_cta_barrier(e);
    else if (++e->barriers != e->options->test_drop_barrier)
        e->tgt->cluster_barrier(e);
}

void emit_exchange_wait(emitter *e, uint32_t gate) {
    if (++e->barriers != e->options->test_drop_barrier)
        e->tgt->exchange_wait(e, gate);
}

// ---------------------------------------------------------------------------- layouts at run time

// An F2-linear map is a sum of shifts: all bases that move a bit by the same distance are one
// "(bits & mask) << distance". The usual layouts need one or two such terms.
LLVMValueRef emit_apply_bases(emitter *e, const uint32_t *bases, unsigned n, LLVMValueRef bits) {
    LLVMValueRef sum = NULL;
    for (int distance = -31; distance <= 31; distance++) {
        uint32_t mask = 0;
        for (unsigned i = 0; i < n; i++) {
            int to = (int)i + distance;
            if (to >= 0 && to < 32 && (bases[i] >> to & 1))
                mask |= 1u << i;
        }
        if (!mask)
            continue;
        LLVMValueRef term = LLVMBuildAnd(e->b, bits, emit_const_like(e, bits, mask), "");
        if (distance > 0)
            term = LLVMBuildShl(e->b, term, emit_const_like(e, bits, (unsigned)distance), "");
        else if (distance < 0)
            term = LLVMBuildLShr(e->b, term, emit_const_like(e, bits, (unsigned)-distance), "");
        sum = sum ? LLVMBuildXor(e->b, sum, term, "") : term;
    }
    return sum ? sum : emit_const_like(e, bits, 0);
}

static bool any_basis(const uint32_t *bases, unsigned n) {
    uint32_t all = 0;
    for (unsigned i = 0; i < n; i++)
        all |= bases[i];
    return all != 0;
}

static bool same_threads(const layout *a, const layout *b) {
    unsigned bits = layout_place_bits(a) - a->reg_bits;
    return a->warp_bits == b->warp_bits && bits == layout_place_bits(b) - b->reg_bits &&
           !memcmp(a->basis + a->reg_bits, b->basis + b->reg_bits, bits * sizeof(*a->basis));
}

static LLVMValueRef make_thread_index(emitter *e, const layout *l) {
    const uint32_t *lane = l->basis + l->reg_bits;
    const uint32_t *warp = lane + LAYOUT_LANE_BITS, *cta = warp + l->warp_bits;
    LLVMValueRef index = NULL;
    if (any_basis(lane, LAYOUT_LANE_BITS))
        index = emit_apply_bases(e, lane, LAYOUT_LANE_BITS, e->tgt->lane_id(e));
    if (any_basis(warp, l->warp_bits)) {
        LLVMValueRef part = emit_apply_bases(e, warp, l->warp_bits, e->tgt->warp_id(e));
        part = e->tgt->splat(e, part);
        index = index ? LLVMBuildXor(e->b, index, part, "") : part;
    }
    if (any_basis(cta, l->cta_bits)) {
        LLVMValueRef part = emit_apply_bases(e, cta, l->cta_bits, e->tgt->cta_rank(e));
        part = e->tgt->splat(e, part);
        index = index ? LLVMBuildXor(e->b, index, part, "") : part;
    }
    return index ? index : emit_lane_const_i32(e, 0);
}

// Made once per function, in its first block: every index needs it, and LLVM would spend its time
// on finding all copies of it.
LLVMValueRef emit_thread_index(emitter *e, const layout *l) {
    for (uint32_t i = 0; i < e->thread_indices.len; i++)
        if (same_threads(&e->thread_indices.data[i].layout, l))
            return e->thread_indices.data[i].value;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b), first = LLVMGetEntryBasicBlock(e->fn);
    LLVMMetadataRef line = LLVMGetCurrentDebugLocation2(e->b);
    LLVMValueRef next =
        e->prologue ? LLVMGetNextInstruction(e->prologue) : LLVMGetFirstInstruction(first);
    if (next)
        LLVMPositionBuilder(e->b, first, next);
    else
        LLVMPositionBuilderAtEnd(e->b, first);
    LLVMSetCurrentDebugLocation2(e->b, line); // positions bring their own
    LLVMValueRef index = make_thread_index(e, l);
    LLVMPositionBuilderAtEnd(e->b, here);
    VEC_PUSH(e->arena, e->thread_indices, (thread_index){*l, index});
    return index;
}

/// i1: all the bits of `mask` are 0 in `bits`; NULL if the mask is empty.
static LLVMValueRef bits_are_clear(emitter *e, LLVMValueRef bits, uint32_t mask) {
    LLVMValueRef some = LLVMBuildAnd(e->b, bits, emit_const_like(e, bits, mask), "");
    return LLVMBuildICmp(e->b, LLVMIntEQ, some, emit_const_like(e, bits, 0), "");
}

LLVMValueRef emit_and_maybe(emitter *e, LLVMValueRef a, LLVMValueRef b) {
    return !a ? b : !b ? a : LLVMBuildAnd(e->b, a, b, "");
}

LLVMValueRef emit_is_representative(emitter *e, const layout *l) {
    layout_replication copies = {0};
    if (l) {
        copies = layout_get_replication(l);
    } else {
        copies.warp_mask = e->func->num_warps - 1;
        copies.cta_mask = e->func->num_ctas - 1;
    }
    LLVMValueRef ok = NULL;
    if (copies.warp_mask)
        ok = bits_are_clear(e, e->tgt->warp_id(e), copies.warp_mask);
    if (copies.cta_mask)
        ok = emit_and_maybe(e, ok, bits_are_clear(e, e->tgt->cta_rank(e), copies.cta_mask));
    if (!l)
        return ok ? ok : LLVMConstInt(LLVMInt1TypeInContext(e->llvm), 1, false);
    if (ok)
        ok = e->tgt->splat(e, ok);
    if (copies.lane_mask)
        ok = emit_and_maybe(e, ok, bits_are_clear(e, e->tgt->lane_id(e), copies.lane_mask));
    return ok;
}

bool emit_match_registers(const layout *from, const layout *to, uint32_t *source) {
    unsigned thread_bits = layout_place_bits(from) - from->reg_bits;
    if (thread_bits != layout_place_bits(to) - to->reg_bits ||
        memcmp(from->basis + from->reg_bits, to->basis + to->reg_bits,
               thread_bits * sizeof(uint32_t)) != 0)
        return false;
    layout_span span = {0};
    for (unsigned i = 0; i < from->reg_bits; i++)
        layout_span_add(&span, from->basis[i], 1ull << i);
    source[0] = 0;
    for (unsigned i = 0; i < to->reg_bits; i++) {
        uint64_t combo;
        if (!layout_span_solve(&span, to->basis[i], &combo))
            return false;
        for (uint32_t r = 0; r < 1u << i; r++)
            source[r + (1u << i)] = source[r] ^ (uint32_t)combo;
    }
    return true;
}

// ---------------------------------------------------------------------------- constants, indices

static void emit_const(emitter *e, const ir_op *op) {
    const ir_value *r = op->results[0];
    uint64_t bits = (uint64_t)ir_get_int(op, ATTR_VALUE, 0);
    LLVMValueRef c = emit_const_bits(e, r->type.elem, bits);
    set_all_regs(e, r, ir_is_tile(r->type) ? e->tgt->splat(e, c) : c);
}

static void emit_splat(emitter *e, const ir_op *op) {
    set_all_regs(e, op->results[0], e->tgt->splat(e, emit_regs(e, op->operands[0])[0]));
}

/// Element `reg` of each thread, from the thread's part of the index.
static LLVMValueRef arange_register(emitter *e, const ir_op *op, LLVMValueRef index, uint32_t reg) {
    const layout *l = op->results[0]->layout;
    int64_t start = ir_get_int(op, ATTR_START, 0);
    bool fits = start >= 0 && start + (1ll << l->index_bits) <= INT32_MAX;
    uint32_t part = layout_apply(l, (layout_place){.reg = reg}), of_threads = 0;
    for (unsigned i = l->reg_bits; i < layout_place_bits(l); i++)
        of_threads |= l->basis[i];
    uint32_t add = (uint32_t)start, flip = part;
    if (!(part & of_threads)) { // the bits are disjoint: an addition, which addresses absorb
        add += part;
        flip = 0;
    }
    LLVMValueRef v = index;
    if (flip)
        v = LLVMBuildXor(e->b, v, emit_lane_const_i32(e, flip), "");
    if (add) {
        v = LLVMBuildAdd(e->b, v, emit_lane_const_i32(e, add), "");
        if (fits && LLVMIsAInstruction(v)) { // true by construction, not the author's word
            LLVMSetNSW(v, true);
            LLVMSetNUW(v, true);
        }
    }
    return v;
}

static void emit_arange(emitter *e, const ir_op *op) {
    const ir_value *r = op->results[0];
    LLVMValueRef index = emit_thread_index(e, r->layout);
    unsigned n = emit_reg_count(r);
    LLVMValueRef *regs = emit_new_regs(e, n);
    for (uint32_t i = 0; i < n; i++)
        regs[i] = arange_register(e, op, index, i);
    emit_set_regs(e, r, regs);
}

/// `depth` bounds the work: beyond it, values are taken as they are.
static LLVMValueRef again(emitter *e, const ir_value *v, unsigned r, unsigned depth) {
    enum { MOST_OPERANDS = 3 };
    const ir_op *def = v->def;
    LLVMValueRef operands[MOST_OPERANDS];
    if (def && def->opcode == OP_ARANGE)
        return arange_register(e, def, emit_thread_index(e, v->layout), r);
    if (!def || depth == 0 || !ir_is_tile(v->type) || def->num_operands > MOST_OPERANDS ||
        !ir_has_trait(def, ELEMENTWISE) || !ir_has_trait(def, CHEAP) || def->num_results != 1 ||
        def->opcode == OP_HINT)
        return emit_regs(e, v)[r];
    for (uint32_t i = 0; i < def->num_operands; i++)
        operands[i] = again(e, def->operands[i], r, depth - 1);
    return emit_elementwise(e, def, operands);
}

LLVMValueRef emit_again(emitter *e, const ir_value *v, unsigned r) { return again(e, v, r, 4); }

static void emit_program_id(emitter *e, const ir_op *op) {
    unsigned axis = (unsigned)ir_get_int(op, ATTR_AXIS, 0);
    set_all_regs(e, op->results[0], e->tgt->program_id(e, axis));
}

static void emit_num_programs(emitter *e, const ir_op *op) {
    unsigned axis = (unsigned)ir_get_int(op, ATTR_AXIS, 0);
    set_all_regs(e, op->results[0], e->tgt->num_programs(e, axis));
}

// ---------------------------------------------------------------------------- shapes

/// Maps an index of a broadcast's result to the one of its source.
static uint32_t broadcast_index(uint32_t index, const ir_type *from, const ir_type *to) {
    uint32_t out = 0, stride = 1;
    for (unsigned d = to->rank; d-- > 0;) {
        if (from->shape[d] != 1) {
            out += index % to->shape[d] * stride;
            stride *= from->shape[d];
        }
        index /= to->shape[d];
    }
    return out;
}

uint32_t *emit_shape_sources(emitter *e, const ir_op *op) {
    const ir_value *x = op->operands[0], *r = op->results[0];
    layout seen = *x->layout, want = *r->layout; // both in terms of one index
    uint32_t flip = 0;                           // of the register
    if (op->opcode == OP_PERMUTE) {
        const ir_attr *attr = ir_find_attr(op, ATTR_ORDER);
        uint8_t order[IR_MAX_RANK];
        for (uint32_t i = 0; i < attr->num_ints; i++)
            order[i] = (uint8_t)attr->ints[i];
        seen = layout_permute(x->layout, x->type.shape, x->type.rank, order);
    } else if (op->opcode == OP_BROADCAST) {
        want.index_bits = x->layout->index_bits;
        for (unsigned i = 0; i < layout_place_bits(&want); i++)
            want.basis[i] = broadcast_index(want.basis[i], &x->type, &r->type);
    } else if (op->opcode == OP_HALF) {
        want.index_bits++;
        for (unsigned i = 0; i < layout_place_bits(&want); i++)
            want.basis[i] <<= 1;
        flip = ir_get_int(op, ATTR_INDEX, 0) ? layout_find(x->layout, 1).reg : 0;
    }
    unsigned n = emit_reg_count(r);
    uint32_t *source = ARENA_ARRAY(e->arena, uint32_t, n);
    if (!emit_match_registers(&seen, &want, source))
        return NULL;
    for (unsigned i = 0; i < n; i++)
        source[i] ^= flip;
    return source;
}

/// reshape, permute, broadcast, half: the result's registers are registers of the operand.
static void emit_shape(emitter *e, const ir_op *op) {
    const ir_value *r = op->results[0];
    uint32_t *source = emit_shape_sources(e, op);
    if (!source) {
        emit_refuse(e, op, "needs a layout conversion that the layout pass has left out");
        return;
    }
    unsigned n = emit_reg_count(r);
    LLVMValueRef *from = emit_regs(e, op->operands[0]), *regs = emit_new_regs(e, n);
    for (unsigned i = 0; i < n; i++)
        regs[i] = from[source[i]];
    emit_set_regs(e, r, regs);
}

/// join: register by register one of the operands'; where the side depends on the thread, chosen.
static void emit_join(emitter *e, const ir_op *op) {
    const ir_value *r = op->results[0];
    layout pair = *r->layout, side = pair; // an index is a pair and a side of it
    pair.index_bits--;
    for (unsigned i = 0; i < layout_place_bits(&pair); i++) {
        pair.basis[i] >>= 1;
        side.basis[i] &= 1;
    }
    unsigned n = emit_reg_count(r);
    uint32_t *source = ARENA_ARRAY(e->arena, uint32_t, n);
    if (!emit_match_registers(op->operands[0]->layout, &pair, source)) {
        emit_refuse(e, op, "needs a layout conversion that the layout pass has left out");
        return;
    }
    LLVMValueRef *from[2] = {emit_regs(e, op->operands[0]), emit_regs(e, op->operands[1])};
    LLVMValueRef *regs = emit_new_regs(e, n), other = NULL;
    if (any_basis(side.basis + side.reg_bits, layout_place_bits(&side) - side.reg_bits)) {
        LLVMValueRef of_thread = emit_thread_index(e, &side);
        other = LLVMBuildICmp(e->b, LLVMIntNE, of_thread, emit_const_like(e, of_thread, 0), "");
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = layout_apply(&side, (layout_place){.reg = i});
        regs[i] = from[at][source[i]];
        if (other)
            regs[i] = LLVMBuildSelect(e->b, other, from[at ^ 1][source[i]], regs[i], "");
    }
    emit_set_regs(e, r, regs);
}

// ---------------------------------------------------------------------------- the walk

/// True if all registers of the op's operands are the same.
static bool is_repeated(emitter *e, const ir_op *op, unsigned n) {
    for (uint32_t k = 0; k < op->num_operands; k++)
        for (unsigned i = 1; i < n; i++)
            if (emit_regs(e, op->operands[k])[i] != emit_regs(e, op->operands[k])[0])
                return false;
    return true;
}

/// Lets the target do all registers of an op together, if it has a way and they differ.
static bool emit_many(emitter *e, const ir_op *op, unsigned n, LLVMValueRef *regs) {
    LLVMValueRef *args[3] = {0};
    if (!e->tgt->many || n == 1 || op->num_operands == 0 || op->num_operands > 3 ||
        is_repeated(e, op, n))
        return false;
    for (uint32_t k = 0; k < op->num_operands; k++)
        args[k] = emit_regs(e, op->operands[k]);
    return e->tgt->many(e, op, op->operands[0]->type.elem, args, n, regs);
}

/// Elementwise, register by register. Equal operand registers (constants, splats) give one value.
static void emit_each_register(emitter *e, const ir_op *op) {
    const ir_value *r = op->results[0];
    unsigned n = emit_reg_count(r);
    LLVMValueRef *regs = emit_new_regs(e, n), args[3] = {0}, last[3] = {0};
    emit_set_regs(e, r, regs);
    if (emit_many(e, op, n, regs))
        return;
    for (unsigned i = 0; i < n; i++) {
        for (uint32_t k = 0; k < op->num_operands && k < 3; k++)
            args[k] = emit_regs(e, op->operands[k])[i];
        bool same = i > 0 && memcmp(args, last, sizeof(args)) == 0;
        regs[i] = same ? regs[i - 1] : emit_elementwise(e, op, args);
        memcpy(last, args, sizeof(args));
        if (e->tgt->limit_block && !same)
            e->tgt->limit_block(e, 1);
    }
}

static void emit_barrier_op(emitter *e, const ir_op *op) {
    (void)op;
    emit_barrier(e);
}

static void emit_asm(emitter *e, const ir_op *op) {
    if (e->tgt->inline_asm)
        e->tgt->inline_asm(e, op);
    else
        emit_refuse(e, op,
                    "is the GPU's assembly, which the cpu device cannot run: choose by a "
                    "constexpr, or give the kernel to a GPU");
}

static void emit_special(emitter *e, const ir_op *op) {
    LLVMValueRef v = e->tgt->special(e, op->opcode);
    if (op->num_results)
        set_all_regs(e, op->results[0], v);
}

/// What emits an op. Elementwise ops with no row here go through emit_elementwise register by
/// register; terminators are left to the op whose region they end.
static emit_fn *const emitters[IR_OPCODE_COUNT] = {
    [OP_CONST] = emit_const,
    [OP_ARANGE] = emit_arange,
    [OP_SPLAT] = emit_splat,
    [OP_PROGRAM_ID] = emit_program_id,
    [OP_NUM_PROGRAMS] = emit_num_programs,
    [OP_HINT] = emit_hint,
    [OP_RECALL] = emit_recall,
    [OP_ASSUME] = emit_assume,
    [OP_RESHAPE] = emit_shape,
    [OP_BROADCAST] = emit_shape,
    [OP_PERMUTE] = emit_shape,
    [OP_HALF] = emit_shape,
    [OP_JOIN] = emit_join,
    [OP_FLIP] = emit_flip,
    [OP_CONVERT_LAYOUT] = emit_convert_layout,
    [OP_REDUCE] = emit_reduce,
    [OP_SCAN] = emit_scan,
    [OP_GATHER] = emit_gather,
    [OP_HISTOGRAM] = emit_histogram,
    [OP_LOAD] = emit_load,
    [OP_STORE] = emit_store,
    [OP_ASYNC_COPY] = emit_async_copy,
    [OP_ASYNC_COMMIT] = emit_async_commit,
    [OP_ASYNC_WAIT] = emit_async_wait,
    [OP_ASYNC_READ] = emit_async_read,
    [OP_ATOMIC_RMW] = emit_atomic_rmw,
    [OP_ATOMIC_CAS] = emit_atomic_cas,
    [OP_BARRIER] = emit_barrier_op,
    [OP_ASM] = emit_asm,
    [OP_ASM_EFFECT] = emit_asm,
    [OP_GLOBALTIMER] = emit_special,
    [OP_SMID] = emit_special,
    [OP_GDC_WAIT] = emit_special,
    [OP_GDC_LAUNCH] = emit_special,
    [OP_ASSERT] = emit_assert,
    [OP_PRINT] = emit_print,
    [OP_FOR] = emit_for,
    [OP_WHILE] = emit_while,
    [OP_IF] = emit_if,
};

static void set_debug_location(emitter *e, src_range at) {
    if (!e->debug_scope || !at.file)
        return;
    diag_position p = diag_locate(e->diag, at.file, at.begin);
    LLVMSetCurrentDebugLocation2(
        e->b, LLVMDIBuilderCreateDebugLocation(e->llvm, p.line, p.column, e->debug_scope, NULL));
}

static void emit_op(emitter *e, const ir_op *op) {
    e->at = op->range;
    e->op = op;
    set_debug_location(e, op->range);
    if (e->starting && smem_crosses(e->smem, op)) {
        e->starting = false;
        if (++e->barriers != e->options->test_drop_barrier)
            e->tgt->cluster_started(e);
    }
    switch (smem_barrier_before(e->smem, op)) {
    case SMEM_NO_BARRIER:
        break;
    case SMEM_CTA_BARRIER:
        emit_cta_barrier(e);
        break;
    case SMEM_PROGRAM_BARRIER:
        emit_barrier(e);
    }
    if (emitters[op->opcode])
        emitters[op->opcode](e, op);
    else if (ir_has_trait(op, ELEMENTWISE))
        emit_each_register(e, op);
    else
        emit_refuse(e, op, "is not supported yet by the code generator");
}

void emit_block(emitter *e, const ir_block *b) {
    for (const ir_op *op = b->first; op; op = op->next) {
        emit_finish_loads(e, ir_has_trait(op, TERMINATOR) ? NULL : op);
        if (!ir_has_trait(op, TERMINATOR))
            emit_op(e, op);
    }
}

void emit_combine(emitter *e, const ir_block *region, LLVMValueRef const *args, LLVMValueRef *out) {
    for (uint32_t i = 0; i < region->num_args; i++) {
        LLVMValueRef *reg = emit_new_regs(e, 1);
        *reg = args[i];
        emit_set_regs(e, region->args[i], reg);
    }
    for (const ir_op *op = region->first; op; op = op->next) {
        if (op->opcode == OP_YIELD) {
            for (uint32_t i = 0; i < op->num_operands; i++)
                out[i] = emit_regs(e, op->operands[i])[0];
        } else if (op->opcode == OP_CONST) {
            LLVMValueRef c = emit_const_bits(e, op->results[0]->type.elem,
                                             (uint64_t)ir_get_int(op, ATTR_VALUE, 0));
            set_all_regs(e, op->results[0], e->tgt->splat(e, c));
        } else if (ir_has_trait(op, ELEMENTWISE) && op->opcode != OP_HINT) {
            emit_each_register(e, op);
        } else {
            emit_refuse(e, op, "cannot be used in the function that combines two elements");
        }
    }
}

// ---------------------------------------------------------------------------- functions

typedef struct size_check {
    emitter *e;
    bool ok;
    uint64_t work; ///< of the whole function
} size_check;

/// Reports a value that takes too many registers, or has no layout.
static void check_value(size_check *c, const ir_value *v, src_range range) {
    emitter *e = c->e;
    if (!ir_is_tile(v->type))
        return;
    if (!v->layout) {
        diag_error(e->diag, range, "a tile has no layout: pass 'layout' has not run");
        c->ok = false;
    } else {
        c->ok = layout_check_registers(e->func, v, range);
    }
}

static void count_op(ir_op *op, void *ctx) {
    (void)op;
    ++*(uint64_t *)ctx;
}

/// What LLVM has to do for an op, roughly, in simple instructions of one thread. A branch costs it
/// far more than arithmetic: some of its passes compare all branches on one condition, and scalar
/// accesses all run under the same one.
static uint64_t work_of(const ir_op *op) {
    enum { FUNCTION = 4, ACCESS = 4, BRANCH = 12, EXCHANGES = 16, SCAN_STEPS = 12 };
    const ir_value *v = op->num_operands  ? op->operands[0]
                        : op->num_results ? op->results[0]
                                          : NULL;
    bool is_tile = v && ir_is_tile(v->type) && v->layout;
    uint64_t registers = is_tile ? layout_reg_count(v->layout) : 1, combine = 0;
    if (ir_has_trait(op, TERMINATOR))
        return 0;
    if (ir_has_trait(op, ISOLATED)) {
        ir_walk(op->regions[0], count_op, &combine);
        registers *= op->opcode == OP_SCAN ? SCAN_STEPS : 1;
        return combine * (registers + EXCHANGES);
    }
    if (op->num_regions || ir_has_trait(op, READS) || ir_has_trait(op, EFFECT))
        return is_tile ? ACCESS * registers : BRANCH;
    return (ir_has_trait(op, CHEAP) ? 1 : FUNCTION) * registers;
}

static void check_op_sizes(ir_op *op, void *ctx) {
    size_check *c = ctx;
    if (op->block->parent && ir_has_trait(op->block->parent, ISOLATED))
        return; // combine functions work on single elements
    c->work += work_of(op);
    for (uint32_t i = 0; i < op->num_results && c->ok; i++)
        check_value(c, op->results[i], op->range);
}

static bool check_function(emitter *e) {
    size_check c = {e, true, 0};
    ir_walk(e->func->body, check_op_sizes, &c);
    if (c.ok && c.work > MAX_WORK) {
        diag_error(
            e->diag, e->func->range,
            "the kernel is too large: about %llu instructions in each thread, more than %d; use "
            "smaller tiles, more warps, or loops that are not unrolled",
            (unsigned long long)c.work, MAX_WORK);
        c.ok = false;
    }
    return c.ok;
}

/// See emitter.narrowed.
static void note_uses(ir_op *op, void *ctx) {
    emitter *e = ctx;
    dtype to = op->num_results == 1 ? op->results[0]->type.elem : DT_I1;
    bool narrows = op->opcode == OP_CAST && (to == DT_FP16 || to == DT_BF16);
    for (uint32_t i = 0; i < op->num_operands && !narrows; i++)
        if (op->operands[i])
            e->narrowed[op->operands[i]->id] = false;
}

bool emit_function(emitter *e) {
    ir_func *f = e->func;
    uint32_t errors = diag_error_count(e->diag);
    if (!check_function(e))
        return false;
    e->axis = axis_analyze(f, e->arena);
    e->uses = ir_count_uses(f, e->arena);
    e->narrowed = ARENA_ARRAY(e->arena, bool, f->num_values);
    memset(e->narrowed, true, f->num_values * sizeof(bool));
    ir_walk(f->body, note_uses, e);
    e->smem = smem_plan_create(f, e->axis, e->tgt->has_exchanges(e), e->arena);
    e->regs = ARENA_ARRAY(e->arena, LLVMValueRef *, f->num_values);
    e->barriers = 0;
    LLVMValueRef *params = emit_new_regs(e, f->num_params);
    e->tgt->begin_function(e, params);
    e->prologue = LLVMGetLastInstruction(LLVMGetEntryBasicBlock(e->fn));
    e->thread_indices.len = 0;
    for (uint32_t i = 0; i < f->num_params; i++)
        emit_set_regs(e, f->body->args[i], &params[i]);
    e->starting = smem_waits_at_start(e->smem);
    const ir_op *exchange;
    for (uint32_t i = 0; (exchange = smem_exchange(e->smem, i)) != NULL; i++)
        emit_expect_exchange(e, exchange);
    if (e->starting)
        e->tgt->cluster_start(e);
    emit_check_params(e);
    emit_block(e, f->body);
    if (smem_barrier_at_end(e->smem))
        emit_barrier(e);
    e->tgt->end_function(e);
    return diag_error_count(e->diag) == errors;
}
