// convert_layout: the same tile, held by other threads. Inside a warp by rotating and shuffling
// registers (shuffle_plan.h); across warps through shared memory, where swizzle.h places the
// elements: one copy of each is written, a barrier, every copy is read. Across the CTAs of a cluster
// it is the same way: each writes its share to its own memory and reads in that of the others. flip
// goes the same ways.
#include "codegen/exchange.h"
#include "codegen/shuffle_plan.h"
#include "codegen/swizzle.h"

enum {
    MAX_THREAD_BITS = LAYOUT_LANE_BITS + MAX_WARP_OR_CTA_BITS,
    BARRIER_COST = 8, ///< a barrier, in shuffles; to choose between the two ways
};

// ---------------------------------------------------------------------------- small pieces

LLVMTypeRef exchange_type(emitter *e, dtype elem) {
    if (elem == DT_I1)
        return LLVMInt8TypeInContext(e->llvm);
    if (elem == DT_PTR)
        return LLVMInt64TypeInContext(e->llvm);
    return e->tgt->value_type(e, elem);
}

LLVMValueRef exchange_pack(emitter *e, LLVMValueRef v, dtype elem) {
    LLVMTypeRef type = emit_type_like(e, exchange_type(e, elem), v);
    if (elem == DT_I1)
        return LLVMBuildZExt(e->b, v, type, "");
    return elem == DT_PTR ? LLVMBuildPtrToInt(e->b, v, type, "") : v;
}

LLVMValueRef exchange_unpack(emitter *e, LLVMValueRef v, dtype elem) {
    LLVMTypeRef type = emit_type_like(e, e->tgt->value_type(e, elem), v);
    if (elem == DT_I1)
        return LLVMBuildTrunc(e->b, v, type, "");
    return elem == DT_PTR ? LLVMBuildIntToPtr(e->b, v, type, "") : v;
}

static uint32_t all_bits(const uint32_t *bases, unsigned n) {
    uint32_t all = 0;
    for (unsigned i = 0; i < n; i++)
        all |= bases[i];
    return all;
}

LLVMValueRef exchange_thread_bits(emitter *e, const uint32_t *lane_bases,
                                  const uint32_t *warp_bases, unsigned warp_bits,
                                  unsigned cta_bits) {
    const uint32_t *cta_bases = warp_bases + warp_bits;
    LLVMValueRef sum = emit_lane_const_i32(e, 0);
    if (all_bits(lane_bases, LAYOUT_LANE_BITS))
        sum = emit_apply_bases(e, lane_bases, LAYOUT_LANE_BITS, e->tgt->lane_id(e));
    if (all_bits(warp_bases, warp_bits)) {
        LLVMValueRef part = emit_apply_bases(e, warp_bases, warp_bits, e->tgt->warp_id(e));
        sum = LLVMBuildXor(e->b, sum, e->tgt->splat(e, part), "");
    }
    if (all_bits(cta_bases, cta_bits)) {
        LLVMValueRef part = emit_apply_bases(e, cta_bases, cta_bits, e->tgt->cta_rank(e));
        sum = LLVMBuildXor(e->b, sum, e->tgt->splat(e, part), "");
    }
    return sum;
}

LLVMValueRef exchange_offset(emitter *e, LLVMValueRef base, uint32_t run_time_bits, uint32_t part,
                             uint32_t add) {
    add += part & ~run_time_bits;
    part &= run_time_bits;
    if (part)
        base = LLVMBuildXor(e->b, base, emit_lane_const_i32(e, part), "");
    return add ? LLVMBuildAdd(e->b, base, emit_lane_const_i32(e, add), "") : base;
}

// ---------------------------------------------------------------------------- within warps

