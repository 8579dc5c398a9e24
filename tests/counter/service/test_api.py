"""The API does what the store does, and says what went wrong in one way."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import keyhole as kh
from keyhole.counter.service import schemas
from keyhole.counter.service.errors import STATUS, status_of
from keyhole.counter.service.settings import ServiceSettings
from tests.counter.service.conftest import PROBLEM
from tests.helpers.serving import Service, serving
from tests.helpers.stores import quick_folder

CLINIC = "/api/v1/learners/clinic"


@pytest.fixture(scope="module")
def refusing() -> Iterator[tuple[Service, kh.Store]]:
    """A service that is only sent what it refuses, and its store."""
    with quick_folder() as folder, kh.Store(folder / "keyhole.db") as store:
        store.create("clinic", PROBLEM, learner="random")
        with serving(store) as service:
            yield service, store


def asked(service: Service, **body: object) -> dict[str, object]:
    """A new ticket."""
    reply = service.post(f"{CLINIC}/tickets", body)
    assert reply.status == 201, reply.content
    [ticket] = reply.json["tickets"]
    schemas.TicketReply.model_validate(ticket)
    return dict(ticket)


def test_a_round(service: Service, store: kh.Store) -> None:
    ticket = asked(service, who="ward 3", expires_in=60)
    id, first = str(ticket["id"]), str(ticket["features"][0])  # type: ignore[index]
    filled = service.post(f"/api/v1/tickets/{id}/values", {"values": {first: 4.25}, "who": "lab"})
    assert filled.status == 200
    assert filled.json["values"][first] == 4.25
    assert sorted(map(type, filled.json["values"].values()), key=str) == [type(None), float]
    assert filled.json["prediction"] == store.ticket(id).prediction == 0.0
    told = service.post(f"/api/v1/tickets/{id}/label", {"label": 7.5, "who": "ward 3"})
    assert (told.status, told.json["state"], told.json["label"]) == (200, "told", 7.5)
    assert [event.who for event in store.history("clinic")] == ["", "ward 3", "lab", "ward 3"]
    assert service.get(f"/api/v1/tickets/{id.lower()}").json == told.json


def test_many_at_once_and_page_by_page(service: Service, store: kh.Store) -> None:
    tickets = service.post(f"{CLINIC}/tickets", {"count": 5}).json["tickets"]
    ids = [ticket["id"] for ticket in tickets]
    filled = service.post(f"{CLINIC}/values", {"values": {id: [1.0, None] for id in ids[:4]}})
    assert [ticket["state"] for ticket in filled.json["tickets"]] == ["filled"] * 4
    told = service.post(f"{CLINIC}/labels", {"labels": dict.fromkeys(ids[:3], 2)})
    assert [ticket["label"] for ticket in told.json["tickets"]] == [2.0] * 3
    assert service.post(f"/api/v1/tickets/{ids[4]}/drop").json["state"] == "dropped"
    found, after = [], ""
    while True:
        page = service.get(
            f"{CLINIC}/tickets?limit=2&after={after}" if after else f"{CLINIC}/tickets?limit=2"
        )
        schemas.TicketsReply.model_validate(page.json)
        found += [ticket["id"] for ticket in page.json["tickets"]]
        after = page.json["next"]
        if after is None:
            break
    assert found == ids
    waiting = service.get(f"{CLINIC}/tickets?state=open&newest_first=true").json["tickets"]
    assert [ticket["id"] for ticket in waiting] == [ids[3]]
    # All or none: one that is unknown keeps the others back.
    mixed = service.post(f"{CLINIC}/labels", {"labels": {ids[3]: 1.0, ids[4]: 1.0}})
    assert (mixed.status, mixed.kind) == (409, "ConflictError")
    assert store.ticket(ids[3]).state == "filled"


def test_what_is_said_about_a_learner(service: Service, store: kh.Store) -> None:
    id = str(asked(service)["id"])
    service.post(f"/api/v1/tickets/{id}/label", {"label": 3.0, "values": [1.0, 2.0]})
    info = service.get(CLINIC)
    schemas.LearnerReply.model_validate(info.json)
    assert (info.json["rounds"], info.json["told"], info.json["loss"]) == (1, 1, 9.0)
    model = service.get(f"{CLINIC}/model?whole=true")
    schemas.ModelReply.model_validate(model.json)
    assert model.json["all_weights"] == store.learner("clinic").weights.tolist()
    assert model.json["all_intercept"] == store.learner("clinic").intercept
    schemas.ExplanationReply.model_validate(service.get(f"{CLINIC}/explanation").json)
    schemas.ProblemReply.model_validate(service.get(f"{CLINIC}/problem").json)
    events = service.get(f"{CLINIC}/events?after=1&limit=2").json
    schemas.EventsReply.model_validate(events)
    assert [(e["seq"], e["kind"]) for e in events["events"]] == [(2, "asked"), (3, "seen")]
    assert service.get(f"{CLINIC}/events?after={events['next']}").json["next"] is None
    assert service.get(f"{CLINIC}/rounds/1").json["id"] == id
    metrics = service.get("/metrics").content.decode()
    assert 'keyhole_labels_total{learner="clinic"} 1' in metrics
    assert (
        'keyhole_requests_total{method="GET",route="/api/v1/learners/{name}",status="200"} 1'
        in (metrics)
    )
    assert service.get("/openapi.json").json["info"]["title"] == "keyhole"


def test_making_and_moving_learners(service: Service, tmp_path: Path) -> None:
    body = {
        "name": "priced",
        "features": ["age", "crp", "alb"],
        "k": 1,
        "budget": "4.50",
        "learner": "random",
        "seed": 7,
        "prices": {"age": 0, "crp": "0.50"},
        "panels": {"blood": {"price": 4, "features": ["crp", "alb"]}},
        "units": {"crp": "mg/l"},
    }
    made = service.post("/api/v1/learners", body, idempotency_key="a")
    assert (made.status, made.json["priced"], made.json["budget"]) == (201, True, 4.5)
    assert service.post("/api/v1/learners", body, idempotency_key="a").json["name"] == "priced"
    assert service.post("/api/v1/learners", body).status == 409
    other = service.post("/api/v1/learners", {**body, "seed": 8}, idempotency_key="a")
    assert (other.status, other.kind) == (409, "ConflictError")
    with kh.connect(service.url, "priced") as remote:
        problem = remote.problem
    prices: dict[str, float | str] = {"age": 0, "crp": "0.50"}
    assert problem == kh.Problem(
        3, 1, "4.50", ("age", "crp", "alb"), prices, {"blood": (4, ["crp", "alb"])}
    )
    [ticket] = service.post("/api/v1/learners/priced/tickets").json["tickets"]
    export = service.get("/api/v1/learners/priced/export")
    with kh.Store(tmp_path / "other.db") as elsewhere, serving(elsewhere) as there:
        taken = there.post("/api/v1/import?name=moved", export.content, idempotency_key="b")
        assert (taken.status, taken.json["name"], taken.json["rounds"]) == (201, "moved", 1)
        assert there.get(f"/api/v1/tickets/{ticket['id']}").json["learner"] == "moved"
        again = there.post("/api/v1/import?name=moved", export.content, idempotency_key="b")
        assert again.json == taken.json
        assert there.post("/api/v1/import?name=moved", export.content).status == 409
        damaged = there.post("/api/v1/import", export.content[:-20])
        assert (damaged.status, damaged.kind) == (422, "DataError")
    state = service.get("/api/v1/learners/priced/state")
    (tmp_path / "state.npz").write_bytes(state.content)
    assert kh.load(tmp_path / "state.npz").round == 1


def test_a_learner_that_studied_first_and_features_by_number(service: Service) -> None:
    body = {
        "name": "plain",
        "features": 3,
        "k": 1,
        "budget": 2,
        "learner": "epsilon-greedy",
        "history": {"rows": [[1, 2, None], [0, 1, 2], [3, 1, 1]], "labels": [1, 0, 3]},
    }
    made = service.post("/api/v1/learners", body)
    assert (made.status, made.json["history"]) == (201, 3), made.content
    again = service.post("/api/v1/learners", body, idempotency_key="x")
    assert again.json["name"] == "plain"
    [ticket] = service.post("/api/v1/learners/plain/tickets").json["tickets"]
    a, b = ticket["numbers"]
    values = {"values": {str(a): 1.5, f"feature {b}": 2.5}}
    filled = service.post(f"/api/v1/tickets/{ticket['id']}/values", values).json
    assert list(filled["values"].values()) == [1.5, 2.5]
    looked = service.post("/api/v1/learners/plain/predictions", {"round": 1, **values})
    assert looked.json["prediction"] == filled["prediction"]


def test_the_same_key_is_the_same_reply(service: Service, store: kh.Store) -> None:
    first = service.post(f"{CLINIC}/tickets", {"count": 2}, idempotency_key="k1")
    assert service.post(f"{CLINIC}/tickets", {"count": 2}, idempotency_key="k1").json == first.json
    assert store.info("clinic").rounds == 2
    other = service.post(f"{CLINIC}/tickets", {"count": 3}, idempotency_key="k1")
    assert (other.status, other.kind) == (409, "ConflictError")
    id = first.json["tickets"][0]["id"]
    for verb, body in (
        ("values", {"values": [1.0, 2.0]}),
        ("label", {"label": 1.5}),
        ("drop", {}),
    ):
        path = f"/api/v1/tickets/{id if verb != 'drop' else first.json['tickets'][1]['id']}/{verb}"
        replies = [service.post(path, body, idempotency_key=verb) for _ in range(2)]
        assert replies[0].status == 200
        assert replies[0].content == replies[1].content
    assert store.info("clinic").events == 6
    assert service.post(f"{CLINIC}/tickets", {}, idempotency_key="x" * 201).status == 422


def test_late_double_unknown_and_edited(service: Service) -> None:
    id = str(asked(service)["id"])
    early = service.post(f"/api/v1/tickets/{id}/label", {"label": 1.0})
    assert (early.status, early.kind) == (409, "ConflictError")
    assert service.post(f"/api/v1/tickets/{id}/values", {"values": [1.0, 2.0]}).status == 200
    assert service.post(f"/api/v1/tickets/{id}/values", {"values": [1.0, 2.0]}).status == 200
    assert service.post(f"/api/v1/tickets/{id}/values", {"values": [1.0, 2.5]}).status == 409
    assert service.post(f"/api/v1/tickets/{id}/label", {"label": 1.0}).status == 200
    assert service.post(f"/api/v1/tickets/{id}/label", {"label": 1.0}).status == 200
    edited = service.post(f"/api/v1/tickets/{id}/label", {"label": 2.0})
    assert (edited.status, edited.kind) == (409, "ConflictError")
    assert "was told 1 before, now 2" in edited.json["error"]
    assert service.post(f"/api/v1/tickets/{id}/drop").status == 409
    for unknown in ("0123-4567-89AM", "nonsense", "%00", "a" * 500):
        reply = service.get(f"/api/v1/tickets/{unknown}")
        assert (reply.status, reply.kind) == (404, "UnknownTicketError")
    assert service.get("/api/v1/learners/clinik").kind == "UnknownLearnerError"
    assert "did you mean 'clinic'" in service.get("/api/v1/learners/clinik").json["error"]
    assert service.get("/api/v1/learners/%00").status == 404


def test_a_feature_that_is_given_twice_is_refused(service: Service, store: kh.Store) -> None:
    """By its number and by its name, or by its number in two ways: which value counts?"""
    [ticket] = store.ask("clinic")
    number, name = int(ticket.ticket.features[0]), ticket.names[0]
    path = f"/api/v1/tickets/{ticket.id}/values"
    for one, other in ((str(number), name), (str(number), f"feature {number}")):
        reply = service.post(path, {"values": {one: 1.0, other: 2.0}})
        assert (reply.status, reply.kind) == (422, "DataError")
        assert other in reply.json["error"]
    many = {"values": {ticket.id: {str(number): 1.0, name: 2.0}}}
    assert service.post(f"{CLINIC}/values", many).status == 422
    assert store.ticket(ticket.id).state == "asked"


@pytest.mark.parametrize("round", [0, -5, 2, 2**70])
def test_rounds_that_never_were(service: Service, store: kh.Store, round: int) -> None:
    store.ask("clinic")
    reply = service.get(f"{CLINIC}/rounds/{round}")
    assert (reply.status, reply.kind) == (404, "UnknownTicketError")
    assert "has issued no ticket of round" in reply.json["error"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (f"{CLINIC}/tickets", {"count": 0}),
        (f"{CLINIC}/tickets", {"count": 1.5}),
        (f"{CLINIC}/tickets", {"count": True}),
        (f"{CLINIC}/tickets", {"count": 10**6}),
        (f"{CLINIC}/tickets", {"coutn": 1}),
        (f"{CLINIC}/tickets", {"who": "a\nb"}),
        (f"{CLINIC}/tickets", {"who": "\ud800"}),
        (f"{CLINIC}/tickets", {"expires_in": -1}),
        (f"{CLINIC}/tickets", {"terms": {"without": ["age"]}}),
        (f"{CLINIC}/tickets", b"{"),
        (f"{CLINIC}/tickets", b"\xff\xfe"),
        (f"{CLINIC}/tickets", b"[" * 200_000),
        (f"{CLINIC}/tickets", b'{"count": ' + b"9" * 5000 + b"}"),
        (f"{CLINIC}/labels", {"labels": {"nonsense": 1.0}}),
        (f"{CLINIC}/predictions", {"round": 2**70, "values": []}),
        ("/api/v1/tickets/ID/values", {"values": {"weight": 1.0}}),
        ("/api/v1/tickets/ID/values", {"values": {"\ud800": 1.0}}),
        ("/api/v1/tickets/ID/values", {"values": ["1.5", 2]}),
        ("/api/v1/tickets/ID/values", {"values": [1.0]}),
        ("/api/v1/tickets/ID/values", {"values": [1e200, 1.0]}),
        ("/api/v1/tickets/ID/values", b'{"values": [NaN, 1.0]}'),
        ("/api/v1/tickets/ID/label", b'{"label": Infinity}'),
        ("/api/v1/tickets/ID/label", b'{"label": 1e400}'),
        ("/api/v1/tickets/ID/label", {"label": "7"}),
        ("/api/v1/tickets/ID/label", {"label": True}),
        ("/api/v1/tickets/ID/label", {"label": 1e151, "values": [1.0, 2.0]}),
        ("/api/v1/learners", {"name": "../x", "features": 3, "k": 1, "budget": 1}),
        ("/api/v1/learners", {"name": "x", "features": 3, "k": 1, "budget": 1.5}),
        ("/api/v1/learners", {"name": "x", "features": 10**9, "k": 1, "budget": 1}),
        ("/api/v1/learners", {"name": "x", "features": 3, "k": 1, "budget": 1, "learner": "best"}),
        (
            "/api/v1/learners",
            {"name": "x", "features": 3, "k": 1, "budget": 1, "settings": {"x": []}},
        ),
        (
            "/api/v1/learners",
            {"name": "x", "features": 3, "k": 1, "budget": 1, "settings": {"who": "me"}},
        ),
        ("/api/v1/import", b"PK\x03\x04 not a learner"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_way(
    refusing: tuple[Service, kh.Store], path: str, body: object
) -> None:
    service, store = refusing
    [ticket] = store.ask("clinic")
    before = store.info("clinic").events
    reply = service.post(path.replace("ID", ticket.id), body)
    assert 400 <= reply.status < 500, reply.content
    assert set(reply.json) == {"error", "kind"}
    assert store.ticket(ticket.id).state == "asked"
    assert store.info("clinic").events == before
    assert store.names() == ("clinic",)


def test_the_table_of_errors_knows_all_errors_of_keyhole() -> None:
    from keyhole import errors

    own = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, Exception)]
    missing = {e.__name__ for e in own if e not in STATUS}
    # ServiceError is what the client raises, ClusterError what sweeps and sums do; KeyholeError
    # itself is whatever comes later.
    assert missing == {"ClusterError", "KeyholeError", "ServiceError"}
    assert status_of(kh.StoreLockedError("?")) == (503, "StoreLockedError")
    assert status_of(kh.UnknownTicketError("?")) == (404, "UnknownTicketError")


def test_large_slow_and_misdirected_requests(store: kh.Store) -> None:
    settings = ServiceSettings(port=0, body_bytes=1000, body_seconds=0.2)
    with serving(store, settings) as service:
        large = service.post(f"{CLINIC}/tickets", {"who": "x" * 2000})
        assert (large.status, large.kind) == (413, "TooLargeError")
        chunked = service.post(
            f"{CLINIC}/tickets",
            b"400\r\n" + b"x" * 1024 + b"\r\n0\r\n\r\n",
            content_length=None,
            transfer_encoding="chunked",
        )
        assert chunked.status == 413
        slow = service.post(f"{CLINIC}/tickets", b"{", content_length="10")
        assert (slow.status, slow.kind) == (408, "TooSlowError")
        for host in ("evil.example", "localhost.evil.example", "127.0.0.1@evil", "", "[::1"):
            reply = service.get("/health", host=host)
            assert reply.status == 400, host
        for host in ("localhost", "LOCALHOST:80", "[::1]:8321", "127.0.0.1"):
            assert service.get("/health", host=host).status == 200
        assert store.info("clinic").rounds == 0


def test_not_ready_before_all_are_loaded(store: kh.Store) -> None:
    from keyhole.counter.service.middleware import LearnerLoader

    said: list[str] = []
    loading = LearnerLoader(store, said.append)
    assert not loading.ready()
    loading._all()
    assert loading.ready()
    assert said == ["loading clinic (1 of 1)", "ready"]
    loading.stopping.set()
    assert not loading.ready()


def test_a_learner_that_is_damaged_does_not_keep_the_others_back(
    store: kh.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    from keyhole.counter.service.middleware import LearnerLoader

    store.create("broken", kh.Problem(2, 1, 1), learner="fixed")
    load = store.load

    def fails(name: str | None = None) -> None:
        if name == "broken":
            raise kh.StoreDamagedError("event 7 was changed")
        load(name)

    monkeypatch.setattr(store, "load", fails)
    said: list[str] = []
    loading = LearnerLoader(store, said.append)
    loading._all()
    assert loading.ready()
    assert "broken is not served: event 7 was changed" in said


def test_what_is_sent_is_json_for_everybody(service: Service, store: kh.Store) -> None:
    store.create("odd", kh.Problem(2, 1, 1, ("年齢", "<b>")), learner="fixed")
    reply = service.get("/api/v1/learners/odd")
    assert reply.content.isascii()
    assert json.loads(reply.content)["names"] == ["年齢", "<b>"]
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["access-control-allow-origin"] is None
