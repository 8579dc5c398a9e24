"""Pages behind the real door: keys, roles, sessions."""

import re
import time
from collections.abc import Iterator

import httpx
import pytest

import keyhole as kh
from keyhole.counter.service.access_control import ApiKeys
from keyhole.counter.service.app import create_app
from tests.helpers.pages import browsing, form_key, next_example


@pytest.fixture
def keys(store: kh.Store) -> Iterator[ApiKeys]:
    """The keys of a store with two learners."""
    for name in ("ward", "other"):
        store.create(name, kh.Problem(2, 1, 1, ("age", "crp")), "fixed")
    keys = ApiKeys(store.url)
    yield keys
    keys.close()


@pytest.fixture
def client(store: kh.Store, keys: ApiKeys) -> Iterator[httpx.Client]:
    """Somebody without a key, as long as there are keys."""
    with browsing(create_app(store, keys=keys)) as client:
        client.headers["accept"] = "text/html"
        client.headers["sec-fetch-site"] = "same-origin"
        while client.get("/ready").status_code != 200:
            time.sleep(0.02)
        yield client


def sign_in(client: httpx.Client, keys: ApiKeys, roles: list[str], *learners: str) -> None:
    """Make a key and sign in with it."""
    secret, _ = keys.create(roles, list(learners), label="ward 3")
    client.cookies.clear()
    page = client.post("/login", data={"key": secret, "next": "/counter"})
    assert page.url.path == "/counter"


def test_on_this_machine_no_key_is_needed_until_there_is_one(
    client: httpx.Client, keys: ApiKeys
) -> None:
    assert client.get("/").status_code == 200
    keys.create(["read"])
    time.sleep(1.1)  # what was read of the keys counts for a second
    page = client.get("/learners/ward")
    assert page.url.path == "/login"
    assert 'name="key"' in page.text
    assert 'value="/learners/ward"' in page.text
    assert client.get("/static/keyhole.css").status_code == 200


def test_a_wrong_key_is_said(client: httpx.Client, keys: ApiKeys) -> None:
    keys.create(["read"])
    page = client.post("/login", data={"key": "kh_wrong"})
    assert page.status_code == 401
    assert "not known" in page.text


def test_a_clerk_sees_and_does_what_the_key_is_for(
    client: httpx.Client, keys: ApiKeys, store: kh.Store
) -> None:
    sign_in(client, keys, ["ask", "tell"], "ward")
    page = client.get("/")
    assert 'href="/counter/ward"' in page.text
    assert "No learners yet" not in page.text
    assert "Loss over time" not in page.text  # takes the role read
    assert "other" not in page.text.replace("other-", "")
    page = client.get("/counter")
    assert "/counter/ward" in page.text
    assert "/counter/other" not in page.text
    place = next_example(client, "ward")
    client.post(f"{place}/values", data={"v0": "61"})
    assert "The label is saved" in client.post(f"{place}/label", data={"label": "3"}).text
    assert store.tickets("ward")[0].who.startswith("ward 3 (kh_")
    [theirs] = store.ask("other")
    assert client.get(f"/counter/other/{theirs.id}").status_code == 403
    assert client.get("/counter", params={"ticket": theirs.id}).status_code == 404
    assert client.get("/learners/ward").status_code == 403  # takes the role read
    assert client.get("/admin").status_code == 403
    assert client.post("/admin/backup").status_code == 403


def test_a_reader_changes_nothing(client: httpx.Client, keys: ApiKeys, store: kh.Store) -> None:
    sign_in(client, keys, ["read"])
    assert client.get("/learners/ward").status_code == 200
    assert "Next example" not in client.get("/counter/ward").text
    assert client.post("/counter/ward", data={"form": "0" * 32}).status_code == 403
    [ticket] = store.ask("ward")
    page = client.get(f"/counter/ward/{ticket.id}")
    assert page.status_code == 200
    assert "<input" not in page.text
    assert "Drop" not in page.text
    for verb in ("values", "label", "correct", "drop"):
        reply = client.post(f"/counter/ward/{ticket.id}/{verb}", data={"v0": "1", "label": "1"})
        assert reply.status_code == 403
    assert store.ticket(ticket.id).state == "asked"


@pytest.mark.parametrize("role", ["ask", "tell"])
def test_no_field_is_shown_that_the_role_may_not_use(
    client: httpx.Client, keys: ApiKeys, store: kh.Store, role: str
) -> None:
    sign_in(client, keys, [role], "ward")
    asked, filled, told = store.ask("ward", 3)
    for ticket in (filled, told):
        store.fill(ticket.id, dict.fromkeys(ticket.names, 1.0), confirm=True)
    store.tell(told.id, 3.0)
    desk = client.get("/counter/ward").text
    assert ("Next example" in desk, "Enter values" in desk) == (role == "ask",) * 2
    assert (f'name="label-{filled.id}"' in desk, "Save labels" in desk) == (role == "tell",) * 2
    assert "About this learner" not in desk  # takes the role read
    pages = [client.get(f"/counter/ward/{t.id}").text for t in (asked, filled, told)]
    assert ('name="v0"' in pages[0]) == (role == "ask")
    assert ('name="label"' in pages[1]) == (role == "tell")
    assert all("Drop" in page for page in pages[:2])
    assert ("Correct…" in pages[1]) == (role == "ask")
    seen = client.get(f"/counter/ward/{filled.id}/correct").text
    assert ('type="hidden" name="v0"' in seen) == (role == "tell")


def test_keys_are_made_shown_once_and_revoked(client: httpx.Client, keys: ApiKeys) -> None:
    sign_in(client, keys, ["admin"])
    key = form_key(client.get("/admin"))
    data = {
        "form": key,
        "label": "<b>ward</b>",
        "role": ["ask", "tell"],
        "learner": "ward",
        "days": "30",
    }
    page = client.post("/admin/keys", data=data)
    found = re.search(r'id="secret">(kh_[^<]+)<', page.text)
    assert found is not None
    assert "<b>" not in page.text
    again = client.post("/admin/keys", data=data)
    assert again.status_code == 409
    assert found[1] not in client.get("/admin").text
    made = keys.all()[-1]
    assert (made.roles, made.learners, made.label) == (("ask", "tell"), ("ward",), "<b>ward</b>")
    assert made.expires_at == pytest.approx(made.created_at + 30 * 86400)
    assert len(keys.all()) == 2
    assert "locked out" in client.get(f"/admin/keys/{made.id}/revoke").text
    client.post(f"/admin/keys/{made.id}/revoke")
    assert keys.all()[-1].state == "revoked"


def test_a_learner_with_more_features_than_the_service_takes_is_refused(
    client: httpx.Client, store: kh.Store
) -> None:
    names = ",".join(f"c{j}" for j in range(2001)).encode()
    data = {"form": form_key(client.get("/admin")), "name": "wide", "budget": "1", "sparsity": "1"}
    page = client.post("/admin/learners", data=data, files={"table": ("t.csv", names)})
    assert page.status_code == 422
    assert "may have 2,000" in page.text
    assert "wide" not in store.names()


@pytest.mark.parametrize("data", [{"days": "x", "role": "read"}, {"days": "²", "role": "read"}, {}])
def test_a_key_that_makes_no_sense_is_refused(
    client: httpx.Client, keys: ApiKeys, data: dict[str, str]
) -> None:
    sign_in(client, keys, ["admin"])
    page = client.post("/admin/keys", data={"form": form_key(client.get("/admin")), **data})
    assert page.status_code == 422
    assert len(keys.all()) == 1
