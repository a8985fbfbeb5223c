# RUN: tilec --emit=ast %s | FileCheck %s
# Of a Python file only kernels, imports that may matter and plain assignments are read; what is
# around them may be any Python there is, or none.

# CHECK:      import os
# CHECK:      import torch
# CHECK:      import triton as tr
# CHECK-NEXT: import triton.language as tl
# CHECK-NEXT: from triton.language.extra import libdevice
# CHECK-NEXT: from triton import jit
# CHECK:      from .utils import helper
# CHECK-NEXT: from .utils import other as o
# CHECK-NEXT: from siblings import thing
# CHECK:      constant N : tl.constexpr = 32
# CHECK-NOT:  not_ours
# CHECK:      @(call triton.autotune
# CHECK-NEXT: @tr.jit
# CHECK-NEXT: def kernel
# CHECK-NEXT:   param x_ptr
# CHECK-NEXT:   param n
# CHECK-NEXT:   param BLOCK : tl.constexpr
# CHECK-NEXT:   expr "文档"
# CHECK-NEXT:   assign o = (call tl.arange 0 BLOCK)
# CHECK-NEXT:   if (compare BLOCK '>' 3)
# CHECK-NEXT:     assign y = 1
# CHECK-NEXT:   expr (call tl.store (+ x_ptr o) o)
# CHECK-NEXT: import foo
# CHECK-NEXT: @(call jit do_not_specialize=(list "n"))
# CHECK-NEXT: def k2
# CHECK-NEXT:   param n
# CHECK-NEXT:   return
# CHECK-NOT:  {{.}}
"""Module docstring with def foo(: unbalanced ( [ {"""
import os, sys
import torch, numpy
import triton as tr
import triton.language as tl
from triton.language.extra import libdevice
from triton import jit
from typing import Optional as Opt, \
    List
from .utils import (helper,
                    other as o)
from siblings import thing
DEVICE = torch.device(f"cuda:{0!r:>{10}}")
N: tl.constexpr = 32
a, b = 1, 2
x = [i for i in range(10) if i % 2] ; y = 3
BAD = yield_from(await foo)
weird = lambda *a, **k: (yield)
type Alias = list[int]
match x:
    case [1, *rest] if (n := len(rest)) > 3:
        print("x")
    case {"a": 1, **kw}:
        pass
    case _:
        ...
@torch.jit.script
def not_ours(x):
    return x @ x
@numba.jit
def not_ours_either(x: int | None = None, /, *, k) -> "str":
    async with a as b: pass
    return not_a_kernel
class Foo[T](torch.autograd.Function):
    @staticmethod
    def forward(ctx, *args):
        def inner():
            yield from x
        s = """
def looks_like_top_level(:
@triton.jit
"""
        return f"""{x
        }"""

@triton.autotune(
    configs=[triton.Config({'BLOCK': b}, num_warps=w) for b in [1, 2] for w in [4, 8]],
    key=['n'],
)
# comment between
@tr.jit

def kernel(x_ptr,  # 指针
           n, BLOCK: tl.constexpr):
    """文档"""
    o = tl.arange(0, BLOCK)

# a comment at column 0
    if BLOCK > 3:
        y = 1  # 中文

    tl.store(x_ptr + o, o)
if __name__ == "__main__":
    def f(): pass
else: x = 3
try:
    import foo
except ImportError: foo = None
@jit(do_not_specialize=["n"])
def k2(n): return
@jit
async def k3(): pass
@jit
class K4: x = 1
with open("x") as f, \
     open("y") as g:
    pass
print(f"{x = }"); print("a" "b")
@jit
