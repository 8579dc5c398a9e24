"""Tickets that are bought step by step in a store: what is next is kept, and replayed."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.counter.service.pages.log_summary import LogSummary
from keyhole.counter.service.report import run_of_log
from keyhole.counter.store.requests import refuse_without_steps
from keyhole.saving.api import to_bytes
from tests.counter.store.test_doubts import rewrite
from tests.helpers.stepwise import PRICES, PROBLEM, stepwise, value, values

ROWS = np.random.default_rng(5).normal(size=(300, 4))
HISTORY = kh.streams.ArrayStream(ROWS, 2 * ROWS[:, 0] + ROWS[:, 3])


def test_a_ticket_grows_and_says_so(url: str) -> None:
    """Each step is bought once, over restarts and retries; verification plays all of it again."""
    with kh.Store(url) as store:
        name = stepwise(store)
        twin: Any = copy.deepcopy(store.learner(name))
        [first] = store.ask(name, steps=True, key="ask")
        order = twin.ask(steps=True)
        assert (first.ticket, first.stepwise, first.step) == (order, True, None)
        assert store.ask(name, steps=True, key="ask") == [first]
        with pytest.raises(kh.ConflictError):
            store.ask(name, key="ask")
        with pytest.raises(kh.ConflictError, match="was not filled"):
            store.next(first.id)
        before = store.fill(first.id, values(first))
        seen = order.fill(values(first))
        twin.interval(seen)
        grown = store.next(first.id, key="go", who="ward 3")
        step = twin.next(seen)
        assert grown.ticket.says_the_same(step.ticket)
        assert grown.step
        assert grown.step.features == step.names == grown.awaited
        assert (grown.step.items, grown.step.cost) == (step.items, step.cost)
        assert grown.step.reason == step.reason
        assert grown.step.item_prices == tuple(PRICES[item] for item in step.items)
        assert grown.cost == before.cost + step.cost == sum(grown.item_prices)
        assert (grown.prediction, grown.state) == (before.prediction, "filled")
        events = store.info(name).events
    with kh.Store(url) as store:
        for again in (store.next(first.id, key="go", who="ward 3"), store.next(first.id)):
            assert again == grown == store.ticket(first.id)
        assert store.info(name).events == events
        store.snapshot()
    with kh.Store(url) as store:
        filled = store.fill(first.id, values(grown))
        assert (filled.step, filled.awaited) == (None, ())
        seen = step.fill(values(grown))
        assert filled.prediction == twin.interval(seen).prediction
        while step := twin.next(seen):
            grown = store.next(first.id)
            assert grown.ticket.says_the_same(step.ticket)
            store.fill(first.id, values(grown))
            seen = step.fill(values(grown))
            twin.interval(seen)
        enough = store.next(first.id)
        assert enough.step is not None
        assert not enough.step
        assert (enough.step.reason, enough.step.features) == (step.reason, ())
        events = store.info(name).events
        assert store.next(first.id) == enough
        assert store.info(name).events == events  # what was said is said
        assert store.info(name).spent == pytest.approx(
            sum(ticket.cost for ticket in store.tickets(name))
        )
        told = store.tell(first.id, 9.0)
        twin.tell(seen, 9.0)
        assert (told.prediction, told.step) == (enough.prediction, None)
        assert to_bytes(copy.deepcopy(store.learner(name))) == to_bytes(twin)
        store.verify(name)


def test_a_step_waits_for_its_own_values(url: str) -> None:
    """What comes of earlier steps does not answer it; that it will not come, does."""
    with kh.Store(url) as store:
        name = stepwise(store)
        [ticket] = store.ask(name, steps=True)
        store.fill(ticket.id, {})
        asked = store.next(ticket.id)
        late = store.fill(ticket.id, values(ticket))
        assert late.step == asked.step
        assert late.awaited == asked.step.features if asked.step else False
        assert late.prediction != asked.prediction
        assert store.next(ticket.id) == late
        assert asked.step
        lost = store.fill(ticket.id, dict.fromkeys(asked.step.features))
        assert (lost.step, lost.awaited) == (None, asked.step.features)
        further = store.next(ticket.id)
        assert further.step
        assert set(asked.step.features) < set(further.awaited)
        store.snapshot()
        wrong = store.correct(ticket.id, values={ticket.names[0]: 2.5})
        assert wrong.step == further.step
        found = store.fill(ticket.id, dict.fromkeys(asked.step.features, 1.5))
        assert found.awaited == further.step.features
        assert store.tell(ticket.id, 9.0).step is None  # with whatever arrived
        store.correct(ticket.id, y=10.0)
        store.correct(ticket.id, values={further.step.features[0]: 2.0})
        store.verify(name)


def test_stop_at_and_refusals(url: str) -> None:
    with kh.Store(url) as store:
        name = stepwise(store)
        ticket, closed = store.ask(name, 2, steps=True)
        for each in (ticket, closed):
            store.fill(each.id, values(each))
        store.drop(closed.id)
        with pytest.raises(kh.ConflictError, match="was dropped"):
            store.next(closed.id)
        for wrong in ("nothing", "0123-4567-89AM"):
            with pytest.raises(kh.UnknownTicketError):
                store.next(wrong)
        for stop in (0.0, -1.0, float("nan")):
            with pytest.raises(kh.ProblemError, match="stop_at"):
                store.next(ticket.id, stop_at=stop)
        with pytest.raises(kh.ProblemError, match="steps"):
            store.ask(name, steps="yes")  # type: ignore[arg-type]
        with pytest.raises(kh.ProblemError, match="terms of its own"):
            store.ask(name, steps=True, terms={"budget": 2})
        with pytest.raises(kh.ConflictError, match="correct it"):
            store.next(ticket.id, values={ticket.names[0]: 7.0})
        enough = store.next(ticket.id, stop_at=1e6)
        assert enough.step is not None
        assert "wide" in enough.step.reason
        assert store.next(ticket.id, stop_at=1e6) == enough
        assert store.next(ticket.id).step  # it is worth it without
        store.verify(name)


def test_learners_that_buy_all_at_once(url: str) -> None:
    """Some say that everything was bought; those that know no steps refuse by name."""
    with kh.Store(url) as store:
        name = stepwise(store, "explore-commit")
        [ticket] = store.ask(name, steps=True)
        assert not ticket.stepwise
        store.fill(ticket.id, values(ticket))
        step = store.next(ticket.id).step
        assert step is not None
        assert (bool(step), step.reason) == (False, "everything that this ticket is for was bought")
        store.verify(name)
    with pytest.raises(kh.ProblemError, match="'ward' is a learner that does not buy step by step"):
        refuse_without_steps("ward", object())


def test_probabilities_step_by_step(url: str) -> None:
    with kh.Store(url) as store:
        name = stepwise(store, yes_no=True)
        [ticket] = store.ask(name, steps=True)
        store.fill(ticket.id, values(ticket))
        with pytest.raises(kh.ProblemError, match="probability"):
            store.next(ticket.id, stop_at=2.0)
        grown = store.next(ticket.id, stop_at=0.99)
        assert grown.step
        assert store.fill(ticket.id, values(grown)).probability is not None
        store.tell(ticket.id, 1.0)
        store.verify(name)


def test_plays_as_in_memory(url: str) -> None:
    """`kh.play(steps=True)` gives the transcript of the learner in memory, bit for bit."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(420, 6))
    y = 2 * X[:, 1] + np.where(X[:, 1] > 0, X[:, 4], 0.0) + 0.1 * rng.normal(size=420)
    with kh.Store(url) as store:
        name = f"plays-{rng.integers(1 << 60)}"
        store.create(name, PROBLEM, worth=0.05)
        own = kh.AutoLearner(PROBLEM, worth=0.05)
        kept = store.learner(name, confirm=True)
        games = [
            kh.play(learner, kh.streams.ArrayStream(X, y), steps=True) for learner in (kept, own)
        ]
        assert games[0].loss == games[1].loss
        assert (games[0].predictions == games[1].predictions).all()
        assert to_bytes(copy.deepcopy(kept)) == to_bytes(own)
        made = [event for event in store.history(name, limit=10_000) if event.kind == "step"]
        bought = [bool(json.loads(event.body)["step"]["features"]) for event in made]
        assert any(bought)
        assert not all(bought)
        store.verify(name)


