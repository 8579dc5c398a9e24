"""AutoLearner step by step: as ever without it, money to the unit, late labels, what is refused."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.problem import Floats
from keyhole.problem.step import MOST_STEPS, PLAN, STEP, Step, next_features
from keyhole.saving.api import to_bytes

NAMES = tuple("abcdefgh")
PANELS = {"draw": ("2.5", ["a", "b", "c"]), "scan": (6, ["d", "e"])}
PRICES = {"a": 1, "f": 0, "g": "3.10", "h": "0.75"}
MONEY: dict[str, dict[str, Any]] = {
    "limit": {},
    "worth": {"worth": 8.0},
    "purse": {"purse": 1500, "horizon": 400},
}


def problem(**changes: Any) -> kh.Problem:
    """Eight features: two panels, one of them with a price of a member's own; one free."""
    usual: dict[str, Any] = {"d": 8, "k": 3, "names": NAMES, "prices": PRICES, "panels": PANELS}
    return kh.Problem(**{**usual, "budget": 13, **changes})


def rows(n: int, seed: int = 0) -> tuple[Floats, Floats]:
    """What g says matters where c is high."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 8))
    y = X[:, 2] + np.where(X[:, 2] > 0.3, 2.0 * X[:, 6], 0.1 * X[:, 6]) + 0.3 * X[:, 5]
    return X, y + 0.2 * rng.standard_normal(n)


def triage(n: int, seed: int = 1) -> tuple[Floats, Floats]:
    """Of three features, priced 1, 4 and 4, the second matters only where the first is high."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = 4.0 * X[:, 0] + np.where(X[:, 0] > 0.5, 3.0 * X[:, 1], 0.0)
    return X, y + 0.2 * rng.standard_normal(n)


TRIAGE = kh.Problem(d=3, k=2, budget=5, prices=[1, 4, 4])


def bought_on(learner: Any, seen: kh.Observation, x: Floats, **how: Any) -> kh.Observation:
    """What was seen after all steps."""
    while step := learner.next(seen, **how):
        assert not np.isin(step.features, seen.ticket.features).any()
        seen = step.fill(x[step.features])
    return seen


def one(learner: Any, x: Floats, **how: Any) -> kh.Observation:
    """An example, bought step by step."""
    ticket = learner.ask(steps=True)
    return bought_on(learner, ticket.fill(x[ticket.features]), x, **how)


def played(learner: Any, X: Floats, y: Floats, **how: Any) -> list[tuple[Any, ...]]:
    """What was bought and predicted in each round."""
    found = []
    for x, label in zip(X, y.tolist(), strict=True):
        seen = one(learner, x, **how)
        found.append((seen.ticket.features.tolist(), learner.predict(seen)))
        learner.tell(seen, label)
    return found


def after(mode: str, n: int, **given: Any) -> kh.AutoLearner:
    """A learner that has played n rounds step by step."""
    learner = kh.AutoLearner(problem(), seed=4, **MONEY[mode], **given)
    played(learner, *rows(n))
    return learner


def growing(learner: kh.AutoLearner, x: Floats) -> kh.Observation:
    """The first step of an example that has another."""
    for _ in range(100):
        ticket = learner.ask(steps=True)
        if next_features(ticket) is not None:
            return ticket.fill(x[ticket.features])
        learner.drop(ticket)
    raise AssertionError("no example has more than one step")


@pytest.fixture(scope="module")
def worthy() -> kh.AutoLearner:
    """Step by step for so long that examples stop; copy it."""
    return after("worth", 380)


@pytest.mark.parametrize("given", [{}, {"proper": True}, {"past": False, "shapes": False}])
def test_where_money_has_no_other_use_it_is_the_game_of_one_order(given: dict[str, Any]) -> None:
    X, y = rows(150)
    for its in (kh.Problem(d=8, k=3, budget=5), problem()):
        plain, stepwise = (kh.AutoLearner(its, seed=4, **given) for _ in range(2))
        found = played(stepwise, X, y)
        for x, label, (features, predicted) in zip(X, y.tolist(), found, strict=True):
            seen = (ticket := plain.ask()).fill(x[ticket.features])
            assert ticket.features.tolist() == features
            assert plain.predict(seen) == predicted
            plain.tell(seen, label)
        assert np.array_equal(plain.weights, stepwise.weights)
        assert plain.ask() == stepwise.ask()  # also without steps, after any


