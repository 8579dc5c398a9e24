"""The command line as tests see it: the fixture `cli` of conftest.py, and what it answered."""

import io
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

Cli = Callable[..., subprocess.CompletedProcess[str]]


def answer(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The JSON object that is all of standard output, with numbers that JSON knows."""
    assert done.returncode == 0, done.stderr

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not a number of JSON")

    found: dict[str, Any] = json.loads(done.stdout, parse_constant=refuse)
    return found


def in_this_process(
    *arguments: object, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    """What `keyhole` with these arguments answers, without the seconds that a new process takes.

    For the many cases that differ in a word: what only a process shows (pipes, signals, a cold
    start) is tested with the fixture `cli` as conftest.py has it.
    """
    from keyhole.cli.app import run

    given, before = list(map(str, arguments)), (sys.stdin, sys.stdout, sys.stderr)
    sys.stdin, sys.stdout, sys.stderr = (
        io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8", write_through=True)
        for text in (stdin or "", "", "")
    )
    try:
        code = run(given)
        out, err = (file.buffer.getvalue().decode() for file in (sys.stdout, sys.stderr))
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
    return subprocess.CompletedProcess(given, code, out, err)
