// fp8e4nv and fp8e5, exhaustively: every code to every type, every fp16 and bf16 number to both,
// fp32 and fp64 around every number and every tie and at random, integers, and arithmetic on all
// pairs of codes. The reference here finds the nearest of the 127 magnitudes in a list; conversions
// from fp8 are those of numbers.h.
#include "run.h"

#include "numbers.h"

static const num_type fp8_types[] = {E4NV, E5};

// ---------------------------------------------------------------------------- the reference

typedef struct format {
    long double values[128]; // of the codes 0, 1, 2 ...: ascending
    unsigned count;          // finite ones
} format;

static format formats[NUM_TYPES];

static void make_formats(void) {
    for (int i = 0; i < 2; i++) {
        format *f = &formats[fp8_types[i]];
        while (f->count < 128 && isfinite(num_value(fp8_types[i], f->count))) {
            f->values[f->count] = num_value(fp8_types[i], f->count);
            f->count++;
        }
    }
}

/// The code nearest to v, ties to the even one; or (rtz) the last one not above |v|.
static uint8_t nearest(num_type t, long double v, bool rtz) {
    const format *f = &formats[t];
    uint8_t sign = signbit(v) ? 0x80 : 0;
    if (isnan(v))
        return 0x7f;
    if (isinf(v) && rtz && t == E5)
        return sign | 0x7c;
    long double size = fabsl(v);
    unsigned low = 0, high = f->count - 1; // values[low] <= size
    if (size >= f->values[high])
        return sign | (uint8_t)high;
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        if (f->values[middle] <= size)
            low = middle;
        else
            high = middle;
    }
    long double below = size - f->values[low], above = f->values[high] - size; // exact
    bool up = above < below || (above == below && (low & 1));
    return sign | (uint8_t)(up && !rtz ? high : low);
}

// ---------------------------------------------------------------------------- running

static const char casts[] = //
    "def convert(x, y, n, N: constexpr, RTZ: constexpr, T: constexpr):\n"
    "    o = program_id(0) * N + arange(0, N)\n"
    "    v = load(x + o, mask=o < n)\n"
    "    if RTZ:\n"
    "        store(y + o, v.to(T, fp_downcast_rounding='rtz'), mask=o < n)\n"
    "    else:\n"
    "        store(y + o, v.to(T), mask=o < n)\n"
    "\n"
    "def copy_bits(x, y, n, N: constexpr, RTZ: constexpr, T: constexpr):\n"
    "    o = program_id(0) * N + arange(0, N)\n"
    "    v = load(x + o, mask=o < n, other=0)\n"
    "    store(y + o, v.to(y.dtype.element_ty, bitcast=True), mask=o < n)\n";

static tile_module *cast_module;

/// Converts n elements on the device.
static void run_cast(const char *kernel, num_type from, num_type to, bool rtz, const void *x,
                     void *y, size_t n) {
    enum { BLOCK = 1024 };
    tile_kernel *k;
    must(tile_module_get_kernel(cast_module, kernel, &k, &err));
    tile_buffer *in = buffer_from(x, n * nums[from].bytes);
    tile_buffer *out = buffer_from(NULL, n * nums[to].bytes);
    tile_arg args[] = {TILE_BUFFER(in, nums[from].name),
                       TILE_BUFFER(out, nums[to].name),
                       TILE_I32((int32_t)n),
                       TILE_CONSTEXPR_INT("N", BLOCK),
                       TILE_CONSTEXPR_BOOL("RTZ", rtz),
                       TILE_CONSTEXPR_DTYPE("T", nums[to].name)};
    tile_launch_options options = {.size = sizeof options,
                                   .grid = {(uint32_t)((n + BLOCK - 1) / BLOCK)}};
    must(tile_launch(k, args, 6, &options, &err));
    read_buffer(out, y, n * nums[to].bytes);
    tile_buffer_destroy(in);
    tile_buffer_destroy(out);
}

static void check_element(const char *what, num_type from, num_type to, uint64_t x, uint64_t got,
                          uint64_t want) {
    expect(num_same(to, got, want), "%s %s %#llx (%.9Lg) to %s: got %#llx (%.9Lg), expected %#llx",
           what, nums[from].name, (unsigned long long)x, num_value(from, x), nums[to].name,
           (unsigned long long)got, num_value(to, got), (unsigned long long)want);
}

// ---------------------------------------------------------------------------- from fp8

