// Global memory on NVIDIA GPUs. A plain access is a branch around a plain vector load or store:
// ptxas turns that into one predicated instruction, and LLVM still sees an access it can reorder.
// What LLVM has no words for (cache hints; orderings and scopes of atomics) is inline PTX with the
// predicate on the instruction itself.
#include "codegen/nvptx.h"

static bool is_true(LLVMValueRef v) {
    return !v || (LLVMIsAConstantInt(v) && LLVMConstIntGetZExtValue(v));
}

LLVMValueRef nvptx_first_thread(emitter *e, LLVMValueRef mask) {
    LLVMValueRef lane = e->tgt->lane_id(e);
    LLVMValueRef first = LLVMBuildICmp(e->b, LLVMIntEQ, lane, emit_const_like(e, lane, 0), "");
    return is_true(mask) ? first : LLVMBuildAnd(e->b, first, mask, "");
}

/// i1 of the threads that carry out the access; NULL: all. One thread alone writes for a scalar:
/// the mask says which warp, here it is said which lane.
static LLVMValueRef writing_threads(emitter *e, const cg_access *a) {
    if (a->uniform)
        return nvptx_first_thread(e, a->mask);
    return is_true(a->mask) ? NULL : a->mask;
}

// ---------------------------------------------------------------------------- words

// An access moves words: integers of 1, 2, 4 or 8 bytes, as PTX has registers for. Elements are
// packed into them, several to a word if they are small, the first in the low bits.
typedef struct access_words {
    unsigned count, bits; ///< words, bits of each
    unsigned per_word;    ///< elements
} access_words;

static access_words words_of(const cg_access *a) {
    unsigned size = 8 * dtype_bytes(a->elem), total = size * a->vec;
    unsigned bits = size == 64 ? 64 : total < 32 ? total : 32;
    return (access_words){.count = total / bits, .bits = bits, .per_word = bits / size};
}

/// The type of a word in inline PTX, which has no registers for bytes: they take 16 bits.
static LLVMTypeRef register_type(emitter *e, const access_words *w) {
    return LLVMIntTypeInContext(e->llvm, w->bits < 16 ? 16 : w->bits);
}

static LLVMValueRef widen(emitter *e, LLVMValueRef v, LLVMTypeRef type) {
    return LLVMTypeOf(v) == type ? v : LLVMBuildZExt(e->b, v, type, "");
}

static LLVMValueRef pack_word(emitter *e, const access_words *w, LLVMValueRef const *values) {
    LLVMTypeRef type = LLVMIntTypeInContext(e->llvm, w->bits);
    LLVMValueRef word = nvptx_to_bits(e, values[0]);
    if (w->per_word == 1)
        return word;
    unsigned size = w->bits / w->per_word;
    word = LLVMBuildZExt(e->b, word, type, "");
    for (unsigned i = 1; i < w->per_word; i++) {
        LLVMValueRef part = LLVMBuildZExt(e->b, nvptx_to_bits(e, values[i]), type, "");
        part = LLVMBuildShl(e->b, part, LLVMConstInt(type, i * size, false), "");
        word = LLVMBuildOr(e->b, word, part, "");
    }
    return word;
}

static void unpack_word(emitter *e, const access_words *w, LLVMValueRef word, LLVMTypeRef elem,
                        LLVMValueRef *out) {
    if (w->per_word == 1) {
        if (w->bits < 16 && LLVMGetIntTypeWidth(LLVMTypeOf(word)) > w->bits)
            word = LLVMBuildTrunc(e->b, word, LLVMIntTypeInContext(e->llvm, w->bits), "");
        out[0] = nvptx_from_bits(e, word, elem);
        return;
    }
    unsigned size = w->bits / w->per_word;
    LLVMTypeRef small = LLVMIntTypeInContext(e->llvm, size);
    for (unsigned i = 0; i < w->per_word; i++) {
        LLVMValueRef part = word;
        if (i)
            part = LLVMBuildLShr(e->b, word, LLVMConstInt(LLVMTypeOf(word), i * size, false), "");
        out[i] = nvptx_from_bits(e, LLVMBuildTrunc(e->b, part, small, ""), elem);
    }
}

