// Loops that ask for it (unroll_factor = U) do U iterations at a time, and what is left over one by
// one, with the same results:
//
//   bulk: for iv = lo, (more ? first : hi), U * step     body(iv); body(iv + step); ...
//   rest: for iv = first, (more ? hi : first), step      body(iv), carried on from bulk's results
//
// first is U * step times a whole number from lo, so that the rest is as well aligned as the bulk;
// more says that iterations are left over. Loops count in any integer type and in both directions:
// where none is left, first may have wrapped around and nothing compares it. A loop whose U * step
// does not fit into the type stays as it is; if step is known at run time only, all its iterations
// are rest then. Inner loops come first.
#include "ir/passes.h"

enum { MAX_OPS = 100000 }; ///< of a function with its loops unrolled

// --- copies of a body

typedef struct copier {
    ir_func *func;
    /// By id of a value inside the loop: what stands for it in the copy. Values made outside of it
    /// since the last numbering have id 0, which is no value inside a loop.
    ir_value **map;
    uint64_t ops; ///< of the function, what this pass adds included
} copier;

static void copy_op(copier *c, ir_builder *b, const ir_op *op);

static ir_value *mapped(const copier *c, ir_value *v) {
    v = ir_resolve(v);
    return v && c->map[v->id] ? c->map[v->id] : v;
}

/// A block with the same arguments and ops, the terminator too.
static ir_block *copy_block(copier *c, const ir_block *from, ir_op *parent) {
    ir_block *to = ir_block_create(c->func, parent);
    for (uint32_t i = 0; i < from->num_args; i++)
        c->map[from->args[i]->id] = ir_add_block_arg(to, from->args[i]->type, from->args[i]->name);
    ir_builder b = {.func = c->func, .block = to};
    for (const ir_op *op = from->first; op; op = op->next)
        copy_op(c, &b, op);
    return to;
}

// Depth is bounded by IR_MAX_NESTING.
static void copy_op(copier *c, ir_builder *b, const ir_op *op) {
    arena *a = c->func->module->arena;
    ir_value **operands = ARENA_ARRAY(a, ir_value *, op->num_operands + 1);
    ir_type *types = ARENA_ARRAY(a, ir_type, op->num_results + 1);
    for (uint32_t i = 0; i < op->num_operands; i++)
        operands[i] = mapped(c, op->operands[i]);
    for (uint32_t i = 0; i < op->num_results; i++)
        types[i] = op->results[i]->type;
    b->range = op->range;
    ir_op *copy = ir_create(b, op->opcode, operands, op->num_operands, types, op->num_results);
    copy->attrs = op->attrs; // lists may be shared, see ir.c
    copy->num_attrs = op->num_attrs;
    for (uint32_t i = 0; i < op->num_regions; i++)
        copy->regions[i] = copy_block(c, op->regions[i], copy);
    for (uint32_t i = 0; i < op->num_results; i++) {
        copy->results[i]->name = op->results[i]->name;
        c->map[op->results[i]->id] = copy->results[i];
    }
}

// --- where the bulk ends

typedef struct bounds {
    ir_value *lo, *hi, *step;
    dtype type, counter; ///< of the induction variable, and unsigned of its width
    int64_t known_step;  ///< 0: known at run time only
    int64_t factor;
} bounds;

static dtype unsigned_of(dtype t) {
    static const dtype by_bytes[] = {[1] = DT_U8, [2] = DT_U16, [4] = DT_U32, [8] = DT_U64};
    return by_bytes[dtype_bytes(t)];
}

/// The largest value of the type that an int64 holds.
static int64_t largest(dtype t) {
    unsigned bits = dtype_bits(t) - dtype_is_signed(t);
    return bits >= 63 ? INT64_MAX : ((int64_t)1 << bits) - 1;
}

/// Whether the factor, and the step times the factor, are values of the type.
static bool fits(const bounds *b) {
    int64_t most = largest(b->type), step = b->known_step;
    if (b->factor > most || step == INT64_MIN || (!dtype_is_signed(b->type) && step < 0))
        return false; // an unsigned step above INT64_MAX is negative here
    return (step < 0 ? -step : step) <= most / b->factor;
}

typedef struct split {
    ir_value *first; ///< induction variable where the rest begins, if it runs at all
    ir_value *more;  ///< i1: it does
} split;

