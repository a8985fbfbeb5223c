// tilec run: makes the arguments that the command line describes, launches the kernel once on any
// device through the public interface, and prints what it changed: for trying a kernel before there
// is a host program. On cpu this is the memory checker as well.
#include "tilec/run.h"

#include "ir/dtype.h"
#include "runtime/tile.h"
#include "tilec/options.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct tensor {
    const run_arg *arg;
    uint64_t elements;
    size_t bytes;
    unsigned char *before, *after; ///< host copies
    tile_buffer *buffer;
} tensor;

typedef struct session {
    arena *arena;
    const options *o;
    tile_device *device;
    tile_module *module;
    tile_kernel *kernel;
    tensor *tensors;
    uint32_t num_tensors;
    tile_arg *args;
    tile_launch_options launch;
    tile_error error;
} session;

/// Prints what a call reported. Returns false.
static bool failed(session *s) {
    fprintf(stderr, "%s%s\n",
            s->error.log ? "" : "tilec: ", s->error.log ? s->error.log : s->error.message);
    return false;
}

static bool wrong(const char *what, sv name, const char *why) {
    fprintf(stderr, "tilec: %s '%" SV_FMT "': %s\n", what, SV_ARG(name), why);
    return false;
}

// --- elements. Integers of 64 bits are never doubles on their way in or out.

static uint64_t get_bits(const tensor *t, uint64_t i) {
    unsigned bytes = dtype_bytes(t->arg->type);
    uint64_t bits = 0;
    memcpy(&bits, t->after + i * bytes, bytes);
    return dtype_is_int(t->arg->type) ? (uint64_t)dtype_wrap_int(t->arg->type, (int64_t)bits)
                                      : bits;
}

static double get(const tensor *t, uint64_t i) {
    uint64_t bits = get_bits(t, i);
    if (dtype_is_float(t->arg->type))
        return dtype_bits_to_float(t->arg->type, bits);
    return t->arg->type == DT_U64 ? (double)bits : (double)(int64_t)bits;
}

/// Whether an element is less than another; neither is NaN.
static bool is_below(const tensor *t, uint64_t i, uint64_t j) {
    if (dtype_is_float(t->arg->type))
        return get(t, i) < get(t, j);
    return t->arg->type == DT_U64 ? get_bits(t, i) < get_bits(t, j)
                                  : (int64_t)get_bits(t, i) < (int64_t)get_bits(t, j);
}

static void put_bits(tensor *t, uint64_t i, uint64_t bits) {
    unsigned bytes = dtype_bytes(t->arg->type);
    memcpy(t->before + i * bytes, &bits, bytes);
}

/// The bits of a number; integers are cut to their type.
static uint64_t to_bits(dtype type, double v) {
    if (dtype_is_float(type))
        return dtype_float_to_bits(type, v);
    if (type == DT_I1)
        return v != 0;
    return v < 0 ? (uint64_t)(int64_t)v : (uint64_t)v;
}

/// Reads an integer: all of its digits, or 1e3 by way of a double.
static bool parse_integer(dtype type, const char *text, uint64_t *out) {
    bool is_negative = text[strspn(text, " ")] == '-';
    int base = strpbrk(text, "xX") ? 16 : 10;
    char *end;
    errno = 0;
    *out = is_negative ? (uint64_t)strtoll(text, &end, base) : strtoull(text, &end, base);
    if (end == text || *end || errno) {
        double v = strtod(text, &end);
        if (end == text || *end || v != trunc(v) || fabs(v) >= 0x1p63)
            return false;
        *out = (uint64_t)(int64_t)v;
    }
    return type == DT_I1 ? *out <= 1 : dtype_int_fits(type, (int64_t)*out, !is_negative);
}

/// Uniform in (0, 1], the same sequence on every machine (splitmix64).
static double uniform(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (double)((z ^ z >> 31) >> 11 | 1) * 0x1p-53;
}

