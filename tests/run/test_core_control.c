// Control flow and names by the intents of Triton's own core tests (docs/testing.md lists them), each
// with a kernel of our own: branches, early returns, loops, conditions that end early, constants and
// defaults. A kernel reads 32 integers x and the numbers a and b, and writes 32 integers y for each
// of its programs; a function in C says what.
#include "run.h"

enum { N = 32, PROGRAMS = 3 };

typedef struct inputs {
    const int32_t *x;
    int32_t a, b, program;
} inputs;

typedef struct control_case {
    const char *name;    ///< of the intent
    const char *helpers; ///< above the kernel
    const char *body; ///< "v" is the tile of x, "o" its places, "pid" the program; stores to y + o
    /// Element i of y, or of what was there before: `old`.
    int32_t (*want)(const inputs *in, int i, int32_t old);
} control_case;

static int32_t want_if(const inputs *in, int i, int32_t old) {
    (void)old;
    return in->x[in->program] > in->a ? in->x[i] + 1 : in->x[i] - in->b;
}

static int32_t want_if_else(const inputs *in, int i, int32_t old) {
    (void)old;
    int32_t v = in->a > in->b ? in->x[i] * 2 : in->a == in->b ? -in->x[i] : in->a;
    return v + (in->a ? 5 : 9);
}

static int32_t want_if_return(const inputs *in, int i, int32_t old) {
    return in->a >= 2 && in->program ? old : in->program == 2 ? 7 : in->x[i];
}

static int32_t want_if_call(const inputs *in, int i, int32_t old) {
    (void)old;
    int64_t sum = 0;
    for (int k = 0; k < N; k++)
        sum += in->x[k];
    return in->a == 0   ? in->x[i] + 3
           : in->a == 1 ? (int32_t)sum
           : in->b > 0  ? in->x[i] * in->b
                        : -1;
}

static int32_t want_nested_return(const inputs *in, int i, int32_t old) {
    (void)old;
    int32_t v = in->x[i];
    if (in->a > 0)
        return in->b > 0 ? v + 1 : v + 2;
    return in->program ? v + 3 : v + 4;
}

static int32_t want_while(const inputs *in, int i, int32_t old) {
    (void)old;
    int32_t n = in->a, v = in->x[i], steps = 0;
    while (n < 10) {
        n += in->b + 1;
        steps++;
        for (int32_t m = n; m > 4; m /= 2)
            v += m;
    }
    return v * 100 + steps + n;
}

static int32_t want_constexpr_return(const inputs *in, int i, int32_t old) {
    return in->a > 1 && in->program == 1 ? old : in->x[i] + (in->a > 1 ? 1 : 0);
}

static int32_t want_for_iv(const inputs *in, int i, int32_t old) {
    (void)old;
    uint32_t v = (uint32_t)in->x[i]; // wraps round, as the kernel's does
    for (int32_t k = in->a; k < in->b + 3; k++)
        v = v * 3 + (uint32_t)k;
    for (int64_t k = ((int64_t)1 << 40) + in->a; k < ((int64_t)1 << 40) + 4; k += 2)
        v = v * 3 + (uint32_t)(k >> 39) + (uint32_t)(k & 255);
    for (int32_t k = 6; k > in->a; k -= 2)
        v = v * 3 + (uint32_t)k;
    return (int32_t)v;
}

static int32_t want_static_range(const inputs *in, int i, int32_t old) {
    (void)old;
    int32_t v = in->x[i];
    for (int k = 1; k < 8; k += 3)
        v += k * in->a;
    for (int k = 3; k > 0; k--)
        v = v * 2 + (k == 2 ? in->b : 0);
    return v;
}

static int32_t want_short_circuit(const inputs *in, int i, int32_t old) {
    (void)old;
    return in->x[i] + 10 + (in->a > 0 && in->b > 0 ? 100 : 0) + (in->a > 0 || in->b > 0 ? 1000 : 0);
}

static int32_t want_constexpr(const inputs *in, int i, int32_t old) {
    (void)old;
    return in->x[i] + 3 * -4 + (7 >> 1) + 2 * in->a;
}

static int32_t want_default(const inputs *in, int i, int32_t old) {
    (void)old;
    return in->x[i] + 5 + 2 * (in->x[i] + in->a) + in->a + in->b * 30;
}

static int32_t want_programs(const inputs *in, int i, int32_t old) {
    (void)old;
    return PROGRAMS * 10000 + 110 + in->program * 100000 + in->x[i];
}

