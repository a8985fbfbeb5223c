// Arguments to specialization. A key is a string of bytes: the options, then for each parameter of
// the kernel a tag and what the code depends on:
//   'P' dtype class      pointer; class = log2 of its alignment, at most 4 (16 bytes)
//   'S' dtype class      scalar; class = log2 of its divisibility (integers), | RT_KEY_ONE if it is 1
//   'C' kind value...    constexpr: 8 bytes, or a length (2 bytes) and the text
//   'N'                  None
//   'D'                  constexpr left out: the default in the source
// Two launches with equal keys run the same binary. Launches whose keys differ in classes only may
// do so as well, if the code does not care (rt_key_served_by).
#include "runtime/rt.h"
#include "ir/dtype.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { KEY_HEADER = 6 };

/// Copies what the caller's struct has. It may be an older one, which is shorter, or a newer one:
/// what that has more must be zero, since it would be ignored.
static tile_status read_options(const tile_launch_options *in, tile_launch_options *out,
                                tile_error *error) {
    enum { FIRST_VERSION = offsetof(tile_launch_options, num_warps) };
    if (in->size < FIRST_VERSION)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT,
                       "options->size is %zu; it must be sizeof(tile_launch_options)", in->size);
    for (size_t i = sizeof *out; i < in->size; i++)
        if (((const char *)in)[i])
            return rt_fail(error, TILE_ERROR_UNSUPPORTED,
                           "options has a field that version %s does not know", tile_version());
    memcpy(out, in, in->size < sizeof *out ? in->size : sizeof *out);
    return TILE_OK;
}

static tile_status check_options(const tile_launch_options *o, tile_error *error) {
    if (o->num_warps > 32 || (o->num_warps & (o->num_warps - 1)))
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT,
                       "num_warps is %u; it must be 1, 2, 4, 8, 16 or 32", o->num_warps);
    if (o->num_ctas > 16 || (o->num_ctas & (o->num_ctas - 1)))
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT,
                       "num_ctas is %u; it must be 1, 2, 4, 8 or 16", o->num_ctas);
    if (o->num_stages > 255 || o->maxnreg > 255)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "%s is over 255",
                       o->maxnreg > 255 ? "maxnreg" : "num_stages");
    return TILE_OK;
}

tile_status rt_options(const tile_kernel *k, const tile_launch_options *options,
                       tile_launch_options *out, tile_error *error) {
    *out = (tile_launch_options){.size = sizeof *out};
    tile_status status = options ? read_options(options, out, error) : TILE_OK;
    if (!k->aot) {
        out->num_warps = out->num_warps ? out->num_warps : 4;
        out->num_ctas = out->num_ctas ? out->num_ctas : 1;
        out->num_stages = out->num_stages ? out->num_stages : 3;
    }
    return status ? status : check_options(out, error);
}

uint8_t rt_dtype_from_name(const char *name) {
    return name ? (uint8_t)dtype_from_name(sv_from(name)) : DT_VOID;
}

/// Writes the bits of a scalar argument, whose own type is `own`, in the type `t`. False if the
/// value does not fit.
static bool scalar_bits(const tile_arg *arg, dtype own, dtype t, uint64_t *out) {
    bool is_float_arg = dtype_is_float(own);
    if (dtype_is_float(t)) {
        double v = is_float_arg ? arg->value.f : (double)arg->value.i;
        if (t == DT_FP32) {
            float f = (float)v;
            uint32_t bits;
            memcpy(&bits, &f, 4);
            *out = bits;
        } else {
            *out = dtype_float_to_bits(t, v);
        }
        return true;
    }
    if (is_float_arg)
        return false;
    *out = t == DT_I1 ? arg->value.i != 0 : (uint64_t)arg->value.i;
    if (t == DT_U64)
        return arg->kind == TILE_ARG_SCALAR || arg->value.i >= 0; // a scalar's bits are its own
    return t == DT_I1 || dtype_int_fits(t, arg->value.i, false);
}

/// The type that an argument names. Mostly it is the parameter's, which is quick to see.
static dtype named_dtype(const rt_param *p, const char *name) {
    if (p->has_type && name && !strcmp(name, dtype_name(p->dtype)))
        return p->dtype;
    return rt_dtype_from_name(name);
}

/// The type that a scalar argument has of itself.
static dtype own_dtype(const rt_param *p, const tile_arg *arg) {
    switch (arg->kind) {
    case TILE_ARG_INT:
        return arg->value.i >= INT32_MIN && arg->value.i <= INT32_MAX ? DT_I32 : DT_I64;
    case TILE_ARG_FLOAT:
        return DT_FP32;
    default:
        return named_dtype(p, arg->dtype);
    }
}

