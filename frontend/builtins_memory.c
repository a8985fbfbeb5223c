// Built-ins that touch memory. The pointer decides the shape and the element type: masks, values
// and `other` are converted and broadcast to it, the pointer itself never is.
#include "frontend/builtins.h"

/// Reports what is no pointer; what is one may be written unless const.
static bool check_pointer(lowering *lo, const char *what, const value *p, bool writes,
                          src_range range) {
    if (!value_is_pointer(p)) {
        lower_error(lo, value_place(p, range), "%s needs a pointer, not %s", what,
                    sem_describe(lo, p));
        return false;
    }
    if (writes && p->ir->type.pointer_const) {
        lower_error(lo, value_place(p, range),
                    "%s cannot write through %s, a pointer to constant "
                    "data",
                    what, sem_describe(lo, p));
        return false;
    }
    return true;
}

/// True if v broadcasts to the pointer's shape; else an error that names the role.
static bool check_shape(lowering *lo, const char *what, const char *role, const value *v,
                        const value *ptr, src_range range) {
    ir_type t = ptr->ir->type, given = v->ir->type;
    bool fits = given.rank <= t.rank;
    for (unsigned i = 0; fits && i < given.rank; i++)
        fits = given.shape[i] == 1 || given.shape[i] == t.shape[t.rank - given.rank + i];
    if (!fits)
        sem_mismatch(lo, value_place(v, range), v, ptr, "%s: %s %s does not fit the pointer's %s%s",
                     what, role, sem_describe(lo, v), sem_describe(lo, ptr),
                     t.rank ? "" : "; add the places to it: p + tl.arange(0, N)");
    return fits;
}

/// v in the pointer's shape; NULL after an error.
static ir_value *spread(lowering *lo, value v, const value *ptr, src_range range) {
    v = sem_broadcast_to(lo, v, ptr->ir->type.shape, ptr->ir->type.rank, range);
    return value_is_poison(&v) ? NULL : v.ir;
}

/// The mask as i1 in the pointer's shape; NULL if there is none. False after an error.
static bool read_mask(lowering *lo, const char *what, value mask, const value *ptr, ir_value **out,
                      src_range range) {
    *out = NULL;
    if (mask.kind == VALUE_NONE)
        return true;
    bool is_bool = mask.kind == VALUE_IR ? value_elem(&mask) == DT_I1 : mask.kind == VALUE_BOOL;
    if (!is_bool) {
        // desc.load([i, j]) of what the host would have passed as a descriptor
        bool is_place = mask.kind == VALUE_TUPLE;
        lower_error(lo, value_place(&mask, range), "%s: the mask must be i1, not %s%s", what,
                    sem_describe(lo, &mask),
                    mask.kind == VALUE_IR ? "; compare it: m != 0"
                    : is_place            ? "; for a tensor descriptor, make one of the pointer: "
                                            "tl.make_tensor_descriptor(p, shape, strides, block)"
                                          : "");
        return false;
    }
    mask = sem_materialize(lo, mask, range);
    if (!check_shape(lo, what, "mask", &mask, ptr, range))
        return false;
    *out = spread(lo, mask, ptr, range);
    return *out != NULL;
}

/// A value to be written, or to stand in for one that is not read: converted and broadcast.
static ir_value *read_value(lowering *lo, const char *what, const char *role, value v,
                            const value *ptr, src_range range) {
    if (!sem_to_ir(lo, &v, role) || !check_shape(lo, what, role, &v, ptr, range))
        return NULL;
    if (value_is_pointer(&v)) {
        sem_mismatch(lo, value_place(&v, range), &v, ptr, "%s: %s %s does not fit the pointer's %s",
                     what, role, sem_describe(lo, &v), sem_describe(lo, ptr));
        return NULL;
    }
    v = sem_convert(lo, v, ir_scalar_type(ptr->ir->type.pointee), range);
    return spread(lo, v, ptr, range);
}

// --- options

/// Checks a string option against the allowed words, separated by spaces.
static bool check_word(lowering *lo, const char *option, const value *v, const char *allowed,
                       src_range range) {
    for (const char *at = allowed; *at; at += *at == ' ') {
        sv word = {at, strcspn(at, " ")};
        if (sv_equal(word, v->str))
            return true;
        at += word.len;
    }
    lower_error(lo, value_place(v, range), "'%s' is one of %s, not '%" SV_FMT "'", option, allowed,
                SV_ARG(v->str));
    return false;
}