static const control_case cases[] = {
    {"if", "",
     "    if tl.load(x + pid) > a:\n"
     "        tl.store(y + o, v + 1)\n"
     "    else:\n"
     "        tl.store(y + o, v - b)\n",
     want_if},
    {"if_else", "",
     "    if a > b:\n"
     "        r = v * 2\n"
     "    elif a == b:\n"
     "        r = -v\n"
     "    else:\n"
     "        r = tl.full((32,), 0, tl.int32) + a\n"
     "    tl.store(y + o, r + (5 if a else 9))\n",
     want_if_else},
    {"if_return", "",
     "    if a >= 2:\n"
     "        if pid > 0:\n"
     "            return\n"
     "    if pid == 2:\n"
     "        tl.store(y + o, 7)\n"
     "        return\n"
     "    tl.store(y + o, v)\n",
     want_if_return},
    {"if_call",
     "def plus(t, k):\n"
     "    return t + k\n"
     "def store_product(p, t, k):\n"
     "    tl.store(p, t * k)\n",
     "    if a == 0:\n"
     "        tl.store(y + o, plus(v, 3))\n"
     "    elif a == 1:\n"
     "        tl.store(y + o, v.sum(axis=0))\n"
     "    else:\n"
     "        if b > 0:\n"
     "            store_product(y + o, v, b)\n"
     "        else:\n"
     "            tl.store(y + o, -1)\n",
     want_if_call},
    {"nested_if_else_return",
     "def pick(t, a, b, pid):\n"
     "    if a > 0:\n"
     "        if b > 0:\n"
     "            return t + 1\n"
     "        else:\n"
     "            return t + 2\n"
     "    else:\n"
     "        if pid > 0:\n"
     "            return t + 3\n"
     "    return t + 4\n",
     "    tl.store(y + o, pick(v, a, b, pid))\n", want_nested_return},
    {"while", "",
     "    n = a\n"
     "    steps = 0\n"
     "    while n < 10:\n"
     "        n += b + 1\n"
     "        steps += 1\n"
     "        m = n\n"
     "        while m > 4:\n"
     "            v += m\n"
     "            m //= 2\n"
     "    tl.store(y + o, v * 100 + steps + n)\n",
     want_while},
    {"constexpr_if_return", // a branch known now ends the function, inside of one known later
     "def maybe(p, t, pid, LEAVES: tl.constexpr):\n"
     "    if LEAVES:\n"
     "        if pid == 1:\n"
     "            return\n"
     "        t += 1\n"
     "    tl.store(p, t)\n",
     "    if a > 1:\n"
     "        maybe(y + o, v, pid, True)\n"
     "    else:\n"
     "        maybe(y + o, v, pid, False)\n",
     want_constexpr_return},
    {"for_iv", "",
     "    for k in range(a, b + 3):\n"
     "        tl.static_assert(k.dtype == tl.int32)\n"
     "        v = v * 3 + k\n"
     "    far = a.to(tl.int64) + 2 ** 40\n"
     "    for k in range(far, 2 ** 40 + 4, 2):\n"
     "        tl.static_assert(k.dtype == tl.int64)\n"
     "        v = v * 3 + (k >> 39).to(tl.int32) + (k & 255).to(tl.int32)\n"
     "    for k in range(6, a, -2):\n"
     "        v = v * 3 + k\n"
     "    tl.store(y + o, v)\n",
     want_for_iv},
    {"static_range", "",
     "    for k in tl.static_range(1, 8, 3):\n"
     "        v += k * a\n"
     "    for k in tl.static_range(3, 0, -1):\n"
     "        v = v * 2\n"
     "        if k == 2:\n"
     "            v += b\n"
     "    tl.store(y + o, v)\n",
     want_static_range},
    {"short_circuiting", "",
     "    nothing: tl.constexpr = None\n"
     "    LENGTH: tl.constexpr = 3\n"
     "    r = v\n"
     "    if nothing is not None and nothing.shape[0] > 3:\n"
     "        r += nothing\n"
     "    if nothing is None or nothing.undefined:\n"
     "        r += 10\n"
     "    if LENGTH == 4 and undefined_name:\n"
     "        r += undefined_name\n"
     "    if a > 0 and b > 0:\n"
     "        r += 100\n"
     "    if a > 0 or b > 0:\n"
     "        r += 1000\n"
     "    tl.store(y + o, r)\n",
     want_short_circuit},
    {"constexpr",
     "MODE = tl.constexpr('double')\n"
     "FOUR: tl.constexpr = 4\n",
     "    R: tl.constexpr = 3 * -FOUR + (7 >> 1)\n"
     "    tl.static_assert(R == -9 and (not 0) and -R // 2 == 4 and R % 4 == 3 and 7.0 / 2 == "
     "3.5)\n"
     "    tl.static_assert((FOUR if MODE == 'double' else 1) == 4 and ~FOUR == -5 and FOUR ** 2 == "
     "16)\n"
     "    r = v + R\n"
     "    if MODE == 'double':\n"
     "        r += 2 * a\n"
     "    else:\n"
     "        r = undefined_name\n"
     "    tl.store(y + o, r)\n",
     want_constexpr},
    {"default",
     "def add(t, by=5, times: tl.constexpr = 1, *, extra=0):\n"
     "    return (t + by) * times + extra\n"
     "def total(scale, *parts):\n"
     "    r = parts[0] * scale\n"
     "    for k in tl.static_range(1, len(parts)):\n"
     "        r += parts[k] * scale\n"
     "    return r\n",
     "    tl.store(y + o, add(v) + add(v, a, 2, extra=a) + total(10, b, b, b))\n", want_default},
    {"num_programs", "",
     "    n = tl.num_programs(0) * 10000 + tl.num_programs(1) * 100 + tl.num_programs(2) * 10\n"
     "    tl.store(y + o, n + pid * 100000 + v)\n",
     want_programs},
};

