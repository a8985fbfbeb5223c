// What a function's signature and decorators say before anything is lowered: which parameters are
// constexpr, the types and hints of annotations in their many spellings, defaults, and
// do_not_specialize. Annotations are read by shape, not evaluated: a .py file may annotate with
// names of the host's (torch.Tensor), which say nothing here.
#include "frontend/program.h"

// --- annotations

static annotation annotation_of_type(ir_type type) {
    return (annotation){.kind = ANNOTATION_TYPE, .type = type};
}

static annotation invalid(const char *problem) {
    return (annotation){.kind = ANNOTATION_INVALID, .problem = problem};
}

/// A one-word annotation: a dtype, constexpr, const, or one of Python's types.
static annotation read_word(sv word) {
    dtype t = dtype_from_name(word);
    if (t != DT_VOID && t != DT_PTR)
        return annotation_of_type(ir_scalar_type(t));
    if (sv_is(word, "constexpr"))
        return (annotation){.kind = ANNOTATION_CONSTEXPR};
    if (sv_is(word, "const"))
        return (annotation){.kind = ANNOTATION_CONST};
    if (sv_is(word, "int"))
        return (annotation){.kind = ANNOTATION_HOST, .type = ir_scalar_type(DT_I32)};
    if (sv_is(word, "float"))
        return (annotation){.kind = ANNOTATION_HOST, .type = ir_scalar_type(DT_FP32)};
    if (sv_is(word, "bool"))
        return annotation_of_type(ir_scalar_type(DT_I1));
    if (sv_is(word, "tensor")) // Triton's word for any value
        return (annotation){.kind = ANNOTATION_NONE};
    if (sv_is(word, "tensor_descriptor"))
        return (annotation){.kind = ANNOTATION_DESCRIPTOR};
    return (annotation){.kind = ANNOTATION_UNKNOWN};
}

static annotation pointer_to(annotation element, bool is_const) {
    if (element.kind == ANNOTATION_TYPE && ir_is_pointer(element.type))
        return invalid("pointers to pointers are not supported; load an i64 and cast it");
    if (element.kind != ANNOTATION_TYPE)
        return invalid("a pointer needs the name of an element type, as in *fp32");
    return annotation_of_type(ir_pointer_type(element.type.elem, is_const));
}

static sv trim(sv s) {
    while (s.len && (s.data[0] == ' ' || s.data[0] == '\t')) {
        s.data++;
        s.len--;
    }
    while (s.len && (s.data[s.len - 1] == ' ' || s.data[s.len - 1] == '\t'))
        s.len--;
    return s;
}

/// Cuts `prefix` off the front of *s if it is there.
static bool skip_prefix(sv *s, const char *prefix) {
    if (!sv_starts_with(*s, prefix))
        return false;
    size_t n = strlen(prefix);
    *s = trim((sv){s->data + n, s->len - n});
    return true;
}

/// The part after the last '.': the type in tl.float32.
static sv last_component(sv s) {
    for (size_t i = s.len; i-- > 0;)
        if (s.data[i] == '.')
            return (sv){s.data + i + 1, s.len - i - 1};
    return s;
}

/// Splits "text:16" and reads the number: a power of two up to 2^20; 0 if there is none.
static bool read_hint(sv *s, uint32_t *hint) {
    *hint = 0;
    for (size_t i = 0; i < s->len; i++) {
        if (s->data[i] != ':')
            continue;
        sv digits = trim((sv){s->data + i + 1, s->len - i - 1});
        uint32_t n = 0;
        for (size_t k = 0; k < digits.len; k++) {
            if (digits.data[k] < '0' || digits.data[k] > '9' || n > 1 << 20)
                return false;
            n = n * 10 + (uint32_t)(digits.data[k] - '0');
        }
        *s = trim((sv){s->data, i});
        *hint = n;
        return n > 0 && (n & (n - 1)) == 0 && n <= 1 << 20;
    }
    return true;
}

/// "*fp32", "*k fp32:16", "i32:16", "tl.constexpr": an annotation given as a string.
static annotation read_string(sv text) {
    uint32_t hint;
    text = trim(text);
    if (!read_hint(&text, &hint))
        return invalid("the divisibility after ':' must be a power of two, as in \"*fp32:16\"");
    annotation a;
    if (skip_prefix(&text, "*")) {
        bool is_const = skip_prefix(&text, "const ") || skip_prefix(&text, "k ");
        sv word = last_component(text);
        if (!is_const && word.len > 1 && word.data[0] == 'k' &&
            read_word((sv){word.data + 1, word.len - 1}).kind == ANNOTATION_TYPE) {
            is_const = true; // Triton's own spelling, "*kfp32"
            word = (sv){word.data + 1, word.len - 1};
        }
        a = pointer_to(sv_starts_with(text, "*") ? annotation_of_type(ir_pointer_type(DT_I8, false))
                                                 : read_word(word),
                       is_const);
    } else {
        a = read_word(last_component(text));
    }
    if (hint && a.kind != ANNOTATION_TYPE)
        return a.kind == ANNOTATION_INVALID ? a : invalid("only a type can have a hint after ':'");
    if (hint && dtype_is_float(a.type.elem))
        return invalid("only integers and pointers can have a hint after ':'");
    a.divisibility = hint;
    return a;
}

