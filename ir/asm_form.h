// Inline assembly: what its constraints say. Outputs come first ("=r,=r,r,r"), one letter for each
// register. A register holds one element of 32 bits or more, or as many smaller ones as fit, but no
// more than are worked on together: with pack = 4, an operand of fp16 is two registers, one of fp32
// is four.
#ifndef TILE_IR_ASM_FORM_H
#define TILE_IR_ASM_FORM_H

#include "ir/ir.h"

enum { ASM_MAX_REGISTERS = 128, ASM_MAX_PACK = 32 };

/// The letters of the registers: h (16 bits), r (32), l (64), f (fp32), d (fp64).
typedef struct asm_form {
    char outputs[ASM_MAX_REGISTERS], inputs[ASM_MAX_REGISTERS];
    unsigned num_outputs, num_inputs;
    unsigned tied; ///< bit i: an input is in the register of output i
} asm_form;

/// Reads constraints; NULL, or what is wrong with them.
const char *asm_form_read(arena *a, sv constraints, asm_form *out);
unsigned asm_register_bits(char letter);
/// Elements of a type in one register.
unsigned asm_elements_per_register(dtype t, unsigned pack);
/// NULL, or what is wrong with the text, the constraints, or with what is passed and returned.
const char *asm_check(arena *a, const ir_op *op);

#endif
