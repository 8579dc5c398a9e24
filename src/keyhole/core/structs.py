"""Structs: records of arrays as C takes them, addresses and sizes in a row."""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

from keyhole.core.checks import KEPT_STRUCT, Checks, Misfit, explain, plain
from keyhole.core.forms import Form, c_name

Record = TypeVar("Record")


class Held(NamedTuple):
    """A struct that was filled: where it is, the sizes in it, and the memory it is in."""

    address: int
    sizes: dict[str, int]
    words: ctypes.Array[ctypes.c_char]


class _Filler(NamedTuple):
    """How the struct of a class of records is filled, and the names of its sizes."""

    fill: Callable[[Any], Held]
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
    checks.known |= {"_pack": whole.pack, "_wrong": wrong, "_Held": Held, "_new": _memory}
    sizes = ", ".join(f"{name!r}: {value}" for name, value in checks.bound.items())
    checks.lines.append(f"_w, _at = _new(_pack({', '.join(value for _, value in packed)}))")
    checks.lines.append(f"return _Held(_at, {{{sizes}}}, _w)")
    return _Filler(checks.function("_r"), tuple(checks.bound))


def _memory(packed: bytes) -> tuple[ctypes.Array[ctypes.c_char], int]:
    words = ctypes.create_string_buffer(packed, len(packed))
    return words, ctypes.addressof(words)


def held(record: Any) -> Held:
    """The struct of a record: kept with it by `hold`, else filled now."""
    kept = getattr(record, "_held", None)
    return cast(Held, kept) if kept is not None else filled(record)


def filled(record: Any) -> Held:
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
