// The last step from LLVM's PTX to ours: what ptxas is known to miscompile is spelled otherwise.
#ifndef TILE_CODEGEN_PTX_RESPELL_H
#define TILE_CODEGEN_PTX_RESPELL_H

#include "support/text.h"

/// The line under which inline assembly stands as its author wrote it: what ptxas makes of that is his
/// to say, and his text need not look like LLVM's.
#define PTX_AS_WRITTEN "// as written"

/// Appends PTX text to `s`, the instructions ptxas gets wrong replaced by others that mean the same.
void ptx_respell(strbuf *s, sv text);

#endif
