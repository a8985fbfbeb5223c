// The host target: a lane value is a vector of 32 elements, one warp in lockstep, and a kernel is
// a function void (host_warp *) that runs one warp of one program. Ids come from the warp's record.
// Memory, barriers and what must be checked are calls into the runtime (host_rt.h); lane values go
// to them through buffers on the warp's stack.
#include "codegen/host_emit.h"

#include <stdio.h>

// ---------------------------------------------------------------------------- types, small things

LLVMTypeRef host_value_type(emitter *e, dtype t) {
    switch (t) {
    case DT_FP32:
        return LLVMFloatTypeInContext(e->llvm);
    case DT_FP64:
        return LLVMDoubleTypeInContext(e->llvm);
    case DT_PTR:
        return LLVMPointerTypeInContext(e->llvm, 0);
    default:
        return LLVMIntTypeInContext(e->llvm, dtype_bits(t)); // small floats are their bits
    }
}

LLVMValueRef host_u32(emitter *e, uint32_t v) {
    return LLVMConstInt(LLVMInt32TypeInContext(e->llvm), v, false);
}

sv host_entry_symbol(arena *a, sv name) { return sv_format(a, "tile.%" SV_FMT, SV_ARG(name)); }

static LLVMTypeRef type_of_letter(emitter *e, char letter) {
    switch (letter) {
    case 'p':
        return LLVMPointerTypeInContext(e->llvm, 0);
    case 'i':
        return LLVMInt32TypeInContext(e->llvm);
    case 'l':
        return LLVMInt64TypeInContext(e->llvm);
    default:
        return LLVMVoidTypeInContext(e->llvm);
    }
}

static void add_attribute(emitter *e, LLVMValueRef fn, const char *name) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(e->llvm, kind, 0));
}

static LLVMValueRef declare_runtime(emitter *e, const char *name) {
    static const struct {
        const char *name, *signature;
    } rows[] = {
#define X(fn, signature) {#fn, signature},
        HOST_RUNTIME(X)
#undef X
    };
    const char *signature = NULL;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (!strcmp(rows[i].name, name))
            signature = rows[i].signature;
    LLVMTypeRef params[8];
    unsigned n = (unsigned)strlen(signature) - 1;
    for (unsigned i = 0; i < n; i++)
        params[i] = type_of_letter(e, signature[i + 1]);
    LLVMTypeRef type = LLVMFunctionType(type_of_letter(e, signature[0]), params, n, false);
    LLVMValueRef fn = LLVMAddFunction(e->module, name, type);
    add_attribute(e, fn, "nounwind");
    return fn;
}

enum { CALL_SIZE = 4 }; ///< in elementwise ops of a register

/// Goes on in a new basic block from time to time: LLVM takes a block at a time, and longer than in
/// proportion to its length.
static void limit_block(emitter *e, unsigned ops) {
    enum { MAX_SIZE = 64 };
    host_module_state *s = host_state(e);
    s->block_size += ops;
    if (s->block_size < MAX_SIZE)
        return;
    s->block_size = 0;
    LLVMBasicBlockRef next = emit_new_block(e, "next");
    LLVMBuildBr(e->b, next);
    LLVMPositionBuilderAtEnd(e->b, next);
}

LLVMValueRef host_call(emitter *e, const char *name, LLVMValueRef *args, unsigned n) {
    limit_block(e, CALL_SIZE);
    LLVMValueRef fn = LLVMGetNamedFunction(e->module, name);
    if (!fn)
        fn = declare_runtime(e, name);
    return LLVMBuildCall2(e->b, LLVMGlobalGetValueType(fn), fn, args, n, "");
}

LLVMValueRef host_byte_offset(emitter *e, LLVMValueRef p, unsigned offset) {
    if (offset == 0)
        return p;
    LLVMValueRef at = LLVMConstInt(LLVMInt64TypeInContext(e->llvm), offset, false);
    return LLVMBuildGEP2(e->b, LLVMInt8TypeInContext(e->llvm), p, &at, 1, "");
}

/// A lane i1 as a bit mask; NULL: every lane.
static LLVMValueRef mask_bits(emitter *e, LLVMValueRef mask) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(e->llvm);
    return mask ? LLVMBuildBitCast(e->b, mask, i32, "") : LLVMConstAllOnes(i32);
}

