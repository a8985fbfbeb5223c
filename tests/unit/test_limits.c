// Inputs that are as large or as deep as they can be: each ends, in a result or in an error that says
// what is too much, within 2 s of processor time and 1 GiB. Every row is a text made by repetition,
// compiled by tilec's own main in a process of its own under those limits. docs/language.md lists the
// limits that are met here.
#include "support/text.h"
#include "tilec/driver.h"

#include <fcntl.h>
#include <signal.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__)
enum { SECONDS = 20, MEMORY = 0 }; // address sanitizer maps terabytes
#elif defined(__OPTIMIZE__)
enum { SECONDS = 2, MEMORY = 1 << 30 };
#else
enum { SECONDS = 5, MEMORY = 1 << 30 };
#endif

/// head, n × unit, middle, m × unit2, tail. A "^" in a unit becomes its number, "^^" the next one.
typedef struct input {
    const char *name;
    const char *expected; ///< in the first message; NULL: it compiles
    const char *head;
    uint32_t n;
    const char *unit, *middle;
    uint32_t m;
    const char *unit2, *tail;
} input;

#define K "def k(x: *fp32, n: i32):\n"

// clang-format off
static const input inputs[] = {
    // nesting
    {"parentheses", "brackets are nested too deeply (more than 200)", K "    y = ", 100000, "(", "1", 100000, ")", "\n"},
    {"minus signs", "the code is nested too deeply", K "    y = ", 1000000, "-", "n\n", 0, "", ""},
    {"nots", "the code is nested too deeply", K "    y = ", 300000, "not ", "n\n", 0, "", ""},
    {"powers", "the code is nested too deeply", K "    y = ", 100000, "2**", "2\n", 0, "", ""},
    {"members", "the expression is nested too deeply (more than 250 levels)", K "    y = n", 300000, ".a", "\n", 0, "", ""},
    {"calls of calls", "the expression is nested too deeply", K "    y = n", 300000, "()", "\n", 0, "", ""},
    {"ternaries", "the code is nested too deeply", K "    y = ", 5000, "^ if n == ^ else ", "0\n", 0, "", ""},
    {"lambdas", "the code is nested too deeply", K "    y = ", 100000, "lambda: ", "1\n", 0, "", ""},
    {"f-strings", "'{' is never closed in this f-string", K "    y = f\"", 500, "{f'", "a", 500, "'}", "\"\n"},
    {"elifs", "too many 'elif' branches (more than 200)", K "    if n:\n        pass\n", 5000, "    elif n == ^:\n        store(x, ^)\n", "", 0, "", ""},
    {"early returns", "branches and loops are nested more than 150 deep", K, 2000, "    if n == ^:\n        return\n", "", 0, "", ""},
    {"tuples of tuples", "a tuple can have at most 4096 elements, nested at most 32 deep", K "    y = (1, 2)\n", 64, "    y = (y, y)\n", "", 0, "", ""},
    // one long line
    {"a long sum", "the expression is nested too deeply", K "    y = n", 500000, " + n", "\n", 0, "", ""},
    {"a long list", "a tuple can have at most 4096 elements", K "    y = [", 500000, "1,", "]\n", 0, "", ""},
    {"a longer list", "the file has too many expressions and statements (more than 1048576)", K "    y = [", 2000000, "1,", "]\n", 0, "", ""},
    {"a long comparison", "the kernel has more than 200000 statements", K "    y = n", 500000, " < n", "\n", 0, "", ""},
    {"a long name", "name 'aaaaaaaa", K "    y = ", 1000000, "a", "\n", 0, "", ""},
    {"a long string", NULL, K "    y = '", 10000000, "a", "'\n", 0, "", ""},
    {"a long comment", NULL, "#", 10000000, "a", "\n" K "    pass\n", 0, "", ""},
    {"many arguments", "store() takes at most 6 arguments but 300000 were given", K "    store(n", 299999, ", n", ")\n", 0, "", ""},
    {"many parameters", "too many parameters (more than 1000)", "def k(a: i32", 20000, ", a^: i32", "):\n    pass\n", 0, "", ""},
    {"a long module name", "the name of a module is too long (more than 1024)", "import triton", 100000, ".a", "\n", 0, "", ""},
    {"unpacking", "a tuple can have at most 4096 elements", K "    a", 50000, ", a^", " = 0", 50000, ", ^", "\n"},
    {"a chain of assignments", NULL, K "    a", 100000, " = a^", " = n\n", 0, "", ""},
    {"blank lines", NULL, K "    pass", 5000000, "\n", "", 0, "", ""},
    {"a large file", "it is over 16 MiB", K "    pass", 17000000, "\n", "", 0, "", ""},
    // brackets and strings that nobody closes
    {"unclosed in every line", "'(' was never closed", K, 100000, "    y = (1\n", "", 0, "", ""},
    {"unclosed in every function", "'(' was never closed", "", 50000, "def k(x: *fp32:\n    store(x, 1)\n", "", 0, "", ""},
    {"unclosed before comments", "'(' was never closed", K "    y = (\n", 200000, "#\n", "", 0, "", ""},
    {"unclosed before blank lines", "'(' was never closed", K "    y = (\n", 1000000, "\n", "", 0, "", ""},
    {"unclosed strings", "unterminated string", K, 100000, "    y = \"abc\n", "", 0, "", ""},
    {"unclosed host code.py", "it has no kernel", "x = (\n", 200000, "#\n", "", 0, "", ""},
    {"host functions.py", "it has no kernel", "", 100000, "def f():\n    x = (\n", "", 0, "", ""},
    // very many mistakes
    {"bad characters", "unexpected '$'", "", 1000000, "$", "\n", 0, "", ""},
    {"bad lines", "unexpected '=', expected an expression", K, 50000, "    y = = 1\n", "", 0, "", ""},
    {"unknown names", "name 'undefined0' is not defined", K, 50000, "    y = undefined^\n", "", 0, "", ""},
    {"unknown names in a line", "name 'undefined0' is not defined", K "    y = [", 100000, "undefined^, ", "]\n", 0, "", ""},
    {"bad kernels", "parameter 'x' of kernel 'k0' has no type", "", 20000, "def k^(x):\n    store(x, 1)\n", "", 0, "", ""},
    {"bad calls", "unexpected keyword argument", K, 30000, "    store(x, ^, foo=1)\n", "", 0, "", ""},
    // compile time: loops, recursion, doubling
    {"static_range", "the kernel has more than 200000 statements", K "    for i in static_range(10**9):\n        store(x + i, n)\n", 0, "", "", 0, "", ""},
    {"static_range of nothing", "the kernel has more than 200000 statements", K "    for i in static_range(-2**63, 2**63 - 1):\n        pass\n", 0, "", "", 0, "", ""},
    {"recursion", "calls are nested more than 64 deep", "def f(a):\n    return f(a)\n" K "    store(x, f(n))\n", 0, "", "", 0, "", ""},
    {"mutual recursion", "calls are nested more than 64 deep", "def f(a):\n    return g(a)\ndef g(a):\n    return f(a)\n" K "    store(x, f(n))\n", 0, "", "", 0, "", ""},
    {"constexpr recursion", "the kernel has more than 200000 statements", "def f(a, i: constexpr):\n    if i == 0:\n        return a\n    return f(a, i - 1) + f(a + 1, i - 1)\n" K "    store(x, f(n, 40))\n", 0, "", "", 0, "", ""},
    {"globals in a circle", "this is nested too deeply", "A = B\nB = A\n" K "    store(x, A)\n", 0, "", "", 0, "", ""},
    {"helpers that double", "the kernel has more than 200000 statements", "def f0(a):\n    return a + 1\n", 40, "def f^^(a):\n    return f^(a) + f^(a)\n", K "    store(x, f40(n))\n", 0, "", ""},
    {"globals that double", "the kernel has more than 200000 statements", "A0 = 1\n", 60, "A^^ = A^ + A^\n", K "    store(x, A60)\n", 0, "", ""},
    {"tuples that double", "a tuple can have at most 4096 elements", K "    y = (1, 2)\n", 64, "    y = y + y\n", "", 0, "", ""},
    {"strings that double", "the result is too long", K "    y0: constexpr = 'ab'\n", 64, "    y^^: constexpr = y^ + y^\n", "", 0, "", ""},
    {"f-strings that double", "the result is too long", K "    y0: constexpr = 'ab'\n", 64, "    y^^: constexpr = f'{y^}{y^}'\n", "", 0, "", ""},
    {"a string, repeated", "the result is too long", K "    y: constexpr = 'a' * 10**9\n", 0, "", "", 0, "", ""},
    // numbers
    {"10**100000", "integer too large (more than 64 bits)", K "    store(x, 10**100000)\n", 0, "", "", 0, "", ""},
    {"2**2**40", "integer too large (more than 64 bits)", K "    store(x, 2**(2**40))\n", 0, "", "", 0, "", ""},
    {"a far shift", "integer too large (more than 64 bits)", K "    store(x, 1 << 10**9)\n", 0, "", "", 0, "", ""},
    {"many digits", "integer too large (more than 64 bits)", K "    store(x, ", 1000000, "9", ")\n", 0, "", ""},
    {"many digits of a float", NULL, K "    store(x, 0.", 1000000, "9", ")\n", 0, "", ""},
    // tiles
    {"a huge arange", "arange() counts in i32", K "    y = arange(0, 2**40)\n", 0, "", "", 0, "", ""},
    {"a huge tile", "a tile has at most 1048576 elements", K "    y = full((1024, 1024, 1024), 0, fp32)\n", 0, "", "", 0, "", ""},
    {"many registers", "tile<1048576xi32> ", K "    y = arange(0, 2**20)\n    store(x + y, load(x + y) + 1)\n", 0, "", "", 0, "", ""},
    {"too many elements", "takes 2048 registers in each of 128 threads, more than 1024: use num_warps = 8 or more, a smaller tile, or a loop over parts of it", K "    o = arange(0, 2**18)\n    store(x + o, softmax(load(x + o, mask=o < n)))\n", 0, "", "", 0, "", ""},
    {"as many elements as can be", NULL, K "    o = arange(0, 2**17)\n    store(x + o, softmax(load(x + o, mask=o < n)), mask=o < n)\n", 0, "", "", 0, "", ""},
    {"a large gather", NULL, "def k(x: *fp32, y: *i32, n: i32):\n    o = arange(0, 2**17)\n    store(x + o, load(x + load(y + o, mask=o < n) * n, mask=o < n), mask=o < n)\n", 0, "", "", 0, "", ""},
    {"many dimensions", "a tile has at most 8 dimensions", K "    y = n[None", 100000, ", None", "]\n", 0, "", ""},
    // much of everything
    {"masks of masks", NULL, K "    c = arange(0, 1024)\n    a = c < n\n    b = c >= 3\n", 100, "    a, b = a & b, a\n", "    store(x + c, load(x + c, mask=b) + 1, mask=a)\n", 0, "", ""},
    {"scalar stores", "the kernel is too large: about", K, 10000, "    store(x + ^, n)\n", "", 0, "", ""},
    {"scalar loads", "the kernel is too large: about", K "    s = 0.0\n", 10000, "    s += load(x + ^)\n", "    store(x, s)\n", 0, "", ""},
    {"branches", "the kernel is too large: about", K, 5000, "    if n > ^:\n        store(x, ^)\n", "", 0, "", ""},
    {"reductions", "the kernel is too large: about", K "    y = load(x + arange(0, 16))\n", 4000, "    y = softmax(y)\n", "    store(x + arange(0, 16), y)\n", 0, "", ""},
    {"tile ops", NULL, K "    o = arange(0, 128)\n    s = load(x + o)\n", 5000, "    s = s * s + ^\n", "    store(x + o, s)\n", 0, "", ""},
    {"products", NULL, K "    o = arange(0, 128)\n    y = load(x + o).to(i32)\n", 3000, "    y = y * n\n", "    store(x + o, y)\n", 0, "", ""},
    {"sums of products", NULL, K "    o = arange(0, 128)\n    y = load(x + o).to(i32)\n", 3000, "    y = y * n + n\n", "    store(x + o, y)\n", 0, "", ""},
    {"a long choice", NULL, K "    o = arange(0, 128)\n    y = load(x + o).to(i32)\n", 3000, "    y = where(y > n, y, y + n)\n", "    store(x + o, y)\n", 0, "", ""},
    {"joins and sums", NULL, K "    y = load(x + arange(0, 128)).reshape((2, 2, 2, 2, 2, 2, 2))\n", 60, "    y = join(y, y).sum(axis=0)\n", "    store(x + arange(0, 128), y.ravel())\n", 0, "", ""},
    {"helpers", NULL, "", 20000, "def h^(a):\n    return a + ^\n", K "    store(x, h19999(n))\n", 0, "", ""},
    {"globals", NULL, "", 20000, "A^ = ^\n", K "    store(x, A19999)\n", 0, "", ""},
    {"variables", NULL, K, 20000, "    a^ = n + ^\n", "    store(x, a1)\n", 0, "", ""},
    {"variables of a loop", NULL, K, 2000, "    a^ = n + ^\n", "    for i in range(n):\n", 2000, "        a^ = a^ + i\n", "    store(x, a1)\n"},
    {"variables of many branches", "the kernel has more than 200000 statements", K, 5000, "    a^ = n + ^\n", "", 5000, "    if n > ^:\n        a^ = n\n", "    store(x, a1)\n"},
    {"a long combine function", "the kernel is too large: about", "def f(a, b):\n    c = a + b\n", 5000, "    c = c * c + a\n", "    return c\n" K "    store(x, reduce(load(x + arange(0, 1024)), 0, f))\n", 0, "", ""},
    {"parameters.tir", "more than 1000 parameters", "func @k(%a: i32", 50000, ", %p^: i32", ") {num_warps = 4, num_ctas = 1, num_stages = 1} {\n  return\n}\n", 0, "", ""},
    {"regions.tir", "regions are nested more than 200 deep", "func @k(%c: i1) {num_warps = 4, num_ctas = 1, num_stages = 1} {\n", 100000, "  if %c {\n", "", 0, "", ""},
    {"stores.tir", "the kernel is too large: about", "func @k(%x: *fp32, %f: fp32) {num_warps = 4, num_ctas = 1, num_stages = 1} {\n", 100000, "  store %x, %f\n", "  return\n}\n", 0, "", ""},
    {"functions of one name", NULL, "", 20000, "def k(x: *fp32):\n    store(x, ^)\n", "", 0, "", ""},
};
// clang-format on

