// Integer division and remainder of tiles by tiles, by what a reduction gives, and by what was loaded
// once for all elements: the quotient in all types, zero, -1 and the ends of the types included. The
// last two are splats of one lane, which LLVM's fast code generator did not end on.
#include "run.h"

enum { N = 64 };

static const char source[] =
    "def k(x: *T, y: *T, q: *T, r: *T, by_max: *T, by_one: *T, at: i32):\n"
    "    o = arange(0, 64)\n"
    "    a = load(x + o)\n"
    "    b = load(y + o)\n"
    "    one = load(y + at + arange(0, 1))\n"
    "    store(q + o, a // b)\n"
    "    store(r + o, a % b)\n"
    "    store(by_max + o, a // max(b, axis=0).to(T))\n"
    "    store(by_one + o, a // broadcast_to(one, [64]) + sum(one // one, axis=0).to(T))\n";

typedef struct int_type {
    const char *name;
    unsigned bits;
    bool is_signed;
} int_type;

static const int_type types[] = {{"i8", 8, true},    {"i16", 16, true}, {"i32", 32, true},
                                 {"i64", 64, true},  {"u8", 8, false},  {"u16", 16, false},
                                 {"u32", 32, false}, {"u64", 64, false}};

static int64_t load_int(const int_type *t, const void *data, int i) {
    uint64_t v = 0;
    memcpy(&v, (const char *)data + i * (int)t->bits / 8, t->bits / 8);
    unsigned unused = 64 - t->bits;
    return t->is_signed ? (int64_t)(v << unused) >> unused : (int64_t)v;
}

/// The value as the type holds it.
static int64_t cut(const int_type *t, uint64_t v) { return load_int(t, &v, 0); }

static int64_t divide(const int_type *t, bool rem, int64_t x, int64_t y) {
    if (y == 0)
        return cut(t, UINT64_MAX);
    if (!t->is_signed)
        return (int64_t)(rem ? (uint64_t)x % (uint64_t)y : (uint64_t)x / (uint64_t)y);
    if (y == -1)
        return rem ? 0 : cut(t, 0 - (uint64_t)x);
    return rem ? x % y : x / y;
}

static void fill(const int_type *t, void *x, void *y) {
    int64_t least = t->is_signed ? cut(t, UINT64_C(1) << (t->bits - 1)) : 0;
    const int64_t edges[] = {0, 1, -1, least, (int64_t)(~(uint64_t)least), 3, -7, 16};
    for (int i = 0; i < N; i++) {
        uint64_t a = (uint64_t)edges[i % 8], b = (uint64_t)edges[i / 8];
        if (i % 3 == 1)
            a = (uint64_t)random_u32() << 32 | random_u32();
        memcpy((char *)x + i * (int)t->bits / 8, &a, t->bits / 8);
        memcpy((char *)y + i * (int)t->bits / 8, &b, t->bits / 8);
    }
}

static void check(const int_type *t, const char *what, tile_buffer *b, const int64_t *want) {
    uint64_t got[N];
    read_buffer(b, got, N * t->bits / 8);
    for (int i = 0; i < N; i++)
        expect(load_int(t, got, i) == want[i], "%s %s[%d]: %lld, expected %lld", t->name, what, i,
               (long long)load_int(t, got, i), (long long)want[i]);
}

static void run(const int_type *t) {
    char text[2 * sizeof source], *end = text;
    for (const char *s = source; *s; s++)
        end += *s == 'T' ? sprintf(end, "%s", t->name) : sprintf(end, "%c", *s);
    tile_module *mod;
    tile_kernel *k = kernel_from(text, "k", &mod);
    uint64_t x[N], y[N];
    fill(t, x, y);
    int64_t max = load_int(t, y, 0), want[4][N];
    for (int i = 1; i < N; i++) {
        int64_t v = load_int(t, y, i);
        max = (t->is_signed ? v > max : (uint64_t)v > (uint64_t)max) ? v : max;
    }
    tile_buffer *b[6] = {buffer_from(x, sizeof x), buffer_from(y, sizeof y)};
    for (int i = 2; i < 6; i++)
        b[i] = buffer_from(NULL, sizeof x);
    for (int at = 0; at < N; at += 9) {
        for (int i = 0; i < N; i++) {
            int64_t v = load_int(t, x, i), by = load_int(t, y, i), one = load_int(t, y, at);
            want[0][i] = divide(t, false, v, by);
            want[1][i] = divide(t, true, v, by);
            want[2][i] = divide(t, false, v, max);
            want[3][i] =
                cut(t, (uint64_t)divide(t, false, v, one) + (uint64_t)divide(t, false, one, one));
        }
        tile_arg args[7];
        for (int i = 0; i < 6; i++)
            args[i] = TILE_BUFFER(b[i], t->name);
        args[6] = TILE_I32(at);
        tile_launch_options o = {.size = sizeof o, .grid = {1}, .num_warps = 1u << at % 3};
        must(tile_launch(k, args, 7, &o, &err));
        static const char *const names[] = {"quotient", "remainder", "by the largest", "by one"};
        for (int i = 0; i < 4; i++)
            check(t, names[i], b[i + 2], want[i]);
    }
    for (int i = 0; i < 6; i++)
        tile_buffer_destroy(b[i]);
    tile_module_destroy(mod);
}

int main(void) {
    open_test_device();
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        run(&types[i]);
    return finish();
}
