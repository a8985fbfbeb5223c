// Softmax in all forms of examples/softmax.tile against a double-precision reference: awkward
// sizes, strides unlike the length, rows offset by 1e4, -inf, +inf and NaN, three dtypes.
#include "run.h"

static void reference(float_type t, const void *x, long stride, long cols, double *out) {
    double max = -INFINITY, sum = 0;
    for (long c = 0; c < cols; c++)
        max = fmax(max, load_float(t, x, (size_t)c));
    for (long c = 0; c < cols; c++)
        sum += out[c] = exp(load_float(t, x, (size_t)c) - max);
    for (long c = 0; c < cols; c++)
        out[c] /= sum;
    (void)stride;
}

/// |y - ref| <= (4 + 2 |x - max|) 2^-24 ref, plus one unit in the last place of a 16-bit output.
static bool within(float_type t, double x, double max, double got, double ref) {
    if (isnan(ref) || isnan(got))
        return isnan(ref) && isnan(got);
    double bound = (4 + 2 * fabs(x - max)) * 0x1p-24 * ref + (t == FP32 ? 0x1p-149 : 0);
    if (isinf(x))
        bound = 0;
    if (t == FP16)
        bound += fmax(ldexp(1, ilogb(fmax(ref, 0x1p-14)) - 10), 0x1p-24);
    if (t == BF16)
        bound += fmax(ldexp(1, ilogb(fmax(ref, 0x1p-126)) - 7), 0x1p-133);
    return fabs(got - ref) <= bound;
}

typedef enum row_kind {
    PLAIN,
    OFFSET,
    WIDE, ///< down to results that are subnormal, and 0
    HAS_NEG_INF,
    HAS_INF,
    HAS_NAN,
    ALL_NEG_INF,
    ROW_KINDS
} row_kind;

static double element(row_kind kind, long c) {
    double v = ((double)(random_u32() % 4096) - 2048) / 256;
    switch (kind) {
    case OFFSET:
        return v / 8 + 1e4;
    case WIDE:
        return c == 0 ? 3 : (v - 8) * 7;
    case HAS_NEG_INF:
        return c % 3 == 1 ? -INFINITY : v;
    case HAS_INF:
        return c == 0 ? INFINITY : v;
    case HAS_NAN:
        return c == 0 ? NAN : v;
    case ALL_NEG_INF:
        return -INFINITY;
    default:
        return v;
    }
}

/// A form of the kernel, and how many rows or elements it takes at once.
typedef struct form {
    const char *name; ///< in the kernel's name, with a '_'
    bool takes_rows;  ///< the number of rows is an argument
    uint32_t rows, block;
} form;

static uint32_t programs(const form *f, long rows) {
    return !strcmp(f->name, "persistent_") ? 5 : ((uint32_t)rows + f->rows - 1) / f->rows;
}

