// map_elementwise: a function of single elements, with branches of its own, over tiles. The function
// is lowered once for scalars, in a block that belongs to no program; there both sides of a branch are
// computed and select picks, as in a reduction's function. Then each of its ops is made anew for the
// tiles, which to an elementwise op are as good as scalars.
#include "frontend/builtins_reduce.h"

#include <string.h>

typedef struct mapping {
    lowering *lo;
    ir_type shape; ///< of the tiles
    VEC(const ir_value *) from;
    VEC(ir_value *) to;
} mapping;

static void map_value(mapping *m, const ir_value *from, ir_value *to) {
    VEC_PUSH(m->lo->arena, m->from, from);
    VEC_PUSH(m->lo->arena, m->to, to);
}

static ir_value *mapped(const mapping *m, const ir_value *v) {
    for (uint32_t i = m->from.len; i-- > 0;) // mostly used soon after they are made
        if (m->from.data[i] == v)
            return m->to.data[i];
    return NULL;
}

/// The op for tiles.
static void map_op(mapping *m, const ir_op *op) {
    arena *a = m->lo->arena;
    ir_value **operands = ARENA_ARRAY(a, ir_value *, op->num_operands + 1);
    ir_type *types = ARENA_ARRAY(a, ir_type, op->num_results + 1);
    for (uint32_t i = 0; i < op->num_operands; i++)
        operands[i] = op->operands[i] ? mapped(m, op->operands[i]) : NULL;
    for (uint32_t i = 0; i < op->num_results; i++)
        types[i] = ir_tile_type(op->results[i]->type, m->shape.shape, m->shape.rank);
    m->lo->b.range = op->range;
    ir_op *wide =
        ir_create(&m->lo->b, op->opcode, operands, op->num_operands, types, op->num_results);
    wide->attrs = op->attrs;
    wide->num_attrs = op->num_attrs;
    for (uint32_t i = 0; i < op->num_results; i++)
        map_value(m, op->results[i], wide->results[i]);
}

/// What the function returns, for tiles.
static value map_result(mapping *m, value v, src_range range) {
    if (v.kind == VALUE_TUPLE) {
        value all = v;
        all.items = ARENA_ARRAY(m->lo->arena, value, v.num_items + 1);
        for (uint32_t i = 0; i < v.num_items; i++) {
            all.items[i] = map_result(m, v.items[i], range);
            if (value_is_poison(&all.items[i]))
                return value_poison();
        }
        return all;
    }
    if (value_is_number(&v)) {
        v = sem_materialize(m->lo, v, range);
        return value_is_poison(&v)
                   ? v
                   : sem_broadcast_to(m->lo, v, m->shape.shape, m->shape.rank, range);
    }
    if (v.kind != VALUE_IR)
        return lower_error(m->lo, range,
                           "the function of map_elementwise() must return numbers, "
                           "not %s",
                           sem_describe(m->lo, &v));
    return value_ir(mapped(m, v.ir));
}

static value map_tiles(lowering *lo, const value *function, value *xs, uint32_t n,
                       src_range range) {
    ir_op holder = {.opcode = OP_REDUCE}; // branches are lowered as in its functions
    ir_block *block = ir_block_create(lo->func, &holder);
    mapping m = {.lo = lo, .shape = xs[0].ir->type};
    value params[REDUCE_MAX_TILES];
    for (uint32_t i = 0; i < n; i++) {
        ir_value *element = ir_add_block_arg(block, ir_element_type(xs[i].ir->type), (sv){0});
        params[i] = value_ir(element);
        params[i].range = xs[i].range;
        map_value(&m, element, xs[i].ir);
    }
    ir_builder outside = lo->b;
    lo->b.block = block;
    lo->b.before = NULL;
    call_args args = {.positional = params, .num_positional = n, .range = range};
    value result = lower_call(lo, function, &args);
    lo->b = outside;
    if (value_is_poison(&result) ||
        !reduce_check_pure(lo, block, "the function of map_elementwise()", range))
        return value_poison();
    for (const ir_op *op = block->first; op; op = op->next)
        map_op(&m, op);
    lower_set_range(lo, range);
    return map_result(&m, result, range);
}

// scalar_fn, *args, pack=1
value build_map_elementwise(lowering *lo, value *args, src_range range) {
    const value *function = &args[0];
    uint32_t n = args[1].num_items;
    value *xs = args[1].items;
    if (function->kind != VALUE_FUNC && function->kind != VALUE_BUILTIN)
        return lower_error(lo, value_place(function, range),
                           "'scalar_fn' must be a function, not %s", sem_describe(lo, function));
    if (n == 0 || n > REDUCE_MAX_TILES)
        return lower_error(lo, range, "map_elementwise() takes 1 to %d tiles, not %u",
                           REDUCE_MAX_TILES, n);
    if (args[2].i != 1)
        return lower_error(lo, value_place(&args[2], range),
                           "map_elementwise() gives its function one element at a time; 'pack' "
                           "must be 1");
    for (uint32_t i = 0; i < n; i++)
        if (!sem_to_ir(lo, &xs[i], "what is mapped"))
            return value_poison();
    for (uint32_t i = 1; i < n; i++)
        if (!sem_broadcast_pair(lo, &xs[0], &xs[i], range))
            return value_poison();
    for (uint32_t i = 1; i < n; i++)
        if (!sem_broadcast_pair(lo, &xs[0], &xs[i], range)) // now that all have met the first
            return value_poison();
    return map_tiles(lo, function, xs, n, range);
}
