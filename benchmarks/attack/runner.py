"""Children that may crash or hang, one case after the other, and what came of each."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.attack.outcome import FINE

PATIENCE = 20.0  # seconds for a case


@dataclass
class Tally:
    """How many cases had which outcome, and those that must not be."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[tuple[Any, str]] = field(default_factory=list)

    def add(self, case: Any, outcome: str) -> None:
        """Count one case."""
        self.counts[outcome.partition(":")[0]] += 1
        if outcome not in FINE:
            self.faults.append((case, outcome))


class Child:
    """A process that is attacked; a new one takes its place when it dies."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[str] | None = None

    def suffer(self, family: str, case: Any) -> str:
        """The outcome of one case: what the child says, "crash" or "hang"."""
        if self._process is None:
            self._start()
        child = self._process
        assert child is not None
        assert child.stdin is not None
        assert child.stdout is not None
        hung = threading.Event()

        def end() -> None:
            hung.set()
            child.kill()

        timer = threading.Timer(PATIENCE, end)
        timer.start()
        try:
            child.stdin.write(json.dumps([family, case]) + "\n")
            child.stdin.flush()
            answer = child.stdout.readline().strip()
        except BrokenPipeError:
            answer = ""
        finally:
            timer.cancel()
        if answer:
            return answer
        code = child.wait()
        self.end()
        return "hang" if hung.is_set() else f"crash: exit code {code}"

    def end(self) -> None:
        """End the process."""
        if self._process is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.communicate()
            self._process = None

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.attack.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=self._environment,
            cwd=Path(__file__).parents[2],
        )


def attack(
    family: str,
    cases: Iterable[Any],
    child: Child,
    told: Callable[[Tally], None] = lambda tally: None,
) -> Tally:
    """Have a child suffer all cases of a family, until interrupted; `told` hears of every one."""
    tally = Tally()
    with contextlib.suppress(KeyboardInterrupt):  # what came of those before counts all the same
        for case in cases:
            tally.add(case, child.suffer(family, case))
            told(tally)
    return tally
