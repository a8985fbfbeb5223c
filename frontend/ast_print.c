// The syntax tree as text, for --emit=ast and for tests: a statement per line, blocks indented by
// two spaces, expressions in prefix form. What the reader of a test must see is there; ranges are
// not.
#include "frontend/ast.h"

#include <stdio.h>

static void put_expr(strbuf *out, const ast_expr *e);

static void put_items(strbuf *out, const char *head, const ast_expr *e) {
    strbuf_printf(out, "(%s", head);
    if (e->left) {
        strbuf_putc(out, ' ');
        put_expr(out, e->left);
    }
    for (uint32_t i = 0; i < e->items.len; i++) {
        strbuf_putc(out, ' ');
        put_expr(out, e->items.data[i]);
    }
    for (uint32_t i = 0; i < e->num_keywords; i++) {
        const ast_keyword *k = &e->keywords[i];
        strbuf_printf(out, k->name.len ? " %" SV_FMT "=" : " **%" SV_FMT, SV_ARG(k->name));
        put_expr(out, k->value);
    }
    strbuf_putc(out, ')');
}

static void put_string(strbuf *out, sv text) {
    strbuf_putc(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c == '"' || c == '\\')
            strbuf_printf(out, "\\%c", c);
        else if (c == '\n')
            strbuf_puts(out, "\\n");
        else if (c < 0x20 || c == 0x7F)
            strbuf_printf(out, "\\x%02x", c);
        else
            strbuf_putc(out, (char)c);
    }
    strbuf_putc(out, '"');
}

// The shortest text that reads back as the same number.
static void put_float(strbuf *out, double value) {
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        double back;
        if (sscanf(text, "%lf", &back) == 1 && back == value)
            break;
    }
    strbuf_puts(out, text);
    if (!strpbrk(text, ".en"))
        strbuf_puts(out, ".0");
}

static void put_compare(strbuf *out, const ast_expr *e) {
    strbuf_puts(out, "(compare ");
    put_expr(out, e->left);
    for (uint32_t i = 0; i < e->items.len; i++) {
        strbuf_printf(out, " '%s' ", ast_op_text(e->ops[i]));
        put_expr(out, e->items.data[i]);
    }
    strbuf_putc(out, ')');
}

static void put_list(strbuf *out, const char *head, const ast_expr *a, const ast_expr *b,
                     const ast_expr *c) {
    const ast_expr *list[] = {a, b, c};
    strbuf_printf(out, "(%s", head);
    for (int i = 0; i < 3; i++) {
        if (!list[i])
            continue;
        strbuf_putc(out, ' ');
        put_expr(out, list[i]);
    }
    strbuf_putc(out, ')');
}

static void put_named(strbuf *out, const char *head, sv name, const ast_expr *e) {
    strbuf_printf(out, "(%s %" SV_FMT " ", head, SV_ARG(name));
    put_expr(out, e);
    strbuf_putc(out, ')');
}

static void put_unsupported(strbuf *out, const ast_expr *e) {
    char head[64];
    snprintf(head, sizeof(head), "unsupported '%" SV_FMT "'", SV_ARG(e->name));
    put_items(out, head, e);
}

static void put_number(strbuf *out, const ast_expr *e) {
    if (e->kind == EXPR_FLOAT)
        put_float(out, e->float_value);
    else if (e->int_overflow)
        strbuf_puts(out, "(overflow)");
    else
        strbuf_printf(out, "%llu", (unsigned long long)e->int_value);
}

static void put_operation(strbuf *out, const ast_expr *e) {
    if (e->kind == EXPR_COMPARE)
        put_compare(out, e);
    else if (e->kind == EXPR_TERNARY)
        put_list(out, "if", e->cond, e->left, e->right);
    else if (e->kind == EXPR_BINARY)
        put_list(out, ast_op_text(e->op), e->left, e->right, NULL);
    else
        put_items(out, ast_op_text(e->op), e);
}

