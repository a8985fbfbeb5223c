// Bound launches on every device: values of every type arrive, several threads may launch one bound
// kernel, and it serves as long as its module lives.
#include "../run/run.h"

#include <pthread.h>

#define EXPECT(cond) expect(cond, "line %d: %s (%s)", __LINE__, #cond, err.message)

static const char source[] =
    "def put(y: *fp64, b: i1, i: i64, u: u8, h: fp16, e: bf16, f: fp32, d: fp64, s: i16, \\\n"
    "        left_out=None, SCALE: constexpr = 1):\n"
    "    p = y + program_id(0) * 8\n"
    "    store(p + 0, b.to(fp64))\n"
    "    store(p + 1, i.to(fp64))\n"
    "    store(p + 2, u.to(fp64))\n"
    "    store(p + 3, h.to(fp64))\n"
    "    store(p + 4, e.to(fp64))\n"
    "    store(p + 5, f.to(fp64))\n"
    "    store(p + 6, d)\n"
    "    store(p + 7, s.to(fp64) * SCALE)\n"
    "def add(y: *fp32, x: *fp32, n: i32, BLOCK: constexpr = 256):\n"
    "    o = program_id(0) * BLOCK + arange(0, BLOCK)\n"
    "    store(y + o, load(x + o, mask=o < n) + 1.0, mask=o < n)\n";

static tile_module *mod;

static void every_type(void) {
    tile_kernel *put;
    tile_bound *b;
    tile_buffer *y;
    double got[16];
    must(tile_module_get_kernel(mod, "put", &put, &err));
    must(tile_buffer_create(dev, sizeof got, &y, &err));
    tile_arg args[] = {TILE_BUFFER(y, "fp64"),
                       TILE_INT(1),
                       TILE_I64(3),
                       TILE_INT(3),
                       TILE_FLOAT(0.5),
                       TILE_FLOAT(0.5),
                       TILE_FP32(0.1),
                       TILE_FP64(0.1),
                       TILE_INT(5),
                       TILE_CONSTEXPR_INT("SCALE", 3)};
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = 1};
    must(tile_bind(put, args, 10, &o, &b, &err));
    must(tile_bound_launch(b, NULL, NULL, NULL, &err));
    must(tile_copy_to_host(got, y, 0, 64, NULL, &err));
    const double bound[8] = {1, 3, 3, 0.5, 0.5, 0.1f, 0.1, 15};
    for (int i = 0; i < 8; i++)
        EXPECT(got[i] == bound[i]);

    void *data = tile_buffer_data(y);
    uint8_t no = 0, u = 255;
    int64_t i = -(1ll << 40) - 1;
    uint16_t h = 0xc000, e = 0x3fc0; // -2, 1.5
    float f = -3.25f;
    double d = 1e300;
    int16_t s = -7;
    void *values[] = {&data, &no, &i, &u, &h, &e, &f, &d, &s};
    must(tile_bound_launch(b, (uint32_t[3]){2, 1, 1}, values, NULL, &err));
    must(tile_copy_to_host(got, y, 0, sizeof got, NULL, &err));
    const double given[8] = {0, -1099511627777.0, 255, -2, 1.5, -3.25, 1e300, -21};
    for (int k = 0; k < 16; k++)
        EXPECT(got[k] == given[k % 8]);
    tile_bound_destroy(b);
    tile_bound_destroy(NULL);
    tile_buffer_destroy(y);
}

enum { THREADS = 4, ROUNDS = 8, N = 1000 };
static tile_bound *shared;
static tile_buffer *x;

/// Each thread adds one to x into a buffer of its own, and checks it.
static void *launch_and_check(void *p) {
    tile_error e = {0};
    tile_buffer *y;
    float *got = malloc(N * sizeof *got);
    *(bool *)p = got && !tile_buffer_create(dev, N * sizeof *got, &y, &e);
    for (int r = 0; r < ROUNDS && *(bool *)p; r++) {
        void *to = tile_buffer_data(y), *from = tile_buffer_data(x);
        int32_t n = N - 4 * r;
        bool ok = !tile_fill(y, 0, 0, N * sizeof *got, NULL, &e) &&
                  !tile_bound_launch(shared, NULL, (void *[]){&to, &from, &n}, NULL, &e) &&
                  !tile_copy_to_host(got, y, 0, N * sizeof *got, NULL, &e);
        for (int i = 0; i < N; i++)
            ok = ok && got[i] == (i < n ? (float)i + 1 : 0);
        *(bool *)p = ok;
    }
    tile_buffer_destroy(y);
    free(got);
    tile_error_clear(&e);
    return NULL;
}

static void threads(void) {
    tile_kernel *add;
    float start[N];
    for (int i = 0; i < N; i++)
        start[i] = (float)i;
    must(tile_module_get_kernel(mod, "add", &add, &err));
    must(tile_buffer_create(dev, sizeof start, &x, &err));
    must(tile_copy_to_device(x, 0, start, sizeof start, NULL, &err));
    tile_arg args[] = {TILE_BUFFER(x, "fp32"), TILE_BUFFER(x, "fp32"), TILE_I32(N)};
    tile_launch_options o = {.size = sizeof o, .grid = {(N + 255) / 256}, .num_warps = 2};
    must(tile_bind(add, args, 3, &o, &shared, &err));
    pthread_t ids[THREADS];
    bool ok[THREADS];
    for (int t = 0; t < THREADS; t++)
        EXPECT(!pthread_create(&ids[t], NULL, launch_and_check, &ok[t]));
    for (int t = 0; t < THREADS; t++) {
        pthread_join(ids[t], NULL);
        EXPECT(ok[t]);
    }
    // Values that this specialization does not serve, and calls that cannot be right.
    int32_t odd = 3;
    void *p = tile_buffer_data(x), *values[] = {&p, &p, &odd};
    EXPECT(tile_bound_launch(shared, NULL, values, NULL, &err) == TILE_ERROR_INVALID_ARGUMENT);
    EXPECT(strstr(err.message, "'n' being divisible by"));
    EXPECT(tile_bound_launch(shared, (uint32_t[3]){1, 70000, 1}, NULL, NULL, &err) ==
           TILE_ERROR_INVALID_ARGUMENT);
    must(tile_bound_launch(shared, (uint32_t[3]){0, 1, 1}, NULL, NULL, &err));
    EXPECT(tile_bind(add, args, 3, &o, NULL, &err) == TILE_ERROR_INVALID_ARGUMENT);
    tile_bound *none = shared;
    EXPECT(tile_bind(NULL, args, 3, &o, &none, &err) == TILE_ERROR_INVALID_ARGUMENT && !none);
    tile_bound_destroy(shared);
    tile_buffer_destroy(x);
}

int main(void) {
    open_test_device();
    must(tile_module_load_string(dev, "bound.tile", source, sizeof source - 1, &mod, &err));
    every_type();
    threads();
    tile_module_destroy(mod);
    return finish();
}
