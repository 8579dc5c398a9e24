"""AELR and DDAELR: attribute-efficient lasso regression."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from keyhole.learners.attribute_efficient import GRADIENTS, AttributeEfficient, draws
from keyhole.learners.base import refuse_prices
from keyhole.problem import Floats, Indices, Problem, positive_number, whole_number


def theorem_rate(
    problem: Problem, horizon: int, *, radius: float = 1.0, second_moments: ArrayLike | None = None
) -> float:
    """The papers' fixed rate for |x|_inf <= 1, |y| <= radius and `horizon` rounds.

    sqrt(ln(2d)/(5 T (M/m + 1))) / (2B) for m draws, M = sum of the second moments E x_i^2; d, which
    is the most it can be, if they are not given.

    >>> round(theorem_rate(Problem(d=20, k=2, budget=10), horizon=1000), 4)
    0.0055
    """
    T, B = whole_number("horizon", horizon, 1), positive_number("radius", radius)
    refuse_prices(problem, "the theorem's rate")
    m = max(draws(problem.d, problem.k, problem.reads)[0], 1)
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

    Sums and derived: see `keyhole.learners.attribute_efficient.Iterate`.

    Parameters
    ----------
    problem
        The k played features are read always; the draws for x_tilde get half of the rest, and the
        odd one, those for phi the other half.
    seed
        Random seed.
    radius
        B: |w|_1 stays below it.
    data_dependent
        DDAELR: second moments are measured, and q follows them from one power of two to the next.
    rate
        A fixed eta, such as `theorem_rate(problem, horizon)`; None: sqrt(ln(2d) / V), V the sum of
        the squared gradients weighted by the shares of the features in z and z', which needs no
        horizon and no bound on x, y.
    clip
        Cut predictions off at the range of the labels so far; False is the algorithm of the paper.

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
