#!/usr/bin/env python3
"""Prints the polynomials of codegen/emit_math.c, emit_erf.c and nvptx_trig.c and of
frontend/libdevice_math.tile, with their errors.

Every one is a minimax fit made here by the exchange algorithm of Remez: the polynomial whose
weighted error has the least maximum over the interval. The weight makes that error one of the
function's value. Coefficients must be floats of the target's precision, so they are rounded one by
one, the most important first, and the others are fitted again to make up for it.

    python3 scripts/minimax.py [NAME...]          needs python3-mpmath
"""
import struct
import sys

from mpmath import mp, mpf

mp.prec = 500
POINTS = 400


def to_fp32(x):
    return struct.unpack("f", struct.pack("f", float(x)))[0]


def chebyshev_points(lo, hi, n):
    """More of them towards the ends, where the extrema crowd."""
    lo, hi = mpf(lo), mpf(hi)
    return [(lo + hi) / 2 - (hi - lo) / 2 * mp.cos(mp.pi * i / (n - 1)) for i in range(n)]


def remez(points, values, weights, degree):
    """Coefficients c[0..degree] with the least max of weight * |value - polynomial|."""
    n = degree + 2
    chosen = [round(i * (len(points) - 1) / (n - 1)) for i in range(n)]
    for _ in range(40):
        rows, right = mp.matrix(n, n), mp.matrix(n, 1)
        for row, at in enumerate(chosen):
            for k in range(degree + 1):
                rows[row, k] = points[at] ** k
            rows[row, n - 1] = (-1) ** row / weights[at]
            right[row] = values[at]
        solution = mp.lu_solve(rows, right)
        c = [solution[k] for k in range(degree + 1)]
        errors = [w * (v - mp.polyval(c[::-1], x)) for x, v, w in zip(points, values, weights)]
        extrema = alternating_extrema(errors)
        while len(extrema) > n:  # drop the weaker end
            del extrema[0 if abs(errors[extrema[0]]) < abs(errors[extrema[-1]]) else -1]
        level = abs(solution[n - 1])
        if len(extrema) < n or max(abs(e) for e in errors) <= level * mpf("1.001"):
            break
        chosen = extrema
    return c


def alternating_extrema(errors):
    """The largest error of every run of one sign."""
    best = []
    for i, error in enumerate(errors):
        if best and (errors[best[-1]] > 0) == (error > 0):
            if abs(error) > abs(errors[best[-1]]):
                best[-1] = i
        else:
            best.append(i)
    return best


def fit(f, weight, lo, hi, degree, rounding):
    points = chebyshev_points(lo, hi, POINTS)
    values, weights = [f(x) for x in points], [weight(x) for x in points]
    if lo < 0:  # the coefficients meet in the middle: none is more important
        fixed = [rounding(c) for c in remez(points, values, weights, degree)]
    else:
        fixed = fit_one_by_one(points, values, weights, degree, rounding)
    worst = max(w * abs(v - mp.polyval([mpf(c) for c in fixed[::-1]], x))
                for x, v, w in zip(points, values, weights))
    return fixed, worst


def fit_one_by_one(points, values, weights, degree, rounding):
    fixed = []
    for k in range(degree + 1):
        fixed.append(rounding(remez(points, values, weights, degree - k)[0]))
        values = [(v - mpf(fixed[-1])) / x for v, x in zip(values, points)]
        weights = [w * x for x, w in zip(points, weights)]
    return fixed


TINY = mpf("1e-7")
QUARTER = mp.pi / 4 + mpf("0.004")  # the quadrant may be chosen a little beside the best one


def log_rest(f):  # log1p(f) = f - f^2/2 + f^3 * this
    if abs(f) < mpf("1e-15"):
        return mpf(1) / 3 - f / 4
    return (mp.log1p(f) - f + f * f / 2) / f**3


def log_odd(z):  # log((1 + s) / (1 - s)) = 2 s + s z * this, with z = s^2
    s = mp.sqrt(z)
    return 2 * sum(z**k / (2 * k + 3) for k in range(60)) if s < 0.3 else None


def sine(z):  # sin r = r + r z * this, with z = r^2
    r = mp.sqrt(z)
    return (mp.sin(r) - r) / (r * z)


