// Reads the text form of tile IR (docs/ir.md) back into a module: how a pass is tested on its own,
// and how IR written by hand enters the compiler. The parser looks at characters, without a token
// layer: the form is small and types do not split into tokens well (`tile<4x1024xfp32>`). It makes
// sure of what ir_create needs and no more; types and structure are ir_verify's. The first error
// stops it: the position jumps to the end, so everything unwinds without further checks.
#include "ir/ir.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
    MAX_NUMBER = 64, // characters
    MAX_LIST = 64,   // numbers in brackets
};

typedef struct named_value {
    struct named_value *next; // in the same bucket
    sv name;                  // as written, with its suffix
    ir_value *value;
} named_value;

typedef struct parser {
    arena *arena;
    diag *diag;
    uint32_t file;
    const char *begin, *at, *end;
    bool failed;
    ir_module *module;
    ir_func *func;
    named_value **buckets;           // values of the function by name
    uint32_t num_buckets, num_names; // num_buckets is a power of two
    const layout **layouts;          // #l0, #l1 ... of the function
    uint32_t num_layouts, cap_layouts;
    unsigned depth;
} parser;

typedef struct binding {
    sv name; // as written
    ir_type type;
    const layout *layout;
} binding;

typedef VEC(binding) binding_list;

// --- characters

static src_range range_from(const parser *p, const char *begin) {
    uint32_t from = (uint32_t)(begin - p->begin), to = (uint32_t)(p->at - p->begin);
    return (src_range){p->file, from, to > from ? to : from};
}

static void __attribute__((format(printf, 3, 4)))
fail(parser *p, const char *begin, const char *fmt, ...) {
    if (!p->failed) {
        strbuf s;
        strbuf_init(&s, p->arena);
        va_list args;
        va_start(args, fmt);
        strbuf_vprintf(&s, fmt, args);
        va_end(args);
        src_range at = range_from(p, begin);
        at.end += at.end == at.begin && begin < p->end;
        diag_error(p->diag, at, "%s", s.data);
    }
    p->failed = true;
    p->at = p->end;
}

static void skip_space(parser *p) {
    while (p->at < p->end) {
        char c = *p->at;
        if (c == '/' && p->end - p->at > 1 && p->at[1] == '/') {
            while (p->at < p->end && *p->at != '\n')
                p->at++;
        } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            p->at++;
        } else {
            return;
        }
    }
}

static bool accept(parser *p, const char *text) {
    skip_space(p);
    size_t n = strlen(text);
    if ((size_t)(p->end - p->at) < n || memcmp(p->at, text, n) != 0)
        return false;
    p->at += n;
    return true;
}

