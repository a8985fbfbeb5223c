// The passes over tile IR and the driver that runs them in the order of passes.def.
#ifndef TILE_IR_PASSES_H
#define TILE_IR_PASSES_H

#include "ir/ir.h"

/// A pass changes a function and says whether it did. It reports user-visible trouble (a tile that
/// cannot be laid out) through the module's diag.
typedef bool ir_pass_fn(ir_func *f);

ir_pass_fn pass_unroll;
ir_pass_fn pass_fold;
ir_pass_fn pass_cleanup;
ir_pass_fn pass_realign;
ir_pass_fn pass_pieces;
ir_pass_fn pass_layout;
ir_pass_fn pass_pipeline;

/// Reports a tile that takes too many registers in each thread; false if it does.
bool layout_check_registers(const ir_func *f, const ir_value *v, src_range at);

typedef struct ir_pass {
    const char *name;
    ir_pass_fn *run;
    const char *doc;
} ir_pass;

/// The pipeline, ending in an entry with name NULL.
extern const ir_pass ir_passes[];

typedef struct ir_pass_options {
    bool verify_each;        ///< verify after every pass and name the one that broke the IR
    const char *only;        ///< comma-separated pass names to run instead of the pipeline, or NULL
    const char *skip;        ///< comma-separated pass names to leave out of the pipeline, or NULL
    const char *print_after; ///< a pass name or "all", or NULL
    strbuf *print_to;        ///< where print_after goes
    void (*on_pass)(void *ctx, const char *name, double seconds); ///< may be NULL
    void *on_pass_ctx;
} ir_pass_options;

/// Verifies the module, then runs the passes on every function. False if the IR is not well-formed,
/// a pass reported errors, or an option names a pass that does not exist.
bool ir_run_passes(ir_module *m, const ir_pass_options *options);

#endif
