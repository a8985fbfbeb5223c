// Statements, helpers and whole programs; and the repair of what the evaluator finds unfit.
#include "gen.h"
#include "evaluate.h"

#include <string.h>

static bool percent(gen *g, unsigned n) { return rng_percent(&g->r, n); }

static void show(gen *g, int var) { g->scope[g->num_scope++] = var; }

static int depth_here(gen *g) { return rng_range(&g->r, 1, g->loops ? 3 : 4); }

static void gen_block(gen *g, block *b, int count);

// --- helpers

/// The larger one, spelled out.
static node *larger_of(program *p, const node *a, const node *b) {
    node *w = new_node(p, N_WHERE, a->type);
    w->kid[0] = new_binary(p, O_GT, node_clone(p, a), node_clone(p, b));
    w->kid[1] = node_clone(p, a);
    w->kid[2] = node_clone(p, b);
    w->num_kids = 3;
    return w;
}

/// f(a, b) for reductions: associative and commutative in exact arithmetic.
static void combine_result(gen *g, func *f, elem t) {
    static const op ints[] = {O_ADD, O_MUL, O_XOR, O_AND, O_OR, O_MAXIMUM, O_MINIMUM};
    static const op bools[] = {O_XOR, O_AND, O_OR};
    program *p = g->p;
    node *a = new_var(p, f->param[0]), *b = new_var(p, f->param[1]);
    op o = t == T_I1                       ? bools[rng_below(&g->r, 3)]
           : is_int(t)                     ? ints[rng_below(&g->r, 7)]
           : t == T_BF16 || percent(g, 60) ? O_ADD
                                           : O_MAXIMUM;
    node *n = new_binary(p, o, a, b);
    if (!is_float(t) && percent(g, 30) && o == O_ADD && t != T_I1)
        n = new_binary(p, O_AND, n, new_int(p, 63)); // modulo 64
    if ((o == O_MAXIMUM || (is_float(t) && percent(g, 20))) && percent(g, 60))
        n = larger_of(p, a, b);
    f->result[0] = n;
}

/// The larger a with its lowest b: as argmax does it. b is an integer.
static void combine_pair(gen *g, func *f) {
    program *p = g->p;
    node *v[4];
    for (int i = 0; i < 4; i++)
        v[i] = new_var(p, f->param[i]);
    node *wins = new_binary(p, O_GT, v[0], v[2]),
         *ties = new_binary(p, O_EQ, node_clone(p, v[0]), node_clone(p, v[2]));
    node *first = new_binary(p, O_LT, v[1], v[3]);
    node *c = new_binary(p, O_OR, wins, new_binary(p, O_AND, ties, first));
    stmt *s = new_stmt(p, S_ASSIGN);
    s->target[0] = (int16_t)add_var(p, c->type, ROLE_HELPER);
    s->num_targets = 1;
    s->e[0] = c;
    block_add(p, &f->body, s);
    for (int i = 0; i < 2; i++) {
        node *w = new_node(p, N_WHERE, v[i]->type);
        w->kid[0] = new_var(p, s->target[0]);
        w->kid[1] = node_clone(p, v[i]);
        w->kid[2] = node_clone(p, v[i + 2]);
        w->num_kids = 3;
        f->result[i] = w;
    }
}

/// (a, b) * (c, d) = (ac - bd, ad + bc) on integers, where it wraps alike in every order.
static void combine_complex(gen *g, func *f) {
    program *p = g->p;
    node *v[4];
    for (int i = 0; i < 4; i++)
        v[i] = new_var(p, f->param[i]);
    node *x = new_binary(p, O_MUL, v[0], v[2]), *y = new_binary(p, O_MUL, v[1], v[3]);
    f->result[0] = new_binary(p, O_SUB, x, y);
    x = new_binary(p, O_MUL, node_clone(p, v[0]), node_clone(p, v[3]));
    y = new_binary(p, O_MUL, node_clone(p, v[1]), node_clone(p, v[2]));
    f->result[1] = new_binary(p, O_ADD, x, y);
}

int gen_ordered_combine(gen *g, elem t) {
    program *p = g->p;
    if (p->num_funcs == MAX_FUNCS || p->num_vars + 4 > MAX_VARS)
        return -1;
    func *f = &p->funcs[p->num_funcs];
    *f = (func){.is_combine = true, .is_ordered = true, .num_params = 4, .num_results = 2};
    node *v[4];
    for (int i = 0; i < 4; i++) {
        f->param[i] = (int16_t)add_var(p, scalar_type(t), ROLE_HELPER);
        v[i] = new_var(p, f->param[i]);
    }
    f->result[0] = new_binary(p, O_MUL, v[0], v[2]);
    f->result[1] = new_binary(p, O_ADD, new_binary(p, O_MUL, v[1], node_clone(p, v[2])), v[3]);
    return p->num_funcs++;
}

