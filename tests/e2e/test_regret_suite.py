"""The regret suite, small: from nothing to the page, killed and resumed, refusals and failures."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from benchmarks.common.tables import Mean
from benchmarks.regret import __main__ as regret
from benchmarks.regret.cell import VARIANTS
from benchmarks.regret.suite import PLAYERS, Player

NAMES = ("iid", "geo", "auto", "mean", "zero")  # two settings, three players
Run = Callable[..., int]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The command, with everything it writes in a folder of its own, in one process."""

    def call(*words: object, only: tuple[str, ...] = NAMES, workers: int = 1) -> int:
        files = ["--results", tmp_path / "r.jsonl", "--page", tmp_path / "page.md"]
        sizes = ["--seeds", 2, "--rounds", 300, "--workers", workers]
        return regret.main([str(w) for w in (*files, *sizes, *words, "--only", *only)])

    return call


def rows_of(folder: Path) -> list[dict[str, Any]]:
    """The rows of the results."""
    return [json.loads(line) for line in (folder / "r.jsonl").read_text().splitlines()]


def timeless(rows: list[dict[str, Any]]) -> list[str]:
    """Rows without what differs from run to run."""
    times = ("microseconds", "seconds", "at", "run")
    return sorted(
        json.dumps({k: v for k, v in row.items() if k not in times}, sort_keys=True) for row in rows
    )


def regret_table(page: str) -> dict[str, list[str]]:
    """The cells of the table of regret, by player."""
    part = page.partition("\nRegret:\n")[2].partition("\nNormalised regret:\n")[0]
    lines = [line.split("|") for line in part.splitlines() if line.startswith("| ")]
    return {cells[1].strip().strip("*"): cells[2:-1] for cells in lines}


def test_from_nothing_to_the_page(run: Run, tmp_path: Path) -> None:
    assert run() == 0
    rows = rows_of(tmp_path)
    games = [row for row in rows if row["cell"] == "game"]
    assert len(rows) == len({row["id"] for row in rows}) == 2 * 2 + 2 * 3 * 2
    assert len(games) == 2 * 3 * 2
    budgets = {"iid": 12, "geo": 4}
    assert all(row["reads"] <= row["most_reads"] <= budgets[row["setting"]] for row in games)
    page = (tmp_path / "page.md").read_text()
    for part in ("# Benchmarks: regret", "--seeds 2 --rounds 300", "## Where keyhole loses",
                 "## Ranks", "Normalised regret:", "## Cost", "Skipped: no folder"):  # fmt: skip
        assert part in page, part
    assert (tmp_path / "page-heat.svg").read_text().startswith("<?xml")
    assert str(tmp_path) not in page
    # Predicting 0, the regret in the table is that of the rows.
    of = [row["loss"] for row in games if (row["setting"], row["player"]) == ("geo", "zero")]
    low = {r["seed"]: r["low"] for r in rows if (r["cell"], r["setting"]) == ("hindsight", "geo")}
    mean = Mean.of([loss - low[seed] for seed, loss in enumerate(of)]).mean
    assert f"{mean:.1f}" in regret_table(page)["zero"][1]


def test_two_processes_find_the_same(run: Run, tmp_path: Path) -> None:
    assert run(workers=2) == 0
    two = timeless(rows_of(tmp_path))
    assert run("--fresh") == 0
    assert timeless(rows_of(tmp_path)) == two
    assert (tmp_path / "r.jsonl.old").exists()


