// The norms and the cross-entropy of examples/ against references in double precision: awkward
// sizes, strides unlike the length, rows of -0, with -inf, +inf and NaN, three dtypes, all forms. What
// a reference makes of infinities and NaN by IEEE arithmetic is what must come out.
#include "run.h"

typedef enum operation { RMSNORM, LAYERNORM, CROSS_ENTROPY, OPERATIONS } operation;

static const char *const op_names[] = {"rmsnorm", "layernorm", "cross_entropy"};
static const double eps = 1e-5;

typedef enum row_kind {
    PLAIN,
    OFFSET,
    NEGATIVE_ZERO,
    BEGINS_NEG_INF,
    HAS_INF,
    HAS_NAN,
    ALL_NEG_INF,
    ROW_KINDS
} row_kind;

static double element(row_kind kind, long c, long cols) {
    double v = ((double)(random_u32() % 4096) - 2048) / 256;
    switch (kind) {
    case OFFSET:
        return v / 8 + 100;
    case NEGATIVE_ZERO:
        return -0.0;
    case BEGINS_NEG_INF:
        return c < cols * 2 / 3 ? -INFINITY : v;
    case HAS_INF:
        return c == cols / 2 ? INFINITY : v;
    case HAS_NAN:
        return c == cols - 1 ? NAN : v;
    case ALL_NEG_INF:
        return -INFINITY;
    default:
        return v;
    }
}

/// The row's result and, for each element, the error that the sums may bring.
static void norm_row(operation op, float_type t, const void *x, const void *w, const void *b,
                     long cols, double *want, double *bound) {
    double mean = 0, size = 0, squares = 0, n = (double)cols;
    for (long c = 0; c < cols; c++) {
        mean += load_float(t, x, (size_t)c) / n;
        size += fabs(load_float(t, x, (size_t)c)) / n;
    }
    if (op == RMSNORM)
        mean = size = 0;
    for (long c = 0; c < cols; c++)
        squares += pow(load_float(t, x, (size_t)c) - mean, 2);
    double scale = 1 / sqrt(squares / n + eps);
    for (long c = 0; c < cols; c++) {
        double v = load_float(t, x, (size_t)c), weight = load_float(t, w, (size_t)c),
               bias = op == RMSNORM ? 0 : load_float(t, b, (size_t)c);
        want[c] = op == RMSNORM ? v * scale * weight : (v - mean) * scale * weight + bias;
        bound[c] = 16 * 0x1p-24 * ((fabs(v) + size) * scale * fabs(weight) + fabs(bias));
    }
}

static void loss_of_row(float_type t, const void *x, long cols, int64_t target, double *want,
                        double *bound) {
    double top = -INFINITY, total = 0, picked = load_float(t, x, (size_t)target);
    for (long c = 0; c < cols; c++)
        top = fmax(top, load_float(t, x, (size_t)c));
    for (long c = 0; c < cols; c++)
        total += exp(load_float(t, x, (size_t)c) - top);
    *want = log(total) + top - picked;
    *bound = 4 * 0x1p-24 * (4 + fabs(log(total)) + fabs(top) + fabs(picked));
}

/// One unit in the last place of a 16-bit output comes on top of the bound.
static bool within(float_type t, double got, double want, double bound) {
    if (isnan(want) || isinf(want))
        return isnan(want) ? isnan(got) : got == want;
    if (t == FP16)
        bound += fmax(ldexp(1, ilogb(fmax(fabs(want), 0x1p-14)) - 10), 0x1p-24);
    if (t == BF16)
        bound += fmax(ldexp(1, ilogb(fmax(fabs(want), 0x1p-126)) - 7), 0x1p-133);
    return fabs(got - want) <= bound + 0x1p-126;
}

/// How a kernel is launched. `flag` is WEIGHT_FIRST, or IS_SHORT.
typedef struct form {
    uint32_t rows, block, warps; ///< rows of a program
    bool flag;
} form;

static uint32_t fill_arguments(operation op, float_type t, tile_buffer *const b[4], long y_stride,
                               long x_stride, long rows, long cols, const form *f,
                               tile_arg args[12]) {
    const char *type = float_names[t];
    uint32_t n = 0;
    args[n++] = TILE_BUFFER(b[0], op == CROSS_ENTROPY ? "fp32" : type);
    args[n++] = TILE_BUFFER(b[1], type);
    args[n++] = TILE_BUFFER(b[2], op == CROSS_ENTROPY ? "i64" : type);
    if (op == LAYERNORM)
        args[n++] = TILE_BUFFER(b[3], type);
    if (op != CROSS_ENTROPY)
        args[n++] = TILE_I32(y_stride);
    args[n++] = TILE_I32(x_stride);
    if (f->rows > 1)
        args[n++] = TILE_I32(rows);
    args[n++] = TILE_I32(cols);
    if (op != CROSS_ENTROPY)
        args[n++] = TILE_FP32(eps);
    args[n++] = TILE_CONSTEXPR_INT("BLOCK", f->block);
    if (f->rows > 1)
        args[n++] = TILE_CONSTEXPR_INT("ROWS", f->rows);
    else
        args[n++] = TILE_CONSTEXPR_BOOL(op == CROSS_ENTROPY ? "IS_SHORT" : "WEIGHT_FIRST", f->flag);
    return n;
}

