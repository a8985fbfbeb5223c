// What of a Python file is not ours. A .py file holds kernels among host code that may use any
// Python there is, so the file is first cut into blocks (a logical line and all that is indented
// below it) by a light reading that knows only strings, comments and brackets. Blocks that are not
// a jit function, an import, or a plain assignment are overwritten with spaces; the
// parser then sees blank lines there, and all positions stay what they were. Of an `if` or a `try`
// at the top level all branches are read, and where two of them bind a name, the first one counts:
// with `if not` the other, and `except` comes last. Host functions and classes are searched for jit
// functions only. What is kept of such a block stands at its own column, which host_blocks tells.
#include "frontend/parse.h"
#include "support/names.h"

enum { MAX_HOST_DEPTH = 16 };

typedef struct host_name {
    sv name;
    bool is_function;  ///< or one of that name before was one
    uint32_t previous; ///< of that name: 1 + its index, or 0
} host_name;

/// A reading of the file, or of a part of it, and the names that were bound so far.
typedef struct host_reader {
    ast_parser *ps;
    sv text;
    char *buffer;     ///< a copy of the text, to blank; NULL to look only
    sv alias;         ///< of triton
    bool keeps_plain; ///< functions without decorators are kept
    bool found_jit;
    unsigned depth;
    struct {
        host_name *data;
        uint32_t len, cap;
    } bound;
    name_map last; ///< 1 + the index of the last of a name
} host_reader;

/// Where a block stands.
typedef struct host_place {
    bool is_inside;   ///< a host function or class: only jit functions and Triton's imports count
    bool is_fallback; ///< a name that was bound since `since` is not bound again
    uint32_t since;
} host_place;

bool ast_is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\f'; }
static bool is_end(char c) { return c == '\n' || c == '\r'; }

static sv word_at(sv text, uint32_t i) {
    uint32_t end = i;
    while (end < text.len && ast_is_word(text.data[end]))
        end++;
    return (sv){text.data + i, end - i};
}

static bool is_one_of(sv word, const char *const *list) {
    for (; *list; list++)
        if (sv_is(word, *list))
            return true;
    return false;
}

bool ast_word_is_one_of(sv text, uint32_t i, const char *const *list) {
    return is_one_of(word_at(text, i), list);
}

static uint32_t skip_string(sv text, uint32_t i) {
    char quote = text.data[i];
    bool is_long = text.len - i >= 3 && text.data[i + 1] == quote && text.data[i + 2] == quote;
    for (i += is_long ? 3 : 1; i < text.len; i++) {
        char c = text.data[i];
        if (c == '\\' && i + 1 < text.len)
            i++;
        else if (!is_long && (c == quote || is_end(c)))
            return c == quote ? i + 1 : i;
        else if (is_long && c == quote && text.len - i >= 3 && text.data[i + 1] == quote &&
                 text.data[i + 2] == quote)
            return i + 3;
    }
    return (uint32_t)text.len;
}

uint32_t ast_skip_text(sv text, uint32_t i) {
    char c = text.data[i];
    if (c == '"' || c == '\'')
        return skip_string(text, i);
    if (c != '#')
        return i + 1;
    while (i < text.len && !is_end(text.data[i]))
        i++;
    return i;
}

// The offset of the first character that is neither blank nor comment nor line end.
static uint32_t skip_blank_lines(sv text, uint32_t i) {
    while (i < text.len) {
        char c = text.data[i];
        if (c == '#')
            i = ast_skip_text(text, i);
        else if (is_blank(c) || is_end(c))
            i++;
        else
            break;
    }
    return i;
}

bool ast_statement_follows(sv text, uint32_t i) {
    static const char *const words[] = {"assert", "break",  "class",    "continue", "def",    "del",
                                        "global", "import", "pass",     "raise",    "return", "try",
                                        "while",  "with",   "nonlocal", NULL};
    i += text.data[i] == '\r' && i + 1 < text.len && text.data[i + 1] == '\n' ? 2 : 1;
    while (i < text.len && is_blank(text.data[i]))
        i++;
    return is_one_of(word_at(text, i), words);
}

