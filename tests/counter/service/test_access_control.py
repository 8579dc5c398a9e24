"""Who may do what: every route, every role, and no way round them."""

import contextlib
import logging
import re
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

import keyhole as kh
from keyhole.counter.service.access_control import (
    COOKIE,
    ROLES,
    AccessControl,
    ApiKeys,
    RateLimit,
    hash_secret,
)
from keyhole.counter.service.app import create_app
from keyhole.counter.service.errors import TooManyError
from keyhole.counter.service.routes import API_PATH, PUBLIC_PATHS, ROUTES
from keyhole.counter.service.server import refuse_public_without_key
from keyhole.counter.service.settings import ServiceSettings
from tests.helpers.serving import Reply, Service, serving
from tests.helpers.stores import quick_folder

CLINIC = f"{API_PATH}/learners/clinic"
BODIES = {
    f"{API_PATH}/learners": {"name": "new", "features": 2, "k": 1, "budget": 1, "learner": "fixed"},
    f"{API_PATH}/learners/{{name}}/values": {"values": {}},
    f"{API_PATH}/learners/{{name}}/labels": {"labels": {}},
    f"{API_PATH}/learners/{{name}}/predictions": {"round": 1, "values": [1.0, 2.0]},
    f"{API_PATH}/tickets/{{id}}/values": {"values": [1.0, 2.0]},
    f"{API_PATH}/tickets/{{id}}/label": {"label": 1.0, "values": [1.0, 2.0]},
}


@pytest.fixture
def guarded(store: kh.Store, keys: ApiKeys) -> Iterator[Service]:
    """A service with keys: there is one of an administrator, which nobody here has."""
    keys.create(["admin"])
    store.create("other", kh.Problem(2, 1, 1), learner="fixed")
    with serving(store, keys=keys) as running:
        yield running


@dataclass(frozen=True)
class Staffed:
    """A service, its store, and for each role keys for all, for the clinic, for another learner."""

    service: Service
    store: kh.Store
    secrets: dict[str, list[str]]


@pytest.fixture(scope="module")
def staffed() -> Iterator[Staffed]:
    """One for all routes: it always has a clinic, which is not deleted while a ticket is open."""
    with quick_folder() as folder, kh.Store(folder / "keyhole.db") as store:
        store.create("clinic", kh.Problem(3, 1, 2), learner="random")
        store.create("other", kh.Problem(2, 1, 1), learner="fixed")
        keys, places = ApiKeys(store.url), (None, ["clinic"], ["other"])
        secrets = {role: [keys.create([role], place)[0] for place in places] for role in ROLES}
        with serving(store, keys=keys) as service:
            yield Staffed(service, store, secrets)


def call(service: Service, store: kh.Store, method: str, path: str) -> Reply:
    """Call a route of the table, for a new ticket of the clinic."""
    [ticket] = store.ask("clinic")
    body = BODIES.get(path, {}) if method == "POST" else None
    data: object = b"nothing" if path.endswith("/import") else body
    where = path.format(name="clinic", id=ticket.id, round=1)
    return service.request(method, where, data)


def test_the_table_has_every_route_and_no_other(store: kh.Store, keys: ApiKeys) -> None:
    schema = create_app(store, keys=keys).openapi()
    found = {(verb.upper(), path) for path, verbs in schema["paths"].items() for verb in verbs}
    hidden = {("GET", "/openapi.json")}
    assert found | hidden == set(ROUTES) | {("GET", "/health"), ("GET", "/ready")}
    keys.close()


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_route_takes_the_roles_of_the_table_and_no_others(
    staffed: Staffed, method: str, path: str
) -> None:
    service, store = staffed.service, staffed.store
    assert call(service, store, method, path).kind == "NoKeyError"
    assert call(service.with_key("kh_abcdefgh_" + "x" * 43), store, method, path).status == 401
    before, rule = store.info("clinic").events, ROUTES[method, path]
    for role in ROLES:
        granted = role in rule.roles or role == "admin"
        codes = [
            call(service.with_key(secret), store, method, path).status
            for secret in staffed.secrets[role]
        ]
        for code, covered in zip(codes, _covered(rule.where), strict=True):
            assert code not in (401, 500)
            if granted and covered:
                assert code not in (403, 404), (role, codes)
            else:
                assert code in (403, 404), (role, codes)
    asked = len([e for e in store.history("clinic", after=before) if e.kind == "asked"])
    assert asked >= 3 * len(ROLES)


