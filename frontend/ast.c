// Building the syntax tree: one function per grammar action. Here also live the rules of syntax
// that a grammar cannot say well: what may be assigned to, the order of parameters and arguments,
// how deep a tree may be, what may stand at the top level of a file.
#include "frontend/parse.h"

#include <stdlib.h>

enum {
    MAX_PARAMS = 1000,
    MAX_NODES = 1 << 20,  ///< expressions and statements of one file
    MAX_DOTTED = 1 << 10, ///< bytes of a module's dotted name
};

// The top-level line that a position of a .py file belongs to; NULL in other files. Nodes are made
// at the end of what they stand for, so it need not be the last one.
static top_line *find_top_line(ast_parser *ps, uint32_t offset) {
    while (ps->outer)
        ps = ps->outer;
    uint32_t low = 0, high = ps->top_lines.len; // the first line that begins behind it
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (ps->top_lines.data[mid].begin <= offset)
            low = mid + 1;
        else
            high = mid;
    }
    return low ? &ps->top_lines.data[low - 1] : NULL;
}

bool ast_report(ast_parser *ps, src_range at, const char *fmt, ...) {
    ps->line_had_error = true;
    top_line *line = find_top_line(ps, at.begin);
    if (line && line->may_be_anything)
        line->is_bad = true;
    if (ps->gave_up || (line && line->is_bad))
        return false;
    strbuf text;
    strbuf_init(&text, ps->arena);
    va_list args;
    va_start(args, fmt);
    strbuf_vprintf(&text, fmt, args);
    va_end(args);
    diag_error(ps->diag, at, "%s", strbuf_view(&text).data);
    ps->num_errors++;
    ps->gave_up |= diag_is_full(ps->diag); // what is no kernel at all is not read to its end
    return true;
}

void ast_give_up(ast_parser *ps, src_range at, const char *why, unsigned limit) {
    if (!ps->gave_up)
        diag_error(ps->diag, at, "%s (more than %u)", why, limit);
    ps->gave_up = ps->line_had_error = true;
}

src_range ast_range(const ast_parser *ps, uint32_t begin, uint32_t end) {
    return (src_range){ps->file, begin, end};
}

sv ast_source(const ast_parser *ps, src_range r) {
    return (sv){ps->text.data + r.begin, r.end - r.begin};
}

void ast_note_name(ast_parser *ps, src_range at) {
    sv name = ast_source(ps, at);
    while (ps->outer)
        ps = ps->outer;
    name_map_set(&ps->module->names, name, 0);
}

const char *ast_op_text(ast_op op) {
    static const char *const texts[] = {
        [AST_ADD] = "+",         [AST_SUB] = "-",     [AST_MUL] = "*",         [AST_DIV] = "/",
        [AST_FLOORDIV] = "//",   [AST_MOD] = "%",     [AST_POW] = "**",        [AST_MATMUL] = "@",
        [AST_LSHIFT] = "<<",     [AST_RSHIFT] = ">>", [AST_BITAND] = "&",      [AST_BITOR] = "|",
        [AST_BITXOR] = "^",      [AST_EQ] = "==",     [AST_NE] = "!=",         [AST_LT] = "<",
        [AST_LE] = "<=",         [AST_GT] = ">",      [AST_GE] = ">=",         [AST_IS] = "is",
        [AST_IS_NOT] = "is not", [AST_IN] = "in",     [AST_NOT_IN] = "not in", [AST_NEG] = "-",
        [AST_POS] = "+",         [AST_INVERT] = "~",  [AST_NOT] = "not",       [AST_AND] = "and",
        [AST_OR] = "or",
    };
    _Static_assert(sizeof(texts) / sizeof(texts[0]) == AST_OP_COUNT, "one text per operator");
    return (unsigned)op < AST_OP_COUNT ? texts[op] : "?";
}

// --- expressions

static void count_node(ast_parser *ps, src_range r) {
    if (++ps->num_nodes == MAX_NODES)
        ast_give_up(ps, r, "the file has too many expressions and statements", MAX_NODES);
}

static ast_expr *new_expr(ast_parser *ps, ast_expr_kind kind, src_range r) {
    count_node(ps, r);
    ast_expr *e = ARENA_NEW(ps->arena, ast_expr);
    e->kind = kind;
    e->range = r;
    e->depth = 1;
    return e;
}

