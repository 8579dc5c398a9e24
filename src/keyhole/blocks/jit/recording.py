"""Noting what kernels are called with, for `python -m tools.build_kernels`."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Recorder = Callable[[Any, tuple[Any, ...]], object]

_recorders: list[Recorder] = []
_inside = False  # a kernel: what it calls is compiled into it


@contextlib.contextmanager
def told(recorder: Recorder) -> Iterator[None]:
    """Tell of every call of a kernel from Python: the kernel, and all its arguments in order."""
    _recorders.append(recorder)
    try:
        yield
    finally:
        _recorders.remove(recorder)


def noted(kernel: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as Python, of whose calls every recorder is told."""
    signature = inspect.signature(function)

    def play(*arguments: Any, **named: Any) -> Any:
        global _inside
        if _inside:
            return function(*arguments, **named)
        bound = signature.bind(*arguments, **named)
        bound.apply_defaults()
        for recorder in _recorders:
            recorder(kernel, bound.args)
        _inside = True
        try:
            with np.errstate(all="ignore"):
                return function(*arguments, **named)
        finally:
            _inside = False

    return play
