"""Doubts, corrections, limits and probabilities over HTTP, and with the client."""

from collections.abc import Iterator

import pytest

import keyhole as kh
from keyhole.counter.service.access_control import ApiKeys
from tests.helpers.counted import PROBLEM, learnt, values_for
from tests.helpers.serving import Service, serving
from tests.helpers.stores import quick_folder


@pytest.fixture
def store() -> Iterator[kh.Store]:
    """A store."""
    with quick_folder() as folder, kh.Store(folder / "keyhole.db") as made:
        yield made


def test_409_with_the_doubts_unless_confirmed(store: kh.Store) -> None:
    name = learnt(store)
    one, two = store.ask(name, 2)
    rows = {ticket.id: values_for(ticket) for ticket in (one, two)}
    rows[one.id]["crp"] = 2000.0
    with serving(store) as service:
        way = f"/api/v1/tickets/{one.id}"
        body = {"values": rows[one.id]}
        for path, given in (
            (f"{way}/values", body),
            (f"/api/v1/learners/{name}/values", {"values": rows}),
            (f"{way}/label", {"label": 6.0, **body}),
        ):
            refused = service.post(path, given)
            assert (refused.status, refused.kind) == (409, "DoubtError")
            [doubt] = refused.json["doubts"]
            assert (doubt["ticket"], doubt["name"], doubt["suggestion"]) == (one.id, "crp", 2.0)
            assert "did you mean 2?" in doubt["text"]
        assert service.post(f"{way}/values", {**body, "confirm": "yes"}).status == 422
        assert store.info(name).filled == 0
        key = {"idempotency_key": "one"}
        assert service.post(f"{way}/values", body, **key).status == 409
        filled = service.post(f"{way}/values", {**body, "confirm": True}, **key)
        assert filled.status == 200
        assert service.post(f"{way}/values", body, **key).json == filled.json
        service.post(f"/api/v1/learners/{name}/values", {"values": rows})
        labels = {one.id: 6.0, two.id: 6e6}
        refused = service.post(f"/api/v1/learners/{name}/labels", {"labels": labels})
        assert [doubt["ticket"] for doubt in refused.json["doubts"]] == [two.id]
        sure = {"labels": labels, "confirm": True}
        assert service.post(f"/api/v1/learners/{name}/labels", sure).status == 200
        assert [event["kind"] for event in service.get(f"{way}/events").json["events"]] == [
            "asked",
            "seen",
            "told",
        ]
    store.verify(name)


def test_the_client_carries_doubts_and_corrects(store: kh.Store) -> None:
    name = learnt(store)
    with serving(store) as service, kh.connect(service.url, name, who="ward 3") as remote:
        ticket = remote.ask()
        seen = ticket.fill([2.0, 2000.0, 2.0])
        with pytest.raises(kh.DoubtError, match="did you mean 2") as refused:
            remote.tell(seen, 6e6)
        found = refused.value.doubts
        assert [(doubt.name, doubt.suggestion) for doubt in found] == [("crp", 2.0), (None, 6.0)]
        assert all(isinstance(doubt, kh.Doubt) for doubt in found)
        with pytest.raises(kh.DoubtError):
            remote.interval(seen)
        remote.interval(seen, confirm=True)
        remote.tell(seen, 6e6, confirm=True)
        remote.correct(ticket, y=6.0, values={"crp": 2.0, "tsh": None}, why="typos")
        stored = store.ticket(store.learner(name).id_of(ticket))
        assert stored.label == 6.0
        assert stored.as_dict()["values"] == {"age": 2.0, "crp": 2.0, "tsh": None}
        last = store.ticket_history(stored.id)[-1]
        assert (last.kind, last.who) == ("corrected", "ward 3")
        with pytest.raises(kh.DataError, match="was not bought"):
            remote.correct(ticket, values={"x": 1.0})
        with pytest.raises(kh.DataError, match="nothing to correct"):
            remote.correct(ticket)
        with kh.connect(service.url, name, confirm=True) as sure:
            ticket = sure.ask()
            sure.tell(ticket.fill([2.0, 2e8, 2.0]), 7e9)
    store.verify(name)


