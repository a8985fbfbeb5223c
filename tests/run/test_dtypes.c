// Every operator on every pair of element types, every cast, loads and stores of every type, over
// awkward values, against plain C (numbers.h). Kernels are made as text, with many operators in
// each: one per type for the type with itself, on tiles of 1, 16 and 1000 of 1024 elements in 1, 4 and 8
// warps; one per type for it with all others; one per type for casts. Each result goes to a slot of
// one buffer of bytes, through a pointer of the type that the result must have.
#include "run.h"

#include "numbers.h"
#include "say.h"

#include <inttypes.h>

// ---------------------------------------------------------------------------- operators

typedef enum op {
    ADD,
    SUB,
    MUL,
    DIV,
    FLOORDIV,
    MOD,
    AND,
    OR,
    XOR,
    SHL,
    SHR,
    EQ,
    NE,
    LT,
    LE,
    GT,
    GE,
    WHERE,
    MAXIMUM,
    MINIMUM,
    NEG,
    INVERT,
    NOT,
    ABS,
    OPS
} op;

static const char *const op_text[OPS] = {
    [ADD] = "a + b",
    [SUB] = "a - b",
    [MUL] = "a * b",
    [DIV] = "a / b",
    [FLOORDIV] = "a // b",
    [MOD] = "a % b",
    [AND] = "a & b",
    [OR] = "a | b",
    [XOR] = "a ^ b",
    [SHL] = "a << b",
    [SHR] = "a >> b",
    [EQ] = "a == b",
    [NE] = "a != b",
    [LT] = "a < b",
    [LE] = "a <= b",
    [GT] = "a > b",
    [GE] = "a >= b",
    [WHERE] = "where(c, a, b)",
    [MAXIMUM] = "maximum(a, b)",
    [MINIMUM] = "minimum(a, b)",
    [NEG] = "-a",
    [INVERT] = "~a",
    [NOT] = "not a",
    [ABS] = "tl.abs(a)",
};

enum { REFUSED = -1 };

/// The type in which two operands meet, in Triton's words.
static int meet(bool division, num_type x, num_type y) {
    bool is_float = nums[x].is_float || nums[y].is_float;
    if (x == F64 || y == F64)
        return F64;
    if (x == F32 || y == F32)
        return F32;
    if (x == F16 || y == F16)
        return division ? F32 : F16;
    if (x == B16 && y == B16)
        return division ? F32 : B16;
    if (x == B16 || y == B16)
        return F32;
    if (is_float)
        return !is_fp8(x) || !is_fp8(y) ? REFUSED : x == y ? (int)x : F16;
    num_type wider = nums[x].bits >= nums[y].bits ? x : y;
    if (nums[x].is_signed == nums[y].is_signed)
        return wider;
    if (division)
        return REFUSED;
    if (nums[x].bits == nums[y].bits)
        return nums[x].is_signed ? y : x;
    return wider;
}

/// The type that the operands are converted to.
static int compute_type(op o, num_type x, num_type y) {
    bool ints = !nums[x].is_float && !nums[y].is_float;
    if (o >= NEG)
        return x;
    if ((o == FLOORDIV || (o >= AND && o <= SHR)) && !ints)
        return REFUSED;
    if (o == MAXIMUM || o == MINIMUM) {
        x = x == B16 ? F32 : x;
        y = y == B16 ? F32 : y;
    }
    return meet(o == DIV || o == FLOORDIV || o == MOD, x, y);
}

static int result_type(op o, num_type x, num_type y) {
    int t = compute_type(o, x, y);
    if (t == REFUSED)
        return REFUSED;
    if (o == INVERT && nums[x].is_float)
        return REFUSED;
    if (o == NOT)
        return x == I1 ? I1 : REFUSED;
    if (o >= EQ && o <= GE)
        return I1;
    return o == DIV && !nums[t].is_float ? F32 : t;
}

// ---------------------------------------------------------------------------- the reference

