// Loads, stores and atomics. A tile access is cut into groups of registers that lie next to each
// other in memory in every thread; each group is one access of up to 16 bytes, which the target
// carries out. The width of a group is the least of four things: the registers that the layout
// puts side by side, the run of addresses and its alignment (axis info of the pointer), the run
// over which the mask is constant, and 16 bytes.
//
// A layout may hold copies of an element (RULES 1). Loads fill all copies. Stores and atomics run
// in the representative copy only; what an atomic returns is then given to the others.
#include "codegen/emit.h"

// ---------------------------------------------------------------------------- vector width

static unsigned floor_log2(uint64_t v) { return v ? 63 - (unsigned)__builtin_clzll(v) : 0; }

static unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }

/// log2 of how many registers, from any multiple of that number, hold consecutive elements of
/// dimension `dim`: the leading register bases are its bits 0, 1, 2 ... and no other basis is.
static unsigned side_by_side(const layout *l, const ir_type *t, unsigned dim) {
    unsigned shift = layout_shape_bits(t->shape + dim + 1, t->rank - dim - 1);
    unsigned bits = floor_log2(t->shape[dim]), n = 0;
    for (; n < l->reg_bits && n < bits && l->basis[n] == 1u << (shift + n); n++) {
        for (unsigned i = n + 1; i < layout_place_bits(l); i++) {
            if (l->basis[i] >> (shift + n) & 1)
                return n;
        }
    }
    return n;
}

/// log2 of the registers that one access may take.
static unsigned access_bits(emitter *e, const ir_value *ptr, const ir_value *mask) {
    const axis_info *address = axis_get(e->axis, ptr);
    const axis_info *active = mask ? axis_get(e->axis, mask) : NULL;
    unsigned bytes = dtype_bytes(ptr->type.pointee), best = 0;
    for (unsigned d = 0; d < ptr->type.rank; d++) {
        unsigned n = least(side_by_side(ptr->layout, &ptr->type, d), floor_log2(16 / bytes));
        n = least(n, floor_log2(address->contiguity[d]));
        uint64_t aligned = address->divisibility[d];
        n = least(n, aligned < bytes ? 0 : floor_log2(aligned / bytes));
        if (active && !active->is_const)
            n = least(n, floor_log2(active->constancy[d]));
        best = n > best ? n : best;
    }
    return best;
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

static LLVMValueRef and_maybe(emitter *e, LLVMValueRef a, LLVMValueRef b) {
    return !a ? b : !b ? a : LLVMBuildAnd(e->b, a, b, "");
}

/// Reports, where it matters, that a pointer comes from an offset that overflowed.
static void check_offsets(emitter *e, const ir_op *op, const ir_value *mask) {
    const ir_value *ptr = op->operands[0];
    LLVMValueRef *overflow = emit_offset_overflow(e, ptr);
    for (unsigned r = 0; overflow && r < emit_reg_count(ptr); r++) {
        if (r > 0 && overflow[r] == overflow[r - 1] && !mask)
            continue;
        e->tgt->assert_true(e, LLVMBuildNot(e->b, overflow[r], ""), mask ? emit_regs(e, mask)[r] : NULL,
                            SV("an int32 offset overflows; compute it in int64"), op->range);
    }
}

// ---------------------------------------------------------------------------- load, store

void emit_load(emitter *e, const ir_op *op) {
    const ir_value *ptr = op->operands[0], *mask = op->operands[1], *other = op->operands[2];
    dtype elem = ptr->type.pointee;
    cg_access a = describe(e, op);
    unsigned n = emit_reg_count(ptr);
    LLVMValueRef *regs = emit_new_regs(e, n), fallback[16];
    a.vec = a.uniform ? 1 : 1u << access_bits(e, ptr, mask);
    uint32_t *first = a.uniform ? NULL : first_copies(e, ptr->layout);
    check_offsets(e, op, mask);
    for (unsigned r = 0; r < n; r += a.vec) {
        if (first && first[r] != r) {
            for (unsigned k = 0; k < a.vec; k++)
                regs[r + k] = regs[first[r + k]];
            continue;
        }
        a.ptr = emit_regs(e, ptr)[r];
        a.mask = mask ? emit_regs(e, mask)[r] : NULL;
        for (unsigned k = 0; other && k < a.vec; k++)
            fallback[k] = to_memory(e, elem, emit_regs(e, other)[r + k]);
        e->tgt->load(e, &a, other ? fallback : NULL, regs + r);
        for (unsigned k = 0; k < a.vec; k++)
            regs[r + k] = from_memory(e, elem, regs[r + k]);
    }
    emit_set_regs(e, op->results[0], regs);
}

void emit_store(emitter *e, const ir_op *op) {
    const ir_value *ptr = op->operands[0], *value = op->operands[1], *mask = op->operands[2];
    cg_access a = describe(e, op);
    unsigned n = emit_reg_count(ptr);
    LLVMValueRef mine = emit_is_representative(e, ptr->layout), values[16];
    a.vec = a.uniform ? 1 : 1u << access_bits(e, ptr, mask);
    uint32_t copies = a.uniform ? 0 : layout_get_replication(ptr->layout).reg_mask;
    check_offsets(e, op, mask);
    for (unsigned r = 0; r < n; r += a.vec) {
        if (r & copies)
            continue;
        a.ptr = emit_regs(e, ptr)[r];
        a.mask = and_maybe(e, mask ? emit_regs(e, mask)[r] : NULL, mine);
        for (unsigned k = 0; k < a.vec; k++)
            values[k] = to_memory(e, ptr->type.pointee, emit_regs(e, value)[r + k]);
        e->tgt->store(e, &a, values);
    }
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
        a.mask = and_maybe(e, mask ? emit_regs(e, mask)[r] : NULL, mine);
        regs[r] = atomic_element(e, op, &a, r);
    }
    if (!a.no_result)
        emit_broadcast_to_copies(e, op, ptr->layout, regs, n, result->type.elem);
    emit_set_regs(e, result, regs);
}

void emit_atomic_rmw(emitter *e, const ir_op *op) { emit_atomic(e, op, op->operands[2]); }

void emit_atomic_cas(emitter *e, const ir_op *op) { emit_atomic(e, op, NULL); }