static void test_widening(void) {
    uint8_t codes[256], out[256 * 8];
    for (int i = 0; i < 256; i++)
        codes[i] = (uint8_t)i;
    for (int s = 0; s < 2; s++) {
        num_type from = fp8_types[s];
        for (int to = 0; to < NUM_TYPES; to++) {
            if (to == (int)from)
                continue;
            run_cast("convert", from, (num_type)to, false, codes, out, 256);
            for (unsigned i = 0; i < 256; i++) {
                uint64_t want = to == E4NV || to == E5
                                    ? nearest((num_type)to, num_value(from, i), false)
                                    : num_convert(from, (num_type)to, i, false);
                check_element("cast", from, (num_type)to, i, num_load((num_type)to, out, i), want);
            }
        }
        static const num_type bytes[] = {I8, U8};
        for (int b = 0; b < 2; b++) {
            run_cast("copy_bits", from, bytes[b], false, codes, out, 256);
            expect(memcmp(codes, out, 256) == 0, "bitcast %s to %s", nums[from].name,
                   nums[bytes[b]].name);
            run_cast("copy_bits", bytes[b], from, false, codes, out, 256);
            expect(memcmp(codes, out, 256) == 0, "bitcast %s to %s", nums[bytes[b]].name,
                   nums[from].name);
        }
    }
}

// ---------------------------------------------------------------------------- to fp8

static void check_narrowing(num_type from, num_type to, bool rtz, const void *x, size_t n) {
    uint8_t *out = xmalloc(n);
    run_cast("convert", from, to, rtz, x, out, n);
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = num_load(from, x, i);
        check_element(rtz ? "rtz cast" : "cast", from, to, bits, out[i],
                      nearest(to, num_value(from, bits), rtz));
    }
    free(out);
}

static void test_16_bits(void) {
    uint16_t *all = xmalloc(65536 * sizeof *all);
    for (unsigned i = 0; i < 65536; i++)
        all[i] = (uint16_t)i;
    for (int t = 0; t < 2; t++)
        for (int rtz = 0; rtz < 2; rtz++) {
            check_narrowing(F16, fp8_types[t], rtz, all, 65536);
            check_narrowing(B16, fp8_types[t], rtz, all, 65536);
        }
    free(all);
}

enum { RANDOM = 2000000 };

/// Every number and every tie of the type, and what is a step of `from`, or 2^-30 of it, away.
static size_t make_edges(num_type from, num_type to, void *x) {
    const format *f = &formats[to];
    size_t n = 0;
    for (unsigned i = 0; i < 2 * f->count; i++) {
        long double next = i / 2 + 1 < f->count ? f->values[i / 2 + 1] : INFINITY;
        long double v = i % 2 ? (f->values[i / 2] + next) / 2 : f->values[i / 2];
        if (isinf(v)) // where a largest number would round up, had it a next
            v = 1.0625L * f->values[f->count - 1];
        uint64_t bits = num_round(from, v, false);
        const uint64_t near[] = {bits, bits + 1, bits ? bits - 1 : 0,
                                 num_round(from, v * (1 + 0x1p-30L), false),
                                 num_round(from, v * (1 - 0x1p-30L), false)};
        for (int k = 0; k < 5; k++)
            for (uint64_t sign = 0; sign < 2; sign++)
                num_store(from, x, n++, near[k] | sign << (nums[from].bits - 1));
    }
    return n;
}

/// Bits at random, half of them with an exponent that fp8 has or nearly has.
static void make_random(num_type from, void *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = (uint64_t)random_u32() << 32 | random_u32();
        if (i % 2) {
            int exponent = (int)(random_u32() % 44) - 22;
            uint64_t field = (uint64_t)(exponent + nums[from].bias) << nums[from].mantissa;
            uint64_t rest =
                UINT64_C(1) << (nums[from].bits - 1) | ((UINT64_C(1) << nums[from].mantissa) - 1);
            bits = (bits & rest) | field;
        }
        num_store(from, x, i, bits & num_mask(from));
    }
}

static void test_wide_floats(void) {
    static const num_type wide[] = {F32, F64};
    for (int s = 0; s < 2; s++) {
        void *x = xmalloc(RANDOM * 8);
        for (int t = 0; t < 2; t++) {
            size_t edges = make_edges(wide[s], fp8_types[t], x);
            for (int rtz = 0; rtz < 2; rtz++)
                check_narrowing(wide[s], fp8_types[t], rtz, x, edges);
        }
        size_t n = wide[s] == F32 ? RANDOM : RANDOM / 4;
        make_random(wide[s], x, n);
        for (int t = 0; t < 2; t++)
            for (int rtz = 0; rtz < 2; rtz++)
                check_narrowing(wide[s], fp8_types[t], rtz, x, rtz ? n / 8 : n);
        free(x);
    }
}

