// Buffers, and the pointers into them: straight, strided, transposed, reversed, gathered,
// scattered; as one index or as a chain of offsets. Each program of a grid stays in its slice of
// what is written.
#include "gen.h"

#include <string.h>

static bool percent(gen *g, unsigned n) { return rng_percent(&g->r, n); }

static node *styled(gen *g, node *n) {
    n->style = (uint8_t)rng_next(&g->r);
    return n;
}

// --- buffers

static uint8_t some_atomic(gen *g, elem t) {
    static const op ints[] = {O_ADD, O_MAXIMUM, O_MINIMUM, O_AND, O_OR, O_XOR};
    static const op floats[] = {O_ADD, O_MAXIMUM, O_MINIMUM};
    if (bits_of(t) == 16)
        return O_ADD;
    return (uint8_t)(is_float(t) ? floats[rng_below(&g->r, 3)] : ints[rng_below(&g->r, 6)]);
}

int gen_buffer(gen *g, elem t, int role, uint32_t n) {
    program *p = g->p;
    int found = -1;
    for (int i = 0; i < p->num_buffers; i++)
        if (p->buffers[i].elem == t && p->buffers[i].role == role && p->buffers[i].size >= n &&
            !p->buffers[i].paired && (found < 0 || percent(g, 50)))
            found = i;
    if (found >= 0 && (percent(g, 75) || p->num_buffers == MAX_BUFFERS))
        return found;
    if (p->num_buffers == MAX_BUFFERS)
        return -1;
    buffer b = {.elem = (uint8_t)t, .role = (uint8_t)role, .storage = (uint8_t)p->num_buffers};
    b.size = n < 16 ? 16 : n;
    b.size <<= rng_below(&g->r, 3) & (b.size < 4096 ? 3 : 0);
    b.fill = (uint8_t)(role == BUF_SHARED ? 1 : percent(g, 12) ? 2 : percent(g, 35));
    b.is_const = role == BUF_IN && percent(g, 40);
    b.shift = (uint8_t)(percent(g, 25) ? rng_range(&g->r, 1, 3) : 0);
    b.atomic = role == BUF_SHARED ? some_atomic(g, t) : 0;
    b.hint = (uint8_t)(percent(g, 30) ? 2u << rng_below(&g->r, 4) : 0);
    p->buffers[p->num_buffers] = b;
    return p->num_buffers++;
}

/// Renames the pointers in a tree.
static void rename_base(node *n, int b) {
    if (n->type.elem == T_PTR)
        n->type.buf = (uint8_t)b;
    if (n->kind == N_BASE)
        n->id = (int16_t)b;
    for (int i = 0; i < MAX_KIDS; i++)
        if (n->kid[i])
            rename_base(n->kid[i], b);
}

bool gen_pair(gen *g, two_names *out) {
    program *p = g->p;
    type t = gen_shape(g);
    if (p->num_buffers + 2 > MAX_BUFFERS || t.rank == 0)
        return false;
    out->type = with_elem(t, gen_elem(g));
    for (int i = 0; i < 2; i++) {
        buffer b = {.elem = (uint8_t)out->type.elem, .role = BUF_OWN, .paired = true};
        b.storage = (uint8_t)(p->num_buffers - i);
        b.size = numel(t) < 16 ? 16 : numel(t);
        b.shift = (uint8_t)(i ? p->buffers[b.storage].shift : rng_below(&g->r, 4));
        b.hint = (uint8_t)(percent(g, 30) ? 4 : 0);
        p->buffers[p->num_buffers++] = b;
    }
    out->pointer[0] = gen_pointer(g, p->num_buffers - 2, out->type, true, &out->index, 0);
    out->pointer[1] = node_clone(p, out->pointer[0]);
    rename_base(out->pointer[1], p->num_buffers - 1);
    return true;
}

// --- indices: i32 tiles

/// arange along dimension d of t, the other extents 1.
static node *along(gen *g, type t, int d) {
    type line = {.elem = T_I32, .rank = 1, .dim = {t.dim[d]}};
    int start = percent(g, 85) ? 0 : rng_range(&g->r, 1, 40);
    node *n = styled(g, new_node(g->p, N_ARANGE, line));
    n->i = start;
    if (start)
        n = styled(g, new_binary(g->p, O_SUB, n, new_int(g->p, start)));
    for (int i = 0, at = 0; i < t.rank; i++) {
        if (i == d) {
            at = 1;
            continue;
        }
        type wider = n->type;
        int axis = at ? wider.rank : i;
        memmove(&wider.dim[axis + 1], &wider.dim[axis],
                (size_t)(wider.rank - axis) * sizeof wider.dim[0]);
        wider.dim[axis] = 1;
        wider.rank++;
        node *e = styled(g, new_node(g->p, N_EXPAND, wider));
        e->axis = (int8_t)axis;
        e->kid[0] = n;
        e->num_kids = 1;
        n = e;
    }
    return n;
}

