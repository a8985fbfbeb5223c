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
// through memory or is carried around the loop is not known early, unless all it does is step
// (pipeline_steps.c).
//
// A load must not overtake a store that writes what it reads. Behind a `*const` nothing is written.
// Of other pointers the program finds out as it runs: where the bytes that this iteration has stored
// meet those that were loaded early, the loads are made again (pipeline_span.c). Where that cannot be
// asked - of stores in inner regions, atomics, addresses that were looked up - the load stays.
//
// The pass runs after layouts are there, and copies them: what is loaded early lies as it lay before.
#include "ir/cleanup.h"
#include "ir/passes.h"
#include "ir/pipeline.h"

enum {
    MAX_SLICE = 64,           ///< ops that the addresses of a loop's loads may take
    ASYNC_BYTES = 4,          ///< least size of a piece of a copy
    BUFFER_BYTES = 64 * 1024, ///< of shared memory that a function's loops may take for copies
};

// ---------------------------------------------------------------------------- what may be early

static void survey(ir_op *op, void *ctx) {
    pipeline *p = ctx;
    p->has_assert |= op->opcode == OP_ASSERT;
    if (op->opcode == OP_STORE && op->block == p->body && p->num_stores < PIPELINE_MAX_STORES)
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

static void study_load(pipeline *p, ir_op *load, bool after_store) {
    bool is_const = load->operands[0]->type.pointer_const;
    bool is_checked = !is_const && p->num_stores > 0;
    if (p->num_loads == PIPELINE_MAX_LOADS || (!is_const && p->is_unordered) ||
        (is_checked && (after_store || !can_check(p, load))) || !join_slice(p, load))
        return;
    p->is_checked[p->num_loads] = is_checked;
    p->num_checked += is_checked;
    p->loads[p->num_loads++] = load;
}

static void study_loop(pipeline *p) {
    ir_walk(p->body, survey, p);
    bool after_store = false;
    for (ir_op *op = p->body->first; op && !p->has_assert; op = op->next) {
        after_store |= op->opcode == OP_STORE;
        if (cleanup_is_plain_load(op) && op->opcode == OP_LOAD)
            study_load(p, op, after_store);
    }
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

ir_value *pipeline_enters(ir_builder *b, const ir_op *loop) {
    ir_value *lo = loop->operands[0], *hi = loop->operands[1], *step = loop->operands[2];
    ir_value *runs = ir_cmp(b, counts_down(loop) ? "gt" : "lt", lo, hi);
    if (constant_step(loop))
        return runs;
    ir_value *forward = ir_cmp(b, "gt", step, ir_const_int(b, step->type, 0));
    return ir_binary(b, OP_AND, runs, forward);
}

// As in codegen, what is left is compared as an unsigned number, so that nothing wraps around at the
// type's end.
ir_value *pipeline_goes_on(ir_builder *b, const ir_op *loop, ir_value *iv) {
    ir_value *hi = loop->operands[1], *step = loop->operands[2];
    bool down = counts_down(loop);
    dtype number = to_unsigned(iv->type.elem);
    if (constant_step(loop) == (down ? -1 : 1))
        return ir_cmp(b, "ne", ir_binary(b, OP_ADD, iv, step), hi);
    ir_value *left = down ? ir_binary(b, OP_SUB, iv, hi) : ir_binary(b, OP_SUB, hi, iv);
    ir_value *size = down ? ir_unary(b, OP_NEG, step) : step;
    return ir_cmp(b, "gt", ir_cast(b, left, number), ir_cast(b, size, number));
}

ir_value *pipeline_carry(pipeline *p, ir_value *init, sv name) {
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

void pipeline_yield(pipeline *p, ir_value *v) {
    ir_op *end = p->body->last;
    end->operands = arena_grow(p->func->module->arena, end->operands,
                               end->num_operands * sizeof(*end->operands),
                               (end->num_operands + 1) * sizeof(*end->operands));
    end->operands[end->num_operands++] = v;
}

// ---------------------------------------------------------------------------- made again

ir_value *pipeline_mapped(ir_value *const *map, ir_value *v) { return map[v->id] ? map[v->id] : v; }

ir_op *pipeline_clone(ir_builder *b, const ir_op *op, ir_value *const *map) {
    ir_value **operands = ARENA_ARRAY(b->func->module->arena, ir_value *, op->num_operands);
    for (uint32_t i = 0; i < op->num_operands; i++)
        operands[i] = op->operands[i] ? pipeline_mapped(map, op->operands[i]) : NULL;
    b->range = op->range;
    ir_type type = op->results[0]->type;
    ir_op *copy = ir_create(b, op->opcode, operands, op->num_operands, &type, 1);
    copy->attrs = op->attrs;
    copy->num_attrs = op->num_attrs;
    copy->results[0]->layout = op->results[0]->layout;
    copy->results[0]->name = op->results[0]->name;
    return copy;
}

// What has been added since the ops were numbered has id 0, which is no op of a loop.
ir_value **pipeline_clone_slice(pipeline *p, ir_builder *b, ir_value *iv, bool keep_hints) {
    ir_value **map = ARENA_ARRAY(p->func->module->arena, ir_value *, p->func->num_values);
    src_range range = b->range;
    map[p->body->args[0]->id] = iv;
    for (const ir_op *op = p->body->first; op; op = op->next) {
        if (p->slice[op->id] != SLICE_YES)
            continue;
        bool skipped = op->opcode == OP_HINT && !keep_hints;
        map[op->results[0]->id] = skipped ? pipeline_mapped(map, op->operands[0])
                                          : pipeline_clone(b, op, map)->results[0];
    }
    b->range = range;
    return map;
}

ir_op *pipeline_if(ir_builder *b, ir_value *cond, const ir_type *types, uint32_t n,
                   ir_builder arms[2]) {
    ir_op *op = ir_create(b, OP_IF, &cond, 1, types, n);
    for (unsigned r = 0; r < 2; r++) {
        op->regions[r] = ir_block_create(b->func, op);
        arms[r] = (ir_builder){b->func, op->regions[r], NULL, b->range};
    }
    return op;
}

// ---------------------------------------------------------------------------- the loops

typedef struct loop_list {
    VEC(ir_op *) loops;
    arena *arena;
    uint32_t bytes;  ///< of shared memory that is taken
    int64_t buffers; ///< and how many
} loop_list;

/// Whether a load can be copied into shared memory: by threads that hold it once, in pieces that
/// the hardware copies, with no wish about caches.
static bool can_copy(const pipeline *p, const ir_op *load) {
    const ir_value *ptr = load->operands[0];
    if (!ir_is_tile(ptr->type) || !ptr->layout || ir_find_attr(load, ATTR_CACHE) ||
        ir_find_attr(load, ATTR_EVICT) || ir_get_flag(load, ATTR_REALIGNED))
        return false;
    layout_replication copies = layout_get_replication(ptr->layout);
    if (copies.reg_mask || copies.lane_mask || copies.warp_mask || copies.cta_mask)
        return false;
    uint32_t widest = 1;
    for (unsigned d = 0; d < ptr->type.rank; d++) {
        uint32_t held = axis_held_run(ptr, d), n = axis_async_width(p->axis, load, d);
        n = n < held ? n : held;
        widest = n > widest ? n : widest;
    }
    return widest * dtype_bytes(ptr->type.pointee) >= ASYNC_BYTES;
}

/// Bytes that a tile's load takes in the shared memory of a CTA.
static uint32_t slot_bytes(const ir_func *f, const ir_op *load) {
    const ir_value *ptr = load->operands[0];
    return (f->num_warps * layout_reg_count(ptr->layout) << LAYOUT_LANE_BITS) *
           dtype_bytes(ptr->type.pointee);
}

/// In a loop that writes nothing, moves the loads whose tiles fit into what is left of shared memory
/// from `loads` to `copies`. Where they do not fit so often there are fewer stages than asked for.
static void choose_copies(pipeline *p, loop_list *list) {
    enum { LEAST_STAGES = 2 };
    bool reads_only = p->num_stores == 0 && !p->is_unordered;
    uint32_t left = BUFFER_BYTES - list->bytes, bytes = 0, kept = 0;
    for (unsigned i = 0; i < p->num_loads; i++) {
        ir_op *load = p->loads[i];
        if (reads_only && can_copy(p, load) &&
            slot_bytes(p->func, load) <= left / LEAST_STAGES - bytes) {
            bytes += slot_bytes(p->func, load);
            p->copies[p->num_copies++] = load;
        } else {
            p->is_checked[kept] = p->is_checked[i];
            p->loads[kept++] = load;
        }
    }
    p->num_loads = kept;
    if (bytes && left / bytes < p->stages)
        p->stages = left / bytes;
    list->bytes += bytes * p->stages;
}

static bool pipeline_loop(ir_op *loop, loop_list *list) {
    ir_func *f = loop->block->func;
    arena *a = f->module->arena;
    pipeline p = {.func = f, .loop = loop, .body = loop->regions[0]};
    p.stages = (uint32_t)ir_get_int(loop, ATTR_NUM_STAGES, 1);
    pipeline_derive_steps(loop);
    p.axis = axis_analyze(f, a); // numbers ops and values
    p.slice = ARENA_ARRAY(a, uint8_t, f->num_ops);
    study_loop(&p);
    if (p.num_loads == 0)
        return false;
    choose_copies(&p, list);
    if (p.num_loads)
        pipeline_load_early(&p);
    if (p.num_copies)
        pipeline_copy_early(&p, list->buffers);
    list->buffers += p.num_copies;
    ir_apply_replacements(f);
    return true;
}

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
        changed = pipeline_loop(list.loops.data[i], &list) || changed;
    return changed;
}