static split split_loop(ir_builder *at, const bounds *b, ir_value *size) {
    ir_type counter = ir_scalar_type(b->counter);
    bool down = b->known_step < 0;
    ir_value *span = ir_binary(at, OP_SUB, down ? b->lo : b->hi, down ? b->hi : b->lo);
    ir_value *one = ir_const_int(at, counter, 1);
    ir_value *last = ir_binary(at, OP_SUB, ir_cast(at, span, b->counter), one);
    ir_value *count = ir_binary(at, OP_ADD, ir_binary(at, OP_DIV, last, size), one);
    ir_value *left = ir_binary(at, OP_REM, count, ir_const_int(at, counter, b->factor));
    ir_value *whole = ir_binary(at, OP_SUB, count, left);
    ir_value *distance = ir_cast(at, ir_binary(at, OP_MUL, whole, size), b->type);
    ir_value *runs = ir_cmp(at, down ? "gt" : "lt", b->lo, b->hi);
    return (split){
        .first = ir_binary(at, down ? OP_SUB : OP_ADD, b->lo, distance),
        .more = ir_binary(at, OP_AND, runs, ir_cmp(at, "ne", left, ir_const_int(at, counter, 0))),
    };
}

static split build_split(ir_builder *at, const bounds *b) {
    int64_t step = b->known_step;
    if (step)
        return split_loop(at, b,
                          ir_const_int(at, ir_scalar_type(b->counter), step < 0 ? -step : step));
    ir_type type = ir_scalar_type(b->type);
    ir_value *most = ir_const_int(at, type, largest(b->type) / b->factor);
    ir_value *is_positive = ir_cmp(at, "gt", b->step, ir_const_int(at, type, 0));
    ir_value *can = ir_binary(at, OP_AND, is_positive, ir_cmp(at, "le", b->step, most));
    ir_value *size = ir_select(at, can, b->step, ir_const_int(at, type, 1));
    split s = split_loop(at, b, ir_cast(at, size, b->counter));
    s.first = ir_select(at, can, s.first, b->lo);
    s.more = ir_select(at, can, s.more, ir_const_int(at, ir_scalar_type(DT_I1), 1));
    return s;
}

// --- the two loops

static ir_op *create_for(ir_builder *at, const ir_op *like, ir_value *const range[3],
                         ir_value *const *inits) {
    arena *a = at->func->module->arena;
    uint32_t n = like->num_results;
    ir_value **operands = ARENA_ARRAY(a, ir_value *, n + 3);
    ir_type *types = ARENA_ARRAY(a, ir_type, n + 1);
    for (uint32_t i = 0; i < 3; i++)
        operands[i] = range[i];
    for (uint32_t i = 0; i < n; i++) {
        operands[3 + i] = inits[i];
        types[i] = like->results[i]->type;
    }
    ir_op *op = ir_create(at, OP_FOR, operands, n + 3, types, n);
    for (uint32_t i = 0; i < n; i++)
        op->results[i]->name = like->results[i]->name;
    return op;
}

/// Adds one more iteration to `to`. `values`: the carried ones, before it and then after it.
static void add_iteration(copier *c, ir_block *to, const ir_block *body, ir_value *iv,
                          ir_value **values) {
    ir_builder b = {.func = c->func, .block = to};
    c->map[body->args[0]->id] = iv;
    for (uint32_t i = 1; i < body->num_args; i++)
        c->map[body->args[i]->id] = values[i - 1];
    for (const ir_op *op = body->first; op != body->last; op = op->next)
        copy_op(c, &b, op);
    for (uint32_t i = 0; i < body->last->num_operands; i++)
        values[i] = mapped(c, body->last->operands[i]);
}

static void build_bulk_body(copier *c, ir_op *loop, const ir_op *from, const bounds *bound) {
    const ir_block *body = from->regions[0];
    ir_block *to = loop->regions[0] = ir_block_create(c->func, loop);
    ir_value **values = ARENA_ARRAY(c->func->module->arena, ir_value *, body->num_args);
    ir_value *iv = ir_add_block_arg(to, body->args[0]->type, body->args[0]->name);
    for (uint32_t i = 1; i < body->num_args; i++)
        values[i - 1] = ir_add_block_arg(to, body->args[i]->type, body->args[i]->name);
    for (int64_t k = 0; k < bound->factor; k++) {
        ir_builder b = {c->func, to, NULL, from->range};
        if (k)
            iv = ir_binary(&b, OP_ADD, iv, bound->step);
        add_iteration(c, to, body, iv, values);
    }
    ir_builder b = {c->func, to, NULL, body->last->range};
    ir_yield(&b, values, body->num_args - 1);
}

