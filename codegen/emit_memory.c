// Loads, stores and atomics. A tile access is cut into groups of registers that lie next to each
// other in memory in every thread; each group is one access of up to 16 bytes, which the target
// carries out. The width of a group is the least of four things: the registers that the layout
// puts side by side, the run of addresses and its alignment (axis info of the pointer), what the
// mask does over them, and 16 bytes (ir/axis_access.c).
//
// A mask like `offs < n` may cut through a vector. Where lanes may branch, such a vector is loaded
// whole, since memory of which one element may be read can be read up to the next multiple of 16
// bytes. A thread that has one (two of a row do) then puts aside what the mask does not cover: when
// the first op needs a loaded value, so that no load waits for another; not if nobody will ever look at
// that (`loose`). It stores such a vector element
// by element. And all vectors of an access that turns out not to be aligned are loaded so, too.
//
// A layout may hold copies of an element (RULES 1). Loads fill all copies. Stores and atomics run
// in the representative copy only; what an atomic returns is then given to the others.
#include "codegen/emit.h"

// ---------------------------------------------------------------------------- vector width

static unsigned floor_log2(uint64_t v) { return v ? 63 - (unsigned)__builtin_clzll(v) : 0; }

static unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }

/// The registers that one access takes, which follow each other along dimension `dim`; `split` if
/// that needs a test per vector.
static unsigned access_vector(emitter *e, const ir_op *op, unsigned *dim, bool *split) {
    const ir_value *ptr = op->operands[0];
    bool splits = e->tgt->splits_vectors && !ir_get_flag(op, ATTR_VOLATILE);
    unsigned best = 0;
    *dim = 0;
    *split = false;
    for (unsigned d = 0; d < ptr->type.rank; d++) {
        unsigned held = floor_log2(axis_held_run(ptr, d));
        unsigned whole = least(held, floor_log2(axis_whole_width(e->axis, op, d)));
        unsigned n = least(held, floor_log2(axis_access_width(e->axis, op, d)));
        n = splits ? n : whole;
        if (n > best) {
            best = n;
            *dim = d;
            *split = n > whole;
        }
    }
    return 1u << best;
}

/// For each register, the first one that holds the same element in every thread.
static uint32_t *first_copies(emitter *e, const layout *l) {
    layout unique = *l;
    uint32_t copies = layout_get_replication(l).reg_mask, *first;
    for (unsigned i = 0; i < l->reg_bits; i++) {
        if (copies >> i & 1)
            unique.basis[i] = 0; // never chosen as a source
    }
    first = ARENA_ARRAY(e->arena, uint32_t, layout_reg_count(l));
    emit_match_registers(&unique, l, first); // the rest of the register bases span the copies
    return first;
}

// ---------------------------------------------------------------------------- describing accesses

/// The dtype that an element has in memory: i1 is a byte of 0 or 1 (RULES 10).
static dtype memory_dtype(dtype t) { return t == DT_I1 ? DT_U8 : t; }

static LLVMValueRef to_memory(emitter *e, dtype t, LLVMValueRef v) {
    return t == DT_I1 ? LLVMBuildZExt(e->b, v, emit_int_like(e, 8, v), "") : v;
}

static LLVMValueRef from_memory(emitter *e, dtype t, LLVMValueRef v) {
    return t == DT_I1 ? LLVMBuildICmp(e->b, LLVMIntNE, v, emit_const_like(e, v, 0), "") : v;
}

static cg_access describe(emitter *e, const ir_op *op) {
    const ir_value *ptr = op->operands[0];
    return (cg_access){
        .uniform = !ir_is_tile(ptr->type),
        .elem = memory_dtype(ptr->type.pointee),
        .vec = 1,
        .cache = ir_get_str(op, ATTR_CACHE),
        .evict = ir_get_str(op, ATTR_EVICT),
        .is_volatile = ir_get_flag(op, ATTR_VOLATILE),
        .is_const = ptr->type.pointer_const,
        .root = axis_pointer_root(e->axis, ptr),
        .range = op->range,
    };
}

/// Reports, where it matters, that a pointer comes from an offset that overflowed.
static void check_offsets(emitter *e, const ir_op *op, const ir_value *mask) {
    const ir_value *ptr = op->operands[0];
    LLVMValueRef *overflow = emit_offset_overflow(e, ptr);
    for (unsigned r = 0; overflow && r < emit_reg_count(ptr); r++) {
        if (r > 0 && overflow[r] == overflow[r - 1] && !mask)
            continue;
        e->tgt->assert_true(e, LLVMBuildNot(e->b, overflow[r], ""),
                            mask ? emit_regs(e, mask)[r] : NULL,
                            SV("an int32 offset overflows; compute it in int64"), op->range);
    }
}

