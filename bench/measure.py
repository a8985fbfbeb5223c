"""How a workload is measured: every variant of every peer writes the same buffers, is checked against
a reference in double precision, and is tried a few times; then the best of each peer take turns,
launch by launch, with the L2 cache flushed before each."""
import statistics
import time

import torch

FLUSH_BYTES = 256 << 20
ROUNDS = 5
PIECE = 1 << 27  # elements of the reference in a tensor


class Variant:
    """One way to compute a workload. `launch` writes the output, or returns it."""

    def __init__(self, peer, settings, launch, checked=True, **facts):
        self.peer, self.settings, self.launch, self.checked, self.facts = peer, settings, launch, checked, facts
        self.error = None

    def record(self, times):
        mid = [statistics.median(t) for t in times]
        return {"peer": self.peer, "settings": self.settings, "us": round(statistics.median(mid), 3),
                "us_least": round(min(mid), 3), "us_most": round(max(mid), 3), "error_of_bound": self.error and round(self.error, 4), **self.facts}


class HostEvent:
    """Stands in for a CUDA event in a rehearsal on cpu."""

    def record(self):
        self.at = time.perf_counter()

    def elapsed_time(self, later):
        return (later.at - self.at) * 1e3


class Meter:
    def __init__(self, device="cuda"):
        self.device, self.problems = device, []
        self.flush = torch.empty(FLUSH_BYTES if device == "cuda" else 1, dtype=torch.int8, device=device)
        for i in range(3000 if device == "cuda" else 0):  # some 0.3 s, for the clocks to rise
            self.flush.fill_(i % 2)

    def synchronize(self):
        if self.device == "cuda":
            torch.cuda.synchronize()

    def event(self):
        return torch.cuda.Event(enable_timing=True) if self.device == "cuda" else HostEvent()

    def times(self, variants, rounds, runs):
        """Microseconds by variant and round; the variants take turns within a round."""
        pairs = [[[(self.event(), self.event()) for _ in range(runs)] for _ in range(rounds)] for _ in variants]
        for r in range(rounds):
            for i in range(runs):
                for v, events in zip(variants, pairs):
                    start, end = events[r][i]
                    self.flush.fill_(i)
                    start.record()
                    v.launch()
                    end.record()
            self.synchronize()
        return [[[s.elapsed_time(e) * 1e3 for s, e in some] for some in events] for events in pairs]

    def references(self, workload, values):
        """[(some rows, exact result, allowed error)], in pieces."""
        n = workload.output(values).shape[0]
        step = max(1, PIECE // max(1, values["x"].numel() // n))
        parts = [slice(first, min(n, first + step)) for first in range(0, n, step)]
        return [(part, *workload.reference(values, part)) for part in parts]

    def check(self, out, references, variant):
        """The largest error as a fraction of what is allowed; infinite for NaN or what was not written."""
        out.fill_(float("nan"))
        torch.full_like(out, float("nan"))  # what a function that returns its output will get
        got = variant.launch()
        self.synchronize()
        got, worst = got if isinstance(got, torch.Tensor) else out, 0.0
        for part, want, bound in references:
            if got.dtype != out.dtype:  # torch's loss of 16-bit logits has 16 bits
                bound = bound + want.abs() * torch.finfo(got.dtype).eps
            error = (got[part].double().sub_(want).abs_().div_(bound)).max().item()
            worst = max(worst, float("inf") if error != error else error)
        return worst

    def run(self, workload, values, variants):
        """Measures; returns the records of all that are right, the trial runs of the others with them."""
        right, references = [], self.references(workload, values)
        for v in variants:
            try:
                if v.checked:
                    v.error = self.check(workload.output(values), references, v)
                else:
                    v.launch()
            except Exception as e:  # a kernel that does not fit, a form that a peer cannot run
                self.problems.append(f"{workload.name} {v.peer} {v.settings}: {str(e)[:200]}")
                continue
            # A peer may compute a little less exactly than we promise; it is told with its error.
            if v.checked and not v.error <= (1 if v.peer == "tile" else 64):
                self.problems.append(f"{workload.name} {v.peer} {v.settings}: wrong, {v.error:.4g} of the allowed error")
                continue
            right.append(v)
        del references
        tried = dict(zip(right, self.times(right, 1, 7)))
        us = {v: statistics.median(t[0]) for v, t in tried.items()}
        final = []
        for peer in dict.fromkeys(v.peer for v in right):
            mine = sorted((v for v in right if v.peer == peer), key=us.get)
            final += [v for v in mine[:2] if us[v] < 1.03 * us[mine[0]]]
        longest = max(us.values(), default=0)
        runs = max(3, min(12, int(2500 / (longest + 100))))
        done = dict(zip(final, self.times(final, ROUNDS, runs)))
        return [v.record(done[v]) for v in final], [v.record(tried[v]) for v in right if v not in done]
