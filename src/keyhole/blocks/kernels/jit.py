"""The one decorator of every kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile on first call, keep the result on disk, follow IEEE arithmetic to the letter.

    No fastmath: block play and single rounds must agree bit for bit. The cache of a kernel does
    not notice changes of kernels it calls in other files: `make clean` after editing one.
    """
    return cast(Function, njit(cache=True, error_model="numpy")(function))
