"""Databases that a store can be kept in: connections, migrations, and SQLite."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from importlib.resources import files
from pathlib import Path
from threading import RLock
from typing import Any

from keyhole.errors import (
    ConflictError,
    StoreDamagedError,
    StoreError,
    StoreLockedError,
    without_password,
)
from keyhole.problem.display import counted

SqlRow = tuple[Any, ...]
# Of a file that is not a database, or no longer one; the rest may pass, as a full disk does.
DAMAGED_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
SMALLEST_DATABASE = 512  # bytes: one page; SQLite takes anything shorter for a new file
BUSY_CODES = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class LearnerDamagedError(StoreDamagedError):
    """Something of one learner is not as it was written; others are served."""


class Connection:
    """One connection, used by one thread at a time. Values stand for `?` in the SQL.

    Whatever goes wrong is a StoreError: StoreLockedError if others did not finish in time,
    StoreDamagedError if the file is not sound.

    Parameters
    ----------
    connect
        Makes the connection of the driver.
    driver_error
        What the driver raises.
    settings
        Statements to run first.
    """

    begin_writing: str
    begin_reading: str
    mark = "?"  # what the driver has in place of `?`

    def __init__(
        self,
        connect: Callable[[], Any],
        driver_error: type[Exception],
        settings: Iterable[str],
    ) -> None:
        self._error = driver_error
        try:
            self._raw = connect()
            try:
                for setting in settings:
                    self._raw.execute(setting)
            except BaseException:
                self._raw.close()
                raise
        except driver_error as error:
            raise self._refusal(error) from None

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[SqlRow]:
        """All rows of a query."""
        try:
            found: list[SqlRow] = self._execute(sql, values).fetchall()
        except self._error as error:
            raise self._refusal(error) from None
        return found

    def run(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run a statement; how many rows it changed."""
        try:
            return int(self._execute(sql, values).rowcount)
        except self._error as error:
            raise self._refusal(error) from None

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each of these rows of values."""
        try:
            with contextlib.closing(self._raw.cursor()) as cursor:
                cursor.executemany(sql.replace("?", self.mark), rows)
        except self._error as error:
            raise self._refusal(error) from None

    def writing(self) -> AbstractContextManager[None]:
        """A transaction that writes: committed, and on disk, when its block ends without error."""
        return self._transaction(self.begin_writing, "COMMIT")

    def reading(self) -> AbstractContextManager[None]:
        """A transaction that sees the database as it is now, whatever others write meanwhile."""
        return self._transaction(self.begin_reading, "ROLLBACK")

    def close(self) -> None:
        """Close it; never fails."""
        with contextlib.suppress(self._error):
            self._raw.close()

    @contextlib.contextmanager
    def _transaction(self, begin: str, end: str) -> Iterator[None]:
        """From one statement to another; undone if anything goes wrong between or at the end."""
        self.run(begin)
        try:
            yield
            self.run(end)
        except BaseException:
            with contextlib.suppress(self._error):  # there may be nothing left to roll back
                self._raw.execute("ROLLBACK")
            raise

    def _execute(self, sql: str, values: Sequence[Any]) -> Any:
        # Without values, psycopg takes SQL as it is; with them, % would have to be doubled.
        if not values:
            return self._raw.execute(sql)
        return self._raw.execute(sql.replace("?", self.mark), values)

    def _refusal(self, error: Exception) -> StoreError:
        """What to say instead of an error of the driver."""
        raise NotImplementedError


class Database:
    """A database that a store can be kept in: `SQLite` here, `Postgres` in `postgres.py`."""

    dialect: str  # the folder of its migrations
    row_lock = ""  # what to add to a SELECT so that other writers wait for this transaction
    list_tables: str  # SQL
    list_columns: str  # SQL, of the table of a name
    ids_given = ""  # what an INSERT must say that gives ids of its own
    name: str  # what to call it in front of a person; no password in it

    def connect(self) -> Connection:
        """A new connection."""
        raise NotImplementedError

    def backup(self, path: str) -> None:
        """Write a copy of everything to a new file of SQLite, while others go on."""
        raise NotImplementedError

    def after_copying(self, connection: Connection) -> None:
        """Make new ids go on from those that were copied; SQLite does."""

    def migrate(self, create: bool) -> None:
        """Bring the tables up to date, or make them; StoreError where there is no store."""
        with contextlib.closing(self.connect()) as connection:
            try:
                if not self._up_to_date(connection):
                    with connection.writing():
                        self._upgrade(connection, create)
                self._check_mode(connection)
            except StoreError as error:
                if str(error).startswith(self.name):
                    raise
                raise type(error)(f"{self.name}: {error}") from None

    def check(self, connection: Connection) -> None:
        """StoreDamagedError if the database finds that it is damaged; a server checks itself."""

    def shrink(self) -> None:
        """Give free space back to the system; a server does that by itself."""

    def refuse_if_replaced(self) -> None:
        """StoreError if connections that are open no longer lead to this database."""

    def _check_mode(self, connection: Connection) -> None:
        """StoreError if the database cannot keep what is committed."""

    def _up_to_date(self, connection: Connection) -> bool:
        """Whether there is nothing to migrate; looked up first, for that waits for nobody."""
        return "kh_version" in self._tables(connection) and connection.rows(
            "SELECT version FROM kh_version"
        ) == [(len(self._scripts()),)]

    def _upgrade(self, connection: Connection, create: bool) -> None:
        """Run the migrations that this store has not had, in the transaction that is open.

        Forward only; a store of a newer keyhole is refused.
        """
        steps, tables = self._scripts(), self._tables(connection)
        version = 0
        if "kh_version" in tables:
            found = connection.rows("SELECT version FROM kh_version")
            if len(found) != 1 or not isinstance(found[0][0], int):
                raise StoreDamagedError("the store does not say which version of its tables it has")
            version = found[0][0]
        elif not create:
            raise StoreError("there is no store of keyhole in it; `keyhole create` makes one")
        elif self.dialect == "sqlite" and tables:
            raise StoreError(
                "it is a database of something else: it has tables and none is keyhole's"
            )
        if version > len(steps):
            raise StoreError(
                f"its tables are of version {version}, newer than this keyhole, which knows up to "
                f"{len(steps)}: upgrade keyhole"
            )
        if version == len(steps):
            return
        if version == 0:
            connection.run("CREATE TABLE kh_version (version INTEGER NOT NULL)")
            connection.run("INSERT INTO kh_version VALUES (0)")
        for script in steps[version:]:
            for statement in script.split(";\n"):
                if statement.strip():
                    connection.run(statement)
        connection.run("UPDATE kh_version SET version = ?", (len(steps),))

    def _scripts(self) -> list[str]:
        """The migrations, oldest first: numbered files of SQL."""
        folder = files("keyhole.counter.store").joinpath("schema", self.dialect)
        names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
        return [folder.joinpath(name).read_text(encoding="utf-8") for name in names]

    def _tables(self, connection: Connection) -> list[str]:
        return [name for (name,) in connection.rows(self.list_tables)]


class SharedConnection:
    """A connection that threads share, opened when it is needed and thrown away when it fails."""

    def __init__(self, database: Database) -> None:
        self._database, self._lock = database, RLock()
        self._connection: Connection | None = None
        self._closed, self._pid = False, os.getpid()

    @contextlib.contextmanager
    def connected(self) -> Iterator[Connection]:
        """The connection, for one thread at a time."""
        with self._lock:
            connection = self._connected()
            try:
                yield connection
            except StoreError as error:
                if not isinstance(error, (ConflictError, LookupError, LearnerDamagedError)):
                    self.reset()  # the connection may be broken
                raise

    def close(self) -> None:
        """Let go of the connection; safe to call again."""
        with self._lock:
            self.reset()
            self._closed = True

    def reset(self) -> None:
        """Throw the connection away; the next one who needs it opens another."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _connected(self) -> Connection:
        if self._closed:
            raise StoreError("the store is closed")
        if os.getpid() != self._pid:
            raise StoreError("the store was opened before this process was forked: open it again")
        self._database.refuse_if_replaced()
        if self._connection is None:
            self._connection = self._database.connect()
        return self._connection