static double draw_uniform(uint64_t *state, uint64_t i) { return (void)i, uniform(state); }
static double draw_normal(uint64_t *state, uint64_t i) {
    (void)i;
    double radius = sqrt(-2 * log(uniform(state)));
    return radius * cos(6.283185307179586 * uniform(state));
}
static double draw_index(uint64_t *state, uint64_t i) { return (void)state, (double)i; }

static const struct {
    const char *name;
    double (*draw)(uint64_t *state, uint64_t i);
} draws[] = {{"rand", draw_uniform}, {"randn", draw_normal}, {"arange", draw_index}};

static bool read_file(tensor *t, const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f)
        return wrong("cannot open", sv_from(path), strerror(errno));
    size_t n = fread(t->before, 1, t->bytes, f);
    bool whole = n == t->bytes && fgetc(f) == EOF && !ferror(f);
    int code = ferror(f) ? errno : 0;
    fclose(f);
    if (code)
        return wrong("cannot read", sv_from(path), strerror(code));
    return whole || wrong("--arg", t->arg->name, "the file has not as many bytes as the tensor");
}

/// Fills the tensor as its INIT says. Each tensor has numbers of its own, from its place.
static bool initialize(session *s, tensor *t, uint32_t place) {
    sv init = t->arg->init;
    if (!init.len)
        return true;
    if (init.data[0] == '@')
        return read_file(t, sv_format(s->arena, "%.*s", (int)init.len - 1, init.data + 1).data);
    uint64_t state = place * UINT64_C(0xd1342543de82ef95);
    for (size_t d = 0; d < sizeof draws / sizeof *draws; d++)
        if (sv_is(init, draws[d].name)) {
            for (uint64_t i = 0; i < t->elements; i++)
                put_bits(t, i, to_bits(t->arg->type, draws[d].draw(&state, i)));
            return true;
        }
    const char *text = sv_copy(s->arena, init).data;
    dtype type = t->arg->type;
    char *end;
    double v = strtod(text, &end);
    uint64_t bits;
    if (type == DT_I1 && (sv_is(init, "True") || sv_is(init, "False")))
        bits = *text == 'T';
    else if (end == text || *end)
        return wrong("--arg", t->arg->name,
                     "INIT is none of rand, randn, arange, a number and @FILE");
    else if (dtype_is_float(type))
        bits = to_bits(type, v);
    else if (!parse_integer(type, text, &bits))
        return wrong("--arg", t->arg->name, "the number is no value of the type");
    for (uint64_t i = 0; i < t->elements; i++)
        put_bits(t, i, bits);
    return true;
}

// --- arguments

static bool add_tensor(session *s, const run_arg *arg, tile_arg *out) {
    tensor *t = &s->tensors[s->num_tensors++];
    *t = (tensor){.arg = arg, .elements = 1};
    for (uint32_t i = 0; i < arg->rank; i++)
        t->elements *= (uint64_t)arg->shape[i];
    t->bytes = (size_t)t->elements * dtype_bytes(arg->type);
    if (tile_buffer_create(s->device, t->bytes, &t->buffer, &s->error)) // refuses the impossible
        return failed(s);
    t->before = malloc(t->bytes + 1);
    t->after = malloc(t->bytes + 1);
    if (!t->before || !t->after)
        return wrong("--arg", arg->name, "out of memory");
    memset(t->before, 0xff, t->bytes);
    if (!initialize(s, t, s->num_tensors))
        return false;
    if (tile_copy_to_device(t->buffer, 0, t->before, t->bytes, NULL, &s->error))
        return failed(s);
    *out = TILE_BUFFER(t->buffer, dtype_name(arg->type));
    return true;
}

/// A number is a run-time argument or a constexpr, as the parameter has it.
static tile_arg value_arg(session *s, const fe_constant *c) {
    switch (c->kind) {
    case FE_NONE:
        break;
    case FE_BOOL:
        return (tile_arg){.kind = TILE_ARG_SCALAR, .dtype = "i1", .value.i = c->i};
    case FE_INT:
        return TILE_INT(c->i);
    case FE_FLOAT:
        return TILE_FLOAT(c->f);
    case FE_STRING:
        return TILE_CONSTEXPR_STRING(NULL, sv_copy(s->arena, c->str).data);
    case FE_DTYPE:
        return TILE_CONSTEXPR_DTYPE(NULL, dtype_name(c->type));
    }
    return TILE_NONE();
}

