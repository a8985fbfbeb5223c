// The table of built-ins at work: finding a name, and binding the arguments of a call to the
// parameters of its row, with defaults, the way Python does it and with errors like Python's. The
// builders in builtins_*.c then see one value per parameter, of the kind that the row asks for.
#include "frontend/builtins.h"

// --- the table

#define METHOD BUILTIN_METHOD
#define ONLY_METHOD (BUILTIN_METHOD | BUILTIN_ONLY_METHOD)
#define PYTHON BUILTIN_PYTHON
#define MATH BUILTIN_MATH
#define CUDA BUILTIN_CUDA
#define TRITON BUILTIN_TRITON
#define BUILTIN(name, build, flags, signature) {name, signature, flags, build},
#define STDLIB(name, flags, signature) {name, signature, flags, NULL},
#define LIBDEVICE(name, signature) {name, signature, BUILTIN_MATH | BUILTIN_LIBDEVICE, NULL},
#define REFUSED(name, flags, advice) {name, advice, (flags) | BUILTIN_REFUSED, NULL},
static const builtin table[] = {
#include "frontend/builtins.def"
};
#undef BUILTIN
#undef STDLIB
#undef LIBDEVICE
#undef REFUSED

enum { TABLE_SIZE = sizeof(table) / sizeof(table[0]) };

/// True if the row's name is known in the module.
static bool is_member(const builtin *bi, sv module) {
    if (bi->flags & BUILTIN_ONLY_METHOD)
        return false;
    if (bi->flags & BUILTIN_PYTHON)
        return module.len == 0;
    if ((bi->flags & BUILTIN_CUDA) || sv_is(module, "tl.extra.cuda"))
        return (bi->flags & BUILTIN_CUDA) && sv_is(module, "tl.extra.cuda");
    if (sv_is(module, "triton"))
        return bi->flags & BUILTIN_TRITON;
    if (sv_is(module, "tl.math") || sv_is(module, "libdevice"))
        return bi->flags & BUILTIN_MATH;
    if ((bi->flags & BUILTIN_MATH) && (bi->flags & BUILTIN_REFUSED))
        return false; // libdevice's alone: a bare y0 is a mistake of another kind
    return module.len == 0 || sv_is(module, "tl");
}

const builtin *builtin_find(sv module, sv name) {
    const builtin *found = NULL;
    for (unsigned i = 0; i < TABLE_SIZE; i++) {
        const builtin *bi = &table[i];
        if (!sv_is(name, bi->name) || !is_member(bi, module))
            continue;
        if (!found || (bi->flags & BUILTIN_PYTHON)) // bare max is Python's
            found = bi;
    }
    return found;
}

value builtin_value(lowering *lo, const builtin *bi, sv module, src_range range) {
    if (!(bi->flags & BUILTIN_REFUSED))
        return (value){.kind = VALUE_BUILTIN, .range = range, .builtin = bi};
    const char *advice = bi->signature;
    module = module.len ? module : SV("");
    return lower_error(lo, range, "'%" SV_FMT "%s%s' is not supported yet%s%s", SV_ARG(module),
                       module.len ? "." : "", bi->name, *advice ? "; " : "", advice);
}

bool builtin_any_of_libdevice(const name_map *names) {
    uint32_t ignored;
    for (unsigned i = 0; i < TABLE_SIZE; i++)
        if ((table[i].flags & BUILTIN_LIBDEVICE) &&
            name_map_get(names, sv_from(table[i].name), &ignored))
            return true;
    return false;
}

const builtin *builtin_find_method(sv name) {
    for (unsigned i = 0; i < TABLE_SIZE; i++)
        if ((table[i].flags & BUILTIN_METHOD) && !(table[i].flags & BUILTIN_REFUSED) &&
            sv_is(name, table[i].name))
            return &table[i];
    return NULL;
}

bool builtin_bind_method(lowering *lo, const value *x, sv name, src_range range, value *out) {
    for (unsigned i = 0; i < TABLE_SIZE; i++) {
        const builtin *bi = &table[i];
        if (!(bi->flags & BUILTIN_METHOD) || !sv_is(name, bi->name))
            continue;
        if (bi->flags & BUILTIN_REFUSED) {
            *out = builtin_value(lo, bi, (sv){0}, range);
            return true;
        }
        *out = (value){.kind = VALUE_BUILTIN, .builtin = bi, .range = range};
        out->self = ARENA_NEW(lo->arena, value);
        *out->self = *x;
        return true;
    }
    return false;
}

static value build_answer(lowering *lo, value *args, src_range range) {
    (void)lo;
    (void)range;
    return args[0];
}

