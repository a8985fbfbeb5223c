// scan: every element of n tiles combined with all before it along one axis. The bits of the axis,
// from its low end to its high end, live in registers, lanes, warps and CTAs; a run of neighbouring
// bits of one kind is a *level*. On the way up each level scans the totals of the level below it:
//   register bits   one after the other in the thread
//   lane bits       Sklansky's tree: at bit j the upper half of each 2^(j+1) lanes takes the total
//                   of the lower half
//   warp, cta bits  the totals of all go to shared memory, a barrier, and every thread combines
//                   those before its own, and all for the level above
// On the way down each level hands what stands before a block, the *carry*, to the blocks below.
// Any order of levels will do, whatever the layout; only a layout in which a bit of the axis has
// several places, or none of its own, is converted first.
//
// There is no neutral element, so "nothing stands before" is a case of its own: known for registers,
// a select for threads. Steps count in the direction of the scan: step 0 is the first block, or with
// `reverse` the last one.
//
// Copies of an element combine the same values in the same order, so they have the same bits. How a
// float's sum is bracketed depends on the layout alone: a program gives the same bits every time.
#include "codegen/tiles.h"

typedef enum level_kind { LEVEL_REG, LEVEL_LANE, LEVEL_WARP, LEVEL_CTA } level_kind;

/// Neighbouring bits of the axis that live in one kind of place.
typedef struct level {
    level_kind kind;
    unsigned n;                   ///< bits
    uint8_t bit[LAYOUT_MAX_BITS]; ///< their numbers in the kind, from the axis's low end on
    uint32_t mask;                ///< the index bits
    uint32_t below;               ///< the index bits of the axis that lower levels have
    uint32_t reg_below, regs;     ///< the register bits of lower levels, and of this one
    uint32_t scratch;             ///< offset of the first tile's totals
} level;

/// How the tiles of one scan lie.
typedef struct scan {
    const ir_op *op;
    bool reverse;
    layout all; ///< of the operands, without copies within a thread, or a plain one
    level levels[LAYOUT_MAX_BITS];
    unsigned num_levels;
    uint32_t convert_bytes; ///< scratch to bring the operands to `all` or back
    uint32_t bytes;         ///< scratch in all
} scan;

// ---------------------------------------------------------------------------- the plan

/// True if each bit of the axis is one bit of the place, which moves nothing else.
static bool is_plain(const layout *l, uint32_t axis_mask) {
    uint32_t seen = 0;
    for (unsigned i = 0; i < layout_place_bits(l); i++) {
        uint32_t along = l->basis[i] & axis_mask;
        if (along && (along != l->basis[i] || (along & (along - 1)) || (along & seen)))
            return false;
        seen |= along;
    }
    return seen == axis_mask;
}

/// A layout for a scan: the axis in registers, then lanes, then, after the other dimensions, warps.
static layout make_plain(const ir_type *t, unsigned axis, const layout *like) {
    uint8_t order[IR_MAX_RANK], warp_order[IR_MAX_RANK];
    unsigned n = 0;
    order[n++] = (uint8_t)axis;
    for (unsigned d = t->rank; d-- > 0;) {
        if (d != axis)
            order[n++] = (uint8_t)d;
    }
    for (unsigned i = 0; i < n; i++)
        warp_order[i] = order[(i + 1) % n];
    unsigned thread_bits = LAYOUT_LANE_BITS + like->warp_bits + like->cta_bits;
    unsigned vec = like->index_bits > thread_bits ? 1u << (like->index_bits - thread_bits) : 1;
    return layout_blocked(t->shape, t->rank, order, vec, warp_order, t->rank - 1u, like->warp_bits,
                          like->cta_bits);
}

static level_kind kind_of_place(const layout *l, unsigned bit) {
    unsigned lanes = l->reg_bits, warps = lanes + LAYOUT_LANE_BITS, ctas = warps + l->warp_bits;
    return bit < lanes ? LEVEL_REG : bit < warps ? LEVEL_LANE : bit < ctas ? LEVEL_WARP : LEVEL_CTA;
}

