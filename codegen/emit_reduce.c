// reduce: n tiles folded together along one axis by a combine region. Each bit of the place folds
// where it lives:
//   register bits   in the thread, in pairs
//   lane bits       by butterfly shuffles: lane ^ 1, lane ^ 2 ...
//   warp bits       one copy of every partial result goes to shared memory, a barrier, and every
//                   thread reads all partials of its results and folds them
//   cta bits        the same, but the copy goes to the shared memory of every CTA that wants it; of a
//                   scalar result that is wanted once, in an exchange without a barrier
// Bits that do not move along the axis stay. Bits that only make copies are not folded.
//
// Where all lanes of a warp want the same results (a row longer than a warp), the partials of the
// warps of all CTAs take one trip, and the lanes share the work of folding them. Else a CTA folds
// its warps first.
//
// The invariant (RULES 2): all threads that end up with an element computed it from the same
// values in the same order, (lower place, higher place) at each step, so it has the same bits
// everywhere, whatever the region does, and a scalar result may steer control flow.
//
// A plain sum of fp32 leaves the thread as fp64 and is rounded once at the end: the upper levels of
// the tree, where the addends are largest, then add no error of their own.
#include "codegen/tiles.h"

/// How the tiles of one reduction lie, and where their partials go.
typedef struct reduction {
    uint32_t axis_mask; ///< index bits of the axis
    layout all;         ///< of the tiles, see plain_copies
    layout result;      ///< of the results
    uint32_t reg_bits;  ///< place bits of `all` that move along the axis
    uint32_t lane_bits, warp_bits, cta_bits;
    bool lanes_agree;       ///< all lanes of a warp want the same results
    uint32_t convert_bytes; ///< scratch to bring the operands to `all`, for the largest of them
    uint32_t partial_at;    ///< scratch offset of the first tile's partials
} reduction;

/// The same tile with no copies within a thread, and those that other threads hold of parts of the
/// axis at the same registers and lanes: dependent bases along the axis become zero.
static layout plain_copies(const layout *l, uint32_t axis_mask) {
    layout out = layout_drop_register_copies(l);
    layout_replication copies = layout_get_replication(&out);
    for (unsigned i = 0; i < LAYOUT_LANE_BITS; i++) {
        if ((copies.lane_mask >> i & 1) && (layout_lane(&out)[i] & axis_mask))
            layout_lane(&out)[i] = 0;
    }
    for (unsigned i = 0; i < out.warp_bits; i++) {
        if ((copies.warp_mask >> i & 1) && (layout_warp(&out)[i] & axis_mask))
            layout_warp(&out)[i] = 0;
    }
    for (unsigned i = 0; i < out.cta_bits; i++) {
        if ((copies.cta_mask >> i & 1) && (layout_cta(&out)[i] & axis_mask))
            layout_cta(&out)[i] = 0;
    }
    return out;
}

static uint32_t bits_along(const uint32_t *bases, unsigned n, uint32_t mask) {
    uint32_t bits = 0;
    for (unsigned i = 0; i < n; i++)
        bits |= bases[i] & mask ? 1u << i : 0;
    return bits;
}

static reduction describe(const ir_op *op) {
    const ir_value *x = op->operands[0];
    unsigned axis = (unsigned)ir_get_int(op, ATTR_AXIS, 0);
    reduction r = {.axis_mask = layout_dim_mask(x->type.shape, x->type.rank, axis)};
    r.all = plain_copies(x->layout, r.axis_mask);
    r.result = layout_reduce_result(&r.all, x->type.shape, x->type.rank, axis);
    r.reg_bits = bits_along(layout_reg(&r.all), r.all.reg_bits, r.axis_mask);
    r.lane_bits = bits_along(layout_lane(&r.all), LAYOUT_LANE_BITS, r.axis_mask);
    r.warp_bits = bits_along(layout_warp(&r.all), r.all.warp_bits, r.axis_mask);
    r.cta_bits = bits_along(layout_cta(&r.all), r.all.cta_bits, r.axis_mask);
    r.lanes_agree = !bits_along(layout_lane(&r.result), LAYOUT_LANE_BITS, UINT32_MAX);
    for (uint32_t i = 0; i < op->num_operands; i++) {
        uint32_t bytes = exchange_convert_bytes(x->layout, &r.all, op->operands[i]->type.elem);
        r.convert_bytes = bytes > r.convert_bytes ? bytes : r.convert_bytes;
    }
    r.partial_at = (r.convert_bytes + SCRATCH_ALIGN - 1) & ~(SCRATCH_ALIGN - 1u);
    return r;
}

