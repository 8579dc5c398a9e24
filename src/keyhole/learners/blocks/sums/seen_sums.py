"""SeenSums: weighted sums over the seen entries of rows, from which centred moments can be had."""

from __future__ import annotations

import functools
from typing import Annotated

import numpy as np

from keyhole.learners.blocks.sums.data_sums import DataSums
from keyhole.problem import Floats, Indices, whole_number
from keyhole.problem.state import Holds

PRODUCT, COUNT, FIRST, SECOND = range(4)  # of `pairs`, i <= j: sums of x_i x_j, 1, x_i, x_j
LABELLED, LABEL = range(2)  # of `singles`: sums of x_i y and of y
WEIGHT, TOTAL, SQUARE = range(3)  # of `totals`: sums of 1, y and y^2

WIDE = 512  # features: rows of more are added entry by entry, without an array of all their pairs


class SeenSums:
    """Sums over rows of which only some features were seen, with weights that can be lowered later.

    Beside what `Moments` keeps there is, for every pair, the sum of x_i over the rows where both i
    and j were seen: with it a covariance is centred by any means, exactly,

        sum (x_i - m_i)(x_j - m_j) = XX_ij - m_j X_ij - m_i X_ji + N_ij m_i m_j,

    so that a feature of a large mean costs no accuracy. And `scale` lowers the weight of all rows
    so far: N_ij then are effective counts.

    `pairs` (a record per pair, the upper triangle row after row: `place`), `singles` (over the rows
    where i was seen) and `totals` (over all rows) are all there is, and all are sums.

    Parameters
    ----------
    d
        How many features a row has.

    Examples
    --------
    >>> sums = SeenSums(3)
    >>> sums.add(np.array([0, 2]), np.array([1.0, 2.0]), 3.0)
    >>> sums.add(np.array([0, 1]), np.array([1.0, 5.0]), 1.0)
    >>> sums.counts
    array([2., 1., 1.])
    >>> sums.scale(0.5)
    >>> sums.counts, sums.totals
    (array([1. , 0.5, 0.5]), array([1., 2., 5.]))
    """

    SAVED = ("pairs", "singles", "totals")

    totals: Annotated[Floats, Holds(least=(0.0, -np.inf, 0.0))]

    def __init__(self, d: int) -> None:
        self.d = d = whole_number("d", d, 1)
        self.pairs: Floats = np.zeros((d * (d + 1) // 2, 4))
        self.singles: Floats = np.zeros((2, d))
        self.totals = np.zeros(3)

    def add(self, features: Indices, values: Floats, y: float) -> None:
        """Add a row: ascending features, their values (NaN where one did not arrive), the label."""
        here = ~np.isnan(values)
        i, x = features[here], values[here]
        if len(i) > WIDE:
            for e in range(len(i)):
                self._add_pairs(i[e : e + 1], x[e : e + 1], i[e:], x[e:])
        else:
            a, b = upper(len(i))
            self._add_pairs(i[a], x[a], i[b], x[b])
        self.singles[LABELLED, i] += x * y
        self.singles[LABEL, i] += y
        self.totals += (1.0, y, y * y)

    def _add_pairs(self, i: Indices, x_i: Floats, j: Indices, x_j: Floats) -> None:
        records = np.ones((len(j), 4))
        records[:, PRODUCT], records[:, FIRST], records[:, SECOND] = x_i * x_j, x_i, x_j
        self.pairs[place(i, j, self.d)] += records

    def add_complete(self, history: DataSums) -> None:
        """Add the sums of complete rows."""
        d = self.d
        raw = history.gram.about(np.zeros(d), 0.0).arrays()
        n, (y, yy, _) = float(raw["n"]), raw["scalars"].tolist()
        seen = raw.get("seen", np.full((d, d), n))
        cross = raw.get("cross", np.tile(raw["x"], (d, 1)))  # of x_j where i has a value
        i, j = np.triu_indices(d)
        self.pairs[:, PRODUCT] += raw["xx"][i, j]
        self.pairs[:, COUNT] += seen[i, j]
        self.pairs[:, FIRST] += cross[j, i]
        self.pairs[:, SECOND] += cross[i, j]
        self.singles[LABELLED] += raw["xy"]
        self.singles[LABEL] += raw.get("label", np.full(d, y))
        self.totals[[WEIGHT, TOTAL, SQUARE]] += n, y, yy

    def scale(self, factor: float) -> None:
        """Multiply the weight of every row so far."""
        for sums in self.arrays():
            sums *= factor

    def copy(self) -> SeenSums:
        """The same sums, with a life of their own."""
        result = SeenSums(self.d)
        for mine, its in zip(self.arrays(), result.arrays(), strict=True):
            its[:] = mine
        return result

    def arrays(self) -> tuple[Floats, Floats, Floats]:
        """All there is: pairs, singles, totals."""
        return self.pairs, self.singles, self.totals

    @property
    def diagonal(self) -> Floats:
        """Of each feature, over the rows where it was seen: the sums of x^2, 1, x and x again."""
        j = np.arange(self.d)
        records: Floats = self.pairs[place(j, j, self.d)]
        return records

    @property
    def counts(self) -> Floats:
        """The weight of the rows in which each feature was seen."""
        counts: Floats = self.diagonal[:, COUNT].copy()
        return counts


def place(i: Indices, j: Indices, d: int) -> Indices:
    """Where the records of i <= j stand."""
    places: Indices = i * d - i * (i + 1) // 2 + j
    return places


def upper(v: int) -> tuple[Indices, Indices]:
    """The pairs a <= b of v places, row after row.

    >>> upper(2)
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    return _upper(v) if v <= WIDE else np.triu_indices(v)


@functools.lru_cache(maxsize=16)
def _upper(v: int) -> tuple[Indices, Indices]:
    return np.triu_indices(v)


def fewest(pairs: Floats, counts: Floats, S: Indices) -> float:
    """The least weight of rows in which a feature of S (ascending), or two of them, were seen."""
    a, b = upper(len(S))
    least = pairs[place(S[a], S[b], len(counts)), COUNT][a != b].min(initial=np.inf)
    return float(min(least, counts[S].min(initial=np.inf)))
