"""What others wrote does not reach the terminal as commands, and nothing ends in a traceback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from keyhole.errors import printable
from tests.helpers.cli import in_this_process

NASTY = ["a\x1b[2J", "b\u202e\x07", "c\x9b1m", "d<b>$\\frac{$"]
TARGET = "y\x1b]0;x\x07"


def keyhole(*arguments: str, stdout: int | None = None) -> tuple[int, str, str]:
    """Exit code and output; in a process of its own where that has a standard output of its own."""
    if stdout is None:
        here = in_this_process(*arguments)
        return here.returncode, here.stdout, here.stderr
    done = subprocess.run(
        [sys.executable, "-m", "keyhole", *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout or "", done.stderr


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "n\x1b[2J.csv"
    rows = [[i % 7, "q\x1b[31m" if i % 2 else "z", i % 5, i % 3, i] for i in range(60)]
    lines = [",".join([*NASTY, TARGET]), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def obeyed(text: str) -> list[str]:
    """The lines that hold anything a terminal would obey."""
    return [line for line in text.split("\n") if printable(line) != line]


@pytest.mark.parametrize(
    "command",
    [
        ["run", "--learner", "mean"],
        ["run", "--learner", "mean", "--json"],
        ["run", "--explain"],
        ["diagnose"],
        ["diagnose", "--json"],
        ["compare", "--learner", "mean", "--seeds", "1", "--jobs", "1"],
    ],
    ids=" ".join,
)
def test_names_are_escaped(table: str, command: list[str]) -> None:
    name, *options = command
    code, out, err = keyhole(name, table, "--target", TARGET, *options)
    assert code == 0, err
    assert not obeyed(out)
    assert not obeyed(err)
    if "--json" in options:
        assert json.loads(out)["target"] == TARGET, "the same text for whoever reads JSON"
    else:
        assert "\\x1b" in out


def test_errors_are_escaped(table: str, tmp_path: Path) -> None:
    for arguments in (
        ["run", table, "--target", "no"],
        ["run", str(tmp_path / "\x1b[31m.csv"), "--target", "y"],
        ["run", "--learner", "\x1b[31m"],
        ["\x1b[31m"],
    ):
        code, out, err = keyhole(*arguments)
        assert code == 2
        assert out == ""
        assert err.count("\n") == 1
        assert not obeyed(err)
        assert "\\x1b" in err


@pytest.mark.parametrize("where", ["value", "number", "header"])
def test_a_cell_that_is_too_long(tmp_path: Path, where: str) -> None:
    long = {"value": "x", "number": "1", "header": "h"}[where] * 140_000
    header = f"a,{long},y" if where == "header" else "a,b,y"
    rows = [f"{i},{long if i == 7 and where != 'header' else i},{i}" for i in range(30)]
    if where == "number":
        rows[9] = "9,9,q"  # found by looking for the line, past the long cell
    path = tmp_path / "long.csv"
    path.write_text("\n".join([header, *rows]))
    code, _, err = keyhole("run", str(path), "--target", "y")
    line = 1 if where == "header" else 9
    assert code == 2
    assert err == f"keyhole: long.csv, line {line}: field larger than field limit (131072)\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
@pytest.mark.parametrize(
    "command", ["learners", "learners --json", "--help", "--version", "simulate -n 3000 --out -"]
)
def test_output_that_is_full(command: str) -> None:
    with open("/dev/full", "w") as full:
        code, _, err = keyhole(*command.split(), stdout=full.fileno())
    assert code == 2
    assert err == "keyhole: standard output cannot be written: No space left on device\n"


def test_a_reader_that_leaves_and_an_output_that_is_closed() -> None:
    python = f"{sys.executable} -m keyhole"
    for command, code in (
        # More than a pipe holds, so that writing fails while there is still something to write.
        (f"{python} simulate -n 5000 --out - | head -1 > /dev/null; exit ${{PIPESTATUS[0]}}", 0),
        (f"{python} learners >&-", 0),
        (f"{python} run nothing.csv --target y 2>&-", 2),
        (f"{python} run nothing.csv --target y 2>/dev/full", 2),
    ):
        done = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, check=False, timeout=120
        )
        assert (done.returncode, done.stderr) == (code, ""), command


def test_the_audit_is_an_option(table: str) -> None:
    code, out, err = keyhole("run", table, "--target", TARGET, "-l", "random", "--audit", "1")
    assert code == 0, err
    assert "Audit: 60 of 60 rounds were played once more" in out
    assert keyhole("run", "--audit", "1.5")[0] == 2
