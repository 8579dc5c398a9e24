"""The priced suite: rows, weights and prices follow the law that each stream states."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from keyhole.problem import Floats, Problem, ProblemError
from keyhole.problem.prices import Prices
from keyhole.streams import PRICED_SUITE, Priced, collect, priced_suite, take
from keyhole.streams.simulate import CHUNK

SIZES = {
    "indep": (100, 5),
    "dear": (80, 4),
    "proxy": (80, 5),
    "panel": (100, 4),
    "heavy": (80, 5),
    "free50": (100, 6),
}
ROWS = 16 * CHUNK


def _prices(problem: Problem) -> Prices:
    assert problem.prices is not None
    return problem.prices


def _alone(made: Priced) -> Floats:
    return np.array([made.loose.cost([j]) for j in range(made.loose.d)])


def stated_correlations(name: str, made: Priced) -> Floats:
    """The correlations that the docstring of a stream states."""
    d = made.loose.d
    if name in ("indep", "heavy", "free50"):
        place = np.arange(d)
        R: Floats = 0.5 ** np.abs(place[:, None] - place).astype(np.float64)
        return R
    R = np.eye(d)
    if name == "panel":
        prices = _prices(made.loose)
        fee = np.array([need[-1] for need in prices.needs])  # panels come after features
        R[fee[:, None] == fee] = 0.5
    if name == "proxy":
        dear = int(np.argmax(_alone(made)))
        X = collect(made.stream)[0]
        like = np.abs(X[:, dear] @ X) / len(X) > 0.5  # nothing else says which are its copies
        copies = np.setdiff1d(np.flatnonzero(like), [dear])
        assert len(copies) == 10
        assert (_alone(made)[copies] == 1).all()
        R[np.ix_(copies, copies)] = 0.64
        R[dear, copies] = R[copies, dear] = 0.8
    np.fill_diagonal(R, 1.0)
    return R


def check_rows(X: NDArray[np.floating], R: Floats) -> None:
    """Means 0, second moments R."""
    # Each of at most 10,000 mean products has variance (1 + r^2) / n <= 2 / n, and tails as those
    # of Laurent and Massart: 6.5 standard errors and 30 / n leave at most 1e-10 for each.
    n = len(X)
    assert np.abs(X.mean(axis=0)).max() < 6.5 / math.sqrt(n)
    margin = 6.5 * math.sqrt(2 / n) + 30 / n
    assert np.abs(X.T @ X / n - R).max() < margin


@pytest.mark.parametrize("name", PRICED_SUITE)
def test_rows_follow_the_law(name: str) -> None:
    made = priced_suite(name, ROWS, seed=2)
    X, y = collect(made.stream)
    R = stated_correlations(name, made)
    check_rows(X, R)
    twin = X.copy()
    twin[:, 0] = X[:, 7]  # a column stands where another should
    with pytest.raises(AssertionError):
        check_rows(twin, R)
    w = made.truth.weights
    assert w @ R @ w == pytest.approx(1.0)
    sizes = np.sort(np.abs(w[made.truth.support]))[::-1]
    np.testing.assert_allclose(sizes[1:] / sizes[:-1], 0.8)
    noise = y - X @ w
    # Laurent and Massart for a mean square of n Gaussians, L = ln(4e6) = 15.2.
    margin = 2 * math.sqrt(15.2 / ROWS) + 2 * 15.2 / ROWS
    assert abs((noise**2).mean() * 7 / 3 - 1) < margin
    # R2 of 0.7 within 5 standard errors 2 sqrt(R2) (1 - R2) / sqrt(n), and one for luck.
    assert abs(1 - noise.var() / y.var() - 0.7) < 6 * 2 * math.sqrt(0.7) * 0.3 / math.sqrt(ROWS)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", PRICED_SUITE)
def test_budgets_are_one_and_three_times_the_cost_of_what_is_useful(name: str, seed: int) -> None:
    made = priced_suite(name, 10, seed=seed)
    cost = made.loose.cost(made.truth.support)
    assert (made.loose.d, made.loose.k) == SIZES[name]
    assert len(made.truth.support) == made.loose.k
    assert made.problem("tight").budget == cost
    assert made.problem().budget == made.problem("loose").budget == 3 * cost
    assert made.tight.affords(made.truth.support)
    assert not made.tight.replace(budget=cost - 0.01).affords(made.truth.support)
    stated = {"dear": 24.0, "proxy": 26.0, "heavy": 60.0}
    assert cost == stated.get(name, cost)
    assert made.loose.cost(range(made.loose.d)) > made.loose.budget, "not all can be bought"


@pytest.mark.parametrize("seed", range(3))
def test_prices_are_what_is_stated(seed: int) -> None:
    made = {name: priced_suite(name, 10, seed=seed) for name in PRICED_SUITE}
    alone = {name: _alone(made[name]) for name in made}
    used = {name: np.isin(np.arange(made[name].loose.d), made[name].truth.support) for name in made}
    assert {*alone["indep"]} <= {*range(1, 11)}
    assert {*alone["dear"][used["dear"]]} == {6.0}
    assert {*alone["dear"][~used["dear"]]} == {1.0, 2.0, 3.0}
    assert sorted(alone["proxy"][used["proxy"]]) == [3, 3, 3, 3, 14]
    heaviest = np.argmax(np.abs(made["proxy"].truth.weights))
    assert alone["proxy"][heaviest] == 14
    assert {*alone["proxy"][~used["proxy"]]} <= {*range(1, 6)}
    assert sorted(alone["heavy"][used["heavy"]]) == [2, 5, 9, 16, 28]
    others = alone["heavy"][~used["heavy"]]
    assert others.min() >= 1
    assert others.max() <= 500
    # Log-uniform: 75 values, those beyond sqrt(500) binomial; Hoeffding at 1e-6 is 0.311.
    assert abs((others > math.sqrt(500)).mean() - 0.5) < 0.311
    free = alone["free50"] == 0
    assert free.sum() == 50
    assert (free & used["free50"]).sum() == 3
    assert {*alone["free50"][~free]} <= {*range(1, 11)}


def test_panels_have_four_members_and_every_other_one_charges_for_them() -> None:
    made = priced_suite("panel", 10, seed=1)
    prices = _prices(made.loose)
    fees = [i for i, item in enumerate(prices.items) if item.startswith("panel ")]
    assert len(fees) == 25
    assert all(3 <= prices.units[i] <= 10 for i in fees)
    for i in fees:
        members = [need for need in prices.needs if i in need]
        odd = int(prices.items[i].split()[1]) % 2
        assert len(members) == 4
        assert {len(need) for need in members} == {1 + odd}
    used = [prices.needs[j][-1] for j in made.truth.support.tolist()]
    assert len({*used}) == 4, "one useful feature per panel"


def test_a_price_says_nothing_of_use_in_indep() -> None:
    useful = []
    for seed in range(200):
        made = priced_suite("indep", 1, seed=seed)
        useful += [made.loose.cost([j]) for j in made.truth.support]
    # 1,000 prices in [1, 10]: Hoeffding, 9 sqrt(ln(2e6) / 2000) = 0.767.
    assert abs(float(np.mean(useful)) - 5.5) < 0.767
    dear = priced_suite("dear", 1)  # the twin: there prices tell
    assert abs(np.mean([dear.loose.cost([j]) for j in dear.truth.support]) - 2) > 0.767


@pytest.mark.parametrize("name", PRICED_SUITE)
def test_a_seed_decides_everything_and_n_nothing(name: str) -> None:
    short, long = (priced_suite(name, n, seed=7) for n in (1500, 2 * CHUNK + 5))
    other = PRICED_SUITE[name].simulate(1500, 8)
    assert (short.loose, short.tight) == (long.loose, long.tight)
    assert short.loose != other.loose
    np.testing.assert_array_equal(short.truth.weights, long.truth.weights)
    assert not np.array_equal(short.truth.weights, other.truth.weights)
    pairs = zip(collect(short.stream), collect(take(long.stream, 1500)), strict=True)
    for a, b in pairs:
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(collect(short.stream)[0], collect(other.stream)[0])
    plain = priced_suite(name, 5)
    np.testing.assert_array_equal(plain.truth.weights, priced_suite(name, 5, seed=0).truth.weights)


def test_errors() -> None:
    with pytest.raises(ProblemError, match=r"name must be one of indep, .*, got 'deer'"):
        priced_suite("deer", 10)
    with pytest.raises(ProblemError, match="limit must be one of loose, tight, got 'tigth'"):
        priced_suite("dear", 10).problem("tigth")
    with pytest.raises(ProblemError, match="n must be at least 1, got 0"):
        priced_suite("dear", 0)
    with pytest.raises(ProblemError, match="seed must be at least 0, got -1"):
        priced_suite("dear", 10, seed=-1)
