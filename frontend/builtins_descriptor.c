// Tensor descriptors: tl.make_tensor_descriptor and the methods of what it gives. A descriptor is a
// block pointer without a place: each access says where its block lies, and always checks bounds.
// What is out of bounds reads as zero or NaN, and is not written. The limits are those of the
// hardware's descriptors, so that these can be used later on; today an access is pointer
// arithmetic and a mask (builtins_block.c).
#include "frontend/builtins.h"

enum {
    MAX_DESCRIPTOR_RANK = 5,
    MIN_ROW_BYTES = 16,
};

static unsigned all_dimensions(const value *desc) { return (1u << desc->type.rank) - 1; }

value build_make_tensor_descriptor(lowering *lo, value *args, src_range range) {
    const char *what = "make_tensor_descriptor()";
    value v, fill;
    if (!block_begin(lo, what, VALUE_DESCRIPTOR, &args[0], &args[3], 2, &v, range))
        return value_poison();
    unsigned rank = v.type.rank, bytes = dtype_bytes(v.type.pointee);
    if (rank > MAX_DESCRIPTOR_RANK)
        return lower_error(lo, value_place(&args[3], range), "%s: at most %d dimensions, not %u",
                           what, MAX_DESCRIPTOR_RANK, rank);
    if (v.type.shape[rank - 1] * bytes < MIN_ROW_BYTES)
        return lower_error(lo, value_place(&args[3], range),
                           "%s: the last dimension of a block has %d bytes at least; this has %u "
                           "elements of %s",
                           what, MIN_ROW_BYTES, v.type.shape[rank - 1], dtype_name(v.type.pointee));
    value *strides = v.items + 1 + rank;
    if (!block_read_entries(lo, what, "shape", &args[1], rank, v.items + 1, range) ||
        !block_read_entries(lo, what, "strides", &args[2], rank, strides, range) ||
        !block_read_padding(lo, &args[4], v.type.pointee, &fill, range))
        return value_poison();
    if (strides[rank - 1].kind != VALUE_INT || strides[rank - 1].i != 1)
        return lower_error(lo, value_place(&args[2], range),
                           "%s: the last stride is 1, known at compile time, not %s", what,
                           sem_describe(lo, &args[2].items[rank - 1]));
    v.i = fill.kind != VALUE_NONE;
    return v;
}

// --- accesses at an offset

static bool check_descriptor(lowering *lo, const char *what, const value *v, src_range range) {
    if (v->kind == VALUE_DESCRIPTOR)
        return true;
    lower_error(lo, value_place(v, range), "%s needs a tensor descriptor, not %s", what,
                sem_describe(lo, v));
    return false;
}

/// The pointers and the mask of the block at these offsets.
static bool read_place(lowering *lo, const char *what, const value *desc, const value *offsets,
                       value *ptr, value *mask, src_range range) {
    value entries[IR_MAX_RANK];
    if (!check_descriptor(lo, what, desc, range) ||
        !block_read_entries(lo, what, "offsets", offsets, desc->type.rank, entries, range))
        return false;
    block_access(lo, desc, entries, all_dimensions(desc), ptr, mask, range);
    return ptr->kind == VALUE_IR;
}

/// A load of what the mask lets through; the rest is what the descriptor says.
static value load_masked(lowering *lo, const value *desc, value ptr, value mask, src_range range) {
    value none = value_none(), other = none;
    if (desc->i && mask.kind != VALUE_NONE)
        other = value_float(__builtin_nan(""));
    value args[] = {ptr, mask, other, none, none, none, none, value_bool(false)};
    return build_load(lo, args, range);
}

/// pointer, value, mask, boundary_check, cache_modifier, eviction_policy: the value has the block's
/// shape.
static value store_masked(lowering *lo, value ptr, value stored, value mask, src_range range) {
    value none = value_none(), args[] = {ptr, stored, mask, none, none, none};
    return build_store(lo, args, range);
}

value build_load_tensor_descriptor(lowering *lo, value *args, src_range range) {
    value ptr, mask;
    if (!read_place(lo, "a load", &args[0], &args[1], &ptr, &mask, range))
        return value_poison();
    return load_masked(lo, &args[0], ptr, mask, range);
}

value build_store_tensor_descriptor(lowering *lo, value *args, src_range range) {
    value ptr, mask;
    if (!read_place(lo, "a store", &args[0], &args[1], &ptr, &mask, range))
        return value_poison();
    return store_masked(lo, ptr, args[2], mask, range);
}

/// As the hardware's reductions: no order, and no result.
static value reduce_into(lowering *lo, builtin_builder *atomic, value *args, src_range range) {
    value ptr, mask;
    if (!read_place(lo, "an atomic", &args[0], &args[1], &ptr, &mask, range))
        return value_poison();
    value rest[] = {ptr, args[2], mask, value_string(SV("relaxed")), value_none()};
    value old = atomic(lo, rest, range);
    return value_is_poison(&old) ? old : value_none();
}

#define REDUCTION(kind)                                                                            \
    static value descriptor_##kind(lowering *lo, value *args, src_range range) {                   \
        return reduce_into(lo, build_atomic_##kind, args, range);                                  \
    }
REDUCTION(add)
REDUCTION(max)
REDUCTION(min)
REDUCTION(and)
REDUCTION(or)
REDUCTION(xor)

// --- rows by a tile of indices