// ---------------------------------------------------------------------------- plain accesses

/// The LLVM type of a word: the element as it is, or an integer that holds several.
static LLVMTypeRef word_type(emitter *e, const cg_access *a, const access_words *w) {
    if (w->per_word == 1)
        return e->tgt->value_type(e, a->elem);
    return LLVMIntTypeInContext(e->llvm, w->bits);
}

/// A word of values; one element stays what it is.
static LLVMValueRef pack_plain(emitter *e, const access_words *w, LLVMValueRef const *values) {
    return w->per_word == 1 ? values[0] : pack_word(e, w, values);
}

static LLVMValueRef word_at(emitter *e, LLVMValueRef v, unsigned i) {
    return emit_is_vector(v) ? LLVMBuildExtractElement(e->b, v, emit_const_i32(e, i), "") : v;
}

static LLVMValueRef load_words(emitter *e, const cg_access *a, const access_words *w) {
    LLVMTypeRef type = word_type(e, a, w);
    if (w->count > 1)
        type = LLVMVectorType(type, w->count);
    LLVMValueRef load = LLVMBuildLoad2(e->b, type, a->ptr, "");
    LLVMSetAlignment(load, a->vec * dtype_bytes(a->elem));
    LLVMSetVolatile(load, a->is_volatile);
    if (a->is_const && !a->is_volatile) { // ld.global.nc
        LLVMMetadataRef empty = LLVMMDNodeInContext2(e->llvm, NULL, 0);
        LLVMSetMetadata(load, LLVMGetMDKindIDInContext(e->llvm, "invariant.load", 14),
                        LLVMMetadataAsValue(e->llvm, empty));
    }
    return load;
}

/// LLVM would take elements out of the vector of words at once, and put them together again, with an
/// instruction each, where the word is wanted.
static LLVMValueRef keep_word(emitter *e, const access_words *w, LLVMValueRef word) {
    if (w->count == 1 || w->per_word == 1 || w->bits != 32)
        return word;
    return nvptx_asm(e, LLVMTypeOf(word), "mov.b32 $0, $1;", "=r,r", &word, 1, 0);
}

/// Small elements stay packed until the branch has ended: what takes them apart waits for the load,
/// and nothing in the branch may, or the next load would wait as well.
static void load_plain(emitter *e, const cg_access *a, LLVMValueRef const *start,
                       LLVMValueRef *out) {
    access_words w = words_of(a);
    LLVMValueRef words[16], skipped[16];
    for (unsigned i = 0; i < w.count; i++)
        skipped[i] = pack_plain(e, &w, start + i * w.per_word);
    nvptx_guard g = nvptx_begin_guard(e, a->mask);
    LLVMValueRef load = load_words(e, a, &w);
    for (unsigned i = 0; i < w.count; i++)
        words[i] = word_at(e, load, i);
    nvptx_end_guard(e, &g);
    for (unsigned i = 0; i < w.count; i++)
        words[i] = g.after ? nvptx_merge(e, &g, words[i], skipped[i])
                           : keep_word(e, &w, nvptx_merge(e, &g, words[i], skipped[i]));
    for (unsigned i = 0; i < w.count; i++) {
        if (w.per_word == 1)
            out[i] = words[i];
        else
            unpack_word(e, &w, words[i], e->tgt->value_type(e, a->elem), out + i * w.per_word);
    }
}

/// Bytes go by words, on vectors of them LLVM's code is poor; all else as vectors of elements.
static void store_plain(emitter *e, const cg_access *a, LLVMValueRef const *values) {
    access_words w = words_of(a);
    bool by_words = dtype_bytes(a->elem) == 1;
    LLVMTypeRef type = by_words ? word_type(e, a, &w) : e->tgt->value_type(e, a->elem);
    unsigned n = by_words ? w.count : a->vec;
    LLVMValueRef v = LLVMGetUndef(n > 1 ? LLVMVectorType(type, n) : type);
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef part = by_words ? pack_plain(e, &w, values + i * w.per_word) : values[i];
        v = n > 1 ? LLVMBuildInsertElement(e->b, v, part, emit_const_i32(e, i), "") : part;
    }
    LLVMValueRef store = LLVMBuildStore(e->b, v, a->ptr);
    LLVMSetAlignment(store, a->vec * dtype_bytes(a->elem));
}

