// Measures the functions of the language on a device and holds them to their bounds:
//
//     accuracy [--device=NAME] [--points=LOG2] [--dense] [--markdown] [FUNCTION...]
//
// Every function runs over all numbers of 16-bit types, 2^LOG2 points of wider ones (default 22;
// --dense: all 2^32 of fp32), the numbers around awkward points, and special values. The program
// ends with 1 if a bound is exceeded or a special value is wrong. The device is $TILE_TEST_DEVICE
// if it is not named, else "cpu".
#include "accuracy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
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

static const char *bound_text(bound b, const char *bar, char text[32]) {
    if (b.ulp == ROUNDED)
        return "rounded";
    if (b.slope)
        snprintf(text, 32, "%g + %g%sx%s", b.ulp, b.slope, bar, bar);
    else
        snprintf(text, 32, "%g", b.ulp);
    return text;
}

static void print_row(const function *f, number_type t, const outcome *r, bound b) {
    char text[32];
    printf("%-8s %-5s %11llu %9.4f %9.4f  %-14s", f->name, type_names[t],
           (unsigned long long)r->points, r->worst, mean(r), bound_text(b, "|", text));
    for (unsigned k = 0; k < f->operands && r->worst > 0; k++)
        printf(" %.17g", r->worst_at[k]);
    printf("\n");
}

static void print_markdown(const function *f, const outcome *results, bool specials_ok,
                           bool is_gpu) {
    printf("| `%s`", f->name);
    for (unsigned i = 0; i < COLUMNS; i++) {
        number_type t = columns[i];
        const outcome *r = &results[t];
        bound b = bound_of(f, result_type(f, t), is_gpu);
        bool is_wide = t == FP32 || t == FP64;
        char text[32];
        if (!(f->types >> t & 1)) {
            printf(is_wide ? " | | | " : " | ");
            continue;
        }
        printf(r->wrong ? " | **%.3f**" : " | %.3f", r->worst);
        if (is_wide)
            printf(" | %.3f | %s", mean(r), bound_text(b, "&#124;", text));
    }
    printf(" | %s |\n", specials_ok ? "ok" : "**not ok**");
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

static bool read_option(const char *text, settings *o, const char **device) {
    int points = strncmp(text, "--points=", 9) ? 0 : atoi(text + 9);
    if (!strncmp(text, "--device=", 9))
        *device = text + 9;
    else if (points > 0 && points <= 32)
        o->log2_points = (unsigned)points;
    else if (!strcmp(text, "--dense"))
        o->dense = true;
    else if (!strcmp(text, "--markdown"))
        o->markdown = true;
    else
        return false;
    return true;
}

int main(int argc, char **argv) {
    settings o = {.log2_points = 22};
    const char *device = getenv("TILE_TEST_DEVICE");
    int i = 1;
    for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
        if (!read_option(argv[i], &o, &device)) {
            fprintf(stderr, "usage: accuracy [--device=NAME] [--points=LOG2] [--dense] "
                            "[--markdown] [FUNCTION...]\n");
            return 2;
        }
    }
    session s;
    session_open(&s, device ? device : "cpu");
    print_head(&s, o.markdown);
    bool ok = true;
    for (size_t k = 0; k < function_count; k++)
        if (is_wanted(functions[k].name, argv + i, argc - i))
            ok &= measure_function(&s, &o, &functions[k]);
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
