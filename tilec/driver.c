// What tilec does with each file: read, parse, lower every asked-for kernel, run the passes,
// generate, write. Each file has its own arena; running out of memory comes back to compile_file.
#include "tilec/driver.h"

#include "codegen/codegen.h"
#include "ir/passes.h"
#include "runtime/tile.h"
#include "support/clock.h"
#include "tilec/cache.h"
#include "tilec/describe.h"
#include "tilec/header.h"
#include "tilec/options.h"
#include "tilec/run.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct timing {
    const char *name;
    double ms;
} timing;

typedef struct job {
    arena *arena;
    diag *diag;
    const options *o;
    fe_options fe;
    const char *path;
    uint32_t file;
    fe_program *program; ///< NULL for a .tir file
    ir_module *module;
    cg_binary binary;
    VEC(timing) times;
    double clock_ms;
} job;

/// Books the time since the last call under `name`.
static void lap(job *j, const char *name) {
    double now = 1e3 * clock_seconds();
    VEC_PUSH(j->arena, j->times, ((timing){name, now - j->clock_ms}));
    j->clock_ms = now;
}

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

/// Reports trouble that has no place in a file.
static bool complain(job *j, const char *what, const char *path, const char *why) {
    diag_error(j->diag, SRC_NONE, "%s '%s': %s", what, path, why);
    return false;
}

static bool read_input(job *j, sv *out) {
    bool is_stdin = !strcmp(j->path, "-");
    FILE *f = is_stdin ? stdin : fopen(j->path, "rb");
    if (!f)
        return complain(j, "cannot open", j->path, strerror(errno));
    strbuf text;
    strbuf_init(&text, j->arena);
    char chunk[16384];
    size_t n;
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0 && text.len <= SOURCE_MAX_BYTES)
        strbuf_put(&text, (sv){chunk, n});
    int failed = ferror(f) ? errno : 0;
    if (!is_stdin)
        fclose(f);
    if (failed)
        return complain(j, "cannot read", j->path, strerror(failed));
    if (text.len > SOURCE_MAX_BYTES)
        return complain(j, "cannot read", j->path, "it is over 16 MiB");
    *out = strbuf_view(&text);
    return true;
}

/// file.tile → ./file.ptx
static const char *default_output(arena *a, const char *path, const char *extension) {
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    if (!strcmp(base, "-"))
        base = "a.tile";
    const char *dot = strrchr(base, '.');
    size_t n = dot && dot != base ? (size_t)(dot - base) : strlen(base);
    return sv_format(a, "%.*s%s", (int)n, base, extension).data;
}

/// Extension of what goes to a file if there is no -o; NULL for what goes to standard output.
static const char *file_extension(const options *o) {
    if (o->check || o->list)
        return NULL;
    return o->emit == EMIT_PTX      ? ".ptx"
           : o->emit == EMIT_CUBIN  ? ".cubin"
           : o->emit == EMIT_HEADER ? ".tile.h"
                                    : NULL;
}

static bool put_text(sv text, FILE *f) { return fwrite(text.data, 1, text.len, f) == text.len; }

