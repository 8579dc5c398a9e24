"""The recipe of `Trackers`, one coverage and one step at a time, with ways to break it."""

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from keyhole.problem import Floats

HALF_LIVES, STEPS = 2 * (math.inf, 30.0, 5.0), (0.02, 0.4)  # the second time of errors over factors
PLACES = [(step, half) for step in STEPS for half in range(6)]


class Side:
    """Twelve trackers of its own, the weights of 24 experts, and theta."""

    def __init__(self, start: float) -> None:
        self.q = [start] * 12
        self.R, self.V, self.w = [0.0] * 24, 0.0, [1 / 24] * 24
        self.theta = 0.0


class Slow:
    """One coverage.

    Broken twins: `outer` = False leaves theta where it is; `ties` = False lets a label that is hit
    by an empty interval count as covered.
    """

    def __init__(self, coverage: float, *, outer: bool = True, ties: bool = True) -> None:
        self.alpha = 1.0 - coverage
        self.a = self.alpha / 2
        self.start = math.sqrt(math.pi / 2) * NormalDist().inv_cdf(1 - self.a)
        self.A, self.N, self.n = [0.0] * 6, [0.0] * 6, 0
        self.sides = {+1: Side(self.start), -1: Side(self.start)}
        self.both = [self.start] * 12
        self.outer, self.ties = outer, ties

    def units(self) -> list[float]:
        means = [A / N for A, N in zip(self.A, self.N, strict=True)]
        return [max(mean, 0.01 * means[h - h % 3]) for h, mean in enumerate(means)]

    def note(self, factor: float) -> dict[str, object]:
        """What is remembered: units, sayings of the experts, all together, and the raw edges."""
        if self.n == 0 or self.A[0] == 0.0:
            edge = 0.0 if self.n * self.alpha > 1 else math.inf
            return {"units": None, "edges": {+1: edge, -1: edge}, "factor": factor}
        s = [unit * (factor if h >= 3 else 1.0) for h, unit in enumerate(self.units())]
        more = 1.0
        if self.n < 400:
            more = math.exp(min((2 / math.pi * self.start**2 + 1) / (4 * self.n), 2.0))
        said, together, edges = {}, {}, {}
        for sign, side in self.sides.items():
            own = [q * s[h] for q, (_, h) in zip(side.q, PLACES, strict=True)]
            shared = [q * s[h] for q, (_, h) in zip(self.both, PLACES, strict=True)]
            said[sign] = own + shared
            together[sign] = sum(w * e for w, e in zip(side.w, said[sign], strict=True))
            edges[sign] = (together[sign] + math.sinh(side.theta) * sum(s) / 6) * more
        return {"units": s, "said": said, "together": together, "edges": edges, "factor": factor}

    def learn(
        self, note: dict[str, object], r: float, missed: dict[int, bool], gain: float
    ) -> None:
        s = note["units"]
        if s is not None:
            assert isinstance(s, list)
            first = min(0.5, 1 / (self.n + 1))
            for sign, side in self.sides.items():
                side.theta += gain * (missed[sign] - self.a) if self.outer else 0.0
                self._reweigh(side, note["said"][sign], note["together"][sign], sign * r)  # type: ignore[index]
                for k, (step, h) in enumerate(PLACES):
                    side.q[k] += max(step, first) * ((sign * r > side.q[k] * s[h]) - self.a)
            for k, (step, h) in enumerate(PLACES):
                self.both[k] += max(step, first) * ((abs(r) > self.both[k] * s[h]) - self.alpha)
        caps, factor = [math.inf] * 6, note["factor"]
        assert isinstance(factor, float)
        if self.n >= 10 and self.A[0] > 0.0:
            caps = [20 * unit for unit in self.units()]
        for h, half in enumerate(HALF_LIVES):
            fade = 0.5 ** (1 / half)
            self.A[h] = fade * self.A[h] + min(abs(r) / (factor if h >= 3 else 1.0), caps[h])
            self.N[h] = fade * self.N[h] + 1
        self.n += 1

    def _reweigh(self, side: Side, said: Sequence[float], together: float, v: float) -> None:
        def pinball(e: float) -> float:
            return max((v - e) * (1 - self.a), (e - v) * self.a)

        keep = 0.5 ** (1 / 1000)
        less = [pinball(together) - pinball(e) for e in said]
        side.R = [keep * R + d for R, d in zip(side.R, less, strict=True)]
        side.V = keep**2 * side.V + max(d * d for d in less)
        rate = math.sqrt(math.log(24) / side.V) if side.V > 0 else 0.0
        loud = np.exp((np.array(side.R) - max(side.R)) * rate) * np.tile([1, 1, 1, 2, 2, 2], 4)
        side.w = (0.999 * loud / loud.sum() + 0.001 / 24).tolist()


class SlowLevels:
    """Several coverages, lowest first: nested, and judged as they were issued."""

    def __init__(
        self, coverages: Sequence[float], *, outer: bool = True, ties: bool = True
    ) -> None:
        assert list(coverages) == sorted(coverages)
        self.levels = [Slow(one, outer=outer, ties=ties) for one in coverages]
        self.ties = ties

    def issue(self, factor: float = 1.0) -> tuple[list[dict[str, object]], Floats]:
        """Notes, and (low, high) of each."""
        notes, ends = [level.note(factor) for level in self.levels], list[tuple[float, float]]()
        for note in notes:
            edges = note["edges"]
            assert isinstance(edges, dict)
            low, high = -edges[-1], edges[+1]
            if not ends and low > high:
                low = high = (low + high) / 2
            if ends:
                low, high = min(low, ends[-1][0]), max(high, ends[-1][1])
            ends.append((low, high))
        return notes, np.array(ends)

    def learn(self, notes: list[dict[str, object]], r: float, gain: float = 0.02) -> None:
        missed = {+1: True, -1: True}
        for place, (level, note) in enumerate(zip(self.levels, notes, strict=True)):
            edges = note["edges"]
            assert isinstance(edges, dict)
            if place == 0 and edges[+1] + edges[-1] < 0:
                middle = (edges[+1] - edges[-1]) / 2
                hit = self.ties and r == middle
                missed = {+1: r > middle or hit, -1: r < middle or hit}
            else:
                missed = {sign: missed[sign] and sign * r > edges[sign] for sign in (+1, -1)}
            level.learn(note, r, missed, gain)
