"""Doubts at the counter: kept only when confirmed, and the log says what was confirmed."""

import json
from pathlib import Path
from typing import Any

import pytest

import keyhole as kh
from tests.helpers.counted import NAMES, PROBLEM, learnt, values_for


def test_a_typo_is_a_question_and_nothing_is_kept(url: str) -> None:
    with kh.Store(url) as store:
        name = learnt(store)
        [ticket] = store.ask(name)
        typed = {**values_for(ticket), "crp": 2000.0}
        events = store.info(name).events
        with pytest.raises(kh.DoubtError, match="did you mean 2") as refused:
            store.fill(ticket.id, typed, key="one")
        [doubt] = refused.value.doubts
        assert (doubt.name, doubt.value) == ("crp", 2000.0)
        assert refused.value.by_ticket == {ticket.id: (doubt,)}
        assert isinstance(refused.value, kh.ConflictError)
        assert store.info(name).events == events
        assert store.ticket(ticket.id).state == "asked"
        filled = store.fill(ticket.id, typed, key="one", confirm=True)
        assert store.fill(ticket.id, typed, key="one") == filled  # the first reply
        assert store.fill(ticket.id, typed) == filled  # the same again
        with pytest.raises(kh.DoubtError, match="the label: 4,000 is"):
            store.tell(ticket.id, 4000.0)
        told = store.tell(ticket.id, 4000.0, confirm=True)
        assert store.tell(ticket.id, 4000.0) == told
        log = {event.kind: json.loads(event.body) for event in store.ticket_history(ticket.id)}
        assert [each["name"] for each in log["seen"]["confirmed"]] == ["crp"]
        assert [each["name"] for each in log["told"]["confirmed"]] == [None]
        store.verify(name)
        usual = store.ask(name)[0]
        store.fill(usual.id, values_for(usual), confirm=True)  # nothing to confirm
        assert "confirmed" not in store.ticket_history(usual.id)[-1].body


def test_many_at_once_all_doubts_are_said(url: str) -> None:
    with kh.Store(url) as store:
        name = learnt(store)
        tickets = store.ask(name, 4)
        rows = {ticket.id: values_for(ticket) for ticket in tickets}
        for ticket in tickets[:2]:
            rows[ticket.id]["crp"] = 3000.0
        with pytest.raises(kh.DoubtError) as refused:
            store.fill_many(name, rows)
        assert list(refused.value.by_ticket) == [ticket.id for ticket in tickets[:2]]
        assert not store.tickets(name, state="filled")
        store.fill_many(name, rows, confirm=True)
        labels = {ticket.id: 4.0 for ticket in tickets} | {tickets[3].id: 4e5}
        with pytest.raises(kh.DoubtError) as refused:
            store.tell_many(name, labels)
        assert list(refused.value.by_ticket) == [tickets[3].id]
        assert len(store.tickets(name, state="filled")) == 4
        store.tell_many(name, labels, confirm=True)
        store.verify(name)


def test_a_doubt_that_arises_within_a_batch(tmp_path: Path) -> None:
    """Of a new learner nothing is known before the batch, and enough before its last label."""
    with kh.Store(tmp_path / "keyhole.db") as store:
        store.create("new", PROBLEM, "auto")
        tickets = store.ask("new", 30)
        store.fill_many("new", {ticket.id: values_for(ticket) for ticket in tickets}, confirm=True)
        labels = {ticket.id: 4.0 + 0.01 * i for i, ticket in enumerate(tickets)}
        labels[tickets[-1].id] = 4e6
        with pytest.raises(kh.DoubtError, match="4,000,000"):
            store.tell_many("new", labels)
        assert store.info("new").told == 0
        store.tell_many("new", labels, confirm=True)
        store.verify()


def test_a_learner_of_a_store_asks_too(tmp_path: Path) -> None:
    with kh.Store(tmp_path / "keyhole.db") as store:
        name = learnt(store)
        learner = store.learner(name)
        ticket = learner.ask()
        seen = ticket.fill({**dict.fromkeys(ticket.names or (), 2.0), "crp": 9e9})
        for call in (
            lambda: learner.tell(seen, 4e7),
            lambda: learner.interval(seen),
        ):
            with pytest.raises(kh.DoubtError, match="crp: 9,000,000,000"):
                call()
        with pytest.raises(kh.DoubtError) as refused:
            learner.tell(seen, 4e7)
        assert [doubt.name for doubt in refused.value.doubts] == ["crp", None]  # all at once
        assert store.info(name).filled == 0
        learner.tell(seen, 4e7, confirm=True)
        sure = store.learner(name, confirm=True)
        ticket = sure.ask()
        sure.tell(ticket.fill({**dict.fromkeys(ticket.names or (), 2.0), "crp": 9e8}), 4e7)
        store.verify(name)


def test_verify_looks_at_what_was_confirmed(tmp_path: Path) -> None:
    """A log that says another thing was confirmed is found, even with digests made anew."""
    with kh.Store(tmp_path / "keyhole.db") as store:
        name = learnt(store)
        [ticket] = store.ask(name)
        store.fill(ticket.id, {**values_for(ticket), "crp": 2000.0}, confirm=True)
        store.verify(name)

        def forge(body: dict[str, Any]) -> None:
            body["confirmed"][0]["low"] -= 1.0

        rewrite(store, ticket.id, "seen", forge)
        with pytest.raises(kh.StoreDamagedError, match="what was confirmed of"):
            store.verify(name)


def rewrite(store: kh.Store, ticket: str, kind: str, edit: Any) -> None:
    """Edit the last event of a ticket, and compute its digest anew, as an attacker would."""
    from dataclasses import replace

    from keyhole.counter.store import tables

    event = next(e for e in reversed(store.ticket_history(ticket)) if e.kind == kind)
    body = json.loads(event.body)
    edit(body)
    with store._reader.connected() as connection, connection.writing():
        [(before,)] = connection.rows(
            "SELECT digest FROM kh_event WHERE seq = ? AND learner = "
            "(SELECT learner FROM kh_ticket WHERE id = ?)",
            (event.seq - 1, ticket),
        )
        changed = replace(event, body=json.dumps(body))
        digest = tables.chained(before, changed)
        connection.run(
            "UPDATE kh_event SET body = ?, digest = ? WHERE ticket = ? AND seq = ?",
            (changed.body, digest, ticket, event.seq),
        )
        connection.run("UPDATE kh_learner SET digest = ? WHERE seq = ?", (digest, event.seq))


def test_names_of_the_features_do_not_matter(tmp_path: Path) -> None:
    with kh.Store(tmp_path / "keyhole.db") as store:
        name = learnt(store, PROBLEM.replace(names=None))
        [ticket] = store.ask(name)
        row = [2.0] * (len(ticket.ticket.features) - 1)
        with pytest.raises(kh.DoubtError, match="x"):
            store.fill(ticket.id, [2000.0, *row])
        assert len(NAMES) == PROBLEM.d
