// What kernels say: device_print and print on standard output, in Triton's form, and assertions that
// fail. A child process runs the kernels, so that all its output can be caught, and because a GPU is
// lost to a process after a failed assertion. Lines have no order on a GPU and are compared sorted;
// on cpu their order is that of the programs.
#include "run.h"

#include <sys/wait.h>
#include <unistd.h>

typedef struct text {
    char *data;
    size_t len, capacity;
} text;

static void add(text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(text *t, const char *fmt, ...) {
    char line[1024];
    va_list args;
    va_start(args, fmt);
    size_t n = (size_t)vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    if (t->len + n + 1 > t->capacity) {
        t->capacity = 2 * (t->len + n + 1);
        char *grown = realloc(t->data, t->capacity);
        if (!grown)
            exit(1);
        t->data = grown;
    }
    memcpy(t->data + t->len, line, n + 1);
    t->len += n;
}

// ---------------------------------------------------------------------------- running in a child

static void launch_and_wait(const char *source, tile_arg *args, uint32_t n, const uint32_t grid[3],
                            uint32_t warps) {
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    tile_launch_options o = {
        .size = sizeof o, .grid = {grid[0], grid[1], grid[2]}, .num_warps = warps};
    must(tile_launch(k, args, n, &o, &err));
    must(tile_synchronize(dev, NULL, &err));
    tile_module_destroy(mod);
}

/// What body() writes to standard output and error.
static text output_of(void (*body)(void)) {
    int ends[2];
    fflush(stdout);
    if (pipe(ends))
        exit(1);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO), dup2(ends[1], STDERR_FILENO);
        close(ends[0]), close(ends[1]);
        open_test_device();
        body();
        tile_device_close(dev);
        fflush(stdout);
        _exit(0);
    }
    close(ends[1]);
    text out = {0};
    add(&out, "%s", "");
    char chunk[1024];
    for (ssize_t n; (n = read(ends[0], chunk, sizeof chunk - 1)) > 0;) {
        chunk[n] = 0;
        add(&out, "%s", chunk);
    }
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        printf("%s", out.data);
        exit(77);
    }
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ends with %d", status);
    return out;
}

