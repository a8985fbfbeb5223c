// Every atomic on every type that it takes, in every ordering and scope, against a plain C model of
// one element: old values and final contents, masked and not, of tiles from one element on, with
// copies, of scalars. Values are such that sums are exact in any order.
#include "run.h"

enum { MAX_N = 512 };

typedef enum operation { ADD, MAX, MIN, AND, OR, XOR, XCHG, OPERATIONS } operation;
static const char *const op_names[] = {"add", "max", "min", "and", "or", "xor", "xchg"};

typedef enum type { I32, U32, I64, U64, F32, F64, F16, B16, TYPES } type;
static const struct {
    const char *name;
    unsigned bytes;
    bool is_float, is_signed;
} types[] = {{"i32", 4, false, true},  {"u32", 4, false, false}, {"i64", 8, false, true},
             {"u64", 8, false, false}, {"fp32", 4, true, true},  {"fp64", 8, true, true},
             {"fp16", 2, true, true},  {"bf16", 2, true, true}};

static bool takes(operation op, type t) {
    if (t == F16 || t == B16)
        return op == ADD;
    return !types[t].is_float || op == ADD || op == MAX || op == MIN || op == XCHG;
}

// ---------------------------------------------------------------------------- the model, on bits

static uint64_t get(type t, const void *data, size_t i) {
    uint64_t bits = 0;
    memcpy(&bits, (const char *)data + i * types[t].bytes, types[t].bytes);
    return bits;
}

static void put(type t, void *data, size_t i, uint64_t bits) {
    memcpy((char *)data + i * types[t].bytes, &bits, types[t].bytes);
}

static double to_double(type t, uint64_t bits) {
    double d;
    if (t != F64)
        return load_float(t == F32 ? FP32 : t == F16 ? FP16 : BF16, &bits, 0);
    memcpy(&d, &bits, 8);
    return d;
}

static uint64_t from_double(type t, double d) {
    uint64_t bits = 0;
    if (t == F64)
        memcpy(&bits, &d, 8);
    else
        store_float(t == F32 ? FP32 : t == F16 ? FP16 : BF16, &bits, 0, d);
    return bits;
}

/// Sign-extended, so that signed and unsigned order can both be told.
static int64_t extend(type t, uint64_t bits) {
    unsigned unused = 64 - 8 * types[t].bytes;
    return (int64_t)(bits << unused) >> unused;
}

/// Floats are ordered by sign and magnitude: -nan < -inf < ... < -0 < 0 < ... < inf < nan.
static bool is_less(type t, uint64_t a, uint64_t b) {
    int64_t x = extend(t, a), y = extend(t, b);
    if (!types[t].is_float)
        return types[t].is_signed ? x < y : a < b;
    if ((x < 0) != (y < 0))
        return x < 0;
    return x < 0 ? a > b : a < b;
}

/// The memory units' sum: fp32 without subnormals, one NaN (fp64 keeps what it gets).
static uint64_t add_floats(type t, uint64_t old, uint64_t v) {
    uint64_t a = old, b = v;
    if (t == F32) {
        a = a & 0x7f800000 ? a : a & 0x80000000;
        b = b & 0x7f800000 ? b : b & 0x80000000;
    }
    double sum = to_double(t, a) + to_double(t, b);
    if (isnan(sum) && t != F64)
        return t == F32 ? 0x7fffffff : 0x7fff;
    uint64_t bits = from_double(t, sum);
    return t == F32 && !(bits & 0x7f800000) ? bits & 0x80000000 : bits;
}

static uint64_t apply(operation op, type t, uint64_t old, uint64_t v) {
    switch (op) {
    case ADD:
        if (types[t].is_float)
            return add_floats(t, old, v);
        return (old + v) << (64 - 8 * types[t].bytes) >> (64 - 8 * types[t].bytes);
    case MAX:
        return is_less(t, old, v) ? v : old;
    case MIN:
        return is_less(t, v, old) ? v : old;
    case AND:
        return old & v;
    case OR:
        return old | v;
    case XOR:
        return old ^ v;
    default:
        return v;
    }
}

