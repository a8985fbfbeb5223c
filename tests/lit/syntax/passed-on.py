# RUN: tilec --check %s
# RUN: tilec --list %s | FileCheck %s
# A project may import Triton in one place and pass its modules on under their names.
import torch
from project.triton_utils import HAS_TRITON, tl, triton
from .importing import libdevice
from ..deeper import tldevice as ld

# CHECK: scale(x: *fp32, n: i32, BLOCK: constexpr = 128)
@triton.jit
def scale(x: "*fp32", n: tl.int32, BLOCK: tl.constexpr = triton.next_power_of_2(100)):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + o, mask=o < n)
    tl.store(x + o, libdevice.tanh(v) + ld.rsqrt(v), mask=o < n)
