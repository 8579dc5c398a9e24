"""Features that bend, once more: plain Python, written from docs/algorithms/shapes.md.

Sums are in the order that is written there, the newest row first. `bug` is a mistake to make.
"""

from __future__ import annotations

import math

from keyhole.core.numbers import log

BINS, THIN, FEWEST = 6, 64, 64
BUGS = (
    "lines bend",
    "older and newer reads need not agree",
    "errors are cut off at one standard deviation",
    "a frequent value has no bin",
    "what was found is not taken out",
    "features that bend by chance are kept",
    "lines that say more do not matter",
)


def total(values: list[float]) -> float:
    found = 0.0
    for value in values:
        found += value
    return found


def bins_of(values: list[float], bug: str = "") -> tuple[list[int], int]:
    """The bin of each value, the newest first, and how many bins there are."""
    n = min(len(values), THIN)
    h = sorted(values[i * len(values) // n] for i in range(n))
    often = max(h.count(value) for value in h)
    mode = min(value for value in h if h.count(value) == often)
    apart = often > 0.3 * n and bug != "a frequent value has no bin"
    rest, parts = ([v for v in h if v != mode], BINS - 1) if apart else (h, BINS)
    cuts = list[float]()
    for q in range(1, parts) if rest else []:
        cut = rest[q * len(rest) // parts]
        if cut > (cuts[-1] if cuts else rest[0]):
            cuts.append(cut)
    own = len(cuts) + 1
    bins = [own if apart and v == mode else sum(v >= cut for cut in cuts) for v in values]
    return bins, own + apart


class Reads:
    """The reads of one feature, the newest first: in which rows, which values, in which bins."""

    def __init__(self, rows: list[int], values: list[float], bug: str) -> None:
        self.rows, self.values, self.bug, self.bends = rows, values, bug, True
        self.bin, self.bins = bins_of(values, bug)

    def line(self, labels: list[float]) -> float:
        """What a line explains of the label."""
        n, y = float(len(self.rows)), [labels[i] for i in self.rows]
        v = [value - self.values[0] for value in self.values]
        x, s = total(v), total(y)
        along = total([a * b for a, b in zip(v, y, strict=True)]) - x * (s / n)
        return along * along / (total([a * a for a in v]) - x * (x / n)) / n

    def worth(self, e: list[float], z: float) -> tuple[float, list[float]]:
        """What bins explain beyond a line, and what each of them adds."""
        n, here = float(len(self.rows)), [e[i] for i in self.rows]
        v = [value - self.values[0] for value in self.values]
        middle, mean = total(v) / n, total(here) / n
        xx = total([a * a for a in v])
        spread = xx - n * middle * middle
        if self.bins < 3 or not spread > 1e-9 * xx:
            return 0.0, []
        along = total([a * b for a, b in zip(v, here, strict=True)]) - n * middle * mean
        slope = along / spread
        left = total([a * a for a in here]) - n * mean * mean - along * slope
        S, X, N = ([0.0] * self.bins for _ in range(3))
        for b, a, x in zip(self.bin, here, v, strict=True):
            S[b] += a
            X[b] += x
            N[b] += 1.0
        straight = 0.0 if self.bug == "lines bend" else slope
        there, bent = [b for b in range(self.bins) if N[b] > 0.0], 0.0
        for b in there:
            beyond = S[b] - N[b] * mean - straight * (X[b] - N[b] * middle)
            bent += beyond * beyond / N[b]
        if len(there) < 3:
            return 0.0, []
        f = float(len(there) - 2)
        share = 2.0 / (9.0 * f)
        root = 1.0 - share + z * math.sqrt(share)
        bound = 0.0 if "by chance" in self.bug else f * root * root * root
        if not (left - bent) * bound < bent * (n - float(len(there))):
            return 0.0, []
        half, many = ([[0.0] * self.bins for _ in range(2)] for _ in range(2))
        for i, b in enumerate(self.bin):
            newer = i < len(self.bin) // 2
            half[newer][b] += here[i] - mean - straight * (v[i] - middle)
            many[newer][b] += 1.0
        agreed = 0.0
        for b in range(self.bins):
            if many[0][b] > 0.0 and many[1][b] > 0.0:
                agreed += half[0][b] * half[1][b] / max(many[0][b], many[1][b])
        if not agreed >= 0.25 * bent and self.bug != "older and newer reads need not agree":
            return 0.0, []
        adds = [(S[b] - N[b] * mean) / (N[b] + 4.0) for b in range(self.bins)]
        return bent / n, adds


def find_bent(
    rows: list[dict[int, float]],
    missed: list[float],
    labels: list[float],
    d: int,
    seats: int,
    bug: str = "",
) -> list[int]:
    """The features that bend, the strongest first, of rows with the newest first."""
    e, mean = list(missed), total(missed) / len(missed)
    e = [a - mean for a in e]
    far = 1.0 if bug == "errors are cut off at one standard deviation" else 3.0
    far *= math.sqrt(total([a * a for a in e]) / len(e))
    e = [max(min(a, far), -far) for a in e]
    features = {}
    for j in range(d):
        there = [i for i, row in enumerate(rows) if j in row]
        if len(there) >= FEWEST:
            features[j] = Reads(there, [rows[i][j] for i in there], bug)
    z, found = math.sqrt(2.0 * log(max(float(d), 2.0))) + 1.0, list[int]()
    while len(found) < seats:
        most, best, taken = 0.0, -1, list[float]()
        for j, reads in features.items():
            if not reads.bends:
                continue
            gain, adds = reads.worth(e, z)
            judged = bool(found) or bug == "lines that say more do not matter"
            reads.bends = gain > 0.0 and (judged or gain > 4.0 * reads.line(labels))
            if reads.bends and gain > most:
                most, best, taken = gain, j, adds
        if best < 0:
            break
        reads = features[best]
        if bug != "what was found is not taken out":
            for i, b in zip(reads.rows, reads.bin, strict=True):
                e[i] -= taken[b]
        reads.bends = False
        found.append(best)
    return found
