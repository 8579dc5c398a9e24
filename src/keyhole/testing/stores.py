"""Conformance of stores, property by property, whatever database they are kept in."""

from __future__ import annotations

import math
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

from keyhole.errors import (
    ConflictError,
    DataError,
    TicketError,
    UnknownLearnerError,
    UnknownTicketError,
)
from keyhole.learners.registry import LEARNERS
from keyhole.problem import Learner, Problem
from keyhole.testing.helpers import refused, require

# A store is above this room: what it must have is what the checks use.
StoreMaker = Callable[[], Any]
PROBLEM = Problem(d=8, k=2, budget=4, names=tuple("abcdefgh"))


def check_store(factory: StoreMaker) -> None:
    """Run every store check; `factory` opens the same store again and again.

    Checks make learners under names that nobody else has, and leave them there.
    """
    for check in STORE_CHECKS:
        check(factory)


def _new(store: Any, kind: str = "explore-commit") -> str:
    name = f"check-{uuid.uuid4().hex}"
    store.create(name, PROBLEM, kind, seed=5)
    return name


def _twin() -> Learner:
    return LEARNERS["explore-commit"](PROBLEM, seed=5)


def _row(ticket: Any) -> list[float]:
    """Values for a ticket, by its round and features; one of them is absent now and then."""
    row = [math.sin(3.0 * ticket.round + j) for j in ticket.features.tolist()]
    if row and ticket.round % 5 == 0:
        row[0] = math.nan
    return row


