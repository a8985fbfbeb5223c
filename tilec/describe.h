// What --list and --emit=json say of kernels.
#ifndef TILE_TILEC_DESCRIBE_H
#define TILE_TILEC_DESCRIBE_H

#include "codegen/codegen.h"
#include "frontend/frontend.h"

/// One line: name(parameter: type:hint = default, ...).
void describe_kernel(const fe_kernel *k, strbuf *out);
/// The same as one line of JSON.
void describe_kernel_json(arena *a, const fe_kernel *k, strbuf *out);
/// The ABI of compiled kernels, for programs that load the binary themselves.
void describe_binary(arena *a, const ir_module *m, const cg_binary *binary, strbuf *out);

#endif
