"""Wide data from real data: products and powers of the columns of a table, computed when bought."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.files import standardised
from keyhole.problem import Floats, Indices
from keyhole.streams import collect, read
from keyhole.streams.arrays import LabelledRows, rows_of

NUMBERS = 2**22  # in a block that is written out


class ProductRow:
    """A row whose features are products of two of its factors."""

    def __init__(self, rows: ProductRows, i: int) -> None:
        self._rows, self._factors = rows, rows.factors[i]
        self.shape = (rows.shape[1],)

    def values_at(self, features: Indices) -> Floats:
        """The values of these features."""
        z = self._factors
        found: Floats = z[self._rows.left[features]] * z[self._rows.right[features]]
        return found


class ProductRows:
    """Rows of factors; feature j is the product of factors left[j] and right[j]."""

    fill = 0.0
    dtype: np.dtype[Any] = np.dtype(np.float64)

    def __init__(self, factors: Floats, left: Indices, right: Indices) -> None:
        self.factors, self.left, self.right = factors, left, right

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return len(self.factors), len(self.left)

    def __len__(self) -> int:
        return len(self.factors)

    def __getitem__(self, rows: slice) -> ProductRows:
        return ProductRows(self.factors[rows], self.left, self.right)

    def row(self, i: int) -> ProductRow:
        """Row i."""
        return ProductRow(self, i)

    def write_into(self, board: NDArray[np.floating]) -> None:
        """All features of all rows."""
        np.multiply(self.factors[:, self.left], self.factors[:, self.right], out=board)

    def wipe(self, board: NDArray[np.floating]) -> None:
        """Put zeros back."""
        board.fill(0.0)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        full = np.empty(self.shape, dtype=dtype or self.dtype)
        self.write_into(full)
        return full


class ProductStream:
    """Every column, every product of two, and powers 1/2, 2, 3 and 4: m (m + 1) / 2 + 4 m features.

    Columns are standardised first; the power 1/2 is that of the size, with the sign of the value.
    With 132 columns that is 9,306 features, in the memory of the 132.

    Parameters
    ----------
    X, y
        The table and its labels.
    names
        Of its columns.
    """

    names: tuple[str, ...] | None = None  # see `label`

    def __init__(self, X: Floats, y: Floats, names: tuple[str, ...]) -> None:
        z = standardised(np.asarray(X, dtype=np.float64))
        m, one = z.shape[1], np.ones((len(z), 1))
        root = np.sign(z) * np.sqrt(np.abs(z))
        factors = np.concatenate([one, z, z * z, root], axis=1)
        i = np.arange(1, m + 1)
        first, second = np.triu_indices(m)
        of_one = np.zeros(m, dtype=np.int64)
        left = np.concatenate([of_one, of_one, 1 + first, i, m + i])
        right = np.concatenate([i, 2 * m + i, 1 + second, m + i, m + i])
        self._rows = ProductRows(factors, left, right)
        self._factor_names = ("", *names, *(f"{n}^2" for n in names), *(f"{n}^1/2" for n in names))
        self.y, self.d = y, len(left)
        self.rounds: int | None = len(y)

    def label(self, feature: int) -> str:
        """What a feature is: `a`, `a b`, `a^1/2`, `a a^2`."""
        ends = self._rows.left[feature], self._rows.right[feature]
        return " ".join(self._factor_names[end] for end in ends if end)

    def __iter__(self) -> Iterator[tuple[Floats, float]]:
        return rows_of(self.blocks())

    def blocks(self, rows: int | None = None) -> Iterator[LabelledRows]:
        """The rows written out."""
        size = max(1, NUMBERS // self.d) if rows is None else rows
        return ((np.asarray(X), y) for X, y in self.lazy_blocks(size))

    def lazy_blocks(self, rows: int | None = None) -> Iterator[tuple[ProductRows, Floats]]:
        """The rows, whose features are computed when they are asked for."""
        size = 4096 if rows is None else rows
        for start in range(0, len(self.y), size):
            yield self._rows[start : start + size], self.y[start : start + size]


def wide_supercon(folder: str | Path, seed: int = 0) -> ProductStream:
    """Critical temperatures from 9,306 products and powers of supercon_magpie's columns, shuffled.

    The label is divided by its standard deviation.
    """
    table = read(Path(folder, "supercon_magpie.parquet"), target="target")
    X, y = collect(table)
    order = np.random.default_rng(seed).permutation(len(y))
    return ProductStream(X[order].astype(np.float64), y[order] / y.std(), table.names or ())
