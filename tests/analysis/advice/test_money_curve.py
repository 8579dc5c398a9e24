"""The curve of money: by an obvious slow computation, with errors that cover, never over a limit.

The twin: the share explained of the rows that features were chosen on, which is too good.
"""

import itertools
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.analysis.advice.curves import budget_for, round_up
from keyhole.analysis.advice.estimate import BlockedKFold
from keyhole.analysis.advice.feature_selection import MAX_LIMITS, largest_steps, round_amounts
from keyhole.analysis.exact.subset_paths import priced_path
from keyhole.analysis.hindsight import summed
from keyhole.problem import Floats
from keyhole.problem.prices import price_list
from keyhole.report import plots
from keyhole.streams import ArrayStream

PRICES = ["0", "2.5", "4", "3", "7"]


def rows(n: int, seed: int, noise: float = 0.3) -> tuple[Floats, Floats]:
    """Five features that all matter, by different amounts."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    y = X @ np.array([0.5, 1.0, -1.2, 0.8, 1.5]) + noise * rng.normal(size=n)
    return X * 10.0 ** np.arange(5) + 3.0, y - 4.0


def shop(panels: bool = False) -> kh.Problem:
    """Prices of the five; with a panel, 2 for the last two together beside a fee of 6."""
    if panels:
        return kh.Problem(5, 1, 9, prices=[0, 2.5, 4, 1, 2], panels={"both": (6, [3, 4])})
    return kh.Problem(5, 1, 9, prices=PRICES)


def slow(X: Floats, y: Floats, problem: kh.Problem, limits: list[float]) -> Floats:
    """Out-of-fold squared errors by enumeration of all affordable sets; the first column: none."""
    deal = BlockedKFold.of(len(y), 5)
    fold = np.arange(len(y)) // deal.length % deal.folds
    lost = np.empty((len(y), len(limits) + 1))
    sets = [S for k in range(6) for S in itertools.combinations(range(5), k)]
    for f in range(deal.folds):
        old, new = fold != f, fold == f
        mean, centre = y[old].mean(), X[old].mean(axis=0)
        found = {}
        for S in sets:
            Z = X[:, S] - centre[list(S)]
            w = np.linalg.lstsq(Z[old], y[old] - mean, rcond=None)[0]
            rss = ((y[old] - mean - Z[old] @ w) ** 2).sum()
            found[S] = rss, np.clip(mean + Z[new] @ w, y[old].min(), y[old].max())
        for i, limit in enumerate([-1.0, *limits]):
            bought = [S for S in sets if not S or problem.cost(S) <= limit]
            best = min(bought, key=lambda S: found[S][0])
            lost[new, i] = (y[new] - found[best][1]) ** 2
    return lost


@pytest.mark.parametrize("panels", [False, True])
def test_by_definition(panels: bool) -> None:
    X, y = rows(240, seed=1)
    problem, limits = shop(panels), [0.0, 3.0, 7.0, 9.5, 12.0, 20.0]
    curve = kh.budget_curve(ArrayStream(X, y), prices=problem, costs=limits)
    lost = slow(X, y, problem, limits).sum(axis=0)
    np.testing.assert_allclose(curve.explained, 1 - lost[1:] / lost[0], atol=1e-9)
    assert (curve.costs <= curve.limits).all()
    for i, limit in enumerate(limits):  # on all rows it is the best model in hindsight
        stream = ArrayStream(X, y)
        best = kh.hindsight(stream, cost=limit, prices=problem, intercept=True)
        assert curve.in_sample[i] == pytest.approx(best.r2, abs=1e-9)
        assert sorted(curve.features[i]) == best.support.tolist()
        assert curve.k[i] == len(best.support)


def statements(n: int) -> Floats:
    """What 12 per example explains by 80 rows of 40 features: off by, error, twin off by."""
    found = []
    prices = np.random.default_rng(0).integers(1, 6, 40).tolist()
    problem = kh.Problem(40, 1, 12, prices=prices)
    for seed in range(n):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1080, 40))
        y = X[:, 0] - 0.8 * X[:, 1] + 0.6 * X[:, 2] + 1.5 * rng.normal(size=1080)
        curve = kh.budget_curve(ArrayStream(X[:80], y[:80]), prices=problem, costs=[12])
        A = np.column_stack([np.ones(1080), X[:, list(curve.features[0])]])
        w = np.linalg.lstsq(A[:80], y[:80], rcond=None)[0]
        left = ((y[80:] - A[80:] @ w) ** 2).sum() / ((y[80:] - y[:80].mean()) ** 2).sum()
        truth = 1 - left
        found.append((curve.explained[0] - truth, curve.error[0], curve.in_sample[0] - truth))
    return np.array(found).T


def test_errors_cover_and_the_in_sample_optimum_is_too_good() -> None:
    # As in test_budget_curve.py: were each true with chance 0.95, fewer than 0.85 of 200 would be
    # with chance below 1e-7. The means are of 200 independent numbers: beyond four of their
    # standard errors is beyond chance.
    off, error, off_in_sample = statements(200)
    assert (np.abs(off) <= 2 * error).mean() >= 0.85
    assert abs(off.mean()) < 4 * off.std() / np.sqrt(200)
    assert off_in_sample.mean() > 4 * off_in_sample.std() / np.sqrt(200)  # the broken twin


def test_units_of_money_and_of_features_do_not_matter() -> None:
    X, y = rows(300, seed=2)
    curve = kh.budget_curve(ArrayStream(X, y), prices=shop())
    dear = kh.Problem(5, 1, 9, prices=[str(100 * float(p)) for p in PRICES])
    other = kh.budget_curve(ArrayStream(X * 7 + 1, 1e3 * y), prices=dear)
    np.testing.assert_allclose(other.limits, 100 * curve.limits)
    np.testing.assert_allclose(other.explained, curve.explained, atol=1e-9)
    assert other.features == curve.features
    assert other.recommendation.count("would explain") == curve.recommendation.count("would")


def test_limits_are_round_amounts_where_something_else_is_bought() -> None:
    curve = kh.budget_curve(ArrayStream(*rows(300, seed=3)), prices=shop())
    assert (curve.limits[0], curve.limits[-1]) == (0, 16.5)
    assert (np.diff(curve.costs) > 0).all()  # nothing is shown twice
    assert curve.full_cost == 16.5
    prices = shop().prices
    assert prices is not None
    units = round_amounts(prices)
    assert units[0] == 0
    assert units[-1] == 165
    assert all(round_up(u) == u for u in units[:-1])


def test_amounts_begin_at_the_cheapest_feature_or_a_thousandth() -> None:
    def amounts(*prices: int) -> list[int]:
        return round_amounts(price_list(len(prices), None, prices, None))

    assert amounts(3, 4) == [0, 3, 4, 5, 6, 7]
    assert amounts(0, 3, 4) == [0, 3, 4, 5, 6, 7]  # what is free costs nothing, and that is there
    assert amounts(1, 9_999)[:4] == [0, 10, 11, 12]
    assert amounts(1, 9_999)[-2:] == [9_900, 10_000]
    assert len(amounts(1, 9_999)) == 1 + 3 * 90 + 1


def test_money_that_is_put_aside_comes_on_top() -> None:
    prices = price_list(2, None, [100, 900], None)
    assert [budget_for(prices, units, 8) for units in (0, 7, 8, 100)] == [0, 8, 10, 120]
    assert budget_for(prices, 900, 8) == 1000  # all there is


def test_a_long_list_of_limits_keeps_the_largest_steps_and_the_last() -> None:
    costs = list(range(60))
    left = np.concatenate([np.linspace(40, 39.9, 30), np.arange(30.0, 0.0, -1.0)])
    places = largest_steps(costs, left)
    assert len(places) == MAX_LIMITS + 1
    assert (places[0], places[-1]) == (0, 59)
    assert all(place >= 30 for place in places[1:])


def test_cheap_copies_are_bought_in_place_of_dear_ones() -> None:
    """The twin: copies left out whatever they cost, of which the first, a dear one, would stay."""
    rng = np.random.default_rng(4)
    X = np.repeat(rng.normal(size=(200, 2)), 2, axis=1)
    stream = ArrayStream(X, X[:, 0] + X[:, 2])
    problem = kh.Problem(4, 1, 9, prices=[50, 1, 50, 1])
    squares = summed(stream, True, False).squares
    assert problem.prices is not None
    found = priced_path(squares.G, squares.c, squares.yy, problem.prices, [2, 200], 4, 200)
    assert [S.tolist() for S in found] == [[1, 3], [1, 3]]


def test_noise_is_not_bought() -> None:
    """The twin: without a look at what chance would bring, 24 features of noise would be bought."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(200, 30)), rng.normal(size=200)
    curve = kh.budget_curve(ArrayStream(X, y), prices=kh.Problem(30, 1, 9, prices=[1] * 30))
    assert curve.place == -1
    assert (curve.limit, curve.budget, curve.sparsity) == (0, 0, 0)
    assert curve.recommendation.startswith("No amount up to")
    assert curve.k.max() <= 3


