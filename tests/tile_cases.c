// tile-cases DIR [--device D] [--only NAME] [--num-warps N] [--num-ctas N]: runs a folder of reference
// cases.
//
//   DIR/kernels/NAME.py + NAME.json   a kernel and one launch of it: arguments, and what buffers hold
//                                     after. Run at the num_warps given and at 1, 2 and 8.
//   DIR/tables/types.tsv              result types of operators, checked by static_assert
//   DIR/tables/casts.json             values of every cast
//   DIR/tables/binary_values.json     values of operators
//   DIR/tables/philox.json            random numbers
//
// What needs a feature that the compiler refuses by name counts as skipped and is named. The last
// line reads "N passed, N failed, N skipped"; the exit status is 1 if anything failed.
#include <tile.h>

#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct runner {
    const char *dir, *only;
    tile_device *device;
    bool is_cuda;
    long only_warps;
    uint32_t num_ctas; ///< 0: 1
    long passed, failed, skipped;
} runner;

static void *need(void *p) {
    if (!p) {
        fprintf(stderr, "tile-cases: out of memory\n");
        exit(1);
    }
    return p;
}

static void report(runner *r, bool ok, const char *what, const char *why) {
    if (ok) {
        r->passed++;
        return;
    }
    r->failed++;
    printf("FAILED %s: %s\n", what, why);
}

// --- element types

static const struct {
    const char *name, *long_name;
    unsigned bytes;
    bool is_float, is_signed;
} types[] = {
    {"i1", "int1", 1, false, false},          {"i8", "int8", 1, false, true},
    {"u8", "uint8", 1, false, false},         {"i16", "int16", 2, false, true},
    {"u16", "uint16", 2, false, false},       {"i32", "int32", 4, false, true},
    {"u32", "uint32", 4, false, false},       {"i64", "int64", 8, false, true},
    {"u64", "uint64", 8, false, false},       {"fp16", "float16", 2, true, true},
    {"bf16", "bfloat16", 2, true, true},      {"fp32", "float32", 4, true, true},
    {"fp64", "float64", 8, true, true},       {"fp8e5", "float8e5", 1, true, true},
    {"fp8e4nv", "float8e4nv", 1, true, true},
};

static int type_index(const char *name) {
    for (int i = 0; i < (int)(sizeof types / sizeof *types); i++)
        if (!strcmp(types[i].name, name) || !strcmp(types[i].long_name, name))
            return i;
    return -1;
}

static uint64_t element_bits(int t, const uint8_t *data, size_t i) {
    uint64_t v = 0;
    memcpy(&v, data + i * types[t].bytes, types[t].bytes);
    return v;
}

static double element_value(int t, const uint8_t *data, size_t i) {
    uint64_t v = element_bits(t, data, i);
    unsigned bits = types[t].bytes * 8;
    if (!types[t].is_float) {
        if (!types[t].is_signed)
            return (double)v;
        return (double)((int64_t)(v << (64 - bits)) >> (64 - bits));
    }
    if (bits == 64) {
        double d;
        memcpy(&d, &v, 8);
        return d;
    }
    if (bits == 8 && !strcmp(types[t].name, "fp8e4nv")) {
        int e = (int)(v >> 3 & 15), m = (int)(v & 7);
        double d = e == 15 && m == 7 ? NAN : e ? ldexp(8 + m, e - 10) : ldexp(m, -9);
        return v & 0x80 ? -d : d;
    }
    if (bits == 8)
        v <<= 8; // fp8e5 is the upper half of an fp16
    if (bits == 8 || !strcmp(types[t].name, "fp16")) {
        int e = (int)(v >> 10 & 31), m = (int)(v & 1023);
        double d = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
        return v & 0x8000 ? -d : d;
    }
    uint32_t w = bits == 32 ? (uint32_t)v : (uint32_t)v << 16;
    float f;
    memcpy(&f, &w, 4);
    return f;
}

/// Bits of a float as an integer that counts representable values: neighbours differ by one.
static int64_t ordered(int t, const uint8_t *data, size_t i) {
    uint64_t v = element_bits(t, data, i), sign = 1ull << (types[t].bytes * 8 - 1);
    return v & sign ? -(int64_t)(v & (sign - 1)) : (int64_t)v;
}