/// regs[r] becomes regs[r ^ t], where t is the sum of the bases over the thread's bits: a thread
/// picks among its registers by exchanging them in pairs, once for each independent direction.
static void rotate(emitter *e, LLVMValueRef *regs, unsigned n, const uint32_t *lane_bases,
                   const uint32_t *warp_bases, unsigned warp_bits, unsigned cta_bits) {
    unsigned bits = LAYOUT_LANE_BITS + warp_bits + cta_bits;
    uint32_t basis[MAX_THREAD_BITS], on[MAX_THREAD_BITS];
    layout_span s = {0};
    for (unsigned i = 0; i < bits; i++) {
        basis[i] = i < LAYOUT_LANE_BITS ? lane_bases[i] : warp_bases[i - LAYOUT_LANE_BITS];
        layout_span_add(&s, basis[i], 0);
    }
    LLVMValueRef *next = emit_new_regs(e, n);
    for (unsigned d = 0; d < s.rank; d++) {
        // vector[d] takes part where its leading bit is set in the sum: no other vector has it.
        uint32_t leading = 1u << (31 - __builtin_clz(s.vector[d]));
        for (unsigned i = 0; i < bits; i++)
            on[i] = (basis[i] & leading) != 0;
        LLVMValueRef parity =
            exchange_thread_bits(e, on, on + LAYOUT_LANE_BITS, warp_bits, cta_bits);
        LLVMValueRef swap =
            LLVMBuildICmp(e->b, LLVMIntNE, parity, emit_const_like(e, parity, 0), "");
        for (unsigned r = 0; r < n; r++)
            next[r] = LLVMBuildSelect(e->b, swap, regs[r ^ s.vector[d]], regs[r], "");
        memcpy(regs, next, n * sizeof(regs[0]));
    }
}

static LLVMValueRef *run_shuffle_plan(emitter *e, const layout *from, const layout *to,
                                      const shuffle_plan *p, LLVMValueRef *regs, dtype elem) {
    unsigned n_from = layout_reg_count(from), n_to = layout_reg_count(to);
    LLVMValueRef *sent = emit_new_regs(e, n_from), *received = emit_new_regs(e, n_to);
    memcpy(sent, regs, n_from * sizeof(regs[0]));
    unsigned warp_bits = from->warp_bits, cta_bits = from->cta_bits;
    rotate(e, sent, n_from, p->before_lane, p->before_warp, warp_bits, cta_bits);
    LLVMValueRef source = NULL;
    if (p->moves_lanes)
        source = exchange_thread_bits(e, p->lane_lane, p->lane_warp, warp_bits, cta_bits);
    for (unsigned r = 0; r < n_to; r++) {
        received[r] = sent[layout_sum(p->reg_reg, r)];
        if (p->moves_lanes) {
            uint32_t part = layout_sum(p->reg_lane, r);
            LLVMValueRef lane = exchange_offset(e, source, UINT32_MAX, part, 0);
            LLVMValueRef packed = exchange_pack(e, received[r], elem);
            received[r] = exchange_unpack(e, e->tgt->shuffle_idx(e, packed, lane), elem);
        }
    }
    rotate(e, received, n_to, p->after_lane, p->before_warp, 0, 0);
    return received;
}

// ---------------------------------------------------------------------------- shared memory

/// An exchange as it looks in the memory of the CTAs. An element has a number in the share of the CTA
/// that holds it; the layouts are in those numbers. With them, whose memory a thread reads in.
typedef struct trip {
    layout_share share;
    layout from, to; ///< a register of `to` in another CTA's memory: the owner's bits on top
    uint32_t owner[MAX_THREAD_BITS]; ///< by bit of the reading thread
    bool crosses;                    ///< some thread reads another CTA's memory
} trip;

