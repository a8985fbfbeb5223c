// join, split, interleave, cat and flip against plain loops, over awkward shapes, every element width,
// 1 to 32 warps, tiles that are loaded along rows and along columns (so that the new dimension meets
// registers, lanes and warps) and three ways to write the result. Random chains of these and of the
// built-ins that only look at a tile in another shape, of up to six dimensions. Then pointers, scalars, what comes
// out of reductions, loops that carry shuffled tiles, and a tile flipped in place.
#include "run.h"

enum { MAX_RANK = 8, MAX_ELEMENTS = 4096, MAX_OUT = 64 * MAX_ELEMENTS };

static const uint32_t warps_list[] = {1, 2, 4, 8, 16, 32};

static void launch(tile_kernel *k, tile_arg *args, uint32_t n, uint32_t warps) {
    tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = warps};
    must(tile_launch(k, args, n, &o, &err));
}

// ---------------------------------------------------------------------------- tiles

typedef struct tile {
    uint32_t rank, dims[MAX_RANK], count;
    uint64_t *at; // the bits of each element, row-major
} tile;

static tile new_tile(uint32_t rank, const uint32_t *dims) {
    tile t = {.rank = rank, .count = 1};
    for (uint32_t d = 0; d < rank; d++)
        t.count *= t.dims[d] = dims[d];
    t.at = xmalloc(t.count * sizeof *t.at);
    return t;
}

/// Row-major index to coordinates.
static void coordinates(const tile *t, uint32_t i, uint32_t *c) {
    for (uint32_t d = t->rank; d-- > 0; i /= t->dims[d])
        c[d] = i % t->dims[d];
}

static uint32_t index_of(const tile *t, const uint32_t *c) {
    uint32_t i = 0;
    for (uint32_t d = 0; d < t->rank; d++)
        i = i * t->dims[d] + c[d];
    return i;
}

/// Where element c of a tile lies in a buffer whose first dimension is the fastest.
static uint32_t column_major(const tile *t, const uint32_t *c) {
    uint32_t i = 0;
    for (uint32_t d = t->rank; d-- > 0;)
        i = i * t->dims[d] + c[d];
    return i;
}

static tile joined(const tile *a, const tile *b) {
    uint32_t dims[MAX_RANK];
    memcpy(dims, a->dims, sizeof dims);
    dims[a->rank] = 2;
    tile t = new_tile(a->rank + 1, dims);
    for (uint32_t i = 0; i < a->count; i++)
        t.at[2 * i] = a->at[i], t.at[2 * i + 1] = b->at[i];
    return t;
}

static tile concatenated(const tile *a, const tile *b, uint32_t dim) {
    uint32_t dims[MAX_RANK], c[MAX_RANK];
    memcpy(dims, a->dims, sizeof dims);
    dims[dim] *= 2;
    tile t = new_tile(a->rank, dims);
    for (uint32_t i = 0; i < t.count; i++) {
        coordinates(&t, i, c);
        const tile *from = c[dim] < a->dims[dim] ? a : b;
        c[dim] %= a->dims[dim];
        t.at[i] = from->at[index_of(a, c)];
    }
    return t;
}

static tile flipped(const tile *a, uint32_t dim) {
    uint32_t c[MAX_RANK];
    tile t = new_tile(a->rank, a->dims);
    for (uint32_t i = 0; i < t.count; i++) {
        coordinates(&t, i, c);
        c[dim] = a->dims[dim] - 1 - c[dim];
        t.at[i] = a->at[index_of(a, c)];
    }
    return t;
}

static tile permuted(const tile *a, const uint32_t *order) {
    uint32_t dims[MAX_RANK], c[MAX_RANK], from[MAX_RANK];
    for (uint32_t d = 0; d < a->rank; d++)
        dims[d] = a->dims[order[d]];
    tile t = new_tile(a->rank, dims);
    for (uint32_t i = 0; i < t.count; i++) {
        coordinates(&t, i, c);
        for (uint32_t d = 0; d < t.rank; d++)
            from[order[d]] = c[d];
        t.at[i] = a->at[index_of(a, from)];
    }
    return t;
}

