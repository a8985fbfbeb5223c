// The embedding example of docs/runtime.md, complete: `y = a * x + y` on any device.
#include <tile.h>

#include <stdio.h>
#include <stdlib.h>

static const char source[] =
    "def axpy(x: *fp32, y: *fp32, a: fp32, n: i32, BLOCK: constexpr = 1024):\n"
    "    offs = program_id(0) * BLOCK + arange(0, BLOCK)\n"
    "    mask = offs < n\n"
    "    store(y + offs, a * load(x + offs, mask=mask) + load(y + offs, mask=mask), mask=mask)\n";

int main(void) {
    const char *device = getenv("TILE_TEST_DEVICE");
    tile_error err = {0};
    tile_device *dev = NULL;
    tile_module *mod = NULL;
    tile_kernel *axpy = NULL;
    tile_buffer *dx = NULL, *dy = NULL;
    enum { N = 100000, BLOCK = 1024 };
    static float x[N], y[N];
    for (int i = 0; i < N; i++)
        x[i] = (float)i, y[i] = 1;

    int exit_status = 1;
    if (tile_device_open(device ? device : "cpu", &dev, &err)) {
        exit_status = err.status == TILE_ERROR_NOT_FOUND ? 77 : 1; // no such device: skipped
        goto done;
    }
    if (tile_module_load_string(dev, "axpy.tile", source, sizeof source - 1, &mod, &err) ||
        tile_module_get_kernel(mod, "axpy", &axpy, &err) ||
        tile_buffer_create(dev, sizeof x, &dx, &err) ||
        tile_buffer_create(dev, sizeof y, &dy, &err) ||
        tile_copy_to_device(dx, 0, x, sizeof x, NULL, &err) ||
        tile_copy_to_device(dy, 0, y, sizeof y, NULL, &err))
        goto done;

    tile_arg args[] = {TILE_BUFFER(dx, "fp32"), TILE_BUFFER(dy, "fp32"), TILE_FP32(2.0),
                       TILE_I32(N), TILE_CONSTEXPR_INT("BLOCK", BLOCK)};
    tile_launch_options options = {.size = sizeof options, .grid = {(N + BLOCK - 1) / BLOCK}};
    if (tile_launch(axpy, args, 5, &options, &err) || tile_synchronize(dev, NULL, &err) ||
        tile_copy_to_host(y, dy, 0, sizeof y, NULL, &err))
        goto done;
    exit_status = 0;
    for (int i = 0; i < N; i++)
        if (y[i] != 2.0f * (float)i + 1)
            exit_status = 1;
    printf("axpy: %s\n", exit_status ? "wrong" : "right");
done:
    if (err.status)
        fprintf(stderr, "%s\n", err.log ? err.log : err.message);
    tile_error_clear(&err);
    tile_buffer_destroy(dx);
    tile_buffer_destroy(dy);
    tile_module_destroy(mod);
    tile_device_close(dev);
    return exit_status;
}
