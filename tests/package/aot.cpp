// A C++ program with a kernel inside that was compiled when the program was: no compiler, no source.
#include "scale.tile.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

struct closer {
    void operator()(tile_device *d) const { tile_device_close(d); }
    void operator()(tile_buffer *b) const { tile_buffer_destroy(b); }
};

static int fail(const tile_error &err) {
    std::fprintf(stderr, "%s\n", err.message);
    return err.status == TILE_ERROR_NOT_FOUND ? 77 : 1; // no GPU here
}

static std::unique_ptr<tile_buffer, closer> make_buffer(tile_device *device, std::size_t bytes) {
    tile_buffer *b = nullptr;
    tile_buffer_create(device, bytes, &b, nullptr);
    return std::unique_ptr<tile_buffer, closer>(b);
}

int main() {
    tile_error err = {};
    tile_device *opened = nullptr;
    if (tile_device_open("cuda:0", &opened, &err))
        return fail(err);
    std::unique_ptr<tile_device, closer> device(opened);
    const int32_t n = 10000;
    std::vector<float> host(n);
    for (int i = 0; i < n; i++)
        host[i] = static_cast<float>(i);
    auto x = make_buffer(opened, n * sizeof(float)), y = make_buffer(opened, n * sizeof(float));
    if (!x || !y || tile_copy_to_device(x.get(), 0, host.data(), n * sizeof(float), nullptr, &err))
        return fail(err);
    const uint32_t grid[3] = {(n + 1023) / 1024, 1, 1};
    if (scale_launch(opened, grid, nullptr, static_cast<float *>(tile_buffer_data(y.get())),
                     static_cast<const float *>(tile_buffer_data(x.get())), n, 0.5f, &err) ||
        tile_copy_to_host(host.data(), y.get(), 0, n * sizeof(float), nullptr, &err))
        return fail(err);
    if (std::getenv("TILE_LIBCUDA")) { // a driver that computes nothing
        std::printf("launched\n");
        return 0;
    }
    for (int i = 0; i < n; i++)
        if (host[i] != 0.5f * static_cast<float>(i))
            return std::printf("wrong at %d\n", i), 1;
    std::printf("right\n");
    return 0;
}
