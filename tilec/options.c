// Reading the command line: a table of options, each with the function that takes its value. Values
// follow as `--name=value`, `--name value`, or joined to a one-letter option (-DN=4, -DN 4).
#include "tilec/options.h"

#include "codegen/codegen.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct parse {
    arena *arena;
    options *o;
    sv *message;
} parse;

typedef bool take_fn(parse *p, const char *value);

static bool wrong(parse *p, const char *option, const char *value, const char *expected) {
    *p->message = sv_format(p->arena, "%s: expected %s, got '%s'", option, expected, value);
    return false;
}

static bool take_output(parse *p, const char *v) { return p->o->output = v, true; }
static bool take_print_after(parse *p, const char *v) { return p->o->print_after = v, true; }
static bool take_passes(parse *p, const char *v) { return p->o->passes = v, true; }
static bool take_depfile(parse *p, const char *v) { return p->o->depfile = v, true; }

static bool take_kernel(parse *p, const char *v) {
    for (uint32_t i = 0; i < p->o->kernels.len; i++)
        if (!strcmp(p->o->kernels.data[i], v))
            return true; // named again
    VEC_PUSH(p->arena, p->o->kernels, v);
    return true;
}

static bool take_include(parse *p, const char *v) {
    VEC_PUSH(p->arena, p->o->include_dirs, v);
    return true;
}

/// Every class of warning that the compiler has.
static const char *const warning_names[] = {
    "static-print", "not-applied",      "not-constexpr", "spills",   "offset-overflow",
    "missing-mask", "unsigned-compare", "fp64-literal",  "ptx-only",
};
enum { NUM_WARNINGS = sizeof warning_names / sizeof *warning_names };

static bool take_warning(parse *p, const char *v) {
    bool known = !strcmp(v, "error");
    const char *name = strncmp(v, "no-", 3) == 0 ? v + 3 : v;
    strbuf expected;
    strbuf_init(&expected, p->arena);
    strbuf_puts(&expected, "error, or (after 'no-' or not)");
    for (int i = 0; i < NUM_WARNINGS; i++) {
        known |= !strcmp(name, warning_names[i]);
        strbuf_printf(&expected, "%s %s", i ? " or" : "", warning_names[i]);
    }
    VEC_PUSH(p->arena, p->o->warnings, sv_from(v));
    return known || wrong(p, "-W", v, expected.data);
}

static const char *const emit_names[] = {
    [EMIT_PTX] = "ptx", [EMIT_CUBIN] = "cubin", [EMIT_LLVM] = "llvm",     [EMIT_TILE] = "tile",
    [EMIT_AST] = "ast", [EMIT_JSON] = "json",   [EMIT_HEADER] = "header",
};

static bool take_emit(parse *p, const char *v) {
    for (size_t i = 0; i < sizeof emit_names / sizeof *emit_names; i++)
        if (!strcmp(v, emit_names[i]))
            return p->o->emit = (emit_kind)i, p->o->has_emit = true;
    return wrong(p, "--emit", v, "ptx, cubin, llvm, tile, ast, json or header");
}

static bool take_arch(parse *p, const char *v) {
    strbuf known;
    strbuf_init(&known, p->arena);
    strbuf_puts(&known, "native");
    for (unsigned i = 0; cg_arch_at(i); i++)
        strbuf_printf(&known, cg_arch_at(i + 1) ? ", %s" : " or %s", cg_arch_at(i)->name);
    VEC_PUSH(p->arena, p->o->archs, v);
    return !strcmp(v, "native") || cg_find_arch(v) || wrong(p, "--arch", v, known.data);
}

static bool take_define(parse *p, const char *v) {
    const char *eq = strchr(v, '=');
    definition d;
    if (!eq || eq == v)
        return wrong(p, "-D", v, "NAME=VALUE");
    d.name = (sv){v, (size_t)(eq - v)};
    for (uint32_t i = 0; i < p->o->definitions.len; i++)
        if (sv_equal(p->o->definitions.data[i].name, d.name)) {
            *p->message = sv_format(p->arena, "-D: '%" SV_FMT "' is given twice", SV_ARG(d.name));
            return false;
        }
    if (!parse_constant(p->arena, sv_from(eq + 1), &d.value))
        return wrong(p, "-D", v, "an int, a float, True, False, None, 'text' or a dtype after '='");
    VEC_PUSH(p->arena, p->o->definitions, d);
    return true;
}

