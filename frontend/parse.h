// The parser's inside, shared by lexer.l (tokens), indent.c (lines and blocks between scanner and
// parser), host_code.c (what of a .py file is not ours), parser.y (the grammar), literal.c (numbers
// and strings) and ast.c (the nodes). Nothing outside these files includes it.
#ifndef TILE_FRONTEND_PARSE_H
#define TILE_FRONTEND_PARSE_H

#include "frontend/ast.h"

/// One level of indentation. A silent one was opened by a mistake that is already reported: it has
/// no INDENT and no DEDENT.
typedef struct indent_level {
    uint32_t column;  ///< with tab stops at every 8 columns
    uint32_t tabless; ///< with a tab counted as one column: both must agree on what is deeper
    bool silent;
} indent_level;

typedef struct open_bracket {
    char kind;
    uint32_t offset;
} open_bracket;

/// A line at the top level of a .py file, with the block below it. It may be anything, if it is no
/// marked function and no import; then mistakes in it are not reported, and it is dropped.
typedef struct top_line {
    uint32_t begin;
    bool may_be_anything;
    bool is_bad;
} top_line;

/// Reading of one file, or of one expression inside an f-string.
typedef struct ast_parser {
    arena *arena;
    diag *diag;
    uint32_t file;
    sv text;             ///< of the whole file
    uint32_t begin, end; ///< the part of it that is read
    bool python_host;    ///< a .py file
    bool one_expression; ///< the part is an expression of an f-string
    ast_module *module;  ///< the result for a file
    ast_expr *expr;      ///< the result for an expression

    // lexer.l
    void *scanner;
    uint32_t offset; ///< of the next character to be read

    // indent.c
    indent_level levels[AST_MAX_INDENT + 1];
    uint32_t num_levels;
    open_bracket brackets[AST_MAX_BRACKETS];
    uint32_t num_brackets;
    uint32_t pending_dedents;
    bool started;
    bool at_line_start;
    int first_token, last_token; ///< of the logical line
    bool has_colon;              ///< the logical line has a ':' outside brackets
    bool newline_pending;        ///< a ':' was put in before NEWLINE
    bool block_expected;         ///< the line before ended in ':'
    uint32_t last_end;           ///< where the last token of the line ended
    struct held_token *held;     ///< a token that waits behind INDENT or DEDENT
    bool has_held;
    bool after_decorator; ///< the last top-level line was one

    // host_code.c
    struct {
        uint32_t *data;
        uint32_t len, cap;
    } host_blocks;       ///< where the blocks of a .py file begin that are kept
    uint32_t next_block; ///< the first of them that was not reached

    // errors
    struct ast_parser *outer; ///< of an expression: who reads the f-string
    struct {
        top_line *data;
        uint32_t len, cap;
    } top_lines;         ///< of a .py file
    bool line_had_error; ///< something was reported on the current line
    uint32_t num_nodes, num_errors;
    bool gave_up; ///< a limit was passed: the rest of the file is not read
    bool too_deep_reported, tabs_reported;
} ast_parser;

typedef struct ast_params {
    ast_param *data;
    uint32_t len, cap;
    bool keyword_only; ///< a '*' was seen
} ast_params;

typedef struct ast_imports {
    ast_import *data;
    uint32_t len, cap;
} ast_imports;

/// Arguments of a call, as they are read.
typedef struct ast_call_args {
    ast_exprs items;
    struct {
        ast_keyword *data;
        uint32_t len, cap;
    } keywords;
} ast_call_args;

