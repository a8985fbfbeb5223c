"""From a result of run.py to a line of text per workload, and to the Markdown page. By itself:

    python3 bench/report.py bench/results/NAME.json     prints NAME.md anew
"""
import json
import os
import sys

PEERS = ("triton", "torch", "torch.compile")
GROUPS = [("softmax", "Softmax"), ("vector_add", "Vector add"), ("rmsnorm", "RMSNorm"), ("layernorm", "LayerNorm, forward"),
          ("cross_entropy", "Cross-entropy, forward")]


def best(records, peers):
    """The fastest record of some peers, or None."""
    return min((r for r in records if r["peer"] in peers), key=lambda r: r["us"], default=None)


def judge(row):
    """(ratio to the best peer, ratio to copy, goal in words, met or None if there is none). Ratios are
    of throughput: above 1, ours is faster."""
    ours, peer, copy = (best(row["final"], p) for p in (("tile",), PEERS, ("copy",)))
    to_peer = peer["us"] / ours["us"] if ours and peer else None
    to_copy = copy["us"] / ours["us"] if ours and copy else None
    goal_peer, goal_copy = row["goal"]
    if goal_peer:
        return to_peer, to_copy, f"≥ {goal_peer:.2f} × peer", to_peer is not None and to_peer >= goal_peer
    if goal_copy:
        return to_peer, to_copy, f"≥ {goal_copy:.2f} of copy", to_copy is not None and to_copy >= goal_copy
    return to_peer, to_copy, "", None


def gbs(row, record):
    return row["bytes"] / record["us"] * 1e-3


def verdict(row):
    """'met', or by how much it falls short; '' without a goal."""
    to_peer, to_copy, _, met = judge(row)
    if met is None:
        return ""
    have, want = (to_peer, row["goal"][0]) if row["goal"][0] else (to_copy, row["goal"][1])
    return "met" if met else f"**short by {(1 - have / want) * 100:.1f} %**" if have else "**no right result of ours**"


def number(x, digits=3):
    return "–" if x is None else f"{x:.{digits}f}"


def line(row):
    ours, peer = best(row["final"], ("tile",)), best(row["final"], PEERS)
    to_peer, to_copy, goal, _ = judge(row)
    return (f"{row['name']:32} {ours['us'] if ours else 0:9.2f} us {gbs(row, ours) if ours else 0:6.0f} GB/s  "
            f"peer {number(to_peer)} copy {number(to_copy)}  {goal} {verdict(row).replace('*', '')} | "
            f"{ours['settings'] if ours else 'nothing'} | {peer['peer'] + ' ' + peer['settings'] if peer else 'no peer'}")


def speed(row, record):
    """GB/s, with what the slowest and the fastest round gave."""
    if not record:
        return "–"
    return f"{gbs(row, record):.0f} [{row['bytes'] / record['us_most'] * 1e-3:.0f} {row['bytes'] / record['us_least'] * 1e-3:.0f}]"


def table(rows):
    out = ["| dtype | shape | tile µs | tile GB/s | Triton GB/s | torch GB/s | torch.compile GB/s | copy GB/s | tile / best peer | tile / copy | goal | |",
           "|---|---|---|---|---|---|---|---|---|---|---|---|"]
    for row in rows:
        ours = best(row["final"], ("tile",))
        to_peer, to_copy, goal, _ = judge(row)
        shape = str(row["cols"]) if row["op"] == "vector_add" else f"{row['rows']} × {row['cols']}"
        cells = [row["dtype"], shape, number(ours and ours["us"], 2), speed(row, ours)]
        cells += [speed(row, best(row["final"], (p,))) for p in (*PEERS, "copy")]
        cells += [number(to_peer), number(to_copy), goal, verdict(row)]
        out.append("| " + " | ".join(cells) + " |")
    return out


