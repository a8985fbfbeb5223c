"""The few calls of tile.h that the benchmarks need, over ctypes, and launches as an example's --plan
prints them: the benchmarks measure what the examples choose, and choose nothing themselves."""
import ctypes as C
import json
import os
import subprocess

NAMES = {"torch.float32": b"fp32", "torch.float16": b"fp16", "torch.bfloat16": b"bf16", "torch.int32": b"i32",
         "torch.int64": b"i64"}
POINTER, SCALAR, CONSTEXPR = 0, 1, 5
CONSTEXPR_BOOL, CONSTEXPR_INT = 1, 2


class Arg(C.Structure):
    class Value(C.Union):
        _fields_ = [("pointer", C.c_void_p), ("i", C.c_int64), ("f", C.c_double), ("string", C.c_char_p)]
    _fields_ = [("name", C.c_char_p), ("kind", C.c_int), ("constexpr_kind", C.c_int), ("dtype", C.c_char_p),
                ("value", Value)]


class Options(C.Structure):
    _fields_ = [("size", C.c_size_t), ("grid", C.c_uint32 * 3), ("num_warps", C.c_uint32), ("num_ctas", C.c_uint32),
                ("num_stages", C.c_uint32), ("maxnreg", C.c_uint32), ("stream", C.c_void_p)]


class Info(C.Structure):
    _fields_ = [("registers", C.c_uint32), ("spill_bytes", C.c_uint32), ("shared_bytes", C.c_uint32),
                ("threads", C.c_uint32), ("max_blocks_per_sm", C.c_uint32), ("num_sms", C.c_uint32),
                ("compile_ms", C.c_double), ("max_programs", C.c_uint32)]


class Error(C.Structure):
    _fields_ = [("status", C.c_int), ("message", C.c_char * 512), ("log", C.c_char_p)]


class Tile:
    """A device and modules on it."""

    def __init__(self, library, device="cuda:0"):
        self.lib, self.err, self.modules, self.registered = C.CDLL(library), Error(), {}, []
        self.device, self.dev = device, C.c_void_p()
        self.check(self.lib.tile_device_open(device.encode(), C.byref(self.dev), C.byref(self.err)))

    def check(self, status):
        if status:
            raise RuntimeError((self.err.log or self.err.message).decode())

    def kernel(self, path, name):
        if path not in self.modules:
            mod = C.c_void_p()
            self.check(self.lib.tile_module_load_file(self.dev, path.encode(), C.byref(mod), C.byref(self.err)))
            self.modules[path] = mod
        k = C.c_void_p()
        self.check(self.lib.tile_module_get_kernel(self.modules[path], name.encode(), C.byref(k), C.byref(self.err)))
        return k

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
            a.constexpr_kind = CONSTEXPR_BOOL if isinstance(v, bool) else CONSTEXPR_INT
        return out

    def register(self, tensor):
        """On cpu, kernels may use registered memory only."""
        if self.device == "cpu":
            self.registered.append(C.c_void_p(tensor.data_ptr()))
            size = C.c_size_t(tensor.numel() * tensor.element_size())
            self.check(self.lib.tile_memory_register(self.dev, self.registered[-1], size, C.byref(self.err)))

    def forget(self):
        """Before tensors that were arguments go away."""
        for pointer in self.registered:
            self.lib.tile_memory_unregister(self.dev, pointer)
        self.registered.clear()

    def warmup(self, k, args, options):
        info = Info()
        self.check(self.lib.tile_warmup(k, args, len(args), C.byref(options), C.byref(info), C.byref(self.err)))
        return info

    def launcher(self, k, args, options):
        """A function that launches with these arguments on the default stream."""
        ro, re, n, launch = C.byref(options), C.byref(self.err), len(args), self.lib.tile_launch

        def run():
            if launch(k, args, n, ro, re):
                self.check(self.err.status)
        run.keep = options  # ctypes holds its address only
        return run

    @staticmethod
    def options(plan):
        o = Options(size=C.sizeof(Options), **{k: plan.get(k, 0) for k in ("num_warps", "num_ctas", "num_stages", "maxnreg")})
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
