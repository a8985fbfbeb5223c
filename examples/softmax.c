// Row-wise softmax from C, by the form of softmax.tile that is fastest for the rows at hand.
//   softmax [--device cuda:0|cpu] [--rows M] [--cols N] [--dtype fp32|fp16|bf16]
//           [--form rows|several|persistent|looped] [--warps W] [--verify] [--bench] [--plan]
// --plan prints what would be launched as a line of JSON, and stops. The persistent form is sized as
// the Triton tutorial does it: warm the kernel up, ask how many of its blocks a multiprocessor holds
// at once, launch that many per multiprocessor, at most one a row.
#include "rows.h"

// ---------------------------------------------------------------------------- what to launch

typedef enum form { ROWS, SEVERAL, PERSISTENT, LOOPED } form;

static const char *const form_names[] = {"rows", "several", "persistent", "looped"};

/// A kernel of softmax.tile with everything that its launch takes.
typedef struct plan {
    form form;
    uint32_t rows;        ///< of a program
    uint32_t block;       ///< elements of a row that are in registers at once
    uint32_t least, most; ///< bounds of the row's length, for which the kernel is compiled; or 0
    uint32_t num_warps, num_ctas, maxnreg;
} plan;

enum {
    SHORT_BYTES = 1024, ///< of a row that one warp holds in few registers
    GROUP_WARPS = 8,    ///< of a program with several short rows
    LONG_ROW = 2048,    ///< elements: longer ones go in pieces
    BLOCK_ROW = 32768,  ///< elements that one thread block holds, with room for what it computes
    LEAST_SIZE = 4096,  ///< elements: see size_for
    LARGE_CLUSTER = 8,  ///< thread blocks: larger ones leave multiprocessors idle
    PART_BYTES = 16384, ///< of a long row in each thread block of a cluster
    MOST_WARPS = 32,
};

static uint32_t at_least_1(uint32_t v) { return v ? v : 1; }

/// Short rows whose accesses are aligned: each of 8 warps has one, or as many as its threads have
/// vectors of 16 bytes for, and no thread waits for another warp.
static plan pick_several(uint32_t block, element type) {
    uint32_t lanes = 32 * 16 / (uint32_t)elements[type].bytes; // elements of one vector per lane
    uint32_t per_warp = at_least_1(lanes / block);
    return (plan){.form = SEVERAL,
                  .rows = GROUP_WARPS * (per_warp > 8 ? 8 : per_warp),
                  .block = block,
                  .num_warps = GROUP_WARPS,
                  .num_ctas = 1};
}

/// Rows that the registers of no cluster can hold: in pieces, read twice.
static plan pick_looped(uint32_t block, element type) {
    uint32_t most = type == FP32 ? 16384 : 8192;
    block = block < most ? block : most;
    return (plan){.form = LOOPED,
                  .rows = 1,
                  .block = block,
                  .num_warps = at_least_1(block / 1024),
                  .num_ctas = 1};
}

/// Elements that a thread should have of a row: the more, the fewer threads wait for each other; the
/// fewer, the more of them there are to wait for memory. Long rows of 16 bits stay packed.
static uint32_t elements_per_thread(uint32_t part, element type, bool is_alone) {
    if (is_alone || part <= 2048) // alone on its multiprocessor: nothing else fills the time
        return 16;
    return type == FP32 && part <= 8192 ? 32 : 64;
}

/// Registers that a thread may take at most, so that several programs share a multiprocessor's 65536;
/// 0 says nothing. Elements of 16 bits stay packed.
static uint32_t register_limit(uint32_t per_thread, element type) {
    if (per_thread < 32)
        return 0;
    if (type == FP32)
        return per_thread + (per_thread > 48 ? 48 : 40);
    return per_thread <= 64 ? 64 : (36 + per_thread / 2 + 7) / 8 * 8;
}

/// The power of two for whose threads a row is given: the next one, or the one before it with a few
/// more elements for each thread, if the row is not much longer or its cluster would be a large one.
static uint32_t size_for(uint32_t cols, element type) {
    uint32_t block = next_power_of_2(cols);
    bool is_large = block * (uint32_t)elements[type].bytes / PART_BYTES > LARGE_CLUSTER;
    return cols > LEAST_SIZE && cols <= block / 16 * (is_large ? 13 : 11) ? block / 2 : block;
}

static plan pick_one_row(uint32_t cols, element type, bool is_alone, const tile_device_info *info) {
    uint32_t most = most_ctas(info);
    bool has_bounds = cols > LONG_ROW && !is_alone;
    uint32_t size = has_bounds ? size_for(cols, type) : next_power_of_2(cols);
    uint32_t ctas = at_least_1(size * (uint32_t)elements[type].bytes / PART_BYTES);
    ctas = ctas > most ? most : ctas;
    uint32_t part = size / ctas, per_thread = elements_per_thread(part, type, is_alone);
    uint32_t warps = at_least_1(part / (32 * per_thread));
    warps = warps > MOST_WARPS ? MOST_WARPS : warps;
    plan p = {.form = ROWS,
              .rows = 1,
              .block = next_power_of_2(cols),
              .num_warps = warps,
              .num_ctas = ctas};
    per_thread = has_bounds ? set_bounds(&p.least, &p.most, cols, type, 32 * warps * ctas)
                            : part / (32 * warps);
    p.maxnreg = register_limit(per_thread, type);
    return p;
}

