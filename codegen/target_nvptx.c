// The NVIDIA target. A lane value is a scalar in each thread; lanes and warps are parts of the
// thread's index in its block; a tile's exchange goes by shuffles, and by barriers and dynamic
// shared memory. Output is LLVM IR for the NVPTX back end: intrinsics where LLVM has them, inline
// PTX where it has not or where it would drop what we say (orderings, cache hints).
#include "codegen/nvptx.h"
#include "codegen/ptx_respell.h"

#include <llvm/Config/llvm-config.h>

enum {
    SPACE_GLOBAL = 1,
    SPACE_SHARED = 3,
    KERNEL_CALLING_CONVENTION = 71, ///< LLVMPTXKernelCallConv
    LINE_DIRECTIVES_ONLY = 3, ///< DebugDirectivesOnly, which the C enum lacks: .loc and no more
    FULL_WARP = -1,
};

// ---------------------------------------------------------------------------- small tools

static LLVMTypeRef i32_type(emitter *e) { return LLVMInt32TypeInContext(e->llvm); }

static void make_convergent(emitter *e, LLVMValueRef call) {
    unsigned kind = LLVMGetEnumAttributeKindForName("convergent", 10);
    LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex,
                             LLVMCreateEnumAttribute(e->llvm, kind, 0));
}

LLVMValueRef nvptx_asm(emitter *e, LLVMTypeRef result, const char *text, const char *constraints,
                       LLVMValueRef *args, unsigned n, unsigned flags) {
    LLVMTypeRef types[16];
    for (unsigned i = 0; i < n; i++)
        types[i] = LLVMTypeOf(args[i]);
    LLVMTypeRef type = LLVMFunctionType(result, types, n, false);
    const char *all = constraints;
    if (flags & ASM_EFFECT)
        all = sv_format(e->arena, "%s%s~{memory}", constraints, *constraints ? "," : "").data;
    LLVMValueRef code = LLVMGetInlineAsm(type, text, strlen(text), all, strlen(all),
                                         flags & ASM_EFFECT, false, LLVMInlineAsmDialectATT, false);
    LLVMValueRef call = LLVMBuildCall2(e->b, type, code, args, n, "");
    if (flags & ASM_CONVERGENT)
        make_convergent(e, call);
    return call;
}

LLVMValueRef nvptx_user_asm(emitter *e, LLVMTypeRef type, sv text, sv constraints,
                            LLVMValueRef *args, unsigned n, bool has_effect) {
    text = sv_format(e->arena, PTX_AS_WRITTEN "\n\t%" SV_FMT, SV_ARG(text));
    LLVMValueRef code =
        LLVMGetInlineAsm(type, text.data, text.len, constraints.data, constraints.len, has_effect,
                         false, LLVMInlineAsmDialectATT, false);
    LLVMValueRef call = LLVMBuildCall2(e->b, type, code, args, n, "");
    if (has_effect)
        make_convergent(e, call);
    return call;
}

bool nvptx_has_intrinsic(const char *name) {
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    size_t len;
    if (!id || LLVMIntrinsicIsOverloaded(id))
        return false; // the look-up matches prefixes
    const char *found = LLVMIntrinsicGetName(id, &len);
    return len == strlen(name) && memcmp(found, name, len) == 0;
}

LLVMValueRef nvptx_call(emitter *e, const char *name, LLVMTypeRef result, LLVMValueRef *args,
                        unsigned n) {
    LLVMTypeRef types[8];
    for (unsigned i = 0; i < n; i++)
        types[i] = LLVMTypeOf(args[i]);
    LLVMTypeRef type = LLVMFunctionType(result, types, n, false);
    LLVMValueRef fn = LLVMGetNamedFunction(e->module, name);
    if (!fn)
        fn = LLVMAddFunction(e->module, name, type); // LLVM knows it by name and adds attributes
    if (!LLVMGetIntrinsicID(fn))
        diag_error(e->diag, SRC_NONE, "internal error: this LLVM has no '%s'", name);
    return LLVMBuildCall2(e->b, type, fn, args, n, "");
}

