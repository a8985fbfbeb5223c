// Reductions. A sum of floats is fit only if every partial sum in every order is exact; what a
// user's function folds is folded in several orders, which must agree.
#include "eval.h"
#include "rng.h"

#include <math.h>
#include <string.h>

// --- sums

/// The value of the last bit that is set in v.
static double lowest_bit(double v) {
    int e;
    double m = frexp(fabs(v), &e);
    uint64_t digits = (uint64_t)ldexp(m, 53);
    return ldexp(1, e - 53 + __builtin_ctzll(digits));
}

exactness eval_sum_floats(elem t, line l, double *out) {
    double unit = INFINITY, size = 0, sum = -0.0;
    for (uint32_t i = 0; i < l.count; i++) {
        double v = eval_pick(l, i).f;
        sum += v;
        if (!isfinite(v) || v == 0)
            continue;
        size += fabs(v);
        unit = fmin(unit, lowest_bit(v));
    }
    *out = sum;
    return size <= unit * (t == T_F64 ? 0x1p53 : 0x1p24) || size == 0 ? EXACT : UNSETTLED;
}

static cell sum_ints(elem t, line l) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < l.count; i++)
        sum += (uint64_t)eval_pick(l, i).i;
    return wrap_int(t, (int64_t)sum);
}

// --- the named reductions

static op combining(op o) {
    return o == O_MAX ? O_MAXIMUM : o == O_MIN ? O_MINIMUM : o == O_XORSUM ? O_XOR : O_OR;
}

static exactness reduce_line(op o, elem t, line l, cell *out) {
    if (o == O_SUM) {
        if (is_float(t))
            return eval_sum_floats(t, l, &out->f);
        *out = sum_ints(t, l);
        return EXACT;
    }
    cell v = eval_pick(l, 0);
    for (uint32_t i = 1; i < l.count; i++)
        apply_binary(combining(o), t, v, eval_pick(l, i), &v);
    *out = v;
    return EXACT;
}

/// NaN never wins over a number; among equals, and if all are NaN, the lowest index wins.
static uint32_t index_of_extremum(op o, elem t, line l) {
    uint32_t best = 0;
    bool max = o == O_ARGMAX || o == O_MAX;
    for (uint32_t i = 1; i < l.count; i++) {
        cell better, a = eval_pick(l, i), b = eval_pick(l, best);
        apply_binary(max ? O_GT : O_LT, t, a, b, &better);
        if (better.i || (is_float(t) && isnan(b.f) && !isnan(a.f)))
            best = i;
    }
    return best;
}

elem eval_compute_elem(op o, elem t) {
    if (o == O_ARGMAX || o == O_ARGMIN || o == O_XORSUM || o == O_REDUCEOR)
        return t;
    if (is_float(t))
        return bits_of(t) < 32 ? T_F32 : t;
    if (bits_of(t) >= 32)
        return t;
    return o == O_SUM && !is_signed(t) ? T_U32 : T_I32;
}

static elem result_of(op o, elem t) {
    if (o == O_ARGMAX || o == O_ARGMIN)
        return T_I32;
    return o == O_SUM && is_float(t) ? t : eval_compute_elem(o, t);
}

// --- by a function

void eval_combine(evaluator *ev, const node *n, const cell *a, const cell *b, cell *out) {
    const func *f = &ev->p->funcs[n->id];
    size_t mark = ev->used;
    for (int i = 0; i < 2 * f->num_results; i++) {
        value v = {.t = ev->p->vars[f->param[i]].type, .c = eval_cells(ev, 1)};
        v.c[0] = i < f->num_results ? a[i] : b[i - f->num_results];
        eval_bind(ev, f->param[i], v, n);
    }
    eval_block(ev, &f->body);
    for (int i = 0; i < f->num_results; i++) {
        value v = eval(ev, f->result[i]);
        if (!same_type(v.t, ev->p->vars[f->param[i]].type) || v.weak)
            eval_fail(ev, V_TYPES, n);
        out[i] = v.c[0];
    }
    ev->used = mark;
}

enum { FROM_LEFT, FROM_RIGHT, AS_TREE, AS_SHUFFLED_TREE, NUM_FOLD_ORDERS };

static void swap_elements(cell *work, size_t step, uint32_t i, uint32_t j) {
    for (size_t k = 0; k < step; k++) {
        cell c = work[i * step + k];
        work[i * step + k] = work[j * step + k];
        work[j * step + k] = c;
    }
}

static void reorder(cell *work, size_t step, uint32_t count, int order) {
    rng r = {count};
    for (uint32_t i = 0; order == FROM_RIGHT && i < count / 2; i++)
        swap_elements(work, step, i, count - 1 - i);
    for (uint32_t i = count; order == AS_SHUFFLED_TREE && i-- > 1;)
        swap_elements(work, step, i, rng_below(&r, i + 1));
}

/// Folds one line of each tile in one of the orders.
static void fold_line(evaluator *ev, const node *n, const line *l, int order, cell *out) {
    size_t step = (size_t)ev->p->funcs[n->id].num_results;
    uint32_t count = l[0].count;
    size_t mark = ev->used;
    cell *work = eval_cells(ev, count * (uint32_t)step);
    for (uint32_t i = 0; i < count; i++)
        for (size_t k = 0; k < step; k++)
            work[i * step + k] = eval_pick(l[k], i);
    reorder(work, step, count, order);
    if (order == AS_TREE || order == AS_SHUFFLED_TREE) {
        for (uint32_t half = count / 2; half; half /= 2)
            for (uint32_t i = 0; i < half; i++)
                eval_combine(ev, n, work + i * step, work + (i + half) * step, work + i * step);
    } else {
        for (uint32_t i = 1; i < count; i++)
            eval_combine(ev, n, work, work + i * step, work);
    }
    memcpy(out, work, step * sizeof(cell));
    ev->used = mark;
}

