// Diagnostics: positions, carets by display width, labels, notes, limits, JSON lines.
#include "support/diag.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

typedef struct fixture {
    arena *arena;
    diag *diag;
} fixture;

static int setup(void **state) {
    fixture *f = malloc(sizeof(fixture));
    f->arena = arena_create();
    f->diag = diag_create(f->arena);
    *state = f;
    return 0;
}

static int teardown(void **state) {
    fixture *f = *state;
    arena_destroy(f->arena);
    free(f);
    return 0;
}

static const char *text_of(fixture *f) {
    strbuf s;
    strbuf_init(&s, f->arena);
    diag_render_text(f->diag, &s);
    return strbuf_view(&s).data;
}

static const char *json_of(fixture *f) {
    strbuf s;
    strbuf_init(&s, f->arena);
    diag_render_json(f->diag, &s);
    return strbuf_view(&s).data;
}

static void test_positions(void **state) {
    fixture *f = *state;
    uint32_t file = diag_add_file(f->diag, "a.tile", SV("ab\ncd\r\n\re"));
    static const uint32_t expect[][3] = {{0, 1, 1}, {2, 1, 3}, {3, 2, 1}, {6, 2, 4},
                                         {7, 3, 1}, {8, 4, 1}, {9, 4, 2}, {99, 4, 2}};
    for (size_t i = 0; i < sizeof(expect) / sizeof(expect[0]); i++) {
        diag_position p = diag_locate(f->diag, file, expect[i][0]);
        assert_int_equal(p.line, expect[i][1]);
        assert_int_equal(p.column, expect[i][2]);
    }
    assert_int_equal(diag_file_count(f->diag), 1);
    assert_string_equal(diag_file_path(f->diag, file), "a.tile");
    assert_int_equal(diag_file_text(f->diag, 0).len, 0);
    assert_int_equal(diag_file_text(f->diag, 7).len, 0);
}

static void test_join(void **state) {
    (void)state;
    src_range r = src_join((src_range){1, 4, 6}, (src_range){1, 2, 3});
    assert_int_equal(r.begin, 2);
    assert_int_equal(r.end, 6);
    r = src_join(SRC_NONE, (src_range){1, 2, 3});
    assert_int_equal(r.file, 1);
    r = src_join((src_range){2, 4, 6}, (src_range){1, 2, 3});
    assert_int_equal(r.file, 2);
}

static void test_caret_labels_and_notes(void **state) {
    fixture *f = *state;
    uint32_t file = diag_add_file(f->diag, "softmax.tile", SV("w = 1\nx = 2\n    y = x + w\n"));
    diag_error(f->diag, (src_range){file, 22, 23}, "cannot broadcast");
    diag_label(f->diag, (src_range){file, 20, 21}, "tile<1024xfp32>");
    diag_label(f->diag, (src_range){file, 24, 25}, "tile<512xfp32>");
    diag_note(f->diag, (src_range){file, 0, 5}, "'w' is defined here");
    assert_string_equal(text_of(f), "softmax.tile:3:11: error: cannot broadcast\n"
                                    "    3 |     y = x + w\n"
                                    "      |         ~ ^ ~ tile<512xfp32>\n"
                                    "      |         tile<1024xfp32>\n"
                                    "softmax.tile:1:1: note: 'w' is defined here\n"
                                    "    1 | w = 1\n"
                                    "      | ^~~~~\n");
}

static void test_label_on_another_line(void **state) {
    fixture *f = *state;
    uint32_t file = diag_add_file(f->diag, "a.tile", SV("one\ntwo\n"));
    diag_error(f->diag, (src_range){file, 4, 7}, "bad");
    diag_label(f->diag, (src_range){file, 0, 3}, "here");
    assert_string_equal(text_of(f), "a.tile:2:1: error: bad\n    2 | two\n      | ^~~\n"
                                    "    1 | one\n      | ~~~ here\n");
}

static void test_display_width(void **state) {
    fixture *f = *state;
    uint32_t file = diag_add_file(f->diag, "a.tile", SV("\t\xE8\xAF\xBB e\xCC\x81 \x01\xFF+\n"));
    diag_error(f->diag, (src_range){file, 11, 12}, "plus");
    diag_error(f->diag, (src_range){file, 1, 4}, "wide");
    assert_string_equal(text_of(f), "a.tile:1:2: error: wide\n"
                                    "    1 | \t\xE8\xAF\xBB e\xCC\x81 \xEF\xBF\xBD\xEF\xBF\xBD+\n"
                                    "      | \t^~\n"
                                    "a.tile:1:12: error: plus\n"
                                    "    1 | \t\xE8\xAF\xBB e\xCC\x81 \xEF\xBF\xBD\xEF\xBF\xBD+\n"
                                    "      | \t       ^\n");
}

