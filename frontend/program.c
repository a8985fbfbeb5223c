// Reading a program: the main file, the files it imports, the standard library, and what every
// top-level name stands for. A .py file is read like a .tile file, except that host code around
// its kernels (torch, helper functions without @triton.jit) is passed over in silence and becomes
// an error only where a kernel uses it. signature.c reads parameters, kernels.c finds the kernels.
#include "frontend/lower.h"
#include "frontend/program.h"

#include <stdio.h>

enum {
    MAX_FILES = 256,
    MAX_IMPORT_CHAIN = 32,
};

static const char stdlib_text[] =
#include "frontend/stdlib.inc"
    ;
static const char libdevice_text[] =
#include "frontend/libdevice.inc"
    ;

// --- Triton's modules

/// Dotted paths of the modules that kernels use and the short names that builtins.def has for them.
static const struct {
    const char *path, *canonical;
} triton_modules[] = {
    {"triton", "triton"},
    {"triton.language", "tl"},
    {"triton.language.core", "tl"},
    {"triton.language.standard", "tl"},
    {"triton.language.random", "tl"},
    {"triton.language.math", "tl.math"},
    {"triton.language.extra", "tl.extra"},
    {"triton.language.extra.cuda", "tl.extra.cuda"},
    {"triton.language.extra.libdevice", "libdevice"},
    {"triton.language.extra.cuda.libdevice", "libdevice"},
    {"triton.language.libdevice", "libdevice"},
    {"math", "math"}, // Python's
};

sv program_triton_module(sv path) {
    for (size_t i = 0; i < sizeof triton_modules / sizeof *triton_modules; i++)
        if (sv_is(path, triton_modules[i].path))
            return sv_from(triton_modules[i].canonical);
    return (sv){0};
}

sv program_triton_submodule(sv module, sv name) {
    for (size_t i = 0; i < sizeof triton_modules / sizeof *triton_modules; i++) {
        if (!sv_is(module, triton_modules[i].canonical))
            continue;
        size_t len = strlen(triton_modules[i].path);
        for (size_t k = 0; k < sizeof triton_modules / sizeof *triton_modules; k++) {
            sv path = sv_from(triton_modules[k].path);
            if (path.len == len + 1 + name.len && path.data[len] == '.' &&
                memcmp(path.data, triton_modules[i].path, len) == 0 &&
                memcmp(path.data + len + 1, name.data, name.len) == 0)
                return sv_from(triton_modules[k].canonical);
        }
    }
    return (sv){0};
}

// --- names

const symbol *program_find(const fe_module *m, sv name) {
    uint32_t i;
    return name_map_get(&m->symbol_of, name, &i) ? &m->symbols.data[i] : NULL;
}

const symbol *program_find_before(const fe_module *m, sv name, uint32_t place) {
    uint32_t i;
    if (!name_map_get(&m->symbol_of, name, &i))
        return NULL;
    for (i++; i-- > 0;) // as a rule the first one looked at
        if (m->symbols.data[i].range.begin < place && sv_equal(m->symbols.data[i].name, name))
            return &m->symbols.data[i];
    return NULL;
}

const symbol *program_resolve(const fe_module **m, sv name) {
    for (unsigned hops = 0; hops < MAX_IMPORT_CHAIN; hops++) {
        const symbol *s = program_find(*m, name);
        if (!s || s->kind != SYMBOL_IMPORT)
            return s;
        *m = s->from_module;
        name = s->member;
    }
    return NULL;
}

const fe_module *program_module_of_file(const fe_program *p, uint32_t file) {
    for (uint32_t i = 0; i < p->modules.len; i++)
        if (p->modules.data[i]->file == file)
            return p->modules.data[i];
    return NULL;
}

// --- files

static bool ends_with(sv s, const char *suffix) {
    size_t n = strlen(suffix);
    return s.len >= n && memcmp(s.data + s.len - n, suffix, n) == 0;
}

/// Reads a whole file into the arena; false if it cannot be opened or is too large.
static bool read_file(arena *a, const char *path, sv *out) {
    FILE *f = fopen(path, "rb");
    if (!f)
        return false;
    strbuf text;
    strbuf_init(&text, a);
    strbuf_puts(&text, "");
    char chunk[4096];
    size_t n;
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0 && text.len <= SOURCE_MAX_BYTES)
        strbuf_put(&text, (sv){chunk, n});
    bool ok = !ferror(f) && text.len <= SOURCE_MAX_BYTES;
    fclose(f);
    *out = strbuf_view(&text);
    return ok;
}

