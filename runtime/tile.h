// tile: compile and launch block-language GPU kernels from C. The compiler and the launcher of
// `.tile` files in one small library.
//
//     #include <tile.h>
//     tile_error err = {0};
//     tile_device *dev;  tile_module *mod;  tile_kernel *k;
//     if (tile_device_open("cuda:0", &dev, &err) ||            // or "cpu"
//         tile_module_load_file(dev, "vector_add.tile", &mod, &err) ||
//         tile_module_get_kernel(mod, "vector_add", &k, &err)) {
//         fprintf(stderr, "%s\n", err.message);
//         return 1;
//     }
//     tile_buffer *x, *y, *z;                                   // n floats each
//     tile_buffer_create(dev, n * 4, &x, &err); ...
//     tile_copy_to_device(x, 0, host_x, n * 4, NULL, &err); ...
//     tile_arg args[] = {TILE_BUFFER(x, "fp32"), TILE_BUFFER(y, "fp32"), TILE_BUFFER(z, "fp32"),
//                        TILE_I32(n), TILE_CONSTEXPR_INT("BLOCK", 1024)};
//     tile_launch_options opt = {.size = sizeof opt, .grid = {(n + 1023) / 1024, 1, 1}};
//     if (tile_launch(k, args, 5, &opt, &err)) ...
//
// Every call that can fail returns a tile_status (0 is TILE_OK) and takes a tile_error last, which
// may be NULL. On failure the outputs are NULL or 0 and nothing leaks. The library never exits,
// prints nothing but what kernels print, and takes no locks while launching a specialization it has
// met before. Objects may be used from several threads at once unless a function says otherwise;
// destroying an object that another thread is using is the caller's mistake.
#ifndef TILE_H
#define TILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TILE_VERSION_MAJOR 0
#define TILE_VERSION_MINOR 1
#define TILE_VERSION_PATCH 0

#if defined(__GNUC__)
#define TILE_API __attribute__((visibility("default")))
#else
#define TILE_API
#endif

/// Enumerator, value, text. Values are never reused.
#define TILE_STATUS_MAP(X)                                                                         \
    X(OK, 0, "success")                                                                            \
    X(ERROR_INVALID_ARGUMENT, 1, "invalid argument")                                               \
    X(ERROR_NOT_FOUND, 2, "not found")                                                             \
    X(ERROR_COMPILE, 3, "the source does not compile")                                             \
    X(ERROR_UNSUPPORTED, 4, "not supported")                                                       \
    X(ERROR_OUT_OF_MEMORY, 5, "out of memory")                                                     \
    X(ERROR_DRIVER, 6, "the driver reported an error")                                             \
    X(ERROR_DEVICE_LOST, 7, "the device is unusable after an earlier error")                       \
    X(ERROR_OUT_OF_BOUNDS, 8, "a kernel accessed memory outside its buffers")                      \
    X(ERROR_ASSERTION, 9, "a kernel's assertion failed")                                           \
    X(ERROR_TIMEOUT, 10, "a kernel did not end in time")                                           \
    X(ERROR_NOT_READY, 11, "not ready")                                                            \
    X(ERROR_IO, 12, "a file could not be read or written")                                         \
    X(ERROR_INTERNAL, 13, "internal error")

typedef enum tile_status {
#define X(id, value, text) TILE_##id = value,
    TILE_STATUS_MAP(X)
#undef X
} tile_status;

/// Text of a status, static.
TILE_API const char *tile_status_text(tile_status status);
/// "0.1.0", static.
TILE_API const char *tile_version(void);

/// Filled by a call that fails. The caller owns it; start from `tile_error err = {0}`. `log` (the
/// compiler's or the driver's full text, may be NULL) is freed by tile_error_clear, or by the next
/// call that fills the same object.
typedef struct tile_error {
    tile_status status;
    char message[512]; ///< one line, NUL-terminated
    char *log;
} tile_error;
TILE_API void tile_error_clear(tile_error *error);

typedef struct tile_device tile_device;
typedef struct tile_buffer tile_buffer;
typedef struct tile_stream tile_stream;
typedef struct tile_event tile_event;
typedef struct tile_module tile_module;
typedef struct tile_kernel tile_kernel;
typedef struct tile_bound tile_bound;

