"""Estimates of second moments of partially seen rows: by inclusion probability, or averages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keyhole.learners.blocks.draw.sampling import Inclusion
from keyhole.learners.blocks.sums.data_sums import Gram
from keyhole.learners.blocks.sums.moments import Moments
from keyhole.learners.blocks.sums.seen_sums import FIRST, SeenSums
from keyhole.problem import (
    BlockStream,
    DataError,
    Floats,
    ProblemError,
    real_numbers,
    refuse_unless_stream,
    whole_number,
)


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Second moments as estimated from n partially seen rows: of x (G), x y (b) and y^2 (c).

    The mean squared error of a linear model w is estimated by c - 2 b.w + w.G w. `x_mean` and
    `y_mean` are what was subtracted first: zero unless centred.
    """

    # Everything is derived from the sums of a Moments; nothing here adds.
    G: Floats
    b: Floats
    c: float
    n: int
    x_mean: Floats
    y_mean: float

    def intercept(self, w: Floats) -> float:
        """What a model with weights w adds to the weighted sum: y_mean - x_mean . w."""
        return self.y_mean - float(self.x_mean @ w)


def horvitz_thompson(moments: Moments, inclusion: Inclusion) -> Estimate:
    """Divide every sum by the probability of seeing its terms (`weighting="exact"`).

        G_ij = XX_ij / (n P[i, j]),  b_i = Xy_i / (n P[i])

    Parameters
    ----------
    inclusion
        The probabilities of the sampling scheme, which must be the same for all rows.

    Guarantee
    ---------
    E G and E b are the averages of x x^T and x y over the rows, for any rows, random or not,
    if every row was seen at a set drawn by the scheme independently of it, and
    Var G_ij = (1/P[i, j] - 1) sum (x_i x_j)^2 / n^2 for sets drawn independently. Trusted, not
    checked: the scheme is the one that was used, and all that was bought arrived. Where
    values go missing the probabilities are too high; use `available_case`.
    """
    if inclusion.d != moments.d:
        raise ProblemError(f"inclusion is for d = {inclusion.d}, the sums are for d = {moments.d}")
    if not inclusion.sees_all_pairs:
        raise ProblemError(
            "some pairs of features are never seen together, so their moments cannot be "
            "estimated: at least 2 features must be drawn"
        )
    n, everything, G = max(moments.n, 1), np.arange(moments.d), moments.XX
    for i in everything:  # by row, so that no second d x d matrix is needed
        G[i] /= n * inclusion.pair(i, everything)
    return _estimate(moments, G, moments.Xy / (n * inclusion.single))


def printed(moments: Moments, k0: int) -> Estimate:
    """The estimates of the paper as printed (`equation:conv.prog`, `equation:diag.bias`).

        G = ((d/k0)^2 XX - D) / n,  D = (1 - k0/d) diag((d/k0)^2 XX),  b = (d/k0) Xy / n

    Guarantee
    ---------
    b and the diagonal of G are unbiased for uniform k0-subsets. The rest of G is not: it is
    too small by the factor d (k0 - 1) / (k0 (d - 1)), zero at k0 = 1, for any n. (It would be
    right if every feature were drawn independently with probability k0/d.)
    """
    k0 = whole_number("k0", k0, 1)
    if k0 > moments.d:
        raise ProblemError(f"k0 must be at most d = {moments.d}, got {k0}")
    n, scale = max(moments.n, 1), moments.d / k0
    G = scale**2 * moments.XX
    D = (1 - k0 / moments.d) * np.diag(G)
    G[np.diag_indices(moments.d)] -= D
    G /= n
    return _estimate(moments, G, scale * moments.Xy / n)


def available_case(moments: Moments, *, centred: bool = False) -> Estimate:
    """Average every product over the rows where it was seen.

        G_ij = XX_ij / N_ij,  b_i = Xy_i / N_ii;  0 where N says that it was never seen

    Parameters
    ----------
    centred
        Subtract the means: m_i = X_i / N_ii, G_ij - m_i m_j, b_i - m_i Y_i / N_ii. A model of
        these has the intercept `Estimate.intercept(w)`.

    Guarantee
    ---------
    Consistent for rows that are independent and alike, if a row was seen at a set chosen
    without looking at it, whatever the scheme, also one that changes and with values that go
    missing at random. G need not be positive semidefinite. The means come from more rows than
    a pair has, which adds an error of about m_i sd_j / sqrt(N_ij): take off what is known of
    the means before adding the rows.
    """
    N, n = moments.N, max(moments.n, 1)
    never = N == 0
    N[never] = 1
    times = np.diag(N)
    G, b = moments.XX / N, moments.Xy / times
    if not centred:
        return _estimate(moments, G, b)
    x_mean, y_mean = moments.X / times, moments.y / n
    G -= np.outer(x_mean, x_mean)
    G[never] = 0.0
    b -= x_mean * (moments.Y / times)
    return Estimate(G, b, moments.yy / n - y_mean**2, moments.n, x_mean, y_mean)


