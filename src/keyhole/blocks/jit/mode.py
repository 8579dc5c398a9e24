"""How kernels run: compiled by numba when first called, compiled ahead of time, or as Python.

`KEYHOLE_COMPILE=jit` and `KEYHOLE_COMPILE=aot` choose. Without it, machine code that came with the
package is used if it is there and is right, and numba compiles if not.
"""

from __future__ import annotations

import functools
import os
from typing import Literal

from keyhole.blocks.jit import ahead

VARIABLE = "KEYHOLE_COMPILE"
Mode = Literal["jit", "aot", "python", "record"]
JIT: Mode = "jit"
AOT: Mode = "aot"
PYTHON: Mode = "python"
RECORD: Mode = "record"

_recording = False


@functools.cache
def mode() -> Mode:
    """What this process does with kernels; it is decided once.

    `record`: as Python, noting the types of arguments (`python -m tools.build_kernels`).
    """
    if _recording:
        return RECORD
    if _disabled():
        return PYTHON
    wish = os.environ.get(VARIABLE, "")
    if wish not in ("", JIT, AOT):
        raise ImportError(f"{VARIABLE} must be {JIT} or {AOT}, not {wish!r}")
    if wish == JIT:
        return JIT
    fault = ahead.fault()
    if wish == AOT and fault:
        raise ImportError(f"{VARIABLE}={AOT}, but {fault}; leave it out to compile with numba")
    return JIT if fault else AOT


def compiles() -> bool:
    """Whether kernels are compiled at all: not with NUMBA_DISABLE_JIT=1."""
    return mode() != PYTHON


def record() -> None:
    """Run kernels as Python and note the types of arguments; before any kernel is imported."""
    global _recording
    _recording = True
    mode.cache_clear()


def _disabled() -> bool:
    """Whether numba is told to compile nothing, asked without importing it."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