/// Any bits for integers and for what only compares or moves; for sums small multiples of 1/4, which
/// are exact, and special values with them.
static uint64_t random_bits(operation op, type t) {
    uint64_t r = (uint64_t)random_u32() << 32 | random_u32();
    static const uint32_t edges[] = {0,          0x80000000, 1,          0x80000001,
                                     0x00400000, 0x007fffff, 0x00800000, 0x80800000,
                                     0x7f800000, 0xff800000, 0x7fc00001};
    if (t == F32 && op == ADD && r % 7 == 0)
        return edges[(r >> 8) % 11];
    if (types[t].is_float && op == ADD)
        return from_double(t, (double)(int)(r % 33) / 4 - 4);
    if (types[t].is_float && r % 4 == 0) { // the special ones
        static const double values[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, -NAN, 1.0, -1.0};
        return from_double(t, values[r / 4 % 8]);
    }
    if (r % 5 == 0)
        return (r >> 8) % 3 - 1;
    return r >> (64 - 8 * types[t].bytes);
}

// ---------------------------------------------------------------------------- one kernel

typedef struct run_case {
    operation op;
    type t;
    const char *order; ///< ", sem=..., scope=..."
    bool masked;
} run_case;

/// Element by element, no two on one place: contents and old values are known exactly.
static void run_elements(tile_kernel *k, const run_case *c, uint32_t n, uint32_t warps) {
    type t = c->t;
    uint64_t x[MAX_N], v[MAX_N], old[MAX_N], after[MAX_N], limit = c->masked ? n * 2 / 3 : n;
    size_t bytes = n * types[t].bytes;
    for (uint32_t i = 0; i < n; i++)
        put(t, x, i, random_bits(c->op, t)), put(t, v, i, random_bits(c->op, t));
    tile_buffer *dx = buffer_from(x, bytes), *dv = buffer_from(v, bytes),
                *dy = buffer_from(x, bytes), *dold = buffer_from(NULL, bytes);
    tile_arg args[] = {TILE_BUFFER(dx, types[t].name), TILE_BUFFER(dy, types[t].name),
                       TILE_BUFFER(dv, types[t].name), TILE_BUFFER(dold, types[t].name),
                       TILE_I32((int32_t)limit),       TILE_CONSTEXPR_INT("N", n)};
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps};
    must(tile_launch(k, args, 6, &o, &err));
    for (int unused = 0; unused < 2; unused++) { // the second time nobody asked for the old value
        read_buffer(unused ? dy : dx, after, bytes);
        read_buffer(dold, old, bytes);
        for (uint32_t i = 0; i < n; i++) {
            uint64_t was = get(t, x, i), next = apply(c->op, t, was, get(t, v, i));
            bool on = i < limit;
            expect(get(t, after, i) == (on ? next : was),
                   "atomic_%s of %s%s, %u elements, %u warps: element %u becomes %llx, not %llx "
                   "(%llx with %llx)",
                   op_names[c->op], types[t].name, c->order, n, warps, i,
                   (unsigned long long)get(t, after, i), (unsigned long long)(on ? next : was),
                   (unsigned long long)was, (unsigned long long)get(t, v, i));
            expect(get(t, old, i) == (on ? was : 0),
                   "atomic_%s of %s%s, %u elements, %u warps: old value %u is %llx, not %llx",
                   op_names[c->op], types[t].name, c->order, n, warps, i,
                   (unsigned long long)get(t, old, i), (unsigned long long)(on ? was : 0));
        }
    }
    tile_buffer_destroy(dx), tile_buffer_destroy(dv), tile_buffer_destroy(dy),
        tile_buffer_destroy(dold);
}

