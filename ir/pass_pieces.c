// Long rows in pieces. A thread that holds many elements of a row, all of BLOCK = the next power of
// two, computes as many that lie past the row's end, and keeps the intermediate results of all from
// one reduction to the next. This pass cuts such a 1-D tile into pieces of one access per thread and
// lets each consumer of the row, a reduction or a store, go through them one after the other:
//
//     max(row)   becomes   a = piece 0
//                          if n > start of piece 1:  a = maximum(a, piece 1)   ...
//                          max(a)
//
// What the author assumes of n (`assume(n <= 5000)`) is known here: pieces that every row fills need no
// test, and those that no row reaches are not there; what they would hold is folded in at once.
//
// Of the others, a piece past the row's end is skipped by a branch that the whole program takes, and in the piece that
// has the end warps beyond it may skip theirs (the part of the `if`). That is exact: the
// other arm of the `if` combines what the piece would have held, the load's `other` taken through
// the same ops, which are few since all elements are equal. And where the loaded elements are small
// and many, as 16-bit floats are, they alone are kept, and what is computed from them is computed
// again for the next consumer (the branches keep LLVM and the assembler from undoing that): half the
// registers, for a few instructions.
//
// Loads, reductions and stores stay where they stood. Everything else that has the row's shape must
// be elementwise or one of its sources (constants, splats, aranges).
#include "ir/passes.h"

enum {
    PIECE = 8,          ///< least elements of a thread in a piece
    LEAST_PIECES = 4,   ///< fewer are not worth the branches
    MANY_ELEMENTS = 64, ///< of a thread: too many to keep in 32 bits each
    MAX_COST = 16,      ///< instructions per element to compute again rather than keep
    COSTLY = 8,         ///< of an op that is not CHEAP
    MAX_OPS = 512,      ///< on rows: each is made again for every piece and consumer
    MAX_OPERANDS = 16,  ///< of a reduction
};

/// What is being cut.
typedef struct cutter {
    ir_func *func;
    uint32_t extent, piece, count; ///< elements of the tile, of a piece; pieces
    ir_block *home;                ///< where the loads, reductions and stores are
    VEC(ir_op *) consumers;        ///< the reductions and stores, in order
    VEC(ir_op *) loads;
    const ir_op *limit; ///< index < splat(n): the mask, or the part of it, that ends the row
    uint32_t full;      ///< pieces that end before every row does
    uint32_t reached;   ///< pieces that begin before some row ends
    bool recomputes;    ///< small elements, many of them
    bool fits;
    uint32_t num_ops; ///< on rows
    // While rewriting.
    ir_value **made;        ///< by value id and piece: available to all that follows
    ir_value **local;       ///< by value id: of the current piece, in the current arm
    uint32_t *local_arm;    ///< the arm in which that was made
    uint32_t arm, num_arms; ///< the current arm of an `if`, 0 outside; arms so far
    bool is_past;           ///< the current arm is that of a piece past the row's end
    bool is_reached;        ///< it is that of a piece before it
    ir_value **combined;    ///< by value id: in the region of a reduction
    uint32_t *num_users;    ///< by value id: consumers that need the value
    uint32_t *visited;      ///< by value id: the last walk that came by
    uint32_t walk;
    uint32_t *cost; ///< by value id: 1 + instructions from what was loaded; 0: not known yet
} cutter;

static bool is_row(const cutter *c, const ir_value *v) {
    return v && v->type.rank == 1 && v->type.shape[0] == c->extent;
}

// ---------------------------------------------------------------------------- may it be cut?

static bool touches_row(const cutter *c, const ir_op *op) {
    for (uint32_t i = 0; i < op->num_results; i++)
        if (is_row(c, op->results[i]))
            return true;
    for (uint32_t i = 0; i < op->num_operands; i++)
        if (is_row(c, op->operands[i]))
            return true;
    return false;
}

/// The region of a reduction, on pieces, is elementwise.
static bool combines_elementwise(const ir_op *reduce) {
    if (reduce->num_operands > MAX_OPERANDS)
        return false;
    for (const ir_op *op = reduce->regions[0]->first; op; op = op->next)
        if (op->opcode != OP_YIELD && op->opcode != OP_CONST &&
            (!ir_has_trait(op, ELEMENTWISE) || op->opcode == OP_HINT || op->num_results != 1))
            return false;
    return true;
}

