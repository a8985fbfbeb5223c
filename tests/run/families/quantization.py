"""Quantization: to int8, int4, fp8 and four-bit tables, and back."""
import triton
import triton.language as tl
from triton.language.extra import libdevice

FP8_MAX = 448.0
EPS: tl.constexpr = 1e-6


@triton.jit
def row_to_int8(q_ptr, scale_ptr, x_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=mask, other=0.0).to(tl.float32)
    absmax = tl.maximum(tl.max(tl.abs(x)), 1e-10)
    scale = absmax / 127
    q = libdevice.round(x * (127 / absmax)).to(tl.int8)
    tl.store(q_ptr + row * n + cols, q, mask=mask)
    tl.store(scale_ptr + row, scale)


@triton.jit
def int8_to_row(y_ptr, q_ptr, scale_ptr, zero_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    scale = tl.load(scale_ptr + row)
    zero = tl.load(zero_ptr + row)
    q = tl.load(q_ptr + row * n + cols, mask=cols < n, other=0)
    y = (q.to(tl.float32) - zero) * scale
    tl.store(y_ptr + row * n + cols, y.to(y_ptr.type.element_ty), mask=cols < n)


@triton.jit
def group_to_fp8(q_ptr, s_ptr, x_ptr, group_size, fp8_max, ROUND_SCALE: tl.constexpr, BLOCK: tl.constexpr):
    g = tl.program_id(0).to(tl.int64)
    x_ptr += g * group_size
    q_ptr += g * group_size
    cols = tl.arange(0, BLOCK)
    mask = cols < group_size
    x = tl.load(x_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    s = tl.maximum(tl.max(tl.abs(x)), EPS) / fp8_max
    if ROUND_SCALE:
        s = tl.exp2(tl.ceil(tl.log2(s)))
    q = tl.clamp(x / s, -fp8_max, fp8_max).to(q_ptr.dtype.element_ty)
    tl.store(q_ptr + cols, q, mask=mask)
    tl.store(s_ptr + g, s)


@triton.jit
def fp8_to_group(y_ptr, q_ptr, s_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    q = tl.load(q_ptr + row * n + cols, mask=cols < n).to(tl.float32)
    tl.store(y_ptr + row * n + cols, q * tl.load(s_ptr + row), mask=cols < n)


@triton.jit
def largest_magnitude(out_ptr, x_ptr, n, BLOCK: tl.constexpr):
    """Of the whole tensor: every program adds its part."""
    pid = tl.program_id(0)
    o = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + o, mask=o < n, other=0.0)
    tl.atomic_max(out_ptr, tl.max(tl.abs(x), axis=0).to(tl.float32))


@triton.jit
def pack_int4(packed_ptr, q_ptr, n, n_packed, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    low = tl.load(q_ptr + row * n + 2 * o, mask=2 * o < n, other=0)
    high = tl.load(q_ptr + row * n + 2 * o + 1, mask=2 * o + 1 < n, other=0)
    both = (low.to(tl.uint8) & 0xF) | ((high.to(tl.uint8) & 0xF) << 4)
    tl.store(packed_ptr + row * n_packed + o, both, mask=o < n_packed)


@triton.jit
def unpack_int4(y_ptr, packed_ptr, scale_ptr, n, n_packed, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    packed = tl.load(packed_ptr + row * n_packed + o // 2, mask=o < n, other=0)
    nibble = (packed >> (4 * (o % 2))) & 0xF
    value = nibble.to(tl.int32) - 8
    tl.store(y_ptr + row * n + o, value * tl.load(scale_ptr + row), mask=o < n)


@triton.jit
def look_up_four_bits(y_ptr, packed_ptr, table_ptr, absmax_ptr, n, n_packed, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    packed = tl.load(packed_ptr + row * n_packed + o, mask=o < n_packed, other=0)
    absmax = tl.load(absmax_ptr + row)
    high = tl.load(table_ptr + (packed >> 4).to(tl.int32)) * absmax
    low = tl.load(table_ptr + (packed & 15).to(tl.int32)) * absmax
    values = tl.join(low, high).reshape(2 * BLOCK)
    both = tl.arange(0, 2 * BLOCK)
    tl.store(y_ptr + row * n + both, values, mask=both < n)


@triton.jit
def nearest_four_bits(x):
    """The code of the nearest of 0, .25, .5, 1, 2, 4 with its sign in bit 3."""
    a = tl.abs(x)
    code = tl.where(a > 0.125, 1, 0)
    code += (a > 0.375).to(tl.int32)
    code += (a > 0.75).to(tl.int32)
    code += (a > 1.5).to(tl.int32)
    code += (a > 3.0).to(tl.int32)
    return tl.where(x < 0, code | 8, code)


@triton.jit
def to_four_bits(code_ptr, x_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + o, mask=o < n, other=0.0)
    tl.store(code_ptr + row * n + o, nearest_four_bits(x).to(tl.uint8), mask=o < n)


@triton.jit
def bits_of_floats(sign_ptr, exponent_ptr, x_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    bits = tl.load(x_ptr + row * n + o, mask=o < n).to(tl.int32, bitcast=True)
    tl.store(sign_ptr + row * n + o, (bits >> 31) != 0, mask=o < n)
    tl.store(exponent_ptr + row * n + o, ((bits >> 23) & 0xFF) - 127, mask=o < n)


@triton.jit
def to_key_cache(key_ptr, cache_ptr, slots_ptr, scale, n, IS_FP8: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    slot = tl.load(slots_ptr + token).to(tl.int64)
    if slot < 0:
        return
    o = tl.arange(0, BLOCK)
    k = tl.load(key_ptr + token * n + o, mask=o < n)
    if IS_FP8:
        k = (k / scale).to(cache_ptr.dtype.element_ty)
    tl.store(cache_ptr + slot * n + o, k, mask=o < n)
