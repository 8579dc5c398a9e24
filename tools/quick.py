"""What a change can break first, within a minute: `make quick`, before every commit.

    python -m tools.quick [--since COMMIT] [--seconds 50]

Runs, in this order: test files that changed and the doctests of changed modules, the tests nearest
to what changed in the package, compiled code, and the conformance suite for AutoLearner and for the
learners whose files changed. What changed is what git says: since the last commit, or another.
Tests that come when the time is spent are left out, and it says how many. `make test` runs all.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import keyhole as kh
from tools.mutants import nearest_first
from tools.planting import ROOT

END = "KEYHOLE_QUICK_END"  # when the time is spent, for the workers
MOST = 20  # files of tests for what changed in the package: reading more takes too long
CONFORMANCE = "tests/conformance/test_learners.py"


def changed(since: str) -> list[Path]:
    """Files that differ from a commit, and new ones; those that are gone are not among them."""
    listed = []
    for call in (["diff", "--name-only", since], ["ls-files", "--others", "--exclude-standard"]):
        done = subprocess.run(["git", *call], cwd=ROOT, capture_output=True, text=True, check=True)
        listed += done.stdout.splitlines()
    return [ROOT / name for name in listed if (ROOT / name).is_file()]


def wanted(files: Sequence[Path]) -> Iterator[str]:
    """What to hand to pytest for these changes, the nearest first."""
    names = {file: str(file.relative_to(ROOT)) for file in files}
    tests = [name for name in names.values() if Path(name).match("tests/**/test_*.py")]
    package = [f for f in files if f.is_relative_to(ROOT / "src") and f.suffix in (".py", ".c")]
    pages = [
        name for name in names.values() if name == "README.md" or Path(name).match("docs/*/*.md")
    ]
    yield from tests
    yield from (names[file] for file in package if file.suffix == ".py")
    yield from pages
    yield from nearest_first(package)[:MOST] if package else ()
    yield "tests/core"
    modules = {file.stem for file in package}
    rows = (r for r in kh.LEARNERS.values() if r.made_by.partition(":")[0] in modules)
    for name in dict.fromkeys(["auto", *(row.name for row in rows)]):
        yield from (
            f"{CONFORMANCE}::test_learner[{name}-{what}]"
            for what in kh.testing.learner_checks(**kh.LEARNERS[name].promises)
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line, with the exit code of pytest."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--since", default="HEAD", help="the commit to compare with")
    parser.add_argument("--seconds", type=float, default=50.0)
    options = parser.parse_args(arguments)
    tests = list(dict.fromkeys(wanted(changed(options.since))))
    workers = ["--numprocesses", "auto", "--maxprocesses", "4", "--dist", "worksteal"]
    call = [sys.executable, "-m", "pytest", "-p", "tools.quick", "-m", "not slow", "-rs", *workers]
    os.environ[END] = str(time.time() + options.seconds)
    return subprocess.run([*call, *tests], cwd=ROOT, check=False).returncode


def pytest_runtest_setup() -> None:
    """As a plugin of pytest: no test begins when the time is spent."""
    if time.time() > float(os.environ.get(END, "inf")):
        pytest.skip("the time is spent: `make test` runs it")


if __name__ == "__main__":
    sys.exit(main())
