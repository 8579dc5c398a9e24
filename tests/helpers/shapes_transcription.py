"""Shapes once more: plain Python, written from docs/algorithms/shapes.md.

Sums are in the order that is written there, so that everything agrees to the bit. `bug` is a
mistake to make, for tests that must notice it.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

import numpy as np

from keyhole.core.numbers import log
from keyhole.learners.blocks.auto.mixture import learn, mix, predict, start_anew
from keyhole.learners.blocks.draw import philox as kernels
from keyhole.learners.blocks.draw.philox import words
from keyhole.problem import Floats
from tests.helpers.bent_transcription import find_bent

NOTHING, PREDICTION = -1, -2
ROWS_PURPOSE, INPUTS_PURPOSE = 2**20 + 16, 2**20 + 17
COLUMNS, KNOTS, CUTS, SAMPLE, LOOKED = 8, 5, 31, 256, 1024
BUGS = (
    "absent values always go right",
    "the old tree is not taken out",
    "trees are fitted to what p misses",
    "the ridge learns within a batch",
    "who sits counts no more",
    "newcomers begin with nothing",
    "the mode is no column",
    "columns are not cut off",
    "trees do not look at q",
    "far-out values stay",
    "labels that moved change nothing",
    "what a tree said of a far-out value changes with it",
)


def quantile(h: list[float], share: float) -> float:
    place = share * (len(h) - 1)
    i = int(place)
    return h[i] + (place - i) * (h[min(i + 1, len(h) - 1)] - h[i])


def mean(h: list[float]) -> float:
    total = 0.0
    for value in h:
        total += value
    return total / len(h)


def deviation(h: list[float], about: float) -> float:
    total = 0.0
    for value in h:
        total += (value - about) * (value - about)
    return math.sqrt(total / len(h))


def mode_of(h: list[float]) -> tuple[float, int]:
    """The value that is there most often, the lowest of several; and how often."""
    often = max(h.count(value) for value in h)
    return min(value for value in h if h.count(value) == often), often


@dataclass
class Curve:
    """The columns of one feature, made from an ascending sample."""

    h: list[float]
    bug: str = ""
    there: list[bool] = field(default_factory=lambda: [False] * COLUMNS)

    def __post_init__(self) -> None:
        h, different = self.h, len({*self.h})
        if different < 2:
            return
        self.mode, often = mode_of(h)
        share = often / len(h)
        self.middle = quantile(h, 0.5)
        self.width = max(quantile(h, 0.75) - quantile(h, 0.25), 0.3 * deviation(h, mean(h)))
        rest = [v for v in h if v != self.mode] if share > 0.3 and different > 3 else h
        places = [quantile(rest, i / (KNOTS + 1.0)) for i in range(1, KNOTS + 1)]
        self.knots = list[float]()
        for knot in places if different > 2 else []:
            if h[0] < knot < h[-1] and (not self.knots or knot > self.knots[-1]):
                self.knots.append(knot)
        raw = [self.raw(value) for value in h]
        self.means = [mean([row[q] for row in raw]) for q in range(COLUMNS)]
        self.sizes = [deviation([row[q] for row in raw], self.means[q]) for q in range(COLUMNS)]
        may = [True, *[different > 2] * (KNOTS + 1), different > 2 and share >= 0.05]
        if self.bug == "the mode is no column":
            may[-1] = False
        self.there = [
            may[q] and self.sizes[q] > 1e-9 * max(1.0, abs(self.means[q])) for q in range(COLUMNS)
        ]

    def raw(self, value: float) -> list[float]:
        t = (value - self.middle) / self.width
        bends = [max(0.0, value - knot) / self.width for knot in self.knots]
        bends += [0.0] * (KNOTS - len(bends))
        curved = -log(1.0 - t) if t < 0.0 else log(1.0 + t)
        return [t, curved, *bends, 1.0 if value != self.mode else 0.0]

    def at(self, value: float | None) -> list[float]:
        if value is None or not self.there[0]:
            return [0.0] * COLUMNS
        raw, far = self.raw(value), math.inf if self.bug == "columns are not cut off" else 5.0
        return [
            max(-far, min(far, (raw[q] - self.means[q]) / self.sizes[q])) if self.there[q] else 0.0
            for q in range(COLUMNS)
        ]


def cuts_of(h: list[float]) -> list[float]:
    """Where an input may be cut, from an ascending sample."""
    if len({*h}) <= CUTS + 1:
        return [0.5 * (b + a) for a, b in itertools.pairwise(h) if b > a]
    cuts = list[float]()
    for i in range(1, CUTS + 1):
        cut = quantile(h, i / (CUTS + 1.0))
        if (not cuts or cut > cuts[-1]) and cut < h[-1]:
            cuts.append(cut)
    return cuts


def code_of(cuts: list[float], value: float | None) -> int:
    return 0 if value is None else 1 + sum(cut < value for cut in cuts)


@dataclass
class Node:
    """A node: what it looks at, where it is cut, where absent values go."""

    looks_at: int = NOTHING
    threshold: float = 0.0
    absent_left: bool = True


@dataclass
class Row:
    """A row that was told: values by feature, those that are absent left out; by now, as learnt."""

    x: dict[int, float]
    y: float
    p: float
    q: float
    fit: float
    said: list[float]  # by each tree


class Shapes:
    """The chain by the rules, told p, q and labels round by round."""

    def __init__(
        self, d: int, width: int, ring: int, trees: int, depth: int, seed: int, bug: str = ""
    ) -> None:
        self.d, self.bent = d, list[int]()
        self.seats, self.curves = min(width, 32), min(width, 16)
        self.R, self.N, self.depth, self.seed, self.bug = ring, trees, depth, seed, bug
        self.P = COLUMNS * (self.curves + 1)
        self.first, self.second = mix([2.0, 1.0], 0.5), mix([2.0, 1.0, 1.0], 0.5)
        self.rows = list[Row]()  # all of them; the last R count
        self.began = 0  # how many of them do not count any more
        self.who: list[int | None] = [None] * self.seats
        self.made = [0] * self.seats
        self.curve: list[Curve | None] = [None] * self.curves
        self.cuts: list[list[float]] = [[] for _ in range(self.seats + 1)]
        self.A, self.c = np.zeros((self.P, self.P)), np.zeros(self.P)
        self.level = self.size = 0.0
        self.L, self.along, self.used = np.zeros((0, 0)), np.zeros(0), list[int]()
        self.trees: list[list[Node]] = [[] for _ in range(trees)]
        self.leaves = [[0.0] * 2**depth for _ in range(trees)]
        self.fitted = self.closed = self.checked = self.built = self.solved = self.searched = 0

    # a round

    def play(self, x: dict[int, float], p: float, y: float) -> float:
        """Predict with values as they are, then learn, the label as it is learnt."""
        begins = not self.rows
        if begins:
            p = y
        z = self.columns(x, p)
        pair = np.array([p, p + self.ridge(z) if self.built else p, 0.0])
        q = float(predict(self.first, pair))
        if begins:
            q = p
        fit, said = 0.0, [0.0] * self.N
        for m in range(min(self.fitted, self.N)):
            said[m] = self.leaves[m][self.falls(m, x, q)]
            fit += said[m]
        three = np.array([p, q, q + fit, 0.0])
        found = float(predict(self.second, three))
        learn(self.first, pair, y)
        learn(self.second, three, y)
        self.rows.append(Row(x, y, p, q, fit, said))
        if self.built:
            self.add(z, y - p, None)
        if self.bug == "the ridge learns within a batch" and self.built:
            self.solve()
        return 0.0 if begins else found

    def columns(self, x: dict[int, float], p: float) -> Floats:
        z = list[float]()
        for s in range(self.curves):
            curve, j = self.curve[s], self.who[s]
            z += [0.0] * COLUMNS if curve is None or j is None else curve.at(x.get(j))
        off = (p - self.level) / self.size if self.size > 0.0 else 0.0
        return np.array([*z, 1.0, max(-5.0, min(5.0, off)), *[0.0] * (COLUMNS - 2)])

    # the ridge

    def add(self, z: Floats, missed: float, fresh: list[bool] | None) -> None:
        for i in range(self.P):
            new = fresh is None or fresh[i // COLUMNS]
            for block in range(i // COLUMNS + 1):
                if z[i] != 0.0 and (new or (fresh is not None and fresh[block])):
                    cells = slice(COLUMNS * block, COLUMNS * (block + 1))
                    self.A[i, cells] += z[i] * z[cells]
            if new:
                self.c[i] += z[i] * missed

    def solve(self) -> None:
        self.used = [i for i in range(self.P) if self.A[i, i] > 0.0]
        v = len(self.used)
        L = np.tril(self.A[np.ix_(self.used, self.used)]).T + np.eye(v)
        along = self.c[self.used].copy()
        for k in range(v):  # row k of L is column k of the root
            scale = 1.0 / math.sqrt(max(L[k, k], 1.0))
            L[k, k + 1 :] *= scale
            L[k, k] = scale
            along[k] *= scale
            for i in range(k + 1, v):
                L[i, i:] -= L[k, i] * L[k, i:]
                along[i] -= L[k, i] * along[k]
        self.L, self.along = L, along

    def ridge(self, z: Floats) -> float:
        x, total, s = z[self.used].copy(), 0.0, 1.0
        for k in range(len(self.used)):
            zk = x[k] * self.L[k, k]
            total += zk * self.along[k]
            s += zk * zk
            x[k + 1 :] -= zk * self.L[k, k + 1 :]
        return float(total / s)

    # the trees

    def falls(self, m: int, x: dict[int, float], q: float) -> int:
        """The leaf of tree m that a row falls into."""
        k, inner = 0, (1 << self.depth) - 1
        while k < inner:
            node = self.trees[m][k]
            value = q if node.looks_at == PREDICTION else x.get(node.looks_at)
            if value is None:
                left = node.absent_left and self.bug != "absent values always go right"
                left = left or node.looks_at == NOTHING
            else:
                left = value <= node.threshold
            k = 2 * k + (1 if left else 2)
        return k - inner

    def fit_tree(self) -> None:
        m, rows = self.fitted % self.N, self.held()
        missed = list[float]()
        for row in rows:
            if self.fitted >= self.N and self.bug != "the old tree is not taken out":
                again = self.bug == "what a tree said of a far-out value changes with it"
                leaf = self.leaves[m][self.falls(m, row.x, row.q)]
                row.fit -= leaf if again else row.said[m]
            target = row.p if self.bug == "trees are fitted to what p misses" else row.q
            missed.append((row.y - target) - row.fit)
        drawn = [i for i in range(len(rows)) if self.word(i) < 3006477107]
        inputs = self.draw_inputs()
        codes = {a: [code_of(self.cuts[a], self.value(row, a)) for row in rows] for a in inputs}
        tree, node = [Node() for _ in range(2**self.depth - 1)], dict.fromkeys(drawn, 0)
        splits = list[tuple[int, int, bool] | None]()
        for k in range(2**self.depth - 1):
            there = [i for i in drawn if node[i] == k]
            split = self.best_split(there, missed, inputs, codes)
            splits.append(split)
            if split is not None:
                a, c, side = split
                j = self.who[a] if a < self.seats else PREDICTION
                assert j is not None
                tree[k] = Node(j, self.cuts[a][c - 1], side)
            for i in there:
                node[i] = 2 * k + (1 if self.goes_left(split, codes, i) else 2)
        self.trees[m] = tree
        sums, counts = [0.0] * 2**self.depth, [0.0] * 2**self.depth
        for i in drawn:
            sums[node[i] - len(tree)] += missed[i]
            counts[node[i] - len(tree)] += 1.0
        self.leaves[m] = [0.2 * G / (n + 10.0) for G, n in zip(sums, counts, strict=True)]
        for row in rows:
            row.said[m] = self.leaves[m][self.falls(m, row.x, row.q)]
            row.fit += row.said[m]
        self.fitted += 1

    @staticmethod
    def goes_left(split: tuple[int, int, bool] | None, codes: dict[int, list[int]], i: int) -> bool:
        if split is None:
            return True
        a, c, side = split
        return side if codes[a][i] == 0 else codes[a][i] <= c

    def best_split(
        self,
        there: list[int],
        missed: list[float],
        inputs: list[int],
        codes: dict[int, list[int]],
    ) -> tuple[int, int, bool] | None:
        best, most, n = None, 0.0, float(len(there))
        if n < 10.0 or not inputs:
            return None
        whole = 0.0
        for place, a in enumerate(inputs):
            sums, counts = [0.0] * (CUTS + 2), [0.0] * (CUTS + 2)
            for i in there:
                sums[codes[a][i]] += missed[i]
                counts[codes[a][i]] += 1.0
            if place == 0:
                G = 0.0
                for each in sums:
                    G += each
                whole = G * G / (n + 10.0)
            left = rows = 0.0
            for c in range(1, len(self.cuts[a]) + 1):
                if counts[c] == 0.0:
                    continue
                left, rows = left + sums[c], rows + counts[c]
                for side in (False, True) if counts[0] > 0.0 else (False,):
                    L, many = (left + sums[0], rows + counts[0]) if side else (left, rows)
                    if many < 5.0 or n - many < 5.0:
                        continue
                    gain = L * L / (many + 10.0) + (G - L) * (G - L) / (n - many + 10.0) - whole
                    if gain > most:
                        best, most = (a, c, side), gain
        return best

    def word(self, i: int) -> int:
        return int(words(np.uint64(self.seed), self.fitted, ROWS_PURPOSE, i // 4)[i % 4])

    def draw_inputs(self) -> list[int]:
        there = [a for a in range(self.seats + 1) if self.cuts[a]]
        if self.bug == "trees do not look at q":
            there = [a for a in there if a < self.seats]
        out = np.empty(math.ceil(0.7 * len(there)), dtype=np.int64)
        if there:
            key = np.uint64(self.seed), self.fitted, INPUTS_PURPOSE
            kernels.subset(*key, len(there), out, kernels.scratch(len(there)))
        return [there[i] for i in out.tolist()]

    def value(self, row: Row, a: int) -> float | None:
        if a == self.seats:
            return row.q
        j = self.who[a]
        return None if j is None else row.x.get(j)

    # between batches

    def held(self) -> list[Row]:
        """The rows in the ring: in the order they were told, or once it is full by their slots."""
        n = len(self.rows)
        if n - self.began < self.R:
            return self.rows[self.began :]
        return [self.rows[n - 1 - (n - 1 - slot) % self.R] for slot in range(self.R)]

    def last(self) -> list[Row]:
        return self.rows[self.began :][-min(self.R, LOOKED) :]

    def learn(self, x: list[dict[int, float]], y: list[float]) -> None:
        """The last rows, as their values and labels are learnt when their batch is over."""
        for row, values, label in zip(self.rows[len(self.rows) - len(y) :], x, y, strict=True):
            row.y = label
            if self.bug != "far-out values stay":
                row.x = values

    def start_anew(self, low: float, high: float, losses: bool) -> None:
        """No row counts any more; labels are in this range. Whether losses go on."""
        if self.bug == "labels that moved change nothing" and losses:
            return
        self.began, self.fitted, self.used = len(self.rows), 0, []
        self.who, self.made = [None] * self.seats, [0] * self.seats
        self.cuts = [[] for _ in range(self.seats + 1)]
        self.closed = self.checked = self.built = self.solved = self.searched = 0
        self.bent = []
        for mixture in (self.first, self.second):
            before = mixture.losses.copy()
            start_anew(mixture)
            mixture.losses[:] = before if losses else 0.0
            mixture.span[:] = low, high

    def close(self, size: int) -> None:
        """A batch is over; the one that began after as many rows as the last time has this size."""
        told = len(self.rows) - self.began
        if told - self.closed < size:
            return
        self.closed, changed = told, False
        if told < 32:
            return
        if told - self.checked >= min(64, self.checked // 16):
            self.checked, changed = told, self.check()
        if changed or told - self.solved >= self.solved // 64:
            self.solved = told
            self.solve()
        if told >= 64 and told - self.searched >= min(256, self.searched // 8):
            self.searched, rows = told, self.rows[self.began :][-self.R :][::-1]
            missed = [row.y - row.p for row in rows]
            told_last = [row.x for row in rows], missed, [row.y for row in rows]
            self.bent = find_bent(*told_last, self.d, self.seats, self.bug)
        for _ in range(2 if told < 1024 else 1):
            if told >= 64:
                self.fit_tree()

    def check(self) -> bool:
        told, before = len(self.rows) - self.began, list(self.who)
        whole = told >= 2 * self.built
        counts = self.take_seats()
        if whole:
            self.built = told
            self.find_level()
            self.cuts[self.seats] = cuts_of(self.thin([row.q for row in self.last()][::-1]))
        fresh = list[bool]()
        for s, j in enumerate(self.who):
            count = 0 if j is None else counts[j]
            new = whole or j != before[s] or (j is not None and count >= 2 * self.made[s])
            fresh.append(new)
            if new:
                self.renew(s, count)
        if whole or any(fresh):
            self.rebuild([*fresh[: self.curves], whole])
        return whole or any(fresh)

    def take_seats(self) -> dict[int, int]:
        counts, score, weight = dict[int, int](), dict[int, float](), 1.0
        for row in reversed(self.last()):
            for j in row.x:
                counts[j] = counts.get(j, 0) + 1
                score[j] = score.get(j, 0.0) + weight
            weight *= math.exp(-1 / 500)
        for j in [j for j in self.who if j is not None]:
            if j in score and self.bug != "who sits counts no more":
                score[j] *= 1.25
        able = [j for j in score if counts[j] >= 16]
        best = sorted(able, key=lambda j: (-score[j], j))[: self.seats]
        for s, sits in enumerate(self.who):
            if sits not in best:
                self.who[s], self.made[s] = None, 0
        free = [s for s, sits in enumerate(self.who) if sits is None]
        new = [j for j in best if j not in self.who]
        for s, comes in zip(free, new, strict=False):
            self.who[s] = comes
        return counts

    @staticmethod
    def thin(found: list[float]) -> list[float]:
        n = min(len(found), SAMPLE)
        return sorted(found[i * len(found) // n] for i in range(n)) if n else []

    def renew(self, s: int, count: int) -> None:
        j = self.who[s]
        found = [row.x[j] for row in reversed(self.last()) if j in row.x] if j is not None else []
        h = self.thin(found)
        self.made[s], self.cuts[s] = count, cuts_of(h) if h else []
        if s < self.curves:
            self.curve[s] = Curve(h, self.bug)

    def find_level(self) -> None:
        labels = [row.y for row in self.last()]
        self.level = mean(labels)
        self.size = deviation(labels, self.level)

    def rebuild(self, fresh: list[bool]) -> None:
        new = np.repeat(fresh, COLUMNS)
        self.A[new], self.A[:, new], self.c[new] = 0.0, 0.0, 0.0
        if self.bug == "newcomers begin with nothing":
            return
        for row in self.last():
            self.add(self.columns(row.x, row.p), row.y - row.p, fresh)
