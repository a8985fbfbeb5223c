// Built-ins that speak to the compiler or stand for Python's own: ranges, assertions and prints,
// min, max, len and the conversions of compile-time numbers.
#include "frontend/builtins.h"
#include "frontend/scope.h"

#include <math.h>
#include <stdlib.h>

// --- ranges

enum { MAX_UNROLL_FACTOR = 1000 };

/// range(end), range(start, end) or range(start, end, step).
static value make_range(lowering *lo, value *args, bool is_static, src_range range) {
    value items[3] = {value_int(0), args[0], value_int(1)};
    if (args[1].kind != VALUE_NONE) {
        items[0] = args[0];
        items[1] = args[1];
    }
    if (args[2].kind != VALUE_NONE)
        items[2] = args[2];
    value v = value_tuple(lo->arena, items, 3);
    v.kind = VALUE_RANGE;
    v.range = range;
    v.i = is_static;
    return v;
}

/// A wish about how a loop is scheduled, which is heard but not followed.
static void not_applied(lowering *lo, const char *what, const char *option, const value *on,
                        src_range range) {
    if (on->i)
        diag_warning(lo->diag, "not-applied", lower_place(lo, value_place(on, range)),
                     "'%s' of %s is not applied: it would change how fast the loop is, not what it "
                     "computes",
                     option, what);
}

value build_condition(lowering *lo, value *args, src_range range) {
    not_applied(lo, "condition()", "disable_licm", &args[1], range);
    return args[0];
}

value build_range(lowering *lo, value *args, src_range range) {
    value v = make_range(lo, args, false, range);
    if (args[3].kind != VALUE_NONE) {
        if (args[3].is_unsigned || args[3].i < 0 || args[3].i > 64)
            return lower_error(lo, value_place(&args[3], range), "'num_stages' is from 0 to 64");
        v.num_stages = args[3].i ? args[3].i : 1; // both: no pipelining
    }
    if (args[4].kind != VALUE_NONE && (args[4].is_unsigned || args[4].i > MAX_UNROLL_FACTOR))
        return lower_error(lo, value_place(&args[4], range), "'loop_unroll_factor' is at most %d",
                           MAX_UNROLL_FACTOR);
    if (args[4].kind != VALUE_NONE && args[4].i > 1) // less is none
        v.unroll = args[4].i;
    static const char *const schedules[] = {"flatten", "warp_specialize", "disable_licm"};
    for (unsigned i = 0; i < 3; i++)
        not_applied(lo, "range()", schedules[i], &args[6 + i], range);
    return v;
}

value build_static_range(lowering *lo, value *args, src_range range) {
    return make_range(lo, args, true, range);
}

// --- at compile time

/// The text of values, as Python's print writes them; of a run-time value its type.
static void join_values(lowering *lo, strbuf *text, const value *items, uint32_t n, sv separator) {
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            strbuf_put(text, separator);
        if (items[i].kind == VALUE_IR)
            strbuf_puts(text, sem_describe(lo, &items[i]));
        else
            value_print(&items[i], text);
    }
}

/// An optional message: "" if there is none.
static bool read_message(lowering *lo, const value *v, strbuf *text, src_range range) {
    strbuf_init(text, lo->arena);
    strbuf_puts(text, "");
    if (!value_is_constexpr(v)) {
        lower_error(lo, value_place(v, range), "a message is known at compile time, %s is not",
                    sem_describe(lo, v));
        return false;
    }
    if (v->kind != VALUE_NONE)
        value_print(v, text);
    return true;
}

value build_static_assert(lowering *lo, value *args, src_range range) {
    strbuf text;
    if (!value_is_constexpr(&args[0]))
        return lower_error(lo, value_place(&args[0], range),
                           "static_assert() needs a condition known at compile time, not %s; see "
                           "tl.device_assert",
                           sem_describe(lo, &args[0]));
    if (!read_message(lo, &args[1], &text, range))
        return value_poison();
    if (value_truth(&args[0]))
        return value_none();
    lo->frames->has_failed = lo->frames->module->is_library;
    return lower_error(lo, range, "static assertion failed%s%s", text.len ? ": " : "", text.data);
}

