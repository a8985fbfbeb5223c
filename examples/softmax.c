// Row-wise softmax from C, in both forms of softmax.tile.
//   softmax [--device cuda:0|cpu] [--rows M] [--cols N] [--dtype fp32|fp16|bf16]
//           [--form rows|persistent] [--warps W] [--verify] [--bench]
// The persistent form is sized as the Triton tutorial does it: warm the kernel up, ask how many of
// its blocks a multiprocessor holds at once, launch that many per multiprocessor, at most one a row.
#include "common.h"

static uint32_t next_power_of_2(uint32_t n) {
    uint32_t p = 1;
    while (p < n)
        p *= 2;
    return p;
}

/// 16 elements a thread for short rows. For long ones 32, which leaves room for two programs on a
/// multiprocessor. At most 16 warps up to 32768 elements, since a thread beside 31 other warps has
/// 64 registers.
static uint32_t pick_warps(uint32_t block) {
    uint32_t warps = block / (32 * (block < 8192 ? 16 : 32)), most = block > 32768 ? 32 : 16;
    return warps < 1 ? 1 : warps > most ? most : warps;
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

int main(int argc, char **argv) {
    static const char *const known[] = {"device", "rows",   "cols",  "dtype", "form",
                                        "warps",  "verify", "bench", NULL};
    check_options(argc, argv, known);
    tile_error err = {0};
    tile_device *dev = open_device(option(argc, argv, "device", NULL), &err);
    tile_device_info info;
    check(tile_device_get_info(dev, &info, &err), &err);
    long rows = number_option(argc, argv, "rows", info.is_cuda ? 4096 : 64, 1);
    long cols = number_option(argc, argv, "cols", 1000, 1);
    element type = element_option(argc, argv);
    bool persistent = !strcmp(option(argc, argv, "form", "rows"), "persistent");
    if (rows > INT32_MAX || cols > 1 << 20) {
        fprintf(stderr, "at most 2^31 - 1 rows of 2^20 columns\n");
        return 2;
    }

    tile_module *mod;
    tile_kernel *softmax;
    char name[64];
    snprintf(name, sizeof name, "softmax_%s%s", persistent ? "persistent_" : "",
             elements[type].name);
    check(tile_module_load_file(dev, kernel_file("softmax.tile"), &mod, &err), &err);
    check(tile_module_get_kernel(mod, name, &softmax, &err), &err);

    size_t count = (size_t)rows * (size_t)cols, bytes = count * elements[type].bytes;
    void *x = malloc(bytes), *y = malloc(bytes);
    if (!x || !y)
        return fprintf(stderr, "out of memory\n"), 1;
    uint32_t random = 12345;
    for (size_t i = 0; i < count; i++) {
        random = random * 1664525u + 1013904223u;
        store_element(type, x, i, ((double)(random >> 20) - 2048) / 64 / 8 * 2);
    }
    tile_buffer *dx, *dy, *flush = NULL;
    check(tile_buffer_create(dev, bytes, &dx, &err), &err);
    check(tile_buffer_create(dev, bytes, &dy, &err), &err);
    check(tile_copy_to_device(dx, 0, x, bytes, NULL, &err), &err);

    uint32_t block = next_power_of_2((uint32_t)cols);
    const char *dtype = elements[type].name;
    tile_arg args[8] = {TILE_BUFFER(dy, dtype), TILE_BUFFER(dx, dtype), TILE_I32(cols),
                        TILE_I32(cols)};
    uint32_t n = 4;
    if (persistent)
        args[n++] = TILE_I32(rows);
    args[n++] = TILE_I32(cols);
    args[n++] = TILE_CONSTEXPR_INT("BLOCK", block);
    tile_launch_options launch = {.size = sizeof launch, .grid = {(uint32_t)rows}};
    launch.num_warps =
        next_power_of_2((uint32_t)number_option(argc, argv, "warps", (long)pick_warps(block), 1));
    // Rows that are not aligned come with code for their ends, for which the assembler would spend
    // the registers of the second program. Rows of 16 bits keep within them by themselves.
    bool is_wide = (size_t)cols * elements[type].bytes % 16 == 0;
    if (!is_wide && type == FP32 && launch.num_warps == 16 && block <= 16384)
        launch.maxnreg = 64;
    tile_kernel_info kernel;
    check(tile_warmup(softmax, args, n, &launch, &kernel, &err), &err);
    if (persistent)
        launch.grid[0] = tile_persistent_grid(&kernel, (uint64_t)rows);
    check(tile_launch(softmax, args, n, &launch, &err), &err);
    check(tile_copy_to_host(y, dy, 0, bytes, NULL, &err), &err);

    printf("%s %ld x %ld on %s, %u warps, grid %u", name, rows, cols, info.name, launch.num_warps,
           launch.grid[0]);
    bool wrong = false;
    if (option(argc, argv, "verify", NULL) || !option(argc, argv, "bench", NULL)) {
        double worst = worst_error(type, x, y, rows, cols);
        wrong = worst > 1;
        printf(": %s (largest error %.2f of the bound)", wrong ? "WRONG" : "right", worst);
    }
    if (info.is_cuda)
        printf(", %u registers, %u bytes spilled, %u bytes shared, compiled and loaded in %.1f ms",
               kernel.registers, kernel.spill_bytes, kernel.shared_bytes, kernel.compile_ms);
    if (option(argc, argv, "bench", NULL)) {
        if (info.is_cuda)
            check(tile_buffer_create(dev, 256 << 20, &flush, &err), &err);
        double ms = median_ms(dev, softmax, args, n, &launch, flush, info.is_cuda ? 50 : 3);
        print_time(&info, ms, 2.0 * (double)bytes);
    }
    printf("\n");
    tile_buffer_destroy(dx), tile_buffer_destroy(dy), tile_buffer_destroy(flush);
    tile_module_destroy(mod);
    tile_device_close(dev);
    free(x), free(y);
    return wrong;
}
