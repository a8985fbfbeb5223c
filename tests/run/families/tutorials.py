"""What Triton's tutorials without tensor cores teach, told anew: adding, softmax, dropout from a seed,
layer norm with its gradients, which programs add up under locks, and a function of libdevice."""
import torch

import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.runtime import driver

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.jit
def add(x_ptr, y_ptr, sum_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    total = tl.load(x_ptr + offsets, mask=inside) + tl.load(y_ptr + offsets, mask=inside)
    tl.store(sum_ptr + offsets, total, mask=inside)


def add_tensors(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    assert x.device == DEVICE and y.device == DEVICE
    add[lambda meta: (triton.cdiv(out.numel(), meta["BLOCK"]),)](x, y, out, out.numel(), BLOCK=1024)
    return out


@triton.jit
def softmax(out_ptr, in_ptr, in_stride, out_stride, n_rows, n_cols, BLOCK: tl.constexpr,
            num_stages: tl.constexpr):
    # Each program takes every so many rows.
    for row in tl.range(tl.program_id(0), n_rows, tl.num_programs(0), num_stages=num_stages):
        cols = tl.arange(0, BLOCK)
        x = tl.load(in_ptr + row * in_stride + cols, mask=cols < n_cols, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * out_stride + cols, e / tl.sum(e, axis=0), mask=cols < n_cols)


@triton.jit
def seeded_dropout(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    """The seed says what is dropped; no mask is kept."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    kept = tl.rand(seed, offsets) > p
    tl.store(out_ptr + offsets, tl.where(kept, x / (1 - p), 0.0), mask=offsets < n)


@triton.jit
def layer_norm(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * stride
    y_ptr += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + cols, mask=cols < n, other=0.).to(tl.float32)
    mean = tl.sum(total, axis=0) / n
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < n, other=0.).to(tl.float32)
        x = tl.where(cols < n, x - mean, 0.)
        squares += x * x
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / n + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n
        w = tl.load(w_ptr + cols, mask=mask)
        b = tl.load(b_ptr + cols, mask=mask)
        x = tl.load(x_ptr + cols, mask=mask, other=0.).to(tl.float32)
        tl.store(y_ptr + cols, (x - mean) * rstd * w + b, mask=mask)


@triton.jit
def layer_norm_dx(dx_ptr, dy_ptr, dw_ptr, db_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, locks_ptr,
                  counts_ptr, stride, n, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    """The rows of a group add their parts of dw and db into one row, one at a time."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0).to(tl.float32)
    dy = tl.load(dy_ptr + row * stride + cols, mask=mask, other=0).to(tl.float32)
    w = tl.load(w_ptr + cols, mask=mask, other=0).to(tl.float32)
    rstd = tl.load(rstd_ptr + row)
    normal = tl.where(mask, (x - tl.load(mean_ptr + row)) * rstd, 0.)
    wdy = tl.where(mask, w * dy, 0.)
    along = tl.sum(normal * wdy, axis=0) / n
    level = tl.sum(wdy, axis=0) / n
    tl.store(dx_ptr + row * stride + cols, (wdy - (normal * along + level)) * rstd, mask=mask)

    dw = (dy * normal).to(w.dtype)
    db = dy.to(w.dtype)
    group = row % GROUPS
    lock_ptr = locks_ptr + group
    count_ptr = counts_ptr + group
    dw_ptrs = dw_ptr + group * n + cols
    db_ptrs = db_ptr + group * n + cols
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    if tl.load(count_ptr) == 0:
        tl.atomic_xchg(count_ptr, 1)
    else:
        dw += tl.load(dw_ptrs, mask=mask)
        db += tl.load(db_ptrs, mask=mask)
    tl.store(dw_ptrs, dw, mask=mask)
    tl.store(db_ptrs, db, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


@triton.jit
def layer_norm_dwdb(part_dw_ptr, part_db_ptr, dw_ptr, db_ptr, rows, n, BLOCK_ROWS: tl.constexpr,
                    BLOCK_COLS: tl.constexpr):
    cols = tl.program_id(0) * BLOCK_COLS + tl.arange(0, BLOCK_COLS)
    dw = tl.zeros((BLOCK_ROWS, BLOCK_COLS), dtype=tl.float32)
    db = tl.zeros((BLOCK_ROWS, BLOCK_COLS), dtype=tl.float32)
    for start in range(0, rows, BLOCK_ROWS):
        r = start + tl.arange(0, BLOCK_ROWS)
        mask = (r[:, None] < rows) & (cols[None, :] < n)
        offsets = r[:, None] * n + cols[None, :]
        dw += tl.load(part_dw_ptr + offsets, mask=mask, other=0.)
        db += tl.load(part_db_ptr + offsets, mask=mask, other=0.)
    tl.store(dw_ptr + cols, tl.sum(dw, axis=0), mask=cols < n)
    tl.store(db_ptr + cols, tl.sum(db, axis=0), mask=cols < n)


@triton.jit
def arcsine(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr + offsets, libdevice.asin(x), mask=offsets < n)


@triton.testing.perf_report(
    triton.testing.Benchmark(x_names=["n"], x_vals=[2**i for i in range(12, 28, 1)], args={}))
def benchmark(n, provider, mode="forward", eps=1e-5):
    x = torch.rand(n, device=DEVICE, dtype=torch.float32)
    ms, *_ = triton.testing.do_bench(lambda: add_tensors(x, x), quantiles=[0.5, 0.2, 0.8])
    return 3 * x.numel() * x.element_size() * 1e-9 / (ms * 1e-3)


benchmark.run(print_data=True, show_plots=True)
