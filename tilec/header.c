// --emit=header: one C file that has the binaries of all specializations, tables that describe them
// to the runtime (tile_aot_* in tile.h), and for each kernel a typed launch function. What all
// specializations of a kernel have the same value for is fixed and left out of that function; what
// they differ in is a parameter of it, and selects among them.
#include "tilec/header.h"

#include "runtime/tile.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/// What a specialization has for one parameter of the kernel.
typedef struct cell {
    enum { CELL_TYPED, CELL_CONSTANT, CELL_DEFAULT } kind; ///< DEFAULT: what the source computes
    ir_type type;
    uint32_t divisibility;
    bool is_one;
    fe_constant constant;
} cell;

/// One row of a launch function's table.
typedef struct row {
    const header_variant *v;
    cell *cells;
} row;

/// A launch function: the specializations of one name, and what each parameter is in all of them.
typedef struct group {
    sv name;
    const fe_kernel *kernel;
    VEC(row) rows;
    bool *is_fixed, *is_optional;
    const cell **sample;  ///< of each parameter: a typed cell if there is one, else the first
    const char **c_names; ///< of each parameter
} group;

typedef struct writer {
    arena *arena;
    diag *diag;
    strbuf *out;
    VEC(group) groups;
} writer;

// --- what the specializations have in common

static cell find_cell(const header_variant *v, uint32_t param, uint32_t *binary_param) {
    const fe_param *p = &v->kernel->params[param];
    const ir_func *f = v->func;
    if (*binary_param < f->num_params && sv_equal(f->params[*binary_param].name, p->name)) {
        const ir_param *b = &f->params[*binary_param];
        ir_type type = f->body->args[(*binary_param)++]->type;
        return (cell){.type = type, .divisibility = b->divisibility, .is_one = b->is_one};
    }
    for (uint32_t i = 0; i < v->num_args; i++)
        if (sv_equal(v->args[i].name, p->name))
            return (cell){.kind = CELL_CONSTANT, .constant = v->args[i].constant};
    if (p->has_default)
        return (cell){.kind = CELL_CONSTANT, .constant = p->default_value};
    return (cell){.kind = CELL_DEFAULT};
}

static bool same_constant(const fe_constant *a, const fe_constant *b) {
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case FE_NONE:
        return true;
    case FE_BOOL:
    case FE_INT:
        return a->i == b->i;
    case FE_FLOAT:
        return !memcmp(&a->f, &b->f, sizeof a->f);
    case FE_STRING:
        return sv_equal(a->str, b->str);
    case FE_DTYPE:
        return a->type == b->type;
    }
    return false;
}

static bool is_none(const cell *c) {
    return c->kind == CELL_CONSTANT && c->constant.kind == FE_NONE;
}

static bool same_type(ir_type a, ir_type b) {
    a.pointer_const = b.pointer_const = false;
    return ir_type_equal(a, b);
}

static const char *cell_text(arena *a, const cell *c) {
    static const char *const kinds[] = {
        [FE_NONE] = "None",     [FE_BOOL] = "a bool",     [FE_INT] = "an integer",
        [FE_FLOAT] = "a float", [FE_STRING] = "a string", [FE_DTYPE] = "a dtype"};
    return c->kind == CELL_TYPED     ? ir_type_string(a, c->type)
           : c->kind == CELL_DEFAULT ? "its default"
                                     : kinds[c->constant.kind];
}

/// Whether the two can be one parameter of the launch function.
static bool go_together(const cell *a, const cell *b, bool *is_fixed, bool *is_optional) {
    if (a->kind == CELL_TYPED && b->kind == CELL_TYPED)
        return same_type(a->type, b->type);
    if (a->kind == CELL_TYPED || b->kind == CELL_TYPED) {
        *is_optional = true;
        return a->kind == CELL_TYPED ? ir_is_pointer(a->type) && is_none(b)
                                     : ir_is_pointer(b->type) && is_none(a);
    }
    if (a->kind == CELL_DEFAULT || b->kind == CELL_DEFAULT)
        return a->kind == b->kind;
    *is_fixed &= same_constant(&a->constant, &b->constant);
    return a->constant.kind == b->constant.kind;
}

