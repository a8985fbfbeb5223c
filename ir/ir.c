// Building, reading and changing tile IR: types, values, ops, blocks and the builder. Everything
// is allocated in the module's arena and linked by pointers, so a graph reads well in a debugger;
// dense ids exist only when someone asks for them (ir_number_values).
#include "ir/ir.h"

static const ir_op_info op_infos[IR_OPCODE_COUNT] = {
#define OP(id, name, operands, results, regions, traits, rule, attrs, doc)                         \
    [id] = {name, operands, results, regions, traits, attrs, doc},
#include "ir/ops.def"
#undef OP
};

static const struct {
    const char *name;
    ir_attr_kind kind;
} attr_infos[IR_ATTR_COUNT] = {
#define ATTR(id, name, kind) [id] = {name, kind},
#include "ir/attrs.def"
#undef ATTR
};

const ir_op_info *ir_get_op_info(ir_opcode op) { return &op_infos[op]; }
const char *ir_attr_name(ir_attr_key key) { return attr_infos[key].name; }
ir_attr_kind ir_attr_get_kind(ir_attr_key key) { return attr_infos[key].kind; }

ir_arity ir_get_arity(ir_opcode op) {
    ir_arity n = {0, 0, false};
    for (const char *p = op_infos[op].operands; *p;) {
        size_t len = strcspn(p, " ");
        char mark = p[len - 1];
        if (mark == '*')
            n.variadic = true;
        else
            n.most++;
        if (mark != '*' && mark != '?')
            n.least = n.most;
        p += len;
        p += strspn(p, " ");
    }
    return n;
}

// --- types

ir_type ir_scalar_type(dtype elem) { return (ir_type){.elem = elem}; }

ir_type ir_pointer_type(dtype pointee, bool is_const) {
    return (ir_type){.elem = DT_PTR, .pointee = pointee, .pointer_const = is_const};
}

ir_type ir_tile_type(ir_type elem, const uint32_t *shape, unsigned rank) {
    ir_type t = ir_element_type(elem);
    t.rank = (uint8_t)rank;
    for (unsigned i = 0; i < rank; i++)
        t.shape[i] = shape[i];
    return t;
}

ir_type ir_element_type(ir_type t) {
    return (ir_type){.elem = t.elem, .pointee = t.pointee, .pointer_const = t.pointer_const};
}

ir_type ir_type_with_elem(ir_type t, dtype elem) {
    return ir_tile_type(ir_scalar_type(elem), t.shape, t.rank);
}

bool ir_shape_equal(ir_type a, ir_type b) {
    return a.rank == b.rank && !memcmp(a.shape, b.shape, a.rank * sizeof(a.shape[0]));
}

bool ir_type_equal(ir_type a, ir_type b) {
    return a.elem == b.elem && a.pointee == b.pointee && a.pointer_const == b.pointer_const &&
           ir_shape_equal(a, b);
}

uint32_t ir_type_elements(ir_type t) {
    uint32_t n = 1;
    for (unsigned i = 0; i < t.rank; i++)
        n *= t.shape[i];
    return n;
}

void ir_type_print_open(ir_type t, strbuf *out) {
    if (t.rank > 0)
        strbuf_puts(out, "tile<");
    for (unsigned i = 0; i < t.rank; i++)
        strbuf_printf(out, "%ux", t.shape[i]);
    if (t.elem == DT_PTR)
        strbuf_printf(out, "*%s%s", t.pointer_const ? "const " : "", dtype_name(t.pointee));
    else
        strbuf_puts(out, dtype_name(t.elem));
}

void ir_type_print(ir_type t, strbuf *out) {
    ir_type_print_open(t, out);
    if (t.rank > 0)
        strbuf_putc(out, '>');
}

const char *ir_type_string(arena *a, ir_type t) {
    strbuf s;
    strbuf_init(&s, a);
    ir_type_print(t, &s);
    return s.data;
}

// --- modules, functions, blocks

ir_module *ir_module_create(arena *a, diag *d) {
    ir_module *m = ARENA_NEW(a, ir_module);
    m->arena = a;
    m->diag = d;
    return m;
}

ir_func *ir_func_create(ir_module *m, sv name, uint32_t num_warps, uint32_t num_ctas) {
    ir_func *f = ARENA_NEW(m->arena, ir_func);
    f->module = m;
    f->name = name;
    f->num_warps = num_warps;
    f->num_ctas = num_ctas;
    f->num_stages = 1;
    f->body = ir_block_create(f, NULL);
    if (m->last)
        m->last->next = f;
    else
        m->first = f;
    m->last = f;
    return f;
}

ir_block *ir_block_create(ir_func *f, ir_op *parent) {
    ir_block *b = ARENA_NEW(f->module->arena, ir_block);
    b->func = f;
    b->parent = parent;
    return b;
}

