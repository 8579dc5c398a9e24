"""Hypothesis profiles, one run for all tests of reports, pages without pictures, the command line.

`ci` draws the same examples every time, `thorough` searches for longer.
"""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import settings

import keyhole as kh
from keyhole.report import Run, plots, record
from tests.helpers.cli import Cli, in_this_process
from tests.helpers.skipped import reason_of, why_skipped

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started in the background: tests that interrupt something, and their children, would wait.
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("thorough", deadline=None, max_examples=2000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`-k window-ridge`, a name of the registry, also runs the tests of its module, window_ridge.

    That is every file named after it, with doctests, beside the tests that have it as parameter.
    """
    for row in kh.LEARNERS.values() if config.option.keyword else ():
        module = row.made_by.partition(":")[0]
        for item in items:
            if module in item.path.stem:
                item.extra_keyword_matches.add(row.name)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line why tests were skipped."""
    skipped = terminalreporter.stats.get("skipped", ())
    if line := why_skipped(reason_of(report.longrepr) for report in skipped):
        terminalreporter.write_line(line)


BLANK = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"></svg>'
HOSTILE = (
    "age",
    "<script>alert(1)</script>",
    "quo\"te's & <b>bold</b>",
    "cost $x^2$ in $",
    "a very long name that goes on and on and on beyond every margin",
    "\u202eturned round\nin two lines",
    "{{ 7 * 7 }}{% raw %}",
    "年齢",
)


@pytest.fixture(scope="session")
def hostile() -> kh.streams.ArrayStream:
    """Eight features in different units, three of which matter; some values are absent."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(700, 8)) * [1, 2, 5, 1, 1, 1, 1, 1] + 3
    y = 2 * X[:, 1] - X[:, 2] + 0.5 * X[:, 7] + rng.normal(size=700)
    X[rng.random(X.shape) < 0.01] = np.nan
    return kh.streams.ArrayStream(X, y, HOSTILE)


@pytest.fixture(scope="session")
def run(hostile: kh.streams.ArrayStream) -> Run:
    """The run of a learner on that stream."""
    problem = kh.Problem(d=8, k=2, budget=4, names=hostile.names)
    return record(
        kh.LEARNERS["auto"](problem, seed=7),
        hostile,
        name="auto",
        settings={"proper": "<i>no</i>"},
        seed=7,
        title="<img src=x onerror=alert(2)>.csv",
        target="days & nights",
        command="keyhole run '<file>.csv' --target days",
        seconds=1.0,
    )


@pytest.fixture
def blank_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every picture is made and has its place and heading, but nothing is drawn: that is slow."""
    monkeypatch.setattr(plots, "svg", lambda figure, name: BLANK)


@pytest.fixture
def cli() -> Cli:
    """Run `keyhole` with these arguments in a process of its own, nothing being a terminal."""

    def run(*arguments: object, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "keyhole", *map(str, arguments)],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.fixture
def here() -> Cli:
    """Run `keyhole` in this process, where another test sees what a process of its own adds."""
    return in_this_process
