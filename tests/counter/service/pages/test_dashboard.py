"""The dashboard and the pages of learners, with nothing, much, or odd things to show."""

import re
import sqlite3
from pathlib import Path

import numpy as np
import pytest

import keyhole as kh
from tests.conftest import HOSTILE
from tests.helpers.pages import browsing, next_example, paged

# In this order: what a person looks for first comes first.
SECTIONS = (
    "Learners",
    "Open tickets, and how long labels take",
    "Loss over time",
    "What was bought when",
    "Models",
    "Bought, and did not arrive",
    "Changes noticed",
    "Store",
)


def play(store: kh.Store, name: str, rounds: int) -> None:
    """Let a learner of the store play with labels that follow its first value."""
    rng = np.random.default_rng(0)
    tickets = store.ask(name, rounds, who="ward 3")
    rows = {ticket.id: rng.normal(size=len(ticket.names)) for ticket in tickets}
    for row in list(rows.values())[:3]:
        row[-1] = np.nan
    store.fill_many(name, rows)
    store.tell_many(name, {id: float(np.nan_to_num(row).sum()) for id, row in rows.items()})


def test_without_learners_there_is_a_way_to_the_first_one(store: kh.Store) -> None:
    with browsing(paged(store)) as client:
        for path in ("/", "/counter"):
            page = client.get(path)
            assert page.status_code == 200
            assert 'href="/admin"' in page.text
        assert client.get("/admin").status_code == 200


def test_sections_come_in_the_order_in_which_they_are_looked_for(store: kh.Store) -> None:
    store.create("ward", kh.Problem(4, 1, 2, ("a", "b", "c", "d")))
    play(store, "ward", 10)
    play(store, "ward", 20)  # when there are labels to compare with
    with browsing(paged(store)) as client:
        page = client.get("/")
        places = [page.text.index(f"<h2>{name}</h2>") for name in SECTIONS]
        assert places == sorted(places)
        assert "50 %" in page.text  # saved: 2 of 4
        page = client.get("/learners/ward")
        for heading in ("Model", "What is bought now, and why", "Life lines", "Loss over time"):
            assert f"<h2>{heading}</h2>" in page.text
        assert 'data-chart="loss"' in page.text
        assert "lost without it" in page.text


def test_a_prediction_has_its_interval_beside_it(store: kh.Store) -> None:
    store.create("ward", kh.Problem(4, 1, 2, ("a", "b", "c", "d")), "fixed")
    with browsing(paged(store)) as client:
        for told in (0, 10):
            if told:
                play(store, "ward", told)
            [ticket] = store.ask("ward")
            store.fill(ticket.id, {"a": 1.0})
            page = client.get(f"/counter/ward/{ticket.id}")
            assert ("90 % of labels lie within" in page.text) == (told > 0)


@pytest.mark.parametrize("path", ["/", "/counter", "/counter/h", "/learners/h"])
def test_hostile_names_are_text(store: kh.Store, path: str) -> None:
    names = (*HOSTILE, "x" * 3000, '"><img src=x onerror=alert(1)>')
    store.create("h", kh.Problem(10, 10, 10, names), "fixed", units={"age": "<b>years</b>"})
    play(store, "h", 20)
    with browsing(paged(store)) as client:
        place = next_example(client, "h")
        for page in (client.get(path), client.get(place)):
            assert page.status_code == 200
            assert "<script>alert" not in page.text
            assert "<img" not in page.text
            assert "<b>" not in page.text
            assert "\u202e" not in page.text
            assert "49" not in re.findall(r"<bdi[^>]*>([^<]*)</bdi>", page.text)
            assert not re.search(r"<bdi>[^<]{200}", page.text)


def test_who_asked_is_text_too(store: kh.Store) -> None:
    store.create("h", kh.Problem(1, 1, 1), "fixed")
    store.ask("h", who="<script>alert(1)</script>")
    with browsing(paged(store)) as client:
        assert "<script>alert" not in client.get("/counter/h").text


def test_a_learner_that_is_damaged_does_not_take_the_page_with_it(tmp_path: Path) -> None:
    with kh.Store(tmp_path / "keyhole.db") as store:
        for name in ("good", "torn"):
            store.create(name, kh.Problem(2, 1, 1), "fixed")
            play(store, name, 5)
    with sqlite3.connect(tmp_path / "keyhole.db") as database:
        where = "learner = (SELECT id FROM kh_learner WHERE name = 'torn')"
        database.execute(f"DELETE FROM kh_snapshot WHERE {where}")
        database.execute(f"UPDATE kh_event SET body = '{{}}' WHERE kind = 'asked' AND {where}")
    database.close()
    with kh.Store(tmp_path / "keyhole.db") as store, browsing(paged(store)) as client:
        page = client.get("/")
        assert page.status_code == 200
        assert "tag bad" in page.text
        assert client.get("/learners/good").status_code == 200
        assert client.get("/learners/torn").status_code in (200, 503)


def test_five_hundred_features_and_thousands_of_open_tickets(store: kh.Store) -> None:
    names = [f"feature number {j}" for j in range(500)]
    store.create("wide", kh.Problem(500, 500, 500, names), "fixed")
    store.create("long", kh.Problem(2, 1, 1), "fixed")
    for _ in range(10):
        store.ask("long", 500)
    with browsing(paged(store)) as client:
        place = next_example(client, "wide")
        assert client.get(place).text.count("data-number") == 500
        values = {f"v{j}": str(j) for j in range(500)}
        page = client.post(f"{place}/values", data=values)
        assert "Prediction" in page.text
        assert "5,000" in client.get("/").text
        assert len(client.get("/counter/long").text) < 100_000
        assert client.get("/learners/long").status_code == 200


def test_the_store_says_when_it_wrote_snapshots_and_how_long_commits_take(store: kh.Store) -> None:
    store.create("ward", kh.Problem(4, 1, 2), "random")
    store.create("idle", kh.Problem(4, 1, 2), "random")
    play(store, "ward", 30)
    page = _without_tags(store)
    assert "requests per commit 1 " in page
    assert re.search(r"half of the commits took up to [\d.]+ ms 99 of 100 up to [\d.]+ ms", page)
    snapshots = page[page.index("last snapshot") :]
    assert re.search(r" idle [^0-9]*?\d*[^0-9]*? 0 ward ", snapshots)
    assert " 90 " in snapshots
    found = store.snapshots()
    assert (found["ward"].tail, found["idle"].tail) == (90, 0)
    store.snapshot()
    assert store.snapshots()["ward"].tail == 0


def test_refused_requests_are_shown_by_key(store: kh.Store) -> None:
    refused = {"kh_abcdefgh": {404: 1200, 422: 1}, "": {401: 3}}
    page = _without_tags(store, refused=lambda: refused)
    assert "kh_abcdefgh 1,201 not found 1,200" in page
    assert "without a valid key 3 unauthorized 3" in page
    assert "Refused requests" not in _without_tags(store)


def _without_tags(store: kh.Store, **state: object) -> str:
    with browsing(paged(store, **state)) as client:
        text = re.sub(r"<[^>]+>", " ", client.get("/").text)
    return re.sub(r"\s+", " ", text)
