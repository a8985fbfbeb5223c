// Rows that start anywhere. A row of odd length does not begin at a multiple of 16 bytes, and an
// access of `row + arange(0, BLOCK)` would have to go element by element. But which element of the
// tile holds which element of the row matters little to a kernel that only computes element by
// element and folds: this pass lets the tile begin up to 15 bytes before the row, at a multiple of
// 16, and masks off what is too early. With s elements too many at the front,
//
//     load(p + i, i < n)   becomes   load((p - s) + i, s <= i < n + s)
//
// s is found at run time from the row's address, and is 0 where s + n elements would not fit the
// tile; if n is known to leave room (the author may assume it), s is what the address says and the
// accesses of that row are `aligned`. Other rows that go with the first one (a softmax's output) move
// along; that they are aligned then is the rule, not certain, so each access is marked `realigned` and
// tests it per vector. What was aligned before (the weights of a norm) is not afterwards: such a load
// `straddles` two aligned vectors, of which the code generator makes one.
//
// The pass wants one index tile, one mask `index < n`, and accesses through `uniform pointer + index`
// under that mask, all in one block. Everything computed from them must be elementwise or a
// reduction: the tile as a multiset stays what it was. Hints speak of places in the tile, so there
// may be none.
#include "ir/axis_info.h"
#include "ir/passes.h"

enum { VECTOR_BYTES = 16, MAX_ACCESSES = 16 };

/// What a value is to the row under study.
typedef enum role {
    OTHER,   ///< none of it
    UNIFORM, ///< a tile of the row's shape, all elements equal
    INDEX,   ///< the arange
    MASK,    ///< index < n
    POINTER, ///< uniform pointer + index
    ROW,     ///< data in the tile's order
} role;

typedef struct row_study {
    const axis_analysis *axis;
    role *roles; ///< by value id
    ir_value *index, *mask;
    ir_value *row;   ///< the first access's, by whose address the tile is moved
    ir_block *block; ///< where the accesses are
    ir_op *accesses[MAX_ACCESSES];
    unsigned num_accesses;
    uint32_t *sources; ///< by value id: the loads among the accesses that it is made of, as bits
    uint32_t reduced;  ///< those of which more than what is stored under the mask matters
    bool fits;         ///< so far, nothing speaks against it
    bool has_room;     ///< for every n: the row by whose address the tile is moved is aligned then
} row_study;

static role role_of(const row_study *s, const ir_value *v) { return v ? s->roles[v->id] : OTHER; }

/// Puts down that `op` is data of the row: in the block of the others, and nowhere else.
static void claim_block(row_study *s, const ir_op *op) {
    if (!s->block)
        s->block = op->block;
    s->fits = s->fits && s->block == op->block;
}

static void study_access(row_study *s, ir_op *op) {
    bool is_load = op->opcode == OP_LOAD;
    ir_value *mask = op->operands[is_load ? 1 : 2],
             *data = is_load ? op->operands[2] : op->operands[1];
    bool data_fits = role_of(s, data) == UNIFORM || (is_load ? !data : role_of(s, data) == ROW);
    s->fits = s->fits && role_of(s, op->operands[0]) == POINTER && role_of(s, mask) == MASK &&
              data_fits && !ir_get_flag(op, ATTR_VOLATILE) && s->num_accesses < MAX_ACCESSES;
    claim_block(s, op);
    if (!s->fits)
        return;
    if (is_load) {
        s->roles[op->results[0]->id] = ROW;
        s->sources[op->results[0]->id] = 1u << s->num_accesses;
    }
    s->accesses[s->num_accesses++] = op;
}

/// index < n makes the mask, of which there is one.
static bool study_mask(row_study *s, const ir_op *op) {
    if (op->opcode != OP_CMP || role_of(s, op->operands[0]) != INDEX || s->mask ||
        !sv_is(ir_get_str(op, ATTR_PRED), "lt"))
        return false;
    const ir_op *limit = op->operands[1]->def; // NULL if it is carried around a loop
    if (!limit || limit->opcode != OP_SPLAT)
        return false;
    s->mask = op->results[0];
    s->roles[s->mask->id] = MASK;
    return true;
}

