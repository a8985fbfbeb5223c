// Triton's promotion: in which element type a binary operator computes. Python numbers are weak:
// they take the other side's type when their kind (bool < int < float) is not above it. Between
// strong types the rules are Triton's own, not C's: fp16 wins over bf16 and over any integer, bf16
// with anything but bf16 becomes fp32, and small integers are not widened to 32 bits. `/` and `%`
// of 16-bit floats compute in fp32. The table ../shared/cases/tables/types.tsv is the reference;
// tests/unit/test_promote.c reads it.
#include "frontend/lower.h"

/// bool < int < float.
static int kind_rank(dtype t) {
    if (t == DT_I1)
        return 0;
    return dtype_is_int(t) ? 1 : 2;
}

static bool is_fp8(dtype t) { return t == DT_FP8E4NV || t == DT_FP8E5; }

/// `/` and `%` of 16-bit floats compute in fp32.
static dtype widen_for_division(bool division, dtype t) {
    return division && (t == DT_FP16 || t == DT_BF16) ? DT_FP32 : t;
}

/// At least one side is a float.
static dtype promote_floats(bool division, dtype x, dtype y) {
    if (x == DT_FP64 || y == DT_FP64)
        return DT_FP64;
    if (x == DT_FP32 || y == DT_FP32)
        return DT_FP32;
    if (x == DT_FP16 || y == DT_FP16)
        return widen_for_division(division, DT_FP16);
    if (x == DT_BF16 || y == DT_BF16)
        return x == y ? widen_for_division(division, DT_BF16) : DT_FP32;
    if (is_fp8(x) && is_fp8(y))
        return x == y ? x : DT_FP16;
    return DT_VOID; // fp8 with an integer
}

/// C's usual conversions without promotion to int.
static dtype promote_ints(bool division, dtype x, dtype y) {
    unsigned x_bits = dtype_bits(x), y_bits = dtype_bits(y);
    if (dtype_is_signed(x) == dtype_is_signed(y))
        return x_bits >= y_bits ? x : y;
    if (division)
        return DT_VOID;
    if (dtype_is_signed(x))
        return y_bits >= x_bits ? y : x;
    return x_bits >= y_bits ? x : y;
}

static bool is_integer_op(ast_op op) {
    switch (op) {
    case AST_FLOORDIV:
    case AST_LSHIFT:
    case AST_RSHIFT:
    case AST_BITAND:
    case AST_BITOR:
    case AST_BITXOR:
        return true;
    default:
        return false;
    }
}

/// The type in which x op y is computed, before `/` of integers turns into a float division.
static dtype common_type(bool division, dtype x, bool x_weak, dtype y, bool y_weak) {
    if (x_weak != y_weak) {
        dtype weak = x_weak ? x : y, strong = x_weak ? y : x;
        if (kind_rank(weak) <= kind_rank(strong))
            return widen_for_division(division, strong);
    }
    if (dtype_is_float(x) || dtype_is_float(y))
        return promote_floats(division, x, y);
    return promote_ints(division, x, y);
}

dtype promote_binary(ast_op op, dtype x, bool x_weak, dtype y, bool y_weak) {
    bool is_number[2] = {dtype_is_int(x) || dtype_is_float(x),
                         dtype_is_int(y) || dtype_is_float(y)};
    if (!is_number[0] || !is_number[1] || op == AST_POW || op == AST_MATMUL)
        return DT_VOID;
    if (is_integer_op(op) && (dtype_is_float(x) || dtype_is_float(y)))
        return DT_VOID;
    bool division = op == AST_DIV || op == AST_FLOORDIV || op == AST_MOD;
    dtype common = common_type(division, x, x_weak, y, y_weak);
    if (op == AST_DIV && dtype_is_int(common))
        return DT_FP32;
    return common;
}
