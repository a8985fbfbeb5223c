"""What is measured: the operations, their shapes, the order of importance, the goals; and for each
operation its inputs, its reference in double precision with the allowed error, and what torch calls
it."""
import re

import torch
import torch.nn.functional as F

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
ULP = {"fp32": (0.0, 2.0 ** -149), "fp16": (2.0 ** -10, 2.0 ** -24), "bf16": (2.0 ** -7, 2.0 ** -133)}
UNIT = 2.0 ** -24

# softmax, M = 4096: goals as (times the best peer, times copy), None where there is none.
SOFTMAX_GOALS = {
    "fp32": {256: (1.05, None), 1024: (1.05, None), 781: (1.10, None), 4096: (None, .98), 8192: (None, .97),
             12345: (None, .95), 16384: (None, .97), 32768: (None, .97), 50257: (None, .93), 65536: (None, .93),
             128256: (None, .93), 262144: (None, .93)},
    "bf16": {256: (1.05, None), 1024: (1.05, None), 781: (1.20, None), 4096: (None, .97), 8192: (None, .95),
             12345: (None, .92), 16384: (None, .96), 32768: (None, .93), 50257: (None, .90), 65536: (None, .90),
             128256: (None, .90), 262144: (None, .90)},
}
# Where torch.compile takes part: wherever a goal speaks of the best peer, and here and there.
COMPILED = {("softmax", n) for n in (256, 781, 1024, 16384, 65536)} | {
    ("rmsnorm", 4096), ("layernorm", 4096), ("cross_entropy", 50257), ("vector_add", 1 << 24)}


class Workload:
    """One operation at one shape and type; `table` if it is a row of the table of goals."""

    def __init__(self, op, dtype, rows, cols, table=False):
        self.op, self.dtype, self.rows, self.cols, self.table = op, dtype, rows, cols, table
        self.name = f"{op} {dtype} {rows}x{cols}" if op != "vector_add" else f"{op} {dtype} {cols}"
        self.compiled = (op, cols) in COMPILED and (table or op != "softmax")
        self.goal = (None, None)
        if op == "softmax" and table:
            self.goal = SOFTMAX_GOALS[dtype][cols]
        elif op == "vector_add" and dtype == "fp32":
            self.goal = (1.0, None)

    def values(self, device):
        """Every argument of the kernels by name; tensors are fresh."""
        torch.manual_seed(self.rows * 31 + self.cols)
        t, m, n = DTYPES[self.dtype], self.rows, self.cols

        def random(*shape, scale=1.0, offset=0.0):
            return (torch.randn(*shape, device=device) * scale + offset).to(t)
        if self.op == "vector_add":
            return {"x": random(n), "y": random(n), "z": torch.empty(n, device=device, dtype=t), "n": n}
        v = {"x": random(m, n, scale=2.0), "y_stride": n, "x_stride": n, "n_cols": n, "n_rows": m, "eps": 1e-5}
        if self.op == "cross_entropy":
            v["loss"] = torch.empty(m, device=device)
            v["target"] = torch.randint(0, n, (m,), device=device)
        else:
            v["y"] = torch.empty_like(v["x"])
        if self.op in ("rmsnorm", "layernorm"):
            v["w"], v["b"] = random(n, scale=0.1, offset=1.0), random(n)
        return v

    def output(self, values):
        return values[{"vector_add": "z", "cross_entropy": "loss"}.get(self.op, "y")]

    def bytes(self, values):
        """What must be moved: every input read once, every output written once."""
        names = {"vector_add": "xyz", "softmax": "xy", "rmsnorm": "xyw", "layernorm": "xywb"}.get(
            self.op, ("loss", "x", "target"))
        return sum(values[n].numel() * values[n].element_size() for n in names)

    def torch_call(self, v):
        """What a torch user writes; `out=` where there is one."""
        x = v["x"]
        return {
            "vector_add": lambda: torch.add(x, v["y"], out=v["z"]),
            "softmax": lambda: torch.softmax(x, 1, out=v["y"]),
            "rmsnorm": lambda: F.rms_norm(x, (self.cols,), v.get("w"), v.get("eps")),
            "layernorm": lambda: F.layer_norm(x, (self.cols,), v.get("w"), v.get("b"), v.get("eps")),
            "cross_entropy": lambda: F.cross_entropy(x, v["target"], reduction="none"),
        }[self.op]

    def torch_compiled(self, v):
        call = {
            "vector_add": lambda x, y: x + y,
            "softmax": lambda x: torch.softmax(x, 1),
            "rmsnorm": lambda x, w: F.rms_norm(x, (self.cols,), w, 1e-5),
            "layernorm": lambda x, w, b: F.layer_norm(x, (self.cols,), w, b, 1e-5),
            "cross_entropy": lambda x, t: F.cross_entropy(x.float(), t, reduction="none"),
        }[self.op]
        names = {"vector_add": "x y", "softmax": "x", "rmsnorm": "x w", "layernorm": "x w b", "cross_entropy": "x target"}
        args = [v[n] for n in names[self.op].split()]
        torch._dynamo.reset()
        compiled = torch.compile(call, dynamic=False)
        return lambda: compiled(*args)

    def reference(self, v, part):
        """(exact result, allowed error) of some rows, in double precision. Softmax: the bound that
        the project promises; the others: a few roundings of what is added up. Then one unit in the
        last place of a 16-bit output."""
        if self.op == "vector_add":
            want = v["x"][part].double() + v["y"][part].double()
            return self.rounded(want, UNIT * want.abs())
        x = v["x"][part].double()
        top = x.amax(1, keepdim=True)
        if self.op == "softmax":
            want = torch.softmax(x, 1)
            return self.rounded(want, x.sub_(top).neg_().mul_(2).add_(4).mul_(UNIT).mul_(want))
        if self.op == "cross_entropy":
            total = (x - top).exp_().sum(1).log_()
            picked = x.gather(1, v["target"][part][:, None])[:, 0]
            want = total + top[:, 0] - picked
            return want, 4 * UNIT * (4 + total + top[:, 0].abs() + picked.abs())
        w = v["w"].double()
        if self.op == "rmsnorm":
            want = x * torch.rsqrt(x.square().mean(1, keepdim=True) + v["eps"]) * w
            return self.rounded(want, 16 * UNIT * want.abs())
        b, mean = v["b"].double(), x.mean(1, keepdim=True)
        scale = torch.rsqrt(x.var(1, unbiased=False, keepdim=True) + v["eps"])
        bound = 16 * UNIT * ((x.abs() + x.abs().mean(1, keepdim=True)) * scale * w.abs() + b.abs())
        return self.rounded((x - mean) * scale * w + b, bound)

    def rounded(self, want, bound):
        relative, least = ULP[self.dtype]
        return want, bound + (want.abs() * relative).clamp_(min=least)


