"""WeightedSums: sums over seen entries, each divided by its own round's inclusion probability."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from keyhole.errors import one_of
from keyhole.learners.blocks.draw.mixed_sampling import MixedScheme, shares
from keyhole.learners.blocks.sums import triangle as triangles
from keyhole.learners.blocks.sums.estimates import Estimate
from keyhole.learners.blocks.sums.seen_sums import place, upper
from keyhole.problem import Floats, Indices, whole_number
from keyhole.problem.fields import Holds

WEIGHTINGS = ("ratio", "exact")

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
        one_of("weighting", weighting, WEIGHTINGS)
        n, i = max(self.n, 1), self._diagonal()
        divisor = np.full(len(self.pairs), float(n))
        if weighting == "ratio":
            weights = self.pairs[:, WEIGHT]
            divisor = np.where(weights > 0.0, weights, 1.0)
        G = np.empty((self.d, self.d))
        triangles.unpack(self.pairs[:, PRODUCT] / divisor, self.d, G)
        nothing = np.zeros(self.d)
        b = self.singles[LABELLED] / divisor[i]
        return Estimate(G, b, float(self.totals[SQUARE]) / n, self.n, nothing, 0.0)

    def _diagonal(self) -> Indices:
        j = np.arange(self.d)
        return place(j, j, self.d)
