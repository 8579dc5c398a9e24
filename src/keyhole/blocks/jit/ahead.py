"""Machine code that was compiled ahead of time and came with the package.

It is one extension module, `_ahead`, and beside it `_ahead.json`: what it was made from, for which
processor, and which kernels with which arguments are in it. `python -m tools.build_kernels` makes
both.
"""

from __future__ import annotations

import functools
import json
import platform
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from keyhole.blocks.jit.forms import Entry, entry_of
from keyhole.blocks.jit.sources import digest

NAME = "_ahead"
FORMAT = 1  # of the list
X86_64_V3 = "x86-64-v3"
ANY = "generic"
# What Linux calls the features of x86-64-v3.
_FLAGS = frozenset({"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"})
_HERE = Path(__file__).parent


def target() -> str:
    """The processor that machine code is made for on a machine like this one.

    Features of a processor can be asked for on Linux only; elsewhere the code uses none of them.
    """
    wide = sys.platform == "linux" and platform.machine() == "x86_64"
    return X86_64_V3 if wide else ANY


def fault() -> str:
    """Why the machine code that came along cannot be used; empty if it can."""
    known = listed()
    if not known:
        return "this installation has no kernels compiled ahead of time"
    if known["format"] != FORMAT or known["digest"] != digest():
        return "the kernels compiled ahead of time were made from other sources"
    if known["target"] != ANY and not _runs(known["target"]):
        return f"this processor is no {known['target']}, which the kernels were compiled for"
    if _module() is None:
        return "the kernels compiled ahead of time are for another Python or system"
    return ""


def entries(kernel: str) -> list[tuple[Entry, Callable[..., Any]]]:
    """The machine code of a kernel: what it takes and returns, and the function that runs it."""
    found = [entry_of(row) for row in listed().get("kernels", {}).get(kernel, [])]
    return [(entry, getattr(_module(), entry.symbol)) for entry in found]


@functools.cache
def listed() -> dict[str, Any]:
    """The list beside the module, empty if there is none."""
    try:
        known: dict[str, Any] = json.loads((_HERE / f"{NAME}.json").read_text(encoding="utf-8"))
    except OSError:
        return {}
    return known


@functools.cache
def _module() -> Any:
    try:
        return import_module(f"{__package__}.{NAME}")
    except ImportError:
        return None


def _runs(target: str) -> bool:
    """Whether this processor has all that machine code for the target may use."""
    if target != X86_64_V3:
        return False
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    lines = [line.partition(":")[2] for line in text.splitlines() if line.startswith("flags")]
    return bool(lines) and set(lines[0].split()) >= _FLAGS
