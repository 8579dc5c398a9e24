"""Weighted Dantzig selector, on importance-weighted moments: what the two DS learners share."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Annotated, Self, TypedDict, Unpack

import numpy as np

from keyhole.errors import one_of
from keyhole.learners.base import LearnerBase, failure_probability_of
from keyhole.learners.blocks.dantzig.solution import Diagnostics
from keyhole.learners.blocks.dantzig.solve import DantzigBasis, solve
from keyhole.learners.blocks.dantzig.threshold import compatibility_threshold
from keyhole.learners.blocks.draw.mixed_sampling import MixedScheme, shares
from keyhole.learners.blocks.sums import moments as triangles
from keyhole.learners.blocks.sums.estimates import Estimate
from keyhole.learners.blocks.sums.seen_sums import place, upper
from keyhole.problem import (
    Floats,
    Indices,
    Problem,
    Ticket,
    real_number,
    whole_number,
)
from keyhole.problem.state import Holds, LearnerState, restore

DS_WEIGHTINGS = ("ratio", "exact")

PRODUCT, WEIGHT = range(2)  # of a pair: sums of x_i x_j / P[i, j] and of 1 / P[i, j]
LABELLED, VALUE = range(2)  # of `singles`: sums of x_i y / P[i] and of x_i / P[i]
ROWS, LABEL, SQUARE, SINGLE, PAIR = range(5)  # of `totals`: 1, y, y^2, and the schemes' spreads


class WeightedSums:
    """Second moments of rows that were read by schemes that change from round to round.

    `Moments` can be divided by inclusion probabilities when all is added up, so they must be the
    same for all rows. Here every product is divided by the P[i, j] of its own round:

        XX_ij = sum x_i x_j / P_t[i, j],  W_ij = sum 1 / P_t[i, j],  over rounds t with both seen.

    `pairs` (the upper triangle, row after row), `singles` (per feature) and `totals` are all there
    is, and all are sums.

    Parameters
    ----------
    d
        How many features a row has.

    Examples
    --------
    >>> from keyhole.learners.blocks.draw.mixed_sampling import mixed_scheme
    >>> scheme = mixed_scheme(np.zeros(4), [0], 2)  # 0, and two of the others: 1/P = 3/2 and 3
    >>> sums = WeightedSums(4)
    >>> sums.add(np.array([0, 1, 3]), np.array([1.0, 2.0, 2.0]), scheme, y=1.0)
    >>> sums.estimate("exact").G
    array([[ 1.,  3.,  0.,  3.],
           [ 3.,  6.,  0., 12.],
           [ 0.,  0.,  0.,  0.],
           [ 3., 12.,  0.,  6.]])
    >>> sums.estimate("ratio").b, sums.spread
    (array([1., 2., 0., 2.]), (1.5, 3.0))
    """

    SAVED = ("pairs", "singles", "totals")

    totals: Annotated[Floats, Holds(least=(0.0, -np.inf, 0.0, 0.0, 0.0))]

    def __init__(self, d: int) -> None:
        self.d = d = whole_number("d", d, 1)
        self.pairs: Floats = np.zeros((d * (d + 1) // 2, 2))
        self.singles: Floats = np.zeros((2, d))
        self.totals = np.zeros(5)

    @property
    def n(self) -> int:
        """How many rows were added."""
        return int(self.totals[ROWS])

    @property
    def spread(self) -> tuple[float, float]:
        """The means over the rows of max 1/P[i] and max 1/P[i, j]; 1 before the first."""
        rows = max(float(self.totals[ROWS]), 1.0)
        single, pair = (max(float(self.totals[which]) / rows, 1.0) for which in (SINGLE, PAIR))
        return single, pair

    @property
    def means(self) -> Floats:
        """The mean of each feature where it was seen, 0 before that."""
        weight = self.pairs[self._diagonal(), WEIGHT]
        means: Floats = self.singles[VALUE] / np.where(weight > 0.0, weight, 1.0)
        return means

    @property
    def squares(self) -> Floats:
        """The mean square of each feature where it was seen, 0 before that."""
        product, weight = self.pairs[self._diagonal()].T
        squares: Floats = product / np.where(weight > 0.0, weight, 1.0)
        return squares

    def add(self, features: Indices, values: Floats, scheme: MixedScheme, y: float) -> None:
        """Add a row that the scheme read: all of its features, NaN for what did not arrive."""
        self.add_marked(features, values, scheme.marks(features), np.array(scheme.spread), y)

    @np.errstate(all="ignore")
    def add_marked(
        self, features: Indices, values: Floats, marks: Floats, spread: Floats, y: float
    ) -> None:
        """`add`, with what a ticket remembers of the scheme: its `marks` and its `spread`."""
        d, v, m = self.d, len(features), int(np.count_nonzero(marks >= 0.0))
        one, one_q, both, both_q = shares(d - v + m, m)
        here = ~np.isnan(values)
        i, x, q = features[here], values[here], marks[here]
        drawn = q >= 0.0
        weights = np.ones(len(i))
        weights[drawn] = 1.0 / (one + one_q * q[drawn])
        self.singles[:, i] += weights * x * np.array([[y], [1.0]])
        a, b = upper(len(i))
        # With one of the two always read, the weight of the other; 1 is the weight of both.
        weight = np.maximum(weights[a], weights[b])
        pair = drawn[a] & drawn[b] & (a != b)
        weight[pair] = 1.0 / (both + both_q * (q[a] + q[b])[pair])
        at = place(i[a], i[b], d)
        self.pairs[at, PRODUCT] += weight * x[a] * x[b]
        self.pairs[at, WEIGHT] += weight
        self.totals += (1.0, y, y * y, *spread)

    def estimate(self, weighting: str = "ratio") -> Estimate:
        """Second moments of x (G), of x y (b), of y (c).

        Parameters
        ----------
        weighting
            "exact", Horvitz-Thompson: G_ij = XX_ij / n, b_i = Xy_i / n. "ratio", Hajek:
            G_ij = XX_ij / W_ij, b_i = Xy_i / W_ii, and 0 for what was never seen.

        Guarantee
        ---------
        "exact" has the mean (1/n) sum x_t x_t' and (1/n) sum x_t y_t for any rows, if every round's
        scheme sees all pairs and was fixed before its row, and everything arrived. "ratio" is
        consistent for rows that are independent and alike, also if values go missing at random,
        and does not depend on how often something happened to be read.
        """
        one_of("weighting", weighting, DS_WEIGHTINGS)
        n, i = max(self.n, 1), self._diagonal()
        divisor = np.full(len(self.pairs), float(n))
        if weighting == "ratio":
            weights = self.pairs[:, WEIGHT]
            divisor = np.where(weights > 0.0, weights, 1.0)
        G = np.empty((self.d, self.d))
        triangles.unpack_triangle(self.pairs[:, PRODUCT] / divisor, self.d, G)
        nothing = np.zeros(self.d)
        b = self.singles[LABELLED] / divisor[i]
        return Estimate(G, b, float(self.totals[SQUARE]) / n, self.n, nothing, 0.0)

    def _diagonal(self) -> Indices:
        j = np.arange(self.d)
        return place(j, j, self.d)


class WeightedDantzig:
    """Sums of what was read, and w = argmin |w|_1 s.t. |b - G w| <= lam, solved on demand.

    lam = C gamma, with gamma the `compatibility_threshold` of the rows so far, at the noise level
    if one is given. Else G and b are first brought to units in which the features and the labels
    have mean square 1 (|w|_1 means something only in some units), and sigma = 1: the noise cannot
    be more than the labels.

    Sums: `sums`. Derived, as of the last program: its solution `w` and `units`, whose product are
    the `weights` of the features as they came; `means`, `basis`, `diagnostics`.

    Parameters
    ----------
    d
        How many features there are.
    threshold_scale, noise_sd, failure_probability
        C, sigma (None: not known) and delta.
    weighting
        That of `WeightedSums.estimate`.
    """

    SAVED = ("sums", "w", "units", "means", "basis", "diagnostics")

    basis: DantzigBasis | None

    def __init__(
        self,
        d: int,
        *,
        threshold_scale: float,
        noise_sd: float | None = None,
        failure_probability: float = 0.05,
        weighting: str = "ratio",
    ) -> None:
        self.threshold_scale = real_number("threshold_scale", threshold_scale, 0.0)
        self.noise_sd = None if noise_sd is None else real_number("noise_sd", noise_sd, 0.0)
        self.failure_probability = failure_probability_of(failure_probability)
        self.weighting = one_of("weighting", weighting, DS_WEIGHTINGS)
        self.sums = WeightedSums(d)
        self.w: Floats = np.zeros(d)
        self.units: Floats = np.ones(d)
        self.means: Floats = np.zeros(d)
        self.basis = None
        self.diagnostics = Diagnostics()

    @property
    def weights(self) -> Floats:
        """The solution, for the features and labels as they came."""
        weights: Floats = self.w * self.units
        return weights

    def settings(self) -> dict[str, float | str | None]:
        """The arguments it was made with, beside d."""
        names = ("threshold_scale", "noise_sd", "failure_probability", "weighting")
        return {name: getattr(self, name) for name in names}

    def solve(self, t: int) -> bool:
        """Solve the program before round t; False if w stays, for want of rows or of a solution."""
        if not self.sums.n:
            return False
        estimate = self.sums.estimate(self.weighting)
        gamma = compatibility_threshold(
            self.sums.n,
            self.sums.d,
            *self.sums.spread,
            noise_sd=1.0 if self.noise_sd is None else self.noise_sd,
            failure_probability=self.failure_probability,
            scale=self.threshold_scale,
        )
        scale, scale_y = np.ones(self.sums.d), 1.0
        if self.noise_sd is None:
            scale = np.sqrt(np.maximum(np.diag(estimate.G), 0.0))
            scale[scale == 0.0] = 1.0
            scale_y = math.sqrt(max(estimate.c, 0.0)) or 1.0
        G, b = estimate.G / scale[:, np.newaxis] / scale, estimate.b / scale / scale_y
        answer = solve(G, b, gamma, start=self.basis)
        self.diagnostics = self.diagnostics.after(answer, t, gamma)
        self.basis = None
        if answer.status != "optimal":
            return False
        self.w, self.units, self.basis = answer.w, scale_y / scale, answer.basis
        self.means = self.sums.means
        return True


Spread = Annotated[Floats, Holds(least=0.0, shape=(2,))]


class DantzigSettings(TypedDict, total=False):
    """Settings of the Dantzig program whose defaults are the same in both."""

    noise_sd: float | None
    failure_probability: float
    weighting: str


class DSSettings(DantzigSettings, total=False):
    """What both take beside that."""

    clip: bool


class DSLearner(LearnerBase):
    """Sums what mixed draws have read, each divided by its probability, and solves for a model.

    Sums and derived: see `keyhole.learners.weighted_dantzig.WeightedDantzig`. A subclass
    derives from its solution, in `_derive`, what is played and how the rest is drawn.
    """

    BYTES_PER_PAIR = 48.0  # sums, estimates, the program

    def __init__(
        self,
        problem: Problem,
        *,
        seed: int,
        threshold_scale: float,
        clip: bool = False,
        **program: Unpack[DantzigSettings],
    ) -> None:
        super().__init__(problem, seed=seed, clip=clip)
        self._fit = WeightedDantzig(problem.d, threshold_scale=threshold_scale, **program)

    @property
    def diagnostics(self) -> Diagnostics:
        """How the programs went."""
        return self._fit.diagnostics

    def settings(self) -> dict[str, float | str | None]:
        """The arguments this learner was made with, beside the problem and the seed."""
        return {**self._fit.settings(), "clip": self.clip}

    @classmethod
    def _restored(cls, state: LearnerState) -> Self:
        return restore(cls, state, kinds=(DantzigBasis,))

    def _resume(self) -> None:
        self._derive()

    @abstractmethod
    def _derive(self) -> None:
        """From the last solution: what is played, and how the rest is drawn."""

    def _add(self, ticket: Ticket, values: Floats, label: float) -> None:
        """Add what was read to the sums, with the probabilities of its round."""
        scheme = ticket.memo["marks"], ticket.memo["spread"]
        self._fit.sums.add_marked(ticket.features, values, *scheme, label)
