// The small languages of the command line: values after -D NAME=, and --signature
// 'kernel(x=*fp32:16, n=i32, flag=i32=1, BLOCK=1024)', where ':16' says divisible by 16 and '=1'
// says that the integer is 1, and after it may come 'as name'; and --arg 'x=fp32[64,1000]:randn' of
// tilec run.
#include "tilec/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

static sv trim(sv s) {
    while (s.len && (*s.data == ' ' || *s.data == '\t'))
        s.data++, s.len--;
    while (s.len && (s.data[s.len - 1] == ' ' || s.data[s.len - 1] == '\t'))
        s.len--;
    return s;
}

/// Cuts `s` at the first `c` outside quotes; *rest gets what follows it. False if there is none.
static bool cut(sv s, char c, sv *head, sv *rest) {
    char quote = 0;
    for (size_t i = 0; i < s.len; i++) {
        char x = s.data[i];
        if (quote) {
            quote = x == quote ? 0 : quote;
        } else if (x == '\'' || x == '"') {
            quote = x;
        } else if (x == c) {
            *head = trim((sv){s.data, i});
            *rest = trim((sv){s.data + i + 1, s.len - i - 1});
            return true;
        }
    }
    *head = trim(s);
    *rest = SV("");
    return false;
}

/// An integer as the language writes it, with a sign: no 010 that is 8, nothing over 64 bits.
static bool parse_int(const char *text, int64_t *out) {
    const char *digits = text + (*text == '-' || *text == '+');
    int base = digits[0] != '0' || !digits[1]         ? 10
               : digits[1] == 'x' || digits[1] == 'X' ? 16
               : digits[1] == 'o' || digits[1] == 'O' ? 8
               : digits[1] == 'b' || digits[1] == 'B' ? 2
                                                      : 0;
    digits += base == 10 ? 0 : 2;
    if (!base || !isxdigit((unsigned char)*digits))
        return false;
    char *end;
    errno = 0;
    unsigned long long n = strtoull(digits, &end, base);
    bool negative = *text == '-';
    if (*end || errno || n > (unsigned long long)INT64_MAX + negative)
        return false;
    *out = (int64_t)(negative ? 0 - n : n);
    return true;
}

bool parse_constant(arena *a, sv text, fe_constant *out) {
    *out = (fe_constant){0};
    text = trim(text);
    if (!text.len)
        return false;
    if (sv_is(text, "None"))
        return true;
    if (sv_is(text, "True") || sv_is(text, "False")) {
        *out = (fe_constant){.kind = FE_BOOL, .i = text.data[0] == 'T'};
        return true;
    }
    char q = text.data[0];
    if (q == '\'' || q == '"') {
        bool closed = text.len >= 2 && text.data[text.len - 1] == q;
        *out = (fe_constant){.kind = FE_STRING, .str = {text.data + 1, closed ? text.len - 2 : 0}};
        return closed;
    }
    char *copy = arena_copy_string(a, text.data, text.len), *end;
    if (parse_int(copy, &out->i)) {
        out->kind = FE_INT;
        return true;
    }
    double f = strtod(copy, &end);
    if (!*end && strpbrk(copy, ".eEnN") && !strpbrk(copy, "xX")) { // 1.5, 1e3, inf, nan
        *out = (fe_constant){.kind = FE_FLOAT, .f = f};
        return true;
    }
    sv name = text;
    if (sv_starts_with(name, "tl."))
        name = (sv){name.data + 3, name.len - 3};
    dtype t = dtype_from_name(name);
    if (t == DT_VOID || t == DT_PTR)
        return false;
    *out = (fe_constant){.kind = FE_DTYPE, .type = t};
    return true;
}

/// Parses "*const fp32:16" or "i32=1"; false if it is not a type.
static bool parse_type(sv text, fe_arg *out, sv *bad_hint) {
    sv type, hint, one;
    bool has_one = cut(text, '=', &type, &one);
    bool has_hint = cut(type, ':', &type, &hint);
    bool pointer = type.len && type.data[0] == '*', is_const = false;
    if (pointer) {
        type = trim((sv){type.data + 1, type.len - 1});
        sv head, rest;
        if (cut(type, ' ', &head, &rest) && (sv_is(head, "const") || sv_is(head, "k"))) {
            is_const = true;
            type = rest;
        }
    }
    dtype t = dtype_from_name(type);
    if (t == DT_VOID || t == DT_PTR)
        return false;
    out->has_type = true;
    out->type = pointer ? ir_pointer_type(t, is_const) : ir_scalar_type(t);
    if (has_one) {
        if (!sv_is(one, "1") || pointer || !dtype_is_int(t))
            *bad_hint = one;
        out->is_one = true;
    }
    if (has_hint) {
        unsigned n = 0;
        for (size_t i = 0; i < hint.len; i++)
            n = hint.data[i] >= '0' && hint.data[i] <= '9' && n < 1000
                    ? n * 10 + (unsigned)(hint.data[i] - '0')
                    : 9999;
        if (!n || n > 1024 || (n & (n - 1)) || (!pointer && !dtype_is_int(t)) || (has_one && n > 1))
            *bad_hint = hint;
        out->divisibility = n;
    }
    return true;
}