static void deepen(ast_expr *e, const ast_expr *child) {
    if (child && child->depth >= e->depth)
        e->depth = (uint16_t)(child->depth + 1);
}

// A tree that gets too deep is cut: the node becomes a leaf, and an error is reported once.
static ast_expr *finish(ast_parser *ps, ast_expr *e) {
    deepen(e, e->left);
    deepen(e, e->right);
    deepen(e, e->cond);
    for (uint32_t i = 0; i < e->items.len; i++)
        deepen(e, e->items.data[i]);
    for (uint32_t i = 0; i < e->num_keywords; i++)
        deepen(e, e->keywords[i].value);
    if (e->depth <= AST_MAX_DEPTH)
        return e;
    if (!ps->too_deep_reported)
        ast_report(ps, e->range, "the expression is nested too deeply (more than %d levels)",
                   AST_MAX_DEPTH);
    ps->too_deep_reported = true;
    return new_expr(ps, EXPR_NONE, e->range);
}

ast_exprs ast_list(ast_parser *ps, ast_exprs list, ast_expr *e) {
    VEC_PUSH(ps->arena, list, e);
    return list;
}

ast_exprs ast_pair(ast_parser *ps, ast_exprs list, ast_expr *key, ast_expr *e) {
    return ast_list(ps, ast_list(ps, list, key), e);
}

ast_expr *ast_constant(ast_parser *ps, src_range r, ast_expr_kind kind, bool value) {
    ast_expr *e = new_expr(ps, kind, r);
    e->bool_value = value;
    return e;
}

ast_expr *ast_name(ast_parser *ps, src_range r) {
    ast_expr *e = new_expr(ps, EXPR_NAME, r);
    e->name = ast_source(ps, r);
    return e;
}

static ast_expr *make_items(ast_parser *ps, src_range r, ast_expr_kind kind, ast_exprs items) {
    ast_expr *e = new_expr(ps, kind, r);
    e->items = items;
    return finish(ps, e);
}

ast_expr *ast_group(ast_parser *ps, src_range r, ast_exprs items, bool comma) {
    if (items.len != 1 || comma)
        return make_items(ps, r, EXPR_TUPLE, items);
    if (items.data[0]->kind == EXPR_STARRED)
        ast_report(ps, items.data[0]->range, "a starred expression must stand in a list");
    return items.data[0];
}

ast_expr *ast_display(ast_parser *ps, src_range r, ast_exprs items) {
    return make_items(ps, r, EXPR_LIST, items);
}

ast_expr *ast_attribute(ast_parser *ps, src_range r, ast_expr *left, src_range name) {
    ast_expr *e = new_expr(ps, EXPR_ATTRIBUTE, r);
    e->left = left;
    e->name = ast_source(ps, name);
    e->op_range = name;
    return finish(ps, e);
}

ast_expr *ast_subscript(ast_parser *ps, src_range r, ast_expr *left, ast_exprs items) {
    ast_expr *e = new_expr(ps, EXPR_SUBSCRIPT, r);
    e->left = left;
    e->items = items;
    return finish(ps, e);
}

ast_expr *ast_slice(ast_parser *ps, src_range r, ast_expr *lower, ast_expr *upper, ast_expr *step) {
    return make_items(ps, r, EXPR_SLICE,
                      ast_list(ps, ast_pair(ps, (ast_exprs){0}, lower, upper), step));
}

ast_expr *ast_call(ast_parser *ps, src_range r, ast_expr *callee, ast_call_args *args) {
    ast_expr *e = new_expr(ps, EXPR_CALL, r);
    e->left = callee;
    e->items = args->items;
    e->keywords = args->keywords.data;
    e->num_keywords = args->keywords.len;
    return finish(ps, e);
}

ast_call_args *ast_args(ast_parser *ps) { return ARENA_NEW(ps->arena, ast_call_args); }

ast_call_args *ast_positional(ast_parser *ps, ast_call_args *args, ast_expr *e) {
    if (args->keywords.len && e->kind != EXPR_STARRED)
        ast_report(ps, e->range, "a positional argument follows a keyword argument");
    args->items = ast_list(ps, args->items, e);
    return args;
}

