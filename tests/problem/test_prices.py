"""Prices: costs are exact, shared items are paid once, and nobody spends a cent too much."""

import itertools
import json
import re
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import keyhole as kh
from keyhole.game.playing import RunningGame
from keyhole.game.referee import RowBuffer, play_rounds
from keyhole.learners.registry import LEARNERS, make_learner
from keyhole.problem import Floats, Problem, ProblemError
from keyhole.problem.prices import Prices, price_list
from keyhole.saving import archive

NAMES = ("age", "crp", "alb", "mri")


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Problems of up to 8 features with prices, panels and derived features; k = 1."""
    d = draw(st.integers(1, 8))
    feature = st.integers(0, d - 1)
    cents = st.integers(0, 500).map(lambda c: f"{c / 100:.2f}")
    several = st.lists(feature, min_size=1, max_size=d, unique=True)
    panels = draw(st.dictionaries(st.sampled_from("xyz"), st.tuples(cents, several)))
    rank = draw(st.permutations(range(d)))  # no circles: what is needed has a lower one
    given = draw(st.dictionaries(feature, several, max_size=2))
    derived = {j: [m for m in of if rank[m] < rank[j]] for j, of in given.items()}
    prices = draw(st.lists(cents, min_size=d, max_size=d))
    made = price_list(d, None, prices, panels, derived)
    cheapest = min(made.cost([j]) for j in range(d))
    budget = cheapest + draw(st.integers(0, 2000)) / 100
    return Problem(d, 1, round(budget, 2), prices=prices, panels=panels, derived=derived)


def _sets(d: int) -> list[tuple[int, ...]]:
    return [s for n in range(d + 1) for s in itertools.combinations(range(d), n)]


@settings(deadline=None)
@given(problem=problems(), data=st.data())
def test_an_item_is_paid_once(problem: Problem, data: st.DataObject) -> None:
    some = st.sets(st.integers(0, problem.d - 1))
    a, b = data.draw(some), data.draw(some)
    prices = problem.prices
    assert prices is not None
    together = prices.count(a | b)
    assert max(prices.count(a), prices.count(b)) <= together <= prices.count(a) + prices.count(b)
    assert prices.count([*a, *a]) == prices.count(a)
    paid = {i for j in a for i in prices.needs[j]}
    assert prices.count(a) == sum(prices.units[i] for i in paid)
    row = np.full((1, problem.d), -1)
    row[0, : len(a)] = sorted(a)
    assert prices.count_rows(row).tolist() == [prices.count(a)]


@settings(deadline=None)
@given(problem=problems(), data=st.data())
def test_what_is_paid_for_is_free_and_closed(problem: Problem, data: st.DataObject) -> None:
    prices, a = problem.prices, data.draw(st.sets(st.integers(0, problem.d - 1)))
    assert prices is not None
    closed = prices.paid_for(a).tolist()
    assert a <= set(closed)
    assert prices.count(closed) == prices.count(a)
    assert prices.paid_for(closed).tolist() == closed


@settings(deadline=None, max_examples=50)
@given(problem=problems())
def test_reads_and_width_by_enumeration(problem: Problem) -> None:
    for features in _sets(problem.d):
        if len(features) <= problem.reads:
            assert problem.affords(features)
        if problem.affords(features):
            assert len(features) <= problem.width


def test_cents_are_counted_exactly() -> None:
    problem = Problem(2, 1, 0.3, prices=[0.1, 0.2])
    assert 0.1 + 0.2 > 0.3  # as floats
    assert problem.affords([0, 1])
    assert problem.cost([0, 1]) == 0.3
    assert not problem.replace(budget=0.29).affords([0, 1])
    ten = Problem(10, 1, 1, prices=np.full(10, 0.1))
    assert ten.affords(range(10))
    assert ten.reads == ten.width == 10


@pytest.mark.parametrize("features", [[7], [-1], [0.7], ["agee"], [True], [None]])
def test_what_is_no_feature_has_no_cost(features: Any) -> None:
    problem = Problem(4, 1, 5, NAMES, [1, 1, 1, 1])
    for ask in (problem.cost, problem.affords):
        with pytest.raises(ProblemError, match="what is bought: "):
            ask(features)
    assert problem.cost(["age", "mri"]) == problem.cost([0, 3]) == 2.0
    assert problem.cost([]) == 0.0


def test_derived_features_need_what_their_sources_need_in_any_order() -> None:
    chain = Problem(3, 1, 5, prices={2: 5}, derived={0: [1], 1: [2]}, panels={"free": (0, [0])})
    assert [chain.cost([j]) for j in range(3)] == [5.0, 5.0, 5.0]
    assert chain.cost([0, 1, 2]) == 5.0
    assert chain.reads == chain.width == 3  # all of them together


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"prices": [1, 2, 3, -1]}, "the price of 'mri' must be an amount of at least 0"),
        ({"prices": [1, 2, 3, float("nan")]}, "the price of 'mri' must be an amount"),
        ({"prices": [1, 2, 3, "much"]}, "the price of 'mri' must be an amount"),
        ({"prices": [1, 2, 3, "1e9999999"]}, "the price of 'mri' must be an amount"),
        ({"prices": [1, 2, 3]}, "prices must be one per feature, 4 of them"),
        ({"prices": {"agee": 1}}, "prices: there is no feature 'agee'"),
        ({"prices": {"age": 1}}, "prices: 'crp' has none, and 2 others"),
        ({"prices": {"age": 1, "crp": 1}}, "prices: 'alb' has none, and 1 other: give every"),
        ({"prices": {"age": 1, "crp": 1, "alb": 1}}, "prices: 'mri' has none: give every feature"),
        ({"prices": [1, 2, 3, "0.1234567891"]}, "has more than 9 decimals"),
        ({"prices": [1, 2, 3, "1e-999999999"]}, "has more than 9 decimals"),
        ({"prices": [1, 2, 3, Decimal("1e-999999999")]}, "has more than 9 decimals"),
        ({"prices": [1, 2, 3, "1." + "0" * 40 + "1"]}, "has more than 15 digits"),
        ({"prices": [1, 2, 3, "1234567890123.4567"]}, "has more than 15 digits"),
        ({"prices": [9e14, 9e14, 1, 1]}, "too much to count exactly"),
        ({"panels": {"blood": (3, [])}}, "panel 'blood' has no members"),
        ({"panels": {"blood": (3, ["hba"])}}, "panel 'blood': there is no feature 'hba'"),
        ({"panels": {"blood": 3}}, "panel 'blood' must be a price and its features"),
        ({"panels": {"blood": (-3, ["crp"])}}, "the price of panel 'blood' must be an amount"),
        ({"panels": {"blood": (3, 5)}}, "panel 'blood' must be a price and its features"),
        ({"panels": [("blood", 3)]}, "panels must be a mapping by name"),
        ({"prices": [1] * 4, "panels": {"crp": (3, ["age"])}}, "panel 'crp': a feature that has a"),
        ({"prices": [1, [2], 3, 4]}, "the price of 'crp' must be an amount"),
        ({"prices": {True: 1}}, "prices: features run from 0 to 3, got True"),
        ({"derived": ["mri"]}, "derived must be a mapping by name"),
        ({"derived": {"mri": "age"}}, "derived 'mri' must be the features it is computed from"),
        ({"derived": {"mri": 0}}, "derived 'mri' must be the features it is computed from"),
        ({"derived": {"mri": ["mri"]}}, "derived: 'mri' needs 'mri', a circle: give one of them"),
        (
            {"derived": {"mri": ["age", "crp"], "crp": ["alb"], "alb": ["mri"]}},
            "'mri' needs 'crp' needs 'alb' needs 'mri', a circle",
        ),
        ({"names": None, "derived": {0: [1], 1: [0]}}, "'feature 0' needs 'feature 1' needs"),
        ({"derived": {"mri": [7]}}, "derived: features run from 0 to 3, got 7"),
        ({"prices": [9, 9, 9, 9]}, "a budget of 5 buys nothing: age is the cheapest and costs 9"),
        ({"prices": [1, 1, 1, 1], "budget": -1}, "budget must be an amount of at least 0"),
        ({"prices": price_list(2, None, None, None)}, "fit if it has d = 4 features"),
    ],
)
def test_bad_price_lists(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ProblemError, match=re.escape(message)) as caught:
        Problem(**{"d": 4, "k": 1, "budget": 5, "names": NAMES, **given})
    assert "\n" not in str(caught.value)


def _priced(budget: float = 3.5, k: int = 1) -> Problem:
    return Problem(
        *(4, k, budget, NAMES),
        prices={"age": 0, "crp": "0.50", "mri": "2.99"},
        panels={"blood": (3, ["crp", "alb"])},
    )


class Buys(kh.Zero):
    """Buys what it is told to, in single rounds and in blocks, whatever it costs."""

    features: tuple[int, ...] = ()

    def ask(self, *, steps: bool = False) -> kh.Ticket:
        return self._desk.issue(self.features)

    def advance(
        self, X: NDArray[np.floating], y: Floats, bought: NDArray[np.int32] | None = None
    ) -> Floats:
        predictions = super().advance(X, y, bought)
        if bought is not None:
            bought[-1, : len(self.features)] = self.features
        return predictions


@pytest.mark.parametrize("in_blocks", [False, True])
@pytest.mark.parametrize(
    ("features", "budget", "cost"),
    [
        ((0, 1), 3.49, "3.5"),  # by a cent; the panel's fee is charged for one member
        ((1, 2), 3.49, "3.5"),  # and once for two
        ((0, 3), 2.98, "2.99"),  # a free feature costs nothing
        ((2, 3), 5.98, "5.99"),
    ],
)
def test_the_referee_charges_to_the_cent(
    features: tuple[int, ...], budget: float, cost: str, in_blocks: bool
) -> None:
    exact = round(budget + 0.01, 2)
    for money, fits in ((exact, True), (budget, False)):
        learner = Buys(_priced(money))
        learner.features = features
        X, y = np.ones((3, 4)), np.zeros(3)
        if fits:
            assert _play(learner, X, y, in_blocks).most_spent == exact
            continue
        expected = f"cost {cost}, the budget is {budget} per example"
        with pytest.raises(kh.BudgetError, match=re.escape(expected)):
            _play(learner, X, y, in_blocks)


def _play(learner: kh.Learner, X: Floats, y: Floats, in_blocks: bool) -> kh.Ledger:
    game = RunningGame(learner, in_blocks=in_blocks)
    game.play_block(X, y)
    return game.ledger


def test_the_width_of_what_was_bought_is_that_of_the_widest_set() -> None:
    learner = Buys(_priced())
    played = play_rounds(learner.problem, learner, 1, np.ones((2, 4)), np.zeros(2), RowBuffer())
    assert played.bought.shape == (2, learner.problem.width)


def test_books_in_money_and_without_prices_in_reads() -> None:
    X, y = np.ones((5, 4)), np.arange(5.0)
    single, block = (
        _play(kh.FixedSubset(_priced(), support=[0, 1, 2]), X, y, b) for b in (False, True)
    )
    assert single.spent == block.spent == 17.5
    assert single.most_spent == block.most_spent == 3.5
    assert (single.most_reads, block.most_reads) == (3, 3)
    plain = _play(kh.FixedSubset(Problem(4, 2, 2)), X, y, True)
    assert (plain.spent, plain.most_spent) == (10.0, 2.0)
    first, second = kh.Ledger(_priced()), kh.Ledger(_priced())
    first.add(kh.problem.Round(1, np.array([1]), 0.0, 0.0))
    second.add(kh.problem.Round(2, np.array([3]), 0.0, 0.0))
    assert ((first + second).spent, (first + second).most_spent) == (6.49, 3.5)


# Any 5 of them cost at most 6, some sets of 7 do too.
WIDE = Problem(8, 2, 6, prices=["1.20"] * 4 + ["0.80"] * 2 + ["0.40"] * 2)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_keeps_to_a_priced_budget(name: str) -> None:
    assert (WIDE.reads, WIDE.width) == (5, 7)
    rng = np.random.default_rng(7)
    X = rng.standard_normal((120, 8))
    y = X[:, 0] - X[:, 5] + 0.1 * rng.standard_normal(120)
    if name.endswith("-printed"):
        with pytest.raises(ProblemError, match="all cost the same"):
            make_learner(name, WIDE, 3)
        return
    learner, twin = (make_learner(name, WIDE, 3) for _ in range(2))
    whole = LEARNERS[name].reads_everything
    block, single = _play(learner, X, y, True), _play(twin, X, y, False)
    assert block.predictions.tobytes() == single.predictions.tobytes()
    assert block.spent == single.spent
    assert block.most_spent <= (WIDE.cost(range(8)) if whole else WIDE.budget)


@pytest.mark.parametrize("name", ["dantzig", "iht", "aerr"])
def test_without_prices_a_learner_needs_any_k_features_to_be_affordable(name: str) -> None:
    with pytest.raises(ProblemError, match=r"the budget of 3.5 does not buy k = 2 features"):
        make_learner(name, _priced(k=2), 0)


def test_those_that_read_everything_need_to_afford_it() -> None:
    for made in (kh.FullInformation, kh.OnlineLassoLearner, kh.OnlineOMPLearner):
        with pytest.raises(ProblemError, match=r"make the problem with budget=6.49"):
            made(_priced())
        assert made(_priced(6.49)).problem.reads == 4


def test_a_fixed_support_must_be_affordable() -> None:
    with pytest.raises(ProblemError, match=r"support costs 5.99, the budget is 5.98"):
        kh.FixedSubset(_priced(5.98), support=[2, 3])


def test_what_is_printed_is_for_equal_prices() -> None:
    for make in (kh.DantzigLearner.as_printed, kh.OnlineGreedyLearner.as_printed):
        with pytest.raises(ProblemError, match="all cost the same"):
            make(WIDE, horizon=1000)


def test_a_priced_learner_is_saved_and_goes_on(tmp_path: Path) -> None:
    learner = kh.EpsilonGreedyLearner(WIDE, seed=1)
    X = np.random.default_rng(0).standard_normal((40, 8))
    learner.advance(X, X[:, 1])
    learner.ask()  # open in the file
    kh.save(learner, tmp_path / "priced.npz")
    loaded = kh.load(tmp_path / "priced.npz")
    assert loaded.problem == WIDE
    assert loaded.ask().features.tolist() == learner.ask().features.tolist()


@pytest.mark.parametrize(
    "forged",
    [
        {"units": [-1] + [120] * 7},
        {"units": [120] * 7},
        {"units": [1.5] + [120] * 7},
        {"units": [10**16] * 8},
        {"decimals": 99},
        {"items": [1] * 8},
        {"needs": [[0]] * 7},
        {"needs": [[8]] * 8},
        {"needs": [[1, 0]] * 8},
        {"more": 1},
    ],
)
def test_a_forged_price_list_is_refused(
    forged: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    state = kh.Zero(WIDE).state()
    assert archive.decode(archive.encode(state, "1")).problem == WIDE
    dumps = json.dumps

    def forge(header: dict[str, Any], **how: Any) -> str:
        header["problem"]["prices"] = {**header["problem"]["prices"], **forged}
        return dumps(header, **how)

    monkeypatch.setattr("keyhole.saving.archive.json.dumps", forge)
    data = archive.encode(state, "1")
    with pytest.raises(kh.StateError, match=r"not what keyhole\.save writes"):
        archive.decode(data)


def test_prices_of_another_class_are_not_trusted() -> None:
    class Cheap(Prices):
        def count(self, features: Any) -> int:
            return 0

    honest = WIDE.prices
    assert honest is not None
    cheap = Cheap(honest.items, honest.units, honest.needs, honest.decimals)
    with pytest.raises(ProblemError, match="give a price list"):
        WIDE.replace(prices=cheap)


@st.composite
def bills(draw: st.DrawFn) -> tuple[dict[str, Any], set[int], Fraction]:
    """What makes a problem, some features of it, and what they cost, added up independently."""
    d = draw(st.integers(1, 6))
    feature = st.integers(0, d - 1)
    # Cents, and thousandths that are no floats.
    amount = st.integers(0, 5000).map(lambda c: f"{c // 1000}.{c % 1000:03d}")
    several = st.lists(feature, min_size=1, max_size=d, unique=True)
    prices = draw(st.lists(amount, min_size=d, max_size=d))
    panels = draw(st.dictionaries(st.sampled_from("xy"), st.tuples(amount, several)))
    wanted = draw(st.sets(feature, min_size=1))
    cost = sum((Fraction(prices[j]) for j in wanted), Fraction(0))
    for fee, members in panels.values():
        cost += Fraction(fee) if wanted & set(members) else 0
    return {"d": d, "k": 1, "prices": prices, "panels": panels}, wanted, cost


@settings(deadline=None)
@given(bill=bills(), off=st.integers(-2, 2), rows=st.integers(1, 4), data=st.data())
def test_the_referee_lets_no_cent_above_the_limit_pass(
    bill: tuple[dict[str, Any], set[int], Fraction], off: int, rows: int, data: st.DataObject
) -> None:
    """Budgets within two thousandths of what is wanted, on either side; rounds and blocks."""
    made, wanted, cost = bill
    budget = max(cost + Fraction(off, 1000), Fraction(0))
    written = f"{int(budget * 1000) // 1000}.{int(budget * 1000) % 1000:03d}"
    try:
        problem = Problem(budget=written, **made)
    except ProblemError:
        return  # nothing at all is affordable
    fits = cost <= budget
    assert problem.affords(sorted(wanted)) == fits
    features = tuple(sorted(wanted))
    for in_blocks in (False, True):
        learner = Buys(problem)
        learner.features = features
        if in_blocks and len(features) > problem.width:
            assert not fits
            continue
        game = RunningGame(learner, in_blocks=in_blocks)
        if fits:
            game.play_block(np.ones((rows, problem.d)), np.zeros(rows))
            assert game.ledger.most_spent == pytest.approx(float(cost), abs=1e-12)
        else:
            with pytest.raises(kh.BudgetError):
                game.play_block(np.ones((rows, problem.d)), np.zeros(rows))


def test_floats_would_let_a_cent_pass_or_refuse_what_fits() -> None:
    """The broken twin: the same comparison in floats errs on both sides."""
    three = Problem(3, 1, "0.3", prices=["0.1"] * 3)
    assert three.affords([0, 1, 2])
    assert not sum([0.1] * 3) <= 0.3
    large = Problem(2, 1, "900000000.000000", prices=["900000000", "0.000001"])
    assert not large.affords([0, 1])
    assert np.float32(900000000) + np.float32(0.000001) <= np.float32(900000000)


def test_the_limit_is_worked_out_once() -> None:
    problem = _priced(3.5)
    assert problem.limit == 350
    assert Problem(4, 1, 2).limit == 2
    assert problem.replace(budget="3.499").limit == 349
    bought = np.array([[0, 1, -1], [1, 2, 3], [-1, -1, -1]])
    assert problem.too_dear(bought).tolist() == [False, True, False]
    assert Problem(4, 1, 2).too_dear(bought).tolist() == [False, True, False]


@pytest.mark.parametrize("name", ["epsilon-greedy", "explore-commit", "online-greedy"])
def test_by_price_is_better_than_any_reads(name: str) -> None:
    """The useful features are cheap or in a panel, others dear: blindly the budget buys two."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((768, 20))
    y = X[:, 3] - X[:, 4] + 0.8 * X[:, 15] + 0.3 * rng.standard_normal(768)
    stream = kh.streams.ArrayStream(X, y)
    panels = {"blood": ("1.50", [3, 4, 5])}
    prices = [0] + [1, 1] + ["0.20"] * 3 + [4] * 8 + ["1.10"] * 6
    priced = Problem(20, 3, 8, prices=prices, panels=panels)
    assert priced.reads == 2
    blind, ours = (kh.play(make_learner(name, p, 0), stream) for p in (Problem(20, 2, 2), priced))
    assert ours.most_spent <= 8
    blindly, lost = (float(((p.predictions - y)[384:] ** 2).sum()) for p in (blind, ours))
    assert lost < 0.5 * blindly


