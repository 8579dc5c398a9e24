"""AutoLearner where features have prices: limits, purse, exchange rate, terms of one example."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import keyhole as kh
from keyhole.problem.ticket import Ticket
from keyhole.saving.api import from_bytes
from keyhole.saving.archive import encode

NAMES = tuple("abcdefghijkl")
PANELS = {"draw": ("2.5", ["a", "b", "c"]), "scan": (6, ["d", "e"])}
PRICES = {
    "a": 1,
    "b": "0.25",
    "d": 1,
    "f": 0,
    "g": "3.10",
    "h": 2,
    "i": 1,
    "j": 9,
    "k": "0.75",
    "l": 4,
}


def problem(budget: float | str = 8, **changes: Any) -> kh.Problem:
    """Twelve features: two panels, one of them with own prices; one free, one too dear."""
    usual: dict[str, Any] = {"d": 12, "k": 3, "names": NAMES, "prices": PRICES, "panels": PANELS}
    return kh.Problem(**{**usual, "derived": {"l": ["a", "g"]}, "budget": budget, **changes})


def rows(n: int, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Labels that depend on a member of each panel, a feature of its own price, and a free one."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 12))
    y = 2.0 + X[:, 2] + 0.8 * X[:, 6] - 0.7 * X[:, 3] + 0.5 * X[:, 5]
    return X, y + 0.5 * rng.standard_normal(n)


def stream(n: int, seed: int = 0) -> kh.streams.ArrayStream:
    """The same as a stream."""
    return kh.streams.ArrayStream(*rows(n, seed), names=NAMES)


MODES: dict[str, dict[str, Any]] = {
    "limit": {},
    "worth": {"worth": 30.0},
    "purse": {"purse": 2500, "horizon": 600},
    "proper": {"proper": True},
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("budget", ["1", "2.75", "8", "30"])
def test_never_a_cent_above_the_limit(mode: str, budget: str) -> None:
    learner = kh.AutoLearner(problem(budget, k=1), seed=3, **MODES[mode])
    ledger = kh.play(learner, stream(600), audit=0.2)
    assert ledger.spent > 0
    assert ledger.most_spent <= float(budget)
    if mode == "purse":
        assert ledger.spent <= 2500
        assert learner.purse_left == pytest.approx(2500 - ledger.spent, abs=1e-9)


@pytest.mark.parametrize("mode", MODES)
def test_blocks_are_single_rounds_and_files_go_on(mode: str, tmp_path: Path) -> None:
    X, y = rows(230)
    given = MODES[mode]
    block = kh.AutoLearner(problem(), seed=5, **given)
    told = block.advance(X, y)
    single = kh.AutoLearner(problem(), seed=5, **given)
    guesses = []
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        if t in (1, 57, 130):  # in the middle of batches, with a ticket open
            ticket = single.ask()
            kh.save(single, tmp_path / "learner.npz")
            loaded = kh.load(tmp_path / "learner.npz")
            assert isinstance(loaded, kh.AutoLearner)
            single = loaded
        else:
            ticket = single.ask()
        seen = ticket.fill(x[ticket.features])
        guesses.append(single.predict(seen))
        single.tell(seen, label)
        assert ticket.cost == problem().cost(ticket.features) <= 8
    assert guesses == told.tolist()
    assert single.purse_left == block.purse_left


def test_what_is_paid_for_is_read_and_ordered_by_item() -> None:
    learner, prices = kh.AutoLearner(problem(), seed=1), problem().prices
    assert prices is not None
    for x, label in zip(*rows(200), strict=True):
        ticket = learner.ask()
        assert ticket.features.tolist() == prices.paid_for(ticket.features).tolist()
        assert 5 in ticket.features  # free
        assert set(ticket.items) == set(prices.to_order(ticket.features.tolist()))
        assert {"draw"} & set(ticket.items) == ({"draw"} if 2 in ticket.features else set())
        learner.tell(ticket.fill(x[ticket.features]), label)


def test_money_goes_to_what_is_useful() -> None:
    ledger = kh.play(kh.AutoLearner(problem("9.5"), seed=0), stream(4000))
    # c needs the draw (2.5), g costs 3.10, d needs the scan and 1 more, f is free.
    often = ledger.reads / ledger.rounds
    assert min(often[[2, 5]]) > 0.6
    best = kh.hindsight(stream(4000), cost="9.5", prices=problem(), intercept=True)
    empty = kh.hindsight(stream(4000), 1, intercept=True).empty_loss
    assert (ledger.loss - best.loss.high) / (empty - best.loss.high) < 0.12


def test_a_dear_unit_of_error_buys_more() -> None:
    spent = []
    for worth in (0.01, 3.0, 30.0, 3000.0):
        learner = kh.AutoLearner(problem(30), seed=0, worth=worth)
        kh.play(learner, stream(1500))
        spent.append(kh.play(learner, stream(1500, seed=9)).spent / 1500)
    assert spent[0] < 0.15  # nothing is worth its price: almost nothing is bought
    assert all(a < b for a, b in itertools.pairwise(spent))


def test_a_purse_buys_complete_rows_first_if_that_pays() -> None:
    everything = problem().whole()
    full = everything.cost(range(12))
    learner = kh.AutoLearner(everything, seed=0, purse=full * 400, horizon=2000)
    costs = _costs(learner, 2000)
    assert costs[:40] == [full] * 40
    assert max(costs[60:]) < full
    poor = kh.AutoLearner(everything, seed=0, purse=full * 200, horizon=2000)
    assert max(_costs(poor, 100)) < full  # a tenth buys 20 rows: not worth while
    assert sum(costs) <= full * 400


def _costs(learner: kh.AutoLearner, n: int) -> list[float]:
    costs = []
    for x, label in zip(*rows(n), strict=True):
        ticket = learner.ask()
        costs.append(ticket.cost)
        learner.tell(ticket.fill(x[ticket.features]), label)
    return costs


def test_a_purse_is_not_overdrawn_beyond_its_horizon() -> None:
    learner = kh.AutoLearner(problem(), seed=0, purse=100, horizon=50)
    costs = _costs(learner, 400)
    assert sum(costs) <= 100
    left = learner.purse_left
    assert left is not None
    assert left == pytest.approx(100 - sum(costs), abs=1e-9)
    assert min(costs) == 0


# Terms of one example.


def _told(n: int = 300, **given: Any) -> kh.AutoLearner:
    learner = kh.AutoLearner(problem(**given), seed=2)
    kh.play(learner, stream(n))
    return learner


def test_terms_of_one_example_hold() -> None:
    learner = _told()
    ticket = learner.ask(without=["c", "g"], known={"d": 1.25}, budget=6)
    names = ticket.names or ()
    assert not {"c", "g"} & set(names)
    assert ticket.known == {3: 1.25}
    assert "scan" not in ticket.items or "e" in names  # d is in hand, the scan is not needed for it
    assert ticket.cost <= 6
    seen = ticket.fill({name: 0.5 for name in names if name != "d"})
    assert seen.at(np.array([3])).tolist() == [1.25]
    assert math.isfinite(learner.predict(seen))
    learner.tell(seen, 2.0)


def test_other_prices_for_one_example() -> None:
    learner = _told()
    assert learner.ask(budget=0).cost == 0
    cheap = learner.ask(prices={"j": 0, "draw": 0, "g": math.inf})
    assert "j" in (cheap.names or ())
    assert "c" in (cheap.names or ())
    assert "g" not in (cheap.names or ())
    assert cheap.cost == sum(
        {"a": 1, "b": 0.25, "d": 1, "h": 2, "i": 1, "k": 0.75, "scan": 6}.get(i, 0)
        for i in cheap.items
    )


def test_what_cannot_be_had_is_a_list_of_any_kind() -> None:
    learner = _told()
    kinds: list[Any] = [["c", "g"], {"c", "g"}, np.array([2, 6]), iter((2, "g")), ("c", 6, "c")]
    for without in kinds:
        assert not {"c", "g"} & set(learner.ask(without=without).names or ())
    assert learner.ask(without=range(12)).cost == 0


def test_no_terms_are_no_terms() -> None:
    plain, other = _told(), _told()
    nothing: list[dict[str, Any]] = [{"without": []}, {"known": {}}, {"prices": {}}]
    nothing.append({"without": np.array([]), "known": None})
    for given in nothing:
        assert plain.ask().says_the_same(other.ask(**given))


def test_what_is_computed_from_a_feature_goes_with_it() -> None:
    derived = kh.Problem(3, 1, 9, ("a", "b", "ratio"), [3, 4, 0], derived={"ratio": ["a", "b"]})
    learner = kh.AutoLearner(derived)
    assert learner.ask(without=["a"]).items == ("b",)
    assert learner.ask(prices={0: math.inf}).items == ("b",)
    ticket = learner.ask(known={"a": 1.0})  # nobody orders what is in hand
    assert (ticket.names, ticket.items, ticket.cost) == (("a", "b", "ratio"), ("b",), 4.0)
    assert learner.ask(prices={0: 1}).cost == learner.ask(prices={"a": 1}).cost == 5.0


def test_more_money_than_can_be_counted_buys_everything() -> None:
    tiny = kh.Problem(3, 1, 1e15, prices=["0.000000001"] * 3)
    learner = kh.AutoLearner(tiny)
    assert learner.ask().cost == learner.ask(budget=1e15).cost == 3e-9
    assert kh.AutoLearner(tiny, purse="0.0000001", horizon=10**30).ask().cost == 0


def test_a_purse_may_be_decimal(tmp_path: Path) -> None:
    learner = kh.AutoLearner(problem(), purse=Decimal("100.10"), horizon=50)
    learner.ask()
    kh.save(learner, tmp_path / "purse.npz")
    loaded = kh.load(tmp_path / "purse.npz")
    assert isinstance(loaded, kh.AutoLearner)
    assert loaded.purse_left == learner.purse_left


def test_terms_change_nothing_for_the_others() -> None:
    plain, other = _told(), _told()
    X, y = rows(60, seed=4)
    for t, x in enumerate(X):
        if t % 7 == 3:
            other.drop(other.ask(without=["a"], budget=3))
        one, two = plain.ask(), other.ask()
        assert one.features.tolist() == two.features.tolist()
        a, b = one.fill(x[one.features]), two.fill(x[two.features])
        assert plain.predict(a) == other.predict(b)
        plain.tell(a, y[t])
        other.tell(b, y[t])


def test_terms_in_a_problem_without_prices() -> None:
    learner = kh.AutoLearner(kh.Problem(d=12, k=3, budget=6, names=NAMES), seed=0)
    X, y = rows(500)
    learner.advance(X, y)
    ticket = learner.ask(without=["c"], known={"g": 0.0, "d": 1.0, "f": 0.5, "h": 1.0, "i": 2.0})
    assert len(ticket.features) == 6 + 5
    assert ticket.cost == 6.0
    assert "c" not in (ticket.names or ())
    seen = ticket.fill({})
    near = learner.predict(seen)
    assert abs(near - (2.0 - 0.7 + 0.25)) < 0.5  # what is known is used
    learner.tell(seen, 1.5)
    assert learner.ask(budget=2).cost == 2.0


def test_a_ticket_on_its_own_terms_survives_files_and_json(tmp_path: Path) -> None:
    learner = _told()
    ticket = learner.ask(known={"d": 1.0}, prices={"j": 0})
    copied = Ticket.from_json(ticket.to_json())
    assert (copied.cost, copied.items, copied.known) == (ticket.cost, ticket.items, ticket.known)
    kh.save(learner, tmp_path / "a.npz")
    loaded = kh.load(tmp_path / "a.npz")
    assert loaded.predict(copied.fill({})) == learner.predict(ticket.fill({}))
    loaded.tell(copied.fill({}), 1.0)
    learner.tell(ticket.fill({}), 1.0)
    kh.save(loaded, tmp_path / "b.npz")
    kh.save(learner, tmp_path / "c.npz")
    assert (tmp_path / "b.npz").read_bytes() == (tmp_path / "c.npz").read_bytes()


@pytest.mark.parametrize(
    ("terms", "says"),
    [
        ({"without": ["z"]}, "without: there is no feature 'z'"),
        ({"without": "a"}, "without must be a list of features"),
        ({"known": {"a": math.nan}}, "known: the value of 'a' must be a number"),
        ({"known": {"a": "1"}}, "known: the value of 'a' must be a number"),
        ({"known": ["a"]}, "known must be a mapping by feature"),
        ({"known": {"a": 1.0}, "without": ["a"]}, "a is said to be known and to be unavailable"),
        ({"prices": {"a": -1}}, "the price of 'a' must be an amount"),
        ({"prices": {"a": math.nan}}, "the price of 'a' must be an amount"),
        ({"prices": {"a": "0.001"}}, "in units of 0.01, round it"),
        ({"prices": {"a": np.array([1.0, 2.0])}}, "the price of 'a' must be an amount"),
        (
            {"prices": {"a": 1e15}},
            "too much to count exactly: use math.inf for what is not available",
        ),
        ({"prices": {True: 1}}, "prices: features run from 0 to 11, got True"),
        ({"without": 0}, "without must be a list of features"),
        ({"without": ""}, "without must be a list of features"),
        ({"without": np.zeros((2, 2), dtype=np.int64)}, "without must be a list of features"),
        ({"without": [True]}, "without: features run from 0 to 11, got True"),
        ({"known": 0}, "known must be a mapping by feature"),
        ({"known": {"a": 10**400}}, "known: the value of 'a' must be a number"),
        ({"prices": {"f": 3}}, "'f' has no price of its own"),
        ({"prices": {"q": 3}}, "prices: there is no feature 'q'"),
        ({"budget": -1}, "budget must be an amount"),
        ({"budget": math.inf}, "budget must be an amount"),
    ],
)
def test_bad_terms_change_nothing(terms: dict[str, Any], says: str) -> None:
    learner = _told(40)
    before = copy.deepcopy(learner)
    with pytest.raises(kh.ProblemError, match=says):
        learner.ask(**terms)
    assert learner.round == before.round
    assert learner.ask().features.tolist() == before.ask().features.tolist()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"worth": 0}, "worth must be"),
        ({"worth": math.nan}, "worth must be"),
        ({"worth": 1e300}, "worth must be from 1e-150 to 1e\\+150, got 1e\\+300"),
        ({"purse": 1e15, "horizon": 10}, "more than 1e\\+15 times 0.01, the unit of the prices"),
        ({"purse": 100}, "a purse needs a horizon"),
        ({"horizon": 100}, "a purse needs a horizon"),
        ({"purse": -1, "horizon": 10}, "purse must be an amount"),
        ({"purse": 5, "horizon": 0}, "horizon must be"),
        ({"purse": 5, "horizon": 10, "worth": 1}, "two ways to spend money"),
        ({"parts": kh.AutoParts(slots=2)}, "slots counts features"),
    ],
)
def test_modes_that_do_not_go_together(given: dict[str, Any], says: str) -> None:
    with pytest.raises(kh.ProblemError, match=says):
        kh.AutoLearner(problem(), **given)


def test_money_without_prices_is_refused() -> None:
    with pytest.raises(kh.ProblemError, match="worth=3 is about money: give the problem prices"):
        kh.AutoLearner(kh.Problem(d=4, k=1, budget=2), worth=3)


def test_history_is_studied_with_prices() -> None:
    cold, warm = (kh.AutoLearner(problem(), seed=0) for _ in range(2))
    warm.study(stream(300, seed=8))
    lost = [kh.play(learner, stream(200)).loss for learner in (cold, warm)]
    assert lost[1] < 0.7 * lost[0]


@pytest.mark.parametrize(
    ("part", "value", "says"),
    [
        ("purse", 10**6, "more is left than there was"),
        ("purse", 0, "less is left than the rest of the current batch costs"),
        ("purse", -1, "purse must be from 0"),
    ],
)
def test_forged_money_is_refused(part: str, value: float, says: str) -> None:
    learner = kh.AutoLearner(problem(), purse=400, horizon=100)
    X, y = rows(41)
    learner.advance(X, y)
    learner.ask()
    state = learner.state()
    genuine: Any = state.parts[part]
    parts = {**state.parts, part: np.full_like(genuine, value)}
    with pytest.raises(kh.StateError, match=says):
        from_bytes(encode(dataclasses.replace(state, parts=parts), "forged"))


def test_a_forged_batch_that_is_too_dear_is_refused() -> None:
    learner = kh.AutoLearner(problem(budget=6))
    X, y = rows(41)
    learner.advance(X, y)  # no ticket of the current batch is open
    waiting = copy.deepcopy(learner.state().parts["waiting"])
    assert isinstance(waiting, list)
    S = waiting[-1]["content"]["S"]
    dear = sorted(range(12), key=lambda j: -learner.problem.cost([j]))[: len(S)]
    assert not learner.problem.affords(dear)
    S[:] = np.sort(dear)
    state = learner.state()
    forged = dataclasses.replace(state, parts={**state.parts, "waiting": waiting})
    with pytest.raises(kh.StateError, match="the current batch reads more than"):
        from_bytes(encode(forged, "forged"))


def test_the_model_is_what_the_budget_buys_whatever_is_explored() -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((400, 3))
    y = X[:, 1] + 0.1 * rng.standard_normal(400)
    learner = kh.AutoLearner(kh.Problem(3, 1, 3, prices=[2, 2.5, 0]), seed=0)
    unread = 0
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        ticket = learner.ask()
        if t >= 100:
            assert learner.model().features.tolist() == [1]
            unread += 1 not in ticket.features
        learner.tell(ticket.fill(x[ticket.features]), label)
    assert unread > 0  # in some batches what is explored leaves no money for it
