"""What a user of Triton runs first: one softmax, checked. With --variants: the milliseconds that each
of startup.py's variants takes from source to loaded function, as JSON."""
import json
import sys
import time

import torch

from peers import softmax_rows

x = torch.randn(64, 1000, device="cuda")
y = torch.full_like(x, float("nan"))
if "--variants" not in sys.argv:
    softmax_rows[(64,)](y, x, 1000, 1000, 1000, BLOCK=1024, num_warps=4)
    assert torch.allclose(y.double(), torch.softmax(x.double(), 1), rtol=1e-5, atol=0)
else:
    from startup import VARIANTS
    took = []
    for block, warps in VARIANTS:
        start = time.perf_counter()
        softmax_rows.warmup(y, x, block, block, block, BLOCK=block, num_warps=warps, grid=(1,))._init_handles()
        took.append((time.perf_counter() - start) * 1e3)
    print(json.dumps(took))
