// What the examples that give each row a program share: arrays with a copy on the host, the choice
// of warps, and the launch with its options --verify, --bench and --plan. Each main names its
// arguments, launches, and checks the output against its own reference in double precision.
#ifndef TILE_EXAMPLES_ROWS_H
#define TILE_EXAMPLES_ROWS_H

#include "common.h"

typedef enum contents { OUTPUT, VALUES, WEIGHTS, COLUMNS } contents; ///< COLUMNS: i64 below cols

typedef struct row_run {
    tile_device *dev;
    tile_device_info info;
    tile_module *module;
    tile_kernel *kernel;
    char name[64];   ///< of the kernel: file and dtype
    char names[128]; ///< of its arguments, for --plan
    element type;
    long rows, cols;
    tile_arg args[16];
    uint32_t num_args, num_arrays;
    struct row_array {
        contents what;
        element type;
        size_t bytes;
        void *host;
        tile_buffer *device;
    } arrays[4]; ///< the first arguments; the first of all is the output
    tile_launch_options launch;
    tile_kernel_info cost;
} row_run;

static inline uint32_t next_power_of_2(uint32_t n) {
    uint32_t p = 1;
    while (p < n)
        p *= 2;
    return p;
}

// ---------------------------------------------------------------------------- how rows are launched

/// How rows go to programs, as bench/sweep.py has found it on an H200.
typedef struct row_plan {
    uint32_t rows;        ///< of a program
    uint32_t block;       ///< elements of a row that are in registers at once
    uint32_t least, most; ///< bounds of the row's length, for which the kernel is compiled
    uint32_t num_warps, num_ctas, maxnreg;
    bool weight_first; ///< the weights are read along with the row
} row_plan;

/// Thread blocks of the largest cluster.
static inline uint32_t most_ctas(const tile_device_info *info) {
    if (!info->is_cuda)
        return 16;
    int sm = atoi(info->arch + strlen("sm_"));
    return sm < 90 ? 1 : sm < 120 ? 16 : 8;
}

/// Between which lengths of a row as many pieces of it are needed: a piece is 8 elements of each
/// thread, and a row that is not aligned begins up to 15 bytes behind its first piece. Returns the
/// elements of a thread.
static inline uint32_t set_bounds(uint32_t *least, uint32_t *most, uint32_t cols, element type,
                                  uint32_t threads) {
    uint32_t bytes = (uint32_t)elements[type].bytes, block = next_power_of_2(cols);
    uint32_t piece = 8 * threads < block ? 8 * threads : block;
    uint32_t slack = cols * bytes % 16 == 0 ? 0 : 16 / bytes - 1;
    uint32_t pieces = (cols + slack + piece - 1) / piece;
    *most = pieces * piece - slack;
    *least = cols == *most ? *most : pieces > 1 ? *most - piece + 1 : 0;
    return pieces * piece / threads;
}

/// What a thread has of a row, in blocks of so many warps; more are a cluster of blocks, so that the next
/// row's are loading while one waits for the others of its row.
typedef struct row_share {
    uint32_t elements, most_warps, maxnreg;
    bool weight_first;
} row_share;

/// Weights come along with the row, and take as many registers again. Later come two of 16 bits, which
/// have to be widened. Where the row is not aligned, each vector of the weights is cut out of two: fp32
/// leaves room for that, 16 bits gain by fewer threads.
static inline row_share share_of_row(const row_run *run, uint32_t block, uint32_t num_weights) {
    bool is_wide = run->type == FP32;
    if (block <= 2048 || run->rows <= (long)run->info.num_sms) // or alone on a multiprocessor
        return (row_share){16, 8, 0, true};
    if (run->cols * (long)elements[run->type].bytes % 16 == 0)
        return (row_share){32, 8, is_wide ? 128 : 0, is_wide || num_weights == 1};
    if (is_wide)
        return (row_share){16, 4, num_weights == 1 ? 64 : 0, false};
    return (row_share){64, 4, 0, num_weights == 1};
}

/// A program for each row, which its threads hold in registers from its one read to its one write.
static inline row_plan plan_one_row(const row_run *run, uint32_t num_weights) {
    uint32_t cols = (uint32_t)run->cols, block = next_power_of_2(cols),
             most = most_ctas(&run->info);
    row_share share = share_of_row(run, block, num_weights);
    uint32_t warps = block / (32 * share.elements), ctas = warps / share.most_warps;
    row_plan p = {.rows = 1, .block = block, .maxnreg = share.maxnreg};
    p.num_ctas = ctas < 1 ? 1 : ctas > most ? most : ctas;
    p.num_warps = warps / p.num_ctas;
    p.num_warps = p.num_warps < 1 ? 1 : p.num_warps > 32 ? 32 : p.num_warps;
    p.weight_first = share.weight_first;
    set_bounds(&p.least, &p.most, cols, run->type, 32 * p.num_warps * p.num_ctas);
    return p;
}

