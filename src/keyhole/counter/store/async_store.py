"""The store for programs that await: requests are left with one thread, which writes for all."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from threading import Event, Lock, Thread

from keyhole.counter.store.counter import Store
from keyhole.counter.store.records import StoredTicket
from keyhole.counter.store.requests import Request
from keyhole.errors import StoreError


class AsyncStore:
    """Requests (`store/verbs.py` makes them) done for the coroutines of one event loop.

    `await answer(request)` gives the tickets when they are on disk, as the calls of `Store` do,
    without a thread for each: what comes while the disk is busy is the next group. A coroutine that
    is cancelled has its request done all the same, as a client that hangs up has.

    The thread starts with the first request; `close` ends it when nothing is waiting.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self._wake, self._lock, self._closed = Event(), Lock(), False
        self._open: dict[Request, asyncio.Future[None]] = {}
        self._done: deque[Request] = deque()

    async def answer(self, request: Request) -> list[StoredTicket]:
        """Have a request done; its tickets."""
        if self._closed:
            raise StoreError("the store is closed")
        loop = asyncio.get_running_loop()
        if self._thread is None:
            self._loop = loop
            self._thread = Thread(target=self._work, name="keyhole writer", daemon=True)
            self._thread.start()
        future: asyncio.Future[None] = loop.create_future()
        request.then, self._open[request] = self._finished, future
        self._store._writer.queue(request)
        self._wake.set()
        await future
        if request.error is not None:
            raise request.error
        if request.replies is None:  # done before, under the same key: they are read anew
            return await asyncio.to_thread(self._store._replies, request)
        return request.replies

    def close(self) -> None:
        """End the thread, when what is waiting is done; safe to call again."""
        self._closed = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            while self._store._writer.waiting:
                self._store._writer.work()
            if self._closed:
                return

    def _finished(self, request: Request) -> None:
        """Called for each request of a group, in the thread that wrote it: one call for all."""
        with self._lock:
            first = not self._done
            self._done.append(request)
        if first and self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended, nobody waits
                self._loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        """In the loop: let those go on whose requests are done."""
        with self._lock:
            done, self._done = self._done, deque()
        for request in done:
            future = self._open.pop(request)
            if not future.done():
                future.set_result(None)