// ---------------------------------------------------------------------------- with cache hints

static char register_class(unsigned bits) { return bits <= 16 ? 'h' : bits == 32 ? 'r' : 'l'; }

/// ".cs", or ".L1::evict_first" (with an L2 policy beside it, see l2_policy).
static sv cache_modifier(emitter *e, const cg_access *a) {
    if (a->cache.len)
        return sv_format(e->arena, ".%" SV_FMT, SV_ARG(a->cache));
    return a->evict.len ? sv_format(e->arena, ".L1::%" SV_FMT, SV_ARG(a->evict)) : SV("");
}

/// The L2 policy of an eviction hint, made once, at the function's start.
static LLVMValueRef l2_policy(emitter *e, const cg_access *a) {
    if (!a->evict.len)
        return NULL;
    LLVMValueRef *policy = &nvptx_state_of(e)->policies[sv_is(a->evict, "evict_last")];
    if (*policy)
        return *policy;
    nvptx_need_ptx(e, 74);
    const char *text = sv_format(e->arena, "createpolicy.fractional.L2::%" SV_FMT ".b64 $0, 1.0;",
                                 SV_ARG(a->evict))
                           .data;
    nvptx_place here = nvptx_go_to_start(e);
    *policy = nvptx_asm(e, LLVMInt64TypeInContext(e->llvm), text, "=l", NULL, 0, 0);
    nvptx_go_back(e, here);
    return *policy;
}

/// "v4.b32", or "b16" for one word.
static const char *vector_suffix(emitter *e, const access_words *w) {
    if (w->count == 1)
        return sv_format(e->arena, "b%u", w->bits).data;
    return sv_format(e->arena, "v%u.b%u", w->count, w->bits).data;
}

/// Appends "{$0,$1}" or "$0" for operands first .. first + n - 1.
static void put_operands(strbuf *s, unsigned first, unsigned n) {
    if (n == 1) {
        strbuf_printf(s, "$%u", first);
        return;
    }
    for (unsigned i = 0; i < n; i++)
        strbuf_printf(s, "%s$%u", i ? "," : "{", first + i);
    strbuf_putc(s, '}');
}

/// ld with its predicate; the registers start with what masked-off threads get.
static void load_hinted(emitter *e, const cg_access *a, LLVMValueRef const *start,
                        LLVMValueRef *out) {
    access_words w = words_of(a);
    unsigned n = w.count, args = 0;
    LLVMValueRef mask = is_true(a->mask) ? NULL : a->mask, policy = l2_policy(e, a), v[8];
    LLVMTypeRef word = register_type(e, &w), words[4];
    strbuf text, regs;
    strbuf_init(&text, e->arena);
    strbuf_init(&regs, e->arena);
    for (unsigned i = 0; i < n; i++) {
        strbuf_printf(&regs, "=%c,", register_class(w.bits));
        words[i] = word;
    }
    strbuf_puts(&regs, "l");
    v[args++] = a->ptr;
    if (policy) {
        strbuf_puts(&regs, ",l");
        v[args++] = policy;
    }
    if (mask) {
        strbuf_printf(&text, "@$%u ", n + args);
        strbuf_puts(&regs, ",b");
        v[args++] = mask;
        for (unsigned i = 0; i < n; i++) {
            strbuf_printf(&regs, ",%u", i);
            v[args++] = widen(e, pack_word(e, &w, start + i * w.per_word), word);
        }
    }
    strbuf_printf(&text, "ld%s.global%" SV_FMT "%s.%s ", a->is_volatile ? ".volatile" : "",
                  SV_ARG(cache_modifier(e, a)), policy ? ".L2::cache_hint" : "",
                  vector_suffix(e, &w));
    put_operands(&text, 0, n);
    strbuf_printf(&text, ", [$%u]", n);
    if (policy)
        strbuf_printf(&text, ", $%u", n + 1);
    strbuf_putc(&text, ';');
    LLVMTypeRef type = n == 1 ? word : LLVMStructTypeInContext(e->llvm, words, n, false);
    LLVMValueRef got = nvptx_asm(e, type, text.data, regs.data, v, args, ASM_EFFECT);
    for (unsigned i = 0; i < n; i++)
        unpack_word(e, &w, n == 1 ? got : LLVMBuildExtractValue(e->b, got, i, ""),
                    e->tgt->value_type(e, a->elem), out + i * w.per_word);
}

