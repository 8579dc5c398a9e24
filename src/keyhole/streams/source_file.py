"""Source files: on disk, piped in or at an address such as s3://, recognised and decompressed."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import re
import shutil
import stat
import sys
import tempfile
import weakref
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any, NoReturn, Protocol
from urllib.parse import urlsplit

from keyhole.problem import DataError, nearest
from keyhole.problem.optional_imports import extra

GZIP, BZIP2, XZ, ZSTD = b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd"
ZIP = b"PK\x03\x04"
COMPRESSIONS = {GZIP: "gzip", BZIP2: "bzip2", XZ: "xz", ZSTD: "zstandard", ZIP: "zip"}
DAMAGE_ERRORS = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
PARQUET, ARROW_FILE, ARROW_STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
JSON_SUFFIXES = (".jsonl", ".ndjson")
BOM = b"\xef\xbb\xbf"  # of UTF-8
PICKLE = re.compile(rb"\x80[\x02-\x05]")  # of any protocol of this century
PICKLE_SUFFIXES = (".pkl", ".pickle", ".p", ".joblib")
OLD_EXCEL = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # .xls, before 2007
KNOWN_MAGICS = (PARQUET, ARROW_FILE, ARROW_STREAM, OLD_EXCEL, *COMPRESSIONS)
# What people have on their disks that is no table, by its first bytes.
OTHER_FORMATS = {
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
    b"\x93NUMPY": "a NumPy array without names of columns",
    b"FEA1": "a Feather file of version 1",
}
MAGICS_BY_SUFFIX = {
    ".parquet": (PARQUET,),
    ".arrow": (ARROW_FILE, ARROW_STREAM),
    ".feather": (ARROW_FILE,),
    ".gz": (GZIP,),
}


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
    except (OSError, *DAMAGE_ERRORS):
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


class SourceFile:
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
        return COMPRESSIONS.get(self.magic, "")

    def _recognise(self, head: bytes) -> bytes:
        """The magic of a format we read, or b'' for text."""
        if not head:
            raise DataError(f"{self.title} is empty")
        found = next((m for m in KNOWN_MAGICS if head[: len(m)] == m), b"")
        suffix = self.path.suffix.lower()
        if not found:
            refuse_other_formats(self.title, head)
        if found not in MAGICS_BY_SUFFIX.get(suffix, (found,)):
            raise DataError(
                f"{self.title} is named {suffix} and does not begin like one: "
                "it is damaged or of another format"
            )
        if not found and suffix in PICKLE_SUFFIXES:
            refuse_pickle(self.title)
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


def refuse_other_formats(title: str, head: bytes) -> None:
    """DataError if a file begins like one of a format that is not read."""
    if PICKLE.match(head):
        refuse_pickle(title)
    for magic, what in OTHER_FORMATS.items():
        if head.startswith(magic):
            raise DataError(
                f"{title} is {what}: give CSV (also compressed), JSON lines, a spreadsheet, "
                "Parquet or Arrow"
            )


def refuse_pickle(title: str) -> NoReturn:
    """DataError about a pickle file, which nothing here ever loads."""
    raise DataError(
        f"{title} is a pickle file, which can run any code when it is loaded, so it never is: "
        "where you trust it, load it yourself and save the table as Parquet, as in "
        "pandas.read_pickle(...).to_parquet(...)"
    )


def is_json(origin: SourceFile, head: bytes) -> bool:
    """Whether a file of text is JSON, by its name or by how it begins."""
    named = any(suffix.lower() in JSON_SUFFIXES for suffix in origin.path.suffixes[-2:])
    return named or bool(re.match(rb"\s*(\{\s*[\"}]|\[\s*\{)", head.removeprefix(BOM)))


@contextlib.contextmanager
def readable(title: str, packing: str = "") -> Iterator[None]:
    """Turn whatever reading a file may raise into a DataError of one line."""
    arrow = extra("pyarrow", "files")
    try:
        yield
    except EOFError:
        raise DataError(f"{title} is a truncated {packing} file: its end is missing") from None
    except DAMAGE_ERRORS as error:
        raise DataError(f"{title} is a damaged {packing} file: {first_line(error)}") from None
    except (OSError, arrow.ArrowException) as error:
        if isinstance(error, OSError) and error.strerror:
            raise DataError(f"{title} cannot be read: {error.strerror}") from None
        raise DataError(f"{title} is damaged or cut short: {first_line(error)}") from None


def read_fully(handle: Readable, size: int) -> bytes:
    """So many bytes of an open file; fewer only at its end."""
    parts = []
    while size > 0 and (data := handle.read(size)):
        parts.append(data)
        size -= len(data)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def first_line(error: BaseException) -> str:
    """What an error says first, or else its name."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