def cosine(z):  # cos r = 1 - z/2 + z^2 * this
    return (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2


def erf_near(z):  # erf x = x + x * this
    x = mp.sqrt(z)
    return mp.erf(x) / x - 1


def erfc_log(u):  # erf x = 1 - e^this, with x = 1 + u
    return mp.log(mp.erfc(1 + u))


def tanh_near(z):  # tanh x = x + x z * this
    x = mp.sqrt(z)
    return (mp.tanh(x) / x - 1) / z


def expm1_rest(r):  # e^r - 1 = r + r^2/2 + r^3 * this
    if abs(r) < mpf("1e-12"):
        return mpf(1) / 6 + r / 24
    return (mp.expm1(r) - r - r * r / 2) / r**3


def atanh_rest(z):  # log((1 + s) / (1 - s)) = 2 (s + s z (1/3 + z * this)), with z = s^2
    s = mp.sqrt(z)
    return (mp.atanh(s) / s - 1 - z / 3) / z**2


def arctangent(z):  # atan t = t + t z * this, with z = t^2
    t = mp.sqrt(z)
    return (mp.atan(t) / t - 1) / z


def arcsine(z):  # asin t = t + t z * this, with z = t^2
    t = mp.sqrt(z)
    return (mp.asin(t) / t - 1) / z


ERFC_MIDDLE = 4


def erfc_scaled(t):  # (1 + 2 x) e^(x^2) erfc x = this, with t = (x - 4) / (x + 4)
    x = ERFC_MIDDLE * (1 + t) / (1 - t)
    return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)


def erfc_place(x):
    return (mpf(x) - ERFC_MIDDLE) / (mpf(x) + ERFC_MIDDLE)


def erfinv_at(w):  # erfinv x = x * this, with w = -log(1 - x^2)
    x = mp.sqrt(-mp.expm1(-w))
    with mp.workprec(120):
        return erf_inverse(x, mp.exp(-w) / (1 + x)) / x


def erf_inverse(x, rest):
    """By Newton's method; rest = 1 - x."""
    y = mp.sqrt(-mp.log(rest)) if x > mpf("0.9") else x
    for _ in range(40):
        step = (mp.erfc(y) - rest) * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
        y += step
        if abs(step) < mpf("1e-30") * abs(y):
            break
    return y


def erfinv_far(u):  # sqrt(w) = u + 2.2
    return erfinv_at((u + mpf("2.2"))**2)


def lgamma_two(f):  # lgamma(2 + f) = f * this
    return mp.loggamma(2 + f) / f if abs(f) > mpf("1e-12") else 1 - mp.euler


def stirling(z):  # lgamma x = (x - 1/2) log x - x + log(2 pi) / 2 + this / x, with z = 1 / x^2
    x = 1 / mp.sqrt(z)
    return x * (mp.loggamma(x) - (x - mpf(1) / 2) * mp.log(x) + x - mp.log(2 * mp.pi) / 2)


SINE_WEIGHT = lambda z: z / mp.sinc(mp.sqrt(z))
COSINE_WEIGHT = lambda z: z**2 / mp.cos(mp.sqrt(z))
ERF_WEIGHT = lambda z: mp.sqrt(z) / mp.erf(mp.sqrt(z))
ERFC_WEIGHT = lambda u: mp.erfc(1 + u) / mp.erf(1 + u)
TANH_WEIGHT = lambda z: z * mp.sqrt(z) / mp.tanh(mp.sqrt(z))
LOG_WEIGHT = lambda f: abs(f**3 / mp.log1p(f)) if abs(f) > mpf("1e-15") else f * f
LOG_ODD_WEIGHT = lambda z: z / 2
EXPM1_WEIGHT = lambda r: abs(r**3 / mp.expm1(r)) if abs(r) > mpf("1e-12") else r * r
ATANH_WEIGHT = lambda z: z**2
ATAN_WEIGHT = lambda z: z * mp.sqrt(z) / mp.atan(mp.sqrt(z))
ASIN_WEIGHT = lambda z: z * mp.sqrt(z) / mp.asin(mp.sqrt(z))
ERFC_SCALED_WEIGHT = lambda t: 1 / erfc_scaled(t)
HALF_LN2 = mp.log(2) / 2 + mpf("0.002")