static tile broadcast(const tile *a, uint32_t rank, const uint32_t *dims) {
    uint32_t c[MAX_RANK], added = rank - a->rank;
    tile t = new_tile(rank, dims);
    for (uint32_t i = 0; i < t.count; i++) {
        coordinates(&t, i, c);
        for (uint32_t d = 0; d < a->rank; d++)
            c[d] = a->dims[d] == 1 ? 0 : c[added + d];
        t.at[i] = a->at[index_of(a, c)];
    }
    return t;
}

/// Every second element: what split gives of the tile read as pairs.
static tile half(const tile *a, uint32_t which) {
    tile t = new_tile(1, (uint32_t[]){a->count / 2});
    for (uint32_t i = 0; i < t.count; i++)
        t.at[i] = a->at[2 * i + which];
    return t;
}

// ---------------------------------------------------------------------------- a program

typedef enum access { SUM_OF_RANGES, RESHAPED_RANGE, OTHER_WAY } access;

/// The text of a kernel, and what it shall have written.
typedef struct program {
    char text[16384];
    size_t len;
    uint64_t *want;
    uint32_t used;
} program;

static void put(program *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(program *p, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    p->len += (size_t)vsnprintf(p->text + p->len, sizeof p->text - p->len, fmt, args);
    va_end(args);
    if (p->len >= sizeof p->text) {
        printf("FAILED the text of a program does not fit\n");
        exit(1);
    }
}

static void put_shape(program *p, const tile *t) {
    put(p, "(");
    for (uint32_t d = 0; d < t->rank; d++)
        put(p, "%u, ", t->dims[d]);
    put(p, ")");
}

/// The offsets of a tile's elements in a buffer.
static void put_offsets(program *p, const tile *t, access how) {
    if (how == RESHAPED_RANGE) {
        put(p, "arange(0, %u).reshape", t->count);
        put_shape(p, t);
        return;
    }
    for (uint32_t d = 0, stride = how == OTHER_WAY ? 1 : t->count; d < t->rank; d++) {
        stride = how == OTHER_WAY ? stride : stride / t->dims[d];
        put(p, "%sarange(0, %u)[", d ? " + " : "", t->dims[d]);
        for (uint32_t i = 0; i < t->rank; i++)
            put(p, "%s%s", i ? ", " : "", i == d ? ":" : "None");
        put(p, "] * %u", stride);
        stride *= how == OTHER_WAY ? t->dims[d] : 1;
    }
}

/// Stores a tile, given as an expression, and says what it shall be. Consumes it.
static void put_store(program *p, const char *expression, tile t, access how) {
    put(p, "    store(out + %u + (", p->used);
    if (how == OTHER_WAY)
        put(p, "arange(0, %u)), ravel(%s))\n", t.count, expression);
    else
        put_offsets(p, &t, how), put(p, "), %s)\n", expression);
    memcpy(p->want + p->used, t.at, t.count * sizeof *t.at);
    p->used += t.count;
    free(t.at);
}

typedef struct element {
    const char *name;
    uint32_t bytes;
} element;

static void write_elements(void *to, const uint64_t *from, uint32_t n, uint32_t bytes) {
    for (uint32_t i = 0; i < n; i++)
        memcpy((char *)to + i * bytes, &from[i], bytes); // little-endian
}

static void run_program(program *p, const element *e, const uint64_t *x, const uint64_t *y,
                        uint32_t n, size_t first_warps, const char *what) {
    tile_module *mod;
    tile_kernel *k = kernel_from(p->text, "k", &mod);
    char *bytes = xmalloc(8 * MAX_OUT);
    char type[16];
    snprintf(type, sizeof type, "%s", e->name);
    write_elements(bytes, x, n, e->bytes);
    tile_buffer *dx = buffer_from(bytes, n * e->bytes);
    write_elements(bytes, y, n, e->bytes);
    tile_buffer *dy = buffer_from(bytes, n * e->bytes);
    tile_buffer *out = buffer_from(NULL, p->used * e->bytes);
    for (size_t w = first_warps; w < 6; w += 2) {
        if (n > 32 * 16 * warps_list[w])
            continue; // compiling so many registers takes long and shows nothing new
        must(tile_fill(out, 0, 0xA5, p->used * e->bytes, NULL, &err));
        tile_arg args[] = {TILE_BUFFER(dx, type), TILE_BUFFER(dy, type), TILE_BUFFER(out, type)};
        launch(k, args, 3, warps_list[w]);
        read_buffer(out, bytes, p->used * e->bytes);
        uint32_t wrong = 0;
        for (uint32_t i = 0; i < p->used; i++)
            wrong += memcmp(bytes + i * e->bytes, &p->want[i], e->bytes) != 0;
        expect(wrong == 0, "%s, %s, %u warps: %u of %u elements are wrong", what, e->name,
               warps_list[w], wrong, p->used);
        if (wrong)
            break;
    }
    tile_buffer_destroy(dx), tile_buffer_destroy(dy), tile_buffer_destroy(out);
    tile_module_destroy(mod);
    free(bytes);
}

static uint64_t random_bits(const element *e) {
    uint64_t v = (uint64_t)random_u32() << 32 | random_u32();
    return !strcmp(e->name, "i1") ? v & 1 : e->bytes < 8 ? v & ((1ull << 8 * e->bytes) - 1) : v;
}

/// Everything on tiles of one shape, with every other number of warps.
static void test_shape(uint32_t rank, const uint32_t *dims, const element *e, access loads,
                       access stores, size_t first_warps) {
    tile a = new_tile(rank, dims), b = new_tile(rank, dims);
    uint64_t *x = xmalloc(a.count * 8), *y = xmalloc(a.count * 8);
    for (uint32_t i = 0; i < a.count; i++)
        x[i] = random_bits(e), y[i] = random_bits(e);
    for (uint32_t i = 0; i < a.count; i++) {
        uint32_t c[MAX_RANK];
        coordinates(&a, i, c);
        uint32_t from = loads == OTHER_WAY ? column_major(&a, c) : i;
        a.at[i] = x[from], b.at[i] = y[from];
    }
    program p = {.want = xmalloc(MAX_OUT * 8)};
    char text[64], what[96];
    put(&p, "def k(x: *%s, y: *%s, out: *%s):\n    o = ", e->name, e->name, e->name);
    put_offsets(&p, &a, loads);
    put(&p, "\n    a = load(x + o)\n    b = load(y + o)\n");
    put_store(&p, "join(a, b)", joined(&a, &b), stores);
    tile j = joined(&a, &b);
    put_store(&p, "tl.flip(join(a, b))", flipped(&j, rank), stores);
    j.rank--;
    j.dims[rank - 1] *= 2;
    put_store(&p, "tl.interleave(a, b)", j, stores);
    for (uint32_t d = 0; d < rank; d++) {
        snprintf(text, sizeof text, "cat(a, b, dim=%d)", (int)d - (d % 2 ? (int)rank : 0));
        put_store(&p, text, concatenated(&a, &b, d), stores);
        snprintf(text, sizeof text, "a.flip(%d)", (int)d - (d % 2 ? (int)rank : 0));
        put_store(&p, text, flipped(&a, d), stores);
    }
    if (a.count >= 2) {
        put(&p, "    l, h = split(a.reshape(%u, 2))\n", a.count / 2);
        put_store(&p, "l", half(&a, 0), stores);
        put_store(&p, "h", half(&a, 1), stores);
        tile l = half(&a, 0), h = half(&a, 1);
        put_store(&p, "join(h, l)", joined(&h, &l), stores);
        free(l.at), free(h.at);
    }
    int len = snprintf(what, sizeof what, "loads %d stores %d shape", loads, stores);
    for (uint32_t d = 0; d < rank; d++)
        len += snprintf(what + len, sizeof what - (size_t)len, " %u", dims[d]);
    run_program(&p, e, x, y, a.count, first_warps, what);
    free(a.at), free(b.at), free(x), free(y), free(p.want);
}

static void test_shapes(void) {
    static const element elements[] = {{"fp32", 4}, {"i8", 1},   {"fp16", 2}, {"i64", 8},
                                       {"i1", 1},   {"fp64", 8}, {"bf16", 2}, {"i32", 4},
                                       {"u16", 2},  {"u8", 1},   {"fp8e5", 1}};
    static const uint32_t shapes[][4] = {
        {1},        {2},         {4},        {16},         {64},          {128},
        {1024},     {4096},      {1, 1},     {2, 2},       {4, 8},        {64, 2},
        {2, 64},    {1, 128},    {32, 32},   {512, 1},     {16, 128},     {2, 4, 8},
        {1, 32, 1}, {16, 1, 64}, {8, 16, 4}, {2, 2, 2, 2}, {4, 1, 16, 8}, {2, 8, 4, 16}};
    uint32_t turn = 0;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        uint32_t rank = 0;
        while (rank < 4 && shapes[s][rank])
            rank++;
        for (uint32_t n = 0; n < 2; n++, turn++)
            test_shape(rank, shapes[s], &elements[turn % 11], (access)((turn + s) % 3),
                       (access)(turn / 2 % 3), n);
    }
}

