// Conformance of runtime/tile.h on any device, part one: devices, memory, streams, events, modules.
// Every call gets NULLs and wrong arguments, must answer with a status and a message, and leave NULL
// or 0 in its outputs. Launching is in test_arguments.c.
#include "../run/run.h"

#define SENTINEL(type) ((type *)(uintptr_t)8) ///< what outputs hold before a call that must fail

/// Checks the status, that it came with a message, and that the message has `part` (may be NULL).
static void expect_status(const char *what, tile_status got, tile_status want, const char *part) {
    expect(got == want, "%s: %s, expected %s", what, tile_status_text(got), tile_status_text(want));
    if (want == TILE_OK || got == TILE_OK)
        return;
    expect(err.status == got && err.message[0], "%s: the error object is not filled", what);
    expect(!strchr(err.message, '\n'), "%s: the message is more than a line", what);
    expect(!part || strstr(err.message, part), "%s: no '%s' in '%s'", what, part, err.message);
}

/// The same for a call that must leave NULL in `out`.
static void expect_null(const char *what, tile_status got, tile_status want, const char *part,
                        const void *out) {
    expect_status(what, got, want, part);
    expect(!out, "%s: the output is not NULL", what);
}

static const tile_status BAD = TILE_ERROR_INVALID_ARGUMENT;

// --- statuses, versions, errors

static void test_texts(void) {
    char want[64];
    snprintf(want, sizeof want, "%d.%d.%d", TILE_VERSION_MAJOR, TILE_VERSION_MINOR,
             TILE_VERSION_PATCH);
    expect(!strcmp(tile_version(), want), "version '%s', expected '%s'", tile_version(), want);
    for (int s = 0; s <= TILE_ERROR_INTERNAL; s++)
        for (int t = 0; t < s; t++)
            expect(strcmp(tile_status_text((tile_status)s), tile_status_text((tile_status)t)) != 0,
                   "statuses %d and %d have one text", s, t);
    expect(tile_status_text((tile_status)9999) && tile_status_text((tile_status)-1),
           "text of no status");
    tile_error_clear(NULL);
    tile_free(NULL);
    // A failing call takes the place of what the object held; clearing gives all zeros.
    tile_error e = {0};
    tile_module *mod = SENTINEL(tile_module);
    expect(tile_module_load_string(dev, "a.tile", "def k(:\n", 8, &mod, &e) == TILE_ERROR_COMPILE &&
               e.log,
           "a log");
    expect(tile_device_get_info(NULL, NULL, &e) == BAD && !e.log,
           "the log of the error before is still there");
    tile_error_clear(&e);
    tile_error zero = {0};
    expect(!memcmp(&e, &zero, sizeof e), "a cleared error is not zero");
}

// --- devices

static void test_devices(void) {
    static const char *const wrong[] = {"",         "gpu",    "CPU",    "cpu:0",
                                        "cpu0",     "cuda:",  "cuda:x", "cuda:-1",
                                        "cuda:0x",  "cuda 0", "cudas",  "cuda:99999999999999999999",
                                        "cuda:1001"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tile_device *d = SENTINEL(tile_device);
        tile_status s = tile_device_open(wrong[i], &d, &err);
        expect_null(wrong[i], s, TILE_ERROR_INVALID_ARGUMENT, wrong[i], d);
    }
    tile_device *d = SENTINEL(tile_device);
    tile_status s = tile_device_open(NULL, &d, &err);
    expect_null("open(NULL)", s, BAD, "NULL", d);
    d = SENTINEL(tile_device);
    s = tile_device_open("cuda:997", &d, &err); // no driver, or no such device
    expect_null("open(cuda:997)", s, TILE_ERROR_NOT_FOUND, NULL, d);
    expect_status("open into NULL", tile_device_open("cpu", NULL, &err), BAD, "out_device");
    tile_device_close(NULL);
    tile_device_info info;
    expect_status("info of NULL", tile_device_get_info(NULL, &info, &err), BAD, "device");
    expect_status("info into NULL", tile_device_get_info(dev, NULL, &err), BAD, "out_info");
    expect(dev_info.name[0] && dev_info.num_sms > 0 && dev_info.memory_bytes > 0,
           "the device's info is empty");
    expect(dev_info.max_shared_bytes_per_block >= 48 << 10 && dev_info.max_threads_per_sm >= 1024,
           "info: limits");
    expect(dev_info.is_cuda == (dev_info.arch[0] != 0) &&
               dev_info.is_cuda == (dev_info.driver_version != 0),
           "info: kind");
    // A device may be opened twice; each is closed on its own.
    must(tile_device_open(dev_info.is_cuda ? "cuda" : "cpu", &d, &err));
    tile_device_close(d);
    // Errors may be left out everywhere.
    expect(tile_device_open("nothing", &d, NULL) == TILE_ERROR_INVALID_ARGUMENT && !d,
           "an error without an object");
}

