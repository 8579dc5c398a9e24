"""The counter: from the next example to its label, and all that goes wrong on the way."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import starlette

import keyhole as kh
from tests.helpers.pages import browsing, form_key, next_example, paged
from tests.helpers.stepwise import stepwise

NAMES = ("age", "crp", "tsh")


@pytest.fixture
def client(store: kh.Store) -> Iterator[httpx.Client]:
    """Somebody at the counter of a learner that always buys age and crp."""
    store.create("ward", kh.Problem(3, 2, 2, NAMES), "fixed", units={"crp": "mg/l"})
    with browsing(paged(store)) as client:
        yield client


def filled(client: httpx.Client, **values: str) -> str:
    """An example with its values; its address."""
    place = next_example(client, "ward")
    page = client.post(f"{place}/values", data=values or {"v0": "61", "v1": "4,2"})
    assert page.status_code == 200
    return place


def test_from_the_next_example_to_its_label(client: httpx.Client, store: kh.Store) -> None:
    place = next_example(client, "ward")
    page = client.get(place)
    assert all(word in page.text for word in ("age", "crp", "mg/l", "2 values"))
    assert "tsh" not in page.text  # it was not bought
    page = client.post(f"{place}/values", data={"v0": "61", "v1": "4,2"})
    assert page.status_code == 200
    assert "Prediction" in page.text
    page = client.post(f"{place}/label", data={"label": "7,5"})
    assert "The label is saved" in page.text
    [ticket] = store.tickets("ward")
    assert (ticket.values, ticket.label, ticket.state) == ((61.0, 4.2), 7.5, "told")


def test_a_form_that_is_sent_twice_asks_once(client: httpx.Client, store: kh.Store) -> None:
    key = form_key(client.get("/counter/ward"))
    first = client.post("/counter/ward", data={"form": key})
    second = client.post("/counter/ward", data={"form": key})
    assert first.url.path == second.url.path
    assert store.info("ward").rounds == 1
    other = form_key(client.get("/counter/ward"))
    assert other != key
    client.post("/counter/ward", data={"form": other})
    assert store.info("ward").rounds == 2


def test_an_old_form_says_that_it_is_old(client: httpx.Client) -> None:
    key = form_key(client.get("/counter/ward"))
    place = client.post("/counter/ward", data={"form": key}).url.path
    client.post(f"{place}/values", data={"v0": "1", "v1": "2"})
    again = client.post("/counter/ward", data={"form": key})
    assert again.url.path == place
    assert "This form was sent before" in again.text


def test_values_and_labels_that_are_sent_twice_count_once(
    client: httpx.Client, store: kh.Store
) -> None:
    place = filled(client)
    assert client.post(f"{place}/values", data={"v0": "61", "v1": "4.2"}).status_code == 200
    for _ in range(2):
        assert client.post(f"{place}/label", data={"label": "7"}).status_code == 200
    assert store.info("ward").events == 4  # created, asked, seen, told


def test_a_second_tab_with_other_values_changes_nothing(
    client: httpx.Client, store: kh.Store
) -> None:
    place = filled(client)
    page = client.post(f"{place}/values", data={"v0": "99", "v1": "4.2"})
    assert page.status_code == 422
    assert 'role="alert"' in page.text
    assert "Prediction" in page.text  # as it is now
    client.post(f"{place}/label", data={"label": "7"})
    page = client.post(f"{place}/label", data={"label": "8"})
    assert page.status_code == 422
    assert store.tickets("ward")[0].values == (61.0, 4.2)
    assert store.tickets("ward")[0].label == 7.0


def test_a_value_that_is_no_number_is_shown_beside_its_field(
    client: httpx.Client, store: kh.Store
) -> None:
    place = next_example(client, "ward")
    page = client.post(f"{place}/values", data={"v0": "sixty", "v1": "1,250"})
    assert page.status_code == 422
    assert 'value="sixty"' in page.text
    assert page.text.count('aria-invalid="true"') == 2
    assert "can be 1.250 or 1250" in page.text
    assert store.tickets("ward")[0].state == "asked"


def test_a_part_is_saved_and_the_rest_added(client: httpx.Client, store: kh.Store) -> None:
    """The prediction is there with the first value; a value that changes is refused."""
    place = next_example(client, "ward")
    page = client.post(f"{place}/values", data={"v0": "61", "v1": " "})
    assert page.status_code == 200
    assert "Still awaited" in page.text
    assert 'id="v1"' in page.text
    assert 'id="v0"' not in page.text
    [ticket] = store.tickets("ward")
    assert (ticket.state, len(ticket.awaited)) == ("filled", 1)
    for typed, words in (
        ({"v1": ""}, "Type what has come"),
        ({"v1": "4,200"}, "can be 4.200 or 4200"),
        ({"v0": "62", "v1": "4"}, "correct it if they were wrong"),
    ):
        page = client.post(f"{place}/values", data=typed)
        assert page.status_code == 422
        assert words in page.text
    page = client.post(f"{place}/values", data={"v1": "4.2"})
    assert "Still awaited" not in page.text
    assert store.tickets("ward")[0].values == (61.0, 4.2)
    client.post(f"{place}/label", data={"label": "7"})
    assert store.info("ward").events == 5  # created, asked, seen, seen, told


def test_that_nothing_came_must_be_confirmed(client: httpx.Client, store: kh.Store) -> None:
    place = next_example(client, "ward")
    page = client.post(f"{place}/values", data={"v0": "", "v1": " "})
    assert page.status_code == 422
    assert "2 values left empty" in page.text
    assert store.tickets("ward")[0].state == "asked"
    page = client.post(f"{place}/values", data={"v0": "", "v1": "", "missing": "yes"})
    assert page.text.count(">awaited<") == 2
    assert len(store.tickets("ward")[0].awaited) == 2


def test_an_example_step_by_step(client: httpx.Client, store: kh.Store) -> None:
    """What next: an item with its price, until enough is known; said with the reason."""
    name = stepwise(store)
    page = client.get(f"/counter/{name}")
    [key] = re.findall(r'name="form" value="([^"]*-steps)"', page.text)
    page = client.post(f"/counter/{name}", data={"form": key, "steps": "yes"})
    place = page.url.path
    assert "This is the first step" in page.text
    assert client.post(f"{place}/next").status_code == 422  # nothing was filled in
    page = client.post(f"{place}/values", data={"v0": "2"})
    id = place.rpartition("/")[2]
    while "What next?" in page.text:
        page = client.post(f"{place}/next")
        ticket = store.ticket(id)
        assert ticket.step is not None
        assert ticket.step.reason in page.text
        if not ticket.step:
            break
        assert "Next to order" in page.text
        assert all(item in page.text for item in ticket.step.items)
        assert client.post(f"{place}/next").text.count("Next to order") == 1
        at = ticket.names.index(ticket.step.features[0])
        if len(ticket.names) == 2:
            page = client.post(f"{place}/values", data={f"v{at}": "2.5"})
        else:  # it will not come
            page = client.post(f"{place}/next", data={"without": "yes"})
            assert store.ticket(id).awaited
    assert "Enough is known" in page.text
    assert "What happened" in page.text
    assert "to order: " in page.text
    store.verify(name)
    client.post(f"{place}/label", data={"label": "9"})
    assert client.post(f"{place}/next").status_code == 422
    assert client.get(f"{place}/next").url.path == place


def test_only_learners_that_go_on_offer_steps(client: httpx.Client, store: kh.Store) -> None:
    assert "Step by step" not in client.get("/counter/ward").text
    name = stepwise(store)
    assert "Step by step" in client.get(f"/counter/{name}").text


def test_labels_are_saved_or_refused_one_by_one(client: httpx.Client, store: kh.Store) -> None:
    ids = [filled(client).rpartition("/")[2] for _ in range(4)]
    rows = {f"label-{ids[0]}": "3", f"label-{ids[1]}": "1,250", f"label-{ids[2]}": ""}
    page = client.post("/counter/ward/labels", data=rows)
    assert page.status_code == 422
    assert "1 label could not be saved" in page.text
    assert "1 label saved" in page.text
    assert 'value="1,250"' in page.text
    assert [store.ticket(id).state for id in ids] == ["told", "filled", "filled", "filled"]
    page = client.post(
        "/counter/ward/labels", data={f"label-{ids[1]}": "2", f"label-{ids[2]}": "4"}
    )
    assert page.status_code == 200
    assert page.url.params["saved"] == "2"
    assert store.info("ward").open == 1


def test_labels_of_tickets_that_are_not_there_are_refused(
    client: httpx.Client, store: kh.Store
) -> None:
    store.create("other", kh.Problem(1, 1, 1), "fixed")
    [theirs] = store.ask("other")
    store.fill(theirs.id, [1.0])
    page = client.post("/counter/ward/labels", data={f"label-{theirs.id}": "1", "label-x": "2"})
    assert page.status_code == 422
    assert "2 labels could not be saved" in page.text
    assert store.ticket(theirs.id).state == "filled"
    assert client.get(f"/counter/ward/{theirs.id}").status_code == 404


def test_a_ticket_is_dropped_after_a_question(client: httpx.Client, store: kh.Store) -> None:
    place = filled(client)
    page = client.get(f"{place}/drop")
    assert "cannot be undone" in page.text
    assert store.info("ward").open == 1
    page = client.post(f"{place}/drop")
    assert page.url.path == place
    assert store.tickets("ward")[0].state == "dropped"
    assert client.post(f"{place}/drop").status_code == 200
    assert "closed already" in client.get(f"{place}/drop").text


def test_many_open_tickets_are_shown_by_pages(client: httpx.Client, store: kh.Store) -> None:
    tickets = store.ask("ward", 120)
    seen, page = [], client.get("/counter/ward")
    while True:
        seen += re.findall(r'class="mono" href="[^"]*/([0-9A-Z-]{14})"', page.text)
        following = re.search(r'href="(/counter/ward\?after=[^"]+)">Next page', page.text)
        if following is None:
            break
        page = client.get(following[1])
    assert seen == [ticket.id for ticket in tickets]


def test_a_ticket_is_found_by_its_number_as_it_is_typed(client: httpx.Client) -> None:
    place = filled(client)
    id = place.rpartition("/")[2]
    page = client.get("/counter", params={"ticket": id.lower().replace("-", " ")})
    assert page.url.path == place
    wrong = ("1" if id[0] != "1" else "2") + id[1:]
    page = client.get("/counter", params={"ticket": wrong})
    assert page.status_code == 404
    assert "mistyped" in page.text


def test_a_prediction_of_any_size_fits(client: httpx.Client, store: kh.Store) -> None:
    place = filled(client, v0="1e140", v1="-1e-140")
    page = client.get(place)
    assert "1 × 10¹⁴⁰" in page.text
    client.post(f"{place}/label", data={"label": "1000000000"})
    assert "1,000,000,000" in client.get(place).text
    assert client.get("/").status_code == client.get("/learners/ward").status_code == 200


@pytest.mark.parametrize("headers", [{"sec-fetch-site": "cross-site"}, {"origin": "http://evil"}])
def test_forms_of_other_sites_are_refused(
    client: httpx.Client, store: kh.Store, headers: dict[str, str]
) -> None:
    key = form_key(client.get("/counter/ward"))
    page = client.post("/counter/ward", data={"form": key}, headers=headers)
    assert page.status_code == 403
    assert "another site" in page.text
    assert store.info("ward").rounds == 0


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/counter/wrad", 404),
        ("/counter/ward/0000", 404),
        ("/learners/wrad", 404),
        ("/counter/ward?after=0123-4567-89AM", 404),
        ("/counter/ward?saved=many", 404),
        ("/static/../router.py", 404),
        ("/static/none.js", 404),
    ],
)
def test_errors_are_pages_that_say_what_to_do(client: httpx.Client, path: str, status: int) -> None:
    page = client.get(path)
    assert page.status_code == status
    if not path.startswith("/static/.."):
        assert "To the counter" in page.text


def test_a_form_without_its_key_is_refused(client: httpx.Client, store: kh.Store) -> None:
    assert client.post("/counter/ward", data={}).status_code == 422
    assert client.post("/counter/ward", data={"form": "x" * 500}).status_code == 422
    assert store.info("ward").rounds == 0


def test_pages_allow_no_script_but_their_own_and_are_not_kept(client: httpx.Client) -> None:
    page = client.get("/counter/ward")
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert "unsafe" not in page.headers["content-security-policy"]
    assert page.headers["cache-control"] == "no-store"
    assert " style=" not in page.text
    assert " onclick=" not in page.text


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"files": {"v0": ("a.txt", b"1"), "v1": ("b.txt", b"2")}}, 422),
        ({"data": {f"x{i}": "1" for i in range(25_000)}}, 400),
        ({"content": b"junk", "headers": {"content-type": "multipart/form-data"}}, 400),
        ({"content": b"junk", "headers": {"content-type": "multipart/form-data; boundary=x"}}, 400),
        ({"json": {"v0": 1, "v1": 2}}, 422),
        ({"data": {"v0": "9" * 100_000, "v1": "\x00"}}, 422),
    ],
)
def test_forms_that_no_page_sends_are_refused_by_a_page(
    client: httpx.Client, store: kh.Store, sent: dict[str, Any], status: int
) -> None:
    place = next_example(client, "ward")
    page = client.post(f"{place}/values", **sent)
    if status == 400 and starlette.__version__.startswith("0."):
        # It reads some malformed forms as empty ones, which have no values: 422.
        assert page.status_code in (400, 422)
    else:
        assert page.status_code == status
    assert "<main" in page.text
    assert store.tickets("ward")[0].state == "asked"


class Simulated:
    """A demo that knows everything about one learner."""

    def values(self, ticket: str) -> dict[str, float]:
        return {"age": 61.234567, "crp": float("nan")}

    def label(self, ticket: str) -> float:
        return 7.5


def test_simulated_values_are_filled_in_and_can_be_changed(store: kh.Store) -> None:
    store.create("ward", kh.Problem(3, 2, 2, NAMES), "fixed")
    with browsing(paged(store, demo=Simulated())) as client:
        place = next_example(client, "ward")
        assert "Use this patient's values" in client.get(place).text
        page = client.get(place, params={"demo": 1})
        assert 'value="61.23"' in page.text
        page = client.post(f"{place}/values", data={"v0": "61.23"})
        assert "Still awaited" in page.text  # what this patient does not have
        assert "Use this patient's values" not in page.text
        assert "Use this patient's label" in page.text
        assert 'value="7.5"' in client.get(place, params={"demo": 1}).text
