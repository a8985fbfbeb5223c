// Inline assembly of the author's, and what the GPU tells of itself. An instance of the assembly works
// on `pack` registers of every operand: their elements are packed into the machine registers that the
// constraints name, and the results taken apart again (ir/asm_form.h).
#include "codegen/nvptx.h"
#include "ir/asm_form.h"

static LLVMTypeRef int_type(emitter *e, unsigned bits) {
    return LLVMIntTypeInContext(e->llvm, bits);
}

static LLVMTypeRef register_type(emitter *e, char letter) {
    if (letter == 'f')
        return LLVMFloatTypeInContext(e->llvm);
    return letter == 'd' ? LLVMDoubleTypeInContext(e->llvm)
                         : int_type(e, asm_register_bits(letter));
}

/// An element as an integer of its bits.
static LLVMValueRef to_bits(emitter *e, dtype t, LLVMValueRef v) {
    if (t == DT_PTR)
        return LLVMBuildPtrToInt(e->b, v, int_type(e, 64), "");
    if (t == DT_I1)
        return LLVMBuildZExt(e->b, v, int_type(e, 8), "");
    return LLVMBuildBitCast(e->b, v, int_type(e, dtype_bits(t)), "");
}

static LLVMValueRef from_bits(emitter *e, dtype t, LLVMValueRef bits) {
    if (t == DT_I1)
        return LLVMBuildICmp(e->b, LLVMIntNE, bits, LLVMConstNull(LLVMTypeOf(bits)), "");
    return LLVMBuildBitCast(e->b, bits, e->tgt->value_type(e, t), "");
}

/// The machine register of a letter that holds `each` elements from v on.
static LLVMValueRef pack_register(emitter *e, dtype t, char letter, LLVMValueRef const *v,
                                  unsigned each) {
    LLVMTypeRef type = register_type(e, letter), word = int_type(e, asm_register_bits(letter));
    LLVMValueRef all = NULL;
    for (unsigned k = 0; k < each; k++) {
        LLVMValueRef bits = to_bits(e, t, v[k]);
        unsigned width = LLVMGetIntTypeWidth(LLVMTypeOf(bits));
        bits = LLVMBuildZExtOrBitCast(e->b, bits, word, "");
        bits = LLVMBuildShl(e->b, bits, LLVMConstInt(word, k * width, false), "");
        all = all ? LLVMBuildOr(e->b, all, bits, "") : bits;
    }
    return LLVMBuildBitCast(e->b, all, type, "");
}

static void unpack_register(emitter *e, dtype t, LLVMValueRef all, LLVMValueRef *v, unsigned each) {
    LLVMTypeRef elem = int_type(e, t == DT_I1 ? 8 : dtype_bits(t));
    unsigned width = LLVMGetIntTypeWidth(elem);
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(all));
    if (kind != LLVMIntegerTypeKind)
        all = LLVMBuildBitCast(e->b, all, int_type(e, kind == LLVMFloatTypeKind ? 32 : 64), "");
    for (unsigned k = 0; k < each; k++) {
        LLVMValueRef shift = LLVMConstInt(LLVMTypeOf(all), k * width, false);
        LLVMValueRef bits = LLVMBuildLShr(e->b, all, shift, "");
        v[k] = from_bits(e, t, LLVMBuildTruncOrBitCast(e->b, bits, elem, ""));
    }
}

/// One instance: on the registers from `first` on; behind the last one that one again.
static void emit_instance(emitter *e, const ir_op *op, const asm_form *form, unsigned first,
                          LLVMValueRef *const *results) {
    unsigned pack = (unsigned)ir_get_int(op, ATTR_PACK, 1), used = 0;
    unsigned count = emit_reg_count(op->results[0]);
    LLVMValueRef args[ASM_MAX_REGISTERS], v[ASM_MAX_PACK];
    LLVMTypeRef inputs[ASM_MAX_REGISTERS], outputs[ASM_MAX_REGISTERS];
    for (uint32_t i = 0; i < op->num_operands; i++) {
        dtype t = op->operands[i]->type.elem;
        unsigned each = asm_elements_per_register(t, pack);
        for (unsigned k = 0; k < pack; k++)
            v[k] = emit_regs(e, op->operands[i])[first + k < count ? first + k : count - 1];
        for (unsigned k = 0; k < pack; k += each, used++) {
            args[used] = pack_register(e, t, form->inputs[used], v + k, each);
            inputs[used] = LLVMTypeOf(args[used]);
        }
    }
    for (unsigned i = 0; i < form->num_outputs; i++)
        outputs[i] = register_type(e, form->outputs[i]);
    bool many = form->num_outputs > 1;
    LLVMTypeRef result =
        many ? LLVMStructTypeInContext(e->llvm, outputs, form->num_outputs, false) : outputs[0];
    LLVMTypeRef type = LLVMFunctionType(result, inputs, used, false);
    LLVMValueRef all =
        nvptx_user_asm(e, type, ir_get_str(op, ATTR_TEXT), ir_get_str(op, ATTR_CONSTRAINTS), args,
                       used, op->opcode == OP_ASM_EFFECT);
    used = 0;
    for (uint32_t i = 0; i < op->num_results; i++) {
        dtype t = op->results[i]->type.elem;
        unsigned each = asm_elements_per_register(t, pack);
        for (unsigned k = 0; k < pack; k += each, used++)
            unpack_register(e, t, many ? LLVMBuildExtractValue(e->b, all, used, "") : all, v + k,
                            each);
        for (unsigned k = 0; k < pack && first + k < count; k++)
            results[i][first + k] = v[k];
    }
}

