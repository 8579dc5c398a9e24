"""Functions of C as functions of Python: typed, and everything checked before C is entered.

    @c_function("kh_fold", "features[m] G[m+1,m+1] c[m+1]", writes="c", room="2*m")
    def fold(kept: Memories, features: Indices, G: Floats, c: Floats, rows: int) -> None:
        '''What it does.'''
        raise NotImplementedError

is `void kh_fold(kh_memories *kept, ints *features, floats *G, floats *c, i64 rows, kh_room *room)`:
numbers by value, arrays as pointers to views, records as pointers to structs; then a pointer for
each number of a tuple that is returned; then room to work in, if it asks for some. Its size is in
numbers of eight bytes, by the sizes of the call. `long` calls let other threads go on.
"""

from __future__ import annotations

import ctypes
import functools
import inspect
import math
import operator
import re
import struct
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from keyhole.core import compiler, library
from keyhole.core.records import (
    MAX_INT64,
    NUMBERS,
    READABLE,
    WRITEABLE,
    Checks,
    Dimension,
    Form,
    address,
    explain,
    filled,
    filler,
    form_of,
)

Function = TypeVar("Function", bound=Callable[..., Any])

_SAID = re.compile(r"(\w+)\[([^\]]*)\]")
_TYPES = {"i64": ctypes.c_int64, "f64": ctypes.c_double, "u64": ctypes.c_uint64}
_RESULTS: dict[Any, Any] = {
    int: ctypes.c_int64,
    float: ctypes.c_double,
    bool: ctypes.c_bool,
    type(None): None,
}
_SPARE = 1 << 14  # bytes of room for gaps between its pieces
_PIECE = 64
_KEPT = 1 << 26  # bytes: what a call that needs more got is given back by the next one
ADDITIONS_PER_SLICE = 30_000_000  # additions in a slice of a search: some hundredths of a second
_SEARCH_HEAD = 512  # numbers that a search remembers beside its arrays, with gaps between these
_EXACT = compiler.sanitized()  # no more room than was asked for, anew in every call


def c_function(
    name: str, shapes: str = "", *, writes: str = "", room: str = "", long: bool = False
) -> Callable[[Function], Function]:
    """The decorated function runs that of C; see the top of this file."""

    def decorate(function: Function) -> Function:
        said = {array: sizes.replace(",", " ") for array, sizes in _SAID.findall(shapes)}
        return cast(Function, CFunction(function, name, said, writes.split(), room, long))

    return decorate


class CFunction:
    """A function of C, looked up when it is first called; then the code that checks is made."""

    def __init__(
        self,
        function: Any,
        name: str,
        shapes: Mapping[str, str],
        writes: list[str],
        room: str,
        long: bool,
    ) -> None:
        functools.update_wrapper(self, function)
        self._name, self._shapes, self._writes = name, shapes, frozenset(writes)
        self._room, self._long = room, long
        self._call: Callable[..., Any] | None = None

    def __call__(self, *given: Any, **named: Any) -> Any:
        if self._call is None:
            self._call = self._made()
        return self._call(*given, **named)

    def __reduce__(self) -> str:
        return str(_inside(self).__qualname__)  # copied and pickled as a function is: by its name

    def _made(self) -> Callable[..., Any]:
        function = _inside(self)
        hints = get_type_hints(function, include_extras=True)
        parameters = inspect.signature(function).parameters
        arguments = {name: form_of(hints[name], self._shapes.get(name, "")) for name in parameters}
        unknown = (self._shapes.keys() | self._writes) - arguments.keys()
        if unknown:
            raise TypeError(f"{self._name} has no argument {sorted(unknown)}")
        entry = getattr(library.long() if self._long else library.short(), self._name)
        call = _caller(self._name, arguments, hints["return"], self._writes, self._room, entry)
        call.__defaults__ = function.__defaults__
        return cast(Callable[..., Any], call)


def _inside(function: CFunction) -> Any:
    return inspect.unwrap(cast(Any, function))


