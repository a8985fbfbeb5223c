"""What the examples ship, from PTX, `ptxas -v` and, where there is cuobjdump, from SASS: for each shape,
the launch that the example picks (--plan, on the fake driver, which plays an sm_90) is compiled by the
library and assembled. No configuration spills; rows of aligned length move 16 bytes at a time and
nothing less; the barriers are those of the reductions.

    shipped.py BUILD SOURCE FAKE_CUDA       exits with 77 where there is no ptxas
"""
import ctypes as C
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

BYTES = {"fp32": 4, "bf16": 2}  # fp16 takes the same code as bf16
SHAPES = [64, 256, 781, 1000, 1024, 4096, 4160, 8192, 8256, 12345, 16384, 32768]
LONG = [50257, 65536, 128256, 262144]
ODD = [2047, 5001, 8191, 16381]  # of norms
PAST = [16448, 24000, 33000, 65600]  # powers of two: up to half as many elements more in each thread
# example: (lengths of rows, tiles of a row that are loaded, narrow loads beside them, tiles stored, barriers)
TABLE = {
    "softmax": (SHAPES + LONG + PAST + [300000], 1, 0, 1, 2),
    "vector_add": ([1, 1024, 781], 2, 0, 1, 0),
    "rmsnorm": (SHAPES + ODD, 2, 0, 1, 2),
    "layernorm": (SHAPES + ODD, 3, 0, 1, 4),
    "cross_entropy": (SHAPES + LONG, 1, 2, 0, 4),
}


class Pointer:
    """Stands in for a tensor: aligned, of a type."""

    def __init__(self, dtype):
        self.dtype = {"fp32": "torch.float32", "fp16": "torch.float16", "bf16": "torch.bfloat16", "i64": "torch.int64"}[dtype]

    def data_ptr(self):
        return 0


def ptx_of(tile, source, example, plan, dtype, cols):
    values = {n: Pointer(dtype) for n in ("x", "y", "z", "w", "b")}
    values.update(n=4096 * cols, loss=Pointer("fp32"), target=Pointer("i64"), n_rows=4096, eps=1e-5, **{n: cols for n in ("x_stride", "y_stride", "n_cols")})
    args = tile.args(*[values[n] for n in plan["args"].split()], **plan["constexprs"])
    o, text = tile.options(plan), C.c_char_p()
    k = tile.kernel(os.path.join(source, "examples", example + ".tile"), plan["kernel"])
    tile.device.call("tile_kernel_ptx", k, args, C.c_uint32(len(args)), C.byref(o), C.byref(text))
    return text.value.decode()


def complaints(example, plan, dtype, cols, ptx, usage, sass):
    """What is not as it must be."""
    _, rows_loaded, narrow, rows_stored, barriers = TABLE[example]
    is_wide = cols * BYTES[dtype] % 16 == 0 and cols * BYTES[dtype] >= 512 or example == "vector_add"  # each lane has 16 bytes
    spills = [int(n) for n in re.findall(r"(\d+) bytes (?:spill|stack)", usage)]
    if not spills or any(spills):
        yield f"spills: {usage.strip()}"
    if is_wide:
        for what, tiles, more in (("ld", rows_loaded, narrow), ("st", rows_stored, example == "cross_entropy")):
            found = re.findall(rf"\b{what}\.global(?:\.[a-z0-9_:]+)*?\.((?:v[248]\.)?[a-z]+(?:8|16|32|64|128))\s", ptx)
            slim = [f for f in found if f not in ("v4.b32", "v4.f32", "v4.u32", "v2.b64", "v2.u64", "v2.f64")]
            if tiles and len(found) == len(slim):
                yield f"no {what} of 16 bytes: {found}"
            if len(slim) > more:
                yield f"{what} of less than 16 bytes: {slim}"
            found = re.findall(rf"\b{what.upper()}G\.E[.A-Z0-9]*", sass)
            slim = [f for f in found if not f.endswith(".128") and ".128." not in f]
            if len(slim) > more:
                yield f"in SASS: {slim}"
    if re.search(r"\b(?:LDL|STL)\b", sass):
        yield "local memory in SASS"
    count = len(re.findall(r"\b(?:bar|barrier)(?:\.cta)?\.sync", ptx))
    if "several" in plan["kernel"] and cols * BYTES[dtype] % 16 == 0 and (count or ".shared" in ptx):
        yield "short rows pass through shared memory"
    resident = 65536 // (32 * plan["num_warps"] * max(map(int, re.findall(r"Used (\d+) registers", usage)), default=256))
    if resident < (2 if example == "softmax" and plan["kernel"].endswith("16") else 1):
        yield f"{resident} programs on a multiprocessor"
    barriers += "looped" in plan["kernel"]  # before the next piece's exchange
    if count > (barriers if plan["num_warps"] > 1 else 0):
        yield f"{count} barriers"


def main():
    build, source, fake = map(os.path.abspath, sys.argv[1:4])
    ptxas = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
    if not os.access(ptxas, os.X_OK):
        print("skipped: there is no ptxas")
        return 77
    folder = os.environ.get("TILE_SHIPPED_FOLDER")
    if not folder:  # once more, with the fake driver where the library looks for one
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(fake, os.path.join(folder, "libcuda.so.1"))
            env = dict(os.environ, LD_LIBRARY_PATH=folder, TILE_CACHE_DIR=folder + "/cache", TILE_SHIPPED_FOLDER=folder)
            return subprocess.run([sys.executable, *sys.argv], env=env).returncode
    sys.path.insert(0, os.path.join(source, "bench"))
    from tile_ctypes import Tile, example_plan
    text, cubin, cuobjdump = folder + "/k.ptx", folder + "/k.cubin", shutil.which("cuobjdump")
    tile, checked, failed = Tile(os.path.join(build, "lib/libtile.so")), 0, 0
    for example, (lengths, *_) in TABLE.items():
        for dtype in BYTES:
            for cols in lengths:
                plan = example_plan(build, example, 4096, cols, dtype, "cuda:0")
                ptx = ptx_of(tile, source, example, plan, dtype, cols)
                with open(text, "w") as f:
                    f.write(ptx)
                done = subprocess.run([ptxas, "-v", "-arch=sm_90", text, "-o", cubin], capture_output=True, text=True)
                sass = subprocess.run([cuobjdump, "-sass", cubin], capture_output=True, text=True).stdout if cuobjdump else ""
                found = [done.stderr] if done.returncode else list(complaints(example, plan, dtype, cols, ptx, done.stderr, sass))
                checked, failed = checked + 1, failed + bool(found)
                for what in found:
                    print(f"FAILED {example} {dtype} {cols}: {what}\n    {json.dumps(plan)}")
    print(f"{checked} configurations{', SASS too' if cuobjdump else ''}, {failed} not as they must be")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