// --- devices -------------------------------------------------------------------------------------

/// Opens "cuda:N" (its primary context is retained), "cuda" (= "cuda:0") or "cpu". The device must
/// outlive everything made from it. Errors: INVALID_ARGUMENT (no device
/// is called that), NOT_FOUND (this machine has none, or no driver), DRIVER.
TILE_API tile_status tile_device_open(const char *name, tile_device **out_device,
                                      tile_error *error);
/// NULL is ignored.
TILE_API void tile_device_close(tile_device *device);

typedef struct tile_device_info {
    char name[128];
    char arch[32];    ///< "sm_90"; "" on cpu
    uint32_t num_sms; ///< processors on cpu
    uint32_t max_threads_per_sm;
    uint32_t max_shared_bytes_per_block; ///< with opt-in
    uint32_t registers_per_sm;
    uint32_t l2_bytes;
    uint64_t memory_bytes;
    uint32_t driver_version; ///< 13000 for CUDA 13.0; 0 on cpu
    bool is_cuda;
} tile_device_info;
TILE_API tile_status tile_device_get_info(tile_device *device, tile_device_info *out_info,
                                          tile_error *error);

/// What the library would print if it printed: warnings of the compiler, assemblers that failed and
/// were done without; and for information, what was compiled or loaded and how long it took.
typedef enum tile_log_level { TILE_LOG_WARNING, TILE_LOG_INFO } tile_log_level;
/// Called on the thread that the message is from, maybe on several at once; the text is gone after.
/// It must not call the library.
typedef void tile_log_fn(void *context, tile_log_level level, const char *text);
/// Has the device report to `log` (NULL: to nobody, as at first). Not while other threads use it.
TILE_API void tile_device_set_log(tile_device *device, tile_log_fn *log, void *context);

// --- the on-disk cache ---------------------------------------------------------------------------
// Kernels compiled for a GPU are kept on disk and read by later processes, which then compile
// nothing. A cache is safe to share among any number of processes of one user, and never fails a
// call: what cannot be read or written is compiled. docs/runtime.md says what an entry depends on.

/// Where this device's compiled kernels are kept, and how much of them: the least recently used go
/// first. directory NULL: $TILE_CACHE_DIR, else $XDG_CACHE_HOME/tile, else ~/.cache/tile; "" or
/// "off": nowhere. max_bytes 0: $TILE_CACHE_SIZE, else 256 MiB. A device begins with (NULL, 0). Not
/// while another thread compiles for it. Errors: INVALID_ARGUMENT (a variable that is no size).
TILE_API tile_status tile_device_set_cache(tile_device *device, const char *directory,
                                           uint64_t max_bytes, tile_error *error);

typedef struct tile_cache_info {
    char path[4096];    ///< the folder that has the entries; "" if nothing is kept
    uint64_t entries;   ///< kernels in it
    uint64_t bytes;     ///< of all of them
    uint64_t max_bytes; ///< as many may be there, by the environment
} tile_cache_info;
/// What is in the cache; directory as in tile_device_set_cache. Errors: INVALID_ARGUMENT, IO (it is
/// not a folder of this user's that only he may write to).
TILE_API tile_status tile_cache_get_info(const char *directory, tile_cache_info *out_info,
                                         tile_error *error);
/// Removes the least recently used entries until at most keep_bytes are left (0: all), and what
/// processes that were killed have left behind. out_removed (may be NULL): how many entries went.
TILE_API tile_status tile_cache_prune(const char *directory, uint64_t keep_bytes,
                                      uint64_t *out_removed, tile_error *error);

// --- memory, streams, events ---------------------------------------------------------------------
// A stream is a queue of the device; NULL is the default stream. On cpu every operation has ended
// when its call returns.

/// size_bytes may be 0. Contents are undefined (poisoned on cpu).
TILE_API tile_status tile_buffer_create(tile_device *device, size_t size_bytes,
                                        tile_buffer **out_buffer, tile_error *error);
