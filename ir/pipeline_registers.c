// Loads of the next iteration into registers. They are issued at the top of the loop's body and go
// round the loop as carried values; after the last iteration their masks are off. (A branch around
// them would have to wait for small elements, which are taken apart where they were loaded.)
//
// Where the loop stores through other arguments, what it stores may be what was loaded early, if two
// arguments share a buffer. So the first and the last byte of both are compared after the last store.
// If they meet, what was loaded is stale: the load in its old place, otherwise masked off, loads it
// again, behind a barrier, since other threads have stored as well. What the iteration before has
// stored comes before the early load likewise: a plain loop may have had barriers in between.
#include "ir/pipeline.h"

/// A mask that is `on` or off as a whole, and within that as `mask`, which may be NULL.
static ir_value *build_mask(ir_builder *b, const ir_op *load, ir_value *mask, ir_value *on) {
    const ir_value *ptr = load->operands[0];
    ir_value *all = ir_splat(b, on, ptr->type.shape, ptr->type.rank);
    all->layout = ptr->layout;
    if (!mask)
        return all;
    all = ir_binary(b, OP_AND, mask, all);
    all->layout = ptr->layout;
    return all;
}

/// A load once more, with the values that `map` has, if `on`.
static ir_value *build_load(ir_builder *b, const ir_op *load, ir_value *const *map, ir_value *on) {
    ir_value *mask = load->operands[1] ? pipeline_mapped(map, load->operands[1]) : NULL;
    mask = build_mask(b, load, mask, on);
    ir_op *early = pipeline_clone(b, load, map);
    early->operands[1] = mask;
    return early->results[0];
}

/// i1: one of the checked loads' bytes are in what a store wrote.
static ir_value *build_meets(pipeline *p, ir_builder *b, const span *written, const span *read) {
    ir_value *meets = NULL;
    for (unsigned s = 0; s < p->num_stores; s++)
        for (unsigned i = 0; i < p->num_checked; i++) {
            ir_value *both = span_overlap(b, written[s], read[i]);
            meets = meets ? ir_binary(b, OP_OR, meets, both) : both;
        }
    return meets;
}

static void build_barrier_if(ir_builder *b, ir_value *cond) {
    ir_builder arms[2];
    pipeline_if(b, cond, NULL, 0, arms);
    ir_create(&arms[0], OP_BARRIER, NULL, 0, NULL, 0);
    ir_yield(&arms[0], NULL, 0);
    ir_yield(&arms[1], NULL, 0);
}

/// What a loop with checked loads carries.
typedef struct check_state {
    ir_value *stale;                   ///< i1: what has been loaded for this iteration
    span written[PIPELINE_MAX_STORES]; ///< by the iteration before
} check_state;

/// Before the first iteration nothing is written.
static check_state carry_check(pipeline *p, ir_builder *before) {
    ir_type i64 = ir_scalar_type(DT_I64);
    sv none = {"", 0};
    check_state c = {pipeline_carry(p, ir_const_int(before, ir_scalar_type(DT_I1), 0), none),
                     {{0}}};
    for (unsigned s = 0; s < p->num_stores; s++) {
        c.written[s].lo = pipeline_carry(p, ir_const_int(before, i64, INT64_MAX), none);
        c.written[s].hi = pipeline_carry(p, ir_const_int(before, i64, INT64_MIN), none);
    }
    return c;
}

/// At the top of the body, before the early loads. Gives the bytes that they read.
static void build_check(pipeline *p, ir_builder *b, const check_state *c, ir_value *more,
                        ir_value *const *map, span *read) {
    unsigned n = 0;
    for (unsigned i = 0; i < p->num_loads; i++)
        if (p->is_checked[i])
            read[n++] = span_of(b, pipeline_mapped(map, p->loads[i]->operands[0]));
    ir_value *meets = ir_binary(b, OP_AND, more, build_meets(p, b, c->written, read));
    build_barrier_if(b, ir_binary(b, OP_OR, c->stale, meets));
}

/// At the end of the body: what the next iteration has to know.
static void yield_check(pipeline *p, ir_value *more, const span *read) {
    ir_builder b = {p->func, p->body, p->body->last, p->loop->range};
    span written[PIPELINE_MAX_STORES];
    for (unsigned s = 0; s < p->num_stores; s++)
        written[s] = span_of(&b, p->stores[s]->operands[0]);
    pipeline_yield(p, ir_binary(&b, OP_AND, more, build_meets(p, &b, written, read)));
    for (unsigned s = 0; s < p->num_stores; s++) {
        pipeline_yield(p, written[s].lo);
        pipeline_yield(p, written[s].hi);
    }
}

/// In its old place a load gives what was loaded early, or loads it now if that is stale.
static void settle_load(pipeline *p, unsigned i, ir_value *early, ir_value *stale) {
    ir_op *load = p->loads[i];
    if (!p->is_checked[i]) {
        ir_replace(load->results[0], early);
        ir_remove(load);
        return;
    }
    ir_builder b = {p->func, load->block, load, load->range};
    load->operands[1] = build_mask(&b, load, load->operands[1], stale);
    load->operands[2] = early;
}

void pipeline_load_early(pipeline *p) {
    ir_op *loop = p->loop;
    ir_value *iv = p->body->args[0], *early[PIPELINE_MAX_LOADS];
    ir_builder before = {p->func, loop->block, loop, loop->range};
    ir_value *enters = pipeline_enters(&before, loop);
    ir_value **map = pipeline_clone_slice(p, &before, loop->operands[0], false);
    for (unsigned i = 0; i < p->num_loads; i++)
        early[i] = build_load(&before, p->loads[i], map, enters);
    for (unsigned i = 0; i < p->num_loads; i++)
        early[i] = pipeline_carry(p, early[i], p->loads[i]->results[0]->name);
    check_state check = {NULL, {{0}}};
    if (p->num_checked)
        check = carry_check(p, &before);

    // After the last iteration the code is made for that one again: hints hold for it.
    ir_builder top = {p->func, p->body, p->body->first, loop->range};
    ir_value *more = pipeline_goes_on(&top, loop, iv);
    ir_value *next = ir_binary(&top, OP_ADD, iv, loop->operands[2]);
    span read[PIPELINE_MAX_LOADS];
    map = pipeline_clone_slice(p, &top, ir_select(&top, more, next, iv), true);
    if (p->num_checked)
        build_check(p, &top, &check, more, map, read);
    for (unsigned i = 0; i < p->num_loads; i++)
        pipeline_yield(p, build_load(&top, p->loads[i], map, more));
    if (p->num_checked)
        yield_check(p, more, read);
    for (unsigned i = 0; i < p->num_loads; i++)
        settle_load(p, i, early[i], check.stale);
}
