"""Norms, rotary embeddings and gated activations, with the host code that such files carry."""
from __future__ import annotations

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from .somewhere import calculate_settings, ensure_contiguous

HALF_SQRT: tl.constexpr = 0.7071067811865476
GELU_SCALE = tl.constexpr(0.7978845608028654)
MAX_FUSED_SIZE = 65536 // torch.finfo(torch.float32).bits * 4


def settings(n, *, warps: dict[str, int] | None = None):
    if (block := triton.next_power_of_2(n)) > MAX_FUSED_SIZE:
        raise RuntimeError(f"{n=} is too large for {MAX_FUSED_SIZE!r:>{8}}")
    return block, (lambda b: 4 if b < 2048 else 8)(block)


@triton.jit
def rms_forward(y_ptr, x_ptr, w_ptr, rstd_ptr, n_cols, eps, offset, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0).to(tl.float32)
    w = tl.load(w_ptr + cols, mask=mask, other=0)
    rstd = libdevice.rsqrt(tl.sum(x * x, axis=0) / n_cols + eps)
    tl.store(rstd_ptr + row, rstd)
    tl.store(y_ptr + row * n_cols + cols, x * rstd * (offset + w), mask=mask)


@triton.jit
def rms_backward(dy_ptr, x_ptr, w_ptr, dx_ptr, dw_ptr, n_cols, eps, BLOCK: tl.constexpr):
    row_idx = tl.program_id(0)
    dy_ptr += row_idx * n_cols
    x_ptr += row_idx * n_cols
    dx_ptr += row_idx * n_cols
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    dy = tl.load(dy_ptr + cols, mask=mask, other=0.0)
    x = tl.load(x_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0)
    rstd = tl.rsqrt(tl.sum(x * x) / n_cols + eps)
    m = (dy * w).to(tl.float32)
    dx = rstd * m
    dx += rstd * (-(1 / n_cols) * rstd * rstd * tl.sum(m * x, axis=0) * x)
    tl.store(dx_ptr + cols, dx, mask=mask)
    tl.atomic_add(dw_ptr + cols, dy * (x * rstd), mask=mask)


