"""What a person at a terminal sees while a command works; nothing where there is no terminal."""

import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

from keyhole.cli.progress import status_line, waited


def at_a_terminal(*arguments: object) -> str:
    """All that a command writes to standard error if that is a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "keyhole", *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "200"},
    )
    os.close(theirs)
    said = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end was closed
            break
        if not part:
            break
        said += part
    os.close(ours)
    assert process.wait() == 0
    return said.decode(errors="replace")


def test_reading_and_searching_are_told(tmp_path: Path) -> None:
    path = tmp_path / "flats.csv"
    path.write_text("a,b,y\n" + "1,2,3\n2,1,4\n3,3,5\n" * 40)
    said = at_a_terminal("run", path, "-t", "y", "-l", "mean", "-b", 2, "-k", 1)
    assert f"reading {path}" in said.replace("\r\n", "")
    assert "plays ..." in said or "in hindsight" in said


def test_how_long_it_takes_already() -> None:
    now = time.monotonic()
    assert waited(now) == ""
    assert waited(now - 12.5) == " 12 s"


def test_without_a_terminal_nothing_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    with status_line("reading") as stage:
        stage("7 rows so far")
    captured = capsys.readouterr()
    assert captured.err == captured.out == ""
