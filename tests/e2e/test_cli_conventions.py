"""How every command behaves: quick help, clean output, interrupts, broken pipes."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import keyhole as kh
from tests.helpers.cli import Cli

SMALL = ("--rounds", "100", "-b", "8", "-k", "4")
COMMANDS = ("run", "compare", "diagnose", "predict", "simulate", "theory", "learners")

# A learner that presses Ctrl-C PRESSES times, from the beginning of game number GAME on.
IMPATIENT = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored by who started us
import keyhole as kh
from keyhole.cli.app import run
from keyhole.learners.registry import LearnerRow

class Impatient(kh.RandomSubset):
    games = presses = 0

    def advance(self, X, y, bought=None):
        Impatient.games += self.round == 0
        if Impatient.games >= GAME and Impatient.presses < PRESSES:
            Impatient.presses += 1
            time.sleep(0.2)  # longer than progress waits between two looks at the ledger
            os.kill(os.getpid(), signal.SIGINT)
        return super().advance(X, y, bought)

class Row(LearnerRow):
    def __call__(self, problem, *, seed=0):
        return Impatient(problem, seed=seed)

kh.LEARNERS["impatient"] = Row("impatient", "baselines:RandomSubset", "", "baseline")
sys.exit(run(sys.argv[1:]))
"""


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )


def impatient(game: int, presses: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command whose learner presses Ctrl-C."""
    code = IMPATIENT.replace("GAME", str(game)).replace("PRESSES", str(presses))
    return python(code, *arguments)


def test_help_and_version_import_nothing_heavy() -> None:
    heavy = ["numpy", "scipy", "pyarrow", "rich.console", "joblib", "keyhole.problem"]
    code = (
        "import sys; from keyhole.cli.app import run; codes = run(['--version']), run(['--help']); "
        f"print([m for m in {heavy} if m in sys.modules], codes)"
    )
    assert python(code).stdout.splitlines()[-1] == "[] (0, 0)"


def test_version_and_help(cli: Cli, here: Cli) -> None:
    assert cli("--version").stdout == f"keyhole {kh.__version__}\n"
    top = here("--help")
    assert top.returncode == 0
    assert here().stdout == top.stdout
    for command in COMMANDS:
        assert command in top.stdout
        page = here(command, "--help")
        assert page.returncode == 0
        assert "Example" in page.stdout
        assert f"keyhole {command}" in page.stdout
        assert "--json" in page.stdout


def test_output_to_a_pipe_has_no_colours_and_no_progress(cli: Cli) -> None:
    done = cli("run", "--rounds", 200, "--learner", "random", "-b", 8, "-k", 4)
    assert "\x1b" not in done.stdout + done.stderr
    assert [s for s in done.stderr.splitlines() if "compiling" not in s] == []


def test_an_interrupted_run_sums_up_what_was_played() -> None:
    sizes = ("-b", "8", "-k", "2")
    done = impatient(1, 1, "run", "--learner", "impatient", "--json", *sizes)
    assert done.returncode == 130, done.stderr
    found = json.loads(done.stdout)
    assert found["interrupted"]
    assert found["rounds"] == 1024  # of 4,000: the block in which it happened
    # Everything is about those rounds, as if there were no others.
    stream = kh.streams.take(kh.streams.clinic().stream, 1024)
    problem = kh.Problem(42, 2, 8, stream.names)
    assert found["loss"] == kh.play(kh.RandomSubset(problem, seed=0), stream).loss
    best = kh.hindsight(stream, 2, intercept=True)
    assert found["hindsight"]["loss"]["high"] == pytest.approx(best.loss.high, rel=1e-9)
    assert done.stderr.splitlines()[-1].startswith("keyhole: interrupted")


def test_a_second_interrupt_leaves_at_once_with_the_ledger() -> None:
    done = impatient(1, 2, "run", "--learner", "impatient", "-b", "8", "-k", "4")
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
    assert "mean squared loss" in done.stdout
    assert "The model" not in done.stdout


def test_an_interrupted_comparison_shows_the_games_so_far() -> None:
    options = ("--learner", "impatient", "--seeds", "4", "-j", "1", *SMALL)
    done = impatient(3, 1, "compare", *options, "--json")
    assert done.returncode == 130, done.stderr
    found = json.loads(done.stdout)
    assert found["interrupted"]
    assert [game["seed"] for game in found["games"]] == [0, 1]
    assert "Traceback" not in done.stderr


@pytest.fixture
def in_the_background() -> Iterator[None]:
    """Ctrl-C is ignored here, and by what is started from here, as after `make test &`."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("in_the_background")
def test_what_presses_ctrl_c_hears_it_where_it_was_ignored(tmp_path: Path) -> None:
    test_an_interrupted_comparison_shows_the_games_so_far()
    test_an_interrupted_sweep_shows_the_games_so_far(tmp_path)


def test_an_interrupted_sweep_shows_the_games_so_far(tmp_path: Path) -> None:
    picture = tmp_path / "budgets.png"
    options = (
        "--learner",
        "impatient",
        "--budgets",
        "4,8",
        "--seeds",
        "3",
        "-j",
        "1",
        "--rounds",
        "100",
    )
    done = impatient(4, 1, "compare", *options, "--plot", str(picture), "--json")
    assert done.returncode == 130, done.stderr
    found = json.loads(done.stdout)
    assert found["interrupted"]
    assert [(g["budget"], g["seed"]) for g in found["games"]] == [(4, 0), (4, 1), (8, 0)]
    assert [cell["games"] for cell in found["cells"]] == [2, 1]
    assert picture.exists()

    picture.unlink()
    done = impatient(1, 1, "compare", *options, "--plot", str(picture))
    assert done.returncode == 130, done.stderr
    assert "Interrupted after 0 of 6 games." in done.stdout
    assert "Traceback" not in done.stderr
    assert not picture.exists()


def test_without_typer_there_is_a_word_about_the_extra() -> None:
    code = (
        "import sys; sys.modules['typer'] = None; from keyhole.cli import main; "
        "sys.argv = ['keyhole', '--help']; main()"
    )
    done = python(code)
    assert done.returncode == 2
    assert done.stderr == "keyhole: the command line needs typer: pip install 'keyhole[cli]'\n"


def test_the_shell_is_told_what_could_follow() -> None:
    code = (
        "import os, sys; os.environ.update(_KEYHOLE_COMPLETE='complete_bash', "
        "COMP_WORDS='keyhole run --learner onl', COMP_CWORD='3'); "
        "sys.argv = ['keyhole']; from keyhole.cli import main; main()"
    )
    assert "online-greedy" in python(code).stdout