/// Waits for the device's work on it. NULL is ignored.
TILE_API void tile_buffer_destroy(tile_buffer *buffer);
/// Device address; on cpu an address the caller may read and write directly.
TILE_API void *tile_buffer_data(const tile_buffer *buffer);
TILE_API size_t tile_buffer_size(const tile_buffer *buffer);
/// cpu only: lets kernels use memory that the caller owns, until it is unregistered. On cuda: no-op.
TILE_API tile_status tile_memory_register(tile_device *device, const void *data, size_t size_bytes,
                                          tile_error *error);
TILE_API void tile_memory_unregister(tile_device *device, const void *data);

/// Copies size_bytes; returns when the host memory may be reused. Errors: INVALID_ARGUMENT (past
/// the buffer's end).
TILE_API tile_status tile_copy_to_device(tile_buffer *dst, size_t offset_bytes, const void *src,
                                         size_t size_bytes, tile_stream *stream, tile_error *error);
TILE_API tile_status tile_copy_to_host(void *dst, const tile_buffer *src, size_t offset_bytes,
                                       size_t size_bytes, tile_stream *stream, tile_error *error);
TILE_API tile_status tile_copy(tile_buffer *dst, size_t dst_offset_bytes, const tile_buffer *src,
                               size_t src_offset_bytes, size_t size_bytes, tile_stream *stream,
                               tile_error *error);
/// Sets every byte.
TILE_API tile_status tile_fill(tile_buffer *dst, size_t offset_bytes, uint8_t byte,
                               size_t size_bytes, tile_stream *stream, tile_error *error);

TILE_API tile_status tile_stream_create(tile_device *device, tile_stream **out_stream,
                                        tile_error *error);
/// Wraps a CUstream of the application (which keeps owning it).
TILE_API tile_status tile_stream_wrap(tile_device *device, void *native, tile_stream **out_stream,
                                      tile_error *error);
TILE_API void tile_stream_destroy(tile_stream *stream);
TILE_API void *tile_stream_native(const tile_stream *stream);
/// Waits for all work of the stream; of the whole device if stream is NULL. Reports errors of the
/// kernels launched before.
TILE_API tile_status tile_synchronize(tile_device *device, tile_stream *stream, tile_error *error);

TILE_API tile_status tile_event_create(tile_device *device, tile_event **out_event,
                                       tile_error *error);
TILE_API void tile_event_destroy(tile_event *event);
TILE_API tile_status tile_event_record(tile_event *event, tile_stream *stream, tile_error *error);
/// Waits for the later event; milliseconds between two recorded events. Errors: INVALID_ARGUMENT
/// (one has not been recorded).
TILE_API tile_status tile_event_elapsed(tile_event *start, tile_event *end, float *out_milliseconds,
                                        tile_error *error);

// --- modules and kernels -------------------------------------------------------------------------

/// Reads and checks a .tile file (or the .py subset). error->log has all diagnostics. Errors:
/// IO, COMPILE.
TILE_API tile_status tile_module_load_file(tile_device *device, const char *path,
                                           tile_module **out_module, tile_error *error);
/// The same from memory; `name` is what messages call it. `source` is copied.
TILE_API tile_status tile_module_load_string(tile_device *device, const char *name,
                                             const char *source, size_t length,
                                             tile_module **out_module, tile_error *error);
/// Kernels of it become invalid. NULL is ignored.
TILE_API void tile_module_destroy(tile_module *module);
/// name NULL: the only kernel of the file. The kernel lives as long as the module. Errors: NOT_FOUND.
TILE_API tile_status tile_module_get_kernel(tile_module *module, const char *name,
                                            tile_kernel **out_kernel, tile_error *error);
TILE_API uint32_t tile_module_kernel_count(const tile_module *module);
/// Lives as long as the module; NULL past the end.
TILE_API const char *tile_module_kernel_name(const tile_module *module, uint32_t index);

/// A triton.Config of @triton.autotune: arguments to add to a launch, and options of it. 0 is an
/// option that it leaves as it is.
typedef struct tile_config {
    const struct tile_arg *constexprs; ///< named; they live as long as the module
    uint32_t num_constexprs;
    uint32_t num_warps, num_stages, num_ctas, maxnreg;
} tile_config;
/// The configs that are written out in the kernel's decorator, in their order; the first one's
/// constexprs are the defaults of those parameters. Nothing is tried: which is best is the caller's
/// to measure. 0 for NULL.
TILE_API uint32_t tile_kernel_config_count(const tile_kernel *kernel);
/// Errors: INVALID_ARGUMENT (there is no such config).
TILE_API tile_status tile_kernel_get_config(const tile_kernel *kernel, uint32_t index,
                                            tile_config *out_config, tile_error *error);

