// What the example programs share: options of the form --name value, 16-bit floats on the host, and
// timing on the device with a cold L2 cache.
#ifndef TILE_EXAMPLES_COMMON_H
#define TILE_EXAMPLES_COMMON_H

#include <tile.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Ends the program with the error's message if a call failed.
static inline void check(tile_status status, const tile_error *error) {
    if (status == TILE_OK)
        return;
    fprintf(stderr, "%s\n", error->log ? error->log : error->message);
    exit(1);
}

/// The value after --name, or `otherwise`; "" for a flag that is there without a value.
static inline const char *option(int argc, char **argv, const char *name, const char *otherwise) {
    for (int i = 1; i < argc; i++)
        if (!strncmp(argv[i], "--", 2) && !strcmp(argv[i] + 2, name))
            return i + 1 < argc && strncmp(argv[i + 1], "--", 2) ? argv[i + 1] : "";
    return otherwise;
}

static inline long number_option(int argc, char **argv, const char *name, long otherwise,
                                 long least) {
    const char *text = option(argc, argv, name, NULL);
    if (!text)
        return otherwise;
    char *end;
    long v = strtol(text, &end, 10);
    if (!*text || *end || v < least) {
        fprintf(stderr, "--%s: expected a number of at least %ld, got '%s'\n", name, least, text);
        exit(2);
    }
    return v;
}

static inline bool is_listed(const char *name, const char *const *list) {
    while (*list && strcmp(*list, name) != 0)
        list++;
    return *list != NULL;
}

/// Refuses options that are not in the NULL-terminated list, or given twice, or without a value (the
/// flags below: with one).
static inline void check_options(int argc, char **argv, const char *const *known) {
    static const char *const flags[] = {"verify", "bench", "plan", "context", "check", NULL};
    for (int i = 1; i < argc; i++) {
        const char *name = strncmp(argv[i], "--", 2) ? "" : argv[i] + 2, *problem = NULL;
        bool has_value = i + 1 < argc && strncmp(argv[i + 1], "--", 2) != 0;
        if (!is_listed(name, known))
            problem = "unknown";
        else if (option(i, argv, name, NULL))
            problem = "given twice";
        else if (has_value == is_listed(name, flags))
            problem = has_value ? "takes no value" : "needs a value";
        if (problem) {
            fprintf(stderr, "option '%s': %s; options are", argv[i], problem);
            for (const char *const *k = known; *k; k++)
                fprintf(stderr, " --%s", *k);
            fprintf(stderr, "\n");
            exit(2);
        }
        i += has_value;
    }
}

/// The named file beside the program's source tree, else as given: kernels are found from any folder.
static inline const char *kernel_file(const char *name) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", EXAMPLES_DIR, name);
    FILE *f = fopen(path, "rb");
    if (!f)
        return name;
    fclose(f);
    return path;
}

typedef enum element { FP32, FP16, BF16 } element;

static const struct {
    const char *name;
    size_t bytes;
} elements[] = {{"fp32", 4}, {"fp16", 2}, {"bf16", 2}};

static inline element element_option(int argc, char **argv) {
    const char *name = option(argc, argv, "dtype", "fp32");
    for (int i = 0; i < 3; i++)
        if (!strcmp(name, elements[i].name))
            return (element)i;
    fprintf(stderr, "--dtype: expected fp32, fp16 or bf16, got '%s'\n", name);
    exit(2);
}

static inline double half_to_double(uint16_t h) {
    int e = h >> 10 & 31, m = h & 1023;
    double v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return h & 0x8000 ? -v : v;
}

static inline double load_element(element t, const void *data, size_t i) {
    uint16_t h;
    float f;
    if (t == FP32) {
        memcpy(&f, (const char *)data + 4 * i, 4);
        return f;
    }
    memcpy(&h, (const char *)data + 2 * i, 2);
    if (t == FP16)
        return half_to_double(h);
    uint32_t bits = (uint32_t)h << 16;
    memcpy(&f, &bits, 4);
    return f;
}

