// The blocks of a cluster: their barrier, their shared memory, distributed over them, and exchanges. An address
// in the own block becomes one in another by `mapa`; what goes there moves as words of up to 32 bits,
// or 64, several at a time. All of it is inline PTX, since LLVM 19 has only some of it.
#include "codegen/nvptx.h"

static LLVMTypeRef none_type(emitter *e) { return LLVMVoidTypeInContext(e->llvm); }

// ---------------------------------------------------------------------------- barrier

static void barrier_part(emitter *e, const char *text) {
    enum { MODIFIERS_PTX = 80 };
    nvptx_need_ptx(e, MODIFIERS_PTX);
    nvptx_asm(e, none_type(e), text, "", NULL, 0, ASM_EFFECT | ASM_CONVERGENT);
}

void nvptx_cluster_barrier(emitter *e) {
    barrier_part(e, "barrier.cluster.arrive.release.aligned;");
    barrier_part(e, "barrier.cluster.wait.acquire.aligned;");
}

void nvptx_cluster_start(emitter *e) { barrier_part(e, "barrier.cluster.arrive.relaxed.aligned;"); }

void nvptx_cluster_started(emitter *e) { barrier_part(e, "barrier.cluster.wait.aligned;"); }

// ---------------------------------------------------------------------------- memory

/// How a vector of elements moves: `count` words of `bits` each.
typedef struct words {
    unsigned count, bits;
} words;

static unsigned bits_of(emitter *e, LLVMTypeRef elem) {
    return LLVMGetIntTypeWidth(LLVMTypeOf(nvptx_to_bits(e, LLVMGetUndef(elem))));
}

static words words_of(emitter *e, LLVMTypeRef elem, unsigned vec) {
    unsigned size = bits_of(e, elem), total = size * vec;
    unsigned bits = size == 64 ? 64 : total < 32 ? total : 32;
    return (words){total / bits, bits};
}

/// The letter of the register of a word; there are none of bytes.
static char letter(const words *w) { return w->bits <= 16 ? 'h' : w->bits == 32 ? 'r' : 'l'; }

static LLVMTypeRef register_type(emitter *e, const words *w) {
    return LLVMIntTypeInContext(e->llvm, w->bits < 16 ? 16 : w->bits);
}

/// The address in the memory of block `cta` of the cluster.
static LLVMValueRef address_in(emitter *e, LLVMValueRef cta, LLVMValueRef byte_offset) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(e->llvm);
    LLVMValueRef own = LLVMBuildPtrToInt(e->b, nvptx_shared_pointer(e, byte_offset), i32, "");
    LLVMValueRef args[2] = {own, cta};
    return nvptx_asm(e, i32, "mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r", args, 2, 0);
}

/// ".v4.b32" and "{$1, $2, $3, $4}", from operand `first` on.
static void put_words(strbuf *type, strbuf *list, const words *w, unsigned first) {
    if (w->count > 1)
        strbuf_printf(type, ".v%u", w->count);
    strbuf_printf(type, ".b%u", w->bits);
    strbuf_puts(list, w->count > 1 ? "{" : "");
    for (unsigned i = 0; i < w->count; i++)
        strbuf_printf(list, "%s$%u", i ? ", " : "", first + i);
    strbuf_puts(list, w->count > 1 ? "}" : "");
}

void nvptx_cluster_store(emitter *e, LLVMValueRef cta, LLVMValueRef byte_offset,
                         LLVMValueRef const *values, unsigned vec, LLVMValueRef pred) {
    LLVMTypeRef elem = LLVMTypeOf(values[0]), i32 = LLVMInt32TypeInContext(e->llvm);
    words w = words_of(e, elem, vec);
    LLVMTypeRef small = LLVMIntTypeInContext(e->llvm, bits_of(e, elem));
    LLVMTypeRef word = LLVMIntTypeInContext(e->llvm, w.bits);
    nvptx_guard g = nvptx_begin_guard(e, pred);
    LLVMValueRef all = LLVMGetUndef(LLVMVectorType(small, vec)), args[5];
    for (unsigned i = 0; i < vec; i++)
        all = LLVMBuildInsertElement(e->b, all, nvptx_to_bits(e, values[i]), emit_const_i32(e, i),
                                     "");
    all = LLVMBuildBitCast(e->b, all, LLVMVectorType(word, w.count), "");
    strbuf type, list, regs;
    strbuf_init(&type, e->arena);
    strbuf_init(&list, e->arena);
    strbuf_init(&regs, e->arena);
    put_words(&type, &list, &w, 1);
    strbuf_puts(&regs, "r");
    args[0] = address_in(e, cta, byte_offset);
    for (unsigned i = 0; i < w.count; i++) {
        LLVMValueRef v = LLVMBuildExtractElement(e->b, all, LLVMConstInt(i32, i, false), "");
        args[i + 1] = w.bits < 16 ? LLVMBuildZExt(e->b, v, register_type(e, &w), "") : v;
        strbuf_printf(&regs, ",%c", letter(&w));
    }
    sv text = sv_format(e->arena, "st.shared::cluster%s [$0], %s;", type.data, list.data);
    nvptx_asm(e, none_type(e), text.data, regs.data, args, w.count + 1, ASM_EFFECT);
    nvptx_end_guard(e, &g);
}

