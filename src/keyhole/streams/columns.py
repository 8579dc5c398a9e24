"""Columns: what they hold, how they become features, and how a binary target becomes 0 and 1.

The feature `colour=red` is a level of colour. A name can often be read in more than one way:
`a=b=c` is a level of column `a=b` or of column `a`, `a=b` a column or a level. Names that can be
read in one way settle what their columns are, numbers or levels, which leaves fewer ways for the
others."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keyhole.errors import shortened
from keyhole.problem import DataError, Floats, Indices, nearest
from keyhole.problem.optional_imports import extra

Reading = tuple[str, str | None]  # a column; one of its levels, None for its numbers
LevelsByColumn = dict[str, tuple[str, ...] | None]  # levels by column, None for numbers


class ColumnKind(Enum):
    """What the cells of a column are, in words for messages."""

    EMPTY = "nothing"
    NUMBER = "numbers"
    FLAG = "true and false"
    TEXT = "text"
    DATE = "dates or times"
    OTHER = "neither numbers nor text"


def folded(text: str) -> str:
    """A text without what is only a way of writing: large letters, spaces around it."""
    return text.strip().lower()


def spellings(texts: Collection[str]) -> dict[str, str]:
    """By text that is written in several ways, the one way that stands for all of them.

    >>> spellings(["Yes", "YES", "yes", "No"])
    {'YES': 'yes', 'Yes': 'yes'}
    """
    ways: dict[str, list[str]] = {}
    for text in sorted(texts):
        ways.setdefault(folded(text), []).append(text)
    return {
        one: chosen
        for same in ways.values()
        for chosen in [max(same, key=lambda text: (text == text.strip(), text))]
        for one in same
        if one != chosen
    }


def same_texts(cells: Any, known: Sequence[str]) -> dict[str, str]:
    """Texts of some cells that are one of those known, written in another way; by text that one."""
    meant = {folded(text): text for text in reversed(known)}
    found = [text for text in cells.unique().to_pylist() if text is not None]
    return {t: meant[folded(t)] for t in found if folded(t) in meant and t not in known}


def kind_of(arrow_type: Any) -> ColumnKind:
    """The kind of an Arrow type. A dictionary is categorical whatever its values are: TEXT."""
    types = extra("pyarrow", "files").types
    if types.is_null(arrow_type):
        return ColumnKind.EMPTY
    if types.is_boolean(arrow_type):
        return ColumnKind.FLAG
    number = (types.is_integer, types.is_floating, types.is_decimal)
    if any(is_one(arrow_type) for is_one in number):
        return ColumnKind.NUMBER
    if types.is_dictionary(arrow_type):
        inner = kind_of(arrow_type.value_type)
        return ColumnKind.TEXT if inner in (ColumnKind.NUMBER, ColumnKind.FLAG) else inner
    if str(arrow_type) in ("string", "large_string", "string_view"):
        return ColumnKind.TEXT
    return ColumnKind.DATE if types.is_temporal(arrow_type) else ColumnKind.OTHER


def is_category(arrow_type: Any) -> bool:
    """Whether the type itself says that its values are levels, as a pandas Categorical does."""
    return kind_of(arrow_type) is ColumnKind.TEXT and bool(
        extra("pyarrow", "files").types.is_dictionary(arrow_type)
    )


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """How one column becomes features: as it is (`levels` None), or one indicator per level.

    `places` are the features it becomes, one for each level. In a row without a value all of them
    are absent; a level that is not listed, however it is written, is 0 in all of them. `others` are
    levels without a feature that are known all the same.
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
        text = as_text(cells)
        codes = compute.fill_null(compute.index_in(text, value_set=listed), -1)
        codes = codes.to_numpy(zero_copy_only=False)
        if int((codes < 0).sum()) > cells.null_count:
            for one, level in same_texts(text.filter(arrow.array(codes < 0)), self.levels).items():
                here = compute.fill_null(compute.equal(text, one), False)
                codes = np.where(
                    here.to_numpy(zero_copy_only=False), self.levels.index(level), codes
                )
        X[:, self.places] = codes[:, None] == np.arange(len(self.levels))
        if cells.null_count:
            absent = cells.is_null().to_numpy(zero_copy_only=False)
            X[np.ix_(absent, self.places)] = np.nan
        unlisted = codes < 0
        if int(unlisted.sum()) == cells.null_count:
            return 0
        strange = text.filter(arrow.array(unlisted))
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


