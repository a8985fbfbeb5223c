// tl.extra.cuda, and inline assembly: what only an NVIDIA GPU has. The frontend does not know which
// device a kernel is for; what another one cannot do, its code generator refuses.
#include "frontend/builtins.h"
#include "ir/asm_form.h"

/// One value or a tuple of them as an array.
static const value *items_of(const value *v, uint32_t *n) {
    bool many = v->kind == VALUE_TUPLE;
    *n = many ? v->num_items : 1;
    return many ? v->items : v;
}

/// The arguments as run-time values of one shape; NULL after an error.
static ir_value **read_operands(lowering *lo, const value *args, uint32_t *n, src_range range) {
    const value *given = items_of(args, n);
    value *all = ARENA_ARRAY(lo->arena, value, *n + 1);
    ir_value **operands = ARENA_ARRAY(lo->arena, ir_value *, *n + 1);
    for (uint32_t i = 0; i < *n; i++) {
        all[i] = given[i];
        if (!sem_to_ir(lo, &all[i], "an argument of inline_asm_elementwise()"))
            return NULL;
    }
    for (uint32_t i = 1; i < *n; i++) // the first one gets the shape of all
        if (!sem_broadcast_pair(lo, &all[0], &all[i], range))
            return NULL;
    for (uint32_t i = 0; i < *n; i++) {
        if (!sem_broadcast_pair(lo, &all[0], &all[i], range))
            return NULL;
        operands[i] = all[i].ir;
    }
    return operands;
}

/// The types of the results, of the shape of the operands; NULL after an error.
static ir_type *read_results(lowering *lo, const value *dtypes, ir_type shape, uint32_t *n,
                             src_range range) {
    const value *given = items_of(dtypes, n);
    ir_type *types = ARENA_ARRAY(lo->arena, ir_type, *n + 1);
    for (uint32_t i = 0; i < *n; i++) {
        if (given[i].kind != VALUE_DTYPE || given[i].type.rank || given[i].type.elem == DT_PTR) {
            lower_error(lo, value_place(&given[i], range),
                        "inline_asm_elementwise(): 'dtype' must be a type of numbers or a tuple of "
                        "them, not %s",
                        sem_describe(lo, &given[i]));
            return NULL;
        }
        types[i] = ir_type_with_elem(shape, given[i].type.elem);
    }
    return types;
}

value build_inline_asm(lowering *lo, value *args, src_range range) {
    uint32_t num_operands, num_results;
    ir_value **operands = read_operands(lo, &args[2], &num_operands, range);
    if (!operands)
        return value_poison();
    ir_type shape = num_operands ? operands[0]->type : ir_scalar_type(DT_I32);
    ir_type *types = read_results(lo, &args[3], shape, &num_results, range);
    if (!types)
        return value_poison();
    lower_set_range(lo, range);
    ir_opcode opcode = args[4].i ? OP_ASM : OP_ASM_EFFECT;
    ir_op *op = ir_create(&lo->b, opcode, operands, num_operands, types, num_results);
    ir_set_str(op, ATTR_CONSTRAINTS, args[1].str);
    ir_set_int(op, ATTR_PACK, args[5].i);
    ir_set_str(op, ATTR_TEXT, args[0].str);
    const char *problem = asm_check(lo->arena, op);
    if (problem) {
        ir_remove(op);
        return lower_error(lo, range, "inline_asm_elementwise(): %s", problem);
    }
    if (args[3].kind != VALUE_TUPLE)
        return value_ir(op->results[0]);
    value *results = ARENA_ARRAY(lo->arena, value, num_results);
    for (uint32_t i = 0; i < num_results; i++)
        results[i] = value_ir(op->results[i]);
    return value_tuple(lo->arena, results, num_results);
}

// --- tl.extra.cuda

value build_num_threads(lowering *lo, value *args, src_range range) {
    (void)args, (void)range;
    return value_int(32 * (int64_t)lo->options->num_warps);
}

value build_num_warps(lowering *lo, value *args, src_range range) {
    (void)args, (void)range;
    return value_int(lo->options->num_warps);
}

value build_globaltimer(lowering *lo, value *args, src_range range) {
    (void)args, (void)range;
    return value_ir(ir_create_value(&lo->b, OP_GLOBALTIMER, NULL, 0, ir_scalar_type(DT_I64)));
}

value build_smid(lowering *lo, value *args, src_range range) {
    (void)args, (void)range;
    return value_ir(ir_create_value(&lo->b, OP_SMID, NULL, 0, ir_scalar_type(DT_I32)));
}

static value effect(lowering *lo, ir_opcode op) {
    ir_create(&lo->b, op, NULL, 0, NULL, 0);
    return value_none();
}

value build_gdc_wait(lowering *lo, value *args, src_range range) {
    (void)args, (void)range;
    return effect(lo, OP_GDC_WAIT);
}

value build_gdc_launch_dependents(lowering *lo, value *args, src_range range) {
    (void)args, (void)range;
    return effect(lo, OP_GDC_LAUNCH);
}