// --- buffers and copies

static void test_buffers(void) {
    tile_buffer *b = SENTINEL(tile_buffer);
    tile_status s = tile_buffer_create(NULL, 16, &b, &err);
    expect_null("buffer of no device", s, BAD, "device", b);
    expect_status("buffer into NULL", tile_buffer_create(dev, 16, NULL, &err), BAD, "out_buffer");
    static const size_t huge[] = {SIZE_MAX, SIZE_MAX - 100, SIZE_MAX / 2, (size_t)1 << 50,
                                  (size_t)1 << 45};
    for (size_t i = 0; i < sizeof huge / sizeof *huge; i++) {
        b = SENTINEL(tile_buffer);
        s = tile_buffer_create(dev, huge[i], &b, &err);
        expect_null("a buffer too large", s, TILE_ERROR_OUT_OF_MEMORY, NULL, b);
    }
    tile_buffer_destroy(NULL);
    expect(!tile_buffer_data(NULL) && !tile_buffer_size(NULL), "data and size of NULL");
    tile_buffer *empty = SENTINEL(tile_buffer);
    must(tile_buffer_create(dev, 0, &empty, &err));
    expect(empty && tile_buffer_size(empty) == 0, "a buffer of 0 bytes");
    char byte = 3;
    must(tile_copy_to_device(empty, 0, NULL, 0, NULL, &err));
    must(tile_copy_to_host(NULL, empty, 0, 0, NULL, &err));
    must(tile_fill(empty, 0, 1, 0, NULL, &err));
    must(tile_copy(empty, 0, empty, 0, 0, NULL, &err));
    expect_status("a byte into an empty buffer",
                  tile_copy_to_device(empty, 0, &byte, 1, NULL, &err), BAD, "past the end");
    tile_buffer_destroy(empty);
    // Sizes of every kind, each aligned to 16 bytes at least.
    for (size_t n = 1; n < 5000; n = n * 3 + 1) {
        must(tile_buffer_create(dev, n, &b, &err));
        expect(tile_buffer_size(b) == n && (uintptr_t)tile_buffer_data(b) % 16 == 0,
               "a buffer of %zu bytes", n);
        tile_buffer_destroy(b);
    }
}

typedef struct range {
    size_t offset, size;
} range;

static void test_copies(void) {
    enum { N = 100 };
    uint8_t data[N], back[N];
    for (int i = 0; i < N; i++)
        data[i] = (uint8_t)(i * 7);
    tile_buffer *a = buffer_from(data, N), *b = buffer_from(NULL, N);
    static const range outside[] = {{0, N + 1},
                                    {1, N},
                                    {N, 1},
                                    {N + 1, 0},
                                    {SIZE_MAX, 1},
                                    {1, SIZE_MAX},
                                    {SIZE_MAX, SIZE_MAX},
                                    {50, SIZE_MAX - 49}};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        range r = outside[i];
        expect_status("copy to the device",
                      tile_copy_to_device(a, r.offset, data, r.size, NULL, &err), BAD,
                      "past the end");
        expect_status("copy to the host", tile_copy_to_host(back, a, r.offset, r.size, NULL, &err),
                      BAD, "past the end");
        expect_status("copy, dst", tile_copy(b, r.offset, a, 0, r.size, NULL, &err), BAD,
                      "past the end");
        expect_status("copy, src", tile_copy(b, 0, a, r.offset, r.size, NULL, &err), BAD,
                      "past the end");
        expect_status("fill", tile_fill(a, r.offset, 1, r.size, NULL, &err), BAD, "past the end");
    }
    expect_status("copy to no buffer", tile_copy_to_device(NULL, 0, data, 1, NULL, &err), BAD,
                  "NULL");
    expect_status("copy from no memory", tile_copy_to_device(a, 0, NULL, 1, NULL, &err), BAD,
                  "src");
    expect_status("copy from no buffer", tile_copy_to_host(back, NULL, 0, 1, NULL, &err), BAD,
                  "NULL");
    expect_status("copy to no memory", tile_copy_to_host(NULL, a, 0, 1, NULL, &err), BAD, "dst");
    expect_status("copy between, no dst", tile_copy(NULL, 0, a, 0, 1, NULL, &err), BAD, "NULL");
    expect_status("copy between, no src", tile_copy(a, 0, NULL, 0, 1, NULL, &err), BAD, "NULL");
    expect_status("fill nothing", tile_fill(NULL, 0, 1, 1, NULL, &err), BAD, "NULL");
    // What is copied and filled, and nothing else.
    must(tile_fill(b, 0, 9, N, NULL, &err));
    must(tile_copy(b, 10, a, 30, 40, NULL, &err));
    must(tile_fill(b, 60, 0xEE, 5, NULL, &err));
    must(tile_copy_to_device(b, 99, data + 1, 1, NULL, &err));
    memset(back, 0, N);
    must(tile_copy_to_host(back + 1, b, 1, N - 1, NULL, &err));
    for (int i = 0; i < N; i++) {
        int want = i == 0              ? 0
                   : i == 99           ? 7
                   : i >= 60 && i < 65 ? 0xEE
                   : i >= 10 && i < 50 ? data[i + 20]
                                       : 9;
        expect(back[i] == want, "byte %d is %d, expected %d", i, back[i], want);
    }
    tile_buffer_destroy(a), tile_buffer_destroy(b);
}

