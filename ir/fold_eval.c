// Elementwise ops on constants, with the results the hardware gives (docs/ir.md: ints wrap, shifts
// by the width or more give 0 or the sign, conversions saturate). Nothing is guessed: where two
// machines, or two correct ways to lower an op, could differ in a bit, evaluation refuses and the
// op stays. So exp and its kin are never folded, nor the remainder of floats, nor anything that
// gives a NaN.
//
// Rounding: fp32 and fp64 are computed in their own type. Narrower formats are computed in double
// and rounded to the format; for + - * that is the same as rounding once, since double has more
// than twice their digits and two more (likewise when the hardware goes through fp32).
#include "ir/fold.h"

#include <math.h>

// --- integers

static uint64_t mask_of(dtype t) {
    return dtype_bits(t) == 64 ? ~UINT64_C(0) : (UINT64_C(1) << dtype_bits(t)) - 1;
}

static uint64_t high_half(dtype t, uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)(product >> dtype_bits(t));
}

static uint64_t reversed(uint64_t a) {
    uint64_t r = 0;
    for (unsigned i = 0; i < 64; i++)
        r |= (a >> i & 1) << (63 - i);
    return r;
}

// Quotient or remainder; b is not 0. The one signed overflow wraps.
static int64_t divide(dtype t, bool quotient, int64_t a, int64_t b) {
    if (!dtype_is_signed(t)) {
        uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
        return (int64_t)(quotient ? ua / ub : ua % ub);
    }
    if (b == -1)
        return quotient ? (int64_t)(0 - (uint64_t)a) : 0;
    return quotient ? a / b : a % b;
}

static bool int_less(dtype t, int64_t a, int64_t b) {
    return dtype_is_signed(t) ? a < b : (uint64_t)a < (uint64_t)b;
}

// Operands are canonical (dtype_wrap_int); the result is wrapped by the caller.
static bool evaluate_int(ir_opcode opcode, dtype t, int64_t a, int64_t b, int64_t *out) {
    uint64_t ua = (uint64_t)a & mask_of(t), ub = (uint64_t)b & mask_of(t);
    unsigned width = dtype_bits(t);
    uint64_t r;
    switch ((int)opcode) {
    case OP_ADD:
        r = ua + ub;
        break;
    case OP_SUB:
        r = ua - ub;
        break;
    case OP_MUL:
        r = ua * ub;
        break;
    case OP_AND:
        r = ua & ub;
        break;
    case OP_OR:
        r = ua | ub;
        break;
    case OP_XOR:
        r = ua ^ ub;
        break;
    case OP_SHL:
        r = ub < width ? ua << ub : 0;
        break;
    case OP_SHR:
        if (dtype_is_signed(t)) // a is sign-extended; >> of a negative is arithmetic in gcc, clang
            r = (uint64_t)(a >> (ub < width ? ub : width - 1));
        else
            r = ub < width ? ua >> ub : 0;
        break;
    case OP_MIN:
        r = (uint64_t)(int_less(t, b, a) ? b : a);
        break;
    case OP_MAX:
        r = (uint64_t)(int_less(t, a, b) ? b : a);
        break;
    case OP_NEG:
        r = 0 - ua;
        break;
    case OP_ABS:
        r = (uint64_t)(dtype_is_signed(t) && a < 0 ? (int64_t)(0 - (uint64_t)a) : a);
        break;
    case OP_UMULHI:
        r = high_half(t, ua, ub);
        break;
    case OP_POPC:
        r = (uint64_t)__builtin_popcountll(ua);
        break;
    case OP_CLZ:
        r = ua ? (uint64_t)__builtin_clzll(ua) - (64 - width) : width;
        break;
    case OP_BREV:
        r = reversed(ua) >> (64 - width);
        break;
    case OP_DIV:
    case OP_REM:
        if (b == 0)
            return false;
        r = (uint64_t)divide(t, opcode == OP_DIV, a, b);
        break;
    default:
        return false;
    }
    *out = (int64_t)r;
    return true;
}

// --- floats

// -0 < +0, a NaN loses unless it wins over all.
static double float_extreme(bool max, bool nan_wins, double a, double b) {
    if (isnan(a) || isnan(b))
        return nan_wins ? (double)NAN : isnan(a) ? b : a;
    if (a == b)
        return (signbit(a) != 0) == max ? b : a;
    return (a < b) == max ? b : a;
}

// a / b where every lowering agrees: rounded to nearest if precise or fp64, else exact only.
static bool float_quotient(const ir_op *op, dtype t, double a, double b, double *out) {
    if (b == 0 || !isfinite(a) || !isfinite(b))
        return false;
    bool rounded = t == DT_FP64 || (t == DT_FP32 && ir_get_flag(op, ATTR_PRECISE));
    double q = t == DT_FP64 ? a / b : (double)((float)a / (float)b);
    // A quotient in the format's digits times b is exact in double, so this test is, too.
    if (!rounded && (dtype_bits_to_float(t, dtype_float_to_bits(t, q)) != q || q * b != a))
        return false;
    *out = q;
    return true;
}

