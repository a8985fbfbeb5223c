// The syntax tree of a .tile file: what the text says, before any meaning. Nodes live in an arena
// and do not change once made. parser.y builds them through the ast_* functions here and nothing
// else; lower.c and lower_expr.c walk them once per specialization.
#ifndef TILE_FRONTEND_AST_H
#define TILE_FRONTEND_AST_H

#include "support/arena.h"
#include "support/diag.h"
#include "support/names.h"
#include "support/text.h"

enum {
    AST_MAX_DEPTH = 250,   ///< nodes of an expression from the root to a leaf
    AST_MAX_INDENT = 100,  ///< blocks inside each other
    AST_MAX_ELIF = 200,    ///< elif branches of one if
    AST_MAX_BRACKETS = 200 ///< open brackets
};

typedef struct ast_expr ast_expr;
typedef struct ast_stmt ast_stmt;
typedef struct ast_func ast_func;
typedef struct ast_import ast_import;

typedef struct ast_exprs {
    ast_expr **data;
    uint32_t len, cap;
} ast_exprs;

typedef struct ast_block {
    ast_stmt **data;
    uint32_t len, cap;
} ast_block;

typedef enum ast_expr_kind {
    EXPR_NONE,        ///< None
    EXPR_BOOL,        ///< True, False: bool_value
    EXPR_INT,         ///< int_value; int_overflow if it does not fit 64 bits unsigned
    EXPR_FLOAT,       ///< float_value
    EXPR_STRING,      ///< str (escapes resolved, adjacent literals joined)
    EXPR_FSTRING,     ///< items: strings and expressions, in order
    EXPR_NAME,        ///< name
    EXPR_TUPLE,       ///< items; also a parenthesized or bare list
    EXPR_LIST,        ///< items, in brackets
    EXPR_ATTRIBUTE,   ///< left.name
    EXPR_SUBSCRIPT,   ///< left[items]; one item per comma-separated index
    EXPR_SLICE,       ///< lower:upper:step inside a subscript: items[0..2], each may be NULL
    EXPR_CALL,        ///< left(items, args)
    EXPR_UNARY,       ///< op left
    EXPR_BINARY,      ///< left op right
    EXPR_BOOLOP,      ///< items joined by `and` or `or` (op)
    EXPR_COMPARE,     ///< left ops[i] items[i] ...: a chain
    EXPR_TERNARY,     ///< left if cond else right
    EXPR_STARRED,     ///< *left, in a call or a display
    EXPR_POINTER,     ///< in an annotation: *left, *const left, *k left; name: the text of left
    EXPR_NAMED,       ///< (name := left)
    EXPR_UNSUPPORTED, ///< a construct we parse and refuse: name says which ("lambda", ...)
} ast_expr_kind;

// clang-format off
typedef enum ast_op {
    AST_ADD, AST_SUB, AST_MUL, AST_DIV, AST_FLOORDIV, AST_MOD, AST_POW, AST_MATMUL,
    AST_LSHIFT, AST_RSHIFT, AST_BITAND, AST_BITOR, AST_BITXOR,
    AST_EQ, AST_NE, AST_LT, AST_LE, AST_GT, AST_GE, AST_IS, AST_IS_NOT, AST_IN, AST_NOT_IN,
    AST_NEG, AST_POS, AST_INVERT, AST_NOT, AST_AND, AST_OR,
    AST_OP_COUNT
} ast_op;
// clang-format on

/// "+", "//", "is not", …: as written in the source.
const char *ast_op_text(ast_op op);

/// name = value in a call; name is empty for a **value.
typedef struct ast_keyword {
    sv name;
    ast_expr *value;
    src_range range;
} ast_keyword;

struct ast_expr {
    ast_expr_kind kind;
    uint16_t depth; ///< of the tree below, 1 for a leaf
    src_range range;
    src_range op_range; ///< of the operator, name after '.', or keyword; SRC_NONE if none
    ast_op op;
    bool bool_value, int_overflow, pointer_const;
    uint64_t int_value;
    double float_value;
    sv name, str;
    ast_expr *left, *right, *cond;
    ast_exprs items;
    ast_op *ops; ///< of a COMPARE, one per item
    ast_keyword *keywords;
    uint32_t num_keywords;
};

typedef enum ast_stmt_kind {
    STMT_EXPR,      ///< value
    STMT_ASSIGN,    ///< targets[0] = value; more targets: a = b = value; annotation may be set,
                    ///< value may be NULL then
    STMT_AUGASSIGN, ///< targets[0] op= value
    STMT_IF,        ///< value; body; orelse (elif is an if in orelse)
    STMT_FOR,       ///< for targets[0] in value: body (orelse if for-else, refused)
    STMT_WHILE,     ///< while value: body (orelse: refused)
    STMT_RETURN,    ///< value may be NULL
    STMT_PASS,
    STMT_ASSERT, ///< value, message (may be NULL)
    STMT_BREAK,
    STMT_CONTINUE,
    STMT_IMPORT,      ///< inside a function: refused; imports
    STMT_DEF,         ///< nested function: refused; func
    STMT_UNSUPPORTED, ///< name says which: "with", "try", "class", "del", "global", "raise", …
} ast_stmt_kind;

struct ast_stmt {
    ast_stmt_kind kind;
    src_range range; ///< of the whole statement; for compound ones, of the header line
    ast_op op;
    ast_exprs targets;
    ast_expr *annotation, *value, *message;
    ast_block body, orelse;
    sv name;
    ast_func *func;      ///< of a DEF
    ast_import *imports; ///< of an IMPORT
    uint32_t num_imports;
};

typedef struct ast_param {
    sv name;
    src_range range;
    ast_expr *annotation;    ///< NULL if none
    ast_expr *default_value; ///< NULL if none
    bool is_vararg;          ///< *args
    bool is_kwarg;           ///< **kwargs (refused by lower)
    bool keyword_only;       ///< after a bare *
} ast_param;

struct ast_func {
    sv name;
    src_range range; ///< of `name` in the def line
    ast_param *params;
    uint32_t num_params;
    ast_expr *returns;    ///< annotation after ->, or NULL
    ast_exprs decorators; ///< expressions after '@'
    ast_block body;
};

/// import path [as alias] · from [.]path import name [as alias]. One node per imported name.
struct ast_import {
    sv path;       ///< "triton.language", "utils"
    unsigned dots; ///< leading dots of a relative import
    sv name;       ///< imported name; empty for a plain import; "*" for all
    sv alias;      ///< the name it gets; empty if none was given
    src_range range;
};

/// NAME = expression at the top level.
typedef struct ast_global {
    sv name;
    ast_expr *annotation; ///< or NULL
    ast_expr *value;
    src_range range;
} ast_global;

typedef enum ast_item_kind { ITEM_FUNC, ITEM_IMPORT, ITEM_GLOBAL } ast_item_kind;

/// A top-level item, in source order.
typedef struct ast_item {
    ast_item_kind kind;
    union {
        ast_func *func;
        ast_import *import;
        ast_global *global;
    };
} ast_item;

typedef struct ast_module {
    uint32_t file;
    ast_item *items;
    uint32_t num_items, cap_items;
    name_map names; ///< every name that stands in the text, to know what it may ask for
} ast_module;

/// Parses a file registered in the diag. Reports errors there and gives what could be read, never
/// NULL. `python_host`: the file is a .py: top-level code other than functions, imports and plain
/// assignments is skipped without a word.
ast_module *ast_parse(arena *a, diag *d, uint32_t file, bool python_host);

/// Prints the tree as indented text, for --emit=ast and tests.
void ast_print(const ast_module *m, strbuf *out);

#endif
