// Kernels in the manner of real Triton code, each against the same computation in plain C, at
// every number of warps. All have the same parameters: two arrays of integers, two of floats and a
// number, filled anew for each launch with random and awkward values; the reference works on a copy
// and everything in memory must agree afterwards, so a store too many is found as well.
#include "run.h"

enum { COUNT = 4096 };
typedef struct memory {
    int32_t a[COUNT], b[COUNT];
    float x[COUNT], y[COUNT];
    int32_t n;
} memory;

typedef struct kernel_case {
    const char *name, *source;
    void (*reference)(memory *m);
    uint32_t grid[2];
    int32_t n;
    double tolerance; ///< of floats, relative and absolute; 0: equal
} kernel_case;

#define KERNEL "def k(a: *i32, b: *i32, x: *fp32, y: *fp32, n: i32):\n"

// clang-format off
static void fill(memory *m, int32_t n) {
    static const int32_t integers[] = {0, 1, -1, 2, -2, 7, -7, INT32_MAX, INT32_MIN, INT32_MIN + 1, 255, -128};
    static const float floats[] = {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN, 1e-45f, 3e38f, 0.5f, -2.5f};
    m->n = n;
    for (uint32_t i = 0; i < COUNT; i++) {
        m->a[i] = (int32_t)(random_u32() % 2001) - 1000;
        m->b[i] = i < 12 ? integers[i] : (int32_t)random_u32();
        m->x[i] = (float)((int32_t)(random_u32() % 4001) - 2000) / 256;
        m->y[i] = i < 11 ? floats[i] : (float)((int32_t)(random_u32() % 4001) - 2000) / 64;
    }
}

// --- control flow

static const char collatz[] = KERNEL
    "    o = tl.arange(0, 64)\n"
    "    v = tl.abs(tl.load(a + o)) % 50 + 1\n"
    "    steps = tl.zeros((64,), tl.int32)\n"
    "    while tl.max(v, axis=0) > 1:\n"
    "        v, steps = tl.where(v > 1, tl.where(v & 1 == 1, 3 * v + 1, v >> 1), v), steps + (v > 1)\n"
    "    tl.store(b + o, steps)\n";

static void ref_collatz(memory *m) {
    for (int i = 0; i < 64; i++) {
        int32_t v = abs(m->a[i]) % 50 + 1, steps = 0;
        for (; v > 1; steps++)
            v = v & 1 ? 3 * v + 1 : v >> 1;
        m->b[i] = steps;
    }
}

static const char carried[] = KERNEL
    "    o = tl.arange(0, 32)\n"
    "    u = tl.load(a + o)\n"
    "    v = tl.load(a + 32 + o)\n"
    "    w = u + 1\n"
    "    for i in range(n):\n"
    "        u, v, w = v, w, u - i\n"
    "        if i == 1:\n"
    "            u, w = w, u\n"
    "        elif i > 2:\n"
    "            v = u + v\n"
    "    for i in range(0, -5):\n"
    "        u += 100\n"
    "    for i in range(n, n):\n"
    "        v += 100\n"
    "    for i in range(10, 3, -3):\n"
    "        w = w * 2 + i\n"
    "    for i in tl.static_range(0, 6, 2):\n"
    "        if i % 4 == 0:\n"
    "            u = u * 3 + i\n"
    "    tl.store(b + o, u)\n"
    "    tl.store(b + 32 + o, v)\n"
    "    tl.store(b + 64 + o, w)\n";

static void ref_carried(memory *m) {
    for (int k = 0; k < 32; k++) {
        int32_t u = m->a[k], v = m->a[32 + k], w = u + 1;
        for (int i = 0; i < m->n; i++) {
            int32_t old = u;
            u = v, v = w, w = old - i;
            if (i == 1)
                old = u, u = w, w = old;
            else if (i > 2)
                v = u + v;
        }
        for (int i = 10; i > 3; i -= 3)
            w = w * 2 + i;
        u = (u * 3 + 0) * 3 + 4;
        m->b[k] = u, m->b[32 + k] = v, m->b[64 + k] = w;
    }
}

static const char early_return[] = KERNEL
    "    pid = tl.program_id(0)\n"
    "    if pid >= n:\n"
    "        return\n"
    "    v = tl.load(a + pid)\n"
    "    if v < 0:\n"
    "        if v < -500:\n"
    "            tl.store(b + pid, 1)\n"
    "            return\n"
    "        tl.store(b + pid, 2)\n"
    "    else:\n"
    "        if v > 500:\n"
    "            tl.store(b + pid, 3)\n"
    "            return\n"
    "        elif v > 250:\n"
    "            return\n"
    "    tl.atomic_add(b + pid, 10)\n";

static void ref_early_return(memory *m) {
    for (int i = 0; i < m->n; i++) {
        int32_t v = m->a[i];
        if (v < -500 || v > 500)
            m->b[i] = v < 0 ? 1 : 3;
        else if (v < 0)
            m->b[i] = 12;
        else if (v <= 250)
            m->b[i] = (int32_t)((uint32_t)m->b[i] + 10);
    }
}

