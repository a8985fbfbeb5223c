// What tests of built-ins share beyond numbers.h: values as long doubles, the awkward ones of every
// type, and how far a result may be from what is right.
#ifndef TILE_TESTS_AWKWARD_H
#define TILE_TESTS_AWKWARD_H

#include "numbers.h"
#include "run.h"

typedef long double number;

static inline number number_get(num_type t, const void *data, size_t i) {
    return num_value(t, num_load(t, data, i));
}

/// The bits of v, rounded to nearest even, or wrapped to an integer type.
static inline uint64_t number_bits(num_type t, number v) {
    if (nums[t].is_float)
        return num_round(t, v, false);
    number range = ldexpl(1, (int)nums[t].bits), w = fmodl(v, range);
    return (uint64_t)(w < 0 ? w + range : w) & num_mask(t);
}

static inline number number_round(num_type t, number v) { return num_value(t, number_bits(t, v)); }

static inline void number_set(num_type t, void *data, size_t i, number v) {
    num_store(t, data, i, number_bits(t, v));
}

/// The distance of a float type's numbers around v.
static inline number number_ulp(num_type t, number v) {
    int e = 1 - nums[t].bias;
    if (v != 0 && isfinite(v) && ilogbl(v) > e)
        e = ilogbl(v);
    return ldexpl(1, e - nums[t].mantissa);
}

/// Equal up to `ulps` of the type and `absolute`; NaN equals NaN. With both 0 also the zero's sign.
static inline bool number_near(num_type t, number got, number want, number ulps, number absolute) {
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got);
    if (ulps == 0 && absolute == 0)
        return got == want && signbit(got) == signbit(want);
    if (isinf(want) || isinf(got))
        return got == want;
    return fabsl(got - want) <= ulps * number_ulp(t, want) + absolute;
}

/// Awkward values of the type: zeros, extremes, NaN, denormals, and what lies around one; from 22 on
/// random ones.
static inline number number_awkward(num_type t, unsigned i) {
    static const number plain[] = {0, 1, -1, 2, -2, 3, 7, -7, 0.5L, -0.5L, 1.5L, -2.5L, 100, -100};
    enum { PLAIN = sizeof plain / sizeof *plain, SPECIAL = 8 };
    bool is_float = nums[t].is_float;
    if (i < PLAIN)
        return number_round(t, is_float ? plain[i] : truncl(plain[i]));
    if (i >= PLAIN + SPECIAL && !is_float)
        return number_round(t, (number)random_u32() * (number)random_u32() + (number)random_u32());
    if (i >= PLAIN + SPECIAL) {
        number v = ldexpl(1 + (number)random_u32() / 4294967296.0L, (int)(random_u32() % 14) - 7);
        return number_round(t, random_u32() & 1 ? -v : v);
    }
    number tiny = is_float ? number_ulp(t, 0) : 0, normal = ldexpl(1, 1 - nums[t].bias);
    number infinity = (number)INFINITY, most = (number)nums[t].largest;
    number floats[SPECIAL] = {-0.0L, infinity, -infinity, (number)NAN, tiny, -normal, most, -most};
    number top = ldexpl(1, (int)nums[t].bits - nums[t].is_signed) - 1;
    number least = nums[t].is_signed ? -top - 1 : 0;
    number integers[SPECIAL] = {top, least, top - 1, least + 1, 16, 17, 85, top};
    return is_float ? floats[i - PLAIN] : integers[i - PLAIN];
}

/// True if an error of the compiler says that the device does not have something yet.
static inline bool is_refused_yet(void) {
    const char *text = err.log ? err.log : err.message;
    return strstr(text, "not supported yet") != NULL;
}

#endif