def readings(feature: str, columns: Collection[str]) -> list[Reading]:
    """All that a name can mean.

    >>> readings("a=b=c", {"a", "a=b", "c"})
    [('a', 'b=c'), ('a=b', 'c')]
    """
    found: list[Reading] = [(feature, None)] if feature in columns else []
    cuts = [i for i, c in enumerate(feature) if c == "=" and feature[:i] in columns]
    return found + [(feature[:i], feature[i + 1 :]) for i in cuts]


def resolve(features: Sequence[str], columns: Collection[str], title: str) -> LevelsByColumn:
    """The columns behind names of features, and the levels of each; names without one are left out.

    >>> resolve(["a", "a=b=c"], {"a", "a=b"}, "the dataframe")
    {'a': None, 'a=b': ('c',)}
    >>> resolve(["a=b=c"], {"a", "a=b"}, "the dataframe")
    Traceback (most recent call last):
    keyhole.errors.DataError: the dataframe: the feature 'a=b=c' can be level 'b=c' of ...
    """
    ways = {feature: readings(feature, columns) for feature in features}
    is_number: dict[str, bool] = {}
    while fresh := list(_settled(ways, is_number)):
        is_number.update(fresh)
        for feature, found in ways.items():
            # The last way stays even if it contradicts another name: that is refused below.
            fitting = [r for r in found if is_number.get(r[0], r[1] is None) is (r[1] is None)]
            ways[feature] = fitting or found[:1]
    spread: LevelsByColumn = {}
    for feature, found in ways.items():
        if len(found) > 1:
            raise DataError(
                f"{title}: the feature {feature!r} can be {_either(found)}: "
                "rename a column, or leave one out (ignore)"
            )
        for column, level in found:
            if column in spread and (spread[column] is None or level is None):
                raise DataError(
                    f"{title}: column {column!r} cannot be numbers and have levels too, as the "
                    f"feature {feature!r} and another say"
                )
            spread[column] = None if level is None else (*(spread.get(column) or ()), level)
    return spread


def _settled(ways: dict[str, list[Reading]], known: dict[str, bool]) -> Iterator[tuple[str, bool]]:
    """The columns that are newly known to be numbers, or to be levels."""
    for found in ways.values():
        if len(found) == 1 and found[0][0] not in known:
            yield found[0][0], found[0][1] is None


def _either(found: Sequence[Reading]) -> str:
    return " or ".join(
        f"column {column!r}" if level is None else f"level {level!r} of column {column!r}"
        for column, level in found
    )


MAX_TARGET_VALUES = 1000  # different values of a target: of more, none is worth a yes
YES_WORDS = ("yes", "true", "1", "positive", "y", "t", "ja", "oui", "si", "sí")
Positive = str | float | bool


@dataclass(frozen=True, slots=True)
class Answers:
    """What the values of a target mean: `yes` is 1, and `no`, or anything else if None, is 0.

    `number` is the value that means yes in a column of numbers, None in one of text.
    """

    yes: str
    no: str | None
    number: float | None = None

    def encode(self, cells: Any) -> Floats:
        """1 for yes, 0 for no, NaN where there is no value."""
        if self.number is not None:
            y = numbers(cells).astype(np.float64, copy=False)
            return np.where(np.isnan(y), np.nan, (y == self.number).astype(np.float64))
        compute = extra("pyarrow.compute", "files")
        text = as_text(cells)
        ways = [self.yes, *same_texts(text, [self.yes])]
        yes = extra("pyarrow", "files").array(ways, text.type)
        found = compute.is_in(text, value_set=yes).to_numpy(zero_copy_only=False)
        absent = text.is_null().to_numpy(zero_copy_only=False)
        return np.where(absent, np.nan, found.astype(np.float64))

    def __str__(self) -> str:
        return f"{self.yes!r} is 1 (yes), {'all else' if self.no is None else repr(self.no)} is 0"


