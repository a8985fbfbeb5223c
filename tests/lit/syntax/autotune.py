# RUN: tilec --list %s 2>/dev/null | FileCheck %s
# RUN: tilec --check --signature 'tuned(x=*fp32, n=i32)' --kernel=tuned --kernel=named %s 2>&1 | FileCheck %s --check-prefix=WARN
# RUN: tilec --emit=tile -o - -D BLOCK=32 --signature 'tuned(x=*fp32, n=i32)' --kernel=tuned %s 2>/dev/null | FileCheck %s --check-prefix=GIVEN
# RUN: not tilec --check --kernel=computed %s 2>&1 | FileCheck %s --check-prefix=COMPUTED
# The first config of a kernel gives its parameters their values, if it is written out.

# CHECK: tuned(x, n, BLOCK: constexpr = 256, EVEN: constexpr = True, MODE: constexpr = {{.}}fast{{.}}, HALF: constexpr = 0.5)
# CHECK: named(x: *fp32, BLOCK: constexpr = 16)
# CHECK: computed(x: *fp32, BLOCK: constexpr)
# WARN: autotune.py:[[#@LINE+14]]:2: warning: @heuristics is not applied yet; give the values and options that it would choose [-Wnot-applied]
# WARN: autotune.py:[[#@LINE+14]]:2: warning: @autotune is not applied yet; the values of its first config are the defaults, without its options [-Wnot-applied]
# GIVEN: tile<32xi32
# COMPUTED: error: constexpr 'BLOCK' of kernel 'computed' has no value
import triton
import triton.language as tl

CONFIGS = [triton.Config(kwargs={"BLOCK": 16}, num_stages=2), triton.Config({"BLOCK": 32})]


def prune(configs, *args, **kwargs):
    return [c for c in configs if c.num_warps > 2]


@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.autotune([
    triton.Config({"BLOCK": 256, "EVEN": True, "MODE": "fast", "HALF": 0.5, "OTHER": 3}, num_warps=8),
    triton.Config({"BLOCK": 512}),
], key=["n"], prune_configs_by={"early_config_prune": prune})
@triton.jit
def tuned(x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr, MODE: tl.constexpr, HALF: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + o, HALF, mask=None if EVEN else o < n)


@triton.autotune(configs=CONFIGS, key=[])
@triton.jit
def named(x: "*fp32", BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)


@triton.autotune(configs=[triton.Config({"BLOCK": b}) for b in (16, 32)], key=[])
@triton.jit
def computed(x: "*fp32", BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)
