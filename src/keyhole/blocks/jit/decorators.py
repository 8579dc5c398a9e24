"""The decorators of compiled code: `kernel`, `inner`, `part`.

With `NUMBA_DISABLE_JIT=1` nothing is compiled, so that every kernel can be stepped through in a
debugger.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from keyhole.blocks.jit.lazy import Door, Later
from keyhole.blocks.jit.mode import PYTHON, mode
from keyhole.blocks.jit.numba_compiler import Options

Function = TypeVar("Function", bound=Callable[..., Any])

# No fastmath: block play and single rounds must agree bit for bit.
KERNEL: Options = {"error_model": "numpy"}
INNER: Options = {**KERNEL, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
PART: Options = {**KERNEL, "inline": "always"}


def kernel(function: Function) -> Function:
    """Compile on first call, keep the result on disk, follow IEEE arithmetic to the letter.

    Where machine code came with the package, it is used; numba compiles for what it does not fit.
    """
    if mode() == PYTHON:
        # Machine code overflows and divides by zero in silence, so its Python form does too.
        return np.errstate(all="ignore")(function)
    return cast(Function, Door(function, KERNEL))


def inner(function: Function) -> Function:
    """As `kernel`, for what only kernels call: without the wrappers that Python would need."""
    return function if mode() == PYTHON else cast(Function, Later(function, INNER))


def part(function: Function) -> Function:
    """As `inner`, for what one or two kernels call: it becomes part of them before compiling.

    Every kernel is optimised and translated again with each one above it. This one is not one; but
    a caller that gets long takes more than its share of time, so it is no remedy for small kernels.
    """
    return function if mode() == PYTHON else cast(Function, Later(function, PART))


def succeeds(old: Callable[..., Any]) -> Callable[[Function], Function]:
    """Python calls the decorated function, which is in C; kernels that are numba's call `old`."""

    def decorate(new: Function) -> Function:
        cast(Any, new).numba_form = old
        return new

    return decorate
