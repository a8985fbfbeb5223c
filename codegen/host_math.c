// Arithmetic that generated host code calls for: elementary functions, remainders, division of
// integers, and conversions between number formats, each one call per register of 32 lanes (or per scalar, with count 1).
// Elementary functions are the C library's, within an ulp of the exact value. 16-bit and 8-bit
// floats are converted by integer code of our own: the C runtime of some compilers lacks the
// helpers that LLVM would call.
#include "codegen/host_rt.h"

#include <math.h>

#if defined(__GNUC__) && !defined(__clang__)
#define VECTORIZED __attribute__((optimize("O3"))) // these loops are all there is to gain
#else
#define VECTORIZED
#endif

// ---------------------------------------------------------------------------- elementary functions

// Some C libraries' tanhf is off by more than two ulp.
static float tanh_f32(float x) { return (float)tanh((double)x); }
static float rsqrt_f32(float x) { return (float)(1.0 / sqrt((double)x)); }
static double rsqrt_f64(double x) { return 1.0 / sqrt(x); }

typedef struct math_row {
    float (*f32)(float);
    double (*f64)(double);
} math_row;

static const math_row math_rows[IR_OPCODE_COUNT] = {
    [OP_EXP] = {expf, exp},       [OP_EXP2] = {exp2f, exp2},
    [OP_LOG] = {logf, log},       [OP_LOG2] = {log2f, log2},
    [OP_SIN] = {sinf, sin},       [OP_COS] = {cosf, cos},
    [OP_SQRT] = {sqrtf, sqrt},    [OP_RSQRT] = {rsqrt_f32, rsqrt_f64},
    [OP_ERF] = {erff, erf},       [OP_TANH] = {tanh_f32, tanh},
    [OP_FLOOR] = {floorf, floor}, [OP_CEIL] = {ceilf, ceil},
    [OP_RINT] = {rintf, rint},    [OP_TRUNC] = {truncf, trunc},
    [OP_ABS] = {fabsf, fabs},
};

void host_math(uint32_t opcode, uint32_t type, const void *values, void *out, uint32_t count) {
    const math_row *row = &math_rows[opcode];
    if (type == DT_FP64) {
        const double *x = values;
        for (uint32_t i = 0; i < count; i++)
            ((double *)out)[i] = row->f64(x[i]);
    } else {
        const float *x = values;
        for (uint32_t i = 0; i < count; i++)
            ((float *)out)[i] = row->f32(x[i]);
    }
}

// As the GPU has it: x - trunc(x / y) * y, which makes a remainder of zero +0 whatever the sign of
// x, and x itself where y is infinite.
static double remainder_f64(double x, double y) {
    double r = isinf(y) ? x : fmod(x, y);
    return r == 0 && !isinf(y) ? 0.0 : r;
}

static float remainder_f32(float x, float y) {
    float r = isinf(y) ? x : fmodf(x, y);
    return r == 0 && !isinf(y) ? 0.0f : r;
}

void host_remainder(uint32_t type, const void *dividends, const void *divisors, void *out,
                    uint32_t count) {
    const double *x = dividends, *y = divisors;
    const float *xf = dividends, *yf = divisors;
    for (uint32_t i = 0; i < count; i++) {
        if (type == DT_FP64)
            ((double *)out)[i] = remainder_f64(x[i], y[i]);
        else
            ((float *)out)[i] = remainder_f32(xf[i], yf[i]);
    }
}

// ---------------------------------------------------------------------------- integer division

// Total: see docs/codegen.md. The minimum divided by -1 is negated as an unsigned number.
#define DIVIDE(T, is_minus_one)                                                                    \
    do {                                                                                           \
        const T *x = dividends, *y = divisors;                                                     \
        T *to = out;                                                                               \
        for (uint32_t i = 0; i < count; i++) {                                                     \
            if (y[i] == 0)                                                                         \
                to[i] = (T)-1;                                                                     \
            else if (is_minus_one)                                                                 \
                to[i] = rem ? 0 : (T)(0 - (uint64_t)x[i]);                                         \
            else                                                                                   \
                to[i] = (T)(rem ? x[i] % y[i] : x[i] / y[i]);                                      \
        }                                                                                          \
    } while (0)