def test_who_was_never_asked_for_steps_knows_nothing_of_them() -> None:
    X, y = rows(80)
    for mode in MONEY:
        learner = kh.AutoLearner(problem(), seed=4, **MONEY[mode])
        learner.advance(X, y)
        with pytest.raises(kh.ProblemError, match="steps"):
            learner.ask(steps="yes")  # type: ignore[arg-type]
        parts = learner.state().parts
        assert "stepwise" not in parts
        assert "stopped" not in parts
        ticket = learner.ask()
        assert not {PLAN, STEP} & ticket.memo.keys()
        step = learner.next(ticket.fill(X[0][ticket.features]), stop_at=1e-6)
        assert not step
        assert step.reason == "everything that this ticket is for was bought"


def test_who_needs_no_more_stops() -> None:
    learner = kh.AutoLearner(TRIAGE, seed=1, worth=2.0)
    X, y = triage(700)
    found = played(learner, X, y)
    high, bought = X[:, 0] > 0.5, np.array([1 in features for features, _ in found])
    assert bought[20:300].all()  # nothing is known yet
    late = np.arange(700) >= 450
    assert bought[late & high].mean() > 0.8
    assert 0.0 < bought[late & ~high].mean() < 0.3  # some go on at random
    for x in X[:20]:
        ticket = learner.ask(steps=True)
        step = learner.next(ticket.fill(x[ticket.features]))
        known = "squared error is expected" in step.reason
        assert known or ("at random" in step.reason and step)
        learner.drop(ticket)


def test_looking_at_the_next_step_changes_nothing(worthy: kh.AutoLearner) -> None:
    learner = copy.deepcopy(worthy)
    learner.track_coverage(0.9)  # or `stop_at` does, when it is first asked for
    X, _ = rows(40, seed=2)
    for x in X:
        ticket = learner.ask(steps=True)
        seen, before = ticket.fill(x[ticket.features]), to_bytes(learner)
        for how in ({}, {"stop_at": 0.3}, {"stop_at": 30.0}):
            said = [learner.next(seen, **how) for _ in range(2)]
            assert repr(said[0]) == repr(said[1])
            assert said[0].reason == said[1].reason
            again = learner.next(kh.Ticket.from_json(ticket.to_json()).fill(seen.values), **how)
            assert repr(again) == repr(said[0])
        assert not learner.next(seen, stop_at=1e9) or np.isinf(
            learner.interval(seen, issue=False).width
        )
        assert to_bytes(learner) == before
        learner.drop(bought_on(learner, seen, x).ticket)


def test_a_target_of_the_width_of_the_interval() -> None:
    X, y = rows(500)
    learner = kh.AutoLearner(kh.Problem(d=8, k=3, budget=5), seed=4)
    played(learner, X[:350], y[:350])
    reads = {}
    for width in (0.9, 3.0, 1e9):
        twin = copy.deepcopy(learner)
        found = played(twin, X[350:], y[350:], stop_at=width)
        reads[width] = sum(len(features) for features, _ in found)
    assert reads[0.9] > reads[3.0] > reads[1e9]
    assert reads[1e9] == 150 * len(learner.ask(steps=True).features)
    seen = growing(learner, X[0])
    while step := learner.next(seen, stop_at=1.0):
        assert learner.interval(seen, issue=False).width > 1.0
        seen = step.fill(X[0][step.features])
    assert step.ticket == seen.ticket
    assert "the 90 % interval is" in step.reason or "was bought" in step.reason


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, "1", True, [1.0]])
def test_targets_that_are_no_width_are_refused(worthy: kh.AutoLearner, bad: Any) -> None:
    learner = copy.deepcopy(worthy)
    seen = growing(learner, np.zeros(8))
    before = to_bytes(learner)
    with pytest.raises(kh.ProblemError, match="stop_at"):
        learner.next(seen, stop_at=bad)
    assert to_bytes(learner) == before


