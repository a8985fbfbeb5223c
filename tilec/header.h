// --emit=header: the specializations of kernels as one C file.
#ifndef TILE_TILEC_HEADER_H
#define TILE_TILEC_HEADER_H

#include "codegen/codegen.h"
#include "frontend/frontend.h"

/// Code of a specialization for one architecture. The cubin is empty if there is no ptxas.
typedef struct header_image {
    const cg_arch *arch;
    sv ptx, cubin;
} header_image;

/// A specialization, compiled.
typedef struct header_variant {
    sv name; ///< of the launch function that it belongs to
    const fe_kernel *kernel;
    const fe_arg *args; ///< what it was lowered for
    uint32_t num_args;
    fe_options options;
    const ir_func *func; ///< after the passes: with what its code relies on
    sv entry;
    uint32_t shared_bytes;
    VEC(header_image) images;
} header_variant;

/// Writes the file of all specializations, for a source of that name. Reports what does not go
/// together (through d), and returns false then.
bool header_write(arena *a, diag *d, const char *source_name, header_variant *variants,
                  uint32_t num_variants, strbuf *out);

#endif
