// The checks that the fuzz targets share.
#include "fuzz.h"

#include "ir/passes.h"

static void run(void (*fn)(arena *a, sv text), arena *a, const uint8_t *data, size_t size) {
    fn(a, (sv){arena_copy_string(a, (const char *)data, size), size});
}

void fuzz_in_arena(void (*fn)(arena *a, sv text), const uint8_t *data, size_t size) {
    arena *a = arena_create();
    jmp_buf recovery;
    if (!a)
        return;
    if (!setjmp(recovery)) {
        arena_on_out_of_memory(a, &recovery);
        run(fn, a, data, size);
    }
    arena_destroy(a);
}

void fuzz_check_messages(const diag *d) {
    arena *a = arena_create();
    if (!a)
        return;
    strbuf text, json;
    strbuf_init(&text, a);
    strbuf_init(&json, a);
    diag_render_text(d, &text);
    diag_render_json(d, &json);
    // In JSON no input can look like the beginning of a message.
    if (json.len) {
        FUZZ_CHECK(!strstr(json.data, "\"message\": \"internal error"), text.data);
        FUZZ_CHECK(!strstr(json.data, "\"message\": \"after "), text.data);
    }
    arena_destroy(a);
}

static sv print(arena *a, const ir_module *m) {
    strbuf text;
    strbuf_init(&text, a);
    strbuf_puts(&text, "");
    ir_print_module(m, &text, false);
    return strbuf_view(&text);
}

void fuzz_check_round_trip(const ir_module *m) {
    arena *a = m->arena;
    diag *d = diag_create(a);
    sv first = print(a, m);
    ir_module *again = ir_parse(a, d, diag_add_file(d, "printed.tir", first));
    strbuf text;
    strbuf_init(&text, a);
    strbuf_put(&text, first);
    diag_render_text(d, &text);
    FUZZ_CHECK(again && !diag_error_count(d), text.data);
    sv second = print(a, again);
    FUZZ_CHECK(sv_equal(first, second),
               sv_format(a, "printed:\n%s\nprinted again:\n%s", first.data, second.data).data);
}

void fuzz_compile(ir_module *m, bool for_host) {
    ir_pass_options passes = {.verify_each = true};
    bool ok = ir_run_passes(m, &passes);
    FUZZ_CHECK(ok || diag_error_count(m->diag), "the passes failed without a message");
    if (!ok)
        return;
    fuzz_check_round_trip(m);
    cg_options options = {.stop_at_llvm_ir = true, .line_info = true, .source_name = "fuzz.tile"};
    cg_binary binary;
    cg_host_code *code = NULL;
    if (!for_host)
        options.arch = cg_find_arch("sm_90");
    ok = for_host ? cg_compile_host(m, &options, &binary, &code)
                  : cg_compile_ptx(m, &options, &binary);
    cg_host_destroy(code);
    FUZZ_CHECK(ok || diag_error_count(m->diag), "code generation failed without a message");
}
