// Lines and blocks: the layer between the scanner and the parser, and the entry of the parser. The
// scanner says where physical lines end; here that becomes NEWLINE (at the end of a logical line),
// INDENT and DEDENT. Inside brackets line ends do not count, so this is also where brackets are
// matched. Each mistake is reported once: a level of indentation that should not be there, or that
// belongs to a header that could not be read, is kept silently (no INDENT, no DEDENT), and a
// bracket that is never closed ends where the next statement starts.
#include "frontend/parse.h"
#include "frontend/parser.h"

typedef struct held_token {
    int token;
    AST_YYSTYPE value;
    src_range at;
} held_token;

int ast_scan(AST_YYSTYPE *value, src_range *at, void *scanner);
int ast_yylex(AST_YYSTYPE *value, src_range *at, ast_parser *ps);

static src_range here(const ast_parser *ps, uint32_t offset) {
    return ast_range(ps, offset, offset);
}

// Measures the blanks before `offset` on its line.
static indent_level measure(const ast_parser *ps, uint32_t offset) {
    const char *text = ps->text.data;
    uint32_t begin = offset;
    while (begin > ps->begin &&
           (text[begin - 1] == ' ' || text[begin - 1] == '\t' || text[begin - 1] == '\f'))
        begin--;
    indent_level level = {0, 0, false};
    for (uint32_t i = begin; i < offset; i++) {
        if (text[i] == '\f') {
            level = (indent_level){0, 0, false};
            continue;
        }
        level.column = text[i] == '\t' ? (level.column / 8 + 1) * 8 : level.column + 1;
        level.tabless++;
    }
    return level;
}

// --- brackets

static char closer_of(char open) { return open == '(' ? ')' : open == '[' ? ']' : '}'; }

static void report_never_closed(ast_parser *ps) {
    if (ps->line_had_error) // a string that is not closed has swallowed the bracket's end
        return;
    open_bracket b = ps->brackets[ps->num_brackets - 1];
    ast_report(ps, ast_range(ps, b.offset, b.offset + 1), "'%c' was never closed", b.kind);
}

// Keeps the stack of open brackets; gives the token to hand on, or 0 for one to skip.
static int match_bracket(ast_parser *ps, int token, src_range at) {
    if (token == '(' || token == '[' || token == '{') {
        if (ps->num_brackets == AST_MAX_BRACKETS)
            ast_give_up(ps, at, "brackets are nested too deeply", AST_MAX_BRACKETS);
        else
            ps->brackets[ps->num_brackets++] = (open_bracket){(char)token, at.begin};
        return token;
    }
    if (!ps->num_brackets) {
        if (!ps->line_had_error)
            ast_report(ps, at, "unmatched '%c'", token);
        return 0;
    }
    open_bracket b = ps->brackets[--ps->num_brackets];
    if (token != closer_of(b.kind)) {
        if (ast_report(ps, at, "'%c' does not close '%c'", token, b.kind))
            diag_note(ps->diag, ast_range(ps, b.offset, b.offset + 1), "'%c' was opened here",
                      b.kind);
    }
    return closer_of(b.kind);
}

// Is the innermost open bracket closed before another statement starts? Looks a good way ahead, but
// not to the end of a file in which every line has the mistake.
static bool is_closed_later(const ast_parser *ps) {
    enum { FAR_AHEAD = 1 << 16 };
    uint32_t left = ps->end - ps->offset, end = ps->offset + (left < FAR_AHEAD ? left : FAR_AHEAD);
    sv text = {ps->text.data, end};
    int depth = 1;
    for (uint32_t i = ps->offset; i < end;) {
        char c = text.data[i];
        depth += c == '(' || c == '[' || c == '{';
        depth -= c == ')' || c == ']' || c == '}';
        if (depth == 0)
            return true;
        if ((c == '\n' || c == '\r') && ast_statement_follows(text, i))
            return false;
        i = ast_skip_text(text, i);
    }
    return false;
}

// Does `offset` start a line that is no deeper than the statement it seems to go on with?
static bool starts_like_statement(const ast_parser *ps, uint32_t offset) {
    uint32_t begin = offset;
    while (begin > ps->begin && strchr(" \t\f", ps->text.data[begin - 1]))
        begin--;
    bool starts_line = begin > ps->begin && strchr("\r\n", ps->text.data[begin - 1]);
    return starts_line && measure(ps, offset).column <= ps->levels[ps->num_levels - 1].column;
}

