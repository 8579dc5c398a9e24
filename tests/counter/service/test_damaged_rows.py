"""A service on a store with rows that nobody wrote: what is damaged is refused by itself."""

import contextlib
import sqlite3
from pathlib import Path

import pytest

import keyhole as kh
from keyhole.counter.service.access_control import ApiKeys
from keyhole.counter.service.routes import API_PATH
from tests.helpers.serving import serving

PROBLEM = kh.Problem(d=3, k=1, budget=2)


def edit(path: Path | str, sql: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute(sql).rowcount != 0
        connection.commit()


@pytest.mark.parametrize("change", ["about = 'junk'", "created_at = 1e300", "seq = 'x'"])
def test_one_damaged_learner_does_not_keep_the_service_from_starting(
    store: kh.Store, change: str
) -> None:
    store.create("bad", PROBLEM, learner="random")
    edit(store.url, f"UPDATE kh_learner SET {change} WHERE name = 'bad'")
    with serving(store) as service:  # waits until it is ready
        assert service.post(f"{API_PATH}/learners/clinic/tickets").status == 201
        refused = service.post(f"{API_PATH}/learners/bad/tickets")
        assert (refused.status, refused.kind) == (503, "StoreDamagedError")
        assert "'bad'" in refused.json["error"]
        found = service.get(f"{API_PATH}/learners").json
        assert [one["name"] for one in found["learners"]] == ["clinic"]
        assert "the row of 'bad' is damaged" in found["damaged"]["bad"]
        for path in ("/", "/counter", "/metrics", "/counter/clinic", "/admin"):
            assert service.get(path).status == 200
        assert b"the row of &#39;bad&#39; is damaged" in service.get("/").content
        assert service.get("/learners/bad").status == 503


@pytest.mark.parametrize("change", ["grants = 'junk'", "grants = '{}'", "created_at = 'then'"])
def test_a_damaged_key_may_do_nothing_and_the_others_what_they_may(
    store: kh.Store, keys: ApiKeys, change: str
) -> None:
    secret, _ = keys.create(["admin"])
    broken, key = keys.create(["admin"])
    edit(store.url, f"UPDATE kh_key SET {change} WHERE id = '{key.id}'")
    with serving(store, keys=keys) as service:
        assert service.with_key(secret).get(f"{API_PATH}/learners").status == 200
        assert service.with_key(secret).get("/admin").status == 200
        assert service.with_key(broken).get(f"{API_PATH}/learners").status == 401
        assert service.get(f"{API_PATH}/learners").status == 401  # keys are on
        states = {each.id: each.state for each in keys.all()}
        assert states[key.id] == "damaged"
        assert keys.revoke(key.id).id == key.id


def test_a_damaged_ticket_of_one_learner_is_nothing_to_another(
    store: kh.Store, keys: ApiKeys
) -> None:
    store.create("bad", PROBLEM, learner="random")
    store.ask("bad", 3)
    edit(store.url, "UPDATE kh_ticket SET asked_at = 'then' WHERE round = 2")
    with serving(store) as service:
        reply = service.post(f"{API_PATH}/learners/clinic/tickets")
        assert reply.status == 201
        refused = service.get(f"{API_PATH}/learners/bad/tickets")
        assert (refused.status, refused.kind) == (503, "StoreDamagedError")
