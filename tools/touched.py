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

    def pytest_runtest_setup(self) -> None:
        """No test begins when the total is spent."""
        if time.monotonic() > self.end:
            pytest.skip("there is no time left")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Trace a test. A failure says no more than that: reports of it may fail themselves."""
        self.lines, began = set(), time.monotonic()
        signal.signal(signal.SIGALRM, _too_slow)
        signal.setitimer(signal.ITIMER_REAL, self.seconds)
        sys.settrace(self.enter)
        try:
            result = yield
        except (Exception, pytest.skip.Exception):
            return None
        finally:
            sys.settrace(None)
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        lines: dict[str, list[int]] = {}
        for file, line in sorted(self.lines):
            lines.setdefault(self.files[file], []).append(line)
        if lines:
            self.found[item.nodeid] = {"seconds": time.monotonic() - began, "lines": lines}
        return result

    def pytest_sessionfinish(self) -> None:
        """Write everything down."""
        self.out.write_text(json.dumps(self.found))


def _too_slow(signum: int, frame: FrameType | None) -> None:
    pytest.skip("it takes too long")


def pytest_configure(config: pytest.Config) -> None:
    """Begin."""
    config.pluginmanager.register(Touched(**json.loads(Path("touch.json").read_text())))
