"""What the transcription of AutoLearner is made of: each piece by "The rules" of its page.

Slow and literal: sums run over all d features, projections and VAWs are solved anew each time. Only
keyed random numbers are the library's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from keyhole.learners.blocks.draw.philox import words
from keyhole.problem import Floats


def centre_of(values: list[float]) -> float:
    """m max(0, 1 - 2 v / (n m^2)); NaN if nothing arrived."""
    if not values:
        return math.nan
    x = np.array(values) - values[0]  # around the first value, to keep digits
    m, v = values[0] + float(x.mean()), float(x.var(ddof=1)) if len(x) > 1 else 0.0
    return m * max(0.0, 1.0 - 2.0 * v / (len(x) * m * m)) if m != 0.0 else 0.0


class Memory:
    """G, c, n_j, n, Y of one memory."""

    def __init__(self, d: int, tau: float) -> None:
        self.d, self.tau = d, tau
        self.G, self.c, self.n_j = np.zeros((d + 1, d + 1)), np.zeros(d + 1), np.zeros(d)
        self.n = self.Y = 0.0
        self.there = np.ones(d, dtype=np.bool_)  # what has a seat

    def add(self, Z: Floats, arrived: Floats, y: Floats) -> None:
        fade = math.exp(-len(y) / self.tau)
        self.G, self.c = fade * self.G + Z.T @ Z, fade * self.c + Z.T @ y
        self.n_j = fade * self.n_j + arrived.sum(axis=0)
        self.n, self.Y = fade * self.n + len(y), fade * self.Y + float(y @ y)

    def fade(self, keep: float) -> None:
        """Everything there is counts `keep` times."""
        self.G, self.c, self.n_j = keep * self.G, keep * self.c, keep * self.n_j
        self.n, self.Y = keep * self.n, keep * self.Y

    def become(self, other: Memory | None) -> None:
        """Have what another memory has; nothing if there is no other."""
        if other is None:
            self.fade(0.0)
            return
        self.G, self.c, self.n_j = other.G.copy(), other.c.copy(), other.n_j.copy()
        self.n, self.Y = other.n, other.Y

    def shift(self, more: float) -> None:
        """Labels are larger by so much."""
        self.Y += 2.0 * more * float(self.c[self.d]) + more**2 * self.n
        self.c = self.c + more * self.G[:, self.d]

    def study(self, z: Floats, arrived: Floats, y: float, keep: float, G: Floats) -> None:
        """One complete row, G its products; what was there before counts `keep` times."""
        self.fade(keep)
        self.G, self.c, self.n_j = self.G + G, self.c + y * z, self.n_j + arrived
        self.n, self.Y = self.n + 1.0, self.Y + y * y


@dataclass
class Selection:
    """What a memory chose, in order, and r, D and noise given that."""

    chosen: list[int]
    r: Floats
    D: Floats
    noise: float


def first_noise(memory: Memory) -> float:
    """`noise` when nothing is chosen yet."""
    return max(memory.Y / memory.n - float(memory.c[memory.d] / memory.n) ** 2, 0.0)


def next_noise(memory: Memory, noise: float, gain: float) -> float:
    """`noise` after a feature that gained so much."""
    return max(noise - gain, memory.Y / (1000.0 * memory.n))


def look(
    memory: Memory, chosen: list[int], noise: float, threshold: float
) -> tuple[Floats, Floats, Floats]:
    """r, D and by how much each feature is significant, given those chosen (-inf: it cannot be)."""
    d, n_j = memory.d, memory.n_j
    size = np.sqrt(np.diag(memory.G))
    unit = np.divide(1.0, size, out=np.zeros(d + 1), where=size > 0.0)
    K, products = memory.G * np.outer(unit, unit), memory.c * unit
    C = [d, *chosen]
    onto = np.linalg.solve(K[np.ix_(C, C)], np.column_stack([K[C], products[C]]))
    D = np.where(size > 0.0, 1.0 - (K[C] * onto[:, :-1]).sum(axis=0), 0.0)
    D[C] = 0.0
    D, q = D[:d], (products - K[:, C] @ onto[:, -1])[:d]
    away = ~memory.there  # given the constant alone
    q[away] = (products[:d] - K[:d, d] * products[d])[away]
    D[away] = np.where(size[:d] > 0.0, 1.0 - K[:d, d] ** 2, 0.0)[away]
    r = np.divide(q, np.sqrt(n_j), out=np.zeros(d), where=n_j > 0.0)
    excess = np.full(d, -math.inf)
    for j in range(d):
        if memory.there[j] and D[j] > 0.05 and n_j[j] >= 3.99:
            excess[j] = abs(r[j]) / math.sqrt(D[j]) - threshold * math.sqrt(noise / n_j[j])
    return r, D, excess


def normals(seed: int, key: int, d: int) -> Floats:
    """A normal number for every feature."""
    N = np.empty(d + 3)
    for i in range(0, d, 4):
        w = [float(word) / 2.0**32 for word in words(np.uint64(seed), key, 1 << 20, i // 4)]
        for at, (radius, turn) in ((i, w[:2]), (i + 2, w[2:])):
            length, angle = math.sqrt(-2.0 * math.log(1.0 - radius)), 2.0 * math.pi * turn
            N[at : at + 2] = length * math.cos(angle), length * math.sin(angle)
    return N[:d]


@dataclass
class Vaw:
    """x' (A + x x')^-1 b, x = (values of `features`, 1). Features of size 0 are left out."""

    features: list[int]
    A: Floats
    b: Floats
    weights: int

    def guess(self, x: Floats) -> float:
        z = x[self.features]
        return self._product(z, self.A + np.outer(z, z))

    def linear(self, x: Floats) -> float:
        return self._product(x[self.features], self.A)

    def weights_now(self) -> Floats:
        """A^-1 b."""
        unit = 1.0 / np.sqrt(np.diag(self.A))
        weights: Floats = unit * np.linalg.solve(self.A * np.outer(unit, unit), self.b * unit)
        return weights

    def _product(self, z: Floats, A: Floats) -> float:
        unit = 1.0 / np.sqrt(np.diag(A))
        return float((z * unit) @ np.linalg.solve(A * np.outer(unit, unit), self.b * unit))

    def learn(self, x: Floats, y: float) -> None:
        z = x[self.features]
        self.A, self.b = self.A + np.outer(z, z), self.b + z * y


class Mixture:
    """Beliefs, losses, losses of late, the range of the labels."""

    RATES = np.array([0.0, 0.01, 0.1])

    def __init__(self, heard: Floats, bold: float) -> None:
        self.q = heard / heard.sum()
        self.prior = np.append((1.0 - bold) * self.q, bold)
        self.B = np.tile(self.q / 3.0, (3, 1))
        self.L, self.R = np.zeros(len(heard) + 1), np.zeros(len(heard))
        self.S = self.W = 0.0
        self.T = 0
        self.low = self.high = math.nan

    def start_over(self) -> None:
        """Nobody is known to predict well."""
        self.B, self.R = np.tile(self.q / 3.0, (3, 1)), np.zeros(len(self.q))
        self.S = self.W = 0.0
        self.T = 0

    def predict(self, guesses: Floats) -> tuple[float, Floats]:
        """The prediction, and the guesses as they are charged, the bold average's last."""
        if math.isnan(self.low):
            return 0.0, np.zeros(len(guesses) + 1)
        g = guesses.clip(self.low, self.high)
        g = np.append(g, min(max(float(self.B.sum(axis=0) @ g), self.low), self.high))
        Y = (self.high - self.low) / 2.0
        c = self.low + Y
        if Y == 0.0:
            return c, g
        w = self.prior * np.exp(-(self.L - self.L[self.prior > 0.0].min()) / (2.0 * Y * Y))
        up, down = (w @ np.exp(-((g - end) ** 2) / (2.0 * Y * Y)) for end in (self.high, self.low))
        return c + Y / 2.0 * math.log(up / down), g

    def learn(self, g: Floats, y: float) -> None:
        if math.isnan(self.low):
            self.low = self.high = y
            return
        loss = (y - g) ** 2
        self.L, self.R = self.L + loss, (1.0 - 1.0 / 200.0) * self.R + loss[:-1]
        self.low, self.high = min(self.low, y), max(self.high, y)
        self.S, self.W = self.S + float(loss[-1]), self.W + 1.0
        window = max(200.0, self.T / 4.0)
        if window < self.W:
            self.S, self.W = self.S * window / self.W, window
        if self.S > 0.0:
            B = self.B * (1.0 + loss[:-1] * self.W / (9.0 * self.S)) ** -5.0
            B = B / B.sum()
            a = np.maximum(self.RATES, 1.0 / (self.T + 2.0))[:, None]
            moved = (1.0 - a) * B + a * B.sum(axis=1, keepdims=True) * self.q
            self.B = (1.0 - 1e-6) * moved + 1e-6 * self.q / 3.0
        self.T += 1


