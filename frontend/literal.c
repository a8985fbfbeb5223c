// Numbers and strings: what their text means. Python's rules for underscores, prefixes and escapes;
// an f-string becomes its pieces of text and its expressions, each parsed where it stands.
#include "frontend/parse.h"

#include <stdlib.h>

// --- numbers

static bool is_digit_of(char c, unsigned base) {
    unsigned d = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                 : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
                                        : 99;
    return d < base;
}

static unsigned digit_value(char c) {
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a' + 10);
}

// Digits of a base, single underscores between them (and before the first one after 0x). Gives
// what is wrong, or NULL.
static const char *read_integer(ast_expr *e, sv digits, unsigned base) {
    bool after_digit = base != 10;
    if (!digits.len)
        return "no digits";
    for (size_t i = 0; i < digits.len; i++) {
        char c = digits.data[i];
        if (c == '_' && after_digit && i + 1 < digits.len) {
            after_digit = false;
            continue;
        }
        if (!is_digit_of(c, base))
            return c == '_' ? "a misplaced '_'" : "a digit or letter that does not belong there";
        unsigned d = digit_value(c);
        if (e->int_value > (UINT64_MAX - d) / base)
            e->int_overflow = true;
        e->int_value = e->int_value * base + d;
        after_digit = true;
    }
    return NULL;
}

static const char *read_float(ast_parser *ps, ast_expr *e, sv text) {
    char *plain = arena_alloc(ps->arena, text.len + 1);
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        bool between = i && is_digit_of(text.data[i - 1], 10) && i + 1 < text.len &&
                       is_digit_of(text.data[i + 1], 10);
        if (text.data[i] != '_')
            plain[n++] = text.data[i];
        else if (!between)
            return "a misplaced '_'";
    }
    char *end;
    e->float_value = strtod(plain, &end);
    return *end ? "a digit or letter that does not belong there" : NULL;
}

static bool is_decimal(sv text) {
    for (size_t i = 0; i < text.len; i++)
        if (!is_digit_of(text.data[i], 10) && text.data[i] != '_')
            return false;
    return true;
}

static bool is_zero(sv digits) {
    for (size_t i = 0; i < digits.len; i++)
        if (digits.data[i] != '0' && digits.data[i] != '_')
            return false;
    return true;
}

ast_expr *ast_number(ast_parser *ps, src_range r) {
    sv text = ast_source(ps, r);
    char last = text.data[text.len - 1], mark = text.len > 1 ? (char)(text.data[1] | 0x20) : 0;
    unsigned base = text.data[0] != '0' ? 10
                    : mark == 'x'       ? 16
                    : mark == 'o'       ? 8
                    : mark == 'b'       ? 2
                                        : 10;
    ast_expr *e = ast_constant(ps, r, EXPR_INT, false);
    if (base == 10 && (last == 'j' || last == 'J'))
        return ast_refused(ps, r, "complex number", NULL);
    const char *wrong;
    if (base != 10) {
        wrong = read_integer(e, (sv){text.data + 2, text.len - 2}, base);
    } else if (is_decimal(text)) {
        wrong = read_integer(e, text, 10);
        if (!wrong && text.data[0] == '0' && !is_zero(text))
            wrong = "leading zeros (octal numbers start with 0o)";
    } else {
        e->kind = EXPR_FLOAT;
        wrong = read_float(ps, e, text);
    }
    if (wrong)
        ast_report(ps, r, "invalid number '%.*s': %s", text.len > 40 ? 40 : (int)text.len,
                   text.data, wrong);
    return e;
}

// --- strings

// A literal taken apart: offsets of its content in the file.
typedef struct literal {
    bool raw, bytes, formatted;
    uint32_t begin, end;
} literal;

static literal take_apart(ast_parser *ps, src_range r) {
    sv text = ast_source(ps, r);
    literal l = {0};
    size_t i = 0;
    for (; text.data[i] != '\'' && text.data[i] != '"'; i++) {
        char c = (char)(text.data[i] | 0x20);
        l.raw |= c == 'r';
        l.bytes |= c == 'b';
        l.formatted |= c == 'f';
    }
    char quote = text.data[i];
    size_t n = text.len - i >= 3 && text.data[i + 1] == quote && text.data[i + 2] == quote ? 3 : 1;
    size_t end = text.len;
    bool closed = end - i >= 2 * n; // an unterminated one is reported by the scanner
    for (size_t k = 1; closed && k <= n; k++)
        closed = text.data[end - k] == quote;
    l.begin = r.begin + (uint32_t)(i + n);
    l.end = r.begin + (uint32_t)(closed ? end - n : end);
    if (l.end < l.begin)
        l.end = l.begin;
    return l;
}

