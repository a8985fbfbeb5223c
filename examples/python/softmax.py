"""softmax.tile on PyTorch tensors, checked against torch; on NumPy arrays where there is no PyTorch.

    python3 examples/python/softmax.py [--device cuda:0|cpu] [--rows M] [--cols N]"""
import argparse
import importlib.util
import os

import tile

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--device", default="cpu")
    p.add_argument("--rows", type=int, default=37)
    p.add_argument("--cols", type=int, default=781)
    a = p.parse_args()
    block = 1 << (a.cols - 1).bit_length()
    try:
        device = tile.Device(a.device)
    except tile.Error as e:
        print(e)
        return 77 if e.status == tile.NOT_FOUND else 1  # 77: nothing to run on
    softmax = device.load(os.path.join(HERE, "../softmax.tile"))["softmax_fp32"]
    stream = None
    if importlib.util.find_spec("torch"):
        import torch
        x = torch.randn(a.rows, a.cols, device=a.device)
        y = torch.empty_like(x)
        if x.is_cuda:
            stream = torch.cuda.current_stream(x.device).cuda_stream
        expected = torch.softmax(x.double(), dim=1)
    elif a.device == "cpu" and importlib.util.find_spec("numpy"):
        import numpy
        x = numpy.random.default_rng(0).standard_normal((a.rows, a.cols), dtype=numpy.float32)
        y = numpy.empty_like(x)
        e = numpy.exp(x.astype(float) - x.max(axis=1, keepdims=True))
        expected = e / e.sum(axis=1, keepdims=True)
    else:
        print("needs PyTorch, or NumPy for --device cpu")
        return 77
    softmax[(a.rows,)](y, x, a.cols, a.cols, a.cols, BLOCK=block, stream=stream)
    error = float(abs(y - expected).max())
    print(f"softmax {a.rows} x {a.cols} on {a.device}: largest error {error:.2g}")
    return error > 1e-6


if __name__ == "__main__":
    raise SystemExit(main())