LLVMValueRef nvptx_to_bits(emitter *e, LLVMValueRef v) {
    LLVMTypeRef t = LLVMTypeOf(v);
    switch (LLVMGetTypeKind(t)) {
    case LLVMIntegerTypeKind:
        return v;
    case LLVMPointerTypeKind:
        return LLVMBuildPtrToInt(e->b, v, LLVMInt64TypeInContext(e->llvm), "");
    case LLVMDoubleTypeKind:
        return LLVMBuildBitCast(e->b, v, LLVMInt64TypeInContext(e->llvm), "");
    case LLVMFloatTypeKind:
        return LLVMBuildBitCast(e->b, v, i32_type(e), "");
    default: // half, bfloat
        return LLVMBuildBitCast(e->b, v, LLVMInt16TypeInContext(e->llvm), "");
    }
}

LLVMValueRef nvptx_from_bits(emitter *e, LLVMValueRef bits, LLVMTypeRef t) {
    if (LLVMTypeOf(bits) == t)
        return bits;
    if (LLVMGetTypeKind(t) == LLVMPointerTypeKind)
        return LLVMBuildIntToPtr(e->b, bits, t, "");
    return LLVMBuildBitCast(e->b, bits, t, "");
}

nvptx_place nvptx_go_to_start(emitter *e) {
    nvptx_place here = {LLVMGetInsertBlock(e->b), LLVMGetCurrentDebugLocation2(e->b)};
    LLVMBasicBlockRef start = LLVMGetEntryBasicBlock(e->fn);
    LLVMValueRef first = LLVMGetFirstInstruction(start);
    if (first)
        LLVMPositionBuilderBefore(e->b, first);
    else
        LLVMPositionBuilderAtEnd(e->b, start);
    return here;
}

void nvptx_go_back(emitter *e, nvptx_place place) {
    LLVMPositionBuilderAtEnd(e->b, place.block);
    LLVMSetCurrentDebugLocation2(e->b, place.line);
}

nvptx_guard nvptx_begin_guard(emitter *e, LLVMValueRef cond) {
    if (!cond || (LLVMIsAConstantInt(cond) && LLVMConstIntGetZExtValue(cond)))
        return (nvptx_guard){0};
    nvptx_guard g = {LLVMGetInsertBlock(e->b), emit_new_block(e, ""), emit_new_block(e, "")};
    LLVMBuildCondBr(e->b, cond, g.inside, g.after);
    LLVMPositionBuilderAtEnd(e->b, g.inside);
    return g;
}

void nvptx_end_guard(emitter *e, nvptx_guard *g) {
    if (!g->before)
        return;
    g->inside = LLVMGetInsertBlock(e->b);
    LLVMBuildBr(e->b, g->after);
    LLVMPositionBuilderAtEnd(e->b, g->after);
}

LLVMValueRef nvptx_merge(emitter *e, const nvptx_guard *g, LLVMValueRef v, LLVMValueRef otherwise) {
    if (!g->before)
        return v;
    LLVMValueRef phi = LLVMBuildPhi(e->b, LLVMTypeOf(v), "");
    LLVMAddIncoming(phi, (LLVMValueRef[]){v, otherwise},
                    (LLVMBasicBlockRef[]){g->inside, g->before}, 2);
    return phi;
}

// ---------------------------------------------------------------------------- types and lanes

static LLVMTypeRef value_type(emitter *e, dtype t) {
    switch (t) {
    case DT_FP16:
        return LLVMHalfTypeInContext(e->llvm);
    case DT_BF16:
        return LLVMBFloatTypeInContext(e->llvm);
    case DT_FP32:
        return LLVMFloatTypeInContext(e->llvm);
    case DT_FP64:
        return LLVMDoubleTypeInContext(e->llvm);
    case DT_PTR:
        return LLVMPointerTypeInContext(e->llvm, SPACE_GLOBAL);
    default: // integers; fp8 is held as its bits
        return LLVMIntTypeInContext(e->llvm, dtype_bits(t));
    }
}

static LLVMValueRef same(emitter *e, LLVMValueRef v) {
    (void)e;
    return v;
}

/// Reads a special register whose value is in [0, limit).
static LLVMValueRef read_register(emitter *e, const char *name, uint32_t limit) {
    const char *full = sv_format(e->arena, "llvm.nvvm.read.ptx.sreg.%s", name).data;
    LLVMValueRef v = nvptx_call(e, full, i32_type(e), NULL, 0);
    if (limit) {
        LLVMMetadataRef ends[2] = {LLVMValueAsMetadata(emit_const_i32(e, 0)),
                                   LLVMValueAsMetadata(emit_const_i32(e, limit))};
        LLVMMetadataRef range = LLVMMDNodeInContext2(e->llvm, ends, 2);
        LLVMSetMetadata(v, LLVMGetMDKindIDInContext(e->llvm, "range", 5),
                        LLVMMetadataAsValue(e->llvm, range));
    }
    return v;
}

