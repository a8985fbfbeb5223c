// Bound launches: one specialization with its parameters laid out as the driver takes them, so that
// a launch is a few checks and the driver's call. What the code relies on (alignment of pointers,
// divisibility of integers, integers that are 1) is checked in every value that a launch brings.
#include "runtime/rt.h"
#include "ir/dtype.h"

#include <stdlib.h>
#include <string.h>

/// What a value must be for the bound code to be right: bits of `mask` clear, or equal to 1.
typedef struct bound_check {
    uint16_t at;    ///< the value, among those of a launch
    uint16_t param; ///< of the kernel
    uint8_t bytes;
    bool is_one;
    uint64_t mask;
} bound_check;

struct tile_bound {
    tile_kernel *kernel;
    const rt_spec *spec;
    uint32_t grid[3];
    bool cooperative;
    uint32_t num_checks, num_values;
    bound_check *checks;
    void **values;     ///< as bound
    uint64_t *storage; ///< what they point to
};

/// An integer or an address of 1 to 8 bytes, without its sign.
static inline uint64_t read_value(const void *p, unsigned bytes) {
    switch (bytes) {
    case 8:
        return *(const uint64_t *)p;
    case 4:
        return *(const uint32_t *)p;
    case 2:
        return *(const uint16_t *)p;
    default:
        return *(const uint8_t *)p;
    }
}

/// The checks that a launch of this specialization needs, from its key: which parameter has which
/// type, and is 1.
static void list_checks(tile_bound *b, const rt_bound *bound) {
    const tile_kernel *k = b->kernel;
    const rt_spec *s = b->spec;
    uint16_t at = 0;
    for (uint32_t i = 0; i < k->num_params; i++) {
        const uint8_t *entry = rt_key_entry(s->key, i);
        if (entry[0] != 'P' && entry[0] != 'S')
            continue; // no parameter of the binary
        bound_check c = {at, (uint16_t)i, s->binary.param_bytes[at], entry[2] & RT_KEY_ONE,
                         (1ull << s->binary.relied_log2[i]) - 1};
        at++;
        if (c.is_one || c.mask)
            b->checks[b->num_checks++] = c;
    }
    b->num_values = bound->num_params;
    for (uint32_t i = 0; i < bound->num_params; i++) {
        b->storage[i] = bound->storage[i];
        b->values[i] = &b->storage[i];
    }
}

void tile_bound_destroy(tile_bound *bound) {
    if (!bound)
        return;
    free(bound->checks);
    free(bound->values);
    free(bound->storage);
    free(bound);
}

tile_status tile_bind(tile_kernel *kernel, const tile_arg *args, uint32_t num_args,
                      const tile_launch_options *options, tile_bound **out_bound,
                      tile_error *error) {
    if (!out_bound)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "out_bound is NULL");
    *out_bound = NULL;
    rt_bound bound;
    tile_launch_options o;
    const rt_spec *spec;
    tile_status status = rt_prepare(kernel, args, num_args, options, &o, &bound, &spec, error);
    if (status)
        return status;
    tile_bound *b = calloc(1, sizeof *b);
    uint32_t n = bound.num_params + 1; // calloc(0) may be NULL
    if (b)
        *b = (tile_bound){.kernel = kernel,
                          .spec = spec,
                          .checks = calloc(n, sizeof *b->checks),
                          .values = calloc(n, sizeof *b->values),
                          .storage = calloc(n, sizeof *b->storage)};
    if (!b || !b->checks || !b->values || !b->storage) {
        tile_bound_destroy(b);
        return rt_fail(error, TILE_ERROR_OUT_OF_MEMORY, "out of memory");
    }
    memcpy(b->grid, o.grid, sizeof b->grid);
    b->cooperative = o.cooperative;
    list_checks(b, &bound);
    *out_bound = b;
    return TILE_OK;
}

static tile_status unfit(const tile_bound *b, const bound_check *c, uint64_t v, tile_error *error) {
    const char *name = b->kernel->params[c->param].name;
    if (c->is_one)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT,
                       "kernel '%s' is bound with '%s' = 1, which its code has built in; bind it "
                       "again for another value",
                       b->kernel->name, name);
    return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT,
                   "kernel '%s': the bound code relies on '%s' being divisible by %llu, but it is "
                   "%lld; bind it again for such a value",
                   b->kernel->name, name, (unsigned long long)c->mask + 1, (long long)v);
}

tile_status tile_bound_launch(const tile_bound *bound, const uint32_t *grid, void *const *values,
                              tile_stream *stream, tile_error *error) {
    if (!bound)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "bound is NULL");
    tile_device *d = bound->kernel->module->device;
    if (stream && stream->device != d)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "the stream belongs to another device");
    if (values) {
        for (uint32_t i = 0; i < bound->num_checks; i++) {
            const bound_check *c = &bound->checks[i];
            uint64_t v = read_value(values[c->at], c->bytes);
            if (c->is_one ? v != 1 : (v & c->mask) != 0)
                return unfit(bound, c, v, error);
        }
    }
    return rt_launch(d, bound->spec, grid ? grid : bound->grid,
                     values ? (void **)values : bound->values, stream, bound->cooperative, error);
}
