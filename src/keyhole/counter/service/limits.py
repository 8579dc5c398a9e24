"""What is too much for one key: requests per second, and open tickets."""

from __future__ import annotations

import time
from collections import OrderedDict
from threading import Lock

from keyhole.counter.service.refusals import TooManyError
from keyhole.counter.store import Store, StoredTicket

PAGE = 1000  # tickets at a time
RECOUNT = 5.0  # seconds


class Rate:
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

    Counted in memory. Other processes may close tickets too, so when the cap seems reached the
    store is asked, at most every few seconds.
    """

    def __init__(self, store: Store, cap: int) -> None:
        self._store, self._cap = store, cap
        self._open: dict[str, set[str]] = {}
        self._counted_at = -RECOUNT
        self._lock = Lock()

    def must_count(self, key: str, count: int) -> bool:
        """Whether `room` would have to ask the store."""
        return self._counted_at < 0.0 or self._full(key, count)

    def room(self, key: str, count: int) -> None:
        """A TooManyError if this key may not have so many more."""
        with self._lock:
            if self.must_count(key, count):
                self._recount()
            if self._full(key, count):
                raise TooManyError(
                    f"this key has {len(self._open.get(key, ())):,} tickets open and may have "
                    f"{self._cap:,}: tell their labels or drop them before it asks for {count}"
                )

    def note(self, tickets: list[StoredTicket]) -> None:
        """Take notice of tickets as they are now."""
        with self._lock:
            for ticket in tickets:
                mine = self._open.setdefault(owner_of(ticket.who), set())
                (mine.add if ticket.open else mine.discard)(ticket.id)

    def _full(self, key: str, count: int) -> bool:
        return len(self._open.get(key, ())) + count > self._cap

    def _recount(self) -> None:
        now = time.monotonic()
        if now - self._counted_at < RECOUNT and self._counted_at >= 0.0:
            return
        self._open, self._counted_at = {}, now
        after: str | None = None
        while True:
            page = self._store.tickets(state="open", limit=PAGE, after=after)
            for ticket in page:
                self._open.setdefault(owner_of(ticket.who), set()).add(ticket.id)
            if len(page) < PAGE:
                return
            after = page[-1].id


def owner_of(who: str) -> str:
    """The id of the key that a `who` ends with, empty if there is none.

    >>> owner_of("ward 3 (kh_abcdefgh)"), owner_of("kh_abcdefgh"), owner_of("ward 3")
    ('kh_abcdefgh', 'kh_abcdefgh', '')
    """
    last = who.rpartition(" ")[2].strip("()")
    return last if last.startswith("kh_") else ""