// --- arguments -----------------------------------------------------------------------------------

typedef enum tile_arg_kind {
    TILE_ARG_POINTER,   ///< pointer to elements of `dtype`
    TILE_ARG_SCALAR,    ///< value of `dtype`
    TILE_ARG_INT,       ///< i32 if it fits, else i64: as Triton types a Python int
    TILE_ARG_FLOAT,     ///< fp32: as Triton types a Python float
    TILE_ARG_NONE,      ///< the parameter is None in this specialization
    TILE_ARG_CONSTEXPR, ///< a compile-time value, see `constexpr_kind`
} tile_arg_kind;

typedef enum tile_constexpr_kind {
    TILE_CONSTEXPR_KIND_NONE,
    TILE_CONSTEXPR_KIND_BOOL,
    TILE_CONSTEXPR_KIND_INT,
    TILE_CONSTEXPR_KIND_FLOAT,
    TILE_CONSTEXPR_KIND_STRING,
    TILE_CONSTEXPR_KIND_DTYPE,
} tile_constexpr_kind;

/// One argument. Positional ones (name NULL) come in the order of the kernel's parameters; named
/// ones after them, in any order. Make them with the macros below.
typedef struct tile_arg {
    const char *name;
    tile_arg_kind kind;
    tile_constexpr_kind constexpr_kind;
    const char *dtype; ///< "fp32", "i64", ...; of a DTYPE constexpr: the value
    union {
        const void *pointer; ///< device address
        int64_t i;
        double f;
        const char *string;
    } value;
} tile_arg;

#ifndef __cplusplus
#define TILE_POINTER(p, type)                                                                      \
    ((tile_arg){.kind = TILE_ARG_POINTER, .dtype = (type), .value.pointer = (p)})
#define TILE_BUFFER(b, type) TILE_POINTER(tile_buffer_data(b), type)
#define TILE_I32(v) ((tile_arg){.kind = TILE_ARG_SCALAR, .dtype = "i32", .value.i = (v)})
#define TILE_I64(v) ((tile_arg){.kind = TILE_ARG_SCALAR, .dtype = "i64", .value.i = (v)})
#define TILE_FP32(v) ((tile_arg){.kind = TILE_ARG_SCALAR, .dtype = "fp32", .value.f = (v)})
#define TILE_FP64(v) ((tile_arg){.kind = TILE_ARG_SCALAR, .dtype = "fp64", .value.f = (v)})
/// Typed by its value, as Triton does.
#define TILE_INT(v) ((tile_arg){.kind = TILE_ARG_INT, .value.i = (v)})
#define TILE_FLOAT(v) ((tile_arg){.kind = TILE_ARG_FLOAT, .value.f = (v)})
#define TILE_NONE() ((tile_arg){.kind = TILE_ARG_NONE})
#define TILE_CONSTEXPR_INT(n, v)                                                                   \
    ((tile_arg){.name = (n),                                                                       \
                .kind = TILE_ARG_CONSTEXPR,                                                        \
                .constexpr_kind = TILE_CONSTEXPR_KIND_INT,                                         \
                .value.i = (v)})
#define TILE_CONSTEXPR_BOOL(n, v)                                                                  \
    ((tile_arg){.name = (n),                                                                       \
                .kind = TILE_ARG_CONSTEXPR,                                                        \
                .constexpr_kind = TILE_CONSTEXPR_KIND_BOOL,                                        \
                .value.i = (v)})
#define TILE_CONSTEXPR_FLOAT(n, v)                                                                 \
    ((tile_arg){.name = (n),                                                                       \
                .kind = TILE_ARG_CONSTEXPR,                                                        \
                .constexpr_kind = TILE_CONSTEXPR_KIND_FLOAT,                                       \
                .value.f = (v)})
