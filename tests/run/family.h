// Kernels of a family, one line of a table each: what the arguments are, how many programs run, and
// a reference in double precision. Every value is a double on this side: inputs are drawn from a
// range and rounded to their type, the reference writes what must come out into the arrays of the
// outputs, and the device's results are compared with that.
#ifndef TILE_TESTS_FAMILY_H
#define TILE_TESTS_FAMILY_H

#include "numbers.h"
#include "run.h"

/// How many elements an array has, and what an integer is: by the shape of the run. HALF is half
/// the columns, HALVES rows of that, BLOCK is the next power of two of them.
typedef enum extent { FIXED, ONE, ROWS, COLS, ALL, BLOCK, HALF, HALVES } extent;
#define TIMES(n, extent) ((n) << 4 | (extent))

typedef struct argument {
    enum { END, IN, OUT, BOTH, INT, FLOAT, CONSTEXPR, CONST_FLOAT, TEXT } kind;
    num_type type;
    unsigned size;           // an extent, or some times one
    double low, high;        // inputs: the range; a float or FIXED integer: the value
    const char *name, *text; // of a constexpr
} argument;

#define X(type, size, low, high) ((argument){IN, type, size, low, high, NULL, NULL})
#define Y(type, size) ((argument){OUT, type, size, 0, 0, NULL, NULL})
#define XY(type, size, low, high) ((argument){BOTH, type, size, low, high, NULL, NULL})
#define N(size) ((argument){INT, I32, size, 0, 0, NULL, NULL})
#define I(value) ((argument){INT, I32, FIXED, value, 0, NULL, NULL})
#define F(value) ((argument){FLOAT, F32, FIXED, value, 0, NULL, NULL})
#define C(name, size) ((argument){CONSTEXPR, I32, size, 0, 0, name, NULL})
#define LABELS(type) ((argument){IN, type, ROWS, 0, -1, NULL, NULL}) // numbers of columns
#define CF(name, value) ((argument){CONST_FLOAT, F32, FIXED, value, 0, name, NULL})
#define CI(name, value) ((argument){CONSTEXPR, I32, FIXED, value, 0, name, NULL})
#define CS(name, text) ((argument){TEXT, I32, FIXED, 0, 0, name, text})

enum { MAX_FAMILY_ARGS = 16 };

typedef struct family_case {
    const char *kernel;
    void (*reference)(long rows, long cols, double *const *v); ///< v: by argument
    unsigned programs;                                         ///< as an extent
    double tolerance; ///< relative to 1 + |expected|; of integers how far off
    argument args[MAX_FAMILY_ARGS];
} family_case;

static inline long extent_of(const argument *a, long rows, long cols) {
    long times = a->size >> 4 ? a->size >> 4 : 1;
    switch ((extent)(a->size & 15)) {
    case ONE:
        return times;
    case ROWS:
        return times * rows;
    case COLS:
        return times * cols;
    case ALL:
        return times * rows * cols;
    case BLOCK:
        return times * next_power_of_2((uint32_t)cols);
    case HALF:
        return times * ((cols + 1) / 2);
    case HALVES:
        return times * rows * ((cols + 1) / 2);
    default:
        return (long)a->low;
    }
}

static inline uint64_t family_bits(num_type t, double v) {
    return nums[t].is_float ? num_round(t, v, false) : (uint64_t)(int64_t)floor(v);
}

/// Draws an input, and gives it as its type holds it.
static inline double draw(const argument *a, long cols, void *data, size_t i) {
    double unit = (double)(random_u32() % 65536) / 65536;
    double high = a->low == 0 && a->high == -1 ? (double)cols : a->high;
    uint64_t bits = family_bits(a->type, a->low + unit * (high - a->low)) & num_mask(a->type);
    num_store(a->type, data, i, bits);
    return (double)num_value(a->type, bits);
}

static inline bool is_near(num_type t, double got, double want, double tolerance) {
    if (isnan(want) || isinf(want))
        return isnan(want) ? isnan(got) : got == want;
    if (!nums[t].is_float)
        return fabs(got - want) <= tolerance;
    double last_place = nums[t].bits <= 16 ? ldexp(1, -nums[t].mantissa) : 0;
    double least = nums[t].bits <= 16 ? ldexp(1, 1 - nums[t].bias - nums[t].mantissa) : 0;
    return fabs(got - want) <= tolerance * (1 + fabs(want)) + last_place * fabs(want) + least;
}

