// The documentation is compiled. Every ```python block of README.md and docs/*.md is tile source:
// a block with a `def` at the start of a line is a file, any other a piece of the kernel that
// docs/builtins.md describes at its top. All of them go through the frontend, the passes and the
// PTX back end. A line that ends in `# error: TEXT` must be refused with that text, and nothing else
// may be. And docs/builtins.md must say of every row of builtins.def what the row says.
#include "codegen/codegen.h"
#include "frontend/frontend.h"
#include "ir/passes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static const char kernel_around_pieces[] =
    "def helper(a, b):\n"
    "    return a + b\n"
    "def k(p: *fp32, q: *const fp32, h: *i32, n: i32, s: fp32, SIZE: constexpr = 16):\n"
    "    o = arange(0, 16)\n"
    "    x = load(q + o)\n"
    "    i = load(h + o)\n"
    "    r = arange(0, 8)[:, None] * arange(0, 4)[None, :]\n";

static const char no_gpu_yet[] = "is not supported yet on NVIDIA GPUs";

static char *read_file(arena *a, const char *path) {
    FILE *f = fopen(path, "r");
    strbuf text;
    if (!f)
        fail_msg("cannot read %s", path);
    strbuf_init(&text, a);
    strbuf_puts(&text, "");
    for (int c; (c = getc(f)) != EOF;)
        strbuf_putc(&text, (char)c);
    fclose(f);
    return text.data;
}

// --- compiling a block

typedef struct result {
    unsigned errors;
    const char *messages;
} result;

/// All kernels of the source, down to PTX.
static result compile(arena *a, sv source) {
    fe_options options = {.num_warps = 4, .num_ctas = 1, .num_stages = 3};
    diag *d = diag_create(a);
    fe_program *p = fe_load(a, d, diag_add_file(d, "example.tile", source), &options);
    ir_module *m = ir_module_create(a, d);
    uint32_t kernels = p ? fe_kernel_count(p) : 0;
    for (uint32_t i = 0; i < kernels; i++)
        fe_lower(p, m, fe_get_kernel(p, i), NULL, 0, &options);
    if (p && kernels == 0 && !fe_explain_no_kernels(p))
        fail_msg("an example without a kernel:\n%.*s", (int)source.len, source.data);
    ir_pass_options passes = {.verify_each = true};
    cg_options target = {.arch = cg_find_arch("sm_80"), .source_name = "example.tile"};
    cg_binary out;
    strbuf text;
    strbuf_init(&text, a);
    strbuf_puts(&text, "");
    if (diag_error_count(d) == 0 && ir_run_passes(m, &passes))
        cg_compile_ptx(m, &target, &out);
    diag_render_text(d, &text);
    return (result){diag_error_count(d), text.data};
}

/// What comes after `# error: ` in the line, up to its end; NULL if nothing is expected there.
static const char *expected_error(arena *a, sv line) {
    const char *mark = "# error: ";
    const char *copy = arena_copy_string(a, line.data, line.len), *at = strstr(copy, mark);
    return at ? at + strlen(mark) : NULL;
}

/// Checks the messages against the marks in the source, line by line. False, after it has said why,
/// if they differ.
static bool check_errors(arena *a, const char *where, const char *source, result r) {
    unsigned line = 1, expected = 0;
    for (const char *at = source; *at; line++) {
        sv text = {at, strcspn(at, "\n")};
        const char *want = expected_error(a, text);
        at += text.len + (at[text.len] == '\n');
        if (!want)
            continue;
        expected++;
        const char *place = sv_format(a, "example.tile:%u:", line).data;
        const char *found = strstr(r.messages, place);
        sv message = {found, found ? strcspn(found, "\n") : 0};
        if (found && strstr(arena_copy_string(a, message.data, message.len), want))
            continue;
        print_error("%s: '%.*s' must be refused, got:\n%s\n", where, (int)text.len, text.data,
                    r.messages);
        return false;
    }
    if (r.errors == expected || (expected == 0 && strstr(r.messages, no_gpu_yet)))
        return true;
    print_error("%s: %u errors, %u expected:\n%s\n", where, r.errors, expected, r.messages);
    return false;
}

static bool is_file(sv block) {
    for (uint32_t i = 0; i + 4 < block.len; i++)
        if ((i == 0 || block.data[i - 1] == '\n') && memcmp(block.data + i, "def ", 4) == 0)
            return true;
    return false;
}

/// The block as a file: as it is, or indented in the kernel around it.
static const char *make_source(arena *a, sv block) {
    strbuf s;
    strbuf_init(&s, a);
    strbuf_puts(&s, is_file(block) ? "" : kernel_around_pieces);
    bool indents = !is_file(block);
    for (uint32_t i = 0; i < block.len; i++) {
        bool starts = i == 0 || block.data[i - 1] == '\n';
        if (indents && starts && block.data[i] != '\n')
            strbuf_puts(&s, "    ");
        strbuf_putc(&s, block.data[i]);
    }
    return s.data;
}

/// Counts the blocks of a page, and those that are not what they say.
static void check_page(const char *path, unsigned *blocks, unsigned *wrong) {
    arena *text_arena = arena_create();
    const char *open = "```python\n", *text = read_file(text_arena, path);
    for (const char *at = text; (at = strstr(at, open)); ++*blocks) {
        at += strlen(open);
        const char *end = strstr(at, "```");
        if (!end)
            fail_msg("%s: a block does not end", path);
        arena *a = arena_create();
        unsigned line = 1;
        for (const char *c = text; c < at; c++)
            line += *c == '\n';
        const char *source = make_source(a, (sv){at, (uint32_t)(end - at)});
        const char *where = sv_format(a, "%s:%u", path, line).data;
        *wrong += !check_errors(a, where, source, compile(a, sv_from(source)));
        arena_destroy(a);
        at = end;
    }
    arena_destroy(text_arena);
}

