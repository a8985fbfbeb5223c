// Carried values that step: `p += BLOCK` moves a pointer, an index or a block pointer's offset by the
// same amount in each iteration. What such a value is in iteration i follows from the loop's variable,
//
//     p(i) = p(lo) + (i - lo) / step * BLOCK,
//
// and said like this it is known ahead of time, so that loads through it can be early. The products
// wrap where the sums would have. What the loop gives after its end is still carried.
#include "ir/pipeline.h"

/// The scalar that is everywhere in v: v itself, or what it is a splat of. NULL: not one.
static ir_value *uniform(ir_builder *b, ir_value *v) {
    uint64_t bits;
    if (!ir_is_tile(v->type))
        return v;
    if (ir_is_const(v, &bits))
        return ir_const_bits(b, ir_element_type(v->type), bits);
    return v->def && v->def->opcode == OP_SPLAT ? v->def->operands[0] : NULL;
}

/// By how much carried value `arg` grows in each iteration, if that does not change; else NULL.
static ir_value *find_step(const ir_op *loop, const ir_value *arg, const ir_value *yielded) {
    const ir_op *def = yielded->def;
    const ir_block *body = loop->regions[0];
    bool is_number = dtype_is_int(arg->type.elem) && arg->type.elem != DT_I1;
    bool adds = def && def->block == body &&
                (def->opcode == OP_ADDPTR || (def->opcode == OP_ADD && is_number));
    if (!adds || (def->operands[0] != arg && def->operands[1] != arg))
        return NULL;
    ir_value *step = def->operands[def->operands[0] == arg];
    // Visible in the body and not made there: it comes from outside.
    return step != arg && step->block != body ? step : NULL;
}

/// (iv - lo) / step * by, as an i64 at the start of the body.
static ir_value *distance(ir_builder *b, const ir_op *loop, int64_t step, ir_value *by) {
    int64_t lo, known;
    ir_type wide = ir_scalar_type(DT_I64);
    ir_value *d = ir_cast(b, loop->regions[0]->args[0], DT_I64);
    if (!ir_is_const_int(loop->operands[0], &lo) || lo != 0)
        d = ir_binary(b, OP_SUB, d, ir_cast(b, loop->operands[0], DT_I64));
    if (ir_is_const_int(by, &known) && known % step == 0)
        return known == step ? d : ir_binary(b, OP_MUL, d, ir_const_int(b, wide, known / step));
    if (step != 1)
        d = ir_binary(b, OP_DIV, d, ir_const_int(b, wide, step));
    return ir_binary(b, OP_MUL, d, ir_cast(b, by, DT_I64));
}

/// The value that `arg` has, from `init` and how far it has come.
static ir_value *moved(ir_builder *b, ir_value *init, const ir_value *arg, ir_value *by) {
    ir_type t = arg->type;
    bool is_pointer = ir_is_pointer(t);
    if (!is_pointer)
        by = ir_cast(b, by, t.elem);
    ir_value *tile = ir_splat(b, by, t.shape, t.rank);
    tile->layout = arg->layout;
    ir_value *v = is_pointer ? ir_addptr(b, init, tile) : ir_binary(b, OP_ADD, init, tile);
    v->layout = arg->layout;
    v->name = arg->name;
    return v;
}

void pipeline_derive_steps(ir_op *loop) {
    ir_block *body = loop->regions[0];
    int64_t step;
    if (!ir_is_const_int(loop->operands[2], &step) || step == 0 || step == INT64_MIN)
        return;
    ir_builder before = {body->func, loop->block, loop, loop->range};
    ir_builder inside = {body->func, body, body->first, loop->range};
    for (uint32_t i = 0; i < loop->num_results; i++) {
        ir_value *arg = body->args[1 + i];
        ir_value *by = find_step(loop, arg, body->last->operands[i]);
        by = by ? uniform(&before, by) : NULL;
        if (!by)
            continue;
        ir_value *d = distance(&inside, loop, step, by);
        ir_replace(arg, moved(&inside, loop->operands[3 + i], arg, d));
    }
    ir_apply_replacements(body->func);
}
