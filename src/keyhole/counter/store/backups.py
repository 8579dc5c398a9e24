"""Backups: a whole store as a file of SQLite, and back into a database of any kind."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from keyhole.counter.store import tables
from keyhole.counter.store.database import Connection, Database, SQLite, SqlRow, open_database
from keyhole.counter.store.replay import verify
from keyhole.errors import StoreError

# Keys of the service are in the store's database, and go with it.
CREATE_KEY_TABLE = """
    CREATE TABLE IF NOT EXISTS kh_key (
      id TEXT PRIMARY KEY,
      sha256 TEXT NOT NULL UNIQUE,
      label TEXT NOT NULL,
      grants TEXT NOT NULL,
      created_at DOUBLE PRECISION NOT NULL,
      expires_at DOUBLE PRECISION,
      revoked_at DOUBLE PRECISION
    )
"""
# Every table with its primary key, and how many rows to hold in memory: snapshots can be large.
TABLES = {
    "kh_learner": (("id",), 500),
    "kh_event": (("learner", "seq"), 500),
    "kh_ticket": (("number",), 500),
    "kh_snapshot": (("learner", "seq"), 1),
    "kh_request": (("learner", "idem_key"), 500),
    "kh_key": (("id",), 500),
}


def restore(path: str, url: str, wait: float = 30.0) -> dict[str, int]:
    """Make a store from a backup; how many events of each learner were replayed to verify it.

    StoreError if there is a store already, StoreDamagedError if the backup is not sound; then
    nothing is restored.
    """
    source, goal = Path(path).absolute(), open_database(url, wait)
    if not source.is_file():
        raise StoreError(f"there is no backup at {source}")
    if isinstance(goal, SQLite):
        if goal.path.exists():
            raise StoreError(f"{goal.path} already exists: restore to a new file")
        place = goal.path.parent
    else:
        place = Path(tempfile.gettempdir())
    # A copy is looked at, and brought up to date: the backup stays as it is.
    try:
        folder = tempfile.TemporaryDirectory(prefix="keyhole-", dir=place)
    except OSError as error:
        raise StoreError(f"cannot write to {place}: {error.strerror or error}") from None
    with folder:
        copy = SQLite(str(Path(folder.name, "backup.db")), wait)
        try:
            SQLite(str(source), wait).backup(str(copy.path))
            copy.migrate(create=False)
            found = verified(copy)
        except StoreError as error:
            raise type(error)(str(error).replace(str(copy.path), str(source))) from None
        if isinstance(goal, SQLite):
            copy.backup(str(goal.path))
        else:
            copy_store(copy, goal)
    return found


def verified(database: Database) -> dict[str, int]:
    """Replay every log; how many events, by learner. StoreDamagedError if one is not sound."""
    with contextlib.closing(database.connect()) as connection, connection.reading():
        database.check(connection)
        rows = tables.find_learners(connection)
        return {row.name: verify(connection, row) for row in rows}


def copy_store(source: Database, goal: Database) -> None:
    """Copy a store, as it is at one moment, to a database that has none."""
    goal.migrate(create=True)
    with (
        contextlib.closing(source.connect()) as old,
        contextlib.closing(goal.connect()) as new,
        old.reading(),
        new.writing(),
    ):
        new.run(CREATE_KEY_TABLE)
        if any(new.rows(f"SELECT 1 FROM {table} LIMIT 1") for table in TABLES):
            raise StoreError(f"{goal.name} has learners or keys already: restore to an empty one")
        there = {name for (name,) in old.rows(source.list_tables)}
        for table in TABLES:
            if table in there:
                _copy_table(table, old, new, goal)
        goal.after_copying(new)
        for row in tables.find_learners(new):
            verify(new, row)


def _copy_table(table: str, old: Connection, new: Connection, goal: Database) -> None:
    columns = [name for (name,) in new.rows(goal.list_columns, (table,))]
    marks = ", ".join("?" for _ in columns)
    into = f"INSERT INTO {table} ({', '.join(columns)}){goal.ids_given} VALUES ({marks})"
    for page in _pages(old, table, columns):
        new.run_many(into, page)


def _pages(connection: Connection, table: str, columns: list[str]) -> Iterator[list[SqlRow]]:
    """The rows of a table, some at a time, by primary key."""
    key, size = TABLES[table]
    select, order = f"SELECT {', '.join(columns)} FROM {table}", ", ".join(key)
    ending = f"ORDER BY {order} LIMIT {size}"
    after = f"WHERE ({order}) > ({', '.join('?' for _ in key)})"
    rows = connection.rows(f"{select} {ending}")
    while rows:
        yield rows
        last = [rows[-1][columns.index(name)] for name in key]
        rows = connection.rows(f"{select} {after} {ending}", last)