static void put_utf8(strbuf *out, uint32_t c) {
    if (c < 0x80) {
        strbuf_putc(out, (char)c);
    } else if (c < 0x800) {
        strbuf_putc(out, (char)(0xC0 | c >> 6));
        strbuf_putc(out, (char)(0x80 | (c & 0x3F)));
    } else if (c < 0x10000) {
        strbuf_putc(out, (char)(0xE0 | c >> 12));
        strbuf_putc(out, (char)(0x80 | (c >> 6 & 0x3F)));
        strbuf_putc(out, (char)(0x80 | (c & 0x3F)));
    } else {
        strbuf_putc(out, (char)(0xF0 | c >> 18));
        strbuf_putc(out, (char)(0x80 | (c >> 12 & 0x3F)));
        strbuf_putc(out, (char)(0x80 | (c >> 6 & 0x3F)));
        strbuf_putc(out, (char)(0x80 | (c & 0x3F)));
    }
}

// Reads up to `max` digits of a base at *i.
static unsigned read_code(sv text, uint32_t *i, uint32_t end, unsigned base, unsigned max,
                          uint32_t *code) {
    unsigned n = 0;
    for (*code = 0; n < max && *i < end && is_digit_of(text.data[*i], base); n++, ++*i)
        *code = *code * base + digit_value(text.data[*i]);
    return n;
}

// \x41, \u4e2d, \U0001F600: `digits` hexadecimal digits after the letter at i. Gives the offset
// behind them.
static uint32_t put_hex_escape(ast_parser *ps, strbuf *out, uint32_t i, uint32_t end,
                               unsigned digits) {
    uint32_t code, begin = i - 1;
    i++;
    unsigned n = read_code(ps->text, &i, end, 16, digits, &code);
    if (n < digits)
        ast_report(ps, ast_range(ps, begin, i), "an escape needs %u hexadecimal digits here",
                   digits);
    else if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
        ast_report(ps, ast_range(ps, begin, i), "this escape is not a character");
    else
        put_utf8(out, code);
    return i;
}

// Resolves the escape whose backslash is at i; gives the offset behind it.
static uint32_t put_escape(ast_parser *ps, strbuf *out, uint32_t i, uint32_t end) {
    static const char letters[] = "abfnrtv\\'\"", meanings[] = "\a\b\f\n\r\t\v\\'\"";
    const char *text = ps->text.data;
    if (++i == end) {
        strbuf_putc(out, '\\');
        return i;
    }
    char c = text[i];
    const char *letter = c ? strchr(letters, c) : NULL;
    uint32_t code;
    if (letter) {
        strbuf_putc(out, meanings[letter - letters]);
    } else if (c == '\r' || c == '\n') { // the string goes on in the next line
        return i + (c == '\r' && i + 1 < end && text[i + 1] == '\n' ? 2 : 1);
    } else if (c >= '0' && c <= '7') {
        read_code(ps->text, &i, end, 8, 3, &code);
        put_utf8(out, code);
        return i;
    } else if (c == 'x' || c == 'u' || c == 'U') {
        return put_hex_escape(ps, out, i, end, c == 'x' ? 2 : c == 'u' ? 4 : 8);
    } else if (c == 'N') {
        ast_report(ps, ast_range(ps, i - 1, i + 1), "'\\N{...}' escapes are not supported");
    } else { // not an escape: Python keeps the backslash
        strbuf_putc(out, '\\');
        strbuf_putc(out, c);
    }
    return i + 1;
}

static ast_expr *make_string(ast_parser *ps, src_range r, sv text) {
    ast_expr *e = ast_constant(ps, r, EXPR_STRING, false);
    e->str = text;
    return e;
}

// --- f-strings

static bool is_blank_text(sv text, uint32_t begin, uint32_t end) {
    for (; begin < end; begin++)
        if (!strchr(" \t\r\n\f", text.data[begin]))
            return false;
    return true;
}

// Whether at i, but for blanks, a field ends or says how it is formatted.
static bool is_field_tail(sv text, uint32_t i, uint32_t end) {
    while (i < end && is_blank_text(text, i, i + 1))
        i++;
    return i < end && (text.data[i] == '}' || text.data[i] == ':' || text.data[i] == '!');
}

// The offset of what ends the expression at i: '}', ':' or '!' outside brackets and strings, or
// a '=' before one of these; `end` if nothing does.
static uint32_t find_expression_end(sv text, uint32_t i, uint32_t end) {
    sv part = {text.data, end};
    for (unsigned depth = 0; i < end;) {
        char c = text.data[i], next = i + 1 < end ? text.data[i + 1] : 0;
        if (c == '(' || c == '[' || c == '{')
            depth++;
        else if (depth && (c == ')' || c == ']' || c == '}'))
            depth--;
        else if (!depth && (c == '}' || c == ':' || (c == '!' && next != '=')))
            return i;
        else if (!depth && c == '=' && is_field_tail(text, i + 1, end))
            return i;
        if ((c == '!' || c == '=' || c == '<' || c == '>') && next == '=')
            i++;
        i = ast_skip_text(part, i);
    }
    return end;
}

