"""SeenSums: weighted sums over the seen entries of rows, from which centred moments can be had."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from keyhole.blocks.jit.decorators import kernel
from keyhole.blocks.sums.rows import Gathered, Rows, gather
from keyhole.fields import Holds
from keyhole.problem import Floats, Indices, whole_number

PRODUCT, COUNT, FIRST, SECOND = range(4)  # of `pairs`, i <= j: sums of x_i x_j, 1, x_i, x_j
LABELLED, LABEL = range(2)  # of `singles`: sums of x_i y and of y
WEIGHT, TOTAL, SQUARE = range(3)  # of `totals`: sums of 1, y and y^2


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
        kept, x = np.empty(len(features), dtype=np.int64), np.empty(len(features))
        n = arrived(features, values, kept, x)
        offsets, label = np.array([0, n]), np.array([y], dtype=np.float64)
        add_rows(offsets, kept, x, label, *self.arrays())

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
        """Where a kernel adds: pairs, singles, totals."""
        return self.pairs, self.singles, self.totals

    @property
    def diagonal(self) -> Floats:
        """Of each feature, over the rows where it was seen: the sums of x^2, 1, x and x again."""
        j = np.arange(self.d)
        records: Floats = self.pairs[j * self.d - j * (j + 1) // 2 + j]
        return records

    @property
    def counts(self) -> Floats:
        """The weight of the rows in which each feature was seen."""
        counts: Floats = self.diagonal[:, COUNT].copy()
        return counts


@kernel
def place(i: int | np.int64, j: int | np.int64, d: int) -> int | np.int64:
    """Where the record of i <= j stands."""
    return i * d - i * (i + 1) // 2 + j


@kernel
def fewest(pairs: Floats, counts: Floats, S: Indices) -> float:
    """The least weight of rows in which a feature of S (ascending), or two of them, were seen."""
    least = np.inf
    for a in range(len(S)):
        least = min(least, counts[S[a]])
        for b in range(a):
            least = min(least, pairs[place(S[b], S[a], len(counts)), COUNT])
    return least


@kernel
def _add_products(
    e: int | np.int64, stop: int | np.int64, features: Indices, x: Floats, d: int, pairs: Floats
) -> None:
    # Entry e of a row that ends before `stop`, with itself and the later entries of the row.
    # Unsigned places: numba tests a signed one for being negative.
    x_i, base = x[e], np.uint64(place(features[e], 0, d))
    for f in range(np.uint64(e), np.uint64(stop)):
        record = base + np.uint64(features[f])
        pairs[record, PRODUCT] += x_i * x[f]
        pairs[record, COUNT] += 1.0
        pairs[record, FIRST] += x_i
        pairs[record, SECOND] += x[f]


@kernel
def add_rows(
    offsets: Indices,
    features: Indices,
    x: Floats,
    y: Floats,
    pairs: Floats,
    singles: Floats,
    totals: Floats,
) -> None:
    """Add len(y) rows; entries offsets[t] to offsets[t + 1] are row t, features ascending.

    Every sum gets its terms in the order of the rows, whichever way is taken below: rows that come
    one by one and rows that come in blocks give the same sums bit for bit.
    """
    n, d, entries = len(y), singles.shape[1], offsets[len(y)]
    for t in range(n):
        totals[WEIGHT] += 1.0
        totals[TOTAL] += y[t]
        totals[SQUARE] += y[t] * y[t]
        for e in range(offsets[t], offsets[t + 1]):
            singles[LABELLED, features[e]] += x[e] * y[t]
            singles[LABEL, features[e]] += y[t]
    if entries < d:
        for t in range(n):
            for e in range(offsets[t], offsets[t + 1]):
                _add_products(e, offsets[t + 1], features, x, d, pairs)
        return
    room = Gathered(np.empty(d + 1, dtype=np.int64), np.empty((2, entries), dtype=np.int64))
    order = room.order
    for q in range(gather(Rows(offsets, features, x, y), 0, n, room)):
        _add_products(order[0, q], order[1, q], features, x, d, pairs)


@kernel
def add_row(
    features: Indices, x: Floats, y: float, pairs: Floats, singles: Floats, totals: Floats
) -> None:
    """`add_rows` for one row without absent values: the same sums, bit for bit."""
    totals[WEIGHT] += 1.0
    totals[TOTAL] += y
    totals[SQUARE] += y * y
    for e in range(len(features)):
        singles[LABELLED, features[e]] += x[e] * y
        singles[LABEL, features[e]] += y
        _add_products(e, len(features), features, x, singles.shape[1], pairs)


@kernel
def arrived(features: NDArray[np.signedinteger], values: Floats, kept: Indices, x: Floats) -> int:
    """Write the features whose values are not NaN to `kept`, the values to `x`; how many."""
    n = 0
    for a in range(len(values)):
        if not np.isnan(values[a]):
            kept[n] = features[a]
            x[n] = values[a]
            n += 1
    return n
