// Copies that run ahead: async_copy starts to bring a tile from global memory into a slot of a buffer
// in shared memory, async_read takes it from there some iterations later. Each thread reads what it
// has copied itself, so nothing but its own async_wait stands between the two.
//
// A slot holds its tile thread by thread: vectors of up to 16 bytes of registers, and of each vector
// those of all threads side by side, so that a warp touches every bank alike. The order depends on
// the layout alone; how wide the copies are is each copy's own matter. One that cannot be made in
// pieces that the target copies is a load and a store instead.
#include "codegen/exchange.h"

enum { VECTOR_BYTES = 16 };

/// Where registers lie in a slot.
typedef struct slot_shape {
    unsigned regs, vec; ///< of a thread; registers side by side
    unsigned size;      ///< bytes of an element
    uint32_t threads, bytes;
} slot_shape;

static slot_shape slot_of(const ir_func *f, const layout *l, dtype elem) {
    slot_shape s = {.regs = layout_reg_count(l), .size = dtype_bytes(elem)};
    s.vec = VECTOR_BYTES / s.size < s.regs ? VECTOR_BYTES / s.size : s.regs;
    s.threads = f->num_warps << LAYOUT_LANE_BITS;
    s.bytes = s.threads * s.regs * s.size;
    return s;
}

uint32_t emit_async_buffer_bytes(const ir_op *op) {
    const ir_value *ptr = op->operands[0];
    slot_shape s = slot_of(op->block->func, ptr->layout, ptr->type.pointee);
    return s.bytes * (uint32_t)ir_get_int(op, ATTR_SLOTS, 1);
}

/// Lane value i32: the place of the thread's first register in the slot that `slot` tells.
static LLVMValueRef place_in_buffer(emitter *e, const ir_op *op, const ir_value *slot,
                                    const slot_shape *s) {
    LLVMValueRef at = LLVMBuildMul(e->b, emit_regs(e, slot)[0], emit_const_i32(e, s->bytes), "");
    LLVMValueRef warp =
        LLVMBuildShl(e->b, e->tgt->warp_id(e), emit_const_i32(e, LAYOUT_LANE_BITS), "");
    warp = LLVMBuildMul(e->b, warp, emit_const_i32(e, s->vec * s->size), "");
    at = LLVMBuildAdd(e->b, LLVMBuildAdd(e->b, at, warp, ""),
                      emit_const_i32(e, smem_offset(e->smem, op)), "");
    LLVMValueRef lane =
        LLVMBuildMul(e->b, e->tgt->lane_id(e), emit_lane_const_i32(e, s->vec * s->size), "");
    return LLVMBuildAdd(e->b, lane, e->tgt->splat(e, at), "");
}

static LLVMValueRef place_of_register(emitter *e, LLVMValueRef place, const slot_shape *s,
                                      unsigned r) {
    uint32_t row = r / s->vec * s->threads * s->vec * s->size;
    return LLVMBuildAdd(e->b, place, emit_lane_const_i32(e, row + r % s->vec * s->size), "");
}

/// How many registers one copy takes, which follow each other along dimension `dim`; 0 if the target
/// cannot copy so few bytes.
static unsigned copy_width(emitter *e, const ir_op *op, const slot_shape *s, unsigned *dim) {
    const ir_value *ptr = op->operands[0];
    unsigned best = 1;
    *dim = 0;
    if (!e->tgt->async_least)
        return 1;
    for (unsigned d = 0; d < ptr->type.rank; d++) {
        unsigned held = axis_held_run(ptr, d), n = axis_async_width(e->axis, op, d);
        n = n < held ? n : held;
        if (n > best) {
            best = n;
            *dim = d;
        }
    }
    best = best < s->vec ? best : s->vec;
    return best * s->size >= e->tgt->async_least ? best : 0;
}