#define TILE_CONSTEXPR_STRING(n, v)                                                                \
    ((tile_arg){.name = (n),                                                                       \
                .kind = TILE_ARG_CONSTEXPR,                                                        \
                .constexpr_kind = TILE_CONSTEXPR_KIND_STRING,                                      \
                .value.string = (v)})
#define TILE_CONSTEXPR_DTYPE(n, v)                                                                 \
    ((tile_arg){.name = (n),                                                                       \
                .kind = TILE_ARG_CONSTEXPR,                                                        \
                .constexpr_kind = TILE_CONSTEXPR_KIND_DTYPE,                                       \
                .dtype = (v)})
#endif

// --- launching -----------------------------------------------------------------------------------

typedef struct tile_launch_options {
    size_t size;         ///< sizeof(tile_launch_options), always
    uint32_t grid[3];    ///< programs per axis; a 0 in y or z counts as 1; x = 0 launches nothing
    uint32_t num_warps;  ///< 0: 4
    uint32_t num_ctas;   ///< 0: 1
    uint32_t num_stages; ///< 0: 3
    uint32_t maxnreg;    ///< 0: no limit
    tile_stream *stream; ///< NULL: the default stream
    bool no_asserts;     ///< leave device_assert and assert out of the kernel
    /// For kernels whose programs wait for one another: all are resident at once, or the launch is
    /// refused (UNSUPPORTED; always on cpu, where they are not).
    bool cooperative;
} tile_launch_options;

/// Specializes the kernel on its arguments (types, constexprs, divisibility of pointers and
/// integers, integers equal to 1), compiles once per specialization, and launches. Errors:
/// INVALID_ARGUMENT, UNSUPPORTED, COMPILE, DRIVER, NOT_READY (a new specialization during graph
/// capture); on cpu also OUT_OF_BOUNDS, ASSERTION, TIMEOUT.
TILE_API tile_status tile_launch(tile_kernel *kernel, const tile_arg *args, uint32_t num_args,
                                 const tile_launch_options *options, tile_error *error);

/// What a specialization costs.
typedef struct tile_kernel_info {
    uint32_t registers;         ///< per thread; 0 on cpu
    uint32_t spill_bytes;       ///< local memory per thread, bytes
    uint32_t shared_bytes;      ///< per block
    uint32_t threads;           ///< per block
    uint32_t max_blocks_per_sm; ///< resident at once; 1 on cpu
    uint32_t num_sms;           ///< of the device
    double compile_ms;          ///< source to loaded function, when it was compiled
    uint32_t max_programs;      ///< resident on the device at once, also of several blocks each
    bool from_cache;            ///< read from the on-disk cache, not compiled
} tile_kernel_info;

/// Compiles and loads the specialization that these arguments select, without launching it. options
/// may be NULL here: the defaults.
/// Pointers may be NULL: they then count as divisible by 16.
TILE_API tile_status tile_warmup(tile_kernel *kernel, const tile_arg *args, uint32_t num_args,
                                 const tile_launch_options *options, tile_kernel_info *out_info,
                                 tile_error *error);

/// Programs for a persistent kernel: as many as are resident at once, at most `work` and at least 1.
TILE_API uint32_t tile_persistent_grid(const tile_kernel_info *info, uint64_t work);

/// A kernel bound to the specialization that these arguments select, compiled and loaded now: what
/// is launched often costs least this way. Free it with tile_bound_destroy, before the module.
TILE_API tile_status tile_bind(tile_kernel *kernel, const tile_arg *args, uint32_t num_args,
                               const tile_launch_options *options, tile_bound **out_bound,
                               tile_error *error);
/// Launches a bound kernel on a stream (NULL: the default one). `grid` has the programs per axis;
/// NULL: as bound. values[i] points to the value of the i-th run-time argument, in the order of the
/// kernel's parameters without constexprs and None, and in the type that it was bound with; values
/// NULL: as bound. The values are read before the call returns, and must be as divisible as the code
/// relies on: else INVALID_ARGUMENT. Any thread may launch one bound kernel at any time. Errors as
/// of tile_launch; nothing is compiled here.
TILE_API tile_status tile_bound_launch(const tile_bound *bound, const uint32_t *grid,
                                       void *const *values, tile_stream *stream, tile_error *error);
