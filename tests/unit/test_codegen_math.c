// The accuracy of emit_math.c: every function is built as LLVM IR, compiled for this machine and
// compared with the C library's in higher precision, over a sweep of its range and its edges; and so
// are the sine, cosine and shared division of the NVIDIA target. fp32 exp and division inside come
// from a target of the test's own, which asks libm.
#include "codegen/emit_math.h"
#include "codegen/nvptx.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/ExecutionEngine.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

// ---------------------------------------------------------------------------- a target on libm

static LLVMTypeRef value_type(emitter *e, dtype t) {
    return t == DT_FP64 ? LLVMDoubleTypeInContext(e->llvm) : LLVMFloatTypeInContext(e->llvm);
}

static LLVMValueRef libm_math(emitter *e, ir_opcode op, dtype t, bool precise, LLVMValueRef x) {
    (void)precise;
    if (t == DT_FP64)
        return emit_exp_f64(e, x, op == OP_EXP2);
    LLVMTypeRef f32 = LLVMFloatTypeInContext(e->llvm), type = LLVMFunctionType(f32, &f32, 1, false);
    LLVMValueRef fn = LLVMGetNamedFunction(e->module, "expf");
    if (!fn)
        fn = LLVMAddFunction(e->module, "expf", type);
    return LLVMBuildCall2(e->b, type, fn, &x, 1, "");
}

static LLVMValueRef divide(emitter *e, dtype t, bool precise, LLVMValueRef x, LLVMValueRef y) {
    (void)t, (void)precise;
    return LLVMBuildFDiv(e->b, x, y, "");
}

/// fp16 held as its bits to fp32: only what emit_fp8_to_f32 asks for.
static LLVMValueRef half_to_float(emitter *e, dtype from, dtype to, bool rtz, LLVMValueRef x) {
    (void)from, (void)to, (void)rtz;
    LLVMValueRef wide = LLVMBuildZExt(e->b, x, LLVMInt32TypeInContext(e->llvm), "");
    LLVMTypeRef f32 = LLVMFloatTypeInContext(e->llvm), i32 = LLVMInt32TypeInContext(e->llvm);
    LLVMTypeRef type = LLVMFunctionType(f32, &i32, 1, false);
    LLVMValueRef fn = LLVMGetNamedFunction(e->module, "test_half_to_float");
    if (!fn)
        fn = LLVMAddFunction(e->module, "test_half_to_float", type);
    return LLVMBuildCall2(e->b, type, fn, &wide, 1, "");
}

static float test_half_to_float(uint32_t bits) { return (float)dtype_bits_to_float(DT_FP16, bits); }

static const target libm_target = {
    .name = "libm",
    .lanes = 1,
    .soft_half = true,
    .value_type = value_type,
    .math = libm_math,
    .fdiv = divide,
    .float_cast = half_to_float,
};

// ---------------------------------------------------------------------------- compiling

typedef enum function_id {
    LOG,
    LOG2,
    ERF,
    TANH,
    SIN,
    COS,
    EXP_64,
    EXP2_64,
    LOG_64,
    LOG2_64,
    ERF_64,
    TANH_64,
    SIN_64,
    COS_64,
    FROM_E5,
    FROM_E4,
    TO_E5,
    TO_E4,
    CUT_E5,
    CUT_E4,
    FUNCTIONS
} function_id;

typedef struct jit {
    LLVMExecutionEngineRef engine;
    LLVMContextRef context;
    arena *arena;
} jit;

static LLVMValueRef build(emitter *e, function_id id, LLVMValueRef x) {
    switch (id) {
    case LOG:
    case LOG2:
        return emit_log_f32(e, x, id == LOG2);
    case ERF:
    case ERF_64:
        return emit_erf(e, id == ERF ? DT_FP32 : DT_FP64, x);
    case TANH:
    case TANH_64:
        return emit_tanh(e, id == TANH ? DT_FP32 : DT_FP64, x);
    case SIN:
    case COS:
        return nvptx_sin_cos(e, DT_FP32, id == COS, x);
    case SIN_64:
    case COS_64:
        return nvptx_sin_cos(e, DT_FP64, id == COS_64, x);
    case EXP_64:
    case EXP2_64:
        return emit_exp_f64(e, x, id == EXP2_64);
    case LOG_64:
    case LOG2_64:
        return emit_log_f64(e, x, id == LOG2_64);
    case FROM_E5:
    case FROM_E4:
        return emit_fp8_to_f32(e, id == FROM_E4 ? DT_FP8E4NV : DT_FP8E5, x);
    default:
        return emit_f32_to_fp8(e, id == TO_E4 || id == CUT_E4 ? DT_FP8E4NV : DT_FP8E5,
                               id == CUT_E4 || id == CUT_E5, x);
    }
}

