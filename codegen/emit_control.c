// Structured control flow: for, while and if become basic blocks of LLVM. Every register of every
// carried value gets a phi. Conditions are scalars, equal in all threads of the program (RULES 2),
// so barriers inside the regions are safe.
#include "codegen/exchange.h"

// ---------------------------------------------------------------------------- phis

/// The phis of one register file: one per register of each value, at the start of the block where
/// the builder stands. The values become their registers.
static void make_phis(emitter *e, ir_value *const *values, ir_value *const *like, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        unsigned count = emit_reg_count(values[i]);
        LLVMValueRef *regs = emit_new_regs(e, count), *from = emit_regs(e, like[i]);
        for (unsigned r = 0; r < count; r++)
            regs[r] = LLVMBuildPhi(e->b, LLVMTypeOf(from[r]), "");
        emit_set_regs(e, values[i], regs);
    }
}

/// Adds the registers of `incoming` to the phis of `phis`, for the edge from block `from`.
static void add_incoming(emitter *e, ir_value *const *phis, ir_value *const *incoming, uint32_t n,
                         LLVMBasicBlockRef from) {
    for (uint32_t i = 0; i < n; i++) {
        unsigned count = emit_reg_count(phis[i]);
        for (unsigned r = 0; r < count; r++)
            LLVMAddIncoming(emit_regs(e, phis[i])[r], &emit_regs(e, incoming[i])[r], &from, 1);
    }
}

// ---------------------------------------------------------------------------- for

/// The bounds of a counted loop, with the direction taken out.
typedef struct loop_bounds {
    LLVMValueRef lo, hi, step, size; ///< size: |step|
    bool is_signed, down;
    bool step_is_known; ///< a constant other than 0
    bool step_is_one;   ///< or -1
} loop_bounds;

static loop_bounds get_bounds(emitter *e, const ir_op *op) {
    loop_bounds b = {
        .lo = emit_regs(e, op->operands[0])[0],
        .hi = emit_regs(e, op->operands[1])[0],
        .step = emit_regs(e, op->operands[2])[0],
        .is_signed = dtype_is_signed(op->operands[0]->type.elem),
    };
    int64_t step;
    if (ir_is_const_int(op->operands[2], &step)) {
        b.step_is_known = step != 0;
        b.down = b.is_signed && step < 0;
        b.step_is_one = step == 1 || (b.down && step == -1);
    }
    b.size = b.down ? LLVMBuildNeg(e->b, b.step, "") : b.step;
    return b;
}

/// Whether the first iteration runs: lo before hi, and a step that gets there.
static LLVMValueRef enters_loop(emitter *e, const loop_bounds *b) {
    LLVMIntPredicate less = b->is_signed ? LLVMIntSLT : LLVMIntULT;
    LLVMIntPredicate more = b->is_signed ? LLVMIntSGT : LLVMIntUGT;
    LLVMValueRef runs = LLVMBuildICmp(e->b, b->down ? more : less, b->lo, b->hi, "");
    if (!b->step_is_known) {
        LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(b->step));
        runs = LLVMBuildAnd(e->b, runs, LLVMBuildICmp(e->b, more, b->step, zero, ""), "");
    }
    return runs;
}

/// Whether another iteration follows iv. Steps of one meet the bound. What is left, hi - iv, is
/// else compared as an unsigned number, so that no bound near the end of the type makes the
/// induction variable wrap around. (Of steps of -1 that comparison becomes `iv - 1 < -2u`, from
/// which ptxas makes loops without end or too short from -O2 on.)
static LLVMValueRef goes_on(emitter *e, const loop_bounds *b, LLVMValueRef iv, LLVMValueRef next) {
    if (b->step_is_one)
        return LLVMBuildICmp(e->b, LLVMIntNE, next, b->hi, "");
    LLVMValueRef left = LLVMBuildSub(e->b, b->hi, iv, "");
    return LLVMBuildICmp(e->b, LLVMIntUGT, left, b->size, "");
}