static bool compare_rows(writer *w, group *g) {
    uint32_t n = g->kernel->num_params;
    g->is_fixed = ARENA_ARRAY(w->arena, bool, n + 1);
    g->is_optional = ARENA_ARRAY(w->arena, bool, n + 1);
    g->sample = ARENA_ARRAY(w->arena, const cell *, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        g->sample[i] = &g->rows.data[0].cells[i];
        g->is_fixed[i] = g->sample[i]->kind != CELL_TYPED;
        for (uint32_t r = 1; r < g->rows.len; r++) {
            const cell *c = &g->rows.data[r].cells[i];
            if (!go_together(g->sample[i], c, &g->is_fixed[i], &g->is_optional[i])) {
                diag_error(w->diag, g->kernel->func->params[i].range,
                           "specializations of '%" SV_FMT "' have %s and %s for '%" SV_FMT
                           "', which cannot be one parameter of a C function; name one of them: "
                           "--signature '%" SV_FMT "(...) as NAME'",
                           SV_ARG(g->name), cell_text(w->arena, g->sample[i]),
                           cell_text(w->arena, c), SV_ARG(g->kernel->params[i].name),
                           SV_ARG(g->kernel->name));
                return false;
            }
            if (c->kind == CELL_TYPED && g->sample[i]->kind != CELL_TYPED)
                g->sample[i] = c;
        }
        g->is_fixed[i] &= g->sample[i]->kind != CELL_TYPED;
    }
    return true;
}

/// How much a specialization asks for: those that ask for more are tried first.
static unsigned demand(const group *g, const row *r) {
    unsigned sum = 0;
    for (uint32_t i = 0; i < g->kernel->num_params; i++)
        if (r->cells[i].kind == CELL_TYPED)
            sum += r->cells[i].is_one
                       ? 100
                       : (unsigned)__builtin_ctz(r->cells[i].divisibility | 1u << 10);
    return sum;
}

static bool same_options(const fe_options *a, const fe_options *b) {
    return a->num_warps == b->num_warps && a->num_ctas == b->num_ctas &&
           a->num_stages == b->num_stages && a->maxnreg == b->maxnreg;
}

/// Whether a launch would select either of two specializations.
static bool same_cells(const group *g, const row *a, const row *b) {
    for (uint32_t i = 0; i < g->kernel->num_params; i++) {
        const cell *x = &a->cells[i], *y = &b->cells[i];
        if (x->kind != y->kind || x->is_one != y->is_one || x->divisibility != y->divisibility ||
            (x->kind == CELL_TYPED && !same_type(x->type, y->type)) ||
            (x->kind == CELL_CONSTANT && !same_constant(&x->constant, &y->constant)))
            return false;
    }
    return true;
}

/// Puts a row where its demand belongs. One that says the same as another is left out, unless it
/// was asked for with other options: then neither could be chosen over the other.
static bool insert_row(writer *w, group *g, row r) {
    uint32_t at = g->rows.len;
    for (uint32_t i = 0; i < g->rows.len; i++) {
        if (!same_cells(g, &g->rows.data[i], &r))
            continue;
        if (same_options(&g->rows.data[i].v->options, &r.v->options))
            return true;
        diag_error(w->diag, g->kernel->func->range,
                   "the code of two specializations of '%" SV_FMT "' relies on the same, so that "
                   "they differ in their options only; name one of them: "
                   "--signature '%" SV_FMT "(...) as NAME'",
                   SV_ARG(g->name), SV_ARG(g->kernel->name));
        return false;
    }
    VEC_PUSH(w->arena, g->rows, r);
    for (; at && demand(g, &g->rows.data[at - 1]) < demand(g, &r); at--)
        g->rows.data[at] = g->rows.data[at - 1];
    g->rows.data[at] = r;
    return true;
}

static bool is_c_name(sv name) {
    for (size_t i = 0; i < name.len; i++)
        if (!isalnum((unsigned char)name.data[i]) && name.data[i] != '_')
            return false;
    return name.len && !isdigit((unsigned char)name.data[0]);
}

