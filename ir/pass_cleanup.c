// Cleans up after whoever made the IR, and after pass_layout: what does not change in a loop moves
// out of it (cleanup_loops.c), equal computations are done once (here), and what nobody needs goes
// (cleanup_dead.c). The traits in ops.def decide what may be touched, not the ops' names.
//
// Common subexpressions: one walk in program order with a table of the expressions visible here.
// Leaving a region takes out what it put in. Loads take part as long as nothing has written memory
// in between: each op that writes starts a new *epoch*, and so does entering an op with a write
// somewhere inside, since a loop comes back to its top after that write.
#include "ir/cleanup.h"
#include "ir/passes.h"

typedef struct expression {
    struct expression *next; // in the same bucket
    ir_op *op;
    uint32_t hash;
    uint32_t epoch;           // of memory, for loads; 0 for pure ops
    const ir_block *isolated; // the isolated region it is in, or NULL
} expression;

typedef struct cse {
    arena *arena;
    expression **buckets;
    uint32_t bucket_mask;
    VEC(expression *) visible; // in order of entry
    const bool *writes;        // by op id
    uint32_t epoch;
    const ir_block *isolated;
    bool changed;
} cse;

static uint32_t mix(uint32_t hash, uint64_t v) {
    v ^= v >> 32;
    return (hash ^ (uint32_t)v) * 0x9e3779b1u + (hash >> 15);
}

static uint32_t hash_attr(uint32_t hash, const ir_attr *a) {
    hash = mix(mix(hash, a->key), (uint64_t)a->i);
    for (size_t i = 0; i < a->str.len; i++)
        hash = mix(hash, (uint8_t)a->str.data[i]);
    for (uint32_t i = 0; i < a->num_ints; i++)
        hash = mix(hash, (uint64_t)a->ints[i]);
    return hash;
}

static uint32_t hash_op(const ir_op *op) {
    uint32_t hash = mix(op->opcode, op->num_operands);
    for (uint32_t i = 0; i < op->num_operands; i++)
        hash = mix(hash, (uintptr_t)op->operands[i] >> 4);
    for (uint32_t i = 0; i < op->num_attrs; i++)
        hash = hash_attr(hash, &op->attrs[i]);
    const ir_type *t = &op->results[0]->type;
    hash = mix(mix(hash, t->elem), t->rank ? t->shape[0] : 0);
    return hash ^ hash >> 16;
}

static bool attr_equal(const ir_attr *a, const ir_attr *b) {
    return a->key == b->key && a->i == b->i && sv_equal(a->str, b->str) &&
           a->num_ints == b->num_ints &&
           (a->num_ints == 0 || !memcmp(a->ints, b->ints, a->num_ints * sizeof(a->ints[0])));
}

// True if the two ops compute the same thing; operands are resolved.
static bool op_equal(const ir_op *a, const ir_op *b) {
    if (a->opcode != b->opcode || a->num_operands != b->num_operands ||
        a->num_attrs != b->num_attrs || a->num_results != b->num_results)
        return false;
    for (uint32_t i = 0; i < a->num_operands; i++)
        if (a->operands[i] != b->operands[i])
            return false;
    for (uint32_t i = 0; i < a->num_attrs; i++)
        if (!attr_equal(&a->attrs[i], &b->attrs[i]))
            return false;
    for (uint32_t i = 0; i < a->num_results; i++)
        if (!ir_type_equal(a->results[i]->type, b->results[i]->type) ||
            a->results[i]->layout != b->results[i]->layout)
            return false;
    return true;
}

static bool takes_part(const ir_op *op) {
    return op->num_regions == 0 && op->num_results > 0 && op->opcode != OP_RECALL &&
           (ir_has_trait(op, PURE) || cleanup_is_plain_load(op));
}

// Replaces op by an equal one that is visible, or enters it.
static void find_or_enter(cse *c, ir_op *op) {
    uint32_t epoch = ir_has_trait(op, READS) ? c->epoch : 0;
    uint32_t hash = mix(hash_op(op), epoch);
    expression **bucket = &c->buckets[hash & c->bucket_mask];
    for (expression *e = *bucket; e; e = e->next) {
        if (e->hash != hash || e->epoch != epoch || e->isolated != c->isolated ||
            !op_equal(e->op, op))
            continue;
        for (uint32_t i = 0; i < op->num_results; i++) {
            ir_value *kept = e->op->results[i];
            if (kept->name.len == 0)
                kept->name = op->results[i]->name;
            ir_replace(op->results[i], kept);
        }
        ir_remove(op);
        c->changed = true;
        return;
    }
    expression *e = ARENA_NEW(c->arena, expression);
    *e = (expression){*bucket, op, hash, epoch, c->isolated};
    *bucket = e;
    VEC_PUSH(c->arena, c->visible, e);
}

// Takes out everything entered after the first `mark` expressions: each is first in its bucket.
static void leave(cse *c, uint32_t mark) {
    while (c->visible.len > mark) {
        expression *e = c->visible.data[--c->visible.len];
        c->buckets[e->hash & c->bucket_mask] = e->next;
    }
}

// Depth is bounded by IR_MAX_NESTING.
static void cse_block(cse *c, ir_block *b) {
    for (ir_op *op = b->first, *next; op; op = next) {
        next = op->next;
        for (uint32_t i = 0; i < op->num_operands; i++)
            op->operands[i] = ir_resolve(op->operands[i]);
        c->epoch += c->writes[op->id];
        const ir_block *outer = c->isolated;
        for (uint32_t r = 0; r < op->num_regions; r++) {
            uint32_t mark = c->visible.len;
            if (ir_has_trait(op, ISOLATED))
                c->isolated = op->regions[r];
            cse_block(c, op->regions[r]);
            leave(c, mark);
            c->isolated = outer;
        }
        if (takes_part(op))
            find_or_enter(c, op);
    }
}

static bool remove_common_subexpressions(ir_func *f) {
    cse c = {.arena = f->module->arena, .epoch = 1, .writes = cleanup_find_writers(f)};
    c.bucket_mask = 63;
    while (c.bucket_mask < f->num_ops)
        c.bucket_mask = c.bucket_mask * 2 + 1;
    c.buckets = ARENA_ARRAY(c.arena, expression *, c.bucket_mask + 1);
    cse_block(&c, f->body);
    ir_apply_replacements(f);
    return c.changed;
}

static void mark_writer(ir_op *op, void *ctx) {
    bool *writes = ctx;
    if (ir_has_trait(op, WRITES))
        for (const ir_op *up = op; up && !writes[up->id]; up = up->block->parent)
            writes[up->id] = true;
}

bool *cleanup_find_writers(ir_func *f) {
    ir_number_values(f);
    bool *writes = ARENA_ARRAY(f->module->arena, bool, f->num_ops + 1);
    ir_walk(f->body, mark_writer, writes);
    return writes;
}

bool pass_cleanup(ir_func *f) {
    bool changed = cleanup_loops(f);
    changed = remove_common_subexpressions(f) || changed;
    return cleanup_dead_code(f) || changed;
}
