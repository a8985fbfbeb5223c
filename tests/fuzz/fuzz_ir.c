// The text of tile IR to LLVM IR, past the front end: what ir_parse reads and ir_verify accepts,
// passes and code generators must take (an odd length picks the host).
#include "fuzz.h"

static void compile(arena *a, sv text) {
    diag *d = diag_create(a);
    ir_module *m = ir_parse(a, d, diag_add_file(d, "fuzz.tir", text));
    FUZZ_CHECK(m || diag_error_count(d), "parsing failed without a message");
    bool ok = m && !diag_error_count(d);
    for (ir_func *f = ok ? m->first : NULL; f; f = f->next)
        ok = ir_verify(f, NULL) && ok;
    if (ok) {
        fuzz_check_round_trip(m);
        fuzz_compile(m, text.len % 2);
    }
    fuzz_check_messages(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_in_arena(compile, data, size);
    return 0;
}