static bool take_signature(parse *p, const char *v) {
    signature s;
    if (!parse_signature(p->arena, sv_from(v), &s, p->message))
        return false;
    VEC_PUSH(p->arena, p->o->signatures, s);
    return true;
}

/// Takes a number within [least, most], a power of two if `power`.
static bool take_number(parse *p, const char *option, const char *v, uint32_t least, uint32_t most,
                        bool power, uint32_t *out) {
    char *end;
    unsigned long n = strtoul(v, &end, 10);
    bool digits = *v >= '0' && *v <= '9' && !*end;
    if (digits && n >= least && n <= most && (!power || !(n & (n - 1))))
        return *out = (uint32_t)n, true;
    return wrong(
        p, option, v,
        sv_format(p->arena, "%s from %u to %u", power ? "a power of two" : "a number", least, most)
            .data);
}

static bool take_num_warps(parse *p, const char *v) {
    return take_number(p, "--num-warps", v, 1, 32, true, &p->o->num_warps);
}
static bool take_num_ctas(parse *p, const char *v) {
    return take_number(p, "--num-ctas", v, 1, 16, true, &p->o->num_ctas);
}
static bool take_num_stages(parse *p, const char *v) {
    return take_number(p, "--num-stages", v, 1, 16, false, &p->o->num_stages);
}
static bool take_maxnreg(parse *p, const char *v) {
    return take_number(p, "--maxnreg", v, 16, 255, false, &p->o->maxnreg);
}

bool options_set_by_name(arena *a, sv name, const fe_constant *value, fe_options *out,
                         sv *message) {
    const struct {
        const char *name;
        uint32_t least, most;
        bool power;
        uint32_t *value;
    } known[] = {{"num_warps", 1, 32, true, &out->num_warps},
                 {"num_ctas", 1, 16, true, &out->num_ctas},
                 {"num_stages", 1, 16, false, &out->num_stages},
                 {"maxnreg", 16, 255, false, &out->maxnreg}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!sv_is(name, known[i].name))
            continue;
        int64_t v = value->kind == FE_INT ? value->i : 0;
        if (v < known[i].least || v > known[i].most || (known[i].power && (v & (v - 1))))
            *message = sv_format(a, "%s: expected %s from %u to %u", known[i].name,
                                 known[i].power ? "a power of two" : "a number", known[i].least,
                                 known[i].most);
        *known[i].value = (uint32_t)v;
        return true;
    }
    return false;
}

static bool take_ptx(parse *p, const char *v) {
    unsigned major, minor;
    char end;
    if (sscanf(v, "%u.%u%c", &major, &minor, &end) != 2 || major < 7 || major > 20 || minor > 9)
        return wrong(p, "--ptx", v, "a PTX version such as 8.0");
    return p->o->ptx_version = major * 10 + minor, true;
}

static bool take_switch(parse *p, const char *option, const char *v, bool *is_off) {
    if (strcmp(v, "on") != 0 && strcmp(v, "off") != 0)
        return wrong(p, option, v, "on or off");
    return *is_off = v[1] == 'f', true;
}
static bool take_fp_fusion(parse *p, const char *v) {
    return take_switch(p, "--fp-fusion", v, &p->o->no_fp_fusion);
}
static bool take_asserts(parse *p, const char *v) {
    return take_switch(p, "--asserts", v, &p->o->no_asserts);
}

// --- of tilec run

static bool take_device(parse *p, const char *v) { return p->o->device = v, true; }

static bool take_bench(parse *p, const char *v) {
    return take_number(p, "--bench", v, 1, 1000000, false, &p->o->bench);
}

static bool take_grid(parse *p, const char *v) {
    uint32_t *g = p->o->grid;
    char end;
    int n = sscanf(v, "%9" SCNu32 "%c", &g[0], &end) == 1                       ? 1
            : sscanf(v, "%9" SCNu32 ",%9" SCNu32 "%c", &g[0], &g[1], &end) == 2 ? 2
            : sscanf(v, "%9" SCNu32 ",%9" SCNu32 ",%9" SCNu32 "%c", &g[0], &g[1], &g[2], &end) == 3
                ? 3
                : 0;
    for (int i = n; i < 3; i++)
        g[i] = 1;
    return (n && g[0] && g[1] && g[2]) ||
           wrong(p, "--grid", v, "one to three numbers from 1, as in 8 or 8,4");
}