// values, sep. What static_print says goes where all messages go: as a warning, -Wno-static-print turns it off.
value build_static_print(lowering *lo, value *args, src_range range) {
    strbuf text;
    strbuf_init(&text, lo->arena);
    strbuf_puts(&text, "");
    join_values(lo, &text, args[0].items, args[0].num_items, args[1].str);
    if (!sv_is(args[2].str, "\n")) // a message is a line of its own
        strbuf_put(&text, args[2].str);
    lower_set_range(lo, range);
    diag_warning(lo->diag, "static-print", lo->b.range, "%s", text.data);
    return value_none();
}

// --- on the device

static bool ends_with(sv text, char c) { return text.len && text.data[text.len - 1] == c; }

/// What stands before the values, as Triton makes it: " x: " of "x", "x:" and "x ".
static sv print_prefix(lowering *lo, sv text, bool has_values) {
    if (has_values) {
        text.len -= ends_with(text, ' ');
        text =
            sv_format(lo->arena, "%" SV_FMT "%s", SV_ARG(text), ends_with(text, ':') ? " " : ": ");
    }
    bool lead = text.len > 2 && text.data[0] != ' ';
    return sv_format(lo->arena, "%s%" SV_FMT, lead ? " " : "", SV_ARG(text));
}

/// Prints the text and the values; numbers among them become run-time ones.
static value device_print(lowering *lo, sv text, value *items, uint32_t n, bool hex,
                          src_range range) {
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] < 1 || text.data[i] > 126)
            return lower_error(lo, range, "the text that is printed must be ASCII");
    ir_value **values = ARENA_ARRAY(lo->arena, ir_value *, n ? n : 1);
    for (uint32_t i = 0; i < n; i++) {
        if (!sem_to_ir(lo, &items[i], "what is printed after the text"))
            return value_poison();
        values[i] = items[i].ir;
    }
    lower_set_range(lo, range);
    ir_op *op = ir_create(&lo->b, OP_PRINT, values, n, NULL, 0);
    if (hex)
        ir_set_flag(op, ATTR_HEX);
    ir_set_str(op, ATTR_TEXT, print_prefix(lo, text, n > 0));
    return value_none();
}

value build_device_print(lowering *lo, value *args, src_range range) {
    return device_print(lo, args[0].str, args[1].items, args[1].num_items, args[2].i, range);
}

/// print(): the strings that it begins with are the text. In a constexpr_function it is Python's.
value build_print(lowering *lo, value *args, src_range range) {
    if (lo->frames->at_compile_time) {
        value all[] = {args[0], args[1], value_string(SV("\n"))};
        return build_static_print(lo, all, range);
    }
    uint32_t n = args[0].num_items, texts = 0;
    while (texts < n && args[0].items[texts].kind == VALUE_STRING)
        texts++;
    strbuf text;
    strbuf_init(&text, lo->arena);
    strbuf_puts(&text, "");
    join_values(lo, &text, args[0].items, texts, args[1].str);
    return device_print(lo, strbuf_view(&text), args[0].items + texts, n - texts, args[2].i, range);
}

value build_device_assert(lowering *lo, value *args, src_range range) {
    strbuf text;
    value cond = args[0], mask = args[2];
    if (!sem_to_ir(lo, &cond, "the condition of device_assert()") ||
        !read_message(lo, &args[1], &text, range))
        return value_poison();
    if (value_is_pointer(&cond))
        return lower_error(lo, value_place(&cond, range), "device_assert() needs i1, not %s",
                           sem_describe(lo, &cond));
    cond.ir = sem_cast_ir(lo, cond.ir, DT_I1);
    if (mask.kind != VALUE_NONE) {
        if (!sem_to_ir(lo, &mask, "the mask of device_assert()"))
            return value_poison();
        if (value_elem(&mask) != DT_I1)
            return lower_error(lo, value_place(&mask, range), "the mask must be i1, not %s",
                               sem_describe(lo, &mask));
        if (!sem_broadcast_pair(lo, &cond, &mask, range))
            return value_poison();
    }
    lower_add_assert(lo, cond.ir, mask.kind == VALUE_IR ? mask.ir : NULL, strbuf_view(&text));
    return value_none();
}