static const char helpers[] =
    "def sign(v):\n"
    "    if v > 0:\n"
    "        return 1\n"
    "    elif v < 0:\n"
    "        return -1\n"
    "    return 0\n"
    "def mix(p, q, by=3, *, off=4):\n"
    "    return p * by + q, off - p\n"
    "def twice(f, v):\n"
    "    return f(f(v))\n"
    "def next(v):\n"
    "    return v + 1\n"
    "def pick(v, MODE: tl.constexpr, OFF: tl.constexpr = None):\n"
    "    if MODE == 'add' and OFF is not None:\n"
    "        return v + OFF\n"
    "    elif MODE in ('sub', 'minus'):\n"
    "        return v - 2\n"
    "    return v * 100\n" KERNEL
    "    pid = tl.program_id(0)\n"
    "    v = tl.load(a + pid)\n"
    "    p, q = mix(v, n)\n"
    "    r, s = mix(q=v, p=n, off=7, by=2)\n"
    "    t = mix(1, v)\n"
    "    b += pid * 8\n"
    "    tl.store(b, sign(v))\n"
    "    tl.store(b + 1, p + q)\n"
    "    tl.store(b + 2, r - s)\n"
    "    tl.store(b + 3, t[0] + t[-1] * 10)\n"
    "    tl.store(b + 4, twice(next, v))\n"
    "    tl.store(b + 5, sign(v) * 7 if v % 2 == 0 else -v)\n"
    "    tl.store(b + 6, pick(v, 'add', OFF=5) + pick(v, MODE='minus'))\n"
    "    tl.store(b + 7, pick(v, 'add'))\n";

static void ref_helpers(memory *m) {
    for (int i = 0; i < 16; i++) {
        int32_t v = m->a[i], n = m->n, *b = m->b + i * 8, sign = (v > 0) - (v < 0);
        b[0] = sign;
        b[1] = v * 3 + n + 4 - v;
        b[2] = n * 2 + v - (7 - n);
        b[3] = 3 + v + 30;
        b[4] = v + 2;
        b[5] = v % 2 == 0 ? sign * 7 : -v;
        b[6] = v + 5 + v - 2;
        b[7] = v * 100;
    }
}

static const char scalars[] = KERNEL
    "    pid = tl.program_id(0)\n"
    "    per_row = tl.cdiv(n, 7)\n"
    "    tl.store(b + pid, pid // per_row * 1000 + pid % per_row)\n"
    "    group = pid // 3\n"
    "    size = min(9 - group * 2, 2)\n"
    "    tl.store(b + 32 + pid, group * 2 + pid % max(size, 1))\n"
    "    z = n if pid < 4 else 9\n"
    "    z += pid\n"
    "    z -= 1\n"
    "    z *= 3\n"
    "    z //= 2\n"
    "    z %= 17\n"
    "    z <<= 2\n"
    "    z |= 1\n"
    "    z ^= 5\n"
    "    z &= 63\n"
    "    z >>= 1\n"
    "    tl.store(b + 64 + pid, z)\n"
    "    W: tl.constexpr = -7 // 2 + 7 % -3 * 10 + 2 ** 5 + (1 << 4) + (7 & 3 | 8 ^ 1)\n"
    "    tl.store(b + 96 + pid, W + (1, 2, 3)[1] + [4, 5][-1] + len((1, 2)) if W != 3 else 0)\n";

static void ref_scalars(memory *m) {
    for (int pid = 0; pid < 32; pid++) {
        int rows = (m->n + 6) / 7, group = pid / 3, size = 9 - group * 2 < 2 ? 9 - group * 2 : 2;
        m->b[pid] = pid / rows * 1000 + pid % rows;
        m->b[32 + pid] = group * 2 + pid % (size > 1 ? size : 1);
        int z = ((pid < 4 ? m->n : 9) + pid - 1) * 3 / 2 % 17;
        m->b[64 + pid] = (((z << 2 | 1) ^ 5) & 63) >> 1;
        m->b[96 + pid] = -4 + -20 + 32 + 16 + (3 | 9) + 2 + 5 + 2;
    }
}

static const char long_loop[] = KERNEL
    "    big = n.to(tl.int64) << 33\n"
    "    s = tl.zeros((), tl.int64)\n"
    "    for i in range(big, big + 5, 2):\n"
    "        s += i >> 3\n"
    "    for i in range(-big, -big - 7, -3):\n"
    "        s ^= i\n"
    "    p = b.to(tl.pointer_type(tl.int64))\n"
    "    tl.store(p, s)\n"
    "    tl.store(p + 1, (s & 0xffff) * big)\n";

static void ref_long_loop(memory *m) {
    int64_t big = (int64_t)m->n << 33, s = 0;
    for (int64_t i = big; i < big + 5; i += 2)
        s += i >> 3;
    for (int64_t i = -big; i > -big - 7; i -= 3)
        s ^= i;
    int64_t out[2] = {s, (int64_t)((uint64_t)(s & 0xffff) * (uint64_t)big)};
    memcpy(m->b, out, sizeof out);
}

// --- integers

static const char masks[] = KERNEL
    "    o = tl.arange(0, 64)\n"
    "    v = tl.load(a + o, mask=o < n, other=-1)\n"
    "    m = (v > 0) & (v < 500) | ~(v >= -200) ^ (v == 3)\n"
    "    chain = 0 <= v < 400\n"
    "    words = (v > 1 and v < 600) or not v != 7\n"
    "    flags = (b + 512).to(tl.pointer_type(tl.int1))\n"
    "    tl.store(flags + o, v & 6)\n"
    "    tl.store(flags + 64 + o, words)\n"
    "    tl.store(flags + 128 + o, chain, mask=m)\n"
    "    back = tl.load(flags + o)\n"
    "    tl.store(b + o, m)\n"
    "    tl.store(b + 64 + o, back.to(tl.int32) * 5 - tl.load(flags + 64 + o))\n"
    "    tl.store(b + 128 + o, tl.where(back, v, -v), mask=~chain)\n"
    "    tl.store(b + 192, tl.sum(back) + tl.sum(chain.to(tl.int32)) * 100)\n";

static void ref_masks(memory *m) {
    uint8_t *flags = (uint8_t *)(m->b + 512);
    int32_t backs = 0, chains = 0;
    for (int o = 0; o < 64; o++) {
        int32_t v = o < m->n ? m->a[o] : -1;
        bool mask = (v > 0 && v < 500) || (!(v >= -200) != (v == 3));
        bool chain = 0 <= v && v < 400, words = (v > 1 && v < 600) || v == 7, back = (v & 6) != 0;
        flags[o] = back, flags[64 + o] = words;
        if (mask)
            flags[128 + o] = chain;
        m->b[o] = mask, m->b[64 + o] = back * 5 - words;
        if (!chain)
            m->b[128 + o] = back ? v : -v;
        backs += back, chains += chain;
    }
    m->b[192] = backs + chains * 100;
}