/// The argument of that name, added if it is new.
static run_arg *find_arg(parse *p, sv name) {
    for (uint32_t i = 0; i < p->o->args.len; i++)
        if (sv_equal(p->o->args.data[i].name, name))
            return &p->o->args.data[i];
    VEC_PUSH(p->arena, p->o->args, ((run_arg){.name = name}));
    return &p->o->args.data[p->o->args.len - 1];
}

static bool take_arg(parse *p, const char *v) {
    run_arg a;
    if (!parse_run_arg(p->arena, sv_from(v), &a, p->message))
        return false;
    run_arg *to = find_arg(p, a.name);
    a.saved = to->saved;
    *to = a;
    return true;
}

static bool take_save(parse *p, const char *v) {
    const char *eq = strchr(v, '=');
    if (!eq || eq == v || !eq[1])
        return wrong(p, "--save", v, "NAME=FILE");
    find_arg(p, (sv){v, (size_t)(eq - v)})->saved = eq + 1;
    return true;
}

#define FLAG_OPTION(name)                                                                          \
    static bool take_##name(parse *p, const char *v) { return (void)v, p->o->name = true; }
FLAG_OPTION(resource_usage)
FLAG_OPTION(time)
FLAG_OPTION(check)
FLAG_OPTION(json)
FLAG_OPTION(list)
FLAG_OPTION(depend)
FLAG_OPTION(version)
FLAG_OPTION(help)

/// How far a file is taken. An option of a later stage than the last one would do nothing, and one
/// that is for source text does nothing for tile IR.
enum { READING, LOADING, LOWERING, GENERATING, ANY_STAGE = 3, OF_SOURCE = 4 };

/// One row per option: its name, what its value is called (NULL: it takes none), how it is taken,
/// what it is for.
typedef struct row {
    const char *name, *value;
    take_fn *take;
    unsigned used;
    const char *help;
} row;

static const row table[] = {
    {"-o", "PATH", take_output, READING, "output file; '-' is standard output"},
    {"--emit", "KIND", take_emit, READING, "ptx (default), cubin, llvm, tile, ast, json, header"},
    {"--arch", "ARCH", take_arch, GENERATING,
     "sm_80 (default) to sm_120, or native: this machine's GPU; a header may have several"},
    {"--kernel", "NAME", take_kernel, LOADING | OF_SOURCE, "this kernel only; may be repeated"},
    {"-D", "NAME=VALUE", take_define, LOWERING | OF_SOURCE,
     "a constexpr: int, float, True, None, 'text', dtype"},
    {"--signature", "SIG", take_signature, LOWERING | OF_SOURCE,
     "types and hints: 'kernel(x=*fp32:16, n=i32)'; may be repeated"},
    {"--num-warps", "N", take_num_warps, LOWERING | OF_SOURCE, "warps per program (4)"},
    {"--num-ctas", "N", take_num_ctas, LOWERING | OF_SOURCE, "thread blocks per program (1)"},
    {"--num-stages", "N", take_num_stages, LOWERING | OF_SOURCE, "pipeline stages (3)"},
    {"--maxnreg", "N", take_maxnreg, LOWERING | OF_SOURCE, "most registers per thread"},
    {"--ptx", "VERSION", take_ptx, GENERATING, "PTX version (the lowest that does)"},
    {"--fp-fusion", "on|off", take_fp_fusion, GENERATING, "contract a*b+c to fma (on)"},
    {"--asserts", "on|off", take_asserts, LOWERING | OF_SOURCE,
     "compile device_assert and assert (on)"},
    {"--resource-usage", NULL, take_resource_usage, GENERATING,
     "registers, spills, shared memory, by ptxas"},
    {"--time", NULL, take_time, READING, "where the compile time went"},
    {"--print-after", "PASS", take_print_after, LOWERING, "tile IR after a pass, or after all"},
    {"--passes", "A,B", take_passes, LOWERING, "run these passes instead of the pipeline"},
    {"-I", "DIR", take_include, LOADING | OF_SOURCE,
     "where imports are looked up, after the file's own folder"},
    {"-MD", NULL, take_depend, LOADING, "write a make rule with the files read to FILE.d"},
    {"-MF", "FILE", take_depfile, LOADING, "name of that file"},
    {"--check", NULL, take_check, READING, "only diagnose: everything is done but nothing written"},
    {"-W", "NAME", take_warning, READING, "-Wname, -Wno-name, -Werror"},
    {"--json", NULL, take_json, READING, "diagnostics, and what --list prints, as JSON lines"},
    {"--list", NULL, take_list, READING | OF_SOURCE, "the kernels of a file with their parameters"},
    {"--version", NULL, take_version, READING, "print the version"},
    {"--help", NULL, take_help, READING, "print this"},
};
enum { NUM_OPTIONS = sizeof table / sizeof *table };
_Static_assert(NUM_OPTIONS <= 32, "options are a set of bits");