/// True if the two names are one file.
static bool is_same_file(const char *a, const char *b) {
    struct stat x, y;
    return !stat(a, &x) && !stat(b, &y) && S_ISREG(x.st_mode) && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

/// What is wrong with writing to the file: it is one that was read, or will be.
static const char *why_not_write(const job *j, const char *path) {
    for (uint32_t i = 0; i < j->o->files.len; i++)
        if (strcmp(j->o->files.data[i], "-") != 0 && is_same_file(j->o->files.data[i], path))
            return "it is an input file";
    for (uint32_t i = 1; j->program && i < fe_file_count(j->program); i++) // the first is no import
        if (is_same_file(fe_file_path(j->program, i), path))
            return "it is imported";
    return NULL;
}

static bool write_output(job *j, const char *path, sv data) {
    bool is_stdout = !strcmp(path, "-");
    const char *why_not = is_stdout ? NULL : why_not_write(j, path);
    if (why_not)
        return complain(j, "cannot write", path, why_not);
    FILE *f = is_stdout ? stdout : fopen(path, "wb");
    if (!f)
        return complain(j, "cannot write", path, strerror(errno));
    struct stat info;
    bool is_file = !is_stdout && fstat(fileno(f), &info) == 0 && S_ISREG(info.st_mode);
    bool ok = put_text(data, f);
    ok &= (is_stdout ? fflush(f) : fclose(f)) == 0;
    if (ok)
        return true;
    int code = errno;
    if (is_file)
        remove(path); // half an output is worse than none
    return complain(j, "cannot write", path, strerror(code));
}

// --- which kernels, with which arguments

static const fe_param *find_param(const fe_kernel *k, sv name) {
    for (uint32_t i = 0; i < k->num_params; i++)
        if (sv_equal(k->params[i].name, name))
            return &k->params[i];
    return NULL;
}

/// One kernel for one signature (or for its annotations alone), with the -D values.
typedef struct specialization {
    const fe_kernel *kernel;
    const signature *signature; ///< or NULL
    sv name;                    ///< of the entry
    VEC(fe_arg) args;
    fe_options options;
} specialization;

/// Adds what a signature says of a parameter, or of an option.
static bool add_argument(job *j, const fe_arg *arg, specialization *out) {
    const fe_kernel *k = out->kernel;
    sv message = SV("");
    const fe_param *p = find_param(k, arg->name);
    if (p) {
        fe_arg a = *arg;
        if (p->is_constexpr && a.has_type && !ir_is_pointer(a.type) && !a.divisibility &&
            !a.is_one) // T=fp32: the type is its value
            a = (fe_arg){.name = a.name,
                         .is_constexpr = true,
                         .constant = {.kind = FE_DTYPE, .type = a.type.elem}};
        VEC_PUSH(j->arena, out->args, a);
        return true;
    }
    src_range range = k->func ? k->func->range : SRC_NONE;
    bool is_option = arg->is_constexpr && options_set_by_name(j->arena, arg->name, &arg->constant,
                                                              &out->options, &message);
    if (!is_option)
        diag_error(j->diag, range,
                   "--signature: kernel '%" SV_FMT "' has no parameter '%" SV_FMT "'",
                   SV_ARG(k->name), SV_ARG(arg->name));
    else if (message.len)
        diag_error(j->diag, range, "--signature: %" SV_FMT, SV_ARG(message));
    return is_option && !message.len;
}

/// Entries of several specializations that would have one name get a suffix made from the signature.
static sv entry_name(job *j, const fe_kernel *k, const signature *s) {
    sv name = s && s->name.len ? s->name : k->name;
    uint32_t count = 0;
    for (uint32_t i = 0; s && i < j->o->signatures.len; i++) {
        const signature *other = &j->o->signatures.data[i];
        count += sv_equal(other->kernel, k->name) && sv_equal(other->name, s->name);
    }
    if (count < 2)
        return name;
    strbuf text;
    strbuf_init(&text, j->arena);
    for (uint32_t i = 0; i < s->num_args; i++) {
        const fe_arg *a = &s->args[i];
        strbuf_printf(&text, "%" SV_FMT "=", SV_ARG(a->name));
        if (a->has_type)
            ir_type_print(a->type, &text);
        else
            strbuf_printf(&text, "%d/%lld/%a/%" SV_FMT, (int)a->constant.kind,
                          (long long)a->constant.i, a->constant.f, SV_ARG(a->constant.str));
        strbuf_printf(&text, ":%u=%d,", a->divisibility, a->is_one);
    }
    uint32_t hash = (uint32_t)XXH3_64bits(text.data, text.len);
    return sv_format(j->arena, "%" SV_FMT "__%08x", SV_ARG(name), hash);
}

static bool make_specialization(job *j, const fe_kernel *k, const signature *s,
                                specialization *out) {
    *out = (specialization){
        .kernel = k, .signature = s, .name = entry_name(j, k, s), .options = j->fe};
    for (uint32_t i = 0; s && i < s->num_args; i++)
        if (!add_argument(j, &s->args[i], out))
            return false;
    for (uint32_t i = 0; i < j->o->definitions.len; i++) {
        const definition *d = &j->o->definitions.data[i];
        fe_arg arg = {.name = d->name, .is_constexpr = true, .constant = d->value};
        uint32_t at = 0;
        while (at < out->args.len && !sv_equal(out->args.data[at].name, d->name))
            at++;
        if (at < out->args.len)
            out->args.data[at] = arg;
        else if (find_param(k, d->name))
            VEC_PUSH(j->arena, out->args, arg);
    }
    return true;
}

/// Lowers into j->module. NULL after errors.
static ir_func *lower(job *j, const specialization *s) {
    ir_func *f = fe_lower(j->program, j->module, s->kernel, s->args.data, s->args.len, &s->options);
    if (f)
        f->name = s->name;
    return f;
}

typedef void visit_fn(job *j, const specialization *s, void *ctx);

static void visit_signatures(job *j, const fe_kernel *k, visit_fn *visit, void *ctx) {
    const options *o = j->o;
    specialization made;
    bool found = false;
    for (uint32_t i = 0; i < o->signatures.len; i++) {
        if (!sv_equal(o->signatures.data[i].kernel, k->name))
            continue;
        found = true;
        if (make_specialization(j, k, &o->signatures.data[i], &made))
            visit(j, &made, ctx);
    }
    if (!found && make_specialization(j, k, NULL, &made))
        visit(j, &made, ctx);
}

static bool is_in_signatures(const options *o, const fe_kernel *k) {
    for (uint32_t i = 0; i < o->signatures.len; i++)
        if (sv_equal(o->signatures.data[i].kernel, k->name))
            return true;
    return false;
}

/// Every kernel named on the command line must be in the file, every -D must be somebody's.
static bool check_names(job *j) {
    const options *o = j->o;
    for (uint32_t i = 0; i < o->kernels.len; i++)
        if (!fe_find_kernel(j->program, sv_from(o->kernels.data[i])))
            return complain(j, "no kernel", o->kernels.data[i],
                            "the file has no function of that name");
    for (uint32_t i = 0; i < o->signatures.len; i++)
        if (!fe_find_kernel(j->program, o->signatures.data[i].kernel))
            return complain(j, "--signature: no kernel",
                            sv_copy(j->arena, o->signatures.data[i].kernel).data,
                            "the file has no function of that name");
    for (uint32_t i = 0; i < o->definitions.len; i++) {
        bool found = false;
        for (uint32_t n = 0; n < fe_kernel_count(j->program) && !found; n++)
            found = find_param(fe_get_kernel(j->program, n), o->definitions.data[i].name);
        for (uint32_t n = 0; n < o->kernels.len && !found; n++)
            found = find_param(fe_find_kernel(j->program, sv_from(o->kernels.data[n])),
                               o->definitions.data[i].name);
        if (!found)
            return complain(j, "-D", sv_copy(j->arena, o->definitions.data[i].name).data,
                            "no kernel has a parameter of that name");
    }
    return true;
}

/// Visits every specialization that is asked for: of the kernels that are named, else of all. A
/// header has what the signatures ask for, if there are any.
static bool visit_specializations(job *j, visit_fn *visit, void *ctx) {
    const options *o = j->o;
    if (!check_names(j))
        return false;
    if (!fe_kernel_count(j->program) && !o->kernels.len)
        return !fe_explain_no_kernels(j->program) &&
               complain(j, "nothing to compile in", j->path, "it has no kernel");
    bool only_signatures = o->emit == EMIT_HEADER && o->signatures.len;
    if (o->kernels.len)
        for (uint32_t i = 0; i < o->kernels.len; i++)
            visit_signatures(j, fe_find_kernel(j->program, sv_from(o->kernels.data[i])), visit,
                             ctx);
    else
        for (uint32_t i = 0; i < fe_kernel_count(j->program) && !diag_is_full(j->diag); i++) {
            const fe_kernel *k = fe_get_kernel(j->program, i);
            if (!only_signatures || is_in_signatures(o, k))
                visit_signatures(j, k, visit, ctx);
        }
    return !diag_error_count(j->diag);
}

static void lower_one(job *j, const specialization *s, void *ctx) {
    (void)ctx;
    lower(j, s);
}

/// --list: the kernels of the file, or those that are named.
static bool list_kernels(job *j, strbuf *out) {
    if (!check_names(j))
        return false;
    bool all = !j->o->kernels.len;
    uint32_t n = all ? fe_kernel_count(j->program) : j->o->kernels.len;
    for (uint32_t i = 0; i < n; i++) {
        const fe_kernel *k = all ? fe_get_kernel(j->program, i)
                                 : fe_find_kernel(j->program, sv_from(j->o->kernels.data[i]));
        if (j->o->json)
            describe_kernel_json(j->arena, k, out);
        else
            describe_kernel(k, out);
    }
    return true;
}

// --- generating

static void on_pass(void *ctx, const char *name, double seconds) {
    job *j = ctx;
    VEC_PUSH(j->arena, j->times, ((timing){name, seconds * 1e3}));
}

static bool run_passes(job *j) {
    strbuf printed;
    strbuf_init(&printed, j->arena);
    ir_pass_options p = {
        .only = j->o->passes,
        .print_after = j->o->print_after,
        .print_to = &printed,
        .on_pass = on_pass,
        .on_pass_ctx = j,
    };
#ifdef TILE_VERIFY_EACH
    p.verify_each = true;
#endif
    bool ok = ir_run_passes(j->module, &p) && !diag_error_count(j->diag);
    put_text(strbuf_view(&printed), stderr);
    j->clock_ms = 1e3 * clock_seconds();
    return ok;
}

/// An architecture that is asked for, with "native" asked of the GPU. NULL after errors.
static const cg_arch *find_arch(job *j, const char *name) {
    tile_device_info info;
    if (!strcmp(name, "native")) {
        tile_device *d;
        tile_error error = {0};
        if (tile_device_open("cuda:0", &d, &error)) {
            complain(j, "--arch", "native", error.message);
            tile_error_clear(&error);
            return NULL;
        }
        tile_device_get_info(d, &info, NULL);
        tile_device_close(d);
        name = info.arch;
    }
    const cg_arch *arch = cg_find_arch(name);
    if (arch)
        return arch;
    strbuf known;
    strbuf_init(&known, j->arena);
    for (unsigned i = 0; cg_arch_at(i); i++)
        strbuf_printf(&known, "%s%s", i ? ", " : "", cg_arch_at(i)->name);
    complain(j, "unknown architecture", name,
             sv_format(j->arena, "expected one of %s", known.data).data);
    return NULL;
}

/// Registers that do not suffice are kept in memory, which can cost more than all else.
static void warn_of_spills(job *j, const cg_resource_usage *u) {
    const ir_func *f = j->module->first;
    while (f && !sv_is(f->name, u->kernel))
        f = f->next;
    if (f && u->spill_stores_bytes + u->spill_loads_bytes > 0)
        diag_warning(j->diag, "spills", f->range,
                     "'%s' needs more registers than a thread has: %u bytes are kept in memory "
                     "(more warps, a smaller tile or a higher maxnreg may help)",
                     u->kernel, u->stack_bytes);
}

static bool show_resources(job *j, const char *arch, sv *cubin) {
    cg_resource_usage *usage;
    uint32_t n;
    sv message = SV("");
    if (!cg_assemble(j->arena, j->binary.ptx, arch, true, cubin, &usage, &n, &message))
        return complain(j, "cannot assemble for", arch, sv_copy(j->arena, message).data);
    for (uint32_t i = 0; i < n; i++)
        warn_of_spills(j, &usage[i]);
    for (uint32_t i = 0; j->o->resource_usage && i < n; i++) {
        uint32_t shared = usage[i].static_shared_bytes;
        for (uint32_t k = 0; k < j->binary.num_kernels; k++)
            if (sv_is(j->binary.kernels[k].name, usage[i].kernel))
                shared += j->binary.kernels[k].shared_bytes;
        fprintf(
            stderr, "%s: %u registers, %u bytes spilled, %u bytes stack, %u bytes shared memory\n",
            usage[i].kernel, usage[i].registers,
            usage[i].spill_stores_bytes + usage[i].spill_loads_bytes, usage[i].stack_bytes, shared);
    }
    return true;
}

/// The module to PTX in j->binary, and through ptxas if `cubin` is not NULL.
static bool generate_for(job *j, const cg_arch *arch, sv *cubin) {
    const options *o = j->o;
    cg_options cg = {
        .arch = arch,
        .ptx_version = o->ptx_version,
        .no_fp_fusion = o->no_fp_fusion,
        .line_info = true,
        .keep_llvm_ir = o->emit == EMIT_LLVM,
        .stop_at_llvm_ir = (o->check || o->emit == EMIT_LLVM) && !o->resource_usage,
        .source_name = j->path,
    };
    if (!cg_compile_ptx(j->module, &cg, &j->binary))
        return false;
    VEC_PUSH(j->arena, j->times, ((timing){"llvm ir", j->binary.times.build_s * 1e3}));
    VEC_PUSH(j->arena, j->times, ((timing){"llvm passes", j->binary.times.passes_s * 1e3}));
    VEC_PUSH(j->arena, j->times, ((timing){"llvm codegen", j->binary.times.emit_s * 1e3}));
    j->clock_ms = 1e3 * clock_seconds();
    if (!cubin)
        return true;
    bool ok = show_resources(j, arch->name, cubin);
    lap(j, "ptxas");
    return ok;
}

static bool generate(job *j) {
    const options *o = j->o;
    const cg_arch *arch = find_arch(j, o->archs.data[o->archs.len - 1]);
    sv cubin = SV("");
    bool assemble = o->resource_usage || o->emit == EMIT_CUBIN;
    if (!arch || !generate_for(j, arch, assemble ? &cubin : NULL))
        return false;
    if (o->check)
        return true;
    strbuf json;
    strbuf_init(&json, j->arena);
    const char *to = o->output;
    switch (o->emit) {
    case EMIT_CUBIN:
        return write_output(j, to ? to : default_output(j->arena, j->path, ".cubin"), cubin);
    case EMIT_LLVM:
        return write_output(j, to ? to : "-", j->binary.llvm_ir);
    case EMIT_JSON:
        describe_binary(j->arena, j->module, &j->binary, &json);
        return write_output(j, to ? to : "-", strbuf_view(&json));
    case EMIT_PTX:
    case EMIT_TILE:
    case EMIT_AST:
    case EMIT_HEADER:
        break;
    }
    return write_output(j, to ? to : default_output(j->arena, j->path, ".ptx"), j->binary.ptx);
}

// --- a header: each specialization is a module of its own, generated for each architecture

typedef struct header_job {
    VEC(const cg_arch *) archs;
    VEC(header_variant) variants;
    bool has_ptxas;
} header_job;

static void compile_variant(job *j, const specialization *s, void *ctx) {
    header_job *h = ctx;
    j->module = ir_module_create(j->arena, j->diag);
    const ir_func *f = lower(j, s);
    lap(j, "lower");
    if (!f || !run_passes(j))
        return;
    header_variant v = {.name = s->signature && s->signature->name.len ? s->signature->name
                                                                       : s->kernel->name,
                        .kernel = s->kernel,
                        .args = s->args.data,
                        .num_args = s->args.len,
                        .options = s->options,
                        .func = f,
                        .entry = s->name};
    for (uint32_t i = 0; i < h->archs.len; i++) {
        header_image image = {.arch = h->archs.data[i], .cubin = SV("")};
        if (!generate_for(j, image.arch, h->has_ptxas ? &image.cubin : NULL))
            return;
        image.ptx = j->binary.ptx;
        v.shared_bytes = j->binary.kernels[0].shared_bytes;
        VEC_PUSH(j->arena, v.images, image);
    }
    VEC_PUSH(j->arena, h->variants, v);
}

static bool make_header(job *j, strbuf *out) {
    header_job h = {.has_ptxas = j->o->resource_usage || cg_find_ptxas(j->arena, NULL)};
    for (uint32_t i = 0; i < j->o->archs.len; i++) {
        const cg_arch *arch = find_arch(j, j->o->archs.data[i]);
        bool again = false;
        for (uint32_t n = 0; n < h.archs.len; n++)
            again |= h.archs.data[n] == arch;
        if (!arch)
            return false;
        if (!again)
            VEC_PUSH(j->arena, h.archs, arch);
    }
    if (!h.has_ptxas)
        diag_warning(j->diag, "ptx-only", SRC_NONE,
                     "no ptxas was found (TILE_PTXAS, CUDA_HOME, PATH): the header has PTX only, "
                     "which the driver assembles when a kernel is first launched");
    if (!visit_specializations(j, compile_variant, &h) ||
        !header_write(j->arena, j->diag, j->path, h.variants.data, h.variants.len, out))
        return false;
    const char *to = j->o->output;
    return write_output(j, to ? to : default_output(j->arena, j->path, ".tile.h"),
                        strbuf_view(out));
}

/// Names with spaces and '$' are escaped as make wants them.
static void put_make_name(strbuf *out, const char *name) {
    for (; *name; name++) {
        if (*name == ' ' || *name == '#')
            strbuf_putc(out, '\\');
        if (*name == '$')
            strbuf_putc(out, '$');
        strbuf_putc(out, *name);
    }
}

/// The make rule of -MD: what was written depends on every file that was read.
static bool write_dependencies(job *j) {
    const options *o = j->o;
    bool named = o->output && strcmp(o->output, "-") != 0;
    const char *extension = file_extension(o);
    const char *target =
        named ? o->output : default_output(j->arena, j->path, extension ? extension : ".ptx");
    strbuf rule;
    strbuf_init(&rule, j->arena);
    put_make_name(&rule, target);
    strbuf_puts(&rule, ":");
    uint32_t imports = j->program ? fe_file_count(j->program) : 1;
    for (uint32_t i = 0; i < imports; i++) { // the first is the file itself
        const char *path = i ? fe_file_path(j->program, i) : j->path;
        if (!i && !strcmp(path, "-"))
            continue;
        strbuf_puts(&rule, " ");
        put_make_name(&rule, path);
    }
    strbuf_puts(&rule, "\n");
    const char *to = o->depfile ? o->depfile : default_output(j->arena, j->path, ".d");
    if (strcmp(to, "-") != 0 && is_same_file(to, target))
        return complain(j, "cannot write", to, "it is the output");
    return write_output(j, to, strbuf_view(&rule));
}

/// Tile IR as text needs no frontend.
static bool read_tile_ir(job *j) {
    const char *option = options_source_only(j->o);
    if (option)
        return complain(j, option, j->path, "a .tir file is lowered already");
    j->module = ir_parse(j->arena, j->diag, j->file);
    lap(j, "parse");
    return j->module && !diag_error_count(j->diag);
}

static bool read_source(job *j) {
    j->program = fe_load(j->arena, j->diag, j->file, &j->fe);
    lap(j, "parse");
    return j->program && !diag_error_count(j->diag);
}

/// Writes to -o, else to standard output.
static bool write_text(job *j, const strbuf *text) {
    return write_output(j, j->o->output ? j->o->output : "-", strbuf_view(text));
}

static bool lower_and_generate(job *j, strbuf *out) {
    const options *o = j->o;
    if (j->program) {
        j->module = ir_module_create(j->arena, j->diag);
        bool ok = visit_specializations(j, lower_one, NULL);
        lap(j, "lower");
        if (!ok)
            return false;
    }
    if (!run_passes(j))
        return false;
    if (o->emit == EMIT_TILE) {
        ir_print_module(j->module, out, false);
        return write_text(j, out);
    }
    return generate(j);
}

/// One file from text to output. False after errors (in the diag).
static bool compile_steps(job *j) {
    const options *o = j->o;
    sv text;
    if (!read_input(j, &text))
        return false;
    j->file = diag_add_file(j->diag, strcmp(j->path, "-") ? j->path : "<stdin>", text);
    strbuf out;
    strbuf_init(&out, j->arena);
    bool is_tile_ir = ends_with(j->path, ".tir");
    if (o->emit == EMIT_AST && !is_tile_ir) {
        ast_print(ast_parse(j->arena, j->diag, j->file, ends_with(j->path, ".py")), &out);
        lap(j, "parse");
        return write_text(j, &out) && !diag_error_count(j->diag);
    }
    if (!(is_tile_ir ? read_tile_ir(j) : read_source(j)))
        return false;
    bool ok;
    if (o->list) {
        ok = list_kernels(j, &out) && write_text(j, &out);
    } else if (o->emit == EMIT_HEADER) {
        ok = make_header(j, &out);
    } else {
        ok = lower_and_generate(j, &out);
    }
    return ok && (!o->depend || write_dependencies(j));
}

static void show_times(const job *j) {
    double total = 0;
    for (uint32_t i = 0; i < j->times.len; i++) {
        fprintf(stderr, "%8.3f ms  %s\n", j->times.data[i].ms, j->times.data[i].name);
        total += j->times.data[i].ms;
    }
    fprintf(stderr, "%8.3f ms  total\n", total);
}

static void set_warnings(diag *d, const options *o) {
    for (uint32_t i = 0; i < o->warnings.len; i++) {
        sv w = o->warnings.data[i];
        if (sv_is(w, "error"))
            diag_warnings_are_errors(d);
        else if (sv_starts_with(w, "no-"))
            diag_set_warning(d, (sv){w.data + 3, w.len - 3}, false);
        else
            diag_set_warning(d, w, true);
    }
}

static bool compile_in(arena *a, const options *o, const char *path) {
    job j = {.arena = a,
             .o = o,
             .path = path,
             .diag = diag_create(a),
             .clock_ms = 1e3 * clock_seconds()};
    j.fe = (fe_options){
        .num_warps = o->num_warps,
        .num_ctas = o->num_ctas,
        .num_stages = o->num_stages,
        .maxnreg = o->maxnreg,
        .no_asserts = o->no_asserts,
        .include_dirs = o->include_dirs.data,
        .num_include_dirs = o->include_dirs.len,
    };
    set_warnings(j.diag, o);
    bool ok = compile_steps(&j) && !diag_error_count(j.diag);
    strbuf text;
    strbuf_init(&text, a);
    if (o->json)
        diag_render_json(j.diag, &text);
    else
        diag_render_text(j.diag, &text);
    put_text(strbuf_view(&text), stderr);
    if (o->time)
        show_times(&j);
    return ok;
}

static bool compile_file(const options *o, const char *path) {
    arena *a = arena_create();
    jmp_buf recovery;
    bool ok = false;
    if (!a || setjmp(recovery)) {
        fprintf(stderr, "tilec: out of memory\n");
    } else {
        arena_on_out_of_memory(a, &recovery);
        ok = compile_in(a, o, path);
    }
    arena_destroy(a);
    return ok;
}

/// Two input files must not be written to one output.
static bool check_outputs(arena *a, const options *o, sv *message) {
    const char *extension = file_extension(o);
    for (uint32_t i = 0; extension && !o->output && i < o->files.len; i++)
        for (uint32_t n = 0; n < i; n++) {
            const char *name = default_output(a, o->files.data[i], extension);
            if (strcmp(name, default_output(a, o->files.data[n], extension)) != 0)
                continue;
            *message = sv_format(a, "'%s' and '%s' would both be written to '%s'", o->files.data[n],
                                 o->files.data[i], name);
            return false;
        }
    return true;
}

static int run(arena *a, int argc, char **argv) {
    options o;
    sv message = SV("");
    if (!options_parse(a, argc, argv, &o, &message)) {
        fprintf(stderr, "tilec: %" SV_FMT "\n", SV_ARG(message));
        fprintf(stderr, "try 'tilec --help'\n");
        return 2;
    }
    if (o.help) {
        strbuf help;
        strbuf_init(&help, a);
        options_print_help(&help);
        fputs(help.data, stdout);
        return fflush(stdout) ? 1 : 0;
    }
    if (o.version) {
        printf("tilec %s (LLVM %s)\n", tile_version(), cg_llvm_version());
        return fflush(stdout) ? 1 : 0;
    }
    if (!check_outputs(a, &o, &message)) {
        fprintf(stderr, "tilec: %" SV_FMT "\n", SV_ARG(message));
        return 2;
    }
    for (uint32_t i = 0; i < o.include_dirs.len; i++) {
        struct stat info;
        if (stat(o.include_dirs.data[i], &info) || !S_ISDIR(info.st_mode)) {
            fprintf(stderr, "tilec: -I: '%s' is no folder\n", o.include_dirs.data[i]);
            return 2;
        }
    }
    bool ok = true;
    for (uint32_t i = 0; i < o.files.len; i++)
        ok &= compile_file(&o, o.files.data[i]);
    return ok ? 0 : 1;
}

int tile_compiler_main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "cache"))
        return cache_command(argc - 2, argv + 2);
    arena *a = arena_create();
    if (!a) {
        fprintf(stderr, "tilec: out of memory\n");
        return 1;
    }
    bool is_run = argc > 1 && !strcmp(argv[1], "run");
    int status = is_run ? run_main(a, argc - 1, argv + 1) : run(a, argc, argv);
    arena_destroy(a);
    return status;
}
