// Random numbers (splitmix64): a seed says everything about a program.
#ifndef TILE_RANDOM_RNG_H
#define TILE_RANDOM_RNG_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rng {
    uint64_t state;
} rng;

static inline uint64_t rng_next(rng *r) {
    uint64_t z = r->state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/// 0 .. below-1; 0 if below is 0.
static inline uint32_t rng_below(rng *r, uint32_t below) {
    return below ? (uint32_t)((rng_next(r) >> 32) * below >> 32) : 0;
}

/// lo .. hi, both included.
static inline int rng_range(rng *r, int lo, int hi) {
    return lo + (int)rng_below(r, (uint32_t)(hi - lo + 1));
}

static inline bool rng_percent(rng *r, unsigned percent) { return rng_below(r, 100) < percent; }

#endif
