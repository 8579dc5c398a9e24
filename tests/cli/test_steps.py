"""keyhole run --steps: what it needs, and what the summary says."""

from pathlib import Path

import numpy as np
import pytest

from keyhole.cli.spending import SpendingRule, refuse_steps_without
from keyhole.problem import ProblemError
from tests.helpers.cli import answer, in_this_process


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    X = np.random.default_rng(1).standard_normal((900, 3))
    ill = np.where(np.abs(X[:, 0]) > 0.5, X[:, 0] > 0, X[:, 1] > 0)
    lines = [",".join([*(f"{v:.4f}" for v in x), str(int(y))]) for x, y in zip(X, ill, strict=True)]
    rows, prices = tmp_path / "rows.csv", tmp_path / "prices.csv"
    rows.write_text("\n".join(["tsh,t3,scan,ill", *lines]) + "\n")
    prices.write_text("feature,price\ntsh,5\nt3,8\nscan,50\n")
    return str(rows), str(prices)


def test_steps_need_a_price_of_errors_or_a_purse() -> None:
    with pytest.raises(ProblemError, match="--worth V"):
        refuse_steps_without(SpendingRule(), 0.0)
    with pytest.raises(ProblemError, match="leave --audit out"):
        refuse_steps_without(SpendingRule(worth=3.0), 0.5)
    refuse_steps_without(SpendingRule(worth=3.0), 0.0)
    refuse_steps_without(SpendingRule(purse=3.0, horizon=5), 0.0)


def test_the_summary_says_how_far_rows_went(files: tuple[str, str]) -> None:
    rows, prices = files
    given = "run", rows, "-t", "ill", "--prices", prices, "--worth", "300", "--sparsity", "2"
    shown = in_this_process(*given, "--steps").stdout
    assert "rows that stopped early" in shown
    assert "saved by stopping" in shown
    told = answer(in_this_process(*given, "--steps", "--json"))
    assert told["steps"]["rounds"] == 900
    assert told["money"]["spent"] + told["steps"]["not_bought"] == 900 * 63
    assert "stopped early" not in in_this_process(*given).stdout