static void test_end_of_file_and_no_position(void **state) {
    fixture *f = *state;
    uint32_t empty = diag_add_file(f->diag, "empty.tile", SV(""));
    diag_error(f->diag, (src_range){empty, 0, 0}, "nothing here");
    diag_error(f->diag, SRC_NONE, "no kernel");
    assert_string_equal(text_of(f), "error: no kernel\nempty.tile:1:1: error: nothing here\n"
                                    "    1 | \n      | ^\n");
}

static void test_long_line_is_cut(void **state) {
    fixture *f = *state;
    enum { LENGTH = 100000 };
    char *line = malloc(LENGTH);
    memset(line, 'x', LENGTH);
    uint32_t file = diag_add_file(f->diag, "a.tile", (sv){line, LENGTH});
    free(line);
    diag_error(f->diag, (src_range){file, 70000, LENGTH}, "long");
    assert_true(strlen(text_of(f)) < 500);
    assert_non_null(strstr(text_of(f), "a.tile:1:70001: error: long\n"));
    assert_non_null(strstr(text_of(f), "^~~"));
}

static void test_repeats_and_limit(void **state) {
    fixture *f = *state;
    uint32_t file = diag_add_file(f->diag, "a.tile", SV("0123456789\n"));
    diag_error(f->diag, (src_range){file, 1, 2}, "same");
    diag_error(f->diag, (src_range){file, 1, 2}, "same");
    diag_note(f->diag, SRC_NONE, "of the dropped one");
    assert_int_equal(diag_error_count(f->diag), 1);
    assert_null(strstr(text_of(f), "dropped"));
    for (int i = 0; i < 2000; i++)
        diag_error(f->diag, (src_range){file, 2, 3}, "error number %d", i);
    assert_int_equal(diag_error_count(f->diag), 2001);
    assert_non_null(strstr(text_of(f), "error number 18\n"));
    assert_null(strstr(text_of(f), "error number 19\n"));
    assert_non_null(strstr(text_of(f), "1981 more errors not shown\n"));
}

static void test_warnings(void **state) {
    fixture *f = *state;
    uint32_t file = diag_add_file(f->diag, "a.tile", SV("abc\n"));
    src_range r = {file, 0, 3};
    diag_set_warning(f->diag, SV("loud"), false);
    diag_warning(f->diag, "loud", r, "not shown");
    diag_note(f->diag, r, "nor this");
    assert_int_equal(diag_warning_count(f->diag), 0);
    diag_set_warning(f->diag, SV("loud"), true);
    diag_warning(f->diag, "loud", r, "shown");
    assert_int_equal(diag_warning_count(f->diag), 1);
    assert_int_equal(diag_error_count(f->diag), 0);
    diag_warnings_are_errors(f->diag);
    diag_warning(f->diag, "other", r, "fatal");
    assert_int_equal(diag_error_count(f->diag), 1);
    assert_string_equal(text_of(f),
                        "a.tile:1:1: warning: shown [-Wloud]\n    1 | abc\n      | ^~~\n"
                        "a.tile:1:1: error: fatal [-Werror=other]\n"
                        "    1 | abc\n      | ^~~\n");
}

static void test_json(void **state) {
    fixture *f = *state;
    uint32_t file = diag_add_file(f->diag, "a\"b.tile", SV("x\ny\n"));
    diag_error(f->diag, (src_range){file, 2, 3}, "odd '%s'", "\x01\\\xFF");
    diag_note(f->diag, SRC_NONE, "so it is");
    assert_string_equal(
        json_of(f),
        "{\"file\": \"a\\\"b.tile\", \"line\": 2, \"column\": 1, \"end_line\": 2, \"end_column\": "
        "2, "
        "\"severity\": \"error\", \"message\": \"odd '\\u0001\\\\\\ufffd'\", \"labels\": [], "
        "\"notes\": [{\"severity\": \"note\", \"message\": \"so it is\"}]}\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_positions, setup, teardown),
        cmocka_unit_test(test_join),
        cmocka_unit_test_setup_teardown(test_caret_labels_and_notes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_label_on_another_line, setup, teardown),
        cmocka_unit_test_setup_teardown(test_display_width, setup, teardown),
        cmocka_unit_test_setup_teardown(test_end_of_file_and_no_position, setup, teardown),
        cmocka_unit_test_setup_teardown(test_long_line_is_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(test_repeats_and_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_warnings, setup, teardown),
        cmocka_unit_test_setup_teardown(test_json, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
