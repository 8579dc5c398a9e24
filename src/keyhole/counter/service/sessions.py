"""Sessions of browsers: a random cookie in exchange for a key. They end when the server does."""

from __future__ import annotations

import hashlib
import secrets
import time
from threading import Lock

COOKIE = "keyhole_session"
SECONDS = 12 * 3600.0
MOST = 10_000  # of all keys; then the oldest ends


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
            while len(self._open) >= MOST:
                del self._open[next(iter(self._open))]
            self._open[_hash(cookie)] = (key_hash, now + SECONDS)
        return cookie

    def key_hash(self, cookie: str) -> str | None:
        """The hash of the key a cookie stands for, None for one that is unknown or too old."""
        held = self._open.get(_hash(cookie))
        return None if held is None or held[1] <= time.monotonic() else held[0]

    def end(self, cookie: str) -> None:
        """Forget a cookie."""
        with self._lock:
            self._open.pop(_hash(cookie), None)


def _hash(cookie: str) -> str:
    return hashlib.sha256(cookie.encode("utf-8", "surrogatepass")).hexdigest()
