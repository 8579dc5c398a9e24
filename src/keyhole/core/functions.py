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
import operator
import re
import struct
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

import numpy as np

from keyhole.core import compiler, library
from keyhole.core.structs import (
    NUMBERS,
    READABLE,
    WRITEABLE,
    Dimension,
    Form,
    Misfit,
    address,
    dimension,
    fit,
    form_of,
    held,
    merge,
    sizes_of,
    viewed,
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
_SPARE = 1 << 14  # bytes: for gaps between pieces of room
_PIECE = 64


def c_function(
    name: str, shapes: str = "", *, writes: str = "", room: str = "", long: bool = False
) -> Callable[[Function], Function]:
    """The decorated function runs that of C; see the top of this file."""

    def decorate(function: Function) -> Function:
        said = dict(_SAID.findall(shapes))
        return cast(Function, CFunction(function, name, said, writes.split(), room, long))

    return decorate


class CFunction:
    """A function of C, looked up when it is first called; then the code that checks is made."""

    def __init__(
        self,
        function: Any,
        name: str,
        shapes: dict[str, str],
        writes: list[str],
        room: str,
        long: bool,
    ) -> None:
        functools.update_wrapper(self, function)
        self.c_name, self._shapes, self._writes = name, shapes, frozenset(writes)
        self._room, self._long = room, long
        self._call: Callable[..., Any] | None = None
        self.numba_form = function  # what kernels that are still numba's call

    def __call__(self, *given: Any, **named: Any) -> Any:
        if self._call is None:
            self._call = self._made()
        return self._call(*given, **named)

    def __reduce__(self) -> str:
        return str(
            inspect.unwrap(cast(Any, self)).__qualname__
        )  # copied and pickled as a function is: by its name

    def _made(self) -> Callable[..., Any]:
        function = inspect.unwrap(cast(Any, self))
        hints = get_type_hints(function, include_extras=True)
        parameters = inspect.signature(function).parameters
        arguments = {name: self._form(name, hints[name]) for name in parameters}
        unknown = (self._shapes.keys() | self._writes) - arguments.keys()
        if unknown:
            raise TypeError(f"{self.c_name} has no argument {sorted(unknown)}")
        source = library.long() if self._long else library.short()
        return _Caller(self, arguments, hints["return"], self._room).made(
            getattr(source, self.c_name), parameters
        )

    def _form(self, name: str, hint: Any) -> Form:
        form = form_of(hint)
        if form.dtype is not None:
            if name in self._shapes:
                shape = tuple(map(dimension, self._shapes[name].replace(" ", "").split(",")))
                form = form._replace(shape=shape)
            if form.shape is None:
                raise TypeError(f"{self.c_name}: {name} does not say its dimensions")
        return form

    def flags(self, name: str) -> int:
        """The flags that an array needs."""
        return WRITEABLE if name in self._writes else READABLE


class _Caller:
    """Writes the Python that checks the arguments of one function, fills its views and calls it."""

    def __init__(
        self, function: CFunction, arguments: dict[str, Form], result: Any, room: str
    ) -> None:
        self.lines: list[str] = []
        self.known: dict[str, Any] = {"_held": held, "_wrong": self._wrong, "_room": arena}
        self.known |= {"_array": np.ndarray, "_index": operator.index, "_address": address}
        self._function, self._arguments, self._room = function, arguments, room
        outputs = get_args(result) if get_origin(result) is tuple else ()
        self._outputs = [NUMBERS[kind] for kind in outputs]
        self._result = _RESULTS[type(None) if outputs else result]
        self._views = sum(form.dtype is not None for form in arguments.values())

    def made(self, entry: Any, parameters: Any) -> Callable[..., Any]:
        """The function that calls `entry`."""
        passed, packed, types = list[str](), list[str](), list[Any]()
        bound = dict[str, str]()  # a size: the expression that has it
        for name, form in self._arguments.items():
            if form.record is not None:
                self._line(f"_h_{name} = getattr({name}, '_held', None) or _held({name})")
                self._record(name, form, bound)
                passed.append(f"_h_{name}.address")
                types.append(ctypes.c_void_p)
            elif form.dtype is not None:
                passed.append(f"_a[{len(packed) // 4}]")
                packed += self._array(name, form, bound)
                types.append(ctypes.c_void_p)
            else:
                if form.code == "q":
                    self._line(f"{name} = _index({name})")
                    self._line(f"if not {-(2**63)} <= {name} < {2**63}: _wrong(locals())")
                    bound.setdefault(name, name)
                elif form.code == "Q":
                    self._line(f"{name} = int({name})")
                passed.append(name)
                types.append(_TYPES[form.c_type])
        first = self._views
        for i in range(len(self._outputs)):
            passed.append(f"_a[{first + i}]")
            types.append(ctypes.c_void_p)
        if self._room:
            words = re.sub(r"[A-Za-z_]\w*", lambda found: f"({bound[found[0]]})", self._room)
            passed.append(f"_room({words})")
            types.append(ctypes.c_void_p)
        entry.argtypes, entry.restype = types, self._result
        self.known["_entry"] = entry
        if packed or self._outputs:
            codes = "".join(code for _, code in self._outputs)
            self.known |= {"_frame": _Frame(self._views, len(self._outputs))}
            self.known["_pack"] = struct.Struct(f"={len(packed)}q").pack_into
            self.known["_unpack"] = struct.Struct("=" + codes).unpack_from
            self._line("_f = _frame.mine")
            self._line("_a = _f.addresses")
            if packed:
                self._line(f"_pack(_f.words, 0, {', '.join(packed)})")
        call = f"_entry({', '.join(passed)})"
        if self._outputs:
            self._line(call)
            self._line(f"return _unpack(_f.words, {32 * self._views})")
        else:
            self._line(f"return {call}")
        names = ", ".join(parameters)
        body = "\n    ".join(self.lines)
        exec(f"def call({names}):\n    {body}\n", self.known)
        made = cast(Callable[..., Any], self.known["call"])
        cast(Any, made).__defaults__ = cast(
            Any, inspect.unwrap(cast(Any, self._function))
        ).__defaults__
        return made

    def _record(self, name: str, form: Form, bound: dict[str, str]) -> None:
        assert form.record is not None
        self.known[f"_c_{name}"] = form.record
        self._line(f"if not isinstance({name}, _c_{name}): _wrong(locals())")
        renamed = dict(form.renamed)
        for size in sizes_of(form.record):
            dim = renamed.get(size, Dimension(1, size, 0))
            value = f"_h_{name}.sizes[{size!r}]"
            self._compare(value, dim, bound)

    def _array(self, name: str, form: Form, bound: dict[str, str]) -> list[str]:
        assert form.shape is not None
        flags = self._function.flags(name)
        self.known[f"_t_{name}"] = form.dtype
        self._line(
            f"if type({name}) is not _array or {name}.dtype != _t_{name} or "
            f"{name}.ndim != {len(form.shape)} or {name}.flags.num & {flags} != {flags}: "
            "_wrong(locals())"
        )
        sizes = [f"_n_{name}_{i}" for i in range(len(form.shape))]
        if sizes:
            self._line(f"{', '.join(sizes)}, = {name}.shape")
        for size, dim in zip(sizes, form.shape, strict=True):
            self._compare(size, dim, bound)
        return [f"_address({name})", *sizes, *["1"] * (3 - len(sizes))]

    def _compare(self, value: str, dim: Dimension, bound: dict[str, str]) -> None:
        if dim.name and dim.name not in bound:
            if dim.factor == 1 and dim.term == 0:
                bound[dim.name] = value
            else:
                size = f"_s_{dim.name}"
                self._line(f"{size} = ({value} - {dim.term}) // {dim.factor}")
                again = f"{dim.factor} * {size} + {dim.term}"
                self._line(f"if {size} < 0 or {value} != {again}: _wrong(locals())")
                bound[dim.name] = size
        elif dim.name or dim.term >= 0:
            expected = (
                f"{dim.factor} * ({bound[dim.name]}) + {dim.term}" if dim.name else f"{dim.term}"
            )
            self._line(f"if {value} != {expected}: _wrong(locals())")

    def _wrong(self, given: dict[str, Any]) -> None:
        # Slowly, and with words: which argument it was.
        sizes: dict[str, int] = {}
        for name, form in self._arguments.items():
            where, value = f"{name} of {self._function.c_name}", given[name]
            if form.record is not None:
                if not isinstance(value, form.record):
                    kinds = form.record.__name__, type(value).__name__
                    raise Misfit(f"{where} must be a {kinds[0]}, got {kinds[1]}")
                merge(sizes, held(value).sizes, form, where)
            elif form.dtype is not None:
                viewed(value, form, where, self._function.flags(name))
                fit(sizes, value.shape, form, where)
            elif form.code == "q":
                if not -(2**63) <= value < 2**63:
                    raise Misfit(f"{where} must be a whole number of 64 bits, got {value}")
                fit(sizes, (value,), Form("", shape=(Dimension(1, name, 0),)), where)
        raise AssertionError(f"{self._function.c_name} was right to refuse, and nothing is wrong")

    def _line(self, line: str) -> None:
        self.lines.append(line)


class _Frame(threading.local):
    """Where the views of one call of one function stand; every thread has its own."""

    def __init__(self, views: int, outputs: int) -> None:
        self.mine = _Words(views, outputs)


class _Words:
    def __init__(self, views: int, outputs: int) -> None:
        self.words = ctypes.create_string_buffer(32 * views + 8 * outputs)
        base = ctypes.addressof(self.words)
        places = [32 * i for i in range(views)] + [32 * views + 8 * i for i in range(outputs)]
        self.addresses = [base + place for place in places]


class _Arena(threading.local):
    """Room to work in, one per thread: as large as any call needed so far."""

    def __init__(self) -> None:
        self.bytes = 0
        self.memory = np.empty(0, dtype=np.uint8)
        self.struct = (ctypes.c_int64 * 3)()

    def room(self, numbers: int) -> int:
        """The address of the room, empty, with space for so many numbers."""
        wanted = 8 * numbers
        wanted = (wanted if compiler.sanitized() else 2 * wanted) + _SPARE
        if wanted > self.bytes or compiler.sanitized():
            self.memory = np.empty(wanted + _PIECE, dtype=np.uint8)
            start = -(-address(self.memory) // _PIECE) * _PIECE
            self.struct[0], self.struct[1], self.bytes = start, wanted, wanted
        self.struct[2] = 0
        return ctypes.addressof(self.struct)


_ARENA = _Arena()


def arena(numbers: int) -> int:
    """Room for so many numbers of eight bytes, as C takes it."""
    return _ARENA.room(numbers)
