// Elementwise ops: one builder call or a few per register. The same calls serve scalars and lane
// values, whatever a lane value is on the target. Everything is total (RULES 8): no operand, not
// even a shift by 99 or a division by zero, gives LLVM poison or a trap.
//
// fp16 and bf16 are computed in their own type where the target holds them so, and else in fp32
// with one rounding to the type; functions of one float always take the way through fp32.
#include "codegen/emit_math.h"

typedef LLVMValueRef binary_fn(emitter *e, dtype t, LLVMValueRef x, LLVMValueRef y);

static bool is_fp8(dtype t) { return dtype_is_float(t) && dtype_bits(t) == 8; }
static bool is_half(dtype t) { return dtype_is_float(t) && dtype_bits(t) == 16; }

static LLVMValueRef select_of(emitter *e, LLVMValueRef c, LLVMValueRef x, LLVMValueRef y) {
    return LLVMBuildSelect(e->b, c, x, y, "");
}

// ---------------------------------------------------------------------------- integers

/// x / y or x % y. The divisor is made safe first; then the cases it stood for get their results:
/// minimum / -1 wraps around, and division by zero gives all ones, as the GPU does.
static LLVMValueRef int_division(emitter *e, dtype t, bool rem, LLVMValueRef x, LLVMValueRef y) {
    if (e->tgt->int_div && emit_is_vector(y) && !LLVMIsConstant(y) && t != DT_I1)
        return e->tgt->int_div(e, t, rem, x, y);
    bool is_signed = dtype_is_signed(t);
    LLVMValueRef ones = LLVMConstAllOnes(LLVMTypeOf(y)), one = emit_const_like(e, y, 1);
    LLVMValueRef by_zero = LLVMBuildICmp(e->b, LLVMIntEQ, y, LLVMConstNull(LLVMTypeOf(y)), "");
    LLVMValueRef by_minus_one = LLVMBuildICmp(e->b, LLVMIntEQ, y, ones, "");
    LLVMValueRef unsafe = by_zero;
    if (is_signed)
        unsafe = LLVMBuildOr(e->b, by_zero, by_minus_one, "");
    LLVMValueRef safe = select_of(e, unsafe, one, y), v;
    if (rem) {
        v = is_signed ? LLVMBuildSRem(e->b, x, safe, "") : LLVMBuildURem(e->b, x, safe, "");
    } else if (is_signed) {
        v = select_of(e, by_minus_one, LLVMBuildNeg(e->b, x, ""), LLVMBuildSDiv(e->b, x, safe, ""));
    } else {
        v = LLVMBuildUDiv(e->b, x, safe, "");
    }
    return select_of(e, by_zero, ones, v);
}

static LLVMValueRef emit_int_div(emitter *e, dtype t, LLVMValueRef x, LLVMValueRef y) {
    return int_division(e, t, false, x, y);
}

static LLVMValueRef emit_int_rem(emitter *e, dtype t, LLVMValueRef x, LLVMValueRef y) {
    return int_division(e, t, true, x, y);
}

static LLVMValueRef emit_int_add(emitter *e, dtype t, LLVMValueRef x, LLVMValueRef y) {
    (void)t;
    return LLVMBuildAdd(e->b, x, y, "");
}

static LLVMValueRef emit_int_sub(emitter *e, dtype t, LLVMValueRef x, LLVMValueRef y) {
    (void)t;
    return LLVMBuildSub(e->b, x, y, "");
}

static LLVMValueRef emit_int_mul(emitter *e, dtype t, LLVMValueRef x, LLVMValueRef y) {
    (void)t;
    return LLVMBuildMul(e->b, x, y, "");
}

static LLVMValueRef emit_and(emitter *e, dtype t, LLVMValueRef x, LLVMValueRef y) {
    (void)t;
    return LLVMBuildAnd(e->b, x, y, "");
}

static LLVMValueRef emit_or(emitter *e, dtype t, LLVMValueRef x, LLVMValueRef y) {
    (void)t;
    return LLVMBuildOr(e->b, x, y, "");
}

