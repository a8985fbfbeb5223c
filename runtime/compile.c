// The one file of the runtime that sees the compiler: source and key in, binary out. Each compile
// has its own arena and diag, so any number may run at once; running out of memory jumps back here.
#include "codegen/codegen.h"
#include "frontend/frontend.h"
#include "ir/passes.h"
#include "runtime/rt.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

void rt_binary_free(rt_binary *b) {
    free(b->entry);
    free(b->ptx);
    free(b->image);
    if (b->host)
        cg_host_destroy(b->host);
    memset(b, 0, sizeof *b);
}

static bool is_tile_ir(const char *name) {
    size_t n = strlen(name);
    return n > 4 && !strcmp(name + n - 4, ".tir");
}

/// One compilation's state, set up by begin() and freed by arena_destroy.
typedef struct session {
    arena *arena;
    diag *diag;
    uint32_t file;
    fe_program *program; ///< of a .tile source
    ir_module *ir;       ///< of a .tir source
} session;

/// TILE_ERROR_COMPILE with the first message as the text and all of them as the log.
static tile_status compile_failed(const session *s, tile_error *error) {
    strbuf text;
    strbuf_init(&text, s->arena);
    diag_render_text(s->diag, &text);
    sv all = strbuf_view(&text);
    const char *end = memchr(all.data, '\n', all.len);
    size_t first = end ? (size_t)(end - all.data) : all.len;
    if (!all.len)
        return rt_fail(error, TILE_ERROR_INTERNAL, "compilation failed without a message");
    return rt_fail_log(error, TILE_ERROR_COMPILE, all.data, "%.*s", (int)first, all.data);
}

/// What the compiler warns of. It compiled all the same.
static void log_warnings(const session *s, const tile_device *d) {
    if (!d->log || !diag_warning_count(s->diag))
        return;
    strbuf text;
    strbuf_init(&text, s->arena);
    diag_render_text(s->diag, &text);
    rt_log(d, TILE_LOG_WARNING, "%s", text.data);
}

/// Reads the module's source. False if it has errors.
static bool begin(session *s, const tile_module *m, const fe_options *options) {
    s->diag = diag_create(s->arena);
    s->file = diag_add_file(s->diag, m->name, (sv){m->source, m->source_len});
    if (is_tile_ir(m->name)) {
        s->ir = ir_parse(s->arena, s->diag, s->file);
        return s->ir && !diag_error_count(s->diag);
    }
    s->program = fe_load(s->arena, s->diag, s->file, options);
    return s->program && !diag_error_count(s->diag);
}

/// The hash of all files that were read, under the names that messages and line tables give them.
static rt_hash hash_files(const diag *d) {
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    for (uint32_t i = 0; i < diag_file_count(d); i++) {
        sv text = diag_file_text(d, i);
        const char *path = diag_file_path(d, i);
        XXH3_128bits_update(&state, path, strlen(path) + 1);
        XXH3_128bits_update(&state, &(uint64_t){text.len}, 8);
        XXH3_128bits_update(&state, text.data, text.len);
    }
    XXH128_hash_t h = XXH3_128bits_digest(&state);
    return (rt_hash){h.low64, h.high64};
}

// --- scanning: what kernels does a source have

/// A run-time parameter's default, as the launch would have given it. False for a default that is
/// no run-time value.
static bool default_argument(const fe_param *p, tile_arg *out) {
    const fe_constant *c = &p->default_value;
    switch (c->kind) {
    case FE_NONE:
        *out = (tile_arg){.kind = TILE_ARG_NONE};
        return true;
    case FE_BOOL:
        *out = (tile_arg){.kind = TILE_ARG_SCALAR, .dtype = "i1", .value.i = c->i};
        if (p->has_type)
            out->kind = TILE_ARG_INT;
        return true;
    case FE_INT:
        *out = (tile_arg){.kind = TILE_ARG_INT, .value.i = c->i};
        return true;
    case FE_FLOAT:
        *out = (tile_arg){.kind = TILE_ARG_FLOAT, .value.f = c->f};
        return true;
    case FE_STRING:
    case FE_DTYPE:
        return false;
    }
    return false;
}

