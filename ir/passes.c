// Runs the passes of passes.def, in order, on every function of a module. The IR is verified before
// the first one, wherever it comes from: passes and codegen take for granted what the verifier
// checks. In builds with TILE_VERIFY_EACH, or when asked, the verifier runs after each pass as
// well, and its errors say which pass broke the IR.
#include "ir/passes.h"

#include "support/clock.h"

const ir_pass ir_passes[] = {
#define PASS(name, run, doc) {name, run, doc},
#include "ir/passes.def"
#undef PASS
    {NULL, NULL, NULL},
};

#ifdef TILE_VERIFY_EACH
static const bool always_verify = true;
#else
static const bool always_verify = false;
#endif

static const ir_pass *find_pass(sv name) {
    for (const ir_pass *p = ir_passes; p->name; p++)
        if (sv_is(name, p->name))
            return p;
    return NULL;
}

static void print_after(ir_module *m, const ir_pass *pass, const ir_pass_options *o) {
    if (!o->print_after || !o->print_to)
        return;
    if (strcmp(o->print_after, "all") != 0 && strcmp(o->print_after, pass->name) != 0)
        return;
    strbuf_printf(o->print_to, "// after %s\n", pass->name);
    ir_print_module(m, o->print_to, false);
}

static bool verify(ir_module *m, const char *where) {
    bool ok = true;
    for (ir_func *f = m->first; f; f = f->next)
        ok = ir_verify(f, where) && ok;
    return ok;
}

static bool run_pass(ir_module *m, const ir_pass *pass, const ir_pass_options *o) {
    uint32_t errors = diag_error_count(m->diag);
    double begin = clock_seconds();
    for (ir_func *f = m->first; f; f = f->next)
        pass->run(f);
    if (o->on_pass)
        o->on_pass(o->on_pass_ctx, pass->name, clock_seconds() - begin);
    print_after(m, pass, o);
    if (diag_error_count(m->diag) > errors)
        return false;
    if (!o->verify_each && !always_verify)
        return true;
    return verify(m, sv_format(m->arena, "after pass '%s'", pass->name).data);
}

static sv next_name(const char **list) {
    size_t len = strcspn(*list, ",");
    sv name = {*list, len};
    *list += len + ((*list)[len] == ',');
    return name;
}

static bool no_pass(ir_module *m, sv name) {
    diag_error(m->diag, SRC_NONE, "there is no pass '%" SV_FMT "'", SV_ARG(name));
    return false;
}

static bool is_skipped(const char *list, const char *name) {
    while (*list)
        if (sv_is(next_name(&list), name))
            return true;
    return false;
}

/// Names in a list of passes to leave out: known, and not the one that codegen cannot do without.
static bool check_skipped(ir_module *m, const char *list) {
    while (*list) {
        sv name = next_name(&list);
        if (!find_pass(name))
            return no_pass(m, name);
        if (sv_is(name, "layout")) {
            diag_error(m->diag, SRC_NONE, "pass 'layout' cannot be left out");
            return false;
        }
    }
    return true;
}

bool ir_run_passes(ir_module *m, const ir_pass_options *o) {
    const char *skip = o->skip ? o->skip : "";
    if (!verify(m, NULL) || !check_skipped(m, skip))
        return false;
    if (o->print_after && strcmp(o->print_after, "all") != 0 && !find_pass(sv_from(o->print_after)))
        return no_pass(m, sv_from(o->print_after));
    if (!o->only) {
        for (const ir_pass *p = ir_passes; p->name; p++)
            if (!is_skipped(skip, p->name) && !run_pass(m, p, o))
                return false;
        return true;
    }
    // All names are looked up before the first pass runs.
    for (const char *list = o->only; *list;) {
        sv name = next_name(&list);
        if (!find_pass(name))
            return no_pass(m, name);
    }
    for (const char *list = o->only; *list;)
        if (!run_pass(m, find_pass(next_name(&list)), o))
            return false;
    return true;
}
