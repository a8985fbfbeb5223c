// What of a Python file is not ours. A .py file holds kernels among host code that may use any
// Python there is, so the file is first cut into top-level blocks (a logical line and all that is
// indented below it) by a light reading that knows only strings, comments and brackets. Blocks that
// are not a jit function, an import that may matter, or a plain assignment are overwritten with
// spaces; the parser then sees blank lines there, and all positions stay what they were.
#include "frontend/parse.h"

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

// The offset behind the block that starts at i: its first line and all indented lines after it.
static uint32_t block_end(sv text, uint32_t i) {
    uint32_t end = logical_end(text, i);
    for (;;) {
        uint32_t next = skip_blank_lines(text, end);
        if (next >= text.len || next == 0 || is_end(text.data[next - 1]) || next == end)
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

// `from x import y`: triton's, relative, or a module that may lie beside the file.
static bool import_from_matters(sv text, uint32_t i) {
    i = skip_blanks(text, i);
    if (i < text.len && text.data[i] == '.')
        return true;
    dotted d = dotted_at(text, i);
    return d.words == 1 || sv_is(d.first, "triton");
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

static void blank(char *buffer, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; i++)
        if (!is_end(buffer[i]))
            buffer[i] = ' ';
}

// Goes through the top-level blocks. Blanks what is not ours in `buffer`, if one is given; says
// whether there is a jit function.
static bool read_blocks(sv text, char *buffer, bool keep_plain_functions) {
    sv alias = {0};
    bool decorated = false, jit = false, any_jit = false;
    uint32_t begin = 0; // of the block, its decorators included
    uint32_t i = sv_starts_with(text, "\xEF\xBB\xBF") ? 3 : 0;
    for (i = skip_blank_lines(text, i); i < text.len; i = skip_blank_lines(text, i)) {
        uint32_t end = block_end(text, i);
        sv word = word_at(text, i);
        uint32_t behind = (uint32_t)(i + word.len);
        if (!decorated)
            begin = i;
        if (text.data[i] == '@') {
            decorated = true;
            jit |= is_jit(text, i + 1, alias);
            i = end;
            continue;
        }
        bool is_def = sv_is(word, "def");
        bool keep = is_def                  ? jit || (!decorated && keep_plain_functions)
                    : decorated             ? false
                    : sv_is(word, "import") ? imports_triton(text, behind, &alias)
                    : sv_is(word, "from")   ? import_from_matters(text, behind)
                                            : is_assignment(text, i);
        if (!keep && buffer)
            blank(buffer, begin, end);
        any_jit |= is_def && jit;
        decorated = jit = false;
        i = end;
    }
    if (decorated && buffer)
        blank(buffer, begin, (uint32_t)text.len);
    return any_jit;
}

// A file without any jit function may hold helpers that are not marked, so they are kept there.
void ast_blank_host_code(sv text, char *buffer) {
    bool any_jit = read_blocks(text, NULL, false);
    read_blocks(text, buffer, !any_jit);
}
