// Conformance of runtime/tile.h on any device, part two: launching. Which arguments fit which
// parameters, how they are typed and specialized, and what every wrong call answers.
#include "../run/run.h"

static tile_buffer *out; ///< 16 elements of up to 8 bytes

static const tile_status BAD = TILE_ERROR_INVALID_ARGUMENT;

typedef struct program {
    tile_module *mod;
    tile_kernel *k;
} program;

static program load(const char *source) {
    program p;
    p.k = kernel_from(source, "k", &p.mod);
    return p;
}

static tile_status launch(program p, const tile_arg *args, uint32_t n) {
    tile_launch_options o = {.size = sizeof o, .grid = {1}};
    must(tile_fill(out, 0, 0, 128, NULL, &err));
    return tile_launch(p.k, args, n, &o, &err);
}

#define ARGS(...)                                                                                  \
    (const tile_arg[]){__VA_ARGS__}, sizeof((const tile_arg[]){__VA_ARGS__}) / sizeof(tile_arg)
#define OUT(type) TILE_BUFFER(out, type)
#define NAMED(n, a) named(n, a)

static tile_arg named(const char *name, tile_arg a) {
    a.name = name;
    return a;
}

/// The call must fail with the status, and its message must have both parts.
static void expect_refused(tile_status got, tile_status want, const char *part, const char *part2) {
    expect(got == want, "%s (%s), expected %s about %s", tile_status_text(got),
           got ? err.message : "", tile_status_text(want), part);
    if (got && got == want)
        expect(err.message[0] && strstr(err.message, part) &&
                   (!part2 || strstr(err.message, part2)),
               "no '%s' or '%s' in '%s'", part, part2 ? part2 : "", err.message);
}

/// The call must work and leave `want` in element 0 of out, taken as fp32 or as a 64-bit integer.
static void expect_float(const char *what, tile_status got, double want) {
    float v = -999;
    expect(got == TILE_OK, "%s: %s", what, err.message);
    read_buffer(out, &v, 4);
    expect(got != TILE_OK || v == (float)want, "%s: %g, expected %g", what, (double)v, want);
}

static void expect_int(const char *what, tile_status got, int64_t want) {
    int64_t v = -999;
    expect(got == TILE_OK, "%s: %s", what, err.message);
    read_buffer(out, &v, 8);
    expect(got != TILE_OK || v == want, "%s: %lld, expected %lld", what, (long long)v,
           (long long)want);
}

// --- positions and names

static void test_names(void) {
    program p = load("def k(x: *fp32, a: i32, b: i32, C: constexpr = 7, D: constexpr = 1):\n"
                     "    store(x, (a * 1000 + b * 100 + C * 10 + D).to(fp32))\n");
    tile_arg x = OUT("fp32"), a = TILE_I32(1), b = TILE_I32(2), c = TILE_CONSTEXPR_INT("C", 5),
             d = TILE_CONSTEXPR_INT("D", 6);
    expect_float("positional", launch(p, ARGS(x, a, b)), 1271);
    expect_float("one default", launch(p, ARGS(x, a, b, c)), 1251);
    expect_float("a later default", launch(p, ARGS(x, a, b, d)), 1276);
    expect_float(
        "names in any order",
        launch(p, ARGS(NAMED("D", d), NAMED("b", b), NAMED("C", c), NAMED("x", x), NAMED("a", a))),
        1256);
    expect_float("names after positions", launch(p, ARGS(x, a, NAMED("D", d), NAMED("b", b))),
                 1276);
    expect_float("constexprs by position", launch(p, ARGS(x, a, b, NAMED(NULL, c), NAMED(NULL, d))),
                 1256);
    expect_refused(launch(p, ARGS(x, a)), BAD, "no argument", "'b'");
    expect_refused(launch(p, NULL, 0), BAD, "no argument", "'x'");
    expect_refused(launch(p, ARGS(x, a, b, a, a, a)), BAD, "takes 5 arguments", "6");
    expect_refused(launch(p, ARGS(x, a, b, NAMED("b", b))), BAD, "twice", "'b'");
    expect_refused(launch(p, ARGS(x, a, b, c, c)), BAD, "twice", "'C'");
    expect_refused(launch(p, ARGS(x, a, b, NAMED("e", b))), BAD, "no parameter", "'e'");
    expect_refused(launch(p, ARGS(x, a, b, NAMED("", b))), BAD, "no parameter", "''");
    expect_refused(launch(p, ARGS(x, a, NAMED("b", b), a)), BAD, "positional", "'k'");
    tile_launch_options o = {.size = sizeof o, .grid = {1}};
    expect_refused(tile_launch(NULL, NULL, 0, &o, &err), BAD, "kernel", "NULL");
    expect_refused(tile_launch(p.k, NULL, 3, &o, &err), BAD, "args", "NULL");
    expect_refused(tile_launch(p.k, &x, 1, NULL, &err), BAD, "options", "NULL");
    expect_refused(tile_warmup(NULL, NULL, 0, &o, NULL, &err), BAD, "kernel", "NULL");
    expect_refused(tile_kernel_ptx(p.k, &x, 1, &o, NULL, &err), BAD, "out_ptx", "NULL");
    tile_module_destroy(p.mod);
}