static const char division[] = KERNEL
    "    o = tl.arange(0, 128)\n"
    "    u = tl.load(b + o)\n"
    "    v = tl.load(a + o) | 1\n"
    "    tl.store(b + 128 + o, u // v)\n"
    "    tl.store(b + 256 + o, u % v)\n"
    "    w = u.to(tl.uint32)\n"
    "    tl.store(b + 384 + o, w // v.to(tl.uint32))\n"
    "    tl.store(b + 512 + o, w % 10)\n"
    "    tl.store(b + 640 + o, u // -7 + u % -7)\n"
    "    tl.store(b + 768 + o, u // 16 + u % 16 * 3)\n";

static void ref_division(memory *m) {
    for (int o = 0; o < 128; o++) {
        int32_t u = m->b[o], v = m->a[o] | 1;
        m->b[128 + o] = v == -1 ? (int32_t)-(uint32_t)u : u / v;
        m->b[256 + o] = v == -1 ? 0 : u % v;
        m->b[384 + o] = (int32_t)((uint32_t)u / (uint32_t)v);
        m->b[512 + o] = (int32_t)((uint32_t)u % 10);
        m->b[640 + o] = u / -7 + u % -7;
        m->b[768 + o] = u / 16 + u % 16 * 3;
    }
}

static const char shifts[] = KERNEL
    "    o = tl.arange(0, 64)\n"
    "    u = tl.load(b + o)\n"
    "    tl.store(b + 64 + o, u << o)\n"
    "    tl.store(b + 128 + o, u >> o)\n"
    "    tl.store(b + 192 + o, u.to(tl.uint32) >> o.to(tl.uint32))\n"
    "    tl.store(b + 256 + o, (u.to(tl.int8) >> 9) + (u.to(tl.uint8) << 3))\n";

static void ref_shifts(memory *m) {
    for (int o = 0; o < 64; o++) {
        int32_t u = m->b[o];
        m->b[64 + o] = o < 32 ? (int32_t)((uint32_t)u << o) : 0;
        m->b[128 + o] = u >> (o < 32 ? o : 31);
        m->b[192 + o] = o < 32 ? (int32_t)((uint32_t)u >> o) : 0;
        m->b[256 + o] = (uint8_t)(((int8_t)u < 0 ? -1 : 0) + (uint8_t)((uint32_t)u << 3));
    }
}

static const char narrow[] = KERNEL
    "    o = tl.arange(0, 256)\n"
    "    u = tl.load(b + o).to(tl.int8)\n"
    "    v = tl.load(a + o).to(tl.uint8)\n"
    "    tl.store(b + 256 + o, u * 3 + 100)\n"
    "    tl.store(b + 512 + o, v + u)\n"
    "    tl.store(b + 768 + o, u.to(tl.int16) * v.to(tl.int16))\n"
    "    tl.store(b + 1024 + o, tl.abs(u) < 5)\n"
    "    tl.store(b + 1280, tl.sum(u) + tl.max(u, 0) * 1000 + tl.min(u, 0))\n"
    "    tl.store(b + 1281, tl.sum(v, axis=0).to(tl.int32) + tl.max(v) * 7)\n"
    "    tl.store(b + 1282, tl.xor_sum(v, 0))\n";

static void ref_narrow(memory *m) {
    int32_t sum_u = 0, max_u = -128, min_u = 127, sum_v = 0, max_v = 0, xor_v = 0;
    for (int o = 0; o < 256; o++) {
        int8_t u = (int8_t)m->b[o];
        uint8_t v = (uint8_t)m->a[o];
        m->b[256 + o] = (int8_t)(u * 3 + 100);
        m->b[512 + o] = (uint8_t)(u + v);
        m->b[768 + o] = (int16_t)(u * v);
        m->b[1024 + o] = (int8_t)abs(u) < 5;
        sum_u += u, sum_v += v, xor_v ^= v;
        max_u = u > max_u ? u : max_u, min_u = u < min_u ? u : min_u, max_v = v > max_v ? v : max_v;
    }
    m->b[1280] = sum_u + max_u * 1000 + min_u;
    m->b[1281] = sum_v + max_v * 7;
    m->b[1282] = xor_v;
}

// --- pointers and memory

static const char pointers[] = KERNEL
    "    o = tl.arange(0, 32)\n"
    "    p = a + 31\n"
    "    acc = 0\n"
    "    for i in range(30, -1, -1):\n"
    "        p -= 1\n"
    "        acc = acc * 3 + tl.load(p)\n"
    "    tl.store(b, acc)\n"
    "    q = a + 64 - o - 1\n"
    "    q -= n\n"
    "    tl.store(b + 32 + o, tl.load(q))\n"
    "    r = b + 128\n"
    "    r += -1\n"
    "    tl.store(r, tl.load(r + (-63)))\n"
    "    s = tl.where(o % 2 == 0, a + o, b + 32 + o * 1)\n"
    "    tl.store(b + 256 + o, tl.load(s))\n"
    "    t = a if n > 2 else b\n"
    "    tl.store(b + 320 + o, tl.load(t + o))\n"
    "    tl.store(b + 384 + o, (a + o).to(tl.int64) - a.to(tl.int64))\n";

static void ref_pointers(memory *m) {
    uint32_t acc = 0;
    for (int i = 30; i >= 0; i--)
        acc = acc * 3 + (uint32_t)m->a[i];
    m->b[0] = (int32_t)acc;
    for (int o = 0; o < 32; o++)
        m->b[32 + o] = m->a[63 - o - m->n];
    m->b[127] = m->b[64];
    for (int o = 0; o < 32; o++) {
        m->b[256 + o] = o % 2 == 0 ? m->a[o] : m->b[32 + o];
        m->b[320 + o] = m->n > 2 ? m->a[o] : m->b[o];
        m->b[384 + o] = o * 4;
    }
}