// ---------------------------------------------------------------------------- source sites

static bool same_site(const host_site *a, const host_site *b) {
    return a->file == b->file && a->line == b->line && a->column == b->column &&
           a->kind == b->kind && a->elem == b->elem && a->vec == b->vec && a->atomic == b->atomic &&
           a->addressing == b->addressing && a->root == b->root && a->text == b->text;
}

/// The index of a site, as an argument. The registers of one op follow each other and share it.
static LLVMValueRef add_site(emitter *e, host_site site, src_range at) {
    host_module_state *s = host_state(e);
    if (at.file) {
        diag_position p = diag_locate(e->diag, at.file, at.begin);
        site.file = diag_file_path(e->diag, at.file);
        site.line = p.line;
        site.column = p.column;
    }
    if (s->sites.len == 0 || !same_site(&s->sites.data[s->sites.len - 1], &site))
        VEC_PUSH(e->arena, s->sites, site);
    return host_u32(e, s->sites.len - 1);
}

static LLVMValueRef add_access(emitter *e, const cg_access *a, host_site_kind kind,
                               host_atomic_kind atomic, host_addressing addressing) {
    host_site site = {.kind = kind,
                      .addressing = addressing,
                      .elem = a->elem,
                      .vec = (uint8_t)(a->uniform ? 1 : a->vec),
                      .atomic = atomic,
                      .root = a->root};
    if (a->root >= 0) {
        sv name = e->func->params[a->root].name;
        site.name = sv_copy(e->arena, name).data;
    }
    return add_site(e, site, a->range);
}

// ---------------------------------------------------------------------------- lanes and ids

static LLVMValueRef splat(emitter *e, LLVMValueRef scalar) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(e->llvm);
    LLVMTypeRef vector = LLVMVectorType(LLVMTypeOf(scalar), HOST_LANES);
    LLVMValueRef one =
        LLVMBuildInsertElement(e->b, LLVMGetPoison(vector), scalar, LLVMConstNull(i32), "");
    LLVMValueRef zeros = LLVMConstNull(LLVMVectorType(i32, HOST_LANES));
    return LLVMBuildShuffleVector(e->b, one, LLVMGetPoison(vector), zeros, "");
}

// Through memory, by a load that stays: LLVM 19 to 22 push the taking of a lane up to the loads that a
// vector is made of, and do not end when they make loads of elements out of several.
static LLVMValueRef uniform(emitter *e, LLVMValueRef lanes) {
    LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(lanes));
    if (LLVMIsConstant(lanes))
        return LLVMBuildExtractElement(e->b, lanes, host_u32(e, 0), "");
    LLVMTypeRef i8 = LLVMInt8TypeInContext(e->llvm);
    bool is_bool = type == LLVMInt1TypeInContext(e->llvm);
    if (is_bool)
        lanes = LLVMBuildZExt(e->b, lanes, LLVMVectorType(i8, HOST_LANES), "");
    LLVMValueRef lane = LLVMBuildLoad2(e->b, is_bool ? i8 : type, host_slot_of(e, lanes), "");
    LLVMSetVolatile(lane, true);
    return is_bool ? LLVMBuildTrunc(e->b, lane, type, "") : lane;
}

// Not a constant: folded into the indices of every register it would make as many vectors in the
// constant pool, which LLVM searches linearly.
static LLVMValueRef lane_id(emitter *e) { return host_state(e)->lane_id; }
static LLVMValueRef warp_id(emitter *e) { return host_state(e)->warp_id; }
static LLVMValueRef cta_rank(emitter *e) { return host_state(e)->cta_rank; }
static LLVMValueRef program_id(emitter *e, unsigned axis) {
    return host_state(e)->program_id[axis];
}
static LLVMValueRef num_programs(emitter *e, unsigned axis) {
    return host_state(e)->num_programs[axis];
}

// ---------------------------------------------------------------------------- the function's frame

