// Reductions of every element type, over awkward values (NaN, infinities, both zeros, the ends of
// the ranges, many ties), on tiles of 1, 16 and 1000 of 1024 elements in 1, 4 and 8 warps, against
// plain C. What a float sum gives does not depend on the order here: its terms are small multiples
// of 1/8, whose sums fp32 holds exactly.
#include "run.h"

#include "numbers.h"
#include "say.h"

#include <inttypes.h>

typedef enum reduction {
    SUM,
    SUM_WIDE,
    MAX,
    MIN,
    XOR_SUM,
    REDUCE_OR,
    ARGMAX,
    ARGMIN,
    MAX_VALUE,
    MAX_INDEX,
    MIN_VALUE,
    MIN_INDEX,
    MAX_ANY,
    ARGMAX_TIES,
    ARGMIN_TIES,
    REDUCE,
    REDUCTIONS
} reduction;

/// `a` is awkward, `w` has sums that are exact and many equals.
static const char *const reduction_text[REDUCTIONS] = {
    [SUM] = "tl.sum(w, axis=0)",
    [SUM_WIDE] = "tl.sum(w, axis=0, dtype=tl.float64)",
    [MAX] = "tl.max(a, axis=0)",
    [MIN] = "tl.min(a, axis=0)",
    [XOR_SUM] = "tl.xor_sum(a, axis=0)",
    [REDUCE_OR] = "tl.reduce_or(a, axis=0)",
    [ARGMAX] = "tl.argmax(a, axis=0)",
    [ARGMIN] = "tl.argmin(a, axis=0)",
    [MAX_VALUE] = "tl.max(a, axis=0, return_indices=True)[0]",
    [MAX_INDEX] = "tl.max(a, axis=0, return_indices=True)[1]",
    [MIN_VALUE] = "tl.min(a, axis=0, return_indices=True)[0]",
    [MIN_INDEX] = "tl.min(a, axis=0, return_indices=True)[1]",
    [MAX_ANY] = "tl.max(w, axis=0, return_indices=True, return_indices_tie_break_left=False)[0]",
    [ARGMAX_TIES] = "tl.argmax(w, axis=0, tie_break_left=True)",
    [ARGMIN_TIES] = "tl.argmin(w, axis=0)",
    [REDUCE] = "tl.reduce(a, 0, smaller)",
};

enum { REFUSED = -1, ROWS = 16, SLOT = 8 };

static int result_type(reduction r, num_type t) {
    bool small = nums[t].bits < 32, is_float = nums[t].is_float;
    switch (r) {
    case SUM:
        return is_float || !small ? (int)t : nums[t].is_signed ? I32 : U32;
    case SUM_WIDE:
        return F64;
    case MAX:
    case MIN:
        return !small ? (int)t : is_float ? F32 : I32;
    case XOR_SUM:
    case REDUCE_OR:
        return is_float ? REFUSED : (int)t;
    case MAX_VALUE:
    case MIN_VALUE:
    case MAX_ANY:
        return t == B16 ? F32 : (int)t;
    case REDUCE:
        return t;
    default:
        return I32;
    }
}

// ---------------------------------------------------------------------------- the reference

/// x before y: by value, -0 before +0; a NaN is neither before nor after anything.
static bool is_less(num_type t, uint64_t x, uint64_t y) {
    long double a = num_value(t, x), b = num_value(t, y);
    return a < b || (nums[t].is_float && a == b && signbit(a) && !signbit(b));
}

static uint64_t extreme(num_type t, bool is_max, const uint64_t *v, unsigned n) {
    uint64_t best = v[0];
    for (unsigned i = 1; i < n; i++)
        if (num_is_nan(t, best) || (is_max ? is_less(t, best, v[i]) : is_less(t, v[i], best)))
            best = v[i];
    return best;
}

/// The first of the largest, or smallest; a NaN is one only among NaNs.
static unsigned index_of_extreme(num_type t, bool is_max, const uint64_t *v, unsigned n) {
    unsigned best = 0;
    for (unsigned i = 1; i < n; i++) {
        long double a = num_value(t, v[best]), b = num_value(t, v[i]);
        if ((is_max ? b > a : b < a) || (isnan(a) && !isnan(b)))
            best = i;
    }
    return best;
}

