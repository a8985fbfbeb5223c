// libdevice's exact functions (bits, integers, rounding, conversions, exponents) against plain C, bit
// for bit: all pairs of awkward operands and random ones. One kernel for each operand type holds all
// of its functions, checks the types of the results and stores them as 64-bit integers. What is not
// exact, tests/accuracy measures.
#include "run.h"

#include <stdint.h>

enum { COUNT = 1024, MAX_CASES = 48 };

typedef union operand {
    float f;
    double d;
    int32_t i;
    uint32_t u;
    int64_t l;
    uint64_t ul;
} operand;

typedef struct test_case {
    const char *expression, *type;
    int64_t (*reference)(operand x, operand y);
} test_case;

static int64_t f_bits(float v) {
    operand o = {.f = v};
    return isnan(v) ? INT64_MAX : o.i;
}

static int64_t d_bits(double v) {
    operand o = {.d = v};
    return isnan(v) ? INT64_MAX : o.l;
}

/// A reference of floats `a` and `b`, or integers: the field says of which type.
#define REF(name, field, formula)                                                                  \
    static int64_t name(operand x, operand y) {                                                    \
        __typeof__(x.field) a = x.field, b = y.field;                                              \
        (void)a, (void)b;                                                                          \
        return (int64_t)(formula);                                                                 \
    }

// --- what C has no function for

/// As the GPU converts: saturating, and NaN gives 0, or the top bit where 64 bits take part.
static int64_t to_int(double v, int bits, bool is_signed, bool wide) {
    double end = ldexp(1, bits - is_signed);
    int64_t least = bits == 64 ? INT64_MIN : INT32_MIN;
    if (isnan(v))
        return !wide ? 0 : bits == 64 ? INT64_MIN : is_signed ? INT32_MIN : INT64_C(1) << 31;
    if (is_signed)
        return v >= end ? -(least + 1) : v < -end ? least : (int64_t)v;
    if (v >= end)
        return bits == 64 ? -1 : (int64_t)UINT32_MAX;
    return v <= 0 ? 0 : (int64_t)(uint64_t)v;
}

static uint32_t reverse32(uint32_t v) {
    uint32_t r = 0;
    for (int i = 0; i < 32; i++)
        r |= (v >> i & 1) << (31 - i);
    return r;
}

static uint64_t reverse64(uint64_t v) {
    return (uint64_t)reverse32((uint32_t)v) << 32 | reverse32((uint32_t)(v >> 32));
}

static uint32_t permute_bytes(uint32_t x, uint32_t y, uint32_t s) {
    uint64_t both = (uint64_t)y << 32 | x;
    uint32_t r = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t byte = both >> 8 * (s >> 4 * i & 7) & 255;
        if (s >> 4 * i & 8)
            byte = byte & 128 ? 255 : 0;
        r |= byte << 8 * i;
    }
    return r;
}

static int32_t exponent_of(double v) {
    return v == 0 || isnan(v) ? INT32_MIN : isinf(v) ? INT32_MAX : ilogb(v);
}

static int power_of(operand y) { return (int)(y.i % 400); }

// --- fp32

REF(f_round, f, f_bits(roundf(a)))
REF(f_rint, f, f_bits(rintf(a)))
REF(f_trunc, f, f_bits(truncf(a)))
REF(f_llrint, f, to_int(rintf(a), 64, true, true))
REF(f_llround, f, to_int(roundf(a), 64, true, true))
REF(f_copysign, f, f_bits(copysignf(a, b)))
REF(f_isnan, f, isnan(a) != 0)
REF(f_isinf, f, isinf(a) != 0)
REF(f_finite, f, isfinite(a) != 0)
REF(f_signbit, f, signbit(a) != 0)
REF(f_fdim, f, f_bits(fdimf(a, b)))
REF(f_saturate, f, f_bits(a > 0 ? fminf(a, 1) : 0))
REF(f_fmod, f, f_bits(fmodf(a, b)))
REF(f_add, f, f_bits(a + b))
REF(f_sub, f, f_bits(a - b))
REF(f_mul, f, f_bits(a *b))
REF(f_no_fma, f, f_bits((float)((double)(float)(a *b) + 1)))
REF(f_recip, f, f_bits(1 / a))
REF(f_logb, f, f_bits(logbf(a)))
REF(f_ilogb, f, exponent_of((double)a))
REF(f_next, f, f_bits(nextafterf(a, b)))
REF(f_int_rn, f, to_int(rintf(a), 32, true, false))
REF(f_int_rz, f, to_int(truncf(a), 32, true, false))
REF(f_uint_ru, f, to_int(ceilf(a), 32, false, false))
REF(f_ll_rd, f, to_int(floorf(a), 64, true, true))
REF(f_ull_rn, f, to_int(rintf(a), 64, false, true))
REF(f_as_int, f, x.i)
REF(f_as_uint, f, x.u)
static int64_t f_ldexp(operand x, operand y) { return f_bits(ldexpf(x.f, power_of(y))); }

