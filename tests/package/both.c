// Kernels compiled ahead of time in a program that has the compiler, too.
#include "scale.tile.h"

#include <stdio.h>
#include <string.h>

static const char source[] = "def one(x: *fp32):\n    store(x, 1.0)\n";

int main(void) {
    tile_error err = {0};
    tile_device *cpu, *gpu;
    tile_module *mod;
    tile_kernel *k;
    tile_buffer *x;
    const uint32_t grid[3] = {1, 1, 1};
    if (tile_device_open("cpu", &cpu, &err) || tile_device_open("cuda:0", &gpu, &err) ||
        tile_buffer_create(gpu, 4096, &x, &err) ||
        tile_module_load_string(gpu, "one.tile", source, sizeof source - 1, &mod, &err) ||
        tile_module_get_kernel(mod, "one", &k, &err))
        return printf("%s\n", err.message), 1;
    float *p = tile_buffer_data(x);
    tile_arg arg = TILE_POINTER(p, "fp32");
    tile_launch_options options = {.size = sizeof options, .grid = {1}};
    if (scale_launch(gpu, grid, NULL, p, p, 1000, 2, &err) ||
        tile_launch(k, &arg, 1, &options, &err))
        return printf("%s\n", err.message), 1;
    tile_status status = scale_launch(cpu, grid, NULL, p, p, 1000, 2, &err);
    printf("on cpu: %s\n", err.message);
    bool ok = status == TILE_ERROR_UNSUPPORTED && strstr(err.message, "runs on no other device");
    tile_error_clear(&err);
    tile_buffer_destroy(x);
    tile_module_destroy(mod);
    tile_device_close(gpu);
    tile_device_close(cpu);
    return !ok;
}