static uint64_t sum_of(num_type t, num_type result, const uint64_t *v, unsigned n) {
    uint64_t integer = 0;
    long double exact = 0;
    for (unsigned i = 0; i < n; i++) {
        integer += nums[t].is_float ? 0 : (uint64_t)num_extend(t, v[i]);
        exact += num_value(t, v[i]);
    }
    return nums[result].is_float ? num_round(result, exact, false) : integer & num_mask(result);
}

static uint64_t expected(reduction r, num_type t, const uint64_t *a, const uint64_t *w,
                         unsigned n) {
    num_type result = (num_type)result_type(r, t);
    uint64_t bits = 0;
    switch (r) {
    case SUM:
    case SUM_WIDE:
        return sum_of(t, result, w, n);
    case MAX:
    case MIN:
        return num_convert(t, result, extreme(t, r == MAX, a, n), true);
    case XOR_SUM:
    case REDUCE_OR:
        for (unsigned i = 0; i < n; i++)
            bits = r == XOR_SUM ? bits ^ a[i] : bits | a[i];
        return bits;
    case ARGMAX:
    case ARGMIN:
    case MAX_INDEX:
    case MIN_INDEX:
        return index_of_extreme(t, r == ARGMAX || r == MAX_INDEX, a, n);
    case MAX_VALUE:
    case MIN_VALUE:
        return num_convert(t, result, a[index_of_extreme(t, r == MAX_VALUE, a, n)], true);
    case MAX_ANY:
        return num_convert(t, result, w[index_of_extreme(t, true, w, n)], true);
    case ARGMAX_TIES:
    case ARGMIN_TIES:
        return index_of_extreme(t, r == ARGMAX_TIES, w, n);
    default: // REDUCE
        return a[index_of_extreme(t, false, a, n)];
    }
}

// ---------------------------------------------------------------------------- values

static uint64_t awkward(num_type t) {
    uint64_t top = UINT64_C(1) << (nums[t].bits - 1);
    const uint64_t ints[] = {0, 1, ~UINT64_C(0), top, top - 1, top + 1, 100, random_u32()};
    const long double floats[] = {0.0L, -0.0L, 1.0L, -1.0L, INFINITY, -INFINITY, 2.5L, -2.5L};
    uint32_t pick = random_u32() % 8;
    if (nums[t].is_float)
        return num_round(t, random_u32() % 16 ? floats[pick] : (long double)NAN, t == E5);
    return ints[pick] & num_mask(t);
}

/// Row 0 has no infinities, row 1 is all NaN (or 1), row 2 all the least, row 3 all the same but
/// for one NaN, row 4 zeros of both signs, row 5 ends in the largest, row 6 in a NaN; then as it
/// comes.
static uint64_t element(num_type t, unsigned row, unsigned i, unsigned count) {
    bool is_float = nums[t].is_float;
    uint64_t least = is_float            ? num_round(t, -INFINITY, t == E5)
                     : nums[t].is_signed ? UINT64_C(1) << (nums[t].bits - 1)
                                         : 0;
    uint64_t most = is_float ? num_round(t, INFINITY, t == E5) : ~least & num_mask(t);
    uint64_t nan = is_float ? nums[t].nan : 1;
    switch (row) {
    case 0:
        return is_float ? num_round(t, ((int)(random_u32() % 64) - 32) / 4.0L, false) : awkward(t);
    case 1:
        return nan;
    case 2:
        return least;
    case 3:
        return i == count / 2 ? nan : 1;
    case 4:
        return is_float && random_u32() % 2 ? num_round(t, -0.0L, false) : 0;
    case 5:
        return i + 1 == count ? most : awkward(t);
    case 6:
        return i + 1 == count ? nan : awkward(t);
    default:
        return awkward(t);
    }
}

static uint64_t summand(num_type t) {
    int k = (int)(random_u32() % 31) - 15;
    if (nums[t].is_float)
        return num_round(t, (t == E5 ? k / 4 : k) / 8.0L, false);
    return (nums[t].is_signed ? (uint64_t)(int64_t)k : random_u32()) & num_mask(t);
}

// ---------------------------------------------------------------------------- running