// ---------------------------------------------------------------------------- chains of views

static uint32_t below(uint32_t n) { return random_u32() % n; }

/// An axis, counted from either end of `rank` dimensions.
static int written(uint32_t axis, uint32_t rank) {
    return below(2) ? (int)axis : (int)axis - (int)rank;
}

/// The dimensions as one tuple or as several arguments, and the end of the call.
static void put_dims(program *p, uint32_t rank, const uint32_t *dims) {
    bool tuple = below(2);
    put(p, tuple ? "(" : "");
    for (uint32_t d = 0; d < rank; d++)
        put(p, "%u, ", dims[d]);
    put(p, tuple ? "))\n" : ")\n");
}

/// Another shape of as many elements.
static void put_reshape(program *p, tile *v) {
    static const char *const names[] = {"reshape", "view"};
    uint32_t left = v->count;
    v->rank = 1 + below(5);
    for (uint32_t d = 0; d < v->rank; d++) {
        v->dims[d] = 1;
        while (left > 1 && (d + 1 == v->rank || below(3)))
            v->dims[d] *= 2, left /= 2;
    }
    put(p, "    v = v.%s(", names[below(2)]);
    put_dims(p, v->rank, v->dims);
}

static void put_permute(program *p, tile *v) {
    uint32_t order[MAX_RANK];
    bool swap = v->rank >= 2 && below(3) == 0;
    for (uint32_t d = 0; d < v->rank; d++)
        order[d] = d;
    for (uint32_t d = swap ? v->rank - 2 : 0; d + 1 < v->rank; d++) {
        uint32_t other = swap ? d + 1 : d + below(v->rank - d), t = order[d];
        order[d] = order[other];
        order[other] = t;
    }
    if (swap) {
        put(p, v->rank == 2 && below(2) ? "    v = v.T\n" : "    v = tl.trans(v)\n");
    } else {
        put(p, "    v = v.permute(");
        for (uint32_t d = 0; d < v->rank; d++)
            put(p, d ? ", %d" : "%d", written(order[d], v->rank));
        put(p, ")\n");
    }
    tile t = permuted(v, order);
    free(v->at);
    *v = t;
}