static uint64_t int_result(op o, num_type t, uint64_t x, uint64_t y) {
    bool is_signed = nums[t].is_signed;
    int64_t a = num_extend(t, x), b = num_extend(t, y);
    uint64_t ua = (uint64_t)a, ub = (uint64_t)b, amount = y & num_mask(t);
    switch (o) {
    case ADD:
        return ua + ub;
    case SUB:
        return ua - ub;
    case MUL:
        return ua * ub;
    case FLOORDIV:
    case MOD:
        if (ub == 0)
            return ~UINT64_C(0);
        if (is_signed && b == -1)
            return o == MOD ? 0 : 0 - ua;
        if (is_signed)
            return (uint64_t)(o == MOD ? a % b : a / b);
        return o == MOD ? ua % ub : ua / ub;
    case AND:
        return ua & ub;
    case OR:
        return ua | ub;
    case XOR:
        return ua ^ ub;
    case SHL:
        return amount < nums[t].bits ? ua << amount : 0;
    case SHR:
        if (amount >= nums[t].bits)
            return is_signed && a < 0 ? ~UINT64_C(0) : 0;
        return is_signed ? (uint64_t)(a >> amount) : ua >> amount;
    case MAXIMUM:
    case MINIMUM: {
        bool less = is_signed ? a < b : ua < ub;
        return less == (o == MAXIMUM) ? ub : ua;
    }
    case NEG:
        return 0 - ua;
    case INVERT:
    case NOT:
        return ~ua;
    default: // ABS
        return is_signed && a < 0 ? 0 - ua : ua;
    }
}

static uint64_t float_result(op o, num_type t, uint64_t x, uint64_t y) {
    uint64_t sign = UINT64_C(1) << (nums[t].bits - 1);
    long double a = num_value(t, x), b = num_value(t, y), r;
    double da = (double)a, db = (double)b;
    bool wide = t == F64; // in its own type: long double would round twice
    switch (o) {
    case ADD:
        r = wide ? (long double)(da + db) : a + b;
        break;
    case SUB:
        r = wide ? (long double)(da - db) : a - b;
        break;
    case MUL:
        r = wide ? (long double)(da * db) : a * b;
        break;
    case DIV:
        r = wide ? (long double)(da / db) : a / b;
        break;
    case MOD:
        r = isinf(b) && !isnan(a) ? a : fmodl(a, b); // of infinities as well, as GPUs do
        r = r == 0 && !isinf(b) ? 0 : r;
        break;
    case MAXIMUM:
    case MINIMUM:
        if (isnan(a) || isnan(b))
            return isnan(a) ? y : x;
        if (a == b)
            return (x & sign) == (o == MAXIMUM ? sign : 0) ? y : x;
        return (a < b) == (o == MAXIMUM) ? y : x;
    case NEG:
        return x ^ sign;
    default: // ABS
        return x & ~sign;
    }
    return num_round(t, r, false);
}

static bool compare(op o, num_type t, uint64_t x, uint64_t y) {
    long double a = num_value(t, x), b = num_value(t, y);
    const bool holds[] = {a == b, a != b, a<b, a <= b, a> b, a >= b};
    return holds[o - EQ];
}

static uint64_t expected(op o, num_type x, uint64_t xb, num_type y, uint64_t yb, bool c) {
    num_type t = (num_type)compute_type(o, x, y);
    uint64_t a = num_convert(x, t, xb, false), b = num_convert(y, t, yb, false);
    if (o == WHERE)
        return c ? a : b;
    if (o >= EQ && o <= GE)
        return compare(o, t, a, b);
    if (o == DIV && !nums[t].is_float) {
        a = num_convert(t, F32, a, false);
        b = num_convert(t, F32, b, false);
        t = F32;
    }
    return nums[t].is_float ? float_result(o, t, a, b) : int_result(o, t, a, b) & num_mask(t);
}

/// Equal; or, for fp32 quotients, which are not promised to the bit, within 2 ulp.
static bool is_right(op o, num_type result, uint64_t got, uint64_t want) {
    return num_same(result, got, want) ||
           (o == DIV && result == F32 && !num_is_nan(F32, got) && !num_is_nan(F32, want) &&
            num_distance(F32, got, want) <= 2);
}

// ---------------------------------------------------------------------------- values

enum { VALUES = 16 };

/// The large ones lie just above a tie of fp32, of bf16: whoever rounds in steps is caught.
static void int_values(num_type t, uint64_t *out) {
    unsigned bits = nums[t].bits;
    uint64_t top = UINT64_C(1) << (bits - 1);
    const uint64_t v[VALUES] = {0,
                                1,
                                2,
                                ~UINT64_C(0),
                                7,
                                top,
                                top - 1,
                                top + 1,
                                bits - 1,
                                bits,
                                bits + 1,
                                100,
                                UINT64_C(0x4040000000000001),
                                UINT64_C(16842753),
                                UINT64_C(0x4000004000000001),
                                UINT64_C(0xfffffffffffffff9)};
    for (int i = 0; i < VALUES; i++)
        out[i] = (t == I1 ? (uint64_t)i * 5 / 3 : v[i]) & num_mask(t);
}

