"""Subset experts: multiplicative weights over all k-subsets, each with a gradient descent.

The exact competitor for few features. With R a uniform m-subset of the d features, p = m/d and
q = m(m - 1)/(d(d - 1)) the probabilities that it holds a feature, a pair, and s = sum of w_i x_i,
o = sum of w_i^2 x_i^2 over the features of a subset S that are in R,

    loss(S)     = o/p + (s^2 - o)/q - 2 y s/p              mean: <w_S, x>^2 - 2 y <w_S, x>
    gradient_i  = 2 x_i (w_i x_i/p + (s - w_i x_i)/q - y/p)     for i in S and R, else 0

are unbiased for the squared loss of w_S, up to y^2, and for its gradient: O(k) per subset.
"""

from __future__ import annotations

import itertools
import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.learners.base import Choice, LearnerBase, at_least
from keyhole.learners.blocks.draw.philox import categorical, uniform
from keyhole.learners.blocks.draw.sampling import inclusion_uniform, uniform_subset
from keyhole.learners.registry import LINEAR_MEMORY_LEARNERS
from keyhole.problem import (
    Floats,
    Indices,
    Observation,
    Problem,
    ProblemError,
    positive_number,
    whole_number,
)
from keyhole.problem.state import AT_LEAST_0, Holds

MAX_SUBSETS = 100_000  # subsets
EXPLORE, PLAY = range(2)  # purposes of the draws of a round
VARIANCE, DEVIATION = range(2)  # of `SubsetWeights.tally`


class SubsetWeights(NamedTuple):
    """What changes: arrays with one row per subset, in lexicographic order.

    Sums: `losses`; `squares` of the gradients; `tally`, the variance of the losses over the draw
    of a subset, and the largest deviation from their mean. Derived: `w`, projected on the ball;
    `chances`, proportional to the probability of each subset.
    """

    w: Floats
    squares: Annotated[Floats, AT_LEAST_0]
    losses: Floats
    chances: Annotated[Floats, AT_LEAST_0]
    tally: Annotated[Floats, AT_LEAST_0]


class SubsetExpertsMemo(NamedTuple):
    """What a ticket remembers: what it explores, and the model that was drawn to play."""

    explore: Annotated[Indices, Holds(ascending=True, shape=("m",), among="features")]
    support: Annotated[Indices, Holds(ascending=True, shape=("k",), among="features")]
    weights: Annotated[Floats, Holds(shape=("k",))]
    means: Annotated[Floats, Holds(shape=("k",))]


