/* The grammar of .tile files: Python's statements and expressions, as far as kernels may hold them
   or must be refused by name, plus the annotations *fp32 and *const fp32. Every action is one call
   into ast.c or literal.c, and gives a node or a list. It has no conflicts. The looser levels of
   binding are spelled out, so that a chain of comparisons and a list of `and`s come out flat.
   A statement that cannot be read is skipped up to the end of its line (`error NEWLINE`), the block
   that follows it is read all the same, and so several mistakes are found in one run. */
%define api.pure full
%define api.prefix {ast_yy}
%define api.token.prefix {TOK_}
%define api.location.type {src_range}
%define parse.error custom
%define parse.lac full
%locations
%expect 0
%param {ast_parser *ps}
%initial-action { @$ = ast_range(ps, ps->begin, ps->begin); }

%code requires {
#include "frontend/parse.h"
}

%code {
#define YYLLOC_DEFAULT(to, from, n)                                                                \
    ((to) = (src_range){(from)[n].file, (n) ? (from)[1].begin : (from)[0].end, (from)[n].end})
#define YYMAXDEPTH 2500 /* what needs more is nested too deeply for the walks that follow */

int ast_yylex(AST_YYSTYPE *value, src_range *at, ast_parser *ps);
static void ast_yyerror(src_range *at, ast_parser *ps, const char *message);
}

%union {
    ast_op op;
    sv text;
    ast_expr *expr;
    ast_exprs exprs;
    ast_stmt *stmt;
    ast_block block;
    ast_call_args *args;
    ast_param param;
    ast_params params;
    ast_imports imports;
}

%token END 0 "end of file"
%token EXPRESSION "start of expression" NEWLINE "end of line" INDENT "indent" DEDENT "end of block"
%token NAME "a name" NUMBER "a number" STRING "a string"
%token FALSE "'False'" NONE "'None'" TRUE "'True'" AND "'and'" AS "'as'" ASSERT "'assert'"
%token ASYNC "'async'" AWAIT "'await'" BREAK "'break'" CLASS "'class'" CONTINUE "'continue'"
%token DEF "'def'" DEL "'del'" ELIF "'elif'" ELSE "'else'" EXCEPT "'except'" FINALLY "'finally'"
%token FOR "'for'" FROM "'from'" GLOBAL "'global'" IF "'if'" IMPORT "'import'" IN "'in'" IS "'is'"
%token LAMBDA "'lambda'" NONLOCAL "'nonlocal'" NOT "'not'" OR "'or'" PASS "'pass'" RAISE "'raise'"
%token RETURN "'return'" TRY "'try'" WHILE "'while'" WITH "'with'" YIELD "'yield'"
%token <op> COMPARE "a comparison" AUGMENT "an augmented '='" SHIFT "a shift" MULTIPLY "'//' or '%'"
%token INVALID "invalid character"
%token MATCH "'match'" CASE "'case'" TYPE "'type'" /* words only where indent.c sees a statement */
%token POW "'**'" ARROW "'->'" WALRUS "':='" ELLIPSIS "'...'"

%type <expr> named test or_test and_test not_test comparison chain arith primary atom exprs rhs
%type <expr> yield star_test star_named sub bound annotation pointee target targets returns
/* Arithmetic, from the loosest binding to the tightest; -a ** b is -(a ** b). */
%left '|'
%left '^'
%left '&'
%left SHIFT
%left '+' '-'
%left '*' '/' '@' MULTIPLY
%precedence UNARY
%right POW

%type <op> compare
%type <exprs> or_chain and_chain tests nameds dict_items target_list subs strings decorators
%type <exprs> assignments
%type <stmt> small compound if for while def decorated class try with async match
%type <block> lines line smalls simple block elifs orelse
%type <args> args arg_list
%type <param> param
%type <params> params param_list
%type <imports> import_list from_names from_list
%type <text> dotted

%%

start: %empty                       { ast_finish_module(ps, (ast_block){0}); }
    | lines                         { ast_finish_module(ps, $1); }
    | EXPRESSION exprs              { ps->expr = $2; }
    ;

/* --- lines and blocks */

lines: line
    | lines line                    { $$ = ast_concat(ps, $1, $2); }
    ;