static bool claim_home(cutter *c, const ir_op *op) {
    if (!c->home)
        c->home = op->block;
    return c->home == op->block;
}

static void study(ir_op *op, void *ctx) {
    cutter *c = ctx;
    arena *a = c->func->module->arena;
    for (uint32_t r = 0; r < op->num_regions; r++)
        for (uint32_t i = 0; i < op->regions[r]->num_args; i++)
            c->fits = c->fits && !is_row(c, op->regions[r]->args[i]);
    if (!c->fits || !touches_row(c, op))
        return;
    c->fits = ++c->num_ops <= MAX_OPS;
    if (op->opcode == OP_CONST || op->opcode == OP_SPLAT || op->opcode == OP_ARANGE)
        return;
    if (op->opcode == OP_LOAD) {
        VEC_PUSH(a, c->loads, op);
        c->fits = c->fits && claim_home(c, op) && !ir_get_flag(op, ATTR_VOLATILE);
    } else if (op->opcode == OP_REDUCE || op->opcode == OP_STORE) {
        VEC_PUSH(a, c->consumers, op);
        c->fits =
            c->fits && claim_home(c, op) && (op->opcode == OP_STORE || combines_elementwise(op));
    } else {
        c->fits = ir_has_trait(op, ELEMENTWISE) && op->opcode != OP_HINT && op->num_results == 1;
    }
}

/// In a mask, the comparison of the place in the row with the row's end; NULL if there is none.
static const ir_op *find_limit(const ir_value *mask, unsigned depth) {
    const ir_op *def = mask ? mask->def : NULL;
    if (!def || depth == 0)
        return NULL;
    if (def->opcode == OP_AND) {
        const ir_op *left = find_limit(def->operands[0], depth - 1);
        return left ? left : find_limit(def->operands[1], depth - 1);
    }
    if (!ir_is_limit(mask))
        return NULL;
    const ir_op *index = def->operands[0]->def;
    bool fits = ir_get_int(index, ATTR_START, 0) == 0 && index->results[0]->type.elem == DT_I32;
    return fits ? def : NULL;
}

static const ir_value *mask_of(const ir_op *access) {
    return access->operands[access->opcode == OP_LOAD ? 1 : 2];
}

enum { LIMIT_DEPTH = 4 };

/// True if the access has nothing to do past the row's end.
static bool is_limited(const cutter *c, const ir_op *access) {
    return find_limit(mask_of(access), LIMIT_DEPTH) == c->limit;
}

static unsigned element_bytes(const ir_op *access) {
    return dtype_bytes(access->operands[0]->type.pointee);
}

/// Chooses the size of the pieces. False if there would be too few.
static bool choose_pieces(cutter *c) {
    uint32_t threads = 32 * c->func->num_warps * c->func->num_ctas, width = PIECE;
    c->recomputes = true;
    for (uint32_t i = 0; i < c->loads.len; i++) {
        unsigned bytes = element_bytes(c->loads.data[i]);
        width = 16 / bytes > width ? 16 / bytes : width;
        c->recomputes = c->recomputes && bytes <= 2;
    }
    c->recomputes = c->recomputes && c->extent >= MANY_ELEMENTS * threads;
    c->piece = width * threads;
    c->count = c->extent / c->piece;
    return c->count >= LEAST_PIECES;
}

static bool may_be_cut(cutter *c) {
    ir_walk(c->func->body, study, c);
    if (!c->fits || !c->loads.len || !c->consumers.len || !choose_pieces(c))
        return false;
    c->limit = find_limit(mask_of(c->loads.data[0]), LIMIT_DEPTH);
    if (!c->limit)
        return false;
    ir_interval n = ir_interval_of(c->func, c->limit->operands[1]);
    n.high = n.high < c->extent ? n.high : c->extent;
    c->full = n.low < c->piece ? 0 : (uint32_t)((n.low < n.high ? n.low : n.high) / c->piece);
    c->reached = n.high < 1 ? 1 : (uint32_t)((n.high + c->piece - 1) / c->piece);
    return true;
}

// ---------------------------------------------------------------------------- costs