def plays_as_in_memory(factory: StoreMaker) -> None:
    """Tickets, predictions and weights are those of the same learner in memory, to the bit.

    The store is closed and opened on the way; labels are late, shuffled, dropped.
    """
    rng = np.random.default_rng(0)
    twin, waiting = _twin(), dict[str, Any]()
    with factory() as store:
        name = _new(store)
    for _ in range(12):
        with factory() as store:
            for stored in store.ask(name, int(rng.integers(1, 6))):
                order = twin.ask()
                require(stored.ticket.says_the_same(order), f"the ticket of round {order.round}")
                waiting[stored.id] = order.fill(_row(order))
            for id in rng.permutation(sorted(waiting))[: len(waiting) // 2].tolist():
                seen = waiting.pop(id)
                if seen.round % 7 == 0:
                    store.drop(id)
                    twin.drop(seen.ticket)
                    continue
                served = store.fill(id, seen.values).prediction
                require(served == twin.predict(seen), f"the prediction of round {seen.round}")
                store.tell(id, math.cos(seen.round))
                twin.tell(seen, math.cos(seen.round))
            learner = store.learner(name)
            same = np.array_equal(learner.weights, twin.weights)
            require(same and learner.intercept == twin.intercept, "the same model")
            require(learner.round == twin.round, "the same round")
    with factory() as store:
        require(len(store.tickets(name, state="open")) == len(waiting), "what waits is known")
        require(store.verify(name)[name] == store.info(name).events, "all of the log is replayed")


def keeps_the_served_prediction(factory: StoreMaker) -> None:
    """What is served when a ticket is filled stays so, whatever the learner learns later."""
    with factory() as store:
        name = _new(store, "fixed")
        first, *others = store.ask(name, 6)
        for ticket in others[:3]:
            store.fill(ticket.id, _row(ticket.ticket))
            store.tell(ticket.id, 3.0)
        served = store.fill(first.id, _row(first.ticket)).prediction
        require(served != 0.0, "the learner has learnt something by then")
        for ticket in others[3:]:
            store.fill(ticket.id, _row(ticket.ticket))
            store.tell(ticket.id, -3.0)
        again = store.fill(first.id, _row(first.ticket)).prediction
        require(again == served, "filled again with the same, it says the same")
        told = store.tell(first.id, 1.0)
        require((told.prediction, told.label) == (served, 1.0), "and so it does when it is told")


def answers_a_key_once(factory: StoreMaker) -> None:
    """The same key and request give the first reply, after a restart too; another is refused."""
    with factory() as store:
        name = _new(store)
        tickets = store.ask(name, 3, key="ask")
        ids = [ticket.id for ticket in tickets]
    with factory() as store:
        again = [ticket.id for ticket in store.ask(name, 3, key="ask")]
        require(again == ids, "the tickets of the first reply")
        require(store.info(name).rounds == 3, "and none besides")
        refused(ConflictError, "a key for another count", lambda: store.ask(name, 2, key="ask"))
        row = _row(tickets[0].ticket)
        first = store.fill(ids[0], row, key="fill")
        require(store.fill(ids[0], row, key="fill") == first, "the first prediction")
        refused(ConflictError, "a key for a drop", lambda: store.drop(ids[1], key="fill"))
        store.tell(ids[0], 1.5, key="tell")
        store.tell(ids[0], 1.5, key="tell")
        require(store.info(name).told == 1, "told once")


def refuses_contradictions(factory: StoreMaker) -> None:
    """Other values, another label, a label before values, labels of dropped tickets: refused."""
    with factory() as store:
        name = _new(store)
        one, two = store.ask(name, 2)
        row = _row(one.ticket)
        refused(ConflictError, "a label before values", lambda: store.tell(one.id, 1.0))
        store.fill(one.id, row)
        refused(ConflictError, "other values", lambda: store.fill(one.id, [9.0, *row[1:]]))
        refused(DataError, "a label that is none", lambda: store.tell(one.id, math.nan))
        store.tell(one.id, 1.0)
        refused(ConflictError, "another label", lambda: store.tell(one.id, 2.0))
        refused(ConflictError, "dropping what was told", lambda: store.drop(one.id))
        store.drop(two.id)
        store.drop(two.id)
        refused(ConflictError, "a label for what was dropped", lambda: store.tell(two.id, 1.0))
        refused(TicketError, "a ticket told twice", lambda: _tell(store, name, one.ticket, row))
        refused(ConflictError, "a name that is taken", lambda: store.create(name, PROBLEM))
        refused(UnknownLearnerError, "a name of nobody", lambda: store.ask(name + "x"))
        refused(UnknownTicketError, "an id of nothing", lambda: store.drop("0123-4567-89AM"))
        refused(UnknownTicketError, "a mistyped id", lambda: store.drop("0123-4567-89AN"))
        require(store.info(name).events == 6, "what is refused leaves no event")
        store.verify(name)


def _tell(store: Any, name: str, ticket: Any, row: list[float]) -> None:
    store.learner(name).tell(ticket.fill(row), 1.0)


def takes_all_or_nothing(factory: StoreMaker) -> None:
    """Many at once: one that is refused, and nothing has happened, in memory as on disk."""
    with factory() as store:
        name, twin = _new(store), _twin()
        tickets = store.ask(name, 5)
        rows = {ticket.id: _row(ticket.ticket) for ticket in tickets}
        bad = {**rows, tickets[3].id: [1.0]}
        refused(DataError, "too few values for one", lambda: store.fill_many(name, bad))
        require(store.info(name).waiting == 5, "none is filled")
        store.fill_many(name, rows)
        store.drop(tickets[4].id)
        labels = {ticket.id: float(ticket.round) for ticket in tickets}
        refused(ConflictError, "a label for a dropped one", lambda: store.tell_many(name, labels))
        require(store.info(name).told == 0, "none is told")
        orders = [twin.ask() for _ in tickets]
        require(np.array_equal(store.learner(name).weights, twin.weights), "nothing was learnt")
        del labels[tickets[4].id]
        store.tell_many(name, labels)
        store.tell_many(name, labels)
        twin.drop(orders[4])
        for order in orders[:4]:
            twin.tell(order.fill(_row(order)), float(order.round))
        require(np.array_equal(store.learner(name).weights, twin.weights), "learnt once")
        store.verify(name)


def takes_turns(factory: StoreMaker) -> None:
    """Two that have the same store open see what the other did, and neither goes its own way."""
    with factory() as one, factory() as two:
        name, twin = _new(one), _twin()
        for number in range(1, 31):
            here, there = (one, two) if number % 3 else (two, one)
            [stored] = here.ask(name)
            order = twin.ask()
            require(stored.ticket.says_the_same(order), f"the ticket of round {order.round}")
            seen = order.fill(_row(order))
            require(
                there.fill(stored.id, seen.values).prediction == twin.predict(seen), "predicted"
            )
            here.tell(stored.id, math.cos(number))
            twin.tell(seen, math.cos(number))
        for store in (one, two):
            require(np.array_equal(store.learner(name).weights, twin.weights), "the same model")
        two.verify(name)


def serves_many_threads(factory: StoreMaker) -> None:
    """Threads that share a store and use several learners: every reply is true, nothing is lost."""
    problems: list[str] = []
    with factory() as store:
        names = [_new(store, kind) for kind in ("random", "explore-commit")]

        def work(number: int) -> None:
            try:
                for turn in range(6):
                    name = names[(number + turn) % 2]
                    [ticket] = store.ask(name, key=f"{number}-{turn}")
                    store.fill(ticket.id, _row(ticket.ticket))
                    if turn % 3 == 2:
                        store.drop(ticket.id)
                    elif store.tell(ticket.id, 1.0).label != 1.0:
                        problems.append(f"{ticket.id} was told and does not know")
            except BaseException as error:
                problems.append(f"{type(error).__name__}: {error}")

        threads = [Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        require(not problems, f"no thread fails: {problems[:3]}")
        infos = [store.info(name) for name in names]
        require(sum(info.rounds for info in infos) == 48, "48 asked")
        require(sum(info.told for info in infos) == 32, "32 told")
        require(sum(info.dropped for info in infos) == 16, "16 dropped")
        for name in names:
            rounds = sorted(ticket.round for ticket in store.tickets(name))
            require(rounds == [*range(1, 25)], "every round once")
            store.verify(name)


def finds_tickets(factory: StoreMaker) -> None:
    """By learner, state and age, a page at a time, in order."""
    with factory() as store:
        name = _new(store)
        tickets = store.ask(name, 6, who="ward 3", expires_in=60)
        ids = [ticket.id for ticket in tickets]
        store.fill(ids[1], _row(tickets[1].ticket))
        store.drop(ids[2])
        pages: list[str] = []
        after = None
        while page := [t.id for t in store.tickets(name, limit=2, after=after)]:
            pages, after = [*pages, *page], page[-1]
        require(pages == ids, "pages are the whole list")
        backwards = [t.id for t in store.tickets(name, newest_first=True)]
        require(backwards == ids[::-1], "and backwards")
        for state, many in (("asked", 4), ("filled", 1), ("open", 5), ("closed", 1), ("told", 0)):
            require(len(store.tickets(name, state=state)) == many, f"{many} {state}")
        require(store.tickets(name, older_than=3600) == [], "none is an hour old")
        found = store.ticket(ids[0].lower().replace("-", " "))
        require(found == tickets[0] and found.who == "ward 3", "by id, however it is typed")
        kinds = [event.kind for event in store.history(name, after=5)]
        require(kinds == ["asked", "asked", "seen", "dropped"], f"the log says {kinds}")


def moves_learners(factory: StoreMaker) -> None:
    """A learner that is exported can be taken in elsewhere; here its tickets are in the way."""
    with factory() as store, tempfile.TemporaryDirectory() as folder:
        name = _new(store)
        [ticket, _] = store.ask(name, 2)
        store.fill(ticket.id, _row(ticket.ticket))
        path = str(Path(folder) / "learner.keyhole")
        store.export(name, path)
        refused(ConflictError, "the same name", lambda: store.import_(path))
        refused(ConflictError, "the same tickets", lambda: store.import_(path, name + "-2"))
        require(name + "-2" not in store.names(), "what is refused is not there")
        data = bytearray(Path(path).read_bytes())
        data[data.index(b'"prediction') - 10] ^= 1
        Path(path).write_bytes(bytes(data))
        refused(DataError, "a file that was changed", lambda: store.import_(path, name + "-3"))


STORE_CHECKS: tuple[Callable[[StoreMaker], None], ...] = (
    plays_as_in_memory,
    keeps_the_served_prediction,
    answers_a_key_once,
    refuses_contradictions,
    takes_all_or_nothing,
    takes_turns,
    serves_many_threads,
    finds_tickets,
    moves_learners,
)