static const test_case of_fp32[] = {
    {"libdevice.round(x)", "fp32", f_round},
    {"libdevice.rint(x)", "fp32", f_rint},
    {"libdevice.nearbyint(x)", "fp32", f_rint},
    {"libdevice.trunc(x)", "fp32", f_trunc},
    {"libdevice.llrint(x)", "i64", f_llrint},
    {"libdevice.llround(x)", "i64", f_llround},
    {"libdevice.copysign(x, y)", "fp32", f_copysign},
    {"libdevice.isnan(x)", "i1", f_isnan},
    {"libdevice.isinf(x)", "i1", f_isinf},
    {"libdevice.finitef(x)", "i1", f_finite},
    {"libdevice.signbit(x)", "i1", f_signbit},
    {"libdevice.fdim(x, y)", "fp32", f_fdim},
    {"libdevice.saturatef(x)", "fp32", f_saturate},
    {"libdevice.fmod(x, y)", "fp32", f_fmod},
    {"libdevice.add_rn(x, y)", "fp32", f_add},
    {"libdevice.sub_rn(x, y)", "fp32", f_sub},
    {"libdevice.mul_rn(x, y)", "fp32", f_mul},
    {"libdevice.mul_rn(x, y) + 1", "fp32", f_no_fma},
    {"libdevice.rcp_rn(x)", "fp32", f_recip},
    {"libdevice.logb(x)", "fp32", f_logb},
    {"libdevice.ilogb(x)", "i32", f_ilogb},
    {"libdevice.nextafter(x, y)", "fp32", f_next},
    {"libdevice.ldexp(x, libdevice.float_as_int(y) % 400)", "fp32", f_ldexp},
    {"libdevice.scalbn(x, libdevice.float_as_int(y) % 400)", "fp32", f_ldexp},
    {"libdevice.float2int_rn(x)", "i32", f_int_rn},
    {"libdevice.float2int_rz(x)", "i32", f_int_rz},
    {"libdevice.float2uint_ru(x)", "u32", f_uint_ru},
    {"libdevice.float2ll_rd(x)", "i64", f_ll_rd},
    {"libdevice.float2ull_rn(x)", "u64", f_ull_rn},
    {"libdevice.float_as_int(x)", "i32", f_as_int},
    {"libdevice.float_as_uint(x)", "u32", f_as_uint},
};

// --- fp64

REF(d_round, d, d_bits(round(a)))
REF(d_rint, d, d_bits(rint(a)))
REF(d_trunc, d, d_bits(trunc(a)))
REF(d_llrint, d, to_int(rint(a), 64, true, true))
REF(d_copysign, d, d_bits(copysign(a, b)))
REF(d_isnan, d, isnan(a) != 0)
REF(d_finite, d, isfinite(a) != 0)
REF(d_signbit, d, signbit(a) != 0)
REF(d_fmod, d, d_bits(fmod(a, b)))
REF(d_no_fma, d, d_bits((double)((long double)(double)(a *b) + 1)))
REF(d_logb, d, d_bits(logb(a)))
REF(d_ilogb, d, exponent_of(a))
REF(d_next, d, d_bits(nextafter(a, b)))
REF(d_int_rn, d, to_int(rint(a), 32, true, true))
REF(d_uint_rd, d, to_int(floor(a), 32, false, true))
REF(d_ll_ru, d, to_int(ceil(a), 64, true, true))
REF(d_float_rn, d, f_bits((float)a))
REF(d_low, d, x.i)
REF(d_high, d, (int32_t)(x.l >> 32))
REF(d_same, d, d_bits(a))
REF(d_as_ll, d, x.l)
static int64_t d_ldexp(operand x, operand y) { return d_bits(ldexp(x.d, (int)(y.l % 3000))); }