static bool check_names(writer *w, const header_variant *v) {
    const fe_kernel *k = v->kernel;
    sv bad = is_c_name(v->name) ? (sv){0} : v->name;
    for (uint32_t i = 0; i < k->num_params && !bad.len; i++)
        bad = is_c_name(k->params[i].name) ? (sv){0} : k->params[i].name;
    if (bad.len)
        diag_error(w->diag, k->func->range, "'%" SV_FMT "' is no name in C", SV_ARG(bad));
    else if (sv_is(v->name, "tile") || sv_starts_with(v->name, "tile_"))
        diag_error(w->diag, k->func->range,
                   "'%" SV_FMT "_launch' would be a name of the library, which begin with tile_; "
                   "name it: --signature '%" SV_FMT "(...) as NAME'",
                   SV_ARG(v->name), SV_ARG(k->name));
    else
        return true;
    return false;
}

static bool add_variant(writer *w, const header_variant *v) {
    if (!check_names(w, v))
        return false;
    uint32_t at = 0, binary_param = 0;
    while (at < w->groups.len && !sv_equal(w->groups.data[at].name, v->name))
        at++;
    if (at == w->groups.len)
        VEC_PUSH(w->arena, w->groups, ((group){.name = v->name, .kernel = v->kernel}));
    group *g = &w->groups.data[at];
    if (g->kernel != v->kernel) {
        diag_error(w->diag, v->kernel->func->range, "two kernels are called '%" SV_FMT "'",
                   SV_ARG(v->name));
        return false;
    }
    row r = {.v = v, .cells = ARENA_ARRAY(w->arena, cell, v->kernel->num_params + 1)};
    for (uint32_t i = 0; i < v->kernel->num_params; i++)
        r.cells[i] = find_cell(v, i, &binary_param);
    return insert_row(w, g, r);
}

// --- C

static const char *c_element(dtype t) {
    static const char *const names[DTYPE_COUNT] = {
        [DT_I1] = "bool",      [DT_I8] = "int8_t",  [DT_I16] = "int16_t",  [DT_I32] = "int32_t",
        [DT_I64] = "int64_t",  [DT_U8] = "uint8_t", [DT_U16] = "uint16_t", [DT_U32] = "uint32_t",
        [DT_U64] = "uint64_t", [DT_FP32] = "float", [DT_FP64] = "double",
    };
    return names[t];
}

/// A parameter's type in C, with the space or '*' that comes before its name. Elements that C has no
/// type for are behind a void *, and as numbers they are passed as float.
static const char *c_type(arena *a, const cell *c) {
    if (c->kind == CELL_CONSTANT)
        return c->constant.kind == FE_BOOL    ? "bool "
               : c->constant.kind == FE_INT   ? "int64_t "
               : c->constant.kind == FE_FLOAT ? "double "
                                              : "const char *";
    if (ir_is_pointer(c->type)) {
        const char *name = c_element(c->type.pointee);
        return sv_format(a, "%s%s *", c->type.pointer_const ? "const " : "", name ? name : "void")
            .data;
    }
    const char *name = c_element(c->type.elem);
    return sv_format(a, "%s ", name ? name : "float").data;
}

/// Whether C, C++ or the launch function itself has a use for the name.
static bool is_taken(sv name) {
    static const char taken[] =
        " alignas alignof and and_eq asm auto bitand bitor bool"
        " break case catch char char8_t char16_t char32_t class co_await co_return co_yield compl"
        " concept const const_cast consteval constexpr constinit continue contract_assert decltype"
        " default delete do double dynamic_cast else enum explicit export extern false float for"
        " friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator"
        " or or_eq private protected public register reinterpret_cast requires restrict"
        " return short signed sizeof static static_assert static_cast struct switch"
        " template this thread_local throw true try typedef typeid typename typeof typeof_unqual"
        " union unsigned using virtual void volatile wchar_t while xor xor_eq" // the languages'
        " NULL errno i386 linux unix INT64_MIN"                                // macros
        " int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t"
        " device grid stream error values ";
    char word[32];
    int n = snprintf(word, sizeof word, " %" SV_FMT " ", SV_ARG(name));
    return (n < (int)sizeof word && strstr(taken, word)) || sv_starts_with(name, "tile_") ||
           sv_starts_with(name, "TILE_") || sv_starts_with(name, "__") ||
           (*name.data == '_' && name.len > 1 && isupper((unsigned char)name.data[1]));
}

