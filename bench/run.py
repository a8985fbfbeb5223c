"""Ours beside its peers on one GPU, in one run: Triton (one row per program with num_warps swept,
persistent, online), torch, torch.compile, and a copy of as many bytes.

    python3 bench/run.py --build build/static [--only REGEX] [--time 240] [--out bench/results/NAME]

Writes NAME.json with everything and NAME.md with the tables; bench/plot.py draws NAME.json. Exits with
1 if one of our results was wrong. `--device cpu` rehearses without a GPU (TRITON_INTERPRET=1)."""
import argparse
import concurrent.futures
import datetime
import json
import multiprocessing
import os
import re
import subprocess
import sys
import time

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
os.environ["TILE_CACHE_DIR"] = "off"  # startup.py measures with caches of its own
import torch  # noqa: E402
import triton  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import measure  # noqa: E402
import peers  # noqa: E402
import report  # noqa: E402
import startup  # noqa: E402
import workloads  # noqa: E402
from tile_ctypes import Tile, example_plan  # noqa: E402

EXAMPLES = os.path.join(HERE, "../examples")
COPIES = [(1024, 4), (2048, 4), (4096, 8)]  # BLOCK, num_warps of copy.tile


def compile_peers(shape):
    """In a process of its own: leaves what Triton compiles for a workload in its cache on disk."""
    try:
        w = workloads.Workload(*shape)
        t = workloads.DTYPES[w.dtype]
        types = {"x": t, "y": t, "z": t, "w": t, "b": t, "loss": torch.float32, "target": torch.int64, "eps": 1e-5,
                 "y_stride": w.cols, "x_stride": w.cols, "n_cols": w.cols, "n_rows": w.rows, "n": w.rows * w.cols}
        for launch in peers.launches(w.op, w.rows, w.cols, 1):
            launch.compile(types)
    except Exception as e:  # the run itself will say so
        return f"{shape}: {e}"
    return None


def compile_key(w):
    """Workloads with the same key take the same kernels from Triton."""
    return w.op, w.dtype, triton.next_power_of_2(w.cols), w.cols % 16 == 0, w.cols == 1, w.rows % 16 == 0, w.rows == 1