static const fe_module *read_module(fe_program *p, uint32_t file, bool is_library);

/// The module in `path`, read now or before; NULL if there is no such file.
static const fe_module *open_module(fe_program *p, const char *path) {
    for (uint32_t i = 0; i < p->modules.len; i++)
        if (strcmp(diag_file_path(p->diag, p->modules.data[i]->file), path) == 0)
            return p->modules.data[i];
    sv text;
    if (p->modules.len >= MAX_FILES || !read_file(p->arena, path, &text))
        return NULL;
    return read_module(p, diag_add_file(p->diag, path, text), false);
}

/// Looks for `stem` with .tile, then .py, in the folder `dir` (with its final '/').
static const fe_module *open_in_folder(fe_program *p, sv dir, sv stem) {
    static const char *const suffixes[] = {".tile", ".py"};
    for (unsigned i = 0; i < 2; i++) {
        const fe_module *m = open_module(p, sv_format(p->arena, "%" SV_FMT "%" SV_FMT "%s",
                                                      SV_ARG(dir), SV_ARG(stem), suffixes[i])
                                                .data);
        if (m)
            return m;
    }
    return NULL;
}

/// Finds the file of `from <dots><path> import`: beside the importing file (one folder up for each
/// dot after the first), then in the -I folders.
static const fe_module *find_import(fe_program *p, const fe_module *from, const ast_import *im) {
    sv own = sv_from(diag_file_path(p->diag, from->file));
    while (own.len && own.data[own.len - 1] != '/')
        own.len--;
    strbuf dir, stem;
    strbuf_init(&dir, p->arena);
    strbuf_put(&dir, own);
    for (unsigned i = 1; i < im->dots; i++)
        strbuf_puts(&dir, "../");
    strbuf_init(&stem, p->arena);
    for (size_t i = 0; i < im->path.len; i++)
        strbuf_putc(&stem, im->path.data[i] == '.' ? '/' : im->path.data[i]);
    if (!stem.len)
        return NULL;
    const fe_module *m = open_in_folder(p, strbuf_view(&dir), strbuf_view(&stem));
    for (uint32_t i = 0; !m && i < p->options->num_include_dirs; i++) {
        sv folder = sv_format(p->arena, "%s/", p->options->include_dirs[i]);
        m = open_in_folder(p, folder, strbuf_view(&stem));
    }
    return m;
}

// --- imports

static void add_symbol(fe_program *p, fe_module *m, symbol s) {
    name_map_set(&m->symbol_of, s.name, m->symbols.len);
    VEC_PUSH(p->arena, m->symbols, s);
}

static sv first_component(sv path) {
    for (size_t i = 0; i < path.len; i++)
        if (path.data[i] == '.')
            return (sv){path.data, i};
    return path;
}

static bool is_triton_path(sv path) { return sv_is(first_component(path), "triton"); }

/// import a.b [as c]
static void import_module(fe_program *p, fe_module *m, const ast_import *im) {
    symbol s = {.kind = SYMBOL_FOREIGN, .path = im->path, .range = im->range};
    s.name = im->alias.len ? im->alias : first_component(im->path);
    sv target = im->alias.len ? im->path : first_component(im->path);
    sv canonical = program_triton_module(target);
    if (canonical.len) {
        s.kind = SYMBOL_TRITON;
        s.path = canonical;
    } else if (!m->is_python) {
        diag_error(p->diag, im->range,
                   "cannot import '%" SV_FMT "': kernels can use Triton's modules, and functions "
                   "of other files by 'from .file import name'",
                   SV_ARG(im->path));
    }
    add_symbol(p, m, s);
}

/// Whether a module of Triton's has the name: a built-in, even one that is not supported yet, a
/// dtype, or what stands in annotations and decorators.
static bool has_member(sv module, sv name) {
    static const char *const others[] = {"const", "tensor", "PropagateNan", "dtype",
                                         "tensor_descriptor"};
    static const char *const decorators[] = {"jit", "autotune", "heuristics", "Config",
                                             "constexpr_function"};
    bool is_tl = sv_is(module, "tl");
    value v;
    if (sv_is(module, "math"))
        return python_math_member(name, &v);
    if (builtin_find(module, name) || (is_tl && dtype_from_name(name) != DT_VOID))
        return true;
    for (unsigned i = 0; i < 5; i++)
        if (is_tl && sv_is(name, others[i]))
            return true;
    for (unsigned i = 0; i < 5; i++)
        if (sv_is(module, "triton") && sv_is(name, decorators[i]))
            return true;
    return false;
}