static void test_shape(tile_module *mod, float_type t, long cols, form f, uint32_t warps) {
    long rows = 2 * ROW_KINDS, x_stride = cols + 5, y_stride = cols + 3;
    size_t w = float_bytes(t);
    char *x = xmalloc((size_t)(rows * x_stride) * w), *y = xmalloc((size_t)(rows * y_stride) * w);
    for (long r = 0; r < rows; r++)
        for (long c = 0; c < x_stride; c++)
            store_float(t, x, (size_t)(r * x_stride + c),
                        c < cols ? element((row_kind)(r % ROW_KINDS), c) : 1e30);
    tile_buffer *dx = buffer_from(x, (size_t)(rows * x_stride) * w),
                *dy = buffer_from(NULL, (size_t)(rows * y_stride) * w);
    char name[64];
    snprintf(name, sizeof name, "softmax_%s%s", f.name, float_names[t]);
    tile_kernel *k;
    must(tile_module_get_kernel(mod, name, &k, &err));
    tile_arg args[10] = {TILE_BUFFER(dy, float_names[t]), TILE_BUFFER(dx, float_names[t]),
                         TILE_I32(y_stride), TILE_I32(x_stride)};
    uint32_t n = 4;
    if (f.takes_rows)
        args[n++] = TILE_I32(rows);
    args[n++] = TILE_I32(cols);
    args[n++] = TILE_CONSTEXPR_INT("BLOCK", f.block ? f.block : next_power_of_2((uint32_t)cols));
    if (f.rows == 1 && !f.block && cols > 1000 && (cols + (long)t) % 2) { // as softmax.c does
        args[n++] = TILE_CONSTEXPR_INT("LEAST", cols - cols % 512);
        args[n++] = TILE_CONSTEXPR_INT("MOST", cols + 40);
    }
    if (f.rows > 1)
        args[n++] = TILE_CONSTEXPR_INT("ROWS", f.rows);
    tile_launch_options o = {.size = sizeof o, .grid = {programs(&f, rows)}, .num_warps = warps};
    must(tile_launch(k, args, n, &o, &err));
    read_buffer(dy, y, (size_t)(rows * y_stride) * w);
    double *ref = xmalloc((size_t)cols * sizeof *ref);
    for (long r = 0; r < rows; r++) {
        const char *row = x + (size_t)(r * x_stride) * w;
        reference(t, row, x_stride, cols, ref);
        double max = -INFINITY, sum = 0;
        for (long c = 0; c < cols; c++)
            max = fmax(max, load_float(t, row, (size_t)c));
        for (long c = 0; c < cols; c++) {
            double got = load_float(t, y, (size_t)(r * y_stride + c)),
                   v = load_float(t, row, (size_t)c);
            sum += got;
            // A row with an infinite or NaN element is NaN as a whole in IEEE arithmetic; the max of
            // a row with a NaN ignores it, so that only the sum carries it.
            bool all_nan = r % ROW_KINDS == HAS_INF || r % ROW_KINDS == HAS_NAN ||
                           r % ROW_KINDS == ALL_NEG_INF;
            bool ok = all_nan ? isnan(got) || (r % ROW_KINDS == HAS_INF && c != 0 && got == 0)
                              : within(t, v, max, got, ref[c]);
            expect(ok,
                   "%s %ld columns, %u warps, row %ld, column %ld: x = %g, got %.9g, expected %.9g",
                   name, cols, warps, r, c, v, got, ref[c]);
        }
        if (r % ROW_KINDS <= HAS_NEG_INF && cols > 1)
            expect(fabs(sum - 1) <= (t == FP32 ? 1e-5 : 1e-2) || isnan(ref[0]),
                   "%s row %ld of %ld columns sums to %.9g", name, r, cols, sum);
        for (long c = cols; c < y_stride && r + 1 < rows; c++) {
            uint8_t bytes[4];
            memcpy(bytes, y + (size_t)(r * y_stride + c) * w, w);
            expect(bytes[0] == 0xA5 && bytes[1] == 0xA5,
                   "%s wrote past the row at row %ld, column %ld of %ld", name, r, c, cols);
        }
    }
    tile_buffer_destroy(dx), tile_buffer_destroy(dy);
    free(x), free(y), free(ref);
}

/// The i-th choice of warps: from 1 to 32, but at most 32 elements of a row in a thread, since code
/// is unrolled over them.
static uint32_t warps_for(long cols, size_t i) {
    uint32_t least = next_power_of_2((uint32_t)cols) / 1024;
    uint32_t warps = (least ? least : 1) << i % 4;
    return warps > 32 ? 32 : warps;
}

int main(void) {
    open_test_device();
    tile_module *mod;
    must(tile_module_load_file(dev, EXAMPLES_DIR "/softmax.tile", &mod, &err));
    static const long sizes[] = {1,   2,   3,    7,    31,   32,   33,   127,  128,  255,
                                 256, 781, 1000, 1023, 1024, 1025, 4096, 4097, 12345};
    static const form one_row = {"", false, 1, 0}, persistent = {"persistent_", true, 1, 0},
                      several[] = {{"several_", true, 8, 0}, {"several_", true, 2, 0}},
                      looped[] = {{"looped_", false, 1, 1024}, {"looped_", false, 1, 4096}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int t = FP32; t <= BF16; t++) {
            size_t i = s + (size_t)t;
            test_shape(mod, (float_type)t, sizes[s], one_row, warps_for(sizes[s], i));
            test_shape(mod, (float_type)t, sizes[s], persistent, warps_for(sizes[s], i + 1));
            if (sizes[s] <= 1024)
                test_shape(mod, (float_type)t, sizes[s], several[i % 2], i % 3 ? 8 : 2);
            else
                test_shape(mod, (float_type)t, sizes[s], looped[i % 2], 4);
        }
    if (dev_info.is_cuda)
        for (int t = FP32; t <= BF16; t++) {
            test_shape(mod, (float_type)t, 16384, one_row, 8);
            test_shape(mod, (float_type)t, 16385, one_row, 8);
            test_shape(mod, (float_type)t, 18000, one_row, 8);
            test_shape(mod, (float_type)t, 32768, one_row, 16);
        }
    tile_module_destroy(mod);
    return finish();
}
