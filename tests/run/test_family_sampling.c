// Sampling, sorting, routing, decoding attention, dropout and scans in the manner of public kernels,
// against references in double precision.
#include "family.h"

#define FOR_ROWS for (long r = 0; r < rows; r++)
#define FOR_COLS for (long c = 0; c < cols; c++)
#define AT(a, r, c) (v[a][(r)*cols + (c)])

enum { TOP = 3, HEAD = 16 };

static void softmax_row(double *y, const double *x, long cols, double t) {
    double top = -INFINITY, sum = 0;
    FOR_COLS top = fmax(top, x[c] / t);
    FOR_COLS sum += exp(x[c] / t - top);
    FOR_COLS y[c] = exp(x[c] / t - top) / sum;
}

static void softmax_with_temperature(long rows, long cols, double *const *v) {
    FOR_ROWS softmax_row(&AT(0, r, 0), &AT(1, r, 0), cols, v[2][r]);
}

static void greedy(long rows, long cols, double *const *v) {
    FOR_ROWS {
        v[0][r] = 0;
        FOR_COLS if (AT(2, r, c) > AT(2, r, (long)v[0][r])) v[0][r] = (double)c;
        v[1][r] = AT(2, r, (long)v[0][r]);
    }
}

static void penalize(long rows, long cols, double *const *v) {
    FOR_ROWS FOR_COLS if (AT(1, r, c) > 0) AT(0, r, c) *= AT(0, r, c) > 0 ? 1 / 1.25 : 1.25;
}

static void min_p_filter(long rows, long cols, double *const *v) {
    FOR_ROWS {
        double top = 0, sum = 0;
        FOR_COLS top = fmax(top, AT(1, r, c));
        FOR_COLS sum += AT(0, r, c) = AT(1, r, c) >= 0.25 * top ? AT(1, r, c) : 0;
        FOR_COLS AT(0, r, c) /= sum;
    }
}