/// A constexpr of a config, as a launch would give it. False without memory.
static bool config_argument(sv name, const fe_constant *c, tile_arg *out) {
    static const tile_constexpr_kind kinds[] = {
        [FE_NONE] = TILE_CONSTEXPR_KIND_NONE,     [FE_BOOL] = TILE_CONSTEXPR_KIND_BOOL,
        [FE_INT] = TILE_CONSTEXPR_KIND_INT,       [FE_FLOAT] = TILE_CONSTEXPR_KIND_FLOAT,
        [FE_STRING] = TILE_CONSTEXPR_KIND_STRING,
    };
    *out = (tile_arg){.kind = TILE_ARG_CONSTEXPR, .constexpr_kind = kinds[c->kind]};
    out->name = strndup(name.data, name.len);
    if (c->kind == FE_FLOAT)
        out->value.f = c->f;
    else if (c->kind == FE_STRING)
        out->value.string = strndup(c->str.data, c->str.len);
    else
        out->value.i = c->i;
    return out->name && (c->kind != FE_STRING || out->value.string);
}

static bool add_configs(tile_kernel *k, const fe_kernel *fk) {
    k->configs = calloc(fk->num_configs ? fk->num_configs : 1, sizeof *k->configs);
    for (uint32_t i = 0; k->configs && i < fk->num_configs; i++) {
        const fe_config *c = &fk->configs[i];
        tile_arg *args = calloc(c->num_values ? c->num_values : 1, sizeof *args);
        if (!args)
            return false;
        k->configs[k->num_configs++] = (tile_config){args,          c->num_values, c->num_warps,
                                                     c->num_stages, c->num_ctas,   c->maxnreg};
        for (uint32_t j = 0; j < c->num_values; j++)
            if (!config_argument(c->names[j], &c->values[j], &args[j]))
                return false;
    }
    return k->configs;
}

static bool scan_source(tile_module *m, const session *s) {
    for (uint32_t i = 0; i < fe_kernel_count(s->program); i++) {
        const fe_kernel *fk = fe_get_kernel(s->program, i);
        tile_kernel *k = rt_add_kernel(m, fk->name.data, fk->name.len, fk->num_params);
        if (!k || !add_configs(k, fk))
            return false;
        for (uint32_t j = 0; j < fk->num_params; j++) {
            const fe_param *p = &fk->params[j];
            bool pointer = p->has_type && ir_is_pointer(p->type);
            k->params[j] = (rt_param){
                .name = strndup(p->name.data, p->name.len),
                .is_constexpr = p->is_constexpr,
                .has_type = p->has_type,
                .do_not_specialize = p->do_not_specialize,
                .is_pointer = pointer,
                .dtype = (uint8_t)(pointer ? p->type.pointee : p->type.elem),
            };
            k->params[j].has_default =
                p->is_constexpr
                    ? fk->func->params[j].default_value || p->has_default || fe_is_option(p->name)
                    : p->has_default && default_argument(p, &k->params[j].default_arg);
            if (!k->params[j].name)
                return false;
        }
    }
    return true;
}

static bool scan_tile_ir(tile_module *m, const session *s) {
    for (const ir_func *f = s->ir->first; f; f = f->next) {
        tile_kernel *k = rt_add_kernel(m, f->name.data, f->name.len, f->num_params);
        if (!k)
            return false;
        for (uint32_t j = 0; j < f->num_params; j++) {
            ir_type t = f->body->args[j]->type;
            k->params[j] = (rt_param){
                .name = strndup(f->params[j].name.data, f->params[j].name.len),
                .has_type = true,
                .do_not_specialize = true,
                .is_pointer = ir_is_pointer(t),
                .dtype = (uint8_t)(ir_is_pointer(t) ? t.pointee : t.elem),
            };
            if (!k->params[j].name)
                return false;
        }
    }
    return true;
}

/// Runs fn(s, ctx) with a fresh arena; running out of memory anywhere below comes back here. The
/// compiler reads and writes numbers by the locale of its thread, whatever the application has set,
/// so that is "C" meanwhile.
static tile_status with_session(tile_status (*fn)(session *s, void *ctx, tile_error *error),
                                void *ctx, tile_error *error) {
    session s = {.arena = arena_create()};
    if (!s.arena)
        return rt_fail(error, TILE_ERROR_OUT_OF_MEMORY, "out of memory");
    arena *a = s.arena; // unchanged since setjmp, so it is known after longjmp
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = uselocale(c_locale);
    jmp_buf recovery;
    tile_status status;
    if (setjmp(recovery)) {
        status = rt_fail(error, TILE_ERROR_OUT_OF_MEMORY, "out of memory while compiling");
    } else {
        arena_on_out_of_memory(a, &recovery);
        status = fn(&s, ctx, error);
    }
    arena_destroy(a);
    uselocale(before);
    if (c_locale)
        freelocale(c_locale);
    return status;
}