static void run_case_on_sizes(const run_case *c, const uint32_t *sizes, const uint32_t *warps,
                              int n) {
    char source[512];
    const char *t = types[c->t].name, *mask = c->masked ? ", mask=o < n" : "";
    snprintf(source, sizeof source,
             "def k(x: *%s, y: *%s, v: *%s, old: *%s, n: i32, N: constexpr):\n"
             "    o = arange(0, N)\n"
             "    w = load(v + o)\n"
             "    store(old + o, atomic_%s(x + o, w%s%s))\n"
             "    atomic_%s(y + o, w%s%s)\n",
             t, t, t, t, op_names[c->op], mask, c->order, op_names[c->op], mask, c->order);
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    for (int i = 0; i < n; i++)
        run_elements(k, c, sizes[i], warps[i]);
    tile_module_destroy(mod);
}

static void test_elements(void) {
    static const uint32_t sizes[] = {1, 16, 512, 256, 2}, warps[] = {4, 2, 4, 8, 32};
    for (int op = 0; op < OPERATIONS; op++)
        for (int t = 0; t < TYPES; t++)
            if (takes((operation)op, (type)t)) {
                run_case c = {(operation)op, (type)t, "", (op + t) % 2 == 0};
                run_case_on_sizes(&c, sizes, warps, 5);
            }
}

static void test_orders(void) {
    static const char *const sems[] = {"acq_rel", "acquire", "release", "relaxed"};
    static const char *const scopes[] = {"gpu", "cta", "sys"};
    static const type some[] = {I32, F32, B16, U64};
    static const uint32_t sizes[] = {64}, warps[] = {4};
    char order[64];
    for (int s = 0; s < 4; s++)
        for (int c = 0; c < 3; c++) {
            snprintf(order, sizeof order, ", sem=\"%s\", scope=\"%s\"", sems[s], scopes[c]);
            run_case r = {ADD, some[(s + c) % 4], order, c == 1};
            run_case_on_sizes(&r, sizes, warps, 1);
            r.op = s % 2 ? XCHG : MIN;
            r.t = c == 0 ? F64 : c == 1 ? F32 : I64;
            run_case_on_sizes(&r, sizes, warps, 1);
        }
}

// ---------------------------------------------------------------------------- compare and swap

static void test_cas(void) {
    static const char *const names[] = {"i16", "u16", "fp16", "bf16", "i32", "fp32", "u64", "fp64"};
    static const unsigned widths[] = {2, 2, 2, 2, 4, 4, 8, 8};
    static const char *const orders[] = {"", ", sem=\"acquire\"",
                                         ", sem=\"relaxed\", scope=\"sys\""};
    for (int t = 0; t < 8; t++) {
        char source[512];
        unsigned bytes = widths[t];
        snprintf(source, sizeof source,
                 "def k(x: *%s, expected: *%s, v: *%s, old: *%s, N: constexpr):\n"
                 "    o = arange(0, N)\n"
                 "    store(old + o, atomic_cas(x + o, load(expected + o), load(v + o)%s))\n",
                 names[t], names[t], names[t], names[t], orders[t % 3]);
        tile_module *mod;
        tile_kernel *k = kernel_from(source, "k", &mod);
        for (uint32_t n = 1; n <= 256; n *= 16) {
            uint8_t x[8 * 256], e[8 * 256], v[8 * 256], old[8 * 256], after[8 * 256];
            for (uint32_t i = 0; i < n * bytes; i++) { // now and then a bit off, else equal
                x[i] = (uint8_t)random_u32(), v[i] = (uint8_t)random_u32();
                e[i] = random_u32() % 8 ? x[i] : (uint8_t)(x[i] ^ 1 << random_u32() % 8);
            }
            tile_buffer *dx = buffer_from(x, n * bytes), *de = buffer_from(e, n * bytes),
                        *dv = buffer_from(v, n * bytes), *dold = buffer_from(NULL, n * bytes);
            tile_arg args[] = {TILE_BUFFER(dx, names[t]), TILE_BUFFER(de, names[t]),
                               TILE_BUFFER(dv, names[t]), TILE_BUFFER(dold, names[t]),
                               TILE_CONSTEXPR_INT("N", n)};
            tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = n > 16 ? 2 : 8};
            must(tile_launch(k, args, 5, &o, &err));
            read_buffer(dx, after, n * bytes), read_buffer(dold, old, n * bytes);
            for (uint32_t i = 0; i < n; i++) {
                const uint8_t *want = memcmp(x + i * bytes, e + i * bytes, bytes) ? x : v;
                expect(!memcmp(after + i * bytes, want + i * bytes, bytes),
                       "atomic_cas of %s, element %u of %u", names[t], i, n);
                expect(!memcmp(old + i * bytes, x + i * bytes, bytes),
                       "atomic_cas of %s, old value %u of %u", names[t], i, n);
            }
            tile_buffer_destroy(dx), tile_buffer_destroy(de), tile_buffer_destroy(dv),
                tile_buffer_destroy(dold);
        }
        tile_module_destroy(mod);
    }
}

