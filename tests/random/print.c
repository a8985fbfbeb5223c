// Writes the tree as source text. A node's style bits choose between spellings of one thing (method
// or function, long or short type names, x[:, None] or expand_dims), so that all are met.
#include "print.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_put(text *t, const char *fmt, ...) {
    char piece[1024];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(piece, sizeof piece, fmt, args);
    va_end(args);
    if (t->len + (size_t)n + 1 > t->capacity) {
        t->capacity = 2 * (t->len + (size_t)n) + 1024;
        t->data = realloc(t->data, t->capacity);
        if (!t->data)
            exit(2);
    }
    memcpy(t->data + t->len, piece, (size_t)n + 1);
    t->len += (size_t)n;
}

static void put_node(const program *p, text *t, const node *n);

static const char *dtype_text(const node *n, elem t) {
    static const char *const qualified[] = {
#define X(id, name, long_name, ...) "tl." long_name,
        ELEMS(X)
#undef X
    };
    return n->style & 1 ? qualified[t] : elems[t].name;
}

static const char *tl(const node *n) { return n->style & 2 ? "tl." : ""; }

static void put_shape(text *t, type shape) {
    text_put(t, "[");
    for (int i = 0; i < shape.rank; i++)
        text_put(t, "%s%d", i ? ", " : "", shape.dim[i]);
    text_put(t, "]");
}

static void put_shape_of(text *t, const node *n) {
    if (n->type.rank)
        put_shape(t, n->type);
    else
        text_put(t, "()");
}

// --- literals and leaves

static void put_float(text *t, double v) {
    char s[40];
    snprintf(s, sizeof s, "%.17g", fabs(v));
    bool plain = strpbrk(s, ".en") != NULL;
    if (isinf(v))
        text_put(t, "float(\"%sinf\")", v < 0 ? "-" : "");
    else
        text_put(t, signbit(v) ? "(-%s%s)" : "%s%s", s, plain ? "" : ".0");
}

static void put_literal(text *t, const node *n) {
    if (n->id)
        text_put(t, "K%d", n->id - 1);
    else if (n->type.elem == T_I1)
        text_put(t, n->i ? "True" : "False");
    else if (is_float(n->type.elem))
        put_float(t, n->f);
    else
        text_put(t, n->i < 0 ? "(%" PRId64 ")" : "%" PRId64, n->i);
}

static void put_var(const program *p, text *t, int id) {
    text_put(t, "%s%d", p->vars[id].role == ROLE_PARAM ? "n" : "v", id);
}

// --- calls

static void put_arguments(const program *p, text *t, const node *n, int from) {
    for (int i = from; i < n->num_kids; i++) {
        if (i > from)
            text_put(t, ", ");
        put_node(p, t, n->kid[i]);
    }
}

/// name(kids ...), or kid.name(other kids ...); the closing bracket is left to the caller.
static void open_call(const program *p, text *t, const node *n, const char *name, bool method) {
    if (method && !is_weak(p, n->kid[0])) {
        put_node(p, t, n->kid[0]);
        text_put(t, ".%s(", name);
        put_arguments(p, t, n, 1);
    } else {
        text_put(t, "%s%s(", tl(n), name);
        put_arguments(p, t, n, 0);
    }
}

static bool as_method(const node *n) { return n->style & 4; }

static void put_comma(text *t) {
    if (t->data[t->len - 1] != '(')
        text_put(t, ", ");
}

static void put_reduction(const program *p, text *t, const node *n) {
    int rank = n->kid[0]->type.rank, axis = n->axis >= 0 && n->style & 8 ? n->axis - rank : n->axis;
    if (n->kind == N_FOLD) {
        text_put(t, "tl.reduce(%s", n->num_kids > 1 ? "(" : "");
        put_arguments(p, t, n, 0);
        text_put(t, "%s, ", n->num_kids > 1 ? ")" : "");
        text_put(t, n->axis < 0 ? "None" : "%d", axis);
        text_put(t, ", f%d", n->id);
    } else {
        // The bare max and min are Python's.
        node qualified = *n;
        qualified.style |= 2;
        open_call(p, t, &qualified, op_texts[n->op], as_method(n));
        put_comma(t);
        if (n->axis >= 0)
            text_put(t, "axis=%d", axis);
        else
            text_put(t, "axis=None");
        if (n->kind == N_EXTREMUM)
            text_put(t, ", return_indices=True");
    }
    text_put(t, n->keep_dims ? ", keep_dims=True)" : ")");
}

