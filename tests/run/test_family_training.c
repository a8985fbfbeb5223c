// Losses, optimizers and embeddings in the manner of public kernels, whose file defines them only
// where Triton is found, against references in double precision.
#include "family.h"

#define FOR_ROWS for (long r = 0; r < rows; r++)
#define FOR_COLS for (long c = 0; c < cols; c++)
#define FOR_ALL for (long i = 0; i < rows * cols; i++)
#define AT(a, r, c) (v[a][(r)*cols + (c)])

enum { VOCABULARY = 11, BAG = 3 };

/// The row's logits become their gradients; gives the loss.
static double entropy_of_row(double *x, long cols, long label, double cap, double smoothing) {
    double top = -INFINITY, sum = 0, eps = smoothing / (double)cols, loss = 0;
    double *z = xmalloc((size_t)cols * sizeof(double));
    FOR_COLS {
        z[c] = cap > 0 ? cap * tanh(x[c] / cap) : x[c];
        top = fmax(top, z[c]);
    }
    FOR_COLS sum += exp(z[c] - top);
    double lse = top + log(sum);
    loss = (1 - smoothing) * (lse - z[label]) + smoothing * lse;
    FOR_COLS {
        double slope = cap > 0 ? 1 - z[c] / cap * (z[c] / cap) : 1;
        loss -= eps * z[c];
        x[c] = (exp(z[c] - lse) - eps - (c == label ? 1 - smoothing : 0)) * slope;
    }
    free(z);
    return loss;
}

static void entropy(long rows, long cols, double *const *v, double cap, double smoothing,
                    long ignored) {
    FOR_ROWS {
        long label = (long)v[2][r];
        if (label != ignored)
            v[0][r] = entropy_of_row(&AT(1, r, 0), cols, label, cap, smoothing);
        else
            FOR_COLS v[0][r] = AT(1, r, c) = 0;
    }
}

static void plain_entropy(long rows, long cols, double *const *v) {
    entropy(rows, cols, v, 0, 0, -100);
}
static void smooth_entropy(long rows, long cols, double *const *v) {
    entropy(rows, cols, v, 0, 0.125, -100);
}
static void capped_entropy(long rows, long cols, double *const *v) {
    entropy(rows, cols, v, 5, 0, 0);
}

static void kl_divergence(long rows, long cols, double *const *v) {
    FOR_ROWS {
        v[0][r] = 0;
        FOR_COLS v[0][r] += AT(2, r, c) * (log(fmax(AT(2, r, c), 1e-10)) - AT(1, r, c));
    }
}

static void kl_of_logs(long rows, long cols, double *const *v) {
    FOR_ROWS {
        v[0][r] = 0;
        FOR_COLS v[0][r] += exp(AT(2, r, c)) * (AT(2, r, c) - AT(1, r, c));
    }
}

static void jensen_shannon(long rows, long cols, double *const *v) {
    FOR_ALL {
        double x = v[1][i], y = v[2][i], q = exp(x), p = exp(y), m = log(0.25 * p + 0.75 * q);
        v[0][i] = 0.25 * p * (y - m) + 0.75 * q * (x - m);
        v[3][i] = 0.75 * q * (x - m);
    }
}

static void total_variation(long rows, long cols, double *const *v) {
    FOR_ROWS {
        v[0][r] = 0;
        FOR_COLS v[0][r] += 0.5 * fabs(AT(1, r, c) - AT(2, r, c));
    }
}

static void binary_loss(long rows, long cols, double *const *v) {
    FOR_ALL v[0][0] += (log(1 + exp(v[1][i])) - (v[2][i] != 0 ? v[1][i] : 0)) / (double)cols;
}

static void adamw(long rows, long cols, double *const *v) {
    FOR_ALL {
        double g = v[1][i], m = v[2][i] = 0.875 * v[2][i] + 0.125 * g;
        double s = v[3][i] = 0.75 * v[3][i] + 0.25 * g * g;
        v[0][i] = v[0][i] * (1 - 0.25 * 0.5) - 0.25 * (m / 0.5) / (sqrt(s / 0.75) + 0.03125);
    }
}

