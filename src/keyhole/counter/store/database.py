"""What the store needs of a database, and which one an address means."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from importlib.resources import files
from typing import Any, Protocol

from keyhole.errors import StoreDamagedError, StoreError

Row = tuple[Any, ...]


class Connection(Protocol):
    """One connection, used by one thread at a time. Values stand for `?` in the SQL.

    Whatever goes wrong is a StoreError: StoreLockedError if others did not finish in time,
    StoreDamagedError if the file is not sound.
    """

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """All rows of a query."""

    def run(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run a statement; how many rows it changed."""

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each of these rows of values."""

    def writing(self) -> AbstractContextManager[None]:
        """A transaction that writes: committed, and on disk, when its block ends without error."""

    def reading(self) -> AbstractContextManager[None]:
        """A transaction that sees the database as it is now, whatever others write meanwhile."""

    def roll_back(self) -> None:
        """Undo the transaction that is open, if there is one; never fails."""

    def close(self) -> None:
        """Close it; never fails."""


@contextlib.contextmanager
def transaction(connection: Connection, begin: str, end: str) -> Iterator[None]:
    """From one statement to another; undone if anything goes wrong between them, or at the end."""
    connection.run(begin)
    try:
        yield
        connection.run(end)
    except BaseException:
        connection.roll_back()
        raise


class Database(Protocol):
    """A database that a store can be kept in: one small file each, `sqlite.py`, `postgres.py`."""

    @property
    def name(self) -> str:
        """What to call it in front of a person; no password in it."""

    @property
    def row_lock(self) -> str:
        """What to add to a SELECT so that other writers wait for this transaction."""

    def connect(self) -> Connection:
        """A new connection."""

    def migrate(self, create: bool) -> None:
        """Bring the tables up to date, or make them; StoreError where there is no store."""

    def backup(self, path: str) -> None:
        """Write a copy of everything to a new file, or refuse and say what does that."""

    def check(self, connection: Connection) -> None:
        """StoreDamagedError if the database itself finds that it is damaged."""

    def shrink(self) -> None:
        """Give free space back to the system."""

    def refuse_if_replaced(self) -> None:
        """StoreError if connections that are open no longer lead to this database."""


def open_database(url: str, wait: float) -> Database:
    """The database that an address means: `postgresql://...`, else a file of SQLite."""
    if url.startswith(("postgresql://", "postgres://")):
        from keyhole.counter.store.postgres import Postgres

        return Postgres(url, wait)
    from keyhole.counter.store.sqlite import SQLite

    return SQLite(url.removeprefix("sqlite:///"), wait)


def scripts(dialect: str) -> list[str]:
    """The migrations, oldest first: numbered files of SQL."""
    folder = files("keyhole.counter.store").joinpath("schema", dialect)
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [folder.joinpath(name).read_text(encoding="utf-8") for name in names]


def up_to_date(connection: Connection, dialect: str, tables: Sequence[str]) -> bool:
    """Whether there is nothing to migrate; looked up first, for that waits for nobody."""
    return "kh_version" in tables and connection.rows("SELECT version FROM kh_version") == [
        (len(scripts(dialect)),)
    ]


def upgrade(connection: Connection, dialect: str, tables: Sequence[str], create: bool) -> None:
    """Run the migrations that this store has not had, in the transaction that is open.

    `tables` are those there are. Forward only; a store of a newer keyhole is refused.
    """
    steps = scripts(dialect)
    version = 0
    if "kh_version" in tables:
        found = connection.rows("SELECT version FROM kh_version")
        if len(found) != 1 or not isinstance(found[0][0], int):
            raise StoreDamagedError("the store does not say which version of its tables it has")
        version = found[0][0]
    elif not create:
        raise StoreError("there is no store of keyhole in it; `keyhole create` makes one")
    elif dialect == "sqlite" and tables:
        raise StoreError("it is a database of something else: it has tables and none is keyhole's")
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
