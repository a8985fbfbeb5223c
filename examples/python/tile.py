"""Kernels of a .tile file on tensors of PyTorch, JAX, CuPy or NumPy: libtile over ctypes, in one file.

    import tile, torch
    add = tile.Device("cuda:0").load("vector_add.tile")["vector_add"]
    add[lambda c: ((n + c["BLOCK"] - 1) // c["BLOCK"],)](x, y, z, n, BLOCK=1024, num_warps=4)

Arguments are typed as Triton types them: tensors by their dtype (through DLPack), int, float, bool and
None by their value. What a parameter's default leaves out may be left out. The library is looked for in
$TILE_LIBRARY, then where the linker looks; errors are raised as tile.Error with the compiler's text."""
import ctypes as C
import os

NONE, BOOL, INT, FLOAT, STRING, DTYPE = range(6)  # tile_constexpr_kind
SCALAR, ARG_INT, ARG_FLOAT, ARG_NONE, CONSTEXPR = 1, 2, 3, 4, 5  # tile_arg_kind
NOT_FOUND = 2  # tile_status
OPTIONS = ("num_warps", "num_ctas", "num_stages", "maxnreg")


class Value(C.Union):
    _fields_ = [("pointer", C.c_void_p), ("i", C.c_int64), ("f", C.c_double), ("string", C.c_char_p)]


class Arg(C.Structure):
    _fields_ = [("name", C.c_char_p), ("kind", C.c_int), ("constexpr_kind", C.c_int), ("dtype", C.c_char_p),
                ("value", Value)]


class Options(C.Structure):
    _fields_ = [("size", C.c_size_t), ("grid", C.c_uint32 * 3), *[(name, C.c_uint32) for name in OPTIONS],
                ("stream", C.c_void_p), ("no_asserts", C.c_bool)]


class Info(C.Structure):
    """What a specialization costs, see tile_kernel_info in tile.h."""
    _fields_ = [("registers", C.c_uint32), ("spill_bytes", C.c_uint32), ("shared_bytes", C.c_uint32),
                ("threads", C.c_uint32), ("max_blocks_per_sm", C.c_uint32), ("num_sms", C.c_uint32),
                ("compile_ms", C.c_double), ("max_programs", C.c_uint32), ("from_cache", C.c_bool)]


class ErrorStruct(C.Structure):
    _fields_ = [("status", C.c_int), ("message", C.c_char * 512), ("log", C.c_void_p)]


class Error(RuntimeError):
    """status: a tile_status."""


class dtype(str):
    """A type as a constexpr: kernel[grid](x, T=tile.dtype("fp16"))."""


PyCapsule_GetPointer = C.pythonapi.PyCapsule_GetPointer
PyCapsule_GetPointer.restype, PyCapsule_GetPointer.argtypes = C.c_void_p, [C.py_object, C.c_char_p]


def dltensor(tensor):
    """(address of the tensor's DLTensor, what must be kept until it has been read)."""
    on_host = tensor.__dlpack_device__()[0] == 1
    capsule = tensor.__dlpack__() if on_host else tensor.__dlpack__(stream=-1)  # -1: no synchronization
    return C.c_void_p(PyCapsule_GetPointer(capsule, b"dltensor")), capsule


class Device:
    """"cuda:N" or "cpu". It lives until the process ends, as do its modules."""

    def __init__(self, name="cuda:0", library=None):
        self.lib = C.CDLL(library or os.environ.get("TILE_LIBRARY", "libtile.so.0.1"))
        self.is_cpu, self.handle = name == "cpu", C.c_void_p()
        self.call("tile_device_open", name.encode(), C.byref(self.handle))

    def call(self, function, *args):
        """Calls the library; raises what it reports."""
        error = ErrorStruct()
        status = getattr(self.lib, function)(*args, C.byref(error))
        if status:
            text = C.string_at(error.log) if error.log else error.message
            self.lib.tile_error_clear(C.byref(error))
            raised = Error(text.decode())
            raised.status = status
            raise raised

    def load(self, path):
        """The kernels of a file: load(path)["name"]."""
        module = C.c_void_p()
        self.call("tile_module_load_file", self.handle, os.fspath(path).encode(), C.byref(module))
        return Module(self, module)

    def synchronize(self):
        self.call("tile_synchronize", self.handle, None)


