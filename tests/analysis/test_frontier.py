"""The frontier against enumeration: every cost at which the least loss changes, and only those."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.analysis import frontier as hindsight_frontier
from keyhole.problem.prices import price_list
from keyhole.streams import ArrayStream
from tests.helpers.priced_models import Model, Shop, every_model, least, shop


def steps(models: list[Model], k: int | None = None) -> list[tuple[int, float]]:
    """The costs at which the least loss falls, and to what."""
    found: list[tuple[int, float]] = []
    room = 1e-9 * models[0].rss  # that of no feature
    for units in sorted({m.units for m in models}):
        loss = least(models, units, k)
        if not found or loss < found[-1][1] - room:
            found.append((units, loss))
    return found


def drawn(case: Shop, **options: Any) -> kh.Frontier:
    rows = ArrayStream(case.X, case.y)
    options.setdefault("intercept", False)
    return kh.frontier(rows, prices=case.prices, **options)


@pytest.mark.parametrize("k", [None, 3])
@pytest.mark.parametrize("seed", range(8))
def test_against_enumeration(seed: int, k: int | None) -> None:
    case = shop(seed, 7)
    models = every_model(case)
    found = drawn(case, k=k, seconds=600.0)
    truth = steps(models, k)
    assert found.complete
    assert [p.cost for p in found.points] == [case.prices.money(u) for u, _ in truth]
    for point, (_, loss) in zip(found.points, truth, strict=True):
        assert point.loss.low == point.loss.high == pytest.approx(loss, rel=1e-7)
        assert case.prices.cost(list(point.features)) == point.cost
        assert point.r2 == pytest.approx(1 - loss / models[0].rss, abs=1e-7)
    for units in range(sum(case.prices.units) + 2):
        point = found.at(case.prices.money(units))
        assert point.loss.high == pytest.approx(least(models, units, k), rel=1e-7)
        assert point.loss.width <= 2e-9 * models[0].rss


@pytest.mark.parametrize("seed", range(6))
def test_every_cost_is_bounded_when_time_is_up(seed: int) -> None:
    case = shop(seed, 8)
    models = every_model(case)
    found = drawn(case, seconds=0.0)
    room = 2e-9 * models[0].rss
    for units in range(sum(case.prices.units) + 1):
        loss = found.at(case.prices.money(units)).loss
        assert loss.low - room <= least(models, units) <= loss.high + room


def lumpy(d: int = 11) -> Shop:
    """Many steps: features bring about what they cost, and every set has a cost of its own."""
    rng = np.random.default_rng(1)
    X, own = rng.normal(size=(400, d)), rng.integers(100, 999, d)
    y = X @ np.sqrt(own / 100.0) + 0.1 * rng.normal(size=400)
    return Shop(X, y, price_list(d, None, own.tolist(), None))


def test_forty_points_where_there_are_more() -> None:
    case = lumpy()
    models = every_model(case)
    assert len(steps(models)) > 60
    found = drawn(case, seconds=600.0)
    assert not found.complete
    assert "it may change between" in str(found)
    assert 30 <= len(found.points) <= hindsight_frontier.MAX_FRONTIER_POINTS
    for a, b in itertools.pairwise(found.points):
        assert a.cost < b.cost
        assert a.loss.high > b.loss.high
    assert found.points[0].features == ()
    assert len(found.points[-1].features) == 11
    for units in range(0, sum(case.prices.units), 37):
        loss = found.at(units).loss
        assert loss.low * (1 - 1e-9) <= least(models, units) <= loss.high * (1 + 1e-9)
    # Without the points between, the steps would be as wide as the whole.
    widths = [found.at(units).loss.width for units in range(0, sum(case.prices.units), 37)]
    assert np.mean(widths) < 0.05 * models[0].rss


def test_costs_that_are_asked_for() -> None:
    case = lumpy(6)
    models = every_model(case)
    costs = [900, 1, 450, 0, 10**5]
    found = drawn(case, costs=costs, prune=False, seconds=600.0)
    assert [p.loss.high for p in found.points] == pytest.approx([least(models, c) for c in costs])
    pruned = drawn(case, costs=costs, seconds=600.0)
    assert [p.cost for p in pruned.points] == sorted({p.cost for p in found.points})
    # Between them: what is affordable above, what the next limit allows below.
    between = pruned.at(600).loss
    assert between.high == pytest.approx(least(models, 450))
    assert between.low == pytest.approx(least(models, 900))
    few = drawn(case, costs=[450], seconds=600.0)
    assert few.at(2000).loss.low == 0.0  # nothing is known beyond 450
    assert few.at(450).loss.width == 0.0
    with pytest.raises(kh.ProblemError, match="no point costs 3 or less"):
        few.at(3)


def test_the_table() -> None:
    names = ("age", "crp", "alb", *(f"a rather long name {j}" for j in range(9)))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 12))
    y = X @ np.arange(1.0, 13.0)
    problem = kh.Problem(d=12, k=1, budget=9, names=names, prices=["0.50"] * 12)
    found = kh.frontier(
        ArrayStream(X, y, names=names), prices=problem, costs=[0, 0.5, 6], intercept=False
    )
    head, columns, first, second, last = str(found).split("\n")
    assert head.startswith("least loss in hindsight by cost per example, 200 rounds")
    assert columns.split() == ["cost", "least", "loss", "R2", "features"]
    assert first.split()[0] == "0.0"
    assert first.endswith("0.0000  none")
    assert second.endswith("1: a rather long name 8")
    assert last.split()[0] == "6.0"
    assert "12: age crp alb a rather" in last
    assert last.endswith(" more")
    assert max(len(line) for line in str(found).split("\n")) < 110


@pytest.mark.parametrize("wrong", [[], "30", 3, [[1, 2]], [-1], [float("nan")]])
def test_wrong_costs(wrong: object) -> None:
    with pytest.raises(kh.ProblemError, match="costs"):
        drawn(lumpy(3), costs=wrong)


def test_wrong_prices_and_costs_to_look_up() -> None:
    case = lumpy(3)
    rows = ArrayStream(case.X, case.y)
    with pytest.raises(kh.ProblemError, match="this Problem has none"):
        kh.frontier(rows, prices=kh.Problem(d=3, k=1, budget=2), intercept=False)
    with pytest.raises(kh.ProblemError, match="k must be at most"):
        kh.frontier(rows, prices=case.prices, k=4, intercept=False)
    with pytest.raises(kh.ProblemError, match="cost must be an amount"):
        drawn(case).at(float("nan"))
