// What a kernel says on an NVIDIA GPU: device_print through the driver's vprintf, which keeps lines
// in a buffer until the host synchronizes, and failed assertions through its __assertfail, which
// prints where it was and ends the context.
#include "codegen/nvptx.h"

enum { MAX_ARGUMENTS = 3 + IR_MAX_RANK + 1, BUFFER_BYTES = 64 };

static LLVMTypeRef i32_type(emitter *e) { return LLVMInt32TypeInContext(e->llvm); }
static LLVMTypeRef i64_type(emitter *e) { return LLVMInt64TypeInContext(e->llvm); }
static LLVMTypeRef pointer_type(emitter *e) { return LLVMPointerTypeInContext(e->llvm, 0); }

/// Declares one of the functions that every driver brings along.
static LLVMValueRef driver_function(emitter *e, const char *name, LLVMTypeRef type) {
    LLVMValueRef fn = LLVMGetNamedFunction(e->module, name);
    return fn ? fn : LLVMAddFunction(e->module, name, type);
}

/// A string constant; the registers of one op share theirs.
static LLVMValueRef string(emitter *e, const char *text) {
    nvptx_state *s = nvptx_state_of(e);
    for (uint32_t i = 0; i < s->strings.len; i++)
        if (!strcmp(s->strings.data[i].text, text))
            return s->strings.data[i].address;
    nvptx_string made = {text, LLVMBuildGlobalStringPtr(e->b, text, "")};
    VEC_PUSH(e->arena, s->strings, made);
    return made.address;
}

// ---------------------------------------------------------------------------- lines

/// A line in the making: printf's format, and its arguments as C promotes them.
typedef struct line {
    strbuf format;
    LLVMValueRef args[MAX_ARGUMENTS];
    unsigned num_args;
} line;

static void put_argument(line *l, const char *format, LLVMValueRef v) {
    strbuf_puts(&l->format, format);
    l->args[l->num_args++] = v;
}

/// Text in which '%' is a percent sign.
static void put_text(line *l, const char *text) {
    for (; *text; text++) {
        if (*text == '%')
            strbuf_putc(&l->format, '%');
        strbuf_putc(&l->format, *text);
    }
}

static int digits_of(uint32_t largest) {
    int n = 1;
    for (; largest >= 10; largest /= 10)
        n++;
    return n;
}

/// " idx (1, 2)": the coordinates of a row-major index, of power-of-two extents.
static void put_index(emitter *e, line *l, const cg_print *p) {
    const ir_type *t = &p->value->type;
    strbuf_puts(&l->format, " idx (");
    for (unsigned d = 0; d < t->rank; d++) {
        unsigned shift = layout_shape_bits(t->shape + d + 1, t->rank - d - 1);
        LLVMValueRef v = LLVMBuildLShr(e->b, p->index, emit_const_i32(e, shift), "");
        v = LLVMBuildAnd(e->b, v, emit_const_i32(e, t->shape[d] - 1), "");
        int width = digits_of(t->shape[d] - 1);
        put_argument(l, sv_format(e->arena, "%s%%%du", d ? ", " : "", width).data, v);
    }
    strbuf_putc(&l->format, ')');
}

/// As a double; every NaN becomes the positive one, so that all of them print alike.
static LLVMValueRef as_double(emitter *e, dtype t, LLVMValueRef v) {
    LLVMTypeRef type = LLVMDoubleTypeInContext(e->llvm);
    if (t != DT_FP64 && t != DT_FP32)
        v = e->tgt->float_cast(e, t, DT_FP32, false, v);
    if (t != DT_FP64)
        v = LLVMBuildFPExt(e->b, v, type, "");
    LLVMValueRef nan = emit_const_bits(e, DT_FP64, UINT64_C(0x7ff8000000000000));
    return LLVMBuildSelect(e->b, LLVMBuildFCmp(e->b, LLVMRealUNO, v, v, ""), nan, v, "");
}

static void put_hex(emitter *e, line *l, dtype t, LLVMValueRef bits) {
    unsigned width = dtype_bits(t);
    LLVMValueRef v = width < 32 ? LLVMBuildZExt(e->b, bits, i32_type(e), "") : bits;
    const char *size = width > 32 ? "ll" : "";
    put_argument(l, sv_format(e->arena, "0x%%0%u%sx", (width + 3) / 4, size).data, v);
}