/// The parameters' names in C: with '_' after one that is taken, or that another has.
static void make_c_names(arena *a, group *g) {
    const fe_param *params = g->kernel->params;
    uint32_t n = g->kernel->num_params;
    g->c_names = ARENA_ARRAY(a, const char *, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        sv name = params[i].name;
        bool again = is_taken(name);
        do {
            name = again ? sv_format(a, "%" SV_FMT "_", SV_ARG(name)) : name;
            again = false;
            for (uint32_t j = 0; j < n; j++)
                again |= j != i && sv_equal(name, j < i ? sv_from(g->c_names[j]) : params[j].name);
        } while (again);
        g->c_names[i] = sv_copy(a, name).data;
    }
}

static void put_c_string(strbuf *out, sv text) {
    strbuf_putc(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (isalnum(c) || (ispunct(c) && !strchr("\"\\?", c)) || c == ' ')
            strbuf_putc(out, (char)c);
        else
            strbuf_printf(out, "\\%03o", c);
    }
    strbuf_putc(out, '"');
}

static void put_bytes(strbuf *out, sv name, sv data, bool end_in_nul) {
    size_t column = 0;
    strbuf_printf(out, "static const unsigned char %" SV_FMT "[] = {\n", SV_ARG(name));
    for (size_t i = 0; i < data.len + end_in_nul; i++) {
        unsigned v = i < data.len ? (unsigned char)data.data[i] : 0;
        char digits[4];
        size_t n = 0;
        if (v >= 100)
            digits[n++] = (char)('0' + v / 100);
        if (v >= 10)
            digits[n++] = (char)('0' + v / 10 % 10);
        digits[n++] = (char)('0' + v % 10);
        digits[n++] = ',';
        strbuf_put(out, (sv){digits, n});
        column += n;
        if (column > 95) {
            strbuf_putc(out, '\n');
            column = 0;
        }
    }
    strbuf_puts(out, "\n};\n");
}

/// One line that says what a specialization is for, as --signature would.
static void put_signature(arena *a, strbuf *out, const group *g, const row *r) {
    strbuf_printf(out, "%" SV_FMT "(", SV_ARG(g->kernel->name));
    const char *comma = "";
    for (uint32_t i = 0; i < g->kernel->num_params; i++) {
        const cell *c = &r->cells[i];
        if (c->kind == CELL_DEFAULT)
            continue;
        strbuf_printf(out, "%s%" SV_FMT "=", comma, SV_ARG(g->kernel->params[i].name));
        comma = ", ";
        if (c->kind == CELL_TYPED) {
            strbuf_puts(out, ir_type_string(a, c->type));
            if (c->is_one)
                strbuf_puts(out, "=1");
            else if (c->divisibility > 1)
                strbuf_printf(out, ":%u", c->divisibility);
            continue;
        }
        switch (c->constant.kind) {
        case FE_NONE:
            strbuf_puts(out, "None");
            break;
        case FE_BOOL:
            strbuf_puts(out, c->constant.i ? "True" : "False");
            break;
        case FE_INT:
            strbuf_printf(out, "%lld", (long long)c->constant.i);
            break;
        case FE_FLOAT:
            strbuf_printf(out, "%.17g", c->constant.f);
            break;
        case FE_STRING:
            put_c_string(out, c->constant.str);
            break;
        case FE_DTYPE:
            strbuf_puts(out, dtype_name(c->constant.type));
            break;
        }
    }
    const fe_options *o = &r->v->options;
    strbuf_printf(out, "), %u warp%s", o->num_warps, o->num_warps == 1 ? "" : "s");
    if (o->num_ctas > 1)
        strbuf_printf(out, ", %u blocks", o->num_ctas);
}

static void put_prototype(writer *w, const group *g, const char *end) {
    strbuf_printf(w->out,
                  "tile_status %" SV_FMT "_launch(tile_device *device, const uint32_t grid[3], "
                  "tile_stream *stream",
                  SV_ARG(g->name));
    for (uint32_t i = 0; i < g->kernel->num_params; i++)
        if (!g->is_fixed[i])
            strbuf_printf(w->out, ", %s%s", c_type(w->arena, g->sample[i]), g->c_names[i]);
    strbuf_printf(w->out, ", tile_error *error)%s", end);
}