#define DIVIDE_SIGNED(T) DIVIDE(T, y[i] == -1)
#define DIVIDE_UNSIGNED(T) DIVIDE(T, false)

void host_divide(uint32_t code, const void *dividends, const void *divisors, void *out,
                 uint32_t count) {
    bool rem = code >> 8;
    // clang-format off
    switch ((dtype)(code & 0xff)) {
    case DT_I8: DIVIDE_SIGNED(int8_t); break;
    case DT_I16: DIVIDE_SIGNED(int16_t); break;
    case DT_I32: DIVIDE_SIGNED(int32_t); break;
    case DT_I64: DIVIDE_SIGNED(int64_t); break;
    case DT_U8: DIVIDE_UNSIGNED(uint8_t); break;
    case DT_U16: DIVIDE_UNSIGNED(uint16_t); break;
    case DT_U32: DIVIDE_UNSIGNED(uint32_t); break;
    default: DIVIDE_UNSIGNED(uint64_t); break;
    }
    // clang-format on
}

// ---------------------------------------------------------------------------- shuffles

void host_shuffle(uint32_t bytes, const void *values, const uint32_t *source_lanes, void *out) {
    for (unsigned lane = 0; lane < HOST_LANES; lane++) {
        unsigned from = source_lanes[lane] % HOST_LANES;
        memcpy((char *)out + lane * bytes, (const char *)values + from * bytes, bytes);
    }
}

// ---------------------------------------------------------------------------- 16-bit floats, fast

static float float_from_bits(uint32_t bits) {
    float v;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

static uint32_t bits_of_float(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof(bits));
    return bits;
}

// The exponent is moved from bias 15 to bias 127 by a multiplication, which also makes subnormals
// right; infinities and NaNs keep their mantissa and get the largest exponent.
static uint32_t half_to_float(uint32_t h) {
    uint32_t scaled = bits_of_float(float_from_bits((h & 0x7fff) << 13) * 0x1p112f);
    uint32_t special = (h & 0x7c00) == 0x7c00 ? 0x7f800000u : 0;
    return (h & 0x8000) << 16 | scaled | special;
}

// Rounds to nearest even. Normal results: add just under half an ulp, plus one if the kept part is
// odd, and let the carry run. Subnormal ones: adding 1/2 as a float shifts the bits to their place
// and rounds. Beyond the largest: infinity; NaN: one canonical NaN, as the GPU gives.
static uint32_t float_to_half(uint32_t f) {
    uint32_t sign = f >> 16 & 0x8000, x = f & 0x7fffffff;
    uint32_t normal = (x + 0xc8000fffu + (x >> 13 & 1)) >> 13;
    uint32_t subnormal = bits_of_float(float_from_bits(x) + 0.5f) - 0x3f000000u;
    uint32_t r = x < 0x38800000u ? subnormal : normal;
    r = x >= 0x47800000u ? 0x7c00 : r;
    r = x > 0x7f800000u ? 0x7fff : r;
    return sign | r;
}

static uint32_t float_to_bfloat(uint32_t f) {
    uint32_t rounded = (f + 0x7fff + (f >> 16 & 1)) >> 16;
    return (f & 0x7fffffff) > 0x7f800000u ? 0x7fff : rounded;
}

/// The loop over lanes for one pair of types whose conversion is on 32-bit patterns.
#define CONVERT_LOOP(name, from_type, to_type, fn)                                                 \
    VECTORIZED static void name(uint32_t count, const void *values, void *out) {                   \
        const from_type *x = values;                                                               \
        to_type *y = out;                                                                          \
        for (uint32_t i = 0; i < count; i++)                                                       \
            y[i] = (to_type)fn(x[i]);                                                              \
    }
CONVERT_LOOP(convert_half_to_float, uint16_t, uint32_t, half_to_float)
CONVERT_LOOP(convert_float_to_half, uint32_t, uint16_t, float_to_half)
CONVERT_LOOP(convert_float_to_bfloat, uint32_t, uint16_t, float_to_bfloat)

