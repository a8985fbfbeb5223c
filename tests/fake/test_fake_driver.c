// The runtime against a fake CUDA driver: what a launch costs in calls, allocations and locks, and
// that no failing driver call takes anything down or leaks.
#include "tests/fake/fake_test.h"

#include <tile.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// Counting allocations and locks by interposition; sanitizers have their own allocator, so there
// the counts are not taken.
static atomic_long allocations, locks;
#ifndef __SANITIZE_ADDRESS__
#pragma GCC visibility push(default) // seen by the library as well
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
void *malloc(size_t n) {
    allocations++;
    return __libc_malloc(n);
}
void *calloc(size_t n, size_t m) {
    allocations++;
    return __libc_calloc(n, m);
}
void *realloc(void *p, size_t n) {
    allocations++;
    return __libc_realloc(p, n);
}
int pthread_mutex_lock(pthread_mutex_t *m) {
    static int (*real)(pthread_mutex_t *);
    if (!real) {
        void *symbol = dlsym(RTLD_NEXT, "pthread_mutex_lock");
        memcpy(&real, &symbol, sizeof real);
    }
    locks++;
    return real(m);
}
#pragma GCC visibility pop
#endif

static const char source[] = "def add(x: *fp32, y: *fp32, n: i32, BLOCK: constexpr = 512):\n"
                             "    o = program_id(0) * BLOCK + arange(0, BLOCK)\n"
                             "    store(y + o, load(x + o, mask=o < n) + 1.0, mask=o < n)\n";

static fake_state *fake;

typedef struct session {
    tile_device *dev;
    tile_module *mod;
    tile_kernel *k;
    tile_buffer *x, *y;
} session;

static tile_status launch(session *s, int32_t n, tile_error *err) {
    tile_arg args[] = {TILE_BUFFER(s->x, "fp32"), TILE_BUFFER(s->y, "fp32"), TILE_I32(n)};
    tile_launch_options o = {.size = sizeof o, .grid = {3}, .num_warps = 2};
    return tile_launch(s->k, args, 3, &o, err);
}

/// Everything that a launch needs, open.
static session open_session(void) {
    session s = {0};
    tile_error err = {0};
    EXPECT(!tile_device_open("cuda:0", &s.dev, &err));
    EXPECT(!tile_module_load_string(s.dev, "add.tile", source, sizeof source - 1, &s.mod, &err));
    EXPECT(!tile_module_get_kernel(s.mod, NULL, &s.k, &err));
    EXPECT(!tile_buffer_create(s.dev, 4096, &s.x, &err));
    EXPECT(!tile_buffer_create(s.dev, 4096, &s.y, &err));
    tile_error_clear(&err);
    return s;
}

static void close_session(session *s) {
    tile_buffer_destroy(s->x);
    tile_buffer_destroy(s->y);
    tile_module_destroy(s->mod);
    tile_device_close(s->dev);
}

/// Opens everything and launches once; whatever happens, closes all of it.
static tile_status whole_life(tile_error *err) {
    session s = {0};
    tile_status status = tile_device_open("cuda:0", &s.dev, err);
    if (!status)
        status = tile_module_load_string(s.dev, "add.tile", source, sizeof source - 1, &s.mod, err);
    if (!status)
        status = tile_module_get_kernel(s.mod, "add", &s.k, err);
    if (!status)
        status = tile_buffer_create(s.dev, 4096, &s.x, err);
    if (!status)
        status = tile_buffer_create(s.dev, 4096, &s.y, err);
    if (!status)
        status = launch(&s, 1000, err);
    if (!status)
        status = tile_synchronize(s.dev, NULL, err);
    close_session(&s);
    return status;
}