// ---------------------------------------------------------------------------- ragged vectors

/// Whether any and whether all of the `n` elements from register r, which follow each other along
/// dimension `dim`, are active. They are asked of few of them: of one where the mask is constant or
/// turns once, of the ends where it is an interval. `depth` bounds the work.
static void vector_mask(emitter *e, const ir_value *mask, unsigned dim, unsigned r, unsigned n,
                        unsigned depth, LLVMValueRef *any, LLVMValueRef *all) {
    LLVMValueRef *m = emit_regs(e, mask), first = m[r], last = m[r + n - 1];
    const ir_op *def = mask->def;
    if (axis_get(e->axis, mask)->constancy[dim] >= n) {
        *any = *all = first;
    } else if (def && def->opcode == OP_AND && depth > 0) {
        LLVMValueRef left_any, left_all, right_any, right_all;
        vector_mask(e, def->operands[0], dim, r, n, depth - 1, &left_any, &left_all);
        vector_mask(e, def->operands[1], dim, r, n, depth - 1, &right_any, &right_all);
        *any = LLVMBuildAnd(e->b, left_any, right_any, "");
        *all = LLVMBuildAnd(e->b, left_all, right_all, "");
    } else if (def && def->opcode == OP_CMP) {
        sv pred = ir_get_str(def, ATTR_PRED);
        bool falls = sv_is(pred, "lt") || sv_is(pred, "le");
        if (axis_get(e->axis, def->operands[0])->contiguity[dim] < n)
            falls = !falls; // the other side counts
        *any = falls ? first : last;
        *all = falls ? last : first;
    } else {
        *any = first;
        for (unsigned k = 1; k < n; k++)
            *any = LLVMBuildOr(e->b, *any, m[r + k], "");
        *all = LLVMBuildAnd(e->b, first, last, "");
    }
}

/// i1: the vectors of an access are aligned, which all are if one is; NULL if that is certain.
static LLVMValueRef is_aligned(emitter *e, const ir_op *op, unsigned vec) {
    const ir_value *ptr = op->operands[0];
    if (!ir_get_flag(op, ATTR_REALIGNED) || ir_get_flag(op, ATTR_ALIGNED))
        return NULL;
    // The pointer is splat(row) + index, and each vector's index a multiple of its size.
    const ir_value *row = ptr->def->operands[0]->def->operands[0];
    LLVMTypeRef i64 = LLVMInt64TypeInContext(e->llvm);
    LLVMValueRef address = LLVMBuildPtrToInt(e->b, emit_regs(e, row)[0], i64, "");
    LLVMValueRef size = LLVMConstInt(i64, vec * dtype_bytes(ptr->type.pointee) - 1, false);
    LLVMValueRef odd = LLVMBuildAnd(e->b, address, size, "");
    return LLVMBuildICmp(e->b, LLVMIntEQ, odd, LLVMConstNull(i64), "");
}

// ---------------------------------------------------------------------------- load, store

/// What all accesses of an op share, and how they are cut.
struct access_plan {
    const ir_op *op;
    cg_access access;
    unsigned vec;         ///< registers of one access
    unsigned dim;         ///< along which they follow each other
    bool is_ragged;       ///< the mask may cut through a vector, or the vectors be unaligned
    LLVMValueRef aligned; ///< i1: the vectors are; NULL if that is certain
    LLVMValueRef phase;   ///< i64: by how many elements they are not, where each is cut out of two
    uint32_t *first;      ///< of loads: see first_copies
    uint32_t copies;      ///< of stores: register bits that only hold copies
};

/// See vector_mask: of one of the access's vectors.
static void mask_of_vector(emitter *e, const access_plan *p, unsigned r, LLVMValueRef *any,
                           LLVMValueRef *all) {
    vector_mask(e, axis_access_mask(p->op), p->dim, r, p->vec, AXIS_INTERVAL_DEPTH, any, all);
}

/// The mask of element r of a ragged access. That it is needed is rare: it is made here, so that it
/// is not kept in a register until then.
static LLVMValueRef element_mask(emitter *e, const access_plan *p, unsigned r) {
    const ir_value *mask = axis_access_mask(p->op);
    if (!mask || !p->is_ragged)
        return mask ? emit_regs(e, mask)[r] : NULL;
    return emit_again(e, mask, r);
}

