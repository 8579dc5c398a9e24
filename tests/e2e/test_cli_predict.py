"""keyhole run --save and --report, keyhole predict: what is kept of a run."""

import json
from pathlib import Path

import numpy as np
import pytest

import keyhole as kh
from tests.helpers.cli import Cli


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Patients to learn from, others to predict."""
    folder = tmp_path_factory.mktemp("patients")
    patients, _ = kh.streams.clinic(300)
    kh.streams.write(patients, folder / "past.parquet", target="days")
    later, _ = kh.streams.clinic(300, seed=8)
    kh.streams.write(later, folder / "new.csv", target="days")
    return folder


@pytest.mark.usefixtures("blank_pictures")
def test_a_saved_learner_predicts_from_its_features_alone(here: Cli, folder: Path) -> None:
    model, out = folder / "model.npz", folder / "predictions.parquet"
    report = folder / "report.html"
    kept = ("--save", model, "--report", report, "--json")
    run = here("run", folder / "past.parquet", "-t", "days", *kept)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert (found["save"], found["report"]) == (str(model), str(report))
    assert "crp_mg_l" in report.read_text(encoding="utf-8")

    done = here("predict", model, folder / "new.csv", "--out", out, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    weights = found["sparse_model"]["weights"]
    assert told["features"] == list(weights)

    rows = kh.streams.read(folder / "new.csv", target="days", features=list(weights))
    X, _ = kh.streams.collect(rows)
    lacking = np.isnan(X).any(axis=1)
    learner = kh.load(model)
    assert isinstance(learner, kh.AutoLearner)
    centres = learner.model().centres
    assert centres is not None
    X = np.where(np.isnan(X), centres, X)  # a missing value is taken for its centre
    expected = X @ np.array(list(weights.values())) + found["sparse_model"]["intercept"]
    written = kh.streams.read(out, target=None)
    got, _ = kh.streams.collect(written)
    assert written.names == ("row", "prediction")
    np.testing.assert_allclose(got[:, 1], expected, rtol=1e-12)
    assert told["rows"] == len(expected) == 300
    assert told["without_prediction"] == 0
    assert told["filled_in"] == lacking.sum() > 0

    # Other columns are not read: what stands in them does not matter, nor whether they are there.
    lines = (folder / "new.csv").read_text().splitlines()
    names = [name.strip('"') for name in lines[0].split(",")]
    places = [names.index(name) for name in weights]
    few = [",".join(line.split(",")[i] for i in places) + ",spoilt" for line in lines]
    text = "\n".join([few[0].replace("spoilt", "other"), *few[1:]]) + "\n"
    again = here("predict", model, "-", stdin=text)
    assert again.returncode == 0, again.stderr
    values = [line.split(",")[1] for line in again.stdout.splitlines()[1:]]
    np.testing.assert_allclose([float(v or "nan") for v in values], expected, rtol=1e-12)


def test_what_cannot_be_predicted_is_one_line(here: Cli, folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "random.npz"
    made = here("run", folder / "past.parquet", "-t", "days", "-l", "random", "--save", model)
    assert made.returncode == 0, made.stderr
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    for arguments, word in (
        ((model, tmp_path / "other.csv"), "no column for the feature"),
        ((tmp_path / "other.csv", folder / "new.csv"), "other.csv"),
        ((tmp_path / "none.npz", folder / "new.csv"), "none.npz"),
        ((model, folder / "new.csv", "--out", tmp_path / "p.txt"), "p.txt"),
        ((model, folder / "new.csv", "--json"), "--out"),
    ):
        done = here("predict", *arguments)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert done.stderr.startswith("keyhole: ")
        assert word in done.stderr
