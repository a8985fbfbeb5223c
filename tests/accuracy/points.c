// Where functions are measured: spread over all bit patterns, densely where results are neither 0
// nor infinite nor 1, and every number around the points where a function or its algorithm turns.
#include "accuracy.h"

#include <math.h>

/// Numbers around an awkward point, half on each side; and as many negative ones.
static unsigned window(unsigned log2_points) {
    return log2_points < 12 ? 16 : 1u << (log2_points / 2 - 2);
}

/// Ends of the exponentials, places where formulas change, ends of ranges.
static const double turns[] = {
    0,          0x1p-1022, 0x1p-126, 0x1p-24, 0x1p-14, 0.5,      0.55,     0.70710678, 1,
    1.41421356, 2,         4,        5.92,    6,       9.01,     19.06,    88.722839,  87.336545,
    103.97208,  128,       126,      149,     150,     709.7827, 708.3964, 744.4400,   745.1332,
    1022,       1024,      1074,     1075,    0x1p15,  0x1p16,   0x1p23,   0x1p24,     0x1p30,
    0x1p31,     0x1p52,    0x1p53,   0x1p63,  0x1p64,  0x1p100,  0x1p127,  0x1p1023};
enum { TURNS = sizeof(turns) / sizeof(turns[0]), MULTIPLES = 400 };

/// Turns, then multiples of pi/2: the first 200, and ever larger ones.
static double awkward(unsigned i) {
    if (i < TURNS)
        return turns[i];
    unsigned k = i - TURNS + 1;
    double multiple = k <= MULTIPLES / 2 ? k : floor(exp2(7 + (k - MULTIPLES / 2) * 0.25));
    return (double)(multiple * 1.57079632679489661923132169163975144L);
}

uint64_t hash(uint64_t x) {
    x = (x ^ x >> 32) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    return x ^ x >> 32;
}

static unsigned width(number_type t) { return 8 * (unsigned)type_bytes(t); }

/// The bits of a number of either sign between 2^-20 and 2^11.
static uint64_t middle(number_type t, uint64_t random) {
    uint64_t from = bits_of(t, 0x1p-20), to = bits_of(t, 0x1p11);
    uint64_t sign = random >> 63 << (width(t) - 1);
    return sign | (from + (random & ~(UINT64_C(1) << 63)) % (to - from));
}

static bool is_exhaustive(const function *f, number_type t, unsigned log2_points) {
    return f->operands == 1 && width(t) <= (log2_points < 16 ? 16 : log2_points);
}

uint64_t point_count(const function *f, number_type t, unsigned log2_points) {
    if (is_exhaustive(f, t, log2_points))
        return UINT64_C(1) << width(t);
    uint64_t n = UINT64_C(1) << log2_points;
    return f->operands == 1 ? n + (uint64_t)(TURNS + MULTIPLES) * 2 * window(log2_points) : n;
}

void point(const function *f, number_type t, unsigned log2_points, uint64_t index,
           uint64_t bits[MAX_OPERANDS]) {
    uint64_t n = UINT64_C(1) << log2_points, r = hash(index);
    if (is_exhaustive(f, t, log2_points)) {
        bits[0] = index;
    } else if (index >= n) {
        uint64_t i = index - n, w = window(log2_points);
        double center = round_to(t, awkward((unsigned)(i / 2 / w)));
        uint64_t magnitude = bits_of(t, center) + i / 2 % w - w / 2;
        bits[0] = magnitude ^ (i & 1) << (width(t) - 1);
    } else if (index & 1) { // every second: in the middle of the range
        bits[0] = middle(t, r);
    } else { // evenly over all bit patterns, at a random place of its share
        unsigned share = width(t) > log2_points ? width(t) - log2_points : 0;
        bits[0] = (index << share) + (share ? r & ((UINT64_C(1) << share) - 1) : 0);
    }
    for (unsigned k = 1; k < f->operands; k++) {
        r = hash((f->flags & SHARES_B ? index / PROGRAM : r) + k);
        uint64_t near = bits[0] ^ r >> (64 - width(t) / 2);
        bits[k] = r & 1 ? middle(t, r) : r & 2 && !(f->flags & SHARES_B) ? near : r >> 8;
    }
}

// --- special values

static const double specials[] = {0.0,       -0.0,      1,          -1,
                                  INFINITY,  -INFINITY, NAN,        0.5,
                                  -2.5,      3,         1e3,        -1e3,
                                  6e4,       -6e4,      1e-7,       0x1p-24,
                                  -0x1p-24,  0x1p-14,   0x1p-126,   -0x1p-126,
                                  0x1p-133,  -0x1p-133, 0x1p-149,   -0x1p-149,
                                  0x1p127,   -0x1p127,  0x1.fep127, 0x1.fffffep127,
                                  0x1p-1022, 0x1p-1074, -0x1p-1074, 0x1.fffffffffffffp1023,
                                  1e22};
enum { SPECIALS = sizeof(specials) / sizeof(specials[0]) };

uint64_t special_count(const function *f) {
    uint64_t n = 1;
    if (f->flags & SHARES_B)
        return SPECIALS * PROGRAM;
    for (unsigned k = 0; k < f->operands; k++)
        n *= SPECIALS;
    return n;
}

void special(const function *f, number_type t, uint64_t index, uint64_t bits[MAX_OPERANDS]) {
    for (unsigned k = 0; k < f->operands; k++) {
        unsigned period = (f->flags & SHARES_B) && k == 0 ? PROGRAM : SPECIALS;
        bits[k] = bits_of(t, round_to(t, specials[index % period % SPECIALS]));
        index /= period;
    }
}