/// The mask of an access of `vec` registers from r: of whole vectors, those with an active element
/// if `any`, else those where all are.
static LLVMValueRef mask_at(emitter *e, const access_plan *p, unsigned r, unsigned vec, bool any) {
    const ir_value *mask = axis_access_mask(p->op);
    LLVMValueRef some, all;
    if (!mask || !p->is_ragged || vec == 1)
        return element_mask(e, p, r);
    mask_of_vector(e, p, r, &some, &all);
    return any ? some : all;
}

static LLVMValueRef pointer_at(emitter *e, const access_plan *p, unsigned r) {
    LLVMValueRef *regs = emit_regs(e, p->op->operands[0]);
    unsigned within = p->is_ragged ? r % p->vec : 0;
    if (!within)
        return regs[r];
    LLVMTypeRef type = e->tgt->value_type(e, p->access.elem);
    LLVMValueRef offset = LLVMConstInt(LLVMInt64TypeInContext(e->llvm), within, false);
    return LLVMBuildGEP2(e->b, type, regs[r - within], &offset, 1, "");
}

/// What a load gives in element r where the mask is off, as it is in memory; NULL: nothing said.
static LLVMValueRef other_at(emitter *e, const access_plan *p, unsigned r) {
    const ir_value *other = p->op->operands[2];
    return other ? to_memory(e, p->op->operands[0]->type.pointee, emit_regs(e, other)[r]) : NULL;
}

/// i1: the vector from register r on goes element by element; NULL: none does.
static LLVMValueRef is_by_element(emitter *e, const access_plan *p, unsigned r) {
    LLVMValueRef any, all, cut = NULL;
    if (!p->is_ragged)
        return NULL;
    if (axis_access_mask(p->op)) {
        mask_of_vector(e, p, r, &any, &all);
        cut = LLVMBuildXor(e->b, any, all, "");
    }
    LLVMValueRef odd = p->aligned ? LLVMBuildNot(e->b, p->aligned, "") : NULL;
    return cut && odd ? LLVMBuildOr(e->b, cut, odd, "") : cut ? cut : odd;
}

/// True if register r starts a vector of a load or a store, not a copy of another.
static bool is_original(const access_plan *p, unsigned r) {
    return p->first ? p->first[r] == r : !(r & p->copies);
}

/// The same for any of the access's vectors.
static LLVMValueRef any_by_element(emitter *e, const access_plan *p) {
    LLVMValueRef some = NULL;
    for (unsigned r = 0; p->is_ragged && r < emit_reg_count(p->op->operands[0]); r += p->vec) {
        if (!is_original(p, r))
            continue;
        LLVMValueRef now = is_by_element(e, p, r);
        some = some && now ? LLVMBuildOr(e->b, some, now, "") : now;
    }
    return some;
}

/// Loads elements r .. r + vec - 1 in one access.
static void load_vector(emitter *e, const access_plan *p, unsigned r, unsigned vec,
                        LLVMValueRef *regs) {
    dtype elem = p->op->operands[0]->type.pointee;
    cg_access a = p->access;
    LLVMValueRef other[16];
    a.vec = vec;
    a.ptr = pointer_at(e, p, r);
    a.mask = mask_at(e, p, r, vec, true);
    if (vec > 1)
        a.mask = emit_and_maybe(e, a.mask, p->aligned);
    for (unsigned k = 0; k < vec; k++)
        other[k] = other_at(e, p, r + k);
    e->tgt->load(e, &a, other[0] ? other : NULL, regs);
    for (unsigned k = 0; k < vec; k++)
        regs[k] = from_memory(e, elem, regs[k]);
}

/// Stores elements r .. r + vec - 1 in one access, by the threads with `mine`.
static void store_vector(emitter *e, const access_plan *p, unsigned r, unsigned vec,
                         LLVMValueRef mine) {
    cg_access a = p->access;
    LLVMValueRef values[16];
    a.vec = vec;
    a.ptr = pointer_at(e, p, r);
    a.mask = emit_and_maybe(e, mask_at(e, p, r, vec, false), mine);
    if (vec > 1)
        a.mask = emit_and_maybe(e, a.mask, p->aligned);
    for (unsigned k = 0; k < vec; k++)
        values[k] =
            to_memory(e, p->op->operands[0]->type.pointee, emit_regs(e, p->op->operands[1])[r + k]);
    e->tgt->store(e, &a, values);
}

