"""What records of arrays look like to C: the form of every field, and the names of its sizes.

Every array says its dimensions where it is declared:

    class Memories(NamedTuple):
        G: Annotated[Floats, "memories seats+1 seats+1"]
        who: Annotated[Indices, "seats"]

A dimension is a number, a name, or a name with a factor or a term (`2*width`, `seats+1`); the same
name means the same size throughout a record and the arguments of a call. `.` may be anything. A
whole number of a record has its own name as a size. A record within a record shares its sizes;
`Annotated[Running, "n=d"]` says that its n is called d here, and "n=1" that it is 1.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, cast, get_args, get_origin, get_type_hints

import numpy as np

from keyhole.core import library

VIEWS: Mapping[str, str] = {  # dtype: what C calls a view of such an array
    "float64": "floats",
    "int64": "ints",
    "bool": "bools",
    "int8": "bytes",
    "int32": "shorts",
    "uint64": "words",
    "float32": "singles",
}
NUMBERS: Mapping[Any, tuple[str, str]] = {  # what C calls it, how it is packed
    int: ("i64", "q"),
    bool: ("i64", "q"),
    float: ("f64", "d"),
    np.uint64: ("u64", "Q"),
    int | np.uint64: ("u64", "Q"),  # a seed
}
_DIMENSION = re.compile(r"(?:(\d+)\*)?([A-Za-z_]\w*)(?:([+-]\d+))?$")


class Dimension(NamedTuple):
    """factor * name + term; without a name the number `term`, or anything if that is below 0."""

    factor: int
    name: str
    term: int

    def __str__(self) -> str:
        if not self.name:
            return "any" if self.term < 0 else str(self.term)
        factor = "" if self.factor == 1 else f"{self.factor}*"
        return f"{factor}{self.name}{f'{self.term:+d}' if self.term else ''}"

    def renamed(self, names: Mapping[str, Dimension]) -> Dimension:
        """The same where the name is called otherwise."""
        factor, name, term = names.get(self.name, (1, self.name, 0))
        if not self.name:
            return self
        return Dimension(self.factor * factor, name, self.factor * term + self.term)


def dimension(text: str) -> Dimension:
    """A dimension as it is written: `3`, `d`, `seats+1`, `2*width`, `.`."""
    if text == ".":
        return Dimension(0, "", -1)
    if text.isdigit():
        return Dimension(0, "", int(text))
    found = _DIMENSION.match(text)
    if found is None:
        raise TypeError(f"{text!r} is no dimension")
    factor, name, term = found.groups()
    return Dimension(int(factor or 1), name, int(term or 0))


class Form(NamedTuple):
    """What a field or an argument is: a number, a view of an array, or a record within."""

    c_type: str
    code: str = ""  # of a number
    dtype: np.dtype[Any] | None = None  # of an array
    shape: tuple[Dimension, ...] = ()
    record: type | None = None
    renamed: tuple[tuple[str, Dimension], ...] = ()


def form_of(hint: Any, shape: str = "") -> Form:
    """The form of what is annotated so; the shape of an array may be said beside it."""
    notes = [note for note in getattr(hint, "__metadata__", ()) if isinstance(note, str)]
    notes = [shape] if shape else notes
    kind = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    if kind in NUMBERS:
        return Form(*NUMBERS[kind])
    if get_origin(kind) is np.ndarray:
        if not notes:
            raise TypeError(f"an array does not say its dimensions: {hint!r}")
        [number] = get_args(get_args(kind)[1])
        number = np.float64 if get_origin(number) or number is np.floating else number
        dtype = np.dtype(number)
        return Form(VIEWS[dtype.name], dtype=dtype, shape=tuple(map(dimension, notes[0].split())))
    if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
        pairs = [pair.split("=") for pair in notes[0].split()] if notes else []
        renamed = tuple((name, dimension(outside)) for name, outside in pairs)
        return Form(c_name(kind), record=kind, renamed=renamed)
    raise TypeError(f"C has nothing for {hint!r}")


def c_name(record: type) -> str:
    """What the struct of a record is called in C: of `ExpertTable`, kh_expert_table."""
    return "kh_" + re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", record.__name__).lower()


@functools.cache
def forms(record: type) -> dict[str, Form]:
    """The forms of a record's fields, which are those of its struct in C."""
    hints = get_type_hints(record, include_extras=True)
    found = {name: form_of(hints[name]) for name in cast(Any, record)._fields}
    here = "".join(f"{form.c_type} {name}; " for name, form in found.items())
    there = library.layout(c_name(record))
    if here != there:
        raise TypeError(f"{record.__name__} is not what C takes it for:\n{here}\n{there}")
    return found
