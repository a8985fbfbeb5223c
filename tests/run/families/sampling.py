"""Sampling, sorting, routing, attention without matrices, and dropout."""
import triton
import triton.language as tl


@triton.jit
def softmax_with_temperature(y_ptr, x_ptr, temperature_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    t = tl.load(temperature_ptr + row)
    x = tl.load(x_ptr + row * n + o, mask=o < n, other=-float("inf")).to(tl.float32) / t
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * n + o, e / tl.sum(e, axis=0), mask=o < n)


@triton.jit
def greedy(token_ptr, logit_ptr, x_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    best = tl.full((), float("-inf"), tl.float32)
    where = 0
    for start in range(0, n, BLOCK):
        o = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + o, mask=o < n, other=float("-inf"))
        value, index = tl.max(x, axis=0, return_indices=True)
        if value > best:
            best = value
            where = start + index
    tl.store(token_ptr + row, where)
    tl.store(logit_ptr + row, best)


@triton.jit
def penalize(x_ptr, seen_ptr, penalty, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    mask = o < n
    x = tl.load(x_ptr + row * n + o, mask=mask, other=0.0)
    seen = tl.load(seen_ptr + row * n + o, mask=mask, other=0) > 0
    x = tl.where(seen, tl.where(x > 0, x / penalty, x * penalty), x)
    tl.store(x_ptr + row * n + o, x, mask=mask)


@triton.jit
def min_p_filter(y_ptr, p_ptr, min_p, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    p = tl.load(p_ptr + row * n + o, mask=o < n, other=0.0)
    kept = tl.where(p >= min_p * tl.max(p, 0), p, 0.0)
    tl.store(y_ptr + row * n + o, kept / tl.sum(kept, 0), mask=o < n)


@triton.jit
def sort_rows(y_ptr, x_ptr, n, descending: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + o, mask=o < n, other=float("-inf") if descending else float("inf"))
    tl.store(y_ptr + row * n + o, tl.sort(x, descending=descending), mask=o < n)


@triton.jit
def sort_indices(index_ptr, x_ptr, n, BLOCK: tl.constexpr):
    """Key and index in one integer of 64 bits."""
    row = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + o, mask=o < n, other=2147483647)
    key = (x.to(tl.int64) << 32) | o.to(tl.int64)
    key = tl.sort(key, 0)
    tl.store(index_ptr + row * n + o, (key & 0xFFFFFFFF).to(tl.int32), mask=o < n)


@triton.jit
def top_k_gating(weight_ptr, expert_ptr, x_ptr, n, K: tl.constexpr, RENORMALIZE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + o, mask=o < n, other=float("-inf"))
    p = tl.where(o < n, tl.exp(x - tl.max(x)), 0.0)
    p = p / tl.sum(p)
    total = 0.0
    for k in tl.static_range(K):
        best = tl.max(p, axis=0)
        index = tl.argmax(p, axis=0)
        tl.store(weight_ptr + row * K + k, best)
        tl.store(expert_ptr + row * K + k, index)
        total += best
        p = tl.where(o == index, -1.0, p)
    if RENORMALIZE:
        ks = tl.arange(0, triton.next_power_of_2(K))
        tl.debug_barrier()
        w = tl.load(weight_ptr + row * K + ks, mask=ks < K)
        tl.store(weight_ptr + row * K + ks, w / total, mask=ks < K)


@triton.jit
def dropout(y_ptr, x_ptr, p, seed, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + o, mask=o < n)
    keep = tl.rand(seed, o) > p
    tl.store(y_ptr + o, tl.where(keep, x / (1 - p), 0.0), mask=o < n)


@triton.jit
def decode_attention(out_ptr, q_ptr, k_ptr, v_ptr, scale, n, D: tl.constexpr, BLOCK_N: tl.constexpr):
    """One query per program, over n keys of its own; products by multiply and sum."""
    row = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + row * D + d)
    acc = tl.zeros([D], dtype=tl.float32)
    m = float("-inf")
    l = 0.0
    for start in range(0, n, BLOCK_N):
        i = start + tl.arange(0, BLOCK_N)
        offs = (row * n + i[:, None]) * D + d[None, :]
        k = tl.load(k_ptr + offs, mask=i[:, None] < n, other=0.0)
        s = tl.sum(q[None, :] * k, 1) * scale
        s = tl.where(i < n, s, float("-inf"))
        m_new = tl.maximum(tl.max(s, 0), m)
        alpha = tl.exp(m - m_new)
        p = tl.exp(s - m_new)
        v = tl.load(v_ptr + offs, mask=i[:, None] < n, other=0.0)
        acc = acc * alpha + tl.sum(p[:, None] * v, 0)
        l = l * alpha + tl.sum(p, 0)
        m = m_new
    tl.store(out_ptr + row * D + d, acc / l)