/// The trip of a tile from one layout to another, and to the thread `shift` away in the index.
/// `from_first`: only the first CTA of those that hold copies has the right values.
static trip plan_trip(const layout *from, const layout *to, uint32_t shift, bool from_first) {
    trip t = {.share = layout_share_ctas(from), .from = *from, .to = *to};
    const layout_share *s = &t.share;
    t.from.index_bits = t.to.index_bits = s->local_bits;
    for (unsigned i = 0; i < layout_place_bits(from); i++)
        t.from.basis[i] = layout_share_local(s, from->basis[i]);
    for (unsigned i = 0; i < layout_place_bits(to); i++) {
        uint32_t owner = layout_share_owner(s, to->basis[i]);
        t.to.basis[i] = layout_share_local(s, to->basis[i]);
        if (i < to->reg_bits)
            t.to.basis[i] |= owner << s->local_bits;
        else
            t.owner[i - to->reg_bits] = owner;
        if (i >= layout_place_bits(to) - to->cta_bits) // of the thread's own CTA
            owner ^= layout_share_owner(s, from->basis[i - to->reg_bits + from->reg_bits]);
        t.crosses |= owner != 0;
    }
    t.crosses |= layout_share_owner(s, shift) != 0 || (from_first && s->copies);
    return t;
}

/// One side of the exchange: where this thread's registers are in scratch memory.
typedef struct smem_side {
    LLVMValueRef base;      ///< byte offset of register 0 (of its vector), without the scratch's
    LLVMValueRef cta;       ///< whose memory register 0 is in; NULL: this CTA's
    uint32_t run_time_bits; ///< that base may have
    uint32_t vec_reg[4];    ///< the register bits that lead to elements 1, 2, 4, 8 of a vector
} smem_side;

/// The side of a thread, or of the one whose index is off by `shift`.
static smem_side make_side(emitter *e, const layout *l, const swizzle *s, uint32_t shift) {
    uint32_t bases[MAX_THREAD_BITS];
    unsigned n = layout_place_bits(l) - l->reg_bits;
    for (unsigned i = 0; i < n; i++)
        bases[i] = swizzle_offset(s, l->basis[l->reg_bits + i]);
    smem_side side = {.run_time_bits = all_bits(bases, n)};
    side.base = exchange_thread_bits(e, bases, bases + LAYOUT_LANE_BITS, l->warp_bits, l->cta_bits);
    side.base = exchange_offset(e, side.base, UINT32_MAX, swizzle_offset(s, shift), 0);
    for (unsigned k = 0; k < s->vec_log2; k++)
        side.vec_reg[k] = layout_find(l, s->vec[k]).reg;
    return side;
}

static smem_side make_reading_side(emitter *e, const trip *t, const swizzle *s, uint32_t shift) {
    const layout *l = &t->to;
    smem_side side = make_side(e, l, s, layout_share_local(&t->share, shift));
    if (!t->crosses)
        return side;
    side.cta =
        exchange_thread_bits(e, t->owner, t->owner + LAYOUT_LANE_BITS, l->warp_bits, l->cta_bits);
    uint32_t owner = layout_share_owner(&t->share, shift);
    side.cta = exchange_offset(e, side.cta, UINT32_MAX, owner, 0);
    return side;
}

/// The byte offset of register r if it is the first of its vector, else UINT32_MAX.
static uint32_t vector_at(const layout *l, const swizzle *s, uint32_t r) {
    uint32_t at = swizzle_offset(s, layout_apply(l, (layout_place){.reg = r}));
    return at & ((1u << (s->vec_log2 + s->elem_log2)) - 1) ? UINT32_MAX : at;
}

/// The thread of its CTA that writes: every CTA writes its share, copy or not.
static LLVMValueRef writes_share(emitter *e, const layout *l) {
    layout in_cta = *l;
    in_cta.cta_bits = 0;
    return emit_is_representative(e, &in_cta);
}

static void write_share(emitter *e, const trip *t, const swizzle *s, LLVMValueRef *regs, dtype elem,
                        uint32_t scratch) {
    smem_side w = make_side(e, &t->from, s, 0);
    LLVMValueRef one_copy = writes_share(e, &t->from), group[16];
    for (uint32_t r = 0; r < layout_reg_count(&t->from); r++) {
        uint32_t at = vector_at(&t->from, s, r);
        if (at == UINT32_MAX)
            continue;
        for (unsigned k = 0; k < 1u << s->vec_log2; k++)
            group[k] = exchange_pack(e, regs[r ^ layout_sum(w.vec_reg, k)], elem);
        LLVMValueRef offset = exchange_offset(e, w.base, w.run_time_bits, at, scratch);
        e->tgt->smem_store(e, NULL, offset, group, 1u << s->vec_log2, one_copy);
    }
}

