"""DataSums and the Gram matrix in it: sums of complete rows, in one pass or in stripes."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keyhole.errors import refuse_labels, refuse_unless_stream
from keyhole.problem import DataError, Floats, StateError
from keyhole.problem.memory import refuse_beyond_memory

DEPENDENT = 1e-10  # a column with less than this share of its square left is dependent on the rest
CONSTANT_SHARE = 2.0**-49  # a column that varies by less than this share of its size is constant


@dataclass(frozen=True, slots=True)
class LeastSquares:
    """The quadratic yy - 2 c.w + w'G w: squared loss of weights w, of a centred model if centred.

    `mean_x`, `mean_y` are the means that were taken out, zero if none: a model's intercept is
    mean_y - mean_x.w.
    """

    G: Floats
    c: Floats
    yy: float
    mean_x: Floats
    mean_y: float


def gram_bytes(d: int, copies: int = 1) -> float:
    """About what a Gram of d features takes, with so many copies of its sums beside it."""
    return 8.0 * (3.0 + copies) * float(d) ** 2  # two more while a block is added


STRIPE_WIDTH = 4096  # columns whose products with all others are computed at once


def add_products(sums: Floats, Z: Floats) -> None:
    """Add Z'Z, stripe by stripe where Z is wide.

    In one piece it needs as much room again as the sums, and OpenBLAS crashes from about 20,000
    columns on (version 0.3.31, more than one thread).

    >>> Z, sums = np.arange(6.0).reshape(2, 3), np.zeros((3, 3))
    >>> add_products(sums, Z)
    >>> bool((sums == Z.T @ Z).all())
    True
    """
    d = Z.shape[1]
    for first in range(0, d, STRIPE_WIDTH):
        last = min(first + STRIPE_WIDTH, d)
        stripe = Z[:, first:last]
        sums[first:last, first:last] += stripe.T @ stripe
        if last < d:
            products = stripe.T @ Z[:, last:]
            sums[first:last, last:] += products
            sums[last:, first:last] += products.T


Arrays = Mapping[str, NDArray[Any]]


class _RowSums:
    """Sums over rows of z z', z v and z, of v and v^2, with z = x - a and v = y - b.

    The origin (a, b) is the mean of the first block. Of the table z z' it has the first `rows`
    features with all `width` of them. A cell that is absent has z = 0; what is needed to count it
    as the mean of its column is in `_gaps`, with m the 0/1 mask of cells that are there: m m', m z'
    and m v. Only streams with absent cells pay for these.
    """

    def __init__(self, width: int, rows: int) -> None:
        self.width, self.rows, self.n = width, rows, 0
        self._origin: tuple[Floats, float] | None = None
        self._sums = {"xx": np.zeros((rows, width)), "xy": np.zeros(width), "x": np.zeros(width)}
        self._scalars: Floats = np.zeros(2)  # sums of v and of v^2
        self._gaps: dict[str, Floats] = {}

    def add(self, X: NDArray[np.floating], y: Floats) -> None:
        """Add the rows of X with their labels."""
        if len(y) == 0:
            return
        X = np.asarray(X, dtype=np.float64)
        seen, w = seen_cells(X, self.n), self.rows
        if self._origin is None:
            self._origin = block_mean(X, seen), float(y.mean())
        Z, v = X - self._origin[0], y - self._origin[1]
        if seen is not None:
            Z[~seen] = 0.0
            self._gaps = self._gaps or self._no_gaps_so_far()
        if self._gaps:
            m = np.ones(X.shape) if seen is None else seen.astype(np.float64)
            self._add_products(self._gaps["seen"], m)
            self._gaps["cross"] += m[:, :w].T @ Z
            if "back" in self._gaps:
                self._gaps["back"] += Z[:, :w].T @ m
            self._gaps["label"] += m.T @ v
        self.n += len(y)
        self._add_products(self._sums["xx"], Z)
        self._sums["xy"] += Z.T @ v
        self._sums["x"] += Z.sum(axis=0)
        self._scalars += v.sum(), v @ v

    def _add_products(self, table: Floats, Z: Floats) -> None:
        table += Z[:, : self.rows].T @ Z

    def _no_gaps_so_far(self) -> dict[str, Floats]:
        return {
            "seen": np.full((self.rows, self.width), float(self.n)),
            "cross": np.tile(self._sums["x"], (self.rows, 1)),
            "label": np.full(self.width, self._scalars[0]),
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything there is, as named arrays; those of absent cells only if there are some."""
        a, b = (np.zeros(self.width), 0.0) if self._origin is None else self._origin
        scalars = np.array([*self._scalars, b])
        named: Arrays = {"n": np.array(self.n), "origin": a, "scalars": scalars}
        return {**named, **self._sums, **self._gaps}