/// What instructions newer than PTX 8.0 are known by, and the version that has them.
static const struct {
    const char *mark;
    unsigned version;
} newer_instructions[] = {
    {"multimem.", 81},
    {"st.async", 81},
    {"red.async", 81},
    {"e4m3x2", 81},
    {"e5m2x2", 81},
    {".v2.f32.add", 81},
    {".v4.f32.add", 81},
    {".v8.f16.add", 81},
    {"fence.proxy.tensormap", 83},
    {"tensormap.", 83},
    {"tcgen05.", 86},
    {".f32x2", 86},
    {"e2m1", 86},
    {"e2m3", 86},
    {"e3m2", 86},
    {"ue8m0", 86},
    {"redux.sync.max.f32", 86},
    {"redux.sync.min.f32", 86},
    {"clusterlaunchcontrol.", 86},
    {"cvt.rs.", 87},
    {"kind::", 87},
    {".v8.b32", 88},
    {".v8.f32", 88},
    {".v4.b64", 88},
    {".v4.f64", 88},
};

/// The text may hold anything. Every driver that we know reads 8.0; what is newer is told by its
/// name, and where this does not know it, --ptx says it.
static void need_ptx_of_asm(emitter *e, sv text) {
    if (!e->options->ptx_version)
        nvptx_need_ptx(e, 80);
    for (size_t i = 0; i < sizeof newer_instructions / sizeof *newer_instructions; i++)
        if (memmem(text.data, text.len, newer_instructions[i].mark,
                   strlen(newer_instructions[i].mark)))
            nvptx_need_ptx(e, newer_instructions[i].version);
}

void nvptx_inline_asm(emitter *e, const ir_op *op) {
    asm_form form;
    asm_form_read(e->arena, ir_get_str(op, ATTR_CONSTRAINTS),
                  &form); // the verifier's rule has passed
    unsigned pack = (unsigned)ir_get_int(op, ATTR_PACK, 1), count = emit_reg_count(op->results[0]);
    LLVMValueRef **results = ARENA_ARRAY(e->arena, LLVMValueRef *, op->num_results);
    for (uint32_t i = 0; i < op->num_results; i++) {
        results[i] = emit_new_regs(e, count);
        emit_set_regs(e, op->results[i], results[i]);
    }
    need_ptx_of_asm(e, ir_get_str(op, ATTR_TEXT));
    for (unsigned i = 0; i < count; i += pack)
        emit_instance(e, op, &form, i, results);
}

LLVMValueRef nvptx_special(emitter *e, ir_opcode op) {
    LLVMTypeRef none = LLVMVoidTypeInContext(e->llvm);
    if (op == OP_GLOBALTIMER)
        return nvptx_asm(e, int_type(e, 64), "mov.u64 $0, %globaltimer;", "=l", NULL, 0,
                         ASM_EFFECT);
    if (op == OP_SMID)
        return nvptx_asm(e, int_type(e, 32), "mov.u32 $0, %smid;", "=r", NULL, 0, ASM_EFFECT);
    if (nvptx_state_of(e)->sm < 90)
        return NULL; // launches do not overlap there
    nvptx_asm(e, none,
              op == OP_GDC_WAIT ? "griddepcontrol.wait;" : "griddepcontrol.launch_dependents;", "",
              NULL, 0, ASM_EFFECT | ASM_CONVERGENT);
    return NULL;
}