class SubsetExpertsLearner(LearnerBase):
    """Every k-subset of the features is an expert that learns its own weights; one of them plays.

    Round t draws S_t with probability proportional to exp(-eta_H sum of loss(S)), reads it and an
    independent uniform subset R_t of m features, and predicts <w_S, x> with the weights of S_t.
    From R_t, with p = m/d and q = m(m - 1)/(d(d - 1)),

        X_ii = x_i^2/p,  X_ij = x_i x_j/q,  z_i = y x_i/p        for i, j in R_t, else 0
        loss(S) = w_S' X w_S - 2 z' w_S;    w_S <- w_S - 2 eta_S (X w_S - z) on S

    for **all** subsets, w_S scaled back to its ball if need be: O(k) each, C(d, k) of them.

    Sums: losses, squared gradients, values read. Derived: weights of the subsets, their chances.

    Parameters
    ----------
    problem
        m = budget - k features explore, 2 at least; all d of them if budget = d. C(d, k) may be
        100,000.
    seed
        Random seed.
    radius
        Of the ball |w_S|_2 <= radius.
    horizon
        T, for the theorem's fixed rates eta_H = q sqrt(k ln d/T), eta_S = q/sqrt(T), made for
        |x|_2 <= 1, |y| <= 1. None: eta_H = sqrt(ln C(d, k) / V), V the variances of the losses over
        the draw of S_t summed up, but at most 1 / the largest deviation; each subset its own
        eta_S = sqrt(2) radius / (2 sqrt(sum of |X w_S - z|^2)).
    clip
        Cut predictions off at the range of the labels so far; False is the algorithm of the paper.

    Guarantee
    ---------
    Foster, Kale and Karloff (2016): with the horizon, |x|_2 <= 1, |y| <= 1, radius 1, expected
    regret O(d^2/m^2 sqrt(k T ln d)) against every k-sparse w in the ball, for any sequence fixed in
    advance. Not checked. The time is the price: they show that nothing polynomial in d and k has
    regret below T for every sequence, unless NP is in BPP.

    Deviations
    ----------
    The printed eta_H lacks sqrt(k), without which the bound is k sqrt(T ln d)/q. Without a horizon
    the rates measure what they need. R_t and S_t may overlap, which leaves reads unspent: filling
    up would change p and q. y^2, the same for all, is left out of the losses; so are losses too
    large to be squared. An absent value counts as the mean of its feature so far.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, truth = kh.streams.realizable(d=10, k=2, n=5000, noise_sd=0.1, seed=0)
    >>> learner = kh.SubsetExpertsLearner(kh.Problem(d=10, k=2, budget=6), seed=0)
    >>> ledger = kh.play(learner, stream)
    >>> bool((np.flatnonzero(learner.weights) == truth.support).all())
    True

    References
    ----------
    Foster, Kale, Karloff (2016), Online sparse linear regression, COLT.
    """

    SAVED = ("_weights", "_counts", "_sums")
    MEMOS = (SubsetExpertsMemo,)

    _counts: Annotated[Floats, AT_LEAST_0]

    def __init__(
        self,
        problem: Problem,
        *,
        seed: int = 0,
        radius: float = 1.0,
        horizon: int | None = None,
        clip: bool = False,
    ) -> None:
        d, k = problem.d, problem.k
        m = problem.exploration
        if m < 2 and m < d:
            raise ProblemError(
                f"budget must be {at_least(problem, k + 2, f'k + 2 = {k + 2}, or all d = {d},')} "
                f"to see pairs of features, got {problem.budget}"
            )
        n = math.comb(d, k)
        if n > MAX_SUBSETS:
            raise ProblemError(
                f"d = {d}, k = {k} have {n:,} subsets and each would be an expert; at most "
                f"{MAX_SUBSETS:,} are allowed: use fewer features, a smaller k, or by name a "
                f"learner that needs O(d): {', '.join(LINEAR_MEMORY_LEARNERS)}"
            )
        self.radius = positive_number("radius", radius)
        self.horizon = None if horizon is None else whole_number("horizon", horizon, 1)
        super().__init__(problem, seed=seed, clip=clip)
        scheme = inclusion_uniform(d, m)
        self._m, self._p, self._q = m, scheme.p, scheme.q if d > 1 else 1.0
        self._hedge_rate = self._rate = 0.0  # measured
        if self.horizon is not None:  # eta_H is 0 for d = 1, where there is nothing to choose
            T = self.horizon
            self._hedge_rate = self._q * math.sqrt(k * math.log(d) / T)
            self._rate = self._q / math.sqrt(T)
        self._subsets = all_subsets(d, k)
        self._weights = new_weights(n, k)
        self._counts = np.zeros(d)
        self._sums: Floats = np.zeros(d)

    @property
    def weights(self) -> Floats:
        """The weights of the subset with the least loss so far, which is the likeliest to play."""
        weights = np.zeros(self.problem.d)
        best = int(np.argmin(self._weights.losses))
        weights[self._subsets[best]] = self._weights.w[best]
        return weights

    def probabilities(self) -> Floats:
        """With which probability each subset would play now, in lexicographic order."""
        chances: Floats = self._weights.chances / self._weights.chances.sum()
        return chances

    def _choose(self, t: int) -> Choice:
        """The subset drawn to play and the features drawn to explore."""
        d = self.problem.d
        R = uniform_subset(self.seed, t, d, self._m, purpose=EXPLORE)
        drawn = categorical(uniform(np.uint64(self.seed), t, PLAY, 0), self._weights.chances)
        S, w = self._subsets[drawn].astype(np.int64), self._weights.w[drawn].copy()
        means = self._sums[S] / np.maximum(self._counts[S], 1.0)
        return np.union1d(R, S), SubsetExpertsMemo(R, S, w, means)

    def _predict(self, seen: Observation) -> float:
        """<w_S, x> with the subset and the weights of the ticket."""
        memo = seen.ticket.memo
        x = seen.at(memo["support"])
        return float(memo["weights"] @ np.where(np.isnan(x), memo["means"], x))

    def _learn(self, seen: Observation, label: float) -> None:
        """Judge every subset by what was explored, and let it step."""
        ticket = seen.ticket
        R, explored = ticket.memo["explore"], np.zeros(self.problem.d)
        x = seen.at(R)
        means = self._sums[R] / np.maximum(self._counts[R], 1.0)
        explored[R] = np.where(np.isnan(x), means, x)
        i, values = seen.arrived()
        self._counts[i] += 1.0
        self._sums[i] += values
        self._weigh(self._judge(explored, label))

    def _judge(self, x: Floats, y: float) -> Floats:
        """The losses of all subsets, estimated from x, 0 where it was not explored; then each of
        them steps: with the weights from before, and a rate of its own.
        """
        it, values, losses = self._weights, x[self._subsets], np.zeros(len(self._subsets))
        each = np.ones(self.problem.k)  # A @ each: sums of rows, faster than A.sum(axis=1)
        some = np.flatnonzero(np.abs(values) @ each)
        w, values = it.w[some], values[some]
        part = w * values
        s, o = part @ each, (part * part) @ each
        losses[some] = o / self._p + (s * s - o) / self._q - 2.0 * y * s / self._p
        g = 2.0 * values * ((part - y) / self._p + (s[:, None] - part) / self._q)
        size = it.squares[some] + (g * g) @ each
        eta = self._rate or np.sqrt(2.0 / size[:, None]) * self.radius
        w -= eta * g
        norm = np.sqrt((w * w) @ each)
        w *= (self.radius / np.maximum(norm, self.radius))[:, None]
        usable = (size > 0.0) & (size < np.inf) & (norm < np.inf)
        some = some[usable]
        it.w[some], it.squares[some] = w[usable], size[usable]
        return losses

    def _weigh(self, losses: Floats) -> None:
        """Add the losses; chances ~ exp(-eta sum of losses), the best one's exp(0)."""
        it, tally, total = self._weights, self._weights.tally, self._weights.chances.sum()
        mean, second = it.chances @ losses / total, it.chances @ (losses * losses)
        if not second < np.inf:  # a loss too large to be squared: left out
            return
        tally[VARIANCE] += max(second / total - mean * mean, 0.0)
        tally[DEVIATION] = max(tally[DEVIATION], np.abs(losses - mean).max())
        it.losses[:] += losses
        if tally[VARIANCE] > 0.0:
            measured = math.sqrt(math.log(len(losses)) / tally[VARIANCE])
            eta = self._hedge_rate or min(measured, 1.0 / tally[DEVIATION])
            it.chances[:] = np.exp(-eta * (it.losses - it.losses.min()))

    def _sizes(self) -> dict[str, int]:
        return {**super()._sizes(), "m": self._m}


def all_subsets(d: int, k: int) -> NDArray[np.int32]:
    """Every k-subset of d features, one per row.

    >>> all_subsets(3, 2).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    flat = itertools.chain.from_iterable(itertools.combinations(range(d), k))
    n = math.comb(d, k)
    return np.fromiter(flat, dtype=np.int32, count=n * k).reshape(n, k)


def new_weights(n: int, k: int) -> SubsetWeights:
    """Before the first label: all subsets alike, all weights 0."""
    return SubsetWeights(np.zeros((n, k)), np.zeros(n), np.zeros(n), np.ones(n), np.zeros(2))