static void store_hinted(emitter *e, const cg_access *a, LLVMValueRef mask,
                         LLVMValueRef const *values) {
    access_words w = words_of(a);
    unsigned n = w.count, args = 0;
    LLVMValueRef policy = l2_policy(e, a), v[8];
    strbuf text, regs;
    strbuf_init(&text, e->arena);
    strbuf_init(&regs, e->arena);
    for (unsigned i = 0; i < n; i++) {
        strbuf_printf(&regs, "%c,", register_class(w.bits));
        v[args++] = widen(e, pack_word(e, &w, values + i * w.per_word), register_type(e, &w));
    }
    strbuf_puts(&regs, "l");
    v[args++] = a->ptr;
    if (policy) {
        strbuf_puts(&regs, ",l");
        v[args++] = policy;
    }
    if (mask) {
        strbuf_printf(&text, "@$%u ", args);
        strbuf_puts(&regs, ",b");
        v[args++] = mask;
    }
    strbuf_printf(&text, "st.global%" SV_FMT "%s.%s [$%u], ", SV_ARG(cache_modifier(e, a)),
                  policy ? ".L2::cache_hint" : "", vector_suffix(e, &w), n);
    put_operands(&text, 0, n);
    if (policy)
        strbuf_printf(&text, ", $%u", n + 1);
    strbuf_putc(&text, ';');
    nvptx_asm(e, LLVMVoidTypeInContext(e->llvm), text.data, regs.data, v, args, ASM_EFFECT);
}

void nvptx_load(emitter *e, const cg_access *a, LLVMValueRef const *other, LLVMValueRef *out) {
    LLVMValueRef start[16];
    for (unsigned i = 0; i < a->vec; i++)
        start[i] = other ? other[i] : LLVMConstNull(e->tgt->value_type(e, a->elem));
    // LLVM would make ld.global.nc of a volatile load through *const, as of all others there.
    if (a->cache.len || a->evict.len || (a->is_volatile && a->is_const)) {
        load_hinted(e, a, start, out);
        return;
    }
    load_plain(e, a, start, out);
}

void nvptx_store(emitter *e, const cg_access *a, LLVMValueRef const *values) {
    LLVMValueRef mask = writing_threads(e, a);
    if (a->cache.len || a->evict.len) {
        store_hinted(e, a, mask, values);
        return;
    }
    nvptx_guard g = nvptx_begin_guard(e, mask);
    store_plain(e, a, values);
    nvptx_end_guard(e, &g);
}

// ---------------------------------------------------------------------------- atomics

/// An ordering, where nobody sees the old value, that red has.
static bool can_reduce(const cg_access *a, const char *op, sv sem) {
    return a->no_result && (sv_is(sem, "relaxed") || sv_is(sem, "release")) &&
           strncmp(op, "exch", 4) != 0 && strncmp(op, "cas", 3) != 0;
}