/// True if the region is one op on its two arguments.
static bool is_one_op(const ir_block *region) {
    const ir_op *op = region->first;
    return region->num_args == 2 && op->num_operands == 2 && op->next == region->last &&
           op->operands[0]->block == region && !op->operands[0]->def && op->operands[1] &&
           op->operands[1]->block == region && !op->operands[1]->def &&
           op->operands[0] != op->operands[1] && region->last->operands[0] == op->results[0];
}

/// The dtype in which tile i goes from thread to thread.
static dtype moving_dtype(const ir_op *op, uint32_t i) {
    dtype elem = op->operands[i]->type.elem;
    bool is_sum = is_one_op(op->regions[0]) && op->regions[0]->first->opcode == OP_ADD;
    return is_sum && elem == DT_FP32 ? DT_FP64 : elem;
}

/// Partials that travel at once: which warp and CTA bits tell them apart.
typedef struct stage {
    uint32_t warp_bits, cta_bits;
    bool lanes_send; ///< each lane writes to one of the CTAs
    bool lanes_fold; ///< each lane reads some of the partials
    bool exchanges;  ///< they are sent to their places, and awaited
    uint32_t gate;   ///< scratch offset of what counts them
} stage;

/// log2 of how many partials there are for each element of the result.
static unsigned partial_log2(const stage *s) {
    return (unsigned)(__builtin_popcount(s->warp_bits) + __builtin_popcount(s->cta_bits));
}

/// The trips of a reduction, at most two; returns how many.
static unsigned plan_stages(const reduction *r, stage out[2]) {
    enum { FEW_LOG2 = 3 }; // every thread reads so many by itself
    unsigned n = 0;
    if (r->lanes_agree && r->cta_bits) {
        out[n] = (stage){.warp_bits = r->warp_bits, .cta_bits = r->cta_bits};
        out[n].lanes_send = true;
        out[n].lanes_fold = partial_log2(&out[n]) > FEW_LOG2;
        return n + 1;
    }
    if (r->warp_bits)
        out[n++] = (stage){.warp_bits = r->warp_bits};
    if (r->cta_bits)
        out[n++] = (stage){.cta_bits = r->cta_bits};
    return n;
}

/// Bytes of the place of a partial: nothing smaller than 4 is sent.
static unsigned place_bytes(const stage *s, dtype elem) {
    unsigned bytes = dtype_bytes(elem);
    return s->exchanges && bytes < 4 ? 4 : bytes;
}

/// Bytes of the partials of one tile.
static uint32_t partial_bytes(const reduction *r, const stage *s, dtype elem) {
    uint32_t n = 1u << (r->result.index_bits + partial_log2(s));
    return (n * place_bytes(s, elem) + SCRATCH_ALIGN - 1) & ~(SCRATCH_ALIGN - 1u);
}

/// Bytes of the partials of all tiles.
static uint32_t stage_bytes(const ir_op *op, const reduction *r, const stage *s) {
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < op->num_operands; i++)
        bytes += partial_bytes(r, s, moving_dtype(op, i));
    return bytes;
}

