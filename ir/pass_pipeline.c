// Software pipelining. In a loop for which the author asks for stages (`tl.range(..., num_stages=2)`
// or more) the loads of the next iteration are issued before the work of this one, so that the
// memory is busy while the program computes:
//
//     for i: x = load p(i); work(x)    becomes    x = load p(lo)
//                                                 for i, x: y = if i is not the last: load p(i + step)
//                                                           work(x); yield y
//
// A load takes part if its address, mask and `other` are cheap code of the loop's variable and of
// what does not change in the loop: that code is made again for the iteration to come. What comes
// through memory or is carried around the loop is not known early.
//
// A load must not overtake a store that writes what it reads. Behind a `*const` nothing is written.
// Of other pointers the program finds out as it runs: where the bytes that this iteration has stored
// meet those that were loaded early, the loads are made again (pipeline_span.c). Where that cannot be
// asked - of stores in inner regions, atomics, addresses that were looked up - the load stays.
//
// The pass runs after layouts are there, and copies them: what is loaded early lies as it lay before.
#include "ir/axis_info.h"
#include "ir/cleanup.h"
#include "ir/passes.h"
#include "ir/pipeline_span.h"

enum {
    MAX_SLICE = 64, ///< ops that the addresses of a loop's loads may take
    MAX_LOADS = 16, ///< of a loop that take part
    MAX_STORES = 4, ///< that are compared with them
};

typedef struct pipeline {
    ir_func *func;
    ir_op *loop;
    ir_block *body;
    const axis_analysis *axis;
    uint8_t *slice; ///< by op id: SLICE_NO, SLICE_MAYBE (of the load under study) or SLICE_YES
    unsigned slice_ops;
    ir_op *loads[MAX_LOADS], *stores[MAX_STORES];
    bool is_checked[MAX_LOADS]; ///< the load might read what a store of the loop writes
    unsigned num_loads, num_stores, num_checked;
    span written[MAX_STORES]; ///< carried: what each store wrote in the iteration before
    bool has_assert;          ///< no access may come before it
    bool is_unordered;        ///< memory changes in ways that cannot be asked about
} pipeline;

enum { SLICE_NO, SLICE_MAYBE, SLICE_YES };

// ---------------------------------------------------------------------------- what may be early

static void survey(ir_op *op, void *ctx) {
    pipeline *p = ctx;
    p->has_assert |= op->opcode == OP_ASSERT;
    if (op->opcode == OP_STORE && op->block == p->body && p->num_stores < MAX_STORES)
        p->stores[p->num_stores++] = op;
    else if (ir_has_trait(op, WRITES) || ir_get_flag(op, ATTR_VOLATILE))
        p->is_unordered = true;
}

/// Whether an op may be made again for another iteration, ahead of time.
static bool is_cheap(const ir_op *op) {
    if (!ir_has_trait(op, PURE) || op->num_regions > 0 || op->num_results != 1)
        return false;
    ir_type t = op->results[0]->type;
    return !ir_is_tile(t) || ir_has_trait(op, CHEAP) || op->opcode == OP_HINT ||
           (ir_has_trait(op, ELEMENTWISE) && !dtype_is_float(t.elem));
}

/// Marks what `v` needs within the loop. False if it cannot be had early.
static bool mark(pipeline *p, const ir_value *v, bool *varies) {
    if (!v || v->block != p->body)
        return true;
    if (!v->def) {
        *varies = true;
        return v->index == 0; // the loop's variable; the others are carried
    }
    if (p->slice[v->def->id] != SLICE_NO)
        return *varies = true; // what does not vary has left the loop
    if (!is_cheap(v->def) || ++p->slice_ops > MAX_SLICE)
        return false;
    p->slice[v->def->id] = SLICE_MAYBE;
    bool ok = true;
    for (uint32_t i = 0; i < v->def->num_operands; i++)
        ok = ok && mark(p, v->def->operands[i], varies);
    return ok;
}

/// Whether address, mask and other of a load can be had early; if so they join the slice.
static bool join_slice(pipeline *p, const ir_op *load) {
    unsigned before = p->slice_ops;
    bool varies = false, ok = true;
    for (uint32_t i = 0; i < load->num_operands; i++)
        ok = ok && mark(p, load->operands[i], &varies);
    ok = ok && varies;
    for (const ir_op *op = p->body->first; op; op = op->next)
        if (p->slice[op->id] == SLICE_MAYBE)
            p->slice[op->id] = ok ? SLICE_YES : SLICE_NO;
    p->slice_ops = ok ? p->slice_ops : before;
    return ok;
}