static LLVMValueRef lane_id(emitter *e) { return nvptx_state_of(e)->lane; }

static LLVMValueRef warp_id(emitter *e) { return nvptx_state_of(e)->warp; }

static LLVMValueRef cta_rank(emitter *e) {
    uint32_t n = e->func->num_ctas;
    return n > 1 ? read_register(e, "cluster.ctarank", n) : emit_const_i32(e, 0);
}

/// A program is a block, or a cluster of blocks along x.
static LLVMValueRef program_id(emitter *e, unsigned axis) {
    static const char *const names[] = {"ctaid.x", "ctaid.y", "ctaid.z"};
    bool is_cluster = axis == 0 && e->func->num_ctas > 1;
    return read_register(e, is_cluster ? "clusterid.x" : names[axis],
                         axis == 0 ? 0x7fffffff : 65535);
}

static LLVMValueRef num_programs(emitter *e, unsigned axis) {
    static const char *const names[] = {"nctaid.x", "nctaid.y", "nctaid.z"};
    bool is_cluster = axis == 0 && e->func->num_ctas > 1;
    return read_register(e, is_cluster ? "nclusterid.x" : names[axis], 0);
}

// ---------------------------------------------------------------------------- functions

static void add_attribute(emitter *e, unsigned index, const char *name, uint64_t value) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(e->fn, index, LLVMCreateEnumAttribute(e->llvm, kind, value));
}

/// A launch bound of the kernel: threads per block, registers per thread, blocks per cluster.
static void add_kernel_bound(emitter *e, const char *key, uint32_t value) {
#if LLVM_VERSION_MAJOR >= 21
    sv name = sv_format(e->arena, "nvvm.%s", key), text = sv_format(e->arena, "%u", value);
    LLVMAddAttributeAtIndex(e->fn, LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(e->llvm, name.data, (unsigned)name.len,
                                                      text.data, (unsigned)text.len));
#else
    if (strcmp(key, "reqntid") == 0)
        key = "reqntidx";
    if (strcmp(key, "cluster_dim") == 0)
        key = "cluster_dim_x";
    LLVMMetadataRef fields[3] = {LLVMValueAsMetadata(e->fn),
                                 LLVMMDStringInContext2(e->llvm, key, strlen(key)),
                                 LLVMValueAsMetadata(emit_const_i32(e, value))};
    LLVMAddNamedMetadataOperand(
        e->module, "nvvm.annotations",
        LLVMMetadataAsValue(e->llvm, LLVMMDNodeInContext2(e->llvm, fields, 3)));
#endif
}

static LLVMTypeRef param_type(emitter *e, dtype t) { // bool is passed as one byte
    return t == DT_I1 ? LLVMInt8TypeInContext(e->llvm) : value_type(e, t);
}

static void add_debug_scope(emitter *e, const char *name) {
    nvptx_state *s = nvptx_state_of(e);
    unsigned line = 1;
    if (e->func->range.file)
        line = diag_locate(e->diag, e->func->range.file, e->func->range.begin).line;
    LLVMMetadataRef type =
        LLVMDIBuilderCreateSubroutineType(s->debug, s->debug_file, NULL, 0, LLVMDIFlagZero);
    e->debug_scope = LLVMDIBuilderCreateFunction(s->debug, s->debug_file, name, strlen(name), name,
                                                 strlen(name), s->debug_file, line, type, false,
                                                 true, line, LLVMDIFlagZero, true);
    LLVMSetSubprogram(e->fn, e->debug_scope);
}