static LLVMValueRef load_field(emitter *e, LLVMTypeRef type, LLVMValueRef record, size_t offset) {
    LLVMValueRef v = LLVMBuildLoad2(e->b, type, host_byte_offset(e, record, (unsigned)offset), "");
    LLVMSetAlignment(v, LLVMGetTypeKind(type) == LLVMPointerTypeKind ? 8 : 4);
    return v;
}

/// The low bits of a 64-bit argument as a value of a type.
static LLVMValueRef value_from_bits(emitter *e, LLVMValueRef bits, LLVMTypeRef type) {
    switch (LLVMGetTypeKind(type)) {
    case LLVMPointerTypeKind:
        return LLVMBuildIntToPtr(e->b, bits, type, "");
    case LLVMFloatTypeKind:
        bits = LLVMBuildTrunc(e->b, bits, LLVMInt32TypeInContext(e->llvm), "");
        return LLVMBuildBitCast(e->b, bits, type, "");
    case LLVMDoubleTypeKind:
        return LLVMBuildBitCast(e->b, bits, type, "");
    default:
        return LLVMGetIntTypeWidth(type) < 64 ? LLVMBuildTrunc(e->b, bits, type, "") : bits;
    }
}

static LLVMValueRef bits_from_value(emitter *e, LLVMValueRef v) {
    LLVMTypeRef i64 = LLVMInt64TypeInContext(e->llvm);
    switch (LLVMGetTypeKind(LLVMTypeOf(v))) {
    case LLVMPointerTypeKind:
        return LLVMBuildPtrToInt(e->b, v, i64, "");
    case LLVMFloatTypeKind:
        v = LLVMBuildBitCast(e->b, v, LLVMInt32TypeInContext(e->llvm), "");
        break;
    case LLVMDoubleTypeKind:
        return LLVMBuildBitCast(e->b, v, i64, "");
    default:
        break;
    }
    return LLVMGetIntTypeWidth(LLVMTypeOf(v)) < 64 ? LLVMBuildZExt(e->b, v, i64, "") : v;
}

static void load_warp_fields(emitter *e) {
    host_module_state *s = host_state(e);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(e->llvm);
    for (unsigned i = 0; i < 3; i++) {
        s->program_id[i] = load_field(e, i32, s->warp, offsetof(host_warp, program_id) + 4 * i);
        s->num_programs[i] = load_field(e, i32, s->warp, offsetof(host_warp, num_programs) + 4 * i);
    }
    s->warp_id = load_field(e, i32, s->warp, offsetof(host_warp, warp_id));
    s->cta_rank = load_field(e, i32, s->warp, offsetof(host_warp, cta_rank));
    LLVMTypeRef lanes = LLVMVectorType(i32, HOST_LANES);
    s->lane_id = load_field(e, lanes, s->warp, offsetof(host_warp, lane_ids));
}

static void begin_function(emitter *e, LLVMValueRef *param_values) {
    host_module_state *s = host_state(e);
    LLVMTypeRef ptr = LLVMPointerTypeInContext(e->llvm, 0), i64 = LLVMInt64TypeInContext(e->llvm);
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->llvm), &ptr, 1, false);
    e->fn = LLVMAddFunction(e->module, host_entry_symbol(e->arena, e->func->name).data, type);
    add_attribute(e, e->fn, "nounwind");
    LLVMPositionBuilderAtEnd(e->b, emit_new_block(e, "entry"));
    s->warp = LLVMGetParam(e->fn, 0);
    host_slots_begin(e);
    load_warp_fields(e);
    LLVMValueRef args = load_field(e, ptr, s->warp, offsetof(host_warp, args));
    for (uint32_t i = 0; i < e->func->num_params; i++) {
        LLVMValueRef bits = load_field(e, i64, args, i * sizeof(host_arg));
        dtype t = e->func->body->args[i]->type.elem;
        param_values[i] = value_from_bits(e, bits, host_value_type(e, t));
    }
    e->smem_base = LLVMConstNull(ptr); // shared memory is reached through the runtime
}

static void end_function(emitter *e) {
    LLVMBuildRetVoid(e->b);
    host_slots_end(e);
}

// ---------------------------------------------------------------------------- global memory

/// Where the lanes of an access are: a scalar base, and the places that the runtime adds to it.
typedef struct lane_places {
    LLVMValueRef base, places;
    host_addressing addressing;
} lane_places;