/// Whether a dotted expression starts at a Triton module ("tl", or what the file calls it).
static bool starts_in_triton(const fe_module *m, const ast_expr *e) {
    while (e && e->kind == EXPR_ATTRIBUTE)
        e = e->left;
    if (!e || e->kind != EXPR_NAME)
        return false;
    const symbol *s = program_resolve(&m, e->name);
    return s ? s->kind == SYMBOL_TRITON : sv_is(e->name, "tl") || sv_is(e->name, "triton");
}

static annotation read_at_depth(const fe_module *m, const ast_expr *e, unsigned depth);

/// tl.pointer_type(element[, address_space][, const=True])
static annotation read_pointer_call(const fe_module *m, const ast_expr *e, unsigned depth) {
    if (e->items.len < 1)
        return (annotation){.kind = ANNOTATION_UNKNOWN};
    bool is_const = false;
    for (uint32_t i = 0; i < e->num_keywords; i++)
        if (sv_is(e->keywords[i].name, "const"))
            is_const = e->keywords[i].value->bool_value;
    return pointer_to(read_at_depth(m, e->items.data[0], depth + 1), is_const);
}

static annotation read_at_depth(const fe_module *m, const ast_expr *e, unsigned depth) {
    if (!e)
        return (annotation){.kind = ANNOTATION_NONE};
    if (depth > 8) // T = tl.pointer_type(T)
        return (annotation){.kind = ANNOTATION_UNKNOWN};
    switch (e->kind) {
    case EXPR_STRING:
        return read_string(e->str);
    case EXPR_NAME: {
        const fe_module *in = m;
        const symbol *s = program_resolve(&in, e->name);
        if (s && s->kind == SYMBOL_GLOBAL)
            return read_at_depth(in, s->global->value, depth + 1); // TYPE = tl.float32
        return read_word(s && s->kind == SYMBOL_TRITON && s->member.len ? s->member : e->name);
    }
    case EXPR_ATTRIBUTE:
        return starts_in_triton(m, e) ? read_word(e->name)
                                      : (annotation){.kind = ANNOTATION_UNKNOWN};
    case EXPR_POINTER:
        return pointer_to(e->left ? read_at_depth(m, e->left, depth + 1)
                                  : read_word(last_component(e->name)),
                          e->pointer_const);
    case EXPR_CALL:
        if (e->left->kind == EXPR_NAME || e->left->kind == EXPR_ATTRIBUTE)
            if (sv_is(e->left->name, "pointer_type"))
                return read_pointer_call(m, e, depth);
        return (annotation){.kind = ANNOTATION_UNKNOWN};
    default:
        return (annotation){.kind = ANNOTATION_UNKNOWN};
    }
}

annotation annotation_read(const fe_module *m, const ast_expr *e) { return read_at_depth(m, e, 0); }

// --- decorators

sv program_decorator_name(const ast_expr *e) {
    if (e->kind == EXPR_CALL)
        e = e->left;
    return e->kind == EXPR_NAME || e->kind == EXPR_ATTRIBUTE ? e->name : (sv){0};
}

