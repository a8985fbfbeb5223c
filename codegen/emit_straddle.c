// Loads whose vectors lie across two aligned ones. A norm of a row that starts anywhere takes its
// weights as far from a multiple of 16 bytes as the row is (ir/pass_realign.c). Element by element
// that would be as many accesses as elements, each of a few bytes here and there; instead both aligned
// vectors are loaded, and what is wanted is cut out of the two. By how many elements is the same for
// all vectors of the tile, but known at run time only: a shift in steps, each of which moves by a power
// of two or not, whole words first, then within words.
#include "codegen/emit.h"

/// The elements from the aligned vector's start to the wanted one's, as i64: of one vector, so of all.
LLVMValueRef emit_straddle_phase(emitter *e, LLVMValueRef ptr, unsigned vec, unsigned bytes) {
    LLVMTypeRef i64 = LLVMInt64TypeInContext(e->llvm);
    LLVMValueRef address = LLVMBuildPtrToInt(e->b, ptr, i64, "");
    LLVMValueRef odd = LLVMBuildAnd(e->b, address, LLVMConstInt(i64, vec * bytes - 1, false), "");
    return LLVMBuildLShr(e->b, odd, LLVMConstInt(i64, (unsigned)__builtin_ctz(bytes), false), "");
}

/// words[i] = words[i + by] where `moves`, for those that are left: `n` at first, `n` - `by` then.
static void step(emitter *e, LLVMValueRef *words, unsigned n, unsigned by, LLVMValueRef moves) {
    for (unsigned i = 0; i + by < n; i++)
        words[i] = LLVMBuildSelect(e->b, moves, words[i + by], words[i], "");
}

static LLVMValueRef has_bit(emitter *e, LLVMValueRef phase, unsigned bit) {
    LLVMValueRef v = LLVMBuildAnd(e->b, phase, emit_const_i32(e, bit), "");
    return LLVMBuildICmp(e->b, LLVMIntNE, v, emit_const_i32(e, 0), "");
}

/// out[i] = halves[i + phase], 0 <= i < vec, of 2 * vec elements.
void emit_cut_straddling(emitter *e, LLVMValueRef const *halves, unsigned vec, LLVMValueRef phase,
                         LLVMValueRef *out) {
    LLVMTypeRef type = LLVMTypeOf(halves[0]), i32 = LLVMInt32TypeInContext(e->llvm);
    unsigned many = emit_per_word(type);
    many = many > vec ? vec : many;
    unsigned within = many > 1, n = 2 * vec / many; // words, and whether there is a rest of one
    LLVMValueRef words[32];
    for (unsigned i = 0; i < n; i++)
        words[i] = emit_pack(e, halves + i * many, many);
    phase = LLVMBuildTrunc(e->b, phase, i32, "");
    for (unsigned by = n / 4; by > 0; by /= 2) {
        n = vec / many + 2 * by - 1 + within;
        step(e, words, n, by, has_bit(e, phase, by * many));
    }
    if (!within) {
        memcpy(out, words, vec * sizeof *out);
        return;
    }
    LLVMValueRef bits = LLVMBuildMul(e->b, phase, emit_const_i32(e, 32 / many), "");
    for (unsigned i = 0; i < vec / many; i++) {
        LLVMValueRef word =
            emit_intrinsic(e, "llvm.fshr", true, (LLVMValueRef[]){words[i + 1], words[i], bits}, 3);
        emit_unpack(e, word, many, type, out + i * many);
    }
}