/// The scalar that a lane value repeats, if splat made it; else NULL.
static LLVMValueRef splat_source(LLVMValueRef v) {
    LLVMValueRef insert = LLVMIsAShuffleVectorInst(v) ? LLVMGetOperand(v, 0) : NULL;
    if (!insert || !LLVMIsAInsertElementInst(insert) || !LLVMIsPoison(LLVMGetOperand(insert, 0)))
        return NULL;
    for (unsigned i = 0; i < HOST_LANES; i++)
        if (LLVMGetMaskValue(v, i) != 0)
            return NULL;
    return LLVMGetOperand(insert, 1);
}

// Addresses are mostly one pointer plus 32-bit offsets, and the offsets serve several pointers: so
// the sum is left to the runtime where the IR shows this form.
static lane_places find_places(emitter *e, LLVMValueRef ptr, unsigned bytes) {
    LLVMTypeRef i64 = LLVMInt64TypeInContext(e->llvm), i32 = LLVMInt32TypeInContext(e->llvm);
    LLVMValueRef base = NULL, index = NULL;
    if (LLVMIsAGetElementPtrInst(ptr) && LLVMGetNumOperands(ptr) == 2 &&
        LLVMGetGEPSourceElementType(ptr) == LLVMIntTypeInContext(e->llvm, 8 * bytes)) {
        base = splat_source(LLVMGetOperand(ptr, 0));
        index = LLVMGetOperand(ptr, 1);
    }
    bool is_signed = index && LLVMIsASExtInst(index), is_unsigned = index && LLVMIsAZExtInst(index);
    LLVMTypeRef vector = LLVMVectorType(i32, HOST_LANES);
    if (base && (is_signed || is_unsigned) && LLVMTypeOf(LLVMGetOperand(index, 0)) == vector)
        return (lane_places){LLVMBuildPtrToInt(e->b, base, i64, ""),
                             host_slot_of(e, LLVMGetOperand(index, 0)),
                             is_signed ? HOST_SIGNED_OFFSETS : HOST_UNSIGNED_OFFSETS};
    return (lane_places){LLVMConstNull(i64), host_slot_of(e, ptr), HOST_ADDRESSES};
}

/// A scalar i1 as the runtime's `active`; NULL: active.
static LLVMValueRef active_bit(emitter *e, LLVMValueRef mask) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(e->llvm);
    return mask ? LLVMBuildZExt(e->b, mask, i32, "") : LLVMConstInt(i32, 1, false);
}

static LLVMValueRef element_address(emitter *e, const cg_access *a, unsigned k) {
    LLVMTypeRef i64 = LLVMInt64TypeInContext(e->llvm);
    return LLVMBuildPtrToInt(e->b, host_byte_offset(e, a->ptr, k * dtype_bytes(a->elem)), i64, "");
}

static void load_uniform(emitter *e, const cg_access *a, LLVMValueRef const *other,
                         LLVMValueRef *out) {
    LLVMValueRef site = add_access(e, a, HOST_SITE_LOAD, HOST_ATOMIC_ADD, HOST_ADDRESSES);
    for (unsigned k = 0; k < a->vec; k++) {
        LLVMValueRef args[] = {host_state(e)->warp, site, element_address(e, a, k),
                               active_bit(e, a->mask)};
        LLVMValueRef bits = host_call(e, "host_load_scalar", args, 4);
        out[k] = value_from_bits(e, bits, host_value_type(e, a->elem));
        if (a->mask && other)
            out[k] = LLVMBuildSelect(e->b, a->mask, out[k], other[k], "");
    }
}

/// The one register that all of a group's `other` are, to be filled in by the runtime; else NULL.
static LLVMValueRef common_other(const cg_access *a, LLVMValueRef const *other) {
    if (!other || !a->mask)
        return NULL;
    for (unsigned k = 1; k < a->vec; k++)
        if (other[k] != other[0])
            return NULL;
    return other[0];
}

