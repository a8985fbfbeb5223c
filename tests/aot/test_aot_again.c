// A header may be included wherever its functions are called; one file has what they are made of.
#include "kernels.tile.h"

tile_status axpy_from_another_file(tile_device *device, float *y, const float *x,
                                   tile_error *error);
tile_status axpy_from_another_file(tile_device *device, float *y, const float *x,
                                   tile_error *error) {
    const uint32_t grid[3] = {1, 1, 1};
    return axpy_launch(device, grid, NULL, y, x, NULL, 16, 1, 1024, error);
}