/// Each thread reads what the thread `shift` away in the index holds under `to`.
static LLVMValueRef *through_shared(emitter *e, const layout *from, const layout *to,
                                    LLVMValueRef *regs, dtype elem, uint32_t scratch,
                                    uint32_t shift, bool from_first) {
    trip t = plan_trip(from, to, shift, from_first);
    swizzle s = swizzle_choose(&t.from, &t.to, dtype_bytes(elem));
    write_share(e, &t, &s, regs, elem, scratch);
    if (t.crosses)
        emit_barrier(e);
    else
        emit_cta_barrier(e);
    smem_side rd = make_reading_side(e, &t, &s, shift);
    LLVMValueRef *out = emit_new_regs(e, layout_reg_count(to)), group[16], cta = rd.cta;
    for (uint32_t r = 0; r < layout_reg_count(to); r++) {
        uint32_t at = vector_at(&t.to, &s, r);
        if (at == UINT32_MAX)
            continue;
        LLVMValueRef offset = exchange_offset(e, rd.base, rd.run_time_bits, at, scratch);
        uint32_t owner = layout_apply(&t.to, (layout_place){.reg = r}) >> t.share.local_bits;
        if (t.crosses)
            cta = exchange_offset(e, rd.cta, UINT32_MAX, owner, 0);
        e->tgt->smem_load(e, cta, offset, exchange_type(e, elem), 1u << s.vec_log2, group);
        for (unsigned k = 0; k < 1u << s.vec_log2; k++)
            out[r ^ layout_sum(rd.vec_reg, k)] = exchange_unpack(e, group[k], elem);
    }
    return out;
}

/// Scratch that a tile takes in each CTA.
static uint32_t share_bytes(const layout *l, dtype elem) {
    return dtype_bytes(elem) << layout_share_ctas(l).local_bits;
}

// ---------------------------------------------------------------------------- the choice

/// Whether to stay inside the warps: possible, and not more shuffles than accesses and a barrier.
static bool stays_in_warps(const layout *from, const layout *to, dtype elem, shuffle_plan *plan) {
    if (!shuffle_plan_make(from, to, plan))
        return false;
    unsigned words = dtype_bytes(elem) > 4 ? 2 : 1;
    unsigned shuffles = layout_reg_count(to) * words;
    trip t = plan_trip(from, to, 0, false);
    unsigned vec = 1u << swizzle_choose(&t.from, &t.to, dtype_bytes(elem)).vec_log2;
    unsigned accesses = (layout_reg_count(from) + layout_reg_count(to)) / vec;
    return !plan->moves_lanes || shuffles <= accesses + BARRIER_COST;
}

uint32_t exchange_convert_bytes(const layout *from, const layout *to, dtype elem) {
    layout a = layout_drop_register_copies(from), b = layout_drop_register_copies(to);
    shuffle_plan plan;
    return stays_in_warps(&a, &b, elem, &plan) ? 0 : share_bytes(&a, elem);
}

bool exchange_convert_crosses(const layout *from, const layout *to) {
    layout a = layout_drop_register_copies(from), b = layout_drop_register_copies(to);
    return plan_trip(&a, &b, 0, false).crosses;
}

/// The registers that a layout without copies within the thread keeps of `l`, or the reverse.
static LLVMValueRef *match_registers(emitter *e, const layout *from, const layout *to,
                                     LLVMValueRef *regs) {
    unsigned n = layout_reg_count(to);
    uint32_t *source = ARENA_ARRAY(e->arena, uint32_t, n);
    emit_match_registers(from, to, source); // cannot fail: both hold the same in each thread
    LLVMValueRef *out = emit_new_regs(e, n);
    for (unsigned i = 0; i < n; i++)
        out[i] = regs[source[i]];
    return out;
}

