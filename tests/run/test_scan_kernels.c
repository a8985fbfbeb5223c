// Kernels in the manner of public ones that are built on scans, sorting and histograms: a recurrence
// over time in chunks, tokens dealt out to experts, compaction, top-p sampling, sums of segments, a
// running log-sum-exp, positions in a packed batch. Each against a loop in C.
#include "run.h"

typedef struct launch {
    tile_buffer *buffer[6];
    uint32_t num_buffers;
    tile_arg args[12];
    uint32_t num_args;
} launch;

/// Adds a buffer argument with the given contents; NULL: filled with 0xA5.
static void add_buffer(launch *l, const char *type, const void *data, size_t bytes) {
    tile_buffer *b = l->buffer[l->num_buffers++] = buffer_from(data, bytes);
    l->args[l->num_args++] = (tile_arg)TILE_BUFFER(b, type);
}

static void add_arg(launch *l, tile_arg a) { l->args[l->num_args++] = a; }

static void run(launch *l, const char *source, uint32_t grid, uint32_t warps) {
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "kernel", &mod);
    tile_launch_options o = {.size = sizeof o, .grid = {grid}, .num_warps = warps};
    must(tile_launch(k, l->args, l->num_args, &o, &err));
    must(tile_synchronize(dev, NULL, &err));
    tile_module_destroy(mod);
}

static void end(launch *l) {
    for (uint32_t i = 0; i < l->num_buffers; i++)
        tile_buffer_destroy(l->buffer[i]);
}

static float random_unit(void) { return (float)(random_u32() >> 8) * 0x1p-24f; }

/// |got - want| within `bound` of the size of the numbers that made it.
static bool is_near(double got, double want, double size, double bound) {
    return fabs(got - want) <= bound * (size + 1e-6);
}

// ---------------------------------------------------------------------------- the kernels

// h[t] = a[t] * h[t - 1] + b[t] for each of D channels, over chunks of time (a state-space model).
static const char recurrence[] =
    "@triton.jit\n"
    "def first_order(al, bl, ar, br):\n"
    "    return ar * al, ar * bl + br\n"
    "@triton.jit\n"
    "def kernel(a_ptr, b_ptr, h_ptr, T, D: tl.constexpr, CHUNK: tl.constexpr):\n"
    "    d = tl.arange(0, D)\n"
    "    t = tl.arange(0, CHUNK)\n"
    "    state = tl.zeros((D,), tl.float32)\n"
    "    for start in range(0, T, CHUNK):\n"
    "        at = (start + t)[:, None] * D + d[None, :]\n"
    "        live = (start + t < T)[:, None]\n"
    "        a = tl.load(a_ptr + at, mask=live, other=1.0)\n"
    "        b = tl.load(b_ptr + at, mask=live, other=0.0)\n"
    "        decay, own = tl.associative_scan((a, b), 0, first_order)\n"
    "        h = own + decay * state[None, :]\n"
    "        tl.store(h_ptr + at, h, mask=live)\n"
    "        state = tl.sum(tl.where((t == CHUNK - 1)[:, None], h, 0.0), axis=0)\n";

static void test_recurrence(uint32_t warps) {
    enum { T = 75, D = 16 };
    static float a[T * D], b[T * D], h[T * D];
    for (int i = 0; i < T * D; i++) {
        a[i] = 0.5f + 0.5f * random_unit();
        b[i] = random_unit() - 0.5f;
    }
    launch l = {0};
    add_buffer(&l, "fp32", a, sizeof a);
    add_buffer(&l, "fp32", b, sizeof b);
    add_buffer(&l, "fp32", NULL, sizeof h);
    add_arg(&l, TILE_I32(T));
    add_arg(&l, TILE_CONSTEXPR_INT("D", D));
    add_arg(&l, TILE_CONSTEXPR_INT("CHUNK", 32));
    run(&l, recurrence, 1, warps);
    read_buffer(l.buffer[2], h, sizeof h);
    for (int d = 0; d < D; d++) {
        double state = 0, size = 0;
        for (int t = 0; t < T; t++) {
            state = a[t * D + d] * state + b[t * D + d];
            size = a[t * D + d] * size + fabsf(b[t * D + d]);
            expect(is_near(h[t * D + d], state, size, 64 * 0x1p-24), "recurrence: h[%d][%d]", t, d);
        }
    }
    end(&l);
}

