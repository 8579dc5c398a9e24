"""Which kernels are called, with arguments of which types: noted while they run as plain Python.

So nobody writes down signatures: what `keyhole.warming.AHEAD` plays is what is compiled ahead of
time, and a state that gets a new field is compiled with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from keyhole.blocks.jit import mode, recording
from keyhole.blocks.jit.forms import Form


class Call(NamedTuple):
    """A kernel, and the types of its arguments as numba has them."""

    kernel: Any
    types: tuple[Any, ...]


def record(play: Callable[[], object] | None = None) -> list[Call]:
    """What is called while this plays; without it, what is compiled ahead of time.

    Must come before anything else of keyhole is imported that has kernels. Of two calls that differ
    in that one may not write to an array, that one fits both.
    """
    mode.record()
    from numba import typeof

    found: dict[Call, None] = {}
    with recording.told(lambda kernel, a: found.setdefault(Call(kernel, tuple(map(typeof, a))))):
        (_play_ahead if play is None else play)()
    calls = list(found)
    return [
        call for call in calls if not any(covers(other, call) for other in calls if other != call)
    ]


def _play_ahead() -> None:
    from keyhole.warming import AHEAD, warm

    for part in AHEAD:
        warm(part)


def covers(one: Call, other: Call) -> bool:
    """Whether machine code for one call fits the other."""
    if one.kernel is not other.kernel:
        return False
    return all(accepts(form(a), form(b)) for a, b in zip(one.types, other.types, strict=True))


def accepts(wanted: Form, given: Form) -> bool:
    """Whether what is given may be passed where a form is wanted."""
    if isinstance(wanted, str) or isinstance(given, str):
        return wanted == given
    if wanted[0] == given[0] == "array":
        return wanted[1:3] == given[1:3] and given[3] >= wanted[3]
    if wanted[:2] != given[:2] or len(wanted[2]) != len(given[2]):
        return False
    return all(accepts(*pair) for pair in zip(wanted[2], given[2], strict=True))


def form(kind: Any) -> Form:
    """A type of numba as the list of entries has it."""
    from numba import types

    if isinstance(kind, types.Array) and kind.layout == "C" and kind.aligned:
        return ["array", str(kind.dtype), kind.ndim, kind.mutable]
    if isinstance(kind, types.BaseTuple):
        made = getattr(kind, "instance_class", None)
        name = f"{made.__module__}:{made.__qualname__}" if made else ""
        return ["tuple", name, [form(part) for part in kind]]  # type: ignore[attr-defined]
    if isinstance(kind, types.Number | types.Boolean):
        return str(kind)
    raise TypeError(f"no machine code ahead of time for an argument or result of type {kind}")
