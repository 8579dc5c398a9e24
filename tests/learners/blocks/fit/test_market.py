"""Baskets against sets of items, added up anew."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from keyhole.learners.blocks.fit.purchase import basket, empty, market, take

needs = st.lists(st.lists(st.integers(0, 5), max_size=4, unique=True), min_size=1, max_size=8)


@given(st.lists(st.integers(0, 9), min_size=6, max_size=6), needs, st.data())
def test_items_are_paid_once(units: list[int], needs: list[list[int]], data: st.DataObject) -> None:
    shop = market(units, needs, limit=0)
    held, items = basket(shop), set[int]()
    bought = data.draw(st.lists(st.integers(0, len(needs) - 1)))
    for j in bought:
        missing = {i for i in needs[j] if i not in items}
        assert take(shop, held, j) == sum(units[i] for i in missing)
        items |= missing
        left = [sum(units[i] for i in need if i not in items) for need in needs]
        assert held.more.tolist() == left
    empty(shop, held)
    assert held.more.tolist() == [sum(units[i] for i in need) for need in needs]
