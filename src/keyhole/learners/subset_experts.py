"""Multiplicative weights over all k-subsets: the exact competitor for few features."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from keyhole.blocks.draw.reading import Block
from keyhole.blocks.draw.sampling import inclusion_uniform, workspace
from keyhole.blocks.draw.sorting import merge
from keyhole.blocks.fit.linear import predict_seen
from keyhole.blocks.literature import subset_experts as kernels
from keyhole.blocks.literature.subset_experts import MOST, Rule, Seen, all_subsets, new_weights
from keyhole.fields import AT_LEAST_0, Holds
from keyhole.learners.base import LearnerBase, at_least
from keyhole.learners.registry import SLIM
from keyhole.problem import (
    Floats,
    Indices,
    Observation,
    Problem,
    ProblemError,
    Ticket,
    positive_number,
    whole_number,
)


class Memo(NamedTuple):
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

    SAVED = ("_desk", "_weights", "_counts", "_sums")
    MEMOS = (Memo,)

    _counts: Annotated[Floats, AT_LEAST_0]
    SETTINGS = ("radius", "horizon", "clip")

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
        if n > MOST:
            raise ProblemError(
                f"d = {d}, k = {k} have {n:,} subsets and each would be an expert; at most "
                f"{MOST:,} are allowed: use fewer features, a smaller k, or by name a learner that "
                f"needs O(d): {', '.join(SLIM)}"
            )
        self.radius = positive_number("radius", radius)
        self.horizon = None if horizon is None else whole_number("horizon", horizon, 1)
        super().__init__(problem, seed=seed, clip=clip)
        scheme = inclusion_uniform(d, m)
        p, q = scheme.p, scheme.q if d > 1 else 1.0
        rates = (0.0, 0.0)  # measured
        if self.horizon is not None:  # eta_H is 0 for d = 1, where there is nothing to choose
            T = self.horizon
            rates = (q * math.sqrt(k * math.log(d) / T), q / math.sqrt(T))
        self._rule = Rule(all_subsets(d, k), m, p, q, self.radius, *rates)
        self._weights = new_weights(n, k)
        self._counts = np.zeros(d)
        self._sums: Floats = np.zeros(d)

    @property
    def weights(self) -> Floats:
        """The weights of the subset with the least loss so far, which is the likeliest to play."""
        weights = np.zeros(self.problem.d)
        best = int(np.argmin(self._weights.losses))
        weights[self._rule.subsets[best]] = self._weights.w[best]
        return weights

    def probabilities(self) -> Floats:
        """With which probability each subset would play now, in lexicographic order."""
        chances: Floats = self._weights.chances / self._weights.chances.sum()
        return chances

    def ask(self) -> Ticket:
        """A ticket for the subset drawn to play and the features drawn to explore."""
        d, R = self.problem.d, np.empty(self._rule.m, dtype=np.int64)
        key = (np.uint64(self.seed), self.round + 1)
        best = kernels.draw(*key, self._weights.chances, d, R, workspace(d))
        S = self._rule.subsets[best].astype(np.int64)
        union = np.empty(len(R) + len(S), dtype=np.int64)
        means = self._sums[S] / np.maximum(self._counts[S], 1.0)
        memo = Memo(R, S, self._weights.w[best].copy(), means)
        return self._desk.issue(union[: merge(R, S, union)], memo._asdict())

    def _predict(self, seen: Observation) -> float:
        """<w_S, x> with the subset and the weights of the ticket."""
        ticket = seen.ticket
        model = (np.array(ticket.memo[name]) for name in ("support", "weights", "means"))
        read = (np.array(ticket.features), np.array(seen.values))
        return float(predict_seen(*read, *model))

    def tell(self, seen: Observation, y: float) -> None:
        """Judge every subset by what was explored, and let it step."""
        ticket, label = self._desk.settle(seen, y)
        R, features = np.array(ticket.memo["explore"]), np.array(ticket.features)
        told = (R, features, np.array(seen.values), label)
        kernels.learn(self._rule, told, self._weights, self._seen())

    def _sizes(self) -> dict[str, int]:
        return {**super()._sizes(), "m": self._rule.m}

    def _play(self, block: Block) -> int:
        return kernels.play(block, self._rule, self._weights, self._seen())

    def _seen(self) -> Seen:
        return Seen(self._counts, self._sums)
