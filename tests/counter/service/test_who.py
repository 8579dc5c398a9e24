"""The guard alone, without a server: whom it takes a request for, and what it lets them do."""

from collections.abc import Iterator

import pytest
from starlette.requests import HTTPConnection

import keyhole as kh
from keyhole.counter.service.guard import KNOWN, LONGEST_WHO, Guard, Who
from keyhole.counter.service.keys import Key, KeyRing
from keyhole.counter.service.refusals import NoKeyError, NotAllowedError
from keyhole.counter.service.sessions import COOKIE
from keyhole.counter.service.settings import Settings

ASKER = Key("kh_a", "ward 3", ("ask",), ("clinic",), 0.0)
LONGEST = "x" * LONGEST_WHO


@pytest.fixture
def guard(ring: KeyRing) -> Iterator[Guard]:
    """A guard of the keys of a store: everybody needs one."""
    yield Guard(ring, Settings(host="0.0.0.0"))
    ring.close()


def request(method: str = "GET", who: Who | None = None, **headers: str) -> HTTPConnection:
    """A request with these headers; from somebody the door has identified, if that is given."""
    pairs = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    scope = {"type": "http", "method": method, "headers": pairs}
    return HTTPConnection(scope if who is None else {**scope, KNOWN: who})


def test_what_the_log_says_about_who_it_was() -> None:
    nobody, somebody = Who(), Who(ASKER)
    assert (nobody.id, nobody.name, nobody.signed("me")) == ("", "", "me")
    assert (somebody.id, somebody.name) == ("kh_a", "ward 3 (kh_a)")
    assert somebody.signed("me") == "me (kh_a)"
    assert Who(Key("kh_b", "", ("ask",), None, 0.0)).name == "kh_b"
    assert Who(Key("kh_b", LONGEST + "y", ("ask",), None, 0.0)).name == f"{LONGEST} (kh_b)"


def test_a_store_takes_the_longest_name_with_the_id_of_a_key(
    store: kh.Store, ring: KeyRing
) -> None:
    for who in (Who(), Who(ring.create(["ask"])[1])):
        signed = who.signed(LONGEST)
        assert store.ask("clinic", who=signed)[0].who == signed
        with pytest.raises(kh.ProblemError, match="who must be at most 150 characters, got 151"):
            who.signed(LONGEST + "y")
    ring.close()


def test_an_idempotency_key_is_the_senders_own() -> None:
    nobody, somebody = Who(), Who(ASKER)
    assert (nobody.scoped("1"), somebody.scoped("1")) == ("1", "kh_a:1")
    assert nobody.scoped(None) is somebody.scoped(None) is None
    assert nobody.scoped("") == somebody.scoped("") == ""  # a store refuses it
    assert somebody.scoped(LONGEST) == f"kh_a:{LONGEST}"
    with pytest.raises(kh.ProblemError, match="Key must be at most 150 characters, got 151"):
        somebody.scoped(LONGEST + "y")


def test_a_key_comes_as_bearer_and_no_other_way(guard: Guard) -> None:
    secret, key = guard.ring.create(["read"])
    for good in (f"Bearer {secret}", f"bearer   {secret} "):
        assert guard.identify(request(authorization=good)) == Who(key, explicit=True)
    for bad in (f"Basic {secret}", secret, f"Bearer{secret}", "Bearer", "Bearer  ", ""):
        with pytest.raises(NoKeyError, match="header must be `Bearer"):
            guard.identify(request(authorization=bad))
    with pytest.raises(NoKeyError, match=r"^this key is not known"):
        guard.identify(request(authorization="Bearer kh_no"))
    with pytest.raises(NoKeyError, match=r"^a key is needed"):
        guard.identify(request())


def test_a_cookie_stands_for_a_key_and_proves_less(guard: Guard) -> None:
    secret, key = guard.ring.create(["read"])
    cookie = guard.log_in(f" {secret}\n")  # as it was pasted
    assert guard.identify(request(cookie=f"{COOKIE}={cookie}")) == Who(key, explicit=False)
    with pytest.raises(NoKeyError, match=r"^the key of this session is not known"):
        guard.identify(request(cookie=f"{COOKIE}=forged"))
    with pytest.raises(NoKeyError, match=r"^this key is not known"):
        guard.log_in("kh_no")
    guard.ring.revoke(key.id)
    with pytest.raises(NoKeyError, match=r"^the key of this session"):
        guard.identify(request(cookie=f"{COOKIE}={cookie}"))


def test_roles_are_for_learners(guard: Guard) -> None:
    mine, all_of_them = Who(ASKER), Who(Key("kh_b", "", ("ask",), None, 0.0))
    assert guard.allow(request(who=mine), "ask", "clinic") is mine
    assert guard.allow(request(who=mine), ("read", "ask")) is mine  # for some learner
    assert guard.allow_all(request(who=all_of_them), "ask") is all_of_them
    assert guard.allow_all(request(who=Who()), ("read", "tell")) == Who()
    with pytest.raises(NotAllowedError, match=r"kh_a does not have the role ask for 'other'$"):
        guard.allow(request(who=mine), "ask", "other")
    with pytest.raises(NotAllowedError, match=r"kh_a does not have the role read or tell$"):
        guard.allow(request(who=mine), ("read", "tell"))
    with pytest.raises(NotAllowedError, match="kh_a is for some learners; this concerns all"):
        guard.allow_all(request(who=mine), ("read", "ask"))
    with pytest.raises(NoKeyError):
        guard.allow(request(), "ask")  # nobody has identified them: the guard does


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
    guard: Guard, headers: dict[str, str], ours: bool
) -> None:
    """A cookie proves nothing, nor does this machine; a key in the request proves everything."""
    for who in (Who(ASKER), Who()):
        if ours:
            guard.refuse_cross_site(request("POST", None, **headers), who)
        else:
            with pytest.raises(NotAllowedError, match="page of another site"):
                guard.allow(request("POST", who, **headers), "ask", "clinic")
    guard.refuse_cross_site(request("POST", None, **headers), Who(ASKER, explicit=True))
    guard.refuse_cross_site(request("HEAD", None, **headers), Who(ASKER))


def test_programs_say_nothing_and_need_no_cookie(guard: Guard) -> None:
    guard.refuse_cross_site(request("DELETE"), Who())
    with pytest.raises(NotAllowedError):
        guard.refuse_cross_site(request("DELETE"), Who(ASKER))
