// Expressions: one function for each way to make a value of a wanted type. Each returns NULL where
// it does not apply.
#include "gen.h"

#include <math.h>
#include <string.h>

static bool percent(gen *g, unsigned n) { return rng_percent(&g->r, n); }

static node *styled(gen *g, node *n) {
    if (n)
        n->style = (uint8_t)rng_next(&g->r);
    return n;
}

elem gen_elem(gen *g) { return g->list[rng_below(&g->r, (uint32_t)g->num_list)]; }

type gen_shape(gen *g) { return g->pool[rng_below(&g->r, (uint32_t)g->num_pool)]; }

// --- literals and leaves

static double small_float(gen *g) {
    if (percent(g, 25))
        return ldexp(1, rng_range(&g->r, -3, 3));
    return rng_range(&g->r, -16, 16) * 0.25;
}

static int64_t small_int(gen *g, elem t) {
    if (t == T_I1)
        return rng_below(&g->r, 2);
    unsigned bits = bits_of(t) > 31 ? 31 : bits_of(t) - is_signed(t);
    if (bits_of(t) >= 32 && percent(g, 4)) // the largest, and what needs 64 bits
        return (int64_t)(UINT64_MAX >> (64 - bits_of(t) + (is_signed(t) || bits_of(t) == 64)));
    if (percent(g, 15))
        return (int64_t)rng_below(&g->r, UINT32_C(1) << (bits > 31 ? 31 : bits));
    return rng_range(&g->r, is_signed(t) ? -9 : 0, 17);
}

node *gen_literal(gen *g, elem t) {
    program *p = g->p;
    if (is_float(t))
        return percent(g, 80) ? new_float(p, small_float(g)) : new_int(p, rng_range(&g->r, -4, 4));
    if (t != T_I1 && !g->in_func && p->num_consts && percent(g, 15)) {
        node *n = new_int(p, 0);
        n->id = (int16_t)(1 + rng_below(&g->r, (uint32_t)p->num_consts));
        n->i = p->consts[n->id - 1];
        return n;
    }
    node *n = new_int(p, small_int(g, t));
    if (t == T_I1)
        n->type = scalar_type(T_I1);
    return n;
}

static node *constant(gen *g, type t) {
    if (is_float(t.elem))
        return styled(g, new_full(g->p, t, small_float(g)));
    int64_t v = small_int(g, t.elem);
    node *n = styled(g, new_full(g->p, t, 0));
    if (t.elem == T_I1)
        n->kid[0]->i = v;
    else
        n->kid[0] = new_int(g->p, v); // the largest is no double
    return n;
}

static node *from_arange(gen *g, type t) {
    if (!is_int(t.elem) || t.elem == T_I1 || t.rank == 0)
        return NULL;
    type line = scalar_type(T_I32);
    line.rank = 1;
    line.dim[0] = (uint16_t)numel(t);
    node *n = styled(g, new_node(g->p, N_ARANGE, line));
    n->i = percent(g, 70) ? 0 : rng_range(&g->r, 0, 100);
    return gen_adapt(g, n, t);
}

static node *variable(gen *g, type t, bool adapt) {
    for (int tries = 0; tries < 12 && g->num_scope; tries++) {
        // Later ones are likelier.
        int a = (int)rng_below(&g->r, (uint32_t)g->num_scope),
            b = (int)rng_below(&g->r, (uint32_t)g->num_scope);
        int id = g->scope[a > b ? a : b];
        const var_info *v = &g->p->vars[id];
        if (same_type(v->type, t) && !v->constant)
            return new_var(g->p, id);
        bool flat = t.rank && !v->type.rank; // a splat tells little of layouts
        if (adapt && tries > 5 && v->type.elem < NUM_ELEMS && !v->constant &&
            (!flat || percent(g, 15)))
            return gen_adapt(g, new_var(g->p, id), t);
    }
    return NULL;
}

static node *scalar_source(gen *g, type t) {
    program *p = g->p;
    if (t.rank || !is_int(t.elem) || t.elem == T_I1 || g->in_func)
        return NULL;
    node *n = styled(g, new_node(p, percent(g, 60) ? N_PID : N_NPROGS, scalar_type(T_I32)));
    n->axis = (int8_t)rng_below(&g->r, 3);
    return t.elem == T_I32 ? n : styled(g, new_cast(p, n, t.elem));
}