def all_workloads():
    """In the order of importance: a run that is short of time leaves out the end."""
    both = ("fp32", "bf16")
    out = [Workload("softmax", d, 4096, n, table=True) for n in SOFTMAX_GOALS["fp32"] for d in both]
    out += [Workload("vector_add", "fp32", 1, 1 << k) for k in (20, 24, 28)]
    out += [Workload(op, d, 4096, n) for n in (4096, 1024, 16384) for op in ("rmsnorm", "layernorm") for d in both]
    out += [Workload("cross_entropy", d, 4096, n) for n in (50257, 128256, 4096, 32768) for d in both]
    out += [Workload("softmax", d, 4096, n) for n in (4160, 8256, 16448, 1088, 33000, 65600) for d in both]
    out += [Workload("softmax", d, 131072, n) for n in (64, 128, 256, 512) for d in both]
    out += [Workload("softmax", d, 1, n) for n in (1024, 32768, 262144) for d in both]
    out += [Workload("softmax", d, 4096, n) for n in (512, 1000, 2048) for d in both]
    out += [Workload("softmax", "fp16", 4096, n) for n in (781, 4096, 32768)]
    sizes = [1 << k for k in range(12, 29, 2)] + [100003, 1000001, 16777213]
    out += [Workload("vector_add", d, 1, n) for n in sizes for d in both if d != "fp32" or n not in (1 << 20, 1 << 24, 1 << 28)]
    out += [Workload(op, d, 4096, n) for n in (256, 781, 2048, 8192, 12345) for op in ("rmsnorm", "layernorm") for d in both]
    out += [Workload("cross_entropy", d, 4096, n) for n in (1024, 262144) for d in both]
    return out


def chosen(pattern):
    return [w for w in all_workloads() if re.search(pattern, w.name)]