def open_database(url: str, wait: float) -> Database:
    """The database that an address means: `postgresql://...`, else a file of SQLite."""
    if url.startswith(("postgresql://", "postgres://")):
        from keyhole.counter.store.postgres import Postgres

        return Postgres(url, wait)
    path = url.removeprefix("sqlite:///")
    mistyped = tuple(name + mark for name in ("postgres", "postgresql") for mark in (":", "//"))
    if "://" in path or path.lower().startswith(mistyped):
        raise StoreError(
            f"there are no stores at {without_password(url)}: a store is a file, or "
            "postgresql://user@host/database"
        )
    return SQLite(path, wait)


class SQLite(Database):
    """A file, with its log beside it: every commit is on disk before it is answered.

    Not for network file systems: their locks cannot be trusted.

    Parameters
    ----------
    path
        The file.
    wait
        For how many seconds to wait for other processes that write.
    """

    dialect = "sqlite"
    list_tables = "SELECT name FROM sqlite_master WHERE type = 'table'"
    list_columns = "SELECT name FROM pragma_table_info(?) ORDER BY cid"

    def __init__(self, path: str, wait: float) -> None:
        self.path, self.wait = Path(path).absolute(), wait
        self.name = str(self.path)
        self._inode: tuple[int, int] | None = None

    def connect(self) -> SQLiteConnection:
        """A new connection; the file must be there, and not so short that it is taken for new."""
        with contextlib.suppress(OSError):
            if 0 < (size := self.path.stat().st_size) < SMALLEST_DATABASE:
                what = f"damaged, or no database of SQLite (it has {counted(size, 'byte')})"
                raise StoreDamagedError(f"{self.path} is {what}: go back to a backup")
        return SQLiteConnection(self.path, self.wait)

    def migrate(self, create: bool) -> None:
        """Make the file if there is none and `create` says so, and its tables."""
        if self.path.is_dir():
            raise StoreError(f"{self.path} is a folder: a store is a file in it")
        if not self.path.exists():
            if not create:
                raise StoreError(f"there is no store at {self.path}: `keyhole create` makes one")
            try:
                _make_private(self.path)
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or error
                raise StoreError(f"cannot make a store at {self.path}: {reason}") from None
        super().migrate(create)
        self._inode = self._identity()

    def backup(self, path: str) -> None:
        """Copy the store to a new file, as it is now, while others go on."""
        with new_file(Path(path)) as unfinished, contextlib.closing(self.connect()) as connection:
            connection.run("VACUUM INTO ?", (str(unfinished),))

    def check(self, connection: Connection) -> None:
        """PRAGMA integrity_check."""
        found = connection.rows("PRAGMA integrity_check")
        if found != [("ok",)]:
            raise StoreDamagedError(f"{self.path} is damaged: {found[0][0]}; go back to a backup")

    def shrink(self) -> None:
        """VACUUM."""
        with contextlib.closing(self.connect()) as connection:
            connection.run("VACUUM")
            connection.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    def refuse_if_replaced(self) -> None:
        """StoreError if the path leads to another file than the one that is open, or to none."""
        if self._inode is not None and self._identity() != self._inode:
            raise StoreError(
                f"{self.path} was moved or replaced while it was in use: open the store again"
            )

    def _check_mode(self, connection: Connection) -> None:
        # Only now: a database of something else is left as it was.
        modes = ("PRAGMA journal_mode", "PRAGMA journal_mode = WAL")  # as it is; as it is set
        if not any(connection.rows(mode) == [("wal",)] for mode in modes):
            raise StoreError("SQLite cannot keep a write-ahead log here: use a local disk")

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_dev, found.st_ino