@pytest.mark.parametrize(
    ("name", "terms"),
    [
        ("prices", {"prices": {"a": 3}}),
        ("without", {"without": ["a"]}),
        ("known", {"known": {"a": 1.0}}),
        ("budget", {"budget": 3}),
        ("prices", {"prices": {}}),
    ],
)
def test_no_steps_on_terms_of_its_own(name: str, terms: dict[str, Any]) -> None:
    learner = after("worth", 20)
    before = to_bytes(learner)
    with pytest.raises(kh.ProblemError, match=f"^{name} is for one example on terms of its own"):
        learner.ask(steps=True, **terms)
    assert to_bytes(learner) == before
    ticket = learner.ask(**terms)
    assert not learner.next(ticket.fill(np.zeros(len(ticket.features))))


@pytest.mark.parametrize("mode", MONEY)
def test_panels_are_paid_once_and_free_features_come_first(mode: str) -> None:
    learner, prices = after(mode, 60), problem().prices
    assert prices is not None
    X, y = rows(60, seed=3)
    for x, label in zip(X, y.tolist(), strict=True):
        ticket = learner.ask(steps=True)
        plan, step = ticket.memo[PLAN], ticket.memo[STEP]
        assert len(np.unique(step)) <= MOST_STEPS
        free = [j for j in plan.tolist() if prices.count([j]) == 0]
        assert set(free) <= set(ticket.features.tolist())
        seen, paid = ticket.fill(x[ticket.features]), prices.count(ticket.features.tolist())
        ordered = [*ticket.items]
        while next_step := learner.next(seen):
            seen = next_step.fill(x[next_step.features])
            bought = prices.count(seen.ticket.features.tolist())
            assert next_step.cost == prices.money(bought - paid)
            assert bought > paid  # what is free by now came with an earlier step
            paid = bought
            ordered += next_step.items
        assert len(set(ordered)) == len(ordered)
        assert set(ordered) == set(seen.ticket.items)
        assert seen.ticket.cost == prices.money(paid)
        assert paid <= prices.limit(13)
        learner.tell(seen, label)


def test_one_group_is_bought_in_one_step() -> None:
    """Of a panel that was paid for, all that is in the batch comes with it."""
    learner = kh.AutoLearner(problem(prices={**PRICES, "a": 0}), seed=4, worth=50.0)
    X, y = rows(120)
    for x, label in zip(X, y.tolist(), strict=True):
        ticket = learner.ask(steps=True)
        step = dict(zip(ticket.memo[PLAN].tolist(), ticket.memo[STEP].tolist(), strict=True))
        for members in ((1, 2), (3, 4)):
            assert len({step[j] for j in members if j in step}) <= 1
        seen = bought_on(learner, ticket.fill(x[ticket.features]), x)
        learner.tell(seen, label)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("late", [False, True])
def test_a_purse_is_never_overdrawn_and_what_is_not_bought_comes_back(
    seed: int, late: bool
) -> None:
    purse, horizon = ("1234.55", 330)
    learner = kh.AutoLearner(problem(), seed=seed, purse=purse, horizon=horizon)
    prices, rng = problem().prices, np.random.default_rng(seed)
    assert prices is not None
    left = prices.limit(purse, "purse")
    whole, (X, y) = left, rows(horizon + 20, seed)
    waiting = list[tuple[kh.Observation, float]]()
    spent = 0

    def close() -> int:
        seen, label = waiting.pop(int(rng.integers(len(waiting))))
        if rng.random() < 0.2:
            learner.drop(seen.ticket)
        else:
            learner.tell(seen, label)
        return prices.count(seen.ticket.features.tolist())

    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        if t % 7 == 3:  # a whole order among the steps
            ticket = learner.ask()
            seen = ticket.fill(x[ticket.features])
            left -= prices.count(ticket.features.tolist())
        else:
            seen = one(learner, x)
            left -= prices.count(seen.ticket.memo[PLAN].tolist())
        back = prices.count(seen.ticket.memo.get(PLAN, seen.ticket.features).tolist())
        back -= prices.count(seen.ticket.features.tolist())
        waiting.append((seen, label))
        assert learner.purse_left == prices.money(left)
        assert left >= 0
        pending = {id(s): 0 for s, _ in waiting}
        assert pending
        while len(waiting) > (rng.integers(1, 12) if late else 0):
            before = {s.round: s for s, _ in waiting}
            spent += close()
            closed = before[next(iter(before.keys() - {s.round for s, _ in waiting}))].ticket
            left += prices.count(closed.memo.get(PLAN, closed.features).tolist())
            left -= prices.count(closed.features.tolist())
            assert learner.purse_left == prices.money(left)
    while waiting:
        spent += close()
    assert learner.purse_left == prices.money(whole - spent)
    assert spent > 0.5 * whole


