"""Access control of the HTTP service: API keys, sessions, roles, rate limits, open tickets."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from keyhole.counter.service.errors import NoKeyError, NotAllowedError, TooManyError
from keyhole.counter.service.settings import ServiceSettings, bare_host
from keyhole.counter.store import Store, StoredTicket
from keyhole.counter.store.backups import CREATE_KEY_TABLE
from keyhole.counter.store.database import Connection, SharedConnection, open_database
from keyhole.counter.store.records import checked_name, checked_who, moment
from keyhole.errors import ConflictError, ProblemError, one_of, shortened

if TYPE_CHECKING:  # keys are made without the extra `serve`
    from starlette.requests import HTTPConnection

ROLES = ("read", "ask", "tell", "admin")
ANY_ROLE = ("read", "ask", "tell")  # whoever has none of them sees nothing of a learner
SECRET_PATTERN = re.compile(r"kh_[a-z2-7]{8}_[\w-]+")
KEY_CACHE_SECONDS = 1.0  # so long may a key that was revoked still work
KEY_COLUMNS = "id, sha256, label, grants, created_at, expires_at, revoked_at"


@dataclass(frozen=True, slots=True)
class ApiKey:
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
    damaged
        Whether its row cannot be read; then it may do nothing.
    """

    id: str
    label: str
    roles: tuple[str, ...]
    learners: tuple[str, ...] | None
    created_at: float
    expires_at: float | None = None
    revoked_at: float | None = None
    damaged: bool = False

    @property
    def state(self) -> str:
        """ "valid", "expired", "revoked" or "damaged"."""
        if self.damaged:
            return "damaged"
        if self.revoked_at is not None:
            return "revoked"
        late = self.expires_at is not None and self.expires_at <= time.time()
        return "expired" if late else "valid"

    def may(self, roles: Collection[str], learner: str | None) -> bool:
        """Whether it has one of these roles for a learner; None: for all there are."""
        fits = "admin" in self.roles or not set(roles).isdisjoint(self.roles)
        return fits and (self.learners is None or learner in self.learners)


class ApiKeys:
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
        self._shared = SharedConnection(open_database(url, wait))
        self._by_hash: Mapping[str, ApiKey] = MappingProxyType({})
        self._read_at = -KEY_CACHE_SECONDS
        self._run(lambda connection: connection.run(CREATE_KEY_TABLE))

    def create(
        self,
        roles: Sequence[str],
        learners: Sequence[str] | None = None,
        *,
        label: str = "",
        expires_in: float | None = None,
    ) -> tuple[str, ApiKey]:
        """A new key: its secret, which nobody can look up later, and what is known about it."""
        if not roles:
            raise ProblemError(f"a key needs a role: {', '.join(ROLES)}")
        known = tuple(dict.fromkeys(one_of("role", role, ROLES) for role in roles))
        named = None if not learners else tuple(dict.fromkeys(map(checked_name, learners)))
        now = time.time()
        ends = None if expires_in is None else now + expires_in
        id = "kh_" + "".join(secrets.choice("abcdefghijklmnopqrstuvwxyz234567") for _ in range(8))
        secret = f"{id}_{secrets.token_urlsafe(32)}"
        key = ApiKey(id, checked_who(label), known, named, now, ends)
        grants = json.dumps({"roles": known, "learners": named})
        row = (id, hash_secret(secret), key.label, grants, now, ends, None)
        sql = f"INSERT INTO kh_key ({KEY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"
        self._run(lambda connection: connection.run(sql, row))
        return secret, key

    def all(self) -> list[ApiKey]:
        """Every key there ever was, the oldest first."""
        return sorted(self._refreshed(at_once=True).values(), key=lambda key: key.created_at)

    def revoke(self, id: str) -> ApiKey:
        """Have a key stop working."""
        found = [key for key in self.all() if key.id == id]
        if not found:
            raise ProblemError(f"there is no key {shortened(id)}: `keyhole keys list` shows them")
        if found[0].state == "revoked":
            raise ConflictError(f"the key {id} was revoked before")
        sql = "UPDATE kh_key SET revoked_at = ? WHERE id = ?"
        self._run(lambda connection: connection.run(sql, (time.time(), id)))
        return next(key for key in self.all() if key.id == id)

    def find(self, hash: str) -> ApiKey | None:
        """The key of this hash, if it is valid."""
        key = self._refreshed().get(hash)
        return key if key is not None and key.state == "valid" else None

    @property
    def exists(self) -> bool:
        """Whether there was ever a key: revoking the last one does not let everybody in."""
        return bool(self._refreshed())

    @property
    def fresh(self) -> bool:
        """Whether looking a key up needs no query."""
        return time.monotonic() - self._read_at < KEY_CACHE_SECONDS

    def close(self) -> None:
        """Close the connection."""
        self._shared.reset()

    def _refreshed(self, *, at_once: bool = False) -> Mapping[str, ApiKey]:
        if self.fresh and not at_once:
            return self._by_hash
        sql = f"SELECT {KEY_COLUMNS} FROM kh_key"
        rows = self._run(lambda connection: connection.rows(sql), writes=False)
        self._by_hash = MappingProxyType({row[1]: _key(row) for row in rows})
        self._read_at = time.monotonic()
        return self._by_hash

    def _run(self, call: Callable[[Connection], Any], *, writes: bool = True) -> Any:
        with (
            self._shared.connected() as connection,
            connection.writing() if writes else connection.reading(),
        ):
            return call(connection)