// Where the tokens of each expert begin, in blocks of BLOCK, and each token's place.
static const char experts[] =
    "@triton.jit\n"
    "def kernel(topk_ids, starts_ptr, place_ptr, n, N: tl.constexpr, E: tl.constexpr, "
    "BLOCK: tl.constexpr):\n"
    "    o = tl.arange(0, N)\n"
    "    e = tl.arange(0, E)\n"
    "    ids = tl.load(topk_ids + o, mask=o < n, other=E)\n"
    "    counts = tl.histogram(ids, E, mask=o < n)\n"
    "    padded = tl.cdiv(counts, BLOCK) * BLOCK\n"
    "    starts = tl.cumsum(padded, 0) - padded\n"
    "    tl.store(starts_ptr + e, starts)\n"
    "    is_mine = (ids[:, None] == e[None, :]).to(tl.int32)\n"
    "    rank = tl.sum((tl.cumsum(is_mine, 0) - is_mine) * is_mine, axis=1)\n"
    "    safe = tl.where(o < n, ids, 0)\n"
    "    tl.store(place_ptr + o, tl.gather(starts, safe, 0) + rank, mask=o < n)\n";

static void test_experts(uint32_t warps) {
    enum { N = 128, n = 101, E = 8, BLOCK = 16 };
    int32_t ids[n], starts[E], places[n], count[E] = {0}, seen[E] = {0}, begin[E], next = 0;
    for (int i = 0; i < n; i++)
        count[ids[i] = (int32_t)(random_u32() % E)]++;
    launch l = {0};
    add_buffer(&l, "i32", ids, sizeof ids);
    add_buffer(&l, "i32", NULL, sizeof starts);
    add_buffer(&l, "i32", NULL, sizeof places);
    add_arg(&l, TILE_I32(n));
    add_arg(&l, TILE_CONSTEXPR_INT("N", N));
    add_arg(&l, TILE_CONSTEXPR_INT("E", E));
    add_arg(&l, TILE_CONSTEXPR_INT("BLOCK", BLOCK));
    run(&l, experts, 1, warps);
    read_buffer(l.buffer[1], starts, sizeof starts);
    read_buffer(l.buffer[2], places, sizeof places);
    for (int e = 0; e < E; e++) {
        begin[e] = next;
        next += (count[e] + BLOCK - 1) / BLOCK * BLOCK;
        expect(starts[e] == begin[e], "experts: expert %d starts at %d, not %d", e, starts[e],
               begin[e]);
    }
    for (int i = 0; i < n; i++) {
        int want = begin[ids[i]] + seen[ids[i]]++;
        expect(places[i] == want, "experts: token %d goes to %d, not %d", i, places[i], want);
    }
    end(&l);
}

// The positive elements side by side, across blocks that add up in order of a first kernel's counts.
static const char compaction[] = "@triton.jit\n"
                                 "def kernel(x_ptr, out_ptr, total_ptr, n, BLOCK: tl.constexpr):\n"
                                 "    base = 0\n"
                                 "    for start in range(0, n, BLOCK):\n"
                                 "        o = start + tl.arange(0, BLOCK)\n"
                                 "        x = tl.load(x_ptr + o, mask=o < n, other=0)\n"
                                 "        keep = x > 0\n"
                                 "        place = tl.cumsum(keep.to(tl.int32), 0)\n"
                                 "        tl.store(out_ptr + base + place - 1, x, mask=keep)\n"
                                 "        base += tl.sum(keep.to(tl.int32), 0)\n"
                                 "    tl.store(total_ptr, base)\n";

static void test_compaction(uint32_t warps) {
    enum { n = 1500 };
    static int32_t x[n], out[n];
    int32_t total, kept = 0;
    for (int i = 0; i < n; i++)
        x[i] = (int32_t)random_u32();
    launch l = {0};
    add_buffer(&l, "i32", x, sizeof x);
    add_buffer(&l, "i32", NULL, sizeof out);
    add_buffer(&l, "i32", NULL, sizeof total);
    add_arg(&l, TILE_I32(n));
    add_arg(&l, TILE_CONSTEXPR_INT("BLOCK", 256));
    run(&l, compaction, 1, warps);
    read_buffer(l.buffer[1], out, sizeof out);
    read_buffer(l.buffer[2], &total, sizeof total);
    for (int i = 0; i < n; i++)
        if (x[i] > 0) {
            expect(out[kept] == x[i], "compaction: place %d", kept);
            kept++;
        }
    expect(total == kept, "compaction: %d kept, not %d", total, kept);
    end(&l);
}

