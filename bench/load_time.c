// From source to a function that can be launched, in a warm process with no cache: softmax fp32 in
// several sizes, by either assembler, and the driver's part of it (PTX to function) by itself.
// Prints milliseconds as JSON.
//   load_time [--rounds N]     at most 25
#include "bench/driver.h"

enum { MAX_ROUNDS = 25 };

static const struct {
    int block;
    unsigned warps;
} variants[] = {{256, 1}, {1024, 2}, {1024, 4}, {2048, 4}, {4096, 4}, {8192, 8}};
enum { VARIANTS = sizeof variants / sizeof *variants };

static tile_device *dev;
static tile_error err;

/// Compiles one variant from its source, as if it had never been seen. With `driver_ms` its PTX is
/// loaded once more, by hand.
static double compile(int variant, double *driver_ms) {
    tile_module *mod;
    tile_kernel *k;
    tile_kernel_info info;
    int n = variants[variant].block;
    tile_arg args[] = {TILE_POINTER(NULL, "fp32"),
                       TILE_POINTER(NULL, "fp32"),
                       TILE_I32(n),
                       TILE_I32(n),
                       TILE_I32(n),
                       TILE_CONSTEXPR_INT("BLOCK", n)};
    tile_launch_options o = {.size = sizeof o, .num_warps = variants[variant].warps};
    check(tile_module_load_file(dev, kernel_file("softmax.tile"), &mod, &err), &err);
    check(tile_module_get_kernel(mod, "softmax_fp32", &k, &err), &err);
    check(tile_warmup(k, args, 6, &o, &info, &err), &err);
    if (driver_ms) {
        char *ptx;
        void *library, *kernel, *function;
        check(tile_kernel_ptx(k, args, 6, &o, &ptx, &err), &err);
        double start = now_ns();
        must(cu.cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
        must(cu.cuLibraryGetKernel(&kernel, library, "softmax_fp32"));
        must(cu.cuKernelGetFunction(&function, kernel));
        *driver_ms = (now_ns() - start) * 1e-6;
        tile_free(ptx);
    }
    tile_module_destroy(mod);
    return info.compile_ms;
}

static void print_ms(const char *name, double *ms, int n) {
    qsort(ms, (size_t)n, sizeof *ms, by_value);
    printf("\"%s\": {\"ms\": %.2f, \"p20\": %.2f, \"p80\": %.2f, \"least\": %.2f, \"runs\": %d}",
           name, ms[n / 2], ms[n / 5], ms[n * 4 / 5], ms[0], n);
}

int main(int argc, char **argv) {
    static const char *const known[] = {"rounds", NULL};
    static double by_driver[VARIANTS * MAX_ROUNDS], by_ptxas[VARIANTS * MAX_ROUNDS],
        driver_part[VARIANTS * MAX_ROUNDS];
    check_options(argc, argv, known);
    int rounds = (int)number_option(argc, argv, "rounds", 5, 1), n = 0;
    rounds = rounds < MAX_ROUNDS ? rounds : MAX_ROUNDS;
    setenv("CUDA_CACHE_DISABLE", "1", 1);
    setenv("TILE_CACHE_DIR", "off", 1);
    open_context();
    check(tile_device_open("cuda:0", &dev, &err), &err);
    for (int r = -1; r < rounds; r++) // the first starts LLVM
        for (int v = 0; v < VARIANTS; v++, n += r >= 0) {
            setenv("TILE_ASSEMBLER", "driver", 1);
            by_driver[n] = compile(v, &driver_part[n]);
            setenv("TILE_ASSEMBLER", "ptxas", 1);
            by_ptxas[n] = compile(v, NULL);
        }
    printf("{");
    print_ms("source to function by the driver", by_driver, n);
    printf(", ");
    print_ms("PTX to function by the driver", driver_part, n);
    printf(", ");
    print_ms("source to function by ptxas", by_ptxas, n);
    printf("}\n");
    tile_device_close(dev);
    return 0;
}