class Run:
    def __init__(self, a):
        self.a, self.began = a, time.perf_counter()
        self.torch_device = "cpu" if a.device == "cpu" else "cuda"
        self.result = {"rows": [], "left_out": [], "failures": []}

    def left(self):
        return self.a.time - (time.perf_counter() - self.began)

    def fail(self, what, error):
        self.result["failures"].append(f"{what}: {str(error)[:300]}")
        print(f"FAILED {what}: {str(error)[:300]}", flush=True)

    def prepare(self, todo):
        """Compiles the peers' kernels side by side, before this process touches the GPU; asks the
        examples for their plans meanwhile."""
        unlike = {compile_key(w): (w.op, w.dtype, w.rows, w.cols) for w in reversed(todo)}
        pool = multiprocessing.get_context("fork").Pool(self.a.jobs) if self.torch_device == "cuda" else None
        compiled = pool.imap_unordered(compile_peers, list(unlike.values())[::-1]) if pool else []
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            plans = {w.name: threads.submit(example_plan, self.a.build, w.op, w.rows, w.cols, w.dtype, self.a.device) for w in todo}
            self.plans = {}
            for name, plan in plans.items():
                try:
                    self.plans[name] = plan.result()
                except Exception as e:
                    self.fail(f"plan of {name}", e)
        for error in compiled:
            if error:
                print(f"not compiled ahead: {error}", flush=True)
        if pool:
            pool.close()
            pool.join()
        self.result["seconds_to_compile_peers"] = round(time.perf_counter() - self.began, 1)

    def open(self):
        self.meter = measure.Meter(self.torch_device)
        self.tile = Tile(os.path.join(self.a.build, "lib/libtile.so"), self.a.device)
        self.sms = torch.cuda.get_device_properties(0).multi_processor_count if self.torch_device == "cuda" else 4
        self.result.update(environment(self.a, self.torch_device))

    def variants(self, w, values):
        """All that there is to try for a workload."""
        if w.name in self.plans:
            plan = self.plans[w.name]
            info, run = self.tile.planned(os.path.join(EXAMPLES, w.op + ".tile"), plan, values)
            yield measure.Variant("tile", f"{plan['kernel']} warps={plan['num_warps']}" + "".join(
                f" {k}={v}" for k, v in (("ctas", plan["num_ctas"]), ("maxnreg", plan["maxnreg"])) if v > 1) + "".join(
                f" {k}={v}" for k, v in plan["constexprs"].items()), run, registers=info.registers, spill_bytes=info.spill_bytes,
                grid=plan["grid"][0])
        for launch in peers.launches(w.op, w.rows, w.cols, self.sms):
            try:
                if launch.grid is None and (self.torch_device == "cpu" or not peers.fit_grid(launch, values, w.rows, self.sms)):
                    continue
                yield measure.Variant("triton", launch.settings, launch.launcher(values))
                if launch.settings.startswith("persistent"):
                    break  # with four stages if they fit, else two; nothing after them
            except Exception as e:
                self.fail(f"{w.name} triton {launch.settings}", e)
        yield measure.Variant("torch", "", w.torch_call(values))
        if w.compiled and self.left() > 20 and self.a.torch_compile:
            try:
                call = w.torch_compiled(values)
                call()
                yield measure.Variant("torch.compile", "", call)
            except Exception as e:
                self.fail(f"{w.name} torch.compile", e)
        yield from self.copies(w.bytes(values))

    def copies(self, count):
        """As many bytes, half of them read and half written."""
        words = max(1, count // 8)
        x = torch.randint(-(1 << 31), 1 << 31, (words,), dtype=torch.int32, device=self.torch_device)
        y = torch.empty_like(x)
        yield measure.Variant("copy", "cuMemcpyDtoD", lambda: y.copy_(x), checked=False)
        for block, warps in COPIES:
            plan = {"kernel": "copy", "args": "y x n", "constexprs": {"BLOCK": block}, "num_warps": warps,
                    "grid": [-(-words // block)]}
            _, run = self.tile.planned(os.path.join(HERE, "copy.tile"), plan, {"y": y, "x": x, "n": words})
            yield measure.Variant("copy", f"copy.tile BLOCK={block} warps={warps}", run, checked=False)

    def workload(self, w):
        began = time.perf_counter()
        values = w.values(self.torch_device)
        try:
            final, tried = self.meter.run(w, values, list(self.variants(w, values)))
        finally:
            self.tile.forget()
            for problem in self.meter.problems:
                self.fail(*problem.split(": ", 1))
            self.meter.problems.clear()
        row = {"name": w.name, "op": w.op, "dtype": w.dtype, "rows": w.rows, "cols": w.cols, "table": w.table,
               "bytes": w.bytes(values), "goal": w.goal, "final": final, "tried": tried,
               "seconds": round(time.perf_counter() - began, 2)}
        self.result["rows"].append(row)
        print(report.line(row), flush=True)

    def launches(self):
        """The host's time per launch, with a softmax of one short row."""
        x = torch.randn(1, 1024, device="cuda")
        y = torch.empty_like(x)
        values = {"x": x, "y": y, "y_stride": 1024, "x_stride": 1024, "n_cols": 1024}
        out = startup.bare_launch(self.a.build)
        launch = peers.Launch("", *[peers.ROWS["softmax"][i] for i in (0, 3)], {"BLOCK": 1024}, 4, (1,)).launcher(values)
        out["Triton k[grid](...)"] = startup.host_time(launch, torch.cuda.synchronize)
        out["torch.softmax(out=)"] = startup.host_time(lambda: torch.softmax(x, 1, out=y), torch.cuda.synchronize)
        return out

    def around(self):
        """Process start, compile time, launches."""
        x = torch.randn(1 << 16, device=self.torch_device)
        steps = [("process_start", lambda: startup.process_start(self.a.build, self.a.device, self.left)),
                 ("variant_tile", lambda: startup.variants(self.tile, EXAMPLES + "/triton", x))]
        if self.torch_device == "cuda":
            steps += [("launch", self.launches), ("variant_triton", startup.triton_variants)]
        for name, step in steps:
            if self.left() < 12:
                self.result["left_out"].append(name)
                continue
            try:
                self.result[name] = step()
                print(f"{name}: {json.dumps(self.result[name])}", flush=True)
            except Exception as e:
                self.fail(name, e)


def environment(a, device):
    out = {"date": datetime.datetime.now().strftime("%Y-%m-%d %H:%M"), "torch": torch.__version__, "triton": triton.__version__,
           "commit": a.commit, "command": " ".join(sys.argv), "rounds": measure.ROUNDS, "device": device}
    if device == "cuda":
        ask = "name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,power.limit,temperature.gpu"
        try:
            smi = subprocess.run(["nvidia-smi", f"--query-gpu={ask}", "--format=csv,noheader"], capture_output=True, text=True)
            out["nvidia_smi"] = dict(zip(ask.split(","), smi.stdout.strip().split(", ")))
        except OSError:
            pass
        out["device"], out["cuda"] = torch.cuda.get_device_name(0), torch.version.cuda
    return out


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True, help="folder with bin/ and lib/libtile.so")
    p.add_argument("--only", default="", help="workloads whose name matches, as 'softmax fp32 4096x1024'")
    p.add_argument("--skip", help="workloads to leave out, likewise")
    p.add_argument("--time", type=float, default=3600, help="seconds; what does not fit is left out, and named")
    p.add_argument("--out", help="path without extension")
    p.add_argument("--device", default="cuda:0")
    p.add_argument("--commit", default="")
    p.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 1) - 2))
    p.add_argument("--no-around", dest="around", action="store_false", help="without process start, compile time, launches")
    p.add_argument("--no-torch-compile", dest="torch_compile", action="store_false")
    a = p.parse_args()
    todo = [w for w in workloads.chosen(a.only) if not (a.skip and re.search(a.skip, w.name))]
    if a.device == "cpu":
        todo = [workloads.Workload(w.op, w.dtype, min(w.rows, 4), w.cols, w.table) for w in todo]
    run = Run(a)
    run.prepare(todo)
    run.open()
    tables = sum(w.table for w in todo)
    for i, w in enumerate(todo):
        if i == tables and a.around:
            run.around()
        if run.left() < 5:
            run.result["left_out"].append(w.name)
            continue
        try:
            run.workload(w)
        except Exception as e:
            run.fail(w.name, e)
    if len(todo) == tables and a.around:
        run.around()
    run.result["seconds"] = round(time.perf_counter() - run.began, 1)
    if a.out:
        with open(a.out + ".json", "w") as f:
            json.dump(run.result, f, indent=0)
        with open(a.out + ".md", "w") as f:
            f.write(report.markdown(run.result, os.path.basename(a.out)))
    print(f"{len(run.result['rows'])} workloads, {len(run.result['left_out'])} left out, {len(run.result['failures'])} failures, "
          f"{run.result['seconds']} s")
    return report.is_wrong(run.result)


if __name__ == "__main__":
    sys.exit(main())