static void test_registration(void) {
    float mine[4] = {0};
    expect_status("register, no device", tile_memory_register(NULL, mine, sizeof mine, &err), BAD,
                  "NULL");
    expect_status("register nothing", tile_memory_register(dev, NULL, 4, &err), BAD, "NULL");
    must(tile_memory_register(dev, mine, sizeof mine, &err));
    tile_memory_unregister(dev, mine);
    tile_memory_unregister(dev, mine);
    tile_memory_unregister(NULL, mine);
    tile_memory_unregister(dev, NULL);
}

// --- streams and events

static void test_streams(void) {
    tile_stream *s = SENTINEL(tile_stream), *wrapped = SENTINEL(tile_stream);
    tile_status status = tile_stream_create(NULL, &s, &err);
    expect_null("stream of no device", status, BAD, "device", s);
    expect_status("stream into NULL", tile_stream_create(dev, NULL, &err), BAD, "out_stream");
    status = tile_stream_wrap(NULL, NULL, &wrapped, &err);
    expect_null("wrap for no device", status, BAD, "device", wrapped);
    expect_status("wrap into NULL", tile_stream_wrap(dev, NULL, NULL, &err), BAD, "out_stream");
    tile_stream_destroy(NULL);
    expect(!tile_stream_native(NULL), "native of NULL");
    expect_status("synchronize no device", tile_synchronize(NULL, NULL, &err), BAD, "device");
    must(tile_stream_create(dev, &s, &err));
    must(tile_stream_wrap(dev, tile_stream_native(s), &wrapped, &err));
    expect(tile_stream_native(wrapped) == tile_stream_native(s), "a wrapped stream is another one");
    // Work on a stream, through both of its names.
    uint32_t back = 0;
    tile_buffer *b = buffer_from(NULL, 4);
    must(tile_synchronize(dev, NULL, &err)); // the stream does not wait for the default stream
    must(tile_fill(b, 0, 0x11, 4, s, &err));
    must(tile_fill(b, 2, 0x22, 2, wrapped, &err));
    must(tile_synchronize(dev, s, &err));
    must(tile_copy_to_host(&back, b, 0, 4, wrapped, &err));
    expect(back == 0x22221111, "fills on a stream: %08x", back);
    must(tile_synchronize(dev, wrapped, &err));
    must(tile_synchronize(dev, NULL, &err));
    // A stream of another device is refused everywhere.
    tile_device *other;
    must(tile_device_open("cpu", &other, &err));
    tile_stream *foreign;
    must(tile_stream_create(other, &foreign, &err));
    expect_status("fill, foreign stream", tile_fill(b, 0, 1, 4, foreign, &err), BAD,
                  "another device");
    expect_status("copy in, foreign stream", tile_copy_to_device(b, 0, &back, 4, foreign, &err),
                  BAD, "another device");
    expect_status("copy out, foreign stream", tile_copy_to_host(&back, b, 0, 4, foreign, &err), BAD,
                  "another device");
    expect_status("copy, foreign stream", tile_copy(b, 0, b, 0, 4, foreign, &err), BAD,
                  "another device");
    expect_status("synchronize, foreign stream", tile_synchronize(dev, foreign, &err), BAD,
                  "another device");
    tile_buffer *far;
    must(tile_buffer_create(other, 4, &far, &err));
    expect_status("copy between devices", tile_copy(b, 0, far, 0, 4, NULL, &err), BAD,
                  "different devices");
    tile_event *e;
    must(tile_event_create(dev, &e, &err));
    expect_status("record, foreign stream", tile_event_record(e, foreign, &err), BAD,
                  "another device");
    tile_event_destroy(e);
    tile_buffer_destroy(far);
    tile_stream_destroy(foreign);
    tile_device_close(other);
    tile_buffer_destroy(b);
    tile_stream_destroy(wrapped);
    tile_stream_destroy(s);
}

