"""From the names of features back to the columns they came from: `colour=red` is a level of colour.

A name can often be read in more than one way: `a=b=c` is a level of column `a=b` or of column `a`,
`a=b` a column or a level. Names that can be read in one way settle what their columns are, numbers
or levels, which leaves fewer ways for the others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from keyhole.problem import DataError

Reading = tuple[str, str | None]  # a column; one of its levels, None for its numbers
Spread = dict[str, tuple[str, ...] | None]  # levels by column, None for numbers


def readings(feature: str, columns: Collection[str]) -> list[Reading]:
    """All that a name can mean.

    >>> readings("a=b=c", {"a", "a=b", "c"})
    [('a', 'b=c'), ('a=b', 'c')]
    """
    found: list[Reading] = [(feature, None)] if feature in columns else []
    cuts = [i for i, c in enumerate(feature) if c == "=" and feature[:i] in columns]
    return found + [(feature[:i], feature[i + 1 :]) for i in cuts]


def resolve(features: Sequence[str], columns: Collection[str], title: str) -> Spread:
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
    spread: Spread = {}
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