// --- types of annotated parameters

static void test_annotated(void) {
    program p = load("def k(x: *fp32, n: i32):\n"
                     "    store(x, n.to(fp32))\n");
    tile_arg x = OUT("fp32");
    expect_float("i32 from i32", launch(p, ARGS(x, TILE_I32(-5))), -5);
    expect_float("i32 from a number", launch(p, ARGS(x, TILE_INT(INT32_MIN))), (double)INT32_MIN);
    expect_refused(launch(p, ARGS(x, TILE_INT(INT64_C(1) << 31))), BAD,
                   "2147483648 is out of range", "'n'");
    expect_refused(launch(p, ARGS(x, TILE_INT((int64_t)INT32_MIN - 1))), BAD, "out of range",
                   "'n'");
    expect_refused(launch(p, ARGS(x, TILE_I32(INT64_C(1) << 40))), BAD, "out of range", "'n'");
    expect_refused(launch(p, ARGS(x, TILE_I64(5))), BAD, "'n' is i32", "i64");
    expect_refused(launch(p, ARGS(x, TILE_FP32(5))), BAD, "'n' is i32", "fp32");
    expect_refused(launch(p, ARGS(x, TILE_FLOAT(5))), BAD, "'n' is i32", "float");
    expect_refused(launch(p, ARGS(x, x)), BAD, "'n' is i32", "pointer");
    expect_refused(launch(p, ARGS(x, TILE_CONSTEXPR_INT(NULL, 5))), BAD, "'n' is i32", "constexpr");
    expect_refused(launch(p, ARGS(OUT("fp16"), TILE_I32(1))), BAD, "'x' is *fp32", "fp16");
    expect_refused(launch(p, ARGS(OUT("i32"), TILE_I32(1))), BAD, "'x' is *fp32", "i32");
    expect_refused(launch(p, ARGS(TILE_POINTER(NULL, NULL), TILE_I32(1))), BAD, "'x' is *fp32",
                   NULL);
    expect_refused(launch(p, ARGS(OUT("fp31"), TILE_I32(1))), BAD, "'x' is *fp32", "fp31");
    expect_refused(launch(p, ARGS(OUT(""), TILE_I32(1))), BAD, "'x' is *fp32", NULL);
    expect_refused(launch(p, ARGS(TILE_I64(8), TILE_I32(1))), BAD, "'x' is *fp32", "scalar");
    expect_refused(launch(p, ARGS(TILE_INT(8), TILE_I32(1))), BAD, "'x' is *fp32", "integer");
    expect_refused(launch(p, ARGS(x, ((tile_arg){.kind = (tile_arg_kind)77}))), BAD, "'n'",
                   "unknown");
    expect_refused(launch(p, ARGS(x, ((tile_arg){.kind = TILE_ARG_SCALAR}))), BAD, "'n'", NULL);
    expect_refused(launch(p, ARGS(x, ((tile_arg){.kind = TILE_ARG_SCALAR, .dtype = "int"}))), BAD,
                   "'n'", NULL);
    tile_module_destroy(p.mod);
}

typedef struct int_range {
    const char *type;
    int64_t least, most;
} int_range;