def _covered(where: str) -> tuple[bool, bool, bool]:
    """Whether a role for all, for the clinic, for another learner, is one for this request."""
    return {
        "learner": (True, True, False),
        "ticket": (True, True, False),
        "all": (True, False, False),
        "some": (True, True, True),
    }[where]


def test_nothing_is_reached_without_a_key(guarded: Service) -> None:
    for path in (
        "/",
        "/counter",
        "/nothing",
        "/openapi.json",
        "/docs",
        "/static/../api/v1/learners",
    ):
        for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "FOO"):
            # A parser that knows no such verb refuses it before anybody is asked for a key.
            allowed = (400, 401) if method == "FOO" else (401,)
            assert guarded.request(method, path, b"").status in allowed, (method, path)
    for path in (
        "//api/v1/learners",
        "/api/v1/learners/",
        "/API/v1/learners",
        "/%61pi/v1/learners",
    ):
        assert guarded.get(path).status == 401, path
    for path in ("/health", "/ready"):
        assert guarded.get(path).status == 200
    browser = guarded.get("/counter?a=b", accept="text/html,*/*")
    assert (browser.status, browser.headers["location"]) == (303, "/login?next=/counter")
    for bad in ("Basic abc", "Bearer", "Bearer ", "kh_abc", "Bearer \xff"):
        assert guarded.get(f"{API_PATH}/learners", authorization=bad).status == 401


def test_a_key_sees_only_its_learners(guarded: Service, store: kh.Store, keys: ApiKeys) -> None:
    secret, _ = keys.create(["read", "ask", "tell"], ["other"])
    keys.all()
    mine = guarded.with_key(secret)
    assert [found["name"] for found in mine.get(f"{API_PATH}/learners").json["learners"]] == [
        "other"
    ]
    [ticket] = store.ask("clinic")
    theirs = mine.get(f"{API_PATH}/tickets/{ticket.id}")
    never = mine.get(f"{API_PATH}/tickets/0123-4567-89AM")
    assert (theirs.status, theirs.kind) == (never.status, never.kind)
    assert theirs.json["error"].replace(ticket.id, "ID") == never.json["error"].replace(
        "0123-4567-89AM", "ID"
    )
    # A ticket of another learner cannot be told through the learner that one may tell.
    many = mine.post(f"{API_PATH}/learners/other/labels", {"labels": {ticket.id: 1.0}})
    assert (many.status, many.kind) == (404, "UnknownTicketError")
    filled = mine.post(f"{API_PATH}/learners/other/values", {"values": {ticket.id: {"7": 1.0}}})
    assert (filled.status, filled.kind) == (404, "UnknownTicketError")


def test_a_limited_key_cannot_tell_foreign_tickets_from_none(
    guarded: Service, store: kh.Store, keys: ApiKeys
) -> None:
    secret, _ = keys.create(["read", "ask", "tell"], ["other", "gone"])
    keys.all()
    mine = guarded.with_key(secret)
    [ticket], never = store.ask("clinic"), "0123-4567-89AM"
    for path in (
        "/counter/other/{}",
        "/counter/other/{}/drop",
        f"{API_PATH}/learners/other/tickets?after={{}}",
        "/counter/other?after={}",
        "/counter?ticket={}",
    ):
        theirs, none = mine.get(path.format(ticket.id)), mine.get(path.format(never))
        assert theirs.status == none.status == 404, path
        assert theirs.content.replace(ticket.id.encode(), never.encode()) == none.content, path
    # Nor where it is damaged, which is said to those who may see it.
    with contextlib.closing(sqlite3.connect(store.url)) as connection:
        connection.execute("UPDATE kh_ticket SET asked_at = 'then'")
        connection.commit()
    for path in ("/counter/other/{}", f"{API_PATH}/tickets/{{}}"):
        theirs, none = mine.get(path.format(ticket.id)), mine.get(path.format(never))
        assert theirs.status == none.status == 404, path
        assert theirs.content.replace(ticket.id.encode(), never.encode()) == none.content, path
    # Nor other learners by their names: not even where one of the key's is gone.
    for path in (f"{API_PATH}/learners/gone", "/learners/gone"):
        gone = mine.get(path)
        assert gone.status == 404
        assert b"clinic" not in gone.content


