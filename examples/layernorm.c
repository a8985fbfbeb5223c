// Layer norm of rows, forward, from C: layernorm.tile, checked and timed.
//   layernorm [--device cuda:0|cpu] [--rows M] [--cols N] [--dtype fp32|fp16|bf16] [--verify] [--bench]
//             [--plan]
#include "rows.h"

static const double eps = 1e-5;

/// The mean is off by some 2^-24 of the values' size, and with it every difference.
static double worst_error(const row_run *run) {
    double worst = 0, n = (double)run->cols;
    for (long r = 0; r < run->rows; r++) {
        double mean = 0, size = 0, squares = 0;
        for (long c = 0; c < run->cols; c++) {
            mean += row_element(run, 1, r, c) / n;
            size += fabs(row_element(run, 1, r, c)) / n;
        }
        for (long c = 0; c < run->cols; c++)
            squares += pow(row_element(run, 1, r, c) - mean, 2);
        double scale = 1 / sqrt(squares / n + eps);
        for (long c = 0; c < run->cols; c++) {
            double x = row_element(run, 1, r, c), w = row_element(run, 2, 0, c),
                   b = row_element(run, 3, 0, c), want = (x - mean) * scale * w + b;
            double bound = 16 * 0x1p-24 * ((fabs(x) + size) * scale * fabs(w) + fabs(b));
            worst = fmax(worst, row_error(run->type, row_element(run, 0, r, c), want, bound));
        }
    }
    return worst;
}

int main(int argc, char **argv) {
    row_run run;
    row_open(&run, argc, argv, "layernorm", 1 << 17);
    size_t cols = (size_t)run.cols, count = (size_t)run.rows * cols;
    row_plan plan = plan_norm(&run, 2);
    row_array(&run, "y", run.type, count, OUTPUT);
    row_array(&run, "x", run.type, count, VALUES);
    row_array(&run, "w", run.type, cols, WEIGHTS);
    row_array(&run, "b", run.type, cols, VALUES);
    row_argument(&run, "y_stride", TILE_I32(run.cols));
    row_argument(&run, "x_stride", TILE_I32(run.cols));
    if (plan.rows > 1)
        row_argument(&run, "n_rows", TILE_I32(run.rows));
    row_argument(&run, "n_cols", TILE_I32(run.cols));
    row_argument(&run, "eps", TILE_FP32(eps));
    row_follow(&run, &plan, "layernorm");
    row_launch(&run, argc, argv);
    return row_finish(&run, argc, argv, worst_error(&run));
}
