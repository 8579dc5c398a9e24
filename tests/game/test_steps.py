"""The referee's game step by step: what may be bought, what is seen, what is counted."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.game.audit import poisoned
from keyhole.game.observer import Observer
from keyhole.problem import Floats
from keyhole.problem.step import Step, next_features

PROBLEM = kh.Problem(
    d=6, k=2, budget=7, prices=[0, 1, 3, 1, 1, 2], panels={"panel": ("1.5", [3, 4])}
)


def rows(n: int, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    y = 3.0 * X[:, 1] + np.where(X[:, 1] > 0.4, 2.0 * X[:, 3], 0.0) + 0.3 * rng.standard_normal(n)
    return X, y


def stream(n: int, seed: int = 0) -> kh.streams.ArrayStream:
    return kh.streams.ArrayStream(*rows(n, seed))


def learner(**given: Any) -> kh.AutoLearner:
    return kh.AutoLearner(PROBLEM, seed=3, **{"worth": 2.0, **given})


class Transcribed:
    """Passes everything on, and writes down what each step was for and what was seen."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.written = inner, list[Any]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def next(self, seen: kh.Observation) -> Step:
        step: Step = self.inner.next(seen)
        self.written.append((seen.values.tolist(), step.ticket.features.tolist(), step.reason))
        return step

    def predict(self, seen: kh.Observation) -> float:
        self.written.append(y_hat := self.inner.predict(seen))
        return float(y_hat)


def played(X: Floats, y: Floats, **given: Any) -> tuple[list[Any], kh.Ledger]:
    one: Any = Transcribed(learner(**given))
    ledger = kh.play(one, kh.streams.ArrayStream(X, y), steps=True)
    return one.written, ledger


@pytest.mark.parametrize("given", [{}, {"worth": None, "purse": 1200, "horizon": 400}])
def test_nothing_is_seen_before_it_was_bought(given: dict[str, Any]) -> None:
    """Rows in which what was not bought is poison give the identical transcript."""
    X, y = rows(420)
    first, ledger = played(X, y, **given)
    bought = np.full((len(X), PROBLEM.width), -1, dtype=np.int32)
    at = -1
    for entry in first:  # the last thing that is said of a round is what was bought in it
        if isinstance(entry, tuple):
            last = entry
        else:
            at += 1
            bought[at, : len(last[1])] = last[1]
    for poison in (None, np.random.default_rng(1)):
        again, other = played(poisoned(X, bought, poison), y, **given)
        assert again == first
        assert other.spent == ledger.spent
        assert np.array_equal(other.predictions, ledger.predictions)


def test_the_ledger_has_what_was_bought_in_the_end() -> None:
    X, y = rows(420)
    ledger = kh.play(learner(), kh.streams.ArrayStream(X, y), steps=True)
    twin, spent, loss = learner(), 0.0, 0.0
    for x, label in zip(X, y.tolist(), strict=True):
        seen = (ticket := twin.ask(steps=True)).fill(x[ticket.features])
        while step := twin.next(seen):
            seen = step.fill(x[step.features])
        spent += PROBLEM.cost(seen.ticket.features)
        loss += (label - twin.predict(seen)) ** 2
        twin.tell(seen, label)
    assert ledger.rounds == 420
    assert ledger.spent == pytest.approx(spent, abs=1e-9)
    assert ledger.loss == pytest.approx(loss)
    assert ledger.most_spent <= 7


def test_observers_and_blocks_make_no_difference() -> None:
    class Counts(Observer):
        seen = 0

        def after_block(self, block: Any, player: Any) -> None:
            self.seen += len(block.y)

    counts, plain = Counts(), learner()
    with_one = kh.play(copy.deepcopy(plain), stream(80), steps=True, observers=[counts], audit=1.0)
    alone = kh.play(plain, stream(80), steps=True)
    assert counts.seen == 80
    assert np.array_equal(with_one.predictions, alone.predictions)


def test_who_cannot_buy_in_steps_plays_as_ever() -> None:
    problem = kh.Problem(d=6, k=2, budget=4)
    for name in ("mean", "fixed", "dual-averaging", "online-greedy"):
        row = kh.LEARNERS[name]
        plain, stepwise = (
            kh.play(row(problem, seed=1), stream(60), steps=steps) for steps in (False, True)
        )
        assert np.array_equal(plain.predictions, stepwise.predictions)
        assert np.array_equal(plain.reads, stepwise.reads)


def test_who_has_no_next_is_refused_by_name() -> None:
    class Plain(kh.Zero):
        next = property()

    with pytest.raises(kh.ProblemError, match=r"Plain has no `next`.*leave `steps` out"):
        kh.play(Plain(PROBLEM), stream(3), steps=True)
    with pytest.raises(kh.KeyholeError, match="steps"):
        kh.play(learner(), stream(3), steps="yes")  # type: ignore[arg-type]


class Cheat(kh.AutoLearner):
    """What `fraud` makes of each step."""

    fraud: Any = None

    def next(self, seen: kh.Observation, *, stop_at: float | None = None) -> Step:
        step = super().next(seen, stop_at=stop_at)
        found: Step = type(self).fraud(self, seen, step)
        return found