bool ast_report_open_bracket(ast_parser *ps, src_range found) {
    if (!ps->num_brackets || ps->one_expression)
        return false;
    if (is_closed_later(ps) && !starts_like_statement(ps, found.begin))
        return false;
    report_never_closed(ps);
    ps->num_brackets = 0; // so that the recovery finds the end of this line
    return true;
}

// --- indentation

static void check_tabs(ast_parser *ps, src_range at, bool agree) {
    if (!agree && !ps->tabs_reported) {
        ast_report(ps, at, "inconsistent use of tabs and spaces in indentation");
        ps->tabs_reported = true;
    }
}

static int deeper(ast_parser *ps, indent_level level, src_range at) {
    level.silent = !ps->block_expected;
    if (level.silent && !ps->line_had_error)
        ast_report(ps, at, "unexpected indent");
    if (ps->num_levels > AST_MAX_INDENT) {
        ast_give_up(ps, at, "blocks are nested too deeply", AST_MAX_INDENT);
        return 0;
    }
    ps->levels[ps->num_levels++] = level;
    return level.silent ? 0 : TOK_INDENT;
}

// A line between two levels is read as one of the deeper block, which goes on at its column.
static int shallower(ast_parser *ps, indent_level level, src_range at) {
    while (level.column < ps->levels[ps->num_levels - 1].column) {
        if (level.column > ps->levels[ps->num_levels - 2].column) {
            ast_report(ps, at, "unindent does not match any outer level");
            level.silent = ps->levels[ps->num_levels - 1].silent;
            ps->levels[ps->num_levels - 1] = level;
            break;
        }
        ps->pending_dedents += !ps->levels[--ps->num_levels].silent;
    }
    if (!ps->pending_dedents)
        return 0;
    ps->pending_dedents--;
    return TOK_DEDENT;
}

// A block of a Python file is at the top level, at whatever column it stands: the header above it,
// an `if` perhaps, is blank now.
static int enter_host_block(ast_parser *ps, src_range token) {
    while (ps->num_levels > 1)
        ps->pending_dedents += !ps->levels[--ps->num_levels].silent;
    ps->levels[0] = measure(ps, token.begin);
    if (!ps->pending_dedents)
        return 0;
    ps->pending_dedents--;
    return TOK_DEDENT;
}

// Compares the first token of a line with the open blocks; gives INDENT, DEDENT or 0.
static int indentation(ast_parser *ps, src_range token) {
    while (ps->next_block < ps->host_blocks.len &&
           ps->host_blocks.data[ps->next_block] < token.begin)
        ps->next_block++;
    if (ps->next_block < ps->host_blocks.len && ps->host_blocks.data[ps->next_block] == token.begin)
        return enter_host_block(ps, token);
    indent_level level = measure(ps, token.begin), top = ps->levels[ps->num_levels - 1];
    src_range at = here(ps, token.begin);
    uint32_t errors = ps->num_errors;
    int result = 0;
    if (level.column > top.column) {
        check_tabs(ps, at, level.tabless > top.tabless);
        result = deeper(ps, level, at);
    } else {
        if (level.column < top.column)
            result = shallower(ps, level, at);
        check_tabs(ps, at, level.tabless == ps->levels[ps->num_levels - 1].tabless);
    }
    ps->line_had_error = ps->num_errors != errors;
    return result;
}

// --- tokens

static bool starts_block(int token) {
    static const int headers[] = {TOK_CLASS, TOK_DEF,     TOK_ELIF, TOK_ELSE, TOK_EXCEPT,
                                  TOK_FOR,   TOK_IF,      TOK_TRY,  TOK_WITH, TOK_WHILE,
                                  TOK_MATCH, TOK_FINALLY, TOK_CASE};
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
        if (token == headers[i])
            return true;
    return false;
}

// NEWLINE; or first the ':' that a header forgot, without width, which ast_check_colon reports.
// So the block below is read as it was meant.
static int end_line(ast_parser *ps, src_range *at) {
    if (starts_block(ps->first_token) && !ps->has_colon) {
        ps->has_colon = ps->newline_pending = true;
        ps->last_token = ':';
        *at = here(ps, ps->last_end);
        return ':';
    }
    ps->newline_pending = false;
    ps->at_line_start = true;
    ps->block_expected = ps->last_token == ':';
    *at = here(ps, ps->last_end);
    return TOK_NEWLINE;
}