// --- ast.c
/// Reports an error, unless it is in a top-level line that may be anything (which is marked as bad)
/// or reading has been given up. Says whether it did.
bool ast_report(ast_parser *ps, src_range at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/// Reports that a limit is passed; the rest of the file is not read.
void ast_give_up(ast_parser *ps, src_range at, const char *why, unsigned limit);
src_range ast_range(const ast_parser *ps, uint32_t begin, uint32_t end);
sv ast_source(const ast_parser *ps, src_range r);
/// Enters a name of the text into the module's list.
void ast_note_name(ast_parser *ps, src_range at);

ast_exprs ast_list(ast_parser *ps, ast_exprs list, ast_expr *e);
ast_exprs ast_pair(ast_parser *ps, ast_exprs list, ast_expr *key, ast_expr *e);
ast_expr *ast_constant(ast_parser *ps, src_range r, ast_expr_kind kind, bool value);
ast_expr *ast_name(ast_parser *ps, src_range r);
/// What is between parentheses, or a bare list: a tuple, unless it is one item without a comma.
ast_expr *ast_group(ast_parser *ps, src_range r, ast_exprs items, bool comma);
ast_expr *ast_display(ast_parser *ps, src_range r, ast_exprs items);
ast_expr *ast_attribute(ast_parser *ps, src_range r, ast_expr *left, src_range name);
ast_expr *ast_subscript(ast_parser *ps, src_range r, ast_expr *left, ast_exprs items);
ast_expr *ast_slice(ast_parser *ps, src_range r, ast_expr *lower, ast_expr *upper, ast_expr *step);
ast_expr *ast_call(ast_parser *ps, src_range r, ast_expr *callee, ast_call_args *args);
ast_call_args *ast_args(ast_parser *ps);
ast_call_args *ast_positional(ast_parser *ps, ast_call_args *args, ast_expr *e);
ast_call_args *ast_keyword_arg(ast_parser *ps, ast_call_args *args, src_range r, src_range name,
                               ast_expr *e);
ast_expr *ast_unary(ast_parser *ps, src_range r, ast_op op, src_range op_at, ast_expr *e);
ast_expr *ast_binary(ast_parser *ps, src_range r, ast_op op, src_range op_at, ast_expr *left,
                     ast_expr *right);
ast_expr *ast_boolop(ast_parser *ps, src_range r, ast_op op, src_range op_at, ast_exprs items);
ast_expr *ast_compare(ast_parser *ps, src_range r, ast_expr *left, ast_op op, src_range op_at,
                      ast_expr *right);
/// Adds one more comparison to a chain.
ast_expr *ast_compare_more(ast_parser *ps, src_range r, ast_expr *chain, ast_op op,
                           ast_expr *right);
ast_expr *ast_ternary(ast_parser *ps, src_range r, ast_expr *then, ast_expr *cond, ast_expr *other);
ast_expr *ast_starred(ast_parser *ps, src_range r, ast_expr *e);
ast_expr *ast_named(ast_parser *ps, src_range r, src_range name, ast_expr *e);
/// *pointee; `word` is the range of "const" or "k" before it, if any.
ast_expr *ast_pointer(ast_parser *ps, src_range r, src_range word, ast_expr *pointee);
/// A construct that is read and then refused by lower. Its parts are kept for those who read
/// decorators: a dict's keys and values in turn, a lambda's body.
ast_expr *ast_refused(ast_parser *ps, src_range r, const char *what, ast_expr *body);
ast_expr *ast_refused_items(ast_parser *ps, src_range r, const char *what, ast_exprs items);

ast_block ast_append(ast_parser *ps, ast_block block, ast_stmt *s);
ast_block ast_concat(ast_parser *ps, ast_block block, ast_block more);
ast_stmt *ast_simple(ast_parser *ps, src_range r, ast_stmt_kind kind, ast_expr *value,
                     ast_expr *message);
/// targets... = value, all in one list.
ast_stmt *ast_assign(ast_parser *ps, src_range r, ast_exprs chain);
ast_stmt *ast_annotated(ast_parser *ps, src_range r, ast_expr *target, ast_expr *annotation,
                        ast_expr *value);
ast_stmt *ast_augmented(ast_parser *ps, src_range r, ast_expr *target, ast_op op, ast_expr *value);
/// `elifs` are STMT_IFs of their own, which become each other's else.
ast_stmt *ast_if(ast_parser *ps, src_range head, ast_expr *cond, ast_block body, ast_block elifs,
                 ast_block orelse);
ast_stmt *ast_elif(ast_parser *ps, src_range head, ast_expr *cond, ast_block body);
ast_stmt *ast_loop(ast_parser *ps, src_range head, ast_stmt_kind kind, ast_expr *target,
                   ast_expr *value, ast_block body, ast_block orelse);
/// Reports the ':' of a block if it is one that indent.c had to put in.
void ast_check_colon(ast_parser *ps, src_range colon);
ast_stmt *ast_refused_stmt(ast_parser *ps, src_range r, const char *what);
ast_stmt *ast_import_stmt(ast_parser *ps, src_range r, ast_imports list);
/// "a.b" and "c" give "a.b.c".
sv ast_dotted(ast_parser *ps, sv path, src_range name);
ast_imports ast_import_push(ast_parser *ps, ast_imports list, src_range r, sv path, sv name,
                            src_range alias);
/// Gives all imports of a `from` their module; `dots` is the range of the leading dots.
ast_imports ast_import_from(ast_parser *ps, ast_imports list, src_range dots, sv path);
ast_params ast_param_push(ast_parser *ps, ast_params list, ast_param p);
ast_param ast_param_make(ast_parser *ps, src_range name, ast_expr *annotation, ast_expr *value);
ast_param ast_param_star(ast_parser *ps, src_range r, unsigned stars, src_range name,
                         ast_expr *annotation);
ast_stmt *ast_def(ast_parser *ps, src_range name, ast_params params, ast_expr *returns,
                  ast_block body);
ast_stmt *ast_decorate(ast_parser *ps, ast_exprs decorators, ast_stmt *s);
/// Sorts the statements of a file into functions, imports and constants.
void ast_finish_module(ast_parser *ps, ast_block block);

// --- literal.c
ast_expr *ast_number(ast_parser *ps, src_range r);
/// One string literal with its prefix and quotes.
ast_expr *ast_string(ast_parser *ps, src_range r);
/// Adjacent literals, joined.
ast_expr *ast_strings(ast_parser *ps, src_range r, ast_exprs parts);

// --- indent.c
/// Parses text[begin, end) as one expression; NULL after an error.
ast_expr *ast_parse_expression(ast_parser *outer, uint32_t begin, uint32_t end);
/// Called at a syntax error: reports the innermost open bracket if that is what is wrong, as it is
/// never closed, or as `found` starts a line that looks like the next statement.
bool ast_report_open_bracket(ast_parser *ps, src_range found);

// --- host_code.c
/// Overwrites with spaces what of a Python file is neither a jit function, an import, nor a
/// plain assignment, and lists where what is left begins in ps->host_blocks. In a file without
/// jit functions, those without decorators are kept. `buffer` is a copy of the text.
void ast_blank_host_code(ast_parser *ps, char *buffer);
/// The offset after the comment, the string or the single character that starts at i.
uint32_t ast_skip_text(sv text, uint32_t i);
/// Whether a character can be part of a name, and whether the name at i is in a list that ends in
/// NULL.
bool ast_is_word(char c);
bool ast_word_is_one_of(sv text, uint32_t i, const char *const *list);
/// Does the line after the line end at i begin with a word that starts a statement, and cannot
/// stand inside an expression?
bool ast_statement_follows(sv text, uint32_t i);

// --- lexer.l
void ast_scanner_open(ast_parser *ps, char *buffer, size_t size);
void ast_scanner_close(ast_parser *ps);

#endif
