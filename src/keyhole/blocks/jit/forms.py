"""What a kernel takes and returns, and the check of every argument before machine code sees it.

Machine code believes what it is given: another dtype is read as nonsense, another order of an
array as another array. So Python code is generated for each entry that looks at the type,
dtype, dimensions and order of everything, takes tuples apart and puts the result together.

A form is how JSON has it: the name of a number's type; `["array", dtype, dimensions, writes]`;
`["tuple", class, forms]`, where the class is `module:name`, or empty for a plain tuple.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

Form = str | list[Any]

_IN_C_ORDER, _ALIGNED, _WRITEABLE = 0x0001, 0x0100, 0x0400  # bits of numpy's flags
_NUMBERS: dict[str, tuple[type, ...]] = {
    "int64": (int, np.int64),
    "uint64": (np.uint64,),
    "float64": (float, np.float64),
    "bool": (bool, np.bool_),
}


class Entry(NamedTuple):
    """One kernel for arguments of certain forms; `result` is None if it returns nothing."""

    symbol: str
    arguments: list[Form]
    result: Form | None


def entry_of(row: dict[str, Any]) -> Entry:
    """The entry that a row of the list describes."""
    return Entry(row["symbol"], row["arguments"], row["result"])


def way_in(
    function: Callable[..., Any],
    entry: Entry,
    machine_code: Callable[..., Any],
    otherwise: Callable[..., Any],
) -> Callable[..., Any]:
    """A function with the parameters of `function` that runs the machine code.

    What does not fit goes to `otherwise`, untouched.
    """
    names = list(inspect.signature(function).parameters)
    code = _Code(f"return _otherwise({', '.join(names)})")
    code.name("_otherwise", otherwise)
    code.name("_machine_code", machine_code)
    leaves = [
        leaf for pair in zip(names, entry.arguments, strict=True) for leaf in code.open(*pair)
    ]
    call = f"_machine_code({', '.join(leaves)})"
    if entry.result is None or not _has_class(entry.result):
        code.lines.append(f"return {call}")
    else:
        code.lines.append(f"_result = {call}")
        code.lines.append(f"return {code.rebuilt('_result', entry.result)}")
    body = "\n    ".join(code.lines)
    exec(f"def way({', '.join(names)}):\n    {body}\n", code.known)
    way: Callable[..., Any] = code.known["way"]
    way.__defaults__ = function.__defaults__
    return way


class _Code:
    """Lines of Python that check and take apart, and the names they use."""

    def __init__(self, otherwise: str) -> None:
        self.otherwise = otherwise
        self.lines: list[str] = []
        self.known: dict[str, Any] = {"_array": np.ndarray}
        self._numbers = (f"_v{i}" for i in range(1 << 20))

    def name(self, name: str, value: object) -> str:
        """Make a value known under a name."""
        self.known[name] = value
        return name

    def open(self, name: str, form: Form) -> Iterator[str]:
        """Check what stands under a name; the names of the numbers and arrays in it."""
        if isinstance(form, str):
            kinds = [self.name(f"_{form}_{i}", kind) for i, kind in enumerate(_NUMBERS[form])]
            self._unless(" or ".join(f"type({name}) is {kind}" for kind in kinds))
            yield name
        elif form[0] == "array":
            _, dtype, dimensions, writes = form
            bits = _IN_C_ORDER | _ALIGNED | (_WRITEABLE if writes else 0)
            kind = self.name(f"_dtype_{dtype}", np.dtype(dtype))
            self._unless(
                f"type({name}) is _array and ({name}.dtype is {kind} or {name}.dtype == {kind}) "
                f"and {name}.ndim == {dimensions} and {name}.flags.num & {bits} == {bits}"
            )
            yield name
        else:
            _, kind, parts = form
            self._unless(f"type({name}) is {self._class(kind)} and len({name}) == {len(parts)}")
            inside = [next(self._numbers) for _ in parts]
            if parts:
                self.lines.append(f"{', '.join(inside)}, = {name}")
            for pair in zip(inside, parts, strict=True):
                yield from self.open(*pair)

    def rebuilt(self, name: str, form: Form) -> str:
        """An expression: plain tuples as the kernel's own classes have them."""
        if isinstance(form, str) or not _has_class(form):
            return name
        _, kind, parts = form
        inside = ", ".join(self.rebuilt(f"{name}[{i}]", part) for i, part in enumerate(parts))
        return f"{self._class(kind)}({inside})" if kind else f"({inside},)"

    def _unless(self, fits: str) -> None:
        self.lines.append(f"if not ({fits}): {self.otherwise}")

    def _class(self, kind: str) -> str:
        if not kind:
            return "tuple"
        module, _, name = kind.partition(":")
        return self.name(f"_{kind.replace('.', '_').replace(':', '_')}", _class_of(module, name))


def _class_of(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


def _has_class(form: Form) -> bool:
    if isinstance(form, str) or form[0] == "array":
        return False
    return bool(form[1]) or any(_has_class(part) for part in form[2])
