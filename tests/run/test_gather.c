// gather and histogram against a loop: elements of every type and indices of every integer type,
// along each axis of 1-D to 3-D tiles, with more places and with fewer than elements; counts of every
// integer type, with masks, values that are in no bin, and more bins than threads; 1 to 32 warps, and
// several CTAs. On cpu an index outside of the axis is reported.
#include "numbers.h"
#include "run.h"

static const char source[] =
    "def place(RANK: constexpr, A: constexpr, B: constexpr, C: constexpr):\n"
    "    if RANK == 1:\n"
    "        return arange(0, C)\n"
    "    if RANK == 2:\n"
    "        return arange(0, B)[:, None] * C + arange(0, C)[None, :]\n"
    "    rows = arange(0, A)[:, None] * B + arange(0, B)[None, :]\n"
    "    return rows[:, :, None] * C + arange(0, C)[None, None, :]\n"
    "def pick(x: *X, at: *I, y: *X, RANK: constexpr, A: constexpr, B: constexpr, C: constexpr, "
    "D: constexpr, E: constexpr, F: constexpr, AXIS: constexpr):\n"
    "    o = place(RANK, D, E, F)\n"
    "    v = load(x + place(RANK, A, B, C))\n"
    "    store(y + o, tl.gather(v, load(at + o), AXIS))\n"
    "def count(x: *I, m: *i32, h: *i32, masked: *i32, N: constexpr, BINS: constexpr):\n"
    "    v = load(x + arange(0, N))\n"
    "    c = load(m + arange(0, N)) > 0\n"
    "    b = arange(0, BINS)\n"
    "    store(h + b, tl.histogram(v, BINS))\n"
    "    store(masked + b, v.histogram(num_bins=BINS, mask=c))\n"
    "def ranks(x: *i32, y: *i32):\n" // a counting sort: where each element goes, and back
    "    o = arange(0, 256)\n"
    "    v = load(x + o)\n"
    "    starts = cumsum(histogram(v, 64)) - histogram(v, 64)\n"
    "    store(y + o, gather(starts, v, 0))\n";

enum { MOST = 4096 };

/// The source with an element type and an index type filled in.
static char *source_for(num_type elem, num_type index) {
    static char text[2 * sizeof source];
    size_t n = 0;
    for (const char *p = source; *p; p++) {
        text[n++] = *p;
        if (*p != '*' || (p[1] != 'X' && p[1] != 'I'))
            continue;
        p++;
        n += (size_t)sprintf(text + n, "%s", nums[*p == 'X' ? elem : index].name);
    }
    text[n] = 0;
    return text;
}

// ---------------------------------------------------------------------------- gather

typedef struct shapes {
    uint32_t rank, axis, from[3],
        to; ///< the last `rank` extents count; `to` replaces that of the axis
} shapes;

static const shapes cases[] = {
    {1, 0, {1, 1, 1}, 16},   {1, 0, {1, 1, 256}, 256}, {1, 0, {1, 1, 64}, 2048},
    {1, 0, {1, 1, 2048}, 8}, {2, 0, {1, 64, 16}, 8},   {2, 1, {1, 16, 64}, 128},
    {2, 0, {1, 2, 512}, 4},  {2, 1, {1, 128, 4}, 1},   {3, 0, {4, 8, 16}, 8},
    {3, 1, {4, 16, 8}, 16},  {3, 2, {2, 32, 16}, 4},
};
enum { CASES = sizeof cases / sizeof *cases };

static uint32_t product(const uint32_t *v) { return v[0] * v[1] * v[2]; }