static void load(emitter *e, const cg_access *a, LLVMValueRef const *other, LLVMValueRef *out) {
    if (a->uniform) {
        load_uniform(e, a, other, out);
        return;
    }
    unsigned bytes = dtype_bytes(a->elem);
    LLVMTypeRef type = LLVMVectorType(host_value_type(e, a->elem), HOST_LANES);
    lane_places at = find_places(e, a->ptr, bytes);
    LLVMValueRef site = add_access(e, a, HOST_SITE_LOAD, HOST_ATOMIC_ADD, at.addressing);
    LLVMValueRef common = common_other(a, other),
                 slot = host_slot_new(e, a->vec * HOST_LANES * bytes);
    LLVMValueRef fill =
        common ? host_slot_of(e, common) : LLVMConstNull(LLVMPointerTypeInContext(e->llvm, 0));
    LLVMValueRef args[] = {host_state(e)->warp,  site, at.base, at.places, fill, slot,
                           mask_bits(e, a->mask)};
    host_call(e, "host_load", args, 7);
    for (unsigned k = 0; k < a->vec; k++) {
        out[k] = host_slot_load(e, slot, k * HOST_LANES * bytes, type);
        if (a->mask && other && !common)
            out[k] = LLVMBuildSelect(e->b, a->mask, out[k], other[k], "");
    }
}

/// The address of a group's values, one register after the other.
static LLVMValueRef put_group(emitter *e, LLVMValueRef const *values, unsigned vec,
                              unsigned bytes) {
    if (vec == 1)
        return host_slot_of(e, values[0]);
    LLVMValueRef slot = host_slot_new(e, vec * HOST_LANES * bytes);
    for (unsigned k = 0; k < vec; k++)
        host_slot_store(e, slot, k * HOST_LANES * bytes, values[k]);
    return slot;
}

static void store_uniform(emitter *e, const cg_access *a, LLVMValueRef const *values) {
    LLVMValueRef site = add_access(e, a, HOST_SITE_STORE, HOST_ATOMIC_ADD, HOST_ADDRESSES);
    for (unsigned k = 0; k < a->vec; k++) {
        LLVMValueRef args[] = {host_state(e)->warp, site, element_address(e, a, k),
                               bits_from_value(e, values[k]), active_bit(e, a->mask)};
        host_call(e, "host_store_scalar", args, 5);
    }
}

static void store(emitter *e, const cg_access *a, LLVMValueRef const *values) {
    if (a->uniform) {
        store_uniform(e, a, values);
        return;
    }
    unsigned bytes = dtype_bytes(a->elem);
    lane_places at = find_places(e, a->ptr, bytes);
    LLVMValueRef site = add_access(e, a, HOST_SITE_STORE, HOST_ATOMIC_ADD, at.addressing);
    LLVMValueRef args[] = {
        host_state(e)->warp,  site, at.base, at.places, put_group(e, values, a->vec, bytes),
        mask_bits(e, a->mask)};
    host_call(e, "host_store", args, 6);
}

static LLVMValueRef atomic(emitter *e, const cg_access *a, host_atomic_kind kind, LLVMValueRef cmp,
                           LLVMValueRef value) {
    LLVMValueRef warp = host_state(e)->warp;
    if (a->uniform) {
        LLVMValueRef site = add_access(e, a, HOST_SITE_ATOMIC, kind, HOST_ADDRESSES);
        LLVMValueRef args[] = {warp,
                               site,
                               element_address(e, a, 0),
                               bits_from_value(e, cmp),
                               bits_from_value(e, value),
                               active_bit(e, a->mask)};
        LLVMValueRef bits = host_call(e, "host_atomic_scalar", args, 6);
        return value_from_bits(e, bits, host_value_type(e, a->elem));
    }
    unsigned bytes = dtype_bytes(a->elem);
    lane_places at = find_places(e, a->ptr, bytes);
    LLVMValueRef site = add_access(e, a, HOST_SITE_ATOMIC, kind, at.addressing);
    LLVMValueRef old = host_slot_new(e, HOST_LANES * bytes);
    LLVMValueRef args[] = {warp,
                           site,
                           at.base,
                           at.places,
                           host_slot_of(e, cmp),
                           host_slot_of(e, value),
                           old,
                           mask_bits(e, a->mask)};
    host_call(e, "host_atomic", args, 8);
    return host_slot_load(e, old, 0, LLVMTypeOf(value));
}