static void put_value(emitter *e, line *l, const cg_print *p) {
    dtype t = p->value->type.elem;
    if (t == DT_PTR) {
        put_argument(l, "0x%llx", nvptx_to_bits(e, p->reg));
    } else if (p->hex) {
        put_hex(e, l, t, nvptx_to_bits(e, p->reg));
    } else if (dtype_is_float(t)) {
        put_argument(l, "%f", as_double(e, t, p->reg));
    } else if (dtype_bits(t) > 32) {
        put_argument(l, dtype_is_signed(t) ? "%lld" : "%llu", p->reg);
    } else {
        LLVMValueRef v = p->reg;
        if (dtype_bits(t) < 32)
            v = dtype_is_signed(t) ? LLVMBuildSExt(e->b, v, i32_type(e), "")
                                   : LLVMBuildZExt(e->b, v, i32_type(e), "");
        put_argument(l, dtype_is_signed(t) ? "%d" : "%u", v);
    }
}

/// Memory of the thread for the arguments of one call, in the function's entry block.
static LLVMValueRef argument_buffer(emitter *e) {
    nvptx_state *s = nvptx_state_of(e);
    if (s->print_buffer)
        return s->print_buffer;
    nvptx_place here = nvptx_go_to_start(e);
    LLVMTypeRef bytes = LLVMArrayType2(LLVMInt8TypeInContext(e->llvm), BUFFER_BYTES);
    s->print_buffer = LLVMBuildAlloca(e->b, bytes, "");
    LLVMSetAlignment(s->print_buffer, 8);
    nvptx_go_back(e, here);
    return s->print_buffer;
}

/// vprintf(format, arguments): each argument at the next multiple of its size.
static void call_vprintf(emitter *e, line *l) {
    LLVMTypeRef types[MAX_ARGUMENTS], params[2] = {pointer_type(e), pointer_type(e)};
    for (unsigned i = 0; i < l->num_args; i++)
        types[i] = LLVMTypeOf(l->args[i]);
    LLVMTypeRef record = LLVMStructTypeInContext(e->llvm, types, l->num_args, false);
    LLVMValueRef buffer = argument_buffer(e);
    for (unsigned i = 0; i < l->num_args; i++)
        LLVMBuildStore(e->b, l->args[i], LLVMBuildStructGEP2(e->b, record, buffer, i, ""));
    LLVMTypeRef type = LLVMFunctionType(i32_type(e), params, 2, false);
    const char *format = sv_copy(e->arena, strbuf_view(&l->format)).data;
    LLVMValueRef args[2] = {string(e, format), buffer};
    LLVMBuildCall2(e->b, type, driver_function(e, "vprintf", type), args, 2, "");
}

void nvptx_print(emitter *e, const cg_print *p) {
    bool is_tile = p->value && ir_is_tile(p->value->type);
    LLVMValueRef active = is_tile ? p->active : nvptx_first_thread(e, p->active);
    nvptx_guard g = nvptx_begin_guard(e, active);
    line l = {.num_args = 0};
    strbuf_init(&l.format, e->arena);
    put_argument(&l, "pid (%u", e->tgt->program_id(e, 0));
    put_argument(&l, ", %u", e->tgt->program_id(e, 1));
    put_argument(&l, ", %u)", e->tgt->program_id(e, 2));
    if (p->value)
        put_index(e, &l, p);
    put_text(&l, p->label);
    if (p->value)
        put_value(e, &l, p);
    strbuf_putc(&l.format, '\n');
    call_vprintf(e, &l);
    nvptx_end_guard(e, &g);
}

// ---------------------------------------------------------------------------- assertions

/// `void __assertfail(message, file, line, function, char size)`.
void nvptx_assert_true(emitter *e, LLVMValueRef cond, LLVMValueRef mask, sv text, src_range range) {
    LLVMTypeRef types[5] = {pointer_type(e), pointer_type(e), i32_type(e), pointer_type(e),
                            i64_type(e)};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->llvm), types, 5, false);
    LLVMValueRef fn = driver_function(e, "__assertfail", type);
    LLVMValueRef fails = LLVMBuildNot(e->b, cond, "");
    if (mask)
        fails = LLVMBuildAnd(e->b, fails, mask, "");
    unsigned at = range.file ? diag_locate(e->diag, range.file, range.begin).line : 0;
    const char *file = range.file ? diag_file_path(e->diag, range.file) : "";
    const char *message = text.len ? sv_copy(e->arena, text).data : "assertion";
    nvptx_guard g = nvptx_begin_guard(e, fails);
    LLVMValueRef args[5] = {
        string(e, message),
        string(e, file),
        emit_const_i32(e, at),
        string(e, sv_copy(e->arena, e->func->name).data),
        LLVMConstInt(i64_type(e), 1, false),
    };
    LLVMBuildCall2(e->b, type, fn, args, 5, "");
    nvptx_end_guard(e, &g);
}
