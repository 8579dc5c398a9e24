"""Stripes of a Gram: some of its rows each, so that no task holds a whole table of all pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keyhole.learners.blocks.sums.gram import Gram, block_mean, seen_cells
from keyhole.problem import Floats, StateError

Arrays = Mapping[str, NDArray[Any]]


class Stripe:
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

    def __init__(self, width: int, rows: int) -> None:
        self.width, self.rows, self.n = width, rows, 0
        self._origin: tuple[Floats, float] | None = None
        self._sums = {"xx": np.zeros((rows, width)), "xy": np.zeros(width), "x": np.zeros(width)}
        self._scalars = np.zeros(2)  # sums of v and of v^2, v = y - b
        self._gaps: dict[str, Floats] = {}

    def add(self, X: NDArray[np.floating], y: Floats) -> None:
        """Add rows: the features of this stripe and all after them."""
        if len(y) == 0:
            return
        X = np.asarray(X, dtype=np.float64)
        seen, w = seen_cells(X, self.n), self.rows
        if self._origin is None:
            self._origin = block_mean(X, seen), float(y.mean())
        Z, v = X - self._origin[0], y - self._origin[1]
        if seen is not None:
            Z[~seen] = 0.0
            if not self._gaps:
                self._gaps = self._no_gaps_so_far()
        if self._gaps:
            m = np.ones(X.shape) if seen is None else seen.astype(np.float64)
            self._gaps["seen"] += m[:, :w].T @ m
            self._gaps["cross"] += m[:, :w].T @ Z
            self._gaps["back"] += Z[:, :w].T @ m
            self._gaps["label"] += m.T @ v
        self.n += len(y)
        self._sums["xx"] += Z[:, :w].T @ Z
        self._sums["xy"] += Z.T @ v
        self._sums["x"] += Z.sum(axis=0)
        self._scalars += v.sum(), v @ v

    def _no_gaps_so_far(self) -> dict[str, Floats]:
        shape, x = (self.rows, self.width), self._sums["x"]
        return {
            "seen": np.full(shape, float(self.n)),
            "cross": np.tile(x, (self.rows, 1)),
            "back": np.tile(x[: self.rows, None], (1, self.width)),
            "label": np.full(self.width, self._scalars[0]),
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything there is, as named arrays; those of absent cells only if there are some."""
        a, b = (np.zeros(self.width), 0.0) if self._origin is None else self._origin
        scalars = np.array([*self._scalars, b])
        return {
            "n": np.array(self.n),
            "origin": a,
            "scalars": scalars,
            **self._sums,
            **self._gaps,
        }


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
            forth, back = _pair(stripe, name, n)
            table[lo:hi, lo:] = forth
            table[lo:, lo:hi] = back.T
            if (
                name != "cross"
            ):  # a product of two different arrays need not be symmetric to the bit
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


def _pair(stripe: Arrays, name: str, n: int) -> tuple[Floats, Floats]:
    """A table of a stripe, and its mirror image; as if nothing were absent where nothing is."""
    if name in stripe:
        return stripe[name], stripe["back" if name == "cross" else name]
    rows, width = stripe["xx"].shape
    if name == "seen":
        full = np.full((rows, width), float(n))
        return full, full
    x = stripe["x"]
    return np.tile(x, (rows, 1)), np.tile(x[:rows, None], (1, width))