@triton.jit
def layer_forward(y, x, w, b, n_cols, eps, HAS_BIAS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    mean = 0.0
    m2 = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        m2 += tl.load(x + row * n_cols + cols, mask=cols < n_cols, other=0.0)
    mean = tl.sum(m2, axis=0) / n_cols
    var = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        d = tl.where(cols < n_cols, tl.load(x + row * n_cols + cols, mask=cols < n_cols) - mean, 0.)
        var += d * d
    rstd = 1 / tl.sqrt(tl.sum(var, axis=0) / n_cols + eps)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        out = (tl.load(x + row * n_cols + cols, mask=mask) - mean) * rstd * tl.load(w + cols, mask)
        if HAS_BIAS:
            out += tl.load(b + cols, mask=mask)
        tl.store(y + row * n_cols + cols, out, mask=mask)


@triton.jit
def layer_backward(DX, DY, X, W, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    X += row * N
    DY += row * N
    x = tl.load(X + cols, mask=mask, other=0)
    wdy = tl.load(W + cols, mask=mask, other=0) * tl.load(DY + cols, mask=mask, other=0)
    mean = tl.sum(x, 0) / N
    centred = tl.where(mask, x - mean, 0.)
    rstd = 1 / tl.sqrt_rn(tl.sum(centred * centred, 0) / N + eps)
    xhat = centred * rstd
    c1, c2 = tl.sum(xhat * wdy, axis=0) / N, tl.sum(wdy, axis=0) / N
    tl.store(DX + row * N + cols, (wdy - (xhat * c1 + c2)) * rstd, mask=mask)


@triton.jit
def _combine(mean_a, m2_a, n_a, mean_b, m2_b, n_b):
    n = n_a + n_b
    ratio = tl.where(n == 0.0, 0.0, n_b / n)
    delta = mean_b - mean_a
    return mean_a + delta * ratio, m2_a + m2_b + delta * delta * n_a * ratio, n


@triton.jit
def batch_stats(mean_ptr, var_ptr, x_ptr, rows, cols, BLOCK_ROWS: tl.constexpr):
    """Welford over the rows, a column per program."""
    col = tl.program_id(axis=0)
    mean = tl.zeros([BLOCK_ROWS], tl.float32)
    m2 = tl.zeros_like(mean)
    n = tl.zeros_like(mean)
    for start in tl.range(0, rows, BLOCK_ROWS):
        r = start + tl.arange(0, BLOCK_ROWS)
        x = tl.load(x_ptr + r * cols + col, mask=r < rows, other=0.0)
        seen = (r < rows).to(tl.float32)
        mean, m2, n = _combine(mean, m2, n, x, tl.zeros_like(x), seen)
    mean, m2, n = tl.reduce((mean, m2, n), 0, _combine)
    tl.store(mean_ptr + col, mean)
    tl.store(var_ptr + col, m2 / n)


@triton.jit
def l2_normalize(x_ptr, D, eps, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    b_x = tl.load(x_ptr + i * D + o, mask=o < D, other=0.).to(tl.float32)
    b_y = b_x / tl.sqrt(tl.sum(b_x * b_x) + eps)
    tl.store(x_ptr + i * D + o, b_y.to(x_ptr.dtype.element_ty), mask=o < D)


@triton.jit
def add_rms(residual, x, weight, out, hidden_dim: tl.constexpr, eps: tl.constexpr = 1e-5):
    pid = tl.program_id(0)
    cols = tl.arange(0, triton.next_power_of_2(hidden_dim))
    mask = cols < hidden_dim
    a = tl.load(x + pid * hidden_dim + cols, mask=mask, other=0.0).to(tl.float32)
    a = a + tl.load(residual + pid * hidden_dim + cols, mask=mask, other=0.0).to(tl.float32)
    tl.store(residual + pid * hidden_dim + cols, a, mask=mask)
    rms = tl.rsqrt(tl.sum(a * a, axis=0) * (1.0 / hidden_dim) + eps)
    w = tl.load(weight + cols, mask=mask, other=0.0).to(tl.float32)
    tl.store(out + pid * hidden_dim + cols, a * rms * w, mask=mask)


@triton.jit
def dynamic_tanh(y_ptr, x_ptr, alpha, gamma_ptr, beta_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    mask = o < n
    x = tl.load(x_ptr + pid * n + o, mask=mask)
    gamma = tl.load(gamma_ptr + o, mask=mask)
    beta = tl.load(beta_ptr + o, mask=mask)
    tl.store(y_ptr + pid * n + o, libdevice.tanh(alpha * x) * gamma + beta, mask=mask)


# --- rotary embeddings


@triton.jit
def rope_halves(q_ptr, cos_ptr, sin_ptr, head_dim: tl.constexpr, BACKWARD: tl.constexpr = False):
    pid = tl.program_id(0)
    half: tl.constexpr = head_dim // 2
    o = tl.arange(0, triton.next_power_of_2(half))
    mask = o < half
    cos = tl.load(cos_ptr + pid * half + o, mask=mask, other=0)
    sin = tl.load(sin_ptr + pid * half + o, mask=mask, other=0)
    if BACKWARD:
        sin = -sin
    first = tl.load(q_ptr + pid * head_dim + o, mask=mask, other=0)
    second = tl.load(q_ptr + pid * head_dim + half + o, mask=mask, other=0)
    tl.store(q_ptr + pid * head_dim + o, first * cos - second * sin, mask=mask)
    tl.store(q_ptr + pid * head_dim + half + o, second * cos + first * sin, mask=mask)


@triton.jit
def rope_pairs(y_ptr, x_ptr, positions_ptr, n_pairs, log_base, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.arange(0, 2 * BLOCK)
    pair = tl.arange(0, BLOCK)
    mask = pair < n_pairs
    angle = tl.load(positions_ptr + row) * tl.exp(-log_base * pair / n_pairs)
    x = tl.load(x_ptr + row * n_pairs * 2 + o, mask=o < 2 * n_pairs, other=0.0)
    even, odd = tl.split(tl.reshape(x, (BLOCK, 2)))
    cos, sin = tl.cos(angle), tl.sin(angle)
    y = tl.interleave(even * cos - odd * sin, odd * cos + even * sin)
    tl.store(y_ptr + row * n_pairs * 2 + o, y, mask=o < 2 * n_pairs)


# --- activations


@triton.jit
def silu(x):
    return x * tl.sigmoid(x)


@triton.jit
def gated(c_ptr, a_ptr, b_ptr, n, ACT: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    o = tl.arange(0, BLOCK)
    mask = o < n
    a = tl.load(a_ptr + row * n + o, mask=mask, other=0).to(tl.float32)
    b = tl.load(b_ptr + row * n + o, mask=mask, other=0)
    if ACT == "silu":
        c = silu(a) * b
    elif ACT == "gelu_tanh":
        c = 0.5 * a * (1 + libdevice.tanh(GELU_SCALE * (a + 0.044715 * a * a * a))) * b
    elif ACT == "gelu":
        c = 0.5 * a * (1.0 + tl.erf(a * HALF_SQRT)) * b
    else:
        tl.static_assert(ACT == "relu2", "no such activation")
        c = tl.maximum(a, 0.0) * tl.maximum(a, 0.0) * b
    tl.store(c_ptr + row * n + o, c, mask=mask)


@triton.jit
def swiglu_backward(dc_ptr, a_ptr, b_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    mask = o < n
    dc = tl.load(dc_ptr + row * n + o, mask=mask, other=0)
    a = tl.load(a_ptr + row * n + o, mask=mask, other=0)
    b = tl.load(b_ptr + row * n + o, mask=mask, other=0)
    s = tl.sigmoid(a)
    tl.store(a_ptr + row * n + o, dc * b * (s * (1 + a * (1 - s))), mask=mask)
    tl.store(b_ptr + row * n + o, dc * a * s, mask=mask)


class Norm(torch.autograd.Function):
    @staticmethod
    @ensure_contiguous
    def forward(ctx, x, w, /, eps=1e-6, *rest, **options):
        match x.shape:
            case [rows, cols]:
                grid = (rows,)
            case _:
                grid = lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)
        rms_forward[grid](x, x, w, *rest, **{**options, "num_warps": 4})
        return x


if __name__ == "__main__":
    print({k: v async for k, v in ()} if False else f"""{
        settings(3)}""")
