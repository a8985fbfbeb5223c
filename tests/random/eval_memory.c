// What buffers hold at first, and loads, stores and atomics. Programs of a grid may meet only in
// buffers that are read, or that all of them change by one operation whose order does not matter.
#include "eval.h"
#include "rng.h"

#include <math.h>
#include <stdlib.h>

// --- contents

/// 0: small numbers; 1: smaller ones, many equal; 2: all kinds, also infinite and NaN.
static double fill_float(rng *r, elem t, int kind) {
    static const double wild[] = {0.0, -0.0,    1.0,     -1.0,    INFINITY, -INFINITY,
                                  NAN, 65504.0, 0x1p-14, 0x1p-24, 0x1p-126};
    if (kind == 2 && rng_percent(r, 30))
        return round_to(t, wild[rng_below(r, sizeof wild / sizeof *wild)]);
    if (kind == 1)
        return rng_range(r, -2, 2);
    return round_to(t, rng_range(r, -32, 32) * 0.25);
}

static int64_t fill_int(rng *r, elem t, int kind) {
    unsigned bits = bits_of(t);
    int64_t most = (int64_t)(UINT64_MAX >> (64 - bits + is_signed(t)));
    if (kind == 1)
        return rng_range(r, is_signed(t) && bits > 1 ? -2 : 0, 2);
    if (kind == 2 && rng_percent(r, 40))
        return rng_percent(r, 50) ? most : is_signed(t) ? -most - 1 : most - 1;
    if (kind == 2)
        return (int64_t)rng_next(r);
    return rng_range(r, is_signed(t) ? -20 : 0, 20);
}

void memory_fill(const program *p, memory *m) {
    *m = (memory){0};
    for (int i = 0; i < p->num_buffers; i++) {
        const buffer *b = &p->buffers[i];
        if (b->storage != i)
            continue;
        rng r = {p->seed * 31 + (uint64_t)i};
        bool sliced = b->role == BUF_OWN || b->role == BUF_APPROX;
        m->count[i] = b->size * (sliced ? p->num_programs : 1);
        m->data[i] = malloc(m->count[i] * sizeof(cell));
        for (uint32_t k = 0; k < m->count[i]; k++)
            m->data[i][k] = is_float(b->elem) ? (cell){.f = fill_float(&r, b->elem, b->fill)}
                                              : wrap_int(b->elem, fill_int(&r, b->elem, b->fill));
    }
}

void memory_free(memory *m) {
    for (int i = 0; i < MAX_BUFFERS; i++)
        free(m->data[i]);
    *m = (memory){0};
}

// --- accesses

/// The element that an offset into buffer b means, if this program may touch it.
static cell *element(evaluator *ev, int b, int64_t offset, const node *at) {
    const buffer *buf = &ev->p->buffers[b];
    bool sliced = buf->role == BUF_OWN || buf->role == BUF_APPROX;
    int64_t from = sliced ? (int64_t)ev->linear_pid * buf->size : 0;
    if (offset < from || offset >= from + buf->size)
        eval_fail(ev, V_BOUNDS, at);
    return &ev->m->data[buf->storage][offset];
}

typedef struct access {
    value ptr;
    const cell *mask, *other; ///< or NULL
    bool nan;                 ///< what is masked off is NaN
} access;

/// A scalar integer.
static int64_t read_int(evaluator *ev, const node *n) {
    value v = eval(ev, n);
    if (v.t.rank || !is_int(v.t.elem) || v.t.elem == T_I1)
        eval_fail(ev, V_TYPES, n);
    return v.c[0].i;
}

