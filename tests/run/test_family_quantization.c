// Quantization in the manner of public kernels, to int8, int4, fp8 and tables and back, against
// references in double precision.
#include "family.h"

#define FOR_ROWS for (long r = 0; r < rows; r++)
#define FOR_COLS for (long c = 0; c < cols; c++)
#define AT(a, r, c) (v[a][(r)*cols + (c)])
#define PACKED(a, r, c) (v[a][(r) * ((cols + 1) / 2) + (c)])

static double largest_of(const double *x, long n) {
    double m = 0;
    for (long i = 0; i < n; i++)
        m = fmax(m, fabs(x[i]));
    return m;
}

static void row_to_int8(long rows, long cols, double *const *v) {
    FOR_ROWS {
        double absmax = fmax(largest_of(&AT(2, r, 0), cols), 1e-10);
        v[1][r] = absmax / 127;
        FOR_COLS AT(0, r, c) = round(AT(2, r, c) / absmax * 127);
    }
}

static void int8_to_row(long rows, long cols, double *const *v) {
    FOR_ROWS FOR_COLS AT(0, r, c) = (AT(1, r, c) - v[3][r]) * v[2][r];
}

/// What a quotient becomes in e4m3: its rounding is the fp8 type's, one last place is allowed.
static void to_fp8(long rows, long cols, double *const *v, bool round_scale) {
    FOR_ROWS {
        double s = fmax(largest_of(&AT(2, r, 0), cols), 1e-6) / 448;
        v[1][r] = s = round_scale ? exp2(ceil(log2(s))) : s;
        FOR_COLS AT(0, r, c) =
            (double)num_value(E4NV, num_round(E4NV, (long double)(AT(2, r, c) / s), false));
    }
}

static void plain_fp8(long rows, long cols, double *const *v) { to_fp8(rows, cols, v, false); }
static void power_fp8(long rows, long cols, double *const *v) { to_fp8(rows, cols, v, true); }

static void fp8_to_group(long rows, long cols, double *const *v) {
    FOR_ROWS FOR_COLS AT(0, r, c) = AT(1, r, c) * v[2][r];
}

static void largest_magnitude(long rows, long cols, double *const *v) {
    v[0][0] = largest_of(v[1], rows * cols);
}

static void pack_int4(long rows, long cols, double *const *v) {
    FOR_ROWS for (long c = 0; c < (cols + 1) / 2; c++) {
        double high = 2 * c + 1 < cols ? AT(1, r, 2 * c + 1) : 0;
        PACKED(0, r, c) = ((long)AT(1, r, 2 * c) & 15) + ((long)high & 15) * 16;
    }
}

static void unpack_int4(long rows, long cols, double *const *v) {
    FOR_ROWS FOR_COLS {
        long byte = (long)PACKED(1, r, c / 2), nibble = c % 2 ? byte / 16 : byte % 16;
        AT(0, r, c) = (double)(nibble - 8) * v[2][r];
    }
}

static void look_up_four_bits(long rows, long cols, double *const *v) {
    FOR_ROWS FOR_COLS {
        long byte = (long)PACKED(1, r, c / 2);
        AT(0, r, c) = v[2][c % 2 ? byte / 16 : byte % 16] * v[3][r];
    }
}

static void to_four_bits(long rows, long cols, double *const *v) {
    static const double middles[] = {0.125, 0.375, 0.75, 1.5, 3};
    FOR_ROWS FOR_COLS {
        int code = 0;
        for (int i = 0; i < 5; i++)
            code += fabs(AT(1, r, c)) > middles[i];
        AT(0, r, c) = code + (AT(1, r, c) < 0 ? 8 : 0);
    }
}

static void bits_of_floats(long rows, long cols, double *const *v) {
    FOR_ROWS FOR_COLS {
        AT(0, r, c) = signbit(AT(2, r, c)) != 0;
        AT(1, r, c) = AT(2, r, c) == 0 ? -127 : ilogb(AT(2, r, c));
    }
}