/// The pointers and the mask of rows x of the array, from column y on.
static bool read_rows(lowering *lo, const char *what, const value *desc, const value *x,
                      const value *y, value *ptr, value *mask, src_range range) {
    value list = value_tuple(lo->arena, (value[]){value_int(0), *y}, 2), entries[2];
    if (!check_descriptor(lo, what, desc, range))
        return false;
    if (desc->type.rank != 2 || desc->type.shape[0] != 1) {
        lower_error(lo, range, "%s needs a descriptor of blocks of one row, (1, N), not %s", what,
                    sem_describe(lo, desc));
        return false;
    }
    if (x->kind != VALUE_IR || x->ir->type.rank != 1 || !dtype_is_int(value_elem(x))) {
        lower_error(lo, value_place(x, range), "%s: 'x_offsets' is a tile of row numbers, not %s",
                    what, sem_describe(lo, x));
        return false;
    }
    if (!block_read_entries(lo, what, "offsets", &list, 2, entries, range))
        return false;
    block_access(lo, desc, entries, 1u << 1, ptr, mask, range);
    value rows = value_ir(sem_expand_dims(lo, sem_cast_ir(lo, x->ir, DT_I64), 1));
    value moved = sem_binary(lo, AST_MUL, rows, desc->items[3], range);
    value inside = sem_compare(lo, AST_LT, rows, desc->items[1], range);
    inside =
        sem_logical(lo, AST_AND, inside, sem_compare(lo, AST_GE, rows, value_int(0), range), range);
    *ptr = sem_binary(lo, AST_ADD, *ptr, moved, range);
    *mask = mask->kind == VALUE_NONE ? inside : sem_logical(lo, AST_AND, *mask, inside, range);
    return ptr->kind == VALUE_IR && mask->kind == VALUE_IR;
}

/// desc, x_offsets, y_offset
static value descriptor_gather(lowering *lo, value *args, src_range range) {
    value ptr, mask;
    if (!read_rows(lo, "gather()", &args[0], &args[1], &args[2], &ptr, &mask, range))
        return value_poison();
    return load_masked(lo, &args[0], ptr, mask, range);
}

/// desc, value, x_offsets, y_offset
static value descriptor_scatter(lowering *lo, value *args, src_range range) {
    value ptr, mask;
    if (!read_rows(lo, "scatter()", &args[0], &args[2], &args[3], &ptr, &mask, range))
        return value_poison();
    return store_masked(lo, ptr, args[1], mask, range);
}

// --- attributes

static const builtin methods[] = {
    {"load", "desc, offsets", 0, build_load_tensor_descriptor},
    {"store", "desc, offsets, value", 0, build_store_tensor_descriptor},
    {"atomic_add", "desc, offsets, value", 0, descriptor_add},
    {"atomic_max", "desc, offsets, value", 0, descriptor_max},
    {"atomic_min", "desc, offsets, value", 0, descriptor_min},
    {"atomic_and", "desc, offsets, value", 0, descriptor_and},
    {"atomic_or", "desc, offsets, value", 0, descriptor_or},
    {"atomic_xor", "desc, offsets, value", 0, descriptor_xor},
    {"gather", "desc, x_offsets, y_offset", 0, descriptor_gather},
    {"scatter", "desc, value, x_offsets, y_offset", 0, descriptor_scatter},
};

/// Entries as the author gave them; extents at run time are i32, as in Triton.
static value list_of(lowering *lo, const value *entries, unsigned rank, dtype t) {
    value v = value_tuple(lo->arena, entries, rank);
    for (unsigned d = 0; d < rank; d++)
        if (v.items[d].kind == VALUE_IR)
            v.items[d].ir = sem_cast_ir(lo, v.items[d].ir, t);
    return v;
}

static bool descriptor_attribute(lowering *lo, const value *x, sv name, value *out) {
    unsigned rank = x->type.rank;
    ir_type tile = ir_type_with_elem(x->type, x->type.pointee);
    value dims[IR_MAX_RANK];
    for (unsigned d = 0; d < rank; d++)
        dims[d] = value_int(x->type.shape[d]);
    if (sv_is(name, "dtype"))
        *out = value_dtype(ir_element_type(tile));
    else if (sv_is(name, "block_type"))
        *out = value_dtype(tile);
    else if (sv_is(name, "block_shape"))
        *out = value_tuple(lo->arena, dims, rank);
    else if (sv_is(name, "shape"))
        *out = list_of(lo, x->items + 1, rank, DT_I32);
    else if (sv_is(name, "strides"))
        *out = list_of(lo, x->items + 1 + rank, rank, DT_I64);
    else
        return false;
    return true;
}

value block_attribute(lowering *lo, const value *x, sv name, src_range range) {
    value out;
    lower_set_range(lo, range);
    name_guess g = guess_begin(name);
    if (x->kind == VALUE_BLOCK_POINTER) {
        if (sv_is(name, "dtype") || sv_is(name, "type"))
            return value_dtype(ir_element_type(x->type));
        bool method = sv_is(name, "load") || sv_is(name, "store") || sv_is(name, "advance");
        if (method && builtin_bind_method(lo, x, name, range, &out))
            return out;
    } else {
        if (descriptor_attribute(lo, x, name, &out))
            return out;
        for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
            guess_try(&g, sv_from(methods[i].name));
            if (!sv_is(name, methods[i].name))
                continue;
            out = (value){.kind = VALUE_BUILTIN, .builtin = &methods[i], .range = range};
            out.self = ARENA_NEW(lo->arena, value);
            *out.self = *x;
            return out;
        }
    }
    return lower_error(lo, range, "%s has no attribute '%" SV_FMT "'%s", sem_describe(lo, x),
                       SV_ARG(name), guess_text(lo, &g));
}