bool program_is_jit(const ast_func *f) {
    static const char *const names[] = {"jit", "autotune", "heuristics", "constexpr_function"};
    for (uint32_t i = 0; i < f->decorators.len; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (sv_is(program_decorator_name(f->decorators.data[i]), names[k]))
                return true;
    return false;
}

bool program_is_constexpr(const ast_func *f) {
    for (uint32_t i = 0; i < f->decorators.len; i++)
        if (sv_is(program_decorator_name(f->decorators.data[i]), "constexpr_function"))
            return true;
    return false;
}

void program_check_decorators(fe_program *p, const ast_func *f) {
    static const char *const options[] = {"do_not_specialize", "do_not_specialize_on_alignment",
                                          "noinline",          "debug",
                                          "version",           "repr",
                                          "launch_metadata"};
    for (uint32_t i = 0; i < f->decorators.len; i++) {
        const ast_expr *e = f->decorators.data[i];
        ast_func just_this = {.decorators = {.data = &f->decorators.data[i], .len = 1}};
        if (!program_is_jit(&just_this)) {
            if (p->modules.data[0]->is_python && program_is_jit(f))
                continue; // of the host: it wraps what launches the kernel
            diag_error(p->diag, e->range,
                       "unknown decorator; a function can have @triton.jit, @triton.autotune and "
                       "@triton.heuristics, or none");
            continue;
        }
        sv name = program_decorator_name(e);
        if (e->kind == EXPR_CALL && e->items.len && sv_is(name, "jit"))
            diag_error(p->diag, e->items.data[0]->range, "@jit takes its options by name");
        for (uint32_t k = 0; k < e->num_keywords && sv_is(name, "jit"); k++) {
            bool known = false;
            for (size_t o = 0; o < sizeof options / sizeof *options; o++)
                known |= sv_is(e->keywords[k].name, options[o]);
            if (!known)
                diag_error(p->diag, e->keywords[k].range, "@jit has no option '%" SV_FMT "'",
                           SV_ARG(e->keywords[k].name));
        }
    }
}

/// The parameter that an entry of do_not_specialize means by name or number; NULL: none.
static fe_param *find_listed(fe_kernel *k, const ast_expr *e) {
    if (e->kind == EXPR_INT && !e->int_overflow && e->int_value < k->num_params)
        return &k->params[e->int_value];
    for (uint32_t n = 0; e->kind == EXPR_STRING && n < k->num_params; n++)
        if (sv_equal(e->str, k->params[n].name))
            return &k->params[n];
    return NULL;
}

/// Marks the parameters that do_not_specialize=["name", 3] lists. A Python file may compute the list,
/// which is a matter of the host, or name what is gone, as Triton lets it.
static void read_do_not_specialize(fe_program *p, const ast_func *f, fe_kernel *k) {
    bool is_python = p->modules.data[0]->is_python;
    for (uint32_t d = 0; d < f->decorators.len; d++) {
        const ast_expr *call = f->decorators.data[d];
        for (uint32_t w = 0; w < call->num_keywords; w++) {
            const ast_expr *list = call->keywords[w].value;
            if (!sv_starts_with(call->keywords[w].name, "do_not_specialize") ||
                list->kind == EXPR_NONE)
                continue;
            if (list->kind != EXPR_LIST && list->kind != EXPR_TUPLE && !is_python)
                diag_error(p->diag, list->range, "expected a list of parameters' names or numbers");
            for (uint32_t i = 0; i < list->items.len; i++) {
                fe_param *param = find_listed(k, list->items.data[i]);
                if (param)
                    param->do_not_specialize = true;
                else if (!is_python)
                    diag_error(p->diag, list->items.data[i]->range,
                               "'%" SV_FMT "' has no such parameter; expected the name or number "
                               "of one",
                               SV_ARG(f->name));
            }
        }
    }
}

// --- parameters

/// The default as a plain constant, if it is one; a tuple or a function is not.
static bool plain_constant(const value *v, fe_constant *out) {
    *out = (fe_constant){.i = v->i, .f = v->f, .str = v->str};
    switch (v->kind) {
    case VALUE_NONE:
        out->kind = FE_NONE;
        return true;
    case VALUE_BOOL:
        out->kind = FE_BOOL;
        return true;
    case VALUE_INT:
        out->kind = FE_INT;
        return true;
    case VALUE_FLOAT:
        out->kind = FE_FLOAT;
        return true;
    case VALUE_STRING:
        out->kind = FE_STRING;
        return true;
    case VALUE_DTYPE:
        out->kind = FE_DTYPE;
        out->type = v->type.elem;
        return v->type.rank == 0 && v->type.elem != DT_PTR;
    default:
        return false;
    }
}

static void read_param(fe_program *p, const fe_module *m, const ast_param *from, fe_param *to) {
    annotation a = annotation_read(m, from->annotation);
    to->name = from->name;
    to->is_constexpr = a.kind == ANNOTATION_CONSTEXPR;
    to->has_type = a.kind == ANNOTATION_TYPE;
    to->type = a.type;
    to->type.pointer_const |= a.kind == ANNOTATION_CONST;
    to->divisibility = a.divisibility;
    value v;
    if (from->default_value && program_evaluate(p, m, from->default_value, &v))
        to->has_default = plain_constant(&v, &to->default_value);
    if (a.kind == ANNOTATION_INVALID)
        diag_error(p->diag, from->annotation->range, "%s", a.problem);
    else if (a.kind == ANNOTATION_UNKNOWN && !m->is_python)
        diag_error(p->diag, from->annotation->range,
                   "unknown type in the annotation of '%" SV_FMT
                   "'; expected one such as *fp32, i32, tl.float16 or constexpr",
                   SV_ARG(from->name));
}

void program_read_params(fe_program *p, const fe_module *m, fe_kernel *k) {
    const ast_func *f = k->func;
    k->num_params = f->num_params;
    k->params = ARENA_ARRAY(p->arena, fe_param, f->num_params + 1);
    for (uint32_t i = 0; i < f->num_params; i++)
        read_param(p, m, &f->params[i], &k->params[i]);
    read_do_not_specialize(p, f, k);
    program_read_tuning(p, m, k);
}
