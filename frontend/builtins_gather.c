// histogram and gather: data decides where an element goes, or comes from.
#include "frontend/builtins.h"

/// The mask of a histogram as i1 in the shape of x; all true if there is none. False after an error.
static bool read_mask(lowering *lo, value mask, const value *x, ir_value **out, src_range range) {
    if (mask.kind == VALUE_NONE)
        mask = value_bool(true);
    bool is_bool = mask.kind == VALUE_IR ? value_elem(&mask) == DT_I1 : mask.kind == VALUE_BOOL;
    if (!is_bool) {
        lower_error(lo, value_place(&mask, range), "histogram(): the mask must be i1, not %s%s",
                    sem_describe(lo, &mask), mask.kind == VALUE_IR ? "; compare it: m != 0" : "");
        return false;
    }
    mask = sem_materialize(lo, mask, range);
    ir_type t = mask.ir->type;
    if (t.rank > 1 || (t.rank == 1 && t.shape[0] != 1 && t.shape[0] != x->ir->type.shape[0])) {
        sem_mismatch(lo, value_place(&mask, range), &mask, x,
                     "histogram(): the mask %s does not fit %s", sem_describe(lo, &mask),
                     sem_describe(lo, x));
        return false;
    }
    mask = sem_broadcast_to(lo, mask, x->ir->type.shape, 1, range);
    if (value_is_poison(&mask))
        return false;
    *out = mask.ir;
    return true;
}

value build_histogram(lowering *lo, value *args, src_range range) {
    const value *x = &args[0], *bins = &args[1];
    ir_value *mask;
    if (!dtype_is_int(value_elem(x)) || x->ir->type.rank != 1)
        return lower_error(lo, value_place(x, range),
                           "histogram() counts the elements of a 1-D tile of integers, not %s%s",
                           sem_describe(lo, x),
                           dtype_is_int(value_elem(x)) && x->ir->type.rank ? "; use x.ravel()"
                                                                           : "");
    if (bins->is_unsigned || bins->i < 1 || bins->i > IR_MAX_ELEMENTS || (bins->i & (bins->i - 1)))
        return lower_error(lo, value_place(bins, range),
                           "histogram(): 'num_bins' must be a power of two up to %d, not %lld: the "
                           "counts are a tile",
                           IR_MAX_ELEMENTS, (long long)bins->i);
    if (!read_mask(lo, args[2], x, &mask, range))
        return value_poison();
    ir_type type = ir_tile_type(ir_scalar_type(DT_I32), (uint32_t[]){(uint32_t)bins->i}, 1);
    return value_ir(
        ir_create(&lo->b, OP_HISTOGRAM, (ir_value *[]){x->ir, mask}, 2, &type, 1)->results[0]);
}

/// The values of an index, as far as they are plain to see. False: they are not.
static bool find_range(const ir_value *v, int64_t *least, int64_t *most) {
    const ir_op *def = v->def;
    while (def && (def->opcode == OP_RESHAPE || def->opcode == OP_BROADCAST ||
                   def->opcode == OP_SPLAT || def->opcode == OP_PERMUTE))
        def = def->operands[0]->def;
    if (def && def->opcode == OP_CONST) {
        unsigned unused = 64 - dtype_bits(def->results[0]->type.elem);
        uint64_t bits = (uint64_t)ir_get_int(def, ATTR_VALUE, 0) << unused;
        bool is_signed = dtype_is_signed(def->results[0]->type.elem);
        *least = *most = is_signed ? (int64_t)bits >> unused : (int64_t)(bits >> unused);
        return true;
    }
    if (!def || def->opcode != OP_ARANGE)
        return false;
    *least = ir_get_int(def, ATTR_START, 0);
    *most = *least + ir_type_elements(def->results[0]->type) - 1;
    return true;
}

/// Whether the index goes with src: one shape but for the axis. False after an error.
static bool check_index(lowering *lo, const value *src, const value *index, unsigned axis,
                        src_range range) {
    ir_type t = src->ir->type, u = index->ir->type;
    bool fits = t.rank == u.rank;
    for (unsigned d = 0; fits && d < t.rank; d++)
        fits = d == axis || t.shape[d] == u.shape[d];
    if (!fits) {
        sem_mismatch(lo, value_place(index, range), src, index,
                     "gather(): src and index may differ in extent along axis %u only, but are %s "
                     "and %s",
                     axis, sem_describe(lo, src), sem_describe(lo, index));
        return false;
    }
    int64_t least, most;
    if (find_range(index->ir, &least, &most) && (least < 0 || most >= t.shape[axis])) {
        lower_error(lo, value_place(index, range),
                    "gather(): index %lld is out of range for axis %u of %s",
                    (long long)(least < 0 ? least : most), axis, sem_describe(lo, src));
        return false;
    }
    return true;
}

value build_gather(lowering *lo, value *args, src_range range) {
    const value *src = &args[0], *index = &args[1];
    unsigned axis;
    if (src->ir->type.rank == 0)
        return lower_error(lo, value_place(src, range), "gather() takes from a tile, not from %s",
                           sem_describe(lo, src));
    if (!dtype_is_int(value_elem(index)) || value_elem(index) == DT_I1)
        return lower_error(lo, value_place(index, range),
                           "gather(): the index must be integers, not %s", sem_describe(lo, index));
    if (!sem_read_axis(lo, &args[2], src->ir->type.rank, &axis, range) ||
        !check_index(lo, src, index, axis, range))
        return value_poison();
    ir_type type =
        ir_tile_type(ir_element_type(src->ir->type), index->ir->type.shape, index->ir->type.rank);
    ir_value *v = ir_create_value(&lo->b, OP_GATHER, (ir_value *[]){src->ir, index->ir}, 2, type);
    ir_set_int(v->def, ATTR_AXIS, axis);
    return value_ir(v);
}
