// examples/vector_add.tile over awkward sizes and unaligned pointers: exact, nothing past the end.
#include "run.h"

int main(void) {
    open_test_device();
    tile_module *mod;
    tile_kernel *k;
    must(tile_module_load_file(dev, EXAMPLES_DIR "/vector_add.tile", &mod, &err));
    must(tile_module_get_kernel(mod, "vector_add", &k, &err));
    static const int32_t sizes[] = {1,   2,    3,    7,    31,   32,   33,   127,
                                    128, 1000, 1023, 1024, 1025, 4097, 12345};
    static const int blocks[] = {1, 16, 64, 256, 1024};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int shift = 0; shift < 5; shift++) {
            int32_t n = sizes[s];
            int block = blocks[(s + (size_t)shift) % 5];
            size_t total = (size_t)n + 16;
            float *x = xmalloc(total * 4), *y = xmalloc(total * 4), *z = xmalloc(total * 4);
            for (size_t i = 0; i < total; i++) {
                x[i] = (float)(random_u32() % 1000) - 500;
                y[i] = (float)(random_u32() % 1000) * 0.125f;
            }
            x[0] = INFINITY, y[0] = -INFINITY;
            if (n > 2)
                x[shift + 1] = -0.0f, y[shift + 1] = -0.0f;
            tile_buffer *dx = buffer_from(x, total * 4), *dy = buffer_from(y, total * 4),
                        *dz = buffer_from(NULL, total * 4);
            tile_arg args[] = {TILE_POINTER((float *)tile_buffer_data(dx) + shift, "fp32"),
                               TILE_POINTER((float *)tile_buffer_data(dy) + shift, "fp32"),
                               TILE_POINTER((float *)tile_buffer_data(dz) + shift, "fp32"),
                               TILE_I32(n), TILE_CONSTEXPR_INT("BLOCK", block)};
            tile_launch_options o = {.size = sizeof o,
                                     .grid = {(uint32_t)((n + block - 1) / block)},
                                     .num_warps = 1u << (shift % 4)};
            must(tile_launch(k, args, 5, &o, &err));
            read_buffer(dz, z, total * 4);
            for (size_t i = 0; i < total; i++) {
                bool inside = i >= (size_t)shift && i < (size_t)(shift + n);
                float want = x[i] + y[i];
                uint32_t got_bits, want_bits, poison = 0xA5A5A5A5;
                memcpy(&got_bits, &z[i], 4);
                memcpy(&want_bits, &want, 4);
                expect(inside ? got_bits == want_bits || (isnan(z[i]) && isnan(want))
                              : got_bits == poison,
                       "n %d, shift %d, element %zu: got %g, expected %g", n, shift, i,
                       (double)z[i], (double)want);
            }
            tile_buffer_destroy(dx), tile_buffer_destroy(dy), tile_buffer_destroy(dz);
            free(x), free(y), free(z);
        }
    tile_module_destroy(mod);
    return finish();
}