bool eval_same_cell(elem t, cell a, cell b) {
    return is_float(t) && isnan(a.f) && isnan(b.f) ? true : to_bits(t, a) == to_bits(t, b);
}

static void fold_lines(evaluator *ev, const node *n, const value *in, const line *l, cell *out) {
    cell other[MAX_TARGETS];
    bool strict = ev->strict;
    const stmt *current = ev->current;
    ev->strict = true;
    fold_line(ev, n, l, FROM_LEFT, out);
    for (int order = FROM_LEFT + 1; order < NUM_FOLD_ORDERS; order++) {
        fold_line(ev, n, l, order, other);
        for (int k = 0; k < ev->p->funcs[n->id].num_results; k++)
            if (!eval_same_cell(in[k].t.elem, out[k], other[k]))
                eval_fail(ev, V_ORDER, n);
    }
    ev->strict = strict;
    ev->current = current;
}

// --- all lines

static type reduced_type(type t, int axis, bool keep) {
    type out = {.elem = t.elem};
    for (int d = 0; d < t.rank; d++) {
        if (axis >= 0 && d != axis)
            out.dim[out.rank++] = t.dim[d];
        else if (keep)
            out.dim[out.rank++] = 1;
    }
    return out;
}

line eval_line(const value *v, int axis, uint32_t i) {
    if (axis < 0)
        return (line){v->c, numel(v->t), 1};
    uint32_t inner = 1;
    for (int d = axis + 1; d < v->t.rank; d++)
        inner *= v->t.dim[d];
    uint32_t extent = v->t.dim[axis];
    return (line){v->c + (size_t)(i / inner) * inner * extent + i % inner, extent, inner};
}

int eval_tiles(evaluator *ev, const node *n, value *in) {
    bool by_function = n->kind == N_FOLD || n->kind == N_SCANFOLD;
    int count = by_function ? ev->p->funcs[n->id].num_results : 1;
    if (count != n->num_kids)
        eval_fail(ev, V_TYPES, n);
    for (int k = 0; k < count; k++) {
        in[k] = eval(ev, n->kid[k]);
        if (in[k].t.rank == 0 || in[k].t.elem >= NUM_ELEMS || n->axis >= in[k].t.rank ||
            !same_shape(in[k].t, in[0].t))
            eval_fail(ev, V_TYPES, n);
        if (by_function && in[k].t.elem != ev->p->vars[ev->p->funcs[n->id].param[k]].type.elem)
            eval_fail(ev, V_TYPES, n);
    }
    return count;
}

static void reduce_named(evaluator *ev, const node *n, value *in, value *out, uint32_t lines) {
    elem t = in[0].t.elem, compute = eval_compute_elem(n->op, t), result = result_of(n->op, t);
    bool integers = n->op == O_XORSUM || n->op == O_REDUCEOR;
    if ((integers && !is_int(t)) || out[0].t.elem != result)
        eval_fail(ev, V_TYPES, n);
    in[0] = eval_convert(ev, in[0], compute, n);
    for (uint32_t i = 0; i < lines; i++) {
        line l = eval_line(&in[0], n->axis, i);
        cell v;
        if (n->op == O_ARGMAX || n->op == O_ARGMIN) {
            v.i = index_of_extremum(n->op, compute, l);
        } else {
            if (ev->broken == SABOTAGE_SUM && n->op == O_SUM && l.count > 32)
                l.count -= 1;
            eval_check(ev, reduce_line(n->op, compute, l, &v), n);
            eval_check(ev, convert(compute, result, v, &v), n);
        }
        out[0].c[i] = v;
    }
}

/// max and min with return_indices: the element that won and its place.
static void reduce_extremum(evaluator *ev, const node *n, value *in, value *out, uint32_t lines) {
    elem t = in[0].t.elem == T_BF16 ? T_F32 : in[0].t.elem;
    in[0] = eval_convert(ev, in[0], t, n);
    if (out[0].t.elem != t || n->axis < 0)
        eval_fail(ev, V_TYPES, n);
    for (uint32_t i = 0; i < lines; i++) {
        line l = eval_line(&in[0], n->axis, i);
        uint32_t at = index_of_extremum(n->op, t, l);
        out[0].c[i] = eval_pick(l, at);
        out[1].c[i].i = at;
    }
}

int eval_reduction(evaluator *ev, const node *n, value *out) {
    value in[MAX_TARGETS];
    int count = eval_tiles(ev, n, in), results = n->kind == N_EXTREMUM ? 2 : count;
    type t = reduced_type(in[0].t, n->axis, n->keep_dims);
    uint32_t lines = numel(t);
    for (int k = 0; k < results; k++) {
        elem e = k == 0 ? n->type.elem : n->kind == N_EXTREMUM ? T_I32 : in[k].t.elem;
        out[k] = (value){.t = with_elem(t, e), .c = eval_cells(ev, lines)};
    }
    if (n->kind == N_REDUCE)
        reduce_named(ev, n, in, out, lines);
    if (n->kind == N_EXTREMUM)
        reduce_extremum(ev, n, in, out, lines);
    for (uint32_t i = 0; n->kind == N_FOLD && i < lines; i++) {
        line l[MAX_TARGETS];
        cell v[MAX_TARGETS];
        for (int k = 0; k < count; k++)
            l[k] = eval_line(&in[k], n->axis, i);
        fold_lines(ev, n, in, l, v);
        for (int k = 0; k < count; k++)
            out[k].c[i] = v[k];
    }
    return results;
}
