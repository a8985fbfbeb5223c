// The runtime's own declarations, shared by its files: errors, the device interface, and what a
// module, a kernel and a specialization are made of. Public declarations are in tile.h.
#ifndef TILE_RUNTIME_RT_H
#define TILE_RUNTIME_RT_H

#include "runtime/tile.h"
#include "support/text.h"

#include <pthread.h>
#include <stdatomic.h>

// --- error.c
/// Fills *error (may be NULL) and returns the status.
tile_status rt_fail(tile_error *error, tile_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/// The same with a log (copied).
tile_status rt_fail_log(tile_error *error, tile_status status, const char *log, const char *fmt,
                        ...) __attribute__((format(printf, 4, 5)));

/// Tells the device's log, if it has one.
void rt_log(const tile_device *d, tile_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

// --- compiled code, as compile.c gives it and a device loads it
enum { RT_MAX_PARAMS = 256 };

/// A 128-bit hash (XXH3).
typedef struct rt_hash {
    uint64_t low, high;
} rt_hash;

/// One specialization's binary. Freed with rt_binary_free.
typedef struct rt_binary {
    char *entry; ///< entry name in the binary
    char *ptx;   ///< PTX text, NULL for host code
    void *image; ///< cubin, or NULL: the driver assembles the PTX
    size_t image_bytes;
    struct cg_host_code *host; ///< host code, NULL for a GPU
    uint32_t num_warps, num_ctas;
    uint32_t shared_bytes;
    uint32_t num_params; ///< of the binary
    uint8_t param_bytes[RT_MAX_PARAMS];
    /// Per kernel parameter, as powers of two: the divisibility this code relies on, and the most
    /// that could change the code at all (RULES 12).
    uint8_t relied_log2[RT_MAX_PARAMS], useful_log2[RT_MAX_PARAMS];
    rt_hash source; ///< of the files that were compiled
} rt_binary;
void rt_binary_free(rt_binary *b);

/// A loaded binary on a device.
typedef struct rt_loaded {
    void *handle;  ///< CUkernel, or rt_binary's host code
    void *library; ///< CUlibrary
    uint32_t registers, local_bytes, static_shared_bytes;
    uint32_t max_blocks_per_sm;
    uint32_t max_programs; ///< resident on the device at once
} rt_loaded;

// --- devices: one table of functions per kind
typedef struct device_ops {
    tile_status (*open)(tile_device *d, int index, tile_error *error);
    void (*close)(tile_device *d);
    tile_status (*alloc)(tile_device *d, size_t bytes, void **out, tile_error *error);
    void (*free)(tile_device *d, void *p, size_t bytes);
    /// Direction by flags: is the pointer host memory?
    tile_status (*copy)(tile_device *d, void *dst, bool dst_host, const void *src, bool src_host,
                        size_t bytes, void *stream, tile_error *error);
    tile_status (*fill)(tile_device *d, void *dst, uint8_t byte, size_t bytes, void *stream,
                        tile_error *error);
    tile_status (*stream_create)(tile_device *d, void **out, tile_error *error);
    void (*stream_destroy)(tile_device *d, void *stream);
    tile_status (*synchronize)(tile_device *d, void *stream, bool all, tile_error *error);
    tile_status (*event_create)(tile_device *d, void **out, tile_error *error);
    void (*event_destroy)(tile_device *d, void *event);
    tile_status (*event_record)(tile_device *d, void *event, void *stream, tile_error *error);
    tile_status (*event_elapsed)(tile_device *d, void *start, void *end, float *out_ms,
                                 tile_error *error);
    /// True while `stream` is recording a graph: nothing may be loaded then.
    bool (*is_capturing)(tile_device *d, void *stream);
    tile_status (*load)(tile_device *d, const rt_binary *b, rt_loaded *out, tile_error *error);
    void (*unload)(tile_device *d, rt_loaded *l);
    /// params[i] points to the i-th parameter's bytes. The hot path: no allocation, no lock.
    tile_status (*launch)(tile_device *d, const rt_loaded *l, const rt_binary *b,
                          const uint32_t grid[3], void **params, void *stream, bool cooperative,
                          tile_error *error);
} device_ops;

extern const device_ops device_ops_cuda;
extern const device_ops device_ops_cpu;

/// Where compiled kernels are kept on disk (cache.c).
typedef struct rt_cache {
    char *path;         ///< of the folder with the entries; NULL: none are kept
    uint64_t max_bytes; ///< of all of them
} rt_cache;

struct tile_device {
    const device_ops *ops;
    rt_cache cache;
    tile_device_info info;
    int index, native; ///< cuda:N, and the driver's CUdevice
    void *context;     ///< CUcontext (primary), retained
    void *state;       ///< of the cpu device
    tile_log_fn *log;  ///< may be NULL
    void *log_context;
    /// What was loaded of bundles, a list that only grows; `lock` is for who adds to it.
    _Atomic(tile_module *) bundles;
    pthread_mutex_t lock;
};

struct tile_buffer {
    tile_device *device;
    void *data;
    size_t size_bytes;
};

struct tile_stream {
    tile_device *device;
    void *native;
    bool owned;
};

struct tile_event {
    tile_device *device;
    void *native;
    atomic_bool recorded;
};

// --- modules, kernels, specializations
/// Adds a kernel without parameters yet. NULL without memory.
tile_kernel *rt_add_kernel(tile_module *m, const char *name, size_t name_len, uint32_t num_params);

typedef struct rt_param {
    char *name;
    bool is_constexpr, has_type, do_not_specialize;
    bool is_pointer;
    uint8_t dtype; ///< ir/dtype.h; the pointee if is_pointer
    bool has_default;
    tile_arg default_arg; ///< of a run-time parameter: what takes the place of an argument
} rt_param;

/// A specialization: one compiled and loaded binary. Immutable once state is READY.
typedef struct rt_spec {
    struct rt_spec *next;
    enum { RT_SPEC_COMPILING, RT_SPEC_READY, RT_SPEC_FAILED, RT_SPEC_UNLOADED } state;
    tile_status status; ///< if FAILED, with error
    tile_error error;
    uint8_t *key; ///< the key it was compiled for, see specialize.c
    uint32_t key_len;
    const tile_aot_variant *variant; ///< compiled ahead of time: where it is from
    rt_binary binary;
    rt_loaded loaded;
    double compile_ms; ///< source to loaded function
    bool is_cached;    ///< read from disk, not compiled
} rt_spec;

/// One slot of the launch table: a key seen before and the specialization it selects.
typedef struct rt_slot {
    uint64_t hash;
    const rt_spec *spec;
    uint32_t key_len;
    uint8_t key[];
} rt_slot;

/// The launch table: open addressing, read without locks, replaced whole when it grows. Old tables
/// stay alive until the kernel goes, since a reader may still be in them.
typedef struct rt_table {
    struct rt_table *older;
    uint32_t capacity, count; ///< capacity is a power of two
    _Atomic(rt_slot *) slots[];
} rt_table;

struct tile_kernel {
    tile_module *module;
    char *name;
    rt_param *params;
    uint32_t num_params;
    tile_config *configs; ///< each with its constexprs, names and strings
    uint32_t num_configs;
    _Atomic(rt_table *) table;
    pthread_mutex_t lock; ///< guards specs and insertion into the table
    pthread_cond_t compiled;
    rt_spec *specs;
    const tile_aot_kernel *aot; ///< compiled ahead of time; NULL: from the module's source
};

struct tile_module {
    tile_device *device;
    char *name; ///< what messages call the source; its folder is where imports are looked up
    char *source;
    size_t source_len;
    rt_hash source_hash; ///< of this file and all that it imports
    tile_kernel **kernels;
    uint32_t num_kernels;
    const tile_aot_bundle *bundle; ///< or NULL
    tile_module *next;             ///< of the device's bundles
};

// --- specialize.c: arguments to key and parameter bytes
enum { RT_MAX_KEY = 2048 };

/// A launch's arguments after binding: the key, and storage for the binary's parameters.
typedef struct rt_bound {
    uint32_t key_len;
    uint32_t num_params; ///< of the binary
    uint8_t param_bytes[RT_MAX_PARAMS];
    void *params[RT_MAX_PARAMS];
    uint64_t storage[RT_MAX_PARAMS];
    const tile_arg *args[RT_MAX_PARAMS]; ///< per kernel parameter; NULL: default
    uint8_t key[RT_MAX_KEY];
} rt_bound;

/// Matches arguments to parameters and builds the key: options, then per parameter its type, its
/// divisibility class (and being 1), or its constexpr value. No allocation.
tile_status rt_bind(const tile_kernel *k, const tile_arg *args, uint32_t num_args,
                    const tile_launch_options *options, rt_bound *out, tile_error *error);
/// The argument as the value of a constexpr parameter, which takes plain numbers as well: launches
/// then read as in Triton. False if it is no such value (a pointer, an unknown kind or type).
bool rt_as_constexpr(const tile_arg *arg, tile_arg *out);
/// True if the keys differ in divisibility classes at most.
bool rt_key_similar(const tile_kernel *k, const uint8_t *a, uint32_t a_len, const uint8_t *b,
                    uint32_t b_len);
/// True if the specialization's binary serves `key` as well: similar, and no difference in a class
/// that its code relies on or could gain from.
bool rt_key_served_by(const tile_kernel *k, const rt_spec *spec, const uint8_t *key,
                      uint32_t key_len);
/// True if code compiled ahead of time for `spec` is right for `key`: what it relies on holds, and
/// options that are not 0 agree. Otherwise *param is what stands against it (num_params: options).
bool rt_key_allows(const tile_kernel *k, const rt_spec *spec, const uint8_t *key, uint32_t *param);
/// Options (NULL: none) read through options->size and checked. Defaults are filled in, but not for
/// a kernel compiled ahead of time.
tile_status rt_options(const tile_kernel *k, const tile_launch_options *options,
                       tile_launch_options *out, tile_error *error);

/// The divisibility class of a value as a power of two's exponent, 0 to 4 (divisible by 16).
static inline unsigned rt_divisibility_log2(uint64_t v) {
    unsigned z = v ? (unsigned)__builtin_ctzll(v) : 4;
    return z < 4 ? z : 4;
}
enum { RT_KEY_ONE = 0x80 }; ///< in a class byte: the integer is 1

/// The entry of parameter i in a key: its tag and what follows.
const uint8_t *rt_key_entry(const uint8_t *key, uint32_t param);
/// The class byte of parameter i in a key (0 if it has none).
uint8_t rt_key_class(const uint8_t *key, uint32_t param);
/// Clears all divisibility classes of a key: similar keys become equal.
void rt_key_drop_classes(uint8_t *key, uint32_t num_params);

// --- launch.c
/// The specialization that these arguments select, compiled and loaded, with the options read and
/// the arguments bound.
tile_status rt_prepare(tile_kernel *kernel, const tile_arg *args, uint32_t num_args,
                       const tile_launch_options *options, tile_launch_options *o, rt_bound *bound,
                       const rt_spec **out, tile_error *error);
/// Launches it. `programs` as in tile_launch_options; params[i] points to the i-th parameter.
tile_status rt_launch(tile_device *d, const rt_spec *spec, const uint32_t programs[3],
                      void **params, tile_stream *stream, bool cooperative, tile_error *error);

/// True if nothing is being captured on the stream of these options; an error otherwise.
tile_status rt_may_load(const tile_kernel *k, const tile_launch_options *options,
                        tile_error *error);

// --- aot.c
/// The specialization that serves a key, loaded. Called with the kernel locked; gives the lock up
/// while it loads.
tile_status rt_aot_get_spec(tile_kernel *k, const rt_bound *bound,
                            const tile_launch_options *options, const rt_spec **out,
                            tile_error *error);

// --- cache.c: binaries on disk
/// Reads where and how large the cache is: NULL and 0 mean what the environment says.
tile_status rt_cache_open(rt_cache *c, const char *directory, uint64_t max_bytes,
                          tile_error *error);
void rt_cache_close(rt_cache *c);
/// Looks for a binary that serves the arguments. Fills the binary of *out, and its key with the one
/// that it was compiled for (malloc'ed); whatever is wrong with the cache, it is not found.
bool rt_cache_find(const tile_kernel *k, const rt_bound *bound, rt_spec *out);
/// Keeps a binary that has been compiled for the arguments, if that can be.
void rt_cache_put(const tile_kernel *k, const rt_bound *bound, const rt_binary *b);
/// An entry's bytes (malloc'ed). `identity` is what all variants of the binary have in common.
uint8_t *rt_entry_encode(const rt_binary *b, uint32_t num_params, sv identity, sv key,
                         size_t *out_size);
/// Writes the entry's size and checksum into it.
void rt_entry_seal(uint8_t *data, size_t size);
/// Reads an entry back. False, with nothing to free, if any byte of it is not as it was written, or
/// it is of another identity.
bool rt_entry_decode(const uint8_t *data, size_t size, uint32_t num_params, sv identity,
                     rt_spec *out);

// --- compile.c: the one file that sees frontend and codegen
/// Reads and checks a module's source and fills its kernels (names and parameters).
tile_status rt_module_scan(tile_module *m, tile_error *error);
/// Compiles one specialization.
tile_status rt_compile(const tile_kernel *k, const rt_bound *bound,
                       const tile_launch_options *options, rt_binary *out, tile_error *error);
/// What compiles and assembles, for a cache's key: LLVM's version, the assembler and what chooses
/// among passes. malloc'ed; NULL without memory.
char *rt_compiler_identity(void);
/// dtype of ir/dtype.h by name, or DT_VOID (0).
uint8_t rt_dtype_from_name(const char *name);

#endif
