// Axis info never claims what is not so: random index arithmetic is built, executed by a small
// interpreter on parameters that keep their hints, and every claim is held against the values.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "ir/axis_info.h"

enum { ELEMENTS = 64, MAX_VALUES = 40, ROUNDS = 8000 };

typedef struct sample {
    ir_value *value;
    int64_t at[ELEMENTS]; ///< row-major
} sample;

typedef struct world {
    ir_builder b;
    uint64_t seed;
    sample values[MAX_VALUES];
    unsigned n;
    bool overflow; ///< some i32 result did not fit: facts assume that indices do not overflow
} world;

static uint32_t draw(world *w, uint32_t below) {
    w->seed = w->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((w->seed >> 33) % below);
}

static const ir_type *shapes(void) {
    static ir_type list[4] = {
        {.elem = DT_I32, .rank = 1, .shape = {64}},
        {.elem = DT_I32, .rank = 2, .shape = {8, 8}},
        {.elem = DT_I32, .rank = 2, .shape = {16, 4}},
        {.elem = DT_I32, .rank = 3, .shape = {4, 1, 16}},
    };
    return list;
}

static sample *add_sample(world *w, ir_value *v) {
    w->values[w->n].value = v;
    return &w->values[w->n++];
}

/// An earlier value of type t; a constant if there is none.
static sample pick(world *w, ir_type t) {
    unsigned start = draw(w, w->n);
    for (unsigned i = 0; i < w->n; i++) {
        sample *s = &w->values[(start + i) % w->n];
        if (ir_type_equal(s->value->type, t))
            return *s;
    }
    int64_t v = (int64_t)draw(w, 40) - (draw(w, 3) ? 0 : 20);
    sample s = {.value = ir_const_int(&w->b, t, v)};
    for (unsigned i = 0; i < ELEMENTS; i++)
        s.at[i] = v;
    return s;
}

// clang-format off
static int64_t evaluate(ir_opcode op, int64_t a, int64_t b) {
    switch (op) {
    case OP_ADD: return a + b;
    case OP_SUB: return a - b;
    case OP_MUL: return a * b;
    case OP_DIV: return a / b;
    case OP_REM: return a % b;
    case OP_AND: return a & b;
    case OP_OR: return a | b;
    case OP_XOR: return a ^ b;
    case OP_SHL: return (int64_t)((uint64_t)a << b);
    case OP_SHR: return a >> b;
    case OP_MIN: return a < b ? a : b;
    default: return a > b ? a : b;
    }
}
// clang-format on

static void make_binary(world *w) {
    static const ir_opcode ops[] = {OP_ADD, OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_REM, OP_AND,
                                    OP_OR,  OP_XOR, OP_SHL, OP_SHR, OP_MIN, OP_MAX};
    ir_type t = draw(w, 4) ? shapes()[draw(w, 4)] : ir_scalar_type(DT_I32);
    ir_opcode op = ops[draw(w, 13)];
    sample a = pick(w, t), b = pick(w, t);
    bool divides = op == OP_DIV || op == OP_REM, shifts = op == OP_SHL || op == OP_SHR;
    for (unsigned i = 0; i < ELEMENTS; i++)
        if ((divides && b.at[i] == 0) || (shifts && (b.at[i] < 0 || b.at[i] > 20)))
            return;
    sample *s = add_sample(w, ir_binary(&w->b, op, a.value, b.value));
    for (unsigned i = 0; i < ELEMENTS; i++) {
        s->at[i] = evaluate(op, a.at[i], b.at[i]);
        w->overflow |= s->at[i] != (int32_t)s->at[i];
    }
}

// clang-format off
static bool holds(const char *pred, int64_t a, int64_t b) {
    bool less = a < b, equal = a == b;
    switch (pred[0]) {
    case 'l': return less || (equal && pred[1] == 'e');
    case 'g': return !less && !(equal && pred[1] == 't');
    case 'e': return equal;
    default: return !equal;
    }
}
// clang-format on

static void make_select(world *w) {
    static const char *const preds[] = {"lt", "le", "gt", "ge", "eq", "ne"};
    ir_type t = shapes()[draw(w, 4)];
    sample a = pick(w, t), b = pick(w, t), x = pick(w, t), y = pick(w, t);
    const char *pred = preds[draw(w, 6)];
    sample *c = add_sample(w, ir_cmp(&w->b, pred, a.value, b.value));
    for (unsigned i = 0; i < ELEMENTS; i++)
        c->at[i] = holds(pred, a.at[i], b.at[i]);
    sample *s = add_sample(w, ir_select(&w->b, c->value, x.value, y.value));
    for (unsigned i = 0; i < ELEMENTS; i++)
        s->at[i] = c->at[i] ? x.at[i] : y.at[i];
}

