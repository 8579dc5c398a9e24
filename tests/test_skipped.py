"""A run says in one line why tests were skipped."""

import subprocess
import sys
from pathlib import Path

from tests.helpers.skipped import reason_of, why_skipped

SOME = """
import pytest

@pytest.mark.parametrize("i", range(3))
def test_a(i):
    pytest.skip("there is no browser")

@pytest.mark.skipif(True, reason="no long double")
def test_b():
    pass

def test_c():
    pass
"""


def test_the_most_frequent_reason_comes_first() -> None:
    line = why_skipped(["no b", "Skipped: no a", "no a"])
    assert line == "3 tests were skipped: 2 no a; 1 no b"
    assert why_skipped(["no b"]) == "1 test was skipped: 1 no b"
    assert why_skipped([]) == ""
    assert reason_of(("file.py", 3, "Skipped: no a")) == "Skipped: no a"
    assert reason_of("whatever") == "whatever"


def test_a_run_ends_with_that_line(tmp_path: Path) -> None:
    file = tmp_path / "test_some.py"
    file.write_text(SOME)
    root = Path(__file__).parents[1]
    options = ("-p", "no:xdist", "-p", "tests.conftest", "--rootdir", str(root))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(file)],
        capture_output=True,
        text=True,
        cwd=root,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = [line for line in done.stdout.splitlines() if "skipped:" in line]
    assert said == ["4 tests were skipped: 3 there is no browser; 1 no long double"]