static void test_events(void) {
    tile_event *a = SENTINEL(tile_event), *b;
    tile_status s = tile_event_create(NULL, &a, &err);
    expect_null("event of no device", s, BAD, "device", a);
    expect_status("event into NULL", tile_event_create(dev, NULL, &err), BAD, "out_event");
    expect_status("record NULL", tile_event_record(NULL, NULL, &err), BAD, "event");
    tile_event_destroy(NULL);
    must(tile_event_create(dev, &a, &err));
    must(tile_event_create(dev, &b, &err));
    float ms = 7;
    expect_status("elapsed, no start", tile_event_elapsed(NULL, b, &ms, &err), BAD, "start");
    expect_status("elapsed, no end", tile_event_elapsed(a, NULL, &ms, &err), BAD, "end");
    expect_status("elapsed into NULL", tile_event_elapsed(a, b, NULL, &err), BAD,
                  "out_milliseconds");
    expect_status("elapsed, not recorded", tile_event_elapsed(a, b, &ms, &err), BAD,
                  "not been recorded");
    expect(ms == 0, "elapsed: the output is %g", (double)ms);
    must(tile_event_record(a, NULL, &err));
    ms = 7;
    expect_status("elapsed, end not recorded", tile_event_elapsed(a, b, &ms, &err), BAD,
                  "not been recorded");
    expect(ms == 0, "elapsed: the output is %g", (double)ms);
    tile_buffer *buf = buffer_from(NULL, 1 << 20);
    must(tile_fill(buf, 0, 1, 1 << 20, NULL, &err));
    must(tile_event_record(b, NULL, &err));
    must(tile_event_elapsed(a, b, &ms, &err));
    expect(ms >= 0 && ms < 60000, "elapsed: %g ms", (double)ms);
    tile_buffer_destroy(buf);
    tile_event_destroy(a);
    tile_event_destroy(b);
}

// --- modules

static const char two_kernels[] = "SCALE = constexpr(3)\n"
                                  "def helper(x):\n"
                                  "    return x * SCALE\n"
                                  "def first(x: *i32):\n"
                                  "    store(x, helper(load(x)))\n"
                                  "def second(x: *i32, n: i32):\n"
                                  "    store(x, helper(load(x)) + n)\n";

static void test_modules(void) {
    tile_module *mod = SENTINEL(tile_module);
    tile_status s = tile_module_load_string(NULL, "a.tile", "", 0, &mod, &err);
    expect_null("module of no device", s, BAD, "device", mod);
    mod = SENTINEL(tile_module);
    s = tile_module_load_string(dev, "a.tile", NULL, 4, &mod, &err);
    expect_null("module of no source", s, BAD, "source", mod);
    expect_status("module into NULL", tile_module_load_string(dev, "a.tile", "", 0, NULL, &err),
                  BAD, "out_module");
    expect_status("file into NULL", tile_module_load_file(dev, "a.tile", NULL, &err), BAD,
                  "out_module");
    mod = SENTINEL(tile_module);
    s = tile_module_load_file(dev, NULL, &mod, &err);
    expect_null("file of no name", s, BAD, "path", mod);
    mod = SENTINEL(tile_module);
    s = tile_module_load_file(NULL, EXAMPLES_DIR "/vector_add.tile", &mod, &err);
    expect_null("file for no device", s, BAD, "device", mod);
    mod = SENTINEL(tile_module);
    s = tile_module_load_file(dev, "/nonexistent/a.tile", &mod, &err);
    expect_null("a file that is not there", s, TILE_ERROR_IO, "/nonexistent/a.tile", mod);
    mod = SENTINEL(tile_module);
    s = tile_module_load_file(dev, EXAMPLES_DIR, &mod, &err);
    expect_null("a directory", s, TILE_ERROR_IO, EXAMPLES_DIR, mod);
    tile_module_destroy(NULL);
    expect(!tile_module_kernel_count(NULL) && !tile_module_kernel_name(NULL, 0), "kernels of NULL");
    must(tile_module_load_string(dev, NULL, "", 0, &mod, &err)); // an empty file has no kernels
    tile_kernel *k = SENTINEL(tile_kernel);
    s = tile_module_get_kernel(mod, NULL, &k, &err);
    expect_null("the only kernel of none", s, TILE_ERROR_NOT_FOUND, "no kernel", k);
    expect(tile_module_kernel_count(mod) == 0 && !tile_module_kernel_name(mod, 0),
           "kernels of nothing");
    tile_module_destroy(mod);
}

