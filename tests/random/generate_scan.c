// Expressions that move data along an axis as the data or the order says: scans, sorting, histogram
// and gather.
#include "gen.h"

enum { MOST_SORTED = 64 }; ///< elements in a row that is sorted: the network is unrolled

static bool percent(gen *g, unsigned n) { return rng_percent(&g->r, n); }

static node *make(gen *g, node_kind kind, type t, node *a, node *b) {
    node *n = new_node(g->p, kind, t);
    n->style = (uint8_t)rng_next(&g->r);
    n->kid[n->num_kids++] = a;
    if (b)
        n->kid[n->num_kids++] = b;
    return n;
}

static int some_axis(gen *g, type t) { return (int)rng_below(&g->r, t.rank); }

/// The result's type of a named scan.
static elem scanned_elem(op o, elem t) {
    if (t == T_BF16)
        return T_F32;
    if (is_float(t) || o == O_CUMPROD || bits_of(t) >= 32)
        return t;
    return is_signed(t) ? T_I32 : T_U32;
}

node *gen_scan(gen *g, type t, int depth) {
    for (int tries = 0; t.rank && tries < 24; tries++) {
        op o = percent(g, 60) ? O_CUMSUM : O_CUMPROD;
        elem from = percent(g, 40) ? t.elem : gen_elem(g);
        if (scanned_elem(o, from) != t.elem ||
            (o == O_CUMPROD && is_float(from) && percent(g, 70))) // rarely exact
            continue;
        node *n = make(g, N_SCAN, t, gen_expr(g, with_elem(t, from), depth - 1), NULL);
        n->op = (uint8_t)o;
        n->axis = (int8_t)some_axis(g, t);
        n->variant = percent(g, 40);
        return n;
    }
    return NULL;
}

node *gen_scan_by(gen *g, int id, type t, int depth) {
    bool pair = g->p->funcs[id].num_results == 2;
    node *n =
        make(g, N_SCANFOLD, t, gen_expr(g, t, depth - 1), pair ? gen_expr(g, t, depth - 1) : NULL);
    n->id = (int16_t)id;
    n->axis = (int8_t)some_axis(g, t);
    n->variant = percent(g, 40);
    return n;
}

node *gen_scan_fold(gen *g, type t, int depth) {
    elem e = t.elem;
    int f = t.rank ? gen_combine(g, &e, 1) : -1;
    return f < 0 ? NULL : gen_scan_by(g, f, t, depth);
}

node *gen_sort(gen *g, type t, int depth) {
    if (!t.rank || t.dim[t.rank - 1] > MOST_SORTED)
        return NULL;
    node *n = make(g, N_SORT, t, gen_expr(g, t, depth - 1), NULL);
    n->variant = percent(g, 50);
    return n;
}

node *gen_topk(gen *g, type t, int depth) {
    if (!t.rank)
        return NULL;
    type from = t;
    uint16_t *last = &from.dim[t.rank - 1];
    while (*last * 2 <= MOST_SORTED && numel(from) * 2 <= g->most && percent(g, 70))
        *last = (uint16_t)(*last * 2);
    if (*last > MOST_SORTED)
        return NULL;
    return make(g, N_TOPK, t, gen_expr(g, from, depth - 1), NULL);
}

/// x & (n - 1), in its own type, where that number fits into it.
static node *wrapped(gen *g, node *x, uint32_t n) {
    elem t = x->type.elem;
    unsigned room = bits_of(t) - is_signed(t);
    if (t == T_I1 || (room < 31 && n > 1u << room))
        return x;
    return new_binary(g->p, O_AND, x, new_int(g->p, (int64_t)n - 1));
}

/// The counts of numel(t) bins, in the shape and type of t.
node *gen_histogram(gen *g, type t, int depth) {
    elem e = gen_elem(g);
    if (!t.rank || !is_int(e))
        return NULL;
    uint32_t bins = numel(t), most = (uint32_t)__builtin_ctz(g->most);
    type line = {.elem = (uint8_t)e, .rank = 1};
    line.dim[0] = (uint16_t)(1u << rng_below(&g->r, most + 1));
    node *x = gen_expr(g, line, depth - 1), *mask = NULL;
    if (percent(g, 60))
        x = wrapped(g, x, percent(g, 70) ? bins : 2 * bins);
    if (percent(g, 40))
        mask = gen_expr(g, with_elem(line, T_I1), depth - 1);
    type counts = {.elem = T_I32, .rank = 1};
    counts.dim[0] = (uint16_t)bins;
    node *n = make(g, N_HISTOGRAM, counts, x, mask);
    n->num_kids = 2;
    return gen_adapt(g, n, t);
}

node *gen_gather(gen *g, type t, int depth) {
    if (!t.rank)
        return NULL;
    int axis = some_axis(g, t);
    type from = t;
    uint32_t room = g->most / (numel(t) / t.dim[axis]);
    unsigned bits = room ? 31 - (unsigned)__builtin_clz(room) : 0;
    from.dim[axis] = (uint16_t)(1u << rng_below(&g->r, bits + 1));
    elem e = percent(g, 60) ? T_I32 : gen_elem(g);
    unsigned range = bits_of(e) - is_signed(e);
    if (!is_int(e) || e == T_I1 || (range < 16 && from.dim[axis] > 1u << range))
        e = T_I32;
    node *index = wrapped(g, gen_expr(g, with_elem(t, e), depth - 1), from.dim[axis]);
    node *n = make(g, N_GATHER, t, gen_expr(g, from, depth - 1), index);
    n->axis = (int8_t)axis;
    return n;
}
