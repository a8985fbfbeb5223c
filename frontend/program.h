// A program: the modules a kernel's text is spread over (the file, what it imports, the standard
// library) and what each top-level name in them stands for. program.c reads it; lowering asks it.
// Nothing here changes after fe_load, so several lowerings may use one program at a time.
#ifndef TILE_FRONTEND_PROGRAM_H
#define TILE_FRONTEND_PROGRAM_H

#include "frontend/frontend.h"
#include "frontend/value.h"
#include "support/names.h"

typedef struct fe_module fe_module;

typedef enum symbol_kind {
    SYMBOL_FUNC,    ///< func
    SYMBOL_GLOBAL,  ///< global: a compile-time constant, computed where it is used
    SYMBOL_TRITON,  ///< a module of Triton's by its canonical name (path), or member `name` of one
    SYMBOL_IMPORT,  ///< `name` of another file (from_module)
    SYMBOL_FOREIGN, ///< an import of something that is no kernel code: an error if used
} symbol_kind;

typedef struct symbol {
    sv name; ///< in this module
    symbol_kind kind;
    const ast_func *func;
    const ast_global *global;
    sv path;
    sv member;           ///< imported name; empty for a module itself
    const char *problem; ///< FOREIGN: why it cannot be used, if more is known than that
    const fe_module *from_module;
    src_range range;
} symbol;

struct fe_module {
    const ast_module *ast;
    uint32_t file;
    bool is_python;  ///< a .py file: host code is around
    bool is_library; ///< the embedded standard library
    VEC(symbol) symbols;
    name_map symbol_of; ///< by name: the last of that name
};

struct fe_program {
    arena *arena;
    diag *diag;
    const fe_options *options;
    VEC(fe_module *) modules; ///< in order of reading; the first is the main file
    /// Of the embedded library: stdlib.tile, and libdevice.tile where a name of it is used, for
    /// most kernels need none.
    VEC(const fe_module *) libraries;
    VEC(fe_kernel) functions; ///< of the main file
    VEC(uint32_t) kernels;    ///< those that are kernels, by index into functions
};

/// The module's top-level name, or NULL. The last definition wins, as in Python.
const symbol *program_find(const fe_module *m, sv name);
/// The last definition before a place in the file.
const symbol *program_find_before(const fe_module *m, sv name, uint32_t place);
/// Follows imports from file to file: the symbol that is meant, or NULL if it leads nowhere.
const symbol *program_resolve(const fe_module **m, sv name);
/// The canonical name ("tl", "tl.math", "libdevice", ...) of a Triton module given by its dotted
/// path ("triton.language"); empty if there is none.
sv program_triton_module(sv path);
/// The canonical name of submodule `name` of a canonical module; empty if there is none.
sv program_triton_submodule(sv module, sv name);
/// The module of the program that was read from this file of the diag; NULL if none.
const fe_module *program_module_of_file(const fe_program *p, uint32_t file);

// --- signature.c: what parameters and decorators say

/// What an annotation means for a parameter.
typedef struct annotation {
    enum {
        ANNOTATION_NONE,  ///< says nothing of the type
        ANNOTATION_CONST, ///< tl.const: a pointer that is only read, of the argument's type
        ANNOTATION_HOST,  ///< Python's int or float: i32 or fp32 unless the argument says more
        ANNOTATION_TYPE,  ///< type, divisibility
        ANNOTATION_CONSTEXPR,
        ANNOTATION_DESCRIPTOR, ///< a tensor descriptor, which no argument of a kernel can be yet
        ANNOTATION_UNKNOWN,    ///< nothing we know: an error in a .tile file
        ANNOTATION_INVALID,    ///< a type that cannot be; `problem` says why
    } kind;
    ir_type type;
    uint32_t divisibility;
    const char *problem;
} annotation;

annotation annotation_read(const fe_module *m, const ast_expr *e);
/// The name after the last dot of a decorator, called or not: "jit" of @triton.jit(...).
sv program_decorator_name(const ast_expr *e);
/// (tuning.c) Default values from the first config of @triton.autotune; warns of what is not applied.
void program_read_tuning(fe_program *p, const fe_module *m, fe_kernel *k);
/// Fills the fe_param list of a function from its signature and decorators.
void program_read_params(fe_program *p, const fe_module *m, fe_kernel *k);
/// True if a decorator of the function is triton.jit or another that makes it kernel code.
bool program_is_jit(const ast_func *f);
/// True if it is one of @triton.constexpr_function, which runs at compile time.
bool program_is_constexpr(const ast_func *f);
/// Reports decorators that are not understood.
void program_check_decorators(fe_program *p, const ast_func *f);
/// (kernels.c) Fills p->functions and p->kernels: which functions of the main file no other calls
/// or passes on.
void program_find_kernels(fe_program *p);

/// Evaluates a compile-time expression in the scope of a module (lower.c). False after an error.
bool program_evaluate(fe_program *p, const fe_module *m, const ast_expr *e, value *out);

#endif