typedef struct key_writer {
    uint8_t *data;
    uint32_t len;
    bool full;
} key_writer;

static void put(key_writer *w, const void *bytes, uint32_t n) {
    if (w->full || n > RT_MAX_KEY - w->len) {
        w->full = true;
        return;
    }
    memcpy(w->data + w->len, bytes, n);
    w->len += n;
}

static void put_constexpr(key_writer *w, const tile_arg *c) {
    uint8_t head[2] = {'C', (uint8_t)c->constexpr_kind};
    put(w, head, 2);
    const char *text = c->constexpr_kind == TILE_CONSTEXPR_KIND_STRING  ? c->value.string
                       : c->constexpr_kind == TILE_CONSTEXPR_KIND_DTYPE ? c->dtype
                                                                        : NULL;
    if (text) {
        size_t n = strlen(text);
        uint16_t len = (uint16_t)n;
        if (n > RT_MAX_KEY)
            w->full = true;
        put(w, &len, 2);
        put(w, text, len);
    } else {
        put(w, &c->value.i, 8);
    }
}

bool rt_as_constexpr(const tile_arg *arg, tile_arg *out) {
    dtype t = rt_dtype_from_name(arg->dtype);
    *out = (tile_arg){
        .name = arg->name, .kind = TILE_ARG_CONSTEXPR, .dtype = arg->dtype, .value = arg->value};
    switch (arg->kind) {
    case TILE_ARG_INT:
        out->constexpr_kind = TILE_CONSTEXPR_KIND_INT;
        break;
    case TILE_ARG_FLOAT:
        out->constexpr_kind = TILE_CONSTEXPR_KIND_FLOAT;
        break;
    case TILE_ARG_NONE:
        out->constexpr_kind = TILE_CONSTEXPR_KIND_NONE;
        break;
    case TILE_ARG_SCALAR:
        if (t == DT_VOID)
            return false;
        out->constexpr_kind = dtype_is_float(t) ? TILE_CONSTEXPR_KIND_FLOAT
                              : t == DT_I1      ? TILE_CONSTEXPR_KIND_BOOL
                                                : TILE_CONSTEXPR_KIND_INT;
        break;
    case TILE_ARG_CONSTEXPR:
        out->constexpr_kind = arg->constexpr_kind;
        break;
    default:
        return false;
    }
    switch (out->constexpr_kind) { // one form of each value, so that equal ones have equal keys
    case TILE_CONSTEXPR_KIND_NONE:
        out->value.i = 0;
        return true;
    case TILE_CONSTEXPR_KIND_BOOL:
        out->value.i = arg->value.i != 0;
        return true;
    case TILE_CONSTEXPR_KIND_INT:
    case TILE_CONSTEXPR_KIND_FLOAT:
        return true;
    case TILE_CONSTEXPR_KIND_STRING:
        return arg->value.string != NULL;
    case TILE_CONSTEXPR_KIND_DTYPE:
        return t != DT_VOID;
    }
    return false;
}

static tile_status mismatch(const tile_kernel *k, const rt_param *p, const tile_arg *arg,
                            tile_error *error) {
    static const char *const kinds[] = {
        [TILE_ARG_POINTER] = "a pointer", [TILE_ARG_SCALAR] = "a scalar",
        [TILE_ARG_INT] = "an integer",    [TILE_ARG_FLOAT] = "a float",
        [TILE_ARG_NONE] = "None",         [TILE_ARG_CONSTEXPR] = "a constexpr",
    };
    bool typed = arg->kind == TILE_ARG_POINTER || arg->kind == TILE_ARG_SCALAR;
    if (p->is_constexpr && arg->kind == TILE_ARG_CONSTEXPR) { // the kinds agree, the value is none
        if (arg->constexpr_kind == TILE_CONSTEXPR_KIND_DTYPE && arg->dtype)
            return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT,
                           "kernel '%s': parameter '%s': no dtype is called '%s'", k->name, p->name,
                           arg->dtype);
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT,
                       "kernel '%s': parameter '%s': the constexpr has %s", k->name, p->name,
                       (unsigned)arg->constexpr_kind <= TILE_CONSTEXPR_KIND_DTYPE
                           ? "no value"
                           : "an unknown kind");
    }
    return rt_fail(
        error, TILE_ERROR_INVALID_ARGUMENT,
        "kernel '%s': parameter '%s' is %s%s%s, but the argument is %s%s%s", k->name, p->name,
        p->is_constexpr ? "a constexpr"
        : p->has_type   ? (p->is_pointer ? "*" : "")
                        : "not a constexpr",
        p->has_type ? dtype_name(p->dtype) : "", "",
        (unsigned)arg->kind <= TILE_ARG_CONSTEXPR ? kinds[arg->kind] : "of an unknown kind",
        typed ? " of type " : "", typed && arg->dtype ? arg->dtype : "");
}