def hash_secret(secret: str) -> str:
    """How a key is kept. It is random, so nothing slower than SHA-256 is needed."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def redacted(text: str) -> str:
    """Text without the secrets of keys, for logs.

    >>> redacted("/api/kh_abcdefgh_0123-x_y?kh_abcdefgh")
    '/api/kh_abcdefgh_...?kh_abcdefgh'
    """
    return SECRET_PATTERN.sub(lambda found: found[0][:12] + "...", text)


def _key(row: Sequence[Any]) -> ApiKey:
    """A key from its row; one that cannot be read may do nothing, and the others what they may."""
    id, _, label, grants, created_at, *ends = row
    try:
        given = json.loads(grants)
        named = given["learners"]
        learners = None if named is None else tuple(map(checked_name, named))
        roles = tuple(one_of("role", role, ROLES) for role in given["roles"])
        for time_of in (float(created_at), *ends):
            moment(time_of)
        return ApiKey(id, checked_who(label), roles, learners, created_at, *ends)
    except Exception:
        return ApiKey(str(id), str(label), (), (), 0.0, damaged=True)


COOKIE = "keyhole_session"
SESSION_SECONDS = 12 * 3600.0
MAX_SESSIONS = 10_000  # of all keys; then the oldest ends


class Sessions:
    """Which cookie stands for which key, by hashes of both: neither can be read from here."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[str, float]] = {}
        self._lock = Lock()

    def begin(self, key_hash: str) -> str:
        """A new cookie for a key."""
        cookie = secrets.token_urlsafe(32)
        with self._lock:
            now = time.monotonic()
            self._open = {name: held for name, held in self._open.items() if held[1] > now}
            while len(self._open) >= MAX_SESSIONS:
                del self._open[next(iter(self._open))]
            self._open[hash_secret(cookie)] = (key_hash, now + SESSION_SECONDS)
        return cookie

    def key_hash(self, cookie: str) -> str | None:
        """The hash of the key a cookie stands for, None for one that is unknown or too old."""
        held = self._open.get(hash_secret(cookie))
        return None if held is None or held[1] <= time.monotonic() else held[0]

    def end(self, cookie: str) -> None:
        """Forget a cookie."""
        with self._lock:
            self._open.pop(hash_secret(cookie), None)


SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
WHO_IN_SCOPE = "keyhole.who"  # where the middleware leaves who sends the request
BODY_IN_SCOPE = "keyhole.body"  # and what it has read
MAX_WHO_LENGTH = 150  # characters: the id of the key is added, and a store takes 200