int gen_combine(gen *g, const elem *types, int count) {
    program *p = g->p;
    for (int i = 0; i < p->num_funcs; i++) {
        const func *f = &p->funcs[i];
        bool fits = f->is_combine && !f->is_ordered && f->num_results == count;
        for (int k = 0; fits && k < count; k++)
            fits = p->vars[f->param[k]].type.elem == types[k];
        if (fits && percent(g, 70))
            return i;
    }
    if (p->num_funcs == MAX_FUNCS || p->num_vars + 8 > MAX_VARS)
        return -1;
    func *f = &p->funcs[p->num_funcs];
    *f = (func){.is_combine = true, .num_params = 2 * count, .num_results = count};
    for (int i = 0; i < 2 * count; i++)
        f->param[i] = (int16_t)add_var(p, scalar_type(types[i % count]), ROLE_HELPER);
    if (count == 1)
        combine_result(g, f, types[0]);
    else if (types[0] == types[1] && is_int(types[0]) && types[0] != T_I1 && percent(g, 50))
        combine_complex(g, f);
    else
        combine_pair(g, f);
    for (int k = 0; k < count; k++)
        if (!f->result[k] || f->result[k]->type.elem != types[k])
            return -1; // such as maximum of bf16, which is fp32
    return p->num_funcs++;
}

int gen_func(gen *g, type result, bool two) {
    program *p = g->p;
    if (g->in_func || p->num_funcs >= MAX_FUNCS - 4 || p->num_vars + 16 > MAX_VARS)
        return -1;
    gen saved = *g;
    func f = {.num_results = two ? 2 : 1, .num_params = rng_range(&g->r, 1, 3)};
    g->in_func = true;
    g->num_scope = 0;
    for (int i = 0; i < f.num_params; i++) {
        type t = percent(g, 40) ? result : with_elem(gen_shape(g), gen_elem(g));
        f.param[i] = (int16_t)add_var(p, t, ROLE_HELPER);
        show(g, f.param[i]);
    }
    if (f.num_params < 3 && percent(g, 40)) {
        int k = add_var(p, scalar_type(T_I32), ROLE_HELPER);
        p->vars[k].constant = true;
        p->vars[k].i = rng_range(&g->r, 1, 4);
        f.param[f.num_params++] = (int16_t)k;
        f.has_constexpr = true;
    }
    for (int i = rng_range(&g->r, 0, 2); i > 0; i--) {
        stmt *s = new_stmt(p, S_ASSIGN);
        s->e[0] = gen_expr(g, with_elem(percent(g, 50) ? result : gen_shape(g), gen_elem(g)), 2);
        s->target[0] = (int16_t)add_var(p, s->e[0]->type, ROLE_HELPER);
        s->num_targets = 1;
        show(g, s->target[0]);
        block_add(p, &f.body, s);
    }
    if (!two && percent(g, 25)) {
        stmt *s = new_stmt(p, S_IF), *r = new_stmt(p, S_RETURN);
        s->e[0] = gen_expr(g, scalar_type(T_I1), 2);
        r->e[0] = gen_expr(g, result, 1);
        block_add(p, &s->body, r);
        block_add(p, &f.body, s);
    }
    f.result[0] = gen_expr(g, result, 2);
    if (f.has_constexpr && is_int(result.elem) && result.elem != T_I1)
        f.result[0] = new_binary(p, O_ADD, f.result[0], new_var(p, f.param[f.num_params - 1]));
    if (two)
        f.result[1] = gen_expr(g, with_elem(gen_shape(g), gen_elem(g)), 2);
    rng r = g->r;
    int budget = g->budget;
    *g = saved;
    g->r = r;
    g->budget = budget;
    p->funcs[p->num_funcs] = f;
    return p->num_funcs++;
}

// --- statements

static stmt *assign_to(gen *g, int var, node *e) {
    stmt *s = new_stmt(g->p, S_ASSIGN);
    s->target[0] = (int16_t)var;
    s->num_targets = 1;
    s->e[0] = e;
    return s;
}

static void assign_new(gen *g, block *b) {
    type t = with_elem(percent(g, 85) ? gen_shape(g) : scalar_type(T_I32), gen_elem(g));
    node *e = gen_expr(g, t, depth_here(g));
    int var = add_var(g->p, t, ROLE_LOCAL);
    block_add(g->p, b, assign_to(g, var, e));
    show(g, var);
}

static int old_variable(gen *g) {
    for (int tries = 0; tries < 8 && g->num_scope; tries++) {
        int id = g->scope[rng_below(&g->r, (uint32_t)g->num_scope)];
        const var_info *v = &g->p->vars[id];
        if (v->role == ROLE_LOCAL && !v->constant && v->type.elem < NUM_ELEMS && id != g->pid)
            return id;
    }
    return -1;
}

