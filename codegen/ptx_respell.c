// What the assembler of CUDA 13.0, at -O1 and above and in the driver's JIT alike, is known to get
// wrong, spelled so that it does not. LLVM makes these instructions out of much else, late, so its
// text is where they are caught.
//
//   neg.s16, abs.s16   taken to be done in 32 bits: -(-32768) is 32768 once it is widened or
//                      compared
//   neg.s32            two of them under min/max of three become one instruction that forgets one
//                      sign: max(max(-a, -b), c) is max(-a, b, c)
//   abs.s32            taken to be at least 0: to fp32 as unsigned, 2^31 becomes -2^31
//   st.b8 and the like of a wider register that a float instruction made: the number is converted to
//                      an integer where its low bits should be stored
//   cvt.f64.f32 and the like   of selp 1, 0, the smallest float or zero, may become one or zero
//   mov.b32 {_, h}, r  the upper half of what a load of 8 or 16 bits made of 32 is the number loaded
//   or.b32, or.b16     of two selp 1, 0: the test whether it is 0 may become that of their and
//   or.pred            a|b where there is also a&b, one of them used with a or b once more (a select
//                      of predicates is and, and, or): both come from one instruction, and what is
//                      used may be the other one
//
// Inline assembly of an author's is left as it is. The complement and one more, a register cut to size
// first, a select of the results, the maximum, and "not neither" are left alone. (The last makes the
// code of the examples between 2 % longer and 3 % shorter.)
// tests/run/test_negation.c, test_float_bits.c and test_any.c would show one that slips by.
#include "codegen/ptx_respell.h"

#include <string.h>

// ---------------------------------------------------------------------------- lines

/// The rest of a line after an opcode, which a space or a tab ends; NULL data if it is another.
static sv operands_of(sv line, const char *opcode) {
    size_t len = strlen(opcode);
    if (line.len > len + 1 && line.data[0] == '\t' && memcmp(line.data + 1, opcode, len) == 0 &&
        (line.data[1 + len] == ' ' || line.data[1 + len] == '\t'))
        return (sv){line.data + 1 + len, line.len - 1 - len};
    return (sv){NULL, 0};
}

/// The operand that starts at or after `*at`; moves `*at` past it.
static sv next_operand(sv text, size_t *at) {
    while (*at < text.len && memchr(" \t,", text.data[*at], 3))
        ++*at;
    size_t start = *at;
    while (*at < text.len && !memchr(",;", text.data[*at], 2))
        ++*at;
    return (sv){text.data + start, *at - start};
}

// ---------------------------------------------------------------------------- one for one

typedef struct respelling {
    const char *opcode;
    const char *text; ///< $d the destination, $a and $b the operands
} respelling;

#define NEGATED(bits) "not.b" bits " \t$d, $a;\n\tadd.s" bits " \t$d, $d, 1;"
#define LARGER(bits)                                                                               \
    "{ .reg .b" bits " %t; not.b" bits " %t, $a; add.s" bits " %t, %t, 1; max.s" bits              \
    " $d, $a, %t; }"
#define EITHER                                                                                     \
    "{ .reg .pred %t, %u; not.pred %t, $a; not.pred %u, $b; and.pred %t, %t, %u; not.pred $d, "    \
    "%t; }"

static const respelling respellings[] = {
    {"neg.s16", NEGATED("16")}, {"neg.s32", NEGATED("32")}, {"abs.s16", LARGER("16")},
    {"abs.s32", LARGER("32")},  {"or.pred", EITHER},
};

static bool respell_by_table(strbuf *s, sv line) {
    for (size_t i = 0; i < sizeof(respellings) / sizeof(respellings[0]); i++) {
        sv operands = operands_of(line, respellings[i].opcode);
        if (!operands.data)
            continue;
        size_t at = 0;
        sv d = next_operand(operands, &at), a = next_operand(operands, &at),
           b = next_operand(operands, &at);
        strbuf_putc(s, '\t');
        for (const char *p = respellings[i].text; *p; p++) {
            if (*p != '$')
                strbuf_putc(s, *p);
            else if (*++p == 'd')
                strbuf_put(s, d);
            else
                strbuf_put(s, *p == 'a' ? a : b);
        }
        return true;
    }
    return false;
}

// ---------------------------------------------------------------------------- narrow stores

/// The bits that a scalar store writes, from the end of its opcode; 0 if the line is none.
static unsigned stored_bits(sv opcode) {
    static const struct {
        const char *end;
        unsigned bits;
    } types[] = {{".b8", 8}, {".b16", 16}, {".b32", 32}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        size_t len = strlen(types[i].end);
        if (opcode.len > len && memcmp(opcode.data + opcode.len - len, types[i].end, len) == 0)
            return types[i].bits;
    }
    return 0;
}

/// The bits of a register, as LLVM names them.
static unsigned register_bits(sv name) {
    return sv_starts_with(name, "%rs")   ? 16
           : sv_starts_with(name, "%rd") ? 64
           : sv_starts_with(name, "%r")  ? 32
                                         : 0;
}

/// "[@predicate] st... [address], register ...;"
static bool respell_store(strbuf *s, sv line) {
    size_t at = 0;
    while (at < line.len && line.data[at] == '\t')
        at++;
    if (at < line.len && line.data[at] == '@') {
        while (at < line.len && line.data[at] != ' ')
            at++;
        at++;
    }
    size_t start = at;
    while (at < line.len && line.data[at] != ' ' && line.data[at] != '\t')
        at++;
    sv opcode = {line.data + start, at - start};
    if (!sv_starts_with(opcode, "st."))
        return false;
    next_operand(line, &at); // the address
    sv value = next_operand(line, &at);
    unsigned to = stored_bits(opcode), from = register_bits(value), cut = from == 32 ? 16 : 32;
    if (!to || to >= from)
        return false;
    sv before = {line.data, (size_t)(value.data - line.data)},
       after = {line.data + at, line.len - at};
    strbuf_printf(s, "\t{ .reg .b%u %%t; cvt.u%u.u%u %%t, %" SV_FMT ";", cut, cut, from,
                  SV_ARG(value));
    strbuf_put(s, before);
    strbuf_puts(s, "%t");
    strbuf_put(s, after);
    strbuf_puts(s, " }");
    return true;
}

