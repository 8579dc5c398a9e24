"""The best subset for money against enumeration; bounds of searches that are cut short; twins."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.analysis.exact import best_subset as priced
from keyhole.analysis.exact import branch_and_bound as search
from keyhole.analysis.exact.best_subset import CostTerms, PricedSubset, best_for_money
from keyhole.analysis.exact.branch_and_bound import (
    IN,
    OPEN,
    OUT,
    ItemMarket,
    market_of,
    part_of,
    point,
    widest,
)
from keyhole.problem import ProblemError
from keyhole.problem.prices import price_list
from tests.helpers import priced_models
from tests.helpers.exact_parts import follow, least
from tests.helpers.priced_models import Model, Shop, every_model, shop


def accept(case: Shop, models: list[Model], terms: CostTerms, found: PricedSubset) -> None:
    """What is claimed holds, to 1e-9 of y'y (2e-9 beside the free features)."""
    limit = math.inf if terms.limit is None else terms.limit
    truth, room = priced_models.least(models, limit, terms.k, terms.rate), 2e-9 * case.moments[2]
    (own,) = (m for m in models if m.features == tuple(found.support.tolist()))
    assert own.units == found.units <= limit
    assert terms.k is None or len(found.support) <= terms.k
    assert found.rss == pytest.approx(own.rss, abs=room)
    assert found.value == pytest.approx(own.rss + terms.rate * own.units, abs=room)
    assert found.lower - room <= truth <= found.value + room
    if found.exact:
        assert found.lower == found.value


def every_terms(case: Shop, seed: int) -> list[CostTerms]:
    """A limit, a rate, both, each with and without a number of features."""
    rng, prices = np.random.default_rng(seed), case.prices
    everything, d = sum(prices.units), case.X.shape[1]
    limit = int(rng.integers(0, everything + 1))
    rate = float(rng.uniform(0.0, 0.2)) * case.moments[2] / max(everything, 1)
    pairs = [(limit, 0.0), (None, rate), (limit, rate), (None, 0.0)]
    return [
        CostTerms(prices, a, k, b) for a, b in pairs for k in (None, int(rng.integers(1, d + 1)))
    ]


@given(seed=st.integers(0, 10**6), d=st.integers(1, 8))
@settings(deadline=None, max_examples=15)
def test_against_enumeration(seed: int, d: int) -> None:
    case = shop(seed, d)
    models = every_model(case)
    for terms in every_terms(case, seed):
        found = best_for_money(*case.moments, terms, seconds=60.0)
        assert found.exact
        accept(case, models, terms, found)
        accept(case, models, terms, best_for_money(*case.moments, terms, seconds=0.0))


@pytest.mark.parametrize("seed", range(2))
def test_every_limit_of_nine_features(seed: int) -> None:
    case = shop(seed, 9)
    models = every_model(case)
    for limit in range(0, sum(case.prices.units) + 1, 2):
        terms = CostTerms(case.prices, limit)
        found = best_for_money(*case.moments, terms, seconds=60.0)
        assert found.exact
        accept(case, models, terms, found)