@contextlib.contextmanager
def new_file(goal: Path) -> Iterator[Path]:
    """A file to write a whole store to, which gets its name when the block ends without error."""
    for beside in ("", "-wal", "-shm"):  # SQLite would take an old log for a part of the new file
        if (there := goal.with_name(goal.name + beside)).exists():
            raise StoreError(f"{there} already exists: name a new file")
    unfinished = goal.with_name(goal.name + ".unfinished")
    try:
        unfinished.unlink(missing_ok=True)
        _make_private(unfinished)  # keys are in it, as hashes
        yield unfinished
        with unfinished.open("rb+") as file:
            os.fsync(file.fileno())
        unfinished.rename(goal)
        with contextlib.suppress(OSError):  # not every system can synchronise a folder
            _synchronise(goal.absolute().parent)
    except OSError as error:
        raise StoreError(f"cannot write {goal}: {error.strerror or error}") from None
    finally:
        for beside in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                unfinished.with_name(unfinished.name + beside).unlink(missing_ok=True)


def _make_private(path: Path) -> None:
    """Make an empty file that only its owner may read; what SQLite puts beside it is as private."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))


def _synchronise(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class SQLiteConnection(Connection):
    """One connection to a file."""

    begin_writing = "BEGIN IMMEDIATE"  # other writers wait from here on: what is read stays true
    begin_reading = "BEGIN"

    def __init__(self, path: Path, wait: float) -> None:
        self._path = path
        connect = partial(
            sqlite3.connect,
            path.as_uri() + "?mode=rw",
            uri=True,
            timeout=wait,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        # FULL: in write-ahead mode, NORMAL may lose commits that were answered.
        pragmas = ("synchronous = FULL", "fullfsync = ON", "foreign_keys = ON")
        super().__init__(connect, sqlite3.Error, [f"PRAGMA {pragma}" for pragma in pragmas])

    def _refusal(self, error: Exception) -> StoreError:
        if isinstance(error, sqlite3.ProgrammingError):
            return StoreError(f"{self._path}: the store is closed")
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in BUSY_CODES:
            return StoreLockedError(
                f"{self._path}: other processes wrote to the store all the time; try again, "
                "or wait for longer (kh.Store(..., wait=seconds))"
            )
        if code in DAMAGED_CODES:
            return StoreDamagedError(
                f"{self._path} is damaged, or no database of SQLite ({error}): go back to a backup"
            )
        return StoreError(f"{self._path}: {error}")