def greedy_gains(X: Floats, y: Floats, V: list[int]) -> Floats:
    """h(V) - h(V + j) of every feature j, h the least sum of squares."""
    gains = np.zeros(X.shape[1])
    left, rest = y.copy(), X.copy()
    for v in V:
        if rest[:, v] @ rest[:, v] > 1e-10 * (X[:, v] @ X[:, v]):
            e = rest[:, v] / np.linalg.norm(rest[:, v])
            left, rest = left - (e @ left) * e, rest - np.outer(e, e @ rest)
    squares = (rest**2).sum(axis=0)
    new = squares > 1e-10 * (X**2).sum(axis=0)
    gains[new] = np.minimum((left @ rest[:, new]) ** 2 / squares[new], left @ left)
    return gains


class Past:
    """The last values and their faded means; NaN before the first."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def inputs(self) -> Floats:
        """The latest, the one before, and means of half-lives 3, 20, 100."""
        told = np.array(self.values[::-1])
        last = [told[i] if i < len(told) else math.nan for i in range(2)]
        age = np.arange(len(told))
        weights = [2.0 ** (-age / half_life) for half_life in (3.0, 20.0, 100.0)]
        return np.array([*last, *(w @ told / w.sum() if len(told) else math.nan for w in weights)])


class Layer:
    """The last layer; with `bug`, a mistake."""

    def __init__(self, kinks: tuple[float, ...], past: bool, memory: float, bug: str) -> None:
        self.kinks, self.past, self.memory, self.bug = kinks, past, memory, bug
        self.rows: list[Floats] = []
        self.missed: list[float] = []
        self.counts: list[float] = []  # what each of them counts, fading aside
        self.shares: list[float] = []  # the same of `gs`
        self.gs: list[float] = []
        self.labels, self.errors = Past(), Past()
        self.judge = Mixture(np.ones(2 + past), 0.5)
        self.sums: list[tuple[Floats, Floats]] = []
        self.u = 0.0

    def begin(self, variance: float) -> None:
        """The sums that the VAWs of a batch guess from."""
        squares = float(np.array(self.shares) @ np.square(self.gs)) if self.gs else 0.0
        self.u = math.sqrt(squares / max(sum(self.shares), 1.0))
        self.sums, few = [], 2 + len(self.kinks)
        n, places = len(self.rows), few + (10 if self.past else 0)
        X, e = np.array(self.rows).reshape(n, places), np.array(self.missed)
        f = self._weights()
        ridge = np.append(1.0, np.full(places - 1, variance))
        for v in (few, places)[: 1 + self.past]:
            if variance > 0.0:
                A = (X * f[:, None]).T @ X + np.diag(ridge)
                self.sums.append((A[:v, :v], ((X * f[:, None]).T @ e)[:v]))
            else:
                self.sums.append((np.eye(0), np.zeros(0)))

    def _weights(self) -> Floats:
        n = len(self.rows)
        f = np.exp(-np.arange(n)[::-1] / self.memory)
        if self.bug == "the last layer forgets nothing":
            f = np.ones(n)
        weights: Floats = f * np.array(self.counts)
        return weights

    def count_at_most(self, rounds: float) -> None:
        """Let all rounds so far count as much as this many, if they count more."""
        share = min(1.0, rounds / max(float(self._weights().sum()), 1e-300))
        self.counts = [share * count for count in self.counts]
        self.shares = [share * count for count in self.shares]

    def forget(self) -> None:
        """Nothing was learnt."""
        self.count_at_most(0.0)
        self.labels, self.errors = Past(), Past()
        self.sums = [(A, 0.0 * b) for A, b in self.sums]

    def foresee(self, p: float, c: float, y: float) -> float:
        """Predict and learn."""
        if math.isnan(c):
            self.judge.learn(np.zeros(3 + self.past), y)
            self.labels.values.append(y)
            return p
        g = p - c
        x = [1.0, g, *(abs(g - kink * self.u) for kink in self.kinks)]
        if self.past:
            told = self.errors if self.bug == "errors in place of labels" else self.labels
            x += [*np.nan_to_num(told.inputs() - c), *np.nan_to_num(self.errors.inputs())]
        row, guesses = np.array(x), [p]
        for A, b in self.sums:
            z = row[: len(b)]
            guesses.append(p + float(z @ np.linalg.solve(A + np.outer(z, z), b)) if len(b) else p)
        prediction, judged = self.judge.predict(np.array(guesses))
        self.judge.learn(judged, y)
        e = y - p
        if self.bug == "the last layer learns within a batch":
            pairs = [(row[: len(b)], A, b) for A, b in self.sums]
            self.sums = [(A + np.outer(z, z), b + z * e) for z, A, b in pairs]
        self.rows.append(row)
        self.missed.append(e)
        self.counts.append(1.0)
        self.gs.append(g)
        self.shares.append(1.0)
        self.labels.values.append(y)
        self.errors.values.append(e)
        return prediction