cg_access emit_describe_access(emitter *e, const ir_op *op) {
    check_offsets(e, op, axis_access_mask(op));
    return describe(e, op);
}

/// The `index < end` that bounds a mask, alone or beside other conditions; NULL if there is none.
static const ir_op *upper_bound(const ir_value *mask, unsigned depth) {
    const ir_op *def = mask ? mask->def : NULL, *found = NULL;
    if (def && def->opcode == OP_CMP && sv_is(ir_get_str(def, ATTR_PRED), "lt"))
        return def;
    for (unsigned i = 0; def && def->opcode == OP_AND && depth > 0 && i < 2 && !found; i++)
        found = upper_bound(def->operands[i], depth - 1);
    return found;
}

/// i1: the vector of `vec` elements that begins `skipped` elements behind element r has one that is below
/// the mask's bound.
static LLVMValueRef begins_below(emitter *e, const access_plan *p, unsigned r,
                                 LLVMValueRef skipped) {
    const ir_op *below = upper_bound(axis_access_mask(p->op), AXIS_INTERVAL_DEPTH);
    if (!below)
        return NULL;
    LLVMValueRef index = emit_regs(e, below->operands[0])[r];
    LLVMValueRef first = LLVMBuildTrunc(e->b, skipped, LLVMTypeOf(index), "");
    first = LLVMBuildAdd(e->b, index, first, "");
    return LLVMBuildICmp(e->b, LLVMIntSLT, first, emit_regs(e, below->operands[1])[r], "");
}

/// Loads elements r .. r + vec - 1, which are not aligned, as the two aligned vectors around them: each
/// where it has an active element. Of the first, the wanted vector's first one is, or none is. The
/// second one's first element is the wanted vector's (vec - phase)th.
static void load_halves(emitter *e, const access_plan *p, unsigned r, LLVMValueRef *halves) {
    LLVMTypeRef type = e->tgt->value_type(e, p->access.elem);
    LLVMValueRef back = LLVMBuildNeg(e->b, p->phase, ""), other[16];
    LLVMValueRef vec = LLVMConstInt(LLVMTypeOf(back), p->vec, false);
    LLVMValueRef two = LLVMBuildICmp(e->b, LLVMIntNE, back, LLVMConstNull(LLVMTypeOf(back)), "");
    const ir_value *mask = axis_access_mask(p->op);
    cg_access a = p->access;
    a.vec = p->vec;
    a.ptr = LLVMBuildGEP2(e->b, type, pointer_at(e, p, r), &back, 1, "");
    a.mask = mask ? emit_regs(e, mask)[r] : NULL;
    for (unsigned k = 0; k < p->vec; k++)
        other[k] = other_at(e, p, r + k);
    e->tgt->load(e, &a, other[0] ? other : NULL, halves);
    a.ptr = LLVMBuildGEP2(e->b, type, a.ptr, &vec, 1, "");
    a.mask = emit_and_maybe(e, begins_below(e, p, r, LLVMBuildAdd(e->b, vec, back, "")), two);
    a.mask = emit_and_maybe(e, a.mask, mask_at(e, p, r, p->vec, true));
    e->tgt->load(e, &a, other[0] ? other : NULL, halves + p->vec);
}

/// A vector of a load that straddles two aligned ones.
static void load_straddling(emitter *e, const access_plan *p, unsigned r, LLVMValueRef *regs) {
    LLVMValueRef halves[32];
    load_halves(e, p, r, halves);
    emit_cut_straddling(e, halves, p->vec, p->phase, regs);
    for (unsigned k = 0; k < p->vec; k++)
        regs[k] = from_memory(e, p->op->operands[0]->type.pointee, regs[k]);
}

static access_plan plan_access(emitter *e, const ir_op *op) {
    access_plan p = {.op = op, .access = emit_describe_access(e, op)};
    const layout *l = op->operands[0]->layout;
    p.vec = access_vector(e, op, &p.dim, &p.is_ragged);
    unsigned bytes = dtype_bytes(p.access.elem);
    if (p.is_ragged && ir_get_flag(op, ATTR_STRADDLES) && p.vec * bytes >= 4)
        p.phase = emit_straddle_phase(e, emit_regs(e, op->operands[0])[0], p.vec, bytes);
    else if (p.is_ragged)
        p.aligned = is_aligned(e, op, p.vec);
    p.is_ragged = p.is_ragged && (p.aligned || axis_access_mask(op));
    if (l && op->opcode == OP_LOAD)
        p.first = first_copies(e, l);
    p.copies = l ? layout_get_replication(l).reg_mask : 0;
    return p;
}

