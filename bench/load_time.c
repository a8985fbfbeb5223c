// From source to a function that can be launched, in a warm process: softmax fp32 in several sizes, by
// either assembler, into the on-disk cache and out of it; and the driver's part of it by itself.
// Prints milliseconds as JSON.
//   load_time [--rounds N]     at most 25
// The driver's own cache is off, unless CUDA_CACHE_DISABLE=0 is set: then it is warm.
#include "bench/driver.h"

enum { MAX_ROUNDS = 25 };

static const struct {
    int block;
    unsigned warps;
} variants[] = {{256, 1}, {1024, 2}, {1024, 4}, {2048, 4}, {4096, 4}, {8192, 8}};
enum { VARIANTS = sizeof variants / sizeof *variants };

enum { BY_DRIVER, FROM_CACHE, PTX_TO_FUNCTION, BY_PTXAS, FROM_CACHE_IMAGE, READING, MEASURES };
static const char *const names[] = {
    [BY_DRIVER] = "source to function by the driver, and into the cache",
    [FROM_CACHE] = "cache to function by the driver",
    [PTX_TO_FUNCTION] = "PTX to function by the driver",
    [BY_PTXAS] = "source to function by ptxas, and into the cache",
    [FROM_CACHE_IMAGE] = "cache to function by ptxas",
    [READING] = "reading the source, before that",
};
static double ms[MEASURES][VARIANTS * MAX_ROUNDS];

static tile_device *dev;
static tile_error err;

/// Milliseconds from PTX to function by hand.
static double load(const char *ptx) {
    void *library, *kernel, *function;
    double start = now_ns();
    must(cu.cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    must(cu.cuLibraryGetKernel(&kernel, library, "softmax_fp32"));
    must(cu.cuKernelGetFunction(&function, kernel));
    double took = (now_ns() - start) * 1e-6;
    must(cu.cuLibraryUnload(library));
    return took;
}

/// Gets one variant as if this process had never seen it. Returns the time, and how long the reading
/// of its source took before, and with `driver_ms` the driver's part.
static double get(int variant, double *reading_ms, double *driver_ms, tile_kernel_info *info) {
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
    if (driver_ms) {
        char *ptx;
        check(tile_kernel_ptx(k, args, 6, &o, &ptx, &err), &err);
        *driver_ms = load(ptx);
        tile_free(ptx);
    }
    tile_module_destroy(mod);
    return info->compile_ms;
}

/// Into the empty cache by one of the assemblers, and out of it.
static void measure(int variant, const char *assembler, double *to, double *from,
                    double *reading_ms, double *driver_ms) {
    tile_kernel_info first, second;
    setenv("TILE_ASSEMBLER", assembler, 1);
    check(tile_cache_prune(NULL, 0, NULL, &err), &err);
    *to = get(variant, reading_ms, NULL, &first);
    *from = get(variant, reading_ms, driver_ms, &second);
    if (first.from_cache || !second.from_cache || first.registers != second.registers) {
        fprintf(stderr, "the cache is not used, or it has another code: %u registers, then %u\n",
                first.registers, second.registers);
        exit(1);
    }
}

int main(int argc, char **argv) {
    static const char *const known[] = {"rounds", NULL};
    char folder[] = "/tmp/load-time-XXXXXX", command[64];
    check_options(argc, argv, known);
    int rounds = (int)number_option(argc, argv, "rounds", 5, 1), n = 0;
    rounds = rounds < MAX_ROUNDS ? rounds : MAX_ROUNDS;
    if (!mkdtemp(folder)) {
        perror(folder);
        return 1;
    }
    setenv("CUDA_CACHE_DISABLE", "1", 0);
    setenv("TILE_CACHE_DIR", folder, 1);
    open_context();
    check(tile_device_open("cuda:0", &dev, &err), &err);
    for (int r = -1; r < rounds; r++) // the first starts LLVM
        for (int v = 0; v < VARIANTS; v++, n += r >= 0) {
            measure(v, "driver", &ms[BY_DRIVER][n], &ms[FROM_CACHE][n], &ms[READING][n],
                    &ms[PTX_TO_FUNCTION][n]);
            measure(v, "ptxas", &ms[BY_PTXAS][n], &ms[FROM_CACHE_IMAGE][n], &ms[READING][n], NULL);
        }
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
