// Expressions and statements on plain arrays. See evaluate.h for what it is for, eval_reduce.c for
// reductions, eval_scan.c for scans and their kin, and eval_memory.c for loads, stores and what buffers hold.
#include "eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_CELLS = 1 << 22, MAX_STEPS = 40 << 20 };

const char *const verdict_texts[] = {
#define X(id, text) text,
    VERDICTS(X)
#undef X
};

void eval_fail(evaluator *ev, verdict_kind kind, const node *at) {
    ev->verdict = (verdict){kind, at, ev->current};
    longjmp(ev->unfit, 1);
}

cell *eval_cells(evaluator *ev, uint32_t n) {
    if (ev->used + n > ARENA_CELLS || ev->steps + n > MAX_STEPS)
        eval_fail(ev, V_TOO_LONG, NULL);
    ev->steps += n + 8;
    cell *out = ev->arena + ev->used;
    ev->used += n;
    return out;
}

void eval_check(evaluator *ev, exactness e, const node *at) {
    if (e == UNSETTLED || (e == ROUNDED && ev->strict))
        eval_fail(ev, V_INEXACT, at);
}

static value new_value(evaluator *ev, type t) {
    return (value){.t = t, .c = eval_cells(ev, numel(t))};
}

// --- shapes

/// Calls for each element of t, in row-major order, the place of an operand with these strides.
static void gather(const cell *from, const uint32_t *stride, type t, cell *to) {
    uint32_t n = numel(t), at[MAX_RANK] = {0}, place = 0;
    for (uint32_t i = 0; i < n; i++) {
        to[i] = from[place];
        for (int d = t.rank - 1; d >= 0; d--) {
            place += stride[d];
            if (++at[d] < t.dim[d])
                break;
            place -= stride[d] * t.dim[d];
            at[d] = 0;
        }
    }
}

static void row_major(type t, uint32_t *stride) {
    uint32_t s = 1;
    for (int d = t.rank - 1; d >= 0; d--) {
        stride[d] = s;
        s *= t.dim[d];
    }
}

cell *eval_spread(evaluator *ev, value v, type t, const node *at) {
    type common;
    if (!broadcast_shapes(v.t, t, &common) || !same_shape(common, t))
        eval_fail(ev, V_TYPES, at);
    if (same_shape(v.t, t))
        return v.c;
    uint32_t own[MAX_RANK] = {0}, stride[MAX_RANK] = {0};
    row_major(v.t, own);
    for (int i = 1; i <= v.t.rank; i++)
        stride[t.rank - i] = v.t.dim[v.t.rank - i] == 1 ? 0 : own[v.t.rank - i];
    cell *out = eval_cells(ev, numel(t));
    gather(v.c, stride, t, out);
    return out;
}

value eval_convert(evaluator *ev, value v, elem to, const node *at) {
    if (v.t.elem >= NUM_ELEMS || to >= NUM_ELEMS)
        eval_fail(ev, V_TYPES, at);
    if (v.t.elem == to && !v.weak)
        return v;
    value out = new_value(ev, with_elem(v.t, to));
    // A literal is a Python number until it meets its type.
    elem from = !v.weak ? v.t.elem : is_float(v.t.elem) ? T_F64 : T_I64;
    for (uint32_t i = 0; i < numel(v.t); i++)
        eval_check(ev, convert(from, to, v.c[i], &out.c[i]), at);
    return out;
}

static value eval_permute(evaluator *ev, const node *n) {
    value x = eval(ev, n->kid[0]), out = new_value(ev, n->type);
    uint32_t own[MAX_RANK], stride[MAX_RANK];
    row_major(x.t, own);
    if (x.t.rank != n->type.rank)
        eval_fail(ev, V_TYPES, n);
    for (int d = 0; d < x.t.rank; d++) {
        stride[d] = own[n->order[d]];
        if (x.t.dim[n->order[d]] != n->type.dim[d])
            eval_fail(ev, V_TYPES, n);
    }
    bool wrong = ev->broken == SABOTAGE_TRANSPOSE && x.t.rank == 2 && x.t.dim[0] == x.t.dim[1];
    gather(x.c, wrong ? own : stride, n->type, out.c);
    return out;
}

