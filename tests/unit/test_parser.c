// The parser: trees by their printed form, ranges, errors by their exact text, limits, and that no
// bytes at all can make it crash.
#include "frontend/ast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

typedef struct parsed {
    arena *arena;
    diag *diag;
    ast_module *module;
} parsed;

static parsed parse(sv text, bool python_host) {
    parsed p = {.arena = arena_create()};
    p.diag = diag_create(p.arena);
    p.module = ast_parse(p.arena, p.diag, diag_add_file(p.diag, "t", text), python_host);
    return p;
}

static const char *printed(parsed *p) {
    strbuf s;
    strbuf_init(&s, p->arena);
    ast_print(p->module, &s);
    return strbuf_view(&s).data;
}

static const char *errors(parsed *p) {
    strbuf s;
    strbuf_init(&s, p->arena);
    diag_render_text(p->diag, &s);
    return strbuf_view(&s).data;
}

// The printed form of one expression.
static void expect_expr(const char *source, const char *expected) {
    char text[512];
    snprintf(text, sizeof(text), "c = %s\n", source);
    parsed p = parse(sv_from(text), false);
    assert_string_equal(errors(&p), "");
    snprintf(text, sizeof(text), "constant c = %s\n", expected);
    assert_string_equal(printed(&p), text);
    arena_destroy(p.arena);
}

// The first line of each message, in order, each ended by a newline.
static void expect_errors(sv source, const char *expected) {
    parsed p = parse(source, false);
    strbuf s;
    strbuf_init(&s, p.arena);
    for (const char *line = errors(&p), *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        if (!strncmp(line, "t:", 2))
            strbuf_put(&s, (sv){line + 2, (size_t)(end + 1 - (line + 2))});
    }
    assert_string_equal(strbuf_view(&s).data, expected);
    arena_destroy(p.arena);
}

static void test_expressions(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"a or b and not c or d", "(or a (and b (not c)) d)"},
        {"0 <= i < n != m", "(compare 0 '<=' i '<' n '!=' m)"},
        {"(a < b) < c", "(compare (compare a '<' b) '<' c)"},
        {"a is not None", "(compare a 'is not' None)"},
        {"a not in b in c", "(compare a 'not in' b 'in' c)"},
        {"a | b ^ c & d << e + f * g", "(| a (^ b (& c (<< d (+ e (* f g))))))"},
        {"a - b - c", "(- (- a b) c)"},
        {"a // b % c @ d / e", "(/ (@ (% (// a b) c) d) e)"},
        {"-a ** -b ** c", "(- (** a (- (** b c))))"},
        {"2 ** -1 * 3", "(* (** 2 (- 1)) 3)"},
        {"~a.b(c)[d] + +e", "(+ (~ (index (call a.b c) d)) (+ e))"},
        {"a if b else c if d else e", "(if b a (if d c e))"},
        {"f(*a, b, k=3, **c,)", "(call f *a b k=3 **c)"},
        {"f(x := 1)", "(call f (:= x 1))"},
        {"x[:, None, 1:, :2, ::3, a:b:c]",
         "(index x (slice _ _ _) None (slice 1 _ _) (slice _ 2 _) (slice _ _ 3) (slice a b c))"},
        {"(), (a), (a,), [a, b,], []", "(tuple (tuple) a (tuple a) (list a b) (list))"},
        {"\"a\" 'b' '''c\"d'''", "\"abc\\\"d\""},
        {"r'\\n' '\\n\\x41\\101\\u00e9\\q'", "\"\\\\n\\nAA\xC3\xA9\\\\q\""},
        {"f\"a{b}c{{d}}{f'{e!=g}'}\" 'h'",
         "(fstring \"a\" b \"c{d}\" (fstring (compare e '!=' g)) \"h\")"},
        {"0x_fF + 0b1_0 + 0o17 + 1_000 + 00", "(+ (+ (+ (+ 255 2) 15) 1000) 0)"},
        {"18446744073709551615, 18446744073709551616", "(tuple 18446744073709551615 (overflow))"},
        {"(1e-3, .5, 3., 1_0.5_0E+1, 1e400)", "(tuple 0.001 0.5 3.0 105.0 inf)"},
        {"lambda x, *y, z=3: x", "(unsupported 'lambda' x)"},
        {"[x for x in y if z]", "(unsupported 'list comprehension' x)"},
        {"{a: b, **c}", "(unsupported 'dict' a b *c)"},
        {"{a, b}", "(unsupported 'set' a b)"},
        {"f(x for x, y in z)", "(call f (unsupported 'generator expression' x))"},
        {"...", "(unsupported 'ellipsis')"},
        {"b'x'", "(unsupported 'bytes literal')"},
        {"1j", "(unsupported 'complex number')"},
        {"f'{x:>3}'", "(fstring (unsupported 'format specification'))"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_expr(cases[i][0], cases[i][1]);
}

