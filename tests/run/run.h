// What the execution tests share: the device under test ($TILE_TEST_DEVICE, else cpu), buffers made
// from host arrays, 16-bit floats, and failures that are counted and printed but do not stop a test.
#ifndef TILE_TESTS_RUN_H
#define TILE_TESTS_RUN_H

#include <tile.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tile_device *dev;
static tile_device_info dev_info;
static tile_error err;
static long checks, failures;

static inline bool expect(bool ok, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#include <stdarg.h>

/// Counts a check; prints the message if it failed (the first 20 of them).
static inline bool expect(bool ok, const char *fmt, ...) {
    checks++;
    if (ok || failures++ >= 20)
        return ok;
    va_list args;
    va_start(args, fmt);
    printf("FAILED ");
    vprintf(fmt, args);
    printf("\n");
    va_end(args);
    return ok;
}

/// Ends the test if a call that must succeed did not.
static inline void must(tile_status status) {
    if (status == TILE_OK)
        return;
    printf("FAILED %s: %s\n", tile_status_text(status), err.log ? err.log : err.message);
    exit(1);
}

/// Opens the device under test; a test on a device that is not there is skipped (exit status 77).
static inline void open_test_device(void) {
    const char *name = getenv("TILE_TEST_DEVICE");
    tile_status status = tile_device_open(name ? name : "cpu", &dev, &err);
    if (status == TILE_ERROR_NOT_FOUND) {
        printf("skipped: %s\n", err.message);
        exit(77);
    }
    must(status);
    must(tile_device_get_info(dev, &dev_info, &err));
}

/// Whether the device under test runs programs of several CTAs.
static inline bool has_clusters(void) {
    return !dev_info.is_cuda || strtol(dev_info.arch + strlen("sm_"), NULL, 10) >= 90;
}

/// $TILE_TEST_CTAS: programs of so many CTAs, wherever a test does not ask for a number itself.
static inline tile_status launch_in_clusters(tile_kernel *k, const tile_arg *args, uint32_t n,
                                             const tile_launch_options *options,
                                             tile_error *error) {
    const char *ctas = getenv("TILE_TEST_CTAS");
    if (!ctas || !options)
        return tile_launch(k, args, n, options, error);
    tile_launch_options o = *options;
    if (!o.num_ctas && has_clusters())
        o.num_ctas = (uint32_t)strtoul(ctas, NULL, 10);
    return tile_launch(k, args, n, &o, error);
}
#define tile_launch launch_in_clusters

static inline int finish(void) {
    tile_device_close(dev);
    tile_error_clear(&err);
    printf("%ld checks, %ld failed\n", checks, failures);
    return failures != 0 || checks == 0;
}

static inline tile_buffer *buffer_from(const void *data, size_t bytes) {
    tile_buffer *b;
    must(tile_buffer_create(dev, bytes, &b, &err));
    if (data)
        must(tile_copy_to_device(b, 0, data, bytes, NULL, &err));
    else
        must(tile_fill(b, 0, 0xA5, bytes, NULL, &err));
    return b;
}

static inline void read_buffer(tile_buffer *b, void *out, size_t bytes) {
    must(tile_synchronize(dev, NULL, &err));
    must(tile_copy_to_host(out, b, 0, bytes, NULL, &err));
}

static inline tile_kernel *kernel_from(const char *source, const char *name, tile_module **mod) {
    tile_kernel *k;
    must(tile_module_load_string(dev, "test.tile", source, strlen(source), mod, &err));
    must(tile_module_get_kernel(*mod, name, &k, &err));
    return k;
}

/// Compiles `source`, launches its kernel "k" and waits; prints the source if that fails.
static inline void launch_source(const char *source, const tile_arg *args, uint32_t n,
                                 uint32_t programs, uint32_t warps) {
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    tile_launch_options o = {.size = sizeof o, .grid = {programs}, .num_warps = warps};
    tile_status s = tile_launch(k, args, n, &o, &err);
    if (!s)
        s = tile_synchronize(dev, NULL, &err);
    if (s) {
        printf("%s", source);
        must(s);
    }
    tile_module_destroy(mod);
}

static inline void *xmalloc(size_t n) {
    void *p = malloc(n ? n : 1);
    if (!p) {
        printf("FAILED out of memory\n");
        exit(1);
    }
    return p;
}

static inline uint32_t next_power_of_2(uint32_t n) {
    uint32_t p = 1;
    while (p < n)
        p *= 2;
    return p;
}

static uint64_t random_state = 0x9E3779B97F4A7C15ull;
static inline uint32_t random_u32(void) {
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(random_state >> 33) ^ (uint32_t)(random_state >> 12);
}

typedef enum float_type { FP32, FP16, BF16 } float_type;
static const char *const float_names[] = {"fp32", "fp16", "bf16"};
static inline size_t float_bytes(float_type t) { return t == FP32 ? 4 : 2; }

static inline double load_float(float_type t, const void *data, size_t i) {
    float f;
    if (t == FP32) {
        memcpy(&f, (const char *)data + 4 * i, 4);
        return f;
    }
    uint16_t h;
    memcpy(&h, (const char *)data + 2 * i, 2);
    if (t == FP16) {
        int e = h >> 10 & 31, m = h & 1023;
        double v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
        return h & 0x8000 ? -v : v;
    }
    uint32_t bits = (uint32_t)h << 16;
    memcpy(&f, &bits, 4);
    return f;
}

/// Stores v cut (not rounded) to the type; small magnitudes become zero in fp16.
static inline void store_float(float_type t, void *data, size_t i, double v) {
    float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    if (t == FP32) {
        memcpy((char *)data + 4 * i, &f, 4);
        return;
    }
    uint16_t h = (uint16_t)(bits >> 16);
    if (t == FP16) {
        int e = (int)(bits >> 23 & 255) - 112;
        uint32_t sign = bits >> 16 & 0x8000, m = bits >> 13 & 1023;
        h = (uint16_t)(isnan(v)             ? 0x7e00
                       : isinf(v) || e > 30 ? sign | 0x7c00
                       : e <= 0             ? sign
                                            : sign | (uint32_t)e << 10 | m);
    }
    memcpy((char *)data + 2 * i, &h, 2);
}

#endif
