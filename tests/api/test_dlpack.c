// Tensors of other libraries as arguments (tile_dlpack.h): types, offsets, strides and devices on
// the device under test, and what is refused.
#include "../run/run.h"

#include <tile_dlpack.h>

#define EXPECT(cond) expect(cond, "line %d: %s (%s)", __LINE__, #cond, err.message)

static const char source[] =
    "def scale(y, x, n_rows, n_cols, row_stride, col_stride, BLOCK: constexpr):\n"
    "    r = program_id(0)\n"
    "    o = arange(0, BLOCK)\n"
    "    v = load(x + r * row_stride + o * col_stride, mask=o < n_cols)\n"
    "    store(y + r * n_cols + o, (v * 2).to(y.dtype.element_ty), mask=o < n_cols)\n";

/// A tensor at `data` in memory of the device under test.
static DLTensor tensor(void *data, uint8_t code, uint8_t bits, int ndim, int64_t *shape,
                       int64_t *strides) {
    DLTensor t = {
        .data = data, .ndim = ndim, .dtype = {code, bits, 1}, .shape = shape, .strides = strides};
    t.device.device_type = dev_info.is_cuda ? kDLCUDA : kDLCPU;
    return t;
}

/// Every other column of a transposed matrix: y[r, c] = 2 * x[r, c] through strides, with an offset.
static void strided(tile_kernel *k) {
    enum { ROWS = 5, COLS = 7, LD = 11 };
    int16_t host[1 + 2 * COLS * LD], got[ROWS * COLS];
    for (int i = 0; i < (int)(sizeof host / sizeof *host); i++)
        host[i] = (int16_t)(i * 3 - 100);
    tile_buffer *x, *y;
    must(tile_buffer_create(dev, sizeof host, &x, &err));
    must(tile_buffer_create(dev, sizeof got, &y, &err));
    must(tile_copy_to_device(x, 0, host, sizeof host, NULL, &err));
    int64_t shape[] = {ROWS, COLS}, strides[] = {1, 2 * LD};
    DLTensor tx = tensor(tile_buffer_data(x), kDLInt, 16, 2, shape, strides);
    tx.byte_offset = 2;
    DLTensor ty = tensor(tile_buffer_data(y), kDLInt, 16, 2, shape, NULL);
    tile_arg args[7];
    must(tile_dlpack_pointer(dev, &ty, &args[0], &err));
    must(tile_dlpack_pointer(dev, &tx, &args[1], &err));
    must(tile_dlpack_size(&tx, 0, &args[2], &err));
    must(tile_dlpack_size(&tx, -1, &args[3], &err));
    must(tile_dlpack_stride(&tx, -2, &args[4], &err));
    must(tile_dlpack_stride(&tx, 1, &args[5], &err));
    args[6] = TILE_CONSTEXPR_INT("BLOCK", 8);
    EXPECT(args[1].value.pointer == (char *)tile_buffer_data(x) + 2);
    EXPECT(args[5].kind == TILE_ARG_INT && args[5].value.i == 2 * LD);
    tile_launch_options o = {.size = sizeof o, .grid = {ROWS}, .num_warps = 1};
    must(tile_launch(k, args, 7, &o, &err));
    must(tile_copy_to_host(got, y, 0, sizeof got, NULL, &err));
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLS; c++)
            expect(got[r * COLS + c] == 2 * host[1 + r + c * 2 * LD], "[%d, %d] is %d", r, c,
                   got[r * COLS + c]);
    EXPECT(!tile_dlpack_check_contiguous(&ty, &err));
    EXPECT(tile_dlpack_check_contiguous(&tx, &err) == TILE_ERROR_INVALID_ARGUMENT);
    EXPECT(strstr(err.message, "dimension 1 has stride 22, not 1"));
    tile_buffer_destroy(x);
    tile_buffer_destroy(y);
}

/// The caller's own host memory, which kernels on cpu may use once it is registered; walked
/// backwards, so that the first element is not the lowest address.
static void registered(tile_kernel *k) {
    float x[6] = {1, 2, 3, 4, 5, 6}, y[3] = {0};
    int64_t shape[] = {1, 3}, backwards[] = {0, -2};
    DLTensor tx = tensor(&x[5], kDLFloat, 32, 2, shape, backwards);
    DLTensor ty = tensor(y, kDLFloat, 32, 2, shape, NULL);
    tile_arg args[] = {TILE_NONE(),
                       TILE_NONE(),
                       TILE_INT(1),
                       TILE_INT(3),
                       TILE_INT(0),
                       TILE_INT(-2),
                       TILE_CONSTEXPR_INT("BLOCK", 4)};
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = 1};
    must(tile_dlpack_pointer(dev, &ty, &args[0], &err));
    must(tile_dlpack_pointer(dev, &tx, &args[1], &err));
    EXPECT(tile_launch(k, args, 7, &o, &err) == TILE_ERROR_OUT_OF_BOUNDS);
    must(tile_dlpack_register(dev, &tx, &err));
    must(tile_dlpack_register(dev, &ty, &err));
    must(tile_launch(k, args, 7, &o, &err));
    EXPECT(y[0] == 12 && y[1] == 8 && y[2] == 4);
    tile_dlpack_unregister(dev, &tx);
    EXPECT(tile_launch(k, args, 7, &o, &err) == TILE_ERROR_OUT_OF_BOUNDS);
    tile_dlpack_unregister(dev, &ty);
    tile_dlpack_unregister(dev, NULL);
    tile_dlpack_unregister(NULL, &ty);
}

