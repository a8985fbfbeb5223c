// Norms, rotary embeddings and gated activations in the manner of public kernels: a Python file with
// its host code, against references in double precision.
#include "family.h"

#define FOR_ROWS for (long r = 0; r < rows; r++)
#define FOR_COLS for (long c = 0; c < cols; c++)
#define AT(a, r, c) (v[a][(r)*cols + (c)])

static const double eps = 1e-5;

static double mean_of(const double *x, long n) {
    double s = 0;
    for (long i = 0; i < n; i++)
        s += x[i] / (double)n;
    return s;
}

static double variance_of(const double *x, long n, double mean) {
    double s = 0;
    for (long i = 0; i < n; i++)
        s += (x[i] - mean) * (x[i] - mean) / (double)n;
    return s;
}

static void rms_forward(long rows, long cols, double *const *v) {
    FOR_ROWS {
        double rstd = v[3][r] = 1 / sqrt(variance_of(&AT(1, r, 0), cols, 0) + eps);
        FOR_COLS AT(0, r, c) = AT(1, r, c) * rstd * (1 + v[2][c]);
    }
}

static void rms_backward(long rows, long cols, double *const *v) {
    FOR_ROWS {
        double rstd = 1 / sqrt(variance_of(&AT(1, r, 0), cols, 0) + eps), dot = 0;
        FOR_COLS dot += AT(0, r, c) * v[2][c] * AT(1, r, c);
        FOR_COLS {
            AT(3, r, c) =
                rstd * (AT(0, r, c) * v[2][c] - rstd * rstd * dot / (double)cols * AT(1, r, c));
            v[4][c] += AT(0, r, c) * AT(1, r, c) * rstd;
        }
    }
}

static void layer_forward(long rows, long cols, double *const *v) {
    FOR_ROWS {
        double mean = mean_of(&AT(1, r, 0), cols);
        double rstd = 1 / sqrt(variance_of(&AT(1, r, 0), cols, mean) + eps);
        FOR_COLS AT(0, r, c) = (AT(1, r, c) - mean) * rstd * v[2][c] + v[3][c];
    }
}

static void layer_backward(long rows, long cols, double *const *v) {
    FOR_ROWS {
        double mean = mean_of(&AT(2, r, 0), cols), n = (double)cols, c1 = 0, c2 = 0;
        double rstd = 1 / sqrt(variance_of(&AT(2, r, 0), cols, mean) + eps);
        FOR_COLS {
            c1 += (AT(2, r, c) - mean) * rstd * v[3][c] * AT(1, r, c) / n;
            c2 += v[3][c] * AT(1, r, c) / n;
        }
        FOR_COLS AT(0, r, c) =
            (v[3][c] * AT(1, r, c) - ((AT(2, r, c) - mean) * rstd * c1 + c2)) * rstd;
    }
}

static void batch_stats(long rows, long cols, double *const *v) {
    double *column = xmalloc((size_t)rows * sizeof(double));
    FOR_COLS {
        FOR_ROWS column[r] = AT(2, r, c);
        v[0][c] = mean_of(column, rows);
        v[1][c] = variance_of(column, rows, v[0][c]);
    }
    free(column);
}

static void l2_normalize(long rows, long cols, double *const *v) {
    FOR_ROWS {
        double size = sqrt(variance_of(&AT(0, r, 0), cols, 0) * (double)cols + eps);
        FOR_COLS AT(0, r, c) /= size;
    }
}

static void add_rms(long rows, long cols, double *const *v) {
    FOR_ROWS {
        FOR_COLS AT(0, r, c) += AT(1, r, c);
        double rstd = 1 / sqrt(variance_of(&AT(0, r, 0), cols, 0) + eps);
        FOR_COLS AT(3, r, c) = AT(0, r, c) * rstd * v[2][c];
    }
}

static void dynamic_tanh(long rows, long cols, double *const *v) {
    FOR_ROWS FOR_COLS AT(0, r, c) = tanh(0.5 * AT(1, r, c)) * v[3][c] + v[4][c];
}

/// The head has 2 * cols elements.
static void rotate(long rows, long cols, double *const *v, double sign) {
    FOR_ROWS FOR_COLS {
        double *x = &v[0][r * 2 * cols], a = x[c], b = x[c + cols];
        double cosine = AT(1, r, c), sine = sign * AT(2, r, c);
        x[c] = a * cosine - b * sine;
        x[c + cols] = b * cosine + a * sine;
    }
}

static void rope_halves(long rows, long cols, double *const *v) { rotate(rows, cols, v, 1); }
static void rope_backward(long rows, long cols, double *const *v) { rotate(rows, cols, v, -1); }

static void rope_pairs(long rows, long cols, double *const *v) {
    FOR_ROWS FOR_COLS {
        double angle = v[2][r] * exp(-9.0 * (double)c / (double)cols);
        const double *x = &v[1][(r * cols + c) * 2];
        v[0][(r * cols + c) * 2] = x[0] * cos(angle) - x[1] * sin(angle);
        v[0][(r * cols + c) * 2 + 1] = x[1] * cos(angle) + x[0] * sin(angle);
    }
}

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double silu(double x) { return x * sigmoid(x); }
static double gelu(double x) { return 0.5 * x * (1 + erf(x / sqrt(2))); }
static double gelu_tanh(double x) {
    return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}
static double relu2(double x) { return x > 0 ? x * x : 0; }

static void gate(long rows, long cols, double *const *v, double (*f)(double)) {
    FOR_ROWS FOR_COLS AT(0, r, c) = f(AT(1, r, c)) * AT(2, r, c);
}

