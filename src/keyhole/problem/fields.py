"""What the fields of a state may hold: said once, where the field is declared.

    class Batch(NamedTuple):
        S: Annotated[Indices, Holds(below="d", ascending=True)]
        rows: Annotated[Indices, Holds(most="closed")]

`saving/soundness.py` holds a state that comes from a file to it, before compiled code sees it.
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np

from keyhole.problem.ticket import Floats, Indices

Size = int | float | str
MANY = 2**53  # what whole numbers are at most; exact as a float too


@dataclass(frozen=True, slots=True)
class Holds:
    """The numbers a field may hold. Without one: finite numbers, whole ones from 0 to 2^53.

    A size is a number or a name: `d`, `k` or `budget` of the problem, something else that the
    learner says in `_sizes`, `features` for those of a ticket, or another field of the same record
    or of one around it (a number is meant as it is, an array as its last dimension). "name+1" is
    one more.

    Parameters
    ----------
    least, most
        Bounds of every number; `least` may have one for each place of the last dimension.
    below
        As `most`, but not included.
    shape
        What the dimensions must be; None where the learner has an array to compare with.
    longest
        What the length, of the one dimension there is, is at most.
    ascending, distinct
        Each number larger than the one before; none twice.
    among
        Every number is one of those in that field.
    nan, infinite
        What may stand in place of a number.
    constant
        Must be what a new learner has there.
    """

    least: float | tuple[float, ...] | None = None
    most: Size | None = None
    below: Size | None = None
    shape: tuple[Size, ...] | None = None
    longest: Size | None = None
    ascending: bool = False
    distinct: bool = False
    among: str | None = None
    nan: bool = False
    infinite: bool = False
    constant: bool = False


ANYTHING_FINITE = Holds()
AT_LEAST_0 = Holds(least=0.0)
MAY_OVERFLOW = Holds(least=0.0, infinite=True)  # sums of fourth powers
MAY_BE_NAN = Holds(nan=True)
PerFeature = Annotated[Floats, Holds(shape=("features",))]  # of the ticket
Features = Annotated[Indices, Holds(below="d", ascending=True)]


class Field(NamedTuple):
    """A field as its annotation has it: its rule, and the type of its numbers or its record."""

    holds: Holds = ANYTHING_FINITE
    dtype: np.dtype[Any] | None = None
    record: type | None = None


@functools.cache
def rules(kind: type) -> dict[str, Field]:
    """What each annotated field of a class may hold."""
    return {name: _rule(hint) for name, hint in get_type_hints(kind, include_extras=True).items()}


def _rule(hint: Any) -> Field:
    rule, inner = ANYTHING_FINITE, hint
    if get_origin(hint) is Annotated:
        inner, *notes = get_args(hint)
        [rule] = [note for note in notes if isinstance(note, Holds)] or [rule]  # one says it all
    for option in (inner, *get_args(inner)):  # an array, or perhaps one
        if get_origin(option) is np.ndarray:
            numbers = get_args(get_args(option)[1])
            if numbers and isinstance(numbers[0], type):
                return Field(rule, np.dtype(numbers[0]))
        if isinstance(option, type) and dataclasses.is_dataclass(option):
            return Field(rule, record=option)
    return Field(rule)


def constants(kind: type) -> frozenset[str]:
    """The fields of a class that must be what a new learner has there."""
    return frozenset(name for name, field in rules(kind).items() if field.holds.constant)