static const test_case of_fp64[] = {
    {"libdevice.round(x)", "fp64", d_round},
    {"libdevice.rint(x)", "fp64", d_rint},
    {"libdevice.trunc(x)", "fp64", d_trunc},
    {"libdevice.llrint(x)", "i64", d_llrint},
    {"libdevice.copysign(x, y)", "fp64", d_copysign},
    {"libdevice.isnan(x)", "i1", d_isnan},
    {"libdevice.isfinited(x)", "i1", d_finite},
    {"libdevice.signbit(x)", "i1", d_signbit},
    {"libdevice.fmod(x, y)", "fp64", d_fmod},
    {"libdevice.mul_rn(x, y) + 1", "fp64", d_no_fma},
    {"libdevice.logb(x)", "fp64", d_logb},
    {"libdevice.ilogb(x)", "i32", d_ilogb},
    {"libdevice.nextafter(x, y)", "fp64", d_next},
    {"libdevice.ldexp(x, libdevice.double_as_longlong(y) % 3000)", "fp64", d_ldexp},
    {"libdevice.double2int_rn(x)", "i32", d_int_rn},
    {"libdevice.double2uint_rd(x)", "u32", d_uint_rd},
    {"libdevice.double2ll_ru(x)", "i64", d_ll_ru},
    {"libdevice.double2float_rn(x)", "fp32", d_float_rn},
    {"libdevice.double2loint(x)", "i32", d_low},
    {"libdevice.double2hiint(x)", "i32", d_high},
    {"libdevice.hiloint2double(libdevice.double2hiint(x), libdevice.double2loint(x))", "fp64",
     d_same},
    {"libdevice.double_as_longlong(x)", "i64", d_as_ll},
};

// --- integers

REF(i_popc, u, __builtin_popcount(a))
REF(i_clz, u, a ? __builtin_clz(a) : 32)
REF(i_ffs, i, __builtin_ffs(a))
REF(i_brev, u, (int32_t)reverse32(a))
REF(i_mulhi, i, (int64_t)a *b >> 32)
REF(i_mul24, i,
    (int32_t)((uint32_t)((int32_t)(x.u << 8) >> 8) * (uint32_t)((int32_t)(y.u << 8) >> 8)))
REF(i_sad, i, (int32_t)((a < b ? y.u - x.u : x.u - y.u) + 3))
REF(i_hadd, i, ((int64_t)a + b) >> 1)
REF(i_rhadd, i, ((int64_t)a + b + 1) >> 1)
REF(i_perm, u, (int32_t)permute_bytes(a, b, a ^ b))
REF(i_float, i, f_bits((float)a))
REF(i_double, i, d_bits((double)a))
REF(i_as_float, i, f_bits(x.f))

static const test_case of_i32[] = {
    {"libdevice.popc(x)", "i32", i_popc},
    {"libdevice.clz(x)", "i32", i_clz},
    {"libdevice.ffs(x)", "i32", i_ffs},
    {"libdevice.brev(x)", "i32", i_brev},
    {"libdevice.mulhi(x, y)", "i32", i_mulhi},
    {"libdevice.mul24(x, y)", "i32", i_mul24},
    {"libdevice.sad(x, y, 3)", "i32", i_sad},
    {"libdevice.hadd(x, y)", "i32", i_hadd},
    {"libdevice.rhadd(x, y)", "i32", i_rhadd},
    {"libdevice.byte_perm(x, y, x ^ y)", "i32", i_perm},
    {"libdevice.int2float_rn(x)", "fp32", i_float},
    {"libdevice.int2double_rn(x)", "fp64", i_double},
    {"libdevice.int_as_float(x)", "fp32", i_as_float},
};

