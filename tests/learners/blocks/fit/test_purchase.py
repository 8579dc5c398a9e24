"""What the money buys: never a unit more, shared items once, and nearly as good as can be had."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.learners.blocks.fit.purchase import (
    best_buy,
    buy,
    fill,
    nothing_paid,
    paid_for,
    priced,
    shop_of,
)
from keyhole.problem import Floats, Problem
from tests.problem.test_prices import problems

NOBODY = np.empty(0, dtype=np.int64)


def _scores(problem: Problem, seed: int) -> Floats:
    return np.random.default_rng(seed).exponential(size=problem.d)


def _both(problem: Problem, seed: int) -> list[list[int]]:
    """What is bought in a random order, and by score and price."""
    shop, out = shop_of(problem, listed=True), np.empty((2, problem.width), dtype=np.int64)
    n = fill(np.uint64(seed), 1, 0, NOBODY, shop, out[0])
    m = best_buy(_scores(problem, seed), shop, out[1])
    return [out[0, :n].tolist(), out[1, :m].tolist()]


def _closed(problem: Problem, features: list[int]) -> bool:
    assert problem.prices is not None
    return bool(problem.prices.paid_for(features).tolist() == features)


@settings(deadline=None)
@given(problem=problems(), seed=st.integers(0, 1000))
def test_what_is_bought_is_affordable_and_closed(problem: Problem, seed: int) -> None:
    for bought in _both(problem, seed):
        assert bought == sorted(set(bought))
        assert problem.affords(bought)
        assert _closed(problem, bought)


@settings(deadline=None)
@given(problem=problems(), seed=st.integers(0, 1000))
def test_nothing_that_fits_is_left_out(problem: Problem, seed: int) -> None:
    for bought in _both(problem, seed):
        for j in set(range(problem.d)) - set(bought):
            assert not problem.affords([*bought, j])


@settings(deadline=None)
@given(
    prices=st.lists(st.integers(1, 60), min_size=1, max_size=8),
    money=st.integers(60, 150),
    seed=st.integers(0, 1000),
)
def test_half_of_what_is_possible_at_least(prices: list[int], money: int, seed: int) -> None:
    problem = Problem(len(prices), 1, money, prices=prices)
    score, out = _scores(problem, seed), np.empty(problem.width, dtype=np.int64)
    n = best_buy(score, shop_of(problem, listed=True), out)
    sets = [
        s for m in range(len(prices) + 1) for s in itertools.combinations(range(len(prices)), m)
    ]
    best = max(float(score[list(s)].sum()) for s in sets if problem.affords(s))
    assert score[out[:n]].sum() >= 0.5 * best - 1e-12


def test_each_single_order_can_be_far_from_it() -> None:
    """Broken twins: by score alone, and by score per price alone."""
    many = Problem(11, 1, 10, prices=[10] + [1] * 10)
    one = Problem(2, 1, 10, prices=[10, 1])
    out = np.empty(11, dtype=np.int64)
    cheap, dear = np.array([1.1] + [1.0] * 10), np.array([5.0, 0.6])
    assert out[: best_buy(cheap, shop_of(many, listed=True), out)].tolist() == list(range(1, 11))
    assert out[: best_buy(dear, shop_of(one, listed=True), out)].tolist() == [0]
    for problem, score, divide in ((many, cheap, False), (one, dear, True)):
        shop = shop_of(problem, listed=True)
        assert problem.prices is not None
        price = np.array([problem.cost([j]) for j in range(problem.d)]) if divide else 1.0
        paid = nothing_paid(shop)
        buy(np.argsort(-score / price, kind="stable"), shop, paid, shop.limit)
        n = paid_for(shop, paid, out)
        best = 10.0 if problem is many else 5.0
        assert score[out[:n]].sum() < 0.5 * best


def test_a_panel_is_bought_for_all_of_its_members_together() -> None:
    """None of five members is worth the fee by itself; together they are the best buy."""
    problem = Problem(7, 1, 10, prices=[0] * 5 + [5, 5], panels={"blood": (10, [0, 1, 2, 3, 4])})
    out = np.empty(problem.width, dtype=np.int64)
    score = np.array([0.3] * 5 + [0.6, 0.5])
    assert out[: best_buy(score, shop_of(problem, listed=True), out)].tolist() == [0, 1, 2, 3, 4]
    score[5] = 1.2
    assert out[: best_buy(score, shop_of(problem, listed=True), out)].tolist() == [5, 6]


def test_the_support_comes_first_and_others_in_a_random_order() -> None:
    problem = Problem(6, 1, 5, prices=[3, 1, 1, 1, 1, 1])
    out, seen = np.empty(6, dtype=np.int64), set()
    for t in range(1, 60):
        n = fill(np.uint64(1), t, 0, np.array([0]), shop_of(problem, listed=True), out)
        assert out[0] == 0
        assert n == 3
        seen.add(tuple(out[1:n].tolist()))
    assert len(seen) == 10  # all pairs of the others


def test_without_prices_a_shop_is_a_number_of_features() -> None:
    shop = shop_of(Problem(6, 1, 5))
    assert shop.limit == 5
    assert not priced(shop)
