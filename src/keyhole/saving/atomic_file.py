"""Files that are whole or not there."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from keyhole.errors import KeyholeError


@contextlib.contextmanager
def whole_file(goal: Path, refusal: type[KeyholeError]) -> Iterator[BinaryIO]:
    """A file beside the goal that takes its place if all goes well, and vanishes if not.

    It is on disk before it has the name, so a crash at any point, a power cut included, leaves
    what was there before or the whole new file. `refusal` is raised if it cannot be written.
    """
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{goal.name}.", dir=goal.parent)
    except OSError as error:
        raise refusal(f"cannot write {goal}: {error.strerror or error}") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # before the rename, or the name may outlive the bytes
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)  # mkstemp makes files that only their owner can read
        os.replace(name, goal)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise refusal(f"cannot write {goal}: {error.strerror or error}") from None
        raise
    with contextlib.suppress(OSError):  # not every system can synchronise a directory
        folder = os.open(goal.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
