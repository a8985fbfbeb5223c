// Shapes: what a shape may be, broadcasting, subscripts. Ranks are padded with leading 1s, extents
// must be equal or 1. Scalars become tiles by splat.
#include "frontend/semantics.h"

// --- shapes

const char *sem_shape_text(lowering *lo, const uint32_t *dims, unsigned rank) {
    strbuf s;
    strbuf_init(&s, lo->arena);
    strbuf_putc(&s, '(');
    for (unsigned i = 0; i < rank; i++)
        strbuf_printf(&s, "%s%u", i ? ", " : "", dims[i]);
    strbuf_puts(&s, rank == 1 ? ",)" : ")");
    return s.data;
}

tile_shape sem_shape_of(const ir_value *v) {
    tile_shape s = {.rank = v->type.rank};
    memcpy(s.dims, v->type.shape, sizeof(s.dims));
    return s;
}

bool sem_check_shape(lowering *lo, const tile_shape *s, src_range range) {
    uint64_t elements = 1;
    for (unsigned i = 0; i < s->rank; i++) {
        uint32_t extent = s->dims[i];
        if (extent == 0 || (extent & (extent - 1)) != 0) {
            lower_error(lo, range, "extents of a tile are powers of two, %u is not", extent);
            return false;
        }
        elements *= extent;
        if (elements > IR_MAX_ELEMENTS) {
            lower_error(lo, range, "a tile has at most %u elements; shape %s has more",
                        (unsigned)IR_MAX_ELEMENTS, sem_shape_text(lo, s->dims, s->rank));
            return false;
        }
    }
    return true;
}

bool sem_read_shape(lowering *lo, const value *v, tile_shape *out, src_range range) {
    const value *items = v->kind == VALUE_TUPLE ? v->items : v;
    uint32_t n = v->kind == VALUE_TUPLE ? v->num_items : 1;
    // reshape(x, (4, 8)) and reshape(x, 4, 8) both arrive here; the former as a tuple of one tuple.
    if (n == 1 && items[0].kind == VALUE_TUPLE)
        return sem_read_shape(lo, &items[0], out, range);
    if (n > IR_MAX_RANK) {
        lower_error(lo, range, "a tile has at most %d dimensions, not %u", IR_MAX_RANK, n);
        return false;
    }
    out->rank = n;
    memset(out->dims, 0, sizeof(out->dims));
    for (uint32_t i = 0; i < n; i++) {
        const value *item = &items[i];
        src_range place = value_place(item, range);
        if (item->kind == VALUE_POISON)
            return false;
        if (item->kind != VALUE_INT) {
            lower_error(lo, place, "a shape is made of compile-time integers, not %s%s",
                        sem_describe(lo, item),
                        item->kind == VALUE_IR ? "; declare it as constexpr" : "");
            return false;
        }
        if (item->i < 0 && !item->is_unsigned) {
            lower_error(lo, place, "extents of a tile are powers of two, %lld is not",
                        (long long)item->i);
            return false;
        }
        if (item->is_unsigned || item->i > IR_MAX_ELEMENTS) {
            strbuf text;
            strbuf_init(&text, lo->arena);
            value_print(item, &text);
            lower_error(lo, place, "a tile has at most %u elements, and this extent is %s",
                        (unsigned)IR_MAX_ELEMENTS, text.data);
            return false;
        }
        out->dims[i] = (uint32_t)item->i;
    }
    return sem_check_shape(lo, out, range);
}

bool sem_read_axis(lowering *lo, const value *v, unsigned rank, unsigned *axis, src_range range) {
    src_range place = value_place(v, range);
    if (v->kind == VALUE_POISON)
        return false;
    if (v->kind != VALUE_INT) {
        lower_error(lo, place, "an axis is a compile-time integer, not %s", sem_describe(lo, v));
        return false;
    }
    if (v->is_unsigned || v->i < -(int64_t)rank || v->i >= (int64_t)rank) {
        lower_error(lo, place, "axis %lld is out of range for %u dimension%s", (long long)v->i,
                    rank, rank == 1 ? "" : "s");
        return false;
    }
    *axis = (unsigned)(v->i < 0 ? v->i + rank : v->i);
    return true;
}

// --- changing shapes

/// The element of a tile of one, as a scalar: a reduction that never combines.
static ir_value *only_element(lowering *lo, ir_value *x) {
    if (x->type.rank != 1)
        x = ir_reshape(&lo->b, x, (uint32_t[]){1}, 1);
    ir_type scalar = ir_element_type(x->type);
    ir_op *op = ir_create(&lo->b, OP_REDUCE, &x, 1, &scalar, 1);
    ir_set_int(op, ATTR_AXIS, 0);
    ir_block *body = ir_block_create(lo->func, op);
    op->regions[0] = body;
    ir_value *first = ir_add_block_arg(body, scalar, (sv){0});
    ir_add_block_arg(body, scalar, (sv){0});
    ir_builder inside = lo->b;
    inside.block = body;
    inside.before = NULL;
    ir_yield(&inside, &first, 1);
    return op->results[0];
}