/// from triton... import name [as alias]
static void import_triton_member(fe_program *p, fe_module *m, const ast_import *im) {
    sv module = program_triton_module(im->path);
    symbol s = {.kind = SYMBOL_TRITON, .path = module, .member = im->name, .range = im->range};
    s.name = im->alias.len ? im->alias : im->name;
    if (!module.len) { // of Triton's, but no module that kernels use: triton.runtime ...
        s.kind = SYMBOL_FOREIGN;
        s.path = im->path;
        if (!m->is_python)
            diag_error(p->diag, im->range, "'%" SV_FMT "' is not a module that kernels can use",
                       SV_ARG(im->path));
    } else if (sv_is(im->name, "*")) {
        return; // built-ins are known by their bare names anyway
    } else {
        sv sub = program_triton_submodule(module, im->name);
        if (sub.len) {
            s.path = sub;
            s.member = (sv){0};
        } else if (!m->is_python && !has_member(module, im->name)) {
            diag_error(p->diag, im->range, "'%" SV_FMT "' has no member '%" SV_FMT "'",
                       SV_ARG(im->path), SV_ARG(im->name));
        }
    }
    add_symbol(p, m, s);
}

/// A module of Triton's that a project passes on under the name it always has:
/// `from project.utils import tl, triton`.
static sv passed_on(sv name) {
    static const struct {
        const char *name, *canonical;
    } known[] = {
        {"triton", "triton"}, {"tl", "tl"}, {"libdevice", "libdevice"}, {"tldevice", "libdevice"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (sv_is(name, known[i].name))
            return sv_from(known[i].canonical);
    return (sv){0};
}

/// from .file import name [as alias]
static void import_from_file(fe_program *p, fe_module *m, const ast_import *im) {
    const fe_module *from = im->path.len ? find_import(p, m, im) : NULL;
    symbol s = {.kind = SYMBOL_FOREIGN, .path = im->path, .range = im->range};
    s.name = im->alias.len ? im->alias : im->name;
    if (!from && passed_on(im->name).len) {
        s.kind = SYMBOL_TRITON;
        s.path = passed_on(im->name);
        add_symbol(p, m, s);
        return;
    }
    if (!from) {
        if (!im->path.len)
            s.problem = "a function is imported by 'from .file import name'";
        else if (!m->is_python || im->dots)
            s.problem = sv_format(p->arena,
                                  "cannot find '%" SV_FMT ".tile' or '%" SV_FMT
                                  ".py' beside this file or in a folder given by -I",
                                  SV_ARG(im->path), SV_ARG(im->path))
                            .data;
        if (!m->is_python) // of a Python file it may be host code that imports this
            diag_error(p->diag, im->range, "%s", s.problem);
        if (!sv_is(im->name, "*"))
            add_symbol(p, m, s);
        return;
    }
    if (sv_is(im->name, "*")) {
        for (uint32_t i = 0; i < from->symbols.len; i++) {
            sv name = from->symbols.data[i].name;
            s = (symbol){.kind = SYMBOL_IMPORT,
                         .name = name,
                         .member = name,
                         .from_module = from,
                         .range = im->range};
            add_symbol(p, m, s);
        }
        return;
    }
    s.kind = SYMBOL_IMPORT;
    s.member = im->name;
    s.from_module = from;
    add_symbol(p, m, s);
}

static void add_import(fe_program *p, fe_module *m, const ast_import *im) {
    if (sv_is(im->path, "__future__"))
        return;
    if (!im->name.len)
        import_module(p, m, im);
    else if (!im->dots && (is_triton_path(im->path) || sv_is(im->path, "math")))
        import_triton_member(p, m, im);
    else
        import_from_file(p, m, im);
}

static void check_import(fe_program *p, const fe_module *importer, symbol *s) {
    const fe_module *m = s->from_module;
    if (s->kind != SYMBOL_IMPORT || program_resolve(&m, s->member))
        return;
    if (passed_on(s->member).len) { // found, but how it gets there is not understood
        s->kind = SYMBOL_TRITON;
        s->path = passed_on(s->member);
        s->member = (sv){0};
        return;
    }
    s->problem = sv_format(p->arena, "'%s' has no function or constant '%" SV_FMT "'",
                           diag_file_path(p->diag, s->from_module->file), SV_ARG(s->member))
                     .data;
    if (!importer->is_python)
        diag_error(p->diag, s->range, "%s", s->problem);
    s->kind = SYMBOL_FOREIGN;
}

/// Names imported from other files exist there. Checked once all is read: files may import each
/// other.
static void check_imports(fe_program *p) {
    for (uint32_t i = 0; i < p->modules.len; i++)
        for (uint32_t k = 0; k < p->modules.data[i]->symbols.len; k++)
            check_import(p, p->modules.data[i], &p->modules.data[i]->symbols.data[k]);
}

// --- modules

/// Whether a function of the module is kernel code: in a .py file that marks its kernels with
/// @triton.jit, what is not marked is host code.
static bool is_host_function(const fe_module *m, bool has_jit, const ast_func *f) {
    return m->is_python && has_jit && !program_is_jit(f);
}

static const fe_module *read_module(fe_program *p, uint32_t file, bool is_library) {
    fe_module *m = ARENA_NEW(p->arena, fe_module);
    m->symbol_of.arena = p->arena;
    m->file = file;
    m->is_library = is_library;
    m->is_python = ends_with(sv_from(diag_file_path(p->diag, file)), ".py");
    if (!is_library)
        VEC_PUSH(p->arena, p->modules, m);
    m->ast = ast_parse(p->arena, p->diag, file, m->is_python);
    bool has_jit = false;
    for (uint32_t i = 0; i < m->ast->num_items; i++)
        has_jit |= m->ast->items[i].kind == ITEM_FUNC && program_is_jit(m->ast->items[i].func);
    for (uint32_t i = 0; i < m->ast->num_items; i++) {
        const ast_item *item = &m->ast->items[i];
        if (item->kind == ITEM_IMPORT) {
            add_import(p, m, item->import);
        } else if (item->kind == ITEM_GLOBAL) {
            add_symbol(p, m,
                       (symbol){.kind = SYMBOL_GLOBAL,
                                .name = item->global->name,
                                .global = item->global,
                                .range = item->global->range});
        } else if (!is_host_function(m, has_jit, item->func)) {
            add_symbol(p, m,
                       (symbol){.kind = SYMBOL_FUNC,
                                .name = item->func->name,
                                .func = item->func,
                                .range = item->func->range});
        }
    }
    return m;
}

static void read_library(fe_program *p, const char *path, sv text) {
    const fe_module *m = read_module(p, diag_add_file(p->diag, path, text), true);
    VEC_PUSH(p->arena, p->libraries, m);
}

fe_program *fe_load(arena *a, diag *d, uint32_t file, const fe_options *options) {
    static const fe_options no_options;
    uint32_t errors = diag_error_count(d);
    fe_program *p = ARENA_NEW(a, fe_program);
    p->arena = a;
    p->diag = d;
    p->options = options ? options : &no_options;
    read_module(p, file, false);
    read_library(p, "<standard library>", (sv){stdlib_text, sizeof stdlib_text - 1});
    bool needs_libdevice = false;
    for (uint32_t i = 0; i < p->modules.len; i++)
        needs_libdevice |= builtin_any_of_libdevice(&p->modules.data[i]->ast->names);
    if (needs_libdevice)
        read_library(p, "<libdevice>", (sv){libdevice_text, sizeof libdevice_text - 1});
    check_imports(p);
    program_find_kernels(p);
    return diag_error_count(d) == errors ? p : NULL;
}

uint32_t fe_kernel_count(const fe_program *p) { return p->kernels.len; }

const fe_kernel *fe_get_kernel(const fe_program *p, uint32_t index) {
    return index < p->kernels.len ? &p->functions.data[p->kernels.data[index]] : NULL;
}

const fe_kernel *fe_find_kernel(const fe_program *p, sv name) {
    for (uint32_t i = p->functions.len; i-- > 0;)
        if (sv_equal(p->functions.data[i].name, name))
            return &p->functions.data[i];
    return NULL;
}

const ast_module *fe_get_ast(const fe_program *p) { return p->modules.data[0]->ast; }

uint32_t fe_file_count(const fe_program *p) { return p->modules.len; }

const char *fe_file_path(const fe_program *p, uint32_t index) {
    return index < p->modules.len ? diag_file_path(p->diag, p->modules.data[index]->file) : NULL;
}
