// Block pointers: tl.make_block_ptr, tl.advance, and what a load or store through one touches. A
// block pointer is no value at run time but a few of them: where an array of some dimensions
// begins, its shape and strides, and where in it the block lies. What is known at compile time
// among these stays so; the rest are i64 scalars, so nothing overflows before the pointer moves.
// An access becomes one of a tile of pointers, with a mask where bounds are to be checked; all
// passes see plain offsets then. builtins_descriptor.c does the same for tensor descriptors.
#include "frontend/builtins.h"

// --- entries: compile-time integers, or i64 scalars

/// One entry of a shape, of strides or offsets.
static bool read_entry(lowering *lo, const char *what, const char *role, value v, value *out,
                       src_range range) {
    int64_t known;
    bool is_scalar = v.kind == VALUE_IR && v.ir->type.rank == 0 && dtype_is_int(v.ir->type.elem);
    bool is_number = (v.kind == VALUE_INT && !v.is_unsigned) || v.kind == VALUE_BOOL;
    if (!is_scalar && !is_number) {
        if (v.kind != VALUE_POISON)
            lower_error(lo, value_place(&v, range), "%s: '%s' is made of integer scalars, not %s",
                        what, role, sem_describe(lo, &v));
        return false;
    }
    if (is_number)
        *out = value_int(v.i);
    else if (ir_is_const_int(v.ir, &known) && v.ir->type.elem != DT_U64)
        *out = value_int(known);
    else
        *out = value_with_ir(v, sem_cast_ir(lo, v.ir, DT_I64));
    return true;
}

bool block_read_entries(lowering *lo, const char *what, const char *role, const value *v,
                        unsigned rank, value *out, src_range range) {
    if (v->kind == VALUE_POISON)
        return false;
    if (v->kind != VALUE_TUPLE || v->num_items != rank) {
        lower_error(lo, value_place(v, range),
                    "%s: '%s' is a tuple of %u integer%s, one per dimension of the block, not "
                    "%s",
                    what, role, rank, rank == 1 ? "" : "s", sem_describe(lo, v));
        return false;
    }
    for (unsigned d = 0; d < rank; d++)
        if (!read_entry(lo, what, role, v->items[d], &out[d], value_place(v, range)))
            return false;
    return true;
}

/// The entry as a run-time value.
static ir_value *entry_ir(lowering *lo, const value *entry) {
    if (entry->kind == VALUE_IR)
        return entry->ir;
    return ir_const_int(&lo->b, ir_scalar_type(DT_I64), entry->i);
}

static bool is_known(const value *entry, int64_t n) {
    return entry->kind == VALUE_INT && entry->i == n;
}

/// x op y of two entries, computed now if both are known. Wraps at 64 bits.
static value combine(lowering *lo, ir_opcode op, const value *x, const value *y) {
    uint64_t a = (uint64_t)x->i, b = (uint64_t)y->i;
    if (x->kind == VALUE_INT && y->kind == VALUE_INT)
        return value_int((int64_t)(op == OP_ADD ? a + b : op == OP_SUB ? a - b : a * b));
    if (is_known(y, 0) && op != OP_MUL)
        return *x;
    if (is_known(y, 1) && op == OP_MUL)
        return *x;
    return value_ir(ir_binary(&lo->b, op, entry_ir(lo, x), entry_ir(lo, y)));
}

/// An entry brought into 0 .. most, as an i32.
static ir_value *clamp_entry(lowering *lo, const value *x, int64_t most) {
    if (x->kind == VALUE_INT) {
        int64_t v = x->i < 0 ? 0 : x->i > most ? most : x->i;
        return ir_const_int(&lo->b, ir_scalar_type(DT_I32), v);
    }
    ir_type wide = ir_scalar_type(DT_I64);
    ir_value *v = ir_binary(&lo->b, OP_MIN, x->ir, ir_const_int(&lo->b, wide, most));
    v = ir_binary(&lo->b, OP_MAX, v, ir_const_int(&lo->b, wide, 0));
    return ir_cast(&lo->b, v, DT_I32);
}

// --- making and moving

bool block_begin(lowering *lo, const char *what, value_kind kind, const value *base,
                 const value *shape, unsigned num_lists, value *out, src_range range) {
    tile_shape block;
    if (!value_is_pointer(base) || base->ir->type.rank) {
        if (base->kind != VALUE_POISON)
            lower_error(lo, value_place(base, range), "%s: the base is a pointer, not %s", what,
                        sem_describe(lo, base));
        return false;
    }
    if (!sem_read_shape(lo, shape, &block, value_place(shape, range)))
        return false;
    if (block.rank == 0) {
        lower_error(lo, value_place(shape, range), "%s: a block has one dimension at least", what);
        return false;
    }
    *out = (value){.kind = kind, .num_items = 1 + num_lists * block.rank};
    out->type = ir_tile_type(base->ir->type, block.dims, block.rank);
    out->items = ARENA_ARRAY(lo->arena, value, out->num_items);
    out->items[0] = *base;
    return true;
}

