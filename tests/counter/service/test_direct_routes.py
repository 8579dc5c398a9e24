"""Direct routes answer as those of FastAPI do, to good requests and to bad ones."""

import re
import time
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute

import keyhole as kh
from keyhole.counter.service.access_control import ApiKeys
from keyhole.counter.service.app import create_app
from keyhole.counter.service.routes import DirectRoute
from keyhole.counter.service.settings import ServiceSettings
from tests.helpers.pages import serving
from tests.helpers.stores import quick_folder

CLINIC = "/api/v1/learners/clinic"
NOBODY = "/api/v1/tickets/0123-4567-89AM"
JSON = {"content-type": "application/json"}
PROBLEM = kh.Problem(d=3, k=1, budget=2, names=("age", "crp", "tsh"))
# Path, body as it is sent, headers. `{0}` is the id of a ticket that was asked for.
CASES: tuple[tuple[str, bytes, dict[str, str]], ...] = (
    (f"{CLINIC}/tickets", b"{}", JSON),
    (f"{CLINIC}/tickets", b'{"count": 2, "who": "ward"}', JSON | {"idempotency-key": "k"}),
    (f"{CLINIC}/tickets", b'{"count": 2, "who": "ward"}', JSON | {"idempotency-key": "k"}),
    (f"{CLINIC}/tickets", b'{"count": 3}', JSON | {"idempotency-key": "k"}),
    (f"{CLINIC}/tickets?whole=true", b"{}", JSON),
    (f"{CLINIC}/tickets?whole=perhaps", b"{}", JSON),
    (f"{CLINIC}/tickets", b'{"count": 0}', JSON),
    (f"{CLINIC}/tickets", b'{"count": 1.5}', JSON),
    (f"{CLINIC}/tickets", b'{"many": 1}', JSON),
    (f"{CLINIC}/tickets", b"[", JSON),
    (f"{CLINIC}/tickets", b"", JSON),
    (f"{CLINIC}/tickets", b"{}", {"content-type": "text/plain"}),
    (f"{CLINIC}/tickets", b"{}", {"content-type": "application/vnd.x+json"}),
    (f"{CLINIC}/tickets", b'{"terms": {"without": ["age"]}}', JSON),
    ("/api/v1/learners/nobody/tickets", b"{}", JSON),
    ("/api/v1/learners/no%20body/tickets", b"{}", JSON),
    ("/api/v1/learners/a%2Fb/tickets", b"{}", JSON),
    ("/api/v1/learners//tickets", b"{}", JSON),
    (f"{NOBODY}/values", b'{"values": [1, 2]}', JSON),
    ("/api/v1/tickets/0123/values", b'{"values": [1, 2]}', JSON),
    (f"{NOBODY}/drop", b"", {}),
    ("/api/v1/tickets/{0}/values", b'{"values": {"age": 1}, "who": 3}', JSON),
    ("/api/v1/tickets/{0}/values", b'{"values": [1, "2"]}', JSON),
    ("/api/v1/tickets/{0}/values", b'{"values": [1, NaN]}', JSON),
    ("/api/v1/tickets/{0}/values", b'{"values": [1]}', JSON),
    ("/api/v1/tickets/{0}/values", b'{"values": {"0": 1.5}, "who": "lab"}', JSON),
    ("/api/v1/tickets/{0}/label", b'{"label": 1e999}', JSON),
    ("/api/v1/tickets/{0}/label", b'{"label": 2}', JSON),
    ("/api/v1/tickets/{0}/label", b'{"label": 3}', JSON),
    ("/api/v1/tickets/{0}/label/", b'{"label": 3}', JSON),
    ("/api/v1/tickets/{0}/drop", b"{}", JSON),
)


def answers() -> list[tuple[int, Any]]:
    """What is answered to each case, ids and times left out."""
    with quick_folder() as folder, kh.Store(folder / "keyhole.db") as store:
        store.create("clinic", PROBLEM, "fixed")
        app = create_app(store, ServiceSettings(), keys=ApiKeys(store.url))
        with serving(app) as address, httpx.Client(base_url=address, timeout=60) as client:
            while client.get("/ready").status_code != 200:
                time.sleep(0.02)
            [ticket] = client.post(f"{CLINIC}/tickets", json={}).json()["tickets"]
            found = []
            for path, body, headers in CASES:
                reply = client.post(
                    path.replace("{0}", ticket["id"]), content=body, headers=headers
                )
                found.append((reply.status_code, _plain(reply)))
            return found


def _plain(reply: httpx.Response) -> Any:
    said = reply.json()
    if "kind" in said:
        return said["kind"]
    text = re.sub(r"[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}", "ID", reply.text)
    return re.sub(r'"\d{4}-\d\d-\d\dT[^"]*"', "WHEN", text)


def test_the_same_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = answers()
    monkeypatch.setattr(DirectRoute, "get_route_handler", APIRoute.get_route_handler)
    theirs = answers()
    for case, one, other in zip(CASES, ours, theirs, strict=True):
        assert one == other, case
    assert {status for status, _ in ours} == {200, 201, 404, 409, 422}


def test_a_route_that_takes_more_than_it_reads_is_refused_at_the_start() -> None:
    async def more(id: str, other: str) -> None:
        raise AssertionError

    for endpoint in (more, lambda id: None):
        with pytest.raises(TypeError, match="cannot be a direct route"):
            DirectRoute("/{id}/values", endpoint, methods=["POST"])