REF(u_mulhi, u, ((uint64_t)a * b) >> 32)
REF(u_hadd, u, ((uint64_t)a + b) >> 1)
REF(u_rhadd, u, ((uint64_t)a + b + 1) >> 1)
REF(u_sad, u, (uint32_t)((a < b ? b - a : a - b) + 3))
REF(u_float, u, f_bits((float)a))

static const test_case of_u32[] = {
    {"libdevice.mulhi(x, y)", "u32", u_mulhi},
    {"libdevice.hadd(x, y)", "u32", u_hadd},
    {"libdevice.rhadd(x, y)", "u32", u_rhadd},
    {"libdevice.sad(x, y, libdevice.float_as_uint(0.0) + 3)", "u32", u_sad},
    {"libdevice.uint2float_rn(x)", "fp32", u_float},
    {"libdevice.uint_as_float(x)", "fp32", i_as_float},
};

REF(l_popc, ul, __builtin_popcountll(a))
REF(l_clz, ul, a ? __builtin_clzll(a) : 64)
REF(l_ffs, l, __builtin_ffsll(a))
REF(l_brev, ul, reverse64(a))
REF(l_mulhi, l, (__int128)a *b >> 64)
REF(l_float, l, f_bits((float)a))
REF(l_double, l, d_bits((double)a))
REF(l_as_double, l, d_bits(x.d))

static const test_case of_i64[] = {
    {"libdevice.popc(x)", "i32", l_popc},
    {"libdevice.clz(x)", "i32", l_clz},
    {"libdevice.ffs(x)", "i32", l_ffs},
    {"libdevice.brev(x)", "i64", l_brev},
    {"libdevice.mulhi(x, y)", "i64", l_mulhi},
    {"libdevice.ll2float_rn(x)", "fp32", l_float},
    {"libdevice.ll2double_rn(x)", "fp64", l_double},
    {"libdevice.longlong_as_double(x)", "fp64", l_as_double},
};

REF(ul_mulhi, ul, (unsigned __int128)a *b >> 64)
REF(ul_float, ul, f_bits((float)a))
REF(ul_double, ul, d_bits((double)a))

static const test_case of_u64[] = {
    {"libdevice.mulhi(x, y)", "u64", ul_mulhi},
    {"libdevice.ull2float_rn(x)", "fp32", ul_float},
    {"libdevice.ull2double_rn(x)", "fp64", ul_double},
};

// --- running

/// The kernel of one operand type: result k of element i is out[k * COUNT + i].
static char *make_source(const test_case *cases, size_t n) {
    static char text[MAX_CASES * 200 + 1000];
    size_t len = (size_t)snprintf(
        text, sizeof text,
        "from triton.language.extra import libdevice\n"
        "def word(v, type: constexpr):\n"
        "    static_assert(v.dtype == type, f'{v.dtype.name} instead of {type.name}')\n"
        "    if type == fp32:\n"
        "        return where(v == v, v.to(i32, bitcast=True).to(i64), %lld)\n"
        "    if type == fp64:\n"
        "        return where(v == v, v.to(i64, bitcast=True), %lld)\n"
        "    return v.to(i64)\n"
        "def k(px, py, out: *i64):\n"
        "    o = program_id(0) * 128 + arange(0, 128)\n"
        "    x = load(px + o)\n"
        "    y = load(py + o)\n",
        (long long)INT64_MAX, (long long)INT64_MAX);
    for (size_t i = 0; i < n; i++)
        len += (size_t)snprintf(text + len, sizeof text - len,
                                "    store(out + (%zu + o), word(%s, %s))\n", i * COUNT,
                                cases[i].expression, cases[i].type);
    return text;
}

static uint64_t random_bits(void) {
    static uint64_t state = 1;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return state ^ state >> 29;
}