static void put_declarations(writer *w, const group *g) {
    strbuf_puts(w->out, "\n/// Launches the first of these that serves the arguments:\n");
    for (uint32_t r = 0; r < g->rows.len; r++) {
        strbuf_puts(w->out, "///   ");
        put_signature(w->arena, w->out, g, &g->rows.data[r]);
        strbuf_puts(w->out, "\n");
    }
    put_prototype(w, g, ";\n");
    strbuf_printf(w->out,
                  "/// Loads all of them: before a graph is captured, or to have it done.\n"
                  "tile_status %" SV_FMT "_load(tile_device *device, tile_error *error);\n"
                  "/// The kernel, for tile_bind, tile_warmup and tile_launch.\n"
                  "tile_status %" SV_FMT "_kernel(tile_device *device, tile_kernel **out_kernel, "
                  "tile_error *error);\n",
                  SV_ARG(g->name), SV_ARG(g->name));
}

// --- tables

static void put_value(strbuf *out, const cell *c) {
    if (c->kind == CELL_TYPED) {
        strbuf_printf(out, "    {%s, TILE_CONSTEXPR_KIND_NONE, %d, %s, 0, 0},\n",
                      ir_is_pointer(c->type) ? "TILE_ARG_POINTER" : "TILE_ARG_SCALAR",
                      c->is_one ? 0 : __builtin_ctz(c->divisibility | 1u << 10),
                      c->is_one ? "true" : "false");
        return;
    }
    static const char *const kinds[] = {
        [FE_NONE] = "NONE",   [FE_BOOL] = "BOOL",     [FE_INT] = "INT",
        [FE_FLOAT] = "FLOAT", [FE_STRING] = "STRING", [FE_DTYPE] = "DTYPE"};
    const fe_constant *k = &c->constant;
    int64_t bits = k->kind == FE_BOOL || k->kind == FE_INT ? k->i : 0;
    if (k->kind == FE_FLOAT)
        memcpy(&bits, &k->f, sizeof bits);
    strbuf_printf(out, "    {TILE_ARG_CONSTEXPR, TILE_CONSTEXPR_KIND_%s, 0, false, ",
                  kinds[k->kind]);
    if (bits == INT64_MIN)
        strbuf_puts(out, "INT64_MIN, ");
    else
        strbuf_printf(out, "%lldLL, ", (long long)bits);
    if (k->kind == FE_STRING)
        put_c_string(out, k->str);
    else if (k->kind == FE_DTYPE)
        put_c_string(out, sv_from(dtype_name(k->type)));
    else
        strbuf_puts(out, "0");
    strbuf_puts(out, "},\n");
}

/// A specialization's binaries, the table of them, and its values.
static void put_row(writer *w, const group *g, uint32_t r) {
    const row *shown = &g->rows.data[r];
    sv prefix = sv_format(w->arena, "tile_aot_%" SV_FMT "_%u", SV_ARG(g->name), r);
    strbuf images;
    strbuf_init(&images, w->arena);
    for (uint32_t i = 0; i < shown->v->images.len; i++) {
        const header_image *image = &shown->v->images.data[i];
        const struct {
            const char *kind, *is_ptx;
            sv data;
        } both[] = {{"cubin", "false", image->cubin}, {"ptx", "true", image->ptx}};
        for (int n = 0; n < 2; n++) {
            sv name = sv_format(w->arena, "%" SV_FMT "_%s_%s", SV_ARG(prefix), image->arch->name,
                                both[n].kind);
            if (!both[n].data.len)
                continue;
            put_bytes(w->out, name, both[n].data, n == 1);
            strbuf_printf(&images, "    {%u, %s, %" SV_FMT ", sizeof(%" SV_FMT ")},\n",
                          image->arch->sm, both[n].is_ptx, SV_ARG(name), SV_ARG(name));
        }
    }
    strbuf_printf(w->out, "static const tile_aot_image %" SV_FMT "_images[] = {\n%s};\n",
                  SV_ARG(prefix), images.data);
    strbuf_printf(w->out, "static const tile_aot_value %" SV_FMT "_values[] = {\n", SV_ARG(prefix));
    for (uint32_t i = 0; i < g->kernel->num_params; i++) {
        if (g->is_optional[i] && shown->cells[i].kind != CELL_TYPED)
            strbuf_puts(w->out, "    {TILE_ARG_NONE, TILE_CONSTEXPR_KIND_NONE, 0, false, 0, 0},\n");
        else
            put_value(w->out, &shown->cells[i]);
    }
    if (!g->kernel->num_params) // C has no empty array
        strbuf_puts(w->out, "    {TILE_ARG_NONE, TILE_CONSTEXPR_KIND_NONE, 0, false, 0, 0},\n");
    strbuf_puts(w->out, "};\n");
}