/// `order` says which dimension is contiguous; the strides say it as well, so it is only checked.
static bool check_order(lowering *lo, const value *order, unsigned rank, src_range range) {
    unsigned seen = 0;
    bool ok = order->kind == VALUE_TUPLE && order->num_items == rank;
    for (unsigned i = 0; ok && i < rank; i++) {
        const value *v = &order->items[i];
        ok = v->kind == VALUE_INT && !v->is_unsigned && v->i >= 0 && v->i < rank &&
             !(seen >> v->i & 1);
        if (ok)
            seen |= 1u << v->i;
    }
    if (!ok && order->kind != VALUE_POISON)
        lower_error(lo, value_place(order, range),
                    "make_block_ptr(): 'order' names each of the %u dimension%s once", rank,
                    rank == 1 ? "" : "s");
    return ok;
}

value build_make_block_ptr(lowering *lo, value *args, src_range range) {
    static const char *const roles[] = {"shape", "strides", "offsets"};
    const char *what = "make_block_ptr()";
    value v;
    if (!block_begin(lo, what, VALUE_BLOCK_POINTER, &args[0], &args[4], 3, &v, range))
        return value_poison();
    unsigned rank = v.type.rank;
    for (unsigned i = 0; i < 3; i++)
        if (!block_read_entries(lo, what, roles[i], &args[1 + i], rank, v.items + 1 + i * rank,
                                range))
            return value_poison();
    return check_order(lo, &args[5], rank, range) ? v : value_poison();
}

value build_advance(lowering *lo, value *args, src_range range) {
    value steps[IR_MAX_RANK], v = args[0];
    if (v.kind != VALUE_BLOCK_POINTER)
        return lower_error(lo, value_place(&v, range), "advance() moves a block pointer, not %s%s",
                           sem_describe(lo, &v), value_is_pointer(&v) ? "; write p + n" : "");
    unsigned rank = v.type.rank, first = 1 + 2 * rank;
    if (!block_read_entries(lo, "advance()", "offsets", &args[1], rank, steps, range))
        return value_poison();
    v.items = ARENA_ARRAY(lo->arena, value, v.num_items);
    memcpy(v.items, args[0].items, v.num_items * sizeof(value));
    for (unsigned d = 0; d < rank; d++)
        v.items[first + d] = combine(lo, OP_ADD, &v.items[first + d], &steps[d]);
    return v;
}

// --- what a block touches

/// x, whose only dimension of more than one element is d, in the shape 1 x ... x B x ... x 1.
static ir_value *along(lowering *lo, ir_value *x, unsigned d, unsigned rank) {
    tile_shape s = {.rank = rank};
    for (unsigned i = 0; i < rank; i++)
        s.dims[i] = i == d ? x->type.shape[0] : 1;
    return sem_reshape(lo, x, &s);
}

static ir_value *count_to(lowering *lo, uint32_t n) {
    ir_type type = ir_tile_type(ir_scalar_type(DT_I32), &n, 1);
    ir_value *v = ir_create_value(&lo->b, OP_ARANGE, NULL, 0, type);
    ir_set_int(v->def, ATTR_START, 0);
    return v;
}

/// Moves pointers by an i32 or i64 tile times a stride.
static void move_by(lowering *lo, value *ptr, ir_value *steps, const value *stride,
                    src_range range) {
    value offset = value_ir(steps);
    if (!is_known(stride, 1)) {
        ir_value *wide = ir_cast(&lo->b, steps, DT_I64);
        ir_value *by = ir_splat(&lo->b, entry_ir(lo, stride), wide->type.shape, wide->type.rank);
        offset.ir = ir_binary(&lo->b, OP_MUL, wide, by);
    }
    if (sem_broadcast_pair(lo, ptr, &offset, range))
        ptr->ir = ir_addptr(&lo->b, ptr->ir, offset.ir);
}

/// Adds to the mask that 0 <= offset + i < extent for the i along dimension d. Which i these are is
/// computed once, so that elements compare 32 bits, and runs of equal outcomes are seen from what
/// divides the bounds.
static void check_bounds(lowering *lo, value *mask, unsigned d, const ir_type *type,
                         const value *offset, const value *extent, src_range range) {
    uint32_t size = type->shape[d];
    value left = combine(lo, OP_SUB, extent, offset), zero = value_int(0);
    bool begins_inside = offset->kind == VALUE_INT && offset->i >= 0;
    if (begins_inside && left.kind == VALUE_INT && left.i >= size)
        return;
    ir_value *i = count_to(lo, size);
    ir_value *end = ir_splat(&lo->b, clamp_entry(lo, &left, size), &size, 1);
    ir_value *inside = ir_cmp(&lo->b, "lt", i, end);
    if (!begins_inside) {
        value before = combine(lo, OP_SUB, &zero, offset);
        ir_value *begin = ir_splat(&lo->b, clamp_entry(lo, &before, size), &size, 1);
        inside = ir_binary(&lo->b, OP_AND, inside, ir_cmp(&lo->b, "ge", i, begin));
    }
    value right = value_ir(along(lo, inside, d, type->rank));
    if (mask->kind == VALUE_NONE)
        *mask = right;
    else if (sem_broadcast_pair(lo, mask, &right, range))
        mask->ir = ir_binary(&lo->b, OP_AND, mask->ir, right.ir);
}

