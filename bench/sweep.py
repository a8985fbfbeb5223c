"""Every way to run a kernel of examples/, beside what the example picks for the shape.

For each workload of bench/workloads.py that matches, or each length asked for: all forms, rows per
program, warps, clusters and register limits that make sense are checked against a reference in double
precision and tried on the same buffers; the best take turns, launch by launch, with what the example
picks, a copy of as many bytes, and Triton's best forms of an earlier run (bench/measure.py says how).
What the example picks should be within 3 % of the best.

    python3 bench/sweep.py --build build/static --only '(rms|layer)norm.*x(1024|8192)$' [--time 150]
        [--peers bench/results/NAME.json] [--top 3] [--out FILE.json]
    python3 bench/sweep.py --build build/static --op softmax --cols 256,781 --dtypes fp32,bf16
"""
import argparse
import json
import multiprocessing
import os
import statistics
import sys
import time

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import measure  # noqa: E402
import workloads  # noqa: E402
from tile_ctypes import Tile, example_plan  # noqa: E402

EXAMPLES = os.path.join(HERE, "../examples")
KEYS = ("kernel", "args", "constexprs", "grid", "num_warps", "num_ctas", "maxnreg")
ARGS = {"softmax": "y x y_stride x_stride n_cols", "rmsnorm": "y x w y_stride x_stride n_cols eps",
        "layernorm": "y x w b y_stride x_stride n_cols eps", "cross_entropy": "loss x target x_stride n_cols",
        "vector_add": "x y z n"}
FINALISTS, RUNS_MOST = 6, 12


def next_power_of_2(n):
    return 1 << max(0, n - 1).bit_length()