void nvptx_cluster_load(emitter *e, LLVMValueRef cta, LLVMValueRef byte_offset, LLVMTypeRef elem,
                        unsigned vec, LLVMValueRef *out) {
    words w = words_of(e, elem, vec);
    LLVMTypeRef small = LLVMIntTypeInContext(e->llvm, bits_of(e, elem)), one = register_type(e, &w);
    LLVMTypeRef word = LLVMIntTypeInContext(e->llvm, w.bits), fields[4] = {one, one, one, one};
    strbuf type, list, regs;
    strbuf_init(&type, e->arena);
    strbuf_init(&list, e->arena);
    strbuf_init(&regs, e->arena);
    put_words(&type, &list, &w, 0);
    for (unsigned i = 0; i < w.count; i++)
        strbuf_printf(&regs, "=%c,", letter(&w));
    strbuf_puts(&regs, "r");
    LLVMTypeRef result =
        w.count > 1 ? LLVMStructTypeInContext(e->llvm, fields, w.count, false) : one;
    LLVMValueRef address = address_in(e, cta, byte_offset);
    sv text = sv_format(e->arena, "ld.shared::cluster%s %s, [$%u];", type.data, list.data, w.count);
    LLVMValueRef got = nvptx_asm(e, result, text.data, regs.data, &address, 1, ASM_EFFECT);
    LLVMValueRef all = LLVMGetUndef(LLVMVectorType(word, w.count));
    for (unsigned i = 0; i < w.count; i++) {
        LLVMValueRef v = w.count > 1 ? LLVMBuildExtractValue(e->b, got, i, "") : got;
        v = w.bits < 16 ? LLVMBuildTrunc(e->b, v, word, "") : v;
        all = LLVMBuildInsertElement(e->b, all, v, emit_const_i32(e, i), "");
    }
    all = LLVMBuildBitCast(e->b, all, LLVMVectorType(small, vec), "");
    for (unsigned i = 0; i < vec; i++) {
        LLVMValueRef bits = LLVMBuildExtractElement(e->b, all, emit_const_i32(e, i), "");
        out[i] = nvptx_from_bits(e, bits, elem);
    }
}

// ---------------------------------------------------------------------------- exchanges

// What is sent to another block counts itself off at a barrier object there, once it has arrived, and
// who waits at that object sees it. `barrier.cluster` would have each thread wait until all that it
// has done is visible to the whole device, and then drop its L1 cache.

enum { EXCHANGE_PTX = 81 };

/// A PTX version that was asked for may have none.
bool nvptx_has_exchanges(emitter *e) {
    unsigned asked = e->options->ptx_version;
    return !asked || asked >= EXCHANGE_PTX;
}

static LLVMValueRef own_address(emitter *e, uint32_t gate) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(e->llvm);
    LLVMValueRef offset = emit_lane_const_i32(e, gate);
    return LLVMBuildPtrToInt(e->b, nvptx_shared_pointer(e, offset), i32, "");
}

void nvptx_exchange_expect(emitter *e, uint32_t gate, uint32_t bytes) {
    LLVMValueRef warp = e->tgt->warp_id(e), zero = LLVMConstNull(LLVMTypeOf(warp));
    LLVMValueRef first = LLVMBuildICmp(e->b, LLVMIntEQ, warp, zero, "");
    nvptx_guard g = nvptx_begin_guard(e, nvptx_first_thread(e, first));
    LLVMValueRef args[2] = {own_address(e, gate), emit_const_i32(e, bytes)};
    nvptx_asm(e, none_type(e),
              "mbarrier.init.shared::cta.b64 [$0], 1; fence.mbarrier_init.release.cluster; "
              "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;",
              "r,r", args, 2, ASM_EFFECT);
    nvptx_end_guard(e, &g);
}

void nvptx_exchange_send(emitter *e, uint32_t gate, LLVMValueRef cta, LLVMValueRef byte_offset,
                         LLVMValueRef value, LLVMValueRef pred) {
    nvptx_need_ptx(e, EXCHANGE_PTX);
    unsigned bits = bits_of(e, LLVMTypeOf(value));
    nvptx_guard g = nvptx_begin_guard(e, pred);
    LLVMValueRef args[3] = {address_in(e, cta, byte_offset), nvptx_to_bits(e, value),
                            address_in(e, cta, emit_lane_const_i32(e, gate))};
    const char *text = sv_format(e->arena,
                                 "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b%u "
                                 "[$0], $1, [$2];",
                                 bits)
                           .data;
    nvptx_asm(e, none_type(e), text, bits == 64 ? "r,l,r" : "r,r,r", args, 3, ASM_EFFECT);
    nvptx_end_guard(e, &g);
}

void nvptx_exchange_wait(emitter *e, uint32_t gate) {
    LLVMValueRef address = own_address(e, gate);
    nvptx_asm(e, none_type(e),
              "{ .reg .pred come; wait: mbarrier.try_wait.parity.shared::cta.b64 come, [$0], 0; "
              "@!come bra wait; }",
              "r", &address, 1, ASM_EFFECT | ASM_CONVERGENT);
}
