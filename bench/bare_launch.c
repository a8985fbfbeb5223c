// What a launch costs the host: the driver's own cuLaunchKernel in a loop (of a CUfunction, and of a
// CUkernel, which is good in every context), tile_bound_launch and tile_launch of the same kernel
// with the same arguments, in turns; then all of it while a stream is captured into a graph, and the
// graph's replay. Prints nanoseconds per launch as JSON.
//   bare_launch             of vector_add on 1024 floats
//   bare_launch --check     the same; fails if ours costs too much more than the driver's call
//   bare_launch --context   only opens the driver and the first device's primary context
#include "bench/driver.h"

// A batch is shorter than the driver's queue, so that no launch waits for the device.
enum { BATCHES = 101, BATCH = 200, N = 1024, CAPTURES = 21, RELAXED = 2, NON_BLOCKING = 1 };

// ------------------------------------------------------------------- the ways to launch

/// One kernel with one set of arguments, for all ways.
static struct subject {
    tile_device *dev;
    tile_module *mod;
    tile_kernel *add;
    tile_bound *bound;
    tile_buffer *buffers[3];
    tile_arg args[5];
    tile_launch_options options;
    tile_stream *stream; ///< NULL outside a capture
    void *native;
    void *function, *kernel;
    const void *pointers[3];
    int32_t n;
    void *params[4];
    tile_error err;
} s;

static void by_function(void) {
    must(cu.cuLaunchKernel(s.function, 1, 1, 1, 128, 1, 1, 0, s.native, s.params, NULL));
}

static void by_kernel(void) {
    must(cu.cuLaunchKernel(s.kernel, 1, 1, 1, 128, 1, 1, 0, s.native, s.params, NULL));
}

static void by_bound(void) {
    check(tile_bound_launch(s.bound, NULL, s.params, s.stream, &s.err), &s.err);
}

static void by_arguments(void) { check(tile_launch(s.add, s.args, 5, &s.options, &s.err), &s.err); }

enum { WAYS = 4 };

static const struct {
    const char *name;
    void (*launch)(void);
    double most_over_raw; ///< nanoseconds, for --check: loose, since test machines are busy
} ways[WAYS] = {
    {"cuLaunchKernel", by_function, 0},
    {"cuLaunchKernel, CUkernel", by_kernel, 1000},
    {"tile_launch, bound", by_bound, 1000},
    {"tile_launch", by_arguments, 3000},
};

static void open_subject(void) {
    check(tile_device_open("cuda:0", &s.dev, &s.err), &s.err);
    check(tile_module_load_file(s.dev, kernel_file("vector_add.tile"), &s.mod, &s.err), &s.err);
    check(tile_module_get_kernel(s.mod, "vector_add", &s.add, &s.err), &s.err);
    s.n = N;
    for (int i = 0; i < 3; i++) {
        check(tile_buffer_create(s.dev, N * sizeof(float), &s.buffers[i], &s.err), &s.err);
        check(tile_fill(s.buffers[i], 0, 0, N * sizeof(float), NULL, &s.err), &s.err);
        s.pointers[i] = tile_buffer_data(s.buffers[i]);
        s.args[i] = TILE_BUFFER(s.buffers[i], "fp32");
        s.params[i] = &s.pointers[i];
    }
    s.params[3] = &s.n;
    s.args[3] = TILE_I32(N);
    s.args[4] = TILE_CONSTEXPR_INT("BLOCK", 1024);
    s.options = (tile_launch_options){.size = sizeof s.options, .grid = {1}, .num_warps = 4};
    check(tile_bind(s.add, s.args, 5, &s.options, &s.bound, &s.err), &s.err);
    char *ptx;
    void *library;
    check(tile_kernel_ptx(s.add, s.args, 5, &s.options, &ptx, &s.err), &s.err);
    must(cu.cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    must(cu.cuLibraryGetKernel(&s.kernel, library, "vector_add"));
    must(cu.cuKernelGetFunction(&s.function, s.kernel));
    tile_free(ptx);
}

static void close_subject(void) {
    tile_stream_destroy(s.stream);
    tile_bound_destroy(s.bound);
    for (int i = 0; i < 3; i++)
        tile_buffer_destroy(s.buffers[i]);
    tile_module_destroy(s.mod);
    tile_device_close(s.dev);
}

// ------------------------------------------------------------------- measuring

/// Nanoseconds per launch of one batch.
static double batch(void (*launch)(void)) {
    double start = now_ns();
    for (int k = 0; k < BATCH; k++)
        launch();
    return (now_ns() - start) / BATCH;
}

/// The same inside a capture; *replay is the host's time for the graph, per launch in it.
static double capture(void (*launch)(void), double *replay) {
    void *graph, *exec;
    must(cu.cuStreamBeginCapture(s.native, RELAXED));
    double ns = batch(launch);
    must(cu.cuStreamEndCapture(s.native, &graph));
    must(cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
    must(cu.cuGraphLaunch(exec, s.native)); // the first one uploads it
    must(cu.cuCtxSynchronize());
    double start = now_ns();
    must(cu.cuGraphLaunch(exec, s.native));
    *replay = (now_ns() - start) / BATCH;
    must(cu.cuCtxSynchronize());
    must(cu.cuGraphExecDestroy(exec));
    must(cu.cuGraphDestroy(graph));
    return ns;
}

static void print_times(const char *name, const char *where, double *ns, int n) {
    static const char *before = "{";
    qsort(ns, (size_t)n, sizeof *ns, by_value);
    printf("%s\"%s%s\": {\"ns\": %.0f, \"least\": %.0f, \"most\": %.0f, \"batches\": %d}", before,
           name, where, ns[n / 2], ns[0], ns[n - 1], n);
    before = ", ";
}

/// Whether the quickest batch of each way is within its limit of the driver's quickest.
static bool are_cheap(double times[WAYS][BATCHES]) {
    bool ok = true;
    for (int w = 1; w < WAYS; w++) {
        double over = times[w][0] - times[0][0];
        if (over > ways[w].most_over_raw) {
            fprintf(stderr, "%s costs %.0f ns more than the driver's call\n", ways[w].name, over);
            ok = false;
        }
    }
    return ok;
}

int main(int argc, char **argv) {
    static const char *const known[] = {"context", "check", NULL};
    static double times[WAYS][BATCHES], replays[WAYS * CAPTURES];
    check_options(argc, argv, known);
    open_context();
    if (option(argc, argv, "context", NULL))
        return 0;
    open_subject();
    for (int i = -3; i < BATCHES; i++) // three to warm up
        for (int w = 0; w < WAYS; w++) {
            must(cu.cuCtxSynchronize());
            times[w][i < 0 ? 0 : i] = batch(ways[w].launch);
        }
    for (int w = 0; w < WAYS; w++)
        print_times(ways[w].name, "", times[w], BATCHES);
    bool ok = !option(argc, argv, "check", NULL) || are_cheap(times);

    must(cu.cuStreamCreate(&s.native, NON_BLOCKING));
    check(tile_stream_wrap(s.dev, s.native, &s.stream, &s.err), &s.err);
    s.options.stream = s.stream;
    for (int i = -1; i < CAPTURES; i++)
        for (int w = 0; w < WAYS; w++) {
            int at = i < 0 ? 0 : i;
            times[w][at] = capture(ways[w].launch, &replays[WAYS * at + w]);
        }
    for (int w = 0; w < WAYS; w++)
        print_times(ways[w].name, ", captured", times[w], CAPTURES);
    print_times("graph replay", "", replays, WAYS * CAPTURES);
    printf("}\n");
    close_subject();
    return !ok;
}
