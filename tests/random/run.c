// See run.h. Every buffer lies between guard zones, and all of it is compared: bit by bit, except
// that a NaN equals any NaN and the results of functions have a tolerance.
#include "run.h"
#include "rng.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GUARD = 256, GUARD_BYTE = 0xC3, MAX_ARGS = MAX_BUFFERS + 8 };

const char *const outcome_texts[] = {
#define X(id, text) text,
    OUTCOMES(X)
#undef X
};

static const char *const order_names[NUM_ORDERS] = {"forward", "reverse", "random"};

// --- devices and variants

/// The device whose warps run in this order.
static tile_status open_order(runner *r, warp_order order, tile_device **out, tile_error *err) {
    warp_order at = r->is_cuda ? ORDER_FORWARD : order;
    setenv("TILE_CPU_ORDER", order_names[order], 1); // read when a device is opened
    tile_status status = r->open[at] ? TILE_OK : tile_device_open(r->device, &r->open[at], err);
    *out = r->open[at];
    return status;
}

tile_status runner_open(runner *r, const char *device, char *message, size_t size) {
    *r = (runner){.is_cuda = strncmp(device, "cuda", 4) == 0};
    snprintf(r->device, sizeof r->device, "%s", device);
    setenv("TILE_CACHE_DIR", "off", 1); // no program comes again
    setenv("TILE_CPU_THREADS", "1", 1);
    setenv("TILE_CPU_TIMEOUT", "20", 0);
    tile_error err = {0};
    tile_device *dev;
    tile_status status = open_order(r, ORDER_FORWARD, &dev, &err);
    if (status)
        snprintf(message, size, "%s", err.message);
    tile_error_clear(&err);
    return status;
}

void runner_close(runner *r) {
    for (int i = 0; i < NUM_ORDERS; i++)
        tile_device_close(r->open[i]);
    *r = (runner){0};
}

/// Which optimizations can be left out. Layout assignment is none.
static const char *const skips[] = {
    "unroll",  "fold",     "cleanup",          "cleanup2",
    "realign", "pipeline", "cleanup,cleanup2", "unroll,fold,cleanup,realign,pipeline,cleanup2"};
enum { NUM_SKIPS = sizeof skips / sizeof *skips };

static int all_variants(bool is_cuda, variant *out) {
    static const uint32_t warps[] = {1, 4, 8, 2, 16, 32};
    int n = 0;
    for (int w = 0; w < 6; w++)
        for (int o = 0; o < (is_cuda ? 1 : w < 3 ? 3 : 1); o++)
            out[n++] = (variant){warps[w], w < 3 ? (warp_order)o : ORDER_RANDOM, "", 1};
    for (int w = 0; w < 3; w++)
        for (int c = 1; c < 4; c++)
            out[n++] = (variant){warps[w], ORDER_RANDOM, "", 1u << c};
    for (int s = 0; s < NUM_SKIPS; s++)
        for (int w = 1; w < 3; w++)
            out[n++] = (variant){warps[w], ORDER_RANDOM, skips[s], 1};
    return n;
}

static void largest_tile(node **n, void *ctx) {
    uint32_t *most = ctx, size = numel((*n)->type);
    *most = size > *most ? size : *most;
}

/// Few warps with large tiles mean thousands of registers, and minutes in LLVM.
static uint32_t least_warps(const program *p) {
    uint32_t most = 1, least = 1;
    walk_nodes((program *)p, largest_tile, &most);
    while (least < 32 && least * 32 * 16 < most)
        least *= 2;
    return least;
}

int choose_variants(const program *p, bool is_cuda, bool full, variant *out) {
    rng r = {p->seed ^ 0x5eed};
    int n = 0;
    uint32_t least = least_warps(p);
    if (full) {
        n = all_variants(is_cuda, out);
    } else {
        static const uint8_t second[] = {1, 1, 1, 8, 8, 8, 2, 2, 16, 32};
        out[n++] = (variant){4, ORDER_FORWARD, "", 1};
        out[n++] = (variant){second[rng_below(&r, sizeof second)], ORDER_REVERSE, "", 1};
        bool all = rng_percent(&r, 40);
        out[n++] = (variant){1u << rng_below(&r, rng_percent(&r, 30) ? 6 : 4), ORDER_RANDOM,
                             all ? "" : skips[rng_below(&r, NUM_SKIPS)], 1};
        out[1].num_ctas = out[1].num_warps > 8 ? 1 : 1u << rng_below(&r, 2);
        out[2].num_ctas = 1u << rng_below(&r, out[2].num_warps > 4 ? 3 : 4);
    }
    for (int i = 0; i < n; i++)
        out[i].num_warps = out[i].num_warps < least ? least : out[i].num_warps;
    return n;
}