static const row run_table[] = {
    {"--grid", "X[,Y[,Z]]", take_grid, 0, "programs per axis"},
    {"--arg", "NAME=VALUE", take_arg, 0,
     "an argument: a number, a constexpr, or a tensor, see below"},
    {"--kernel", "NAME", take_kernel, 0, "which one, if the file has several"},
    {"-D", "NAME=VALUE", take_arg, 0, "the same, as for compiling"},
    {"--device", "NAME", take_device, 0, "cpu (default) or cuda:N"},
    {"--num-warps", "N", take_num_warps, 0, "warps per program (4)"},
    {"--num-ctas", "N", take_num_ctas, 0, "thread blocks per program (1)"},
    {"--num-stages", "N", take_num_stages, 0, "pipeline stages (3)"},
    {"--maxnreg", "N", take_maxnreg, 0, "most registers per thread"},
    {"--asserts", "on|off", take_asserts, 0, "compile device_assert and assert (on)"},
    {"--bench", "N", take_bench, 0, "launch N times more, and print the median time"},
    {"--save", "NAME=FILE", take_save, 0, "write a tensor's bytes to a file afterwards"},
    {"--help", NULL, take_help, 0, "print this"},
};
enum { NUM_RUN_OPTIONS = sizeof run_table / sizeof *run_table };

static void print_rows(const row *rows, int n, strbuf *out) {
    for (int i = 0; i < n; i++) {
        bool is_long = rows[i].name[1] == '-';
        sv left = rows[i].value ? sv_format(out->arena, "%s%s%s", rows[i].name, is_long ? "=" : " ",
                                            rows[i].value)
                                : sv_from(rows[i].name);
        strbuf_printf(out, "  %-22.*s %s\n", SV_ARG(left), rows[i].help);
    }
}

void options_print_help(strbuf *out) {
    strbuf_puts(
        out,
        "usage: tilec [options] FILE.tile [FILE2 ...]\n"
        "       tilec run [options] FILE.tile      (tilec run --help)\n"
        "       tilec cache [--stat | --prune | --clear]\n"
        "Compiles each file to FILE.ptx in the current directory; '-' reads standard input.\n\n");
    print_rows(table, NUM_OPTIONS, out);
    strbuf_puts(out, "\nOf an option given again the last counts. "
                     "Exit status: 0, 1 after errors in the input, 2 for a wrong option.\n");
}

void options_print_run_help(strbuf *out) {
    strbuf_puts(out, "usage: tilec run --grid=X [--arg NAME=VALUE ...] [options] FILE.tile\n"
                     "Runs a kernel without a host program, and prints what it changed.\n\n");
    print_rows(run_table, NUM_RUN_OPTIONS, out);
    strbuf_puts(
        out,
        "\nA tensor is DTYPE[SIZE,...]:INIT, contiguous, as in x=fp32[64,1000]:randn. INIT: "
        "randn,\n"
        "rand (0 to 1), arange, a number for all elements, @FILE (its bytes), or nothing: every\n"
        "byte is 0xff then, NaN in floats. Random numbers are the same every time. On cpu, "
        "accesses\n"
        "outside of the tensors are reported with the kernel's line.\n"
        "Exit status: 0, 1 if the kernel does not compile or fails, 2 for a wrong option.\n");
}

/// Finds the option that `arg` names; *joined gets a value written in the same word, if any.
static int find_option(const row *rows, int n, const char *arg, const char **joined) {
    *joined = NULL;
    for (int i = 0; i < n; i++)
        if (!strcmp(arg, rows[i].name))
            return i;
    for (int i = 0; i < n; i++) {
        size_t len = strlen(rows[i].name);
        if (!rows[i].value || strncmp(arg, rows[i].name, len) != 0)
            continue;
        bool is_long = rows[i].name[1] == '-';
        if (is_long && arg[len] != '=')
            continue;
        *joined = arg + len + is_long;
        return i;
    }
    return -1;
}

