// Exchanges where the data says who gets what: gather reads a tile at places given by another tile,
// histogram counts how often each value occurs. Both go through shared memory: a table that all
// threads of a CTA write, a barrier, and then read; the CTAs of a cluster read each other's tables.
#include "codegen/exchange.h"

enum { MAX_THREAD_BITS = LAYOUT_LANE_BITS + LAYOUT_MAX_WARP_BITS + LAYOUT_MAX_CTA_BITS };

/// The registers of a tile without those in which a thread repeats itself.
static LLVMValueRef *without_copies(emitter *e, const ir_value *x, layout *out) {
    *out = layout_drop_register_copies(x->layout);
    uint32_t *source = ARENA_ARRAY(e->arena, uint32_t, layout_reg_count(out));
    emit_match_registers(x->layout, out, source); // cannot fail: both hold the same in each thread
    LLVMValueRef *regs = emit_new_regs(e, layout_reg_count(out));
    for (uint32_t r = 0; r < layout_reg_count(out); r++)
        regs[r] = emit_regs(e, x)[source[r]];
    return regs;
}

/// An integer register as i32 with the same value where that fits; i1 is 0 or 1.
static LLVMValueRef as_i32(emitter *e, LLVMValueRef v, dtype t) {
    LLVMTypeRef i32 = emit_int_like(e, 32, v);
    if (dtype_bits(t) < 32)
        return dtype_is_signed(t) ? LLVMBuildSExt(e->b, v, i32, "")
                                  : LLVMBuildZExt(e->b, v, i32, "");
    return dtype_bits(t) > 32 ? LLVMBuildTrunc(e->b, v, i32, "") : v;
}

/// Lane i1: 0 <= v < n.
static LLVMValueRef is_below(emitter *e, LLVMValueRef v, dtype t, uint32_t n) {
    if (dtype_bits(t) < 32)
        v = as_i32(e, v, t);
    return LLVMBuildICmp(e->b, LLVMIntULT, v, emit_const_like(e, v, n), "");
}

// ---------------------------------------------------------------------------- gather

/// How a gather goes through memory. Elements of the source have numbers in the share of the CTA that
/// holds them (layout_share); a number is a byte offset divided by the element's bytes.
typedef struct gathering {
    layout from, to;                ///< of the source and of the result, without register copies
    unsigned axis_shift, axis_bits; ///< the axis in the source's index
    uint32_t index_bits_of[32]; ///< by index bit of the result: that of the source; 0 in the axis
    layout_share share;         ///< of the source
    uint32_t owner[LAYOUT_MAX_BITS]; ///< by place bit of the result: whose memory, but for the axis
    bool crosses;                    ///< some thread may read another CTA's memory
} gathering;

static gathering describe(const ir_op *op) {
    const ir_value *x = op->operands[0], *y = op->results[0];
    unsigned axis = (unsigned)ir_get_int(op, ATTR_AXIS, 0), rank = x->type.rank;
    gathering g = {.from = layout_drop_register_copies(x->layout),
                   .to = layout_drop_register_copies(y->layout)};
    unsigned below = layout_shape_bits(x->type.shape + axis + 1, rank - axis - 1);
    unsigned taken = layout_shape_bits(y->type.shape + axis, 1);
    g.axis_shift = below;
    g.axis_bits = layout_shape_bits(x->type.shape + axis, 1);
    for (unsigned i = 0; i < g.to.index_bits; i++) {
        if (i < below)
            g.index_bits_of[i] = 1u << i;
        else if (i >= below + taken)
            g.index_bits_of[i] = 1u << (i - taken + g.axis_bits);
    }
    g.share = layout_share_ctas(&g.from);
    for (unsigned b = 0; b < layout_place_bits(&g.to); b++) {
        uint32_t index = layout_sum(g.index_bits_of, g.to.basis[b]);
        g.owner[b] = layout_share_owner(&g.share, index);
        unsigned cta = b - (layout_place_bits(&g.to) - g.to.cta_bits);
        bool is_cta = b >= layout_place_bits(&g.to) - g.to.cta_bits;
        uint32_t own = is_cta ? layout_share_owner(&g.share, layout_cta(&g.from)[cta]) : 0;
        g.crosses |= g.owner[b] != own;
    }
    for (unsigned i = 0; i < g.axis_bits; i++)
        g.crosses |= g.share.owner[g.axis_shift + i] != 0;
    return g;
}

uint32_t emit_gather_scratch_bytes(const ir_op *op) {
    gathering g = describe(op);
    return dtype_bytes(op->operands[0]->type.elem) << g.share.local_bits;
}

bool emit_gather_crosses(const ir_op *op) { return describe(op).crosses; }

/// Consecutive registers of the source that lie side by side in memory.
static unsigned vector_of(const gathering *g, unsigned bytes) {
    unsigned vec = layout_contiguous_regs(&g->from), side_by_side = 1;
    for (unsigned i = 0; i < g->from.index_bits && g->share.local[i] == side_by_side; i++)
        side_by_side *= 2;
    vec = vec < side_by_side ? vec : side_by_side;
    return vec < 16 / bytes ? vec : 16 / bytes;
}