static LLVMValueRef emit_xor(emitter *e, dtype t, LLVMValueRef x, LLVMValueRef y) {
    (void)t;
    return LLVMBuildXor(e->b, x, y, "");
}

/// i1: the shift amount is less than the width.
static LLVMValueRef shift_in_range(emitter *e, dtype t, LLVMValueRef y) {
    if (dtype_bits(t) == 1)
        return LLVMBuildNot(e->b, y, "");
    return LLVMBuildICmp(e->b, LLVMIntULT, y, emit_const_like(e, y, dtype_bits(t)), "");
}

/// A distance that LLVM may shift by: y if that is `ok`, else anything below the width. PTX shifts by
/// 32-bit distances, and some LLVMs (22) fold a choice like this one on a 64-bit y into the shift of
/// its low half; taking the low bits says the same in a way that they leave alone.
static LLVMValueRef shift_distance(emitter *e, dtype t, LLVMValueRef y, LLVMValueRef ok) {
    if (dtype_bits(t) == 64)
        return LLVMBuildAnd(e->b, y, emit_const_like(e, y, 63), "");
    return select_of(e, ok, y, LLVMConstNull(LLVMTypeOf(y)));
}

static LLVMValueRef emit_shl(emitter *e, dtype t, LLVMValueRef x, LLVMValueRef y) {
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(x)), ok = shift_in_range(e, t, y);
    return select_of(e, ok, LLVMBuildShl(e->b, x, shift_distance(e, t, y, ok), ""), zero);
}

static LLVMValueRef emit_shr(emitter *e, dtype t, LLVMValueRef x, LLVMValueRef y) {
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(x)), ok = shift_in_range(e, t, y);
    if (dtype_is_signed(t)) // too far is as far as one can: all sign bits
        return LLVMBuildAShr(e->b, x, select_of(e, ok, y, emit_const_like(e, y, dtype_bits(t) - 1)),
                             "");
    return select_of(e, ok, LLVMBuildLShr(e->b, x, shift_distance(e, t, y, ok), ""), zero);
}

static LLVMValueRef int_min_max(emitter *e, dtype t, bool is_max, LLVMValueRef x, LLVMValueRef y) {
    LLVMIntPredicate less = dtype_is_signed(t) ? LLVMIntSLT : LLVMIntULT;
    LLVMValueRef x_is_less = LLVMBuildICmp(e->b, less, x, y, "");
    return is_max ? select_of(e, x_is_less, y, x) : select_of(e, x_is_less, x, y);
}

static LLVMValueRef emit_umulhi(emitter *e, dtype t, LLVMValueRef x, LLVMValueRef y) {
    unsigned bits = dtype_bits(t);
    LLVMTypeRef wide = emit_int_like(e, 2 * bits, x);
    LLVMValueRef product =
        LLVMBuildMul(e->b, LLVMBuildZExt(e->b, x, wide, ""), LLVMBuildZExt(e->b, y, wide, ""), "");
    product = LLVMBuildLShr(e->b, product, emit_const_like(e, product, bits), "");
    return LLVMBuildTrunc(e->b, product, LLVMTypeOf(x), "");
}

static LLVMValueRef emit_int_abs(emitter *e, dtype t, LLVMValueRef x) {
    if (!dtype_is_signed(t))
        return x;
    LLVMValueRef negative = LLVMBuildICmp(e->b, LLVMIntSLT, x, LLVMConstNull(LLVMTypeOf(x)), "");
    return select_of(e, negative, LLVMBuildNeg(e->b, x, ""), x);
}

static LLVMValueRef emit_bit_count(emitter *e, ir_opcode op, LLVMValueRef x) {
    LLVMValueRef args[2] = {x, LLVMConstNull(LLVMInt1TypeInContext(e->llvm))}; // of 0, too
    if (op == OP_CLZ)
        return emit_intrinsic(e, "llvm.ctlz", true, args, 2);
    return emit_intrinsic(e, op == OP_POPC ? "llvm.ctpop" : "llvm.bitreverse", true, args, 1);
}