static const char in_place[] = KERNEL
    "    o = tl.arange(0, 256)\n"
    "    for i in range(n):\n"
    "        v = tl.load(a + (o + 1) % 256)\n"
    "        tl.store(a + o, v)\n"
    "    w = tl.load(a + 255 - o)\n"
    "    tl.store(a + o, w * 2)\n"
    "    for d in tl.static_range(8):\n"
    "        p = tl.load(a + o - (1 << d), mask=o >= 1 << d)\n"
    "        tl.store(a + o, p + tl.load(a + o))\n"
    "    tl.store(a + 256, tl.load(a + n) + tl.load(a + 255))\n";

static void ref_in_place(memory *m) {
    int32_t v[256];
    for (int o = 0; o < 256; o++)
        v[o] = 2 * m->a[(255 - o + m->n) % 256];
    for (int o = 0, sum = 0; o < 256; o++)
        m->a[o] = sum += v[o];
    m->a[256] = m->a[m->n] + m->a[255];
}

static const char transposes[] = KERNEL
    "    i = tl.arange(0, 16)[:, None]\n"
    "    j = tl.arange(0, 32)[None, :]\n"
    "    v = tl.load(a + i * 32 + j)\n"
    "    tl.store(b + j * 16 + i, v)\n"
    "    flat = tl.arange(0, 512)\n"
    "    tl.store(b + 512 + flat, v.T.reshape(512))\n"
    "    c = v.reshape(4, 8, 16)\n"
    "    tl.store(b + 1024 + flat, tl.permute(c, (2, 0, 1)).reshape((512,)))\n"
    "    tl.store(b + 1536 + flat, tl.ravel(tl.trans(c)))\n"
    "    tl.store(b + 2048 + tl.expand_dims(tl.arange(0, 32), 1) * 16 + tl.arange(0, 16), tl.trans(v), mask=tl.trans(i < 11))\n"
    "    tl.store(a + i * 32 + 31 - j, v)\n";

static void ref_transposes(memory *m) {
    int32_t v[512];
    memcpy(v, m->a, sizeof v);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 32; j++) {
            m->b[j * 16 + i] = m->b[512 + j * 16 + i] = v[i * 32 + j];
            if (i < 11)
                m->b[2048 + j * 16 + i] = v[i * 32 + j];
            m->a[i * 32 + 31 - j] = v[i * 32 + j];
        }
    for (int p = 0; p < 4; p++)
        for (int q = 0; q < 8; q++)
            for (int r = 0; r < 16; r++) {
                m->b[1024 + r * 32 + p * 8 + q] = v[p * 128 + q * 16 + r];
                m->b[1536 + p * 128 + r * 8 + q] = v[p * 128 + q * 16 + r];
            }
}

static const char gather_rows[] = KERNEL
    "    rows = tl.program_id(0) * 16 + tl.arange(0, 16)\n"
    "    cols = tl.program_id(1) * 8 + tl.arange(0, 8)\n"
    "    inside = (rows < n)[:, None] & (cols < 20)[None, :]\n"
    "    index = tl.abs(tl.load(a + rows, mask=rows < n, other=0)) % 50\n"
    "    v = tl.load(x + index[:, None] * 20 + cols[None, :], mask=inside)\n"
    "    tl.store(y + rows[:, None] * 20 + cols[None, :], v, mask=inside)\n"
    "    tl.atomic_add(b + 2048 + index, 1, mask=(rows < n) & (tl.program_id(1) == 0))\n";

static void ref_gather_rows(memory *m) {
    for (int r = 0; r < m->n; r++) {
        for (int c = 0; c < 20; c++)
            m->y[r * 20 + c] = m->x[abs(m->a[r]) % 50 * 20 + c];
        int32_t *count = &m->b[2048 + abs(m->a[r]) % 50];
        *count = (int32_t)((uint32_t)*count + 1);
    }
}

static const char atomics[] = KERNEL
    "    o = tl.arange(0, 64)\n"
    "    v = tl.load(a + o)\n"
    "    p = a + 1024 + o\n"
    "    tl.store(b + o, tl.atomic_add(p, v, mask=o < n))\n"
    "    tl.store(b + 64 + o, tl.atomic_max(p, v * 2))\n"
    "    tl.store(b + 128 + o, tl.atomic_min(p, -v))\n"
    "    tl.store(b + 192 + o, tl.atomic_xchg(p, v ^ 5, mask=o > 3))\n"
    "    tl.store(b + 256 + o, tl.atomic_and(p, 0xff) + tl.atomic_or(p, 0x100) + tl.atomic_xor(p, o))\n"
    "    tl.store(b + 320 + o, tl.atomic_cas(p, 0x100, 7))\n"
    "    first = tl.atomic_add(a + 1024 + 5, 7)\n"
    "    if first > 0:\n"
    "        tl.store(b + 384, first)\n";

static int32_t exchange(int32_t *p, int32_t v) {
    int32_t old = *p;
    *p = v;
    return old;
}

static void ref_atomics(memory *m) {
    for (int o = 0; o < 64; o++) {
        int32_t *p = &m->a[1024 + o], v = m->a[o], sum;
        m->b[o] = o < m->n ? exchange(p, *p + v) : 0;
        m->b[64 + o] = exchange(p, *p > v * 2 ? *p : v * 2);
        m->b[128 + o] = exchange(p, *p < -v ? *p : -v);
        m->b[192 + o] = o > 3 ? exchange(p, v ^ 5) : 0;
        sum = exchange(p, *p & 0xff);
        sum += exchange(p, *p | 0x100);
        m->b[256 + o] = sum + exchange(p, *p ^ o);
        m->b[320 + o] = exchange(p, *p == 0x100 ? 7 : *p);
    }
    int32_t first = exchange(&m->a[1029], m->a[1029] + 7);
    if (first > 0)
        m->b[384] = first;
}