static bool expect(parser *p, const char *text) {
    if (accept(p, text))
        return true;
    fail(p, p->at, p->at < p->end ? "expected '%s'" : "expected '%s' before the end of the file",
         text);
    return false;
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

// [A-Za-z0-9_]*, after space; may be empty.
static sv read_word(parser *p) {
    skip_space(p);
    const char *begin = p->at;
    while (p->at < p->end && (is_letter(*p->at) || is_digit(*p->at)))
        p->at++;
    return (sv){begin, (size_t)(p->at - begin)};
}

static bool accept_word(parser *p, const char *word) {
    const char *begin = p->at;
    if (sv_is(read_word(p), word))
        return true;
    p->at = begin;
    return false;
}

static sv read_name(parser *p, const char *what) {
    sv name = read_word(p);
    if (name.len == 0)
        fail(p, p->at, "expected %s", what);
    return name;
}

// --- numbers and strings

// The characters of a number: digits, signs, letters as in 1e+10, 0x7f, nan.
static const char *read_number(parser *p, char *text) {
    skip_space(p);
    const char *begin = p->at;
    unsigned n = 0;
    while (p->at < p->end && n < MAX_NUMBER &&
           (is_letter(*p->at) || is_digit(*p->at) || *p->at == '.' ||
            ((*p->at == '-' || *p->at == '+') && (n == 0 || text[n - 1] == 'e'))))
        text[n++] = *p->at++;
    text[n] = 0;
    if (n == 0 || n == MAX_NUMBER)
        fail(p, begin, "expected a number");
    return begin;
}

// A decimal or 0x integer of 64 bits. *above says that it is over INT64_MAX (bits of a uint64).
static bool convert_int(const char *text, int64_t *v, bool *above) {
    bool hex = text[0] == '0' && text[1] == 'x';
    const char *digits = text[0] == '-' ? text + 1 : hex ? text + 2 : text;
    if (!*digits || strspn(digits, hex ? "0123456789abcdef" : "0123456789") != strlen(digits))
        return false;
    errno = 0;
    *above = text[0] != '-' && strtoull(digits, NULL, hex ? 16 : 10) > INT64_MAX;
    *v = text[0] == '-' ? strtoll(text, NULL, 10) : (int64_t)strtoull(digits, NULL, hex ? 16 : 10);
    return errno == 0;
}

static int64_t read_int(parser *p, int64_t least, int64_t most) {
    char text[MAX_NUMBER + 1];
    const char *begin = read_number(p, text);
    int64_t v = 0;
    bool above = false;
    if (!p->failed && (!convert_int(text, &v, &above) || above || v < least || v > most))
        fail(p, begin, "expected an integer from %lld to %lld", (long long)least, (long long)most);
    return p->failed ? 0 : v;
}

// [1, 2, 3]
static uint32_t read_ints(parser *p, int64_t *out, int64_t least, int64_t most) {
    uint32_t n = 0;
    expect(p, "[");
    if (accept(p, "]"))
        return 0;
    do {
        if (n == MAX_LIST)
            fail(p, p->at, "expected at most %d numbers", MAX_LIST);
        else
            out[n++] = read_int(p, least, most);
    } while (accept(p, ","));
    expect(p, "]");
    return p->failed ? 0 : n;
}

// A constant of type t as its bits.
static uint64_t read_constant(parser *p, dtype t) {
    char text[MAX_NUMBER + 1];
    const char *begin = read_number(p, text);
    if (p->failed)
        return 0;
    bool hex = text[0] == '0' && text[1] == 'x', above = false;
    int64_t v = 0;
    if (hex || !dtype_is_float(t)) {
        bool ok = convert_int(text, &v, &above);
        unsigned bits = dtype_bits(t);
        if (hex)
            ok = ok && (bits == 64 || (bits > 0 && (uint64_t)v >> bits == 0));
        else
            ok = ok && dtype_int_fits(t, v, above);
        if (!ok)
            fail(p, begin, "expected a value of %s", dtype_name(t));
        return bits < 64 ? (uint64_t)v & ((UINT64_C(1) << bits) - 1) : (uint64_t)v;
    }
    char *end;
    double x = strtod(text, &end);
    bool named = !strcmp(text, "nan") || !strcmp(text, "inf") || !strcmp(text, "-inf");
    if (*end || (!named && strspn(text, "+-.0123456789e") != strlen(text)))
        fail(p, begin, "expected a number");
    return dtype_float_to_bits(t, named && text[0] == 'n' ? (double)NAN : x);
}

static int hex_digit(char c) {
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static sv read_string(parser *p) {
    strbuf s;
    strbuf_init(&s, p->arena);
    strbuf_puts(&s, "");
    expect(p, "\"");
    const char *begin = p->at;
    while (p->at < p->end && *p->at != '"' && *p->at != '\n') {
        char c = *p->at++;
        if (c == '\\' && p->at < p->end) {
            c = *p->at++;
            if (c == 'x' && p->end - p->at >= 2 && hex_digit(p->at[0]) >= 0 &&
                hex_digit(p->at[1]) >= 0) {
                c = (char)(hex_digit(p->at[0]) * 16 + hex_digit(p->at[1]));
                p->at += 2;
            } else if (c != '"' && c != '\\') {
                fail(p, p->at - 2, "expected \\\", \\\\ or \\x and two hexadecimal digits");
            }
        }
        strbuf_putc(&s, c);
    }
    if (!accept(p, "\""))
        fail(p, begin, "expected the end of the string");
    return strbuf_view(&s);
}

// --- types and layouts

// `fp32`, `*fp32`, `*const fp32`
static ir_type read_element(parser *p) {
    skip_space(p);
    const char *begin = p->at;
    bool pointer = accept(p, "*");
    bool is_const = pointer && accept_word(p, "const");
    sv name = read_word(p);
    dtype t = dtype_from_name(name);
    if (t == DT_VOID)
        fail(p, begin, "expected a type");
    return pointer ? ir_pointer_type(t, is_const) : ir_scalar_type(t);
}

static ir_type read_type(parser *p, const layout **l) {
    *l = NULL;
    if (!accept(p, "tile<"))
        return read_element(p);
    uint32_t shape[IR_MAX_RANK];
    unsigned rank = 0;
    while (p->at < p->end && is_digit(*p->at)) {
        const char *begin = p->at;
        uint64_t extent = 0;
        while (p->at < p->end && is_digit(*p->at) && extent <= IR_MAX_ELEMENTS)
            extent = extent * 10 + (uint64_t)(*p->at++ - '0');
        if (extent > IR_MAX_ELEMENTS || rank == IR_MAX_RANK)
            fail(p, begin, "expected at most %d dimensions of at most %d elements", IR_MAX_RANK,
                 IR_MAX_ELEMENTS);
        else
            shape[rank++] = (uint32_t)extent;
        expect(p, "x");
    }
    if (rank == 0)
        fail(p, p->at, "expected the extents of a tile");
    ir_type elem = read_element(p);
    if (accept(p, ",")) {
        expect(p, "#l");
        int64_t n = read_int(p, 0, INT32_MAX);
        if (!p->failed && n >= p->num_layouts)
            fail(p, p->at, "layout #l%lld is not defined", (long long)n);
        if (!p->failed)
            *l = p->layouts[n];
    }
    expect(p, ">");
    return p->failed ? ir_scalar_type(DT_I32) : ir_tile_type(elem, shape, rank);
}

static uint8_t read_bases(parser *p, layout *l, unsigned *n, const char *part, unsigned most) {
    int64_t bases[MAX_LIST];
    if (!accept_word(p, part))
        fail(p, p->at, "expected '%s'", part);
    expect(p, "=");
    const char *begin = p->at;
    uint32_t count = read_ints(p, bases, 0, IR_MAX_ELEMENTS - 1);
    if (count > most)
        fail(p, begin, "expected at most %u bases", most);
    for (uint32_t i = 0; i < count && !p->failed; i++)
        l->basis[(*n)++] = (uint32_t)bases[i];
    return p->failed ? 0 : (uint8_t)count;
}

// `#l0 = #layout<reg = [1], lane = [...], warp = [], cta = []>`, the `#l` already read.
static void read_layout(parser *p) {
    layout *l = ARENA_NEW(p->arena, layout);
    unsigned n = 0;
    if (read_int(p, 0, INT32_MAX) != p->num_layouts)
        fail(p, p->at, "expected layouts to be numbered in order");
    expect(p, "=");
    expect(p, "#layout<");
    l->reg_bits = read_bases(p, l, &n, "reg", LAYOUT_MAX_REG_BITS);
    expect(p, ",");
    const char *begin = p->at;
    if (read_bases(p, l, &n, "lane", LAYOUT_LANE_BITS) != LAYOUT_LANE_BITS)
        fail(p, begin, "expected %d bases of lanes", LAYOUT_LANE_BITS);
    expect(p, ",");
    l->warp_bits = read_bases(p, l, &n, "warp", LAYOUT_MAX_WARP_BITS);
    expect(p, ",");
    l->cta_bits = read_bases(p, l, &n, "cta", LAYOUT_MAX_CTA_BITS);
    expect(p, ">");
    uint32_t bits = 0;
    for (unsigned i = 0; i < n; i++)
        bits |= l->basis[i];
    // Every layout covers its tile, so the highest index bit is in some basis.
    l->index_bits = (uint8_t)(bits ? 32 - __builtin_clz(bits) : 0);
    if (p->num_layouts == p->cap_layouts) {
        uint32_t cap = p->cap_layouts ? p->cap_layouts * 2 : 8;
        p->layouts = arena_grow(p->arena, p->layouts, p->cap_layouts * sizeof(*p->layouts),
                                cap * sizeof(*p->layouts));
        p->cap_layouts = cap;
    }
    p->layouts[p->num_layouts++] = l;
}

// --- names of values

static uint32_t bucket_of(const parser *p, sv name) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < name.len; i++)
        hash = (hash ^ (uint8_t)name.data[i]) * 16777619u;
    return hash & (p->num_buckets - 1);
}

