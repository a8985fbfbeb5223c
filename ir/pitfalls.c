// See pitfalls.h. Both warnings need the largest value that an index takes, and only where it is
// certain: of a range, constants, and what grows with them (sums, products, shifts, quotients by a
// constant, of values that are not negative), for then the largest result comes from the largest operands. Whatever depends on an
// argument, a program's number or memory is left alone: the cpu device checks that as it runs.
#include "ir/pitfalls.h"

/// The values of an integer: from 0 or above to `most`, which one of them is.
typedef struct extent {
    bool visited, known;
    int64_t most;
    const ir_op *overflow; ///< an op on the way here whose 32 bits do not hold its result
} extent;

/// An index that a comparison keeps below a bound.
typedef struct cut_index {
    const ir_value *index;
    int64_t bound;
    src_range at;
} cut_index;

typedef struct search {
    ir_func *func;
    extent *extents; ///< by value id
    VEC(cut_index) cuts;
} search;

enum { MAX_DEPTH = 64 };

static const extent *extent_of(search *s, const ir_value *v, unsigned depth);

/// The same values in another form.
static bool is_form(ir_opcode op) {
    return op == OP_SPLAT || op == OP_RESHAPE || op == OP_BROADCAST || op == OP_PERMUTE ||
           op == OP_FLIP || op == OP_HINT || op == OP_CAST;
}

static bool grows(ir_opcode op) {
    return op == OP_ADD || op == OP_MUL || op == OP_SHL || op == OP_DIV;
}

static bool combine(ir_opcode op, int64_t a, int64_t b, int64_t *out) {
    if (op == OP_ADD)
        return !__builtin_add_overflow(a, b, out);
    if (op == OP_DIV) { // of what a constant divides; by a range the largest is another one
        *out = b ? a / b : 0;
        return b != 0;
    }
    if (op == OP_MUL)
        return !__builtin_mul_overflow(a, b, out);
    return b < 62 && !__builtin_mul_overflow(a, INT64_C(1) << b, out);
}

/// The index itself, without what only changes its form.
static const ir_value *bare(const ir_value *v) {
    while (v->def && is_form(v->def->opcode) && v->def->opcode != OP_CAST)
        v = v->def->operands[0];
    return v;
}

static bool is_constant(const ir_value *v) {
    v = bare(v);
    return v->def && v->def->opcode == OP_CONST;
}

static void find_extent(search *s, const ir_op *op, extent *x, unsigned depth) {
    const ir_value *v = op->results[0];
    int64_t c;
    if (op->opcode == OP_CONST && ir_is_const_int(v, &c)) {
        *x = (extent){true, c >= 0, c, NULL};
    } else if (op->opcode == OP_ARANGE) {
        int64_t start = ir_get_int(op, ATTR_START, 0);
        *x = (extent){true, start >= 0, start + (int64_t)v->type.shape[0] - 1, NULL};
    } else if (is_form(op->opcode) && dtype_is_int(op->operands[0]->type.elem)) {
        *x = *extent_of(s, op->operands[0], depth + 1);
    } else if (grows(op->opcode)) {
        const extent *a = extent_of(s, op->operands[0], depth + 1);
        const extent *b = extent_of(s, op->operands[1], depth + 1);
        x->overflow = a->overflow ? a->overflow : b->overflow;
        bool is_simple = op->opcode != OP_DIV || is_constant(op->operands[1]);
        x->known =
            is_simple && a->known && b->known && combine(op->opcode, a->most, b->most, &x->most);
    }
    x->visited = true;
    dtype t = v->type.elem;
    if (x->known && dtype_bits(t) < 64 && x->most >> (dtype_bits(t) - dtype_is_signed(t))) {
        x->overflow = dtype_bits(t) == 32 ? op : NULL;
        x->known = false;
    }
}

