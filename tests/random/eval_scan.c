// Scans, sorting, histogram and gather. A scan of floats is fit only if every bracketing gives the
// same: for sums as for reductions, for products if they are powers of two within range; what a
// user's function scans is scanned in two ways, which must agree.
#include "eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t place(const node *n, line l, uint32_t i) {
    return n->variant ? l.count - 1 - i : i;
}

// --- by name

/// Whether every product of neighbours is exact: powers of two that stay in range.
static exactness product_exactness(elem t, line l) {
    double reach = 0;
    for (uint32_t i = 0; i < l.count; i++) {
        double v = eval_pick(l, i).f;
        int e;
        if (!isfinite(v) || v == 0)
            continue;
        if (fabs(frexp(v, &e)) != 0.5)
            return UNSETTLED;
        reach += abs(e - 1);
    }
    return reach <= (t == T_F64 ? 1000 : 120) ? EXACT : UNSETTLED;
}

static void scan_named_line(evaluator *ev, const node *n, elem t, line l, cell *sums) {
    double ignored;
    if (is_float(t))
        eval_check(
            ev, n->op == O_CUMSUM ? eval_sum_floats(t, l, &ignored) : product_exactness(t, l), n);
    cell v = {0};
    for (uint32_t i = 0; i < l.count; i++) {
        uint32_t at = place(n, l, i);
        cell x = eval_pick(l, at);
        if (is_float(t))
            v.f = i == 0 ? x.f : n->op == O_CUMSUM ? v.f + x.f : v.f * x.f;
        else
            v = i == 0              ? x
                : n->op == O_CUMSUM ? wrap_int(t, (int64_t)((uint64_t)v.i + (uint64_t)x.i))
                                    : wrap_int(t, (int64_t)((uint64_t)v.i * (uint64_t)x.i));
        sums[at] = v;
    }
}

static elem scan_compute_elem(op o, elem t) {
    if (o == O_CUMSUM)
        return eval_compute_elem(O_SUM, t);
    return is_float(t) && bits_of(t) < 32 ? T_F32 : t;
}

static void scan_named(evaluator *ev, const node *n, value in, value *out) {
    elem t = in.t.elem, compute = scan_compute_elem(n->op, t);
    elem result = t == T_BF16 || !is_float(t) ? compute : t;
    if (out->t.elem != result)
        eval_fail(ev, V_TYPES, n);
    in = eval_convert(ev, in, compute, n);
    uint32_t lines = numel(in.t) / in.t.dim[n->axis];
    cell *sums = eval_cells(ev, in.t.dim[n->axis]);
    for (uint32_t i = 0; i < lines; i++) {
        line l = eval_line(&in, n->axis, i);
        cell *to = out->c + (l.at - in.c);
        scan_named_line(ev, n, compute, l, sums);
        for (uint32_t k = 0; k < l.count; k++)
            eval_check(ev, convert(compute, result, sums[k], &to[(size_t)k * l.stride]), n);
    }
}

// --- by a function

/// Scans `count` elements of `tiles` cells, side by side, in place; in a tree at each of whose levels
/// the upper half takes the total of the lower.
static void scan_tree(evaluator *ev, const node *n, cell *x, uint32_t count, size_t tiles) {
    for (uint32_t half = 1; half < count; half *= 2)
        for (uint32_t i = 0; i < count; i++)
            if (i & half) {
                uint32_t total = (i & ~(half - 1)) - 1;
                eval_combine(ev, n, x + total * tiles, x + i * tiles, x + i * tiles);
            }
}

static void scan_line(evaluator *ev, const node *n, const value *in, const line *l, value *out) {
    size_t tiles = (size_t)ev->p->funcs[n->id].num_results, mark = ev->used;
    uint32_t count = l[0].count;
    bool forward = ev->broken == SABOTAGE_SCAN && count > 1;
    cell *x = eval_cells(ev, 2 * count * (uint32_t)tiles), *tree = x + count * tiles;
    for (uint32_t i = 0; i < count; i++)
        for (size_t k = 0; k < tiles; k++)
            x[i * tiles + k] = eval_pick(l[k], forward ? i : place(n, l[k], i));
    memcpy(tree, x, count * tiles * sizeof(cell));
    for (uint32_t i = 1; i < count; i++)
        eval_combine(ev, n, x + (i - 1) * tiles, x + i * tiles, x + i * tiles);
    scan_tree(ev, n, tree, count, tiles);
    for (uint32_t i = 0; i < count; i++)
        for (size_t k = 0; k < tiles; k++) {
            cell v = x[i * tiles + k];
            if (!eval_same_cell(in[k].t.elem, v, tree[i * tiles + k]))
                eval_fail(ev, V_ORDER, n);
            size_t at = (size_t)(l[k].at - in[k].c) +
                        (size_t)(forward ? i : place(n, l[k], i)) * l[k].stride;
            out[k].c[at] = v;
        }
    ev->used = mark;
}