static const uint32_t *bases_of(const layout *l, level_kind kind) {
    unsigned lanes = l->reg_bits, warps = lanes + LAYOUT_LANE_BITS;
    const unsigned first[] = {0, lanes, warps, warps + l->warp_bits};
    return l->basis + first[kind];
}

static bool is_shared(const level *v) { return v->kind >= LEVEL_WARP; }

static void find_levels(scan *s, uint32_t axis_mask) {
    const layout *l = &s->all;
    uint32_t below = 0, reg_below = 0;
    for (uint32_t left = axis_mask; left; left &= left - 1) {
        uint32_t bit = left & -left;
        unsigned place = 0;
        while (l->basis[place] != bit)
            place++;
        level_kind kind = kind_of_place(l, place);
        level *v = s->num_levels ? &s->levels[s->num_levels - 1] : NULL;
        if (!v || v->kind != kind) {
            v = &s->levels[s->num_levels++];
            *v = (level){.kind = kind, .below = below, .reg_below = reg_below};
        }
        v->bit[v->n++] = (uint8_t)(l->basis + place - bases_of(l, kind));
        v->mask |= bit;
        below |= bit;
        v->regs |= kind == LEVEL_REG ? 1u << place : 0;
        reg_below |= v->regs;
    }
}

/// Where a level's totals lie: the places of one row side by side, as numbers of elements by bit of
/// the index. Returns how many there are in all.
static uint32_t find_slots(const scan *s, const level *v, uint32_t slot[32]) {
    unsigned next = v->n, of_level = 0;
    for (unsigned i = 0; i < s->all.index_bits; i++) {
        uint32_t bit = 1u << i;
        slot[i] = v->mask & bit ? 1u << of_level++ : v->below & bit ? 0 : 1u << next++;
    }
    return 1u << next;
}

static uint32_t aligned(uint32_t bytes) {
    return (bytes + SCRATCH_ALIGN - 1) & ~(SCRATCH_ALIGN - 1u);
}

static uint32_t total_bytes(const scan *s, const level *v, dtype elem) {
    uint32_t slot[32];
    return aligned(find_slots(s, v, slot) * dtype_bytes(elem));
}

static scan describe(const ir_op *op) {
    const ir_value *x = op->operands[0];
    unsigned axis = (unsigned)ir_get_int(op, ATTR_AXIS, 0);
    uint32_t axis_mask = layout_dim_mask(x->type.shape, x->type.rank, axis);
    scan s = {.op = op, .reverse = ir_get_flag(op, ATTR_REVERSE)};
    s.all = layout_drop_register_copies(x->layout);
    if (!is_plain(&s.all, axis_mask))
        s.all = make_plain(&x->type, axis, x->layout);
    for (uint32_t i = 0; i < op->num_operands; i++) {
        dtype elem = op->operands[i]->type.elem;
        uint32_t to = exchange_convert_bytes(x->layout, &s.all, elem);
        uint32_t back = exchange_convert_bytes(&s.all, x->layout, elem);
        s.convert_bytes = to > s.convert_bytes ? to : s.convert_bytes;
        s.convert_bytes = back > s.convert_bytes ? back : s.convert_bytes;
    }
    find_levels(&s, axis_mask);
    s.bytes = aligned(s.convert_bytes);
    for (unsigned k = 0; k < s.num_levels; k++) {
        s.levels[k].scratch = s.bytes;
        for (uint32_t i = 0; is_shared(&s.levels[k]) && i < op->num_operands; i++)
            s.bytes += total_bytes(&s, &s.levels[k], op->operands[i]->type.elem);
    }
    return s;
}

static bool conversion_crosses(const scan *s) {
    const layout *given = s->op->operands[0]->layout;
    return exchange_convert_crosses(given, &s->all) || exchange_convert_crosses(&s->all, given);
}

uint32_t emit_scan_scratch_bytes(const ir_op *op) { return describe(op).bytes; }