static void swiglu(long rows, long cols, double *const *v) { gate(rows, cols, v, silu); }
static void geglu(long rows, long cols, double *const *v) { gate(rows, cols, v, gelu); }
static void geglu_tanh(long rows, long cols, double *const *v) { gate(rows, cols, v, gelu_tanh); }
static void reglu2(long rows, long cols, double *const *v) { gate(rows, cols, v, relu2); }

static void swiglu_backward(long rows, long cols, double *const *v) {
    FOR_ROWS FOR_COLS {
        double dc = AT(0, r, c), a = AT(1, r, c), b = AT(2, r, c), s = sigmoid(a);
        AT(1, r, c) = dc * b * (s * (1 + a * (1 - s)));
        AT(2, r, c) = dc * a * s;
    }
}

static const family_case cases[] = {
    {"rms_forward",
     rms_forward,
     ROWS,
     2e-6,
     {Y(F16, ALL), X(F16, ALL, -4, 4), X(F32, COLS, -1, 1), Y(F32, ROWS), N(COLS), F(1e-5), F(1),
      C("BLOCK", BLOCK)}},
    {"rms_backward",
     rms_backward,
     ROWS,
     1e-5,
     {X(F32, ALL, -1, 1), X(B16, ALL, -2, 2), X(F32, COLS, -1, 1), Y(F32, ALL), XY(F32, COLS, 0, 0),
      N(COLS), F(1e-5), C("BLOCK", BLOCK)}},
    {"layer_forward",
     layer_forward,
     ROWS,
     1e-5,
     {Y(F32, ALL), X(F32, ALL, -3, 5), X(F32, COLS, -1, 1), X(F32, COLS, -1, 1), N(COLS), F(1e-5),
      CI("HAS_BIAS", 1), CI("BLOCK", 128)}},
    {"layer_backward",
     layer_backward,
     ROWS,
     1e-5,
     {Y(F32, ALL), X(F32, ALL, -1, 1), X(F32, ALL, -2, 3), X(F32, COLS, -1, 1), N(COLS), F(1e-5),
      C("BLOCK", BLOCK)}},
    {"batch_stats",
     batch_stats,
     COLS,
     1e-5,
     {Y(F32, COLS), Y(F32, COLS), X(F32, ALL, 3, 7), N(ROWS), N(COLS), CI("BLOCK_ROWS", 4)}},
    {"l2_normalize",
     l2_normalize,
     ROWS,
     1e-6,
     {XY(B16, ALL, -2, 2), N(COLS), F(1e-5), C("BLOCK", BLOCK)}},
    {"add_rms",
     add_rms,
     ROWS,
     2e-6,
     {XY(F32, ALL, -2, 2), X(B16, ALL, -2, 2), X(B16, COLS, -1, 1), Y(B16, ALL),
      C("hidden_dim", COLS)}},
    {"dynamic_tanh",
     dynamic_tanh,
     ROWS,
     2e-6,
     {Y(F32, ALL), X(F32, ALL, -20, 20), F(0.5), X(F32, COLS, -1, 1), X(F32, COLS, -1, 1), N(COLS),
      C("BLOCK", BLOCK)}},
    {"rope_halves",
     rope_halves,
     ROWS,
     1e-6,
     {XY(F32, TIMES(2, ALL), -2, 2), X(F32, ALL, -1, 1), X(F32, ALL, -1, 1),
      C("head_dim", TIMES(2, COLS))}},
    {"rope_halves",
     rope_backward,
     ROWS,
     1e-6,
     {XY(F32, TIMES(2, ALL), -2, 2), X(F32, ALL, -1, 1), X(F32, ALL, -1, 1),
      C("head_dim", TIMES(2, COLS)), CI("BACKWARD", 1)}},
    {"rope_pairs",
     rope_pairs,
     ROWS,
     1e-4,
     {Y(F32, TIMES(2, ALL)), X(F32, TIMES(2, ALL), -2, 2), X(I32, ROWS, 0, 300), N(COLS), F(9),
      C("BLOCK", BLOCK)}},
    {"gated",
     swiglu,
     ROWS,
     2e-6,
     {Y(B16, ALL), X(B16, ALL, -9, 9), X(B16, ALL, -2, 2), N(COLS), CS("ACT", "silu"),
      C("BLOCK", BLOCK)}},
    {"gated",
     geglu,
     ROWS,
     2e-6,
     {Y(F32, ALL), X(F32, ALL, -6, 6), X(F32, ALL, -2, 2), N(COLS), CS("ACT", "gelu"),
      C("BLOCK", BLOCK)}},
    {"gated",
     geglu_tanh,
     ROWS,
     4e-6,
     {Y(F32, ALL), X(F32, ALL, -6, 6), X(F16, ALL, -2, 2), N(COLS), CS("ACT", "gelu_tanh"),
      C("BLOCK", BLOCK)}},
    {"gated",
     reglu2,
     ROWS,
     2e-6,
     {Y(F16, ALL), X(F16, ALL, -6, 6), X(F16, ALL, -2, 2), N(COLS), CS("ACT", "relu2"),
      C("BLOCK", BLOCK)}},
    {"swiglu_backward",
     swiglu_backward,
     ROWS,
     4e-6,
     {X(F32, ALL, -2, 2), XY(F32, ALL, -6, 6), XY(F32, ALL, -2, 2), N(COLS), C("BLOCK", BLOCK)}},
};

int main(void) {
    static const long sizes[][2] = {{1, 1}, {3, 33}, {7, 128}, {2, 1000}};
    open_test_device();
    RUN_FAMILY("norms.py", cases, sizes);
    return finish();
}
