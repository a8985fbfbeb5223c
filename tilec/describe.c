// What --list and --emit=json say of kernels: as one reads them, and as programs do.
#include "tilec/describe.h"

#include <math.h>

static void print_constant(const fe_constant *c, strbuf *out) {
    switch (c->kind) {
    case FE_NONE:
        strbuf_puts(out, "None");
        break;
    case FE_BOOL:
        strbuf_puts(out, c->i ? "True" : "False");
        break;
    case FE_INT:
        strbuf_printf(out, "%lld", (long long)c->i);
        break;
    case FE_FLOAT:
        strbuf_printf(out, "%.17g", c->f);
        break;
    case FE_STRING:
        strbuf_printf(out, "'%" SV_FMT "'", SV_ARG(c->str));
        break;
    case FE_DTYPE:
        strbuf_puts(out, dtype_name(c->type));
        break;
    }
}

static void put_json(strbuf *out, const char *key, sv text) {
    strbuf_printf(out, ", \"%s\": ", key);
    diag_put_json_string(out, text);
}

/// A default as JSON; a float that JSON has no number for, and a dtype, as Python writes them.
static void put_json_constant(arena *a, const fe_constant *c, strbuf *out) {
    strbuf text;
    strbuf_init(&text, a);
    print_constant(c, &text);
    if (c->kind == FE_NONE)
        strbuf_puts(out, "null");
    else if (c->kind == FE_BOOL)
        strbuf_puts(out, c->i ? "true" : "false");
    else if (c->kind == FE_INT || (c->kind == FE_FLOAT && isfinite(c->f)))
        strbuf_put(out, strbuf_view(&text));
    else
        diag_put_json_string(out, c->kind == FE_STRING ? c->str : strbuf_view(&text));
}

void describe_kernel_json(arena *a, const fe_kernel *k, strbuf *out) {
    strbuf_puts(out, "{\"name\": ");
    diag_put_json_string(out, k->name);
    strbuf_puts(out, ", \"params\": [");
    for (uint32_t n = 0; n < k->num_params; n++) {
        const fe_param *p = &k->params[n];
        strbuf_puts(out, n ? ", {\"name\": " : "{\"name\": ");
        diag_put_json_string(out, p->name);
        if (p->is_constexpr)
            strbuf_puts(out, ", \"constexpr\": true");
        else if (p->has_type)
            put_json(out, "type", sv_from(ir_type_string(a, p->type)));
        if (p->divisibility > 1)
            strbuf_printf(out, ", \"divisible_by\": %u", p->divisibility);
        if (p->has_default) {
            strbuf_puts(out, ", \"default\": ");
            put_json_constant(a, &p->default_value, out);
        }
        strbuf_puts(out, "}");
    }
    strbuf_puts(out, "]}\n");
}

void describe_kernel(const fe_kernel *k, strbuf *out) {
    strbuf_printf(out, "%" SV_FMT "(", SV_ARG(k->name));
    for (uint32_t n = 0; n < k->num_params; n++) {
        const fe_param *p = &k->params[n];
        strbuf_printf(out, "%s%" SV_FMT, n ? ", " : "", SV_ARG(p->name));
        if (p->is_constexpr)
            strbuf_puts(out, ": constexpr");
        else if (p->has_type)
            strbuf_puts(out, ": "), ir_type_print(p->type, out);
        if (p->divisibility > 1)
            strbuf_printf(out, ":%u", p->divisibility);
        if (p->has_default)
            strbuf_puts(out, " = "), print_constant(&p->default_value, out);
    }
    strbuf_puts(out, ")\n");
}

/// The ABI of RULES 23, for programs that load the binary themselves.
void describe_binary(arena *a, const ir_module *m, const cg_binary *binary, strbuf *out) {
    strbuf_puts(out, "{\"kernels\": [");
    const cg_kernel *k = binary->kernels;
    for (const ir_func *f = m->first; f; f = f->next, k++) {
        strbuf_printf(out, "%s\n  {\"name\": ", f == m->first ? "" : ",");
        diag_put_json_string(out, k->name);
        strbuf_printf(out,
                      ", \"num_warps\": %u, \"num_ctas\": %u, \"block\": [%u, 1, 1], "
                      "\"shared_bytes\": %u, \"params\": [",
                      k->num_warps, k->num_ctas, 32 * k->num_warps, k->shared_bytes);
        for (uint32_t i = 0; i < f->num_params; i++) {
            strbuf_puts(out, i ? ", {\"name\": " : "{\"name\": ");
            diag_put_json_string(out, f->params[i].name);
            strbuf_puts(out, ", \"type\": ");
            diag_put_json_string(out, sv_from(ir_type_string(a, f->body->args[i]->type)));
            if (f->params[i].divisibility > 1)
                strbuf_printf(out, ", \"divisible_by\": %u", f->params[i].divisibility);
            if (f->params[i].is_one)
                strbuf_puts(out, ", \"equals\": 1");
            strbuf_puts(out, "}");
        }
        strbuf_puts(out, "]}");
    }
    strbuf_puts(out, "\n]}\n");
}
