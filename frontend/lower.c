// Lowering: the syntax tree of one kernel, walked once per specialization, becomes tile IR. Types
// and compile-time values flow forward with the walk; helpers are inlined where they are called;
// an `if` on a compile-time value leaves only its taken branch. This file has the entry, binds the
// kernel's parameters, and keeps the limits. Statements: lower_stmt.c, lower_control.c,
// lower_loop.c. Expressions: lower_expr.c, lower_name.c, lower_call.c. What operators mean:
// semantics.c; built-ins: builtins.c.
#include "frontend/scope.h"
#include "ir/pitfalls.h"

enum {
    MAX_NESTING = 600,       ///< of expressions, blocks and calls inside each other
    MAX_STATEMENTS = 200000, ///< lowered in one kernel, inlined and unrolled ones included
    MAX_REGIONS = 150,       ///< run-time branches and loops inside each other
    NAMES_PER_STATEMENT = 16,
    MAX_CALL_NOTES = 6, ///< of a chain of calls, innermost first; the outermost is shown, too
};

// --- errors and limits

src_range lower_place(const lowering *lo, src_range range) {
    const call_frame *f = lo->frames;
    return f && f->module->is_library && range.file == f->module->file ? f->user_range : range;
}

void lower_set_range(lowering *lo, src_range range) { lo->b.range = lower_place(lo, range); }

value lower_error(lowering *lo, src_range at, const char *fmt, ...) {
    strbuf text;
    strbuf_init(&text, lo->arena);
    va_list args;
    va_start(args, fmt);
    strbuf_vprintf(&text, fmt, args);
    va_end(args);
    diag_error(lo->diag, lower_place(lo, at), "%s", text.data);
    unsigned notes = 0;
    for (const call_frame *f = lo->frames; f && f->call.file; f = f->parent)
        if (!f->module->is_library && (++notes <= MAX_CALL_NOTES || !f->parent->call.file))
            diag_note(lo->diag, f->call, "in the call of '%" SV_FMT "' here",
                      SV_ARG(f->func->name));
    if (diag_is_full(lo->diag))
        lower_stop(lo);
    return value_poison();
}

void lower_warning(lowering *lo, const char *name, src_range at, const char *fmt, ...) {
    if (lo->frames && lo->frames->module->is_library)
        return; // it knows what it does
    strbuf text;
    strbuf_init(&text, lo->arena);
    va_list args;
    va_start(args, fmt);
    strbuf_vprintf(&text, fmt, args);
    va_end(args);
    diag_warning(lo->diag, name, at, "%s", text.data);
}

bool lower_descend(lowering *lo, src_range range) {
    if (++lo->depth <= MAX_NESTING)
        return lo->statements < MAX_STATEMENTS; // else the lowering has been stopped
    if (lo->statements < MAX_STATEMENTS)
        lower_error(lo, range, "this is nested too deeply");
    lower_stop(lo);
    return false;
}

void lower_open_region(lowering *lo, src_range range) {
    // The names of both arms are compared: with very many of them that is the work of statements.
    uint64_t work = lo->scope->len / NAMES_PER_STATEMENT;
    if (lo->statements < MAX_STATEMENTS - 1) // then lower_count finds that it is too much
        lo->statements +=
            work < MAX_STATEMENTS - 1 - lo->statements ? work : MAX_STATEMENTS - 1 - lo->statements;
    if (++lo->regions != MAX_REGIONS)
        return;
    lower_error(lo, range, "branches and loops are nested more than %d deep", MAX_REGIONS);
    lower_stop(lo);
}

bool lower_count(lowering *lo, src_range range) {
    if (lo->statements >= MAX_STATEMENTS)
        return false;
    if (++lo->statements < MAX_STATEMENTS)
        return true;
    lower_error(lo, range,
                "the kernel has more than %d statements once its calls are inlined and its static "
                "loops unrolled",
                MAX_STATEMENTS);
    return false;
}

void lower_stop(lowering *lo) { lo->statements = MAX_STATEMENTS; }

bool lower_is_stopped(const lowering *lo) { return lo->statements >= MAX_STATEMENTS; }

value lower_stdlib(lowering *lo, const char *name) {
    for (uint32_t i = 0; i < lo->program->libraries.len; i++) {
        const fe_module *m = lo->program->libraries.data[i];
        const symbol *s = program_find(m, sv_from(name));
        if (s && s->kind == SYMBOL_FUNC)
            return (value){.kind = VALUE_FUNC, .func = s->func, .module = m};
    }
    return lower_error(lo, lo->b.range, "the standard library has no function '%s'", name);
}

// --- a lowering

/// Sets up a lowering of `func` in module m; `names` and `frame` are the outermost ones.
static lowering begin_lowering(fe_program *p, ir_func *func, const fe_module *m,
                               const fe_options *options, scope *names, call_frame *frame) {
    lowering lo = {.arena = func->module->arena,
                   .diag = func->module->diag,
                   .program = p,
                   .options = options,
                   .func = func,
                   .scope = names,
                   .frames = frame};
    scope_init(names, lo.arena, m);
    frame->module = m;
    frame->is_tail = true;
    lo.b = (ir_builder){.func = func, .block = func->body, .range = func->range};
    return lo;
}