// --- Python's functions

/// The larger (or smaller) of two; the first of equals, as in Python.
static value choose(lowering *lo, bool is_max, value x, value y, src_range range) {
    if (x.kind != VALUE_IR && y.kind != VALUE_IR) {
        bool better;
        if (value_is_number(&x) && value_is_number(&y) &&
            !value_compare(is_max ? AST_GT : AST_LT, &y, &x, &better))
            return better ? y : x;
        return sem_mismatch(lo, range, &x, &y, "%s() cannot compare %s and %s",
                            is_max ? "max" : "min", sem_describe(lo, &x), sem_describe(lo, &y));
    }
    if (!sem_to_ir(lo, &x, "an argument") || !sem_to_ir(lo, &y, "an argument"))
        return value_poison();
    return build_extremum(lo, is_max, x, y, false, range);
}

/// max(a, b, ...), max((a, b)), or with an axis the reduction.
static value python_extremum(lowering *lo, bool is_max, value *args, src_range range) {
    const char *name = is_max ? "max" : "min";
    const value *items = args[0].items;
    uint32_t n = args[0].num_items;
    bool reduces = args[1].kind != VALUE_NONE;
    if (n == 1 && items[0].kind == VALUE_IR && reduces) {
        args[0] = items[0];
        return build_max_or_min(lo, is_max, args, range);
    }
    if (reduces || args[2].i || args[4].i)
        return lower_error(lo, range,
                           "%s() with options of a reduction takes one tile and axis=; "
                           "see tl.%s",
                           name, name);
    if (n == 1 && items[0].kind == VALUE_TUPLE) {
        n = items[0].num_items;
        items = items[0].items;
    } else if (n == 1) {
        return lower_error(lo, range,
                           "%s() of one value: write tl.%s(x) to reduce a tile, or give "
                           "two values",
                           name, name);
    }
    if (n == 0)
        return lower_error(lo, range, "%s() needs at least one value", name);
    value best = items[0];
    for (uint32_t i = 1; i < n && !value_is_poison(&best); i++)
        best = choose(lo, is_max, best, items[i], range);
    return best;
}

value build_python_max(lowering *lo, value *args, src_range range) {
    return python_extremum(lo, true, args, range);
}

value build_python_min(lowering *lo, value *args, src_range range) {
    return python_extremum(lo, false, args, range);
}

value build_len(lowering *lo, value *args, src_range range) {
    if (args[0].kind == VALUE_TUPLE)
        return value_int(args[0].num_items);
    if (args[0].kind == VALUE_STRING) { // characters: the bytes of UTF-8 that go on do not count
        int64_t characters = 0;
        for (size_t i = 0; i < args[0].str.len; i++)
            characters += ((unsigned char)args[0].str.data[i] & 0xc0) != 0x80;
        return value_int(characters);
    }
    return lower_error(lo, range, "len() needs a tuple, not %s; a tile has .shape and .numel",
                       sem_describe(lo, &args[0]));
}

/// Run-time values convert with .to().
static value refuse_conversion(lowering *lo, const char *name, const value *v, const char *type,
                               src_range range) {
    bool number = v->kind == VALUE_IR;
    return lower_error(lo, range, "%s() needs a compile-time number, not %s%s%s%s", name,
                       sem_describe(lo, v), number ? "; write x.to(" : "", number ? type : "",
                       number ? ")" : "");
}