static void put_list(text *t, const uint16_t *list, int n) {
    text_put(t, ", (");
    for (int i = 0; i < n; i++)
        text_put(t, "%d, ", list[i]);
    text_put(t, ")");
}

/// A tuple of expressions.
static void put_tuple(const program *p, text *t, node *const *kids, int n) {
    text_put(t, "(");
    for (int i = 0; i < n; i++) {
        put_node(p, t, kids[i]);
        text_put(t, ", ");
    }
    text_put(t, ")");
}

/// tl.make_block_ptr(...), moved on; or tl.make_tensor_descriptor(...), which has no place.
static void put_block_of(const program *p, text *t, const node *n) {
    int rank = n->type.rank;
    bool moves = n->num_kids > 1 + rank, method = moves && n->style & 8;
    if (n->descriptor) {
        text_put(t, "tl.make_tensor_descriptor(");
    } else {
        text_put(t, "%stl.make_block_ptr(", moves && !method ? "tl.advance(" : "");
    }
    put_node(p, t, n->kid[0]);
    put_list(t, n->extent, rank);
    put_list(t, n->stride, rank);
    if (!n->descriptor) {
        text_put(t, ", ");
        put_tuple(p, t, n->kid + 1, rank);
    }
    put_list(t, n->type.dim, rank);
    if (n->descriptor) {
        text_put(t, n->variant ? ", padding_option=\"nan\")" : ")");
        return;
    }
    text_put(t, ", (");
    for (int i = 0; i < rank; i++)
        text_put(t, "%d, ", n->order[i]);
    text_put(t, "))");
    if (!moves)
        return;
    text_put(t, method ? ".advance(" : ", ");
    put_tuple(p, t, n->kid + 1 + rank, rank);
    text_put(t, ")");
}

static void put_boundary_check(text *t, const node *n) {
    text_put(t, "boundary_check=(");
    for (int d = 0; d < n->type.rank; d++)
        if (n->checked >> d & 1)
            text_put(t, "%d, ", d);
    text_put(t, ")");
}

/// A load of a block.
static void put_block_load(const program *p, text *t, const node *n) {
    const node *from = n->kid[0];
    bool method = from->descriptor || n->style & 128;
    text_put(t, method ? "" : "tl.load(");
    put_block_of(p, t, from);
    if (from->descriptor) {
        text_put(t, ".load(");
        put_tuple(p, t, from->kid + 1, from->type.rank);
        text_put(t, ")");
        return;
    }
    text_put(t, method ? ".load(" : ", ");
    put_boundary_check(t, from);
    if (from->variant)
        text_put(t, ", padding_option=\"nan\"");
    text_put(t, ")");
}

/// A store to a block.
static void put_block_store(const program *p, text *t, const stmt *s) {
    const node *to = s->e[0];
    text_put(t, to->descriptor ? "" : "tl.store(");
    put_block_of(p, t, to);
    text_put(t, to->descriptor ? ".store(" : "");
    if (to->descriptor)
        put_tuple(p, t, to->kid + 1, to->type.rank);
    text_put(t, ", ");
    put_node(p, t, s->e[1]);
    if (!to->descriptor) {
        text_put(t, ", ");
        put_boundary_check(t, to);
    }
    text_put(t, ")\n");
}

static void put_scan(const program *p, text *t, const node *n) {
    int axis = n->style & 8 ? n->axis - n->type.rank : n->axis;
    if (n->kind == N_SCANFOLD) {
        text_put(t, "%sassociative_scan(%s", tl(n), n->num_kids > 1 ? "(" : "");
        put_arguments(p, t, n, 0);
        text_put(t, "%s, %d, f%d", n->num_kids > 1 ? ")" : "", axis, n->id);
    } else {
        open_call(p, t, n, op_texts[n->op], as_method(n));
        put_comma(t);
        text_put(t, "axis=%d", axis);
    }
    text_put(t, n->variant ? ", reverse=True)" : ")");
}