/// Whether it can be asked at run time if a load meets a store. Stores through the load's own
/// argument are left alone: they would need a barrier in every iteration.
static bool can_check(const pipeline *p, const ir_op *load) {
    int root = axis_pointer_root(p->axis, load->operands[0]);
    if (root < 0 || !span_is_known(load->operands[0]))
        return false;
    for (unsigned i = 0; i < p->num_stores; i++) {
        const ir_value *to = p->stores[i]->operands[0];
        int other = axis_pointer_root(p->axis, to);
        if (other < 0 || other == root || !span_is_known(to))
            return false;
    }
    return true;
}

static void study_load(pipeline *p, ir_op *load) {
    bool is_const = load->operands[0]->type.pointer_const;
    bool is_checked = !is_const && p->num_stores > 0;
    if (p->num_loads == MAX_LOADS || (!is_const && p->is_unordered) ||
        (is_checked && !can_check(p, load)) || !join_slice(p, load))
        return;
    p->is_checked[p->num_loads] = is_checked;
    p->num_checked += is_checked;
    p->loads[p->num_loads++] = load;
}

static void study_loop(pipeline *p) {
    ir_walk(p->body, survey, p);
    for (ir_op *op = p->body->first; op && !p->has_assert; op = op->next)
        if (cleanup_is_plain_load(op) && op->opcode == OP_LOAD)
            study_load(p, op);
}

// ---------------------------------------------------------------------------- iterations

/// The unsigned type of the same width.
static dtype to_unsigned(dtype t) {
    static const dtype twins[DTYPE_COUNT] = {
        [DT_I8] = DT_U8, [DT_I16] = DT_U16, [DT_I32] = DT_U32, [DT_I64] = DT_U64};
    return twins[t] ? twins[t] : t;
}

/// The constant step of a loop; 0 if it is known at run time only.
static int64_t constant_step(const ir_op *loop) {
    int64_t step;
    return ir_is_const_int(loop->operands[2], &step) ? step : 0;
}

static bool counts_down(const ir_op *loop) {
    return dtype_is_signed(loop->operands[0]->type.elem) && constant_step(loop) < 0;
}

/// i1, before the loop: it runs at all.
static ir_value *build_enters(ir_builder *b, const ir_op *loop) {
    ir_value *lo = loop->operands[0], *hi = loop->operands[1], *step = loop->operands[2];
    ir_value *runs = ir_cmp(b, counts_down(loop) ? "gt" : "lt", lo, hi);
    if (constant_step(loop))
        return runs;
    ir_value *forward = ir_cmp(b, "gt", step, ir_const_int(b, step->type, 0));
    return ir_binary(b, OP_AND, runs, forward);
}

/// i1, in the loop: another iteration follows. As in codegen, what is left is compared as an
/// unsigned number, so that nothing wraps around at the type's end.
static ir_value *build_goes_on(ir_builder *b, const ir_op *loop) {
    ir_value *iv = loop->regions[0]->args[0], *hi = loop->operands[1], *step = loop->operands[2];
    bool down = counts_down(loop);
    dtype number = to_unsigned(iv->type.elem);
    if (constant_step(loop) == (down ? -1 : 1))
        return ir_cmp(b, "ne", ir_binary(b, OP_ADD, iv, step), hi);
    ir_value *left = down ? ir_binary(b, OP_SUB, iv, hi) : ir_binary(b, OP_SUB, hi, iv);
    ir_value *size = down ? ir_unary(b, OP_NEG, step) : step;
    return ir_cmp(b, "gt", ir_cast(b, left, number), ir_cast(b, size, number));
}

/// Adds a value that the loop carries: its argument. The caller adds to the yield.
static ir_value *carry(pipeline *p, ir_value *init, sv name) {
    ir_op *op = p->loop;
    arena *a = p->func->module->arena;
    ir_value *result = ARENA_NEW(a, ir_value);
    *result = (ir_value){.type = init->type,
                         .layout = init->layout,
                         .def = op,
                         .block = op->block,
                         .index = op->num_results,
                         .name = name};
    op->operands = arena_grow(a, op->operands, op->num_operands * sizeof(*op->operands),
                              (op->num_operands + 1) * sizeof(*op->operands));
    op->operands[op->num_operands++] = init;
    op->results = arena_grow(a, op->results, op->num_results * sizeof(*op->results),
                             (op->num_results + 1) * sizeof(*op->results));
    op->results[op->num_results++] = result;
    ir_value *arg = ir_add_block_arg(p->body, init->type, name);
    arg->layout = init->layout;
    return arg;
}