line: simple NEWLINE
    | compound                      { $$ = ast_append(ps, (ast_block){0}, $1); }
    | bad_line orphans              { $$ = (ast_block){0}; }
    | bad_line INDENT lines DEDENT orphans { $$ = (ast_block){0}; }
    ;
bad_line: error NEWLINE             { yyerrok; }
    ;
simple: smalls
    | smalls ';'
    ;
smalls: small                       { $$ = ast_append(ps, (ast_block){0}, $1); }
    | smalls ';' small              { $$ = ast_append(ps, $1, $3); }
    ;
block: colon simple NEWLINE         { $$ = $2; }
    | colon NEWLINE INDENT lines DEDENT { $$ = $4; }
    | colon NEWLINE error           { $$ = (ast_block){0}; }
    ;
colon: ':'                          { ast_check_colon(ps, @1); }
    ;
orphans: %empty /* what goes on with a statement whose header could not be read */
    | orphans ELIF named block
    | orphans ELSE block
    | orphans except
    | orphans FINALLY block
    ;

/* --- simple statements */

small: exprs                        { $$ = ast_simple(ps, @$, STMT_EXPR, $1, NULL); }
    | yield                         { $$ = ast_simple(ps, @$, STMT_EXPR, $1, NULL); }
    | assignments                   { $$ = ast_assign(ps, @$, $1); }
    | exprs ':' annotation          { $$ = ast_annotated(ps, @$, $1, $3, NULL); }
    | exprs ':' annotation '=' rhs  { $$ = ast_annotated(ps, @$, $1, $3, $5); }
    | exprs AUGMENT rhs             { $$ = ast_augmented(ps, @$, $1, $2, $3); }
    | RETURN                        { $$ = ast_simple(ps, @$, STMT_RETURN, NULL, NULL); }
    | RETURN exprs                  { $$ = ast_simple(ps, @$, STMT_RETURN, $2, NULL); }
    | PASS                          { $$ = ast_simple(ps, @$, STMT_PASS, NULL, NULL); }
    | BREAK                         { $$ = ast_simple(ps, @$, STMT_BREAK, NULL, NULL); }
    | CONTINUE                      { $$ = ast_simple(ps, @$, STMT_CONTINUE, NULL, NULL); }
    | ASSERT test                   { $$ = ast_simple(ps, @$, STMT_ASSERT, $2, NULL); }
    | ASSERT test ',' test          { $$ = ast_simple(ps, @$, STMT_ASSERT, $2, $4); }
    | DEL exprs                     { $$ = ast_refused_stmt(ps, @$, "del"); }
    | RAISE                         { $$ = ast_refused_stmt(ps, @$, "raise"); }
    | RAISE test                    { $$ = ast_refused_stmt(ps, @$, "raise"); }
    | RAISE test FROM test          { $$ = ast_refused_stmt(ps, @$, "raise"); }
    | GLOBAL names                  { $$ = ast_refused_stmt(ps, @$, "global"); }
    | NONLOCAL names                { $$ = ast_refused_stmt(ps, @$, "nonlocal"); }
    | TYPE NAME type_params '=' test { $$ = ast_refused_stmt(ps, @$, "type"); }
    | IMPORT import_list            { $$ = ast_import_stmt(ps, @$, $2); }
    | FROM dots dotted IMPORT from_names
        { $$ = ast_import_stmt(ps, @$, ast_import_from(ps, $5, @2, $3)); }
    | FROM dots IMPORT from_names
        { $$ = ast_import_stmt(ps, @$, ast_import_from(ps, $4, @2, SV(""))); }
    ;
assignments: exprs '=' rhs          { $$ = ast_pair(ps, (ast_exprs){0}, $1, $3); }
    | assignments '=' rhs           { $$ = ast_list(ps, $1, $3); }
    ;
rhs: exprs
    | yield
    ;
names: NAME
    | names ',' NAME
    ;
