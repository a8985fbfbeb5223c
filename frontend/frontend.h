// The front end's face: read a .tile file, list its functions, and lower one kernel for one
// specialization to tile IR. runtime/compile.c and tilec are its only callers.
#ifndef TILE_FRONTEND_FRONTEND_H
#define TILE_FRONTEND_FRONTEND_H

#include "frontend/ast.h"
#include "ir/ir.h"

/// A compile-time value given from outside: a constexpr argument.
typedef struct fe_constant {
    enum { FE_NONE, FE_BOOL, FE_INT, FE_FLOAT, FE_STRING, FE_DTYPE } kind;
    int64_t i; ///< BOOL, INT; also the bits of an unsigned 64-bit value
    double f;
    sv str;
    dtype type;
} fe_constant;

/// What a launch or --signature says of one kernel parameter, by name.
typedef struct fe_arg {
    sv name;
    bool is_constexpr; ///< `constant` holds its value; the parameter leaves the binary's list
    fe_constant constant;
    bool has_type;
    ir_type type; ///< scalar or pointer, if has_type; must match an annotation
    uint32_t
        divisibility; ///< 0 or 1: nothing known. Integers: a divisor; pointers: of the byte address
    bool is_one;      ///< the integer is known to be 1
} fe_arg;

typedef struct fe_options {
    uint32_t num_warps, num_ctas, num_stages, maxnreg;
    bool no_asserts;                 ///< leave device_assert and assert out
    const char *const *include_dirs; ///< -I, for `from utils import f`
    uint32_t num_include_dirs;
} fe_options;

/// One kernel parameter as the file states it.
typedef struct fe_param {
    sv name;
    bool is_constexpr;
    bool has_type; ///< annotated with a type
    ir_type type;
    uint32_t divisibility; ///< from "*fp32:16"; 0 if not stated
    bool has_default;
    fe_constant default_value; ///< if the default is a plain compile-time value
    bool do_not_specialize;
} fe_param;

/// A triton.Config of @triton.autotune: values for parameters, and options; 0: not given.
typedef struct fe_config {
    sv *names;
    fe_constant *values;
    uint32_t num_values;
    uint32_t num_warps, num_stages, num_ctas, maxnreg;
} fe_config;

typedef struct fe_kernel {
    sv name;
    fe_param *params;
    uint32_t num_params;
    fe_config *configs; ///< those that are written out
    uint32_t num_configs;
    const ast_func *func;
} fe_kernel;

typedef struct fe_program fe_program;

/// Parses `file` and what it imports, and finds its kernels. Reports through d; NULL only if there
/// were errors.
fe_program *fe_load(arena *a, diag *d, uint32_t file, const fe_options *options);
uint32_t fe_kernel_count(const fe_program *p);
const fe_kernel *fe_get_kernel(const fe_program *p, uint32_t index);
/// For a program without kernels: reports why its outermost functions are none. False if it has no
/// functions at all.
bool fe_explain_no_kernels(fe_program *p);
/// NULL if there is no function of that name (a helper may be named, too: --kernel).
const fe_kernel *fe_find_kernel(const fe_program *p, sv name);
/// Whether a constexpr parameter of that name that is given nothing has the value of an option.
bool fe_is_option(sv name);
const ast_module *fe_get_ast(const fe_program *p);
/// Files read, for -MD: the main file and its imports (the embedded standard library is left out).
uint32_t fe_file_count(const fe_program *p);
const char *fe_file_path(const fe_program *p, uint32_t index);

/// Lowers one kernel for one specialization and adds it to m. Arguments are matched by name; a
/// parameter without type, annotation or value is an error that says what to do. NULL after errors.
ir_func *fe_lower(fe_program *p, ir_module *m, const fe_kernel *k, const fe_arg *args,
                  uint32_t num_args, const fe_options *options);

#endif
