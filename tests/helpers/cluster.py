"""A Dask cluster as people start one by hand: a scheduler and workers, each a program."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from keyhole.problem.optional_imports import extra

SECONDS = 60.0


@dataclass
class Programs:
    """`dask scheduler` and its workers; `address` is what `--cluster` is told."""

    address: str
    folder: Path
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def worker(self, environment: Mapping[str, str] | None = None, *options: str) -> int:
        """Start a worker of one process and one thread; its process id."""
        name = f"worker{len(self.running)}"
        own = ("--nworkers", "1", "--nthreads", "1", "--no-nanny", "--no-dashboard")
        place = ("--local-directory", str(self.folder), "--name", name)
        started = _start(["worker", self.address, *own, *place, *options], environment)
        self.running.append(started)
        return started.pid

    def wait_for(self, workers: int) -> None:
        """Until so many workers are there."""
        distributed = extra("distributed", "cluster")
        with distributed.Client(self.address, timeout=SECONDS, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=SECONDS)


@contextlib.contextmanager
def programs(folder: Path) -> Iterator[Programs]:
    """A scheduler without workers, on a port that is free."""
    log = folder / "scheduler.log"
    options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show")
    scheduler = _start(["scheduler", *options], None, log)
    cluster = Programs(_address(log, scheduler), folder, [scheduler])
    try:
        yield cluster
    finally:
        for process in reversed(cluster.running):
            process.kill()
            process.wait()


def _start(
    arguments: list[str], environment: Mapping[str, str] | None = None, log: Path | None = None
) -> subprocess.Popen[bytes]:
    with contextlib.ExitStack() as stack:
        out = subprocess.DEVNULL if log is None else stack.enter_context(log.open("wb"))
        return subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:]],
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
        )


def _address(log: Path, scheduler: subprocess.Popen[bytes]) -> str:
    until = time.monotonic() + SECONDS
    while time.monotonic() < until and scheduler.poll() is None:
        found = re.search(r"Scheduler at:\s+(tcp://\S+)", log.read_text())
        if found:
            return found[1]
        time.sleep(0.05)
    raise AssertionError(f"no scheduler: {log.read_text()}")