static bool make_args(session *s) {
    const options *o = s->o;
    uint32_t n = o->args.len;
    s->args = arena_alloc(s->arena, (n + 1) * sizeof *s->args);
    s->tensors = arena_alloc(s->arena, (n + 1) * sizeof *s->tensors);
    for (uint32_t i = 0; i < n; i++) {
        const run_arg *arg = &o->args.data[i];
        if (!arg->is_tensor)
            s->args[i] = value_arg(s, &arg->value);
        else if (!add_tensor(s, arg, &s->args[i]))
            return false;
        s->args[i].name = sv_copy(s->arena, arg->name).data;
    }
    return true;
}

// --- what came of it

static void print_element(const tensor *t, uint64_t i) {
    if (!dtype_is_float(t->arg->type))
        printf(t->arg->type == DT_U64 ? " %" PRIu64 : " %" PRId64, get_bits(t, i));
    else if (isnan(get(t, i)))
        printf(" nan"); // of either sign
    else
        printf(" %.6g", get(t, i));
}

/// "y = fp32[64,1000]: 64000 of 64000 elements changed, from 1e-6 to .5, mean .001; 1 NaN"
static void summarize(const tensor *t) {
    unsigned bytes = dtype_bytes(t->arg->type);
    uint64_t changed = 0, nans = 0, infinities = 0, numbers = 0;
    uint64_t least = 0, most = 0; // where they are
    double sum = 0;
    for (uint64_t i = 0; i < t->elements; i++) {
        changed += memcmp(t->before + i * bytes, t->after + i * bytes, bytes) != 0;
        double v = get(t, i);
        nans += isnan(v);
        infinities += isinf(v) != 0;
        if (!isfinite(v))
            continue;
        least = !numbers || is_below(t, i, least) ? i : least;
        most = !numbers || is_below(t, most, i) ? i : most;
        numbers++;
        sum += v;
    }
    printf("%" SV_FMT " = %s[", SV_ARG(t->arg->name), dtype_name(t->arg->type));
    for (uint32_t i = 0; i < t->arg->rank; i++)
        printf("%s%lld", i ? "," : "", (long long)t->arg->shape[i]);
    if (!changed) {
        printf("]: unchanged\n");
        return;
    }
    printf("]: %llu of %llu changed", (unsigned long long)changed, (unsigned long long)t->elements);
    if (numbers) {
        printf("; from");
        print_element(t, least);
        printf(" to");
        print_element(t, most);
        printf(", mean %.6g", sum / (double)numbers);
    }
    if (nans)
        printf("; %llu NaN", (unsigned long long)nans);
    if (infinities)
        printf("; %llu infinite", (unsigned long long)infinities);
    printf("\n   ");
    for (uint64_t i = 0; i < t->elements && i < 8; i++)
        print_element(t, i);
    printf("%s\n", t->elements > 8 ? " ..." : "");
}

static bool save(const tensor *t) {
    FILE *f = fopen(t->arg->saved, "wb");
    bool ok = f && fwrite(t->after, 1, t->bytes, f) == t->bytes;
    if (f)
        ok &= fclose(f) == 0;
    return ok || wrong("cannot write", sv_from(t->arg->saved), strerror(errno));
}

static bool show_tensors(session *s) {
    for (uint32_t i = 0; i < s->num_tensors; i++) {
        tensor *t = &s->tensors[i];
        if (tile_copy_to_host(t->after, t->buffer, 0, t->bytes, NULL, &s->error))
            return failed(s);
        summarize(t);
        if (t->arg->saved && !save(t))
            return false;
    }
    return true;
}