/// SORT, TOPK, HISTOGRAM, GATHER.
static void put_rearranged(const program *p, text *t, const node *n) {
    static const char *const names[NUM_NODE_KINDS] = {
        [N_SORT] = "sort", [N_TOPK] = "topk", [N_HISTOGRAM] = "histogram", [N_GATHER] = "gather"};
    node first = *n;
    first.num_kids = n->kind == N_GATHER ? 2 : 1;
    open_call(p, t, &first, names[n->kind], as_method(n));
    put_comma(t);
    if (n->kind == N_SORT)
        text_put(t, n->variant ? "descending=True" : "descending=False");
    else if (n->kind == N_GATHER)
        text_put(t, "%d", n->axis);
    else
        text_put(t, "%d", n->type.dim[n->type.rank - 1]);
    if (n->kind == N_HISTOGRAM && n->kid[1]) {
        text_put(t, ", mask=");
        put_node(p, t, n->kid[1]);
    }
    text_put(t, ")");
}

static void put_load(const program *p, text *t, const node *n) {
    if (n->kid[0]->kind == N_BLOCK) {
        put_block_load(p, t, n);
        return;
    }
    text_put(t, "%sload(", tl(n));
    put_node(p, t, n->kid[0]);
    if (n->kid[1]) {
        text_put(t, ", mask=");
        put_node(p, t, n->kid[1]);
    }
    if (n->kid[2]) {
        text_put(t, ", other=");
        put_node(p, t, n->kid[2]);
    }
    if (n->style & 16 && n->style & 32 && !n->variant) // no load is both
        text_put(t, ", cache_modifier=\".%s\"", n->style & 64 ? "cg" : "ca");
    text_put(t, n->variant ? ", volatile=True)" : ")");
}

// --- shapes

static void put_expand(const program *p, text *t, const node *n) {
    if (n->style & 12) {
        put_node(p, t, n->kid[0]);
        text_put(t, "[");
        for (int d = 0; d < n->type.rank; d++)
            text_put(t, "%s%s", d ? ", " : "", d == n->axis ? "None" : ":");
        text_put(t, "]");
        return;
    }
    open_call(p, t, n, n->style & 16 ? "expand_dims" : "unsqueeze", n->style & 32);
    put_comma(t);
    text_put(t, "%d)", n->axis);
}

static void put_reshape(const program *p, text *t, const node *n) {
    bool flat = n->type.rank == 1 && n->style & 8;
    open_call(p, t, n, flat ? "ravel" : n->style & 16 ? "view" : "reshape", as_method(n));
    if (!flat) {
        put_comma(t);
        put_shape(t, n->type);
    }
    text_put(t, ")");
}

static void put_permute(const program *p, text *t, const node *n) {
    bool swap = n->type.rank == 2 && n->order[0] == 1;
    if (swap && n->style & 8) {
        put_node(p, t, n->kid[0]);
        text_put(t, ".T");
        return;
    }
    open_call(p, t, n, n->style & 16 ? "permute" : "trans", as_method(n));
    put_comma(t);
    for (int d = 0; d < n->type.rank; d++)
        text_put(t, "%s%d", d ? ", " : "", n->order[d]);
    text_put(t, ")");
}

static void put_joined(const program *p, text *t, const node *n) {
    static const char *const names[NUM_NODE_KINDS] = {[N_JOIN] = "join",
                                                      [N_INTERLEAVE] = "interleave",
                                                      [N_CAT] = "cat",
                                                      [N_FLIP] = "flip",
                                                      [N_SPLIT] = "split"};
    bool method = as_method(n), last = n->kind == N_FLIP && n->axis == n->type.rank - 1;
    open_call(p, t, n, names[n->kind], method);
    if (n->kind == N_CAT || (n->kind == N_FLIP && !(last && n->style & 8))) {
        put_comma(t);
        text_put(t, "dim=%d", n->axis);
    }
    text_put(t, ")");
}

// --- operators