class Module:
    def __init__(self, device, handle):
        self.device, self.handle = device, handle

    def __getitem__(self, name):
        kernel = C.c_void_p()
        self.device.call("tile_module_get_kernel", self.handle, name.encode(), C.byref(kernel))
        return Kernel(self.device, kernel)


class Kernel:
    def __init__(self, device, handle):
        self.device, self.handle = device, handle

    def fill(self, arg, value, name, keep):
        """One argument. A number given by name may be a constexpr, which takes plain numbers as well."""
        arg.name = name and name.encode()
        if hasattr(value, "item") and not hasattr(value, "__dlpack__"):
            value = value.item()  # a number of NumPy's
        if isinstance(value, bool):
            arg.kind, arg.dtype, arg.value.i = SCALAR, b"i1", value
        elif isinstance(value, int):
            if not -1 << 63 <= value < 1 << 64:
                raise OverflowError(f"{value} does not fit 64 bits")
            arg.kind, arg.dtype = (ARG_INT, None) if value < 1 << 63 else (SCALAR, b"u64")
            arg.value.i = value  # ctypes takes the 64 bits
        elif isinstance(value, float):
            arg.kind, arg.value.f = ARG_FLOAT, value
        elif value is None:
            arg.kind = ARG_NONE
        elif isinstance(value, dtype):
            arg.kind, arg.constexpr_kind, arg.dtype = CONSTEXPR, DTYPE, value.encode()
        elif isinstance(value, str):
            arg.kind, arg.constexpr_kind, arg.value.string = CONSTEXPR, STRING, value.encode()
        else:
            tensor, capsule = dltensor(value)
            self.device.call("tile_dlpack_pointer", self.device.handle, tensor, C.byref(arg))
            arg.name = name and name.encode()
            if self.device.is_cpu:  # kernels may use registered memory only
                self.device.call("tile_dlpack_register", self.device.handle, tensor)
            keep.append((tensor, capsule))

    def run(self, function, grid, values, named, stream, *out):
        device, keep = self.device, []
        o = Options(size=C.sizeof(Options), **{k: named.pop(k) for k in OPTIONS if k in named})
        sizes = tuple(grid(named) if callable(grid) else grid)
        if not 1 <= len(sizes) <= 3 or not all(0 <= n < 1 << 32 for n in sizes):
            raise ValueError(f"grid {sizes}: expected one to three sizes")
        o.grid[:] = (*sizes, 1, 1)[:3]
        args = (Arg * (len(values) + len(named)))()
        try:
            for arg, (name, value) in zip(args, [*((None, v) for v in values), *named.items()]):
                self.fill(arg, value, name, keep)
            if stream:
                handle = C.c_void_p()
                device.call("tile_stream_wrap", device.handle, C.c_void_p(stream), C.byref(handle))
                o.stream = handle
            device.call(function, self.handle, args, C.c_uint32(len(args)), C.byref(o), *out)
        finally:
            if o.stream:
                device.lib.tile_stream_destroy(C.c_void_p(o.stream))
            for tensor, _ in keep if device.is_cpu else ():
                device.lib.tile_dlpack_unregister(device.handle, tensor)

    def __getitem__(self, grid):
        """kernel[grid](*arguments, stream=None, **named): launches; stream is a CUstream as an int."""
        return lambda *values, stream=None, **named: self.run("tile_launch", grid, values, named, stream)

    def warmup(self, *values, **named):
        """Compiles for these arguments without launching; returns what the specialization costs."""
        info = Info()
        self.run("tile_warmup", (1,), values, named, None, C.byref(info))
        return info
