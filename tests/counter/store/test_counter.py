"""The verbs by id: what they keep, what they refuse, what they answer when repeated."""

import math
from collections.abc import Iterator
from datetime import timedelta

import numpy as np
import pytest

import keyhole as kh
from tests.helpers.stores import quick_folder

NAMES = ("age", "crp", "tsh", "alb", "bmi")
PROBLEM = kh.Problem(d=5, k=2, budget=3, names=NAMES)


@pytest.fixture
def store() -> Iterator[kh.Store]:
    with quick_folder() as folder, kh.Store(folder / "keyhole.db") as store:
        store.create("clinic", PROBLEM, "random", units={"age": "years"})
        yield store


def values(ticket: kh.StoredTicket) -> dict[str, float]:
    return {name: float(len(name)) for name in ticket.names}


def test_a_ticket_is_asked_filled_and_told(store: kh.Store) -> None:
    [ticket] = store.ask("clinic", who="ward 3", expires_in=timedelta(days=7))
    assert (ticket.state, ticket.who, ticket.round, ticket.cost) == ("asked", "ward 3", 1, 3.0)
    assert ticket.items == ticket.names
    assert ticket.item_prices == (1.0, 1.0, 1.0)
    assert ticket.expires_at == ticket.asked_at + timedelta(days=7)
    given = values(ticket)
    missing = ticket.names[0]
    filled = store.fill(ticket.id.lower().replace("-", ""), {**given, missing: None})
    assert filled.state == "filled"
    assert filled.values is not None
    assert math.isnan(filled.values[0])
    assert filled.as_dict()["values"][missing] is None
    told = store.tell(ticket.id, 7.5)
    assert (told.state, told.label, told.prediction) == ("told", 7.5, filled.prediction)
    history = [(event.seq, event.kind) for event in store.history("clinic")]
    assert history == [(1, "created"), (2, "asked"), (3, "seen"), (4, "told")]
    info = store.info("clinic")
    assert (info.rounds, info.told, info.open, info.spent) == (1, 1, 0, 3.0)
    assert info.loss == (7.5 - filled.prediction) ** 2 if filled.prediction is not None else False


def test_the_seed_is_0_unless_told_otherwise(store: kh.Store) -> None:
    store.create("usual", PROBLEM, "random")
    for seed in (0, 1):
        store.create(f"seed-{seed}", PROBLEM, "random", seed=seed)
    names = "usual", "seed-0", "seed-1"
    usual, zero, one = ([ticket.names for ticket in store.ask(name, 9)] for name in names)
    assert usual == zero != one


def test_repeating_is_harmless_and_contradicting_is_not(store: kh.Store) -> None:
    [ticket] = store.ask("clinic")
    given = values(ticket)
    with pytest.raises(kh.ConflictError, match="was not filled"):
        store.tell(ticket.id, 1.0)
    first = store.fill(ticket.id, given)
    assert store.fill(ticket.id, given) == first
    with pytest.raises(kh.ConflictError, match="other values"):
        store.fill(ticket.id, {**given, ticket.names[0]: -1.0})
    told = store.tell(ticket.id, 1.0)
    assert store.tell(ticket.id, 1.0) == told
    assert store.fill(ticket.id, given) == told
    with pytest.raises(kh.ConflictError, match="was told 1 before, now 2"):
        store.tell(ticket.id, 2.0)
    with pytest.raises(kh.ConflictError, match="has its label"):
        store.drop(ticket.id)
    assert store.info("clinic").events == 4
    [other] = store.ask("clinic")
    assert store.drop(other.id) == store.drop(other.id)
    with pytest.raises(kh.ConflictError, match="was dropped"):
        store.tell(other.id, 1.0)
    with pytest.raises(kh.ConflictError, match="was dropped"):
        store.fill(other.id, values(other))


def test_a_key_gives_the_first_reply(store: kh.Store) -> None:
    first = store.ask("clinic", 3, key="a")
    assert store.ask("clinic", 3, key="a") == first
    assert store.info("clinic").rounds == 3
    with pytest.raises(kh.ConflictError, match="another request"):
        store.ask("clinic", 2, key="a")
    with pytest.raises(kh.ConflictError, match="another request"):
        store.fill(first[0].id, values(first[0]), key="a")
    row = np.ones(len(first[0].names))
    filled = store.fill(first[0].id, row, key="b")
    assert store.fill(first[0].id, row.tolist(), key="b") == filled
    with pytest.raises(kh.ConflictError, match="another request"):
        store.fill(first[0].id, 2 * row, key="b")
    store.create("other", PROBLEM, "random")
    assert len(store.ask("other", 2, key="a")) == 2  # keys are a learner's own