/// Several tokens may go to one slot only if they agree, so the keys of all are the same here.
static void to_key_cache(long rows, long cols, double *const *v) {
    FOR_ROWS FOR_COLS if (v[2][r] >= 0) AT(1, (long)v[2][r], c) =
        (double)num_value(E4NV, num_round(E4NV, (long double)(AT(0, r, c) / 0.25), false));
}

static const family_case cases[] = {
    {"row_to_int8",
     row_to_int8,
     ROWS,
     1,
     {Y(I8, ALL), Y(F32, ROWS), X(B16, ALL, -3, 3), N(COLS), C("BLOCK", BLOCK)}},
    {"int8_to_row",
     int8_to_row,
     ROWS,
     1e-6,
     {Y(F16, ALL), X(I8, ALL, -128, 128), X(F32, ROWS, 0, 1), X(F32, ROWS, -9, 9), N(COLS),
      C("BLOCK", BLOCK)}},
    {"group_to_fp8",
     plain_fp8,
     ROWS,
     1e-6,
     {Y(E4NV, ALL), Y(F32, ROWS), X(F16, ALL, -3, 3), N(COLS), F(448), CI("ROUND_SCALE", 0),
      C("BLOCK", BLOCK)}},
    {"group_to_fp8",
     power_fp8,
     ROWS,
     1e-6,
     {Y(E4NV, ALL), Y(F32, ROWS), X(F32, ALL, -3, 3), N(COLS), F(448), CI("ROUND_SCALE", 1),
      C("BLOCK", BLOCK)}},
    {"fp8_to_group",
     fp8_to_group,
     ROWS,
     1e-6,
     {Y(B16, ALL), X(E4NV, ALL, -448, 448), X(F32, ROWS, 0, 1), N(COLS), C("BLOCK", BLOCK)}},
    {"largest_magnitude",
     largest_magnitude,
     ROWS,
     0,
     {XY(F32, ONE, 0, 0), X(F32, ALL, -3, 3), N(ALL), C("BLOCK", BLOCK)}},
    {"pack_int4",
     pack_int4,
     ROWS,
     0,
     {Y(U8, HALVES), X(I8, ALL, -8, 8), N(COLS), N(HALF), C("BLOCK", BLOCK)}},
    {"unpack_int4",
     unpack_int4,
     ROWS,
     1e-6,
     {Y(F32, ALL), X(U8, HALVES, 0, 256), X(F32, ROWS, -1, 1), N(COLS), N(HALF),
      C("BLOCK", BLOCK)}},
    {"look_up_four_bits",
     look_up_four_bits,
     ROWS,
     1e-6,
     {Y(B16, ALL), X(U8, HALVES, 0, 256), X(F32, TIMES(16, ONE), -1, 1), X(F32, ROWS, 0, 2),
      N(COLS), N(HALF), C("BLOCK", BLOCK)}},
    {"to_four_bits",
     to_four_bits,
     ROWS,
     0,
     {Y(U8, ALL), X(F32, ALL, -5, 5), N(COLS), C("BLOCK", BLOCK)}},
    {"bits_of_floats",
     bits_of_floats,
     ROWS,
     0,
     {Y(I1, ALL), Y(I8, ALL), X(F32, ALL, -3, 3), N(COLS), C("BLOCK", BLOCK)}},
    {"to_key_cache",
     to_key_cache,
     ROWS,
     0,
     {X(F32, ALL, 1, 1), XY(E4NV, TIMES(9, COLS), -1, 1), X(I64, ROWS, -3, 9), F(0.25), N(COLS),
      CI("IS_FP8", 1), C("BLOCK", BLOCK)}},
};

int main(void) {
    static const long sizes[][2] = {{1, 1}, {5, 33}, {7, 128}, {3, 777}};
    open_test_device();
    RUN_FAMILY("quantization.py", cases, sizes);
    return finish();
}
