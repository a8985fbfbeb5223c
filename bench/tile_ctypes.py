"""The few calls of tile.h that the benchmarks need, over ctypes."""
import ctypes as C


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
                ("compile_ms", C.c_double)]


class Error(C.Structure):
    _fields_ = [("status", C.c_int), ("message", C.c_char * 512), ("log", C.c_char_p)]


class Tile:
    """A device and modules on it."""

    def __init__(self, library, device="cuda:0"):
        self.lib, self.err = C.CDLL(library), Error()
        self.dev = C.c_void_p()
        self.check(self.lib.tile_device_open(device.encode(), C.byref(self.dev), C.byref(self.err)))

    def check(self, status):
        if status:
            raise RuntimeError((self.err.log or self.err.message).decode())

    def kernel(self, path, name):
        mod, k = C.c_void_p(), C.c_void_p()
        self.check(self.lib.tile_module_load_file(self.dev, path.encode(), C.byref(mod), C.byref(self.err)))
        self.check(self.lib.tile_module_get_kernel(mod, name.encode(), C.byref(k), C.byref(self.err)))
        return k

    @staticmethod
    def args(*values, **constexprs):
        """Tensors, ints (i32) and constexprs (ints by name) as a tile_arg array."""
        names = {"torch.float32": b"fp32", "torch.float16": b"fp16", "torch.bfloat16": b"bf16", "torch.int32": b"i32"}
        out = (Arg * (len(values) + len(constexprs)))()
        for a, v in zip(out, values):
            if isinstance(v, int):
                a.kind, a.dtype, a.value.i = 1, b"i32", v
            else:
                a.kind, a.dtype, a.value.pointer = 0, names[str(v.dtype)], v.data_ptr()
        for a, (n, v) in zip(out[len(values):], constexprs.items()):
            a.name, a.kind, a.constexpr_kind, a.value.i = n.encode(), 5, 2, v
        return out

    def warmup(self, k, args, warps):
        o, info = Options(size=C.sizeof(Options), num_warps=warps), Info()
        self.check(self.lib.tile_warmup(k, args, len(args), C.byref(o), C.byref(info), C.byref(self.err)))
        return info

    def launcher(self, k, args, grid, warps):
        """A function that launches with these arguments on the default stream."""
        o = Options(size=C.sizeof(Options), num_warps=warps)
        o.grid[0] = grid
        ro, re, n = C.byref(o), C.byref(self.err), len(args)
        return lambda: self.check(self.lib.tile_launch(k, args, n, ro, re))