def test_what_is_free_may_be_enough() -> None:
    rng = np.random.default_rng(6)
    X = rng.normal(size=(300, 4))
    stream = ArrayStream(X, X[:, 0] + 0.3 * rng.normal(size=300))
    curve = kh.budget_curve(stream, prices=kh.Problem(4, 1, 9, prices=[0, 3, 3, 3]))
    assert (curve.limit, curve.budget, curve.sparsity) == (0, 0, 1)
    assert curve.recommendation.startswith("What is free explains 9")
    everything = kh.budget_curve(stream, prices=kh.Problem(4, 1, 0, prices=[0, 0, 0, 0]))
    assert everything.limits.tolist() == [0]
    assert str(everything)


def test_the_budget_leaves_an_eighth_to_explore_with() -> None:
    curve = kh.budget_curve(ArrayStream(*rows(300, seed=7)), prices=shop())
    assert curve.limit <= 7 / 8 * curve.budget or curve.budget == curve.full_cost
    assert curve.at(curve.limit) == curve.place
    assert curve.at(-1.0) == -1


def test_the_table_and_the_picture() -> None:
    patients, _ = kh.streams.clinic(600)
    problem = kh.Problem(42, 4, 30, patients.names, prices=kh.streams.clinic_prices())
    curve = kh.budget_curve(patients, prices=problem)
    lines = str(curve).splitlines()
    assert lines[2].split() == ["money", "explained", "in", "sample", "features", "which"]
    assert sum("*" in line.split()[0] for line in lines[3 : 3 + len(curve.limits)]) == 1
    assert lines[-1].startswith(f"Recommended: budget {curve.budget:g} of 125.3 for everything")
    axes = plots.budget_curve(curve).axes[0]
    assert axes.get_xlabel() == "money for one example"
    counted = plots.budget_curve(kh.budget_curve(patients, most=3)).axes[0]
    assert counted.get_xlabel() == "features of the model"
    told = curve.as_json()
    assert told["limits"] == curve.limits.tolist()
    assert told["budget"] == curve.budget
    assert told["full_cost"] == 125.3