static ir_value *new_value(arena *a, ir_type type, ir_op *def, ir_block *block, uint32_t index) {
    ir_value *v = ARENA_NEW(a, ir_value);
    v->type = type;
    v->def = def;
    v->block = block;
    v->index = index;
    return v;
}

ir_value *ir_add_block_arg(ir_block *b, ir_type type, sv name) {
    arena *a = b->func->module->arena;
    if (b->num_args == b->cap_args) {
        uint32_t cap = b->cap_args ? b->cap_args * 2 : 4;
        b->args = arena_grow(a, b->args, b->cap_args * sizeof(*b->args), cap * sizeof(*b->args));
        b->cap_args = cap;
    }
    ir_value *v = new_value(a, type, NULL, b, b->num_args);
    v->name = name;
    b->args[b->num_args++] = v;
    return v;
}

ir_value *ir_add_param(ir_func *f, sv name, ir_type type, uint32_t divisibility, bool is_one,
                       src_range range) {
    // Parameters are few; the array is regrown each time.
    f->params = arena_grow(f->module->arena, f->params, f->num_params * sizeof(*f->params),
                           (f->num_params + 1) * sizeof(*f->params));
    f->params[f->num_params++] = (ir_param){.name = name,
                                            .divisibility = divisibility ? divisibility : 1,
                                            .is_one = is_one,
                                            .range = range};
    return ir_add_block_arg(f->body, type, name);
}

// --- ops

static void link_op(ir_op *op, ir_block *block, ir_op *before) {
    op->block = block;
    op->next = before;
    op->prev = before ? before->prev : block->last;
    *(op->prev ? &op->prev->next : &block->first) = op;
    *(op->next ? &op->next->prev : &block->last) = op;
    for (uint32_t i = 0; i < op->num_results; i++)
        op->results[i]->block = block;
}

static void unlink_op(ir_op *op) {
    *(op->prev ? &op->prev->next : &op->block->first) = op->next;
    *(op->next ? &op->next->prev : &op->block->last) = op->prev;
    op->prev = op->next = NULL;
    op->block = NULL;
}

ir_op *ir_create(ir_builder *b, ir_opcode opcode, ir_value *const *operands, uint32_t num_operands,
                 const ir_type *results, uint32_t num_results) {
    arena *a = b->func->module->arena;
    ir_arity arity = ir_get_arity(opcode);
    ir_op *op = ARENA_NEW(a, ir_op);
    op->opcode = opcode;
    op->range = b->range;
    op->num_regions = (uint32_t)op_infos[opcode].num_regions;
    op->num_operands = num_operands < arity.most ? arity.most : num_operands;
    op->operands = ARENA_ARRAY(a, ir_value *, op->num_operands);
    for (uint32_t i = 0; i < num_operands; i++)
        op->operands[i] = ir_resolve(operands[i]);
    op->num_results = num_results;
    op->results = ARENA_ARRAY(a, ir_value *, num_results);
    for (uint32_t i = 0; i < num_results; i++)
        op->results[i] = new_value(a, results[i], op, b->block, i);
    link_op(op, b->block, b->before);
    return op;
}

ir_value *ir_create_value(ir_builder *b, ir_opcode op, ir_value *const *operands,
                          uint32_t num_operands, ir_type result) {
    return ir_create(b, op, operands, num_operands, &result, 1)->results[0];
}

void ir_remove(ir_op *op) { unlink_op(op); }

void ir_move_before(ir_op *op, ir_op *before) {
    if (op == before)
        return;
    unlink_op(op);
    link_op(op, before->block, before);
}

bool ir_has_trait(const ir_op *op, unsigned trait) {
    return (op_infos[op->opcode].traits & trait) != 0;
}

// --- attributes: kept in the order of attrs.def, so that equal ops have equal lists. A list is
// never changed in place: passes let a new op share the list of the op it comes from.

static ir_attr *add_attr(ir_op *op, ir_attr_key key) {
    uint32_t at = 0;
    while (at < op->num_attrs && op->attrs[at].key < key)
        at++;
    bool present = at < op->num_attrs && op->attrs[at].key == key;
    arena *a = op->block->func->module->arena;
    ir_attr *attrs = ARENA_ARRAY(a, ir_attr, op->num_attrs + 1);
    for (uint32_t i = 0; i < op->num_attrs; i++)
        attrs[i < at || present ? i : i + 1] = op->attrs[i];
    attrs[at] = (ir_attr){.key = key};
    op->attrs = attrs;
    op->num_attrs += !present;
    return &attrs[at];
}

