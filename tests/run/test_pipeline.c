// Pipelined loops give what the plain loop gives, line by line: any number of iterations, masks,
// carried tiles, inner loops, buffers used in place, shifted onto each other or written through
// another argument, steps of any kind, and buffers that end where the last iteration ends. Each
// kernel runs with several numbers of stages beside a reference in C.
#include "run.h"

enum { B = 256, TOTAL = 40 * B };

/// What a kernel works on: three places in one buffer, and two numbers.
typedef struct call {
    int32_t *x, *y, *z;
    int32_t n, m;
} call;

typedef struct pipeline_case {
    const char *name, *body; ///< of the kernel, in which range() has STAGES stages
    void (*want)(const call *c);
    int at[3];      ///< where the arguments begin
    bool is_loose;  ///< overlaps at an offset, where plain loops are not ordered across warps
    bool is_const;  ///< x is *const
    uint32_t grid;  ///< 0: 1
    bool one_block; ///< x ends where n blocks end: what is read past them is seen on the cpu device
} pipeline_case;

static int32_t wrap(int64_t v) { return (int32_t)(uint32_t)v; }

static void want_sum(const call *c) {
    for (int j = 0; j < B; j++)
        for (int i = j; i < c->n * 100; i += B)
            c->y[j] = wrap((int64_t)c->y[j] * 3 + c->x[i]);
}

static void want_whole(const call *c) {
    for (int i = 0; i < c->n; i++)
        for (int j = 0; j < B; j++)
            c->y[j] = wrap((int64_t)c->y[j] * 3 + c->x[i * B + j]);
}

static void want_rows(const call *c) { // each row less its maximum, twice
    for (int r = 0; r < c->n; r++) {
        int32_t top = INT32_MIN, row[B];
        for (int j = 0; j < 200; j++)
            top = c->x[r * B + j] > top ? c->x[r * B + j] : top;
        for (int j = 0; j < 200; j++)
            row[j] = 2 * (c->x[r * B + j] - top);
        memcpy(c->y + r * B, row, 200 * sizeof *row);
    }
}

static void want_chain(const call *c) {
    for (int r = 0; r < c->n; r++)
        for (int j = 0; j < B; j++)
            c->x[(r + 1) * B + j] = wrap(c->x[r * B + j] * INT64_C(5) + r);
}

static void want_two(const call *c) {
    for (int r = 0; r < c->n; r++) {
        int32_t row[B];
        memcpy(row, c->x + r * B, sizeof row);
        for (int j = 0; j < B; j++) {
            c->y[r * B + j] = row[j] + 1;
            c->z[j] = wrap((int64_t)c->z[j] * 3 + 1 - row[j]);
        }
    }
}

static void want_store_first(const call *c) {
    for (int i = 0; i < c->n; i++) {
        for (int j = 0; j < B; j++)
            c->y[i * B + j] = i * 7 + j;
        for (int j = 0; j < B; j++)
            c->z[j] = wrap((int64_t)c->z[j] * 3 + c->x[i * B + j]);
    }
}

static void want_down(const call *c) {
    int32_t total = 0;
    for (int i = c->n; i > -2; i -= 3)
        for (int j = 0; j < B; j++)
            total = wrap((int64_t)total * (j == 0 ? 7 : 1) + c->x[(i + 2) * 7 + j]);
    for (int i = c->n; i > 0; i--)
        total = wrap((int64_t)total * 3 + c->x[i]);
    for (int i = 0; c->m > 0 && i < c->n; i += c->m)
        total = wrap((int64_t)total * 5 + c->x[i]);
    for (int i = 0; i < c->n && i < 4; i++)
        total = wrap((int64_t)total * 5 + c->x[i]);
    c->y[0] = total;
}