/// cache_modifier and eviction_policy of a load or store.
static bool set_cache_options(lowering *lo, ir_op *op, const value *cache, const value *evict,
                              const char *modifiers, src_range range) {
    if (cache->kind == VALUE_STRING && cache->str.len) {
        if (!check_word(lo, "cache_modifier", cache, modifiers, range))
            return false;
        ir_set_str(op, ATTR_CACHE, (sv){cache->str.data + 1, cache->str.len - 1});
    }
    if (evict->kind == VALUE_STRING && evict->str.len && !sv_is(evict->str, "evict_normal")) {
        if (!check_word(lo, "eviction_policy", evict, "evict_first evict_last evict_normal", range))
            return false;
        ir_set_str(op, ATTR_EVICT, evict->str);
    }
    bool both = ir_find_attr(op, ATTR_CACHE) && ir_find_attr(op, ATTR_EVICT);
    if (both)
        lower_error(lo, value_place(evict, range),
                    "'eviction_policy' does not go with 'cache_modifier': the hardware has no "
                    "instruction for both; leave one out");
    return !both;
}

// --- load and store

value build_load(lowering *lo, value *args, src_range range) {
    const value *ptr = &args[0];
    ir_value *mask, *other = NULL;
    if (!block_resolve(lo, "load()", &args[3], &args[4], &args[0], &args[1], &args[2], range) ||
        !check_pointer(lo, "load()", ptr, false, range) ||
        !read_mask(lo, "load()", args[1], ptr, &mask, range))
        return value_poison();
    if (args[2].kind != VALUE_NONE) {
        if (!mask)
            return lower_error(lo, value_place(&args[2], range),
                               "load(): 'other' is for masked elements, but there is no mask");
        other = read_value(lo, "load()", "other", args[2], ptr, range);
        if (!other)
            return value_poison();
    }
    ir_type t = ptr->ir->type;
    ir_type result = ir_type_with_elem(t, t.pointee);
    ir_op *op = ir_create(&lo->b, OP_LOAD, (ir_value *[]){ptr->ir, mask, other}, 3, &result, 1);
    if (!set_cache_options(lo, op, &args[5], &args[6], ".ca .cg .cs .cv", range))
        return value_poison();
    bool hinted = ir_find_attr(op, ATTR_CACHE) || ir_find_attr(op, ATTR_EVICT);
    if (args[7].i && hinted)
        return lower_error(lo, value_place(&args[7], range),
                           "'volatile' does not go with 'cache_modifier' or 'eviction_policy': the "
                           "hardware has no instruction for both; leave one out");
    if (args[7].i)
        ir_set_flag(op, ATTR_VOLATILE);
    return value_ir(op->results[0]);
}

value build_store(lowering *lo, value *args, src_range range) {
    const value *ptr = &args[0];
    ir_value *mask, *stored;
    if (!block_resolve(lo, "store()", &args[3], NULL, &args[0], &args[2], NULL, range) ||
        !check_pointer(lo, "store()", ptr, true, range) ||
        !(stored = read_value(lo, "store()", "value", args[1], ptr, range)) ||
        !read_mask(lo, "store()", args[2], ptr, &mask, range))
        return value_poison();
    ir_op *op = ir_create(&lo->b, OP_STORE, (ir_value *[]){ptr->ir, stored, mask}, 3, NULL, 0);
    if (!set_cache_options(lo, op, &args[4], &args[5], ".wb .cg .cs .wt", range))
        return value_poison();
    return value_none();
}

// --- atomics

/// sem and scope, which are always written out.
static bool set_order(lowering *lo, ir_op *op, const value *sem, const value *reach_of,
                      src_range range) {
    sv order = SV("acq_rel"), reach = SV("gpu");
    if (sem->kind == VALUE_STRING) {
        if (!check_word(lo, "sem", sem, "acq_rel acquire release relaxed", range))
            return false;
        order = sem->str;
    }
    if (reach_of->kind == VALUE_STRING) {
        if (!check_word(lo, "scope", reach_of, "gpu cta sys", range))
            return false;
        reach = reach_of->str;
    }
    ir_set_str(op, ATTR_SEM, order);
    ir_set_str(op, ATTR_SCOPE, reach);
    return true;
}

