"""PostgreSQL as the database of a store, by psycopg 3: synchronous commits, locked rows."""

from __future__ import annotations

import contextlib
import re
from functools import partial
from pathlib import Path
from typing import Any

from keyhole.counter.store.backups import copy_store
from keyhole.counter.store.database import Connection, Database, SQLite, new_file
from keyhole.errors import StoreDamagedError, StoreError, StoreLockedError, without_password
from keyhole.problem.optional_imports import extra

MIGRATION_LOCK = 7_235_816_400_117  # the advisory lock of those who make or upgrade tables


class Postgres(Database):
    """A database of PostgreSQL, by its address; tables are in the first schema of its search path.

    Parameters
    ----------
    url
        `postgresql://user@host/database`; a password is better in `~/.pgpass` than here.
    wait
        For how many seconds to wait for other processes that write.
    """

    dialect = "postgres"
    list_tables = (
        "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
    )
    list_columns = (
        "SELECT column_name FROM information_schema.columns "
        "WHERE table_schema = current_schema() AND table_name = ? ORDER BY ordinal_position"
    )
    ids_given = " OVERRIDING SYSTEM VALUE"
    row_lock = " FOR UPDATE"  # one writer per learner; others wait for the end of its transaction

    def __init__(self, url: str, wait: float) -> None:
        self._driver = extra("psycopg", "postgres")
        self._refuse_malformed(url)
        self._url, self.wait = url, wait
        hidden = re.sub(r"(//[^:/@]*):[^@/]*@", r"\1@", url)
        self.name = re.sub(r"(password=)[^&]*", r"\1...", hidden)

    def _refuse_malformed(self, url: str) -> None:
        """StoreError for an address that the driver would quote from: a password may be in it.

        What is not written as %40, %2F or %3F in a password ends it, and the rest is taken for
        a host, a port or a name.
        """
        place = url.partition("://")[2].partition("?")[0]
        whole = "@" not in place.partition("/")[2] and place.count("@") <= 1
        parsed: dict[str, Any] = {}
        with contextlib.suppress(self._driver.Error, ValueError):
            parsed = self._driver.conninfo.conninfo_to_dict(url)
        ports = str(parsed.get("port", "")).split(",")
        if not (parsed and whole and all(port == "" or port.isdigit() for port in ports)):
            raise StoreError(
                f"the address {without_password(url.partition('?')[0])} cannot be read: it is like "
                "postgresql://user@host:5432/database, with @, / and ? in a password written as "
                "%40, %2F and %3F"
            )

    def connect(self) -> PostgresConnection:
        """A new connection."""
        return PostgresConnection(self._driver, self._url, self.wait, self.name)

    def backup(self, path: str) -> None:
        """Copy the store to a new file of SQLite, as it is now, while others go on."""
        with new_file(Path(path)) as unfinished:
            goal = SQLite(str(unfinished), self.wait)
            copy_store(self, goal)
            with contextlib.closing(goal.connect()) as connection:
                connection.rows("PRAGMA journal_mode = DELETE")  # one file, and no log beside it

    def after_copying(self, connection: Connection) -> None:
        """Identities begin at 1, whatever rows were given."""
        for table, column in (("kh_learner", "id"), ("kh_ticket", "number")):
            connection.rows(
                f"SELECT setval(pg_get_serial_sequence('{table}', '{column}'), max({column})) "
                f"FROM {table} HAVING max({column}) IS NOT NULL"
            )

    def _upgrade(self, connection: Connection, create: bool) -> None:
        connection.rows("SELECT pg_advisory_xact_lock(?)", (MIGRATION_LOCK,))
        super()._upgrade(connection, create)


class PostgresConnection(Connection):
    """One connection to a server."""

    # Rows are locked by those who read them FOR UPDATE.
    begin_writing = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
    begin_reading = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    mark = "%s"

    def __init__(self, driver: Any, url: str, wait: float, name: str) -> None:
        self._driver, self._name = driver, name
        timeout = max(2, int(wait))
        connect = partial(driver.connect, url, autocommit=True, connect_timeout=timeout)
        settings = (
            "SET synchronous_commit = on",
            f"SET lock_timeout = {int(wait * 1000)}",
            "SET idle_in_transaction_session_timeout = 0",
        )
        super().__init__(connect, driver.Error, settings)

    def _refusal(self, error: Exception) -> StoreError:
        errors, words = self._driver.errors, " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, (errors.LockNotAvailable, errors.DeadlockDetected)):
            return StoreLockedError(
                f"{self._name}: other processes wrote to the learner all the time; try again, or "
                "wait for longer (kh.Store(..., wait=seconds))"
            )
        if isinstance(error, (errors.DataCorrupted, errors.IndexCorrupted)):
            return StoreDamagedError(f"{self._name} is damaged: {words}")
        return StoreError(f"{self._name}: {words}")