static LLVMValueRef atomic_rmw(emitter *e, const cg_access *a, sv kind, LLVMValueRef value, sv sem,
                               sv scope) {
    static const struct {
        const char *name;
        host_atomic_kind kind;
    } kinds[] = {
        {"add", HOST_ATOMIC_ADD}, {"fadd", HOST_ATOMIC_ADD},  {"max", HOST_ATOMIC_MAX},
        {"min", HOST_ATOMIC_MIN}, {"and", HOST_ATOMIC_AND},   {"or", HOST_ATOMIC_OR},
        {"xor", HOST_ATOMIC_XOR}, {"xchg", HOST_ATOMIC_XCHG},
    };
    (void)sem, (void)scope; // all are sequentially consistent here
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (sv_is(kind, kinds[i].name))
            return atomic(e, a, kinds[i].kind, value, value);
    diag_error(e->diag, a->range, "internal error: unknown atomic '%" SV_FMT "'", SV_ARG(kind));
    return value;
}

static LLVMValueRef atomic_cas(emitter *e, const cg_access *a, LLVMValueRef cmp, LLVMValueRef value,
                               sv sem, sv scope) {
    (void)sem, (void)scope;
    return atomic(e, a, HOST_ATOMIC_CAS, cmp, value);
}

// ---------------------------------------------------------------------------- warp and block

static LLVMValueRef shuffle_constant(emitter *e, LLVMValueRef v, LLVMValueRef source) {
    return LLVMBuildShuffleVector(e->b, v, LLVMGetPoison(LLVMTypeOf(v)), source, "");
}

static LLVMValueRef shuffle_xor(emitter *e, LLVMValueRef v, unsigned lane_mask) {
    LLVMValueRef source[HOST_LANES];
    for (unsigned i = 0; i < HOST_LANES; i++)
        source[i] = host_u32(e, (i ^ lane_mask) % HOST_LANES);
    return shuffle_constant(e, v, LLVMConstVector(source, HOST_LANES));
}

unsigned host_type_bytes(LLVMTypeRef elem) {
    switch (LLVMGetTypeKind(elem)) {
    case LLVMIntegerTypeKind:
        return LLVMGetIntTypeWidth(elem) / 8;
    case LLVMFloatTypeKind:
        return 4;
    default:
        return 8;
    }
}

static LLVMValueRef shuffle_idx(emitter *e, LLVMValueRef v, LLVMValueRef src_lane) {
    LLVMTypeRef type = LLVMTypeOf(v);
    bool is_bit = type == emit_int_like(e, 1, v);
    if (is_bit)
        v = LLVMBuildZExt(e->b, v, emit_int_like(e, 8, v), "");
    unsigned bytes = host_type_bytes(LLVMGetElementType(LLVMTypeOf(v)));
    LLVMValueRef slot = host_slot_new(e, HOST_LANES * bytes);
    LLVMValueRef args[] = {host_u32(e, bytes), host_slot_of(e, v), host_slot_of(e, src_lane), slot};
    host_call(e, "host_shuffle", args, 4);
    LLVMValueRef out = host_slot_load(e, slot, 0, LLVMTypeOf(v));
    return is_bit ? LLVMBuildTrunc(e->b, out, type, "") : out;
}

static void barrier(emitter *e) {
    LLVMValueRef site = add_site(e, (host_site){.kind = HOST_SITE_BARRIER, .root = -1}, e->at);
    LLVMValueRef args[] = {host_state(e)->warp, site};
    host_call(e, "host_barrier", args, 2);
}

static void cluster_barrier(emitter *e) {
    LLVMValueRef site = add_site(e, (host_site){.kind = HOST_SITE_BARRIER, .root = -1}, e->at);
    LLVMValueRef args[] = {host_state(e)->warp, site};
    host_call(e, "host_cluster_barrier", args, 2);
}

/// Here a CTA that has not started has no shared memory either: the wait must be in its place.
static void cluster_start(emitter *e) { (void)e; }

static void back_edge(emitter *e, src_range loop) {
    LLVMValueRef site = add_site(e, (host_site){.kind = HOST_SITE_LOOP, .root = -1}, loop);
    LLVMValueRef args[] = {host_state(e)->warp, site};
    host_call(e, "host_poll", args, 2);
}