bool program_evaluate(fe_program *p, const fe_module *m, const ast_expr *e, value *out) {
    static const ast_func nowhere = {.name = {"module", 6}};
    uint32_t errors = diag_error_count(p->diag);
    ir_func *scratch = ir_func_create(ir_module_create(p->arena, p->diag), SV("constant"), 1, 1);
    scope names;
    call_frame frame = {.func = &nowhere};
    lowering lo = begin_lowering(p, scratch, m, p->options, &names, &frame);
    names.until = e->range.begin;
    *out = lower_expr(&lo, e);
    if (out->kind == VALUE_IR)
        lower_error(&lo, e->range, "expected a value that is known at compile time");
    return value_is_constexpr(out) && diag_error_count(p->diag) == errors;
}

// --- parameters

static value value_of_constant(const fe_constant *c) {
    switch (c->kind) {
    case FE_NONE:
        return value_none();
    case FE_BOOL:
        return value_bool(c->i != 0);
    case FE_INT:
        return value_int(c->i);
    case FE_FLOAT:
        return value_float(c->f);
    case FE_STRING:
        return value_string(c->str);
    case FE_DTYPE:
        return value_dtype(ir_scalar_type(c->type));
    }
    return value_none();
}

static const fe_arg *find_arg(const fe_arg *args, uint32_t n, sv name) {
    for (uint32_t i = 0; i < n; i++)
        if (sv_equal(args[i].name, name))
            return &args[i];
    return NULL;
}

/// A constexpr of an option's name, without a value of its own, has the option's value.
static bool option_value(const fe_options *o, sv name, value *out) {
    const struct {
        const char *name;
        uint32_t value;
    } options[] = {{"num_warps", o->num_warps},
                   {"num_ctas", o->num_ctas},
                   {"num_stages", o->num_stages},
                   {"maxnreg", o->maxnreg}};
    for (unsigned i = 0; i < 4; i++)
        if (sv_is(name, options[i].name)) {
            bool none = i == 3 && !o->maxnreg;
            *out = none ? value_none() : value_int(options[i].value);
            return true;
        }
    return false;
}

bool fe_is_option(sv name) {
    static const fe_options none;
    value unused;
    return option_value(&none, name, &unused);
}

static value constexpr_param(lowering *lo, const fe_kernel *k, uint32_t index, const fe_arg *arg) {
    const fe_param *p = &k->params[index];
    const ast_param *source = &k->func->params[index];
    value v;
    if (arg && arg->is_constexpr)
        return value_of_constant(&arg->constant);
    if (arg)
        return lower_error(lo, source->range,
                           "'%" SV_FMT "' is constexpr: it takes a value, not a type",
                           SV_ARG(p->name));
    if (source->default_value)
        return lower_default(lo, lo->scope->module, source->default_value);
    if (p->has_default) // from a config of the decorator
        return value_of_constant(&p->default_value);
    if (option_value(lo->options, p->name, &v))
        return v;
    return lower_error(lo, source->range,
                       "constexpr '%" SV_FMT "' of kernel '%" SV_FMT "' has no value; give it one "
                       "with -D %" SV_FMT "=... or a default",
                       SV_ARG(p->name), SV_ARG(k->name), SV_ARG(p->name));
}

/// The type that a default value gives a parameter that has no other.
static bool type_of_default(const fe_param *p, ir_type *type) {
    dtype t = p->default_value.kind == FE_BOOL    ? DT_I1
              : p->default_value.kind == FE_INT   ? DT_I32
              : p->default_value.kind == FE_FLOAT ? DT_FP32
                                                  : DT_VOID;
    if (!p->has_default || t == DT_VOID)
        return false;
    if (t == DT_I32 && !dtype_int_fits(DT_I32, p->default_value.i, false))
        t = DT_I64;
    *type = ir_scalar_type(t);
    return true;
}

/// The type of a run-time parameter, from its annotation and its argument, which must agree.
static bool find_param_type(lowering *lo, const fe_kernel *k, uint32_t index, const fe_arg *arg,
                            ir_type *type) {
    const fe_param *p = &k->params[index];
    const ast_param *source = &k->func->params[index];
    annotation a = annotation_read(lo->scope->module, source->annotation);
    bool from_arg = arg && arg->has_type;
    if (a.kind == ANNOTATION_TYPE) {
        *type = a.type;
        ir_type given = from_arg ? arg->type : a.type;
        given.pointer_const = a.type.pointer_const;
        if (!ir_type_equal(given, a.type))
            lower_error(lo, source->range, "'%" SV_FMT "' is declared %s but the argument is %s",
                        SV_ARG(p->name), ir_type_string(lo->arena, a.type),
                        ir_type_string(lo->arena, arg->type));
        return true;
    }
    if (a.kind == ANNOTATION_DESCRIPTOR) {
        lower_error(lo, source->range,
                    "'%" SV_FMT "': a tensor descriptor that the host makes is not supported yet; "
                    "pass pointer, shape and strides, and call tl.make_tensor_descriptor here",
                    SV_ARG(p->name));
        return false;
    }
    if (from_arg) {
        *type = arg->type;
        type->pointer_const |= a.kind == ANNOTATION_CONST && ir_is_pointer(*type);
        return true;
    }
    *type = a.type;
    if (a.kind == ANNOTATION_HOST || type_of_default(p, type))
        return true;
    lower_error(lo, source->range,
                "parameter '%" SV_FMT "' of kernel '%" SV_FMT "' has no type; annotate it (%" SV_FMT
                ": *fp32 for a pointer, %" SV_FMT ": i32 for a number), or pass --signature "
                "'%" SV_FMT "(%" SV_FMT "=*fp32)'",
                SV_ARG(p->name), SV_ARG(k->name), SV_ARG(p->name), SV_ARG(p->name), SV_ARG(k->name),
                SV_ARG(p->name));
    return false;
}