static void test_gather(tile_kernel *k, num_type elem, num_type index, const shapes *s,
                        uint32_t warps, uint32_t ctas) {
    static uint8_t x[8 * MOST], at[8 * MOST], y[8 * MOST];
    uint32_t to[3] = {s->from[0], s->from[1], s->from[2]}, dim = 3 - s->rank + s->axis, stride = 1;
    to[dim] = s->to;
    for (uint32_t d = dim + 1; d < 3; d++)
        stride *= to[d];
    uint32_t n = product(s->from), n_to = product(to), extent = s->from[dim];
    for (uint32_t i = 0; i < n; i++)
        num_store(elem, x, i, ((uint64_t)random_u32() << 32 | random_u32()) & num_mask(elem));
    for (uint32_t i = 0; i < n_to; i++)
        num_store(index, at, i, random_u32() % extent & num_mask(index) >> nums[index].is_signed);
    tile_buffer *b[] = {buffer_from(x, n * nums[elem].bytes),
                        buffer_from(at, n_to * nums[index].bytes),
                        buffer_from(NULL, n_to * nums[elem].bytes)};
    tile_arg args[] = {TILE_BUFFER(b[0], nums[elem].name),  TILE_BUFFER(b[1], nums[index].name),
                       TILE_BUFFER(b[2], nums[elem].name),  TILE_CONSTEXPR_INT("RANK", s->rank),
                       TILE_CONSTEXPR_INT("A", s->from[0]), TILE_CONSTEXPR_INT("B", s->from[1]),
                       TILE_CONSTEXPR_INT("C", s->from[2]), TILE_CONSTEXPR_INT("D", to[0]),
                       TILE_CONSTEXPR_INT("E", to[1]),      TILE_CONSTEXPR_INT("F", to[2]),
                       TILE_CONSTEXPR_INT("AXIS", s->axis)};
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps, .num_ctas = ctas};
    must(tile_launch(k, args, 11, &o, &err));
    read_buffer(b[2], y, n_to * nums[elem].bytes);
    for (uint32_t i = 0; i < n_to; i++) {
        uint32_t row = i / stride / s->to, place = (uint32_t)num_load(index, at, i);
        uint64_t want = num_load(elem, x, (row * extent + place) * stride + i % stride);
        if (!expect(num_same(elem, num_load(elem, y, i), want),
                    "gather of %s by %s, case %d, %u warps, %u CTAs: element %u", nums[elem].name,
                    nums[index].name, (int)(s - cases), warps, ctas, i))
            break;
    }
    for (int i = 0; i < 3; i++)
        tile_buffer_destroy(b[i]);
}

/// A kernel whose index is out of range for one element.
static void test_bounds(void) {
    static const char bad[] = "def k(x: *i32, at: *i64, y: *i32):\n"
                              "    o = arange(0, 64)\n"
                              "    store(y + o, gather(load(x + o), load(at + o), 0))\n";
    static const int64_t wrong[] = {64, -1, INT64_C(1) << 32};
    tile_module *mod;
    tile_kernel *k = kernel_from(bad, "k", &mod);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int64_t at[64] = {0};
        at[37] = wrong[i];
        tile_buffer *b[] = {buffer_from(NULL, 256), buffer_from(at, sizeof at),
                            buffer_from(NULL, 256)};
        tile_arg args[] = {TILE_BUFFER(b[0], "i32"), TILE_BUFFER(b[1], "i64"),
                           TILE_BUFFER(b[2], "i32")};
        tile_launch_options o = {.size = sizeof o, .grid = {1}};
        tile_status status = tile_launch(k, args, 3, &o, &err);
        if (!status)
            status = tile_synchronize(dev, NULL, &err);
        const char *text = status ? (err.log ? err.log : err.message) : "no error";
        expect(status && strstr(text, "test.tile:3:") && strstr(text, "outside of the axis"),
               "an index of %lld gave: %s", (long long)wrong[i], text);
        for (int j = 0; j < 3; j++)
            tile_buffer_destroy(b[j]);
    }
    tile_module_destroy(mod);
}

// ---------------------------------------------------------------------------- histogram