static void test_integers(void) {
    enum { N = 65536 };
    uint64_t *x = xmalloc(N * 8);
    for (int from = I1; from <= U64; from++) {
        for (size_t i = 0; i < N; i++) {
            uint64_t v = i; // all of 16 bits; of more, few bits anywhere and then any
            if (nums[from].bits > 16 && i >= 1024) {
                v = ((uint64_t)random_u32() << 32 | random_u32()) >> random_u32() % 64;
                v = i % 2 ? v : 0 - v;
            }
            num_store((num_type)from, x, i, v & num_mask((num_type)from));
        }
        for (int t = 0; t < 2; t++)
            check_narrowing((num_type)from, fp8_types[t], false, x, N);
    }
    free(x);
}

// ---------------------------------------------------------------------------- arithmetic

static const char arithmetic[] = //
    "def k(x, y, z, c, f, P: constexpr):\n"
    "    o = program_id(0) * 512 + arange(0, 512)\n"
    "    a = load(x + o)\n"
    "    b = load(y + o)\n"
    "    z += o\n"
    "    c += o\n"
    "    store(z, a + b)\n"
    "    store(z + P, a - b)\n"
    "    store(z + 2 * P, a * b)\n"
    "    store(z + 3 * P, a / b)\n"
    "    store(z + 4 * P, maximum(a, b))\n"
    "    store(z + 5 * P, minimum(a, b))\n"
    "    store(z + 6 * P, where(a < b, a, b))\n"
    "    store(z + 7 * P, -a)\n"
    "    store(z + 8 * P, tl.abs(b))\n"
    "    store(z + 9 * P, maximum(a, b, propagate_nan=tl.PropagateNan.ALL))\n"
    "    store(z + 10 * P, fdiv(a, b))\n"
    "    store(c, a == b)\n"
    "    store(c + P, a != b)\n"
    "    store(c + 2 * P, a < b)\n"
    "    store(c + 3 * P, a <= b)\n"
    "    store(c + 4 * P, a > b)\n"
    "    store(c + 5 * P, a >= b)\n"
    "    store(f + o, a.to(fp32) + b)\n";

enum { PAIRS = 65536, RESULTS = 11, COMPARISONS = 6 };

static uint8_t extreme(num_type t, bool is_max, bool nan_wins, uint8_t x, uint8_t y) {
    bool x_nan = num_is_nan(t, x), y_nan = num_is_nan(t, y);
    if (x_nan || y_nan)
        return nan_wins || (x_nan && y_nan) ? 0x7f : x_nan ? y : x;
    long double a = num_value(t, x), b = num_value(t, y);
    bool x_less = a < b || (a == b && x > y); // -0 before +0
    return x_less == is_max ? y : x;
}

static uint8_t expected_result(num_type t, int which, uint8_t x, uint8_t y) {
    long double a = num_value(t, x), b = num_value(t, y);
    switch (which) {
    case 0:
        return nearest(t, a + b, false);
    case 1:
        return nearest(t, a - b, false);
    case 2:
        return nearest(t, a * b, false);
    case 3:
    case 10:
        return nearest(t, a / b, false);
    case 4:
    case 5:
        return extreme(t, which == 4, false, x, y);
    case 6:
        return a < b ? x : y;
    case 7:
        return x ^ 0x80;
    case 8:
        return y & 0x7f;
    default:
        return extreme(t, true, true, x, y);
    }
}