/// Every CTA writes what it holds, one copy of each element.
static void write_source(emitter *e, const ir_op *op, const gathering *g, uint32_t scratch) {
    const ir_value *x = op->operands[0];
    unsigned bytes = dtype_bytes(x->type.elem), vec = vector_of(g, bytes);
    layout l = g->from;
    LLVMValueRef *regs = without_copies(e, x, &l), group[16];
    uint32_t bases[MAX_THREAD_BITS], run_time_bits = 0;
    for (unsigned i = 0; i < layout_place_bits(&l) - l.reg_bits; i++) {
        bases[i] = layout_share_local(&g->share, l.basis[l.reg_bits + i]) * bytes;
        run_time_bits |= bases[i];
    }
    LLVMValueRef base =
        exchange_thread_bits(e, bases, bases + LAYOUT_LANE_BITS, l.warp_bits, l.cta_bits);
    layout in_cta = l;
    in_cta.cta_bits = 0;
    LLVMValueRef writes = emit_is_representative(e, &in_cta);
    for (uint32_t r = 0; r < layout_reg_count(&l); r += vec) {
        uint32_t index = layout_apply(&l, (layout_place){.reg = r});
        uint32_t part = layout_share_local(&g->share, index) * bytes;
        for (unsigned k = 0; k < vec; k++)
            group[k] = exchange_pack(e, regs[r + k], x->type.elem);
        LLVMValueRef at = exchange_offset(e, base, run_time_bits, part, scratch);
        e->tgt->smem_store(e, NULL, at, group, vec, writes);
    }
}

/// Where a thread reads for one register: its own place in all dimensions but the axis.
typedef struct reading {
    LLVMValueRef base, cta;                  ///< byte offset and owner of register 0
    uint32_t local[LAYOUT_MAX_REG_BITS];     ///< byte offsets of the register bits
    uint32_t axis_local[32], axis_owner[32]; ///< by bit of the place in the axis
} reading;

static reading describe_reading(emitter *e, const gathering *g, unsigned bytes) {
    const layout *l = &g->to;
    reading rd = {0};
    uint32_t bases[MAX_THREAD_BITS];
    for (unsigned b = 0; b < layout_place_bits(l); b++) {
        uint32_t index = layout_sum(g->index_bits_of, l->basis[b]);
        uint32_t offset = layout_share_local(&g->share, index) * bytes;
        if (b < l->reg_bits)
            rd.local[b] = offset;
        else
            bases[b - l->reg_bits] = offset;
    }
    rd.base = exchange_thread_bits(e, bases, bases + LAYOUT_LANE_BITS, l->warp_bits, l->cta_bits);
    const uint32_t *owner = g->owner + l->reg_bits;
    rd.cta = exchange_thread_bits(e, owner, owner + LAYOUT_LANE_BITS, l->warp_bits, l->cta_bits);
    for (unsigned i = 0; i < g->axis_bits; i++) {
        rd.axis_local[i] = g->share.local[g->axis_shift + i] * bytes;
        rd.axis_owner[i] = g->share.owner[g->axis_shift + i];
    }
    return rd;
}

/// The place in the axis that a register asks for. What is outside of it wraps; cpu reports it.
static LLVMValueRef place_in_axis(emitter *e, const ir_op *op, const gathering *g, LLVMValueRef v) {
    dtype t = op->operands[1]->type.elem;
    uint32_t extent = 1u << g->axis_bits;
    if (e->tgt->check_hint) {
        sv text =
            sv_format(e->arena, "gather(): an index is outside of the axis, 0 to %u", extent - 1);
        e->tgt->assert_true(e, is_below(e, v, t, extent), NULL, text, op->range);
    }
    v = as_i32(e, v, t);
    return LLVMBuildAnd(e->b, v, emit_const_like(e, v, extent - 1), "");
}

void emit_gather(emitter *e, const ir_op *op) {
    gathering g = describe(op);
    const ir_value *x = op->operands[0], *y = op->results[0];
    dtype elem = x->type.elem;
    if (!smem_fits(e, op, emit_gather_scratch_bytes(op)))
        return;
    uint32_t scratch = smem_offset(e->smem, op);
    write_source(e, op, &g, scratch);
    if (g.crosses)
        emit_barrier(e);
    else
        emit_cta_barrier(e);
    LLVMValueRef *places = without_copies(e, op->operands[1], &g.to);
    LLVMValueRef *out = emit_new_regs(e, layout_reg_count(&g.to)), cta = NULL;
    reading rd = describe_reading(e, &g, dtype_bytes(elem));
    for (uint32_t r = 0; r < layout_reg_count(&g.to); r++) {
        LLVMValueRef place = place_in_axis(e, op, &g, places[r]);
        LLVMValueRef at = emit_apply_bases(e, rd.axis_local, g.axis_bits, place);
        at = LLVMBuildXor(e->b, at, rd.base, "");
        at = exchange_offset(e, at, UINT32_MAX, layout_sum(rd.local, r), scratch);
        if (g.crosses) {
            cta = emit_apply_bases(e, rd.axis_owner, g.axis_bits, place);
            cta = LLVMBuildXor(e->b, cta, rd.cta, "");
            cta = exchange_offset(e, cta, UINT32_MAX, layout_sum(g.owner, r), 0);
        }
        e->tgt->smem_load(e, cta, at, exchange_type(e, elem), 1, &out[r]);
        out[r] = exchange_unpack(e, out[r], elem);
    }
    unsigned n = layout_reg_count(y->layout);
    uint32_t *source = ARENA_ARRAY(e->arena, uint32_t, n);
    emit_match_registers(&g.to, y->layout, source);
    LLVMValueRef *regs = emit_new_regs(e, n);
    for (unsigned r = 0; r < n; r++)
        regs[r] = out[source[r]];
    emit_set_regs(e, y, regs);
}

