// The one owner of shared memory and barriers. Emitters say how much scratch an op needs; this
// file gives each op its place and decides before which ops the program's threads must wait for
// each other. It walks the structured ops as a dataflow problem: the state is the set of accesses
// made since the last barrier, on any path; an op that conflicts with one of them gets a barrier
// in front. Loops are walked until nothing changes, so hazards across a back edge are seen.
//
// Two kinds of hazard. Scratch memory: an op may not write where a slower thread still reads. And
// global memory: a program is sequential for its own accesses (RULES 3), though its threads are
// not, so what one thread reads or writes and another writes needs a barrier between.
//
// In a cluster there are two barriers: that of a CTA's threads, which does for scratch that stays in
// the CTA, and that of the program, which includes it. An op that crosses CTAs may write the scratch
// of others before its own barrier, or read there after it. An exchange does without: its scratch is
// its own and used once, and it waits for what comes there; it orders nothing else.
#include "codegen/exchange.h"

enum {
    ALIGN = 16,
    LINE = 128,               ///< async copies bring lines
    SMALL_BYTES = 4096,       ///< small scratch takes turns in two places, to save barriers
    TWO_PLACES_BYTES = 49152, ///< large scratch does so only if all fits in this
};

/// One op that touches scratch or global memory.
typedef struct access {
    const ir_op *op;
    uint32_t at, bytes;    ///< scratch; bytes may be 0
    const ir_value *ptr;   ///< of a global access, else NULL
    smem_barrier inner;    ///< it waits between writing its scratch and reading it
    bool pushes, pulls;    ///< writes others' scratch before that, reads it after
    bool is_exchange;      ///< waits for what comes, at no barrier; its scratch is used once
    bool writes;           ///< global memory
    bool orders;           ///< an atomic that publishes or acquires other accesses
    bool across_warps;     ///< some element is held by several warps (a scalar by all)
    bool one_thread_each;  ///< each address is touched by one thread, told by the pointer alone
    int root;              ///< parameter that ptr derives from, or -1
    const ir_value *shift; ///< elements by which pass_realign lets its tile begin earlier, or NULL
} access;

/// What async copies go to: it stays where it is throughout the function.
typedef struct buffer {
    int64_t number;
    uint32_t at, bytes;
    const ir_op *copy; ///< the first into it
} buffer;

struct smem_plan {
    uint32_t total;
    VEC(buffer) buffers;
    const access **by_op;  ///< by op id; NULL for ops that touch nothing
    smem_barrier *barrier; ///< by op id
    bool *crosses;         ///< by op id: it, or one in its regions, has to do with other CTAs
    const uint32_t *uses;  ///< by value id
    bool waits_at_start, waits_at_end; ///< for other CTAs
    bool one_cta;                      ///< of the program
    bool exchanges;                    ///< there may be some
    VEC(access) all;
    arena *arena;
    const axis_analysis *axis;
    bool changed; ///< a barrier was added in this walk
};

// ---------------------------------------------------------------------------- collecting

static bool is_in_loop(const ir_op *op) {
    for (op = op->block->parent; op; op = op->block->parent)
        if (op->opcode == OP_FOR || op->opcode == OP_WHILE)
            return true;
    return false;
}