bool emit_scan_pushes(const ir_op *op) {
    scan s = describe(op);
    for (unsigned k = 0; k < s.num_levels; k++) {
        if (s.levels[k].kind == LEVEL_CTA)
            return true;
    }
    return false;
}

bool emit_scan_pulls(const ir_op *op) {
    scan s = describe(op);
    return conversion_crosses(&s);
}

// ---------------------------------------------------------------------------- steps

static uint32_t last_step(const level *v) { return (1u << v->n) - 1; }

/// The register bits of a step of a register level.
static uint32_t step_registers(const scan *s, const level *v, uint32_t step) {
    uint32_t regs = 0;
    step ^= s->reverse ? last_step(v) : 0;
    for (unsigned j = 0; j < v->n; j++)
        regs |= (step >> j & 1) << v->bit[j];
    return regs;
}

/// The register that stands for the block of levels below `regs`: the one in which it ends.
static uint32_t end_register(const scan *s, uint32_t r, uint32_t regs) {
    return s->reverse ? r & ~regs : r | regs;
}

/// Lane value i32: the step of this thread in a level of lanes, warps or CTAs.
static LLVMValueRef thread_step(emitter *e, const scan *s, const level *v) {
    uint32_t bases[LAYOUT_MAX_BITS] = {0};
    for (unsigned j = 0; j < v->n; j++)
        bases[v->bit[j]] = 1u << j;
    LLVMValueRef bits = v->kind == LEVEL_LANE   ? e->tgt->lane_id(e)
                        : v->kind == LEVEL_WARP ? e->tgt->warp_id(e)
                                                : e->tgt->cta_rank(e);
    unsigned most = v->kind == LEVEL_CTA ? LAYOUT_MAX_CTA_BITS : LAYOUT_LANE_BITS;
    LLVMValueRef step = emit_apply_bases(e, bases, most, bits);
    if (v->kind != LEVEL_LANE)
        step = e->tgt->splat(e, step);
    if (s->reverse)
        step = LLVMBuildXor(e->b, step, emit_lane_const_i32(e, last_step(v)), "");
    return step;
}

/// The lane of a step (lane value i32) in this thread's row.
static LLVMValueRef lane_of_step(emitter *e, const scan *s, const level *v, LLVMValueRef step) {
    uint32_t bases[LAYOUT_MAX_BITS] = {0}, mask = 0;
    for (unsigned j = 0; j < v->n; j++) {
        bases[j] = 1u << v->bit[j];
        mask |= bases[j];
    }
    if (s->reverse)
        step = LLVMBuildXor(e->b, step, emit_lane_const_i32(e, last_step(v)), "");
    LLVMValueRef lane = emit_apply_bases(e, bases, v->n, step);
    if (mask == (1u << LAYOUT_LANE_BITS) - 1)
        return lane;
    LLVMValueRef rest =
        LLVMBuildAnd(e->b, e->tgt->lane_id(e), emit_lane_const_i32(e, ~mask & 31), "");
    return LLVMBuildOr(e->b, lane, rest, "");
}

static LLVMValueRef is_step(emitter *e, LLVMValueRef step, uint32_t k) {
    return LLVMBuildICmp(e->b, LLVMIntEQ, step, emit_lane_const_i32(e, k), "");
}

// ---------------------------------------------------------------------------- registers of tiles

static void copy_register(const tiles *from, uint32_t r, const tiles *to, uint32_t at) {
    for (uint32_t i = 0; i < from->n; i++)
        to->tile[i][at] = from->tile[i][r];
}

/// Register `to` of out becomes a's where cond, else b's.
static void choose(emitter *e, LLVMValueRef cond, const tiles *a, uint32_t ra, const tiles *b,
                   uint32_t rb, const tiles *out, uint32_t to) {
    for (uint32_t i = 0; i < a->n; i++)
        out->tile[i][to] = LLVMBuildSelect(e->b, cond, a->tile[i][ra], b->tile[i][rb], "");
}

static void combine(emitter *e, const scan *s, const tiles *a, uint32_t ra, const tiles *b,
                    uint32_t rb, const tiles *out, uint32_t to) {
    tiles_combine(e, s->op, a, ra, b, rb, out, to);
    if (e->tgt->limit_block)
        e->tgt->limit_block(e, 2 * a->n);
}

