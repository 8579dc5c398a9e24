"""Tickets that the writer keeps in memory are what the log says, whoever wrote meanwhile."""

from pathlib import Path

import pytest

import keyhole as kh
from keyhole.counter.store import requests
from keyhole.counter.store.requests import Request

PROBLEM = kh.Problem(d=6, k=2, budget=3, names=tuple("abcdef"))


def in_one_group(store: kh.Store, *requests: Request) -> None:
    """Have requests done in one transaction."""
    before = store.commits[0]
    for request in requests:
        store._writer.queue(request)
    store._writer.work()
    assert store.commits[0] == before + 1
    assert all(request.done for request in requests)


@pytest.mark.parametrize("most", [0, 1, 2000])
def test_a_reply_is_the_ticket_that_is_read(
    url: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With none, few or many tickets in memory: the reply, the reader and another store agree."""
    monkeypatch.setattr(requests, "MAX_TICKETS_IN_MEMORY", most)
    name = f"held-{most}"
    with kh.Store(url) as store, kh.Store(url) as other:
        store.create(name, PROBLEM, "random", units={"a": "mg"})
        tickets = store.ask(name, 4, who="ward", expires_in=60)
        replies = [store.fill(t.id, [1.0, float("nan"), -0.0]) for t in tickets[:3]]
        replies += [store.tell(tickets[0].id, 2.5), store.drop(tickets[3].id)]
        for reply in [*replies[1:3], *replies[3:]]:
            assert reply == store.ticket(reply.id) == other.ticket(reply.id)
        assert tickets[1].state == "asked"  # a reply does not change later on
        assert store.tell(tickets[0].id, 2.5) == replies[3]
        store.verify(name)


def test_others_may_write_about_a_ticket_that_is_in_memory(url: str) -> None:
    with kh.Store(url) as ours, kh.Store(url) as theirs:
        ours.create("shared", PROBLEM, "random")
        first, second = ours.ask("shared", 2)
        ours.fill(first.id, [1.0, 2.0, 3.0])
        theirs.tell(first.id, 4.0)
        theirs.drop(second.id)
        assert ours.tell(first.id, 4.0).label == 4.0
        with pytest.raises(kh.ConflictError, match="was told 4 before"):
            ours.tell(first.id, 5.0)
        with pytest.raises(kh.ConflictError, match="was dropped"):
            ours.fill(second.id, [1.0, 2.0, 3.0])
        assert ours.info("shared").events == 6
        ours.verify("shared")


def test_requests_of_one_group_see_each_other(url: str) -> None:
    """What the first has done is not in the tables yet, and counts for the second."""
    with kh.Store(url) as store:
        store.create("group", PROBLEM, "random")
        first, second = (ticket.id for ticket in store.ask("group", 2))
        fills = [requests.fill(first, [1.0, 2.0, value]) for value in (3.0, 3.0, 4.0)]
        in_one_group(store, *fills)
        assert [type(request.error) for request in fills] == [
            *(type(None), type(None), kh.ConflictError)
        ]
        told = [requests.tell(first, 1.0), requests.tell(first, 2.0), requests.drop(second)]
        late = requests.tell(second, 1.0, values=[1.0, 2.0, 3.0])
        in_one_group(store, *told, late)
        assert [request.error is None for request in (*told, late)] == [True, False, True, False]
        keyed = [requests.ask("group", count, key="once") for count in (2, 2, 3)]
        in_one_group(store, *keyed)
        assert keyed[0].tickets == keyed[1].tickets
        assert isinstance(keyed[2].error, kh.ConflictError)
        lost = requests.drop("0123-4567-89AM")
        in_one_group(store, lost, requests.ask("group"))
        assert isinstance(lost.error, kh.UnknownTicketError)
        assert store.info("group").rounds == 5
        store.verify("group")


def test_values_and_label_in_one_request_are_taken_together(tmp_path: Path) -> None:
    with kh.Store(tmp_path / "keyhole.db") as store:
        store.create("both", PROBLEM, "random")
        [ticket] = store.ask("both")
        wrong = requests.tell(ticket.id, 1.0, values=[1.0])
        with pytest.raises(kh.DataError, match="which asks for"):
            store.answer(wrong)
        assert store.ticket(ticket.id).state == "asked"
        [reply] = store.answer(requests.tell(ticket.id, 1.0, key="k", values=[1.0, 2.0, 3.0]))
        assert (reply.state, reply.values, reply.label) == ("told", (1.0, 2.0, 3.0), 1.0)
        other = requests.tell(ticket.id, 1.0, key="k", values=[1.0, 2.0, 4.0])
        with pytest.raises(kh.ConflictError, match="another request"):
            store.answer(other)