def test_a_drop_gives_back_what_was_not_bought() -> None:
    learner, x = after("purse", 120), rows(1)[0][0]
    prices = problem().prices
    assert prices is not None
    before = learner._state.purse[0]
    seen = growing(learner, x)
    learner.drop(seen.ticket)
    assert learner._state.purse[0] == before - prices.count(seen.ticket.features.tolist())
    seen, before = growing(learner, x), learner._state.purse[0]
    plan = seen.ticket.memo[PLAN].tolist()
    learner.tell(seen, 1.0)
    back = prices.count(plan) - prices.count(seen.ticket.features.tolist())
    assert learner._state.purse[0] == before + back


def test_the_rate_of_a_purse_stays_a_number() -> None:
    """However long more, or less, is spent than the purse lasts for."""
    for rate in (5e-324, 1.7e308):
        learner = after("purse", 200)
        own = learner._stepwise
        assert own is not None
        own.rate[0] = rate
        X, y = rows(30, seed=5)
        for features, predicted in played(learner, X, y):
            assert features
            assert math.isfinite(predicted)
        assert 0.0 < own.rate[0] < math.inf
        assert to_bytes(kh.AutoLearner.from_state(learner.state())) == to_bytes(learner)


@pytest.mark.parametrize("mode", MONEY)
def test_labels_that_are_late_shuffled_or_dropped(mode: str) -> None:
    learner, rng = kh.AutoLearner(problem(), seed=4, **MONEY[mode]), np.random.default_rng(6)
    X, y = rows(390)
    waiting: list[tuple[kh.Observation, float]] = []
    for x, label in zip(X, y.tolist(), strict=True):
        waiting.append((one(learner, x), label))
        while len(waiting) > rng.integers(1, 90):  # beyond what batches wait for, too
            seen, told = waiting.pop(int(rng.integers(len(waiting))))
            assert math.isfinite(learner.predict(seen))
            ticket = kh.Ticket.from_json(seen.ticket.to_json())
            if rng.random() < 0.2:
                learner.drop(ticket)
            else:
                learner.tell(kh.Observation(ticket, seen.values), told)
    for seen, told in waiting:
        learner.tell(seen, told)
    assert learner._desk.open == ()
    assert np.isfinite(learner.weights).all()
    kh.AutoLearner.from_state(learner.state())


def test_values_that_are_absent_or_arrive_later(worthy: kh.AutoLearner) -> None:
    learner, rng = copy.deepcopy(worthy), np.random.default_rng(7)
    X, y = rows(120, seed=8)
    X[rng.random(X.shape) < 0.3] = np.nan
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        ticket = learner.ask(steps=True)
        seen = ticket.fill({})  # nothing has arrived yet
        assert math.isfinite(learner.predict(seen))
        learner.interval(seen, issue=False)
        if t % 3:
            while step := learner.next(seen):
                part = {int(j): x[j] for j in step.features[: 1 + t % 2]}
                seen = step.fill(part)
                assert math.isfinite(learner.predict(seen))
        first = seen.ticket.features[:1]
        if t % 2:
            seen = seen.fill({int(j): x[j] for j in first})
        learner.tell(seen, label)
    assert np.isfinite(learner.weights).all()


def test_a_first_step_that_is_not_bought_to_the_end_can_be_told(worthy: kh.AutoLearner) -> None:
    """Whoever asks decides: also to stop where `next` would go on."""
    learner = copy.deepcopy(worthy)
    x = rows(1)[0][0]
    while not learner.next(seen := growing(learner, x)):
        learner.drop(seen.ticket)
    learner.tell(seen, 1.0)
    with pytest.raises(kh.TicketError, match="closed"):
        learner.next(seen)