# name: function, weight, interval, degree, rounding
FITS = {
    "sine_f32": (sine, SINE_WEIGHT, TINY, QUARTER**2, 3, to_fp32),
    "cosine_f32": (cosine, COSINE_WEIGHT, TINY, QUARTER**2, 2, to_fp32),
    "log_f32": (log_rest, LOG_WEIGHT, -mpf(1) / 3, mpf(1) / 3 + TINY, 8, to_fp32),
    "erf_near_f32": (erf_near, ERF_WEIGHT, TINY, 1, 6, to_fp32),
    "erf_far_f32": (erfc_log, ERFC_WEIGHT, TINY, 3, 7, to_fp32),
    "tanh_f32": (tanh_near, TANH_WEIGHT, TINY, mpf("0.3025"), 4, to_fp32),
    "expm1_f32": (expm1_rest, EXPM1_WEIGHT, -HALF_LN2, HALF_LN2, 4, to_fp32),
    "atanh_f32": (atanh_rest, ATANH_WEIGHT, TINY, mpf("0.02945"), 3, to_fp32),
    "atan_f32": (arctangent, ATAN_WEIGHT, TINY, 1, 8, to_fp32),
    "asin_f32": (arcsine, ASIN_WEIGHT, TINY, mpf("0.25"), 5, to_fp32),
    "erfc_f32": (erfc_scaled, ERFC_SCALED_WEIGHT, -1, erfc_place(10.2), 10, to_fp32),
    "erfinv_near": (erfinv_at, lambda w: 1 / erfinv_at(w), mpf("1e-5"), 5, 10, to_fp32),
    "erfinv_far_f32": (erfinv_far, lambda u: 1 / erfinv_far(u), mpf("0.02"), mpf("1.9"), 9, to_fp32),
    "lgamma_f32": (lgamma_two, lambda f: 1 / lgamma_two(f), -mpf("0.5"), mpf("0.5"), 9, to_fp32),
    "stirling_f32": (stirling, lambda z: 12 * mpf("0.01"), mpf("1e-6"), mpf(1) / 64, 2, to_fp32),
    "expm1_f64": (expm1_rest, EXPM1_WEIGHT, -HALF_LN2, HALF_LN2, 10, float),
    "atanh_f64": (atanh_rest, ATANH_WEIGHT, TINY, mpf("0.02945"), 8, float),
    "atan_f64": (arctangent, ATAN_WEIGHT, TINY, 1, 19, float),
    "asin_f64": (arcsine, ASIN_WEIGHT, TINY, mpf("0.25"), 12, float),
    "erfc_f64": (erfc_scaled, ERFC_SCALED_WEIGHT, -1, erfc_place(27.3), 23, float),
    "erfinv_far_f64": (erfinv_far, lambda u: 1 / erfinv_far(u), mpf("0.02"), mpf("3.95"), 10, float),
    "lgamma_f64": (lgamma_two, lambda f: 1 / lgamma_two(f), -mpf("0.5"), mpf("0.5"), 19, float),
    "stirling_f64": (stirling, lambda z: 12 * mpf("0.01"), mpf("1e-6"), mpf(1) / 64, 8, float),
    "sine_f64": (sine, SINE_WEIGHT, TINY, (mp.pi / 4 + TINY)**2, 5, float),
    "cosine_f64": (cosine, COSINE_WEIGHT, TINY, (mp.pi / 4 + TINY)**2, 5, float),
    "log_f64": (log_odd, LOG_ODD_WEIGHT, TINY, (mp.sqrt(2) - 1)**4, 6, float),
    "erf_near_f64": (erf_near, ERF_WEIGHT, TINY, 1, 11, float),
    "erf_far_f64": (erfc_log, ERFC_WEIGHT, TINY, 5, 18, float),
    "tanh_f64": (tanh_near, TANH_WEIGHT, TINY, mpf("0.3025"), 10, float),
}


def print_pi():
    """The parts of pi/2 that the reductions subtract, and the bits of 2/pi after the point."""
    for bits, cut in ((53, False), (24, True)):
        rest, parts = mp.pi / 2, []
        for _ in range(3):
            unit = mpf(2) ** (int(mp.floor(mp.log(abs(rest), 2))) - bits + 1)
            parts.append((mp.floor if cut else mp.nint)(rest / unit) * unit)
            rest -= parts[-1]
        print(f"pi/2, {bits} bits a part:", ", ".join(float(p).hex() for p in parts))
    with mp.workprec(2000):
        bits = int(mp.floor(2 / mp.pi * mpf(2) ** (64 * 19)))
    print("2/pi:", ", ".join(f"{bits >> 64 * i & (1 << 64) - 1:#018x}" for i in reversed(range(19))))


def main():
    for name in sys.argv[1:] or FITS:
        f, weight, lo, hi, degree, rounding = FITS[name]
        c, worst = fit(f, weight, lo, hi, degree, rounding)
        print(f"{name}: error 2^{float(mp.log(worst, 2)):.1f}")
        print("    " + ", ".join(float(x).hex() for x in c) + "\n")
    print_pi()


if __name__ == "__main__":
    main()