static void test_ranges(void) {
    static const int_range types[] = {{"i8", INT8_MIN, INT8_MAX},    {"u8", 0, UINT8_MAX},
                                      {"i16", INT16_MIN, INT16_MAX}, {"u16", 0, UINT16_MAX},
                                      {"i32", INT32_MIN, INT32_MAX}, {"u32", 0, UINT32_MAX},
                                      {"i64", INT64_MIN, INT64_MAX}, {"u64", 0, INT64_MAX}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const int_range *t = &types[i];
        char source[128];
        snprintf(source, sizeof source, "def k(x: *i64, n: %s):\n    store(x, n.to(i64))\n",
                 t->type);
        program p = load(source);
        tile_arg x = OUT("i64"),
                 n = {.kind = TILE_ARG_SCALAR, .dtype = t->type, .value.i = t->least};
        expect_int(t->type, launch(p, ARGS(x, TILE_INT(t->least))), t->least);
        expect_int(t->type, launch(p, ARGS(x, TILE_INT(t->most))), t->most);
        expect_int(t->type, launch(p, ARGS(x, TILE_INT(1))), 1);
        expect_int(t->type, launch(p, ARGS(x, TILE_INT(t->most - t->most % 16))),
                   t->most - t->most % 16);
        expect_int(t->type, launch(p, ARGS(x, n)), t->least);
        if (t->least != INT64_MIN)
            expect_refused(launch(p, ARGS(x, TILE_INT(t->least - 1))), BAD, "out of range",
                           t->type);
        if (t->most != INT64_MAX)
            expect_refused(launch(p, ARGS(x, TILE_INT(t->most + 1))), BAD, "out of range", t->type);
        tile_module_destroy(p.mod);
    }
    program p = load("def k(x: *i64, n: u64):\n    store(x, (n >> 60).to(i64))\n");
    tile_arg n = {.kind = TILE_ARG_SCALAR, .dtype = "u64", .value.i = -1}; // the bits of 2^64 - 1
    expect_int("u64 above i64", launch(p, ARGS(OUT("i64"), n)), 15);
    tile_module_destroy(p.mod);
    p = load("def k(x: *i64, b: i1):\n    store(x, 5 if b else 6)\n");
    expect_int("i1 of 0", launch(p, ARGS(OUT("i64"), TILE_INT(0))), 6);
    expect_int("i1 of 1", launch(p, ARGS(OUT("i64"), TILE_INT(1))), 5);
    tile_arg two = {.kind = TILE_ARG_SCALAR, .dtype = "i1", .value.i = 2};
    expect_int("i1 of 2", launch(p, ARGS(OUT("i64"), two)), 5);
    tile_module_destroy(p.mod);
}

static void test_floats(void) {
    static const char *const types[] = {"fp16", "bf16", "fp32", "fp64"};
    for (size_t i = 0; i < 4; i++) {
        char source[128];
        snprintf(source, sizeof source, "def k(x: *fp32, a: %s):\n    store(x, (a * 2).to(fp32))\n",
                 types[i]);
        program p = load(source);
        tile_arg typed = {.kind = TILE_ARG_SCALAR, .dtype = types[i], .value.f = -0.375};
        expect_float(types[i], launch(p, ARGS(OUT("fp32"), typed)), -0.75);
        expect_float(types[i], launch(p, ARGS(OUT("fp32"), TILE_FLOAT(1.5))), 3);
        expect_float(types[i], launch(p, ARGS(OUT("fp32"), TILE_INT(-3))), -6);
        expect_float(types[i], launch(p, ARGS(OUT("fp32"), TILE_FLOAT(HUGE_VAL))), INFINITY);
        typed.dtype = types[(i + 1) % 4];
        expect_refused(launch(p, ARGS(OUT("fp32"), typed)), BAD, "'a' is ", types[(i + 1) % 4]);
        tile_module_destroy(p.mod);
    }
}

// --- types of parameters without annotation