static binary_fn *const int_binary[IR_OPCODE_COUNT] = {
    [OP_ADD] = emit_int_add, [OP_SUB] = emit_int_sub,   [OP_MUL] = emit_int_mul,
    [OP_DIV] = emit_int_div, [OP_REM] = emit_int_rem,   [OP_AND] = emit_and,
    [OP_OR] = emit_or,       [OP_XOR] = emit_xor,       [OP_SHL] = emit_shl,
    [OP_SHR] = emit_shr,     [OP_UMULHI] = emit_umulhi,
};

// ---------------------------------------------------------------------------- floats

/// -x and |x| change the sign bit alone, of any float type, NaNs included.
static LLVMValueRef float_sign(emitter *e, dtype t, bool is_abs, LLVMValueRef x) {
    bool native = LLVMGetTypeKind(e->tgt->value_type(e, t)) != LLVMIntegerTypeKind;
    if (native)
        return is_abs ? emit_intrinsic(e, "llvm.fabs", true, &x, 1) : LLVMBuildFNeg(e->b, x, "");
    LLVMValueRef sign = emit_const_like(e, x, 1ull << (dtype_bits(t) - 1));
    return is_abs ? LLVMBuildAnd(e->b, x, LLVMConstNot(sign), "") : LLVMBuildXor(e->b, x, sign, "");
}

/// True if one divisor serves many elements: a splat, a broadcast, a constant.
static bool divisor_is_shared(const ir_op *op) {
    const ir_op *def = op->operands[1]->def;
    while (def && (def->opcode == OP_CONVERT_LAYOUT || def->opcode == OP_RESHAPE))
        def = def->operands[0]->def;
    return def && ir_is_tile(op->results[0]->type) &&
           (def->opcode == OP_SPLAT || def->opcode == OP_BROADCAST || def->opcode == OP_CONST);
}

static LLVMValueRef float_div(emitter *e, const ir_op *op, dtype t, LLVMValueRef const *v) {
    bool precise = ir_get_flag(op, ATTR_PRECISE);
    bool shared = t == DT_FP32 && !precise && divisor_is_shared(op);
    if (shared && e->tgt->fdiv_rough && e->narrowed[op->results[0]->id])
        return e->tgt->fdiv_rough(e, v[0], v[1]);
    if (shared && e->tgt->fdiv_shared)
        return e->tgt->fdiv_shared(e, v[0], v[1]);
    return e->tgt->fdiv(e, t, precise, v[0], v[1]);
}

static LLVMValueRef float_arith(emitter *e, const ir_op *op, dtype t, LLVMValueRef const *v) {
    bool nan_wins = sv_is(ir_get_str(op, ATTR_NAN), "all");
    switch (op->opcode) {
    case OP_ADD:
        return emit_contract(e, LLVMBuildFAdd(e->b, v[0], v[1], ""));
    case OP_SUB:
        return emit_contract(e, LLVMBuildFSub(e->b, v[0], v[1], ""));
    case OP_MUL:
        return emit_contract(e, LLVMBuildFMul(e->b, v[0], v[1], ""));
    case OP_FMA:
        return emit_intrinsic(e, "llvm.fma", true, (LLVMValueRef[]){v[0], v[1], v[2]}, 3);
    case OP_DIV:
        return float_div(e, op, t, v);
    case OP_REM:
        return e->tgt->frem(e, t, v[0], v[1]);
    case OP_MIN:
    case OP_MAX:
        return e->tgt->fminmax(e, t, op->opcode == OP_MAX, nan_wins, v[0], v[1]);
    default:
        return e->tgt->math(e, op->opcode, t, ir_get_flag(op, ATTR_APPROX), v[0]);
    }
}

/// Ops that the targets do in their own 16-bit type, where they hold one.
static bool has_half_form(ir_opcode op) {
    return op == OP_ADD || op == OP_SUB || op == OP_MUL || op == OP_FMA || op == OP_MIN ||
           op == OP_MAX;
}