static ir_value *find_value(const parser *p, sv name) {
    for (named_value *n = p->buckets[bucket_of(p, name)]; n; n = n->next)
        if (sv_equal(n->name, name))
            return n->value;
    return NULL;
}

static void grow_buckets(parser *p) {
    named_value **old = p->buckets;
    uint32_t num_old = p->num_buckets;
    p->num_buckets *= 2;
    p->buckets = ARENA_ARRAY(p->arena, named_value *, p->num_buckets);
    for (uint32_t i = 0; i < num_old; i++) {
        for (named_value *n = old[i], *next; n; n = next) {
            next = n->next;
            uint32_t b = bucket_of(p, n->name);
            n->next = p->buckets[b];
            p->buckets[b] = n;
        }
    }
}

static void define_value(parser *p, const binding *b, ir_value *v) {
    if (p->failed)
        return;
    if (find_value(p, b->name)) {
        fail(p, b->name.data - 1, "'%%%" SV_FMT "' is already defined", SV_ARG(b->name));
        return;
    }
    if (p->num_names++ == p->num_buckets)
        grow_buckets(p);
    named_value *n = ARENA_NEW(p->arena, named_value);
    uint32_t bucket = bucket_of(p, b->name);
    *n = (named_value){p->buckets[bucket], b->name, v};
    p->buckets[bucket] = n;
    v->layout = b->layout ? ir_intern_layout(p->func, b->layout) : NULL;
    // `x.2` is the second value called x; `0` has no name.
    const char *dot = memchr(b->name.data, '.', b->name.len);
    v->name = dot ? (sv){b->name.data, (size_t)(dot - b->name.data)} : b->name;
    if (is_digit(b->name.data[0]))
        v->name = (sv){0};
}

