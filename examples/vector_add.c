// Vector add from C: loads vector_add.tile, launches it, checks and times it.
//   vector_add [--device cuda:0|cpu] [--cols N] [--rows M] [--verify] [--bench]   (N * M elements)
#include "common.h"

int main(int argc, char **argv) {
    static const char *const known[] = {"device", "rows", "cols", "dtype", "verify", "bench", NULL};
    check_options(argc, argv, known);
    if (element_option(argc, argv) != FP32) {
        fprintf(stderr, "--dtype: vector_add.tile is fp32\n");
        return 2;
    }
    tile_error err = {0};
    tile_device *dev = open_device(option(argc, argv, "device", NULL), &err);
    tile_device_info info;
    check(tile_device_get_info(dev, &info, &err), &err);
    long elements_wanted = number_option(argc, argv, "rows", 1, 1) *
                           number_option(argc, argv, "cols", info.is_cuda ? 1 << 24 : 100003, 1);
    if (elements_wanted > INT32_MAX) {
        fprintf(stderr, "--rows times --cols is over 2^31 - 1\n");
        return 2;
    }
    int32_t n = (int32_t)elements_wanted;

    tile_module *mod;
    tile_kernel *add;
    check(tile_module_load_file(dev, kernel_file("vector_add.tile"), &mod, &err), &err);
    check(tile_module_get_kernel(mod, "vector_add", &add, &err), &err);

    size_t bytes = (size_t)n * sizeof(float);
    float *x = malloc(bytes), *y = malloc(bytes), *z = malloc(bytes);
    if (!x || !y || !z)
        return fprintf(stderr, "out of memory\n"), 1;
    for (int32_t i = 0; i < n; i++) {
        x[i] = (float)(i % 1013) * 0.25f;
        y[i] = (float)(i % 811) - 400.0f;
    }
    tile_buffer *dx, *dy, *dz, *flush = NULL;
    check(tile_buffer_create(dev, bytes, &dx, &err), &err);
    check(tile_buffer_create(dev, bytes, &dy, &err), &err);
    check(tile_buffer_create(dev, bytes, &dz, &err), &err);
    check(tile_copy_to_device(dx, 0, x, bytes, NULL, &err), &err);
    check(tile_copy_to_device(dy, 0, y, bytes, NULL, &err), &err);

    enum { BLOCK = 1024 };
    tile_arg args[] = {TILE_BUFFER(dx, "fp32"), TILE_BUFFER(dy, "fp32"), TILE_BUFFER(dz, "fp32"),
                       TILE_I32(n), TILE_CONSTEXPR_INT("BLOCK", BLOCK)};
    tile_launch_options launch = {.size = sizeof launch,
                                  .grid = {((uint32_t)n + BLOCK - 1) / BLOCK}};
    check(tile_launch(add, args, 5, &launch, &err), &err);
    check(tile_copy_to_host(z, dz, 0, bytes, NULL, &err), &err);

    long wrong = 0;
    for (int32_t i = 0; i < n; i++)
        wrong += (double)z[i] != (double)x[i] + (double)y[i];
    printf("vector_add %d fp32 on %s: %s", n, info.name, wrong ? "WRONG" : "right");
    if (option(argc, argv, "bench", NULL)) {
        if (info.is_cuda)
            check(tile_buffer_create(dev, 256 << 20, &flush, &err), &err);
        double ms = median_ms(dev, add, args, 5, &launch, flush, info.is_cuda ? 50 : 3);
        print_time(&info, ms, 3.0 * (double)bytes);
    }
    printf("\n");
    tile_buffer_destroy(dx), tile_buffer_destroy(dy), tile_buffer_destroy(dz),
        tile_buffer_destroy(flush);
    tile_module_destroy(mod);
    tile_device_close(dev);
    free(x), free(y), free(z);
    return wrong != 0;
}