static void assign_old(gen *g, block *b) {
    int id = old_variable(g);
    if (id >= 0)
        block_add(g->p, b, assign_to(g, id, gen_expr(g, g->p->vars[id].type, depth_here(g))));
}

static stmt *store_to(gen *g, int b, node *value, bool masked) {
    stmt *s = new_stmt(g->p, S_STORE);
    node *index;
    s->e[1] = value;
    if (value->type.rank && percent(g, 20)) {
        s->e[0] = gen_array_block(g, b, value->type, 2);
        return s;
    }
    s->e[0] = gen_pointer(g, b, value->type, true, &index, 2);
    if (masked)
        s->e[2] = gen_mask(g, b, value->type, index, 2);
    return s;
}

static void store(gen *g, block *b) {
    type t = with_elem(gen_shape(g), gen_elem(g));
    int buf = gen_buffer(g, t.elem, BUF_OWN, numel(t));
    if (buf < 0)
        return;
    node *value = gen_expr(g, t, depth_here(g) - 1);
    block_add(g->p, b, store_to(g, buf, value, percent(g, 40)));
}

static void atomic(gen *g, block *b) {
    static const elem fit[] = {T_I32, T_I32, T_U32, T_I64, T_U64, T_F32, T_F64, T_F16};
    type t = with_elem(gen_shape(g), fit[rng_below(&g->r, 8)]);
    int buf = gen_buffer(g, t.elem, BUF_SHARED, 1);
    if (buf < 0)
        return;
    node *index, *value = gen_expr(g, t, 2);
    stmt *s = new_stmt(g->p, S_ATOMIC);
    s->op = g->p->buffers[buf].atomic;
    s->e[0] = gen_pointer(g, buf, t, false, &index, 2);
    s->e[1] = value;
    if (percent(g, 40))
        s->e[2] = gen_mask(g, buf, t, index, 2);
    block_add(g->p, b, s);
}

/// v = tl.atomic_add(...): every copy of an element must get the one old value.
static void atomic_result(gen *g, block *b) {
    static const elem fit[] = {T_I32, T_I32, T_U32, T_I64, T_U64, T_F32, T_F64, T_F16};
    static const op ops[] = {O_ADD, O_MAXIMUM, O_MINIMUM, O_XCHG, O_AND, O_OR, O_XOR, O_CAS, O_CAS};
    program *p = g->p;
    type t = with_elem(gen_shape(g), fit[rng_below(&g->r, 8)]);
    int buf = gen_buffer(g, t.elem, BUF_OWN, numel(t)), var = 0;
    if (buf < 0)
        return;
    node *index, *n = new_node(p, N_ATOMIC, t);
    n->op = (uint8_t)(t.elem == T_F16 ? O_ADD : ops[rng_below(&g->r, is_float(t.elem) ? 4 : 9)]);
    n->kid[0] = gen_pointer(g, buf, t, true, &index, 1);
    n->kid[1] = gen_expr(g, t, 2);
    n->kid[2] = n->op != O_CAS && percent(g, 30) ? gen_mask(g, buf, t, index, 1) : NULL;
    n->kid[3] = n->op == O_CAS ? gen_expr(g, t, 2) : NULL;
    n->num_kids = 4;
    block_add(p, b, assign_to(g, var = add_var(p, t, ROLE_LOCAL), n));
    show(g, var);
}

/// A block whose names end with it; some of the names from outside get new values in it.
static void inner_block(gen *g, block *b, int count, bool carry) {
    int visible = g->num_scope;
    gen_block(g, b, count);
    for (int i = rng_range(&g->r, 1, 2); carry && i > 0; i--) {
        int id = -1;
        for (int tries = 0; tries < 6 && (id < 0 || g->p->vars[id].type.elem == T_I1); tries++) {
            int at = (int)rng_below(&g->r, (uint32_t)visible);
            const var_info *v = &g->p->vars[g->scope[at]];
            if (v->role == ROLE_LOCAL && !v->constant && v->type.elem < NUM_ELEMS &&
                g->scope[at] != g->pid)
                id = g->scope[at];
        }
        if (id >= 0)
            block_add(g->p, b, assign_to(g, id, gen_expr(g, g->p->vars[id].type, 3)));
    }
    g->num_scope = visible;
}

static void branch(gen *g, block *b) {
    stmt *s = new_stmt(g->p, S_IF);
    s->e[0] = gen_expr(g, scalar_type(T_I1), 3);
    inner_block(g, &s->body, rng_range(&g->r, 1, 2), true);
    if (percent(g, 60))
        inner_block(g, &s->other, rng_range(&g->r, 1, 2), true);
    if (!g->loops && percent(g, 12))
        block_add(g->p, percent(g, 70) ? &s->body : &s->other, new_stmt(g->p, S_RETURN));
    block_add(g->p, b, s);
}

