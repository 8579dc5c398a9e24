"""Compiling for longer than a second is said on standard error; loading from disk is not."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from keyhole.blocks.jit import notes

CODE = """
import time
from keyhole.blocks.jit import notes
from keyhole.blocks.jit.clock import clock
notes.PATIENCE, notes.OFTEN = {patience}, 0.01
from keyhole.blocks.draw.sampling import uniform_subset
from keyhole.blocks.fit.vaw import VAW
began, played = time.perf_counter(), clock()
uniform_subset(0, 1, 10, 3)
uniform_subset(0, 2, 10, 3)
played, passed = clock() - played, time.perf_counter() - began
print(played < passed / 2)
"""


def environment(cache: Path) -> dict[str, str]:
    return {**os.environ, "NUMBA_CACHE_DIR": str(cache), "KEYHOLE_COMPILE": "jit"}


def stderr(cache: Path, patience: float) -> str:
    command = [sys.executable, "-c", CODE.format(patience=patience)]
    run = subprocess.run(
        command, env=environment(cache), capture_output=True, text=True, check=True
    )
    assert run.stdout == "True\n", "what is loaded or compiled is not played"
    return run.stderr


def test_the_note(tmp_path: Path) -> None:
    first = stderr(tmp_path, patience=0.0)
    assert first.count("compiling its kernels for first use") == 1
    assert first.count("\n") == 1
    assert stderr(tmp_path, patience=0.0) == "", "the second process finds them on disk"


def test_no_note_while_it_is_quick(tmp_path: Path) -> None:
    assert stderr(tmp_path, patience=600.0) == ""


def test_a_terminal_is_shown_how_far_it_is_and_left_clean(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", CODE.format(patience=0.0)]
    with subprocess.Popen(
        command, env=environment(tmp_path), stdout=subprocess.DEVNULL, stderr=theirs
    ) as process:
        os.close(theirs)
        said = b""
        try:
            while more := os.read(ours, 4096):
                said += more
        except OSError:  # how Linux says that the other end is closed
            pass
    os.close(ours)
    assert process.returncode == 0
    lines = said.decode().split("\r\x1b[2K")
    shown = [line for line in lines if line.startswith("keyhole: compiling its kernels")]
    counts = [line.split(": ")[2].split(",")[0].split(" of ") for line in shown]
    assert counts, said
    assert all(int(done) <= int(whole) for done, whole in counts)
    assert max(int(whole) for _, whole in counts) > 1, "it counts what a kernel calls, too"
    assert lines[-1] == ""


def test_what_is_left_is_judged_by_length(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    task = notes.Task({"a": 30, "b": 60, "c": 10})
    assert task.line == "0 of 3"
    now[0] = 130.0
    task.finish("a")
    task.finish("a function of numpy's")
    task.finish("a")  # for other arguments
    assert task.line == "1 of 3, about 70 s to go"
    task.finish("b")
    assert task.line == "2 of 3, about 3 s to go"
