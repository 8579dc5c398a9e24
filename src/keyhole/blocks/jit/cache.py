"""Machine code kept on disk, and thrown away when any kernel has changed.

Numba keeps a function's machine code until the file of that function changes. But the code of the
kernels it calls, and the constants they use, are compiled into it, and they may stand in other
files. So everything that is kept carries a digest of the sources of all kernels: if one of them
changes, all machine code is stale, and is written anew.
"""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import Any

from numba.core import config

from keyhole.blocks.jit import notes

_BLOCKS = Path(__file__).parents[1]
_CONSTANTS = _BLOCKS.parent / "errors.py"  # kernels use constants from here, nothing else outside


@functools.cache
def digest() -> str:
    """SHA-256 of everything that machine code of this package is made from."""
    known = hashlib.sha256()
    for path in (*sorted(_BLOCKS.rglob("*.py")), _CONSTANTS):
        source = path.read_bytes() if path.is_file() else b""
        name = path.relative_to(_BLOCKS.parent).as_posix()
        known.update(f"{name} {len(source)}\n".encode())
        known.update(source)
    return known.hexdigest()


def compiles() -> bool:
    """Whether kernels are compiled at all: not with NUMBA_DISABLE_JIT=1."""
    return not getattr(config, "DISABLE_JIT", 0)


def kept_on_disk(dispatcher: Any) -> Any:
    """The compiled function, with machine code that is kept on disk as long as it is right."""
    if not compiles():
        return dispatcher  # a plain Python function
    try:
        dispatcher.enable_caching()
    except RuntimeError:  # neither the package nor any cache folder can be written
        _say_once()
        return dispatcher
    # Numba compares this stamp with the one that was stored, and starts anew if they differ.
    file = dispatcher._cache._cache_file
    file._source_stamp = (file._source_stamp, digest())
    return dispatcher


@functools.cache
def _say_once() -> None:
    notes.say(
        "no folder to keep compiled kernels in, so every process compiles them again; "
        "set NUMBA_CACHE_DIR to one that can be written"
    )