/// Ends this iteration of a loop, where something holds; in one arm or the other.
static void skip(gen *g, block *b) {
    if (!g->may_continue)
        return;
    stmt *s = new_stmt(g->p, S_IF);
    s->e[0] = gen_expr(g, scalar_type(T_I1), 3);
    inner_block(g, &s->body, rng_range(&g->r, 0, 2), true);
    if (percent(g, 30))
        inner_block(g, &s->other, 1, true);
    block_add(g->p, percent(g, 70) ? &s->body : &s->other, new_stmt(g->p, S_CONTINUE));
    block_add(g->p, b, s);
}

/// A run-time number of rounds: 0 to `most`.
static node *some_bound(gen *g, int most) {
    program *p = g->p;
    if (percent(g, 30))
        return new_int(p, rng_range(&g->r, 0, most));
    node *n = gen_expr(g, scalar_type(T_I32), 2);
    return new_binary(p, O_AND, n, new_int(p, most));
}

static void loop(gen *g, block *b) {
    program *p = g->p;
    stmt *s = new_stmt(p, S_FOR);
    s->style = (uint8_t)rng_next(&g->r);
    bool back = percent(g, 15);
    node *n = some_bound(g, g->repeats > 4 ? 1 : g->repeats == 1 && percent(g, 20) ? 7 : 3);
    int step = rng_range(&g->r, 1, 2);
    s->e[0] = back ? n : new_int(p, rng_range(&g->r, 0, 1));
    s->e[1] = back ? new_int(p, -1) : n;
    s->e[2] = new_int(p, back ? -1 : step);
    if (!back && percent(g, 12)) { // -1 to 2, at run time
        node *any = gen_expr(g, scalar_type(T_I32), 1);
        s->e[2] = new_binary(p, O_SUB, new_binary(p, O_AND, any, new_int(p, 3)), new_int(p, 1));
    }
    s->target[0] = (int16_t)add_var(p, scalar_type(T_I32), ROLE_LOCAL);
    s->num_targets = 1;
    int visible = g->num_scope, repeats = g->repeats;
    bool outer = g->may_continue;
    g->may_continue = true;
    g->loops++;
    g->repeats *= 3;
    show(g, s->target[0]);
    inner_block(g, &s->body, rng_range(&g->r, 1, 3), true);
    g->loops--;
    g->may_continue = outer;
    g->repeats = repeats;
    g->num_scope = visible;
    block_add(p, b, s);
}

static void static_loop(gen *g, block *b) {
    program *p = g->p;
    stmt *s = new_stmt(p, S_STATIC_FOR);
    s->e[0] = new_int(p, 0);
    s->e[1] = new_int(p, rng_range(&g->r, 1, 3));
    s->e[2] = new_int(p, 1);
    int iv = add_var(p, scalar_type(T_I32), ROLE_LOCAL);
    p->vars[iv].constant = true;
    s->target[0] = (int16_t)iv;
    s->num_targets = 1;
    int visible = g->num_scope;
    bool outer = g->may_continue;
    g->may_continue = true;
    g->loops++;
    inner_block(g, &s->body, 1, true);
    int id = old_variable(g);
    if (id >= 0 && p->vars[id].type.elem != T_I1) {
        node *n = new_binary(p, O_ADD, new_var(p, id), new_var(p, iv));
        block_add(p, &s->body, assign_to(g, id, n));
    }
    g->loops--;
    g->may_continue = outer;
    g->num_scope = visible;
    block_add(p, b, s);
}

static void while_loop(gen *g, block *b) {
    program *p = g->p;
    int count = add_var(p, scalar_type(T_I32), ROLE_LOCAL);
    block_add(p, b, assign_to(g, count, new_int(p, 0)));
    stmt *s = new_stmt(p, S_WHILE);
    s->e[0] = new_binary(p, O_LT, new_var(p, count),
                         new_int(p, rng_range(&g->r, 1, g->repeats > 4 ? 2 : 4)));
    if (percent(g, 60))
        s->e[0] = new_binary(p, percent(g, 70) ? O_AND : O_AND, s->e[0],
                             gen_expr(g, scalar_type(T_I1), 3));
    int repeats = g->repeats;
    bool outer = g->may_continue;
    g->may_continue = false; // it counts at the end of its body
    g->loops++;
    g->repeats *= 3;
    inner_block(g, &s->body, rng_range(&g->r, 1, 2), true);
    block_add(p, &s->body,
              assign_to(g, count, new_binary(p, O_ADD, new_var(p, count), new_int(p, 1))));
    g->loops--;
    g->may_continue = outer;
    g->repeats = repeats;
    block_add(p, b, s);
}

static int unpack_targets(gen *g, stmt *s, type first, type second) {
    s->target[0] = (int16_t)add_var(g->p, first, ROLE_LOCAL);
    s->target[1] = (int16_t)add_var(g->p, second, ROLE_LOCAL);
    show(g, s->target[0]);
    show(g, s->target[1]);
    return s->num_targets = 2;
}