/// Register `to` of `out` becomes register r of another lane.
static void from_lane(emitter *e, const scan *s, const tiles *t, uint32_t r, LLVMValueRef lane,
                      const tiles *out, uint32_t to) {
    for (uint32_t i = 0; i < t->n; i++) {
        dtype elem = s->op->operands[i]->type.elem;
        LLVMValueRef v = exchange_pack(e, t->tile[i][r], elem);
        out->tile[i][to] = exchange_unpack(e, e->tgt->shuffle_idx(e, v, lane), elem);
    }
}

// ---------------------------------------------------------------------------- the way up

/// What a level leaves. Of the registers only those are used that stand for blocks of lower levels.
typedef struct scanned {
    tiles part;        ///< shared levels: all before this step; else up to this one
    tiles total;       ///< of the whole level, in registers that stand for its blocks
    LLVMValueRef step; ///< of the thread; NULL: a register level
} scanned;

static scanned scan_registers(emitter *e, const scan *s, const level *v, const tiles *t) {
    unsigned n = layout_reg_count(&s->all);
    scanned out = {.part = tiles_new(e, t->n, n)};
    for (uint32_t rest = 0; rest < n; rest++) {
        if ((rest & v->regs) || end_register(s, rest, v->reg_below) != rest)
            continue;
        uint32_t before = rest | step_registers(s, v, 0);
        copy_register(t, before, &out.part, before);
        for (uint32_t step = 1; step <= last_step(v); step++) {
            uint32_t r = rest | step_registers(s, v, step);
            combine(e, s, &out.part, before, t, r, &out.part, r);
            before = r;
        }
    }
    out.total = out.part;
    return out;
}

static scanned scan_lanes(emitter *e, const scan *s, const level *v, const tiles *t, bool total) {
    unsigned n = layout_reg_count(&s->all);
    scanned out = {.part = tiles_new(e, t->n, n), .total = tiles_new(e, t->n, n)};
    tiles lower = tiles_new(e, t->n, 1), sum = tiles_new(e, t->n, 1);
    out.step = thread_step(e, s, v);
    LLVMValueRef end = lane_of_step(e, s, v, emit_lane_const_i32(e, last_step(v)));
    LLVMValueRef from[LAYOUT_LANE_BITS], on[LAYOUT_LANE_BITS];
    for (unsigned j = 0; j < v->n; j++) {
        LLVMValueRef bit = emit_lane_const_i32(e, 1u << j);
        on[j] = LLVMBuildICmp(e->b, LLVMIntEQ, LLVMBuildAnd(e->b, out.step, bit, ""), bit, "");
        from[j] = LLVMBuildAnd(e->b, out.step, emit_lane_const_i32(e, ~((2u << j) - 1)), "");
        from[j] = LLVMBuildOr(e->b, from[j], emit_lane_const_i32(e, (1u << j) - 1), "");
        from[j] = lane_of_step(e, s, v, from[j]);
    }
    for (uint32_t r = 0; r < n; r++) {
        if (end_register(s, r, v->reg_below) != r)
            continue;
        copy_register(t, r, &out.part, r);
        for (unsigned j = 0; j < v->n; j++) {
            from_lane(e, s, &out.part, r, from[j], &lower, 0);
            combine(e, s, &lower, 0, &out.part, r, &sum, 0);
            choose(e, on[j], &sum, 0, &out.part, r, &out.part, r);
        }
        if (total)
            from_lane(e, s, &out.part, r, end, &out.total, r);
    }
    return out;
}

/// The places of totals for one tile of a level: of the thread's own, and where its row begins.
typedef struct total_place {
    uint32_t slot[32];
    unsigned bytes;         ///< of an element
    LLVMValueRef own, row;  ///< lane values i32: byte offsets in the tile's scratch
    uint32_t run_time_bits; ///< that they may have
} total_place;