static uint8_t *from_hex(const char *hex, size_t *out_bytes) {
    size_t n = strlen(hex) / 2;
    uint8_t *data = need(malloc(n ? n : 1));
    for (size_t i = 0; i < n; i++) {
        unsigned v = 0;
        sscanf(hex + 2 * i, "%2x", &v);
        data[i] = (uint8_t)v;
    }
    *out_bytes = n;
    return data;
}

/// True where both are equal within rel_tol, or bit for bit (any NaN equals any NaN) if it is 0.
static bool element_equal(int t, const uint8_t *got, const uint8_t *want, size_t i,
                          double rel_tol) {
    if (element_bits(t, got, i) == element_bits(t, want, i))
        return true;
    double a = element_value(t, got, i), b = element_value(t, want, i);
    if (types[t].is_float && isnan(a) && isnan(b))
        return true;
    return rel_tol > 0 && fabs(a - b) <= rel_tol * fmax(1, fabs(b));
}

// --- kernels

static json_t *load_json(const char *path) {
    json_error_t e;
    json_t *j = json_load_file(path, 0, &e);
    if (!j)
        fprintf(stderr, "tile-cases: %s:%d: %s\n", path, e.line, e.text);
    return j;
}

/// True if the compiler refuses the case for a feature that it does not have.
static bool is_refused(const tile_error *e) {
    const char *text = e->log ? e->log : e->message;
    return e->status == TILE_ERROR_COMPILE && strstr(text, "not supported yet");
}

typedef struct launch_case {
    tile_arg args[64];
    tile_buffer *buffers[64];
    uint32_t num_args;
    tile_launch_options options;
} launch_case;

static void free_case(launch_case *c) {
    for (uint32_t i = 0; i < c->num_args; i++)
        tile_buffer_destroy(c->buffers[i]);
}

static bool make_case(runner *r, json_t *spec, launch_case *c, tile_error *err) {
    size_t i;
    json_t *a;
    const char *name;
    *c = (launch_case){.options = {.size = sizeof c->options}};
    json_array_foreach(json_object_get(spec, "args"), i, a) {
        tile_arg *arg = &c->args[c->num_args];
        json_t *scalar = json_object_get(a, "scalar");
        if (scalar) {
            *arg = json_is_real(scalar) ? TILE_FLOAT(json_real_value(scalar))
                                        : TILE_INT(json_integer_value(scalar));
        } else {
            size_t bytes;
            uint8_t *before = from_hex(json_string_value(json_object_get(a, "before")), &bytes);
            tile_buffer **b = &c->buffers[c->num_args];
            bool failed = tile_buffer_create(r->device, bytes, b, err) ||
                          tile_copy_to_device(*b, 0, before, bytes, NULL, err);
            free(before);
            if (failed)
                return false;
            *arg = TILE_BUFFER(*b, json_string_value(json_object_get(a, "dtype")));
        }
        c->num_args++;
    }
    json_object_foreach(json_object_get(spec, "constexpr"), name, a) {
        tile_arg *arg = &c->args[c->num_args++];
        *arg = json_is_integer(a)   ? TILE_CONSTEXPR_INT(name, json_integer_value(a))
               : json_is_boolean(a) ? TILE_CONSTEXPR_BOOL(name, json_is_true(a))
               : json_is_real(a)    ? TILE_CONSTEXPR_FLOAT(name, json_real_value(a))
                                    : TILE_CONSTEXPR_STRING(name, json_string_value(a));
    }
    json_array_foreach(json_object_get(spec, "grid"), i, a) c->options.grid[i < 3 ? i : 2] =
        (uint32_t)json_integer_value(a);
    return true;
}