class Gram(_RowSums):
    """Sums over rows of (x - a)(x - a)', (x - a)(y - b), (y - b)^2 about a fixed origin (a, b).

    The origin is the mean of the first block: sums about a point within the data lose no digits
    to a mean that is far from zero. A cell that is NaN counts as the mean of its column over the
    whole stream; with the sums of pairs of cells in `_gaps` that is exact in a single pass.

    Every array is a sum over rows, so two Grams of the same origin add (`beside`, `include`), and
    two of different origins add about the mean of both (`+`); everything else is derived in
    `centred` and `raw`.

    Examples
    --------
    >>> gram = Gram(d=1)
    >>> gram.add(np.array([[1.0], [3.0]]), np.array([2.0, 6.0]))
    >>> gram.raw().G, gram.raw().c, gram.raw().yy
    (array([[10.]]), array([20.]), 40.0)
    >>> gram.centred().G, gram.centred().c, gram.centred().yy
    (array([[2.]]), array([4.]), 8.0)
    """

    def __init__(self, d: int) -> None:
        refuse_beyond_memory(
            f"a table of all pairs of {d:,} features", gram_bytes(d), "use fewer features"
        )
        super().__init__(d, d)
        self.d = d

    def _add_products(self, table: Floats, Z: Floats) -> None:
        add_products(table, Z)

    def beside(self) -> Gram:
        """An empty Gram of the same origin, whose sums add up with those of this one."""
        other = Gram(self.d)
        other._origin = self._origin
        return other

    def include(self, other: Gram) -> None:
        """Add the sums of a Gram of the same origin."""
        if other.n == 0:
            return
        if self._gaps or other._gaps:
            self._gaps = self._gaps or self._no_gaps_so_far()
            for name, table in (other._gaps or other._no_gaps_so_far()).items():
                self._gaps[name] += table
        self.n += other.n
        for name, table in other._sums.items():
            self._sums[name] += table
        self._scalars += other._scalars

    def __add__(self, other: Gram) -> Gram:
        """The Gram of the rows of both, about the mean of both: neither origin costs digits."""
        if self.d != other.d:
            raise StateError(f"sums of {self.d} and {other.d} features cannot be added")
        total = Gram(self.d)
        parts = [part for part in (self, other) if part.n > 0]
        if not parts:
            return total
        counts = [part.counts for part in parts]
        means = [_mean(part, count) for part, count in zip(parts, counts, strict=True)]
        a, b = means[0]
        if len(parts) == 2:  # from the first mean on: the mean of equal means is that mean
            share, rows = counts[1] / np.maximum(counts[0] + counts[1], 1.0), [p.n for p in parts]
            a = a + share * (means[1][0] - a)
            b += rows[1] / sum(rows) * (means[1][1] - b)
        total._origin = a, b
        for part in parts:
            total.include(part.about(a, b))
        return total

    def about(self, a: Floats, b: float) -> Gram:
        """The same rows about another origin."""
        moved = self.beside()
        moved._origin = a, b
        if self._origin is None:
            return moved
        s, t = self._origin[0] - a, self._origin[1] - b
        moved.n, count = self.n, self.counts
        xx, xy, x = self._sums.values()
        y, yy = self._scalars.tolist()
        if self._gaps:
            seen, cross, label = self._gaps.values()
            half = s[:, None] * (cross + 0.5 * seen * s)
            moved._gaps = {"seen": seen, "cross": cross + seen * s, "label": label + t * count}
        else:
            half, label = np.outer(s, x + 0.5 * self.n * s), np.full(self.d, y)
        xy = xy + t * x + s * label + t * s * count
        moved._sums = {"xx": xx + (half + half.T), "xy": xy, "x": x + s * count}
        moved._scalars = np.array([y + self.n * t, yy + 2 * t * y + self.n * t * t])
        return moved

    @property
    def counts(self) -> Floats:
        """In how many rows each feature has a value."""
        if not self._gaps:
            return np.full(self.d, float(self.n))
        return np.diag(self._gaps["seen"]).copy()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Gram:
        """The Gram that `arrays` described, or a StateError."""
        d, names = len(arrays["x"]), {"n", "origin", "scalars", "xx", "xy", "x"}
        shapes = {"n": (), "scalars": (3,), "xx": (d, d), "seen": (d, d), "cross": (d, d)}
        gaps = {"seen", "cross", "label"}
        if not d or set(arrays) not in (names, names | gaps):
            raise StateError(f"sums have {', '.join(sorted(names))}, not {', '.join(arrays)}")
        for name, array in arrays.items():
            wanted = shapes.get(name, (d,))
            if array.shape != wanted or (array.dtype != np.float64 and name != "n"):
                raise StateError(f"{name} must be of shape {wanted}, got {array.shape}")
            if not np.isfinite(array).all():
                raise StateError(f"{name} must be finite")
        gram = cls(d)
        gram.n = int(arrays["n"])
        if gram.n < 0 or (arrays["n"].dtype.kind not in "iu"):
            raise StateError(f"n must be a number of rows, got {arrays['n']}")
        *scalars, b = arrays["scalars"].tolist()
        gram._origin, gram._scalars = (arrays["origin"], b) if gram.n else None, np.array(scalars)
        gram._sums = {name: arrays[name] for name in ("xx", "xy", "x")}
        gram._gaps = {name: arrays[name] for name in ("seen", "cross", "label") if name in arrays}
        return gram

    @property
    def has_gaps(self) -> bool:
        """Whether some cell was absent."""
        return bool(self._gaps)

    def centred(self) -> LeastSquares:
        """The least squares of models with an intercept."""
        if self._origin is None:
            return self.raw()
        (xx, xy, x), (y, yy) = self._imputed(), self._scalars.tolist()
        mean_x, mean_y = x / self.n, y / self.n
        G, c = xx - np.outer(x, x) / self.n, xy - x * mean_y
        # What is left of a constant column is rounding: each value is off by up to 2^-53 of itself.
        constant = np.diag(G) <= self.n * (CONSTANT_SHARE * self._origin[0]) ** 2
        G[constant, :] = G[:, constant] = c[constant] = 0.0
        return LeastSquares(
            G=G,
            c=c,
            yy=max(0.0, yy - y * mean_y),
            mean_x=self._origin[0] + mean_x,
            mean_y=self._origin[1] + mean_y,
        )

    def raw(self) -> LeastSquares:
        """The least squares of models without an intercept."""
        a, b = (np.zeros(self.d), 0.0) if self._origin is None else self._origin
        (xx, xy, x), (y, yy) = self._imputed(), self._scalars.tolist()
        return LeastSquares(
            G=xx + np.outer(x, a) + np.outer(a, x) + self.n * np.outer(a, a),
            c=xy + x * b + a * y + self.n * a * b,
            yy=yy + 2 * b * y + self.n * b * b,
            mean_x=np.zeros(self.d),
            mean_y=0.0,
        )

    def _imputed(self) -> tuple[Floats, Floats, Floats]:
        """The sums of z z', z (y - b), z with the column mean in place of absent cells."""
        xx, xy, x = self._sums.values()
        if not self._gaps:
            return xx, xy, x
        # The imputed row is z + mu (1 - m), mu_i the mean of z_i where seen. Expanding its outer
        # product needs sum (1 - m_i) z_j = x_j - cross_ij and sum (1 - m_i)(1 - m_j).
        seen, cross, label = self._gaps.values()
        count = np.diag(seen)
        mu = np.divide(x, count, out=np.zeros_like(x), where=count > 0)
        mixed = mu[:, None] * (x[None, :] - cross)
        both_absent = self.n - count[:, None] - count[None, :] + seen
        return (
            xx + mixed + mixed.T + np.outer(mu, mu) * both_absent,
            xy + mu * (self._scalars[0] - label),
            x + mu * (self.n - count),
        )