static void test_examples_compile(void **state) {
    (void)state;
    unsigned blocks = 0, wrong = 0;
    check_page(TILE_SOURCE_DIR "/README.md", &blocks, &wrong);
    DIR *dir = opendir(TILE_SOURCE_DIR "/docs");
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        char path[1024];
        snprintf(path, sizeof path, "%s/docs/%s", TILE_SOURCE_DIR, e->d_name);
        if (strlen(path) > 3 && strcmp(path + strlen(path) - 3, ".md") == 0)
            check_page(path, &blocks, &wrong);
    }
    closedir(dir);
    assert_int_equal(wrong, 0);
    assert_true(blocks > 45);
}

// --- docs/builtins.md against builtins.def

typedef struct row {
    const char *name, *signature;
    bool refused;
} row;

static const row rows[] = {
#define BUILTIN(name, build, flags, signature) {name, signature, false},
#define STDLIB(name, flags, signature) {name, signature, false},
#define LIBDEVICE(name, signature) {name, signature, false},
#define REFUSED(name, flags, advice) {name, "", true},
#include "frontend/builtins.def"
};
enum { NUM_ROWS = sizeof rows / sizeof *rows };

/// The section ("\n### ..." to the next heading) that starts before `at`.
static sv section_around(const char *doc, const char *at) {
    const char *start = doc, *next;
    while ((next = strstr(start, "\n### ")) && next < at)
        start = next + 1;
    const char *end = strstr(at, "\n##");
    return (sv){start, (uint32_t)(end ? end - start : (ptrdiff_t)strlen(start))};
}

/// True if an example in the section calls the name, as a function or as a method.
static bool has_example(arena *a, sv section, const char *name) {
    const char *text = arena_copy_string(a, section.data, section.len);
    const char *call = sv_format(a, "%s(", name).data;
    for (const char *at = text; (at = strstr(at, "```python\n"));) {
        const char *end = strstr(at + 3, "```");
        for (const char *c = at; (c = strstr(c, call)) && c < end; c++)
            if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789_", c[-1]))
                return true;
        at = end + 3;
    }
    return false;
}

static void test_builtins_are_described(void **state) {
    (void)state;
    arena *a = arena_create();
    const char *doc = read_file(a, TILE_SOURCE_DIR "/docs/builtins.md");
    for (size_t i = 0; i < NUM_ROWS; i++) {
        if (rows[i].refused || rows[i].name[0] == '_') // for the standard library only
            continue;
        const char *entry = sv_format(a, "\n`%s(%s)`", rows[i].name, rows[i].signature).data;
        const char *at = strstr(doc, entry);
        if (!at)
            fail_msg("docs/builtins.md needs a section with the line%s", entry);
        if (!has_example(a, section_around(doc, at), rows[i].name))
            fail_msg("docs/builtins.md: the section of '%s' has no example of it", rows[i].name);
    }
    arena_destroy(a);
}

/// No signature stays on the page when its row goes or changes.
static void test_no_stale_signature(void **state) {
    (void)state;
    arena *a = arena_create();
    const char *doc = read_file(a, TILE_SOURCE_DIR "/docs/builtins.md");
    const char *at = strstr(doc, "\n### ");
    for (; (at = strstr(at, "\n`")); at++) {
        sv line = {at + 2, (uint32_t)strcspn(at + 2, "`")};
        char after = line.data[line.len + 1]; // a signature has a line of its own
        bool known = (after != '\n' && after != '\\') || !memchr(line.data, '(', line.len);
        for (size_t i = 0; i < NUM_ROWS && !known; i++)
            known = sv_equal(line, sv_format(a, "%s(%s)", rows[i].name, rows[i].signature));
        if (!known)
            fail_msg("docs/builtins.md: no row of builtins.def is '%.*s'", (int)line.len,
                     line.data);
    }
    arena_destroy(a);
}

/// The section of what is refused names all of it and nothing else.
static void test_refused_names(void **state) {
    (void)state;
    arena *a = arena_create();
    const char *doc = read_file(a, TILE_SOURCE_DIR "/docs/builtins.md");
    const char *section = strstr(doc, "\n## Not here yet\n");
    assert_non_null(section);
    unsigned count = 0;
    for (const char *at = section; (at = strchr(at, '`'));) {
        sv name = {at + 1, (uint32_t)strcspn(at + 1, "`")};
        at += name.len + 2;
        bool found = false;
        for (size_t i = 0; i < NUM_ROWS && !found; i++)
            found = rows[i].refused && sv_is(name, rows[i].name);
        if (!found)
            fail_msg("docs/builtins.md calls '%.*s' refused, builtins.def does not", (int)name.len,
                     name.data);
        count++;
    }
    for (size_t i = 0; i < NUM_ROWS; i++) {
        const char *quoted = sv_format(a, "`%s`", rows[i].name).data;
        if (rows[i].refused && !strstr(section, quoted))
            fail_msg("docs/builtins.md does not list '%s' under 'Not here yet'", rows[i].name);
        count -= rows[i].refused;
    }
    assert_int_equal(count, 0);
    arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples_compile),
        cmocka_unit_test(test_builtins_are_described),
        cmocka_unit_test(test_no_stale_signature),
        cmocka_unit_test(test_refused_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
