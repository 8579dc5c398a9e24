"""A store in PostgreSQL, by psycopg 3: every commit synchronous, learners locked by their row."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from keyhole.counter.store.database import Connection, SqlRow, transaction, up_to_date, upgrade
from keyhole.errors import StoreDamagedError, StoreError, StoreLockedError
from keyhole.problem.optional_imports import extra

MIGRATION_LOCK = 7_235_816_400_117  # the advisory lock of those who make or upgrade tables


class Postgres:
    """A database of PostgreSQL, by its address; tables are in the first schema of its search path.

    Parameters
    ----------
    url
        `postgresql://user@host/database`; a password is better in `~/.pgpass` than here.
    wait
        For how many seconds to wait for other processes that write.
    """

    row_lock = " FOR UPDATE"  # one writer per learner; others wait for the end of its transaction

    def __init__(self, url: str, wait: float) -> None:
        self._driver = extra("psycopg", "postgres")
        self._url, self.wait = url, wait

    @property
    def name(self) -> str:
        """The address, without a password."""
        hidden = re.sub(r"(//[^:/@]*):[^@/]*@", r"\1@", self._url)
        return re.sub(r"(password=)[^&]*", r"\1...", hidden)

    def connect(self) -> PostgresConnection:
        """A new connection."""
        return PostgresConnection(self._driver, self._url, self.wait, self.name)

    def migrate(self, create: bool) -> None:
        """Make the tables, or bring them up to date."""
        connection = self.connect()
        try:
            if not up_to_date(connection, "postgres", _tables(connection)):
                with connection.writing():
                    connection.rows("SELECT pg_advisory_xact_lock(?)", (MIGRATION_LOCK,))
                    upgrade(connection, "postgres", _tables(connection), create)
        except StoreError as error:
            if str(error).startswith(self.name):
                raise
            raise type(error)(f"{self.name}: {error}") from None
        finally:
            connection.close()

    def backup(self, path: str) -> None:
        """Refused: the server has a better tool."""
        raise StoreError(
            f"a backup of {self.name} is the server's: run pg_dump; "
            "store.export(name, path) writes one learner"
        )

    def check(self, connection: Connection) -> None:
        """Nothing: the server checks its pages as it reads them."""

    def shrink(self) -> None:
        """Nothing: the server vacuums by itself."""

    def refuse_if_replaced(self) -> None:
        """Nothing: a server does not go away unnoticed."""


def _tables(connection: Connection) -> list[str]:
    found = connection.rows(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
    )
    return [name for (name,) in found]


class PostgresConnection:
    """One connection to a server."""

    def __init__(self, driver: Any, url: str, wait: float, name: str) -> None:
        self._driver, self._name = driver, name
        self._raw: Any = None
        with self._refusing():
            self._raw = driver.connect(url, autocommit=True, connect_timeout=max(2, int(wait)))
            self._raw.execute("SET synchronous_commit = on")
            self._raw.execute(f"SET lock_timeout = {int(wait * 1000)}")
            self._raw.execute("SET idle_in_transaction_session_timeout = 0")

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[SqlRow]:
        """All rows of a query."""
        with self._refusing():
            found: list[SqlRow] = self._execute(sql, values).fetchall()
            return found

    def run(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run a statement; how many rows it changed."""
        with self._refusing():
            return int(self._execute(sql, values).rowcount)

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each row of values."""
        with self._refusing(), self._raw.cursor() as cursor:
            cursor.executemany(sql.replace("?", "%s"), rows)

    def writing(self) -> AbstractContextManager[None]:
        """BEGIN; rows are locked by those who read them FOR UPDATE."""
        return transaction(self, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", "COMMIT")

    def reading(self) -> AbstractContextManager[None]:
        """One view of the database for all that is read."""
        return transaction(self, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "ROLLBACK")

    def roll_back(self) -> None:
        """Undo what is open."""
        with contextlib.suppress(self._driver.Error):
            self._raw.execute("ROLLBACK")

    def close(self) -> None:
        """Close it."""
        with contextlib.suppress(self._driver.Error):
            if self._raw is not None:
                self._raw.close()

    def _execute(self, sql: str, values: Sequence[Any]) -> Any:
        # Without values, psycopg takes SQL as it is; with them, % would have to be doubled.
        return (
            self._raw.execute(sql.replace("?", "%s"), values) if values else self._raw.execute(sql)
        )

    @contextlib.contextmanager
    def _refusing(self) -> Iterator[None]:
        errors = self._driver.errors
        try:
            yield
        except (errors.LockNotAvailable, errors.DeadlockDetected):
            raise StoreLockedError(
                f"{self._name}: other processes wrote to the learner all the time; try again, or "
                "wait for longer (kh.Store(..., wait=seconds))"
            ) from None
        except (errors.DataCorrupted, errors.IndexCorrupted) as error:
            raise StoreDamagedError(f"{self._name} is damaged: {_line(error)}") from None
        except self._driver.Error as error:
            raise StoreError(f"{self._name}: {_line(error)}") from None


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