/// A dimension of extent 1 comes or goes.
static void put_dimension(program *p, tile *v) {
    uint32_t axis = below(v->rank + 1);
    for (uint32_t d = 0; d < v->rank; d++) {
        if (v->dims[d] != 1 || v->rank == 1 || below(2))
            continue;
        put(p, "    v = v.squeeze(%d)\n", written(d, v->rank));
        memmove(&v->dims[d], &v->dims[d + 1], (--v->rank - d) * sizeof v->dims[0]);
        return;
    }
    if (v->rank > 5)
        return;
    if (below(2)) {
        static const char *const names[] = {"expand_dims", "unsqueeze"};
        put(p, "    v = v.%s(%d)\n", names[below(2)], written(axis, v->rank + 1));
    } else {
        put(p, "    v = v[");
        for (uint32_t d = 0; d <= v->rank; d++)
            put(p, d == axis ? "None, " : ":, ");
        put(p, "]\n");
    }
    memmove(&v->dims[axis + 1], &v->dims[axis], (v->rank++ - axis) * sizeof v->dims[0]);
    v->dims[axis] = 1;
}

static void put_broadcast(program *p, tile *v) {
    uint32_t dims[MAX_RANK], count = v->count, added = v->rank < 5 ? below(2) : 0;
    for (uint32_t d = 0; d < added + v->rank; d++) {
        bool free_to_grow = d < added || v->dims[d - added] == 1;
        uint32_t most = count < 512 ? 3 : 1;
        dims[d] = free_to_grow ? 1u << below(most) : v->dims[d - added];
        count *= free_to_grow ? dims[d] : 1;
    }
    put(p, "    v = v.broadcast_to(");
    put_dims(p, added + v->rank, dims);
    tile t = broadcast(v, added + v->rank, dims);
    free(v->at);
    *v = t;
}