import_list: dotted
        { $$ = ast_import_push(ps, (ast_imports){0}, @1, $1, SV(""), SRC_NONE); }
    | dotted AS NAME
        { $$ = ast_import_push(ps, (ast_imports){0}, @$, $1, SV(""), @3); }
    | import_list ',' dotted        { $$ = ast_import_push(ps, $1, @3, $3, SV(""), SRC_NONE); }
    | import_list ',' dotted AS NAME
        { $$ = ast_import_push(ps, $1, src_join(@3, @5), $3, SV(""), @5); }
    ;
dotted: NAME                        { $$ = ast_source(ps, @1); }
    | dotted '.' NAME               { $$ = ast_dotted(ps, $1, @3); }
    ;
dots: %empty
    | dots '.'
    | dots ELLIPSIS
    ;
from_names: from_list
    | '(' from_list ')'             { $$ = $2; }
    | '(' from_list ',' ')'         { $$ = $2; }
    | '*'
        { $$ = ast_import_push(ps, (ast_imports){0}, @1, SV(""), SV("*"), SRC_NONE); }
    ;
from_list: NAME
        { $$ = ast_import_push(ps, (ast_imports){0}, @1, SV(""), ast_source(ps, @1), SRC_NONE); }
    | NAME AS NAME
        { $$ = ast_import_push(ps, (ast_imports){0}, @$, SV(""), ast_source(ps, @1), @3); }
    | from_list ',' NAME
        { $$ = ast_import_push(ps, $1, @3, SV(""), ast_source(ps, @3), SRC_NONE); }
    | from_list ',' NAME AS NAME
        { $$ = ast_import_push(ps, $1, src_join(@3, @5), SV(""), ast_source(ps, @3), @5); }
    ;

/* --- compound statements */

compound: if | for | while | def | decorated | class | try | with | async | match
    ;
if: IF named block elifs orelse     { $$ = ast_if(ps, src_join(@1, @2), $2, $3, $4, $5); }
    ;
elifs: %empty                       { $$ = (ast_block){0}; }
    | elifs ELIF named block
        { $$ = ast_append(ps, $1, ast_elif(ps, src_join(@2, @3), $3, $4)); }
    ;
orelse: %empty                      { $$ = (ast_block){0}; }
    | ELSE block                    { $$ = $2; }
    ;
while: WHILE named block orelse
        { $$ = ast_loop(ps, src_join(@1, @2), STMT_WHILE, NULL, $2, $3, $4); }
    ;
for: FOR targets IN exprs block orelse
        { $$ = ast_loop(ps, src_join(@1, @4), STMT_FOR, $2, $4, $5, $6); }
    ;
def: DEF NAME type_params '(' params ')' returns block { $$ = ast_def(ps, @2, $5, $7, $8); }
    ;
type_params: %empty
    | '[' subs ']'                  { ast_report(ps, @$, "type parameters are not supported"); }
    ;
returns: %empty                     { $$ = NULL; }
    | ARROW annotation              { $$ = $2; }
    ;
decorated: decorators def           { $$ = ast_decorate(ps, $1, $2); }
    | decorators class              { $$ = $2; }
    | decorators async              { $$ = $2; }
    ;
decorators: '@' named NEWLINE       { $$ = ast_list(ps, (ast_exprs){0}, $2); }
    | decorators '@' named NEWLINE  { $$ = ast_list(ps, $1, $3); }
    ;
class: CLASS NAME type_params block { $$ = ast_refused_stmt(ps, src_join(@1, @2), "class"); }
    | CLASS NAME type_params '(' args ')' block
        { $$ = ast_refused_stmt(ps, src_join(@1, @6), "class"); }
    ;
try: TRY block excepts orelse       { $$ = ast_refused_stmt(ps, @1, "try"); }
    | TRY block excepts orelse FINALLY block { $$ = ast_refused_stmt(ps, @1, "try"); }
    | TRY block FINALLY block       { $$ = ast_refused_stmt(ps, @1, "try"); }
    ;
excepts: except
    | excepts except
    ;
except: EXCEPT block
    | EXCEPT star test block
    | EXCEPT star test AS NAME block
    ;
star: %empty
    | '*'
    ;
with: WITH with_items block         { $$ = ast_refused_stmt(ps, src_join(@1, @2), "with"); }
    | WITH '(' named_items ')' block { $$ = ast_refused_stmt(ps, src_join(@1, @4), "with"); }
    ;
