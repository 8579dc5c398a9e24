"""Access control alone, without a server: whom it takes a request for, and what it lets them do."""

from collections.abc import Iterator

import pytest
from starlette.requests import HTTPConnection

import keyhole as kh
from keyhole.counter.service.access_control import (
    COOKIE,
    MAX_WHO_LENGTH,
    WHO_IN_SCOPE,
    AccessControl,
    ApiKey,
    ApiKeys,
    Principal,
)
from keyhole.counter.service.errors import NoKeyError, NotAllowedError
from keyhole.counter.service.settings import ServiceSettings

ASKER = ApiKey("kh_a", "ward 3", ("ask",), ("clinic",), 0.0)
LONGEST = "x" * MAX_WHO_LENGTH


@pytest.fixture
def access(keys: ApiKeys) -> Iterator[AccessControl]:
    """Access control with the keys of a store: everybody needs one."""
    yield AccessControl(keys, ServiceSettings(host="0.0.0.0"))
    keys.close()


def request(method: str = "GET", who: Principal | None = None, **headers: str) -> HTTPConnection:
    """A request with these headers; from somebody who is authenticated, if that is given."""
    pairs = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    scope = {"type": "http", "method": method, "headers": pairs}
    return HTTPConnection(scope if who is None else {**scope, WHO_IN_SCOPE: who})


def test_what_the_log_says_about_who_it_was() -> None:
    nobody, somebody = Principal(), Principal(ASKER)
    assert (nobody.id, nobody.name, nobody.signed("me")) == ("", "", "me")
    assert (somebody.id, somebody.name) == ("kh_a", "ward 3 (kh_a)")
    assert somebody.signed("me") == "me (kh_a)"
    assert Principal(ApiKey("kh_b", "", ("ask",), None, 0.0)).name == "kh_b"
    assert Principal(ApiKey("kh_b", LONGEST + "y", ("ask",), None, 0.0)).name == f"{LONGEST} (kh_b)"


def test_a_store_takes_the_longest_name_with_the_id_of_a_key(
    store: kh.Store, keys: ApiKeys
) -> None:
    for who in (Principal(), Principal(keys.create(["ask"])[1])):
        signed = who.signed(LONGEST)
        assert store.ask("clinic", who=signed)[0].who == signed
        with pytest.raises(kh.ProblemError, match="who must be at most 150 characters, got 151"):
            who.signed(LONGEST + "y")
    keys.close()


def test_an_idempotency_key_is_the_senders_own() -> None:
    nobody, somebody = Principal(), Principal(ASKER)
    assert (nobody.scoped("1"), somebody.scoped("1")) == ("1", "kh_a:1")
    assert nobody.scoped(None) is somebody.scoped(None) is None
    assert nobody.scoped("") == somebody.scoped("") == ""  # a store refuses it
    assert somebody.scoped(LONGEST) == f"kh_a:{LONGEST}"
    with pytest.raises(kh.ProblemError, match="Key must be at most 150 characters, got 151"):
        somebody.scoped(LONGEST + "y")


def test_a_key_comes_as_bearer_and_no_other_way(access: AccessControl) -> None:
    secret, key = access.keys.create(["read"])
    for good in (f"Bearer {secret}", f"bearer   {secret} "):
        assert access.authenticate(request(authorization=good)) == Principal(key, explicit=True)
    for bad in (f"Basic {secret}", secret, f"Bearer{secret}", "Bearer", "Bearer  ", ""):
        with pytest.raises(NoKeyError, match="header must be `Bearer"):
            access.authenticate(request(authorization=bad))
    with pytest.raises(NoKeyError, match=r"^this key is not known"):
        access.authenticate(request(authorization="Bearer kh_no"))
    with pytest.raises(NoKeyError, match=r"^a key is needed"):
        access.authenticate(request())


def test_a_cookie_stands_for_a_key_and_proves_less(access: AccessControl) -> None:
    secret, key = access.keys.create(["read"])
    cookie = access.log_in(f" {secret}\n")  # as it was pasted
    assert access.authenticate(request(cookie=f"{COOKIE}={cookie}")) == Principal(
        key, explicit=False
    )
    with pytest.raises(NoKeyError, match=r"^the key of this session is not known"):
        access.authenticate(request(cookie=f"{COOKIE}=forged"))
    with pytest.raises(NoKeyError, match=r"^this key is not known"):
        access.log_in("kh_no")
    access.keys.revoke(key.id)
    with pytest.raises(NoKeyError, match=r"^the key of this session"):
        access.authenticate(request(cookie=f"{COOKIE}={cookie}"))


def test_roles_are_for_learners(access: AccessControl) -> None:
    mine, all_of_them = Principal(ASKER), Principal(ApiKey("kh_b", "", ("ask",), None, 0.0))
    assert access.authorize(request(who=mine), "ask", "clinic") is mine
    assert access.authorize(request(who=mine), ("read", "ask")) is mine  # for some learner
    assert access.authorize(request(who=all_of_them), "ask", all_learners=True) is all_of_them
    nobody = Principal()
    assert access.authorize(request(who=nobody), ("read", "tell"), all_learners=True) is nobody
    with pytest.raises(NotAllowedError, match=r"kh_a does not have the role ask for 'other'$"):
        access.authorize(request(who=mine), "ask", "other")
    with pytest.raises(NotAllowedError, match=r"kh_a does not have the role read or tell$"):
        access.authorize(request(who=mine), ("read", "tell"))
    with pytest.raises(NotAllowedError, match="kh_a is for some learners; this concerns all"):
        access.authorize(request(who=mine), ("read", "ask"), all_learners=True)
    with pytest.raises(NoKeyError):
        access.authorize(request(), "ask")  # nobody has authenticated them before


@pytest.mark.parametrize(
    ("headers", "ours"),
    [
        ({"sec_fetch_site": "same-origin"}, True),
        ({"sec_fetch_site": "none"}, True),  # typed into the address bar
        ({"sec_fetch_site": "same-site"}, False),
        ({"sec_fetch_site": "cross-site", "origin": "http://a:1", "host": "a:1"}, False),
        ({"origin": "http://a:1", "host": "a:1"}, True),
        ({"origin": "http://a:1", "host": "a:2"}, False),
        ({"origin": "null", "host": ""}, False),
        ({"origin": "null"}, False),
        ({"origin": "http://a/b", "host": "a/b"}, False),
    ],
)
def test_a_browser_has_to_say_that_the_page_was_ours(
    access: AccessControl, headers: dict[str, str], ours: bool
) -> None:
    """A cookie proves nothing, nor does this machine; a key in the request proves everything."""
    for who in (Principal(ASKER), Principal()):
        if ours:
            access.refuse_cross_site(request("POST", None, **headers), who)
        else:
            with pytest.raises(NotAllowedError, match="page of another site"):
                access.authorize(request("POST", who, **headers), "ask", "clinic")
    access.refuse_cross_site(request("POST", None, **headers), Principal(ASKER, explicit=True))
    access.refuse_cross_site(request("HEAD", None, **headers), Principal(ASKER))


def test_programs_say_nothing_and_need_no_cookie(access: AccessControl) -> None:
    access.refuse_cross_site(request("DELETE"), Principal())
    with pytest.raises(NotAllowedError):
        access.refuse_cross_site(request("DELETE"), Principal(ASKER))