static void add_yielded(pipeline *p, ir_value *v) {
    ir_op *end = p->body->last;
    end->operands = arena_grow(p->func->module->arena, end->operands,
                               end->num_operands * sizeof(*end->operands),
                               (end->num_operands + 1) * sizeof(*end->operands));
    end->operands[end->num_operands++] = v;
}

// ---------------------------------------------------------------------------- early loads

static ir_value *mapped(ir_value *const *map, ir_value *v) { return map[v->id] ? map[v->id] : v; }

static ir_op *clone(ir_builder *b, const ir_op *op, ir_value *const *map) {
    ir_value **operands = ARENA_ARRAY(b->func->module->arena, ir_value *, op->num_operands);
    for (uint32_t i = 0; i < op->num_operands; i++)
        operands[i] = op->operands[i] ? mapped(map, op->operands[i]) : NULL;
    b->range = op->range;
    ir_type type = op->results[0]->type;
    ir_op *copy = ir_create(b, op->opcode, operands, op->num_operands, &type, 1);
    copy->attrs = op->attrs;
    copy->num_attrs = op->num_attrs;
    copy->results[0]->layout = op->results[0]->layout;
    copy->results[0]->name = op->results[0]->name;
    return copy;
}

/// Waits for the program's threads where the iteration before has written what is about to be read:
/// a plain loop would have had its own barriers in between.
static void build_wait(pipeline *p, ir_builder *b, const span *read) {
    ir_value *meets = NULL;
    for (unsigned s = 0; s < p->num_stores; s++)
        for (unsigned i = 0; i < p->num_checked; i++) {
            ir_value *m = span_overlap(b, p->written[s], read[i]);
            meets = meets ? ir_binary(b, OP_OR, meets, m) : m;
        }
    ir_op *op = ir_create(b, OP_IF, &meets, 1, NULL, 0);
    for (unsigned r = 0; r < 2; r++) {
        op->regions[r] = ir_block_create(p->func, op);
        ir_builder in = {p->func, op->regions[r], NULL, b->range};
        if (r == 0)
            ir_create(&in, OP_BARRIER, NULL, 0, NULL, 0);
        ir_yield(&in, NULL, 0);
    }
}

/// Makes the loads for the iteration of `iv`. Gives what they load, and, if it is the `next` one,
/// after that the first and the last byte of every load that is checked.
static void build_loads(pipeline *p, ir_builder *b, ir_value *iv, bool next, ir_value **out) {
    ir_value **map = ARENA_ARRAY(p->func->module->arena, ir_value *, p->func->num_values);
    unsigned checked = 0;
    span read[MAX_LOADS];
    src_range range = b->range;
    map[p->body->args[0]->id] = iv;
    // (What has been added since the ops were numbered has id 0, which is no op of a loop.)
    for (const ir_op *op = p->body->first; op; op = op->next)
        if (p->slice[op->id] == SLICE_YES)
            map[op->results[0]->id] = clone(b, op, map)->results[0];
    b->range = range;
    for (unsigned i = 0; next && i < p->num_loads; i++)
        if (p->is_checked[i])
            read[checked++] = span_of(b, mapped(map, p->loads[i]->operands[0]));
    if (checked)
        build_wait(p, b, read);
    for (unsigned i = 0; i < p->num_loads; i++)
        *out++ = clone(b, p->loads[i], map)->results[0];
    for (unsigned i = 0; i < checked; i++) {
        *out++ = read[i].lo;
        *out++ = read[i].hi;
    }
    b->range = range;
}

/// The loads of one iteration, if `cond` holds; else the values in `instead`.
static ir_op *build_guarded_loads(pipeline *p, ir_builder *b, ir_value *cond, ir_value *iv,
                                  ir_value *step, bool next, ir_value *const *instead) {
    ir_value *values[3 * MAX_LOADS];
    ir_type types[3 * MAX_LOADS];
    unsigned n = p->num_loads + (next ? 2 * p->num_checked : 0);
    for (unsigned i = 0; i < n; i++)
        types[i] = i < p->num_loads ? p->loads[i]->results[0]->type : ir_scalar_type(DT_I64);
    ir_op *op = ir_create(b, OP_IF, &cond, 1, types, n);
    for (unsigned r = 0; r < 2; r++)
        op->regions[r] = ir_block_create(p->func, op);
    ir_builder then = {p->func, op->regions[0], NULL, b->range};
    if (step)
        iv = ir_binary(&then, OP_ADD, iv, step);
    build_loads(p, &then, iv, next, values);
    ir_yield(&then, values, n);
    ir_builder otherwise = {p->func, op->regions[1], NULL, b->range};
    for (unsigned i = 0; i < n; i++) {
        ir_value *v = values[i];
        op->results[i]->layout = v->layout;
        op->results[i]->name = i < p->num_loads ? v->name : (sv){"", 0};
        if (instead && i < p->num_loads) {
            values[i] = instead[i];
        } else {
            values[i] = ir_const_bits(&otherwise, v->type, 0);
            values[i]->layout = v->layout;
        }
    }
    ir_yield(&otherwise, values, n);
    return op;
}