static void test_untyped(void) {
    // 2^30 · n tells i32, which wraps, from i64.
    program p = load("def k(x, n):\n"
                     "    store(x, (n * 1073741824).to(i64))\n");
    tile_arg x = OUT("i64");
    expect_int("i32", launch(p, ARGS(x, TILE_I32(4))), 0);
    expect_int("i64", launch(p, ARGS(x, TILE_I64(4))), INT64_C(1) << 32);
    expect_int("a small number is i32", launch(p, ARGS(x, TILE_INT(4))), 0);
    expect_int("a large number is i64", launch(p, ARGS(x, TILE_INT((INT64_C(1) << 31) + 1))),
               (INT64_C(1) << 61) + (INT64_C(1) << 30));
    expect_int("a very negative number is i64",
               launch(p, ARGS(x, TILE_INT(-(INT64_C(1) << 31) - 1))),
               -(INT64_C(1) << 61) - (INT64_C(1) << 30));
    expect_int("1 stays i32", launch(p, ARGS(x, TILE_INT(1))), 1 << 30);
    expect_int("1 as i64", launch(p, ARGS(x, TILE_I64(1))), 1 << 30);
    tile_module_destroy(p.mod);
    p = load("def k(x, n):\n    store(x, (n * 65536 * 65536).to(i64))\n");
    expect_int("1 wraps as an i32", launch(p, ARGS(x, TILE_INT(1))), 0);
    expect_int("1 of i64 does not", launch(p, ARGS(x, TILE_I64(1))), INT64_C(1) << 32);
    tile_module_destroy(p.mod);
    p = load("def k(x, a):\n    store(x, a / 3)\n"); // rounds in fp32 or in fp64
    expect_float("a float is fp32", launch(p, ARGS(OUT("fp32"), TILE_FLOAT(6))), 2);
    expect_float("fp64 stays fp64", launch(p, ARGS(OUT("fp32"), TILE_FP64(9))), 3);
    expect_refused(launch(p, ARGS(OUT("fp33"), TILE_FP64(9))), BAD, "'x'", "fp33");
    expect_refused(
        launch(p, ARGS(OUT("fp32"), ((tile_arg){.kind = TILE_ARG_SCALAR, .dtype = "x"}))), BAD,
        "'a'", NULL);
    tile_module_destroy(p.mod);
    p = load("def k(x, y):\n    store(x, load(y).to(fp32))\n");
    int16_t v = -300;
    tile_buffer *y = buffer_from(&v, 2);
    expect_float("a pointer's type is the launch's",
                 launch(p, ARGS(OUT("fp32"), TILE_BUFFER(y, "i16"))), -300);
    expect_float("another one", launch(p, ARGS(OUT("fp32"), TILE_BUFFER(y, "u16"))), 65236);
    expect_float("and another", launch(p, ARGS(OUT("fp32"), TILE_BUFFER(y, "i8"))), -44);
    tile_buffer_destroy(y);
    tile_module_destroy(p.mod);
}

// --- constexprs, None, defaults

typedef struct constexpr_case {
    const char *expression; ///< of C
    tile_arg value;
    double want;
} constexpr_case;

#define CONSTEXPR_NONE                                                                             \
    (tile_arg) {                                                                                   \
        .name = "C", .kind = TILE_ARG_CONSTEXPR, .constexpr_kind = TILE_CONSTEXPR_KIND_NONE        \
    }

