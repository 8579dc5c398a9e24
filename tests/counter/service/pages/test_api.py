"""The page of the API: every call is on it, with a command that runs."""

import html
import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from shutil import which

import pytest

import keyhole as kh
from keyhole.counter.service.access_control import ApiKeys
from keyhole.counter.service.examples import TICKET
from tests.helpers.serving import Service, serving
from tests.helpers.stores import quick_folder


@pytest.fixture
def store() -> Iterator[kh.Store]:
    """A store with a learner."""
    with quick_folder() as folder, kh.Store(folder / "keyhole.db") as made:
        made.create("clinic", kh.Problem(3, 3, 3, ("age", "crp", "tsh")), "fixed")
        yield made


@pytest.fixture
def service(store: kh.Store) -> Iterator[Service]:
    """A service on it."""
    with serving(store) as running:
        yield running


def test_every_call_is_on_the_page_with_a_command(service: Service) -> None:
    page = html.unescape(service.get("/docs").content.decode())
    paths = service.get("/openapi.json").json["paths"]
    for path, calls in paths.items():
        for method in calls:
            assert f'data-method="{method.upper()}" data-path="{path}"' in page
    assert page.count("curl ") == sum(map(len, paths.values()))
    assert "Roles: ask, tell, admin." in page
    assert re.findall(r"(?:src|href)=\"(?:https?:)?//", page) == []


@pytest.mark.skipif(which("curl") is None, reason="there is no curl")
def test_the_commands_run(service: Service, store: kh.Store) -> None:
    page = html.unescape(service.get("/docs").content.decode())
    [ticket] = store.ask("clinic")
    commands = re.findall(r'(curl .*?) -H "Authorization: Bearer \$KEYHOLE_KEY"', page)
    [fill] = [each for each in commands if f"{TICKET}/values" in each]
    words = shlex.split(fill.replace(TICKET, ticket.id))
    done = subprocess.run(
        [words[0], "--silent", "--noproxy", "*", *words[1:]], capture_output=True, check=True
    )
    assert json.loads(done.stdout)["values"] == {"age": 61.0, "crp": 4.2, "tsh": None}


def test_the_page_is_behind_the_same_keys(store: kh.Store) -> None:
    keys = ApiKeys(store.url)
    secret, _ = keys.create(["tell"], ["clinic"])
    with serving(store, keys=keys) as guarded:
        assert guarded.get("/docs").status == 401
        assert guarded.get("/docs", accept="text/html").headers["location"] == "/login?next=/docs"
        assert guarded.with_key(secret).get("/docs").status == 200