def _caller(
    name: str,
    arguments: Mapping[str, Form],
    result: Any,
    writes: frozenset[str],
    room: str,
    entry: Any,
) -> Any:
    """The function that checks its arguments, fills their views and calls `entry`."""
    checks = Checks("_wrong(locals())")
    outputs = [NUMBERS[kind] for kind in get_args(result)] if get_origin(result) is tuple else []
    passed, views, types = list[str](), list[str](), list[Any]()
    for each, form in arguments.items():
        if form.record is not None:
            _pass_record(checks, each, form)
            passed.append(f"_h_{each}.address")
            types.append(ctypes.c_void_p)
        elif form.dtype is not None:
            passed.append(f"_a[{len(views)}]")
            flags = WRITEABLE if each in writes else READABLE
            views.append(checks.array(each, form, flags, {}))
            types.append(ctypes.c_void_p)
        else:
            passed.append(_pass_number(checks, each, form))
            types.append(_TYPES[form.c_type])
    passed += [f"_a[{len(views) + i}]" for i in range(len(outputs))]
    types += [ctypes.c_void_p] * len(outputs)
    if room:
        words = re.sub(r"[A-Za-z_]\w*", lambda found: f"({checks.bound[found[0]]})", room)
        passed.append(f"_room({words})")
        types.append(ctypes.c_void_p)
    entry.argtypes, entry.restype = types, _RESULTS[type(None) if outputs else result]
    if views or outputs:
        checks.known["_frame"] = _Frame(len(views), len(outputs))
        checks.known["_pack"] = struct.Struct(f"={4 * len(views)}q").pack_into
        codes = "".join(code for _, code in outputs)
        checks.known["_unpack"] = struct.Struct("=" + codes).unpack_from
        checks.lines.append("_w, _a = _frame.mine")
    if views:
        checks.lines.append(f"_pack(_w, 0, {', '.join(views)})")
    call = f"_entry({', '.join(passed)})"
    checks.lines.append(call if outputs else f"return {call}")
    if outputs:
        checks.lines.append(f"return _unpack(_w, {32 * len(views)})")

    def wrong(given: dict[str, Any]) -> None:
        explain(arguments, given, name, writes)

    checks.known |= {"_entry": entry, "_wrong": wrong, "_room": arena, "_filled": filled}
    checks.known["_index"] = operator.index
    return checks.function(", ".join(arguments))


def _pass_record(checks: Checks, name: str, form: Form) -> None:
    assert form.record is not None
    kind = checks.name(f"_c_{name}", form.record)
    checks.unless(f"isinstance({name}, {kind})")
    checks.lines.append(f"_h_{name} = getattr({name}, '_held', None) or _filled({name})")
    renamed = dict(form.renamed)
    for size in filler(form.record).sizes:
        checks.size(f"_h_{name}.sizes[{size!r}]", Dimension(1, size, 0).renamed(renamed))


def _pass_number(checks: Checks, name: str, form: Form) -> str:
    if form.code == "q":
        checks.lines.append(f"{name} = _index({name})")
        checks.unless(f"{-MAX_INT64 - 1} <= {name} <= {MAX_INT64}")
        checks.size(name, Dimension(1, name, 0))
    return f"int({name})" if form.code == "Q" else name


class _Frame(threading.local):
    """Where the views of one call of one function stand; every thread has its own."""

    def __init__(self, views: int, outputs: int) -> None:
        words = ctypes.create_string_buffer(32 * views + 8 * outputs)
        places = [32 * i for i in range(views)] + [32 * views + 8 * i for i in range(outputs)]
        self.mine = words, [ctypes.addressof(words) + place for place in places]


class _Arena(threading.local):
    """Room to work in, one per thread: as large as calls needed so far, within reason."""

    def __init__(self) -> None:
        self.bytes = 0
        self.memory = np.empty(0, dtype=np.uint8)
        self.struct = (ctypes.c_int64 * 3)()
        self.place = ctypes.addressof(self.struct)

    def room(self, numbers: int) -> int:
        """The address of the room, empty, with space for so many numbers."""
        wanted = (8 if _EXACT else 16) * numbers + _SPARE
        if not wanted <= self.bytes <= max(wanted, _KEPT) or _EXACT:
            self.memory = np.empty(wanted + _PIECE, dtype=np.uint8)
            start = -(-address(self.memory) // _PIECE) * _PIECE
            self.struct[0], self.struct[1], self.bytes = start, wanted, wanted
        self.struct[2] = 0
        return self.place


_ARENA = _Arena()


def arena(numbers: int) -> int:
    """Room for so many numbers of eight bytes, as C takes it."""
    return _ARENA.room(numbers)


class OutOfTime(Exception):
    """A search was left before it was done."""


def kept(numbers: int) -> NDArray[np.float64]:
    """What a search leaves between slices: so many numbers."""
    return np.zeros(_SEARCH_HEAD + numbers)


def to_the_end(
    search: Callable[..., tuple[Any, ...]], *given: Any, until: float = math.inf
) -> tuple[Any, ...]:
    """What a long search returns once it is done; OutOfTime if that is not before `until`.

    It runs a slice at a time, so that Ctrl-C and deadlines are heard.
    """
    while True:
        done, *found = search(*given, ADDITIONS_PER_SLICE)
        if done:
            return tuple(found)
        if time.monotonic() > until:
            raise OutOfTime