static void put_binary(const program *p, text *t, const node *n) {
    if (n->op == O_MAXIMUM || n->op == O_MINIMUM || n->op == O_UMULHI) {
        open_call(p, t, n, op_texts[n->op], false);
        text_put(t, n->variant ? ", propagate_nan=tl.PropagateNan.ALL)" : ")");
        return;
    }
    bool logic = n->kid[0]->type.elem == T_I1 && n->kid[1]->type.elem == T_I1 && n->style & 8;
    logic &= !is_weak(p, n->kid[0]) && !is_weak(p, n->kid[1]);
    text_put(t, "(");
    put_node(p, t, n->kid[0]);
    text_put(t, " %s ",
             logic && n->op == O_AND  ? "and"
             : logic && n->op == O_OR ? "or"
                                      : op_texts[n->op]);
    put_node(p, t, n->kid[1]);
    text_put(t, ")");
}

static void put_unary(const program *p, text *t, const node *n) {
    bool prefix = n->op == O_NEG || n->op == O_INVERT;
    const char *name =
        n->op == O_INVERT && n->type.elem == T_I1 && n->style & 8 ? "not " : op_texts[n->op];
    text_put(t, prefix ? "(%s" : "%s(", name);
    put_node(p, t, n->kid[0]);
    text_put(t, ")");
}

static void put_cast(const program *p, text *t, const node *n) {
    const char *bits = n->kind == N_BITCAST ? ", bitcast=True"
                       : n->variant         ? ", fp_downcast_rounding=\"rtz\""
                                            : "";
    if (as_method(n)) {
        put_node(p, t, n->kid[0]);
        text_put(t, ".to(%s%s)", dtype_text(n, n->type.elem), bits);
    } else {
        text_put(t, "tl.cast(");
        put_node(p, t, n->kid[0]);
        text_put(t, ", %s%s)", dtype_text(n, n->type.elem), bits);
    }
}

static const char *atomic_name(op o);

static void put_atomic(const program *p, text *t, const node *n) {
    text_put(t, "tl.%s(", atomic_name(n->op));
    put_node(p, t, n->kid[0]);
    if (n->kid[3]) {
        text_put(t, ", ");
        put_node(p, t, n->kid[3]);
    }
    text_put(t, ", ");
    put_node(p, t, n->kid[1]);
    if (n->kid[2]) {
        text_put(t, ", mask=");
        put_node(p, t, n->kid[2]);
    }
    text_put(t, ")");
}

static void put_helper_call(const program *p, text *t, const node *n) {
    const func *f = &p->funcs[n->id];
    text_put(t, "f%d(", n->id);
    for (int i = 0; i < n->num_kids; i++) {
        bool named = f->has_constexpr && i == n->num_kids - 1 && n->style & 8;
        if (i)
            text_put(t, ", ");
        if (named) {
            put_var(p, t, f->param[i]);
            text_put(t, "=");
        }
        put_node(p, t, n->kid[i]);
    }
    text_put(t, ")");
}

static void put_hint(const program *p, text *t, const node *n) {
    static const char *const names[NUM_HINTS] = {"multiple_of", "max_contiguous", "max_constancy"};
    open_call(p, t, n, names[n->id], false);
    text_put(t, n->type.rank > 1 ? ", [" : ", ");
    for (int d = 0; d < n->type.rank; d++)
        text_put(t, "%s%d", d ? ", " : "", d == n->axis ? (int)n->i : 1);
    text_put(t, n->type.rank > 1 ? "])" : n->type.rank ? ")" : "%d)", (int)n->i);
}

static void put_math(const program *p, text *t, const node *n) {
    text_put(t, n->op == O_TANH ? "tl.extra.libdevice.%s(" : "tl.%s(", op_texts[n->op]);
    put_node(p, t, n->kid[0]);
    text_put(t, ")");
}

static void put_full(const program *p, text *t, const node *n) {
    const node *x = n->kid[0];
    bool zero =
        x->kind == N_NUM && !x->id && x->i == 0 && x->f == 0 && !signbit(x->f) && n->type.rank;
    text_put(t, zero && n->style & 8 ? "%szeros(" : "%sfull(", tl(n));
    put_shape_of(t, n);
    if (!(zero && n->style & 8)) {
        text_put(t, ", ");
        put_node(p, t, x);
    }
    text_put(t, ", %s)", dtype_text(n, n->type.elem));
}

