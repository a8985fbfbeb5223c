import triton
import triton.language as tl

@triton.jit
def row_softmax(X, Y, X_STRIDE, Y_STRIDE, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    values = tl.load(X + row * X_STRIDE + cols,
                     mask=cols < N, other=-float('inf'))
    values = values.to(tl.float32)
    numerator = tl.exp(values - tl.max(values, axis=0))
    output = numerator / tl.sum(numerator, axis=0)
    tl.store(Y + row * Y_STRIDE + cols, output, mask=cols < N)