def test_a_learner_of_the_store_says_what_is_next(url: str) -> None:
    """`next` of it is as that of others: it says the same again, and older tickets count."""
    with kh.Store(url) as store:
        name = stepwise(store)
        learner: Any = store.learner(name)
        ticket = learner.ask(steps=True)
        seen = ticket.fill([2.0] * len(ticket.features))
        step = learner.next(seen)
        again = learner.next(seen)
        assert step
        assert again.ticket.says_the_same(step.ticket)
        assert (again.reason, again.cost) == (step.reason, step.cost)
        assert store.ticket(learner.id_of(ticket)).ticket.says_the_same(step.ticket)
        with pytest.raises(kh.DataError, match="next takes what"):
            learner.next(ticket)
        learner.tell(seen, 5.0)  # of the ticket as it was: nothing else came
        assert store.ticket(learner.id_of(step.ticket)).label == 5.0
        store.verify(name)


def test_verification_finds_another_step(folder: Path) -> None:
    """A log that says another step than the learner does is not served."""

    def buy_more(body: dict[str, Any]) -> None:
        plan = body["memo"]["plan"]["int64"]
        body["features"] = sorted(plan)
        body["names"] = [PROBLEM.label(j) for j in body["features"]]
        body["values"] = [None] * len(plan)

    with kh.Store(folder / "keyhole.db") as store:
        name = stepwise(store)
        [ticket] = store.ask(name, steps=True)
        store.fill(ticket.id, values(ticket))
        store.next(ticket.id)
        store.verify(name)
        rewrite(store, ticket.id, "step", buy_more)
    with (
        kh.Store(folder / "keyhole.db") as store,
        pytest.raises(kh.StoreDamagedError, match="the step of"),
    ):
        store.verify(name)


