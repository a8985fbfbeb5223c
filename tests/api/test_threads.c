// One device, many threads: the same and different specializations are asked for at once, compiled
// once each, and give the right results, while buffers come and go, modules are loaded and dropped,
// and some threads' kernels fail.
#include "../run/run.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 16, COUNT = 1024 };

static tile_module *shared;
static tile_kernel *scale, *sum_rows, *broken, *outside;
static atomic_long failed, done;
static pthread_barrier_t start;
static int rounds = 12;

static const char source[] =
    "def scale(y: *fp32, x: *fp32, n, stride, a: fp32, BLOCK: constexpr, SHIFT: constexpr = 0):\n"
    "    o = program_id(0) * BLOCK + arange(0, BLOCK)\n"
    "    m = o < n\n"
    "    store(y + o * stride, load(x + o * stride, mask=m) * a + SHIFT, mask=m)\n"
    "def sum_rows(y: *i32, x: *i32, COLS: constexpr):\n"
    "    o = arange(0, COLS)\n"
    "    v = load(x + program_id(0) * COLS + o)\n"
    "    store(y + program_id(0), sum(v, axis=0) + max(v, axis=0))\n"
    "def broken(x: *fp32, C: constexpr):\n"
    "    store(x + arange(0, 16), load(x + arange(0, 32)) + C)\n"
    "def outside(x: *fp32, n: i32):\n"
    "    store(x + n, 1.0)\n";

typedef struct worker {
    pthread_t thread;
    unsigned id;
    uint64_t random;
    tile_error err;
    double shared_ms; ///< compile time of a specialization that all threads ask for
} worker;

static uint32_t next(worker *w) {
    w->random = w->random * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(w->random >> 33);
}

/// Counts a failure and prints the first few.
static bool check(worker *w, bool ok, const char *what) {
    done++;
    if (!ok && failed++ < 10)
        printf("FAILED thread %u: %s: %s\n", w->id, what, w->err.message);
    return ok;
}

/// y = a·x + shift over n elements that lie `stride` apart, in the specialization they select.
static void run_scale(worker *w, tile_kernel *k, tile_stream *stream) {
    static const int blocks[] = {32, 64, 128};
    int32_t n = 1 + (int32_t)(next(w) % 300), step = 1 + (int32_t)(next(w) % 3),
            block = blocks[next(w) % 3];
    int shift = (int)(next(w) % 3);
    float a = (float)(next(w) % 100), x[COUNT], y[COUNT];
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)(next(w) % 1000), y[i] = -1;
    tile_buffer *dx = NULL, *dy = NULL;
    bool ok = !tile_buffer_create(dev, sizeof x, &dx, &w->err) &&
              !tile_buffer_create(dev, sizeof y, &dy, &w->err) &&
              !tile_copy_to_device(dx, 0, x, sizeof x, stream, &w->err) &&
              !tile_copy_to_device(dy, 0, y, sizeof y, stream, &w->err);
    tile_arg args[] = {TILE_BUFFER(dy, "fp32"),
                       TILE_BUFFER(dx, "fp32"),
                       TILE_INT(n),
                       TILE_INT(step),
                       TILE_FLOAT(a),
                       TILE_CONSTEXPR_INT("BLOCK", block),
                       TILE_CONSTEXPR_INT("SHIFT", shift)};
    tile_launch_options o = {.size = sizeof o,
                             .grid = {(uint32_t)((n + block - 1) / block)},
                             .num_warps = 1u << next(w) % 3,
                             .stream = stream};
    ok = ok && !tile_launch(k, args, 7, &o, &w->err) && !tile_synchronize(dev, stream, &w->err) &&
         !tile_copy_to_host(y, dy, 0, sizeof y, stream, &w->err);
    check(w, ok, "scale");
    for (int i = 0; ok && i < COUNT; i++) {
        bool inside = i % step == 0 && i / step < n;
        ok = y[i] == (inside ? x[i] * a + (float)shift : -1);
    }
    check(w, ok, "result of scale");
    tile_buffer_destroy(dx), tile_buffer_destroy(dy);
}