static void put_named(const program *p, text *t, const node *n, const char *name) {
    open_call(p, t, n, name, false);
    text_put(t, ")");
}

static void put_choose(const program *p, text *t, const node *n) {
    text_put(t, "(");
    put_node(p, t, n->kid[1]);
    text_put(t, " if ");
    put_node(p, t, n->kid[0]);
    text_put(t, " else ");
    put_node(p, t, n->kid[2]);
    text_put(t, ")");
}

static void put_leaf(const program *p, text *t, const node *n) {
    switch ((int)n->kind) {
    case N_NUM:
        put_literal(t, n);
        break;
    case N_VAR:
        put_var(p, t, n->id);
        break;
    case N_PID:
        text_put(t, "%sprogram_id(%d)", tl(n), n->axis);
        break;
    case N_NPROGS:
        text_put(t, "%snum_programs(%d)", tl(n), n->axis);
        break;
    case N_ARANGE:
        text_put(t, "%sarange(%d, %d)", tl(n), (int)n->i, (int)n->i + n->type.dim[0]);
        break;
    case N_BASE:
        text_put(t, "b%d", n->id);
        break;
    default:
        break;
    }
}

static void put_node(const program *p, text *t, const node *n) {
    switch ((node_kind)n->kind) {
    case N_FULL:
        put_full(p, t, n);
        break;
    case N_UNARY:
        put_unary(p, t, n);
        break;
    case N_BINARY:
    case N_COMPARE:
        put_binary(p, t, n);
        break;
    case N_WHERE:
        put_named(p, t, n, "where");
        break;
    case N_CHOOSE:
        put_choose(p, t, n);
        break;
    case N_CLAMP:
        open_call(p, t, n, "clamp", false);
        text_put(t, n->variant ? ", propagate_nan=tl.PropagateNan.ALL)" : ")");
        break;
    case N_FMA:
        put_named(p, t, n, "fma");
        break;
    case N_CAST:
    case N_BITCAST:
        put_cast(p, t, n);
        break;
    case N_EXPAND:
        put_expand(p, t, n);
        break;
    case N_SQUEEZE:
        open_call(p, t, n, "squeeze", as_method(n));
        put_comma(t);
        text_put(t, "%d)", n->axis);
        break;
    case N_RESHAPE:
        put_reshape(p, t, n);
        break;
    case N_PERMUTE:
        put_permute(p, t, n);
        break;
    case N_BROADCAST:
        open_call(p, t, n, "broadcast_to", as_method(n));
        put_comma(t);
        put_shape(t, n->type);
        text_put(t, ")");
        break;
    case N_JOIN:
    case N_INTERLEAVE:
    case N_CAT:
    case N_FLIP:
    case N_SPLIT:
        put_joined(p, t, n);
        break;
    case N_REDUCE:
    case N_FOLD:
    case N_EXTREMUM:
        put_reduction(p, t, n);
        break;
    case N_SCAN:
    case N_SCANFOLD:
        put_scan(p, t, n);
        break;
    case N_SORT:
    case N_TOPK:
    case N_HISTOGRAM:
    case N_GATHER:
        put_rearranged(p, t, n);
        break;
    case N_LOAD:
        put_load(p, t, n);
        break;
    case N_OFFSET:
        text_put(t, "(");
        put_node(p, t, n->kid[n->style & 8 ? 1 : 0]);
        text_put(t, " + ");
        put_node(p, t, n->kid[n->style & 8 ? 0 : 1]);
        text_put(t, ")");
        break;
    case N_ATOMIC:
        put_atomic(p, t, n);
        break;
    case N_CALL:
        put_helper_call(p, t, n);
        break;
    case N_MATH:
        put_math(p, t, n);
        break;
    case N_HINT:
        put_hint(p, t, n);
        break;
    default:
        put_leaf(p, t, n);
    }
}

// --- statements

static void put_block(const program *p, text *t, const block *b, int indent);

