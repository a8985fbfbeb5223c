// Measures the functions of the language on a device and holds them to their bounds:
//
//     accuracy [--device NAME] [--points LOG2] [--dense] [--markdown] [FUNCTION...]
//
// Every function runs over all numbers of 16-bit types, 2^LOG2 points of wider ones (default 21;
// --dense: all 2^32 of fp32), the numbers around awkward points, and special values. The program
// ends with 1 if a bound is exceeded or a special value is wrong. The device is $TILE_TEST_DEVICE
// if it is not named, else "cpu".
#include "accuracy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
    const char *device;
    unsigned log2_points;
    bool dense, markdown;
} settings;

static const number_type columns[] = {FP32, FP64, FP16, BF16};
enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

static double mean(const outcome *r) { return r->counted ? r->sum / (double)r->counted : 0; }

// ---------------------------------------------------------------------------- the table

static void print_head(const session *s, bool markdown) {
    if (markdown) {
        printf("| function | fp32: max | mean | bound | fp64: max | mean | bound | fp16: max | "
               "bf16: max | special values |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|---|\n");
        return;
    }
    printf("%s, %u threads; errors in units of the last place\n", s->info.name, processors());
    printf("%-8s %-5s %11s %9s %9s  %-14s %s\n", "function", "type", "points", "max", "mean",
           "bound", "worst at");
}

static const char *bound_text(bound b, const char *bar, char text[64]) {
    if (b.ulp == ROUNDED)
        return "rounded";
    if (b.slope)
        snprintf(text, 64, "%g + %g%sx%s", b.ulp, b.slope, bar, bar);
    else
        snprintf(text, 64, "%g", b.ulp);
    return text;
}

static void print_row(const function *f, number_type t, const outcome *r, bound b) {
    char text[64];
    printf("%-8s %-5s %11llu %9.4f %9.4f  %-14s", f->name, type_names[t],
           (unsigned long long)r->points, r->worst, mean(r), bound_text(b, "|", text));
    for (unsigned k = 0; k < f->operands && r->worst > 0; k++)
        printf(" %.17g", r->worst_at[k]);
    printf("\n");
}

/// The cells of one type: what is rounded correctly at every point says so and needs no figures.
static void print_cells(number_type t, const outcome *r, bound b) {
    bool is_wide = t == FP32 || t == FP64;
    char text[64];
    if (r->points == 0)
        printf(is_wide ? " | | |" : " |");
    else if (b.ulp == ROUNDED && !r->wrong)
        printf(is_wide ? " | | rounded |" : " rounded |");
    else if (is_wide)
        printf(r->wrong ? " **%.3f** | %.3f | %s |" : " %.3f | %.3f | %s |", r->worst, mean(r),
               bound_text(b, "&#124;", text));
    else
        printf(r->wrong ? " **%.4f** |" : " %.4f |", r->worst);
}

static void print_markdown(const function *f, const outcome *results, bool specials_ok,
                           bool is_gpu) {
    printf("| `%s` |", f->name);
    for (unsigned i = 0; i < COLUMNS; i++) {
        number_type t = columns[i];
        print_cells(t, &results[t], bound_of(f, result_type(f, t), is_gpu));
    }
    printf(" %s |\n", specials_ok ? "ok" : "**not ok**");
}

// ---------------------------------------------------------------------------- one function

static outcome measure_type(session *s, const settings *o, tile_kernel *kernel, const function *f,
                            number_type t) {
    bool all = o->dense && t == FP32 && f->operands == 1;
    outcome r = sweep(s, kernel, f, t, all ? 32 : o->log2_points);
    if (!o->markdown)
        print_row(f, t, &r, bound_of(f, result_type(f, t), s->info.is_cuda));
    if (r.wrong)
        fprintf(stderr, "%s %s: %llu beyond the bound, the first at %.17g, %.17g, %.17g: %.17g\n",
                type_names[t], f->name, (unsigned long long)r.wrong, r.wrong_at[0], r.wrong_at[1],
                r.wrong_at[2], r.wrong_result);
    return r;
}

/// True if everything is within its bounds.
static bool measure_function(session *s, const settings *o, const function *f) {
    outcome results[TYPES] = {0};
    uint64_t specials_wrong = 0, wrong = 0;
    tile_kernel *kernel;
    tile_module *module = session_load(s, f->expression, &kernel);
    for (unsigned i = 0; i < COLUMNS; i++) {
        number_type t = columns[i];
        if (!(f->types >> t & 1))
            continue;
        specials_wrong += check_specials(s, kernel, f, t);
        results[t] = measure_type(s, o, kernel, f, t);
        wrong += results[t].wrong;
    }
    if (o->markdown)
        print_markdown(f, results, specials_wrong == 0, s->info.is_cuda);
    fflush(stdout);
    tile_module_destroy(module);
    return !wrong && !specials_wrong;
}

// ---------------------------------------------------------------------------- main

static bool is_wanted(const char *name, char **names, int count) {
    for (int i = 0; i < count; i++)
        if (!strcmp(name, names[i]))
            return true;
    return count == 0;
}

static bool is_function(const char *name) {
    bool found = !strcmp(name, "umulhi");
    for (size_t k = 0; k < function_count; k++)
        found |= !strcmp(functions[k].name, name);
    return found;
}

/// Reads the option at argv[*i]; false if there is no such.
static bool read_option(char **argv, int *i, settings *o) {
    const char *name = argv[*i], *next = argv[*i + 1];
    if (!strcmp(name, "--dense")) {
        o->dense = true;
    } else if (!strcmp(name, "--markdown")) {
        o->markdown = true;
    } else if (!strcmp(name, "--device") && next) {
        o->device = argv[++*i];
    } else if (!strcmp(name, "--points") && next) {
        char *end;
        long n = strtol(argv[++*i], &end, 10);
        o->log2_points = (unsigned)n;
        return *next && !*end && n > 0 && n <= 32;
    } else {
        return false;
    }
    return true;
}

int main(int argc, char **argv) {
    const char *device = getenv("TILE_TEST_DEVICE");
    settings o = {.log2_points = 21, .device = device ? device : "cpu"};
    int i = 1;
    for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
        if (!read_option(argv, &i, &o)) {
            fprintf(stderr, "usage: accuracy [--device NAME] [--points LOG2] [--dense] "
                            "[--markdown] [FUNCTION...]\n");
            return 2;
        }
    }
    for (int k = i; k < argc; k++)
        if (!is_function(argv[k])) {
            fprintf(stderr, "accuracy: no function is called '%s'\n", argv[k]);
            return 2;
        }
    session s;
    session_open(&s, o.device);
    print_head(&s, o.markdown);
    bool ok = true;
    for (size_t k = 0; k < function_count; k++) {
        if (is_wanted(functions[k].name, argv + i, argc - i))
            ok &= measure_function(&s, &o, &functions[k]);
    }
    if (is_wanted("umulhi", argv + i, argc - i)) {
        bool exact = check_umulhi(&s);
        printf(o.markdown ? "\n`umulhi` of 32 and 64 bits: %s.\n"
                          : "umulhi of 32 and 64 bits: %s\n",
               exact ? "exact" : "NOT exact");
        ok &= exact;
    }
    session_close(&s);
    if (!o.markdown)
        printf("%s\n", ok ? "all within their bounds" : "FAILED: bounds exceeded");
    return ok ? 0 : 1;
}
