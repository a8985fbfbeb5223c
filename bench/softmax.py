"""Softmax beside its peers, in one process on the same buffers: ours (one row per program and
persistent, num_warps swept), Triton (one row per program with num_warps swept, the tutorial's
persistent form), torch.softmax. L2 flushed before each run, median of CUDA event times, outputs
poisoned before and compared after.

    python3 bench/softmax.py --library build/static/lib/libtile.so [--rows 4096] [--quick] [--out FILE.json]
"""
import argparse
import datetime
import json
import os
import statistics
import sys

import torch
import triton
import triton.language as tl

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tile_ctypes import Tile  # noqa: E402


@triton.jit
def triton_rows(y, x, y_stride, x_stride, n_cols, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    row = tl.load(x + r * x_stride + cols, mask=mask, other=-float("inf")).to(tl.float32)
    e = tl.exp(row - tl.max(row, axis=0))
    tl.store(y + r * y_stride + cols, e / tl.sum(e, axis=0), mask=mask)


@triton.jit
def triton_persistent(y, x, y_stride, x_stride, n_rows, n_cols, BLOCK: tl.constexpr, num_stages: tl.constexpr):
    for r in tl.range(tl.program_id(0), n_rows, tl.num_programs(0), num_stages=num_stages):
        cols = tl.arange(0, BLOCK)
        mask = cols < n_cols
        row = tl.load(x + r * x_stride + cols, mask=mask, other=-float("inf")).to(tl.float32)
        e = tl.exp(row - tl.max(row, axis=0))
        tl.store(y + r * y_stride + cols, e / tl.sum(e, axis=0), mask=mask)


FLUSH = torch.empty(256 << 20, dtype=torch.int8, device="cuda")


def time_us(launch, runs):
    """(median, 20th, 80th percentile) in microseconds."""
    launch()
    torch.cuda.synchronize()
    events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(runs)]
    for start, end in events:
        FLUSH.zero_()
        start.record()
        launch()
        end.record()
    torch.cuda.synchronize()
    t = sorted(s.elapsed_time(e) * 1e3 for s, e in events)
    return statistics.median(t), t[runs // 5], t[runs * 4 // 5]


def variants(tile, kernels, x, y):
    """Yields (peer, settings, launch)."""
    rows, n = x.shape
    block = triton.next_power_of_2(n)
    name = {torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16"}[x.dtype]
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    for warps in (1, 2, 4, 8, 16, 32):
        if not 2 <= block // (32 * warps) <= 128:
            if not (warps == 1 and block < 64):
                continue
        args = tile.args(y, x, y.stride(0), x.stride(0), n, BLOCK=block)
        info = tile.warmup(kernels["softmax_" + name], args, warps)
        yield "tile", f"rows warps={warps} regs={info.registers} spill={info.spill_bytes}", tile.launcher(
            kernels["softmax_" + name], args, rows, warps)
        args = tile.args(y, x, y.stride(0), x.stride(0), rows, n, BLOCK=block)
        info = tile.warmup(kernels["softmax_persistent_" + name], args, warps)
        grid = min(rows, info.num_sms * max(1, info.max_blocks_per_sm))
        yield "tile", f"persistent warps={warps} regs={info.registers} grid={grid}", tile.launcher(
            kernels["softmax_persistent_" + name], args, grid, warps)
        yield "triton", f"rows warps={warps}", lambda w=warps: triton_rows[(rows,)](
            y, x, y.stride(0), x.stride(0), n, BLOCK=block, num_warps=w)
    for stages in (4, 2):  # the tutorial's choice, then what it falls back to
        k = triton_persistent.warmup(y, x, y.stride(0), x.stride(0), rows, n, BLOCK=block, num_stages=stages, num_warps=8, grid=(1,))
        try:
            k._init_handles()
        except triton.runtime.errors.OutOfResources:
            continue
        occupancy = max(1, min(65536 // max(1, k.n_regs * 32 * 8), 227 * 1024 // max(1, k.metadata.shared)))
        grid = min(rows, sms * occupancy)
        yield "triton", f"persistent warps=8 stages={stages} grid={grid}", lambda g=grid, s=stages: triton_persistent[(g,)](
            y, x, y.stride(0), x.stride(0), rows, n, BLOCK=block, num_stages=s, num_warps=8)
    yield "torch", "softmax", lambda: torch.softmax(x, 1, out=y) if x.dtype == y.dtype else None


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--library", required=True)
    p.add_argument("--rows", type=int, default=4096)
    p.add_argument("--cols", default="256,781,1000,1024,4096,8192,12345,16384,32768")
    p.add_argument("--dtypes", default="float32,float16,bfloat16")
    p.add_argument("--runs", type=int, default=50)
    p.add_argument("--out")
    a = p.parse_args()
    here = os.path.dirname(os.path.abspath(__file__))
    tile = Tile(a.library)
    kernels = {f"softmax_{form}{t}": tile.kernel(os.path.join(here, "../examples/softmax.tile"), f"softmax_{form}{t}")
               for form in ("", "persistent_") for t in ("fp32", "fp16", "bf16")}
    result = {"date": datetime.date.today().isoformat(), "device": torch.cuda.get_device_name(0), "rows": a.rows,
              "torch": torch.__version__, "triton": triton.__version__, "runs": a.runs,
              "method": "one process, same buffers, L2 flushed by a 256 MiB fill, CUDA events, median [p20 p80] us", "shapes": []}
    print(f"{'dtype':9} {'N':>6} {'tile us':>9} {'triton us':>9} {'torch us':>9} {'tile GB/s':>9} {'triton/tile':>11}  best settings")
    for dtype in (getattr(torch, d) for d in a.dtypes.split(",")):
        for n in map(int, a.cols.split(",")):
            torch.manual_seed(0)
            x = torch.randn(a.rows, n, device="cuda").to(dtype)
            want = torch.softmax(x.double(), 1)
            best, all_rows = {}, []
            for peer, settings, launch in variants(tile, kernels, x, y := torch.empty_like(x)):
                y.fill_(float("nan"))
                launch()
                err = ((y.double() - want).abs() / want).max().item()
                if not err < (1e-5 if dtype == torch.float32 else 0.02 if dtype == torch.bfloat16 else 2e-3):
                    print(f"WRONG {peer} {settings} {dtype} N={n}: relative error {err}")
                    if peer == "tile":
                        result["wrong"] = True
                    continue
                t = time_us(launch, a.runs)
                all_rows.append({"peer": peer, "settings": settings, "us": t, "max_rel_err": err})
                if peer not in best or t[0] < best[peer][0]:
                    best[peer] = (t[0], settings)
            result["shapes"].append({"dtype": str(dtype), "n": n, "variants": all_rows})
            us = {k: v[0] for k, v in best.items()}
            gbs = 2 * x.numel() * x.element_size() / us["tile"] * 1e-3
            print(f"{str(dtype)[6:]:9} {n:6} {us['tile']:9.2f} {us.get('triton', 0):9.2f} {us.get('torch', 0):9.2f} {gbs:9.0f} "
                  f"{us.get('triton', 0) / us['tile']:11.3f}  {best['tile'][1]} | {best.get('triton', (0, ''))[1]}", flush=True)
    if a.out:
        with open(a.out, "w") as f:
            json.dump(result, f, indent=1)
    return 1 if result.get("wrong") else 0


if __name__ == "__main__":
    sys.exit(main())