def never_stops(self: Any, seen: kh.Observation, step: Step) -> Step:
    """Comes with the same features again and again."""
    return step or Step(kh.Ticket(seen.round, np.arange(0)).fill([]), seen.ticket, 0.0, "more")


def pays_twice(self: Any, seen: kh.Observation, step: Step) -> Step:
    """Pays the panel for each of its members."""
    if not step:
        return step
    return replace(step, ticket=replace(step.ticket, cost=step.ticket.cost + 1.5))


def orders_twice(self: Any, seen: kh.Observation, step: Step) -> Step:
    """Orders what was ordered before once more."""
    order = (*step.ticket.items, *step.ticket.items[:1])
    return replace(step, ticket=replace(step.ticket, order=order)) if step else step


def returns(self: Any, seen: kh.Observation, step: Step) -> Step:
    """Gives back what was seen, for something else."""
    if not step:
        return step
    others = np.setdiff1d(np.arange(6), seen.ticket.features)
    return Step(
        kh.Ticket(seen.round, np.arange(0)).fill([]),
        kh.Ticket(seen.round, others[:2]),
        0.0,
        "other",
    )


def another_round(self: Any, seen: kh.Observation, step: Step) -> Step:
    """Buys for the next example."""
    later = kh.Ticket(seen.round + 1, step.ticket.features)
    return replace(step, ticket=later) if step else step


def overspends(self: Any, seen: kh.Observation, step: Step) -> Step:
    """Buys everything."""
    return Step(seen, kh.Ticket(seen.round, np.arange(6)), 0.0, "all of it")


def out_of_range(self: Any, seen: kh.Observation, step: Step) -> Step:
    """Buys what there is not."""
    more = np.union1d(seen.ticket.features, [6])
    return Step(seen, kh.Ticket(seen.round, more), 0.0, "beyond")


def no_step(self: Any, seen: kh.Observation, step: Step) -> Any:
    """Says it with a ticket."""
    return step.ticket


@pytest.mark.parametrize(
    ("fraud", "said"),
    [
        (never_stops, "a step that buys nothing says that it goes on"),
        (pays_twice, "they cost"),
        (orders_twice, "the ticket orders"),
        (returns, "a step goes on with its ticket"),
        (another_round, "a step goes on with its ticket"),
        (overspends, "the budget is 7"),
        (out_of_range, "features run from 0 to 5"),
        (no_step, "next must return a Step"),
    ],
    ids=lambda thing: getattr(thing, "__name__", ""),
)
def test_a_step_that_is_against_the_rules_is_refused(fraud: Any, said: str) -> None:
    kind = type("Fraud", (Cheat,), {"fraud": fraud})
    with pytest.raises(kh.BudgetError, match=said):
        kh.play(kind(PROBLEM, seed=3, worth=5.0), stream(40), steps=True)


def test_a_learner_that_peeks_ahead_has_another_transcript() -> None:
    X, y = rows(120)
    known = {"X": X}

    def peeks(self: Any, seen: kh.Observation, step: Step) -> Step:
        ahead = known["X"][seen.round - 1, 5]
        return step if ahead > 0 else Step(seen, seen.ticket, 0.0, "it is small")

    kind = type("Peeks", (Cheat,), {"fraud": peeks})
    games = []
    for hidden in (X, np.where(np.arange(6) == 5, -X, X)):
        known["X"] = hidden
        games.append(
            kh.play(kind(PROBLEM, seed=3, worth=5.0), kh.streams.ArrayStream(X, y), steps=True)
        )
    assert games[0].spent != games[1].spent


def test_intervals_of_a_game_are_those_of_the_learner() -> None:
    """Of examples that stopped and of all others, also in a second game."""
    whole, ours = learner(), learner()
    X, y = rows(460)
    expected = []
    ours.track_coverage(0.9)
    for x, label in zip(X, y.tolist(), strict=True):
        seen = (ticket := ours.ask(steps=True)).fill(x[ticket.features])
        while step := ours.next(seen):
            seen = step.fill(x[step.features])
        interval = ours.interval(seen)
        expected.append((interval.low, interval.high, next_features(seen.ticket) is not None))
        ours.tell(seen, label)
    assert sum(stopped for _, _, stopped in expected) > 20
    for parts in ([460], [400, 60]):
        player, start, found = copy.deepcopy(whole), 0, list[Floats]()
        for n in parts:
            some = kh.streams.ArrayStream(X[start : start + n], y[start : start + n])
            ledger = kh.play(player, some, steps=True, coverage=0.9)
            found.append(np.asarray(ledger.intervals))
            start += n
        ends = np.array([(low, high) for low, high, _ in expected])
        assert np.array_equal(np.concatenate(found), ends)


def test_the_rounds_of_a_game_can_be_counted() -> None:
    player = learner()
    assert kh.play(player, stream(50), rounds=20, steps=True).rounds == 20
    assert kh.play(player, stream(50), steps=True).rounds == 50
    assert player.round == 70
