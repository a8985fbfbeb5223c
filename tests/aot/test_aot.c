// Kernels compiled ahead of time, in a program without the compiler: what selects among them, what
// reaches the driver, what is refused. Run with the fake driver it looks at calls, and on a GPU at
// results.
#include "kernels.tile.h"
#include "tests/fake/fake_test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tile_status axpy_from_another_file(tile_device *device, float *y, const float *x,
                                   tile_error *error);

static const uint32_t one[3] = {1, 1, 1};

/// Whether the error is of this status and says this; clears it.
static bool says(tile_error *err, tile_status status, const char *text) {
    bool ok = err->status == status && strstr(err->message, text);
    if (!ok)
        printf("  it is %d: %s\n", err->status, err->message);
    tile_error_clear(err);
    return ok;
}

// --- with the fake driver

/// The most special specialization that serves the arguments is launched.
static void test_choice(fake_state *fake, tile_device *dev) {
    tile_error err = {0};
    float *p = (float *)0x1000; // the fake driver looks at no memory
    const struct {
        float *y;
        const float *bias;
        int32_t n, block;
        unsigned warps;
    } table[] = {{p, p, 1600, 1024, 8},     {p, NULL, 1600, 1024, 4},     {p, NULL, 1604, 1024, 4},
                 {p, NULL, 1601, 1024, 2},  {p + 1, NULL, 1600, 1024, 2}, {p, NULL, 1, 1024, 1},
                 {p + 1, NULL, 1, 1024, 1}, {p, NULL, 1600, 256, 16},     {p, NULL, 1, 256, 16},
                 {p, NULL, 0, 1024, 4},     {p, NULL, -16, 1024, 4}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        EXPECT(!axpy_launch(dev, one, NULL, table[i].y, p, table[i].bias, table[i].n, 2,
                            table[i].block, &err));
        EXPECT(fake->block == 32 * table[i].warps);
    }
    EXPECT(axpy_launch(dev, one, NULL, p, p, p + 1, 16, 2, 1024, &err));
    EXPECT(says(&err, TILE_ERROR_NOT_FOUND, "another value for 'bias'"));
    EXPECT(axpy_launch(dev, one, NULL, p, p, NULL, 16, 2, 512, &err));
    EXPECT(says(&err, TILE_ERROR_NOT_FOUND, "no specialization of kernel 'axpy' serves these"));
}

static void test_values_reach_driver(fake_state *fake, tile_device *dev) {
    tile_error err = {0};
    float *p = (float *)0x1000;
    fake->num_values = 4;
    const uint32_t grid[3] = {5, 2, 0};
    EXPECT(!axpy_launch(dev, grid, NULL, p, p + 4, NULL, -1601, 2.5f, 1024, &err));
    float a;
    memcpy(&a, &fake->values[3], 4);
    EXPECT(fake->values[0] == 0x1000 && fake->values[1] == 0x1010);
    EXPECT((int32_t)fake->values[2] == -1601 && a == 2.5f);
    EXPECT(fake->grid[0] == 5 && fake->grid[1] == 2 && fake->grid[2] == 1);
    fake->num_values = 13;
    EXPECT(!scalars_launch(dev, one, NULL, (double *)0x1000, true, -2, 250, -3, 65000, -4,
                           4000000000u, -5, UINT64_MAX, 1.5f, -2.0f, 0.1f, 0.2, &err));
    EXPECT((fake->values[1] & 0xff) == 1 && (int8_t)fake->values[2] == -2);
    EXPECT((uint8_t)fake->values[3] == 250 && (int16_t)fake->values[4] == -3);
    EXPECT((uint16_t)fake->values[5] == 65000 && (int32_t)fake->values[6] == -4);
    EXPECT((uint32_t)fake->values[7] == 4000000000u && (int64_t)fake->values[8] == -5);
    EXPECT(fake->values[9] == UINT64_MAX);
    EXPECT((uint16_t)fake->values[10] == 0x3e00);     // fp16 1.5
    EXPECT((uint16_t)fake->values[11] == 0xc000);     // bf16 -2
    EXPECT((uint32_t)fake->values[12] == 0x3dcccccd); // fp32 0.1
    fake->num_values = 0;
    EXPECT(!nothing_launch(dev, one, NULL, &err));
    EXPECT(!axpy_from_another_file(dev, p, p, &err));
}

