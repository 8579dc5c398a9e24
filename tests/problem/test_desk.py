"""The desk: tickets are issued in order, closed once, and an error changes nothing."""

import math

import numpy as np
import pytest

from keyhole.problem import BudgetError, DataError, Problem, Ticket, TicketError
from keyhole.problem.desk import Desk


def test_rounds_count_up_and_tickets_close_in_any_order() -> None:
    desk = Desk(Problem(5, 1, 2, names=list("abcde")))
    first, second = desk.issue([0, 3]), desk.issue([1], {"explore": np.array([1])})
    assert (first.round, second.round, desk.round) == (1, 2, 2)
    assert first.names == ("a", "d")
    issued, y = desk.settle(second.fill([1.0]), 2)
    assert issued is second
    assert y == 2.0
    assert list(desk.open) == [first]
    desk.drop(first)
    assert not desk.open


def test_every_refusal_leaves_the_desk_as_it_was() -> None:
    desk = Desk(Problem(5, 1, 2))
    ticket = desk.issue([0, 3])
    seen = ticket.fill([1.0, 2.0])
    for bad in (math.nan, math.inf, "x", None):
        with pytest.raises(DataError, match="the label must be"):
            desk.settle(seen, bad)  # type: ignore[arg-type]
    with pytest.raises(TicketError, match="round 2 was never issued: this learner has issued 1"):
        desk.drop(Ticket(2, ticket.features))
    with pytest.raises(TicketError, match=r"\[0, 2\], it was issued for \[0, 3\]"):
        desk.drop(Ticket(1, np.array([0, 2])))
    with pytest.raises(BudgetError):
        desk.issue([3, 3])
    assert (desk.open, desk.round) == ((ticket,), 1)
    desk.settle(seen, 1.0)
    with pytest.raises(TicketError, match="round 1 is closed"):
        desk.settle(seen, 1.0)
    with pytest.raises(TicketError, match="round 1 is closed"):
        desk.drop(ticket)


def test_an_edited_memo_is_refused_and_the_ticket_stays_open() -> None:
    desk = Desk(Problem(5, 1, 2))
    ticket = desk.issue([2], {"explore": np.array([2])})
    for memo in ({"explore": np.array([4])}, {"explore": np.array([2.0])}, {}):
        edited = Ticket(1, np.array([2]), memo=memo)
        with pytest.raises(TicketError, match="the memo of the ticket of round 1"):
            desk.settle(edited.fill([1.0]), 0.0)
    copy = Ticket.from_json(ticket.to_json())
    issued, _ = desk.settle(copy.fill([1.0]), 0.0)
    assert issued is ticket


def test_a_desk_is_not_restored_with_a_ticket_twice_or_one_of_the_future() -> None:
    desk, memo = Desk(Problem(5, 1, 2)), dict[str, np.ndarray]()
    first = (3, np.array([0, 3]), memo)
    for bad in [(3, np.array([0, 3]), memo), (3, np.array([1]), memo), (2, np.array([1]), memo)]:
        with pytest.raises(TicketError, match=f"a ticket of round {bad[0]} cannot be open"):
            desk.restore(4, [first, bad])
    with pytest.raises(TicketError, match="a ticket of round 5 cannot be open in round 4"):
        desk.restore(4, [first, (5, np.array([1]), memo)])
    with pytest.raises(TicketError, match="a ticket of round 0 cannot be open"):
        desk.restore(4, [(0, np.array([1]), memo)])
    for features in ([0, 1, 2], [5], [-1]):
        with pytest.raises(BudgetError, match="the ticket of round 4 is not one of"):
            desk.restore(4, [first, (4, np.array(features), memo)])
    assert (desk.round, desk.open) == (0, ())
    desk.restore(4, [first, (4, np.array([4]), memo)])
    assert desk.round == 4
    assert [(t.round, t.features.tolist()) for t in desk.open] == [(3, [0, 3]), (4, [4])]


def test_skipped_rounds_count() -> None:
    desk = Desk(Problem(5, 1, 2))
    desk.skip(10)
    assert desk.issue([]).round == 11


def test_a_ticket_that_is_taken_back_was_never_issued() -> None:
    desk = Desk(Problem(d=5, k=1, budget=2))
    first, second = desk.issue([0]), desk.issue([1, 2])
    desk.take_back(second)
    assert desk.round == 1
    assert desk.open == (first,)
    with pytest.raises(TicketError, match="was never issued"):
        desk.issued(second)
    assert desk.issue([3]).round == 2