static void put_params(writer *w, const group *g) {
    strbuf_printf(w->out, "static const tile_aot_param tile_aot_%" SV_FMT "_params[] = {\n",
                  SV_ARG(g->name));
    for (uint32_t i = 0; i < g->kernel->num_params; i++) {
        const cell *c = g->sample[i];
        ir_type type = c->type;
        type.pointer_const = false;
        strbuf_printf(w->out, "    {\"%" SV_FMT "\", ", SV_ARG(g->kernel->params[i].name));
        if (c->kind == CELL_TYPED)
            strbuf_printf(w->out, "\"%s\", ", ir_type_string(w->arena, type));
        else
            strbuf_puts(w->out, "0, ");
        strbuf_printf(w->out, "%s, %s},\n", g->is_fixed[i] ? "true" : "false",
                      g->is_optional[i] ? "true" : "false");
    }
    if (!g->kernel->num_params)
        strbuf_puts(w->out, "    {0, 0, true, false},\n");
    strbuf_puts(w->out, "};\n");
}

static void put_tables(writer *w, const group *g) {
    put_params(w, g);
    for (uint32_t r = 0; r < g->rows.len; r++)
        put_row(w, g, r);
    strbuf_printf(w->out, "static const tile_aot_variant tile_aot_%" SV_FMT "_variants[] = {\n",
                  SV_ARG(g->name));
    for (uint32_t r = 0; r < g->rows.len; r++) {
        const header_variant *v = g->rows.data[r].v;
        sv prefix = sv_format(w->arena, "tile_aot_%" SV_FMT "_%u", SV_ARG(g->name), r);
        strbuf_printf(w->out,
                      "    {\"%" SV_FMT "\", %u, %u, %u, %u, %s, %u, %" SV_FMT "_values, %" SV_FMT
                      "_images,\n     sizeof(%" SV_FMT "_images) / sizeof(tile_aot_image)},\n",
                      SV_ARG(v->entry), v->options.num_warps, v->options.num_ctas,
                      v->options.num_stages, v->options.maxnreg,
                      v->options.no_asserts ? "true" : "false", v->shared_bytes, SV_ARG(prefix),
                      SV_ARG(prefix), SV_ARG(prefix));
    }
    strbuf_puts(w->out, "};\n");
}

static void put_functions(writer *w, const group *g, uint32_t index, sv stem) {
    sv bundle = sv_format(w->arena, "tile_aot_bundle_%" SV_FMT, SV_ARG(stem));
    put_prototype(w, g, " {\n    const void *const values[] = {");
    const char *comma = "";
    for (uint32_t i = 0; i < g->kernel->num_params; i++)
        if (!g->is_fixed[i]) {
            strbuf_printf(w->out, "%s&%s", comma, g->c_names[i]);
            comma = ", ";
        }
    strbuf_printf(w->out,
                  "%s};\n    return tile_aot_launch(device, &%" SV_FMT
                  ", %u, grid, values, stream, error);\n}\n",
                  *comma ? "" : "0", SV_ARG(bundle), index);
    strbuf_printf(w->out,
                  "tile_status %" SV_FMT "_load(tile_device *device, tile_error *error) {\n"
                  "    return tile_aot_load(device, &%" SV_FMT ", %u, error);\n}\n",
                  SV_ARG(g->name), SV_ARG(bundle), index);
    strbuf_printf(w->out,
                  "tile_status %" SV_FMT "_kernel(tile_device *device, tile_kernel **out_kernel, "
                  "tile_error *error) {\n"
                  "    return tile_aot_get_kernel(device, &%" SV_FMT
                  ", %u, out_kernel, error);\n}\n",
                  SV_ARG(g->name), SV_ARG(bundle), index);
}

