"""Batches that wait for labels."""

from keyhole.learners import batches
from keyhole.learners.batches import Batches


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
    for i in range(batches.WAITING):
        assert shelf.overdue() is None
        shelf.begin(1, i)
    late = shelf.overdue()
    assert late is not None
    assert late.number == 1
    assert len(shelf) == batches.WAITING - 1


def test_it_resumes_after_a_block() -> None:
    shelf = Batches[str]()
    shelf.resume(7, 3, 8, "x")
    assert shelf.asking is not None
    assert shelf.begun == 7
    assert shelf.close(shelf.asking, 5)
    shelf.resume(9, 8, 8, "y")
    assert shelf.asking is None
    assert len(shelf) == 0
