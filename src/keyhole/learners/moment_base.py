"""MomentLearner: forward selection and VAW from moments of what was seen, for several learners.

Forward selection and ridge fits are in units of standard deviations about the means: features have
square 1, so has the label."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple, Self

import numpy as np

from keyhole.learners.base import Choice, LearnerBase
from keyhole.learners.blocks.draw.sampling import complement_subset
from keyhole.learners.blocks.fit.purchase import Market, fill, shop_of
from keyhole.learners.blocks.sums.correlations import CONSTANT_VARIANCE
from keyhole.learners.blocks.sums.data_sums import DataSums
from keyhole.learners.blocks.sums.seen_sums import WEIGHT, SeenSums, place
from keyhole.learners.history import widen
from keyhole.problem import (
    Floats,
    Indices,
    Observation,
    Problem,
    StateError,
    positive_number,
)
from keyhole.problem.state import Holds, LearnerState, restore

MIN_NEW_SHARE = 0.05  # a feature of which less is new, given those chosen, is passed over
MIN_UNEXPLAINED = 0.05  # the share of the label that is taken to be unexplained, at least
MIN_ROWS = 1e-300  # rows: in place of none
MIN_PRICE = 1e-3  # of a unit of money: the least price that gains are divided by
MAX_CANDIDATES_AT_ONCE = 64  # candidates whose correlations are all worked out at once


class FeatureUnits(NamedTuple):
    """Of features, each from the rows in which it was seen."""

    rows: Floats  # N
    mean: Floats
    inverse: Floats  # 1 / standard deviation; 0 for a constant
    products: Floats  # correlation with the label


class ForwardFit(NamedTuple):
    """What `select_forward` found among its candidates."""

    chosen: list[int]  # places in the list of candidates, in the order they were chosen
    w: list[float]  # their weights
    units: FeatureUnits  # of all candidates
    root: list[list[float]]  # rows of M, lower triangular: M M' = R + diag(ridge / N) on the chosen


def deviation_of_label(sums: SeenSums) -> float:
    """The standard deviation of the label; 0 for rounding."""
    n, total, square = sums.totals.tolist()
    if not n > 0.0:
        return 0.0
    mean = total / n
    variance = square / n - mean * mean
    return math.sqrt(variance) if variance > CONSTANT_VARIANCE * (square / n) else 0.0


def measure(S: Indices, sums: SeenSums) -> FeatureUnits:
    """The units of the features S."""
    square, N, total, _ = sums.pairs[place(S, S, sums.d)].T
    some = np.maximum(N, MIN_ROWS)
    mean, mean_square = total / some, square / some
    variance = mean_square - mean * mean
    varies = variance > CONSTANT_VARIANCE * mean_square
    scale = np.sqrt(np.where(varies, variance, 1.0))
    inverse = varies / scale
    scale_y = deviation_of_label(sums)
    if not scale_y > 0.0:
        return FeatureUnits(N, mean, inverse, np.zeros(len(S)))
    labelled, label = sums.singles[:, S]
    products = (labelled - mean * label) / some / scale / scale_y
    return FeatureUnits(N, mean, inverse, np.where(varies, products, 0.0))


class ForwardSelection:
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
        self._R = (
            self._correlations(np.arange(len(S))).tolist()
            if len(S) <= MAX_CANDIDATES_AT_ONCE
            else None
        )

    def gains(self, bar: float = 0.0) -> list[float]:
        """How much of the label each candidate would explain; 0 unless that times N is above `bar`.

        A feature that is to 95 % a combination of those before it is passed over: with correlations
        from different rows the matrix may be indefinite, and this keeps every pivot away from 0.
        """
        gains = [0.0] * len(self.r)
        for a in self.free:
            if self.D[a] > MIN_NEW_SHARE:
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

    def fit(self) -> ForwardFit:
        """The ridge solution on the chosen."""
        root, w = [self.L[v] for v in self.chosen], self.steps.copy()
        for p in reversed(range(len(w))):
            for q in range(p + 1, len(w)):
                w[p] -= root[q][p] * w[q]
            w[p] /= root[p][p]
        return ForwardFit(self.chosen, w, self.units, root)

    def _correlations(self, some: Indices) -> Floats:
        """Of some candidates with all, each pair over the rows that have both."""
        S, (_, mean, inverse, _) = self.S, self.units
        i, m, own = S[some, None], mean[some, None], inverse[some, None]
        records = self.sums.pairs[place(np.minimum(i, S), np.maximum(i, S), self.sums.d)]
        product, N, first, second = np.moveaxis(records, -1, 0)
        lower = i <= S  # then `first` is the sum of x_i, else of x_j
        about = product - np.where(lower, mean, m) * first - np.where(lower, m, mean) * second
        R = about / np.maximum(N, MIN_ROWS) + m * mean
        # Multiplied in the same order for i, j and for j, i: to the bit, R is symmetric.
        R = R * np.where(lower, own, inverse) * np.where(lower, inverse, own)
        return np.where(N > 0.0, R, 0.0)


@np.errstate(all="ignore")
def select_forward(S: Indices, most: int, gate: float, ridge: float, sums: SeenSums) -> ForwardFit:
    """Choose at most `most` of S one after the other, each the one that explains most of what is
    left; the ridge solution on them.

    A feature whose share is below `gate` standard errors is not chosen.
    """
    found, left = ForwardSelection(S, ridge, sums), 1.0
    for _ in range(min(most, len(S))):
        gains = found.gains(gate * gate * max(left, MIN_UNEXPLAINED))
        best = max(gains)
        if not best > 0.0:
            break
        found.choose(gains.index(best))
        left -= best
    return found.fit()


@np.errstate(all="ignore")
def predicted(x: Floats, fit: ForwardFit, sums: SeenSums, limits: Floats) -> float:
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
def natural(S: Indices, fit: ForwardFit, sums: SeenSums) -> tuple[Floats, float]:
    """The weights of a fit in the units of the features, for all d of them, and the intercept."""
    (chosen, w, units, _), (n, total, _) = fit, sums.totals.tolist()
    weights = np.zeros(sums.d)
    if not n > 0.0:
        return weights, 0.0
    slopes = np.array(w) * units.inverse[chosen] * deviation_of_label(sums)
    weights[S[chosen]] = slopes
    return weights, total / n - float(slopes @ units.mean[chosen])


@np.errstate(all="ignore")
def select_greedily(
    shop: Market, k: int, ridge: float, sums: SeenSums, *, per_price: bool
) -> tuple[Indices, float]:
    """At most k features, each the one of the largest gain, or gain per price, that still fits;
    and the share of the label that they explain.
    """
    d, unpaid, money = sums.d, shop.units.copy(), shop.limit
    needing = np.repeat(np.arange(d), np.diff(shop.first))  # the feature, for each of shop.need
    found, explained = ForwardSelection(np.arange(d), ridge, sums), 0.0
    for _ in range(min(k, d)):
        prices = np.bincount(needing, unpaid[shop.need], d)
        gains = np.array(found.gains())
        worth = gains / np.maximum(MIN_PRICE, prices) if per_price else gains
        worth = np.where((prices <= money) & (worth > 0.0), worth, 0.0)
        v = int(worth.argmax())
        if not worth[v] > 0.0:
            break
        explained += float(gains[v])
        found.choose(v)
        money -= int(prices[v])
        unpaid[shop.need[shop.first[v] : shop.first[v + 1]]] = 0
    return np.array(found.chosen, dtype=np.int64), explained


def select_affordable(shop: Market, k: int, ridge: float, sums: SeenSums) -> Indices:
    """At most k features that the money buys: by gain or by gain per price, whichever explains
    more of the label.

    On known moments the first finds .836 of what is possible in the worst of the streams tried, the
    second .939, the better of the two .972.
    """
    by_gain, explained = select_greedily(shop, k, ridge, sums, per_price=False)
    by_price, more = select_greedily(shop, k, ridge, sums, per_price=True)
    return by_price if more > explained else by_gain


# standard errors: below, a feature of a round that explores is not played
GATE_STANDARD_ERRORS = 2.0


class SupportPlan(NamedTuple):
    """The support that a round plays, and how many other features it draws.

    With prices, it draws others while there is money for them, or none at all if it says 0.
    """

    support: Indices
    explore: int


class MomentMemo(NamedTuple):
    """What a ticket remembers: the support that was played when it was issued."""

    played: Annotated[Indices, Holds(below="d", ascending=True, longest="k")]


class MomentLearner(LearnerBase):
    """Sums of all that was read, from which the model in play is worked out anew every round.

    So a late label is one more row, an absent value one entry less, and the support may change at
    any time without anything being forgotten.

    A round reads a support and some others, drawn uniformly, and plays VAW on the support, or on
    the best k of what was read as long as there is none. A subclass says in `_plan` which support
    and how many others, and calls `_select` for a new one; as it is here, there never is one.

    Sums: `_sums`. Not a sum: the least and largest label so far, `_limits`. Derived: the rest.
    """

    SAVED: tuple[str, ...] = ("_sums", "_limits", "_support")
    MEMOS: tuple[type, ...] | None = (MomentMemo,)
    HANDLES_PRICES = True  # draws and selects within the money
    STUDIES = FADES = STUDIES_SUMS = True

    _support: Annotated[Indices, Holds(below="d", ascending=True, longest="k")]
    BYTES_PER_PAIR = 24.0  # the sums

    def __init__(self, problem: Problem, *, seed: int = 0, ridge: float = 1.0) -> None:
        super().__init__(problem, seed=seed)
        self.ridge = positive_number("ridge", ridge)
        self._shop = shop_of(problem)
        self._sums = SeenSums(problem.d)
        self._limits: Floats = np.zeros(2)
        self._support = np.empty(0, dtype=np.int64)

    @property
    def weights(self) -> Floats:
        """The model in play, in the units of the features: at most k non-zeros."""
        return self._model()[0]

    @property
    def intercept(self) -> float:
        """What the model adds: it is learnt about the means."""
        return self._model()[1]

    def _choose(self, t: int) -> Choice:
        """The support, if one is played, and what was drawn."""
        support, explore = self._plan(t)
        if not self.problem.counted and explore > 0:
            features = self._filled(t, support)
        else:
            drawn = complement_subset(self.seed, t, self.problem.d, explore, support)
            features = np.sort(np.concatenate([drawn, support]))
        return features, MomentMemo(support)

    def _filled(self, t: int, support: Indices) -> Indices:
        """The support and whatever else fits within the money, in a random order."""
        out = np.empty(self.problem.width, dtype=np.int64)
        return out[: fill(np.uint64(self.seed), t, 0, support, self._shop, out)]

    def _predict(self, seen: Observation) -> float:
        """The prediction of VAW on the support of the ticket, or on the best of what was read."""
        support, (S, x) = seen.ticket.memo["played"], seen.arrived()
        if len(support):
            x = seen.at(support)
            here = ~np.isnan(x)
            S, x = support[here], x[here]
        return predicted(x, self._fit(S, support), self._sums, self._limits)

    def _fit(self, S: Indices, support: Indices) -> ForwardFit:
        """The fit of all of S, which is within the support if there is one, else of the best k."""
        if len(support):
            return select_forward(S, len(S), 0.0, self.ridge, self._sums)
        return select_forward(S, self.problem.k, GATE_STANDARD_ERRORS, self.ridge, self._sums)

    def _learn(self, seen: Observation, label: float) -> None:
        """Add what was read to the sums."""
        ticket = seen.ticket
        self._add(ticket.features, seen.values, label)

    def _add(self, features: Indices, values: Floats, y: float) -> None:
        """A row, NaN for what is absent, and its label."""
        widen(self._limits, (y, y), known=bool(self._sums.totals[WEIGHT] > 0.0))
        self._sums.add(features, values, y)

    def _study(self, X: Floats, y: Floats, keep: float) -> None:
        everything = np.arange(self.problem.d)
        for row, label in zip(X, y.tolist(), strict=True):
            if keep < 1.0:
                self._sums.scale(keep)
            self._add(everything, row, label)

    def _study_sums(self, history: DataSums) -> None:
        widen(self._limits, history.ends, known=bool(self._sums.totals[WEIGHT] > 0.0))
        self._sums.add_complete(history)

    @classmethod
    def _restored(cls, state: LearnerState) -> Self:
        return restore(cls, state, loose=("_support",))

    def _plan(self, t: int) -> SupportPlan:
        """What round t reads and plays."""
        return SupportPlan(self._support, self.problem.width)

    def _select(self) -> None:
        """Forward selection on all that was read; without a label the support stays."""
        if self._sums.totals[WEIGHT] > 0.0:
            self._support = self._selected()

    def _selected(self) -> Indices:
        """The k features that forward selection takes, ascending; fewer if nothing is gained."""
        d, k = self.problem.d, self.problem.k
        if not self.problem.counted:
            return np.sort(select_affordable(self._shop, k, self.ridge, self._sums))
        chosen = select_forward(np.arange(d), k, 0.0, self.ridge, self._sums).chosen
        return np.array(sorted(chosen), dtype=np.int64)

    def _model(self) -> tuple[Floats, float]:
        """Weights and intercept."""
        S = self._support
        if not len(S):
            S = np.arange(self.problem.d) if self.problem.counted else self._selected()
        return natural(S, self._fit(S, self._support), self._sums)

    def _resume(self) -> None:
        """StateError unless the support is affordable."""
        if not self.problem.affords(self._support):
            raise StateError(f"support: {self._support.tolist()} is more than the budget buys")
