"""Atomic files: written as a whole or not at all, whatever crashes in between."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from keyhole.errors import KeyholeError

try:
    import fcntl
except ImportError:  # Windows: files that a killed process left behind are not cleaned up there
    fcntl = None  # type: ignore[assignment]


@contextlib.contextmanager
def whole_file(goal: Path, refusal: type[KeyholeError]) -> Iterator[BinaryIO]:
    """A file beside the goal that takes its place if all goes well, and vanishes if not.

    It is on disk before it has the name, so a crash at any point, a power cut included, leaves
    what was there before or the whole new file. What a killed process left unfinished is removed
    by the next one that writes the same name. A link is followed, the mode of a file that is there
    is kept. `refusal` is raised if it cannot be written.
    """
    try:
        goal = Path(os.path.realpath(goal))
        mode = _mode(goal)
        _remove_leftovers(goal)
        descriptor, name = _new_file(goal)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise refusal(f"cannot write {goal}: {_reason(error)}") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            Path(name).chmod(mode)  # mkstemp makes files that only their owner can read
            os.fsync(file.fileno())  # before the rename, or the name may outlive the bytes
            if fcntl is not None:  # while it is locked; elsewhere an open file cannot be renamed
                os.replace(name, goal)
        if fcntl is None:
            os.replace(name, goal)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise refusal(f"cannot write {goal}: {_reason(error)}") from None
        raise
    with contextlib.suppress(OSError):  # not every system can synchronise a directory
        folder = os.open(goal.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


def _mode(goal: Path) -> int:
    """The permissions the file will have: those it has, or those of any new file."""
    if goal.exists():
        mode = goal.stat().st_mode
        if not stat.S_ISREG(mode):
            raise OSError(0, "it exists and is not a regular file")
        return stat.S_IMODE(mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _new_file(goal: Path) -> tuple[int, str]:
    """A new file beside the goal, locked as long as it is open, so that nobody removes it."""
    while True:
        descriptor, name = tempfile.mkstemp(prefix=f".{goal.name}.", suffix=".new", dir=goal.parent)
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if Path(name).exists():
            return descriptor, name
        os.close(descriptor)  # taken for a leftover before it was locked


def _remove_leftovers(goal: Path) -> None:
    """Remove what processes that were killed left beside the goal: nobody holds its lock."""
    if fcntl is None:
        return
    start, end = f".{goal.name}.", ".new"
    for entry in goal.parent.iterdir():
        if not (entry.name.startswith(start) and entry.name.endswith(end)):
            continue
        if len(entry.name) != len(start) + 8 + len(end) or not entry.is_file():
            continue
        with contextlib.suppress(OSError), entry.open("rb") as leftover:
            fcntl.flock(leftover, fcntl.LOCK_EX | fcntl.LOCK_NB)
            entry.unlink(missing_ok=True)