void emit_load(emitter *e, const ir_op *op) {
    access_plan p = plan_access(e, op);
    unsigned n = emit_reg_count(op->operands[0]);
    LLVMValueRef *regs = emit_new_regs(e, n);
    for (unsigned r = 0; r < n; r += p.vec) {
        if (p.phase && p.first[r] == r)
            load_straddling(e, &p, r, regs + r);
        else if (!p.first || p.first[r] == r)
            load_vector(e, &p, r, p.vec, regs + r);
        for (unsigned k = 0; p.first && k < p.vec; k++)
            regs[r + k] = regs[p.first[r + k]];
    }
    emit_set_regs(e, op->results[0], regs);
    if (p.is_ragged && (p.aligned || !ir_get_flag(op, ATTR_LOOSE))) {
        access_plan *kept = ARENA_NEW(e->arena, access_plan);
        *kept = p;
        VEC_PUSH(e->arena, e->unfinished, kept);
    }
}

void emit_store(emitter *e, const ir_op *op) {
    access_plan p = plan_access(e, op);
    LLVMValueRef mine = emit_is_representative(e, op->operands[0]->layout);
    unsigned n = emit_reg_count(op->operands[0]);
    for (unsigned r = 0; r < n; r += p.vec) {
        if (is_original(&p, r))
            store_vector(e, &p, r, p.vec, mine);
    }
    if (!p.is_ragged)
        return;
    emit_branch outer = emit_begin_branch(e, any_by_element(e, &p));
    for (unsigned r = 0; r < n; r += p.vec) {
        if (!is_original(&p, r))
            continue;
        emit_branch inner = emit_begin_branch(e, is_by_element(e, &p, r));
        for (unsigned k = 0; k < p.vec; k++)
            store_vector(e, &p, r + k, 1, mine);
        emit_end_branch(e, &inner);
    }
    emit_end_branch(e, &outer);
}

// ---------------------------------------------------------------------------- finishing loads

/// The vector from register r on, of which all is there, without what the mask does not cover.
static void cut_vector(emitter *e, const access_plan *p, unsigned r, LLVMValueRef const *whole,
                       LLVMValueRef *out) {
    dtype elem = p->op->operands[0]->type.pointee;
    for (unsigned k = 0; k < p->vec; k++) {
        LLVMValueRef other = other_at(e, p, r + k);
        other = other ? from_memory(e, elem, other) : LLVMConstNull(LLVMTypeOf(whole[k]));
        out[k] = LLVMBuildSelect(e->b, element_mask(e, p, r + k), whole[k], other, "");
    }
}

/// True if the ends of vectors are cut off without a test whether there are any. A branch would pay for
/// small elements; for others it costs more than it saves, since ptxas may move loads behind it.
static bool always_cuts(const access_plan *p) {
    return !p->aligned && dtype_bytes(p->access.elem) >= 4;
}

/// Goes through the vector from register r on element by element, if it has to be.
static void load_elements(emitter *e, const access_plan *p, unsigned r, LLVMValueRef *regs) {
    LLVMValueRef loaded[16], *paths[2] = {loaded, regs + r};
    if (always_cuts(p)) {
        cut_vector(e, p, r, regs + r, loaded);
        memcpy(regs + r, loaded, p->vec * sizeof *loaded);
        return;
    }
    emit_branch b = emit_begin_branch(e, is_by_element(e, p, r));
    if (!p->aligned)
        cut_vector(e, p, r, regs + r, loaded);
    for (unsigned k = 0; k < p->vec && p->aligned; k++)
        load_vector(e, p, r + k, 1, loaded + k);
    emit_end_branch(e, &b);
    emit_merge(e, paths, (LLVMBasicBlockRef[]){b.inside, b.before}, p->vec, regs + r);
}

/// The registers of a load, finished.
static LLVMValueRef *finish_load(emitter *e, const access_plan *p) {
    unsigned count = emit_reg_count(p->op->results[0]);
    LLVMValueRef *regs = emit_new_regs(e, count);
    memcpy(regs, emit_regs(e, p->op->results[0]), count * sizeof(LLVMValueRef));
    for (unsigned r = 0; r < count; r += p->vec) {
        if (is_original(p, r))
            load_elements(e, p, r, regs);
        for (unsigned k = 0; p->first && k < p->vec; k++)
            regs[r + k] = regs[p->first[r + k]];
    }
    return regs;
}

