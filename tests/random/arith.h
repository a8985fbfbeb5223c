// Arithmetic on single elements, as the language defines it: wrap-around integers, rounding to
// nearest even, conversions as the GPU makes them. Floats of all types are held as double.
#ifndef TILE_RANDOM_ARITH_H
#define TILE_RANDOM_ARITH_H

#include "tree.h"

/// An integer (sign-extended if signed, else zero-extended) or a float.
typedef union cell {
    int64_t i;
    double f;
} cell;

/// Is the result one that every correct lowering gives, bit for bit?
typedef enum exactness {
    EXACT,
    ROUNDED,   ///< correctly rounded: may be used, but not summed in another order
    UNSETTLED, ///< depends on the lowering (contraction, fast division, a zero divisor)
} exactness;

cell wrap_int(elem t, int64_t v);
double round_to(elem t, double v);
/// Toward zero instead; what is too large becomes the largest finite number.
double chop_to(elem t, double v);
exactness convert(elem from, elem to, cell v, cell *out);
/// Both operands of type t; comparisons give 0 or 1, `/` of integers an fp32.
exactness apply_binary(op o, elem t, cell a, cell b, cell *out);
exactness apply_unary(op o, elem t, cell a, cell *out);
exactness apply_fma(elem t, cell a, cell b, cell c, cell *out);
double apply_math(op o, double v);
/// The bits of v in memory, and back.
uint64_t to_bits(elem t, cell v);
cell from_bits(elem t, uint64_t bits);

#endif
