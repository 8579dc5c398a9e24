"""The decorators of compiled code: `kernel`, `inner`, `part`.

With `NUMBA_DISABLE_JIT=1` nothing is compiled, so that every kernel can be stepped through in a
debugger.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from keyhole.blocks.jit import notes
from keyhole.blocks.jit.cache import compiles, kept_on_disk

Function = TypeVar("Function", bound=Callable[..., Any])

notes.listen()


def kernel(function: Function) -> Function:
    """Compile on first call, keep the result on disk, follow IEEE arithmetic to the letter.

    No fastmath: block play and single rounds must agree bit for bit.
    """
    if not compiles():
        # Machine code overflows and divides by zero in silence, so its Python form does too.
        return np.errstate(all="ignore")(function)
    return _compiled(function)


def inner(function: Function) -> Function:
    """As `kernel`, for what only kernels call: without the wrappers that Python would need."""
    return _compiled(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def part(function: Function) -> Function:
    """As `inner`, for what one or two kernels call: it becomes part of them before compiling.

    Every kernel is optimised and translated again with each one above it. This one is not one; but
    a caller that gets long takes more than its share of time, so it is no remedy for small kernels.
    """
    return cast(Function, njit(inline="always", error_model="numpy")(function))


def _compiled(function: Function, **options: bool) -> Function:
    compile: Any = njit(error_model="numpy", **cast(Any, options))
    return cast(Function, kept_on_disk(compile(function)))
