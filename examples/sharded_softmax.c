// One softmax over every GPU of the machine: a thread for each device opens it, loads the kernel
// there, and computes its share of the rows. Kernels are compiled and loaded per device on demand;
// nothing is shared but the host's arrays.
//   sharded_softmax [--device cuda|cpu] [--devices K] [--rows M] [--cols N]
// K is as many as there are if it is not given (on cpu 1); the rows need not divide by it.
#include "common.h"

#include <pthread.h>

typedef struct shard {
    pthread_t thread;
    tile_device *device;
    const float *x; ///< the first of its rows
    float *y;
    long rows, cols;
    float ms; ///< of the kernel
} shard;

/// The first 16384 elements of a row or fewer are in registers at once; 32 a thread.
static tile_launch_options launch_of(const shard *s, long *block) {
    *block = 512;
    while (*block < s->cols && *block < 16384)
        *block *= 2;
    return (tile_launch_options){.size = sizeof(tile_launch_options),
                                 .grid = {(uint32_t)s->rows},
                                 .num_warps = *block > 4096 ? (uint32_t)(*block / 1024) : 4};
}

static void *run_shard(void *argument) {
    shard *s = argument;
    tile_error err = {0};
    tile_module *module;
    tile_kernel *softmax;
    tile_buffer *x, *y;
    tile_event *start, *end;
    long block;
    size_t bytes = (size_t)s->rows * (size_t)s->cols * sizeof(float);
    check(tile_module_load_file(s->device, kernel_file("softmax.tile"), &module, &err), &err);
    check(tile_module_get_kernel(module, "softmax_looped_fp32", &softmax, &err), &err);
    check(tile_buffer_create(s->device, bytes, &x, &err), &err);
    check(tile_buffer_create(s->device, bytes, &y, &err), &err);
    check(tile_copy_to_device(x, 0, s->x, bytes, NULL, &err), &err);
    tile_launch_options launch = launch_of(s, &block);
    tile_arg args[] = {TILE_BUFFER(y, "fp32"), TILE_BUFFER(x, "fp32"),
                       TILE_INT(s->cols),      TILE_INT(s->cols),
                       TILE_INT(s->cols),      TILE_CONSTEXPR_INT("BLOCK", block)};
    check(tile_warmup(softmax, args, 6, &launch, NULL, &err), &err);
    check(tile_event_create(s->device, &start, &err), &err);
    check(tile_event_create(s->device, &end, &err), &err);
    check(tile_event_record(start, NULL, &err), &err);
    check(tile_launch(softmax, args, 6, &launch, &err), &err);
    check(tile_event_record(end, NULL, &err), &err);
    check(tile_event_elapsed(start, end, &s->ms, &err), &err);
    check(tile_copy_to_host(s->y, y, 0, bytes, NULL, &err), &err);
    tile_event_destroy(start);
    tile_event_destroy(end);
    tile_buffer_destroy(x);
    tile_buffer_destroy(y);
    tile_module_destroy(module);
    return NULL;
}

/// Opens devices until there are no more, or `most`. Ends the program if there are fewer.
static long open_devices(const char *kind, long most, shard *shards, long room) {
    tile_error err = {0};
    long n = 0;
    while (n < (most ? most : room)) {
        char name[32];
        snprintf(name, sizeof name, strcmp(kind, "cpu") ? "%s:%ld" : "%s", kind, n);
        tile_status status = tile_device_open(name, &shards[n].device, &err);
        if (status && n && !most && status == TILE_ERROR_NOT_FOUND)
            break;
        check(status, &err);
        n++;
    }
    tile_error_clear(&err);
    return n;
}

/// Rows whose elements are not within 1e-5 of what double precision gives, relatively.
static long count_wrong(const float *x, const float *y, long rows, long cols) {
    long wrong = 0;
    for (long r = 0; r < rows; r++, x += cols, y += cols) {
        double most = -INFINITY, sum = 0;
        bool is_right = true;
        for (long c = 0; c < cols; c++)
            most = fmax(most, (double)x[c]);
        for (long c = 0; c < cols; c++)
            sum += exp((double)x[c] - most);
        for (long c = 0; c < cols; c++) {
            double expected = exp((double)x[c] - most) / sum;
            is_right &= fabs((double)y[c] - expected) <= 1e-5 * expected;
        }
        wrong += !is_right;
    }
    return wrong;
}

int main(int argc, char **argv) {
    static const char *const known[] = {"device", "devices", "rows", "cols", NULL};
    static shard shards[64];
    const long room = sizeof shards / sizeof *shards;
    check_options(argc, argv, known);
    const char *kind = option(argc, argv, "device", "cuda");
    bool is_cpu = !strcmp(kind, "cpu");
    long most = number_option(argc, argv, "devices", is_cpu, 1);
    long rows = number_option(argc, argv, "rows", is_cpu ? 37 : 20000, 1);
    long cols = number_option(argc, argv, "cols", is_cpu ? 1000 : 8192, 1);
    if (most > room || rows > INT32_MAX || cols > 1 << 20) {
        fprintf(stderr, "at most %ld devices, 2^31 - 1 rows, 2^20 columns\n", room);
        return 2;
    }
    long n = open_devices(kind, most, shards, room);
    if (n > rows) {
        fprintf(stderr, "%ld devices for %ld rows\n", n, rows);
        return 2;
    }
    size_t elements_in_all = (size_t)rows * (size_t)cols;
    float *x = malloc(elements_in_all * sizeof *x), *y = malloc(elements_in_all * sizeof *y);
    if (!x || !y) {
        fprintf(stderr, "out of memory\n");
        return 1;
    }
    uint32_t random = 1;
    for (size_t i = 0; i < elements_in_all; i++) {
        random = random * 1664525 + 1013904223;
        x[i] = (float)(random >> 8) * 0x1p-20f - 8;
    }
    for (long i = 0; i < n; i++) {
        long first = rows * i / n, end = rows * (i + 1) / n;
        shards[i].x = x + first * cols;
        shards[i].y = y + first * cols;
        shards[i].rows = end - first;
        shards[i].cols = cols;
        if (pthread_create(&shards[i].thread, NULL, run_shard, &shards[i])) {
            fprintf(stderr, "no thread for device %ld\n", i);
            return 1;
        }
    }
    for (long i = 0; i < n; i++) {
        pthread_join(shards[i].thread, NULL);
        tile_device_info info;
        tile_error err = {0};
        check(tile_device_get_info(shards[i].device, &info, &err), &err);
        printf("device %ld, %s: %ld rows", i, info.name, shards[i].rows);
        print_time(&info, (double)shards[i].ms,
                   8 * (double)shards[i].rows * (double)shards[i].cols);
        printf("\n");
        tile_device_close(shards[i].device);
    }
    long wrong = count_wrong(x, y, rows, cols);
    printf("softmax %ld x %ld on %ld device%s: %s\n", rows, cols, n, n == 1 ? "" : "s",
           wrong ? "WRONG" : "right");
    free(x);
    free(y);
    return wrong != 0;
}