static void want_nested(const call *c) {
    int32_t carry[B] = {0};
    for (int i = 0; i < c->n; i++) {
        int32_t row[B];
        memcpy(row, c->x + i * B, sizeof row);
        for (int k = 0; k <= i; k++)
            for (int j = 0; j < B; j++)
                row[j] = wrap((int64_t)row[j] * 3 + c->y[k * B + j] + carry[j]);
        for (int j = 0; j < B; j++) {
            int32_t old = carry[j];
            carry[j] = c->x[i * B + j];
            c->z[i * B + j] = row[j] - old;
        }
    }
}

static void want_lookup(const call *c) {
    for (int i = 0; i < c->n; i++) {
        int at = c->x[i] & 15;
        for (int j = 0; j < B; j++) {
            c->y[j] = wrap((int64_t)c->y[j] * 3 + c->x[at * B + j]);
            int k = (c->x[i * B + j] & 255);
            c->z[j] = wrap((int64_t)c->z[j] * 3 + c->x[k]);
        }
    }
}

static void want_around(const call *c) { // the first block turned round before, all cleared after
    int32_t row[B], sum[B];
    for (int round = 0; round < 2; round++) {
        for (int j = 0; j < B; j++)
            row[j] = c->x[B - 1 - j] + 1;
        memcpy(c->x, row, sizeof row);
        memset(sum, 0, sizeof sum);
        for (int i = 0; i < c->n; i++)
            for (int j = 0; j < B; j++)
                sum[j] = wrap((int64_t)sum[j] * 3 + c->x[i * B + j]);
        for (int j = 0; j < B; j++)
            c->x[(c->n > 0 ? c->n - 1 : 0) * B + B - 1 - j] = sum[j];
    }
}

static void want_inner_store(const call *c) {
    for (int i = 0; i < c->n; i++)
        for (int j = 0, odd = i & 1; j < B; j++) {
            c->z[j] = wrap((int64_t)c->z[j] * 3 + c->x[i * B + j]);
            if (odd)
                c->x[(i + 1) * B + j] = i;
        }
}

static void want_atomic(const call *c) {
    for (int i = 0; i < c->n; i++)
        for (int j = 0; j < B; j++) {
            c->z[j] = wrap((int64_t)c->z[j] * 3 + c->x[i * B + j]);
            c->x[(i + 1) * B + j] += i;
        }
}

static void want_plane(const call *c) { // 16 rows of 16, stored with rows and columns exchanged
    for (int i = 0; i < c->n; i++) {
        int32_t t[256];
        for (int r = 0; r < 16; r++)
            for (int k = 0; k < 16; k++)
                t[k * 16 + r] = c->x[i * 300 + r * 17 + k] + c->m;
        int32_t sum = 0;
        for (int j = 0; j < 256; j++)
            sum = wrap((int64_t)sum + t[j]);
        for (int j = 0; j < 256; j++)
            c->y[i * 300 + (15 - j / 16) * 17 + j % 16] = wrap((int64_t)t[j] + sum);
    }
}

static void want_small(const call *c) { // an index of 8 bits
    for (int i = 0; i < c->n; i++)
        for (int j = 0; j < B; j++)
            c->y[j] = wrap((int64_t)c->y[j] * 3 + c->x[(200 + 100 * i) & 255]);
}

static void want_move(const call *c) {
    for (int r = 0; r < c->n; r++) {
        int32_t row[B];
        memcpy(row, c->x + r * B, sizeof row);
        for (int j = 0; j < B; j++)
            c->y[r * B + j] = wrap((int64_t)row[j] * 5 + r);
    }
}

#define LOOP(more) "    for i in tl.range(0, n" more ", num_stages=STAGES):\n"
#define UNROLLED ", loop_unroll_factor=2"
#define ROWS                                                                                       \
    "    for r in tl.range(program_id(0), n, num_programs(0), num_stages=STAGES):\n"               \
    "        row = load(x + r.to(i64) * 256 + o, mask=o < 200, other=-2147483648)\n"               \
    "        row = (row - max(row, axis=0)) * 2\n"                                                 \
    "        store(y + r.to(i64) * 256 + o, row, mask=o < 200)\n"
