"""Batches that wait for labels."""

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners import batches
from keyhole.learners.batches import Batches, Entry
from keyhole.problem import Indices
from keyhole.problem.desk import Desk
from keyhole.problem.state import MAX_WHOLE_NUMBER


def test_a_batch_is_closed_by_its_last_ticket() -> None:
    shelf = Batches[str]()
    assert shelf.asking is None
    first = shelf.begin(2, "a")
    first.asked += 2
    assert shelf.asking is None
    second = shelf.begin(1, "b")
    assert shelf.asking is second
    assert not shelf.close(first, 1)
    assert shelf.find(1) is first
    assert shelf.close(first, 1)
    assert shelf.find(1) is None
    assert len(shelf) == 1


def test_the_oldest_is_overdue_when_too_many_wait() -> None:
    shelf = Batches[int]()
    for i in range(batches.MAX_WAITING_BATCHES):
        assert shelf.overdue() is None
        shelf.begin(1, i)
    late = shelf.overdue()
    assert late is not None
    assert late.number == 1
    assert len(shelf) == batches.MAX_WAITING_BATCHES - 1


def test_it_resumes_after_a_block() -> None:
    shelf = Batches[str]()
    shelf.resume(7, 3, 8, "x")
    assert shelf.asking is not None
    assert shelf.begun == 7
    assert shelf.close(shelf.asking, 5)
    shelf.resume(9, 8, 8, "y")
    assert shelf.asking is None
    assert len(shelf) == 0


def test_what_is_saved_goes_on() -> None:
    shelf = Batches[str]()
    first, second = shelf.begin(2, "a"), shelf.begin(1, "b")
    second.asked = 1
    assert shelf.apart is None
    assert shelf.saved() == {"begun": 2, "waiting": [first, second], "apart": None}
    assert shelf.close(second, 1)
    assert shelf.apart is second
    tidy = shelf.saved(str.upper)
    assert tidy["begun"] == 2
    [waiting], apart = tidy["waiting"], tidy["apart"]
    assert (waiting.number, waiting.content, first.content) == (1, "A", "a")
    assert isinstance(apart, Entry)
    assert (apart.number, apart.content, apart.asked, apart.closed) == (2, "B", 1, 1)
    again = Batches[str]()
    assert again.saved(str.upper) == {"begun": 0, "waiting": [], "apart": None}
    again.restore(2, [first], second)
    assert again.current is second
    assert again.asking is None
    assert again.waiting == [first]
    again.restore(1, [first], None)
    assert again.current is again.asking is first
    assert again.sizes() == {"begun": 1, "longest_batch": MAX_WHOLE_NUMBER}
    assert again.sizes(5) == {"begun": 1, "longest_batch": 5}
    with pytest.raises(kh.StateError, match="twice"):
        again.restore(2, [first, Entry(1, 3, "c")], None)


def tickets(*numbers: int) -> Desk:
    """A desk with an open ticket for each of these batches; batch b is for feature b."""
    desk = Desk(kh.Problem(9, 2, 3))
    for number in numbers:
        desk.issue([number % 9], {"batch": np.array(number)})
    return desk


def feature(number: int) -> Indices:
    return np.array([number % 9])


def shelf_of(*numbers: int, asked: int, closed: int) -> Batches[int]:
    shelf = Batches[int]()
    entries = [Entry(number, 5, number, asked, closed) for number in numbers]
    shelf.restore(max(numbers), entries, None)
    return shelf


def test_open_tickets_are_those_of_the_batches() -> None:
    shelf = shelf_of(2, 3, asked=3, closed=1)
    shelf.refuse_unless_of(tickets(2, 3, 1, 3, 2), feature)  # batch 1 no longer waits
    for wrong in ((2, 3, 3), (2, 2, 3), (2, 2, 3, 3, 3), ()):
        with pytest.raises(kh.StateError, match="open tickets too few"):
            shelf.refuse_unless_of(tickets(*wrong), feature)
    with pytest.raises(kh.StateError, match="the ticket of round 1 is not of batch 2"):
        shelf.refuse_unless_of(tickets(2, 2, 3, 3), lambda number: feature(number + 1))


def test_batches_wait_in_order_and_not_too_many() -> None:
    most = batches.MAX_WAITING_BATCHES
    shelf_of(*range(1, most + 1), asked=1, closed=1).refuse_unless_of(tickets(), feature)
    for numbers in (range(1, most + 2), (2, 1)):
        with pytest.raises(kh.StateError, match=f"{len(numbers)} batches cannot wait"):
            shelf_of(*numbers, asked=1, closed=1).refuse_unless_of(tickets(), feature)


def test_a_late_batch_of_its_own_is_closed_without_waiting() -> None:
    shelf = Batches[str]()
    own = Entry(1, 1, "late", 1)
    assert shelf.close(own, 1)
    assert own.closed == 1
    entry = shelf.begin(3, "x")
    assert (entry.number, entry.size, entry.asked, entry.closed) == (1, 3, 0, 0)
    shelf.resume(4, 2, 3, "y")
    assert shelf.current is not None
    assert (shelf.current.asked, shelf.current.closed) == (2, 2)
    assert shelf.find(4) is shelf.current