/// The configs of an @autotune, as arguments and options of a launch.
static void test_configs(void) {
    static const char source[] =
        "import triton\n"
        "@triton.autotune(configs=[triton.Config({'B': 16, 'NOT_OURS': 3}, num_warps=2),\n"
        "                          triton.Config(kwargs={'B': 64, 'F': 0.5, 'S': 'two'}, "
        "num_stages=4,\n"
        "                                        num_warps=8, maxnreg=64),\n"
        "                          triton.Config({'E': True, 'N': None}, 1, 2, 1)],\n"
        "                 key=['n'])\n"
        "@triton.jit\n"
        "def tuned(x, n, B: tl.constexpr, F: tl.constexpr = 0.25, S: tl.constexpr = 'one',\n"
        "          E: tl.constexpr = False, N: tl.constexpr = 0):\n"
        "    o = tl.arange(0, B)\n"
        "    tl.store(x + o, F * 8 + (100 if S == 'two' else 0), mask=o < n)\n"
        "@triton.jit\n"
        "def plain(x):\n"
        "    tl.store(x, 1.0)\n";
    tile_module *mod;
    tile_kernel *tuned, *plain;
    must(tile_module_load_string(dev, "tuned.py", source, sizeof source - 1, &mod, &err));
    must(tile_module_get_kernel(mod, "tuned", &tuned, &err));
    must(tile_module_get_kernel(mod, "plain", &plain, &err));
    expect(tile_kernel_config_count(tuned) == 3 && !tile_kernel_config_count(plain) &&
               !tile_kernel_config_count(NULL),
           "counts");
    tile_config c[3];
    for (uint32_t i = 0; i < 3; i++)
        must(tile_kernel_get_config(tuned, i, &c[i], &err));
    expect(c[0].num_constexprs == 1 && c[0].num_warps == 2 && !c[0].num_stages, "config 0");
    expect(c[1].num_constexprs == 3 && c[1].num_warps == 8 && c[1].num_stages == 4 &&
               c[1].maxnreg == 64 && !c[1].num_ctas && c[1].constexprs[1].value.f == 0.5 &&
               !strcmp(c[1].constexprs[2].value.string, "two"),
           "config 1");
    expect(c[2].num_constexprs == 2 && c[2].num_warps == 1 && c[2].num_stages == 2 &&
               c[2].num_ctas == 1 && c[2].constexprs[0].value.i == 1 &&
               c[2].constexprs[1].constexpr_kind == TILE_CONSTEXPR_KIND_NONE,
           "config 2");
    expect_status("config past the end", tile_kernel_get_config(tuned, 3, &c[0], &err), BAD,
                  "3 configs");
    expect_status("config of none", tile_kernel_get_config(plain, 0, &c[0], &err), BAD, "plain");
    expect_status("config of NULL", tile_kernel_get_config(NULL, 0, &c[0], &err), BAD, "kernel");
    expect_status("config into NULL", tile_kernel_get_config(tuned, 0, NULL, &err), BAD,
                  "out_config");
    float got[64];
    tile_buffer *x;
    must(tile_buffer_create(dev, sizeof got, &x, &err));
    tile_arg args[5] = {TILE_BUFFER(x, "fp32"), TILE_I32(64)};
    memcpy(args + 2, c[1].constexprs, 3 * sizeof *args);
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = c[1].num_warps};
    must(tile_launch(tuned, args, 5, &o, &err));
    must(tile_synchronize(dev, NULL, &err));
    must(tile_copy_to_host(got, x, 0, sizeof got, NULL, &err));
    expect(got[0] == 104 && got[63] == 104, "launched with config 1: %g, %g", got[0], got[63]);
    tile_buffer_destroy(x);
    tile_module_destroy(mod);
}

