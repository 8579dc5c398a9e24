"""A loaded learner has the same future; a file that is not whole is refused."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.greedy.variants import PAPER, PRACTICAL, Variant
from keyhole.learners.registry import learner_classes
from keyhole.problem import Floats
from keyhole.problem.state import has_state
from keyhole.saving import api as state
from keyhole.saving import archive
from keyhole.saving.archive import decode
from tests.helpers.rounds import sparse_rows

NAMES = tuple("abcdefghijkl")


def data() -> tuple[Floats, Floats]:
    return sparse_rows(200, 12, {1: 1.0, 4: -0.5}, seed=5)


def played(name: str, rounds: int = 90, late: int = 2) -> Any:
    """A learner after some rounds, with tickets open."""
    problem = kh.Problem(12, 3, 12 if kh.LEARNERS[name].reads_everything else 6, NAMES)
    learner = kh.LEARNERS[name](problem, seed=11)
    X, y = data()
    kh.play(learner, kh.streams.ArrayStream(X[:rounds], y[:rounds], names=NAMES))
    for _ in range(late):
        learner.ask()
    return learner


@pytest.mark.parametrize("name", kh.LEARNERS)
def test_every_learner_of_the_registry_can_be_saved_and_found(name: str, tmp_path: Path) -> None:
    learner = played(name)
    assert has_state(learner)
    assert type(learner) in learner_classes().values()
    kh.save(learner, tmp_path / "a.npz")
    again = kh.load(tmp_path / "a.npz")
    assert type(again) is type(learner)
    assert again.problem == learner.problem
    assert again.round == learner.round == 92
    kh.save(again, tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


FUTURE = """
import sys
import numpy as np
import keyhole as kh
X, y = np.load("X.npy"), np.load("y.npy")
for name in sys.argv[1:]:
    learner = kh.load(name + ".npz")
    tickets = [kh.Ticket.from_json(line) for line in open(name + ".tickets")]
    for ticket in reversed(tickets):
        learner.tell(ticket.fill(X[0][ticket.features]), 0.25)
    ledger = kh.play(learner, kh.streams.ArrayStream(X, y, names=learner.problem.names))
    print([float(p).hex() for p in ledger.predictions], ledger.reads.tolist())
