"""Losses, optimizers and embeddings."""
try:
    import triton
    import triton.language as tl
    HAS_TRITON = True
except ImportError:
    triton = tl = None
    HAS_TRITON = False

if HAS_TRITON:

    @triton.jit
    def online_logsumexp(x_ptr, n_cols, softcap, HAS_SOFTCAP: tl.constexpr, BLOCK: tl.constexpr):
        m = float("-inf")
        d = 0.0
        for i in range(0, n_cols, BLOCK):
            cols = i + tl.arange(0, BLOCK)
            x = tl.load(x_ptr + cols, mask=cols < n_cols, other=float("-inf")).cast(tl.float32)
            if HAS_SOFTCAP:
                x = tl.where(cols < n_cols, softcap * (2 * tl.sigmoid(2 * x / softcap) - 1), x)
            m_new = tl.maximum(m, tl.max(x))
            d = d * tl.exp(m - m_new) + tl.sum(tl.exp(x - m_new))
            m = m_new
        return m + tl.log(d)

    @triton.jit
    def cross_entropy(
        loss_ptr,
        x_ptr,
        y_ptr,
        n_cols,
        softcap,
        ignore_index: tl.constexpr,
        label_smoothing: tl.constexpr,
        HAS_SOFTCAP: tl.constexpr,
        BLOCK: tl.constexpr,
    ):
        """The loss of a row; the logits become their gradient."""
        row = tl.program_id(0).to(tl.int64)
        y = tl.load(y_ptr + row)
        x_ptr += row * n_cols
        if y == ignore_index:
            for i in range(0, n_cols, BLOCK):
                offs = i + tl.arange(0, BLOCK)
                tl.store(x_ptr + offs, 0.0, mask=offs < n_cols)
            tl.store(loss_ptr + row, 0.0)
            return
        lse = online_logsumexp(x_ptr, n_cols, softcap, HAS_SOFTCAP, BLOCK)
        x_y = tl.load(x_ptr + y).to(tl.float32)
        if HAS_SOFTCAP:
            x_y = softcap * (2 * tl.sigmoid(2 * x_y / softcap) - 1)
        eps = label_smoothing / n_cols
        smooth = 0.0
        tl.debug_barrier()
        for i in range(0, n_cols, BLOCK):
            offs = i + tl.arange(0, BLOCK)
            x = tl.load(x_ptr + offs, mask=offs < n_cols, other=0.0).to(tl.float32)
            slope = 1.0
            if HAS_SOFTCAP:
                t = 2 * tl.sigmoid(2 * x / softcap) - 1
                x = softcap * t
                slope = 1 - t * t
            if label_smoothing > 0:
                smooth += tl.sum(tl.where(offs < n_cols, -eps * x, 0.0))
            g = tl.exp(x - lse) - eps
            g = tl.where(offs != y, g, g - (1 - label_smoothing)) * slope
            tl.store(x_ptr + offs, g, mask=offs < n_cols)
        loss = lse - x_y
        if label_smoothing > 0:
            loss = loss * (1 - label_smoothing) + smooth + label_smoothing * lse
        tl.store(loss_ptr + row, loss)

    @triton.jit
    def kl_divergence(out_ptr, p_ptr, q_ptr, n_cols, BLOCK: tl.constexpr, LOG_TARGET: tl.constexpr = False):
        pid = tl.program_id(0)
        total = tl.zeros((BLOCK,), dtype=tl.float32)
        for i in range(0, n_cols, BLOCK):
            o = i + tl.arange(0, BLOCK)
            y = tl.load(p_ptr + pid * n_cols + o, mask=o < n_cols, other=float("-inf"))
            t = tl.load(q_ptr + pid * n_cols + o, mask=o < n_cols, other=float("-inf") if LOG_TARGET else 0.0)
            if not LOG_TARGET:
                part = t * (tl.log(tl.maximum(t, 1e-10)) - y)
            else:
                part = tl.exp(t) * (t - y)
            total += tl.where(o < n_cols, part, 0.0)
        tl.store(out_ptr + pid, tl.sum(total, axis=0))

    @triton.jit
    def jensen_shannon(loss_ptr, x_ptr, y_ptr, dx_ptr, beta, n, BLOCK: tl.constexpr):
        row = tl.program_id(0)
        o = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + o, mask=o < n, other=float("-inf"))
        y = tl.load(y_ptr + row * n + o, mask=o < n, other=float("-inf"))
        q, p = tl.exp(x), tl.exp(y)
        m = beta * p + (1 - beta) * q
        log_m = tl.log(tl.where(o < n, m, 1.0))
        loss = beta * p * tl.where(o < n, y - log_m, 0.) + (1 - beta) * q * tl.where(o < n, x - log_m, 0.)
        tl.store(loss_ptr + row * n + o, loss, mask=o < n)
        tl.store(dx_ptr + row * n + o, (1 - beta) * q * (x - log_m), mask=o < n)

    @triton.jit
    def total_variation(loss_ptr, p_ptr, q_ptr, n, BLOCK: tl.constexpr):
        row = tl.program_id(0)
        o = tl.arange(0, BLOCK)
        p = tl.load(p_ptr + row * n + o, mask=o < n, other=0.0)
        q = tl.load(q_ptr + row * n + o, mask=o < n, other=0.0)
        tl.store(loss_ptr + row, 0.5 * tl.sum(tl.abs(p - q)))

    @triton.jit
    def binary_loss(loss_ptr, x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        row = tl.program_id(0)
        o = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + o, mask=o < n)
        y = tl.load(y_ptr + row * n + o, mask=o < n)
        l = tl.where(x > 0, x, 0.0) - tl.where(y, x, 0.0) + tl.log(1 + tl.exp(-tl.abs(x)))
        tl.atomic_add(loss_ptr, tl.sum(tl.where(o < n, l, 0.0)) / n)

    # --- optimizers

    @triton.jit
    def adamw(p_ptr, g_ptr, m_ptr, v_ptr, lr, beta1, beta2, eps, weight_decay, correction1, correction2, N, BLOCK: tl.constexpr):
        o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = o < N
        p = tl.load(p_ptr + o, mask=mask)
        g = tl.load(g_ptr + o, mask=mask).to(tl.float32)
        m = tl.load(m_ptr + o, mask=mask)
        v = tl.load(v_ptr + o, mask=mask)
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        p *= 1 - lr * weight_decay
        p -= lr * (m / correction1) / (tl.sqrt(v / correction2) + eps)
        tl.store(p_ptr + o, p, mask=mask)
        tl.store(m_ptr + o, m, mask=mask)
        tl.store(v_ptr + o, v, mask=mask)

    @triton.jit
    def sgd(p_ptr, g_ptr, buf_ptr, lr, momentum, n, NESTEROV: tl.constexpr, BLOCK: tl.constexpr):
        pid = tl.program_id(0)
        for start in tl.static_range(0, 2 * BLOCK, BLOCK):
            o = pid * 2 * BLOCK + start + tl.arange(0, BLOCK)
            mask = o < n
            g = tl.load(g_ptr + o, mask)
            buf = momentum * tl.load(buf_ptr + o, mask) + g
            tl.store(buf_ptr + o, buf, mask)
            step = g + momentum * buf if NESTEROV else buf
            tl.store(p_ptr + o, tl.load(p_ptr + o, mask) - lr * step, mask)

    @triton.jit
    def lion(p_ptr, g_ptr, m_ptr, lr, wd, beta1, beta2, n, BLOCK: tl.constexpr):
        o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = o < n
        p = tl.load(p_ptr + o, mask=mask) * (1 - lr * wd)
        g = tl.load(g_ptr + o, mask=mask)
        m = tl.load(m_ptr + o, mask=mask)
        update = beta1 * (m - g) + g
        can_update = update != 0
        sign = tl.where(update > 0, -lr, lr)
        tl.store(p_ptr + o, p + sign * can_update, mask=mask)
        tl.store(m_ptr + o, beta2 * (m - g) + g, mask=mask)

    @triton.jit
    def adagrad(p_ptr, g_ptr, s_ptr, lr, n, BLOCK: tl.constexpr, EPS: tl.constexpr = 1e-10):
        o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        g = tl.load(g_ptr + o, mask=o < n, other=0.0)
        s = tl.load(s_ptr + o, mask=o < n, other=1.0) + g * g
        tl.store(s_ptr + o, s, mask=o < n)
        p = tl.load(p_ptr + o, mask=o < n)
        tl.store(p_ptr + o, p - lr * g / (tl.sqrt(s) + EPS), mask=o < n)

    @triton.jit
    def clip_by_norm(g_ptr, max_norm, n, BLOCK: tl.constexpr):
        row = tl.program_id(0)
        squares = tl.zeros([BLOCK], dtype=tl.float32)
        for i in range(0, n, BLOCK):
            o = i + tl.arange(0, BLOCK)
            g = tl.load(g_ptr + row * n + o, mask=o < n, other=0.0)
            squares += g * g
        norm = tl.sqrt(tl.sum(squares))
        scale = 1.0 if norm <= max_norm else max_norm / norm
        for i in range(0, n, BLOCK):
            o = i + tl.arange(0, BLOCK)
            g = tl.load(g_ptr + row * n + o, mask=o < n)
            tl.store(g_ptr + row * n + o, g * scale, mask=o < n)

    @triton.autotune(
        configs=[
            triton.Config({"BLOCK": 64}, num_warps=4),
            triton.Config({"BLOCK": 1024}, num_warps=8, num_stages=2),
        ],
        key=["n"],
        reset_to_zero=None,
    )
    @triton.jit
    def moving_average(ema_ptr, x_ptr, decay, n, BLOCK: tl.constexpr):
        o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        e = tl.load(ema_ptr + o, mask=o < n)
        tl.store(ema_ptr + o, e + (1 - decay) * (tl.load(x_ptr + o, mask=o < n) - e), mask=o < n)

    # --- embeddings

    @triton.jit
    def embed(out_ptr, ids_ptr, table_ptr, dim, vocab, padding_idx, BLOCK: tl.constexpr):
        i = tl.program_id(0)
        token = tl.load(ids_ptr + i)
        o = tl.arange(0, BLOCK)
        inside = (token >= 0) & (token < vocab) & (token != padding_idx)
        row = tl.load(table_ptr + token * dim + o, mask=inside & (o < dim), other=0.0)
        tl.store(out_ptr + i * dim + o, row, mask=o < dim)

    @triton.jit
    def embed_backward(grad_ptr, ids_ptr, table_grad_ptr, dim, BLOCK: tl.constexpr):
        i = tl.program_id(0)
        token = tl.load(ids_ptr + i)
        for start in range(0, dim, BLOCK):
            o = start + tl.arange(0, BLOCK)
            g = tl.load(grad_ptr + i * dim + o, mask=o < dim, other=0)
            tl.atomic_add(table_grad_ptr + token * dim + o, g, mask=o < dim, sem="relaxed")

    @triton.jit
    def bag_mean(out_ptr, ids_ptr, table_ptr, dim, bag: tl.constexpr, BLOCK: tl.constexpr):
        i = tl.program_id(0)
        o = tl.arange(0, BLOCK)
        total = tl.zeros((BLOCK,), tl.float32)
        for k in tl.static_range(bag):
            token = tl.load(ids_ptr + i * bag + k)
            total += tl.load(table_ptr + token * dim + o, mask=o < dim, other=0.0)
        tl.store(out_ptr + i * dim + o, total / bag, mask=o < dim)
else:
    cross_entropy = None
    adamw = None