static void describe_scratch(smem_plan *p, access *a) {
    const ir_op *op = a->op;
    bool crosses = false;
    switch (op->opcode) {
    case OP_REDUCE:
        a->bytes = p->exchanges && !is_in_loop(op) ? emit_reduce_exchange_bytes(op) : 0;
        a->is_exchange = a->pushes = a->bytes > 0;
        if (a->is_exchange)
            return;
        a->bytes = emit_reduce_scratch_bytes(op);
        crosses = a->pushes = emit_reduce_crosses(op);
        break;
    case OP_SCAN:
        a->bytes = emit_scan_scratch_bytes(op);
        a->pushes = emit_scan_pushes(op);
        a->pulls = emit_scan_pulls(op);
        crosses = a->pushes || a->pulls;
        break;
    case OP_GATHER:
        a->bytes = emit_gather_scratch_bytes(op);
        crosses = a->pulls = emit_gather_crosses(op);
        break;
    case OP_HISTOGRAM:
        a->bytes = emit_histogram_scratch_bytes(op);
        crosses = a->pulls = emit_histogram_crosses(op);
        break;
    case OP_CONVERT_LAYOUT:
        a->bytes = emit_convert_scratch_bytes(op);
        crosses = a->pulls = emit_convert_crosses(op);
        break;
    case OP_FLIP:
        a->bytes = emit_flip_scratch_bytes(op);
        crosses = a->pulls = emit_flip_crosses(op);
        break;
    case OP_ATOMIC_RMW:
    case OP_ATOMIC_CAS:
        if (p->uses[op->results[0]->id] == 0)
            break; // nothing is exchanged
        a->bytes = emit_atomic_scratch_bytes(op);
        crosses = a->pulls = emit_atomic_crosses(op);
        break;
    default:
        break;
    }
    if (a->bytes)
        a->inner = crosses ? SMEM_PROGRAM_BARRIER : SMEM_CTA_BARRIER;
}

/// True if no two elements of a tile of pointers are equal, as far as is known.
static bool is_injective(const axis_analysis *axis, const ir_value *ptr) {
    const axis_info *info = axis_get(axis, ptr);
    for (unsigned d = 0; d < ptr->type.rank; d++) {
        if (info->contiguity[d] == ir_type_elements(ptr->type))
            return true;
    }
    return false;
}

/// The defining op of a value, if it is of this kind.
static const ir_op *def_of(const ir_value *v, ir_opcode opcode) {
    return v && v->def && v->def->opcode == opcode ? v->def : NULL;
}

/// By how many elements pass_realign has moved an access: splat(row + -shift) + index. NULL if it
/// has not; the pointer itself, like no other, if that cannot be told.
static const ir_value *shift_of(const ir_op *op) {
    if (!ir_get_flag(op, ATTR_REALIGNED))
        return NULL;
    const ir_op *tile = def_of(op->operands[0], OP_ADDPTR);
    const ir_op *rows = tile ? def_of(tile->operands[0], OP_SPLAT) : NULL;
    const ir_op *row = rows ? def_of(rows->operands[0], OP_ADDPTR) : NULL;
    const ir_op *back = row ? def_of(row->operands[1], OP_NEG) : NULL;
    return back ? back->operands[0] : op->operands[0];
}

static void describe_global(smem_plan *p, access *a) {
    const ir_op *op = a->op;
    bool is_atomic = op->opcode == OP_ATOMIC_RMW || op->opcode == OP_ATOMIC_CAS;
    if (op->opcode != OP_LOAD && op->opcode != OP_STORE && op->opcode != OP_ASYNC_COPY &&
        !is_atomic)
        return;
    if (op->operands[0]->type.pointer_const)
        return; // nothing ever writes there
    a->ptr = op->operands[0];
    a->writes = op->opcode == OP_STORE || is_atomic;
    a->orders = is_atomic && !sv_is(ir_get_str(op, ATTR_SEM), "relaxed");
    a->across_warps = true;
    if (ir_is_tile(a->ptr->type)) {
        layout_replication copies = layout_get_replication(a->ptr->layout);
        a->across_warps = copies.warp_mask || copies.cta_mask;
        a->one_thread_each = !a->across_warps && !copies.lane_mask && is_injective(p->axis, a->ptr);
    }
    a->root = axis_pointer_root(p->axis, a->ptr);
    a->shift = shift_of(op);
}

static const buffer *find_buffer(const smem_plan *p, const ir_op *op) {
    for (uint32_t i = 0; i < p->buffers.len; i++)
        if (p->buffers.data[i].number == ir_get_int(op, ATTR_BUFFER, -1))
            return &p->buffers.data[i];
    return NULL;
}

