"""Records of arrays as C sees them: a NamedTuple becomes a struct of addresses and sizes.

Every array says its dimensions where it is declared, and sizes come from `array.shape` alone:

    class Memories(NamedTuple):
        G: Annotated[Floats, "memories seats+1 seats+1"]
        who: Annotated[Indices, "seats"]

A dimension is a number, a name, or a name with a factor or a term (`2*width`, `seats+1`); the same
name means the same size throughout a record and the arguments of a call. `.` may be anything. A
whole number of a record has its own name as a size. A record within a record shares its sizes;
`Annotated[Running, "n=d"]` says that its n is called d here, and "n=1" that it is 1.
"""

from __future__ import annotations

import ctypes
import functools
import re
import struct
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NamedTuple, TypeVar, cast, get_args, get_origin, get_type_hints

import numpy as np

from keyhole.core import library

Record = TypeVar("Record")

VIEWS: Mapping[str, str] = {  # dtype: what C calls a view of such an array
    "float64": "floats",
    "int64": "ints",
    "bool": "bools",
    "int8": "bytes",
    "int32": "shorts",
    "uint64": "words",
    "float32": "singles",
}
NUMBERS: Mapping[type, tuple[str, str]] = {  # what C calls it, how it is packed
    int: ("i64", "q"),
    bool: ("i64", "q"),
    float: ("f64", "d"),
    np.uint64: ("u64", "Q"),
}
_DIMENSION = re.compile(r"(?:(\d+)\*)?([A-Za-z_]\w*)(?:([+-]\d+))?$")
_IN_C_ORDER, _ALIGNED, _WRITEABLE = 0x0001, 0x0100, 0x0400  # bits of numpy's flags
READABLE, WRITEABLE = _IN_C_ORDER | _ALIGNED, _IN_C_ORDER | _ALIGNED | _WRITEABLE


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
    shape: tuple[Dimension, ...] | None = None
    record: type | None = None
    renamed: tuple[tuple[str, Dimension], ...] = ()


def form_of(hint: Any) -> Form:
    """The form of what is annotated so."""
    notes = [note for note in getattr(hint, "__metadata__", ()) if isinstance(note, str)]
    kind = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    if kind in NUMBERS:
        return Form(*NUMBERS[kind])
    if get_origin(kind) is np.ndarray:
        [number] = get_args(get_args(kind)[1])
        number = np.float64 if get_origin(number) or number is np.floating else number
        dtype = np.dtype(number)
        shape = tuple(map(dimension, notes[0].split())) if notes else None
        return Form(VIEWS[dtype.name], dtype=dtype, shape=shape)
    if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
        pairs = [pair.split("=") for pair in notes[0].split()] if notes else []
        return Form(c_name(kind), record=kind, renamed=tuple((a, dimension(b)) for a, b in pairs))
    raise TypeError(f"C has nothing for {hint!r}")


def c_name(record: type) -> str:
    """What the struct of a record is called in C: of `ExpertTable`, kh_expert_table."""
    return "kh_" + re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", record.__name__).lower()


@functools.cache
def forms(record: type) -> dict[str, Form]:
    """The forms of a record's fields, which are those of its struct in C."""
    hints = get_type_hints(record, include_extras=True)
    found = {name: form_of(hints[name]) for name in cast(Any, record)._fields}
    for name, form in found.items():
        if form.dtype is not None and form.shape is None:
            raise TypeError(f"{record.__name__}.{name} does not say its dimensions")
    here = "".join(f"{form.c_type} {name}; " for name, form in found.items())
    there = library.layout(c_name(record))
    if here != there:
        raise TypeError(f"{record.__name__} is not what C takes it for:\n{here}\n{there}")
    return found


@functools.cache
def sizes_of(record: type) -> tuple[str, ...]:
    """The names of the sizes in a record, as those around it have them."""
    names: dict[str, None] = {}
    for name, form in forms(record).items():
        renamed = dict(form.renamed)
        inside = sizes_of(form.record) if form.record is not None else ()
        outer = [renamed.get(size, Dimension(1, size, 0)) for size in inside]
        names |= {dim.name: None for dim in (*outer, *(form.shape or ())) if dim.name}
        if form.code == "q":
            names[name] = None
    return tuple(names)


class Held(NamedTuple):
    """A struct that was filled: where it is, the sizes in it, and the memory it is in."""

    address: int
    sizes: dict[str, int]
    words: ctypes.Array[ctypes.c_char]


class Misfit(TypeError):
    """An array or a record that C must not see."""


