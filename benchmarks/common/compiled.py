"""Loops of peers and limits: numba compiles them where it is installed (`make bench` does that).

Without it they are plain Python, with the same results but for what is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar, cast

import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compiled on first call and kept on disk; it follows IEEE arithmetic."""
    if find_spec("numba") is None:
        return np.errstate(all="ignore")(function)
    numba: Any = import_module("numba")
    return cast(Function, numba.njit(error_model="numpy", cache=True)(function))