// ---------------------------------------------------------------------------- many on one place

/// All elements of all programs meet in one: sums, extremes and bits, from tiles and from scalars.
static void test_contention(void) {
    static const char source[] =
        "def k(h: *fp16, b: *bf16, d: *fp64, u: *u64, lo: *fp32, hi: *fp32, w: *u32, count: *i64,\n"
        "      n: i32, N: constexpr):\n"
        "    i = program_id(0) * N + arange(0, N)\n"
        "    m = i < n\n"
        "    atomic_add(h + i % 4, 0.25, mask=m)\n"
        "    atomic_add(b + i % 16, 1, mask=m & (i < 1024))\n"
        "    atomic_add(d + 0 * i, i.to(fp64), mask=m, sem=\"relaxed\")\n"
        "    atomic_add(u + 0 * i, i, mask=m, sem=\"release\")\n"
        "    atomic_min(lo + 0 * i, 100.0 - i, mask=m)\n"
        "    atomic_max(hi + 0 * i, (i - 5000).to(fp32), mask=m, sem=\"relaxed\")\n"
        "    atomic_xor(w + i % 2, 1 << (i % 32), mask=m)\n"
        "    atomic_add(count, 1, mask=program_id(0) * N < n)\n";
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    static const uint32_t warps[] = {1, 4, 8}, tile[] = {64, 256, 16};
    enum { N = 2001 };
    for (int c = 0; c < 3; c++) {
        uint16_t h[4] = {0}, b[16] = {0};
        double d = 0, sum = 0;
        uint64_t u = 0;
        float lo = 1e9f, hi = -1e9f;
        uint32_t w[2] = {0}, bits[2] = {0}, in_bin[16] = {0};
        int64_t count = 0;
        for (uint32_t i = 0; i < N; i++)
            sum += i, bits[i % 2] ^= 1u << i % 32, in_bin[i % 16] += i < 1024;
        tile_buffer *dh = buffer_from(h, sizeof h), *db = buffer_from(b, sizeof b),
                    *dd = buffer_from(&d, 8), *du = buffer_from(&u, 8), *dlo = buffer_from(&lo, 4),
                    *dhi = buffer_from(&hi, 4), *dw = buffer_from(w, sizeof w),
                    *dc = buffer_from(&count, 8);
        tile_arg args[] = {
            TILE_BUFFER(dh, "fp16"),         TILE_BUFFER(db, "bf16"),  TILE_BUFFER(dd, "fp64"),
            TILE_BUFFER(du, "u64"),          TILE_BUFFER(dlo, "fp32"), TILE_BUFFER(dhi, "fp32"),
            TILE_BUFFER(dw, "u32"),          TILE_BUFFER(dc, "i64"),   TILE_I32(N),
            TILE_CONSTEXPR_INT("N", tile[c])};
        uint32_t programs = N / tile[c] + 2; // the last has nothing to do
        tile_launch_options o = {.size = sizeof o, .grid = {programs}, .num_warps = warps[c]};
        must(tile_launch(k, args, 10, &o, &err));
        read_buffer(dh, h, sizeof h), read_buffer(db, b, sizeof b), read_buffer(dd, &d, 8);
        read_buffer(du, &u, 8), read_buffer(dlo, &lo, 4), read_buffer(dhi, &hi, 4);
        read_buffer(dw, w, sizeof w), read_buffer(dc, &count, 8);
        for (uint32_t i = 0; i < 4; i++) {
            double want = 0.25 * (N / 4 + (i < N % 4));
            expect(load_float(FP16, h, i) == want, "fp16 sum %u: %g, not %g", i,
                   load_float(FP16, h, i), want);
        }
        for (uint32_t i = 0; i < 16; i++)
            expect(load_float(BF16, b, i) == in_bin[i], "bf16 sum %u: %g", i,
                   load_float(BF16, b, i));
        expect(d == sum && (double)u == sum, "sums of fp64 and u64: %g, %llu", d,
               (unsigned long long)u);
        expect(lo == 100 - (N - 1) && hi == N - 1 - 5000, "extremes: %g, %g", (double)lo,
               (double)hi);
        expect(w[0] == bits[0] && w[1] == bits[1], "bits: %x %x", w[0], w[1]);
        expect(count == (N + tile[c] - 1) / tile[c], "programs that count: %lld", (long long)count);
        tile_buffer_destroy(dh), tile_buffer_destroy(db), tile_buffer_destroy(dd),
            tile_buffer_destroy(du);
        tile_buffer_destroy(dlo), tile_buffer_destroy(dhi), tile_buffer_destroy(dw),
            tile_buffer_destroy(dc);
    }
    tile_module_destroy(mod);
}