def address(array: np.ndarray[Any, Any]) -> int:
    """Where the numbers of an array are."""
    try:  # a third of the time of the other
        return ctypes.addressof(ctypes.c_char.from_buffer(cast(Any, array)))
    except (TypeError, ValueError, BufferError):  # read-only, or empty
        return int(array.__array_interface__["data"][0])


def viewed(array: Any, form: Form, where: str, flags: int) -> tuple[int, int, int, int]:
    """The view of an array, proven to be of this form but for its sizes."""
    assert form.shape is not None
    if type(array) is not np.ndarray or array.dtype != form.dtype:
        kind = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
        raise Misfit(f"{where} must be an array of {form.dtype}, got {kind}")
    if array.flags.num & flags != flags:
        how = "in C order" if array.flags.num & READABLE != READABLE else "writeable"
        raise Misfit(f"{where} must be {how}")
    if array.ndim != len(form.shape):
        raise Misfit(f"{where} must have {len(form.shape)} dimensions, got shape {array.shape}")
    return address(array), *(*array.shape, 1, 1, 1)[:3]


def fit(sizes: dict[str, int], shape: tuple[int, ...], form: Form, where: str) -> None:
    """Bind the sizes that are new, and compare the others."""
    for i, (size, (factor, name, term)) in enumerate(zip(shape, form.shape or (), strict=True)):
        if name and name not in sizes:
            if size < term or (size - term) % factor:
                raise Misfit(
                    f"{where} has shape {shape}: dimension {i} cannot be {factor} * {name} + {term}"
                )
            sizes[name] = (size - term) // factor
        elif size != (expected := factor * sizes[name] + term if name else term) and expected >= 0:
            wanted = ", ".join(map(str, form.shape or ()))
            raise Misfit(f"{where} has shape {shape}, expected ({wanted}) with {sizes}")


def held(record: Any) -> Held:
    """The struct of a record: kept with it by `hold`, else filled now."""
    kept = getattr(record, "_held", None)
    return cast(Held, kept) if kept is not None else _filled(record)


def _filled(record: Any) -> Held:
    if not hasattr(record, "_fields"):
        raise Misfit(f"expected a record of arrays, got {type(record).__name__}")
    sizes: dict[str, int] = {}
    codes, numbers = "", list[Any]()
    for code, number in _words(record, type(record).__name__, sizes):
        codes += code
        numbers.append(number)
    packed = struct.pack("=" + codes, *numbers)
    words = ctypes.create_string_buffer(packed, len(packed))
    return Held(ctypes.addressof(words), sizes, words)


def _words(record: Any, where: str, sizes: dict[str, int]) -> Iterator[tuple[str, Any]]:
    for name, form in forms(_plain(type(record))).items():
        value, here = getattr(record, name), f"{where}.{name}"
        if form.record is not None:
            if _plain(type(value)) is not form.record:
                raise Misfit(f"{here} must be {form.record.__name__}, got {type(value).__name__}")
            inside: dict[str, int] = {}
            yield from _words(value, here, inside)
            merge(sizes, inside, form, here)
        elif form.dtype is not None:
            yield from zip("qqqq", viewed(value, form, here, WRITEABLE), strict=True)
            fit(sizes, value.shape, form, here)
        else:
            if form.code == "q":
                value = int(value)
                merge(sizes, {name: value}, form, here)
            yield form.code, value


def merge(sizes: dict[str, int], inside: Mapping[str, int], form: Form, where: str) -> None:
    """Bind or compare the sizes of a record within, under the names they have outside."""
    renamed = dict(form.renamed)
    for name, size in inside.items():
        outer = Form("", shape=(renamed.get(name, Dimension(1, name, 0)),))
        fit(sizes, (size,), outer, f"{name} of {where}")


def _plain(kind: type) -> type:
    return kind.__mro__[1] if "_kept_struct" in kind.__dict__ else kind


@functools.cache
def _holding(kind: type) -> type:
    def again(self: Any) -> Any:  # a copy has arrays of its own, and so a struct of its own
        return hold, (kind(*self),)

    return type(kind.__name__, (kind,), {"_kept_struct": True, "__reduce__": again})


def hold(record: Record) -> Record:
    """The same record, with its struct beside it: filled once, not in every call.

    A tuple cannot have its arrays replaced, so the struct stays right; what `_replace` makes is a
    record without one.
    """
    kind = _plain(type(record))
    made = _holding(kind)(*cast(Any, record))
    made._held = _filled(kind(*cast(Any, record)))
    return cast(Record, made)