static LLVMValueRef float_op(emitter *e, const ir_op *op, dtype t, LLVMValueRef const *v) {
    if (op->opcode == OP_NEG || op->opcode == OP_ABS)
        return float_sign(e, t, op->opcode == OP_ABS, v[0]);
    if (!is_half(t) || (!e->tgt->soft_half && has_half_form(op->opcode)))
        return float_arith(e, op, t, v);
    // fp32 has more than twice the bits of either, so that rounding twice is as good as once, but
    // for the three-operand fma: even fp64 could round to the middle of two numbers.
    dtype wide = op->opcode == OP_FMA ? DT_FP64 : DT_FP32;
    LLVMValueRef w[3];
    for (uint32_t i = 0; i < op->num_operands; i++)
        w[i] = e->tgt->float_cast(e, t, wide, false, v[i]);
    LLVMValueRef r =
        op->opcode == OP_FMA ? emit_fma_to_odd(e, w[0], w[1], w[2]) : float_arith(e, op, wide, w);
    return e->tgt->float_cast(e, wide, t, false, r);
}

// ---------------------------------------------------------------------------- comparison

typedef struct predicate {
    const char *name;
    LLVMIntPredicate as_signed, as_unsigned;
    LLVMRealPredicate as_float;
} predicate;

static const predicate predicates[] = {
    {"eq", LLVMIntEQ, LLVMIntEQ, LLVMRealOEQ},   {"ne", LLVMIntNE, LLVMIntNE, LLVMRealUNE},
    {"lt", LLVMIntSLT, LLVMIntULT, LLVMRealOLT}, {"le", LLVMIntSLE, LLVMIntULE, LLVMRealOLE},
    {"gt", LLVMIntSGT, LLVMIntUGT, LLVMRealOGT}, {"ge", LLVMIntSGE, LLVMIntUGE, LLVMRealOGE},
};

static LLVMValueRef emit_cmp(emitter *e, const ir_op *op, dtype t, LLVMValueRef x, LLVMValueRef y) {
    sv name = ir_get_str(op, ATTR_PRED);
    const predicate *p = predicates;
    while (!sv_is(name, p->name))
        p++; // the verifier has seen to it that the name is one of them
    if (!dtype_is_float(t))
        return LLVMBuildICmp(e->b, dtype_is_signed(t) ? p->as_signed : p->as_unsigned, x, y, "");
    if (is_half(t) && e->tgt->soft_half) {
        x = e->tgt->float_cast(e, t, DT_FP32, false, x);
        y = e->tgt->float_cast(e, t, DT_FP32, false, y);
    }
    return LLVMBuildFCmp(e->b, p->as_float, x, y, "");
}

// ---------------------------------------------------------------------------- conversions

static LLVMValueRef int_to_int(emitter *e, dtype from, dtype to, LLVMValueRef x) {
    LLVMTypeRef type = emit_int_like(e, dtype_bits(to), x);
    if (to == DT_I1)
        return LLVMBuildICmp(e->b, LLVMIntNE, x, LLVMConstNull(LLVMTypeOf(x)), "");
    if (dtype_bits(to) <= dtype_bits(from))
        return dtype_bits(to) == dtype_bits(from) ? x : LLVMBuildTrunc(e->b, x, type, "");
    return dtype_is_signed(from) ? LLVMBuildSExt(e->b, x, type, "")
                                 : LLVMBuildZExt(e->b, x, type, "");
}

/// Any float to an integer. Small floats are exact in fp32, so they go that way.
static LLVMValueRef float_to_int(emitter *e, dtype from, dtype to, LLVMValueRef x) {
    if (dtype_bits(from) < 32) {
        x = e->tgt->float_cast(e, from, DT_FP32, false, x);
        from = DT_FP32;
    }
    if (to == DT_I1)
        return LLVMBuildFCmp(e->b, LLVMRealUNE, x, LLVMConstNull(LLVMTypeOf(x)), "");
    return e->tgt->float_to_int(e, from, to, x);
}