uint32_t emit_reduce_scratch_bytes(const ir_op *op) {
    reduction r = describe(op);
    stage stages[2];
    uint32_t bytes = r.partial_at;
    for (unsigned i = 0, n = plan_stages(&r, stages); i < n; i++)
        bytes += stage_bytes(op, &r, &stages[i]);
    return bytes;
}

bool emit_reduce_crosses(const ir_op *op) { return describe(op).cta_bits != 0; }

uint32_t emit_reduce_exchange_bytes(const ir_op *op) {
    reduction r = describe(op);
    stage stages[2];
    if (!r.cta_bits || !r.lanes_agree || r.convert_bytes || r.result.index_bits)
        return 0;
    plan_stages(&r, stages);
    stages[0].exchanges = true;
    return SCRATCH_ALIGN + stage_bytes(op, &r, &stages[0]); // the gate comes first
}

void emit_expect_exchange(emitter *e, const ir_op *op) {
    reduction r = describe(op);
    stage stages[2];
    uint32_t bytes = 0;
    plan_stages(&r, stages);
    stages[0].exchanges = true;
    for (uint32_t i = 0; i < op->num_operands; i++)
        bytes += place_bytes(&stages[0], moving_dtype(op, i)) << partial_log2(&stages[0]);
    e->tgt->exchange_expect(e, smem_offset(e->smem, op), bytes);
}

// ---------------------------------------------------------------------------- folding

tiles tiles_new(emitter *e, uint32_t n, unsigned regs) {
    tiles t = {ARENA_ARRAY(e->arena, LLVMValueRef *, n), n};
    for (uint32_t i = 0; i < n; i++)
        t.tile[i] = emit_new_regs(e, regs);
    return t;
}

void tiles_combine(emitter *e, const ir_op *op, const tiles *a, uint32_t lo, const tiles *b,
                   uint32_t hi, const tiles *out, uint32_t to) {
    LLVMValueRef *args = emit_new_regs(e, 2 * a->n), *results = emit_new_regs(e, a->n);
    for (uint32_t i = 0; i < a->n; i++) {
        args[i] = a->tile[i][lo];
        args[a->n + i] = b->tile[i][hi];
    }
    emit_combine(e, op->regions[0], args, results);
    for (uint32_t i = 0; i < a->n; i++)
        out->tile[i][to] = results[i];
}

/// Folds the register bits in `bits`: highest first, so that vectors stay side by side. What is
/// left is moved down to the registers of the result.
static void fold_registers(emitter *e, const ir_op *op, const tiles *t, unsigned reg_bits,
                           uint32_t bits) {
    uint32_t done = 0, count = 0;
    for (unsigned k = reg_bits; k-- > 0;) {
        if (!(bits >> k & 1))
            continue;
        done |= 1u << k;
        for (uint32_t r = 0; r < 1u << reg_bits; r++) {
            if (!(r & done))
                tiles_combine(e, op, t, r, t, r | 1u << k, t, r);
        }
    }
    for (uint32_t r = 0; r < 1u << reg_bits; r++) {
        if (r & bits)
            continue;
        for (uint32_t i = 0; i < t->n; i++)
            t->tile[i][count] = t->tile[i][r];
        count++;
    }
}

/// True if combine(a, b) and combine(b, a) have the same bits: one commutative instruction. (Where
/// both are NaN the GPU gives the one canonical NaN; the host's payload stays within a lane's
/// own copy, of which lane 0 of each warp decides.)
static bool is_symmetric(const ir_block *region) {
    static const bool commutes[IR_OPCODE_COUNT] = {
        [OP_ADD] = true, [OP_MUL] = true, [OP_AND] = true, [OP_OR] = true,
        [OP_XOR] = true, [OP_MIN] = true, [OP_MAX] = true,
    };
    return is_one_op(region) && commutes[region->first->opcode];
}

