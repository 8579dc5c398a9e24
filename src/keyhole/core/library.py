"""The shared library with all compiled code, loaded when the first function of it is called."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
from pathlib import Path

from keyhole.core import compiler

FOLDER = Path(__file__).with_name("lib")  # not beside modules: it would pass for one


def find() -> Path:
    """The library: the one that came with the package, or in a checkout one made of its sources."""
    if not compiler.SOURCES.is_dir():
        for file in FOLDER.glob(f"keyhole-*{compiler.suffix()}"):
            return file
        raise ImportError(
            f"keyhole's compiled library is missing from {FOLDER}: reinstall keyhole, from a wheel "
            "for this platform or from source with a C compiler"
        )
    current = FOLDER / compiler.name()
    if not current.exists():
        if sys.stderr.isatty():
            sys.stderr.write("keyhole: its C code changed and is compiled, some seconds ...\n")
        try:
            compiler.build(FOLDER)
        except PermissionError:
            raise ImportError(
                f"keyhole's C code changed and {FOLDER} cannot be written: let its owner run "
                "`pip install -e .` there, or install a wheel"
            ) from None
        for stale in FOLDER.glob(f"keyhole-*{compiler.suffix()}"):
            if stale != current and not compiler.sanitized():
                with contextlib.suppress(OSError):  # in use, on Windows, or gone already
                    stale.unlink()
    return current


@functools.cache
def short() -> ctypes.PyDLL:
    """The library for calls that take microseconds: no other thread runs meanwhile."""
    return ctypes.PyDLL(str(find()))


@functools.cache
def long() -> ctypes.CDLL:
    """The library for calls that may take long: other threads go on meanwhile."""
    return ctypes.CDLL(str(find()))


def layout(struct: str) -> str:
    """How C declares a struct: "floats G; ints who; ...", to be compared before it is filled."""
    described = getattr(short(), f"{struct}_layout")
    described.restype = ctypes.c_char_p
    return bytes(described()).decode()
