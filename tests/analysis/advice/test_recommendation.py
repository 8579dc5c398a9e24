"""What a curve recommends, and its words."""

import json
from dataclasses import replace

import numpy as np
import pytest

import keyhole as kh
from keyhole.analysis.advice.curves import (
    LEAST_BUDGET,
    kept,
    knee,
    percent,
    reads_for,
    shown,
    smallest_enough,
)


def curve(explained: list[float], behind: float = 0.001, d: int = 20) -> kh.BudgetCurve:
    n = len(explained)
    return kh.BudgetCurve(
        k=np.arange(n),
        explained=np.array(explained),
        error=np.full(n, 0.01),
        in_sample=np.array(explained) + 0.02,
        behind_error=np.full(n, behind),
        features=tuple(tuple(range(k)) for k in range(n)),
        names=tuple(f"x{j}" for j in range(d)),
        rows=500,
        passed=500,
    )


def test_the_smallest_within_an_error_or_three_percent() -> None:
    shares = [0.0, 0.4, 0.6, 0.66, 0.69, 0.70, 0.701]
    assert curve(shares).sparsity == 4  # 0.69 >= 0.97 * 0.701
    assert curve(shares, behind=0.05).sparsity == 3
    assert curve(shares, behind=0.2).sparsity == 2
    assert curve(shares).best == 6
    assert curve([0.0, -0.1, 0.02], behind=0.03).sparsity == 0
    assert curve([0.0, -0.1, -0.02]).sparsity == 0


def test_the_edges_of_the_rules() -> None:
    assert (
        smallest_enough(np.array([0.0, 0.5, 1.0]), np.array([0.5, 0.0, 0.0])) == 0
    )  # two errors exactly
    assert (
        smallest_enough(np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.5, 0.0])) == 1
    )  # one error exactly
    assert knee(np.array([0.0, 0.5, 1.0]), 2) == 0  # a straight line bends nowhere
    assert percent(0.25, 0.005).startswith("25% ")
    assert shown(50, (7,)) == [*range(9), 10, 12, 16, 20, 24, 32, 40, 48, 50]


def test_columns_of_the_table_end_where_their_heads_do() -> None:
    head, *rows = curve([0.0, 0.3, 0.6, 0.66, 1.0])._table()
    assert head == "features  explained  in sample  which"
    assert all(row[: head.index("  which")].endswith("%") for row in rows)


def test_the_words() -> None:
    said = curve([0.0, 0.3, 0.6, 0.66, 0.69, 0.70, 0.71]).recommendation
    assert said == (
        "4 features explain 69% ± 1%; 6 would explain 71% ± 1%, and more than 6 were not tried; "
        "below 2 it falls quickly (1: 30% ± 1%)."
    )
    varied = replace(
        curve([0.0, 0.3, 0.7, 0.71, 0.5]), error=np.array([0.0, 0.02, 0.03, 0.04, 0.05])
    )
    assert varied.recommendation == "2 features explain 70% ± 3%; 3 would explain 71% ± 4%."
    bent = replace(
        curve([0.0, 0.3, 0.6, 0.66, 0.69]), error=np.array([0.0, 0.02, 0.03, 0.04, 0.05])
    )
    assert bent.recommendation.endswith("below 2 it falls quickly (1: 30% ± 2%).")
    said = curve([0.0, 0.7, 0.69], d=2).recommendation
    assert said == "1 feature explains 70% ± 1%; more would not explain more."
    assert "up to 2 is seen" in curve([0.0, -0.1, -0.02]).recommendation
    assert "buy nothing" in curve([0.0, -0.1, -0.02]).recommendation
    said = curve([0.0, 0.3, 0.7], d=2).recommendation
    assert said == "2 features explain 70% ± 1%."
    said = curve([0.0, 0.3, 0.7]).recommendation
    assert said == "2 features explain 70% ± 1%, and more than 2 were not tried."
    said = curve([0.0, 0.1, 0.7, 0.72, 0.5]).recommendation
    assert said == "2 features explain 70% ± 1%; 3 would explain 72% ± 1%."


def test_the_budget_keeps_as_many_as_the_model_has() -> None:
    for d in (3, 8, 30, 200):
        for k in range(1, min(d, 40) + 1):
            budget = reads_for(k, d)
            sizes = kh.AutoParts().sizes(kh.Problem(d, k, budget))
            assert k <= budget <= d
            assert sizes.pool >= k
            # The least that does, but for the safety net.
            fewer = [b for b in range(k, budget) if kept(b, d) >= k]
            assert all(b < LEAST_BUDGET for b in fewer)
            assert budget >= min(LEAST_BUDGET, d)
            told = reads_for(k, d, least=1)
            assert k <= told <= budget
            assert kept(told, d) >= k
            assert not [b for b in range(k, told) if kept(b, d) >= k]


def test_as_text_and_json() -> None:
    found = curve([0.0, 0.3, 0.6, 0.66, 0.69, 0.70, 0.71, 0.69, 0.69, 0.69, 0.69, 0.69, 0.69])
    lines = str(found).splitlines()
    assert lines[0] == "Looked at: all 20 features of 500 rows."
    (chosen,) = (line for line in lines if "*" in line)
    assert chosen.split()[:4] == ["4*", "69%", "±", "1%"]
    assert any(line.endswith("x4, x5 and 6 more") for line in lines)
    assert lines[-2].startswith("Recommended: sparsity 4, budget 6 ")
    assert lines[-1].startswith("After these rows as history: budget 5, ")
    assert found.as_json()["budget_after_history"] == found.budget_after_history == 5
    told = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert told["features"][2] == ["x0", "x1"]
    assert (told["sparsity"], told["budget"], told["knee"], told["best"]) == (4, 6, 2, 6)
    assert told["explained"] == found.explained.tolist()
    assert told["reads_per_example"] == 20


@pytest.mark.parametrize("most", [6, 7])
def test_more_than_six_features_are_named_below_the_table(most: int) -> None:
    found = curve([k / most for k in range(most + 1)])
    names = ", ".join(f"x{j}" for j in range(most))
    below = f"The {most} features, most useful first: {names}."
    assert (below in str(found).splitlines()) == (most > 6)
    assert ("x4, x5 and 1 more" in str(found)) == (most > 6)
    assert " and 0 more" not in str(found)


def test_a_curve_that_falls_apart_recommends_nothing() -> None:
    rng = np.random.default_rng(0)
    noise = kh.streams.ArrayStream(rng.normal(size=(200, 10)), rng.normal(size=200))
    found = kh.budget_curve(noise)
    assert found.sparsity == found.budget == 0
    assert "Recommended" not in str(found)
    assert found.in_sample[10] > found.explained[10] + 0.05


@pytest.mark.parametrize("k", [0, 3])
def test_stages_are_told(k: int) -> None:
    said: list[str] = []
    stream, _ = kh.streams.realizable(d=5, k=2, n=100 + k, seed=0)
    kh.budget_curve(stream, stage=said.append)
    assert said[0] == "counting rows"
    assert "models without part 20 of 20" in said
    assert said[-1] == "testing them"