/// EXPAND, SQUEEZE, RESHAPE: the same elements in row-major order.
static value eval_reshape(evaluator *ev, const node *n) {
    value x = eval(ev, n->kid[0]);
    bool ok = numel(x.t) == numel(n->type) && !x.weak;
    if (n->kind == N_EXPAND)
        ok &= n->type.rank == x.t.rank + 1 && n->axis < n->type.rank && n->type.dim[n->axis] == 1;
    if (n->kind == N_SQUEEZE)
        ok &= n->type.rank + 1 == x.t.rank && n->axis < x.t.rank && x.t.dim[n->axis] == 1;
    if (n->kind == N_RESHAPE)
        ok &= x.t.rank > 0 && n->type.rank > 0;
    if (!ok)
        eval_fail(ev, V_TYPES, n);
    elem e = x.t.elem;
    uint8_t buf = x.t.buf;
    x.t = n->type;
    x.t.elem = (uint8_t)e;
    x.t.buf = buf;
    return x;
}

// --- elementwise

// --- joining

/// `half` elements of a, then as many of b, and so on.
static void alternate(value a, value b, uint32_t half, cell *out) {
    uint32_t n = numel(a.t);
    for (uint32_t i = 0; i < 2 * n; i++) {
        uint32_t from = i / (2 * half) * half + i % half;
        out[i] = i / half % 2 ? b.c[from] : a.c[from];
    }
}

/// JOIN, INTERLEAVE and CAT.
static value eval_join(evaluator *ev, const node *n) {
    value a = eval(ev, n->kid[0]), b = eval(ev, n->kid[1]);
    type t = a.t;
    uint32_t half = 1;
    bool ok = same_type(a.t, b.t) && t.elem < NUM_ELEMS && !a.weak && !b.weak;
    ok &= n->kind == N_JOIN ? t.rank < MAX_RANK : t.rank > 0 && n->axis < t.rank;
    if (!ok)
        eval_fail(ev, V_TYPES, n);
    if (n->kind == N_JOIN) {
        t.dim[t.rank++] = 2;
    } else if (n->kind == N_INTERLEAVE) {
        t.dim[t.rank - 1] *= 2;
    } else {
        for (int d = n->axis; d < t.rank; d++)
            half *= t.dim[d];
        t.dim[n->axis] *= 2;
    }
    value out = new_value(ev, t);
    alternate(a, b, half, out.c);
    return out;
}

static value eval_flip(evaluator *ev, const node *n) {
    value x = eval(ev, n->kid[0]), out = new_value(ev, x.t);
    if (n->axis < 0 || n->axis >= x.t.rank)
        eval_fail(ev, V_TYPES, n);
    uint32_t inner = 1, extent = x.t.dim[n->axis];
    for (int d = n->axis + 1; d < x.t.rank; d++)
        inner *= x.t.dim[d];
    for (uint32_t i = 0; i < numel(x.t); i++) {
        uint32_t at = i / inner % extent;
        out.c[i] = x.c[i + (extent - 1 - at) * inner - at * inner];
    }
    return out;
}

/// Both results of a split.
static int eval_split(evaluator *ev, const node *n, value *out) {
    value x = eval(ev, n->kid[0]);
    type t = x.t;
    if (t.rank == 0 || t.dim[t.rank - 1] != 2 || t.elem >= NUM_ELEMS)
        eval_fail(ev, V_TYPES, n);
    t.rank--;
    for (int k = 0; k < 2; k++) {
        out[k] = new_value(ev, t);
        for (uint32_t i = 0; i < numel(t); i++)
            out[k].c[i] = x.c[2 * i + (uint32_t)k];
    }
    return 2;
}

static value eval_unary(evaluator *ev, const node *n) {
    value x = eval(ev, n->kid[0]), out = new_value(ev, x.t);
    elem t = x.t.elem;
    bool ok = !x.weak && t < NUM_ELEMS;
    ok &= n->op != O_INVERT || is_int(t);
    ok &= (n->op != O_FLOOR && n->op != O_CEIL) || (is_float(t) && !is_fp8(t));
    if (!ok)
        eval_fail(ev, V_TYPES, n);
    for (uint32_t i = 0; i < numel(x.t); i++)
        eval_check(ev, apply_unary(n->op, t, x.c[i], &out.c[i]), n);
    return out;
}