ast_call_args *ast_keyword_arg(ast_parser *ps, ast_call_args *args, src_range r, src_range name,
                               ast_expr *e) {
    ast_keyword k = {.name = ast_source(ps, name), .value = e, .range = r};
    for (uint32_t i = 0; k.name.len && i < args->keywords.len && i < MAX_PARAMS; i++)
        if (sv_equal(args->keywords.data[i].name, k.name))
            ast_report(ps, name, "the argument '%" SV_FMT "' is given twice", SV_ARG(k.name));
    VEC_PUSH(ps->arena, args->keywords, k);
    return args;
}

ast_expr *ast_unary(ast_parser *ps, src_range r, ast_op op, src_range op_at, ast_expr *operand) {
    ast_expr *e = new_expr(ps, EXPR_UNARY, r);
    e->op = op;
    e->op_range = op_at;
    e->left = operand;
    return finish(ps, e);
}

ast_expr *ast_binary(ast_parser *ps, src_range r, ast_op op, src_range op_at, ast_expr *left,
                     ast_expr *right) {
    ast_expr *e = new_expr(ps, EXPR_BINARY, r);
    e->op = op;
    e->op_range = op_at;
    e->left = left;
    e->right = right;
    return finish(ps, e);
}

ast_expr *ast_boolop(ast_parser *ps, src_range r, ast_op op, src_range op_at, ast_exprs items) {
    ast_expr *e = new_expr(ps, EXPR_BOOLOP, r);
    e->op = op;
    e->op_range = op_at;
    e->items = items;
    return finish(ps, e);
}

ast_expr *ast_compare(ast_parser *ps, src_range r, ast_expr *left, ast_op op, src_range op_at,
                      ast_expr *right) {
    ast_expr *e = new_expr(ps, EXPR_COMPARE, r);
    e->op = op;
    e->op_range = op_at;
    e->left = left;
    return ast_compare_more(ps, r, e, op, right);
}

ast_expr *ast_compare_more(ast_parser *ps, src_range r, ast_expr *chain, ast_op op,
                           ast_expr *right) {
    if (chain->kind != EXPR_COMPARE) // it was cut
        return chain;
    struct {
        ast_op *data;
        uint32_t len, cap;
    } ops = {chain->ops, chain->items.len, chain->items.cap};
    VEC_PUSH(ps->arena, ops, op); // grows in step with items
    chain->ops = ops.data;
    chain->items = ast_list(ps, chain->items, right);
    chain->range = r;
    return chain->items.len == 1 || right->depth >= chain->depth ? finish(ps, chain) : chain;
}

ast_expr *ast_ternary(ast_parser *ps, src_range r, ast_expr *then, ast_expr *cond,
                      ast_expr *other) {
    ast_expr *e = new_expr(ps, EXPR_TERNARY, r);
    e->left = then;
    e->cond = cond;
    e->right = other;
    return finish(ps, e);
}

ast_expr *ast_starred(ast_parser *ps, src_range r, ast_expr *operand) {
    ast_expr *e = new_expr(ps, EXPR_STARRED, r);
    e->left = operand;
    return finish(ps, e);
}

ast_expr *ast_named(ast_parser *ps, src_range r, src_range name, ast_expr *value) {
    ast_expr *e = new_expr(ps, EXPR_NAMED, r);
    e->name = ast_source(ps, name);
    e->op_range = name;
    e->left = value;
    return finish(ps, e);
}

ast_expr *ast_pointer(ast_parser *ps, src_range r, src_range word, ast_expr *pointee) {
    sv text = ast_source(ps, word);
    if (text.len && !sv_is(text, "const") && !sv_is(text, "k"))
        ast_report(ps, word, "unexpected '%" SV_FMT "', expected 'const'", SV_ARG(text));
    ast_expr *e = new_expr(ps, EXPR_POINTER, r);
    e->left = pointee;
    e->name = ast_source(ps, pointee->range);
    e->pointer_const = text.len != 0;
    return finish(ps, e);
}

ast_expr *ast_refused(ast_parser *ps, src_range r, const char *what, ast_expr *body) {
    ast_expr *e = new_expr(ps, EXPR_UNSUPPORTED, r);
    e->name = sv_from(what);
    e->left = body;
    return finish(ps, e);
}

