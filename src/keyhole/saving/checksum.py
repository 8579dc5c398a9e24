"""The checksum of a saved file, which ends in the SHA-256 of all its bytes before."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from queue import SimpleQueue
from types import TracebackType
from typing import Self

from keyhole.errors import StateError

_MARK = b"keyhole state, SHA-256 "
_DIGITS = 64
THREAD_FROM_BYTES = 1 << 18  # bytes; fewer are hashed in less time than a thread takes to start
CHECKSUM_PLACEHOLDER = _MARK + b"-" * _DIGITS  # what a file ends in before it is sealed

WritePiece = Callable[[memoryview], object]  # takes the next piece of a file: `file.write`, say


class ChecksummedWriter:
    """A file that is written, and sealed in the end. No piece of it is copied.

    What was written may be written over, by as many bytes, until one goes back to the end: that
    settles everything before, which is passed on to `put`. The checksum of large pieces, which
    takes as long as writing them, is computed at the same time.

    Examples
    --------
    >>> pieces = list[memoryview]()
    >>> with ChecksummedWriter(pieces.append) as file:
    ...     written = file.write(b"abc"), file.seek(0), file.write(b"xyz"), file.seek(3)
    ...     written = file.write(CHECKSUM_PLACEHOLDER)
    >>> b"".join(pieces)[:43]
    b'xyzkeyhole state, SHA-256 64d77eb71765fb974'
    """

    def __init__(self, put: WritePiece) -> None:
        self._put, self._digest = put, _Digest()
        self._here = self._settled = self._end = 0
        self._pieces: dict[int, memoryview] = {}  # not settled yet, by where they begin

    def write(self, data: bytes | memoryview) -> int:
        """Put a piece of bytes here and go on behind it."""
        if self._here < self._settled:
            raise ValueError("what was settled is written over")
        piece = self._pieces[self._here] = memoryview(data)
        self._here += len(piece)
        self._end = max(self._end, self._here)
        return len(piece)

    def tell(self) -> int:
        """Where the next piece is put."""
        return self._here

    def seek(self, place: int) -> int:
        """Go to where a piece begins, or to the end."""
        self._here = place
        if place == self._end:
            self._settle(list(self._pieces.values()))
        return place

    def flush(self) -> None:
        """Nothing: what is not settled is not passed on."""

    def close(self) -> None:
        """Nothing, as `flush`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                *pieces, last = self._pieces.values()
                self._settle([*pieces, last[:-_DIGITS]])
        finally:
            digits = self._digest.finish()
        if kind is None:
            self._put(memoryview(digits))

    def _settle(self, pieces: list[memoryview]) -> None:
        for piece in pieces:
            self._digest.add(piece)
            self._put(piece)
        self._settled = self._end
        self._pieces.clear()


class _Digest:
    """The SHA-256 of pieces: from the first large one on by a thread, so that nobody waits."""

    def __init__(self) -> None:
        self._digest, self._queue = hashlib.sha256(), SimpleQueue[memoryview | None]()
        self._thread: threading.Thread | None = None

    def add(self, piece: memoryview) -> None:
        if self._thread is None and len(piece) >= THREAD_FROM_BYTES:
            self._thread = self._started()
        if self._thread is None:
            self._digest.update(piece)
        else:
            self._queue.put(piece)

    def finish(self) -> bytes:
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
        return self._digest.hexdigest().encode()

    def _started(self) -> threading.Thread | None:
        thread = threading.Thread(target=self._work)
        try:
            thread.start()
        except RuntimeError:  # the interpreter is shutting down, or there are too many threads
            return None
        return thread

    def _work(self) -> None:
        while (piece := self._queue.get()) is not None:
            self._digest.update(piece)


def verify_checksum(data: bytes) -> None:
    """StateError unless the seal is there and right."""
    if data[-len(CHECKSUM_PLACEHOLDER) : -_DIGITS] != _MARK:
        if data[:4] == b"PK\x03\x04":
            raise StateError("not a file of keyhole.save, or one that was cut off")
        if data[:1] == b"\x80" and data[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
            raise StateError(
                "a pickle file, which is never loaded: save learners with keyhole.save"
            )
        raise StateError("not a file of keyhole.save")
    if hashlib.sha256(memoryview(data)[:-_DIGITS]).hexdigest().encode() != data[-_DIGITS:]:
        raise StateError("the file is damaged: its checksum is wrong")
