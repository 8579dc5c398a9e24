"""Records of arrays as C structs: the form of every field, checks of it, and the filled struct.

Every array says its dimensions where it is declared:

    class Memories(NamedTuple):
        G: Annotated[Floats, "memories seats+1 seats+1"]
        who: Annotated[Indices, "seats"]

A dimension is a number, a name, or a name with a factor or a term (`2*width`, `seats+1`); the same
name means the same size throughout a record and the arguments of a call. `.` may be anything. A
whole number of a record has its own name as a size. A record within a record shares its sizes;
`Annotated[Running, "n=d"]` says that its n is called d here, and "n=1" that it is 1.

The Python code that checks one call or one record is generated once, from its forms: it looks at
the type, dtype, order, writeability and dimensions of everything. What it refuses is looked at
again, slowly, by `explain`, which says what is wrong."""

from __future__ import annotations

import ctypes
import functools
import re
import struct
from collections.abc import Callable, Collection, Mapping
from typing import (
    Annotated,
    Any,
    NamedTuple,
    NoReturn,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

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


_IN_C_ORDER, _ALIGNED, _WRITEABLE = 0x0001, 0x0100, 0x0400  # bits of numpy's flags
READABLE, WRITEABLE = _IN_C_ORDER | _ALIGNED, _IN_C_ORDER | _ALIGNED | _WRITEABLE
KEPT_STRUCT = "_kept_struct"  # marks the classes of records with a struct beside them
MAX_INT64 = 2**63 - 1


class Misfit(TypeError):
    """An array, a number or a record that C must not see."""


def address(array: Any) -> int:
    """Where the numbers of an array are."""
    try:  # a third of the time of the other
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    except (TypeError, ValueError, BufferError):  # read-only, or empty
        return int(array.__array_interface__["data"][0])


def plain(kind: type) -> type:
    """The class of a record, whether a struct is kept beside it or not."""
    return kind.__mro__[1] if KEPT_STRUCT in kind.__dict__ else kind


class Checks:
    """Lines of Python that check values; `bound` has an expression for every size that is known."""

    def __init__(self, wrong: str) -> None:
        self.lines: list[str] = []
        self.known: dict[str, Any] = {"_array": np.ndarray, "_address": address, "_plain": plain}
        self.bound: dict[str, str] = {}
        self._wrong = wrong
        self._names = (f"_v{i}" for i in range(1 << 20))

    def unless(self, fits: str) -> None:
        """Refuse what does not fit."""
        self.lines.append(f"if not ({fits}): {self._wrong}")

    def array(self, value: str, form: Form, flags: int, names: Mapping[str, Dimension]) -> str:
        """Check an array; its view, four numbers."""
        dtype = self.name(f"_{form.c_type}", form.dtype)
        self.unless(
            f"type({value}) is _array and {value}.dtype == {dtype} and "
            f"{value}.ndim == {len(form.shape)} and {value}.flags.num & {flags} == {flags}"
        )
        sizes = [next(self._names) for _ in form.shape]
        if sizes:
            self.lines.append(f"{', '.join(sizes)}, = {value}.shape")
        for size, wanted in zip(sizes, form.shape, strict=True):
            self.size(size, wanted.renamed(names))
        return ", ".join([f"_address({value})", *sizes, *["1"] * (3 - len(sizes))])

    def size(self, value: str, wanted: Dimension) -> None:
        """Bind a size that is new, or compare it."""
        factor, name, term = wanted
        if name and name not in self.bound:
            self.bound[name] = value
            if (factor, term) != (1, 0):
                self.bound[name] = size = next(self._names)
                self.lines.append(f"{size} = ({value} - {term}) // {factor}")
                self.unless(f"{size} >= 0 and {value} == {factor} * {size} + {term}")
        elif name:
            self.unless(f"{value} == {factor} * ({self.bound[name]}) + {term}")
        elif term >= 0:
            self.unless(f"{value} == {term}")

    def record(
        self, value: str, kind: type, names: Mapping[str, Dimension]
    ) -> list[tuple[str, str]]:
        """Check all that is in a record; how it is packed, and what."""
        packed = []
        for place, (name, form) in enumerate(forms(kind).items()):
            inside = next(self._names)
            self.lines.append(f"{inside} = {value}[{place}]")
            if form.record is not None:
                self.unless(
                    f"_plain(type({inside})) is {self.name('_' + form.c_type, form.record)}"
                )
                renamed = dict(form.renamed)
                outer = {own: dim.renamed(names) for own, dim in renamed.items()}
                kept = {own: dim for own, dim in names.items() if own not in renamed}
                packed += self.record(inside, form.record, {**kept, **outer})
            elif form.dtype is not None:
                packed.append(("qqqq", self.array(inside, form, WRITEABLE, names)))
            else:
                if form.code == "q":
                    self.lines.append(f"{inside} = int({inside})")
                    self.size(inside, Dimension(1, name, 0).renamed(names))
                packed.append((form.code, inside))
        return packed

    def name(self, name: str, value: object) -> str:
        """Make a value known under a name."""
        self.known[name] = value
        return name

    def function(self, parameters: str) -> Any:
        """The lines as a function."""
        body = "\n    ".join(self.lines)
        exec(f"def made({parameters}):\n    {body}\n", self.known)
        return self.known["made"]


def explain(
    arguments: Mapping[str, Form], given: Mapping[str, Any], function: str, writes: Collection[str]
) -> NoReturn:
    """Misfit, in words: which argument of a function, and what is wrong with it."""
    sizes: dict[str, int] = {}
    try:
        for name, form in arguments.items():
            flags = WRITEABLE if name in writes else READABLE
            _explain(given[name], form, name, sizes, flags)
    except Misfit as fault:
        raise Misfit(f"{function}: {fault}" if function else str(fault)) from None
    raise AssertionError(f"{function} refused what fits")


def _explain(value: Any, form: Form, where: str, sizes: dict[str, int], flags: int) -> None:
    if form.record is not None:
        if plain(type(value)) is not form.record:
            raise Misfit(f"{where} must be a {form.record.__name__}, got {type(value).__name__}")
        inside: dict[str, int] = {}
        for own, part in forms(form.record).items():
            _explain(getattr(value, own), part, f"{where}.{own}", inside, WRITEABLE)
        names = dict(form.renamed)
        for own, size in inside.items():
            _fit(sizes, (size,), (Dimension(1, own, 0).renamed(names),), f"{own} of {where}")
    elif form.dtype is not None:
        _explain_array(value, form, where, flags)
        _fit(sizes, value.shape, form.shape, where)
    elif form.code == "q":
        if not -MAX_INT64 - 1 <= value <= MAX_INT64:
            raise Misfit(f"{where} must be a whole number of 64 bits, got {value}")
        name = where.rpartition(".")[2]
        _fit(sizes, (int(value),), (Dimension(1, name, 0),), where)


def _explain_array(array: Any, form: Form, where: str, flags: int) -> None:
    if type(array) is not np.ndarray or array.dtype != form.dtype:
        kind = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
        raise Misfit(f"{where} must be an array of {form.dtype}, got {kind}")
    if array.flags.num & flags != flags:
        how = "in C order" if array.flags.num & READABLE != READABLE else "writeable"
        raise Misfit(f"{where} must be {how}")
    if array.ndim != len(form.shape):
        raise Misfit(f"{where} must have {len(form.shape)} dimensions, got shape {array.shape}")


def _fit(
    sizes: dict[str, int], shape: tuple[int, ...], wanted: tuple[Dimension, ...], where: str
) -> None:
    for size, (factor, name, term) in zip(shape, wanted, strict=True):
        if name and name not in sizes:
            sizes[name] = (size - term) // factor
        expected = factor * sizes[name] + term if name else term
        if size != expected and (name or term >= 0):
            words = ", ".join(map(str, wanted))
            known = ", ".join(f"{each}={sizes[each]}" for _, each, _ in wanted if each)
            got = shape if len(shape) > 1 else size
            raise Misfit(f"{where} has size {got}, expected {words}" + (known and f" with {known}"))


Record = TypeVar("Record")


class FilledStruct(NamedTuple):
    """A struct that was filled: where it is, the sizes in it, and the memory it is in."""

    address: int
    sizes: dict[str, int]
    words: ctypes.Array[ctypes.c_char]


class _Filler(NamedTuple):
    """How the struct of a class of records is filled, and the names of its sizes."""

    fill: Callable[[Any], FilledStruct]
    sizes: tuple[str, ...]


@functools.cache
def filler(kind: type) -> _Filler:
    """How the struct of records of this class is filled."""
    checks = Checks("_wrong(_r)")
    form = Form(c_name(kind), record=kind)

    def wrong(record: Any) -> None:
        explain({kind.__name__: form}, {kind.__name__: record}, "", ())

    packed = checks.record("_r", kind, {})
    codes = "".join(code for code, _ in packed)
    whole = struct.Struct("=" + codes)
    checks.known |= {"_pack": whole.pack, "_wrong": wrong, "_Held": FilledStruct, "_new": _memory}
    sizes = ", ".join(f"{name!r}: {value}" for name, value in checks.bound.items())
    checks.lines.append(f"_w, _at = _new(_pack({', '.join(value for _, value in packed)}))")
    checks.lines.append(f"return _Held(_at, {{{sizes}}}, _w)")
    return _Filler(checks.function("_r"), tuple(checks.bound))


def _memory(packed: bytes) -> tuple[ctypes.Array[ctypes.c_char], int]:
    words = ctypes.create_string_buffer(packed, len(packed))
    return words, ctypes.addressof(words)


def held(record: Any) -> FilledStruct:
    """The struct of a record: kept with it by `hold`, else filled now."""
    kept = getattr(record, "_held", None)
    return cast(FilledStruct, kept) if kept is not None else filled(record)


def filled(record: Any) -> FilledStruct:
    """The struct of a record, filled now."""
    if not hasattr(record, "_fields"):
        raise Misfit(f"expected a record of arrays, got {type(record).__name__}")
    return filler(plain(type(record))).fill(record)


@functools.cache
def _holding(kind: type) -> type:
    def again(self: Any) -> Any:  # a copy has arrays of its own, and so a struct of its own
        return hold, (kind(*self),)

    return type(kind.__name__, (kind,), {KEPT_STRUCT: True, "__reduce__": again})


def hold(record: Record) -> Record:
    """The same record, with its struct beside it: filled once, not in every call.

    A tuple cannot have its arrays replaced, so the struct stays right; what `_replace` makes is a
    record without one.
    """
    made = _holding(plain(type(record)))(*cast(Any, record))
    made._held = filled(record)
    return cast(Record, made)


def hold_within(record: Record, room: Record, **sizes: int) -> Record:
    """The same record with the struct of `room` beside it, whose views C made those of this one.

    Its arrays begin where those of the room do; `sizes` are those that are other ones.
    """
    whole = held(room)
    made = _holding(plain(type(record)))(*cast(Any, record))
    made._held = whole._replace(sizes={**whole.sizes, **sizes})
    return cast(Record, made)