ast_expr *ast_refused_items(ast_parser *ps, src_range r, const char *what, ast_exprs items) {
    ast_expr *e = make_items(ps, r, EXPR_UNSUPPORTED, items);
    e->name = sv_from(what);
    return e;
}

// --- simple statements

static ast_stmt *new_stmt(ast_parser *ps, ast_stmt_kind kind, src_range r) {
    count_node(ps, r);
    ast_stmt *s = ARENA_NEW(ps->arena, ast_stmt);
    s->kind = kind;
    s->range = r;
    return s;
}

ast_block ast_append(ast_parser *ps, ast_block block, ast_stmt *s) {
    VEC_PUSH(ps->arena, block, s);
    return block;
}

ast_block ast_concat(ast_parser *ps, ast_block block, ast_block more) {
    for (uint32_t i = 0; i < more.len; i++)
        VEC_PUSH(ps->arena, block, more.data[i]);
    return block;
}

ast_stmt *ast_simple(ast_parser *ps, src_range r, ast_stmt_kind kind, ast_expr *value,
                     ast_expr *message) {
    ast_stmt *s = new_stmt(ps, kind, r);
    s->value = value;
    s->message = message;
    return s;
}

// What an expression is, where it stands on the left of '=' and must not.
static const char *describe_target(const ast_expr *e) {
    static const char *const texts[] = {
        [EXPR_NONE] = "a constant",     [EXPR_BOOL] = "a constant",
        [EXPR_INT] = "a constant",      [EXPR_FLOAT] = "a constant",
        [EXPR_STRING] = "a constant",   [EXPR_FSTRING] = "a constant",
        [EXPR_CALL] = "a call",         [EXPR_COMPARE] = "a comparison",
        [EXPR_UNARY] = "an operation",  [EXPR_BINARY] = "an operation",
        [EXPR_BOOLOP] = "an operation", [EXPR_TERNARY] = "an operation",
        [EXPR_UNSUPPORTED] = NULL, // the last kind: the table has an entry for each
    };
    return texts[e->kind] ? texts[e->kind] : "this expression";
}

static void check_target(ast_parser *ps, const ast_expr *e) {
    bool is_list = e->kind == EXPR_TUPLE || e->kind == EXPR_LIST;
    if (is_list) {
        for (uint32_t i = 0; i < e->items.len; i++)
            check_target(ps, e->items.data[i]);
    } else if (e->kind == EXPR_STARRED) {
        check_target(ps, e->left);
    } else if (e->kind != EXPR_NAME && e->kind != EXPR_ATTRIBUTE && e->kind != EXPR_SUBSCRIPT) {
        ast_report(ps, e->range, "cannot assign to %s", describe_target(e));
    }
}

ast_stmt *ast_assign(ast_parser *ps, src_range r, ast_exprs chain) {
    ast_stmt *s = new_stmt(ps, STMT_ASSIGN, r);
    s->value = chain.data[chain.len - 1];
    s->targets = chain;
    s->targets.len--;
    for (uint32_t i = 0; i < s->targets.len; i++)
        check_target(ps, s->targets.data[i]);
    return s;
}

static void check_single_target(ast_parser *ps, const ast_expr *target, const char *what) {
    if (target->kind != EXPR_NAME && target->kind != EXPR_ATTRIBUTE &&
        target->kind != EXPR_SUBSCRIPT)
        ast_report(ps, target->range, "only a single name can be %s", what);
}

ast_stmt *ast_annotated(ast_parser *ps, src_range r, ast_expr *target, ast_expr *annotation,
                        ast_expr *value) {
    check_single_target(ps, target, "annotated");
    ast_stmt *s = new_stmt(ps, STMT_ASSIGN, r);
    s->targets = ast_list(ps, s->targets, target);
    s->annotation = annotation;
    s->value = value;
    return s;
}

ast_stmt *ast_augmented(ast_parser *ps, src_range r, ast_expr *target, ast_op op, ast_expr *value) {
    check_single_target(ps, target, "updated in place");
    ast_stmt *s = new_stmt(ps, STMT_AUGASSIGN, r);
    s->targets = ast_list(ps, s->targets, target);
    s->op = op;
    s->value = value;
    return s;
}

