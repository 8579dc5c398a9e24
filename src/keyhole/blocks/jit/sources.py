"""The sources that machine code is made from, and their digest."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

_BLOCKS = Path(__file__).parents[1]
_CONSTANTS = _BLOCKS.parent / "errors.py"  # kernels use constants from here, nothing else outside
# Of this room, what decides about machine code; the rest says when it is made and where it is kept.
_DECIDING = ("decorators.py", "intrinsics.py")


@functools.cache
def digest() -> str:
    """SHA-256 of everything that machine code of this package is made from."""
    known = hashlib.sha256()
    for path in (*sorted(_BLOCKS.rglob("*.py")), _CONSTANTS):
        if path.parent.name == "jit" and path.name not in _DECIDING:
            continue
        source = path.read_bytes() if path.is_file() else b""
        name = path.relative_to(_BLOCKS.parent).as_posix()
        known.update(f"{name} {len(source)}\n".encode())
        known.update(source)
    return known.hexdigest()