static int end_of_part(ast_parser *ps, src_range *at) {
    *at = here(ps, ps->at_line_start ? at->begin : ps->last_end);
    if (ps->one_expression)
        return 0;
    if (ps->num_brackets && !ps->gave_up)
        report_never_closed(ps);
    ps->num_brackets = 0;
    if (!ps->at_line_start)
        return end_line(ps, at);
    while (ps->num_levels > 1)
        if (!ps->levels[--ps->num_levels].silent)
            return TOK_DEDENT;
    return 0;
}

// A line end inside brackets: gives NEWLINE if a bracket was forgotten, which a word shows that
// cannot stand inside an expression.
static int line_end_in_brackets(ast_parser *ps, src_range *at) {
    sv text = {ps->text.data, ps->end};
    if (!ast_statement_follows(text, at->begin))
        return 0;
    report_never_closed(ps);
    ps->num_brackets = 0;
    return end_line(ps, at);
}

// In a Python file only marked functions and imports must be readable.
static bool may_be_anything(const ast_parser *ps, int token) {
    bool is_marked = token == '@' || (token == TOK_DEF && ps->after_decorator);
    return !is_marked && token != TOK_IMPORT && token != TOK_FROM;
}

// Is the last character of the line that matters a ':'?
static bool line_ends_in_colon(sv text, uint32_t i) {
    char last = 0;
    while (i < text.len && !strchr("\r\n#", text.data[i])) {
        last = strchr(" \t\f", text.data[i]) ? last : text.data[i];
        i = ast_skip_text(text, i);
    }
    return last == ':';
}

// match, case and type are names, except where a statement begins with them: another word or a
// literal follows, or what could be an operand if the line were not a header.
static int soft_keyword(const ast_parser *ps, src_range at) {
    static const struct {
        const char *word;
        int token;
    } words[] = {{"match", TOK_MATCH}, {"case", TOK_CASE}, {"type", TOK_TYPE}};
    static const char *const operators[] = {"and", "as", "if",  "in", "is",
                                            "not", "or", "for", NULL};
    sv word = ast_source(ps, at), text = {ps->text.data, ps->end};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (!sv_is(word, words[i].word))
            continue;
        uint32_t next = at.end;
        while (next < text.len && strchr(" \t\f", text.data[next]))
            next++;
        char c = next < text.len ? text.data[next] : 0;
        bool is_operand = ast_is_word(c) || c == '"' || c == '\'';
        bool is_either = c && strchr("([{-+~*", c);
        if (is_operand ? !ast_word_is_one_of(text, next, operators)
                       : is_either && line_ends_in_colon(text, next))
            return words[i].token;
    }
    return TOK_NAME;
}

static int finish_token(ast_parser *ps, int token, src_range at) {
    ps->last_token = token;
    ps->has_colon |= token == ':' && !ps->num_brackets;
    ps->last_end = at.end;
    return token;
}

// The first token of a line, with the INDENT or DEDENT that comes before it.
static int start_line(ast_parser *ps, int token, AST_YYSTYPE *value, src_range *at) {
    if (token == TOK_NAME)
        token = soft_keyword(ps, *at);
    ps->at_line_start = false;
    ps->first_token = token;
    ps->has_colon = false;
    int change = indentation(ps, *at);
    if (ps->num_levels == 1 && ps->python_host) {
        VEC_PUSH(ps->arena, ps->top_lines,
                 ((top_line){at->begin, may_be_anything(ps, token), false}));
        ps->after_decorator = token == '@';
    }
    if (!change)
        return finish_token(ps, token, *at);
    *ps->held = (held_token){token, *value, *at};
    ps->has_held = true;
    *at = here(ps, at->begin);
    return change;
}

