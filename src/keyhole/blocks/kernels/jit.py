"""The one decorator of every kernel, and the note that says what is taking so long."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit
from numba.core import event

Function = TypeVar("Function", bound=Callable[..., Any])

PATIENCE = 1.0  # seconds of compiling before anything is said


def kernel(function: Function) -> Function:
    """Compile on first call, keep the result on disk, follow IEEE arithmetic to the letter.

    No fastmath: block play and single rounds must agree bit for bit. The cache of a kernel does
    not notice changes of kernels it calls in other files: `make clean` after editing one.
    """
    return cast(Function, njit(cache=True, error_model="numpy")(function))


def inner(function: Function) -> Function:
    """As `kernel`, for what only kernels call: without the wrappers that Python would need."""
    bare: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast(Function, njit(cache=True, error_model="numpy", **bare)(function))


def part(function: Function) -> Function:
    """As `inner`, for what one or two kernels call: it becomes part of them before compiling.

    Every kernel is optimised and translated again with each one above it. This one is not one; but
    a caller that gets long takes more than its share of time, so it is no remedy for small kernels.
    """
    return cast(Function, njit(inline="always", error_model="numpy")(function))


class _Note(event.Listener):
    """Says once, on standard error, that kernels are being compiled, if that takes a while."""

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None
        self._depth = 0
        self._said = False

    def on_start(self, event: object) -> None:
        self._depth += 1  # compiling a kernel compiles those it calls
        if self._depth == 1 and not self._said:
            self._timer = threading.Timer(PATIENCE, self._say)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: object) -> None:
        self._depth -= 1
        if self._depth == 0 and self._timer is not None:
            self._timer.cancel()

    def _say(self) -> None:
        self._said = True
        sys.stderr.write(
            "keyhole: compiling its kernels for first use, they are kept on disk ...\n"
        )


event.register("numba:compile", _Note())  # type: ignore[no-untyped-call]
