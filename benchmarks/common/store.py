"""Where the benchmarks keep their results."""

from pathlib import Path

from keyhole.cli.result_file import ResultFile as Store
from keyhole.cli.result_file import cell_id

FOLDER = Path(__file__).parents[1] / "results"

__all__ = ["FOLDER", "Store", "cell_id"]
