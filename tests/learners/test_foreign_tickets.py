"""No learner lets compiled code see a ticket that is not its own, or not as it was issued."""

import dataclasses
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.saving.api import to_bytes


def made(name: str, budget: int, d: int = 12) -> Any:
    row = kh.LEARNERS[name]
    return row(kh.Problem(d, 2, d if row.reads_everything else budget), seed=0)


def played(name: str, budget: int) -> Any:
    """A learner with a past, so that its tickets carry all that they can."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 12))
    learner = made(name, budget)
    learner.advance(X, X[:, 3] - X[:, 5])
    return learner


def seen(ticket: kh.Ticket) -> kh.Observation:
    return ticket.fill(np.ones(len(ticket.features)))


def changed(ticket: kh.Ticket) -> list[kh.Ticket]:
    """The ticket with other features, or one entry of its memo longer, shorter or out of range."""
    other = [dataclasses.replace(ticket, features=np.array([10**9]), names=None)]
    for key, array in ticket.memo.items():
        edits = [np.append(array, array[-1:]) if array.ndim else array + 1]
        edits += [array[:-1]] if array.ndim and len(array) else []
        edits += [array + 10**6] if array.dtype.kind in "iuf" and array.size else []
        for edit in edits:
            other.append(dataclasses.replace(ticket, memo={**ticket.memo, key: edit}))
    return other


@pytest.mark.parametrize("name", kh.LEARNERS)
def test_a_ticket_that_is_not_its_own_is_refused(name: str) -> None:
    mine, theirs = played(name, 8), made(name, 6)
    ticket = mine.ask()
    prediction = mine.predict(seen(ticket))
    before = to_bytes(mine)
    foreign = made(name, 4 if name != "ds-poslrc" else 5, d=9)
    for _ in range(mine.round):
        stranger = foreign.ask()
    fakes = [theirs.ask(), stranger, *changed(ticket)]
    fakes.append(
        kh.Ticket.from_json('{"round": 71, "features": [1000000000], "names": null, "memo": {}}')
    )
    for fake in fakes:
        if fake.says_the_same(ticket):
            continue  # a learner that draws nothing asks the same
        for act in (mine.predict, lambda it: mine.tell(it, 1.0)):
            with pytest.raises(kh.TicketError):
                act(seen(fake))
        with pytest.raises(kh.TicketError):
            mine.drop(fake)
    assert to_bytes(mine) == before, "a refusal changes nothing"
    copy = kh.Ticket.from_json(ticket.to_json())
    assert mine.predict(seen(copy)) == prediction, "a copy will do"


@pytest.mark.parametrize("name", kh.LEARNERS)
def test_a_closed_ticket_and_what_is_no_observation_are_refused(name: str) -> None:
    learner = made(name, 6)
    ticket = learner.ask()
    learner.tell(seen(ticket), 1.0)
    with pytest.raises(kh.TicketError, match="round 1 is closed"):
        learner.predict(seen(ticket))
    wrong: Any = {"age": 3.0}
    with pytest.raises(kh.DataError, match="predict takes what"):
        learner.predict(wrong)


def test_the_crash_that_was_found() -> None:
    a, b = kh.AutoLearner(kh.Problem(12, 3, 8)), kh.AutoLearner(kh.Problem(12, 3, 4))
    a.ask()
    with pytest.raises(kh.TicketError):
        a.predict(b.ask().fill(np.ones(4)))