static void test_kernels(void) {
    tile_module *mod;
    tile_kernel *k = SENTINEL(tile_kernel), *first, *second;
    // The source need not end in NUL, and is copied.
    size_t n = sizeof two_kernels - 1;
    char *source = xmalloc(n);
    memcpy(source, two_kernels, n);
    must(tile_module_load_string(dev, "two.tile", source, n, &mod, &err));
    memset(source, '!', n);
    free(source);
    expect(tile_module_kernel_count(mod) == 2, "%u kernels, expected 2",
           tile_module_kernel_count(mod));
    expect(!strcmp(tile_module_kernel_name(mod, 0), "first") &&
               !strcmp(tile_module_kernel_name(mod, 1), "second"),
           "names");
    expect(!tile_module_kernel_name(mod, 2) && !tile_module_kernel_name(mod, UINT32_MAX),
           "names past the end");
    tile_status s = tile_module_get_kernel(mod, NULL, &k, &err);
    expect_null("the only one of two", s, TILE_ERROR_NOT_FOUND, "two.tile", k);
    k = SENTINEL(tile_kernel);
    s = tile_module_get_kernel(mod, "third", &k, &err);
    expect_null("a kernel that is not there", s, TILE_ERROR_NOT_FOUND, "third", k);
    k = SENTINEL(tile_kernel);
    s = tile_module_get_kernel(mod, "helper", &k, &err);
    expect_null("a helper", s, TILE_ERROR_NOT_FOUND, "helper", k);
    k = SENTINEL(tile_kernel);
    s = tile_module_get_kernel(NULL, "first", &k, &err);
    expect_null("a kernel of no module", s, BAD, "module", k);
    expect_status("a kernel into NULL", tile_module_get_kernel(mod, "first", NULL, &err), BAD,
                  "out_kernel");
    must(tile_module_get_kernel(mod, "first", &first, &err));
    must(tile_module_get_kernel(mod, "second", &second, &err));
    must(tile_module_get_kernel(mod, "second", &k, &err));
    expect(k == second && k != first, "kernels by name");
    int32_t v = 5;
    tile_buffer *b = buffer_from(&v, 4);
    tile_arg args[] = {TILE_BUFFER(b, "i32"), TILE_I32(2)};
    tile_launch_options o = {.size = sizeof o, .grid = {1}};
    must(tile_launch(first, args, 1, &o, &err));
    must(tile_launch(second, args, 2, &o, &err));
    read_buffer(b, &v, 4);
    expect(v == 47, "two kernels of one module: %d", v);
    tile_buffer_destroy(b);
    tile_module_destroy(mod);
}

