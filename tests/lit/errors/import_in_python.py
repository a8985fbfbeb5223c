# RUN: not tilec --check %s --kernel=kernel 2>&1 | FileCheck %s --implicit-check-not=error:
# RUN: tilec --check %s --kernel=clean
# Imports of a Python file that kernels cannot use are no error until one does.
import torch
import triton
import triton.language as tl
from numpy import pi
from . import siblings
from .no_such_file import helper
from project.utils import other
from import_in_python import nothing
from import_in_python import missing as found

@triton.jit
def kernel(x: "*fp32"):
    # CHECK: .py:[[#@LINE+1]]:17: error: 'torch' is imported from 'torch', which kernels cannot use; pass what is needed of it as an argument
    tl.store(x, torch.pi)
    # CHECK: .py:[[#@LINE+1]]:17: error: 'pi' is imported from 'numpy', which kernels cannot use
    tl.store(x, pi)
    # CHECK: .py:[[#@LINE+1]]:5: error: 'siblings' cannot be used: a function is imported by 'from .file import name'
    siblings.f(x)
    # CHECK: .py:[[#@LINE+2]]:5: error: 'helper' cannot be used: cannot find 'no_such_file.tile' or 'no_such_file.py' beside this file or in a folder given by -I
    # CHECK: .py:9:27: note: it is imported here
    helper(x)
    # CHECK: .py:[[#@LINE+1]]:5: error: 'other' is imported from 'project.utils', which kernels cannot use
    other(x)
    # CHECK: .py:[[#@LINE+1]]:5: error: 'found' cannot be used: '{{.*}}import_in_python.py' has no function or constant 'missing'
    found(x)

@libentry()
@triton.jit
def clean(x: "*fp32"):
    tl.store(x, 1.0)