static void begin_function(emitter *e, LLVMValueRef *param_values) {
    const ir_func *f = e->func;
    LLVMTypeRef *types = ARENA_ARRAY(e->arena, LLVMTypeRef, f->num_params);
    for (uint32_t i = 0; i < f->num_params; i++)
        types[i] = param_type(e, f->body->args[i]->type.elem);
    LLVMTypeRef type =
        LLVMFunctionType(LLVMVoidTypeInContext(e->llvm), types, f->num_params, false);
    const char *name = sv_copy(e->arena, f->name).data;
    e->fn = LLVMAddFunction(e->module, name, type);
    LLVMSetFunctionCallConv(e->fn, KERNEL_CALLING_CONVENTION);
    add_kernel_bound(e, "reqntid", 32 * f->num_warps);
    if (f->num_ctas > 1)
        add_kernel_bound(e, "cluster_dim", f->num_ctas);
    if (f->maxnreg)
        add_kernel_bound(e, "maxnreg", f->maxnreg);
    e->debug_scope = NULL;
    LLVMSetCurrentDebugLocation2(e->b, NULL);
    if (nvptx_state_of(e)->debug)
        add_debug_scope(e, name);
    LLVMPositionBuilderAtEnd(e->b, emit_new_block(e, "entry"));
    LLVMValueRef thread = read_register(e, "tid.x", 32 * f->num_warps);
    nvptx_state_of(e)->lane = LLVMBuildAnd(e->b, thread, emit_const_i32(e, 31), "");
    nvptx_state_of(e)->warp = LLVMBuildLShr(e->b, thread, emit_const_i32(e, 5), "");
    for (uint32_t i = 0; i < f->num_params; i++) {
        ir_type t = f->body->args[i]->type;
        param_values[i] = LLVMGetParam(e->fn, i);
        if (t.elem == DT_I1)
            param_values[i] = LLVMBuildICmp(e->b, LLVMIntNE, param_values[i],
                                            emit_const_like(e, param_values[i], 0), "");
        if (t.elem == DT_PTR && t.pointer_const) { // the author's word, never inferred (RULES 3)
            add_attribute(e, i + 1, "noalias", 0);
            add_attribute(e, i + 1, "readonly", 0);
        }
    }
    e->smem_base = NULL;
    nvptx_state *s = nvptx_state_of(e);
    s->print_buffer = s->policies[0] = s->policies[1] = NULL;
}

static void end_function(emitter *e) { LLVMBuildRetVoid(e->b); }

const char *nvptx_file_name(arena *a, const char *name) {
    char *copy = arena_copy_string(a, name, strlen(name));
    for (char *c = copy; *c; c++)
        if (*c < ' ' || *c > '~' || *c == '"' || *c == '\\')
            *c = '?';
    return copy;
}

void nvptx_begin_module(emitter *e, nvptx_state *state) {
    e->target_state = state;
    if (!e->options->line_info)
        return;
    const char *given = e->options->source_name ? e->options->source_name : "tile";
    const char *file = nvptx_file_name(e->arena, given);
    LLVMTypeRef i32 = i32_type(e);
    LLVMAddModuleFlag(e->module, LLVMModuleFlagBehaviorWarning, "Debug Info Version", 18,
                      LLVMValueAsMetadata(LLVMConstInt(i32, LLVMDebugMetadataVersion(), false)));
    state->debug = LLVMCreateDIBuilder(e->module);
    state->debug_file = LLVMDIBuilderCreateFile(state->debug, file, strlen(file), "", 0);
    LLVMDIBuilderCreateCompileUnit(
        state->debug, LLVMDWARFSourceLanguageC, state->debug_file, "tile", 4, true, "", 0, 0, "", 0,
        (LLVMDWARFEmissionKind)LINE_DIRECTIVES_ONLY, 0, false, false, "", 0, "", 0);
}

void nvptx_end_module(emitter *e) {
    nvptx_state *s = nvptx_state_of(e);
    if (s->debug) {
        LLVMDIBuilderFinalize(s->debug);
        LLVMDisposeDIBuilder(s->debug);
        s->debug = NULL;
    }
}

// ---------------------------------------------------------------------------- exchange

/// Runs a 32-bit shuffle over a value of any width.
static LLVMValueRef shuffle(emitter *e, const char *name, LLVMValueRef v, LLVMValueRef lane) {
    LLVMTypeRef type = LLVMTypeOf(v), i32 = i32_type(e);
    LLVMValueRef bits = nvptx_to_bits(e, v), out;
    unsigned width = LLVMGetIntTypeWidth(LLVMTypeOf(bits));
    LLVMValueRef args[4] = {LLVMConstInt(i32, (unsigned)FULL_WARP, false), NULL, lane,
                            emit_const_i32(e, 31)};
    if (width <= 32) {
        args[1] = width < 32 ? LLVMBuildZExt(e->b, bits, i32, "") : bits;
        out = nvptx_call(e, name, i32, args, 4);
        if (width < 32)
            out = LLVMBuildTrunc(e->b, out, LLVMTypeOf(bits), "");
        return nvptx_from_bits(e, out, type);
    }
    LLVMTypeRef halves = LLVMVectorType(i32, 2);
    LLVMValueRef in = LLVMBuildBitCast(e->b, bits, halves, "");
    out = LLVMGetPoison(halves);
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef half = emit_const_i32(e, i);
        args[1] = LLVMBuildExtractElement(e->b, in, half, "");
        out = LLVMBuildInsertElement(e->b, out, nvptx_call(e, name, i32, args, 4), half, "");
    }
    out = LLVMBuildBitCast(e->b, out, LLVMTypeOf(bits), "");
    return nvptx_from_bits(e, out, type);
}