static void test_hit_path(void) {
    session s = open_session();
    tile_error err = {0};
    EXPECT(!launch(&s, 1000, &err));
    EXPECT(fake->grid[0] == 3 && fake->grid[1] == 1 && fake->grid[2] == 1 && fake->block == 64);
    long calls = fake->calls, mallocs = allocations, mutexes = locks, loads = fake->loads;
    for (int i = 0; i < 100; i++)
        EXPECT(!launch(&s, 1000, &err));
    EXPECT(fake->calls - calls == 100); // one driver call a launch
    EXPECT(allocations == mallocs);
    EXPECT(locks == mutexes);
    // A value of the same divisibility class is the same binary, and so is one of a class the code
    // has no use for: fp32 gains nothing above 4 elements.
    EXPECT(!launch(&s, 2000, &err));
    EXPECT(!launch(&s, 16, &err));
    EXPECT(fake->loads == loads);
    EXPECT(!launch(&s, 1, &err)); // 1 folds
    EXPECT(!launch(&s, 3, &err));
    EXPECT(fake->loads == loads + 2);
    // An empty grid launches nothing.
    long launches = fake->launches;
    tile_arg args[] = {TILE_BUFFER(s.x, "fp32"), TILE_BUFFER(s.y, "fp32"), TILE_I32(1000)};
    tile_launch_options o = {.size = sizeof o, .num_warps = 2};
    EXPECT(!tile_launch(s.k, args, 3, &o, &err));
    EXPECT(fake->launches == launches);
    close_session(&s);
    tile_error_clear(&err);
}

/// A bound launch: the same guarantees, and values that its code does not serve are refused.
static void test_bound(void) {
    session s = open_session();
    tile_error err = {0};
    tile_bound *b;
    tile_arg args[] = {TILE_BUFFER(s.x, "fp32"), TILE_BUFFER(s.y, "fp32"), TILE_I32(1000)};
    tile_launch_options o = {.size = sizeof o, .grid = {3}, .num_warps = 2};
    EXPECT(!tile_bind(s.k, args, 3, &o, &b, &err));
    const char *x = tile_buffer_data(s.x), *y = tile_buffer_data(s.y);
    int32_t n = 2000;
    void *values[] = {&x, &y, &n};
    uint32_t grid[3] = {5, 2, 0};
    long calls = fake->calls, mallocs = allocations, mutexes = locks;
    for (int i = 0; i < 100; i++)
        EXPECT(!tile_bound_launch(b, grid, values, NULL, &err));
    EXPECT(fake->calls - calls == 100 && allocations == mallocs && locks == mutexes);
    EXPECT(fake->params == values && *(int32_t *)fake->params[2] == 2000);
    EXPECT(fake->grid[0] == 5 && fake->grid[1] == 2 && fake->grid[2] == 1 && fake->block == 64);
    EXPECT(!tile_bound_launch(b, NULL, NULL, NULL, &err));
    EXPECT(fake->grid[0] == 3 && *(int32_t *)fake->params[2] == 1000);
    EXPECT(*(const void **)fake->params[0] == x && *(const void **)fake->params[1] == y);
    // What the code relies on.
    calls = fake->calls;
    n = 1002;
    EXPECT(tile_bound_launch(b, NULL, values, NULL, &err) == TILE_ERROR_INVALID_ARGUMENT);
    EXPECT(strstr(err.message, "'n' being divisible by 4, but it is 1002"));
    n = 1004;
    x += 4;
    EXPECT(tile_bound_launch(b, NULL, values, NULL, &err) == TILE_ERROR_INVALID_ARGUMENT);
    EXPECT(strstr(err.message, "'x' being divisible by 16"));
    EXPECT(tile_bound_launch(NULL, NULL, NULL, NULL, &err) == TILE_ERROR_INVALID_ARGUMENT);
    EXPECT(fake->calls == calls);
    tile_bound_destroy(b);
    // An odd length relies on nothing; a length of one is built in.
    args[2] = TILE_I32(1001);
    EXPECT(!tile_bind(s.k, args, 3, &o, &b, &err));
    n = 7;
    x -= 4;
    EXPECT(!tile_bound_launch(b, NULL, values, NULL, &err));
    tile_bound_destroy(b);
    args[2] = TILE_I32(1);
    EXPECT(!tile_bind(s.k, args, 3, &o, &b, &err));
    EXPECT(tile_bound_launch(b, NULL, values, NULL, &err) == TILE_ERROR_INVALID_ARGUMENT);
    EXPECT(strstr(err.message, "bound with 'n' = 1"));
    n = 1;
    EXPECT(!tile_bound_launch(b, NULL, values, NULL, &err));
    tile_bound_destroy(b);
    args[0] = TILE_FP32(1);
    EXPECT(tile_bind(s.k, args, 3, &o, &b, &err) == TILE_ERROR_INVALID_ARGUMENT && !b);
    close_session(&s);
    tile_error_clear(&err);
}