/// A producer publishes with release what a consumer, a later program, may read after acquire.
static void test_publishing(void) {
    static const char source[] =
        "def k(data: *i32, done: *i32, out: *i32, N: constexpr):\n"
        "    o = arange(0, N)\n"
        "    store(data + program_id(0) * N + o, o + program_id(0))\n"
        "    last = atomic_add(done, 1, sem=\"acq_rel\") == num_programs(0) - 1\n"
        "    if last:\n"
        "        s = zeros([N], i32)\n"
        "        for p in range(num_programs(0)):\n"
        "            s += load(data + p * N + o, cache_modifier=\".cg\")\n"
        "        store(out + o, s)\n";
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    enum { PROGRAMS = 100, N = 128 };
    for (uint32_t w = 1; w <= 8; w *= 2) {
        int32_t zero = 0, out[N];
        tile_buffer *data = buffer_from(NULL, PROGRAMS * N * 4), *done = buffer_from(&zero, 4),
                    *dout = buffer_from(NULL, sizeof out);
        tile_arg args[] = {TILE_BUFFER(data, "i32"), TILE_BUFFER(done, "i32"),
                           TILE_BUFFER(dout, "i32"), TILE_CONSTEXPR_INT("N", N)};
        tile_launch_options o = {.size = sizeof o, .grid = {PROGRAMS}, .num_warps = w};
        must(tile_launch(k, args, 4, &o, &err));
        read_buffer(dout, out, sizeof out);
        for (int i = 0; i < N; i++)
            expect(out[i] == PROGRAMS * i + PROGRAMS * (PROGRAMS - 1) / 2, "%u warps: sum %d is %d",
                   w, i, out[i]);
        tile_buffer_destroy(data), tile_buffer_destroy(done), tile_buffer_destroy(dout);
    }
    tile_module_destroy(mod);
}

int main(void) {
    open_test_device();
    test_elements();
    test_orders();
    test_cas();
    test_contention();
    test_publishing();
    return finish();
}