/// Launches that were met before take one driver call; each binary is loaded once.
static void test_cost(fake_state *fake, tile_device *dev) {
    tile_error err = {0};
    float *p = (float *)0x1000;
    EXPECT(!axpy_load(dev, &err));
    long loads = fake->loads;
    EXPECT(!axpy_launch(dev, one, NULL, p, p, NULL, 1600, 2, 1024, &err));
    long calls = fake->calls;
    for (int i = 0; i < 100; i++)
        EXPECT(!axpy_launch(dev, one, NULL, p, p, NULL, 1600, 2, 1024, &err));
    EXPECT(fake->calls == calls + 100 && fake->loads == loads);
    // The kernel as any other.
    tile_kernel *k;
    tile_bound *b;
    EXPECT(!axpy_kernel(dev, &k, &err));
    tile_arg args[] = {TILE_POINTER(p, "fp32"), TILE_POINTER(p, "fp32"), TILE_NONE(),
                       TILE_INT(1600),          TILE_FLOAT(2),           TILE_INT(1024)};
    tile_kernel_info info;
    EXPECT(!tile_warmup(k, args, 6, NULL, &info, &err) && info.threads == 128);
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = 2};
    EXPECT(!tile_launch(k, args, 6, &o, &err) && fake->block == 64); // by its options
    o.num_warps = 32;
    EXPECT(tile_launch(k, args, 6, &o, &err));
    EXPECT(says(&err, TILE_ERROR_NOT_FOUND, "no specialization of kernel 'axpy' has these launch"));
    EXPECT(!tile_bind(k, args, 6, NULL, &b, &err));
    int32_t n = 1601;
    float a = 2;
    void *values[] = {&p, &p, &n, &a};
    EXPECT(tile_bound_launch(b, one, values, NULL, &err));
    EXPECT(says(&err, TILE_ERROR_INVALID_ARGUMENT, "'n' being divisible by 4, but it is 1601"));
    n = 1604;
    EXPECT(!tile_bound_launch(b, one, values, NULL, &err) && fake->block == 128);
    tile_bound_destroy(b);
    EXPECT(fake->loads == loads);
    args[1] = TILE_POINTER(p, "fp16");
    EXPECT(tile_launch(k, args, 6, &o, &err));
    EXPECT(says(&err, TILE_ERROR_INVALID_ARGUMENT, "parameter 'x' is *fp32"));
}

static void test_compile_time_values(fake_state *fake, tile_device *dev) {
    tile_error err = {0};
    float *p = (float *)0x1000;
    long loads = fake->loads;
    EXPECT(!values_launch(dev, one, NULL, p, 1, "once", 0.5, false, "fp32", &err));
    EXPECT(!values_launch(dev, one, NULL, p, 1, "twice", -1.5, true, "fp16", &err));
    EXPECT(fake->loads == loads + 2);
    EXPECT(values_launch(dev, one, NULL, p, 1, "twice", 0.5, true, "fp16", &err));
    EXPECT(says(&err, TILE_ERROR_NOT_FOUND, "'SCALE'"));
    EXPECT(values_launch(dev, one, NULL, p, 1, "thrice", -1.5, true, "fp16", &err));
    EXPECT(says(&err, TILE_ERROR_NOT_FOUND, "'MODE'"));
    EXPECT(values_launch(dev, one, NULL, p, 1, NULL, -1.5, true, "fp16", &err));
    EXPECT(says(&err, TILE_ERROR_INVALID_ARGUMENT, "'MODE': the constexpr has no value"));
    EXPECT(values_launch(dev, one, NULL, p, 1, "twice", -1.5, true, "fp17", &err));
    EXPECT(says(&err, TILE_ERROR_INVALID_ARGUMENT, "no dtype is called 'fp17'"));
}