static void add_buffer(smem_plan *p, const ir_op *copy) {
    buffer b = {ir_get_int(copy, ATTR_BUFFER, 0), 0, emit_async_buffer_bytes(copy), copy};
    if (!find_buffer(p, copy))
        VEC_PUSH(p->arena, p->buffers, b);
}

static void collect(smem_plan *p, const ir_block *b) {
    for (const ir_op *op = b->first; op; op = op->next) {
        access a = {.op = op, .root = -1};
        describe_scratch(p, &a);
        describe_global(p, &a);
        if (a.bytes || a.ptr)
            VEC_PUSH(p->arena, p->all, a);
        if (op->opcode == OP_ASYNC_COPY)
            add_buffer(p, op);
        for (uint32_t i = 0; i < op->num_regions && !ir_has_trait(op, ISOLATED); i++)
            collect(p, op->regions[i]);
    }
}

/// Gives every scratch a place. Scratch lives only during its op, so one place would do for all;
/// two that take turns let an op write while slower threads still read what the one before it
/// left: one barrier for each of a row of reductions, not two.
static void place_scratch(smem_plan *p) {
    uint32_t small[2] = {0}, large[2] = {0}, turn = 0, large_turn = 0;
    uint32_t *slot = ARENA_ARRAY(p->arena, uint32_t, p->all.len);
    for (uint32_t i = 0; i < p->all.len; i++) {
        uint32_t bytes = (p->all.data[i].bytes + ALIGN - 1) & ~(ALIGN - 1u);
        bool is_small = bytes <= SMALL_BYTES;
        uint32_t *size = is_small ? small : large;
        if (bytes && !p->all.data[i].is_exchange) {
            slot[i] = (is_small ? turn++ : large_turn++) & 1;
            size[slot[i]] = bytes > size[slot[i]] ? bytes : size[slot[i]];
        }
    }
    uint32_t smalls = small[0] + small[1];
    bool one_large = smalls + large[0] + large[1] > TWO_PLACES_BYTES;
    if (one_large)
        large[0] = large[0] > large[1] ? large[0] : large[1];
    for (uint32_t i = 0; i < p->all.len; i++) {
        access *a = &p->all.data[i];
        if (a->bytes && a->bytes <= SMALL_BYTES)
            a->at = slot[i] ? small[0] : 0;
        else if (a->bytes)
            a->at = smalls + (slot[i] && !one_large ? large[0] : 0);
        uint32_t end = a->is_exchange ? 0 : a->at + a->bytes;
        p->total = end > p->total ? end : p->total;
    }
}

static void place_exchanges(smem_plan *p) {
    for (uint32_t i = 0; i < p->all.len; i++) {
        access *a = &p->all.data[i];
        if (!a->is_exchange)
            continue;
        a->at = (p->total + ALIGN - 1) & ~(ALIGN - 1u);
        p->total = a->at + a->bytes;
    }
}

static void place_buffers(smem_plan *p) {
    for (uint32_t i = 0; i < p->buffers.len; i++) {
        p->buffers.data[i].at = (p->total + LINE - 1) & ~(LINE - 1u);
        p->total = p->buffers.data[i].at + p->buffers.data[i].bytes;
    }
}

// ---------------------------------------------------------------------------- the state

/// Accesses since the last barrier of the program, as bit sets over smem_plan.all that lie side by
/// side. `recent` ones were made since the last barrier of either kind, `earlier` ones in an earlier
/// iteration of a loop that we are in, `stale` ones in one that computes their pointer anew. One more
/// `pending` bit at the end: some CTA may not have started yet.
typedef struct state {
    uint64_t *pending, *recent, *stale, *earlier;
    uint32_t words;
} state;

static size_t state_words(const state *s) { return 4 * (size_t)s->words; }

static void copy_state(state *to, const state *from) {
    memcpy(to->pending, from->pending, state_words(from) * sizeof(uint64_t));
}

static state new_state(smem_plan *p, const state *copy_of) {
    state s = {.words = p->all.len / 64 + 1};
    s.pending = ARENA_ARRAY(p->arena, uint64_t, state_words(&s));
    s.recent = s.pending + s.words;
    s.stale = s.recent + s.words;
    s.earlier = s.stale + s.words;
    if (copy_of)
        copy_state(&s, copy_of);
    return s;
}