static total_place place_totals(emitter *e, const scan *s, const level *v, dtype elem) {
    total_place p = {.bytes = dtype_bytes(elem)};
    const layout *l = &s->all;
    find_slots(s, v, p.slot);
    uint32_t own[LAYOUT_MAX_BITS], row[LAYOUT_MAX_BITS];
    for (unsigned i = 0; i < layout_place_bits(l) - l->reg_bits; i++) {
        uint32_t basis = layout_sum(p.slot, l->basis[l->reg_bits + i]);
        own[i] = basis * p.bytes;
        row[i] = (basis & ~last_step(v)) * p.bytes;
        p.run_time_bits |= own[i];
    }
    const uint32_t *warps = own + LAYOUT_LANE_BITS;
    p.own = exchange_thread_bits(e, own, warps, l->warp_bits, l->cta_bits);
    warps = row + LAYOUT_LANE_BITS;
    p.row = exchange_thread_bits(e, row, warps, l->warp_bits, l->cta_bits);
    return p;
}

/// Lane i1: this thread writes the totals, of those of its CTA that have the same. NULL: all do.
static LLVMValueRef writes_totals(emitter *e, const scan *s, const level *v) {
    layout l = s->all;
    l.cta_bits = 0;
    for (unsigned i = 0; i < layout_place_bits(&l); i++)
        l.basis[i] &= ~v->below;
    return emit_is_representative(e, &l);
}

/// Puts the totals of level v's steps into shared memory, and waits until all are there.
static void share_totals(emitter *e, const scan *s, const level *v, const tiles *t,
                         const total_place *places, uint32_t scratch) {
    LLVMValueRef writes = writes_totals(e, s, v);
    uint32_t cta_bits = 0;
    for (unsigned j = 0; v->kind == LEVEL_CTA && j < v->n; j++)
        cta_bits |= 1u << v->bit[j];
    for (uint32_t i = 0; i < t->n; i++) {
        dtype elem = s->op->operands[i]->type.elem;
        const total_place *p = &places[i];
        for (uint32_t r = 0; r < layout_reg_count(&s->all); r++) {
            if (end_register(s, r, v->reg_below) != r)
                continue;
            uint32_t part = layout_sum(p->slot, layout_apply(&s->all, (layout_place){.reg = r}));
            LLVMValueRef at =
                exchange_offset(e, p->own, p->run_time_bits, part * p->bytes, scratch);
            tiles_store_to_ctas(e, cta_bits, at, exchange_pack(e, t->tile[i][r], elem), writes);
        }
        scratch += total_bytes(s, v, elem);
    }
    if (v->kind == LEVEL_CTA)
        emit_barrier(e);
    else
        emit_cta_barrier(e);
}

/// Combines the totals of a row, in `row` by position, up to this thread's step and to the end.
static void combine_row(emitter *e, const scan *s, const level *v, const tiles *row, scanned *out,
                        uint32_t r, bool total) {
    uint32_t flip = s->reverse ? last_step(v) : 0, steps = last_step(v) + !!total;
    tiles sum = tiles_new(e, row->n, 1);
    copy_register(row, flip, &sum, 0);
    copy_register(&sum, 0, &out->part, r);
    for (uint32_t k = 1; k < steps; k++) {
        combine(e, s, &sum, 0, row, k ^ flip, &sum, 0);
        if (k < last_step(v))
            choose(e, is_step(e, out->step, k + 1), &sum, 0, &out->part, r, &out->part, r);
    }
    copy_register(&sum, 0, &out->total, r);
}

