"""Arguments as examples/python/tile.py takes them, on cpu with NumPy: numbers, types, views and grids."""
import importlib.util
import os
import sys
import tempfile

import tile

SOURCE = """
def numbers(y, a, T: constexpr = i64):
    store(y, a.to(T).to(y.dtype.element_ty))
    store(y + 1, a.dtype.primitive_bitwidth + 1000 * a.dtype.is_int_unsigned())

def twice(y, x, n, B: constexpr):
    o = arange(0, B)
    store(y + o, load(x + o, mask=o < n) * 2, mask=o < n)
"""


def expect(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def expect_error(kind, call, what):
    try:
        call()
    except kind:
        return
    sys.exit(f"FAILED: no {kind.__name__}: {what}")


def main():
    if not importlib.util.find_spec("numpy"):
        return 77
    import numpy
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "test.tile")
        with open(path, "w") as f:
            f.write(SOURCE)
        module = tile.Device("cpu").load(path)
    numbers, twice = module["numbers"], module["twice"]

    y = numpy.zeros(2, numpy.int64)
    for value, bits in ((True, 1), (5, 32), (-2**31, 32), (2**31, 64), (-2**63, 64), (2**63 - 1, 64),
                        (numpy.int64(7), 32), (numpy.bool_(True), 1), (numpy.float32(3), 32)):
        numbers[(1,)](y, value)
        expect(y[0] == int(value) and y[1] % 1000 == bits, f"{value!r} came as {y}")
    u = numpy.zeros(2, numpy.uint64)
    for value in (2**63, 2**64 - 1):
        numbers[(1,)](u, value, T=tile.dtype("u64"))
        expect(u[0] == value and u[1] == 1064, f"{value} came as {u}")
    for value in (2**64, -2**63 - 1, 2**70):
        expect_error(OverflowError, lambda: numbers[(1,)](u, value), value)
    f = numpy.zeros(2, numpy.float32)
    numbers[(1,)](f, 0.3, T=tile.dtype("fp16"))
    expect(f[0] == numpy.float32(numpy.float16(0.3)), f"0.3 to fp16 is {f[0]}")

    a = numpy.arange(20, dtype=numpy.float32)
    twice[(1,)](a[3:11], a[4:12], 8, B=8)
    expect((a[3:11] == 2 * numpy.arange(4, 12)).all(), f"overlapping views: {a}")
    for grid in ((2**32,), (-1,), (), (1, 1, 1, 1)):
        expect_error(ValueError, lambda: twice[grid](a, a, 8, B=8), grid)
    expect_error(tile.Error, lambda: twice[(1,)](a, a[:4], 21, B=32), "beyond the array")
    return 0


sys.exit(main())
