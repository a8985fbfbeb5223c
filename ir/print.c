// Tile IR as text. The form is complete (ir/parse.c reads it back to the same IR) and stable: it
// depends on the IR alone, never on addresses or on what was printed before, so tests can match
// it. A value is called after its name in the source, `%x`, then `%x.2`, `%x.3` for the next ones
// of that name in program order, or `%0`, `%1` ... if it has none. docs/ir.md has the grammar.
#include "ir/ir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct name_count {
    sv name;
    uint32_t count;
} name_count;

typedef struct printer {
    strbuf *out;
    arena *arena;
    const ir_func *func;
    sv *names; // by value id
    uint32_t num_unnamed;
    name_count *table; // how often each source name was seen: open addressing, a power of two
    uint32_t table_mask;
    const layout **layouts; // the ones in use, in order of first use
    uint32_t num_layouts;
    unsigned indent;
    bool locations;
} printer;

// --- names

static bool is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// A source name as an identifier of the text form; empty if nothing of it can stay.
static sv clean_name(printer *p, sv name) {
    bool clean = name.len > 0 && !(name.data[0] >= '0' && name.data[0] <= '9');
    for (size_t i = 0; i < name.len; i++)
        clean = clean && is_name_char(name.data[i]);
    if (clean || name.len == 0)
        return name;
    char *text = arena_alloc(p->arena, name.len + 2);
    text[0] = '_';
    for (size_t i = 0; i < name.len; i++)
        text[i + 1] = is_name_char(name.data[i]) ? name.data[i] : '_';
    return (sv){text, name.len + 1};
}

static uint32_t count_name(printer *p, sv name) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < name.len; i++)
        hash = (hash ^ (uint8_t)name.data[i]) * 16777619u;
    for (;; hash++) {
        name_count *slot = &p->table[hash & p->table_mask];
        if (slot->count == 0)
            slot->name = name;
        if (sv_equal(slot->name, name))
            return ++slot->count;
    }
}

static void name_value(printer *p, const ir_value *v) {
    sv name = clean_name(p, v->name);
    if (name.len == 0) {
        p->names[v->id] = sv_format(p->arena, "%u", p->num_unnamed++);
        return;
    }
    uint32_t n = count_name(p, name);
    p->names[v->id] = n == 1 ? name : sv_format(p->arena, "%" SV_FMT ".%u", SV_ARG(name), n);
}

static void note_value(printer *p, const ir_value *v) {
    name_value(p, v);
    if (!v->layout || p->num_layouts == p->func->num_layouts)
        return;
    for (uint32_t i = 0; i < p->num_layouts; i++)
        if (p->layouts[i] == v->layout)
            return;
    p->layouts[p->num_layouts++] = v->layout;
}

static void note_op(ir_op *op, void *ctx) {
    for (uint32_t i = 0; i < op->num_results; i++)
        note_value(ctx, op->results[i]);
    for (uint32_t r = 0; r < op->num_regions; r++)
        for (uint32_t i = 0; op->regions[r] && i < op->regions[r]->num_args; i++)
            note_value(ctx, op->regions[r]->args[i]);
}

// --- pieces of a line

static void put_ref(printer *p, const ir_value *v) {
    if (!v) {
        strbuf_putc(p->out, '_');
        return;
    }
    // A value that is nowhere defined (broken IR shown after a failed verification) has no name.
    sv name = v->id < p->func->num_values ? p->names[v->id] : (sv){0};
    strbuf_putc(p->out, '%');
    strbuf_put(p->out, name.len ? name : SV("<undefined>"));
}

static void put_type(printer *p, const ir_value *v) {
    ir_type_print_open(v->type, p->out);
    if (!ir_is_tile(v->type))
        return;
    for (uint32_t i = 0; v->layout && i < p->num_layouts; i++)
        if (p->layouts[i] == v->layout)
            strbuf_printf(p->out, ", #l%u", i);
    strbuf_putc(p->out, '>');
}

static void put_binding(printer *p, const ir_value *v) {
    put_ref(p, v);
    strbuf_puts(p->out, ": ");
    put_type(p, v);
}