static void test_ranges(void **state) {
    (void)state;
    parsed p = parse(SV("y = (a + b) * f(c)[1]\n"), false);
    const ast_expr *e = p.module->items[0].global->value;
    assert_int_equal(e->range.begin, 4); // the parentheses belong to the product
    assert_int_equal(e->range.end, 21);
    assert_int_equal(e->op_range.begin, 12);
    assert_int_equal(e->left->range.begin, 5);
    assert_int_equal(e->left->range.end, 10);
    assert_int_equal(e->right->range.begin, 14);
    assert_int_equal(e->right->left->range.end, 18);
    assert_int_equal(e->depth, 4);
    arena_destroy(p.arena);
}

static void test_python_host(void **state) {
    (void)state;
    parsed p = parse(SV("import os\nimport triton as tr\nfrom .u import (f,\n  g)\n"
                        "match x:\n    case [1, *_]: pass\nN = 3\nbad = = 3\nx.y = 3\n"
                        "@torch.jit.script\ndef a(x) -> : pass\n"
                        "class C:\n    s = '''\n@triton.jit\ndef no(): pass\n'''\n"
                        "@other\n@tr.jit\n\ndef k(n):\n    return n\n# end\n"),
                     true);
    assert_string_equal(errors(&p), "");
    assert_string_equal(printed(&p),
                        "import os\nimport triton as tr\nfrom .u import f\nfrom .u import g\n"
                        "constant N = 3\n@other\n@tr.jit\ndef k\n  param n\n  return n\n");
    arena_destroy(p.arena);
    p = parse(SV("import os\n@triton.jit\ndef k(n):\n    return = n\ndef host(): pass\n"), true);
    assert_int_equal(diag_error_count(p.diag), 1);
    assert_string_equal(printed(&p), "import os\n@triton.jit\ndef k\n  param n\n");
    arena_destroy(p.arena);
    p = parse(
        SV("@triton.jit\ndef k(n):\n    for f() in n:\n        pass\nN = 0777\nM = f'{1 2}'\n"),
        true);
    assert_int_equal(diag_error_count(p.diag), 1); // reported for k; N and M are dropped
    assert_null(strstr(printed(&p), "constant"));
    arena_destroy(p.arena);
    p = parse(SV("def helper(n):\n    return n\ndef host(x):\n    print 'x'\n"), true);
    assert_int_equal(diag_error_count(p.diag), 0);
    assert_string_equal(printed(&p), "def helper\n  param n\n  return n\n");
    arena_destroy(p.arena);
}

