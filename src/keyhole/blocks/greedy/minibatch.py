"""A mini-batch of Algorithm 2: the same features every round, VAW on some, sums over all."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.draw.reading import taken
from keyhole.blocks.fit.inverse import inverse, solution
from keyhole.blocks.fit.vaw import forward, learn
from keyhole.blocks.jit.decorators import kernel
from keyhole.errors import LARGEST
from keyhole.fields import AT_LEAST_0, Holds
from keyhole.problem import Floats, Indices


class Vaws(NamedTuple):
    """Several VAWs and what they need of the past: P[e], theta[e] and losses[e] of VAW e, the reach
    of the labels, and `total` and `arrived` of the values that arrived, feature by feature.
    """

    P: Floats
    theta: Floats
    losses: Floats
    reach: float
    total: Floats
    arrived: Indices


class Guesses(NamedTuple):
    """What the VAWs say about a row, and what learning its label needs: see `fit.vaw.forward`."""

    Px: Floats
    along: Floats
    s: Floats
    guesses: Floats


Where = tuple[Indices, Indices]  # the columns of X, and the features they hold
Sums = tuple[int, Floats, Floats, float]  # features with all their products kept; G, c, yy


class History:
    """What outlives a batch: means of values, losses of the VAWs, the reach of the labels.

    Sums: `total` and `count` of the values that arrived, feature by feature; `losses` of each VAW.
    A maximum: `reach`, the largest |y|. Derived: the means, which stand in for absent values.
    """

    SAVED = ("total", "count", "losses", "reach")

    losses: Annotated[Floats, AT_LEAST_0]
    reach: Annotated[float, Holds(least=0.0, most=LARGEST)]

    def __init__(self, d: int, experts: int) -> None:
        self.total: Floats = np.zeros(d)
        self.count: Indices = np.zeros(d, dtype=np.int64)
        self.losses = np.zeros(experts)
        self.reach = 0.0

    def shares(self) -> Floats:
        """The weight of each VAW, proportional to exp(-loss / (2 reach^2))."""
        scale = 2.0 * self.reach**2 if self.reach > 0.0 else 1.0
        weight = np.exp((self.losses.min() - self.losses) / scale)
        share: Floats = weight / weight.sum()
        return share


class MiniBatch:
    """Rounds that read the features S and predict by VAW on V, a part of S.

    There may be several VAWs that differ in where they start. Vovk's aggregating algorithm then
    predicts from their guesses, each cut off at the largest label so far: for labels within that
    reach Y it loses at most 2 Y^2 log(number of VAWs) more than the best of them, over all batches
    together. A single VAW is played as it is.

    Sums: `G` (of x x' over `features`, the played ones first: its upper triangle, and of features
    that are not played the squares only unless `all_pairs`), `c`, `yy`, `n`. Derived: each VAW's
    `P` and `theta`, by rank-1 updates from its start.

    Parameters
    ----------
    V, S
        The played features, each once, and all that are read, ascending.
    A, b
        Where each VAW starts: A[e] = ridge I, b[e] = 0, or with the sums of earlier rows added.
    all_pairs
        Whether to keep the products of features that are read and not played.

    Examples
    --------
    >>> V, S = np.array([3]), np.array([1, 3])
    >>> batch, history = MiniBatch(V, S, np.eye(1)[None], np.zeros((1, 1)), False), History(5, 1)
    >>> batch.add(np.array([2.0, 1.0]), 3.0, history)
    >>> batch.predict(np.array([0.0, 1.0]), history), batch.c  # c in the order V, then the rest
    (1.0, array([3., 6.]))
    """

    SAVED = ("P", "theta", "G", "c", "yy", "n")  # of a batch of the same V and S

    yy: Annotated[float, AT_LEAST_0]

    def __init__(self, V: Indices, S: Indices, A: Floats, b: Floats, all_pairs: bool) -> None:
        self.V, self.S = V, S
        place = np.searchsorted(S, V)
        others = np.ones(len(S), dtype=np.bool_)
        others[place] = False
        self.in_S: Indices = np.concatenate([place, np.flatnonzero(others)])
        self.features: Indices = S[self.in_S]
        self.P: Floats = inverse(A)
        self.theta: Floats = solution(self.P, b)
        m = len(S)
        self._rows = m if all_pairs else len(V)
        self.G: Floats = np.zeros((m, m))
        self.c: Floats = np.zeros(m)
        self.yy = 0.0
        self.n = 0

    def predict(self, values: Floats, history: History) -> float:
        """The prediction for the values of S; changes nothing."""
        X, where = np.array(values)[np.newaxis], (self.in_S, self.features)
        return predict_row(X, where, self._vaws(history))

    def add(self, values: Floats, y: float, history: History) -> None:
        """Learn one row: the values of S (ascending), NaN where absent, and the label."""
        X = np.array(values)[np.newaxis]
        self._play(X, np.array([y]), self.in_S, history, np.empty(1))

    def play(
        self, X: NDArray[np.floating], y: Floats, history: History, predictions: Floats
    ) -> int:
        """Predict and learn the rows of X, which have all d features, one after the other.

        Returns how many: all of them, or those before the first one that is too large to square.
        """
        fault = int(first_oversized(X, y, self.features))
        n = len(y) if fault < 0 else fault
        self._play(X[:n], y[:n], self.features, history, predictions[:n])
        return n

    def _play(
        self,
        X: NDArray[np.floating],
        y: Floats,
        columns: Indices,
        history: History,
        predictions: Floats,
    ) -> None:
        where, sums = (columns, self.features), (self._rows, self.G, self.c, self.yy)
        self.yy, history.reach = play_rows(X, y, where, self._vaws(history), sums, predictions)
        self.n += len(y)

    def _vaws(self, history: History) -> Vaws:
        past = (history.total, history.count)
        return Vaws(self.P, self.theta, history.losses, history.reach, *past)

    def by_feature(self, columns: Floats) -> Floats:
        """An array whose columns are in batch order, with its columns in the order of S."""
        result = np.empty_like(columns)
        result[:, self.in_S] = columns
        return result


@kernel
def first_oversized(X: NDArray[np.floating], y: Floats, columns: Indices) -> int:
    """The first row with a label, or a value in the columns, too large to be squared; or -1."""
    for t in range(len(X)):
        if abs(y[t]) > LARGEST:
            return t
        for j in columns:
            if abs(X[t, j]) > LARGEST:  # NaN is absent and passes
                return t
    return -1


@kernel
def _gather(X: NDArray[np.floating], t: int, where: Where, vaws: Vaws, x: Floats) -> None:
    (columns, features), total, count = where, vaws.total, vaws.arrived
    for a in range(len(x)):
        j = features[a]
        x[a] = taken(np.float64(X[t, columns[a]]))
        if np.isnan(x[a]):
            x[a] = total[j] / count[j] if count[j] > 0 else 0.0


@kernel
def aggregate(guesses: Floats, losses: Floats, reach: float) -> float:
    """Vovk's aggregating algorithm for square loss and labels in [-reach, reach].

    g(v) = -2 reach^2 log sum_e exp(-(losses_e + (v - guess_e)^2) / (2 reach^2)), up to a constant;
    the prediction is (g(-reach) - g(reach)) / (4 reach).
    """
    if len(guesses) == 1:
        return float(guesses[0])
    if not reach > 0.0:
        return 0.0
    scale, low = 2.0 * reach * reach, losses.min()
    below, above = 0.0, 0.0
    for e in range(len(guesses)):
        weight = math.exp((low - losses[e]) / scale)
        down, up = reach + guesses[e], reach - guesses[e]
        below += weight * math.exp(-(down * down) / scale)
        above += weight * math.exp(-(up * up) / scale)
    # Of the two sums, neither is 0: guesses lie within the reach and the best weight is 1.
    return 0.5 * reach * (math.log(above) - math.log(below))


@kernel
def _room(vaws: Vaws) -> Guesses:
    E, v = vaws.theta.shape
    return Guesses(np.empty((E, v)), np.empty(E), np.empty(E), np.empty(E))


@kernel
def _guess(vaws: Vaws, x: Floats, reach: float, out: Guesses) -> None:
    # Each expert's prediction, within the reach of the labels so far if there are several.
    P, theta, (Px, along, s, guesses) = vaws.P, vaws.theta, out
    for e in range(len(theta)):
        along[e], s[e] = forward(P[e], theta[e], x, Px[e])
        guesses[e] = along[e] / s[e]
        if len(theta) > 1:
            guesses[e] = min(max(guesses[e], -reach), reach)


@kernel
def predict_row(X: NDArray[np.floating], where: Where, vaws: Vaws) -> float:
    """The prediction for the first row of X; nothing changes."""
    x, room = np.empty(vaws.theta.shape[1]), _room(vaws)
    _gather(X, 0, where, vaws, x)
    _guess(vaws, x, vaws.reach, room)
    return aggregate(room.guesses, vaws.losses, vaws.reach)


@kernel
def play_rows(
    X: NDArray[np.floating], y: Floats, where: Where, vaws: Vaws, sums: Sums, predictions: Floats
) -> tuple[float, float]:
    """Predict and learn the rows one after the other; returns the new sum of y^2 and the new reach.

    G receives the products of the first `rows` features with all later ones and all squares, c
    those with the label; `total`, `count` the values that arrived.
    """
    (columns, features), (rows, G, c, yy) = where, sums
    P, theta, losses, reach, total, count = vaws
    m, E = len(features), len(theta)
    x, room = np.empty(m), _room(vaws)
    Px, along, s, guesses = room
    for t in range(len(y)):
        _gather(X, t, where, vaws, x)
        _guess(vaws, x, reach, room)
        predictions[t] = aggregate(guesses, losses, reach)
        for e in range(E):
            error = y[t] - guesses[e]
            losses[e] += error * error
            learn(P[e], theta[e], Px[e], along[e], s[e], y[t])
        for a in range(m):
            c[a] += x[a] * y[t]
            last = m if a < rows else a + 1
            for b in range(a, last):
                G[a, b] += x[a] * x[b]
        yy += y[t] * y[t]
        reach = max(reach, abs(y[t]))
        for a in range(m):
            value, j = taken(np.float64(X[t, columns[a]])), features[a]
            if not np.isnan(value):
                total[j] += value
                count[j] += 1
    return yy, reach


@kernel
def pool(features: Indices, G: Floats, c: Floats, all_G: Floats, all_c: Floats) -> None:
    """Add the sums of a batch to those of all features; upper triangles on both sides."""
    m = len(features)
    for a in range(m):
        i = features[a]
        all_c[i] += c[a]
        for b in range(a, m):
            j = features[b]
            all_G[min(i, j), max(i, j)] += G[a, b]