/// The elements of a block, and which of them are in bounds. In an array that is known to lie in the
/// buffer, an element that is out of bounds and not checked is still an element of something.
static access read_block(evaluator *ev, const node *n) {
    value base = eval(ev, n->kid[0]);
    int rank = n->type.rank;
    bool moves = n->num_kids == 1 + 2 * rank;
    access a = {.ptr = {.t = n->type, .c = eval_cells(ev, numel(n->type))}, .nan = n->variant};
    cell *mask = eval_cells(ev, numel(n->type));
    int64_t start[MAX_RANK];
    if (base.t.elem != T_PTR || base.t.rank || base.t.buf != n->type.buf ||
        (!moves && n->num_kids != 1 + rank))
        eval_fail(ev, V_TYPES, n);
    for (int d = 0; d < rank; d++) {
        start[d] = read_int(ev, n->kid[1 + d]);
        if (moves)
            start[d] += read_int(ev, n->kid[1 + rank + d]);
    }
    for (uint32_t i = 0; i < numel(n->type); i++) {
        uint32_t rest = i;
        a.ptr.c[i] = base.c[0];
        mask[i].i = 1;
        for (int d = rank - 1; d >= 0; d--) {
            int64_t at = start[d] + rest % n->type.dim[d];
            rest /= n->type.dim[d];
            if (n->checked >> d & 1)
                mask[i].i &= at >= 0 && at < n->extent[d];
            a.ptr.c[i].i += at * n->stride[d];
        }
    }
    a.mask = mask;
    return a;
}

static access read_access(evaluator *ev, const node *ptr, const node *mask, const node *at) {
    if (ptr->kind == N_BLOCK && !mask)
        return read_block(ev, ptr);
    access a = {.ptr = eval(ev, ptr)};
    if (a.ptr.t.elem != T_PTR)
        eval_fail(ev, V_TYPES, at);
    if (mask) {
        value v = eval(ev, mask);
        if (v.t.elem != T_I1 || v.weak)
            eval_fail(ev, V_TYPES, at);
        a.mask = eval_spread(ev, v, a.ptr.t, at);
    }
    return a;
}

value eval_load(evaluator *ev, const node *n) {
    access a = read_access(ev, n->kid[0], n->kid[1], n);
    int b = a.ptr.t.buf;
    elem t = ev->p->buffers[b].elem;
    if (n->kid[2] && !n->kid[1])
        eval_fail(ev, V_TYPES, n);
    if (n->kid[2])
        a.other = eval_spread(ev, eval_convert(ev, eval(ev, n->kid[2]), t, n), a.ptr.t, n);
    if (ev->p->buffers[b].role > BUF_OWN)
        eval_fail(ev, V_BOUNDS, n);
    value out = {.t = with_elem(a.ptr.t, t), .c = eval_cells(ev, numel(a.ptr.t))};
    cell zero = is_float(t) ? (cell){.f = a.nan ? NAN : 0} : (cell){.i = 0};
    for (uint32_t i = 0; i < numel(out.t); i++) {
        if (!a.mask || a.mask[i].i)
            out.c[i] = *element(ev, b, a.ptr.c[i].i, n);
        else
            out.c[i] = a.other && ev->broken != SABOTAGE_MASK ? a.other[i] : zero;
    }
    return out;
}

static cell *read_value(evaluator *ev, const stmt *s, const access *a, elem t) {
    value v = eval(ev, s->e[1]);
    if (s->e[1]->kind != N_MATH)
        v = eval_convert(ev, v, t, s->e[1]);
    else if (v.t.elem != t)
        eval_fail(ev, V_TYPES, s->e[1]);
    return eval_spread(ev, v, a->ptr.t, s->e[1]);
}

void eval_store(evaluator *ev, const stmt *s) {
    access a = read_access(ev, s->e[0], s->e[2], s->e[0]);
    int b = a.ptr.t.buf;
    const buffer *buf = &ev->p->buffers[b];
    cell *v = read_value(ev, s, &a, buf->elem);
    bool approx = s->e[1]->kind == N_MATH;
    if (buf->role != (approx ? BUF_APPROX : BUF_OWN))
        eval_fail(ev, V_BOUNDS, s->e[0]);
    uint32_t id = ++ev->stores;
    for (uint32_t i = 0; i < numel(a.ptr.t); i++) {
        if (a.mask && !a.mask[i].i)
            continue;
        cell *to = element(ev, b, a.ptr.c[i].i, s->e[0]);
        uint32_t *stamp = &ev->stamp[buf->storage][to - ev->m->data[buf->storage]];
        if (*stamp == id && to_bits(buf->elem, *to) != to_bits(buf->elem, v[i]))
            eval_fail(ev, V_RACE, s->e[0]);
        *stamp = id;
        *to = v[i];
    }
}

