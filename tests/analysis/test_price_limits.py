"""Hindsight under money, against enumeration: a limit per example, or what an error is worth."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keyhole as kh
from keyhole.problem.prices import Money
from keyhole.streams import ArrayStream
from tests.helpers.priced_models import Shop, every_model, least, shop


def stream_of(case: Shop) -> ArrayStream:
    return ArrayStream(case.X, case.y)


@given(seed=st.integers(0, 10**6), d=st.integers(1, 7))
@settings(deadline=None, max_examples=30)
def test_the_best_model_of_a_cost(seed: int, d: int) -> None:
    case = shop(seed, d)
    models, rng = every_model(case), np.random.default_rng(seed)
    limit, k = int(rng.integers(0, sum(case.prices.units) + 1)), int(rng.integers(1, d + 1))
    for most in (None, k):
        cost = case.prices.money(limit)
        best = kh.hindsight(
            stream_of(case), most, cost=cost, prices=case.prices, seconds=60.0, intercept=False
        )
        assert best.loss.low == best.loss.high
        assert best.loss.high == pytest.approx(least(models, limit, most), rel=1e-7)
        assert best.cost == case.prices.cost(best.support)
        assert best.cost <= cost
        assert best.k == (d if most is None else most) >= len(best.support)
        assert (best.worth, best.total) == (None, None)
        error = case.y - case.X @ best.weights
        assert error @ error == pytest.approx(best.loss.high, rel=1e-6)


@given(seed=st.integers(0, 10**6), d=st.integers(1, 7), share=st.floats(0.001, 0.5))
@settings(deadline=None, max_examples=30)
def test_the_best_model_for_what_an_error_is_worth(seed: int, d: int, share: float) -> None:
    case = shop(seed, d)
    models, n, unit = every_model(case), len(case.y), 10.0**-case.prices.decimals
    worth = n * unit * max(sum(case.prices.units), 1) / (share * case.moments[2])
    best = kh.hindsight(
        stream_of(case), worth=worth, prices=case.prices, seconds=60.0, intercept=False
    )
    assert best.total is not None
    assert best.cost is not None
    assert best.total.low == best.total.high
    assert best.total.high == pytest.approx(worth * best.loss.high + n * best.cost)
    assert best.total.high == pytest.approx(worth * least(models, rate=n * unit / worth), rel=1e-7)
    assert best.worth == worth
    assert best.loss.width == 0
    stopped = kh.hindsight(
        stream_of(case), worth=worth, prices=case.prices, seconds=0.0, intercept=False
    )
    assert stopped.total is not None
    assert stopped.total.low <= best.total.high * (1 + 1e-9)
    assert stopped.total.high >= best.total.low * (1 - 1e-9)


def clinic() -> tuple[ArrayStream, kh.Problem]:
    """Four features: one free, two on a panel, one dear; labels far from 0."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 4)) + np.array([0.0, 5.0, -3.0, 100.0])
    y = X @ [0.5, 1.0, -1.3, 2.0] + 0.3 * rng.normal(size=400) + 50.0
    names = ("age", "crp", "alb", "scan")
    problem = kh.Problem(
        d=4, k=1, budget=30, names=names,
        prices={"age": 0, "crp": "0.10", "alb": "0.20", "scan": "22.78"},
        panels={"blood": (4, ["crp", "alb"])},
    )  # fmt: skip
    return ArrayStream(X, y, names=names), problem


def test_limits_are_exact_to_the_last_cent() -> None:
    rows, problem = clinic()
    cases: list[tuple[Money, list[int]]] = [
        (0, [0]),
        (Decimal("4.29"), [0, 2]),
        ("4.3", [0, 1, 2]),
        (4.1 + 0.2, [0, 1, 2]),
        (4.3 - 1e-12, [0, 1, 2]),  # from a division, not a price
        (26.87, [0, 3]),
        (27.07, [0, 2, 3]),
        (27.08, [0, 1, 2, 3]),
        (10**6, [0, 1, 2, 3]),
    ]
    for cost, features in cases:
        best = kh.hindsight(rows, cost=cost, prices=problem, intercept=True)
        assert best.support.tolist() == features, cost
        assert best.cost == problem.cost(features)
    assert best.r2 > 0.98


def test_an_additional_number_of_features_counts_the_free_ones() -> None:
    rows, problem = clinic()
    best = kh.hindsight(rows, 2, cost=4.3, prices=problem, intercept=True)
    assert best.support.tolist() == [1, 2]
    any_cost = kh.hindsight(rows, 2, prices=problem.prices, intercept=True)
    unpriced = kh.hindsight(rows, 2, intercept=True)
    assert any_cost.loss.high == pytest.approx(unpriced.loss.high)
    assert any_cost.support.tolist() == unpriced.support.tolist()
    assert any_cost.cost == problem.cost(unpriced.support)
    assert (unpriced.cost, unpriced.total, unpriced.worth) == (None, None, None)