void ir_set_int(ir_op *op, ir_attr_key key, int64_t v) { add_attr(op, key)->i = v; }
void ir_set_str(ir_op *op, ir_attr_key key, sv v) { add_attr(op, key)->str = v; }
void ir_set_flag(ir_op *op, ir_attr_key key) { add_attr(op, key)->i = 1; }

void ir_set_ints(ir_op *op, ir_attr_key key, const int64_t *v, uint32_t n) {
    ir_attr *attr = add_attr(op, key);
    attr->ints = ARENA_ARRAY(op->block->func->module->arena, int64_t, n);
    attr->num_ints = n;
    for (uint32_t i = 0; i < n; i++)
        attr->ints[i] = v[i];
}

const ir_attr *ir_find_attr(const ir_op *op, ir_attr_key key) {
    for (uint32_t i = 0; i < op->num_attrs; i++)
        if (op->attrs[i].key == key)
            return &op->attrs[i];
    return NULL;
}

int64_t ir_get_int(const ir_op *op, ir_attr_key key, int64_t if_absent) {
    const ir_attr *a = ir_find_attr(op, key);
    return a ? a->i : if_absent;
}

sv ir_get_str(const ir_op *op, ir_attr_key key) {
    const ir_attr *a = ir_find_attr(op, key);
    return a ? a->str : (sv){"", 0};
}

bool ir_get_flag(const ir_op *op, ir_attr_key key) { return ir_find_attr(op, key) != NULL; }

// --- convenience builders

ir_value *ir_const_bits(ir_builder *b, ir_type type, uint64_t bits) {
    ir_value *v = ir_create_value(b, OP_CONST, NULL, 0, type);
    unsigned width = dtype_bits(type.elem);
    if (width < 64)
        bits &= (UINT64_C(1) << width) - 1;
    ir_set_int(v->def, ATTR_VALUE, (int64_t)bits);
    return v;
}

ir_value *ir_const_int(ir_builder *b, ir_type type, int64_t v) {
    return ir_const_bits(b, type, (uint64_t)v);
}

ir_value *ir_const_float(ir_builder *b, ir_type type, double v) {
    return ir_const_bits(b, type, dtype_float_to_bits(type.elem, v));
}

ir_value *ir_unary(ir_builder *b, ir_opcode op, ir_value *x) {
    return ir_create_value(b, op, &x, 1, x->type);
}

ir_value *ir_binary(ir_builder *b, ir_opcode op, ir_value *x, ir_value *y) {
    return ir_create_value(b, op, (ir_value *[]){x, y}, 2, x->type);
}

ir_value *ir_cmp(ir_builder *b, const char *pred, ir_value *x, ir_value *y) {
    ir_type type = ir_type_with_elem(x->type, DT_I1);
    ir_value *v = ir_create_value(b, OP_CMP, (ir_value *[]){x, y}, 2, type);
    ir_set_str(v->def, ATTR_PRED, sv_from(pred));
    return v;
}

ir_value *ir_select(ir_builder *b, ir_value *c, ir_value *x, ir_value *y) {
    return ir_create_value(b, OP_SELECT, (ir_value *[]){c, x, y}, 3, x->type);
}

ir_value *ir_cast(ir_builder *b, ir_value *x, dtype to) {
    if (x->type.elem == to)
        return x;
    return ir_create_value(b, OP_CAST, &x, 1, ir_type_with_elem(x->type, to));
}

ir_value *ir_splat(ir_builder *b, ir_value *x, const uint32_t *shape, unsigned rank) {
    if (rank == 0)
        return x;
    return ir_create_value(b, OP_SPLAT, &x, 1, ir_tile_type(x->type, shape, rank));
}

ir_value *ir_reshape(ir_builder *b, ir_value *x, const uint32_t *shape, unsigned rank) {
    return ir_create_value(b, OP_RESHAPE, &x, 1, ir_tile_type(x->type, shape, rank));
}

ir_value *ir_broadcast(ir_builder *b, ir_value *x, const uint32_t *shape) {
    return ir_create_value(b, OP_BROADCAST, &x, 1, ir_tile_type(x->type, shape, x->type.rank));
}

ir_value *ir_addptr(ir_builder *b, ir_value *ptr, ir_value *offset) {
    return ir_create_value(b, OP_ADDPTR, (ir_value *[]){ptr, offset}, 2, ptr->type);
}

ir_op *ir_yield(ir_builder *b, ir_value *const *values, uint32_t n) {
    return ir_create(b, OP_YIELD, values, n, NULL, 0);
}

// --- constants, replacement, numbering

bool ir_is_const(const ir_value *v, uint64_t *bits) {
    const ir_op *op = v ? v->def : NULL;
    if (op && op->opcode == OP_SPLAT && op->operands[0])
        op = ir_resolve(op->operands[0])->def;
    if (!op || op->opcode != OP_CONST)
        return false;
    *bits = (uint64_t)ir_get_int(op, ATTR_VALUE, 0);
    return true;
}