static scanned scan_shared(emitter *e, const scan *s, const level *v, const tiles *t,
                           uint32_t scratch, bool total) {
    unsigned n = layout_reg_count(&s->all), steps = last_step(v) + 1;
    scanned out = {.part = tiles_new(e, t->n, n), .total = tiles_new(e, t->n, n)};
    total_place *places = ARENA_ARRAY(e->arena, total_place, t->n);
    tiles row = tiles_new(e, t->n, steps);
    scratch += v->scratch;
    out.step = thread_step(e, s, v);
    for (uint32_t i = 0; i < t->n; i++)
        places[i] = place_totals(e, s, v, s->op->operands[i]->type.elem);
    share_totals(e, s, v, t, places, scratch);
    for (uint32_t r = 0; r < n; r++) {
        if (end_register(s, r, v->reg_below) != r)
            continue;
        uint32_t tile_at = scratch;
        for (uint32_t i = 0; i < t->n; i++) {
            dtype elem = s->op->operands[i]->type.elem;
            const total_place *p = &places[i];
            uint32_t part = layout_sum(p->slot, layout_apply(&s->all, (layout_place){.reg = r}));
            LLVMValueRef at =
                exchange_offset(e, p->row, p->run_time_bits, part * p->bytes, tile_at);
            tiles_read_row(e, at, steps, elem, row.tile[i]);
            tile_at += total_bytes(s, v, elem);
        }
        combine_row(e, s, v, &row, &out, r, total);
    }
    return out;
}

static scanned scan_level(emitter *e, const scan *s, const level *v, const tiles *t,
                          uint32_t scratch) {
    bool total = v != &s->levels[s->num_levels - 1];
    if (v->kind == LEVEL_REG)
        return scan_registers(e, s, v, t);
    return v->kind == LEVEL_LANE ? scan_lanes(e, s, v, t, total)
                                 : scan_shared(e, s, v, t, scratch, total);
}

// ---------------------------------------------------------------------------- the way down

/// What stands before the blocks of a level, by the registers that stand for them.
typedef struct carry {
    tiles value;
    enum carry_when { NEVER, SOMETIMES, ALWAYS } * when;
    LLVMValueRef *ok; ///< SOMETIMES: lane i1
} carry;

static carry new_carry(emitter *e, uint32_t n, unsigned regs) {
    return (carry){tiles_new(e, n, regs), ARENA_ARRAY(e->arena, enum carry_when, regs),
                   emit_new_regs(e, regs)};
}

/// Register `to` of `out`: what stands before, at `above`, combined with what follows it, which is
/// register r of `more`, where `more_ok` (NULL: everywhere).
static void extend(emitter *e, const scan *s, const carry *c, uint32_t above, const tiles *more,
                   uint32_t r, LLVMValueRef more_ok, carry *out, uint32_t to) {
    LLVMValueRef ok = c->ok[above];
    if (c->when[above] == NEVER) {
        copy_register(more, r, &out->value, to);
        out->when[to] = more_ok ? SOMETIMES : ALWAYS;
        out->ok[to] = more_ok;
        return;
    }
    combine(e, s, &c->value, above, more, r, &out->value, to);
    if (c->when[above] == SOMETIMES)
        choose(e, ok, &out->value, to, more, r, &out->value, to);
    if (more_ok)
        choose(e, more_ok, &out->value, to, &c->value, above, &out->value, to);
    bool always = !more_ok || c->when[above] == ALWAYS;
    out->when[to] = always ? ALWAYS : SOMETIMES;
    out->ok[to] = always ? NULL : LLVMBuildOr(e->b, ok, more_ok, "");
}

static carry carry_through_registers(emitter *e, const scan *s, const level *v, const scanned *x,
                                     const carry *above) {
    unsigned n = layout_reg_count(&s->all);
    carry out = new_carry(e, x->part.n, n);
    for (uint32_t rest = 0; rest < n; rest++) {
        if ((rest & v->regs) || end_register(s, rest, v->reg_below) != rest)
            continue;
        uint32_t top = rest | step_registers(s, v, last_step(v));
        for (uint32_t k = 0; k <= last_step(v); k++) {
            uint32_t r = rest | step_registers(s, v, k);
            if (k > 0) {
                uint32_t before = rest | step_registers(s, v, k - 1);
                extend(e, s, above, top, &x->part, before, NULL, &out, r);
                continue;
            }
            copy_register(&above->value, top, &out.value, r);
            out.when[r] = above->when[top];
            out.ok[r] = above->ok[top];
        }
    }
    return out;
}

