"""What AutoLearner cannot correct, or is not meant, is refused by name, and changes nothing."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.blocks.auto.correction import Additions
from keyhole.saving.api import to_bytes
from tests.helpers.auto_corrected import CASES, ROUNDS, Case, D, data, play

REFUSED: dict[str, tuple[Callable[[int], dict[str, Any]], type[kh.KeyholeError], str]] = {
    "nothing": (lambda t: {}, kh.DataError, "nothing to correct"),
    "no values": (lambda t: {"values": {}}, kh.DataError, "nothing to correct"),
    "a label that is none": (lambda t: {"y": np.nan}, kh.DataError, "label"),
    "a label in words": (lambda t: {"y": "high"}, kh.DataError, "label"),
    "a value too large": (lambda t: {"values": {t: 1e200}}, kh.DataError, "at most"),
    "a value in words": (lambda t: {"values": {t: "high"}}, kh.DataError, "must be a number"),
    "not bought": (lambda t: {"values": {99: 1.0}}, kh.DataError, "was not bought in round 61"),
    "a list": (lambda t: {"values": [1.0]}, kh.DataError, "values must be"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_meant_is_refused_and_changes_nothing(what: str) -> None:
    learner, tickets = play(CASES["late"], {})
    given, error, words = REFUSED[what]
    before = to_bytes(learner)
    with pytest.raises(error, match=words):
        learner.correct(tickets[60], **given(int(tickets[60].features[0])))
    assert to_bytes(learner) == before


def test_a_feature_named_twice_is_refused() -> None:
    learner = kh.AutoLearner(kh.Problem(2, 1, 2, names=("age", "tsh")), seed=0)
    ticket = learner.ask()
    learner.tell(ticket.fill([1.0, 2.0]), 1.0)
    both: Any = {"age": 1.0, 0: 2.0}
    with pytest.raises(kh.DataError, match="are the same feature: give one value"):
        learner.correct(ticket, values=both)


def test_a_ticket_that_is_not_one_that_was_told_is_refused() -> None:
    learner, tickets = play(Case(own=True), {})
    waiting, dropped = learner.ask(), learner.ask()
    learner.drop(dropped)
    before = to_bytes(learner)
    other = kh.AutoLearner(kh.Problem(9, 2, 4), seed=5)
    unread = kh.AutoLearner(kh.Problem(D, 2, D), seed=1, parts=kh.AutoParts(shortest=16))
    strange = [unread.ask() for _ in range(40)]
    cases: list[tuple[Any, str]] = [
        (other.ask(), "not the one that was told"),
        (strange[39], "not the one that was told"),
        (waiting, "waits for its label: nothing was learnt yet"),
        (dropped, "was dropped"),
        (kh.Ticket(10**6, np.array([0])), "was never issued"),
        (17, "a ticket is what ask"),
    ]
    for ticket, words in cases:
        with pytest.raises(kh.TicketError, match=words):
            learner.correct(ticket, y=1.0)
    assert to_bytes(learner) == before
    learner.correct(kh.Ticket(7, tickets[6].features), y=1.0)  # of a round played in a block, too


def test_a_row_that_is_not_in_the_ring_any_more_is_refused() -> None:
    X, y = data(Case())
    learner = kh.AutoLearner(kh.Problem(D, 2, D), seed=1, parts=kh.AutoParts(ring=32))
    first = learner.ask()
    learner.tell(first.fill(X[0]), 1.0)
    learner.advance(X[1:], y[1:])
    with pytest.raises(kh.TicketError, match=r"is 179 rounds old, .* the last 32 rows"):
        learner.correct(first, y=2.0)
    edge = kh.Ticket(ROUNDS - 31, np.arange(D))  # its batch is whole: of 4, as 180 is
    learner.correct(edge, y=2.0)
    learner.advance(X[:1], y[:1])
    with pytest.raises(kh.TicketError, match="30 rounds old, and not all rows of its batch"):
        learner.correct(kh.Ticket(ROUNDS - 29, np.arange(D)), y=2.0)  # its batch is not
    none = kh.AutoLearner(kh.Problem(D, 2, D), parts=kh.AutoParts(ring=0))
    ticket = none.ask()
    none.tell(ticket.fill(X[0]), 1.0)
    with pytest.raises(kh.StateError, match=r"keeps no rows to correct \(ring=0\)"):
        none.correct(ticket, y=1.0)


def test_what_was_told_before_more_history_is_refused() -> None:
    case = Case(history=30)
    learner, tickets = play(case, {})
    X, y = data(case)
    learner.study(kh.streams.ArrayStream(X[:5], y[:5]))
    before = to_bytes(learner)
    with pytest.raises(kh.StateError, match="before history was studied or set aside"):
        learner.correct(tickets[100], y=1.0)
    assert to_bytes(learner) == before
    ticket = learner.ask()
    learner.tell(ticket.fill(X[0]), 3.0)
    learner.advance(X, y)
    learner.correct(ticket, y=1.0)


def test_what_was_told_before_history_was_set_aside_is_refused() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, D))
    learner = kh.AutoLearner(kh.Problem(D, 2, D), seed=1)
    learner.study(kh.streams.ArrayStream(X[:200], 5.0 * X[:200, 0]))
    tickets = list[kh.Ticket]()
    for x in X[200:]:
        tickets.append(learner.ask())
        learner.tell(tickets[-1].fill(x), float(-5.0 * x[0]))
    assert learner._state.aside[0] == 200
    with pytest.raises(kh.StateError, match="set aside"):
        learner.correct(tickets[2], y=1.0)
    learner.correct(tickets[-1], y=1.0)


def test_sums_that_would_overflow_are_left_alone() -> None:
    sums, more = np.zeros(3), Additions()
    more.add(sums, 0, more=1.0)
    more.add(sums, 1, more=np.inf)
    with pytest.raises(kh.StateError, match="overflow"):
        more.make()
    assert sums.tolist() == [0.0, 0.0, 0.0]


def test_a_row_whose_batch_is_unknown_is_refused() -> None:
    """Only a file that was changed by hand has one."""
    learner, tickets = play(Case(), {})
    learner._state.ring.folds[60] = 0
    before = to_bytes(learner)
    with pytest.raises(kh.StateError, match="does not wait for labels"):
        learner.correct(tickets[60], y=1.0)
    assert to_bytes(learner) == before


def test_more_rows_than_their_batch_has_are_refused() -> None:
    """Only a file that was changed by hand has them."""
    learner = kh.AutoLearner(kh.Problem(2, 1, 2), seed=1)
    tickets = [learner.ask() for _ in range(3)]
    for ticket in tickets:
        learner.tell(ticket.fill([1.0, 2.0]), 1.0)
    current = learner._batches.current
    assert current is not None
    current.content.rows[0] = 2
    with pytest.raises(kh.StateError, match="more rows than batch 1"):
        learner.correct(tickets[0], y=3.0)
