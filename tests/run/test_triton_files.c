// The published Triton kernels of examples/triton, as printed, run and compared with plain loops.
#include "run.h"

static tile_kernel *load(const char *file, const char *name, tile_module **mod) {
    tile_kernel *k;
    char path[1024];
    snprintf(path, sizeof path, "%s/triton/%s", EXAMPLES_DIR, file);
    must(tile_module_load_file(dev, path, mod, &err));
    must(tile_module_get_kernel(*mod, name, &k, &err));
    return k;
}

static void test_add(void) {
    tile_module *mod;
    tile_kernel *k = load("vector_add.py", "add_kernel", &mod);
    enum { N = 10003, BLOCK = 256 };
    static float x[N], y[N], z[N];
    for (int i = 0; i < N; i++)
        x[i] = (float)(random_u32() % 4096) / 16, y[i] = (float)(random_u32() % 4096) / 16;
    tile_buffer *dx = buffer_from(x, sizeof x), *dy = buffer_from(y, sizeof y),
                *dz = buffer_from(NULL, sizeof z);
    tile_arg args[] = {TILE_BUFFER(dx, "fp32"), TILE_BUFFER(dy, "fp32"), TILE_BUFFER(dz, "fp32"),
                       TILE_INT(N), TILE_CONSTEXPR_INT("BLOCK", BLOCK)};
    tile_launch_options o = {.size = sizeof o, .grid = {(N + BLOCK - 1) / BLOCK}};
    must(tile_launch(k, args, 5, &o, &err));
    read_buffer(dz, z, sizeof z);
    for (int i = 0; i < N; i++)
        expect(z[i] == x[i] + y[i], "add_kernel: element %d: %g, expected %g", i, (double)z[i],
               (double)(x[i] + y[i]));
    tile_buffer_destroy(dx), tile_buffer_destroy(dy), tile_buffer_destroy(dz);
    tile_module_destroy(mod);
}

static void check_softmax(const char *what, const float *x, const float *y, long rows, long cols,
                          long stride) {
    for (long r = 0; r < rows; r++) {
        double max = -INFINITY, sum = 0;
        for (long c = 0; c < cols; c++)
            max = fmax(max, x[r * stride + c]);
        for (long c = 0; c < cols; c++)
            sum += exp(x[r * stride + c] - max);
        for (long c = 0; c < cols; c++) {
            double ref = exp(x[r * stride + c] - max) / sum, got = y[r * stride + c];
            double bound = (4 + 2 * fabs(x[r * stride + c] - max)) * 0x1p-24 * ref;
            expect(fabs(got - ref) <= bound,
                   "%s: row %ld of %ld columns, column %ld: %.9g, expected %.9g", what, r, cols, c,
                   got, ref);
        }
    }
}

static void test_softmax(bool fused) {
    tile_module *mod;
    tile_kernel *k = fused ? load("fused_softmax.py", "softmax_kernel", &mod)
                           : load("row_softmax.py", "row_softmax", &mod);
    static const long sizes[] = {1, 3, 33, 128, 781, 1000, 1024, 4097};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        long cols = sizes[s], rows = 23, stride = cols + (long)(s % 3);
        size_t bytes = (size_t)(rows * stride) * 4;
        float *x = xmalloc(bytes), *y = xmalloc(bytes);
        for (long i = 0; i < rows * stride; i++)
            x[i] = (float)(random_u32() % 4096) / 256 - 8;
        tile_buffer *dx = buffer_from(x, bytes), *dy = buffer_from(NULL, bytes);
        tile_arg args[8];
        uint32_t n = 0;
        args[n++] = fused ? TILE_BUFFER(dy, "fp32") : TILE_BUFFER(dx, "fp32");
        args[n++] = fused ? TILE_BUFFER(dx, "fp32") : TILE_BUFFER(dy, "fp32");
        args[n++] = TILE_INT(stride);
        args[n++] = TILE_INT(stride);
        if (fused)
            args[n++] = TILE_INT(rows);
        args[n++] = TILE_INT(cols);
        args[n++] =
            TILE_CONSTEXPR_INT(fused ? "BLOCK_SIZE" : "BLOCK", next_power_of_2((uint32_t)cols));
        if (fused)
            args[n++] = TILE_CONSTEXPR_INT("num_stages", 4);
        tile_launch_options o = {.size = sizeof o, .grid = {(uint32_t)rows}, .num_warps = 8};
        tile_kernel_info info;
        must(tile_warmup(k, args, n, &o, &info, &err));
        if (fused)
            o.grid[0] = tile_persistent_grid(&info, 7); // fewer programs than rows
        must(tile_launch(k, args, n, &o, &err));
        read_buffer(dy, y, bytes);
        check_softmax(fused ? "softmax_kernel" : "row_softmax", x, y, rows, cols, stride);
        tile_buffer_destroy(dx), tile_buffer_destroy(dy);
        free(x), free(y);
    }
    tile_module_destroy(mod);
}

int main(void) {
    open_test_device();
    test_add();
    test_softmax(false);
    test_softmax(true);
    return finish();
}
