"""Keys: 256 random bits, shown once, kept as a hash, with roles for some learners or for all."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from types import MappingProxyType
from typing import Any

from keyhole.counter.store.arguments import checked_name, checked_who
from keyhole.counter.store.database import Connection, open_database
from keyhole.errors import ConflictError, ProblemError, StoreError, one_of, shortened

ROLES = ("read", "ask", "tell", "admin")
LOOKS_LIKE_A_KEY = re.compile(r"kh_[a-z2-7]{8}_[\w-]+")
FRESH = 1.0  # seconds for which what was read counts: so long may a revoked key still work
TABLE = """
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
COLUMNS = "id, sha256, label, grants, created_at, expires_at, revoked_at"


@dataclass(frozen=True, slots=True)
class Key:
    """A key without its secret.

    Parameters
    ----------
    id
        How it begins, `kh_...`; no secret.
    label
        What it is for.
    roles
        What it may do: "read", "ask", "tell", or "admin", which may do everything.
    learners
        For which learners; None: for all.
    created_at, expires_at, revoked_at
        In seconds since 1970.
    """

    id: str
    label: str
    roles: tuple[str, ...]
    learners: tuple[str, ...] | None
    created_at: float
    expires_at: float | None = None
    revoked_at: float | None = None

    @property
    def state(self) -> str:
        """ "valid", "expired" or "revoked"."""
        if self.revoked_at is not None:
            return "revoked"
        late = self.expires_at is not None and self.expires_at <= time.time()
        return "expired" if late else "valid"

    def may(self, roles: Collection[str], learner: str | None) -> bool:
        """Whether it has one of these roles for a learner; None: for all there are."""
        fits = "admin" in self.roles or not set(roles).isdisjoint(self.roles)
        return fits and (self.learners is None or learner in self.learners)


class KeyRing:
    """The keys of a store, in a table of the same database.

    What was read last counts for a second, so that a request costs no query.

    Parameters
    ----------
    url
        Of the store, which must be there.
    wait
        For how many seconds to wait for others that write.
    """

    def __init__(self, url: str, *, wait: float = 30.0) -> None:
        self._database = open_database(url, wait)
        self._connection: Connection | None = None
        self._lock = Lock()
        self._by_hash: Mapping[str, Key] = MappingProxyType({})
        self._read_at = -FRESH
        self._run(_make_table)

    def create(
        self,
        roles: Sequence[str],
        learners: Sequence[str] | None = None,
        *,
        label: str = "",
        expires_in: float | None = None,
    ) -> tuple[str, Key]:
        """A new key: its secret, which nobody can look up later, and what is known about it."""
        if not roles:
            raise ProblemError(f"a key needs a role: {', '.join(ROLES)}")
        known = tuple(dict.fromkeys(one_of("role", role, ROLES) for role in roles))
        named = None if not learners else tuple(dict.fromkeys(map(checked_name, learners)))
        now = time.time()
        ends = None if expires_in is None else now + expires_in
        id = "kh_" + "".join(secrets.choice("abcdefghijklmnopqrstuvwxyz234567") for _ in range(8))
        secret = f"{id}_{secrets.token_urlsafe(32)}"
        key = Key(id, checked_who(label), known, named, now, ends)
        grants = json.dumps({"roles": known, "learners": named})
        row = (id, hashed(secret), key.label, grants, now, ends, None)
        sql = f"INSERT INTO kh_key ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"
        self._run(lambda connection: connection.run(sql, row))
        return secret, key

    def all(self) -> list[Key]:
        """Every key there ever was, the oldest first."""
        return sorted(self._refreshed(at_once=True).values(), key=lambda key: key.created_at)

    def revoke(self, id: str) -> Key:
        """Have a key stop working."""
        found = [key for key in self.all() if key.id == id]
        if not found:
            raise ProblemError(f"there is no key {shortened(id)}: `keyhole keys list` shows them")
        if found[0].state == "revoked":
            raise ConflictError(f"the key {id} was revoked before")
        sql = "UPDATE kh_key SET revoked_at = ? WHERE id = ?"
        self._run(lambda connection: connection.run(sql, (time.time(), id)))
        return next(key for key in self.all() if key.id == id)

    def find(self, hash: str) -> Key | None:
        """The key of this hash, if it is valid."""
        key = self._refreshed().get(hash)
        return key if key is not None and key.state == "valid" else None

    @property
    def exists(self) -> bool:
        """Whether there was ever a key: revoking the last one does not open the door to all."""
        return bool(self._refreshed())

    @property
    def fresh(self) -> bool:
        """Whether looking a key up needs no query."""
        return time.monotonic() - self._read_at < FRESH

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._drop()

    def _refreshed(self, *, at_once: bool = False) -> Mapping[str, Key]:
        if self.fresh and not at_once:
            return self._by_hash
        sql = f"SELECT {COLUMNS} FROM kh_key"
        rows = self._run(lambda connection: connection.rows(sql), writes=False)
        self._by_hash = MappingProxyType({row[1]: _key(row) for row in rows})
        self._read_at = time.monotonic()
        return self._by_hash

    def _run(self, call: Callable[[Connection], Any], *, writes: bool = True) -> Any:
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = self._database.connect()
                connection = self._connection
                with connection.writing() if writes else connection.reading():
                    return call(connection)
            except StoreError:
                self._drop()  # the next one tries a new connection
                raise

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def hashed(secret: str) -> str:
    """How a key is kept. It is random, so nothing slower than SHA-256 is needed."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def scrubbed(text: str) -> str:
    """Text without the secrets of keys, for logs.

    >>> scrubbed("/api/kh_abcdefgh_0123-x_y?kh_abcdefgh")
    '/api/kh_abcdefgh_...?kh_abcdefgh'
    """
    return LOOKS_LIKE_A_KEY.sub(lambda found: found[0][:12] + "...", text)


def _make_table(connection: Connection) -> None:
    connection.run(TABLE)


def _key(row: Sequence[Any]) -> Key:
    grants = json.loads(row[3])
    named = grants["learners"]
    learners = None if named is None else tuple(named)
    return Key(row[0], row[2], tuple(grants["roles"]), learners, *row[4:])