#define SUM                                                                                        \
    "    acc = load(y + o)\n"                                                                      \
    "    for i in tl.range(0, n * 100, 256, num_stages=STAGES):\n"                                 \
    "        v = load(x + (i + o), mask=i + o < n * 100, other=0)\n"                               \
    "        acc = where(i + o < n * 100, acc * 3 + v, acc)\n"                                     \
    "    store(y + o, acc)\n"
#define STORE_FIRST                                                                                \
    "    acc = load(z + o)\n" LOOP("") "        store(y + i * 256 + o, i * 7 + o)\n"               \
                                       "        acc = acc * 3 + load(x + i * 256 + o)\n"           \
                                       "    store(z + o, acc)\n"
#define STEPS(range, before, address, after)                                                       \
    before "    acc = load(y + o)\n"                                                               \
           "    for i in tl.range(" range ", num_stages=STAGES):\n"                                \
           "        acc = acc * 3 + load(" address ")\n" after "    store(y + o, acc)\n"
#define MOVE                                                                                       \
    "    p = x + o\n"                                                                              \
    "    q = tl.make_block_ptr(y, (n * 256,), (1,), (0,), (256,), (0,))\n" LOOP(                   \
        "") "        v = load(p) * 5 + i\n"                                                        \
            "        p += 256\n"                                                                   \
            "        store(q, where(sum(v, axis=0) == 1 << 30, v, v))\n"                           \
            "        q = tl.advance(q, (256,))\n"
#define TWO(more)                                                                                  \
    "    acc = load(z + o)\n" LOOP(                                                                \
        more) "        v = load(x + i * 256 + o)\n"                                                \
              "        s = sum(v, axis=0)\n" /* all warps have read when the first one writes */   \
              "        store(y + i * 256 + o, v + 1)\n"                                            \
              "        acc = acc * 3 + where(s == s, v + 1, v) - v * 2\n"                          \
              "    store(z + o, acc)\n"