static node *load(gen *g, type t, int depth) {
    if (g->in_func)
        return NULL;
    program *p = g->p;
    int b = gen_buffer(g, t.elem, percent(g, 60) ? BUF_IN : BUF_OWN, numel(t));
    if (b < 0)
        return NULL;
    node *n = styled(g, new_node(p, N_LOAD, t)), *index = NULL;
    n->num_kids = 3;
    if (t.rank && percent(g, 20)) {
        n->kid[0] = gen_array_block(g, b, t, depth);
        return n;
    }
    n->kid[0] = gen_pointer(g, b, t, false, &index, depth);
    n->variant = percent(g, 3);
    if (percent(g, 40)) {
        n->kid[1] = gen_mask(g, b, t, index, depth);
        if (percent(g, 50))
            n->kid[2] = percent(g, 70) ? gen_literal(g, t.elem) : gen_expr(g, t, 0);
    }
    return n;
}

static node *leaf(gen *g, type t) {
    node *n = NULL;
    if (percent(g, 75))
        n = variable(g, t, true);
    if (!n && percent(g, t.rank ? 75 : 40))
        n = load(g, t, 0);
    if (!n && percent(g, 40))
        n = percent(g, 50) ? scalar_source(g, t) : from_arange(g, t);
    return n ? n : constant(g, t);
}

// --- shapes

static node *reshape_to(gen *g, node *v, type shape) {
    type t = shape;
    t.elem = v->type.elem;
    node *n = styled(g, new_node(g->p, N_RESHAPE, t));
    n->kid[0] = v;
    n->num_kids = 1;
    return n;
}

static node *broadcast_to(gen *g, node *v, type shape) {
    type t = with_elem(shape, v->type.elem);
    node *n = styled(g, new_node(g->p, v->type.rank ? N_BROADCAST : N_FULL, t));
    n->kid[0] = v;
    n->num_kids = 1;
    return n;
}

/// A shape of n elements whose broadcast is t; false if its extents do not multiply to that.
static bool sub_shape(gen *g, type t, uint32_t n, type *out) {
    *out = t;
    uint32_t left = n;
    int first = (int)rng_below(&g->r, MAX_RANK);
    for (int i = 0; i < t.rank; i++) {
        int d = (first + i) % t.rank;
        if (t.dim[d] <= left)
            left /= t.dim[d];
        else
            out->dim[d] = 1;
    }
    return left == 1;
}

static op some_reduction(gen *g, elem t, elem *result) {
    op o = percent(g, 50)                ? O_MAX
           : percent(g, 50)              ? O_MIN
           : is_int(t) && percent(g, 50) ? O_XORSUM
                                         : O_SUM;
    *result = o == O_XORSUM                 ? t
              : is_float(t)                 ? (bits_of(t) < 32 && o != O_SUM ? T_F32 : t)
              : bits_of(t) >= 32            ? t
              : o == O_SUM && !is_signed(t) ? T_U32
                                            : T_I32;
    return o;
}

/// v without one axis, or as a scalar if axis is -1.
static node *reduce_axis(gen *g, node *v, int axis) {
    type t = {.rank = 0};
    for (int d = 0; d < v->type.rank && axis >= 0; d++)
        if (d != axis)
            t.dim[t.rank++] = v->type.dim[d];
    elem result;
    op o = some_reduction(g, v->type.elem, &result);
    node *n = styled(g, new_node(g->p, N_REDUCE, with_elem(t, result)));
    n->op = (uint8_t)o;
    n->axis = (int8_t)axis;
    n->kid[0] = v;
    n->num_kids = 1;
    return n;
}

/// Tiles of different sizes, both powers of two: through [rows, n] or [n, rows].
static node *resize(gen *g, node *v, type t) {
    uint32_t from = numel(v->type), to = numel(t), small = from < to ? from : to;
    int axis = percent(g, 50);
    type wide = {.rank = 2};
    wide.dim[!axis] = (uint16_t)small;
    wide.dim[axis] = (uint16_t)(from < to ? to / from : from / to);
    if (from < to) {
        type thin = wide;
        thin.dim[axis] = 1;
        v = broadcast_to(g, reshape_to(g, v, thin), wide);
    } else {
        v = reduce_axis(g, reshape_to(g, v, wide), axis);
    }
    return same_shape(v->type, t) ? v : reshape_to(g, v, t);
}