bool ir_is_const_int(const ir_value *v, int64_t *out) {
    uint64_t bits;
    if (!v || !dtype_is_int(v->type.elem) || !ir_is_const(v, &bits))
        return false;
    *out = dtype_wrap_int(v->type.elem, (int64_t)bits);
    return true;
}

bool ir_is_limit(const ir_value *mask) {
    const ir_op *cmp = mask->def;
    if (!cmp || cmp->opcode != OP_CMP || !sv_is(ir_get_str(cmp, ATTR_PRED), "lt"))
        return false;
    const ir_op *index = cmp->operands[0]->def, *end = cmp->operands[1]->def;
    return index && index->opcode == OP_ARANGE && end && end->opcode == OP_SPLAT;
}

void ir_replace(ir_value *v, ir_value *with) {
    with = ir_resolve(with);
    if (with != v)
        v->forward = with;
}

ir_value *ir_resolve(ir_value *v) {
    if (!v || !v->forward)
        return v;
    ir_value *end = v->forward;
    while (end->forward)
        end = end->forward;
    // Shorten the chain for whoever comes next.
    while (v != end) {
        ir_value *next = v->forward;
        v->forward = end;
        v = next;
    }
    return end;
}

static void resolve_operands(ir_op *op, void *ctx) {
    (void)ctx;
    for (uint32_t i = 0; i < op->num_operands; i++)
        op->operands[i] = ir_resolve(op->operands[i]);
}

void ir_apply_replacements(ir_func *f) { ir_walk(f->body, resolve_operands, NULL); }

// The op after `op` and everything inside it, in a walk of `top`; NULL at the end.
static ir_op *next_after(ir_op *op, const ir_block *top) {
    while (!op->next) {
        ir_block *block = op->block;
        if (block == top)
            return NULL;
        op = block->parent;
        for (uint32_t r = 0; r + 1 < op->num_regions; r++)
            if (op->regions[r] == block && op->regions[r + 1] && op->regions[r + 1]->first)
                return op->regions[r + 1]->first;
    }
    return op->next;
}

// Without recursion, so that no nesting is too deep.
void ir_walk(ir_block *b, ir_op_visitor *fn, void *ctx) {
    for (ir_op *op = b->first; op;) {
        ir_op *after = next_after(op, b);
        fn(op, ctx);
        if (op->block) // still there
            for (uint32_t r = op->num_regions; r-- > 0;)
                if (op->regions[r] && op->regions[r]->first)
                    after = op->regions[r]->first;
        op = after;
    }
}

static void number_op(ir_op *op, void *ctx) {
    ir_func *f = ctx;
    op->id = f->num_ops++;
    for (uint32_t i = 0; i < op->num_results; i++)
        op->results[i]->id = f->num_values++;
    for (uint32_t r = 0; r < op->num_regions; r++)
        for (uint32_t i = 0; op->regions[r] && i < op->regions[r]->num_args; i++)
            op->regions[r]->args[i]->id = f->num_values++;
}

uint32_t ir_number_values(ir_func *f) {
    f->num_values = f->num_ops = 0;
    for (uint32_t i = 0; i < f->body->num_args; i++)
        f->body->args[i]->id = f->num_values++;
    ir_walk(f->body, number_op, f);
    return f->num_values;
}

static void count_op(ir_op *op, void *ctx) {
    uint32_t *uses = ctx;
    for (uint32_t i = 0; i < op->num_operands; i++)
        if (op->operands[i])
            uses[ir_resolve(op->operands[i])->id]++;
}

uint32_t *ir_count_uses(ir_func *f, arena *scratch) {
    uint32_t *uses = ARENA_ARRAY(scratch, uint32_t, ir_number_values(f));
    ir_walk(f->body, count_op, uses);
    return uses;
}

const layout *ir_intern_layout(ir_func *f, const layout *l) {
    for (uint32_t i = 0; i < f->num_layouts; i++)
        if (layout_equal(f->layouts[i], l))
            return f->layouts[i];
    arena *a = f->module->arena;
    if (f->num_layouts == f->cap_layouts) {
        uint32_t cap = f->cap_layouts ? f->cap_layouts * 2 : 8;
        f->layouts = arena_grow(a, f->layouts, f->cap_layouts * sizeof(*f->layouts),
                                cap * sizeof(*f->layouts));
        f->cap_layouts = cap;
    }
    layout *copy = ARENA_NEW(a, layout);
    *copy = *l;
    f->layouts[f->num_layouts++] = copy;
    return copy;
}