static void make_source(world *w) {
    ir_type t = shapes()[draw(w, 4)];
    if (draw(w, 2)) {
        sample x = pick(w, ir_scalar_type(DT_I32));
        add_sample(w, ir_splat(&w->b, x.value, t.shape, t.rank));
        memcpy(w->values[w->n - 1].at, x.at, sizeof(x.at));
        return;
    }
    // An arange along one dimension, broadcast along the others.
    unsigned d = draw(w, t.rank);
    int64_t start = draw(w, 3) ? 0 : draw(w, 50);
    ir_type line = {.elem = DT_I32, .rank = 1, .shape = {t.shape[d]}};
    ir_value *v = ir_create_value(&w->b, OP_ARANGE, NULL, 0, line);
    ir_set_int(v->def, ATTR_START, start);
    uint32_t flat[IR_MAX_RANK], inner = 1;
    for (unsigned i = 0; i < t.rank; i++) {
        flat[i] = i == d ? t.shape[d] : 1;
        inner *= i > d ? t.shape[i] : 1;
    }
    v = ir_broadcast(&w->b, ir_reshape(&w->b, v, flat, t.rank), t.shape);
    sample *s = add_sample(w, v);
    for (unsigned i = 0; i < ELEMENTS; i++)
        s->at[i] = start + i / inner % t.shape[d];
}

/// Half of the pairs in x, which is a tile of 64 elements read as 32 pairs.
static sample *make_half(world *w, const sample *x, ir_value *pairs, unsigned which) {
    ir_type t = {.elem = DT_I32, .rank = 1, .shape = {ELEMENTS / 2}};
    ir_value *v = ir_create_value(&w->b, OP_HALF, &pairs, 1, t);
    ir_set_int(v->def, ATTR_INDEX, which);
    sample *s = add_sample(w, v);
    for (unsigned i = 0; i < ELEMENTS / 2; i++)
        s->at[i] = x->at[2 * i + which];
    return s;
}

/// Splits a tile, joins the halves in either order, and reads that one way or the other.
static void make_pairs(world *w) {
    ir_type pairs = {.elem = DT_I32, .rank = 2, .shape = {ELEMENTS / 2, 2}};
    ir_type turned = {.elem = DT_I32, .rank = 2, .shape = {2, ELEMENTS / 2}};
    ir_type to = shapes()[draw(w, 4)];
    sample x = pick(w, shapes()[draw(w, 4)]);
    ir_value *v = ir_reshape(&w->b, x.value, pairs.shape, 2), *halves[2];
    unsigned first = draw(w, 2);
    sample *a = make_half(w, &x, v, first), *b = make_half(w, &x, v, draw(w, 4) ? !first : first);
    halves[0] = a->value;
    halves[1] = b->value;
    sample *joined = add_sample(w, ir_create_value(&w->b, OP_JOIN, halves, 2, pairs));
    for (unsigned i = 0; i < ELEMENTS; i++)
        joined->at[i] = i % 2 ? b->at[i / 2] : a->at[i / 2];
    v = joined->value;
    bool turn = draw(w, 2);
    if (turn) {
        v = ir_create_value(&w->b, OP_PERMUTE, &v, 1, turned);
        ir_set_ints(v->def, ATTR_ORDER, (int64_t[]){1, 0}, 2);
    }
    sample *s = add_sample(w, ir_reshape(&w->b, v, to.shape, to.rank));
    for (unsigned i = 0; i < ELEMENTS; i++)
        s->at[i] = joined->at[turn ? i % 32 * 2 + i / 32 : i];
}

static void make_flip(world *w) {
    sample x = pick(w, shapes()[draw(w, 4)]);
    ir_type t = x.value->type;
    unsigned axis = draw(w, t.rank), inner = 1;
    ir_value *v = ir_create_value(&w->b, OP_FLIP, &x.value, 1, t);
    ir_set_int(v->def, ATTR_AXIS, axis);
    for (unsigned d = axis + 1; d < t.rank; d++)
        inner *= t.shape[d];
    sample *s = add_sample(w, v);
    for (unsigned i = 0; i < ELEMENTS; i++)
        s->at[i] = x.at[i ^ (t.shape[axis] - 1) * inner];
}