def test_beside_the_past() -> None:
    """What earlier labels explain is explained at no cost."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 3)), np.zeros(600)
    for t in range(1, 600):
        y[t] = 0.95 * y[t - 1] + X[t] @ [0.2, 0.3, 0.1] + 0.1 * rng.normal()
    problem = kh.Problem(d=3, k=1, budget=3, prices=[1, 3, 1])
    rows = ArrayStream(X, y)
    alone = kh.hindsight(rows, cost=3, prices=problem, intercept=False)
    best = kh.hindsight(rows, cost=3, prices=problem, past=True, intercept=False)
    assert best.past is not None
    assert best.loss.high < 0.2 * alone.loss.high
    assert best.support.tolist() == [1]
    pairs = [
        kh.hindsight(rows, 1, past=True, intercept=False),
        kh.hindsight(rows, 2, past=True, intercept=False),
    ]
    assert best.loss.high == pytest.approx(pairs[0].loss.high)
    assert best.loss.high > pairs[1].loss.high


def test_regret_in_losses_and_in_money() -> None:
    rows, problem = clinic()
    ledger = kh.play(kh.RandomSubset(problem.replace(budget=30), seed=1), rows)
    limited = kh.hindsight(rows, cost=30, prices=problem, intercept=True)
    assert kh.regret(ledger, limited).high == ledger.loss - limited.loss.low
    worth = 3.0
    best = kh.hindsight(rows, worth=worth, prices=problem, intercept=True)
    assert best.total is not None
    gap = kh.regret(ledger, best)
    assert gap.low == gap.high == worth * ledger.loss + ledger.spent - best.total.high
    assert gap.low > 0
    unpriced = kh.play(kh.RandomSubset(kh.Problem(d=4, k=1, budget=2), seed=1), rows)
    with pytest.raises(kh.DataError, match="without prices"):
        kh.regret(unpriced, best)


NO_PRICES = kh.Problem(d=4, k=1, budget=2)
OTHER_NAMES = NO_PRICES.replace(prices=[1, 1, 1, 1], names=("a", "b", "c", "d"))
WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "k must be given, or prices and with them cost or worth"),
    ({"cost": 3}, "cost needs prices: give prices="),
    ({"worth": 3}, "worth needs prices: give prices="),
    ({"cost": 3, "worth": 1.0, "prices": "clinic"}, "cost and worth exclude each other"),
    ({"prices": "clinic"}, "prices alone limit nothing"),
    ({"cost": math.nan, "prices": "clinic"}, "cost must be an amount of at least 0.*got nan"),
    ({"cost": math.inf, "prices": "clinic"}, "cost must be an amount"),
    ({"cost": -1, "prices": "clinic"}, "cost must be an amount of at least 0.*got -1"),
    ({"cost": "dear", "prices": "clinic"}, "cost must be an amount"),
    ({"cost": True, "prices": "clinic"}, "cost must be an amount"),
    ({"worth": math.nan, "prices": "clinic"}, "worth must be finite"),
    ({"worth": 0.0, "prices": "clinic"}, "worth must be positive, got 0"),
    ({"worth": -2.0, "prices": "clinic"}, "worth must be positive, got -2"),
    ({"cost": 3, "prices": [1, 2, 3, 4]}, "prices must be a Problem that has prices"),
    ({"cost": 3, "prices": NO_PRICES}, "this Problem has none"),
    ({"cost": 3, "prices": OTHER_NAMES}, "name their features differently"),
    ({"cost": 3, "prices": kh.Problem(2, 1, 2, prices=[1, 1])}, "2 features, the stream 4"),
    ({"cost": 3, "prices": kh.Problem(2, 1, 2, prices=[1, 1]).prices}, "of 2 features.*has 4"),
    ({"cost": 3, "k": 5, "prices": "clinic"}, "k must be at most d = 4"),
    ({"cost": 3, "k": 0, "prices": "clinic"}, "k must be at least 1"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG)
def test_wrong_arguments_get_one_clear_line(arguments: dict[str, Any], message: str) -> None:
    rows, problem = clinic()
    if arguments.get("prices") == "clinic":
        arguments = {**arguments, "prices": problem}
    with pytest.raises(kh.ProblemError, match=message) as raised:
        kh.hindsight(rows, **arguments)
    assert "\n" not in str(raised.value)
