// Building, copying and walking the tree; the language's types, promotion and broadcasting.
#include "tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const elem_info elems[T_NONE + 1] = {
#define X(id, name, long_name, bits, sign, flt) {name, long_name, bits, sign, flt},
    ELEMS(X)
#undef X
};
const char *const node_names[NUM_NODE_KINDS] = {
#define X(id, name) name,
    NODES(X)
#undef X
};
const char *const op_texts[NUM_OPS] = {
#define X(id, text) text,
    OPS(X)
#undef X
};
const char *const stmt_names[NUM_STMT_KINDS] = {
#define X(id, name) name,
    STMTS(X)
#undef X
};

// --- memory

enum { CHUNK = 1 << 16 };

typedef struct chunk {
    struct chunk *next;
    size_t used;
    _Alignas(16) char data[CHUNK];
} chunk;

static void *must_have(void *p) {
    if (!p) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    return p;
}

void *program_alloc(program *p, size_t bytes) {
    bytes = (bytes + 15) & ~(size_t)15;
    if (!p->memory || p->memory->used + bytes > CHUNK) {
        chunk *c = must_have(malloc(sizeof *c));
        c->next = p->memory;
        c->used = 0;
        p->memory = c;
    }
    void *out = p->memory->data + p->memory->used;
    p->memory->used += bytes;
    return memset(out, 0, bytes);
}

program *program_create(uint64_t seed) {
    program *p = must_have(calloc(1, sizeof *p));
    p->seed = seed;
    return p;
}

void program_destroy(program *p) {
    while (p && p->memory) {
        chunk *next = p->memory->next;
        free(p->memory);
        p->memory = next;
    }
    free(p);
}

node *node_clone(program *p, const node *n) {
    if (!n)
        return NULL;
    node *out = program_alloc(p, sizeof *out);
    *out = *n;
    for (int i = 0; i < MAX_KIDS; i++)
        out->kid[i] = node_clone(p, n->kid[i]);
    return out;
}

static block clone_block(program *p, const block *b) {
    block out = {0};
    for (int i = 0; i < b->count; i++) {
        stmt *s = program_alloc(p, sizeof *s);
        *s = *b->at[i];
        for (int k = 0; k < 3; k++)
            s->e[k] = node_clone(p, s->e[k]);
        s->body = clone_block(p, &b->at[i]->body);
        s->other = clone_block(p, &b->at[i]->other);
        block_add(p, &out, s);
    }
    return out;
}

program *program_clone(const program *from) {
    program *p = must_have(malloc(sizeof *p));
    *p = *from;
    p->memory = NULL;
    p->body = clone_block(p, &from->body);
    for (int i = 0; i < p->num_funcs; i++) {
        p->funcs[i].body = clone_block(p, &from->funcs[i].body);
        for (int k = 0; k < MAX_TARGETS; k++)
            p->funcs[i].result[k] = node_clone(p, from->funcs[i].result[k]);
    }
    return p;
}

// --- building

node *new_node(program *p, node_kind kind, type t) {
    node *n = program_alloc(p, sizeof *n);
    n->kind = (uint8_t)kind;
    n->type = t;
    n->axis = -1;
    return n;
}

node *new_int(program *p, int64_t v) {
    elem t = v >= INT32_MIN && v <= INT32_MAX ? T_I32 : v >= 0 && v <= UINT32_MAX ? T_U32 : T_I64;
    node *n = new_node(p, N_NUM, scalar_type(t));
    n->i = v;
    return n;
}

node *new_float(program *p, double v) {
    node *n = new_node(p, N_NUM, scalar_type(T_F32));
    n->f = v;
    return n;
}

node *new_var(program *p, int id) {
    node *n = new_node(p, N_VAR, p->vars[id].type);
    n->id = (int16_t)id;
    return n;
}

node *new_full(program *p, type t, double v) {
    node *n = new_node(p, N_FULL, t);
    n->kid[0] = is_float(t.elem) ? new_float(p, v) : new_int(p, (int64_t)v);
    if (t.elem == T_I1)
        n->kid[0]->type = scalar_type(T_I1);
    n->num_kids = 1;
    return n;
}

node *new_unary(program *p, op o, node *a) {
    node *n = new_node(p, N_UNARY, a->type);
    n->op = (uint8_t)o;
    n->kid[0] = a;
    n->num_kids = 1;
    return n;
}