@triton.jit
def transpose(y_ptr, x_ptr, rows, cols, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    r = pid * BLOCK + tl.arange(0, BLOCK)
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + r[:, None] * cols + c[None, :], mask=(r[:, None] < rows) & (c[None, :] < cols))
        tl.store(y_ptr + c[:, None] * rows + r[None, :], x.trans(), mask=(c[:, None] < cols) & (r[None, :] < rows))


# --- scans


@triton.jit
def running_sum(y_ptr, x_ptr, n, REVERSE: tl.constexpr, BLOCK: tl.constexpr):
    """A row in blocks, what came before carried along."""
    row = tl.program_id(0)
    carry = 0.0
    blocks = tl.cdiv(n, BLOCK)
    for i in range(blocks):
        block = blocks - 1 - i if REVERSE else i
        o = block * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + o, mask=o < n, other=0.0).to(tl.float32)
        y = tl.cumsum(x, axis=0, reverse=REVERSE) + carry
        carry += tl.sum(x, axis=0)
        tl.store(y_ptr + row * n + o, y, mask=o < n)


@triton.jit
def _gated_step(a_left, b_left, a_right, b_right):
    return a_left * a_right, b_left * a_right + b_right


@triton.jit
def gated_recurrence(h_ptr, a_ptr, x_ptr, n, BLOCK: tl.constexpr):
    """h[t] = a[t] h[t - 1] + x[t]."""
    row = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    a = tl.load(a_ptr + row * n + o, mask=o < n, other=1.0)
    x = tl.load(x_ptr + row * n + o, mask=o < n, other=0.0)
    _, h = tl.associative_scan((a, x), 0, _gated_step)
    tl.store(h_ptr + row * n + o, h, mask=o < n)


@triton.jit
def _larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def running_max(y_ptr, x_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + o, mask=o < n, other=float("-inf"))
    tl.store(y_ptr + row * n + o, tl.associative_scan(x, 0, _larger), mask=o < n)


@triton.jit
def slots_of_mask(slot_ptr, count_ptr, mask_ptr, n, BLOCK: tl.constexpr):
    """Where each chosen element goes: an exclusive sum of the mask."""
    row = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    chosen = tl.load(mask_ptr + row * n + o, mask=o < n, other=0).to(tl.int32)
    slot = tl.cumsum(chosen, 0) - chosen
    tl.store(slot_ptr + row * n + o, tl.where(chosen != 0, slot, -1), mask=o < n)
    tl.store(count_ptr + row, tl.sum(chosen))


@triton.jit
def top_p_filter(y_ptr, p_ptr, top_p, n, BLOCK: tl.constexpr):
    """Keeps the most likely tokens until they make up top_p."""
    row = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    p = tl.load(p_ptr + row * n + o, mask=o < n, other=0.0)
    ranked = tl.sort(p, descending=True)
    before = tl.cumsum(ranked, 0) - ranked
    threshold = tl.min(tl.where(before < top_p * tl.sum(p), ranked, float("inf")), 0)
    tl.store(y_ptr + row * n + o, tl.where(p >= threshold, p, 0.0), mask=o < n)
