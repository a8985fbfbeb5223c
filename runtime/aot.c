// Kernels compiled ahead of time: a bundle's tables become a module whose kernels have all their
// specializations from the start, not loaded yet. Arguments are bound to keys, and keys looked up,
// as for any other kernel; only where a source would be compiled, the first specialization that
// serves the key is loaded instead.
#include "ir/dtype.h"
#include "runtime/rt.h"

#include "support/clock.h"

#include <stdlib.h>
#include <string.h>

// --- choosing the image, and loading it

/// What the device runs best: a cubin of its own generation, the newest that is not newer than it;
/// else, or if no cubin will do, such PTX, which the driver assembles. NULL if there is neither.
static const tile_aot_image *pick_image(const tile_aot_variant *v, const char *arch,
                                        bool may_be_cubin) {
    uint32_t sm = (uint32_t)strtoul(arch + strlen("sm_"), NULL, 10);
    const tile_aot_image *best = NULL;
    for (uint32_t i = 0; i < v->num_images; i++) {
        const tile_aot_image *image = &v->images[i];
        if (image->sm > sm || (!image->is_ptx && (!may_be_cubin || image->sm / 10 != sm / 10)))
            continue;
        if (!best || (best->is_ptx && !image->is_ptx) ||
            (best->is_ptx == image->is_ptx && image->sm > best->sm))
            best = image;
    }
    return best;
}

static tile_status no_image(const tile_kernel *k, const tile_aot_variant *v, tile_error *error) {
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < v->num_images; i++)
        least = v->images[i].sm < least ? v->images[i].sm : least;
    return rt_fail(error, TILE_ERROR_UNSUPPORTED,
                   "kernel '%s' is compiled for sm_%u and others, but not for %s (%s)", k->name,
                   least, k->module->device->info.arch, k->module->device->info.name);
}

/// The size of the parameter in the binary.
static uint8_t param_bytes(const rt_param *p) {
    return p->is_pointer ? 8 : (uint8_t)dtype_bytes((dtype)p->dtype);
}

/// A binary as the compiler would have made it.
static tile_status make_binary(const tile_kernel *k, const tile_aot_variant *v,
                               const tile_aot_image *image, rt_binary *out, tile_error *error) {
    const tile_device *d = k->module->device;
    if (v->shared_bytes > d->info.max_shared_bytes_per_block)
        return rt_fail(error, TILE_ERROR_UNSUPPORTED,
                       "kernel '%s' needs %u bytes of shared memory, %s has %u", k->name,
                       v->shared_bytes, d->info.name, d->info.max_shared_bytes_per_block);
    out->num_warps = v->num_warps;
    out->num_ctas = v->num_ctas;
    out->shared_bytes = v->shared_bytes;
    for (uint32_t i = 0; i < k->num_params; i++) {
        out->relied_log2[i] = out->useful_log2[i] = v->values[i].divisible_log2;
        if (v->values[i].kind == TILE_ARG_POINTER || v->values[i].kind == TILE_ARG_SCALAR)
            out->param_bytes[out->num_params++] = param_bytes(&k->params[i]);
    }
    out->entry = strdup(v->entry);
    char *copy = malloc(image->size_bytes);
    if (image->is_ptx)
        out->ptx = copy;
    else
        out->image = copy;
    out->image_bytes = image->is_ptx ? 0 : image->size_bytes;
    if (!out->entry || !copy)
        return rt_fail(error, TILE_ERROR_OUT_OF_MEMORY, "out of memory");
    memcpy(copy, image->data, image->size_bytes);
    return TILE_OK;
}

static tile_status load_image(const tile_kernel *k, rt_spec *s, const tile_aot_image *image,
                              tile_error *error) {
    tile_device *d = k->module->device;
    tile_status status = make_binary(k, s->variant, image, &s->binary, error);
    if (!status)
        status = d->ops->load(d, &s->binary, &s->loaded, error);
    if (status)
        rt_binary_free(&s->binary);
    return status;
}

