// Integer negation and absolute value, spelled so that ptxas cannot fold them. The assembler of
// CUDA 13.0, at -O1 and above and in the driver's JIT alike, gets three foldings of them wrong:
//
//   neg.s16, abs.s16   taken to be done in 32 bits: -(-32768) is 32768 once it is widened or
//                      compared
//   neg.s32            two of them under min/max of three become one instruction that forgets one
//                      sign: max(max(-a, -b), c) is max(-a, b, c)
//   abs.s32            taken to be at least 0: to fp32 as unsigned, 2^31 becomes -2^31
//
// The complement and one more is left alone. LLVM makes these instructions out of much else, late,
// so its text is where they are caught; tests/run/test_negation.c would show one that slips by.
#include "codegen/ptx_respell.h"

#include <string.h>

typedef struct respelling {
    const char *opcode;
    const char *text; ///< $d the destination, $a the operand
} respelling;

#define NEGATED(bits) "not.b" bits " \t$d, $a;\n\tadd.s" bits " \t$d, $d, 1;"
#define LARGER(bits)                                                                               \
    "{ .reg .b" bits " %t; not.b" bits " %t, $a; add.s" bits " %t, %t, 1; max.s" bits              \
    " $d, $a, %t; }"

static const respelling respellings[] = {
    {"neg.s16", NEGATED("16")},
    {"neg.s32", NEGATED("32")},
    {"abs.s16", LARGER("16")},
    {"abs.s32", LARGER("32")},
};

static const respelling *find(sv line) {
    for (size_t i = 0; i < sizeof(respellings) / sizeof(respellings[0]); i++) {
        const respelling *r = &respellings[i];
        size_t len = strlen(r->opcode);
        if (line.len > len + 1 && line.data[0] == '\t' &&
            memcmp(line.data + 1, r->opcode, len) == 0 && line.data[1 + len] == ' ')
            return r;
    }
    return NULL;
}

/// The register that starts in `text` at or after `*at`; moves `*at` past it.
static sv next_register(sv text, size_t *at) {
    while (*at < text.len && text.data[*at] != '%')
        ++*at;
    size_t start = *at;
    while (*at < text.len && text.data[*at] != ',' && text.data[*at] != ';')
        ++*at;
    return (sv){text.data + start, *at - start};
}

static void put_respelled(strbuf *s, const respelling *r, sv line) {
    size_t at = 0;
    sv d = next_register(line, &at), a = next_register(line, &at);
    strbuf_putc(s, '\t');
    for (const char *p = r->text; *p; p++) {
        if (*p == '$')
            strbuf_put(s, *++p == 'd' ? d : a);
        else
            strbuf_putc(s, *p);
    }
}

void ptx_respell(strbuf *s, sv text) {
    while (text.len) {
        const char *end = memchr(text.data, '\n', text.len);
        sv line = {text.data, end ? (size_t)(end - text.data) : text.len};
        const respelling *r = find(line);
        if (r)
            put_respelled(s, r, line);
        else
            strbuf_put(s, line);
        if (end)
            strbuf_putc(s, '\n');
        text = (sv){text.data + line.len + (end != NULL), text.len - line.len - (end != NULL)};
    }
}
