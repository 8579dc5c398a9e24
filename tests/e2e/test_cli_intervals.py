"""keyhole run --coverage, keyhole predict --coverage."""

import csv
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.cli import Cli, answer


@pytest.fixture
def flats(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 4))
    y = 3.0 + X[:, 1] + 0.2 * rng.standard_normal(400)
    path = tmp_path / "flats.csv"
    lines = [
        ",".join(map(repr, [*x.tolist(), label])) for x, label in zip(X, y.tolist(), strict=True)
    ]
    path.write_text("a,b,c,d,rent\n" + "\n".join(lines) + "\n")
    return path


def test_run_and_predict(here: Cli, flats: Path, tmp_path: Path) -> None:
    model, out = tmp_path / "m.npz", tmp_path / "out.csv"
    size = ("-b", 2, "-k", 1, "-l", "random")
    done = here("run", flats, "-t", "rent", *size, "--coverage", 0.9, "--save", model, "--json")
    told = answer(done)["intervals"]
    assert told["coverage"] == 0.9
    assert told["rounds"] == 399
    assert abs(told["covered_share"] - 0.9) < 0.03
    said = answer(here("predict", model, flats, "--coverage", 0.9, "-o", out, "--json"))
    below, above = said["below_and_above"]
    assert below < 0 < above
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["row", "prediction", "low", "high"]
    assert float(rows[5]["low"]) == pytest.approx(float(rows[5]["prediction"]) + below)
    words = here("run", flats, "-t", "rent", *size, "--coverage", 0.5).stdout
    assert "labels within their 50 % intervals" in words


def test_what_cannot_be_is_refused(here: Cli, flats: Path, tmp_path: Path) -> None:
    done = here("run", flats, "-t", "rent", "-b", 2, "-k", 1, "--coverage", 90)
    assert done.returncode != 0
    assert "coverage must be a share of rounds from 0.01 to 0.999, such as 0.9" in done.stderr