/// The elements are read at once, but land at a wait only.
static void async_copy(emitter *e, const cg_access *a, LLVMValueRef byte_offset,
                       LLVMValueRef active) {
    cg_access one = *a;
    LLVMValueRef value;
    if (active)
        one.mask = LLVMBuildICmp(e->b, LLVMIntNE, active, emit_const_like(e, active, 0), "");
    load(e, &one, NULL, &value);
    LLVMValueRef args[] = {host_state(e)->warp, host_u32(e, dtype_bytes(a->elem)),
                           host_slot_of(e, byte_offset), host_slot_of(e, value)};
    host_call(e, "host_async_store", args, 4);
}

static void async_commit(emitter *e) { host_call(e, "host_async_commit", &host_state(e)->warp, 1); }

static void async_wait(emitter *e, unsigned pending) {
    LLVMValueRef args[] = {host_state(e)->warp, host_u32(e, pending)};
    host_call(e, "host_async_wait", args, 2);
}

/// Whose memory, for the runtime.
static LLVMValueRef ctas_slot(emitter *e, LLVMValueRef cta) {
    return cta ? host_slot_of(e, cta) : LLVMConstNull(LLVMPointerTypeInContext(e->llvm, 0));
}

static void smem_store(emitter *e, LLVMValueRef cta, LLVMValueRef offset,
                       LLVMValueRef const *values, unsigned vec, LLVMValueRef pred) {
    unsigned bytes = host_type_bytes(LLVMGetElementType(LLVMTypeOf(values[0])));
    LLVMValueRef args[] = {host_state(e)->warp,     host_u32(e, bytes),
                           host_u32(e, vec),        ctas_slot(e, cta),
                           host_slot_of(e, offset), put_group(e, values, vec, bytes),
                           mask_bits(e, pred)};
    host_call(e, "host_shared_store", args, 7);
}

static bool has_exchanges(emitter *e) {
    (void)e;
    return true;
}

/// What is sent is there at once; that nobody looks earlier takes a barrier.
static void exchange_expect(emitter *e, uint32_t gate, uint32_t bytes) {
    (void)e, (void)gate, (void)bytes;
}

static void exchange_send(emitter *e, uint32_t gate, LLVMValueRef cta, LLVMValueRef offset,
                          LLVMValueRef value, LLVMValueRef pred) {
    (void)gate;
    smem_store(e, cta, offset, &value, 1, pred);
}

static void exchange_wait(emitter *e, uint32_t gate) {
    (void)gate;
    cluster_barrier(e);
}

static void smem_load(emitter *e, LLVMValueRef cta, LLVMValueRef offset, LLVMTypeRef elem,
                      unsigned vec, LLVMValueRef *out) {
    unsigned bytes = host_type_bytes(elem);
    LLVMValueRef slot = host_slot_new(e, vec * HOST_LANES * bytes);
    LLVMValueRef args[] = {host_state(e)->warp, host_u32(e, bytes),      host_u32(e, vec),
                           ctas_slot(e, cta),   host_slot_of(e, offset), slot};
    host_call(e, "host_shared_load", args, 6);
    for (unsigned k = 0; k < vec; k++)
        out[k] = host_slot_load(e, slot, k * HOST_LANES * bytes, LLVMVectorType(elem, HOST_LANES));
}

static void smem_count(emitter *e, LLVMValueRef offset, LLVMValueRef pred) {
    LLVMValueRef args[] = {host_state(e)->warp, host_slot_of(e, offset), mask_bits(e, pred)};
    host_call(e, "host_shared_count", args, 3);
}

// ---------------------------------------------------------------------------- debugging

/// Calls host_assert with the lanes where `cond` does not hold and `mask` (if any) does.
static void check(emitter *e, LLVMValueRef cond, LLVMValueRef mask, LLVMValueRef site) {
    LLVMValueRef bad = LLVMBuildNot(e->b, cond, "");
    if (mask && emit_is_vector(cond) && !emit_is_vector(mask))
        mask = splat(e, mask);
    if (mask)
        bad = LLVMBuildAnd(e->b, bad, mask, "");
    LLVMValueRef bits = emit_is_vector(bad) ? mask_bits(e, bad) : active_bit(e, bad);
    LLVMValueRef args[] = {host_state(e)->warp, site, bits};
    host_call(e, "host_assert", args, 3);
}