/// What a barrier makes of the state. A program of one CTA has one kind of barrier.
static void pass_barrier(const smem_plan *p, state *s, smem_barrier b) {
    if (b == SMEM_CTA_BARRIER && p->one_cta)
        b = SMEM_PROGRAM_BARRIER;
    if (b == SMEM_PROGRAM_BARRIER)
        memset(s->pending, 0, state_words(s) * sizeof(uint64_t));
    else if (b == SMEM_CTA_BARRIER)
        memset(s->recent, 0, s->words * sizeof(uint64_t));
}

/// a becomes the union of a and b; true if that adds something.
static bool join(state *a, const state *b) {
    bool grew = false;
    for (size_t i = 0; i < state_words(a); i++) {
        grew |= (b->pending[i] & ~a->pending[i]) != 0;
        a->pending[i] |= b->pending[i];
    }
    return grew;
}

static bool has(const uint64_t *set, uint32_t i) { return set[i / 64] >> (i % 64) & 1; }

static bool is_inside(const ir_block *b, const ir_op *loop) {
    for (; b; b = b->parent ? b->parent->block : NULL) {
        if (b->parent == loop)
            return true;
    }
    return false;
}

/// Goes over the back edge of a loop: pointers computed in it are about to change.
static void start_iteration(smem_plan *p, state *s, const ir_op *loop) {
    for (uint32_t i = 0; i < p->all.len; i++) {
        const access *a = &p->all.data[i];
        if (has(s->pending, i) && a->ptr && is_inside(a->ptr->block, loop))
            s->stale[i / 64] |= 1ull << (i % 64);
        if (has(s->pending, i) && is_inside(a->op->block, loop))
            s->earlier[i / 64] |= 1ull << (i % 64);
    }
}

static void leave_loop(smem_plan *p, state *s, const ir_op *loop) {
    for (uint32_t i = 0; i < p->all.len; i++) {
        if (is_inside(p->all.data[i].op->block, loop))
            s->earlier[i / 64] &= ~(1ull << (i % 64));
    }
}

// ---------------------------------------------------------------------------- hazards

/// The barrier that b's scratch needs after a's.
static smem_barrier scratch_conflict(const access *a, const access *b) {
    if (!a->bytes || !b->bytes || a->at >= b->at + b->bytes || b->at >= a->at + a->bytes)
        return SMEM_NO_BARRIER;
    return a->pulls || b->pushes ? SMEM_PROGRAM_BARRIER : SMEM_CTA_BARRIER;
}

/// A tile of pointers that is base + start, base + start + 1, ...: its two parts.
static bool is_run(const ir_value *ptr, const ir_value **base, int64_t *start) {
    const ir_op *def = ptr->def, *splat, *index;
    if (!def || def->opcode != OP_ADDPTR || ptr->type.rank != 1)
        return false;
    splat = def->operands[0]->def;
    index = def->operands[1]->def;
    if (!splat || splat->opcode != OP_SPLAT || !index || index->opcode != OP_ARANGE)
        return false;
    *base = splat->operands[0];
    *start = ir_get_int(index, ATTR_START, 0);
    return true;
}

/// The tiles of pointers are pieces of one run in memory, the same piece or others: whatever address
/// they have in common belongs to one thread, if they have one layout.
static bool are_pieces(const ir_value *p, const ir_value *q) {
    const ir_value *base[2];
    int64_t start[2], extent = ir_type_elements(p->type);
    return p == q || (ir_type_equal(p->type, q->type) && p->layout == q->layout &&
                      is_run(p, &base[0], &start[0]) && is_run(q, &base[1], &start[1]) &&
                      base[0] == base[1] && (start[0] - start[1]) % extent == 0);
}