void block_access(lowering *lo, const value *block, const value *offsets, unsigned checked,
                  value *ptr, value *mask, src_range range) {
    unsigned rank = block->type.rank;
    const value *shape = block->items + 1, *strides = shape + rank;
    value start = value_int(0);
    for (unsigned d = 0; d < rank; d++) {
        value by = combine(lo, OP_MUL, &offsets[d], &strides[d]);
        start = combine(lo, OP_ADD, &by, &start);
    }
    *ptr = block->items[0];
    if (!is_known(&start, 0))
        ptr->ir = ir_addptr(&lo->b, ptr->ir, entry_ir(lo, &start));
    // The contiguous dimension comes last: its steps are constants in each thread.
    for (unsigned pass = 0; pass < 2; pass++)
        for (unsigned d = 0; d < rank; d++)
            if (is_known(&strides[d], 1) == (pass == 1))
                move_by(lo, ptr, along(lo, count_to(lo, block->type.shape[d]), d, rank),
                        &strides[d], range);
    *mask = value_none();
    for (unsigned d = 0; d < rank; d++)
        if (checked >> d & 1)
            check_bounds(lo, mask, d, &block->type, &offsets[d], &shape[d], range);
    ptr->range = block->range;
}

// --- load and store

/// The dimensions that boundary_check lists, as bits.
static bool read_boundary_check(lowering *lo, const char *what, const value *v, unsigned rank,
                                unsigned *checked, src_range range) {
    const value *items = v->kind == VALUE_TUPLE ? v->items : v;
    uint32_t n = v->kind == VALUE_TUPLE ? v->num_items : v->kind == VALUE_NONE ? 0 : 1;
    *checked = 0;
    for (uint32_t i = 0; i < n; i++) {
        const value *item = &items[i];
        bool in_range =
            item->kind == VALUE_INT && !item->is_unsigned && item->i >= 0 && item->i < rank;
        if (!in_range || (*checked >> item->i & 1)) {
            lower_error(lo, value_place(item, value_place(v, range)),
                        in_range ? "%s: dimension %s stands in 'boundary_check' twice"
                                 : "%s: 'boundary_check' lists dimensions of the block, not %s",
                        what, sem_describe(lo, item));
            return false;
        }
        *checked |= 1u << item->i;
    }
    return true;
}

/// What elements out of bounds read as.
bool block_read_padding(lowering *lo, const value *v, dtype elem, value *other, src_range range) {
    *other = value_none();
    if (v->kind != VALUE_STRING || v->str.len == 0 || sv_is(v->str, "zero"))
        return true;
    if (!sv_is(v->str, "nan")) {
        lower_error(lo, value_place(v, range),
                    "'padding_option' is 'zero' or 'nan', not '%" SV_FMT "'", SV_ARG(v->str));
        return false;
    }
    if (!dtype_is_float(elem)) {
        lower_error(lo, value_place(v, range), "'padding_option' is 'nan', and %s has no NaN",
                    dtype_name(elem));
        return false;
    }
    *other = value_float(__builtin_nan(""));
    return true;
}

bool block_resolve(lowering *lo, const char *what, const value *boundary, const value *padding,
                   value *ptr, value *mask, value *other, src_range range) {
    bool is_block = ptr->kind == VALUE_BLOCK_POINTER;
    bool has_boundary =
        boundary->kind != VALUE_NONE && (boundary->kind != VALUE_TUPLE || boundary->num_items > 0);
    bool has_padding = padding && padding->kind == VALUE_STRING && padding->str.len;
    if (!is_block && (has_boundary || has_padding)) {
        lower_error(lo, value_place(has_boundary ? boundary : padding, range),
                    "%s: '%s' is for block pointers, and this is %s; mask it: mask=offs < n", what,
                    has_boundary ? "boundary_check" : "padding_option", sem_describe(lo, ptr));
        return false;
    }
    if (!is_block)
        return true;
    const value *extra = mask->kind != VALUE_NONE             ? mask
                         : other && other->kind != VALUE_NONE ? other
                                                              : NULL;
    if (extra) {
        lower_error(lo, value_place(extra, range),
                    "%s: a block pointer takes no '%s'; list what may be out of bounds in "
                    "'boundary_check'",
                    what, extra == mask ? "mask" : "other");
        return false;
    }
    value block = *ptr, fill = value_none();
    unsigned rank = block.type.rank, checked;
    if (!read_boundary_check(lo, what, boundary, rank, &checked, range) ||
        (padding && !block_read_padding(lo, padding, block.type.pointee, &fill, range)))
        return false;
    block_access(lo, &block, block.items + 1 + 2 * rank, checked, ptr, mask, range);
    if (other && mask->kind != VALUE_NONE) // else all of it is known to be in bounds
        *other = fill;
    return ptr->kind == VALUE_IR;
}