// `%x` or `%x.2` or `%0`, without the sign
static sv read_value_name(parser *p) {
    expect(p, "%");
    const char *begin = p->at;
    while (p->at < p->end && (is_letter(*p->at) || is_digit(*p->at) || *p->at == '.'))
        p->at++;
    sv name = {begin, (size_t)(p->at - begin)};
    if (name.len == 0 || name.data[0] == '.')
        fail(p, begin, "expected the name of a value");
    return name;
}

static binding read_binding(parser *p) {
    binding b = {.name = read_value_name(p)};
    expect(p, ":");
    b.type = read_type(p, &b.layout);
    return b;
}

static void read_bindings(parser *p, binding_list *list) {
    do
        VEC_PUSH(p->arena, *list, read_binding(p));
    while (accept(p, ","));
}

// --- ops

static int find_op_name(sv name) {
    for (int i = 0; i < IR_OPCODE_COUNT; i++)
        if (sv_is(name, ir_get_op_info((ir_opcode)i)->name))
            return i;
    return -1;
}

static int find_attr_name(sv name) {
    for (int i = 0; i < IR_ATTR_COUNT; i++)
        if (sv_is(name, ir_attr_name((ir_attr_key)i)))
            return i;
    return -1;
}

static void read_attr(parser *p, ir_op *op) {
    skip_space(p);
    const char *begin = p->at;
    int found = find_attr_name(read_word(p));
    if (found < 0 || ir_find_attr(op, (ir_attr_key)found)) {
        fail(p, begin, found < 0 ? "expected an attribute" : "the attribute is given twice");
        return;
    }
    ir_attr_key key = (ir_attr_key)found;
    ir_attr_kind kind = ir_attr_get_kind(key);
    int64_t ints[MAX_LIST];
    if (kind != FLAG)
        expect(p, "=");
    if (kind == FLAG)
        ir_set_flag(op, key);
    else if (kind == INT)
        ir_set_int(op, key, read_int(p, INT64_MIN, INT64_MAX));
    else if (kind == BITS)
        ir_set_int(op, key,
                   (int64_t)read_constant(p, op->num_results ? op->results[0]->type.elem : DT_I64));
    else if (kind == STR)
        ir_set_str(op, key, read_string(p));
    else
        ir_set_ints(op, key, ints, read_ints(p, ints, INT64_MIN, INT64_MAX));
}