def seen_cells(X: NDArray[np.floating], before: int = 0) -> NDArray[np.bool_] | None:
    """Which cells have a value, None if all have; a DataError for one that is infinite."""
    with np.errstate(all="ignore"):
        if np.isfinite(X.sum()):  # one pass tells that there is neither NaN nor infinity
            return None
    if np.isinf(X).any():
        row, column = (int(i[0]) for i in np.nonzero(np.isinf(X)))
        raise DataError(f"X must be finite, NaN for absent: row {before + row}, feature {column}")
    seen: NDArray[np.bool_] = ~np.isnan(X)
    return None if seen.all() else seen


def block_mean(X: NDArray[np.floating], seen: NDArray[np.bool_] | None) -> Floats:
    """The mean of each column of a block over the cells that have a value; 0 if none has."""
    if seen is None:
        return np.asarray(X.sum(axis=0) / len(X))
    return np.asarray(np.where(seen, X, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1))


def _mean(gram: Gram, count: Floats) -> tuple[Floats, float]:
    """The means of a Gram of some rows; the origin for a feature that never has a value."""
    assert gram._origin is not None
    a, b = gram._origin
    x, (y, _) = gram._sums["x"], gram._scalars.tolist()
    return a + x / np.maximum(count, 1.0), b + y / gram.n


