// Slots: the memory on a warp's stack through which values pass to the runtime and back. A value
// that is passed is stored once, where it is defined, however many calls use it; what a call
// returns stays in its own slot, so that passing it on costs nothing. This matters because no
// vector register survives a call: without it every value would be spilled and copied as well.
// For the same reason a use after a call reads the slot again (host_slots_end).
#include "codegen/host_emit.h"

enum {
    SLOT_ALIGN = 64,
    REGISTER_ALIGN = 32, ///< of a register of 32 elements within a slot
};

typedef struct host_slot_row {
    LLVMValueRef value; ///< NULL: the row is free
    LLVMValueRef address;
    // While reloads are put in: the register that holds the value since call number `calls`.
    LLVMValueRef fresh;
    uint32_t calls;
} host_slot_row;

// ---------------------------------------------------------------------------- the table

static host_slot_row *find_row(const host_module_state *s, LLVMValueRef v) {
    uint32_t i = (uint32_t)((uintptr_t)v >> 4) * UINT32_C(2654435769);
    for (;; i++) {
        host_slot_row *row = &s->slots[i & (s->slot_capacity - 1)];
        if (!row->value || row->value == v)
            return row;
    }
}

static void remember(emitter *e, LLVMValueRef v, LLVMValueRef address) {
    host_module_state *s = host_state(e);
    if (2 * s->num_slots >= s->slot_capacity) {
        host_slot_row *old = s->slots;
        uint32_t n = s->slot_capacity;
        s->slot_capacity = n ? 2 * n : 64;
        s->slots = ARENA_ARRAY(e->arena, host_slot_row, s->slot_capacity);
        for (uint32_t i = 0; i < n; i++)
            if (old[i].value)
                *find_row(s, old[i].value) = old[i];
    }
    *find_row(s, v) = (host_slot_row){.value = v, .address = address};
    s->num_slots++;
}

void host_slots_begin(emitter *e) {
    host_module_state *s = host_state(e);
    s->last_alloca = NULL;
    s->slots = NULL;
    s->num_slots = s->slot_capacity = 0;
}

// ---------------------------------------------------------------------------- memory

/// Lets a builder insert before an instruction, or at the block's end if there is none.
static void position_before(emitter *e, LLVMValueRef next, LLVMBasicBlockRef block) {
    if (next)
        LLVMPositionBuilderBefore(e->b, next);
    else
        LLVMPositionBuilderAtEnd(e->b, block);
}

LLVMValueRef host_slot_new(emitter *e, unsigned bytes) {
    host_module_state *s = host_state(e);
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b), entry = LLVMGetEntryBasicBlock(e->fn);
    LLVMValueRef next =
        s->last_alloca ? LLVMGetNextInstruction(s->last_alloca) : LLVMGetFirstInstruction(entry);
    position_before(e, next, entry);
    LLVMTypeRef type = LLVMArrayType2(LLVMInt8TypeInContext(e->llvm), bytes);
    s->last_alloca = LLVMBuildAlloca(e->b, type, "slot");
    LLVMSetAlignment(s->last_alloca, SLOT_ALIGN);
    LLVMPositionBuilderAtEnd(e->b, here);
    return s->last_alloca;
}

/// Alignments are stated: the natural one of a vector of 32 is more than a stack has.
static unsigned alignment_at(unsigned offset) {
    return offset % SLOT_ALIGN == 0 ? SLOT_ALIGN : offset & -offset;
}

void host_slot_store(emitter *e, LLVMValueRef slot, unsigned offset, LLVMValueRef v) {
    LLVMValueRef store = LLVMBuildStore(e->b, v, host_byte_offset(e, slot, offset));
    LLVMSetAlignment(store, alignment_at(offset));
}

LLVMValueRef host_slot_load(emitter *e, LLVMValueRef slot, unsigned offset, LLVMTypeRef type) {
    LLVMValueRef address = host_byte_offset(e, slot, offset);
    LLVMValueRef load = LLVMBuildLoad2(e->b, type, address, "");
    LLVMSetAlignment(load, alignment_at(offset));
    remember(e, load, address);
    return load;
}

/// Stores a value where it is defined, so that the slot is filled wherever the value is known.
static LLVMValueRef store_at_definition(emitter *e, LLVMValueRef v, unsigned bytes) {
    LLVMValueRef slot = host_slot_new(e, bytes);
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
    if (LLVMIsAInstruction(v)) {
        LLVMValueRef next = LLVMGetNextInstruction(v);
        while (next && LLVMIsAPHINode(next))
            next = LLVMGetNextInstruction(next);
        position_before(e, next, LLVMGetInstructionParent(v));
    }
    host_slot_store(e, slot, 0, v);
    LLVMPositionBuilderAtEnd(e->b, here);
    return slot;
}

static LLVMValueRef make_constant(emitter *e, LLVMValueRef v) {
    LLVMValueRef global = LLVMAddGlobal(e->module, LLVMTypeOf(v), "constant");
    LLVMSetInitializer(global, v);
    LLVMSetGlobalConstant(global, true);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    LLVMSetAlignment(global, SLOT_ALIGN);
    return global;
}

LLVMValueRef host_slot_of(emitter *e, LLVMValueRef v) {
    host_module_state *s = host_state(e);
    host_slot_row *row = s->slot_capacity ? find_row(s, v) : NULL;
    if (row && row->value)
        return row->address;
    LLVMTypeRef type = LLVMTypeOf(v);
    bool is_vector = emit_is_vector(v);
    unsigned bytes = host_type_bytes(is_vector ? LLVMGetElementType(type) : type);
    LLVMValueRef slot = LLVMIsConstant(v)
                            ? make_constant(e, v)
                            : store_at_definition(e, v, is_vector ? HOST_LANES * bytes : bytes);
    remember(e, v, slot);
    return slot;
}

// ---------------------------------------------------------------------------- reloads

/// Makes operand `i` of an instruction read the value's slot again if a call stands between.
static void reload_operand(emitter *e, LLVMValueRef user, unsigned i, uint32_t calls) {
    LLVMValueRef v = LLVMGetOperand(user, i);
    if (!emit_is_vector(v) || LLVMIsConstant(v))
        return;
    host_slot_row *row = find_row(host_state(e), v);
    if (!row->value)
        return;
    if (row->calls != calls) {
        LLVMPositionBuilderBefore(e->b, user);
        row->fresh = LLVMBuildLoad2(e->b, LLVMTypeOf(v), row->address, "");
        LLVMSetAlignment(row->fresh,
                         LLVMIsAGetElementPtrInst(row->address) ? REGISTER_ALIGN : SLOT_ALIGN);
        row->calls = calls;
    }
    LLVMSetOperand(user, i, row->fresh);
}

void host_slots_end(emitter *e) {
    host_module_state *s = host_state(e);
    uint32_t calls = 0;
    if (s->num_slots == 0)
        return;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(e->fn); b; b = LLVMGetNextBasicBlock(b)) {
        calls++; // what the block before held in registers is not looked into
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
            for (unsigned k = 0; !LLVMIsAPHINode(i) && k < (unsigned)LLVMGetNumOperands(i); k++)
                reload_operand(e, i, k, calls);
            host_slot_row *row = find_row(s, i);
            if (row->value) {
                row->fresh = i;
                row->calls = calls;
            }
            calls += LLVMIsACallInst(i) && !LLVMGetIntrinsicID(LLVMGetCalledValue(i));
        }
    }
}