static void assert_true(emitter *e, LLVMValueRef cond, LLVMValueRef mask, sv text,
                        src_range range) {
    host_site site = {.kind = HOST_SITE_ASSERT, .root = -1, .vec = emit_is_vector(cond)};
    site.text = sv_copy(e->arena, text).data;
    check(e, cond, mask, add_site(e, site, range));
}

static void check_hint(emitter *e, LLVMValueRef ok, const char *what, src_range range) {
    host_site site = {.kind = HOST_SITE_HINT, .root = -1, .vec = emit_is_vector(ok), .text = what};
    check(e, ok, NULL, add_site(e, site, range));
}

/// Prints one register of 32 elements, or a scalar in lane 0.
static void print(emitter *e, const cg_print *p) {
    host_site site = {.kind = HOST_SITE_PRINT, .root = -1, .elem = DT_VOID, .text = p->label};
    LLVMValueRef index = p->index ? p->index : host_u32(e, 0);
    LLVMValueRef reg = p->reg ? p->reg : host_u32(e, 0);
    if (p->value) {
        site.elem = p->value->type.elem;
        site.rank = p->value->type.rank;
        memcpy(site.shape, p->value->type.shape, sizeof(site.shape));
    }
    site.hex = p->hex;
    if (LLVMTypeOf(reg) == emit_int_like(e, 1, reg))
        reg = LLVMBuildZExt(e->b, reg, emit_int_like(e, 8, reg), "");
    LLVMValueRef args[] = {host_state(e)->warp, add_site(e, site, p->range), host_slot_of(e, index),
                           host_slot_of(e, reg),
                           p->index ? mask_bits(e, p->active) : active_bit(e, p->active)};
    host_call(e, "host_print", args, 5);
}

static LLVMValueRef special(emitter *e, ir_opcode op) {
    if (op == OP_SMID)
        return host_u32(e, 0);
    if (op != OP_GLOBALTIMER)
        return NULL; // launches do not overlap
    LLVMValueRef slot = host_slot_new(e, 8);
    host_call(e, "host_clock", &slot, 1);
    return host_slot_load(e, slot, 0, LLVMInt64TypeInContext(e->llvm));
}

const target target_host = {
    .name = "host",
    .lanes = HOST_LANES,
    .global_addrspace = 0,
    .soft_half = true,
    .value_type = host_value_type,
    .splat = splat,
    .uniform = uniform,
    .lane_id = lane_id,
    .warp_id = warp_id,
    .cta_rank = cta_rank,
    .program_id = program_id,
    .num_programs = num_programs,
    .begin_function = begin_function,
    .end_function = end_function,
    .load = load,
    .store = store,
    .atomic_rmw = atomic_rmw,
    .atomic_cas = atomic_cas,
    .shuffle_xor = shuffle_xor,
    .shuffle_idx = shuffle_idx,
    .barrier = barrier,
    .cluster_barrier = cluster_barrier,
    .cluster_start = cluster_start,
    .cluster_started = cluster_barrier,
    .has_exchanges = has_exchanges,
    .exchange_expect = exchange_expect,
    .exchange_send = exchange_send,
    .exchange_wait = exchange_wait,
    .smem_store = smem_store,
    .smem_load = smem_load,
    .smem_count = smem_count,
    .async_copy = async_copy,
    .async_commit = async_commit,
    .async_wait = async_wait,
    .special = special,
    .math = host_emit_math,
    .fdiv = host_emit_fdiv,
    .frem = host_emit_frem,
    .int_div = host_emit_int_div,
    .fminmax = host_emit_fminmax,
    .float_cast = host_emit_float_cast,
    .float_to_int = host_emit_float_to_int,
    .int_to_float = host_emit_int_to_float,
    .assert_true = assert_true,
    .print = print,
    .check_hint = check_hint,
    .back_edge = back_edge,
    .limit_block = limit_block,
};