def test_where_the_store_is_only_administrators_see(
    guarded: Service, store: kh.Store, keys: ApiKeys
) -> None:
    readers = guarded.with_key(keys.create(["read", "ask", "tell"])[0])
    admins = guarded.with_key(keys.create(["admin"])[0])
    keys.all()
    place = store.url.encode()
    for path in ("/", "/learners/clinic", "/counter/clinic", "/metrics", f"{CLINIC}/explanation"):
        reply = readers.get(path)
        assert reply.status == 200, path
        assert place not in reply.content, path
    assert place in admins.get("/").content
    away = Path(store.url).rename(store.url + ".away")
    try:
        for path in ("/learners/clinic", f"{CLINIC}", f"{CLINIC}/tickets"):
            reply = readers.get(path)
            assert (reply.status, place in reply.content) == (503, False), path
            assert b"the store was moved" in reply.content
        assert place in admins.get(f"{CLINIC}").content
    finally:
        away.rename(store.url)


def test_keys_end(guarded: Service, keys: ApiKeys) -> None:
    secret, key = keys.create(["read"])
    brief, _ = keys.create(["read"], expires_in=0.0)
    keys.all()
    assert guarded.with_key(secret).get(f"{API_PATH}/learners").status == 200
    assert guarded.with_key(brief).get(f"{API_PATH}/learners").status == 401
    keys.revoke(key.id)
    assert guarded.with_key(secret).get(f"{API_PATH}/learners").status == 401
    with pytest.raises(kh.ConflictError, match="revoked before"):
        keys.revoke(key.id)
    with pytest.raises(kh.ProblemError, match="there is no key 'kh_x'"):
        keys.revoke("kh_x")
    assert [each.state for each in keys.all()] == ["valid", "revoked", "expired"]


def test_the_first_key_closes_the_door_and_the_last_leaves_it_closed(
    service: Service, store: kh.Store
) -> None:
    assert service.get(f"{API_PATH}/learners").status == 200
    own = ApiKeys(store.url)  # as `keyhole keys create` in another process
    _, key = own.create(["admin"])
    while service.get(f"{API_PATH}/learners").status == 200:
        time.sleep(0.1)  # what was read counts for a second
    own.revoke(key.id)
    own.close()
    time.sleep(1.1)
    assert service.get(f"{API_PATH}/learners").status == 401


def test_secrets_are_kept_nowhere(guarded: Service, store: kh.Store, keys: ApiKeys) -> None:
    secret, key = keys.create(["admin"], label="ward 3")
    keys.all()
    assert re.fullmatch(r"kh_[a-z2-7]{8}_[\w-]{43}", secret)
    assert secret.startswith(key.id)
    mine = guarded.with_key(secret)
    mine.post(f"{CLINIC}/tickets", {"who": "night shift"})
    mine.post(f"{CLINIC}/tickets")
    whos = [event.who for event in store.history("clinic")][1:]
    assert whos == [f"night shift ({key.id})", f"ward 3 ({key.id})"]
    store.snapshot()
    on_disk = b"".join(path.read_bytes() for path in Path(store.url).parent.iterdir())
    assert secret[12:].encode() not in on_disk
    assert hash_secret(secret).encode() in on_disk


def test_keys_are_not_logged(
    store: kh.Store, keys: ApiKeys, caplog: pytest.LogCaptureFixture
) -> None:
    secret, key = keys.create(["admin"])
    caplog.set_level(logging.DEBUG)
    with serving(store, ServiceSettings(port=0, access_log=True), keys) as service:
        mine = service.with_key(secret)
        for path in (
            f"{API_PATH}/learners?key={secret}",
            f"{API_PATH}/tickets/{secret}",
            f"/{secret}",
        ):
            mine.get(path)
            service.get(path, cookie=f"{COOKIE}={secret}")
        mine.post(f"{CLINIC}/tickets", idempotency_key=secret[:100])
        service.post("/login", f"key={secret}".encode())
    assert secret[12:] not in caplog.text
    assert f"{key.id} GET {API_PATH}/tickets/{key.id}_... 404" in caplog.text