/// "atom.acq_rel.gpu.global.add.u32 $0, [$1], $2;" on the threads of `mask`; `old` is what the
/// others get. `args` are the bits of one or two operands. "red" where the old value is for nobody.
static LLVMValueRef atom(emitter *e, const cg_access *a, LLVMValueRef mask, const char *op, sv sem,
                         sv scope, LLVMValueRef const *args, unsigned n, LLVMValueRef old) {
    LLVMTypeRef type = LLVMTypeOf(args[0]);
    char c = register_class(LLVMGetIntTypeWidth(type));
    bool reduces = can_reduce(a, op, sem);
    unsigned count = 0, at = reduces ? 0 : 1; // the address is operand `at`
    LLVMValueRef v[6];
    strbuf text, regs;
    strbuf_init(&text, e->arena);
    strbuf_init(&regs, e->arena);
    if (!reduces)
        strbuf_printf(&regs, "=%c,", c);
    strbuf_puts(&regs, "l");
    v[count++] = a->ptr;
    for (unsigned i = 0; i < n; i++) {
        strbuf_printf(&regs, ",%c", c);
        v[count++] = args[i];
    }
    if (mask) {
        strbuf_printf(&text, "@$%u ", at + count);
        strbuf_puts(&regs, ",b");
        v[count++] = mask;
    }
    strbuf_printf(&text, "%s.%" SV_FMT ".%" SV_FMT ".global.%s ", reduces ? "red" : "atom",
                  SV_ARG(sem), SV_ARG(scope), op);
    if (reduces) {
        strbuf_puts(&text, "[$0], $1;");
        nvptx_asm(e, LLVMVoidTypeInContext(e->llvm), text.data, regs.data, v, count, ASM_EFFECT);
        return LLVMConstNull(type);
    }
    strbuf_puts(&regs, ",0");
    v[count++] = old ? old : LLVMConstNull(type);
    strbuf_printf(&text, "$0, [$1], $2%s;", n == 2 ? ", $3" : "");
    return nvptx_asm(e, type, text.data, regs.data, v, count, ASM_EFFECT);
}

/// Float max and min through integers of the same order: bits of numbers >= 0 compare as signed,
/// those of negative ones the other way round as unsigned.
static LLVMValueRef atomic_float_max_min(emitter *e, const cg_access *a, LLVMValueRef mask,
                                         bool is_max, sv sem, sv scope, LLVMValueRef bits) {
    unsigned width = LLVMGetIntTypeWidth(LLVMTypeOf(bits));
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(bits));
    LLVMValueRef plus = LLVMBuildICmp(e->b, LLVMIntSGE, bits, zero, "");
    LLVMValueRef minus = LLVMBuildICmp(e->b, LLVMIntSLT, bits, zero, "");
    if (mask) {
        plus = LLVMBuildAnd(e->b, plus, mask, "");
        minus = LLVMBuildAnd(e->b, minus, mask, "");
    }
    const char *up = sv_format(e->arena, "%s.s%u", is_max ? "max" : "min", width).data;
    const char *down = sv_format(e->arena, "%s.u%u", is_max ? "min" : "max", width).data;
    LLVMValueRef old = atom(e, a, plus, up, sem, scope, &bits, 1, NULL);
    return atom(e, a, minus, down, sem, scope, &bits, 1, old);
}

/// bf16 add where the hardware has none: compare and swap until nobody came between.
static LLVMValueRef atomic_add_by_cas(emitter *e, const cg_access *a, LLVMValueRef mask,
                                      LLVMValueRef value, sv sem, sv scope) {
    LLVMTypeRef type = LLVMTypeOf(value), i16 = LLVMInt16TypeInContext(e->llvm);
    nvptx_guard g = nvptx_begin_guard(e, mask);
    LLVMValueRef first = LLVMBuildLoad2(e->b, i16, a->ptr, "");
    LLVMSetAlignment(first, 2);
    LLVMSetVolatile(first, true);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), loop = emit_new_block(e, "");
    LLVMBasicBlockRef done = emit_new_block(e, "");
    LLVMBuildBr(e->b, loop);
    LLVMPositionBuilderAtEnd(e->b, loop);
    LLVMValueRef old = LLVMBuildPhi(e->b, i16, "");
    LLVMValueRef sum = nvptx_float_cast(e, DT_BF16, DT_FP32, false, nvptx_from_bits(e, old, type));
    sum = LLVMBuildFAdd(e->b, sum, nvptx_float_cast(e, DT_BF16, DT_FP32, false, value), "");
    sum = nvptx_to_bits(e, nvptx_float_cast(e, DT_FP32, DT_BF16, false, sum));
    LLVMValueRef seen =
        atom(e, a, NULL, "cas.b16", sem, scope, (LLVMValueRef[]){old, sum}, 2, NULL);
    LLVMAddIncoming(old, (LLVMValueRef[]){first, seen}, (LLVMBasicBlockRef[]){before, loop}, 2);
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, seen, old, ""), done, loop);
    LLVMPositionBuilderAtEnd(e->b, done);
    nvptx_end_guard(e, &g);
    return nvptx_from_bits(e, nvptx_merge(e, &g, old, LLVMConstNull(i16)), type);
}