@pytest.mark.parametrize("mode", MONEY)
def test_foreign_and_edited_tickets_are_refused_without_a_trace(mode: str) -> None:
    learner = after(mode, 40)
    x = rows(1)[0][0]
    seen, other = growing(learner, x), growing(learner, x)
    ticket, before = seen.ticket, to_bytes(learner)
    plan, memo = ticket.memo[PLAN], dict(ticket.memo)
    fakes = [
        kh.Ticket(ticket.round, np.setdiff1d(plan, ticket.features[:1]), memo=memo),
        kh.Ticket(ticket.round, plan[:0], memo=memo),
        kh.Ticket(ticket.round, plan, memo={**memo, STEP: np.zeros_like(plan)}),
        kh.Ticket(ticket.round, plan, memo={**memo, PLAN: plan[::-1]}),
        kh.Ticket(ticket.round, plan, memo={k: v for k, v in memo.items() if k != PLAN}),
        kh.Ticket(other.round + 1, ticket.features, memo=memo),
        kh.Ticket(other.round, plan, memo={**memo, "batch": np.array(0)}),
    ]
    for fake in fakes:
        forged = kh.Observation(fake, np.zeros(len(fake.features)))
        for verb in (learner.next, learner.predict, learner.interval, learner.explain):
            with pytest.raises(kh.TicketError):
                verb(forged)
        with pytest.raises(kh.TicketError):
            learner.tell(forged, 1.0)
        with pytest.raises(kh.TicketError):
            learner.drop(fake)
    for nothing in (None, ticket, 3, x):
        with pytest.raises(kh.DataError, match="next takes what"):
            learner.next(nothing)  # type: ignore[arg-type]
    for bad in (math.nan, math.inf, 1e200):
        with pytest.raises(kh.DataError):
            learner.tell(seen, bad)
    assert to_bytes(learner) == before


def test_a_block_is_played_as_single_rounds_are(worthy: kh.AutoLearner) -> None:
    """Whatever was bought step by step before, in the midst of a batch or not."""
    X, y = rows(60, seed=9)
    for more in range(4):
        single, block = copy.deepcopy(worthy), copy.deepcopy(worthy)
        for learner in (single, block):
            played(learner, X[:more], y[:more])
        expected = []
        for x, label in zip(X, y.tolist(), strict=True):
            seen = (ticket := single.ask()).fill(x[ticket.features])
            expected.append(single.predict(seen))
            single.tell(seen, label)
        assert block.advance(X, y).tolist() == expected
        assert played(block, X[:30], y[:30]) == played(single, X[:30], y[:30])


def stopped_examples(learner: Any, n: int) -> Iterator[tuple[kh.Observation, float]]:
    """Examples that stopped early, told."""
    X, y = rows(n, seed=10)
    for x, label in zip(X, y.tolist(), strict=True):
        seen = one(learner, x)
        learner.tell(seen, label)
        if next_features(seen.ticket) is not None:
            yield seen, label


def test_what_stopped_early_can_be_corrected(worthy: kh.AutoLearner) -> None:
    """As if it had been told right, whatever else was bought for its batch."""
    wrong, right = copy.deepcopy(worthy), copy.deepcopy(worthy)
    for learner in (wrong, right):
        seen, label = next(stopped := stopped_examples(learner, 60))
        assert len([*stopped]) > 3  # by now its batch is in the sums
    ring = wrong._state.ring
    slot = int(np.flatnonzero(ring.rounds == seen.round)[-1])
    j = int(seen.ticket.features[-1])
    wrong.correct(seen.ticket, y=label + 0.5, values={j: 0.125})
    assert ring.labels[slot] == label + 0.5
    read = ring.features[slot]
    row = dict(zip(read[read >= 0].tolist(), ring.values[slot].tolist(), strict=False))
    for feature, value in zip(seen.ticket.features.tolist(), seen.values.tolist(), strict=True):
        assert row[feature] == (0.125 if feature == j else value)
    assert all(math.isnan(row[i]) for i in set(row) - set(seen.ticket.features.tolist()))
    assert not np.allclose(wrong._state.kept.c, right._state.kept.c)
    assert not np.allclose(wrong.model().weights, right.model().weights, rtol=1e-6)
    wrong.correct(seen.ticket, y=label, values={j: float(seen.values[-1])})  # and back
    assert np.allclose(wrong._state.kept.c, right._state.kept.c)
    assert np.allclose(wrong._state.kept.G, right._state.kept.G)
    assert np.allclose(wrong.model().weights, right.model().weights, rtol=1e-6)
    before = to_bytes(wrong)
    beside = np.setdiff1d(seen.ticket.memo[PLAN], seen.ticket.features)
    with pytest.raises(kh.DataError, match="was not bought"):
        wrong.correct(seen.ticket, values={int(beside[0]): 1.0})
    for spoilt in (np.setdiff1d(np.arange(8), beside[1:]), seen.ticket.features[:0]):
        fake = kh.Ticket(seen.round, spoilt, memo={"batch": seen.ticket.memo["batch"]})
        with pytest.raises(kh.TicketError, match="not the one that was told"):
            wrong.correct(fake, y=1.0)
    assert to_bytes(wrong) == before