static void test_constexprs(void) {
    const constexpr_case cases[] = {
        {"C + 1", TILE_CONSTEXPR_INT("C", -8), -7},
        {"C // 2", TILE_CONSTEXPR_INT("C", -7), -4}, // Python's floor
        {"C >> 40", TILE_CONSTEXPR_INT("C", INT64_C(1) << 42), 4},
        {"10 if C else 20", TILE_CONSTEXPR_BOOL("C", true), 10},
        {"10 if C else 20", TILE_CONSTEXPR_BOOL("C", false), 20},
        {"C * 2", TILE_CONSTEXPR_FLOAT("C", 1.25), 2.5},
        {"10 if C == 'sum' else 20", TILE_CONSTEXPR_STRING("C", "sum"), 10},
        {"10 if C == 'sum' else 20", TILE_CONSTEXPR_STRING("C", "summ"), 20},
        {"10 if C == '' else 20", TILE_CONSTEXPR_STRING("C", ""), 10},
        {"v.to(C)", TILE_CONSTEXPR_DTYPE("C", "i32"), 3},
        {"v.to(C)", TILE_CONSTEXPR_DTYPE("C", "fp16"), 3.69921875},
        {"v.to(C)", TILE_CONSTEXPR_DTYPE("C", "float32"), 3.7f},
        {"10 if C is None else 20", CONSTEXPR_NONE, 10},
        {"10 if C is None else 20", named("C", TILE_NONE()), 10},
        {"10 if C is None else 20", TILE_CONSTEXPR_INT("C", 0), 20},
        // Plain numbers will do.
        {"C + 1", named("C", TILE_INT(4)), 5},
        {"C + 1", named("C", TILE_I32(4)), 5},
        {"C * 2", named("C", TILE_FLOAT(0.5)), 1},
        {"C * 2", named("C", TILE_FP64(0.5)), 1},
    };
    float v = 3.7f;
    tile_buffer *in = buffer_from(&v, 4);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char source[256];
        snprintf(source, sizeof source,
                 "def k(x: *fp32, p: *fp32, C: constexpr):\n    v = load(p)\n    store(x, %s)\n",
                 cases[i].expression);
        program p = load(source);
        expect_float(cases[i].expression,
                     launch(p, ARGS(OUT("fp32"), TILE_BUFFER(in, "fp32"), cases[i].value)),
                     cases[i].want);
        tile_module_destroy(p.mod);
    }
    program p = load("def k(x: *fp32, p: *fp32, C: constexpr):\n    store(x, 1.0)\n");
    tile_arg x = OUT("fp32"), y = TILE_BUFFER(in, "fp32");
    expect_refused(launch(p, ARGS(x, y, y)), BAD, "'C' is a constexpr", "pointer");
    expect_refused(launch(p, ARGS(x, y, TILE_CONSTEXPR_STRING("C", NULL))), BAD,
                   "'C': the constexpr has no value", NULL);
    expect_refused(launch(p, ARGS(x, y, TILE_CONSTEXPR_DTYPE("C", NULL))), BAD,
                   "'C': the constexpr has no value", NULL);
    expect_refused(launch(p, ARGS(x, y, TILE_CONSTEXPR_DTYPE("C", "fp31"))), BAD,
                   "no dtype is called 'fp31'", NULL);
    tile_arg odd = {
        .name = "C", .kind = TILE_ARG_CONSTEXPR, .constexpr_kind = (tile_constexpr_kind)99};
    expect_refused(launch(p, ARGS(x, y, odd)), BAD, "'C': the constexpr has an unknown kind", NULL);
    expect_refused(launch(p, ARGS(x, y, ((tile_arg){.kind = TILE_ARG_SCALAR, .dtype = "x"}))), BAD,
                   "'C' is a constexpr", NULL);
    char text[5000];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = 0;
    expect_refused(launch(p, ARGS(x, y, TILE_CONSTEXPR_STRING("C", text))), BAD, "too long", "'k'");
    text[1500] = 0;
    expect_float("a long string", launch(p, ARGS(x, y, TILE_CONSTEXPR_STRING("C", text))), 1);
    tile_module_destroy(p.mod);
    tile_buffer_destroy(in);
}

static void test_none(void) {
    program p = load("def k(x: *fp32, bias, n: i32):\n"
                     "    v = n.to(fp32)\n"
                     "    if bias is not None:\n"
                     "        v += load(bias)\n"
                     "    store(x, v)\n");
    float v = 0.5f;
    tile_buffer *b = buffer_from(&v, 4);
    expect_float("None", launch(p, ARGS(OUT("fp32"), TILE_NONE(), TILE_I32(3))), 3);
    expect_float("not None", launch(p, ARGS(OUT("fp32"), TILE_BUFFER(b, "fp32"), TILE_I32(3))),
                 3.5);
    expect_float("None, named",
                 launch(p, ARGS(OUT("fp32"), NAMED("n", TILE_I32(7)), NAMED("bias", TILE_NONE()))),
                 7);
    tile_module_destroy(p.mod);
    p = load("def k(x: *fp32, bias: *fp32, n: i32):\n"
             "    if bias is None:\n"
             "        store(x, -1.0)\n"
             "    else:\n"
             "        store(x, load(bias) + n)\n");
    expect_float("None for a typed pointer", launch(p, ARGS(OUT("fp32"), TILE_NONE(), TILE_I32(3))),
                 -1);
    expect_float("a typed pointer",
                 launch(p, ARGS(OUT("fp32"), TILE_BUFFER(b, "fp32"), TILE_I32(3))), 3.5);
    tile_module_destroy(p.mod);
    p = load("def k(x: *fp32, bias=None, n: i32 = 4, MODE: constexpr = 'add', S: constexpr = 1.5, "
             "T: constexpr = fp16, F: constexpr = True):\n"
             "    v = n * S\n"
             "    if bias is not None:\n"
             "        v += load(bias)\n"
             "    if MODE == 'add' and F and T == fp16:\n"
             "        v += 100\n"
             "    store(x, v)\n");
    expect_float("all defaults", launch(p, ARGS(OUT("fp32"))), 106);
    expect_float("a run-time default given", launch(p, ARGS(OUT("fp32"), NAMED("n", TILE_I32(6)))),
                 109);
    expect_float("a pointer's default given", launch(p, ARGS(OUT("fp32"), TILE_BUFFER(b, "fp32"))),
                 106.5);
    expect_float("constexpr defaults given",
                 launch(p, ARGS(OUT("fp32"), TILE_CONSTEXPR_STRING("MODE", "sub"),
                                TILE_CONSTEXPR_FLOAT("S", 2.0))),
                 8);
    expect_float("a dtype default given",
                 launch(p, ARGS(OUT("fp32"), TILE_CONSTEXPR_DTYPE("T", "bf16"))), 6);
    expect_float("a bool default given",
                 launch(p, ARGS(OUT("fp32"), TILE_CONSTEXPR_BOOL("F", false))), 6);
    tile_module_destroy(p.mod);
    p = load("def k(x: *fp32, S: constexpr = (3, 4), T: constexpr = 2 * 8):\n"
             "    store(x, S[1] + T)\n");
    expect_float("a tuple and an expression as defaults", launch(p, ARGS(OUT("fp32"))), 20);
    tile_buffer_destroy(b);
    tile_module_destroy(p.mod);
}

