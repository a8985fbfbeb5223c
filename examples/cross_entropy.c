// Cross-entropy of rows of logits, forward, from C: cross_entropy.tile, checked and timed.
//   cross_entropy [--device cuda:0|cpu] [--rows M] [--cols N] [--dtype fp32|fp16|bf16] [--verify]
//                 [--bench] [--plan]
#include "rows.h"

/// The logarithm's error is absolute in the sum's relative one; the rest is rounding of what is
/// added up.
static double worst_error(const row_run *run) {
    double worst = 0;
    for (long r = 0; r < run->rows; r++) {
        double top = -INFINITY, total = 0;
        for (long c = 0; c < run->cols; c++)
            top = fmax(top, row_element(run, 1, r, c));
        for (long c = 0; c < run->cols; c++)
            total += exp(row_element(run, 1, r, c) - top);
        double picked = row_element(run, 1, r, (long)((int64_t *)run->arrays[2].host)[r]);
        double want = log(total) + top - picked, got = ((float *)run->arrays[0].host)[r];
        double bound = 4 * 0x1p-24 * (4 + log(total) + fabs(top) + fabs(picked));
        worst = fmax(worst, row_error(FP32, got, want, bound));
    }
    return worst;
}

int main(int argc, char **argv) {
    row_run run;
    row_open(&run, argc, argv, "cross_entropy", INT32_MAX);
    size_t rows = (size_t)run.rows, count = rows * (size_t)run.cols;
    // 32 elements a thread, 16 of short rows, in up to 8 warps; longer rows in as many blocks.
    uint32_t block = next_power_of_2((uint32_t)run.cols), most = run.type == FP32 ? 8192 : 4096;
    bool is_short = block <= most;
    block = is_short ? block : most;
    row_array(&run, "loss", FP32, rows, OUTPUT);
    row_array(&run, "x", run.type, count, VALUES);
    row_array(&run, "target", run.type, rows, COLUMNS);
    row_argument(&run, "x_stride", TILE_I32(run.cols));
    row_argument(&run, "n_cols", TILE_I32(run.cols));
    row_argument(&run, "BLOCK", TILE_CONSTEXPR_INT("BLOCK", block));
    row_argument(&run, "IS_SHORT", TILE_CONSTEXPR_BOOL("IS_SHORT", is_short));
    uint32_t threads = block / (block <= 2048 ? 16 : 32);
    run.launch.num_warps = threads < 32 ? 1 : threads / 32;
    row_launch(&run, argc, argv);
    return row_finish(&run, argc, argv, worst_error(&run));
}
