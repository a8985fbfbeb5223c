// x.name: what tiles, numbers, types and modules answer. Whatever takes a tile first is a method of
// tiles as well (builtins.def says which).
#include "frontend/builtins.h"

// --- types

static bool is_floating(ir_type t) { return dtype_is_float(t.elem); }
static bool is_standard_floating(ir_type t) {
    return dtype_is_float(t.elem) && dtype_bits(t.elem) >= 16;
}
static bool is_int(ir_type t) { return dtype_is_int(t.elem); }
static bool is_int_signed(ir_type t) { return dtype_is_int(t.elem) && dtype_is_signed(t.elem); }
static bool is_int_unsigned(ir_type t) { return dtype_is_int(t.elem) && !dtype_is_signed(t.elem); }
static bool is_bool(ir_type t) { return t.elem == DT_I1; }
static bool is_ptr(ir_type t) { return t.elem == DT_PTR && t.rank == 0; }
static bool is_const(ir_type t) { return t.pointer_const; }
static bool is_block(ir_type t) { return t.rank > 0; }
static bool is_fp8(ir_type t) { return dtype_is_float(t.elem) && dtype_bits(t.elem) == 8; }

/// dtype.is_...()
static const struct {
    const char *name;
    bool (*holds)(ir_type t);
} queries[] = {
    {"is_floating", is_floating}, {"is_standard_floating", is_standard_floating},
    {"is_int", is_int},           {"is_int_signed", is_int_signed},
    {"is_bool", is_bool},         {"is_int_unsigned", is_int_unsigned},
    {"is_ptr", is_ptr},           {"is_const", is_const},
    {"is_block", is_block},       {"is_fp8", is_fp8},
};

static value shape_value(lowering *lo, ir_type t) {
    value dims[IR_MAX_RANK];
    for (unsigned i = 0; i < t.rank; i++)
        dims[i] = value_int(t.shape[i]);
    return value_tuple(lo->arena, dims, t.rank);
}

/// The element of a tile type, the pointee of a pointer type, else the type.
static ir_type element_of(ir_type t) {
    if (t.rank > 0)
        return ir_element_type(t);
    return t.elem == DT_PTR ? ir_scalar_type(t.pointee) : t;
}

static bool dtype_attribute(lowering *lo, ir_type t, sv name, value *out) {
    if (sv_is(name, "element_ty"))
        *out = value_dtype(element_of(t));
    else if (sv_is(name, "scalar"))
        *out = value_dtype(ir_element_type(t));
    else if (sv_is(name, "shape"))
        *out = shape_value(lo, t);
    else if (sv_is(name, "primitive_bitwidth") || (sv_is(name, "int_bitwidth") && is_int(t)))
        *out = value_int(dtype_bits(t.elem));
    else if (sv_is(name, "itemsize"))
        *out = value_int(dtype_bytes(t.elem));
    else if (sv_is(name, "name"))
        *out = value_string(sv_from(ir_type_string(lo->arena, t)));
    else
        return false;
    return true;
}

/// The least or greatest value of an integer type.
static value int_limit(dtype t, bool greatest) {
    unsigned bits = dtype_bits(t);
    bool is_signed = dtype_is_signed(t);
    if (!greatest)
        return value_int(is_signed ? -1 - (int64_t)(UINT64_MAX >> (65 - bits)) : 0);
    value v = value_int((int64_t)(UINT64_MAX >> (64 - bits + is_signed)));
    v.is_unsigned = v.i < 0;
    return v;
}

/// What is asked with parentheses: dtype.is_int32(), dtype.get_int_max_value().
static bool dtype_query(ir_type t, sv name, value *out) {
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        if (sv_is(name, queries[i].name)) {
            *out = value_bool(queries[i].holds(t));
            return true;
        }
    sv prefix = SV("is_");
    if (name.len > prefix.len && memcmp(name.data, prefix.data, prefix.len) == 0) {
        dtype asked = dtype_from_name((sv){name.data + prefix.len, name.len - prefix.len});
        *out = value_bool(t.rank == 0 && t.elem == asked);
        return asked != DT_VOID;
    }
    bool greatest = sv_is(name, "get_int_max_value");
    if (!dtype_is_int(t.elem) || (!greatest && !sv_is(name, "get_int_min_value")))
        return false;
    *out = int_limit(t.elem, greatest);
    return true;
}

static value attribute_of_dtype(lowering *lo, const value *x, sv name, src_range range) {
    value out;
    if (dtype_attribute(lo, x->type, name, &out))
        return out;
    if (dtype_query(x->type, name, &out))
        return builtin_answer(lo, out);
    if (sv_is(name, "get_block_shapes"))
        return builtin_answer(lo, shape_value(lo, x->type));
    name_guess g = guess_begin(name);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        guess_try(&g, sv_from(queries[i].name));
    return lower_error(lo, range, "a type has no attribute '%" SV_FMT "'%s", SV_ARG(name),
                       guess_text(lo, &g));
}

// --- tiles