static bool compare_buffers(json_t *spec, const launch_case *c, char *why, size_t why_size) {
    double rel_tol = json_number_value(json_object_get(spec, "rel_tol"));
    size_t i;
    json_t *a;
    bool ok = true;
    json_array_foreach(json_object_get(spec, "args"), i, a) {
        if (!c->buffers[i])
            continue;
        json_t *after = json_object_get(a, "after");
        size_t bytes;
        uint8_t *want =
            from_hex(json_string_value(after ? after : json_object_get(a, "before")), &bytes);
        uint8_t *got = need(malloc(bytes ? bytes : 1));
        tile_error err = {0};
        int t = type_index(json_string_value(json_object_get(a, "dtype")));
        if (tile_copy_to_host(got, c->buffers[i], 0, bytes, NULL, &err)) {
            snprintf(why, why_size, "%s", err.message);
            ok = false;
        }
        for (size_t e = 0; ok && e < bytes / types[t].bytes; e++)
            if (!element_equal(t, got, want, e, after ? rel_tol : 0)) {
                snprintf(why, why_size, "argument %zu, element %zu: got %.17g, expected %.17g", i,
                         e, element_value(t, got, e), element_value(t, want, e));
                ok = false;
            }
        tile_error_clear(&err);
        free(got);
        free(want);
    }
    return ok;
}

static void run_kernel(runner *r, const char *name, json_t *spec, const char *source, long warps) {
    char what[256], why[1024] = "";
    snprintf(what, sizeof what, "kernels/%s (num_warps %ld)", name, warps);
    tile_error err = {0};
    tile_module *mod = NULL;
    tile_kernel *k;
    launch_case c;
    bool ok = make_case(r, spec, &c, &err);
    c.options.num_warps = (uint32_t)warps;
    c.options.num_ctas = r->num_ctas;
    ok = ok && !tile_module_load_file(r->device, source, &mod, &err) &&
         !tile_module_get_kernel(mod, json_string_value(json_object_get(spec, "kernel")), &k,
                                 &err) &&
         !tile_launch(k, c.args, c.num_args, &c.options, &err) &&
         !tile_synchronize(r->device, NULL, &err);
    if (!ok && is_refused(&err)) {
        r->skipped++;
        printf("skipped %s: %s\n", what, err.message);
    } else {
        if (!ok)
            snprintf(why, sizeof why, "%s", err.log ? err.log : err.message);
        report(r, ok && compare_buffers(spec, &c, why, sizeof why), what, why);
    }
    free_case(&c);
    tile_module_destroy(mod);
    tile_error_clear(&err);
}

static int is_json(const struct dirent *e) {
    size_t n = strlen(e->d_name);
    return n > 5 && !strcmp(e->d_name + n - 5, ".json");
}

static void run_kernels(runner *r) {
    char path[4096];
    snprintf(path, sizeof path, "%s/kernels", r->dir);
    struct dirent **names;
    int n = scandir(path, &names, is_json, alphasort);
    for (int i = 0; i < n; i++) {
        char name[200];
        snprintf(name, sizeof name, "%.*s", (int)strlen(names[i]->d_name) - 5, names[i]->d_name);
        free(names[i]);
        if (r->only && strcmp(name, r->only) != 0)
            continue;
        snprintf(path, sizeof path, "%s/kernels/%s.json", r->dir, name);
        json_t *spec = load_json(path);
        if (!spec) {
            report(r, false, name, "cannot be read");
            continue;
        }
        snprintf(path, sizeof path, "%s/kernels/%s.py", r->dir, name);
        long given = (long)json_integer_value(json_object_get(spec, "num_warps"));
        const long warps[] = {given, 1, 2, 8};
        for (int w = 0; w < 4; w++)
            if ((w == 0 || warps[w] != given) && (!r->only_warps || warps[w] == r->only_warps))
                run_kernel(r, name, spec, path, warps[w]);
        json_decref(spec);
    }
    if (n >= 0)
        free(names);
}

// --- tables: small kernels made from text

/// Compiles `source`, and runs its only kernel once on the buffers if there are any.
static tile_status run_text(runner *r, const char *source, tile_buffer *const *buffers,
                            const int *buffer_types, uint32_t n, tile_error *err) {
    tile_module *mod;
    tile_kernel *k;
    tile_status s =
        tile_module_load_string(r->device, "table.tile", source, strlen(source), &mod, err);
    if (s)
        return s;
    tile_arg args[4];
    for (uint32_t i = 0; i < n; i++)
        args[i] = TILE_BUFFER(buffers[i], types[buffer_types[i]].name);
    tile_launch_options o = {
        .size = sizeof o, .grid = {1}, .num_warps = 2, .num_ctas = r->num_ctas};
    s = tile_module_get_kernel(mod, NULL, &k, err);
    if (!s)
        s = n ? tile_launch(k, args, n, &o, err) : tile_warmup(k, NULL, 0, &o, NULL, err);
    if (!s)
        s = tile_synchronize(r->device, NULL, err);
    tile_module_destroy(mod);
    return s;
}