// `{axis = 1, cache = "cs"}`, if there is one: a region opens with a brace as well, but an op does
// not have the name of an attribute.
static void read_attrs(parser *p, ir_op *op) {
    skip_space(p);
    const char *begin = p->at;
    if (!accept(p, "{"))
        return;
    bool is_region = op->num_regions > 0 && find_attr_name(read_word(p)) < 0;
    p->at = begin;
    if (is_region)
        return;
    expect(p, "{");
    do
        read_attr(p, op);
    while (accept(p, ","));
    expect(p, "}");
}

static void read_location(parser *p) {
    if (!accept(p, "loc("))
        return;
    read_int(p, 0, UINT32_MAX);
    expect(p, ":");
    read_int(p, 0, UINT32_MAX);
    expect(p, ")");
}

// Operands start on the line of the op's name: the next line's `%x` is a result of the next op.
static void read_operands(parser *p, ir_value ***operands, uint32_t *n) {
    VEC(ir_value *) list = {0};
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t'))
        p->at++;
    while (p->at < p->end && (*p->at == '%' || *p->at == '_')) {
        ir_value *v = NULL;
        if (!accept(p, "_")) {
            sv name = read_value_name(p);
            v = p->failed ? NULL : find_value(p, name);
            if (!v)
                fail(p, name.data - 1, "'%%%" SV_FMT "' is not defined", SV_ARG(name));
        }
        VEC_PUSH(p->arena, list, v);
        if (!accept(p, ","))
            break;
        skip_space(p);
        if (p->at < p->end && *p->at != '%' && *p->at != '_')
            fail(p, p->at, "expected an operand");
    }
    *operands = list.data;
    *n = list.len;
}

static void read_block(parser *p, ir_block *b);

// `(%i: i32) { ... }`, after an `else` or `do` that says nothing new
static void read_region(parser *p, ir_op *op, uint32_t r) {
    ir_block *b = op->regions[r] = ir_block_create(p->func, op);
    if (r > 0 && !accept_word(p, "else"))
        accept_word(p, "do");
    if (accept(p, "(")) {
        binding_list args = {0};
        read_bindings(p, &args);
        for (uint32_t i = 0; i < args.len; i++)
            define_value(p, &args.data[i], ir_add_block_arg(b, args.data[i].type, (sv){0}));
        expect(p, ")");
    }
    if (p->depth == IR_MAX_NESTING) {
        fail(p, p->at, "regions are nested more than %d deep", IR_MAX_NESTING);
        return;
    }
    p->depth++;
    read_block(p, b);
    p->depth--;
}

static void read_op(parser *p, ir_block *block) {
    const char *begin = p->at;
    binding_list results = {0};
    if (*p->at == '%') {
        read_bindings(p, &results);
        expect(p, "=");
    }
    skip_space(p);
    const char *at = p->at;
    sv name = read_name(p, "an op");
    int opcode = find_op_name(name);
    if (opcode < 0)
        fail(p, at, "unknown op '%" SV_FMT "'", SV_ARG(name));
    ir_value **operands;
    uint32_t num_operands;
    read_operands(p, &operands, &num_operands);
    if (p->failed)
        return;
    ir_type *types = ARENA_ARRAY(p->arena, ir_type, results.len);
    for (uint32_t i = 0; i < results.len; i++)
        types[i] = results.data[i].type;
    ir_builder b = {.func = p->func, .block = block, .range = range_from(p, begin)};
    ir_op *op = ir_create(&b, (ir_opcode)opcode, operands, num_operands, types, results.len);
    for (uint32_t i = 0; i < results.len; i++)
        define_value(p, &results.data[i], op->results[i]);
    read_attrs(p, op);
    read_location(p);
    for (uint32_t r = 0; r < op->num_regions && !p->failed; r++)
        read_region(p, op, r);
}

