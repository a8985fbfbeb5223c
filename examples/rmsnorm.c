// Root mean square norm of rows from C: rmsnorm.tile, checked and timed.
//   rmsnorm [--device cuda:0|cpu] [--rows M] [--cols N] [--dtype fp32|fp16|bf16] [--verify] [--bench]
//           [--plan]
#include "rows.h"

static const double eps = 1e-6;

/// A sum of squares has no cancellation: the bound is relative to the result.
static double worst_error(const row_run *run) {
    double worst = 0;
    for (long r = 0; r < run->rows; r++) {
        double squares = 0;
        for (long c = 0; c < run->cols; c++)
            squares += pow(row_element(run, 1, r, c), 2);
        double scale = 1 / sqrt(squares / (double)run->cols + eps);
        for (long c = 0; c < run->cols; c++) {
            double want = row_element(run, 1, r, c) * scale * row_element(run, 2, 0, c);
            worst = fmax(worst, row_error(run->type, row_element(run, 0, r, c), want,
                                          16 * 0x1p-24 * fabs(want) + 0x1p-126));
        }
    }
    return worst;
}

int main(int argc, char **argv) {
    row_run run;
    row_open(&run, argc, argv, "rmsnorm", 1 << 17);
    size_t cols = (size_t)run.cols, count = (size_t)run.rows * cols;
    row_plan plan = plan_norm(&run, 1);
    row_array(&run, "y", run.type, count, OUTPUT);
    row_array(&run, "x", run.type, count, VALUES);
    row_array(&run, "w", run.type, cols, WEIGHTS);
    row_argument(&run, "y_stride", TILE_I32(run.cols));
    row_argument(&run, "x_stride", TILE_I32(run.cols));
    if (plan.rows > 1)
        row_argument(&run, "n_rows", TILE_I32(run.rows));
    row_argument(&run, "n_cols", TILE_I32(run.cols));
    row_argument(&run, "eps", TILE_FP32(eps));
    row_follow(&run, &plan, "rmsnorm");
    row_launch(&run, argc, argv);
    return row_finish(&run, argc, argv, worst_error(&run));
}