def curve(limits: list[float], explained: list[float], *, price: int = 3) -> kh.MoneyCurve:
    """A curve of these numbers: at the i-th limit, the first i of nine features."""
    n = len(limits)
    return kh.MoneyCurve(
        k=np.arange(n),
        explained=np.array(explained),
        error=np.full(n, 0.01),
        in_sample=np.array(explained) + 0.02,
        behind_error=np.full(n, 0.001),
        features=tuple(tuple(range(k)) for k in range(n)),
        names=tuple(f"x{j}" for j in range(9)),
        rows=500,
        passed=500,
        limits=np.array(limits),
        nothing_error=0.1,
        prices=price_list(9, None, [price] * 9, None),
    )


def test_what_it_recommends_and_why() -> None:
    found = curve([0, 3, 6, 9, 12], [0.0, 0.5, 0.6, 0.69, 0.7])
    assert (found.best, found.place, found.limit, found.sparsity, found.knee) == (4, 3, 9.0, 3, 1)
    assert found.recommendation == (
        "9 explains 69% ± 1%; 12 would explain 70% ± 1%; below 3 it falls quickly (0: 0% ± 1%)."
    )
    assert [found.at(budget) for budget in (-1, 0, 2.9, 3, 100)] == [-1, 0, 0, 1, 4]
    assert found.budget == 11  # of which an eighth is put aside
    found = curve([0, 3, 6, 9], [0.0, 0.2, 0.7, 0.6])
    assert found.recommendation == ("6 explains 70% ± 1%; more would not explain more.")
    assert curve([3, 6], [0.1, 0.7]).recommendation == "6 explains 70% ± 1%."
    assert curve([3, 6], [0.7, 0.6]).knee == 0
    nothing = curve([0, 3], [0.0, 0.2])  # within two errors of nothing
    assert (nothing.place, nothing.limit, nothing.budget, nothing.sparsity) == (-1, 0, 0, 0)
    assert nothing.recommendation.startswith("No amount up to 3 is seen to explain anything")
    assert "Recommended" not in str(nothing)
    assert "*" not in str(nothing)


def test_the_table_says_what_is_bought() -> None:
    lines = str(curve([0, 3, 6], [0.0, 0.5, 0.7])).splitlines()
    assert lines[2:6] == [
        "money  explained  in sample  features  which",
        "   0     0% ± 1%       2.0%         0",
        "   3    50% ± 1%      52.0%         1  x0",
        "   6*   70% ± 1%      72.0%         2  x0, x1",
    ]
    assert lines[-1] == (
        "Recommended: budget 7 of 27 for everything, sparsity 2 (a learner spends 7 per example to "
        "find and keep what costs 6)."
    )
    items = str(curve([0, 1, 2], [0.0, 0.5, 0.7], price=1))
    assert items.splitlines()[2].split()[0] == "items"
    many = [str(curve([*range(n)], [k / n for k in range(n)])) for n in (7, 8)]
    assert ["The 7 features, most useful first" in text for text in many] == [False, True]
    assert all("The 6 features" not in text for text in many)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"costs": [3]}, "costs needs prices"),
        ({"prices": shop(), "costs": []}, "list of amounts"),
        ({"prices": shop(), "costs": "12"}, "list of amounts"),
        ({"prices": shop(), "costs": [-1]}, "at least 0"),
        ({"prices": kh.Problem(5, 1, 2)}, "has none"),
        ({"prices": kh.Problem(4, 1, 2, prices=[1] * 4)}, "4"),
        ({"prices": [1, 2]}, "prices must be a Problem"),
    ],
)
def test_refused(arguments: dict[str, object], words: str) -> None:
    asked: Any = kh.budget_curve  # what no type checker lets pass
    with pytest.raises(kh.KeyholeError, match=words) as refusal:
        asked(ArrayStream(*rows(60, seed=0)), **arguments)
    assert "\n" not in str(refusal.value)