static void study_elementwise(row_study *s, const ir_op *op) {
    bool mixes = false;
    for (uint32_t i = 0; i < op->num_operands; i++) {
        role r = role_of(s, op->operands[i]);
        mixes = mixes || r == ROW || r == MASK;
        s->fits = s->fits && (r == UNIFORM || r == ROW || r == MASK);
        s->sources[op->results[0]->id] |= s->sources[op->operands[i]->id];
    }
    s->roles[op->results[0]->id] = mixes ? ROW : UNIFORM;
    if (mixes)
        claim_block(s, op);
}

static bool touches(const row_study *s, const ir_op *op) {
    for (uint32_t i = 0; i < op->num_operands; i++)
        if (role_of(s, op->operands[i]) > UNIFORM)
            return true;
    return false;
}

static void study(ir_op *op, void *ctx) {
    row_study *s = ctx;
    ir_value *result = op->num_results == 1 ? op->results[0] : NULL;
    bool of_shape = result && ir_shape_equal(result->type, s->index->type);
    if (!s->fits || result == s->index)
        return;
    if (of_shape && (op->opcode == OP_SPLAT || op->opcode == OP_CONST)) {
        s->roles[result->id] = UNIFORM;
    } else if (!touches(s, op)) {
        return; // not ours, also what other index tiles give
    } else if (op->opcode == OP_LOAD || op->opcode == OP_STORE) {
        study_access(s, op);
    } else if (op->opcode == OP_ADDPTR && role_of(s, op->operands[0]) == UNIFORM &&
               role_of(s, op->operands[1]) == INDEX && op->operands[0]->def->opcode == OP_SPLAT) {
        s->roles[result->id] = POINTER;
    } else if (op->opcode == OP_REDUCE) {
        for (uint32_t i = 0; i < op->num_operands; i++) {
            s->fits = s->fits && (role_of(s, op->operands[i]) == ROW ||
                                  role_of(s, op->operands[i]) == UNIFORM);
            s->reduced |= s->sources[op->operands[i]->id];
        }
        claim_block(s, op);
    } else if (study_mask(s, op)) {
        return;
    } else if (of_shape && ir_has_trait(op, ELEMENTWISE) && op->opcode != OP_HINT) {
        study_elementwise(s, op);
    } else {
        s->fits = false;
    }
}

/// Elements of a 16-byte vector of an access.
static uint32_t vector_elements(const ir_op *op) {
    return VECTOR_BYTES / dtype_bytes(op->operands[0]->type.pointee);
}

static bool is_aligned(const row_study *s, const ir_op *op) {
    return axis_get(s->axis, op->operands[0])->divisibility[0] >= VECTOR_BYTES;
}

/// Would it help? The first access is a load that is not known to be aligned, and no store is (moving
/// would spoil it); every thread has at least two neighbours.
static bool pays(const row_study *s) {
    const ir_func *f = s->index->block->func;
    uint32_t threads = 32 * f->num_warps * f->num_ctas;
    if (s->num_accesses == 0 || s->accesses[0]->opcode != OP_LOAD ||
        ir_type_elements(s->index->type) < 2 * threads)
        return false;
    for (unsigned i = 0; i < s->num_accesses; i++) {
        const ir_op *op = s->accesses[i];
        bool may_straddle = i > 0 && op->opcode == OP_LOAD;
        if ((is_aligned(s, op) && !may_straddle) || vector_elements(op) < 2)
            return false;
    }
    return true;
}

/// The scalar that a splat repeats.
static ir_value *repeated(const ir_value *splat) { return splat->def->operands[0]; }

/// How many elements the tile shall begin before the row, as i32.
static ir_value *build_shift(ir_builder *b, const row_study *s) {
    ir_value *row = s->row;
    ir_type i64 = ir_scalar_type(DT_I64), i32 = ir_scalar_type(DT_I32);
    int64_t size = __builtin_ctz(dtype_bytes(row->type.pointee));
    ir_value *address = ir_cast(b, row, DT_I64);
    ir_value *odd = ir_binary(b, OP_AND, address, ir_const_int(b, i64, VECTOR_BYTES - 1));
    ir_value *shift = ir_binary(b, OP_SHR, odd, ir_const_int(b, i64, size));
    shift = ir_cast(b, shift, DT_I32);
    if (s->has_room)
        return shift;
    ir_value *extent = ir_const_int(b, i32, ir_type_elements(s->index->type));
    ir_value *room = ir_binary(b, OP_SUB, extent, shift);
    ir_value *has_room = ir_cmp(b, "le", repeated(s->mask->def->operands[1]), room);
    return ir_select(b, has_room, shift, ir_const_int(b, i32, 0));
}