// --- specializations

/// How many binaries the calls so far have made, told by their compile times.
typedef struct variants {
    double times[64];
    int count;
} variants;

static void add_variant(variants *v, program p, const tile_arg *args, uint32_t n) {
    tile_kernel_info info;
    tile_status s = tile_warmup(p.k, args, n, NULL, &info, &err);
    expect(s == TILE_OK && info.compile_ms > 0, "warmup: %s", err.message);
    int i = 0;
    while (i < v->count && v->times[i] != info.compile_ms)
        i++;
    if (i == v->count && i < 64)
        v->times[v->count++] = info.compile_ms;
}

static void test_specialization(void) {
    static const char body[] =
        "(x: *fp32, n: i32):\n    o = arange(0, 256)\n    store(x + program_id(0) * n + o, 1.0)\n";
    char source[512];
    snprintf(source, sizeof source, "def k%s", body);
    program p = load(source);
    variants v = {.count = 0};
    for (int i = 0; i < 3; i++)
        for (int32_t n = 0; n < 40; n++)
            add_variant(&v, p, ARGS(TILE_POINTER(NULL, "fp32"), TILE_I32(n)));
    expect(v.count >= 3 && v.count <= 4,
           "a stride made %d variants, expected one for 1 and one for each vector width", v.count);
    tile_module_destroy(p.mod);
    snprintf(source, sizeof source, "@triton.jit(do_not_specialize=[\"n\", \"x\"])\ndef k%s", body);
    p = load(source);
    v.count = 0;
    for (int32_t n = 0; n < 40; n++)
        add_variant(&v, p, ARGS(TILE_POINTER((void *)(uintptr_t)(n * 4), "fp32"), TILE_I32(n)));
    expect(v.count == 1, "do_not_specialize made %d variants", v.count);
    tile_module_destroy(p.mod);
    must(tile_module_load_file(dev, EXAMPLES_DIR "/softmax.tile", &p.mod, &err));
    must(tile_module_get_kernel(p.mod, "softmax_fp32", &p.k, &err));
    v.count = 0;
    for (int32_t n = 1; n <= 4096; n++)
        add_variant(&v, p,
                    ARGS(TILE_POINTER(NULL, "fp32"), TILE_POINTER(NULL, "fp32"), TILE_I32(n),
                         TILE_I32(n), TILE_I32(n), TILE_CONSTEXPR_INT("BLOCK", 4096)));
    expect(v.count <= 4, "softmax over rows of 1 to 4096 made %d variants, expected 4 at most",
           v.count);
    tile_module_destroy(p.mod);
}

// --- options and grids

