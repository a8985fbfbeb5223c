// How accurate is each function on a device? functions.c says what is measured: an expression of
// the language, its reference and its bound. points.c says where: which operands. numbers.c reads,
// rounds and compares numbers of any float type. device.c runs kernels, sweep.c measures one
// function of one type, accuracy.c prints the table.
#ifndef TILE_TESTS_ACCURACY_H
#define TILE_TESTS_ACCURACY_H

#include <tile.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum number_type { FP16, BF16, FP32, FP64, TYPES } number_type;

// --- numbers.c

extern const char *const type_names[TYPES];
size_t type_bytes(number_type t);
/// The number of these bits; bits above the type's are ignored.
double number_of(number_type t, uint64_t bits);
/// v rounded to the type, to nearest even; the bits of a number of the type, which v must be.
double round_to(number_type t, double v);
uint64_t bits_of(number_type t, double v);
/// |got - want| in units of the last place of `want`. Infinity counts as the power of two that
/// follows the largest number. NaN: 0 if both are, else infinite.
double ulps(number_type t, double got, double want);
double ulps_wide(double got, long double want); ///< of fp64
/// Result by result the same, signs of zeros included, all NaNs equal.
bool same(double got, double want);

// --- functions.c

enum { MAX_OPERANDS = 3, PROGRAM = 128 }; ///< elements of one program of the kernels

/// A bound in ulp, + slope * |x|. ROUNDED: the nearest number of the type, always.
typedef struct bound {
    double ulp, slope;
} bound;
#define ROUNDED 0.5

enum {
    FLUSHES_BELOW = 1, ///< may give 0 instead of a subnormal result
    SHARES_B = 2,      ///< b is one number for each PROGRAM elements
};

typedef struct function {
    const char *name, *expression; ///< of tiles a, b, c of one type
    unsigned operands;
    unsigned types; ///< bit t: measured for operands of type t
    bool converts;  ///< the result has the type `result`, else that of the operands
    number_type result;
    /// For results up to fp32, and for fp64. Where the bound is ROUNDED: exact, or such that
    /// rounding it gives what rounding the exact value gives.
    double (*narrow)(const double *operands);
    long double (*wide)(const double *operands);
    /// NULL, or the size of the terms that cancel in the result: where it is above that, of fp32 and
    /// fp64, errors are in units of its last place.
    double (*terms)(const double *operands);
    bound cpu[2], gpu[2]; ///< fp32, fp64
    unsigned flags;
} function;

extern const function functions[];
extern const size_t function_count;

bound bound_of(const function *f, number_type t, bool is_gpu);
number_type result_type(const function *f, number_type operands);

// --- points.c

/// How many operand tuples there are: for one operand of a 16-bit type all 2^16, else 2^log2_points
/// and the awkward ones.
uint64_t point_count(const function *f, number_type t, unsigned log2_points);
void point(const function *f, number_type t, unsigned log2_points, uint64_t index,
           uint64_t bits[MAX_OPERANDS]);
/// The special values: all tuples of zeros, infinities, NaN, ends of the ranges and a few others.
uint64_t special_count(const function *f);
void special(const function *f, number_type t, uint64_t index, uint64_t bits[MAX_OPERANDS]);
uint64_t hash(uint64_t x);

// --- device.c

enum { CHUNK = 1 << 22 }; ///< elements in a launch at most

typedef struct session {
    tile_device *device;
    tile_device_info info;
    tile_buffer *buffers[MAX_OPERANDS + 1]; ///< operands, then the result: CHUNK elements each
    char *host[MAX_OPERANDS + 1];
} session;

/// Ends the program, with 77 if there is no such device and 2 after any other error.
void session_open(session *s, const char *device);
void session_close(session *s);
/// The kernel that stores `expression` of a, b, c.
tile_module *session_load(session *s, const char *expression, tile_kernel **kernel);
/// Sends n operands from s->host, runs the kernel, fetches the results.
void session_run(session *s, tile_kernel *kernel, unsigned operands, const char *type,
                 const char *result_type, uint64_t n);

// --- sweep.c

/// What one function of one type does.
typedef struct outcome {
    uint64_t points, wrong; ///< wrong: beyond the bound
    double worst, sum;      ///< ulp
    uint64_t counted;       ///< in sum: results that are neither 0 nor infinite nor NaN
    double worst_at[MAX_OPERANDS];
    double wrong_at[MAX_OPERANDS], wrong_result; ///< the first that is wrong
} outcome;

outcome sweep(session *s, tile_kernel *kernel, const function *f, number_type t,
              unsigned log2_points);
/// How many special values come out wrong: another zero, infinity or NaN than the reference has,
/// or a number beyond the bound.
uint64_t check_specials(session *s, tile_kernel *kernel, const function *f, number_type t);
unsigned processors(void);

// --- umulhi.c
bool check_umulhi(session *s);

#endif