static tile_status launch_on(session *s, tile_stream *stream, int32_t n, tile_error *err) {
    tile_arg args[] = {TILE_BUFFER(s->x, "fp32"), TILE_BUFFER(s->y, "fp32"), TILE_I32(n)};
    tile_launch_options o = {.size = sizeof o, .grid = {3}, .num_warps = 2, .stream = stream};
    return tile_launch(s->k, args, 3, &o, err);
}

/// While a stream is captured, what is loaded launches at the usual cost, and what is not is
/// refused; a load for another stream leaves the capture alone.
static void test_capture(void) {
    session s = open_session();
    tile_error err = {0};
    tile_stream *stream, *other;
    tile_bound *b;
    EXPECT(!tile_stream_wrap(s.dev, &s, &stream, &err));
    EXPECT(!tile_stream_wrap(s.dev, &err, &other, &err));
    tile_arg args[] = {TILE_BUFFER(s.x, "fp32"), TILE_BUFFER(s.y, "fp32"), TILE_I32(1000)};
    tile_launch_options o = {.size = sizeof o, .grid = {3}, .num_warps = 2};
    EXPECT(!tile_warmup(s.k, args, 3, &o, NULL, &err));
    EXPECT(!tile_bind(s.k, args, 3, &o, &b, &err));
    fake->capturing = &s;
    long calls = fake->calls, mallocs = allocations, mutexes = locks, loads = fake->loads;
    EXPECT(!launch_on(&s, stream, 1000, &err)); // a key first met here costs a look for its code
    long first = fake->calls - calls;
    EXPECT(first == 1);
    calls = fake->calls, mallocs = allocations, mutexes = locks;
    for (int i = 0; i < 10; i++) {
        EXPECT(!launch_on(&s, stream, 1000, &err));
        EXPECT(!tile_bound_launch(b, NULL, NULL, stream, &err));
    }
    EXPECT(fake->calls - calls == 20 && allocations == mallocs && locks == mutexes);
    EXPECT(launch_on(&s, stream, 3, &err) == TILE_ERROR_NOT_READY);
    EXPECT(strstr(err.message, "tile_warmup"));
    EXPECT(launch_on(&s, NULL, 3, &err) == TILE_ERROR_NOT_READY); // it would join the capture
    EXPECT(fake->loads == loads && !fake->invalidated);
    EXPECT(!launch_on(&s, other, 3, &err));
    EXPECT(fake->loads == loads + 1 && !fake->invalidated);
    fake->capturing = NULL;
    EXPECT(!launch_on(&s, stream, 1, &err));
    tile_bound_destroy(b);
    tile_stream_destroy(stream);
    tile_stream_destroy(other);
    close_session(&s);
    tile_error_clear(&err);
}

/// Streams reach the driver as they are: NULL, and the two handles that stand for the legacy and
/// the per-thread default stream.
static void test_default_streams(void) {
    session s = open_session();
    tile_error err = {0};
    EXPECT(!launch_on(&s, NULL, 1000, &err) && !fake->stream);
    for (uintptr_t handle = 1; handle <= 2; handle++) {
        tile_stream *stream;
        long streams = fake->streams;
        EXPECT(!tile_stream_wrap(s.dev, (void *)handle, &stream, &err));
        EXPECT(!launch_on(&s, stream, 1000, &err) && fake->stream == (void *)handle);
        EXPECT(tile_stream_native(stream) == (void *)handle);
        EXPECT(!tile_synchronize(s.dev, stream, &err));
        tile_stream_destroy(stream);
        EXPECT(fake->streams == streams); // the application's own
    }
    close_session(&s);
    tile_error_clear(&err);
}