static node *adapt_shape(gen *g, node *v, type t) {
    if (same_shape(v->type, t))
        return v;
    if (v->type.rank && t.rank && numel(v->type) == numel(t))
        return reshape_to(g, v, t);
    type sub;
    if (v->type.rank && t.rank && sub_shape(g, t, numel(v->type), &sub))
        return broadcast_to(g, same_shape(v->type, sub) ? v : reshape_to(g, v, sub), t);
    if (v->type.rank && t.rank && percent(g, 90))
        return resize(g, v, t);
    if (v->type.rank)
        v = reduce_axis(g, v, -1);
    return t.rank ? broadcast_to(g, v, t) : v;
}

node *gen_adapt(gen *g, node *v, type t) {
    bool first = percent(g, 50);
    if (first && v->type.elem != t.elem)
        v = styled(g, new_cast(g->p, v, t.elem));
    v = adapt_shape(g, v, t);
    return v->type.elem == t.elem ? v : styled(g, new_cast(g->p, v, t.elem));
}

static node *expand(gen *g, type t, int depth) {
    int d = t.rank ? (int)rng_below(&g->r, t.rank) : 0;
    if (t.rank < 2 || t.dim[d] != 1)
        return NULL;
    type from = t;
    from.rank = 0;
    for (int i = 0; i < t.rank; i++)
        if (i != d)
            from.dim[from.rank++] = t.dim[i];
    node *n = styled(g, new_node(g->p, N_EXPAND, t));
    n->axis = (int8_t)d;
    n->kid[0] = gen_expr(g, from, depth - 1);
    n->num_kids = 1;
    return n;
}

static node *squeeze(gen *g, type t, int depth) {
    if (t.rank == 0 || t.rank == MAX_RANK)
        return NULL;
    int d = (int)rng_below(&g->r, t.rank + 1u);
    type from = t;
    from.rank++;
    for (int i = from.rank - 1; i > d; i--)
        from.dim[i] = from.dim[i - 1];
    from.dim[d] = 1;
    node *n = styled(g, new_node(g->p, N_SQUEEZE, t));
    n->axis = (int8_t)d;
    n->kid[0] = gen_expr(g, from, depth - 1);
    n->num_kids = 1;
    return n;
}

/// Another shape of as many elements.
static type other_shape(gen *g, type t) {
    type out = {.elem = t.elem, .rank = (uint8_t)rng_range(&g->r, 1, 3)};
    int bits = __builtin_ctz(numel(t));
    for (int d = 0; d < out.rank; d++) {
        int b = d == out.rank - 1 ? bits : rng_range(&g->r, 0, bits);
        out.dim[d] = (uint16_t)(1u << b);
        bits -= b;
    }
    return out;
}

static node *reshape(gen *g, type t, int depth) {
    if (t.rank == 0)
        return NULL;
    return reshape_to(g, gen_expr(g, other_shape(g, t), depth - 1), t);
}

static node *permute(gen *g, type t, int depth) {
    if (t.rank < 2)
        return NULL;
    node *n = styled(g, new_node(g->p, N_PERMUTE, t));
    for (int i = 0; i < t.rank; i++)
        n->order[i] = (uint8_t)i;
    for (int i = t.rank - 1; i > 0; i--) {
        int j = (int)rng_below(&g->r, (uint32_t)(t.rank == 2 ? i : i + 1));
        uint8_t x = n->order[i];
        n->order[i] = n->order[j];
        n->order[j] = x;
    }
    type from = t;
    for (int i = 0; i < t.rank; i++)
        from.dim[n->order[i]] = t.dim[i];
    n->kid[0] = gen_expr(g, from, depth - 1);
    n->num_kids = 1;
    return n;
}

/// A shape that broadcasts to t.
static type smaller_shape(gen *g, type t) {
    if (percent(g, 20))
        return scalar_type(t.elem);
    int drop = percent(g, 30) && t.rank > 1 ? 1 : 0;
    type out = {.elem = t.elem, .rank = (uint8_t)(t.rank - drop)};
    for (int d = 0; d < out.rank; d++)
        out.dim[d] = percent(g, 50) ? 1 : t.dim[d + drop];
    return out;
}