/// Loads the image that suits the device. A cubin that the driver does not take (one older than the
/// toolkit that made it) is done without.
static tile_status load_variant(const tile_kernel *k, rt_spec *s, tile_error *error) {
    const tile_device *d = k->module->device;
    const tile_aot_image *image = pick_image(s->variant, d->info.arch, true);
    if (!image)
        return no_image(k, s->variant, error);
    double start = 1e3 * clock_seconds();
    tile_error failure = {0};
    tile_status status = load_image(k, s, image, &failure);
    const tile_aot_image *ptx = pick_image(s->variant, d->info.arch, false);
    if (status == TILE_ERROR_DRIVER && !image->is_ptx && ptx) {
        rt_log(d, TILE_LOG_WARNING,
               "kernel '%s': the driver assembles PTX instead of the cubin: %s", k->name,
               failure.message);
        tile_error_clear(&failure);
        image = ptx;
        status = load_image(k, s, image, &failure);
    }
    s->compile_ms = 1e3 * clock_seconds() - start;
    if (status)
        rt_fail_log(error, status, failure.log, "%s", failure.message);
    else
        rt_log(d, TILE_LOG_INFO, "loaded kernel '%s' from %s in %.1f ms", k->name,
               image->is_ptx ? "PTX" : "a cubin", s->compile_ms);
    tile_error_clear(&failure);
    return status;
}

/// Loads a specialization, unless another thread does. Called with the kernel locked.
static tile_status make_ready(tile_kernel *k, rt_spec *s, const tile_launch_options *options,
                              tile_error *error) {
    while (s->state == RT_SPEC_COMPILING)
        pthread_cond_wait(&k->compiled, &k->lock);
    if (s->state == RT_SPEC_READY)
        return TILE_OK;
    tile_status status = rt_may_load(k, options, error);
    if (status)
        return status;
    s->state = RT_SPEC_COMPILING;
    pthread_mutex_unlock(&k->lock);
    status = load_variant(k, s, error);
    pthread_mutex_lock(&k->lock);
    s->state = status ? RT_SPEC_UNLOADED : RT_SPEC_READY;
    pthread_cond_broadcast(&k->compiled);
    return status;
}

// --- choosing the specialization

/// No specialization serves: says what the last one, the most general, has against the arguments.
static tile_status none_serves(const tile_kernel *k, const rt_spec *last, uint32_t param,
                               tile_error *error) {
    if (param == k->num_params)
        return rt_fail(error, TILE_ERROR_NOT_FOUND,
                       "no specialization of kernel '%s' has these launch options", k->name);
    const tile_aot_value *v = &last->variant->values[param];
    bool is_typed = v->kind == TILE_ARG_POINTER || v->kind == TILE_ARG_SCALAR;
    const char *name = k->params[param].name;
    if (is_typed && v->divisible_log2)
        return rt_fail(error, TILE_ERROR_NOT_FOUND,
                       "no specialization of kernel '%s' serves these arguments: the most general "
                       "one needs '%s' to be divisible by %u",
                       k->name, name, 1u << v->divisible_log2);
    return rt_fail(error, TILE_ERROR_NOT_FOUND,
                   "no specialization of kernel '%s' serves these arguments: the most general one "
                   "has another value for '%s'",
                   k->name, name);
}

tile_status rt_aot_get_spec(tile_kernel *k, const rt_bound *bound,
                            const tile_launch_options *options, const rt_spec **out,
                            tile_error *error) {
    uint32_t param = k->num_params;
    const rt_spec *last = NULL;
    for (rt_spec *s = k->specs; s; s = s->next) {
        if (rt_key_allows(k, s, bound->key, &param)) {
            *out = s;
            return make_ready(k, s, options, error);
        }
        last = s;
    }
    return none_serves(k, last, param, error);
}

// --- bundles to modules

/// The argument that a specialization stands for.
static tile_arg variant_argument(const rt_param *p, const tile_aot_value *v) {
    tile_arg arg = {.kind = v->kind, .constexpr_kind = v->constexpr_kind};
    if (v->kind == TILE_ARG_CONSTEXPR) {
        arg.value.i = v->bits;
        if (v->constexpr_kind == TILE_CONSTEXPR_KIND_STRING)
            arg.value.string = v->text;
        arg.dtype = v->text;
    } else if (v->kind != TILE_ARG_NONE) {
        arg.dtype = dtype_name((dtype)p->dtype);
        arg.value.i = v->is_one;
    }
    return arg;
}

static bool read_type(const char *type, rt_param *out) {
    out->is_constexpr = !type;
    out->has_type = type != NULL;
    out->is_pointer = type && *type == '*';
    out->dtype = type ? rt_dtype_from_name(type + out->is_pointer) : DT_VOID;
    return !type || out->dtype != DT_VOID;
}