// Kinds that print as a word and their parts.
static const char *head_of(ast_expr_kind kind) {
    switch (kind) {
    case EXPR_FSTRING:
        return "fstring";
    case EXPR_TUPLE:
        return "tuple";
    case EXPR_LIST:
        return "list";
    case EXPR_SUBSCRIPT:
        return "index";
    case EXPR_SLICE:
        return "slice";
    default:
        return "call";
    }
}

static void put_expr(strbuf *out, const ast_expr *e) {
    if (!e) { // a bound of a slice that is not given
        strbuf_putc(out, '_');
        return;
    }
    switch (e->kind) {
    case EXPR_NONE:
        strbuf_puts(out, "None");
        break;
    case EXPR_BOOL:
        strbuf_puts(out, e->bool_value ? "True" : "False");
        break;
    case EXPR_INT:
    case EXPR_FLOAT:
        put_number(out, e);
        break;
    case EXPR_STRING:
        put_string(out, e->str);
        break;
    case EXPR_NAME:
        strbuf_put(out, e->name);
        break;
    case EXPR_ATTRIBUTE:
        put_expr(out, e->left);
        strbuf_printf(out, ".%" SV_FMT, SV_ARG(e->name));
        break;
    case EXPR_FSTRING:
    case EXPR_TUPLE:
    case EXPR_LIST:
    case EXPR_SUBSCRIPT:
    case EXPR_SLICE:
    case EXPR_CALL:
        put_items(out, head_of(e->kind), e);
        break;
    case EXPR_UNARY:
    case EXPR_BINARY:
    case EXPR_BOOLOP:
    case EXPR_COMPARE:
    case EXPR_TERNARY:
        put_operation(out, e);
        break;
    case EXPR_STARRED:
        strbuf_putc(out, '*');
        put_expr(out, e->left);
        break;
    case EXPR_POINTER:
        put_list(out, e->pointer_const ? "const-pointer" : "pointer", e->left, NULL, NULL);
        break;
    case EXPR_NAMED:
        put_named(out, ":=", e->name, e->left);
        break;
    case EXPR_UNSUPPORTED:
        put_unsupported(out, e);
        break;
    }
}

// --- statements

static void put_func(strbuf *out, const ast_func *f, unsigned level);

static void put_indent(strbuf *out, unsigned level) {
    for (unsigned i = 0; i < level; i++)
        strbuf_puts(out, "  ");
}

// " word expr", or nothing if there is no such part.
static void put_part(strbuf *out, const char *word, const ast_expr *e) {
    if (!e)
        return;
    strbuf_printf(out, " %s", word);
    put_expr(out, e);
}

static void put_import(strbuf *out, const ast_import *i) {
    strbuf_puts(out, i->name.len ? "from " : "import ");
    for (unsigned k = 0; k < i->dots; k++)
        strbuf_putc(out, '.');
    strbuf_put(out, i->path);
    if (i->name.len)
        strbuf_printf(out, " import %" SV_FMT, SV_ARG(i->name));
    if (i->alias.len)
        strbuf_printf(out, " as %" SV_FMT, SV_ARG(i->alias));
    strbuf_putc(out, '\n');
}

static void put_block(strbuf *out, ast_block block, unsigned level);

static void put_assign(strbuf *out, const ast_stmt *s) {
    strbuf_puts(out, "assign");
    for (uint32_t i = 0; i < s->targets.len; i++)
        put_part(out, "", s->targets.data[i]);
    put_part(out, ": ", s->annotation);
    put_part(out, "= ", s->value);
    strbuf_putc(out, '\n');
}

static void put_compound(strbuf *out, const char *word, const ast_stmt *s, unsigned level) {
    strbuf_puts(out, word);
    if (s->targets.len)
        put_part(out, "", s->targets.data[0]);
    put_part(out, s->targets.len ? "in " : "", s->value);
    strbuf_putc(out, '\n');
    put_block(out, s->body, level + 1);
    if (s->orelse.len) {
        put_indent(out, level);
        strbuf_puts(out, "else\n");
        put_block(out, s->orelse, level + 1);
    }
}