/// However many row lengths come by, softmax is compiled at most four times: for lengths (and
/// strides) that are odd, even, divisible by 4, and 1.
static void test_variants(void) {
    tile_error err = {0};
    tile_device *dev;
    tile_module *mod;
    tile_kernel *k;
    tile_buffer *x;
    EXPECT(!tile_device_open("cuda:0", &dev, &err));
    EXPECT(!tile_module_load_file(dev, EXAMPLES_DIR "/softmax.tile", &mod, &err));
    EXPECT(!tile_module_get_kernel(mod, "softmax_fp32", &k, &err));
    EXPECT(!tile_buffer_create(dev, 4096, &x, &err));
    long loads = fake->loads;
    for (int32_t n = 1; n <= 4096; n++) {
        tile_arg args[] = {TILE_BUFFER(x, "fp32"),
                           TILE_BUFFER(x, "fp32"),
                           TILE_I32(n),
                           TILE_I32(n),
                           TILE_I32(n),
                           TILE_CONSTEXPR_INT("BLOCK", 4096)};
        tile_launch_options o = {.size = sizeof o, .grid = {1}};
        EXPECT(!tile_launch(k, args, 6, &o, &err));
    }
    EXPECT(fake->loads - loads <= 4);
    tile_buffer_destroy(x);
    tile_module_destroy(mod);
    tile_device_close(dev);
    tile_error_clear(&err);
}

/// A program of several blocks: the grid counts blocks, one call launches it as ever, a large cluster
/// is allowed before anyone asks how many there can be.
static void test_clusters(void) {
    session s = open_session();
    tile_error err = {0};
    tile_arg args[] = {TILE_BUFFER(s.x, "fp32"), TILE_BUFFER(s.y, "fp32"), TILE_I32(1000)};
    for (uint32_t ctas = 2; ctas <= 16; ctas *= 2) {
        tile_launch_options o = {
            .size = sizeof o, .grid = {3, 2, 1}, .num_warps = 2, .num_ctas = ctas};
        tile_kernel_info info;
        fake->large_clusters = 0;
        EXPECT(!tile_warmup(s.k, args, 3, &o, &info, &err));
        EXPECT(fake->large_clusters == (ctas > 8));
        EXPECT(info.max_programs == 132 / ctas);
        EXPECT(tile_persistent_grid(&info, 1000) == 132 / ctas);
        long calls = fake->calls;
        EXPECT(!tile_launch(s.k, args, 3, &o, &err));
        EXPECT(fake->calls == calls + 1);
        EXPECT(fake->grid[0] == 3 * ctas && fake->grid[1] == 2 && fake->block == 64);
    }
    close_session(&s);
    tile_error_clear(&err);
}

static void test_cooperative(void) {
    session s = open_session();
    tile_error err = {0};
    tile_bound *b;
    tile_arg args[] = {TILE_BUFFER(s.x, "fp32"), TILE_BUFFER(s.y, "fp32"), TILE_I32(1000)};
    tile_launch_options o = {
        .size = sizeof o, .grid = {4 * 132, 1, 1}, .num_warps = 2, .cooperative = true};
    EXPECT(!tile_launch(s.k, args, 3, &o, &err) && fake->cooperative);
    EXPECT(fake->grid[0] == 4 * 132 && fake->block == 64);
    o.grid[1] = 2;
    EXPECT(tile_launch(s.k, args, 3, &o, &err) == TILE_ERROR_UNSUPPORTED);
    EXPECT(strstr(err.message, "holds 528 programs of this kernel at once; a cooperative launch of "
                               "1056 cannot be"));
    EXPECT(!tile_bind(s.k, args, 3, &o, &b, &err));
    EXPECT(tile_bound_launch(b, NULL, NULL, NULL, &err) == TILE_ERROR_UNSUPPORTED);
    fake->cooperative = 0;
    EXPECT(!tile_bound_launch(b, (uint32_t[3]){7, 1, 1}, NULL, NULL, &err) && fake->cooperative);
    tile_bound_destroy(b);
    close_session(&s);
    tile_error_clear(&err);
}

static void *launch_from_thread(void *p) {
    tile_error err = {0};
    EXPECT(!launch(p, 1000, &err)); // this thread has no context yet
    tile_error_clear(&err);
    return NULL;
}

static void test_threads(void) {
    session s = open_session();
    long loads = fake->loads;
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, launch_from_thread, &s);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    EXPECT(fake->loads == loads + 1); // one compile, whoever asks
    close_session(&s);
}