def pieces(dtype, n, warps, ctas):
    """How many elements of a row a thread has, and for which lengths it is compiled: rows.h has the same."""
    block, piece = next_power_of_2(n), min(next_power_of_2(n), 8 * 32 * warps * ctas)
    width = 4 if dtype == "fp32" else 8
    slack = 0 if n % width == 0 else width - 1
    most = -(-(n + slack) // piece) * piece - slack
    return (most + slack) // (32 * warps * ctas), {"BLOCK": block, "LEAST": most if n == most else max(0, most - piece + 1), "MOST": most}


def plan(w, form, constexprs, warps, ctas=1, maxnreg=0, grid=None):
    """As the example prints it with --plan."""
    args = ARGS[w.op]
    kernel = "_".join(filter(None, (w.op, form, w.dtype)))
    if w.op == "vector_add":
        kernel = "vector_add" if w.dtype == "fp32" else "vector_add_bf16"
    return {"kernel": kernel, "constexprs": constexprs, "num_warps": warps, "num_ctas": ctas, "maxnreg": maxnreg,
            "args": args.replace("n_cols", "n_rows n_cols") if "ROWS" in constexprs else args,
            "grid": [grid or -(-w.rows // constexprs.get("ROWS", 1)), 1, 1]}


def rows_in_registers(w, extra=({},)):
    """A program per row, which one block or several hold in registers, or per several rows; with each
    of the extra constexprs."""
    block, size = next_power_of_2(w.cols), 4 if w.dtype == "fp32" else 2
    for warps in (4, 8, 16) if w.cols > 8192 else (1, 2, 4, 8, 16, 32):
        for rows in (2, 4, 8, 16, 32):
            if w.rows > 1 and rows >= warps and warps <= 8 and block <= 2048 and 4 <= rows * block // (32 * warps) <= 64:
                yield plan(w, "several", {"ROWS": rows, "BLOCK": block}, warps)
        for ctas in (1, 2, 4, 8, 16):
            per, constexprs = pieces(w.dtype, w.cols, warps, ctas)
            if not (16 if w.cols > 2048 else 4) <= per <= 128 or ctas > 1 and block * size // ctas < 8192:
                continue
            if w.op == "softmax" and w.cols <= 2048:
                yield plan(w, "", {"BLOCK": block}, warps, ctas)
            limits = {0}
            if per >= 16 and warps >= 4:
                limits |= {r for r in (64, 80, 96, 128) if r * warps * 32 <= 65536 and 28 + per // 2 <= r <= 4 * per}
            for limit in sorted(limits):
                for more in extra:
                    yield plan(w, "", {**constexprs, **more}, warps, ctas, limit)


def candidates(w):
    block = next_power_of_2(w.cols)
    if w.op == "vector_add":
        for warps in (1, 2, 4, 8):
            for per in (2, 4, 8, 16):
                size = 32 * warps * per
                yield plan(w, "", {"BLOCK": size}, warps, grid=-(-w.cols // size))
    elif w.op == "cross_entropy":
        for warps in (1, 2, 4, 8, 16):
            for per in (8, 16, 32, 64):
                piece = 32 * warps * per
                if piece <= block:
                    yield plan(w, "", {"BLOCK": piece, "IS_SHORT": piece == block}, warps)
    elif w.op == "softmax":
        yield from rows_in_registers(w)
        if block >= 65536:
            for piece, warps in ((8192, 8), (16384, 16)):
                yield plan(w, "looped", {"BLOCK": piece}, warps)
    else:
        yield from rows_in_registers(w, ({"WEIGHT_FIRST": True}, {"WEIGHT_FIRST": False}))


def describe(p):
    return " ".join([p["kernel"]] + [f"{k}={v}" for k, v in p["constexprs"].items()] +
                    [f"{k}={p[k]}" for k in ("num_warps", "num_ctas", "maxnreg") if p[k] > (k == "num_ctas")])


class Peers:
    """Triton's best forms by an earlier run; compiled side by side before this process uses the GPU."""

    def __init__(self, path, todo):
        self.best = {}
        if path:
            for row in json.load(open(path))["rows"]:
                tried = sorted((v["us"], v["settings"]) for v in row["final"] + row["tried"] if v["peer"] == "triton" and "grid" not in v["settings"])
                self.best[row["name"]] = [s for us, s in tried[:2] if us < 1.03 * tried[0][0]]
            with multiprocessing.get_context("fork").Pool(14) as pool:
                pool.map(self.compile, [w for w in todo if w.name in self.best])

    def launches(self, w):
        if w.name not in self.best:
            return []
        import peers  # which needs triton
        return [l for l in peers.launches(w.op, w.rows, w.cols, 1) if l.settings in self.best[w.name]]

    def compile(self, w):
        t = workloads.DTYPES[w.dtype]
        types = {"x": t, "y": t, "z": t, "w": t, "b": t, "loss": torch.float32, "target": torch.int64, "eps": 1e-5,
                 "y_stride": w.cols, "x_stride": w.cols, "n_cols": w.cols, "n_rows": w.rows, "n": w.rows * w.cols}
        for launch in self.launches(w):
            try:
                launch.compile(types)
            except Exception:  # it will be said when it is measured
                pass


class Standin:
    """For a tensor, while kernels are compiled: aligned, of a type."""

    def __init__(self, dtype):
        self.dtype = dtype

    def data_ptr(self):
        return 0


def compile_ours(job):
    """In a process of its own: leaves what the library compiles for some plans of a workload on disk."""
    library, w, plans = job
    t = {n: Standin(workloads.DTYPES[w.dtype]) for n in "xyzwb"}
    values = {**t, "loss": Standin(torch.float32), "target": Standin(torch.int64), "eps": 1e-5, "y_stride": w.cols,
              "x_stride": w.cols, "n_cols": w.cols, "n_rows": w.rows, "n": w.rows * w.cols}
    try:
        tile = Tile(library)
        for p in plans:
            try:
                tile.planned(os.path.join(EXAMPLES, w.op + ".tile"), p, values)
            except RuntimeError:  # it will be said when it is measured
                pass
    except RuntimeError:
        pass


def compile_ahead(library, todo):
    jobs = []
    for w in todo:
        plans = list(candidates(w))
        jobs += [(library, w, plans[i::8]) for i in range(min(8, len(plans)))]
    with multiprocessing.get_context("fork").Pool(14) as pool:
        pool.map(compile_ours, jobs, chunksize=1)


class Sweep:
    def __init__(self, a, todo, rules):
        compile_ahead(f"{a.build}/lib/libtile.so", [w for w in todo if w not in rules])
        self.rules = rules
        self.a, self.began, self.peers = a, time.perf_counter(), Peers(a.peers, todo)
        self.meter, self.tile, self.problems = measure.Meter(), Tile(f"{a.build}/lib/libtile.so"), []

    def variants(self, w, values):
        path = os.path.join(EXAMPLES, w.op + ".tile")
        rule = example_plan(self.a.build, w.op, w.rows, w.cols, w.dtype, "cuda:0")
        rule = {**{k: rule[k] for k in KEYS}, "grid": [max(g, 1) for g in rule["grid"]]}
        plans = [] if w in self.rules else list(candidates(w))
        for p in [rule] + [p for p in plans if p != rule]:
            try:
                info, launch = self.tile.planned(path, p, values)
            except RuntimeError as e:
                self.problems.append(f"{w.name}: refused {describe(p)}: {str(e).splitlines()[0][:100]}")
                continue
            if p == rule or not info.spill_bytes:
                yield measure.Variant("tile", describe(p), launch, registers=info.registers, spills=info.spill_bytes, picked=p == rule)
        for launch in self.peers.launches(w):
            yield measure.Variant("triton", launch.settings, launch.launcher(values))
        words = torch.ones(max(1, w.bytes(values) // 8), dtype=torch.int32, device="cuda")
        copy = torch.empty_like(words)
        yield measure.Variant("copy", "", lambda: copy.copy_(words), checked=False)

    def right(self, w, values, variants):
        references = self.meter.references(w, values)
        for v in variants:
            try:
                v.error = self.meter.check(w.output(values), references, v) if v.checked else 0
            except Exception as e:
                self.problems.append(f"{w.name} {v.peer} {v.settings}: {str(e)[:200]}")
                continue
            if v.error <= (1 if v.peer == "tile" else 64):
                yield v
            else:
                self.problems.append(f"{w.name} {v.peer} {v.settings}: WRONG, {v.error:.4g} of the allowed error")

    def run(self, w):
        """The records of all variants, those that were in the final first."""
        values = w.values("cuda")
        variants = list(self.right(w, values, self.variants(w, values)))
        tried = dict(zip(variants, self.meter.times(variants, 1, 7)))
        ours = sorted((v for v in variants if v.peer == "tile"), key=lambda v: statistics.median(tried[v][0]))
        final = [v for v in variants if v.peer != "tile" or v in ours[:FINALISTS] or v.facts["picked"]]
        runs = max(3, min(RUNS_MOST, int(2500 / (max(map(statistics.median, (tried[v][0] for v in final))) + 100))))
        done = dict(zip(final, self.meter.times(final, measure.ROUNDS, runs)))
        return {"name": w.name, "final": sorted((v.record(done[v]) for v in final), key=lambda r: r["us"]),
                "tried": [v.record(tried[v]) for v in ours if v not in done]}

    def show(self, s):
        best, picked = (next((r for r in s["final"] if r["peer"] == "tile" and r["picked"] >= p), None) for p in (False, True))
        others = {p: next((r for r in s["final"] if r["peer"] == p), None) for p in ("triton", "copy")}
        by = {p: f"{r['us'] / best['us']:6.3f}" if r else "     –" for p, r in others.items()}
        print(f"{s['name']:28} {best['us']:8.2f} {picked['us'] if picked else 0:8.2f} {picked['us'] / best['us'] if picked else 0:6.3f} "
              f"{by['triton']} {by['copy']}  {best['settings']} regs={best['registers']}"
              f"{'' if picked is best or not picked else '; rule ' + picked['settings']}"
              f"{'; triton ' + others['triton']['settings'] if others['triton'] else ''}", flush=True)
        for r in [r for r in s["final"] if r["peer"] == "tile"][1:self.a.top]:
            print(f"{'':28} {r['us']:8.2f} {r['settings']} regs={r['registers']}")


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--build", required=True)
    a.add_argument("--only", default="^$", help="workloads of bench/workloads.py, by a regular expression")
    a.add_argument("--rules", default="^$", help="more of them, of which only what the example picks is measured")
    a.add_argument("--op")
    a.add_argument("--rows", type=int, default=4096)
    a.add_argument("--cols", default="")
    a.add_argument("--dtypes", default="fp32,bf16")
    a.add_argument("--peers", help="a result of bench/run.py")
    a.add_argument("--time", type=float, default=1e9)
    a.add_argument("--top", type=int, default=1, help="variants to print of each shape")
    a.add_argument("--out")
    a = a.parse_args()
    todo = [w for pattern in a.only.split(";") for w in workloads.chosen(pattern)]
    todo += [workloads.Workload(a.op, d, a.rows, int(n)) for n in a.cols.split(",") if n for d in a.dtypes.split(",")]
    rules = [w for pattern in a.rules.split(";") for w in workloads.chosen(pattern) if w.name not in [t.name for t in todo]]
    todo += rules
    sweep, shapes = Sweep(a, todo, rules), []
    print(f"{'workload':28} {'best us':>8} {'rule us':>8} {'/best':>6} {'triton':>6} {'copy':>6}  (/best: the last two as parts of the best's speed)")
    for w in todo:
        if time.perf_counter() - sweep.began > a.time:
            print(f"out of time before {w.name}")
            break
        shapes.append(sweep.run(w))
        sweep.show(shapes[-1])
    print("\n".join(sweep.problems + sweep.meter.problems))
    if a.out:
        with open(a.out, "w") as f:
            json.dump({"device": torch.cuda.get_device_name(0), "shapes": shapes, "problems": sweep.problems}, f, indent=1)
    return 1 if any("WRONG" in p for p in sweep.problems) else 0


if __name__ == "__main__":
    sys.exit(main())
