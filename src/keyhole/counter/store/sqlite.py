"""A store in a file, by SQLite: write-ahead log, and every commit on disk before it is answered."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from keyhole.counter.store.database import Connection, Row, transaction, up_to_date, upgrade
from keyhole.errors import StoreDamagedError, StoreError, StoreLockedError

# Of a file that is not a database, or no longer one; the rest may pass, as a full disk does.
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class SQLite:
    """A file, with its log beside it. Not for network file systems: their locks cannot be trusted.

    Parameters
    ----------
    path
        The file.
    wait
        For how many seconds to wait for other processes that write.
    """

    row_lock = ""  # BEGIN IMMEDIATE has locked everything

    def __init__(self, path: str, wait: float) -> None:
        self.path, self.wait = Path(path).absolute(), wait
        self._inode: tuple[int, int] | None = None

    @property
    def name(self) -> str:
        """The path."""
        return str(self.path)

    def connect(self) -> SQLiteConnection:
        """A new connection; the file must be there."""
        return SQLiteConnection(self.path, self.wait)

    def migrate(self, create: bool) -> None:
        """Make the file if there is none and `create` says so, and its tables."""
        if self.path.is_dir():
            raise StoreError(f"{self.path} is a folder: a store is a file in it")
        if not self.path.exists():
            if not create:
                raise StoreError(f"there is no store at {self.path}: `keyhole create` makes one")
            try:
                self.path.open("ab").close()
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or error
                raise StoreError(f"cannot make a store at {self.path}: {reason}") from None
        connection = self.connect()
        try:
            if not up_to_date(connection, "sqlite", _tables(connection)):
                with connection.writing():
                    upgrade(connection, "sqlite", _tables(connection), create)
            # Only now: a database of something else is left as it was.
            modes = ("PRAGMA journal_mode", "PRAGMA journal_mode = WAL")  # as it is; as it is set
            if not any(connection.rows(mode) == [("wal",)] for mode in modes):
                raise StoreError("SQLite cannot keep a write-ahead log here: use a local disk")
        except StoreError as error:
            if str(error).startswith(str(self.path)):
                raise
            raise type(error)(f"{self.path}: {error}") from None
        finally:
            connection.close()
        self._inode = self._identity()

    def backup(self, path: str) -> None:
        """Copy the store to a new file, as it is now, while others go on."""
        goal = Path(path)
        if goal.exists():
            raise StoreError(f"{goal} already exists: name a new file for the backup")
        unfinished = goal.with_name(goal.name + ".unfinished")
        unfinished.unlink(missing_ok=True)
        connection = self.connect()
        try:
            connection.run("VACUUM INTO ?", (str(unfinished),))
            with unfinished.open("rb+") as file:
                os.fsync(file.fileno())
            unfinished.rename(goal)
            with contextlib.suppress(OSError):  # not every system can synchronise a folder
                _synchronise(goal.absolute().parent)
        except OSError as error:
            raise StoreError(f"cannot write {goal}: {error.strerror or error}") from None
        finally:
            connection.close()
            unfinished.unlink(missing_ok=True)

    def check(self, connection: Connection) -> None:
        """PRAGMA integrity_check."""
        found = connection.rows("PRAGMA integrity_check")
        if found != [("ok",)]:
            raise StoreDamagedError(f"{self.path} is damaged: {found[0][0]}; go back to a backup")

    def shrink(self) -> None:
        """VACUUM."""
        connection = self.connect()
        try:
            connection.run("VACUUM")
            connection.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            connection.close()

    def refuse_if_replaced(self) -> None:
        """StoreError if the path leads to another file than the one that is open, or to none."""
        if self._identity() != self._inode:
            raise StoreError(
                f"{self.path} was moved or replaced while it was in use: open the store again"
            )

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_dev, found.st_ino


def _synchronise(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _tables(connection: Connection) -> list[str]:
    found = connection.rows("SELECT name FROM sqlite_master WHERE type = 'table'")
    return [name for (name,) in found]


class SQLiteConnection:
    """One connection to a file."""

    def __init__(self, path: Path, wait: float) -> None:
        self._path = path
        try:
            self._raw = sqlite3.connect(
                path.as_uri() + "?mode=rw",
                uri=True,
                timeout=wait,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=256,
            )
            try:
                # FULL: in write-ahead mode, NORMAL may lose commits that were answered.
                for pragma in ("synchronous = FULL", "fullfsync = ON", "foreign_keys = ON"):
                    self._raw.execute(f"PRAGMA {pragma}")
            except BaseException:
                self._raw.close()
                raise
        except sqlite3.Error as error:
            raise self._refusal(error) from None

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """All rows of a query."""
        try:
            return self._raw.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise self._refusal(error) from None

    def run(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run a statement; how many rows it changed."""
        try:
            return self._raw.execute(sql, values).rowcount
        except sqlite3.Error as error:
            raise self._refusal(error) from None

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each row of values."""
        try:
            self._raw.executemany(sql, rows)
        except sqlite3.Error as error:
            raise self._refusal(error) from None

    def writing(self) -> AbstractContextManager[None]:
        """BEGIN IMMEDIATE: other writers wait from here on, so what is read stays true."""
        return transaction(self, "BEGIN IMMEDIATE", "COMMIT")

    def reading(self) -> AbstractContextManager[None]:
        """One view of the database for all that is read."""
        return transaction(self, "BEGIN", "ROLLBACK")

    def roll_back(self) -> None:
        """Undo what is open."""
        with contextlib.suppress(sqlite3.Error):  # there may be nothing left to roll back
            if self._raw.in_transaction:
                self._raw.execute("ROLLBACK")

    def close(self) -> None:
        """Close it."""
        with contextlib.suppress(sqlite3.Error):
            self._raw.close()

    def _refusal(self, error: sqlite3.Error) -> StoreError:
        """What to say instead."""
        if isinstance(error, sqlite3.ProgrammingError):
            return StoreError(f"{self._path}: the store is closed")
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in BUSY:
            return StoreLockedError(
                f"{self._path}: other processes wrote to the store all the time; try again, "
                "or wait for longer (kh.Store(..., wait=seconds))"
            )
        if code in DAMAGED:
            return StoreDamagedError(
                f"{self._path} is damaged, or no database of SQLite ({error}): go back to a backup"
            )
        return StoreError(f"{self._path}: {error}")