static void put_other(program *p, tile *v) {
    uint32_t dim = below(v->rank);
    tile t;
    if (v->count < 1024 && below(2)) {
        put(p, "    v = tl.cat(v, v, dim=%d)\n", written(dim, v->rank));
        t = concatenated(v, v, dim);
    } else if (v->count > 1 && below(2)) {
        uint32_t which = below(2);
        put(p, "    v = v.reshape(%u, 2).split()[%u]\n", v->count / 2, which);
        t = half(v, which);
    } else {
        put(p, "    v = v.flip(%d)\n", written(dim, v->rank));
        t = flipped(v, dim);
    }
    free(v->at);
    *v = t;
}

/// Random chains of everything that changes shapes, ending in a store and in the first element.
static void test_chains(void) {
    typedef void step(program * p, tile * v);
    static step *const steps[] = {put_reshape,   put_permute,   put_permute,
                                  put_dimension, put_broadcast, put_other};
    static const element elements[] = {{"i32", 4}, {"fp16", 2}, {"i64", 8}, {"i1", 1}};
    for (uint32_t n = 0; n < 48; n++) {
        const element *e = &elements[below(4)];
        program p = {.want = xmalloc(MAX_OUT * 8)};
        tile v = new_tile(1, (uint32_t[]){1u << below(10)});
        uint32_t count = v.count;
        uint64_t *x = xmalloc(count * 8);
        for (uint32_t i = 0; i < count; i++)
            v.at[i] = x[i] = random_bits(e);
        put(&p, "def k(x: *%s, y: *%s, out: *%s):\n    v = load(x + arange(0, %u))\n", e->name,
            e->name, e->name, count);
        for (uint32_t i = 0; i < 6; i++)
            steps[below(6)](&p, &v);
        put(&p, "    one = tl.broadcast(v, v)[0].ravel().reshape(1, %u)\n", v.count);
        for (uint32_t left = v.count; left > 1; left /= 2)
            put(&p, "    one = one.reshape(%u, 2).split()[0]\n", left / 2);
        put(&p, "    store(out, one.%s)\n    store(out + 1, one.ravel().item())\n",
            below(2) ? "item()" : "reshape(())");
        p.want[p.used++] = v.at[0];
        p.want[p.used++] = v.at[0];
        put_store(&p, "v", v, (access)below(3));
        char what[32];
        snprintf(what, sizeof what, "chain %u", n);
        run_program(&p, e, x, x, count, below(2), what);
        free(x), free(p.want);
    }
}