/// Each device gets what it runs: its own generation's cubin, else the newest PTX it knows.
static void test_architectures(fake_state *fake) {
    static const struct {
        int sm, is_ptx;
    } table[] = {{80, 0}, {86, 0}, {90, 0}, {100, 1}, {120, 1}};
    float *p = (float *)0x1000;
    tile_error err = {0};
    fake->devices = 2;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tile_device *dev;
        fake->sm[1] = table[i].sm;
        EXPECT(!tile_device_open("cuda:1", &dev, &err));
        EXPECT(!axpy_launch(dev, one, NULL, p, p, NULL, 1600, 2, 1024, &err));
        EXPECT(fake->loaded_ptx == table[i].is_ptx);
        tile_device_close(dev);
    }
    tile_device *old;
    fake->sm[1] = 75;
    EXPECT(!tile_device_open("cuda:1", &old, &err));
    EXPECT(axpy_launch(old, one, NULL, p, p, NULL, 1600, 2, 1024, &err));
    EXPECT(says(&err, TILE_ERROR_UNSUPPORTED, "not for sm_75"));
    EXPECT(axpy_load(old, &err));
    tile_error_clear(&err);
    tile_device_close(old);
    EXPECT(fake->libraries == 0 || fake->contexts == 1);
}

static void test_capture(fake_state *fake) {
    tile_error err = {0};
    tile_device *dev;
    tile_stream *stream;
    float *p = (float *)0x1000;
    EXPECT(!tile_device_open("cuda:0", &dev, &err));
    EXPECT(!tile_stream_wrap(dev, &err, &stream, &err));
    fake->capturing = &err;
    EXPECT(axpy_launch(dev, one, stream, p, p, NULL, 1600, 2, 1024, &err));
    EXPECT(says(&err, TILE_ERROR_NOT_READY, "captured"));
    fake->capturing = NULL;
    EXPECT(!axpy_load(dev, &err));
    fake->capturing = &err;
    EXPECT(!axpy_launch(dev, one, stream, p, p, NULL, 1600, 2, 1024, &err));
    EXPECT(!fake->invalidated && fake->stream == &err);
    fake->capturing = NULL;
    tile_stream_destroy(stream);
    tile_device_close(dev);
}

static void *launch_from_thread(void *dev) {
    tile_error err = {0};
    float *p = (float *)0x1000;
    for (int i = 0; i < 100; i++)
        EXPECT(!axpy_launch(dev, one, NULL, p, p, NULL, 1600 + i % 2, 2, i % 3 ? 1024 : 256, &err));
    return NULL;
}

static void test_threads(fake_state *fake) {
    tile_error err = {0};
    tile_device *dev;
    EXPECT(!tile_device_open("cuda:0", &dev, &err));
    long loads = fake->loads;
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, launch_from_thread, dev);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    EXPECT(fake->loads == loads + 3);
    tile_device_close(dev);
}

/// Whatever driver call fails, an error comes back, the next try succeeds, and nothing leaks.
static void test_failures(fake_state *fake) {
    float *p = (float *)0x1000;
    for (int n = 1; n < 100; n++) {
        tile_error err = {0};
        tile_device *dev;
        fake->fail_at = fake->calls + n;
        tile_status status = tile_device_open("cuda:0", &dev, &err);
        if (!status)
            status = axpy_launch(dev, one, NULL, p, p, NULL, 1600, 2, 1024, &err);
        bool was_reached = fake->calls >= fake->fail_at;
        fake->fail_at = 0;
        EXPECT(!status || err.message[0]);
        if (dev)
            EXPECT(!axpy_launch(dev, one, NULL, p, p, NULL, 1600, 2, 1024, &err));
        tile_device_close(dev);
        tile_error_clear(&err);
        EXPECT(fake->libraries == 0 && fake->contexts == 0);
        if (!was_reached)
            return;
    }
}

static void listen(void *context, tile_log_level level, const char *text) {
    char *heard = context;
    snprintf(heard + 200 * level, 200, "%s", text);
}

/// A cubin that the driver does not take is done without, and the log says so.
static void test_refused_cubin(fake_state *fake) {
    tile_error err = {0};
    tile_device *dev;
    float *p = (float *)0x1000;
    char heard[2][200] = {"", ""};
    EXPECT(!tile_device_open("cuda:0", &dev, &err));
    tile_device_set_log(dev, listen, heard);
    fake->refuse_loads = 1;
    EXPECT(!axpy_launch(dev, one, NULL, p, p, NULL, 1600, 2, 1024, &err));
    EXPECT(fake->loaded_ptx && fake->block == 128);
    EXPECT(strstr(heard[TILE_LOG_WARNING], "kernel 'axpy': the driver assembles PTX instead"));
    EXPECT(strstr(heard[TILE_LOG_INFO], "loaded kernel 'axpy' from PTX in "));
    EXPECT(!axpy_launch(dev, one, NULL, p, p, NULL, 1601, 2, 1024, &err) && !fake->loaded_ptx);
    EXPECT(strstr(heard[TILE_LOG_INFO], "from a cubin"));
    tile_device_close(dev);
}