def test_a_run_that_was_killed_goes_on(run: Run, tmp_path: Path) -> None:
    run()
    results = tmp_path / "r.jsonl"
    whole, before = results.read_bytes(), timeless(rows_of(tmp_path))
    torn = whole[: -len(whole.splitlines()[-1]) // 2]  # half of the last line is missing
    results.write_bytes(torn)
    assert run() == 0
    grown = results.read_bytes()
    assert grown.startswith(torn + b"\n")  # nothing was rewritten
    added = [json.loads(line) for line in grown[len(torn) + 1 :].splitlines()]
    assert [row["id"] for row in added] == [json.loads(whole.splitlines()[-1])["id"]]
    intact = [json.loads(line) for line in torn.splitlines()[:-1]]
    assert timeless([*intact, *added]) == before
    assert run() == 0
    assert results.read_bytes() == grown  # and now nothing is missing


def test_what_changes_a_cell_is_played_again_and_nothing_else(run: Run, tmp_path: Path) -> None:
    run()
    before = len(rows_of(tmp_path))
    run("--seeds", 3)
    assert len(rows_of(tmp_path)) == before + 2 + 2 * 3  # a third seed: hindsight, three players
    run("--rounds", 200)
    assert len(rows_of(tmp_path)) == 2 * before + 2 + 2 * 3


class Broken(kh.RunningMean):
    """Fails in block play."""

    def advance(self, X: Any, y: Any, bought: Any = None) -> Any:
        raise ZeroDivisionError("no such luck")


def broken(problem: kh.Problem, seed: int, rounds: int, best: Sequence[int]) -> kh.Learner:
    """Makes it."""
    return Broken(problem)


def mended(problem: kh.Problem, seed: int, rounds: int, best: Sequence[int]) -> kh.Learner:
    """Makes one that does not fail."""
    return kh.RunningMean(problem)


def choosy(problem: kh.Problem, seed: int, rounds: int, best: Sequence[int]) -> kh.Learner:
    """Refuses large problems."""
    if problem.d > 20:
        raise kh.ProblemError(f"d must be at most 20, got {problem.d}: leave features out")
    return kh.RunningMean(problem)


def test_refusals_and_failures_are_told_and_lose_nothing_else(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    strange = [Player(name, name) for name in ("choosy", "broken", "unborn")]
    monkeypatch.setitem(VARIANTS, "choosy", choosy)
    monkeypatch.setitem(VARIANTS, "broken", broken)
    monkeypatch.setattr(regret, "PLAYERS", (*strange, *PLAYERS))
    only = (*NAMES, "choosy", "broken", "unborn")
    assert run(only=only) == 1
    assert "broken, 1: ZeroDivisionError: no such luck" in capsys.readouterr().err
    rows = {(r["setting"], r.get("player"), r["seed"]): r for r in rows_of(tmp_path)}
    assert "loss" in rows["iid", "zero", 1]
    assert rows["iid", "choosy", 0]["refused"].startswith("d must be at most 20, got 30")
    page = (tmp_path / "page.md").read_text()
    table = regret_table(page)
    dashes = {name: sum(" - <sup>" in cell for cell in table[name]) for name in table}
    assert (dashes["unborn"], dashes["broken"], dashes["choosy"], dashes["auto"]) == (2, 2, 1, 0)
    for reason in ("not in this version of the library", "ZeroDivisionError: no such luck",
                   "refuses on 2 of 2 seeds: d must be at most 20, got 30"):  # fmt: skip
        assert reason in page
    # Failures are tried again, refusals are final.
    count = len(rows_of(tmp_path))
    monkeypatch.setitem(VARIANTS, "broken", mended)
    assert run(only=only) == 0
    assert len(rows_of(tmp_path)) == count + 4


def test_files_of_a_folder(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "data"
    data.mkdir()
    rng = np.random.default_rng(0)
    X = 50.0 + 7.0 * rng.normal(size=(400, 5))
    X[:, 4] = 3.0  # constant
    y = 1000.0 + 2.0 * X[:, 1] + rng.normal(size=400)
    kh.streams.write(kh.streams.ArrayStream(X, y), data / "small.parquet", target="target")
    wide = kh.streams.ArrayStream(np.zeros((3, 801)), np.zeros(3))
    kh.streams.write(wide, data / "wide.parquet", target="target")
    only = ("small", "auto", "auto, raw units", "zero", "oracle")
    assert run("--data", data, only=only) == 0
    assert "wide.parquet: left out, 801 features" in capsys.readouterr().err
    rows = rows_of(tmp_path)
    assert sum(row["cell"] == "hindsight" for row in rows) == 1  # both seeds have the same rows
    best = next(row for row in rows if row["cell"] == "hindsight")
    loss = {row["player"]: row["loss"] for row in rows if row["cell"] == "game"}
    # In standard units 0 is the best constant, and losses are told in the file's own units.
    first = y[:300]
    assert best["constant"] == pytest.approx(((first - first.mean()) ** 2).sum())
    assert loss["zero"] == pytest.approx(best["constant"])
    assert best["low"] < loss["oracle"] < 0.1 * best["constant"]
    assert loss["auto, raw units"] < loss["zero"] + 4 * 1000.0**2  # the first rounds know no centre
    # A cell is what is in the file, not where it lies.
    count = len(rows)
    data.rename(tmp_path / "elsewhere")
    run("--data", tmp_path / "elsewhere", only=only)
    assert len(rows_of(tmp_path)) == count
    other = kh.streams.ArrayStream(X, y + 1.0)
    kh.streams.write(other, tmp_path / "elsewhere" / "small.parquet", target="target")
    run("--data", tmp_path / "elsewhere", only=only)
    assert len(rows_of(tmp_path)) == 2 * count


def test_growth_is_shown(run: Run, tmp_path: Path) -> None:
    assert run("--rounds", 3000, "--seeds", 1, only=("S9, long", "auto", "dantzig-data")) == 0
    page = (tmp_path / "page.md").read_text()
    assert "### How regret grows" in page
    line = next(line for line in page.splitlines() if line.startswith("| S9, long | auto |"))
    assert line.count("|") == 7
    assert (tmp_path / "page-growth.svg").exists()


def test_senseless_arguments_are_refused(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, said in (
        (("--seeds", 0), "--seeds must be at least 1"),
        (("--data", tmp_path / "nowhere"), "--data must be a folder"),
    ):
        with pytest.raises(SystemExit):
            run(*words)
        assert said in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run(only=("atuo",))
    assert "not atuo" in capsys.readouterr().err
