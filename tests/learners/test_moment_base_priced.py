"""Forward selection within the money: affordable, and the usual one if all is affordable."""

import itertools

import numpy as np
import pytest

from keyhole.learners.blocks.fit.purchase import shop_of
from keyhole.learners.blocks.sums.seen_sums import SeenSums
from keyhole.learners.moment_base import select_affordable, select_forward, select_greedily
from keyhole.problem import Floats, Problem


def _told(X: Floats, y: Floats) -> SeenSums:
    sums = SeenSums(X.shape[1])
    for x, label in zip(X, y.tolist(), strict=True):
        sums.add(np.arange(X.shape[1]), x, label)
    return sums


def _explained(X: Floats, y: Floats, S: tuple[int, ...]) -> float:
    Z, u = (X - X.mean(axis=0))[:, list(S)], y - y.mean()
    left = u - Z @ np.linalg.lstsq(Z, u, rcond=None)[0] if S else u
    return 1.0 - float(left @ left) / float(u @ u)


@pytest.mark.parametrize("seed", range(8))
def test_it_is_affordable_and_near_the_best_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((400, 8)) @ (np.eye(8) + 0.3 * rng.standard_normal((8, 8)))
    y = X @ rng.standard_normal(8) + rng.standard_normal(400)
    prices, panels = rng.integers(1, 9, 8).tolist(), {"a": (3, [0, 1, 2])}
    problem, sums = Problem(8, 3, 14, prices=prices, panels=panels), _told(X, y)
    chosen = tuple(sorted(select_affordable(shop_of(problem, listed=True), 3, 1e-9, sums).tolist()))
    assert problem.affords(chosen)
    assert len(chosen) <= 3
    sets = [s for n in range(4) for s in itertools.combinations(range(8), n) if problem.affords(s)]
    best = max(_explained(X, y, s) for s in sets)
    # The notes found .939 at worst for gain per price on other streams; a third less is a bug.
    assert _explained(X, y, chosen) >= 0.8 * best
    for per_price in (False, True):
        each, share = select_greedily(
            shop_of(problem, listed=True), 3, 1e-9, sums, per_price=per_price
        )
        assert share == pytest.approx(_explained(X, y, tuple(each.tolist())), rel=1e-6)
        assert _explained(X, y, chosen) >= share - 1e-6


def test_where_all_is_affordable_it_is_forward_selection() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 10))
    y = X @ rng.standard_normal(10)
    sums = _told(X, y)
    rich = Problem(10, 4, 100, prices=[1] * 10)
    chosen = select_affordable(shop_of(rich, listed=True), 4, 1.0, sums)
    assert chosen.tolist() == select_forward(np.arange(10), 4, 0.0, 1.0, sums).chosen


def test_a_dear_feature_is_taken_if_it_is_worth_it_and_left_out_if_it_does_not_fit() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((2000, 4))
    y = X @ np.array([1.0, 0.3, 0.3, 0.0]) + 0.1 * rng.standard_normal(2000)
    sums = _told(X, y)
    for money, expected in ((10, [0]), (11, [0, 1]), (9, [1, 2])):
        problem = Problem(4, 2, money, prices=[10, 1, 2, 1])
        chosen = np.sort(select_affordable(shop_of(problem, listed=True), 2, 1.0, sums)).tolist()
        assert chosen == expected, money