// The offset of the '}' that closes a format specification, in which expressions may stand.
static uint32_t find_field_end(sv text, uint32_t i, uint32_t end) {
    for (unsigned depth = 0; i < end; i++) {
        if (text.data[i] == '{')
            depth++;
        else if (text.data[i] == '}' && !depth--)
            return i;
    }
    return end;
}

// {x=}: the text of the expression and its '=', then the value.
static bool shows_text(sv text, uint32_t stop, uint32_t close) {
    return close < text.len && text.data[stop] == '=' && is_blank_text(text, stop + 1, close);
}

// Reads the replacement field whose '{' is at i into `items`; gives the offset behind its '}'.
static uint32_t read_field(ast_parser *ps, ast_exprs *items, uint32_t i, uint32_t end) {
    uint32_t stop = find_expression_end(ps->text, i + 1, end), close = stop;
    if (stop < end && ps->text.data[stop] != '}')
        close = find_field_end(ps->text, stop, end);
    src_range field = ast_range(ps, i, close < end ? close + 1 : close);
    if (close == end)
        ast_report(ps, ast_range(ps, i, i + 1), "'{' is never closed in this f-string");
    else if (is_blank_text(ps->text, i + 1, stop))
        ast_report(ps, field, "an f-string field needs an expression");
    else if (close != stop && !shows_text(ps->text, stop, close))
        *items = ast_list(
            ps, *items, ast_refused(ps, ast_range(ps, stop, close), "format specification", NULL));
    else {
        src_range shown = ast_range(ps, i + 1, close);
        if (close != stop)
            *items = ast_list(ps, *items, make_string(ps, shown, ast_source(ps, shown)));
        ast_expr *e = ast_parse_expression(ps, i + 1, stop);
        *items = e ? ast_list(ps, *items, e) : *items;
    }
    return field.end;
}

// Text up to the next field; gives the offset of its '{', or `end`.
static uint32_t read_text(ast_parser *ps, strbuf *out, literal l, uint32_t i) {
    const char *text = ps->text.data;
    while (i < l.end) {
        char c = text[i];
        bool doubled = i + 1 < l.end && text[i + 1] == c;
        if (l.formatted && c == '{' && !doubled)
            break;
        if (l.formatted && c == '}' && !doubled)
            ast_report(ps, ast_range(ps, i, i + 1), "a single '}' in an f-string; write '}}'");
        if (c == '\\' && !l.raw) {
            i = put_escape(ps, out, i, l.end);
            continue;
        }
        strbuf_putc(out, c);
        i += l.formatted && (c == '{' || c == '}') && doubled ? 2 : 1;
    }
    return i;
}

ast_expr *ast_string(ast_parser *ps, src_range r) {
    literal l = take_apart(ps, r);
    if (l.bytes)
        return ast_refused(ps, r, "bytes literal", NULL);
    ast_exprs items = {0};
    uint32_t i = l.begin;
    do {
        strbuf text;
        strbuf_init(&text, ps->arena);
        uint32_t begin = i;
        i = read_text(ps, &text, l, i);
        sv piece = strbuf_view(&text);
        if (!l.formatted)
            return make_string(ps, r, piece);
        if (piece.len)
            items = ast_list(ps, items, make_string(ps, ast_range(ps, begin, i), piece));
        if (i < l.end)
            i = read_field(ps, &items, i, l.end);
    } while (i < l.end);
    ast_expr *e = ast_display(ps, r, items);
    e->kind = EXPR_FSTRING;
    return e;
}

ast_expr *ast_strings(ast_parser *ps, src_range r, ast_exprs parts) {
    if (parts.len == 1)
        return parts.data[0];
    bool formatted = false;
    strbuf text;
    strbuf_init(&text, ps->arena);
    ast_exprs items = {0};
    for (uint32_t i = 0; i < parts.len; i++) {
        ast_expr *part = parts.data[i];
        if (part->kind == EXPR_UNSUPPORTED)
            return part;
        formatted |= part->kind == EXPR_FSTRING;
        strbuf_put(&text, part->str);
        if (part->kind == EXPR_STRING)
            items = ast_list(ps, items, part);
        for (uint32_t k = 0; k < part->items.len; k++)
            items = ast_list(ps, items, part->items.data[k]);
    }
    if (!formatted)
        return make_string(ps, r, strbuf_view(&text));
    ast_expr *e = ast_display(ps, r, items);
    e->kind = EXPR_FSTRING;
    return e;
}
