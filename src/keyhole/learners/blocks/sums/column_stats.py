"""Statistics of columns: mean, range, spread, tails, gaps; which ones repeat or combine others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.core.functions import c_function
from keyhole.problem import Floats, Indices
from keyhole.problem.state import AT_LEAST_0


class Running(NamedTuple):
    """Sums over what arrived of several quantities, each around its own first value.

    Differences from the first value keep their digits where the values themselves would lose them
    in a square (a temperature of 1e9 with changes of 1). All but `reference` are sums.

    Examples
    --------
    >>> seen = running(2)
    >>> for value in (1e9, 1e9 + 2.0, 1e9 + 4.0):
    ...     add(seen, 0, value)
    >>> [float(x) for x in (mean(seen)[0], variance(seen)[0], mean(seen)[1])]
    [1000000002.0, 4.0, 0.0]
    """

    reference: Annotated[Floats, "n"]
    reads: Annotated[Floats, AT_LEAST_0, "n"]
    total: Annotated[Floats, "n"]
    square: Annotated[Floats, AT_LEAST_0, "n"]


def running(size: int) -> Running:
    """Nothing seen yet, of `size` quantities."""
    return Running(np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size))


def mean(seen: Running) -> Floats:
    """The mean of each quantity, 0 where nothing arrived."""
    average: Floats = seen.reference + seen.total / np.maximum(seen.reads, 1.0)
    return average


def variance(seen: Running) -> Floats:
    """The sample variance of each quantity, 0 where fewer than two values arrived."""
    shift = seen.total / np.maximum(seen.reads, 1.0)
    spread = np.maximum(seen.square - seen.reads * shift**2, 0.0)
    result: Floats = spread / np.maximum(seen.reads - 1.0, 1.0)
    return result


def centres(seen: Running) -> Floats:
    """What to subtract: the mean m, shrunk towards 0 where it may well be 0.

        m max(0, 1 - 2 v / (n m^2)),   v the sample variance, n the reads

    the positive-part estimate of James and Stein with the constant 2. Where 0 is a natural centre
    (signs, differences) the early means are noise, and subtracting them costs more than it brings;
    where the offset is large against the spread the factor is 1.

    Examples
    --------
    >>> seen = running(2)
    >>> for a, b in ((1.0, 101.0), (-1.0, 99.0), (1.0, 101.0)):
    ...     add(seen, 0, a)
    ...     add(seen, 1, b)
    >>> centres(seen).round(3)
    array([  0.   , 100.324])
    """
    out = np.empty(len(seen.reads))
    _centres(seen, out)
    return out


@c_function("kh_centres", "out[n]", writes="out")
def _centres(seen: Running, out: Floats) -> None:
    raise NotImplementedError


@c_function("kh_add_value")
def add(seen: Running, j: int, value: float) -> None:
    """Take in a value of quantity j; NaN is absent and changes nothing."""
    raise NotImplementedError


@c_function("kh_spread")
def spread(seen: Running, j: int) -> float:
    """The sample variance of quantity j."""
    raise NotImplementedError


@c_function("kh_centre")
def centre(seen: Running, j: int) -> float:
    """The mean of quantity j, shrunk to 0 where it may well be 0."""
    raise NotImplementedError


class ColumnSums:
    """Power sums about the mean of the first block, ranges and counts; they add row by row.

    Examples
    --------
    >>> sums = ColumnSums(1)
    >>> sums.add(np.array([[0.0], [1.0], [np.nan], [1.0]]))
    >>> facts = sums.facts()
    >>> facts.low, facts.high, facts.absent, facts.binary
    (array([0.]), array([1.]), array([0.25]), array([ True]))
    """

    # Sums: n, counts, powers. Extremes: low, high. Everything else is derived in `facts`.

    def __init__(self, d: int) -> None:
        self.n = 0
        self.counts = np.zeros(d)
        self.powers = np.zeros((4, d))
        self.low = np.full(d, np.inf)
        self.high = np.full(d, -np.inf)
        self._origin: Floats | None = None

    def add(self, X: NDArray[np.floating]) -> None:
        """Add the rows of X; a cell that is NaN is absent."""
        X = np.asarray(X, dtype=np.float64)
        seen = ~np.isnan(X)
        if self._origin is None:
            self._origin = np.where(seen, X, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
        Z = np.where(seen, X - self._origin, 0.0)
        self.n += len(X)
        self.counts += seen.sum(axis=0)
        power = np.ones_like(Z)
        for row in self.powers:
            power *= Z
            row += power.sum(axis=0)
        self.low = np.minimum(self.low, np.where(seen, X, np.inf).min(axis=0, initial=np.inf))
        self.high = np.maximum(self.high, np.where(seen, X, -np.inf).max(axis=0, initial=-np.inf))

    def facts(self) -> ColumnFacts:
        """Means, spreads and the rest."""
        origin = np.zeros(len(self.counts)) if self._origin is None else self._origin
        m1, m2, m3, m4 = self.powers / np.maximum(self.counts, 1.0)
        variance = np.maximum(m2 - m1**2, 0.0)
        fourth = m4 - 4 * m3 * m1 + 6 * m2 * m1**2 - 3 * m1**4
        kurtosis = np.divide(
            fourth, variance**2, out=np.zeros_like(fourth), where=variance**2 > 1e-300
        )
        # sum (x - low)(high - x) is 0 iff every value is one of the two ends.
        some = self.counts > 0  # the range of no value at all is infinite
        low, high = (np.where(some, end - origin, 0.0) for end in (self.low, self.high))
        between = -m2 + (low + high) * m1 - low * high
        return ColumnFacts(
            mean=origin + m1,
            sd=np.sqrt(variance),
            low=self.low,
            high=self.high,
            kurtosis=kurtosis,
            binary=some & (between <= 1e-9 * (high - low) ** 2),
            absent=1.0 - self.counts / max(self.n, 1),
        )


@dataclass(frozen=True, slots=True, eq=False)
class ColumnFacts:
    """Per column: mean, standard deviation, range, kurtosis (3 for a Gaussian), whether it takes
    two values only, and the share of cells that are absent."""

    mean: Floats
    sd: Floats
    low: Floats
    high: Floats
    kurtosis: Floats
    binary: NDArray[np.bool_]
    absent: Floats


COPY_TOLERANCE = 1e-8  # 1 - corr^2 of a copy; float32 columns that are equal are well below
COMPUTED_TOLERANCE = 1e-7  # of the variance: what is left of a column that others determine


@dataclass(frozen=True, slots=True, eq=False)
class Dependence:
    """Columns that add nothing, by reason, and those worth keeping.

    `copies` pairs a column with the earlier one it repeats (up to sign, scale and a constant).
    `computed` are linear combinations of earlier kept columns.
    """

    constant: Indices
    copies: tuple[tuple[int, int], ...]
    computed: Indices
    kept: Indices


def dependence(G: Floats, sizes: Floats) -> Dependence:
    """Sort the columns of a centred second-moment matrix, keeping the earlier of two alike.

    Parameters
    ----------
    G
        Centred second moments, d x d.
    sizes
        The size of each column's values: a spread below 1e-7 of it is none.

    Examples
    --------
    >>> x = np.array([[1.0, 2.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0], [2.0, 4.0, 5.0, 7.0]])
    >>> x -= x.mean(axis=0)
    >>> found = dependence(np.cov(x.T, bias=True), np.ones(4))
    >>> found.copies, found.computed, found.kept
    (((1, 0),), array([3]), array([0, 2]))
    """
    sd = np.sqrt(np.maximum(np.diag(G), 0.0))
    flat = sd <= 1e-7 * np.maximum(sizes, 1e-300)
    scale = np.where(flat, 0.0, 1.0 / np.where(flat, 1.0, sd))
    left = scale[:, None] * G * scale  # correlations, from which kept columns are projected out
    first = np.abs(left)
    copies: list[tuple[int, int]] = []
    computed: list[int] = []
    kept: list[int] = []
    for j in range(len(G)):
        if flat[j]:
            continue
        like = [i for i in kept if 1.0 - first[i, j] ** 2 <= COPY_TOLERANCE]
        if like:
            copies.append((j, like[0]))
        elif left[j, j] <= COMPUTED_TOLERANCE:
            computed.append(j)
        else:
            kept.append(j)
            row = left[j] / np.sqrt(left[j, j])
            left = left - np.outer(row, row)
    return Dependence(
        np.flatnonzero(flat), tuple(copies), np.array(computed, dtype=np.int64), np.array(kept)
    )