static value eval_binary(evaluator *ev, const node *n) {
    value x = eval(ev, n->kid[0]), y = eval(ev, n->kid[1]);
    bool strong = literals_are_strong(n->op);
    elem t = promote(n->op, x.t.elem, x.weak && !strong, y.t.elem, y.weak && !strong);
    type shape;
    if (t == T_NONE || (x.weak && y.weak) || !broadcast_shapes(x.t, y.t, &shape))
        eval_fail(ev, V_TYPES, n);
    value out = new_value(ev, with_elem(shape, result_elem(n->op, t)));
    const cell *a = eval_spread(ev, eval_convert(ev, x, t, n), shape, n);
    const cell *b = eval_spread(ev, eval_convert(ev, y, t, n), shape, n);
    for (uint32_t i = 0; i < numel(shape); i++) {
        eval_check(ev, apply_binary(n->op, t, a[i], b[i], &out.c[i]), n);
        if (n->variant && is_float(t) && (isnan(a[i].f) || isnan(b[i].f)))
            out.c[i].f = NAN; // maximum and minimum with propagate_nan
    }
    if (ev->broken == SABOTAGE_SHIFT && n->op == O_SHR)
        for (uint32_t i = 0; i < numel(shape); i++)
            out.c[i] = wrap_int(t, (int64_t)(to_bits(t, a[i]) >> (b[i].i & (bits_of(t) - 1))));
    return out;
}

/// The type in which where, fma and the like bring two operands together.
static elem unify(evaluator *ev, value x, value y, const node *n) {
    elem t = promote(O_ADD, x.t.elem, x.weak, y.t.elem, y.weak);
    if (t == T_NONE || (x.weak && y.weak))
        eval_fail(ev, V_TYPES, n);
    return t;
}

static value eval_where(evaluator *ev, const node *n) {
    value c = eval(ev, n->kid[0]), x = eval(ev, n->kid[1]), y = eval(ev, n->kid[2]);
    type shape;
    bool pointers = x.t.elem == T_PTR && y.t.elem == T_PTR && x.t.buf == y.t.buf;
    if (c.t.elem != T_I1 || c.weak || !broadcast_shapes(x.t, y.t, &shape) ||
        !broadcast_shapes(c.t, shape, &shape))
        eval_fail(ev, V_TYPES, n);
    if (!pointers) {
        elem t = unify(ev, x, y, n);
        x = eval_convert(ev, x, t, n);
        y = eval_convert(ev, y, t, n);
    }
    type t = shape;
    t.elem = x.t.elem;
    t.buf = x.t.buf;
    value out = new_value(ev, t);
    const cell *a = eval_spread(ev, x, t, n), *b = eval_spread(ev, y, t, n);
    const cell *cond = eval_spread(ev, c, t, n);
    for (uint32_t i = 0; i < numel(t); i++)
        out.c[i] = cond[i].i ? a[i] : b[i];
    return out;
}

/// clamp(x, low, high), fma(x, y, z): three operands of one type, in the node's shape.
static value eval_three(evaluator *ev, const node *n) {
    value out = new_value(ev, n->type);
    const cell *c[3];
    elem t = n->type.elem;
    type shape = {0};
    for (int k = 0; k < 3; k++) {
        value v = eval(ev, n->kid[k]);
        if (v.t.elem != t || v.weak || !is_float(t) || !broadcast_shapes(shape, v.t, &shape))
            eval_fail(ev, V_TYPES, n);
        c[k] = eval_spread(ev, v, n->type, n);
    }
    if (!same_shape(shape, n->type) || (n->kind == N_CLAMP && t == T_BF16) || is_fp8(t))
        eval_fail(ev, V_TYPES, n);
    for (uint32_t i = 0; i < numel(n->type); i++) {
        cell v;
        if (n->kind == N_FMA) {
            eval_check(ev, apply_fma(t, c[0][i], c[1][i], c[2][i], &out.c[i]), n);
            continue;
        }
        apply_binary(O_MAXIMUM, t, c[0][i], c[1][i], &v);
        apply_binary(O_MINIMUM, t, v, c[2][i], &out.c[i]);
        if (n->variant && isnan(c[0][i].f))
            out.c[i].f = NAN;
    }
    return out;
}