node *new_cast(program *p, node *a, elem to) {
    node *n = new_node(p, N_CAST, with_elem(a->type, to));
    n->kid[0] = a;
    n->num_kids = 1;
    return n;
}

node *new_binary(program *p, op o, node *a, node *b) {
    bool strong = literals_are_strong(o), wa = is_weak(p, a) && !strong,
         wb = is_weak(p, b) && !strong;
    elem computed = promote(o, a->type.elem, wa, b->type.elem, wb);
    type shape;
    if (computed == T_NONE || (is_weak(p, a) && is_weak(p, b)) ||
        !broadcast_shapes(a->type, b->type, &shape))
        return NULL;
    elem result = result_elem(o, computed);
    node *n = new_node(
        p, result == T_I1 && strong && o != O_MAXIMUM && o != O_MINIMUM ? N_COMPARE : N_BINARY,
        with_elem(shape, result));
    n->op = (uint8_t)o;
    n->kid[0] = a;
    n->kid[1] = b;
    n->num_kids = 2;
    return n;
}

stmt *new_stmt(program *p, stmt_kind kind) {
    stmt *s = program_alloc(p, sizeof *s);
    s->kind = (uint8_t)kind;
    return s;
}

void block_add(program *p, block *b, stmt *s) {
    if (b->count == b->capacity) {
        int capacity = b->capacity ? 2 * b->capacity : 8;
        stmt **grown = program_alloc(p, (size_t)capacity * sizeof *grown);
        if (b->count)
            memcpy(grown, b->at, (size_t)b->count * sizeof *grown);
        b->at = grown;
        b->capacity = capacity;
    }
    b->at[b->count++] = s;
}

int add_var(program *p, type t, var_role role) {
    if (p->num_vars == MAX_VARS) {
        fprintf(stderr, "a program has too many variables\n");
        exit(2);
    }
    p->vars[p->num_vars] = (var_info){.type = t, .role = (uint8_t)role};
    return p->num_vars++;
}

// --- types

type scalar_type(elem t) { return (type){.elem = (uint8_t)t}; }

type with_elem(type t, elem e) {
    t.elem = (uint8_t)e;
    t.buf = 0;
    return t;
}

bool same_shape(type a, type b) {
    if (a.rank != b.rank)
        return false;
    for (int i = 0; i < a.rank; i++)
        if (a.dim[i] != b.dim[i])
            return false;
    return true;
}

bool same_type(type a, type b) {
    return a.elem == b.elem && same_shape(a, b) && (a.elem != T_PTR || a.buf == b.buf);
}

uint32_t numel(type t) {
    uint32_t n = 1;
    for (int i = 0; i < t.rank; i++)
        n *= t.dim[i];
    return n;
}

bool broadcast_shapes(type a, type b, type *out) {
    *out = a.rank >= b.rank ? a : b;
    for (int i = 1; i <= out->rank; i++) {
        int x = i <= a.rank ? a.dim[a.rank - i] : 1, y = i <= b.rank ? b.dim[b.rank - i] : 1;
        if (x != y && x != 1 && y != 1)
            return false;
        out->dim[out->rank - i] = (uint16_t)(x > y ? x : y);
    }
    return true;
}

static int kind_of(elem t) { return t == T_I1 ? 0 : is_float(t) ? 2 : 1; }

static bool is_division(op o) { return o == O_DIV || o == O_FLOORDIV || o == O_MOD; }

/// 16-bit floats divide in fp32.
static elem for_division(op o, elem t) {
    return (o == O_DIV || o == O_MOD) && (t == T_F16 || t == T_BF16) ? T_F32 : t;
}

static elem promote_floats(op o, elem a, elem b) {
    if (a == T_F64 || b == T_F64)
        return T_F64;
    if (a == T_F32 || b == T_F32)
        return T_F32;
    if (a == T_F16 || b == T_F16)
        return for_division(o, T_F16);
    if (a == T_BF16 || b == T_BF16)
        return a == b ? for_division(o, T_BF16) : T_F32;
    if (is_int(a) || is_int(b))
        return T_NONE; // fp8 with an integer
    return a == b ? a : T_F16;
}