def settings(rows):
    out = ["| workload | tile | registers | spilled | error / allowed | Triton | copy |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        ours, triton, copy = (best(row["final"], (p,)) for p in ("tile", "triton", "copy"))
        out.append(f"| {row['name']} | " + (f"{ours['settings']} | {ours['registers']} | {ours['spill_bytes']} | {number(ours['error_of_bound'], 2)}"
                   if ours else "– | – | – | –") + f" | {triton['settings'] if triton else '–'} | {copy['settings'] if copy else '–'} |")
    return out


def against(what, have, goal, unit):
    return f"| {what} | {have:g} {unit} | ≤ {goal:g} {unit} | {'met' if have <= goal else f'**short by {have - goal:.4g} {unit}**'} |"


def around(r):
    """Process start, compile time and launches, with their goals."""
    out = []
    head = ["| | measured | goal | |", "|---|---|---|---|"]
    start = r.get("process_start", {})
    if start:
        out += ["", "## From the start of a process to its first verified result", "",
                "Softmax of 64 × 1000 fp32. Wall time of the whole process, median [least, most].", "", "| | ms |", "|---|---|"]
        out += [f"| {k} | {v['ms']} [{v['least']} {v['most']}] |" for k, v in start.items()]
        bare = start.get("driver and context alone")
        if bare and "tile, no caches" in start and "tile, warm cache" in start:
            out += [""] + head + [against("no caches", start["tile, no caches"]["ms"], round(bare["ms"] + 60, 1), "ms"),
                                  against("warm cache", start["tile, warm cache"]["ms"], round(bare["ms"] + 5, 1), "ms")]
    if "variant_tile" in r:
        out += ["", "## One more variant, source to loaded function", "",
                "One-row softmax fp32 in a process that has compiled before, no caches; median [least, most] over BLOCK × num_warps.", "", "| | ms |", "|---|---|"]
        out += [f"| {n} | {r[k]['ms']} [{r[k]['least']} {r[k]['most']}] |" for n, k in (("tile", "variant_tile"), ("Triton", "variant_triton")) if k in r]
        out += [""] + head + [against("tile", r["variant_tile"]["ms"], 25, "ms")]
    launch = r.get("launch", {})
    if launch:
        out += ["", "## Host time per launch", "", "Batches of 200 launches between synchronizations, median [least, most] of the batches.", "", "| | ns |", "|---|---|"]
        out += [f"| {k} | {v['ns']} [{v['least']} {v['most']}] |" for k, v in launch.items()]
        raw = launch["cuLaunchKernel"]["ns"]
        out += [""] + head + [against(k, launch[k]["ns"], raw + more, "ns") for k, more in (("tile_launch", 400), ("tile_launch, bound", 150)) if k in launch]
    return out


def remarks(r):
    out = ["", "## Failures", ""] + [f"- {f}" for f in r["failures"]] if r["failures"] else []
    return out + (["", f"**Left out for lack of time**: {', '.join(r['left_out'])}."] if r["left_out"] else [])


def markdown(r, name):
    smi = r.get("nvidia_smi", {})
    goals = [row for row in r["rows"] if judge(row)[3] is not None]
    short = [row for row in goals if not judge(row)[3]]
    out = [f"# Side by side, {name}", "",
           f"{r['device']}, driver {smi.get('driver_version', '–')}, CUDA {r.get('cuda', '–')}, "
           f"torch {r['torch']}, triton {r['triton']}; {r['date']}; commit {r['commit'] or '–'}. Clocks before the run: SM "
           f"{smi.get('clocks.sm', '–')} of {smi.get('clocks.max.sm', '–')}, memory {smi.get('clocks.mem', '–')}; power limit {smi.get('power.limit', '–')}.", "",
           f"Made by `python3 {r['command']}` in {r.get('seconds', 0):.0f} s; {name}.json has every variant.", "",
           "**Method.** One process, the same buffers for all. Each variant writes over NaN and is compared with a reference in double precision: "
           "softmax within the bound of docs/accuracy.md, the others within a few roundings of what is added up (bench/workloads.py). All variants of a peer are tried "
           f"7 times, the best (and a second within 3 %) go on. These take turns launch by launch, {r['rounds']} rounds of 3 to 12 launches each, a fill of 256 MiB "
           "flushing the L2 cache before every launch; time between CUDA events. Reported: the median of the rounds' medians [slowest round, fastest round]. "
           "GB/s counts every input read once and every output written once. *Triton*: one row per program with num_warps 1 to 32, persistent programs (8 warps, 4 stages or the "
           "2 that fit, grid by occupancy), online in blocks for rows over 4096 (beyond 65536 alone: one block spills, and takes three times as long). *Ours*: the one launch that examples/ picks for the shape (`--plan`), not swept. *Copy*: the better of cuMemcpyDtoD "
           "and our own kernel of 16-byte accesses, as many bytes in all, half read and half written. torch.compile (dynamic=False) at some shapes only.", "",
           f"**Goals**: {len(goals) - len(short)} of {len(goals)} met." + (" Short: " + ", ".join(
               f"{row['name']} ({verdict(row).strip('*')})" for row in short) + "." if short else "")]
    for title, rows in [("The table of goals", [w for w in r["rows"] if w["table"]])] + [
            (t, [w for w in r["rows"] if w["op"] == op and not w["table"]]) for op, t in GROUPS]:
        if rows:
            out += ["", f"## {title}", ""] + table(rows)
    out += around(r)
    out += remarks(r)
    out += ["", "## Settings", "", "Of ours: what the example picked, registers and spilled bytes of a thread, and the largest error as a fraction of what is allowed.", ""] + settings(r["rows"])
    return "\n".join(out) + "\n"


def is_wrong(r):
    """Whether one of our results is missing: it was wrong, or did not run."""
    return any(best(row["final"], ("tile",)) is None for row in r["rows"]) or any("plan of" in f for f in r["failures"])


if __name__ == "__main__":
    with open(sys.argv[1]) as f:
        sys.stdout.write(markdown(json.load(f), os.path.basename(sys.argv[1])[:-len(".json")]))