"""


@pytest.fixture(scope="module")
def futures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str]]:
    """What each learner does from here on, in this process and in another."""
    tmp_path = tmp_path_factory.mktemp("futures")
    X, y = data()
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    ours = []
    for name in kh.LEARNERS:
        learner = played(name)
        tickets = [learner.ask() for _ in range(3)]
        kh.save(learner, tmp_path / f"{name}.npz")
        (tmp_path / f"{name}.tickets").write_text("\n".join(t.to_json() for t in tickets))
        for ticket in reversed(tickets):
            learner.tell(ticket.fill(X[0][ticket.features]), 0.25)
        ledger = kh.play(learner, kh.streams.ArrayStream(X, y, names=NAMES))
        ours.append(f"{[float(p).hex() for p in ledger.predictions]} {ledger.reads.tolist()}")
    theirs = subprocess.run(
        [sys.executable, "-c", FUTURE, *kh.LEARNERS],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    return dict(zip(kh.LEARNERS, zip(ours, theirs, strict=True), strict=True))


@pytest.mark.parametrize("name", kh.LEARNERS)
def test_the_future_is_the_same_in_another_process(
    name: str, futures: dict[str, tuple[str, str]]
) -> None:
    ours, theirs = futures[name]
    assert ours == theirs


def test_every_setting_comes_back() -> None:
    problem = kh.Problem(12, 3, 6)
    settings: dict[str, Any] = {
        "seed": 2**63 + 5,
        "noise_sd": 0.3,
        "threshold_scale": 0.07,
        "failure_probability": 0.01,
        "burn_in": 3,
        "weighting": "paper",
    }
    dantzig = kh.DantzigLearner(problem, **settings)
    again = state.from_bytes(state.to_bytes(dantzig), kh.DantzigLearner)
    assert {name: getattr(again, name) for name in settings} == settings
    for parts in (PAPER, PRACTICAL):
        greedy = kh.OnlineGreedyLearner(
            problem, seed=1, batch_size=7, slots=2, horizon=50, kappa=1.5, ridge=0.5, parts=parts
        )
        back = state.from_bytes(state.to_bytes(greedy), kh.OnlineGreedyLearner)
        for name in ("seed", "batch_size", "slots", "horizon", "kappa", "ridge", "parts"):
            assert getattr(back, name) == getattr(greedy, name)
        assert back._memory.start(np.array([0]))[0][0, 0, 0] == 0.5
    fixed = kh.FixedSubset(problem, support=[5, 2], intercept=False, ridge=0.1, seed=4)
    same = state.from_bytes(state.to_bytes(fixed), kh.FixedSubset)
    assert same.ask().features.tolist() == [2, 5]
    assert (same._centre, same.ridge, same._vaw.ridge, same.seed) == (False, 0.1, 0.1, 4)


def test_the_header_tells_what_is_in_the_file(tmp_path: Path) -> None:
    kh.save(played("dantzig"), tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "a.npz") as members:
        assert members.testzip() is None
        header = json.loads(members.read("header.json"))
    assert header["format"] == 2
    assert header["keyhole"] == kh.__version__
    assert header["learner"] == "DantzigLearner"
    assert header["problem"] == {"d": 12, "k": 3, "budget": 6, "names": list(NAMES)}
    assert header["settings"]["seed"] == 11
    assert header["round"] == 92
    (waiting,) = header["parts"]["desk"]["open"]
    assert waiting["rounds"]["of"] == [91, 92]
    with np.load(tmp_path / "a.npz") as arrays:  # as any other .npz, without pickle
        assert arrays["moments.pairs"].shape == (78,)


def test_custom_parts_cannot_be_saved() -> None:
    parts = Variant(PAPER.scheme, PRACTICAL.rate, PAPER.losses, PAPER.memory)
    learner = kh.OnlineGreedyLearner(kh.Problem(12, 3, 6), seed=0, parts=parts)
    with pytest.raises(kh.StateError, match="parts other than PAPER and PRACTICAL"):
        state.to_bytes(learner)


class Mine(kh.RunningMean):
    """A learner that keyhole does not know."""


class Odd(kh.RunningMean):
    """Keeps something that cannot be saved."""

    SAVED = ("_desk", "_n", "_y", "_odd")

    def __init__(self, problem: kh.Problem, *, seed: int = 0) -> None:
        super().__init__(problem, seed=seed)
        self._odd = object()


class Stateless(kh.Zero):
    """Has no state()."""

    state: Any = None


def test_a_learner_of_ones_own(tmp_path: Path) -> None:
    problem = kh.Problem(3, 1, 2)
    kh.save(Mine(problem), tmp_path / "a.npz")
    assert type(kh.load(tmp_path / "a.npz", Mine)) is Mine
    with pytest.raises(kh.StateError, match=r"not one of keyhole's.*pass its class as `kind`"):
        kh.load(tmp_path / "a.npz")
    with pytest.raises(kh.StateError, match="holds a Mine, not a Zero"):
        kh.load(tmp_path / "a.npz", kh.Zero)
    with pytest.raises(kh.StateError, match=r"Odd\._odd is a object, which cannot be saved"):
        kh.save(Odd(problem), tmp_path / "a.npz")
    with pytest.raises(kh.StateError, match="Stateless cannot be saved"):
        kh.save(Stateless(problem), tmp_path / "a.npz")
    assert type(kh.load(tmp_path / "a.npz", Mine)) is Mine


def test_a_newer_format_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(archive, "LEARNER_FORMAT", 9)
        kh.save(played("mean"), tmp_path / "a.npz")
    with pytest.raises(kh.StateError, match=r"a\.npz: its format 9 is newer .* upgrade"):
        kh.load(tmp_path / "a.npz")


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "numpy.npz", a=np.arange(3))
    np.savez_compressed(tmp_path / "packed.npz", a=np.arange(3))
    (tmp_path / "text.npz").write_text("Hello")
    (tmp_path / "empty.npz").write_bytes(b"")
    for path in tmp_path.iterdir():
        with pytest.raises(kh.StateError, match=r"npz: not a file of keyhole\.save"):
            kh.load(path)
    with pytest.raises(kh.StateError, match="cannot read"):
        kh.load(tmp_path / "nowhere.npz")
    with pytest.raises(kh.StateError, match="cannot read"):
        kh.load(tmp_path)


def test_a_file_that_is_cut_off_or_flipped_anywhere_is_refused() -> None:
    whole = state.to_bytes(played("mean"))
    for length in range(len(whole)):
        with pytest.raises(kh.StateError):
            decode(whole[:length])
    for place in range(len(whole)):
        for bit in range(8):
            flipped = bytearray(whole)
            flipped[place] ^= 1 << bit
            with pytest.raises(kh.StateError):
                decode(bytes(flipped))
    decode(whole)


def test_a_save_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.npz"
    kh.save(played("mean"), path)
    before = path.read_bytes()

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    for step in ("fsync", "replace"):
        with monkeypatch.context() as patched:
            patched.setattr(os, step, full)
            with pytest.raises(kh.StateError, match=r"cannot write .*: No space left on device"):
                kh.save(played("zero"), path)
        assert path.read_bytes() == before
        assert [p.name for p in tmp_path.iterdir()] == ["a.npz"]
    with pytest.raises(kh.StateError, match="cannot write"):
        kh.save(played("zero"), tmp_path / "no" / "folder.npz")


def test_a_name_that_cannot_be_written_is_named() -> None:
    """Half a surrogate pair, which json reads and no file can hold."""
    problem = kh.Problem(d=2, k=1, budget=1, names=("age", "a\ud800b"))
    with pytest.raises(kh.StateError, match=r"unpaired surrogate.*a\\ud800b.*rename it"):
        kh.save(kh.RandomSubset(problem), "nowhere.npz")
