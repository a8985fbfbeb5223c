"""Times around the kernels: from the start of a process to its first verified result, from source to
loaded function for one more variant, and the host's time to launch. Ours, a script of Triton, and the
bare driver."""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def seconds(command, folder, repeat, fresh):
    """Wall time of a process, the median of some; its caches (ours, the driver's, Triton's) lie in
    `folder`, which is emptied before each run if `fresh`."""
    took = []
    for _ in range(repeat):
        if fresh:
            shutil.rmtree(folder, ignore_errors=True)
        env = dict(os.environ, TILE_CACHE_DIR=folder + "/tile", CUDA_CACHE_PATH=folder + "/cuda",
                   TRITON_CACHE_DIR=folder + "/triton")
        start = time.perf_counter()
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
        took.append(time.perf_counter() - start)
        if done.returncode:
            raise RuntimeError(f"{command[0]}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return {"ms": round(statistics.median(took) * 1e3, 1), "least": round(min(took) * 1e3, 1),
            "most": round(max(took) * 1e3, 1), "runs": repeat}


def process_start(build, device, left):
    """Process start to first verified result: softmax of 64 x 1000 fp32. `left()`: seconds left."""
    folder = tempfile.mkdtemp()
    ours = [os.path.join(build, "bin", "softmax"), "--device", device, "--rows", "64", "--cols", "1000", "--verify"]
    script = [sys.executable, os.path.join(HERE, "triton_start.py")]
    out = {}
    steps = [("tile, no caches", ours, 5, True), ("tile, warm cache", ours, 5, False)]
    if device != "cpu":
        steps.insert(0, ("driver and context alone", [os.path.join(build, "bin", "bare_launch"), "--context"], 5, False))
        steps += [("Triton, no caches", script, 1, True), ("Triton, warm cache", script, 1, False)]
    for name, command, repeat, fresh in steps:
        if left() > 15:
            out[name] = seconds(command, folder, repeat, fresh)
    shutil.rmtree(folder, ignore_errors=True)
    return out


VARIANTS = [(256, 1), (256, 2), (512, 2), (1024, 2), (1024, 4), (2048, 4), (4096, 4), (4096, 8), (8192, 8)]


def variants(tile, examples, tensor):
    """Source to loaded function in a process that runs already, of softmax fp32, per (BLOCK, warps)."""
    path, took = os.path.join(examples, "row_softmax.py"), []
    for block, warps in VARIANTS:
        plan = {"kernel": "row_softmax", "args": "x y x_stride y_stride n_cols", "constexprs": {"BLOCK": block},
                "grid": [1], "num_warps": warps}
        values = {"x": tensor, "y": tensor, "x_stride": block, "y_stride": block, "n_cols": block}
        start = time.perf_counter()
        tile.planned(path, plan, values)
        took.append((time.perf_counter() - start) * 1e3)
    return summary(took[1:])  # the first starts LLVM


def triton_variants():
    """The same by Triton, in a process with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, os.path.join(HERE, "triton_start.py"), "--variants"], text=True,
                              env=dict(os.environ, TRITON_CACHE_DIR=folder), capture_output=True, timeout=120)
        return summary(json.loads(done.stdout.strip().splitlines()[-1])[1:])


def summary(took):
    return {"ms": round(statistics.median(took), 2), "least": round(min(took), 2), "most": round(max(took), 2), "runs": len(took)}


def host_time(launch, synchronize, batches=40, batch=200):
    """Nanoseconds of the host per launch: batches between synchronizations, so that no queue is full."""
    took = []
    launch()
    for _ in range(batches):
        synchronize()
        start = time.perf_counter_ns()
        for _ in range(batch):
            launch()
        took.append((time.perf_counter_ns() - start) / batch)
    synchronize()
    took.sort()
    return {"ns": round(statistics.median(took)), "least": round(took[0]), "most": round(took[-1]), "batches": batches}


def bare_launch(build):
    """The driver's own launch and ours, in a loop in C (bench/bare_launch.c): {name: {ns, least, most}}."""
    done = subprocess.run([os.path.join(build, "bin", "bare_launch")], capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return json.loads(done.stdout.strip().splitlines()[-1])