static void float_values(num_type t, uint64_t *out) {
    const long double v[VALUES] = {0.0L,
                                   -0.0L,
                                   1.0L,
                                   -1.5L,
                                   3.0L,
                                   -7.0L,
                                   100.0L,
                                   0.3L,
                                   -300.7L,
                                   INFINITY,
                                   -INFINITY,
                                   NAN,
                                   (long double)nums[t].largest,
                                   ldexpl(-1, 1 - nums[t].bias),
                                   ldexpl(1, 1 - nums[t].bias - nums[t].mantissa),
                                   65536.5L};
    for (int i = 0; i < VALUES; i++)
        out[i] = num_round(t, v[i], t == E5); // rtz keeps the infinities of fp8e5
}

static void values_of(num_type t, uint64_t *out) {
    if (nums[t].is_float)
        float_values(t, out);
    else
        int_values(t, out);
}

/// Element i of the left and the right operand: all pairs in 256 elements.
static unsigned left_of(unsigned i) { return (i / VALUES + i) % VALUES; }
static unsigned right_of(unsigned i) { return i % VALUES; }

// ---------------------------------------------------------------------------- making kernels

/// A result as it is stored, and how to say what it is.
typedef struct slot {
    op o; // OPS: a cast
    bool rtz, bitcast;
    num_type y, type; // right operand; result
} slot;

static slot slots[NUM_TYPES * OPS];
static unsigned num_slots;

static void begin_kernel(num_type x, unsigned n) {
    text_size = num_slots = 0;
    say("def k(x: *%s, y: *u8, z: *u8, n: i32):\n", nums[x].name);
    say("    o = arange(0, %u)\n    m = o < n\n    c = o %% 3 == 0\n", n);
    say("    a = load(x + o, mask=m)\n");
}

static void say_right_operand(num_type y, unsigned n) {
    say("    b = load((y + %u).to(tl.pointer_type(tl.%s)) + o, mask=m)\n", 8 * n * (unsigned)y,
        nums[y].long_name);
}

static void say_slot(slot s, unsigned n, const char *expression) {
    say("    r = %s\n    static_assert(r.dtype == tl.%s, '%s')\n", expression,
        nums[s.type].long_name, expression);
    say("    store((z + %u).to(tl.pointer_type(tl.%s)) + o, r, mask=m)\n", 8 * n * num_slots,
        nums[s.type].long_name);
    slots[num_slots++] = s;
}

static void say_operators(num_type x, num_type y, unsigned n, op begin, op end, int step) {
    for (int o = (int)begin; o < (int)end; o += step) {
        int type = result_type((op)o, x, y);
        if (type != REFUSED)
            say_slot((slot){.o = (op)o, .y = y, .type = (num_type)type}, n, op_text[o]);
    }
}

// ---------------------------------------------------------------------------- running

static void check_slot(const slot *s, num_type x, const uint64_t *xs, const uint64_t *ys,
                       const uint8_t *out, unsigned count, unsigned n, const char *where) {
    for (unsigned i = 0; i < count; i++) {
        uint64_t a = xs[left_of(i)], b = ys[right_of(i)];
        uint64_t got = num_load(s->type, out, i), want;
        if (s->o == OPS) {
            want = s->bitcast ? a : num_convert(x, s->type, a, s->rtz);
            expect(num_same(s->type, got, want),
                   "%s: %s %#" PRIx64 " (%.17Lg) to %s%s: got %#" PRIx64 ", expected %#" PRIx64,
                   where, nums[x].name, a, num_value(x, a), nums[s->type].name,
                   s->rtz       ? " rtz"
                   : s->bitcast ? " bitcast"
                                : "",
                   got, want);
            continue;
        }
        want = expected(s->o, x, a, s->y, b, i % 3 == 0);
        expect(is_right(s->o, s->type, got, want),
               "%s: %s of %s %#" PRIx64 " (%.17Lg), %s %#" PRIx64 " (%.17Lg): got %s %#" PRIx64
               " (%.17Lg), expected %#" PRIx64,
               where, op_text[s->o], nums[x].name, a, num_value(x, a), nums[s->y].name, b,
               num_value(s->y, b), nums[s->type].name, got, num_value(s->type, got), want);
    }
    size_t used = count * nums[s->type].bytes;
    for (size_t i = used; i < 8 * (size_t)n; i++)
        expect(out[i] == 0xA5, "%s: byte %zu of a masked store to %s is written", where, i,
               nums[s->type].name);
}

