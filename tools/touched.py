"""A pytest plugin that writes down which lines of some files each test runs, and how long it takes.

    echo '{"files": [...], "seconds": 5, "total": 100, "out": "touched.json"}' >touch.json
    pytest -p tools.touched

Lines of C are those that gcov counts in a library made for that (`tools/library.py`).
Tests that fail, take longer, or come when the total is spent are left out. Lines of files that are
run while they are imported belong to no test.
"""

from __future__ import annotations

import ctypes
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest


class Touched:
    """What the tests touched so far: seconds, and lines file by file."""

    def __init__(
        self,
        files: list[str],
        seconds: float,
        total: float,
        out: str,
        library: str,
        watched: dict[str, str],
    ) -> None:
        self.files = {str(Path(file).resolve()): file for file in files}
        self.seconds, self.out = seconds, Path(out)
        self.end = time.monotonic() + total
        self.lines: set[tuple[str, int]] = set()
        self.found: dict[str, Any] = {}
        self.library, self.watched = ctypes.CDLL(library) if library else None, watched

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
        if self.library:
            self.library.kh_reset()
        sys.settrace(self.enter)
        threading.settrace(self.enter)  # of threads that begin from now on
        try:
            result = yield
        except (Exception, pytest.skip.Exception):
            return None
        finally:
            sys.settrace(None)
            threading.settrace(None)
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        lines: dict[str, list[int]] = {}
        for file, line in sorted(self.lines):
            lines.setdefault(self.files[file], []).append(line)
        seconds = time.monotonic() - began
        lines |= self.lines_of_c()
        if lines:
            self.found[item.nodeid] = {"seconds": seconds, "lines": lines}
        return result

    def lines_of_c(self) -> dict[str, list[int]]:
        """The lines of C that were run since the last reset, of each source that is watched."""
        if not self.library:
            return {}
        self.library.kh_dump()
        found: dict[str, list[int]] = {}
        for name, data in self.watched.items():
            if Path(data).exists():
                call = ["gcov", "--json-format", "--stdout", data]
                told = json.loads(subprocess.run(call, capture_output=True, check=True).stdout)
                counts = [c for f in told["files"] if f["file"].endswith(name) for c in f["lines"]]
                ran = [int(c["line_number"]) for c in counts if c["count"]]
                found |= {name: ran} if ran else {}
                Path(data).unlink()
        return found

    def pytest_sessionfinish(self) -> None:
        """Write everything down."""
        self.out.write_text(json.dumps(self.found))


def _too_slow(signum: int, frame: FrameType | None) -> None:
    pytest.skip("it takes too long")


def pytest_configure(config: pytest.Config) -> None:
    """Begin."""
    config.pluginmanager.register(Touched(**json.loads(Path("touch.json").read_text())))
