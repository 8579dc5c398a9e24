"""Examples of the schema: every call has one, and each of them works as it is written."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import pytest

import keyhole as kh
from keyhole.counter.service.app import create_app
from keyhole.counter.service.examples import BODIES, OWN_PARAMETERS, TICKET, VALUES, with_examples
from keyhole.counter.service.routes import API_PATH, LEARNER_PATH, TICKET_PATH
from tests.helpers.serving import Service, serving
from tests.helpers.stores import quick_folder

CREATE, IMPORT = ("POST", f"{API_PATH}/learners"), ("POST", f"{API_PATH}/import")
FILLED = (f"{TICKET_PATH}/label", f"{LEARNER_PATH}/labels")  # calls for a ticket with its values
TOLD = (f"{TICKET_PATH}/correction", f"{LEARNER_PATH}/report")  # and for one with its label


def schema() -> dict[str, Any]:
    with quick_folder() as folder, kh.Store(folder / "keyhole.db") as store:
        return create_app(store).openapi()


SCHEMA = schema()
CALLS = [(verb.upper(), path) for path, calls in SCHEMA["paths"].items() for verb in calls]


@pytest.fixture
def empty() -> Iterator[Service]:
    """A service on a store without learners."""
    with quick_folder() as folder, kh.Store(folder / "keyhole.db") as store, serving(store) as made:
        yield made


@pytest.mark.parametrize("which", CALLS, ids=" ".join)
def test_an_example_works(empty: Service, which: tuple[str, str]) -> None:
    method, path = which
    call = SCHEMA["paths"][path][method.lower()]
    parameters = {each["name"]: each for each in call.get("parameters", ())}
    bodies = list(call.get("requestBody", {}).get("content", {}).values())
    assert all("example" in each for each in (*parameters.values(), *bodies))
    body: Any = bodies[0]["example"] if bodies else None
    if which != CREATE:
        assert empty.post(CREATE[1], BODIES[CREATE]).status == 201
        id = a_ticket(empty, path)
        body = json.loads(json.dumps(body).replace(TICKET, id))
        for each in parameters.values():
            each["sent"] = id if each["example"] == TICKET else each["example"]
    if which == IMPORT:
        body = empty.get(f"{API_PATH}/learners/clinic/export").content
        empty.request("DELETE", f"{API_PATH}/learners/clinic?force=true")
    query = {}
    for name, each in parameters.items():
        value = each.get("sent", each["example"])
        text = value if isinstance(value, str) else json.dumps(value)
        if each["in"] == "path":
            path = path.replace(f"{{{name}}}", quote(text))
        elif each["in"] == "query":
            query[name] = text
    headers = {"idempotency_key": "4711"} if "idempotency-key" in parameters else {}
    if which == IMPORT:
        headers["content_type"] = "application/octet-stream"
    reply = empty.request(method, f"{path}?{urlencode(query)}", body, **headers)
    assert reply.status in (200, 201), reply.content
    assert str(reply.status) in call["responses"]


def a_ticket(service: Service, path: str) -> str:
    """The id of a ticket in the state that a call is for; it buys what examples have values of."""
    asked = service.post(f"{API_PATH}/learners/clinic/tickets", {}).json["tickets"][0]
    assert set(asked["features"]) == set(VALUES)
    id = str(asked["id"])
    if path in FILLED + TOLD:
        example = BODIES["POST", f"{TICKET_PATH}/values"]
        assert service.post(f"{API_PATH}/tickets/{id}/values", example).status == 200
    if path in TOLD:
        example = BODIES["POST", f"{TICKET_PATH}/label"]
        assert service.post(f"{API_PATH}/tickets/{id}/label", example).status == 200
    return id


def test_no_example_is_left_over() -> None:
    assert set(BODIES) | set(OWN_PARAMETERS) <= set(CALLS)


def test_a_call_without_an_example_is_left_as_it_is() -> None:
    bare: dict[str, Any] = {
        "paths": {"/new": {"post": {"requestBody": {"content": {"application/json": {}}}}}}
    }
    assert with_examples(json.loads(json.dumps(bare))) == bare