static bool evaluate_float(const ir_op *op, dtype t, const double *x, double *out) {
    double a = x[0], b = op->num_operands > 1 ? x[1] : 0;
    bool is_float = t == DT_FP32;
    switch ((int)op->opcode) {
    case OP_ADD:
        *out = is_float ? (double)((float)a + (float)b) : a + b;
        break;
    case OP_SUB:
        *out = is_float ? (double)((float)a - (float)b) : a - b;
        break;
    case OP_MUL:
        *out = is_float ? (double)((float)a * (float)b) : a * b;
        break;
    case OP_DIV:
        return float_quotient(op, t, a, b, out);
    case OP_MIN:
    case OP_MAX:
        *out = float_extreme(op->opcode == OP_MAX, ir_find_attr(op, ATTR_NAN) != NULL, a, b);
        break;
    case OP_FMA:
        if (t != DT_FP32 && t != DT_FP64)
            return false;
        *out = is_float ? (double)fmaf((float)a, (float)b, (float)x[2]) : fma(a, b, x[2]);
        break;
    case OP_FLOOR:
        *out = floor(a);
        break;
    case OP_CEIL:
        *out = ceil(a);
        break;
    case OP_RINT:
        *out = nearbyint(a);
        break;
    case OP_TRUNC:
        *out = trunc(a);
        break;
    default:
        return false;
    }
    return !isnan(*out);
}

// --- comparisons and conversions

static bool evaluate_cmp(const ir_op *op, dtype t, const uint64_t *x, uint64_t *out) {
    bool less, equal, unordered = false;
    if (dtype_is_float(t)) {
        double a = dtype_bits_to_float(t, x[0]), b = dtype_bits_to_float(t, x[1]);
        less = a < b;
        equal = a == b;
        unordered = isnan(a) || isnan(b);
    } else {
        int64_t a = dtype_wrap_int(t, (int64_t)x[0]), b = dtype_wrap_int(t, (int64_t)x[1]);
        less = int_less(t, a, b);
        equal = a == b;
    }
    bool greater = !less && !equal && !unordered;
    const struct {
        const char *pred;
        bool holds;
    } table[] = {{"eq", equal},         {"ne", !equal},  {"lt", less},
                 {"le", less || equal}, {"gt", greater}, {"ge", greater || equal}};
    sv pred = ir_get_str(op, ATTR_PRED);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (sv_is(pred, table[i].pred)) {
            *out = table[i].holds;
            return true;
        }
    return false;
}

// Toward zero. What is out of range, and NaN, is the machine's to convert: GPUs differ by type.
static bool float_to_int(dtype t, double v, uint64_t *out) {
    if (t == DT_I1) {
        *out = v != 0; // NaN is
        return true;
    }
    bool is_signed = dtype_is_signed(t);
    double above = ldexp(1, (int)dtype_bits(t) - is_signed); // first value too large
    v = trunc(v);
    if (!(v < above) || !(is_signed ? v >= -above : v >= 0))
        return false;
    *out = is_signed ? (uint64_t)(int64_t)v & mask_of(t) : (uint64_t)v;
    return true;
}

static bool int_to_float(dtype from, dtype to, int64_t v, uint64_t *out) {
    bool is_signed = dtype_is_signed(from);
    double wide = is_signed ? (double)v : (double)(uint64_t)v;
    if (to == DT_FP32) {
        float f = is_signed ? (float)v : (float)(uint64_t)v;
        wide = (double)f;
    } else if (to != DT_FP64 && fabs(wide) >= 0x1p53) {
        return false; // rounded once already
    }
    *out = dtype_float_to_bits(to, wide);
    return true;
}

static bool evaluate_cast(const ir_op *op, dtype from, dtype to, uint64_t x, uint64_t *out) {
    if (from == to) {
        *out = x;
        return true;
    }
    if (dtype_is_int(from)) {
        int64_t v = dtype_wrap_int(from, (int64_t)x);
        if (dtype_is_float(to))
            return int_to_float(from, to, v, out);
        *out = to == DT_I1 ? v != 0 : (uint64_t)v & mask_of(to);
        return dtype_is_int(to);
    }
    if (!dtype_is_float(from))
        return false;
    double v = dtype_bits_to_float(from, x);
    if (dtype_is_int(to))
        return float_to_int(to, v, out);
    if (isnan(v) || !dtype_is_float(to))
        return false;
    bool rtz = ir_find_attr(op, ATTR_ROUND) != NULL;
    *out = rtz ? dtype_float_to_bits_rtz(to, v) : dtype_float_to_bits(to, v);
    return true;
}

bool fold_evaluate(const ir_op *op, const uint64_t *x, uint64_t *result) {
    dtype t = op->operands[0]->type.elem, to = op->results[0]->type.elem;
    if (t == DT_PTR || to == DT_PTR)
        return false;
    uint64_t sign = UINT64_C(1) << (dtype_bits(t) - 1);
    switch ((int)op->opcode) {
    case OP_CMP:
        return evaluate_cmp(op, t, x, result);
    case OP_CAST:
        return evaluate_cast(op, t, to, x[0], result);
    case OP_BITCAST:
        *result = x[0];
        return true;
    case OP_SELECT:
        *result = x[0] ? x[1] : x[2];
        return true;
    default:
        break;
    }
    if (dtype_is_float(t)) {
        if (op->opcode == OP_NEG || op->opcode == OP_ABS) { // of the bits, NaN and -0 included
            *result = op->opcode == OP_NEG ? x[0] ^ sign : x[0] & ~sign;
            return true;
        }
        double values[3] = {0};
        for (uint32_t i = 0; i < op->num_operands && i < 3; i++)
            values[i] = dtype_bits_to_float(t, x[i]);
        double v;
        if (!evaluate_float(op, t, values, &v))
            return false;
        *result = dtype_float_to_bits(t, v);
        return true;
    }
    int64_t a = dtype_wrap_int(t, (int64_t)x[0]);
    int64_t b = op->num_operands > 1 ? dtype_wrap_int(t, (int64_t)x[1]) : 0, r;
    if (!evaluate_int(op->opcode, t, a, b, &r))
        return false;
    *result = (uint64_t)r & mask_of(t);
    return true;
}
