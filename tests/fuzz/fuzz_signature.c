// The two small languages of the command line: --signature, whose result is then used to lower a
// kernel, and the value of -D.
#include "fuzz.h"
#include "tilec/options.h"

static const char source[] = "def k(x, n, c: constexpr = 1, *, y: \"*fp32:16\" = None):\n"
                             "    store(x + arange(0, 16), n)\n"
                             "    if c is not None:\n"
                             "        static_print(c)\n";

static void lower(arena *a, const signature *s) {
    static const fe_options fe = {.num_warps = 1, .num_ctas = 1, .num_stages = 1};
    diag *d = diag_create(a);
    sv text = {source, sizeof(source) - 1};
    fe_program *p = fe_load(a, d, diag_add_file(d, "/nowhere/k.tile", text), &fe);
    FUZZ_CHECK(p, "the kernel of this test is wrong");
    ir_module *m = ir_module_create(a, d);
    ir_func *f = fe_lower(p, m, fe_find_kernel(p, SV("k")), s->args, s->num_args, &fe);
    FUZZ_CHECK(f || diag_error_count(d), "lowering failed without a message");
    if (f) {
        FUZZ_CHECK(ir_verify(f, "after lowering"), "lowering made bad IR");
        fuzz_check_round_trip(m);
    }
    fuzz_check_messages(d);
}

static void parse(arena *a, sv text) {
    signature s;
    sv message = SV("");
    if (parse_signature(a, text, &s, &message))
        lower(a, &s);
    else
        FUZZ_CHECK(message.len, "a signature was refused without a message");
    fe_constant c;
    parse_constant(a, text, &c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_in_arena(parse, data, size);
    return 0;
}