void describe_variant(const variant *v, text *out) {
    text_put(out, "num_warps %u, num_ctas %u, warps in %s order", v->num_warps, v->num_ctas,
             order_names[v->order]);
    if (*v->skip)
        text_put(out, ", without %s", v->skip);
}

// --- images of buffers

typedef struct image {
    uint8_t *bytes;
    size_t size, start; ///< where element 0 is
} image;

static image make_image(const buffer *b, const cell *data, uint32_t count) {
    size_t each = bytes_of(b->elem);
    image m = {.start = GUARD + b->shift * each};
    m.size = m.start + count * each + GUARD;
    m.bytes = malloc(m.size);
    memset(m.bytes, GUARD_BYTE, m.size);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t bits = to_bits(b->elem, data[i]);
        memcpy(m.bytes + m.start + i * each, &bits, each);
    }
    return m;
}

static bool is_close(elem t, double got, double want) {
    if (isnan(want) || isnan(got) || want == got)
        return want == got || (isnan(want) && isnan(got));
    double relative = t == T_F64 ? 1e-11 : t == T_F32 ? 2e-5 : t == T_F16 ? 0x1p-9 : 0x1p-6;
    return fabs(got - want) <= relative * fabs(want) + (t == T_F64 ? 1e-12 : 2e-6);
}

static bool is_right(const buffer *b, cell got, cell want) {
    if (!is_float(b->elem))
        return got.i == want.i;
    if (b->role == BUF_APPROX)
        return is_close(b->elem, got.f, want.f);
    return (isnan(got.f) && isnan(want.f)) || to_bits(b->elem, got) == to_bits(b->elem, want);
}

static void put_cell(elem t, cell v, char *out, size_t size) {
    if (is_float(t))
        snprintf(out, size, "%.9g", v.f);
    else if (t == T_U64)
        snprintf(out, size, "%" PRIu64, (uint64_t)v.i);
    else
        snprintf(out, size, "%" PRId64, v.i);
}

/// The first difference, or RUN_OK.
static outcome compare(const program *p, int b, const image *got, const memory *want, char *why,
                       size_t size) {
    const buffer *buf = &p->buffers[b];
    size_t each = bytes_of(buf->elem), end = got->start + want->count[b] * each;
    for (size_t i = 0; i < got->size; i++)
        if ((i < got->start || i >= end) && got->bytes[i] != GUARD_BYTE) {
            snprintf(why, size, "b%d: written %s its bounds", b, i < end ? "before" : "beyond");
            return RUN_WRONG;
        }
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < want->count[b]; i++) {
        uint64_t bits = 0;
        memcpy(&bits, got->bytes + got->start + i * each, each);
        cell v = from_bits(buf->elem, bits);
        bool right = is_right(buf, v, want->data[b][i]) && (buf->elem != T_I1 || bits <= 1);
        if (right || wrong++)
            continue;
        char a[40], e[40];
        put_cell(buf->elem, v, a, sizeof a);
        put_cell(buf->elem, want->data[b][i], e, sizeof e);
        snprintf(why, size, "b%d[%u] is %s (0x%" PRIx64 "), expected %s", b, i, a, bits, e);
    }
    if (!wrong)
        return RUN_OK;
    size_t len = strlen(why);
    snprintf(why + len, size - len, "; %u of %u differ", wrong, want->count[b]);
    return RUN_WRONG;
}

// --- a run

typedef struct session {
    tile_device *dev;
    tile_module *module;
    tile_kernel *kernel;
    tile_buffer *buffers[MAX_BUFFERS];
    image images[MAX_BUFFERS];
    tile_error err;
} session;

