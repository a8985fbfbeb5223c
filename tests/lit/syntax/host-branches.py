# RUN: tilec --emit=ast %s | FileCheck %s
# RUN: tilec --emit=tile -o - %s | FileCheck %s --check-prefix=IR
# What stands in an `if`, a `try` or a host function: all branches are read, the first that binds a
# name counts, with `if not` the other one, and `except` comes last.

# CHECK:      import triton
# CHECK-NEXT: import triton.language as tl
# CHECK-NEXT: from triton.language.extra.libdevice import rsqrt
# CHECK-NEXT: constant SCALE = 2.0
# CHECK-NEXT: constant OTHER = 5
# CHECK-NEXT: @triton.jit
# CHECK-NEXT: def helper
# CHECK-NEXT:   param x
# CHECK-NEXT:   return (* x SCALE)
# CHECK-NEXT: constant FALLBACK = 2
# CHECK-NEXT: constant WIDTH = (call tl.constexpr 64)
# CHECK-NEXT: constant DEPTH = 2
# CHECK-NEXT: @triton.jit
# CHECK-NEXT: def kernel
# CHECK:      @triton.jit
# CHECK-NEXT: def nested
# CHECK:        assign o = (call tl.arange 0 WIDTH)
# CHECK:      @triton.jit
# CHECK-NEXT: def method
# CHECK:      @(call triton.jit noinline=True)
# CHECK-NEXT: def last
# CHECK-NOT:  {{def|constant}}

# IR: func @kernel
# IR: func @nested
# IR: const {value = 2.0}
# IR: func @method
# IR: func @last
try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None
    tl = None

if version("triton") >= (3, 0):
    try:
        from triton.language.extra.libdevice import rsqrt
    except ModuleNotFoundError:
        from triton.language.extra.cuda.libdevice import rsqrt
else:
    from triton.language.math import rsqrt

if FAST:
    SCALE = 2.0
elif SLOW:
    SCALE = 3.0
    OTHER = 5
else:
	SCALE = 4.0
	OTHER = 6

if not tl:
    @triton.jit
    def helper(x):
        "A stub."
        return x

    FALLBACK = 1
else:
        # a comment at another column
        @triton.jit
        def helper(x):
            return x * SCALE
        FALLBACK = 2

if not HAS_MORE:
    WIDTH = tl.constexpr(64)
    DEPTH = 2
with context() as c:
    if c: print("no block of ours")
    if c:
        @triton.jit
        def kernel(x: "*fp32", n: "i32"):
            if n > 0:
                tl.store(x, n.to(tl.float32))

def host(device, WIDTH=3):
    """Builds kernels."""
    SCALE = 17
    for name in ("a", "b"):
        pass
    @triton.jit
    def nested(x: "*fp32"):
        o = tl.arange(0, WIDTH)

  # the body goes on
        tl.store(x + o, helper(tl.load(x + o)))
    @triton.jit
    def kernel(x: "*fp32"):
        "The one at the top level counts."
    def inner():
        return lambda: nested
    return nested[(1,)]

class Launcher(Base):
    WIDTH = 9
    @staticmethod
    @triton.jit
    def method(x: "*fp32"):
        tl.store(x, 1.0)

    def run(self): return self.method[(1,)](self.x)

@triton.jit(noinline=True)
def last(x: "*fp32"):
    tl.store(x, 2.0)
last = triton.autotune(configs(), key=[])(last)
