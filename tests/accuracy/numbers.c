// Numbers of every float type, by their definition: precision, least and greatest exponent.
#include "accuracy.h"

#include <math.h>
#include <string.h>

typedef struct format {
    unsigned bytes;
    int precision, least, greatest; ///< bits of the mantissa; exponents of normal numbers
} format;

static const format formats[TYPES] = {
    {2, 11, -14, 15}, {2, 8, -126, 127}, {4, 24, -126, 127}, {8, 53, -1022, 1023}};
const char *const type_names[TYPES] = {"fp16", "bf16", "fp32", "fp64"};

size_t type_bytes(number_type t) { return formats[t].bytes; }

static double double_of(uint64_t bits) {
    double v;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

static uint64_t bits_of_double(double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    return bits;
}

/// 2^e for the exponents of normal doubles.
static double power_of_two(int e) { return double_of((uint64_t)(e + 1023) << 52); }

/// The exponent of the last place of v in the type.
static int last_place(const format *f, double v) {
    int e = (int)(bits_of_double(v) >> 52 & 0x7ff) - 1023;
    return (e < f->least ? f->least : e) - f->precision + 1;
}

double number_of(number_type t, uint64_t bits) {
    if (t == FP64)
        return double_of(bits);
    if (t != FP16) {
        uint32_t low = (uint32_t)(t == BF16 ? bits << 16 : bits);
        float v;
        memcpy(&v, &low, sizeof(v));
        return v;
    }
    int e = bits >> 10 & 31, m = bits & 1023;
    double v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return bits & 0x8000 ? -v : v;
}

double round_to(number_type t, double v) {
    const format *f = &formats[t];
    if (t == FP64 || isnan(v) || isinf(v) || v == 0)
        return v;
    double unit = power_of_two(last_place(f, v));
    double r = copysign(nearbyint(v / unit) * unit, v);
    return fabs(r) > power_of_two(f->greatest) * 2 * (1 - power_of_two(-f->precision))
               ? copysign(INFINITY, v)
               : r;
}

uint64_t bits_of(number_type t, double v) {
    if (t == FP64)
        return bits_of_double(v);
    if (t != FP16) {
        float narrow = (float)v;
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof(bits));
        return t == BF16 ? bits >> 16 : bits;
    }
    uint64_t sign = signbit(v) ? 0x8000 : 0;
    if (isnan(v) || isinf(v))
        return sign | (isnan(v) ? 0x7e00 : 0x7c00);
    int place = last_place(&formats[FP16], v);
    uint64_t m = (uint64_t)fabs(ldexp(v, -place)); // below 1024: subnormal
    return sign | (m < 1024 ? m : ((uint64_t)(place + 24) << 10) + m);
}

double ulps(number_type t, double got, double want) {
    const format *f = &formats[t];
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want) ? 0 : INFINITY;
    double end = power_of_two(f->greatest) * 2;
    got = fabs(got) > end ? copysign(end, got) : got;
    want = fabs(want) > end ? copysign(end, want) : want;
    double largest = fabs(want) == end ? end / 2 : want; // the last place before the end
    return fabs(got - want) / power_of_two(last_place(f, largest));
}

double ulps_wide(double got, long double want) {
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want) ? 0 : INFINITY;
    long double end = 0x1p1024L, value = isinf(got) ? copysignl(end, got) : (long double)got;
    want = fabsl(want) > end ? copysignl(end, want) : want;
    int e = want == 0 ? -1022 : ilogbl(want);
    e = e < -1022 ? -1022 : e > 1023 ? 1023 : e;
    return (double)ldexpl(fabsl(value - want), 52 - e);
}

bool same(double got, double want) {
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want);
    return got == want && !signbit(got) == !signbit(want);
}