LLVMValueRef *exchange_convert(emitter *e, const layout *from, const layout *to, LLVMValueRef *regs,
                               dtype elem, uint32_t scratch) {
    layout a = layout_drop_register_copies(from), b = layout_drop_register_copies(to);
    shuffle_plan plan;
    regs = match_registers(e, from, &a, regs);
    regs = stays_in_warps(&a, &b, elem, &plan)
               ? run_shuffle_plan(e, &a, &b, &plan, regs, elem)
               : through_shared(e, &a, &b, regs, elem, scratch, 0, false);
    return match_registers(e, &b, to, regs);
}

uint32_t emit_convert_scratch_bytes(const ir_op *op) {
    const ir_value *x = op->operands[0], *y = op->results[0];
    return exchange_convert_bytes(x->layout, y->layout, x->type.elem);
}

bool emit_convert_crosses(const ir_op *op) {
    return exchange_convert_crosses(op->operands[0]->layout, op->results[0]->layout);
}

void emit_convert_layout(emitter *e, const ir_op *op) {
    const ir_value *x = op->operands[0], *y = op->results[0];
    uint32_t bytes = emit_convert_scratch_bytes(op);
    if (bytes && !smem_fits(e, op, bytes))
        return;
    LLVMValueRef *regs = emit_regs(e, x);
    emit_set_regs(e, y,
                  exchange_convert(e, x->layout, y->layout, regs, x->type.elem,
                                   bytes ? smem_offset(e->smem, op) : 0));
}

// ---------------------------------------------------------------------------- flip

// Element i of a flipped tile is element i ^ m, where m has all bits of the axis. Layouts are
// linear, so the one is at place p and the other at p ^ d for one fixed d: its register part
// renames registers, its lane part is a shuffle, and its warp or CTA part, if any, a trip through
// shared memory.
static layout_place flip_distance(const ir_op *op) {
    ir_type t = op->operands[0]->type;
    unsigned axis = (unsigned)ir_get_int(op, ATTR_AXIS, 0);
    layout l = layout_drop_register_copies(op->operands[0]->layout);
    return layout_find(&l, layout_dim_mask(t.shape, t.rank, axis));
}

uint32_t emit_flip_scratch_bytes(const ir_op *op) {
    const ir_value *x = op->operands[0];
    layout_place d = flip_distance(op);
    return d.warp || d.cta ? share_bytes(x->layout, x->type.elem) : 0;
}

bool emit_flip_crosses(const ir_op *op) { return flip_distance(op).cta != 0; }

/// The registers of the thread whose lane, warp and CTA are d away.
static LLVMValueRef *distant_registers(emitter *e, const ir_op *op, const layout *l, layout_place d,
                                       LLVMValueRef *regs) {
    dtype elem = op->operands[0]->type.elem;
    if (d.warp || d.cta) {
        layout_place of_thread = {.lane = d.lane, .warp = d.warp, .cta = d.cta};
        return through_shared(e, l, l, regs, elem, smem_offset(e->smem, op),
                              layout_apply(l, of_thread), false);
    }
    unsigned n = layout_reg_count(l);
    LLVMValueRef *out = emit_new_regs(e, n);
    for (unsigned r = 0; r < n; r++) {
        LLVMValueRef packed = exchange_pack(e, regs[r], elem);
        out[r] = exchange_unpack(e, e->tgt->shuffle_xor(e, packed, d.lane), elem);
    }
    return out;
}

void emit_flip(emitter *e, const ir_op *op) {
    const ir_value *x = op->operands[0];
    layout l = layout_drop_register_copies(x->layout);
    layout_place d = flip_distance(op);
    uint32_t bytes = emit_flip_scratch_bytes(op);
    if (bytes && !smem_fits(e, op, bytes))
        return;
    unsigned n = layout_reg_count(&l);
    LLVMValueRef *regs = match_registers(e, x->layout, &l, emit_regs(e, x));
    LLVMValueRef *flipped = emit_new_regs(e, n);
    if (d.lane || d.warp || d.cta)
        regs = distant_registers(e, op, &l, d, regs);
    for (unsigned r = 0; r < n; r++)
        flipped[r] = regs[r ^ d.reg];
    emit_set_regs(e, op->results[0], match_registers(e, &l, x->layout, flipped));
}