class Stripe(_RowSums):
    """The sums of pairs of which the first is among `rows` features, and the second as far or on.

    It is given the features from its first one on, in blocks that are the same for all stripes of
    the same rows, and is about the same origin, the mean of the first block. `assembled` puts all
    stripes together. All arrays are sums over rows; see `Gram`.

    Examples
    --------
    >>> X, y = np.array([[1.0, 2.0, 3.0], [4.0, 6.0, 1.0]]), np.array([1.0, 2.0])
    >>> whole, stripes = Gram(3), [Stripe(3, 2), Stripe(1, 1)]
    >>> whole.add(X, y)
    >>> stripes[0].add(X, y)
    >>> stripes[1].add(X[:, 2:], y)
    >>> bool((assembled([s.arrays() for s in stripes]).raw().G == whole.raw().G).all())
    True
    """

    def _no_gaps_so_far(self) -> dict[str, Floats]:
        back = np.tile(self._sums["x"][: self.rows, None], (1, self.width))
        return {**super()._no_gaps_so_far(), "back": back}


def assembled(stripes: Sequence[Arrays]) -> Gram:
    """The Gram of which these are all stripes, in their order."""
    first = stripes[0]
    d, n = len(first["x"]), int(first["n"])
    if any(int(stripe["n"]) != n for stripe in stripes):
        raise StateError("stripes of different rows cannot be put together")
    square = ["xx", *(["seen", "cross"] if any("seen" in s for s in stripes) else [])]
    tables = {name: np.empty((d, d)) for name in square}
    label, lo = np.full(d, first["scalars"][0]), 0
    for stripe in stripes:
        rows, width = stripe["xx"].shape
        if width != d - lo:
            raise StateError(f"a stripe from feature {lo} on has {width} features, not {d - lo}")
        hi = lo + rows
        for name, table in tables.items():
            forth, back = _stripe_pair(stripe, name, n)
            table[lo:hi, lo:] = forth
            table[lo:, lo:hi] = back.T
            if name != "cross":  # a product of two arrays need not be symmetric to the bit
                upper = np.triu(forth[:, :rows])
                table[lo:hi, lo:hi] = upper + np.triu(upper, 1).T
        if "label" in stripe:
            label[lo:hi] = stripe["label"][:rows]
        lo = hi
    if lo != d:
        raise StateError(f"stripes of {lo} features, not {d}")
    gaps = {"label": label} if "seen" in tables else {}
    whole = {name: first[name] for name in ("n", "origin", "scalars", "xy", "x")}
    return Gram.from_arrays({**whole, **tables, **gaps})


def _stripe_pair(stripe: Arrays, name: str, n: int) -> tuple[Floats, Floats]:
    """A table of a stripe, and its mirror image; as if nothing were absent where nothing is."""
    if name in stripe:
        return stripe[name], stripe["back" if name == "cross" else name]
    rows, width = stripe["xx"].shape
    if name == "seen":
        full = np.full((rows, width), float(n))
        return full, full
    x = stripe["x"]
    return np.tile(x, (rows, 1)), np.tile(x[:rows, None], (1, width))