// ---------------------------------------------------------------------------- predicates as numbers

enum { KEPT_BITS = 64 };

/// The last registers of a block that are 1 or 0 by a predicate.
typedef struct bit_registers {
    struct {
        sv name, predicate;
    } bits[KEPT_BITS];
    unsigned count;
} bit_registers;

static void note_bit(bit_registers *known, sv line) {
    if (line.len && line.data[0] != '\t')
        known->count = 0; // a label: another block
    sv operands = operands_of(line, "selp.b32");
    if (!operands.data)
        operands = operands_of(line, "selp.b16");
    if (!operands.data)
        return;
    size_t at = 0;
    sv name = next_operand(operands, &at), one = next_operand(operands, &at);
    sv zero = next_operand(operands, &at), predicate = next_operand(operands, &at);
    if (!sv_is(one, "1") || !sv_is(zero, "0"))
        return;
    unsigned i = known->count++ % KEPT_BITS;
    known->bits[i].name = name;
    known->bits[i].predicate = predicate;
}

/// The predicate of such a register; NULL data if it is none.
static sv predicate_of(const bit_registers *known, sv name) {
    unsigned kept = known->count < KEPT_BITS ? known->count : KEPT_BITS;
    for (unsigned i = 0; i < kept; i++)
        if (sv_equal(known->bits[i].name, name))
            return known->bits[i].predicate;
    return (sv){NULL, 0};
}

/// Widening conversions, with the smallest positive number of what they widen, as they print it.
static const struct {
    const char *opcode, *select, *smallest;
} widenings[] = {
    {"cvt.f64.f32", "selp.f64 \t", ", 0d36A0000000000000, 0d0000000000000000, "},
    {"cvt.f64.f16", "selp.f64 \t", ", 0d3E70000000000000, 0d0000000000000000, "},
    {"cvt.f32.f16", "selp.f32 \t", ", 0f33800000, 0f00000000, "},
};

static bool respell_widening(strbuf *s, const bit_registers *known, sv line) {
    for (size_t i = 0; i < sizeof widenings / sizeof *widenings; i++) {
        sv operands = operands_of(line, widenings[i].opcode);
        if (!operands.data)
            continue;
        size_t at = 0;
        sv d = next_operand(operands, &at), p = predicate_of(known, next_operand(operands, &at));
        if (p.data)
            strbuf_printf(s, "\t%s%" SV_FMT "%s%" SV_FMT ";", widenings[i].select, SV_ARG(d),
                          widenings[i].smallest, SV_ARG(p));
        return p.data != NULL;
    }
    return false;
}

static bool respell_union(strbuf *s, const bit_registers *known, sv line) {
    bool is_wide = operands_of(line, "or.b32").data != NULL;
    sv operands = operands_of(line, is_wide ? "or.b32" : "or.b16");
    if (!operands.data)
        return false;
    size_t at = 0;
    next_operand(operands, &at);
    bool both = predicate_of(known, next_operand(operands, &at)).data &&
                predicate_of(known, next_operand(operands, &at)).data;
    if (both) {
        strbuf_puts(s, is_wide ? "\tmax.s32" : "\tmax.s16");
        strbuf_put(s, operands);
    }
    return both;
}

// ---------------------------------------------------------------------------- upper halves

/// "mov.b32 {_, h}, r;", or before PTX 7.1 "{ .reg .b16 tmp; mov.b32 {tmp, h}, r; }".
static bool respell_upper(strbuf *s, sv line) {
    static const char *const begins[] = {"\tmov.b32 \t{_, ", "\t{ .reg .b16 tmp; mov.b32 {tmp, "};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        size_t at = strlen(begins[i]);
        if (!sv_starts_with(line, begins[i]))
            continue;
        sv h = next_operand(line, &at), r = next_operand(line, &at);
        h.len--; // the brace
        strbuf_printf(
            s, "\t{ .reg .b32 %%t; shr.u32 %%t, %" SV_FMT ", 16; cvt.u16.u32 %" SV_FMT ", %%t; }",
            SV_ARG(r), SV_ARG(h));
        return true;
    }
    return false;
}

/// Whether a line is in an author's assembly; `*as_written` is whether the one before it was.
static bool stands_as_written(bool *as_written, sv line) {
    if (sv_is(line, "\t" PTX_AS_WRITTEN))
        *as_written = true;
    else if (sv_is(line, "\t// end inline asm"))
        *as_written = false;
    return *as_written;
}

void ptx_respell(strbuf *s, sv text) {
    bit_registers known = {.count = 0};
    bool as_written = false;
    while (text.len) {
        const char *end = memchr(text.data, '\n', text.len);
        sv line = {text.data, end ? (size_t)(end - text.data) : text.len};
        bool keep = stands_as_written(&as_written, line);
        if (!keep)
            note_bit(&known, line);
        if (keep || (!respell_by_table(s, line) && !respell_store(s, line) &&
                     !respell_widening(s, &known, line) && !respell_union(s, &known, line) &&
                     !respell_upper(s, line)))
            strbuf_put(s, line);
        if (end)
            strbuf_putc(s, '\n');
        text = (sv){text.data + line.len + (end != NULL), text.len - line.len - (end != NULL)};
    }
}