@dataclass(frozen=True, slots=True)
class Principal:
    """Who sends a request: somebody with a key, or somebody at this machine where none is needed.

    `explicit` says that the key came with the request itself, and not by a cookie, which a browser
    sends along whoever asks it to.
    """

    key: ApiKey | None = None
    explicit: bool = False

    @property
    def id(self) -> str:
        """The id of the key, empty without one."""
        return "" if self.key is None else self.key.id

    @property
    def name(self) -> str:
        """What to call them, in the log and on pages; empty without a key."""
        return self.signed()

    def may(self, roles: Collection[str], learner: str | None) -> bool:
        """Whether they have one of these roles for a learner; None: for all there are."""
        return self.key is None or self.key.may(roles, learner)

    def may_somewhere(self, roles: Collection[str]) -> bool:
        """Whether they have one of these roles for some learner at least."""
        return self.key is None or self.key.may(roles, next(iter(self.key.learners or ()), None))

    def signed(self, given: str = "") -> str:
        """What the log says about who it was: what they say themselves, and the id of their key."""
        if len(given) > MAX_WHO_LENGTH:
            raise ProblemError(f"who must be at most {MAX_WHO_LENGTH} characters, got {len(given)}")
        if self.key is None:
            return given
        said = given or self.key.label[:MAX_WHO_LENGTH]
        return f"{said} ({self.id})" if said else self.id

    def scoped(self, idempotency_key: str | None) -> str | None:
        """An idempotency key of their own: others may have thought of the same one."""
        if idempotency_key is None or self.key is None:
            return idempotency_key
        if len(idempotency_key) > MAX_WHO_LENGTH:
            raise ProblemError(
                f"Idempotency-Key must be at most {MAX_WHO_LENGTH} characters, "
                f"got {len(idempotency_key)}"
            )
        return f"{self.id}:{idempotency_key}" if idempotency_key else ""


class AccessControl:
    """Decides who may do what.

    Parameters
    ----------
    keys
        The API keys.
    settings
        Whether this machine is all that can reach the service: then it works without keys, until
        the first one is made.
    """

    def __init__(self, keys: ApiKeys, settings: ServiceSettings) -> None:
        self.keys, self.sessions = keys, Sessions()
        self._local = settings.local

    @property
    def keys_are_on(self) -> bool:
        """Whether requests need a key."""
        return not self._local or self.keys.exists

    def authenticate(self, request: HTTPConnection) -> Principal:
        """Who sends a request; NoKeyError if that takes a key and there is none that is valid."""
        if not self.keys_are_on:
            return Principal()
        secret = _bearer(request)
        if secret is not None:
            key, how = self.keys.find(hash_secret(secret)), "this key"
        else:
            cookie = request.cookies.get(COOKIE)
            if cookie is None:
                raise NoKeyError("a key is needed: send it as `Authorization: Bearer kh_...`")
            hash, how = self.sessions.key_hash(cookie), "the key of this session"
            key = None if hash is None else self.keys.find(hash)
        if key is None:
            raise NoKeyError(f"{how} is not known, has expired or was revoked")
        return Principal(key, explicit=secret is not None)

    def authorize(
        self,
        request: HTTPConnection,
        role: str | Collection[str],
        learner: str | None = None,
        *,
        all_learners: bool = False,
    ) -> Principal:
        """Who sends a request, if they have this role, or one of several, for a learner.

        Without a learner they need it for some learner at least, or for all of them. NoKeyError or
        NotAllowedError if they have not, or if a page of another site made their browser send it.
        """
        who = authenticated_as(request) or self.authenticate(request)
        self.refuse_cross_site(request, who)
        roles = (role,) if isinstance(role, str) else tuple(role)
        fits = who.may_somewhere(roles) if learner is None else who.may(roles, learner)
        if not fits:
            where = "" if learner is None else f" for {learner!r}"
            raise NotAllowedError(
                f"the key {who.id} does not have the role {' or '.join(roles)}{where}"
            )
        if all_learners and not who.may(roles, None):
            raise NotAllowedError(f"the key {who.id} is for some learners; this concerns all")
        return who

    def refuse_cross_site(self, request: HTTPConnection, who: Principal) -> None:
        """NotAllowedError for a change that a page of another site asked a browser for.

        A key in the request proves that the sender meant it. A cookie does not, nor does being on
        this machine, so then the browser must say that the page was ours. Programs without a
        browser say nothing, and need a key or no cookie.
        """
        if request.scope.get("method", "GET") in SAFE_METHODS or who.explicit:
            return
        site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
        if site is not None:
            same = site in ("same-origin", "none")
        elif origin is not None:
            same = origin.partition("://")[2] == request.headers.get("host", "")
            same = same and bare_host(origin.partition("://")[2]) is not None
        else:
            same = who.key is None
        if not same:
            raise NotAllowedError("the request comes from a page of another site")

    def log_in(self, secret: str) -> str:
        """A cookie for a key; NoKeyError if it is not valid."""
        hash = hash_secret(secret.strip())
        if self.keys.find(hash) is None:
            raise NoKeyError("this key is not known, has expired or was revoked")
        return self.sessions.begin(hash)