ast_stmt *ast_refused_stmt(ast_parser *ps, src_range r, const char *what) {
    ast_stmt *s = new_stmt(ps, STMT_UNSUPPORTED, r);
    s->name = sv_from(what);
    return s;
}

sv ast_dotted(ast_parser *ps, sv path, src_range name) {
    if (path.len > MAX_DOTTED) {
        ast_give_up(ps, name, "the name of a module is too long", MAX_DOTTED);
        return path;
    }
    return sv_format(ps->arena, "%" SV_FMT ".%" SV_FMT, SV_ARG(path), SV_ARG(ast_source(ps, name)));
}

ast_imports ast_import_push(ast_parser *ps, ast_imports list, src_range r, sv path, sv name,
                            src_range alias) {
    ast_import i = {.path = path, .name = name, .alias = ast_source(ps, alias), .range = r};
    VEC_PUSH(ps->arena, list, i);
    return list;
}

ast_imports ast_import_from(ast_parser *ps, ast_imports list, src_range dots, sv path) {
    unsigned count = 0;
    for (uint32_t i = dots.begin; i < dots.end; i++)
        count += ps->text.data[i] == '.';
    for (uint32_t i = 0; i < list.len; i++) {
        list.data[i].path = path;
        list.data[i].dots = count;
    }
    return list;
}

ast_stmt *ast_import_stmt(ast_parser *ps, src_range r, ast_imports list) {
    ast_stmt *s = new_stmt(ps, STMT_IMPORT, r);
    s->imports = list.data;
    s->num_imports = list.len;
    return s;
}

// --- compound statements

void ast_check_colon(ast_parser *ps, src_range colon) {
    if (colon.begin == colon.end)
        ast_report(ps, colon, "unexpected end of line, expected ':'");
}

ast_stmt *ast_if(ast_parser *ps, src_range head, ast_expr *cond, ast_block body, ast_block elifs,
                 ast_block orelse) {
    if (elifs.len > AST_MAX_ELIF) {
        ast_report(ps, elifs.data[AST_MAX_ELIF]->range, "too many 'elif' branches (more than %d)",
                   AST_MAX_ELIF);
        elifs.len = AST_MAX_ELIF;
    }
    for (uint32_t i = elifs.len; i-- > 0;) {
        elifs.data[i]->orelse = orelse;
        orelse = ast_append(ps, (ast_block){0}, elifs.data[i]);
    }
    ast_stmt *s = new_stmt(ps, STMT_IF, head);
    s->value = cond;
    s->body = body;
    s->orelse = orelse;
    return s;
}

ast_stmt *ast_elif(ast_parser *ps, src_range head, ast_expr *cond, ast_block body) {
    return ast_if(ps, head, cond, body, (ast_block){0}, (ast_block){0});
}

ast_stmt *ast_loop(ast_parser *ps, src_range head, ast_stmt_kind kind, ast_expr *target,
                   ast_expr *value, ast_block body, ast_block orelse) {
    ast_stmt *s = new_stmt(ps, kind, head);
    if (target) {
        check_target(ps, target);
        s->targets = ast_list(ps, s->targets, target);
    }
    s->value = value;
    s->body = body;
    s->orelse = orelse;
    return s;
}

ast_param ast_param_make(ast_parser *ps, src_range name, ast_expr *annotation, ast_expr *value) {
    return (ast_param){.name = ast_source(ps, name),
                       .range = name,
                       .annotation = annotation,
                       .default_value = value};
}

ast_param ast_param_star(ast_parser *ps, src_range r, unsigned stars, src_range name,
                         ast_expr *annotation) {
    return (ast_param){.name = ast_source(ps, name),
                       .range = name.file ? name : r,
                       .annotation = annotation,
                       .is_vararg = stars == 1,
                       .is_kwarg = stars == 2};
}