/// All unfinished loads: those that always cut, then the others, which one test leads past.
static void finish_loads(emitter *e) {
    uint32_t n = 0;
    LLVMValueRef **finished = ARENA_ARRAY(e->arena, LLVMValueRef *, e->unfinished.len), some = NULL;
    for (uint32_t i = 0; i < e->unfinished.len; i++) {
        access_plan *p = e->unfinished.data[i];
        if (always_cuts(p)) {
            emit_set_regs(e, p->op->results[0], finish_load(e, p));
            continue;
        }
        LLVMValueRef now = any_by_element(e, p);
        some = some ? LLVMBuildOr(e->b, some, now, "") : now;
        e->unfinished.data[n++] = p;
    }
    e->unfinished.len = 0;
    if (n == 0)
        return;
    emit_branch b = emit_begin_branch(e, some);
    for (uint32_t i = 0; i < n; i++)
        finished[i] = finish_load(e, e->unfinished.data[i]);
    emit_end_branch(e, &b);
    for (uint32_t i = 0; i < n; i++) {
        const ir_value *v = e->unfinished.data[i]->op->results[0];
        LLVMValueRef *regs = emit_regs(e, v), *paths[2] = {finished[i], regs};
        emit_merge(e, paths, (LLVMBasicBlockRef[]){b.inside, b.before}, emit_reg_count(v), regs);
    }
}

/// A load that is still to come must not be overtaken by a write, nor by a barrier behind which other
/// threads write.
static bool may_overtake_load(emitter *e, const ir_op *op) {
    bool is_calm = ir_has_trait(op, ELEMENTWISE) || op->opcode == OP_LOAD ||
                   op->opcode == OP_SPLAT || op->opcode == OP_CONST || op->opcode == OP_ARANGE;
    return is_calm && smem_barrier_before(e->smem, op) == SMEM_NO_BARRIER;
}

void emit_finish_loads(emitter *e, const ir_op *user) {
    bool needed = e->unfinished.len > 0 && (!user || !may_overtake_load(e, user));
    for (uint32_t i = 0; !needed && i < e->unfinished.len; i++)
        for (uint32_t k = 0; k < user->num_operands; k++)
            needed = needed || user->operands[k] == e->unfinished.data[i]->op->results[0];
    if (needed)
        finish_loads(e);
}

// ---------------------------------------------------------------------------- atomics

/// One element of an atomic: the target's op for register r.
static LLVMValueRef atomic_element(emitter *e, const ir_op *op, const cg_access *a, unsigned r) {
    sv sem = ir_get_str(op, ATTR_SEM), scope = ir_get_str(op, ATTR_SCOPE);
    sem = sem.len ? sem : SV("acq_rel");
    scope = scope.len ? scope : SV("gpu");
    LLVMValueRef x = emit_regs(e, op->operands[1])[r];
    if (op->opcode == OP_ATOMIC_CAS)
        return e->tgt->atomic_cas(e, a, x, emit_regs(e, op->operands[2])[r], sem, scope);
    return e->tgt->atomic_rmw(e, a, ir_get_str(op, ATTR_KIND), x, sem, scope);
}

static void emit_atomic(emitter *e, const ir_op *op, const ir_value *mask) {
    const ir_value *ptr = op->operands[0], *result = op->results[0];
    cg_access a = describe(e, op);
    unsigned n = emit_reg_count(ptr);
    LLVMValueRef *regs = emit_new_regs(e, n), mine = emit_is_representative(e, ptr->layout);
    uint32_t *first = a.uniform ? NULL : first_copies(e, ptr->layout);
    a.no_result = e->uses[result->id] == 0;
    check_offsets(e, op, mask);
    for (unsigned r = 0; r < n; r++) {
        if (first && first[r] != r) {
            regs[r] = regs[first[r]];
            continue;
        }
        a.ptr = emit_regs(e, ptr)[r];
        a.mask = emit_and_maybe(e, mask ? emit_regs(e, mask)[r] : NULL, mine);
        regs[r] = atomic_element(e, op, &a, r);
    }
    if (!a.no_result)
        emit_broadcast_to_copies(e, op, ptr->layout, regs, n, result->type.elem);
    emit_set_regs(e, result, regs);
}

void emit_atomic_rmw(emitter *e, const ir_op *op) { emit_atomic(e, op, op->operands[2]); }

void emit_atomic_cas(emitter *e, const ir_op *op) { emit_atomic(e, op, NULL); }