// ---------------------------------------------------------------------------- everything else

static uint64_t load_bits(const void *values, uint32_t i, unsigned bytes) {
    switch (bytes) {
    case 1:
        return ((const uint8_t *)values)[i];
    case 2:
        return ((const uint16_t *)values)[i];
    case 4:
        return ((const uint32_t *)values)[i];
    default:
        return ((const uint64_t *)values)[i];
    }
}

static void store_bits(void *out, uint32_t i, unsigned bytes, uint64_t bits) {
    switch (bytes) {
    case 1:
        ((uint8_t *)out)[i] = (uint8_t)bits;
        break;
    case 2:
        ((uint16_t *)out)[i] = (uint16_t)bits;
        break;
    case 4:
        ((uint32_t *)out)[i] = (uint32_t)bits;
        break;
    default:
        ((uint64_t *)out)[i] = bits;
        break;
    }
}

static uint64_t round_float(dtype to, double v, bool toward_zero) {
    return toward_zero ? dtype_float_to_bits_rtz(to, v) : dtype_float_to_bits(to, v);
}

// A double has 53 bits. What an integer has beyond them is folded into the last kept bit ("round
// to odd"), so that the second rounding, to a format of at most 24 bits, sees on which side of a
// tie the integer stands.
static double int_to_double_odd(uint64_t bits, bool is_negative) {
    uint64_t magnitude = is_negative ? 0 - bits : bits;
    if (magnitude >> 53)
        magnitude = (magnitude & ~UINT64_C(0xfff)) | (magnitude & 0xfff ? 0x800 : 0);
    double v = (double)magnitude;
    return is_negative ? -v : v;
}

// As the GPU's conversions: toward zero, saturating at the type's width or, below it, at 16 bits,
// of which the low byte is taken. NaN gives 0, but the top bit alone where a double or a 64-bit
// integer is involved.
static uint64_t float_to_int(dtype from, dtype to, double v) {
    if (to == DT_I1)
        return v != 0;
    unsigned bits = dtype_bits(to) < 16 ? 16 : dtype_bits(to);
    if (isnan(v))
        return from == DT_FP64 || bits == 64 ? UINT64_C(1) << (bits - 1) : 0;
    double end = ldexp(1, (int)bits - dtype_is_signed(to));
    if (v >= end)
        return dtype_is_signed(to) ? (UINT64_C(1) << (bits - 1)) - 1 : UINT64_MAX;
    if (!dtype_is_signed(to))
        return v <= 0 ? 0 : (uint64_t)v;
    return v <= -end ? UINT64_C(1) << (bits - 1) : (uint64_t)(int64_t)v;
}

static uint64_t convert_one(dtype from, dtype to, bool toward_zero, uint64_t bits) {
    if (dtype_is_float(from)) {
        double v = dtype_bits_to_float(from, bits);
        return dtype_is_float(to) ? round_float(to, v, toward_zero) : float_to_int(from, to, v);
    }
    int64_t i = dtype_wrap_int(from, (int64_t)bits);
    bool is_negative = dtype_is_signed(from) && i < 0;
    return round_float(to, int_to_double_odd((uint64_t)i, is_negative), toward_zero);
}

void host_convert(uint32_t code, uint32_t count, const void *values, void *out) {
    dtype from = (dtype)(code & 0xff), to = (dtype)(code >> 8 & 0xff);
    bool toward_zero = code >> 16 & 1;
    if (from == DT_FP16 && to == DT_FP32) {
        convert_half_to_float(count, values, out);
    } else if (from == DT_FP32 && to == DT_FP16 && !toward_zero) {
        convert_float_to_half(count, values, out);
    } else if (from == DT_FP32 && to == DT_BF16 && !toward_zero) {
        convert_float_to_bfloat(count, values, out);
    } else {
        for (uint32_t i = 0; i < count; i++) {
            uint64_t bits = load_bits(values, i, dtype_bytes(from));
            store_bits(out, i, dtype_bytes(to), convert_one(from, to, toward_zero, bits));
        }
    }
}