ir_value *sem_reshape(lowering *lo, ir_value *x, const tile_shape *shape) {
    tile_shape from = sem_shape_of(x);
    if (from.rank == shape->rank &&
        memcmp(from.dims, shape->dims, shape->rank * sizeof(shape->dims[0])) == 0)
        return x;
    if (from.rank == 0)
        return ir_splat(&lo->b, x, shape->dims, shape->rank);
    if (shape->rank == 0)
        return only_element(lo, x);
    return ir_reshape(&lo->b, x, shape->dims, shape->rank);
}

ir_value *sem_expand_dims(lowering *lo, ir_value *x, unsigned axis) {
    tile_shape s = sem_shape_of(x);
    memmove(&s.dims[axis + 1], &s.dims[axis], (s.rank - axis) * sizeof(s.dims[0]));
    s.dims[axis] = 1;
    s.rank++;
    return sem_reshape(lo, x, &s);
}

/// The shape both broadcast to; false if there is none.
static bool common_shape(const ir_value *x, const ir_value *y, tile_shape *out) {
    tile_shape a = sem_shape_of(x), b = sem_shape_of(y);
    *out = (tile_shape){.rank = a.rank > b.rank ? a.rank : b.rank};
    for (unsigned i = 0; i < out->rank; i++) { // from the last dimension
        uint32_t da = i < a.rank ? a.dims[a.rank - 1 - i] : 1;
        uint32_t db = i < b.rank ? b.dims[b.rank - 1 - i] : 1;
        if (da != db && da != 1 && db != 1)
            return false;
        out->dims[out->rank - 1 - i] = da > db ? da : db;
    }
    return true;
}

/// x in a shape it is known to broadcast to.
static ir_value *broadcast_ir(lowering *lo, ir_value *x, const tile_shape *to) {
    uint64_t bits;
    unsigned rank = x->type.rank;
    if (rank == 0 && to->rank > 0) {
        if (x->def && x->def->opcode == OP_CONST && ir_is_const(x, &bits))
            return ir_const_bits(&lo->b, ir_tile_type(x->type, to->dims, to->rank), bits);
        return ir_splat(&lo->b, x, to->dims, to->rank);
    }
    tile_shape padded = {.rank = to->rank};
    for (unsigned i = 0; i < to->rank; i++)
        padded.dims[i] = i < to->rank - rank ? 1 : x->type.shape[i - (to->rank - rank)];
    x = sem_reshape(lo, x, &padded);
    if (memcmp(padded.dims, to->dims, sizeof(padded.dims)) == 0)
        return x;
    return ir_broadcast(&lo->b, x, to->dims);
}

bool sem_check_broadcast(lowering *lo, const value *x, const value *y, tile_shape *shape,
                         src_range range) {
    if (common_shape(x->ir, y->ir, shape))
        return sem_check_shape(lo, shape, range);
    sem_mismatch(lo, range, x, y, "cannot broadcast %s with %s", sem_describe(lo, x),
                 sem_describe(lo, y));
    return false;
}

bool sem_broadcast_pair(lowering *lo, value *x, value *y, src_range range) {
    tile_shape shape;
    if (value_is_poison(x) || value_is_poison(y))
        return false;
    if (ir_shape_equal(x->ir->type, y->ir->type))
        return true;
    if (!sem_check_broadcast(lo, x, y, &shape, range))
        return false;
    x->ir = broadcast_ir(lo, x->ir, &shape);
    y->ir = broadcast_ir(lo, y->ir, &shape);
    return true;
}

value sem_broadcast_to(lowering *lo, value x, const uint32_t *dims, unsigned rank,
                       src_range range) {
    if (value_is_poison(&x))
        return x;
    tile_shape to = {.rank = rank};
    memcpy(to.dims, dims, rank * sizeof(dims[0]));
    if (!sem_check_shape(lo, &to, range))
        return value_poison();
    x = sem_materialize(lo, x, range);
    if (value_is_poison(&x))
        return x;
    unsigned from = x.ir->type.rank;
    bool fits = from <= rank;
    for (unsigned i = 0; fits && i < from; i++) {
        uint32_t extent = x.ir->type.shape[i];
        fits = extent == 1 || extent == dims[rank - from + i];
    }
    if (!fits)
        return lower_error(lo, range, "cannot broadcast %s to shape %s", sem_describe(lo, &x),
                           sem_shape_text(lo, dims, rank));
    x.ir = broadcast_ir(lo, x.ir, &to);
    return x;
}

// --- subscripts