static LLVMValueRef shuffle_xor(emitter *e, LLVMValueRef v, unsigned lane_mask) {
    return shuffle(e, "llvm.nvvm.shfl.sync.bfly.i32", v, emit_const_i32(e, lane_mask));
}

static LLVMValueRef shuffle_idx(emitter *e, LLVMValueRef v, LLVMValueRef src_lane) {
    return shuffle(e, "llvm.nvvm.shfl.sync.idx.i32", v, src_lane);
}

static void barrier(emitter *e) {
    LLVMTypeRef none = LLVMVoidTypeInContext(e->llvm);
    LLVMValueRef zero = emit_const_i32(e, 0),
                 all = LLVMConstInt(i32_type(e), (unsigned)FULL_WARP, 0);
    if (e->func->num_warps == 1)
        nvptx_call(e, "llvm.nvvm.bar.warp.sync", none, &all, 1);
    else if (nvptx_has_intrinsic("llvm.nvvm.barrier.cta.sync.aligned.all"))
        nvptx_call(e, "llvm.nvvm.barrier.cta.sync.aligned.all", none, &zero, 1);
    else
        nvptx_call(e, "llvm.nvvm.barrier0", none, NULL, 0);
}

/// A pointer into the block's dynamic shared memory, which the launch sizes.
LLVMValueRef nvptx_shared_pointer(emitter *e, LLVMValueRef byte_offset) {
    nvptx_state *s = nvptx_state_of(e);
    LLVMTypeRef i8 = LLVMInt8TypeInContext(e->llvm);
    if (!s->shared) {
        LLVMTypeRef bytes = LLVMArrayType2(i8, 0);
        s->shared = LLVMAddGlobalInAddressSpace(e->module, bytes, "__tile_shared", SPACE_SHARED);
        LLVMSetAlignment(s->shared, 16);
    }
    e->smem_base = s->shared;
    return LLVMBuildGEP2(e->b, i8, s->shared, &byte_offset, 1, "");
}

static unsigned type_bytes(LLVMTypeRef t) {
    switch (LLVMGetTypeKind(t)) {
    case LLVMIntegerTypeKind:
        return LLVMGetIntTypeWidth(t) / 8;
    case LLVMFloatTypeKind:
        return 4;
    case LLVMDoubleTypeKind:
    case LLVMPointerTypeKind:
        return 8;
    default: // half, bfloat
        return 2;
    }
}

static void smem_store(emitter *e, LLVMValueRef cta, LLVMValueRef byte_offset,
                       LLVMValueRef const *values, unsigned vec, LLVMValueRef pred) {
    LLVMTypeRef elem = LLVMTypeOf(values[0]);
    LLVMValueRef v = values[0];
    if (cta) {
        nvptx_cluster_store(e, cta, byte_offset, values, vec, pred);
        return;
    }
    nvptx_guard g = nvptx_begin_guard(e, pred);
    if (vec > 1) {
        v = LLVMGetUndef(LLVMVectorType(elem, vec));
        for (unsigned i = 0; i < vec; i++)
            v = LLVMBuildInsertElement(e->b, v, values[i], emit_const_i32(e, i), "");
    }
    LLVMValueRef store = LLVMBuildStore(e->b, v, nvptx_shared_pointer(e, byte_offset));
    LLVMSetAlignment(store, vec * type_bytes(elem));
    nvptx_end_guard(e, &g);
}

static void smem_load(emitter *e, LLVMValueRef cta, LLVMValueRef byte_offset, LLVMTypeRef elem,
                      unsigned vec, LLVMValueRef *out) {
    if (cta) {
        nvptx_cluster_load(e, cta, byte_offset, elem, vec, out);
        return;
    }
    LLVMTypeRef type = vec > 1 ? LLVMVectorType(elem, vec) : elem;
    LLVMValueRef load = LLVMBuildLoad2(e->b, type, nvptx_shared_pointer(e, byte_offset), "");
    LLVMSetAlignment(load, vec * type_bytes(elem));
    out[0] = load;
    for (unsigned i = 0; vec > 1 && i < vec; i++)
        out[i] = LLVMBuildExtractElement(e->b, load, emit_const_i32(e, i), "");
}