static void make_kernel(num_type t, unsigned n, int first, int step) {
    text_size = 0;
    say("def smaller(a, b):\n    return where((b != b) | (a <= b), a, b)\n\n");
    say("def k(x: *%s, y: *%s, z: *u8, n: i32):\n", nums[t].name, nums[t].name);
    say("    row = program_id(0)\n    o = arange(0, %u)\n", n);
    say("    a = load(x + row * %u + o, mask=o < n)\n", n);
    say("    w = load(y + row * %u + o, mask=o < n)\n", n);
    say("    z += row * %u\n", SLOT * REDUCTIONS);
    for (int r = first; r < REDUCTIONS; r += step) {
        int type = result_type((reduction)r, t);
        if (type == REFUSED)
            continue;
        say("    r = %s\n    static_assert(r.dtype == tl.%s, '%s')\n", reduction_text[r],
            nums[type].long_name, reduction_text[r]);
        say("    store((z + %d).to(tl.pointer_type(tl.%s)), r)\n", r * SLOT, nums[type].long_name);
    }
}

static void check_row(num_type t, const void *x, const void *y, const uint8_t *out, unsigned row,
                      unsigned n, unsigned count, uint32_t warps, int first, int step) {
    uint64_t a[1024] = {0}, w[1024] = {0}; // 0 where the mask is false
    for (unsigned i = 0; i < count; i++) {
        a[i] = num_load(t, x, row * n + i);
        w[i] = num_load(t, y, row * n + i);
    }
    for (int r = first; r < REDUCTIONS; r += step) {
        int type = result_type((reduction)r, t);
        if (type == REFUSED || (r == REDUCE && nums[t].is_float && row != 0))
            continue; // with NaN or both zeros, `smaller` depends on the order
        uint64_t got = num_load((num_type)type, out + (row * REDUCTIONS + (unsigned)r) * SLOT, 0);
        uint64_t want = expected((reduction)r, t, a, w, n);
        expect(num_same((num_type)type, got, want),
               "%s of %s, row %u, %u of %u elements, %u warps: got %s %#" PRIx64
               " (%.17Lg), expected %#" PRIx64 " (%.17Lg)",
               reduction_text[r], nums[t].name, row, count, n, warps, nums[type].name, got,
               num_value((num_type)type, got), want, num_value((num_type)type, want));
    }
}

static void test_type(num_type t, unsigned n, unsigned count) {
    static const uint32_t warps[] = {1, 4, 8};
    size_t in_bytes = (size_t)ROWS * n * nums[t].bytes, out_bytes = ROWS * REDUCTIONS * SLOT;
    uint8_t *x = xmalloc(in_bytes), *y = xmalloc(in_bytes), *out = xmalloc(out_bytes);
    for (unsigned i = 0; i < ROWS * n; i++) {
        num_store(t, x, i, element(t, i / n, i % n, count));
        num_store(t, y, i, summand(t));
    }
    tile_buffer *a = buffer_from(x, in_bytes), *w = buffer_from(y, in_bytes);
    for (int i = 0; i < 3; i++) {
        // Reductions take long to compile: some of them, by turns.
        int step = n / warps[i] > 512 ? 6 : n > 16 ? 3 : n > 1 && i ? 2 : 1, first = (t + i) % step;
        make_kernel(t, n, first, step);
        tile_module *mod;
        tile_kernel *k = kernel_from(text, "k", &mod);
        tile_buffer *z = buffer_from(NULL, out_bytes);
        tile_arg args[] = {TILE_BUFFER(a, nums[t].name), TILE_BUFFER(w, nums[t].name),
                           TILE_BUFFER(z, "u8"), TILE_I32((int32_t)count)};
        tile_launch_options options = {
            .size = sizeof options, .grid = {ROWS}, .num_warps = warps[i]};
        must(tile_launch(k, args, 4, &options, &err));
        read_buffer(z, out, out_bytes);
        for (unsigned row = 0; row < ROWS; row++)
            check_row(t, x, y, out, row, n, count, warps[i], first, step);
        tile_buffer_destroy(z);
        tile_module_destroy(mod);
    }
    tile_buffer_destroy(a);
    tile_buffer_destroy(w);
    free(x), free(y), free(out);
}

int main(void) {
    open_test_device();
    for (int t = 0; t < NUM_TYPES; t++) {
        test_type((num_type)t, 1, 1);
        test_type((num_type)t, 16, 16);
        test_type((num_type)t, 1024, 1000);
    }
    return finish();
}