/// Rows of up to 1 KiB, if they are aligned, go eight to a program, one a warp, or as many as its threads
/// have vectors of 16 bytes for: nothing passes through shared memory. Those of up to 1024 elements go
/// four to a program, where one warp has the registers for a row and its weights, and where a program
/// for each, which is realigned, would not be faster.
static inline row_plan plan_norm(const row_run *run, uint32_t num_weights) {
    uint32_t bytes = (uint32_t)elements[run->type].bytes, most = 1 << 20;
    uint32_t block = next_power_of_2((uint32_t)run->cols), lanes = 32 * 16 / bytes;
    uint32_t per_warp = block < lanes ? lanes / block : 1;
    bool is_aligned = run->cols * bytes % 16 == 0, is_alone = run->rows <= (long)run->info.num_sms;
    if (!is_alone && is_aligned && block * bytes <= 1024)
        return (row_plan){8 * (per_warp > 8 ? 8 : per_warp), block, 0, most, 8, 1, 0, true};
    bool fits = run->type == FP32 ? is_aligned || num_weights == 2 : is_aligned && num_weights == 1;
    if (!is_alone && block <= 1024 && fits)
        return (row_plan){4, block, 0, most, 4, 1, 0, true};
    return plan_one_row(run, num_weights);
}

static inline void row_open(row_run *run, int argc, char **argv, const char *file, long most_cols) {
    static const char *const known[] = {"device", "rows",  "cols", "dtype",
                                        "verify", "bench", "plan", NULL};
    check_options(argc, argv, known);
    tile_error err = {0};
    memset(run, 0, sizeof *run);
    run->dev = open_device(option(argc, argv, "device", NULL), &err);
    check(tile_device_get_info(run->dev, &run->info, &err), &err);
    run->rows = number_option(argc, argv, "rows", run->info.is_cuda ? 4096 : 16, 1);
    run->cols = number_option(argc, argv, "cols", 1000, 1);
    run->type = element_option(argc, argv);
    if (run->rows > INT32_MAX || run->cols > most_cols) {
        fprintf(stderr, "at most 2^31 - 1 rows of %ld columns\n", most_cols);
        exit(2);
    }
    char path[64];
    snprintf(path, sizeof path, "%s.tile", file);
    snprintf(run->name, sizeof run->name, "%s_%s", file, elements[run->type].name);
    check(tile_module_load_file(run->dev, kernel_file(path), &run->module, &err), &err);
    run->launch = (tile_launch_options){.size = sizeof run->launch, .grid = {(uint32_t)run->rows}};
}

static inline void row_argument(row_run *run, const char *name, tile_arg arg) {
    size_t used = strlen(run->names);
    if (arg.kind != TILE_ARG_CONSTEXPR)
        snprintf(run->names + used, sizeof run->names - used, "%s%s", used ? " " : "", name);
    run->args[run->num_args++] = arg;
}

static inline void row_array(row_run *run, const char *name, element type, size_t count,
                             contents what) {
    run->arrays[run->num_arrays++] = (struct row_array){
        what, type, count * (what == COLUMNS ? sizeof(int64_t) : elements[type].bytes), NULL, NULL};
    row_argument(run, name, TILE_POINTER(NULL, what == COLUMNS ? "i64" : elements[type].name));
}

static inline void fill_array(const row_run *run, struct row_array *a) {
    uint32_t random = 12345 + (uint32_t)a->what;
    size_t count = a->bytes / (a->what == COLUMNS ? sizeof(int64_t) : elements[a->type].bytes);
    for (size_t i = 0; i < count; i++) {
        random = random * 1664525u + 1013904223u;
        double v = ((double)(random >> 20) - 2048) / 256;
        if (a->what == COLUMNS)
            ((int64_t *)a->host)[i] = (int64_t)((random >> 8) % (uint32_t)run->cols);
        else
            store_element(a->type, a->host, i, a->what == WEIGHTS ? 1 + v / 16 : v);
    }
}

