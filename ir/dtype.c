// Element types: their names, their integer ranges, and the exact conversion between the bits of
// a float format and double. Every format here is narrower than or equal to double, so decoding is
// exact and encoding rounds once. Constants in tile IR, folding and the cpu device's 16-bit floats
// all go through these two functions; tests/unit/test_dtype.c checks every 16-bit pattern.
#include "ir/dtype.h"

#include <math.h>
#include <string.h>

typedef struct dtype_info {
    const char *name;
    unsigned name_len, bits, bytes;
    dtype_kind kind;
} dtype_info;

static const dtype_info infos[DTYPE_COUNT] = {
#define X(id, name, bits, bytes, kind) [id] = {name, sizeof(name) - 1, bits, bytes, kind},
    DTYPES(X)
#undef X
};

static const struct {
    const char *name;
    dtype type;
} long_names[] = {
    {"int1", DT_I1},
    {"int8", DT_I8},
    {"int16", DT_I16},
    {"int32", DT_I32},
    {"int64", DT_I64},
    {"uint8", DT_U8},
    {"uint16", DT_U16},
    {"uint32", DT_U32},
    {"uint64", DT_U64},
    {"float8e5", DT_FP8E5},
    {"float16", DT_FP16},
    {"float32", DT_FP32},
    {"float8e4nv", DT_FP8E4NV},
    {"float64", DT_FP64},
    {"bfloat16", DT_BF16},
};

const char *dtype_name(dtype t) { return infos[t].name; }

const char *dtype_long_name(dtype t) {
    for (size_t i = 0; i < sizeof(long_names) / sizeof(long_names[0]); i++)
        if (long_names[i].type == t)
            return long_names[i].name;
    return "";
}

unsigned dtype_bits(dtype t) { return infos[t].bits; }
unsigned dtype_bytes(dtype t) { return infos[t].bytes; }
dtype_kind dtype_get_kind(dtype t) { return infos[t].kind; }

dtype dtype_from_name(sv name) { // launches call this
    for (int t = DT_VOID + 1; t < DT_PTR; t++)
        if (name.len == infos[t].name_len && !memcmp(name.data, infos[t].name, name.len))
            return (dtype)t;
    for (size_t i = 0; i < sizeof(long_names) / sizeof(long_names[0]); i++)
        if (sv_is(name, long_names[i].name))
            return long_names[i].type;
    return DT_VOID;
}

int64_t dtype_wrap_int(dtype t, int64_t v) {
    unsigned bits = infos[t].bits;
    if (bits == 0 || bits >= 64)
        return v;
    uint64_t low = (uint64_t)v & ((UINT64_C(1) << bits) - 1);
    bool negative = dtype_is_signed(t) && (low >> (bits - 1)) != 0;
    return (int64_t)(negative ? low | ~((UINT64_C(1) << bits) - 1) : low);
}

bool dtype_int_fits(dtype t, int64_t v, bool is_unsigned) {
    if (!dtype_is_int(t))
        return false;
    if (is_unsigned && v < 0) // above INT64_MAX
        return t == DT_U64;
    if (t == DT_U64)
        return v >= 0;
    return dtype_wrap_int(t, v) == v;
}

// A binary float format: sign, then `exponent` bits of bias `bias`, then `mantissa` bits.
typedef struct float_format {
    unsigned bits, mantissa;
    int bias;
    uint64_t max_finite; // bit pattern of the largest finite value
    uint64_t nan;
    bool saturates; // too large, or infinite, becomes max_finite
} float_format;

static const float_format *get_format(dtype t) {
    static const float_format formats[DTYPE_COUNT] = {
        [DT_FP8E4NV] = {8, 3, 7, 0x7e, 0x7f, true},
        [DT_FP8E5] = {8, 2, 15, 0x7b, 0x7f, true},
        [DT_FP16] = {16, 10, 15, 0x7bff, 0x7e00, false},
        [DT_BF16] = {16, 7, 127, 0x7f7f, 0x7fc0, false},
        [DT_FP32] = {32, 23, 127, 0x7f7fffff, 0x7fc00000, false},
    };
    return &formats[t];
}

// The code of |v|, finite and not 0: exponent and mantissa fields, rounded to nearest even. The
// carry of the rounding runs from the mantissa into the exponent by itself, and from the
// subnormals into the smallest normal number as well.
static uint64_t encode_magnitude(const float_format *f, double v) {
    int exponent;
    double fraction = frexp(fabs(v), &exponent); // v = fraction * 2^exponent, fraction in [.5, 1)
    uint64_t significand = (uint64_t)ldexp(fraction, 53);
    exponent--; // v = 1.xxx * 2^exponent
    int least = 1 - f->bias;
    bool subnormal = exponent < least;
    unsigned drop = 52 - f->mantissa + (subnormal ? (unsigned)(least - exponent) : 0);
    if (drop > 60)
        return 0;
    uint64_t kept = significand >> drop;
    uint64_t rest = significand & ((UINT64_C(1) << drop) - 1);
    uint64_t half = UINT64_C(1) << (drop - 1);
    if (rest > half || (rest == half && (kept & 1)))
        kept++;
    if (subnormal)
        return kept;
    return ((uint64_t)(exponent + f->bias - 1) << f->mantissa) + kept;
}

uint64_t dtype_float_to_bits(dtype t, double v) {
    if (t == DT_FP64) {
        uint64_t bits;
        memcpy(&bits, &v, sizeof(bits));
        return bits;
    }
    if (!dtype_is_float(t))
        return 0;
    const float_format *f = get_format(t);
    if (isnan(v))
        return f->nan;
    uint64_t sign = (uint64_t)(signbit(v) != 0) << (f->bits - 1);
    if (v == 0)
        return sign;
    uint64_t code = isinf(v) ? f->max_finite + 1 : encode_magnitude(f, v);
    if (code > f->max_finite)
        code = f->saturates ? f->max_finite : f->max_finite + 1;
    return sign | code;
}

// Codes count up in magnitude, so the step toward zero is one less.
uint64_t dtype_float_to_bits_rtz(dtype t, double v) {
    uint64_t bits = dtype_float_to_bits(t, v);
    if (isnan(v))
        return bits;
    if (isinf(v))
        return t == DT_FP8E5 ? bits + 1 : bits;
    return fabs(dtype_bits_to_float(t, bits)) > fabs(v) ? bits - 1 : bits;
}

double dtype_bits_to_float(dtype t, uint64_t bits) {
    if (t == DT_FP64) {
        double v;
        memcpy(&v, &bits, sizeof(v));
        return v;
    }
    if (!dtype_is_float(t))
        return 0;
    const float_format *f = get_format(t);
    uint64_t sign = UINT64_C(1) << (f->bits - 1);
    uint64_t code = bits & (sign - 1);
    double v;
    if (code > f->max_finite) {
        // e4m3fn has no infinity: the one code above its largest value is NaN.
        bool infinite = code == f->max_finite + 1 && t != DT_FP8E4NV;
        v = infinite ? (double)INFINITY : (double)NAN;
    } else {
        uint64_t mantissa = code & ((UINT64_C(1) << f->mantissa) - 1);
        int exponent = (int)(code >> f->mantissa);
        if (exponent > 0)
            mantissa |= UINT64_C(1) << f->mantissa;
        else
            exponent = 1;
        v = ldexp((double)mantissa, exponent - f->bias - (int)f->mantissa);
    }
    return bits & sign ? -v : v;
}