static const extent *extent_of(search *s, const ir_value *v, unsigned depth) {
    static const extent unknown;
    if (!v->def || depth > MAX_DEPTH || !dtype_is_int(v->type.elem) || v->def->num_results != 1)
        return &unknown;
    extent *x = &s->extents[v->id];
    if (!x->visited)
        find_extent(s, v->def, x, depth);
    return x;
}

// --- offsets

static void warn_offset(search *s, const ir_op *addptr) {
    const extent *x = extent_of(s, addptr->operands[1], 0);
    if (!x->overflow)
        return;
    const ir_op *op = x->overflow;
    diag_warning(s->func->module->diag, "offset-overflow", op->range,
                 "this offset does not fit %s: convert a factor to tl.int64 before",
                 dtype_name(op->results[0]->type.elem));
}

// --- masks

/// idx < n, n > idx: an index that reaches beyond n.
static void note_cut(search *s, const ir_op *cmp) {
    sv pred = ir_get_str(cmp, ATTR_PRED);
    bool less = sv_is(pred, "lt") || sv_is(pred, "le"),
         greater = sv_is(pred, "gt") || sv_is(pred, "ge");
    if (!less && !greater)
        return;
    const ir_value *index = cmp->operands[greater], *bound = cmp->operands[less];
    const extent *i = extent_of(s, index, 0), *b = extent_of(s, bound, 0);
    int64_t end = b->most + (sv_is(pred, "le") || sv_is(pred, "ge"));
    if (i->known && b->known && is_constant(bound) && !is_constant(index) && i->most >= end)
        VEC_PUSH(s->func->module->arena, s->cuts, ((cut_index){bare(index), end, cmp->range}));
}

static const cut_index *find_cut(const search *s, const ir_value *offset, unsigned depth) {
    offset = bare(offset);
    for (uint32_t i = 0; i < s->cuts.len; i++)
        if (s->cuts.data[i].index == offset)
            return &s->cuts.data[i];
    if (!offset->def || depth > MAX_DEPTH ||
        !(grows(offset->def->opcode) || offset->def->opcode == OP_CAST))
        return NULL;
    const cut_index *found = find_cut(s, offset->def->operands[0], depth + 1);
    return found || offset->def->num_operands < 2
               ? found
               : find_cut(s, offset->def->operands[1], depth + 1);
}

static void warn_mask(search *s, const ir_op *access) {
    bool is_load = access->opcode == OP_LOAD;
    if (access->operands[is_load ? 1 : 2])
        return;
    const ir_value *ptr = bare(access->operands[0]);
    const cut_index *cut = NULL;
    for (unsigned depth = 0; !cut && ptr->def && ptr->def->opcode == OP_ADDPTR && depth < MAX_DEPTH;
         depth++) {
        cut = find_cut(s, ptr->def->operands[1], 0);
        ptr = bare(ptr->def->operands[0]);
    }
    if (!cut)
        return;
    diag_warning(s->func->module->diag, "missing-mask", access->range,
                 "this %s has no mask, but its index%s%" SV_FMT "%s goes up to %lld, beyond %lld",
                 is_load ? "load" : "store", cut->index->name.len ? " '" : "",
                 SV_ARG(cut->index->name), cut->index->name.len ? "'" : "",
                 (long long)extent_of(s, cut->index, 0)->most, (long long)cut->bound - 1);
    diag_note(s->func->module->diag, cut->at, "elsewhere it is cut here");
}

// --- the walk

static void note_op(ir_op *op, void *ctx) {
    if (op->opcode == OP_CMP)
        note_cut(ctx, op);
}

static void warn_op(ir_op *op, void *ctx) {
    if (op->opcode == OP_ADDPTR)
        warn_offset(ctx, op);
    else if (op->opcode == OP_LOAD || op->opcode == OP_STORE)
        warn_mask(ctx, op);
}

void ir_warn_pitfalls(ir_func *f) {
    search s = {.func = f};
    ir_number_values(f);
    s.extents = ARENA_ARRAY(f->module->arena, extent, f->num_values + 1);
    ir_walk(f->body, note_op, &s);
    ir_walk(f->body, warn_op, &s);
}
