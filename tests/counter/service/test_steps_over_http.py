"""Values one by one and step by step, over HTTP and with the client."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import keyhole as kh
from keyhole.counter.service import schemas
from keyhole.counter.service.access_control import ApiKeys
from tests.helpers.serving import Service, serving
from tests.helpers.stepwise import PROBLEM, stepwise, values
from tests.helpers.stores import quick_folder


@pytest.fixture
def store() -> Iterator[kh.Store]:
    """A store."""
    with quick_folder() as folder, kh.Store(folder / "keyhole.db") as made:
        yield made


def asked(service: Service, name: str) -> dict[str, Any]:
    reply = service.post(f"/api/v1/learners/{name}/tickets", {"steps": True})
    assert reply.status == 201
    [ticket] = reply.json["tickets"]
    return dict(ticket)


def test_step_by_step(store: kh.Store) -> None:
    name = stepwise(store)
    with serving(store) as service:
        ticket = asked(service, name)
        assert ticket["awaited"] == ticket["features"]
        way = f"/api/v1/tickets/{ticket['id']}"
        refused = service.post(f"{way}/next")
        assert (refused.status, refused.kind) == (409, "ConflictError")
        row = dict.fromkeys(ticket["features"], 2.0)
        for body in ({"stop_at": 0}, {"stop_at": "1"}, {"stop": 1}, {"values": {"nose": 1.0}}):
            assert service.post(f"{way}/next", body).status == 422
        key = {"idempotency_key": "one"}
        reply = service.post(f"{way}/next", {"values": row}, **key)
        assert reply.status == 200
        schemas.TicketReply.model_validate(reply.json)
        step = reply.json["step"]
        assert (step["enough"], step["features"]) == (False, reply.json["awaited"])
        assert step["cost"] == sum(item["price"] for item in step["items"])
        assert reply.json["cost"] == ticket["cost"] + step["cost"]
        assert service.post(f"{way}/next", {"values": row}, **key).json == reply.json
        assert service.post(f"{way}/next").json == reply.json
        assert service.post(f"{way}/next", {"values": row}).json == reply.json
        # By number, as a client without names does it.
        number = str(reply.json["numbers"][reply.json["features"].index(step["features"][0])])
        filled = service.post(f"{way}/values", {"values": {number: 2.5}})
        assert (filled.json["step"], filled.json["awaited"]) == (None, [])
        other = service.post(f"{way}/values", {"values": {number: 2.75}})
        assert (other.status, other.kind) == (409, "ConflictError")
        assert "correct it" in other.json["error"]
        enough = service.post(f"{way}/next", {"stop_at": 1e9}).json["step"]
        assert (enough["enough"], enough["items"]) == (True, [])
        told = service.post(f"{way}/label", {"label": 9.0}).json
        assert (told["step"], told["awaited"]) == (None, [])
        assert service.post(f"{way}/next").status == 409
        kinds = [event["kind"] for event in service.get(f"{way}/events").json["events"]]
        assert kinds == ["asked", "seen", "step", "seen", "step", "told"]
    store.verify(name)


def test_who_may_go_on(store: kh.Store) -> None:
    """Going on needs the right to ask, for that learner."""
    name, other = stepwise(store), stepwise(store)
    keys = ApiKeys(store.url)
    secrets = {role: keys.create([role], [name])[0] for role in ("read", "ask", "tell")}
    secrets["other"] = keys.create(["ask"], [other])[0]
    [ticket] = store.ask(name, steps=True)
    store.fill(ticket.id, values(ticket))
    with serving(store) as service:
        codes = {
            role: service.with_key(secret).post(f"/api/v1/tickets/{ticket.id}/next").status
            for role, secret in secrets.items()
        }
    keys.close()
    assert codes == {"read": 403, "ask": 200, "tell": 403, "other": 404}


def test_the_client_plays_as_in_memory(store: kh.Store) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(360, 6))
    y = 2 * X[:, 1] + np.where(X[:, 1] > 0, X[:, 4], 0.0) + 0.1 * rng.normal(size=360)
    store.create("game", PROBLEM, worth=0.05)
    own = kh.AutoLearner(PROBLEM, worth=0.05)
    games = [kh.play(own, kh.streams.ArrayStream(X, y), steps=True)]
    with serving(store) as service, kh.connect(service.url, "game", confirm=True) as there:
        games.append(kh.play(there, kh.streams.ArrayStream(X, y), steps=True))
    assert games[0].loss == games[1].loss
    assert (games[0].reads == games[1].reads).all()
    # Values that come over HTTP are served an interval, too: it changes nothing else.
    assert (store.learner("game").weights == own.weights).all()
    store.verify("game")


def test_the_client_goes_on_and_may_stop(store: kh.Store) -> None:
    name = stepwise(store)
    with serving(store) as service, kh.connect(service.url, name) as there:
        ticket = there.ask(steps=True)
        seen = ticket.fill([2.0] * len(ticket.features))
        step = there.next(seen)
        assert step
        again = there.next(seen)
        assert again.ticket.says_the_same(step.ticket)
        assert again.items == step.items
        there.predict(seen)
        there.interval(seen)  # of the ticket as it was: it still waits for the step
        assert there.next(seen).items == step.items
        there.interval(step.fill([2.5] * len(step.features)))
        stopped = there.next(step.fill([2.5] * len(step.features)), stop_at=1e9)
        assert not stopped
        assert "wide" in stopped.reason
        with pytest.raises(kh.ProblemError, match="stop_at"):
            there.next(seen, stop_at=-1.0)
        with pytest.raises(kh.DataError, match="next takes what"):
            there.next(ticket)  # type: ignore[arg-type]
        with kh.connect(service.url, name) as elsewhere:  # which looks the ticket up
            elsewhere.tell(seen, 9.0)
        with pytest.raises(kh.KeyholeError):
            there.next(seen)
    assert sorted(store.tickets(name, state="told")[-1].values or ()) == [2.0, 2.5]
    store.verify(name)


def test_learners_without_steps_say_so(store: kh.Store) -> None:
    name = stepwise(store, "explore-commit")
    with serving(store) as service:
        ticket = asked(service, name)
        row = dict.fromkeys(ticket["features"], 2.0)
        reply = service.post(f"/api/v1/tickets/{ticket['id']}/next", {"values": row})
        assert reply.json["step"]["enough"]
        assert "everything" in reply.json["step"]["reason"]