/// NULL is ignored.
TILE_API void tile_bound_destroy(tile_bound *bound);

/// PTX of the specialization (cuda; on cpu: error UNSUPPORTED). Free with tile_free.
TILE_API tile_status tile_kernel_ptx(tile_kernel *kernel, const tile_arg *args, uint32_t num_args,
                                     const tile_launch_options *options, char **out_ptx,
                                     tile_error *error);
TILE_API void tile_free(void *p);

// --- kernels compiled ahead of time --------------------------------------------------------------
// `tilec --emit=header` writes one file with tables of these types, for each kernel a typed launch
// function, and nothing to be edited by hand. A bundle is loaded once per device, when the first of
// its kernels is asked for, and goes when the device is closed; the tables must outlive that.

#define TILE_AOT_FORMAT 1

/// A parameter, as all specializations of the kernel have it.
typedef struct tile_aot_param {
    const char *name;
    const char *type; ///< "*fp32", "i32"; NULL for a compile-time value
    bool is_fixed;    ///< the same value in every specialization: launches do not give it
    bool is_optional; ///< a pointer that is None in some specialization: NULL selects it
} tile_aot_param;

/// What one specialization has for a parameter.
typedef struct tile_aot_value {
    tile_arg_kind kind; ///< POINTER, SCALAR, NONE or CONSTEXPR
    tile_constexpr_kind constexpr_kind;
    uint8_t divisible_log2; ///< the code relies on divisibility by 2 to this power
    bool is_one;            ///< the code relies on the value 1
    int64_t bits;           ///< of a constexpr: the integer, or the bits of the double
    const char *text;       ///< of a constexpr that is a string or a dtype
} tile_aot_value;

/// Code for one architecture: a cubin, or PTX that ends in NUL.
typedef struct tile_aot_image {
    uint32_t sm; ///< 90 for sm_90
    bool is_ptx;
    const unsigned char *data;
    size_t size_bytes;
} tile_aot_image;

typedef struct tile_aot_variant {
    const char *entry;
    uint32_t num_warps, num_ctas, num_stages, maxnreg;
    bool no_asserts;
    uint32_t shared_bytes; ///< dynamic, per block
    const tile_aot_value *values;
    const tile_aot_image *images;
    uint32_t num_images;
} tile_aot_variant;

typedef struct tile_aot_kernel {
    const char *name;
    const tile_aot_param *params;
    uint32_t num_params;
    const tile_aot_variant *variants; ///< the more special ones first: the first that fits is taken
    uint32_t num_variants;
} tile_aot_kernel;

typedef struct tile_aot_bundle {
    uint32_t format; ///< TILE_AOT_FORMAT of the header that it was compiled with
    const char *name;
    const tile_aot_kernel *kernels;
    uint32_t num_kernels;
} tile_aot_bundle;

/// The kernel as any other, for tile_launch, tile_bind, tile_warmup; it lives as long as the device.
/// Nothing of it is loaded yet. Launch options that are 0 take what a specialization has. Errors:
/// INVALID_ARGUMENT, UNSUPPORTED (cpu; a bundle of another format), OUT_OF_MEMORY.
TILE_API tile_status tile_aot_get_kernel(tile_device *device, const tile_aot_bundle *bundle,
                                         uint32_t index, tile_kernel **out_kernel,
                                         tile_error *error);
/// Loads all specializations of the kernel that the device can run: call it before capturing a graph.
TILE_API tile_status tile_aot_load(tile_device *device, const tile_aot_bundle *bundle,
                                   uint32_t index, tile_error *error);
/// Launches the first specialization that serves the arguments, loaded now if it is not yet.
/// values[i] points to the value of the i-th parameter that is not fixed: a pointer, an integer of
/// its width, a float (fp32 and narrower), a double, a bool; of a compile-time value int64_t, double,
/// bool or const char *. Errors: as of tile_launch, and NOT_FOUND if no specialization serves.
TILE_API tile_status tile_aot_launch(tile_device *device, const tile_aot_bundle *bundle,
                                     uint32_t index, const uint32_t *grid,
                                     const void *const *values, tile_stream *stream,
                                     tile_error *error);

#ifdef __cplusplus
}
#endif

#endif
