// The element types of the language in plain C, for tests: what a pattern of bits is worth, and
// which pattern a value rounds to. It works in the domain of values (scale to an integer, round
// that), on purpose unlike the library, which works on bits. long double holds every value of every
// type exactly, and more than twice the digits of fp32, so that arithmetic in it rounds once.
#ifndef TILE_TESTS_NUMBERS_H
#define TILE_TESTS_NUMBERS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef enum num_type {
    I1,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    E4NV,
    E5,
    F16,
    B16,
    F32,
    F64,
    NUM_TYPES
} num_type;

static const struct num_info {
    const char *name, *long_name;
    unsigned bits, bytes;
    bool is_float, is_signed;
    int mantissa, bias; // of floats
    double largest;
    uint64_t nan;
} nums[NUM_TYPES] = {
    [I1] = {"i1", "int1", 1, 1, false, false, 0, 0, 0, 0},
    [I8] = {"i8", "int8", 8, 1, false, true, 0, 0, 0, 0},
    [I16] = {"i16", "int16", 16, 2, false, true, 0, 0, 0, 0},
    [I32] = {"i32", "int32", 32, 4, false, true, 0, 0, 0, 0},
    [I64] = {"i64", "int64", 64, 8, false, true, 0, 0, 0, 0},
    [U8] = {"u8", "uint8", 8, 1, false, false, 0, 0, 0, 0},
    [U16] = {"u16", "uint16", 16, 2, false, false, 0, 0, 0, 0},
    [U32] = {"u32", "uint32", 32, 4, false, false, 0, 0, 0, 0},
    [U64] = {"u64", "uint64", 64, 8, false, false, 0, 0, 0, 0},
    [E4NV] = {"fp8e4nv", "float8e4nv", 8, 1, true, true, 3, 7, 448, 0x7f},
    [E5] = {"fp8e5", "float8e5", 8, 1, true, true, 2, 15, 57344, 0x7f},
    [F16] = {"fp16", "float16", 16, 2, true, true, 10, 15, 65504, 0x7fff},
    [B16] = {"bf16", "bfloat16", 16, 2, true, true, 7, 127, 0x1.fep127, 0x7fff},
    [F32] = {"fp32", "float32", 32, 4, true, true, 23, 127, 0x1.fffffep127, 0x7fffffff},
    [F64] = {"fp64", "float64", 64, 8, true, true, 52, 1023, 0x1.fffffffffffffp1023,
             0x7fffffffffffffff},
};

static inline bool is_fp8(num_type t) { return nums[t].is_float && nums[t].bits == 8; }

static inline uint64_t num_mask(num_type t) {
    return nums[t].bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << nums[t].bits) - 1;
}

static inline uint64_t num_load(num_type t, const void *data, size_t i) {
    uint64_t v = 0;
    memcpy(&v, (const char *)data + i * nums[t].bytes, nums[t].bytes);
    return v;
}

static inline void num_store(num_type t, void *data, size_t i, uint64_t bits) {
    memcpy((char *)data + i * nums[t].bytes, &bits, nums[t].bytes);
}

/// An integer's bits as a 64-bit integer of the same value.
static inline int64_t num_extend(num_type t, uint64_t bits) {
    unsigned shift = 64 - nums[t].bits;
    return nums[t].is_signed ? (int64_t)(bits << shift) >> shift
                             : (int64_t)(bits << shift >> shift);
}

static inline long double num_value(num_type t, uint64_t bits) {
    if (!nums[t].is_float) {
        int64_t v = num_extend(t, bits);
        return nums[t].is_signed ? (long double)v : (long double)(uint64_t)v;
    }
    int k = nums[t].mantissa;
    uint64_t fraction = bits & ((UINT64_C(1) << k) - 1);
    uint64_t sign = bits >> (nums[t].bits - 1) & 1;
    int field = (int)((bits & num_mask(t) >> 1) >> k),
        top = (1 << (nums[t].bits - 1 - (unsigned)k)) - 1;
    long double v;
    if (t == E4NV ? field == top && fraction == 7 : field == top)
        v = fraction ? (long double)NAN : (long double)INFINITY;
    else if (field == 0)
        v = ldexpl((long double)fraction, 1 - nums[t].bias - k);
    else
        v = ldexpl((long double)(fraction | UINT64_C(1) << k), field - nums[t].bias - k);
    return sign ? -v : v;
}