/// Adds one run-time argument to the key and to the binary's parameters.
static tile_status bind_value(const tile_kernel *k, const rt_param *p, const tile_arg *arg,
                              key_writer *w, rt_bound *out, tile_error *error) {
    uint8_t entry[3];
    uint64_t *bits = &out->storage[out->num_params];
    if (arg->kind == TILE_ARG_POINTER) {
        dtype t = named_dtype(p, arg->dtype);
        if (t == DT_VOID || (p->has_type && (!p->is_pointer || p->dtype != t)))
            return mismatch(k, p, arg, error);
        *bits = (uint64_t)(uintptr_t)arg->value.pointer;
        unsigned hint = p->do_not_specialize ? 0 : rt_divisibility_log2(*bits);
        memcpy(entry, (uint8_t[]){'P', (uint8_t)t, (uint8_t)hint}, 3);
    } else {
        dtype own = own_dtype(p, arg), t = p->has_type ? (dtype)p->dtype : own;
        if (own == DT_VOID || p->is_pointer || (arg->kind == TILE_ARG_SCALAR && own != t))
            return mismatch(k, p, arg, error);
        if (!scalar_bits(arg, own, t, bits)) {
            if (dtype_is_float(t) || arg->kind == TILE_ARG_FLOAT)
                return mismatch(k, p, arg, error);
            return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT,
                           "kernel '%s': %lld is out of range for parameter '%s' of type %s",
                           k->name, (long long)arg->value.i, p->name, dtype_name(t));
        }
        unsigned hint = 0;
        if (dtype_is_int(t) && t != DT_I1 && !p->do_not_specialize)
            hint = arg->value.i == 1 ? RT_KEY_ONE : rt_divisibility_log2((uint64_t)arg->value.i);
        memcpy(entry, (uint8_t[]){'S', (uint8_t)t, (uint8_t)hint}, 3);
    }
    put(w, entry, 3);
    out->params[out->num_params] = bits;
    out->num_params++;
    return TILE_OK;
}

/// Puts arguments into out->args by position and name.
static tile_status match(const tile_kernel *k, const tile_arg *args, uint32_t num_args,
                         rt_bound *out, tile_error *error) {
    memset(out->args, 0, k->num_params * sizeof *out->args);
    uint32_t position = 0;
    bool named = false;
    for (uint32_t i = 0; i < num_args; i++) {
        uint32_t at;
        if (args[i].name) {
            named = true;
            for (at = 0; at < k->num_params && strcmp(k->params[at].name, args[i].name) != 0; at++)
                ;
            if (at == k->num_params)
                return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT,
                               "kernel '%s' has no parameter '%s'", k->name, args[i].name);
        } else {
            if (named)
                return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT,
                               "kernel '%s': a positional argument follows a named one", k->name);
            at = position++;
            if (at >= k->num_params)
                return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT,
                               "kernel '%s' takes %u arguments, %u were given", k->name,
                               k->num_params, num_args);
        }
        if (out->args[at])
            return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT,
                           "kernel '%s': parameter '%s' is given twice", k->name,
                           k->params[at].name);
        out->args[at] = &args[i];
    }
    return TILE_OK;
}

tile_status rt_bind(const tile_kernel *k, const tile_arg *args, uint32_t num_args,
                    const tile_launch_options *options, rt_bound *out, tile_error *error) {
    tile_status status = match(k, args, num_args, out, error);
    if (status)
        return status;
    key_writer w = {.data = out->key};
    put(&w,
        (uint8_t[KEY_HEADER]){(uint8_t)options->num_warps, (uint8_t)options->num_ctas,
                              (uint8_t)options->num_stages, (uint8_t)options->maxnreg,
                              options->no_asserts},
        KEY_HEADER);
    out->num_params = 0;
    for (uint32_t i = 0; i < k->num_params; i++) {
        const rt_param *p = &k->params[i];
        const tile_arg *arg = out->args[i];
        if (!arg) {
            if (!p->has_default)
                return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT,
                               "kernel '%s': no argument for parameter '%s'", k->name, p->name);
            if (p->is_constexpr && !k->aot) {
                put(&w, "D", 1);
                continue;
            }
            arg = out->args[i] = &p->default_arg;
        }
        if (p->is_constexpr) {
            tile_arg c;
            if (!rt_as_constexpr(arg, &c))
                return mismatch(k, p, arg, error);
            put_constexpr(&w, &c);
        } else if (arg->kind == TILE_ARG_NONE) {
            put(&w, "N", 1);
        } else if ((unsigned)arg->kind >= TILE_ARG_CONSTEXPR) {
            return mismatch(k, p, arg, error);
        } else if ((status = bind_value(k, p, arg, &w, out, error))) {
            return status;
        }
    }
    if (w.full)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT,
                       "kernel '%s': the constexpr arguments are too long", k->name);
    out->key_len = w.len;
    return TILE_OK;
}

