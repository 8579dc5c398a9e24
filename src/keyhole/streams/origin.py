"""Where a file comes from, on disk or through a pipe, and what its first bytes say it is."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import stat
import sys
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from keyhole.problem import DataError, nearest
from keyhole.problem.optional_imports import extra
from keyhole.streams.packing import (
    DAMAGE,
    GZIP,
    PACKED,
    ZIP,
    Readable,
    is_spreadsheet,
    unpacked,
)
from keyhole.streams.remote import RemoteFile, is_address

PARQUET, ARROW_FILE, ARROW_STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
OLD_EXCEL = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # .xls, before 2007
KNOWN = (PARQUET, ARROW_FILE, ARROW_STREAM, OLD_EXCEL, *PACKED)
# What people have on their disks that is no table, by its first bytes.
FOREIGN = {
    b"%PDF": "a PDF document",
    b"\x89HDF": "an HDF5 file",
    b"SQLite f": "an SQLite database",
    b"7z\xbc\xaf": "a 7z archive",
    b"Rar!": "a RAR archive",
    b"Obj\x01": "an Avro file",
    b"<!DOCTYP": "a web page",
    b"<!doctyp": "a web page",
    b"<html": "a web page",
    b"$FL2": "an SPSS file",
    b"<stata_d": "a Stata file",
}
NAMED = {
    ".parquet": (PARQUET,),
    ".arrow": (ARROW_FILE, ARROW_STREAM),
    ".feather": (ARROW_FILE,),
    ".gz": (GZIP,),
}


class Origin:
    """A file that can be read again and again, and is known to be the same every time.

    Standard input ("-") and pipes can be read only once, so they are copied to a temporary file
    first, which is removed when nothing refers to the origin any more. A file at an address is read
    where it is, unless its format can only be read from a disk.
    """

    def __init__(self, source: str | os.PathLike[str]) -> None:
        self.remote: RemoteFile | None = None
        if is_address(str(source)):
            self.remote = RemoteFile(str(source))
            self.title, self.path = self.remote.name, Path(self.remote.name)
        elif os.fspath(source) == "-":
            self.title = "standard input"
            self.path = self._put_by(sys.stdin.buffer)
        else:
            path = Path(source)
            if "\0" in str(path):
                raise DataError(f"a path cannot hold a NUL character, got {str(path)!r}")
            self.title = path.name
            with readable(str(source)):
                mode = self._existing(path).st_mode
                if stat.S_ISDIR(mode):
                    raise DataError(f"{source} is a directory: name a file, or several")
                if stat.S_ISREG(mode):
                    self.path = path.absolute()  # a worker may have another working directory
                else:
                    with path.open("rb") as pipe:
                        self.path = self._put_by(pipe)
        self._stamp = self._now()
        # Where the file is, for everybody, and what tells this version of it from others.
        self.address = str(self.path) if self.remote is None else self.remote.address
        self.version = " ".join(map(str, self._stamp))
        with readable(self.title), self._raw() as handle:
            head = handle.read(8)
        self.magic = self._recognise(head)
        if self.remote is not None and self._only_from_disk(self.remote):
            with readable(self.title), self._raw() as handle:
                self.path, self.remote = self._put_by(handle), None
            self._stamp = self._now()

    def check(self) -> None:
        """DataError if the file is not the one that was opened: passes must agree."""
        with readable(self.title):
            if self._now() != self._stamp:
                raise DataError(f"{self.title} was changed while it was in use: read it again")

    @contextlib.contextmanager
    def open(self) -> Iterator[Readable]:
        """The bytes from the beginning, decompressed if the file is compressed."""
        self.check()
        with contextlib.ExitStack() as stack:
            with readable(self.title, self.packing):
                raw = stack.enter_context(self._raw())
                handle = stack.enter_context(unpacked(raw, self.magic, self.title))
            yield handle

    def _only_from_disk(self, remote: RemoteFile) -> bool:
        """Whether the format needs a file that can be mapped, or moved about in."""
        if self.magic == PARQUET:
            return not remote.has_ranges
        return self.magic in (ARROW_FILE, ARROW_STREAM, OLD_EXCEL, ZIP)

    def _raw(self) -> IO[bytes]:
        """The bytes from the beginning, as they are."""
        if self.remote is None:
            return self.path.open("rb")
        return io.BufferedReader(self.remote.open(), 1 << 20)

    @property
    def size(self) -> int:
        """How many bytes the file has."""
        return self._stamp[0]

    @property
    def is_spreadsheet(self) -> bool:
        """Whether this is a workbook of Excel or of OpenDocument."""
        return self.magic == OLD_EXCEL or (self.magic == ZIP and is_spreadsheet(self.path))

    @property
    def packing(self) -> str:
        """How the file is compressed, in a word; empty if it is not."""
        return PACKED.get(self.magic, "")

    def _recognise(self, head: bytes) -> bytes:
        """The magic of a format we read, or b'' for text."""
        if not head:
            raise DataError(f"{self.title} is empty")
        found = next((m for m in KNOWN if head[: len(m)] == m), b"")
        suffix = self.path.suffix.lower()
        if found not in NAMED.get(suffix, (found,)):
            raise DataError(
                f"{self.title} is named {suffix} and does not begin like one: "
                "it is damaged or of another format"
            )
        for magic, what in FOREIGN.items():
            if not found and head.startswith(magic):
                raise DataError(
                    f"{self.title} is {what}: give CSV (also compressed), a spreadsheet, Parquet "
                    "or Arrow"
                )
        return found

    def _put_by(self, pipe: IO[bytes]) -> Path:
        descriptor, name = tempfile.mkstemp(prefix="keyhole-")
        weakref.finalize(self, Path(name).unlink, missing_ok=True)
        with os.fdopen(descriptor, "wb") as copy:
            shutil.copyfileobj(pipe, copy, 1 << 20)
        return Path(name)

    def _now(self) -> tuple[int, int | str]:
        if self.remote is not None:
            return self.remote.stamp()
        found = self.path.stat()
        return found.st_size, found.st_mtime_ns

    @staticmethod
    def _existing(path: Path) -> os.stat_result:
        try:
            return path.stat()
        except FileNotFoundError:
            folder = path.parent
            beside = sorted(os.listdir(folder)) if folder.is_dir() else []
            raise DataError(f"there is no file {path}{nearest(path.name, beside)}") from None


@contextlib.contextmanager
def readable(title: str, packing: str = "") -> Iterator[None]:
    """Turn whatever reading a file may raise into a DataError of one line."""
    arrow = extra("pyarrow", "files")
    try:
        yield
    except EOFError:
        raise DataError(f"{title} is a truncated {packing} file: its end is missing") from None
    except DAMAGE as error:
        raise DataError(f"{title} is a damaged {packing} file: {_line(error)}") from None
    except (OSError, arrow.ArrowException) as error:
        if isinstance(error, OSError) and error.strerror:
            raise DataError(f"{title} cannot be read: {error.strerror}") from None
        raise DataError(f"{title} is damaged or cut short: {_line(error)}") from None


def _line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