static bool is_defined_in_c(int from, const uint8_t *x, size_t i, int to) {
    if (!types[from].is_float || types[to].is_float)
        return true;
    double v = trunc(element_value(from, x, i));
    unsigned bits = types[to].bytes * 8;
    return types[to].is_signed ? v >= -ldexp(1, (int)bits - 1) && v < ldexp(1, (int)bits - 1)
                               : v >= 0 && v < ldexp(1, (int)bits);
}

typedef struct table_case {
    const char *what;
    char source[1024];
    const char *inputs[2]; ///< hex; the second may be NULL
    int input_types[2];
    const char *expected; ///< hex
    int out_type;
    long max_ulp;
    bool is_cast;
} table_case;

static void run_table_case(runner *r, const table_case *c) {
    tile_error err = {0};
    tile_buffer *buffers[3] = {0};
    int buffer_types[3];
    size_t bytes, in_bytes = 0;
    uint32_t n = 0;
    uint8_t *want = from_hex(c->expected, &bytes), *got = need(malloc(bytes)), *first = NULL;
    bool ok = true;
    for (int i = 0; i < 2 && c->inputs[i]; i++) {
        uint8_t *x = from_hex(c->inputs[i], &in_bytes);
        buffer_types[n] = c->input_types[i];
        ok = ok && !tile_buffer_create(r->device, in_bytes, &buffers[n], &err) &&
             !tile_copy_to_device(buffers[n], 0, x, in_bytes, NULL, &err);
        n++;
        if (i == 0)
            first = x;
        else
            free(x);
    }
    buffer_types[n] = c->out_type;
    ok = ok && !tile_buffer_create(r->device, bytes, &buffers[n], &err);
    n++;
    ok = ok && !run_text(r, c->source, buffers, buffer_types, n, &err) &&
         !tile_copy_to_host(got, buffers[n - 1], 0, bytes, NULL, &err);
    char why[512];
    snprintf(why, sizeof why, "%s", err.log ? err.log : err.message);
    for (size_t i = 0; ok && i < bytes / types[c->out_type].bytes; i++) {
        if (element_equal(c->out_type, got, want, i, 0))
            continue;
        if (c->is_cast && !r->is_cuda && !is_defined_in_c(c->input_types[0], first, i, c->out_type))
            continue;
        if (types[c->out_type].is_float && c->max_ulp &&
            llabs(ordered(c->out_type, got, i) - ordered(c->out_type, want, i)) <= c->max_ulp)
            continue;
        snprintf(why, sizeof why, "element %zu: got %.17g, expected %.17g", i,
                 element_value(c->out_type, got, i), element_value(c->out_type, want, i));
        ok = false;
    }
    report(r, ok, c->what, why);
    for (int i = 0; i < 3; i++)
        tile_buffer_destroy(buffers[i]);
    tile_error_clear(&err);
    free(want), free(got), free(first);
}

static const char *text_field(json_t *row, const char *key) {
    return json_string_value(json_object_get(row, key));
}

static json_t *load_table(runner *r, const char *name) {
    char path[4096];
    if (r->only && strcmp(r->only, name) != 0)
        return NULL;
    snprintf(path, sizeof path, "%s/tables/%s.json", r->dir, name);
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fclose(f);
    return load_json(path);
}

static void run_casts(runner *r) {
    json_t *table = load_table(r, "casts"), *row;
    size_t i;
    json_array_foreach(table, i, row) {
        const char *src = text_field(row, "src"), *dst = text_field(row, "dst");
        char what[128];
        snprintf(what, sizeof what, "casts %s to %s", src, dst);
        table_case c = {.what = what,
                        .inputs = {text_field(row, "x")},
                        .expected = text_field(row, "z"),
                        .is_cast = true};
        c.input_types[0] = type_index(src);
        c.out_type = type_index(dst);
        snprintf(
            c.source, sizeof c.source,
            "def k(x: *%s, z: *%s):\n    o = arange(0, 32)\n    store(z + o, load(x + o).to(%s))\n",
            src, dst, dst);
        run_table_case(r, &c);
    }
    json_decref(table);
}