static int compare_lines(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static uint32_t split(text *t, char ***lines) {
    uint32_t n = 0, capacity = 64;
    char **all = xmalloc(capacity * sizeof *all);
    for (char *line = strtok(t->data, "\n"); line; line = strtok(NULL, "\n")) {
        if (n == capacity && !(all = realloc(all, (capacity *= 2) * sizeof *all)))
            exit(1);
        all[n++] = line;
    }
    *lines = all;
    return n;
}

static void check_output(const char *what, void (*body)(void), text want, bool in_order) {
    text out = output_of(body);
    char **got, **expected;
    uint32_t n = split(&out, &got), m = split(&want, &expected);
    bool is_cuda =
        getenv("TILE_TEST_DEVICE") && strncmp(getenv("TILE_TEST_DEVICE"), "cuda", 4) == 0;
    if (is_cuda || !in_order) {
        qsort(got, n, sizeof *got, compare_lines);
        qsort(expected, m, sizeof *expected, compare_lines);
    }
    expect(n == m, "%s: %u lines, expected %u", what, n, m);
    for (uint32_t i = 0; i < n && i < m; i++)
        expect(!strcmp(got[i], expected[i]), "%s: line %u is\n  '%s', expected\n  '%s'", what, i,
               got[i], expected[i]);
    free(got), free(expected), free(out.data), free(want.data);
}

// ---------------------------------------------------------------------------- dtypes

/// Every type, from a tile and from a scalar; several warps hold copies of the 8 elements.
static void run_dtypes(void) {
    static const char source[] = "def k(f: *fp32, i: *i64, n: i32):\n"
                                 "    o = arange(0, 8)\n"
                                 "    x = load(f + o)\n"
                                 "    v = load(i + o)\n"
                                 "    device_print(\"fp32\", x)\n"
                                 "    device_print(\"fp16\", x.to(fp16))\n"
                                 "    device_print(\"bf16\", x.to(bf16))\n"
                                 "    device_print(\"fp64\", x.to(fp64))\n"
                                 "    device_print(\"fp8\", x.to(fp8e5))\n"
                                 "    device_print(\"i1\", v > 0)\n"
                                 "    device_print(\"i8\", v.to(i8))\n"
                                 "    device_print(\"u8\", v.to(u8))\n"
                                 "    device_print(\"i16\", v.to(i16))\n"
                                 "    device_print(\"u16\", v.to(u16))\n"
                                 "    device_print(\"i32\", v.to(i32))\n"
                                 "    device_print(\"u32\", v.to(u32))\n"
                                 "    device_print(\"i64\", v)\n"
                                 "    device_print(\"u64\", v.to(u64))\n"
                                 "    s = load(i + n)\n"
                                 "    device_print(\"hex i1\", v > 0, hex=True)\n"
                                 "    device_print(\"hex i8\", v.to(i8), hex=True)\n"
                                 "    device_print(\"hex i16\", v.to(i16), hex=True)\n"
                                 "    device_print(\"hex u32\", v.to(u32), hex=True)\n"
                                 "    device_print(\"hex i64\", v, hex=True)\n"
                                 "    device_print(\"hex fp16\", x.to(fp16), hex=True)\n"
                                 "    device_print(\"hex fp32\", x, hex=True)\n"
                                 "    device_print(\"hex fp64\", x.to(fp64), hex=True)\n"
                                 "    device_print(\"scalar\", s)\n"
                                 "    device_print(\"scalar i8\", s.to(i8), hex=True)\n"
                                 "    device_print(\"scalar fp16\", load(f + 1).to(fp16))\n";
    static const float f[8] = {0.0f, -1.5f, INFINITY, -INFINITY, NAN, 0.25f, -0.0f, 100.0f};
    static const int64_t i[8] = {0, 1, -1, 127, -128, 65535, INT64_MAX, INT64_MIN};
    tile_buffer *df = buffer_from(f, sizeof f), *di = buffer_from(i, sizeof i);
    tile_arg args[] = {TILE_BUFFER(df, "fp32"), TILE_BUFFER(di, "i64"), TILE_I32(4)};
    launch_and_wait(source, args, 3, (uint32_t[]){1, 1, 1}, 4);
    tile_buffer_destroy(df), tile_buffer_destroy(di);
}

static text dtype_lines(void) {
    static const char *const floats[] = {"fp32", "fp16", "bf16", "fp64", "fp8"};
    static const char *const values[] = {"0.000000", "-1.500000", "inf",       "-inf",
                                         "nan",      "0.250000",  "-0.000000", "100.000000"};
    static const int64_t v[8] = {0, 1, -1, 127, -128, 65535, INT64_MAX, INT64_MIN};
    static const uint32_t h16[] = {0, 0xbe00, 0x7c00, 0xfc00, 0x7fff, 0x3400, 0x8000, 0x5640};
    static const uint32_t h32[] = {0,          0xbfc00000, 0x7f800000, 0xff800000,
                                   0x7fc00000, 0x3e800000, 0x80000000, 0x42c80000};
    text t = {0};
    for (int k = 0; k < 5; k++)
        for (int e = 0; e < 8; e++) {
            const char *value = values[e];
            if (k == 4) // e5m2, saturating: 57344 for infinities; 96 is nearest to 100
                value = e == 2   ? "57344.000000"
                        : e == 3 ? "-57344.000000"
                        : e == 7 ? "96.000000"
                                 : value;
            add(&t, "pid (0, 0, 0) idx (%d) %s: %s\n", e, floats[k], value);
        }
#define INTS(name, cast, format)                                                                   \
    for (int e = 0; e < 8; e++)                                                                    \
    add(&t, "pid (0, 0, 0) idx (%d) " name ": " format "\n", e, cast)
    INTS("i1", v[e] > 0, "%d");
    INTS("i8", (int8_t)v[e], "%d");
    INTS("u8", (uint8_t)v[e], "%d");
    INTS("i16", (int16_t)v[e], "%d");
    INTS("u16", (uint16_t)v[e], "%d");
    INTS("i32", (int32_t)v[e], "%d");
    INTS("u32", (uint32_t)v[e], "%u");
    INTS("i64", (long long)v[e], "%lld");
    INTS("u64", (unsigned long long)v[e], "%llu");
    INTS("hex i1", v[e] > 0, "0x%d");
    INTS("hex i8", (uint8_t)v[e], "0x%02x");
    INTS("hex i16", (uint16_t)v[e], "0x%04x");
    INTS("hex u32", (uint32_t)v[e], "0x%08x");
    INTS("hex i64", (unsigned long long)v[e], "0x%016llx");
    INTS("hex fp16", h16[e], "0x%04x");
    INTS("hex fp32", h32[e], "0x%08x");
#undef INTS
    static const double d[8] = {0.0, -1.5, INFINITY, -INFINITY, NAN, 0.25, -0.0, 100.0};
    for (int e = 0; e < 8; e++) {
        uint64_t bits;
        memcpy(&bits, &d[e], 8);
        add(&t, "pid (0, 0, 0) idx (%d) hex fp64: 0x%016llx\n", e,
            (unsigned long long)(e == 4 ? 0x7ff8000000000000 : bits));
    }
    add(&t, "pid (0, 0, 0) idx () scalar: -128\npid (0, 0, 0) idx () scalar i8: 0x80\n"
            "pid (0, 0, 0) idx () scalar fp16: -1.500000\n");
    return t;
}

// ---------------------------------------------------------------------------- prefixes, shapes, grids

static void run_forms(void) {
    static const char source[] = "def k(n: i32, p: *fp32, x: fp32):\n"
                                 "    device_print(\"x\", n)\n"
                                 "    device_print(\"x:\", n)\n"
                                 "    device_print(\"x: \", n)\n"
                                 "    device_print(\" x \", n)\n"
                                 "    device_print(\"x  \", n)\n"
                                 "    device_print(\"\", n)\n"
                                 "    device_print(\"100% of %d\", n)\n"
                                 "    device_print(\"hi\")\n"
                                 "    device_print(\"hello\")\n"
                                 "    device_print(\"two\", n, x)\n"
                                 "    print(\"n is\", n)\n"
                                 "    print(\"a\", f\"b {n.dtype}\", n, 7, x * 0.5)\n"
                                 "    print(n)\n"
                                 "    print(\"a\", \"b\", n, sep=\"-\")\n"
                                 "    print(\"hex\", n, hex=True)\n"
                                 "    device_print(\"null\", p)\n";
    tile_arg args[] = {TILE_I32(42), TILE_POINTER(NULL, "fp32"), TILE_FP32(2.5)};
    launch_and_wait(source, args, 3, (uint32_t[]){1, 1, 1}, 2);
}

static text form_lines(void) {
    static const char *const rows[] = {" idx () x: 42",
                                       " idx () x: 42",
                                       " idx () x: 42",
                                       " idx () x: 42",
                                       " idx () x : 42",
                                       " idx (): 42",
                                       " idx () 100% of %d: 42",
                                       "hi",
                                       " hello",
                                       " idx () two: (operand 0) 42",
                                       " idx () two: (operand 1) 2.500000",
                                       " idx () n is: 42",
                                       " idx () a b i32: (operand 0) 42",
                                       " idx () a b i32: (operand 1) 7",
                                       " idx () a b i32: (operand 2) 1.250000",
                                       " idx (): 42",
                                       " idx () a-b: 42",
                                       " idx () hex: 0x0000002a",
                                       " idx () null: 0x0"};
    text t = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        add(&t, "pid (0, 0, 0)%s\n", rows[i]);
    return t;
}

/// Each element once, whatever the number of warps, from a grid of three axes.
static void run_tiles(void) {
    static const char source[] =
        "def k(n: i32):\n"
        "    i = arange(0, 2)[:, None, None] * 100 + arange(0, 16)[None, :, None] * 4 + arange(0, "
        "1)[None, None, :]\n"
        "    i += 1000 * program_id(0) + 2000 * program_id(1) + 4000 * program_id(2)\n"
        "    device_print(\"i\", i, sum(i.reshape(32), axis=0, keep_dims=True))\n";
    for (uint32_t warps = 1; warps <= 8; warps *= 8) {
        tile_arg args[] = {TILE_I32(42)};
        launch_and_wait(source, args, 1, (uint32_t[]){2, 2, 2}, warps);
    }
}

static text tile_lines(void) {
    text t = {0};
    for (int warps = 0; warps < 2; warps++)
        for (int p = 0; p < 8; p++) {
            int x = p % 2, y = p / 2 % 2, z = p / 4, sum = 0;
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 16; j++) {
                    int v = i * 100 + j * 4 + 1000 * p;
                    sum += v;
                    add(&t, "pid (%d, %d, %d) idx (%d, %2d, 0) i: (operand 0) %d\n", x, y, z, i, j,
                        v);
                }
            add(&t, "pid (%d, %d, %d) idx (0) i: (operand 1) %d\n", x, y, z, sum);
        }
    return t;
}