static const pipeline_case cases[] = {
    {"sum in blocks", SUM, .want = want_sum, .at = {0, 30 * B, 0}, .is_const = false},
    {"sum of a constant argument", SUM, .want = want_sum, .at = {0, 30 * B, 0}, .is_const = true},
    {"whole blocks, up to the end",
     "    acc = load(y + o)\n" LOOP("") "        acc = acc * 3 + load(x + i * 256 + o)\n"
                                        "    store(y + o, acc)\n",
     .want = want_whole, .at = {0, 30 * B, 0}, .one_block = true},
    {"whole blocks, two at a time",
     "    acc = load(y + o)\n" LOOP(UNROLLED) "        acc = acc * 3 + load(x + i * 256 + o)\n"
                                              "    store(y + o, acc)\n",
     .want = want_whole, .at = {0, 30 * B, 0}, .one_block = true},
    {"written and summed in place, two at a time", TWO(UNROLLED), .want = want_two,
     .at = {0, 0, 39 * B}},
    {"rows", ROWS, .want = want_rows, .at = {0, 20 * B, 0}, .grid = 1},
    {"rows, three programs", ROWS, .want = want_rows, .at = {0, 20 * B, 0}, .grid = 3},
    {"rows of a constant argument", ROWS, .want = want_rows, .at = {0, 20 * B, 0}, .is_const = true,
     .grid = 2},
    {"rows in place", ROWS, .want = want_rows, .at = {0, 0, 0}, .grid = 1},
    {"rows in place, three programs", ROWS, .want = want_rows, .at = {0, 0, 0}, .grid = 3},
    {"rows written onto the next one", ROWS, .want = want_rows, .at = {0, B, 0}, .is_loose = true,
     .grid = 1},
    {"rows written onto half of the next one", ROWS, .want = want_rows, .at = {0, B / 2, 0},
     .is_loose = true, .grid = 1},
    {"rows written two rows ahead", ROWS, .want = want_rows, .at = {0, 2 * B + 3, 0},
     .is_loose = true, .grid = 1},
    {"rows written back", ROWS, .want = want_rows, .at = {64, 0, 0}, .is_loose = true, .grid = 1},
    {"a chain through one argument",
     LOOP("") "        store(x + (i + 1) * 256 + o, load(x + i * 256 + o) * 5 + i)\n",
     .want = want_chain, .at = {0, 0, 0}},
    {"written and summed, apart", TWO(""), .want = want_two, .at = {0, 20 * B, 39 * B}},
    {"written and summed, in place", TWO(""), .want = want_two, .at = {0, 0, 39 * B}},
    {"written and summed, onto the next", TWO(""), .want = want_two, .at = {0, B, 39 * B},
     .is_loose = true},
    {"written and summed, one element on", TWO(""), .want = want_two, .at = {0, 1, 39 * B},
     .is_loose = true},
    {"stored first, apart", STORE_FIRST, .want = want_store_first, .at = {0, 20 * B, 39 * B}},
    {"stored first, in place", STORE_FIRST, .want = want_store_first, .at = {0, 0, 39 * B}},
    {"steps",
     "    total = 0\n"
     "    w = where(o == 0, 7, 1)\n"
     "    for i in tl.range(n, -2, -3, num_stages=STAGES):\n"
     "        total = total * 7 + sum(load(x + (i + 2) * 7 + o), axis=0)\n"
     "    for i in tl.range(n, 0, -1, num_stages=STAGES):\n"
     "        total = total * 3 + load(x + i)\n"
     "    for i in tl.range(0, n, m, num_stages=STAGES):\n"
     "        total = total * 5 + load(x + i)\n"
     "    last: i32 = 2147483647\n"
     "    for i in tl.range(last - n, last, num_stages=STAGES):\n" // a step further would wrap
     "        if n - (last - i) < 4:\n"
     "            total = total * 5\n"
     "        total += where(n - (last - i) < 4, load(x + (n - (last - i)) % 4), 0)\n"
     "    store(y, total)\n",
     .want = want_down, .at = {0, 39 * B, 0}},
    {"nested loops",
     "    carry = zeros([256], i32)\n" LOOP(
         "") "        row = load(x + i * 256 + o)\n"
             "        first = row\n"
             "        for k in tl.range(0, i + 1, num_stages=STAGES):\n"
             "            row = row * 3 + load(y + k * 256 + o) + carry\n"
             "        store(z + i * 256 + o, row - carry)\n"
             "        carry = first\n",
     .want = want_nested, .at = {0, 10 * B, 20 * B}},
    {"addresses from memory",
     "    a = load(y + o)\n    b = load(z + o)\n" LOOP(
         "") "        at = load(x + i) & 15\n"
             "        a = a * 3 + load(x + at * 256 + o)\n"
             "        b = b * 3 + load(x + (load(x + i * 256 + o) & 255))\n"
             "    store(y + o, a)\n    store(z + o, b)\n",
     .want = want_lookup, .at = {0, 30 * B, 32 * B}},
    {"written around the loop",
     "    for round in range(2):\n"
     "        store(x + (255 - o), load(x + o) + 1)\n"
     "        acc = zeros([256], i32)\n"
     "        for i in tl.range(0, n, num_stages=STAGES):\n"
     "            acc = acc * 3 + load(x + i * 256 + o)\n"
     "        debug_barrier()\n"
     "        store(x + max(n - 1, 0) * 256 + (255 - o), acc)\n"
     "        debug_barrier()\n",
     .want = want_around, .at = {0, 0, 0}},
    {"a store in an inner branch",
     "    acc = load(z + o)\n" LOOP(
         "") "        acc = acc * 3 + load(x + i * 256 + o)\n"
             "        if i & 1:\n            store(y + (i + 1) * 256 + o, zeros([256], i32) + i)\n"
             "    store(z + o, acc)\n",
     .want = want_inner_store, .at = {0, 0, 39 * B}},
    {"atomics",
     "    acc = load(z + o)\n" LOOP(
         "") "        acc = acc * 3 + load(x + i * 256 + o)\n"
             "        tl.atomic_add(y + (i + 1) * 256 + o, zeros([256], i32) + i)\n"
             "    store(z + o, acc)\n",
     .want = want_atomic, .at = {0, 0, 39 * B}},
    {"a plane and its transpose, apart",
     "    p = arange(0, 16)\n" LOOP(
         "") "        t = load(x + i * 300 + p[:, None] * 17 + p[None, :]) + m\n"
             "        s = sum(sum(t, axis=1), axis=0)\n"
             "        store(y + i * 300 + (15 - p[:, None]) * 17 + p[None, :], trans(t) + s)\n",
     .want = want_plane, .at = {0, 20 * B, 0}},
    {"a plane and its transpose, in place",
     "    p = arange(0, 16)\n" LOOP(
         "") "        t = load(x + i * 300 + p[:, None] * 17 + p[None, :]) + m\n"
             "        s = sum(sum(t, axis=1), axis=0)\n"
             "        store(y + i * 300 + (15 - p[:, None]) * 17 + p[None, :], trans(t) + s)\n",
     .want = want_plane, .at = {0, 0, 0}},
    {"a plane and its transpose, onto the next",
     "    p = arange(0, 16)\n" LOOP(
         "") "        t = load(x + i * 300 + p[:, None] * 17 + p[None, :]) + m\n"
             "        s = sum(sum(t, axis=1), axis=0)\n"
             "        store(y + i * 300 + (15 - p[:, None]) * 17 + p[None, :], trans(t) + s)\n",
     .want = want_plane, .at = {0, 150, 0}, .is_loose = true},
    {"a pointer that steps", STEPS("0, n", "    p = x + o\n", "p", "        p += 256\n"),
     .want = want_whole, .at = {0, 30 * B, 0}, .one_block = true},
    {"a pointer that steps, in a loop that counts down",
     STEPS("n * 3, 0, -3", "    p = x + o\n", "p", "        p = p + 256\n"), .want = want_whole,
     .at = {0, 30 * B, 0}, .one_block = true},
    {"a pointer that steps by what the run knows",
     STEPS("-n, n, 2", "    p = x + o\n    w = 256 + (n >> 30)\n", "p", "        p += w\n"),
     .want = want_whole, .at = {0, 30 * B, 0}, .one_block = true},
    {"a pointer that steps, in a loop whose step the run knows",
     STEPS("0, n, 1 + (n >> 30)", "    p = x + o\n", "p", "        p += 256\n"), .want = want_whole,
     .at = {0, 30 * B, 0}, .one_block = true},
    {"an index that steps, and is asked for afterwards",
     STEPS("5, 5 + n * 2, 2", "    j = o - 256\n", "x + (j + 256)",
           "        j += 256\n") "    store(y + (j - n * 256 + 256), acc)\n",
     .want = want_whole, .at = {0, 30 * B, 0}, .one_block = true},
    {"a small index that steps",
     STEPS("0, n", "    j = full((), 200, u8)\n", "x + j", "        j += 100\n"),
     .want = want_small, .at = {0, 30 * B, 0}},
    {"a block pointer",
     STEPS("0, n * 256, 256",
           "    p = tl.make_block_ptr(x, (n * 256,), (1,), (0,), (256,), (0,))\n",
           "p, boundary_check=(0,)", "        p = tl.advance(p, (256,))\n"),
     .want = want_whole, .at = {0, 30 * B, 0}, .one_block = true},
    {"a block pointer of two dimensions",
     STEPS("0, n",
           "    p = tl.make_block_ptr(x, (n, 200), (256, 1), (0, 56), (1, 256), (1, 0))\n"
           "    p = p.advance((0, -56))\n",
           "p).reshape(256", "        p = tl.advance(p, (1, 0))\n"),
     .want = want_whole, .at = {0, 30 * B, 0}, .one_block = true},
    {"blocks moved apart", MOVE, .want = want_move, .at = {0, 20 * B, 0}},
    {"blocks moved in place", MOVE, .want = want_move, .at = {0, 0, 0}},
    {"blocks moved onto the next one", MOVE, .want = want_move, .at = {0, B, 0}, .is_loose = true},
    {"blocks moved onto half of the next one", MOVE, .want = want_move, .at = {0, B / 2, 0},
     .is_loose = true},
};