/// The PTX op of a kind on a dtype; NULL if there is none.
static const char *atomic_op(emitter *e, sv kind, dtype t) {
    unsigned bits = dtype_bits(t);
    if (sv_is(kind, "fadd")) {
        if (bits == 16)
            return t == DT_FP16 ? "add.noftz.f16" : "add.noftz.bf16";
        return bits == 32 ? "add.f32" : bits == 64 ? "add.f64" : NULL;
    }
    if (bits != 32 && bits != 64)
        return NULL;
    if (sv_is(kind, "add"))
        return bits == 32 ? "add.u32" : "add.u64";
    if (sv_is(kind, "max") || sv_is(kind, "min"))
        return sv_format(e->arena, "%" SV_FMT ".%c%u", SV_ARG(kind), dtype_is_signed(t) ? 's' : 'u',
                         bits)
            .data;
    if (sv_is(kind, "xchg"))
        return bits == 32 ? "exch.b32" : "exch.b64";
    return sv_format(e->arena, "%" SV_FMT ".b%u", SV_ARG(kind), bits).data; // and or xor
}

LLVMValueRef nvptx_atomic_rmw(emitter *e, const cg_access *a, sv kind, LLVMValueRef value, sv sem,
                              sv scope) {
    LLVMValueRef mask = writing_threads(e, a);
    LLVMTypeRef type = LLVMTypeOf(value);
    const char *op = atomic_op(e, kind, a->elem);
    if (!op) {
        diag_error(e->diag, a->range, "an atomic '%" SV_FMT "' cannot work on %s on this device",
                   SV_ARG(kind), dtype_name(a->elem));
        return LLVMConstNull(type);
    }
    if (a->elem == DT_BF16 && nvptx_state_of(e)->sm < 90)
        return atomic_add_by_cas(e, a, mask, value, sem, scope);
    LLVMValueRef bits = nvptx_to_bits(e, value), old;
    bool ordered = sv_is(kind, "max") || sv_is(kind, "min");
    if (ordered && dtype_is_float(a->elem))
        old = atomic_float_max_min(e, a, mask, sv_is(kind, "max"), sem, scope, bits);
    else
        old = atom(e, a, mask, op, sem, scope, &bits, 1, NULL);
    return nvptx_from_bits(e, old, type);
}

LLVMValueRef nvptx_atomic_cas(emitter *e, const cg_access *a, LLVMValueRef cmp, LLVMValueRef value,
                              sv sem, sv scope) {
    LLVMTypeRef type = LLVMTypeOf(value);
    unsigned bits = dtype_bits(a->elem);
    if (bits < 16) {
        diag_error(e->diag, a->range, "an atomic 'cas' cannot work on %s", dtype_name(a->elem));
        return LLVMConstNull(type);
    }
    const char *op = sv_format(e->arena, "cas.b%u", bits).data;
    LLVMValueRef args[2] = {nvptx_to_bits(e, cmp), nvptx_to_bits(e, value)};
    LLVMValueRef old = atom(e, a, writing_threads(e, a), op, sem, scope, args, 2, NULL);
    return nvptx_from_bits(e, old, type);
}
