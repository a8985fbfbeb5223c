// The tutorials without tensor cores, as a Python file in Triton's manner and as a .tile file, both
// against the same references in double precision.
#include "family.h"

#define FOR_ROWS for (long r = 0; r < rows; r++)
#define FOR_COLS for (long c = 0; c < cols; c++)
#define FOR_ALL for (long i = 0; i < rows * cols; i++)
#define AT(a, r, c) (v[a][(r)*cols + (c)])

enum { GROUPS = 3 };

static void add(long rows, long cols, double *const *v) { FOR_ALL v[2][i] = v[0][i] + v[1][i]; }

static void softmax(long rows, long cols, double *const *v) {
    FOR_ROWS {
        double top = -INFINITY, sum = 0;
        FOR_COLS top = fmax(top, AT(1, r, c));
        FOR_COLS sum += exp(AT(1, r, c) - top);
        FOR_COLS AT(0, r, c) = exp(AT(1, r, c) - top) / sum;
    }
}

static void seeded_dropout(long rows, long cols, double *const *v) {
    FOR_ALL v[1][i] = uniform(123, (uint32_t)i) > 0.5 ? v[0][i] / 0.5 : 0;
}

static void layer_norm(long rows, long cols, double *const *v) {
    FOR_ROWS {
        double mean = 0, variance = 0;
        FOR_COLS mean += AT(0, r, c) / (double)cols;
        FOR_COLS variance += pow(AT(0, r, c) - mean, 2) / (double)cols;
        v[4][r] = mean;
        v[5][r] = 1 / sqrt(variance + 1e-3);
        FOR_COLS AT(1, r, c) = (AT(0, r, c) - mean) * v[5][r] * v[2][c] + v[3][c];
    }
}

/// dx dy dw db x w mean rstd locks counts
static void layer_norm_dx(long rows, long cols, double *const *v) {
    FOR_ROWS {
        double along = 0, level = 0, n = (double)cols;
        long group = r % GROUPS;
        FOR_COLS {
            double normal = (AT(4, r, c) - v[6][r]) * v[7][r], wdy = v[5][c] * AT(1, r, c);
            along += normal * wdy / n;
            level += wdy / n;
            AT(2, group, c) = (v[9][group] != 0 ? AT(2, group, c) : 0) + AT(1, r, c) * normal;
            AT(3, group, c) = (v[9][group] != 0 ? AT(3, group, c) : 0) + AT(1, r, c);
        }
        FOR_COLS AT(0, r, c) =
            (v[5][c] * AT(1, r, c) - ((AT(4, r, c) - v[6][r]) * v[7][r] * along + level)) * v[7][r];
        v[9][group] = 1;
    }
}

static void layer_norm_dwdb(long rows, long cols, double *const *v) {
    FOR_COLS {
        v[2][c] = v[3][c] = 0;
        FOR_ROWS v[2][c] += AT(0, r, c);
        FOR_ROWS v[3][c] += AT(1, r, c);
    }
}

static void arcsine(long rows, long cols, double *const *v) { FOR_ALL v[1][i] = asin(v[0][i]); }

static const family_case cases[] = {
    {"add",
     add,
     ROWS,
     0,
     {X(F32, ALL, -9, 9), X(F32, ALL, -9, 9), Y(F32, ALL), N(ALL), C("BLOCK", BLOCK)}},
    {"softmax",
     softmax,
     TIMES(2, ONE),
     1e-6,
     {Y(F32, ALL), X(F32, ALL, -9, 9), N(COLS), N(COLS), N(ROWS), N(COLS), C("BLOCK", BLOCK),
      CI("num_stages", 3)}},
    {"seeded_dropout",
     seeded_dropout,
     ROWS,
     0,
     {X(F32, ALL, -9, 9), Y(F32, ALL), N(ALL), F(0.5), I(123), C("BLOCK", BLOCK)}},
    {"layer_norm",
     layer_norm,
     ROWS,
     1e-5,
     {X(F32, ALL, -2, 3), Y(F32, ALL), X(F32, COLS, -1, 1), X(F32, COLS, -1, 1), Y(F32, ROWS),
      Y(F32, ROWS), N(COLS), N(COLS), F(1e-3), CI("BLOCK", 128)}},
    {"layer_norm_dx",
     layer_norm_dx,
     ROWS,
     1e-5,
     {Y(F32, ALL), X(F32, ALL, -1, 1), XY(F32, TIMES(GROUPS, COLS), -1, 1),
      XY(F32, TIMES(GROUPS, COLS), -1, 1), X(F32, ALL, -2, 3), X(F32, COLS, -1, 1),
      X(F32, ROWS, 0, 1), X(F32, ROWS, 0.5, 1), XY(I32, TIMES(GROUPS, ONE), 0, 0),
      XY(I32, TIMES(GROUPS, ONE), 0, 0), N(COLS), N(COLS), CI("GROUPS", GROUPS),
      C("BLOCK", BLOCK)}},
    {"layer_norm_dwdb",
     layer_norm_dwdb,
     COLS,
     1e-5,
     {X(F32, ALL, -1, 1), X(F32, ALL, -1, 1), Y(F32, COLS), Y(F32, COLS), N(ROWS), N(COLS),
      CI("BLOCK_ROWS", 4), CI("BLOCK_COLS", 32)}},
    {"arcsine", arcsine, ROWS, 1e-6, {X(F32, ALL, -1, 1), Y(F32, ALL), N(ALL), C("BLOCK", BLOCK)}},
};

int main(void) {
    static const long sizes[][2] = {{1, 1}, {8, 33}, {17, 128}, {7, 1000}};
    open_test_device();
    RUN_FAMILY("tutorials.py", cases, sizes);
    RUN_FAMILY("tutorials.tile", cases, sizes);
    return finish();
}
