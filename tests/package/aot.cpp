// A C++ program with a kernel inside that was compiled when the program was: no compiler, no source.
#include "scale.tile.h"

#include <tile.hpp>

#include <cstdio>
#include <cstdlib>

static int run() {
    tile::Device opened("cuda:0");
    tile_device *device = opened;
    const int n = 10000;
    std::vector<float> host(n);
    for (int i = 0; i < n; i++)
        host[i] = static_cast<float>(i);
    tile::Buffer<float> x(device, host), y(device, n);
    const uint32_t grid[3] = {(n + 1023) / 1024, 1, 1};
    tile::call(scale_launch, device, grid, nullptr, y.data(), x.data(), n, 0.5f);
    std::vector<float> result = y.read();
    if (std::getenv("TILE_LIBCUDA"))
        return std::printf("launched\n"), 0; // by a driver that computes nothing
    for (int i = 0; i < n; i++)
        if (result[i] != 0.5f * host[i])
            return std::printf("wrong at %d\n", i), 1;
    std::printf("right\n");
    return 0;
}

int main() {
    try {
        return run();
    } catch (const tile::Error &error) {
        std::printf("%s\n", error.what());
        return error.status == TILE_ERROR_NOT_FOUND ? 77 : 1; // no GPU here
    }
}
