"""Where the benchmarks keep their results."""

from pathlib import Path

from keyhole.cli.results import ResultFile as Store
from keyhole.cli.results import cell_id

FOLDER = Path(__file__).parents[1] / "results"

__all__ = ["FOLDER", "Store", "cell_id"]