static tile_status scan(session *s, void *ctx, tile_error *error) {
    tile_module *m = ctx;
    fe_options options = {.num_warps = 4, .num_ctas = 1, .num_stages = 3};
    if (!begin(s, m, &options))
        return compile_failed(s, error);
    m->source_hash = hash_files(s->diag);
    bool ok = s->ir ? scan_tile_ir(m, s) : scan_source(m, s);
    if (!ok)
        return rt_fail(error, TILE_ERROR_OUT_OF_MEMORY, "out of memory");
    for (uint32_t i = 0; i < m->num_kernels; i++)
        if (m->kernels[i]->num_params > RT_MAX_PARAMS)
            return rt_fail(error, TILE_ERROR_UNSUPPORTED, "kernel '%s' has more than %d parameters",
                           m->kernels[i]->name, RT_MAX_PARAMS);
    return TILE_OK;
}

tile_status rt_module_scan(tile_module *m, tile_error *error) {
    return with_session(scan, m, error);
}

// --- compiling one specialization

typedef struct compile_request {
    const tile_kernel *kernel;
    const rt_bound *bound;
    const tile_launch_options *options;
    rt_binary *out;
    fe_options fe;
} compile_request;

/// The argument of a constexpr parameter, or None; rt_bind has checked it.
static fe_constant constant_from(const tile_arg *arg) {
    static const int kinds[] = {
        [TILE_CONSTEXPR_KIND_NONE] = FE_NONE,     [TILE_CONSTEXPR_KIND_BOOL] = FE_BOOL,
        [TILE_CONSTEXPR_KIND_INT] = FE_INT,       [TILE_CONSTEXPR_KIND_FLOAT] = FE_FLOAT,
        [TILE_CONSTEXPR_KIND_STRING] = FE_STRING, [TILE_CONSTEXPR_KIND_DTYPE] = FE_DTYPE,
    };
    tile_arg v;
    rt_as_constexpr(arg, &v);
    fe_constant c = {.kind = kinds[v.constexpr_kind]};
    if (c.kind == FE_FLOAT)
        c.f = v.value.f;
    else if (c.kind == FE_STRING)
        c.str = sv_from(v.value.string);
    else if (c.kind == FE_DTYPE)
        c.type = dtype_from_name(sv_from(v.dtype));
    else
        c.i = v.value.i;
    return c;
}

/// The front end's view of the arguments; `best` assumes the best divisibility everywhere.
static fe_arg *make_args(session *s, const compile_request *r, bool best, uint32_t *out_count) {
    const tile_kernel *k = r->kernel;
    fe_arg *args = ARENA_ARRAY(s->arena, fe_arg, k->num_params + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < k->num_params; i++) {
        const tile_arg *arg = r->bound->args[i];
        const rt_param *p = &k->params[i];
        if (!arg)
            continue;
        fe_arg *a = &args[n++];
        a->name = sv_from(p->name);
        if (p->is_constexpr || arg->kind == TILE_ARG_NONE) {
            a->is_constexpr = true;
            a->constant = constant_from(arg);
            continue;
        }
        uint8_t class = rt_key_class(r->bound->key, i);
        a->has_type = true;
        a->is_one = class & RT_KEY_ONE;
        a->divisibility = 1u << (class & 0x7f);
        if (best && !p->do_not_specialize && !a->is_one)
            a->divisibility = 16;
        if (arg->kind == TILE_ARG_POINTER)
            a->type = ir_pointer_type(dtype_from_name(sv_from(arg->dtype)), false);
        else if (p->has_type)
            a->type = ir_scalar_type(p->dtype);
        else if (arg->kind == TILE_ARG_INT)
            a->type = ir_scalar_type(
                arg->value.i >= INT32_MIN && arg->value.i <= INT32_MAX ? DT_I32 : DT_I64);
        else
            a->type = ir_scalar_type(
                arg->kind == TILE_ARG_FLOAT ? DT_FP32 : dtype_from_name(sv_from(arg->dtype)));
        if (!dtype_is_int(a->type.elem) && !ir_is_pointer(a->type))
            a->divisibility = 0;
    }
    *out_count = n;
    return args;
}

