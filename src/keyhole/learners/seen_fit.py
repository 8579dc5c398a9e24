"""Models from the sums of what was seen: forward selection, its weights, its prediction.

Everything is in units of standard deviations about the means: features have square 1, so has the
label.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from keyhole.learners.blocks.sums.seen_sums import (
    SeenSums,
    place,
)
from keyhole.problem import Floats, Indices

NEW = 0.05  # a feature of which less is new, given those chosen, is passed over
LEFT = 0.05  # the share of the label that is taken to be unexplained, at least
TINY = 1e-300  # rows: in place of none
CONSTANT = 1e-12  # what varies by less than this share of its mean square is constant
FEW = 64  # candidates whose correlations are all worked out at once


class Units(NamedTuple):
    """Of features, each from the rows in which it was seen."""

    rows: Floats  # N
    mean: Floats
    inverse: Floats  # 1 / standard deviation; 0 for a constant
    products: Floats  # correlation with the label


class Fit(NamedTuple):
    """What `forward` found among its candidates."""

    chosen: list[int]  # places in the list of candidates, in the order they were chosen
    w: list[float]  # their weights
    units: Units  # of all candidates
    root: list[list[float]]  # rows of M, lower triangular: M M' = R + diag(ridge / N) on the chosen


def deviation_of_label(sums: SeenSums) -> float:
    """The standard deviation of the label; 0 for rounding."""
    n, total, square = sums.totals.tolist()
    if not n > 0.0:
        return 0.0
    mean = total / n
    variance = square / n - mean * mean
    return math.sqrt(variance) if variance > CONSTANT * (square / n) else 0.0


def measure(S: Indices, sums: SeenSums) -> Units:
    """The units of the features S."""
    square, N, total, _ = sums.pairs[place(S, S, sums.d)].T
    some = np.maximum(N, TINY)
    mean, mean_square = total / some, square / some
    variance = mean_square - mean * mean
    varies = variance > CONSTANT * mean_square
    scale = np.sqrt(np.where(varies, variance, 1.0))
    inverse = varies / scale
    scale_y = deviation_of_label(sums)
    if not scale_y > 0.0:
        return Units(N, mean, inverse, np.zeros(len(S)))
    labelled, label = sums.singles[:, S]
    products = (labelled - mean * label) / some / scale / scale_y
    return Units(N, mean, inverse, np.where(varies, products, 0.0))


class Selection:
    """Forward selection among the features S in progress: what of each candidate is new, `D`, and
    its product `r` with what is left of the label, given those chosen.

    Plain lists: for the few candidates of a round they are faster than arrays.
    """

    def __init__(self, S: Indices, ridge: float, sums: SeenSums) -> None:
        self.S, self.sums, self.units = S, sums, measure(S, sums)
        free = self.units.inverse > 0.0
        self.free: list[int] = np.flatnonzero(free).tolist()
        self.rows: list[float] = self.units.rows.tolist()
        self.D: list[float] = (1.0 + ridge / np.where(free, self.units.rows, np.inf)).tolist()
        self.r: list[float] = self.units.products.tolist()
        self.chosen, self.steps = list[int](), list[float]()
        self.L: list[list[float]] = [[] for _ in self.r]  # of each, its part along those chosen
        self._R = self._correlations(np.arange(len(S))).tolist() if len(S) <= FEW else None

    def gains(self, bar: float = 0.0) -> list[float]:
        """How much of the label each candidate would explain; 0 unless that times N is above `bar`.

        A feature that is to 95 % a combination of those before it is passed over: with correlations
        from different rows the matrix may be indefinite, and this keeps every pivot away from 0.
        """
        gains = [0.0] * len(self.r)
        for a in self.free:
            if self.D[a] > NEW:
                gain = self.r[a] * self.r[a] / self.D[a]
                if gain * self.rows[a] > bar:
                    gains[a] = gain
        return gains

    def choose(self, v: int) -> None:
        """Choose candidate v: what is new in the others is what it leaves."""
        R = self._correlations(np.array([v])).tolist()[0] if self._R is None else self._R[v]
        own, root = self.L[v], math.sqrt(self.D[v])
        step = self.r[v] / root
        self.free.remove(v)
        for a in self.free:
            along = R[a]
            for p, q in zip(own, self.L[a], strict=True):
                along -= p * q
            along /= root
            self.L[a].append(along)
            self.D[a] -= along * along
            self.r[a] -= along * step
        own.append(root)
        self.chosen.append(v)
        self.steps.append(step)

    def fit(self) -> Fit:
        """The ridge solution on the chosen."""
        root, w = [self.L[v] for v in self.chosen], self.steps.copy()
        for p in reversed(range(len(w))):
            for q in range(p + 1, len(w)):
                w[p] -= root[q][p] * w[q]
            w[p] /= root[p][p]
        return Fit(self.chosen, w, self.units, root)

    def _correlations(self, some: Indices) -> Floats:
        """Of some candidates with all, each pair over the rows that have both."""
        S, (_, mean, inverse, _) = self.S, self.units
        i, m, own = S[some, None], mean[some, None], inverse[some, None]
        records = self.sums.pairs[place(np.minimum(i, S), np.maximum(i, S), self.sums.d)]
        product, N, first, second = np.moveaxis(records, -1, 0)
        lower = i <= S  # then `first` is the sum of x_i, else of x_j
        about = product - np.where(lower, mean, m) * first - np.where(lower, m, mean) * second
        R = about / np.maximum(N, TINY) + m * mean
        # Multiplied in the same order for i, j and for j, i: to the bit, R is symmetric.
        R = R * np.where(lower, own, inverse) * np.where(lower, inverse, own)
        return np.where(N > 0.0, R, 0.0)


@np.errstate(all="ignore")
def forward(S: Indices, most: int, gate: float, ridge: float, sums: SeenSums) -> Fit:
    """Choose at most `most` of S one after the other, each the one that explains most of what is
    left; the ridge solution on them.

    A feature whose share is below `gate` standard errors is not chosen.
    """
    found, left = Selection(S, ridge, sums), 1.0
    for _ in range(min(most, len(S))):
        gains = found.gains(gate * gate * max(left, LEFT))
        best = max(gains)
        if not best > 0.0:
            break
        found.choose(gains.index(best))
        left -= best
    return found.fit()


@np.errstate(all="ignore")
def predicted(x: Floats, fit: Fit, sums: SeenSums, limits: Floats) -> float:
    """VAW's prediction for the values x of the candidates, kept in the range of labels so far.

    With z = (x - mean) / deviation on the chosen: mean of y + deviation of y times
    w.z / (1 + z'Pz), where P = N^-1/2 (R + diag(ridge / N))^-1 N^-1/2 is (ridge I + sum z z')^-1
    if all chosen features were seen in the same rows.
    """
    (chosen, w, units, root), (n, total, _) = fit, sums.totals.tolist()
    if not n > 0.0:
        return 0.0
    z: list[float] = ((x - units.mean) * units.inverse)[chosen].tolist()
    u: list[float] = (np.array(z) / np.sqrt(units.rows[chosen])).tolist()
    along, s = 0.0, 1.0
    for p, row in enumerate(root):
        along += w[p] * z[p]
        for q in range(p):
            u[p] -= row[q] * u[q]
        u[p] /= row[p]
        s += u[p] * u[p]
    y = total / n + deviation_of_label(sums) * (along / s)
    low, high = limits.tolist()
    return float(min(max(y, low), high))


@np.errstate(all="ignore")
def natural(S: Indices, fit: Fit, sums: SeenSums) -> tuple[Floats, float]:
    """The weights of a fit in the units of the features, for all d of them, and the intercept."""
    (chosen, w, units, _), (n, total, _) = fit, sums.totals.tolist()
    weights = np.zeros(sums.d)
    if not n > 0.0:
        return weights, 0.0
    slopes = np.array(w) * units.inverse[chosen] * deviation_of_label(sums)
    weights[S[chosen]] = slopes
    return weights, total / n - float(slopes @ units.mean[chosen])
