// From source to a function that can be launched, in a warm process: softmax fp32 in several sizes, by
// either assembler, into the on-disk cache and out of it; and the driver's part of it by itself, from
// PTX and from an image. Prints milliseconds as JSON.
//   load_time [--rounds N]     at most 25
#include "bench/driver.h"

enum { MAX_ROUNDS = 25 };

static const struct {
    int block;
    unsigned warps;
} variants[] = {{256, 1}, {1024, 2}, {1024, 4}, {2048, 4}, {4096, 4}, {8192, 8}};
enum { VARIANTS = sizeof variants / sizeof *variants };

enum {
    BY_DRIVER,
    BY_PTXAS,
    TO_CACHE,
    FROM_CACHE,
    READING,
    PTX_TO_FUNCTION,
    PTX_TO_IMAGE,
    IMAGE_TO_FUNCTION,
    MEASURES
};
static const char *const names[] = {
    [BY_DRIVER] = "source to function by the driver",
    [BY_PTXAS] = "source to function by ptxas",
    [TO_CACHE] = "source to function by the driver, and into the cache",
    [FROM_CACHE] = "cache to function",
    [READING] = "reading the source, before that",
    [PTX_TO_FUNCTION] = "PTX to function by the driver",
    [PTX_TO_IMAGE] = "PTX to image by the driver",
    [IMAGE_TO_FUNCTION] = "image to function by the driver",
};
static double ms[MEASURES][VARIANTS * MAX_ROUNDS];

static tile_device *dev;
static tile_error err;

/// Milliseconds to load code by hand.
static double load(const void *code) {
    void *library, *kernel, *function;
    double start = now_ns();
    must(cu.cuLibraryLoadData(&library, code, NULL, NULL, 0, NULL, NULL, 0));
    must(cu.cuLibraryGetKernel(&kernel, library, "softmax_fp32"));
    must(cu.cuKernelGetFunction(&function, kernel));
    double took = (now_ns() - start) * 1e-6;
    must(cu.cuLibraryUnload(library));
    return took;
}

/// The driver's part, from the PTX and by way of an image.
static void load_by_hand(char *ptx, int n) {
    enum { INPUT_PTX = 1 };
    void *state, *image;
    size_t bytes;
    ms[PTX_TO_FUNCTION][n] = load(ptx);
    double start = now_ns();
    must(cu.cuLinkCreate(0, NULL, NULL, &state));
    must(cu.cuLinkAddData(state, INPUT_PTX, ptx, strlen(ptx) + 1, "softmax", 0, NULL, NULL));
    must(cu.cuLinkComplete(state, &image, &bytes));
    ms[PTX_TO_IMAGE][n] = (now_ns() - start) * 1e-6;
    ms[IMAGE_TO_FUNCTION][n] = load(image);
    must(cu.cuLinkDestroy(state));
}

/// Gets one variant as if this process had never seen it. Returns the time, and how long the reading
/// of its source took before. With `n` >= 0 the driver's part is measured as well.
static double get(int variant, double *reading_ms, int n, tile_kernel_info *info) {
    tile_module *mod;
    tile_kernel *k;
    int size = variants[variant].block;
    tile_arg args[] = {TILE_POINTER(NULL, "fp32"),
                       TILE_POINTER(NULL, "fp32"),
                       TILE_I32(size),
                       TILE_I32(size),
                       TILE_I32(size),
                       TILE_CONSTEXPR_INT("BLOCK", size)};
    tile_launch_options o = {.size = sizeof o, .num_warps = variants[variant].warps};
    double start = now_ns();
    check(tile_module_load_file(dev, kernel_file("softmax.tile"), &mod, &err), &err);
    *reading_ms = (now_ns() - start) * 1e-6;
    check(tile_module_get_kernel(mod, "softmax_fp32", &k, &err), &err);
    check(tile_warmup(k, args, 6, &o, info, &err), &err);
    if (n >= 0) {
        char *ptx;
        check(tile_kernel_ptx(k, args, 6, &o, &ptx, &err), &err);
        load_by_hand(ptx, n);
        tile_free(ptx);
    }
    tile_module_destroy(mod);
    return info->compile_ms;
}

/// By way of an image or not, the driver makes the same code of it.
static void compare(const tile_kernel_info *a, const tile_kernel_info *b) {
    if (a->registers == b->registers && a->spill_bytes == b->spill_bytes &&
        a->max_blocks_per_sm == b->max_blocks_per_sm)
        return;
    fprintf(stderr, "%u registers and %u bytes spilled, but %u and %u by way of an image\n",
            a->registers, a->spill_bytes, b->registers, b->spill_bytes);
    exit(1);
}

static void measure(int variant, int n, const char *folder) {
    double reading;
    tile_kernel_info loaded, linked, cached;
    check(tile_device_set_cache(dev, "off", 0, &err), &err);
    setenv("TILE_ASSEMBLER", "ptxas", 1);
    ms[BY_PTXAS][n] = get(variant, &reading, -1, &loaded);
    setenv("TILE_ASSEMBLER", "driver", 1);
    ms[BY_DRIVER][n] = get(variant, &reading, n, &loaded);
    check(tile_device_set_cache(dev, folder, 0, &err), &err);
    check(tile_cache_prune(folder, 0, NULL, &err), &err);
    ms[TO_CACHE][n] = get(variant, &reading, -1, &linked);
    ms[FROM_CACHE][n] = get(variant, &ms[READING][n], -1, &cached);
    if (!cached.from_cache || linked.from_cache) {
        fprintf(stderr, "the cache in '%s' is not used\n", folder);
        exit(1);
    }
    compare(&loaded, &linked);
    compare(&loaded, &cached);
}

int main(int argc, char **argv) {
    static const char *const known[] = {"rounds", NULL};
    char folder[] = "/tmp/load-time-XXXXXX", command[64];
    check_options(argc, argv, known);
    int rounds = (int)number_option(argc, argv, "rounds", 5, 1), n = 0;
    rounds = rounds < MAX_ROUNDS ? rounds : MAX_ROUNDS;
    setenv("CUDA_CACHE_DISABLE", "1", 1);
    open_context();
    check(tile_device_open("cuda:0", &dev, &err), &err);
    if (!mkdtemp(folder)) {
        perror(folder);
        return 1;
    }
    for (int r = -1; r < rounds; r++) // the first starts LLVM
        for (int v = 0; v < VARIANTS; v++, n += r >= 0)
            measure(v, n, folder);
    printf("{");
    for (int i = 0; i < MEASURES; i++) {
        qsort(ms[i], (size_t)n, sizeof *ms[i], by_value);
        printf(
            "%s\"%s\": {\"ms\": %.2f, \"p20\": %.2f, \"p80\": %.2f, \"least\": %.2f, \"runs\": %d}",
            i ? ", " : "", names[i], ms[i][n / 2], ms[i][n / 5], ms[i][n * 4 / 5], ms[i][0], n);
    }
    printf("}\n");
    tile_device_close(dev);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0;
}