static void smem_count(emitter *e, LLVMValueRef byte_offset, LLVMValueRef pred) {
    nvptx_guard g = nvptx_begin_guard(e, pred);
    LLVMBuildAtomicRMW(e->b, LLVMAtomicRMWBinOpAdd, nvptx_shared_pointer(e, byte_offset),
                       emit_const_i32(e, 1), LLVMAtomicOrderingMonotonic, false);
    nvptx_end_guard(e, &g);
}

/// cp.async: past the registers, and through L2 alone where it takes 16 bytes.
static void async_copy(emitter *e, const cg_access *a, LLVMValueRef byte_offset,
                       LLVMValueRef active) {
    unsigned size = dtype_bytes(a->elem), bytes = a->vec * size;
    LLVMTypeRef none = LLVMVoidTypeInContext(e->llvm), i32 = LLVMInt32TypeInContext(e->llvm);
    LLVMValueRef to = LLVMBuildPtrToInt(e->b, nvptx_shared_pointer(e, byte_offset), i32, "");
    LLVMValueRef args[] = {to, a->ptr, NULL};
    if (active)
        args[2] = LLVMBuildMul(e->b, active, emit_const_i32(e, size), "");
    const char *text = sv_format(e->arena, "cp.async.%s.shared.global [$0], [$1], %u%s;",
                                 bytes == 16 ? "cg" : "ca", bytes, active ? ", $2" : "")
                           .data;
    nvptx_asm(e, none, text, active ? "r,l,r" : "r,l", args, active ? 3 : 2, ASM_EFFECT);
}

static void async_commit(emitter *e) {
    LLVMTypeRef none = LLVMVoidTypeInContext(e->llvm);
    nvptx_asm(e, none, "cp.async.commit_group;", "", NULL, 0, ASM_EFFECT);
}

static void async_wait(emitter *e, unsigned pending) {
    LLVMTypeRef none = LLVMVoidTypeInContext(e->llvm);
    const char *text = sv_format(e->arena, "cp.async.wait_group %u;", pending).data;
    nvptx_asm(e, none, text, "", NULL, 0, ASM_EFFECT);
}

static LLVMValueRef hide(emitter *e, LLVMValueRef word) {
    return nvptx_asm(e, i32_type(e), "mov.b32 $0, $1;", "=r,r", &word, 1, ASM_EFFECT);
}

const target target_nvptx = {
    .name = "nvptx",
    .lanes = 1,
    .global_addrspace = SPACE_GLOBAL,
    .splits_vectors = true,
    .soft_half = false,
    .value_type = value_type,
    .splat = same,
    .uniform = same,
    .lane_id = lane_id,
    .warp_id = warp_id,
    .cta_rank = cta_rank,
    .program_id = program_id,
    .num_programs = num_programs,
    .begin_function = begin_function,
    .end_function = end_function,
    .load = nvptx_load,
    .store = nvptx_store,
    .atomic_rmw = nvptx_atomic_rmw,
    .atomic_cas = nvptx_atomic_cas,
    .shuffle_xor = shuffle_xor,
    .shuffle_idx = shuffle_idx,
    .barrier = barrier,
    .cluster_barrier = nvptx_cluster_barrier,
    .cluster_start = nvptx_cluster_start,
    .cluster_started = nvptx_cluster_started,
    .has_exchanges = nvptx_has_exchanges,
    .exchange_expect = nvptx_exchange_expect,
    .exchange_send = nvptx_exchange_send,
    .exchange_wait = nvptx_exchange_wait,
    .smem_store = smem_store,
    .smem_load = smem_load,
    .smem_count = smem_count,
    .async_least = 4,
    .inline_asm = nvptx_inline_asm,
    .special = nvptx_special,
    .async_copy = async_copy,
    .async_commit = async_commit,
    .async_wait = async_wait,
    .math = nvptx_math,
    .fdiv = nvptx_fdiv,
    .fdiv_shared = nvptx_fdiv_shared,
    .fdiv_rough = nvptx_fdiv_rough,
    .frem = nvptx_frem,
    .fminmax = nvptx_fminmax,
    .float_cast = nvptx_float_cast,
    .float_to_int = nvptx_float_to_int,
    .int_to_float = nvptx_int_to_float,
    .assert_true = nvptx_assert_true,
    .print = nvptx_print,
    .many = nvptx_many,
    .hide = hide,
    .check_hint = NULL, // claims are believed here; the cpu device checks them
};