/// What the runtime without the compiler cannot do, it says.
static void test_no_compiler(tile_device *dev) {
    tile_error err = {0};
    tile_device *cpu;
    tile_module *m;
    EXPECT(tile_device_open("cpu", &cpu, &err) && !cpu);
    EXPECT(says(&err, TILE_ERROR_UNSUPPORTED, "runtime without the compiler"));
    EXPECT(tile_module_load_string(dev, "x.tile", "", 0, &m, &err) && !m);
    EXPECT(says(&err, TILE_ERROR_UNSUPPORTED, "x.tile: this is the runtime without the compiler"));
}

static void test_bad_calls(tile_device *dev) {
    static const tile_aot_bundle other = {TILE_AOT_FORMAT + 1, "other.tile", NULL, 0},
                                 empty = {TILE_AOT_FORMAT, "empty.tile", NULL, 0};
    tile_error err = {0};
    tile_kernel *k;
    EXPECT(axpy_launch(NULL, one, NULL, NULL, NULL, NULL, 1, 2, 1024, &err));
    EXPECT(says(&err, TILE_ERROR_INVALID_ARGUMENT, "device is NULL"));
    EXPECT(axpy_launch(dev, NULL, NULL, NULL, NULL, NULL, 1, 2, 1024, &err));
    EXPECT(says(&err, TILE_ERROR_INVALID_ARGUMENT, "grid is NULL"));
    EXPECT(axpy_launch(dev, NULL, NULL, NULL, NULL, NULL, 1, 2, 1024, NULL));
    EXPECT(axpy_kernel(dev, NULL, &err));
    EXPECT(says(&err, TILE_ERROR_INVALID_ARGUMENT, "out_kernel is NULL"));
    EXPECT(tile_aot_get_kernel(dev, &other, 0, &k, &err) && !k);
    EXPECT(
        says(&err, TILE_ERROR_UNSUPPORTED, "'other.tile' was compiled ahead of time in format 2"));
    EXPECT(tile_aot_get_kernel(dev, &empty, 0, &k, &err) && !k);
    EXPECT(says(&err, TILE_ERROR_INVALID_ARGUMENT, "'empty.tile' has 0 kernels"));
    EXPECT(tile_aot_get_kernel(dev, NULL, 0, &k, &err));
    EXPECT(says(&err, TILE_ERROR_INVALID_ARGUMENT, "bundle is NULL"));
}

static void test_with_fake(fake_state *fake) {
    tile_error err = {0};
    tile_device *dev;
    EXPECT(!tile_device_open("cuda:0", &dev, &err));
    test_choice(fake, dev);
    test_values_reach_driver(fake, dev);
    test_cost(fake, dev);
    test_compile_time_values(fake, dev);
    test_no_compiler(dev);
    test_bad_calls(dev);
    test_architectures(fake);
    tile_device_close(dev);
    EXPECT(fake->libraries == 0 && fake->contexts == 0);
    test_capture(fake);
    test_threads(fake);
    test_refused_cubin(fake);
    test_failures(fake);
}

// --- on a GPU

enum { N = 5000 };

typedef struct gpu {
    tile_device *dev;
    tile_buffer *x, *bias, *y;
    float host_x[N], host_bias[N], host_y[N];
} gpu;

/// y + shift = a * (x + shift) + bias for n elements, checked; what lies behind must be untouched.
static void check_axpy(gpu *g, int shift, int n, bool has_bias, int block) {
    tile_error err = {0};
    const uint32_t grid[3] = {(uint32_t)((n + block - 1) / block), 1, 1};
    float *y = (float *)tile_buffer_data(g->y) + shift;
    const float *x = (const float *)tile_buffer_data(g->x) + shift;
    const float *bias = has_bias ? tile_buffer_data(g->bias) : NULL;
    EXPECT(!tile_fill(g->y, 0, 0xff, sizeof g->host_y, NULL, &err));
    tile_status status = axpy_launch(g->dev, grid, NULL, y, x, bias, n, 2.5f, block, &err);
    if (status)
        printf("%s\n", err.message);
    EXPECT(!status);
    EXPECT(!tile_copy_to_host(g->host_y, g->y, 0, sizeof g->host_y, NULL, &err));
    static const unsigned char untouched[4] = {0xff, 0xff, 0xff, 0xff};
    long wrong = 0;
    for (int i = 0; i < N; i++) {
        bool inside = i >= shift && i < shift + n;
        float expected =
            2.5f * g->host_x[i] + (has_bias ? g->host_bias[inside ? i - shift : 0] : 0);
        wrong += inside ? g->host_y[i] != expected : memcmp(&g->host_y[i], untouched, 4) != 0;
    }
    EXPECT(!wrong);
}