static value transpose(lowering *lo, const value *x, src_range range) {
    value method;
    if (x->ir->type.rank != 2)
        return lower_error(lo, range, "'.T' needs two dimensions, got %s; see tl.permute",
                           sem_describe(lo, x));
    lower_set_range(lo, range);
    builtin_bind_method(lo, x, SV("trans"), range, &method);
    call_args args = {.range = range};
    return builtin_call(lo, method.builtin, method.self, &args);
}

/// What arrays of NumPy and PyTorch answer to, and how it is said here.
static const struct {
    const char *name, *here;
} elsewhere[] = {
    {"astype", "x.to(type)"},
    {"type_as", "x.to(y.dtype)"},
    {"float", "x.to(tl.float32)"},
    {"half", "x.to(tl.float16)"},
    {"int", "x.to(tl.int32)"},
    {"long", "x.to(tl.int64)"},
    {"double", "x.to(tl.float64)"},
    {"bool", "x != 0"},
    {"ndim", "len(x.shape)"},
    {"dim", "len(x.shape)"},
    {"size", "x.numel"},
    {"transpose", "tl.trans(x)"},
    {"mean", "x.sum(axis) / n"},
    {"pow", "libdevice.pow(x, y)"},
};

static value attribute_of_tile(lowering *lo, const value *x, sv name, src_range range) {
    ir_type t = x->ir->type;
    value out;
    if (sv_is(name, "dtype"))
        return value_dtype(ir_element_type(t));
    if (sv_is(name, "type"))
        return value_dtype(t);
    if (sv_is(name, "shape"))
        return shape_value(lo, t);
    if (sv_is(name, "numel"))
        return value_int(ir_type_elements(t));
    if (sv_is(name, "T"))
        return transpose(lo, x, range);
    if (builtin_bind_method(lo, x, name, range, &out))
        return out;
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (sv_is(name, elsewhere[i].name))
            return lower_error(lo, range, "%s has no attribute '%" SV_FMT "'; write %s",
                               sem_describe(lo, x), SV_ARG(name), elsewhere[i].here);
    return lower_error(lo, range, "%s has no attribute '%" SV_FMT "'%s", sem_describe(lo, x),
                       SV_ARG(name), builtin_suggest_method(lo, name));
}

// --- modules

static value member_of_module(lowering *lo, sv module, sv name, src_range range) {
    sv sub = program_triton_submodule(module, name);
    if (sub.len)
        return (value){.kind = VALUE_MODULE, .range = range, .str = sub};
    if (sv_is(module, "tl") && sv_is(name, "PropagateNan"))
        return (value){.kind = VALUE_MODULE, .range = range, .str = SV("tl.PropagateNan")};
    if (sv_is(module, "tl.PropagateNan") && (sv_is(name, "NONE") || sv_is(name, "ALL")))
        return value_int(sv_is(name, "ALL") ? 0xffff : 0);
    if (sv_is(module, "tl") && sv_is(name, "TRITON_MAX_TENSOR_NUMEL"))
        return value_int(IR_MAX_ELEMENTS);
    static const char *const classes[] = {"tensor", "dtype", "tensor_descriptor"};
    for (unsigned i = 0; i < 3; i++) // for isinstance()
        if (sv_is(module, "tl") && sv_is(name, classes[i]))
            return (value){.kind = VALUE_MODULE,
                           .range = range,
                           .str = sv_format(lo->arena, "tl.%s", classes[i])};
    value out;
    if (sv_is(module, "math") && python_math_member(name, &out))
        return out;
    const builtin *bi = builtin_find(module, name);
    if (bi)
        return builtin_value(lo, bi, module, range);
    dtype t = sv_is(module, "tl") ? dtype_from_name(name) : DT_VOID;
    if (t != DT_VOID && t != DT_PTR)
        return value_dtype(ir_scalar_type(t));
    return lower_error(lo, range, "'%" SV_FMT "' has no member '%" SV_FMT "'%s", SV_ARG(module),
                       SV_ARG(name), builtin_suggest(lo, module, name));
}

value sem_attribute(lowering *lo, value x, sv name, src_range range) {
    value out;
    switch (x.kind) {
    case VALUE_POISON:
        return x;
    case VALUE_MODULE:
        return member_of_module(lo, x.str, name, range);
    case VALUE_DTYPE:
        return attribute_of_dtype(lo, &x, name, range);
    case VALUE_IR:
        return attribute_of_tile(lo, &x, name, range);
    case VALUE_BLOCK_POINTER:
    case VALUE_DESCRIPTOR:
        return block_attribute(lo, &x, name, range);
    case VALUE_BOOL:
    case VALUE_INT:
    case VALUE_FLOAT:
        if (sv_is(name, "value")) // of a tl.constexpr
            return x;
        if (sv_is(name, "dtype"))
            return value_dtype(ir_scalar_type(sem_literal_type(&x)));
        if (builtin_bind_method(lo, &x, name, range, &out))
            return out;
        break;
    default:
        if (sv_is(name, "value"))
            return x;
        break;
    }
    return lower_error(lo, range, "%s has no attribute '%" SV_FMT "'", sem_describe(lo, &x),
                       SV_ARG(name));
}