/// The rule, as bench/sweep.py has found it on an H200.
static plan pick(long rows, uint32_t cols, element type, const tile_device_info *info) {
    uint32_t block = next_power_of_2(cols);
    bool is_aligned = cols * elements[type].bytes % 16 == 0, is_alone = rows <= (long)info->num_sms;
    if (block > BLOCK_ROW * most_ctas(info))
        return pick_looped(block, type);
    if (block * (uint32_t)elements[type].bytes <= SHORT_BYTES && is_aligned && !is_alone)
        return pick_several(block, type);
    return pick_one_row(cols, type, is_alone, info);
}

/// The plan of a form that is asked for by name.
static plan pick_form(form f, long rows, uint32_t cols, element type,
                      const tile_device_info *info) {
    uint32_t block = next_power_of_2(cols);
    if (f == SEVERAL)
        return pick_several(block, type);
    if (f == LOOPED)
        return pick_looped(block, type);
    plan p = pick_one_row(cols, type, f == ROWS && rows <= (long)info->num_sms, info);
    p.form = f;
    return p;
}

/// Programs for so many rows. Of the persistent form: the most there may be.
static uint32_t programs(const plan *p, long rows) {
    return (uint32_t)((rows + p->rows - 1) / p->rows);
}

static void kernel_name(const plan *p, element type, char name[64]) {
    snprintf(name, 64, "softmax_%s%s%s", p->form == ROWS ? "" : form_names[p->form],
             p->form == ROWS ? "" : "_", elements[type].name);
}

/// The largest error as a fraction of the bound |y - ref| <= (4 + 2 |x - max|) 2^-24 ref (plus one
/// unit in the last place of a 16-bit output), against a reference in double precision. Right if it
/// is at most 1; infinite if a NaN came out.
static double worst_error(element t, const void *x, const void *y, long rows, long cols) {
    double worst = 0;
    for (long r = 0; r < rows; r++) {
        double max = -INFINITY, sum = 0;
        for (long c = 0; c < cols; c++)
            max = fmax(max, load_element(t, x, (size_t)(r * cols + c)));
        for (long c = 0; c < cols; c++)
            sum += exp(load_element(t, x, (size_t)(r * cols + c)) - max);
        for (long c = 0; c < cols; c++) {
            double v = load_element(t, x, (size_t)(r * cols + c)),
                   got = load_element(t, y, (size_t)(r * cols + c));
            double ref = exp(v - max) / sum;
            double bound = (4 + 2 * fabs(v - max)) * 0x1p-24 * ref;
            if (t == FP16)
                bound += fmax(ref * 0x1p-10, 0x1p-24);
            if (t == BF16)
                bound += fmax(ref * 0x1p-7, 0x1p-133);
            double error = fabs(got - ref) / bound;
            worst = fmax(worst, isnan(error) ? INFINITY : error);
        }
    }
    return worst;
}

/// The form by its name; -1 if there is none of the name.
static int find_form(const char *name) {
    for (int i = 0; i < 4; i++)
        if (!strcmp(name, form_names[i]))
            return i;
    fprintf(stderr, "--form: expected rows, several, persistent or looped, got '%s'\n", name);
    exit(2);
}

/// What the command line asks for, or what the rule picks.
static plan plan_from_options(int argc, char **argv, long rows, uint32_t cols, element type,
                              const tile_device_info *info) {
    const char *name = option(argc, argv, "form", NULL);
    plan p = name ? pick_form((form)find_form(name), rows, cols, type, info)
                  : pick(rows, cols, type, info);
    p.num_warps =
        next_power_of_2((uint32_t)number_option(argc, argv, "warps", (long)p.num_warps, 1));
    return p;
}

/// What a kernel of softmax.tile takes, in its order. Returns how many.
static uint32_t fill_arguments(tile_arg args[10], const plan *p, element type, const void *y,
                               const void *x, long rows, long cols) {
    const char *dtype = elements[type].name;
    uint32_t n = 0;
    args[n++] = TILE_POINTER(y, dtype);
    args[n++] = TILE_POINTER(x, dtype);
    args[n++] = TILE_I32(cols); // the strides
    args[n++] = TILE_I32(cols);
    if (p->form == SEVERAL || p->form == PERSISTENT)
        args[n++] = TILE_I32(rows);
    args[n++] = TILE_I32(cols);
    if (p->form == SEVERAL)
        args[n++] = TILE_CONSTEXPR_INT("ROWS", p->rows);
    args[n++] = TILE_CONSTEXPR_INT("BLOCK", p->block);
    if ((p->form == ROWS || p->form == PERSISTENT) && p->most) {
        args[n++] = TILE_CONSTEXPR_INT("LEAST", p->least);
        args[n++] = TILE_CONSTEXPR_INT("MOST", p->most);
    }
    return n;
}

