"""A mini-batch of Algorithm 2: the same features every round, VAW on some, sums over all."""

from __future__ import annotations

import functools
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from keyhole.problem import Floats, Indices


@functools.cache
def _kernels() -> ModuleType:
    from keyhole.blocks.kernels import minibatch

    return minibatch


class History:
    """What outlives a batch: means of values, losses of the VAWs, the reach of the labels.

    Sums: `total` and `count` of the values that arrived, feature by feature; `losses` of each VAW.
    A maximum: `reach`, the largest |y|. Derived: the means, which stand in for absent values.
    """

    SAVED = ("total", "count", "losses", "reach")

    def __init__(self, d: int, experts: int) -> None:
        self.total: Floats = np.zeros(d)
        self.count: Indices = np.zeros(d, dtype=np.int64)
        self.losses: Floats = np.zeros(experts)
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

    def __init__(self, V: Indices, S: Indices, A: Floats, b: Floats, all_pairs: bool) -> None:
        self.V, self.S = V, S
        place = np.searchsorted(S, V)
        others = np.ones(len(S), dtype=np.bool_)
        others[place] = False
        self.in_S: Indices = np.concatenate([place, np.flatnonzero(others)])
        self.features: Indices = S[self.in_S]
        self.P: Floats = np.linalg.inv(A).astype(np.float64)
        self.theta: Floats = (self.P @ b[:, :, None])[:, :, 0].copy()
        m = len(S)
        self._rows = m if all_pairs else len(V)
        self.G: Floats = np.zeros((m, m))
        self.c: Floats = np.zeros(m)
        self.yy = 0.0
        self.n = 0

    def predict(self, values: Floats, history: History) -> float:
        """The prediction for the values of S; changes nothing."""
        row = (np.array(values)[np.newaxis], self.in_S, self.features)
        past = (history.total, history.count)
        vaws = (self.P, self.theta, history.losses, history.reach)
        return float(_kernels().predict_row(*row, *past, *vaws))

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
        fault = int(_kernels().first_oversized(X, y, self.features))
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
        past = (history.total, history.count)
        vaws = (self.P, self.theta, history.losses, history.reach)
        yy, history.reach = _kernels().play_rows(
            X, y, columns, self.features, *past, *vaws, self._rows, self.G, self.c, predictions
        )
        self.yy += yy
        self.n += len(y)

    def by_feature(self, columns: Floats) -> Floats:
        """An array whose columns are in batch order, with its columns in the order of S."""
        result = np.empty_like(columns)
        result[:, self.in_S] = columns
        return result