// --- reductions

static const char three_axes[] = KERNEL
    "    i = tl.arange(0, 4)[:, None, None]\n"
    "    j = tl.arange(0, 8)[None, :, None]\n"
    "    k = tl.arange(0, 16)[None, None, :]\n"
    "    w = tl.load(a + i * 128 + j * 16 + k) + i * 1000 + j * 100 - k\n"
    "    tl.store(b + tl.arange(0, 8)[:, None] * 16 + tl.arange(0, 16), tl.sum(w, 0))\n"
    "    tl.store(b + 256 + tl.arange(0, 4)[:, None] * 16 + tl.arange(0, 16)[None, :], tl.sum(w, axis=1))\n"
    "    tl.store(b + 512 + tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :], w.max(axis=-1))\n"
    "    tl.store(b + 1024 + i * 128 + j * 16 + k, w - tl.min(w, 1, keep_dims=True))\n"
    "    tl.store(b + 2048 + tl.arange(0, 8), tl.sum(tl.sum(w, 2), 0))\n"
    "    tl.store(b + 2060, tl.sum(w) + tl.max(w) - tl.min(w))\n"
    "    tl.store(b + 2064 + tl.arange(0, 4), tl.argmax(w.reshape(4, 128), 1))\n";

static void ref_three_axes(memory *m) {
    int32_t w[4][8][16], sum = 0, most = INT32_MIN, least = INT32_MAX;
    memset(m->b, 0, 128 * 4), memset(m->b + 256, 0, 64 * 4), memset(m->b + 2048, 0, 8 * 4);
    for (int i = 0; i < 4; i++) {
        int32_t best = INT32_MIN;
        for (int j = 0; j < 8; j++) {
            int32_t row = INT32_MIN;
            for (int k = 0; k < 16; k++) {
                int32_t v = w[i][j][k] = m->a[i * 128 + j * 16 + k] + i * 1000 + j * 100 - k;
                m->b[j * 16 + k] += v, m->b[256 + i * 16 + k] += v, m->b[2048 + j] += v;
                sum += v, row = v > row ? v : row, least = v < least ? v : least;
                if (v > best)
                    best = v, m->b[2064 + i] = j * 16 + k;
            }
            m->b[512 + i * 8 + j] = row, most = row > most ? row : most;
        }
        for (int k = 0; k < 16; k++) {
            int32_t low = INT32_MAX;
            for (int j = 0; j < 8; j++)
                low = w[i][j][k] < low ? w[i][j][k] : low;
            for (int j = 0; j < 8; j++)
                m->b[1024 + i * 128 + j * 16 + k] = w[i][j][k] - low;
        }
    }
    m->b[2060] = sum + most - least;
}

static const char combine[] =
    "def welford(m1, s1, w1, m2, s2, w2):\n"
    "    d = m2 - m1\n"
    "    w = w1 + w2\n"
    "    r = tl.where(w == 0.0, 0.0, w2 / w)\n"
    "    return m1 + d * r, s1 + s2 + d * d * w1 * r, w\n"
    "def multiply(p, q):\n"
    "    return p * q % 1000003\n"
    "def both(p, q):\n"
    "    return p & q\n" KERNEL
    "    o = tl.arange(0, 512)\n"
    "    valid = o < n\n"
    "    v = tl.load(x + o, mask=valid)\n"
    "    mean, square, weight = tl.reduce((v, tl.zeros_like(v), valid.to(tl.float32)), 0, welford)\n"
    "    tl.store(y, mean)\n"
    "    tl.store(y + 1, square / weight)\n"
    "    u = (tl.load(a + o) & 1023).to(tl.int64) + 1\n"
    "    tl.store(b, tl.reduce(u, 0, multiply))\n"
    "    tl.store(b + 1, tl.reduce(tl.load(a + o) < 1001, 0, both))\n"
    "    tl.store(b + 2, tl.reduce(tl.load(a + o) < 990, 0, both))\n";

static void ref_combine(memory *m) {
    double mean = 0, square = 0;
    for (int i = 0; i < m->n; i++)
        mean += m->x[i] / (double)m->n;
    for (int i = 0; i < m->n; i++)
        square += (m->x[i] - mean) * (m->x[i] - mean) / m->n;
    m->y[0] = (float)mean, m->y[1] = (float)square;
    int64_t product = 1;
    bool all = true, some = true;
    for (int i = 0; i < 512; i++) {
        product = product * ((m->a[i] & 1023) + 1) % 1000003;
        all &= m->a[i] < 1001, some &= m->a[i] < 990;
    }
    m->b[0] = (int32_t)product, m->b[1] = all, m->b[2] = some;
}

static const char argmax_loop[] = KERNEL
    "    row = tl.program_id(0)\n"
    "    best = float('-inf')\n"
    "    best_at = -1\n"
    "    for start in range(0, n, 64):\n"
    "        o = start + tl.arange(0, 64)\n"
    "        v = tl.load(x + row * n + o, mask=o < n, other=float('-inf'))\n"
    "        v = tl.floor(v)\n"
    "        top, at = tl.max(v, axis=0, return_indices=True)\n"
    "        better = top > best\n"
    "        best_at = tl.where(better, at + start, best_at)\n"
    "        best = tl.where(better, top, best)\n"
    "    tl.store(y + row, best)\n"
    "    tl.store(b + row, best_at)\n";

static void ref_argmax_loop(memory *m) {
    for (int row = 0; row < 8; row++) {
        float best = -INFINITY;
        for (int i = 0; i < m->n; i++)
            if (floorf(m->x[row * m->n + i]) > best)
                best = floorf(m->x[row * m->n + i]), m->b[row] = i;
        m->y[row] = best;
    }
}

