"""How many requests a second the store acknowledges, beside bare commits on the same disk.

    python -m benchmarks.store [--store FOLDER|postgresql://...] [--seconds 5] [--threads 1 8 32]

A round is three requests, ask, fill and tell, each acknowledged when it is on disk.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Thread

import keyhole as kh

LEARNERS = (("fixed", 20), ("auto", 42), ("auto", 200))  # and features


def bare_commits(path: Path, seconds: float) -> float:
    """Commits of one small row per second, as durable as the store's."""
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in ("journal_mode = WAL", "synchronous = FULL"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute("CREATE TABLE row (text TEXT)")
    count, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        connection.execute("INSERT INTO row VALUES ('a row')")
        count += 1
    rate = count / (time.perf_counter() - begun)
    connection.close()
    return rate


def requests(store: kh.Store, name: str, threads: int, seconds: float) -> tuple[float, float]:
    """Acknowledged requests per second, and microseconds of processor time for each."""
    counts, end = [0] * threads, time.perf_counter() + seconds

    def work(number: int) -> None:
        while time.perf_counter() < end:
            [ticket] = store.ask(name)
            store.fill(ticket.id, [1.0] * len(ticket.names))
            store.tell(ticket.id, 1.0)
            counts[number] += 3

    begun, used = time.perf_counter(), time.process_time()
    workers = [Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    took, used = time.perf_counter() - begun, time.process_time() - used
    return sum(counts) / took, used / sum(counts) * 1e6


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.store", description=__doc__)
    parser.add_argument("--store", metavar="URL", help="a folder, or postgresql://...")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 8, 32])
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=None if _remote(options.store) else options.store) as at:
        if not _remote(options.store):
            rate = bare_commits(Path(at, "bare.db"), options.seconds)
            print(f"bare commits by one thread: {rate:,.0f} per second\n")
        print("| learner | features | threads | requests/s | per commit | CPU us each |")
        print("|---|---|---|---|---|---|")
        for kind, d in LEARNERS:
            url = options.store if _remote(options.store) else Path(at, f"{kind}-{d}.db")
            _measure(url, kind, d, options.threads, options.seconds)
    return 0


def _remote(url: str | None) -> bool:
    return url is not None and "://" in url


def _measure(url: str | Path, kind: str, d: int, threads: Sequence[int], seconds: float) -> None:
    name = f"{kind}-{time.time_ns()}"
    with kh.Store(url) as store:
        store.create(name, kh.Problem(d=d, k=4, budget=8), kind)
        store.load(name)
        for many in threads:
            before = store.commits
            rate, used = requests(store, name, many, seconds)
            groups, done = (b - a for a, b in zip(before, store.commits, strict=True))
            each = done / max(1, groups)
            print(f"| {kind} | {d} | {many} | {rate:,.0f} | {each:.1f} | {used:,.0f} |", flush=True)
    begun = time.process_time()
    with kh.Store(url) as store:
        store.learner(name)
        woken = time.process_time() - begun
        begun = time.process_time()
        events = store.verify(name)[name]
        took = time.process_time() - begun
    print(f"  {kind}, {d}: woken in {woken * 1e3:,.0f} ms, {events / took:,.0f} events/s replayed")


if __name__ == "__main__":
    sys.exit(main())