/// Instructions per element from what was loaded to v; 0 if v depends on nothing loaded.
static uint32_t cost_of(cutter *c, const ir_value *v) {
    const ir_op *op = v->def;
    if (!is_row(c, v) || !op || !ir_has_trait(op, ELEMENTWISE))
        return 0;
    if (c->cost[v->id])
        return c->cost[v->id] - 1;
    uint32_t cost = 0;
    bool from_loaded = false;
    for (uint32_t i = 0; i < op->num_operands; i++) {
        const ir_value *x = op->operands[i];
        uint32_t more = x ? cost_of(c, x) : 0;
        from_loaded = from_loaded || more || (x && x->def && x->def->opcode == OP_LOAD);
        cost += more;
    }
    cost = !from_loaded ? 0 : cost + (ir_has_trait(op, CHEAP) ? 1 : COSTLY);
    cost = cost > 1000 ? 1000 : cost;
    c->cost[v->id] = cost + 1; // 0: not known yet
    return cost;
}

/// True, once per walk, for a value of the row's shape.
static bool visit(cutter *c, const ir_value *v) {
    if (!is_row(c, v) || c->visited[v->id] == c->walk)
        return false;
    c->visited[v->id] = c->walk;
    return true;
}

/// Counts a consumer for v and what it is computed from.
static void count_user(cutter *c, const ir_value *v) {
    if (!visit(c, v))
        return;
    c->num_users[v->id]++;
    for (uint32_t i = 0; v->def->opcode != OP_LOAD && i < v->def->num_operands; i++)
        count_user(c, v->def->operands[i]);
}

static bool is_kept(cutter *c, const ir_value *v) {
    return c->num_users[v->id] > 1 && cost_of(c, v) > (c->recomputes ? (uint32_t)MAX_COST : 1);
}

// ---------------------------------------------------------------------------- pieces of values

static ir_type piece_type(const cutter *c, ir_type t) {
    t.shape[0] = c->piece;
    return t;
}

static ir_op *clone(cutter *c, ir_builder *b, const ir_op *op, ir_value *const *operands) {
    ir_type type = op->num_results ? piece_type(c, op->results[0]->type) : (ir_type){0};
    b->range = op->range;
    ir_op *copy = ir_create(b, op->opcode, operands, op->num_operands, &type, op->num_results);
    copy->attrs = op->attrs;
    copy->num_attrs = op->num_attrs;
    if (op->num_results)
        copy->results[0]->name = op->results[0]->name;
    return copy;
}

static ir_value *piece_of(cutter *c, ir_builder *b, ir_value *v, uint32_t g);

static ir_value *all_true(cutter *c, ir_builder *b, const ir_value *mask) {
    return ir_const_int(b, piece_type(c, mask->type), 1);
}

static bool is_all_true(const ir_value *mask) {
    uint64_t bits;
    return mask && mask->type.elem == DT_I1 && ir_is_const(mask, &bits) && bits == 1;
}

/// True for index >= splat(start) in a piece behind every start, which a realigned row has.
static bool is_behind_start(const cutter *c, const ir_op *op, uint32_t g) {
    if (op->opcode != OP_CMP || !sv_is(ir_get_str(op, ATTR_PRED), "ge"))
        return false;
    const ir_op *index = op->operands[0]->def;
    return index && index->opcode == OP_ARANGE && op->operands[0]->type.elem == DT_I32 &&
           ir_get_int(index, ATTR_START, 0) == 0 &&
           ir_interval_of(c->func, op->operands[1]).high <= (int64_t)g * c->piece;
}

static ir_op *clone_for_piece(cutter *c, ir_builder *b, const ir_op *op, uint32_t g) {
    ir_value **operands = ARENA_ARRAY(c->func->module->arena, ir_value *, op->num_operands + 1);
    for (uint32_t i = 0; i < op->num_operands; i++)
        operands[i] = op->operands[i] ? piece_of(c, b, op->operands[i], g) : NULL;
    uint32_t mask = op->opcode == OP_LOAD ? 1 : 2;
    if ((op->opcode == OP_LOAD || op->opcode == OP_STORE) && is_all_true(operands[mask])) {
        operands[mask] = NULL;
        if (op->opcode == OP_LOAD)
            operands[2] = NULL;
    }
    return clone(c, b, op, operands);
}