/// fp_downcast_rounding="rtz"
static value eval_toward_zero(evaluator *ev, value x, elem to, const node *n) {
    if (!is_float(x.t.elem) || !is_float(to) || bits_of(to) >= bits_of(x.t.elem))
        eval_fail(ev, V_TYPES, n);
    value out = new_value(ev, with_elem(x.t, to));
    for (uint32_t i = 0; i < numel(x.t); i++) {
        if (isinf(x.c[i].f)) // fp8 may have none
            eval_fail(ev, V_INEXACT, n);
        out.c[i].f = chop_to(to, x.c[i].f);
    }
    return out;
}

static value eval_cast(evaluator *ev, const node *n) {
    value x = eval(ev, n->kid[0]);
    elem to = n->type.elem;
    if (x.weak)
        eval_fail(ev, V_TYPES, n);
    if (n->kind == N_CAST && !n->variant)
        return eval_convert(ev, x, to, n);
    if (n->kind == N_CAST)
        return eval_toward_zero(ev, x, to, n);
    if (x.t.elem >= NUM_ELEMS || bits_of(x.t.elem) != bits_of(to))
        eval_fail(ev, V_TYPES, n);
    value out = new_value(ev, with_elem(x.t, to));
    for (uint32_t i = 0; i < numel(x.t); i++) {
        if (is_float(x.t.elem) && isnan(x.c[i].f)) // its bits are not settled
            eval_fail(ev, V_INEXACT, n);
        out.c[i] = from_bits(to, to_bits(x.t.elem, x.c[i]));
    }
    return out;
}

static value eval_math(evaluator *ev, const node *n) {
    value x = eval(ev, n->kid[0]), out = new_value(ev, x.t);
    if (!is_float(x.t.elem) || x.weak || is_fp8(x.t.elem))
        eval_fail(ev, V_TYPES, n);
    for (uint32_t i = 0; i < numel(x.t); i++)
        out.c[i].f = apply_math(n->op, x.c[i].f);
    return out;
}

// --- calls

int eval_call(evaluator *ev, const node *n, value *out) {
    const func *f = &ev->p->funcs[n->id];
    value args[MAX_KIDS];
    if (f->num_params != n->num_kids || f->is_combine)
        eval_fail(ev, V_TYPES, n);
    for (int i = 0; i < n->num_kids; i++) {
        args[i] = eval(ev, n->kid[i]);
        if (args[i].weak != ev->p->vars[f->param[i]].constant)
            eval_fail(ev, V_TYPES, n);
    }
    for (int i = 0; i < n->num_kids; i++)
        eval_bind(ev, f->param[i], args[i], n);
    size_t mark = ev->used;
    eval_block(ev, &f->body);
    bool early = ev->returned;
    ev->returned = false;
    ev->used = mark;
    for (int i = 0; i < f->num_results; i++) {
        if (early && f->num_results > 1)
            eval_fail(ev, V_TYPES, n);
        value v = early ? ev->return_value : eval(ev, f->result[i]);
        out[i] = new_value(ev, v.t); // variables of the helper may be bound anew
        out[i].weak = v.weak;
        memmove(out[i].c, v.c, numel(v.t) * sizeof(cell));
    }
    return f->num_results;
}

// --- all expressions

static value eval_scalar(evaluator *ev, type t, int64_t i) {
    value v = new_value(ev, t);
    v.c[0].i = i;
    return v;
}

static value eval_var(evaluator *ev, const node *n) {
    if (!ev->vars[n->id].bound)
        eval_fail(ev, V_UNBOUND, n);
    return (value){
        .t = ev->p->vars[n->id].type, .weak = ev->p->vars[n->id].constant, .c = ev->vars[n->id].c};
}

