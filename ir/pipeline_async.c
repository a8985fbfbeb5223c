// Copies into shared memory, several iterations ahead. Every load has a buffer of `stages` slots. A
// short loop before the loop starts the copies of the first stages - 1 iterations; then each iteration
// starts those of the one that lies so far ahead, into the slot that the iteration before has read,
// and waits until its own have landed. No register holds what is on its way.
//
// A group is closed in every iteration, also where nothing is left to copy, so that the one to wait
// for is always the same number of groups back.
#include "ir/pipeline.h"

/// Starts the copies for the iteration of `iv`, if `more` holds: there is one.
static void build_copies(pipeline *p, ir_builder *b, ir_value *iv, ir_value *more, ir_value *slot,
                         int64_t first_buffer) {
    ir_builder arms[2];
    pipeline_if(b, more, NULL, 0, arms);
    ir_value **map = pipeline_clone_slice(p, &arms[0], iv, true);
    for (unsigned i = 0; i < p->num_copies; i++) {
        const ir_op *load = p->copies[i];
        ir_value *mask = load->operands[1] ? pipeline_mapped(map, load->operands[1]) : NULL;
        ir_value *operands[] = {pipeline_mapped(map, load->operands[0]), slot, mask};
        arms[0].range = load->range;
        ir_op *copy = ir_create(&arms[0], OP_ASYNC_COPY, operands, 3, NULL, 0);
        ir_set_int(copy, ATTR_BUFFER, first_buffer + i);
        ir_set_int(copy, ATTR_SLOTS, p->stages);
    }
    ir_yield(&arms[0], NULL, 0);
    ir_yield(&arms[1], NULL, 0);
    ir_create(b, OP_ASYNC_COMMIT, NULL, 0, NULL, 0);
}

/// The iteration after that of `ahead`, which there is if `more` holds: its variable, and if it is.
typedef struct place {
    ir_value *ahead, *more;
} place;

static place step_on(ir_builder *b, const ir_op *loop, place at) {
    return (place){ir_binary(b, OP_ADD, at.ahead, loop->operands[2]),
                   ir_binary(b, OP_AND, at.more, pipeline_goes_on(b, loop, at.ahead))};
}

/// The loop before the loop. Gives the first iteration that has not been started.
static place build_head(pipeline *p, int64_t first_buffer) {
    ir_op *loop = p->loop;
    ir_type i32 = ir_scalar_type(DT_I32), i1 = ir_scalar_type(DT_I1);
    ir_type types[] = {loop->operands[0]->type, i1};
    ir_builder b = {p->func, loop->block, loop, loop->range};
    ir_value *operands[] = {ir_const_int(&b, i32, 0), ir_const_int(&b, i32, p->stages - 1),
                            ir_const_int(&b, i32, 1), loop->operands[0], pipeline_enters(&b, loop)};
    ir_op *head = ir_create(&b, OP_FOR, operands, 5, types, 2);
    ir_block *body = head->regions[0] = ir_block_create(p->func, head);
    ir_value *slot = ir_add_block_arg(body, i32, (sv){"", 0});
    place at = {ir_add_block_arg(body, types[0], p->body->args[0]->name),
                ir_add_block_arg(body, i1, (sv){"", 0})};
    ir_builder in = {p->func, body, NULL, loop->range};
    build_copies(p, &in, at.ahead, at.more, slot, first_buffer);
    at = step_on(&in, loop, at);
    ir_yield(&in, (ir_value *[]){at.ahead, at.more}, 2);
    return (place){head->results[0], head->results[1]};
}

/// What the copy of a load has brought, with `other` where the mask is off.
static ir_value *build_read(ir_op *load, ir_value *slot, int64_t buffer) {
    ir_builder b = {load->block->func, load->block, load, load->range};
    ir_value *loaded = load->results[0];
    ir_value *v = ir_create_value(&b, OP_ASYNC_READ, &slot, 1, loaded->type);
    ir_set_int(v->def, ATTR_BUFFER, buffer);
    v->layout = loaded->layout;
    uint64_t bits;
    bool is_zero = !load->operands[2] || (ir_is_const(load->operands[2], &bits) && bits == 0);
    if (!is_zero) { // what is off has been copied as 0
        v = ir_select(&b, load->operands[1], v, load->operands[2]);
        v->layout = loaded->layout;
    }
    v->name = loaded->name;
    return v;
}

void pipeline_copy_early(pipeline *p, int64_t first_buffer) {
    ir_type i32 = ir_scalar_type(DT_I32);
    place at = build_head(p, first_buffer);
    ir_builder before = {p->func, p->loop->block, p->loop, p->loop->range};
    ir_builder top = {p->func, p->body, p->body->first, p->loop->range};
    at = (place){pipeline_carry(p, at.ahead, (sv){"", 0}), pipeline_carry(p, at.more, (sv){"", 0})};
    ir_value *slot = pipeline_carry(p, ir_const_int(&before, i32, 0), (sv){"", 0});
    // The slot read in the iteration before, and the one after this.
    ir_value *zero = ir_const_int(&top, i32, 0), *one = ir_const_int(&top, i32, 1);
    ir_value *last = ir_const_int(&top, i32, p->stages - 1);
    ir_value *left =
        ir_select(&top, ir_cmp(&top, "eq", slot, zero), last, ir_binary(&top, OP_SUB, slot, one));
    ir_value *next =
        ir_select(&top, ir_cmp(&top, "eq", slot, last), zero, ir_binary(&top, OP_ADD, slot, one));
    build_copies(p, &top, at.ahead, at.more, left, first_buffer);
    at = step_on(&top, p->loop, at);
    pipeline_yield(p, at.ahead);
    pipeline_yield(p, at.more);
    pipeline_yield(p, next);
    ir_builder use = {p->func, p->body, p->copies[0], p->copies[0]->range};
    ir_set_int(ir_create(&use, OP_ASYNC_WAIT, NULL, 0, NULL, 0), ATTR_PENDING, p->stages - 1);
    for (unsigned i = 0; i < p->num_copies; i++) {
        ir_replace(p->copies[i]->results[0], build_read(p->copies[i], slot, first_buffer + i));
        ir_remove(p->copies[i]);
    }
}