static void put_quoted(strbuf *out, sv text) {
    strbuf_putc(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c == '"' || c == '\\')
            strbuf_printf(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            strbuf_printf(out, "\\x%02x", c);
        else
            strbuf_putc(out, (char)c);
    }
    strbuf_putc(out, '"');
}

// The shortest decimal that reads back to the same bits, and looks like a float (in full for small
// whole numbers); for a NaN with a payload the bits.
static void put_float(strbuf *out, dtype t, uint64_t bits) {
    double v = dtype_bits_to_float(t, bits);
    if (isfinite(v) && floor(v) == v && fabs(v) < 1e6) {
        strbuf_printf(out, "%.1f", v);
    } else if (isfinite(v)) {
        char text[40];
        for (int digits = 1; digits <= 17; digits++) {
            snprintf(text, sizeof(text), "%.*g", digits, v);
            if (dtype_float_to_bits(t, strtod(text, NULL)) == bits)
                break;
        }
        strbuf_puts(out, text);
        if (!strpbrk(text, ".e"))
            strbuf_puts(out, ".0");
    } else if (dtype_float_to_bits(t, v) != bits) {
        strbuf_printf(out, "0x%llx", (unsigned long long)bits);
    } else {
        strbuf_puts(out, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
    }
}

static void put_constant(strbuf *out, dtype t, uint64_t bits) {
    if (dtype_is_float(t))
        put_float(out, t, bits);
    else if (dtype_get_kind(t) == KIND_UINT)
        strbuf_printf(out, "%llu", (unsigned long long)bits);
    else
        strbuf_printf(out, "%lld", (long long)dtype_wrap_int(t, (int64_t)bits));
}

static void put_attr(printer *p, const ir_op *op, const ir_attr *a) {
    strbuf_puts(p->out, ir_attr_name(a->key));
    ir_attr_kind kind = ir_attr_get_kind(a->key);
    if (kind == FLAG)
        return;
    strbuf_puts(p->out, " = ");
    if (kind == INT) {
        strbuf_printf(p->out, "%lld", (long long)a->i);
    } else if (kind == BITS) {
        put_constant(p->out, op->num_results ? op->results[0]->type.elem : DT_I64, (uint64_t)a->i);
    } else if (kind == STR) {
        put_quoted(p->out, a->str);
    } else {
        strbuf_putc(p->out, '[');
        for (uint32_t i = 0; i < a->num_ints; i++)
            strbuf_printf(p->out, "%s%lld", i ? ", " : "", (long long)a->ints[i]);
        strbuf_putc(p->out, ']');
    }
}

static void put_location(printer *p, src_range range) {
    if (!p->locations || range.file == 0)
        return;
    diag_position at = diag_locate(p->func->module->diag, range.file, range.begin);
    strbuf_printf(p->out, " loc(%u:%u)", at.line, at.column);
}

static void put_indent(printer *p) {
    for (unsigned i = 0; i < p->indent; i++)
        strbuf_puts(p->out, "    ");
}

// --- ops and functions

// One op without its regions and without the end of the line.
static void put_op(printer *p, const ir_op *op) {
    put_indent(p);
    for (uint32_t i = 0; i < op->num_results; i++) {
        strbuf_puts(p->out, i ? ", " : "");
        put_binding(p, op->results[i]);
    }
    strbuf_puts(p->out, op->num_results ? " = " : "");
    strbuf_puts(p->out, ir_get_op_info(op->opcode)->name);
    // Absent operands at the end go without saying.
    uint32_t n = op->num_operands;
    while (n > ir_get_arity(op->opcode).least && !op->operands[n - 1])
        n--;
    for (uint32_t i = 0; i < n; i++) {
        strbuf_puts(p->out, i ? ", " : " ");
        put_ref(p, op->operands[i]);
    }
    for (uint32_t i = 0; i < op->num_attrs; i++) {
        strbuf_puts(p->out, i ? ", " : " {");
        put_attr(p, op, &op->attrs[i]);
    }
    strbuf_puts(p->out, op->num_attrs ? "}" : "");
    put_location(p, op->range);
}

static void open_region(printer *p, const ir_block *b) {
    for (uint32_t i = 0; i < b->num_args; i++) {
        strbuf_puts(p->out, i ? ", " : " (");
        put_binding(p, b->args[i]);
    }
    strbuf_puts(p->out, b->num_args ? ") {\n" : " {\n");
    p->indent++;
}

static const ir_block *region_from(const ir_op *op, uint32_t first) {
    for (uint32_t r = first; r < op->num_regions; r++)
        if (op->regions[r])
            return op->regions[r];
    return NULL;
}

// Closes regions that end with `op`, until there is an op to go on with.
static const ir_op *close_regions(printer *p, const ir_op *op, const ir_block *block) {
    while (!op) {
        p->indent--;
        put_indent(p);
        strbuf_putc(p->out, '}');
        const ir_op *parent = block->parent;
        if (!parent) {
            strbuf_putc(p->out, '\n');
            return NULL;
        }
        const ir_block *next = block == parent->regions[0] ? region_from(parent, 1) : NULL;
        if (next) {
            strbuf_puts(p->out, parent->opcode == OP_IF ? " else" : " do");
            open_region(p, next);
            op = next->first;
            block = next;
        } else {
            strbuf_putc(p->out, '\n');
            op = parent->next;
            block = parent->block;
        }
    }
    return op;
}

static void put_body(printer *p, const ir_block *body) {
    for (const ir_op *op = close_regions(p, body->first, body); op;) {
        put_op(p, op);
        const ir_block *region = region_from(op, 0);
        if (region) {
            open_region(p, region);
            op = close_regions(p, region->first, region);
        } else {
            strbuf_putc(p->out, '\n');
            op = close_regions(p, op->next, op->block);
        }
    }
}

static void put_header(printer *p) {
    const ir_func *f = p->func;
    for (uint32_t i = 0; i < p->num_layouts; i++) {
        strbuf_printf(p->out, "#l%u = ", i);
        layout_print(p->layouts[i], p->out);
        strbuf_putc(p->out, '\n');
    }
    strbuf_printf(p->out, "func @%" SV_FMT "(", SV_ARG(f->name));
    for (uint32_t i = 0; i < f->num_params; i++) {
        strbuf_puts(p->out, i ? ", " : "");
        put_binding(p, f->body->args[i]);
        const ir_param *param = &f->params[i];
        if (param->divisibility > 1 && param->is_one)
            strbuf_printf(p->out, " {div = %u, one}", param->divisibility);
        else if (param->divisibility > 1)
            strbuf_printf(p->out, " {div = %u}", param->divisibility);
        else if (param->is_one)
            strbuf_puts(p->out, " {one}");
    }
    strbuf_printf(p->out, ") {num_warps = %u, num_ctas = %u, num_stages = %u", f->num_warps,
                  f->num_ctas, f->num_stages);
    if (f->maxnreg)
        strbuf_printf(p->out, ", maxnreg = %u", f->maxnreg);
    strbuf_puts(p->out, "} {\n");
}

void ir_print_func(const ir_func *f, strbuf *out, bool with_locations) {
    ir_func *numbered = (ir_func *)f; // ids are scratch, not part of what the IR says
    uint32_t num_values = ir_number_values(numbered);
    arena *a = f->module->arena;
    printer p = {.out = out, .arena = a, .func = f, .indent = 1, .locations = with_locations};
    p.names = ARENA_ARRAY(a, sv, num_values + 1);
    p.layouts = ARENA_ARRAY(a, const layout *, f->num_layouts + 1);
    p.table_mask = 15;
    while (p.table_mask < num_values * 2)
        p.table_mask = p.table_mask * 2 + 1;
    p.table = ARENA_ARRAY(a, name_count, p.table_mask + 1);
    for (uint32_t i = 0; i < f->body->num_args; i++)
        note_value(&p, f->body->args[i]);
    ir_walk(f->body, note_op, &p);
    put_header(&p);
    put_body(&p, f->body);
}

void ir_print_module(const ir_module *m, strbuf *out, bool with_locations) {
    for (const ir_func *f = m->first; f; f = f->next) {
        if (f != m->first)
            strbuf_putc(out, '\n');
        ir_print_func(f, out, with_locations);
    }
}
