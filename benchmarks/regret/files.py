"""The Parquet files of a folder as settings of `benchmarks.regret`."""

from __future__ import annotations

from pathlib import Path

import keyhole as kh
from benchmarks.common.files import FILES
from benchmarks.regret.suite import FEWER, ROUNDS, WIDE, Setting
from keyhole.problem.optional_imports import extra

MOST_FEATURES = 800
USUAL = (4, 16, False)  # k, budget, shuffled: for a file nobody has said anything about


def label_of(path: Path) -> str:
    """The column that is the label: the one named `target`, else the last."""
    names: list[str] = extra("pyarrow.parquet", "files").read_schema(path).names
    return "target" if "target" in names else names[-1]


def settings_of(folder: Path) -> tuple[list[Setting], list[str]]:
    """A setting per file, by name, and a note for every file that is left out.

    Long files are cut; those whose order means nothing are shuffled first, once and for all, and
    then into another order for every seed.
    """
    found, notes = [], []
    for path in sorted(folder.glob("*.parquet")):
        target = label_of(path)
        stream = kh.streams.read(str(path), target=target)
        k, budget, shuffled = FILES.get(path.stem, USUAL)
        if stream.d > MOST_FEATURES:
            notes.append(f"{path.name}: left out, {stream.d} features, at most {MOST_FEATURES}")
            continue
        rows = stream.rounds or 0
        found.append(
            Setting(
                path.stem,
                "files",
                "file",
                {"path": str(path), "target": target, "shuffled": shuffled},
                stream.d,
                min(k, stream.d),
                min(budget, stream.d),
                min(rows, FEWER if stream.d > WIDE else ROUNDS),
                units="standard",
                one_instance=True,
            )
        )
    if not found and not notes:
        notes.append("no *.parquet in the folder given by --data")
    return found, notes
