"""Run pytest many times over: each run is forked from a process that has imported what is slow.

What is imported beforehand is what the project depends on, never the project itself.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Sequence
from pathlib import Path

SLOW = (
    "pytest",
    "hypothesis.extra.numpy",
    "hypothesis.internal.conjecture.engine",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.stats",
    "tools.runner",
)


class Runner:
    """Runs pytest in a folder, in the environment of its first run."""

    def __init__(self, place: Path) -> None:
        self.place = str(place)
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(list(SLOW))

    def passes(self, arguments: Sequence[str], seconds: float | None, *, bug: bool) -> bool:
        """Whether the tests pass in time; the bytecode of a bug is not kept."""
        child = self._context.Process(target=_run, args=(self.place, list(arguments), bug))
        child.start()
        child.join(seconds)
        if child.exitcode is None:
            child.kill()
            child.join()
        return child.exitcode == 0


def _run(place: str, arguments: list[str], bug: bool) -> None:
    os.chdir(place)
    sys.dont_write_bytecode = bug
    sys.path[:0] = [f"{place}/src", place]
    ours = ("keyhole", "tools", "tests")
    for name in [name for name in sys.modules if name.partition(".")[0] in ours]:
        del sys.modules[name]
    log = os.open("pytest.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    import pytest

    options = [
        "--tb=no",
        "-p",
        "no:cacheprovider",
        "-W",
        "ignore::pytest.PytestAssertRewriteWarning",
    ]
    sys.exit(int(pytest.main([*options, *arguments])))