/// Stores a value, cut to the type: callers read back what was stored.
static inline void store_element(element t, void *data, size_t i, double v) {
    float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    if (t == FP32) {
        memcpy((char *)data + 4 * i, &f, 4);
        return;
    }
    uint16_t h = (uint16_t)(bits >> 16);
    if (t == FP16)
        h = f == 0 ? 0
                   : (uint16_t)((bits >> 16 & 0x8000) | (((bits >> 23 & 255) - 112) << 10) |
                                (bits >> 13 & 1023));
    memcpy((char *)data + 2 * i, &h, 2);
}

/// Median time of a launch in milliseconds, over `runs` runs after one to warm up, the L2 cache
/// flushed before each by filling `flush` (NULL on cpu).
static inline double median_ms(tile_device *dev, tile_kernel *k, const tile_arg *args, uint32_t n,
                               const tile_launch_options *o, tile_buffer *flush, int runs) {
    tile_error err = {0};
    tile_event *start, *end;
    float times[256];
    check(tile_event_create(dev, &start, &err), &err);
    check(tile_event_create(dev, &end, &err), &err);
    for (int i = -1; i < runs; i++) {
        if (flush)
            check(tile_fill(flush, 0, (uint8_t)i, tile_buffer_size(flush), NULL, &err), &err);
        check(tile_event_record(start, NULL, &err), &err);
        check(tile_launch(k, args, n, o, &err), &err);
        check(tile_event_record(end, NULL, &err), &err);
        float ms;
        check(tile_event_elapsed(start, end, &ms, &err), &err);
        int at = i < 0 ? 0 : i;
        for (; at > 0 && times[at - 1] > ms; at--)
            times[at] = times[at - 1];
        times[at] = ms;
    }
    tile_event_destroy(start);
    tile_event_destroy(end);
    return times[runs / 2];
}

/// The time, and on a GPU the throughput; on cpu that says nothing.
static inline void print_time(const tile_device_info *info, double ms, double bytes) {
    printf(", %.4f ms", ms);
    if (info->is_cuda)
        printf(", %.0f GB/s", bytes / ms * 1e-6);
}

/// For programs that repeat this launch (bench/): one line of JSON with the kernel, the names of its
/// arguments in order, its constexprs and options, and what it takes on the device.
static inline void print_plan(const char *kernel, const char *names, const tile_arg *args,
                              uint32_t n, const tile_launch_options *o,
                              const tile_kernel_info *info) {
    printf("{\"kernel\": \"%s\", \"args\": \"%s\", \"constexprs\": {", kernel, names);
    const char *comma = "";
    for (uint32_t i = 0; i < n; i++) {
        if (args[i].kind != TILE_ARG_CONSTEXPR)
            continue;
        printf("%s\"%s\": ", comma, args[i].name);
        if (args[i].constexpr_kind == TILE_CONSTEXPR_KIND_BOOL)
            printf("%s", args[i].value.i ? "true" : "false");
        else
            printf("%lld", (long long)args[i].value.i);
        comma = ", ";
    }
    printf("}, \"grid\": [%u, %u, %u], \"num_warps\": %u, \"num_ctas\": %u, \"num_stages\": %u, "
           "\"maxnreg\": %u, \"registers\": %u, \"spill_bytes\": %u, \"shared_bytes\": %u, "
           "\"blocks_per_sm\": %u}\n",
           o->grid[0], o->grid[1], o->grid[2], o->num_warps, o->num_ctas, o->num_stages, o->maxnreg,
           info->registers, info->spill_bytes, info->shared_bytes, info->max_blocks_per_sm);
}

/// "cuda:0" if there is one, else "cpu".
static inline tile_device *open_device(const char *name, tile_error *err) {
    tile_device *dev;
    if (name) {
        check(tile_device_open(name, &dev, err), err);
        return dev;
    }
    if (tile_device_open("cuda:0", &dev, err)) {
        tile_error_clear(err);
        check(tile_device_open("cpu", &dev, err), err);
    }
    return dev;
}

#endif