/// All pairs of 24 awkward bit patterns, then random ones; floats among them in a middling range.
static operand pick(unsigned i, bool second, unsigned bytes, bool is_float) {
    static const double floats[] = {0.0,        -0.0,      0.5,       -0.5,   1.5,   2.5,
                                    -2.5,       1.0,       -1.0,      3e9,    -3e9,  1e19,
                                    -1e19,      INFINITY,  -INFINITY, NAN,    1e-40, 3.0,
                                    0.49999997, 8388609.5, 5e-324,    1e-310, 1e300, 7.0};
    static const int64_t ints[] = {0,
                                   1,
                                   -1,
                                   2,
                                   -2,
                                   3,
                                   7,
                                   -7,
                                   100,
                                   INT32_MAX,
                                   INT32_MIN,
                                   INT64_MAX,
                                   INT64_MIN,
                                   UINT32_MAX,
                                   0x8000,
                                   0x7fffff,
                                   0x800000,
                                   0xffffff,
                                   1 << 30,
                                   0x01020304,
                                   0x80,
                                   -128,
                                   INT64_C(1) << 53,
                                   0x5555555555555555};
    enum { AWKWARD = 24 };
    operand o = {0};
    unsigned k = second ? i / AWKWARD : i % AWKWARD;
    if (i < AWKWARD * AWKWARD && is_float && bytes == 4)
        o.f = (float)floats[k];
    else if (i < AWKWARD * AWKWARD && is_float)
        o.d = floats[k];
    else if (i < AWKWARD * AWKWARD)
        o.l = ints[k];
    else
        o.ul = random_bits();
    if (i % 2 && i >= AWKWARD * AWKWARD && is_float) {
        double v = ldexp((double)(int64_t)o.ul, (int)(o.ul % 40) - 80);
        o.ul = 0;
        if (bytes == 4)
            o.f = (float)v;
        else
            o.d = v;
    }
    return o;
}

static void run(const char *type, const test_case *cases, size_t n) {
    bool is_float = type[0] == 'f';
    unsigned bytes = strstr(type, "64") ? 8 : 4;
    const char *source = make_source(cases, n);
    tile_module *module;
    tile_kernel *kernel;
    must(tile_module_load_string(dev, type, source, strlen(source), &module, &err));
    must(tile_module_get_kernel(module, "k", &kernel, &err));
    static char operands[2][COUNT * 8];
    static int64_t results[MAX_CASES * COUNT];
    for (unsigned i = 0; i < 2 * COUNT; i++) {
        operand o = pick(i / 2, i % 2, bytes, is_float);
        memcpy(operands[i % 2] + i / 2 * bytes, &o, bytes);
    }
    tile_buffer *x, *y, *out;
    must(tile_buffer_create(dev, COUNT * 8, &x, &err));
    must(tile_buffer_create(dev, COUNT * 8, &y, &err));
    must(tile_buffer_create(dev, sizeof results, &out, &err));
    must(tile_copy_to_device(x, 0, operands[0], COUNT * bytes, NULL, &err));
    must(tile_copy_to_device(y, 0, operands[1], COUNT * bytes, NULL, &err));
    tile_launch_options o = {.size = sizeof o, .grid = {COUNT / 128}};
    tile_arg args[] = {TILE_BUFFER(x, type), TILE_BUFFER(y, type), TILE_BUFFER(out, "i64")};
    must(tile_launch(kernel, args, 3, &o, &err));
    must(tile_copy_to_host(results, out, 0, n * COUNT * 8, NULL, &err));
    for (size_t k = 0; k < n; k++)
        for (unsigned i = 0; i < COUNT; i++) {
            operand a = {0}, b = {0};
            memcpy(&a, operands[0] + i * bytes, bytes);
            memcpy(&b, operands[1] + i * bytes, bytes);
            int64_t want = cases[k].reference(a, b), got = results[k * COUNT + i];
            if (!expect(got == want, "%s %s of %#llx, %#llx: %#llx instead of %#llx", type,
                        cases[k].expression, (unsigned long long)a.ul, (unsigned long long)b.ul,
                        (unsigned long long)got, (unsigned long long)want))
                break;
        }
    tile_buffer_destroy(x);
    tile_buffer_destroy(y);
    tile_buffer_destroy(out);
    tile_module_destroy(module);
}

#define RUN(type, cases) run(type, cases, sizeof(cases) / sizeof((cases)[0]))

int main(void) {
    open_test_device();
    RUN("fp32", of_fp32);
    RUN("fp64", of_fp64);
    RUN("i32", of_i32);
    RUN("u32", of_u32);
    RUN("i64", of_i64);
    RUN("u64", of_u64);
    return finish();
}