/// One step of the butterfly over lane bit `bit`, for all registers.
static void fold_lane_bit(emitter *e, const ir_op *op, const tiles *t, unsigned regs,
                          unsigned bit) {
    bool symmetric = is_symmetric(op->regions[0]);
    tiles lo = tiles_new(e, t->n, 1), hi = tiles_new(e, t->n, 1);
    LLVMValueRef upper = NULL;
    if (!symmetric) {
        LLVMValueRef lane = e->tgt->lane_id(e);
        LLVMValueRef on = LLVMBuildAnd(e->b, lane, emit_const_like(e, lane, 1u << bit), "");
        upper = LLVMBuildICmp(e->b, LLVMIntNE, on, emit_const_like(e, lane, 0), "");
    }
    for (unsigned r = 0; r < regs; r++) {
        for (uint32_t i = 0; i < t->n; i++) {
            dtype elem = moving_dtype(op, i);
            LLVMValueRef own = t->tile[i][r], packed = exchange_pack(e, own, elem);
            LLVMValueRef other = e->tgt->shuffle_xor(e, packed, 1u << bit);
            other = exchange_unpack(e, other, elem);
            lo.tile[i][0] = symmetric ? own : LLVMBuildSelect(e->b, upper, other, own, "");
            hi.tile[i][0] = symmetric ? other : LLVMBuildSelect(e->b, upper, own, other, "");
        }
        tiles_combine(e, op, &lo, 0, &hi, 0, t, r);
    }
}

// ---------------------------------------------------------------------------- across warps, CTAs

/// A linear image of the thread, for the places of partials.
typedef struct partial_place {
    LLVMValueRef base;
    uint32_t run_time_bits;
} partial_place;

/// The partials of one element lie side by side, in the order of the warps, then of the CTAs: byte
/// offset of a thread's own partial of register 0 (`own`), or of its first partial.
static partial_place place_partials(emitter *e, const reduction *r, const stage *s, unsigned bytes,
                                    bool own) {
    unsigned k = partial_log2(s), nth = 0;
    const layout *l = &r->result;
    uint32_t bases[LAYOUT_MAX_BITS], bits = 0, moving = s->warp_bits | s->cta_bits << l->warp_bits;
    for (unsigned i = 0; i < layout_place_bits(l) - l->reg_bits; i++) {
        bases[i] = (l->basis[l->reg_bits + i] << k) * bytes;
        if (own && i >= LAYOUT_LANE_BITS && (moving >> (i - LAYOUT_LANE_BITS) & 1))
            bases[i] = bytes << nth++; // its basis in the result is zero
        bits |= bases[i];
    }
    return (partial_place){
        exchange_thread_bits(e, bases, bases + LAYOUT_LANE_BITS, l->warp_bits, l->cta_bits), bits};
}

/// Lane i1: this thread is the one of its CTA's copies that writes; NULL if every one is.
static LLVMValueRef writes_partial(emitter *e, const reduction *r, const stage *s) {
    // Warps that hold different partials are copies of each other as far as the result is
    // concerned, so ask as if each of them held an element of its own. Every CTA writes.
    layout l = r->result;
    l.cta_bits = 0;
    for (unsigned i = 0; i < l.warp_bits; i++) {
        if (s->warp_bits >> i & 1)
            layout_warp(&l)[i] = 1u << l.index_bits++;
    }
    for (int i = 0; s->lanes_send && i < __builtin_popcount(s->cta_bits); i++)
        layout_lane(&l)[i] = 1u << l.index_bits++; // so does a lane for each of the CTAs
    return emit_is_representative(e, &l);
}

void tiles_store_to_ctas(emitter *e, uint32_t cta_bits, LLVMValueRef at, LLVMValueRef v,
                         LLVMValueRef writes) {
    e->tgt->smem_store(e, NULL, at, &v, 1, writes);
    LLVMValueRef rank = cta_bits ? e->tgt->splat(e, e->tgt->cta_rank(e)) : NULL;
    for (uint32_t other = cta_bits; other; other = (other - 1) & cta_bits) {
        LLVMValueRef peer = LLVMBuildXor(e->b, rank, emit_lane_const_i32(e, other), "");
        e->tgt->smem_store(e, peer, at, &v, 1, writes);
    }
}