// The offset behind the logical line that starts at i.
static uint32_t logical_end(sv text, uint32_t i) {
    unsigned depth = 0;
    while (i < text.len) {
        char c = text.data[i];
        if (c == '(' || c == '[' || c == '{')
            depth++;
        else if ((c == ')' || c == ']' || c == '}') && depth)
            depth--;
        else if (is_end(c) && (!depth || ast_statement_follows(text, i)))
            return i + 1;
        else if (c == '\\' && i + 1 < text.len)
            i += text.data[i + 1] == '\r' && i + 2 < text.len && text.data[i + 2] == '\n' ? 2 : 1;
        i = ast_skip_text(text, i);
    }
    return (uint32_t)text.len;
}

// The column of offset i, or UINT32_MAX if it is not the first thing on its line.
static uint32_t column_of(sv text, uint32_t i) {
    uint32_t begin = i, column = 0;
    while (begin && is_blank(text.data[begin - 1]))
        begin--;
    if (begin && !is_end(text.data[begin - 1]))
        return UINT32_MAX;
    for (; begin < i; begin++)
        column = text.data[begin] == '\t'   ? (column / 8 + 1) * 8
                 : text.data[begin] == '\f' ? 0
                                            : column + 1;
    return column;
}

// The offset behind the block that starts at i: its first line and all deeper ones after it.
static uint32_t block_end(sv text, uint32_t i) {
    uint32_t column = column_of(text, i), end = logical_end(text, i);
    for (;;) {
        uint32_t next = skip_blank_lines(text, end);
        if (next >= text.len || next == end || column_of(text, next) <= column)
            return end;
        end = logical_end(text, next);
    }
}

static uint32_t skip_blanks(sv text, uint32_t i) {
    while (i < text.len && is_blank(text.data[i]))
        i++;
    return i;
}

// A dotted name, read word by word.
typedef struct dotted {
    sv first, last;
    uint32_t words, end;
} dotted;

static dotted dotted_at(sv text, uint32_t i) {
    dotted d = {0};
    for (;;) {
        i = skip_blanks(text, i);
        sv word = word_at(text, i);
        if (!word.len)
            break;
        if (!d.words++)
            d.first = word;
        d.last = word;
        d.end = (uint32_t)(i + word.len);
        i = skip_blanks(text, d.end);
        if (i >= text.len || text.data[i] != '.')
            break;
        i++;
    }
    return d;
}

// `import a, triton.language as tl`: is one of the modules triton? Sets *alias if triton itself
// gets another name.
static bool imports_triton(sv text, uint32_t i, sv *alias) {
    bool found = false;
    for (;;) {
        dotted d = dotted_at(text, i);
        if (!d.words)
            return found;
        bool is_triton = sv_is(d.first, "triton");
        found |= is_triton;
        i = skip_blanks(text, d.end);
        if (sv_is(word_at(text, i), "as")) {
            i = skip_blanks(text, i + 2);
            sv name = word_at(text, i);
            if (is_triton && d.words == 1)
                *alias = name;
            i = skip_blanks(text, (uint32_t)(i + name.len));
        }
        if (i >= text.len || text.data[i] != ',')
            return found;
        i++;
    }
}

// The decorators that make a function a kernel or a helper of one.
static bool is_jit(sv text, uint32_t i, sv alias) {
    static const char *const names[] = {"jit", "autotune", "heuristics", "constexpr_function",
                                        NULL};
    dotted d = dotted_at(text, i);
    if (!d.words || !is_one_of(d.last, names))
        return false;
    return d.words == 1 || sv_is(d.first, "triton") || (alias.len && sv_equal(d.first, alias));
}

