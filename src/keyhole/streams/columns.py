"""What a column can hold, and how it becomes features."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keyhole.problem import Indices
from keyhole.problem.optional_imports import extra


class Kind(Enum):
    """What the cells of a column are, in words for messages."""

    EMPTY = "nothing"
    NUMBER = "numbers"
    FLAG = "true and false"
    TEXT = "text"
    DATE = "dates or times"
    OTHER = "neither numbers nor text"


def kind_of(arrow_type: Any) -> Kind:
    """The kind of an Arrow type. A dictionary is categorical whatever its values are: TEXT."""
    types = extra("pyarrow", "files").types
    if types.is_null(arrow_type):
        return Kind.EMPTY
    if types.is_boolean(arrow_type):
        return Kind.FLAG
    if types.is_integer(arrow_type) or types.is_floating(arrow_type):
        return Kind.NUMBER
    if types.is_decimal(arrow_type):
        return Kind.NUMBER
    if types.is_dictionary(arrow_type):
        inner = kind_of(arrow_type.value_type)
        return Kind.TEXT if inner in (Kind.NUMBER, Kind.FLAG, Kind.TEXT) else inner
    if types.is_string(arrow_type) or types.is_large_string(arrow_type):
        return Kind.TEXT
    if str(arrow_type) == "string_view":  # is_string_view came with pyarrow 16
        return Kind.TEXT
    return Kind.DATE if types.is_temporal(arrow_type) else Kind.OTHER


def is_category(arrow_type: Any) -> bool:
    """Whether the type itself says that its values are levels, as a pandas Categorical does."""
    return kind_of(arrow_type) is Kind.TEXT and bool(
        extra("pyarrow", "files").types.is_dictionary(arrow_type)
    )


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """How one column becomes features: as it is (`levels` None), or one indicator per level.

    `places` are the features it becomes, one for each level. In a row without a value all of them
    are absent; a level that is not listed is 0 in all of them. `others` are levels without a
    feature that are known all the same.
    """

    name: str
    levels: tuple[str, ...] | None
    places: Indices
    others: frozenset[str] = frozenset()

    def encode(self, cells: Any, X: NDArray[np.floating]) -> int:
        """Write the features of some rows into their places in X; how many levels are unknown."""
        if self.levels is None:
            X[:, self.places[0]] = numbers(cells)
            return 0
        arrow, compute = extra("pyarrow", "files"), extra("pyarrow.compute", "files")
        listed = arrow.array(self.levels, arrow.string())
        codes = compute.fill_null(compute.index_in(as_text(cells), value_set=listed), -1)
        indicators = codes.to_numpy(zero_copy_only=False)[:, None] == np.arange(len(self.levels))
        X[:, self.places] = indicators
        if cells.null_count:
            absent = cells.is_null().to_numpy(zero_copy_only=False)
            X[np.ix_(absent, self.places)] = np.nan
        unlisted = codes.to_numpy(zero_copy_only=False) < 0
        if int(unlisted.sum()) == cells.null_count:
            return 0
        strange = as_text(cells).filter(arrow.array(unlisted))
        known = arrow.array(sorted(self.others), arrow.string())
        listed_too = _count(compute.is_in(strange, value_set=known))
        return int(len(strange) - strange.null_count - listed_too)


def _count(truths: Any) -> int:
    return int(extra("pyarrow.compute", "files").sum(truths).as_py() or 0)


def numbers(cells: Any) -> NDArray[np.floating]:
    """Numbers, truths as 0 and 1, NaN where there is no value."""
    arrow = extra("pyarrow", "files")
    if not arrow.types.is_floating(cells.type):
        cells = cells.cast(arrow.float64(), safe=False)  # unsafe: integers beyond 2^53 are rounded
    result: NDArray[np.floating] = cells.to_numpy(zero_copy_only=False)
    return result


def as_text(cells: Any) -> Any:
    """Cells as Arrow strings, dictionaries undone."""
    arrow = extra("pyarrow", "files")
    if arrow.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    return cells if arrow.types.is_string(cells.type) else cells.cast(arrow.string())