named_items: test AS target
    | named_items ',' with_item
    ;
with_items: with_item
    | with_items ',' with_item
    ;
with_item: test
    | test AS target
    ;
match: MATCH exprs block            { $$ = ast_refused_stmt(ps, src_join(@1, @2), "match"); }
    | CASE patterns guard block     { $$ = ast_refused_stmt(ps, @1, "case"); }
    ;
patterns: pattern
    | patterns ',' pattern
    ;
pattern: or_test
    | or_test AS NAME
    | '*' NAME
    ;
guard: %empty
    | IF named
    ;
async: ASYNC def                    { $$ = ast_refused_stmt(ps, @1, "async"); }
    | ASYNC for                     { $$ = ast_refused_stmt(ps, @1, "async"); }
    | ASYNC with                    { $$ = ast_refused_stmt(ps, @1, "async"); }
    ;

/* --- parameters */

params: %empty                      { $$ = (ast_params){0}; }
    | param_list
    | param_list ','
    ;
param_list: param                   { $$ = ast_param_push(ps, (ast_params){0}, $1); }
    | param_list ',' param          { $$ = ast_param_push(ps, $1, $3); }
    ;
param: NAME                         { $$ = ast_param_make(ps, @1, NULL, NULL); }
    | NAME ':' annotation           { $$ = ast_param_make(ps, @1, $3, NULL); }
    | NAME '=' test                 { $$ = ast_param_make(ps, @1, NULL, $3); }
    | NAME ':' annotation '=' test  { $$ = ast_param_make(ps, @1, $3, $5); }
    | '*'                           { $$ = ast_param_star(ps, @1, 1, SRC_NONE, NULL); }
    | '*' NAME                      { $$ = ast_param_star(ps, @$, 1, @2, NULL); }
    | '*' NAME ':' annotation       { $$ = ast_param_star(ps, @$, 1, @2, $4); }
    | POW NAME                      { $$ = ast_param_star(ps, @$, 2, @2, NULL); }
    | POW NAME ':' annotation       { $$ = ast_param_star(ps, @$, 2, @2, $4); }
    | '/'                           { $$ = ast_param_star(ps, @1, 0, SRC_NONE, NULL); }
    ;
annotation: test
    | '*' pointee                   { $$ = ast_pointer(ps, @$, SRC_NONE, $2); }
    | '*' NAME pointee              { $$ = ast_pointer(ps, @$, @2, $3); }
    ;
pointee: NAME                       { $$ = ast_name(ps, @1); }
    | pointee '.' NAME              { $$ = ast_attribute(ps, @$, $1, @3); }
    ;
lambda_params: %empty
    | lambda_list
    | lambda_list ','
    ;
lambda_list: lambda_param
    | lambda_list ',' lambda_param
    ;
lambda_param: NAME | NAME '=' test | '*' | '*' NAME | POW NAME | '/'
    ;

/* --- lists of expressions */

exprs: tests                        { $$ = ast_group(ps, @$, $1, false); }
    | tests ','                     { $$ = ast_group(ps, @$, $1, true); }
    ;
tests: star_test                    { $$ = ast_list(ps, (ast_exprs){0}, $1); }
    | tests ',' star_test           { $$ = ast_list(ps, $1, $3); }
    ;
star_test: test
    | '*' arith                     { $$ = ast_starred(ps, @$, $2); }
    ;
nameds: star_named                  { $$ = ast_list(ps, (ast_exprs){0}, $1); }
    | nameds ',' star_named         { $$ = ast_list(ps, $1, $3); }
    ;
star_named: named
    | '*' arith                     { $$ = ast_starred(ps, @$, $2); }
    ;
targets: target_list                { $$ = ast_group(ps, @$, $1, false); }
    | target_list ','               { $$ = ast_group(ps, @$, $1, true); }
    ;
target_list: target                 { $$ = ast_list(ps, (ast_exprs){0}, $1); }
    | target_list ',' target        { $$ = ast_list(ps, $1, $3); }
    ;
target: primary
    | '*' primary                   { $$ = ast_starred(ps, @$, $2); }
    ;

/* --- expressions, from the loosest to the tightest */