/// Compares a row of the output, and the gap to the next one, which must be as it was.
static void check_row(operation op, float_type out_type, const char *y, long r, long y_stride,
                      long width, const double *want, const double *bound, bool is_last) {
    size_t w = float_bytes(out_type);
    for (long c = 0; c < width; c++) {
        double got = load_float(out_type, y, (size_t)(r * y_stride + c));
        expect(within(out_type, got, want[c], bound[c]),
               "%s %s row %ld of kind %ld, column %ld: got %.9g, expected %.9g", op_names[op],
               float_names[out_type], r, r % ROW_KINDS, c, got, want[c]);
        if (op == RMSNORM && r % ROW_KINDS == NEGATIVE_ZERO)
            expect(signbit(got) == signbit(want[c]), "rmsnorm: sign of zero in column %ld", c);
    }
    for (long c = width; c < y_stride && !is_last; c++)
        expect((uint8_t)y[(size_t)(r * y_stride + c) * w] == 0xA5,
               "%s wrote past the row at row %ld, column %ld", op_names[op], r, c);
}

static void test_shape(tile_module *mod, operation op, float_type t, long cols, const form *f) {
    bool is_loss = op == CROSS_ENTROPY;
    long rows = 2 * ROW_KINDS, x_stride = cols + 5, y_stride = is_loss ? 1 : cols + 3;
    float_type out_type = is_loss ? FP32 : t;
    size_t w = float_bytes(t), out_bytes = (size_t)(rows * y_stride) * float_bytes(out_type);
    char *x = xmalloc((size_t)(rows * x_stride) * w), *y = xmalloc(out_bytes),
         *weights = xmalloc((size_t)cols * w), *biases = xmalloc((size_t)cols * w);
    int64_t *targets = xmalloc((size_t)rows * sizeof *targets);
    for (long r = 0; r < rows; r++) {
        for (long c = 0; c < x_stride; c++)
            store_float(t, x, (size_t)(r * x_stride + c),
                        c < cols ? element((row_kind)(r % ROW_KINDS), c, cols) : 1e30);
        targets[r] = (int64_t)(random_u32() % (uint32_t)cols);
    }
    for (long c = 0; c < cols; c++) {
        store_float(t, weights, (size_t)c, 1 + element(PLAIN, c, cols) / 16);
        store_float(t, biases, (size_t)c, element(PLAIN, c, cols));
    }
    tile_buffer *b[] = {buffer_from(NULL, out_bytes), buffer_from(x, (size_t)(rows * x_stride) * w),
                        is_loss ? buffer_from(targets, (size_t)rows * sizeof *targets)
                                : buffer_from(weights, (size_t)cols * w),
                        buffer_from(biases, (size_t)cols * w)};
    tile_arg args[12];
    uint32_t n = fill_arguments(op, t, b, y_stride, x_stride, rows, cols, f, args);
    char name[64];
    snprintf(name, sizeof name, "%s_%s%s", op_names[op], f->rows > 1 ? "several_" : "",
             float_names[t]);
    tile_kernel *k;
    must(tile_module_get_kernel(mod, name, &k, &err));
    tile_launch_options o = {.size = sizeof o, .num_warps = f->warps};
    o.grid[0] = ((uint32_t)rows + f->rows - 1) / f->rows;
    must(tile_launch(k, args, n, &o, &err));
    read_buffer(b[0], y, out_bytes);
    double *want = xmalloc((size_t)cols * sizeof *want),
           *bound = xmalloc((size_t)cols * sizeof *bound);
    for (long r = 0; r < rows; r++) {
        const char *row = x + (size_t)(r * x_stride) * w;
        if (is_loss)
            loss_of_row(t, row, cols, targets[r], want, bound);
        else
            norm_row(op, t, row, weights, biases, cols, want, bound);
        check_row(op, out_type, y, r, y_stride, is_loss ? 1 : cols, want, bound, r + 1 == rows);
    }
    for (int i = 0; i < 4; i++)
        tile_buffer_destroy(b[i]);
    free(x), free(y), free(weights), free(biases), free(targets), free(want), free(bound);
}

int main(void) {
    open_test_device();
    static const long sizes[] = {1, 2, 7, 31, 33, 128, 255, 781, 1000, 1024, 1025, 4097};
    for (int op = 0; op < OPERATIONS; op++) {
        char path[512];
        tile_module *mod;
        snprintf(path, sizeof path, "%s/%s.tile", EXAMPLES_DIR, op_names[op]);
        must(tile_module_load_file(dev, path, &mod, &err));
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int t = FP32; t <= BF16; t++) {
                uint32_t block = next_power_of_2((uint32_t)sizes[s]), least = block / 1024;
                uint32_t warps = (least ? least : 1) << (s + (size_t)t) % 3;
                form f = {1, block, warps, s % 3 == 0};
                if (op == CROSS_ENTROPY && s % 2 && block > 16)
                    f = (form){1, block / 8, warps, false}; // several blocks
                test_shape(mod, (operation)op, (float_type)t, sizes[s], &f);
                f = (form){1u << (1 + s % 3), block, 1u << s % 4, false};
                if (op != CROSS_ENTROPY && block <= 1024)
                    test_shape(mod, (operation)op, (float_type)t, sizes[s], &f);
            }
        tile_module_destroy(mod);
    }
    return finish();
}