/// A bound of a slice, as Python brings it into least .. most; `missing` where it is not given.
static bool read_bound(lowering *lo, const value *v, int64_t count, const int64_t limits[2],
                       int64_t missing, int64_t *out, src_range range) {
    if (v->kind == VALUE_NONE) {
        *out = missing;
        return true;
    }
    if (v->kind != VALUE_INT && v->kind != VALUE_BOOL) {
        lower_error(lo, value_place(v, range), "a tuple is sliced by compile-time integers, not %s",
                    sem_describe(lo, v));
        return false;
    }
    int64_t i = v->is_unsigned ? limits[1] : v->i < 0 ? v->i + count : v->i;
    *out = i < limits[0] ? limits[0] : i > limits[1] ? limits[1] : i;
    return true;
}

/// t[lower:upper:step]
static value slice_tuple(lowering *lo, const value *x, const value *slice, src_range range) {
    int64_t count = x->num_items, step = 1, bounds[2];
    const value *by = &slice->items[2];
    if (by->kind == VALUE_INT || by->kind == VALUE_BOOL)
        step = by->is_unsigned ? INT64_MAX : by->i;
    else if (by->kind != VALUE_NONE)
        step = 0;
    if (step == 0)
        return lower_error(lo, value_place(by, range),
                           "the step of a slice is a compile-time integer that is not 0, not %s",
                           sem_describe(lo, by));
    int64_t down = step < 0, limits[2] = {-down, count - down};
    for (int i = 0; i < 2; i++)
        if (!read_bound(lo, &slice->items[i], count, limits, limits[i != down], &bounds[i], range))
            return value_poison();
    value *items = ARENA_ARRAY(lo->arena, value, x->num_items + 1);
    uint32_t n = 0;
    for (int64_t i = bounds[0]; down ? i > bounds[1] : i < bounds[1];) {
        items[n++] = x->items[i];
        if (__builtin_add_overflow(i, step, &i))
            break;
    }
    return value_tuple(lo->arena, items, n);
}

static value subscript_tuple(lowering *lo, const value *x, const value *index, uint32_t n,
                             src_range range) {
    if (n == 1 && index[0].kind == VALUE_SLICE && index[0].num_items == 0)
        return *x;
    if (n == 1 && index[0].kind == VALUE_SLICE)
        return slice_tuple(lo, x, &index[0], range);
    if (n != 1 || (index[0].kind != VALUE_INT && index[0].kind != VALUE_BOOL))
        return lower_error(lo, range, "a tuple is indexed by one compile-time integer%s%s",
                           n == 1 ? ", not " : "", n == 1 ? sem_describe(lo, &index[0]) : "");
    int64_t i = index[0].i, count = x->num_items;
    if (index[0].is_unsigned || i < -count || i >= count)
        return lower_error(lo, range, "index %lld is out of range for a tuple of %lld",
                           (long long)i, (long long)count);
    return x->items[i < 0 ? i + count : i];
}

/// x[:, None]: None makes a dimension of extent 1, ':' goes past one. A scalar has none to go past,
/// and takes the dimensions that None makes.
static value subscript_tile(lowering *lo, value x, const value *index, uint32_t n,
                            src_range range) {
    unsigned rank = x.ir->type.rank, axis = 0, kept = 0;
    for (uint32_t i = 0; i < n; i++)
        kept += index[i].kind == VALUE_SLICE;
    if (kept > rank && rank)
        return lower_error(lo, range, "too many ':' for %s, which has %u dimension%s",
                           sem_describe(lo, &x), rank, rank == 1 ? "" : "s");
    for (uint32_t i = 0; i < n; i++) {
        const value *item = &index[i];
        if (item->kind == VALUE_SLICE && item->num_items == 0) {
            axis += rank != 0;
            continue;
        }
        if (item->kind != VALUE_NONE)
            return lower_error(lo, value_place(item, range),
                               "%s is subscripted by ':' and None only, not by %s%s",
                               value_is_pointer(&x) ? "a pointer" : "a tile",
                               item->kind == VALUE_SLICE ? "a part" : sem_describe(lo, item),
                               value_is_pointer(&x) ? "; to read an element: tl.load(p + i)"
                                                    : "; to take elements: tl.gather, tl.split, or "
                                                      "a load of their own");
        if (x.ir->type.rank == IR_MAX_RANK)
            return lower_error(lo, range, "a tile has at most %d dimensions", IR_MAX_RANK);
        x.ir = sem_expand_dims(lo, x.ir, axis++);
    }
    return x;
}

value sem_subscript(lowering *lo, value x, const value *index, uint32_t n, src_range range) {
    if (value_is_poison(&x))
        return x;
    for (uint32_t i = 0; i < n; i++)
        if (value_is_poison(&index[i]))
            return value_poison();
    lower_set_range(lo, range);
    if (x.kind == VALUE_TUPLE)
        return subscript_tuple(lo, &x, index, n, range);
    if (x.kind == VALUE_IR)
        return subscript_tile(lo, x, index, n, range);
    return lower_error(lo, range, "%s cannot be subscripted", sem_describe(lo, &x));
}
