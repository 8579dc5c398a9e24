"""Machine code kept on disk, and thrown away when any kernel has changed.

Numba keeps a function's machine code until the file of that function changes. But the code of the
kernels it calls, and the constants they use, are compiled into it, and they may stand in other
files. So everything that is kept carries a digest of the sources of all kernels: if one of them
changes, all machine code is stale, and is written anew.
"""

from __future__ import annotations

import functools
from typing import Any

from keyhole.blocks.jit import notes
from keyhole.blocks.jit.sources import digest


def kept_on_disk(dispatcher: Any) -> Any:
    """The compiled function, with machine code that is kept on disk as long as it is right."""
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