/// One specialization, with the key that its arguments have. Added behind `*at`.
static tile_status add_variant(tile_kernel *k, const tile_aot_variant *v, rt_spec ***at,
                               tile_error *error) {
    tile_arg args[RT_MAX_PARAMS];
    for (uint32_t i = 0; i < k->num_params; i++)
        args[i] = variant_argument(&k->params[i], &v->values[i]);
    tile_launch_options options = {.size = sizeof options,
                                   .num_warps = v->num_warps,
                                   .num_ctas = v->num_ctas,
                                   .num_stages = v->num_stages,
                                   .maxnreg = v->maxnreg,
                                   .no_asserts = v->no_asserts};
    rt_bound bound;
    tile_status status = rt_bind(k, args, k->num_params, &options, &bound, error);
    if (status)
        return status;
    rt_spec *s = calloc(1, sizeof *s);
    uint8_t *key = malloc(bound.key_len);
    if (!s || !key) {
        free(s);
        free(key);
        return rt_fail(error, TILE_ERROR_OUT_OF_MEMORY, "out of memory");
    }
    memcpy(key, bound.key, bound.key_len);
    s->state = RT_SPEC_UNLOADED;
    s->variant = v;
    s->key = key;
    s->key_len = bound.key_len;
    **at = s;
    *at = &s->next;
    return TILE_OK;
}

static tile_status add_kernel(tile_module *m, const tile_aot_kernel *from, tile_error *error) {
    if (from->num_params > RT_MAX_PARAMS || !from->num_variants)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "kernel '%s' has %s", from->name,
                       from->num_variants ? "too many parameters" : "no specialization");
    tile_kernel *k = rt_add_kernel(m, from->name, strlen(from->name), from->num_params);
    if (!k)
        return rt_fail(error, TILE_ERROR_OUT_OF_MEMORY, "out of memory");
    k->aot = from;
    for (uint32_t i = 0; i < k->num_params; i++) {
        rt_param *p = &k->params[i];
        if (!read_type(from->params[i].type, p))
            return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "no dtype is called '%s'",
                           from->params[i].type);
        p->name = strdup(from->params[i].name);
        if (!p->name)
            return rt_fail(error, TILE_ERROR_OUT_OF_MEMORY, "out of memory");
        p->has_default = from->params[i].is_fixed;
        p->default_arg = variant_argument(p, &from->variants[0].values[i]);
        if (p->has_type) // not a value, but what one is of: launches begin with it
            p->default_arg = (tile_arg){.kind = p->is_pointer ? TILE_ARG_POINTER : TILE_ARG_SCALAR,
                                        .dtype = dtype_name((dtype)p->dtype)};
    }
    rt_spec **at = &k->specs;
    tile_status status = TILE_OK;
    for (uint32_t i = 0; i < from->num_variants && !status; i++)
        status = add_variant(k, &from->variants[i], &at, error);
    return status;
}

static tile_status make_module(tile_device *d, const tile_aot_bundle *bundle, tile_module **out,
                               tile_error *error) {
    tile_module *m = calloc(1, sizeof *m);
    if (!m)
        return rt_fail(error, TILE_ERROR_OUT_OF_MEMORY, "out of memory");
    m->device = d;
    m->bundle = bundle;
    m->name = strdup(bundle->name);
    tile_status status =
        m->name ? TILE_OK : rt_fail(error, TILE_ERROR_OUT_OF_MEMORY, "out of memory");
    for (uint32_t i = 0; i < bundle->num_kernels && !status; i++)
        status = add_kernel(m, &bundle->kernels[i], error);
    if (status)
        tile_module_destroy(m);
    else
        *out = m;
    return status;
}

static tile_module *find_module(tile_device *d, const tile_aot_bundle *bundle) {
    tile_module *m = atomic_load_explicit(&d->bundles, memory_order_acquire);
    while (m && m->bundle != bundle)
        m = m->next;
    return m;
}