/// Takes what follows the arguments off: ')', or ') as name'.
static bool cut_name(sv *rest, sv *name) {
    size_t end = rest->len;
    while (end && rest->data[end - 1] != ')')
        end--;
    if (!end)
        return false;
    sv tail = trim((sv){rest->data + end, rest->len - end});
    rest->len = end - 1;
    if (!tail.len)
        return true;
    if (!sv_starts_with(tail, "as ") && !sv_starts_with(tail, "as\t"))
        return false;
    *name = trim((sv){tail.data + 3, tail.len - 3});
    for (size_t i = 0; i < name->len; i++)
        if (!isalnum((unsigned char)name->data[i]) && name->data[i] != '_')
            return false;
    return name->len && !isdigit((unsigned char)name->data[0]);
}

bool parse_signature(arena *a, sv text, signature *out, sv *message) {
    sv kernel, rest, name = SV("");
    text = trim(text);
    if (!cut(text, '(', &kernel, &rest) || !cut_name(&rest, &name)) {
        *message = sv_format(a, "--signature: expected 'kernel(name=type, ...)', got '%" SV_FMT "'",
                             SV_ARG(text));
        return false;
    }
    *out = (signature){.kernel = kernel, .name = name};
    VEC(fe_arg) args = {0};
    while ((rest = trim(rest)).len) {
        sv item, key, value, bad_hint = SV("");
        cut(rest, ',', &item, &rest);
        fe_arg arg = {0};
        bool has_value = cut(item, '=', &key, &value);
        if (!has_value && cut(item, ':', &key, &value)) // 'x: *fp32' reads as well as 'x=*fp32'
            has_value = true;
        arg.name = key;
        if (!has_value || !key.len || !value.len) {
            *message =
                sv_format(a, "--signature: expected name=type, got '%" SV_FMT "'", SV_ARG(item));
            return false;
        }
        if (parse_type(value, &arg, &bad_hint)) {
            if (bad_hint.len) {
                *message = sv_format(
                    a,
                    "--signature: wrong hint '%" SV_FMT "' for '%" SV_FMT
                    "'; expected a power of two up to 1024 after ':', or =1 on an integer",
                    SV_ARG(bad_hint), SV_ARG(key));
                return false;
            }
        } else if (parse_constant(a, value, &arg.constant)) {
            arg.is_constexpr = true;
        } else {
            *message = sv_format(a, "--signature: '%" SV_FMT "' is neither a type nor a value",
                                 SV_ARG(value));
            return false;
        }
        for (uint32_t i = 0; i < args.len; i++)
            if (sv_equal(args.data[i].name, key)) {
                *message = sv_format(a, "--signature: '%" SV_FMT "' is given twice", SV_ARG(key));
                return false;
            }
        VEC_PUSH(a, args, arg);
    }
    out->args = args.data;
    out->num_args = args.len;
    return true;
}

/// "f32" for "fp32" will do.
static dtype tensor_dtype(arena *a, sv name) {
    dtype t = dtype_from_name(name);
    if (t == DT_VOID && name.len == 3 && name.data[0] == 'f')
        t = dtype_from_name(sv_format(a, "fp%.2s", name.data + 1));
    return t;
}

static bool parse_shape(sv text, run_arg *out) {
    uint64_t elements = 1;
    sv size;
    while (text.len) {
        int64_t n;
        bool more = memchr(text.data, ',', text.len) != NULL;
        cut(text, ',', &size, &text);
        char digits[24];
        if (!size.len || size.len >= sizeof digits || out->rank == 8 || (more && !text.len))
            return false;
        memcpy(digits, size.data, size.len);
        digits[size.len] = 0;
        if (!parse_int(digits, &n) || n < 0 || n > INT64_C(1) << 40)
            return false;
        out->shape[out->rank++] = n;
        elements *= n ? (uint64_t)n : 1;
        if (elements > UINT64_C(1) << 40)
            return false;
    }
    return out->rank > 0;
}

bool parse_run_arg(arena *a, sv text, run_arg *out, sv *message) {
    *out = (run_arg){0};
    sv value, head, rest;
    if (!cut(text, '=', &out->name, &value) || !out->name.len || !value.len) {
        *message = sv_format(a, "--arg: expected NAME=VALUE, got '%" SV_FMT "'", SV_ARG(text));
        return false;
    }
    if (*value.data == '\'' || *value.data == '"' || !memchr(value.data, '[', value.len)) {
        if (parse_constant(a, value, &out->value))
            return true;
        *message = sv_format(a,
                             "--arg %" SV_FMT ": expected a number, True, False, None, 'text', a "
                             "dtype, or a tensor such as fp32[64,1000]:randn, got '%" SV_FMT "'",
                             SV_ARG(out->name), SV_ARG(value));
        return false;
    }
    out->is_tensor = true;
    cut(value, '[', &head, &rest);
    out->type = tensor_dtype(a, head);
    sv shape;
    if (out->type == DT_VOID || out->type == DT_PTR) {
        *message = sv_format(a, "--arg %" SV_FMT ": no dtype is called '%" SV_FMT "'",
                             SV_ARG(out->name), SV_ARG(head));
        return false;
    }
    bool closed = memchr(rest.data, ']', rest.len) != NULL;
    cut(rest, ']', &shape, &rest);
    bool has_init = rest.len && *rest.data == ':';
    if (!closed || (rest.len && (!has_init || rest.len == 1)) || !parse_shape(shape, out)) {
        *message = sv_format(a,
                             "--arg %" SV_FMT ": expected a tensor such as fp32[64,1000] or "
                             "fp32[8]:randn, got '%" SV_FMT "'",
                             SV_ARG(out->name), SV_ARG(value));
        return false;
    }
    out->init = has_init ? (sv){rest.data + 1, rest.len - 1} : SV("");
    return true;
}
