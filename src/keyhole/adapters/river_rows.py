"""Rows as river hands them over: dicts and DataFrames, looked at only where values were bought."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from keyhole.errors import LARGEST
from keyhole.problem import BudgetError, DataError, Floats, finite_label
from keyhole.problem.optional_imports import extra


class MeteredRow(Mapping[Hashable, Any]):
    """A view of a row that hands out bought values only.

    Not a dict, so nothing can copy the row behind its back. Which names a row has is free to know,
    and `in`, `len` and iteration tell it for the bought ones; a value costs one read, the first
    time it is looked at.

    Parameters
    ----------
    row
        The whole row. It is never iterated over, and never changed.
    features
        The names that were bought and may be looked at.

    Examples
    --------
    >>> view = MeteredRow({"age": 61, "tsh": 0.4, "crp": 12}, ["age", "weight"])
    >>> view["age"], view.get("weight"), view.reads
    (61, None, 1)
    >>> view["crp"]
    Traceback (most recent call last):
    keyhole.errors.BudgetError: 'crp' was not bought for this row
    """

    __slots__ = ("_features", "_read", "_row")

    def __init__(self, row: Mapping[Any, Any], features: Sequence[Hashable]) -> None:
        self._row, self._features = row, dict.fromkeys(features)
        self._read = set[Hashable]()

    @property
    def reads(self) -> int:
        """How many values were looked at."""
        return len(self._read)

    def __getitem__(self, name: Hashable) -> Any:
        if name not in self._features:
            raise BudgetError(f"{name!r} was not bought for this row")
        value = self._row[name]
        self._read.add(name)
        return value

    def __contains__(self, name: object) -> bool:
        return name in self._features and name in self._row

    def __iter__(self) -> Iterator[Hashable]:
        return (name for name in self._features if name in self._row)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def values_in_order(self) -> Floats:
        """The bought values as numbers, NaN where the row lacks the name; a DataError for others.

        None is refused: a row says that a value is absent by NaN or by leaving out its name.
        """
        row = self._row
        return np.array([number(j, self[j]) if j in row else np.nan for j in self._features], float)


def number(name: Hashable, value: Any) -> float:
    """The value of a feature as a float, or a DataError that names the feature."""
    if type(value) is float and -LARGEST <= value <= LARGEST:
        return value  # nearly all of them, and this is the inner loop
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        raise DataError(
            f"the value of {name!r} must be a number, got {value!r}; encode it, or leave the name "
            "out of the row where there is no value"
        ) from None
    if abs(result) > LARGEST:
        raise DataError(
            f"the value of {name!r} is {result:g}: values are at most {LARGEST:g} in size, "
            "NaN for absent"
        )
    return result


class Frame:
    """A pandas DataFrame as rows and as arrays.

    Parameters
    ----------
    X
        The DataFrame. Its column names differ from each other.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = Frame(pd.DataFrame({"b": [1, 2], "a": [0.5, 0.25]}))
    >>> frame.matrix(["a", "b", "c"])
    array([[0.5 , 1.  ,  nan],
           [0.25, 2.  ,  nan]])
    >>> dict(frame.row(1))
    {'b': 2, 'a': 0.25}
    """

    def __init__(self, X: Any) -> None:
        if not isinstance(X, extra("pandas", "river").DataFrame):
            raise DataError(f"X must be a pandas DataFrame, got a {type(X).__name__}")
        names: list[Hashable] = list(X.columns)
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise DataError(f"column {twice!r} comes twice: rename one of them")
        self.names = {name: place for place, name in enumerate(names)}
        self.index = X.index
        self._X, self._types = X, list(X.dtypes)

    def __len__(self) -> int:
        return len(self.index)

    def numeric(self, names: Iterable[Hashable]) -> bool:
        """Whether every one of these columns that is there is a plain array of numbers."""
        types = [self._types[self.names[name]] for name in names if name in self.names]
        return all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in types)

    def matrix(self, names: Sequence[Hashable], start: int = 0, stop: int | None = None) -> Floats:
        """These columns side by side, from row to row; NaN for a column that is not there."""
        here = [place for place, name in enumerate(names) if name in self.names]
        there = [self.names[names[place]] for place in here]
        found = self._X.iloc[start:stop, there].to_numpy(dtype=np.float64)
        result = np.full((len(found), len(names)), np.nan)
        result[:, here] = found
        return result

    def row(self, at: int) -> Mapping[Hashable, Any]:
        """One row, as a mapping that looks up one cell at a time."""
        return _Row(self._X, self.names, at)


class _Row(Mapping[Hashable, Any]):
    __slots__ = ("_at", "_frame", "_names")

    def __init__(self, frame: Any, names: Mapping[Hashable, int], at: int) -> None:
        self._frame, self._names, self._at = frame, names, at

    def __getitem__(self, name: Hashable) -> Any:
        value = self._frame.iat[self._at, self._names[name]]
        return value.item() if isinstance(value, np.generic) else value

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def labels(y: Any, rows: int) -> Floats:
    """One label per row as an array, or a DataError."""
    array = np.asarray(y)
    if array.shape != (rows,) or array.dtype.kind not in "biufO":
        raise DataError(
            f"y must hold one number for each of the {rows} rows, got shape {array.shape} of "
            f"{array.dtype}"
        )
    try:
        told = array.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError("y must hold numbers, and some of it is not one") from None
    for label in told[~(np.abs(told) <= LARGEST)].tolist():
        finite_label(label)  # says what is wrong with it
    return told


def series(values: Floats, index: Any) -> Any:
    """The values as a pandas Series over that index."""
    return extra("pandas", "river").Series(values, index=index, dtype="float64")