// --- floats

static const char special_values[] = KERNEL
    "    o = tl.arange(0, 16)\n"
    "    v = tl.load(y + o)\n"
    "    w = tl.load(x + o)\n"
    "    tl.store(b + o, v > 0)\n"
    "    tl.store(b + 16 + o, v != v)\n"
    "    tl.store(b + 32 + o, v == 0.0)\n"
    "    tl.store(b + 48 + o, not v <= 0)\n"
    "    tl.store(b + 64 + o, (v >= w) | (w > v))\n"
    "    tl.store(y + 16 + o, tl.where(v > 0, v, -v))\n"
    "    tl.store(y + 32 + o, tl.abs(v))\n"
    "    tl.store(y + 48 + o, tl.maximum(v, w))\n"
    "    tl.store(y + 64 + o, tl.minimum(v, 0.0))\n"
    "    tl.store(y + 80 + o, tl.maximum(v, w, propagate_nan=tl.PropagateNan.ALL))\n"
    "    tl.store(y + 96, tl.max(v, 0))\n"
    "    tl.store(y + 97, tl.min(v, 0))\n"
    "    tl.store(b + 80, tl.argmax(v, 0))\n"
    "    tl.store(b + 81, tl.argmin(v, 0))\n"
    "    tl.store(y + 112 + o, v.to(tl.int1))\n"
    "    tl.store(y + 128 + o, v + 0.5 if n > 2 else w)\n"
    "    tl.store(b + 96 + o, tl.where(tl.abs(v) < 1e6, v, 3.9).to(tl.int32))\n"
    "    tl.store(b + 112 + o, v.to(tl.int32, bitcast=True))\n";

static void ref_special_values(memory *m) {
    for (int o = 0; o < 16; o++) {
        float v = m->y[o], w = m->x[o], low = v < 0 || (v == 0 && signbit(v)) ? v : 0.0f;
        m->b[o] = v > 0, m->b[16 + o] = isnan(v), m->b[32 + o] = v == 0, m->b[48 + o] = !(v <= 0);
        m->b[64 + o] = !isnan(v);
        m->y[16 + o] = v > 0 ? v : -v, m->y[32 + o] = fabsf(v);
        m->y[48 + o] = isnan(v) || w > v ? w : v;
        m->y[64 + o] = low;
        m->y[80 + o] = isnan(v) ? NAN : w > v ? w : v;
        m->y[112 + o] = v != 0, m->y[128 + o] = m->n > 2 ? v + 0.5f : w;
        m->b[96 + o] = fabsf(v) < 1e6f ? (int32_t)v : 3;
        memcpy(&m->b[112 + o], &v, 4);
    }
    m->y[96] = INFINITY, m->y[97] = -INFINITY, m->b[80] = 4, m->b[81] = 5;
}

static float to_bf16(float f) {
    uint32_t bits;
    memcpy(&bits, &f, 4);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
    memcpy(&f, &bits, 4);
    return f;
}

static float to_fp16(double v) { // of normal ones
    int exponent;
    frexp(v, &exponent);
    return (float)ldexp(nearbyint(ldexp(v, 11 - exponent)), exponent - 11);
}

static const char small_floats[] = KERNEL
    "    o = tl.arange(0, 512)\n"
    "    v = tl.load(x + o) + 100.0\n"
    "    h = v.to(tl.float16)\n"
    "    g = v.to(tl.bfloat16)\n"
    "    tl.store(y + o, h)\n"
    "    tl.store(y + 512 + o, g)\n"
    "    tl.store(y + 1024 + o, h * 2.5)\n"
    "    tl.store(y + 1536 + o, g + g.to(tl.float16).to(tl.float32))\n"
    "    tl.store(y + 2048 + o, h + g)\n"
    "    tl.store(y + 2560, tl.sum(h))\n"
    "    tl.store(y + 2561, tl.sum(h, dtype=tl.float32))\n"
    "    tl.store(b + o, h > 100.1)\n"
    "    tl.store(y + 3072 + o, tl.load(a + o).to(tl.bfloat16) * g)\n"
    "    tl.store(y + 3584 + o, tl.load(b + 1024 + o).to(tl.float32) / 3)\n";

static void ref_small_floats(memory *m) {
    double sum = 0;
    for (int o = 0; o < 512; o++) {
        float v = m->x[o] + 100.0f, h = to_fp16(v), g = to_bf16(v);
        m->y[o] = h, m->y[512 + o] = g, m->y[1024 + o] = to_fp16(h * 2.5);
        m->y[1536 + o] = g + g, m->y[2048 + o] = to_fp16((double)h + g);
        m->b[o] = h > 100.1f, sum += h;
        m->y[3072 + o] = to_bf16(to_bf16((float)m->a[o]) * g);
        m->y[3584 + o] = (float)m->b[1024 + o] / 3;
    }
    m->y[2560] = to_fp16(sum), m->y[2561] = (float)sum;
}

static const char layer_norm[] = KERNEL
    "    row = tl.program_id(0)\n"
    "    x += row * n\n"
    "    y += row * n\n"
    "    acc = tl.zeros([64], dtype=tl.float32)\n"
    "    for off in range(0, n, 64):\n"
    "        cols = off + tl.arange(0, 64)\n"
    "        acc += tl.load(x + cols, mask=cols < n, other=0.).to(tl.float32)\n"
    "    mean = tl.sum(acc, axis=0) / n\n"
    "    var = tl.zeros([64], dtype=tl.float32)\n"
    "    for off in range(0, n, 64):\n"
    "        cols = off + tl.arange(0, 64)\n"
    "        v = tl.load(x + cols, mask=cols < n, other=0.)\n"
    "        v = tl.where(cols < n, v - mean, 0.)\n"
    "        var += v * v\n"
    "    rstd = 1 / tl.sqrt(tl.sum(var, axis=0) / n + 1e-5)\n"
    "    for off in range(0, n, 64):\n"
    "        cols = off + tl.arange(0, 64)\n"
    "        mask = cols < n\n"
    "        tl.store(y + cols, (tl.load(x + cols, mask=mask) - mean) * rstd, mask=mask)\n";

