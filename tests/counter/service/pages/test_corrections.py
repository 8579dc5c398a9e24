"""At the counter: what is in doubt takes a second click; corrections; limits; yes or no."""

import json
import re
from collections.abc import Iterator

import httpx
import pytest

import keyhole as kh
from keyhole.counter.service.pages.log_summary import PageCache
from keyhole.counter.service.report import run_of_log
from tests.helpers.counted import PROBLEM, learnt, values_for
from tests.helpers.pages import browsing, next_example, paged

RIGHT = {"v0": "2", "v1": "2", "v2": "2"}


@pytest.fixture
def ward(store: kh.Store) -> str:
    """A learner that has seen enough to doubt what is far out."""
    return learnt(store, PROBLEM.replace(limits={"age": (0, 120)}, label_limits=(0, 1e7)))


@pytest.fixture
def client(store: kh.Store) -> Iterator[httpx.Client]:
    """Somebody at the counter."""
    with browsing(paged(store)) as client:
        yield client


def confirmation(page: httpx.Response) -> dict[str, str]:
    """What the second button sends."""
    [found] = re.findall(r'<button name="confirm" value="([^"]*)"', page.text)
    return {"confirm": found.replace("&#34;", '"')}


def test_a_second_click(client: httpx.Client, store: kh.Store, ward: str) -> None:
    place = next_example(client, ward)
    typed = {**RIGHT, "v1": "2000000"}
    page = client.post(f"{place}/values", data=typed)
    assert page.status_code == 422
    assert "2,000,000 is" in page.text
    assert "did you mean 2?" in page.text
    assert 'data-offer="2"' in page.text
    assert store.info(ward).filled == 0
    other = {**typed, "v2": "3000000", **confirmation(page)}
    assert client.post(f"{place}/values", data=other).status_code == 422, "another doubt"
    for forged in ("", "yes", "[]", "[1]", "{", '[["crp", 2]]', "[" * 9999):
        assert client.post(f"{place}/values", data={**typed, "confirm": forged}).status_code == 422
    page = client.post(f"{place}/values", data={**typed, **confirmation(page)})
    assert page.status_code == 200
    assert "Prediction" in page.text
    assert "confirmed: crp: 2,000,000 is" in page.text
    page = client.post(f"{place}/label", data={"label": "6000000"})
    assert page.status_code == 422
    assert "6,000,000 is" in page.text
    page = client.post(f"{place}/label", data={"label": "6000000", **confirmation(page)})
    assert "The label is saved" in page.text
    store.verify(ward)


def test_labels_of_several(client: httpx.Client, store: kh.Store, ward: str) -> None:
    tickets = store.ask(ward, 2)
    for ticket in tickets:
        store.fill(ticket.id, values_for(ticket))
    typed = {f"label-{tickets[0].id}": "6000000", f"label-{tickets[1].id}": "6"}
    page = client.post(f"/counter/{ward}/labels", data=typed)
    assert page.status_code == 422
    assert "1 label saved" in page.text
    [sure] = re.findall(rf'name="confirm-{tickets[0].id}" value="([^"]*)"', page.text)
    typed[f"confirm-{tickets[0].id}"] = sure.replace("&#34;", '"')
    assert client.post(f"/counter/{ward}/labels", data=typed).status_code == 200
    assert store.ticket(tickets[0].id).label == 6e6


def test_an_empty_field_and_a_doubt(client: httpx.Client, store: kh.Store, ward: str) -> None:
    place = next_example(client, ward)
    typed = {"v0": "2", "v1": "2000000", "v2": ""}
    page = client.post(f"{place}/values", data=typed)
    assert page.status_code == 422
    page = client.post(f"{place}/values", data={**typed, **confirmation(page)})
    assert page.status_code == 200
    [ticket] = store.tickets(ward, state="filled")
    assert ticket.as_dict()["values"] == {"age": 2.0, "crp": 2e6, "tsh": None}
    page = client.post(f"{place}/values", data={"v2": "3000000"})
    assert page.status_code == 422
    assert "They are right: save" in page.text
    client.post(f"{place}/values", data={"v2": "3000000", **confirmation(page)})
    assert store.ticket(ticket.id).awaited == ()


def test_limits(client: httpx.Client, store: kh.Store, ward: str) -> None:
    place = next_example(client, ward)
    page = client.get(place)
    assert 'data-note="0 to 120" data-low="0" data-high="120"' in page.text
    page = client.post(f"{place}/values", data={**RIGHT, "v0": "121"})
    assert page.status_code == 422
    assert "is not 0 to 120" in page.text
    client.post(f"{place}/values", data=RIGHT)
    page = client.post(f"{place}/label", data={"label": "-1"})
    assert page.status_code == 422
    assert "its limits are 0 to 10000000" in page.text
    assert store.info(ward).told == 40


