"""A ticket as it is worked through at the counter."""

import pytest

import keyhole as kh
from keyhole.counter.service.pages.ticket_view import ALONE, FREE, order, read_values

PRICES = {"age": "0", "crp": "2.50", "bmi": "0.80"}
PANELS = {"count": ("4.60", ["hb", "mcv"]), "blood": ("5", ["crp", "hb", "mcv"])}


@pytest.fixture
def ticket(store: kh.Store) -> kh.StoredTicket:
    """A ticket for everything there is."""
    names = ("age", "crp", "hb", "mcv", "bmi")
    problem = kh.Problem(5, 5, 100, names, prices=PRICES, panels=PANELS)
    store.create("demo", problem, "fixed", units={"crp": "mg/l"})
    return store.ask("demo")[0]


def test_values_stand_with_the_smallest_panel_they_are_bought_in(
    store: kh.Store, ticket: kh.StoredTicket
) -> None:
    found = order(ticket, store.learner("demo").problem)
    groups = {group.title: [field.name for field in group.fields] for group in found.groups}
    assert groups == {FREE: ["age"], "blood": ["crp"], "count": ["hb", "mcv"], ALONE: ["bmi"]}
    assert found.groups[0].title == FREE
    assert found.groups[-1].title == ALONE
    assert {field.name: field.unit for field in found.fields if field.unit} == {"crp": "mg/l"}


def test_a_panel_is_one_item_and_all_is_paid_once(store: kh.Store, ticket: kh.StoredTicket) -> None:
    found = order(ticket, store.learner("demo").problem)
    items = {item.name: (item.price, item.gives) for item in found.items}
    assert items == {
        "blood": (5.0, "3 values"),
        "count": (4.6, "2 values"),
        "crp": (2.5, ""),
        "bmi": (0.8, ""),
    }
    assert found.total == pytest.approx(12.9) == sum(item.price for item in found.items)
    assert found.free == ("age",)
    assert found.cents


def test_what_was_typed_stays_in_the_field_with_its_error(
    store: kh.Store, ticket: kh.StoredTicket
) -> None:
    typed = read_values(ticket, ["61", "1,250", "", "x", "9"])
    fields = {
        field.name: field for field in order(ticket, store.learner("demo").problem, typed).fields
    }
    assert fields["age"].text == "61"
    assert fields["crp"].text == "1,250"
    assert fields["crp"].offers == ("1.250", "1250")
    assert fields["hb"].text == fields["hb"].error == ""
    assert fields["mcv"].error


def test_a_value_that_was_known_is_filled_in(store: kh.Store) -> None:
    store.create("auto", kh.Problem(3, 1, 2, ("a", "b", "c")))
    [ticket] = store.ask("auto", terms={"known": {"b": 4.5}})
    fields = {field.name: field for field in order(ticket, store.learner("auto").problem).fields}
    assert fields["b"].text == "4.5"
