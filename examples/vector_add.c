// Vector add from C: loads vector_add.tile, launches it, checks and times it.
//   vector_add [--device cuda:0|cpu] [--cols N] [--rows M] [--dtype fp32|bf16] [--verify] [--bench]
//              [--plan]                                                        (N * M elements)
#include "common.h"

/// z as it must be, exactly: the sum of two floats rounded once to the type.
static bool is_sum(element t, double x, double y, double z) {
    if (t == FP32)
        return z == x + y; // the inputs are small multiples of 1/4
    uint32_t bits;
    float sum = (float)(x + y), rounded;
    memcpy(&bits, &sum, 4);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000; // to nearest, ties to even
    memcpy(&rounded, &bits, 4);
    return z == (double)rounded;
}

int main(int argc, char **argv) {
    static const char *const known[] = {"device", "rows",  "cols", "dtype",
                                        "verify", "bench", "plan", NULL};
    check_options(argc, argv, known);
    element type = element_option(argc, argv);
    if (type == FP16) {
        fprintf(stderr, "--dtype: vector_add.tile has fp32 and bf16\n");
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
    const char *name = type == FP32 ? "vector_add" : "vector_add_bf16";
    check(tile_module_load_file(dev, kernel_file("vector_add.tile"), &mod, &err), &err);
    check(tile_module_get_kernel(mod, name, &add, &err), &err);

    // One vector of 16 bytes a thread.
    const char *dtype = elements[type].name;
    uint32_t block = 2048 / (uint32_t)elements[type].bytes;
    tile_arg args[] = {TILE_POINTER(NULL, dtype), TILE_POINTER(NULL, dtype),
                       TILE_POINTER(NULL, dtype), TILE_I32(n), TILE_CONSTEXPR_INT("BLOCK", block)};
    tile_launch_options launch = {
        .size = sizeof launch, .grid = {((uint32_t)n + block - 1) / block}, .num_warps = 4};
    tile_kernel_info kernel;
    check(tile_warmup(add, args, 5, &launch, &kernel, &err), &err);
    if (option(argc, argv, "plan", NULL)) {
        print_plan(name, "x y z n", args, 5, &launch, &kernel);
        return 0;
    }

    size_t bytes = (size_t)n * elements[type].bytes;
    void *host[3];
    tile_buffer *device[3], *flush = NULL;
    for (int i = 0; i < 3; i++) {
        host[i] = malloc(bytes);
        if (!host[i])
            return fprintf(stderr, "out of memory\n"), 1;
        check(tile_buffer_create(dev, bytes, &device[i], &err), &err);
        args[i].value.pointer = tile_buffer_data(device[i]);
    }
    for (int32_t i = 0; i < n; i++) {
        store_element(type, host[0], (size_t)i, (double)(i % 1013) * 0.25);
        store_element(type, host[1], (size_t)i, (double)(i % 811) - 400.0);
    }
    check(tile_copy_to_device(device[0], 0, host[0], bytes, NULL, &err), &err);
    check(tile_copy_to_device(device[1], 0, host[1], bytes, NULL, &err), &err);
    check(tile_launch(add, args, 5, &launch, &err), &err);
    check(tile_copy_to_host(host[2], device[2], 0, bytes, NULL, &err), &err);

    long wrong = 0;
    for (size_t i = 0; i < (size_t)n; i++)
        wrong += !is_sum(type, load_element(type, host[0], i), load_element(type, host[1], i),
                         load_element(type, host[2], i));
    printf("vector_add %d %s on %s: %s", n, dtype, info.name, wrong ? "WRONG" : "right");
    if (option(argc, argv, "bench", NULL)) {
        if (info.is_cuda)
            check(tile_buffer_create(dev, 256 << 20, &flush, &err), &err);
        double ms = median_ms(dev, add, args, 5, &launch, flush, info.is_cuda ? 50 : 3);
        print_time(&info, ms, 3.0 * (double)bytes);
    }
    printf("\n");
    for (int i = 0; i < 3; i++) {
        tile_buffer_destroy(device[i]);
        free(host[i]);
    }
    tile_buffer_destroy(flush);
    tile_module_destroy(mod);
    tile_device_close(dev);
    return wrong != 0;
}