static int32_t start[TOTAL], want[TOTAL], got[TOTAL];

/// Over how many warps and CTAs a program goes.
typedef struct spread {
    uint32_t warps, ctas;
} spread;

static void check(const pipeline_case *p, tile_kernel *k, int n, int m, spread at_once,
                  int stages) {
    size_t total = p->one_block ? (size_t)n * B : TOTAL; // of the buffer that x is in
    tile_buffer *d = buffer_from(start, total * 4);
    tile_buffer *rest = p->one_block ? buffer_from(start + total, (TOTAL - total) * 4) : d;
    int32_t *at = tile_buffer_data(d),
            *far = (int32_t *)tile_buffer_data(rest) - (p->one_block ? total : 0);
    tile_arg args[] = {TILE_POINTER(at + p->at[0], "i32"),
                       TILE_POINTER(far + p->at[1], "i32"),
                       TILE_POINTER(far + p->at[2], "i32"),
                       TILE_I32(n),
                       TILE_I32(m),
                       TILE_CONSTEXPR_INT("STAGES", stages)};
    tile_launch_options o = {.size = sizeof o,
                             .grid = {p->grid ? p->grid : 1},
                             .num_warps = at_once.warps,
                             .num_ctas = at_once.ctas};
    must(tile_launch(k, args, 6, &o, &err));
    read_buffer(d, got, total * 4);
    if (p->one_block)
        read_buffer(rest, got + total, (TOTAL - total) * 4);
    int at_fault = 0;
    while (at_fault < TOTAL && got[at_fault] == want[at_fault])
        at_fault++;
    expect(at_fault == TOTAL,
           "%s, n %d, m %d, %u warps, %u CTAs, %d stages: element %d is %d, expected %d", p->name,
           n, m, at_once.warps, at_once.ctas, stages, at_fault, got[at_fault % TOTAL],
           want[at_fault % TOTAL]);
    tile_buffer_destroy(d);
    if (p->one_block)
        tile_buffer_destroy(rest);
}