typedef struct terms {
    node *at[MAX_RANK + 1];
    int count;
    uint32_t extent; ///< largest sum + 1
} terms;

/// One term for each dimension: strides in any order, padded, reversed.
static void strided_terms(gen *g, type t, uint32_t room, bool plain, terms *out) {
    int perm[MAX_RANK];
    for (int i = 0; i < t.rank; i++)
        perm[i] = i;
    for (int i = t.rank - 1; i > 0 && percent(g, 40); i--) {
        int j = (int)rng_below(&g->r, (uint32_t)i + 1), x = perm[i];
        perm[i] = perm[j];
        perm[j] = x;
    }
    uint32_t stride = 1;
    out->extent = 1;
    for (int i = t.rank - 1; i >= 0; i--) {
        int d = perm[i];
        node *n = along(g, t, d);
        if (!plain && percent(g, 15) && t.dim[d] > 1)
            n = styled(g, new_binary(g->p, O_SUB, new_int(g->p, t.dim[d] - 1), n));
        if (stride != 1 || percent(g, 10))
            n = styled(g, new_binary(g->p, O_MUL, n, new_int(g->p, stride)));
        out->at[out->count++] = n;
        out->extent += (t.dim[d] - 1u) * stride;
        stride *= t.dim[d];
        if (!plain && percent(g, 10) && numel(t) / t.dim[d] * stride * 2 <= room && t.dim[d] > 1)
            stride += 1 + rng_below(&g->r, stride);
    }
}

static node *sum_of(gen *g, const terms *t) {
    node *n = t->at[t->count - 1];
    for (int i = t->count - 2; i >= 0; i--)
        n = styled(g, percent(g, 50) ? new_binary(g->p, O_ADD, n, t->at[i])
                                     : new_binary(g->p, O_ADD, t->at[i], n));
    return n;
}

/// The row-major index, made as one line and reshaped.
static node *flat_index(gen *g, type t) {
    type line = {.elem = T_I32, .rank = 1, .dim = {(uint16_t)numel(t)}};
    node *n = styled(g, new_node(g->p, N_ARANGE, line));
    if (t.rank == 1)
        return n;
    node *r = styled(g, new_node(g->p, N_RESHAPE, with_elem(t, T_I32)));
    r->kid[0] = n;
    r->num_kids = 1;
    return r;
}

/// An index tile that is no affine function of its place, between 0 and size - 1.
static node *twisted_index(gen *g, type t, uint32_t size, bool injective, int depth) {
    program *p = g->p;
    if (injective) { // of 0 .. numel-1, which is a power of two
        node *n = flat_index(g, t);
        uint32_t mask = numel(t) - 1;
        if (percent(g, 50))
            return styled(g, new_binary(p, O_XOR, n, new_int(p, rng_below(&g->r, mask + 1))));
        n = styled(g, new_binary(p, O_MUL, n, new_int(p, 2 * (int)rng_below(&g->r, 32) + 1)));
        return styled(g, new_binary(p, O_AND, n, new_int(p, mask)));
    }
    elem e = T_I32;
    for (int tries = 0; tries < 4 && e == T_I32; tries++) {
        elem x = gen_elem(g);
        if (is_int(x) && x != T_I1)
            e = x;
    }
    node *n = gen_expr(g, with_elem(t, e), depth - 1);
    if (bits_of(e) < 32 || percent(g, 30))
        n = styled(g, new_cast(p, n, percent(g, 70) ? T_I32 : T_I64));
    return styled(g, new_binary(p, O_AND, n, new_int(p, size - 1)));
}