static void end_session(session *s) {
    for (int i = 0; i < MAX_BUFFERS; i++) {
        tile_buffer_destroy(s->buffers[i]);
        free(s->images[i].bytes);
    }
    tile_module_destroy(s->module);
    tile_error_clear(&s->err);
}

static tile_status load_source(session *s, const program *p) {
    text source = {0};
    print_program(p, &source);
    tile_status status = tile_module_load_string(s->dev, "random.tile", source.data, source.len,
                                                 &s->module, &s->err);
    free(source.data);
    return status ? status : tile_module_get_kernel(s->module, "k", &s->kernel, &s->err);
}

static tile_status upload(session *s, const program *p) {
    memory m;
    memory_fill(p, &m);
    tile_status status = TILE_OK;
    for (int i = 0; i < p->num_buffers && !status; i++) {
        if (p->buffers[i].storage != i)
            continue;
        image *im = &s->images[i];
        *im = make_image(&p->buffers[i], m.data[i], m.count[i]);
        status = tile_buffer_create(s->dev, im->size, &s->buffers[i], &s->err);
        if (!status)
            status = tile_copy_to_device(s->buffers[i], 0, im->bytes, im->size, NULL, &s->err);
    }
    memory_free(&m);
    return status;
}

static const char *const const_names[MAX_CONSTS] = {"K0", "K1"};

static bool has_clusters(tile_device *dev) {
    tile_device_info info;
    tile_device_get_info(dev, &info, NULL);
    return !info.is_cuda || strtol(info.arch + strlen("sm_"), NULL, 10) >= 90;
}

static tile_status launch(session *s, const program *p, const variant *v) {
    tile_arg args[MAX_ARGS];
    uint32_t n = 0;
    for (int i = 0; i < p->num_buffers; i++) {
        int storage = p->buffers[i].storage;
        char *base = (char *)tile_buffer_data(s->buffers[storage]) + s->images[storage].start;
        args[n++] = TILE_POINTER(base, elems[p->buffers[i].elem].name);
    }
    for (int i = 0; i < p->num_vars; i++)
        if (p->vars[i].role == ROLE_PARAM)
            args[n++] = (tile_arg){.kind = TILE_ARG_SCALAR,
                                   .dtype = elems[p->vars[i].type.elem].name,
                                   .value.i = p->vars[i].i};
    for (int i = 0; i < p->num_consts; i++)
        args[n++] = TILE_CONSTEXPR_INT(const_names[i], p->consts[i]);
    tile_launch_options o = {.size = sizeof o, .num_warps = v->num_warps};
    o.num_ctas = has_clusters(s->dev) ? v->num_ctas : 1;
    memcpy(o.grid, p->grid, sizeof o.grid);
    tile_status status = tile_launch(s->kernel, args, n, &o, &s->err);
    return status ? status : tile_synchronize(s->dev, NULL, &s->err);
}

static outcome check(session *s, const program *p, const memory *want, char *why, size_t size) {
    for (int i = 0; i < p->num_buffers; i++) {
        image *im = &s->images[i];
        if (!s->buffers[i])
            continue;
        if (tile_copy_to_host(im->bytes, s->buffers[i], 0, im->size, NULL, &s->err))
            return RUN_LAUNCH;
        outcome o = compare(p, i, im, want, why, size);
        if (o != RUN_OK)
            return o;
    }
    return RUN_OK;
}

outcome run_program(runner *r, const program *p, const memory *want, const variant *v, char *why,
                    size_t size) {
    session s = {0};
    outcome out = RUN_OK;
    *why = 0;
    setenv("TILE_SKIP_PASSES", v->skip, 1); // read by each compilation
    tile_status status = open_order(r, v->order, &s.dev, &s.err);
    if (!status)
        status = load_source(&s, p);
    if (!status)
        status = upload(&s, p);
    if (!status)
        status = launch(&s, p, v);
    if (!status)
        out = check(&s, p, want, why, size);
    if (status == TILE_ERROR_COMPILE || status == TILE_ERROR_UNSUPPORTED)
        out = strstr(s.err.message, "is too large") ? RUN_TOO_LARGE : RUN_COMPILE;
    else if (status)
        out = RUN_LAUNCH;
    if (s.err.status)
        snprintf(why, size, "%s", s.err.message);
    end_session(&s);
    return out;
}

double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