def test_who_may_correct_what(store: kh.Store) -> None:
    name = learnt(store)
    [ticket] = store.ask(name)
    store.fill(ticket.id, values_for(ticket))
    keys = ApiKeys(store.url)
    asks, tells = (keys.create([role], label=role)[0] for role in ("ask", "tell"))
    reads = keys.create(["read"])[0]
    foreign = keys.create(["ask", "tell"], ["other"])[0]
    with serving(store, keys=keys) as service:

        def correct(secret: str, **body: object) -> int:
            path = f"/api/v1/tickets/{ticket.id}/correction"
            return service.with_key(secret).post(path, body).status

        assert correct(reads, values={"crp": 2.5}) == 403
        assert correct(foreign, values={"crp": 2.5}) == 404
        assert correct(tells, values={"crp": 2.5}) == 403
        assert correct(asks, values={"1": 2.5}) == 200  # by number
        store.tell(ticket.id, 6.0)
        assert correct(asks, label=5.0) == 403
        assert correct(asks, label=5.0, values={"crp": 2.0}) == 403
        assert correct(tells, label=5.0) == 200
        assert store.ticket(ticket.id).label == 5.0
        assert "tell" in store.ticket_history(ticket.id)[-1].who
    store.verify(name)


def test_a_learner_that_cannot_says_so(store: kh.Store) -> None:
    name = learnt(store, kind="random")
    [ticket] = store.tickets(name, state="told", limit=1)
    with serving(store) as service:
        refused = service.post(f"/api/v1/tickets/{ticket.id}/correction", {"label": 1.0})
        assert (refused.status, refused.kind) == (409, "ConflictError")
        assert "use a learner that can: auto" in refused.json["error"]


def new(service: Service, **more: object) -> dict[str, object]:
    body = {"name": "made", "features": list(PROBLEM.names or ()), "k": 1, "budget": 3, **more}
    made = service.post("/api/v1/learners", body, idempotency_key="new")
    again = service.post("/api/v1/learners", body, idempotency_key="new")
    assert (made.status, again.status, again.json) == (201, 201, made.json)
    return dict(made.json)


def test_limits_over_http(store: kh.Store) -> None:
    with serving(store) as service:
        new(service, limits={"crp": [0, 600]}, label_limits=[0, None])
        problem = service.get("/api/v1/learners/made/problem").json
        assert problem["limits"] == {
            "features": [1],
            "low": [0.0],
            "high": [600.0],
            "label": [0.0, None],
        }
        [ticket] = service.post("/api/v1/learners/made/tickets").json["tickets"]
        way = f"/api/v1/tickets/{ticket['id']}"
        refused = service.post(f"{way}/values", {"values": {"crp": 601}})
        assert (refused.status, refused.kind) == (422, "DataError")
        assert "crp is 601 in round 1: its limits are 0 to 600" in refused.json["error"]
        service.post(f"{way}/values", {"values": {"crp": 600}})
        refused = service.post(f"{way}/label", {"label": -1})
        assert "the label is -1: its limits are at least 0" in refused.json["error"]
        with kh.connect(service.url, "made") as remote:
            assert remote.problem == store.learner("made").problem
            with pytest.raises(kh.DataError, match="its limits are 0 to 600"):
                remote.ask().fill({"crp": -1.0})  # before anything is sent
        plain = {"name": "p", "features": 3, "k": 1, "budget": 1, "limits": {"2": [0, 1]}}
        assert service.post("/api/v1/learners", plain).status == 201
        assert store.learner("p").problem.limits == kh.Problem(3, 1, 1, limits={2: (0, 1)}).limits
        bad = {"name": "b", "features": ["a"], "k": 1, "budget": 1, "limits": {"a": [2, 1]}}
        assert "the least first" in service.post("/api/v1/learners", bad).json["error"]


def test_probabilities_over_http(store: kh.Store) -> None:
    with serving(store) as service:
        assert new(service, yes_no=True)["yes_no"] is True
        [ticket] = service.post("/api/v1/learners/made/tickets").json["tickets"]
        way = f"/api/v1/tickets/{ticket['id']}"
        filled = service.post(f"{way}/values", {"values": {"crp": 1.0}}).json
        assert 0.0 < filled["probability"] < 1.0
        assert (filled["low"], filled["high"], filled["coverage"]) == (None, None, None)
        body = {"round": 1, "values": {"crp": 1.0}}
        refused = service.post("/api/v1/learners/made/intervals", body)
        assert "what it predicts is a probability" in refused.json["error"]
        assert service.post(f"{way}/label", {"label": 0.5}).status == 422
        assert service.post(f"{way}/label", {"label": 1}).status == 200
        assert service.get("/api/v1/learners/made/report").status == 200
    store.verify()