static inline bool num_is_nan(num_type t, uint64_t bits) {
    return nums[t].is_float && isnan(num_value(t, bits));
}

/// The float type's bits for a value: to nearest even, or (rtz) towards zero. What is too large
/// becomes infinite, in fp8 the largest finite number; fp8e5 keeps its infinities under rtz.
static inline uint64_t num_round(num_type t, long double v, bool rtz) {
    if (isnan(v))
        return nums[t].nan;
    uint64_t sign = (uint64_t)(signbit(v) != 0) << (nums[t].bits - 1);
    int k = nums[t].mantissa, least = 1 - nums[t].bias;
    long double size = fabsl(v), largest = (long double)nums[t].largest;
    uint64_t infinity = num_mask(t) >> 1 >> k << k; // exponent bits only
    if (isinf(v) && !is_fp8(t))
        return sign | infinity;
    if (isinf(v) && t == E5 && rtz)
        return sign | infinity;
    if (size == 0)
        return sign;
    int exponent = isinf(v) ? 20000 : ilogbl(size);
    if (exponent < 2000) { // to a multiple of the last place
        int last = (exponent < least ? least : exponent) - k;
        long double steps = ldexpl(size, -last);
        size = ldexpl(rtz ? floorl(steps) : rintl(steps), last);
    }
    if (size > largest) {
        if (!rtz && !is_fp8(t))
            return sign | infinity;
        size = largest;
    }
    if (size < ldexpl(1, least))
        return sign | (uint64_t)ldexpl(size, k - least);
    exponent = ilogbl(size);
    uint64_t fraction = (uint64_t)ldexpl(size, k - exponent) - (UINT64_C(1) << k);
    return sign | (uint64_t)(exponent + nums[t].bias) << k | fraction;
}

/// A float to an integer as GPUs convert: towards zero, saturating at 16 bits or the wider type;
/// 8-bit types take the low byte of 16 bits. NaN: 0, or the top bit where 64 bits take part.
static inline uint64_t num_float_to_int(num_type from, num_type to, long double v) {
    unsigned bits = nums[to].bits < 16 ? 16 : nums[to].bits;
    bool is_signed = nums[to].is_signed;
    if (to == I1)
        return v != 0;
    if (isnan(v))
        return (from == F64 || bits == 64 ? UINT64_C(1) << (bits - 1) : 0) & num_mask(to);
    long double low = is_signed ? -ldexpl(1, (int)bits - 1) : 0;
    long double high = ldexpl(1, (int)bits - is_signed) - 1;
    v = truncl(v);
    v = v < low ? low : v > high ? high : v;
    return (v < 0 ? (uint64_t)(int64_t)v : (uint64_t)v) & num_mask(to);
}

static inline uint64_t num_convert(num_type from, num_type to, uint64_t bits, bool rtz) {
    if (from == to)
        return bits;
    if (nums[to].is_float)
        return num_round(to, num_value(from, bits), rtz);
    if (nums[from].is_float)
        return num_float_to_int(from, to, num_value(from, bits));
    return to == I1 ? (bits & num_mask(from)) != 0
                    : (uint64_t)num_extend(from, bits) & num_mask(to);
}

/// Equal, or both NaN: which NaN is nobody's promise.
static inline bool num_same(num_type t, uint64_t a, uint64_t b) {
    return a == b || (num_is_nan(t, a) && num_is_nan(t, b));
}

/// How many numbers of the type lie between two of them, and one.
static inline uint64_t num_distance(num_type t, uint64_t a, uint64_t b) {
    uint64_t sign = UINT64_C(1) << (nums[t].bits - 1);
    int64_t x = (int64_t)(a & (sign - 1)), y = (int64_t)(b & (sign - 1));
    x = a & sign ? -x : x;
    y = b & sign ? -y : y;
    return (uint64_t)(x > y ? x - y : y - x);
}

#endif