def test_corrections_before_and_after_the_label(
    client: httpx.Client, store: kh.Store, ward: str
) -> None:
    place = next_example(client, ward)
    assert "nothing to correct" in client.get(f"{place}/correct").text
    client.post(f"{place}/values", data={**RIGHT, "v1": "2.6"})
    page = client.get(f"{place}/correct")
    assert 'value="2.6"' in page.text
    unchanged = client.post(f"{place}/correct", data={**RIGHT, "v1": "2.6"})
    assert "Nothing is different yet" in unchanged.text
    page = client.post(f"{place}/correct", data={**RIGHT, "v1": "2.4", "why": "typo"})
    assert "Corrected" in page.text
    assert "crp: 2.6 → 2.4" in page.text
    assert "because: typo" in page.text
    client.post(f"{place}/label", data={"label": "6"})
    form = {**RIGHT, "v1": "", "label": "5,5", "why": "another patient"}
    page = client.post(f"{place}/correct", data=form)
    assert "the learner has learnt it anew" in page.text
    [ticket] = store.tickets(ward, newest_first=True, limit=1)
    assert (ticket.label, ticket.as_dict()["values"]["crp"]) == (5.5, None)
    for wrong, words in (
        ({"label": ""}, "is empty"),
        ({"label": "x"}, "must be a number"),
        ({"v0": "121"}, "is not 0 to 120"),
        ({"label": "9999999"}, "times the largest seen"),
    ):
        page = client.post(f"{place}/correct", data={**form, **wrong})
        assert page.status_code == 422
        assert words in page.text
    page = client.post(f"{place}/correct", data={**form, "label": "9999999", **confirmation(page)})
    assert store.ticket(ticket.id).label == 9999999.0
    store.verify(ward)


def test_the_charts_know_what_was_corrected(
    client: httpx.Client, store: kh.Store, ward: str
) -> None:
    cache = PageCache(store)
    with cache.trace(store.info(ward)) as trace:
        usual = trace.loss
    [ticket] = store.ask(ward)
    store.fill(ticket.id, values_for(ticket) | {"crp": 2e6}, confirm=True)
    store.correct(ticket.id, values={"crp": 2.0})
    store.tell(ticket.id, 1e6, confirm=True)
    with cache.trace(store.info(ward)) as trace:
        assert trace.loss > 1e10
        assert trace.features[1].mean < 4.0
    for y in (7.0, 6.0):  # twice
        store.correct(ticket.id, y=y)
        with cache.trace(store.info(ward)) as trace:
            assert not trace.stale
            assert trace.loss < usual + 50.0
            assert trace.loss + trace.first_loss == pytest.approx(store.info(ward).loss, rel=1e-9)
            assert trace.labels == 41
    assert run_of_log(store, ward).ledger.loss == pytest.approx(store.info(ward).loss, rel=1e-9)
    assert client.get(f"/learners/{ward}").status_code == 200


def test_learners_that_cannot_take_it_back(client: httpx.Client, store: kh.Store) -> None:
    name = learnt(store, kind="random")
    [ticket] = store.tickets(name, state="told", limit=1)
    place = f"/counter/{name}/{ticket.id}"
    assert "Correct…" not in client.get(place).text
    assert "cannot take that back" in client.get(f"{place}/correct").text
    page = client.post(f"{place}/correct", data={**RIGHT, "label": "9"})
    assert page.status_code == 422
    assert store.ticket(ticket.id).label == ticket.label


def test_yes_or_no(client: httpx.Client, store: kh.Store) -> None:
    name = learnt(store, yes_no=True)
    place = next_example(client, name)
    page = client.post(f"{place}/values", data=RIGHT)
    assert "Probability of yes" in page.text
    assert re.search(r'class="huge">(under |over )?[0-9.]+ %<', page.text)
    assert "There is no interval" in page.text
    assert 'type="radio"' in page.text
    assert '<option value="1">yes</option>' in client.get(f"/counter/{name}").text
    assert client.post(f"{place}/label", data={"label": "2"}).status_code == 422
    page = client.post(f"{place}/label", data={"label": "1"})
    assert "<dd>yes</dd>" in page.text
    assert client.get(f"/learners/{name}").status_code == 200
    assert client.get("/").status_code == 200
    assert json.loads(store.ticket_history(place.rpartition("/")[2])[-1].body) == {"y": 1.0}