static node *broadcast(gen *g, type t, int depth) {
    if (t.rank == 0)
        return NULL;
    type from = smaller_shape(g, t);
    return broadcast_to(g, gen_expr(g, from, depth - 1), t);
}

// --- elementwise

static void operand_types(gen *g, type t, type *a, type *b) {
    *a = *b = t;
    if (t.rank && percent(g, 40))
        *b = smaller_shape(g, t);
    if (percent(g, 50)) {
        type x = *a;
        *a = *b;
        *b = x;
    }
}

static bool is_divisor(op o) { return o == O_FLOORDIV || o == O_MOD; }

/// Element types whose promotion is t.
static bool operand_elems(gen *g, op o, elem t, elem *a, elem *b) {
    for (int tries = 0; tries < 24; tries++) {
        *a = percent(g, 40) ? t : gen_elem(g);
        *b = percent(g, 50) ? *a : percent(g, 30) ? t : gen_elem(g);
        bool no_bool = o == O_SHL || o == O_SHR || is_divisor(o) || o == O_DIV;
        if (no_bool && (*a == T_I1 || *b == T_I1))
            continue;
        elem c = promote(o, *a, false, *b, false);
        if (c != T_NONE && result_elem(o, c) == t)
            return true;
    }
    return false;
}

static op some_operator(gen *g, elem t) {
    static const op ints[] = {O_ADD,      O_ADD, O_SUB,     O_SUB,     O_MUL,   O_MUL,
                              O_AND,      O_OR,  O_XOR,     O_XOR,     O_SHL,   O_SHR,
                              O_FLOORDIV, O_MOD, O_MAXIMUM, O_MINIMUM, O_UMULHI};
    static const op floats[] = {O_ADD, O_ADD,     O_ADD,     O_SUB, O_SUB, O_MUL,
                                O_MUL, O_MAXIMUM, O_MINIMUM, O_DIV, O_MOD};
    static const op bools[] = {O_AND, O_OR, O_XOR, O_ADD, O_MUL};
    if (t == T_I1)
        return bools[rng_below(&g->r, 5)];
    return is_float(t) ? floats[rng_below(&g->r, 11)] : ints[rng_below(&g->r, 17)];
}

static node *second_operand(gen *g, op o, type b, int depth) {
    program *p = g->p;
    if (o == O_DIV || (o == O_MOD && is_float(b.elem)))
        return styled(g, new_full(p, b,
                                  is_float(b.elem) ? ldexp(1, rng_range(&g->r, -2, 4))
                                                   : 1 << rng_below(&g->r, 5)));
    node *n = gen_expr(g, b, depth - 1);
    if (is_divisor(o))
        return new_binary(p, O_OR, n, new_int(p, 1));
    if ((o == O_SHL || o == O_SHR) && percent(g, 85))
        return new_binary(p, O_AND, n, new_int(p, (int64_t)bits_of(b.elem) - 1));
    return n;
}

static node *literal_operand(gen *g, op o, elem t) {
    if (o == O_DIV || (o == O_MOD && is_float(t)))
        return new_float(g->p, ldexp(1, rng_range(&g->r, -2, 4)));
    if (is_divisor(o))
        return new_int(g->p, rng_range(&g->r, 1, 13));
    if (o == O_SHL || o == O_SHR)
        return new_int(g->p, rng_below(&g->r, bits_of(t)));
    return gen_literal(g, t);
}