static void add_function(emitter *e, function_id id) {
    LLVMTypeRef i8 = LLVMInt8TypeInContext(e->llvm), f32 = value_type(e, DT_FP32);
    LLVMTypeRef f64 = value_type(e, DT_FP64);
    LLVMTypeRef arg = id == FROM_E5 || id == FROM_E4 ? i8
                      : id >= EXP_64 && id <= COS_64 ? f64
                                                     : f32;
    LLVMTypeRef result = id >= TO_E5 ? i8 : arg == i8 ? f32 : arg;
    char name[8];
    snprintf(name, sizeof(name), "f%d", (int)id);
    e->fn = LLVMAddFunction(e->module, name, LLVMFunctionType(result, &arg, 1, false));
    LLVMPositionBuilderAtEnd(e->b, emit_new_block(e, ""));
    LLVMBuildRet(e->b, build(e, id, LLVMGetParam(e->fn, 0)));
}

/// float divide(float, float), as the NVIDIA target does it for a divisor of many elements.
static void add_division(emitter *e) {
    LLVMTypeRef f32 = value_type(e, DT_FP32), args[2] = {f32, f32};
    e->fn = LLVMAddFunction(e->module, "divide", LLVMFunctionType(f32, args, 2, false));
    LLVMPositionBuilderAtEnd(e->b, emit_new_block(e, ""));
    LLVMBuildRet(e->b, nvptx_fdiv_shared(e, LLVMGetParam(e->fn, 0), LLVMGetParam(e->fn, 1)));
}

static int setup(void **state) {
    static jit j;
    static cg_options options;
    LLVMLinkInMCJIT();
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    j.arena = arena_create();
    j.context = LLVMContextCreate();
    emitter e = {.arena = j.arena,
                 .options = &options,
                 .tgt = &libm_target,
                 .llvm = j.context,
                 .module = LLVMModuleCreateWithNameInContext("math", j.context),
                 .b = LLVMCreateBuilderInContext(j.context)};
    for (int id = 0; id < FUNCTIONS; id++)
        add_function(&e, (function_id)id);
    add_division(&e);
    LLVMDisposeBuilder(e.b);
    char *error = NULL;
    if (LLVMVerifyModule(e.module, LLVMPrintMessageAction, &error))
        return -1;
    LLVMDisposeMessage(error);
    LLVMValueRef half = LLVMGetNamedFunction(e.module, "test_half_to_float");
    if (LLVMCreateMCJITCompilerForModule(&j.engine, e.module, NULL, 0, &error))
        return -1;
    LLVMAddGlobalMapping(j.engine, half, (void *)test_half_to_float);
    *state = &j;
    return 0;
}

static int teardown(void **state) {
    jit *j = *state;
    LLVMDisposeExecutionEngine(j->engine);
    LLVMContextDispose(j->context);
    arena_destroy(j->arena);
    return 0;
}

static void *address_of(void **state, function_id id) {
    jit *j = *state;
    char name[8];
    snprintf(name, sizeof(name), "f%d", (int)id);
    return (void *)(uintptr_t)LLVMGetFunctionAddress(j->engine, name);
}

// ---------------------------------------------------------------------------- measuring

static float float_from_bits(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof(f));
    return f;
}

/// Error of `got` in units of the last place of `want` rounded to a float.
static double ulps_f32(float got, double want) {
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : INFINITY;
    if ((float)want == got)
        return 0.5;
    if (isinf((float)want) || isinf(got))
        return INFINITY;
    int exponent = ilogb(want) < -126 ? -126 : ilogb(want);
    return fabs(got - want) / ldexp(1, exponent - 23);
}