static unsigned last_stage(const options *o) {
    return o->list                ? LOADING
           : o->emit == EMIT_AST  ? READING
           : o->emit == EMIT_TILE ? LOWERING
                                  : GENERATING;
}

const char *options_source_only(const options *o) {
    for (int i = 0; i < NUM_OPTIONS; i++)
        if (o->given >> i & 1 && table[i].used & OF_SOURCE)
            return table[i].name;
    return o->emit == EMIT_AST ? "--emit=ast" : o->emit == EMIT_HEADER ? "--emit=header" : NULL;
}

/// Finds options that do not go together.
static bool check_together(parse *p) {
    const options *o = p->o;
    for (int i = 0; i < NUM_OPTIONS; i++)
        if (o->given >> i & 1 && (table[i].used & ANY_STAGE) > last_stage(o)) {
            *p->message = sv_format(p->arena, "%s does nothing with %s", table[i].name,
                                    o->list               ? "--list"
                                    : o->emit == EMIT_AST ? "--emit=ast"
                                                          : "--emit=tile");
            return false;
        }
    if (!o->files.len)
        *p->message = SV("no input file");
    else if (o->check && (o->output || o->list || o->has_emit))
        *p->message = sv_format(p->arena, "--check writes nothing, so it does not go with %s",
                                o->output ? "-o"
                                : o->list ? "--list"
                                          : "--emit");
    else if (o->list && o->has_emit)
        *p->message = SV("--list and --emit both say what to write");
    else if (o->output && strcmp(o->output, "-") != 0 && o->files.len > 1)
        *p->message = SV("-o with several input files");
    else if (o->depfile && !o->depend)
        *p->message = SV("-MF without -MD");
    else if (o->depfile && o->files.len > 1)
        *p->message = SV("-MF with several input files");
    return !p->message->len;
}

/// Reads the words of a command line by a table.
static bool scan(parse *p, const row *rows, int n, int argc, char **argv) {
    bool only_files = false;
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i], *value;
        if (only_files || arg[0] != '-' || !arg[1]) {
            VEC_PUSH(p->arena, p->o->files, arg);
            continue;
        }
        if (!strcmp(arg, "--")) {
            only_files = true;
            continue;
        }
        int option = find_option(rows, n, arg, &value);
        if (option < 0) {
            *p->message = sv_format(p->arena, "unknown option '%s'", arg);
            return false;
        }
        if (rows[option].value && !value) {
            if (i + 1 == argc) {
                *p->message =
                    sv_format(p->arena, "option '%s' needs a value: %s", arg, rows[option].value);
                return false;
            }
            value = argv[++i];
        }
        if (!rows[option].take(p, value))
            return false;
        p->o->given |= 1u << option;
    }
    return true;
}

static const options defaults = {.num_warps = 4, .num_ctas = 1, .num_stages = 3, .device = "cpu"};

bool options_parse(arena *a, int argc, char **argv, options *out, sv *message) {
    *out = defaults;
    parse p = {.arena = a, .o = out, .message = message};
    if (!scan(&p, table, NUM_OPTIONS, argc, argv))
        return false;
    if (!out->archs.len)
        VEC_PUSH(a, out->archs, "sm_80");
    return out->help || out->version || check_together(&p);
}

bool options_parse_run(arena *a, int argc, char **argv, options *out, sv *message) {
    *out = defaults;
    parse p = {.arena = a, .o = out, .message = message};
    if (!scan(&p, run_table, NUM_RUN_OPTIONS, argc, argv))
        return false;
    if (out->help)
        return true;
    if (out->files.len != 1)
        *message = out->files.len ? SV("more than one input file") : SV("no input file");
    else if (!out->grid[0])
        *message = SV("--grid is missing: how many programs are to run?");
    else if (out->kernels.len > 1)
        *message = SV("--kernel: one at a time");
    for (uint32_t i = 0; i < out->args.len && !message->len; i++)
        if (out->args.data[i].saved && !out->args.data[i].is_tensor)
            *message = sv_format(a, "--save: there is no tensor '%" SV_FMT "' among the arguments",
                                 SV_ARG(out->args.data[i].name));
    return !message->len;
}
