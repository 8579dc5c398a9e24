"""Past labels as inputs: the last ones, faded means of them, and least squares beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keyhole.core.functions import c_function
from keyhole.learners.blocks.sums.data_sums import DEPENDENT, LeastSquares
from keyhole.problem import DataError, Floats, Indices
from keyhole.problem.state import AT_LEAST_0

LAST_LABELS = 2  # how many of the last labels are inputs
HALF_LIVES = (3.0, 20.0, 100.0)  # rounds after which a label counts half in a faded mean
PAST_INPUTS = LAST_LABELS + len(HALF_LIVES)
PAST_NAMES: tuple[str, ...] = (
    *("last label", "label before last", *(f"label {i} rounds ago" for i in range(3, 99)))[
        :LAST_LABELS
    ],
    *(f"mean of labels, half-life {half_life:g}" for half_life in HALF_LIVES),
)


class Past(NamedTuple):
    """The labels told so far: the last ones, the latest first, and faded sums.

    A label told late is the latest one when it is told. Sums: `faded`, with the label of age a
    counted 2^(-a / half-life) times, `weight` those counts, `told`; `last` are labels.

    Examples
    --------
    >>> past, row = no_past(), np.empty(PAST_INPUTS)
    >>> for y in (1.0, 3.0, 8.0):
    ...     remember(past, y)
    >>> inputs(past, row)
    >>> row.round(2)
    array([8.  , 3.  , 4.54, 4.08, 4.02])
    """

    last: Annotated[Floats, "2"]
    faded: Annotated[Floats, "3"]
    weight: Annotated[Floats, AT_LEAST_0, "3"]
    told: Annotated[Indices, "1"]


def no_past() -> Past:
    """Before the first label."""
    many = len(HALF_LIVES)
    return Past(np.zeros(LAST_LABELS), np.zeros(many), np.zeros(many), np.zeros(1, dtype=np.int64))


@c_function("kh_past_inputs", "out[5]", writes="out")
def inputs(past: Past, out: Floats) -> None:
    """Write the last labels and the faded means, in the units of the label; NaN where unknown."""
    raise NotImplementedError


@c_function("kh_remember_label")
def remember(past: Past, y: float) -> None:
    """Take in a label."""
    raise NotImplementedError


ROUNDING_SHARE = 2.0**-44  # a faded mean, or a sum of products, is off by up to about this share

NEGATIVE_EIGENVALUE = 1e-9  # eigenvalues of correlations that are negative by less do no harm


@dataclass(frozen=True, slots=True, eq=False)
class PastModel:
    """What a model makes of the labels told before a round.

    Attributes
    ----------
    names
        Of the inputs made of earlier labels.
    weights
        Of these inputs; 0 for one that can be computed from those before it.
    loss
        Of the best model of the past alone, without any feature.
    """

    names: tuple[str, ...]
    weights: Floats
    loss: float


@dataclass(frozen=True, slots=True, eq=False)
class BesidePast:
    """The least squares of features where the past is free: what it leaves of them and the label.

    `squares` is the quadratic in the weights w of the features, with the best weights of the past
    for each w: those are `alone` - `slopes` w.
    """

    squares: LeastSquares
    alone: Floats
    slopes: Floats

    def model(self, w: Floats) -> PastModel:
        """The past beside features of these weights."""
        return PastModel(PAST_NAMES, self.alone - self.slopes @ w, self.squares.yy)


class PastSums:
    """Sums of products of the past's inputs with features, labels, and each other, in one pass.

    Rows are [x, p, y], with p the inputs that the labels before them give.
    A cell that is absent counts as the mean of its column, as in `Gram`: of p in the first rounds.

    Sums, about the means of the first block as origin: z (q, u, 1)' and m (q, u, 1)', with z the
    row, 0 where absent, m the 0/1 mask of what is there, q and u the same of p alone.

    Examples
    --------
    >>> from keyhole.learners.blocks.sums.data_sums import Gram
    >>> X, y = np.zeros((4, 1)), np.full(4, 7.0)  # all inputs are the same: the first one is used
    >>> gram, past = Gram(d=1), PastSums(d=1)
    >>> gram.add(X, y)
    >>> past.add(X, y)
    >>> model = past.beside(gram.raw(), intercept=False).model(np.zeros(1))
    >>> model.names[0], model.weights, model.loss
    ('last label', array([1., 0., 0., 0., 0.]), 0.0)
    """

    def __init__(self, d: int) -> None:
        self.d = d
        self._past = no_past()
        self._origin: Floats | None = None
        self._z: Floats = np.zeros((d + PAST_INPUTS + 1, 2 * PAST_INPUTS + 1))
        self._m: Floats = np.zeros((d + PAST_INPUTS + 1, 2 * PAST_INPUTS + 1))

    def add(self, X: NDArray[np.floating], y: Floats) -> None:
        """Add the next rows, in the order in which their labels are told."""
        if len(y) == 0:
            return
        labels, told = np.array(y, dtype=np.float64), np.empty((len(y), PAST_INPUTS))
        _past_rows(self._past, labels, told)
        rows = np.column_stack([X, told, labels])
        seen = ~np.isnan(rows)
        if self._origin is None:
            count = np.maximum(seen.sum(axis=0), 1)
            self._origin = np.where(seen, rows, 0.0).sum(axis=0) / count
            self._origin[self.d :] = labels.mean()
        z = np.where(seen, rows - self._origin, 0.0)
        p = slice(self.d, self.d + PAST_INPUTS)
        right = np.column_stack([z[:, p], seen[:, p], np.ones(len(y))])
        self._z += z.T @ right
        self._m += right.sum(axis=0) if seen.all() else seen.astype(np.float64).T @ right

    def beside(self, squares: LeastSquares, *, intercept: bool) -> BesidePast:
        """What the past leaves of these least squares, which are of the same rows.

        They must be centred if there is an intercept, and raw if not.
        """
        products, means = self._moments()
        d, n, mean_p = self.d, float(self._m[-1, -1]), means[self.d : -1]
        flat = np.diag(products[d:-1]) <= n * (ROUNDING_SHARE * mean_p) ** 2
        products[d:-1][flat], products[:, flat] = 0.0, 0.0
        if not intercept:
            products += n * np.outer(means, mean_p)
        _refuse_overflow(products, squares.G)
        B, A, b = products[:d], products[d:-1], products[-1]
        np.fill_diagonal(A, np.maximum(np.diag(A), 0.0))
        kept, whiten = _independent(A)
        alone, slopes = np.zeros(PAST_INPUTS), np.zeros((PAST_INPUTS, d))
        with np.errstate(over="ignore", invalid="ignore"):
            V, u = whiten @ B[:, kept].T, whiten @ b[kept]
            alone[kept], slopes[kept] = whiten.T @ u, whiten.T @ V
        _refuse_overflow(V, u, alone, slopes)
        G, c, yy = squares.G - V.T @ V, squares.c - V.T @ u, squares.yy - float(u @ u)
        # Sums are off by shares of what was added up: the larger the slopes, the more that is.
        sizes = np.sqrt(np.diag(A))
        noise = ROUNDING_SHARE * (np.sqrt(np.diag(squares.G)) + sizes @ np.abs(slopes)) ** 2
        gone = np.diag(G) <= np.maximum(DEPENDENT * np.diag(squares.G), noise)
        G[gone, :] = G[:, gone] = c[gone] = 0.0
        if yy <= ROUNDING_SHARE * (np.sqrt(squares.yy) + float(sizes @ np.abs(alone))) ** 2:
            yy, c = 0.0, np.zeros(d)
        shift = mean_p if intercept else np.zeros(PAST_INPUTS)
        left = LeastSquares(
            G=_semidefinite(G),
            c=c,
            yy=yy,
            mean_x=squares.mean_x - shift @ slopes,
            mean_y=squares.mean_y - float(shift @ alone),
        )
        return BesidePast(left, alone, slopes)

    def _moments(self) -> tuple[Floats, Floats]:
        """Centred sums of products of all columns with those of the past; the means of all."""
        z, m = self._z, self._m
        q, u = slice(0, PAST_INPUTS), slice(PAST_INPUTS, 2 * PAST_INPUTS)
        count = m[:, -1]
        mean = z[:, -1] / np.maximum(count, 1.0)
        mean_p = mean[self.d : -1]
        # Absent cells are at the mean: what counts is sum m u (z - mean)(q - mean_p).
        products = z[:, q] - mean[:, None] * m[:, q] - z[:, u] * mean_p
        products += np.outer(mean, mean_p) * m[:, u]
        origin = np.zeros(len(mean)) if self._origin is None else self._origin
        return products, np.where(count > 0.0, origin + mean, 0.0)


@c_function("kh_past_rows", "y[rows] out[rows,5]", writes="out")
def _past_rows(past: Past, y: Floats, out: Floats) -> None:
    """The inputs of the past before each of these labels, which are told one after the other."""
    raise NotImplementedError


def _refuse_overflow(*arrays: Floats) -> None:
    """DataError unless all numbers are finite."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise DataError(
            "features or labels are too large for sums of their squares, which overflow: "
            "divide large columns, or the label, by their size"
        )


def _semidefinite(G: Floats) -> Floats:
    """The same without negative eigenvalues, which rounding leaves where little of G is left."""
    size = np.sqrt(np.diag(G))
    unit = np.where(size > 0.0, size, 1.0)
    values, vectors = np.linalg.eigh((G + G.T) / 2.0 / np.outer(unit, unit))
    whole = (vectors * np.maximum(values, 0.0)) @ vectors.T * np.outer(size, size)
    return (G + G.T) / 2.0 if values[0] > -NEGATIVE_EIGENVALUE else (whole + whole.T) / 2.0


def _independent(A: Floats) -> tuple[Indices, Floats]:
    """Which columns of a Gram matrix are not computed from those before, and W with W A W' = 1."""
    kept: list[int] = []
    size = np.sqrt(np.diag(A))
    L = np.zeros((0, 0))
    for j in np.flatnonzero(size > 0.0).tolist():
        row = np.linalg.solve(L, A[kept, j] / size[kept] / size[j])
        left = 1.0 - float(row @ row)
        if left > DEPENDENT:
            L = np.block([[L, np.zeros((len(kept), 1))], [row, np.sqrt(left)]])
            kept.append(j)
    return np.array(kept, dtype=np.int64), np.linalg.inv(L) / size[kept]