/// a & b, of which one may be known.
static ir_value *both_of(cutter *c, ir_builder *b, const ir_op *op, uint32_t g) {
    ir_value *left = piece_of(c, b, op->operands[0], g);
    ir_value *right = piece_of(c, b, op->operands[1], g);
    if (is_all_true(left))
        return right;
    if (is_all_true(right))
        return left;
    return clone(c, b, op, (ir_value *[]){left, right})->results[0];
}

/// What a load gives past the row's end.
static ir_value *other_of(cutter *c, ir_builder *b, const ir_op *load, uint32_t g) {
    ir_value *other = load->operands[2];
    return other ? piece_of(c, b, other, g)
                 : ir_const_bits(b, piece_type(c, load->results[0]->type), 0);
}

/// The limit in a piece that the row reaches, so that n - start is positive: start + i < n with one i
/// for all pieces, which is one register instead of many.
static ir_value *limit_of_reached(cutter *c, ir_builder *b, uint32_t g) {
    ir_type type = piece_type(c, c->limit->operands[0]->type);
    ir_value *n = c->limit->operands[1]->def->operands[0];
    ir_value *start = ir_const_int(b, n->type, (int64_t)g * c->piece);
    ir_op *first = ir_create(b, OP_ARANGE, NULL, 0, &type, 1);
    ir_set_int(first, ATTR_START, 0);
    ir_value *left = ir_splat(b, ir_binary(b, OP_SUB, n, start), &c->piece, 1);
    return ir_cmp(b, "lt", first->results[0], left);
}

/// The limit in any piece.
static ir_value *limit_of(cutter *c, ir_builder *b, uint32_t g) {
    ir_type type = piece_type(c, c->limit->operands[0]->type);
    ir_op *index = ir_create(b, OP_ARANGE, NULL, 0, &type, 1);
    ir_set_int(index, ATTR_START, (int64_t)g * c->piece);
    ir_value *n = c->limit->operands[1]->def->operands[0];
    return ir_cmp(b, "lt", index->results[0], ir_splat(b, n, &c->piece, 1));
}

static ir_value *make_piece(cutter *c, ir_builder *b, ir_value *v, uint32_t g) {
    const ir_op *op = v->def;
    if (op == c->limit && c->is_past)
        return ir_const_int(b, piece_type(c, v->type), 0);
    if ((op == c->limit && g < c->full) || is_behind_start(c, op, g))
        return all_true(c, b, v);
    if (op == c->limit && c->is_reached)
        return limit_of_reached(c, b, g);
    if (op->opcode == OP_AND && v->type.elem == DT_I1)
        return both_of(c, b, op, g);
    if (op->opcode == OP_LOAD) // in front, unless it is known to be off
        return other_of(c, b, op, g);
    if (op->opcode != OP_ARANGE)
        return clone_for_piece(c, b, op, g)->results[0];
    ir_type type = piece_type(c, v->type);
    ir_op *arange = ir_create(b, OP_ARANGE, NULL, 0, &type, 1);
    ir_set_int(arange, ATTR_START, ir_get_int(op, ATTR_START, 0) + (int64_t)g * c->piece);
    return arange->results[0];
}

/// Piece g of v where b stands; a scalar is its own piece.
static ir_value *piece_of(cutter *c, ir_builder *b, ir_value *v, uint32_t g) {
    if (!is_row(c, v))
        return v;
    ir_value **slot = &c->made[v->id * c->count + g];
    if (c->arm && c->local_arm[v->id] == c->arm)
        return c->local[v->id];
    ir_value *made;
    if (v->def->opcode == OP_LOAD && *slot && !(c->is_past && is_limited(c, v->def)))
        made = c->arm && c->recomputes ? ir_unary(b, OP_RECALL, *slot) : *slot;
    else if (*slot && !c->is_past && !(c->arm && c->recomputes && !cost_of(c, v)))
        return *slot;
    else
        made = make_piece(c, b, v, g);
    if (c->arm) {
        c->local[v->id] = made;
        c->local_arm[v->id] = c->arm;
    } else {
        *slot = made;
    }
    return made;
}

// ---------------------------------------------------------------------------- consumers

/// What an arm has for each value that comes out of it: the accumulators, then the kept values.
typedef VEC(ir_value *) value_list;

