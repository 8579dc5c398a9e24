"""The way to numba's compiler, which is imported here and not before it is needed."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

from keyhole.blocks.jit import clock
from keyhole.blocks.jit.mode import RECORD, mode
from keyhole.blocks.jit.notes import NOTES, Task

Options = dict[str, bool | str]
Sizes = Callable[[], dict[str, int]]

_sizes: dict[str, Sizes] = {}  # what each function has compiled beside itself, when it is compiled


def compiled(function: Callable[..., Any], options: Options, sizes: Sizes) -> Any:
    """The function as numba compiles it; machine code is kept on disk, if it is not inlined."""
    from keyhole.blocks.jit.cache import kept_on_disk

    _listen()
    _sizes[name_of(function)] = sizes
    numba: Any = import_module("numba")
    dispatcher = numba.njit(**options)(function)
    if "inline" in options or mode() == RECORD:  # what is built ahead of time is not kept twice
        return dispatcher
    return kept_on_disk(dispatcher)


def name_of(function: Callable[..., Any]) -> str:
    """The name that a function goes by."""
    return f"{function.__module__}:{function.__qualname__}"


@functools.cache
def _listen() -> None:
    """From now on, say how far it is when numba compiles, and stop the clock meanwhile."""
    from numba.core import event

    class Stopwatch(event.Listener):
        """The lock is held while code is loaded from disk, too."""

        def on_start(self, event: object) -> None:
            clock.stop()

        def on_end(self, event: object) -> None:
            clock.go()

    class Progress(event.Listener):
        """Compiling a function compiles those it calls: the outermost is the task."""

        def __init__(self) -> None:
            self._depth = 0
            self._task = contextlib.ExitStack()

        def on_start(self, event: Any) -> None:
            if self._depth == 0:
                sizes = _sizes.get(name_of(event.data["dispatcher"].py_func), dict)
                self._task.enter_context(NOTES.working(Task(sizes())))
            self._depth += 1

        def on_end(self, event: Any) -> None:
            self._depth -= 1
            NOTES.finish(name_of(event.data["dispatcher"].py_func))
            if self._depth == 0:
                self._task.close()

    register: Any = event.register
    register("numba:compiler_lock", Stopwatch())
    register("numba:compile", Progress())