def test_a_moved_learner_goes_on(folder: Path, url: str) -> None:
    """Another store takes over the log, in the middle of a ticket."""
    with kh.Store(folder / "here.db") as store:
        name = stepwise(store)
        [ticket] = store.ask(name, steps=True)
        store.fill(ticket.id, values(ticket))
        grown = store.next(ticket.id)
        store.export(name, folder / "moved.keyhole")
    with kh.Store(url) as other:
        other.import_(folder / "moved.keyhole")
        assert other.ticket(ticket.id) == grown == other.next(ticket.id)
        other.fill(ticket.id, values(grown))
        other.tell(ticket.id, 9.0)
        other.verify(name)


def test_steps_without_values_and_names(url: str) -> None:
    """A first step that buys nothing needs no filling; features may have no names."""
    with kh.Store(url) as store:
        name = f"bare-{np.random.default_rng().integers(1 << 60)}"
        store.create(name, kh.Problem(4, 2, 3), "auto", history=HISTORY)
        [ticket] = store.ask(name, steps=True)
        if len(ticket.ticket.features):
            store.fill(ticket.id, dict.fromkeys(ticket.ticket.features.tolist(), 1.0))
        while (grown := store.next(ticket.id)).step:
            store.fill(ticket.id, {int(grown.awaited[0].removeprefix("feature ")): 1.0})
        assert len(grown.names) == 3
        store.tell(ticket.id, 2.0)
        store.verify(name)


def test_charts_and_reports_read_steps(folder: Path) -> None:
    with kh.Store(folder / "keyhole.db") as store:
        name = stepwise(store)
        [ticket] = store.ask(name, steps=True)
        store.fill(ticket.id, values(ticket))
        grown = store.next(ticket.id)
        assert grown.step
        [new] = grown.step.features
        store.correct(ticket.id, values={ticket.names[0]: 2.5})
        store.fill(ticket.id, {new: value(grown, new)})
        store.tell(ticket.id, 9.0)
        rows = [each for each in store.tickets(name) if each.values is not None]
        log = LogSummary(corrected=store.corrections(name))
        for event in store.history(name, limit=1000):
            log.add(event)
        assert sum(part.spent for part in log.asked) == pytest.approx(store.info(name).spent)
        for j, feature in enumerate(PROBLEM.names or ()):
            came = [each.as_dict()["values"].get(feature) for each in rows]
            numbers = [float(one) for one in came if one is not None]
            assert log.features[j].arrived == len(numbers)
            assert log.features[j].mean == pytest.approx(float(np.mean(numbers)))
        run = run_of_log(store, name)
        assert run.ledger.reads.sum() == sum(len(each.names) for each in rows)
        assert run.ledger.loss == pytest.approx(store.info(name).loss)