yield: YIELD                        { $$ = ast_refused(ps, @$, "yield", NULL); }
    | YIELD exprs                   { $$ = ast_refused(ps, @$, "yield", $2); }
    | YIELD FROM test               { $$ = ast_refused(ps, @$, "yield", $3); }
    ;
named: test
    | NAME WALRUS test              { $$ = ast_named(ps, @$, @1, $3); }
    ;
test: or_test
    | or_test IF or_test ELSE test  { $$ = ast_ternary(ps, @$, $1, $3, $5); }
    | LAMBDA lambda_params ':' test { $$ = ast_refused(ps, @$, "lambda", $4); }
    ;
or_test: and_test
    | or_chain                      { $$ = ast_boolop(ps, @$, AST_OR, @$, $1); }
    ;
or_chain: and_test OR and_test      { $$ = ast_pair(ps, (ast_exprs){0}, $1, $3); }
    | or_chain OR and_test          { $$ = ast_list(ps, $1, $3); }
    ;
and_test: not_test
    | and_chain                     { $$ = ast_boolop(ps, @$, AST_AND, @$, $1); }
    ;
and_chain: not_test AND not_test    { $$ = ast_pair(ps, (ast_exprs){0}, $1, $3); }
    | and_chain AND not_test        { $$ = ast_list(ps, $1, $3); }
    ;
not_test: comparison
    | NOT not_test                  { $$ = ast_unary(ps, @$, AST_NOT, @1, $2); }
    ;
comparison: arith
    | chain
    ;
chain: arith compare arith          { $$ = ast_compare(ps, @$, $1, $2, @2, $3); }
    | chain compare arith           { $$ = ast_compare_more(ps, @$, $1, $2, $3); }
    ;
compare: COMPARE                    { $$ = $1; }
    | IN                            { $$ = AST_IN; }
    | NOT IN                        { $$ = AST_NOT_IN; }
    | IS                            { $$ = AST_IS; }
    | IS NOT                        { $$ = AST_IS_NOT; }
    ;
arith: primary
    | arith '|' arith               { $$ = ast_binary(ps, @$, AST_BITOR, @2, $1, $3); }
    | arith '^' arith               { $$ = ast_binary(ps, @$, AST_BITXOR, @2, $1, $3); }
    | arith '&' arith               { $$ = ast_binary(ps, @$, AST_BITAND, @2, $1, $3); }
    | arith SHIFT arith             { $$ = ast_binary(ps, @$, $2, @2, $1, $3); }
    | arith '+' arith               { $$ = ast_binary(ps, @$, AST_ADD, @2, $1, $3); }
    | arith '-' arith               { $$ = ast_binary(ps, @$, AST_SUB, @2, $1, $3); }
    | arith '*' arith               { $$ = ast_binary(ps, @$, AST_MUL, @2, $1, $3); }
    | arith '/' arith               { $$ = ast_binary(ps, @$, AST_DIV, @2, $1, $3); }
    | arith '@' arith               { $$ = ast_binary(ps, @$, AST_MATMUL, @2, $1, $3); }
    | arith MULTIPLY arith          { $$ = ast_binary(ps, @$, $2, @2, $1, $3); }
    | arith POW arith               { $$ = ast_binary(ps, @$, AST_POW, @2, $1, $3); }
    | '-' arith %prec UNARY         { $$ = ast_unary(ps, @$, AST_NEG, @1, $2); }
    | '+' arith %prec UNARY         { $$ = ast_unary(ps, @$, AST_POS, @1, $2); }
    | '~' arith %prec UNARY         { $$ = ast_unary(ps, @$, AST_INVERT, @1, $2); }
    | AWAIT primary                 { $$ = ast_refused(ps, @$, "await", $2); }
    ;
primary: atom
    | primary '.' NAME              { $$ = ast_attribute(ps, @$, $1, @3); }
    | primary '(' args ')'          { $$ = ast_call(ps, @$, $1, $3); }
    | primary '[' subs ']'          { $$ = ast_subscript(ps, @$, $1, $3); }
    | primary '[' subs ',' ']'      { $$ = ast_subscript(ps, @$, $1, $3); }
    ;
