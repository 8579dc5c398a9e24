"""AERR and DDAERR: attribute-efficient ridge regression."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from keyhole.errors import LARGEST
from keyhole.learners.attribute_efficient import (
    GRADIENT,
    GRADIENTS,
    AttributeEfficient,
    draws,
)
from keyhole.learners.base import refuse_prices
from keyhole.problem import Floats, Indices, Problem, positive_number, whole_number


def theorem_rate(
    problem: Problem, horizon: int, *, radius: float = 1.0, second_moments: ArrayLike | None = None
) -> float:
    """The papers' fixed rate for |x|_2 <= 1, |y| <= radius and `horizon` rounds.

    2B/(G sqrt(T)) with G^2 = 8 B^2 d/m for m draws; with the second moments E x_i^2 that of DDAERR,
    1/sqrt(T ((sum of sqrt E x_i^2)^2/m + 1)).

    >>> round(theorem_rate(Problem(d=20, k=2, budget=10), horizon=1000), 4)
    0.01
    """
    T, B = whole_number("horizon", horizon, 1), positive_number("radius", radius)
    refuse_prices(problem, "the theorem's rate")
    m = max(draws(problem.d, problem.k, problem.reads)[0], 1)
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

    Sums and derived: see `keyhole.learners.attribute_efficient.Iterate`.

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
        A fixed eta, such as `theorem_rate(problem, horizon)`; None: sqrt(2) B / sqrt(sum of
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
