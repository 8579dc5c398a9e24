"""A row through a keyhole: only what was bought can be looked at, and every look counts."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from keyhole.errors import LARGEST
from keyhole.problem import BudgetError, DataError, Floats


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