value builtin_answer(lowering *lo, value result) {
    static const builtin answer = {"the query", "self", 0, build_answer};
    value v = {.kind = VALUE_BUILTIN, .builtin = &answer};
    v.self = ARENA_NEW(lo->arena, value);
    *v.self = result;
    return v;
}

// --- suggestions

enum { MAX_GUESS_LENGTH = 31 };

static unsigned lesser(unsigned a, unsigned b) { return a < b ? a : b; }

/// Letters to change, insert, drop or swap with the next one to get from a to b.
static unsigned edit_distance(sv a, sv b) {
    unsigned rows[3][MAX_GUESS_LENGTH + 1];
    for (unsigned j = 0; j <= b.len; j++)
        rows[0][j] = j;
    for (unsigned i = 1; i <= a.len; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (unsigned j = 1; j <= b.len; j++) {
            char x = a.data[i - 1], y = b.data[j - 1];
            row[j] = lesser(above[j - 1] + (x != y), lesser(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && x == b.data[j - 2] && a.data[i - 2] == y)
                row[j] = lesser(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a.len % 3][b.len];
}

name_guess guess_begin(sv wrong) { return (name_guess){.wrong = wrong, .distance = 3}; }

void guess_try(name_guess *g, sv candidate) {
    if (g->wrong.len > MAX_GUESS_LENGTH || candidate.len > MAX_GUESS_LENGTH)
        return;
    unsigned d = edit_distance(g->wrong, candidate);
    if (d < g->distance && 3 * d <= g->wrong.len) { // one letter of three, two of six
        g->distance = d;
        g->best = candidate;
    }
}

const char *guess_text(lowering *lo, const name_guess *g) {
    if (!g->best.len)
        return "";
    return sv_format(lo->arena, "; did you mean '%" SV_FMT "'?", SV_ARG(g->best)).data;
}

/// Names of CUDA, Python and its libraries, and what has their place here.
static const struct {
    const char *name, *instead;
} elsewhere[] = {
    {"blockIdx", "the place of a program in the grid is tl.program_id(axis)"},
    {"gridDim", "the extent of the grid is tl.num_programs(axis)"},
    {"threadIdx", "a program is written for all its threads at once: tl.arange(0, N)"},
    {"blockDim", "a program is written for all its threads at once: tl.arange(0, N)"},
    {"__syncthreads", "barriers are placed where they are needed; tl.debug_barrier() is one more"},
    {"syncthreads", "barriers are placed where they are needed; tl.debug_barrier() is one more"},
    {"torch", "a kernel has tl and libdevice: tl.float32, tl.exp(x)"},
    {"numpy", "a kernel has tl and libdevice: tl.float32, tl.exp(x)"},
    {"np", "a kernel has tl and libdevice: tl.float32, tl.exp(x)"},
    {"math", "import it at the top of the file, for constants; of tiles there is tl.exp(x)"},
    {"inf", "write float('inf')"},
    {"nan", "write float('nan')"},
    {"relu", "write tl.maximum(x, 0.0)"},
    {"silu", "write x * tl.sigmoid(x)"},
    {"gelu", "write 0.5 * x * (1 + tl.erf(x * 0.70710678))"},
    {"square", "write x * x"},
    {"mean", "write tl.sum(x, axis) / n"},
    {"concat", "write tl.cat(x, y)"},
    {"concatenate", "write tl.cat(x, y)"},
    {"stack", "write tl.join(x, y)"},
    {"matmul", "sum products: tl.sum(a[:, :, None] * b[None, :, :], axis=1)"},
    {"ones", "write tl.full(shape, 1, dtype)"},
    {"empty", "write tl.zeros(shape, dtype)"},
    {"full_like", "write tl.full(x.shape, value, x.dtype)"},
    {"ones_like", "write tl.full(x.shape, 1, x.dtype)"},
};

const char *builtin_suggest(lowering *lo, sv module, sv wrong) {
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (sv_is(wrong, elsewhere[i].name))
            return sv_format(lo->arena, "; %s", elsewhere[i].instead).data;
    name_guess g = guess_begin(wrong);
    for (unsigned i = 0; i < TABLE_SIZE; i++)
        if (is_member(&table[i], module) && !(table[i].flags & BUILTIN_REFUSED))
            guess_try(&g, sv_from(table[i].name));
    bool has_types = module.len == 0 || sv_is(module, "tl");
    for (dtype t = DT_VOID + 1; t < DT_PTR && has_types; t++) {
        guess_try(&g, sv_from(dtype_name(t)));
        guess_try(&g, sv_from(dtype_long_name(t)));
    }
    return guess_text(lo, &g);
}

const char *builtin_suggest_method(lowering *lo, sv wrong) {
    static const char *const attributes[] = {"dtype", "type", "shape", "numel"};
    const builtin *function = builtin_find(SV("tl"), wrong);
    if (function && !(function->flags & BUILTIN_REFUSED))
        return sv_format(lo->arena, "; it is no method, call tl.%" SV_FMT "()", SV_ARG(wrong)).data;
    name_guess g = guess_begin(wrong);
    for (unsigned i = 0; i < TABLE_SIZE; i++)
        if ((table[i].flags & BUILTIN_METHOD) && !(table[i].flags & BUILTIN_REFUSED))
            guess_try(&g, sv_from(table[i].name));
    for (unsigned i = 0; i < sizeof attributes / sizeof *attributes; i++)
        guess_try(&g, sv_from(attributes[i]));
    return guess_text(lo, &g);
}

// --- signatures

enum { MAX_PARAMETERS = 12 };

typedef struct parameter {
    sv name, kind, fallback; ///< kind and fallback may be empty
    bool has_default, variadic;
} parameter;

typedef struct signature {
    parameter params[MAX_PARAMETERS];
    unsigned count;
} signature;

/// The text up to one of the stop characters; moves *at past it.
static sv take_until(const char **at, const char *stops) {
    sv word = {*at, strcspn(*at, stops)};
    *at += word.len;
    return word;
}

static signature read_signature(const char *text) {
    signature s = {.count = 0};
    while (*text) {
        parameter *p = &s.params[s.count++];
        p->variadic = *text == '*';
        text += p->variadic;
        p->name = take_until(&text, ":=,");
        if (*text == ':') {
            text += 2; // ": "
            p->kind = take_until(&text, "=,");
        }
        if (*text == '=') {
            text++;
            p->has_default = true;
            p->fallback = take_until(&text, ",");
        }
        if (*text == ',')
            text += 2; // ", "
    }
    return s;
}

static value default_value(lowering *lo, sv text) {
    if (sv_is(text, "None"))
        return value_none();
    if (sv_is(text, "True") || sv_is(text, "False"))
        return value_bool(text.data[0] == 'T');
    if (sv_is(text, "()"))
        return value_tuple(lo->arena, NULL, 0);
    if (sv_is(text, "0.0"))
        return value_float(0);
    if (sv_is(text, "\"\\n\""))
        return value_string(SV("\n"));
    if (text.data[0] == '"')
        return value_string((sv){text.data + 1, text.len - 2});
    int64_t n = 0;
    for (size_t i = 0; i < text.len; i++)
        n = 10 * n + text.data[i] - '0';
    return value_int(n);
}

// --- binding

/// Checks an argument against its parameter's kind; numbers for `tile` become run-time values.
static bool check_kind(lowering *lo, const builtin *bi, const parameter *p, value *v,
                       src_range range) {
    static const struct {
        const char *kind, *wanted;
        value_kind accepted[2];
    } kinds[] = {
        {"int", "a compile-time integer", {VALUE_INT, VALUE_BOOL}},
        {"bool", "a compile-time bool", {VALUE_BOOL, VALUE_INT}},
        {"str", "a string", {VALUE_STRING, VALUE_STRING}},
        {"dtype", "a type such as tl.float32", {VALUE_DTYPE, VALUE_DTYPE}},
    };
    src_range place = value_place(v, range);
    bool is_tile = sv_is(p->kind, "tile");
    if (is_tile || sv_is(p->kind, "number")) {
        if (v->kind == VALUE_IR || (!is_tile && value_is_number(v)))
            return true;
        if (!value_is_number(v)) {
            lower_error(lo, place, "%s(): '%" SV_FMT "' must be a number or a tile, not %s",
                        bi->name, SV_ARG(p->name), sem_describe(lo, v));
            return false;
        }
        *v = sem_materialize(lo, *v, place);
        return !value_is_poison(v);
    }
    if (sv_is(p->kind, "fixed")) {
        value expected = default_value(lo, p->fallback);
        if (v->kind == VALUE_NONE || (value_is_constexpr(v) && value_equal(v, &expected)))
            return true;
        lower_error(lo, place, "'%" SV_FMT "' of %s() is not supported yet", SV_ARG(p->name),
                    bi->name);
        return false;
    }
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (!sv_is(p->kind, kinds[i].kind))
            continue;
        if (v->kind == kinds[i].accepted[0] || v->kind == kinds[i].accepted[1])
            return true;
        if (v->kind == VALUE_NONE && sv_is(p->fallback, "None"))
            return true;
        lower_error(lo, place, "%s(): '%" SV_FMT "' must be %s, not %s%s", bi->name,
                    SV_ARG(p->name), kinds[i].wanted, sem_describe(lo, v),
                    v->kind == VALUE_IR ? "; take it as a parameter that is constexpr" : "");
        return false;
    }
    return true;
}

/// The index of a parameter that may be given by keyword, or -1 after an error.
static int find_keyword(lowering *lo, const builtin *bi, const signature *s, sv name,
                        src_range place) {
    name_guess g = guess_begin(name);
    for (unsigned i = 0; i < s->count; i++) {
        if (s->params[i].variadic)
            continue;
        if (sv_equal(s->params[i].name, name))
            return (int)i;
        guess_try(&g, s->params[i].name);
    }
    lower_error(lo, place, "%s() got an unexpected keyword argument '%" SV_FMT "'%s", bi->name,
                SV_ARG(name), guess_text(lo, &g));
    return -1;
}

/// Places the positional arguments, `self` first; what is left goes to *args.
static bool bind_positional(lowering *lo, const builtin *bi, const signature *s, const value *self,
                            const call_args *args, value *bound, bool *is_bound) {
    uint32_t total = args->num_positional + (self ? 1 : 0), next = 0;
    value *all = ARENA_ARRAY(lo->arena, value, total ? total : 1);
    if (self)
        all[0] = *self;
    for (uint32_t i = 0; i < args->num_positional; i++)
        all[i + (self ? 1 : 0)] = args->positional[i];
    for (unsigned i = 0; i < s->count; i++) {
        if (s->params[i].variadic) {
            bound[i] = value_tuple(lo->arena, all + next, total - next);
            is_bound[i] = true;
            return true;
        }
        if (next == total)
            return true;
        bound[i] = all[next++];
        is_bound[i] = true;
    }
    if (next == total)
        return true;
    lower_error(lo, value_place(&all[next], args->range),
                "%s() takes %s%u argument%s but %u were given", bi->name,
                s->count && s->params[s->count - 1].has_default ? "at most " : "", s->count,
                s->count == 1 ? "" : "s", total);
    return false;
}

static bool bind_keywords(lowering *lo, const builtin *bi, const signature *s,
                          const call_args *args, value *bound, bool *is_bound) {
    for (uint32_t k = 0; k < args->num_keywords; k++) {
        src_range place = args->keyword_places ? args->keyword_places[k] : args->range;
        int i = find_keyword(lo, bi, s, args->keyword_names[k], place);
        if (i < 0)
            return false;
        if (is_bound[i]) {
            lower_error(lo, place, "%s() got multiple values for argument '%" SV_FMT "'", bi->name,
                        SV_ARG(args->keyword_names[k]));
            return false;
        }
        bound[i] = args->keywords[k];
        is_bound[i] = true;
    }
    return true;
}

/// Fills in defaults and checks kinds; poison among the arguments silences the call.
static bool complete(lowering *lo, const builtin *bi, const signature *s, value *bound,
                     const bool *is_bound, src_range range) {
    for (unsigned i = 0; i < s->count; i++) {
        const parameter *p = &s->params[i];
        if (!is_bound[i] && !p->has_default) {
            lower_error(lo, range, "%s() is missing the argument '%" SV_FMT "'", bi->name,
                        SV_ARG(p->name));
            return false;
        }
        if (!is_bound[i])
            bound[i] = default_value(lo, p->fallback);
        if (value_is_poison(&bound[i]))
            return false;
        for (uint32_t k = 0; p->variadic && k < bound[i].num_items; k++)
            if (value_is_poison(&bound[i].items[k]))
                return false;
    }
    for (unsigned i = 0; i < s->count; i++)
        if (is_bound[i] && !check_kind(lo, bi, &s->params[i], &bound[i], range))
            return false;
    return true;
}

/// Calls the standard library's function with one positional argument per parameter.
static value call_stdlib(lowering *lo, const builtin *bi, const signature *s, value *bound,
                         src_range range) {
    value callee = lower_stdlib(lo, bi->name);
    call_args args = {.positional = bound, .num_positional = s->count, .range = range};
    return lower_call(lo, &callee, &args);
}

value builtin_call(lowering *lo, const builtin *bi, const value *self, const call_args *args) {
    value bound[MAX_PARAMETERS] = {{.kind = VALUE_POISON}};
    bool is_bound[MAX_PARAMETERS] = {false};
    signature s = read_signature(bi->signature);
    lower_set_range(lo, args->range);
    if (!bind_positional(lo, bi, &s, self, args, bound, is_bound) ||
        !bind_keywords(lo, bi, &s, args, bound, is_bound) ||
        !complete(lo, bi, &s, bound, is_bound, args->range))
        return value_poison();
    if (!bi->build)
        return call_stdlib(lo, bi, &s, bound, args->range);
    return bi->build(lo, bound, args->range);
}
