// device_print: a line for every element of every operand, made by the one copy that stands for it
// (RULES 1). Here it is decided who prints what; how a line gets out is the target's business. The
// form is Triton's:
//   pid (0, 0, 0) idx ( 3, 12) x: 3.500000            a tile's element, or idx () for a scalar
//   pid (0, 0, 0) idx () x: (operand 1) 7             where there are several operands
//   pid (0, 0, 0) here                                where there is none
#include "codegen/emit.h"

/// What stands between the index and the value. The frontend has put the colon there.
static const char *label_of(emitter *e, const ir_op *op, uint32_t operand) {
    sv text = ir_get_str(op, ATTR_TEXT);
    if (op->num_operands < 2)
        return sv_copy(e->arena, text).data;
    return sv_format(e->arena, "%" SV_FMT "(operand %u) ", SV_ARG(text), operand).data;
}

static void print_tile(emitter *e, cg_print *p) {
    const layout *l = p->value->layout;
    layout_replication copies = layout_get_replication(l);
    LLVMValueRef thread = emit_thread_index(e, l), *regs = emit_regs(e, p->value);
    p->active = emit_is_representative(e, l);
    for (uint32_t r = 0; r < layout_reg_count(l); r++) {
        if (r & copies.reg_mask)
            continue;
        uint32_t part = layout_apply(l, (layout_place){.reg = r});
        p->index = LLVMBuildXor(e->b, thread, emit_lane_const_i32(e, part), "");
        p->reg = regs[r];
        e->tgt->print(e, p);
    }
}

void emit_print(emitter *e, const ir_op *op) {
    for (uint32_t i = 0; i < op->num_operands || i == 0; i++) {
        cg_print p = {.value = op->num_operands ? op->operands[i] : NULL,
                      .label = label_of(e, op, i),
                      .hex = ir_get_flag(op, ATTR_HEX),
                      .range = op->range};
        if (p.value && ir_is_tile(p.value->type)) {
            print_tile(e, &p);
            continue;
        }
        p.reg = p.value ? emit_regs(e, p.value)[0] : NULL;
        p.active = emit_is_representative(e, NULL);
        e->tgt->print(e, &p);
    }
}