static void run(const pipeline_case *p) {
    static const int numbers[] = {0, 1, 2, 3, 9}, stages[] = {1, 2, 3, 5};
    static const spread spreads[] = {{1, 1}, {4, 1}, {2, 2}}; // a cluster last
    size_t num_spreads = has_clusters() ? 3 : 2;
    char source[4096];
    snprintf(source, sizeof source,
             "@triton.jit(do_not_specialize=['x', 'y', 'z', 'n', 'm'])\n"
             "def k(x: *%si32, y: *i32, z: *i32, n: i32, m: i32, STAGES: constexpr):\n"
             "    o = arange(0, 256)\n%s",
             p->is_const ? "const " : "", p->body);
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        int n = numbers[i], m = n % 3;
        memcpy(want, start, sizeof want);
        p->want(&(call){want + p->at[0], want + p->at[1], want + p->at[2], n, m});
        for (size_t s = 0; s < sizeof stages / sizeof *stages; s++)
            for (size_t w = 0; w < (p->is_loose && stages[s] == 1 ? 1 : num_spreads); w++)
                check(p, k, n, m, spreads[w], stages[s]);
    }
    tile_module_destroy(mod);
}

int main(void) {
    open_test_device();
    for (int i = 0; i < TOTAL; i++)
        start[i] = (int32_t)(random_u32() % 1000) - 500;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        run(&cases[i]);
    return finish();
}
