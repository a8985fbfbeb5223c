// Conversions, flips, joins, reductions, scans, gathers, histograms and atomics in thousands of random
// layouts, as tile IR text, checked on the device against the map itself. Layouts have 1 to 4 dimensions, registers, lanes, warps and CTAs
// in any order, mixed by XOR, with copies (zero and dependent bases) everywhere.
//
// A converted tile is compared, by `assert` and so in every copy, with the same tile made in the
// second layout straight away; and one copy of each element is stored and read back here.
// Arguments: the number of cases (2000) and the first seed (1).
#include "run.h"

#include <stdint.h>

enum { MAX_BITS = 40, BATCH = 7, SLICE = 4096, INPUT = 4096 };

// ---------------------------------------------------------------------------- random layouts

static uint64_t rng;

static uint32_t rnd(uint32_t below) {
    rng = rng * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((rng >> 33) % below);
}

typedef struct map {
    unsigned index_bits, reg, warp;
    uint32_t basis[MAX_BITS]; // reg, lane, warp; the last of these are CTAs (module.cta)
} map;

static unsigned place_bits(const map *m) { return m->reg + 5 + m->warp; }

/// A random map onto index_bits bits. Bits of `axis` and others are not mixed.
static map random_map(unsigned index_bits, unsigned warp, uint32_t axis) {
    map m = {.index_bits = index_bits, .warp = warp};
    unsigned least = index_bits > 5 + warp ? index_bits - 5 - warp : 0;
    m.reg = least + rnd(least < 2 ? 3 : 1);
    unsigned n = place_bits(&m), at[MAX_BITS];
    for (unsigned i = 0; i < n; i++)
        at[i] = i;
    bool ordered = rnd(3) == 0; // as code makes them: bits in order, copies on top
    for (unsigned i = 0; i + 1 < n && !ordered; i++) {
        unsigned j = i + rnd(n - i), t = at[i];
        at[i] = at[j];
        at[j] = t;
    }
    for (unsigned i = 0; i < index_bits; i++)
        m.basis[at[i]] = 1u << i;
    if (rnd(2))
        return m;
    for (unsigned mixes = rnd(2 * n); mixes > 0; mixes--) {
        unsigned to = rnd(n), from = rnd(n);
        bool apart = m.basis[to] && ((m.basis[to] & axis) != 0) != ((m.basis[from] & axis) != 0);
        if (to != from && !apart)
            m.basis[to] ^= m.basis[from];
    }
    return m;
}

static uint32_t close_gaps(uint32_t v, uint32_t drop) {
    uint32_t out = 0;
    for (unsigned from = 0, to = 0; from < 32; from++) {
        if (!(drop >> from & 1))
            out |= (v >> from & 1) << to++;
    }
    return out;
}

/// What reducing the bits in `axis` leaves of a layout: see layout_reduce_result.
static map reduced(const map *m, uint32_t axis) {
    map out = {.warp = m->warp, .index_bits = m->index_bits - (unsigned)__builtin_popcount(axis)};
    uint8_t *seen = calloc(1, (size_t)1 << out.index_bits); // all XORs of the registers kept
    seen[0] = 1;
    for (unsigned i = 0; i < place_bits(m); i++) {
        uint32_t v = close_gaps(m->basis[i], axis);
        if (i < m->reg && seen[v])
            continue;
        for (uint32_t x = 0; i < m->reg && x < 1u << out.index_bits; x++)
            seen[x ^ v] |= seen[x] == 1 ? 2 : 0;
        for (uint32_t x = 0; x < 1u << out.index_bits; x++)
            seen[x] = seen[x] != 0;
        out.basis[i < m->reg ? out.reg++ : out.reg + i - m->reg] = v;
    }
    free(seen);
    return out;
}

// ---------------------------------------------------------------------------- text

typedef struct text {
    char *data;
    size_t len, cap;
} text;

