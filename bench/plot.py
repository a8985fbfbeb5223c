"""Draws a result of run.py: throughput over the length of a row (or of a vector), one SVG for each
operation and type. Nothing but the standard library.

    python3 bench/plot.py bench/results/NAME.json docs/plots
"""
import json
import math
import os
import sys

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 400, 64, 130, 44, 52
# peer, label, colour, dash, width; drawn in this order
LINES = [("copy", "copy", "#9aa0a6", "2 4", 1.5), ("torch.compile", "torch.compile", "#b07aa1", "6 3", 1.8),
         ("torch", "torch", "#f28e2b", "", 1.8), ("triton", "Triton", "#4e79a7", "", 1.8), ("tile", "tile", "#d1242f", "", 2.6)]
TITLES = {"softmax": "softmax", "vector_add": "vector add", "rmsnorm": "RMSNorm", "layernorm": "LayerNorm forward",
          "cross_entropy": "cross-entropy forward"}


def series(rows, peer):
    """(length, GB/s) of the fastest variant of a peer, by length."""
    points = {}
    for row in rows:
        us = [r["us"] for r in row["final"] if r["peer"] == peer]
        if us:
            points[row["cols"]] = row["bytes"] / min(us) * 1e-3
    return sorted(points.items())


def nice_step(top):
    """A round step that gives four to eight lines below `top`."""
    for step in (1, 2, 5, 10, 20, 50, 100, 200, 250, 500, 1000):
        if top / step <= 8:
            return step
    return 2000


def length_label(k):
    return str(1 << k) if k < 10 else f"{1 << (k - 10)}K" if k < 20 else f"{1 << (k - 20)}M"


def draw(rows, title):
    lines = [(label, colour, dash, width, series(rows, peer)) for peer, label, colour, dash, width in LINES]
    points = [p for line in lines for p in line[4]]
    low, high = math.log2(min(p[0] for p in points)), math.log2(max(p[0] for p in points))
    high = max(high, low + 1)
    top = max(p[1] for p in points)
    step = nice_step(top)
    top = step * math.ceil(top / step)

    def x(n):
        return LEFT + (math.log2(n) - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def y(v):
        return HEIGHT - BOTTOM - v / top * (HEIGHT - TOP - BOTTOM)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="Helvetica, Arial, DejaVu Sans, sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
           f'<text x="{LEFT}" y="24" font-size="15" font-weight="bold" fill="#1f2328">{title}</text>',
           f'<text x="16" y="{(TOP + HEIGHT - BOTTOM) / 2:.0f}" fill="#57606a" text-anchor="middle" '
           f'transform="rotate(-90 16 {(TOP + HEIGHT - BOTTOM) / 2:.0f})">GB/s</text>',
           f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 12}" fill="#57606a" text-anchor="middle">elements</text>']
    v = 0
    while v <= top:
        out.append(f'<line x1="{LEFT}" y1="{y(v):.1f}" x2="{WIDTH - RIGHT}" y2="{y(v):.1f}" stroke="#e4e7eb"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y(v) + 4:.1f}" text-anchor="end" fill="#57606a">{v}</text>')
        v += step
    every = 2 if high - low > 12 else 1
    for k in range(math.ceil(low), math.floor(high) + 1, every):
        out.append(f'<line x1="{x(1 << k):.1f}" y1="{HEIGHT - BOTTOM}" x2="{x(1 << k):.1f}" y2="{HEIGHT - BOTTOM + 5}" stroke="#8c959f"/>')
        out.append(f'<text x="{x(1 << k):.1f}" y="{HEIGHT - BOTTOM + 19}" text-anchor="middle" fill="#57606a">{length_label(k)}</text>')
    names = []
    for label, colour, dash, width, line in lines:
        if not line:
            continue
        path = " ".join(f"{x(n):.1f},{y(g):.1f}" for n, g in line)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-dasharray="{dash or "none"}" stroke-linejoin="round"/>')
        out += [f'<circle cx="{x(n):.1f}" cy="{y(g):.1f}" r="{width + .8:.1f}" fill="{colour}"><title>{label}: {n}, {g:.0f} GB/s</title></circle>' for n, g in line]
        names.append([y(line[-1][1]) + 4, label, colour])
    at = -math.inf
    for name in sorted(names):  # the labels keep a line's distance
        at = max(name[0], at + 15)
        out.append(f'<text x="{WIDTH - RIGHT + 10}" y="{at:.1f}" fill="{name[2]}" font-weight="bold">{name[1]}</text>')
    return "\n".join(out + ["</svg>", ""])


def main():
    with open(sys.argv[1]) as f:
        result = json.load(f)
    os.makedirs(sys.argv[2], exist_ok=True)
    for op, title in TITLES.items():
        for dtype in ("fp32", "bf16"):
            rows = [r for r in result["rows"] if r["op"] == op and r["dtype"] == dtype and (op == "vector_add" or r["rows"] == 4096)]
            if len({r["cols"] for r in rows}) < 4:
                continue
            shape = "" if op == "vector_add" else ", 4096 rows"
            with open(os.path.join(sys.argv[2], f"{op}-{dtype}.svg"), "w") as f:
                f.write(draw(rows, f"{title}, {dtype}{shape} · {result['device']}"))


if __name__ == "__main__":
    main()
