"""AERR and AELR: attribute-efficient ridge and lasso regression on sampled gradients.

The gradient of (<w, x> - y)^2 / 2 is (<w, x> - y) x. With reads drawn before x is seen, a round has

    x_tilde = x on the played S;  outside, the mean of x_i e_i / q_i over draws i ~ q
    phi     = <w, mu> + sum over S of w_i (x_i - mu_i)
              + the mean of w_j (x_j - mu_j) / p_j over other draws j ~ p outside S;  minus y

for any mu known before, and phi x_tilde is unbiased: its two factors are independent given w.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from keyhole.errors import LARGEST, true_or_false
from keyhole.learners.base import Choice, LearnerBase, refuse_prices
from keyhole.learners.blocks.draw.sampling import complement_subset, uniforms
from keyhole.learners.blocks.draw.sorting import top_k, truncated
from keyhole.learners.blocks.fit.linear_algebra import filled
from keyhole.problem import (
    Floats,
    Indices,
    Observation,
    Problem,
    Ticket,
    positive_number,
    whole_number,
)
from keyhole.problem.state import AT_LEAST_0, Holds

LABELS, GRADIENTS, SQUARE, GRADIENT = range(4)  # of `Iterate.tally`
WHOLE, UNREAD = range(2)  # of `SamplingPlan.offsets`
REACH, PRODUCT, FILL = range(3)  # purposes of the draws of a round
_CONFIDENCE = math.log(2.0 / 0.05)  # the paper's ln(2/delta), at delta = 0.05


class Iterate(NamedTuple):
    """Everything that changes as an attribute-efficient learner plays.

    Sums: `theta` of EG's clipped gradients; `counts`, `sums` and `squares` of what was read and did
    arrive, feature by feature. Derived: `w`, the dense iterate; `shares`, how much of the weight of
    EG's experts each feature has; `average` of the w so far, the n-th counting n times; `moments`,
    the second moments as the last phase left them, in units of the largest square. `tally`: labels,
    squared gradients, the largest square of a value and of a gradient.
    """

    w: Floats
    average: Floats
    theta: Floats
    shares: Annotated[Floats, AT_LEAST_0]
    counts: Annotated[Floats, AT_LEAST_0]
    sums: Floats
    squares: Annotated[Floats, AT_LEAST_0]
    moments: Annotated[Floats, AT_LEAST_0]
    tally: Annotated[Floats, AT_LEAST_0]


class SamplingPlan(NamedTuple):
    """What a round reads, and what each value counts: arrays over the bought features.

    `reach` are the factors of x_tilde, `product` those of phi, `played` the weights of the
    prediction, `means` what absent values count as. `offsets` are <w, mu> and what the prediction
    adds for played features that are not read.
    """

    features: Indices
    reach: Floats
    product: Floats
    played: Floats
    means: Floats
    offsets: Floats


class AttributeEfficientMemo(NamedTuple):
    """What a ticket remembers: `reach`, `product`, `played` and `means` of its plan; `offsets`."""

    counts: Annotated[Floats, Holds(shape=(4, "features"))]
    offsets: Annotated[Floats, Holds(shape=(2,))]


class AttributeEfficient(LearnerBase):
    """A dense iterate learns from estimated gradients, the top k of its average predict.

    A subclass says how draws are weighted and how a step is taken. Sums and derived: see `Iterate`.
    """

    SAVED = ("_iterate",)
    MEMOS = (AttributeEfficientMemo,)

    def __init__(
        self,
        problem: Problem,
        *,
        seed: int = 0,
        radius: float = 1.0,
        data_dependent: bool = False,
        rate: float | None = None,
        clip: bool = False,
    ) -> None:
        super().__init__(problem, seed=seed, clip=clip)
        self.radius = positive_number("radius", radius)
        self.data_dependent = true_or_false("data_dependent", data_dependent)
        self.rate = None if rate is None else positive_number("rate", rate)
        self._iterate = new_iterate(problem.d)

    @property
    def weights(self) -> Floats:
        """The played model: the average iterate, cut down to its k largest coordinates."""
        return truncated(self._iterate.average, self.problem.k)

    @property
    def iterate(self) -> Floats:
        """A copy of the dense w that the next gradient is taken at."""
        return self._iterate.w.copy()

    @abstractmethod
    def _odds(self) -> tuple[Floats, Floats]:
        """What q and p are proportional to, for all features."""

    @abstractmethod
    def _step(self, features: Indices, g: Floats) -> None:
        """Move the iterate along a gradient that is 0 elsewhere."""

    def _choose(self, t: int) -> Choice:
        """The played features, the draws, and others up to the budget."""
        features, *counts, offsets = self._plan(t)
        # The estimate is of the gradient at the w of now, so it is on the ticket.
        return features, AttributeEfficientMemo(np.array(counts), offsets)

    def _plan(self, t: int) -> SamplingPlan:
        """What round t reads and what each value will count; a new phase at powers of two."""
        it, d, k, budget = self._iterate, self.problem.d, self.problem.k, self.problem.reads
        if self.data_dependent and t & (t - 1) == 0:
            measure(it)
        S, played = top_k(it.average, k), truncated(it.average, k)
        if budget == k < d and math.isqrt(t) ** 2 == t:
            S = S[:0]  # nothing is left to explore with: a look at other features instead
        left = budget - len(S)
        if left < d - len(S):
            m, (q, p) = left // 2, self._odds()
            q[S] = p[S] = 0.0
            key = (self.seed, t)
            reach = drawn(uniforms(*key, left - m, purpose=REACH), q, np.ones(d))
            product = drawn(uniforms(*key, m, purpose=PRODUCT), p, it.w)
            reach[S], product[S] = 1.0, it.w[S]
            mark = (reach != 0.0) | (product != 0.0)
            # What draws of the same feature have saved: for the means and second moments.
            read = np.flatnonzero(mark)
            mark[complement_subset(*key, d, budget - len(read), read, purpose=FILL)] = True
        else:
            mark, reach, product = np.ones(d, dtype=np.bool_), np.ones(d), it.w
        mu = it.sums / np.maximum(it.counts, 1.0)
        features, unread = np.flatnonzero(mark), ~mark
        offsets = np.array([it.w @ mu, played[unread] @ mu[unread]])
        counts = (reach[features], product[features], played[features], mu[features])
        return SamplingPlan(features, *counts, offsets)

    def _predict(self, seen: Observation) -> float:
        """The model of the ticket on what was read."""
        return predicted(plan_of(seen.ticket), seen.values)

    def _learn(self, seen: Observation, label: float) -> None:
        """Step along the estimated gradient; the average, the sums of what arrived."""
        ticket = seen.ticket
        it, features = self._iterate, ticket.features
        self._step(features, gradient(plan_of(ticket), seen.values, label))
        it.tally[LABELS] += 1.0
        it.average[:] += 2.0 / (it.tally[LABELS] + 1.0) * (it.w - it.average)
        i, x = seen.arrived()
        squares = x * x
        it.counts[i] += 1.0
        it.sums[i] += x
        it.squares[i] += squares
        it.tally[SQUARE] = max(it.tally[SQUARE], squares.max(initial=0.0))


def new_iterate(d: int) -> Iterate:
    """Before the first round: w = 0, every feature alike.

    >>> new_iterate(2).shares
    array([0.5, 0.5])
    """
    w, average, theta, counts, sums, squares = np.zeros((6, d))
    return Iterate(
        w, average, theta, np.full(d, 1.0 / d), counts, sums, squares, np.ones(d), np.zeros(4)
    )


def draws(d: int, k: int, budget: int) -> tuple[int, int]:
    """How many draws x_tilde and the inner product get when k features are played.

    Half of what is left each, x_tilde the odd one; with budget = d all features are read, and none
    is drawn.

    >>> draws(20, 2, 9)
    (4, 3)
    """
    left = budget - k if budget < d else 0
    return left - left // 2, left // 2


def drawn(u: Floats, weights: Floats, value: Floats) -> Floats:
    """The sum of value_i e_i / (n P_i) over n draws i ~ P, P proportional to the weights.

    A draw for each uniform number, with replacement, so that the sum is unbiased for `value` where
    the weights are positive; all weights 0 draw nothing.
    """
    out, reached = np.zeros(len(weights)), np.cumsum(weights)
    total = reached[-1]
    if total > 0.0:
        i = np.searchsorted(reached, u * total, side="right")
        # A product that rounded up to the total: the last feature with a weight.
        np.minimum(i, np.searchsorted(reached, total, side="left"), out=i)
        np.add.at(out, i, value[i] * total / (len(u) * weights[i]))
    return out


def measure(it: Iterate) -> None:
    """A new phase: second moments as they are now, plus 13/6 of their uncertainty."""
    it.moments[:] = 1.0
    if it.tally[SQUARE] > 0.0:
        n = np.maximum(it.counts, 1.0)
        error = np.minimum((_CONFIDENCE + math.log(len(it.w))) / n, 1.0)
        it.moments[:] = it.squares / n / it.tally[SQUARE] + 13.0 / 6.0 * error


def predicted(plan: SamplingPlan, values: Floats) -> float:
    """The truncated average on the values read; an absent one counts as its mean."""
    x = filled(values, plan.means)
    return float(plan.offsets[UNREAD] + plan.played @ x)


def gradient(plan: SamplingPlan, values: Floats, y: float) -> Floats:
    """phi x_tilde on the values read; an absent one counts as its mean."""
    x = filled(values, plan.means)
    phi = plan.offsets[WHOLE] + plan.product @ (x - plan.means) - y
    g: Floats = phi * (plan.reach * x)
    return g


def plan_of(ticket: Ticket) -> SamplingPlan:
    """The plan that a ticket remembers."""
    reach, product, played, means = ticket.memo["counts"]
    return SamplingPlan(ticket.features, reach, product, played, means, ticket.memo["offsets"])


def _theorem_sizes(problem: Problem, horizon: int, radius: float) -> tuple[int, float, int]:
    """T, B and m of the theorems, checked."""
    T, B = whole_number("horizon", horizon, 1), positive_number("radius", radius)
    refuse_prices(problem, "the theorem's rate")
    m = max(draws(problem.d, problem.k, problem.reads)[0], 1)
    return T, B, m


def aerr_theorem_rate(
    problem: Problem, horizon: int, *, radius: float = 1.0, second_moments: ArrayLike | None = None
) -> float:
    """The papers' fixed rate for |x|_2 <= 1, |y| <= radius and `horizon` rounds.

    2B/(G sqrt(T)) with G^2 = 8 B^2 d/m for m draws; with the second moments E x_i^2 that of DDAERR,
    1/sqrt(T ((sum of sqrt E x_i^2)^2/m + 1)).

    >>> round(aerr_theorem_rate(Problem(d=20, k=2, budget=10), horizon=1000), 4)
    0.01
    """
    T, B, m = _theorem_sizes(problem, horizon, radius)
    if second_moments is None:
        return 2.0 * B / math.sqrt(8.0 * B * B * problem.d / m * T)
    roots = float(np.sqrt(np.asarray(second_moments, dtype=np.float64)).sum())
    return 1.0 / math.sqrt(T * (roots * roots / m + 1.0))


class AERRLearner(AttributeEfficient):
    """Attribute-efficient ridge regression: projected gradient on a ball, with estimated gradients.

    A dense w with |w|_2 <= B becomes w - eta phi x_tilde, scaled back to the ball if need be, where

        x_tilde = x_i e_i / q_i,  averaged over draws i ~ q;   phi = w_j x_j / p_j - y,  j ~ w_j^2

    so that phi x_tilde has the gradient of (<w, x> - y)^2 / 2 as its mean. q is uniform, or with
    `data_dependent` q_i ~ sqrt(E x_i^2), the least variance for draws of one feature. What predicts
    is the average iterate cut down to its k largest coordinates.

    Sums and derived: see `Iterate`.

    Parameters
    ----------
    problem
        The k played features are read always; the draws for x_tilde get half of the rest, and the
        odd one, those for phi the other half.
    seed
        Random seed.
    radius
        B, of the ball that w stays in.
    data_dependent
        DDAERR: second moments are measured, and q follows them from one power of two to the next.
    rate
        A fixed eta, such as `aerr_theorem_rate(problem, horizon)`; None: sqrt(2) B / sqrt(sum of
        |phi x_tilde|^2, and 8 d times the largest of them), which needs no horizon and no bound on
        x, y.
    clip
        Cut predictions off at the range of the labels so far; False is the algorithm of the paper.

    Guarantee
    ---------
    Hazan and Koren (2012), Kukliansky and Shamir (2015): for i.i.d. rounds with |x|_2 <= 1,
    |y| <= B and the theorem's rate, the plain average of T iterates has expected loss at most
    4 B^2 sqrt(2 d/(m T)), with `data_dependent` 4 B^2 sqrt(((sum sqrt E x_i^2)^2/m + 1)/T), above
    that of the best w in the ball, m the draws for x_tilde. Nothing of that is checked, and nothing
    is promised for the k largest coordinates of the average, which is what plays: features that
    stand in for each other share their weight and may all be cut off.

    Deviations
    ----------
    The papers output a dense w. On the played features x_tilde is x and their part of phi is
    exact; draws are of the others. phi counts from the running means, w_j (x_j - mu_j) / p_j, with
    <w, mu> added. Neither adds bias, both lower the variance. If all that is left to read can be
    read, nothing is drawn. With one feature beside the played ones phi has no draws, and others
    count as their means; with budget = k rounds 1, 4, 9, ... look at other features in place of the
    played ones, which then count as their means. Draws of the same feature leave reads over, spent
    on uniformly drawn others for means and second moments. With `data_dependent` p_j ~
    |w_j| sqrt(E x_j^2), as in that paper's experiments, and second moments are of all reads, not of
    a first phase. The n-th iterate counts n times in the average. A gradient too large to be
    squared is left out. An absent value counts as the mean of its feature so far.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, truth = kh.streams.realizable(d=20, k=2, n=5000, noise_sd=0.1, seed=0)
    >>> learner = kh.AERRLearner(kh.Problem(d=20, k=2, budget=10), seed=0)
    >>> ledger = kh.play(learner, stream)
    >>> bool((np.flatnonzero(learner.weights) == truth.support).all())
    True

    References
    ----------
    Hazan, Koren (2012), Linear regression with limited observation, ICML.
    Kukliansky, Shamir (2015), Attribute efficient linear regression with distribution-dependent
    sampling, ICML.
    """

    def _odds(self) -> tuple[Floats, Floats]:
        roots, w = np.sqrt(self._iterate.moments), self._iterate.w
        return roots, np.abs(w) * roots if self.data_dependent else w * w

    def _step(self, features: Indices, g: Floats) -> None:
        """At sqrt(2) radius / sqrt(sum of |g|^2 + 8 d largest), then back to |w|_2 <= radius.

        Without the largest the first steps would go right to the boundary, in directions that are
        mostly noise, and the noise of later gradients grows with |w|.
        """
        w, tally, square = self._iterate.w, self._iterate.tally, float(g @ g)
        if not 0.0 < square < LARGEST:
            return
        tally[GRADIENTS] += square
        tally[GRADIENT] = max(tally[GRADIENT], square)
        size = tally[GRADIENTS] + 8.0 * len(w) * tally[GRADIENT]
        w[features] -= (self.rate or math.sqrt(2.0 / size) * self.radius) * g
        norm = math.sqrt(w @ w)
        if norm > self.radius:
            w *= self.radius / norm


def aelr_theorem_rate(
    problem: Problem, horizon: int, *, radius: float = 1.0, second_moments: ArrayLike | None = None
) -> float:
    """The papers' fixed rate for |x|_inf <= 1, |y| <= radius and `horizon` rounds.

    sqrt(ln(2d)/(5 T (M/m + 1))) / (2B) for m draws, M = sum of the second moments E x_i^2; d, which
    is the most it can be, if they are not given.

    >>> round(aelr_theorem_rate(Problem(d=20, k=2, budget=10), horizon=1000), 4)
    0.0055
    """
    T, B, m = _theorem_sizes(problem, horizon, radius)
    known = np.ones(problem.d) if second_moments is None else np.asarray(second_moments)
    total = float(known.sum())
    return math.sqrt(math.log(2.0 * problem.d) / (5.0 * T * (total / m + 1.0))) / (2.0 * B)


class AELRLearner(AttributeEfficient):
    """Attribute-efficient lasso regression: EG+- on the l1 ball, with estimated gradients.

    Two experts per feature, for either sign, with g_bar the estimated gradients cut at 1/eta:

        z_i = exp(-eta sum of g_bar_i),  z'_i = exp(eta sum of g_bar_i),
        w = B (z - z') / (|z|_1 + |z'|_1)

    where the gradient phi x_tilde at w is estimated as in `AERRLearner`, but j ~ |w_j|, and with
    `data_dependent` q_i ~ E x_i^2. What predicts is the average iterate cut down to its k largest
    coordinates.

    Sums and derived: see `Iterate`.

    Parameters
    ----------
    problem, seed, data_dependent, clip
        As in `AERRLearner`; with `data_dependent` this is DDAELR.
    radius
        B: |w|_1 stays below it.
    rate
        A fixed eta, such as `aelr_theorem_rate(problem, horizon)`; None: sqrt(ln(2d) / V), V the
        sum of the squared gradients weighted by the shares of the features in z and z', which
        needs no horizon and no bound on x, y.

    Guarantee
    ---------
    Hazan and Koren (2012), Kukliansky and Shamir (2015): for i.i.d. rounds with |x|_inf <= 1,
    |y| <= B and the theorem's rate, the plain average of T iterates has expected loss at most
    4 B^2 sqrt(10 d ln(2d)/(m T)), with `data_dependent` 4 B^2 sqrt(5 ln(2d)(M + m)/(m T)) for
    M = sum of E x_i^2, above that of the best w in the ball, m the draws for x_tilde. Nothing of
    that is checked, and nothing is promised for the k largest coordinates, which is what plays.

    Deviations
    ----------
    Those of `AERRLearner`. The rate changes with time, so z is computed from the sums of g_bar at
    the rate of now, instead of being multiplied round by round; with a fixed rate that is the same.

    Examples
    --------
    >>> import keyhole as kh
    >>> stream, truth = kh.streams.realizable(d=20, k=2, n=5000, noise_sd=0.1, seed=0)
    >>> learner = kh.AELRLearner(kh.Problem(d=20, k=2, budget=10), seed=0)
    >>> ledger = kh.play(learner, stream)
    >>> bool((np.flatnonzero(learner.weights) == truth.support).all())
    True

    References
    ----------
    Hazan, Koren (2012), Linear regression with limited observation, ICML.
    Kukliansky, Shamir (2015), Attribute efficient linear regression with distribution-dependent
    sampling, ICML.
    """

    def _odds(self) -> tuple[Floats, Floats]:
        moments, sizes = self._iterate.moments.copy(), np.abs(self._iterate.w)
        return moments, sizes * np.sqrt(moments) if self.data_dependent else sizes

    def _step(self, features: Indices, g: Floats) -> None:
        w, _, theta, shares, *_, tally = self._iterate
        size = tally[GRADIENTS] + float(shares[features] @ (g * g))
        if not 0.0 < size < np.inf:
            return
        tally[GRADIENTS] = size
        eta = self.rate or math.sqrt(math.log(2.0 * len(w)) / size)
        theta[features] += np.clip(g, -1.0 / eta, 1.0 / eta)
        top = np.abs(theta).max()
        # exp(-eta theta) and exp(eta theta), both divided by the largest of all: no overflow
        up, down = np.exp(-eta * (theta + top)), np.exp(eta * (theta - top))
        both = up + down
        total = both.sum()
        w[:] = (up - down) * (self.radius / total)
        shares[:] = both / total