/// a, b = tl.reduce((x, y), axis, f), a scan of two tiles, or the extremum with its index, or a helper's two results.
static void unpack(gen *g, block *b) {
    program *p = g->p;
    type t = gen_shape(g), wide;
    int axis;
    bool keep = percent(g, 30);
    stmt *s = new_stmt(p, S_UNPACK);
    if (percent(g, 25) && t.rank < MAX_RANK && numel(t) < g->most) {
        type joined = with_elem(t, gen_elem(g));
        joined.dim[joined.rank++] = 2;
        s->e[0] = new_node(p, N_SPLIT, with_elem(t, joined.elem));
        s->e[0]->kid[0] = gen_expr(g, joined, 3);
        s->e[0]->num_kids = 1;
        unpack_targets(g, s, s->e[0]->type, s->e[0]->type);
        block_add(p, b, s);
        return;
    }
    if (percent(g, 25)) {
        int f = gen_func(g, with_elem(t, gen_elem(g)), true);
        if (f < 0)
            return;
        s->e[0] = gen_call(g, f, 3);
        unpack_targets(g, s, p->funcs[f].result[0]->type, p->funcs[f].result[1]->type);
        block_add(p, b, s);
        return;
    }
    if (!gen_widened(g, t, keep, &wide, &axis))
        return;
    elem e = gen_elem(g), second = percent(g, 50) ? e : T_I32;
    bool index = percent(g, 50);
    if (t.rank && is_int(e) && e != T_I1 && percent(g, 25)) {
        int ordered = gen_ordered_combine(g, e);
        if (ordered < 0)
            return;
        s->e[0] = gen_scan_by(g, ordered, with_elem(t, e), 2);
        unpack_targets(g, s, with_elem(t, e), with_elem(t, e));
        block_add(p, b, s);
        return;
    }
    elem pair[2] = {e, is_int(second) && second != T_I1 ? second : T_I32};
    int f = index ? 0 : gen_combine(g, pair, 2);
    if (f < 0)
        return;
    elem result = index && e == T_BF16 ? T_F32 : e;
    node *n = new_node(p, index ? N_EXTREMUM : N_FOLD, with_elem(t, result));
    n->op = percent(g, 50) ? O_MAX : O_MIN;
    n->id = (int16_t)f;
    n->axis = (int8_t)axis;
    n->keep_dims = keep;
    n->kid[n->num_kids++] = gen_expr(g, with_elem(wide, e), 2);
    if (!index)
        n->kid[n->num_kids++] = gen_expr(g, with_elem(wide, pair[1]), 2);
    s->e[0] = n;
    unpack_targets(g, s, n->type, with_elem(t, index ? T_I32 : pair[1]));
    block_add(p, b, s);
}

/// p = pointer tile; later loads and stores through it, and p = p + step.
static void pointer_variable(gen *g, block *b) {
    program *p = g->p;
    type t = with_elem(gen_shape(g), gen_elem(g));
    if (g->repeats > 1 || t.rank == 0)
        return;
    int buf = gen_buffer(g, t.elem, percent(g, 50) ? BUF_IN : BUF_OWN, numel(t));
    node *index;
    if (buf < 0)
        return;
    node *ptr = gen_pointer(g, buf, t, true, &index, 1);
    int var = add_var(p, ptr->type, ROLE_LOCAL), into = add_var(p, t, ROLE_LOCAL);
    block_add(p, b, assign_to(g, var, ptr));
    node *n = new_node(p, N_LOAD, t);
    n->kid[0] = new_var(p, var);
    n->num_kids = 3;
    block_add(p, b, assign_to(g, into, n));
    show(g, into);
    stmt *s = new_stmt(p, S_FOR);
    s->style = (uint8_t)rng_next(&g->r);
    s->e[0] = new_int(p, 0);
    s->e[1] = some_bound(g, 3);
    s->e[2] = new_int(p, 1);
    s->target[0] = (int16_t)add_var(p, scalar_type(T_I32), ROLE_LOCAL);
    s->num_targets = 1;
    node *m = node_clone(p, n), *step = new_node(p, N_OFFSET, ptr->type);
    m->kid[1] = gen_mask(g, buf, t, NULL, 1);
    int visible = g->num_scope;
    block_add(
        p, &s->body,
        assign_to(g, into, new_binary(p, t.elem == T_I1 ? O_XOR : O_ADD, new_var(p, into), m)));
    step->kid[0] = new_var(p, var);
    step->kid[1] = new_int(p, rng_range(&g->r, -1, 1) * (int)(p->buffers[buf].size / 4));
    step->num_kids = 2;
    if (p->buffers[buf].role == BUF_OWN) {
        stmt *out = new_stmt(p, S_STORE);
        out->e[0] = new_var(p, var);
        out->e[1] = gen_expr(g, t, 2);
        block_add(p, &s->body, out);
    }
    block_add(p, &s->body, assign_to(g, var, step));
    g->num_scope = visible;
    block_add(p, b, s);
}

