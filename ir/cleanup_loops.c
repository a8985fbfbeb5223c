// What does not change in a loop leaves it. Inner loops come first, so an op may move out of
// several. Pure ops move even if the loop may not run at all: no pure op can trap. A load moves
// only if the loop writes nothing and is sure to run, since its address may be good only then; a
// hint stays for the same reason (the cpu device checks the author's word where it is given).
#include "ir/cleanup.h"

typedef struct mover {
    const bool *writes; // by op id
    bool changed;
} mover;

static void replace(mover *m, ir_value *v, ir_value *with) {
    // Types are equal by the verifier's rules; layouts as well, once there are any.
    if (ir_resolve(v) == ir_resolve(with))
        return;
    ir_replace(v, with);
    m->changed = true;
}

// A carried value that each iteration hands on unchanged is the value it came in with.
static void settle_for(mover *m, ir_op *op) {
    ir_block *body = op->regions[0];
    for (uint32_t i = 0; i < op->num_results; i++) {
        ir_value *init = ir_resolve(op->operands[3 + i]);
        ir_value *yielded = ir_resolve(body->last->operands[i]);
        if (yielded != ir_resolve(body->args[1 + i]) && yielded != init)
            continue;
        replace(m, body->args[1 + i], init);
        replace(m, op->results[i], init);
    }
}

// The same for `while`, whose values go through its condition: from region 0's argument i to
// value j of the condition, to region 1's argument j, and by its yield back to i.
static void settle_while(mover *m, ir_op *op) {
    ir_block *before = op->regions[0], *body = op->regions[1];
    ir_value **passed = before->last->operands + 1;
    for (uint32_t i = 0; i < before->num_args; i++) {
        ir_value *init = ir_resolve(op->operands[i]), *arg = ir_resolve(before->args[i]);
        ir_value *yielded = ir_resolve(body->last->operands[i]);
        if (yielded->block == body && !yielded->def)
            yielded = ir_resolve(passed[yielded->index]);
        if (yielded == arg || yielded == init)
            replace(m, before->args[i], init);
    }
    for (uint32_t j = 0; j < op->num_results; j++) {
        ir_value *v = ir_resolve(passed[j]);
        if (v->block == before)
            continue;
        // Visible in region 0 and not made there: visible everywhere in and after the loop.
        replace(m, body->args[j], v);
        replace(m, op->results[j], v);
    }
}

static bool surely_runs(const ir_op *loop, const ir_block *region) {
    if (loop->opcode == OP_WHILE)
        return region == loop->regions[0];
    int64_t lo, hi, step;
    if (loop->opcode != OP_FOR || !ir_is_const_int(loop->operands[0], &lo) ||
        !ir_is_const_int(loop->operands[1], &hi) || !ir_is_const_int(loop->operands[2], &step))
        return false;
    if (!dtype_is_signed(loop->operands[0]->type.elem))
        return step != 0 && (uint64_t)lo < (uint64_t)hi;
    return step > 0 ? lo < hi : step < 0 && lo > hi;
}

static bool may_move(const mover *m, const ir_op *loop, const ir_block *region, const ir_op *op) {
    if (ir_has_trait(op, PURE)
            ? op->opcode == OP_HINT
            : !cleanup_is_plain_load(op) || m->writes[loop->id] || !surely_runs(loop, region))
        return false;
    // Whatever is visible here is either made in this region or outside the loop.
    for (uint32_t i = 0; i < op->num_operands; i++)
        if (op->operands[i] && op->operands[i]->block == region)
            return false;
    return true;
}

static void move_out(mover *m, ir_op *loop, ir_block *region) {
    for (ir_op *op = region->first, *next; op; op = next) {
        next = op->next;
        for (uint32_t i = 0; i < op->num_operands; i++)
            op->operands[i] = ir_resolve(op->operands[i]);
        if (!may_move(m, loop, region, op))
            continue;
        ir_move_before(op, loop);
        m->changed = true;
    }
}

// Depth is bounded by IR_MAX_NESTING.
static void visit_block(mover *m, ir_block *b) {
    for (ir_op *op = b->first; op; op = op->next) {
        if (ir_has_trait(op, ISOLATED))
            continue;
        for (uint32_t r = 0; r < op->num_regions; r++)
            visit_block(m, op->regions[r]);
        if (op->opcode == OP_FOR)
            settle_for(m, op);
        else if (op->opcode == OP_WHILE)
            settle_while(m, op);
        if (ir_has_trait(op, LOOP))
            for (uint32_t r = 0; r < op->num_regions; r++)
                move_out(m, op, op->regions[r]);
    }
}

bool cleanup_loops(ir_func *f) {
    mover m = {.writes = cleanup_find_writers(f)};
    visit_block(&m, f->body);
    ir_apply_replacements(f);
    return m.changed;
}
