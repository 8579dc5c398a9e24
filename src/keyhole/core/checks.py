"""Python that is made to check arrays and records before C sees them, and words for what is wrong.

The code for one call or one record is written once, from its forms: it looks at the type, dtype,
order, writeability and dimensions of everything. What it refuses is looked at again, slowly, by
`explain`, which says what is wrong.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Mapping
from typing import Any, NoReturn

import numpy as np

from keyhole.core.forms import Dimension, Form, forms

_IN_C_ORDER, _ALIGNED, _WRITEABLE = 0x0001, 0x0100, 0x0400  # bits of numpy's flags
READABLE, WRITEABLE = _IN_C_ORDER | _ALIGNED, _IN_C_ORDER | _ALIGNED | _WRITEABLE
KEPT_STRUCT = "_kept_struct"  # marks the classes of records with a struct beside them
LARGEST = 2**63 - 1


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
        if not -LARGEST - 1 <= value <= LARGEST:
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
