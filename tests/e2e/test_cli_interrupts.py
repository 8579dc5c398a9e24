"""Ctrl-C with --save and --report: the learner is saved first, and no further Ctrl-C loses it.

A real process gets real signals. Its learner waits in the middle of a block, and the report waits
before it is written, until the test has pressed: nothing here depends on how fast a machine is.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import keyhole as kh
from tests.helpers.cli import Cli

# Plays as `random` does, and says where it is: the test answers by creating the file `go`.
PATIENT = """
import pathlib, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored by who started us
import keyhole as kh
import keyhole.report.page, keyhole.saving.api
from keyhole.cli.app import run
from keyhole.learners.registry import LearnerRow

folder = pathlib.Path(sys.argv[1])

def wait(name):
    (folder / name).touch()
    while not (folder / f"{name}-go").exists():
        time.sleep(0.01)

class RandomSubset(kh.RandomSubset):  # saved under the name of keyhole's own
    def advance(self, X, y, bought=None):
        if self.round == 1024:
            wait("block")
        return super().advance(X, y, bought)

class Row(LearnerRow):
    def __call__(self, problem, *, seed=0):
        return RandomSubset(problem, seed=seed)

save = keyhole.saving.api.save

def slow_save(learner, path):
    wait("save")
    save(learner, path)

def slow_write(made, path):
    wait("report")
    pathlib.Path(path).touch()

keyhole.saving.api.save, keyhole.report.page.write = slow_save, slow_write
kh.LEARNERS["patient"] = Row("patient", "baselines:RandomSubset", "", "baseline")
sys.exit(run(sys.argv[2:]))
"""


class Playing:
    """A run of the clinic that saves and reports, in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.model = folder, folder / "model.npz"
        self.report = folder / "out.html"
        keep = ("--save", str(self.model), "--report", str(self.report))
        sizes = ("-l", "patient", "-b", "2", "-k", "1")
        self.process = subprocess.Popen(
            [sys.executable, "-c", PATIENT, str(folder), "run", *sizes, *keep],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def reaches(self, name: str) -> None:
        """Wait until it waits there."""
        self.until((self.folder / name).exists)

    def until(self, there: Callable[[], bool]) -> None:
        ends = time.monotonic() + 120
        while not there():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < ends
            time.sleep(0.01)

    def press(self) -> None:
        """Ctrl-C; the process has heard it when this returns, as far as a test can tell."""
        os.kill(self.process.pid, signal.SIGINT)
        time.sleep(0.3)

    def go(self, *names: str) -> None:
        for name in names:
            (self.folder / f"{name}-go").touch()

    def ends(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=120)
        assert "Traceback" not in err
        return self.process.returncode, out, err

    def saved_rounds(self) -> int:
        return kh.load(self.model).round


@pytest.fixture
def playing(tmp_path: Path) -> Iterator[Playing]:
    game = Playing(tmp_path)
    yield game
    game.process.kill()
    game.process.communicate()


def test_one_ctrl_c_saves_first_and_sums_up(playing: Playing) -> None:
    playing.reaches("block")
    playing.press()
    playing.go("block", "save")
    playing.reaches("report")
    assert playing.saved_rounds() == 2048  # it is there before the report is written
    assert not playing.report.exists()
    playing.go("report")
    code, out, _ = playing.ends()
    assert code == 130
    assert f"Learner: {playing.model}" in out
    assert playing.report.exists()


@pytest.mark.parametrize("presses", [2, 4])
def test_more_of_them_before_it_is_saved_wait_for_that(playing: Playing, presses: int) -> None:
    playing.reaches("block")
    for _ in range(presses - 1):
        playing.press()
    playing.go("block")
    playing.reaches("save")
    playing.press()  # in the middle of saving
    playing.go("save")
    code, out, err = playing.ends()
    assert code == 130
    assert playing.saved_rounds() == 2048
    assert not playing.report.exists()  # it left as soon as the learner was saved
    assert f"Learner: {playing.model}" in out
    assert err.count("the learner is saved first") == 1


def test_a_second_one_after_it_is_saved_leaves_at_once(playing: Playing) -> None:
    playing.reaches("block")
    playing.press()
    playing.go("block", "save")
    playing.reaches("report")
    playing.press()
    code, out, _ = playing.ends()
    assert code == 130
    assert playing.saved_rounds() == 2048
    assert f"Learner: {playing.model}" in out
    assert not playing.report.exists()


def test_a_learner_that_cannot_be_saved_does_not_take_the_summary_with_it(
    here: Cli, tmp_path: Path
) -> None:
    place = tmp_path / "model.npz"
    place.mkdir()
    sizes = ("--rounds", 200, "-l", "random", "-b", 8, "-k", 4)
    done = here("run", *sizes, "--save", place)
    assert done.returncode == 2
    assert "How good it is" in done.stdout
    assert str(place) in done.stderr.splitlines()[-1]
