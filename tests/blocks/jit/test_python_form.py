"""Kernels can be stepped through: with NUMBA_DISABLE_JIT=1 they are Python, to the same bits."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.helpers.kernel_digests import digests

ROOT = Path(__file__).parents[3]
# Tests of kernels that do not take long in Python, and all of inner kernels, which have no way in
# from Python once they are compiled.
FILES = [
    "tests/blocks/auto/test_mixture.py",
    "tests/blocks/dantzig/test_parts.py",
    "tests/blocks/dantzig/test_path.py",
    "tests/blocks/dantzig/test_working_parts.py",
    "tests/blocks/draw/test_by_value.py",
    "tests/blocks/fit/test_lasso.py",
    "tests/blocks/fit/test_newton.py",
    "tests/blocks/sums/test_running.py",
    "tests/blocks/sums/test_seen_sums.py",
    "tests/blocks/sums/test_weighted_sums.py",
]


def in_python(*arguments: str) -> str:
    """What a Python process says on standard output when nothing is compiled."""
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_learner_and_solver_computes_the_same_bits() -> None:
    python = json.loads(in_python("-m", "tests.helpers.kernel_digests"))
    compiled = digests()
    assert [name for name in compiled if python[name] != compiled[name]] == []
    assert python.keys() == compiled.keys()


def test_a_part_of_the_suite_passes() -> None:
    in_python("-m", "pytest", "-q", "-p", "no:cacheprovider", *FILES)