static value eval_full(evaluator *ev, const node *n) {
    value x = eval(ev, n->kid[0]);
    if (x.t.rank != 0)
        eval_fail(ev, V_TYPES, n);
    x = eval_convert(ev, x, n->type.elem, n);
    x.c = eval_spread(ev, x, n->type, n);
    x.t = n->type;
    return x;
}

static value eval_offset(evaluator *ev, const node *n) {
    value p = eval(ev, n->kid[0]), i = eval(ev, n->kid[1]);
    type t;
    if (p.t.elem != T_PTR || !is_int(i.t.elem) || i.t.elem == T_I1 ||
        !broadcast_shapes(p.t, i.t, &t))
        eval_fail(ev, V_TYPES, n);
    t.elem = T_PTR;
    t.buf = p.t.buf;
    value out = new_value(ev, t);
    const cell *a = eval_spread(ev, p, t, n), *b = eval_spread(ev, i, t, n);
    for (uint32_t k = 0; k < numel(t); k++)
        out.c[k].i = (int64_t)((uint64_t)a[k].i + (uint64_t)b[k].i);
    return out;
}

static value eval_choose(evaluator *ev, const node *n) {
    value c = eval(ev, n->kid[0]);
    if (c.t.rank || c.weak || c.t.elem != T_I1)
        eval_fail(ev, V_TYPES, n);
    return eval(ev, n->kid[c.c[0].i ? 1 : 2]);
}

static value eval_arange(evaluator *ev, const node *n) {
    value out = new_value(ev, n->type);
    for (uint32_t i = 0; i < numel(n->type); i++)
        out.c[i].i = n->i + i;
    return out;
}

static value eval_literal(evaluator *ev, const node *n) {
    value v = new_value(ev, n->type);
    v.weak = true;
    if (is_float(n->type.elem))
        v.c[0].f = n->f;
    else
        v.c[0].i = n->id ? ev->p->consts[n->id - 1] : n->i;
    return v;
}

/// A promise about x must be true: of whole runs of n->i along its axis, from multiples of that on.
static value eval_hint(evaluator *ev, const node *n) {
    value x = eval(ev, n->kid[0]);
    uint32_t inner = 1, run = (uint32_t)n->i;
    for (int d = n->axis + 1; d < x.t.rank; d++)
        inner *= x.t.dim[d];
    uint32_t extent = x.t.rank ? x.t.dim[n->axis] : 1;
    if (x.weak || !is_int(x.t.elem) || x.t.elem == T_I1 || (n->id != HINT_MULTIPLE && run > extent))
        eval_fail(ev, V_INEXACT, n);
    for (uint32_t i = 0; i < numel(x.t); i++) {
        uint32_t at = i / inner % extent;
        bool inside = at % run != 0;
        if (n->id == HINT_MULTIPLE
                ? x.c[i].i % n->i != 0
                : inside && x.c[i].i != x.c[i - inner].i + (n->id == HINT_CONTIGUOUS))
            eval_fail(ev, V_INEXACT, n);
    }
    return x;
}