def mean_imputed(sums: SeenSums) -> Estimate:
    """Centred second moments of the rows as they are when a mean stands in for what is absent.

        G_ij = (XX_ij - m_j X_ij - m_i X_ji + N_ij m_i m_j) / n,  b_i = (Xy_i - m_i Y_i) / n

    with X_ij the sum of x_i over the rows that have i and j, from at least one row.

    Guarantee
    ---------
    To rounding these are the moments of n actual rows, so that G is positive semidefinite. Where
    values are absent, covariances are too small by the share N_ij / n: use this for rows that are
    nearly complete.
    """
    n, total, square = (float(value) for value in sums.totals)
    i, j = np.triu_indices(sums.d)
    XX, N, X_i, X_j = sums.pairs.T
    m = sums.diagonal[:, FIRST] / np.maximum(sums.counts, 1.0)
    G = np.empty((sums.d, sums.d))
    G[i, j] = G[j, i] = (XX - m[j] * X_i - m[i] * X_j + N * m[i] * m[j]) / n
    Xy, Y = sums.singles
    y_mean = total / n
    return Estimate(G, (Xy - m * Y) / n, square / n - y_mean**2, round(n), m, y_mean)


def _estimate(moments: Moments, G: Floats, b: Floats) -> Estimate:
    return Estimate(G, b, moments.yy / max(moments.n, 1), moments.n, np.zeros(moments.d), 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class SecondMoments:
    """G = X'X / n of whatever it came from, and what must be said about it.

    `seen` is False where a pair of features was never seen together (G is 0 there); `note` is empty
    when there is nothing to say. `complete` says that G is that of actual rows, absent cells filled
    in at most, and hence positive semidefinite. Columns that are zero stay so when standardised.
    """

    G: Floats
    n: int
    seen: NDArray[np.bool_]
    note: str
    complete: bool

    def scaled(self) -> SecondMoments:
        """The same with every column divided by its root mean square."""
        size = np.sqrt(np.maximum(np.diag(self.G), 0.0))
        scale = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0.0)
        return replace(self, G=scale[:, None] * self.G * scale)


RowTable = NDArray[Any] | Sequence[Sequence[float]]
Data = RowTable | Gram | Moments | BlockStream | SecondMoments


def second_moments(data: Data, *, centred: bool = False) -> SecondMoments:
    """X'X / n of rows, a stream, a `Gram` or the `Moments` of partially seen rows.

    Rows are read as `hindsight` reads them: a cell that is NaN counts as the mean of its column.
    `centred` takes the means out first; a `SecondMoments` is passed through as it is.
    """
    if isinstance(data, SecondMoments):
        return data
    if isinstance(data, Moments):
        return _of_moments(data, centred)
    gram = data if isinstance(data, Gram) else _gram_of(data)
    if gram.n == 0:
        raise DataError("there are no rows: nothing can be said about their features")
    G = (gram.centred() if centred else gram.raw()).G / gram.n
    note = "absent cells count as their column's mean" if gram.has_gaps else ""
    return SecondMoments(G, gram.n, np.ones(G.shape, dtype=bool), note, complete=True)


def _gram_of(data: RowTable | BlockStream) -> Gram:
    if isinstance(data, np.ndarray | Sequence):
        table = real_numbers("X", data)
        if table.ndim != 2 or table.shape[1] < 1:
            raise DataError(f"X must be a table of rows and features, got shape {table.shape}")
        gram = Gram(table.shape[1])
        gram.add(table, np.zeros(len(table)))
        return gram
    refuse_unless_stream(data, blocks=True)
    gram = Gram(data.d)
    for X, y in data.blocks():
        gram.add(X, y)
    return gram


def _of_moments(moments: Moments, centred: bool) -> SecondMoments:
    if moments.n == 0:
        raise DataError("the moments are of no rows: nothing can be said about the features")
    N = moments.N
    estimate = available_case(moments, centred=centred)
    note = ""
    if (moments.n > N).any():
        never = int((N[np.triu_indices(moments.d, 1)] == 0).sum())
        note = f"an estimate from partially seen rows, {int(N.min()):,} or more for each pair"
        if never:
            note = f"from partially seen rows; {never:,} pairs of features were never seen together"
    return SecondMoments(estimate.G, moments.n, N > 0, note, complete=not note)