def test_browsers_log_in_with_a_key_for_a_cookie(guarded: Service, keys: ApiKeys) -> None:
    secret, key = keys.create(["read", "ask"], ["clinic"])
    keys.all()
    form = {"content_type": "application/x-www-form-urlencoded"}
    wrong = guarded.post("/login", b"key=kh_abcdefgh_no", **form)
    assert (wrong.status, wrong.headers["location"]) == (303, "/login?wrong=1")
    assert wrong.headers["set-cookie"] is None
    for goal, kept in (
        ("/counter", "/counter"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("https://evil.example", "/"),
        ("/a%0d%0aset-cookie: x=y", "/"),
        ("", "/"),
    ):
        right = guarded.post("/login", f"key={secret}&next={goal}".encode(), **form)
        assert (right.status, right.headers["location"]) == (303, kept), goal
        assert len(right.headers.get_all("set-cookie") or []) == 1
    cookie = right.headers["set-cookie"]
    assert "httponly" in cookie.lower()
    assert "samesite=strict" in cookie.lower()
    session = cookie.split(";")[0]
    assert secret[12:] not in session
    assert guarded.get(CLINIC, cookie=session).status == 200
    assert guarded.get(f"{API_PATH}/learners/other", cookie=session).status == 403
    # Another site can make a browser send the cookie along, but not pretend to be us.
    host = guarded.url.removeprefix("http://")
    for headers, status in (
        ({}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": f"http://{host}.evil.example"}, 403),
        ({"origin": f"http://{host}"}, 201),
        ({"sec_fetch_site": "cross-site", "origin": f"http://{host}"}, 403),
        ({"sec_fetch_site": "same-site"}, 403),
        ({"sec_fetch_site": "same-origin"}, 201),
    ):
        reply = guarded.post(f"{CLINIC}/tickets", cookie=session, **headers)
        assert reply.status == status, headers
    for forged in ("x" * 43, session.split("=")[1][:-1] + "!", key.id, hash_secret(secret), ""):
        assert guarded.get(CLINIC, cookie=f"{COOKIE}={forged}").status == 401
    keys.revoke(key.id)
    assert guarded.get(CLINIC, cookie=session).status == 401


def test_logging_out_ends_a_session(guarded: Service, keys: ApiKeys) -> None:
    secret, _ = keys.create(["read"])
    keys.all()
    form = {"content_type": "application/x-www-form-urlencoded"}
    session = guarded.post("/login", f"key={secret}".encode(), **form).headers["set-cookie"]
    session = session.split(";")[0]
    assert guarded.get(CLINIC, cookie=session).status == 200
    assert guarded.post("/logout", cookie=session, sec_fetch_site="cross-site").status == 403
    assert guarded.post("/logout", cookie=session, sec_fetch_site="same-origin").status == 303
    assert guarded.get(CLINIC, cookie=session).status == 401


def test_pages_of_other_sites_do_nothing_on_this_machine(service: Service) -> None:
    evil = service.post(
        f"{CLINIC}/tickets", b"{}", origin="https://evil.example", content_type="text/plain"
    )
    assert (evil.status, evil.kind) == (403, "NotAllowedError")
    assert service.post(f"{CLINIC}/tickets").status == 201  # curl


def test_two_keys_may_think_of_the_same_idempotency_key(
    guarded: Service, store: kh.Store, keys: ApiKeys
) -> None:
    secrets = [keys.create(["ask"])[0] for _ in range(2)]
    keys.all()
    replies = [
        guarded.with_key(s).post(f"{CLINIC}/tickets", idempotency_key="1").json for s in secrets
    ]
    assert replies[0]["tickets"][0]["id"] != replies[1]["tickets"][0]["id"]
    assert store.info("clinic").rounds == 2


def test_open_tickets_per_key_are_capped(store: kh.Store, keys: ApiKeys) -> None:
    mine, yours = (keys.create(["ask", "tell"])[0] for _ in range(2))
    with serving(store, ServiceSettings(port=0, open_tickets=3), keys) as service:
        a, b = service.with_key(mine), service.with_key(yours)
        ids = [t["id"] for t in a.post(f"{CLINIC}/tickets", {"count": 3}).json["tickets"]]
        over = a.post(f"{CLINIC}/tickets")
        assert (over.status, over.kind) == (429, "TooManyError")
        assert b.post(f"{CLINIC}/tickets", {"count": 4}).status == 429
        assert b.post(f"{CLINIC}/tickets", {"count": 3}).status == 201
        b.post(f"{API_PATH}/tickets/{ids[0]}/drop")  # whoever closes it
        assert a.post(f"{CLINIC}/tickets").status == 201
        assert a.post(f"{CLINIC}/tickets").status == 429
    assert store.info("clinic").rounds == 7


def test_the_cap_holds_for_requests_at_the_same_time(store: kh.Store, keys: ApiKeys) -> None:
    """Each of them alone would fit; who comes first is committed first, and then it is full."""
    secret, _ = keys.create(["ask"])
    body = {"count": 10}
    with serving(store, ServiceSettings(port=0, open_tickets=50), keys) as service:
        mine = service.with_key(secret)
        with ThreadPoolExecutor(16) as pool:
            asked = [pool.submit(mine.post, f"{CLINIC}/tickets", body) for _ in range(16)]
            statuses = sorted(each.result().status for each in asked)
        assert statuses == [201] * 5 + [429] * 11
    assert store.info("clinic").open == 50


def test_a_repeated_request_gets_its_reply_though_the_cap_is_reached(
    store: kh.Store, keys: ApiKeys
) -> None:
    secret, _ = keys.create(["ask"])
    with serving(store, ServiceSettings(port=0, open_tickets=1), keys) as service:
        mine = service.with_key(secret)
        first = mine.post(f"{CLINIC}/tickets", idempotency_key="one")
        assert first.status == 201
        assert mine.post(f"{CLINIC}/tickets", idempotency_key="two").status == 429
        assert mine.post(f"{CLINIC}/tickets", idempotency_key="one").json == first.json


def test_the_rate_is_a_bucket_per_key() -> None:
    rate = RateLimit(10.0)
    for _ in range(20):
        rate.take("a", now=5.0)
    with pytest.raises(TooManyError, match="more than 10 requests per second"):
        rate.take("a", now=5.0)
    rate.take("b", now=5.0)
    rate.take("a", now=5.125)
    with pytest.raises(TooManyError):
        rate.take("a", now=5.125)
    for _ in range(20):
        rate.take("a", now=1000.0)


def test_too_many_requests_are_refused_and_say_so(store: kh.Store, keys: ApiKeys) -> None:
    secret, _ = keys.create(["read"])
    with serving(store, ServiceSettings(port=0, rate=0.5), keys) as service:
        codes = [service.with_key(secret).get(CLINIC).status for _ in range(3)]
        assert codes[0] == 200
        assert 429 in codes
        late = service.with_key(secret).get(CLINIC)
        assert late.headers["retry-after"] == "1" or late.status == 200


def test_others_come_in_with_keys_only(store: kh.Store, keys: ApiKeys) -> None:
    for settings in (
        ServiceSettings(host="0.0.0.0"),
        ServiceSettings(host="192.168.1.5"),
        ServiceSettings(host="::"),
        ServiceSettings(allowed_hosts=("keyhole.example.org",)),  # a proxy on this machine
    ):
        assert not settings.local
        assert AccessControl(keys, settings).keys_are_on
        with pytest.raises(kh.KeyholeError, match="keyhole keys create"):
            refuse_public_without_key(settings, keys)
    for settings in (
        ServiceSettings(),
        ServiceSettings(host="localhost"),
        ServiceSettings(host="::1"),
    ):
        assert settings.local
        refuse_public_without_key(settings, keys)
    keys.create(["read"], expires_in=0.0)
    with pytest.raises(kh.KeyholeError, match="there is no key"):
        refuse_public_without_key(
            ServiceSettings(host="0.0.0.0"), keys
        )  # one that has expired opens nothing
    keys.create(["read"])
    refuse_public_without_key(ServiceSettings(host="0.0.0.0"), keys)
    keys.close()


@pytest.mark.parametrize("name", ["", "a:80", "http://a", "*", "a b"])
def test_odd_hosts_are_refused(name: str) -> None:
    with pytest.raises(kh.ProblemError, match="--allow-host"):
        ServiceSettings(allowed_hosts=(name,))


def test_open_routes_say_nothing(guarded: Service) -> None:
    assert set(PUBLIC_PATHS) == {"/health", "/ready", "/login", "/logout"}
    assert guarded.get("/health").json == {"alive": True}
    assert guarded.get("/ready").json == {"ready": True}