/// Source to tile IR with layouts. NULL after errors.
static ir_func *make_ir(session *s, const compile_request *r, bool best, ir_module **out_module) {
    ir_pass_options passes = {.skip = getenv("TILE_SKIP_PASSES")};
#ifdef TILE_VERIFY_EACH
    passes.verify_each = true;
#endif
    ir_module *m;
    ir_func *f;
    if (s->ir) {
        m = s->ir;
        for (f = m->first; f && !sv_is(f->name, r->kernel->name); f = f->next)
            ;
        m->first = m->last = f;
        f->next = NULL;
    } else {
        m = ir_module_create(s->arena, s->diag);
        uint32_t n;
        fe_arg *args = make_args(s, r, best, &n);
        const fe_kernel *k = fe_find_kernel(s->program, sv_from(r->kernel->name));
        f = fe_lower(s->program, m, k, args, n, &r->fe);
        if (!f || diag_error_count(s->diag))
            return NULL;
    }
    if (!ir_run_passes(m, &passes) || diag_error_count(s->diag))
        return NULL;
    *out_module = m;
    return f;
}

/// log2 of the divisibility each kernel parameter's code relies on; binary parameters are in
/// order, so they are matched by name.
static void read_hints(const tile_kernel *k, const ir_func *f, uint8_t *out_log2) {
    memset(out_log2, 0, RT_MAX_PARAMS);
    uint32_t at = 0;
    for (uint32_t i = 0; i < k->num_params && at < f->num_params; i++) {
        const ir_param *p = &f->params[at];
        if (!sv_is(p->name, k->params[i].name))
            continue;
        at++;
        if (p->divisibility > 1)
            out_log2[i] = (uint8_t)__builtin_ctz(p->divisibility);
    }
}

/// The architecture to compile for: the device's, or the newest we know below it.
static const cg_arch *pick_arch(const char *name) {
    const cg_arch *found = cg_find_arch(name);
    unsigned sm = (unsigned)strtoul(name + 3, NULL, 10);
    for (unsigned i = 0; !found && cg_arch_at(i); i++)
        if (cg_arch_at(i)->sm <= sm && (!cg_arch_at(i + 1) || cg_arch_at(i + 1)->sm > sm))
            found = cg_arch_at(i);
    return found;
}

/// Whether PTX goes through ptxas; else the driver assembles it.
static bool prefers_ptxas(void) {
    const char *choice = getenv("TILE_ASSEMBLER");
    return choice && !strcmp(choice, "ptxas");
}

/// Assembles by ptxas if the user says so, else leaves it to the driver.
static tile_status assemble(session *s, const tile_device *d, const cg_arch *arch, sv ptx,
                            rt_binary *out, tile_error *error) {
    if (!prefers_ptxas())
        return TILE_OK;
    unsigned version = 0;
    if (!cg_find_ptxas(s->arena, &version) || version * 100 > d->info.driver_version)
        return TILE_OK;
    sv cubin, message;
    cg_resource_usage *usage;
    uint32_t n;
    if (!cg_assemble(s->arena, ptx, arch->name, true, &cubin, &usage, &n, &message)) {
        rt_log(d, TILE_LOG_WARNING, "the driver assembles instead: %" SV_FMT, SV_ARG(message));
        return TILE_OK; // it has the last word, and the better message
    }
    out->image = malloc(cubin.len ? cubin.len : 1);
    if (!out->image)
        return rt_fail(error, TILE_ERROR_OUT_OF_MEMORY, "out of memory");
    memcpy(out->image, cubin.data, cubin.len);
    out->image_bytes = cubin.len;
    return TILE_OK;
}