static bool show_kernel(session *s) {
    tile_kernel_info info;
    tile_device_info device;
    if (tile_warmup(s->kernel, s->args, s->o->args.len, &s->launch, &info, &s->error) ||
        tile_device_get_info(s->device, &device, &s->error))
        return failed(s);
    printf("%s, compiled in %.1f ms", device.name, info.compile_ms);
    if (device.is_cuda)
        printf("; %u registers, %u bytes spilled, %u bytes shared", info.registers,
               info.spill_bytes, info.shared_bytes);
    printf("\n");
    return true;
}

static int compare_times(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/// Times further launches one by one; on a GPU with the L2 cache flushed before each.
static bool bench(session *s) {
    uint32_t n = s->o->bench;
    float *ms = arena_alloc(s->arena, n * sizeof *ms);
    tile_event *start = NULL, *end = NULL;
    tile_buffer *flush = NULL;
    tile_device_info device;
    bool ok = !tile_device_get_info(s->device, &device, &s->error) &&
              !tile_event_create(s->device, &start, &s->error) &&
              !tile_event_create(s->device, &end, &s->error) &&
              !tile_buffer_create(s->device, device.is_cuda ? 256u << 20 : 1, &flush, &s->error);
    for (uint32_t i = 0; ok && i < n; i++)
        ok = !tile_fill(flush, 0, (uint8_t)i, tile_buffer_size(flush), NULL, &s->error) &&
             !tile_event_record(start, NULL, &s->error) &&
             !tile_launch(s->kernel, s->args, s->o->args.len, &s->launch, &s->error) &&
             !tile_event_record(end, NULL, &s->error) &&
             !tile_event_elapsed(start, end, &ms[i], &s->error);
    tile_event_destroy(start);
    tile_event_destroy(end);
    tile_buffer_destroy(flush);
    if (!ok)
        return failed(s);
    qsort(ms, n, sizeof *ms, compare_times);
    printf("%.3f us, median of %u launches [%.3f %.3f]%s\n", 1e3 * (double)ms[n / 2], n,
           1e3 * (double)ms[0], 1e3 * (double)ms[n - 1],
           device.is_cuda ? ", L2 flushed before each" : "");
    return true;
}

static bool steps(session *s) {
    const options *o = s->o;
    const char *name = o->kernels.len ? o->kernels.data[0] : NULL, *path = o->files.data[0];
    s->launch = (tile_launch_options){.size = sizeof s->launch,
                                      .grid = {o->grid[0], o->grid[1], o->grid[2]},
                                      .num_warps = o->num_warps,
                                      .num_ctas = o->num_ctas,
                                      .num_stages = o->num_stages,
                                      .maxnreg = o->maxnreg,
                                      .no_asserts = o->no_asserts};
    if (tile_device_open(o->device, &s->device, &s->error) ||
        tile_module_load_file(s->device, strcmp(path, "-") ? path : "/dev/stdin", &s->module,
                              &s->error) ||
        tile_module_get_kernel(s->module, name, &s->kernel, &s->error))
        return failed(s);
    if (!make_args(s) || !show_kernel(s))
        return false;
    if (tile_launch(s->kernel, s->args, o->args.len, &s->launch, &s->error) ||
        tile_synchronize(s->device, NULL, &s->error))
        return failed(s);
    return show_tensors(s) && (!o->bench || bench(s));
}

int run_main(arena *a, int argc, char **argv) {
    options o;
    sv message = SV("");
    if (!options_parse_run(a, argc, argv, &o, &message)) {
        fprintf(stderr, "tilec run: %" SV_FMT "\n", SV_ARG(message));
        return 2;
    }
    if (o.help) {
        strbuf help;
        strbuf_init(&help, a);
        options_print_run_help(&help);
        fputs(help.data, stdout);
        return fflush(stdout) ? 1 : 0;
    }
    session s = {.arena = a, .o = &o};
    bool ok = steps(&s);
    for (uint32_t i = 0; i < s.num_tensors; i++) {
        free(s.tensors[i].before);
        free(s.tensors[i].after);
        tile_buffer_destroy(s.tensors[i].buffer);
    }
    tile_module_destroy(s.module);
    tile_device_close(s.device);
    tile_error_clear(&s.error);
    return ok && !fflush(stdout) ? 0 : 1;
}
