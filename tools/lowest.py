"""Pins every requirement of the package to the lowest version that pyproject.toml allows.

`python -m tools.lowest > lowest.txt`, then `pip install . --constraint lowest.txt`: see
`make test-lowest`. A lower bound has to be a release that installs, so each bound is tested as it
is written.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
BOUND = re.compile(r"(?P<name>[\w.-]+)(?:\[[\w,-]+\])?>=(?P<version>[\w.]+)")


def pins(pyproject: Path = ROOT / "pyproject.toml") -> list[str]:
    """`name==version` for everything a user may install, sorted by name."""
    return sorted({f"{name}=={version}" for name, version in _bounds(pyproject)})


def _bounds(pyproject: Path) -> Iterator[tuple[str, str]]:
    project = tomllib.loads(pyproject.read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"]]
    wanted += [line for lines in extras.values() for line in lines]
    for line in wanted:
        if line.startswith("keyhole["):
            continue
        found = BOUND.fullmatch(line.partition(";")[0].strip())
        if found is None:
            raise SystemExit(f"{line!r} in {pyproject.name} has no lower bound: name>=version")
        yield found["name"], found["version"]


if __name__ == "__main__":
    sys.stdout.write("\n".join(pins()) + "\n")