// ---------------------------------------------------------------------------- histogram

enum { COUNT_BYTES = 4 };

static uint32_t bins_of(const ir_op *op) { return op->results[0]->type.shape[0]; }

uint32_t emit_histogram_scratch_bytes(const ir_op *op) { return bins_of(op) * COUNT_BYTES; }

bool emit_histogram_crosses(const ir_op *op) { return op->block->func->num_ctas > 1; }

/// Sets the CTA's counts to 0: its threads share them out.
static void clear_counts(emitter *e, uint32_t bins, uint32_t scratch) {
    uint32_t threads = e->func->num_warps << LAYOUT_LANE_BITS;
    LLVMValueRef lane = e->tgt->lane_id(e), zero = emit_lane_const_i32(e, 0);
    LLVMValueRef warp =
        LLVMBuildShl(e->b, e->tgt->warp_id(e), emit_const_i32(e, LAYOUT_LANE_BITS), "");
    LLVMValueRef thread = LLVMBuildOr(e->b, e->tgt->splat(e, warp), lane, ""), has_one = NULL;
    if (bins < threads)
        has_one = LLVMBuildICmp(e->b, LLVMIntULT, thread, emit_lane_const_i32(e, bins), "");
    LLVMValueRef at = LLVMBuildMul(e->b, thread, emit_lane_const_i32(e, COUNT_BYTES), "");
    for (uint32_t bin = 0; bin < bins; bin += threads)
        e->tgt->smem_store(e, NULL, exchange_offset(e, at, 0, 0, bin * COUNT_BYTES + scratch),
                           &zero, 1, has_one);
}

/// Counts one copy of each element that is in a bin and not masked off.
static void count_elements(emitter *e, const ir_op *op, uint32_t scratch) {
    const ir_value *x = op->operands[0], *mask = op->operands[1];
    bool all = mask->def && mask->def->opcode == OP_CONST && ir_get_int(mask->def, ATTR_VALUE, 0);
    layout l;
    LLVMValueRef *regs = without_copies(e, x, &l), *masks = without_copies(e, mask, &l);
    LLVMValueRef one_copy = emit_is_representative(e, &l);
    for (uint32_t r = 0; r < layout_reg_count(&l); r++) {
        LLVMValueRef counts = is_below(e, regs[r], x->type.elem, bins_of(op));
        counts = emit_and_maybe(e, counts, one_copy);
        counts = emit_and_maybe(e, counts, all ? NULL : masks[r]);
        LLVMValueRef bin = as_i32(e, regs[r], x->type.elem);
        LLVMValueRef at = LLVMBuildMul(e->b, bin, emit_const_like(e, bin, COUNT_BYTES), "");
        e->tgt->smem_count(e, exchange_offset(e, at, 0, 0, scratch), counts);
    }
}

/// The program's count at a byte offset.
static LLVMValueRef read_count(emitter *e, LLVMValueRef at) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(e->llvm);
    LLVMValueRef sum = NULL, count;
    for (uint32_t cta = 0; cta < e->func->num_ctas; cta++) {
        LLVMValueRef whose = e->func->num_ctas > 1 ? emit_lane_const_i32(e, cta) : NULL;
        e->tgt->smem_load(e, whose, at, i32, 1, &count);
        sum = sum ? LLVMBuildAdd(e->b, sum, count, "") : count;
    }
    return sum;
}

void emit_histogram(emitter *e, const ir_op *op) {
    if (!smem_fits(e, op, emit_histogram_scratch_bytes(op)))
        return;
    const ir_value *y = op->results[0];
    uint32_t scratch = smem_offset(e->smem, op);
    clear_counts(e, bins_of(op), scratch);
    emit_cta_barrier(e);
    count_elements(e, op, scratch);
    emit_barrier(e);
    unsigned n = layout_reg_count(y->layout);
    LLVMValueRef *regs = emit_new_regs(e, n), thread = emit_thread_index(e, y->layout);
    for (uint32_t r = 0; r < n; r++) {
        uint32_t part = layout_apply(y->layout, (layout_place){.reg = r});
        LLVMValueRef bin = exchange_offset(e, thread, UINT32_MAX, part, 0);
        LLVMValueRef at = LLVMBuildMul(e->b, bin, emit_const_like(e, bin, COUNT_BYTES), "");
        regs[r] = read_count(e, exchange_offset(e, at, 0, 0, scratch));
    }
    emit_set_regs(e, y, regs);
}