static void test_histogram(tile_kernel *k, num_type t, uint32_t n, uint32_t bins, uint32_t warps,
                           uint32_t ctas) {
    static uint8_t x[8 * MOST];
    static int32_t m[MOST], got[2][MOST], want[2][MOST];
    memset(want, 0, sizeof want);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t v = ((uint64_t)random_u32() << 32 | random_u32()) & num_mask(t);
        if (i % 8)
            v %= bins; // else most likely in no bin
        num_store(t, x, i, v);
        m[i] = (int32_t)random_u32();
        bool in_bin = (uint64_t)num_extend(t, v) < bins;
        for (int masked = 0; masked < 2; masked++)
            if (in_bin && (!masked || m[i] > 0))
                want[masked][v]++;
    }
    tile_buffer *b[] = {buffer_from(x, n * nums[t].bytes), buffer_from(m, 4 * n),
                        buffer_from(NULL, 4 * bins), buffer_from(NULL, 4 * bins)};
    tile_arg args[] = {TILE_BUFFER(b[0], nums[t].name), TILE_BUFFER(b[1], "i32"),
                       TILE_BUFFER(b[2], "i32"),        TILE_BUFFER(b[3], "i32"),
                       TILE_CONSTEXPR_INT("N", n),      TILE_CONSTEXPR_INT("BINS", bins)};
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps, .num_ctas = ctas};
    must(tile_launch(k, args, 6, &o, &err));
    for (int masked = 0; masked < 2; masked++) {
        read_buffer(b[2 + masked], got[masked], 4 * bins);
        expect(!memcmp(got[masked], want[masked], 4 * bins),
               "histogram of %u %s in %u bins, %u warps, %u CTAs%s", n, nums[t].name, bins, warps,
               ctas, masked ? ", masked" : "");
    }
    for (int i = 0; i < 4; i++)
        tile_buffer_destroy(b[i]);
}

static void test_ranks(tile_kernel *k) {
    int32_t x[256], y[256];
    for (int i = 0; i < 256; i++)
        x[i] = (int32_t)(random_u32() % 64);
    tile_buffer *b[] = {buffer_from(x, sizeof x), buffer_from(NULL, sizeof y)};
    tile_arg args[] = {TILE_BUFFER(b[0], "i32"), TILE_BUFFER(b[1], "i32")};
    tile_launch_options o = {.size = sizeof o, .grid = {1}};
    must(tile_launch(k, args, 2, &o, &err));
    read_buffer(b[1], y, sizeof y);
    for (int i = 0; i < 256; i++) {
        int smaller = 0;
        for (int j = 0; j < 256; j++)
            smaller += x[j] < x[i];
        expect(y[i] == smaller, "counting sort: element %d starts at %d, not %d", i, y[i], smaller);
    }
    tile_buffer_destroy(b[0]);
    tile_buffer_destroy(b[1]);
}

int main(void) {
    static const num_type indices[] = {I32, I64, U8, I16, U32, I8, U16, U64};
    open_test_device();
    bool clusters = has_clusters() && !getenv("TILE_TEST_CTAS");
    tile_module *mod;
    for (num_type t = 0; t < NUM_TYPES; t++) {
        num_type index = indices[t % 8];
        tile_kernel *k = kernel_from(source_for(t, index), "pick", &mod);
        for (uint32_t i = t % 3; i < CASES; i += t == F32 ? 1 : 3)
            test_gather(k, t, index, &cases[i], 1u << (t + i) % 6, 0);
        for (uint32_t i = t % 4; clusters && i < CASES; i += 4)
            test_gather(k, t, index, &cases[i], 1u << i % 3, 2u << (t + i) % 4);
        tile_module_destroy(mod);
    }
    for (num_type t = 0; t < NUM_TYPES; t++) {
        if (nums[t].is_float)
            continue;
        tile_kernel *k = kernel_from(source_for(F32, t), "count", &mod);
        test_histogram(k, t, 1024, nums[t].bits < 9 ? 2 : 512, 4, 0);
        test_histogram(k, t, 64, 1, 1u << t % 6, 0);
        test_histogram(k, t, 2, 256, 2, 0);
        if (clusters)
            test_histogram(k, t, 2048, 64, 1u << t % 3, 2u << t % 4);
        if (t == I32)
            test_ranks((must(tile_module_get_kernel(mod, "ranks", &k, &err)), k));
        tile_module_destroy(mod);
    }
    if (!dev_info.is_cuda) // on a GPU the index wraps
        test_bounds();
    return finish();
}