static elem promote_ints(op o, elem a, elem b) {
    if (is_signed(a) == is_signed(b))
        return bits_of(a) >= bits_of(b) ? a : b;
    if (is_division(o))
        return T_NONE;
    elem s = is_signed(a) ? a : b, u = is_signed(a) ? b : a;
    return bits_of(u) >= bits_of(s) ? u : s;
}

static bool ints_only(op o) {
    return o == O_FLOORDIV || o == O_AND || o == O_OR || o == O_XOR || o == O_SHL || o == O_SHR ||
           o == O_UMULHI;
}

bool literals_are_strong(op o) {
    return (o >= O_EQ && o <= O_GE) || o == O_MAXIMUM || o == O_MINIMUM;
}

elem promote(op o, elem a, bool weak_a, elem b, bool weak_b) {
    if (a >= NUM_ELEMS || b >= NUM_ELEMS || (ints_only(o) && (is_float(a) || is_float(b))))
        return T_NONE;
    if (o == O_MAXIMUM || o == O_MINIMUM) {
        a = a == T_BF16 ? T_F32 : a;
        b = b == T_BF16 ? T_F32 : b;
    }
    elem t;
    if (weak_a != weak_b && kind_of(weak_a ? a : b) <= kind_of(weak_a ? b : a))
        t = for_division(o, weak_a ? b : a);
    else
        t = is_float(a) || is_float(b) ? promote_floats(o, a, b) : promote_ints(o, a, b);
    return o == O_UMULHI && bits_of(t) < 32 ? T_NONE : t;
}

elem result_elem(op o, elem computed) {
    if (o >= O_EQ && o <= O_GE)
        return T_I1;
    return o == O_DIV && is_int(computed) ? T_F32 : computed;
}

bool is_weak(const program *p, const node *n) {
    return n->kind == N_NUM || (n->kind == N_VAR && p->vars[n->id].constant);
}

unsigned true_hint(uint64_t value, unsigned most) {
    unsigned hint = 1;
    while (hint * 2 <= most && value % (hint * 2) == 0)
        hint *= 2;
    return hint;
}

// --- walking

static void walk_node(node **n, node_fn *fn, void *ctx) {
    if (!*n)
        return;
    fn(n, ctx);
    for (int i = 0; *n && i < MAX_KIDS; i++)
        walk_node(&(*n)->kid[i], fn, ctx);
}

static void walk_block_nodes(block *b, node_fn *fn, void *ctx) {
    for (int i = 0; i < b->count; i++) {
        for (int k = 0; k < 3; k++)
            walk_node(&b->at[i]->e[k], fn, ctx);
        walk_block_nodes(&b->at[i]->body, fn, ctx);
        walk_block_nodes(&b->at[i]->other, fn, ctx);
    }
}

void walk_nodes(program *p, node_fn *fn, void *ctx) {
    walk_block_nodes(&p->body, fn, ctx);
    for (int i = 0; i < p->num_funcs; i++) {
        walk_block_nodes(&p->funcs[i].body, fn, ctx);
        for (int k = 0; k < p->funcs[i].num_results; k++)
            walk_node(&p->funcs[i].result[k], fn, ctx);
    }
}

static void walk_block(block *b, block_fn *fn, void *ctx) {
    fn(b, ctx);
    for (int i = 0; i < b->count; i++) {
        walk_block(&b->at[i]->body, fn, ctx);
        walk_block(&b->at[i]->other, fn, ctx);
    }
}

void walk_blocks(program *p, block_fn *fn, void *ctx) {
    walk_block(&p->body, fn, ctx);
    for (int i = 0; i < p->num_funcs; i++)
        walk_block(&p->funcs[i].body, fn, ctx);
}

typedef struct occurrence {
    const node *what;
    bool found;
} occurrence;

static void look_for(node **n, void *ctx) {
    occurrence *o = ctx;
    o->found = o->found || *n == o->what;
}

func *combine_of(program *p, const node *n) {
    occurrence o = {.what = n};
    for (int i = 0; i < p->num_funcs; i++) {
        func *f = &p->funcs[i];
        if (!f->is_combine)
            continue;
        walk_block_nodes(&f->body, look_for, &o);
        for (int k = 0; k < f->num_results; k++)
            walk_node(&f->result[k], look_for, &o);
        if (o.found)
            return f;
    }
    return NULL;
}