static int rising(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sort_up(long rows, long cols, double *const *v) {
    FOR_ROWS {
        FOR_COLS AT(0, r, c) = AT(1, r, c);
        qsort(&AT(0, r, 0), (size_t)cols, sizeof(double), rising);
    }
}

static void sort_down(long rows, long cols, double *const *v) {
    FOR_ROWS {
        FOR_COLS AT(0, r, c) = -AT(1, r, c);
        qsort(&AT(0, r, 0), (size_t)cols, sizeof(double), rising);
        FOR_COLS AT(0, r, c) = -AT(0, r, c);
    }
}

/// Where each element goes, counting what is less, or equal and before it.
static void sort_indices(long rows, long cols, double *const *v) {
    FOR_ROWS FOR_COLS {
        long rank = 0;
        for (long k = 0; k < cols; k++)
            rank += AT(1, r, k) < AT(1, r, c) || (AT(1, r, k) == AT(1, r, c) && k < c);
        AT(0, r, rank) = (double)c;
    }
}

static void gating(long rows, long cols, double *const *v, bool renormalize) {
    double *p = xmalloc((size_t)cols * sizeof(double));
    FOR_ROWS {
        double total = 0;
        softmax_row(p, &AT(2, r, 0), cols, 1);
        for (long k = 0; k < TOP; k++) {
            long best = 0;
            FOR_COLS if (p[c] > p[best]) best = c;
            v[0][r * TOP + k] = p[best];
            v[1][r * TOP + k] = (double)best;
            total += p[best];
            p[best] = -1;
        }
        for (long k = 0; k < TOP && renormalize; k++)
            v[0][r * TOP + k] /= total;
    }
    free(p);
}

static void top_k(long rows, long cols, double *const *v) { gating(rows, cols, v, false); }
static void top_k_of_one(long rows, long cols, double *const *v) { gating(rows, cols, v, true); }

static void dropout(long rows, long cols, double *const *v) {
    for (long i = 0; i < rows * cols; i++) {
        v[0][i] = uniform(1234, (uint32_t)i) > 0.25 ? v[1][i] / 0.75 : 0;
    }
}

static void decode_attention(long rows, long cols, double *const *v) {
    double *p = xmalloc((size_t)cols * sizeof(double));
    FOR_ROWS {
        FOR_COLS {
            p[c] = 0;
            for (long d = 0; d < HEAD; d++)
                p[c] += 0.25 * v[1][r * HEAD + d] * v[2][(r * cols + c) * HEAD + d];
        }
        softmax_row(p, p, cols, 1);
        for (long d = 0; d < HEAD; d++) {
            v[0][r * HEAD + d] = 0;
            FOR_COLS v[0][r * HEAD + d] += p[c] * v[3][(r * cols + c) * HEAD + d];
        }
    }
    free(p);
}

static void transpose(long rows, long cols, double *const *v) {
    FOR_ROWS FOR_COLS v[0][c * rows + r] = AT(1, r, c);
}

static void running_sum(long rows, long cols, double *const *v) {
    FOR_ROWS FOR_COLS AT(0, r, c) = AT(1, r, c) + (c ? AT(0, r, c - 1) : 0);
}

static void running_sum_back(long rows, long cols, double *const *v) {
    FOR_ROWS for (long c = cols - 1; c >= 0; c--) AT(0, r, c) =
        AT(1, r, c) + (c + 1 < cols ? AT(0, r, c + 1) : 0);
}

static void gated_recurrence(long rows, long cols, double *const *v) {
    FOR_ROWS FOR_COLS AT(0, r, c) = AT(2, r, c) + (c ? AT(1, r, c) * AT(0, r, c - 1) : 0);
}

static void running_max(long rows, long cols, double *const *v) {
    FOR_ROWS FOR_COLS AT(0, r, c) = c ? fmax(AT(1, r, c), AT(0, r, c - 1)) : AT(1, r, c);
}

static void slots_of_mask(long rows, long cols, double *const *v) {
    FOR_ROWS {
        v[1][r] = 0;
        FOR_COLS AT(0, r, c) = AT(2, r, c) != 0 ? v[1][r]++ : -1;
    }
}

/// Probabilities are multiples of 2^-16, so that all sums are exact and ties are real ones.
static void top_p_filter(long rows, long cols, double *const *v) {
    FOR_ROWS {
        double total = 0;
        FOR_COLS total += AT(1, r, c);
        FOR_COLS {
            double above = 0;
            for (long k = 0; k < cols; k++)
                above += AT(1, r, k) > AT(1, r, c) ? AT(1, r, k) : 0;
            AT(0, r, c) = above < 0.5 * total ? AT(1, r, c) : 0;
        }
    }
}

static const family_case cases[] = {
    {"softmax_with_temperature",
     softmax_with_temperature,
     ROWS,
     1e-6,
     {Y(F32, ALL), X(F16, ALL, -9, 9), X(F32, ROWS, 0.5, 2), N(COLS), C("BLOCK", BLOCK)}},
    {"greedy",
     greedy,
     ROWS,
     0,
     {Y(I64, ROWS), Y(F32, ROWS), X(B16, ALL, -9, 9), N(COLS), CI("BLOCK", 128)}},
    {"penalize",
     penalize,
     ROWS,
     1e-6,
     {XY(F32, ALL, -9, 9), X(I32, ALL, 0, 2), F(1.25), N(COLS), C("BLOCK", BLOCK)}},
    {"min_p_filter",
     min_p_filter,
     ROWS,
     1e-6,
     {Y(F32, ALL), X(F32, ALL, 0.125, 1), F(0.25), N(COLS), C("BLOCK", BLOCK)}},
    {"sort_rows",
     sort_up,
     ROWS,
     0,
     {Y(F32, ALL), X(F32, ALL, -9, 9), N(COLS), CI("descending", 0), C("BLOCK", BLOCK)}},
    {"sort_rows",
     sort_down,
     ROWS,
     0,
     {Y(F16, ALL), X(F16, ALL, -9, 9), N(COLS), CI("descending", 1), C("BLOCK", BLOCK)}},
    {"sort_indices",
     sort_indices,
     ROWS,
     0,
     {Y(I32, ALL), X(I32, ALL, -20, 20), N(COLS), C("BLOCK", BLOCK)}},
    {"top_k_gating",
     top_k,
     ROWS,
     1e-6,
     {Y(F32, TIMES(TOP, ROWS)), Y(I32, TIMES(TOP, ROWS)), X(B16, ALL, -4, 4), N(COLS), CI("K", TOP),
      CI("RENORMALIZE", 0), C("BLOCK", BLOCK)}},
    {"top_k_gating",
     top_k_of_one,
     ROWS,
     1e-6,
     {Y(F32, TIMES(TOP, ROWS)), Y(I32, TIMES(TOP, ROWS)), X(F32, ALL, -4, 4), N(COLS), CI("K", TOP),
      CI("RENORMALIZE", 1), C("BLOCK", BLOCK)}},
    {"dropout",
     dropout,
     ROWS,
     1e-6,
     {Y(F32, ALL), X(F32, ALL, -2, 2), F(0.25), I(1234), N(ALL), C("BLOCK", BLOCK)}},
    {"decode_attention",
     decode_attention,
     ROWS,
     1e-5,
     {Y(F32, TIMES(HEAD, ROWS)), X(F32, TIMES(HEAD, ROWS), -2, 2), X(F16, TIMES(HEAD, ALL), -2, 2),
      X(B16, TIMES(HEAD, ALL), -2, 2), F(0.25), N(COLS), CI("D", HEAD), CI("BLOCK_N", 32)}},
    {"transpose",
     transpose,
     ROWS,
     0,
     {Y(U8, ALL), X(U8, ALL, 0, 256), N(ROWS), N(COLS), CI("BLOCK", 16)}},
    {"running_sum",
     running_sum,
     ROWS,
     1e-5,
     {Y(F32, ALL), X(F32, ALL, -1, 1), N(COLS), CI("REVERSE", 0), CI("BLOCK", 64)}},
    {"running_sum",
     running_sum_back,
     ROWS,
     1e-5,
     {Y(F32, ALL), X(B16, ALL, -1, 1), N(COLS), CI("REVERSE", 1), CI("BLOCK", 64)}},
    {"gated_recurrence",
     gated_recurrence,
     ROWS,
     1e-5,
     {Y(F32, ALL), X(F32, ALL, -0.9, 0.9), X(F32, ALL, -1, 1), N(COLS), C("BLOCK", BLOCK)}},
    {"running_max",
     running_max,
     ROWS,
     0,
     {Y(F32, ALL), X(F32, ALL, -9, 9), N(COLS), C("BLOCK", BLOCK)}},
    {"slots_of_mask",
     slots_of_mask,
     ROWS,
     0,
     {Y(I32, ALL), Y(I32, ROWS), X(I1, ALL, 0, 2), N(COLS), C("BLOCK", BLOCK)}},
    {"top_p_filter",
     top_p_filter,
     ROWS,
     0,
     {Y(F32, ALL), X(F32, ALL, 0, 1), F(0.5), N(COLS), C("BLOCK", BLOCK)}},
};

int main(void) {
    static const long sizes[][2] = {{1, 3}, {5, 33}, {7, 128}, {3, 500}};
    open_test_device();
    RUN_FAMILY("sampling.py", cases, sizes);
    return finish();
}