/// All mistakes of a source come at once, each with its place; the message is the first of them.
static void test_broken_sources(void) {
    static const char source[] = "def a(x: *fp32):\n"
                                 "    store(x, 1.0\n"
                                 "\n"
                                 "def b(x: *fp31):\n"
                                 "    y = = 3\n"
                                 "\n"
                                 "def c(x: *fp32, x: i32):\n"
                                 "    pass\n";
    tile_module *mod = SENTINEL(tile_module);
    tile_status s =
        tile_module_load_string(dev, "broken.tile", source, sizeof source - 1, &mod, &err);
    expect_null("a broken source", s, TILE_ERROR_COMPILE, "broken.tile:", mod);
    expect(strstr(err.message, ": error: ") != NULL, "the message '%s'", err.message);
    expect(err.log && strstr(err.log, err.message) == err.log,
           "the log does not start with the message");
    expect(err.log && strstr(err.log, "broken.tile:5:9: error: "),
           "no second error in the log:\n%s", err.log);
    // What depends on the specialization is reported by the launch, with a caret and the shapes.
    static const char typed[] = "def k(x: *fp32):\n"
                                "    a = arange(0, 16) + arange(0, 32)\n"
                                "    b = nothing\n"
                                "    store(x, c)\n";
    tile_kernel *k = kernel_from(typed, "k", &mod);
    tile_buffer *x = buffer_from(NULL, 64);
    tile_arg arg = TILE_BUFFER(x, "fp32");
    tile_launch_options o = {.size = sizeof o, .grid = {1}};
    static const char *const parts[] = {"test.tile:2:23: error: ",
                                        "test.tile:3:9: error: ",
                                        "test.tile:4:14: error: ",
                                        "16",
                                        "32",
                                        "'nothing'",
                                        "^"};
    for (int twice = 0; twice < 2;
         twice++) { // the second launch does not compile again, and says the same
        expect_status("a kernel with errors", tile_launch(k, &arg, 1, &o, &err), TILE_ERROR_COMPILE,
                      "test.tile:2:23: error: ");
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            expect(err.log && strstr(err.log, parts[i]), "no '%s' in the log:\n%s", parts[i],
                   err.log ? err.log : "");
    }
    expect(tile_launch(k, &arg, 1, &o, NULL) == TILE_ERROR_COMPILE,
           "a kernel with errors, no error object");
    char *ptx = SENTINEL(char);
    s = tile_kernel_ptx(k, &arg, 1, &o, &ptx, &err);
    expect_null("PTX of a kernel with errors", s, TILE_ERROR_COMPILE,
                "test.tile:2:23: error: ", ptx);
    tile_buffer_destroy(x);
    tile_module_destroy(mod);
    static const char *const hostile[] = {"\0\0\0",
                                          "def",
                                          "def k",
                                          "def k(",
                                          "def k():",
                                          "\t \t",
                                          "\xff\xfe",
                                          "'''",
                                          "\\",
                                          "((((((((((",
                                          "def k():\n\treturn\n        return\n",
                                          "import os\n",
                                          "@",
                                          "1"};
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        size_t n = i ? strlen(hostile[i]) : 3;
        mod = SENTINEL(tile_module);
        s = tile_module_load_string(dev, "hostile.tile", hostile[i], n, &mod, &err);
        expect(s == TILE_OK ||
                   (s == TILE_ERROR_COMPILE && !mod && strstr(err.message, "hostile.tile:")),
               "hostile source %zu: %s: %s", i, tile_status_text(s), err.message);
        if (!s)
            tile_module_destroy(mod);
    }
}

typedef struct heard {
    int warnings, infos;
    char text[2][256];
} heard;

static void listen(void *context, tile_log_level level, const char *text) {
    heard *h = context;
    h->warnings += level == TILE_LOG_WARNING;
    h->infos += level == TILE_LOG_INFO;
    snprintf(h->text[level], sizeof h->text[level], "%s", text);
}

/// What the library would print goes to the log of the device, if it has one.
static void test_log(void) {
    static const char source[] = "def k(x: *i32, C: constexpr):\n"
                                 "    static_print('C is', C)\n"
                                 "    store(x, C)\n";
    heard h = {0};
    tile_module *mod;
    tile_kernel *k;
    tile_buffer *x;
    must(tile_device_set_cache(dev, "off", 0, &err)); // what is read is not compiled
    tile_device_set_log(NULL, listen, &h);
    tile_device_set_log(dev, listen, &h);
    expect(!tile_module_load_string(dev, "talks.tile", source, strlen(source), &mod, &err) &&
               !tile_module_get_kernel(mod, NULL, &k, &err) &&
               !tile_buffer_create(dev, 4, &x, &err),
           "setup: %s", err.message);
    for (int i = 0; i < 4; i++) {
        tile_arg args[] = {TILE_BUFFER(x, "i32"), TILE_CONSTEXPR_INT("C", i / 2)};
        tile_launch_options o = {.size = sizeof o, .grid = {1}};
        tile_device_set_log(dev, i < 2 ? listen : NULL, &h);
        expect(!tile_launch(k, args, 2, &o, &err), "launch: %s", err.message);
    }
    expect(h.warnings == 1 && strstr(h.text[TILE_LOG_WARNING], "talks.tile:2:5: warning: C is 0"),
           "%d warnings: %s", h.warnings, h.text[TILE_LOG_WARNING]);
    expect(h.infos == 1 && strstr(h.text[TILE_LOG_INFO], "compiled and loaded kernel 'k' in "),
           "%d infos: %s", h.infos, h.text[TILE_LOG_INFO]);
    tile_buffer_destroy(x);
    tile_module_destroy(mod);
}

int main(void) {
    open_test_device();
    test_texts();
    test_devices();
    test_buffers();
    test_copies();
    test_registration();
    test_streams();
    test_events();
    test_modules();
    test_kernels();
    test_configs();
    test_broken_sources();
    test_log();
    return finish();
}