static void put(text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(text *t, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    t->len += (size_t)vsnprintf(t->data + t->len, t->cap - t->len, fmt, args);
    va_end(args);
    if (t->len >= t->cap) {
        printf("FAILED the text of a module does not fit\n");
        exit(1);
    }
}

static void put_part(text *t, const char *name, const uint32_t *v, unsigned n) {
    put(t, "%s = [", name);
    for (unsigned i = 0; i < n; i++)
        put(t, "%s%u", i ? ", " : "", v[i]);
    put(t, "]");
}

/// A module in the making: layouts first, then the function's body.
typedef struct module {
    text layouts, body;
    unsigned num_layouts, num_values;
    unsigned warp;           // log2 of the warps of all CTAs
    unsigned cta;            // log2 of num_ctas
    uint32_t *want, *out_is; // what the kernel compares with, and what it must have stored
    uint32_t used;           // of both
} module;

static unsigned add_layout(module *m, const map *l) {
    text *t = &m->layouts;
    put(t, "#l%u = #layout<", m->num_layouts);
    put_part(t, "reg", l->basis, l->reg);
    put(t, ", ");
    put_part(t, "lane", l->basis + l->reg, 5);
    put(t, ", ");
    put_part(t, "warp", l->basis + l->reg + 5, l->warp - m->cta);
    put(t, ", ");
    put_part(t, "cta", l->basis + l->reg + 5 + l->warp - m->cta, m->cta);
    put(t, ">\n");
    return m->num_layouts++;
}

static unsigned new_value(module *m) { return m->num_values++; }

/// %v = the n elements from `start` on of parameter `param`, in layout l.
static unsigned put_load(module *m, const char *param, uint32_t start, uint32_t n, unsigned l) {
    text *t = &m->body;
    unsigned v = new_value(m);
    put(t, "    %%i%u: tile<%uxi32, #l%u> = arange {start = %u}\n", v, n, l, start);
    put(t, "    %%p%u: tile<%ux*i32, #l%u> = splat %%%s\n", v, n, l, param);
    put(t, "    %%q%u: tile<%ux*i32, #l%u> = addptr %%p%u, %%i%u\n", v, n, l, v, v);
    put(t, "    %%v%u: tile<%uxi32, #l%u> = load %%q%u\n", v, n, l, v);
    return v;
}

/// Stores %v (n i32 in layout l) to the module's next n places of `out`, which shall be `is`.
static void put_store(module *m, unsigned v, uint32_t n, unsigned l, const uint32_t *is) {
    text *t = &m->body;
    unsigned w = new_value(m);
    put(t, "    %%i%u: tile<%uxi32, #l%u> = arange {start = %u}\n", w, n, l, m->used);
    put(t, "    %%p%u: tile<%ux*i32, #l%u> = splat %%out\n", w, n, l);
    put(t, "    %%q%u: tile<%ux*i32, #l%u> = addptr %%p%u, %%i%u\n", w, n, l, w, w);
    put(t, "    store %%q%u, %%v%u\n", w, v);
    memcpy(m->out_is + m->used, is, n * sizeof(uint32_t));
}

static void put_assert(module *m, unsigned a, unsigned b, const char *tile, unsigned l,
                       const char *what) {
    unsigned c = new_value(m);
    put(&m->body, "    %%v%u: tile<%sxi1, #l%u> = cmp %%v%u, %%v%u {pred = \"eq\"}\n", c, tile, l,
        a, b);
    put(&m->body, "    assert %%v%u {text = \"%s\"}\n", c, what);
}

// ---------------------------------------------------------------------------- cases

static uint32_t input[INPUT];
static const char *const types[] = {"i32", "fp32", "i8",   "fp16", "fp64",
                                    "i1",  "i64",  "bf16", "u16"};

typedef struct shape {
    unsigned rank;
    uint32_t extent[4];
    unsigned bits;
    char text[64]; // "4x16"
} shape;

static shape random_shape(void) {
    shape s = {.rank = 1 + rnd(4)};
    unsigned bits = rnd(20) == 0 ? 8 + rnd(4) : rnd(8);
    for (unsigned d = 0; d < s.rank; d++)
        s.extent[d] = 1;
    for (; s.bits < bits; s.bits++)
        s.extent[rnd(s.rank)] *= 2;
    for (unsigned d = 0; d < s.rank; d++)
        sprintf(s.text + strlen(s.text), d ? "x%u" : "%u", s.extent[d]);
    return s;
}

/// %v in another element type; i32 stays as it is.
static unsigned put_cast(module *m, unsigned v, const char *to, const char *tile, unsigned l) {
    unsigned w = new_value(m);
    put(&m->body, "    %%v%u: tile<%sx%s, #l%u> = cast %%v%u\n", w, tile, to, l, v);
    return w;
}

static unsigned put_reshape(module *m, unsigned v, const char *to, const char *type, unsigned l) {
    unsigned w = new_value(m);
    put(&m->body, "    %%v%u: tile<%sx%s, #l%u> = reshape %%v%u\n", w, to, type, l, v);
    return w;
}

static void put_conversion(module *m, uint32_t start, const shape *s, unsigned number) {
    map a = random_map(s->bits, m->warp, 0), b = random_map(s->bits, m->warp, 0);
    unsigned la = add_layout(m, &a), lb = add_layout(m, &b);
    uint32_t n = 1u << s->bits, is[SLICE];
    const char *type = types[rnd(sizeof(types) / sizeof(types[0]))];
    char flat[16], what[64];
    sprintf(flat, "%u", n);
    sprintf(what, "case %u: conversion of %s", number, type);
    bool is_bool = !strcmp(type, "i1");
    if (rnd(8) == 0) { // pointers themselves
        unsigned v = put_load(m, "x", start, n, la);
        put(&m->body, "    %%c%u: tile<%ux*i32, #l%u> = convert_layout %%q%u\n", v, n, lb, v);
        put(&m->body, "    %%v%u: tile<%uxi32, #l%u> = load %%c%u\n", v + 1, n, lb, v);
        m->num_values++;
        put_assert(m, v + 1, put_load(m, "x", start, n, lb), flat, lb, what);
        put_store(m, v + 1, n, lb, input + start);
        return;
    }
    unsigned v = put_load(m, "x", start, n, la), e = put_load(m, "x", start, n, lb);
    v = put_reshape(m, put_cast(m, v, type, flat, la), s->text, type, la);
    unsigned c = new_value(m);
    put(&m->body, "    %%v%u: tile<%sx%s, #l%u> = convert_layout %%v%u\n", c, s->text, type, lb, v);
    c = put_reshape(m, c, flat, type, lb);
    put_assert(m, c, put_cast(m, e, type, flat, lb), flat, lb, what);
    for (uint32_t i = 0; i < n; i++)
        is[i] = is_bool ? input[start + i] != 0 : input[start + i];
    put_store(m, put_cast(m, c, "i32", flat, lb), n, lb, is);
}

/// Compares %r with what is wanted, in every copy, and stores it.
static void put_checks(module *m, unsigned r, uint32_t n, unsigned l, bool scalar,
                       const uint32_t *is, const char *what) {
    char flat[16];
    sprintf(flat, "%u", n);
    memcpy(m->want + m->used, is, n * sizeof(uint32_t));
    if (!scalar) {
        put_assert(m, r, put_load(m, "want", m->used, n, l), flat, l, what);
        put_store(m, r, n, l, is);
        return;
    }
    text *t = &m->body;
    unsigned v = new_value(m);
    put(t, "    %%i%u: i32 = const {value = %u}\n", v, m->used);
    put(t, "    %%p%u: *i32 = addptr %%want, %%i%u\n", v, v);
    put(t, "    %%v%u: i32 = load %%p%u\n", v, v);
    put(t, "    %%c%u: i1 = cmp %%v%u, %%v%u {pred = \"eq\"}\n", v, v, r);
    put(t, "    assert %%c%u {text = \"%s\"}\n", v, what);
    put(t, "    %%q%u: *i32 = addptr %%out, %%i%u\n", v, v);
    put(t, "    store %%q%u, %%v%u\n", v, r);
    m->out_is[m->used] = is[0];
}

/// A flip in a random layout; or a split and a join the other way round.
static void put_shuffle(module *m, uint32_t start, const shape *s, unsigned number) {
    map a = random_map(s->bits, m->warp, 0);
    uint32_t n = 1u << s->bits, is[SLICE];
    const char *type = types[rnd(sizeof(types) / sizeof(types[0]))];
    bool is_bool = !strcmp(type, "i1"), flips = s->bits == 0 || rnd(2);
    unsigned axis = rnd(s->rank), l, v, w = 0;
    uint32_t change = 1; // what separates an index from the one it changes places with
    char flat[16], what[64];
    sprintf(flat, "%u", n);
    sprintf(what, "case %u: %s of %s", number, flips ? "flip" : "join", type);
    if (flips) {
        for (unsigned d = axis + 1; d < s->rank; d++)
            change *= s->extent[d];
        change *= s->extent[axis] - 1;
        l = add_layout(m, &a);
        v = put_load(m, "x", start, n, l);
        v = put_reshape(m, put_cast(m, v, type, flat, l), s->text, type, l);
        w = new_value(m);
        put(&m->body, "    %%v%u: tile<%sx%s, #l%u> = flip %%v%u {axis = %u}\n", w, s->text, type,
            l, v, axis);
    } else {
        // The halves have any layout; its join is one for the whole, and so is one from which that
        // layout remains if the pairs are taken as one: their sides may be told apart by any bit.
        map pair = random_map(s->bits - 1, m->warp, 0), whole = pair, mixed;
        pair = reduced(&pair, 0);
        whole = (map){.index_bits = s->bits, .reg = pair.reg + 1, .warp = m->warp, .basis = {1}};
        for (unsigned i = 0; i < place_bits(&pair); i++)
            whole.basis[i + 1] = pair.basis[i] << 1;
        mixed = whole;
        for (unsigned i = 1; i < place_bits(&mixed); i++)
            mixed.basis[i] ^= rnd(2);
        l = add_layout(m, &mixed);
        unsigned lp = add_layout(m, &pair), lw = add_layout(m, &whole), h[2];
        char half[16];
        sprintf(half, "%u", n / 2);
        v = put_cast(m, put_load(m, "x", start, n, lw), type, flat, lw);
        char pairs[24];
        sprintf(pairs, "%ux2", n / 2);
        v = put_reshape(m, v, pairs, type, lw);
        for (unsigned i = 0; i < 2; i++) {
            h[i] = new_value(m);
            put(&m->body, "    %%v%u: tile<%sx%s, #l%u> = half %%v%u {index = %u}\n", h[i], half,
                type, lp, v, i);
        }
        w = new_value(m);
        put(&m->body, "    %%v%u: tile<%sx%s, #l%u> = join %%v%u, %%v%u\n", w, pairs, type, l, h[1],
            h[0]);
    }
    w = put_cast(m, put_reshape(m, w, flat, type, l), "i32", flat, l);
    for (uint32_t i = 0; i < n; i++)
        is[i] = is_bool ? input[start + (i ^ change)] != 0 : input[start + (i ^ change)];
    put_checks(m, w, n, l, false, is, what);
}

enum { SUM, LAST, ARGMIN, HORNER, REDUCTIONS };

/// Emits reduce over an axis and returns its (last) result; `v` in layout l, `j` the flat indices.
static unsigned put_reduce(module *m, unsigned kind, unsigned v, unsigned j, unsigned axis,
                           const char *type, const char *result, const char *index_result) {
    text *t = &m->body;
    unsigned r = new_value(m);
    if (kind == ARGMIN) {
        put(t,
            "    %%w%u: %s, %%v%u: %s = reduce %%v%u, %%v%u {axis = %u} (%%a%u: %s, %%b%u: i32, "
            "%%c%u: %s, %%d%u: i32) {\n",
            r, result, r, index_result, v, j, axis, r, type, r, r, type, r);
        put(t, "        %%e%u: i1 = cmp %%a%u, %%c%u {pred = \"lt\"}\n", r, r, r);
        put(t, "        %%f%u: i1 = cmp %%a%u, %%c%u {pred = \"eq\"}\n", r, r, r);
        put(t, "        %%g%u: i1 = cmp %%b%u, %%d%u {pred = \"lt\"}\n", r, r, r);
        put(t, "        %%h%u: i1 = and %%f%u, %%g%u\n", r, r, r);
        put(t, "        %%k%u: i1 = or %%e%u, %%h%u\n", r, r, r);
        put(t, "        %%l%u: %s = select %%k%u, %%a%u, %%c%u\n", r, type, r, r, r);
        put(t, "        %%m%u: i32 = select %%k%u, %%b%u, %%d%u\n", r, r, r, r);
        put(t, "        yield %%l%u, %%m%u\n    }\n", r, r);
        return r;
    }
    put(t, "    %%v%u: %s = reduce %%v%u {axis = %u} (%%a%u: %s, %%b%u: %s) {\n", r, result, v,
        axis, r, type, r, type);
    if (kind == HORNER) {
        put(t, "        %%c%u: i32 = const {value = 3}\n", r);
        put(t, "        %%d%u: i32 = mul %%a%u, %%c%u\n", r, r, r);
        put(t, "        %%e%u: i32 = add %%d%u, %%b%u\n", r, r, r);
    } else {
        bool is_bool = !strcmp(type, "i1");
        put(t, "        %%e%u: %s = %s %%a%u, %%b%u\n", r, type,
            kind == SUM ? "add"
            : is_bool   ? "or"
                        : "max",
            r, r);
    }
    put(t, "        yield %%e%u\n    }\n", r);
    return r;
}

/// What a reduction gives for the result with the given index.
static uint32_t reduce_here(unsigned kind, const shape *s, uint32_t axis_mask, const uint32_t *x,
                            uint32_t result, bool is_bool) {
    uint32_t sum = 0, best = UINT32_MAX, most = 0, best_at = 0;
    for (uint32_t i = 0; i < 1u << s->bits; i++) {
        if (close_gaps(i, axis_mask) != result)
            continue;
        uint32_t v = is_bool ? x[i] != 0 : x[i];
        sum += v;
        most = v > most ? v : most;
        if (v < best) {
            best = v;
            best_at = i;
        }
    }
    return kind == SUM ? sum : kind == ARGMIN ? best_at : most;
}

static void put_reduction(module *m, uint32_t start, const shape *s, unsigned number) {
    unsigned axis = rnd(s->rank), kind = rnd(REDUCTIONS);
    uint32_t stride = 1, is[SLICE];
    for (unsigned d = axis + 1; d < s->rank; d++)
        stride *= s->extent[d];
    uint32_t mask = (s->extent[axis] - 1) * stride, n = 1u << s->bits;
    map a = random_map(s->bits, m->warp, mask), r = reduced(&a, mask);
    map other = random_map(r.index_bits, m->warp, 0);
    unsigned la = add_layout(m, &a), lr = add_layout(m, &r), lo = add_layout(m, &other);
    const char *type =
        kind == LAST || kind == ARGMIN ? types[rnd(sizeof(types) / sizeof(types[0]))] : "i32";
    bool scalar = s->rank == 1;
    char flat[16], flat_result[16], rest[64] = "", result[96], index_result[96], what[64];
    uint32_t n_result = 1u << r.index_bits;
    sprintf(flat, "%u", n);
    sprintf(flat_result, "%u", n_result);
    for (unsigned d = 0; d < s->rank; d++) {
        if (d != axis)
            sprintf(rest + strlen(rest), "%ux", s->extent[d]);
    }
    sprintf(result, scalar ? "%s%s" : "tile<%s%s, #l%u>", rest, type, lr);
    sprintf(index_result, scalar ? "%si32" : "tile<%si32, #l%u>", rest, lr);
    sprintf(what, "case %u: reduction %u of %s", number, kind, type);

    unsigned v = put_load(m, "x", start, n, la), j = new_value(m);
    v = put_reshape(m, put_cast(m, v, type, flat, la), s->text, type, la);
    put(&m->body, "    %%v%u: tile<%sxi32, #l%u> = arange {start = 0}\n", j, flat, la);
    j = put_reshape(m, j, s->text, "i32", la);
    unsigned y = put_reduce(m, kind, v, j, axis, type, result, index_result);
    if (kind == LAST && scalar) {
        put(&m->body, "    %%v%u: i32 = cast %%v%u\n", m->num_values, y);
        y = new_value(m);
    } else if (kind == LAST) {
        y = put_cast(m, put_reshape(m, y, flat_result, type, lr), "i32", flat_result, lr);
    } else if (!scalar) {
        y = put_reshape(m, y, flat_result, "i32", lr);
    }
    for (uint32_t i = 0; i < n_result; i++)
        is[i] = reduce_here(kind, s, mask, input + start, i, !strcmp(type, "i1"));
    if (kind != HORNER) {
        put_checks(m, y, n_result, lr, scalar, is, what);
    } else if (!scalar) { // depends on the order, but must be the same in every copy
        unsigned c = new_value(m), d = new_value(m);
        put(&m->body, "    %%v%u: tile<%sxi32, #l%u> = convert_layout %%v%u\n", c, flat_result, lo,
            y);
        put(&m->body, "    %%v%u: tile<%sxi32, #l%u> = convert_layout %%v%u\n", d, flat_result, lr,
            c);
        put_assert(m, y, d, flat_result, lr, what);
    }
}

/// Emits a scan of v (i32) alone, by +, or of the affine functions v * x + j, by composition, where
/// the order matters. Returns the last result.
static unsigned put_scan_op(module *m, bool affine, bool reverse, unsigned v, unsigned j,
                            unsigned axis, const char *tile, unsigned l) {
    text *t = &m->body;
    unsigned r = new_value(m);
    if (affine)
        put(t, "    %%w%u: tile<%sxi32, #l%u>,", r, tile, l);
    put(t, " %%v%u: tile<%sxi32, #l%u> = scan %%v%u", r, tile, l, v);
    if (affine)
        put(t, ", %%v%u", j);
    put(t, " {axis = %u%s} (%%a%u: i32, ", axis, reverse ? ", reverse" : "", r);
    if (affine)
        put(t, "%%b%u: i32, ", r);
    put(t, "%%c%u: i32", r);
    if (!affine) {
        put(t, ") {\n        %%e%u: i32 = add %%a%u, %%c%u\n        yield %%e%u\n    }\n", r, r, r,
            r);
        return r;
    }
    put(t, ", %%d%u: i32) {\n        %%e%u: i32 = mul %%a%u, %%c%u\n", r, r, r, r);
    put(t, "        %%f%u: i32 = mul %%b%u, %%c%u\n", r, r, r);
    put(t, "        %%g%u: i32 = add %%f%u, %%d%u\n", r, r, r);
    put(t, "        yield %%e%u, %%g%u\n    }\n", r, r);
    return r;
}

static void put_scan(module *m, uint32_t start, const shape *s, unsigned number) {
    map a = random_map(s->bits, m->warp, 0);
    unsigned axis = rnd(s->rank), l = add_layout(m, &a), affine = rnd(2), reverse = rnd(2);
    uint32_t stride = 1, n = 1u << s->bits, is[SLICE];
    for (unsigned d = axis + 1; d < s->rank; d++)
        stride *= s->extent[d];
    char flat[16], what[64];
    sprintf(flat, "%u", n);
    sprintf(what, "case %u: scan", number);
    unsigned v = put_load(m, "x", start, n, l), j = new_value(m);
    put(&m->body, "    %%v%u: tile<%sxi32, #l%u> = arange {start = 0}\n", j, flat, l);
    v = put_reshape(m, v, s->text, "i32", l);
    j = put_reshape(m, j, s->text, "i32", l);
    unsigned y = put_scan_op(m, affine, reverse, v, j, axis, s->text, l);
    y = put_reshape(m, y, flat, "i32", l);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = reverse ? n - 1 - i : i, place = at / stride % s->extent[axis];
        uint32_t before = reverse ? at + stride : at - stride, x = input[start + at];
        bool first = place == (reverse ? s->extent[axis] - 1 : 0);
        is[at] = affine ? (first ? 0 : is[before] * x) + at : (first ? 0 : is[before]) + x;
    }
    put_checks(m, y, n, l, false, is, what);
}

