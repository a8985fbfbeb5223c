// See asm_form.h. What LLVM would stop at (an operand number that does not exist, a value that does
// not fit its register) is found here, before LLVM.
#include "ir/asm_form.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

unsigned asm_register_bits(char letter) {
    switch (letter) {
    case 'h':
    case 'c':
        return 16;
    case 'r':
    case 'f':
        return 32;
    case 'l':
    case 'd':
        return 64;
    default:
        return 0;
    }
}

static unsigned element_bits(dtype t) { return t == DT_PTR ? 64 : t == DT_I1 ? 8 : dtype_bits(t); }

unsigned asm_elements_per_register(dtype t, unsigned pack) {
    unsigned fit = element_bits(t) < 32 ? 32 / element_bits(t) : 1;
    return fit < pack ? fit : pack;
}

/// One constraint; `output` says whether it begins with '='.
static const char *read_constraint(arena *a, sv word, asm_form *out) {
    bool is_output = word.len && word.data[0] == '=';
    sv rest = is_output ? (sv){word.data + 1, word.len - 1} : word;
    if (is_output && rest.len && rest.data[0] == '&')
        rest = (sv){rest.data + 1, rest.len - 1};
    if (sv_is(word, "~{memory}"))
        return NULL;
    bool tied = !is_output && rest.len == 1 && is_digit(rest.data[0]);
    if (rest.len != 1 || (!tied && !asm_register_bits(rest.data[0])))
        return sv_format(a,
                         "'%" SV_FMT "' is no constraint: expected h, r, l, f or d, with '=' in "
                         "front for an output",
                         SV_ARG(word))
            .data;
    char letter = rest.data[0];
    if (tied && (unsigned)(letter - '0') >= out->num_outputs)
        return sv_format(a, "constraint '%c' names an output that does not exist", letter).data;
    if (tied && out->tied >> (letter - '0') & 1)
        return sv_format(a, "two inputs are in the register of output %c", letter).data;
    if (tied) {
        out->tied |= 1u << (letter - '0');
        letter = out->outputs[letter - '0'];
    }
    if (is_output && out->num_inputs)
        return "the outputs come first among the constraints";
    if ((is_output ? out->num_outputs : out->num_inputs) == ASM_MAX_REGISTERS)
        return sv_format(a, "more than %d registers", ASM_MAX_REGISTERS).data;
    if (is_output)
        out->outputs[out->num_outputs++] = letter;
    else
        out->inputs[out->num_inputs++] = letter;
    return NULL;
}

const char *asm_form_read(arena *a, sv constraints, asm_form *out) {
    out->num_outputs = out->num_inputs = out->tied = 0;
    size_t i = 0;
    while (i < constraints.len) {
        size_t end = i;
        while (end < constraints.len && constraints.data[end] != ',')
            end++;
        sv word = {constraints.data + i, end - i};
        while (word.len && word.data[0] == ' ')
            word = (sv){word.data + 1, word.len - 1};
        while (word.len && word.data[word.len - 1] == ' ')
            word.len--;
        const char *problem = read_constraint(a, word, out);
        if (problem)
            return problem;
        i = end + 1;
    }
    return NULL;
}

/// The text may name operands ($0), and nothing else that LLVM gives a meaning.
static const char *check_text(arena *a, sv text, unsigned operands) {
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == 0)
            return "the text contains a NUL character";
        if (text.data[i] != '$')
            continue;
        bool braces = ++i < text.len && text.data[i] == '{';
        i += braces;
        if (i < text.len && text.data[i] == '$' && !braces)
            continue;
        unsigned number = 0, digits = 0;
        for (; i < text.len && is_digit(text.data[i]) && digits < 4; i++, digits++)
            number = 10 * number + (unsigned)(text.data[i] - '0');
        if (!digits || (braces && (i == text.len || text.data[i] != '}')))
            return "a '$' is followed by an operand's number ($0), or by another '$'";
        if (number >= operands)
            return sv_format(a, "there is no operand $%u: the constraints name %u", number,
                             operands)
                .data;
        i -= !braces;
    }
    return NULL;
}

/// The registers of one value: their number is taken from *left, their letters are checked.
static const char *check_value(arena *a, const char *what, unsigned index, ir_type t, unsigned pack,
                               const char *letters, unsigned *used, unsigned total) {
    unsigned each = asm_elements_per_register(t.elem, pack), bits = each * element_bits(t.elem);
    for (unsigned k = 0; k < pack / each; k++, ++*used) {
        if (*used >= total)
            return sv_format(a, "%s %u (%s) needs %u register%s, and the constraints end before",
                             what, index, dtype_name(t.elem), pack / each,
                             pack / each == 1 ? "" : "s")
                .data;
        char letter = letters[*used];
        bool exact = letter == 'f' || letter == 'd';
        if (bits > asm_register_bits(letter) || (exact && bits != asm_register_bits(letter)))
            return sv_format(a, "%s %u gives %u bits, and its constraint '%c' is a register of %u",
                             what, index, bits, letter, asm_register_bits(letter))
                .data;
    }
    return NULL;
}

const char *asm_check(arena *a, const ir_op *op) {
    asm_form form;
    if (op->num_results == 0)
        return "a result is wanted";
    for (uint32_t i = 0; i < op->num_results + op->num_operands; i++)
        if (!ir_shape_equal(op->results[0]->type, i < op->num_results
                                                      ? op->results[i]->type
                                                      : op->operands[i - op->num_results]->type))
            return "all arguments and results have one shape";
    int64_t pack = ir_get_int(op, ATTR_PACK, 1);
    const char *problem = asm_form_read(a, ir_get_str(op, ATTR_CONSTRAINTS), &form);
    if (problem)
        return problem;
    if (pack < 1 || pack > ASM_MAX_PACK || (pack & (pack - 1)))
        return "pack is a power of two, up to 32";
    unsigned outputs = 0, inputs = 0;
    for (uint32_t i = 0; i < op->num_results && !problem; i++)
        problem = check_value(a, "result", i, op->results[i]->type, (unsigned)pack, form.outputs,
                              &outputs, form.num_outputs);
    for (uint32_t i = 0; i < op->num_operands && !problem; i++)
        problem = check_value(a, "argument", i, op->operands[i]->type, (unsigned)pack, form.inputs,
                              &inputs, form.num_inputs);
    if (problem)
        return problem;
    if (outputs != form.num_outputs || inputs != form.num_inputs)
        return sv_format(a,
                         "the constraints name %u outputs and %u inputs, but there are %u and %u "
                         "registers of results and arguments",
                         form.num_outputs, form.num_inputs, outputs, inputs)
            .data;
    return check_text(a, ir_get_str(op, ATTR_TEXT), outputs + inputs);
}