/// The width of a packed register, in bits.
static unsigned width_of(LLVMTypeRef t) {
    switch (LLVMGetTypeKind(t)) {
    case LLVMVectorTypeKind:
        return width_of(LLVMGetElementType(t));
    case LLVMIntegerTypeKind:
        return LLVMGetIntTypeWidth(t);
    case LLVMFloatTypeKind:
        return 32;
    case LLVMDoubleTypeKind:
        return 64;
    default: // half, bfloat
        return 16;
    }
}

/// A packed register in at least 32 bits, and one of `type` of that.
static LLVMValueRef widen_small(emitter *e, LLVMValueRef v) {
    unsigned bits = width_of(LLVMTypeOf(v));
    if (bits >= 32)
        return v;
    v = LLVMBuildBitCast(e->b, v, emit_int_like(e, bits, v), "");
    return LLVMBuildZExt(e->b, v, emit_int_like(e, 32, v), "");
}

static LLVMValueRef narrow_small(emitter *e, LLVMValueRef v, LLVMTypeRef type) {
    LLVMValueRef small = LLVMBuildTrunc(e->b, v, emit_int_like(e, width_of(type), v), "");
    return LLVMBuildBitCast(e->b, small, emit_type_like(e, type, v), "");
}

/// Stores a partial in the memory of every CTA that wants it: those that differ from this one in
/// some of the stage's bits.
static void store_partial(emitter *e, const stage *s, LLVMValueRef at, LLVMValueRef v,
                          LLVMValueRef writes) {
    if (s->lanes_send) {
        LLVMValueRef rank = e->tgt->splat(e, e->tgt->cta_rank(e));
        uint32_t to[LAYOUT_LANE_BITS] = {0}, nth = 0;
        for (unsigned i = 0; i < LAYOUT_MAX_CTA_BITS; i++) {
            if (s->cta_bits >> i & 1)
                to[nth++] = 1u << i;
        }
        rank = LLVMBuildXor(e->b, rank, exchange_thread_bits(e, to, to, 0, 0), "");
        v = e->tgt->splat(e, e->tgt->uniform(e, v)); // see is_symmetric: the same bits to all
        if (s->exchanges)
            e->tgt->exchange_send(e, s->gate, rank, at, widen_small(e, v), writes);
        else
            e->tgt->smem_store(e, rank, at, &v, 1, writes);
        return;
    }
    tiles_store_to_ctas(e, s->cta_bits, at, v, writes);
}

static void write_partials(emitter *e, const ir_op *op, const reduction *r, const stage *s,
                           const tiles *t, uint32_t scratch) {
    LLVMValueRef writes = writes_partial(e, r, s);
    for (uint32_t i = 0; i < t->n; i++) {
        dtype elem = moving_dtype(op, i);
        uint32_t size = place_bytes(s, elem) << partial_log2(s);
        partial_place own = place_partials(e, r, s, place_bytes(s, elem), true);
        for (uint32_t reg = 0; reg < layout_reg_count(&r->result); reg++) {
            uint32_t part = layout_apply(&r->result, (layout_place){.reg = reg}) * size;
            LLVMValueRef v = exchange_pack(e, t->tile[i][reg], elem);
            LLVMValueRef at = exchange_offset(e, own.base, own.run_time_bits, part, scratch);
            store_partial(e, s, at, v, writes);
        }
        scratch += partial_bytes(r, s, elem);
    }
}

