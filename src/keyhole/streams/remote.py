"""Files that have an address, such as s3://bucket/a.parquet: opened and listed through fsspec."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from keyhole.problem import DataError
from keyhole.problem.optional_imports import extra

URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")
# What tells one version of a file from the next, by the names that file systems have for it.
VERSIONS = ("ETag", "etag", "md5Hash", "mtime", "LastModified", "last_modified", "created")


def is_address(source: str) -> bool:
    """Whether this is an address and not a path.

    >>> is_address("s3://bucket/a.csv"), is_address("a.csv"), is_address("c:/a.csv")
    (True, False, False)
    """
    return bool(URL.match(source))


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
        self._system, self._place = located(address)

    def open(self) -> RemoteHandle:
        """The file from its beginning; it can be moved about in."""
        with spoken(self.address):
            how = {"cache_type": "readahead"} if self.has_ranges else {"block_size": 0}
            return RemoteHandle(self._system.open(self._place, "rb", **how))

    @property
    def has_ranges(self) -> bool:
        """Whether parts of the file can be asked for; some web servers only send all of it."""
        if not _has_query(self.address):
            return True
        with spoken(self.address):
            return bool(self._system.info(self._place).get("partial"))

    def open_for_ranges(self) -> RemoteHandle:
        """The file, to be read in few large pieces here and there: nothing is read ahead."""
        with spoken(self.address):
            return RemoteHandle(self._system.open(self._place, "rb", cache_type="none"))

    def stamp(self) -> tuple[int, str]:
        """Its size and what tells this version of it from others."""
        with spoken(self.address):
            self._system.invalidate_cache()
            info = self._system.info(self._place)
        if info.get("type") == "directory":
            raise DataError(f"{self.address} is a directory: name a file, or several")
        version = next((str(info[key]) for key in VERSIONS if info.get(key)), "")
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


def located(address: str) -> tuple[Any, str]:
    """The file system of an address, and what the file is called there."""
    fsspec = extra("fsspec", "cluster")
    with spoken(address):
        system, place = fsspec.core.url_to_fs(address)
        return system, str(place)


def addresses_of(address: str) -> tuple[str, list[str]]:
    """The folder that an address or a pattern names, and the files in it; itself if it is a file.

    Files of folders below are among them; they are in alphabetical order.
    """
    system, place = located(address)
    with spoken(address):
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
def spoken(address: str) -> Iterator[None]:
    """Turn whatever a file system raises into a DataError of one line with the address."""
    try:
        yield
    except DataError:
        raise
    except FileNotFoundError as error:
        why = error.__cause__  # a server that cannot be reached is no file either, to fsspec
        if why is not None and getattr(why, "status", 0) != 404:
            raise DataError(f"{address} cannot be read: {_line(why)}") from None
        raise DataError(f"there is no file {address}") from None
    except ImportError as error:  # fsspec says what to install for this kind of address
        raise DataError(f"{address} cannot be read: {_line(error)}") from None
    except Exception as error:  # every file system has errors of its own
        raise DataError(f"{address} cannot be read: {_line(error)}") from None


@contextlib.contextmanager
def _as_os_errors() -> Iterator[None]:
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise OSError(f"cannot be read: {_line(error)}") from None


def _line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