static void test_arithmetic(num_type t) {
    static const char *const names[] = {"+",     "-", "*",   "/",       "maximum", "minimum",
                                        "where", "-", "abs", "maximum", "fdiv"};
    uint8_t *x = xmalloc(PAIRS), *y = xmalloc(PAIRS), *z = xmalloc(RESULTS * PAIRS);
    uint8_t *c = xmalloc(COMPARISONS * PAIRS);
    float *f = xmalloc(PAIRS * sizeof *f);
    for (int i = 0; i < PAIRS; i++)
        x[i] = (uint8_t)(i >> 8), y[i] = (uint8_t)i;
    tile_buffer *buffers[] = {buffer_from(x, PAIRS), buffer_from(y, PAIRS),
                              buffer_from(NULL, RESULTS * PAIRS),
                              buffer_from(NULL, COMPARISONS * PAIRS), buffer_from(NULL, 4 * PAIRS)};
    tile_module *mod;
    tile_kernel *k = kernel_from(arithmetic, NULL, &mod);
    const char *name = nums[t].name;
    tile_arg args[] = {TILE_BUFFER(buffers[0], name),   TILE_BUFFER(buffers[1], name),
                       TILE_BUFFER(buffers[2], name),   TILE_BUFFER(buffers[3], "i1"),
                       TILE_BUFFER(buffers[4], "fp32"), TILE_CONSTEXPR_INT("P", PAIRS)};
    tile_launch_options options = {.size = sizeof options, .grid = {PAIRS / 512}};
    must(tile_launch(k, args, 6, &options, &err));
    read_buffer(buffers[2], z, RESULTS * PAIRS);
    read_buffer(buffers[3], c, COMPARISONS * PAIRS);
    read_buffer(buffers[4], f, 4 * PAIRS);
    for (int i = 0; i < PAIRS; i++) {
        long double a = num_value(t, x[i]), b = num_value(t, y[i]);
        for (int r = 0; r < RESULTS; r++) {
            uint8_t want = expected_result(t, r, x[i], y[i]), got = z[r * PAIRS + i];
            expect(num_same(t, got, want), "%s of %s %#x (%Lg), %#x (%Lg): got %#x, expected %#x",
                   names[r], name, x[i], a, y[i], b, got, want);
        }
        const bool holds[] = {a == b, a != b, a<b, a <= b, a> b, a >= b};
        for (int r = 0; r < COMPARISONS; r++)
            expect(c[r * PAIRS + i] == holds[r], "comparison %d of %s %#x, %#x: got %u", r, name,
                   x[i], y[i], c[r * PAIRS + i]);
        float sum = (float)a + (float)b;
        expect(f[i] == sum || (isnan(f[i]) && isnan(sum)), "%s %#x to fp32 + %#x: got %g", name,
               x[i], y[i], (double)f[i]);
    }
    for (int i = 0; i < 5; i++)
        tile_buffer_destroy(buffers[i]);
    tile_module_destroy(mod);
    free(x), free(y), free(z), free(c), free(f);
}

// ---------------------------------------------------------------------------- accesses

static const char copying[] = //
    "def k(x, y, s, n, N: constexpr):\n"
    "    o = arange(0, N)\n"
    "    v = load(x + o, mask=o < n, other=1.5)\n"
    "    store(y + o, v, mask=o < n + 3)\n"
    "    store(y + N, s)\n";

/// Copies with every alignment of the pointers, one lane short of anything; a scalar argument.
static void test_accesses(num_type t) {
    enum { N = 256, ROOM = N + 32 };
    uint8_t x[ROOM], y[ROOM];
    tile_module *mod;
    tile_kernel *k = kernel_from(copying, NULL, &mod);
    for (int i = 0; i < ROOM; i++)
        x[i] = (uint8_t)(i * 7 + 1);
    for (size_t shift = 0; shift <= 16; shift += shift ? shift : 1) {
        for (int n = 0; n <= N - 3; n += n < 20 ? 1 : 29) {
            tile_buffer *in = buffer_from(x, ROOM), *out = buffer_from(NULL, ROOM);
            tile_arg args[] = {TILE_BUFFER(in, nums[t].name),
                               TILE_BUFFER(out, nums[t].name),
                               {.kind = TILE_ARG_SCALAR, .dtype = nums[t].name, .value.f = -2.0},
                               TILE_I32(n),
                               TILE_CONSTEXPR_INT("N", N)};
            tile_launch_options options = {.size = sizeof options, .grid = {1}};
            for (int i = 0; i < 2; i++)
                args[i].value.pointer = (const char *)args[i].value.pointer + shift;
            must(tile_launch(k, args, 5, &options, &err));
            read_buffer(out, y, ROOM);
            for (int i = 0; i < ROOM - (int)shift; i++) {
                uint8_t want = i < n       ? x[i + (int)shift]
                               : i < n + 3 ? nearest(t, 1.5L, false)
                                           : 0xA5;
                want = i == N ? nearest(t, -2.0L, false) : want;
                expect(y[i + (int)shift] == want,
                       "copy of %s, n = %d, shift %zu, element %d: got %#x, expected %#x",
                       nums[t].name, n, shift, i, y[i + (int)shift], want);
            }
            tile_buffer_destroy(in);
            tile_buffer_destroy(out);
        }
    }
    tile_module_destroy(mod);
}

int main(void) {
    open_test_device();
    make_formats();
    must(tile_module_load_string(dev, "casts.tile", casts, strlen(casts), &cast_module, &err));
    test_widening();
    test_16_bits();
    test_wide_floats();
    test_integers();
    for (int t = 0; t < 2; t++) {
        test_arithmetic(fp8_types[t]);
        test_accesses(fp8_types[t]);
    }
    tile_module_destroy(cast_module);
    return finish();
}