static bool is_word(dtype t) { return dtype_bits(t) == 32 || dtype_bits(t) == 64; }
static bool can_add(dtype t) { return is_word(t) || t == DT_FP16 || t == DT_BF16; }
static bool can_combine_bits(dtype t) { return is_word(t) && dtype_is_int(t); }
static bool can_compare(dtype t) { return is_word(t) || dtype_bits(t) == 16; }

/// What an atomic works on.
typedef struct atomic_form {
    const char *name; ///< after "atomic_"; the op's kind
    bool (*accepts)(dtype);
    const char *takes; ///< the same in words
} atomic_form;

/// The pointer's type is one that the atomic works on; else an error.
static bool check_atomic(lowering *lo, const atomic_form *form, const value *ptr, const char *what,
                         src_range range) {
    if (!check_pointer(lo, what, ptr, true, range))
        return false;
    dtype t = ptr->ir->type.pointee;
    if (form->accepts(t))
        return true;
    sv instead = SV("");
    if (form->accepts == can_combine_bits && is_word(t))
        instead = sv_format(lo->arena,
                            "; for a float's bits convert the pointer: "
                            "p.to(tl.pointer_type(tl.int%u), bitcast=True)",
                            dtype_bits(t));
    lower_error(lo, value_place(ptr, range), "%s has no form for %s: it takes %s%" SV_FMT, what,
                dtype_name(t), form->takes, SV_ARG(instead));
    return false;
}

/// args: pointer, val, mask, sem, scope.
static value atomic(lowering *lo, const atomic_form *form, value *args, src_range range) {
    const value *ptr = &args[0];
    const char *what = sv_format(lo->arena, "atomic_%s()", form->name).data;
    ir_value *val, *mask;
    if (!check_atomic(lo, form, ptr, what, range) ||
        !(val = read_value(lo, what, "value", args[1], ptr, range)) ||
        !read_mask(lo, what, args[2], ptr, &mask, range))
        return value_poison();
    ir_type t = ptr->ir->type;
    bool float_add = dtype_is_float(t.pointee) && !strcmp(form->name, "add");
    ir_value *old = ir_create_value(&lo->b, OP_ATOMIC_RMW, (ir_value *[]){ptr->ir, val, mask}, 3,
                                    ir_type_with_elem(t, t.pointee));
    ir_set_str(old->def, ATTR_KIND, float_add ? SV("fadd") : sv_from(form->name));
    return set_order(lo, old->def, &args[3], &args[4], range) ? value_ir(old) : value_poison();
}

#define WORDS "integers of 32 and 64 bits"
#define ATOMIC(kind, accepts, takes)                                                               \
    value build_atomic_##kind(lowering *lo, value *args, src_range range) {                        \
        return atomic(lo, &(atomic_form){#kind, accepts, takes}, args, range);                     \
    }
ATOMIC(add, can_add, "fp16, bf16, fp32, fp64 and " WORDS)
ATOMIC(max, is_word, "fp32, fp64 and " WORDS)
ATOMIC(min, is_word, "fp32, fp64 and " WORDS)
ATOMIC(and, can_combine_bits, WORDS)
ATOMIC(or, can_combine_bits, WORDS)
ATOMIC(xor, can_combine_bits, WORDS)
ATOMIC(xchg, is_word, "fp32, fp64 and " WORDS)

value build_atomic_cas(lowering *lo, value *args, src_range range) {
    static const atomic_form form = {"cas", can_compare, "types of 16, 32 and 64 bits"};
    const value *ptr = &args[0];
    ir_value *expected, *val;
    if (!check_atomic(lo, &form, ptr, "atomic_cas()", range) ||
        !(expected = read_value(lo, "atomic_cas()", "cmp", args[1], ptr, range)) ||
        !(val = read_value(lo, "atomic_cas()", "value", args[2], ptr, range)))
        return value_poison();
    ir_value *old = ir_create_value(&lo->b, OP_ATOMIC_CAS, (ir_value *[]){ptr->ir, expected, val},
                                    3, ir_type_with_elem(ptr->ir->type, ptr->ir->type.pointee));
    if (!set_order(lo, old->def, &args[3], &args[4], range))
        return value_poison();
    return value_ir(old);
}
