// What the fuzz targets share. A target is one file with LLVMFuzzerTestOneInput, which libFuzzer
// calls with whatever it thinks up; replay.c calls it with the files of a corpus where there is no
// libFuzzer. A target must not crash, must end soon, and must hold what it checks by FUZZ_CHECK.
#ifndef TILE_TESTS_FUZZ_H
#define TILE_TESTS_FUZZ_H

#include "codegen/codegen.h"
#include "ir/ir.h"

#include <stdio.h>
#include <stdlib.h>

#define FUZZ_CHECK(condition, what)                                                                \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, (what));                            \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/// Runs fn on the input with an arena of its own. Out of memory ends the input, not the process.
void fuzz_in_arena(void (*fn)(arena *a, sv text), const uint8_t *data, size_t size);

/// The module printed, read again and printed again is the same text.
void fuzz_check_round_trip(const ir_module *m);

/// Runs the passes, verified one by one, and builds LLVM IR for one of the targets.
void fuzz_compile(ir_module *m, bool for_host);

/// Renders all messages and checks that none of them is about ourselves.
void fuzz_check_messages(const diag *d);

#endif