static void check_scalars(gpu *g) {
    tile_error err = {0};
    double out[13];
    EXPECT(!scalars_launch(g->dev, one, NULL, tile_buffer_data(g->y), true, -2, 250, -3, 65000, -4,
                           4000000000u, -5, 1ull << 63, 1.5f, -2.0f, 0.1f, 0.2, &err));
    EXPECT(!tile_copy_to_host(out, g->y, 0, sizeof out, NULL, &err));
    const double expected[] = {
        1, -2, 250, -3, 65000, -4, 4000000000.0, -5, 9223372036854775808.0, 1.5, -2, 0.1f, 0.2};
    for (int i = 0; i < 13; i++)
        EXPECT(out[i] == expected[i]);
    float v[2];
    float *y = tile_buffer_data(g->y);
    EXPECT(!values_launch(g->dev, one, NULL, y, 3, "once", 0.5, false, "fp32", &err));
    EXPECT(!values_launch(g->dev, one, NULL, y + 1, 3, "twice", -1.5, true, "fp16", &err));
    EXPECT(!tile_copy_to_host(v, g->y, 0, sizeof v, NULL, &err));
    EXPECT(v[0] == 9.5f && v[1] == 3.0f);
}

/// The driver, as an application calls it.
typedef struct driver {
    int (*cuCtxCreate_v2)(void **context, unsigned flags, int device);
    int (*cuCtxDestroy_v2)(void *context);
    int (*cuMemAlloc_v2)(unsigned long long *p, size_t bytes);
    int (*cuMemcpyHtoD_v2)(unsigned long long p, const void *from, size_t bytes);
    int (*cuMemcpyDtoH_v2)(void *to, unsigned long long p, size_t bytes);
    int (*cuStreamBeginCapture_v2)(void *stream, int mode);
    int (*cuStreamEndCapture)(void *stream, void **graph);
    int (*cuGraphInstantiateWithFlags)(void **exec, void *graph, unsigned long long flags);
    int (*cuGraphLaunch)(void *exec, void *stream);
    int (*cuGraphExecDestroy)(void *exec);
    int (*cuGraphDestroy)(void *graph);
} driver;

static bool open_driver(driver *cu) {
    static const char *const names[] = {"cuCtxCreate_v2",     "cuCtxDestroy_v2",
                                        "cuMemAlloc_v2",      "cuMemcpyHtoD_v2",
                                        "cuMemcpyDtoH_v2",    "cuStreamBeginCapture_v2",
                                        "cuStreamEndCapture", "cuGraphInstantiateWithFlags",
                                        "cuGraphLaunch",      "cuGraphExecDestroy",
                                        "cuGraphDestroy"};
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    for (size_t i = 0; library && i < sizeof names / sizeof *names; i++) {
        void *entry = dlsym(library, names[i]);
        if (!entry)
            return false;
        memcpy((char *)cu + i * sizeof entry, &entry, sizeof entry);
    }
    return library != NULL;
}

