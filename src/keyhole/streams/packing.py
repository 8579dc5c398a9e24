"""Compressed files, told apart by their first bytes and unpacked a block at a time."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from keyhole.problem import DataError
from keyhole.problem.optional_imports import extra

GZIP, BZIP2, XZ, ZSTD = b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd"
ZIP = b"PK\x03\x04"
PACKED = {GZIP: "gzip", BZIP2: "bzip2", XZ: "xz", ZSTD: "zstandard", ZIP: "zip"}
DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zipfile.BadZipFile)


class Readable(Protocol):
    """All that is asked of an open file."""

    def read(self, size: int, /) -> bytes: ...


@contextlib.contextmanager
def unpacked(raw: IO[bytes], magic: bytes, title: str) -> Iterator[Readable]:
    """The bytes of an open file, decompressed if its first bytes say that it is compressed."""
    if magic == GZIP:
        with gzip.GzipFile(fileobj=raw) as handle:
            yield handle
    elif magic == BZIP2:
        with bz2.BZ2File(raw) as bzip2:
            yield bzip2
    elif magic == XZ:
        with lzma.LZMAFile(raw) as xz:
            yield xz
    elif magic == ZSTD:
        with extra("pyarrow", "files").CompressedInputStream(raw, "zstd") as zstd:
            yield zstd
    elif magic == ZIP:
        with zipfile.ZipFile(raw) as archive, _member(archive, title) as member:
            yield member
    else:
        yield raw


def is_spreadsheet(path: Path) -> bool:
    """Whether a zip archive is a workbook of Excel or of OpenDocument."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (OSError, *DAMAGE):
        return False
    return any(name in ("xl/workbook.xml", "xl/workbook.bin") for name in names) or (
        "mimetype" in names and "content.xml" in names
    )


def _member(archive: zipfile.ZipFile, title: str) -> IO[bytes]:
    """The one file of an archive."""
    entries = [
        entry
        for entry in archive.infolist()
        if entry.filename
        and not entry.is_dir()
        and not entry.filename.startswith("__MACOSX/")
        and not PurePosixPath(entry.filename).name.startswith(".")
    ]
    if len(entries) != 1:
        some = ", ".join(entry.filename for entry in entries[:5]) or "nothing"
        raise DataError(
            f"{title} is an archive of {len(entries)} files ({some}): unpack it, and name one of "
            "them or the folder"
        )
    if entries[0].flag_bits & 1:
        raise DataError(f"{title} is encrypted: unpack it first")
    try:
        return archive.open(entries[0])
    except NotImplementedError as error:
        raise DataError(f"{title} cannot be unpacked here: {error}") from None