static void run_binary_values(runner *r) {
    json_t *table = load_table(r, "binary_values"), *row;
    size_t i;
    json_array_foreach(table, i, row) {
        const char *op = text_field(row, "op"), *type = text_field(row, "dtype"),
                   *out = text_field(row, "out");
        char what[128];
        snprintf(what, sizeof what, "binary_values %s %s", op, type);
        table_case c = {.what = what,
                        .inputs = {text_field(row, "x"), text_field(row, "y")},
                        .expected = text_field(row, "z")};
        c.input_types[0] = c.input_types[1] = type_index(type);
        c.out_type = type_index(out);
        c.max_ulp = !strcmp(op, "/") ? 2 : 0;
        bool is_name = op[0] >= 'a' && op[0] <= 'z';
        snprintf(c.source, sizeof c.source,
                 "def k(x: *%s, y: *%s, z: *%s):\n    o = arange(0, 64)\n    a = load(x + o)\n    "
                 "b = load(y + o)\n    store(z + o, %s%s%s%s)\n",
                 type, type, types[c.out_type].name, is_name ? op : "a ", is_name ? "(a, " : op,
                 is_name ? "b" : " b", is_name ? ")" : "");
        run_table_case(r, &c);
    }
    json_decref(table);
}

static void run_philox(runner *r) {
    static const struct {
        const char *call, *field, *type;
        long max_ulp;
    } functions[] = {
        {"randint", "randint_u32", "u32", 0},
        {"rand", "rand_f32", "fp32", 0},
        {"randn", "randn_f32", "fp32", 2},
    };
    json_t *table = load_table(r, "philox"), *row;
    size_t i;
    json_array_foreach(table, i, row) {
        long long seed = json_integer_value(json_object_get(row, "seed")),
                  offset = json_integer_value(json_object_get(row, "offset"));
        for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
            char what[128];
            snprintf(what, sizeof what, "philox %s(%lld, %lld)", functions[f].call, seed, offset);
            table_case c = {.what = what,
                            .expected = text_field(row, functions[f].field),
                            .out_type = type_index(functions[f].type),
                            .max_ulp = functions[f].max_ulp};
            snprintf(
                c.source, sizeof c.source,
                "def k(z: *%s):\n    o = arange(0, 64)\n    store(z + o, tl.%s(%lld, %lld + o))\n",
                functions[f].type, functions[f].call, seed, offset);
            run_table_case(r, &c);
        }
    }
    json_decref(table);
}

// --- types.tsv

typedef struct types_row {
    char op[32], expr[128], lhs[32], rhs[64], ours[32];
} types_row;

/// One line's check as statements of a kernel: operands by name, the expression, its type.
static int row_text(const types_row *row, int i, char *out, size_t size) {
    char operands[256];
    snprintf(operands, sizeof operands, "    a = zeros([16], tl.%s)\n",
             types[type_index(row->lhs)].long_name);
    size_t n = strlen(operands);
    if (!strncmp(row->rhs, "lit:", 4))
        snprintf(operands + n, sizeof operands - n, "    b: tl.constexpr = %s\n", row->rhs + 4);
    else if (row->rhs[0])
        snprintf(operands + n, sizeof operands - n, "    b = zeros([16], tl.%s)\n",
                 types[type_index(row->rhs)].long_name);
    int t = type_index(row->ours);
    char check[128] = "";
    if (t >= 0)
        snprintf(check, sizeof check, "    static_assert(r.dtype == tl.%s, 'row %d: %.40s')\n",
                 types[t].long_name, i, row->expr);
    return snprintf(out, size, "def k%d():\n    c = arange(0, 16) < 4\n%s    r = %s\n%s", i,
                    operands, row->expr, check);
}

