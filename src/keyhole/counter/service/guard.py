"""The guard: who sends a request, and whether they may."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from starlette.requests import HTTPConnection

from keyhole.counter.service.keys import Key, KeyRing, hashed
from keyhole.counter.service.refusals import NoKeyError, NotAllowedError
from keyhole.counter.service.sessions import COOKIE, Sessions
from keyhole.counter.service.settings import Settings, bare_host
from keyhole.errors import ProblemError

SAFE = ("GET", "HEAD", "OPTIONS")
KNOWN = "keyhole.who"  # where the door leaves what it has found out
BODY = "keyhole.body"  # and what it has read
LONGEST_WHO = 150  # characters: the id of the key is added, and a store takes 200


@dataclass(frozen=True, slots=True)
class Who:
    """Who sends a request: somebody with a key, or somebody at this machine where none is needed.

    `explicit` says that the key came with the request itself, and not by a cookie, which a browser
    sends along whoever asks it to.
    """

    key: Key | None = None
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
        if len(given) > LONGEST_WHO:
            raise ProblemError(f"who must be at most {LONGEST_WHO} characters, got {len(given)}")
        if self.key is None:
            return given
        said = given or self.key.label[:LONGEST_WHO]
        return f"{said} ({self.id})" if said else self.id

    def scoped(self, idempotency_key: str | None) -> str | None:
        """An idempotency key of their own: others may have thought of the same one."""
        if idempotency_key is None or self.key is None:
            return idempotency_key
        if len(idempotency_key) > LONGEST_WHO:
            raise ProblemError(
                f"Idempotency-Key must be at most {LONGEST_WHO} characters, "
                f"got {len(idempotency_key)}"
            )
        return f"{self.id}:{idempotency_key}" if idempotency_key else ""


class Guard:
    """Decides who may do what.

    Parameters
    ----------
    ring
        The keys.
    settings
        Whether this machine is all that can reach the service: then it works without keys, until
        the first one is made.
    """

    def __init__(self, ring: KeyRing, settings: Settings) -> None:
        self.ring, self.sessions = ring, Sessions()
        self._local = settings.local

    @property
    def keys_are_on(self) -> bool:
        """Whether requests need a key."""
        return not self._local or self.ring.exists

    def identify(self, request: HTTPConnection) -> Who:
        """Who sends a request; NoKeyError if that takes a key and there is none that is valid."""
        if not self.keys_are_on:
            return Who()
        secret = _bearer(request)
        if secret is not None:
            key, how = self.ring.find(hashed(secret)), "this key"
        else:
            cookie = request.cookies.get(COOKIE)
            if cookie is None:
                raise NoKeyError("a key is needed: send it as `Authorization: Bearer kh_...`")
            hash, how = self.sessions.key_hash(cookie), "the key of this session"
            key = None if hash is None else self.ring.find(hash)
        if key is None:
            raise NoKeyError(f"{how} is not known, has expired or was revoked")
        return Who(key, explicit=secret is not None)

    def allow(
        self, request: HTTPConnection, role: str | Collection[str], learner: str | None = None
    ) -> Who:
        """Who sends a request, if they have this role, or one of several, for a learner.

        Without a learner they need it for some learner at least. NoKeyError or NotAllowedError if
        they have not, or if a page of another site made their browser send it.
        """
        who = known(request)
        if who is None:
            who = self.identify(request)
        self.refuse_cross_site(request, who)
        roles = (role,) if isinstance(role, str) else tuple(role)
        fits = who.may_somewhere(roles) if learner is None else who.may(roles, learner)
        if not fits:
            raise _lacks(who, roles, learner)
        return who

    def allow_all(self, request: HTTPConnection, role: str | Collection[str]) -> Who:
        """The same for what concerns all learners at once."""
        who = self.allow(request, role)
        roles = (role,) if isinstance(role, str) else tuple(role)
        if not who.may(roles, None):
            raise NotAllowedError(f"the key {who.id} is for some learners; this concerns all")
        return who

    def refuse_cross_site(self, request: HTTPConnection, who: Who) -> None:
        """NotAllowedError for a change that a page of another site asked a browser for.

        A key in the request proves that the sender meant it. A cookie does not, nor does being on
        this machine, so then the browser must say that the page was ours. Programs without a
        browser say nothing, and need a key or no cookie.
        """
        if request.scope.get("method", "GET") in SAFE or who.explicit:
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
        hash = hashed(secret.strip())
        if self.ring.find(hash) is None:
            raise NoKeyError("this key is not known, has expired or was revoked")
        return self.sessions.begin(hash)


def known(request: HTTPConnection) -> Who | None:
    """Who sends a request, if the door has found out already."""
    found: Who | None = request.scope.get(KNOWN)
    return found


def _bearer(request: HTTPConnection) -> str | None:
    header = request.headers.get("authorization")
    if header is None:
        return None
    scheme, _, secret = header.partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise NoKeyError("the Authorization header must be `Bearer kh_...`")
    return secret.strip()


def _lacks(who: Who, roles: Collection[str], learner: str | None) -> NotAllowedError:
    where = "" if learner is None else f" for {learner!r}"
    return NotAllowedError(f"the key {who.id} does not have the role {' or '.join(roles)}{where}")