static uint32_t greater(uint32_t a, uint32_t b) { return a > b ? a : b; }

/// Adds a run-time parameter to the function. One known to be 1 stays a parameter of its type, but
/// reads as the constant, which folds and decides.
static value runtime_param(lowering *lo, const fe_kernel *k, uint32_t index, const fe_arg *arg) {
    const fe_param *p = &k->params[index];
    src_range range = k->func->params[index].range;
    ir_type type;
    if (!find_param_type(lo, k, index, arg, &type))
        return value_poison();
    if (type.rank || type.elem == DT_VOID)
        return lower_error(lo, range, "parameter '%" SV_FMT "' must be a number or a pointer",
                           SV_ARG(p->name));
    bool is_one = arg && arg->is_one && dtype_is_int(type.elem);
    uint32_t divisibility = greater(p->divisibility, arg ? arg->divisibility : 0);
    ir_value *v = ir_add_param(lo->func, p->name, type, greater(divisibility, 1), is_one, range);
    lo->func->params[lo->func->num_params - 1].claimed = p->divisibility;
    return value_ir(is_one ? ir_const_int(&lo->b, type, 1) : v);
}

static void bind_kernel_params(lowering *lo, const fe_kernel *k, const fe_arg *args, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        bool known = false;
        for (uint32_t j = 0; j < k->num_params; j++)
            known |= sv_equal(args[i].name, k->params[j].name);
        if (!known)
            lower_error(lo, k->func->range, "kernel '%" SV_FMT "' has no parameter '%" SV_FMT "'",
                        SV_ARG(k->name), SV_ARG(args[i].name));
    }
    for (uint32_t i = 0; i < k->num_params; i++) {
        const fe_param *p = &k->params[i];
        const ast_param *source = &k->func->params[i];
        const fe_arg *arg = find_arg(args, n, p->name);
        bool is_none = !arg && p->has_default && p->default_value.kind == FE_NONE && !p->has_type;
        value v;
        if (source->is_vararg || source->is_kwarg)
            v = lower_error(lo, source->range, "a kernel takes a fixed number of parameters");
        else if (p->is_constexpr || is_none)
            v = constexpr_param(lo, k, i, arg);
        else if (arg && arg->is_constexpr)
            v = value_of_constant(&arg->constant);
        else
            v = runtime_param(lo, k, i, arg);
        v.range = v.defined = source->range;
        scope_set(lo->scope, p->name, v, source->range);
    }
}

// --- the entry

/// Takes a function that could not be lowered out of its module again.
static void remove_func(ir_module *m, ir_func *f) {
    ir_func **at = &m->first;
    m->last = NULL;
    while (*at && *at != f) {
        m->last = *at;
        at = &(*at)->next;
    }
    *at = NULL;
}

ir_func *fe_lower(fe_program *p, ir_module *m, const fe_kernel *k, const fe_arg *args,
                  uint32_t num_args, const fe_options *options) {
    uint32_t errors = diag_error_count(m->diag);
    ir_func *f = ir_func_create(m, k->name, options->num_warps, options->num_ctas);
    f->num_stages = options->num_stages;
    f->maxnreg = options->maxnreg;
    f->range = k->func->range;
    scope names;
    call_frame frame = {.func = k->func};
    lowering lo = begin_lowering(p, f, p->modules.data[0], options, &names, &frame);
    bind_kernel_params(&lo, k, args, num_args);
    lower_block(&lo, k->func->body.data, k->func->body.len);
    const binding *result = scope_find(&names, SCOPE_RESULT);
    if (result && result->value.kind != VALUE_NONE && result->value.kind != VALUE_POISON)
        lower_error(&lo, result->where,
                    "a kernel returns nothing; store the result through a pointer");
    lo.b.range = k->func->range;
    ir_create(&lo.b, OP_RETURN, NULL, 0, NULL, 0);
    if (diag_error_count(m->diag) == errors)
        ir_warn_pitfalls(f);
    if (diag_error_count(m->diag) == errors)
        return f;
    remove_func(m, f);
    return NULL;
}
