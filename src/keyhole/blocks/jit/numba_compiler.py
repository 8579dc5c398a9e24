"""The way to numba's compiler, which is imported here and not before it is needed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from keyhole.blocks.jit.mode import RECORD, mode

Options = dict[str, bool | str]


def compiled(function: Callable[..., Any], options: Options) -> Any:
    """The function as numba compiles it; machine code is kept on disk, if it is not inlined."""
    from numba import njit

    from keyhole.blocks.jit.cache import kept_on_disk

    _listen()
    dispatcher = njit(**options)(function)  # type: ignore[arg-type]
    if "inline" in options or mode() == RECORD:  # what is built ahead of time is not kept twice
        return dispatcher
    return kept_on_disk(dispatcher)


@functools.cache
def _listen() -> None:
    from keyhole.blocks.jit import notes

    notes.listen()
