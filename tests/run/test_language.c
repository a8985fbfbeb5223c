// What the language computes, statement by statement, against the same in C: tuples that go round
// loops and through branches, starred calls, functions as values, slices, compile-time loops and
// functions, early returns in helpers, `continue`, names that hold one thing now and another later.
#include "run.h"

enum { N = 37, BLOCK = 64 };

static int32_t x[BLOCK], got[BLOCK];

/// Runs `body`, which stores through `y` what it makes of `x`, `o`, `n` and `m`, with the helpers.
static void run(const char *helpers, const char *body, int m) {
    char source[3000];
    snprintf(source, sizeof source,
             "%s\n"
             "def k(x: *i32, y: *i32, n: i32, m: i32):\n"
             "    o = tl.arange(0, 64)\n"
             "    v = tl.load(x + o, mask=o < n, other=-1)\n"
             "%s\n",
             helpers, body);
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    tile_buffer *dx = buffer_from(x, N * sizeof *x), *dy = buffer_from(NULL, sizeof got);
    tile_arg args[] = {TILE_BUFFER(dx, "i32"), TILE_BUFFER(dy, "i32"), TILE_I32(N), TILE_I32(m)};
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = 2};
    must(tile_launch(k, args, 4, &o, &err));
    read_buffer(dy, got, sizeof got);
    tile_buffer_destroy(dx), tile_buffer_destroy(dy);
    tile_module_destroy(mod);
}

static int32_t element(int i) { return i < N ? x[i] : -1; }

#define CHECK(name, m, want)                                                                       \
    for (int i = 0; i < BLOCK; i++) {                                                              \
        int32_t v = element(i), w = (want);                                                        \
        (void)v;                                                                                   \
        expect(got[i] == w, name ", %d: element %d is %d, not %d", m, i, got[i], w);               \
    }

static void test_tuples(int m) {
    run("",
        "    a, (b, c) = v, (m, 3)\n"
        "    t = (a, (b, (c, 2)))\n"
        "    for i in range(3):\n"
        "        t = (t[0] * 2, (t[1][0] + i, (t[1][1][0] - 1, t[1][1][1] * 3)))\n"
        "    u = (1,) + t[1][1] + (t[0],) * 2\n"
        "    w = u[::-1]\n"
        "    tl.store(y + o, t[0] + t[1][0] * 10 + u[1] * 100 + w[2] * 1000 + len(u[1:-1]))\n",
        m);
    CHECK("tuples in a loop", m, v * 8 + (m + 3) * 10 + 0 * 100 + 54 * 1000 + 3);
    run("def swap(a, b):\n"
        "    return b, a\n"
        "def sum_all(first, *rest):\n"
        "    total = first\n"
        "    for i in tl.static_range(len(rest)):\n"
        "        total += rest[i] * (i + 2)\n"
        "    return total\n",
        "    p = (v, m)\n"
        "    if m > 1:\n"
        "        p = (p[0] + 1, p[1] * 2)\n"
        "        q = swap(*p)\n"
        "    else:\n"
        "        q = (m - 5, v * 7)\n"
        "    p, r = q, p[1]\n"
        "    tl.store(y + o, sum_all(r, *p, *(4, 5)))\n",
        m);
    CHECK("tuples in branches", m,
          m > 1 ? m * 2 + m * 2 * 2 + (v + 1) * 3 + 16 + 25
                : m + (m - 5) * 2 + v * 7 * 3 + 16 + 25);
}

static void test_functions(int m) {
    run("def twice(a):\n"
        "    return a * 2\n"
        "def plus(a, b=1, *, c=0):\n"
        "    return a + b + c\n"
        "def each(f, g, *args):\n"
        "    return f(*args) + g(*args)\n"
        "def repeat(f, a, TIMES: tl.constexpr):\n"
        "    for i in tl.static_range(TIMES, 0, -1):\n"
        "        a = f(a)\n"
        "    return a\n"
        "def clipped(a, lo, hi):\n"
        "    if lo is None:\n"
        "        if hi is None:\n"
        "            return a\n"
        "        return tl.minimum(a, hi)\n"
        "    return max(min(a, hi), lo)\n",
        "    fs = (twice, plus)\n"
        "    a = each(fs[0], plus, v) + plus(v, c=m) + plus(b=v, a=2)\n"
        "    b = repeat(twice, v, 3) + repeat(plus, m, 2)\n"
        "    c = clipped(v, None, None) + clipped(v, None, 5) + clipped(v, -3, m)\n"
        "    tl.store(y + o, a + b * 3 + c * 7)\n",
        m);
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
    CHECK("functions", m,
          (v * 2 + v + 1) + (v + 1 + m) + (2 + v) + (v * 8 + m + 2) * 3 +
              (v + MIN(v, 5) + MAX(MIN(v, m), -3)) * 7);
}

static void test_returns(int m) {
    run("def pick(a, m):\n"
        "    if m == 0:\n"
        "        return a\n"
        "    elif m == 1:\n"
        "        a += 5\n"
        "        if tl.sum(a) > 0:\n"
        "            return a * 2\n"
        "    a -= m\n"
        "    if m > 2:\n"
        "        a = a * 3\n"
        "        return -a\n"
        "    return a\n",
        "    tl.store(y + o, pick(v, m))\n", m);
    int32_t sum = 0;
    for (int i = 0; i < BLOCK; i++)
        sum += element(i) + 5;
    CHECK("early returns", m,
          m == 0              ? v
          : m == 1 && sum > 0 ? (v + 5) * 2
          : m == 1            ? v + 5 - m
          : m > 2             ? -(v - m) * 3
                              : v - m);
}