/// Only where control flow comes by, and in the order of the program and of the programs.
static void run_order(void) {
    static const char source[] = "def k(n: i32):\n"
                                 "    if program_id(0) % 2 == 1:\n"
                                 "        for i in range(0, program_id(0)):\n"
                                 "            device_print(\"i\", i)\n"
                                 "    else:\n"
                                 "        device_print(\"even\")\n";
    tile_arg args[] = {TILE_I32(42)};
    launch_and_wait(source, args, 1, (uint32_t[]){20, 1, 1}, 4);
}

static text order_lines(void) {
    text t = {0};
    for (int p = 0; p < 20; p++) {
        if (p % 2 == 0)
            add(&t, "pid (%d, 0, 0) even\n", p);
        for (int i = 0; p % 2 == 1 && i < p; i++)
            add(&t, "pid (%d, 0, 0) idx () i: %d\n", p, i);
    }
    return t;
}

// ---------------------------------------------------------------------------- assertions

typedef struct assert_case {
    const char *what, *body; ///< lines of k(x: *i32, n: i32), from line 2 on
    int32_t n;
    bool no_asserts;
    const char *line, *message; ///< of the failure; NULL: none
} assert_case;

static const assert_case assert_cases[] = {
    {"a scalar that holds", "    device_assert(n > 0, \"positive\")\n    store(x, n)\n", 1, false,
     NULL, NULL},
    {"a scalar", "    store(x, 1)\n    device_assert(n > 0, \"positive\")\n", 0, false, "3",
     "positive"},
    {"no message", "    device_assert(n > 0)\n", 0, false, "2", "ssertion"},
    {"a statement",
     "    o = arange(0, 64)\n    if n == 5:\n        assert n != 5, f\"not {2 + 3}, 100%s\"\n", 5,
     false, "4", "not 5, 100%s"},
    {"a number", "    assert n, \"zero\"\n", 0, false, "2", "zero"},
    {"one element of a tile",
     "    o = arange(0, 512)\n    device_assert(o != n, \"hit\")\n    store(x + o % 64, o)\n", 37,
     false, "3", "hit"},
    {"a tile smaller than the threads",
     "    o = arange(0, 4)\n    device_assert(o != n, \"hit\")\n", 3, false, "3", "hit"},
    {"masked off",
     "    o = arange(0, 64)\n    device_assert(o != n, \"hit\", mask=o > n)\n    store(x + o, o)\n",
     37, false, NULL, NULL},
    {"masked on", "    o = arange(0, 64)\n    device_assert(o < 10, \"hit\", mask=o < n)\n", 11,
     false, "3", "hit"},
    {"before an access that goes astray",
     "    o = arange(0, 256) * n\n    device_assert(o < 64, \"astray\")\n    store(x + o, o)\n",
     100000000, false, "3", "astray"},
    {"in a helper", "    check(n)\n\ndef check(v):\n    assert v < 3, \"large\"\n", 3, false, "5",
     "large"},
    {"left out", "    device_assert(n > 0, \"positive\")\n    assert n > 3\n    store(x, n)\n", 0,
     true, NULL, NULL},
};