def test_all_or_nothing(store: kh.Store) -> None:
    tickets = store.ask("clinic", 4)
    rows = {ticket.id: values(ticket) for ticket in tickets}
    bad = {**rows, tickets[2].id: {"agee": 1.0}}
    with pytest.raises(kh.DataError, match=tickets[2].id):
        store.fill_many("clinic", bad)
    assert store.info("clinic").waiting == 4
    store.fill_many("clinic", rows)
    store.drop(tickets[3].id)
    before = store.learner("clinic").weights
    with pytest.raises(kh.ConflictError, match=tickets[3].id):
        store.tell_many("clinic", {ticket.id: 1.0 for ticket in tickets})
    assert store.info("clinic").told == 0
    assert (store.learner("clinic").weights == before).all()
    labels = {ticket.id: 1.0 for ticket in tickets[:3]}
    assert store.tell_many("clinic", labels) == store.tell_many("clinic", labels)
    assert store.info("clinic").told == 3


def test_what_is_not_there(store: kh.Store) -> None:
    with pytest.raises(kh.UnknownLearnerError, match="did you mean 'clinic'"):
        store.ask("clinc")
    for odd in ("a\x00b", "", None, 7, "\ud800", "x" * 101):
        with pytest.raises(kh.UnknownLearnerError, match="there is no learner"):
            store.ask(odd)  # type: ignore[arg-type]
    assert store.tickets(limit=10**30) == []
    with pytest.raises(kh.UnknownTicketError, match="check character"):
        store.ticket("0123-4567-89AN")
    with pytest.raises(kh.UnknownTicketError, match="no ticket 0123-4567-89AM"):
        store.tell("0123-4567-89am", 1.0)
    with pytest.raises(kh.ConflictError, match="another name"):
        store.create("clinic", PROBLEM, "random")
    with pytest.raises(kh.ProblemError, match="did you mean"):
        store.create("new", PROBLEM, "randm")
    with pytest.raises(kh.ProblemError, match="wait must be"):
        kh.Store(store.url, wait=0.0)
    with pytest.raises(kh.ProblemError, match="one line"):
        store.ask("clinic", who="a\nb")
    with pytest.raises(kh.DataError, match="finite"):
        store.tell(store.ask("clinic")[0].id, math.nan)


def test_tickets_in_pages(store: kh.Store) -> None:
    tickets = store.ask("clinic", 5)
    store.fill(tickets[1].id, values(tickets[1]))
    store.drop(tickets[2].id)
    ids = [ticket.id for ticket in tickets]
    assert [ticket.id for ticket in store.tickets("clinic")] == ids
    assert [ticket.id for ticket in store.tickets(limit=2, after=ids[1])] == ids[2:4]
    newest = store.tickets(limit=2, after=ids[3], newest_first=True)
    assert [ticket.id for ticket in newest] == [ids[2], ids[1]]
    by_state = {state: len(store.tickets(state=state)) for state in ("asked", "open", "closed")}
    assert by_state == {"asked": 3, "open": 4, "closed": 1}
    assert store.tickets(older_than=3600) == []
    assert len(store.tickets(older_than=0)) == 5
    with pytest.raises(kh.ProblemError, match="state must be one of"):
        store.tickets(state="opn")


def test_the_same_again_after_closing_and_opening(store: kh.Store) -> None:
    """Every call in a new process gives what one learner in memory gives."""
    problem = kh.Problem(d=8, k=2, budget=4)
    twin = kh.LEARNERS["explore-commit"](problem, seed=3)
    store.create("away", problem, "explore-commit", seed=3)
    for t in range(40):
        with kh.Store(store.url) as again:
            [ticket] = again.ask("away")
            order = twin.ask()
            assert ticket.ticket == order
            row = [math.sin(t + j) for j in order.features.tolist()]
            filled = again.fill(ticket.id, row)
        assert filled.prediction == twin.predict(order.fill(row))
        if t % 7:
            store.tell(ticket.id, math.cos(t))
            twin.tell(order.fill(row), math.cos(t))
    assert (store.learner("away").weights == twin.weights).all()
