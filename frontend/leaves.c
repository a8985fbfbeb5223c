// Values as trees. A variable may hold a tuple of tuples, a range, or a method bound to a tile;
// what a branch or a loop has to pass on are the run-time values at the leaves. The tree itself
// stays with the name and is filled in again with block arguments or results.
#include "frontend/scope.h"

enum {
    MAX_TUPLE_ELEMENTS = 4096,
    MAX_TUPLE_DEPTH = 32,
};

value value_map_leaves(arena *a, value v, leaf_fn *fn, void *ctx) {
    if (v.kind == VALUE_IR) {
        v.ir = fn(ctx, v.ir);
        return v;
    }
    if (v.num_items) {
        value *items = ARENA_ARRAY(a, value, v.num_items);
        for (uint32_t i = 0; i < v.num_items; i++)
            items[i] = value_map_leaves(a, v.items[i], fn, ctx);
        v.items = items;
    }
    if (v.self) {
        value *self = ARENA_NEW(a, value);
        *self = value_map_leaves(a, *v.self, fn, ctx);
        v.self = self;
    }
    return v;
}

bool value_same(const value *a, const value *b) {
    if (a->kind != b->kind || a->num_items != b->num_items || !a->self != !b->self)
        return false;
    for (uint32_t i = 0; i < a->num_items; i++)
        if (!value_same(&a->items[i], &b->items[i]))
            return false;
    if (a->self && !value_same(a->self, b->self))
        return false;
    switch (a->kind) {
    case VALUE_BOOL:
        return a->i == b->i;
    case VALUE_INT:
        return a->i == b->i && a->is_unsigned == b->is_unsigned;
    case VALUE_FLOAT:
        return memcmp(&a->f, &b->f, sizeof a->f) == 0; // -0.0 is not 0.0
    case VALUE_RANGE:
        return a->i == b->i && a->num_stages == b->num_stages && a->unroll == b->unroll;
    case VALUE_TUPLE:
        return true;
    case VALUE_BLOCK_POINTER:
    case VALUE_DESCRIPTOR:
        return ir_type_equal(a->type, b->type) && a->i == b->i;
    case VALUE_POISON:
        return true;
    default:
        return value_equal(a, b);
    }
}

bool value_same_form(const value *a, const value *b) {
    return a->kind == b->kind && a->num_items == b->num_items && !a->self == !b->self &&
           a->func == b->func && a->builtin == b->builtin &&
           (!value_is_block(a) || (ir_type_equal(a->type, b->type) && a->i == b->i));
}

bool value_has_run_time(const value *v) {
    if (v->kind == VALUE_IR || (v->self && value_has_run_time(v->self)))
        return true;
    for (uint32_t i = 0; i < v->num_items; i++)
        if (value_has_run_time(&v->items[i]))
            return true;
    return false;
}

bool value_has_numbers(const value *v) {
    if (value_is_number(v))
        return true;
    for (uint32_t i = 0; v->kind == VALUE_TUPLE && i < v->num_items; i++)
        if (value_has_numbers(&v->items[i]))
            return true;
    return false;
}

value value_materialize_numbers(lowering *lo, value v, src_range range) {
    if (value_is_number(&v))
        return sem_materialize(lo, v, range);
    if (v.kind != VALUE_TUPLE)
        return v;
    value copy = value_tuple(lo->arena, v.items, v.num_items);
    copy.range = v.range;
    copy.defined = v.defined;
    for (uint32_t i = 0; i < v.num_items; i++)
        copy.items[i] = value_materialize_numbers(lo, v.items[i], range);
    return copy;
}

bool block_has_changed(const value *v, const value *now) {
    bool in_block = value_is_block(v), changed = false;
    if (!value_same_form(v, now) || (!in_block && v->kind != VALUE_TUPLE))
        return false;
    for (uint32_t i = 0; i < v->num_items; i++) {
        const value *a = &v->items[i], *b = &now->items[i];
        changed |= in_block ? a->kind == VALUE_INT && !value_same(a, b) : block_has_changed(a, b);
    }
    return changed;
}

value block_widen_changed(lowering *lo, const value *v, const value *now) {
    value wide = *v;
    if (!block_has_changed(v, now))
        return wide;
    wide.items = ARENA_ARRAY(lo->arena, value, v->num_items);
    for (uint32_t i = 0; i < v->num_items; i++) {
        const value *a = &v->items[i], *b = &now->items[i];
        if (!value_is_block(v))
            wide.items[i] = block_widen_changed(lo, a, b);
        else if (a->kind == VALUE_INT && !value_same(a, b))
            wide.items[i] = value_ir(ir_const_int(&lo->b, ir_scalar_type(DT_I64), a->i));
        else
            wide.items[i] = *a;
    }
    return wide;
}

/// Counts elements at all depths, up to the limits; false beyond one.
static bool count_elements(const value *v, unsigned depth, uint32_t *count) {
    if (++*count > MAX_TUPLE_ELEMENTS || depth > MAX_TUPLE_DEPTH)
        return false;
    for (uint32_t i = 0; v->kind == VALUE_TUPLE && i < v->num_items; i++)
        if (!count_elements(&v->items[i], depth + 1, count))
            return false;
    return true;
}

bool value_check_size(lowering *lo, const value *v, src_range range) {
    uint32_t count = 0;
    if (v->kind != VALUE_TUPLE || count_elements(v, 0, &count))
        return true;
    lower_error(lo, range, "a tuple can have at most %d elements, nested at most %d deep",
                MAX_TUPLE_ELEMENTS, MAX_TUPLE_DEPTH);
    return false;
}

ir_value *lower_dummy(lowering *lo, ir_type type) {
    if (ir_is_pointer(type)) {
        ir_value *zero = ir_const_int(&lo->b, ir_type_with_elem(type, DT_I64), 0);
        ir_op *cast = ir_create(&lo->b, OP_CAST, &zero, 1, &type, 1);
        return cast->results[0];
    }
    return dtype_is_float(type.elem) ? ir_const_float(&lo->b, type, 0)
                                     : ir_const_int(&lo->b, type, 0);
}