/// A gather along some axis, by an index of any extent there.
static void put_gather(module *m, uint32_t start, const shape *s, unsigned number) {
    unsigned axis = rnd(s->rank), extent = s->extent[axis];
    uint32_t n = 1u << s->bits, stride = 1, is[SLICE];
    shape to = {.rank = s->rank, .bits = s->bits - (unsigned)__builtin_ctz(extent)};
    memcpy(to.extent, s->extent, sizeof to.extent);
    unsigned taken = rnd(to.bits < 8 ? 9 - to.bits : 2);
    to.extent[axis] = 1u << taken;
    to.bits += taken;
    for (unsigned d = 0; d < to.rank; d++)
        sprintf(to.text + strlen(to.text), d ? "x%u" : "%u", to.extent[d]);
    for (unsigned d = axis + 1; d < s->rank; d++)
        stride *= s->extent[d];
    map a = random_map(s->bits, m->warp, 0), b = random_map(to.bits, m->warp, 0);
    unsigned la = add_layout(m, &a), lb = add_layout(m, &b);
    uint32_t n_to = 1u << to.bits, places = rnd(INPUT - n_to + 1);
    const char *type = types[rnd(sizeof(types) / sizeof(types[0]))];
    char flat[16], flat_to[16], what[64];
    sprintf(flat, "%u", n);
    sprintf(flat_to, "%u", n_to);
    sprintf(what, "case %u: gather of %s", number, type);
    unsigned v = put_cast(m, put_load(m, "x", start, n, la), type, flat, la);
    v = put_reshape(m, v, s->text, type, la);
    unsigned i = put_load(m, "x", places, n_to, lb), w = new_value(m);
    put(&m->body, "    %%w%u: tile<%sxi32, #l%u> = const {value = %u}\n", w, flat_to, lb,
        extent - 1);
    put(&m->body, "    %%v%u: tile<%sxi32, #l%u> = and %%v%u, %%w%u\n", w, flat_to, lb, i, w);
    i = put_reshape(m, w, to.text, "i32", lb);
    w = new_value(m);
    put(&m->body, "    %%v%u: tile<%sx%s, #l%u> = gather %%v%u, %%v%u {axis = %u}\n", w, to.text,
        type, lb, v, i, axis);
    w = put_cast(m, put_reshape(m, w, flat_to, type, lb), "i32", flat_to, lb);
    for (uint32_t k = 0; k < n_to; k++) {
        uint32_t at = input[places + k] & (extent - 1), row = k / stride / to.extent[axis];
        uint32_t x = input[start + (row * extent + at) * stride + k % stride];
        is[k] = strcmp(type, "i1") ? x : x != 0;
    }
    put_checks(m, w, n_to, lb, false, is, what);
}