ast_params ast_param_push(ast_parser *ps, ast_params list, ast_param p) {
    const ast_param *last = list.len ? &list.data[list.len - 1] : NULL;
    if (last && last->is_kwarg)
        ast_report(ps, p.range, "no parameter can follow '**%" SV_FMT "'", SV_ARG(last->name));
    if (p.is_vararg && list.keyword_only)
        ast_report(ps, p.range, "a second '*' among the parameters");
    p.keyword_only = list.keyword_only && !p.is_vararg && !p.is_kwarg;
    list.keyword_only |= p.is_vararg;
    if (!p.name.len) // a bare '*' or '/'
        return list;
    if (list.len == MAX_PARAMS)
        ast_report(ps, p.range, "too many parameters (more than %d)", MAX_PARAMS);
    if (list.len >= MAX_PARAMS)
        return list;
    for (uint32_t i = 0; i < list.len; i++)
        if (sv_equal(list.data[i].name, p.name))
            ast_report(ps, p.range, "a second parameter '%" SV_FMT "'", SV_ARG(p.name));
    bool plain = !p.keyword_only && !p.is_vararg && !p.is_kwarg;
    if (plain && !p.default_value && last && last->default_value)
        ast_report(ps, p.range,
                   "'%" SV_FMT "' has no default but follows '%" SV_FMT "', which has one",
                   SV_ARG(p.name), SV_ARG(last->name));
    VEC_PUSH(ps->arena, list, p);
    return list;
}

ast_stmt *ast_def(ast_parser *ps, src_range name, ast_params params, ast_expr *returns,
                  ast_block body) {
    ast_func *f = ARENA_NEW(ps->arena, ast_func);
    f->name = ast_source(ps, name);
    f->range = name;
    f->params = params.data;
    f->num_params = params.len;
    f->returns = returns;
    f->body = body;
    ast_stmt *s = new_stmt(ps, STMT_DEF, name);
    s->name = f->name;
    s->func = f;
    return s;
}

ast_stmt *ast_decorate(ast_parser *ps, ast_exprs decorators, ast_stmt *s) {
    (void)ps;
    s->func->decorators = decorators;
    return s;
}

// --- the file

static ast_item *add_item(ast_parser *ps, ast_item_kind kind) {
    ast_module *m = ps->module;
    struct {
        ast_item *data;
        uint32_t len, cap;
    } items = {m->items, m->num_items, m->cap_items};
    VEC_PUSH(ps->arena, items, (ast_item){.kind = kind});
    m->items = items.data;
    m->num_items = items.len;
    m->cap_items = items.cap;
    return &m->items[m->num_items - 1];
}

// NAME = value, A = B = value, NAME: annotation = value.
static bool is_global(const ast_stmt *s) {
    if (s->kind != STMT_ASSIGN || !s->value)
        return false;
    for (uint32_t i = 0; i < s->targets.len; i++)
        if (s->targets.data[i]->kind != EXPR_NAME)
            return false;
    return true;
}

static void add_globals(ast_parser *ps, const ast_stmt *s) {
    for (uint32_t i = 0; i < s->targets.len; i++) {
        ast_global *g = ARENA_NEW(ps->arena, ast_global);
        *g = (ast_global){.name = s->targets.data[i]->name,
                          .annotation = s->annotation,
                          .value = s->value,
                          .range = s->targets.data[i]->range};
        add_item(ps, ITEM_GLOBAL)->global = g;
    }
}

void ast_finish_module(ast_parser *ps, ast_block block) {
    bool lost_body = false; // a function's statements were not indented, and stand here
    for (uint32_t i = 0; i < block.len; i++) {
        const ast_stmt *s = block.data[i];
        const top_line *line = find_top_line(ps, s->range.begin);
        if (line && line->is_bad)
            continue;
        bool docstring = s->kind == STMT_EXPR && s->value->kind == EXPR_STRING;
        if (s->kind == STMT_DEF) {
            add_item(ps, ITEM_FUNC)->func = s->func;
            lost_body = s->func->body.len == 0;
        } else if (s->kind == STMT_IMPORT) {
            for (uint32_t k = 0; k < s->num_imports; k++)
                add_item(ps, ITEM_IMPORT)->import = &s->imports[k];
        } else if (is_global(s)) {
            add_globals(ps, s);
        } else if (!docstring && !ps->python_host && !lost_body) {
            ast_report(ps, s->range,
                       "only functions, imports and constants are allowed at the top level");
        }
    }
}