static void test_compile_time(int m) {
    run("T: tl.constexpr = (3, (4, 5), 'mul')\n"
        "WIDTH = tl.constexpr(64)\n"
        "@triton.constexpr_function\n"
        "def log2(n):\n"
        "    bits = 0\n"
        "    while n > 1:\n"
        "        n //= 2\n"
        "        bits += 1\n"
        "    return bits\n"
        "@triton.constexpr_function\n"
        "def primes(n):\n"
        "    found = ()\n"
        "    for i in range(2, n):\n"
        "        divides = False\n"
        "        for j in range(2, i):\n"
        "            divides = divides or i % j == 0\n"
        "        if not divides:\n"
        "            found += (i,)\n"
        "    return found\n",
        "    P: tl.constexpr = primes(20)\n"
        "    tl.static_assert(len(P) == 8 and P[-1] == 19 and 17 in P and 15 not in P)\n"
        "    acc = v\n"
        "    if T[2] == 'mul' and log2(WIDTH) == 6:\n"
        "        for i in tl.static_range(len(P)):\n"
        "            if (k := P[i]) % 4 == 3:\n"
        "                acc = acc * T[1][0] + k\n"
        "    else:\n"
        "        acc = undefined_name\n"
        "    z = tl.zeros((2 ** log2(WIDTH),), tl.int32) + (m if 0 <= m < 3 else T[0])\n"
        "    tl.store(y + o, acc + z)\n",
        m);
    int32_t list[] = {3, 7, 11, 19};
    for (int i = 0; i < BLOCK; i++) {
        int32_t w = element(i);
        for (int k = 0; k < 4; k++)
            w = w * 4 + list[k];
        w += m >= 0 && m < 3 ? m : 3;
        expect(got[i] == w, "compile time, %d: element %d is %d, not %d", m, i, got[i], w);
    }
}

static void test_loops(int m) {
    run("",
        "    a = v\n"
        "    b = 0\n"
        "    lo, hi, step = m - 3, 5, m + 1\n"
        "    for i in range(lo, hi, step):\n"
        "        for j in tl.range(i, -2, -2):\n"
        "            a, b = a + j, b + 1\n"
        "        k = b\n"
        "        while k > 2:\n"
        "            k -= 2\n"
        "            a ^= k\n"
        "    tl.store(y + o, a * 2 + b)\n",
        m);
    for (int e = 0; e < BLOCK; e++) {
        int32_t a = element(e), b = 0;
        for (int i = m - 3; i < 5; i += m + 1) {
            for (int j = i; j > -2; j -= 2)
                a += j, b++;
            for (int k = b; k > 2;)
                k -= 2, a ^= k;
        }
        expect(got[e] == a * 2 + b, "loops, %d: element %d is %d, not %d", m, e, got[e], a * 2 + b);
    }
}

/// `continue` in run-time and unrolled loops, known now or not, bare, nested and after changes.
static void test_continue(int m) {
    run("",
        "    a, s = v, m\n"
        "    for i in range(12):\n"
        "        if i % 4 == 1:\n"
        "            continue\n"
        "        s += i\n"
        "        if i > 2:\n"
        "            s ^= 5\n"
        "            if s % 3 == 0:\n"
        "                a += 1000 + s\n"
        "                continue\n"
        "            a += 1\n"
        "        for j in tl.static_range(4):\n"
        "            if j == 1:\n"
        "                continue\n"
        "            if (s + j) % 2 == 0:\n"
        "                a += 7\n"
        "                if s > 20:\n"
        "                    continue\n"
        "                s += 1\n"
        "            a = a * 3 - j\n"
        "        k = s % 8\n"
        "        while k > 0:\n"
        "            k -= 1\n"
        "            if k == 3:\n"
        "                a -= 11\n"
        "                continue\n"
        "            elif k == 2:\n"
        "                pass\n"
        "            else:\n"
        "                a ^= k\n"
        "                continue\n"
        "            a += 2\n"
        "        if s % 5 == 2:\n"
        "            continue\n"
        "        else:\n"
        "            a += s\n"
        "    tl.store(y + o, a + s)\n",
        m);
    for (int e = 0; e < BLOCK; e++) {
        uint32_t a = (uint32_t)element(e); // wraps
        int32_t s = m;
        for (int i = 0; i < 12; i++) {
            if (i % 4 == 1)
                continue;
            s += i;
            if (i > 2) {
                s ^= 5;
                if (s % 3 == 0) {
                    a += (uint32_t)(1000 + s);
                    continue;
                }
                a++;
            }
            for (int j = 0; j < 4; j++) {
                if (j == 1)
                    continue;
                if ((s + j) % 2 == 0) {
                    a += 7;
                    if (s > 20)
                        continue;
                    s++;
                }
                a = a * 3 - (uint32_t)j;
            }
            for (int k = s % 8; k > 0;) {
                k--;
                a = k == 3 ? a - 11 : k == 2 ? a + 2 : a ^ (uint32_t)k;
            }
            a += s % 5 == 2 ? 0 : (uint32_t)s;
        }
        int32_t want = (int32_t)(a + (uint32_t)s);
        expect(got[e] == want, "continue, %d: element %d is %d, not %d", m, e, got[e], want);
    }
}

int main(void) {
    open_test_device();
    for (int i = 0; i < N; i++)
        x[i] = (int32_t)(random_u32() % 100) - 50;
    for (int m = 0; m < 4; m++) {
        test_tuples(m);
        test_functions(m);
        test_returns(m);
        test_compile_time(m);
        test_loops(m);
        test_continue(m);
    }
    return finish();
}
