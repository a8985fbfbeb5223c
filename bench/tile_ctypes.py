"""Launches as an example's --plan prints them, through examples/python/tile.py: the benchmarks measure
what the examples choose, and choose nothing themselves."""
import ctypes as C
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../examples/python"))
from tile import CONSTEXPR, BOOL, INT, OPTIONS, SCALAR, Arg, Device, Info, Options  # noqa: E402

NAMES = {"torch.float32": b"fp32", "torch.float16": b"fp16", "torch.bfloat16": b"bf16", "torch.int32": b"i32",
         "torch.int64": b"i64"}
POINTER = 0


class Tile:
    """A device and modules on it. Arguments are made once, so that a launch costs what it costs from C."""

    def __init__(self, library, device="cuda:0"):
        self.device, self.modules, self.registered = Device(device, library), {}, []
        self.lib, self.dev = self.device.lib, self.device.handle

    def kernel(self, path, name):
        if path not in self.modules:
            self.modules[path] = self.device.load(path)
        return self.modules[path][name].handle

    def args(self, *values, **constexprs):
        """Tensors, ints (i32), floats (fp32), and constexprs by name, as a tile_arg array."""
        out = (Arg * (len(values) + len(constexprs)))()
        for a, v in zip(out, values):
            if isinstance(v, int):
                a.kind, a.dtype, a.value.i = SCALAR, b"i32", v
            elif isinstance(v, float):
                a.kind, a.dtype, a.value.f = SCALAR, b"fp32", v
            else:
                a.kind, a.dtype, a.value.pointer = POINTER, NAMES[str(v.dtype)], v.data_ptr()
                self.register(v)
        for a, (n, v) in zip(out[len(values):], constexprs.items()):
            a.name, a.kind, a.value.i = n.encode(), CONSTEXPR, v
            a.constexpr_kind = BOOL if isinstance(v, bool) else INT
        return out

    def register(self, tensor):
        """On cpu, kernels may use registered memory only."""
        if self.device.is_cpu:
            self.registered.append(C.c_void_p(tensor.data_ptr()))
            size = C.c_size_t(tensor.numel() * tensor.element_size())
            self.device.call("tile_memory_register", self.dev, self.registered[-1], size)

    def forget(self):
        """Before tensors that were arguments go away."""
        for pointer in self.registered:
            self.lib.tile_memory_unregister(self.dev, pointer)
        self.registered.clear()

    def warmup(self, k, args, options):
        info = Info()
        self.device.call("tile_warmup", k, args, C.c_uint32(len(args)), C.byref(options), C.byref(info))
        return info

    def launcher(self, k, args, options):
        """A function that launches with these arguments on the default stream."""
        ro, n = C.byref(options), C.c_uint32(len(args))

        def run():
            self.device.call("tile_launch", k, args, n, ro)
        run.keep = options  # ctypes holds its address only
        return run

    @staticmethod
    def options(plan):
        o = Options(size=C.sizeof(Options), **{k: plan.get(k, 0) for k in OPTIONS})
        for i, g in enumerate(plan["grid"]):
            o.grid[i] = g
        return o

    def planned(self, path, plan, values):
        """(what the specialization takes, a function that launches it) for a plan; `values` by argument name."""
        args = self.args(*[values[name] for name in plan["args"].split()], **plan["constexprs"])
        o, k = self.options(plan), self.kernel(path, plan["kernel"])
        return self.warmup(k, args, o), self.launcher(k, args, o)


def example_plan(build, example, rows, cols, dtype, device):
    """What examples/<example>.c would launch for this shape."""
    out = subprocess.run([os.path.join(build, "bin", example), "--device", device, "--rows", str(rows), "--cols", str(cols),
                          "--dtype", dtype, "--plan"], capture_output=True, text=True, timeout=120)
    if out.returncode:
        raise RuntimeError(f"{example} --plan: {out.stderr.strip() or out.stdout.strip()}")
    return json.loads(out.stdout.strip().splitlines()[-1])