/// combine(a, b) of a reduction on pieces.
static void combine(cutter *c, ir_builder *b, const ir_op *reduce, ir_value **a,
                    ir_value *const *more) {
    const ir_block *region = reduce->regions[0];
    uint32_t n = reduce->num_operands;
    ir_value **by_id = c->combined;
    for (uint32_t i = 0; i < n; i++) {
        by_id[region->args[i]->id] = a[i];
        by_id[region->args[n + i]->id] = more[i];
    }
    for (const ir_op *op = region->first; op != region->last; op = op->next) {
        ir_value *operands[IR_MAX_RANK + 4] = {NULL};
        for (uint32_t i = 0; i < op->num_operands; i++)
            operands[i] = by_id[op->operands[i]->id];
        ir_type type = ir_tile_type(op->results[0]->type, &c->piece, 1);
        b->range = op->range;
        ir_op *made = ir_create(b, op->opcode, operands, op->num_operands, &type, 1);
        made->attrs = op->attrs;
        made->num_attrs = op->num_attrs;
        by_id[op->results[0]->id] = made->results[0];
    }
    for (uint32_t i = 0; i < n; i++)
        a[i] = by_id[region->last->operands[i]->id];
}

/// Does piece g of the consumer's work where b stands; `sums` are the accumulators of a reduction.
static void consume(cutter *c, ir_builder *b, const ir_op *consumer, uint32_t g, ir_value **sums) {
    ir_value *pieces[MAX_OPERANDS];
    if (consumer->opcode == OP_STORE) {
        if (!c->is_past || !is_limited(c, consumer))
            clone_for_piece(c, b, consumer, g);
        return;
    }
    for (uint32_t i = 0; i < consumer->num_operands; i++)
        pieces[i] = piece_of(c, b, consumer->operands[i], g);
    if (g > 0)
        combine(c, b, consumer, sums, pieces);
    for (uint32_t i = 0; g == 0 && i < consumer->num_operands; i++)
        sums[i] = pieces[i];
}

/// Adds what is computed for v, and is to be kept, to the list, operands first.
static void list_kept(cutter *c, ir_value *v, uint32_t g, value_list *kept) {
    if (!visit(c, v) || c->made[v->id * c->count + g] || v->def->opcode == OP_LOAD)
        return;
    for (uint32_t i = 0; i < v->def->num_operands; i++)
        list_kept(c, v->def->operands[i], g, kept);
    if (is_kept(c, v))
        VEC_PUSH(c->func->module->arena, *kept, v);
}

/// One arm of the `if` around piece g. Yields the accumulators and the kept values.
static void build_arm(cutter *c, ir_op *branch, unsigned arm, const ir_op *consumer, uint32_t g,
                      ir_value *const *sums, const value_list *kept) {
    ir_builder b = {c->func, branch->regions[arm], NULL, consumer->range};
    uint32_t n = consumer->opcode == OP_REDUCE ? consumer->num_operands : 0;
    ir_value **out = ARENA_ARRAY(c->func->module->arena, ir_value *, n + kept->len + 1);
    for (uint32_t i = 0; i < n; i++)
        out[i] = sums[i];
    c->arm = ++c->num_arms;
    c->is_past = arm == 1;
    c->is_reached = arm == 0;
    consume(c, &b, consumer, g, out);
    for (uint32_t i = 0; i < kept->len; i++)
        out[n + i] = piece_of(c, &b, kept->data[i], g);
    ir_yield(&b, out, n + kept->len);
    c->arm = 0;
    c->is_past = c->is_reached = false;
}

/// Piece g of the consumer's work, if the row reaches that far.
static void consume_if_there(cutter *c, ir_builder *b, const ir_op *consumer, uint32_t g,
                             ir_value **sums) {
    arena *a = c->func->module->arena;
    uint32_t n = consumer->opcode == OP_REDUCE ? consumer->num_operands : 0;
    value_list kept = {0};
    c->walk++;
    for (uint32_t i = 0; i < consumer->num_operands; i++)
        list_kept(c, consumer->operands[i], g, &kept);
    ir_value *start = ir_const_int(b, ir_scalar_type(DT_I32), (int64_t)g * c->piece);
    ir_value *reaches = ir_cmp(b, "lt", start, c->limit->operands[1]->def->operands[0]);
    ir_type *types = ARENA_ARRAY(a, ir_type, n + kept.len + 1);
    for (uint32_t i = 0; i < n; i++)
        types[i] = sums[i]->type;
    for (uint32_t i = 0; i < kept.len; i++)
        types[n + i] = piece_type(c, kept.data[i]->type);
    ir_value *conds[2] = {reaches, limit_of(c, b, g)};
    ir_op *branch = ir_create(b, OP_IF, conds, 2, types, n + kept.len);
    for (unsigned arm = 0; arm < 2; arm++) {
        branch->regions[arm] = ir_block_create(c->func, branch);
        build_arm(c, branch, arm, consumer, g, sums, &kept);
    }
    for (uint32_t i = 0; i < n; i++)
        sums[i] = branch->results[i];
    for (uint32_t i = 0; i < kept.len; i++)
        c->made[kept.data[i]->id * c->count + g] = branch->results[n + i];
}