void tiles_read_row(emitter *e, LLVMValueRef at, unsigned count, dtype elem, LLVMValueRef *out) {
    unsigned bytes = dtype_bytes(elem), vec = count * bytes > 16 ? 16 / bytes : count;
    for (unsigned p = 0; p < count; p += vec) {
        LLVMValueRef here = exchange_offset(e, at, 0, 0, p * bytes);
        e->tgt->smem_load(e, NULL, here, exchange_type(e, elem), vec, out + p);
    }
    for (unsigned p = 0; p < count; p++)
        out[p] = exchange_unpack(e, out[p], elem);
}

/// Reads `count` partials from an offset on into lanes of `out`, one register each.
static void read_partials(emitter *e, const stage *s, LLVMValueRef at, unsigned count, dtype elem,
                          LLVMValueRef *out) {
    if (place_bytes(s, elem) == dtype_bytes(elem)) {
        tiles_read_row(e, at, count, elem, out);
        return;
    }
    tiles_read_row(e, at, count, DT_I32, out);
    for (unsigned p = 0; p < count; p++)
        out[p] = exchange_unpack(e, narrow_small(e, out[p], exchange_type(e, elem)), elem);
}

/// Reads and folds the partials of every register. With lanes that share the work, what is left is
/// one partial of each lane that differs in its `fold` bits.
static void fold_partials(emitter *e, const ir_op *op, const reduction *r, const stage *s,
                          const tiles *t, uint32_t scratch) {
    unsigned k = partial_log2(s), fold = !s->lanes_fold         ? 0
                                         : k < LAYOUT_LANE_BITS ? k
                                                                : LAYOUT_LANE_BITS;
    unsigned regs = layout_reg_count(&r->result), each = k - fold;
    tiles partials = tiles_new(e, t->n, 1u << each);
    for (uint32_t reg = 0; reg < regs; reg++) {
        uint32_t tile_at = scratch;
        for (uint32_t i = 0; i < t->n; i++) {
            dtype elem = moving_dtype(op, i);
            unsigned bytes = place_bytes(s, elem);
            partial_place first = place_partials(e, r, s, bytes, false);
            uint32_t part = layout_apply(&r->result, (layout_place){.reg = reg}) * (bytes << k);
            LLVMValueRef at = exchange_offset(e, first.base, first.run_time_bits, part, tile_at);
            if (fold) {
                uint32_t lane[LAYOUT_LANE_BITS] = {0};
                for (unsigned b = 0; b < fold; b++)
                    lane[b] = bytes << (each + b);
                at = LLVMBuildAdd(e->b, at, exchange_thread_bits(e, lane, lane, 0, 0), "");
            }
            read_partials(e, s, at, 1u << each, elem, partials.tile[i]);
            tile_at += partial_bytes(r, s, elem);
        }
        fold_registers(e, op, &partials, each, (1u << each) - 1);
        for (uint32_t i = 0; i < t->n; i++)
            t->tile[i][reg] = partials.tile[i][0];
    }
    for (unsigned bit = 0; bit < fold; bit++)
        fold_lane_bit(e, op, t, regs, bit);
}

static void fold_stage(emitter *e, const ir_op *op, const reduction *r, const stage *s,
                       const tiles *t, uint32_t scratch) {
    write_partials(e, op, r, s, t, scratch);
    if (s->exchanges)
        emit_exchange_wait(e, s->gate);
    else if (s->cta_bits)
        emit_barrier(e);
    else
        emit_cta_barrier(e);
    fold_partials(e, op, r, s, t, scratch);
}

// ---------------------------------------------------------------------------- the op