/// How often each number occurs where another tile is not 0.
static void put_histogram(module *m, uint32_t start, const shape *s, unsigned number) {
    unsigned bin_bits = rnd(8);
    map a = random_map(s->bits, m->warp, 0), b = random_map(bin_bits, m->warp, 0);
    unsigned la = add_layout(m, &a), lb = add_layout(m, &b);
    uint32_t n = 1u << s->bits, bins = 1u << bin_bits, masks = rnd(INPUT - n + 1), is[SLICE] = {0};
    char flat[16], what[64];
    sprintf(flat, "%u", n);
    sprintf(what, "case %u: histogram", number);
    unsigned v = put_load(m, "x", start, n, la);
    unsigned c = put_cast(m, put_load(m, "x", masks, n, la), "i1", flat, la), w = new_value(m);
    put(&m->body, "    %%v%u: tile<%uxi32, #l%u> = histogram %%v%u, %%v%u\n", w, bins, lb, v, c);
    for (uint32_t k = 0; k < n; k++)
        if (input[start + k] < bins && input[masks + k])
            is[input[start + k]]++;
    put_checks(m, w, bins, lb, false, is, what);
}

/// An atomic runs once for each element, and its result reaches every copy.
static void put_atomic(module *m, uint32_t start, const shape *s, unsigned number) {
    map a = random_map(s->bits, m->warp, 0);
    unsigned l = add_layout(m, &a), v, w, old;
    uint32_t n = 1u << s->bits, is[SLICE], fill = 0xA5A5A5A5u; // what buffer_from left there
    char what[64], flat[16];
    sprintf(what, "case %u: atomic", number);
    sprintf(flat, "%u", n);
    text *t = &m->body;
    if (rnd(6) == 0) {
        v = new_value(m);
        put(t, "    %%i%u: i32 = const {value = %u}\n", v, m->used);
        put(t, "    %%q%u: *i32 = addptr %%out, %%i%u\n", v, v);
        put(t, "    %%v%u: i32 = atomic_rmw %%q%u, %%i%u {kind = \"add\"}\n", v, v, v);
        put(t, "    %%f%u: i32 = const {value = %d}\n", v, (int)fill);
        put(t, "    %%c%u: i1 = cmp %%v%u, %%f%u {pred = \"eq\"}\n", v, v, v);
        put(t, "    assert %%c%u {text = \"%s\"}\n", v, what);
        m->out_is[m->used] = fill + m->used;
        return;
    }
    v = put_load(m, "x", start, n, l);
    w = new_value(m);
    put(t, "    %%i%u: tile<%uxi32, #l%u> = arange {start = %u}\n", w, n, l, m->used);
    put(t, "    %%p%u: tile<%ux*i32, #l%u> = splat %%out\n", w, n, l);
    put(t, "    %%q%u: tile<%ux*i32, #l%u> = addptr %%p%u, %%i%u\n", w, n, l, w, w);
    put(t, "    %%v%u: tile<%uxi32, #l%u> = atomic_rmw %%q%u, %%v%u {kind = \"add\"}\n", w, n, l, w,
        v);
    old = new_value(m);
    put(t, "    %%v%u: tile<%uxi32, #l%u> = const {value = %d}\n", old, n, l, (int)fill);
    put_assert(m, w, old, flat, l, what);
    for (uint32_t i = 0; i < n; i++)
        is[i] = fill + input[start + i];
    memcpy(m->out_is + m->used, is, n * sizeof(uint32_t));
}