/// What the consumer would find in a piece that no row reaches.
static void consume_one_past(cutter *c, ir_builder *b, const ir_op *consumer, ir_value **pieces) {
    c->arm = ++c->num_arms;
    c->is_past = true;
    for (uint32_t i = 0; i < consumer->num_operands; i++)
        pieces[i] = piece_of(c, b, consumer->operands[i], c->reached);
    c->arm = 0;
    c->is_past = false;
}

/// Does piece g of the consumer's work without asking; `is_past` if no row reaches it.
static void consume_always(cutter *c, ir_builder *b, const ir_op *consumer, uint32_t g,
                           bool is_past, ir_value **sums) {
    c->arm = c->recomputes || is_past ? ++c->num_arms : 0; // as if it were one: nothing is kept
    c->is_past = is_past;
    consume(c, b, consumer, g, sums);
    c->arm = 0;
    c->is_past = false;
}

/// True if v is the same in all pieces past the row's end: no place in the row counts.
static bool is_same_past_end(cutter *c, const ir_value *v) {
    if (!visit(c, v) || v->def == c->limit)
        return true;
    const ir_op *op = v->def;
    if (op->opcode == OP_ARANGE)
        return false;
    if (op->opcode == OP_LOAD)
        return is_limited(c, op) && (!op->operands[2] || is_same_past_end(c, op->operands[2]));
    for (uint32_t i = 0; i < op->num_operands; i++)
        if (!is_same_past_end(c, op->operands[i]))
            return false;
    return true;
}

/// Folds in the pieces that no row reaches. If they are all the same, it takes few steps: of one, of
/// two of them, of four ..., those that make up the number.
static void consume_unreached(cutter *c, ir_builder *b, const ir_op *consumer, ir_value **sums) {
    uint32_t left = c->count - c->reached;
    bool same = consumer->opcode == OP_REDUCE;
    c->walk++;
    for (uint32_t i = 0; i < consumer->num_operands && same; i++)
        same = is_same_past_end(c, consumer->operands[i]);
    for (uint32_t g = c->reached; g < c->count && !same; g++)
        consume_always(c, b, consumer, g, true, sums);
    if (!same || !left)
        return;
    ir_value *power[MAX_OPERANDS];
    consume_one_past(c, b, consumer, power);
    for (; left; left >>= 1) {
        if (left & 1)
            combine(c, b, consumer, sums, power);
        if (left > 1) {
            ir_value *again[MAX_OPERANDS];
            memcpy(again, power, sizeof again);
            combine(c, b, consumer, power, again);
        }
    }
}

/// The pieces that every row fills, in an `if` that is always taken: what is computed in it is not at
/// hand for the next consumer, which is to compute it again. The other arm gives just anything.
static void consume_full(cutter *c, ir_builder *b, const ir_op *consumer, ir_value **sums) {
    uint32_t n = consumer->opcode == OP_REDUCE ? consumer->num_operands : 0;
    ir_type types[MAX_OPERANDS];
    ir_value *start = ir_const_int(b, ir_scalar_type(DT_I32), (int64_t)(c->full - 1) * c->piece);
    ir_value *conds[2] = {ir_cmp(b, "lt", start, c->limit->operands[1]->def->operands[0]), NULL};
    for (uint32_t i = 0; i < n; i++)
        types[i] = piece_type(c, consumer->operands[i]->type);
    ir_op *branch = ir_create(b, OP_IF, conds, 2, types, n);
    for (unsigned arm = 0; arm < 2; arm++) {
        branch->regions[arm] = ir_block_create(c->func, branch);
        ir_builder inside = {c->func, branch->regions[arm], NULL, consumer->range};
        for (uint32_t g = 0; g < c->full && arm == 0; g++)
            consume_always(c, &inside, consumer, g, false, sums);
        if (arm == 1 && n)
            consume_one_past(c, &inside, consumer, sums);
        ir_yield(&inside, sums, n);
    }
    for (uint32_t i = 0; i < n; i++)
        sums[i] = branch->results[i];
}

