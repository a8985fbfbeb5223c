"""Every way to run the softmax of examples/softmax.tile, beside what examples/softmax.c picks.

For each dtype and row length: all forms, rows per program, warps and register limits that make sense
are checked against torch in double precision, then timed in turns on the same buffers (round after
round, the L2 cache flushed before each launch; median of CUDA event times). The rule of the example,
asked by --plan, should be within 3 % of the best.

    python3 bench/sweep.py --build build/static [--rows 4096] [--cols 256,781] [--dtypes fp32,bf16]
        [--runs 40] [--out FILE.json]
"""
import argparse
import json
import os
import statistics
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from tile_ctypes import Tile, example_plan  # noqa: E402

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
TOLERANCE = {"fp32": 1e-5, "fp16": 2e-3, "bf16": 1e-2}
COLS = "128,256,512,781,1000,1024,2048,4096,4160,8192,8256,12345,16384,32768,50257,65536,262144"


def next_power_of_2(n):
    return 1 << max(0, n - 1).bit_length()


def elements_per_thread(dtype, n, warps, ctas):
    """How many elements of a row a thread has, and the constexprs. Rows over 2048 go in pieces: see set_bounds in softmax.c."""
    block, threads = next_power_of_2(n), 32 * warps * ctas
    if n <= 2048:
        return block // threads, {"BLOCK": block}
    width = 4 if dtype == "fp32" else 8
    slack = 0 if n % width == 0 else width - 1
    pieces = -(-(n + slack) // (8 * threads))
    most = pieces * 8 * threads - slack
    return 8 * pieces, {"BLOCK": block, "LEAST": most if n == most else most - 8 * threads + 1, "MOST": most}


def candidates(dtype, m, n):
    """Plans as examples/softmax --plan prints them."""
    block = next_power_of_2(n)
    for warps in (1, 2, 4, 8, 16, 32):
        for rows in (2, 4, 8, 16, 32):
            if rows >= warps and warps <= 8 and block <= 2048 and 4 <= rows * block // (32 * warps) <= 64:
                yield plan("several", dtype, m, {"ROWS": rows, "BLOCK": block}, warps)
        for ctas in (1, 2, 4, 8, 16):
            per, constexprs = elements_per_thread(dtype, n, warps, ctas)
            if not 4 <= per <= 128 or ctas > 1 and (n <= 8192 or per < 32) or n > 2048 and per < 16:
                continue
            limits = {0}
            if per >= 32 and warps >= 4:
                limits |= {r for r in (64, 72, 80, 96, 128) if r * warps * 32 <= 65536 and r >= 28 + per // 2}
            for limit in sorted(limits):
                yield plan("", dtype, m, constexprs, warps, ctas, limit)
    if block >= 65536:
        for chunk, warps in ((8192, 8), (16384, 16)):
            yield plan("looped", dtype, m, {"BLOCK": chunk}, warps)


def plan(form, dtype, m, constexprs, warps, ctas=1, maxnreg=0):
    return {"kernel": "softmax_" + (form + "_" if form else "") + dtype, "constexprs": constexprs,
            "args": "y x y_stride x_stride " + ("n_rows " if form == "several" else "") + "n_cols",
            "grid": [-(-m // constexprs.get("ROWS", 1)), 1, 1], "num_warps": warps, "num_ctas": ctas, "maxnreg": maxnreg}


def describe(p):
    return " ".join([p["kernel"]] + [f"{k}={v}" for k, v in p["constexprs"].items()] +
                    [f"{k}={p[k]}" for k in ("num_warps", "num_ctas", "maxnreg") if p[k] > (k == "num_ctas")])


class Variant:
    """A plan, compiled for x and y."""

    def __init__(self, tile, p, x, y):
        values = {"y": y, "x": x, "y_stride": y.stride(0), "x_stride": x.stride(0), "n_rows": len(x), "n_cols": x.shape[1]}
        self.plan = p
        self.info, self.launch = tile.planned(os.path.join(HERE, "../examples/softmax.tile"), p, values)


def time_in_turns(launches, runs):
    """The median of each in microseconds."""
    flush = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
    times = [[] for _ in launches]
    for r in range(runs + 2):
        events = []
        for launch in launches:
            pair = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            flush.zero_()
            pair[0].record()
            launch()
            pair[1].record()
            events.append(pair)
        torch.cuda.synchronize()
        for t, (start, end) in zip(times, events):
            if r >= 2:
                t.append(start.elapsed_time(end) * 1e3)
    return [statistics.median(t) for t in times]


def relative_error(y, x, step=256):
    """The largest |y - softmax(x)| / softmax(x), some rows at a time."""
    worst = torch.zeros((), dtype=torch.float64, device="cuda")
    for r in range(0, len(x), step):
        want = torch.softmax(x[r:r + step].double(), 1)
        worst = torch.maximum(worst, ((y[r:r + step].double() - want).abs() / want).nan_to_num(float("inf")).max())
    return worst.item()


def sweep(tile, build, dtype, m, n, runs):
    torch.manual_seed(n)
    x = torch.randn(m, n, device="cuda").to(DTYPES[dtype])
    y = torch.empty_like(x)
    rule = example_plan(build, "softmax", m, n, dtype, "cuda:0")
    plans = list(candidates(dtype, m, n))
    picked = {**{k: rule[k] for k in plans[0]}, "grid": [max(g, 1) for g in rule["grid"]]}
    variants, wrong = [], []
    for p in plans if picked in plans else [picked] + plans:
        try:
            v = Variant(tile, p, x, y)
        except RuntimeError as e:
            if p == picked:
                raise
            print("refused", describe(p), str(e).splitlines()[0][:100])
            continue
        if v.info.spill_bytes and p != picked:
            continue
        y.fill_(float("nan"))
        v.launch()
        error = relative_error(y, x)
        (variants if error < TOLERANCE[dtype] else wrong).append(v)
    times = time_in_turns([v.launch for v in variants] + [lambda: y.copy_(x)], runs)
    copy = times.pop()
    ours = [{**v.plan, "us": t, "registers": v.info.registers, "spills": v.info.spill_bytes,
             "picked": v.plan == picked} for v, t in zip(variants, times)]
    ours.sort(key=lambda o: o["us"])
    for v in wrong:
        print("WRONG", dtype, n, describe(v.plan))
    return {"dtype": dtype, "rows": m, "cols": n, "copy_us": copy, "variants": ours, "wrong": len(wrong)}


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--build", required=True)
    a.add_argument("--rows", type=int, default=4096)
    a.add_argument("--cols", default=COLS)
    a.add_argument("--dtypes", default="fp32,bf16")
    a.add_argument("--runs", type=int, default=40)
    a.add_argument("--top", type=int, default=1, help="variants to print of each shape")
    a.add_argument("--out")
    a = a.parse_args()
    tile = Tile(f"{a.build}/lib/libtile.so")
    shapes = []
    print(f"{'dtype':5} {'N':>6} {'best us':>8} {'rule us':>8} {'rule/best':>9} {'GB/s':>6} {'of copy':>7}  best; rule")
    for dtype in a.dtypes.split(","):
        for n in map(int, a.cols.split(",")):
            s = sweep(tile, a.build, dtype, a.rows, n, a.runs)
            shapes.append(s)
            best, picked = s["variants"][0], next((v for v in s["variants"] if v["picked"]), None)
            if not picked:
                continue
            gbs = 2 * a.rows * n * (4 if dtype == "fp32" else 2) / picked["us"] * 1e-3
            print(f"{dtype:5} {n:6} {best['us']:8.2f} {picked['us']:8.2f} {picked['us'] / best['us']:9.3f} {gbs:6.0f} "
                  f"{s['copy_us'] / picked['us']:7.3f}  {describe(best)} regs={best['registers']}; {describe(picked)} "
                  f"regs={picked['registers']} spills={picked['spills']}", flush=True)
            for v in s["variants"][1:a.top]:
                print(f"      {v['us']:8.2f} {describe(v)} regs={v['registers']}")
    if a.out:
        with open(a.out, "w") as f:
            json.dump({"device": torch.cuda.get_device_name(0), "runs": a.runs, "shapes": shapes}, f, indent=1)
    return 1 if any(s["wrong"] for s in shapes) else 0


if __name__ == "__main__":
    sys.exit(main())