static node *binary(gen *g, type t, int depth) {
    op o = some_operator(g, t.elem);
    elem a, b;
    if (!operand_elems(g, o, t.elem, &a, &b))
        return NULL;
    type ta, tb;
    operand_types(g, t, &ta, &tb);
    node *x = NULL, *y = NULL;
    if (percent(g, 25) && o != O_UMULHI) { // with a weak number
        x = gen_expr(g, with_elem(t, a), depth - 1);
        y = literal_operand(g, o, a);
        bool swap = percent(g, 30) && !is_divisor(o) && o != O_DIV && o != O_SHL && o != O_SHR;
        node *n = new_binary(g->p, o, swap ? y : x, swap ? x : y);
        if (n && n->type.elem == t.elem)
            return styled(g, n);
    }
    x = x && same_shape(x->type, ta) ? x : gen_expr(g, with_elem(ta, a), depth - 1);
    y = second_operand(g, o, with_elem(tb, b), depth);
    node *n = styled(g, new_binary(g->p, o, x, y));
    if (n)
        n->variant = (o == O_MAXIMUM || o == O_MINIMUM) && is_float(t.elem) && percent(g, 20);
    return n;
}

static node *comparison(gen *g, type t, int depth) {
    if (t.elem != T_I1)
        return NULL;
    op o = (op)rng_range(&g->r, O_EQ, O_GE);
    type ta, tb;
    operand_types(g, t, &ta, &tb);
    elem a = gen_elem(g), b = percent(g, 70) ? a : gen_elem(g);
    node *x = gen_expr(g, with_elem(percent(g, 30) ? t : ta, a), depth - 1);
    if (same_shape(x->type, t) && percent(g, 40) && a != T_I1)
        return styled(g, new_binary(g->p, o, x, gen_literal(g, a)));
    if (!same_shape(x->type, ta))
        tb = t;
    return styled(g, new_binary(g->p, o, x, gen_expr(g, with_elem(tb, b), depth - 1)));
}

static node *unary(gen *g, type t, int depth) {
    static const op floats[] = {O_NEG, O_ABS, O_FLOOR, O_CEIL};
    static const op ints[] = {O_NEG, O_INVERT, O_ABS};
    op o = t.elem == T_I1     ? O_INVERT
           : is_float(t.elem) ? floats[rng_below(&g->r, is_fp8(t.elem) ? 2 : 4)]
                              : ints[rng_below(&g->r, 3)];
    return styled(g, new_unary(g->p, o, gen_expr(g, t, depth - 1)));
}

static node *with_kids(gen *g, node_kind kind, type t, node *a, node *b, node *c) {
    node *n = styled(g, new_node(g->p, kind, t));
    node *kids[] = {a, b, c};
    for (int i = 0; i < 3 && kids[i]; i++)
        n->kid[n->num_kids++] = kids[i];
    return n;
}

static node *where(gen *g, type t, int depth) {
    type ta, tb;
    operand_types(g, t, &ta, &tb);
    node *c = gen_expr(g, with_elem(percent(g, 60) ? t : smaller_shape(g, t), T_I1), depth - 1);
    elem a, b;
    if (!operand_elems(g, O_ADD, t.elem, &a, &b))
        return NULL;
    node *x = gen_expr(g, with_elem(ta, a), depth - 1), *y;
    if (percent(g, 25) && a == t.elem && same_shape(ta, t))
        y = gen_literal(g, a);
    else
        y = gen_expr(g, with_elem(tb, b), depth - 1);
    if (is_weak(g->p, y) && is_float(y->type.elem) && !is_float(t.elem))
        return NULL;
    return with_kids(g, N_WHERE, t, c, x, y);
}

static node *choose(gen *g, type t, int depth) {
    node *c = gen_expr(g, scalar_type(T_I1), depth - 1);
    return with_kids(g, N_CHOOSE, t, c, gen_expr(g, t, depth - 1), gen_expr(g, t, depth - 1));
}

static node *three_floats(gen *g, type t, int depth) {
    if (!is_float(t.elem) || is_fp8(t.elem))
        return NULL;
    bool clamp = t.elem != T_BF16 && percent(g, 50);
    node *x = gen_expr(g, t, depth - 1);
    if (clamp) {
        double low = rng_range(&g->r, -8, 4);
        node *n = with_kids(g, N_CLAMP, t, x, styled(g, new_full(g->p, t, low)),
                            styled(g, new_full(g->p, t, low + 4)));
        n->variant = percent(g, 20);
        return n;
    }
    return with_kids(g, N_FMA, t, x, gen_expr(g, t, 0), gen_expr(g, t, 0));
}