/// One argument's elements become another's, which is the same buffer.
static void in_place(gen *g, block *b) {
    program *p = g->p;
    if (g->num_pairs < MAX_PAIRS && (!g->num_pairs || percent(g, 20)))
        g->num_pairs += gen_pair(g, &g->pairs[g->num_pairs]);
    if (!g->num_pairs)
        return;
    const two_names *at = &g->pairs[rng_below(&g->r, (uint32_t)g->num_pairs)];
    unsigned from = rng_below(&g->r, 2);
    int buf = at->pointer[from]->type.buf, var = add_var(p, at->type, ROLE_LOCAL);
    node *n = new_node(p, N_LOAD, at->type), *sum = NULL;
    n->kid[0] = node_clone(p, at->pointer[from]);
    n->kid[1] = percent(g, 30) ? gen_mask(g, buf, at->type, at->index, 2) : NULL;
    n->num_kids = 3;
    block_add(p, b, assign_to(g, var, n));
    show(g, var);
    node *value = gen_expr(g, at->type, 2);
    if (percent(g, 60))
        sum = new_binary(p, at->type.elem == T_I1 ? O_XOR : O_ADD, new_var(p, var), value);
    stmt *s = new_stmt(p, S_STORE);
    s->e[0] = node_clone(p, at->pointer[percent(g, 80) ? !from : from]);
    s->e[1] = sum ? sum : value;
    s->e[2] = percent(g, 40) ? gen_mask(g, buf, at->type, at->index, 2) : NULL;
    block_add(p, b, s);
}

/// Something true of a number that is known at run time only.
static void assume(gen *g, block *b) {
    program *p = g->p;
    int id = g->pid;
    for (int tries = 0; tries < 4 && p->vars[id].role != ROLE_PARAM; tries++)
        id = g->scope[rng_below(&g->r, (uint32_t)g->num_scope)];
    if (p->vars[id].role != ROLE_PARAM)
        id = g->pid;
    int64_t v = p->vars[id].i;
    stmt *s = new_stmt(p, S_ASSUME);
    node *x = new_var(p, id);
    if (id == g->pid)
        s->e[0] = new_binary(p, O_GE, x, new_int(p, 0));
    else if (percent(g, 40))
        s->e[0] = new_binary(p, O_EQ, new_binary(p, O_AND, x, new_int(p, 3)), new_int(p, v & 3));
    else
        s->e[0] = percent(g, 50) ? new_binary(p, O_GE, x, new_int(p, v - rng_range(&g->r, 0, 2)))
                                 : new_binary(p, O_LE, x, new_int(p, v + rng_range(&g->r, 0, 9)));
    block_add(p, b, s);
}

static void gen_block(gen *g, block *b, int count) {
    static const struct {
        void (*make)(gen *g, block *b);
        int weight;
    } kinds[] = {
        {assign_new, 44}, {assign_old, 12}, {store, 18},           {branch, 7}, {loop, 9},
        {static_loop, 3}, {while_loop, 5},  {unpack, 8},           {atomic, 5}, {atomic_result, 4},
        {assume, 1},      {in_place, 2},    {pointer_variable, 4}, {skip, 14}};
    enum { COUNT = sizeof kinds / sizeof *kinds };
    for (int made = 0; made < count && g->budget > 0 && g->p->num_vars + 24 < MAX_VARS; made++) {
        int i = 0, at = (int)rng_below(&g->r, 136);
        while (i < COUNT - 1 && at >= kinds[i].weight)
            at -= kinds[i++].weight;
        bool nests = kinds[i].make == branch || kinds[i].make == skip || kinds[i].make == loop ||
                     kinds[i].make == static_loop || kinds[i].make == while_loop;
        if (nests && g->loops >= 2)
            i = 0;
        kinds[i].make(g, b);
    }
}

// --- the frame of a program

static void choose_types(gen *g) {
    int wanted = rng_range(&g->r, 2, MAX_LIST);
    g->list[g->num_list++] = T_I32;
    while (g->num_list < wanted)
        g->list[g->num_list++] = (elem)rng_below(&g->r, NUM_ELEMS);
    if (percent(g, 60))
        g->list[0] = (elem)rng_below(&g->r, NUM_ELEMS);
}

static type split_bits(gen *g, int bits, int rank) {
    type t = {.rank = (uint8_t)rank};
    for (int d = 0; d < rank; d++)
        t.dim[d] = 1;
    for (int i = 0; i < bits; i++)
        t.dim[rng_below(&g->r, (uint32_t)rank)] *= 2;
    return t;
}