/// The first piece is always worked on. So are all of the first half that are kept whole: the row
/// is rarely that short, and the code of several pieces mixes better without branches.
static void rewrite_consumer(cutter *c, ir_op *consumer) {
    ir_builder b = {c->func, c->home, consumer, consumer->range};
    ir_value *sums[MAX_OPERANDS];
    uint32_t g = 0, always = c->recomputes ? 1 : c->count / 2;
    always = c->full > always ? c->full : always;
    if (c->recomputes && c->full) {
        consume_full(c, &b, consumer, sums);
        g = c->full;
    }
    for (; g < c->reached; g++) {
        if (g < always)
            consume_always(c, &b, consumer, g, false, sums);
        else
            consume_if_there(c, &b, consumer, g, sums);
    }
    consume_unreached(c, &b, consumer, sums);
    for (uint32_t i = 0; consumer->opcode == OP_REDUCE && i < consumer->num_operands; i++)
        consumer->operands[i] = sums[i];
    if (consumer->opcode == OP_STORE)
        ir_remove(consumer);
}

static void rewrite_load(cutter *c, ir_op *load) {
    ir_builder b = {c->func, c->home, load, load->range};
    uint32_t last = is_limited(c, load) ? c->reached : c->count;
    for (uint32_t g = 0; g < last; g++)
        c->made[load->results[0]->id * c->count + g] = clone_for_piece(c, &b, load, g)->results[0];
}

static void rewrite(cutter *c) {
    arena *a = c->func->module->arena;
    uint32_t n = ir_number_values(c->func);
    c->made = ARENA_ARRAY(a, ir_value *, (size_t)n * c->count);
    c->local = ARENA_ARRAY(a, ir_value *, n);
    c->combined = ARENA_ARRAY(a, ir_value *, n);
    c->local_arm = ARENA_ARRAY(a, uint32_t, n);
    c->num_users = ARENA_ARRAY(a, uint32_t, n);
    c->visited = ARENA_ARRAY(a, uint32_t, n);
    c->cost = ARENA_ARRAY(a, uint32_t, n);
    for (uint32_t i = 0; i < c->consumers.len; i++) {
        c->walk++;
        for (uint32_t k = 0; k < c->consumers.data[i]->num_operands; k++)
            count_user(c, c->consumers.data[i]->operands[k]);
    }
    // In order, so that what is made for one is there for the next.
    uint32_t loads = 0, consumers = 0;
    for (ir_op *op = c->home->first, *next; op; op = next) {
        next = op->next;
        if (loads < c->loads.len && op == c->loads.data[loads]) {
            rewrite_load(c, op);
            loads++;
        } else if (consumers < c->consumers.len && op == c->consumers.data[consumers]) {
            rewrite_consumer(c, op);
            consumers++;
        }
    }
}

/// Extents of the 1-D tiles that are loaded.
typedef struct extent_list {
    uint32_t extents[8];
    unsigned count;
} extent_list;

static void collect(ir_op *op, void *ctx) {
    extent_list *list = ctx;
    if (op->opcode != OP_LOAD || op->results[0]->type.rank != 1)
        return;
    uint32_t extent = op->results[0]->type.shape[0];
    for (unsigned i = 0; i < list->count; i++)
        if (list->extents[i] == extent)
            return;
    if (list->count < sizeof(list->extents) / sizeof(list->extents[0]))
        list->extents[list->count++] = extent;
}

bool pass_pieces(ir_func *f) {
    extent_list list = {.count = 0};
    bool changed = false;
    ir_walk(f->body, collect, &list);
    for (unsigned i = 0; i < list.count; i++) {
        cutter c = {.func = f, .extent = list.extents[i], .fits = true};
        if (may_be_cut(&c)) {
            rewrite(&c);
            changed = true;
        }
    }
    return changed;
}
