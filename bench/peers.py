"""The peers' kernels: Triton in the forms its users write, and the settings worth trying for each.
They follow the published structures (one row per program; persistent programs that stride over the
rows; online, in blocks, reading the row twice) and are written here for all operations alike."""
import triton
import triton.language as tl

WARPS = (1, 2, 4, 8, 16, 32)


@triton.jit
def add(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(z + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


@triton.jit
def softmax_rows(y, x, y_stride, x_stride, n_cols, BLOCK: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    inside = c < n_cols
    v = tl.load(x + r * x_stride + c, mask=inside, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + r * y_stride + c, e / tl.sum(e, axis=0), mask=inside)


@triton.jit
def softmax_persistent(y, x, y_stride, x_stride, n_rows, n_cols, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    c = tl.arange(0, BLOCK)
    inside = c < n_cols
    for r in tl.range(tl.program_id(0), n_rows, tl.num_programs(0), num_stages=STAGES):
        at = r.to(tl.int64)
        v = tl.load(x + at * x_stride + c, mask=inside, other=-float("inf")).to(tl.float32)
        e = tl.exp(v - tl.max(v, axis=0))
        tl.store(y + at * y_stride + c, e / tl.sum(e, axis=0), mask=inside)


@triton.jit
def softmax_online(y, x, y_stride, x_stride, n_cols, BLOCK: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    top = -float("inf")
    total = 0.0
    for start in range(0, n_cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        v = tl.load(x + r * x_stride + c, mask=c < n_cols, other=-float("inf")).to(tl.float32)
        higher = tl.maximum(top, tl.max(v, axis=0))
        total = total * tl.exp(top - higher) + tl.sum(tl.exp(v - higher), axis=0)
        top = higher
    for start in range(0, n_cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        v = tl.load(x + r * x_stride + c, mask=c < n_cols, other=0.0).to(tl.float32)
        tl.store(y + r * y_stride + c, tl.exp(v - top) / total, mask=c < n_cols)


@triton.jit
def rmsnorm_rows(y, x, w, y_stride, x_stride, n_cols, eps, BLOCK: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    inside = c < n_cols
    v = tl.load(x + r * x_stride + c, mask=inside, other=0.0).to(tl.float32)
    g = tl.load(w + c, mask=inside).to(tl.float32)
    scale = tl.rsqrt(tl.sum(v * v, axis=0) / n_cols + eps)
    tl.store(y + r * y_stride + c, v * scale * g, mask=inside)


@triton.jit
def layernorm_rows(y, x, w, b, y_stride, x_stride, n_cols, eps, BLOCK: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    inside = c < n_cols
    v = tl.load(x + r * x_stride + c, mask=inside, other=0.0).to(tl.float32)
    g = tl.load(w + c, mask=inside).to(tl.float32)
    h = tl.load(b + c, mask=inside).to(tl.float32)
    d = tl.where(inside, v - tl.sum(v, axis=0) / n_cols, 0.0)
    scale = tl.rsqrt(tl.sum(d * d, axis=0) / n_cols + eps)
    tl.store(y + r * y_stride + c, d * scale * g + h, mask=inside)


@triton.jit
def cross_entropy_rows(loss, x, target, x_stride, n_cols, BLOCK: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    picked = tl.load(x + r * x_stride + tl.load(target + r)).to(tl.float32)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + r * x_stride + c, mask=c < n_cols, other=-float("inf")).to(tl.float32)
    top = tl.max(v, axis=0)
    tl.store(loss + r, tl.log(tl.sum(tl.exp(v - top), axis=0)) + top - picked)


@triton.jit
def cross_entropy_online(loss, x, target, x_stride, n_cols, BLOCK: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    picked = tl.load(x + r * x_stride + tl.load(target + r)).to(tl.float32)
    top = -float("inf")
    total = 0.0
    for start in range(0, n_cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        v = tl.load(x + r * x_stride + c, mask=c < n_cols, other=-float("inf")).to(tl.float32)
        higher = tl.maximum(top, tl.max(v, axis=0))
        total = total * tl.exp(top - higher) + tl.sum(tl.exp(v - higher), axis=0)
        top = higher
    tl.store(loss + r, tl.log(total) + top - picked)


# operation: (one-row kernel, online kernel, persistent kernel, arguments by the names of workloads.py)
ROWS = {
    "softmax": (softmax_rows, softmax_online, softmax_persistent, "y x y_stride x_stride n_cols"),
    "rmsnorm": (rmsnorm_rows, None, None, "y x w y_stride x_stride n_cols eps"),
    "layernorm": (layernorm_rows, None, None, "y x w b y_stride x_stride n_cols eps"),
    "cross_entropy": (cross_entropy_rows, cross_entropy_online, None, "loss x target x_stride n_cols"),
}
ONLINE = ((2048, 4), (4096, 8), (8192, 16))  # BLOCK, num_warps
MOST_IN_REGISTERS = 65536  # beyond, a row in one block spills and takes three times as long as online


class Launch:
    """One way to run an operation in Triton: kernel, values of its arguments, constexprs, options."""

    def __init__(self, settings, kernel, names, constexprs, warps, grid):
        self.settings, self.kernel, self.names = settings, kernel, names.split()
        self.constexprs, self.warps, self.grid = constexprs, warps, grid

    def compile(self, values):
        """Compiled, not launched; tensors may be dtypes. None if the machine cannot hold it."""
        k = self.kernel.warmup(*[values[n] for n in self.names], grid=(1,), num_warps=self.warps, **self.constexprs)
        try:
            k._init_handles()
        except triton.runtime.errors.OutOfResources:
            return None
        return k

    def launcher(self, values):
        args, kernel, grid = [values[n] for n in self.names], self.kernel, self.grid
        return lambda: kernel[grid](*args, num_warps=self.warps, **self.constexprs)


def launches(op, rows, cols, sms):
    """Everything worth trying for a shape, as (launch, whether its grid is the device's)."""
    if op == "vector_add":
        n = rows * cols
        for block, warps in ((1024, 4), (1024, 8), (2048, 4), (4096, 8)):
            yield Launch(f"BLOCK={block} warps={warps}", add, "x y z n", {"BLOCK": block}, warps, (triton.cdiv(n, block),))
        return
    one, online, persistent, names = ROWS[op]
    block = triton.next_power_of_2(cols)
    for warps in WARPS:
        if block <= MOST_IN_REGISTERS and block // (32 * warps) <= 128 and (warps == 1 or block >= 32 * warps):
            yield Launch(f"rows warps={warps}", one, names, {"BLOCK": block}, warps, (rows,))
    if online and cols > 4096:
        for b, warps in ONLINE:
            yield Launch(f"online BLOCK={b} warps={warps}", online, names, {"BLOCK": b}, warps, (rows,))
    if persistent and block <= 32768:  # 4 stages, or the 2 that still fit; the grid follows from what it takes
        for stages in (4, 2):
            yield Launch(f"persistent warps=8 stages={stages}", persistent, names.replace("n_cols", "n_rows n_cols"),
                         {"BLOCK": block, "STAGES": stages}, 8, None)


def fit_grid(launch, values, rows, sms):
    """The tutorial's grid for a persistent kernel: as many programs as the device holds. False if none."""
    k = launch.compile(values)
    if k is None:
        return False
    by_registers = 65536 // max(1, k.n_regs * 32 * launch.warps)
    by_shared = 227 * 1024 // max(1, k.metadata.shared)
    launch.grid = (min(rows, sms * max(1, min(by_registers, by_shared))),)
    launch.settings += f" grid={launch.grid[0]}"
    return True