static void test_options(void) {
    program p = load("def k(x: *i32):\n"
                     "    atomic_add(x, 1)\n"
                     "    if program_id(0) == num_programs(0) - 1:\n"
                     "        store(x + 1, num_programs(0)), store(x + 2, num_programs(1)), "
                     "store(x + 3, num_programs(2))\n");
    tile_arg x = OUT("i32");
    static const uint32_t grids[][3] = {{1, 1, 1},    {7, 0, 0}, {3, 5, 2}, {1, 0, 9},
                                        {1000, 1, 1}, {0, 1, 1}, {0, 0, 0}, {0, 70000, 1}};
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        const uint32_t *g = grids[i];
        tile_launch_options o = {.size = sizeof o, .grid = {g[0], g[1], g[2]}};
        int32_t got[4], y = g[1] ? (int32_t)g[1] : 1, z = g[2] ? (int32_t)g[2] : 1,
                        all = (int32_t)g[0] * y * z;
        must(tile_fill(out, 0, 0, 128, NULL, &err));
        tile_status s = tile_launch(p.k, &x, 1, &o, &err);
        if (g[1] > 65535) {
            expect_refused(s, BAD, "grid", "65535");
            continue;
        }
        must(s);
        read_buffer(out, got, sizeof got);
        expect(got[0] == all, "grid %zu: %d programs ran, expected %d", i, got[0], all);
        expect(!all || (got[1] == (int32_t)g[0] && got[2] == y && got[3] == z),
               "grid %zu: %d %d %d", i, got[1], got[2], got[3]);
    }
    static const tile_launch_options wrong[] = {{.grid = {0x80000000u}},
                                                {.grid = {UINT32_MAX}},
                                                {.grid = {1, 65536}},
                                                {.grid = {1, 1, 65536}},
                                                {.grid = {1, UINT32_MAX, UINT32_MAX}},
                                                {.grid = {1}, .num_warps = 3},
                                                {.grid = {1}, .num_warps = 33},
                                                {.grid = {1}, .num_warps = 64},
                                                {.grid = {1}, .num_warps = UINT32_MAX},
                                                {.grid = {1}, .num_ctas = 3},
                                                {.grid = {1}, .num_ctas = 32},
                                                {.grid = {1}, .num_stages = 300},
                                                {.grid = {1}, .maxnreg = 256}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tile_launch_options o = wrong[i];
        o.size = sizeof o;
        const char *what = o.num_warps    ? "num_warps"
                           : o.num_ctas   ? "num_ctas"
                           : o.num_stages ? "num_stages"
                           : o.maxnreg    ? "maxnreg"
                                          : "grid";
        expect_refused(tile_launch(p.k, &x, 1, &o, &err), BAD, what, NULL);
    }
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .maxnreg = 64, .num_stages = 2};
    for (o.num_warps = 1; o.num_warps <= 32; o.num_warps *= 2) {
        tile_kernel_info info;
        must(tile_warmup(p.k, &x, 1, &o, &info, &err));
        expect(info.threads == 32 * o.num_warps && info.num_sms == dev_info.num_sms &&
                   info.max_blocks_per_sm > 0,
               "info of %u warps", o.num_warps);
        expect(!dev_info.is_cuda || (info.registers > 0 && info.registers <= 64), "%u registers",
               info.registers);
        must(tile_launch(p.k, &x, 1, &o, &err));
    }
    tile_kernel_info info = {.threads = 99};
    expect_refused(tile_warmup(p.k, NULL, 0, &o, &info, &err), BAD, "num_warps", NULL); // is 64 now
    expect(info.threads == 0, "info after an error is not zero");
    must(tile_warmup(p.k, &x, 1, NULL, NULL, &err));
    tile_module_destroy(p.mod);
}

/// An options struct of an older library is shorter; one of a newer library is longer.
/// A constexpr of an option's name takes its argument, then its default, then the option's value.
static void test_constexprs_of_options(void) {
    program p =
        load("def k(o: *i32, num_warps: constexpr, num_stages: constexpr, maxnreg: constexpr,\n"
             "      num_ctas: constexpr = 7):\n"
             "    store(o, num_warps * 1000 + num_stages * 100 + num_ctas * 10 +\n"
             "          (0 if maxnreg is None else 1))\n");
    expect_int("options that are not given", launch(p, ARGS(OUT("i32"))), 4370);
    expect_int("an argument", launch(p, ARGS(OUT("i32"), TILE_CONSTEXPR_INT("num_stages", 5))),
               4570);
    tile_launch_options o = {
        .size = sizeof o, .grid = {1}, .num_warps = 2, .num_stages = 1, .maxnreg = 64};
    expect_int("options", tile_launch(p.k, ARGS(OUT("i32")), &o, &err), 2171);
    o.num_warps = 8;
    expect_int("another option", tile_launch(p.k, ARGS(OUT("i32")), &o, &err), 8171);
    tile_module_destroy(p.mod);
}