static void run_types_row(runner *r, const types_row *row, int i) {
    char what[512], source[1024];
    row_text(row, i, source, sizeof source);
    snprintf(what, sizeof what, "types row %d: %s with %s, %s gives %s", i, row->expr, row->lhs,
             row->rhs, row->ours);
    tile_error err = {0};
    tile_status s = run_text(r, source, NULL, NULL, 0, &err);
    bool want_error = !strcmp(row->ours, "error");
    if (is_refused(&err) && !want_error) {
        r->skipped++;
    } else {
        bool ok = want_error ? s == TILE_ERROR_COMPILE : s == TILE_OK;
        report(r, ok, what, s ? err.log ? err.log : err.message : "compiled, but must be refused");
    }
    tile_error_clear(&err);
}

static void run_types(runner *r) {
    char path[4096], line[1024];
    if (r->only && strcmp(r->only, "types") != 0)
        return;
    snprintf(path, sizeof path, "%s/tables/types.tsv", r->dir);
    FILE *f = fopen(path, "rb");
    long skipped = r->skipped;
    for (int i = 0; f && fgets(line, sizeof line, f); i++) {
        line[strcspn(line, "\r\n")] = 0;
        char *rest = line, *fields[6];
        int n = 0;
        while (n < 6 && (fields[n] = strsep(&rest, "\t")))
            n++;
        if (i == 0 || n < 6)
            continue;
        types_row row;
        snprintf(row.op, sizeof row.op, "%s", fields[0]);
        snprintf(row.expr, sizeof row.expr, "%s", fields[1]);
        snprintf(row.lhs, sizeof row.lhs, "%s", fields[2]);
        snprintf(row.rhs, sizeof row.rhs, "%s", fields[3]);
        snprintf(row.ours, sizeof row.ours, "%s", fields[5]);
        bool is_pair = row.rhs[0] && strncmp(row.rhs, "lit:", 4);
        if (type_index(row.lhs) < 0 || (is_pair && type_index(row.rhs) < 0))
            report(r, false, line, "unknown type");
        else
            run_types_row(r, &row, i);
    }
    if (f)
        fclose(f);
    if (r->skipped > skipped)
        printf("skipped %ld rows of types.tsv: cumsum, cumprod\n", r->skipped - skipped);
}

static bool read_power(const char *text, long most, long *out) {
    char *end;
    *out = strtol(text, &end, 10);
    return *text && !*end && *out >= 1 && *out <= most && (*out & (*out - 1)) == 0;
}

int main(int argc, char **argv) {
    runner r = {0};
    const char *device = getenv("TILE_TEST_DEVICE");
    bool ok = true;
    for (int i = 1; i < argc; i++) {
        bool has_value = i + 1 < argc;
        if (!strcmp(argv[i], "--device") && has_value)
            device = argv[++i];
        else if (!strcmp(argv[i], "--only") && has_value)
            r.only = argv[++i];
        else if (!strcmp(argv[i], "--num-warps") && has_value) {
            ok &= read_power(argv[++i], 32, &r.only_warps);
        } else if (!strcmp(argv[i], "--num-ctas") && has_value) {
            long ctas;
            ok &= read_power(argv[++i], 16, &ctas);
            r.num_ctas = (uint32_t)ctas;
        } else if (argv[i][0] != '-' && !r.dir)
            r.dir = argv[i];
        else
            ok = false;
    }
    if (!r.dir || !ok) {
        fprintf(stderr, "usage: tile-cases DIR [--device D] [--only NAME] [--num-warps N] "
                        "[--num-ctas N]\n");
        return 2;
    }
    tile_error err = {0};
    if (tile_device_open(device ? device : "cpu", &r.device, &err)) {
        fprintf(stderr, "tile-cases: %s\n", err.message);
        return 1;
    }
    tile_device_info info;
    tile_device_get_info(r.device, &info, NULL);
    r.is_cuda = info.is_cuda;
    run_kernels(&r);
    run_casts(&r);
    run_binary_values(&r);
    run_philox(&r);
    run_types(&r);
    tile_device_close(r.device);
    printf("%ld passed, %ld failed, %ld skipped\n", r.passed, r.failed, r.skipped);
    return r.failed || !r.passed;
}