/// The module that the device has of the bundle, made now if there is none.
static tile_status get_module(tile_device *d, const tile_aot_bundle *bundle, tile_module **out,
                              tile_error *error) {
    *out = find_module(d, bundle);
    if (*out)
        return TILE_OK;
    if (bundle->format != TILE_AOT_FORMAT)
        return rt_fail(error, TILE_ERROR_UNSUPPORTED,
                       "'%s' was compiled ahead of time in format %u, and this runtime (%s) reads "
                       "format %d: compile it again",
                       bundle->name, bundle->format, tile_version(), TILE_AOT_FORMAT);
    if (!d->info.is_cuda)
        return rt_fail(error, TILE_ERROR_UNSUPPORTED,
                       "'%s' was compiled ahead of time for GPUs, and runs on no other device",
                       bundle->name);
    pthread_mutex_lock(&d->lock);
    tile_status status = TILE_OK;
    *out = find_module(d, bundle);
    if (!*out && !(status = make_module(d, bundle, out, error))) {
        (*out)->next = atomic_load_explicit(&d->bundles, memory_order_relaxed);
        atomic_store_explicit(&d->bundles, *out, memory_order_release);
    }
    pthread_mutex_unlock(&d->lock);
    return status;
}

// --- the calls

tile_status tile_aot_get_kernel(tile_device *device, const tile_aot_bundle *bundle, uint32_t index,
                                tile_kernel **out_kernel, tile_error *error) {
    if (!out_kernel)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "out_kernel is NULL");
    *out_kernel = NULL;
    if (!device || !bundle)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "%s is NULL",
                       device ? "bundle" : "device");
    tile_module *m;
    tile_status status = get_module(device, bundle, &m, error);
    if (status)
        return status;
    if (index >= m->num_kernels)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "'%s' has %u kernels, no %u", m->name,
                       m->num_kernels, index);
    *out_kernel = m->kernels[index];
    return TILE_OK;
}

tile_status tile_aot_load(tile_device *device, const tile_aot_bundle *bundle, uint32_t index,
                          tile_error *error) {
    tile_kernel *k;
    tile_status status = tile_aot_get_kernel(device, bundle, index, &k, error);
    if (status)
        return status;
    tile_launch_options options = {.size = sizeof options};
    pthread_mutex_lock(&k->lock);
    for (rt_spec *s = k->specs; s && !status; s = s->next)
        status = make_ready(k, s, &options, error);
    pthread_mutex_unlock(&k->lock);
    return status;
}

static int64_t read_int(dtype t, const void *v) {
    uint64_t bits = 0;
    memcpy(&bits, v, dtype_bytes(t)); // little-endian, as the GPU is
    return t == DT_I1 ? *(const bool *)v : dtype_wrap_int(t, (int64_t)bits);
}

/// Fills a launch's argument from where its value is. In place: a copy of what was just written in
/// pieces would wait for the pieces.
static inline void read_argument(const rt_param *p, bool is_optional, const void *v,
                                 tile_arg *out) {
    *out = p->default_arg; // of the right kind and type
    if (p->is_pointer) {
        memcpy(&out->value.pointer, v, sizeof out->value.pointer);
        if (is_optional && !out->value.pointer)
            out->kind = TILE_ARG_NONE;
    } else if (!p->is_constexpr && dtype_is_float((dtype)p->dtype)) {
        out->value.f = p->dtype == DT_FP64 ? *(const double *)v : (double)*(const float *)v;
    } else if (!p->is_constexpr) {
        out->value.i = read_int((dtype)p->dtype, v);
    } else if (out->constexpr_kind == TILE_CONSTEXPR_KIND_BOOL) {
        out->value.i = *(const bool *)v;
    } else if (out->constexpr_kind == TILE_CONSTEXPR_KIND_DTYPE) {
        memcpy(&out->dtype, v, sizeof out->dtype);
    } else {
        memcpy(&out->value, v, sizeof out->value);
    }
}

tile_status tile_aot_launch(tile_device *device, const tile_aot_bundle *bundle, uint32_t index,
                            const uint32_t *grid, const void *const *values, tile_stream *stream,
                            tile_error *error) {
    tile_kernel *k;
    tile_status status = tile_aot_get_kernel(device, bundle, index, &k, error);
    if (status)
        return status;
    if (!grid || !values)
        return rt_fail(error, TILE_ERROR_INVALID_ARGUMENT, "%s is NULL", grid ? "values" : "grid");
    tile_arg args[RT_MAX_PARAMS];
    uint32_t at = 0;
    for (uint32_t i = 0; i < k->num_params; i++) {
        const tile_aot_param *p = &k->aot->params[i];
        if (p->is_fixed)
            args[i] = k->params[i].default_arg;
        else
            read_argument(&k->params[i], p->is_optional, values[at++], &args[i]);
    }
    tile_launch_options options = {
        .size = sizeof options, .grid = {grid[0], grid[1], grid[2]}, .stream = stream};
    return tile_launch(k, args, k->num_params, &options, error);
}