/// Fills the terms of an index in [0, size) for a tile of shape t.
static void index_terms(gen *g, type t, uint32_t size, bool injective, int depth, terms *out) {
    program *p = g->p;
    *out = (terms){0};
    if (percent(g, injective ? 20 : depth > 0 ? 30 : 5)) {
        out->at[out->count++] = twisted_index(g, t, size, injective, depth);
        out->extent = size;
        return;
    }
    if (percent(g, 25)) {
        out->at[out->count++] = flat_index(g, t);
        out->extent = numel(t);
    } else {
        strided_terms(g, t, size, percent(g, 50), out);
    }
    if (out->extent > size) {
        node *n = sum_of(g, out);
        *out = (terms){.count = 1, .extent = size};
        out->at[0] = styled(g, new_binary(p, O_AND, n, new_int(p, size - 1)));
    }
    if (size > out->extent && percent(g, 30))
        out->at[out->count++] = new_int(p, rng_below(&g->r, size - out->extent) + 1);
}

/// The program's own slice: pid * size.
static node *own_offset(gen *g, uint32_t size) {
    return styled(g, new_binary(g->p, O_MUL, new_var(g->p, g->pid), new_int(g->p, size)));
}

static node *add_offset(gen *g, node *ptr, node *index) {
    type t;
    broadcast_shapes(ptr->type, index->type, &t);
    t.elem = T_PTR;
    t.buf = ptr->type.buf;
    node *n = styled(g, new_node(g->p, N_OFFSET, t));
    n->kid[0] = ptr;
    n->kid[1] = index;
    n->num_kids = 2;
    return n;
}

/// A run-time number is added where an index is one scalar.
static node *scalar_index(gen *g, uint32_t size, int depth) {
    program *p = g->p;
    if (percent(g, 50) || depth <= 0)
        return styled(g, new_full(p, scalar_type(T_I32), (double)rng_below(&g->r, size)));
    node *n = gen_expr(g, scalar_type(T_I32), depth - 1);
    return styled(g, new_binary(p, O_AND, n, new_int(p, size - 1)));
}

/// Now and then, what may well be true of an index; the repair takes away what is not.
static node *hinted(gen *g, node *n) {
    program *p = g->p;
    if (is_weak(p, n) || n->type.elem == T_I1 || !percent(g, 15))
        return n;
    node *h = styled(g, new_node(p, N_HINT, n->type));
    h->axis = (int8_t)(n->type.rank ? n->type.rank - 1 : 0);
    uint32_t extent = n->type.rank ? n->type.dim[h->axis] : 1;
    h->id = (int16_t)(n->type.rank ? rng_below(&g->r, NUM_HINTS + 1) % NUM_HINTS : HINT_MULTIPLE);
    if (n->type.rank && percent(g, 50))
        h->id = HINT_CONTIGUOUS;
    h->i = INT64_C(1) << rng_range(&g->r, 1, 4);
    while (h->id != HINT_MULTIPLE && h->i > extent)
        h->i /= 2;
    h->kid[0] = n;
    h->num_kids = 1;
    return h;
}

node *gen_pointer(gen *g, int b, type t, bool injective, node **index, int depth) {
    program *p = g->p;
    buffer *buf = &p->buffers[b];
    type base = {.elem = T_PTR, .buf = (uint8_t)b};
    node *ptr = new_node(p, N_BASE, base);
    ptr->id = (int16_t)b;
    bool sliced = (buf->role == BUF_OWN || buf->role == BUF_APPROX) && p->num_programs > 1;
    terms all = {0};
    if (t.rank == 0) {
        all.at[all.count++] = scalar_index(g, buf->size, depth);
    } else {
        index_terms(g, t, buf->size, injective, depth, &all);
    }
    bool own_first = percent(g, 60);
    if (sliced && own_first)
        ptr = add_offset(g, ptr, own_offset(g, buf->size));
    node *sum = NULL;
    if (percent(g, 60)) {
        sum = hinted(g, sum_of(g, &all));
        if (percent(g, 15) && !is_weak(p, sum))
            sum = styled(g, new_cast(p, sum, percent(g, 50) ? T_I64 : T_U32));
        ptr = add_offset(g, ptr, sum);
    } else {
        for (int i = 0; i < all.count; i++)
            ptr = add_offset(g, ptr, all.at[i]);
    }
    if (sliced && !own_first)
        ptr = add_offset(g, ptr, own_offset(g, buf->size));
    *index = sum;
    return ptr;
}