static void move_access(const row_study *s, unsigned i, ir_value *shift, ir_value *mask) {
    ir_op *op = s->accesses[i];
    ir_value *index = s->index, *row = repeated(op->operands[0]->def->operands[0]);
    bool straddles = is_aligned(s, op);
    ir_builder b = {index->block->func, op->block, op, op->range};
    if (s->has_room && row == s->row)
        ir_set_flag(op, ATTR_ALIGNED);
    row = ir_addptr(&b, row, ir_unary(&b, OP_NEG, shift));
    ir_value *rows = ir_splat(&b, row, index->type.shape, index->type.rank);
    op->operands[0] = ir_addptr(&b, rows, index);
    op->operands[op->opcode == OP_LOAD ? 1 : 2] = mask;
    ir_set_flag(op, ATTR_REALIGNED);
    if (straddles)
        ir_set_flag(op, ATTR_STRADDLES);
    if (op->opcode == OP_LOAD && !(s->reduced >> i & 1))
        ir_set_flag(op, ATTR_LOOSE);
}

static void rewrite(const row_study *s) {
    ir_op *first = s->accesses[0];
    ir_func *f = s->index->block->func;
    ir_builder b = {f, first->block, first, first->range};
    const uint32_t *shape = s->index->type.shape;
    ir_value *shift = build_shift(&b, s), *n = repeated(s->mask->def->operands[1]);
    ir_value *from = ir_cmp(&b, "ge", s->index, ir_splat(&b, shift, shape, 1));
    ir_value *end = ir_splat(&b, ir_binary(&b, OP_ADD, n, shift), shape, 1);
    ir_value *mask = ir_binary(&b, OP_AND, from, ir_cmp(&b, "lt", s->index, end));
    for (ir_op *op = first; op; op = op->next)
        for (uint32_t i = 0; i < op->num_operands; i++)
            if (op->operands[i] == s->mask)
                op->operands[i] = mask;
    for (unsigned i = 0; i < s->num_accesses; i++)
        move_access(s, i, shift, mask);
}

/// Nothing before the first access may have used the mask as data: it would see the old one.
static bool mask_is_used_after(const row_study *s) {
    for (const ir_op *op = s->accesses[0]->prev; op; op = op->prev)
        for (uint32_t i = 0; i < op->num_operands; i++)
            if (op->operands[i] == s->mask)
                return false;
    return true;
}

static bool realign(ir_func *f, ir_op *arange) {
    ir_type t = arange->results[0]->type;
    if (t.rank != 1 || ir_get_int(arange, ATTR_START, 0) != 0)
        return false;
    arena *a = f->module->arena;
    row_study s = {.axis = axis_analyze(f, a), .index = arange->results[0], .fits = true};
    s.roles = ARENA_ARRAY(a, role, f->num_values);
    s.sources = ARENA_ARRAY(a, uint32_t, f->num_values);
    s.roles[s.index->id] = INDEX;
    ir_walk(f->body, study, &s);
    if (!s.fits || !s.mask || !pays(&s) || !mask_is_used_after(&s))
        return false;
    s.row = repeated(s.accesses[0]->operands[0]->def->operands[0]);
    ir_interval n = ir_interval_of(f, repeated(s.mask->def->operands[1]));
    int64_t spare = vector_elements(s.accesses[0]) - 1;
    s.has_room = n.high <= (int64_t)ir_type_elements(t) - spare;
    rewrite(&s);
    return true;
}

typedef struct arange_list {
    ir_op *ops[8]; ///< more index tiles than that are no rows
    unsigned count;
} arange_list;

static void collect(ir_op *op, void *ctx) {
    arange_list *list = ctx;
    if (op->opcode == OP_ARANGE && list->count < sizeof(list->ops) / sizeof(list->ops[0]))
        list->ops[list->count++] = op;
}

bool pass_realign(ir_func *f) {
    arange_list list = {.count = 0};
    ir_walk(f->body, collect, &list);
    bool changed = false;
    for (unsigned i = 0; i < list.count; i++)
        changed = realign(f, list.ops[i]) || changed;
    return changed;
}