static void test_errors(void **state) {
    (void)state;
    expect_errors(SV("def f(x):\n    a = 1 +\n    b = 2 3\n    return (a\ndef g(a b): pass\n"),
                  "2:12: error: unexpected end of line, expected an expression\n"
                  "3:11: error: unexpected '3', expected end of line\n"
                  "4:12: error: '(' was never closed\n"
                  "5:9: error: unexpected 'b', expected ',' or ')'\n");
    expect_errors(SV("def f(x)\n    if x\n        y = 1\n    elif x = 2:\n        y = 2\n"
                     "    else:\n        y = 3\n    else if y: pass\n"),
                  "1:9: error: unexpected end of line, expected ':'\n"
                  "2:9: error: unexpected end of line, expected ':'\n"
                  "4:12: error: unexpected '='; use '==' to compare\n"
                  "8:10: error: unexpected 'if', expected ':'; use 'elif' for another condition\n");
    expect_errors(SV("def f(x):\n    a = g(1]\n    b = 2)\n    c = h(1,\n    return c\n"),
                  "2:12: error: ']' does not close '('\n2:10: note: '(' was opened here\n"
                  "3:10: error: unmatched ')'\n4:10: error: '(' was never closed\n");
    expect_errors(
        SV("def f(x):\n    a = 'b\n    b = $c\n    d = e && !g\n    h = 0777\n"),
        "2:9: error: unterminated string\n3:9: error: unexpected '$'\n"
        "4:11: error: '&&' is not an operator; use 'and', or '&' on tiles\n"
        "4:14: error: '!' is not an operator; use 'not'\n"
        "5:9: error: invalid number '0777': leading zeros (octal numbers start with 0o)\n");
    expect_errors(SV("def f(x, x, y=1, z):\n    1 = x\n    g(a=1, 2, a=3)\n    a, b += 1\n"),
                  "1:10: error: a second parameter 'x'\n"
                  "1:18: error: 'z' has no default but follows 'y', which has one\n"
                  "2:5: error: cannot assign to a constant\n"
                  "3:12: error: a positional argument follows a keyword argument\n"
                  "3:15: error: the argument 'a' is given twice\n"
                  "4:5: error: only a single name can be updated in place\n");
}

static void test_indentation(void **state) {
    (void)state;
    expect_errors(SV("def f(x):\ny = 1\n"),
                  "2:1: error: unexpected 'y', expected an indented block\n");
    expect_errors(
        SV("def f(x):\n    y = 1\n      z = 2\n    w = 3\n  v = 4\n"),
        "3:7: error: unexpected indent\n5:3: error: unindent does not match any outer level\n");
    expect_errors(SV("def f(x):\n        y = 1\n\tz = 2\n\tw = 3\n"),
                  "3:2: error: inconsistent use of tabs and spaces in indentation\n");
    expect_errors(
        SV("def f(x):\n\tif x:\n\t\ty = 1\n\tz = [1,\n 2]; w = \\\n3\n\n  # c\n\treturn\n"), "");
}

static void test_encoding(void **state) {
    (void)state;
    expect_errors(SV("a = 1\0\n"), "1:6: error: the source contains a NUL byte\n");
    expect_errors(SV("a = 1 # \xFF\n"), "1:9: error: the source is not valid UTF-8 (byte 0xff)\n");
    expect_errors(SV("a = '\xED\xA0\x80'"),
                  "1:6: error: the source is not valid UTF-8 (byte 0xed)\n");
    expect_errors(
        SV("\xEF\xBB\xBF# \xE8\xAF\xBB\r\na = '\xE8\xAF\xBB'\r\ndef f(x):\r\n    return x"), "");
    expect_errors(SV("x\xCE\xBC = 1\n"),
                  "1:1: error: unexpected 'x\xCE\xBC': names and operators are ASCII\n");
}

// Repeats `part` n times between `head` and `tail`.
static parsed parse_repeated(const char *head, const char *part, size_t n, const char *tail) {
    size_t len = strlen(part);
    char *text = malloc(strlen(head) + len * n + strlen(tail) + 1), *to = text;
    to += sprintf(to, "%s", head);
    for (size_t i = 0; i < n; i++, to += len)
        memcpy(to, part, len);
    to += sprintf(to, "%s", tail);
    parsed p = parse((sv){text, (size_t)(to - text)}, false);
    printed(&p);
    free(text);
    return p;
}

