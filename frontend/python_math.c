// Python's module math, for constants: math.pi, math.sqrt(2), 1 / math.log(2). Compile-time numbers
// only; what a kernel computes at run time goes through tl.math and libdevice.
#include "frontend/builtins.h"

#include <math.h>

enum { MAX_ARGUMENTS = 2 };

typedef double math_fn(double x, double y);

static double call_log(double x, double base) { return isnan(base) ? log(x) : log(x) / log(base); }
#define ONE(name)                                                                                  \
    static double call_##name(double x, double unused) {                                           \
        (void)unused;                                                                              \
        return name(x);                                                                            \
    }
ONE(sqrt)
ONE(exp)
ONE(exp2)
ONE(log2)
ONE(log10)
ONE(log1p)
ONE(expm1)
ONE(sin)
ONE(cos)
ONE(tan)
ONE(tanh)
ONE(fabs)
ONE(floor)
ONE(ceil)
ONE(erf)

static value build_number(lowering *lo, const char *name, math_fn *fn, value *args, unsigned count,
                          bool is_int, src_range range) {
    double x[MAX_ARGUMENTS] = {NAN, NAN};
    for (unsigned i = 0; i < count; i++) {
        if (args[i].kind == VALUE_NONE && i > 0) // the base of log() that is not given
            continue;
        if (!value_is_number(&args[i]))
            return lower_error(lo, value_place(&args[i], range),
                               "math.%s() takes a number known at compile time, not %s%s", name,
                               sem_describe(lo, &args[i]),
                               args[i].kind == VALUE_IR ? "; see tl.math" : "");
        x[i] = args[i].kind == VALUE_FLOAT ? args[i].f
               : args[i].is_unsigned       ? (double)(uint64_t)args[i].i
                                           : (double)args[i].i;
    }
    double y = fn(x[0], x[1]);
    bool is_error = isnan(y)
                        ? !isnan(x[0]) && !(count > 1 && isnan(x[1]) && args[1].kind != VALUE_NONE)
                        : isinf(y) && isfinite(x[0]);
    if (is_error)
        return lower_error(lo, range, "math.%s() has no value here", name);
    if (!is_int)
        return value_float(y);
    if (!(fabs(y) < 0x1p63))
        return lower_error(lo, range, "math.%s(): the result is no 64-bit integer", name);
    return value_int((int64_t)y);
}

#define FUNCTIONS(X)                                                                               \
    X(sqrt, call_sqrt, 1, false, "x")                                                              \
    X(exp, call_exp, 1, false, "x")                                                                \
    X(exp2, call_exp2, 1, false, "x")                                                              \
    X(log, call_log, 2, false, "x, base=None")                                                     \
    X(log2, call_log2, 1, false, "x")                                                              \
    X(log10, call_log10, 1, false, "x")                                                            \
    X(log1p, call_log1p, 1, false, "x")                                                            \
    X(expm1, call_expm1, 1, false, "x")                                                            \
    X(sin, call_sin, 1, false, "x")                                                                \
    X(cos, call_cos, 1, false, "x")                                                                \
    X(tan, call_tan, 1, false, "x")                                                                \
    X(tanh, call_tanh, 1, false, "x")                                                              \
    X(erf, call_erf, 1, false, "x")                                                                \
    X(fabs, call_fabs, 1, false, "x")                                                              \
    X(pow, pow, 2, false, "x, y")                                                                  \
    X(floor, call_floor, 1, true, "x")                                                             \
    X(ceil, call_ceil, 1, true, "x")

#define BUILD(name, fn, count, is_int, signature)                                                  \
    static value build_math_##name(lowering *lo, value *args, src_range range) {                   \
        return build_number(lo, #name, fn, args, count, is_int, range);                            \
    }
FUNCTIONS(BUILD)

#define ROW(name, fn, count, is_int, signature) {#name, signature, 0, build_math_##name},
static const builtin functions[] = {FUNCTIONS(ROW)};

bool python_math_member(sv name, value *out) {
    static const struct {
        const char *name;
        double value;
    } constants[] = {{"pi", M_PI}, {"e", M_E}, {"tau", 2 * M_PI}, {"inf", INFINITY}, {"nan", NAN}};
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (sv_is(name, constants[i].name)) {
            *out = value_float(constants[i].value);
            return true;
        }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (sv_is(name, functions[i].name)) {
            *out = (value){.kind = VALUE_BUILTIN, .builtin = &functions[i]};
            return true;
        }
    return false;
}