static void types(void) {
    static const struct {
        uint8_t code, bits;
        const char *dtype;
    } known[] = {{0, 8, "i8"},       {0, 64, "i64"},   {1, 8, "u8"},    {1, 64, "u64"},
                 {2, 16, "fp16"},    {2, 64, "fp64"},  {4, 16, "bf16"}, {6, 8, "i1"},
                 {10, 8, "fp8e4nv"}, {12, 8, "fp8e5"}, {0, 4, NULL},    {2, 128, NULL},
                 {5, 64, NULL},      {6, 1, NULL},     {11, 8, NULL},   {255, 8, NULL},
                 {0, 0, NULL}};
    int64_t shape[] = {4};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        DLTensor t = tensor((void *)4096, known[i].code, known[i].bits, 1, shape, NULL);
        tile_arg a;
        tile_status status = tile_dlpack_pointer(dev, &t, &a, &err);
        if (known[i].dtype)
            EXPECT(!status && a.kind == TILE_ARG_POINTER && !strcmp(a.dtype, known[i].dtype));
        else
            EXPECT(status == TILE_ERROR_UNSUPPORTED && a.kind == TILE_ARG_NONE);
    }
    DLTensor t = tensor((void *)4096, kDLFloat, 32, 1, shape, NULL);
    tile_arg a;
    t.dtype.lanes = 4;
    EXPECT(tile_dlpack_pointer(dev, &t, &a, &err) == TILE_ERROR_UNSUPPORTED);
    t.dtype.lanes = 1;
    t.byte_offset = 2;
    EXPECT(tile_dlpack_pointer(dev, &t, &a, &err) == TILE_ERROR_INVALID_ARGUMENT);
}

static void refused(void) {
    int64_t shape[] = {3, 4}, negative[] = {3, -4}, huge[] = {INT64_MAX, INT64_MAX};
    DLTensor t = tensor(NULL, kDLFloat, 32, 2, shape, NULL);
    tile_arg a;
    EXPECT(!tile_dlpack_pointer(dev, &t, &a, &err) && !a.value.pointer); // as tile_warmup takes it
    EXPECT(tile_dlpack_pointer(dev, NULL, &a, &err) == TILE_ERROR_INVALID_ARGUMENT);
    EXPECT(tile_dlpack_pointer(NULL, &t, &a, &err) == TILE_ERROR_INVALID_ARGUMENT);
    EXPECT(tile_dlpack_pointer(dev, &t, NULL, &err) == TILE_ERROR_INVALID_ARGUMENT);
    EXPECT(tile_dlpack_size(&t, 2, &a, &err) == TILE_ERROR_INVALID_ARGUMENT);
    EXPECT(tile_dlpack_size(&t, -3, &a, &err) == TILE_ERROR_INVALID_ARGUMENT);
    EXPECT(tile_dlpack_stride(&t, 0, NULL, &err) == TILE_ERROR_INVALID_ARGUMENT);
    EXPECT(!tile_dlpack_stride(&t, 0, &a, &err) && a.value.i == 4);
    t.shape = negative;
    EXPECT(tile_dlpack_size(&t, 0, &a, &err) == TILE_ERROR_INVALID_ARGUMENT);
    t.shape = huge;
    EXPECT(tile_dlpack_pointer(dev, &t, &a, &err) == TILE_ERROR_INVALID_ARGUMENT);
    t.shape = NULL;
    EXPECT(tile_dlpack_check_contiguous(&t, &err) == TILE_ERROR_INVALID_ARGUMENT);
    t.shape = shape;
    t.ndim = -1;
    EXPECT(tile_dlpack_check_contiguous(&t, &err) == TILE_ERROR_INVALID_ARGUMENT);
    t.ndim = 0;
    EXPECT(!tile_dlpack_check_contiguous(&t, &err));
    EXPECT(tile_dlpack_size(&t, 0, &a, &err) == TILE_ERROR_INVALID_ARGUMENT);

    DLTensor elsewhere = tensor(NULL, kDLFloat, 32, 2, shape, NULL);
    elsewhere.device.device_type = dev_info.is_cuda ? kDLCPU : kDLCUDA;
    EXPECT(tile_dlpack_pointer(dev, &elsewhere, &a, &err) == TILE_ERROR_INVALID_ARGUMENT);
    EXPECT(strstr(err.message, dev_info.is_cuda ? "runs on cuda:0" : "runs on cpu"));
    elsewhere = tensor(NULL, kDLFloat, 32, 2, shape, NULL);
    elsewhere.device.device_id = 5;
    EXPECT(tile_dlpack_pointer(dev, &elsewhere, &a, &err) ==
           (dev_info.is_cuda ? TILE_ERROR_INVALID_ARGUMENT : TILE_OK));

    int64_t far[] = {INT64_MAX / 2, 1}; // strides that reach round the address space
    DLTensor t2 = tensor((void *)4096, kDLFloat, 32, 2, shape, far);
    EXPECT(tile_dlpack_register(dev, &t2, &err) ==
           (dev_info.is_cuda ? TILE_OK : TILE_ERROR_INVALID_ARGUMENT));
    int64_t empty[] = {0, 4};
    DLTensor none = tensor(NULL, kDLFloat, 32, 2, empty, far);
    EXPECT(!tile_dlpack_check_contiguous(&none, &err));
    EXPECT(!tile_dlpack_register(dev, &none, &err));
    tile_dlpack_unregister(dev, &none);
}

int main(void) {
    open_test_device();
    tile_module *mod;
    tile_kernel *k;
    must(tile_module_load_string(dev, "dlpack.tile", source, sizeof source - 1, &mod, &err));
    must(tile_module_get_kernel(mod, "scale", &k, &err));
    strided(k);
    if (!dev_info.is_cuda)
        registered(k);
    types();
    refused();
    tile_module_destroy(mod);
    return finish();
}
