"""What a result was made with: versions, commit, processor count, date."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from keyhole.version import __version__

PACKAGES = ("numpy", "scipy", "numba", "joblib")


def commit() -> str:
    """The commit that is checked out, with a plus if files differ from it; "" outside of git."""
    here = Path(__file__).parent

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=here, capture_output=True, text=True, check=False
        )
        return done.stdout.strip() if done.returncode == 0 else ""

    try:
        name = git("rev-parse", "--short=12", "HEAD")
        changed = git("status", "--porcelain", "--untracked-files=no", "--", "../src")
    except OSError:  # no git
        return ""
    return name + ("+" if name and changed else "")


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that numbers depend on."""
    found = {"keyhole": __version__, "commit": commit(), "Python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = ""
    return {name: version for name, version in found.items() if version}


def cores() -> int:
    """How many processor cores there are."""
    return os.cpu_count() or 1


def stamp() -> dict[str, object]:
    """What every row is marked with."""
    return {
        "version": __version__,
        "commit": commit(),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