static void test_option_sizes(void) {
    program p = load("def k(x: *i32):\n    atomic_add(x, 1)\n");
    tile_arg x = OUT("i32");
    struct {
        tile_launch_options o;
        uint64_t newer;
    } longer = {.o = {.size = sizeof longer, .grid = {5}}, .newer = 0};
    int32_t got;
    must(tile_fill(out, 0, 0, 128, NULL, &err));
    must(tile_launch(p.k, &x, 1, &longer.o, &err));
    longer.newer = 1;
    expect_refused(tile_launch(p.k, &x, 1, &longer.o, &err), TILE_ERROR_UNSUPPORTED, "options",
                   "does not know");
    tile_launch_options o = {.size = offsetof(tile_launch_options, num_warps),
                             .grid = {6},
                             .num_warps = 3,
                             .stream = (tile_stream *)(uintptr_t)8};
    must(tile_launch(p.k, &x, 1, &o, &err)); // what lies behind the size is not read
    o.num_warps = 2;
    o.size = offsetof(tile_launch_options, num_ctas);
    tile_kernel_info info;
    must(tile_warmup(p.k, &x, 1, &o, &info, &err));
    expect(info.threads == 64, "num_warps is not read: %u threads", info.threads);
    read_buffer(out, &got, 4);
    expect(got == 11, "options of other sizes: %d programs ran, expected 11", got);
    for (o.size = 0; o.size < offsetof(tile_launch_options, num_warps); o.size += 4)
        expect_refused(tile_launch(p.k, &x, 1, &o, &err), BAD, "options->size", "sizeof");
    tile_module_destroy(p.mod);
}

static void test_streams_and_ptx(void) {
    program p = load("def k(x: *i32, n: i32):\n    store(x, load(x) * 3 + n)\n");
    tile_arg args[] = {OUT("i32"), TILE_I32(1)};
    tile_stream *s;
    must(tile_stream_create(dev, &s, &err));
    must(tile_fill(out, 0, 0, 128, NULL, &err));
    must(tile_synchronize(dev, NULL, &err));
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .stream = s};
    for (int i = 0; i < 4; i++)
        must(tile_launch(p.k, args, 2, &o, &err));
    must(tile_synchronize(dev, s, &err));
    int32_t got;
    must(tile_copy_to_host(&got, out, 0, 4, s, &err));
    expect(got == 40, "launches on a stream: %d", got);
    tile_stream_destroy(s);
    tile_device *other;
    must(tile_device_open("cpu", &other, &err));
    must(tile_stream_create(other, &o.stream, &err));
    expect_refused(tile_launch(p.k, args, 2, &o, &err), BAD, "another device", NULL);
    expect_refused(tile_warmup(p.k, args, 2, &o, NULL, &err), BAD, "another device", NULL);
    tile_stream_destroy(o.stream);
    tile_device_close(other);
    o.stream = NULL;
    char *ptx = (char *)(uintptr_t)8;
    tile_status status = tile_kernel_ptx(p.k, args, 2, &o, &ptx, &err);
    if (dev_info.is_cuda) {
        must(status);
        expect(strstr(ptx, ".version") && strstr(ptx, ".entry k("), "PTX without an entry");
        tile_free(ptx);
    } else {
        expect_refused(status, TILE_ERROR_UNSUPPORTED, "PTX", NULL);
        expect(!ptx, "PTX after an error is not NULL");
    }
    status = tile_kernel_ptx(p.k, args, 1, &o, &ptx, &err);
    expect_refused(status, BAD, "no argument", "'n'");
    expect(!ptx, "PTX after an error is not NULL");
    tile_module_destroy(p.mod);
}

static void test_persistent_grid(void) {
    tile_kernel_info info = {.num_sms = 100, .max_blocks_per_sm = 4};
    static const uint64_t work[] = {0, 1, 399, 400, 401, UINT64_MAX};
    static const uint32_t want[] = {1, 1, 399, 400, 400, 400};
    for (size_t i = 0; i < 6; i++)
        expect(tile_persistent_grid(&info, work[i]) == want[i], "grid for %llu",
               (unsigned long long)work[i]);
    expect(tile_persistent_grid(NULL, 10) == 1, "grid of no info");
    info.max_blocks_per_sm = 0;
    expect(tile_persistent_grid(&info, 1000) == 100, "grid of no resident block");
}

int main(void) {
    open_test_device();
    out = buffer_from(NULL, 128);
    test_names();
    test_annotated();
    test_ranges();
    test_floats();
    test_untyped();
    test_constexprs();
    test_none();
    test_specialization();
    test_options();
    test_constexprs_of_options();
    test_option_sizes();
    test_streams_and_ptx();
    test_persistent_grid();
    tile_buffer_destroy(out);
    return finish();
}
