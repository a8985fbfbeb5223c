// Source files and diagnostics: see diag.h. Messages are kept in the order they come, each with its
// labels and notes, and are sorted by position only when they are rendered. Source text is quoted
// by display width: wide characters take two columns, tabs are kept, control characters and bytes
// that are not UTF-8 are shown as U+FFFD, and a very long line is cut to a window around the caret.
#include "support/diag.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    MAX_SHOWN = 20,    // errors rendered; the rest is counted
    MAX_STORED = 500,  // messages kept; the rest is counted
    MAX_ERRORS = 200,  // looked for
    WINDOW_BYTES = 160 // of a source line, in a text message
};

typedef struct source_file {
    const char *path;
    sv text;
    uint32_t *line_starts;
    uint32_t num_lines;
} source_file;

typedef struct remark { // a note or a label
    src_range at;
    sv text;
} remark;

typedef struct message {
    diag_severity severity;
    const char *option; // of a warning: its class; NULL for an error
    src_range at;
    sv text;
    uint32_t order;
    VEC(remark) labels;
    VEC(remark) notes;
} message;

typedef struct warning_switch {
    sv name;
    bool enabled;
} warning_switch;

struct diag {
    arena *arena;
    VEC(source_file) files;
    VEC(message) messages;
    VEC(warning_switch) switches;
    bool warnings_are_errors;
    bool last_kept; // labels and notes of a dropped message are dropped as well
    uint32_t num_errors, num_warnings;
};

src_range src_join(src_range a, src_range b) {
    if (!a.file || !b.file || a.file != b.file)
        return a.file ? a : b;
    return (src_range){a.file, a.begin < b.begin ? a.begin : b.begin,
                       a.end > b.end ? a.end : b.end};
}

diag *diag_create(arena *a) {
    diag *d = ARENA_NEW(a, diag);
    d->arena = a;
    return d;
}

// --- files

// Is this byte the last one of a line? "\n", "\r\n" and a lone "\r" end one.
static bool ends_line(sv text, size_t i) {
    return text.data[i] == '\n' ||
           (text.data[i] == '\r' && (i + 1 == text.len || text.data[i + 1] != '\n'));
}

uint32_t diag_add_file(diag *d, const char *path, sv text) {
    if (text.len > UINT32_MAX / 4) // offsets are 32 bits; ast_parse refuses far smaller files
        text.len = UINT32_MAX / 4;
    source_file f = {.path = arena_copy_string(d->arena, path, strlen(path)),
                     .text = sv_copy(d->arena, text)};
    uint32_t lines = 1;
    for (size_t i = 0; i < text.len; i++)
        lines += ends_line(text, i);
    f.line_starts = ARENA_ARRAY(d->arena, uint32_t, lines);
    f.num_lines = 1;
    for (size_t i = 0; i < text.len; i++)
        if (ends_line(text, i))
            f.line_starts[f.num_lines++] = (uint32_t)i + 1;
    VEC_PUSH(d->arena, d->files, f);
    return d->files.len;
}

static const source_file *get_file(const diag *d, uint32_t file) {
    return file && file <= d->files.len ? &d->files.data[file - 1] : NULL;
}

sv diag_file_text(const diag *d, uint32_t file) {
    const source_file *f = get_file(d, file);
    return f ? f->text : SV("");
}

const char *diag_file_path(const diag *d, uint32_t file) {
    const source_file *f = get_file(d, file);
    return f ? f->path : "";
}

uint32_t diag_file_count(const diag *d) { return d->files.len; }

diag_position diag_locate(const diag *d, uint32_t file, uint32_t offset) {
    const source_file *f = get_file(d, file);
    if (!f)
        return (diag_position){1, 1};
    if (offset > f->text.len)
        offset = (uint32_t)f->text.len;
    uint32_t low = 0, high = f->num_lines; // the line is in [low, high)
    while (high - low > 1) {
        uint32_t mid = low + (high - low) / 2;
        if (f->line_starts[mid] <= offset)
            low = mid;
        else
            high = mid;
    }
    return (diag_position){low + 1, offset - f->line_starts[low] + 1};
}

