// How the files of float functions write LLVM IR: one word per operation, scalars and lanes alike.
#ifndef TILE_CODEGEN_MATH_NOTATION_H
#define TILE_CODEGEN_MATH_NOTATION_H

#include "codegen/emit.h"

static inline LLVMValueRef add(emitter *e, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildFAdd(e->b, a, b, "");
}
static inline LLVMValueRef sub(emitter *e, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildFSub(e->b, a, b, "");
}
static inline LLVMValueRef mul(emitter *e, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildFMul(e->b, a, b, "");
}
static inline LLVMValueRef fma_of(emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
    return emit_intrinsic(e, "llvm.fma", true, (LLVMValueRef[]){a, b, c}, 3);
}
/// A float constant like x.
static inline LLVMValueRef num(emitter *e, LLVMValueRef x, double v) {
    return emit_const_float_like(e, x, v);
}
static inline LLVMValueRef choose(emitter *e, LLVMValueRef c, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildSelect(e->b, c, a, b, "");
}
static inline LLVMValueRef compare(emitter *e, LLVMRealPredicate p, LLVMValueRef x, double v) {
    return LLVMBuildFCmp(e->b, p, x, num(e, x, v), "");
}
static inline LLVMValueRef magnitude(emitter *e, LLVMValueRef x) {
    return emit_intrinsic(e, "llvm.fabs", true, &x, 1);
}
static inline LLVMValueRef bits_of(emitter *e, LLVMValueRef x, unsigned width) {
    return LLVMBuildBitCast(e->b, x, emit_int_like(e, width, x), "");
}
static inline LLVMValueRef float_of(emitter *e, LLVMValueRef bits, LLVMValueRef like) {
    return LLVMBuildBitCast(e->b, bits, LLVMTypeOf(like), "");
}
static inline LLVMValueRef int_op(emitter *e, LLVMOpcode op, LLVMValueRef x, uint64_t v) {
    return LLVMBuildBinOp(e->b, op, x, emit_const_like(e, x, v), "");
}

/// c[0] + x * (c[1] + x * (...)), by n fused multiply-adds.
static inline LLVMValueRef polynomial(emitter *e, LLVMValueRef x, const double *c, unsigned n) {
    LLVMValueRef r = num(e, x, c[n]);
    for (unsigned i = n; i-- > 0;)
        r = fma_of(e, r, x, num(e, x, c[i]));
    return r;
}

#endif