static void choose_shapes(gen *g) {
    static const uint8_t sizes[] = {0, 1, 2, 3, 4, 5, 5, 6, 6, 7, 7, 8, 8, 8, 9, 9, 9, 10, 10, 11};
    int bits = sizes[rng_below(&g->r, sizeof sizes)];
    g->most = 1u << (bits + (bits < 8 ? rng_range(&g->r, 0, 3) : bits < 10));
    g->pool[g->num_pool++] = split_bits(g, bits, 1);
    g->pool[g->num_pool++] = split_bits(g, bits, 2);
    for (int i = rng_range(&g->r, 1, 3); i > 0; i--)
        g->pool[g->num_pool++] = split_bits(g, bits, rng_range(&g->r, 2, 3));
    g->pool[g->num_pool++] = split_bits(g, rng_range(&g->r, 0, bits), rng_range(&g->r, 1, 2));
    if (percent(g, 40))
        g->pool[g->num_pool++] = scalar_type(T_I32);
}

static void choose_launch(gen *g) {
    program *p = g->p;
    static const int64_t numbers[] = {0, 1, 1, 2, 3, 5, 8, 16, 17, 31, 32, 48, 64, 100, 128, 255};
    for (int i = 0; i < 3; i++)
        p->grid[i] = percent(g, 50) || i ? 1 : rng_below(&g->r, 3) + 1;
    if (percent(g, 15))
        p->grid[1] = 2;
    p->num_programs = p->grid[0] * p->grid[1] * p->grid[2];
    for (int i = rng_range(&g->r, 0, 2); i > 0; i--) {
        int v = add_var(p, scalar_type(percent(g, 80) ? T_I32 : T_I64), ROLE_PARAM);
        p->vars[v].i = numbers[rng_below(&g->r, sizeof numbers / sizeof *numbers)];
        p->vars[v].hint = percent(g, 30) ? 16 : 0;
        show(g, v);
    }
    p->num_consts = (int)rng_below(&g->r, MAX_CONSTS + 1);
    for (int i = 0; i < p->num_consts; i++)
        p->consts[i] = rng_range(&g->r, 0, 17);
}

/// pid = program_id(0) + program_id(1) * num_programs(0)
static void number_programs(gen *g) {
    program *p = g->p;
    node *n = new_node(p, N_PID, scalar_type(T_I32));
    n->axis = 0;
    if (p->grid[1] > 1) {
        node *y = new_node(p, N_PID, scalar_type(T_I32)),
             *width = new_node(p, N_NPROGS, scalar_type(T_I32));
        y->axis = 1;
        width->axis = 0;
        n = new_binary(p, O_ADD, n, new_binary(p, O_MUL, y, width));
    }
    g->pid = add_var(p, scalar_type(T_I32), ROLE_LOCAL);
    block_add(p, &p->body, assign_to(g, g->pid, n));
    show(g, g->pid);
}

/// Tiles to start from, whose elements differ.
static void load_inputs(gen *g) {
    program *p = g->p;
    for (int i = rng_range(&g->r, 1, 3); i > 0; i--) {
        type t = with_elem(gen_shape(g), gen_elem(g));
        int b = gen_buffer(g, t.elem, BUF_IN, numel(t)), var;
        node *index, *n = new_node(p, N_LOAD, t);
        n->kid[0] = gen_pointer(g, b, t, true, &index, 0);
        n->num_kids = 3;
        block_add(p, &p->body, assign_to(g, var = add_var(p, t, ROLE_LOCAL), n));
        show(g, var);
    }
}

/// What the program has computed becomes visible: its newest variables go to memory.
static void store_results(gen *g) {
    program *p = g->p;
    int stored = 0;
    for (int i = g->num_scope - 1; i >= 0 && stored < 6; i--) {
        const var_info *v = &p->vars[g->scope[i]];
        if (v->role != ROLE_LOCAL || v->type.elem >= NUM_ELEMS || g->scope[i] == g->pid)
            continue;
        int b = gen_buffer(g, v->type.elem, BUF_OWN, numel(v->type));
        if (b < 0)
            continue;
        block_add(p, &p->body, store_to(g, b, new_var(p, g->scope[i]), false));
        stored++;
    }
}

/// A function whose result is compared within bounds; its operand is kept where it is well behaved.
static void store_function(gen *g) {
    static const elem fit[] = {T_F32, T_F32, T_F64, T_F16, T_BF16};
    program *p = g->p;
    type t = with_elem(gen_shape(g), fit[rng_below(&g->r, 5)]),
         wide = with_elem(t, t.elem == T_F64 ? T_F64 : T_F32);
    op o = (op)rng_range(&g->r, O_EXP, O_SIGMOID);
    bool positive = o == O_LOG || o == O_LOG2 || o == O_SQRT || o == O_RSQRT;
    int b = gen_buffer(g, t.elem, BUF_APPROX, numel(t));
    if (b < 0)
        return;
    node *n = new_node(p, N_CLAMP, wide);
    n->kid[0] = gen_expr(g, wide, 2);
    n->kid[1] = new_full(p, wide, positive ? 0.25 : -4);
    n->kid[2] = new_full(p, wide, 4);
    n->num_kids = 3;
    if (t.elem != wide.elem)
        n = new_cast(p, n, t.elem);
    node *m = new_node(p, N_MATH, t);
    m->op = (uint8_t)o;
    m->kid[0] = n;
    m->num_kids = 1;
    block_add(p, &p->body, store_to(g, b, m, percent(g, 30)));
}

