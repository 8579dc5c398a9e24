"""Whatever is sent, the answer is one: no 5xx, JSON errors, and the store as sound as before."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import keyhole as kh
from keyhole.counter.service.routes import ROUTES
from tests.helpers.serving import Service, serving
from tests.helpers.stores import quick_folder

EXAMPLES = int(os.environ.get("KEYHOLE_FUZZ", "4"))
BOUNDED = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)
# A report takes a second to draw, and has nothing to get wrong but the name.
LEFT_OUT = ("/metrics", "/openapi.json", "/api/v1/learners/{name}/report")
FUZZED = sorted(route for route in ROUTES if route[1] not in LEFT_OUT)


def open_clinic(store: kh.Store) -> None:
    """Make the learner, if it is not there: requests may have deleted it."""
    if "clinic" not in store.names():
        store.create("clinic", kh.Problem(3, 1, 2, ("age", "crp", "tsh")), learner="random")


@pytest.fixture(scope="module")
def counter() -> Iterator[kh.Store]:
    """A store that all requests go to."""
    with quick_folder() as folder, kh.Store(folder / "keyhole.db") as store:
        open_clinic(store)
        yield store
        open_clinic(store)
        assert store.verify("clinic") == {"clinic": store.info("clinic").events}


@pytest.fixture(scope="module")
def running(counter: kh.Store) -> Iterator[Service]:
    """A service on it."""
    with serving(counter) as service:
        yield service


@pytest.mark.parametrize(("method", "path"), FUZZED)
def test_what_the_schema_allows_and_what_it_does_not(
    running: Service, counter: kh.Store, method: str, path: str
) -> None:
    schema = schemathesis.openapi.from_dict(running.get("/openapi.json").json)
    operation = schema[path][method]
    modes = [schemathesis.GenerationMode.POSITIVE]
    if method == "POST":  # elsewhere there is too little to get wrong
        modes.append(schemathesis.GenerationMode.NEGATIVE)

    def send(case: Any) -> None:
        open_clinic(counter)
        [ticket] = counter.ask("clinic")
        given_path = case.path_parameters or {}
        if "id" in given_path:  # every other one a ticket that is there
            case.path_parameters["id"] = ticket.id
        if "name" in given_path and len(str(given_path["name"])) % 2:
            case.path_parameters["name"] = "clinic"
        reply = case.call(base_url=running.url, timeout=60)
        assert reply.status_code < 500, (case.as_curl_command(), reply.text)
        if reply.status_code >= 400:
            assert set(reply.json()) == {"error", "kind"}

    for mode in modes:
        BOUNDED(given(case=operation.as_strategy(generation_mode=mode))(send))()


@BOUNDED
@given(
    body=st.one_of(
        st.binary(max_size=200),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
            lambda inner: (
                st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
            ),
            max_leaves=12,
        ),
    ),
    key=st.none() | st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=220),
)
def test_any_body_at_all(
    running: Service, counter: kh.Store, body: object, key: str | None
) -> None:
    open_clinic(counter)
    [ticket] = counter.ask("clinic")
    for path in ("tickets", "values", "labels", "predictions", "intervals"):
        _refused_or_done(running, f"/api/v1/learners/clinic/{path}", body, key)
    for verb in ("values", "label", "correction", "drop"):
        _refused_or_done(running, f"/api/v1/tickets/{ticket.id}/{verb}", body, key)
    for field in ("values", "label", "terms", "count", "who"):
        wrapped = {field: body} if not isinstance(body, bytes) else body
        _refused_or_done(running, f"/api/v1/tickets/{ticket.id}/label", wrapped, key)
        _refused_or_done(running, "/api/v1/learners/clinic/tickets", wrapped, key)


def _refused_or_done(service: Service, path: str, body: object, key: str | None) -> None:
    reply = service.post(path, body, idempotency_key=key)
    assert reply.status < 500, (path, body, key, reply.content)
    assert isinstance(reply.json, dict)