class Clock:
    """A clock that runs on by one second whenever somebody looks at it."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 1.0
        return self.now


@pytest.mark.parametrize("rate", [0.0, 0.004])
def test_bounds_hold_wherever_the_search_is_cut_short(
    rate: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(25, 9)) + 2.0 * rng.normal(size=(25, 1))
    y = X @ rng.normal(size=9) + rng.normal(size=25)
    own = rng.integers(1, 9, 9).tolist()
    case = Shop(X, y, price_list(9, None, own, {"a": (5, [0, 1, 2]), "b": (4, [2, 3, 4, 5])}))
    models = every_model(case)
    terms = CostTerms(case.prices, sum(case.prices.units) // 2, None, rate * case.moments[2])
    exact = []
    for looks in range(40):
        clock = Clock()
        monkeypatch.setattr(priced, "time", clock)
        monkeypatch.setattr(search, "time", clock)
        found = best_for_money(*case.moments, terms, seconds=looks + 0.5)
        accept(case, models, terms, found)
        exact.append(found.exact)
    assert exact == sorted(exact)
    assert not exact[0]
    assert exact[-1]


def everyone_pays(
    needs: Sequence[Sequence[int]], units: Sequence[int], limit: int, most: int, rate: float
) -> ItemMarket:
    """Broken twin: what is shared is paid by each feature that needs it."""
    own = [[(j, i) for i in need] for j, need in enumerate(needs)]
    numbers = {pair: n for n, pair in enumerate(itertools.chain.from_iterable(own))}
    return market_of(
        [[numbers[pair] for pair in need] for need in own],
        [units[i] for _, i in numbers],
        limit,
        most,
        rate,
    )


def test_broken_twin_that_pays_a_panel_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 5))
    y = X @ np.array([1.0, 1.0, 1.0, 0.5, 0.5]) + 0.1 * rng.normal(size=60)
    prices = price_list(5, None, [1, 1, 1, 4, 4], {"panel": (6, [0, 1, 2])})
    case, terms = Shop(X, y, prices), CostTerms(prices, 9)
    models = every_model(case)
    right = best_for_money(*case.moments, terms)
    assert (right.support.tolist(), right.units, right.exact) == ([0, 1, 2], 9, True)
    accept(case, models, terms, right)
    monkeypatch.setattr(priced, "market_of", everyone_pays)
    wrong = best_for_money(*case.moments, terms)
    assert wrong.exact  # it claims so
    with pytest.raises(AssertionError):
        accept(case, models, terms, wrong)


Makes = Callable[[Sequence[Sequence[int]], Sequence[int], int, int, float], ItemMarket]


def bound_holds(make: Makes, seed: int) -> tuple[bool, float]:
    """Whether no affordable set brings more than `least` says; by how much it is more."""
    rng, d = np.random.default_rng(seed), 7
    prices = shop(2 * seed + 1, d).prices
    limit, k = int(rng.integers(1, sum(prices.units) + 1)), int(rng.integers(1, d + 1))
    market = make(prices.needs, prices.units, limit, k, 0.0)
    v = rng.exponential(size=d)
    node = point(d, len(market.units))
    node.v[:] = v
    bound = least(market, node, float(limit), k, 0.0, 0.0)[0]
    best = max(
        sum(v[j] for j in S)
        for size in range(k + 1)
        for S in itertools.combinations(range(d), size)
        if priced_models.cost(prices, S) <= limit
    )
    return bound >= best - 1e-12, bound - best


def test_the_knapsack_bound_holds_and_a_twin_that_ignores_sharing_does_not() -> None:
    right = [bound_holds(market_of, seed) for seed in range(60)]
    assert all(holds for holds, _ in right)
    assert np.median([more for _, more in right]) < 0.5  # and it is of use: a v is 1 on average
    assert not all(bound_holds(everyone_pays, seed)[0] for seed in range(60))


def test_the_bound_is_tight_for_a_panel() -> None:
    """One panel, one feature: at the limit of the panel, its members' sum and nothing more."""
    market = market_of([[0], [0], [1]], [4, 3], 4, 3, 0.0)
    node = point(3, 2)
    node.v[:] = 1.0, 3.0, 0.2
    assert least(market, node, 4.0, 3, 0.0, 0.0)[0] == pytest.approx(4.0, rel=1e-6)


@given(seed=st.integers(0, 10**6), welcome=st.booleans())
@settings(deadline=None, max_examples=80)
def test_what_follows_loses_no_set(seed: int, welcome: bool) -> None:
    """Every set that was possible still is; with all welcome, once what is paid for is in."""
    rng, d = np.random.default_rng(seed), 6
    prices = shop(seed, d).prices
    most = d if welcome else int(rng.integers(1, d))
    limit = int(rng.integers(0, sum(prices.units) + 1))
    market = market_of(prices.needs, prices.units, limit, most, 0.0)
    states = [OPEN, OPEN, OPEN, IN, OUT]
    state = rng.choice(states, d).astype(np.int8)
    paid = rng.choice(states, len(market.units)).astype(np.int8)
    needs = [{*market.needs[market.starts[j] : market.starts[j + 1]].tolist()} for j in range(d)]

    def possible(items: set[int], S: set[int]) -> bool:
        return (
            all(needs[j] <= items for j in S)
            and sum(int(market.units[i]) for i in items) <= limit
            and len(S) <= most
            and all(
                (j in S) >= (state[j] == IN) and (j in S) <= (state[j] != OUT) for j in range(d)
            )
            and all(
                (i in items) >= (p == IN) and (i in items) <= (p != OUT)
                for i, p in enumerate(paid.tolist())
            )
        )

    def best_sets() -> set[tuple[int, ...]]:
        found = set()
        for choice in itertools.product([False, True], repeat=d):
            S = {j for j in range(d) if choice[j]}
            items = {i for j in S for i in needs[j]} | {i for i, p in enumerate(paid) if p == IN}
            if possible(items, S):
                closed = {j for j in range(d) if needs[j] <= items and state[j] != OUT}
                found.add(tuple(sorted(closed if welcome else S)))
        return found

    before = best_sets()
    left, room = follow(market, state, paid)
    if left < 0:
        assert not before
        return
    assert best_sets() == before
    assert left == limit - sum(u for u, p in zip(market.units, paid, strict=True) if p == IN)
    assert room == most - int((state == IN).sum())


