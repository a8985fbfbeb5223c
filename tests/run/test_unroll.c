// Loops with loop_unroll_factor do what they do without: in every integer type, up to both ends of
// it, up and down, with steps known early or late, iterations left over or not, nested, and with a
// body whose iterations depend on each other through memory.
#include "run.h"

static const char source_format[] =
    "def k(y: *i32, x: *i32, lo: %s, hi: %s, step: %s, n: i32, S: constexpr, U: constexpr):\n"
    "    a = 7\n"
    "    for i in tl.range(lo, hi, S, loop_unroll_factor=U):\n"
    "        a = a * 31 + i.to(i32)\n"
    "    store(y, a)\n"
    "    b = 7\n"
    "    for i in tl.range(lo, hi, step, loop_unroll_factor=U):\n"
    "        b = b * 31 + i.to(i32)\n"
    "    store(y + 1, b)\n"
    "    c = 7\n"
    "    for i in tl.range(n, -3, -2, loop_unroll_factor=U):\n"
    "        c = c * 31 + 1\n"
    "        for j in tl.range(i, n + i, num_stages=2, loop_unroll_factor=3):\n"
    "            if j & 1:\n"
    "                c = c * 31 + j\n"
    "    store(y + 2, c)\n"
    "    o = arange(0, 32)\n"
    "    last = zeros((32,), i32)\n"
    "    for i in tl.range(0, n, loop_unroll_factor=U, disallow_acc_multi_buffer=True):\n"
    "        v = load(x + o + i) * 3\n"
    "        last = last * 5 + v\n"
    "        store(x + o + i + 1, v + i, mask=o < 31)\n" // what the next iteration reads
    "    d = 0\n"
    "    for i in tl.range(0, 10, 1, loop_unroll_factor=U):\n" // known bounds
    "        d = d * 3 + i\n"
    "    store(x + 64 + o, last + d)\n";

typedef __int128 wide;

static const struct {
    const char *name;
    int bits;
    bool is_signed;
} types[] = {{"i8", 8, true},  {"i16", 16, true},  {"i32", 32, true},  {"i64", 64, true},
             {"u8", 8, false}, {"u16", 16, false}, {"u32", 32, false}, {"u64", 64, false}};

static uint32_t walk(wide lo, wide hi, wide step) {
    uint32_t a = 7;
    for (wide i = lo; step > 0 ? i < hi : step < 0 && i > hi; i += step)
        a = a * 31 + (uint32_t)i;
    return a;
}

static uint32_t nested(int n) {
    uint32_t c = 7;
    for (int i = n; i > -3; i -= 2) {
        c = c * 31 + 1;
        for (int j = i; j < n + i; j++)
            c = j & 1 ? c * 31 + (uint32_t)j : c;
    }
    return c;
}

static void chain(uint32_t *x, int n) {
    uint32_t last[32] = {0}, v[32], d = 0;
    for (int i = 0; i < n; i++) {
        for (int o = 0; o < 32; o++) {
            v[o] = x[o + i] * 3;
            last[o] = last[o] * 5 + v[o];
        }
        for (int o = 0; o < 31; o++)
            x[o + i + 1] = v[o] + (uint32_t)i;
    }
    for (uint32_t i = 0; i < 10; i++)
        d = d * 3 + i;
    for (int o = 0; o < 32; o++)
        x[64 + o] = last[o] + d;
}

typedef struct loop_case {
    int type, factor, known_step;
    wide lo, hi, step;
    int n;
} loop_case;

static void run_case(tile_kernel *k, const loop_case *c) {
    const char *type = types[c->type].name;
    uint32_t x[96], want_x[96], want[3], got[3];
    for (int i = 0; i < 96; i++)
        want_x[i] = x[i] = random_u32();
    chain(want_x, c->n);
    want[0] = walk(c->lo, c->hi, c->known_step);
    want[1] = c->step > 0 ? walk(c->lo, c->hi, c->step) : 7;
    want[2] = nested(c->n);
    tile_buffer *dx = buffer_from(x, sizeof x), *dy = buffer_from(NULL, sizeof got);
    tile_arg args[] = {
        TILE_BUFFER(dy, "i32"),
        TILE_BUFFER(dx, "i32"),
        {.kind = TILE_ARG_SCALAR, .dtype = type, .value.i = (int64_t)c->lo},
        {.kind = TILE_ARG_SCALAR, .dtype = type, .value.i = (int64_t)c->hi},
        {.kind = TILE_ARG_SCALAR, .dtype = type, .value.i = (int64_t)c->step},
        TILE_I32(c->n),
        TILE_CONSTEXPR_INT("S", c->known_step),
        TILE_CONSTEXPR_INT("U", c->factor),
    };
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = c->n % 2 ? 1 : 2};
    must(tile_launch(k, args, 8, &o, &err));
    read_buffer(dy, got, sizeof got);
    read_buffer(dx, x, sizeof x);
    tile_buffer_destroy(dx);
    tile_buffer_destroy(dy);
    for (int i = 0; i < 3; i++)
        expect(got[i] == want[i],
               "loop %d of %s %lld..%lld, steps %d and %lld, factor %d, n %d: %u, expected %u", i,
               type, (long long)c->lo, (long long)c->hi, c->known_step, (long long)c->step,
               c->factor, c->n, got[i], want[i]);
    expect(!memcmp(x, want_x, sizeof x), "dependent iterations, factor %d, n %d", c->factor, c->n);
}

static void run_type(int t) {
    static const int factors[] = {2, 3, 8}, steps[] = {1, 3, -1, -5};
    char source[4096];
    snprintf(source, sizeof source, source_format, types[t].name, types[t].name, types[t].name);
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    wide most = ((wide)1 << (types[t].bits - types[t].is_signed)) - 1;
    wide least = types[t].is_signed ? -most - 1 : 0;
    const wide bounds[][2] = {{most - 20, most}, {least, least + 19}, {5, 5}, {2, 33}};
    for (int f = 0; f < 3; f++)
        for (int s = 0; s < 4; s++) {
            if (steps[s] < 0 && !types[t].is_signed)
                continue;
            for (int i = 0; i < 8; i++) {
                wide lo = bounds[i / 2][0], hi = bounds[i / 2][1];
                loop_case c = {t, factors[f], steps[s], lo, hi, 1 + i % 3, 2 * i + s % 2};
                if (steps[s] < 0 || i == 7)
                    c.lo = hi, c.hi = lo;
                if (i == 3)
                    c.step = most; // times the factor it does not fit
                if (i == 5)
                    c.step = types[t].is_signed ? -1 : 0; // runs nothing
                run_case(k, &c);
            }
        }
    tile_module_destroy(mod);
}

int main(void) {
    open_test_device();
    for (int t = 0; t < 8; t++)
        run_type(t);
    return finish();
}