def answers_of_text(
    what: str, texts: Collection[str], number: re.Pattern[str], positive: Positive | None
) -> Answers | None:
    """What the texts of a target mean; None if they are not answers but numbers gone wrong.

    Two texts are yes and no: yes is the one of `YES_WORDS`, or else the later in the alphabet.
    However often a text is written in another way, it is one.
    """
    known = sorted({*texts} - {*spellings(texts)})
    if positive is not None:
        return _chosen(what, known, str(positive))
    numerals = [text for text in known if number.match(text)]
    if numerals and known != ["0", "1"]:
        return None
    if len(known) != 2:
        raise DataError(f"{what} {_listed(known)}")
    meaning = [text for text in known if text.strip().lower() in YES_WORDS]
    yes = meaning[0] if len(meaning) == 1 else known[1]
    return Answers(yes, known[0] if yes == known[1] else known[1])


def answers_of_numbers(
    what: str,
    values: Collection[float],
    *,
    flags: bool,
    positive: Positive | None,
    yes_no: bool | None,
) -> Answers | None:
    """What the numbers of a target mean, which are `values`; None if they are just numbers.

    0 and 1, and true and false, are answers by themselves; other two numbers if `yes_no` says so,
    and then the larger means yes.
    """
    known = sorted(values)

    def shown(value: float) -> str:
        return ("true" if value else "false") if flags else f"{value:g}"

    if positive is not None:
        value = _as_number(positive)
        if value is None or value not in known:
            options = ", ".join(map(shown, known[:8])) + (", ..." if len(known) > 8 else "")
            raise DataError(f"{what} is never {positive!r}: it has {options} (positive)")
        rest = [v for v in known if v != value]
        return Answers(shown(value), shown(rest[0]) if len(rest) == 1 else None, value)
    if flags or known == [0.0, 1.0]:
        return None if yes_no is False else Answers(shown(1.0), shown(0.0), 1.0)
    if not yes_no:
        return None
    if len(known) != 2:
        raise DataError(
            f"{what} has {len(known):,} different numbers, yes or no needs two: say which of them "
            "means yes, the others are then no (positive, or --positive)"
        )
    return Answers(shown(known[1]), shown(known[0]), known[1])


def _chosen(what: str, known: list[str], yes: str) -> Answers:
    yes = next((text for text in known if folded(text) == folded(yes)), yes)
    if yes not in known:
        close = nearest(yes, known) or f": it has {shortened(', '.join(known))}"
        raise DataError(f"{what} is never {yes!r}{close} (positive)")
    rest = [text for text in known if text != yes]
    return Answers(yes, rest[0] if len(rest) == 1 else None)


def _listed(known: list[str]) -> str:
    if len(known) == 1:
        return f"is {known[0]!r} in every row: there is nothing to learn"
    some = ", ".join(repr(text) for text in known[:4]) + (", ..." if len(known) > 4 else "")
    return (
        f"has {len(known)} different texts, {some}; yes or no needs two: say which of them means "
        f"yes, the others are then no (positive={known[-1]!r}, or --positive)"
    )


def _as_number(positive: Positive) -> float | None:
    words = {"true": 1.0, "false": 0.0}
    if isinstance(positive, str) and positive.strip().lower() in words:
        return words[positive.strip().lower()]
    try:
        return float(positive)
    except ValueError:
        return None