static void make_view(world *w) {
    unsigned kind = draw(w, 4);
    if (kind == 0) {
        make_pairs(w);
        return;
    }
    if (kind == 1) {
        make_flip(w);
        return;
    }
    if (draw(w, 2)) {
        ir_type to = shapes()[draw(w, 4)];
        sample x = pick(w, shapes()[draw(w, 4)]);
        add_sample(w, ir_reshape(&w->b, x.value, to.shape, to.rank));
        memcpy(w->values[w->n - 1].at, x.at, sizeof(x.at));
        return;
    }
    sample x = pick(w, shapes()[1]);
    ir_value *v = ir_create_value(&w->b, OP_PERMUTE, &x.value, 1, x.value->type);
    ir_set_ints(v->def, ATTR_ORDER, (int64_t[]){1, 0}, 2);
    sample *s = add_sample(w, v);
    for (unsigned i = 0; i < ELEMENTS; i++)
        s->at[i] = x.at[i % 8 * 8 + i / 8];
}

/// Holds every claim about one value against its elements.
static bool is_true_of(const axis_info *x, ir_type t, const int64_t *at) {
    unsigned rank = t.rank ? t.rank : 1;
    uint32_t elements = ir_type_elements(t);
    for (unsigned d = 0; d < rank; d++) {
        uint32_t inner = 1, extent = t.rank ? t.shape[d] : 1;
        for (unsigned i = d + 1; i < t.rank; i++)
            inner *= t.shape[i];
        for (uint32_t i = 0; i < elements; i++) {
            uint32_t pos = i / inner % extent;
            if (pos % x->contiguity[d] == 0 && at[i] & (int64_t)(x->divisibility[d] - 1))
                return false;
            if (pos % x->contiguity[d] != 0 && at[i] != at[i - inner] + 1)
                return false;
            if (pos % x->constancy[d] != 0 && at[i] != at[i - inner])
                return false;
            if ((x->is_const && at[i] != x->value) || (x->non_negative && at[i] < 0))
                return false;
        }
    }
    return true;
}

static void build(world *w, ir_func *f) {
    w->b = (ir_builder){.func = f, .block = f->body};
    static const uint32_t divisors[] = {1, 2, 8, 16};
    for (unsigned i = 0; i < 3; i++) {
        uint32_t div = divisors[draw(w, 4)];
        bool is_one = draw(w, 8) == 0;
        int64_t v = is_one ? 1 : ((int64_t)draw(w, 9) - 3) * div;
        sample *s = add_sample(w, ir_add_param(f, SV("n"), ir_scalar_type(DT_I32), is_one ? 1 : div,
                                               is_one, SRC_NONE));
        for (unsigned k = 0; k < ELEMENTS; k++)
            s->at[k] = v;
    }
    for (unsigned i = 0; i < 5; i++)
        make_source(w);
    while (w->n < MAX_VALUES - 4 && draw(w, 30)) {
        unsigned kind = draw(w, 14);
        if (kind < 8)
            make_binary(w);
        else if (kind < 9)
            make_select(w);
        else if (kind < 12)
            make_view(w);
        else
            make_source(w);
    }
    ir_create(&w->b, OP_RETURN, NULL, 0, NULL, 0);
}

static void test_claims_hold(void **state) {
    (void)state;
    unsigned checked = 0, wrong = 0;
    for (unsigned round = 0; round < ROUNDS && wrong < 5; round++) {
        arena *a = arena_create();
        ir_module *m = ir_module_create(a, diag_create(a));
        ir_func *f = ir_func_create(m, SV("k"), 1, 1);
        world *w = ARENA_NEW(a, world);
        w->seed = round;
        build(w, f);
        axis_analysis *an = axis_analyze(f, a);
        for (unsigned i = 0; i < w->n && !w->overflow; i++) {
            const ir_value *v = w->values[i].value;
            checked++;
            if (is_true_of(axis_get(an, v), v->type, w->values[i].at))
                continue;
            strbuf s;
            strbuf_init(&s, a);
            ir_print_func(f, &s, false);
            print_error("round %u, value %u (id %u) in\n%s", round, i, v->id, s.data);
            wrong++;
            break;
        }
        arena_destroy(a);
    }
    assert_int_equal(wrong, 0);
    assert_true(checked > ROUNDS);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_claims_hold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