/// Fails the n-th driver call for every n of a whole life: a status, a message, nothing left alive.
static void test_failures(void) {
    tile_error err = {0};
    long before = fake->calls;
    EXPECT(!whole_life(&err));
    long calls = fake->calls - before;
    EXPECT(calls > 20);
    long failed = 0;
    for (long n = 1; n <= calls; n++) {
        fake->fail_at = fake->calls + n;
        tile_status s = whole_life(&err);
        fake->fail_at = 0;
        failed += s != 0;
        EXPECT(s == TILE_OK || err.message[0]);
        EXPECT(fake->contexts == 0 || n == calls); // the last call releases the context
        EXPECT(fake->buffers == 0 && fake->libraries == 0);
        fake->contexts = 0;
        tile_error_clear(&err);
    }
    EXPECT(failed > calls / 3);
    fake->fail_at = fake->calls + calls - 8;
    fake->fail_is_sticky = 1;
    EXPECT(whole_life(&err) != TILE_OK);
    fake->fail_at = fake->fail_is_sticky = fake->sticky = 0;
    tile_error_clear(&err);
}

/// A launch that failed because of the driver may work when it is tried again.
static void test_second_try(void) {
    session s = open_session();
    tile_error err = {0};
    for (int n = 2; n <= 8; n++) { // up to the questions about the loaded kernel
        fake->fail_at = fake->calls + n;
        EXPECT(launch(&s, 1000, &err) != TILE_OK && err.message[0]);
        fake->fail_at = 0;
    }
    EXPECT(!launch(&s, 1000, &err));
    close_session(&s);
    EXPECT(fake->buffers == 0 && fake->libraries == 0);
    tile_error_clear(&err);
}

/// A failed assertion comes back from the next synchronization and from every call after it.
static void test_failed_assertion(void) {
    enum { CUDA_ERROR_ASSERT = 710 };
    session s = open_session();
    tile_error err = {0};
    int usual = fake->fail_with;
    EXPECT(!launch(&s, 1000, &err));
    fake->fail_with = CUDA_ERROR_ASSERT;
    fake->fail_is_sticky = 1;
    fake->fail_at = fake->calls + 1;
    EXPECT(tile_synchronize(s.dev, NULL, &err) == TILE_ERROR_ASSERTION);
    EXPECT(strstr(err.message, "a kernel's assertion failed") &&
           strstr(err.message, "standard error"));
    EXPECT(launch(&s, 1000, &err) == TILE_ERROR_ASSERTION);
    fake->fail_with = usual;
    fake->fail_at = fake->fail_is_sticky = fake->sticky = 0;
    close_session(&s);
    tile_error_clear(&err);
}

/// Runs the check in a child process with a driver that cannot be used.
static void test_unusable(const char *variable, const char *value, const char *expected) {
    pid_t pid = fork();
    if (pid == 0) {
        setenv(variable, value, 1);
        tile_error err = {0};
        tile_device *d;
        tile_status s = tile_device_open("cuda:0", &d, &err);
        _exit(s == TILE_ERROR_NOT_FOUND && !d && strstr(err.message, expected) ? 0 : 1);
    }
    int status = 1;
    waitpid(pid, &status, 0);
    EXPECT(status == 0);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        printf("usage: test_fake_driver LIBFAKECUDA\n");
        return 2;
    }
    setenv("TILE_LIBCUDA", argv[1], 1);
    setenv("TILE_CACHE_DIR", "off", 1);
    test_unusable("FAKE_CUDA_MISSING", "cuLibraryLoadData", "lacks cuLibraryLoadData");
    test_unusable("FAKE_CUDA_VERSION", "11080", "12.0 or newer");
    test_unusable("TILE_LIBCUDA", "/nonexistent/libcuda.so", "no CUDA driver");
    fake = open_fake(argv[1]);
    if (!fake) {
        printf("FAILED cannot open %s\n", argv[1]);
        return 1;
    }
    test_hit_path();
    test_bound();
    test_capture();
    test_default_streams();
    test_variants();
    test_clusters();
    test_cooperative();
    test_threads();
    test_failures();
    test_second_try();
    test_failed_assertion();
    return finish();
}
