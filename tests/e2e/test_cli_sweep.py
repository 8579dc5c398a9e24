"""keyhole compare --budgets: what is played, shown, drawn and refused."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

import keyhole as kh
from tests.helpers.cli import Cli, answer, in_this_process


@pytest.fixture
def cli() -> Cli:
    """The command in this process: there are many cases, and each would start one."""
    return in_this_process


ROUNDS = ("--rounds", 300)


def test_the_grid_is_what_the_library_plays(cli: Cli, tmp_path: Path) -> None:
    stream = kh.streams.clinic(300).stream
    picture = tmp_path / "budgets.png"
    options = ("--budgets", "8,4", "-k", 3, "--seeds", 3, "--jobs", 2, "--plot", picture, "--json")
    found = answer(cli("compare", *ROUNDS, "--learners", "random,full", "-l", "mean", *options))
    assert (found["budgets"], found["sparsity"], found["features"]) == ([4, 8], 3, 42)
    where = [("random", 4), ("random", 8), ("full", 42), ("mean", 4), ("mean", 8)]
    assert [(cell["learner"], cell["budget"]) for cell in found["cells"]] == where
    assert [(one["learner"], one["budget"]) for one in found["left_out"]] == [
        ("full", 4),
        ("full", 8),
    ]
    order = [(game["learner"], game["budget"], game["seed"]) for game in found["games"]]
    assert order == [(*place, seed) for place in where for seed in range(3)]

    for cell in found["cells"]:
        problem = kh.Problem(42, 3, cell["budget"], stream.names)
        make = kh.LEARNERS[cell["learner"]]
        losses = [kh.play(make(problem, seed=s), stream).loss for s in range(3)]
        games = [
            game["loss"]
            for game in found["games"]
            if (game["learner"], game["budget"]) == (cell["learner"], cell["budget"])
        ]
        assert games == pytest.approx(losses, rel=1e-12)
        per_round = np.array(losses) / 300
        assert cell["games"] == 3
        assert cell["mean"] == pytest.approx(per_round.mean(), rel=1e-12)
        assert cell["worst"] == pytest.approx(per_round.max(), rel=1e-12)
        if cell["learner"] == "random":
            error = per_round.std(ddof=1) / np.sqrt(3)
            assert cell["error"] == pytest.approx(error, rel=1e-9)
            assert cell["reads"]["mean"] == cell["budget"]
        else:
            assert cell["error"] == 0  # every seed is the same game, whatever rounding says
    best = kh.hindsight(stream, 3, intercept=True)
    assert found["hindsight_loss"]["high"] == pytest.approx(best.loss.high, rel=1e-9)
    assert found["plot"] == str(picture)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_table(cli: Cli) -> None:
    names = ("-l", "random,dantzig-data,full")
    done = cli("compare", *ROUNDS, *names, "--budgets", "4-8:4", "--seeds", 2, "-j", 1)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["mean", "squared", "loss", "by", "budget", "4", "8", "all", "42"] in lines
    (random,) = (line for line in lines if line[:1] == ["random"])
    assert random.count("±") == 2
    (full,) = (line for line in lines if line[:1] == ["full"])
    assert full[1:3] == ["-", "-"]  # and one number without an error: both seeds are one game
    assert len(full) == 4
    assert [line[:2] for line in lines].count(["worst", "seed"]) == 2
    assert "Best 4 features in hindsight: mean squared loss" in done.stdout
    # Who cannot play with which budget is said, by name, before anything is played.
    told = [line for line in done.stderr.splitlines() if "compiling" not in line]
    assert told[0].startswith("keyhole: dantzig-data is not played with budget 4: ")
    assert told[1:] == ["keyhole: full is not played with budget 4, 8: it reads all 42 features"]


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """The one line of a refusal."""
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    (line,) = done.stderr.splitlines()
    return line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--budget 4 --budget 8", "--budgets 4,8"),
        ("-b 4 --budget=4", "--budgets 4,8"),
        ("--budget 4 --budgets 8,12", "--budget 4 or --budgets"),
        ("--budgets 4,,8", "--budgets '4,,8'"),
        ("--budgets 4,50", "50 is more than the 42 features"),
        ("--budgets 4,8 --sparsity 6", "--sparsity 6 is more than 4"),
        ("--budgets 4,5 -l subset-experts", "subset-experts cannot play with --budget 5"),
        ("--budgets 4,8 -l auto,autp", "did you mean 'auto'?"),
        ("-l auto,,random", "a name is missing"),
        ("--plot a.png", "--budgets"),
        ("--budgets 4,8 --plot a.jpg", ".png"),
        ("--budgets 4,8 --plot no/such/a.png", "no directory no/such"),
        ("--jobs 0", "--jobs 0"),
    ],
)
def test_what_cannot_be_played_is_refused(cli: Cli, arguments: str, words: str) -> None:
    assert words in refused(cli("compare", *arguments.split()))


def test_a_second_budget_is_refused_by_every_command(cli: Cli) -> None:
    for command in ("run", "diagnose", "theory"):
        line = refused(cli(command, "--budget", 4, "-b", 8))
        assert "keyhole compare" in line
        assert "--budgets 4,8" in line


def test_what_is_there_is_not_played_again(cli: Cli, tmp_path: Path) -> None:
    kept, line = tmp_path / "games.jsonl", ("-l", "random,mean", "-b", 4, "-k", 2, "-j", 1)
    first = answer(cli("compare", *ROUNDS, *line, "--seeds", 2, "--results", kept, "--json"))
    rows = kept.read_text().splitlines()
    assert len(rows) == 4
    again = answer(cli("compare", *ROUNDS, *line, "--seeds", 2, "--results", kept, "--json"))
    assert again["games"] == first["games"], "seconds included: nothing was played"
    # More seeds: only these. A line that was cut off: that one once more. Other rows: all of them.
    more = answer(cli("compare", *ROUNDS, *line, "--seeds", 3, "--results", kept, "--json"))
    assert len(kept.read_text().splitlines()) == 6
    kept.write_text("\n".join(kept.read_text().splitlines())[:-9])
    cli("compare", *ROUNDS, *line, "--seeds", 3, "--results", kept)
    assert len(kept.read_text().splitlines()) == 7
    cli("compare", "--rounds", 299, *line, "--seeds", 3, "--results", kept)
    assert len(kept.read_text().splitlines()) == 13
    plain = answer(cli("compare", *ROUNDS, *line, "--seeds", 3, "--json"))
    for one, other in zip(more["games"], plain["games"], strict=True):
        assert {**one, "seconds": 0} == {**other, "seconds": 0}
    wrong = cli("compare", *ROUNDS, *line, "--results", tmp_path / "no" / "such.jsonl")
    assert (wrong.returncode, "in a folder that exists" in wrong.stderr) == (2, True)
    piped = cli(
        "compare", "-", "-t", "y", "--cluster", "tcp://127.0.0.1:1", stdin="a,y\n1,2\n3,4\n"
    )
    assert piped.returncode == 2
    assert "standard input cannot be used with --cluster" in piped.stderr
    both = cli("compare", *ROUNDS, "--cluster", "tcp://127.0.0.1:1", "--jobs", 2)
    assert (both.returncode, "--jobs 2 cannot be used with --cluster" in both.stderr) == (2, True)


def test_rows_that_are_read_otherwise_are_other_games(cli: Cli, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = "".join(f"{a:.3f},{b},{a + b:.3f}\n" for a, b in rng.integers(0, 9, (60, 2)) + 0.0)
    (tmp_path / "a.csv").write_text("a,b,y\n" + lines)
    line = ("compare", tmp_path / "a.csv", "-t", "y", "-l", "random", "-b", 1, "-k", 1, "-j", 1)
    kept = tmp_path / "games.jsonl"
    for missing, games in (((), 1), ((), 1), (("--missing", "3.0"), 2)):
        done = cli(*line, "--seeds", 1, "--results", kept, *missing)
        assert done.returncode == 0, done.stderr
        assert len(kept.read_text().splitlines()) == games