/// Whether b, after a with no barrier between, may see or undo what another thread's a does.
static bool global_conflict(const access *a, bool a_is_stale, bool a_is_earlier, const access *b) {
    if (!a->ptr || !b->ptr || (!a->writes && !b->writes))
        return false;
    if (a->orders || b->orders)
        return true;
    if (!a_is_stale && a->one_thread_each && are_pieces(a->ptr, b->ptr))
        return false; // whatever a thread touches twice, no other touches
    // Different arguments may still be one buffer. In a call in place each warp reads and writes
    // its own elements, if they have one layout, no element is held by several warps, and elements
    // have the same place in both tiles (pass_realign moves the tiles of a row alike). Should
    // they overlap at an offset, a load that stands after a store still sees it; a store after a
    // load, or a load in the next iteration, is not held back: that would put a barrier into every
    // loop that reads one argument and writes another.
    bool apart = a->root >= 0 && b->root >= 0 && a->root != b->root;
    bool one_layout = a->ptr->layout == b->ptr->layout && a->shift == b->shift;
    bool reads_back = a->writes && !b->writes && !a_is_earlier;
    return !apart || !one_layout || reads_back || a->across_warps || b->across_warps;
}

static smem_barrier needed_barrier(const smem_plan *p, const state *s, const access *b) {
    smem_barrier need = SMEM_NO_BARRIER;
    for (uint32_t i = 0; i < p->all.len && need < SMEM_PROGRAM_BARRIER; i++) {
        const access *a = &p->all.data[i];
        if (!has(s->pending, i))
            continue;
        smem_barrier now = scratch_conflict(a, b);
        if (now == SMEM_CTA_BARRIER && !has(s->recent, i))
            now = SMEM_NO_BARRIER;
        if (global_conflict(a, has(s->stale, i), has(s->earlier, i), b))
            now = SMEM_PROGRAM_BARRIER;
        need = now > need ? now : need;
    }
    return need;
}

static void flow_access(smem_plan *p, state *s, const access *a) {
    uint32_t id = a->op->id, i = (uint32_t)(a - p->all.data);
    smem_barrier need = needed_barrier(p, s, a);
    if (need > p->barrier[id]) {
        p->barrier[id] = need;
        p->changed = true;
    }
    pass_barrier(p, s, p->barrier[id]);
    p->waits_at_start |= a->pushes && has(s->pending, p->all.len);
    pass_barrier(p, s, a->inner);
    s->pending[i / 64] |= 1ull << (i % 64);
    s->recent[i / 64] |= 1ull << (i % 64);
}

// ---------------------------------------------------------------------------- the walk

static void flow_block(smem_plan *p, state *s, const ir_block *b);

/// `while` tests in region 0 and works in region 1; `for` has only the body, and may run it never.
static void flow_loop(smem_plan *p, state *s, const ir_op *loop) {
    bool is_while = loop->opcode == OP_WHILE;
    state end = new_state(p, NULL), body = new_state(p, NULL);
    do {
        copy_state(&end, s);
        if (is_while)
            flow_block(p, &end, loop->regions[0]);
        copy_state(&body, &end);
        flow_block(p, &body, loop->regions[is_while]);
        start_iteration(p, &body, loop);
    } while (join(s, &body));
    copy_state(s, &end);
    leave_loop(p, s, loop);
}

static void flow_if(smem_plan *p, state *s, const ir_op *op) {
    state other = new_state(p, s);
    flow_block(p, s, op->regions[0]);
    flow_block(p, &other, op->regions[1]);
    join(s, &other);
}

static void flow_block(smem_plan *p, state *s, const ir_block *b) {
    for (const ir_op *op = b->first; op; op = op->next) {
        if (p->by_op[op->id])
            flow_access(p, s, p->by_op[op->id]);
        else if (op->opcode == OP_BARRIER)
            pass_barrier(p, s, SMEM_PROGRAM_BARRIER);
        else if (op->opcode == OP_FOR || op->opcode == OP_WHILE)
            flow_loop(p, s, op);
        else if (op->opcode == OP_IF)
            flow_if(p, s, op);
    }
}

