"""keyhole run and compare --history: old rows first, at no cost, and said wherever it matters."""

import csv
import re
from pathlib import Path

import pytest

import keyhole as kh
from tests.helpers.cli import Cli, answer, in_this_process


@pytest.fixture
def cli() -> Cli:
    """The command in this process: there are many cases, and each would start one."""
    return in_this_process


SIZES = ("--budget", 6, "--sparsity", 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Patients, 12 columns: 300 in old.csv, 200 others in new.csv, and files that lack some."""
    folder = tmp_path_factory.mktemp("history")
    patients, _ = kh.streams.clinic(500, seed=3)
    X, y = kh.streams.collect(patients)
    for name, rows in (("old.csv", slice(300)), ("new.csv", slice(300, 500))):
        part = kh.streams.ArrayStream(X[rows, :12], y[rows], (patients.names or ())[:12])
        kh.streams.write(part, folder / name, target="days")
    with (folder / "old.csv").open(newline="") as file:
        lines = list(csv.reader(file))
    order = sorted(range(len(lines[0])), key=lambda i: lines[0][i])
    for name, columns in (
        ("short.csv", [i for i in order if lines[0][i] != "age_years"]),
        ("unlabelled.csv", [i for i in order if lines[0][i] != "days"]),
        ("other_order.csv", order),
        ("texts.csv", order),
    ):
        with (folder / name).open("w", newline="") as file:
            more = [["one more"], *([str(i)] for i in range(len(lines) - 1))]
            for cells, end in zip(lines, more, strict=True):
                row = [cells[i] for i in columns]
                if name == "texts.csv" and cells is not lines[0]:
                    days = lines[0].index("days")
                    row[columns.index(days)] = "long" if float(cells[days]) > 7 else "short"
                csv.writer(file).writerow([*row, *end])
    return folder


def test_the_command_and_the_library_agree(cli: Cli, folder: Path) -> None:
    options = ("-t", "days", *SIZES, "--seed", 5, "--json")
    told = answer(cli("run", folder / "new.csv", *options, "--history", folder / "old.csv"))
    stream = kh.streams.read(folder / "new.csv", target="days")
    history = kh.streams.read(folder / "old.csv", target="days", features=stream.names)
    problem = kh.Problem(stream.d, 3, 6, stream.names)
    ledger = kh.play(kh.AutoLearner(problem, seed=5), stream, history=history)
    assert told["loss"] == ledger.loss
    assert told["rounds"] == 200
    assert sum(told["bought"].values()) == 6 * 200
    assert told["history_rows"] == 300
    assert told["history"]["rows"] == 300
    assert told["history"]["half_life"] is None
    assert any("studied history" in note for note in told["notes"])
    # Columns in another order, and one more, make no difference.
    again = cli("run", folder / "new.csv", *options, "--history", folder / "other_order.csv")
    assert answer(again)["loss"] == ledger.loss
    fading = ("--history", folder / "old.csv", "--half-life", 40)
    assert answer(cli("run", folder / "new.csv", *options, *fading))["loss"] != ledger.loss


@pytest.mark.usefixtures("blank_pictures")
def test_the_summary_and_the_report_say_so(cli: Cli, folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "out.html"
    options = ("-t", "days", *SIZES, "--history", folder / "old.csv", "--half-life", 100)
    done = cli("run", folder / "new.csv", *options, "--report", page)
    assert done.returncode == 0, done.stderr
    assert "seed 0, after 300 rows of history, half-life 100" in done.stdout
    assert "rows of history studied before" in page.read_text()
    without = cli("run", folder / "new.csv", "-t", "days", *SIZES)
    assert "of history" not in without.stdout


def test_sizes_come_from_the_history(cli: Cli, folder: Path) -> None:
    options = ("-t", "days", "--history", folder / "old.csv", "--json")
    told = answer(cli("run", folder / "new.csv", *options))
    assert "from the history" in told["sizes"]["how"]
    assert told["sizes"]["curve"] is not None


def test_a_history_of_one_row(cli: Cli, folder: Path) -> None:
    lines = (folder / "old.csv").read_text().splitlines(keepends=True)
    (folder / "one.csv").write_text("".join(lines[:2]))
    done = cli("run", folder / "new.csv", "-t", "days", "--history", folder / "one.csv")
    assert "after 1 row of history" in done.stdout
    assert "1 row is too few for a curve" in done.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--history", "short.csv"], "--history: short.csv has no column for .*'age_years'"),
        (["--history", "unlabelled.csv"], "--history: unlabelled.csv has no column 'days'"),
        (["--history", "texts.csv"], "'days' must be numbers, as in .*new.csv, got 'short'"),
        (["--history", "nowhere.csv"], "--history: .*nowhere.csv"),
        (["--half-life", "30"], "--half-life 30 needs --history FILE"),
        (
            ["--history", "old.csv", "--half-life", "0"],
            "--half-life must be a positive number of rows, got 0",
        ),
        (["--history", "old.csv", "-l", "iht"], "HardThresholdingLearner cannot study .* auto"),
        (["--history", "old.csv", "-l", "mean", "--half-life", "9"], "--half-life: RunningMean"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_what_cannot_be_is_one_line(cli: Cli, folder: Path, options: list[str], words: str) -> None:
    given = [str(folder / one) if one.endswith(".csv") else one for one in options]
    done = cli("run", folder / "new.csv", "-t", "days", *SIZES, *given)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert re.search(words, done.stderr), done.stderr


def test_only_one_file_can_be_standard_input(cli: Cli, folder: Path) -> None:
    text = (folder / "new.csv").read_text()
    done = cli("run", "-", "-t", "days", *SIZES, "--history", "-", stdin=text)
    assert done.returncode == 2
    assert "only one of them" in done.stderr


def test_in_every_game_of_a_comparison(cli: Cli, folder: Path) -> None:
    who = ("-l", "auto,mean,iht", "--seeds", 2, "--jobs", 1)
    options = ("-t", "days", *SIZES, *who, "--history", folder / "old.csv", "--half-life", 200)
    done = cli("compare", folder / "new.csv", *options)
    assert done.returncode == 0, done.stderr
    assert "after 300 rows of history, half-life 200; the losses for comparison are" in done.stdout
    assert "cannot study: iht" in done.stdout
    assert "Without the half-life, which they cannot use: mean" in done.stdout
    told = answer(cli("compare", folder / "new.csv", *options, "--json"))
    assert told["history"]["rows"] == 300
    stream = kh.streams.read(folder / "new.csv", target="days")
    history = kh.streams.read(folder / "old.csv", target="days", features=stream.names)
    problem = kh.Problem(stream.d, 3, 6, stream.names)
    for game in told["games"]:
        learner = kh.LEARNERS[game["learner"]](problem, seed=game["seed"])
        if isinstance(learner, kh.AutoLearner):
            learner.study(history, half_life=200)
        elif isinstance(learner, kh.RunningMean):
            learner.study(history)
        assert kh.play(learner, stream).loss == game["loss"]
    budgets = ("-t", "days", "--budgets", "4,6", *who, "--history", folder / "old.csv")
    swept = answer(cli("compare", folder / "new.csv", *budgets, "--json"))
    assert swept["history"]["rows"] == 300
