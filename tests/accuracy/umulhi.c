// umulhi, the one function of integers: the high half of the unsigned product, exactly, whatever
// the sign of the type.
#include "accuracy.h"

#include <stdio.h>
#include <string.h>

static const char *const types[] = {"u32", "i32", "u64", "i64"};
static const uint64_t ends[] = {0,          1,           2,          0x7fffffff, 0x80000000,
                                0xffffffff, 0x100000000, 0xfffffffe, INT64_MAX,  UINT64_MAX};
enum { ENDS = sizeof(ends) / sizeof(ends[0]), RANDOM = 1 << 16 };

/// Operand k of pair i: all pairs of ends, then random ones.
static uint64_t operand(uint64_t i, unsigned k) {
    if (i < ENDS * ENDS)
        return ends[k ? i / ENDS : i % ENDS];
    uint64_t r = hash(2 * i + k);
    return r >> (hash(r) & 31); // of all sizes
}

static uint64_t high_half(uint64_t a, uint64_t b, unsigned bytes) {
    return bytes == 4 ? (uint64_t)(uint32_t)a * (uint32_t)b >> 32
                      : (uint64_t)((unsigned __int128)a * b >> 64);
}

bool check_umulhi(session *s) {
    tile_kernel *kernel;
    tile_module *module = session_load(s, "umulhi(a, b)", &kernel);
    uint64_t n = ENDS * ENDS + RANDOM, wrong = 0;
    for (unsigned t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
        unsigned bytes = t < 2 ? 4 : 8;
        for (uint64_t i = 0; i < 2 * n; i++) {
            uint64_t v = operand(i / 2, i % 2);
            memcpy(s->host[i % 2] + i / 2 * bytes, &v, bytes);
        }
        session_run(s, kernel, 2, types[t], types[t], n);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t want = high_half(operand(i, 0), operand(i, 1), bytes);
            if (memcmp(s->host[MAX_OPERANDS] + i * bytes, &want, bytes) && !wrong++)
                fprintf(stderr, "umulhi of %s: wrong at pair %llu\n", types[t],
                        (unsigned long long)i);
        }
    }
    tile_module_destroy(module);
    return wrong == 0;
}