// --- reporting

static bool same_range(src_range a, src_range b) {
    return a.file == b.file && a.begin == b.begin && a.end == b.end;
}

static void add_message(diag *d, diag_severity severity, const char *option, src_range at,
                        const char *fmt, va_list args) {
    strbuf s;
    strbuf_init(&s, d->arena);
    strbuf_vprintf(&s, fmt, args);
    message m = {.severity = severity, .option = option, .at = at, .text = strbuf_view(&s)};
    d->last_kept = false;
    for (uint32_t i = 0; i < d->messages.len; i++) {
        const message *old = &d->messages.data[i];
        if (same_range(old->at, at) && sv_equal(old->text, m.text))
            return;
    }
    if (severity == DIAG_ERROR)
        d->num_errors++;
    else
        d->num_warnings++;
    if (d->messages.len == MAX_STORED)
        return;
    m.order = d->messages.len;
    VEC_PUSH(d->arena, d->messages, m);
    d->last_kept = true;
}

void diag_error(diag *d, src_range at, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    add_message(d, DIAG_ERROR, NULL, at, fmt, args);
    va_end(args);
}

static bool warning_enabled(const diag *d, const char *name) {
    for (uint32_t i = d->switches.len; i-- > 0;) // the last switch wins
        if (sv_is(d->switches.data[i].name, name))
            return d->switches.data[i].enabled;
    return true;
}

void diag_warning(diag *d, const char *name, src_range at, const char *fmt, ...) {
    if (!warning_enabled(d, name)) {
        d->last_kept = false;
        return;
    }
    va_list args;
    va_start(args, fmt);
    const char *option = arena_copy_string(d->arena, name, strlen(name));
    add_message(d, d->warnings_are_errors ? DIAG_ERROR : DIAG_WARNING, option, at, fmt, args);
    va_end(args);
}

static remark make_remark(diag *d, src_range at, const char *fmt, va_list args) {
    strbuf s;
    strbuf_init(&s, d->arena);
    strbuf_vprintf(&s, fmt, args);
    return (remark){at, strbuf_view(&s)};
}

void diag_note(diag *d, src_range at, const char *fmt, ...) {
    if (!d->last_kept)
        return;
    va_list args;
    va_start(args, fmt);
    message *m = &d->messages.data[d->messages.len - 1];
    VEC_PUSH(d->arena, m->notes, make_remark(d, at, fmt, args));
    va_end(args);
}

void diag_label(diag *d, src_range at, const char *fmt, ...) {
    if (!d->last_kept)
        return;
    va_list args;
    va_start(args, fmt);
    message *m = &d->messages.data[d->messages.len - 1];
    VEC_PUSH(d->arena, m->labels, make_remark(d, at, fmt, args));
    va_end(args);
}

uint32_t diag_error_count(const diag *d) { return d->num_errors; }
bool diag_is_full(const diag *d) { return d->num_errors >= MAX_ERRORS; }
uint32_t diag_warning_count(const diag *d) { return d->num_warnings; }
void diag_warnings_are_errors(diag *d) { d->warnings_are_errors = true; }

void diag_set_warning(diag *d, sv name, bool enabled) {
    VEC_PUSH(d->arena, d->switches, ((warning_switch){sv_copy(d->arena, name), enabled}));
}

// --- characters

// One character of text[i..]: its length in bytes, its columns, and whether it can be printed as it
// is. An invalid byte is a character of its own.
typedef struct glyph {
    unsigned len, columns;
    bool printable;
} glyph;

static bool in_ranges(uint32_t c, const uint32_t (*ranges)[2], size_t n) {
    for (size_t i = 0; i < n; i++)
        if (c >= ranges[i][0] && c <= ranges[i][1])
            return true;
    return false;
}

