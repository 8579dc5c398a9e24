"""Observations that are filled bit by bit, steps, and the tickets of a desk that grow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.problem.desk import Desk
from keyhole.problem.step import PLAN, STEP, Step, next_features, steps_made

NAMES = ("age", "tsh", "t3", "t4", "bmi", "sex")
TICKET = kh.Ticket(round=7, features=np.array([0, 1, 4]), names=("age", "tsh", "bmi"))


def shop() -> kh.Problem:
    """Six features: a panel of two, a free one."""
    return kh.Problem(
        d=6,
        k=2,
        budget=9,
        names=NAMES,
        prices={"age": 0, "tsh": "2.5", "bmi": 1, "sex": "0.25"},
        panels={"thyroid": (4, ["t3", "t4"])},
    )


def growing(desk: Desk) -> kh.Ticket:
    """First age and tsh, then the panel, then bmi."""
    memo = {PLAN: np.array([0, 1, 2, 3, 4]), STEP: np.array([1, 1, 2, 2, 4])}
    return desk.issue([0, 1], memo)


def step_of(desk: Desk, seen: kh.Observation) -> Step:
    """The next step, as a learner that always goes on makes it."""
    grown = desk.next_step(desk.issued(seen.ticket))
    assert grown is not None
    return Step(seen, *grown, "because")


@pytest.mark.parametrize(
    "parts",
    [
        [{"age": 61}, {"tsh": 0.4}, {"bmi": 22.5}],
        [{"bmi": 22.5}, {1: 0.4}, {0: 61.0}],
        [{4: 22.5, "age": None}, [61.0, math.nan, math.nan], {"tsh": 0.4}],
        [[math.nan, 0.4, math.nan], {}, {"bmi": 22.5, "tsh": 0.4}, {"age": 61.0, "bmi": 22.5}],
    ],
)
def test_values_arrive_in_any_order_each_once(parts: list[Any]) -> None:
    seen = TICKET.fill({})
    assert seen.awaited == ("age", "tsh", "bmi")
    for part in parts:
        before = seen.values.copy()
        more = seen.fill(part)
        assert np.array_equal(seen.values, before, equal_nan=True)
        assert len(more.awaited) <= len(seen.awaited)
        assert more.ticket is TICKET
        seen = more
    assert seen.awaited == ()
    assert seen.values.tolist() == [61.0, 0.4, 22.5]
    assert seen.fill([61.0, 0.4, 22.5]).values.tolist() == [61.0, 0.4, 22.5]


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"tsh": 0.5}, r"tsh was 0.4 before, and now is 0.5.*ticket\.fill"),
        ({1: 0.5, "age": 3.0}, "tsh was 0.4 before"),
        ({"tsg": 0.4}, "did you mean 'tsh'"),
        ({"t3": 0.4}, "'t3' was not bought in round 7"),
        ({2: 0.4}, "2 was not bought"),
        ({"age": "61"}, "'age' must be a number"),
        ({"age": math.inf}, "values are at most"),
        ({"age": 1e200}, "values are at most"),
        ([1.0, 0.4], "3 features, got values of shape"),
        ([[1.0, 0.4, 2.0]], "3 features, got values of shape"),
        ("abc", "values must be numbers"),
        ({0: 1.0, "age": 1.0}, "are the same feature"),
    ],
)
def test_what_cannot_have_arrived_is_refused(bad: Any, said: str) -> None:
    seen = TICKET.fill({"tsh": 0.4})
    with pytest.raises(kh.DataError, match=said):
        seen.fill(bad)
    assert seen.awaited == ("age", "bmi")
    assert np.array_equal(seen.values, [math.nan, 0.4, math.nan], equal_nan=True)


def test_what_is_absent_or_too_small_to_matter_is_no_other_value() -> None:
    seen = TICKET.fill({"tsh": 1e-200})  # as small as 0
    assert seen.fill({"tsh": 0.0}).fill({"tsh": -0.0}).fill({"tsh": 1e-300}).awaited == (
        "age",
        "bmi",
    )
    assert seen.fill([math.nan] * 3).values[1] == 0.0
    nameless = kh.Ticket(round=1, features=np.array([3, 8])).fill({8: 1.0})
    assert nameless.awaited == ("feature 3",)
    assert kh.Ticket(round=1, features=np.arange(0)).fill([]).fill({}).awaited == ()


def test_a_prediction_is_of_what_was_there_then() -> None:
    seen = kh.Observation(TICKET, np.array([1.0, np.nan, 2.0]), prediction=5.0)
    assert seen.fill({"tsh": 3.0}).prediction is None


def test_known_values_need_not_arrive() -> None:
    learner = kh.AutoLearner(shop(), seed=0)
    ticket = learner.ask(known={"tsh": 0.75})
    seen = ticket.fill({})
    assert "tsh" not in seen.awaited
    assert seen.fill({"tsh": 0.75}).awaited == seen.awaited
    with pytest.raises(kh.DataError, match=r"tsh was 0\.75 before"):
        seen.fill({"tsh": 0.5})


def test_a_step_says_what_to_buy_and_what_that_costs() -> None:
    desk = Desk(shop())
    seen = growing(desk).fill({"tsh": 0.4})
    assert seen.ticket.cost == 2.5
    step = step_of(desk, seen)
    assert step
    assert step.features.tolist() == [2, 3]
    assert step.names == ("t3", "t4")
    assert step.items == ("thyroid",)
    assert step.cost == 4.0  # the panel, once
    assert step.ticket.cost == 6.5
    assert "t3, t4" in repr(step)
    assert "for 4" in repr(step)
    assert "thyroid" in step._repr_html_()
    several: list[Any] = [
        [1.0, 2.0],
        {"t3": 1.0, "t4": 2.0},
        {2: 1.0, "t4": 2.0},
        np.array([1.0, 2.0]),
    ]
    for values in several:
        more = step.fill(values)
        assert more.ticket is step.ticket
        assert np.array_equal(more.values, [math.nan, 0.4, 1.0, 2.0], equal_nan=True)
        assert more.awaited == ("age",)
        assert more.fill({"age": 61}).values.tolist() == [61.0, 0.4, 1.0, 2.0]
    for bad in ([1.0], {"bmi": 1.0}, {"tsh": 0.4}, [1.0, 2.0, 3.0], "t3"):
        with pytest.raises(kh.DataError):
            step.fill(bad)
    last = step_of(desk, step.fill({"t4": 2.0}))
    assert (last.names, last.items, last.cost) == (("bmi",), ("bmi",), 1.0)
    done = last.fill([22.0])
    assert desk.next_step(desk.issued(done.ticket)) is None
    assert steps_made(done.ticket).tolist() == [1, 2, 4]


def test_nothing_more_is_false_and_buys_nothing() -> None:
    desk = Desk(shop())
    seen = growing(desk).fill([1.0, 2.0])
    step = Step(seen, seen.ticket, 0.0, "enough is known")
    assert not step
    assert (step.features.tolist(), step.names, step.items) == ([], (), ())
    assert "nothing more, enough is known" in repr(step)
    assert "enough is known" in step._repr_html_()
    assert step.fill({}).values.tolist() == [1.0, 2.0]
    assert step.fill([]).values.tolist() == [1.0, 2.0]


def test_steps_without_names() -> None:
    desk = Desk(kh.Problem(d=4, k=1, budget=3))
    ticket = desk.issue([3], {PLAN: np.array([1, 2, 3]), STEP: np.array([1, 2, 0])})
    step = step_of(desk, ticket.fill([0.5]))
    assert (step.names, step.items, step.cost) == (None, ("feature 1",), 1.0)
    assert "feature 1" in repr(step)
    assert step.fill({1: 2.0}).values.tolist() == [2.0, 0.5]


def test_grown_tickets_survive_json() -> None:
    desk = Desk(shop())
    seen = growing(desk).fill([1.0, 2.0])
    grown = step_of(desk, seen).fill([3.0, 4.0])
    again = kh.Ticket.from_json(grown.ticket.to_json())
    assert again.says_the_same(grown.ticket)
    assert (again.cost, again.items) == (6.5, ("tsh", "thyroid"))  # age is free
    assert desk.issued(again).says_the_same(grown.ticket)
    features = next_features(again)
    assert features is not None
    assert features.tolist() == [0, 1, 2, 3, 4]
    assert next_features(TICKET) is None
    assert steps_made(TICKET).tolist() == []


def foreign() -> list[tuple[str, Any]]:
    """By what is wrong with it, how to spoil a ticket that grew."""

    def with_memo(ticket: kh.Ticket, **changes: Any) -> kh.Ticket:
        return kh.Ticket(
            ticket.round, ticket.features, ticket.names, {**ticket.memo, **changes}, ticket.cost
        )

    def of(features: list[int]) -> Any:
        return lambda t: kh.Ticket(t.round, np.array(features, dtype=np.int64), memo=t.memo)

    return [
        ("a later step without the one before", of([0, 1, 4])),
        ("half a step", of([0, 1, 2])),
        ("less than the first step", of([0])),
        ("nothing", of([])),
        ("beside the plan", of([0, 1, 5])),
        ("another plan", lambda t: with_memo(t, plan=np.array([0, 1, 2, 3, 5]))),
        ("other steps", lambda t: with_memo(t, step=np.array([1, 1, 2, 2, 3]))),
        ("of another type", lambda t: with_memo(t, step=np.array([1, 1, 2, 2, 4], np.int32))),
        ("no memo", lambda t: kh.Ticket(t.round, t.features)),
        ("more memo", lambda t: with_memo(t, more=np.zeros(1))),
        ("never issued", lambda t: kh.Ticket(t.round + 1, t.features, memo=t.memo)),
    ]


@pytest.mark.parametrize(("what", "spoil"), foreign())
def test_tickets_that_did_not_grow_so_are_refused(what: str, spoil: Any) -> None:
    desk = Desk(shop())
    seen = growing(desk).fill([1.0, 2.0])
    grown = step_of(desk, seen).fill([3.0, 4.0])
    fake = spoil(grown.ticket)
    for closing in (desk.issued, desk.drop):
        with pytest.raises(kh.TicketError):
            closing(fake)
    with pytest.raises(kh.TicketError):
        desk.settle(kh.Observation(fake, np.zeros(len(fake.features))), 1.0)
    assert (desk.round, len(desk.open)) == (1, 1)
    ticket, label = desk.settle(grown, 1.0)  # as it is after its steps
    assert (ticket.features.tolist(), ticket.cost, label) == ([0, 1, 2, 3], 6.5, 1.0)
    for late in (seen.ticket, grown.ticket):
        with pytest.raises(kh.TicketError, match="closed"):
            desk.issued(late)


def test_an_open_ticket_is_restored_as_it_was_issued() -> None:
    desk, other = Desk(shop()), Desk(shop())
    seen = growing(desk).fill([1.0, 2.0])
    grown = step_of(desk, seen)
    other.restore(1, [(t.round, t.features, t.memo) for t in desk.open])
    assert other.issued(grown.ticket).says_the_same(grown.ticket)


@pytest.mark.parametrize(
    ("features", "plan", "step"),
    [
        ([0, 1], [0, 1, 6], [0, 0, 1]),  # there is no feature 6
        ([0, 1], [-1, 0, 1], [1, 0, 0]),
        ([0, 1], [0, 1, 2, 3, 4, 5], [0, 0, 1, 1, 1]),  # other lengths
        ([0], [0, 1], [0, 0]),  # not its first step
        ([0, 1], [0, 1], [0, 1]),
        ([], [], np.zeros((0, 1), dtype=np.int64)),
        ([0], np.array(0), np.array(0)),
        ([0], [0.0], [0]),
        ([0], [0], None),
    ],
)
def test_odd_plans_are_not_restored(features: Any, plan: Any, step: Any) -> None:
    memo = {PLAN: np.array(plan)} | ({} if step is None else {STEP: np.array(step)})
    desk = Desk(shop().replace(budget="7.75"))
    with pytest.raises(kh.BudgetError, match="round 1"):
        desk.restore(1, [(1, np.array(features, dtype=np.int64), memo)])
    assert desk.round == 0


def test_a_plan_beyond_the_budget_is_not_restored() -> None:
    desk = Desk(shop().replace(budget="7.25"))  # everything but bmi and sex costs 6.5
    fine = {PLAN: np.arange(4), STEP: np.array([0, 0, 1, 1])}
    dear = {PLAN: np.arange(5), STEP: np.array([0, 0, 1, 1, 2])}
    desk.restore(1, [(1, np.array([0, 1]), fine)])
    with pytest.raises(kh.BudgetError, match="does not grow"):
        desk.restore(1, [(1, np.array([0, 1]), dear)])


@pytest.mark.parametrize("name", sorted(kh.LEARNERS))
def test_every_learner_answers_next(name: str) -> None:
    row = kh.LEARNERS[name]
    try:
        learner: Any = row(kh.Problem(d=6, k=2, budget=4), seed=1)
    except kh.ProblemError:
        learner = row(kh.Problem(d=6, k=2, budget=6), seed=1)
    rng = np.random.default_rng(0)
    for _ in range(20):
        seen = (ticket := learner.ask(steps=True)).fill(rng.normal(size=len(ticket.features)))
        many = 1
        while step := learner.next(seen):
            assert repr(learner.next(seen)) == repr(step)
            seen, many = step.fill(rng.normal(size=len(step.features))), many + 1
        assert many == 1 or name == "auto"
        assert step.seen.values is seen.values or np.array_equal(step.seen.values, seen.values)
        assert "everything that this ticket is for was bought" in step.reason
        learner.tell(seen, float(rng.normal()))
        with pytest.raises(kh.TicketError, match="closed"):
            learner.next(seen)
    with pytest.raises(kh.KeyholeError, match="steps"):
        learner.ask(steps=1)
    with pytest.raises(kh.DataError, match="next takes what"):
        learner.next(ticket)