/// False, after an error, for what this file does not do.
static bool check_supported(emitter *e, const ir_op *op) {
    const ir_value *x = op->operands[0];
    unsigned axis = (unsigned)ir_get_int(op, ATTR_AXIS, 0);
    if (!layout_axis_is_separable(x->layout, x->type.shape, x->type.rank, axis)) {
        emit_refuse(e, op,
                    "needs a layout in which no thread bit moves along the axis and across it");
        return false;
    }
    for (uint32_t i = 0; i < op->num_results; i++) {
        const ir_value *y = op->results[i];
        layout want = layout_reduce_result(x->layout, x->type.shape, x->type.rank, axis);
        if (ir_is_tile(y->type) && !layout_equal(y->layout, &want)) {
            emit_refuse(e, op, "has a result in another layout than the one it leaves");
            return false;
        }
    }
    uint32_t bytes = smem_is_exchange(e->smem, op) ? emit_reduce_exchange_bytes(op)
                                                   : emit_reduce_scratch_bytes(op);
    return !bytes || smem_fits(e, op, bytes);
}

/// The operands' registers in the layout r->all, in arrays that may be overwritten.
static tiles bring_operands(emitter *e, const ir_op *op, const reduction *r, uint32_t scratch) {
    const layout *given = op->operands[0]->layout;
    unsigned regs = layout_reg_count(&r->all);
    tiles t = tiles_new(e, op->num_operands, regs);
    for (uint32_t i = 0; i < t.n; i++) {
        const ir_value *x = op->operands[i];
        if (i > 0 && exchange_convert_bytes(given, &r->all, x->type.elem))
            emit_cta_barrier(e); // they take turns in the same scratch
        LLVMValueRef *now =
            exchange_convert(e, given, &r->all, emit_regs(e, x), x->type.elem, scratch);
        memcpy(t.tile[i], now, regs * sizeof(now[0]));
    }
    return t;
}

/// Casts the n registers of each tile that changes its dtype between threads: on the way out, or
/// back.
static void cast_moving(emitter *e, const ir_op *op, const tiles *t, unsigned n, bool back) {
    for (uint32_t i = 0; i < t->n; i++) {
        dtype own = op->operands[i]->type.elem, moving = moving_dtype(op, i);
        for (unsigned r = 0; r < n && own != moving; r++)
            t->tile[i][r] = e->tgt->float_cast(e, back ? moving : own, back ? own : moving, false,
                                               t->tile[i][r]);
    }
}

/// Gives the results their registers: those of the layout `result`, or one scalar.
static void set_results(emitter *e, const ir_op *op, const tiles *t) {
    for (uint32_t i = 0; i < op->num_results; i++) {
        if (!ir_is_tile(op->results[i]->type))
            t->tile[i][0] = e->tgt->uniform(e, t->tile[i][0]);
        emit_set_regs(e, op->results[i], t->tile[i]);
    }
}

void emit_reduce(emitter *e, const ir_op *op) {
    if (!check_supported(e, op))
        return;
    reduction r = describe(op);
    bool has_scratch = smem_is_exchange(e->smem, op) || emit_reduce_scratch_bytes(op);
    uint32_t scratch = has_scratch ? smem_offset(e->smem, op) : 0;
    tiles t = bring_operands(e, op, &r, scratch);
    fold_registers(e, op, &t, r.all.reg_bits, r.reg_bits);
    unsigned regs = layout_reg_count(&r.result);
    bool moves = r.lane_bits || r.warp_bits || r.cta_bits;
    stage stages[2];
    if (moves)
        cast_moving(e, op, &t, regs, false);
    for (unsigned bit = 0; bit < LAYOUT_LANE_BITS; bit++) {
        if (r.lane_bits >> bit & 1)
            fold_lane_bit(e, op, &t, regs, bit);
    }
    unsigned num_stages = plan_stages(&r, stages);
    if (smem_is_exchange(e->smem, op)) {
        stages[0].exchanges = true;
        stages[0].gate = scratch;
        scratch += SCRATCH_ALIGN;
    }
    scratch += r.partial_at;
    for (unsigned i = 0; i < num_stages; i++) {
        fold_stage(e, op, &r, &stages[i], &t, scratch);
        scratch += stage_bytes(op, &r, &stages[i]);
    }
    if (moves)
        cast_moving(e, op, &t, regs, true);
    set_results(e, op, &t);
}