static void sgd(long rows, long cols, double *const *v) {
    FOR_ALL {
        v[2][i] = 0.875 * v[2][i] + v[1][i];
        v[0][i] -= 0.25 * v[2][i];
    }
}

static void nesterov(long rows, long cols, double *const *v) {
    FOR_ALL {
        v[2][i] = 0.875 * v[2][i] + v[1][i];
        v[0][i] -= 0.25 * (v[1][i] + 0.875 * v[2][i]);
    }
}

static void lion(long rows, long cols, double *const *v) {
    FOR_ALL {
        double g = v[1][i], m = v[2][i], update = 0.875 * (m - g) + g;
        v[0][i] = v[0][i] * (1 - 0.25 * 0.5) - 0.25 * ((update > 0) - (update < 0));
        v[2][i] = 0.5 * (m - g) + g;
    }
}

static void adagrad(long rows, long cols, double *const *v) {
    FOR_ALL {
        v[2][i] += v[1][i] * v[1][i];
        v[0][i] -= 0.25 * v[1][i] / (sqrt(v[2][i]) + 1e-10);
    }
}

static void clip_by_norm(long rows, long cols, double *const *v) {
    FOR_ROWS {
        double squares = 0;
        FOR_COLS squares += AT(0, r, c) * AT(0, r, c);
        FOR_COLS AT(0, r, c) *= sqrt(squares) <= 4 ? 1 : 4 / sqrt(squares);
    }
}

static void moving_average(long rows, long cols, double *const *v) {
    FOR_ALL v[0][i] += 0.125 * (v[1][i] - v[0][i]);
}

static void embed(long rows, long cols, double *const *v) {
    FOR_ROWS FOR_COLS {
        long token = (long)v[1][r];
        bool inside = token >= 0 && token < VOCABULARY && token != 4;
        AT(0, r, c) = inside ? AT(2, token, c) : 0;
    }
}

static void embed_backward(long rows, long cols, double *const *v) {
    FOR_ROWS FOR_COLS AT(2, (long)v[1][r], c) += AT(0, r, c);
}

static void bag_mean(long rows, long cols, double *const *v) {
    FOR_ROWS FOR_COLS {
        AT(0, r, c) = 0;
        for (long k = 0; k < BAG; k++)
            AT(0, r, c) += AT(2, (long)v[1][r * BAG + k], c) / BAG;
    }
}

