"""Sparse files from the command line: played, with history, saved, predicted, refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import keyhole as kh
from tests.helpers.cli import answer, in_this_process


def put(path: Path, rows: int, seed: int, d: int = 30) -> Path:
    """Rows whose label is x3 - x7; of later files the last features do not occur."""
    rng, lines = np.random.default_rng(seed), []
    for _ in range(rows):
        x = np.where(rng.random(d) < 0.3, rng.standard_normal(d).round(3), 0.0)
        pairs = " ".join(f"{j + 1}:{x[j]}" for j in np.flatnonzero(x))
        lines.append(f"{x[3] - x[7]:.3f} {pairs}\n")
    path.write_text("".join(lines))
    return path


@pytest.fixture
def files(tmp_path: Path) -> Path:
    put(tmp_path / "now.svm", 400, 0)
    put(tmp_path / "old.svm", 100, 1, d=20)
    put(tmp_path / "new.svm", 5, 2, d=10)
    return tmp_path


def test_run_with_history_then_predict(files: Path) -> None:
    sizes = ("-t", "label", "-b", 8, "-k", 2)
    options = ("--history", files / "old.svm", "--save", files / "m.npz", "--json")
    done = in_this_process("run", files / "now.svm", *sizes, *options)
    assert "assumed indices that begin with 1" in done.stderr
    found = answer(done)
    assert found["rounds"] == 400
    stream = kh.streams.read(files / "now.svm", target="label")
    learner = kh.AutoLearner(kh.Problem(d=30, k=2, budget=8), seed=0)
    learner.study(kh.streams.read(files / "old.svm", target="label", n_features=30))
    assert found["loss"] == pytest.approx(kh.play(learner, stream).loss)
    done = in_this_process("predict", files / "m.npz", files / "new.svm")
    assert done.returncode == 0, done.stderr
    given = [float(line.split(",")[1]) for line in done.stdout.splitlines()[1:]]
    X, _ = kh.streams.collect(kh.streams.read(files / "new.svm", target="label", n_features=30))
    model = learner.model()
    assert given == pytest.approx(model.predict(X[:, model.features]))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("-t", "rent"), "now.svm has no column 'rent': it has label, indices, values"),
        (("-t", "label", "--n-features", 4), "has 30 features or more, --n-features is 4"),
        (("-t", "label", "--absent", "0"), 'absent must be "zero"'),
    ],
)
def test_refused_in_one_line(files: Path, options: tuple[object, ...], says: str) -> None:
    done = in_this_process("run", files / "now.svm", *options)
    assert done.returncode != 0
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.usefixtures("blank_pictures")
def test_more_than_4096_features_are_compared_with_the_best_of_the_promising(files: Path) -> None:
    rng = np.random.default_rng(3)
    lines = []
    for _ in range(5):
        places = np.sort(rng.choice(4096, 60, replace=False)) + 2
        value = rng.standard_normal()
        lines.append(f"{value:.3f} 1:{value:.3f} " + " ".join(f"{j}:1" for j in places) + "\n")
    (files / "wide.svm").write_text("".join(lines))
    sizes = ("-t", "label", "-b", 8, "-k", 1, "--n-features", 4097)
    page = "--report", files / "wide.html"
    done = in_this_process("run", files / "wide.svm", *sizes, "-l", "iht", *page, "--json")
    found = answer(done)
    best = found["hindsight"]
    assert list(best["weights"]) == ["feature 0"]
    assert best["loss"]["low"] == best["loss"]["high"] == pytest.approx(0.0, abs=1e-6)
    assert "of 256 of 4,097 features" in best["loss"]["how"]
    assert any("no diagnosis" in note for note in found["notes"])
    assert "no diagnosis" in (files / "wide.html").read_text()
    shown = in_this_process("run", files / "wide.svm", *sizes[:2], *sizes[-2:], "-l", "iht").stdout
    assert "5 rounds, 4,097 features" in shown
    assert "8 of 4,097" in shown
    assert "a curve of 4,097 features takes too long. Or set --budget" in shown