/// A context of the application's own, on a thread that has it current: the kernels that are loaded
/// already run there as well, on its memory.
static void *run_in_own_context(void *p) {
    gpu *g = p;
    driver cu;
    tile_error err = {0};
    void *context = NULL;
    unsigned long long x = 0, y = 0;
    EXPECT(open_driver(&cu));
    EXPECT(!cu.cuCtxCreate_v2(&context, 0, 0));
    EXPECT(!cu.cuMemAlloc_v2(&x, sizeof g->host_x) && !cu.cuMemAlloc_v2(&y, sizeof g->host_x));
    EXPECT(!cu.cuMemcpyHtoD_v2(x, g->host_x, sizeof g->host_x));
    const uint32_t grid[3] = {(N + 1023) / 1024, 1, 1};
    EXPECT(!axpy_launch(g->dev, grid, NULL, (float *)(uintptr_t)y, (const float *)(uintptr_t)x,
                        NULL, N, 0.5f, 1024, &err));
    EXPECT(!cu.cuMemcpyDtoH_v2(g->host_y, y, sizeof g->host_y));
    long wrong = 0;
    for (int i = 0; i < N; i++)
        wrong += g->host_y[i] != 0.5f * g->host_x[i];
    EXPECT(!wrong);
    EXPECT(!cu.cuCtxDestroy_v2(context));
    return NULL;
}

/// Captured once, replayed twice: y = 2 * (2 * y).
static void test_graph(gpu *g) {
    driver cu;
    tile_error err = {0};
    tile_stream *stream;
    void *graph = NULL, *exec = NULL;
    float *y = tile_buffer_data(g->y);
    const uint32_t grid[3] = {(N + 1023) / 1024, 1, 1};
    EXPECT(open_driver(&cu) && !axpy_load(g->dev, &err));
    EXPECT(!tile_stream_create(g->dev, &stream, &err));
    EXPECT(!tile_copy_to_device(g->y, 0, g->host_x, sizeof g->host_x, NULL, &err));
    EXPECT(!cu.cuStreamBeginCapture_v2(tile_stream_native(stream), 0));
    EXPECT(!axpy_launch(g->dev, grid, stream, y, y, NULL, N, 2, 1024, &err));
    EXPECT(!cu.cuStreamEndCapture(tile_stream_native(stream), &graph));
    EXPECT(!cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 2; i++)
        EXPECT(!cu.cuGraphLaunch(exec, tile_stream_native(stream)));
    EXPECT(!tile_synchronize(g->dev, stream, &err));
    EXPECT(!tile_copy_to_host(g->host_y, g->y, 0, sizeof g->host_y, NULL, &err));
    long wrong = 0;
    for (int i = 0; i < N; i++)
        wrong += g->host_y[i] != 4 * g->host_x[i];
    EXPECT(!wrong);
    cu.cuGraphExecDestroy(exec);
    cu.cuGraphDestroy(graph);
    tile_stream_destroy(stream);
}

static void test_on_gpu(tile_device *dev) {
    tile_error err = {0};
    static gpu g;
    g.dev = dev;
    for (int i = 0; i < N; i++) {
        g.host_x[i] = (float)(i % 1000) - 500; // products and sums are exact
        g.host_bias[i] = (float)(i % 77);
    }
    EXPECT(!tile_buffer_create(dev, sizeof g.host_x, &g.x, &err));
    EXPECT(!tile_buffer_create(dev, sizeof g.host_x, &g.bias, &err));
    EXPECT(!tile_buffer_create(dev, sizeof g.host_x, &g.y, &err));
    EXPECT(!tile_copy_to_device(g.x, 0, g.host_x, sizeof g.host_x, NULL, &err));
    EXPECT(!tile_copy_to_device(g.bias, 0, g.host_bias, sizeof g.host_bias, NULL, &err));
    check_axpy(&g, 0, 4800, true, 1024);
    static const int lengths[] = {1, 2, 16, 781, 1024, 4096, 4801};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int shift = 0; shift < 5; shift++) {
            check_axpy(&g, shift, lengths[i], false, 1024);
            check_axpy(&g, shift, lengths[i], false, 256);
        }
    check_scalars(&g);
    pthread_t thread;
    pthread_create(&thread, NULL, run_in_own_context, &g);
    pthread_join(thread, NULL);
    test_graph(&g);
    tile_buffer_destroy(g.x);
    tile_buffer_destroy(g.bias);
    tile_buffer_destroy(g.y);
    tile_error_clear(&err);
}

int main(void) {
    fake_state *fake = open_fake(getenv("TILE_LIBCUDA"));
    tile_error err = {0};
    tile_device *dev = NULL;
    if (fake) {
        test_with_fake(fake);
    } else if (tile_device_open("cuda:0", &dev, &err)) {
        printf("skipped: %s\n", err.message);
        return 77;
    } else {
        test_on_gpu(dev);
        tile_device_close(dev);
    }
    return finish();
}