// NAME = value, or NAME: annotation = value.
static bool is_assignment(sv text, uint32_t i) {
    static const char *const keywords[] = {"else", "try", "finally", "lambda", NULL};
    sv name = word_at(text, i);
    if (!name.len || is_one_of(name, keywords))
        return false;
    i = skip_blanks(text, (uint32_t)(i + name.len));
    if (i >= text.len || (text.data[i] != '=' && text.data[i] != ':'))
        return false;
    return i + 1 >= text.len || text.data[i + 1] != '=';
}

// The name that a kept block binds; of an import its first one.
static sv bound_name(sv text, uint32_t i) {
    sv word = word_at(text, i);
    uint32_t behind = skip_blanks(text, (uint32_t)(i + word.len));
    bool is_from = sv_is(word, "from");
    if (sv_is(word, "def"))
        return word_at(text, behind);
    if (!is_from && !sv_is(word, "import"))
        return word;
    while (is_from && behind < text.len && !is_end(text.data[behind]) &&
           !sv_is(word_at(text, behind), "import"))
        behind += word_at(text, behind).len ? (uint32_t)word_at(text, behind).len : 1;
    if (is_from)
        behind = skip_blanks(text, behind + (uint32_t)strlen("import"));
    while (behind < text.len &&
           (text.data[behind] == '(' || is_blank(text.data[behind]) || is_end(text.data[behind])))
        behind++;
    dotted d = dotted_at(text, behind);
    uint32_t as = skip_blanks(text, d.end);
    return d.words && sv_is(word_at(text, as), "as") ? word_at(text, skip_blanks(text, as + 2))
                                                     : d.first;
}

// Would the block bind a name again that it must not? A function stays what it is: what is assigned
// to its name wraps its launch, as in k = autotune(k).
static bool is_taken(const host_reader *r, host_name n, host_place place) {
    uint32_t last = 0;
    name_map_get(&r->last, n.name, &last);
    return last && ((place.is_fallback && last > place.since) ||
                    (r->bound.data[last - 1].is_function && !n.is_function));
}

static void bind(host_reader *r, host_name n) {
    if (!n.name.len)
        return;
    name_map_get(&r->last, n.name, &n.previous);
    n.is_function |= n.previous && r->bound.data[n.previous - 1].is_function;
    VEC_PUSH(r->ps->arena, r->bound, n);
    name_map_set(&r->last, n.name, r->bound.len);
}

// Forgets all but the first `len` names.
static void unbind(host_reader *r, uint32_t len) {
    while (r->bound.len > len) {
        const host_name *n = &r->bound.data[--r->bound.len];
        name_map_set(&r->last, n->name, n->previous);
    }
}

static void blank(host_reader *r, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; r->buffer && i < end; i++)
        if (!is_end(r->buffer[i]))
            r->buffer[i] = ' ';
}

static void read_blocks(host_reader *r, uint32_t i, uint32_t end, host_place place);

// Blanks the header of the block in [begin, end), whose first line without decorators is at
// `header`, and reads what is below it.
static void enter(host_reader *r, uint32_t begin, uint32_t header, uint32_t end, host_place place) {
    uint32_t body = r->depth < MAX_HOST_DEPTH ? logical_end(r->text, header) : end;
    blank(r, begin, body);
    r->depth++;
    if (body < end)
        read_blocks(r, body, end, place);
    r->depth--;
}

// Binds the names that the branches from i on bind, without touching their text.
static void look_ahead(host_reader *r, uint32_t i, host_place place) {
    static const char *const others[] = {"elif", "else", NULL};
    sv text = r->text;
    char *buffer = r->buffer;
    r->buffer = NULL;
    for (i = skip_blank_lines(text, i); i < text.len && ast_word_is_one_of(text, i, others);) {
        uint32_t end = block_end(text, i);
        enter(r, i, i, end, place);
        i = skip_blank_lines(text, end);
    }
    r->buffer = buffer;
}