static void ref_layer_norm(memory *m) {
    for (int row = 0; row < 6; row++) {
        const float *x = m->x + row * m->n;
        double mean = 0, var = 0;
        for (int i = 0; i < m->n; i++)
            mean += x[i] / (double)m->n;
        for (int i = 0; i < m->n; i++)
            var += (x[i] - mean) * (x[i] - mean) / m->n;
        for (int i = 0; i < m->n; i++)
            m->y[row * m->n + i] = (float)((x[i] - mean) / sqrt(var + 1e-5));
    }
}

static const char online_softmax[] = KERNEL
    "    for row in range(tl.program_id(0), 7, tl.num_programs(0)):\n"
    "        m = tl.full((), -float('inf'), tl.float32)\n"
    "        s = 0.0\n"
    "        for start in tl.range(0, n, 128, num_stages=3):\n"
    "            o = start + tl.arange(0, 128)\n"
    "            v = tl.load(x + row * n + o, mask=o < n, other=-float('inf'))\n"
    "            top = max(m, tl.max(v, 0))\n"
    "            s, m = s * tl.exp(m - top) + tl.sum(tl.exp(v - top), 0), top\n"
    "        for start in range(0, n, 128):\n"
    "            o = start + tl.arange(0, 128)\n"
    "            v = tl.load(x + row * n + o, mask=o < n)\n"
    "            tl.store(y + row * n + o, tl.exp(v - m) / s, mask=o < n)\n";

static void ref_online_softmax(memory *m) {
    for (int row = 0; row < 7; row++) {
        const float *x = m->x + row * m->n;
        double top = -INFINITY, sum = 0;
        for (int i = 0; i < m->n; i++)
            top = x[i] > top ? x[i] : top;
        for (int i = 0; i < m->n; i++)
            sum += exp(x[i] - top);
        for (int i = 0; i < m->n; i++)
            m->y[row * m->n + i] = (float)(exp(x[i] - top) / sum);
    }
}

static const char cross_entropy[] = KERNEL
    "    row = tl.program_id(0).to(tl.int64)\n"
    "    label = tl.load(a + row)\n"
    "    x += row * n\n"
    "    cols = tl.arange(0, 256)\n"
    "    if label < 0:\n"
    "        tl.store(x + cols, 0.0, mask=cols < n)\n"
    "        return\n"
    "    label = label % n\n"
    "    v = tl.load(x + cols, mask=cols < n, other=float('-inf')).cast(tl.float32)\n"
    "    top = tl.max(v)\n"
    "    d = tl.sum(tl.exp(v - top))\n"
    "    at_label = tl.load(x + label)\n"
    "    grad = tl.exp(v - top) / d\n"
    "    grad = tl.where(cols != label, grad, grad - 1)\n"
    "    tl.store(x + cols, grad, mask=cols < n)\n"
    "    tl.store(y + row, top + tl.log(d) - at_label)\n";

static void ref_cross_entropy(memory *m) {
    for (int row = 0; row < 9; row++) {
        float *x = m->x + row * m->n;
        double top = -INFINITY, sum = 0;
        int label = m->a[row] % m->n;
        for (int i = 0; i < m->n; i++)
            top = x[i] > top ? x[i] : top;
        for (int i = 0; i < m->n; i++)
            sum += exp(x[i] - top);
        if (m->a[row] >= 0)
            m->y[row] = (float)(top + log(sum) - x[label]);
        for (int i = 0; i < m->n; i++)
            x[i] = m->a[row] < 0 ? 0.0f : (float)(exp(x[i] - top) / sum - (i == label));
    }
}

static const char rope[] = KERNEL
    "    x = x + tl.program_id(0) * 128\n"
    "    half: tl.constexpr = 16 // 2\n"
    "    o = tl.arange(0, half)\n"
    "    c = tl.load(y + 1024 + tl.program_id(0) * half + o)\n"
    "    s = tl.load(y + 2048 + tl.program_id(0) * half + o)\n"
    "    first = tl.arange(0, 8)[:, None] * 16 + o[None, :]\n"
    "    mask = (tl.arange(0, 8)[:, None] < n) & (o[None, :] < half)\n"
    "    second = first + half\n"
    "    p = tl.load(x + first, mask=mask, other=0)\n"
    "    q = tl.load(x + second, mask=mask, other=0)\n"
    "    p, q = p * c - q * s, q * c + p * s\n"
    "    tl.store(x + first, p, mask=mask)\n"
    "    tl.store(x + second, q, mask=mask)\n";

static void ref_rope(memory *m) {
    for (int pid = 0; pid < 4; pid++)
        for (int head = 0; head < m->n; head++)
            for (int i = 0; i < 8; i++) {
                float *p = &m->x[pid * 128 + head * 16 + i], *q = p + 8, u = *p;
                float c = m->y[1024 + pid * 8 + i], s = m->y[2048 + pid * 8 + i];
                *p = (float)((double)u * c - (double)*q * s);
                *q = (float)((double)*q * c + (double)u * s);
            }
}