static LLVMValueRef cast_pointer(emitter *e, dtype from, dtype to, LLVMValueRef x) {
    if (from == to)
        return x;
    if (from != DT_PTR) {
        LLVMTypeRef ptr = e->tgt->value_type(e, DT_PTR);
        return LLVMBuildIntToPtr(e->b, x, emit_type_like(e, ptr, x), "");
    }
    LLVMValueRef bits = LLVMBuildPtrToInt(e->b, x, emit_int_like(e, 64, x), "");
    return int_to_int(e, DT_U64, to, bits);
}

static LLVMValueRef emit_cast(emitter *e, const ir_op *op, LLVMValueRef x) {
    dtype from = op->operands[0]->type.elem, to = op->results[0]->type.elem;
    bool rtz = sv_is(ir_get_str(op, ATTR_ROUND), "rtz");
    if (from == DT_PTR || to == DT_PTR)
        return cast_pointer(e, from, to, x);
    if (from == to)
        return x;
    if (!dtype_is_float(from))
        return dtype_is_float(to) ? e->tgt->int_to_float(e, from, to, x)
                                  : int_to_int(e, from, to, x);
    return dtype_is_float(to) ? e->tgt->float_cast(e, from, to, rtz, x)
                              : float_to_int(e, from, to, x);
}

static LLVMValueRef emit_bitcast(emitter *e, const ir_op *op, LLVMValueRef x) {
    LLVMTypeRef type = emit_type_like(e, e->tgt->value_type(e, op->results[0]->type.elem), x);
    return LLVMTypeOf(x) == type ? x : LLVMBuildBitCast(e->b, x, type, "");
}

static LLVMValueRef emit_addptr(emitter *e, const ir_op *op, LLVMValueRef p, LLVMValueRef offset) {
    dtype t = op->operands[1]->type.elem;
    LLVMValueRef wide = int_to_int(e, t, dtype_is_signed(t) ? DT_I64 : DT_U64, offset);
    unsigned bytes = dtype_bytes(op->operands[0]->type.pointee);
    LLVMTypeRef unit = LLVMIntTypeInContext(e->llvm, 8 * bytes);
    return LLVMBuildGEP2(e->b, unit, p, &wide, 1, "");
}

// ---------------------------------------------------------------------------- dispatch

static LLVMValueRef refuse_fp8(emitter *e, const ir_op *op, dtype t) {
    diag_error(e->diag, op->range, "'%s' cannot work on %s: convert to fp16 or fp32 first",
               ir_get_op_info(op->opcode)->name, dtype_name(t));
    return LLVMConstNull(emit_lane_type(e, e->tgt->value_type(e, op->results[0]->type.elem)));
}

LLVMValueRef emit_elementwise(emitter *e, const ir_op *op, LLVMValueRef const *v) {
    dtype t = op->operands[0]->type.elem;
    switch (op->opcode) {
    case OP_CAST:
        return emit_cast(e, op, v[0]);
    case OP_BITCAST:
        return emit_bitcast(e, op, v[0]);
    case OP_ADDPTR:
        return emit_addptr(e, op, v[0], v[1]);
    case OP_SELECT:
        return select_of(e, v[0], v[1], v[2]);
    default:
        break;
    }
    if (is_fp8(t) && op->opcode != OP_NEG && op->opcode != OP_ABS)
        return refuse_fp8(e, op, t);
    if (op->opcode == OP_CMP)
        return emit_cmp(e, op, t, v[0], v[1]);
    if (dtype_is_float(t))
        return float_op(e, op, t, v);
    if (int_binary[op->opcode])
        return int_binary[op->opcode](e, t, v[0], v[1]);
    if (op->opcode == OP_NEG)
        return LLVMBuildNeg(e->b, v[0], "");
    if (op->opcode == OP_ABS)
        return emit_int_abs(e, t, v[0]);
    if (op->opcode == OP_POPC || op->opcode == OP_CLZ || op->opcode == OP_BREV)
        return emit_bit_count(e, op->opcode, v[0]);
    return int_min_max(e, t, op->opcode == OP_MAX, v[0], v[1]);
}
