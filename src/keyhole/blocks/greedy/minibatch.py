"""A mini-batch of Algorithm 2: the same features every round, VAW on some, sums over all."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.fit.inverse import inverse, solution
from keyhole.blocks.jit.decorators import kernel
from keyhole.core.functions import c_function
from keyhole.errors import LARGEST
from keyhole.fields import AT_LEAST_0, Holds
from keyhole.problem import Floats, Indices


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
        return predict_row(values, self.in_S, self.features, *self._vaws(history))

    def add(self, values: Floats, y: float, history: History) -> None:
        """Learn one row: the values of S (ascending), NaN where absent, and the label."""
        self._play(values[np.newaxis], np.array([y]), self.in_S, history, np.empty(1))

    def play(self, X: Floats, y: Floats, history: History, predictions: Floats) -> int:
        """Predict and learn the rows of X, which have all d features, one after the other.

        Returns how many: all of them, or those before the first one that is too large to square.
        """
        return self._play(X, y, self.features, history, predictions)

    def _play(
        self, X: Floats, y: Floats, columns: Indices, history: History, predictions: Floats
    ) -> int:
        sums = (self._rows, self.G, self.c, self.yy)
        played, self.yy, history.reach = play_rows(
            X, y, columns, self.features, *self._vaws(history), *sums, predictions
        )
        self.n += played
        return played

    def _vaws(self, history: History) -> tuple[Floats, Floats, Floats, Floats, Indices, float]:
        past = (history.losses, history.total, history.count, history.reach)
        return self.P, self.theta, *past

    def by_feature(self, columns: Floats) -> Floats:
        """An array whose columns are in batch order, with its columns in the order of S."""
        result = np.empty_like(columns)
        result[:, self.in_S] = columns
        return result


@c_function("kh_first_oversized", "X[n,d] y[n] columns[m]")
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


@c_function("kh_aggregate", "guesses[experts] losses[experts]")
def aggregate(guesses: Floats, losses: Floats, reach: float) -> float:
    """Vovk's aggregating algorithm for square loss and labels in [-reach, reach].

    g(v) = -2 reach^2 log sum_e exp(-(losses_e + (v - guess_e)^2) / (2 reach^2)), up to a constant;
    the prediction is (g(-reach) - g(reach)) / (4 reach).
    """
    raise NotImplementedError


_VAWS = "P[experts,v,v] theta[experts,v] losses[experts] total[d] arrived[d]"


@c_function(
    "kh_predict_row",
    f"values[m] columns[m] features[m] {_VAWS}",
    room="v + experts*v + 3*experts",
)
def predict_row(
    values: Floats,
    columns: Indices,
    features: Indices,
    P: Floats,
    theta: Floats,
    losses: Floats,
    total: Floats,
    arrived: Indices,
    reach: float,
) -> float:
    """The prediction for a row that has features[a] in columns[a]; nothing changes.

    P[e], theta[e] and losses[e] are those of VAW e, `total` and `arrived` the sums and numbers of
    the values that arrived so far, feature by feature.
    """
    raise NotImplementedError


@c_function(
    "kh_play_rows",
    f"X[n,width] y[n] columns[m] features[m] {_VAWS} G[m,m] c[m] predictions[n]",
    writes="P theta losses total arrived G c predictions",
    room="m + experts*v + 3*experts",
    long=True,
)
def play_rows(
    X: Floats,
    y: Floats,
    columns: Indices,
    features: Indices,
    P: Floats,
    theta: Floats,
    losses: Floats,
    total: Floats,
    arrived: Indices,
    reach: float,
    rows: int,
    G: Floats,
    c: Floats,
    yy: float,
    predictions: Floats,
) -> tuple[int, float, float]:
    """Predict and learn rows up to the first that is too large to square; how many, yy, reach.

    G receives the products of the first `rows` features with all later ones and all squares, c
    those with the label; `total`, `arrived` the values that arrived.
    """
    raise NotImplementedError


@c_function("kh_pool", "features[m] G[m,m] c[m] all_G[d,d] all_c[d]", writes="all_G all_c")
def pool(features: Indices, G: Floats, c: Floats, all_G: Floats, all_c: Floats) -> None:
    """Add the sums of a batch to those of all features; upper triangles on both sides."""
    raise NotImplementedError
