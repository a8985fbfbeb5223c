// Cooperative launches: programs that wait for one another, which only works where all are resident.
// Every program adds 1 to a counter, waits until all have, and reads what its neighbour wrote.
#include "run.h"

static const char source[] = "def k(counter: *i32, out: *i32, seen: *i32, n: i32):\n"
                             "    p = program_id(0)\n"
                             "    store(out + p, p * 3)\n"
                             "    atomic_add(counter, 1)\n"
                             "    while atomic_add(counter, 0) < n:\n"
                             "        pass\n"
                             "    next = (p + 1) % n\n"
                             "    store(seen + p, atomic_add(out + next, 0))\n";

int main(void) {
    open_test_device();
    tile_kernel_info info;
    tile_module *mod;
    tile_kernel *k;
    must(tile_module_load_string(dev, "cooperative.tile", source, strlen(source), &mod, &err));
    must(tile_module_get_kernel(mod, NULL, &k, &err));
    tile_arg warmup[] = {TILE_POINTER(NULL, "i32"), TILE_POINTER(NULL, "i32"),
                         TILE_POINTER(NULL, "i32"), TILE_I32(1000)};
    must(tile_warmup(k, warmup, 4, NULL, &info, &err));
    uint32_t n = dev_info.is_cuda ? info.max_programs : 8;
    tile_buffer *counter, *out, *seen;
    must(tile_buffer_create(dev, 4, &counter, &err));
    must(tile_buffer_create(dev, 4 * n + 4, &out, &err));
    must(tile_buffer_create(dev, 4 * n + 4, &seen, &err));
    must(tile_fill(counter, 0, 0, 4, NULL, &err));
    tile_arg args[] = {TILE_BUFFER(counter, "i32"), TILE_BUFFER(out, "i32"),
                       TILE_BUFFER(seen, "i32"), TILE_I32((int)n)};
    tile_launch_options o = {.size = sizeof o, .grid = {n}, .cooperative = true};
    tile_status status = tile_launch(k, args, 4, &o, &err);
    if (!dev_info.is_cuda) {
        expect(status == TILE_ERROR_UNSUPPORTED && strstr(err.message, "the cpu device does not"),
               "on cpu: %s", err.message);
    } else {
        expect(!status, "%u programs: %s", n, err.message);
        int32_t *host = malloc(4 * n);
        must(tile_copy_to_host(host, seen, 0, 4 * n, NULL, &err));
        for (uint32_t i = 0; i < n; i++)
            expect(host[i] == (int32_t)((i + 1) % n * 3), "program %u saw %d", i, host[i]);
        free(host);
        o.grid[0] = n + 1;
        expect(tile_launch(k, args, 4, &o, &err) == TILE_ERROR_UNSUPPORTED &&
                   strstr(err.message, "at once; a cooperative launch of"),
               "one too many: %s", err.message);
    }
    tile_buffer_destroy(counter);
    tile_buffer_destroy(out);
    tile_buffer_destroy(seen);
    tile_module_destroy(mod);
    return finish();
}