static const char quantize[] =
    "def gelu(v):\n"
    "    k: tl.constexpr = 0.7978845608028654\n"
    "    return 0.5 * v * (1 + (2 * tl.sigmoid(2 * k * (v + 0.044715 * v * v * v)) - 1))\n" KERNEL
    "    row = tl.program_id(0)\n"
    "    o = tl.arange(0, 128)\n"
    "    mask = o < n\n"
    "    v = tl.load(x + row * n + o, mask=mask)\n"
    "    top = tl.max(tl.where(mask, tl.abs(v), 0), axis=0)\n"
    "    s = 127.0 * (v / (top + 1))\n"
    "    q = tl.where(s >= 0, tl.floor(s + 0.5), tl.ceil(s - 0.5))\n"
    "    tl.store(a.to(tl.pointer_type(tl.int8)) + row * n + o, tl.floor(v * 4).to(tl.int8), mask=mask)\n"
    "    tl.store(y + row, top)\n"
    "    tl.store(y + 1024 + row * n + o, q / 127.0 * (top + 1) - q * 0, mask=mask & (tl.abs(s) < 0))\n"
    "    tl.store(y + 2048 + row * n + o, gelu(v), mask=mask)\n";

static void ref_quantize(memory *m) {
    for (int row = 0; row < 10; row++) {
        float top = 0;
        for (int i = 0; i < m->n; i++) {
            float v = m->x[row * m->n + i];
            top = fabsf(v) > top ? fabsf(v) : top;
            ((int8_t *)m->a)[row * m->n + i] = (int8_t)floorf(v * 4);
            double t = 0.7978845608028654 * (v + 0.044715 * v * v * v);
            m->y[2048 + row * m->n + i] = (float)(0.5 * v * (1 + tanh(t)));
        }
        m->y[row] = top;
    }
}

// --- all of them

static const kernel_case cases[] = {
    {"collatz", collatz, ref_collatz, {1}, 0, 0},
    {"carried values, no trips", carried, ref_carried, {1}, 0, 0},
    {"carried values, one trip", carried, ref_carried, {1}, 1, 0},
    {"carried values, five trips", carried, ref_carried, {1}, 5, 0},
    {"early return", early_return, ref_early_return, {40}, 37, 0},
    {"helpers", helpers, ref_helpers, {16}, 5, 0},
    {"scalars", scalars, ref_scalars, {32}, 100, 0},
    {"loops of i64", long_loop, ref_long_loop, {1}, 3, 0},
    {"masks", masks, ref_masks, {1}, 50, 0},
    {"division", division, ref_division, {1}, 0, 0},
    {"shifts", shifts, ref_shifts, {1}, 0, 0},
    {"narrow integers", narrow, ref_narrow, {1}, 0, 0},
    {"pointers", pointers, ref_pointers, {1}, 3, 0},
    {"in place", in_place, ref_in_place, {1}, 5, 0},
    {"transposes", transposes, ref_transposes, {1}, 0, 0},
    {"gather of rows", gather_rows, ref_gather_rows, {3, 3}, 37, 0},
    {"atomics", atomics, ref_atomics, {1}, 40, 0},
    {"three axes", three_axes, ref_three_axes, {1}, 0, 0},
    {"combine functions", combine, ref_combine, {1}, 301, 2e-5},
    {"argmax in a loop", argmax_loop, ref_argmax_loop, {8}, 301, 0},
    {"special values", special_values, ref_special_values, {1}, 3, 0},
    {"small floats", small_floats, ref_small_floats, {1}, 0, 1e-6},
    {"layer norm", layer_norm, ref_layer_norm, {6}, 301, 2e-5},
    {"layer norm of one column", layer_norm, ref_layer_norm, {6}, 1, 2e-5},
    {"online softmax", online_softmax, ref_online_softmax, {3}, 500, 2e-5},
    {"cross entropy", cross_entropy, ref_cross_entropy, {9}, 201, 2e-5},
    {"rope", rope, ref_rope, {4}, 5, 1e-5},
    {"quantize", quantize, ref_quantize, {10}, 77, 2e-5},
};

static bool same_float(float got, float want, double tolerance) {
    if (isnan(want) || got == want)
        return isnan(want) ? isnan(got) : tolerance != 0 || signbit(got) == signbit(want);
    return fabs((double)got - (double)want) <= tolerance * (1 + fabs((double)want));
}

static void compare(const kernel_case *c, uint32_t warps, const memory *g, const memory *w) {
    for (uint32_t i = 0; i < COUNT; i++)
        if (!expect(g->a[i] == w->a[i] && g->b[i] == w->b[i] &&
                        same_float(g->x[i], w->x[i], c->tolerance) &&
                        same_float(g->y[i], w->y[i], c->tolerance),
                    "%s, %u warps, a b x y[%u]: %d %d %.9g %.9g, expected %d %d %.9g %.9g", c->name,
                    warps, i, g->a[i], g->b[i], (double)g->x[i], (double)g->y[i], w->a[i], w->b[i],
                    (double)w->x[i], (double)w->y[i]))
            return;
}

static void run_case(const kernel_case *c) {
    static memory got, want;
    tile_module *mod;
    tile_kernel *k = kernel_from(c->source, "k", &mod);
    void *const host[4] = {got.a, got.b, got.x, got.y};
    for (uint32_t warps = 1; warps <= 8; warps *= 2) {
        fill(&got, c->n);
        want = got;
        c->reference(&want);
        tile_buffer *d[4];
        for (int i = 0; i < 4; i++)
            d[i] = buffer_from(host[i], COUNT * 4);
        tile_arg args[] = {TILE_BUFFER(d[0], "i32"), TILE_BUFFER(d[1], "i32"), TILE_BUFFER(d[2], "fp32"),
                           TILE_BUFFER(d[3], "fp32"), TILE_I32(c->n)};
        tile_launch_options o = {.size = sizeof o, .grid = {c->grid[0], c->grid[1]}, .num_warps = warps};
        must(tile_launch(k, args, 5, &o, &err));
        for (int i = 0; i < 4; i++) {
            read_buffer(d[i], host[i], COUNT * 4);
            tile_buffer_destroy(d[i]);
        }
        compare(c, warps, &got, &want);
    }
    tile_module_destroy(mod);
}

int main(void) {
    open_test_device();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        run_case(&cases[i]);
    return finish();
}