@dataclass(frozen=True, slots=True, eq=False)
class DataSums:
    """What `kh.sums` returns: all that models fitted in hindsight need to know of a data set.

    Counts, means, second moments of all pairs of features and products with the label, kept about
    the means so that no digits are lost to them; the range of every feature and of the label. Sums
    of disjoint data sets add: `a + b`, or `kh.merge(a, b)`.

    Attributes
    ----------
    d, names, target
        Features, what they are called (None if nothing) and what the label is called.
    rounds
        How many rows.
    left_out
        How many rows had no label and are not in it.
    parts
        What the rows are: a name for every shard, empty if they came from a stream. Two sums that
        share one are not added, nor are those of a stream to themselves: once added, they go by
        a digest.
    """

    # Sums: gram, left_out. Extremes: low, high, ends. Everything else says what they are of.

    gram: Gram
    low: Floats
    high: Floats
    ends: tuple[float, float]
    names: tuple[str, ...] | None = None
    target: str | None = None
    left_out: int = 0
    parts: tuple[str, ...] = ()

    @property
    def d(self) -> int:
        """How many features."""
        return self.gram.d

    @property
    def rounds(self) -> int:
        """How many rows."""
        return self.gram.n

    @property
    def counts(self) -> Floats:
        """In how many rows each feature has a value."""
        return self.gram.counts

    @property
    def means(self) -> Floats:
        """The mean of each feature over the rows where it has a value."""
        return self.gram.centred().mean_x

    @property
    def label_mean(self) -> float:
        """The mean of the label."""
        return self.gram.centred().mean_y

    @property
    def covariance(self) -> Floats:
        """The covariance of all pairs of features; an absent value counts as the mean.

        >>> import keyhole as kh
        >>> sums = kh.sums(kh.streams.ArrayStream([[1.0, 5.0], [3.0, 9.0]], [0.0, 1.0]))
        >>> sums.covariance
        array([[1., 2.],
               [2., 4.]])
        """
        return self.gram.centred().G / max(self.rounds, 1)

    def __add__(self, other: DataSums) -> DataSums:
        """The sums of both."""
        if not isinstance(other, DataSums):
            return NotImplemented
        for what in ("names", "d", "target"):
            mine, its = getattr(self, what), getattr(other, what)
            if mine != its:
                raise StateError(
                    f"sums of different {what} cannot be added: {_shown(mine)}, {_shown(its)}; "
                    "read both with the same `features` and `target`"
                )
        mine, its = self._shards(), other._shards()
        if both := {*mine} & {*its}:
            raise StateError(
                f"sums that share rows cannot be added: {len(both)} of the shards are in both"
            )
        return DataSums(
            self.gram + other.gram,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            (min(self.ends[0], other.ends[0]), max(self.ends[1], other.ends[1])),
            self.names,
            self.target,
            self.left_out + other.left_out,
            (*mine, *its),
        )

    def _shards(self) -> tuple[str, ...]:
        """What the rows are; by the sums themselves if they have no names."""
        if self.parts or not self.rounds:
            return self.parts
        digest = hashlib.blake2b(digest_size=16)
        for array in self.arrays().values():
            digest.update(np.ascontiguousarray(array).data)
        return (f"rows with the sums {digest.hexdigest()}",)

    def __repr__(self) -> str:
        label = "" if self.target is None else f", label {self.target!r}"
        return f"<sums of {self.rounds:,} rows, {self.d:,} features{label}>"

    def same(self, other: DataSums) -> bool:
        """Whether they are the same to the last bit."""
        mine, its = self.arrays(), other.arrays()
        return mine.keys() == its.keys() and all(
            np.array_equal(mine[name], its[name]) for name in mine
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All numbers, as named arrays."""
        ends = {"low": self.low, "high": self.high, "ends": np.array(self.ends)}
        return {**self.gram.arrays(), **ends}

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, NDArray[Any]],
        names: Sequence[str] | None = None,
        target: str | None = None,
        left_out: int = 0,
        parts: Sequence[str] = (),
    ) -> DataSums:
        """The sums that `arrays` described, or a StateError."""
        rest = {k: v for k, v in arrays.items() if k not in ("low", "high", "ends")}
        if len(rest) != len(arrays) - 3 or "x" not in rest:
            raise StateError("not the arrays of sums: some are missing")
        gram = Gram.from_arrays(rest)
        low, high, ends = (np.asarray(arrays[k], dtype=np.float64) for k in ("low", "high", "ends"))
        if low.shape != (gram.d,) or high.shape != (gram.d,) or ends.shape != (2,):
            raise StateError(f"the ranges of {gram.d} features are missing")
        listed = None if names is None else tuple(names)
        if listed is not None and len(listed) != gram.d:
            raise StateError(f"{len(listed)} names for {gram.d} features")
        return cls(
            gram, low, high, (float(ends[0]), float(ends[1])), listed, target, left_out, (*parts,)
        )


def refuse_unless_stream_or_sums(data: object) -> None:
    """ProblemError unless this is a stream of blocks, or the sums of one."""
    if not isinstance(data, DataSums):
        refuse_unless_stream(data, blocks=True)


class Ranges:
    """The range of every feature and of the label, block by block."""

    def __init__(self, d: int) -> None:
        self.low, self.high = np.full(d, math.inf), np.full(d, -math.inf)
        self.ends = (math.inf, -math.inf)

    def add(self, X: NDArray[np.floating], y: Floats) -> None:
        """Take note of some rows; NaN is absent. DataError for a label that is no number."""
        refuse_labels(y)
        if len(y):
            low, high = X.min(axis=0), X.max(axis=0)
            if np.isnan(low).any():  # slower, and needed only where values are absent
                low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
            np.fmin(self.low, low, out=self.low)
            np.fmax(self.high, high, out=self.high)
            self.ends = min(self.ends[0], float(y.min())), max(self.ends[1], float(y.max()))


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return f"{len(value)} names, {', '.join(value[:3])}, ..."
    return repr(value)