static carry carry_through_threads(emitter *e, const scan *s, const level *v, const scanned *x,
                                   const carry *above) {
    unsigned n = layout_reg_count(&s->all);
    carry out = new_carry(e, x->part.n, n);
    tiles before = tiles_new(e, x->part.n, 1);
    LLVMValueRef follows = LLVMBuildNot(e->b, is_step(e, x->step, 0), ""), lane = NULL;
    if (v->kind == LEVEL_LANE) {
        LLVMValueRef step = LLVMBuildSub(e->b, x->step, emit_lane_const_i32(e, 1), "");
        step = LLVMBuildAnd(e->b, step, emit_lane_const_i32(e, last_step(v)), "");
        lane = lane_of_step(e, s, v, step);
    }
    for (uint32_t r = 0; r < n; r++) {
        if (end_register(s, r, v->reg_below) != r)
            continue;
        if (lane)
            from_lane(e, s, &x->part, r, lane, &before, 0);
        else
            copy_register(&x->part, r, &before, 0);
        extend(e, s, above, r, &before, 0, follows, &out, r);
    }
    return out;
}

/// The scan of tiles that lie as s->all says.
static tiles scan_tiles(emitter *e, const scan *s, const tiles *t, uint32_t scratch) {
    unsigned n = layout_reg_count(&s->all), k;
    scanned *up = ARENA_ARRAY(e->arena, scanned, s->num_levels + 1);
    const tiles *total = t;
    for (k = 0; k < s->num_levels; k++) {
        up[k] = scan_level(e, s, &s->levels[k], total, scratch);
        total = &up[k].total;
    }
    // The lowest level needs no carry of its own: it has been scanned up to each element.
    unsigned lowest = s->num_levels && !is_shared(&s->levels[0]);
    carry c = new_carry(e, t->n, n);
    while (k-- > lowest) {
        const level *v = &s->levels[k];
        c = v->kind == LEVEL_REG ? carry_through_registers(e, s, v, &up[k], &c)
                                 : carry_through_threads(e, s, v, &up[k], &c);
    }
    const tiles *own = lowest ? &up[0].part : t;
    uint32_t regs = lowest ? s->levels[0].regs : 0;
    carry out = new_carry(e, t->n, n);
    for (uint32_t r = 0; r < n; r++)
        extend(e, s, &c, end_register(s, r, regs), own, r, NULL, &out, r);
    return out.value;
}

// ---------------------------------------------------------------------------- the op

/// Brings all tiles from one layout to another. They take turns in the same scratch.
static tiles convert_tiles(emitter *e, const scan *s, const layout *from, const layout *to,
                           const tiles *t, uint32_t scratch, bool used) {
    tiles out = tiles_new(e, t->n, layout_reg_count(to));
    for (uint32_t i = 0; i < t->n; i++) {
        dtype elem = s->op->operands[i]->type.elem;
        if (used && exchange_convert_bytes(from, to, elem)) {
            if (conversion_crosses(s))
                emit_barrier(e);
            else
                emit_cta_barrier(e);
        }
        used |= exchange_convert_bytes(from, to, elem) != 0;
        out.tile[i] = exchange_convert(e, from, to, t->tile[i], elem, scratch);
    }
    return out;
}

void emit_scan(emitter *e, const ir_op *op) {
    scan s = describe(op);
    if (s.bytes && !smem_fits(e, op, s.bytes))
        return;
    uint32_t scratch = s.bytes ? smem_offset(e->smem, op) : 0;
    const layout *given = op->operands[0]->layout;
    tiles t = tiles_new(e, op->num_operands, 1);
    for (uint32_t i = 0; i < t.n; i++)
        t.tile[i] = emit_regs(e, op->operands[i]);
    t = convert_tiles(e, &s, given, &s.all, &t, scratch, false);
    t = scan_tiles(e, &s, &t, scratch);
    t = convert_tiles(e, &s, &s.all, given, &t, scratch, s.convert_bytes != 0);
    for (uint32_t i = 0; i < op->num_results; i++)
        emit_set_regs(e, op->results[i], t.tile[i]);
}