// Columns in a terminal: combining marks none, East Asian wide characters and emoji two.
static unsigned columns_of(uint32_t c) {
    static const uint32_t zero[][2] = {
        {0x0300, 0x036F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};
    static const uint32_t wide[][2] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x33FF},
                                       {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},
                                       {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE4F},
                                       {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
                                       {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
    if (c < 0x300)
        return 1;
    if (in_ranges(c, zero, sizeof(zero) / sizeof(zero[0])))
        return 0;
    return in_ranges(c, wide, sizeof(wide) / sizeof(wide[0])) ? 2 : 1;
}

static glyph decode(sv text, size_t i) {
    unsigned char c = (unsigned char)text.data[i];
    glyph bad = {1, 1, false};
    if (c < 0x80)
        return (glyph){1, 1, (c >= 0x20 && c != 0x7F) || c == '\t'};
    unsigned len = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
    if (c < 0xC2 || c > 0xF4 || text.len - i < len)
        return bad;
    uint32_t value = c & (0x7Fu >> len);
    for (unsigned k = 1; k < len; k++) {
        unsigned char next = (unsigned char)text.data[i + k];
        if ((next & 0xC0) != 0x80)
            return bad;
        value = value << 6 | (next & 0x3F);
    }
    if ((len == 3 && value < 0x800) || (len == 4 && value < 0x10000) || value > 0x10FFFF ||
        (value >= 0xD800 && value <= 0xDFFF))
        return bad;
    return (glyph){len, columns_of(value), value >= 0xA0};
}

static void put_printable(strbuf *out, sv text) {
    for (size_t i = 0; i < text.len;) {
        glyph g = decode(text, i);
        if (g.printable)
            strbuf_put(out, (sv){text.data + i, g.len});
        else
            strbuf_puts(out, "\xEF\xBF\xBD");
        i += g.len;
    }
}

// --- text

static sv line_text(const source_file *f, uint32_t line) {
    size_t begin = f->line_starts[line - 1];
    size_t end = line < f->num_lines ? f->line_starts[line] : f->text.len;
    while (end > begin && (f->text.data[end - 1] == '\n' || f->text.data[end - 1] == '\r'))
        end--;
    return (sv){f->text.data + begin, end - begin};
}

// A mark under a line: bytes [begin, end) of it, drawn with `first` and then '~'.
typedef struct mark {
    uint32_t begin, end;
    char first;
    sv text;
} mark;

typedef VEC(mark) mark_list;

// The part of `r` that lies in the line of `start`, as byte columns; at least one column.
static mark mark_of(const diag *d, src_range r, sv line, char first, sv text) {
    diag_position from = diag_locate(d, r.file, r.begin), to = diag_locate(d, r.file, r.end);
    mark m = {from.column - 1, to.line == from.line ? to.column - 1 : (uint32_t)line.len, first,
              text};
    if (m.end <= m.begin)
        m.end = m.begin + 1;
    return m;
}

static char mark_at(const mark_list *marks, uint32_t byte) {
    char c = ' ';
    for (uint32_t i = 0; i < marks->len; i++) {
        const mark *m = &marks->data[i];
        if (byte == m->begin && m->first == '^')
            return '^';
        if (byte >= m->begin && byte < m->end)
            c = '~';
    }
    return c;
}

// Spaces (and the line's own tabs) up to the column where byte `to` of the line is shown.
static void pad_to(strbuf *out, sv line, size_t from, size_t to) {
    for (size_t i = from; i < to;) {
        if (i >= line.len) {
            strbuf_putc(out, ' ');
            i++;
            continue;
        }
        glyph g = decode(line, i);
        for (unsigned c = 0; c < g.columns; c++)
            strbuf_putc(out, line.data[i] == '\t' ? '\t' : ' ');
        i += g.len;
    }
}

static void put_underline(strbuf *out, sv line, size_t from, size_t to, const mark_list *marks) {
    uint32_t last = 0;
    for (uint32_t i = 0; i < marks->len; i++)
        last = marks->data[i].end > last ? marks->data[i].end : last;
    for (size_t i = from; i < last && i <= to;) {
        char c = mark_at(marks, (uint32_t)i);
        glyph g = i < line.len ? decode(line, i) : (glyph){1, 1, true};
        if (i < line.len && line.data[i] == '\t' && c == ' ')
            c = '\t';
        for (unsigned k = 0; k < g.columns; k++)
            strbuf_putc(out, c == '^' && k ? '~' : c);
        i += g.len;
    }
}

// The source line of marks[0] with all marks under it. The text of the rightmost label stands
// beside the marks, the others below, each under its own mark.
static void put_snippet(const source_file *f, strbuf *out, uint32_t line_number,
                        const mark_list *marks) {
    sv line = line_text(f, line_number);
    size_t from = 0, to = line.len;
    if (line.len > WINDOW_BYTES) {
        from =
            marks->data[0].begin > WINDOW_BYTES / 2 ? marks->data[0].begin - WINDOW_BYTES / 2 : 0;
        while (from && ((unsigned char)line.data[from] & 0xC0) == 0x80)
            from--;
        to = from + WINDOW_BYTES < line.len ? from + WINDOW_BYTES : line.len;
        while (to < line.len && ((unsigned char)line.data[to] & 0xC0) == 0x80)
            to++;
    }
    strbuf_printf(out, "%5u | ", line_number);
    put_printable(out, (sv){line.data + from, to - from});
    strbuf_puts(out, "\n      | ");
    put_underline(out, line, from, to, marks);
    const mark *beside = NULL;
    for (uint32_t i = 0; i < marks->len; i++)
        if (marks->data[i].text.len && (!beside || marks->data[i].begin > beside->begin))
            beside = &marks->data[i];
    if (beside) {
        strbuf_putc(out, ' ');
        put_printable(out, beside->text);
    }
    strbuf_putc(out, '\n');
    for (uint32_t i = 0; i < marks->len; i++) {
        const mark *m = &marks->data[i];
        if (m == beside || !m->text.len || m->begin < from)
            continue;
        strbuf_puts(out, "      | ");
        pad_to(out, line, from, m->begin);
        put_printable(out, m->text);
        strbuf_putc(out, '\n');
    }
}

static void put_head(const diag *d, strbuf *out, src_range at, const char *kind, sv text,
                     const char *option, bool is_error) {
    if (at.file) {
        diag_position p = diag_locate(d, at.file, at.begin);
        strbuf_printf(out, "%s:%u:%u: ", diag_file_path(d, at.file), p.line, p.column);
    }
    strbuf_printf(out, "%s: ", kind);
    put_printable(out, text);
    if (option)
        strbuf_printf(out, is_error ? " [-Werror=%s]" : " [-W%s]", option);
    strbuf_putc(out, '\n');
}

// Shows a range and, on the same line, the labels that fall there; the other labels follow with a
// line of their own.
static void put_source(const diag *d, strbuf *out, src_range at, const remark *labels,
                       uint32_t num_labels) {
    const source_file *f = get_file(d, at.file);
    if (!f)
        return;
    uint32_t line = diag_locate(d, at.file, at.begin).line;
    mark_list marks = {0};
    VEC_PUSH(out->arena, marks, mark_of(d, at, line_text(f, line), '^', SV("")));
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < num_labels; i++) {
            const remark *l = &labels[i];
            const source_file *lf = get_file(d, l->at.file);
            uint32_t label_line = lf ? diag_locate(d, l->at.file, l->at.begin).line : 0;
            if (!lf || (lf == f && label_line == line) != (pass == 0))
                continue;
            mark m = mark_of(d, l->at, line_text(lf, label_line), '~', l->text);
            if (pass == 0) {
                VEC_PUSH(out->arena, marks, m);
            } else {
                mark_list alone = {&m, 1, 1};
                put_snippet(lf, out, label_line, &alone);
            }
        }
        if (pass == 0)
            put_snippet(f, out, line, &marks);
    }
}