static void put_simple(strbuf *out, const char *word, const ast_stmt *s) {
    strbuf_puts(out, word);
    put_part(out, "", s->value);
    put_part(out, "message ", s->message);
    strbuf_putc(out, '\n');
}

static void put_stmt(strbuf *out, const ast_stmt *s, unsigned level) {
    if (s->kind != STMT_DEF)
        put_indent(out, level);
    switch (s->kind) {
    case STMT_EXPR:
        put_simple(out, "expr", s);
        break;
    case STMT_ASSIGN:
        put_assign(out, s);
        break;
    case STMT_AUGASSIGN:
        strbuf_puts(out, "update");
        put_part(out, "", s->targets.data[0]);
        strbuf_printf(out, " %s=", ast_op_text(s->op));
        put_part(out, "", s->value);
        strbuf_putc(out, '\n');
        break;
    case STMT_IF:
        put_compound(out, "if", s, level);
        break;
    case STMT_FOR:
        put_compound(out, "for", s, level);
        break;
    case STMT_WHILE:
        put_compound(out, "while", s, level);
        break;
    case STMT_RETURN:
        put_simple(out, "return", s);
        break;
    case STMT_PASS:
        put_simple(out, "pass", s);
        break;
    case STMT_ASSERT:
        put_simple(out, "assert", s);
        break;
    case STMT_BREAK:
        put_simple(out, "break", s);
        break;
    case STMT_CONTINUE:
        put_simple(out, "continue", s);
        break;
    case STMT_IMPORT:
        for (uint32_t i = 0; i < s->num_imports; i++) {
            if (i)
                put_indent(out, level);
            put_import(out, &s->imports[i]);
        }
        break;
    case STMT_DEF:
        put_func(out, s->func, level);
        break;
    case STMT_UNSUPPORTED:
        strbuf_printf(out, "unsupported '%" SV_FMT "'\n", SV_ARG(s->name));
        break;
    }
}

static void put_block(strbuf *out, ast_block block, unsigned level) {
    for (uint32_t i = 0; i < block.len; i++)
        put_stmt(out, block.data[i], level);
}

static void put_param(strbuf *out, const ast_param *p) {
    const char *stars = p->is_kwarg ? "**" : p->is_vararg ? "*" : "";
    strbuf_printf(out, "%s %s%" SV_FMT, p->keyword_only ? "keyword" : "param", stars,
                  SV_ARG(p->name));
    put_part(out, ": ", p->annotation);
    put_part(out, "= ", p->default_value);
    strbuf_putc(out, '\n');
}

static void put_func(strbuf *out, const ast_func *f, unsigned level) {
    for (uint32_t i = 0; i < f->decorators.len; i++) {
        put_indent(out, level);
        strbuf_putc(out, '@');
        put_expr(out, f->decorators.data[i]);
        strbuf_putc(out, '\n');
    }
    put_indent(out, level);
    strbuf_printf(out, "def %" SV_FMT, SV_ARG(f->name));
    put_part(out, "-> ", f->returns);
    strbuf_putc(out, '\n');
    for (uint32_t i = 0; i < f->num_params; i++) {
        put_indent(out, level + 1);
        put_param(out, &f->params[i]);
    }
    put_block(out, f->body, level + 1);
}

void ast_print(const ast_module *m, strbuf *out) {
    for (uint32_t i = 0; i < m->num_items; i++) {
        const ast_item *item = &m->items[i];
        if (item->kind == ITEM_FUNC) {
            put_func(out, item->func, 0);
        } else if (item->kind == ITEM_IMPORT) {
            put_import(out, item->import);
        } else {
            strbuf_printf(out, "constant %" SV_FMT, SV_ARG(item->global->name));
            put_part(out, ": ", item->global->annotation);
            put_part(out, "= ", item->global->value);
            strbuf_putc(out, '\n');
        }
    }
}