atom: NAME                          { $$ = ast_name(ps, @1); }
    | NUMBER                        { $$ = ast_number(ps, @1); }
    | strings                       { $$ = ast_strings(ps, @1, $1); }
    | NONE                          { $$ = ast_constant(ps, @1, EXPR_NONE, false); }
    | TRUE                          { $$ = ast_constant(ps, @1, EXPR_BOOL, true); }
    | FALSE                         { $$ = ast_constant(ps, @1, EXPR_BOOL, false); }
    | ELLIPSIS                      { $$ = ast_refused(ps, @1, "ellipsis", NULL); }
    | '(' ')'                       { $$ = ast_group(ps, @$, (ast_exprs){0}, true); }
    | '(' nameds ')'                { $$ = ast_group(ps, @$, $2, false); }
    | '(' nameds ',' ')'            { $$ = ast_group(ps, @$, $2, true); }
    | '(' yield ')'                 { $$ = $2; }
    | '(' named clauses ')'         { $$ = ast_refused(ps, @$, "generator expression", $2); }
    | '[' ']'                       { $$ = ast_display(ps, @$, (ast_exprs){0}); }
    | '[' nameds ']'                { $$ = ast_display(ps, @$, $2); }
    | '[' nameds ',' ']'            { $$ = ast_display(ps, @$, $2); }
    | '[' named clauses ']'         { $$ = ast_refused(ps, @$, "list comprehension", $2); }
    | '{' '}'                       { $$ = ast_refused(ps, @$, "dict", NULL); }
    | '{' dict_items '}'            { $$ = ast_refused_items(ps, @$, "dict", $2); }
    | '{' dict_items ',' '}'        { $$ = ast_refused_items(ps, @$, "dict", $2); }
    | '{' test ':' test clauses '}' { $$ = ast_refused(ps, @$, "dict comprehension", NULL); }
    | '{' nameds '}'                { $$ = ast_refused_items(ps, @$, "set", $2); }
    | '{' nameds ',' '}'            { $$ = ast_refused_items(ps, @$, "set", $2); }
    | '{' named clauses '}'         { $$ = ast_refused(ps, @$, "set comprehension", $2); }
    ;
strings: STRING                     { $$ = ast_list(ps, (ast_exprs){0}, ast_string(ps, @1)); }
    | strings STRING                { $$ = ast_list(ps, $1, ast_string(ps, @2)); }
    ;
dict_items: test ':' test           { $$ = ast_pair(ps, (ast_exprs){0}, $1, $3); }
    | POW arith                     { $$ = ast_list(ps, (ast_exprs){0}, ast_starred(ps, @$, $2)); }
    | dict_items ',' test ':' test  { $$ = ast_pair(ps, $1, $3, $5); }
    | dict_items ',' POW arith      { $$ = ast_list(ps, $1, ast_starred(ps, @4, $4)); }
    ;
clauses: for_clause
    | clauses for_clause
    | clauses IF or_test
    ;
for_clause: FOR targets IN or_test
    | ASYNC FOR targets IN or_test
    ;

/* --- calls and subscripts */

args: %empty                        { $$ = ast_args(ps); }
    | arg_list
    | arg_list ','
    | named clauses
        { $$ = ast_positional(ps, ast_args(ps), ast_refused(ps, @$, "generator expression", $1)); }
    ;
arg_list: star_named                { $$ = ast_positional(ps, ast_args(ps), $1); }
    | NAME '=' test                 { $$ = ast_keyword_arg(ps, ast_args(ps), @$, @1, $3); }
    | POW test                      { $$ = ast_keyword_arg(ps, ast_args(ps), @$, SRC_NONE, $2); }
    | arg_list ',' star_named       { $$ = ast_positional(ps, $1, $3); }
    | arg_list ',' NAME '=' test    { $$ = ast_keyword_arg(ps, $1, src_join(@3, @5), @3, $5); }
    | arg_list ',' POW test
        { $$ = ast_keyword_arg(ps, $1, src_join(@3, @4), SRC_NONE, $4); }
    ;
subs: sub                           { $$ = ast_list(ps, (ast_exprs){0}, $1); }
    | subs ',' sub                  { $$ = ast_list(ps, $1, $3); }
    ;