static double ulps_f64(double got, long double want) {
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : INFINITY;
    if ((double)want == got)
        return 0.5;
    if (isinf((double)want) || isinf(got))
        return INFINITY;
    int exponent = ilogbl(want) < -1022 ? -1022 : ilogbl(want);
    return (double)(fabsl(got - want) / ldexpl(1, exponent - 52));
}

/// The worst error over every 509th float between the bit patterns, both signs if `negative`.
static double worst_f32(void **state, function_id id, double (*want)(double), uint32_t from,
                        uint32_t to, bool negative) {
    float (*f)(float) = (float (*)(float))address_of(state, id);
    double worst = 0;
    for (uint64_t bits = from; bits <= to; bits += 509) {
        for (int sign = 0; sign <= negative; sign++) {
            float x = float_from_bits((uint32_t)bits | (uint32_t)sign << 31);
            double u = ulps_f32(f(x), want(x));
            if (u > worst)
                worst = u;
        }
    }
    return worst;
}

static double worst_f64(void **state, function_id id, long double (*want)(long double), double from,
                        double to, int steps) {
    double (*f)(double) = (double (*)(double))address_of(state, id);
    double worst = 0;
    for (int i = 0; i <= steps; i++) {
        double x = from + (to - from) * i / steps;
        double u = ulps_f64(f(x), want((long double)x));
        if (u > worst)
            worst = u;
    }
    return worst;
}