value build_tuple(lowering *lo, value *args, src_range range) {
    if (args[0].kind == VALUE_TUPLE)
        return args[0];
    return lower_error(lo, range, "a tuple is made of a tuple or a list, not of %s",
                       sem_describe(lo, &args[0]));
}

/// Whether a value is what a class of Python's or Triton's stands for. False, with *known unset,
/// if we do not know the class.
static bool is_instance(const value *v, const value *type, bool *known) {
    sv name = type->kind == VALUE_MODULE                   ? type->str
              : type->kind == VALUE_BUILTIN && !type->self ? sv_from(type->builtin->name)
                                                           : SV("");
    *known = true;
    if (sv_is(name, "int"))
        return v->kind == VALUE_INT || v->kind == VALUE_BOOL;
    if (sv_is(name, "float"))
        return v->kind == VALUE_FLOAT;
    if (sv_is(name, "bool"))
        return v->kind == VALUE_BOOL;
    if (sv_is(name, "tuple") || sv_is(name, "list"))
        return v->kind == VALUE_TUPLE;
    if (sv_is(name, "tl.dtype"))
        return v->kind == VALUE_DTYPE;
    if (sv_is(name, "tl.tensor"))
        return v->kind == VALUE_IR;
    if (sv_is(name, "constexpr"))
        return value_is_number(v) || v->kind == VALUE_STRING || v->kind == VALUE_NONE ||
               v->kind == VALUE_DTYPE;
    if (sv_is(name, "tl.tensor_descriptor"))
        return v->kind == VALUE_DESCRIPTOR;
    *known = false;
    return false;
}

value build_isinstance(lowering *lo, value *args, src_range range) {
    const value *types = args[1].kind == VALUE_TUPLE ? args[1].items : &args[1];
    uint32_t n = args[1].kind == VALUE_TUPLE ? args[1].num_items : 1;
    bool found = false, known = true;
    for (uint32_t i = 0; i < n && known; i++)
        found |= is_instance(&args[0], &types[i], &known);
    if (known)
        return value_bool(found);
    return lower_error(lo, value_place(&args[1], range),
                       "isinstance() knows int, float, bool, tuple, list, tl.tensor, tl.constexpr, "
                       "tl.dtype and tl.tensor_descriptor, not %s",
                       sem_describe(lo, &args[1]));
}

value build_float(lowering *lo, value *args, src_range range) {
    const value *v = &args[0];
    if (v->kind == VALUE_FLOAT)
        return *v;
    if (v->kind == VALUE_STRING) {
        char *end, *text = arena_copy_string(lo->arena, v->str.data, v->str.len);
        double f = strtod(text, &end);
        end += strspn(end, " \t\n");
        bool plain = !strpbrk(text, "xXpP("); // strtod reads more than Python does
        if (end != text && *end == '\0' && plain)
            return value_float(f);
        return lower_error(lo, range, "'%s' is not a number", text);
    }
    if (!value_is_number(v))
        return refuse_conversion(lo, "float", v, "tl.float32", range);
    return value_float(v->is_unsigned ? (double)(uint64_t)v->i : (double)v->i);
}

value build_int(lowering *lo, value *args, src_range range) {
    value v = args[0];
    if (v.kind == VALUE_FLOAT) {
        if (!(fabs(v.f) < 0x1p63))
            return lower_error(lo, range, "cannot make a 64-bit integer of %g", v.f);
        return value_int((int64_t)v.f);
    }
    if (!value_is_number(&v))
        return refuse_conversion(lo, "int", &v, "tl.int32", range);
    v.kind = VALUE_INT;
    return v;
}

value build_bool(lowering *lo, value *args, src_range range) {
    if (value_is_constexpr(&args[0]))
        return value_bool(value_truth(&args[0]));
    return lower_error(lo, range, "bool() needs a compile-time value, not %s; write x != 0",
                       sem_describe(lo, &args[0]));
}