/// Sums of fp32 in memory flush subnormals, operands and result (docs/cpu-device.md).
static double flushed(elem t, double v) {
    return t == T_F32 && fabs(v) < 0x1p-126 ? copysign(0, v) : v;
}

/// An atomic whose result is used: on elements that nobody else touches at the same time.
value eval_atomic_result(evaluator *ev, const node *n) {
    access a = read_access(ev, n->kid[0], n->kid[2], n);
    int b = a.ptr.t.buf;
    const buffer *buf = &ev->p->buffers[b];
    value out = {.t = with_elem(a.ptr.t, buf->elem), .c = eval_cells(ev, numel(a.ptr.t))};
    const cell *v =
        eval_spread(ev, eval_convert(ev, eval(ev, n->kid[1]), buf->elem, n), a.ptr.t, n);
    const cell *expected = NULL;
    if (n->op == O_CAS && (is_float(buf->elem) || a.mask || !n->kid[3]))
        eval_fail(ev, V_TYPES, n);
    if (n->op == O_CAS)
        expected = eval_spread(ev, eval_convert(ev, eval(ev, n->kid[3]), buf->elem, n), a.ptr.t, n);
    uint32_t id = ++ev->stores;
    if (buf->role != BUF_OWN)
        eval_fail(ev, V_BOUNDS, n);
    for (uint32_t i = 0; i < numel(out.t); i++) {
        out.c[i] = is_float(buf->elem) ? (cell){.f = 0} : (cell){.i = 0};
        if (a.mask && !a.mask[i].i)
            continue;
        cell *to = element(ev, b, a.ptr.c[i].i, n);
        uint32_t *stamp = &ev->stamp[buf->storage][to - ev->m->data[buf->storage]];
        if (*stamp == id)
            eval_fail(ev, V_RACE, n);
        if (is_float(buf->elem) && n->op != O_ADD && n->op != O_XCHG &&
            (isnan(v[i].f) || isnan(to->f)))
            eval_fail(ev, V_INEXACT, n);
        *stamp = id;
        out.c[i] = *to;
        if (n->op == O_CAS) {
            if (to->i == expected[i].i)
                *to = v[i];
        } else if (n->op == O_XCHG) {
            *to = v[i];
        } else if (is_float(buf->elem) && n->op == O_ADD) {
            cell x = {.f = flushed(buf->elem, to->f)}, y = {.f = flushed(buf->elem, v[i].f)};
            apply_binary(n->op, buf->elem, x, y, to);
            to->f = flushed(buf->elem, to->f);
        } else {
            apply_binary(n->op, buf->elem, out.c[i], v[i], to);
        }
    }
    return out;
}

/// Sums of floats by atomics stay exact in any order: multiples of a quarter, not too large.
static bool adds_exactly(elem t, double v, double sum) {
    return v * 4 == floor(v * 4) && fabs(sum) < (bits_of(t) == 16 ? 256 : 65536) && t != T_BF16;
}

void eval_atomic(evaluator *ev, const stmt *s) {
    access a = read_access(ev, s->e[0], s->e[2], s->e[0]);
    int b = a.ptr.t.buf;
    const buffer *buf = &ev->p->buffers[b];
    cell *v = read_value(ev, s, &a, buf->elem);
    if (buf->role != BUF_SHARED || buf->atomic != s->op)
        eval_fail(ev, V_BOUNDS, s->e[0]);
    for (uint32_t i = 0; i < numel(a.ptr.t); i++) {
        if (a.mask && !a.mask[i].i)
            continue;
        cell *to = element(ev, b, a.ptr.c[i].i, s->e[0]);
        if (is_float(buf->elem) && (isnan(v[i].f) || isnan(to->f)))
            eval_fail(ev, V_INEXACT, s->e[1]);
        apply_binary(s->op, buf->elem, *to, v[i], to);
        if (is_float(buf->elem) && s->op == O_ADD && !adds_exactly(buf->elem, v[i].f, to->f))
            eval_fail(ev, V_INEXACT, s->e[1]);
    }
}