// ---------------------------------------------------------------------------- running

static void run_module(module *m, unsigned number) {
    size_t bytes = BATCH * 2 * SLICE * sizeof(uint32_t), cap = m->layouts.len + m->body.len + 512;
    char *source = malloc(cap), name[64];
    size_t len =
        (size_t)snprintf(source, cap,
                         "%sfunc @stress(%%x: *i32, %%want: *i32, %%out: *i32) "
                         "{num_warps = %u, num_ctas = %u, num_stages = 1} {\n%s    return\n}\n",
                         m->layouts.data, 1u << (m->warp - m->cta), 1u << m->cta, m->body.data);
    sprintf(name, "stress-%u.tir", number);
    tile_buffer *x = buffer_from(input, sizeof(input)), *want = buffer_from(m->want, bytes),
                *out = buffer_from(NULL, bytes);
    tile_module *mod;
    tile_kernel *k;
    tile_status status = tile_module_load_string(dev, name, source, len, &mod, &err);
    if (!status)
        status = tile_module_get_kernel(mod, "stress", &k, &err);
    tile_arg args[] = {TILE_BUFFER(x, "i32"), TILE_BUFFER(want, "i32"), TILE_BUFFER(out, "i32")};
    tile_launch_options opt = {.size = sizeof(opt),
                               .grid = {1, 1, 1},
                               .num_warps = 1u << (m->warp - m->cta),
                               .num_ctas = 1u << m->cta};
    if (!status)
        status = tile_launch(k, args, 3, &opt, &err);
    if (!status)
        status = tile_synchronize(dev, NULL, &err);
    if (expect(!status, "batch %u: %s", number, err.log ? err.log : err.message)) {
        uint32_t *got = malloc(bytes);
        read_buffer(out, got, bytes);
        for (uint32_t i = 0; i < bytes / 4; i++) {
            if (got[i] != m->out_is[i] &&
                !expect(false, "batch %u: out[%u] is %u, not %u", number, i, got[i], m->out_is[i]))
                break;
        }
        free(got);
    }
    if (failures && getenv("TILE_TEST_KEEP")) { // the first module that fails, to look at
        printf("%s", source);
        exit(1);
    }
    tile_module_destroy(mod);
    tile_buffer_destroy(x);
    tile_buffer_destroy(want);
    tile_buffer_destroy(out);
    free(source);
}

