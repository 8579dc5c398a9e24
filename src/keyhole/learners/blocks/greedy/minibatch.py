"""A mini-batch of Algorithm 2: its draw, VAW on some features, sums over all, what outlives it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from keyhole.core.functions import c_function
from keyhole.core.records import hold
from keyhole.errors import LARGEST
from keyhole.learners.blocks.fit.linear_algebra import inverse, solution
from keyhole.learners.blocks.greedy.budgeted_experts import Draw
from keyhole.problem import DataError, Floats, Indices, positive_number
from keyhole.problem.state import AT_LEAST_0, Holds


class Vaws(NamedTuple):
    """Several VAWs on the first of some features, the sums of all of these, and what outlives both.

    P[e], theta[e] and losses[e] are those of VAW e. The values of an observation come in the order
    of S, where feature features[a] stands at columns[a]. `total` and `arrived` are sums and numbers
    of the values that arrived so far, of all d features.
    """

    columns: Annotated[Indices, "m"]
    features: Annotated[Indices, "m"]
    P: Annotated[Floats, "experts v v"]
    theta: Annotated[Floats, "experts v"]
    G: Annotated[Floats, "m m"]
    c: Annotated[Floats, "m"]
    losses: Annotated[Floats, "experts"]
    total: Annotated[Floats, "d"]
    arrived: Annotated[Indices, "d"]


class RunningTotals:
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
    >>> batch = MiniBatch(V, S, np.eye(1)[None], np.zeros((1, 1)), False)
    >>> history = RunningTotals(5, 1)
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
        self._known: Vaws | None = None

    def predict(self, values: Floats, history: RunningTotals) -> float:
        """The prediction for the values of S; changes nothing."""
        return predict_row(self._vaws(history), values.copy(), history.reach)

    def add(self, values: Floats, y: float, history: RunningTotals) -> None:
        """Learn one row: the values of S (ascending), NaN where absent, and the label."""
        self.yy, history.reach = learn_row(
            self._vaws(history), values.copy(), y, self._rows, self.yy, history.reach
        )
        self.n += 1

    def play(
        self, X: NDArray[np.floating], y: Floats, history: RunningTotals, predictions: Floats
    ) -> int:
        """Predict and learn the rows of X, which have all d features, one after the other.

        Returns how many: all of them, or those before the first one that is too large to square.
        """
        played, self.yy, history.reach = play_rows(
            self._vaws(history), X, y, predictions, self._rows, self.yy, history.reach
        )
        self.n += played
        return played

    def _vaws(self, history: RunningTotals) -> Vaws:
        """What compiled code learns into."""
        known = self._known
        if known is None or known.P is not self.P or known.losses is not history.losses:
            own = (self.in_S, self.features, self.P, self.theta, self.G, self.c)
            known = hold(Vaws(*own, history.losses, history.total, history.count))
            self._known = known
        return known

    def gains(self, slots: Indices, history: RunningTotals) -> tuple[Floats, Floats]:
        """`slot_gains` of these rows, for slots at these places of `features`; columns as in S."""
        levels, gains = np.empty(len(slots)), np.empty((len(slots), len(self.S)))
        judge_slots(self._vaws(history), slots, self.yy, self.n, levels, gains)
        return levels, gains


@c_function("kh_aggregate", "guesses[experts] losses[experts]")
def aggregate(guesses: Floats, losses: Floats, reach: float) -> float:
    """Vovk's aggregating algorithm for square loss and labels in [-reach, reach].

    g(v) = -2 reach^2 log sum_e exp(-(losses_e + (v - guess_e)^2) / (2 reach^2)), up to a constant;
    the prediction is (g(-reach) - g(reach)) / (4 reach).
    """
    raise NotImplementedError


@c_function("kh_predict_row", "values[m]", room="v + experts*v + 3*experts")
def predict_row(vaws: Vaws, values: Floats, reach: float) -> float:
    """The prediction for the values of S; nothing changes."""
    raise NotImplementedError


@c_function("kh_learn_row", "values[m]", room="m + experts*v + 3*experts")
def learn_row(
    vaws: Vaws, values: Floats, y: float, rows: int, yy: float, reach: float
) -> tuple[float, float]:
    """Learn a row of values of S and its label; yy and reach. See `play_rows`."""
    raise NotImplementedError


@c_function(
    "kh_play_rows",
    "X[n,d] y[n] predictions[n]",
    writes="predictions",
    room="m + experts*v + 3*experts",
    long=True,
)
def play_rows(
    vaws: Vaws,
    X: NDArray[np.floating],
    y: Floats,
    predictions: Floats,
    rows: int,
    yy: float,
    reach: float,
) -> tuple[int, float, float]:
    """Predict and learn rows up to the first that is too large to square; how many, yy, reach.

    G receives the products of the first `rows` features with all later ones and all squares, c
    those with the label; `total`, `arrived` the values that arrived.
    """
    raise NotImplementedError


@c_function(
    "kh_judge_slots",
    "slots[k1] levels[k1] gains[k1,m]",
    writes="levels gains",
    room="2*k1*m + 2*m",
)
def judge_slots(
    vaws: Vaws, slots: Indices, yy: float, n: int, levels: Floats, gains: Floats
) -> None:
    """levels[i] = g(V) and gains[i, a] = g(V) - g(V + S[a]) over n rows, V the slots before i."""
    raise NotImplementedError


@c_function("kh_pool", "features[m] G[m,m] c[m] all_G[d,d] all_c[d]", writes="all_G all_c")
def pool(features: Indices, G: Floats, c: Floats, all_G: Floats, all_c: Floats) -> None:
    """Add the sums of a batch to those of all features; upper triangles on both sides."""
    raise NotImplementedError


class Memory(Protocol):
    """What is remembered between batches, for the VAWs."""

    @property
    def experts(self) -> int:
        """How many VAWs are run side by side."""

    @property
    def all_pairs(self) -> bool:
        """Whether a batch must keep the products of features that are read and not played."""

    def start(self, V: Indices) -> tuple[Floats, Floats]:
        """A (experts x v x v) and b (experts x v) of the VAWs on the features V."""

    def keep(self, batch: MiniBatch) -> None:
        """Remember a batch that is over."""


class Restart:
    """The paper: a new VAW in every batch, with A = ridge I. Nothing is remembered."""

    SAVED = ()

    experts = 1
    all_pairs = False

    def __init__(self, d: int, ridge: float) -> None:
        self.ridge = positive_number("ridge", ridge)

    def start(self, V: Indices) -> tuple[Floats, Floats]:
        """ridge I and 0."""
        return self.ridge * np.eye(len(V))[np.newaxis], np.zeros((1, len(V)))

    def keep(self, batch: MiniBatch) -> None:
        """Nothing."""


class RestartAndCarry:
    """Two VAWs: one starts anew in every batch, one has seen all earlier rows.

    The second starts from sums over every earlier row, in which features that were not read count
    as 0: A = R + sum x_V x_V', b = sum x_V y, exactly a VAW that was fed those rows. It does not
    pay for a new start in every batch, and it follows no change; the first keeps `lem:vaw`.

    R is diagonal, `ridge` times the mean square of each feature where it was read (1 where it
    never was): multiplying a feature by a number then changes no prediction.

    Sums: `G` (upper triangle), `c`, `reads`. Nothing derived is kept.
    """

    SAVED = ("G", "c", "reads")

    experts = 2
    all_pairs = True

    def __init__(self, d: int, ridge: float) -> None:
        self.ridge = positive_number("ridge", ridge)
        self.G: Floats = np.zeros((d, d))
        self.c: Floats = np.zeros(d)
        self.reads: Indices = np.zeros(d, dtype=np.int64)

    def start(self, V: Indices) -> tuple[Floats, Floats]:
        """The ridge alone, and the ridge with all earlier rows."""
        A, b = np.empty((2, len(V), len(V))), np.empty((2, len(V)))
        _start_carried(V, self.G, self.c, self.reads, self.ridge, A, b)
        return A, b

    def keep(self, batch: MiniBatch) -> None:
        """Add the sums of the batch."""
        pool(batch.features, batch.G, batch.c, self.G, self.c)
        self.reads[batch.S] += batch.n


@c_function("kh_start_carried", "V[v] G[d,d] c[d] reads[d] A[2,v,v] b[2,v]", writes="A b")
def _start_carried(
    V: Indices, G: Floats, c: Floats, reads: Indices, ridge: float, A: Floats, b: Floats
) -> None:
    raise NotImplementedError


@dataclass(slots=True, eq=False)
class GreedyBatch:
    """What a batch reads and plays."""

    draw: Draw
    slots: Indices  # where each slot's feature stands in the order of `mini`
    mini: MiniBatch

    SAVED = ("draw", "mini")


def begin(draw: Draw, memory: Memory) -> GreedyBatch:
    """The batch of a draw, before its first row. A feature drawn by several slots is once in V.

    A draw that is none, for instance from a file, is a DataError.
    """
    n, m = len(draw.j), len(draw.S)
    read = m > 0 and (draw.S.take(np.searchsorted(draw.S, draw.j), mode="clip") == draw.j).all()
    if draw.p.shape != (n, m) or draw.weight.shape != (n, m) or not read:
        raise DataError(f"not a draw of {n} slots that reads {draw.S.tolist()}")
    V = np.array(list(dict.fromkeys(draw.j.tolist())), dtype=np.int64)
    slots = (draw.j[:, np.newaxis] == V).argmax(axis=1)
    return GreedyBatch(draw, slots, MiniBatch(V, draw.S, *memory.start(V), memory.all_pairs))