// ---------------------------------------------------------------------------- special cases

enum { N = 256 };

/// Runs a kernel of two i32 buffers: x of N elements, 0, 1, 2 ..., and out, of `n`.
static void run_special(const char *source, const int32_t *want, uint32_t n, const char *what) {
    tile_module *mod;
    tile_kernel *k = kernel_from(source, "k", &mod);
    int32_t x[N], *out = xmalloc(n * 4);
    for (int i = 0; i < N; i++)
        x[i] = i;
    for (size_t w = 0; w < 6; w++) {
        tile_buffer *dx = buffer_from(x, sizeof x), *dout = buffer_from(NULL, n * 4);
        tile_arg args[] = {TILE_BUFFER(dx, "i32"), TILE_BUFFER(dout, "i32")};
        launch(k, args, 2, warps_list[w]);
        read_buffer(dout, out, n * 4);
        uint32_t i = 0;
        while (i < n && out[i] == want[i])
            i++;
        expect(i == n, "%s, %u warps: out[%u] is %d, not %d", what, warps_list[w], i,
               i < n ? out[i] : 0, i < n ? want[i] : 0);
        tile_buffer_destroy(dx), tile_buffer_destroy(dout);
    }
    tile_module_destroy(mod);
    free(out);
}

static void test_pointers(void) {
    int32_t want[4 * N];
    for (int i = 0; i < N; i++) {
        want[i] = i % 2 ? N - 1 - i / 2 : i / 2;             // joined with the flipped ones
        want[N + i] = i < N / 2 ? 2 * i : 2 * i - N + 1;     // split, one after the other
        want[2 * N + i] = i < N / 2 ? N / 2 + i : i - N / 2; // the upper half first
        want[3 * N + i] = N - 1 - i;
    }
    run_special("def k(x: *i32, out: *i32):\n"
                "    o = arange(0, 256)\n"
                "    h = arange(0, 128)\n"
                "    p = tl.join(x + h, tl.flip(x + 128 + h))\n"
                "    store(out + o, load(p).ravel())\n"
                "    even, odd = tl.split((x + o).reshape(128, 2))\n"
                "    store(out + 256 + h, load(even))\n"
                "    store(out + 384 + h, load(odd, mask=h < 128))\n"
                "    store(out + 512 + o, load(tl.cat(x + 128 + h, x + h)))\n"
                "    store(tl.flip(out + 768 + o), load(x + o))\n",
                want, 4 * N, "pointers");
}

static void test_scalars(void) {
    static const int32_t want[] = {3, 5, 5, 3, 15, 1, 7, 7, 3};
    run_special("def k(x: *i32, out: *i32):\n"
                "    a = load(x + 3)\n"
                "    b = load(x + 5)\n"
                "    o = arange(0, 2)\n"
                "    pair = tl.join(a, b)\n"
                "    store(out + o, pair)\n"
                "    store(out + 2 + o, tl.interleave(b, a))\n"
                "    p, q = tl.split(pair)\n"
                "    store(out + 4, p * q)\n"
                "    if q > p:\n"
                "        store(out + 5, 1)\n"
                "    else:\n"
                "        store(out + 5, 0)\n"
                "    one = load(x + 7 + arange(0, 1))\n"
                "    store(out + 6, one.item())\n"
                "    store(out + 7, tl.reshape(one[:, None], ()))\n"
                "    s, t = tl.split(tl.flip(load(x + 2 + arange(0, 2))))\n"
                "    store(out + 8, s)\n",
                want, 9, "scalars");
}

