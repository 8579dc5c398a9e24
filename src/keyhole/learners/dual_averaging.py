"""Dual averaging with the k largest coordinates played (Ito et al. 2017, 2018)."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.errors import one_of
from keyhole.learners.base import Choice, LearnerBase
from keyhole.learners.blocks.draw.sampling import complement_subset
from keyhole.learners.blocks.draw.sorting import top_k, truncated
from keyhole.learners.blocks.fit.linear_algebra import filled
from keyhole.problem import (
    Floats,
    Indices,
    Observation,
    Problem,
    ProblemError,
    positive_number,
)
from keyhole.problem.state import AT_LEAST_0, Holds, PerFeature

GRADIENTS = {"residual": False, "unbiased": True}  # whether at the whole iterate
SCHEDULES = ("adaptive", "paper")
GRADIENT, LABEL, VALUE = range(3)  # of `Dual.sizes`
RADIUS_FACTOR = 1.25  # a little more than uncorrelated features need


class Dual(NamedTuple):
    """What has been learnt. All fields are sums, `sizes` the roots of sums of squares."""

    h: Floats  # of the estimated gradients
    # Of gradients, of labels, of values (the mean square of what a round read).
    sizes: Annotated[Floats, AT_LEAST_0]
    updates: Indices  # one number: how many rounds were learnt from
    total: Floats  # of the values that arrived, feature by feature
    arrived: Indices  # how many they were


class DualAveragingDraw(NamedTuple):
    """One round: what is read, how it is played, and how likely it was.

    Features with `always` are read whatever is drawn. The others are a uniform subset of the rest:
    `chances` are the probability to be in it, and that of two of them together.
    """

    features: Indices  # ascending
    played: PerFeature  # their weights in the prediction
    point: PerFeature  # their weights where the gradient is wanted
    always: Annotated[NDArray[np.bool_], Holds(shape=("features",))]
    means: PerFeature  # what absent values count as
    chances: Annotated[Floats, Holds(least=0.0, shape=(2,))]


class DualAveragingLearner(LearnerBase):
    """Dual averaging: sum estimated gradients, play the k largest coordinates of the iterate.

    With h the sum of the gradient estimates so far, round t has the iterate

        w = -h / max(lambda_t, |h| / radius),

    the minimiser of <h, w> + lambda_t |w|^2 / 2 over |w| <= radius. It plays w on S, its k largest
    coordinates, and reads S and a uniform subset of the rest. With
    p_i, p_ij the probabilities, given S, to read feature i and the pair i, j,

        g_i = (2 x_i / p_i) (sum_j v_j x_j p_i / p_ij - y)      for the features read, 0 elsewhere,

    is an unbiased estimate of the gradient of (<x, v> - y)^2, and is added to h. For v = w on S
    the bracket is the residual of the prediction, exactly: no pair outside S is needed.

    Sums: the gradients, their squares, the values read, their squares and those of the labels.
    Derived: iterate, support, radius.

    Parameters
    ----------
    problem
        |S| <= k features are played, all others of the budget explore. See Deviations for
        budget = k.
    seed
        Random seed.
    gradient
        "residual": v is what is played (Ito et al. 2018, Algorithm 3 with A = I). "unbiased": v is
        the whole iterate (2017, Algorithm 1), whose estimate needs pairs, so at least two explored
        features, and has more variance: (d/k0)^2 where the other has d/k0.
    radius
        Bound on the norm of the iterate. None measures it: 1.25 times the root mean square of the
        labels over that of the values, which makes the learner indifferent to the units of both.
    schedule
        "adaptive": lambda_t = sqrt(sum |g|^2) / radius. "paper": lambda_t = sqrt(8 d t / k0), that
        of 2018, for features and labels of about unit size. Its bound is that of
        gradient="residual"; the bound of 2017, gradient="unbiased", needs a lambda_t proportional
        to (d/k0) sqrt(t), which is not among the schedules.
    clip
        Cut predictions off at the range of the labels so far; False is the algorithm of the paper.

    Guarantee
    ---------
    Ito, Hatano, Sumita, Yabe, Fukunaga, Kakimura, Kawarabayashi. NIPS 2017: for
    gradient="unbiased", budget >= k + 2, i.i.d. bounded features with E x x' >= sigma^2 I and
    labels of a k-sparse model with bounded noise, expected regret O(d / (sigma^2 k0) sqrt(T)),
    k0 = budget - k. AISTATS 2018: for gradient="residual" and any sequence with |x| <= 1, |y| <= 1,
    expected regret (D + 1)^2 sqrt(8 d / k0) sqrt(T + 1) + 2 (D + 1) sum_t e_t with D the radius and
    e_t the size of what the truncation in round t cuts off. Neither is checked. With the adaptive
    lambda_t the first term is of order radius sqrt(sum |g|^2); for a measured radius nothing is
    proven.

    Deviations
    ----------
    Values on S count in the gradient with p_i = 1. Slots of S that are not needed (zero
    coordinates) explore. With budget = k the rounds t = 1, 4, 9, 16, ... read a uniform subset of
    k features, as in Algorithm 2 of 2017, and play those of S among them; the rounds between read
    S and add its exact gradient, 0 elsewhere. Pairs that can never be read together (one explored
    feature) count as uncorrelated; the unbiased gradient refuses such problems. An absent value
    counts as the mean of its feature when the ticket was issued. In lambda_t, t counts labels told.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, truth = kh.streams.realizable(d=20, k=2, n=5000, noise_sd=0.1, seed=0)
    >>> learner = kh.DualAveragingLearner(kh.Problem(d=20, k=2, budget=6), seed=0)
    >>> ledger = kh.play(learner, stream)
    >>> bool((np.flatnonzero(learner.weights) == truth.support).all())
    True
    """

    SAVED = ("_dual",)
    MEMOS = (DualAveragingDraw,)

    def __init__(
        self,
        problem: Problem,
        *,
        seed: int = 0,
        gradient: str = "residual",
        radius: float | None = None,
        schedule: str = "adaptive",
        clip: bool = False,
    ) -> None:
        super().__init__(problem, seed=seed, clip=clip)
        self.gradient = one_of("gradient", gradient, GRADIENTS)
        self.schedule = one_of("schedule", schedule, SCHEDULES)
        hint = "; None measures it"
        self.radius = None if radius is None else positive_number("radius", radius, hint)
        d, k, budget = problem.d, problem.k, problem.reads
        # With budget = k the rounds that explore do so with all of it.
        k0, rest = (budget - k, d - k) if budget > k else (budget, d)
        if GRADIENTS[gradient] and k0 == 1 < rest:
            raise ProblemError(
                f"budget must be at least {min(k + 2, d)} with gradient='unbiased', got {budget}: "
                "with one explored feature no pair is ever seen together; or use 'residual'"
            )
        self._schedule = math.sqrt(8.0 * d / k0) if schedule == "paper" else 0.0
        self._dual = nothing_learnt(d)

    @property
    def weights(self) -> Floats:
        """The iterate on its k largest coordinates."""
        return truncated(self._iterate(), self.problem.k)

    def _predict(self, seen: Observation) -> float:
        """<x, w> with the weights of the ticket."""
        memo = seen.ticket.memo
        return float(memo["played"] @ filled(seen.values, memo["means"]))

    def _learn(self, seen: Observation, label: float) -> None:
        """Add the gradient of the round, and the values that arrived."""
        dual, draw = self._dual, DualAveragingDraw(seen.ticket.features, **seen.ticket.memo)
        x = filled(seen.values, draw.means)
        g = gradient(draw, x, label)
        size = np.hypot(dual.sizes[GRADIENT], norm(g))
        if size < np.inf:  # values near the largest allowed may overflow: nothing to learn there
            dual.h[draw.features] += g
            dual.sizes[GRADIENT] = size
        i, values = seen.arrived()
        dual.total[i] += values
        dual.arrived[i] += 1
        mean_square = norm(x) / math.sqrt(max(len(x), 1))
        dual.sizes[1:] = np.hypot(dual.sizes[1:], (label, mean_square))  # LABEL and VALUE
        dual.updates[0] += 1

    def _radius(self) -> float:
        """The given radius, or RADIUS_FACTOR times label over value, root mean squares."""
        labels, values = self._dual.sizes[[LABEL, VALUE]].tolist()
        return self.radius or (RADIUS_FACTOR * labels / values if values > 0.0 else 0.0)

    def _iterate(self) -> Floats:
        """-h / max(lambda_t, |h| / radius), the minimiser of <h, w> + lambda_t |w|^2 / 2."""
        h, sizes, updates, *_ = self._dual
        radius, strength = self._radius(), self._schedule * math.sqrt(updates[0] + 1.0)
        if radius > 0.0:
            size = norm(h) if self._schedule else max(norm(h), sizes[GRADIENT])
            strength = max(strength, size / radius)
            if strength > 0.0:
                w: Floats = -h / strength
                return w
        return np.zeros(len(h))

    def _choose(self, t: int) -> Choice:
        """What is played and what is explored beside it."""
        dual, d, budget = self._dual, self.problem.d, self.problem.reads
        w = self._iterate()
        S = kept = top_k(w, self.problem.k)
        if budget == len(S) < d and math.isqrt(t) ** 2 == t:
            kept = S[:0]  # nothing would be left to explore with: at squares, all of it explores
        m, outside = budget - len(kept), d - len(kept)
        drawn = complement_subset(self.seed, t, d, m, kept)
        features = np.sort(np.concatenate([drawn, kept]))
        always, played = np.zeros(d, dtype=np.bool_), np.zeros(d)
        always[kept], played[S] = True, w[S]
        point = w if GRADIENTS[self.gradient] else played
        means = dual.total[features] / np.maximum(dual.arrived[features], 1)
        p = m / outside if outside else 0.0
        q = m * (m - 1) / (outside * (outside - 1)) if outside > 1 else 0.0
        counts = (played[features], point[features], always[features], means)
        draw = DualAveragingDraw(features, *counts, np.array([p, q]))._asdict()
        return draw.pop("features"), draw


def nothing_learnt(d: int) -> Dual:
    """The sums before the first round."""
    updates, arrived = np.zeros(1, dtype=np.int64), np.zeros(d, dtype=np.int64)
    return Dual(np.zeros(d), np.zeros(3), updates, np.zeros(d), arrived)


def gradient(draw: DualAveragingDraw, x: Floats, y: float) -> Floats:
    """The estimated gradient of (<x, point> - y)^2 at the features that were read.

    g_i = (2 x_i / p_i) (sum_j point_j x_j p_i / p_ij - y) over the j read, p_ii = p_i; pairs that
    are never read together (p_ij = 0) are left out, as if their features were uncorrelated.
    """
    p, q = draw.chances.tolist()
    own = draw.point * x
    sure, drawn = own[draw.always].sum() - y, own[~draw.always].sum()
    of_sure = sure + (drawn / p if p > 0.0 else 0.0)
    of_drawn = sure + own + (drawn - own) * (p / q if q > 0.0 else 0.0)
    inverse = 1.0 / p if p > 0.0 else 0.0
    g: Floats = 2.0 * x * np.where(draw.always, of_sure, inverse * of_drawn)
    return g


def norm(v: Floats) -> float:
    """|v|, where squares of what is allowed here would overflow."""
    most = float(np.abs(v).max(initial=0.0))
    if not 0.0 < most < np.inf:
        return most
    scaled = v / most
    return most * math.sqrt(scaled @ scaled)