static const family_case cases[] = {
    {"cross_entropy",
     plain_entropy,
     ROWS,
     1e-5,
     {Y(F32, ROWS), XY(F32, ALL, -5, 5), LABELS(I64), N(COLS), F(0), CI("ignore_index", -100),
      CI("label_smoothing", 0), CI("HAS_SOFTCAP", 0), CI("BLOCK", 256)}},
    {"cross_entropy",
     smooth_entropy,
     ROWS,
     1e-5,
     {Y(F32, ROWS), XY(F32, ALL, -5, 5), LABELS(I64), N(COLS), F(0), CI("ignore_index", -100),
      CF("label_smoothing", 0.125), CI("HAS_SOFTCAP", 0), CI("BLOCK", 256)}},
    {"cross_entropy",
     capped_entropy,
     ROWS,
     1e-5,
     {Y(F32, ROWS), XY(F16, ALL, -9, 9), LABELS(I32), N(COLS), F(5), CI("ignore_index", 0),
      CI("label_smoothing", 0), CI("HAS_SOFTCAP", 1), CI("BLOCK", 64)}},
    {"kl_divergence",
     kl_divergence,
     ROWS,
     1e-5,
     {Y(F32, ROWS), X(F32, ALL, -5, 0), X(F32, ALL, 0, 1), N(COLS), CI("BLOCK", 64)}},
    {"kl_divergence",
     kl_of_logs,
     ROWS,
     1e-5,
     {Y(F32, ROWS), X(F32, ALL, -5, 0), X(F32, ALL, -5, 0), N(COLS), CI("BLOCK", 64),
      CI("LOG_TARGET", 1)}},
    {"jensen_shannon",
     jensen_shannon,
     ROWS,
     2e-6,
     {Y(F32, ALL), X(F32, ALL, -5, 0), X(F32, ALL, -5, 0), Y(F32, ALL), F(0.25), N(COLS),
      C("BLOCK", BLOCK)}},
    {"total_variation",
     total_variation,
     ROWS,
     1e-6,
     {Y(F32, ROWS), X(F32, ALL, 0, 1), X(B16, ALL, 0, 1), N(COLS), C("BLOCK", BLOCK)}},
    {"binary_loss",
     binary_loss,
     ROWS,
     1e-5,
     {XY(F32, ONE, 0, 0), X(F32, ALL, -9, 9), X(I1, ALL, 0, 2), N(COLS), C("BLOCK", BLOCK)}},
    {"adamw",
     adamw,
     ALL,
     1e-5,
     {XY(F32, ALL, -1, 1), X(B16, ALL, -1, 1), XY(F32, ALL, -1, 1), XY(F32, ALL, 0, 1), F(0.25),
      F(0.875), F(0.75), F(0.03125), F(0.5), F(0.5), F(0.75), N(ALL), CI("BLOCK", 1)}},
    {"sgd",
     sgd,
     ROWS,
     1e-6,
     {XY(F32, ALL, -1, 1), X(F32, ALL, -1, 1), XY(F32, ALL, -1, 1), F(0.25), F(0.875), N(ALL),
      CI("NESTEROV", 0), C("BLOCK", BLOCK)}},
    {"sgd",
     nesterov,
     ROWS,
     1e-6,
     {XY(F32, ALL, -1, 1), X(F32, ALL, -1, 1), XY(F32, ALL, -1, 1), F(0.25), F(0.875), N(ALL),
      CI("NESTEROV", 1), C("BLOCK", BLOCK)}},
    {"lion",
     lion,
     ROWS,
     1e-6,
     {XY(F32, ALL, -1, 1), X(F32, ALL, -1, 1), XY(F32, ALL, -1, 1), F(0.25), F(0.5), F(0.875),
      F(0.5), N(ALL), C("BLOCK", BLOCK)}},
    {"adagrad",
     adagrad,
     ROWS,
     1e-6,
     {XY(F32, ALL, -1, 1), X(F32, ALL, -1, 1), XY(F32, ALL, 0, 1), F(0.25), N(ALL),
      C("BLOCK", BLOCK)}},
    {"clip_by_norm",
     clip_by_norm,
     ROWS,
     1e-6,
     {XY(F32, ALL, -2, 2), F(4), N(COLS), CI("BLOCK", 128)}},
    {"moving_average",
     moving_average,
     ALL,
     1e-6,
     {XY(B16, ALL, -1, 1), X(F32, ALL, -1, 1), F(0.875), N(ALL)}},
    {"embed",
     embed,
     ROWS,
     0,
     {Y(F16, ALL), X(I64, ROWS, -3, VOCABULARY + 2), X(F16, TIMES(VOCABULARY, COLS), -2, 2),
      N(COLS), I(VOCABULARY), I(4), C("BLOCK", BLOCK)}},
    {"embed_backward",
     embed_backward,
     ROWS,
     1e-6,
     {X(F32, ALL, -1, 1), X(I32, ROWS, 0, VOCABULARY), XY(F32, TIMES(VOCABULARY, COLS), 0, 0),
      N(COLS), CI("BLOCK", 64)}},
    {"bag_mean",
     bag_mean,
     ROWS,
     1e-6,
     {Y(F32, ALL), X(I64, TIMES(BAG, ROWS), 0, VOCABULARY), X(B16, TIMES(VOCABULARY, COLS), -2, 2),
      N(COLS), C("BLOCK", BLOCK), CI("bag", BAG)}},
};

int main(void) {
    static const long sizes[][2] = {{1, 1}, {5, 33}, {7, 128}, {3, 777}};
    open_test_device();
    RUN_FAMILY("training.py", cases, sizes);
    return finish();
}