static void put_access(const program *p, text *t, const stmt *s, const char *name) {
    if (s->e[0]->kind == N_BLOCK) {
        put_block_store(p, t, s);
        return;
    }
    text_put(t, "tl.%s(", name);
    put_node(p, t, s->e[0]);
    text_put(t, ", ");
    put_node(p, t, s->e[1]);
    if (s->e[2]) {
        text_put(t, ", mask=");
        put_node(p, t, s->e[2]);
    }
    text_put(t, ")\n");
}

static const char *atomic_name(op o) {
    switch (o) {
    case O_ADD:
        return "atomic_add";
    case O_MAXIMUM:
        return "atomic_max";
    case O_MINIMUM:
        return "atomic_min";
    case O_AND:
        return "atomic_and";
    case O_OR:
        return "atomic_or";
    case O_XCHG:
        return "atomic_xchg";
    case O_CAS:
        return "atomic_cas";
    default:
        return "atomic_xor";
    }
}

static void put_for(const program *p, text *t, const stmt *s, int indent) {
    bool is_static = s->kind == S_STATIC_FOR;
    text_put(t, "for ");
    put_var(p, t, s->target[0]);
    text_put(t, " in %s(", is_static ? "tl.static_range" : s->style & 1 ? "tl.range" : "range");
    for (int k = 0; k < 3; k++) {
        text_put(t, k ? ", " : "");
        put_node(p, t, s->e[k]);
    }
    if (!is_static && s->style & 1 && s->style & 2)
        text_put(t, ", num_stages=%d", s->style >> 2 & 3);
    if (!is_static && s->style & 1 && s->style & 16)
        text_put(t, ", loop_unroll_factor=%d", (s->style >> 5) + 1);
    text_put(t, "):\n");
    put_block(p, t, &s->body, indent + 4);
}

static void put_condition(const program *p, text *t, const stmt *s, int indent, const char *word) {
    text_put(t, "%s ", word);
    put_node(p, t, s->e[0]);
    text_put(t, ":\n");
    put_block(p, t, &s->body, indent + 4);
    if (s->other.count == 1 && s->other.at[0]->kind == S_IF) {
        text_put(t, "%*s", indent, "");
        put_condition(p, t, s->other.at[0], indent, "elif");
    } else if (s->other.count) {
        text_put(t, "%*selse:\n", indent, "");
        put_block(p, t, &s->other, indent + 4);
    }
}

/// v = v + x as v += x.
static bool put_augmented(const program *p, text *t, const stmt *s) {
    const node *n = s->e[0];
    bool fits = s->kind == S_ASSIGN && n->kind == N_BINARY && n->style & 16 &&
                n->kid[0]->kind == N_VAR && n->kid[0]->id == s->target[0] && n->op >= O_ADD &&
                n->op <= O_SHR;
    if (!fits)
        return false;
    put_var(p, t, s->target[0]);
    text_put(t, " %s= ", op_texts[n->op]);
    put_node(p, t, n->kid[1]);
    text_put(t, "\n");
    return true;
}

static void put_assign(const program *p, text *t, const stmt *s) {
    if (put_augmented(p, t, s))
        return;
    for (int i = 0; i < s->num_targets; i++) {
        text_put(t, i ? ", " : "");
        put_var(p, t, s->target[i]);
    }
    text_put(t, " = ");
    put_node(p, t, s->e[0]);
    text_put(t, "\n");
}

static void put_stmt(const program *p, text *t, const stmt *s, int indent) {
    text_put(t, "%*s", indent, "");
    switch ((stmt_kind)s->kind) {
    case S_ASSIGN:
    case S_UNPACK:
        put_assign(p, t, s);
        break;
    case S_STORE:
        put_access(p, t, s, "store");
        break;
    case S_ATOMIC:
        put_access(p, t, s, atomic_name(s->op));
        break;
    case S_IF:
        put_condition(p, t, s, indent, "if");
        break;
    case S_WHILE:
        put_condition(p, t, s, indent, "while");
        break;
    case S_FOR:
    case S_STATIC_FOR:
        put_for(p, t, s, indent);
        break;
    case S_RETURN:
        text_put(t, s->e[0] ? "return " : "return");
        if (s->e[0])
            put_node(p, t, s->e[0]);
        text_put(t, "\n");
        break;
    case S_CONTINUE:
        text_put(t, "continue\n");
        break;
    case S_ASSUME:
        text_put(t, "tl.assume(");
        put_node(p, t, s->e[0]);
        text_put(t, ")\n");
        break;
    case NUM_STMT_KINDS:
        break;
    }
}

