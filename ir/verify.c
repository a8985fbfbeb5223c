// The verifier: is this tile IR what ops.def and docs/ir.md say it is? Two rounds. The first looks
// at structure (operands present and visible, regions and terminators in place, types sane) and
// makes it safe to look closer; the second runs each op's type rule, named in ops.def, and the
// layout rules. It runs on every .tir file that is read and, in debug builds, after every pass:
// a message names the op, what was expected and what was found.
#include "ir/asm_form.h"

enum { MAX_STAGES = 64, MAX_UNROLL_FACTOR = 1000, MAX_REGISTERS = 255 };

typedef struct checker {
    const ir_func *func;
    arena *arena;
    const char *where;
    bool failed;
    uint32_t with_layout, without_layout; // tile values
} checker;

static void __attribute__((format(printf, 3, 4)))
fail(checker *c, src_range at, const char *fmt, ...) {
    strbuf s;
    strbuf_init(&s, c->arena);
    va_list args;
    va_start(args, fmt);
    strbuf_vprintf(&s, fmt, args);
    va_end(args);
    bool prefixed = c->where && *c->where;
    diag_error(c->func->module->diag, at, "%s%s%s", prefixed ? c->where : "", prefixed ? ": " : "",
               s.data);
    c->failed = true;
}

#define FAIL(c, op, fmt, ...)                                                                      \
    fail((c), (op)->range, "'%s': " fmt, ir_get_op_info((op)->opcode)->name, ##__VA_ARGS__)

static bool is_power_of_2(uint64_t n) { return n != 0 && (n & (n - 1)) == 0; }

static unsigned log2_of(uint32_t n) { return (unsigned)__builtin_ctz(n); }

static bool has_word(const char *list, sv word) {
    for (const char *p = list; *p;) {
        size_t len = strcspn(p, " ");
        if (word.len == len && !memcmp(p, word.data, len))
            return true;
        p += len;
        p += strspn(p, " ");
    }
    return false;
}

// "a", "mask": the name of operand i in ops.def, without its mark.
static const char *operand_name(checker *c, const ir_op *op, uint32_t i) {
    const char *p = ir_get_op_info(op->opcode)->operands;
    size_t len = strcspn(p, " ");
    for (; i > 0 && p[len]; i--) {
        p += len + 1;
        len = strcspn(p, " ");
    }
    len -= len > 0 && (p[len - 1] == '?' || p[len - 1] == '*');
    return arena_copy_string(c->arena, p, len);
}

// --- round one: structure

static bool type_is_sane(ir_type t) {
    bool pointer = t.elem == DT_PTR;
    if (t.elem == DT_VOID || t.elem >= DTYPE_COUNT || t.rank > IR_MAX_RANK)
        return false;
    if (pointer ? t.pointee == DT_VOID || t.pointee >= DT_PTR
                : t.pointee != DT_VOID || t.pointer_const)
        return false;
    uint64_t elements = 1;
    for (unsigned i = 0; i < t.rank; i++) {
        if (!is_power_of_2(t.shape[i]) || t.shape[i] > IR_MAX_ELEMENTS)
            return false;
        elements *= t.shape[i];
        if (elements > IR_MAX_ELEMENTS)
            return false;
    }
    return true;
}

static void check_value(checker *c, const ir_value *v, src_range at) {
    if (!type_is_sane(v->type)) {
        fail(c, at, "expected extents that are powers of 2, at most %d elements, but got %s",
             IR_MAX_ELEMENTS, ir_type_string(c->arena, v->type));
        return;
    }
    if (!ir_is_tile(v->type)) {
        if (v->layout)
            fail(c, at, "a scalar has a layout");
        return;
    }
    c->with_layout += v->layout != NULL;
    c->without_layout += v->layout == NULL;
    const layout *l = v->layout;
    if (!l)
        return;
    if (l->index_bits != log2_of(ir_type_elements(v->type)) ||
        l->warp_bits != log2_of(c->func->num_warps) || l->cta_bits != log2_of(c->func->num_ctas) ||
        layout_place_bits(l) > LAYOUT_MAX_BITS || !layout_is_valid(l))
        fail(c, at, "the layout does not fit %s on %u warps and %u ctas",
             ir_type_string(c->arena, v->type), c->func->num_warps, c->func->num_ctas);
}

// True if v is defined before op, in op's block or in one around it, with no isolated region
// in between.
static bool is_visible(const ir_value *v, const ir_op *op) {
    for (const ir_block *b = op->block; b; op = b->parent, b = op ? op->block : NULL) {
        if (op->block != b) // an op that is not where it says
            return false;
        if (b == v->block)
            return v->def ? v->def->block == b && v->def->id < op->id : true;
        if (b->parent && ir_has_trait(b->parent, ISOLATED))
            return false;
    }
    return false;
}

static void check_operands(checker *c, const ir_op *op) {
    ir_arity arity = ir_get_arity(op->opcode);
    if (op->num_operands < arity.least || (!arity.variadic && op->num_operands > arity.most)) {
        FAIL(c, op, "expected %u operands but got %u", arity.least, op->num_operands);
        return;
    }
    for (uint32_t i = 0; i < op->num_operands; i++) {
        const ir_value *v = op->operands[i];
        if (!v) {
            if (i < arity.least || i >= arity.most)
                FAIL(c, op, "operand %s is missing", operand_name(c, op, i));
        } else if (!is_visible(v, op)) {
            FAIL(c, op, "operand %s is used where it is not defined", operand_name(c, op, i));
        }
    }
}

static void check_block(checker *c, const ir_block *b, src_range at) {
    for (uint32_t i = 0; i < b->num_args; i++) {
        const ir_value *v = b->args[i];
        if (v->block != b || v->def || v->index != i)
            fail(c, at, "a block argument does not know its place");
        check_value(c, v, at);
    }
    if (!b->last || !ir_has_trait(b->last, TERMINATOR))
        fail(c, at, "expected a region that ends in a terminator");
}

static const struct {
    ir_attr_key key;
    const char *words;
} attr_words[] = {
    {ATTR_PRED, "eq ne lt le gt ge"},
    {ATTR_NAN, "all"},
    {ATTR_ROUND, "rtz"},
    {ATTR_CACHE, "ca cg cs cv wb wt"},
    {ATTR_EVICT, "evict_first evict_last"},
    {ATTR_KIND, "add fadd max min and or xor xchg"},
    {ATTR_SEM, "relaxed acquire release acq_rel"},
    {ATTR_SCOPE, "cta gpu sys"},
};

static void check_attrs(checker *c, const ir_op *op) {
    for (uint32_t i = 0; i < op->num_attrs; i++) {
        const ir_attr *a = &op->attrs[i];
        const char *name = ir_attr_name(a->key);
        if (!has_word(ir_get_op_info(op->opcode)->attrs, sv_from(name)))
            FAIL(c, op, "has no attribute '%s'", name);
        for (size_t k = 0; k < sizeof(attr_words) / sizeof(attr_words[0]); k++)
            if (attr_words[k].key == a->key && !has_word(attr_words[k].words, a->str))
                FAIL(c, op, "attribute '%s': expected one of '%s' but got '%" SV_FMT "'", name,
                     attr_words[k].words, SV_ARG(a->str));
    }
}

static void check_regions(checker *c, const ir_op *op) {
    for (uint32_t r = 0; r < op->num_regions; r++) {
        if (!op->regions[r])
            FAIL(c, op, "expected %u regions", op->num_regions);
        else if (op->regions[r]->parent != op)
            FAIL(c, op, "a region does not know its op");
        else
            check_block(c, op->regions[r], op->range);
    }
    unsigned depth = 0;
    for (const ir_op *up = op->block->parent; up && op->num_regions; up = up->block->parent)
        depth++;
    if (depth >= IR_MAX_NESTING)
        FAIL(c, op, "nested more than %d deep", IR_MAX_NESTING);
}

static void check_structure(ir_op *op, void *ctx) {
    checker *c = ctx;
    const ir_op_info *info = ir_get_op_info(op->opcode);
    check_operands(c, op);
    check_attrs(c, op);
    if (info->num_results >= 0 && op->num_results != (uint32_t)info->num_results)
        FAIL(c, op, "expected %d results but got %u", info->num_results, op->num_results);
    for (uint32_t i = 0; i < op->num_results; i++) {
        const ir_value *v = op->results[i];
        if (v->def != op || v->block != op->block || v->index != i)
            FAIL(c, op, "a result does not know its op");
        check_value(c, v, op->range);
    }
    check_regions(c, op);
    if ((info->traits & TERMINATOR) && op->next)
        FAIL(c, op, "expected nothing after a terminator");
    const ir_op *parent = op->block->parent;
    bool plain = (info->traits & (ELEMENTWISE | TERMINATOR)) || op->opcode == OP_CONST;
    plain = plain && (op->num_results == 0 || !ir_is_tile(op->results[0]->type));
    if (parent && ir_has_trait(parent, ISOLATED) && !plain)
        FAIL(c, op,
             "expected only elementwise ops and constants, of scalars, in the region of "
             "'%s'",
             ir_get_op_info(parent->opcode)->name);
}

static void check_function(checker *c) {
    const ir_func *f = c->func;
    src_range at = f->range;
    if (!is_power_of_2(f->num_warps) || f->num_warps > 1u << LAYOUT_MAX_WARP_BITS)
        fail(c, at, "expected num_warps to be 1, 2, 4, 8, 16 or 32 but got %u", f->num_warps);
    if (!is_power_of_2(f->num_ctas) || f->num_ctas > 1u << LAYOUT_MAX_CTA_BITS)
        fail(c, at, "expected num_ctas to be 1, 2, 4, 8 or 16 but got %u", f->num_ctas);
    if (f->num_stages < 1 || f->num_stages > MAX_STAGES)
        fail(c, at, "expected num_stages from 1 to %d but got %u", MAX_STAGES, f->num_stages);
    if (f->maxnreg > MAX_REGISTERS)
        fail(c, at, "expected maxnreg up to %d but got %u", MAX_REGISTERS, f->maxnreg);
    if (c->failed)
        return;
    if (f->num_params != f->body->num_args)
        fail(c, at, "expected %u parameters but got %u", f->body->num_args, f->num_params);
    for (uint32_t i = 0; i < f->body->num_args; i++)
        if (ir_is_tile(f->body->args[i]->type))
            fail(c, at, "expected a scalar parameter but got %s",
                 ir_type_string(c->arena, f->body->args[i]->type));
    for (uint32_t i = 0; i < f->num_params; i++)
        if (!is_power_of_2(f->params[i].divisibility))
            fail(c, at, "expected a divisibility that is a power of 2 but got %u",
                 f->params[i].divisibility);
    check_block(c, f->body, at);
    if (f->body->last && f->body->last->opcode != OP_RETURN)
        fail(c, at, "expected the body to end in 'return'");
}

// --- round two: what each op wants of its types. A rule may take round one for granted.

static void want_type(checker *c, const ir_op *op, const char *what, const ir_value *v,
                      ir_type want) {
    if (v && !ir_type_equal(v->type, want))
        FAIL(c, op, "%s: expected %s but got %s", what, ir_type_string(c->arena, want),
             ir_type_string(c->arena, v->type));
}

static void want_operand(checker *c, const ir_op *op, uint32_t i, ir_type want) {
    want_type(c, op, operand_name(c, op, i), op->operands[i], want);
}

static void want_result(checker *c, const ir_op *op, ir_type want) {
    want_type(c, op, "result", op->results[0], want);
}

static void want_tile(checker *c, const ir_op *op, const char *what, const ir_value *v) {
    if (!ir_is_tile(v->type))
        FAIL(c, op, "%s: expected a tile but got %s", what, ir_type_string(c->arena, v->type));
}

static void want_kind(checker *c, const ir_op *op, const ir_value *v, bool ok, const char *kind) {
    if (!ok)
        FAIL(c, op, "expected %s but got %s", kind, ir_type_string(c->arena, v->type));
}

static const ir_attr *want_attr(checker *c, const ir_op *op, ir_attr_key key) {
    const ir_attr *a = ir_find_attr(op, key);
    if (!a)
        FAIL(c, op, "expected an attribute '%s'", ir_attr_name(key));
    return a;
}

static bool is_number(dtype t) { return dtype_is_int(t) || dtype_is_float(t); }
static bool is_int64(dtype t) { return t == DT_I64 || t == DT_U64; }

static void rule_none(checker *c, const ir_op *op) { (void)c, (void)op; }
static void rule_any(checker *c, const ir_op *op) { (void)c, (void)op; }

static void rule_const(checker *c, const ir_op *op) {
    dtype t = op->results[0]->type.elem;
    const ir_attr *value = want_attr(c, op, ATTR_VALUE);
    want_kind(c, op, op->results[0], is_number(t), "a number");
    if (value && dtype_bits(t) < 64 && (uint64_t)value->i >> dtype_bits(t))
        FAIL(c, op, "value: expected a bit pattern of %u bits", dtype_bits(t));
}

static void rule_arange(checker *c, const ir_op *op) {
    ir_type t = op->results[0]->type;
    const ir_attr *start = want_attr(c, op, ATTR_START);
    if (t.rank != 1 || t.elem != DT_I32)
        FAIL(c, op, "result: expected a 1-D tile of i32 but got %s", ir_type_string(c->arena, t));
    else if (start && (start->i < INT32_MIN || start->i > (int64_t)INT32_MAX + 1 - t.shape[0]))
        FAIL(c, op, "expected values that fit i32, but they start at %lld", (long long)start->i);
}

static void rule_splat(checker *c, const ir_op *op) {
    want_tile(c, op, "result", op->results[0]);
    want_operand(c, op, 0, ir_element_type(op->results[0]->type));
}

static void rule_program_id(checker *c, const ir_op *op) {
    const ir_attr *axis = want_attr(c, op, ATTR_AXIS);
    if (axis && (axis->i < 0 || axis->i > 2))
        FAIL(c, op, "expected axis 0, 1 or 2 but got %lld", (long long)axis->i);
    want_result(c, op, ir_scalar_type(DT_I32));
}

static void same_type(checker *c, const ir_op *op) {
    for (uint32_t i = 0; i < op->num_operands; i++)
        want_operand(c, op, i, op->results[0]->type);
}

static void rule_same(checker *c, const ir_op *op) {
    same_type(c, op);
    want_kind(c, op, op->results[0], is_number(op->results[0]->type.elem), "numbers");
}

static void rule_same_int(checker *c, const ir_op *op) {
    same_type(c, op);
    want_kind(c, op, op->results[0], dtype_is_int(op->results[0]->type.elem), "integers");
}

static void rule_same_float(checker *c, const ir_op *op) {
    same_type(c, op);
    want_kind(c, op, op->results[0], dtype_is_float(op->results[0]->type.elem), "floats");
}

static void rule_cmp(checker *c, const ir_op *op) {
    want_attr(c, op, ATTR_PRED);
    want_operand(c, op, 1, op->operands[0]->type);
    want_result(c, op, ir_type_with_elem(op->operands[0]->type, DT_I1));
}

static void rule_select(checker *c, const ir_op *op) {
    ir_type t = op->results[0]->type;
    want_operand(c, op, 0, ir_type_with_elem(t, DT_I1));
    want_operand(c, op, 1, t);
    want_operand(c, op, 2, t);
}

static void rule_cast(checker *c, const ir_op *op) {
    ir_type from = op->operands[0]->type, to = op->results[0]->type;
    bool numbers = is_number(from.elem) && is_number(to.elem);
    bool address =
        (ir_is_pointer(from) && is_int64(to.elem)) || (is_int64(from.elem) && ir_is_pointer(to));
    if (!numbers && !address)
        FAIL(c, op, "cannot cast %s to %s", ir_type_string(c->arena, from),
             ir_type_string(c->arena, to));
    if (ir_find_attr(op, ATTR_ROUND) && !(dtype_is_float(from.elem) && dtype_is_float(to.elem)))
        FAIL(c, op, "expected floats with attribute 'round'");
}

static void rule_bitcast(checker *c, const ir_op *op) {
    ir_type from = op->operands[0]->type, to = op->results[0]->type;
    if (dtype_bits(from.elem) != dtype_bits(to.elem) || ir_is_pointer(from) != ir_is_pointer(to))
        FAIL(c, op, "expected types of the same width but got %s and %s",
             ir_type_string(c->arena, from), ir_type_string(c->arena, to));
}

static void rule_addptr(checker *c, const ir_op *op) {
    want_kind(c, op, op->results[0], ir_is_pointer(op->results[0]->type), "a pointer");
    want_operand(c, op, 0, op->results[0]->type);
    want_kind(c, op, op->operands[1], dtype_is_int(op->operands[1]->type.elem),
              "an integer offset");
}

static void rule_hint(checker *c, const ir_op *op) {
    ir_type t = op->results[0]->type;
    want_operand(c, op, 0, t);
    want_kind(c, op, op->results[0], dtype_is_int(t.elem) || ir_is_pointer(t),
              "integers or pointers");
    for (uint32_t i = 0; i < op->num_attrs; i++) {
        const ir_attr *a = &op->attrs[i];
        if (a->num_ints != (t.rank ? t.rank : 1))
            FAIL(c, op, "%s: expected one number per dimension", ir_attr_name(a->key));
        for (uint32_t k = 0; k < a->num_ints; k++)
            if (a->ints[k] < 1)
                FAIL(c, op, "%s: expected positive numbers but got %lld", ir_attr_name(a->key),
                     (long long)a->ints[k]);
    }
}

static void rule_assume(checker *c, const ir_op *op) {
    want_operand(c, op, 0, ir_type_with_elem(op->operands[0]->type, DT_I1));
}

static bool want_same_element(checker *c, const ir_op *op) {
    ir_type from = op->operands[0]->type, to = op->results[0]->type;
    want_tile(c, op, "result", op->results[0]);
    want_tile(c, op, operand_name(c, op, 0), op->operands[0]);
    if (ir_type_equal(ir_element_type(from), ir_element_type(to)))
        return ir_is_tile(from) && ir_is_tile(to);
    FAIL(c, op, "expected the element type to stay but got %s from %s",
         ir_type_string(c->arena, to), ir_type_string(c->arena, from));
    return false;
}

static void want_layout(checker *c, const ir_op *op, const ir_value *v, const layout *want) {
    if (v->layout && !layout_equal(v->layout, want)) {
        strbuf s;
        strbuf_init(&s, c->arena);
        layout_print(want, &s);
        strbuf_puts(&s, " but got ");
        layout_print(v->layout, &s);
        FAIL(c, op, "expected layout %s", s.data);
    }
}

static void rule_special(checker *c, const ir_op *op) {
    want_result(c, op, ir_scalar_type(op->opcode == OP_SMID ? DT_I32 : DT_I64));
}

static void rule_asm(checker *c, const ir_op *op) {
    const char *problem = asm_check(c->arena, op);
    if (problem)
        FAIL(c, op, "%s", problem);
    for (uint32_t i = 0; !problem && i < op->num_results + op->num_operands; i++)
        want_layout(c, op, i < op->num_results ? op->results[i] : op->operands[i - op->num_results],
                    op->results[0]->layout);
}

static void rule_reshape(checker *c, const ir_op *op) {
    const ir_value *x = op->operands[0], *y = op->results[0];
    if (!want_same_element(c, op))
        return;
    if (ir_type_elements(x->type) != ir_type_elements(y->type))
        FAIL(c, op, "expected as many elements as in %s but got %s",
             ir_type_string(c->arena, x->type), ir_type_string(c->arena, y->type));
    else if (x->layout && y->layout)
        want_layout(c, op, y, x->layout);
}

static void rule_broadcast(checker *c, const ir_op *op) {
    const ir_value *x = op->operands[0], *y = op->results[0];
    if (!want_same_element(c, op))
        return;
    bool fits = x->type.rank == y->type.rank;
    for (unsigned i = 0; fits && i < x->type.rank; i++)
        fits = x->type.shape[i] == y->type.shape[i] || x->type.shape[i] == 1;
    if (!fits) {
        FAIL(c, op, "cannot broadcast %s to %s", ir_type_string(c->arena, x->type),
             ir_type_string(c->arena, y->type));
    } else if (x->layout && y->layout) {
        layout l = layout_broadcast_source(y->layout, x->type.shape, y->type.shape, x->type.rank);
        want_layout(c, op, x, &l);
    }
}

static void rule_permute(checker *c, const ir_op *op) {
    const ir_value *x = op->operands[0], *y = op->results[0];
    const ir_attr *order = want_attr(c, op, ATTR_ORDER);
    if (!want_same_element(c, op) || !order)
        return;
    uint8_t dims[IR_MAX_RANK];
    unsigned seen = 0;
    bool ok = order->num_ints == x->type.rank && x->type.rank == y->type.rank;
    for (unsigned i = 0; ok && i < x->type.rank; i++) {
        int64_t d = order->ints[i];
        ok = d >= 0 && d < x->type.rank && !(seen >> d & 1);
        if (!ok)
            break;
        seen |= 1u << d;
        dims[i] = (uint8_t)d;
        ok = y->type.shape[i] == x->type.shape[d];
    }
    if (!ok) {
        FAIL(c, op, "expected order to permute %s into %s", ir_type_string(c->arena, x->type),
             ir_type_string(c->arena, y->type));
    } else if (x->layout && y->layout) {
        layout l = layout_permute(x->layout, x->type.shape, x->type.rank, dims);
        want_layout(c, op, y, &l);
    }
}

static void rule_join(checker *c, const ir_op *op) {
    const ir_value *a = op->operands[0], *y = op->results[0];
    want_operand(c, op, 1, a->type);
    if (!want_same_element(c, op))
        return;
    ir_type t = a->type;
    if (t.rank == IR_MAX_RANK) {
        FAIL(c, op, "expected at most %d dimensions but got %s", IR_MAX_RANK - 1,
             ir_type_string(c->arena, t));
        return;
    }
    t.shape[t.rank++] = 2;
    want_result(c, op, t);
    if (!ir_type_equal(y->type, t) || !y->layout || !a->layout)
        return;
    layout l = layout_join_source(y->layout);
    for (uint32_t i = 0; i < 2; i++)
        want_layout(c, op, op->operands[i], &l);
}

static void rule_half(checker *c, const ir_op *op) {
    const ir_value *x = op->operands[0], *y = op->results[0];
    const ir_attr *index = want_attr(c, op, ATTR_INDEX);
    if (!want_same_element(c, op) || !index)
        return;
    ir_type t = x->type;
    if (index->i < 0 || index->i > 1)
        FAIL(c, op, "expected index 0 or 1 but got %lld", (long long)index->i);
    if (t.rank < 2 || t.shape[t.rank - 1] != 2) {
        FAIL(c, op, "expected two dimensions or more, the last of extent 2, but got %s",
             ir_type_string(c->arena, t));
        return;
    }
    t.shape[--t.rank] = 0;
    want_result(c, op, t);
    if (!ir_type_equal(y->type, t) || !x->layout || !y->layout)
        return;
    layout l = layout_join(y->layout);
    want_layout(c, op, x, &l);
}

static void rule_flip(checker *c, const ir_op *op) {
    const ir_value *x = op->operands[0], *y = op->results[0];
    const ir_attr *axis = want_attr(c, op, ATTR_AXIS);
    want_result(c, op, x->type);
    want_tile(c, op, "x", x);
    if (axis && (axis->i < 0 || axis->i >= x->type.rank))
        FAIL(c, op, "expected an axis of %s but got %lld", ir_type_string(c->arena, x->type),
             (long long)axis->i);
    if (x->layout && y->layout)
        want_layout(c, op, y, x->layout);
}

static void rule_convert_layout(checker *c, const ir_op *op) {
    want_operand(c, op, 0, op->results[0]->type);
    want_tile(c, op, "result", op->results[0]);
    if (!op->operands[0]->layout || !op->results[0]->layout)
        FAIL(c, op, "expected a layout on both sides");
}

// Values on two sides of an edge of control flow: same number, types and layouts.
static void want_values(checker *c, const ir_op *op, const char *what, ir_value *const *got,
                        uint32_t num_got, ir_value *const *want, uint32_t num_want) {
    if (num_got != num_want) {
        FAIL(c, op, "%s: expected %u values but got %u", what, num_want, num_got);
        return;
    }
    for (uint32_t i = 0; i < num_got; i++) {
        want_type(c, op, what, got[i], want[i]->type);
        if (got[i]->layout && want[i]->layout)
            want_layout(c, op, got[i], want[i]->layout);
    }
}

// The terminator of region r, if it is of the kind wanted.
static const ir_op *want_end(checker *c, const ir_op *op, uint32_t r, ir_opcode kind) {
    const ir_op *end = op->regions[r]->last;
    if (end->opcode == kind)
        return end;
    FAIL(c, op, "expected its region to end in '%s' but got '%s'", ir_get_op_info(kind)->name,
         ir_get_op_info(end->opcode)->name);
    return NULL;
}

// What reduce and scan share. A scan keeps the axis, and the layout with it.
static void check_fold(checker *c, const ir_op *op, bool keeps_axis) {
    const ir_block *b = op->regions[0];
    const ir_op *end = want_end(c, op, 0, OP_YIELD);
    const ir_attr *axis = want_attr(c, op, ATTR_AXIS);
    uint32_t n = op->num_operands;
    if (n == 0 || n != op->num_results || b->num_args != 2 * n) {
        FAIL(c, op, "expected n tiles, n results and 2n region arguments");
        return;
    }
    ir_type first = op->operands[0]->type;
    if (!end || !axis)
        return;
    if (axis->i < 0 || axis->i >= first.rank) {
        FAIL(c, op, "expected an axis of %s but got %lld", ir_type_string(c->arena, first),
             (long long)axis->i);
        return;
    }
    if (end->num_operands != n)
        FAIL(c, op, "expected its region to yield %u values but got %u", n, end->num_operands);
    uint32_t shape[IR_MAX_RANK];
    unsigned rank = 0;
    for (unsigned d = 0; d < first.rank; d++)
        if (keeps_axis || d != (unsigned)axis->i)
            shape[rank++] = first.shape[d];
    for (uint32_t i = 0; i < n; i++) {
        const ir_value *x = op->operands[i];
        ir_type elem = ir_element_type(x->type);
        want_type(c, op, "operand", x, ir_tile_type(elem, first.shape, first.rank));
        want_type(c, op, "result", op->results[i], ir_tile_type(elem, shape, rank));
        want_type(c, op, "region argument", b->args[i], elem);
        want_type(c, op, "region argument", b->args[n + i], elem);
        if (i < end->num_operands)
            want_type(c, op, "yielded value", end->operands[i], elem);
        if (c->failed || !x->layout)
            continue;
        want_layout(c, op, x, op->operands[0]->layout);
        layout l = *x->layout;
        if (!keeps_axis)
            l = layout_reduce_result(x->layout, first.shape, first.rank, (unsigned)axis->i);
        want_layout(c, op, op->results[i], &l);
    }
}

static void rule_reduce(checker *c, const ir_op *op) { check_fold(c, op, false); }

static void rule_scan(checker *c, const ir_op *op) { check_fold(c, op, true); }

// The index has the shape of x but for the axis, and the result that of the index.
static void rule_gather(checker *c, const ir_op *op) {
    const ir_value *x = op->operands[0], *index = op->operands[1], *y = op->results[0];
    const ir_attr *axis = want_attr(c, op, ATTR_AXIS);
    want_tile(c, op, "x", x);
    want_kind(c, op, index, dtype_is_int(index->type.elem), "integers");
    if (!axis)
        return;
    if (axis->i < 0 || axis->i >= x->type.rank) {
        FAIL(c, op, "expected an axis of %s but got %lld", ir_type_string(c->arena, x->type),
             (long long)axis->i);
        return;
    }
    ir_type shape = x->type;
    if (index->type.rank == shape.rank)
        shape.shape[axis->i] = index->type.shape[axis->i];
    want_operand(c, op, 1, ir_tile_type(ir_element_type(index->type), shape.shape, shape.rank));
    want_result(c, op, shape);
    if (index->layout && y->layout)
        want_layout(c, op, y, index->layout);
}

static void rule_histogram(checker *c, const ir_op *op) {
    const ir_value *x = op->operands[0], *mask = op->operands[1], *y = op->results[0];
    want_kind(c, op, x, x->type.rank == 1 && dtype_is_int(x->type.elem), "a 1-D tile of integers");
    want_kind(c, op, y, y->type.rank == 1 && y->type.elem == DT_I32, "a 1-D tile of i32");
    want_operand(c, op, 1, ir_type_with_elem(x->type, DT_I1));
    if (x->layout && mask->layout)
        want_layout(c, op, mask, x->layout);
}

// What memory ops and assert share: tiles of one shape and layout, an i1 mask.
static void want_one_shape(checker *c, const ir_op *op) {
    const ir_value *first = op->operands[0];
    for (uint32_t i = 1; i < op->num_operands + op->num_results; i++) {
        const ir_value *v =
            i < op->num_operands ? op->operands[i] : op->results[i - op->num_operands];
        if (!v)
            continue;
        if (!ir_shape_equal(v->type, first->type))
            FAIL(c, op, "expected the shape of %s but got %s",
                 ir_type_string(c->arena, first->type), ir_type_string(c->arena, v->type));
        else if (first->layout && v->layout)
            want_layout(c, op, v, first->layout);
    }
}

static void want_mask(checker *c, const ir_op *op, uint32_t i) {
    want_operand(c, op, i, ir_type_with_elem(op->operands[0]->type, DT_I1));
}

// Checks the pointer, operand 0; gives the type of what it points to, in its shape.
static ir_type want_pointer(checker *c, const ir_op *op, bool writes) {
    ir_type t = op->operands[0]->type;
    want_kind(c, op, op->operands[0], ir_is_pointer(t), "a pointer");
    if (writes && t.pointer_const)
        FAIL(c, op, "expected a pointer to write through but got %s", ir_type_string(c->arena, t));
    return ir_is_pointer(t) ? ir_type_with_elem(t, t.pointee) : t;
}

/// At most one of cache, evict and volatile: PTX has no instruction for two of them.
static void want_one_hint(checker *c, const ir_op *op, const char *cache_words) {
    const ir_attr *cache = ir_find_attr(op, ATTR_CACHE);
    if (cache && !has_word(cache_words, cache->str))
        FAIL(c, op, "cache: expected one of %s", cache_words);
    if ((cache != NULL) + (ir_find_attr(op, ATTR_EVICT) != NULL) + ir_get_flag(op, ATTR_VOLATILE) >
        1)
        FAIL(c, op, "cache, evict and volatile exclude each other");
}

static void rule_load(checker *c, const ir_op *op) {
    ir_type t = want_pointer(c, op, false);
    want_one_hint(c, op, "ca cg cs cv");
    want_one_shape(c, op);
    want_mask(c, op, 1);
    want_operand(c, op, 2, t);
    want_result(c, op, t);
    if (op->operands[2] && !op->operands[1])
        FAIL(c, op, "expected a mask with other");
}

/// An attribute that must be there, in a range.
static void want_int(checker *c, const ir_op *op, ir_attr_key key, int64_t least, int64_t most) {
    int64_t v = ir_get_int(op, key, least - 1);
    if (v < least || v > most)
        FAIL(c, op, "expected %s from %lld to %lld", ir_attr_name(key), (long long)least,
             (long long)most);
}

// Async copies are made when layouts are there, and no pass gives them any.
static void want_own_layout(checker *c, const ir_op *op, const ir_value *v) {
    if (ir_is_tile(v->type) && !v->layout)
        FAIL(c, op, "expected a tile with a layout");
}

static void rule_async_copy(checker *c, const ir_op *op) {
    want_own_layout(c, op, op->operands[0]);
    want_pointer(c, op, false);
    want_operand(c, op, 1, ir_scalar_type(DT_I32));
    want_mask(c, op, 2);
    want_int(c, op, ATTR_BUFFER, 0, INT32_MAX);
    want_int(c, op, ATTR_SLOTS, 1, MAX_STAGES);
    if (!ir_is_tile(op->operands[0]->type))
        FAIL(c, op, "expected a tile of pointers");
    if (op->operands[2] && op->operands[0]->layout && op->operands[2]->layout)
        want_layout(c, op, op->operands[2], op->operands[0]->layout);
}

static void rule_async_wait(checker *c, const ir_op *op) {
    want_int(c, op, ATTR_PENDING, 0, MAX_STAGES);
}

static void rule_async_read(checker *c, const ir_op *op) {
    want_operand(c, op, 0, ir_scalar_type(DT_I32));
    want_int(c, op, ATTR_BUFFER, 0, INT32_MAX);
    if (!ir_is_tile(op->results[0]->type) || ir_is_pointer(op->results[0]->type))
        FAIL(c, op, "expected a tile of numbers");
    want_own_layout(c, op, op->results[0]);
}

static void rule_store(checker *c, const ir_op *op) {
    want_one_hint(c, op, "wb cg cs wt");
    want_operand(c, op, 1, want_pointer(c, op, true));
    want_one_shape(c, op);
    want_mask(c, op, 2);
}

static void rule_atomic_rmw(checker *c, const ir_op *op) {
    ir_type t = want_pointer(c, op, true);
    want_operand(c, op, 1, t);
    want_result(c, op, t);
    want_one_shape(c, op);
    want_mask(c, op, 2);
    const ir_attr *kind = want_attr(c, op, ATTR_KIND);
    if (!kind)
        return;
    bool word = dtype_bits(t.elem) == 32 || dtype_bits(t.elem) == 64;
    bool ok = word && dtype_is_int(t.elem);
    if (sv_is(kind->str, "fadd"))
        ok = dtype_is_float(t.elem) && dtype_bits(t.elem) >= 16;
    else if (has_word("max min xchg", kind->str))
        ok = word;
    if (!ok)
        FAIL(c, op, "cannot %" SV_FMT " %s", SV_ARG(kind->str), ir_type_string(c->arena, t));
}

static void rule_atomic_cas(checker *c, const ir_op *op) {
    ir_type t = want_pointer(c, op, true);
    want_operand(c, op, 1, t);
    want_operand(c, op, 2, t);
    want_result(c, op, t);
    want_one_shape(c, op);
    want_kind(c, op, op->results[0], dtype_bits(t.elem) >= 16, "values of 16, 32 or 64 bits");
}

static void rule_assert(checker *c, const ir_op *op) {
    want_mask(c, op, 0);
    want_mask(c, op, 1);
    want_one_shape(c, op);
}

static void rule_for(checker *c, const ir_op *op) {
    const ir_block *b = op->regions[0];
    const ir_op *end = want_end(c, op, 0, OP_YIELD);
    ir_type iv = op->operands[0]->type;
    if (ir_is_tile(iv) || !dtype_is_int(iv.elem))
        FAIL(c, op, "lo: expected an integer but got %s", ir_type_string(c->arena, iv));
    want_operand(c, op, 1, iv);
    want_operand(c, op, 2, iv);
    if (b->num_args == 0) {
        FAIL(c, op, "expected a region with the induction variable");
        return;
    }
    want_type(c, op, "induction variable", b->args[0], iv);
    ir_value **inits = op->operands + 3;
    uint32_t n = op->num_operands - 3;
    want_values(c, op, "region arguments", b->args + 1, b->num_args - 1, inits, n);
    want_values(c, op, "results", op->results, op->num_results, inits, n);
    if (end)
        want_values(c, op, "yielded values", end->operands, end->num_operands, inits, n);
    int64_t stages = ir_get_int(op, ATTR_NUM_STAGES, 1);
    if (stages < 0 || stages > MAX_STAGES)
        FAIL(c, op, "expected num_stages from 0 to %d but got %lld", MAX_STAGES, (long long)stages);
    int64_t factor = ir_get_int(op, ATTR_UNROLL_FACTOR, 1);
    if (factor < 1 || factor > MAX_UNROLL_FACTOR)
        FAIL(c, op, "expected unroll_factor from 1 to %d but got %lld", MAX_UNROLL_FACTOR,
             (long long)factor);
}

static void rule_while(checker *c, const ir_op *op) {
    const ir_block *before = op->regions[0], *body = op->regions[1];
    const ir_op *test = want_end(c, op, 0, OP_CONDITION), *end = want_end(c, op, 1, OP_YIELD);
    want_values(c, op, "arguments of region 0", before->args, before->num_args, op->operands,
                op->num_operands);
    if (!test || !end)
        return;
    want_values(c, op, "arguments of region 1", body->args, body->num_args, test->operands + 1,
                test->num_operands - 1);
    want_values(c, op, "results", op->results, op->num_results, test->operands + 1,
                test->num_operands - 1);
    want_values(c, op, "yielded values", end->operands, end->num_operands, op->operands,
                op->num_operands);
}

/// Warps may go through the regions of an `if` with a part apart from each other.
static void want_apart(checker *c, const ir_op *op) {
    if (!ir_is_limit(op->operands[1]))
        FAIL(c, op, "expected 'arange < splat' as its part");
    for (uint32_t r = 0; r < 2; r++)
        for (const ir_op *in = op->regions[r]->first; in; in = in->next)
            if (!ir_has_trait(in, ELEMENTWISE | TERMINATOR) && in->opcode != OP_CONST &&
                in->opcode != OP_SPLAT && in->opcode != OP_ARANGE && in->opcode != OP_STORE)
                FAIL(c, in, "expected elementwise ops and stores in an 'if' with a part");
}

static void rule_if(checker *c, const ir_op *op) {
    want_operand(c, op, 0, ir_scalar_type(DT_I1));
    if (op->operands[1])
        want_apart(c, op);
    for (uint32_t r = 0; r < 2; r++) {
        const ir_op *end = want_end(c, op, r, OP_YIELD);
        if (op->regions[r]->num_args)
            FAIL(c, op, "expected regions without arguments");
        if (end)
            want_values(c, op, "yielded values", end->operands, end->num_operands, op->results,
                        op->num_results);
    }
}

// That a region ends in the right terminator is checked by its op's rule; here the other way round.
static void rule_yield(checker *c, const ir_op *op) {
    if (!op->block->parent)
        FAIL(c, op, "expected to be in a region");
}

static void rule_condition(checker *c, const ir_op *op) {
    want_operand(c, op, 0, ir_scalar_type(DT_I1));
    if (!op->block->parent || op->block->parent->opcode != OP_WHILE)
        FAIL(c, op, "expected to be in a 'while'");
}

static void rule_return(checker *c, const ir_op *op) {
    if (op->block->parent)
        FAIL(c, op, "expected to be at the end of the function's body");
}

typedef void rule_fn(checker *c, const ir_op *op);

static rule_fn *const rules[IR_OPCODE_COUNT] = {
#define OP(id, name, operands, results, regions, traits, rule, attrs, doc) [id] = rule_##rule,
#include "ir/ops.def"
#undef OP
};

// Elementwise: one shape and one layout for all.
static void check_elementwise(checker *c, const ir_op *op) {
    const ir_value *y = op->results[0];
    for (uint32_t i = 0; i < op->num_operands; i++) {
        const ir_value *x = op->operands[i];
        if (!ir_shape_equal(x->type, y->type))
            FAIL(c, op, "%s: expected the shape of %s but got %s", operand_name(c, op, i),
                 ir_type_string(c->arena, y->type), ir_type_string(c->arena, x->type));
        else if (x->layout && y->layout)
            want_layout(c, op, x, y->layout);
    }
}

static void check_rule(ir_op *op, void *ctx) {
    if (ir_has_trait(op, ELEMENTWISE))
        check_elementwise(ctx, op);
    rules[op->opcode](ctx, op);
}

bool ir_verify(const ir_func *f, const char *where) {
    checker c = {.func = f, .arena = f->module->arena, .where = where};
    ir_number_values((ir_func *)f); // ids are scratch
    check_function(&c);
    if (c.failed)
        return false;
    ir_walk(f->body, check_structure, &c);
    if (!c.failed && c.with_layout && c.without_layout)
        fail(&c, f->range, "expected every tile to have a layout, but %u of %u have none",
             c.without_layout, c.with_layout + c.without_layout);
    if (!c.failed)
        ir_walk(f->body, check_rule, &c);
    return !c.failed;
}