/// Lane value i32: how many of the n elements from register r, which follow each other along
/// dimension `dim`, are on, the first ones; NULL: all.
static LLVMValueRef active_elements(emitter *e, const ir_value *mask, unsigned dim, unsigned r,
                                    unsigned n) {
    if (!mask)
        return NULL;
    LLVMValueRef *m = emit_regs(e, mask), count = NULL;
    LLVMTypeRef type = emit_int_like(e, 32, m[r]);
    if (axis_get(e->axis, mask)->constancy[dim] >= n)
        return LLVMBuildSelect(e->b, m[r], emit_lane_const_i32(e, n), emit_lane_const_i32(e, 0),
                               "");
    for (unsigned k = 0; k < n; k++) {
        LLVMValueRef on = LLVMBuildZExt(e->b, m[r + k], type, "");
        count = count ? LLVMBuildAdd(e->b, count, on, "") : on;
    }
    return count;
}

/// The same at once: a load, and a store where the copy would have landed.
static void copy_now(emitter *e, const ir_op *op, const slot_shape *s, LLVMValueRef place) {
    const ir_value *ptr = op->operands[0], *mask = op->operands[2];
    cg_access a = emit_describe_access(e, op);
    for (unsigned r = 0; r < s->regs; r++) {
        LLVMValueRef value;
        a.ptr = emit_regs(e, ptr)[r];
        a.mask = mask ? emit_regs(e, mask)[r] : NULL;
        e->tgt->load(e, &a, NULL, &value);
        e->tgt->smem_store(e, NULL, place_of_register(e, place, s, r), &value, 1, NULL);
    }
}

void emit_async_copy(emitter *e, const ir_op *op) {
    const ir_value *ptr = op->operands[0];
    slot_shape s = slot_of(e->func, ptr->layout, ptr->type.pointee);
    if (op->operands[2] && op->operands[2]->layout != ptr->layout) {
        emit_refuse(e, op, "expected the mask to lie as the pointers do");
        return;
    }
    if (!smem_fits(e, op, emit_async_buffer_bytes(op)))
        return;
    LLVMValueRef place = place_in_buffer(e, op, op->operands[1], &s);
    unsigned dim, width = copy_width(e, op, &s, &dim);
    if (!width) {
        copy_now(e, op, &s, place);
        return;
    }
    cg_access a = emit_describe_access(e, op);
    a.vec = width;
    for (unsigned r = 0; r < s.regs; r += width) {
        LLVMValueRef active = active_elements(e, op->operands[2], dim, r, width);
        a.ptr = emit_regs(e, ptr)[r];
        e->tgt->async_copy(e, &a, place_of_register(e, place, &s, r), active);
    }
}

void emit_async_commit(emitter *e, const ir_op *op) {
    (void)op;
    e->tgt->async_commit(e);
}

void emit_async_wait(emitter *e, const ir_op *op) {
    e->tgt->async_wait(e, (unsigned)ir_get_int(op, ATTR_PENDING, 0));
}

void emit_async_read(emitter *e, const ir_op *op) {
    const ir_value *out = op->results[0];
    dtype elem = out->type.elem;
    slot_shape s = slot_of(e->func, out->layout, elem);
    LLVMValueRef *regs = emit_new_regs(e, s.regs);
    emit_set_regs(e, out, regs);
    const ir_op *copy = smem_filled_by(e->smem, op);
    if (!copy || copy->operands[0]->layout != out->layout ||
        copy->operands[0]->type.pointee != elem) {
        emit_refuse(e, op, "expected an async_copy of the same tile into its buffer");
        return;
    }
    LLVMValueRef place = place_in_buffer(e, copy, op->operands[0], &s);
    LLVMTypeRef type = e->tgt->value_type(e, elem == DT_I1 ? DT_U8 : elem);
    for (unsigned r = 0; r < s.regs; r += s.vec) {
        e->tgt->smem_load(e, NULL, place_of_register(e, place, &s, r), type, s.vec, regs + r);
        for (unsigned k = r; elem == DT_I1 && k < r + s.vec; k++)
            regs[k] = LLVMBuildICmp(e->b, LLVMIntNE, regs[k], emit_const_like(e, regs[k], 0), "");
    }
}