/// How many iterations follow the first one of a loop that counts down, which is run: for the same
/// reason such a loop has a counter.
static LLVMValueRef iterations_after_first(emitter *e, const loop_bounds *b) {
    LLVMValueRef one = LLVMConstInt(LLVMTypeOf(b->lo), 1, false);
    LLVMValueRef way = LLVMBuildSub(e->b, LLVMBuildSub(e->b, b->lo, b->hi, ""), one, "");
    return LLVMBuildUDiv(e->b, way, b->size, "");
}

//   before:  enter = lo < hi                    br enter, body, exit
//   body:    iv, carried = phi ...              (the region)
//            next = iv + step; more = hi - iv > step      br more, body, exit
//   exit:    results = phi (inits from before, yielded from the body's end)
void emit_for(emitter *e, const ir_op *op) {
    const ir_block *region = op->regions[0];
    ir_value *const *inits = op->operands + 3;
    uint32_t n = op->num_results;
    loop_bounds bounds = get_bounds(e, op);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b);
    LLVMBasicBlockRef body = emit_new_block(e, "for.body"), exit = emit_new_block(e, "for.end");
    bool counts = bounds.down && !bounds.step_is_one;
    LLVMValueRef left = counts ? iterations_after_first(e, &bounds) : NULL, rest = NULL;
    LLVMBuildCondBr(e->b, enters_loop(e, &bounds), body, exit);

    LLVMPositionBuilderAtEnd(e->b, body);
    LLVMValueRef *iv = emit_new_regs(e, 1);
    *iv = LLVMBuildPhi(e->b, LLVMTypeOf(bounds.lo), "iv");
    LLVMAddIncoming(*iv, &bounds.lo, &before, 1);
    if (counts) {
        rest = LLVMBuildPhi(e->b, LLVMTypeOf(left), "left");
        LLVMAddIncoming(rest, &left, &before, 1);
    }
    emit_set_regs(e, region->args[0], iv);
    make_phis(e, region->args + 1, inits, n);
    add_incoming(e, region->args + 1, inits, n, before);
    emit_block(e, region);
    if (e->tgt->back_edge)
        e->tgt->back_edge(e, op->range);
    LLVMValueRef next = LLVMBuildAdd(e->b, *iv, bounds.step, ""), more;
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->b);
    if (counts) {
        LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(rest));
        more = LLVMBuildICmp(e->b, LLVMIntNE, rest, zero, "");
        left = LLVMBuildSub(e->b, rest, LLVMConstInt(LLVMTypeOf(rest), 1, false), "");
        LLVMAddIncoming(rest, &left, &latch, 1);
    } else {
        more = goes_on(e, &bounds, *iv, next);
    }
    LLVMBuildCondBr(e->b, more, body, exit);
    LLVMAddIncoming(*iv, &next, &latch, 1);
    add_incoming(e, region->args + 1, region->last->operands, n, latch);

    LLVMPositionBuilderAtEnd(e->b, exit);
    make_phis(e, op->results, inits, n);
    add_incoming(e, op->results, inits, n, before);
    add_incoming(e, op->results, region->last->operands, n, latch);
}

// ---------------------------------------------------------------------------- while, if