ADDRESS_PATTERN = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")
# What tells one version of a file from the next, by the names that file systems have for it.
VERSION_KEYS = ("ETag", "etag", "md5Hash", "mtime", "LastModified", "last_modified", "created")


def is_address(source: str) -> bool:
    """Whether this is an address and not a path.

    >>> is_address("s3://bucket/a.csv"), is_address("a.csv"), is_address("c:/a.csv")
    (True, False, False)
    """
    return bool(ADDRESS_PATTERN.match(source))


def name_of(address: str) -> str:
    """The last part of an address, without a query.

    >>> name_of("https://example.org/flats/a.csv?version=2")
    'a.csv'
    """
    return PurePosixPath(urlsplit(address).path or address).name or address


class RemoteFile:
    """A file at an address. Like a path it is only a name: every call goes to the file system."""

    def __init__(self, address: str) -> None:
        self.address, self.name = address, name_of(address)
        self._system, self._place = file_system_of(address)

    def open(self) -> RemoteHandle:
        """The file from its beginning; it can be moved about in."""
        with remote_errors(self.address):
            how = {"cache_type": "readahead"} if self.has_ranges else {"block_size": 0}
            return RemoteHandle(self._system.open(self._place, "rb", **how))

    @property
    def has_ranges(self) -> bool:
        """Whether parts of the file can be asked for; some web servers only send all of it."""
        if not _has_query(self.address):
            return True
        with remote_errors(self.address):
            return bool(self._system.info(self._place).get("partial"))

    def open_for_ranges(self) -> RemoteHandle:
        """The file, to be read in few large pieces here and there: nothing is read ahead."""
        with remote_errors(self.address):
            return RemoteHandle(self._system.open(self._place, "rb", cache_type="none"))

    def stamp(self) -> tuple[int, str]:
        """Its size and what tells this version of it from others."""
        with remote_errors(self.address):
            self._system.invalidate_cache()
            info = self._system.info(self._place)
        if info.get("type") == "directory":
            raise DataError(f"{self.address} is a directory: name a file, or several")
        version = next((str(info[key]) for key in VERSION_KEYS if info.get(key)), "")
        return int(info.get("size") or 0), version


class RemoteHandle(io.RawIOBase):
    """An open remote file. Whatever goes wrong is an OSError, as with a file on disk."""

    def __init__(self, file: Any) -> None:
        super().__init__()
        self._file = file

    def readable(self) -> bool:
        """It is for reading."""
        return True

    def seekable(self) -> bool:
        """Whether it can be moved about in."""
        return bool(self._file.seekable())

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, or as much of it as there is."""
        with _as_os_errors():
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go somewhere."""
        with _as_os_errors():
            return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        """Where it is."""
        return int(self._file.tell())

    def close(self) -> None:
        """Let it go."""
        if not self.closed:
            self._file.close()
        super().close()


def file_system_of(address: str) -> tuple[Any, str]:
    """The file system of an address, and what the file is called there."""
    fsspec = extra("fsspec", "cluster")
    with remote_errors(address):
        system, place = fsspec.core.url_to_fs(address)
        return system, str(place)


def addresses_of(address: str) -> tuple[str, list[str]]:
    """The folder that an address or a pattern names, and the files in it; itself if it is a file.

    Files of folders below are among them; they are in alphabetical order.
    """
    system, place = file_system_of(address)
    with remote_errors(address):
        if any(mark in place for mark in "*[") or ("?" in place and not _has_query(address)):
            root = place.split("*")[0].split("[")[0].rpartition("/")[0]
            return root, sorted(map(system.unstrip_protocol, _files(system, place)))
        # To ask a web server whether a file is a folder would be to download it.
        folder = address.endswith("/") if _has_query(address) else system.isdir(place)
        if not folder:
            return place, [address]
        return place, sorted(map(system.unstrip_protocol, system.find(place)))


def _files(system: Any, pattern: str) -> list[str]:
    found = system.glob(pattern, detail=True)
    return [name for name, info in found.items() if info.get("type") != "directory"]


def _has_query(address: str) -> bool:
    return urlsplit(address).scheme in ("http", "https")


@contextlib.contextmanager
def remote_errors(address: str) -> Iterator[None]:
    """Turn whatever a file system raises into a DataError of one line with the address."""
    try:
        yield
    except DataError:
        raise
    except FileNotFoundError as error:
        why = error.__cause__  # a server that cannot be reached is no file either, to fsspec
        if why is not None and getattr(why, "status", 0) != 404:
            raise DataError(f"{address} cannot be read: {first_line(why)}") from None
        raise DataError(f"there is no file {address}") from None
    except Exception as error:  # of every file system its own, or fsspec's of what to install
        raise DataError(f"{address} cannot be read: {first_line(error)}") from None


@contextlib.contextmanager
def _as_os_errors() -> Iterator[None]:
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise OSError(f"cannot be read: {first_line(error)}") from None