/// Marks what has to do with other CTAs; true if something in the block does.
static bool mark_crosses(smem_plan *p, const ir_block *b) {
    bool any = false;
    for (const ir_op *op = b->first; op; op = op->next) {
        const access *a = p->by_op[op->id];
        bool crosses = op->opcode == OP_BARRIER || p->barrier[op->id] == SMEM_PROGRAM_BARRIER ||
                       (a && (a->inner == SMEM_PROGRAM_BARRIER || a->is_exchange));
        for (uint32_t i = 0; i < op->num_regions && !ir_has_trait(op, ISOLATED); i++)
            crosses |= mark_crosses(p, op->regions[i]);
        p->crosses[op->id] = crosses;
        any |= crosses;
    }
    return any;
}

smem_plan *smem_plan_create(ir_func *f, const axis_analysis *axis, bool exchanges, arena *a) {
    smem_plan *p = ARENA_NEW(a, smem_plan);
    p->arena = a;
    p->axis = axis;
    p->by_op = ARENA_ARRAY(a, const access *, f->num_ops);
    p->barrier = ARENA_ARRAY(a, smem_barrier, f->num_ops);
    p->crosses = ARENA_ARRAY(a, bool, f->num_ops);
    p->uses = ir_count_uses(f, a);
    p->one_cta = f->num_ctas == 1;
    p->exchanges = exchanges;
    collect(p, f->body);
    place_scratch(p);
    place_exchanges(p);
    place_buffers(p);
    for (uint32_t i = 0; i < p->all.len; i++)
        p->by_op[p->all.data[i].op->id] = &p->all.data[i];
    do {
        p->changed = p->waits_at_start = false;
        state s = new_state(p, NULL);
        s.pending[p->all.len / 64] |= 1ull << (p->all.len % 64);
        flow_block(p, &s, f->body);
        p->waits_at_end = false;
        for (uint32_t i = 0; i < p->all.len; i++)
            p->waits_at_end |= has(s.pending, i) && p->all.data[i].pulls;
    } while (p->changed);
    if (f->num_ctas > 1)
        mark_crosses(p, f->body);
    return p;
}

// ---------------------------------------------------------------------------- answers

uint32_t smem_total_bytes(const smem_plan *p) { return p->total; }

uint32_t smem_offset(const smem_plan *p, const ir_op *op) {
    const buffer *b = find_buffer(p, op);
    return b ? b->at : p->by_op[op->id]->at;
}

const ir_op *smem_filled_by(const smem_plan *p, const ir_op *op) {
    const buffer *b = find_buffer(p, op);
    return b ? b->copy : NULL;
}

smem_barrier smem_barrier_before(const smem_plan *p, const ir_op *op) { return p->barrier[op->id]; }

bool smem_barrier_at_end(const smem_plan *p) { return p->waits_at_end; }

bool smem_waits_at_start(const smem_plan *p) { return p->waits_at_start; }

bool smem_crosses(const smem_plan *p, const ir_op *op) { return p->crosses[op->id]; }

bool smem_is_exchange(const smem_plan *p, const ir_op *op) {
    return p->by_op[op->id] && p->by_op[op->id]->is_exchange;
}

const ir_op *smem_exchange(const smem_plan *p, uint32_t n) {
    for (uint32_t i = 0; i < p->all.len; i++)
        if (p->all.data[i].is_exchange && n-- == 0)
            return p->all.data[i].op;
    return NULL;
}

bool smem_fits(emitter *e, const ir_op *op, uint32_t bytes) {
    const cg_arch *arch = e->options->arch;
    uint32_t end = smem_offset(e->smem, op) + bytes;
    if (!arch || end <= arch->shared_bytes)
        return true;
    const char *what = op->opcode == OP_CONVERT_LAYOUT ? "(here the tile changes threads) " : "";
    emit_refuse(e, op,
                sv_format(e->arena,
                          "%sneeds %u bytes of shared memory, but %s has %u: use a smaller tile",
                          what, end, arch->name, arch->shared_bytes)
                    .data);
    return false;
}