void emit_while(emitter *e, const ir_op *op) {
    const ir_block *test = op->regions[0], *region = op->regions[1];
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b);
    LLVMBasicBlockRef head = emit_new_block(e, "while.test"),
                      body = emit_new_block(e, "while.body");
    LLVMBasicBlockRef exit = emit_new_block(e, "while.end");
    LLVMBuildBr(e->b, head);

    LLVMPositionBuilderAtEnd(e->b, head);
    make_phis(e, test->args, op->operands, test->num_args);
    add_incoming(e, test->args, op->operands, test->num_args, before);
    emit_block(e, test);
    const ir_op *condition = test->last;
    LLVMBuildCondBr(e->b, emit_regs(e, condition->operands[0])[0], body, exit);
    // `head` dominates both ways out: the values it passes on need no phis.
    for (uint32_t i = 0; i < op->num_results; i++) {
        emit_set_regs(e, region->args[i], emit_regs(e, condition->operands[i + 1]));
        emit_set_regs(e, op->results[i], emit_regs(e, condition->operands[i + 1]));
    }

    LLVMPositionBuilderAtEnd(e->b, body);
    emit_block(e, region);
    if (e->tgt->back_edge)
        e->tgt->back_edge(e, op->range);
    add_incoming(e, test->args, region->last->operands, test->num_args, LLVMGetInsertBlock(e->b));
    LLVMBuildBr(e->b, head);
    LLVMPositionBuilderAtEnd(e->b, exit);
}

/// True if the warps may go through a region apart from each other, by elements in this layout.
static bool goes_apart(emitter *e, const ir_block *region, const layout *l) {
    for (const ir_op *op = region->first; op; op = op->next) {
        if (smem_barrier_before(e->smem, op) != SMEM_NO_BARRIER)
            return false;
        for (uint32_t i = 0; i < op->num_operands; i++) {
            const ir_value *x = op->operands[i];
            if (x && ir_is_tile(x->type) && !layout_equal(x->layout, l))
                return false;
        }
    }
    return true;
}

/// True if each bit of the index is moved by one bit of the place at most.
static bool is_sum(const layout *l) {
    uint32_t seen = 0;
    for (unsigned i = 0; i < layout_place_bits(l); i++) {
        if (seen & l->basis[i])
            return false;
        seen |= l->basis[i];
    }
    return true;
}

/// The condition of an `if`: with a part, the warp's first element must be in it.
static LLVMValueRef condition_of(emitter *e, const ir_op *op) {
    LLVMValueRef cond = emit_regs(e, op->operands[0])[0];
    const ir_value *part = op->operands[1];
    if (!part || !is_sum(part->layout) || !goes_apart(e, op->regions[0], part->layout) ||
        !goes_apart(e, op->regions[1], part->layout))
        return cond;
    layout l = *part->layout;
    const ir_value *index = part->def->operands[0], *end = part->def->operands[1];
    const uint32_t none[LAYOUT_LANE_BITS] = {0};
    LLVMValueRef first =
        e->tgt->uniform(e, exchange_thread_bits(e, none, layout_warp(&l), l.warp_bits, l.cta_bits));
    LLVMValueRef start = emit_const_i32(e, (uint32_t)ir_get_int(index->def, ATTR_START, 0));
    LLVMValueRef n = emit_regs(e, end->def->operands[0])[0];
    return LLVMBuildICmp(e->b, LLVMIntSLT, LLVMBuildAdd(e->b, first, start, ""), n, "");
}

void emit_if(emitter *e, const ir_op *op) {
    LLVMBasicBlockRef arms[2] = {emit_new_block(e, "if.then"), emit_new_block(e, "if.else")};
    LLVMBasicBlockRef exit = emit_new_block(e, "if.end"), ends[2];
    LLVMBuildCondBr(e->b, condition_of(e, op), arms[0], arms[1]);
    for (unsigned i = 0; i < 2; i++) {
        LLVMPositionBuilderAtEnd(e->b, arms[i]);
        emit_block(e, op->regions[i]);
        ends[i] = LLVMGetInsertBlock(e->b);
        LLVMBuildBr(e->b, exit);
    }
    LLVMPositionBuilderAtEnd(e->b, exit);
    for (uint32_t i = 0; i < op->num_results; i++) {
        unsigned n = emit_reg_count(op->results[i]);
        LLVMValueRef *yields[2], *regs = emit_new_regs(e, n);
        for (unsigned k = 0; k < 2; k++)
            yields[k] = emit_regs(e, op->regions[k]->last->operands[i]);
        emit_merge(e, yields, ends, n, regs);
        emit_set_regs(e, op->results[i], regs);
    }
}