static void put_unit(FILE *f, const char *unit, uint32_t i) {
    for (; *unit; unit++) {
        if (unit[0] == '^' && unit[1] == '^')
            fprintf(f, "%u", i + 1), unit++;
        else if (unit[0] == '^')
            fprintf(f, "%u", i);
        else
            fputc(*unit, f);
    }
}

static void write_input(const input *in, const char *path) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(in->head, f);
    for (uint32_t i = 0; i < in->n; i++)
        put_unit(f, in->unit, i);
    fputs(in->middle, f);
    for (uint32_t i = 0; i < in->m; i++)
        put_unit(f, in->unit2, i);
    fputs(in->tail, f);
    assert_int_equal(fclose(f), 0);
}

static void limit(int what, rlim_t to) {
    struct rlimit r = {to, to};
    if (to)
        setrlimit(what, &r);
}

/// In the child: tilec with its messages in a file.
static int compile(const char *path, const char *messages) {
    int fd = open(messages, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    if (fd < 0 || dup2(fd, STDERR_FILENO) < 0)
        return 99;
    limit(RLIMIT_CPU, SECONDS);
    limit(RLIMIT_AS, MEMORY);
    char *argv[] = {"tilec", "-o", "/dev/null", (char *)path, NULL};
    return tile_compiler_main(4, argv);
}

static void check_end(const input *in, int status, const char *path) {
    char text[4096];
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof(text) - 1, f)] = 0;
    fclose(f);
    if (!WIFEXITED(status))
        fail_msg("%s: killed by signal %d%s", in->name, WTERMSIG(status),
                 WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL ? " (time)" : "");
    char *end = strchr(text, '\n');
    if (end)
        *end = 0;
    if (WEXITSTATUS(status) != (in->expected ? 1 : 0))
        fail_msg("%s: exit status %d: %s", in->name, WEXITSTATUS(status), text);
    if (in->expected && !strstr(text, in->expected))
        fail_msg("%s: expected '%s', got '%s'", in->name, in->expected, text);
}

static void run_input(void **state) {
    const input *in = *state;
    char dir[] = "/tmp/tile-limits-XXXXXX", path[64], messages[64];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/a.%s", dir,
             strchr(in->name, '.') ? strchr(in->name, '.') + 1 : "tile");
    snprintf(messages, sizeof(messages), "%s/messages", dir);
    write_input(in, path);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child)
        _exit(compile(path, messages));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    unlink(path);
    check_end(in, status, messages);
    unlink(messages);
    rmdir(dir);
}

int main(void) {
    enum { COUNT = sizeof(inputs) / sizeof(inputs[0]) };
    struct CMUnitTest tests[COUNT];
    for (unsigned i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){inputs[i].name, run_input, NULL, NULL, (void *)&inputs[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