def test_items_that_the_same_features_need_are_one() -> None:
    market = market_of([[0, 1], [0, 1, 2], [3]], [2, 3, 4, 9], 10, 3, 0.0)
    assert market.units.tolist() == [4, 9, 5]  # those of one member first
    assert market.needs.tolist() == [2, 0, 2, 1]
    part = part_of(market, np.array([1, 2]))
    assert part.units.tolist() == [4, 9, 5]
    assert (part.starts.tolist(), part.needs.tolist()) == ([0, 2, 3], [0, 2, 1])
    assert (part.firsts.tolist(), part.members.tolist()) == ([0, 1, 2, 3], [0, 1, 0])
    assert widest(market) == 2  # 2.5 + 6.5 of 10; with 9 it would be 18
    assert widest(market._replace(most=1)) == 1


def test_copies_stay_if_they_may_be_cheaper() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 1))
    X = np.hstack([x, -3.0 * x, rng.normal(size=(50, 1))])
    y = x[:, 0] + 0.5 * X[:, 2] + 0.1 * rng.normal(size=50)
    for own, cheapest in (([3, 1, 1], [1, 2]), ([1, 3, 1], [0, 2])):
        case = Shop(X, y, price_list(3, None, own, None))
        found = best_for_money(*case.moments, CostTerms(case.prices, 2))
        assert (found.support.tolist(), found.units, found.exact) == (cheapest, 2, True)


def test_nothing_to_explain_or_to_buy() -> None:
    prices = price_list(3, None, [0, 1, 1], None)
    nothing = best_for_money(np.eye(3), np.zeros(3), 0.0, CostTerms(prices, 2))
    assert (nothing.value, nothing.lower, nothing.units, nothing.exact) == (0.0, 0.0, 0, True)
    free = price_list(3, None, [0, 0, 0], None)
    found = best_for_money(np.eye(3), np.ones(3), 4.0, CostTerms(free, 0))
    assert (found.support.tolist(), found.rss, found.exact) == ([0, 1, 2], 1.0, True)
    with pytest.raises(ProblemError, match="prices are of 3 features, G has 2"):
        best_for_money(np.eye(2), np.ones(2), 4.0, CostTerms(prices, 2))
    with pytest.raises(ProblemError, match="semidefinite"):
        best_for_money(np.eye(3) - 0.8, np.zeros(3), 4.0, CostTerms(prices, 2))


@pytest.mark.parametrize("d", [60, 100])
def test_many_features(d: int) -> None:
    """What was planted is found for what it costs, with proof."""
    rng = np.random.default_rng(d)
    X = rng.normal(size=(2000, d))
    S = [1, 7, 20, 33, 41, 50]
    y = X[:, S].sum(axis=1) + rng.normal(size=2000)
    prices = price_list(
        d,
        None,
        rng.integers(1, 50, d).tolist(),
        {"p": (20, [1, 7, 8]), "q": (30, [20, 21, 22, 33])},
    )
    found = best_for_money(X.T @ X, X.T @ y, float(y @ y), CostTerms(prices, prices.count(S)))
    assert found.exact
    assert {*S} <= {*found.support.tolist()}
    assert found.units <= prices.count(S)