static tile_status generate(session *s, const tile_device *d, ir_module *m, rt_binary *out,
                            tile_error *error) {
    cg_options options = {.line_info = true, .source_name = diag_file_path(s->diag, s->file)};
    cg_binary binary = {0};
    if (!d->info.is_cuda) {
        if (!cg_compile_host(m, &options, &binary, &out->host))
            return compile_failed(s, error);
    } else {
        options.arch = pick_arch(d->info.arch);
        if (!options.arch)
            return rt_fail(error, TILE_ERROR_UNSUPPORTED, "no support for %s", d->info.arch);
        if (m->first->num_ctas > 1 && d->info.driver_version < 12010)
            options.ptx_version = 80; // CUDA 12.0 knows no newer one
        if (!cg_compile_ptx(m, &options, &binary))
            return compile_failed(s, error);
        out->ptx = strndup(binary.ptx.data, binary.ptx.len);
        if (!out->ptx)
            return rt_fail(error, TILE_ERROR_OUT_OF_MEMORY, "out of memory");
        tile_status status = assemble(s, d, options.arch, binary.ptx, out, error);
        if (status)
            return status;
    }
    const cg_kernel *k = &binary.kernels[0];
    out->entry = strndup(k->name.data, k->name.len);
    if (!out->entry)
        return rt_fail(error, TILE_ERROR_OUT_OF_MEMORY, "out of memory");
    out->num_warps = k->num_warps;
    out->num_ctas = k->num_ctas;
    out->shared_bytes = k->shared_bytes;
    out->num_params = k->num_params;
    if (k->shared_bytes > d->info.max_shared_bytes_per_block)
        return rt_fail(error, TILE_ERROR_UNSUPPORTED,
                       "kernel '%s' needs %u bytes of shared memory, %s has %u; use smaller blocks",
                       out->entry, k->shared_bytes, d->info.name,
                       d->info.max_shared_bytes_per_block);
    return TILE_OK;
}

static tile_status compile(session *s, void *ctx, tile_error *error) {
    compile_request *r = ctx;
    const tile_kernel *k = r->kernel;
    if (!begin(s, k->module, &r->fe))
        return compile_failed(s, error);
    r->out->source = hash_files(s->diag); // an import may have changed since the module was loaded
    ir_module *m;
    ir_func *f;
    if (!s->ir) {
        // What the best hints would change, to know which differences between launches matter.
        f = make_ir(s, r, true, &m);
        if (!f)
            return compile_failed(s, error);
        read_hints(k, f, r->out->useful_log2);
    }
    f = make_ir(s, r, false, &m);
    if (!f)
        return compile_failed(s, error);
    read_hints(k, f, r->out->relied_log2);
    // What is relied on matters, also if the best hints would have it differently.
    for (uint32_t i = 0; i < k->num_params; i++)
        if (r->out->useful_log2[i] < r->out->relied_log2[i])
            r->out->useful_log2[i] = r->out->relied_log2[i];
    for (uint32_t i = 0; i < f->num_params; i++)
        r->out->param_bytes[i] = (uint8_t)dtype_bytes(f->body->args[i]->type.elem);
    log_warnings(s, k->module->device);
    return generate(s, k->module->device, m, r->out, error);
}

tile_status rt_compile(const tile_kernel *k, const rt_bound *bound,
                       const tile_launch_options *options, rt_binary *out, tile_error *error) {
    compile_request r = {
        .kernel = k,
        .bound = bound,
        .options = options,
        .out = out,
        .fe = {.num_warps = options->num_warps,
               .num_ctas = options->num_ctas,
               .num_stages = options->num_stages,
               .maxnreg = options->maxnreg,
               .no_asserts = options->no_asserts},
    };
    tile_status status = with_session(compile, &r, error);
    if (status) {
        rt_binary_free(out);
        return status;
    }
    return TILE_OK;
}

static tile_status identify(session *s, void *ctx, tile_error *error) {
    char **out = ctx;
    const char *skip = getenv("TILE_SKIP_PASSES");
    const char *ptxas = prefers_ptxas() ? cg_find_ptxas(s->arena, NULL) : NULL;
    struct stat file = {0};
    if (ptxas && stat(ptxas, &file))
        ptxas = NULL;
    // The file stands for its version, which one would have to run it to know.
    if (asprintf(out, "LLVM %s, without '%s', %s %lld %lld.%09ld", cg_llvm_version(),
                 skip ? skip : "", ptxas ? ptxas : "driver", (long long)file.st_size,
                 (long long)file.st_mtim.tv_sec, file.st_mtim.tv_nsec) >= 0)
        return TILE_OK;
    *out = NULL;
    return rt_fail(error, TILE_ERROR_OUT_OF_MEMORY, "out of memory");
}

char *rt_compiler_identity(void) {
    char *text = NULL;
    with_session(identify, &text, NULL);
    return text;
}