/// How many ops are in a block and the regions in it.
static uint64_t count_ops(const ir_block *b) {
    uint64_t n = 0;
    for (const ir_op *op = b->first; op; op = op->next) {
        n++;
        for (uint32_t i = 0; i < op->num_regions; i++)
            n += count_ops(op->regions[i]);
    }
    return n;
}

static bool allow_growth(copier *c, const ir_op *op, int64_t factor) {
    uint64_t ops = c->ops + (uint64_t)factor * count_ops(op->regions[0]);
    if (ops > MAX_OPS) {
        diag_error(c->func->module->diag, op->range,
                   "with this loop unrolled %lld times the kernel has about %llu operations; the "
                   "limit is %d",
                   (long long)factor, (unsigned long long)ops, MAX_OPS);
        return false;
    }
    c->ops = ops;
    return true;
}

static bool unroll(copier *c, ir_op *op, int64_t factor) {
    for (uint32_t i = 0; i < op->num_operands; i++)
        op->operands[i] = ir_resolve(op->operands[i]);
    bounds b = {.lo = op->operands[0], .hi = op->operands[1], .step = op->operands[2]};
    b.type = b.lo->type.elem;
    b.counter = unsigned_of(b.type);
    b.factor = factor;
    bool runs_nothing = ir_is_const_int(b.step, &b.known_step) && b.known_step == 0;
    if (runs_nothing || !fits(&b) || !allow_growth(c, op, factor))
        return false;
    ir_builder at = {c->func, op->block, op, op->range};
    split s = build_split(&at, &b);
    ir_value *stride = ir_const_int(&at, b.step->type, b.known_step * factor);
    if (!b.known_step)
        stride = ir_binary(&at, OP_MUL, b.step, ir_const_int(&at, b.step->type, factor));
    ir_value *bulk_end = ir_select(&at, s.more, s.first, b.hi);
    ir_value *rest_end = ir_select(&at, s.more, b.hi, s.first);
    ir_op *bulk = create_for(&at, op, (ir_value *[]){b.lo, bulk_end, stride}, op->operands + 3);
    const ir_attr *stages = ir_find_attr(op, ATTR_NUM_STAGES);
    if (stages)
        ir_set_int(bulk, ATTR_NUM_STAGES, stages->i);
    build_bulk_body(c, bulk, op, &b);
    ir_op *rest = create_for(&at, op, (ir_value *[]){s.first, rest_end, b.step}, bulk->results);
    ir_set_int(rest, ATTR_NUM_STAGES, 1); // too short for a pipeline
    rest->regions[0] = op->regions[0];
    rest->regions[0]->parent = rest;
    for (uint32_t i = 0; i < op->num_results; i++)
        ir_replace(op->results[i], rest->results[i]);
    ir_remove(op);
    return true;
}

// --- the pass

static void number(copier *c) {
    c->map = ARENA_ARRAY(c->func->module->arena, ir_value *, ir_number_values(c->func) + 1);
}

// Depth is bounded by IR_MAX_NESTING.
static bool visit(copier *c, ir_block *b) {
    bool changed = false;
    for (ir_op *op = b->first, *next; op; op = next) {
        next = op->next;
        bool inside = false;
        for (uint32_t i = 0; i < op->num_regions; i++)
            inside |= visit(c, op->regions[i]);
        changed |= inside;
        int64_t factor = ir_get_int(op, ATTR_UNROLL_FACTOR, 1);
        if (op->opcode != OP_FOR || factor <= 1 || diag_is_full(c->func->module->diag))
            continue;
        if (inside || !c->map)
            number(c);
        changed |= unroll(c, op, factor);
    }
    return changed;
}

bool pass_unroll(ir_func *f) {
    copier c = {.func = f, .ops = count_ops(f->body)};
    bool changed = visit(&c, f->body);
    if (changed)
        ir_apply_replacements(f);
    return changed;
}