static void check_results(const control_case *c, const int32_t *x, int32_t a, int32_t b,
                          uint32_t warps, const int32_t *got) {
    for (int program = 0; program < PROGRAMS; program++) {
        inputs in = {x, a, b, program};
        for (int i = 0; i < N; i++) {
            int32_t want = c->want(&in, i, (int32_t)0xA5A5A5A5);
            expect(got[program * N + i] == want,
                   "%s(a = %d, b = %d), %u warps: element %d of program %d is %d, not %d", c->name,
                   a, b, warps, i, program, got[program * N + i], want);
        }
    }
}

static void run_case(const control_case *c) {
    static const int32_t as[] = {-3, 0, 1, 2, 7}, bs[] = {0, 1, 5};
    char source[3000];
    snprintf(source, sizeof source,
             "%s"
             "def k(x: *i32, y: *i32, a: i32, b: i32):\n"
             "    o = tl.arange(0, 32)\n"
             "    pid = tl.program_id(0)\n"
             "    v = tl.load(x + o)\n"
             "    y += pid * 32\n"
             "%s",
             c->helpers, c->body);
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    int32_t x[N], got[PROGRAMS * N];
    for (int i = 0; i < N; i++)
        x[i] = (int32_t)(random_u32() % 40) - 20;
    tile_buffer *dx = buffer_from(x, sizeof x);
    for (uint32_t warps = 1; warps <= 4; warps *= 4)
        for (size_t i = 0; i < sizeof as / sizeof *as; i++)
            for (size_t j = 0; j < sizeof bs / sizeof *bs; j++) {
                tile_buffer *dy = buffer_from(NULL, sizeof got);
                tile_arg args[] = {TILE_BUFFER(dx, "i32"), TILE_BUFFER(dy, "i32"), TILE_I32(as[i]),
                                   TILE_I32(bs[j])};
                tile_launch_options o = {.size = sizeof o, .grid = {PROGRAMS}, .num_warps = warps};
                must(tile_launch(k, args, 4, &o, &err));
                read_buffer(dy, got, sizeof got);
                check_results(c, x, as[i], bs[j], warps, got);
                tile_buffer_destroy(dy);
            }
    tile_buffer_destroy(dx);
    tile_module_destroy(mod);
}

/// program_id and num_programs of all three axes, and what an axis beyond them is.
static void test_grid(void) {
    enum { X = 3, Y = 2, Z = 4 };
    int32_t got[X * Y * Z];
    tile_module *mod;
    tile_kernel *k =
        kernel_from("def k(y: *i32):\n"
                    "    i, j, l = tl.program_id(0), tl.program_id(1), tl.program_id(axis=2)\n"
                    "    at = (l * tl.num_programs(1) + j) * tl.num_programs(0) + i\n"
                    "    tl.store(y + at, i + j * 10 + l * 100 + tl.num_programs(2) * 1000)\n",
                    "k", &mod);
    tile_buffer *dy = buffer_from(NULL, sizeof got);
    tile_arg args[] = {TILE_BUFFER(dy, "i32")};
    tile_launch_options o = {.size = sizeof o, .grid = {X, Y, Z}};
    must(tile_launch(k, args, 1, &o, &err));
    read_buffer(dy, got, sizeof got);
    for (int i = 0; i < X * Y * Z; i++) {
        int32_t want = i % X + i / X % Y * 10 + i / (X * Y) * 100 + Z * 1000;
        expect(got[i] == want, "program %d: %d, not %d", i, got[i], want);
    }
    tile_buffer_destroy(dy);
    tile_module_destroy(mod);
}

/// Numbers of warps are powers of two up to 32; others are refused by name.
static void test_num_warps(void) {
    tile_module *mod;
    tile_kernel *k = kernel_from("def k(y: *i32):\n"
                                 "    tl.store(y + tl.arange(0, 32), 1)\n",
                                 "k", &mod);
    tile_buffer *dy = buffer_from(NULL, 32 * sizeof(int32_t));
    tile_arg args[] = {TILE_BUFFER(dy, "i32")};
    for (uint32_t warps = 1; warps <= 64; warps++) {
        tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps};
        tile_status status = tile_launch(k, args, 1, &o, &err);
        bool fits = (warps & (warps - 1)) == 0 && warps <= 32;
        expect((status == TILE_OK) == fits, "%u warps: %s", warps, tile_status_text(status));
        if (!fits)
            expect(strstr(err.message, "num_warps") != NULL, "%u warps: '%s'", warps, err.message);
    }
    must(tile_synchronize(dev, NULL, &err));
    tile_buffer_destroy(dy);
    tile_module_destroy(mod);
}

int main(void) {
    open_test_device();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        run_case(&cases[i]);
    test_grid();
    test_num_warps();
    return finish();
}