static void test_after_reductions(void) {
    int32_t want[16 + 32 + 32 + 8 + 8], sum[16];
    for (int r = 0; r < 16; r++) {
        sum[r] = 0;
        for (int c = 0; c < 16; c++)
            sum[r] += r * 16 + c;
    }
    for (int r = 0; r < 16; r++) {
        want[15 - r] = sum[r];
        want[16 + 2 * r] = sum[r], want[16 + 2 * r + 1] = -sum[r];
        want[48 + r] = sum[r], want[64 + r] = r;
        want[80 + r / 2 + r % 2 * 8] = sum[r];
    }
    run_special("def k(x: *i32, out: *i32):\n"
                "    r = arange(0, 16)\n"
                "    s = sum(load(x + r[:, None] * 16 + r[None, :]), axis=1)\n"
                "    store(out + r, tl.flip(s))\n"
                "    store(out + 16 + arange(0, 32), tl.interleave(s, -s))\n"
                "    store(out + 48 + arange(0, 32), tl.cat(s, r))\n"
                "    even, odd = tl.split(s.reshape(8, 2))\n"
                "    store(out + 80 + arange(0, 16), tl.cat(even, odd))\n",
                want, 96, "after reductions");
}

/// Perfect shuffles: log2(N) of them give back the tile; and each pass is one in between.
static void test_loops(void) {
    int32_t want[3 * N];
    for (int i = 0; i < N; i++) {
        want[i] = i;
        unsigned at = (unsigned)i; // three shuffles: the index rotates by three bits
        for (int n = 0; n < 3; n++)
            at = at >> 1 | (at & 1) << 7;
        want[N + i] = (int32_t)at;
        want[2 * N + i] = N - 1 - i + 5;
    }
    run_special("def shuffled(v, times):\n"
                "    for i in range(times):\n"
                "        l, h = tl.split(tl.trans(v.reshape(2, 128)))\n"
                "        v = tl.interleave(l, h)\n"
                "    return v\n"
                "def k(x: *i32, out: *i32):\n"
                "    o = arange(0, 256)\n"
                "    v = load(x + o)\n"
                "    store(out + o, shuffled(v, 8))\n"
                "    store(out + 256 + o, shuffled(v, 3))\n"
                "    w = v\n"
                "    for i in range(5):\n"
                "        w = tl.flip(w) + 1\n"
                "    store(out + 512 + o, w)\n",
                want, 3 * N, "loops");
}

/// A Walsh-Hadamard transform, unrolled: every index bit is the one to be split once, wherever it is,
/// and no copies gather on the way (1024 elements in each thread would be refused).
static void test_transform(void) {
    int32_t want[N];
    for (int i = 0; i < N; i++)
        want[i] = i;
    for (int bit = 1; bit < N; bit *= 2)
        for (int i = 0; i < N; i++)
            if (!(i & bit)) {
                int32_t a = want[i], b = want[i | bit];
                want[i] = a + b, want[i | bit] = a - b;
            }
    run_special("def k(x: *i32, out: *i32):\n"
                "    o = arange(0, 256)\n"
                "    v = load(x + o)\n"
                "    for i in tl.static_range(8):\n"
                "        a, b = tl.split(v.reshape(2 ** i, 2, 128 // 2 ** i).permute(0, 2, 1))\n"
                "        v = tl.join(a + b, a - b).permute(0, 2, 1).ravel()\n"
                "    store(out + o, v)\n",
                want, N, "transform");
}

/// Each flip reads what the one before has written: threads wait for each other.
static void test_in_place(void) {
    int32_t want[N];
    for (int i = 0; i < N; i++)
        want[i] = (15 - i % 16) * 16 + i / 16; // a quarter turn
    run_special("def k(x: *i32, out: *i32):\n"
                "    o = arange(0, 256)\n"
                "    r = arange(0, 16)\n"
                "    store(x + o, tl.flip(load(x + o)))\n"
                "    store(x + o, tl.flip(load(x + o)))\n"
                "    p = x + r[:, None] * 16 + r[None, :]\n"
                "    store(p, load(p).T)\n"
                "    store(p, load(p).flip(1))\n"
                "    store(out + o, load(x + o))\n",
                want, N, "in place");
}

int main(void) {
    open_test_device();
    test_shapes();
    test_chains();
    test_pointers();
    test_scalars();
    test_after_reductions();
    test_loops();
    test_transform();
    test_in_place();
    return finish();
}
