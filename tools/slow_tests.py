"""Slow tests run when they, or what they test, changed since they last passed.

`make test-slow` runs them and keeps a digest of the files it ran on in `tests/slow-passed.txt`,
which is committed. `python -m tools.slow_tests` leaves with 0 if the files are still those, else
with 1.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PASSED = ROOT / "tests" / "slow-passed.txt"
MARK = "pytest.mark." + "slow"


def main() -> int:
    """Compare the digest with the one that is kept, or keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passed", action="store_true", help="they have passed: keep the digest")
    now = digest()
    if parser.parse_args().passed:
        PASSED.write_text(f"{now}\n", encoding="utf-8")
        return 0
    return 0 if PASSED.exists() and PASSED.read_text(encoding="utf-8").strip() == now else 1


def digest() -> str:
    """Of the package, of the test files that have slow tests, and of what those share."""
    known = hashlib.sha256()
    for path in sorted(_files()):
        known.update(f"{path.relative_to(ROOT).as_posix()}\n".encode())
        known.update(path.read_bytes().replace(b"\r\n", b"\n"))
    return known.hexdigest()


def _files() -> Iterator[Path]:
    for ending in ("py", "c", "h", "inc"):
        yield from (ROOT / "src").rglob(f"*.{ending}")
    yield from (ROOT / "tests" / "helpers").rglob("*.py")
    for path in (ROOT / "tests").rglob("test_*.py"):
        if MARK in path.read_text(encoding="utf-8"):
            yield path


if __name__ == "__main__":
    sys.exit(main())
