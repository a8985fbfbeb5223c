// The command line of tilec: one argument per line of the input.
#include "fuzz.h"
#include "tilec/options.h"

enum { MAX_ARGS = 64 };

static void parse(arena *a, sv text) {
    char *argv[MAX_ARGS + 1] = {"tilec"};
    int argc = 1;
    char *line = arena_copy_string(a, text.data, text.len);
    while (line && argc < MAX_ARGS) {
        char *end = strchr(line, '\n');
        if (end)
            *end++ = 0;
        argv[argc++] = line;
        line = end;
    }
    options o;
    sv message = SV("");
    bool ok = options_parse(a, argc, argv, &o, &message);
    FUZZ_CHECK(ok == !message.len, "an option was refused without a message");
    if (ok && !o.help && !o.version)
        FUZZ_CHECK(o.files.len && o.num_warps && o.num_ctas, "a command line without work");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_in_arena(parse, data, size);
    return 0;
}