def test_what_a_learner_plays_is_affordable() -> None:
    X = np.random.default_rng(2).standard_normal((1024, 8))
    dear = Problem(8, 3, 6, prices=[5, 5, 5, 1, 1, 1, 1, 1])
    y = X[:, 0] + X[:, 1] + X[:, 2] + 0.5 * X[:, 4]
    for name in ("epsilon-greedy", "explore-commit"):
        learner = make_learner(name, dear, 0)
        for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
            assert t % 16 or dear.affords(np.flatnonzero(learner.weights))
            seen = kh.sell(dear, learner.ask(), x)
            learner.tell(seen, label)
        assert 4 in np.flatnonzero(learner.weights)


def test_a_forged_support_that_is_too_dear_is_refused() -> None:
    X = np.random.default_rng(2).standard_normal((64, 8))
    for problem, fits in ((WIDE, True), (WIDE.replace(budget=2), False)):
        learner = kh.ExploreThenCommitLearner(problem, seed=0)
        learner.advance(X, X[:, 1])
        state = learner.state()
        forged = replace(state, parts={**state.parts, "support": np.array([0, 1])})
        if fits:
            assert kh.ExploreThenCommitLearner.from_state(forged).problem == problem
            continue
        with pytest.raises(kh.StateError, match="more than the budget buys"):
            kh.ExploreThenCommitLearner.from_state(forged)