/// The length of the entry at `p`.
static uint32_t entry_length(const uint8_t *p) {
    if (*p == 'P' || *p == 'S')
        return 3;
    if (*p != 'C')
        return 1;
    if (p[1] != TILE_CONSTEXPR_KIND_STRING && p[1] != TILE_CONSTEXPR_KIND_DTYPE)
        return 10;
    uint16_t len;
    memcpy(&len, p + 2, 2);
    return 4u + len;
}

const uint8_t *rt_key_entry(const uint8_t *key, uint32_t param) {
    const uint8_t *p = key + KEY_HEADER;
    for (uint32_t i = 0; i < param; i++)
        p += entry_length(p);
    return p;
}

uint8_t rt_key_class(const uint8_t *key, uint32_t param) {
    const uint8_t *p = rt_key_entry(key, param);
    return *p == 'P' || *p == 'S' ? p[2] : 0;
}

void rt_key_drop_classes(uint8_t *key, uint32_t num_params) {
    uint8_t *p = key + KEY_HEADER;
    for (uint32_t i = 0; i < num_params; p += entry_length(p), i++)
        if (*p == 'P' || *p == 'S')
            p[2] &= RT_KEY_ONE;
}

bool rt_key_similar(const tile_kernel *k, const uint8_t *a, uint32_t a_len, const uint8_t *b,
                    uint32_t b_len) {
    if (a_len != b_len || memcmp(a, b, KEY_HEADER) != 0)
        return false;
    uint32_t at = KEY_HEADER;
    for (uint32_t i = 0; i < k->num_params; i++) {
        uint32_t n = entry_length(a + at);
        bool has_class = a[at] == 'P' || a[at] == 'S';
        if (memcmp(a + at, b + at, has_class ? 2 : n) != 0)
            return false;
        if (has_class && (a[at + 2] & RT_KEY_ONE) != (b[at + 2] & RT_KEY_ONE))
            return false;
        at += n;
    }
    return true;
}

bool rt_key_served_by(const tile_kernel *k, const rt_spec *spec, const uint8_t *key,
                      uint32_t key_len) {
    if (!rt_key_similar(k, key, key_len, spec->key, spec->key_len))
        return false;
    uint32_t at = KEY_HEADER;
    for (uint32_t i = 0; i < k->num_params; i++) {
        if (key[at] == 'P' || key[at] == 'S') {
            uint8_t useful = spec->binary.useful_log2[i];
            uint8_t had = spec->key[at + 2] & 0x7f, has = key[at + 2] & 0x7f;
            had = had < useful ? had : useful;
            has = has < useful ? has : useful;
            if (has != had && (has > had || has < spec->binary.relied_log2[i]))
                return false;
        }
        at += entry_length(key + at);
    }
    return true;
}

bool rt_key_allows(const tile_kernel *k, const rt_spec *spec, const uint8_t *key, uint32_t *param) {
    enum { NO_ASSERTS = 4 }; // the options before it are numbers, where 0 says that any will do
    const uint8_t *had = spec->key, *has = key;
    *param = k->num_params;
    for (int i = 0; i < NO_ASSERTS; i++)
        if (has[i] && has[i] != had[i])
            return false;
    if (has[NO_ASSERTS] && !had[NO_ASSERTS])
        return false;
    had += KEY_HEADER, has += KEY_HEADER;
    for (*param = 0; *param < k->num_params; ++*param) {
        uint32_t n = entry_length(had);
        if (*had != *has || entry_length(has) != n)
            return false;
        if (*had == 'P' || *had == 'S') {
            const tile_aot_value *v = &spec->variant->values[*param];
            bool is_one = has[2] & RT_KEY_ONE;
            if (had[1] != has[1] || (v->is_one && !is_one) ||
                v->divisible_log2 > (is_one ? 0 : has[2]))
                return false;
        } else if (memcmp(had, has, n) != 0) {
            return false;
        }
        had += n, has += n;
    }
    return true;
}
