"""A pytest plugin that writes down which lines of some files each test runs, and how long it takes.

    echo '{"files": [...], "seconds": 5, "total": 100, "out": "touched.json"}' >touch.json
    pytest -p tools.touched

Tests that fail, take longer, or come when the total is spent are left out. Lines of files that are
run while they are imported belong to no test.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Generator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest


class Touched:
    """What the tests touched so far: seconds, and lines file by file."""

    def __init__(self, files: list[str], seconds: float, total: float, out: str) -> None:
        self.files = {str(Path(file).resolve()): file for file in files}
        self.seconds, self.out = seconds, Path(out)
        self.end = time.monotonic() + total
        self.lines: set[tuple[str, int]] = set()
        self.found: dict[str, Any] = {}

    def enter(self, frame: FrameType, event: str, argument: object) -> Any:
        """Called for every call of a function: whether its lines are of interest."""
        return self.line if frame.f_code.co_filename in self.files else None

    def line(self, frame: FrameType, event: str, argument: object) -> Any:
        """Called for every line of a function that is."""
        self.lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self.line

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Trace a test from its set-up to its end."""
        self.lines, self.failed, began = set(), False, time.monotonic()
        signal.signal(signal.SIGALRM, _too_slow)
        signal.setitimer(signal.ITIMER_REAL, self.seconds if began < self.end else 1e-3)
        sys.settrace(self.enter)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            lines: dict[str, list[int]] = {}
            for file, line in sorted(self.lines):
                lines.setdefault(self.files[file], []).append(line)
            if lines and not self.failed:
                seconds = time.monotonic() - began
                self.found[item.nodeid] = {"seconds": seconds, "lines": lines}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        """A failure says no more than that: reports of what was traced may fail themselves."""
        try:
            return (yield)
        except Exception:
            self.failed = True
            return None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember whether the test failed."""
        self.failed = self.failed or not report.passed

    def pytest_sessionfinish(self) -> None:
        """Write everything down."""
        self.out.write_text(json.dumps(self.found))


def _too_slow(signum: int, frame: FrameType | None) -> None:
    pytest.skip("it takes too long")


def pytest_configure(config: pytest.Config) -> None:
    """Begin."""
    config.pluginmanager.register(Touched(**json.loads(Path("touch.json").read_text())))
