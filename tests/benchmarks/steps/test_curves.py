"""What one curve of loss against money saves against another."""

import math

import numpy as np
import pytest

from benchmarks.steps.curves import Curve, curve, in_order, loss_for, of_trees, spent_for
from benchmarks.steps.offline import TREES, nested_sets
from keyhole.problem import Problem

AT = Curve(np.array([1.0, 2.0, 4.0]), np.array([0.8, 0.6, 0.2]))


@pytest.mark.parametrize(("loss", "spent"), [(0.9, 1.0), (0.7, 1.5), (0.4, 3.0), (0.2, 4.0)])
def test_money_for_a_loss(loss: float, spent: float) -> None:
    assert spent_for(AT, loss) == pytest.approx(spent)


def test_what_is_not_reached_is_not_told() -> None:
    assert math.isnan(spent_for(AT, 0.1))
    assert math.isnan(loss_for(AT, 0.5))
    assert math.isnan(loss_for(AT, 5.0))
    assert loss_for(AT, 3.0) == pytest.approx(0.4)


def test_levels_are_means_over_seeds_in_the_order_of_money() -> None:
    rows = [
        {"way": "a", "history": 0, "level": level, "seed": seed, "spent": spent + seed, "loss": 0.5}
        for level, spent in ((1.0, 5.0), (2.0, 3.0))
        for seed in (0, 2)
    ]
    found = curve(rows, "a", 0)
    assert found.spent.tolist() == [4.0, 6.0]
    assert in_order(np.array([2.0, 1.0]), np.array([0.1, 0.2])).loss.tolist() == [0.2, 0.1]


def test_trees_have_as_many_sets_as_all_orders_have() -> None:
    def row(seed: int, sets: list[list[float]]) -> dict[str, object]:
        return {"way": TREES, "seed": seed, "sets": sets, "stopped early": [[5.0, 1.5, 0.7]]}

    sets, early = of_trees([row(0, [[1, 0.9], [2, 0.8]]), row(1, [[1, 0.7]])])
    assert sets.loss.tolist() == [pytest.approx(0.8)]
    assert (early.spent.tolist(), early.loss.tolist()) == ([1.5], [0.7])


def test_sets_are_nested_affordable_and_begin_with_the_best_for_the_money() -> None:
    X = np.random.default_rng(0).standard_normal((500, 4))
    y = X[:, 0] + 0.9 * X[:, 1] + 0.5 * X[:, 2]
    problem = Problem(4, 2, 5.0, prices=[4, 1, 2, 9])
    sets = [S.tolist() for S in nested_sets(problem, X, y)]
    assert sets == [[1], [1, 0]] or sets == [[1], [0, 1]]
    assert all(problem.affords(S) for S in sets)