#define assert_at_most(limit, expression)                                                          \
    do {                                                                                           \
        double measured = (expression);                                                            \
        if (!(measured <= (limit)))                                                                \
            print_error("%s: %g ulp\n", #expression, measured);                                    \
        assert_true(measured <= (limit));                                                          \
    } while (0)

// ---------------------------------------------------------------------------- tests

static void test_log_f32(void **state) {
    assert_at_most(1.0, worst_f32(state, LOG, log, 1, 0x7f800000, true));
    assert_at_most(2.0, worst_f32(state, LOG2, log2, 1, 0x7f800000, true));
    assert_at_most(1.0, worst_f32(state, LOG, log, 0x3f700000, 0x3f900000, false));
    assert_at_most(2.0, worst_f32(state, LOG2, log2, 0x3f700000, 0x3f900000, false));
    float (*f)(float) = (float (*)(float))address_of(state, LOG);
    assert_true(f(0.0f) == -INFINITY && f(-0.0f) == -INFINITY && isnan(f(-1.0f)) && isnan(f(NAN)));
}

static void test_erf_tanh(void **state) {
    assert_at_most(2.0, worst_f32(state, ERF, erf, 0x00800000, 0x7f800000, true));
    assert_at_most(3.0, worst_f32(state, TANH, tanh, 0x00800000, 0x7f800000, true));
    float (*f)(float) = (float (*)(float))address_of(state, ERF);
    float (*g)(float) = (float (*)(float))address_of(state, TANH);
    assert_true(f(INFINITY) == 1 && f(-INFINITY) == -1 && isnan(f(NAN)) && signbit(f(-0.0f)));
    assert_true(g(INFINITY) == 1 && g(-INFINITY) == -1 && isnan(g(NAN)) && signbit(g(-0.0f)));
}

static void test_sin_cos_f32(void **state) {
    assert_at_most(1.5, worst_f32(state, SIN, sin, 0x00000001, 0x7f7fffff, true));
    assert_at_most(1.5, worst_f32(state, COS, cos, 0x00000001, 0x7f7fffff, true));
    assert_at_most(1.5, worst_f32(state, SIN, sin, 0x46fff000, 0x47001000, true)); // the limit
    float (*f)(float) = (float (*)(float))address_of(state, SIN);
    float (*g)(float) = (float (*)(float))address_of(state, COS);
    assert_true(f(0.0f) == 0 && !signbit(f(0.0f)) && signbit(f(-0.0f)) &&
                f(0x1p-149f) == 0x1p-149f);
    assert_true(isnan(f(INFINITY)) && isnan(f(-INFINITY)) && isnan(f(NAN)));
    assert_true(g(0.0f) == 1 && g(-0.0f) == 1 && isnan(g(INFINITY)) && isnan(g(NAN)));
}

static void test_exp_f64(void **state) {
    assert_at_most(1.0, worst_f64(state, EXP_64, expl, -760, 720, 2000000));
    assert_at_most(1.0, worst_f64(state, EXP_64, expl, -1, 1, 500000));
    assert_at_most(1.0, worst_f64(state, EXP2_64, exp2l, -1090, 1030, 2000000));
    double (*f)(double) = (double (*)(double))address_of(state, EXP_64);
    assert_true(isnan(f(NAN)) && f(INFINITY) == INFINITY && f(-INFINITY) == 0 && f(0) == 1);
}

static void test_log_f64(void **state) {
    assert_at_most(1.0, worst_f64(state, LOG_64, logl, 0.5, 2, 1000000));
    assert_at_most(1.0, worst_f64(state, LOG_64, logl, 1e-310, 1e-300, 100000));
    assert_at_most(1.0, worst_f64(state, LOG_64, logl, 1, 1e300, 100000));
    assert_at_most(2.0, worst_f64(state, LOG2_64, log2l, 0.5, 2, 1000000));
    assert_at_most(2.0, worst_f64(state, LOG2_64, log2l, 1, 1e10, 1000000));
    double (*f)(double) = (double (*)(double))address_of(state, LOG_64);
    assert_true(isnan(f(NAN)) && f(INFINITY) == INFINITY && isnan(f(-1)) && f(0) == -INFINITY);
    assert_true(f(1) == 0);
}

/// The worst error over doubles spread evenly over the bit patterns between two, both signs, each
/// with the multiple of pi/2 next to it: there the result is near zero.
static double worst_angle(void **state, bool cosine, double from, double to, int steps) {
    double (*f)(double) = (double (*)(double))address_of(state, cosine ? COS_64 : SIN_64);
    const long double half_pi = 1.57079632679489661923132169163975144L;
    uint64_t first, last;
    memcpy(&first, &from, 8), memcpy(&last, &to, 8);
    double worst = 0;
    for (int i = 0; i < steps; i++) {
        uint64_t bits = first + (last - first) / (unsigned)steps * (unsigned)i + (unsigned)i % 997;
        double x;
        memcpy(&x, &bits, 8);
        double near = (double)(roundl(x / half_pi) * half_pi);
        const double points[] = {x, -x, near, -near, nextafter(near, 0)};
        for (int k = 0; k < 5; k++) {
            long double want = cosine ? cosl(points[k]) : sinl(points[k]);
            double u = ulps_f64(f(points[k]), want);
            worst = u > worst ? u : worst;
        }
    }
    return worst;
}

static void test_sin_cos_f64(void **state) {
    for (int cosine = 0; cosine < 2; cosine++) {
        assert_at_most(1.0, worst_angle(state, cosine, 0x1p-1074, 0x1p-1, 20000));
        assert_at_most(1.0, worst_angle(state, cosine, 0x1p-1, 0x1p30, 150000));
        assert_at_most(1.0, worst_angle(state, cosine, 0x1.fffffp29, 0x1.00001p30, 30000));
        assert_at_most(1.0, worst_angle(state, cosine, 0x1p30, DBL_MAX, 150000));
    }
    double (*f)(double) = (double (*)(double))address_of(state, SIN_64);
    double (*g)(double) = (double (*)(double))address_of(state, COS_64);
    assert_true(f(0.0) == 0 && !signbit(f(0.0)) && signbit(f(-0.0)) && f(0x1p-1074) == 0x1p-1074);
    assert_true(isnan(f(INFINITY)) && isnan(f(-INFINITY)) && isnan(f(NAN)));
    assert_true(g(0.0) == 1 && g(-0.0) == 1 && isnan(g(INFINITY)) && isnan(g(NAN)));
    // The double nearest to a multiple of pi/2, relative to its size, and the largest double
    assert_true(fabs(f(0x1.6ac5b262ca1ffp+849)) == 1 && g(0x1.6ac5b262ca1ffp+849) < 0x1p-60);
    assert_true(fabs(f(DBL_MAX) - 0.0049619547891840) < 1e-15);
}

static void test_erf_tanh_f64(void **state) {
    assert_at_most(1.5, worst_f64(state, ERF_64, erfl, -6.5, 6.5, 2000000));
    assert_at_most(1.5, worst_f64(state, ERF_64, erfl, 0.99, 1.01, 200000));
    assert_at_most(1.5, worst_f64(state, ERF_64, erfl, -1e-300, 1e-300, 1000));
    assert_at_most(2.0, worst_f64(state, TANH_64, tanhl, -20, 20, 2000000));
    assert_at_most(2.0, worst_f64(state, TANH_64, tanhl, 0.54, 0.56, 200000));
    assert_at_most(2.0, worst_f64(state, TANH_64, tanhl, -1e-300, 1e-300, 1000));
    for (function_id id = ERF_64; id <= TANH_64; id++) {
        double (*f)(double) = (double (*)(double))address_of(state, id);
        assert_true(f(INFINITY) == 1 && f(-INFINITY) == -1 && isnan(f(NAN)) && f(DBL_MAX) == 1);
        assert_true(f(0.0) == 0 && !signbit(f(0.0)) && signbit(f(-0.0)));
    }
}

static void test_division(void **state) {
    jit *j = *state;
    float (*f)(float, float) =
        (float (*)(float, float))(uintptr_t)LLVMGetFunctionAddress(j->engine, "divide");
    static const float edges[] = {0,         -0.0f,     1,         -1,      3,         INFINITY,
                                  -INFINITY, NAN,       FLT_MAX,   FLT_MIN, 0x1p-149f, 0x1p-130f,
                                  0x1p127f,  0x1p-100f, 0x1p-101f, 0.1f,    1e10f};
    enum { EDGES = sizeof(edges) / sizeof(edges[0]) };
    for (int i = 0; i < EDGES * EDGES; i++) {
        float x = edges[i / EDGES], y = edges[i % EDGES], want = x / y, got = f(x, y);
        assert_true(isnan(want) ? isnan(got) : ulps_f32(got, (double)x / (double)y) <= 1);
        assert_true(isnan(want) || !signbit(got) == !signbit(want));
    }
    uint64_t random = 1;
    for (int i = 0; i < 3000000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        float x = float_from_bits((uint32_t)(random >> 32));
        float y = float_from_bits((uint32_t)(random >> 16) * 2654435761u);
        float want = x / y, got = f(x, y);
        if (isnan(want))
            assert_true(isnan(got));
        else // in the subnormal range and just above it, the small product is rounded as well
            assert_true(ulps_f32(got, (double)x / (double)y) <=
                        (fabsf(want) > 0x1p-100f ? 0.501 : 1));
    }
}

static void check_fp8(void **state, dtype t, function_id from, function_id to, function_id cut) {
    float (*widen)(uint8_t) = (float (*)(uint8_t))address_of(state, from);
    uint8_t (*narrow)(float) = (uint8_t(*)(float))address_of(state, to);
    uint8_t (*narrow_rtz)(float) = (uint8_t(*)(float))address_of(state, cut);
    for (unsigned bits = 0; bits < 256; bits++) {
        double want = dtype_bits_to_float(t, bits);
        float got = widen((uint8_t)bits);
        assert_true(isnan(want) ? isnan(got)
                                : got == (float)want && !signbit(got) == !signbit(want));
    }
    for (uint64_t bits = 0; bits < 0x100000000; bits += 4093) {
        float x = float_from_bits((uint32_t)bits);
        assert_int_equal(narrow(x), dtype_float_to_bits(t, x));
        assert_int_equal(narrow_rtz(x), dtype_float_to_bits_rtz(t, x));
    }
    for (uint64_t high = 0; high < 0x10000; high++) { // every tie and its neighbours
        for (int step = -1; step <= 1; step++) {
            float x = float_from_bits((uint32_t)(high << 16) + (uint32_t)step);
            assert_int_equal(narrow(x), dtype_float_to_bits(t, x));
            assert_int_equal(narrow_rtz(x), dtype_float_to_bits_rtz(t, x));
        }
    }
}

static void test_fp8(void **state) {
    check_fp8(state, DT_FP8E4NV, FROM_E4, TO_E4, CUT_E4);
    check_fp8(state, DT_FP8E5, FROM_E5, TO_E5, CUT_E5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log_f32),      cmocka_unit_test(test_erf_tanh),
        cmocka_unit_test(test_exp_f64),      cmocka_unit_test(test_log_f64),
        cmocka_unit_test(test_sin_cos_f32),  cmocka_unit_test(test_sin_cos_f64),
        cmocka_unit_test(test_erf_tanh_f64), cmocka_unit_test(test_fp8),
        cmocka_unit_test(test_division),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