/// An array in the buffer, in any order of dimensions, mostly a little larger than the block.
static void place_array(gen *g, node *n, uint32_t room) {
    int rank = n->type.rank;
    for (int i = 0; i < rank; i++)
        n->order[i] = (uint8_t)(rank - 1 - i);
    for (int i = rank - 1; i > 0 && percent(g, 30); i--) {
        int j = (int)rng_below(&g->r, (uint32_t)i + 1);
        uint8_t x = n->order[i];
        n->order[i] = n->order[j];
        n->order[j] = x;
    }
    uint32_t stride = 1;
    for (int i = 0; i < rank; i++) {
        int d = n->order[i];
        uint32_t most = room / stride, wanted = n->type.dim[d] * 2u;
        n->stride[d] = (uint16_t)stride;
        n->extent[d] = (uint16_t)(1 + rng_below(&g->r, most < wanted ? most : wanted));
        stride *= n->extent[d];
        if (percent(g, 20) && stride * 2 <= room)
            stride += rng_below(&g->r, stride);
    }
}

/// Where along dimension d the block begins: anywhere, or known to be inside, and then unchecked.
static node *place_along(gen *g, node *n, int d, int depth) {
    program *p = g->p;
    int extent = n->extent[d], size = n->type.dim[d];
    if (extent >= size && percent(g, 40) && !n->descriptor) {
        n->checked &= (uint8_t) ~(1u << d);
        return new_int(p, rng_range(&g->r, 0, extent - size));
    }
    if (depth <= 0 || percent(g, 40))
        return new_int(p, rng_range(&g->r, -size - 1, extent + 1));
    uint32_t mask = 1;
    while (mask < (uint32_t)(extent + size))
        mask *= 2;
    node *e = gen_expr(g, scalar_type(T_I32), depth - 1);
    e = styled(g, new_binary(p, O_AND, e, new_int(p, mask - 1)));
    e = styled(g, new_binary(p, O_SUB, e, new_int(p, size)));
    return percent(g, 30) ? styled(g, new_cast(p, e, T_I64)) : e;
}

node *gen_array_block(gen *g, int b, type t, int depth) {
    program *p = g->p;
    const buffer *buf = &p->buffers[b];
    type at = with_elem(t, T_PTR), base = {.elem = T_PTR, .buf = (uint8_t)b};
    at.buf = (uint8_t)b;
    node *n = styled(g, new_node(p, N_BLOCK, at));
    n->checked = (uint8_t)((1u << t.rank) - 1);
    n->kid[0] = new_node(p, N_BASE, base);
    n->kid[0]->id = (int16_t)b;
    if ((buf->role == BUF_OWN || buf->role == BUF_APPROX) && p->num_programs > 1)
        n->kid[0] = add_offset(g, n->kid[0], own_offset(g, buf->size));
    place_array(g, n, buf->size);
    int last = t.rank - 1;
    n->descriptor =
        n->stride[last] == 1 && t.dim[last] * bytes_of(buf->elem) >= 16 && percent(g, 40);
    n->variant = is_float(buf->elem) && percent(g, 30);
    n->num_kids = (uint8_t)(1 + t.rank);
    for (int d = 0; d < t.rank; d++)
        n->kid[1 + d] = place_along(g, n, d, depth);
    bool moves = !n->descriptor && 1 + 2 * t.rank <= MAX_KIDS && percent(g, 30);
    for (int d = 0; moves && d < t.rank; d++) {
        bool stays = !(n->checked >> d & 1) || percent(g, 40);
        int by = stays ? 0 : rng_range(&g->r, -t.dim[d], t.dim[d]);
        n->kid[n->num_kids++] = stays || percent(g, 50)
                                    ? new_int(p, by)
                                    : styled(g, new_full(p, scalar_type(T_I32), by));
    }
    return n;
}

node *gen_mask(gen *g, int b, type t, const node *index, int depth) {
    program *p = g->p;
    if (index && index->type.rank && percent(g, 60)) {
        node *i = node_clone(p, index), *limit = NULL;
        for (int tries = 0; tries < 6 && !limit; tries++) {
            int id = g->num_scope ? g->scope[rng_below(&g->r, (uint32_t)g->num_scope)] : -1;
            if (id >= 0 && same_type(p->vars[id].type, scalar_type(T_I32)) && !p->vars[id].constant)
                limit = new_var(p, id);
        }
        if (!limit || percent(g, 40))
            limit = new_int(p, rng_below(&g->r, p->buffers[b].size + 1));
        return styled(g, new_binary(p, percent(g, 80) ? O_LT : O_GE, i, limit));
    }
    type shape = with_elem(t, T_I1);
    if (percent(g, 30) && t.rank)
        shape.dim[rng_below(&g->r, t.rank)] = 1;
    if (percent(g, 10))
        shape = scalar_type(T_I1);
    return gen_expr(g, shape, depth > 2 ? 2 : depth);
}
