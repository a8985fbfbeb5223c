// sort, topk and bitonic_merge of every dtype against qsort: rows from one element to thousands, in
// both directions, with repeated values, infinities, NaN (which comes last) and both zeros.
#include "numbers.h"
#include "run.h"

static const char source[] = "def k(x: *T, up: *T, down: *T, most: *T, merged: *T, ROWS: "
                             "constexpr, N: constexpr, K: constexpr):\n"
                             "    o = arange(0, ROWS)[:, None] * N + arange(0, N)[None, :]\n"
                             "    v = load(x + o)\n"
                             "    rising = sort(v)\n"
                             "    store(up + o, rising)\n"
                             "    store(down + o, v.sort(dim=1, descending=True))\n"
                             "    store(most + arange(0, ROWS)[:, None] * K + arange(0, K)[None, "
                             ":], topk(v, K))\n"
                             "    both = where((arange(0, N) < N // 2)[None, :], rising, "
                             "flip(rising, 1))\n" // rises, then falls
                             "    if N > 2:\n"
                             "        store(merged + o, bitonic_merge(both, descending=True))\n";

static num_type sorted_type;

/// NaN above all numbers, -0 below +0; integers by value.
static int order(const void *pa, const void *pb) {
    uint64_t a = 0, b = 0;
    memcpy(&a, pa, nums[sorted_type].bytes);
    memcpy(&b, pb, nums[sorted_type].bytes);
    if (!nums[sorted_type].is_float) {
        int shift = 64 - (int)(8 * nums[sorted_type].bytes);
        int64_t x = (int64_t)(a << shift), y = (int64_t)(b << shift);
        return nums[sorted_type].is_signed ? (x > y) - (x < y) : (a > b) - (a < b);
    }
    bool na = num_is_nan(sorted_type, a), nb = num_is_nan(sorted_type, b);
    if (na || nb)
        return na - nb;
    long double x = num_value(sorted_type, a), y = num_value(sorted_type, b);
    if (x == y)
        return (int)(b >> (nums[sorted_type].bits - 1)) - (int)(a >> (nums[sorted_type].bits - 1));
    return x > y ? 1 : -1;
}

static void fill(num_type t, uint8_t *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint64_t r = random_u32();
        r = r << 32 | random_u32();
        if (i % 3 == 0)
            r = nums[t].is_float ? (r % 2) << (nums[t].bits - 1) : r % 4; // zeros, small numbers
        if (t == I1)
            r %= 2;
        memcpy(x + i * nums[t].bytes, &r, nums[t].bytes);
    }
}

static uint64_t element(num_type t, const uint8_t *x, size_t i) {
    uint64_t v = 0;
    memcpy(&v, x + i * nums[t].bytes, nums[t].bytes);
    return v;
}

/// Element i of `got` is element `at` of `want`; any NaN is as good as another.
static void same(num_type t, const char *what, const uint8_t *got, size_t i, const uint8_t *want,
                 size_t at) {
    uint64_t g = element(t, got, i), w = element(t, want, at);
    bool both_nan = nums[t].is_float && num_is_nan(t, g) && num_is_nan(t, w);
    expect(g == w || both_nan, "%s of %s: element %zu is %#llx, expected %#llx", what, nums[t].name,
           i, (unsigned long long)g, (unsigned long long)w);
}

static void test_rows(tile_kernel *k, num_type t, uint32_t rows, uint32_t n, uint32_t most,
                      uint32_t warps) {
    size_t count = (size_t)rows * n, bytes = count * nums[t].bytes, width = nums[t].bytes;
    uint8_t *x = malloc(5 * bytes), *up = x + bytes, *down = up + bytes, *best = down + bytes,
            *merged = best + bytes;
    fill(t, x, count);
    tile_buffer *b[5];
    for (int i = 0; i < 5; i++)
        b[i] = buffer_from(x, bytes);
    tile_arg args[] = {TILE_BUFFER(b[0], nums[t].name), TILE_BUFFER(b[1], nums[t].name),
                       TILE_BUFFER(b[2], nums[t].name), TILE_BUFFER(b[3], nums[t].name),
                       TILE_BUFFER(b[4], nums[t].name), TILE_CONSTEXPR_INT("ROWS", rows),
                       TILE_CONSTEXPR_INT("N", n),      TILE_CONSTEXPR_INT("K", most)};
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps};
    must(tile_launch(k, args, 8, &o, &err));
    read_buffer(b[1], up, bytes);
    read_buffer(b[2], down, bytes);
    read_buffer(b[3], best, (size_t)rows * most * width);
    read_buffer(b[4], merged, bytes);
    sorted_type = t;
    for (uint32_t r = 0; r < rows; r++) {
        uint8_t *row = x + r * n * width;
        qsort(row, n, width, order);
        for (uint32_t i = 0; i < n; i++) {
            same(t, "sort", up, r * n + i, x, r * n + i);
            same(t, "descending sort", down, r * n + i, x, r * n + n - 1 - i);
        }
        for (uint32_t i = 0; i < most; i++)
            same(t, "topk", best, r * most + i, x, r * n + n - 1 - i);
        for (uint32_t i = 0; n > 2 && i + 1 < n; i++)
            expect(order(merged + (r * n + i) * width, merged + (r * n + i + 1) * width) >= 0,
                   "bitonic_merge of %s: elements %u and %u are out of order", nums[t].name, i,
                   i + 1);
    }
    for (int i = 0; i < 5; i++)
        tile_buffer_destroy(b[i]);
    free(x);
}

int main(void) {
    open_test_device();
    static const struct {
        uint32_t rows, n, most;
    } shapes[] = {{1, 1, 1},    {2, 2, 1},   {4, 8, 8},    {8, 16, 4},
                  {1, 256, 16}, {2, 128, 1}, {1, 1024, 64}};
    for (num_type t = 0; t < NUM_TYPES; t++) {
        char text[2048];
        snprintf(text, sizeof text, "T: constexpr = %s\n%s", nums[t].name, source);
        for (char *p = text; (p = strstr(p, "*T")); p++) {
            memmove(p + 1 + strlen(nums[t].name), p + 2, strlen(p + 2) + 1);
            memcpy(p + 1, nums[t].name, strlen(nums[t].name));
        }
        tile_module *mod;
        tile_kernel *k = kernel_from(text, "k", &mod);
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            if (shapes[s].n < 1024 || t == F32)
                test_rows(k, t, shapes[s].rows, shapes[s].n, shapes[s].most, 1u << (s + t) % 4);
        tile_module_destroy(mod);
    }
    return finish();
}