// The fewest most likely tokens whose probabilities add up to p: how many, and the least of them.
static const char top_p[] =
    "@triton.jit\n"
    "def kernel(logits, counts, least, p, N: tl.constexpr):\n"
    "    row = tl.program_id(0)\n"
    "    x = tl.load(logits + row * N + tl.arange(0, N))\n"
    "    e = tl.exp(x - tl.max(x, axis=0))\n"
    "    probs = tl.sort(e / tl.sum(e, axis=0), descending=True)\n"
    "    before = tl.cumsum(probs, axis=0) - probs\n"
    "    kept = before < p\n"
    "    tl.store(counts + row, tl.sum(kept.to(tl.int32), axis=0))\n"
    "    tl.store(least + row, tl.min(tl.where(kept, probs, 1.0), axis=0))\n";

static int falling(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

static void test_top_p(uint32_t warps) {
    enum { ROWS = 3, N = 128 };
    static float x[ROWS * N], least[ROWS];
    int32_t counts[ROWS];
    for (int i = 0; i < ROWS * N; i++)
        x[i] = 6 * random_unit();
    launch l = {0};
    add_buffer(&l, "fp32", x, sizeof x);
    add_buffer(&l, "i32", NULL, sizeof counts);
    add_buffer(&l, "fp32", NULL, sizeof least);
    add_arg(&l, TILE_FP32(0.8f));
    add_arg(&l, TILE_CONSTEXPR_INT("N", N));
    run(&l, top_p, ROWS, warps);
    read_buffer(l.buffer[1], counts, sizeof counts);
    read_buffer(l.buffer[2], least, sizeof least);
    for (int r = 0; r < ROWS; r++) {
        double e[N], sum = 0, before = 0;
        for (int i = 0; i < N; i++)
            sum += e[i] = exp(x[r * N + i]);
        qsort(e, N, sizeof e[0], falling);
        int kept = 0;
        for (; kept < N && before < 0.8 - 1e-5; kept++) // not decided by the last bits
            before += e[kept] / sum;
        expect(abs(counts[r] - kept) <= (fabs(before - 0.8) < 1e-4),
               "top-p: %d kept of row %d, not %d", counts[r], r, kept);
        expect(is_near(least[r], e[counts[r] - 1] / sum, 1, 1e-5), "top-p: the least of row %d", r);
    }
    end(&l);
}

// Sums that begin again wherever a flag is set; and the same from the right.
static const char segments[] =
    "@triton.jit\n"
    "def seg_add(fl, vl, fr, vr):\n"
    "    return fl | fr, tl.where(fr != 0, vr, vl + vr)\n"
    "@triton.jit\n"
    "def kernel(flags, x_ptr, out_ptr, back_ptr, N: tl.constexpr):\n"
    "    o = tl.arange(0, N)\n"
    "    f = tl.load(flags + o)\n"
    "    x = tl.load(x_ptr + o)\n"
    "    _, s = tl.associative_scan((f, x), 0, seg_add)\n"
    "    tl.store(out_ptr + o, s)\n"
    "    last = tl.load(flags + o + 1, mask=o + 1 < N, other=1)\n"
    "    _, s = tl.associative_scan((last, x), 0, seg_add, reverse=True)\n"
    "    tl.store(back_ptr + o, s)\n";

static void test_segments(uint32_t warps) {
    enum { N = 512 };
    static int32_t flags[N], x[N], out[N], back[N];
    for (int i = 0; i < N; i++) {
        flags[i] = random_u32() % 7 == 0;
        x[i] = (int32_t)(random_u32() % 1000) - 500;
    }
    launch l = {0};
    add_buffer(&l, "i32", flags, sizeof flags);
    add_buffer(&l, "i32", x, sizeof x);
    add_buffer(&l, "i32", NULL, sizeof out);
    add_buffer(&l, "i32", NULL, sizeof back);
    add_arg(&l, TILE_CONSTEXPR_INT("N", N));
    run(&l, segments, 1, warps);
    read_buffer(l.buffer[2], out, sizeof out);
    read_buffer(l.buffer[3], back, sizeof back);
    for (int i = 0, sum = 0; i < N; i++) {
        sum = flags[i] ? x[i] : sum + x[i];
        expect(out[i] == sum, "segments: element %d", i);
    }
    for (int i = N - 1, sum = 0; i >= 0; i--) {
        sum = i == N - 1 || flags[i + 1] ? x[i] : sum + x[i];
        expect(back[i] == sum, "segments from the right: element %d", i);
    }
    end(&l);
}

// log(exp(x0) + ... + exp(xi)) along the rows of a tile, without overflow: pairs of a maximum and a
// sum relative to it.
static const char log_sum_exp[] =
    "@triton.jit\n"
    "def merge(ma, sa, mb, sb):\n"
    "    m = tl.maximum(ma, mb)\n"
    "    return m, sa * tl.exp(ma - m) + sb * tl.exp(mb - m)\n"
    "@triton.jit\n"
    "def kernel(x_ptr, y_ptr, ROWS: tl.constexpr, N: tl.constexpr):\n"
    "    at = tl.arange(0, ROWS)[:, None] * N + tl.arange(0, N)[None, :]\n"
    "    x = tl.load(x_ptr + at)\n"
    "    m, s = tl.associative_scan((x, tl.full((ROWS, N), 1.0, tl.float32)), 1, merge)\n"
    "    tl.store(y_ptr + at, m + tl.log(s))\n";

static void test_log_sum_exp(uint32_t warps) {
    enum { ROWS = 4, N = 256 };
    static float x[ROWS * N], y[ROWS * N];
    for (int i = 0; i < ROWS * N; i++)
        x[i] = 400 * (random_unit() - 0.5f);
    launch l = {0};
    add_buffer(&l, "fp32", x, sizeof x);
    add_buffer(&l, "fp32", NULL, sizeof y);
    add_arg(&l, TILE_CONSTEXPR_INT("ROWS", ROWS));
    add_arg(&l, TILE_CONSTEXPR_INT("N", N));
    run(&l, log_sum_exp, 1, warps);
    read_buffer(l.buffer[1], y, sizeof y);
    for (int r = 0; r < ROWS; r++) {
        double sum = 0, base = x[r * N];
        for (int i = 0; i < N; i++) {
            double v = x[r * N + i];
            sum = v > base ? sum * exp(base - v) + 1 : sum + exp(v - base);
            base = v > base ? v : base;
            expect(is_near(y[r * N + i], base + log(sum), fabs(base) + 1, 32 * 0x1p-24),
                   "log-sum-exp: row %d, element %d", r, i);
        }
    }
    end(&l);
}

// Of a batch of sequences packed end to end: which sequence a token is of, and its place there.
static const char positions[] =
    "@triton.jit\n"
    "def kernel(lengths, sequence_ptr, place_ptr, num, B: tl.constexpr, N: tl.constexpr):\n"
    "    b = tl.arange(0, B)\n"
    "    len = tl.load(lengths + b, mask=b < num, other=0)\n"
    "    ends = tl.cumsum(len, 0)\n"
    "    total = tl.max(ends, 0)\n"
    "    t = tl.arange(0, N)\n"
    "    of = tl.sum((ends[None, :] <= t[:, None]).to(tl.int32), axis=1)\n"
    "    starts = tl.gather(ends - len, tl.minimum(of, B - 1), 0)\n"
    "    tl.store(sequence_ptr + t, of, mask=t < total)\n"
    "    tl.store(place_ptr + t, t - starts, mask=t < total)\n";

static void test_positions(uint32_t warps) {
    enum { B = 16, num = 13, N = 256 };
    int32_t lengths[num], sequence[N], place[N], t = 0;
    for (int i = 0; i < num; i++)
        lengths[i] = (int32_t)(random_u32() % 19); // some are empty
    launch l = {0};
    add_buffer(&l, "i32", lengths, sizeof lengths);
    add_buffer(&l, "i32", NULL, sizeof sequence);
    add_buffer(&l, "i32", NULL, sizeof place);
    add_arg(&l, TILE_I32(num));
    add_arg(&l, TILE_CONSTEXPR_INT("B", B));
    add_arg(&l, TILE_CONSTEXPR_INT("N", N));
    run(&l, positions, 1, warps);
    read_buffer(l.buffer[1], sequence, sizeof sequence);
    read_buffer(l.buffer[2], place, sizeof place);
    for (int i = 0; i < num; i++)
        for (int k = 0; k < lengths[i]; k++, t++)
            expect(sequence[t] == i && place[t] == k,
                   "positions: token %d is %d of %d, not %d of %d", t, place[t], sequence[t], k, i);
    end(&l);
}

int main(void) {
    open_test_device();
    for (uint32_t warps = 1; warps <= 8; warps *= 2) {
        test_recurrence(warps);
        test_experts(warps);
        test_compaction(warps);
        test_top_p(warps);
        test_segments(warps);
        test_log_sum_exp(warps);
        test_positions(warps);
    }
    return finish();
}
