// The command line of tilec: one table of options, parsed into one struct.
#ifndef TILE_TILEC_OPTIONS_H
#define TILE_TILEC_OPTIONS_H

#include "frontend/frontend.h"

typedef enum emit_kind {
    EMIT_PTX,
    EMIT_CUBIN,
    EMIT_LLVM,
    EMIT_TILE,
    EMIT_AST,
    EMIT_JSON,
    EMIT_HEADER
} emit_kind;

typedef VEC(const char *) string_list;

/// -D NAME=VALUE.
typedef struct definition {
    sv name;
    fe_constant value;
} definition;

/// --signature 'kernel(x=*fp32:16, n=i32) as name'.
typedef struct signature {
    sv kernel;
    sv name; ///< what the entry is called; empty: as the kernel
    fe_arg *args;
    uint32_t num_args;
} signature;

/// tilec run: --arg NAME=DTYPE[SHAPE]:INIT, or NAME=VALUE.
typedef struct run_arg {
    sv name;
    bool is_tensor;
    fe_constant value; ///< if no tensor
    dtype type;
    uint32_t rank;
    int64_t shape[8];
    sv init;           ///< what it holds before: the text after ':'
    const char *saved; ///< --save NAME=FILE, or NULL
} run_arg;

typedef struct options {
    string_list files, kernels, include_dirs;
    VEC(definition) definitions;
    VEC(signature) signatures;
    VEC(sv) warnings; ///< as written after -W
    emit_kind emit;
    const char *output; ///< NULL: the default
    string_list archs;  ///< the last one counts, except for a header; none: the default
    const char *print_after, *passes;
    const char *depfile;
    uint32_t num_warps, num_ctas, num_stages, maxnreg;
    uint32_t given;       ///< a bit for each option of the table
    bool has_emit;        ///< --emit is given
    unsigned ptx_version; ///< 78 for 7.8; 0: the lowest that does
    const char *device;   ///< tilec run: these three
    VEC(run_arg) args;
    uint32_t grid[3], bench;
    bool no_fp_fusion, no_asserts, resource_usage, time, check, json, list, depend, version, help;
} options;

/// Parses argv. On a wrong option fills `message` (in the arena) and returns false.
bool options_parse(arena *a, int argc, char **argv, options *out, sv *message);
/// The same for `tilec run`.
bool options_parse_run(arena *a, int argc, char **argv, options *out, sv *message);
void options_print_help(strbuf *out);
void options_print_run_help(strbuf *out);
/// An option given, if any, that makes no sense for a file of tile IR.
const char *options_source_only(const options *o);

/// Sets the option that `name` names, as a signature may: num_warps=8. False if there is no such
/// option; *message says what is wrong with the value, if anything.
bool options_set_by_name(arena *a, sv name, const fe_constant *value, fe_options *out, sv *message);

/// Parses one value as -D takes it: int, float, True, False, None, 'text', or a dtype.
bool parse_constant(arena *a, sv text, fe_constant *out);
/// Parses --signature's text; on failure *message says what is wrong.
bool parse_signature(arena *a, sv text, signature *out, sv *message);
/// Parses --arg's text, likewise.
bool parse_run_arg(arena *a, sv text, run_arg *out, sv *message);

#endif