/// At the end of an iteration, i1: what was loaded early for the next one has been written by this
/// one. Carries what was written on.
static ir_value *build_is_stale(pipeline *p, ir_builder *b, ir_value *more, ir_value *const *read) {
    ir_value *stale = NULL;
    for (unsigned s = 0; s < p->num_stores; s++) {
        span written = span_of(b, p->stores[s]->operands[0]);
        for (unsigned i = 0; i < p->num_checked; i++) {
            ir_value *meets = span_overlap(b, written, (span){read[2 * i], read[2 * i + 1]});
            stale = stale ? ir_binary(b, OP_OR, stale, meets) : meets;
        }
        add_yielded(p, written.lo);
        add_yielded(p, written.hi);
    }
    return ir_binary(b, OP_AND, more, stale);
}

/// What the first iteration finds written by the one before: nothing.
static void carry_written(pipeline *p, ir_builder *before) {
    ir_type i64 = ir_scalar_type(DT_I64);
    for (unsigned s = 0; p->num_checked && s < p->num_stores; s++) {
        p->written[s].lo = carry(p, ir_const_int(before, i64, INT64_MAX), (sv){"", 0});
        p->written[s].hi = carry(p, ir_const_int(before, i64, INT64_MIN), (sv){"", 0});
    }
}

static void rewrite(pipeline *p) {
    ir_op *loop = p->loop;
    ir_value *iv = p->body->args[0], *step = loop->operands[2], *now[MAX_LOADS];
    ir_builder before = {p->func, loop->block, loop, loop->range};
    ir_op *head = build_guarded_loads(p, &before, build_enters(&before, loop), loop->operands[0],
                                      NULL, false, NULL);
    carry_written(p, &before);
    for (unsigned i = 0; i < p->num_loads; i++)
        now[i] = carry(p, head->results[i], p->loads[i]->results[0]->name);
    ir_builder top = {p->func, p->body, p->body->first, loop->range};
    ir_value *more = build_goes_on(&top, loop);
    ir_op *next = build_guarded_loads(p, &top, more, iv, step, true, now);
    if (p->num_checked) {
        ir_builder end = {p->func, p->body, p->body->last, loop->range};
        ir_value *stale = build_is_stale(p, &end, more, next->results + p->num_loads);
        next = build_guarded_loads(p, &end, stale, iv, step, false, next->results);
    }
    for (unsigned i = 0; i < p->num_loads; i++) {
        add_yielded(p, next->results[i]);
        ir_replace(p->loads[i]->results[0], now[i]);
        ir_remove(p->loads[i]);
    }
    ir_apply_replacements(p->func);
}

static bool pipeline_loop(ir_op *loop) {
    ir_func *f = loop->block->func;
    arena *a = f->module->arena;
    pipeline p = {.func = f, .loop = loop, .body = loop->regions[0]};
    p.axis = axis_analyze(f, a); // numbers ops and values
    p.slice = ARENA_ARRAY(a, uint8_t, f->num_ops);
    study_loop(&p);
    if (p.num_loads == 0)
        return false;
    rewrite(&p);
    return true;
}

// ---------------------------------------------------------------------------- the loops

typedef struct loop_list {
    arena *arena;
    VEC(ir_op *) loops;
} loop_list;

static void collect(ir_op *op, void *ctx) {
    loop_list *list = ctx;
    if (op->opcode == OP_FOR && ir_get_int(op, ATTR_NUM_STAGES, 1) >= 2 &&
        op->operands[0]->type.elem != DT_I1)
        VEC_PUSH(list->arena, list->loops, op);
}

bool pass_pipeline(ir_func *f) {
    loop_list list = {.arena = f->module->arena};
    ir_walk(f->body, collect, &list);
    bool changed = false;
    for (uint32_t i = list.loops.len; i-- > 0;) // inner loops first
        changed = pipeline_loop(list.loops.data[i]) || changed;
    return changed;
}