static value eval_kind(evaluator *ev, const node *n) {
    value out[MAX_TARGETS];
    switch ((node_kind)n->kind) {
    case N_NUM:
        return eval_literal(ev, n);
    case N_VAR:
        return eval_var(ev, n);
    case N_PID:
        return eval_scalar(ev, n->type, ev->pid[n->axis]);
    case N_NPROGS:
        return eval_scalar(ev, n->type, ev->p->grid[n->axis]);
    case N_ARANGE:
        return eval_arange(ev, n);
    case N_FULL:
        return eval_full(ev, n);
    case N_UNARY:
        return eval_unary(ev, n);
    case N_BINARY:
    case N_COMPARE:
        return eval_binary(ev, n);
    case N_WHERE:
        return eval_where(ev, n);
    case N_CHOOSE:
        return eval_choose(ev, n);
    case N_CLAMP:
    case N_FMA:
        return eval_three(ev, n);
    case N_CAST:
    case N_BITCAST:
        return eval_cast(ev, n);
    case N_EXPAND:
    case N_SQUEEZE:
    case N_RESHAPE:
        return eval_reshape(ev, n);
    case N_PERMUTE:
        return eval_permute(ev, n);
    case N_BROADCAST: {
        value x = eval(ev, n->kid[0]);
        x.c = eval_spread(ev, x, n->type, n);
        return (value){.t = n->type, .c = x.c, .weak = x.weak};
    }
    case N_JOIN:
    case N_INTERLEAVE:
    case N_CAT:
        return eval_join(ev, n);
    case N_FLIP:
        return eval_flip(ev, n);
    case N_SPLIT:
        eval_split(ev, n, out);
        return out[0];
    case N_REDUCE:
    case N_FOLD:
    case N_EXTREMUM:
        eval_reduction(ev, n, out);
        return out[0];
    case N_SCAN:
    case N_SCANFOLD:
    case N_SORT:
    case N_TOPK:
    case N_HISTOGRAM:
    case N_GATHER:
        eval_scan(ev, n, out);
        return out[0];
    case N_LOAD:
        return eval_load(ev, n);
    case N_ATOMIC:
        return eval_atomic_result(ev, n);
    case N_BASE:
        return eval_scalar(ev, n->type, 0);
    case N_OFFSET:
        return eval_offset(ev, n);
    case N_CALL:
        eval_call(ev, n, out);
        return out[0];
    case N_MATH:
        return eval_math(ev, n);
    case N_HINT:
        return eval_hint(ev, n);
    case N_BLOCK: // of a load or store only, which see to it
    case NUM_NODE_KINDS:
        break;
    }
    eval_fail(ev, V_TYPES, n);
}

value eval(evaluator *ev, const node *n) {
    value v = eval_kind(ev, n);
    if (!v.weak && !same_type(v.t, n->type))
        eval_fail(ev, V_TYPES, n);
    return v;
}

// --- statements

void eval_bind(evaluator *ev, int var, value v, const node *at) {
    const var_info *to = &ev->p->vars[var];
    binding *b = &ev->vars[var];
    if (to->constant ? !v.weak : v.weak && v.t.elem == T_I1) // x = 5 makes an i32
        eval_fail(ev, V_TYPES, at);
    if (!to->constant && !same_type(v.t, to->type))
        eval_fail(ev, V_TYPES, at);
    uint32_t n = numel(v.t);
    if (b->capacity < n) {
        b->c = realloc(b->c, n * sizeof(cell));
        b->capacity = n;
    }
    memmove(b->c, v.c, n * sizeof(cell));
    b->bound = true;
}

static bool is_true(evaluator *ev, const node *n) {
    value v = eval(ev, n);
    if (numel(v.t) != 1 || v.weak || !is_int(v.t.elem))
        eval_fail(ev, V_TYPES, n);
    return v.c[0].i != 0;
}

/// Names that a block makes end with it.
static void eval_scope(evaluator *ev, const block *b) {
    bool before[MAX_VARS];
    for (int i = 0; i < ev->p->num_vars; i++)
        before[i] = ev->vars[i].bound;
    eval_block(ev, b);
    for (int i = 0; i < ev->p->num_vars; i++)
        ev->vars[i].bound &= before[i];
}

static void eval_for(evaluator *ev, const stmt *s) {
    value bound[3];
    elem t = T_I32;
    for (int k = 0; k < 3; k++) {
        bound[k] = eval(ev, s->e[k]);
        if (!is_int(bound[k].t.elem) || bound[k].t.rank)
            eval_fail(ev, V_TYPES, s->e[k]);
        elem own = bound[k].weak ? T_I32 : bound[k].t.elem;
        t = k ? promote(O_ADD, t, false, own, false) : own;
    }
    bool is_static = s->kind == S_STATIC_FOR;
    const var_info *iv = &ev->p->vars[s->target[0]];
    if (is_static != iv->constant || (!is_static && iv->type.elem != t))
        eval_fail(ev, V_TYPES, NULL);
    int64_t from = bound[0].c[0].i, to = bound[1].c[0].i, step = bound[2].c[0].i;
    if (step < 0 && !bound[2].weak)
        step = 0; // known at run time only, it never counts down
    for (int64_t i = from; step && !ev->returned && (step > 0 ? i < to : i > to); i += step) {
        value v = eval_scalar(ev, scalar_type(t), i);
        v.weak = is_static;
        binding *b = &ev->vars[s->target[0]];
        eval_bind(ev, s->target[0], v, NULL);
        eval_scope(ev, &s->body);
        ev->continued = false;
        b->bound = false;
    }
}

