"""The command line as tests see it: the fixture `cli` of conftest.py, and what it answered."""

import json
import subprocess
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