static void put_bundle(writer *w, const char *source_name, sv stem) {
    strbuf_printf(w->out, "static const tile_aot_kernel tile_aot_kernels_%" SV_FMT "[] = {\n",
                  SV_ARG(stem));
    for (uint32_t i = 0; i < w->groups.len; i++) {
        const group *g = &w->groups.data[i];
        strbuf_printf(w->out,
                      "    {\"%" SV_FMT "\", tile_aot_%" SV_FMT "_params, %u, tile_aot_%" SV_FMT
                      "_variants, %u},\n",
                      SV_ARG(g->name), SV_ARG(g->name), g->kernel->num_params, SV_ARG(g->name),
                      g->rows.len);
    }
    strbuf_printf(w->out,
                  "};\nstatic const tile_aot_bundle tile_aot_bundle_%" SV_FMT
                  " = {\n    TILE_AOT_FORMAT, ",
                  SV_ARG(stem));
    put_c_string(w->out, sv_from(source_name));
    strbuf_printf(w->out, ", tile_aot_kernels_%" SV_FMT ", %u};\n\n", SV_ARG(stem), w->groups.len);
}

/// "soft-max.tile" → soft_max_tile_0123456789abcdef. The number is of what the file has, so that of
/// two files with one name none is taken for the other.
static sv make_stem(writer *w, const char *source_name) {
    XXH3_state_t hash;
    XXH3_64bits_reset(&hash);
    for (uint32_t i = 0; i < w->groups.len; i++) {
        const group *g = &w->groups.data[i];
        XXH3_64bits_update(&hash, g->name.data, g->name.len);
        for (uint32_t r = 0; r < g->rows.len; r++) {
            const header_variant *v = g->rows.data[r].v;
            for (uint32_t k = 0; k < v->images.len; k++)
                XXH3_64bits_update(&hash, v->images.data[k].ptx.data, v->images.data[k].ptx.len);
        }
    }
    sv stem = sv_format(w->arena, "%s_%016" PRIx64, source_name, XXH3_64bits_digest(&hash));
    char *s = (char *)stem.data;
    for (size_t i = 0; i < stem.len; i++)
        s[i] = isalnum((unsigned char)s[i]) ? s[i] : '_';
    return stem;
}

bool header_write(arena *a, diag *d, const char *source_name, header_variant *variants,
                  uint32_t num_variants, strbuf *out) {
    writer w = {.arena = a, .diag = d, .out = out};
    bool ok = true;
    for (uint32_t i = 0; i < num_variants; i++)
        ok &= add_variant(&w, &variants[i]);
    for (uint32_t i = 0; i < w.groups.len && ok; i++) {
        ok &= compare_rows(&w, &w.groups.data[i]);
        make_c_names(a, &w.groups.data[i]);
    }
    if (!ok)
        return false;
    const char *base = strrchr(source_name, '/');
    source_name = base ? base + 1 : source_name; // the file is the same wherever it is made
    sv stem = make_stem(&w, source_name);
    strbuf_puts(out, "// Made by tilec ");
    strbuf_printf(out, "%s from ", tile_version());
    for (const char *c = source_name; *c; c++) // no end of a line, with or without a '\\' before it
        strbuf_putc(out, (unsigned char)*c < ' ' || *c == '\\' || *c == '?' ? '_' : *c);
    strbuf_puts(out, ".\n");
    strbuf_puts(out, "// Define TILE_KERNELS_IMPLEMENTATION before including it in one file.\n");
    strbuf_printf(out, "#ifndef TILE_AOT_%" SV_FMT "\n#define TILE_AOT_%" SV_FMT "\n", SV_ARG(stem),
                  SV_ARG(stem));
    strbuf_puts(out, "#include <tile.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    for (uint32_t i = 0; i < w.groups.len; i++)
        put_declarations(&w, &w.groups.data[i]);
    strbuf_puts(out, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n\n");
    strbuf_printf(out,
                  "#if defined(TILE_KERNELS_IMPLEMENTATION) && !defined(TILE_AOT_%" SV_FMT
                  "_DONE)\n"
                  "#define TILE_AOT_%" SV_FMT "_DONE\n#include <stdint.h>\n",
                  SV_ARG(stem), SV_ARG(stem));
    for (uint32_t i = 0; i < w.groups.len; i++)
        put_tables(&w, &w.groups.data[i]);
    put_bundle(&w, source_name, stem);
    for (uint32_t i = 0; i < w.groups.len; i++)
        put_functions(&w, &w.groups.data[i], i, stem);
    strbuf_puts(out, "#endif\n");
    return true;
}
