"""A file is read once to survey it and once to play it, whatever else is asked for."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import keyhole as kh
from keyhole.cli.app import run
from keyhole.streams.csv_table import CsvTable
from keyhole.streams.tables import BatchQuery, TableBatch

PLAIN = ("--ignore", "heating")  # without columns of levels


@pytest.fixture
def flats(tmp_path: Path) -> Path:
    """A CSV with text and gaps."""
    rng = np.random.default_rng(1)
    rows = []
    for i in range(500):
        size, floor, heating = rng.normal(60, 15), i % 5, ("gas", "oil", "")[i % 3]
        rows.append(f"{size:.2f},{floor if i % 7 else ''},{heating},{9 * size + floor:.2f}")
    path = tmp_path / "flats.csv"
    path.write_text("size,floor,heating,rent\n" + "\n".join(rows) + "\n")
    return path


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each pass over a CSV went through."""
    found: list[int] = []
    batches = CsvTable.batches

    def counted(self: CsvTable, query: BatchQuery) -> Iterator[TableBatch]:
        found.append(0)
        for batch in batches(self, query):
            found[-1] += batch.rows.num_rows
            yield batch

    monkeypatch.setattr(CsvTable, "batches", counted)
    return found


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["run", "--learner", "random", *PLAIN], [500] * 2),
        (["run", "--learner", "random", *PLAIN, "--rounds", "200", "--json"], [200] * 2),
        (
            ["run", "--learner", "random", *PLAIN, "--report", "out.html", "--save", "m.npz"],
            [500] * 2,
        ),
        (["run", "--learner", "random"], [500] * 3),
        (["diagnose"], [500] * 2),
        (
            ["compare", "-l", "random", "-l", "fixed", "--seeds", "2", "-j", "1"],
            [500] * (2 + 2 * 2),
        ),
    ],
    ids=[
        "run",
        "run, in part",
        "run with a report",
        "run by columns: and once for the best that as many columns give",
        "diagnose",
        "compare: and once for each game",
    ],
)
def test_a_file_is_read_twice(
    command: list[str],
    expected: list[int],
    flats: Path,
    passes: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(flats.parent)
    name, *arguments = command
    assert run([name, "flats.csv", "--target", "rent", "-b", "2", "-k", "2", *arguments]) == 0
    assert passes == expected


def test_a_pass_is_seen(flats: Path, passes: list[int]) -> None:
    """The twin: whoever looks for the best model by reading again would be counted."""
    stream = kh.streams.read(flats, target="rent")
    learner = kh.RandomSubset(kh.Problem(stream.d, 2, 3, stream.names))
    kh.play(learner, stream)
    kh.hindsight(stream, 2, intercept=False)
    assert len(passes) == 3