/// The plan's kernel, its options and its last arguments. `name` is that of file and form.
static inline void row_follow(row_run *run, const row_plan *p, const char *file) {
    snprintf(run->name, sizeof run->name, "%s_%s%s", file, p->rows > 1 ? "several_" : "",
             elements[run->type].name);
    run->launch.grid[0] = (uint32_t)((run->rows + p->rows - 1) / p->rows);
    run->launch.num_warps = p->num_warps;
    run->launch.num_ctas = p->num_ctas;
    run->launch.maxnreg = p->maxnreg;
    if (p->rows > 1)
        row_argument(run, "ROWS", TILE_CONSTEXPR_INT("ROWS", p->rows));
    row_argument(run, "BLOCK", TILE_CONSTEXPR_INT("BLOCK", p->block));
    if (p->rows > 1)
        return;
    row_argument(run, "LEAST", TILE_CONSTEXPR_INT("LEAST", p->least));
    row_argument(run, "MOST", TILE_CONSTEXPR_INT("MOST", p->most));
    row_argument(run, "WEIGHT_FIRST", TILE_CONSTEXPR_BOOL("WEIGHT_FIRST", p->weight_first));
}

/// Launches once and brings the output back to the host. --plan ends the program instead.
static inline void row_launch(row_run *run, int argc, char **argv) {
    tile_error err = {0};
    check(tile_module_get_kernel(run->module, run->name, &run->kernel, &err), &err);
    check(tile_warmup(run->kernel, run->args, run->num_args, &run->launch, &run->cost, &err), &err);
    if (option(argc, argv, "plan", NULL)) {
        print_plan(run->name, run->names, run->args, run->num_args, &run->launch, &run->cost);
        exit(0);
    }
    for (uint32_t i = 0; i < run->num_arrays; i++) {
        struct row_array *a = &run->arrays[i];
        if (!(a->host = calloc(1, a->bytes))) {
            fprintf(stderr, "out of memory\n");
            exit(1);
        }
        check(tile_buffer_create(run->dev, a->bytes, &a->device, &err), &err);
        run->args[i].value.pointer = tile_buffer_data(a->device);
        if (a->what == OUTPUT)
            continue;
        fill_array(run, a);
        check(tile_copy_to_device(a->device, 0, a->host, a->bytes, NULL, &err), &err);
    }
    check(tile_launch(run->kernel, run->args, run->num_args, &run->launch, &err), &err);
    struct row_array *out = &run->arrays[0];
    check(tile_copy_to_host(out->host, out->device, 0, out->bytes, NULL, &err), &err);
}

/// An element of the i-th array, counted from the row's start.
static inline double row_element(const row_run *run, int array, long row, long col) {
    const struct row_array *a = &run->arrays[array];
    return load_element(a->type, a->host, (size_t)(row * run->cols + col));
}

/// An output's error as a fraction of `bound`, the allowed error before rounding to the output's
/// type; infinite if NaN came out where the reference has none.
static inline double row_error(element type, double got, double want, double bound) {
    if (type != FP32)
        bound += fmax(fabs(want) * (type == FP16 ? 0x1p-10 : 0x1p-7), 0x1p-24);
    double error = fabs(got - want) / bound;
    return isnan(error) ? INFINITY : error;
}

/// Prints the line of the result, frees everything, returns main's status. A launch moves every
/// array once; `worst` is the largest error as a fraction of its bound.
static inline int row_finish(row_run *run, int argc, char **argv, double worst) {
    tile_error err = {0};
    double bytes = 0;
    printf("%s %ld x %ld on %s, %u warps: %s (largest error %.2f of the bound)", run->name,
           run->rows, run->cols, run->info.name, run->launch.num_warps,
           worst > 1 ? "WRONG" : "right", worst);
    if (run->info.is_cuda)
        printf(", %u registers, %u bytes spilled, compiled and loaded in %.1f ms",
               run->cost.registers, run->cost.spill_bytes, run->cost.compile_ms);
    for (uint32_t i = 0; i < run->num_arrays; i++)
        bytes += (double)run->arrays[i].bytes;
    if (option(argc, argv, "bench", NULL)) {
        tile_buffer *flush = NULL;
        if (run->info.is_cuda)
            check(tile_buffer_create(run->dev, 256 << 20, &flush, &err), &err);
        print_time(&run->info,
                   median_ms(run->dev, run->kernel, run->args, run->num_args, &run->launch, flush,
                             run->info.is_cuda ? 50 : 3),
                   bytes);
        tile_buffer_destroy(flush);
    }
    printf("\n");
    for (uint32_t i = 0; i < run->num_arrays; i++) {
        tile_buffer_destroy(run->arrays[i].device);
        free(run->arrays[i].host);
    }
    tile_module_destroy(run->module);
    tile_device_close(run->dev);
    return worst > 1;
}

#endif