int ast_yylex(AST_YYSTYPE *value, src_range *at, ast_parser *ps) {
    if (!ps->started) {
        ps->started = true;
        *at = here(ps, ps->begin);
        if (ps->one_expression)
            return TOK_EXPRESSION;
    }
    if (ps->has_held && !ps->gave_up) {
        *at = ps->held->at;
        if (ps->pending_dedents) {
            ps->pending_dedents--;
            *at = here(ps, at->begin);
            return TOK_DEDENT;
        }
        *value = ps->held->value;
        ps->has_held = false;
        return finish_token(ps, ps->held->token, *at);
    }
    if (ps->newline_pending)
        return end_line(ps, at);
    for (;;) {
        int token = ps->gave_up ? 0 : ast_scan(value, at, ps->scanner);
        if (token == 0)
            return end_of_part(ps, at);
        if (token == TOK_NEWLINE) {
            if (ps->at_line_start || ps->one_expression)
                continue;
            token = ps->num_brackets ? line_end_in_brackets(ps, at) : end_line(ps, at);
            if (token)
                return token;
            continue;
        }
        if (token < 128) { // a character of its own
            if (strchr("()[]{}", token) && !(token = match_bracket(ps, token, *at)))
                continue;
        }
        if (ps->at_line_start)
            return start_line(ps, token, value, at);
        return finish_token(ps, token, *at);
    }
}

// --- entry

static bool run(ast_parser *ps) {
    uint32_t size = ps->end - ps->begin;
    char *buffer = arena_alloc(ps->arena, (size_t)size + 2); // the scanner wants two NULs behind
    memcpy(buffer, ps->text.data + ps->begin, size);
    if (ps->python_host && !ps->one_expression)
        ast_blank_host_code(ps, buffer - ps->begin);
    ps->offset = ps->begin;
    ps->num_levels = 1;
    ps->at_line_start = !ps->one_expression;
    ps->held = ARENA_NEW(ps->arena, held_token);
    ast_scanner_open(ps, buffer, size);
    int status = ast_yyparse(ps);
    ast_scanner_close(ps);
    return status == 0;
}

ast_expr *ast_parse_expression(ast_parser *outer, uint32_t begin, uint32_t end) {
    ast_parser *ps = ARENA_NEW(outer->arena, ast_parser);
    ps->arena = outer->arena;
    ps->diag = outer->diag;
    ps->file = outer->file;
    ps->text = outer->text;
    ps->begin = begin;
    ps->end = end;
    ps->one_expression = true;
    ps->outer = outer;
    bool ok = run(ps);
    outer->line_had_error |= ps->line_had_error;
    return ok && !ps->line_had_error ? ps->expr : NULL;
}

// The offset of the first byte that cannot be in a source file; text.len if there is none.
static size_t find_bad_byte(sv text) {
    for (size_t i = 0; i < text.len;) {
        unsigned char c = (unsigned char)text.data[i];
        unsigned len = c < 0x80 ? 1 : c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
        if (c == 0 || (c >= 0x80 && c < 0xC2) || c > 0xF4 || text.len - i < len)
            return i;
        unsigned char second = len > 1 ? (unsigned char)text.data[i + 1] : 0;
        if ((c == 0xE0 && second < 0xA0) || (c == 0xED && second > 0x9F) ||
            (c == 0xF0 && second < 0x90) || (c == 0xF4 && second > 0x8F))
            return i;
        for (unsigned k = 1; k < len; k++)
            if (((unsigned char)text.data[i + k] & 0xC0) != 0x80)
                return i;
        i += len;
    }
    return text.len;
}

static bool is_readable(ast_parser *ps) {
    if (ps->text.len > SOURCE_MAX_BYTES) {
        ast_report(ps, ast_range(ps, 0, 0), "the file is larger than 16 MiB");
        return false;
    }
    size_t bad = find_bad_byte(ps->text);
    if (bad == ps->text.len)
        return true;
    unsigned char c = (unsigned char)ps->text.data[bad];
    src_range at = ast_range(ps, (uint32_t)bad, (uint32_t)bad + 1);
    if (c == 0)
        ast_report(ps, at, "the source contains a NUL byte");
    else
        ast_report(ps, at, "the source is not valid UTF-8 (byte 0x%02x)", c);
    return false;
}

ast_module *ast_parse(arena *a, diag *d, uint32_t file, bool python_host) {
    ast_parser *ps = ARENA_NEW(a, ast_parser);
    ps->arena = a;
    ps->diag = d;
    ps->file = file;
    ps->text = diag_file_text(d, file);
    ps->python_host = python_host;
    ps->module = ARENA_NEW(a, ast_module);
    ps->module->file = file;
    ps->module->names.arena = a;
    if (!is_readable(ps))
        return ps->module;
    ps->begin = sv_starts_with(ps->text, "\xEF\xBB\xBF") ? 3 : 0; // a byte order mark
    ps->end = (uint32_t)ps->text.len;
    run(ps);
    return ps->module;
}