static int scan(evaluator *ev, const node *n, value *out) {
    value in[MAX_TARGETS];
    int count = eval_tiles(ev, n, in);
    if (n->axis < 0 || !same_shape(n->type, in[0].t))
        eval_fail(ev, V_TYPES, n);
    for (int k = 0; k < count; k++) {
        elem e = k == 0 ? n->type.elem : in[k].t.elem;
        out[k] = (value){.t = with_elem(in[0].t, e), .c = eval_cells(ev, numel(in[0].t))};
    }
    if (n->kind == N_SCAN) {
        scan_named(ev, n, in[0], &out[0]);
        return 1;
    }
    if (n->type.elem != in[0].t.elem)
        eval_fail(ev, V_TYPES, n);
    bool strict = ev->strict;
    const stmt *current = ev->current;
    ev->strict = true;
    for (uint32_t i = 0; i < numel(in[0].t) / in[0].t.dim[n->axis]; i++) {
        line l[MAX_TARGETS];
        for (int k = 0; k < count; k++)
            l[k] = eval_line(&in[k], n->axis, i);
        scan_line(ev, n, in, l, out);
    }
    ev->strict = strict;
    ev->current = current;
    return count;
}

// --- sorting

/// Whether a comes after b: numbers by value, -0 before +0, NaN last.
static bool comes_after(elem t, cell a, cell b) {
    if (!is_float(t))
        return is_signed(t) ? a.i > b.i : (uint64_t)a.i > (uint64_t)b.i;
    if (isnan(a.f) || isnan(b.f))
        return isnan(a.f) && !isnan(b.f);
    return a.f > b.f || (a.f == b.f && signbit(b.f) && !signbit(a.f));
}

/// SORT and TOPK: each row in order, and of it the first elements.
static void sort_rows(evaluator *ev, const node *n, value *out) {
    value in = eval(ev, n->kid[0]);
    type t = n->type;
    if (in.weak || in.t.rank == 0 || in.t.rank != t.rank || in.t.elem != t.elem)
        eval_fail(ev, V_TYPES, n);
    uint32_t from = in.t.dim[t.rank - 1], kept = t.dim[t.rank - 1];
    for (int d = 0; d + 1 < t.rank; d++)
        if (in.t.dim[d] != t.dim[d])
            eval_fail(ev, V_TYPES, n);
    if (kept > from || (n->kind == N_SORT && kept != from))
        eval_fail(ev, V_TYPES, n);
    bool falls = n->kind == N_TOPK || n->variant;
    cell *row = eval_cells(ev, from);
    *out = (value){.t = t, .c = eval_cells(ev, numel(t))};
    for (uint32_t r = 0; r < numel(t) / kept; r++) {
        for (uint32_t i = 0; i < from; i++) {
            cell v = in.c[(size_t)r * from + i];
            uint32_t at = i;
            for (; at > 0 && (falls ? comes_after(t.elem, v, row[at - 1])
                                    : comes_after(t.elem, row[at - 1], v));
                 at--)
                row[at] = row[at - 1];
            row[at] = v;
        }
        memcpy(out->c + (size_t)r * kept, row, kept * sizeof(cell));
    }
}

// --- histogram and gather

static void histogram(evaluator *ev, const node *n, value *out) {
    value x = eval(ev, n->kid[0]);
    cell *mask = NULL;
    if (x.weak || x.t.rank != 1 || !is_int(x.t.elem) || n->type.rank != 1 || n->type.elem != T_I32)
        eval_fail(ev, V_TYPES, n);
    if (n->kid[1]) {
        value m = eval(ev, n->kid[1]);
        if (m.t.elem != T_I1)
            eval_fail(ev, V_TYPES, n);
        mask = eval_spread(ev, m, x.t, n);
    }
    *out = (value){.t = n->type, .c = eval_cells(ev, numel(n->type))};
    memset(out->c, 0, numel(n->type) * sizeof(cell));
    for (uint32_t i = 0; i < numel(x.t); i++)
        if ((!mask || mask[i].i) && (uint64_t)x.c[i].i < numel(n->type))
            out->c[x.c[i].i].i++;
}

static void gather(evaluator *ev, const node *n, value *out) {
    value x = eval(ev, n->kid[0]), index = eval(ev, n->kid[1]);
    if (x.weak || index.weak || x.t.rank == 0 || x.t.rank != index.t.rank ||
        x.t.elem != n->type.elem || !same_shape(index.t, n->type) || !is_int(index.t.elem) ||
        index.t.elem == T_I1 || n->axis < 0 || n->axis >= x.t.rank)
        eval_fail(ev, V_TYPES, n);
    for (int d = 0; d < x.t.rank; d++)
        if (d != n->axis && x.t.dim[d] != index.t.dim[d])
            eval_fail(ev, V_TYPES, n);
    uint32_t extent = x.t.dim[n->axis];
    *out = (value){.t = n->type, .c = eval_cells(ev, numel(n->type))};
    for (uint32_t i = 0; i < numel(index.t) / index.t.dim[n->axis]; i++) {
        line places = eval_line(&index, n->axis, i), from = eval_line(&x, n->axis, i);
        for (uint32_t k = 0; k < places.count; k++) {
            uint64_t at = (uint64_t)eval_pick(places, k).i;
            if (at >= extent)
                eval_fail(ev, V_BOUNDS, n);
            out->c[(places.at - index.c) + (size_t)k * places.stride] =
                eval_pick(from, (uint32_t)at);
        }
    }
}

int eval_scan(evaluator *ev, const node *n, value *out) {
    if (n->kind == N_SCAN || n->kind == N_SCANFOLD)
        return scan(ev, n, out);
    if (n->kind == N_HISTOGRAM)
        histogram(ev, n, out);
    else if (n->kind == N_GATHER)
        gather(ev, n, out);
    else
        sort_rows(ev, n, out);
    return 1;
}