static void run_batch(unsigned number) {
    static char layouts[1 << 16], body[1 << 19];
    static uint32_t want[BATCH * 2 * SLICE], out_is[BATCH * 2 * SLICE];
    module m = {.layouts = {layouts, 0, sizeof(layouts)},
                .body = {body, 0, sizeof(body)},
                .want = want,
                .out_is = out_is};
    rng = number * 0x9E3779B97F4A7C15ull;
    rnd(1);
    m.warp = rnd(8) ? rnd(4) : rnd(6);
    if (has_clusters() && rnd(3) == 0) {
        m.cta = 1 + rnd(rnd(2) ? 2 : 3);
        m.warp += m.cta;
    }
    memset(out_is, 0xA5, sizeof(out_is)); // where nothing is stored, the buffer's fill stays
    for (unsigned i = 0; i < BATCH; i++) {
        shape s = random_shape();
        uint32_t start = rnd(INPUT - (1u << s.bits) + 1);
        if (i == BATCH - 1)
            put_atomic(&m, start, &s, number * BATCH + i);
        else if (i == BATCH - 2)
            put_shuffle(&m, start, &s, number * BATCH + i);
        else if (i == BATCH - 3 && number % 4 == 1)
            put_gather(&m, start, &s, number * BATCH + i);
        else if (i == BATCH - 3 && number % 4 == 3)
            put_histogram(&m, start, &s, number * BATCH + i);
        else if (i == BATCH - 3)
            put_scan(&m, start, &s, number * BATCH + i);
        else if (i & 1)
            put_reduction(&m, start, &s, number * BATCH + i);
        else
            put_conversion(&m, start, &s, number * BATCH + i);
        m.used += SLICE;
    }
    run_module(&m, number);
}

int main(int argc, char **argv) {
    unsigned cases = argc > 1 ? (unsigned)atoi(argv[1]) : 2000,
             first = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    open_test_device();
    for (uint32_t i = 0; i < INPUT; i++)
        input[i] =
            (i * 2654435761u >> 7) % 97 & (i % 3 ? UINT32_MAX : 0); // small, zeros, many equal
    for (unsigned i = 0; i < cases / BATCH; i++)
        run_batch(first + i);
    return finish();
}