def authenticated_as(request: HTTPConnection) -> Principal | None:
    """Who sends a request, if the middleware has found out already."""
    found: Principal | None = request.scope.get(WHO_IN_SCOPE)
    return found


def _bearer(request: HTTPConnection) -> str | None:
    header = request.headers.get("authorization")
    if header is None:
        return None
    scheme, _, secret = header.partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise NoKeyError("the Authorization header must be `Bearer kh_...`")
    return secret.strip()


RECOUNT_SECONDS, RECOUNT_AT_LAST = 5.0, 60.0


class RateLimit:
    """So many requests per second and key, and twice as many at once: a bucket for each key."""

    def __init__(self, rate: float) -> None:
        self._rate, self._most = rate, 2 * rate
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str, now: float | None = None) -> None:
        """Count a request of this key, or a TooManyError."""
        now = time.monotonic() if now is None else now
        left, then = self._left.get(key, (self._most, now))
        left = min(self._most, left + (now - then) * self._rate)
        if left < 1.0:
            raise TooManyError(
                f"more than {self._rate:g} requests per second with one key: slow down, or ask for "
                "many tickets in one request"
            )
        self._left[key] = (left - 1.0, now)
        self._left.move_to_end(key)
        while len(self._left) > 10_000:
            self._left.popitem(last=False)


class OpenTickets:
    """How many tickets each key has open. Whose a ticket is, its `who` says: see `owner_of`.

    Counted in memory. Other processes may open and close tickets too, so the store is asked every
    minute, and when the cap seems reached, at most every few seconds.
    """

    def __init__(self, store: Store, cap: int) -> None:
        self._store, self._cap = store, cap
        self._open: dict[str, set[str]] = {}
        self._kept: dict[object, tuple[str, int]] = {}  # places, by the request that is under way
        self._counted_at = -math.inf
        self._lock = Lock()

    def must_recount(self, key: str, count: int) -> bool:
        """Whether the store must be asked before so many more."""
        age = time.monotonic() - self._counted_at
        return age > RECOUNT_AT_LAST or (age > RECOUNT_SECONDS and self._full(key, count))

    def recount(self, key: str, count: int) -> None:
        """Ask the store, if that must be."""
        with self._lock:
            if self.must_recount(key, count):
                self._open, self._counted_at = {}, time.monotonic()
                for id, who in self._store.open_tickets():
                    self._open.setdefault(owner_of(who), set()).add(id)

    @contextlib.contextmanager
    def places(self, key: str) -> Iterator[Callable[[int], None]]:
        """What a request calls in its transaction, with how many tickets it is about to open.

        It is a TooManyError if this key may not have so many more; else places are kept until the
        block ends, by when `update` has been told: of requests at the same time none slips by.
        """
        request = object()

        def keep(count: int) -> None:
            with self._lock:
                self._kept.pop(request, None)  # an attempt before this one counts for nothing
                if self._full(key, count):
                    raise TooManyError(
                        f"this key has {self._many(key):,} tickets open and may have "
                        f"{self._cap:,}: tell their labels or drop them before it asks for {count}"
                    )
                self._kept[request] = key, count

        try:
            yield keep
        finally:
            with self._lock:
                self._kept.pop(request, None)

    def update(self, tickets: list[StoredTicket]) -> None:
        """Take notice of tickets as they are now."""
        with self._lock:
            for ticket in tickets:
                mine = self._open.setdefault(owner_of(ticket.who), set())
                (mine.add if ticket.open else mine.discard)(ticket.id)

    def _many(self, key: str) -> int:
        kept = sum(count for owner, count in [*self._kept.values()] if owner == key)
        return len(self._open.get(key, ())) + kept

    def _full(self, key: str, count: int) -> bool:
        return self._many(key) + count > self._cap


def owner_of(who: str) -> str:
    """The id of the key that a `who` ends with, empty if there is none.

    >>> owner_of("ward 3 (kh_abcdefgh)"), owner_of("kh_abcdefgh"), owner_of("ward 3")
    ('kh_abcdefgh', 'kh_abcdefgh', '')
    """
    last = who.rpartition(" ")[2].strip("()")
    return last if last.startswith("kh_") else ""
