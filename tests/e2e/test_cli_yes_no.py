"""The command line on targets that are yes or no."""

from pathlib import Path

import numpy as np
import pytest

from tests.helpers.cli import Cli, answer


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5))
    ill = rng.random(400) < 1 / (1 + np.exp(-3 * X[:, 1]))
    path = tmp_path_factory.mktemp("patients") / "patients.csv"
    lines = [
        ",".join([*(f"{v:.4f}" for v in x), "ill" if a else "well", str(2 * int(a) - 1)])
        for x, a in zip(X, ill, strict=True)
    ]
    path.write_text("\n".join(["a,b,c,d,e,outcome,sign", *lines]) + "\n")
    return path


SIZES = ("--budget", "3", "--sparsity", "1")


def test_run_and_predict(here: Cli, patients: Path, tmp_path: Path) -> None:
    page, saved = tmp_path / "r.html", tmp_path / "m.npz"
    options = ("--ignore", "sign", "--positive", "ill", "--report", page, "--save", saved)
    done = here("run", patients, "-t", "outcome", *SIZES, *options)
    assert done.returncode == 0, done.stderr
    said = "Yes or no: 'ill' is 1 (yes), 'well' is 0. Predictions are probabilities of yes."
    assert said in done.stdout
    assert "log loss" in done.stdout
    assert "Brier score  typical error" in done.stdout
    text = page.read_text()
    assert text.count("<svg") == 8  # errors over time, and no scatter of 0 and 1
    assert "Reliability" in text
    written = here("predict", saved, patients, "--out", tmp_path / "p.csv")
    assert "400 probabilities from b" in written.stdout
    head, *rows = (tmp_path / "p.csv").read_text().split()
    assert head.replace('"', "") == "row,probability"
    assert all(0 < float(row.split(",")[1]) < 1 for row in rows)


def test_json_and_two_numbers(here: Cli, patients: Path) -> None:
    done = here("run", patients, "-t", "sign", "--ignore", "outcome", *SIZES, "--yes-no", "--json")
    told = answer(done)
    assert told["answers"] == {"yes": "1", "no": "-1"}
    assert told["yes_no"]["rounds"] == 400
    assert told["yes_no"]["log_loss"] < told["yes_no"]["base_log_loss"]
    assert told["mean_loss"] == pytest.approx(told["yes_no"]["brier"])


def test_compare(here: Cli, patients: Path) -> None:
    how = ("--seeds", "1", "-j", "1", "-l", "auto", "--ignore", "sign")
    done = here("compare", patients, "-t", "outcome", *SIZES, *how)
    assert done.returncode == 0, done.stderr
    assert "Brier score" in done.stdout
    assert "AUC" in done.stdout


def test_history_has_the_same_answers(here: Cli, patients: Path, tmp_path: Path) -> None:
    head, *rows = patients.read_text().splitlines()
    (tmp_path / "old.csv").write_text("\n".join([head, *rows[:50]]) + "\n")
    options = ("--ignore", "sign", "--positive", "ill", "--history", tmp_path / "old.csv")
    done = here("run", patients, "-t", "outcome", *SIZES, *options, "--json")
    assert answer(done)["history_rows"] == 50
    cells = rows[0].replace("well", "dead").replace("ill", "dead")
    (tmp_path / "old.csv").write_text(f"{head}\n{cells}\n")
    done = here("run", patients, "-t", "outcome", *SIZES, *options)
    assert done.returncode == 2
    assert "must be as before" in done.stderr


def test_several_classes_are_refused_in_one_line(here: Cli, patients: Path) -> None:
    done = here("run", patients, "-t", "sign", "--positive", "3")
    assert done.returncode == 2
    assert done.stderr.strip() == "keyhole: patients.csv: the target 'sign' is never '3': " + (
        "it has -1, 1 (--positive)"
    )