static inline void run_family_case(tile_module *mod, const family_case *c, long number, long rows,
                                   long cols) {
    tile_kernel *k;
    must(tile_module_get_kernel(mod, c->kernel, &k, &err));
    tile_arg args[MAX_FAMILY_ARGS];
    tile_buffer *buffers[MAX_FAMILY_ARGS] = {0};
    double *v[MAX_FAMILY_ARGS] = {0};
    void *data[MAX_FAMILY_ARGS] = {0};
    uint32_t n = 0;
    for (; n < MAX_FAMILY_ARGS && c->args[n].kind; n++) {
        const argument *a = &c->args[n];
        long size = extent_of(a, rows, cols);
        if (a->kind == INT)
            args[n] = TILE_I32((int32_t)size);
        else if (a->kind == FLOAT)
            args[n] = TILE_FP32((float)a->low);
        else if (a->kind == CONSTEXPR)
            args[n] = TILE_CONSTEXPR_INT(a->name, size);
        else if (a->kind == CONST_FLOAT)
            args[n] = TILE_CONSTEXPR_FLOAT(a->name, a->low);
        else if (a->kind == TEXT)
            args[n] = TILE_CONSTEXPR_STRING(a->name, a->text);
        if (a->kind > BOTH)
            continue;
        v[n] = xmalloc((size_t)size * sizeof(double));
        data[n] = xmalloc((size_t)size * nums[a->type].bytes);
        memset(data[n], 0x35, (size_t)size * nums[a->type].bytes);
        for (long i = 0; i < size && a->kind != OUT; i++)
            v[n][i] = draw(a, cols, data[n], (size_t)i);
        buffers[n] = buffer_from(data[n], (size_t)size * nums[a->type].bytes);
        args[n] = TILE_BUFFER(buffers[n], nums[a->type].name);
    }
    argument programs = {.size = c->programs, .low = 1};
    tile_launch_options o = {.size = sizeof o,
                             .grid = {(uint32_t)extent_of(&programs, rows, cols)}};
    must(tile_launch(k, args, n, &o, &err));
    c->reference(rows, cols, v);
    for (uint32_t i = 0; i < n; i++) {
        const argument *a = &c->args[i];
        bool is_result = a->kind == OUT || a->kind == BOTH;
        long size = is_result ? extent_of(a, rows, cols) : 0;
        if (is_result)
            read_buffer(buffers[i], data[i], (size_t)size * nums[a->type].bytes);
        for (long e = 0; e < size; e++) {
            double got = (double)num_value(a->type, num_load(a->type, data[i], (size_t)e));
            expect(is_near(a->type, got, v[i][e], c->tolerance),
                   "%s (%ld), %ld x %ld: argument %u, element %ld: got %.9g, expected %.9g",
                   c->kernel, number, rows, cols, i, e, got, v[i][e]);
        }
        if (buffers[i])
            tile_buffer_destroy(buffers[i]);
        free(v[i]), free(data[i]);
    }
}

/// The first word of Philox-4x-32 with 10 rounds, and tl.rand() of it.
static inline uint32_t philox(uint64_t seed, uint32_t offset) {
    uint32_t c[4] = {offset, 0, 0, 0}, k[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    for (int round = 0; round < 10; round++) {
        uint64_t a = UINT64_C(0xD2511F53) * c[0], b = UINT64_C(0xCD9E8D57) * c[2];
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ k[0], (uint32_t)b,
                            (uint32_t)(a >> 32) ^ c[3] ^ k[1], (uint32_t)a};
        memcpy(c, next, sizeof c);
        k[0] += 0x9E3779B9, k[1] += 0xBB67AE85;
    }
    return c[0];
}

static inline double uniform(uint64_t seed, uint32_t offset) {
    int32_t bits = (int32_t)philox(seed, offset);
    return (double)((float)(bits < 0 ? -bits - 1 : bits) * 4.6566127342e-10f);
}

/// Runs all cases of a table, whose kernels are in one file of tests/run/families, at all sizes.
static inline void run_family(const char *file, const family_case *cases, size_t num_cases,
                              const long (*sizes)[2], size_t num_sizes) {
    char path[1024];
    tile_module *mod;
    snprintf(path, sizeof path, "%s/../tests/run/families/%s", EXAMPLES_DIR, file);
    must(tile_module_load_file(dev, path, &mod, &err));
    for (size_t i = 0; i < num_cases; i++)
        for (size_t s = 0; s < num_sizes; s++)
            run_family_case(mod, &cases[i], (long)i, sizes[s][0], sizes[s][1]);
    tile_module_destroy(mod);
}

#define RUN_FAMILY(file, cases, sizes)                                                             \
    run_family(file, cases, sizeof(cases) / sizeof *(cases), sizes, sizeof(sizes) / sizeof *(sizes))

#endif