// ---------------------------------------------------------------------------- copies

/// True if copies are told apart by bits of the lane and register number alone, and differ in
/// nothing else: then the copy's original is found by clearing them.
static bool copies_are_plain(const layout *l, layout_replication copies) {
    uint32_t sum = 0;
    for (unsigned i = 0; i < l->reg_bits; i++)
        sum |= copies.reg_mask >> i & 1 ? l->basis[i] : 0;
    for (unsigned i = 0; i < LAYOUT_LANE_BITS; i++)
        sum |= copies.lane_mask >> i & 1 ? l->basis[l->reg_bits + i] : 0;
    return !copies.warp_mask && !copies.cta_mask && sum == 0;
}

static void broadcast_scalar(emitter *e, const ir_op *op, LLVMValueRef *regs, dtype elem) {
    LLVMValueRef v = exchange_pack(e, e->tgt->splat(e, regs[0]), elem);
    LLVMValueRef zero = emit_lane_const_i32(e, 0);
    v = e->tgt->shuffle_idx(e, v, zero);
    if (emit_atomic_scratch_bytes(op)) {
        LLVMValueRef at = emit_lane_const_i32(e, smem_offset(e->smem, op));
        layout in_cta = {.warp_bits = (uint8_t)__builtin_ctz(e->func->num_warps)};
        e->tgt->smem_store(e, NULL, at, &v, 1, emit_is_representative(e, &in_cta));
        emit_barrier(e);
        e->tgt->smem_load(e, e->func->num_ctas > 1 ? zero : NULL, at, exchange_type(e, elem), 1,
                          &v);
    }
    regs[0] = e->tgt->uniform(e, exchange_unpack(e, v, elem));
}

void emit_broadcast_to_copies(emitter *e, const ir_op *op, const layout *l, LLVMValueRef *regs,
                              unsigned n, dtype elem) {
    if (!l) {
        broadcast_scalar(e, op, regs, elem);
        return;
    }
    layout_replication copies = layout_get_replication(l);
    if (!copies_are_plain(l, copies)) {
        if (!smem_fits(e, op, emit_atomic_scratch_bytes(op)))
            return;
        layout unique = layout_drop_register_copies(l);
        LLVMValueRef *originals = match_registers(e, l, &unique, regs);
        originals =
            through_shared(e, &unique, &unique, originals, elem, smem_offset(e->smem, op), 0, true);
        memcpy(regs, match_registers(e, &unique, l, originals), n * sizeof(regs[0]));
        return;
    }
    LLVMValueRef lane = NULL;
    if (copies.lane_mask) {
        lane = e->tgt->lane_id(e);
        lane = LLVMBuildAnd(e->b, lane, emit_const_like(e, lane, ~copies.lane_mask), "");
    }
    for (unsigned r = 0; r < n; r++) {
        if (r & copies.reg_mask)
            regs[r] = regs[r & ~copies.reg_mask];
        else if (lane)
            regs[r] = exchange_unpack(
                e, e->tgt->shuffle_idx(e, exchange_pack(e, regs[r], elem), lane), elem);
    }
}

uint32_t emit_atomic_scratch_bytes(const ir_op *op) {
    const ir_value *r = op->results[0];
    const ir_func *f = op->block->func;
    if (!ir_is_tile(r->type))
        return f->num_warps * f->num_ctas > 1 ? dtype_bytes(r->type.elem) : 0;
    if (copies_are_plain(r->layout, layout_get_replication(r->layout)))
        return 0;
    return share_bytes(r->layout, r->type.elem);
}

bool emit_atomic_crosses(const ir_op *op) {
    const ir_value *r = op->results[0];
    if (!ir_is_tile(r->type))
        return op->block->func->num_ctas > 1;
    return layout_get_replication(r->layout).cta_mask != 0;
}