static void test_limits(void **state) {
    (void)state;
    static const struct {
        const char *head, *part, *tail, *error;
    } cases[] = {
        {"a = ", "(", "", "brackets are nested too deeply (more than 200)"},
        {"a = ", "b(", "", "brackets are nested too deeply (more than 200)"},
        {"a = ", "-", "1", "nested too deeply"},
        {"a = ", "not ", "1", "nested too deeply"},
        {"a = 1", "+ 1", "", "the expression is nested too deeply (more than 250 levels)"},
        {"a = 1", " ** 1", "", "nested too deeply"},
        {"a = b", ".c", "", "nested too deeply"},
        {"a = ", "lambda: ", "1", "nested too deeply"},
        {"a = 1", " if b else 1", "", "nested too deeply"},
        {"def f(x):\n if x: pass\n", " elif x: pass\n", "", "too many 'elif' branches"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        parsed p = parse_repeated(cases[i].head, cases[i].part, 20000, cases[i].tail);
        assert_non_null(strstr(errors(&p), cases[i].error));
        arena_destroy(p.arena);
    }
    parsed p = parse_repeated("def f(x):\n    return (0", ",1", 100000, ")\n"); // wide is fine
    assert_string_equal(errors(&p), "");
    arena_destroy(p.arena);
}

static void test_deep_blocks(void **state) {
    (void)state;
    char text[40000], *to = text;
    for (int level = 0; level < 200; level++)
        to += sprintf(to, "%*sif x:\n", level, "");
    parsed p = parse((sv){text, (size_t)(to - text)}, false);
    printed(&p);
    assert_non_null(strstr(errors(&p), "blocks are nested too deeply (more than 100)"));
    arena_destroy(p.arena);
}

// Random pieces of the language and random bytes, in both modes.
static void test_no_bytes_crash(void **state) {
    (void)state;
    static const char *const pieces[] = {"(",
                                         ")",
                                         "[",
                                         "]",
                                         "{",
                                         "}",
                                         ":",
                                         "\n",
                                         "\n    ",
                                         "\n  ",
                                         "\n\t",
                                         "'",
                                         "\"",
                                         "'''",
                                         "\"\"\"",
                                         "f\"{",
                                         "}\"",
                                         "\\",
                                         "\\\n",
                                         "#",
                                         "if ",
                                         "else:",
                                         "elif x:",
                                         "def f(x):\n  ",
                                         "for i in ",
                                         "while ",
                                         "try:",
                                         "except:",
                                         "class A:",
                                         "with a as b:",
                                         "lambda x: ",
                                         "return ",
                                         "import a\n",
                                         "from . import (x)\n",
                                         "*",
                                         "**",
                                         ":=",
                                         "==",
                                         "=",
                                         ",",
                                         ".",
                                         "0x",
                                         "1e",
                                         "\xFF",
                                         "\xE4\xB8\xAD",
                                         "\r\n",
                                         ";",
                                         "@",
                                         "@triton.jit\n",
                                         "not ",
                                         "in ",
                                         "and ",
                                         "-",
                                         "!",
                                         "?",
                                         "x",
                                         "1",
                                         "\\x4",
                                         "{{"};
    uint64_t seed = 88172645463325252u;
    for (int run = 0; run < 3000; run++) {
        char text[600];
        size_t len = 0;
        for (int n = (int)(seed % 60); n >= 0; n--) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            const char *piece = pieces[seed % (sizeof(pieces) / sizeof(pieces[0]))];
            if (seed >> 60 == 0)
                text[len++] = (char)(seed >> 32);
            memcpy(text + len, piece, strlen(piece));
            len += strlen(piece);
            if (len > 500)
                break;
        }
        parsed p = parse((sv){text, len}, run % 2);
        printed(&p);
        errors(&p);
        arena_destroy(p.arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expressions),    cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_python_host),    cmocka_unit_test(test_errors),
        cmocka_unit_test(test_indentation),    cmocka_unit_test(test_encoding),
        cmocka_unit_test(test_limits),         cmocka_unit_test(test_deep_blocks),
        cmocka_unit_test(test_no_bytes_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
