// Promotion of two element types: Triton's rules by example, and against the reference table
// (tables/types.tsv in TILE_CASES_DIR, where that exists).
#include "frontend/lower.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

static void expect(ast_op op, dtype x, bool x_weak, dtype y, bool y_weak, dtype want) {
    dtype got = promote_binary(op, x, x_weak, y, y_weak);
    if (got != want)
        fail_msg("%s of %s%s and %s%s gives %s, expected %s", ast_op_text(op), dtype_name(x),
                 x_weak ? " (weak)" : "", dtype_name(y), y_weak ? " (weak)" : "", dtype_name(got),
                 dtype_name(want));
}

static void strong(ast_op op, dtype x, dtype y, dtype want) {
    expect(op, x, false, y, false, want);
    expect(op, y, false, x, false, want);
}

static void test_strong_floats(void **state) {
    (void)state;
    strong(AST_ADD, DT_FP16, DT_BF16, DT_FP16);
    strong(AST_ADD, DT_BF16, DT_I32, DT_FP32);
    strong(AST_ADD, DT_FP16, DT_I64, DT_FP16);
    strong(AST_ADD, DT_BF16, DT_BF16, DT_BF16);
    strong(AST_ADD, DT_FP32, DT_FP64, DT_FP64);
    strong(AST_ADD, DT_FP8E5, DT_FP8E4NV, DT_FP16);
    strong(AST_ADD, DT_FP8E5, DT_FP8E5, DT_FP8E5);
    strong(AST_ADD, DT_FP8E5, DT_I8, DT_VOID);
}

static void test_strong_ints(void **state) {
    (void)state;
    strong(AST_ADD, DT_I8, DT_I8, DT_I8);
    strong(AST_ADD, DT_I32, DT_U32, DT_U32);
    strong(AST_ADD, DT_I64, DT_U32, DT_I64);
    strong(AST_ADD, DT_I1, DT_I8, DT_I8);
    strong(AST_BITAND, DT_I16, DT_U8, DT_I16);
}

static void test_division(void **state) {
    (void)state;
    strong(AST_DIV, DT_I64, DT_I32, DT_FP32);
    strong(AST_DIV, DT_FP16, DT_FP16, DT_FP32);
    strong(AST_MOD, DT_BF16, DT_BF16, DT_FP32);
    strong(AST_FLOORDIV, DT_I32, DT_U32, DT_VOID);
    strong(AST_MOD, DT_I32, DT_U8, DT_VOID);
    strong(AST_DIV, DT_I32, DT_U8, DT_VOID);
    strong(AST_FLOORDIV, DT_FP32, DT_FP32, DT_VOID);
    expect(AST_DIV, DT_FP16, false, DT_FP32, true, DT_FP32);
    expect(AST_MOD, DT_U8, false, DT_I32, true, DT_U8);
}

static void test_weak_literals(void **state) {
    (void)state;
    expect(AST_MUL, DT_FP16, false, DT_FP32, true, DT_FP16);
    expect(AST_MUL, DT_FP32, true, DT_FP16, false, DT_FP16);
    expect(AST_ADD, DT_I8, false, DT_I32, true, DT_I8);
    expect(AST_ADD, DT_I1, false, DT_I32, true, DT_I32);
    expect(AST_ADD, DT_I32, false, DT_FP32, true, DT_FP32);
    expect(AST_ADD, DT_FP16, false, DT_FP64, true, DT_FP16);
    expect(AST_ADD, DT_I32, false, DT_FP64, true, DT_FP64);
}

static void test_refused(void **state) {
    (void)state;
    strong(AST_BITXOR, DT_FP32, DT_I32, DT_VOID);
    strong(AST_LSHIFT, DT_FP16, DT_FP16, DT_VOID);
    strong(AST_ADD, DT_PTR, DT_I32, DT_VOID);
    strong(AST_POW, DT_I32, DT_I32, DT_VOID);
    strong(AST_MATMUL, DT_FP16, DT_FP16, DT_VOID);
}

// --- the table

static bool find_op(const char *text, ast_op *op) {
    for (int i = AST_ADD; i <= AST_BITXOR; i++)
        if (strcmp(ast_op_text((ast_op)i), text) == 0) {
            *op = (ast_op)i;
            return true;
        }
    return false;
}

/// A literal of the table, with the type it has where nothing else decides.
typedef struct literal {
    bool is_int;
    int64_t i;
    dtype type;
} literal;

static literal read_literal(const char *text) {
    literal l = {.i = strtoll(text, NULL, 10)};
    l.is_int = !strpbrk(text, ".eT");
    if (!strcmp(text, "True"))
        l.type = DT_I1;
    else if (!l.is_int)
        l.type = strtod(text, NULL) > 3.5e38 ? DT_FP64 : DT_FP32;
    else
        l.type = dtype_int_fits(DT_I32, l.i, false)   ? DT_I32
                 : dtype_int_fits(DT_U32, l.i, false) ? DT_U32
                                                      : DT_I64;
    return l;
}

/// What the front end makes of a row: the fits check of semantics.c included.
static dtype row_type(ast_op op, dtype x, const char *right) {
    if (strncmp(right, "lit:", 4) != 0)
        return promote_binary(op, x, false, dtype_from_name(sv_from(right)), false);
    literal l = read_literal(right + 4);
    dtype computed = promote_binary(op == AST_DIV ? AST_MOD : op, x, false, l.type, true);
    if (l.is_int && dtype_is_int(computed) && !dtype_int_fits(computed, l.i, false))
        return DT_VOID;
    return promote_binary(op, x, false, l.type, true);
}

static void test_reference_table(void **state) {
    (void)state;
    char line[256], op_text[32], expression[64], left[16], right[32], triton[16], ours[16];
    unsigned rows = 0;
    FILE *f = fopen(TILE_CASES_DIR "/tables/types.tsv", "r");
    if (!f)
        skip();
    while (fgets(line, sizeof line, f)) {
        ast_op op;
        if (sscanf(line, "%31[^\t]\t%63[^\t]\t%15[^\t]\t%31[^\t]\t%15[^\t]\t%15[^\t\r\n]", op_text,
                   expression, left, right, triton, ours) != 6 ||
            !find_op(op_text, &op))
            continue;
        dtype want = strcmp(ours, "error") ? dtype_from_name(sv_from(ours)) : DT_VOID;
        dtype got = row_type(op, dtype_from_name(sv_from(left)), right);
        if (got != want)
            fail_msg("%s %s %s gives %s, expected %s", left, op_text, right, dtype_name(got), ours);
        rows++;
    }
    fclose(f);
    assert_true(rows >= 2700);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strong_floats), cmocka_unit_test(test_strong_ints),
        cmocka_unit_test(test_division),      cmocka_unit_test(test_weak_literals),
        cmocka_unit_test(test_refused),       cmocka_unit_test(test_reference_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
