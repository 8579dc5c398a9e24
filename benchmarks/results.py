"""Where numbers go beside the tables on standard output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"


def write(name: str, numbers: Any) -> None:
    """Write them to benchmarks/results/<name>.json."""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(numbers, indent=1))
