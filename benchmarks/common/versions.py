"""What a result was made with: versions, commit, machine, date, run."""

from __future__ import annotations

import os
import platform
import subprocess
import uuid
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path

from keyhole.version import __version__

PACKAGES = ("numpy", "scipy", "joblib")
RUN = uuid.uuid4().hex[:12]  # this process: times are compared within one run


def commit() -> str:
    """The commit that is checked out, with a plus if files differ from it; "" outside of git."""
    root = Path(__file__).parents[2]

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, check=False
        )
        return done.stdout.strip() if done.returncode == 0 else ""

    try:
        name = git("rev-parse", "--short=12", "HEAD")
        changed = git("status", "--porcelain", "--untracked-files=no", "--", "src")
    except OSError:  # no git
        return ""
    return name + ("+" if name and changed else "")


def installed(package: str) -> str:
    """The version of a package, "" if it is not there."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that numbers depend on."""
    found = {"keyhole": __version__, "commit": commit(), "Python": platform.python_version()}
    found |= {package: installed(package) for package in PACKAGES}
    return {name: version for name, version in found.items() if version}


def cores() -> int:
    """How many processor cores there are."""
    return os.cpu_count() or 1


@cache
def machine() -> list[str]:
    """What times hang on beside the code: they are not those of another machine."""
    kind = f"{platform.system()} {platform.machine()}, {_processor()}, {cores()} cores"
    python = f"Python {platform.python_version()}"
    return [kind, python, *(f"{name} {installed(name)}" for name in ("numpy", "scipy"))]


def _processor() -> str:
    """The model's name where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    told = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(told, platform.processor())


def stamp() -> dict[str, object]:
    """What every row is marked with."""
    return {
        "version": __version__,
        "commit": commit(),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "run": RUN,
    }