static void run_sum(worker *w, tile_stream *stream) {
    int32_t cols = 32 << next(w) % 3, rows = 8, x[8 * 128], y[8];
    for (int32_t i = 0; i < rows * cols; i++)
        x[i] = (int32_t)(next(w) % 2000) - 1000;
    tile_buffer *dx = NULL, *dy = NULL;
    bool ok = !tile_buffer_create(dev, sizeof x, &dx, &w->err) &&
              !tile_buffer_create(dev, sizeof y, &dy, &w->err) &&
              !tile_copy_to_device(dx, 0, x, (size_t)(rows * cols) * 4, stream, &w->err);
    tile_arg args[] = {TILE_BUFFER(dy, "i32"), TILE_BUFFER(dx, "i32"),
                       TILE_CONSTEXPR_INT("COLS", cols)};
    tile_launch_options o = {
        .size = sizeof o, .grid = {(uint32_t)rows}, .num_warps = 4, .stream = stream};
    ok = ok && !tile_launch(sum_rows, args, 3, &o, &w->err) &&
         !tile_copy_to_host(y, dy, 0, sizeof y, stream, &w->err);
    check(w, ok, "sum");
    for (int32_t r = 0; ok && r < rows; r++) {
        int32_t total = 0, top = INT32_MIN;
        for (int32_t c = 0; c < cols; c++) {
            int32_t v = x[r * cols + c];
            total += v;
            top = v > top ? v : top;
        }
        ok = y[r] == total + top;
    }
    check(w, ok, "result of sum");
    tile_buffer_destroy(dx), tile_buffer_destroy(dy);
}

/// Failures of this thread are its own: others' launches go on.
static void run_failures(worker *w) {
    tile_arg args[] = {TILE_POINTER(NULL, "fp32"), TILE_CONSTEXPR_INT("C", next(w) % 2)};
    tile_launch_options o = {.size = sizeof o, .grid = {1}};
    tile_status s = tile_launch(broken, args, 2, &o, &w->err);
    check(w, s == TILE_ERROR_COMPILE && w->err.log && strstr(w->err.message, "threads.tile:10:"),
          "a kernel that does not compile");
    if (dev_info.is_cuda)
        return; // there it would end the context
    tile_buffer *x = NULL;
    check(w, !tile_buffer_create(dev, 64, &x, &w->err), "a buffer");
    tile_arg bad[] = {TILE_BUFFER(x, "fp32"), TILE_I32(16)};
    s = tile_launch(outside, bad, 2, &o, &w->err);
    check(w, s == TILE_ERROR_OUT_OF_BOUNDS && strstr(w->err.message, "threads.tile:12:"),
          "a store outside");
    tile_buffer_destroy(x);
}

/// A module of this thread alone.
static void run_own_module(worker *w, tile_stream *stream) {
    tile_module *mod = NULL;
    tile_kernel *k = NULL;
    bool ok =
        !tile_module_load_string(dev, "threads.tile", source, sizeof source - 1, &mod, &w->err) &&
        !tile_module_get_kernel(mod, "scale", &k, &w->err);
    if (check(w, ok, "a module"))
        run_scale(w, k, stream);
    tile_module_destroy(mod);
    check(w,
          tile_module_load_string(dev, "bad.tile", "def k(:\n", 8, &mod, &w->err) ==
              TILE_ERROR_COMPILE,
          "a broken module");
}

static void *work(void *p) {
    worker *w = p;
    tile_stream *stream = NULL;
    tile_kernel_info info = {0};
    // All threads ask for one specialization at the same moment: it is compiled once.
    tile_arg args[] = {TILE_POINTER(NULL, "fp32"),
                       TILE_POINTER(NULL, "fp32"),
                       TILE_INT(1000),
                       TILE_INT(1),
                       TILE_FLOAT(1),
                       TILE_CONSTEXPR_INT("BLOCK", 512)};
    pthread_barrier_wait(&start);
    check(w, !tile_warmup(scale, args, 6, NULL, &info, &w->err), "warmup");
    w->shared_ms = info.compile_ms;
    check(w, !tile_stream_create(dev, &stream, &w->err), "a stream");
    for (int i = 0; i < rounds; i++) {
        run_scale(w, scale, stream);
        run_sum(w, stream);
        if (i % 4 == 1)
            run_failures(w);
        if (i % 6 == 2)
            run_own_module(w, stream);
    }
    tile_stream_destroy(stream);
    tile_error_clear(&w->err);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc > 1)
        rounds = atoi(argv[1]);
    setenv("TILE_CPU_THREADS", "2", 0); // each launch brings these
    open_test_device();
    must(tile_module_load_string(dev, "threads.tile", source, sizeof source - 1, &shared, &err));
    must(tile_module_get_kernel(shared, "scale", &scale, &err));
    must(tile_module_get_kernel(shared, "sum_rows", &sum_rows, &err));
    must(tile_module_get_kernel(shared, "broken", &broken, &err));
    must(tile_module_get_kernel(shared, "outside", &outside, &err));
    pthread_barrier_init(&start, NULL, THREADS);
    static worker workers[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (worker){.id = i, .random = i * 7919u + 1};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i])) {
            printf("FAILED cannot start a thread\n");
            return 1;
        }
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    for (unsigned i = 1; i < THREADS; i++)
        expect(workers[i].shared_ms == workers[0].shared_ms && workers[i].shared_ms > 0,
               "threads 0 and %u compiled the same thing", i);
    checks += done, failures += failed;
    pthread_barrier_destroy(&start);
    tile_module_destroy(shared);
    return finish();
}