def test_what_stopped_early_can_be_explained(worthy: kh.AutoLearner) -> None:
    learner = copy.deepcopy(worthy)
    for x in rows(6, seed=12)[0]:
        seen = growing(learner, x)
        while True:
            found = learner.explain(seen)
            total = found.baseline + sum(line.adds for line in found.lines)
            assert total == pytest.approx(learner.predict(seen), abs=1e-9)
            assert len(found.lines) == len(seen.ticket.features)
            step = learner.next(seen)
            if not step:
                break
            seen = step.fill(x[step.features])


def test_wide_data_with_few_seats() -> None:
    d, n = 3000, 40
    rng = np.random.default_rng(13)
    X = rng.standard_normal((n, d))
    y = X[:, 7] + 0.1 * rng.standard_normal(n)
    prices = {j: 1 + j % 3 for j in range(d)}
    wide = kh.Problem(d=d, k=3, budget=12, prices=prices)
    learner = kh.AutoLearner(wide, seed=1, purse=200, horizon=n)
    assert len(learner._state.kept.who) < d
    for features, predicted in played(learner, X, y):
        assert wide.affords(np.array(features))
        assert math.isfinite(predicted)
    assert learner.purse_left is not None
    assert learner.purse_left >= 0
    plain, stepwise = (kh.AutoLearner(kh.Problem(d=d, k=3, budget=6), seed=1) for _ in range(2))
    found = played(stepwise, X[:12], y[:12])
    expected = kh.game.rounds(plain, kh.streams.ArrayStream(X[:12], y[:12]))
    assert found == [(r.features.tolist(), r.y_hat) for r in expected]


@pytest.mark.parametrize("scale", [1e-140, 1e140])
def test_labels_of_any_size(scale: float) -> None:
    learner = kh.AutoLearner(problem(), seed=4, purse=1500, horizon=400)
    X, y = rows(330)
    for features, predicted in played(learner, X, scale * y):
        assert features is not None
        assert math.isfinite(predicted)
    own = learner._stepwise
    assert own is not None
    for array in (own.table.errors, own.table.saved, own.rate, own.went):
        assert np.isfinite(array).all()
    kh.AutoLearner.from_state(learner.state())


def test_history_shortens_the_time_in_which_all_go_on() -> None:
    X, y = triage(500)
    learner = kh.AutoLearner(TRIAGE, seed=1, worth=2.0)
    learner.study(kh.streams.ArrayStream(X[:300], y[:300]))
    found = played(learner, X[300:], y[300:])
    sizes = [len(features) for features, _ in found]
    assert min(sizes[:100]) == max(sizes[:100]) == 2
    assert 20 < sizes[100:].count(1) < 90


def test_steps_and_whole_orders_take_turns() -> None:
    """A batch that was chosen for steps is not what a whole order buys, and the other way round."""
    learner, worth = after("worth", 330), problem()
    X, y = rows(40, seed=14)
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        if t % 3:
            ticket = learner.ask()
            assert PLAN not in ticket.memo
            seen = ticket.fill(x[ticket.features])
        else:
            seen = one(learner, x)
        assert worth.affords(seen.ticket.features)
        learner.tell(seen, label)
        kh.AutoLearner.from_state(learner.state())


def test_a_step_of_a_learner_is_a_step(worthy: kh.AutoLearner) -> None:
    learner = copy.deepcopy(worthy)
    seen = growing(learner, np.zeros(8))
    step = learner.next(seen)
    assert type(step) is Step is kh.Step
    assert step.seen.values is seen.values