static node *cast(gen *g, type t, int depth) {
    elem from = percent(g, 80) ? gen_elem(g) : (elem)rng_below(&g->r, NUM_ELEMS);
    if (percent(g, 12))
        for (int e = 0; e < NUM_ELEMS; e++)
            if (bits_of((elem)e) == bits_of(t.elem) && (elem)e != t.elem && percent(g, 50)) {
                node *n = with_kids(g, N_BITCAST, t, gen_expr(g, with_elem(t, (elem)e), depth - 1),
                                    NULL, NULL);
                return n;
            }
    if (from == t.elem)
        return NULL;
    node *n = styled(g, new_cast(g->p, gen_expr(g, with_elem(t, from), depth - 1), t.elem));
    n->variant =
        is_float(from) && is_float(t.elem) && bits_of(t.elem) < bits_of(from) && percent(g, 15);
    return n;
}

// --- reductions

bool gen_widened(gen *g, type t, bool keep_dims, type *wide, int *axis) {
    uint32_t room = g->most / numel(t);
    int bits = room ? 31 - __builtin_clz(room) : 0, b = rng_range(&g->r, 0, bits);
    if (percent(g, 50))
        b = bits - (int)rng_below(&g->r, 3);
    uint16_t extent = (uint16_t)(1u << (b < 0 ? 0 : b));
    *wide = t;
    if (keep_dims) {
        *axis = t.rank ? (int)rng_below(&g->r, t.rank) : 0;
        if (!t.rank || t.dim[*axis] != 1)
            return false;
        wide->dim[*axis] = extent;
        return true;
    }
    if (t.rank >= MAX_RANK - 1)
        return false;
    *axis = (int)rng_below(&g->r, t.rank + 1u);
    wide->rank++;
    for (int i = t.rank; i > *axis; i--)
        wide->dim[i] = t.dim[i - 1];
    wide->dim[*axis] = extent;
    return true;
}

typedef struct reduction {
    op op;
    elem from;
} reduction;

/// A named reduction whose result is t.
static bool some_named(gen *g, elem t, reduction *out) {
    static const op ops[] = {O_SUM, O_SUM, O_MAX, O_MIN, O_XORSUM, O_REDUCEOR, O_ARGMAX, O_ARGMIN};
    for (int tries = 0; tries < 24; tries++) {
        op o = ops[rng_below(&g->r, 8)];
        elem from = percent(g, 40) ? t : gen_elem(g);
        bool index = o == O_ARGMAX || o == O_ARGMIN, bits = o == O_XORSUM || o == O_REDUCEOR;
        elem result = index || bits         ? from
                      : is_float(from)      ? (o == O_SUM || bits_of(from) >= 32 ? from : T_F32)
                      : bits_of(from) >= 32 ? from
                      : o == O_SUM && !is_signed(from) ? T_U32
                                                       : T_I32;
        if (index)
            result = T_I32;
        if (result == t && (!bits || is_int(from))) {
            *out = (reduction){o, from};
            return true;
        }
    }
    return false;
}

static bool reduced_operand(gen *g, type t, bool may_flatten, type *wide, int *axis, bool *keep) {
    *keep = t.rank && percent(g, 40);
    bool ones = numel(t) == 1 && (t.rank == 0 || *keep);
    if (ones && may_flatten && percent(g, 50)) {
        *wide = gen_shape(g);
        *axis = -1;
        return wide->rank && (!*keep || wide->rank == t.rank);
    }
    return gen_widened(g, t, *keep, wide, axis);
}

static node *reduce(gen *g, type t, int depth) {
    reduction red;
    type wide;
    int axis;
    bool keep;
    if (!some_named(g, t.elem, &red))
        return NULL;
    bool index = red.op == O_ARGMAX || red.op == O_ARGMIN;
    if (!reduced_operand(g, t, !index, &wide, &axis, &keep))
        return NULL;
    node *n =
        with_kids(g, N_REDUCE, t, gen_expr(g, with_elem(wide, red.from), depth - 1), NULL, NULL);
    n->op = (uint8_t)red.op;
    n->axis = (int8_t)axis;
    n->keep_dims = keep;
    return n;
}