/// Runs the kernel in `text` on the first `count` of n elements and checks every slot.
static void run_kernel(num_type x, unsigned n, unsigned count, uint32_t warps) {
    uint64_t values[NUM_TYPES][VALUES];
    size_t out_bytes = 8 * (size_t)n * num_slots;
    uint8_t *left = xmalloc(8 * (size_t)n), *right = xmalloc(8 * (size_t)n * NUM_TYPES);
    uint8_t *out = xmalloc(out_bytes);
    for (int t = 0; t < NUM_TYPES; t++) {
        values_of((num_type)t, values[t]);
        for (unsigned i = 0; i < n; i++)
            num_store((num_type)t, right + 8 * (size_t)n * (size_t)t, i, values[t][right_of(i)]);
    }
    for (unsigned i = 0; i < n; i++)
        num_store(x, left, i, values[x][left_of(i)]);
    tile_buffer *in = buffer_from(left, nums[x].bytes * count);
    tile_buffer *others = buffer_from(right, 8 * (size_t)n * NUM_TYPES);
    tile_buffer *results = buffer_from(NULL, out_bytes);
    tile_module *mod;
    tile_kernel *k = kernel_from(text, NULL, &mod);
    tile_arg args[] = {TILE_BUFFER(in, nums[x].name), TILE_BUFFER(others, "u8"),
                       TILE_BUFFER(results, "u8"), TILE_I32((int32_t)count)};
    tile_launch_options options = {.size = sizeof options, .grid = {1}, .num_warps = warps};
    must(tile_launch(k, args, 4, &options, &err));
    read_buffer(results, out, out_bytes);
    char where[64];
    snprintf(where, sizeof where, "%u of %u elements, %u warps", count, n, warps);
    for (unsigned s = 0; s < num_slots; s++)
        check_slot(&slots[s], x, values[x], values[slots[s].y], out + 8 * (size_t)n * s, count, n,
                   where);
    tile_module_destroy(mod);
    tile_buffer_destroy(in);
    tile_buffer_destroy(others);
    tile_buffer_destroy(results);
    free(left), free(right), free(out);
}

static void test_same_type(num_type t) {
    static const struct { unsigned n, count; } sizes[] = {{1, 1}, {16, 16}, {1024, 1000}};
    static const uint32_t warps[] = {1, 4, 8};
    for (int s = 0; s < 3; s++)
        for (int w = 0; w < 3; w++) {
            // 32 registers of each value take long to compile: a third of the operators, by turns.
            int step = sizes[s].n / warps[w] > 512 ? 3 : 1;
            begin_kernel(t, sizes[s].n);
            say_right_operand(t, sizes[s].n);
            say_operators(t, t, sizes[s].n, (op)((int)t % step), OPS, step);
            run_kernel(t, sizes[s].n, sizes[s].count, warps[w]);
        }
}

static void test_mixed_types(num_type x) {
    begin_kernel(x, 256);
    for (int y = 0; y < NUM_TYPES; y++) {
        if (y == (int)x)
            continue;
        say_right_operand((num_type)y, 256);
        say_operators(x, (num_type)y, 256, ADD, NEG, 1);
    }
    run_kernel(x, 256, 250, 8);
}

static void say_cast(num_type to, bool rtz, bool bitcast, unsigned n) {
    char expression[80];
    snprintf(expression, sizeof expression, "a.to(tl.%s%s)", nums[to].long_name,
             rtz       ? ", fp_downcast_rounding=\"rtz\""
             : bitcast ? ", bitcast=True"
                       : "");
    say_slot((slot){.o = OPS, .rtz = rtz, .bitcast = bitcast, .y = to, .type = to}, n, expression);
}

static void test_casts(num_type x, uint32_t warps) {
    begin_kernel(x, 256);
    for (int to = 0; to < NUM_TYPES; to++) {
        say_cast((num_type)to, false, false, 256);
        if (nums[x].is_float && nums[to].is_float && nums[to].bits < nums[x].bits)
            say_cast((num_type)to, true, false, 256);
        if (nums[to].bits == nums[x].bits)
            say_cast((num_type)to, false, true, 256);
    }
    run_kernel(x, 256, 250, warps);
}

int main(void) {
    open_test_device();
    for (int t = 0; t < NUM_TYPES; t++) {
        test_same_type((num_type)t);
        test_mixed_types((num_type)t);
        test_casts((num_type)t, t % 2 ? 4 : 1);
    }
    return finish();
}