static program *draft(uint64_t seed) {
    gen g = {.p = program_create(seed), .r = {seed}, .repeats = 1};
    for (int i = 0; i < 3; i++)
        rng_next(&g.r);
    choose_types(&g);
    choose_shapes(&g);
    choose_launch(&g);
    number_programs(&g);
    for (int i = 0; i < gen_productions; i++) // each program does without some productions
        if (rng_percent(&g.r, 15))
            g.without |= UINT64_C(1) << i;
    g.budget = rng_range(&g.r, 20, g.most > 512 ? 45 : 85);
    load_inputs(&g);
    gen_block(&g, &g.p->body, 40);
    store_results(&g);
    if (rng_percent(&g.r, 20))
        store_function(&g);
    return g.p;
}

// --- repair

typedef struct search {
    program *p;
    const node *what;
    bool done;
} search;

static node *tamed(program *p, node *n) {
    elem own = n->type.elem;
    bool widen = own == T_BF16 || is_fp8(own);
    type wide = with_elem(n->type, widen ? T_F32 : own);
    if (widen)
        n = new_cast(p, n, T_F32);
    node *c = new_node(p, N_CLAMP, wide);
    c->kid[0] = new_unary(p, O_FLOOR, n);
    c->kid[1] = new_full(p, wide, -4);
    c->kid[2] = new_full(p, wide, 4);
    c->num_kids = 3;
    return widen ? new_cast(p, c, own) : c;
}

static bool is_tamed(const node *n) {
    return n->kind == N_CLAMP || n->kind == N_NUM ||
           (n->kind == N_CAST && n->kid[0]->kind == N_CLAMP) || n->kind == N_FULL;
}

static void fix_inexact(node **at, void *ctx) {
    search *s = ctx;
    node *n = *at;
    if (n != s->what || s->done)
        return;
    s->done = true;
    bool changed = false;
    bool arithmetic = n->kind == N_BINARY || n->kind == N_REDUCE || n->kind == N_FMA ||
                      n->kind == N_FOLD || n->kind == N_SCAN || n->kind == N_SCANFOLD;
    for (int i = 0; arithmetic && i < n->num_kids; i++)
        if (is_float(n->kid[i]->type.elem) && !is_tamed(n->kid[i])) {
            n->kid[i] = tamed(s->p, n->kid[i]);
            changed = true;
        }
    if (changed)
        return;
    for (int i = 0; i < n->num_kids; i++)
        if (n->kid[i] && same_type(n->kid[i]->type, n->type) && !is_weak(s->p, n->kid[i])) {
            *at = n->kid[i];
            return;
        }
    *at = new_full(s->p, n->type, 1);
}

static void drop_stmt(block *b, void *ctx) {
    search *s = ctx;
    for (int i = 0; i < b->count; i++)
        if ((const void *)b->at[i] == (const void *)s->what) {
            memmove(&b->at[i], &b->at[i + 1], (size_t)(b->count - i - 1) * sizeof(*b->at));
            b->count--;
            s->done = true;
            return;
        }
}

static bool repair(program *p, const verdict *v) {
    search s = {.p = p, .what = v->at};
    bool expression =
        v->at && v->at->type.elem != T_PTR && v->kind != V_RACE && v->kind != V_TOO_LONG;
    func *f = combine_of(p, v->at);
    if (f && f->num_results == 1) { // with operands kept small it would depend on the order
        f->result[0] = larger_of(p, new_var(p, f->param[0]), new_var(p, f->param[1]));
        return true;
    }
    bool in_result = v->kind == V_UNBOUND && !v->in; // of a helper: no statement to drop
    if (in_result || (expression && v->kind != V_TYPES && v->kind != V_UNBOUND)) {
        walk_nodes(p, fix_inexact, &s);
        return s.done;
    }
    s.what = (const node *)v->in;
    walk_blocks(p, drop_stmt, &s);
    return s.done;
}

program *generate(uint64_t seed) {
    for (uint64_t attempt = 0;; attempt++) {
        program *p = draft(seed + (attempt << 40));
        p->seed = seed;
        for (int round = 0; round < 120; round++) {
            memory m;
            memory_fill(p, &m);
            verdict v = evaluate(p, &m, SABOTAGE_NONE);
            memory_free(&m);
            if (v.kind == V_FIT)
                return p;
            if (!repair(p, &v))
                break;
        }
        program_destroy(p);
    }
}