static void put_block(const program *p, text *t, const block *b, int indent) {
    for (int i = 0; i < b->count; i++)
        put_stmt(p, t, b->at[i], indent);
    if (!b->count)
        text_put(t, "%*spass\n", indent, "");
}

// --- the file

static void put_func(const program *p, text *t, int id) {
    const func *f = &p->funcs[id];
    text_put(t, "def f%d(", id);
    for (int i = 0; i < f->num_params; i++) {
        text_put(t, i ? ", " : "");
        put_var(p, t, f->param[i]);
        if (f->has_constexpr && i == f->num_params - 1)
            text_put(t, ": tl.constexpr = %" PRId64, p->vars[f->param[i]].i);
    }
    text_put(t, "):\n");
    if (f->body.count)
        put_block(p, t, &f->body, 4);
    text_put(t, "    return ");
    for (int i = 0; i < f->num_results; i++) {
        text_put(t, i ? ", " : "");
        put_node(p, t, f->result[i]);
    }
    text_put(t, "\n\n\n");
}

static void mark_call(node **n, void *ctx) {
    if ((*n)->kind == N_CALL || (*n)->kind == N_FOLD || (*n)->kind == N_SCANFOLD)
        ((bool *)ctx)[(*n)->id] = true;
}

/// A type, in a string with its hint if that says anything.
static void put_type(text *t, unsigned hint, const char *format, const char *kind,
                     const char *name) {
    text_put(t, hint > 1 ? "\"" : "");
    text_put(t, format, kind, name);
    if (hint > 1)
        text_put(t, ":%u\"", hint);
}

void print_program(const program *p, text *t) {
    bool used[MAX_FUNCS] = {0};
    walk_nodes((program *)p, mark_call, used);
    for (int i = 0; i < p->num_funcs; i++)
        if (used[i])
            put_func(p, t, i);
    text_put(t, "def k(");
    const char *comma = "";
    for (int i = 0; i < p->num_buffers; i++, comma = ", ") {
        const buffer *b = &p->buffers[i], *at = &p->buffers[b->storage];
        unsigned hint = true_hint((uint64_t)at->shift * bytes_of(at->elem), b->hint);
        text_put(t, "%sb%d: ", comma, i);
        put_type(t, hint, "*%s%s", b->is_const ? "const " : "", elems[b->elem].name);
    }
    for (int i = 0; i < p->num_vars; i++) {
        const var_info *v = &p->vars[i];
        if (v->role != ROLE_PARAM)
            continue;
        text_put(t, "%sn%d: ", comma, i), comma = ", ";
        put_type(t, true_hint((uint64_t)v->i, v->hint), "%s%s", "", elems[v->type.elem].name);
    }
    for (int i = 0; i < p->num_consts; i++, comma = ", ")
        text_put(t, "%sK%d: tl.constexpr", comma, i);
    text_put(t, "):\n");
    put_block(p, t, &p->body, 4);
}

void print_launch(const program *p, text *t) {
    static const char *const roles[] = {"read", "own slice", "atomics", "approximate"};
    text_put(t, "grid (%u, %u, %u)\n", p->grid[0], p->grid[1], p->grid[2]);
    for (int i = 0; i < p->num_buffers; i++) {
        const buffer *b = &p->buffers[i];
        text_put(t, "b%d: %u x %s, %s", i, b->size, elems[b->elem].name, roles[b->role]);
        if (b->storage != i)
            text_put(t, ", the same memory as b%d", b->storage);
        text_put(t, b->shift ? ", address %u elements off alignment\n" : "\n", b->shift);
    }
    for (int i = 0; i < p->num_vars; i++)
        if (p->vars[i].role == ROLE_PARAM)
            text_put(t, "n%d = %" PRId64 "\n", i, p->vars[i].i);
    for (int i = 0; i < p->num_consts; i++)
        text_put(t, "K%d = %" PRId64 "\n", i, p->consts[i]);
}