static void eval_unpack(evaluator *ev, const stmt *s) {
    value out[MAX_TARGETS];
    const node *n = s->e[0];
    int count = n->kind == N_CALL       ? eval_call(ev, n, out)
                : n->kind == N_SPLIT    ? eval_split(ev, n, out)
                : n->kind == N_SCANFOLD ? eval_scan(ev, n, out)
                                        : eval_reduction(ev, n, out);
    if (count != s->num_targets)
        eval_fail(ev, V_TYPES, n);
    for (int i = 0; i < count; i++)
        eval_bind(ev, s->target[i], out[i], n);
}

static void eval_stmt(evaluator *ev, const stmt *s) {
    size_t mark = ev->used;
    ev->current = s;
    eval_cells(ev, 1); // counts as a step
    switch ((stmt_kind)s->kind) {
    case S_ASSIGN:
        eval_bind(ev, s->target[0], eval(ev, s->e[0]), s->e[0]);
        break;
    case S_UNPACK:
        eval_unpack(ev, s);
        break;
    case S_STORE:
        eval_store(ev, s);
        break;
    case S_ATOMIC:
        eval_atomic(ev, s);
        break;
    case S_IF:
        eval_scope(ev, is_true(ev, s->e[0]) ? &s->body : &s->other);
        break;
    case S_FOR:
    case S_STATIC_FOR:
        eval_for(ev, s);
        break;
    case S_WHILE:
        while (!ev->returned && is_true(ev, s->e[0])) {
            eval_scope(ev, &s->body);
            ev->continued = false;
            ev->current = s;
            ev->used = mark;
        }
        break;
    case S_RETURN:
        if (s->e[0])
            ev->return_value = eval(ev, s->e[0]);
        ev->returned = true;
        break;
    case S_CONTINUE:
        ev->continued = true;
        break;
    case S_ASSUME:
        if (!is_true(ev, s->e[0]))
            eval_fail(ev, V_TYPES, NULL);
        break;
    case NUM_STMT_KINDS:
        break;
    }
    ev->used = mark;
}

void eval_block(evaluator *ev, const block *b) {
    for (int i = 0; i < b->count && !ev->returned && !ev->continued; i++)
        eval_stmt(ev, b->at[i]);
}

static void run_program(evaluator *ev) {
    for (int i = 0; i < ev->p->num_vars; i++)
        ev->vars[i].bound = false;
    for (int i = 0; i < ev->p->num_vars; i++)
        if (ev->p->vars[i].role == ROLE_PARAM)
            eval_bind(ev, i, eval_scalar(ev, ev->p->vars[i].type, ev->p->vars[i].i), NULL);
    eval_block(ev, &ev->p->body);
    ev->returned = false;
}

verdict evaluate(const program *p, memory *m, sabotage broken) {
    verdict scopes = check_scopes(p);
    if (scopes.kind != V_FIT)
        return scopes;
    evaluator *ev = calloc(1, sizeof *ev);
    ev->arena = malloc(ARENA_CELLS * sizeof(cell));
    ev->p = p;
    ev->m = m;
    ev->broken = broken;
    for (int i = 0; i < p->num_buffers; i++)
        ev->stamp[i] = calloc(m->count[i] + 1, sizeof(uint32_t));
    if (!setjmp(ev->unfit)) {
        for (uint32_t i = 0; i < p->num_programs; i++) {
            ev->linear_pid = i;
            ev->pid[0] = i % p->grid[0];
            ev->pid[1] = i / p->grid[0] % p->grid[1];
            ev->pid[2] = i / p->grid[0] / p->grid[1];
            run_program(ev);
        }
    }
    verdict v = ev->verdict;
    for (int i = 0; i < p->num_buffers; i++)
        free(ev->stamp[i]);
    for (int i = 0; i < p->num_vars; i++)
        free(ev->vars[i].c);
    free(ev->arena);
    free(ev);
    return v;
}