/// Numbers in [-8, 8).
static void fill_randomly(element type, void *x, size_t count) {
    uint32_t random = 12345;
    for (size_t i = 0; i < count; i++) {
        random = random * 1664525u + 1013904223u;
        store_element(type, x, i, ((double)(random >> 20) - 2048) / 256);
    }
}

/// Computes, checks and times by the plan, or only shows it. True if all numbers are right.
static bool run(tile_device *dev, const tile_device_info *info, const plan *p, element type,
                long rows, long cols, int argc, char **argv) {
    bool bench = option(argc, argv, "bench", NULL) != NULL;
    bool verify = !bench || option(argc, argv, "verify", NULL) != NULL;
    tile_error err = {0};
    tile_module *mod;
    tile_kernel *softmax;
    char name[64];
    kernel_name(p, type, name);
    check(tile_module_load_file(dev, kernel_file("softmax.tile"), &mod, &err), &err);
    check(tile_module_get_kernel(mod, name, &softmax, &err), &err);

    tile_arg args[10];
    uint32_t n = fill_arguments(args, p, type, NULL, NULL, rows, cols);
    tile_launch_options launch = {.size = sizeof launch,
                                  .grid = {programs(p, rows)},
                                  .num_warps = p->num_warps,
                                  .num_ctas = p->num_ctas,
                                  .maxnreg = p->maxnreg};
    tile_kernel_info kernel;
    check(tile_warmup(softmax, args, n, &launch, &kernel, &err), &err);
    if (p->form == PERSISTENT)
        launch.grid[0] = tile_persistent_grid(&kernel, (uint64_t)rows);
    if (option(argc, argv, "plan", NULL)) {
        bool counts_rows = p->form == SEVERAL || p->form == PERSISTENT;
        print_plan(name,
                   counts_rows ? "y x y_stride x_stride n_rows n_cols"
                               : "y x y_stride x_stride n_cols",
                   args, n, &launch, &kernel);
        tile_module_destroy(mod);
        return true;
    }

    size_t count = (size_t)rows * (size_t)cols, bytes = count * elements[type].bytes;
    void *x = malloc(bytes), *y = malloc(bytes);
    if (!x || !y) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    fill_randomly(type, x, count);
    tile_buffer *dx, *dy, *flush = NULL;
    check(tile_buffer_create(dev, bytes, &dx, &err), &err);
    check(tile_buffer_create(dev, bytes, &dy, &err), &err);
    check(tile_copy_to_device(dx, 0, x, bytes, NULL, &err), &err);

    args[0].value.pointer = tile_buffer_data(dy);
    args[1].value.pointer = tile_buffer_data(dx);
    check(tile_launch(softmax, args, n, &launch, &err), &err);
    check(tile_copy_to_host(y, dy, 0, bytes, NULL, &err), &err);

    printf("%s %ld x %ld on %s, %u warps, grid %u", name, rows, cols, info->name, launch.num_warps,
           launch.grid[0]);
    if (launch.num_ctas > 1)
        printf(", clusters of %u", launch.num_ctas);
    double worst = verify ? worst_error(type, x, y, rows, cols) : 0;
    if (verify)
        printf(": %s (largest error %.2f of the bound)", worst > 1 ? "WRONG" : "right", worst);
    if (info->is_cuda)
        printf(", %u registers, %u bytes spilled, %u bytes shared, compiled and loaded in %.1f ms",
               kernel.registers, kernel.spill_bytes, kernel.shared_bytes, kernel.compile_ms);
    if (bench) {
        if (info->is_cuda)
            check(tile_buffer_create(dev, 256 << 20, &flush, &err), &err);
        double ms = median_ms(dev, softmax, args, n, &launch, flush, info->is_cuda ? 50 : 3);
        print_time(info, ms, 2.0 * (double)bytes);
    }
    printf("\n");
    tile_buffer_destroy(dx), tile_buffer_destroy(dy), tile_buffer_destroy(flush);
    tile_module_destroy(mod);
    free(x), free(y);
    return worst <= 1;
}

int main(int argc, char **argv) {
    static const char *const known[] = {"device", "rows",   "cols",  "dtype", "form",
                                        "warps",  "verify", "bench", "plan",  NULL};
    check_options(argc, argv, known);
    tile_error err = {0};
    tile_device *dev = open_device(option(argc, argv, "device", NULL), &err);
    tile_device_info info;
    check(tile_device_get_info(dev, &info, &err), &err);
    long rows = number_option(argc, argv, "rows", info.is_cuda ? 4096 : 64, 1);
    long cols = number_option(argc, argv, "cols", 1000, 1);
    element type = element_option(argc, argv);
    if (rows > INT32_MAX || cols > 1 << 20) {
        fprintf(stderr, "at most 2^31 - 1 rows of 2^20 columns\n");
        return 2;
    }
    plan p = plan_from_options(argc, argv, rows, (uint32_t)cols, type, &info);
    bool right = run(dev, &info, &p, type, rows, cols, argc, argv);
    tile_device_close(dev);
    return !right;
}