// One branch of an `if`, a `try` or a `with`. `*chain` is the number of names that were bound before
// its first branch.
static void read_branch(host_reader *r, uint32_t i, uint32_t end, host_place place,
                        uint32_t *chain) {
    static const char *const others[] = {"elif", "else", "except", NULL};
    static const char *const negation[] = {"not", NULL};
    sv word = word_at(r->text, i);
    uint32_t behind = skip_blanks(r->text, (uint32_t)(i + word.len));
    bool is_other = is_one_of(word, others);
    bool is_negated = sv_is(word, "if") && ast_word_is_one_of(r->text, behind, negation);
    if (!is_other && !sv_is(word, "finally"))
        *chain = r->bound.len;
    if (!place.is_fallback)
        place.since = *chain;
    if (is_negated)
        look_ahead(r, end, place);
    place.is_fallback |= is_other || is_negated;
    enter(r, i, i, end, place);
    if (is_negated) // the other branches come now
        unbind(r, *chain);
}

// Is the block at i kept? It has decorators that say `jit`, or has none, or others.
static bool is_ours(host_reader *r, uint32_t i, bool decorated, bool jit, host_place place) {
    sv text = r->text, word = word_at(text, i);
    uint32_t behind = (uint32_t)(i + word.len);
    if (sv_is(word, "def"))
        return jit || (!decorated && !place.is_inside && r->keeps_plain);
    if (decorated)
        return false;
    if (sv_is(word, "import"))
        return imports_triton(text, behind, &r->alias) || !place.is_inside;
    if (sv_is(word, "from"))
        return !place.is_inside || sv_is(dotted_at(text, behind).first, "triton");
    return !place.is_inside && is_assignment(text, i);
}

static void keep(host_reader *r, uint32_t i, host_name name) {
    bind(r, name);
    if (r->buffer)
        VEC_PUSH(r->ps->arena, r->ps->host_blocks, i);
}

// Goes through the blocks in [i, end) and blanks what is not ours.
static void read_blocks(host_reader *r, uint32_t i, uint32_t end, host_place place) {
    static const char *const branches[] = {"if",     "elif",    "else", "try",
                                           "except", "finally", "with", NULL};
    static const char *const scopes[] = {"def", "class", NULL};
    sv text = r->text;
    bool decorated = false, jit = false;
    uint32_t begin = i, chain = r->bound.len; // of the block, its decorators included
    for (i = skip_blank_lines(text, i); i < end; i = skip_blank_lines(text, i)) {
        uint32_t next = block_end(text, i);
        sv word = word_at(text, i);
        next = next < end ? next : end;
        if (!decorated)
            begin = i;
        if (text.data[i] == '@') {
            decorated = true;
            jit |= is_jit(text, i + 1, r->alias);
            i = next;
            continue;
        }
        bool is_def = sv_is(word, "def");
        r->found_jit |= is_def && jit;
        if (!decorated && is_one_of(word, branches) && !is_assignment(text, i)) {
            read_branch(r, i, next, place, &chain);
        } else {
            host_name name = {.name = bound_name(text, i), .is_function = is_def};
            if (is_ours(r, i, decorated, jit, place) && !is_taken(r, name, place))
                keep(r, begin, name);
            else if (is_one_of(word, scopes))
                enter(r, begin, i, next, (host_place){true, true, 0});
            else
                blank(r, begin, next);
        }
        decorated = jit = false;
        i = next;
    }
    if (decorated)
        blank(r, begin, end);
}

// A file without any jit function may hold helpers that are not marked, so they are kept there.
void ast_blank_host_code(ast_parser *ps, char *buffer) {
    host_reader look = {.ps = ps, .text = ps->text, .last = {.arena = ps->arena}}, edit = look;
    uint32_t size = (uint32_t)ps->text.len;
    read_blocks(&look, ps->begin, size, (host_place){0});
    edit.buffer = buffer;
    edit.keeps_plain = !look.found_jit;
    read_blocks(&edit, ps->begin, size, (host_place){0});
}