sub: star_named
    | bound ':' bound               { $$ = ast_slice(ps, @$, $1, $3, NULL); }
    | bound ':' bound ':' bound     { $$ = ast_slice(ps, @$, $1, $3, $5); }
    ;
bound: %empty                       { $$ = NULL; }
    | test
    ;

%%

/* What would have been right instead, as one phrase: the most telling of the tokens that could
   stand here. Operators that could go on are not worth naming, and at the start of a statement
   anything goes. */
static const char *expected_phrase(const bool *expected) {
    static const struct { int token, unless; const char *phrase; } phrases[] = {
        {TOK_INDENT, 0, "an indented block"},
        {TOK_RETURN, 0, NULL},
        {TOK_NUMBER, 0, "an expression"},
        {')', ',', "')'"}, {')', 0, "',' or ')'"},
        {']', ',', "']'"}, {']', 0, "',' or ']'"},
        {'}', ',', "'}'"}, {'}', 0, "',' or '}'"},
        {TOK_IN, TOK_COMPARE, "'in'"},
        {TOK_ELSE, 0, "'else'"},
        {TOK_NEWLINE, 0, "end of line"},
        {':', 0, "':'"},
        {TOK_IMPORT, 0, "'import'"},
        {TOK_DEF, 0, "'def'"},
        {TOK_EXCEPT, 0, "'except' or 'finally'"},
        {TOK_NAME, 0, "a name"},
        {'(', '.', "'('"},
        {TOK_END, 0, "'}'"}, /* of an f-string's field */
    };
    for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++)
        if (expected[YYTRANSLATE(phrases[i].token)] &&
            !(phrases[i].unless && expected[YYTRANSLATE(phrases[i].unless)]))
            return phrases[i].phrase;
    return NULL;
}

static sv describe_token(ast_parser *ps, yysymbol_kind_t token, src_range at) {
    if (at.begin == at.end) /* a ':' of no width was put in by indent.c at the end of a line */
        return token == YYTRANSLATE(':') ? SV("end of line") : sv_from(yysymbol_name(token));
    if (token == YYSYMBOL_STRING)
        return SV("string");
    sv text = ast_source(ps, at);
    bool cut = text.len > 40;
    return sv_format(ps->arena, "'%.*s%s'", cut ? 40 : (int)text.len, text.data, cut ? "..." : "");
}

static bool is_word(sv text) {
    return text.len && ((text.data[0] | 32) >= 'a' && (text.data[0] | 32) <= 'z');
}

static int yyreport_syntax_error(const yypcontext_t *context, ast_parser *ps) {
    src_range at = *yypcontext_location(context);
    if (ps->line_had_error || ast_report_open_bracket(ps, at))
        return 0; /* one mistake, one error */
    yysymbol_kind_t token = yypcontext_token(context), list[YYNTOKENS];
    int n = yypcontext_expected_tokens(context, list, YYNTOKENS);
    bool expected[YYNTOKENS] = {false};
    for (int i = 0; i < n; i++)
        expected[list[i]] = true;
    const char *phrase = expected_phrase(expected);
    const char *found = describe_token(ps, token, at).data;
    bool wants_colon = phrase && !strcmp(phrase, "':'");
    if (wants_colon && token == YYTRANSLATE('=') && !expected[YYSYMBOL_NAME])
        ast_report(ps, at, "unexpected '='; use '==' to compare");
    else if (wants_colon && token == YYSYMBOL_IF)
        ast_report(ps, at, "unexpected 'if', expected ':'; use 'elif' for another condition");
    else if (is_word(ast_source(ps, at)) && token != YYSYMBOL_NAME && expected[YYSYMBOL_NAME] &&
             !expected[YYSYMBOL_NUMBER])
        ast_report(ps, at, "%s is a word of the language and cannot be a name", found);
    else if (phrase)
        ast_report(ps, at, "unexpected %s, expected %s", found, phrase);
    else
        ast_report(ps, at, "unexpected %s", found);
    return 0;
}

/* Called only when the parser's stack is full. */
static void ast_yyerror(src_range *at, ast_parser *ps, const char *message) {
    (void)message;
    ast_give_up(ps, *at, "the code is nested too deeply", YYMAXDEPTH);
}