static node *fold(gen *g, type t, int depth) {
    type wide;
    int axis;
    bool keep;
    if (!reduced_operand(g, t, true, &wide, &axis, &keep))
        return NULL;
    elem e = t.elem;
    int f = gen_combine(g, &e, 1);
    if (f < 0)
        return NULL;
    node *n = with_kids(g, N_FOLD, t, gen_expr(g, with_elem(wide, t.elem), depth - 1), NULL, NULL);
    n->id = (int16_t)f;
    n->axis = (int8_t)axis;
    n->keep_dims = keep;
    return n;
}

// --- joining

static node *join(gen *g, type t, int depth) {
    static const node_kind kinds[] = {N_JOIN, N_INTERLEAVE, N_CAT, N_CAT};
    node_kind kind = kinds[rng_below(&g->r, 4)];
    if (t.rank == 0)
        return NULL;
    int d = kind == N_CAT ? (int)rng_below(&g->r, t.rank) : t.rank - 1;
    type half = t;
    if (t.dim[d] < 2 || (kind == N_JOIN && t.dim[d] != 2))
        return NULL;
    half.dim[d] /= 2;
    if (kind == N_JOIN)
        half.rank--;
    node *a = gen_expr(g, half, depth - 1);
    node *n = with_kids(g, kind, t, a, gen_expr(g, half, depth - 1), NULL);
    n->axis = (int8_t)(kind == N_JOIN ? -1 : d);
    return n;
}

static node *flip(gen *g, type t, int depth) {
    if (t.rank == 0)
        return NULL;
    node *n = with_kids(g, N_FLIP, t, gen_expr(g, t, depth - 1), NULL, NULL);
    n->axis = (int8_t)rng_below(&g->r, t.rank);
    return n;
}

// --- calls

node *gen_call(gen *g, int id, int depth) {
    func *f = &g->p->funcs[id];
    node *n = styled(g, new_node(g->p, N_CALL, f->result[0]->type));
    n->id = (int16_t)id;
    for (int i = 0; i < f->num_params; i++) {
        bool fixed = f->has_constexpr && i == f->num_params - 1;
        n->kid[n->num_kids++] = fixed ? new_int(g->p, rng_range(&g->r, 0, 5))
                                      : gen_expr(g, g->p->vars[f->param[i]].type, depth - 1);
    }
    return n;
}

static node *call(gen *g, type t, int depth) {
    for (int i = 0; i < g->p->num_funcs && !g->in_func; i++) {
        const func *f = &g->p->funcs[i];
        if (!f->is_combine && f->num_results == 1 && same_type(f->result[0]->type, t))
            return gen_call(g, i, depth);
    }
    int id = gen_func(g, t, false);
    return id < 0 ? NULL : gen_call(g, id, depth);
}

// --- all

static node *any_variable(gen *g, type t, int depth) {
    (void)depth;
    return variable(g, t, true);
}

typedef struct production {
    node *(*make)(gen *g, type t, int depth);
    int weight;
} production;

static const production productions[] = {
    {binary, 22},       {comparison, 16},  {unary, 5},    {where, 9},         {choose, 2},
    {three_floats, 2},  {cast, 9},         {expand, 12},  {squeeze, 3},       {reshape, 8},
    {permute, 9},       {broadcast, 6},    {reduce, 14},  {fold, 5},          {call, 4},
    {load, 10},         {any_variable, 3}, {join, 8},     {flip, 5},          {gen_scan, 6},
    {gen_scan_fold, 3}, {gen_sort, 1},     {gen_topk, 1}, {gen_histogram, 3}, {gen_gather, 5},
};

const int gen_productions = sizeof productions / sizeof *productions;

node *gen_expr(gen *g, type t, int depth) {
    g->budget--;
    if (depth <= 0 || g->budget <= 0)
        return leaf(g, t);
    int total = 0;
    for (int i = 0; i < gen_productions; i++)
        total += g->without >> i & 1 ? 0 : productions[i].weight;
    for (int tries = 0; tries < 10; tries++) {
        int at = (int)rng_below(&g->r, (uint32_t)total), i = 0;
        for (; i < gen_productions; i++) {
            int w = g->without >> i & 1 ? 0 : productions[i].weight;
            if (at < w)
                break;
            at -= w;
        }
        node *n = productions[i].make(g, t, depth);
        if (n && same_type(n->type, t) && !is_weak(g->p, n))
            return n;
    }
    return leaf(g, t);
}
