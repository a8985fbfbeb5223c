// Interval arithmetic on addresses. The offsets of an access are sums and products of index tiles
// with scalars that only the run knows; least and greatest value follow from those of the parts, in
// a few scalar instructions. Offsets are taken not to wrap around, as in an address they must not.
#include "ir/pipeline_span.h"

enum { MAX_PARTS = 32 }; ///< of one address; more is not worth the code

static ir_type i64(void) { return ir_scalar_type(DT_I64); }

/// Whether every value of an integer or pointer fits i64, and sums of it are sums of numbers.
static bool is_number(const ir_value *v) {
    dtype t = v->type.elem;
    return ir_is_pointer(v->type) || (dtype_is_int(t) && t != DT_U64 && t != DT_I1);
}

static bool is_known(const ir_value *v, unsigned *parts) {
    const ir_op *op = v->def;
    if (!is_number(v) || ++*parts > MAX_PARTS)
        return false;
    if (!ir_is_tile(v->type))
        return true;
    switch (op ? op->opcode : OP_LOAD) {
    case OP_CONST:
    case OP_ARANGE:
        return true;
    case OP_SPLAT:
    case OP_RESHAPE:
    case OP_BROADCAST:
    case OP_PERMUTE:
    case OP_FLIP:
    case OP_HINT:
    case OP_CONVERT_LAYOUT:
        return is_known(op->operands[0], parts);
    case OP_CAST: // to a wider type, or back to it
        return dtype_bits(v->type.elem) >= dtype_bits(op->operands[0]->type.elem) &&
               dtype_is_signed(v->type.elem) && is_known(op->operands[0], parts);
    case OP_ADD:
    case OP_SUB:
    case OP_MUL: // of small and of unsigned numbers these wrap around by intention
        return (v->type.elem == DT_I32 || v->type.elem == DT_I64) &&
               is_known(op->operands[0], parts) && is_known(op->operands[1], parts);
    case OP_ADDPTR:
        return is_known(op->operands[0], parts) && is_known(op->operands[1], parts);
    default:
        return false;
    }
}

bool span_is_known(const ir_value *v) {
    unsigned parts = 0;
    return is_known(v, &parts);
}

static span product(ir_builder *b, span x, span y) {
    if (y.lo != y.hi && x.lo == x.hi)
        return product(b, y, x);
    ir_value *first = ir_binary(b, OP_MUL, x.lo, y.lo), *last = ir_binary(b, OP_MUL, x.hi, y.lo);
    span s = {ir_binary(b, OP_MIN, first, last), ir_binary(b, OP_MAX, first, last)};
    if (y.lo == y.hi)
        return s;
    first = ir_binary(b, OP_MUL, x.lo, y.hi);
    last = ir_binary(b, OP_MUL, x.hi, y.hi);
    s.lo = ir_binary(b, OP_MIN, s.lo, ir_binary(b, OP_MIN, first, last));
    s.hi = ir_binary(b, OP_MAX, s.hi, ir_binary(b, OP_MAX, first, last));
    return s;
}

static span sum(ir_builder *b, ir_opcode opcode, span x, span y) {
    bool minus = opcode == OP_SUB;
    return (span){ir_binary(b, opcode, x.lo, minus ? y.hi : y.lo),
                  ir_binary(b, opcode, x.hi, minus ? y.lo : y.hi)};
}

static span point(ir_value *v) { return (span){v, v}; }

static span values_of(ir_builder *b, ir_value *v) {
    const ir_op *op = v->def;
    int64_t number;
    if (!ir_is_tile(v->type))
        return point(ir_cast(b, v, DT_I64));
    if (ir_is_const_int(v, &number))
        return point(ir_const_int(b, i64(), number));
    if (op->opcode == OP_ARANGE) {
        int64_t start = ir_get_int(op, ATTR_START, 0);
        return (span){ir_const_int(b, i64(), start),
                      ir_const_int(b, i64(), start + v->type.shape[0] - 1)};
    }
    span x = values_of(b, op->operands[0]);
    if (op->opcode == OP_ADD || op->opcode == OP_SUB)
        return sum(b, op->opcode, x, values_of(b, op->operands[1]));
    if (op->opcode == OP_MUL)
        return product(b, x, values_of(b, op->operands[1]));
    if (op->opcode == OP_ADDPTR) {
        ir_value *size = ir_const_int(b, i64(), dtype_bytes(v->type.pointee));
        span offset = values_of(b, op->operands[1]);
        offset =
            (span){ir_binary(b, OP_MUL, offset.lo, size), ir_binary(b, OP_MUL, offset.hi, size)};
        return sum(b, OP_ADD, x, offset);
    }
    return x;
}

span span_of(ir_builder *b, ir_value *v) {
    span s = values_of(b, v);
    if (ir_is_pointer(v->type)) {
        ir_value *rest = ir_const_int(b, i64(), dtype_bytes(v->type.pointee) - 1);
        s.hi = ir_binary(b, OP_ADD, s.hi, rest);
    }
    return s;
}

ir_value *span_overlap(ir_builder *b, span x, span y) {
    return ir_binary(b, OP_AND, ir_cmp(b, "le", x.lo, y.hi), ir_cmp(b, "le", y.lo, x.hi));
}