static const assert_case *current;

/// Says how the launch ended, and that the next call neither hangs nor crashes.
static void run_assert(void) {
    char source[512];
    snprintf(source, sizeof source, "def k(x: *i32, n: i32):\n%s", current->body);
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    tile_buffer *x = buffer_from(NULL, 256);
    tile_arg args[] = {TILE_BUFFER(x, "i32"), TILE_I32(current->n)};
    tile_launch_options o = {
        .size = sizeof o, .grid = {3}, .num_warps = 4, .no_asserts = current->no_asserts};
    tile_status s = tile_launch(k, args, 2, &o, &err);
    if (!s)
        s = tile_synchronize(dev, NULL, &err);
    printf("STATUS %d %s\n", s, s ? err.message : "");
    s = tile_launch(k, args, 2, &o, &err);
    if (!s)
        s = tile_synchronize(dev, NULL, &err);
    printf("AGAIN %d\n", s);
    tile_buffer_destroy(x);
    tile_module_destroy(mod);
}

static void test_asserts(void) {
    for (size_t i = 0; i < sizeof assert_cases / sizeof *assert_cases; i++) {
        current = &assert_cases[i];
        char status[32], place[32];
        int code = current->message ? TILE_ERROR_ASSERTION : TILE_OK;
        text out = output_of(run_assert);
        snprintf(status, sizeof status, "STATUS %d ", code);
        expect(strstr(out.data, status), "%s: expected %s in: %s", current->what, status, out.data);
        snprintf(status, sizeof status, "AGAIN %d\n", code);
        expect(strstr(out.data, status), "%s: expected %s in: %s", current->what, status, out.data);
        if (current->message) {
            snprintf(place, sizeof place, "test.tile:%s:", current->line);
            expect(strstr(out.data, place) && strstr(out.data, current->message),
                   "%s: expected %s %s in: %s", current->what, place, current->message, out.data);
        }
        free(out.data);
    }
}

int main(void) {
    check_output("types", run_dtypes, dtype_lines(), true);
    check_output("forms", run_forms, form_lines(), true);
    check_output("tiles", run_tiles, tile_lines(), false);
    check_output("order", run_order, order_lines(), true);
    test_asserts();
    printf("%ld checks, %ld failed\n", checks, failures);
    return failures != 0 || checks == 0;
}
