"""The command line: `keyhole`, or `python -m keyhole`.

Nothing here imports numpy until a command runs: `--help` and `--version` answer at once.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and leave with its exit code."""
    try:
        from keyhole.cli.app import run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("typer", "rich"):
            raise
        needed = f"keyhole: the command line needs {error.name}: pip install 'keyhole[cli]'"
        sys.stderr.write(f"{needed}\n")
        sys.exit(2)
    sys.exit(run())