static void read_block(parser *p, ir_block *b) {
    expect(p, "{");
    while (!p->failed && !accept(p, "}")) {
        if (p->at == p->end)
            expect(p, "}");
        else
            read_op(p, b);
    }
}

// --- functions

static void read_param(parser *p) {
    skip_space(p);
    const char *begin = p->at;
    binding b = read_binding(p);
    uint32_t divisibility = 1;
    bool is_one = false;
    if (accept(p, "{")) {
        do {
            if (accept_word(p, "div")) {
                expect(p, "=");
                divisibility = (uint32_t)read_int(p, 1, UINT32_MAX);
            } else if (accept_word(p, "one")) {
                is_one = true;
            } else {
                fail(p, p->at, "expected 'div' or 'one'");
            }
        } while (accept(p, ","));
        expect(p, "}");
    }
    if (p->failed)
        return;
    if (p->func->num_params == IR_MAX_PARAMS) {
        fail(p, begin, "more than %d parameters", IR_MAX_PARAMS);
        return;
    }
    ir_value *v = ir_add_param(p->func, b.name, b.type, divisibility, is_one, range_from(p, begin));
    define_value(p, &b, v);
    p->func->params[p->func->num_params - 1].name = v->name;
}

static void read_func_attrs(parser *p) {
    ir_func *f = p->func;
    const struct {
        const char *name;
        uint32_t *to;
    } attrs[] = {{"num_warps", &f->num_warps},
                 {"num_ctas", &f->num_ctas},
                 {"num_stages", &f->num_stages},
                 {"maxnreg", &f->maxnreg}};
    do {
        skip_space(p);
        const char *begin = p->at;
        sv name = read_word(p);
        uint32_t *to = NULL;
        for (size_t i = 0; i < sizeof(attrs) / sizeof(attrs[0]); i++)
            if (sv_is(name, attrs[i].name))
                to = attrs[i].to;
        if (!to) {
            fail(p, begin, "expected num_warps, num_ctas, num_stages or maxnreg");
            return;
        }
        expect(p, "=");
        *to = (uint32_t)read_int(p, 0, UINT32_MAX);
    } while (accept(p, ","));
    expect(p, "}");
}

// `func @f(%x: *fp32 {div = 16}) {num_warps = 4} { ... }`, the `func` already read
static void read_func(parser *p) {
    expect(p, "@");
    const char *begin = p->at;
    sv name = read_name(p, "the function's name");
    if (p->failed)
        return;
    p->func = ir_func_create(p->module, name, 4, 1);
    p->func->range = range_from(p, begin);
    p->num_buckets = 64;
    p->num_names = 0;
    p->buckets = ARENA_ARRAY(p->arena, named_value *, p->num_buckets);
    expect(p, "(");
    if (!accept(p, ")")) {
        do
            read_param(p);
        while (accept(p, ","));
        expect(p, ")");
    }
    // The body opens with a brace as well; attributes have a '=' after the first word.
    const char *brace = p->at;
    bool attrs = accept(p, "{") && read_word(p).len > 0 && accept(p, "=");
    if (!p->failed)
        p->at = brace;
    if (attrs) {
        expect(p, "{");
        read_func_attrs(p);
    }
    read_block(p, p->func->body);
    p->num_layouts = 0;
}

ir_module *ir_parse(arena *a, diag *d, uint32_t file) {
    sv text = diag_file_text(d, file);
    parser p = {.arena = a, .diag = d, .file = file, .begin = text.data, .at = text.data};
    p.end = text.data + text.len;
    p.module = ir_module_create(a, d);
    skip_space(&p);
    while (p.at < p.end && !p.failed) {
        if (accept_word(&p, "func"))
            read_func(&p);
        else if (accept(&p, "#l"))
            read_layout(&p);
        else
            fail(&p, p.at, "expected 'func' or a layout");
        skip_space(&p);
    }
    if (!p.failed && !p.module->first)
        fail(&p, p.at, "expected a function");
    return p.failed ? NULL : p.module;
}