static int compare_messages(const void *x, const void *y) {
    const message *a = *(const message *const *)x, *b = *(const message *const *)y;
    if (a->at.file != b->at.file)
        return a->at.file < b->at.file ? -1 : 1;
    if (a->at.begin != b->at.begin)
        return a->at.begin < b->at.begin ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static const message **sorted_messages(const diag *d, arena *a) {
    const message **list = ARENA_ARRAY(a, const message *, d->messages.len);
    for (uint32_t i = 0; i < d->messages.len; i++)
        list[i] = &d->messages.data[i];
    if (d->messages.len)
        qsort(list, d->messages.len, sizeof(*list), compare_messages);
    return list;
}

static const char *severity_name(diag_severity s) {
    static const char *const names[] = {"error", "warning", "note"};
    return names[s];
}

void diag_render_text(const diag *d, strbuf *out) {
    const message **list = sorted_messages(d, out->arena);
    uint32_t shown = 0;
    for (uint32_t i = 0; i < d->messages.len; i++) {
        const message *m = list[i];
        bool is_error = m->severity == DIAG_ERROR;
        if (is_error && shown == MAX_SHOWN)
            continue;
        shown += is_error;
        put_head(d, out, m->at, severity_name(m->severity), m->text, m->option, is_error);
        put_source(d, out, m->at, m->labels.data, m->labels.len);
        for (uint32_t k = 0; k < m->notes.len; k++) {
            put_head(d, out, m->notes.data[k].at, "note", m->notes.data[k].text, NULL, false);
            put_source(d, out, m->notes.data[k].at, NULL, 0);
        }
    }
    if (d->num_errors > shown)
        strbuf_printf(out, "%u more error%s not shown\n", d->num_errors - shown,
                      d->num_errors - shown == 1 ? "" : "s");
}

// --- JSON lines

void diag_put_json_string(strbuf *out, sv text) {
    strbuf_putc(out, '"');
    for (size_t i = 0; i < text.len;) {
        glyph g = decode(text, i);
        char c = text.data[i];
        if (c == '"' || c == '\\')
            strbuf_printf(out, "\\%c", c);
        else if ((unsigned char)c < 0x20 || c == 0x7F)
            strbuf_printf(out, "\\u%04x", c);
        else if (g.len == 1 && (unsigned char)c >= 0x80)
            strbuf_puts(out, "\\ufffd");
        else
            strbuf_put(out, (sv){text.data + i, g.len});
        i += g.len;
    }
    strbuf_putc(out, '"');
}

static void json_fields(const diag *d, strbuf *out, src_range at, const char *severity, sv text) {
    strbuf_putc(out, '{');
    if (at.file) {
        diag_position from = diag_locate(d, at.file, at.begin);
        diag_position to = diag_locate(d, at.file, at.end);
        strbuf_puts(out, "\"file\": ");
        diag_put_json_string(out, sv_from(diag_file_path(d, at.file)));
        strbuf_printf(out, ", \"line\": %u, \"column\": %u, \"end_line\": %u, \"end_column\": %u, ",
                      from.line, from.column, to.line, to.column);
    }
    strbuf_printf(out, "\"severity\": \"%s\", \"message\": ", severity);
    diag_put_json_string(out, text);
}

static void json_remarks(const diag *d, strbuf *out, const char *key, const char *severity,
                         const remark *list, uint32_t n) {
    strbuf_printf(out, ", \"%s\": [", key);
    for (uint32_t i = 0; i < n; i++) {
        strbuf_puts(out, i ? ", " : "");
        json_fields(d, out, list[i].at, severity, list[i].text);
        strbuf_putc(out, '}');
    }
    strbuf_putc(out, ']');
}

void diag_render_json(const diag *d, strbuf *out) {
    const message **list = sorted_messages(d, out->arena);
    for (uint32_t i = 0; i < d->messages.len; i++) {
        const message *m = list[i];
        json_fields(d, out, m->at, severity_name(m->severity), m->text);
        if (m->option) {
            strbuf_puts(out, ", \"option\": ");
            diag_put_json_string(out, sv_from(m->option));
        }
        json_remarks(d, out, "labels", "label", m->labels.data, m->labels.len);
        json_remarks(d, out, "notes", "note", m->notes.data, m->notes.len);
        strbuf_puts(out, "}\n");
    }
}
