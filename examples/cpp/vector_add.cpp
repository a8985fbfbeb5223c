// Vector add from C++: loads vector_add.tile, launches it and checks what comes back.
//   vector_add_cpp [cpu|cuda:N]
#include "tile.hpp"

#include <cstdio>

int main(int argc, char **argv) try {
    tile::Device device(argc > 1 ? argv[1] : "cpu");
    tile::Module module = device.load(EXAMPLES_DIR "/vector_add.tile");
    tile::Kernel add = module["vector_add"];

    const int32_t n = 100003;
    const uint32_t block = 1024;
    std::vector<float> x(n), y(n);
    for (int32_t i = 0; i < n; i++) {
        x[i] = static_cast<float>(i % 1013) * 0.25f;
        y[i] = static_cast<float>(i % 811) - 400;
    }
    tile::Buffer<float> dx(device, x), dy(device, y), dz(device, x.size());
    add.launch(tile::Grid((n + block - 1) / block).warps(4),
               {dx, dy, dz, n, tile::named("BLOCK", block)});
    std::vector<float> z = dz.read();
    for (int32_t i = 0; i < n; i++)
        if (z[i] != x[i] + y[i])
            return std::printf("z[%d] is %g, expected %g\n", i, z[i], x[i] + y[i]), 1;
    std::printf("vector_add %d: right\n", n);
} catch (const tile::Error &e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
